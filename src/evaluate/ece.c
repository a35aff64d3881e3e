/* ece.c - expected and maximum calibration error alone, for callers that need no other figure.
 *
 * One pass over the probabilities, with memory for the bins and a block of widened float32 rows only. Bins and sums
 * are those of the tally (base/calibration_bins.h), added in the same order, so that the figures equal vg_evaluate's
 * to the bit. The confidence is the largest probability; where several classes have it, the lowest of them is the
 * prediction. */
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

/* Whether `label` is the lowest class that has the largest value. */
static inline bool is_prediction(const double *row, double most, size_t label) {
    if (row[label] < most)
        return false;
    for (size_t j = 0; j < label; j++)
        if (row[j] == most)
            return false;
    return true;
}

static vg_status check_row(const ece_job *job, size_t i, bool valid, double sum) {
    if (!valid || isnan(sum))
        return vg_base__fail(VG_ERR_DATA, "sample %zu: a probability is negative, above 1 or not a number", i);
    if (!(fabs(sum - 1) <= 1e-3))
        return vg_base__fail(VG_ERR_DATA, "sample %zu: the probabilities sum to %.9g, not 1", i, sum);
    if (job->labels[i] < 0 || (uint64_t)job->labels[i] >= job->c)
        return vg_base__fail(VG_ERR_DATA, "label %zu is %lld, expected 0 to %zu", i, (long long)job->labels[i],
                             job->c - 1);
    return VG_OK;
}

enum { BLOCK = 128 }; /* rows */

/* Adds rows first .. first + n - 1 to the bins. */
static vg_status count(const ece_job *job, const double *p, size_t first, size_t n) {
    double most[BLOCK], least[BLOCK], sum[BLOCK];
    const int64_t *labels = job->labels + first;
    vg_evaluate__rows()->extremes(most, least, sum, p, n, job->c);
    for (size_t i = 0; i < n; i++, p += job->c) {
        bool in_range = least[i] >= 0 && most[i] <= 1.002;
        if (!in_range || !(fabs(sum[i] - 1) <= 1e-3) || (uint64_t)labels[i] >= job->c)
            return check_row(job, first + i, in_range, sum[i]);
        bin_sums *bin = &job->sums[vg_base__bin(job->edges, job->bins, most[i])];
        bin->confidence += most[i];
        bin->correct += is_prediction(p, most[i], (size_t)labels[i]);
        bin->count++;
    }
    return VG_OK;
}

/* float32 probabilities are widened block by block. */
static vg_status count_all(const ece_job *job, const void *p, vg_dtype dtype, double *wide) {
    for (size_t first = 0; first < job->n; first += BLOCK) {
        size_t n = job->n - first < BLOCK ? job->n - first : BLOCK, values = n * job->c;
        const double *rows = wide;
        if (dtype == VG_F64)
            rows = (const double *)p + first * job->c;
        for (size_t i = 0; dtype == VG_F32 && i < values; i++)
            wide[i] = (double)((const float *)p + first * job->c)[i];
        VG_TRY(count(job, rows, first, n));
    }
    return VG_OK;
}

static vg_status measure(double *ece, double *mce, const ece_job *job, const void *p, vg_dtype dtype, double *wide) {
    vg_base__bin_edges(job->edges, job->bins);
    VG_TRY(count_all(job, p, dtype, wide));
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
    double *wide = NULL; /* BLOCK x c */
    ece_job job = {.labels = labels, .n = n, .c = c, .bins = bins};
    VG_TRY(vg_base__zalloc(&job.sums, bins, sizeof *job.sums, "bins"));
    vg_status status = vg_base__alloc(&job.edges, bins + 1, sizeof *job.edges, "bin edges");
    if (status == VG_OK && dtype == VG_F32)
        status = vg_base__alloc(&wide, c, BLOCK * sizeof *wide, "probabilities");
    if (status == VG_OK)
        status = measure(ece, mce, &job, p, dtype, wide);
    vg_base__release(wide);
    vg_base__release(job.sums);
    vg_base__release(job.edges);
    return status;
}
