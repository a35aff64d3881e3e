/* map_curves.c - curves of one class against the rest: scores sorted, grouped, and fitted.
 *
 * isotonic: pool adjacent violators over groups of equal scores, which are one point with their weight. The curve
 * keeps both ends of every constant piece.
 * venn-abers: Vovk, Petej, Fedorova, "Large-scale probabilistic predictors with and without guarantees of validity"
 * (2015). With P_i the cumulative (weight, hits) of the first i groups, the isotonic value of group i is the slope of
 * the greatest convex minorant of these points. A test sample with label 1 before group i is one more step (1, 1) of
 * the diagram. Corners of the minorant right of the test sample are on a stack; the sample moves from left to right,
 * and each point enters and leaves the stack once. With label 0, the same on the mirrored diagram. */
#include <math.h>
#include <string.h>

#include "calibrate/map.h"

#define SORT_NAME(name) scored_##name
#define SORT_TYPE vg_scored
#define SORT_KEY(element) ((element).key)
#include "base/sort_body.h"

double vg_scored__value(const vg_scored *s) {
    double value;
    memcpy(&value, &s->key, sizeof value);
    return value;
}

/* Sorts the scores and joins equal ones; returns the number of groups. */
static size_t group(vg_scored *s, vg_scored *scratch, size_t n) {
    size_t count = 0;
    scored_sort(s, scratch, n, false);
    for (size_t i = 0; i < n; i++) {
        if (count && s[count - 1].key == s[i].key) {
            s[count - 1].hits += s[i].hits;
            s[count - 1].count += s[i].count;
        } else
            s[count++] = s[i];
    }
    return count;
}

/* --- isotonic ----------------------------------------------------------------------------------------------------- */
static void add_point(vg_curve *out, const vg_scored *group, double value) {
    out->x[out->count] = vg_scored__value(group);
    out->low[out->count++] = value;
}

/* scratch: 3 count, the blocks' hits, weight and first group. */
void vg_curve__isotonic(vg_curve *out, const vg_scored *groups, size_t count, double *scratch) {
    double *hits = scratch, *weight = scratch + count, *first = scratch + 2 * count;
    size_t blocks = 0;
    for (size_t i = 0; i < count; i++) {
        hits[blocks] = groups[i].hits;
        weight[blocks] = groups[i].count;
        first[blocks++] = (double)i;
        while (blocks > 1 && hits[blocks - 2] * weight[blocks - 1] >= hits[blocks - 1] * weight[blocks - 2]) {
            hits[blocks - 2] += hits[blocks - 1];
            weight[blocks - 2] += weight[blocks - 1];
            blocks--;
        }
    }
    out->count = 0;
    for (size_t b = 0; b < blocks; b++) {
        size_t begin = (size_t)first[b], last = (b + 1 < blocks ? (size_t)first[b + 1] : count) - 1;
        add_point(out, &groups[begin], hits[b] / weight[b]);
        if (last > begin)
            add_point(out, &groups[last], hits[b] / weight[b]);
    }
}

/* --- histogram ---------------------------------------------------------------------------------------------------- */
/* The first group after the bin that holds the rows up to number `upto`, searched from group `i` on; *seen rows lie
 * before it. */
static size_t mass_end(const vg_scored *groups, size_t count, size_t i, size_t *seen, double upto) {
    do
        *seen += groups[i++].count;
    while (i < count && (double)*seen + 0.5 * groups[i].count <= upto);
    return i;
}

void vg_curve__histogram(vg_curve *out, const vg_scored *groups, size_t count, unsigned bins, bool equal_mass) {
    size_t i = 0, seen = 0, all = 0;
    double before = 0;
    for (size_t g = 0; g < count; g++)
        all += groups[g].count;
    out->count = 0;
    for (unsigned b = 0; b < bins && (!equal_mass || i < count); b++) {
        double edge = (double)(b + 1) / bins, hits = 0, rows = 0;
        size_t end = i;
        if (equal_mass)
            end = b + 1 < bins ? mass_end(groups, count, i, &seen, (double)all * edge) : count;
        else
            while (end < count && (b + 1 == bins || vg_scored__value(&groups[end]) <= edge))
                end++;
        if (equal_mass)
            edge = end < count ? 0.5 * (vg_scored__value(&groups[end - 1]) + vg_scored__value(&groups[end])) : 1;
        for (; i < end; i++) {
            hits += groups[i].hits;
            rows += groups[i].count;
        }
        out->x[out->count] = edge;
        out->low[out->count++] = rows > 0 ? hits / rows : 0.5 * (before + edge);
        before = edge;
    }
}

/* --- venn-abers --------------------------------------------------------------------------------------------------- */
typedef struct corner {
    double x, y;
} corner;

/* Whether the path from a over b to c turns left, so that b is a corner of a convex minorant. */
static bool turns_left(corner a, corner b, corner c) {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x) > 0;
}

/* f[i]: the isotonic value of a sample with label 1 that comes just before group i, or in it, of `count` groups with
 * these weights and hits. p: count + 2 points; stack likewise. */
