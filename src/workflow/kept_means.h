/* kept_means.h - means over members of some samples, kept while all pass by, for advice that needs only some.
 *
 * Sample i is drawn at random, always the same, from the i-th of `count` equal ranges of the n samples, so that neither
 * an order of the samples nor a period in it matters. With as many ranges as samples, all are kept. */
#ifndef VG_WORKFLOW_KEPT_MEANS_H
#define VG_WORKFLOW_KEPT_MEANS_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/status.h"

typedef struct vg_kept_means {
    size_t n, classes, count, done;
    double *mean;    /* count x classes */
    int64_t *labels; /* count */
} vg_kept_means;

vg_status vg_kept_means__new(vg_kept_means *out, size_t count, size_t n, size_t classes);
void vg_kept_means__free(vg_kept_means *kept);
/* Takes those of samples first .. first + rows - 1, whose means and labels are given. Blocks come in order. */
void vg_kept_means__take(vg_kept_means *kept, size_t first, size_t rows, const double *mean, const int64_t *labels);

#endif
