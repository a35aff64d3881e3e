/* bootstrap.c - percentile intervals of every figure of an evaluation.
 *
 * A resample draws N of the N samples with replacement; what counts is how often each was drawn, its weight, shared by all
 * figures. Nothing is sorted again: each measure's order is found once, and a resample is one walk along it with weights, eight
 * resamples side by side. Resample r draws from random stream r of the seed, so neither the thread count nor the number of
 * resamples changes what it holds. Multilabel: whole samples are drawn, their labels together. */
#include <stdlib.h>

#include "base/random.h"
#include "evaluate/evaluate_internal.h"

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

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear interpolation between order statistics: position (count - 1) q. */
static double quantile(const double *sorted, size_t count, double q) {
    double position = (double)(count - 1) * q;
    size_t below = (size_t)position;
    if (below + 1 >= count)
        return sorted[count - 1];
    double share = position - (double)below;
    return share > 0 ? sorted[below] + share * (sorted[below + 1] - sorted[below]) : sorted[below];
}

void vg_evaluate__interval(vg_estimate *estimate, double *values, size_t count, double confidence) {
    size_t defined = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            values[defined++] = values[i];
    estimate->low = estimate->high = NAN;
    if (defined == 0)
        return;
    qsort(values, defined, sizeof *values, compare_doubles);
    estimate->low = quantile(values, defined, (1 - confidence) / 2);
    estimate->high = quantile(values, defined, 1 - (1 - confidence) / 2);
}

/* --- one measure's order ----------------------------------------------------------------------------------------------------
 */
typedef struct rank_order {
    uint32_t *rows; /* most certain first */
    uint8_t *marks; /* GROUP_END and ERROR of each place */
} rank_order;
enum { GROUP_END = 1, ERROR = 2 };

typedef struct order_work {
    const vg_tally *tally;
    const vg_rank_column *columns;
    rank_order *orders;
    vg_keyed *pairs; /* 2 x rows a worker */
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
    for (size_t i = 0; i < rows; i++) {
        bool end = i + 1 == rows || pairs[i + 1].key != pairs[i].key;
        order->rows[i] = pairs[i].row;
        order->marks[i] = (uint8_t)((end ? GROUP_END : 0) | (work->tally->error[pairs[i].row] ? ERROR : 0));
    }
    return VG_OK;
}

