/* member_figures.h - figures of a batch of logits that need every member of every sample. Internal.
 *
 *     loss(n)         = mean over m of  logsumexp(z[n][m]) - z[n][m][label(n)]
 *     disagreement(n) = share of the pairs of distinct members whose most probable classes differ */
#ifndef VG_MEMBER_FIGURES_H
#define VG_MEMBER_FIGURES_H

#include <stdint.h>

#include "base/base.h"

typedef struct vg_member_logits {
    const float *logits;   /* [n][members][classes], finite */
    const int32_t *labels; /* [n], each in 0 .. classes - 1 */
    size_t n, members, classes;
} vg_member_logits;

typedef struct vg_member_figures {
    double *loss, *disagreement; /* [n]; loss NULL: not wanted */
    uint32_t *work;              /* for each worker of the pool: members + classes, zeroed before the first call */
} vg_member_figures;

/* Fills `out`; the samples are shared among the pool's threads. */
vg_status vg_member_figures__batch(const vg_member_figures *out, const vg_member_logits *in, vg_pool *pool);

#endif
