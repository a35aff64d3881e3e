/* site_evaluation.h - evaluates images and volumes site by site, in memory that does not grow with their number.
 * Internal. */
#ifndef VG_WORKFLOW_SITE_EVALUATION_H
#define VG_WORKFLOW_SITE_EVALUATION_H

#include "workflow/site_images.h"

/* The figures of all sites whose label is not left out. Everything is owned by the caller: the evaluation is freed
 * by vg_evaluation_free, the images by vg_site_images__free. */
typedef struct vg_site_figures {
    vg_evaluation *evaluation;
    vg_score_summary summary;
    vg_site_images images;
    uint64_t labels; /* a digest of the labels of all sites, those that are left out included */
    double *pairs;   /* in: resamples x VG_PAIRED_FIGURES for the figures of the resamples; NULL: not wanted */
} vg_site_figures;

/* The number of sites that are ranked in memory at a time; the others stay in a file. Tests set it, before the first
 * evaluation, so that few sites make several parts. */
extern size_t vg_site_evaluation__part_rows;

/* The input must have its label maps. Of `out` only `pairs` is read. */
vg_status vg_site_evaluation__run(vg_site_figures *out, vg_score_input *in, const vg_evaluate_file_options *own);

#endif
