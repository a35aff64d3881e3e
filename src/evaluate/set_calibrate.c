/* set_calibrate.c - thresholds from calibration samples. See prediction_sets.h.
 *
 * While lambda or k_reg is to be tuned, a draw of the seeded counter assigns each sample either to the tuning part,
 * whose values are kept, or to the rest, of which 48 bytes each are kept until both are known. The draw depends on
 * the sample's number alone, of a site on its image's, so that the rest is exchangeable with test samples. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "evaluate/prediction_sets.h"

/* The most values of the tuning part that are kept. */
enum { TUNING_SAMPLES = 20000, TUNING_VALUES = 1 << 25 };

static bool is_tuning(const vg_sets_data *s, unsigned long long sample) {
    return s->needs_tuning && vg_set__uniform(s->shown.seed, VG_SET_TUNING, vg_sets__unit(s, sample)) < s->tuning;
}

static bool has_tuning_room(const vg_sets_data *s) {
    return s->tuning_rows.n < TUNING_SAMPLES && s->tuning_rows.n * s->shown.classes < TUNING_VALUES;
}

static double draw(const vg_sets_data *s, unsigned long long sample) {
    return s->shown.randomised ? vg_set__uniform(s->shown.seed, VG_SET_CALIBRATION, sample) : 1;
}

typedef struct label_work {
    vg_sets_data *sets;
    const vg_sets_piece *piece;
    double *scores; /* the next entries of the pool, one for each row */
    uint32_t *cells;
    atomic_bool refused; /* a row needs the scorer */
} label_work;

/* The score (or its parts) and the cell of the label of row i. False: the row needs the scorer. */
static bool score_label(const label_work *w, size_t i, unsigned worker) {
    vg_sets_data *s = w->sets;
    size_t C = s->shown.classes, y = (size_t)w->piece->labels[i];
    if (w->piece->labels[i] < 0) /* left out */
        return true;
    const double *v = vg_sets__values(s, w->piece, i, &s->rooms[worker]);
    if (!v)
        return false;
    vg_set_row row = {v, s->std ? s->std + i * C : NULL, draw(s, w->piece->first + i)};
    if (s->shown.by == VG_SETS_BY_CLASS)
        w->cells[i] = (uint32_t)y;
    else if (s->shown.by == VG_SETS_BY_TOP)
        w->cells[i] = (uint32_t)s->rule.kernels->top(v, C);
    else if (s->shown.by == VG_SETS_BY_NONE)
        w->cells[i] = 0;
    if (s->needs_tuning)
        s->parts[i] = vg_set__label_parts(&s->rule, &row, y);
    else
        w->scores[i] = vg_set__label_score(&s->rule, &row, y);
    return true;
}

static vg_status score_labels(void *context, size_t index, unsigned worker) {
    label_work *w = context;
    const vg_sets_data *s = w->sets;
    const int64_t *labels = w->piece->labels;
    size_t end = vg_sets__chunk_end(w->piece, index);
    vg_set_floats floats;
    for (size_t i = index * w->piece->chunk; i < end; i++) {
        if (vg_sets__floats(&floats, s, w->piece, i, end - i)) {
            size_t done = s->rule.kernels->mark_floats(&(vg_set_marks){0}, &floats, NULL);
            for (size_t r = 0; r < done; r++, i++) {
                w->cells[i] = 0;
                w->scores[i] = 1 - (double)floats.v[(ptrdiff_t)r * floats.stride + labels[i]];
            }
        }
        if (i < end && !score_label(w, i, worker)) {
            atomic_store(&w->refused, true);
            return VG_OK;
        }
    }
    return VG_OK;
}

static vg_status check_labels(const vg_sets_data *s, const vg_sets_piece *piece) {
    for (size_t i = 0; i < piece->rows; i++)
        if (piece->labels[i] < (s->sites ? -1 : 0) || piece->labels[i] >= (int64_t)s->shown.classes)
            return vg_base__fail(VG_ERR_DATA, "calibration sample %llu has the label %lld, expected 0 to %zu",
                                 piece->first + i, (long long)piece->labels[i], s->shown.classes - 1);
    return VG_OK;
}

