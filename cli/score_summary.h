/* score_summary.h - what the scores of a file say as a whole, for the terminal or as JSON. */
#ifndef CLI_SCORE_SUMMARY_H
#define CLI_SCORE_SUMMARY_H

#include <stdbool.h>

#include "vargate/workflow.h"

/* Prints it. Returns an exit code. */
int score_summary_print(const vg_score_result *result, bool json);

#endif
