/* set_kernels.c - the values of one sample one at a time, the portable form of x86/set_kernels_avx512.c, and the
 * choice between them. See set_kernels.h. */
#include "evaluate/set_kernels.h"

#include <math.h>

#include "base/cpu.h"

/* Well within the scorer's tolerance of 1e-3, because its sum may differ by rounding. */
static bool sums_to_one(double sum) { return fabs(sum - 1) <= 0.9e-3; }

static bool is_distribution(const double *v, size_t n) {
    double sum[4] = {0};
    unsigned bad = 0;
    for (size_t c = 0; c < n; c++) {
        bad |= !(v[c] >= 0);
        sum[c % 4] += v[c];
    }
    return !bad && sums_to_one((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

static bool widen(double *out, const float *v, size_t n) {
    for (size_t c = 0; c < n; c++)
        out[c] = (double)v[c];
    return is_distribution(out, n);
}

static size_t top(const double *v, size_t n) {
    size_t top = 0;
    for (size_t c = 1; c < n; c++)
        top = v[c] > v[top] ? c : top;
    return top;
}

/* Marks the classes c for which IN holds, eight per byte. */
#define MARK(IN)                                                                                                       \
    size_t size = 0;                                                                                                   \
    for (size_t first = 0; first < n; first += 8) {                                                                    \
        unsigned byte = 0;                                                                                             \
        size_t end = n - first < 8 ? n : first + 8;                                                                    \
        for (size_t c = first; c < end; c++) {                                                                         \
            unsigned in = IN;                                                                                          \
            byte |= in << (7 - (c - first));                                                                           \
            size += in;                                                                                                \
        }                                                                                                              \
        mask[first / 8] = (uint8_t)byte;                                                                               \
    }                                                                                                                  \
    return size

static size_t mark_one(uint8_t *mask, const double *v, size_t n, double base, double threshold) {
    MARK(base - v[c] <= threshold);
}

static void mark_within(const vg_set_marks *to, const double *v, size_t n, double base, const double *thresholds) {
    for (size_t a = 0; a < to->alphas; a++)
        to->size[a] = (int32_t)mark_one(to->mask + a * to->bytes, v, n, base, thresholds[a]);
}

static size_t mark_own(uint8_t *mask, const double *v, size_t n, double base, const double *thresholds) {
    MARK(base - v[c] <= thresholds[c]);
}

static size_t mark_floats_at(uint8_t *mask, const float *v, size_t n, float bound) { MARK(v[c] >= bound); }

static bool floats_sum_to_one(const float *v, size_t n) {
    float sum[4] = {0};
    unsigned bad = 0;
    for (size_t c = 0; c < n; c++) {
        bad |= !(v[c] >= 0);
        sum[c % 4] += v[c];
    }
    return !bad && sums_to_one((double)((sum[0] + sum[1]) + (sum[2] + sum[3])));
}

static size_t mark_floats(const vg_set_marks *to, const vg_set_floats *in, const float *bounds) {
    for (size_t i = 0; i < in->rows; i++) {
        const float *v = in->v + (ptrdiff_t)i * in->stride;
        if (!floats_sum_to_one(v, in->n))
            return i;
        for (size_t a = 0; a < to->alphas; a++) {
            size_t at = i * to->alphas + a;
            to->size[at] = (int32_t)mark_floats_at(to->mask + at * to->bytes, v, in->n, bounds[a]);
        }
    }
    return in->rows;
}

static size_t mark_from(uint8_t *mask, const double *v, size_t n, double least) { MARK(v[c] >= least); }

static size_t collect(double *out, const double *v, size_t n, double least) {
    size_t count = 0;
    for (size_t c = 0; c < n; c++) { /* without a branch */
        out[count] = v[c];
        count += v[c] >= least;
    }
    return count;
}

static void order(double *out, double *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        out[i] = -1; /* below every value */
    for (size_t i = 0; i < n; i++) {
        size_t place = 0;
        for (size_t j = 0; j < n; j++)
            place += v[j] > v[i];
        out[place] = v[i];
    }
    for (size_t i = 1; i < n; i++) /* equal values share their first rank */
        out[i] = out[i] < 0 ? out[i - 1] : out[i];
}

static vg_set_above above(const double *v, size_t n, size_t y) {
    vg_set_above found = {0, 0, v[y]};
    for (size_t c = 0; c < n; c++) {
        bool first = c < y ? v[c] >= v[y] : v[c] > v[y];
        found.count += first;
        found.sum += first ? vg_set__exact(v[c]) : 0;
        found.most = v[c] > found.most ? v[c] : found.most;
    }
    return found;
}

const vg_set_kernels vg_set__kernels_plain = {is_distribution, widen,     top,     mark_within, mark_own,
                                              mark_floats,     mark_from, collect, order,       above};

const vg_set_kernels *vg_set__kernels(void) {
#if defined(__x86_64__) && defined(VG_WITH_EVALUATE_X86)
    if (vg_base__cpu_tier() == VG_TIER_AVX512)
        return &vg_set__kernels_avx512;
#endif
    return &vg_set__kernels_plain;
}
