/* bootstrap.c - intervals of the figures of an evaluation: by resampling, or from each measure's order (delong.c,
 * rank_intervals.c). interval.c makes an interval of a figure's resamples; that of ECE comes from
 * calibration_null.c.
 *
 * A resample draws N of the N samples with replacement. The number of times that a sample was drawn is its weight,
 * which all figures share. Nothing is sorted again: each measure's order is found once, and a resample is one walk
 * along it with weights, eight resamples side by side. Resample r draws from random stream r of the seed, so neither
 * the thread count nor the number of resamples changes its content. Multilabel: whole samples are drawn, with all
 * their labels. */
#include "base/random.h"
#include "evaluate/evaluate_internal.h"
#include "evaluate/paired.h"

vg_status vg_evaluate__weights(double *weights, size_t n, uint64_t seed, uint64_t stream, size_t first, vg_pulse *pulse,
                               unsigned worker) {
    for (size_t i = 0; i < n; i += VG_SLICE) {
        VG_TRY(vg_evaluate__pulse(pulse, worker));
        memset(weights + i * VG_LANES, 0, (n - i < VG_SLICE ? n - i : VG_SLICE) * VG_LANES * sizeof *weights);
    }
    for (size_t lane = 0; lane < VG_LANES; lane++) {
        vg_random random = vg_random__start(seed, stream + first + lane);
        for (size_t i = 0; i < n; i++) {
            if (i % VG_SLICE == 0)
                VG_TRY(vg_evaluate__pulse(pulse, worker));
            weights[vg_random__below(&random, n) * VG_LANES + lane] += 1;
        }
    }
    return VG_OK;
}

/* --- one measure's order ---------------------------------------------------------------------------------------- */
typedef struct rank_order {
    uint32_t *rows; /* most certain first */
    uint8_t *marks; /* VG_PLACE_END, VG_PLACE_POSITIVE (an error) of each position */
} rank_order;

typedef struct order_work {
    const vg_tally *tally;
    const vg_rank_column *columns;
    rank_order *orders;
    vg_keyed *pairs; /* 2 x rows for each worker */
    vg_pulse *pulse;
} order_work;

static vg_status order_job(void *context, size_t index, unsigned worker) {
    const order_work *work = context;
    size_t rows = work->tally->rows;
    const vg_rank_column *column = &work->columns[index];
    vg_keyed *pairs = work->pairs + (size_t)worker * 2 * rows;
    rank_order *order = &work->orders[index];
    for (size_t i = 0; i < rows; i++) {
        if (i % VG_SLICE == 0)
            VG_TRY(vg_evaluate__pulse(work->pulse, worker));
        double value = vg_evaluate__value(column, i);
        pairs[i] = (vg_keyed){vg_evaluate__key(column->measure.certainty ? -value : value), (uint32_t)i};
    }
    VG_TRY(vg_evaluate__sort_pairs(pairs, pairs + rows, rows, work->pulse, worker));
    vg_evaluate__places(order->rows, order->marks, pairs, work->tally->error, rows);
    return VG_OK;
}

/* What all blocks of resamples share. */
typedef struct bootstrap_work {
    const vg_evaluation *evaluation;
    const vg_tally *tally;
    const vg_rank_plan *plan;
    const vg_evaluate_options *options;
    rank_order *orders; /* of every measure; their rows and marks point into the two arrays below */
    uint32_t *order_rows;
    uint8_t *order_marks;
    vg_pulse *pulse;
    size_t figures, per_measure; /* values of a resample; of one measure in it */
    double *values;              /* blocks x VG_LANES x figures */
    double *scratch;             /* for each worker: n VG_LANES weights, then those of the tally */
    size_t scratch_size;
} bootstrap_work;

/* Eight resamples of measure m, walked side by side. values[lane * work->figures + figure]; totals: the errors of
 * each resample. */
