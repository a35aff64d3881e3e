/* map_data.c - reads predictions for the fit of maps, and measures them. See map_data.h. */
#include "calibrate/map_data.h"

#include <math.h>
#include <string.h>

#include "base/calibration_bins.h"

enum { CHUNK = 256 };

/* --- reading ------------------------------------------------------------------------------------------------------ */
static vg_status check_row(const double *row, size_t c, size_t n, size_t m, bool logits) {
    double sum = 0;
    for (size_t i = 0; i < c; i++) {
        if (!isfinite(row[i]) || (!logits && row[i] < 0))
            return vg_base__fail(VG_ERR_DATA, "sample %zu, member %zu, class %zu is %g, expected %s", n, m, i, row[i],
                                 logits ? "a finite logit" : "a probability");
        sum += row[i];
    }
    if (!logits && fabs(sum - 1) > 1e-3)
        return vg_base__fail(VG_ERR_DATA, "sample %zu, member %zu sums to %g, expected 1: these are not probabilities",
                             n, m, sum);
    return VG_OK;
}

vg_status vg_map__read_row(double *to, const vg_predictions *view, size_t row, size_t m, bool logits, size_t number) {
    bool f32;
    const void *from = vg_logits__row(view, row, m, to, &f32);
    for (size_t c = 0; from != to && c < view->c; c++)
        to[c] = f32 ? (double)((const float *)from)[c] : ((const double *)from)[c];
    return check_row(to, view->c, number, m, logits);
}

static vg_status read_chunk(void *context, double *sums, double *scratch, const vg_predictions *view, size_t first,
                            size_t rows, size_t origin) {
    vg_map_data *d = context;
    const vg_softmax_kernels *kernels = vg_calibrate__softmax_kernels(vg_base__cpu_tier());
    (void)sums;
    for (size_t i = first; i < first + rows; i++) {
        double *mean = d->mean ? d->mean + (origin + i) * d->c : NULL;
        for (size_t m = 0; m < d->m; m++) {
            double *row = d->x + ((origin + i) * d->m + m) * d->c;
            VG_TRY(vg_map__read_row(row, view, i, m, d->logits, origin + i));
            if (!mean)
                continue;
            vg_map__probabilities(scratch, row, d->c, d->logits, kernels);
            for (size_t c = 0; c < d->c; c++)
                mean[c] += scratch[c] / (double)d->m;
        }
    }
    return VG_OK;
}

vg_status vg_map_data__start(vg_map_data *out, vg_logits *logits, bool are_logits, bool mean) {
    size_t row, all, means;
    double total;
    *out = (vg_map_data){logits->n,  logits->m, logits->c, logits->labels, logits->pool,
                         are_logits, NULL,      NULL,      logits->units};
    if (!vg_base__mul(&row, out->m, out->c) || !vg_base__mul(&all, row, out->n) ||
        !vg_base__mul(&means, out->n, out->c))
        return vg_base__fail(VG_ERR_MEMORY, "predictions of shape (%zu, %zu, %zu) do not fit memory", out->n, out->m,
                             out->c);
    VG_TRY(vg_base__alloc(&out->x, all, sizeof *out->x, "predictions"));
    if (mean)
        VG_TRY(vg_base__zalloc(&out->mean, means, sizeof *out->mean, "means over members"));
    return vg_logits__sweep(logits, 1, &total, read_chunk, out);
}

