/* oracle_util.h - what tests of random small inputs against plain definitions share. The test defines WITHIN, how far a
 * figure may be off, relative to 1 + its size. */
#ifndef ORACLE_UTIL_H
#define ORACLE_UTIL_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/random.h"

typedef long double real;

static char place[160]; /* which trial, for messages */

static void near(const char *what, double found, real expected) {
    if (isnan(found) && isnan((double)expected))
        return;
    if (!(fabsl((real)found - expected) <= WITHIN * (1 + fabsl(expected))))
        fail_msg("%s: %s is %.17g, expected %.17Lg", place, what, found, expected);
}

static size_t below(vg_random *random, size_t n) { return (size_t)vg_random__below(random, n); }

static inline real variance_of(const real *x, size_t count) {
    real mean = 0, square = 0;
    for (size_t i = 0; i < count; i++)
        mean += x[i] / (real)count;
    for (size_t i = 0; i < count; i++)
        square += (x[i] - mean) * (x[i] - mean);
    return count > 1 ? square / (real)(count - 1) : 0;
}

/* The two classes of largest mean; of equal ones the first. */
static inline void find_leaders(size_t *best, size_t *second, const double *mean, size_t classes) {
    *best = 0;
    for (size_t c = 1; c < classes; c++)
        *best = mean[c] > mean[*best] ? c : *best;
    *second = *best == 0;
    for (size_t c = 0; c < classes; c++)
        *second = c != *best && mean[c] > mean[*second] ? c : *second;
}

/* `levels` different values, from the smallest steps of double to large ones, of both signs. */
static inline void fill(double *values, size_t count, vg_random *random) {
    static const size_t levels[] = {1, 2, 3, 8, 1000};
    static const double scales[] = {1, 0.125, 1e300, 1e-310, 3e-17};
    size_t level = levels[below(random, 5)];
    double scale = scales[below(random, 5)], shift = below(random, 2) ? -0.5 * (double)level : 0;
    for (size_t i = 0; i < count; i++)
        values[i] = scale * ((double)below(random, level) + shift);
}

/* The share of pairs of a positive row and another in which the positive one has the larger value, ties half. */
static inline real area_of_roc(const double *u, const uint8_t *positive, size_t n) {
    real pairs = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (positive[i] && !positive[j]) {
                pairs += 1;
                sum += u[i] > u[j] ? 1 : u[i] == u[j] ? 0.5L : 0;
            }
    return pairs > 0 ? sum / pairs : (real)NAN;
}

/* Average precision: over the positives, the share of positives among the rows of at least their value. */
static inline real average_precision(const double *u, const uint8_t *positive, size_t n) {
    real sum = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        real hits = 0, rows = 0;
        for (size_t j = 0; positive[i] && j < n; j++)
            if (u[j] >= u[i]) {
                rows += 1;
                hits += positive[j];
            }
        sum += positive[i] ? hits / rows : 0;
        all += positive[i];
    }
    return all > 0 ? sum / all : (real)NAN;
}

#endif