/* Eight resamples of one measure: one weighted walk each, side by side. values[lane * stride + figure]. */
static vg_status rank_block(double *values, size_t stride, const rank_order *order, const vg_tally *t, const vg_rank_plan *plan,
                            const double *weights, const double *totals, vg_pulse *pulse, unsigned worker) {
    size_t width = t->multilabel ? t->classes : 1;
    vg_rank_sums sums[VG_LANES];
    double before[VG_LANES] = {0}, mass[VG_LANES] = {0}, errors[VG_LANES] = {0};
    bool any = false; /* an error in the group now open */
    for (size_t lane = 0; lane < VG_LANES; lane++)
        sums[lane] = (vg_rank_sums){.total = totals[lane]};
    for (size_t i = 0; i < t->rows; i++) {
        if (i % VG_SLICE == 0)
            VG_TRY(vg_evaluate__pulse(pulse, worker));
        const double *w = weights + (order->rows[i] / width) * VG_LANES;
        for (size_t lane = 0; lane < VG_LANES; lane++)
            mass[lane] += w[lane];
        if (order->marks[i] & ERROR) {
            any = true;
            for (size_t lane = 0; lane < VG_LANES; lane++)
                errors[lane] += w[lane];
        }
        if (!(order->marks[i] & GROUP_END))
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
static vg_status rule_block(double *values, size_t stride, const vg_evaluation *e, const vg_tally *t, const double *weights,
                            vg_pulse *pulse, unsigned worker) {
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

/* --- all of it ---------------------------------------------------------------------------------------------------------------
 */
typedef struct bootstrap_work {
    const vg_evaluation *evaluation;
    const vg_tally *tally;
    const vg_rank_plan *plan;
    const vg_evaluate_options *options;
    const rank_order *orders;
    vg_tally_orders tally_orders;
    vg_pulse *pulse;
    size_t figures, per_measure; /* values of a resample, of a measure in it */
    double *values;              /* blocks x VG_LANES x figures */
    double *scratch;             /* a worker: n VG_LANES weights, then the tally's */
    size_t scratch_size;
} bootstrap_work;

static vg_status bootstrap_job(void *context, size_t block, unsigned worker) {
    const bootstrap_work *work = context;
    const vg_tally *t = work->tally;
    const vg_evaluate_options *o = work->options;
    double *weights = work->scratch + (size_t)worker * work->scratch_size;
    double *values = work->values + block * VG_LANES * work->figures;
    VG_TRY(vg_evaluate__weights(weights, t->n, o->seed, 0, block * VG_LANES, work->pulse, worker));
    VG_TRY(vg_evaluate__tally_block(values, work->figures, &work->tally_orders, weights, weights + t->n * VG_LANES, work->pulse,
                                    worker));
    double totals[VG_LANES];
    for (size_t lane = 0; lane < VG_LANES; lane++) /* accuracy holds the weighted errors exactly enough to round */
        totals[lane] = nearbyint((1 - values[lane * work->figures + VG_TALLY_ACCURACY]) * (double)t->rows);
    double *at = values + VG_TALLY_FIGURES;
    for (size_t m = 0; m < work->evaluation->measure_count; m++, at += work->per_measure)
        VG_TRY(rank_block(at, work->figures, &work->orders[m], t, work->plan, weights, totals, work->pulse, worker));
    VG_TRY(rule_block(at, work->figures, work->evaluation, t, weights, work->pulse, worker));
    vg_evaluate__pulse_add(work->pulse, VG_LANES);
    return VG_OK;
}

/* Where the i-th figure of a resample belongs. */
static void estimate_places(vg_estimate **places, vg_evaluation *e) {
    vg_evaluate__figure_places(places, e);
    places += VG_TALLY_FIGURES;
    for (size_t m = 0; m < e->measure_count; m++) {
        vg_ranking *r = &e->measures[m];
        vg_estimate *fixed[VG_RANK_FIXED] = {&r->aurc, &r->eaurc, &r->augrc, &r->error_auroc, &r->error_aupr};
        for (size_t i = 0; i < VG_RANK_FIXED; i++)
            *places++ = fixed[i];
        for (size_t i = 0; i < e->coverage_count; i++)
            *places++ = &r->risk_at[i];
        for (size_t i = 0; i < e->risk_count; i++)
            *places++ = &r->coverage_at[i];
    }
    for (size_t j = 0; j < e->rule_count; j++) {
        *places++ = &e->rule[j].coverage;
        *places++ = &e->rule[j].accuracy;
    }
}

static vg_status collect(vg_evaluation *e, const bootstrap_work *work) {
    size_t count = work->options->resamples;
    vg_estimate **places = NULL;
    double *column = NULL;
    vg_status status = vg_base__alloc(&places, work->figures, sizeof *places, "bootstrap figures");
    if (status == VG_OK)
        status = vg_base__alloc(&column, count, sizeof *column, "bootstrap figures");
    if (status == VG_OK) {
        estimate_places(places, e);
        for (size_t f = 0; f < work->figures; f++) {
            for (size_t r = 0; r < count; r++)
                column[r] = work->values[r * work->figures + f];
            vg_evaluate__interval(places[f], column, count, work->options->confidence);
        }
    }
    vg_base__release(places);
    vg_base__release(column);
    return status;
}

/* Every measure's order; rows and marks of all of them in two allocations. */
static vg_status make_orders(rank_order *orders, uint32_t *rows, uint8_t *marks, const vg_tally *t,
                             const vg_rank_column *columns, size_t count, vg_pulse *pulse, vg_pool *pool) {
    for (size_t m = 0; m < count; m++)
        orders[m] = (rank_order){rows + m * t->rows, marks + m * t->rows};
    order_work work = {t, columns, orders, NULL, pulse};
    size_t room;
    if (!vg_base__mul(&room, t->rows, 2 * (size_t)vg_pool__threads(pool)))
        return vg_base__fail(VG_ERR_MEMORY, "bootstrap: %zu rows do not fit memory", t->rows);
    VG_TRY(vg_base__alloc(&work.pairs, room, sizeof *work.pairs, "bootstrap keys"));
    vg_status status = vg_pool__run(pool, count, order_job, &work);
    vg_base__release(work.pairs);
    return status;
}

static vg_status run_blocks(vg_evaluation *e, bootstrap_work *work, vg_pool *pool) {
    size_t blocks = (work->options->resamples + VG_LANES - 1) / VG_LANES, values, scratch;
    if (!vg_base__mul(&scratch, work->tally->n, VG_LANES) ||
        !vg_base__add(&scratch, scratch, vg_evaluate__tally_scratch(work->tally)) ||
        !vg_base__mul(&values, blocks * VG_LANES, work->figures))
        return vg_base__fail(VG_ERR_MEMORY, "bootstrap: %zu resamples do not fit memory", work->options->resamples);
    work->scratch_size = scratch;
    if (!vg_base__mul(&scratch, scratch, vg_pool__threads(pool)))
        return vg_base__fail(VG_ERR_MEMORY, "bootstrap: %zu resamples do not fit memory", work->options->resamples);
    vg_status status = vg_base__alloc(&work->scratch, scratch, sizeof(double), "bootstrap weights");
    if (status == VG_OK)
        status = vg_base__alloc(&work->values, values, sizeof(double), "bootstrap figures");
    if (status == VG_OK)
        status = vg_pool__run(pool, blocks, bootstrap_job, work);
    if (status == VG_OK)
        status = collect(e, work);
    vg_base__release(work->scratch);
    vg_base__release(work->values);
    return status;
}

vg_status vg_evaluate__bootstrap(vg_evaluation *e, const vg_tally *t, const vg_rank_column *columns, const vg_rank_plan *plan,
                                 const vg_evaluate_options *o, vg_pulse *pulse, vg_pool *pool) {
    size_t places;
    if (!vg_base__mul(&places, e->measure_count, t->rows))
        return vg_base__fail(VG_ERR_MEMORY, "bootstrap: %zu measures of %zu rows do not fit memory", e->measure_count, t->rows);
    bootstrap_work work = {.evaluation = e, .tally = t, .plan = plan, .options = o, .pulse = pulse};
    work.per_measure = VG_RANK_FIXED + plan->coverage_count + plan->risk_count;
    work.figures = VG_TALLY_FIGURES + e->measure_count * work.per_measure + 2 * e->rule_count;
    rank_order *orders = NULL;
    uint32_t *rows = NULL;
    uint8_t *marks = NULL;
    vg_status status = vg_base__alloc(&orders, e->measure_count, sizeof *orders, "bootstrap orders");
    if (status == VG_OK)
        status = vg_base__alloc(&rows, places, sizeof *rows, "bootstrap orders");
    if (status == VG_OK)
        status = vg_base__alloc(&marks, places, 1, "bootstrap orders");
    if (status == VG_OK)
        status = make_orders(orders, rows, marks, t, columns, e->measure_count, pulse, pool);
    if (status == VG_OK)
        status = vg_evaluate__tally_orders_new(&work.tally_orders, t, pulse);
    work.orders = orders;
    if (status == VG_OK)
        status = run_blocks(e, &work, pool);
    vg_evaluate__tally_orders_free(&work.tally_orders);
    vg_base__release(orders);
    vg_base__release(rows);
    vg_base__release(marks);
    return status;
}
