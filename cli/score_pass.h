/* score_pass.h - one pass over a prediction file: blocks in, scores out, memory bounded whatever N. */
#ifndef CLI_SCORE_PASS_H
#define CLI_SCORE_PASS_H

#include "score_options.h"

/* Where a pass leaves its results. */
typedef struct score_sink {
    void *context;
    /* Takes the scores of samples first .. first + rows - 1. Returns an exit code. */
    int (*take)(void *context, size_t first, size_t rows, const vg_scores *block);
    /* Points places of a block that starts at sample `first` to the sink's own memory, before it is scored. NULL: none. */
    void (*place)(void *context, size_t first, vg_scores *block);
    size_t plane; /* how far apart the values of gated measures at two k lie where they are placed; 0: side by side */
    bool counted; /* blocks are counted at once: small ones serve better */
} score_sink;

/* Scores every sample. The fields of `set` get room for a block; the sink may place others. `summary` may be NULL. Returns an
 * exit code; CLI_FAILED without a line when a signal is held back. */
int score_pass(score_input *in, score_set set, const score_sink *sink, vg_score_summary *summary);

#endif
