/* ranking.c - the public ranking calls on one measure: vg_rank, vg_risk_coverage. The sums are rank_sums.c's. */
#include "evaluate/evaluate_internal.h"

static vg_status check(const vg_measure *measure, const uint8_t *errors, size_t rows) {
    if (!measure || (rows > 0 && (!measure->values || !errors)))
        return vg_base__fail(VG_ERR_ARGUMENT, "ranking: measure, values or errors are NULL");
    if (rows == 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "ranking: measure %s has no rows", measure->name);
    return VG_OK;
}

/* The two sorted parts of one measure, in one allocation the caller releases. */
static vg_status sorted(uint64_t **keys, size_t *correct, const vg_measure *measure, const uint8_t *errors, size_t rows) {
    size_t both;
    if (!vg_base__mul(&both, rows, 2))
        return vg_base__fail(VG_ERR_MEMORY, "ranking: %zu rows do not fit memory", rows);
    VG_TRY(vg_base__alloc(keys, both, sizeof **keys, "keys to sort"));
    vg_status status = vg_evaluate__split_sort(*keys, *keys + rows, correct, measure, errors, 1, rows);
    if (status != VG_OK) {
        vg_base__release(*keys);
        *keys = NULL;
    }
    return status;
}

vg_status vg_rank(vg_ranking *out, const vg_measure *measure, const uint8_t *errors, size_t rows,
                  const vg_evaluate_options *options) {
    static const vg_evaluate_options defaults = VG_EVALUATE_OPTIONS_INIT;
    VG_TRY(check(measure, errors, rows));
    double *tail, values[VG_RANK_FIXED + 2 * VG_MAX_OPERATING_POINTS];
    vg_rank_plan plan;
    VG_TRY(vg_evaluate__rank_plan(&plan, NULL, rows, options ? options : &defaults));
    VG_TRY(vg_evaluate__harmonic_tail(&tail, rows));
    plan.tail = tail;
    uint64_t *keys = NULL;
    size_t correct = 0;
    vg_status status = sorted(&keys, &correct, measure, errors, rows);
    if (status == VG_OK) {
        vg_rank_sums sums;
        vg_evaluate__rank_walk(&sums, &plan, keys, correct, keys + correct, rows - correct);
        vg_evaluate__rank_figures(values, &sums, &plan);
        vg_evaluate__rank_store(out, measure->name, values, &plan);
    }
    vg_base__release(keys);
    vg_base__release(tail);
    return status;
}

void vg_evaluate__rank_store(vg_ranking *out, const char *name, const double *values, const vg_rank_plan *plan) {
    const vg_estimate none = {NAN, NAN, NAN};
    memset(out, 0, sizeof *out);
    memcpy(out->name, name, VG_NAME_SIZE);
    vg_estimate *fixed[VG_RANK_FIXED] = {&out->aurc, &out->eaurc, &out->augrc, &out->error_auroc, &out->error_aupr};
    for (size_t i = 0; i < VG_RANK_FIXED; i++)
        *fixed[i] = (vg_estimate){values[i], NAN, NAN};
    const double *at = values + VG_RANK_FIXED;
    for (size_t i = 0; i < VG_MAX_OPERATING_POINTS; i++)
        out->risk_at[i] = i < plan->coverage_count ? (vg_estimate){*at++, NAN, NAN} : none;
    for (size_t i = 0; i < VG_MAX_OPERATING_POINTS; i++)
        out->coverage_at[i] = i < plan->risk_count ? (vg_estimate){*at++, NAN, NAN} : none;
}

vg_status vg_risk_coverage(double *risk, size_t points, const vg_measure *measure, const uint8_t *errors, size_t rows) {
    VG_TRY(check(measure, errors, rows));
    uint64_t *keys = NULL;
    size_t correct = 0;
    VG_TRY(sorted(&keys, &correct, measure, errors, rows));
    vg_evaluate__rank_curve(risk, points, keys, correct, keys + correct, rows - correct);
    vg_base__release(keys);
    return VG_OK;
}