static vg_status rank_block(double *values, const bootstrap_work *work, size_t m, const double *weights,
                            const double *totals, unsigned worker) {
    const rank_order *order = &work->orders[m];
    const vg_tally *t = work->tally;
    const vg_rank_plan *plan = work->plan;
    const size_t stride = work->figures;
    size_t width = t->multilabel ? t->classes : 1;
    vg_rank_sums sums[VG_LANES];
    double before[VG_LANES] = {0}, mass[VG_LANES] = {0}, errors[VG_LANES] = {0};
    bool any = false; /* the open group has an error */
    for (size_t lane = 0; lane < VG_LANES; lane++)
        sums[lane] = (vg_rank_sums){.total = totals[lane]};
    for (size_t i = 0; i < t->rows; i++) {
        if (i % VG_SLICE == 0)
            VG_TRY(vg_evaluate__pulse(work->pulse, worker));
        const double *w = weights + (order->rows[i] / width) * VG_LANES;
        for (size_t lane = 0; lane < VG_LANES; lane++)
            mass[lane] += w[lane];
        if (order->marks[i] & VG_PLACE_POSITIVE) {
            any = true;
            for (size_t lane = 0; lane < VG_LANES; lane++)
                errors[lane] += w[lane];
        }
        if (!(order->marks[i] & VG_PLACE_END))
            continue;
        for (size_t lane = 0; any && lane < VG_LANES; lane++) {
            if (errors[lane] > 0)
                vg_evaluate__rank_event(&sums[lane], plan, before[lane], mass[lane], errors[lane]);
            errors[lane] = 0;
        }
        any = false;
        for (size_t lane = 0; lane < VG_LANES; lane++) {
            before[lane] += mass[lane];
            mass[lane] = 0;
        }
    }
    for (size_t lane = 0; lane < VG_LANES; lane++)
        vg_evaluate__rank_figures(values + lane * stride, &sums[lane], plan);
    return VG_OK;
}

/* Coverage and accuracy on the kept for every k. */
static vg_status rule_block(double *values, size_t stride, const vg_evaluation *e, const vg_tally *t,
                            const double *weights, vg_pulse *pulse, unsigned worker) {
    size_t width = t->multilabel ? t->classes : 1;
    for (size_t j = 0; j < e->rule_count; j++) {
        double kept[VG_LANES] = {0}, right[VG_LANES] = {0};
        for (size_t r = 0; r < t->rows; r++) {
            if (r % VG_SLICE == 0)
                VG_TRY(vg_evaluate__pulse(pulse, worker));
            if (!(e->rule[j].k < t->ratio[r]))
                continue;
            const double *w = weights + (r / width) * VG_LANES;
            double correct = !t->error[r];
            for (size_t lane = 0; lane < VG_LANES; lane++) {
                kept[lane] += w[lane];
                right[lane] += w[lane] * correct;
            }
        }
        for (size_t lane = 0; lane < VG_LANES; lane++) {
            values[lane * stride + 2 * j] = kept[lane] / (double)t->rows;
            values[lane * stride + 2 * j + 1] = kept[lane] > 0 ? right[lane] / kept[lane] : NAN;
        }
    }
    return VG_OK;
}

static vg_status bootstrap_job(void *context, size_t block, unsigned worker) {
    const bootstrap_work *work = context;
    const vg_tally *t = work->tally;
    const vg_evaluate_options *o = work->options;
    double *weights = work->scratch + (size_t)worker * work->scratch_size;
    double *values = work->values + block * VG_LANES * work->figures;
    VG_TRY(vg_evaluate__weights(weights, t->n, o->seed, 0, block * VG_LANES, work->pulse, worker));
    VG_TRY(vg_evaluate__tally_block(values, work->figures, t, weights, weights + t->n * VG_LANES, work->pulse, worker));
    double totals[VG_LANES];
    for (size_t lane = 0; lane < VG_LANES; lane++) /* accuracy is precise enough to round to the number of errors */
        totals[lane] = nearbyint((1 - values[lane * work->figures + VG_TALLY_ACCURACY]) * (double)t->rows);
    double *at = values + VG_TALLY_FIGURES;
    for (size_t m = 0; m < work->evaluation->measure_count; m++, at += work->per_measure)
        VG_TRY(rank_block(at, work, m, weights, totals, worker));
    VG_TRY(rule_block(at, work->figures, work->evaluation, t, weights, work->pulse, worker));
    vg_evaluate__pulse_add(work->pulse, VG_LANES);
    return VG_OK;
}

/* Where the i-th figure of a resample belongs, and how its interval is made. ECE, error AUROC and coverage at risk
 * have intervals from other methods; calibration errors that no method covers have none. */
typedef struct figure_place {
    vg_estimate *estimate;
    vg_interval_rule rule;
} figure_place;

