/* score_pass.h - one pass over a prediction file, or over predictions that networks compute meanwhile: blocks in,
 * scores out, in bounded memory. */
#ifndef VG_WORKFLOW_SCORE_PASS_H
#define VG_WORKFLOW_SCORE_PASS_H

#include "workflow/prediction_input.h"

/* The consumer of a pass's results. */
typedef struct vg_score_sink {
    void *context;
    /* Takes the scores of samples first .. first + rows - 1. A failure ends the pass. */
    vg_status (*take)(void *context, size_t first, size_t rows, const vg_scores *block);
    /* Points fields of a block that starts at sample `first` to the sink's own memory, before it is scored. NULL:
     * none. */
    void (*place)(void *context, size_t first, vg_scores *block);
    size_t plane; /* distance between the values of a gated measure at two k where they are placed; 0: interleaved */
    bool counted; /* blocks are counted at once, for which small ones are faster */
} vg_score_sink;

/* Scores every sample, with progress to in->job, which can interrupt it. The fields of `set` get room for a block; the
 * sink may place others. `summary` may be NULL. */
vg_status vg_score_pass__run(vg_score_input *in, vg_field_set set, const vg_score_sink *sink,
                             vg_score_summary *summary);

#endif
