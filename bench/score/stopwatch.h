/* stopwatch.h - times, threads and JSON lines of the scoring benchmark. */
#ifndef BENCH_STOPWATCH_H
#define BENCH_STOPWATCH_H

#include <stddef.h>

/* What a figure is about, printed with it. */
typedef struct shape {
    size_t n, m, c;
    unsigned threads;
} shape;

/* The fastest of several runs: its wall time, and the CPU time of the run that used least. On a busy machine CPU time
 * is the more reliable of the two. */
typedef struct timing {
    double ms, cpu_ms;
    int runs;
} timing;

/* Work to be timed; returns 0, or the exit status of the program. */
typedef int (*timed_fn)(void *context);

/* Runs once to warm up, then at least `runs` times and until half a second has passed. */
int time_best(timing *out, timed_fn work, void *context, int runs);

/* Runs `work` on `threads` threads, thread t bound to processor t where the system allows it. */
typedef void (*thread_fn)(void *context, unsigned thread, unsigned threads);
int on_threads(unsigned threads, thread_fn work, void *context);

/* {"bench": "score", "figure": ..., shape, times, `more`, cpu, tier}; `more` is "" or ", \"key\": value ...". */
void print_figure(const char *figure, const shape *s, const timing *t, const char *more);

#endif
