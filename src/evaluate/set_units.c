/* set_units.c - images as the units of exchange: thresholds from the losses of images, and means over images. See
 * set_rule.h.
 *
 * A site of an image with s sites in a cell has the weight 1 / s there, so that the weights of the sites with a score
 * above t sum to the losses of the images at t. In the order of the scores mass[i] is the weight of site i and of those
 * after it; mass[n] = 0 ends a cell, whose entries begin at start[cell] + cell. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate/set_rule.h"

typedef struct weighted_score {
    double score, weight;
} weighted_score;

static int by_score(const void *a, const void *b) {
    double x = ((const weighted_score *)a)->score, y = ((const weighted_score *)b)->score;
    return (x > y) - (x < y);
}

/* The scores in the order of the cells, which keeps the sites of an image together; weights hold the images. */
static void order_cells(weighted_score *out, size_t *next, const vg_set_pool *pool) {
    vg_set_pool__find_cells(pool, next);
    for (size_t i = 0; i < pool->count; i++)
        out[next[pool->cell[i]]++] = (weighted_score){pool->score[i], (double)pool->unit[i]};
}

/* Replaces images by weights; returns the number of images. */
static size_t weigh(weighted_score *sites, size_t n) {
    size_t images = 0, end;
    for (size_t first = 0; first < n; first = end, images++) {
        for (end = first + 1; end < n && !(sites[end].weight > sites[first].weight);)
            end++;
        for (size_t i = first; i < end; i++)
            sites[i].weight = 1.0 / (double)(end - first);
    }
    return images;
}

static void settle_cell(vg_set_pool *pool, weighted_score *sites, size_t cell) {
    size_t first = pool->start[cell], n = vg_set_pool__samples(pool, cell);
    double *mass = pool->mass + first + cell;
    pool->images[cell] = weigh(sites + first, n);
    qsort(sites + first, n, sizeof *sites, by_score);
    mass[n] = 0;
    for (size_t i = n; i-- > 0;) {
        mass[i] = mass[i + 1] + sites[first + i].weight;
        pool->score[first + i] = sites[first + i].score;
    }
}

vg_status vg_set_units__settle(vg_set_pool *pool) {
    weighted_score *sites;
    VG_TRY(vg_base__zalloc(&pool->start, pool->cells + 1, sizeof *pool->start, "cells"));
    VG_TRY(vg_base__zalloc(&pool->images, pool->cells, sizeof *pool->images, "cells"));
    VG_TRY(vg_base__alloc(&pool->mass, pool->count + pool->cells, sizeof *pool->mass, "calibration scores"));
    VG_TRY(vg_base__alloc(&sites, pool->count, sizeof *sites, "calibration scores"));
    order_cells(sites, pool->images, pool); /* images is counted afterwards */
    for (size_t c = 0; c < pool->cells; c++)
        settle_cell(pool, sites, c);
    vg_base__release(sites);
    return VG_OK;
}

double vg_set_units__quantile(const vg_set_pool *pool, size_t cell, double alpha) {
    const double *mass = pool->mass + pool->start[cell] + cell;
    double all = (double)pool->images[cell] + 1, allowed = all * alpha - 1 + 1e-12 * all; /* sums are rounded */
    size_t low = 0, n = vg_set_pool__samples(pool, cell), high = n;
    while (low < high) { /* the first score that may be t: what lies above it is allowed */
        size_t middle = low + (high - low) / 2;
        *(mass[middle + 1] <= allowed ? &high : &low) = mass[middle + 1] <= allowed ? middle : middle + 1;
    }
    return low < n ? pool->score[pool->start[cell] + low] : INFINITY;
}

double vg_set_units__p_value(const vg_set_pool *pool, size_t cell, double s) {
    size_t n = vg_set_pool__samples(pool, cell);
    size_t first = vg_set__first_at_least(pool->score + pool->start[cell], n, s);
    return (1 + pool->mass[pool->start[cell] + cell + first]) / ((double)pool->images[cell] + 1);
}

/* --- means over images -------------------------------------------------------------------------------------------- */
unsigned long long vg_set_units__close(vg_set_units *u) {
    double n = (double)u->rows, share = n > 0 ? u->open[VG_SET_UNIT_MISSED] / n : 0;
    u->loss += share;
    u->losses += share * share;
    u->rows_squared += n * n;
    for (size_t f = 0; f < VG_SET_UNIT_MISSED; f++) {
        u->squares[f] += u->open[f] * u->open[f];
        u->products[f] += u->open[f] * n;
    }
    memset(u->open, 0, sizeof u->open);
    u->count += u->rows != 0;
    u->rows = 0;
    return u->count;
}

void vg_set_units__add(vg_set_units *u, unsigned long long image, size_t size, bool missed) {
    if (image != u->current)
        vg_set_units__close(u);
    u->current = image;
    u->rows++;
    u->open[VG_SET_UNIT_MISSED] += missed;
    u->open[VG_SET_UNIT_SIZE] += (double)size;
    u->open[VG_SET_UNIT_SINGLE] += size == 1;
    u->open[VG_SET_UNIT_EMPTY] += size == 0;
}
