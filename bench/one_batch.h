/* one_batch.h - a feed of training images that gives the same batch at every step, so that only the training is
 * timed. */
#ifndef BENCH_ONE_BATCH_H
#define BENCH_ONE_BATCH_H

#include "vargate/nn.h"

static inline vg_status one_batch_seek(void *context, uint64_t epoch, size_t step) {
    (void)context, (void)epoch, (void)step;
    return VG_OK;
}

static inline vg_status one_batch_next(void *context, vg_nn_batch *batch) {
    *batch = *(const vg_nn_batch *)context;
    return VG_OK;
}

/* An epoch of `steps` such batches; `batch` is borrowed. */
static inline vg_feed one_batch_feed(vg_nn_batch *batch, size_t steps) {
    vg_feed feed = {batch, steps * batch->n, steps, one_batch_seek, one_batch_next};
    return feed;
}

#endif
