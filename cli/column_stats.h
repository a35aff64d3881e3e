/* column_stats.h - mean and exact quantiles of a measure over all samples, in bounded memory. */
#ifndef CLI_COLUMN_STATS_H
#define CLI_COLUMN_STATS_H

#include "column_store.h"

/* How the labels of a multilabel sample become one value. */
typedef enum stats_over { STATS_PLAIN, STATS_LABEL_MEAN, STATS_LABEL_MAX } stats_over;

typedef struct column_stats {
    double mean, median, p95;
} column_stats;

/* Over the N samples of a measure (gate setting k of a gated one). */
typedef struct column_request {
    score_field field;
    size_t k;
    stats_over over;
    column_stats stats; /* the answer */
} column_request;

/* Answers `count` requests on so many threads (0: one a core), the same whatever their number. Quantiles are NumPy's: position
 * q (N - 1) in sorted order, linear between neighbours. NaN when any value is NaN. Returns an exit code. */
int column_stats_compute(column_request *requests, size_t count, const column_store *store, size_t threads);

#endif
