/* pairwise.h - EPJS computed directly, pair by pair, and tuned by hand: what the library's O(M C) form is compared
 * with.
 */
#ifndef BENCH_PAIRWISE_H
#define BENCH_PAIRWISE_H

#include "stopwatch.h"

/* epjs[s.n] of p[s.n][s.m][s.c], all ordered pairs, 1/M^2, nats. Returns 0, or 1 with a line on stderr. */
int pairwise_epjs(double *epjs, const float *p, const shape *s);

/* "avx512", "avx2" or "portable": the vectors it uses here. */
const char *pairwise_tier(void);

#endif