/* Keeps row i of the piece, whose score still depends on lambda and k_reg. */
static vg_status keep_parts(vg_sets_data *s, const vg_sets_piece *piece, size_t i, uint32_t cell) {
    size_t C = s->shown.classes;
    if (is_tuning(s, piece->first + i) && (s->sites || has_tuning_room(s))) {
        if (!has_tuning_room(s)) /* sites of an image of the tuning part have no other use */
            return VG_OK;
        vg_set_room *room = &s->rooms[0];
        vg_set__order_row(room, s->rule.kernels, vg_sets__values(s, piece, i, room), C, 0);
        return vg_set_tuning__add(&s->tuning_rows, &s->parts[i], room->sums, C);
    }
    VG_TRY(
        vg_set__grow(&s->deferred, s->deferred_count, &s->deferred_room, s->deferred_count + 1, sizeof *s->deferred));
    s->parts[i].cell = cell;
    s->parts[i].unit = (uint32_t)vg_sets__unit(s, piece->first + i);
    s->deferred[s->deferred_count++] = s->parts[i];
    return VG_OK;
}

static vg_status calibrate_multilabel(vg_sets_data *s, const vg_sets_piece *piece) {
    size_t C = s->shown.classes;
    for (size_t i = 0; i < piece->rows; i++)
        VG_TRY(vg_set_positives__add(&s->positives, s->mean + i * C, piece->labels + i * C, C));
    return VG_OK;
}

/* Adds the scores of a piece, whose places are known, to the pool. */
static vg_status pool_rows(vg_sets_data *s, const vg_sets_piece *piece) {
    size_t at = s->pooled.count, first = at;
    for (size_t i = 0; i < piece->rows && (s->needs_tuning || s->sites); i++) {
        if (piece->labels[i] < 0)
            continue;
        if (s->needs_tuning) {
            VG_TRY(keep_parts(s, piece, i, s->pooled.cell[first + i]));
            continue;
        }
        s->pooled.score[at] = s->pooled.score[first + i];
        s->pooled.cell[at] = s->pooled.cell[first + i];
        s->pooled.unit[at++] = (uint32_t)vg_sets__unit(s, piece->first + i);
    }
    s->pooled.count = s->needs_tuning || s->sites ? at : first + piece->rows;
    return VG_OK;
}

vg_status vg_sets__calibrate(vg_sets_data *s, const vg_sets_piece *piece, bool *refused) {
    label_work work = {.sets = s, .piece = piece};
    *refused = false;
    if (!piece->labels)
        return vg_base__fail(VG_ERR_DATA, "calibration samples need labels");
    if (s->shown.multilabel)
        return calibrate_multilabel(s, piece);
    VG_TRY(check_labels(s, piece));
    VG_TRY(vg_set_pool__reserve(&s->pooled, piece->rows, s->sites != 0));
    work.scores = s->pooled.score + s->pooled.count;
    work.cells = s->pooled.cell + s->pooled.count;
    for (size_t i = 0; s->shown.by == VG_SETS_BY_GROUP && i < piece->rows; i++)
        VG_TRY(vg_set_groups__find(&work.cells[i], &s->groups, piece->groups[i], true));
    VG_TRY(vg_sets__over_rows(s, piece, score_labels, &work));
    *refused = atomic_load(&work.refused);
    return *refused ? VG_OK : pool_rows(s, piece);
}

/* Chooses lambda and k_reg of every alpha. P-values belong to one score: they use that of the first alpha for all. */
static vg_status finish_tuning(vg_sets_data *s) {
    if (s->tuning_rows.n == 0)
        return vg_base__fail(VG_ERR_DATA,
                             "no calibration sample fell into the part for tuning: give lambda and k_reg, or more "
                             "calibration samples");
    s->shown.tuned = s->tuning_rows.n;
    for (size_t a = 0; a < s->shown.alpha_count; a++) {
        vg_set_rule rule = vg_sets__rule(s, a);
        if (a == 0 || !s->p_values)
            VG_TRY(vg_set_tuning__choose(&rule, &s->tuning_rows, s->alphas[a]));
        s->lambdas[a] = a == 0 || !s->p_values ? rule.lambda : s->lambdas[0];
        s->k_regs[a] = s->rule.score != VG_SET_RAPS ? NAN : a == 0 || !s->p_values ? rule.k_reg : s->k_regs[0];
    }
    s->shown.lambda = s->lambdas[0];
    s->shown.k_reg = s->k_regs[0];
    vg_set_tuning__free(&s->tuning_rows);
    return VG_OK;
}

/* Adds the deferred samples to the pool, with their scores at one alpha. */
static vg_status pool_deferred(vg_sets_data *s, size_t alpha) {
    vg_set_rule rule = vg_sets__rule(s, alpha);
    vg_set_pool__free(&s->pooled);
    VG_TRY(vg_set_pool__reserve(&s->pooled, s->deferred_count, s->sites != 0));
    for (; s->pooled.count < s->deferred_count; s->pooled.count++) {
        const vg_set_parts *parts = &s->deferred[s->pooled.count];
        s->pooled.score[s->pooled.count] = vg_set__ranked_score(&rule, parts);
        s->pooled.cell[s->pooled.count] = parts->cell;
        if (s->sites)
            s->pooled.unit[s->pooled.count] = parts->unit;
    }
    return VG_OK;
}

