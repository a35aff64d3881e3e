/* score_result.h - the result of scoring a file as a whole. Internal. */
#ifndef VG_WORKFLOW_SCORE_RESULT_H
#define VG_WORKFLOW_SCORE_RESULT_H

#include "workflow/column_store.h"
#include "workflow/prediction_input.h"
#include "workflow/score_tally.h"
#include "workflow/site_images.h"

/* The inputs of a result. */
typedef struct vg_score_outcome {
    const vg_score_input *in;
    const vg_column_store *store; /* the measures */
    const vg_score_tally *tally;
    const vg_score_summary *summary;
    vg_field_set computed;  /* the fields that `tally` has seen */
    bool summarise;         /* statistics and counts are wanted */
    vg_site_images *images; /* ended; the result takes ownership of them. NULL: no images */
} vg_score_outcome;

vg_status vg_score_result__new(vg_score_result **out, const vg_score_outcome *from);

#endif
