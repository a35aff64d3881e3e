/* ood.c - how well a measure tells out-of-distribution samples (the positive class) from in-distribution ones.
 *
 * Walk all samples from the most certain on, equal values as one group of a ID and b OOD samples, with i ID and o OOD before
 * it: AUROC     sum b (i + a / 2) / (I O)                                ties count half AUPR-out  sum (b / O) (O - o) / (I + O
 * - i - o)                     average precision of OOD by the value AUPR-in   sum (a / I) (i + a) / (i + a + o + b) of ID by
 * the negated value and a threshold at the group calls it and all after it OOD: TPR (O - o) / O, FPR (I - i) / I. */
#include "evaluate/evaluate_internal.h"

enum { AUROC, AUPR_OUT, AUPR_IN, FPR95, DETECTION, FIGURES };
static const uint64_t ood_stream = (uint64_t)1 << 32; /* resamples of the OOD side draw from streams of their own */

typedef struct ood_sums {
    double id_total, ood_total, id, ood; /* id, ood: before the group */
    double values[FIGURES];
} ood_sums;

static ood_sums begin(double id_total, double ood_total) {
    ood_sums s = {.id_total = id_total, .ood_total = ood_total};
    s.values[FPR95] = 1;
    s.values[DETECTION] = 0.5; /* calling nothing OOD */
    return s;
}

/* One group of a ID and b OOD samples, not both 0. */
static inline void group(ood_sums *s, double a, double b) {
    double all = s->id_total + s->ood_total;
    double fpr = (s->id_total - s->id) / s->id_total, missed = s->ood / s->ood_total;
    s->values[AUROC] += b * (s->id + a / 2);
    if (b > 0)
        s->values[AUPR_OUT] += b * ((s->ood_total - s->ood) / (all - s->id - s->ood));
    if (a > 0)
        s->values[AUPR_IN] += a * ((s->id + a) / (s->id + a + s->ood + b));
    if (s->ood_total - s->ood >= 0.95 * s->ood_total * (1 - 1e-12))
        s->values[FPR95] = fpr;
    if ((fpr + missed) / 2 < s->values[DETECTION])
        s->values[DETECTION] = (fpr + missed) / 2;
    s->id += a;
    s->ood += b;
}

static void finish(double values[FIGURES], const ood_sums *s) {
    bool defined = s->id_total > 0 && s->ood_total > 0;
    memcpy(values, s->values, sizeof s->values);
    values[AUROC] /= s->id_total * s->ood_total;
    values[AUPR_OUT] /= s->ood_total;
    values[AUPR_IN] /= s->id_total;
    for (size_t i = 0; !defined && i < FIGURES; i++)
        values[i] = NAN;
}

typedef struct ood_work {
    const vg_measure *id, *ood;
    size_t id_rows, ood_rows;
    const vg_ood_options *options;
    vg_ood_row *out;
    vg_keyed *pairs; /* 2 (id_rows + ood_rows) a worker; the first half of it sorted keys of both sides, ID rows first */
    const vg_keyed *sorted;
    double *weights; /* a worker: (id_rows + ood_rows) VG_LANES */
    double *values;  /* blocks x VG_LANES x FIGURES, of the measure at hand */
} ood_work;

/* The keys of both sides in one order; row < id_rows is ID. */
static vg_status sort_both(vg_keyed *pairs, const ood_work *work, size_t m) {
    size_t total = work->id_rows + work->ood_rows;
    for (size_t side = 0, at = 0; side < 2; side++) {
        const vg_measure *measure = side ? &work->ood[m] : &work->id[m];
        size_t rows = side ? work->ood_rows : work->id_rows;
        for (size_t i = 0; i < rows; i++, at++) {
            double value = measure->values[i * measure->stride];
            if (isnan(value))
                return vg_base__fail(VG_ERR_DATA,
                                     "measure %s: value %zu of the %s samples is NaN; a number is needed to rank it",
                                     measure->name, i, side ? "OOD" : "ID");
            pairs[at] = (vg_keyed){vg_evaluate__key(measure->certainty ? -value : value), (uint32_t)at};
        }
    }
    vg_evaluate__sort_pairs(pairs, pairs + total, total);
    return VG_OK;
}

