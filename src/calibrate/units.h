/* units.h - what held-out figures count: samples, or images, whose sites are the samples. Internal to calibrate.
 *
 * Sites of one image are not independent, so that a fold has whole images: image i of those with samples belongs to
 * fold i % folds. A figure stays a mean over samples. The standard error of its change is that of a mean over G
 * clusters, with Student's t of G - 1 degrees of freedom:
 *
 *     e_g = sum over the samples of image g of (difference - mean),   error^2 = G / (G - 1) sum_g e_g^2 / N^2
 *
 * Where every sample is a unit, this is the usual error of a mean, the normal distribution is taken, and sample n
 * belongs to fold n % folds. */
#ifndef VG_CALIBRATE_UNITS_H
#define VG_CALIBRATE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vargate/status.h"

/* All zero: every sample is a unit. */
typedef struct vg_units {
    size_t count;   /* images with samples; 0: samples are units */
    size_t *ends;   /* count: image i ends before this sample */
    uint8_t *fold;  /* N: the fold of a sample; NULL: n % folds */
    bool undivided; /* folds were asked for, and one image cannot be divided */
} vg_units;

/* Checks the images of n samples (ends NULL: none) and deals them to *folds, of which there are then at most as many
 * as images; 0: nothing can be held out. Freed with vg_units__stop. */
vg_status vg_units__start(vg_units *out, size_t n, const size_t *ends, size_t count, unsigned *folds);
void vg_units__stop(vg_units *units);

static inline size_t vg_units__fold(const vg_units *units, size_t sample, size_t folds) {
    return units->fold ? units->fold[sample] : sample % folds;
}
/* How many of n samples belong to a fold. */
size_t vg_units__in_fold(const vg_units *units, size_t n, size_t folds, size_t fold);

/* The change of a mean over samples: its standard error, its 95 % interval, the two-sided p-value of no change. */
typedef struct vg_change {
    double mean, error, low, high, p_value;
} vg_change;
/* Of is[n] - was[n]; was NULL: of is[n]. */
vg_change vg_units__change(const vg_units *units, const double *was, const double *is, size_t n);

#endif
