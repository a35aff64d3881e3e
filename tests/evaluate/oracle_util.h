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

#endif
