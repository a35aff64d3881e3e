/* figures.h - the figures of bench_score. Each function prints its lines and returns 0, or prints the reason on
 * stderr and returns 1. */
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H

#include "draw.h"
#include "stopwatch.h"

typedef struct bench_options {
    unsigned threads;
    size_t divide; /* samples are divided by it, for quick trials */
    int runs;      /* repetitions, at least */
    drawing kind;
    const char *vargate; /* the program, for the figures on a file */
    const char *folder;  /* where that file goes */
} bench_options;

/* All measures, ungated and gated at k = 1, 2, 3, with GMU, SNR and decisions; for comparison without EPJS and GEPJS.
 * */
int bench_everything(const bench_options *o);
/* EPJS alone at M = 100, 200, 500, 1000, beside the pairwise loop. */
int bench_epjs(const bench_options *o);
/* GMU, SNR and decisions beside a sum over the same tensor. */
int bench_margin(const bench_options *o);
/* 1 and 16 gate settings, without GEPJS. */
int bench_gates(const bench_options *o);
/* A call on one sample, every measure. */
int bench_one(const bench_options *o);
/* `vargate decide --stdin-jsonl`: lines for a second of CPU time. */
int bench_stream(const bench_options *o);
/* `vargate score` of a file in the page cache, beside the same measures in memory. */
int bench_file(const bench_options *o);

/* Sets of measures. */
enum { ENTROPIES = 1, EPJS = 2, GATED = 4, GEPJS = 8, MARGIN = 16, EVERYTHING = 31 };
/* Times the library on p[n][m][c]; k NULL: 1, 2, 3. */
int time_score(timing *out, const float *p, const shape *s, int what, const double *k, size_t k_count, int runs);

#endif
