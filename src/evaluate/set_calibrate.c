/* set_calibrate.c - calibration samples to thresholds. See prediction_sets.h.
 *
 * While lambda or k_reg is to be tuned, samples go by a draw of the seeded counter either to the tuning part, whose
 * values are kept, or to the rest, of which 40 bytes each are kept until the two are known. The draw depends on the
 * sample's number alone, so that the rest is exchangeable with test samples. */
#include <math.h>
#include <string.h>

#include "evaluate/prediction_sets.h"

/* Values of the tuning part that are kept at most. */
enum { TUNING_SAMPLES = 20000, TUNING_VALUES = 1 << 25 };

static bool is_tuning(const vg_sets_data *s, unsigned long long sample) {
    return s->needs_tuning && s->tuning_rows.n < TUNING_SAMPLES &&
           s->tuning_rows.n * s->shown.classes < TUNING_VALUES &&
           vg_set__uniform(s->shown.seed, VG_SET_TUNING, sample) < s->tuning;
}

static vg_set_row row_at(const vg_sets_data *s, size_t i, double u) {
    size_t C = s->shown.classes;
    return (vg_set_row){vg_sets__values(s) + i * C, s->std ? s->std + i * C : NULL, u};
}

static double draw(const vg_sets_data *s, unsigned long long sample) {
    return s->shown.randomised ? vg_set__uniform(s->shown.seed, VG_SET_CALIBRATION, sample) : 1;
}

typedef struct label_work {
    vg_sets_data *sets;
    const vg_sets_piece *piece;
} label_work;

/* Scores (or their parts) and cells of the labels. */
static vg_status score_labels(void *context, size_t index, unsigned worker) {
    const label_work *w = context;
    vg_sets_data *s = w->sets;
    size_t end = (index + 1) * VG_SET_CHUNK, C = s->shown.classes;
    (void)worker;
    for (size_t i = index * VG_SET_CHUNK; i < (end < w->piece->rows ? end : w->piece->rows); i++) {
        vg_set_row row = row_at(s, i, draw(s, w->piece->first + i));
        size_t y = (size_t)w->piece->labels[i];
        if (s->shown.by == VG_SETS_BY_CLASS)
            s->cells[i] = (uint32_t)y;
        else if (s->shown.by == VG_SETS_BY_TOP)
            s->cells[i] = (uint32_t)vg_set__top(row.value, C);
        else if (s->shown.by == VG_SETS_BY_NONE)
            s->cells[i] = 0;
        if (s->needs_tuning)
            s->parts[i] = vg_set__label_parts(&s->rule, &row, y);
        else
            s->scores[i] = vg_set__label_score(&s->rule, &row, y);
    }
    return VG_OK;
}

static vg_status check_labels(const vg_sets_data *s, const vg_sets_piece *piece) {
    if (!piece->labels)
        return vg_base__fail(VG_ERR_DATA, "calibration samples need labels");
    for (size_t i = 0; i < piece->rows; i++)
        if (piece->labels[i] < 0 || (size_t)piece->labels[i] >= s->shown.classes)
            return vg_base__fail(VG_ERR_DATA, "calibration sample %llu has the label %lld, expected 0 to %zu",
                                 piece->first + i, (long long)piece->labels[i], s->shown.classes - 1);
    return VG_OK;
}

static vg_status keep(vg_sets_data *s, size_t i, unsigned long long sample, int64_t label) {
    if (!s->needs_tuning)
        return vg_set_pool__add(&s->pooled, s->scores[i], s->cells[i]);
    if (is_tuning(s, sample)) {
        vg_set_row row = row_at(s, i, s->parts[i].u);
        return vg_set_tuning__add(&s->tuning_rows, &row, s->shown.classes, (uint32_t)label);
    }
    VG_TRY(
        vg_set__grow(&s->deferred, s->deferred_count, &s->deferred_room, s->deferred_count + 1, sizeof *s->deferred));
    s->parts[i].cell = s->cells[i];
    s->deferred[s->deferred_count++] = s->parts[i];
    return VG_OK;
}

vg_status vg_sets__calibrate(vg_sets_data *s, const vg_sets_piece *piece) {
    label_work work = {s, piece};
    size_t C = s->shown.classes;
    if (!piece->labels)
        return vg_base__fail(VG_ERR_DATA, "calibration samples need labels");
    if (s->shown.multilabel) {
        for (size_t i = 0; i < piece->rows; i++)
            VG_TRY(vg_set_positives__add(&s->positives, s->mean + i * C, piece->labels + i * C, C));
        return VG_OK;
    }
    VG_TRY(check_labels(s, piece));
    for (size_t i = 0; s->shown.by == VG_SETS_BY_GROUP && i < piece->rows; i++)
        VG_TRY(vg_set_groups__find(&s->cells[i], &s->groups, piece->groups[i], true));
    VG_TRY(vg_sets__over_rows(s, piece->rows, score_labels, &work));
    for (size_t i = 0; i < piece->rows; i++)
        VG_TRY(keep(s, i, piece->first + i, piece->labels[i]));
    return VG_OK;
}

