/* cuda_adam.c - Adam over a block or a part of it (elementwise.cu), with decoupled decay or clipped gradients, and
 * stochastic gradient descent (optimiser.cu). All write the bfloat16 copy of the weights as well. */
#include "backend/cuda/optimiser.h"

/* v NULL: stochastic gradient descent. */
static vg_status launch(vg_backend *b, vg_block *theta, const vg_block *grad, vg_block *m, vg_block *v, size_t first,
                        size_t count) {
    cuda_block *to = cuda_b(theta);
    const cuda_block *from = cuda_b(grad);
    cuda_adam_args args = {.step = cuda_of(b)->step,
                           .theta = to->data + first,
                           .grad = from->data + first,
                           .half = from->twin ? (const uint16_t *)from->twin + first : NULL,
                           .narrow = from->narrow ? from->narrow + first / 16 : NULL,
                           .m = cuda_b(m)->data + first,
                           .v = v ? cuda_b(v)->data + first : NULL,
                           .twin = to->twin ? (uint16_t *)to->twin + first : NULL,
                           .count = count};
    const float *scale = cuda_of(b)->clipped ? cuda_of(b)->clip : NULL;
    if (!v)
        vg_cuda__k_sgd(cuda_of(b)->stream, &args, scale);
    else if (scale || b->step.decoupled)
        vg_cuda__k_scaled_adam(cuda_of(b)->stream, &args, scale);
    else
        vg_cuda__k_adam(cuda_of(b)->stream, &args);
    return vg_cuda__launched("the optimiser");
}

/* A bfloat16 copy that was up to date stays so. */
static void changed(vg_block *theta) {
    cuda_block *block = cuda_b(theta);
    bool current = block->twin && block->twin_version == theta->version;
    theta->version++;
    if (current)
        block->twin_version = theta->version;
}

vg_status vg_cuda__adam(vg_backend *b, vg_block *theta, const vg_block *grad, vg_block *m, vg_block *v) {
    VG_TRY(vg_cuda__join(b));
    VG_TRY(launch(b, theta, grad, m, v, 0, theta->count));
    cuda_of(b)->clipped = false;
    theta->version++;
    if (cuda_b(theta)->twin)
        cuda_b(theta)->twin_version = theta->version;
    return VG_OK;
}

vg_status vg_cuda__adam_part(vg_backend *b, vg_block *theta, const vg_block *grad, vg_block *m, vg_block *v,
                             const vg_adam_range *range) {
    size_t first = range->first, count = range->count;
    if (first % 16 || count % 16 || first > theta->count || count > theta->count - first)
        return vg_base__fail(
            VG_ERR_ARGUMENT,
            "cuda: Adam over %zu values from %zu on, of a block of %zu: both must be multiples of 16 inside the block",
            count, first, theta->count);
    changed(theta);
    if (!range->beside) {
        VG_TRY(vg_cuda__join_side(b));
        vg_status status = count ? launch(b, theta, grad, m, v, first, count) : VG_OK;
        vg_status joined = vg_cuda__join(b);
        return status == VG_OK ? joined : status;
    }
    VG_TRY(vg_cuda__late_begin(b));
    vg_status status = launch(b, theta, grad, m, v, first, count);
    vg_status end = vg_cuda__late_end(b);
    return status == VG_OK ? end : status;
}

vg_status vg_cuda__sgd(vg_backend *b, vg_block *theta, const vg_block *grad, vg_block *m) {
    return vg_cuda__adam(b, theta, grad, m, NULL);
}

/* The gradients stay as they are; the kernels of the optimiser multiply them by the factor. */
vg_status vg_cuda__clip(vg_backend *b, vg_block *grad, float most) {
    cuda_context *c = cuda_of(b);
    const cuda_block *from = cuda_b(grad);
    double *partial;
    VG_TRY(vg_cuda__join(b));
    if (!c->clip)
        VG_TRY(vg_cuda__alloc(c, &c->clip, sizeof *c->clip, true, "the factor of clipped gradients"));
    VG_TRY(vg_cuda__scratch(c, &partial, CUDA_CLIP_BLOCKS * sizeof *partial));
    cuda_adam_args args = {.grad = from->data, .half = from->twin, .narrow = from->narrow, .count = grad->count};
    vg_cuda__k_clip(c->stream, &args, most, partial, c->clip);
    c->clipped = true;
    return vg_cuda__launched("the norm of the gradients");
}

vg_status vg_cuda__block_average(vg_backend *b, vg_block *mean, const vg_block *theta) {
    VG_TRY(vg_cuda__join(b));
    vg_cuda__k_block_average(cuda_of(b)->stream, cuda_of(b)->step, cuda_b(mean)->data, cuda_b(theta)->data,
                             mean->count);
    mean->version++;
    return vg_cuda__launched("the mean of the parameters");
}
