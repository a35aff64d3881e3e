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

#endif