static void label_one(double *f, const double *weight, const double *hits, size_t count, corner *p, corner *stack) {
    size_t top = 0;
    p[0] = (corner){-1, -1}; /* p[i + 1] is the point after i groups */
    p[1] = (corner){0, 0};
    for (size_t i = 0; i < count; i++)
        p[i + 2] = (corner){p[i + 1].x + weight[i], p[i + 1].y + hits[i]};
    /* The convex minorant from the right, so that its left end is on top. */
    for (size_t i = count + 2; i-- > 0;) {
        while (top > 1 && !turns_left(p[i], stack[top - 1], stack[top - 2]))
            top--;
        stack[top++] = p[i];
    }
    for (size_t i = 1; i <= count; i++) {
        corner left = stack[top - 1], right = stack[top - 2];
        f[i - 1] = (right.y - left.y) / (right.x - left.x);
        /* The sample moves past group i: the group comes first, the sample after it. */
        corner moved = {p[i - 1].x + p[i + 1].x - p[i].x, p[i - 1].y + p[i + 1].y - p[i].y};
        p[i] = moved;
        if ((right.x - left.x) * (moved.y - left.y) - (right.y - left.y) * (moved.x - left.x) >= 0)
            continue;
        top--;
        while (top > 1 && !turns_left(moved, stack[top - 1], stack[top - 2]))
            top--;
        stack[top++] = moved;
    }
}

void vg_curve__venn_abers(vg_curve *out, const vg_scored *groups, size_t count, double *scratch) {
    double *weight = scratch, *hits = weight + count;
    corner *p = (corner *)(void *)(hits + count), *stack = p + count + 2;
    for (size_t i = 0; i < count; i++) {
        weight[i] = groups[i].count;
        hits[i] = groups[i].hits;
    }
    label_one(out->high, weight, hits, count, p, stack);
    for (size_t i = 0; i < count; i++) { /* scores from the right, labels exchanged */
        weight[i] = groups[count - 1 - i].count;
        hits[i] = groups[count - 1 - i].count - groups[count - 1 - i].hits;
    }
    label_one(out->low, weight, hits, count, p, stack);
    for (size_t i = 0; i < count / 2; i++) {
        double swap = out->low[i];
        out->low[i] = out->low[count - 1 - i];
        out->low[count - 1 - i] = swap;
    }
    size_t kept = 0;
    double before = 0;
    for (size_t i = 0; i < count; i++) {
        double low = 1 - out->low[i], next = i + 1 < count ? out->high[i + 1] : 1;
        if (low == before && out->high[i] == next)
            continue; /* neither step function changes here */
        out->x[kept] = vg_scored__value(&groups[i]);
        out->high[kept] = out->high[i];
        out->low[kept++] = before = low;
    }
    out->count = kept;
}

/* --- all classes -------------------------------------------------------------------------------------------------- */
typedef struct curve_work {
    vg_curve *curves;
    const double *p;
    const vg_map_rows *rows;
    const vg_calibrate_options *options;
} curve_work;

static vg_status fit_class(void *context, size_t k, unsigned worker) {
    curve_work *w = context;
    const vg_map_rows *rows = w->rows;
    size_t n = rows->count, room = w->options->method == VG_CALIBRATE_HISTOGRAM ? w->options->map_bins : n;
    vg_scored *scored = NULL;
    double *scratch = NULL;
    vg_curve *curve = &w->curves[k];
    (void)worker;
    vg_status status = vg_base__alloc(&scored, n, 2 * sizeof *scored, "scores of a class");
    if (status == VG_OK)
        status = vg_base__alloc(&scratch, n + 2, 6 * sizeof *scratch, "blocks of scores");
    if (status == VG_OK)
        status = vg_base__alloc(&curve->x, room, 3 * sizeof *curve->x, "a curve");
    if (status == VG_OK) {
        curve->low = curve->x + room;
        curve->high = curve->low + room;
        for (size_t i = 0; i < n; i++) {
            double value = w->p[rows->take[i] * rows->c + k] + 0.0; /* -0 becomes 0 */
            scored[i] = (vg_scored){0, (size_t)rows->y[i] == k, 1};
            memcpy(&scored[i].key, &value, sizeof value);
        }
        size_t count = group(scored, scored + n, n);
        if (w->options->method == VG_CALIBRATE_ISOTONIC)
            vg_curve__isotonic(curve, scored, count, scratch);
        else if (w->options->method == VG_CALIBRATE_HISTOGRAM)
            vg_curve__histogram(curve, scored, count, w->options->map_bins, w->options->equal_mass);
        else
            vg_curve__venn_abers(curve, scored, count, scratch);
    }
    vg_base__release(scored);
    vg_base__release(scratch);
    return status;
}

vg_status vg_map__fit_curves(vg_curve *curves, const double *p, const vg_map_rows *rows,
                             const vg_calibrate_options *options) {
    curve_work w = {curves, p, rows, options};
    return vg_pool__run(rows->pool, rows->c, fit_class, &w);
}
