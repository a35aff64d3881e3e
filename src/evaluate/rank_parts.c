/* rank_parts.c - a ranking from parts of its rows: each part is walked with the counts of rows and errors before it,
 * and the sums of the walks are added. Formulas: rank_sums.c. */
#include "base/distributions.h"
#include "evaluate/evaluate_internal.h"
#include "evaluate/rank_tied.h"

/* H(x) - log x - Euler's constant for x >= 32, where the next term is below 1e-17. */
static double harmonic_rest(double x) {
    double square = 1 / (x * x);
    return 0.5 / x - square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252)));
}

double vg_evaluate__harmonic_between(double a, double b) {
    double sum = 0;
    for (; a < 32 && a < b; a++)
        sum += 1 / (a + 1);
    return a < b ? sum + (log1p((b - a) / a) + (harmonic_rest(b) - harmonic_rest(a))) : sum;
}

static vg_status take(vg_rank_part *own, const vg_rank_part *part) {
    static const vg_rank_part defaults = VG_RANK_PART_INIT;
    VG_TRY(vg_base__take_options(own, part, &defaults, sizeof *own, "vg_rank_part"));
    if (own->errors_total > own->rows_total || own->errors_before > own->errors_total ||
        own->rows_before > own->rows_total)
        return vg_base__fail(VG_ERR_ARGUMENT, "ranking: a part after %llu rows, %llu errors of %llu rows, %llu errors",
                             own->rows_before, own->errors_before, own->rows_total, own->errors_total);
    return VG_OK;
}

/* Walks every group that has an error, single or tied, as one event. */
static void walk(vg_rank_sums *sums, const vg_rank_plan *plan, const vg_rank_groups *g, double before) {
    const vg_tied_group *tied = g->tied, *end = g->tied + g->tied_count;
    for (size_t i = 0; i < g->count; i++) {
        bool shared = tied < end && tied->group == i;
        vg_evaluate__rank_event(sums, plan, before + g->before[i], shared ? tied->mass : 1, shared ? tied->errors : 1);
        tied += shared;
    }
}

static void plan_intervals(vg_rank_plan *plan, const vg_rank_part *part, const vg_evaluate_options *o) {
    plan->unit = part->rows_per_sample > 1 ? part->rows_per_sample : 1;
    plan->z = o->resamples > 0 ? vg_base__normal_quantile(1 - (1 - o->confidence) / 2) : 0;
}

static void keep_sums(vg_rank_part *own, const vg_rank_sums *sums) {
    own->aurc = sums->aurc;
    own->augrc = sums->augrc;
    own->pairs = sums->pairs;
    own->precision = sums->precision;
    memcpy(own->hits, sums->hits, sizeof own->hits);
    memcpy(own->covered, sums->covered, sizeof own->covered);
    memcpy(own->below, sums->below, sizeof own->below);
    memcpy(own->within, sums->within, sizeof own->within);
}

vg_status vg_evaluate__rank_part_tied(vg_rank_part *part, size_t rows, size_t errors, const vg_evaluate_options *o) {
    vg_rank_sums sums = {.total = (double)part->errors_total, .seen = (double)part->errors_before};
    vg_rank_plan plan;
    VG_TRY(vg_evaluate__rank_plan(&plan, NULL, (size_t)part->rows_total, o));
    plan_intervals(&plan, part, o);
    if (errors > 0)
        vg_evaluate__rank_event(&sums, &plan, (double)part->rows_before, (double)rows, (double)errors);
    keep_sums(part, &sums);
    return VG_OK;
}

static vg_status rank_rows(vg_rank_part *own, const vg_rank_column *column, const uint8_t *errors, size_t rows,
                           vg_rank_room *room, const vg_evaluate_options *o) {
    vg_rank_sums sums = {.total = (double)own->errors_total, .seen = (double)own->errors_before};
    vg_rank_plan plan;
    vg_rank_groups groups;
    VG_TRY(vg_evaluate__rank_plan(&plan, NULL, (size_t)own->rows_total, o));
    plan_intervals(&plan, own, o);
    VG_TRY(vg_evaluate__rank_groups(&groups, room, column, errors, 1, rows));
    walk(&sums, &plan, &groups, (double)own->rows_before);
    keep_sums(own, &sums);
    return VG_OK;
}

