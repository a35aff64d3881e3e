/* score_pass.h - one pass over a prediction file, or over predictions that a network computes on the way: blocks in,
 * scores out, memory bounded whatever N. */
#ifndef VG_WORKFLOW_SCORE_PASS_H
#define VG_WORKFLOW_SCORE_PASS_H

#include "workflow/prediction_input.h"

/* Where a pass leaves its results. */
typedef struct vg_score_sink {
    void *context;
    /* Takes the scores of samples first .. first + rows - 1. A failure ends the pass. */
    vg_status (*take)(void *context, size_t first, size_t rows, const vg_scores *block);
    /* Points places of a block that starts at sample `first` to the sink's own memory, before it is scored. NULL: none.
     */
    void (*place)(void *context, size_t first, vg_scores *block);
    size_t plane; /* how far apart the values of gated measures at two k lie where they are placed; 0: side by side */
    bool counted; /* blocks are counted at once: small ones serve better */
} vg_score_sink;

/* Scores every sample, with progress to in->job, which can interrupt it. The fields of `set` get room for a block; the
 * sink may place others. `summary` may be NULL. */
vg_status vg_score_pass__run(vg_score_input *in, vg_field_set set, const vg_score_sink *sink,
                             vg_score_summary *summary);

#endif
