/* calibrate_measure.c - the sweep that checks logits and measures predictions at given temperatures.
 *
 * Per sample: member distributions p_m = softmax(b_m z_m), their mean, and of both the negative log-likelihood of the
 * label and the confidence (largest probability), binned for the ECE (base/calibration_bins.h). A member's confidence
 * is 1/s0. The mean's NLL is the log-sum-exp over members of log p_m(y), because a probability computed first could
 * underflow to 0.
 *
 * Sums of a chunk, in doubles, W = 3 bins, a bin being (count, sum of confidence, number correct):
 *     [0] NLL of the mean, [1 .. 1 + W) bins of the mean,
 *     then for each member: loss, slope, bend, excess, W of bins. */
#include <math.h>
#include <string.h>

#include "base/calibration_bins.h"
#include "calibrate/calibrate_data.h"

enum { MEAN_HEAD = 1, MEMBER_HEAD = 4 };

typedef struct measure_sweep {
    const vg_logits *logits;
    const double *b;
    const double *edges; /* bins + 1 */
    unsigned bins;
    vg_subsample *keep;
} measure_sweep;

/* One sample of a block: row `row` of `view`, sample `number` of all. */
typedef struct measured_sample {
    const vg_predictions *view;
    size_t row, number;
} measured_sample;

/* Adds a prediction to sums[3 x bins]; returns its bin. */
static size_t add_to_bin(double *sums, const measure_sweep *sweep, double confidence, bool correct) {
    size_t index = vg_base__bin(sweep->edges, sweep->bins, confidence);
    double *bin = sums + 3 * index;
    bin[0] += 1;
    bin[1] += confidence;
    bin[2] += correct;
    return index;
}

/* Whether y is the first class with the largest logit. */
static bool label_first(const void *row, bool f32, size_t y, double top) {
    for (size_t c = 0; c < y; c++) {
        if ((f32 ? (double)((const float *)row)[c] : ((const double *)row)[c]) == top)
            return false;
    }
    return true;
}

static void keep_row(const vg_subsample *keep, const vg_logits *l, const void *row, bool f32, size_t n, size_t m) {
    float *to = keep->z + (n / keep->stride * l->m + m) * l->c;
    for (size_t c = 0; c < l->c; c++) {
        double z = f32 ? (double)((const float *)row)[c] : ((const double *)row)[c];
        to[c] = (float)(z > 1e30 ? 1e30 : z < -1e30 ? -1e30 : z);
    }
    keep->labels[n / keep->stride] = l->labels[n];
}

/* Member m of one sample: adds p_m to mean[c]; returns log p_m(y) in *log_p. */
static vg_status measure_row(double *log_p, double *sums, double *scratch, const measure_sweep *sweep,
                             const measured_sample *sample, size_t m) {
    const vg_logits *l = sweep->logits;
    double *e = scratch + l->c, *mean = scratch + 2 * l->c;
    size_t n = sample->number;
    double b = sweep->b[l->folds ? vg_units__fold(&l->units, n, l->folds) * l->m + m : m];
    bool f32;
    const void *row = vg_logits__row(sample->view, sample->row, m, scratch, &f32);
    size_t y = (size_t)l->labels[n];
    vg_row_sums s;
    if (!(f32 ? l->kernels->exps_f32(&s, e, row, l->c, b) : l->kernels->exps_f64(&s, e, row, l->c, b)))
        return vg_base__fail(VG_ERR_DATA,
                             "logits of sample %zu, member %zu hold NaN or infinity, expected finite numbers", n, m);
    double excess = s.top - (f32 ? (double)((const float *)row)[y] : ((const double *)row)[y]);
    double x = -b * excess, log_s0 = log(s.s0), average = s.s1 / s.s0;
    sums[0] += log_s0 - x;
    sums[1] += average - x;
    sums[2] += s.s2 / s.s0 - average * average;
    sums[3] += excess;
    add_to_bin(sums + MEMBER_HEAD, sweep, 1 / s.s0, excess == 0 && label_first(row, f32, y, s.top));
    l->kernels->add_scaled(mean, e, 1 / s.s0, l->c);
    if (sweep->keep != NULL && n % sweep->keep->stride == 0 && n / sweep->keep->stride < sweep->keep->n)
        keep_row(sweep->keep, l, row, f32, n, m);
    *log_p = x - log_s0;
    return VG_OK;
}

