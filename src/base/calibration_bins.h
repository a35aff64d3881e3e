/* calibration_bins.h - the one definition of calibration error and of the log-likelihood of a probability. Internal.
 *
 * The range of a confidence is cut into B bins of equal width. Bin b holds confidences in (b/B, (b+1)/B]; the first bin
 * is closed at 0, and the last one also takes what rounding has put above 1. With, for the rows of bin b, n_b their
 * number, s_b the sum of their confidences and h_b the number of correct predictions among them:
 *
 *     ECE = 1/N sum_b |s_b - h_b|        MCE = max over bins with n_b > 0 of |s_b - h_b| / n_b
 *
 * Evaluation, calibration and the monitor of a training run all take these functions, so that all of them give
 * the same calibration error for the same predictions. */
#ifndef VG_BASE_CALIBRATION_BINS_H
#define VG_BASE_CALIBRATION_BINS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum { VG_BINS_MOST = 10000 }; /* bins; vg_base__bin is exact up to this number */

/* edges: bins + 1 values, b / bins. */
static inline void vg_base__bin_edges(double *edges, size_t bins) {
    for (size_t b = 0; b <= bins; b++)
        edges[b] = (double)b / (double)bins;
}

/* The bin of a confidence p >= 0. Rounding of the product can matter only where it comes within 1e-9 of a whole number
 * (for up to VG_BINS_MOST bins): there the edges themselves decide. */
static inline size_t vg_base__bin(const double *edges, size_t bins, double p) {
    double last = (double)bins - 0.5, scaled = p * (double)bins;
    scaled = scaled < last ? scaled : last;
    size_t b = (size_t)(int64_t)scaled;
    if (fabs(scaled - (double)(int64_t)b - 0.5) > 0.5 - 1e-9) {
        b -= b > 0 && p <= edges[b];
        b += b + 1 < bins && p > edges[b + 1];
    }
    return b;
}

/* The sums of ECE and MCE over bins. Begin with zeros and add the bins in order; ECE is `total` / N, MCE is `worst`. */
typedef struct vg_bin_gaps {
    double total, worst;
} vg_bin_gaps;
static inline void vg_base__add_bin(vg_bin_gaps *gaps, double count, double confidence, double correct) {
    double gap = fabs(confidence - correct);
    gaps->total += gap;
    if (count > 0 && gap / count > gaps->worst)
        gaps->worst = gap / count;
}

/* The probability whose logarithm a likelihood takes: at least `floor`, so that a floor above 0 keeps it finite. */
static inline double vg_base__floored(double p, double floor) { return p > floor ? p : floor; }
/* The negative log-likelihood of a label that was given probability p. */
static inline double vg_base__nll(double p, double floor) { return -log(vg_base__floored(p, floor)); }

#endif
