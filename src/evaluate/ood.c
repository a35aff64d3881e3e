/* ood.c - how well a measure separates out-of-distribution samples (the positive class) from in-distribution ones.
 *
 * Walk all samples from the most certain on, equal values as one group of a ID and b OOD samples, i ID and o OOD
 * before it:
 *
 *     AUROC      sum b (i + a / 2) / (I O)                    ties count half
 *     AUPR-out   sum (b / O) (O - o) / (I + O - i - o)        average precision of OOD by the value
 *     AUPR-in    sum (a / I) (i + a) / (i + a + o + b)        average precision of ID by the negated value
 *
 * A threshold at the group calls it and all after it OOD: TPR (O - o) / O, FPR (I - i) / I. */
#include "evaluate/evaluate_internal.h"

typedef struct ood_sums {
    double id_total, ood_total, id, ood; /* id, ood: before the group */
    double id_part, ood_part;            /* 1 / total */
    double values[VG_OOD_FIGURES];       /* until finish() sums, and of FPR95 the ID samples not below the threshold */
} ood_sums;

static ood_sums begin(double id_total, double ood_total) {
    ood_sums s = {.id_total = id_total, .ood_total = ood_total, .id_part = 1 / id_total, .ood_part = 1 / ood_total};
    s.values[VG_OOD_DETECTION] = 0.5; /* calling nothing OOD */
    return s;
}

/* Lowers the detection error to (FPR + 1 - TPR) / 2 of a threshold. Products with the reciprocals show that most
 * thresholds are far from the least, so that few need the divisions. */
static inline void detection(ood_sums *s, double id_left) {
    const double rounding = 1 + 1e-12;
    double *least = &s->values[VG_OOD_DETECTION];
    if (id_left * s->id_part + s->ood * s->ood_part < 2 * *least * rounding) {
        double error = (id_left / s->id_total + s->ood / s->ood_total) / 2;
        *least = error < *least ? error : *least;
    }
}

/* One group of a ID and b OOD samples, not both 0. Terms of 0 samples are added too: which kind a sample is of cannot
 * be predicted, so that branches would cost more than the divisions. */
static inline void group(ood_sums *s, double a, double b) {
    double all = s->id_total + s->ood_total, id_left = s->id_total - s->id;
    s->values[VG_OOD_AUROC] += b * (s->id + a / 2);
    s->values[VG_OOD_AUPR_OUT] += b * ((s->ood_total - s->ood) / (all - s->id - s->ood));
    s->values[VG_OOD_AUPR_IN] += a * ((s->id + a) / (s->id + a + s->ood + b));
    if (s->ood_total - s->ood >= 0.95 * s->ood_total * (1 - 1e-12))
        s->values[VG_OOD_FPR95] = id_left;
    detection(s, id_left);
    s->id += a;
    s->ood += b;
}

static void finish(double values[VG_OOD_FIGURES], const ood_sums *s) {
    bool defined = s->id_total > 0 && s->ood_total > 0;
    memcpy(values, s->values, sizeof s->values);
    values[VG_OOD_AUROC] /= s->id_total * s->ood_total;
    values[VG_OOD_AUPR_OUT] /= s->ood_total;
    values[VG_OOD_AUPR_IN] /= s->id_total;
    values[VG_OOD_FPR95] /= s->id_total;
    for (size_t i = 0; !defined && i < VG_OOD_FIGURES; i++)
        values[i] = NAN;
}

static vg_status nan_found(const vg_measure *measure, size_t row, bool ood) {
    return vg_base__fail(VG_ERR_DATA, "measure %s: value %zu of the %s samples is NaN; a number is needed to rank it",
                         measure->name, row, ood ? "OOD" : "ID");
}

/* Copies the values of measure m of both sides, ID first; NaN is refused. */
static vg_status gather_values(double *values, const vg_ood_work *work, size_t m, unsigned worker) {
    for (size_t side = 0, at = 0; side < 2; side++) {
        const vg_measure *measure = side ? &work->ood[m] : &work->id[m];
        size_t rows = side ? work->ood_rows : work->id_rows;
        for (size_t i = 0; i < rows; i++, at++) {
            if (i % VG_SLICE == 0)
                VG_TRY(vg_evaluate__pulse(work->pulse, worker));
            values[at] = measure->values[i * measure->stride];
            if (isnan(values[at]))
                return nan_found(measure, i, side);
        }
    }
    return VG_OK;
}

