/* ranking.c - the public ranking calls on one measure: vg_rank, vg_risk_coverage. The sums are those of rank_sums.c. */
#include "evaluate/evaluate_internal.h"
#include "evaluate/rank_tied.h"

static vg_status check(const vg_measure *measure, const uint8_t *errors, size_t rows) {
    if (!measure || !measure->values || !errors)
        return vg_base__fail(VG_ERR_ARGUMENT, "ranking: measure, its values and errors must not be NULL");
    if (rows == 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "ranking: measure %s has no rows", measure->name);
    return VG_OK;
}

vg_status vg_rank(vg_ranking *out, const vg_measure *measure, const uint8_t *errors, size_t rows,
                  const vg_evaluate_options *options) {
    VG_TRY(vg_base__given(out != NULL, "vg_rank: out"));
    static const vg_evaluate_options defaults = VG_EVALUATE_OPTIONS_INIT;
    vg_evaluate_options o;
    VG_TRY(vg_base__take_options(&o, options, &defaults, sizeof o, "vg_evaluate_options"));
    VG_TRY(check(measure, errors, rows));
    double *tail, values[VG_RANK_FIXED + 2 * VG_MAX_OPERATING_POINTS];
    vg_rank_plan plan;
    VG_TRY(vg_evaluate__rank_plan(&plan, NULL, rows, &o));
    VG_TRY(vg_evaluate__harmonic_tail(&tail, rows));
    plan.tail = tail;
    vg_rank_room room;
    vg_rank_groups groups;
    vg_status status = vg_evaluate__rank_room(&room, rows, NULL, 0);
    if (status == VG_OK)
        status = vg_evaluate__rank_groups(&groups, &room, &(vg_rank_column){.measure = *measure}, errors, 1, rows);
    if (status == VG_OK) {
        vg_rank_sums sums;
        vg_evaluate__rank_walk(&sums, &plan, &groups);
        vg_evaluate__rank_figures(values, &sums, &plan);
        vg_evaluate__rank_store(out, measure->name, values, &plan);
    }
    vg_evaluate__rank_room_free(&room);
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

void vg_evaluate__rank_curve_tied(double *risk, size_t points, const vg_rank_part *part, size_t rows, size_t errors) {
    for (size_t i = 0; i < points; i++) {
        double position = vg_evaluate__curve_position(i, points, (double)part->rows_total);
        double inside = position - (double)part->rows_before;
        if (inside > 0 && inside <= (double)rows)
            risk[i] = ((double)part->errors_before + (double)errors * (inside / (double)rows)) / position;
    }
}

vg_status vg_risk_coverage(double *risk, size_t points, const vg_measure *measure, const uint8_t *errors, size_t rows) {
    VG_TRY(vg_base__given(risk || points == 0, "vg_risk_coverage: risk"));
    return vg_evaluate__rank_curve_part(risk, points, NULL, measure, errors, rows);
}

vg_status vg_evaluate__rank_curve_part(double *risk, size_t points, const vg_rank_part *part, const vg_measure *measure,
                                       const uint8_t *errors, size_t rows) {
    VG_TRY(check(measure, errors, rows));
    vg_rank_room room;
    vg_rank_groups groups;
    VG_TRY(vg_evaluate__rank_room(&room, rows, NULL, 0));
    vg_status status =
        vg_evaluate__rank_groups(&groups, &room, &(vg_rank_column){.measure = *measure}, errors, 1, rows);
    if (status == VG_OK)
        vg_evaluate__rank_curve(risk, points, &groups, part);
    vg_evaluate__rank_room_free(&room);
    return status;
}