static const vg_interval_kind tally_kinds[VG_TALLY_FIGURES] = {
    [VG_TALLY_ACCURACY] = VG_INTERVAL_SHARE, [VG_TALLY_F1_MACRO] = VG_INTERVAL_LOGIT,
    [VG_TALLY_NLL] = VG_INTERVAL_LOG,        [VG_TALLY_BRIER] = VG_INTERVAL_LOG,
    [VG_TALLY_F1_MICRO] = VG_INTERVAL_LOGIT, [VG_TALLY_SUBSET] = VG_INTERVAL_SHARE,
};
/* With N rows an error at rank r (1: most certain) adds (1/N) sum_{k >= r} 1/k to AURC and (N - r + 1)/N^2 to AUGRC:
 * over all ranks 1/N and 1/(2N) in the mean, 2/N^2 and 1/(3 N^2) in the mean square. */
static const vg_interval_rule rank_rules[VG_RANK_FIXED] = {
    [VG_RANK_AURC] = {.kind = VG_INTERVAL_AREA, .unseen_mean = 1, .unseen_square = 2},
    [VG_RANK_EAURC] = {.kind = VG_INTERVAL_AREA, .unseen_mean = 1, .unseen_square = 2},
    [VG_RANK_AUGRC] = {.kind = VG_INTERVAL_AREA, .unseen_mean = 1. / 2, .unseen_square = 1. / 3},
    [VG_RANK_AUPR] = {.kind = VG_INTERVAL_LOGIT},
};

static vg_interval_rule rank_rule(size_t figure, double errors, double rows) {
    vg_interval_rule rule = rank_rules[figure];
    rule.events = errors;
    rule.unseen_mean /= rows;
    rule.unseen_square /= rows * rows;
    return rule;
}

static figure_place *rank_places(figure_place *at, vg_ranking *r, const vg_rank_plan *plan, const vg_evaluation *e) {
    /* The rows of a sample may be wrong together: one unseen error then means one unseen sample. */
    double units = (double)e->rows / (double)(e->label_count > 0 ? e->classes : 1);
    vg_estimate *fixed[VG_RANK_FIXED] = {&r->aurc, &r->eaurc, &r->augrc, &r->error_auroc, &r->error_aupr};
    for (size_t i = 0; i < VG_RANK_FIXED; i++)
        *at++ = (figure_place){fixed[i], rank_rule(i, (double)e->errors, units)};
    for (size_t i = 0; i < plan->coverage_count; i++)
        *at++ = (figure_place){&r->risk_at[i], {.kind = VG_INTERVAL_SHARE, .events = plan->position[i]}};
    for (size_t i = 0; i < plan->risk_count; i++)
        *at++ = (figure_place){&r->coverage_at[i], {.kind = VG_INTERVAL_NONE}};
    return at;
}

static void figure_places(figure_place *at, vg_evaluation *e, const vg_rank_plan *plan) {
    vg_estimate *whole[VG_TALLY_FIGURES];
    double errors = (double)e->errors;
    vg_evaluate__figure_places(whole, e);
    for (size_t i = 0; i < VG_TALLY_FIGURES; i++) {
        double events = tally_kinds[i] != VG_INTERVAL_SHARE ? errors : (double)(i == VG_TALLY_SUBSET ? e->n : e->rows);
        *at++ = (figure_place){whole[i], {.kind = tally_kinds[i], .events = events}};
    }
    for (size_t m = 0; m < e->measure_count; m++)
        at = rank_places(at, &e->measures[m], plan, e);
    for (size_t j = 0; j < e->rule_count; j++) {
        const vg_rule_row *row = &e->rule[j];
        *at++ = (figure_place){&e->rule[j].coverage, {.kind = VG_INTERVAL_SHARE, .events = (double)row->rows}};
        *at++ = (figure_place){&e->rule[j].accuracy, {.kind = VG_INTERVAL_SHARE, .events = (double)row->kept}};
    }
}

/* Where no row, or every row, of a multilabel share is a hit, resamples do not show how the rows of a sample depend
 * on each other: they count as one. */
static double events_of(const figure_place *place, const vg_evaluation *e) {
    bool at_end = place->estimate->value == 0 || place->estimate->value == 1;
    bool by_row = place->estimate != &e->subset_accuracy;
    bool share = place->rule.kind == VG_INTERVAL_SHARE;
    return e->label_count > 0 && share && at_end && by_row ? fmax(place->rule.events / (double)e->classes, 1)
                                                           : place->rule.events;
}

/* The number of rows that count as one independent row: the variance of the accuracy over that of as many
 * independent rows. */
