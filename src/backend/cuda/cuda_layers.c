/* cuda_layers.c - how positions and channels are divided into blocks, and the host's part of a mask. */
#include "backend/cuda/cuda_layers.h"

#include <math.h>

#include "backend/counter.h"

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t parts(uint32_t whole, uint32_t part) { return whole / part + (whole % part != 0); }

/* At most `blocks` blocks, with the same number of rounds each where possible. */
static uint32_t tiles_of(uint32_t positions, uint32_t step, uint32_t chunks, uint32_t blocks) {
    uint32_t needed = parts(positions, step), most = blocks / chunks;
    if (most < 1)
        most = 1;
    return parts(needed, parts(needed, most));
}

cuda_shape vg_cuda__sum_shape(uint32_t positions, uint32_t groups, uint32_t unroll, uint32_t multiprocessors) {
    cuda_shape s = {groups, groups, 0, 0, 0};
    if (groups > CUDA_SUM_GROUPS)
        s.block_groups = groups % CUDA_SUM_GROUPS == 0 ? CUDA_SUM_GROUPS
                         : groups % 2 == 0             ? 2
                                                       : least(groups, CUDA_SUM_GROUPS);
    s.lanes = CUDA_SUM_THREADS / s.block_groups;
    s.chunks = parts(groups, s.block_groups);
    s.tiles = tiles_of(positions, s.lanes * unroll, s.chunks, multiprocessors * CUDA_SUM_BLOCKS);
    /* Small tensors get smaller blocks and more of them. Sixteen lanes give as many threads as a block has sums. */
    while (s.tiles > 1 && 2 * s.chunks * s.tiles <= multiprocessors && s.lanes >= 32) {
        s.lanes /= 2;
        s.tiles = tiles_of(positions, s.lanes * unroll, s.chunks, multiprocessors * CUDA_SUM_BLOCKS);
    }
    return s;
}

cuda_shape vg_cuda__row_shape(uint32_t positions, uint32_t groups, uint32_t unroll, uint32_t blocks) {
    cuda_shape s = {groups, groups, 1, 1, 0};
    if (groups > CUDA_ROW_THREADS) {
        s.chunks = parts(groups, CUDA_ROW_THREADS);
        s.block_groups = parts(groups, s.chunks);
    }
    s.lanes = CUDA_ROW_THREADS / s.block_groups;
    for (uint32_t lanes = s.lanes; lanes * s.block_groups >= CUDA_ROW_THREADS / 2; lanes--)
        if (lanes * s.block_groups % 32 == 0) { /* whole warps */
            s.lanes = lanes;
            break;
        }
    s.tiles = tiles_of(positions, s.lanes * unroll, s.chunks, blocks);
    return s;
}

size_t vg_cuda__sum_scratch(const cuda_shape *s, size_t statistics) {
    return (size_t)s->chunks * s->tiles * s->block_groups * 8 * statistics;
}

cuda_mask vg_cuda__mask(vg_backend *backend, vg_dropout dropout, vg_shape shape) {
    cuda_mask mask = {
        .step = cuda_of(backend)->step, .scale = 1.0f, .channels = (uint32_t)shape.c, .stream = dropout.stream};
    mask.area = cuda_divider_of((uint32_t)(shape.h * shape.w));
    if (dropout.p > 0.0f) {
        mask.mode = shape.c % 8 == 0 ? CUDA_MASK_ALIGNED : CUDA_MASK_ODD;
        uint32_t threshold = vg_counter__threshold(dropout.p);
        /* Above 65535 all elements are dropped: they are kept with a factor of zero, because the threshold would
         * overflow. */
        mask.threshold = threshold > 0xFFFFu ? 0 : threshold << 16;
        mask.scale = threshold > 0xFFFFu ? 0.0f : 1.0f / (1.0f - dropout.p);
    }
    return mask;
}

float vg_cuda__floor(bool relu) { return relu ? 0.0f : -INFINITY; }

vg_status vg_cuda__positions(uint32_t *out, const vg_tensor *t) {
    size_t count;
    if (!vg_base__mul(&count, t->shape.h, t->shape.w) || !vg_base__mul(&count, count, t->n) ||
        count >= (size_t)1 << 31 || cuda_t(t)->channels / 8 >= (size_t)1 << 20)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "an activation of %zu x %zu x %zu x %zu is too large for this backend",
                             t->n, t->shape.c, t->shape.h, t->shape.w);
    *out = (uint32_t)count;
    return VG_OK;
}

vg_status vg_cuda__output(vg_backend *backend, vg_tensor *t) {
    cuda_t(t)->patches_valid = cuda_t(t)->twin_valid = false;
    return vg_cuda__writes(backend, t);
}
