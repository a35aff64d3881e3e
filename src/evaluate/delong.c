/* delong.c - AUROC, its variance, and the difference of two AUROCs on the same rows (DeLong, DeLong and Clarke-Pearson
 * 1988).
 *
 * With P positives and Q negatives, a positive's placement is the share of negatives below it, a negative's the share
 * of positives above it, ties half. Both sorts average to the area A, and
 *
 *     var A = sum_pos (placement - A)^2 / (P (P - 1)) + sum_neg (placement - A)^2 / (Q (Q - 1))
 *
 * Placements come from the rows below each (rows_below.c), so all of it is O(n log n). Where several rows belong to a
 * sample (multilabel), their influences (placement - A) / P or / Q are summed by sample first: G / (G - 1) sum_g (sum
 * of influences)^2 over G samples (Obuchowski 1997). The influences of two measures give the variance of their
 * difference likewise. */
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

/* The variance of the sum of a[row] - b[row] (b may be NULL). positive: marks by row; `width` consecutive rows per
 * sample. */
static double influence_variance(const double *a, const double *b, const uint8_t *positive, size_t rows, size_t width) {
    double by_side[2] = {0, 0}, count[2] = {0, 0}, all = 0;
    for (size_t i = 0; i < rows; i += width) {
        double sum = 0;
        for (size_t j = i; j < i + width && j < rows; j++)
            sum += a[j] - (b ? b[j] : 0);
        bool side = positive[i] != 0;
        by_side[side] += sum * sum;
        count[side]++;
        all += sum * sum;
    }
    if (width > 1) {
        double samples = count[0] + count[1];
        return samples > 1 ? all * samples / (samples - 1) : 0;
    }
    double total = 0;
    for (size_t side = 0; side < 2; side++)
        total += count[side] > 1 ? by_side[side] * count[side] / (count[side] - 1) : 0;
    return count[0] > 1 || count[1] > 1 ? total : 0;
}

vg_estimate vg_evaluate__auroc_estimate(double area, const double *influence, const uint8_t *positive, size_t rows,
                                        size_t width, double confidence) {
    vg_estimate e = {area, NAN, NAN};
    double hits = 0;
    for (size_t i = 0; i < rows; i++)
        hits += positive[i] != 0;
    double others = ((double)rows - hits) / (double)width; /* as many as there are samples, for the boundary method */
    hits /= (double)width;
    if (!isnan(area))
        vg_evaluate__auroc_interval(&e, influence_variance(influence, NULL, positive, rows, width), hits > 1 ? hits : 1,
                                    others > 1 ? others : 1, confidence);
    return e;
}

/* --- public --- */

/* The area of a measure and the influences of its rows on it. */
static vg_status influences(double *area, double *influence, vg_rank_room *room, const vg_rank_column *column,
                            const uint8_t *positive, size_t rows) {
    double sum, positives = 0;
    vg_base__populate(influence, rows * sizeof *influence);
    VG_TRY(vg_evaluate__rows_below(influence, &sum, room, column, positive, rows));
    for (size_t i = 0; i < rows; i++)
        positives += positive[i] != 0;
    double negatives = (double)rows - positives, pairs = positives * negatives;
    *area = pairs > 0 ? sum / pairs : NAN;
    for (size_t i = 0; pairs > 0 && i < rows; i++) { /* by selections: which side a row is on cannot be predicted */
        double count = positive[i] ? influence[i] : positives - influence[i];
        double of = positive[i] ? negatives : positives, own = positive[i] ? positives : negatives;
        influence[i] = (count / of - *area) / own;
    }
    return VG_OK;
}

/* The same with a room of its own. */
static vg_status influences_alone(double *area, double *influence, const vg_rank_column *column,
                                  const uint8_t *positive, size_t rows) {
    vg_rank_room room;
    VG_TRY(vg_evaluate__rank_room(&room, rows, NULL, 0));
    vg_status status = influences(area, influence, &room, column, positive, rows);
    vg_evaluate__rank_room_free(&room);
    return status;
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
    double *influence, area;
    VG_TRY(check(out, measure, positive, rows, o));
    VG_TRY(vg_base__alloc(&influence, rows, sizeof *influence, "placements"));
    vg_rank_column column = {.measure = *measure};
    vg_status status = influences_alone(&area, influence, &column, positive, rows);
    if (status == VG_OK)
        *out = vg_evaluate__auroc_estimate(area, influence, positive, rows, o->rows_per_sample, o->confidence);
    vg_base__release(influence);
    return status;
}

