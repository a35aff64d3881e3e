/* ece.c - expected and maximum calibration error alone, for callers who want nothing else.
 *
 * One pass over the probabilities, and no memory but the bins. Bins and sums are those of the tally
 * (base/calibration_bins.h), added in the same order, so that the figures are vg_evaluate's to the bit. The confidence
 * is the largest probability; where several classes have it, the lowest of them is the prediction. */
#include "evaluate/evaluate_internal.h"

typedef struct bin_sums {
    double confidence;
    size_t correct, count;
} bin_sums;

typedef struct ece_job {
    const int64_t *labels; /* n */
    size_t n, c, bins;
    double *edges;  /* bins + 1 */
    bin_sums *sums; /* bins */
} ece_job;

/* The functions for one element type. A macro makes them, so that float32 probabilities need no copy in float64.
 * is_prediction_TYPE tells whether `label` is the lowest class that has the largest value; count_TYPE adds all rows to
 * the bins. Its maximum runs in two chains, so that one comparison need not wait for the other. */
#define DEFINE_COUNT(TYPE)                                                                                             \
    static inline bool is_prediction_##TYPE(const TYPE *row, TYPE most, size_t label) {                                \
        if (row[label] < most)                                                                                         \
            return false;                                                                                              \
        for (size_t j = 0; j < label; j++)                                                                             \
            if (row[j] == most)                                                                                        \
                return false;                                                                                          \
        return true;                                                                                                   \
    }                                                                                                                  \
    static vg_status count_##TYPE(const ece_job *job, const TYPE *p) {                                                 \
        for (size_t i = 0, c = job->c; i < job->n; i++) {                                                              \
            const TYPE *row = p + i * c;                                                                               \
            TYPE most = row[0], other = row[c - 1];                                                                    \
            bool valid = row[0] >= 0 && row[c - 1] >= 0; /* false for a NaN */                                         \
            double even = (double)row[0], odd = (double)row[c - 1];                                                    \
            size_t j = 1;                                                                                              \
            for (; j + 2 < c; j += 2) {                                                                                \
                most = row[j] > most ? row[j] : most;                                                                  \
                other = row[j + 1] > other ? row[j + 1] : other;                                                       \
                valid &= (row[j] >= 0) & (row[j + 1] >= 0);                                                            \
                even += (double)row[j];                                                                                \
                odd += (double)row[j + 1];                                                                             \
            }                                                                                                          \
            if (j + 1 < c) {                                                                                           \
                most = row[j] > most ? row[j] : most;                                                                  \
                valid &= row[j] >= 0;                                                                                  \
                even += (double)row[j];                                                                                \
            }                                                                                                          \
            most = other > most ? other : most;                                                                        \
            VG_TRY(check_row(job, i, valid &&most <= (TYPE)1.002, even + odd));                                        \
            bin_sums *bin = &job->sums[vg_base__bin(job->edges, job->bins, (double)most)];                             \
            bin->confidence += (double)most;                                                                           \
            bin->correct += is_prediction_##TYPE(row, most, (size_t)job->labels[i]);                                   \
            bin->count++;                                                                                              \
        }                                                                                                              \
        return VG_OK;                                                                                                  \
    }

static inline vg_status check_row(const ece_job *job, size_t i, bool valid, double sum) {
    if (!valid)
        return vg_base__fail(VG_ERR_DATA, "sample %zu: a probability is negative, above 1 or not a number", i);
    if (!(fabs(sum - 1) <= 1e-3))
        return vg_base__fail(VG_ERR_DATA, "sample %zu: the probabilities sum to %.9g, not 1", i, sum);
    if (job->labels[i] < 0 || (uint64_t)job->labels[i] >= job->c)
        return vg_base__fail(VG_ERR_DATA, "label %zu is %lld, expected 0 to %zu", i, (long long)job->labels[i],
                             job->c - 1);
    return VG_OK;
}

DEFINE_COUNT(float)
DEFINE_COUNT(double)

static vg_status measure(double *ece, double *mce, const ece_job *job, const void *p, vg_dtype dtype) {
    vg_base__bin_edges(job->edges, job->bins);
    VG_TRY(dtype == VG_F32 ? count_float(job, p) : count_double(job, p));
    vg_bin_gaps gaps = {0};
    for (size_t b = 0; b < job->bins; b++)
        vg_base__add_bin(&gaps, (double)job->sums[b].count, job->sums[b].confidence, (double)job->sums[b].correct);
    if (ece)
        *ece = gaps.total / (double)job->n;
    if (mce)
        *mce = gaps.worst;
    return VG_OK;
}

vg_status vg_calibration_error(double *ece, double *mce, const void *p, vg_dtype dtype, const int64_t *labels, size_t n,
                               size_t c, size_t bins) {
    if (n == 0 || !p || !labels)
        return vg_base__fail(VG_ERR_ARGUMENT, "calibration error: no samples");
    if (dtype != VG_F32 && dtype != VG_F64)
        return vg_base__fail(VG_ERR_ARGUMENT, "calibration error: probabilities must be float32 or float64");
    if (c < 2 || bins < 1 || bins > VG_BINS_MOST)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "calibration error: %zu classes and %zu bins, expected at least 2 and 1 to %d", c, bins,
                             VG_BINS_MOST);
    ece_job job = {.labels = labels, .n = n, .c = c, .bins = bins};
    VG_TRY(vg_base__zalloc(&job.sums, bins, sizeof *job.sums, "bins"));
    vg_status status = vg_base__alloc(&job.edges, bins + 1, sizeof *job.edges, "bin edges");
    if (status == VG_OK)
        status = measure(ece, mce, &job, p, dtype);
    vg_base__release(job.sums);
    vg_base__release(job.edges);
    return status;
}
