/* score_pass.h - one pass over a prediction file: blocks in, scores out, memory bounded whatever N. */
#ifndef CLI_SCORE_PASS_H
#define CLI_SCORE_PASS_H

#include "score_options.h"

/* Takes the scores of samples first .. first + rows - 1. Returns an exit code. */
typedef int (*score_sink)(void *context, size_t first, size_t rows, const vg_scores *block);

/* Scores every sample, computing the fields of `set`. `summary` may be NULL. Returns an exit code; CLI_FAILED without a line
 * when a signal is held back. */
int score_pass(score_input *in, score_set set, score_sink sink, void *context, vg_score_summary *summary);

#endif
