/* candidates.c - the thresholds that risk selection tries: quantiles of values whose labels take no part in the
 * tests.
 *
 * Everything is in u, larger is less certain; rows with u < t are kept. Point j of G keeps about the share (j + 1) /
 * G. Within a tenth of the step between two points the threshold with the fewest digits is taken, so that the
 * printed threshold is exactly the one that was tested. Ties cannot be separated: a point among tied values lies
 * between them and the next value.
 *
 * The last point serves risks at which everything may be kept: it lies well beyond the largest value seen.
 *
 * The rule's u is minus the margin ratio, -infinity where members agree entirely. No k separates such rows; a k that
 * keeps them alone is twice the largest finite ratio. Rows with ratio 0 are never kept, so thresholds stay below 0. */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/sort.h"

#include "evaluate/select_internal.h"

double vg_evaluate__short_decimal(double low, double high) {
    double middle = low + (high - low) / 2;
    char text[VG_NAME_SIZE];
    for (int digits = 0; digits < 17; digits++) {
        snprintf(text, sizeof text, "%.*e", digits, middle);
        double value = strtod(text, NULL);
        if (value >= low && value <= high)
            return value;
    }
    return middle;
}

double vg_evaluate__threshold_between(double last, double next, bool rule) {
    if (rule && !(next < 0))
        next = 0; /* no k keeps a ratio of 0 */
    if (isinf(next))
        next = isinf(last) ? 1 : last + (fabs(last) > 1 ? fabs(last) : 1);
    if (isinf(last)) /* minus infinity: everything below `next` has the largest certainty */
        last = next < 0 ? 4 * next : next - 4;
    if (isinf(last))
        last = -DBL_MAX;
    double quarter = (next - last) / 4, t = vg_evaluate__short_decimal(last + quarter, next - quarter);
    if (!(t > last && t < next)) /* adjacent doubles: only `next` itself lies above `last` */
        t = rule && !(next < 0) ? -DBL_TRUE_MIN : next;
    return t;
}

/* The number of sorted values below t. */
static size_t count_below(const double *values, size_t n, double t) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (values[middle] < t)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A threshold that keeps about the first `wanted` >= 1 of `usable` sorted values; without ties it is off by at most
 * `slack` values. Values after the usable ones cannot be kept. */
static double threshold_near(const double *values, size_t usable, size_t wanted, size_t slack, bool rule) {
    double first = values[wanted > slack ? wanted - 1 - slack : 0];
    double last = values[wanted - 1 + slack < usable ? wanted - 1 + slack : usable - 1];
    if (wanted < usable && first < last && isfinite(first) && isfinite(last)) {
        double t = vg_evaluate__short_decimal(nextafter(first, INFINITY), last);
        if (!rule || t < 0)
            return t;
    }
    double at = values[wanted - 1];
    size_t end = count_below(values, usable, nextafter(at, INFINITY));
    if (end < usable)
        return vg_evaluate__threshold_between(at, values[end], rule);
    if (rule && isfinite(at) && at / 100 < 0)
        return vg_evaluate__short_decimal(at / 80, at / 120);
    double spread = at - values[0];
    return vg_evaluate__threshold_between(at,
                                          rule                             ? 0
                                          : isfinite(spread) && spread > 0 ? at + spread
                                                                           : (double)INFINITY,
                                          rule);
}

static vg_status sort_values(double *values, size_t n) {
    uint64_t *keys;
    VG_TRY(vg_base__alloc(&keys, 2 * n, sizeof *keys, "keys to sort"));
    for (size_t i = 0; i < n; i++)
        keys[i] = vg_evaluate__key(values[i]);
    vg_evaluate__sort_keys(keys, keys + n, n);
    for (size_t i = 0; i < n; i++)
        values[i] = vg_evaluate__unkey(keys[i]);
    vg_base__release(keys);
    return VG_OK;
}

static vg_status grid_room(vg_threshold_grid *out, size_t points) {
    *out = (vg_threshold_grid){0};
    VG_TRY(vg_base__alloc(&out->threshold, points, sizeof *out->threshold, "grid of thresholds"));
    return vg_base__zalloc(&out->share, points, sizeof *out->share, "grid of thresholds");
}

vg_status vg_evaluate__quantile_grid(vg_threshold_grid *out, double *values, size_t n, size_t points, bool rule) {
    VG_TRY(sort_values(values, n));
    VG_TRY(grid_room(out, points));
    size_t usable = rule ? count_below(values, n, 0) : n;
    size_t slack = (size_t)(0.1 * (double)usable / (double)points);
    for (size_t j = 0; j < points && usable > 0; j++) {
        size_t wanted = (size_t)ceil((double)usable * (double)(j + 1) / (double)points);
        double t = threshold_near(values, usable, wanted, slack, rule);
        if (out->count > 0 && !(t > out->threshold[out->count - 1])) /* tied with the previous point */
            continue;
        out->threshold[out->count] = t;
        out->share[out->count++] = (double)count_below(values, n, t) / (double)n;
    }
    return VG_OK;
}

vg_status vg_evaluate__given_grid(vg_threshold_grid *out, const vg_select_options *o, bool negated, bool rule) {
    if (o->grid_count == 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "select: the grid is empty");
    VG_TRY(grid_room(out, o->grid_count));
    vg_base__release(out->share);
    out->share = NULL;
    for (size_t j = 0; j < o->grid_count; j++) {
        double t = negated ? -o->grid[j] : o->grid[j];
        if (isnan(t) || (rule && !(t < 0 && isfinite(t))))
            return vg_base__fail(VG_ERR_ARGUMENT, "select: grid point %zu is %g, expected a %s", j, o->grid[j],
                                 rule ? "positive k" : "number");
        out->threshold[j] = t;
    }
    out->count = o->grid_count;
    vg_base__sort_doubles(out->threshold, out->count);
    return VG_OK;
}

void vg_evaluate__grid_free(vg_threshold_grid *grid) {
    vg_base__release(grid->threshold);
    vg_base__release(grid->share);
    *grid = (vg_threshold_grid){0};
}
