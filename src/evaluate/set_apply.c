/* set_apply.c - the sets of test samples: the classes whose score is at most the threshold. See prediction_sets.h. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "evaluate/prediction_sets.h"

typedef struct apply_work {
    vg_sets_data *sets;
    const vg_sets_piece *piece;
    atomic_bool refused; /* a row needs the scorer */
} apply_work;

/* A row of the piece, and where its sets go. */
typedef struct set_row {
    vg_set_row row;
    uint32_t cell; /* VG_SET_NO_CELL: a group without calibration samples */
    vg_set_marks marks;
    vg_set_room *room;
    double *score; /* scratch */
    uint32_t *order;
} set_row;

/* The thresholds of the row's cell, one for each alpha. */
static void thresholds_of(double *out, const vg_sets_data *s, uint32_t cell) {
    for (size_t a = 0; a < s->shown.alpha_count; a++)
        out[a] = cell == VG_SET_NO_CELL ? INFINITY : s->thresholds[a * s->shown.cell_count + cell];
}

/* Marks classes by the score `base` minus the value. */
static void mark_differences(const vg_sets_data *s, const set_row *r, const double *value, double base) {
    const vg_set_marks *to = &r->marks;
    double thresholds[VG_SETS_ALPHAS];
    size_t C = s->shown.classes;
    if (s->shown.by != VG_SETS_BY_CLASS) {
        thresholds_of(thresholds, s, r->cell);
        s->rule.kernels->mark_within(to, value, C, base, thresholds);
        return;
    }
    for (size_t a = 0; a < to->alphas; a++)
        to->size[a] = (int32_t)s->rule.kernels->mark_own(to->mask + a * to->bytes, value, C, base,
                                                         s->thresholds + a * s->shown.cell_count);
}

/* The same, except for the first class, whose score is minus its lead over the second. */
static void mark_margins(const vg_sets_data *s, const set_row *r) {
    const vg_set_marks *to = &r->marks;
    const double *v = r->row.value;
    double thresholds[VG_SETS_ALPHAS];
    size_t lead[2];
    vg_set__leaders(lead, &s->rule, v);
    mark_differences(s, r, v, v[lead[0]]);
    thresholds_of(thresholds, s, s->shown.by == VG_SETS_BY_CLASS ? (uint32_t)lead[0] : r->cell);
    for (size_t a = 0; a < to->alphas; a++) {
        uint8_t *at = to->mask + a * to->bytes + lead[0] / 8;
        unsigned bit = 0x80u >> lead[0] % 8, had = (*at & bit) != 0, in = v[lead[1]] - v[lead[0]] <= thresholds[a];
        *at = (uint8_t)((*at & ~bit) | (in ? bit : 0));
        to->size[a] += (int32_t)in - (int32_t)had;
    }
}

/* One threshold for all classes, and a score that grows with the rank. */
static void mark_prefixes(const vg_sets_data *s, const set_row *r, const vg_set_rule *rules) {
    const vg_set_marks *to = &r->marks;
    size_t found[VG_SETS_ALPHAS];
    double thresholds[VG_SETS_ALPHAS];
    thresholds_of(thresholds, s, r->cell);
    vg_set__prefixes(found, rules, thresholds, to->alphas, r->room, &r->row);
    for (size_t a = 0; a < to->alphas; a++)
        to->size[a] = (int32_t)vg_set__mark_prefix(to->mask + a * to->bytes, s->rule.kernels, r->row.value,
                                                   s->shown.classes, r->room, found[a]);
}

/* Any score, from the scores of all classes. */
static void mark_scores(const vg_sets_data *s, const set_row *r, const vg_set_rule *rules) {
    const vg_set_marks *to = &r->marks;
    size_t C = s->shown.classes;
    for (size_t a = 0; a < to->alphas; a++) {
        vg_set__scores(r->score, &rules[a], &r->row, r->cell == VG_SET_NO_CELL ? INFINITY : s->limits[a], r->order);
        for (size_t c = 0; c < C; c++)
            r->score[c] = -r->score[c];
        if (s->one_rule) {
            mark_differences(s, r, r->score, 0);
            return;
        }
        to->size[a] = (int32_t)s->rule.kernels->mark_own(to->mask + a * to->bytes, r->score, C, 0,
                                                         s->thresholds + a * s->shown.cell_count);
    }
}

static void put_p_values(double *out, const vg_sets_data *s, const double *score, uint32_t cell) {
    for (size_t c = 0; c < s->shown.classes; c++) {
        uint32_t at = s->shown.by == VG_SETS_BY_CLASS ? (uint32_t)c : cell;
        if (at == VG_SET_NO_CELL)
            out[c] = 1;
        else
            out[c] = s->pooled.mass
                         ? vg_set_units__p_value(&s->pooled, at, score[c])
                         : vg_set__p_value(s->pooled.score + s->pooled.start[at], s->cell_samples[at], score[c]);
    }
}