static vg_status measure_chunk(void *context, double *sums, double *scratch, const vg_predictions *view, size_t first,
                               size_t rows, size_t origin) {
    const measure_sweep *sweep = context;
    const vg_logits *l = sweep->logits;
    size_t width = 3 * (size_t)sweep->bins;
    double *mean = scratch + 2 * l->c;
    for (size_t i = first; i < first + rows; i++) {
        const measured_sample sample = {view, i, origin + i};
        memset(mean, 0, l->c * sizeof *mean);
        double most = -INFINITY, total = 0; /* log sum_m p_m(y) = most + log total */
        for (size_t m = 0; m < l->m; m++) {
            double log_p = 0, *member = sums + MEAN_HEAD + width + m * (MEMBER_HEAD + width);
            VG_TRY(measure_row(&log_p, member, scratch, sweep, &sample, m));
            if (log_p > most) {
                total = total * exp(most - log_p) + 1;
                most = log_p;
            } else {
                total += exp(log_p - most);
            }
        }
        size_t best = 0;
        for (size_t c = 1; c < l->c; c++) {
            if (mean[c] > mean[best])
                best = c;
        }
        double nll = log((double)l->m) - most - log(total);
        sums[0] += nll;
        double confidence = mean[best] / (double)l->m;
        bool correct = best == (size_t)l->labels[origin + i];
        size_t bin = add_to_bin(sums + MEAN_HEAD, sweep, confidence, correct);
        if (l->keep != NULL) {
            l->keep->nll[origin + i] = nll;
            l->keep->gap[origin + i] = confidence - correct;
            l->keep->bin[origin + i] = (uint16_t)bin;
        }
    }
    return VG_OK;
}

static double expected_error(const double *bins, unsigned count, double n, double *accuracy) {
    vg_bin_gaps gaps = {0};
    double correct = 0;
    for (unsigned i = 0; i < count; i++) {
        vg_base__add_bin(&gaps, bins[3 * i], bins[3 * i + 1], bins[3 * i + 2]);
        correct += bins[3 * i + 2];
    }
    *accuracy = correct / n;
    return gaps.total / n;
}

static void finish(const vg_logits *l, const double *total, unsigned bins, vg_calibration_metrics *out,
                   vg_temperature_loss *losses, double *excess) {
    double n = (double)l->n, m_count = (double)l->m, accuracy;
    size_t width = 3 * (size_t)bins;
    memset(out, 0, sizeof *out);
    out->nll = total[0] / n;
    out->ece = expected_error(total + MEAN_HEAD, bins, n, &out->accuracy);
    for (size_t m = 0; m < l->m; m++) {
        const double *member = total + MEAN_HEAD + width + m * (MEMBER_HEAD + width);
        out->member_nll += member[0] / n / m_count;
        out->member_ece += expected_error(member + MEMBER_HEAD, bins, n, &accuracy) / m_count;
        out->member_accuracy += accuracy / m_count;
        if (losses != NULL)
            losses[m] = (vg_temperature_loss){member[0] / n, member[1] / n, member[2] / n};
        if (excess != NULL)
            excess[m] = member[3];
    }
}

vg_status vg_logits__measure(vg_logits *logits, const double *b, unsigned bins, vg_calibration_metrics *out,
                             vg_temperature_loss *losses, double *excess, vg_subsample *keep) {
    measure_sweep sweep = {.logits = logits, .b = b, .bins = bins, .keep = keep};
    size_t room, width, member = MEMBER_HEAD + 3 * (size_t)bins;
    if (!vg_base__mul(&width, logits->m, member) || !vg_base__add(&width, width, MEAN_HEAD + 3 * (size_t)bins))
        return vg_base__fail(VG_ERR_MEMORY, "calibration metrics of %zu members do not fit memory", logits->m);
    /* The sums of all samples, followed by the edges of the bins. */
    double *total;
    if (!vg_base__add(&room, width, (size_t)bins + 1))
        return vg_base__fail(VG_ERR_MEMORY, "calibration metrics in %u bins do not fit memory", bins);
    VG_TRY(vg_base__alloc(&total, room, sizeof(double), "calibration metrics"));
    vg_base__bin_edges(total + width, bins);
    sweep.edges = total + width;
    vg_status status = vg_logits__sweep(logits, width, total, measure_chunk, &sweep);
    if (status == VG_OK)
        finish(logits, total, bins, out, losses, excess);
    vg_base__release(total);
    return status;
}
