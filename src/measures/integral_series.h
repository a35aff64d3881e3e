/* integral_series.h - two sums that the kernels of EPJS on CPUs (template/js32.h, js64.h) and on GPUs
 * (cuda/score_integral.h) compute alike, on vectors or on one number: macros, because their types differ. */
#ifndef VG_MEASURES_INTEGRAL_SERIES_H
#define VG_MEASURES_INTEGRAL_SERIES_H

/* sum[n] += r^n for n = 1 .. 6, and to 10 where `more`. TYPE is that of r. */
#define VG_ADD_POWERS(TYPE, sum, r, more)                                                                              \
    do {                                                                                                               \
        const TYPE r2_ = (r) * (r), r3_ = r2_ * (r), r4_ = r2_ * r2_;                                                  \
        sum[1] += (r);                                                                                                 \
        sum[2] += r2_;                                                                                                 \
        sum[3] += r3_;                                                                                                 \
        sum[4] += r4_;                                                                                                 \
        sum[5] += r3_ * r2_;                                                                                           \
        sum[6] += r3_ * r3_;                                                                                           \
        if (more) {                                                                                                    \
            const TYPE r5_ = r4_ * (r);                                                                                \
            sum[7] += r4_ * r3_;                                                                                       \
            sum[8] += r4_ * r4_;                                                                                       \
            sum[9] += r5_ * r4_;                                                                                       \
            sum[10] += r5_ * r5_;                                                                                      \
        }                                                                                                              \
    } while (0)

/* out = 1 - exp(-t) for t in 0 .. 0.045, by its series to t^9. TYPE is that of t. */
#define VG_ONE_MINUS_EXP(TYPE, out, t)                                                                                 \
    do {                                                                                                               \
        TYPE q_ = 1.0 / 40320.0 - (t) * (1.0 / 362880.0);                                                              \
        q_ = 1.0 / 5040.0 - (t) * q_;                                                                                  \
        q_ = 1.0 / 720.0 - (t) * q_;                                                                                   \
        q_ = 1.0 / 120.0 - (t) * q_;                                                                                   \
        q_ = 1.0 / 24.0 - (t) * q_;                                                                                    \
        q_ = 1.0 / 6.0 - (t) * q_;                                                                                     \
        q_ = 0.5 - (t) * q_;                                                                                           \
        (out) = (t) * (1.0 - (t) * q_);                                                                                \
    } while (0)

#endif
