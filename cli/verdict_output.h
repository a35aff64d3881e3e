/* verdict_output.h - the library's verdict on an ensemble, as lines of text and as keys of a JSON object. */
#ifndef CLI_VERDICT_OUTPUT_H
#define CLI_VERDICT_OUTPUT_H

#include <jansson.h>

#include "vargate/measures.h"

/* "verdict", its "verdict_text", and "verdict_figures": what it was derived from. */
void verdict_json(json_t *object, const vg_verdict *verdict);
/* The text after `head`, broken into lines of at most 100 columns that stand under each other. */
void verdict_print(const char *head, const vg_verdict *verdict);

#endif
