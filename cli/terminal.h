/* terminal.h - how wide the terminal is, and whether it wants colours. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Columns of the terminal that `stream` leads to: $COLUMNS where it is a number from 20 to 9999, else what the terminal
 * says, else `otherwise` (a file, a pipe). */
size_t terminal_columns(FILE *stream, size_t otherwise);

/* --color, in the order of its words. AUTO: colours on a terminal that is not "dumb", unless $NO_COLOR is set and not
 * empty. */
typedef enum terminal_colour { TERMINAL_COLOUR_AUTO, TERMINAL_COLOUR_ALWAYS, TERMINAL_COLOUR_NEVER } terminal_colour;
#define TERMINAL_COLOUR_WORDS "auto|always|never"
void terminal_set_colour(terminal_colour wanted);

/* What begins a style on `stream`, and what ends every one; "" where there are no colours. */
typedef enum terminal_style { STYLE_HEADING, STYLE_BEST, STYLE_GOOD, STYLE_FAIR, STYLE_BAD } terminal_style;
const char *terminal_begin(FILE *stream, terminal_style style);
const char *terminal_end(FILE *stream);

#endif
