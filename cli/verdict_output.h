/* verdict_output.h - the library's verdict on an ensemble, as a JSON object's keys. */
#ifndef CLI_VERDICT_OUTPUT_H
#define CLI_VERDICT_OUTPUT_H

#include <jansson.h>

#include "vargate/measures.h"

/* "verdict", its "verdict_text", and "verdict_figures": what it was derived from. */
void verdict_json(json_t *object, const vg_verdict *verdict);

#endif