static vg_status finish_tuning(vg_sets_data *s) {
    if (s->tuning_rows.n == 0)
        return vg_base__fail(VG_ERR_DATA,
                             "no calibration sample fell into the part for tuning: give lambda and k_reg, or more "
                             "calibration samples");
    s->shown.tuned = s->tuning_rows.n;
    VG_TRY(vg_set_tuning__choose(&s->rule, &s->tuning_rows, s->alphas[0]));
    s->needs_tuning = false;
    s->shown.lambda = s->rule.lambda;
    s->shown.k_reg = s->rule.score == VG_SET_RAPS ? s->rule.k_reg : NAN;
    for (size_t i = 0; i < s->deferred_count; i++)
        VG_TRY(vg_set_pool__add(&s->pooled, vg_set__parts_score(&s->rule, &s->deferred[i]), s->deferred[i].cell));
    vg_set_tuning__free(&s->tuning_rows);
    vg_base__release(s->deferred);
    s->deferred = NULL;
    return VG_OK;
}

vg_status vg_sets__make_cells(vg_sets_data *s, size_t cells) {
    VG_TRY(vg_base__zalloc(&s->thresholds, s->shown.alpha_count * cells, sizeof *s->thresholds, "thresholds"));
    VG_TRY(vg_base__zalloc(&s->limits, cells, sizeof *s->limits, "thresholds"));
    VG_TRY(vg_base__zalloc(&s->cell_samples, cells, sizeof *s->cell_samples, "thresholds"));
    s->shown.cell_count = cells;
    s->shown.cell_samples = s->cell_samples;
    return VG_OK;
}

static vg_status settle_multilabel(vg_sets_data *s) {
    VG_TRY(vg_sets__make_cells(s, 1));
    s->cell_samples[0] = s->shown.calibrated = s->positives.samples;
    for (size_t a = 0; a < s->shown.alpha_count; a++)
        VG_TRY(vg_set_positives__threshold(&s->thresholds[a], &s->positives, s->alphas[a], s->shown.confidence));
    vg_set_positives__free(&s->positives);
    return VG_OK;
}

vg_status vg_sets__settle(vg_sets_data *s) {
    if (s->settled)
        return VG_OK;
    if (s->seen == 0)
        return vg_base__fail(VG_ERR_DATA, "prediction sets need calibration samples, and there are none");
    if (s->needs_tuning)
        VG_TRY(finish_tuning(s));
    if (s->shown.multilabel) {
        VG_TRY(settle_multilabel(s));
    } else {
        s->pooled.cells = s->shown.by == VG_SETS_BY_NONE    ? 1
                          : s->shown.by == VG_SETS_BY_GROUP ? s->groups.count
                                                            : s->shown.classes;
        VG_TRY(vg_sets__make_cells(s, s->pooled.cells));
        VG_TRY(vg_set_pool__settle(&s->pooled));
        s->shown.calibrated = s->pooled.count;
        for (size_t cell = 0; cell < s->pooled.cells; cell++) {
            const double *sorted = s->pooled.score + s->pooled.start[cell];
            s->cell_samples[cell] = vg_set_pool__samples(&s->pooled, cell);
            for (size_t a = 0; a < s->shown.alpha_count; a++)
                s->thresholds[a * s->pooled.cells + cell] =
                    vg_set__quantile(sorted, s->cell_samples[cell], s->alphas[a]);
        }
        if (!s->p_values)
            vg_set_pool__free(&s->pooled);
    }
    return vg_sets__ready(s);
}

vg_status vg_sets__ready(vg_sets_data *s) {
    size_t cells = s->shown.cell_count;
    for (size_t cell = 0; cell < cells; cell++) {
        s->limits[cell] = -INFINITY;
        for (size_t a = 0; a < s->shown.alpha_count; a++)
            s->limits[cell] = fmax(s->limits[cell], s->thresholds[a * cells + cell]);
    }
    for (size_t cell = 1; s->shown.by == VG_SETS_BY_CLASS && cell < cells; cell++)
        s->limits[0] = fmax(s->limits[0], s->limits[cell]);
    s->shown.thresholds = s->thresholds;
    s->shown.cell_names = s->shown.by == VG_SETS_BY_GROUP ? (const char *const *)s->groups.names : NULL;
    s->settled = true;
    return VG_OK;
}