static vg_status measure_job(void *context, size_t m, unsigned worker) {
    const ood_work *work = context;
    size_t total = work->id_rows + work->ood_rows;
    vg_keyed *pairs = work->pairs + (size_t)worker * 2 * total;
    VG_TRY(sort_both(pairs, work, m));
    ood_sums sums = begin((double)work->id_rows, (double)work->ood_rows);
    for (size_t i = 0; i < total;) {
        size_t ood = 0, first = i;
        do
            ood += pairs[i++].row >= work->id_rows;
        while (i < total && pairs[i].key == pairs[first].key);
        group(&sums, (double)(i - first - ood), (double)ood);
    }
    double values[FIGURES];
    finish(values, &sums);
    vg_ood_row *row = &work->out[m];
    memcpy(row->name, work->id[m].name, sizeof row->name);
    vg_estimate *places[FIGURES] = {&row->auroc, &row->aupr_out, &row->aupr_in, &row->fpr95, &row->detection_error};
    for (size_t i = 0; i < FIGURES; i++)
        *places[i] = (vg_estimate){values[i], NAN, NAN};
    return VG_OK;
}

/* Eight resamples of the measure at hand. */
static vg_status resample_job(void *context, size_t block, unsigned worker) {
    const ood_work *work = context;
    size_t total = work->id_rows + work->ood_rows;
    double *weights = work->weights + (size_t)worker * total * VG_LANES, *ood_weights = weights + work->id_rows * VG_LANES;
    vg_evaluate__weights(weights, work->id_rows, work->options->seed, 0, block * VG_LANES);
    vg_evaluate__weights(ood_weights, work->ood_rows, work->options->seed, ood_stream, block * VG_LANES);
    ood_sums sums[VG_LANES];
    double mass[2][VG_LANES] = {{0}};
    for (size_t lane = 0; lane < VG_LANES; lane++)
        sums[lane] = begin((double)work->id_rows, (double)work->ood_rows);
    for (size_t i = 0; i < total; i++) {
        const double *w = weights + (size_t)work->sorted[i].row * VG_LANES;
        double *side = mass[work->sorted[i].row >= work->id_rows];
        for (size_t lane = 0; lane < VG_LANES; lane++)
            side[lane] += w[lane];
        if (i + 1 < total && work->sorted[i + 1].key == work->sorted[i].key)
            continue;
        for (size_t lane = 0; lane < VG_LANES; lane++) {
            if (mass[0][lane] + mass[1][lane] > 0)
                group(&sums[lane], mass[0][lane], mass[1][lane]);
            mass[0][lane] = mass[1][lane] = 0;
        }
    }
    for (size_t lane = 0; lane < VG_LANES; lane++)
        finish(work->values + (block * VG_LANES + lane) * FIGURES, &sums[lane]);
    return VG_OK;
}

/* The intervals, one measure after the other: the resamples of each on the pool. */
static vg_status intervals(ood_work *work, size_t count, vg_pool *pool) {
    const vg_ood_options *o = work->options;
    size_t blocks = (o->resamples + VG_LANES - 1) / VG_LANES;
    double *column = work->values + blocks * VG_LANES * FIGURES;
    for (size_t m = 0; m < count; m++) {
        if (o->progress && o->progress(o->progress_context, m, count))
            return vg_base__fail(VG_ERR_INTERRUPTED, "ood: interrupted in the bootstrap");
        VG_TRY(sort_both(work->pairs, work, m));
        work->sorted = work->pairs;
        VG_TRY(vg_pool__run(pool, blocks, resample_job, work));
        vg_ood_row *row = &work->out[m];
        vg_estimate *places[FIGURES] = {&row->auroc, &row->aupr_out, &row->aupr_in, &row->fpr95, &row->detection_error};
        for (size_t f = 0; f < FIGURES; f++) {
            for (size_t r = 0; r < o->resamples; r++)
                column[r] = work->values[r * FIGURES + f];
            vg_evaluate__interval(places[f], column, o->resamples, o->confidence);
        }
    }
    return VG_OK;
}

