/* lead.c - whether the lead of the best measure is more than noise, and the figures of each class. */
#include "evaluate/bounds.h"
#include "evaluate/evaluate_internal.h"
#include "evaluate/paired.h"

/* --- the lead of the best measure --------------------------------------------------------------------------------- */
static size_t find_measure(const vg_evaluation *e, const char *name) {
    size_t i = 0;
    while (i < e->measure_count && strcmp(e->measures[i].name, name) != 0)
        i++;
    return i;
}

/* The measure of largest error AUROC other than `without` and those that equal it, which rank alike (TU and the largest
 * probability of two classes); measure_count when there is none. */
static size_t best_auroc(const vg_evaluation *e, size_t without) {
    size_t best = e->measure_count;
    double taken = without < e->measure_count ? e->measures[without].error_auroc.value : NAN;
    for (size_t i = 0; i < e->measure_count; i++) {
        double area = e->measures[i].error_auroc.value;
        bool alike = fabs(area - taken) < 1e-12;
        if (i != without && !isnan(area) && !alike &&
            (best == e->measure_count || area > e->measures[best].error_auroc.value))
            best = i;
    }
    return best;
}

void vg_evaluate__lead_names(vg_evaluation *e) {
    vg_measure_lead *lead = &e->lead;
    size_t usual = find_measure(e, "tu");
    *lead = (vg_measure_lead){best_auroc(e, e->measure_count), e->measure_count, {NAN, NAN, NAN}, NAN, NAN};
    if (lead->leader == e->measure_count)
        return;
    lead->rival = usual < e->measure_count && usual != lead->leader ? usual : best_auroc(e, lead->leader);
    if (lead->rival < e->measure_count)
        lead->difference.value =
            e->measures[lead->leader].error_auroc.value - e->measures[lead->rival].error_auroc.value;
}

static void set_p(vg_evaluation *e, double p_value) {
    e->lead.p_value = p_value;
    e->lead.corrected = isnan(p_value) ? NAN : fmin(1, p_value * (double)(e->measure_count - 1));
}

void vg_evaluate__lead_of_variance(vg_evaluation *e, double variance, double confidence) {
    if (e->lead.rival < e->measure_count && !isnan(e->lead.difference.value))
        set_p(e, vg_evaluate__auroc_difference(&e->lead.difference, variance, confidence));
}

/* The two-sided p-value of no difference: the difference over the standard deviation of its resamples, taken as
 * normal. Counting resamples could not give a p-value below 2 / (resamples + 1), which is too large for the
 * correction that follows. NaN where a resample is undefined, or all are the same. */
static double normal_p(double value, const double *leader, const double *rival, size_t stride, size_t resamples) {
    double mean = 0, square = 0;
    for (size_t r = 0; r < resamples; r++)
        mean += (leader[r * stride] - rival[r * stride]) / (double)resamples;
    for (size_t r = 0; r < resamples; r++) {
        double off = leader[r * stride] - rival[r * stride] - mean;
        square += off * off;
    }
    if (value == 0 && square == 0)
        return 1;
    return square > 0 && resamples > 1 ? erfc(fabs(value) / sqrt(2 * square / (double)(resamples - 1))) : NAN;
}

vg_status vg_evaluate__lead_resampled(vg_evaluation *e, const double *leader, const double *rival, size_t stride) {
    size_t resamples = e->resamples, half = resamples * VG_PAIRED_FIGURES;
    vg_estimate *difference = &e->lead.difference;
    double *both, counted;
    VG_TRY(vg_base__zalloc(&both, 2 * half, sizeof *both, "resamples of two measures"));
    for (size_t r = 0; r < resamples; r++) {
        both[r * VG_PAIRED_FIGURES + VG_PAIRED_AUROC] = rival[r * stride];
        both[half + r * VG_PAIRED_FIGURES + VG_PAIRED_AUROC] = leader[r * stride];
    }
    vg_paired_replicates pair = {both, both + half, resamples, e->confidence};
    vg_status status = vg_evaluate__difference(difference, &counted, difference->value, VG_PAIRED_AUROC, &pair);
    if (status == VG_OK)
        set_p(e, normal_p(difference->value, leader, rival, stride, resamples));
    vg_base__release(both);
    return status;
}

