/* column_stats.h - mean and exact quantiles of a measure over all samples, in bounded memory. */
#ifndef VG_WORKFLOW_COLUMN_STATS_H
#define VG_WORKFLOW_COLUMN_STATS_H

#include "workflow/column_store.h"

/* How the labels of a multilabel sample become one value. */
typedef enum vg_stats_over { VG_STATS_PLAIN, VG_STATS_LABEL_MEAN, VG_STATS_LABEL_MAX } vg_stats_over;

/* Over the N samples of a measure (gate setting k of a gated one). */
typedef struct vg_column_request {
    vg_field field;
    size_t k;
    vg_stats_over over;
    vg_column_stats stats; /* the answer */
} vg_column_request;

/* Answers `count` requests on `threads` threads (0: one per core); results do not depend on their number. Quantiles
 * are NumPy's: position q (N - 1) in sorted order, linear between neighbours. NaN when any value is NaN. */
vg_status vg_column_stats__compute(vg_column_request *requests, size_t count, const vg_column_store *store,
                                   size_t threads);

#endif
