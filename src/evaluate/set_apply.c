/* set_apply.c - the sets of test samples: which classes have a score at most the threshold. See prediction_sets.h. */
#include <math.h>
#include <string.h>

#include "evaluate/prediction_sets.h"

typedef struct apply_work {
    vg_sets_data *sets;
    const vg_sets_piece *piece;
} apply_work;

/* Marks the classes whose score is at most their threshold; threshold[0] serves all unless `own`. */
static size_t mark(uint8_t *mask, const double *score, const double *threshold, size_t classes, bool own) {
    size_t size = 0;
    for (size_t c = 0; c < classes; c += 8) {
        unsigned byte = 0;
        size_t end = classes - c < 8 ? classes - c : 8;
        for (size_t i = 0; i < end; i++) {
            unsigned in = score[c + i] <= threshold[own ? c + i : 0];
            byte |= in << (7 - i);
            size += in;
        }
        mask[c / 8] = (uint8_t)byte;
    }
    return size;
}

static void put_p_values(double *out, const vg_sets_data *s, const double *score, uint32_t cell) {
    for (size_t c = 0; c < s->shown.classes; c++) {
        uint32_t at = s->shown.by == VG_SETS_BY_CLASS ? (uint32_t)c : cell;
        if (at == VG_SET_NO_CELL)
            out[c] = 1;
        else
            out[c] = vg_set__p_value(s->pooled.score + s->pooled.start[at], s->cell_samples[at], score[c]);
    }
}

/* Row i of the piece; the cell of its group is known. */
static void make_sets(vg_sets_data *s, const vg_sets_piece *piece, size_t i, double *score, uint32_t *order) {
    const vg_sets *shown = &s->shown;
    static const double full = INFINITY;
    size_t C = shown->classes, A = shown->alpha_count, bytes = vg_sets__mask_bytes(s), cells = shown->cell_count;
    const double *value = vg_sets__values(s) + i * C;
    vg_set_row row = {value, s->std ? s->std + i * C : NULL, 1};
    size_t top = vg_set__top(value, C);
    bool own = shown->by == VG_SETS_BY_CLASS, all = piece->out->p_value != NULL;
    uint32_t cell = shown->by == VG_SETS_BY_GROUP ? s->cells[i] : shown->by == VG_SETS_BY_TOP ? (uint32_t)top : 0;
    if (shown->randomised)
        row.u = vg_set__uniform(shown->seed, VG_SET_TEST, piece->first + i);
    vg_set__scores(score, &s->rule, &row, all || cell == VG_SET_NO_CELL ? INFINITY : s->limits[cell], order);
    for (size_t a = 0; a < A; a++) {
        const double *threshold = cell == VG_SET_NO_CELL ? &full : s->thresholds + a * cells + (own ? 0 : cell);
        uint8_t *mask = s->mask + (i * A + a) * bytes;
        size_t size = mark(mask, score, threshold, C, own);
        if (size == 0 && shown->never_empty) {
            mask[top / 8] |= (uint8_t)(0x80 >> top % 8);
            size = 1;
        }
        s->size[i * A + a] = (int32_t)size;
    }
    if (piece->out->pred && !shown->multilabel)
        piece->out->pred[i] = (int32_t)top;
    for (size_t c = 0; piece->out->pred && shown->multilabel && c < C; c++)
        piece->out->pred[i * C + c] = value[c] > 0.5;
    if (all)
        put_p_values(piece->out->p_value + i * C, s, score, cell);
}

static vg_status apply_rows(void *context, size_t index, unsigned worker) {
    const apply_work *w = context;
    size_t end = (index + 1) * VG_SET_CHUNK, C = w->sets->shown.classes;
    for (size_t i = index * VG_SET_CHUNK; i < (end < w->piece->rows ? end : w->piece->rows); i++)
        make_sets(w->sets, w->piece, i, w->sets->scores + worker * C, w->sets->order + worker * C);
    return VG_OK;
}

static bool holds(const uint8_t *mask, size_t c) { return mask[c / 8] >> (7 - c % 8) & 1; }

static void count_multilabel(vg_set_tally *t, const uint8_t *mask, size_t size, const int64_t *labels) {
    size_t positive = 0, missed = 0;
    t->samples++;
    t->size[size]++;
    if (!labels)
        return;
    for (size_t c = 0; c < t->classes; c++) {
        positive += labels[c] != 0;
        missed += labels[c] && !holds(mask, c);
    }
    double loss = positive ? (double)missed / (double)positive : 0;
    t->labelled++;
    t->loss += loss;
    t->squares += loss * loss;
}

static vg_status count(vg_sets_data *s, const vg_sets_piece *piece) {
    size_t A = s->shown.alpha_count, bytes = vg_sets__mask_bytes(s), C = s->shown.classes;
    for (size_t i = 0; i < piece->rows; i++) {
        int64_t label = piece->labels && !s->shown.multilabel ? piece->labels[i] : -1;
        if (piece->labels && !s->shown.multilabel && (label < 0 || (size_t)label >= C))
            return vg_base__fail(VG_ERR_DATA, "sample %llu has the label %lld, expected 0 to %zu", piece->first + i,
                                 (long long)label, C - 1);
        for (size_t a = 0; a < A; a++) {
            const uint8_t *mask = s->mask + (i * A + a) * bytes;
            size_t size = (size_t)s->size[i * A + a];
            if (s->shown.multilabel)
                count_multilabel(&s->tallies[a], mask, size, piece->labels ? piece->labels + i * C : NULL);
            else
                vg_set_tally__add(&s->tallies[a], size, label, label >= 0 && holds(mask, (size_t)label));
        }
    }
    s->shown.samples += piece->rows;
    s->shown.labelled += piece->labels ? piece->rows : 0;
    return VG_OK;
}

static vg_status find_groups(vg_sets_data *s, const vg_sets_piece *piece) {
    for (size_t i = 0; i < piece->rows; i++) {
        VG_TRY(vg_set_groups__find(&s->cells[i], &s->groups, piece->groups[i], false));
        if (s->cells[i] != VG_SET_NO_CELL)
            continue;
        if (s->unseen_groups++ == 0 && !s->unseen_group)
            VG_TRY(vg_base__strdup(&s->unseen_group, piece->groups[i]));
    }
    return VG_OK;
}

vg_status vg_sets__apply(vg_sets_data *s, const vg_sets_piece *piece) {
    apply_work work = {s, piece};
    size_t A = s->shown.alpha_count, bytes = vg_sets__mask_bytes(s), C = s->shown.classes;
    if (s->shown.by == VG_SETS_BY_GROUP)
        VG_TRY(find_groups(s, piece));
    VG_TRY(vg_sets__over_rows(s, piece->rows, apply_rows, &work));
    if (piece->out->mask)
        memcpy(piece->out->mask, s->mask, piece->rows * A * bytes);
    if (piece->out->size)
        memcpy(piece->out->size, s->size, piece->rows * A * sizeof *s->size);
    if (piece->out->value)
        memcpy(piece->out->value, vg_sets__values(s), piece->rows * C * sizeof *s->mean);
    return count(s, piece);
}
