/* site_sums.h - the counts of an evaluation that add up over parts of the rows, and the evaluation they give.
 * Internal. */
#ifndef VG_WORKFLOW_SITE_SUMS_H
#define VG_WORKFLOW_SITE_SUMS_H

#include <stddef.h>

#include "vargate/evaluate.h"

typedef struct vg_site_rule {
    size_t kept, kept_errors;
    size_t *by_label, *by_prediction; /* classes: abstained */
} vg_site_rule;

typedef struct vg_site_sums {
    size_t classes, bins, k_count;
    size_t rows, correct;
    long double nll, brier;
    double *bin;         /* bins x 5: count, and sums of confidence, accuracy, square, hit */
    double *gaps;        /* classes x bins: of the classwise ECE */
    size_t *counts;      /* classes x 3: support, predicted, true positive */
    double *uncertainty; /* classes: sum of a measure over the rows of the class */
    uint64_t *confusion; /* classes x classes, or NULL */
    vg_site_rule *rule;  /* k_count */
} vg_site_sums;

vg_status vg_site_sums__new(vg_site_sums *out, size_t classes, size_t bins, size_t k_count);
void vg_site_sums__free(vg_site_sums *sums);
/* Adds what a tally has counted. */
vg_status vg_site_sums__add(vg_site_sums *sums, const vg_tally *tally, const double *k, size_t k_count);
/* The evaluation without the rankings and the adaptive ECE. `measures` have two values each, which are not used. */
vg_status vg_site_sums__evaluation(vg_evaluation **out, const vg_site_sums *sums, const vg_measure *measures,
                                   size_t measure_count, const vg_evaluate_options *options);

#endif
