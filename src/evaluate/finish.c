/* finish.c - vg_evaluation_finish: derives the remaining figures of an evaluation that was assembled from parts of
 * its rows, which may have been on different machines. Intervals are those of bootstrap.c except two: an error AUROC
 * has the variance of its resamples instead of DeLong's, which needs every row, and coverages at risks have theirs
 * from the walks of the parts (rank_parts.c). */
#include <stddef.h>

#include "evaluate/evaluate_internal.h"

static vg_status check(const vg_evaluation *e) {
    if (!e ||
        e->struct_size < offsetof(vg_evaluation, miou)) /* the size of the first release; later fields are not used */
        return vg_base__fail(VG_ERR_ARGUMENT, "evaluation: NULL, or struct_size is below %zu",
                             offsetof(vg_evaluation, miou));
    if (!e->reliability || e->bins < 1 || (e->measure_count > 0 && !e->measures) || (e->rule_count > 0 && !e->rule))
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "evaluation: reliability, measures and rule must not be NULL, and bins at least 1");
    if (e->resamples > 0 && !(e->confidence > 0 && e->confidence < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "evaluation: confidence %g, expected above 0 and below 1", e->confidence);
    return VG_OK;
}

/* Rows of the bin that decides MCE. */
static size_t worst_bin_rows(const vg_evaluation *e) {
    size_t rows = 0;
    double worst = -1;
    for (size_t b = 0; b < e->bins; b++) {
        const vg_reliability_bin *bin = &e->reliability[b];
        if (bin->count > 0 && fabs(bin->confidence - bin->accuracy) > worst) {
            worst = fabs(bin->confidence - bin->accuracy);
            rows = bin->count;
        }
    }
    return rows;
}

/* Whether the caller's struct is large enough to have the array, and has it. */
static bool has(const vg_evaluation *e, const double *const *place) {
    return e->struct_size >= (size_t)((const char *)(place + 1) - (const char *)e) && *place;
}

static vg_status check_calibration(vg_evaluation *e) {
    const double *products = has(e, &e->bin_products) ? e->bin_products : NULL;
    e->calibration = (vg_calibration_check){NAN, NAN, NAN, worst_bin_rows(e)};
    return e->task == VG_TASK_MULTICLASS || products
               ? vg_evaluate__calibration_of_bins(e, products, e->resamples > 0 ? e->confidence : 0)
               : VG_OK;
}

static vg_status auroc_intervals(vg_evaluation *e, const double *values, size_t figures, size_t per_measure) {
    double width = e->task == VG_TASK_MULTICLASS ? 1 : (double)e->classes, *column;
    double wrong = (double)e->errors / width, right = (double)(e->rows - e->errors) / width;
    VG_TRY(vg_base__alloc(&column, e->resamples, sizeof *column, "bootstrap figures"));
    for (size_t m = 0; m < e->measure_count; m++) {
        const double *of = values + VG_TALLY_FIGURES + m * per_measure + VG_RANK_AUROC;
        size_t defined = 0;
        for (size_t r = 0; r < e->resamples; r++)
            if (!isnan(of[r * figures]))
                column[defined++] = of[r * figures];
        vg_evaluate__auroc_interval(&e->measures[m].error_auroc, vg_evaluate__variance(column, defined), fmax(wrong, 1),
                                    fmax(right, 1), e->confidence);
    }
    vg_base__release(column);
    return VG_OK;
}

static vg_status intervals(vg_evaluation *e, const double *values) {
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    vg_rank_plan plan;
    options.coverages = e->coverages;
    options.coverage_count = e->coverage_count;
    options.risks = e->risks;
    options.risk_count = e->risk_count;
    VG_TRY(vg_evaluate__rank_plan(&plan, NULL, e->rows, &options));
    size_t per_measure = VG_RANK_FIXED + plan.coverage_count + plan.risk_count;
    size_t figures = VG_TALLY_FIGURES + e->measure_count * per_measure + 2 * e->rule_count;
    VG_TRY(vg_evaluate__resampled(e, &plan, values, figures));
    VG_TRY(auroc_intervals(e, values, figures, per_measure));
    if (e->lead.rival == e->measure_count)
        return VG_OK;
    const double *auroc = values + VG_TALLY_FIGURES + VG_RANK_AUROC;
    return vg_evaluate__lead_resampled(e, auroc + e->lead.leader * per_measure, auroc + e->lead.rival * per_measure,
                                       figures);
}

vg_status vg_evaluation_finish(vg_evaluation *e, const double *resampled) {
    VG_TRY(check(e));
    VG_TRY(check_calibration(e));
    vg_evaluate__lead_names(e);
    if (has(e, &e->lead_variance))
        vg_evaluate__lead_of_variance(e, *e->lead_variance, e->confidence > 0 ? e->confidence : 0.95);
    if (e->class_figures && e->per_class)
        vg_evaluate__class_estimates(e);
    return e->resamples > 0 && resampled ? intervals(e, resampled) : VG_OK;
}