void vg_map_data__stop(vg_map_data *d) {
    vg_base__release(d->x);
    vg_base__release(d->mean);
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */
typedef struct measure_work {
    const vg_map_data *data;
    vg_calibration_map *const *maps;
    size_t folds;
    unsigned bins;
    const double *edges;
    vg_sample_figures *samples;
    double *sums, *scratch; /* chunks x width; workers x (m + 4) c */
    size_t width;
} measure_work;

/* Adds NLL and bins (count, confidence, correct) of one distribution to sums; with `keep`, also the figures of
 * sample n. */
static void add_row(double *sums, const double *p, size_t n, const measure_work *w, bool keep) {
    const vg_map_data *d = w->data;
    size_t best = 0, y = (size_t)d->labels[n];
    for (size_t c = 1; c < d->c; c++)
        best = p[c] > p[best] ? c : best;
    double nll = vg_base__nll(p[y], VG_MAP_FLOOR), confidence = p[best];
    size_t bin = vg_base__bin(w->edges, w->bins, confidence);
    sums[0] += nll;
    sums[1 + 3 * bin] += 1;
    sums[2 + 3 * bin] += confidence;
    sums[3 + 3 * bin] += best == y;
    if (keep) {
        w->samples->nll[n] = nll;
        w->samples->gap[n] = confidence - (best == y);
        w->samples->bin[n] = (uint16_t)bin;
    }
}

static vg_status measure_chunk(void *context, size_t index, unsigned worker) {
    measure_work *w = context;
    const vg_map_data *d = w->data;
    const vg_softmax_kernels *kernels = vg_calibrate__softmax_kernels(vg_base__cpu_tier());
    size_t first = index * CHUNK, end = first + CHUNK < d->n ? first + CHUNK : d->n;
    double *sums = w->sums + index * w->width, *rows = w->scratch + (size_t)worker * (d->m + 4) * d->c;
    double *mean = rows + d->m * d->c, *more = mean + d->c;
    memset(sums, 0, w->width * sizeof *sums);
    for (size_t n = first; n < end; n++) {
        const double *x = d->x + n * d->m * d->c;
        if (w->maps) {
            size_t fold = w->folds > 1 ? vg_units__fold(&d->units, n, w->folds) : 0;
            memcpy(rows, x, d->m * d->c * sizeof *rows);
            vg_map__sample(rows, d->m, w->maps[fold], d->logits, more, NULL, NULL);
        }
        memset(mean, 0, d->c * sizeof *mean);
        for (size_t m = 0; m < d->m; m++) {
            double *row = rows + m * d->c;
            if (!w->maps)
                vg_map__probabilities(row, x + m * d->c, d->c, d->logits, kernels);
            add_row(sums + (1 + m) * (1 + 3 * (size_t)w->bins), row, n, w, false);
            for (size_t c = 0; c < d->c; c++)
                mean[c] += row[c] / (double)d->m;
        }
        add_row(sums, mean, n, w, true);
    }
    return VG_OK;
}

/* NLL, ECE and accuracy from the sums of one distribution. */
static void finish(double out[3], const double *sums, unsigned bins, double n) {
    vg_bin_gaps gaps = {0};
    out[0] = sums[0] / n;
    out[2] = 0;
    for (unsigned b = 0; b < bins; b++) {
        vg_base__add_bin(&gaps, sums[1 + 3 * b], sums[2 + 3 * b], sums[3 + 3 * b]);
        out[2] += sums[3 + 3 * b] / n;
    }
    out[1] = gaps.total / n;
}

static vg_status run(vg_calibration_metrics *out, measure_work *w) {
    const vg_map_data *d = w->data;
    size_t chunks = (d->n + CHUNK - 1) / CHUNK, each = 1 + 3 * (size_t)w->bins;
    double *total = w->sums + chunks * w->width, figures[3], members = (double)d->m;
    VG_TRY(vg_pool__run(d->pool, chunks, measure_chunk, w));
    memset(total, 0, w->width * sizeof *total);
    for (size_t k = 0; k < chunks; k++)
        for (size_t i = 0; i < w->width; i++)
            total[i] += w->sums[k * w->width + i];
    finish(figures, total, w->bins, (double)d->n);
    *out = (vg_calibration_metrics){.nll = figures[0], .ece = figures[1], .accuracy = figures[2]};
    for (size_t m = 0; m < d->m; m++) {
        finish(figures, total + (1 + m) * each, w->bins, (double)d->n);
        out->member_nll += figures[0] / members;
        out->member_ece += figures[1] / members;
        out->member_accuracy += figures[2] / members;
    }
    return VG_OK;
}

vg_status vg_map_data__measure(vg_calibration_metrics *out, vg_sample_figures *samples, const vg_map_data *data,
                               vg_calibration_map *const *maps, size_t folds, unsigned bins) {
    measure_work w = {.data = data, .maps = maps, .folds = folds, .bins = bins, .samples = samples};
    size_t chunks = (data->n + CHUNK - 1) / CHUNK, room;
    double *edges = NULL;
    w.width = (1 + data->m) * (1 + 3 * (size_t)bins);
    if (!vg_base__mul(&room, chunks + 1, w.width))
        return vg_base__fail(VG_ERR_MEMORY, "figures of %zu members in %u bins do not fit memory", data->m, bins);
    vg_status status = vg_base__alloc(&w.sums, room, sizeof *w.sums, "figures");
    if (status == VG_OK)
        status = vg_base__alloc(&w.scratch, (data->m + 4) * data->c, sizeof(double) * vg_pool__threads(data->pool),
                                "scratch");
    if (status == VG_OK)
        status = vg_base__alloc(&edges, (size_t)bins + 1, sizeof *edges, "edges of bins");
    if (status == VG_OK) {
        vg_base__bin_edges(edges, bins);
        w.edges = edges;
        status = run(out, &w);
    }
    vg_base__release(w.sums);
    vg_base__release(w.scratch);
    vg_base__release(edges);
    return status;
}
