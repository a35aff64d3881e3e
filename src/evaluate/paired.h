/* paired.h - two systems that predicted the same samples: the differences of their figures, and tests of whether
 * they could be chance. For the modules above evaluate.
 *
 * Resample r of n samples is the same draw for every system (seed and n decide it), so the figures of one resample
 * are paired, and only their difference varies between resamples. Calibration errors are not supported: a resample
 * of a calibrated system is miscalibrated by chance, which shifts both figures by unknown amounts. */
#ifndef VG_PAIRED_H
#define VG_PAIRED_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/evaluate.h"

typedef enum vg_paired_figure {
    VG_PAIRED_ACCURACY,
    VG_PAIRED_F1,
    VG_PAIRED_NLL,
    VG_PAIRED_BRIER,
    VG_PAIRED_AURC,  /* of one measure, as error AUROC */
    VG_PAIRED_AUROC,
    VG_PAIRED_FIGURES
} vg_paired_figure;

/* The figures of `resamples` resamples: out[r * VG_PAIRED_FIGURES + figure]. The tally was made with bootstrap = 1;
 * `measure` holds its rows. */
vg_status vg_evaluate__replicates(double *out, const vg_tally *tally, const vg_measure *measure, size_t resamples,
                                  uint64_t seed, unsigned threads);

/* The replicates of two systems, and the confidence of intervals. */
typedef struct vg_paired_replicates {
    const double *first, *second; /* of vg_evaluate__replicates, with the same seed and number */
    size_t resamples;             /* 0: no intervals and no tests */
    double confidence;
} vg_paired_replicates;

/* `value`: second minus first in one figure, on the data itself. Gives its percentile interval and the two-sided
 * p-value of no difference (at least 2 / (resamples + 1)); NaN for both where a resample leaves a figure undefined. */
vg_status vg_evaluate__difference(vg_estimate *out, double *p_value, double value, vg_paired_figure figure,
                                  const vg_paired_replicates *pair);

/* McNemar's exact test: the first alone is right on `a` samples, the second alone on `b`. */
double vg_evaluate__mcnemar(size_t a, size_t b);

#endif