static double design_factor(const vg_evaluation *e, const bootstrap_work *work) {
    double mean = 0, square = 0, count = (double)work->options->resamples,
           right = e->accuracy.value * (1 - e->accuracy.value);
    if (e->label_count == 0)
        return 1;
    for (size_t r = 0; r < work->options->resamples; r++)
        mean += work->values[r * work->figures + VG_TALLY_ACCURACY] / count;
    for (size_t r = 0; r < work->options->resamples; r++) {
        double off = work->values[r * work->figures + VG_TALLY_ACCURACY] - mean;
        square += off * off;
    }
    double factor = right > 0 && count > 1 ? square / (count - 1) * (double)e->rows / right : (double)e->classes;
    return factor < 1 ? 1 : factor;
}

/* Intervals of measure m: AUROC and coverages at risks. */
static vg_status order_intervals(vg_evaluation *e, size_t m, const bootstrap_work *work, double factor) {
    const vg_tally *t = work->tally;
    const rank_order *order = &work->orders[m];
    vg_ranking *r = &e->measures[m];
    double *influence, confidence = work->options->confidence;
    VG_TRY(vg_base__alloc(&influence, t->rows, sizeof *influence, "placements"));
    double area = vg_evaluate__placements(influence, order->rows, order->marks, t->rows);
    vg_estimate auroc =
        vg_evaluate__auroc_estimate(area, influence, t->error, t->rows, t->multilabel ? t->classes : 1, confidence);
    r->error_auroc.low = fmin(auroc.low, r->error_auroc.value); /* the walk's sum may differ in its last bit */
    r->error_auroc.high = fmax(auroc.high, r->error_auroc.value);
    for (size_t i = 0; i < work->plan->risk_count; i++)
        vg_evaluate__coverage_interval(&r->coverage_at[i], order->marks, t->rows, work->plan->risk[i], factor,
                                       confidence);
    vg_base__release(influence);
    return vg_evaluate__pulse(work->pulse, 0);
}

vg_status vg_evaluate__resampled(vg_evaluation *e, const vg_rank_plan *plan, const double *values, size_t figures) {
    figure_place *places = NULL;
    double *column = NULL;
    vg_status status = vg_base__alloc(&places, figures, sizeof *places, "bootstrap figures");
    if (status == VG_OK)
        status = vg_base__alloc(&column, e->resamples, sizeof *column, "bootstrap figures");
    if (status == VG_OK) {
        figure_places(places, e, plan);
        for (size_t f = 0; f < figures; f++) {
            if (places[f].rule.kind == VG_INTERVAL_NONE)
                continue;
            for (size_t r = 0; r < e->resamples; r++)
                column[r] = values[r * figures + f];
            places[f].rule.events = events_of(&places[f], e);
            vg_evaluate__interval(places[f].estimate, &places[f].rule, column, e->resamples, e->confidence);
        }
    }
    vg_base__release(places);
    vg_base__release(column);
    return status;
}

static vg_status collect(vg_evaluation *e, const bootstrap_work *work) {
    VG_TRY(vg_evaluate__resampled(e, work->plan, work->values, work->figures));
    double factor = design_factor(e, work);
    for (size_t m = 0; m < e->measure_count; m++)
        VG_TRY(order_intervals(e, m, work, factor));
    if (e->lead.rival == e->measure_count)
        return VG_OK;
    const double *auroc = work->values + VG_TALLY_FIGURES + VG_RANK_AUROC;
    return vg_evaluate__lead_resampled(e, auroc + e->lead.leader * work->per_measure,
                                       auroc + e->lead.rival * work->per_measure, work->figures);
}

/* Every measure's order; rows and marks of all of them in two allocations. */
static vg_status make_orders(order_work *work, size_t count, vg_pool *pool) {
    size_t of_row = 2 * (size_t)vg_pool__threads(pool) * sizeof *work->pairs;
    VG_TRY(vg_base__alloc(&work->pairs, work->tally->rows, of_row, "bootstrap keys"));
    vg_status status = vg_pool__run(pool, count, order_job, work);
    vg_base__release(work->pairs);
    return status;
}

static vg_status run_blocks(bootstrap_work *work, vg_pool *pool) {
    size_t blocks = (work->options->resamples + VG_LANES - 1) / VG_LANES, values, scratch;
    if (!vg_base__mul(&scratch, work->tally->n, VG_LANES) ||
        !vg_base__add(&scratch, scratch, vg_evaluate__tally_scratch(work->tally)) ||
        !vg_base__mul(&values, blocks * VG_LANES, work->figures))
        return vg_base__fail(VG_ERR_MEMORY, "bootstrap: %zu resamples do not fit memory", work->options->resamples);
    work->scratch_size = scratch;
    VG_TRY(vg_base__alloc(&work->scratch, scratch, vg_pool__threads(pool) * sizeof(double), "bootstrap weights"));
    vg_status status = vg_base__alloc(&work->values, values, sizeof(double), "bootstrap figures");
    if (status == VG_OK)
        status = vg_pool__run(pool, blocks, bootstrap_job, work);
    vg_base__release(work->scratch);
    return status;
}

