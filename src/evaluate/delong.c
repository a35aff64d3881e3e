/* delong.c - AUROC, its variance, and the difference of two AUROCs on the same rows (DeLong, DeLong and Clarke-Pearson
 * 1988).
 *
 * With P positives and Q negatives, a positive's placement is the share of negatives below it, a negative's the share
 * of positives above it, ties half. Both sorts average to the area A, and
 *
 *     var A = sum_pos (placement - A)^2 / (P (P - 1)) + sum_neg (placement - A)^2 / (Q (Q - 1))
 *
 * Placements come from the rows below each (rows_below.c), so all of it is O(n log n). They are read and summed some
 * rows at a time, in the order of the rows, and kept nowhere. Where several rows belong to a
 * sample (multilabel), their influences (placement - A) / P or / Q are summed by sample first: G / (G - 1) sum_g (sum
 * of influences)^2 over G samples (Obuchowski 1997). The influences of two measures give the variance of their
 * difference likewise. */
#include "base/distributions.h"
#include "evaluate/evaluate_internal.h"

/* The rows of equal score from row `first` on; *hits: how many of them are positive. Returns where they end. */
static size_t group_end(double *hits, const uint8_t *places, size_t first) {
    size_t i = first;
    *hits = 0;
    do
        *hits += (places[i] & VG_PLACE_POSITIVE) != 0;
    while (!(places[i++] & VG_PLACE_END));
    return i;
}

/* The influence of each row on the area; returns the area. order: rows in rising order of the score, places: the marks
 * of each position in it. The area comes first, from the marks alone, so that influences, which lie in the order of the
 * rows, are written once. */
double vg_evaluate__placements(double *influence, const uint32_t *order, const uint8_t *places, size_t rows) {
    double positives = 0, pairs = 0, hits, below = 0, seen = 0; /* negatives and positives before the group */
    for (size_t i = 0, end; i < rows; i = end) {
        end = group_end(&hits, places, i);
        double others = (double)(end - i) - hits;
        pairs += hits * (below + others / 2);
        below += others;
        positives += hits;
    }
    double negatives = (double)rows - positives, area = pairs / (positives * negatives);
    if (positives == 0 || negatives == 0)
        return NAN;
    below = 0;
    for (size_t i = 0, end; i < rows; i = end) {
        end = group_end(&hits, places, i);
        double others = (double)(end - i) - hits;
        if (end - i == 1) { /* the usual case: only the side of this row is computed, by selections */
            double count = hits > 0 ? below : positives - seen, whole = hits > 0 ? negatives : positives;
            influence[order[i]] = (count / whole - area) / (hits > 0 ? positives : negatives);
        } else {
            double of_positive = ((below + others / 2) / negatives - area) / positives;
            double of_negative = ((positives - seen - hits / 2) / positives - area) / negatives;
            for (size_t j = i; j < end; j++)
                influence[order[j]] = places[j] & VG_PLACE_POSITIVE ? of_positive : of_negative;
        }
        below += others;
        seen += hits;
    }
    return area;
}

/* The variance of an area, or of the difference of two, from the influences of all rows, which are added in the order
 * of the rows. Those of a sample, `width` rows, are summed first. */
typedef struct influence_sums {
    size_t width, part; /* rows of the open sample */
    double sum;         /* of the open sample */
    double of[2], all;  /* squares: of one row a sample by kind, and of all samples */
    size_t count[2], samples;
} influence_sums;