/* Sorts the keys of both sides together; row < id_rows is ID. */
static vg_status sort_both(vg_keyed *pairs, const vg_ood_work *work, size_t m, unsigned worker) {
    size_t total = work->id_rows + work->ood_rows;
    double *values = work->values + (size_t)worker * total;
    VG_TRY(gather_values(values, work, m, worker));
    for (size_t at = 0; at < total; at++)
        pairs[at] = (vg_keyed){vg_evaluate__key(work->id[m].certainty ? -values[at] : values[at]), (uint32_t)at};
    return vg_evaluate__sort_pairs(pairs, pairs + total, total, work->pulse, worker);
}

/* The walk along sorted pairs. */
static void walk_pairs(ood_sums *sums, const vg_keyed *pairs, const vg_ood_work *work) {
    size_t total = work->id_rows + work->ood_rows;
    for (size_t i = 0; i < total;) {
        size_t ood = 0, first = i;
        do
            ood += pairs[i++].row >= work->id_rows;
        while (i < total && pairs[i].key == pairs[first].key);
        group(sums, (double)(i - first - ood), (double)ood);
    }
}

/* The same where the order itself is not needed: rank_buckets.c sorts faster, with OOD samples as the errors. */
static vg_status walk_runs(ood_sums *sums, const vg_ood_work *work, size_t m, unsigned worker) {
    size_t total = work->id_rows + work->ood_rows;
    double *values = work->values + (size_t)worker * total;
    VG_TRY(gather_values(values, work, m, worker));
    vg_rank_column both = {.measure = {.values = values, .stride = 1, .certainty = work->id[m].certainty}};
    vg_rank_order order;
    vg_rank_run run;
    VG_TRY(vg_evaluate__rank_order(&order, &work->rooms[worker], &both, work->marks, 1, total));
    for (;;) {
        VG_TRY(vg_evaluate__rank_next(&run, &order));
        if (run.count == 0)
            return VG_OK;
        for (size_t i = 0; i < run.count;) {
            size_t ood = 0, first = i;
            uint64_t key = run.items[i] >> 1;
            do
                ood += run.items[i++] & 1;
            while (i < run.count && run.items[i] >> 1 == key);
            group(sums, (double)(i - first - ood), (double)ood);
        }
    }
}

static void figure_places(vg_estimate *places[VG_OOD_FIGURES], vg_ood_row *row) {
    places[VG_OOD_AUROC] = &row->auroc;
    places[VG_OOD_AUPR_OUT] = &row->aupr_out;
    places[VG_OOD_AUPR_IN] = &row->aupr_in;
    places[VG_OOD_FPR95] = &row->fpr95;
    places[VG_OOD_DETECTION] = &row->detection_error;
}

/* Keeps the order of measure m for the bootstrap. */
static void keep_order(const vg_ood_work *work, size_t m, const vg_keyed *pairs) {
    size_t total = work->id_rows + work->ood_rows;
    uint32_t *rows = work->order + m * total;
    uint8_t *places = work->places + m * total;
    vg_evaluate__places(rows, places, pairs, work->marks, total);
}

static vg_status measure_job(void *context, size_t m, unsigned worker) {
    const vg_ood_work *work = context;
    vg_keyed *pairs = work->pairs ? work->pairs + (size_t)worker * 2 * (work->id_rows + work->ood_rows) : NULL;
    ood_sums sums = begin((double)work->id_rows, (double)work->ood_rows);
    VG_TRY(vg_evaluate__pulse(work->pulse, worker));
    if (pairs) {
        VG_TRY(sort_both(pairs, work, m, worker));
        walk_pairs(&sums, pairs, work);
    } else {
        VG_TRY(walk_runs(&sums, work, m, worker));
    }
    double values[VG_OOD_FIGURES];
    finish(values, &sums);
    vg_ood_row *row = &work->out[m];
    memcpy(row->name, work->id[m].name, sizeof row->name);
    vg_estimate *places[VG_OOD_FIGURES];
    figure_places(places, row);
    for (size_t i = 0; i < VG_OOD_FIGURES; i++)
        *places[i] = (vg_estimate){values[i], NAN, NAN};
    if (pairs)
        keep_order(work, m, pairs);
    vg_evaluate__pulse_add(work->pulse, 1);
    return VG_OK;
}