vg_status vg_rank_part_walk(vg_rank_part *part, double *gap, size_t bins, const vg_measure *measure,
                            const uint8_t *errors, size_t rows, const vg_evaluate_options *options) {
    static const vg_evaluate_options defaults = VG_EVALUATE_OPTIONS_INIT;
    vg_evaluate_options o;
    vg_rank_part own;
    vg_rank_room room;
    VG_TRY(vg_base__take_options(&o, options, &defaults, sizeof o, "vg_evaluate_options"));
    VG_TRY(take(&own, part));
    if (!measure || (rows > 0 && (!measure->values || !errors)) || rows > own.rows_total - own.rows_before)
        return vg_base__fail(VG_ERR_ARGUMENT, "ranking: a part of %zu rows needs values, errors and room", rows);
    if (gap && bins < 1)
        return vg_base__fail(VG_ERR_ARGUMENT, "ranking: a part with gaps of 0 bins, expected at least 1");
    if (rows == 0)
        return VG_OK;
    vg_rank_column column = {.measure = *measure};
    VG_TRY(vg_evaluate__rank_room(&room, rows, NULL, 0));
    vg_status status = gap ? vg_evaluate__adaptive_gaps(gap, bins, &room, &column, errors, rows,
                                                        (double)own.rows_before, (size_t)own.rows_total)
                           : rank_rows(&own, &column, errors, rows, &room, &o);
    vg_evaluate__rank_room_free(&room);
    if (status == VG_OK)
        memcpy((char *)part + sizeof part->struct_size, (char *)&own + sizeof own.struct_size,
               part->struct_size - sizeof own.struct_size);
    return status;
}

vg_status vg_rank_parts_merge(vg_ranking *out, const vg_rank_part *parts, size_t count,
                              const vg_evaluate_options *options) {
    VG_TRY(vg_base__given(out && (parts || count == 0), "vg_rank_parts_merge: out and parts"));
    static const vg_evaluate_options defaults = VG_EVALUATE_OPTIONS_INIT;
    double values[VG_RANK_FIXED + 2 * VG_MAX_OPERATING_POINTS];
    vg_evaluate_options o;
    vg_rank_plan plan;
    vg_rank_sums sums = {0};
    VG_TRY(vg_base__take_options(&o, options, &defaults, sizeof o, "vg_evaluate_options"));
    if (count == 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "ranking: there are no parts");
    VG_TRY(vg_evaluate__rank_plan(&plan, NULL, (size_t)parts[0].rows_total, &o));
    sums.total = sums.seen = (double)parts[0].errors_total;
    for (size_t i = 0; i < count; i++) {
        vg_rank_part own;
        VG_TRY(take(&own, &parts[i]));
        if (i == 0)
            plan_intervals(&plan, &own, &o);
        sums.aurc += own.aurc;
        sums.augrc += own.augrc;
        sums.pairs += own.pairs;
        sums.precision += own.precision;
        for (size_t j = 0; j < VG_MAX_OPERATING_POINTS; j++) {
            sums.hits[j] += own.hits[j];
            sums.covered[j] = fmax(own.covered[j], sums.covered[j]);
            sums.below[j] = fmax(own.below[j], sums.below[j]);
            sums.within[j] = fmax(own.within[j], sums.within[j]);
        }
    }
    vg_evaluate__rank_figures(values, &sums, &plan);
    vg_evaluate__rank_store(out, (const char[VG_NAME_SIZE]){""}, values, &plan);
    for (size_t j = 0; plan.z > 0 && j < plan.risk_count; j++)
        vg_evaluate__coverage_ends(&out->coverage_at[j], sums.below[j] / plan.n, sums.within[j] / plan.n, plan.z,
                                   plan.n / plan.unit);
    return VG_OK;
}
