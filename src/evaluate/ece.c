/* ece.c - expected and maximum calibration error alone, for callers who want nothing else: one pass, no memory but
 * the bins. The same definition as the tally's: equal-width bins (lo, hi], confidence = largest probability, ties to
 * the lower class. */
#include "evaluate/evaluate_internal.h"

enum { MOST_BINS = 10000 };

typedef struct ece_bin {
    double gap; /* sum of confidence - correct */
    size_t count;
} ece_bin;

/* Whether `label` is the lowest class that has the largest value. */
#define IS_FIRST(TYPE)                                                                                                 \
    static inline bool is_first_##TYPE(const TYPE *row, TYPE most, size_t label) {                                     \
        if (row[label] < most)                                                                                         \
            return false;                                                                                              \
        for (size_t j = 0; j < label; j++)                                                                             \
            if (row[j] == most)                                                                                        \
                return false;                                                                                          \
        return true;                                                                                                   \
    }
IS_FIRST(float)
IS_FIRST(double)

/* The element type is a macro so that float32 probabilities need no copy. */
#define COUNT(NAME, TYPE)                                                                                              \
    static vg_status NAME(ece_bin *sums, const double *edges, const TYPE *p, const int64_t *labels, size_t n,          \
                          size_t c, size_t bins) {                                                                     \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const TYPE *row = p + i * c;                                                                               \
            TYPE most = row[0], other = row[c - 1];     /* two chains, so that comparisons need not wait */            \
            bool fine = row[0] >= 0 && row[c - 1] >= 0; /* false for a NaN */                                          \
            for (size_t j = 1; j + 1 < c; j += 2) {                                                                    \
                most = row[j] > most ? row[j] : most;                                                                  \
                other = row[j + 1] > other ? row[j + 1] : other;                                                       \
                fine &= (row[j] >= 0) & (row[j + 1] >= 0);                                                             \
            }                                                                                                          \
            most = other > most ? other : most;                                                                        \
            if (!fine || !(most <= (TYPE)1.002))                                                                       \
                return vg_base__fail(VG_ERR_DATA, "sample %zu: a probability is negative, above 1 or not a number",    \
                                     i);                                                                               \
            if (labels[i] < 0 || (uint64_t)labels[i] >= c)                                                             \
                return vg_base__fail(VG_ERR_DATA, "label %zu is %lld, expected 0 to %zu", i, (long long)labels[i],     \
                                     c - 1);                                                                           \
            ece_bin *b = &sums[vg_evaluate__bin(edges, bins, (double)most)];                                           \
            b->gap += (double)most - is_first_##TYPE(row, most, (size_t)labels[i]);                                    \
            b->count++;                                                                                                \
        }                                                                                                              \
        return VG_OK;                                                                                                  \
    }
COUNT(count_f32, float)
COUNT(count_f64, double)

static vg_status measure(double *ece, double *mce, ece_bin *sums, double *edges, const void *p, vg_dtype dtype,
                         const int64_t *labels, size_t n, size_t c, size_t bins) {
    for (size_t b = 0; b <= bins; b++)
        edges[b] = (double)b / (double)bins;
    VG_TRY(dtype == VG_F32 ? count_f32(sums, edges, p, labels, n, c, bins)
                           : count_f64(sums, edges, p, labels, n, c, bins));
    double total = 0, worst = 0;
    for (size_t b = 0; b < bins; b++) {
        double gap = fabs(sums[b].gap);
        total += gap;
        if (sums[b].count > 0 && gap / (double)sums[b].count > worst)
            worst = gap / (double)sums[b].count;
    }
    if (ece)
        *ece = total / (double)n;
    if (mce)
        *mce = worst;
    return VG_OK;
}

vg_status vg_calibration_error(double *ece, double *mce, const void *p, vg_dtype dtype, const int64_t *labels, size_t n,
                               size_t c, size_t bins) {
    if (n == 0 || !p || !labels)
        return vg_base__fail(VG_ERR_ARGUMENT, "calibration error: no samples");
    if (dtype != VG_F32 && dtype != VG_F64)
        return vg_base__fail(VG_ERR_ARGUMENT, "calibration error: probabilities must be float32 or float64");
    if (c < 2 || bins < 1 || bins > MOST_BINS)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "calibration error: %zu classes and %zu bins, expected at least 2 and 1 to %d", c, bins,
                             MOST_BINS);
    ece_bin *sums;
    double *edges;
    VG_TRY(vg_base__zalloc(&sums, bins, sizeof *sums, "bins"));
    vg_status status = vg_base__alloc(&edges, bins + 1, sizeof *edges, "bin edges");
    if (status == VG_OK)
        status = measure(ece, mce, sums, edges, p, dtype, labels, n, c, bins);
    vg_base__release(sums);
    vg_base__release(edges);
    return status;
}