static vg_status run_all(ood_work *work, size_t count, vg_pool *pool) {
    size_t total = work->id_rows + work->ood_rows, workers = vg_pool__threads(pool), pairs, weights, values;
    bool resample = work->options->resamples > 0 && work->id_rows > 0 && work->ood_rows > 0;
    if (!vg_base__mul(&pairs, total, 2 * workers) || !vg_base__mul(&weights, total, VG_LANES * workers) ||
        !vg_base__mul(&values, work->options->resamples, FIGURES + 1) ||
        !vg_base__add(&values, values, (size_t)VG_LANES * FIGURES))
        return vg_base__fail(VG_ERR_MEMORY, "ood: %zu samples do not fit memory", total);
    VG_TRY(vg_base__alloc(&work->pairs, pairs, sizeof *work->pairs, "keys to sort"));
    VG_TRY(vg_pool__run(pool, count, measure_job, work));
    if (!resample)
        return VG_OK;
    VG_TRY(vg_base__alloc(&work->weights, weights, sizeof(double), "bootstrap weights"));
    VG_TRY(vg_base__alloc(&work->values, values, sizeof(double), "bootstrap figures"));
    return intervals(work, count, pool);
}

static vg_status check(const vg_ood_row *out, const vg_measure *id, size_t id_rows, const vg_measure *ood, size_t ood_rows,
                       size_t count, const vg_ood_options *o) {
    size_t total;
    if (o->struct_size != sizeof *o)
        return vg_base__fail(VG_ERR_ARGUMENT, "ood: options of size %zu, expected %zu", o->struct_size, sizeof *o);
    if (count > 0 && (!out || !id || !ood))
        return vg_base__fail(VG_ERR_ARGUMENT, "ood: out, id or ood are NULL");
    if (!vg_base__add(&total, id_rows, ood_rows) || total > UINT32_MAX)
        return vg_base__fail(VG_ERR_ARGUMENT, "ood: %zu ID and %zu OOD samples, at most %u together", id_rows, ood_rows,
                             UINT32_MAX);
    if (o->resamples > 0 && !(o->confidence > 0 && o->confidence < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "ood: confidence %g, expected above 0 and below 1", o->confidence);
    for (size_t m = 0; m < count; m++) {
        if (strcmp(id[m].name, ood[m].name) != 0 || !id[m].certainty != !ood[m].certainty)
            return vg_base__fail(VG_ERR_ARGUMENT, "ood: measure %zu is %s of the ID samples and %s of the OOD ones", m,
                                 id[m].name, ood[m].name);
        if ((id_rows > 0 && !id[m].values) || (ood_rows > 0 && !ood[m].values))
            return vg_base__fail(VG_ERR_ARGUMENT, "ood: measure %s has no values", id[m].name);
    }
    return VG_OK;
}

vg_status vg_ood_evaluate(vg_ood_row *out, const vg_measure *id, size_t id_rows, const vg_measure *ood, size_t ood_rows,
                          size_t count, const vg_ood_options *options) {
    static const vg_ood_options defaults = VG_OOD_OPTIONS_INIT;
    const vg_ood_options *o = options ? options : &defaults;
    VG_TRY(check(out, id, id_rows, ood, ood_rows, count, o));
    vg_pool *pool;
    VG_TRY(vg_pool__new(&pool, o->threads));
    ood_work work = {.id = id, .ood = ood, .id_rows = id_rows, .ood_rows = ood_rows, .options = o, .out = out};
    vg_status status = run_all(&work, count, pool);
    vg_base__release(work.pairs);
    vg_base__release(work.weights);
    vg_base__release(work.values);
    vg_pool__free(pool);
    return status;
}