static void mark(const vg_sets_data *s, const set_row *r, const vg_set_rule *rules) {
    switch (s->rule.score) {
    case VG_SET_LAC: mark_differences(s, r, r->row.value, 1); return;
    case VG_SET_MARGIN: mark_margins(s, r); return;
    case VG_SET_SNR: mark_scores(s, r, rules); return;
    default:
        if (s->shown.by == VG_SETS_BY_CLASS)
            mark_scores(s, r, rules);
        else
            mark_prefixes(s, r, rules);
    }
}

/* Writes the other results that were asked for of row i. */
static void put_places(const vg_sets_data *s, const vg_set_places *out, size_t i, const set_row *r, size_t top) {
    size_t C = s->shown.classes;
    const double *value = r->row.value;
    if (out->pred && !s->shown.multilabel)
        out->pred[i] = (int32_t)top;
    for (size_t c = 0; out->pred && s->shown.multilabel && c < C; c++)
        out->pred[i * C + c] = value[c] > 0.5;
    if (out->p_value) {
        vg_set_rule rule = vg_sets__rule(s, 0);
        vg_set__scores(r->score, &rule, &r->row, INFINITY, r->order);
        put_p_values(out->p_value + i * C, s, r->score, r->cell);
    }
    if (out->value)
        memcpy(out->value + i * C, value, C * sizeof *value);
}

/* Where the sets of the piece are written: the caller's array, or scratch when they are only counted. */
static uint8_t *masks_of(const vg_sets_data *s, const vg_sets_piece *piece) {
    return piece->out->mask ? piece->out->mask : s->mask;
}
static int32_t *sizes_of(const vg_sets_data *s, const vg_sets_piece *piece) {
    return piece->out->size ? piece->out->size : s->size;
}

static vg_set_marks marks_from(const vg_sets_data *s, const vg_sets_piece *piece, size_t i) {
    size_t at = i * s->shown.alpha_count, bytes = vg_sets__mask_bytes(s);
    return (vg_set_marks){masks_of(s, piece) + at * bytes, sizes_of(s, piece) + at, bytes, s->shown.alpha_count};
}

/* Makes the sets of row i of the piece; the cell of its group is known. False: the row needs the scorer. */
static bool make_sets(vg_sets_data *s, const vg_sets_piece *piece, size_t i, unsigned worker,
                      const vg_set_rule *rules) {
    const vg_sets *shown = &s->shown;
    size_t C = shown->classes, A = shown->alpha_count, bytes = vg_sets__mask_bytes(s), top = 0;
    const vg_set_places *out = piece->out;
    const double *value = vg_sets__values(s, piece, i, &s->rooms[worker]);
    if (!value)
        return false;
    set_row r = {{value, s->std ? s->std + i * C : NULL, 1},
                 0,
                 marks_from(s, piece, i),
                 &s->rooms[worker],
                 s->scores + worker * C,
                 s->order + worker * C};
    if (shown->by == VG_SETS_BY_TOP || shown->never_empty || (out->pred && !shown->multilabel))
        top = s->rule.kernels->top(value, C);
    if (shown->by == VG_SETS_BY_GROUP || shown->by == VG_SETS_BY_TOP)
        r.cell = shown->by == VG_SETS_BY_TOP ? (uint32_t)top : s->cells[i];
    if (shown->randomised)
        r.row.u = vg_set__uniform(shown->seed, VG_SET_TEST, piece->first + i);
    mark(s, &r, rules);
    for (size_t a = 0; shown->never_empty && a < A; a++)
        if (r.marks.size[a] == 0) {
            r.marks.mask[a * bytes + top / 8] |= (uint8_t)(0x80 >> top % 8);
            r.marks.size[a] = 1;
        }
    put_places(s, out, i, &r, top);
    return true;
}

static vg_status apply_rows(void *context, size_t index, unsigned worker) {
    apply_work *w = context;
    const vg_sets_data *s = w->sets;
    vg_set_rule rules[VG_SETS_ALPHAS];
    size_t end = vg_sets__chunk_end(w->piece, index);
    vg_set_floats floats;
    for (size_t a = 0; a < s->shown.alpha_count; a++)
        rules[a] = vg_sets__rule(s, a);
    for (size_t i = index * w->piece->chunk; i < end; i++) {
        if (vg_sets__floats(&floats, s, w->piece, i, end - i)) {
            vg_set_marks marks = marks_from(s, w->piece, i);
            i += s->rule.kernels->mark_floats(&marks, &floats, s->bounds);
        }
        if (i < end && !make_sets(w->sets, w->piece, i, worker, rules)) {
            atomic_store(&w->refused, true);
            break;
        }
    }
    return VG_OK;
}