static vg_status rooms_new(vg_ood_work *work, unsigned workers) {
    size_t total = work->id_rows + work->ood_rows;
    VG_TRY(vg_base__zalloc(&work->rooms, workers, sizeof *work->rooms, "workers"));
    for (unsigned i = 0; i < workers; i++)
        VG_TRY(vg_evaluate__rank_room(&work->rooms[i], total, work->pulse, i));
    return VG_OK;
}

static void release(vg_ood_work *work, unsigned workers) {
    for (unsigned i = 0; work->rooms && i < workers; i++)
        vg_evaluate__rank_room_free(&work->rooms[i]);
    void *parts[] = {work->rooms, work->values, work->marks, work->pairs, work->order, work->places};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        vg_base__release(parts[i]);
}

static vg_status run_all(vg_ood_work *work, vg_pool *pool) {
    size_t total = work->id_rows + work->ood_rows, threads = vg_pool__threads(pool);
    bool resample = work->options->resamples > 0 && work->id_rows > 0 && work->ood_rows > 0;
    VG_TRY(vg_base__alloc(&work->marks, total, 1, "marks to sort"));
    VG_TRY(vg_base__alloc(&work->values, total, threads * sizeof *work->values, "values to sort"));
    memset(work->marks, 0, work->id_rows);
    memset(work->marks + work->id_rows, 1, work->ood_rows);
    if (resample) {
        VG_TRY(vg_base__alloc(&work->pairs, total, 2 * threads * sizeof *work->pairs, "keys to sort"));
        VG_TRY(vg_base__alloc(&work->order, work->count, total * sizeof *work->order, "bootstrap orders"));
        VG_TRY(vg_base__alloc(&work->places, work->count, total, "bootstrap orders"));
    } else {
        VG_TRY(rooms_new(work, vg_pool__threads(pool)));
    }
    VG_TRY(vg_pool__run(pool, work->count, measure_job, work));
    return resample ? vg_evaluate__ood_bootstrap(work, pool) : VG_OK;
}

static vg_status check(const vg_ood_row *out, const vg_measure *id, size_t id_rows, const vg_measure *ood,
                       size_t ood_rows, size_t count, const vg_ood_options *o) {
    size_t total;
    if (count > 0 && (!out || !id || !ood))
        return vg_base__fail(VG_ERR_ARGUMENT, "ood: out, id and ood must not be NULL");
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
    vg_ood_options taken;
    const vg_ood_options *o = &taken;
    VG_TRY(vg_base__take_options(&taken, options, &defaults, sizeof taken, "vg_ood_options"));
    VG_TRY(check(out, id, id_rows, ood, ood_rows, count, o));
    vg_pool *pool;
    unsigned threads = o->threads ? o->threads : vg_base__cores();
    if (o->resamples == 0 && count < threads) /* one worker ranks a measure, so more would be idle */
        threads = count > 0 ? (unsigned)count : 1;
    VG_TRY(vg_pool__new(&pool, threads));
    vg_pulse pulse = {.ask = o->progress, .context = o->progress_context, .what = "ood", .total = count + o->resamples};
    vg_ood_work work = {.id = id,
                        .ood = ood,
                        .id_rows = id_rows,
                        .ood_rows = ood_rows,
                        .count = count,
                        .options = o,
                        .out = out,
                        .pulse = &pulse};
    vg_pool__while_waiting(pool, vg_evaluate__pulse_idle, &pulse);
    vg_status status = vg_evaluate__pulse(&pulse, 0); /* at least once, also where the other workers do everything */
    if (status == VG_OK)
        status = run_all(&work, pool);
    release(&work, vg_pool__threads(pool));
    vg_pool__free(pool);
    return status == VG_OK ? vg_evaluate__pulse_end(&pulse) : status;
}