/* value, or 0 where it is not wanted, without a branch: which kind a row is cannot be predicted. */
static inline double value_if(bool wanted, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits &= -(uint64_t)wanted;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Samples of one row. Adding 0 changes no sum. */
static void add_single(influence_sums *s, const double *a, const double *b, const uint8_t *positive, size_t n) {
    double of[2] = {s->of[0], s->of[1]};
    size_t hits = 0;
    for (size_t i = 0; i < n; i++) {
        double own = b ? a[i] - b[i] : a[i], square = own * own;
        of[0] += value_if(!positive[i], square);
        of[1] += value_if(positive[i] != 0, square);
        hits += positive[i] != 0;
    }
    memcpy(s->of, of, sizeof of);
    s->count[0] += n - hits;
    s->count[1] += hits;
}

/* The influences of the next n rows: a[row] - b[row] (b may be NULL). */
static void add_influences(influence_sums *s, const double *a, const double *b, const uint8_t *positive, size_t n) {
    if (s->width == 1)
        add_single(s, a, b, positive, n);
    for (size_t i = 0; s->width > 1 && i < n; i++) {
        s->sum += b ? a[i] - b[i] : a[i];
        if (++s->part < s->width)
            continue;
        s->all += s->sum * s->sum;
        s->samples++;
        s->part = 0;
        s->sum = 0;
    }
}

static double influence_variance(const influence_sums *s) {
    double total = 0, samples = (double)s->samples;
    if (s->width > 1)
        return samples > 1 ? s->all * samples / (samples - 1) : 0;
    for (size_t side = 0; side < 2; side++) {
        double count = (double)s->count[side];
        total += count > 1 ? s->of[side] * count / (count - 1) : 0;
    }
    return total;
}

/* The interval of an area. positives, negatives: rows. */
static vg_estimate area_estimate(const vg_area *a, const influence_sums *sums, double confidence) {
    vg_estimate e = {a->area, NAN, NAN};
    double width = (double)sums->width; /* as many as there are samples, for the boundary method */
    if (!isnan(a->area))
        vg_evaluate__auroc_interval(&e, influence_variance(sums), fmax(a->positives / width, 1),
                                    fmax(a->negatives / width, 1), confidence);
    return e;
}

vg_estimate vg_evaluate__auroc_estimate(double area, const double *influence, const uint8_t *positive, size_t rows,
                                        size_t width, double confidence) {
    influence_sums sums = {.width = width};
    double hits = 0;
    for (size_t i = 0; i < rows; i++)
        hits += positive[i] != 0;
    if (!isnan(area))
        add_influences(&sums, influence, NULL, positive, rows);
    return area_estimate(&(vg_area){area, hits, (double)rows - hits}, &sums, confidence);
}

/* --- one measure, and two --- */
static vg_area area_of(const vg_rows_below *counts) {
    double pairs = counts->positives * counts->negatives;
    return (vg_area){pairs > 0 ? counts->sum / pairs : NAN, counts->positives, counts->negatives};
}

/* Reads the counts of all rows and adds their influences: those of both measures (alone[0], alone[1]), and those on the
 * difference of the areas. Any may be NULL; counts[1] too, then only alone[0] is filled. */
static void add_rows(influence_sums *alone[2], influence_sums *difference, vg_rows_below *counts[2],
                     const uint8_t *positive, size_t rows) {
    const vg_row_kernels *kernels = vg_evaluate__rows();
    double influence[2][VG_ROW_BATCH];
    vg_area areas[2] = {area_of(counts[0]), counts[1] ? area_of(counts[1]) : (vg_area){NAN, 0, 0}};
    for (size_t first = 0, n; first < rows; first += n) {
        n = rows - first < VG_ROW_BATCH ? rows - first : (size_t)VG_ROW_BATCH;
        for (size_t side = 0; side < 2 && counts[side]; side++) {
            vg_evaluate__next_below(influence[side], counts[side], n);
            kernels->influences(influence[side], positive + first, n, &areas[side]);
            if (alone[side])
                add_influences(alone[side], influence[side], NULL, positive + first, n);
        }
        if (difference)
            add_influences(difference, influence[0], influence[1], positive + first, n);
    }
}

void vg_evaluate__places(uint32_t *order, uint8_t *places, const vg_keyed *pairs, const uint8_t *positive,
                         size_t rows) {
    for (size_t i = 0; i < rows; i++) {
        bool end = i + 1 == rows || pairs[i + 1].key != pairs[i].key;
        order[i] = pairs[i].row;
        places[i] = (uint8_t)((end ? VG_PLACE_END : 0) | (positive[pairs[i].row] ? VG_PLACE_POSITIVE : 0));
    }
}

static vg_status check(const void *out, const vg_measure *measure, const uint8_t *positive, size_t rows,
                       const vg_auroc_options *o) {
    if (!out || !measure || !measure->values || !positive)
        return vg_base__fail(VG_ERR_ARGUMENT, "auroc: out, measures, their values and positive must not be NULL");
    if (rows < 1 || rows > UINT32_MAX)
        return vg_base__fail(VG_ERR_ARGUMENT, "auroc: %zu rows, expected 1 to %u", rows, UINT32_MAX);
    if (o->rows_per_sample < 1 || rows % o->rows_per_sample != 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "auroc: %zu rows are not whole samples of %zu rows", rows,
                             o->rows_per_sample);
    if (!(o->confidence > 0 && o->confidence < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "auroc: confidence %g, expected above 0 and below 1", o->confidence);
    return VG_OK;
}

vg_status vg_auroc(vg_estimate *out, const vg_measure *measure, const uint8_t *positive, size_t rows,
                   const vg_auroc_options *options) {
    static const vg_auroc_options defaults = VG_AUROC_OPTIONS_INIT;
    vg_auroc_options taken;
    const vg_auroc_options *o = &taken;
    VG_TRY(vg_base__take_options(&taken, options, &defaults, sizeof taken, "vg_auroc_options"));
    VG_TRY(check(out, measure, positive, rows, o));
    vg_rank_room room;
    VG_TRY(vg_evaluate__rank_room(&room, rows, NULL, 0));
    vg_rows_below counts;
    vg_status status = vg_evaluate__count_below(&counts, &room, &(vg_rank_column){.measure = *measure}, positive, rows);
    if (status == VG_OK) {
        influence_sums sums = {.width = o->rows_per_sample};
        vg_area area = area_of(&counts);
        if (!isnan(area.area))
            add_rows((influence_sums *[2]){&sums, NULL}, NULL, (vg_rows_below *[2]){&counts, NULL}, positive, rows);
        *out = area_estimate(&area, &sums, o->confidence);
    }
    vg_evaluate__rank_room_free(&room);
    return status;
}

double vg_evaluate__auroc_difference(vg_estimate *difference, double variance, double confidence) {
    double value = difference->value, spread = sqrt(variance);
    double z = vg_base__normal_quantile(1 - (1 - confidence) / 2);
    if (spread > 1e-15) {
        difference->low = fmax(value - z * spread, -1);
        difference->high = fmin(value + z * spread, 1);
        return erfc(fabs(value) / spread / sqrt(2));
    }
    if (!(fabs(value) < 1e-15))
        return NAN;
    difference->low = difference->high = value; /* the same order: every sample has the same influence */
    return 1;
}

typedef struct pair_work {
    vg_area_pair *pair;
    const vg_rank_column *const *columns;
    vg_rank_room *rooms[2]; /* of each measure */
} pair_work;

static vg_status count_side(void *context, size_t side, unsigned worker) {
    pair_work *w = context;
    w->rooms[side]->worker = worker; /* worker 0 calls the caller's progress function */
    return vg_evaluate__count_below(&w->pair->counts[side], w->rooms[side], w->columns[side], w->pair->positive,
                                    w->pair->rows);
}

vg_status vg_evaluate__count_pair(vg_area_pair *out, const vg_rank_column *const columns[2], const vg_tally *t,
                                  vg_rank_room *rooms, vg_pool *pool) {
    bool alone = vg_pool__threads(pool) < 2;
    *out = (vg_area_pair){.positive = t->error, .rows = t->rows, .width = t->multilabel ? t->classes : 1};
    if (alone)
        VG_TRY(vg_evaluate__rank_room(&out->own, t->rows, rooms->pulse, 0));
    pair_work w = {out, columns, {&rooms[0], alone ? &out->own : &rooms[1]}};
    return vg_pool__run(pool, 2, count_side, &w);
}

/* alone: also the variances of both areas; NULL: not wanted. */
static double pair_test(vg_estimate *difference, vg_area_pair *pair, double confidence, influence_sums alone[2]) {
    influence_sums sums = {.width = pair->width};
    *difference = (vg_estimate){area_of(&pair->counts[0]).area - area_of(&pair->counts[1]).area, NAN, NAN};
    if (isnan(difference->value))
        return NAN;
    add_rows((influence_sums *[2]){alone, alone ? alone + 1 : NULL}, &sums,
             (vg_rows_below *[2]){&pair->counts[0], &pair->counts[1]}, pair->positive, pair->rows);
    return vg_evaluate__auroc_difference(difference, influence_variance(&sums), confidence);
}

double vg_evaluate__pair_test(vg_estimate *difference, vg_area_pair *pair, double confidence) {
    return pair_test(difference, pair, confidence, NULL);
}

vg_status vg_auroc_compare(vg_auroc_comparison *out, const vg_measure *first, const vg_measure *second,
                           const uint8_t *positive, size_t rows, const vg_auroc_options *options) {
    static const vg_auroc_options defaults = VG_AUROC_OPTIONS_INIT;
    vg_auroc_options o;
    VG_TRY(vg_base__take_options(&o, options, &defaults, sizeof o, "vg_auroc_options"));
    VG_TRY(check(out, first, positive, rows, &o));
    VG_TRY(check(out, second, positive, rows, &o));
    vg_area_pair pair = {.positive = positive, .rows = rows, .width = o.rows_per_sample};
    const vg_measure *measures[2] = {first, second};
    vg_rank_room rooms[2] = {{0}, {0}};
    vg_status status = VG_OK;
    for (size_t side = 0; side < 2 && status == VG_OK; side++) {
        status = vg_evaluate__rank_room(&rooms[side], rows, NULL, 0);
        if (status == VG_OK)
            status = vg_evaluate__count_below(&pair.counts[side], &rooms[side],
                                              &(vg_rank_column){.measure = *measures[side]}, positive, rows);
    }
    if (status == VG_OK) {
        influence_sums alone[2] = {{.width = pair.width}, {.width = pair.width}};
        out->p_value = pair_test(&out->difference, &pair, o.confidence, alone);
        vg_area areas[2] = {area_of(&pair.counts[0]), area_of(&pair.counts[1])};
        out->first = area_estimate(&areas[0], &alone[0], o.confidence);
        out->second = area_estimate(&areas[1], &alone[1], o.confidence);
    }
    for (size_t side = 0; side < 2; side++)
        vg_evaluate__rank_room_free(&rooms[side]);
    return status;
}
