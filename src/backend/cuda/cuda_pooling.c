/* cuda_pooling.c - bias, pooling, ReLU and dropout on the device: shapes, scratch, the one kernel each way
 * (pooling.cu). */
#include "backend/cuda/cuda_layers.h"

/* Forward and backward: the pooled side is `small`, the other `large`. */
static vg_status prepare(vg_backend *backend, cuda_pooling_args *args, const vg_pooling *pooling,
                         const vg_tensor *small, const vg_tensor *large, const vg_tensor *choice) {
    vg_shape s = small->shape;
    size_t groups = cuda_t(small)->channels / 8;
    *args = (cuda_pooling_args){.choice = choice ? cuda_t(choice)->data : NULL,
                                .counters = cuda_of(backend)->counters,
                                .channels = (uint32_t)s.c,
                                .pool = (uint32_t)pooling->pool,
                                .in_height = (uint32_t)large->shape.h,
                                .in_width = (uint32_t)large->shape.w,
                                .groups = cuda_divider_of((uint32_t)groups),
                                .width = cuda_divider_of((uint32_t)s.w),
                                .height = cuda_divider_of((uint32_t)s.h),
                                .relu = pooling->relu,
                                .floor = vg_cuda__floor(pooling->relu),
                                .mask = vg_cuda__mask(backend, pooling->dropout, s)};
    VG_TRY(vg_cuda__positions(&args->positions, small));
    if (args->positions * groups >= ((size_t)1 << 31) - 1024 || pooling->pool > 15)
        return vg_base__fail(VG_ERR_UNSUPPORTED,
                             "pooling %zu x %zu to %zu x %zu x %zu x %zu are not supported by this backend: too large",
                             pooling->pool, pooling->pool, small->n, s.c, s.h, s.w);
    return VG_OK;
}

vg_status vg_cuda__pooling_forward(vg_backend *backend, const vg_pooling *pooling, vg_tensor *y, vg_tensor *choice,
                                   const vg_tensor *x, const vg_block *theta, const vg_param *bias) {
    cuda_pooling_args args;
    VG_TRY(vg_cuda__writes(backend, y));
    VG_TRY(vg_cuda__output(backend, y));
    VG_TRY(prepare(backend, &args, pooling, y, x, choice));
    args.x = cuda_t(x)->data;
    args.out = cuda_t(y)->data;
    args.bias = bias ? cuda_b(theta)->data + bias->offset : NULL;
    vg_cuda__pooling_run_forward(&args, cuda_bf16(backend), cuda_of(backend)->stream);
    return vg_cuda__launched("bias, pooling, ReLU");
}

vg_status vg_cuda__pooling_backward(vg_backend *backend, const vg_pooling *pooling, const vg_pooling_gradient *to,
                                    vg_block *grad) {
    vg_tensor *dx = to->dx;
    const vg_tensor *dy = to->dy, *y = to->y, *choice = to->choice;
    const vg_param *bias = to->bias;
    cuda_context *cuda = cuda_of(backend);
    cuda_pooling_args args;
    void *scratch;
    VG_TRY(vg_cuda__writes(backend, dx));
    VG_TRY(vg_cuda__output(backend, dx));
    VG_TRY(prepare(backend, &args, pooling, dy, dx, choice));
    args.x = cuda_t(dy)->data;
    args.y = cuda_t(y)->data;
    args.out = cuda_t(dx)->data;
    args.scale = args.mask.scale;
    if (pooling->relu) /* y = 0 marks dropped elements */
        args.mask.mode = CUDA_MASK_NONE;
    args.shape = vg_cuda__sum_shape(args.positions, args.groups.divisor, cuda_in_flight(cuda_bf16(backend), true),
                                    (uint32_t)cuda->multiprocessors);
    if (bias) {
        if (args.shape.chunks > CUDA_COUNTERS)
            return vg_base__fail(VG_ERR_UNSUPPORTED,
                                 "biases of %zu channels are not supported by this backend: too large", dy->shape.c);
        VG_TRY(vg_cuda__scratch(cuda, &scratch, vg_cuda__sum_scratch(&args.shape, 1) * sizeof(float)));
        args.partials = scratch;
        args.dbias = cuda_b(grad)->data + bias->offset;
        grad->version++;
    }
    vg_cuda__pooling_run_backward(&args, cuda_bf16(backend), cuda->stream);
    return vg_cuda__launched("bias, pooling, ReLU gradient");
}
