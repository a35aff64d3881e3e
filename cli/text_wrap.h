/* text_wrap.h - sentences in lines that fit a terminal. */
#ifndef CLI_TEXT_WRAP_H
#define CLI_TEXT_WRAP_H

/* The text on standard output in lines that fit the terminal, of at most 100 columns (80 where there is none), broken
 * at spaces, with a newline at its end. */
void text_wrap_print(const char *text);

#endif
