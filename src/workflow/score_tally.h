/* score_tally.h - counts made while a file is scored: correct predictions, decisions kept, flags. Internal. */
#ifndef VG_WORKFLOW_SCORE_TALLY_H
#define VG_WORKFLOW_SCORE_TALLY_H

#include "workflow/score_fields.h"

/* Entries are samples, or (sample, label) pairs in multilabel mode. */
typedef struct vg_score_tally {
    unsigned long long entries, correct;
    unsigned long long *kept, *kept_correct; /* one per gate setting; one allocation */
    unsigned long long ties, gated_out;
} vg_score_tally;

vg_status vg_score_tally__new(vg_score_tally *tally, size_t k_count);
void vg_score_tally__free(vg_score_tally *tally);
/* Adds a block; `labels` start at its first sample (NULL: none); an entry whose label is -1 is left out. Fields that
 * were not computed are not counted. */
void vg_score_tally__add(vg_score_tally *tally, const vg_score_layout *layout, const vg_scores *block, size_t rows,
                         const int64_t *labels);

#endif
