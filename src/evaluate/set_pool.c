/* set_pool.c - calibration scores by cell, their quantiles and p-values. See set_rule.h.
 *
 * A counting sort puts the scores in the order of the cells. Within each cell the bucket sort of the ranking follows
 * for p-values; thresholds need single entries of that order, and only the buckets that hold these are sorted. */
#include "evaluate/evaluate_internal.h"
#include "evaluate/set_rule.h"

vg_status vg_set__grow(void *array, size_t used, size_t *room, size_t needed, size_t size) {
    void *old, *more;
    size_t next = 2 * needed;
    if (needed <= *room)
        return VG_OK;
    memcpy(&old, array, sizeof old);
    VG_TRY(vg_base__alloc(&more, next, size, "calibration samples"));
    if (used)
        memcpy(more, old, used * size);
    vg_base__release(old);
    memcpy(array, &more, sizeof more);
    *room = next;
    return VG_OK;
}

vg_status vg_set_pool__reserve(vg_set_pool *pool, size_t more, bool units) {
    size_t total = pool->count + more;
    if (units)
        VG_TRY(vg_set__grow(&pool->unit, pool->count, &pool->unit_room, total, sizeof *pool->unit));
    VG_TRY(vg_set__grow(&pool->score, pool->count, &pool->room, total, sizeof *pool->score));
    return vg_set__grow(&pool->cell, pool->count, &pool->cell_room, total, sizeof *pool->cell);
}

void vg_set_pool__find_cells(const vg_set_pool *pool, size_t *next) {
    for (size_t i = 0; i < pool->count; i++)
        pool->start[pool->cell[i] + 1]++;
    for (size_t c = 0; c < pool->cells; c++)
        pool->start[c + 1] += pool->start[c];
    memcpy(next, pool->start, pool->cells * sizeof *next);
}

/* The keys of the scores in the order of the cells. next: where the next score of each cell goes. */
static void order_cells(uint64_t *keys, size_t *next, const vg_set_pool *pool) {
    if (pool->cells == 1) { /* no counters, because each increment would wait for the one before */
        pool->start[1] = pool->count;
        for (size_t i = 0; i < pool->count; i++)
            keys[i] = vg_evaluate__key(pool->score[i]);
        return;
    }
    vg_set_pool__find_cells(pool, next);
    for (size_t i = 0; i < pool->count; i++)
        keys[next[pool->cell[i]]++] = vg_evaluate__key(pool->score[i]);
}

/* The indices of the quantiles in n sorted scores; returns their number. */
static size_t places_of(size_t *out, const double *alphas, size_t alpha_count, size_t n) {
    size_t count = 0;
    for (size_t a = 0; a < alpha_count; a++) {
        size_t place = vg_set__quantile_place(n, alphas[a]);
        if (place <= n)
            out[count++] = place - (place > 0);
    }
    return count;
}

vg_status vg_set_pool__settle(vg_set_pool *pool, const double *alphas, size_t alpha_count) {
    uint64_t *keys, *scratch;
    size_t *next;
    if (pool->unit)
        return vg_set_units__settle(pool);
    VG_TRY(vg_base__zalloc(&pool->start, pool->cells + 1, sizeof *pool->start, "cells"));
    VG_TRY(vg_base__alloc(&keys, 2 * pool->count, sizeof *keys, "calibration scores"));
    vg_status status = vg_base__alloc(&next, pool->cells, sizeof *next, "cells");
    if (status == VG_OK) {
        scratch = keys + pool->count;
        order_cells(keys, next, pool);
        for (size_t c = 0; c < pool->cells; c++) {
            size_t places[VG_SETS_ALPHAS], n = vg_set_pool__samples(pool, c);
            if (alpha_count)
                vg_evaluate__select_keys(keys + pool->start[c], scratch, n, places,
                                         places_of(places, alphas, alpha_count, n));
            else
                vg_evaluate__sort_keys(keys + pool->start[c], scratch, n);
        }
        for (size_t i = 0; i < pool->count; i++)
            pool->score[i] = vg_evaluate__unkey(keys[i]);
        vg_base__release(next);
    }
    vg_base__release(keys);
    return status;
}

void vg_set_pool__free(vg_set_pool *pool) {
    vg_base__release(pool->score);
    vg_base__release(pool->cell);
    vg_base__release(pool->start);
    vg_base__release(pool->unit);
    vg_base__release(pool->mass);
    vg_base__release(pool->images);
    *pool = (vg_set_pool){0};
}

size_t vg_set__quantile_place(size_t n, double alpha) {
    double all = (double)n + 1, place = all * (1 - alpha), whole = nearbyint(place);
    return (size_t)(fabs(place - whole) <= 1e-12 * all ? whole : ceil(place));
}

double vg_set__quantile(const double *settled, size_t n, double alpha) {
    size_t place = vg_set__quantile_place(n, alpha);
    return place > n ? INFINITY : settled[place - (place > 0)];
}

size_t vg_set__first_at_least(const double *sorted, size_t n, double s) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        *(sorted[middle] >= s ? &high : &low) = sorted[middle] >= s ? middle : middle + 1;
    }
    return low;
}

double vg_set__p_value(const double *sorted, size_t n, double s) {
    return (double)(1 + n - vg_set__first_at_least(sorted, n, s)) / (double)(n + 1);
}
