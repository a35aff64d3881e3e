/* verdict_output.h - the library's verdict on an ensemble as lines of text. */
#ifndef CLI_VERDICT_OUTPUT_H
#define CLI_VERDICT_OUTPUT_H

#include "vargate/measures.h"

/* The text after `head`, broken into lines of at most 100 columns that stand under each other. */
void verdict_print(const char *head, const vg_verdict *verdict);

#endif
