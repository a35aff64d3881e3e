/* softmax_rows.h - sums over one row of logits, the hot loops of calibration. Internal.
 *
 * With top = max_c z[c] and x[c] = max(b (z[c] - top), -707):
 *     s0 = sum_c e^x[c]      s1 = sum_c x[c] e^x[c]      s2 = sum_c x[c]^2 e^x[c]
 * so that logsumexp(b z) = b top + log s0, and s1/s0, s2/s0 - (s1/s0)^2 are the mean and variance of x under
 * softmax(b z): the first and second derivatives of log s0 in log b and b, in units of b. 1 <= s0 <= C; nothing can
 * overflow. */
#ifndef VG_CALIBRATE_SOFTMAX_ROWS_H
#define VG_CALIBRATE_SOFTMAX_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cpu.h"

typedef struct vg_row_sums {
    double top, s0, s1, s2;
} vg_row_sums;

typedef struct vg_softmax_kernels {
    /* z[c] contiguous, c >= 1, b > 0 */
    void (*sums_f32)(vg_row_sums *out, const float *z, size_t c, double b);
    void (*sums_f64)(vg_row_sums *out, const double *z, size_t c, double b);
    /* The same, and e[c] = e^x[c]; false, with nothing else done, when a logit is NaN or infinite. */
    bool (*exps_f32)(vg_row_sums *out, double *e, const float *z, size_t c, double b);
    bool (*exps_f64)(vg_row_sums *out, double *e, const double *z, size_t c, double b);
    /* mean[c] += weight e[c] */
    void (*add_scaled)(double *mean, const double *e, double weight, size_t c);
} vg_softmax_kernels;

const vg_softmax_kernels *vg_calibrate__softmax_kernels(vg_tier tier);

#endif
