/* set_kernels.h - vector kernels over the values of one sample for prediction sets: set_kernels.c, and
 * x86/set_kernels_avx512.c. Internal.
 *
 * Every kernel gives the same bits in every tier: comparisons are exact, and sums are of multiples of 2^-51
 * (set_rule.h), which do not depend on the order of their terms. */
#ifndef VG_SET_KERNELS_H
#define VG_SET_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A multiple of 2^-51: sums of such numbers below 4 are exact in any order. */
static inline double vg_set__exact(double v) { return (v + 3.0) - 3.0; }

/* The classes ranked above a class: their number, the sum of their values, and the largest value of all. */
typedef struct vg_set_above {
    size_t count;
    double sum, most;
} vg_set_above;

/* The sets of one sample, or of several in a row: bits in the order of numpy.packbits, and their number. */
typedef struct vg_set_marks {
    uint8_t *mask; /* alphas x bytes for each sample */
    int32_t *size; /* alphas for each sample */
    size_t bytes, alphas;
} vg_set_marks;

/* Rows of n floats; row i begins at v + i * stride. */
typedef struct vg_set_floats {
    const float *v;
    ptrdiff_t stride;
    size_t rows, n;
} vg_set_floats;

enum { VG_SET_FLOATS = 4096 };
enum { VG_SET_SPARE = 8 }; /* elements that collect() may write beyond those it returns */

typedef struct vg_set_kernels {
    /* Whether the values are certainly a distribution: none negative or NaN, and a sum well within the tolerance. */
    bool (*is_distribution)(const double *v, size_t n);
    /* The same for floats, which are written to `out` as doubles. */
    bool (*widen)(double *out, const float *v, size_t n);
    size_t (*top)(const double *v, size_t n); /* index of the largest value, the first of equals */
    /* Marks the classes with base - v <= thresholds[alpha], for all alphas. */
    void (*mark_within)(const vg_set_marks *to, const double *v, size_t n, double base, const double *thresholds);
    /* Marks those with base - v[c] <= thresholds[c] and returns their number. */
    size_t (*mark_own)(uint8_t *mask, const double *v, size_t n, double base, const double *thresholds);
    /* Marks the floats v >= bounds[alpha] of the rows before the first one that may not be a distribution, and returns
     * the number of these rows. n is at most VG_SET_FLOATS, so that the rounding of a sum stays within the tolerance.
     */
    size_t (*mark_floats)(const vg_set_marks *to, const vg_set_floats *in, const float *bounds);
    size_t (*mark_from)(uint8_t *mask, const double *v, size_t n, double least); /* v >= least */
    /* Writes the values v >= least to `out`, of room n + VG_SET_SPARE, and returns their number. */
    size_t (*collect)(double *out, const double *v, size_t n, double least);
    /* Writes n values, none negative, in falling order; n squared comparisons. v has room for VG_SET_SPARE more. */
    void (*order)(double *out, double *v, size_t n);
    vg_set_above (*above)(const double *v, size_t n, size_t y);
} vg_set_kernels;

extern const vg_set_kernels vg_set__kernels_plain;
#if defined(__x86_64__) && defined(VG_WITH_EVALUATE_X86)
extern const vg_set_kernels vg_set__kernels_avx512;
#endif
/* The kernels of the tier in use. */
const vg_set_kernels *vg_set__kernels(void);

#endif
