/* evaluate.c - vg_evaluate: makes a vg_evaluation of a tally and its measures.
 *
 * Measures are ranked side by side on the pool, each by one worker with its own keys. Every figure comes from the
 * walk of one worker, so results do not depend on the thread count. Sums: tally_metrics.c, rank_sums.c, rule.c;
 * intervals: bootstrap.c. */
#include <pthread.h>

#include "evaluate/evaluate_internal.h"

static vg_status check_options(const vg_evaluate_options *o, const vg_tally *tally, const vg_rank_column *columns,
                               size_t count) {
    if (!tally)
        return vg_base__fail(VG_ERR_ARGUMENT, "evaluate: tally and measures must not be NULL");
    if (tally->n == 0)
        return vg_base__fail(VG_ERR_DATA, "evaluate: no samples");
    for (size_t i = 0; i < count; i++)
        if (!columns[i].measure.values)
            return vg_base__fail(VG_ERR_ARGUMENT, "evaluate: measure %s has no values", columns[i].measure.name);
    if (o->resamples > 0 && !tally->bootstrap)
        return vg_base__fail(VG_ERR_ARGUMENT, "evaluate: the bootstrap needs a tally made with bootstrap = 1");
    if (o->resamples > 0 && !(o->confidence > 0 && o->confidence < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "evaluate: confidence %g, expected above 0 and below 1", o->confidence);
    return vg_evaluate__check_k(o->k, o->k ? o->k_count : 0);
}

/* Allocates the arrays of the result. Each kind is one allocation, whose address is the pointer of its first
 * element. */
static vg_status allocate(vg_evaluation *e, const vg_tally *t, size_t measure_count, size_t k_count,
                          size_t curve_points) {
    size_t curves;
    if (!vg_base__mul(&curves, measure_count, curve_points))
        return vg_base__fail(VG_ERR_MEMORY, "evaluate: results of %zu measures and %zu classes do not fit memory",
                             measure_count, t->classes);
    VG_TRY(vg_base__zalloc(&e->per_class, t->classes, sizeof *e->per_class, "classes"));
    VG_TRY(vg_base__zalloc(&e->reliability, t->bins, sizeof *e->reliability, "reliability bins"));
    VG_TRY(vg_base__zalloc(&e->measures, measure_count, sizeof *e->measures, "rankings"));
    e->measure_count = measure_count;
    if (t->confusion)
        VG_TRY(vg_base__alloc(&e->confusion, t->classes, t->classes * sizeof *e->confusion, "confusion matrix"));
    if (curves > 0) {
        double *curve;
        VG_TRY(vg_base__alloc(&curve, curves, sizeof(double), "risk-coverage curves"));
        e->curve_points = curve_points;
        for (size_t i = 0; i < measure_count; i++)
            e->measures[i].curve = curve + i * curve_points;
    }
    if (t->has_ratio && k_count > 0) {
        size_t *by;
        VG_TRY(vg_base__zalloc(&e->rule, k_count, sizeof *e->rule, "rows of the rule"));
        VG_TRY(vg_base__zalloc(&by, k_count, 2 * t->classes * sizeof *by, "counts of the rule"));
        e->rule_count = k_count;
        for (size_t j = 0; j < k_count; j++) {
            e->rule[j].abstained_by_label = by + 2 * j * t->classes;
            e->rule[j].abstained_by_prediction = by + (2 * j + 1) * t->classes;
        }
    }
    if (t->multilabel) {
        vg_ranking *all;
        VG_TRY(vg_base__zalloc(&e->labels, t->classes, sizeof *e->labels, "labels"));
        VG_TRY(vg_base__zalloc(&all, measure_count, t->classes * sizeof *all, "rankings of labels"));
        e->label_count = t->classes;
        for (size_t c = 0; c < t->classes; c++)
            e->labels[c].measures = all + c * measure_count;
    }
    return VG_OK;
}

void vg_evaluation_free(vg_evaluation *e) {
    if (!e)
        return;
    if (e->measure_count)
        vg_base__release(e->measures[0].curve);
    if (e->rule_count)
        vg_base__release(e->rule[0].abstained_by_label);
    if (e->label_count)
        vg_base__release(e->labels[0].measures);
    void *parts[] = {e->per_class, e->confusion, e->reliability, e->measures, e->rule, e->labels, e->class_figures, e};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        vg_base__release(parts[i]);
}

/* --- on the pool ------------------------------------------------------------------------------------------------ */
typedef struct rank_work {
    vg_evaluation *evaluation;
    const vg_tally *tally;
    const vg_rank_column *columns;
    const double *k;
    size_t *order;                   /* the sequence in which measures are ranked */
    vg_rank_plan *plan, *label_plan; /* of all rows; of the rows of one label */
    double **tails;                  /* their harmonic sums, freed by the caller */
    vg_rank_room *rooms;             /* one for each worker */
    vg_pulse *pulse;
    double confidence;    /* of intervals; 0: none */
    pthread_mutex_t lock; /* of the plans' harmonic sums */
} rank_work;

/* The harmonic sums of a plan's rows, computed by the first thread that needs them. */
static vg_status need_tail(rank_work *work, vg_rank_plan *plan, double **tail, size_t rows) {
    vg_status status = VG_OK;
    pthread_mutex_lock(&work->lock);
    if (!plan->tail) {
        status = vg_evaluate__harmonic_tail(tail, rows);
        plan->tail = *tail;
    }
    pthread_mutex_unlock(&work->lock);
    return status;
}

/* Measure by measure over all rows; then, label by label, each measure over that label's rows. */
static vg_status rank_job(rank_work *work, size_t index, unsigned worker) {
    const vg_tally *t = work->tally;
    vg_evaluation *e = work->evaluation;
    size_t label = index / e->measure_count, m = work->order[index % e->measure_count], stride = 1, rows = t->rows;
    vg_rank_column column = work->columns[m];
    const uint8_t *errors = t->error;
    vg_rank_plan *plan = work->plan;
    double **tail = &work->tails[0];
    vg_ranking *out = &e->measures[m];
    if (label > 0) { /* 0 is the pool of all labels */
        label--;
        stride = t->classes;
        rows = t->n;
        size_t from = label * column.measure.stride;
        column.measure.values += from;
        column.less = column.less ? column.less + from : NULL;
        column.plus = column.plus ? column.plus + from : NULL;
        column.measure.stride *= stride;
        errors += label;
        plan = work->label_plan;
        tail = &work->tails[1];
        out = &e->labels[label].measures[m];
    }
    double *curve = out->curve, values[VG_RANK_FIXED + 2 * VG_MAX_OPERATING_POINTS];
    vg_rank_groups groups;
    vg_rank_sums sums;
    VG_TRY(vg_evaluate__rank_groups(&groups, &work->rooms[worker], &column, errors, stride, rows));
    VG_TRY(need_tail(work, plan, tail, rows));
    vg_evaluate__rank_walk(&sums, plan, &groups);
    vg_evaluate__rank_figures(values, &sums, plan);
    vg_evaluate__rank_store(out, column.measure.name, values, plan);
    out->curve = curve;
    if (curve)
        vg_evaluate__rank_curve(curve, e->curve_points, &groups, NULL);
    return VG_OK;
}

/* Adaptive ECE, the sums that all rankings need and the test of calibration, then the rankings, and last the rule at
 * each k. The rule is short work, so that workers end together. */
enum { JOB_ADAPTIVE, JOB_TAIL, JOB_CALIBRATION, JOB_RANK };
static vg_status job(void *context, size_t index, unsigned worker) {
    rank_work *work = context;
    const vg_tally *t = work->tally;
    vg_evaluation *e = work->evaluation;
    size_t rankings = e->measure_count * (1 + e->label_count);
    vg_status status = VG_OK;
    VG_TRY(vg_evaluate__pulse(work->pulse, worker));
    if (index == JOB_ADAPTIVE)
        status = vg_evaluate__adaptive_ece(&e->ece_adaptive.value, &work->rooms[worker], t);
    else if (index == JOB_TAIL)
        status = need_tail(work, work->plan, &work->tails[0], t->rows);
    else if (index == JOB_CALIBRATION)
        status = vg_evaluate__calibration(e, t, work->confidence);
    else if (index < JOB_RANK + rankings)
        status = rank_job(work, index - JOB_RANK, worker);
    else {
        size_t j = index - JOB_RANK - rankings;
        vg_evaluate__rule_of_tally(&e->rule[j], work->k[j], t);
    }
    if (status == VG_OK)
        vg_evaluate__pulse_add(work->pulse, 1);
    return status;
}

static size_t job_count(const vg_evaluation *e) {
    return JOB_RANK + e->measure_count * (1 + e->label_count) + e->rule_count;
}

/* Measures whose values lie close together (one measure at several k) are ranked in sequence, so that they are read
 * from memory once. */
static void order_by_place(size_t *order, const vg_rank_column *columns, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t j = i;
        for (; j > 0 && columns[order[j - 1]].measure.values > columns[i].measure.values; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
}

static vg_status rank_all(rank_work *work, vg_pool *pool) {
    vg_evaluation *e = work->evaluation;
    unsigned workers = vg_pool__threads(pool);
    VG_TRY(vg_base__alloc(&work->order, e->measure_count, sizeof *work->order, "measures"));
    order_by_place(work->order, work->columns, e->measure_count);
    VG_TRY(vg_base__zalloc(&work->rooms, workers, sizeof *work->rooms, "workers"));
    for (unsigned i = 0; i < workers; i++)
        VG_TRY(vg_evaluate__rank_room(&work->rooms[i], work->tally->rows, work->pulse, i));
    return vg_pool__run(pool, job_count(e), job, work);
}

static void release_work(rank_work *work, vg_pool *pool) {
    for (unsigned i = 0; work->rooms && i < vg_pool__threads(pool); i++)
        vg_evaluate__rank_room_free(&work->rooms[i]);
    vg_base__release(work->rooms);
    vg_base__release(work->order);
    pthread_mutex_destroy(&work->lock);
}

/* --- the whole -------------------------------------------------------------------------------------------------- */
static void store_figures(vg_evaluation *e, const double *values) {
    vg_estimate *places[VG_TALLY_FIGURES];
    vg_evaluate__figure_places(places, e);
    for (size_t i = 0; i < VG_TALLY_FIGURES; i++)
        *places[i] = (vg_estimate){values[i], NAN, NAN};
}

void vg_evaluate__figure_places(vg_estimate *places[VG_TALLY_FIGURES], vg_evaluation *e) {
    places[VG_TALLY_ACCURACY] = &e->accuracy;
    places[VG_TALLY_F1_MACRO] = &e->f1_macro;
    places[VG_TALLY_ECE] = &e->ece;
    places[VG_TALLY_ECE_ADAPTIVE] = &e->ece_adaptive;
    places[VG_TALLY_ECE_CLASSWISE] = &e->ece_classwise;
    places[VG_TALLY_MCE] = &e->mce;
    places[VG_TALLY_NLL] = &e->nll;
    places[VG_TALLY_BRIER] = &e->brier;
    places[VG_TALLY_F1_MICRO] = &e->f1_micro;
    places[VG_TALLY_SUBSET] = &e->subset_accuracy;
    places[VG_TALLY_ECE_MACRO] = &e->ece_macro;
}

static void fill_counts(vg_evaluation *e, const vg_tally *t) {
    double values[VG_TALLY_FIGURES];
    vg_evaluate__tally_figures(values, t);
    store_figures(e, values);
    vg_evaluate__per_class(e->per_class, t);
    vg_evaluate__reliability(e->reliability, t);
    if (e->confusion)
        memcpy(e->confusion, t->confusion, t->classes * t->classes * sizeof *e->confusion);
    if (e->labels) {
        vg_evaluate__labels(e->labels, t);
        for (size_t c = 0; c < t->classes; c++) {
            e->labels[c].positive = e->per_class[c];
            e->labels[c].f1 = e->per_class[c].f1;
        }
    }
}

static vg_status fill(vg_evaluation *e, const vg_tally *t, const vg_rank_column *columns, const vg_evaluate_options *o,
                      const double *k, double **tails, vg_pool *pool) {
    vg_rank_plan plan, label_plan;
    VG_TRY(vg_evaluate__rank_plan(&plan, NULL, t->rows, o));
    VG_TRY(vg_evaluate__rank_plan(&label_plan, NULL, t->n, o));
    e->coverage_count = plan.coverage_count;
    e->risk_count = plan.risk_count;
    static const double coverages[] = {0.8, 0.9, 0.95};
    memcpy(e->coverages, o->coverages ? o->coverages : coverages, plan.coverage_count * sizeof(double));
    memcpy(e->risks, plan.risk, sizeof e->risks);
    fill_counts(e, t);
    size_t steps = job_count(e);
    vg_pulse pulse = {
        .ask = o->progress, .context = o->progress_context, .what = "evaluate", .total = steps + o->resamples};
    rank_work work = {e,
                      t,
                      columns,
                      k,
                      NULL,
                      &plan,
                      &label_plan,
                      tails,
                      NULL,
                      &pulse,
                      o->resamples > 0 ? o->confidence : 0,
                      PTHREAD_MUTEX_INITIALIZER};
    vg_pool__while_waiting(pool, vg_evaluate__pulse_idle, &pulse);
    vg_status status = vg_evaluate__pulse(&pulse, 0); /* at least once, also where the other workers do everything */
    if (status == VG_OK)
        status = rank_all(&work, pool);
    if (status == VG_OK)
        status = vg_evaluate__lead_and_classes(e, t, columns, work.rooms, pool);
    release_work(&work, pool);
    if (status == VG_OK && o->resamples > 0)
        status = vg_evaluate__bootstrap(e, t, columns, &plan, o, &pulse, pool);
    return status == VG_OK ? vg_evaluate__pulse_end(&pulse) : status;
}

static vg_status evaluate(vg_evaluation **out, const vg_tally *tally, const vg_rank_column *columns,
                          size_t measure_count, const vg_evaluate_options *options) {
    static const vg_evaluate_options defaults = VG_EVALUATE_OPTIONS_INIT;
    static const double default_k[] = {1, 2, 3};
    vg_evaluate_options taken;
    const vg_evaluate_options *o = &taken;
    VG_TRY(vg_base__take_options(&taken, options, &defaults, sizeof taken, "vg_evaluate_options"));
    VG_TRY(check_options(o, tally, columns, measure_count));
    const double *k = o->k ? o->k : default_k;
    size_t k_count = o->k ? o->k_count : 3;
    vg_evaluation *e;
    vg_pool *pool = NULL;
    double *tails[2] = {NULL, NULL};
    VG_TRY(vg_base__zalloc(&e, 1, sizeof *e, "evaluation"));
    *e = (vg_evaluation){.struct_size = sizeof *e,
                         .task = tally->multilabel ? VG_TASK_MULTILABEL : VG_TASK_MULTICLASS,
                         .n = tally->n,
                         .classes = tally->classes,
                         .rows = tally->rows,
                         .bins = tally->bins,
                         .errors = tally->rows - tally->correct,
                         .resamples = o->resamples,
                         .seed = o->seed,
                         .confidence = o->confidence,
                         .miou = {NAN, NAN, NAN}};
    vg_status status = vg_pool__new(&pool, o->threads);
    if (status == VG_OK)
        status = allocate(e, tally, measure_count, k_count, o->curve_points);
    if (status == VG_OK)
        status = fill(e, tally, columns, o, k, tails, pool);
    vg_pool__free(pool);
    vg_base__release(tails[0]);
    vg_base__release(tails[1]);
    if (status != VG_OK) {
        vg_evaluation_free(e);
        return status;
    }
    *out = e;
    return VG_OK;
}

vg_status vg_evaluate(vg_evaluation **out, const vg_tally *tally, const vg_measure *measures, size_t measure_count,
                      const vg_evaluate_options *options) {
    vg_rank_column *columns;
    if (!out)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_evaluate: out must not be NULL");
    *out = NULL;
    if (measure_count > 0 && !measures)
        return vg_base__fail(VG_ERR_ARGUMENT, "evaluate: tally and measures must not be NULL");
    VG_TRY(vg_base__zalloc(&columns, measure_count, sizeof *columns, "measures"));
    for (size_t i = 0; i < measure_count; i++)
        columns[i].measure = measures[i];
    vg_status status = evaluate(out, tally, columns, measure_count, options);
    vg_base__release(columns);
    return status;
}

vg_status vg_evaluate__columns(vg_evaluation **out, const vg_tally *tally, const vg_columns *columns,
                               const vg_evaluate_options *options) {
    vg_rank_column *list;
    if (!out || !columns)
        return vg_base__fail(VG_ERR_ARGUMENT, "evaluate: out and columns must not be NULL");
    *out = NULL;
    size_t count = vg_evaluate__columns_list(NULL, columns);
    VG_TRY(vg_base__alloc(&list, count, sizeof *list, "measures"));
    vg_evaluate__columns_list(list, columns);
    for (size_t i = 0; tally && i < count; i++)
        if (list[i].complement)
            list[i].measure.values = tally->confidence;
    vg_status status = evaluate(out, tally, list, count, options);
    vg_base__release(list);
    return status;
}
