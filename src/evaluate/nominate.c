/* nominate.c - chooses the few of many candidates that are tested, by validation samples that are then not tested.
 *
 * Testing every measure at every gate setting, plain and calibrated, would divide the probability of a wrong promise
 * among more than fifty candidates. Instead some labelled validation samples are set aside, the candidates are
 * ranked on them, and the few best are tested on the rest. The ranking may overfit: the tests do not use its
 * samples.
 *
 * Two criteria alternate: the AUROC of error detection, which varies less, and the coverage at the target risk,
 * which is the goal but varies much. Of equals the first is taken. Candidate 0 is always among the nominees, in the
 * last place where neither criterion picks it. */
#include "base/random.h"
#include "evaluate/select_internal.h"

vg_status vg_evaluate__draw_aside(uint8_t *marks, size_t samples, size_t aside, uint64_t seed) {
    size_t *order;
    VG_TRY(vg_base__alloc(&order, samples, sizeof *order, "an order of the samples"));
    vg_random random = vg_random__start(seed, 1);
    for (size_t i = 0; i < samples; i++) {
        order[i] = i;
        marks[i] = 0;
    }
    vg_random__shuffle(&random, order, samples);
    for (size_t i = 0; i < aside && i < samples; i++)
        marks[order[i]] = 1;
    vg_base__release(order);
    return VG_OK;
}

/* The figures of a candidate on the marked samples. */
typedef struct promise {
    double coverage, auroc;
    bool taken; /* nominated already */
} promise;

typedef struct marked_rows {
    double *values;
    uint8_t *errors;
    size_t count;
} marked_rows;

static vg_status look_at(promise *out, const vg_candidate *candidate, const vg_sample_units *units,
                         const uint8_t *marks, marked_rows *room, double target) {
    vg_evaluate_options how = VG_EVALUATE_OPTIONS_INIT;
    vg_measure copy = {.values = room->values, .stride = 1, .certainty = candidate->measure.certainty};
    vg_ranking ranking;
    room->count = 0;
    for (size_t i = 0; i < units->rows; i++) {
        if (!marks[vg_evaluate__sample(units, i)])
            continue;
        room->values[room->count] = candidate->measure.values[i * candidate->measure.stride];
        room->errors[room->count++] = candidate->errors[i];
    }
    memcpy(copy.name, candidate->measure.name, sizeof copy.name);
    how.risks = &target;
    how.risk_count = 1;
    VG_TRY(vg_rank(&ranking, &copy, room->errors, room->count, &how));
    double auroc = ranking.error_auroc.value;
    *out = (promise){ranking.coverage_at[0].value, isnan(auroc) ? 0.5 : auroc, false};
    return VG_OK;
}

static vg_status look_at_all(promise *seen, const vg_candidate *list, size_t count, const vg_sample_units *units,
                             const uint8_t *marks, double target) {
    marked_rows room = {NULL, NULL, 0};
    vg_status status = vg_base__alloc(&room.values, units->rows, sizeof *room.values, "values set aside");
    if (status == VG_OK)
        status = vg_base__alloc(&room.errors, units->rows, sizeof *room.errors, "errors set aside");
    for (size_t i = 0; i < count && status == VG_OK; i++)
        status = look_at(&seen[i], &list[i], units, marks, &room, target);
    vg_base__release(room.values);
    vg_base__release(room.errors);
    return status;
}

/* The best candidate that is not nominated yet, by one figure and, of equals, by the other. */
static size_t take_best(promise *seen, size_t count, bool by_coverage) {
    size_t best = count;
    for (size_t i = 0; i < count; i++) {
        if (seen[i].taken)
            continue;
        const promise *b = best < count ? &seen[best] : NULL;
        double lead = !b ? 1 : by_coverage ? seen[i].coverage - b->coverage : seen[i].auroc - b->auroc;
        if (b && lead == 0)
            lead = by_coverage ? seen[i].auroc - b->auroc : seen[i].coverage - b->coverage;
        best = lead > 0 ? i : best;
    }
    if (best < count)
        seen[best].taken = true;
    return best;
}

vg_status vg_evaluate__nominate(size_t *nominees, size_t wanted, const vg_candidate *list, size_t count, size_t rows,
                                const vg_select_options *options, const uint8_t *marks) {
    vg_sample_units units;
    promise *seen;
    VG_TRY(vg_evaluate__units_open(&units, rows, options));
    VG_TRY(vg_base__zalloc(&seen, count, sizeof *seen, "candidates"));
    vg_status status = look_at_all(seen, list, count, &units, marks, options->target_risk);
    for (size_t i = 0; i < wanted && status == VG_OK; i++) {
        if (i + 1 == wanted && !seen[0].taken)
            nominees[i] = 0;
        else
            nominees[i] = take_best(seen, count, i % 2 == 1);
    }
    vg_base__release(seen);
    return status;
}
