/* site_evaluation.h - evaluates images and volumes site by site, in memory that does not grow with their number.
 * Internal. */
#ifndef VG_WORKFLOW_SITE_EVALUATION_H
#define VG_WORKFLOW_SITE_EVALUATION_H

#include "formats/prediction_file.h"
#include "workflow/prediction_input.h"

/* The figures of all sites whose label is not left out. Everything is the caller's: the evaluation is freed by
 * vg_evaluation_free, images and order by vg_base__release. */
typedef struct vg_site_figures {
    vg_evaluation *evaluation;
    vg_score_summary summary;
    unsigned long long ignored;
    size_t image_count;
    vg_image_row *images;
    size_t *order; /* by falling share of abstained sites */
} vg_site_figures;

vg_status vg_site_evaluation__run(vg_site_figures *out, vg_score_input *in, const vg_label_maps *maps,
                                  const vg_evaluate_file_options *own);

#endif