vg_status vg_sets__make_cells(vg_sets_data *s, size_t cells) {
    VG_TRY(vg_base__zalloc(&s->thresholds, s->shown.alpha_count * cells, sizeof *s->thresholds, "thresholds"));
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

/* The images in the pool, whose sites are in the order of the images. */
static size_t count_units(const vg_set_pool *pool) {
    size_t images = pool->count > 0;
    for (size_t i = 1; i < pool->count; i++)
        images += pool->unit[i] != pool->unit[i - 1];
    return images;
}

/* Thresholds of the alphas from `alpha` on, of one or all, from the scores in the pool. */
static vg_status take_thresholds(vg_sets_data *s, size_t alpha, size_t end) {
    size_t cells = s->shown.cell_count;
    s->pooled.cells = cells;
    VG_TRY(vg_set_pool__settle(&s->pooled, s->alphas + alpha, s->p_values ? 0 : end - alpha));
    s->shown.calibrated = s->sites ? count_units(&s->pooled) : s->pooled.count;
    for (size_t cell = 0; cell < cells; cell++) {
        const double *sorted = s->pooled.score + s->pooled.start[cell];
        s->cell_samples[cell] = s->sites ? s->pooled.images[cell] : vg_set_pool__samples(&s->pooled, cell);
        for (size_t a = alpha; a < end; a++)
            s->thresholds[a * cells + cell] = s->sites ? vg_set_units__quantile(&s->pooled, cell, s->alphas[a])
                                                       : vg_set__quantile(sorted, s->cell_samples[cell], s->alphas[a]);
    }
    return VG_OK;
}

static vg_status settle_multiclass(vg_sets_data *s) {
    size_t alphas = s->shown.alpha_count;
    if (s->needs_tuning)
        VG_TRY(finish_tuning(s));
    VG_TRY(vg_sets__make_cells(s, s->shown.by == VG_SETS_BY_NONE    ? 1
                                  : s->shown.by == VG_SETS_BY_GROUP ? s->groups.count
                                                                    : s->shown.classes));
    if (!s->needs_tuning) {
        VG_TRY(take_thresholds(s, 0, alphas));
    } else {
        size_t step = vg_sets__one_rule(s) ? alphas : 1;
        for (size_t a = 0; a < alphas; a += step) {
            VG_TRY(pool_deferred(s, a));
            VG_TRY(take_thresholds(s, a, a + step));
        }
        s->needs_tuning = false;
        vg_base__release(s->deferred);
        s->deferred = NULL;
    }
    if (!s->p_values)
        vg_set_pool__free(&s->pooled);
    return VG_OK;
}

vg_status vg_sets__settle(vg_sets_data *s) {
    if (s->settled)
        return VG_OK;
    if (s->seen == 0)
        return vg_base__fail(VG_ERR_DATA, "prediction sets need calibration samples, and there are none");
    VG_TRY(s->shown.multilabel ? settle_multilabel(s) : settle_multiclass(s));
    return vg_sets__ready(s);
}

vg_status vg_sets__ready(vg_sets_data *s) {
    size_t cells = s->shown.cell_count, alphas = s->shown.alpha_count;
    double most = -INFINITY;
    s->one_rule = vg_sets__one_rule(s);
    for (size_t a = 0; a < alphas; a++) {
        s->limits[a] = -INFINITY;
        for (size_t cell = 0; cell < cells; cell++)
            s->limits[a] = fmax(s->limits[a], s->thresholds[a * cells + cell]);
        most = fmax(most, s->limits[a]);
    }
    for (size_t a = 0; s->one_rule && a < alphas; a++)
        s->limits[a] = most;
    for (size_t a = 0; a < alphas; a++)
        s->bounds[a] = vg_sets__float_bound(s->thresholds[a * cells]);
    s->shown.thresholds = s->thresholds;
    s->shown.lambdas = s->rule.score == VG_SET_RAPS || s->rule.score == VG_SET_SAPS ? s->lambdas : NULL;
    s->shown.k_regs = s->rule.score == VG_SET_RAPS ? s->k_regs : NULL;
    s->shown.cell_names = s->shown.by == VG_SETS_BY_GROUP ? (const char *const *)s->groups.names : NULL;
    s->settled = true;
    return VG_OK;
}