double vg_evaluate__auroc_difference(vg_estimate *difference, double variance, double confidence) {
    double value = difference->value, spread = sqrt(variance);
    double z = vg_evaluate__normal_quantile(1 - (1 - confidence) / 2);
    difference->low = difference->high = NAN;
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

/* Two measures and what they give: influences of both in sequence, and their areas. */
typedef struct pair_work {
    const vg_rank_column *columns[2];
    const uint8_t *positive;
    size_t rows;
    vg_rank_room *rooms; /* one for each worker, or NULL */
    double *influence, area[2];
} pair_work;

static vg_status run_side(void *context, size_t side, unsigned worker) {
    pair_work *w = context;
    double *influence = w->influence + side * w->rows;
    return w->rooms ? influences(&w->area[side], influence, &w->rooms[worker], w->columns[side], w->positive, w->rows)
                    : influences_alone(&w->area[side], influence, w->columns[side], w->positive, w->rows);
}

/* w->influence is allocated, and released by the caller. pool: NULL for this thread alone. */
static vg_status run_pair(pair_work *w, vg_pool *pool) {
    size_t both;
    if (!vg_base__mul(&both, w->rows, 2))
        return vg_base__fail(VG_ERR_MEMORY, "auroc: %zu rows do not fit memory", w->rows);
    VG_TRY(vg_base__alloc(&w->influence, both, sizeof *w->influence, "placements"));
    if (pool)
        return vg_pool__run(pool, 2, run_side, w);
    VG_TRY(run_side(w, 0, 0));
    return run_side(w, 1, 0);
}

static double difference_test(vg_estimate *difference, const pair_work *w, size_t width, double confidence) {
    *difference = (vg_estimate){w->area[0] - w->area[1], NAN, NAN};
    if (isnan(difference->value))
        return NAN;
    double variance = influence_variance(w->influence, w->influence + w->rows, w->positive, w->rows, width);
    return vg_evaluate__auroc_difference(difference, variance, confidence);
}

vg_status vg_evaluate__auroc_test(vg_estimate *difference, double *p_value, const vg_rank_column *const columns[2],
                                  const vg_tally *t, double confidence, vg_rank_room *rooms, vg_pool *pool) {
    pair_work w = {{columns[0], columns[1]}, t->error, t->rows, rooms, NULL, {0, 0}};
    vg_status status = run_pair(&w, pool);
    if (status == VG_OK)
        *p_value = difference_test(difference, &w, t->multilabel ? t->classes : 1, confidence);
    vg_base__release(w.influence);
    return status;
}

vg_status vg_auroc_compare(vg_auroc_comparison *out, const vg_measure *first, const vg_measure *second,
                           const uint8_t *positive, size_t rows, const vg_auroc_options *options) {
    static const vg_auroc_options defaults = VG_AUROC_OPTIONS_INIT;
    vg_auroc_options o;
    VG_TRY(vg_base__take_options(&o, options, &defaults, sizeof o, "vg_auroc_options"));
    VG_TRY(check(out, first, positive, rows, &o));
    VG_TRY(check(out, second, positive, rows, &o));
    vg_rank_column columns[2] = {{.measure = *first}, {.measure = *second}};
    pair_work w = {{&columns[0], &columns[1]}, positive, rows, NULL, NULL, {0, 0}};
    vg_status status = run_pair(&w, NULL);
    size_t width = o.rows_per_sample;
    if (status == VG_OK) {
        out->first = vg_evaluate__auroc_estimate(w.area[0], w.influence, positive, rows, width, o.confidence);
        out->second = vg_evaluate__auroc_estimate(w.area[1], w.influence + rows, positive, rows, width, o.confidence);
        out->p_value = difference_test(&out->difference, &w, width, o.confidence);
    }
    vg_base__release(w.influence);
    return status;
}