static bool holds(const uint8_t *mask, size_t c) { return mask[c / 8] >> (7 - c % 8) & 1; }

static void count_multilabel(vg_set_tally *t, const uint8_t *mask, size_t size, const int64_t *labels) {
    size_t positive = 0, missed = 0;
    t->samples++;
    t->size[size]++;
    for (size_t c = 0; c < t->classes; c++) {
        positive += labels[c] != 0;
        missed += labels[c] && !holds(mask, c);
    }
    double loss = positive ? (double)missed / (double)positive : 0;
    t->labelled++;
    t->loss += loss;
    t->squares += loss * loss;
}

/* Marks a site that is left out: without a set, without values. */
static void leave_out(vg_sets_data *s, const vg_sets_piece *piece, size_t i) {
    size_t A = s->shown.alpha_count, C = s->shown.classes, bytes = vg_sets__mask_bytes(s);
    const vg_set_places *out = piece->out;
    memset(masks_of(s, piece) + i * A * bytes, 0, A * bytes);
    for (size_t a = 0; a < A; a++)
        sizes_of(s, piece)[i * A + a] = -1;
    for (size_t c = 0; c < C; c++) {
        if (out->p_value)
            out->p_value[i * C + c] = NAN;
        if (out->value)
            out->value[i * C + c] = NAN;
    }
    s->shown.left_out++;
}

/* Without labels there are sizes to count, and nothing else. */
static void count_sizes(vg_sets_data *s, const vg_sets_piece *piece) {
    size_t A = s->shown.alpha_count;
    const int32_t *sizes = sizes_of(s, piece);
    for (size_t a = 0; a < A; a++) {
        vg_set_tally *t = &s->tallies[a];
        t->samples += piece->rows;
        for (size_t i = 0; i < piece->rows; i++)
            t->size[sizes[i * A + a]]++;
        for (size_t i = 0; s->sites && i < piece->rows; i++)
            vg_set_units__add(&t->units, vg_sets__unit(s, piece->first + i), (size_t)sizes[i * A + a], false);
    }
    s->shown.samples += piece->rows;
}

static vg_status count(vg_sets_data *s, const vg_sets_piece *piece) {
    size_t A = s->shown.alpha_count, bytes = vg_sets__mask_bytes(s), C = s->shown.classes;
    if (!piece->labels) {
        count_sizes(s, piece);
        return VG_OK;
    }
    for (size_t i = 0; i < piece->rows; i++) {
        int64_t label = s->shown.multilabel ? -1 : piece->labels[i];
        if (s->sites && label == -1) {
            leave_out(s, piece, i);
            continue;
        }
        if (!s->shown.multilabel && (label < 0 || (size_t)label >= C))
            return vg_base__fail(VG_ERR_DATA, "sample %llu has the label %lld, expected 0 to %zu", piece->first + i,
                                 (long long)label, C - 1);
        for (size_t a = 0; a < A; a++) {
            const uint8_t *mask = masks_of(s, piece) + (i * A + a) * bytes;
            size_t size = (size_t)sizes_of(s, piece)[i * A + a];
            if (s->shown.multilabel)
                count_multilabel(&s->tallies[a], mask, size, piece->labels + i * C);
            else
                vg_set_tally__add(&s->tallies[a], size, label, holds(mask, (size_t)label));
            if (s->sites)
                vg_set_units__add(&s->tallies[a].units, vg_sets__unit(s, piece->first + i), size,
                                  !holds(mask, (size_t)label));
        }
        s->shown.samples++;
        s->shown.labelled++;
    }
    return VG_OK;
}

static vg_status find_groups(vg_sets_data *s, const vg_sets_piece *piece) {
    for (size_t i = 0; i < piece->rows; i++)
        VG_TRY(vg_set_groups__find(&s->cells[i], &s->groups, piece->groups[i], false));
    return VG_OK;
}

static vg_status count_unseen(vg_sets_data *s, const vg_sets_piece *piece) {
    for (size_t i = 0; i < piece->rows; i++)
        if (s->cells[i] == VG_SET_NO_CELL && s->unseen_groups++ == 0 && !s->unseen_group)
            VG_TRY(vg_base__strdup(&s->unseen_group, piece->groups[i]));
    return VG_OK;
}

vg_status vg_sets__apply(vg_sets_data *s, const vg_sets_piece *piece, bool *refused) {
    apply_work work = {s, piece, false};
    if (s->shown.by == VG_SETS_BY_GROUP)
        VG_TRY(find_groups(s, piece));
    VG_TRY(vg_sets__over_rows(s, piece, apply_rows, &work));
    *refused = atomic_load(&work.refused);
    if (*refused)
        return VG_OK;
    if (s->shown.by == VG_SETS_BY_GROUP)
        VG_TRY(count_unseen(s, piece));
    return count(s, piece);
}