/* --- classes ------------------------------------------------------------------------------------------------------ */
static vg_estimate proportion(size_t part, size_t whole, double value, double confidence) {
    vg_estimate e = {value, NAN, NAN};
    double side = 1 - (1 - confidence) / 2;
    if (whole == 0)
        return e;
    e.low = 1 - vg_bounds__clopper_pearson(whole - part, whole, side);
    e.high = vg_bounds__clopper_pearson(part, whole, side);
    return e;
}

static void mean_uncertainties(vg_evaluation *e, const vg_tally *t, const vg_rank_column *column) {
    for (size_t c = 0; c < e->classes; c++)
        e->class_figures[c].uncertainty = 0;
    for (size_t i = 0; i < t->rows; i++) {
        size_t c = t->multilabel ? i % t->classes : (size_t)t->label[i];
        e->class_figures[c].uncertainty += vg_evaluate__value(column, i);
    }
    for (size_t c = 0; c < e->classes; c++) {
        size_t rows = t->multilabel ? t->n : e->per_class[c].support;
        e->class_figures[c].uncertainty = rows ? e->class_figures[c].uncertainty / (double)rows : NAN;
    }
}

void vg_evaluate__class_estimates(vg_evaluation *e) {
    e->class_measure = find_measure(e, "gmu");
    if (e->class_measure == e->measure_count)
        e->class_measure = 0;
    for (size_t c = 0; c < e->classes; c++) {
        vg_class_figures *out = &e->class_figures[c];
        const vg_class_row *row = &e->per_class[c];
        size_t together = row->support + row->predicted - row->true_positive;
        out->iou = together > 0 ? (double)row->true_positive / (double)together : NAN;
        out->recall = (vg_estimate){row->recall, NAN, NAN};
        out->precision = (vg_estimate){row->precision, NAN, NAN};
        if (e->resamples > 0) {
            out->recall = proportion(row->true_positive, row->support, row->recall, e->confidence);
            out->precision = proportion(row->true_positive, row->predicted, row->precision, e->confidence);
        }
        if (e->class_measure == e->measure_count)
            out->uncertainty = NAN;
        if (e->rule_count > 0 && e->rule[0].abstained_by_label)
            out->abstained = e->rule[0].abstained_by_label[c];
    }
}

/* --- both --------------------------------------------------------------------------------------------------------- */
typedef struct last_work {
    vg_evaluation *e;
    const vg_tally *tally;
    const vg_rank_column *columns;
    vg_area_pair pair; /* of leader and rival */
    bool tested;
} last_work;

/* The test of the lead, and beside it the mean uncertainties of the classes. */
static vg_status last_job(void *context, size_t index, unsigned worker) {
    last_work *w = context;
    vg_evaluation *e = w->e;
    (void)worker;
    if (index == 0 && w->tested)
        set_p(e, vg_evaluate__pair_test(&e->lead.difference, &w->pair, e->confidence));
    if (index == 1 && e->class_measure < e->measure_count)
        mean_uncertainties(e, w->tally, &w->columns[e->class_measure]);
    return VG_OK;
}

vg_status vg_evaluate__lead_and_classes(vg_evaluation *e, const vg_tally *t, const vg_rank_column *columns,
                                        vg_rank_room *rooms, vg_pool *pool) {
    const vg_measure_lead *lead = &e->lead;
    last_work work = {.e = e, .tally = t, .columns = columns};
    vg_status status = VG_OK;
    VG_TRY(vg_base__zalloc(&e->class_figures, e->classes, sizeof *e->class_figures, "figures of classes"));
    vg_evaluate__class_estimates(e);
    vg_evaluate__lead_names(e);
    work.tested = lead->rival < e->measure_count && e->resamples == 0;
    if (work.tested) {
        const vg_rank_column *pair[2] = {&columns[lead->leader], &columns[lead->rival]};
        status = vg_evaluate__count_pair(&work.pair, pair, t, rooms, pool);
    }
    if (status == VG_OK)
        status = vg_pool__run(pool, 2, last_job, &work);
    vg_evaluate__rank_room_free(&work.pair.own);
    return status;
}
