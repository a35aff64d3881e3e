/* site_bootstrap.h - intervals of the figures of images, by drawing images with replacement. Internal.
 *
 * The sites of an image are not independent, so an image is drawn with all its sites. The figures of the whole need
 * sums for each image; those of a measure need the number of sites and errors of the image in each of 256 groups of
 * neighbouring values. A resample adds those of the images it holds. The groups are used for the intervals only: the
 * figures themselves are exact. */
#ifndef VG_WORKFLOW_SITE_BOOTSTRAP_H
#define VG_WORKFLOW_SITE_BOOTSTRAP_H

#include "evaluate/paired.h"
#include "vargate/evaluate.h"
#include "vargate/workflow.h"
#include "workflow/value_spill.h"

typedef struct vg_site_bootstrap {
    size_t images, classes, k_count, resamples;
    const double *k; /* borrowed */
    uint64_t seed;
    double confidence;
    size_t
        width; /* sums of an image: sites, errors, NLL, Brier; 3 per class (support, predicted, right); 2 per k (kept,
                      kept errors) */
    double *sums;  /* images x width */
    double *drawn; /* images: the number of times the resample holds each */
    double *pairs; /* resamples x VG_PAIRED_FIGURES, of the measure of lowest AURC; NULL: not wanted. Borrowed */
    double lowest; /* that AURC so far */
} vg_site_bootstrap;

/* Of `own` the resamples, the seed and the confidence are read. Free also after a failure. */
vg_status vg_site_bootstrap__new(vg_site_bootstrap *b, size_t images, size_t classes, const double *k, size_t k_count,
                                 const vg_evaluate_file_options *own);
void vg_site_bootstrap__free(vg_site_bootstrap *b);
/* Adds a site of an image: its mean over members, its label, its margin ratio. */
void vg_site_bootstrap__add(vg_site_bootstrap *b, size_t image, const double *mean, size_t label, double ratio);
/* Intervals of the figures of the whole, of the classes and of the rule. */
vg_status vg_site_bootstrap__whole(vg_site_bootstrap *b, vg_evaluation *e);
/* Intervals of a measure's ranking from its column of the spill, whose rows are the sites that were added, in their
 * order. */
vg_status vg_site_bootstrap__ranking(vg_site_bootstrap *b, vg_ranking *r, vg_value_spill *spill, size_t column,
                                     const vg_evaluate_options *options);

#endif