/* Computes the figures of every resample into work->values. release_resamples releases them and work->orders, also
 * after a failure. */
static vg_status resample(bootstrap_work *work, const vg_rank_column *columns, vg_pool *pool) {
    const vg_tally *t = work->tally;
    size_t count = work->evaluation->measure_count;
    work->per_measure = VG_RANK_FIXED + work->plan->coverage_count + work->plan->risk_count;
    work->figures = VG_TALLY_FIGURES + count * work->per_measure + 2 * work->evaluation->rule_count;
    VG_TRY(vg_base__alloc(&work->orders, count, sizeof *work->orders, "bootstrap orders"));
    VG_TRY(vg_base__alloc(&work->order_rows, count, t->rows * sizeof *work->order_rows, "bootstrap orders"));
    VG_TRY(vg_base__alloc(&work->order_marks, count, t->rows, "bootstrap orders"));
    for (size_t m = 0; m < count; m++)
        work->orders[m] = (rank_order){work->order_rows + m * t->rows, work->order_marks + m * t->rows};
    order_work ordering = {.tally = t, .columns = columns, .orders = work->orders, .pulse = work->pulse};
    VG_TRY(make_orders(&ordering, count, pool));
    return run_blocks(work, pool);
}

static void release_resamples(bootstrap_work *work) {
    vg_base__release(work->values);
    vg_base__release(work->orders);
    vg_base__release(work->order_rows);
    vg_base__release(work->order_marks);
}

vg_status vg_evaluate__bootstrap(vg_evaluation *e, const vg_tally *t, const vg_rank_column *columns,
                                 const vg_rank_plan *plan, const vg_evaluate_options *o, vg_pulse *pulse,
                                 vg_pool *pool) {
    bootstrap_work work = {.evaluation = e, .tally = t, .plan = plan, .options = o, .pulse = pulse};
    vg_status status = resample(&work, columns, pool);
    if (status == VG_OK)
        status = collect(e, &work);
    release_resamples(&work);
    return status;
}

/* --- two systems on the same samples ------------------------------------------------------------------------------ */

/* The indices of the paired figures in a resample of one measure. */
static const size_t paired_places[VG_PAIRED_FIGURES] = {
    [VG_PAIRED_ACCURACY] = VG_TALLY_ACCURACY,
    [VG_PAIRED_F1] = VG_TALLY_F1_MACRO,
    [VG_PAIRED_NLL] = VG_TALLY_NLL,
    [VG_PAIRED_BRIER] = VG_TALLY_BRIER,
    [VG_PAIRED_AURC] = VG_TALLY_FIGURES + VG_RANK_AURC,
    [VG_PAIRED_AUROC] = VG_TALLY_FIGURES + VG_RANK_AUROC,
};

static vg_status replicate(double *out, bootstrap_work *work, const vg_measure *measure, vg_pool *pool) {
    vg_rank_column column = {.measure = *measure};
    vg_status status = resample(work, &column, pool);
    for (size_t r = 0; status == VG_OK && r < work->options->resamples; r++)
        for (size_t f = 0; f < VG_PAIRED_FIGURES; f++)
            out[r * VG_PAIRED_FIGURES + f] = work->values[r * work->figures + paired_places[f]];
    release_resamples(work);
    return status;
}

vg_status vg_evaluate__replicates(double *out, const vg_tally *tally, const vg_measure *measure, size_t resamples,
                                  uint64_t seed, unsigned threads) {
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    vg_evaluation one = {.measure_count = 1};
    vg_rank_plan plan;
    vg_pool *pool;
    double *tail = NULL;
    options.resamples = resamples;
    options.seed = seed;
    VG_TRY(vg_evaluate__harmonic_tail(&tail, tally->rows));
    vg_status status = vg_evaluate__rank_plan(&plan, tail, tally->rows, &options);
    if (status == VG_OK)
        status = vg_pool__new(&pool, threads);
    if (status == VG_OK) {
        bootstrap_work work = {.evaluation = &one, .tally = tally, .plan = &plan, .options = &options};
        status = replicate(out, &work, measure, pool);
        vg_pool__free(pool);
    }
    vg_base__release(tail);
    return status;
}
