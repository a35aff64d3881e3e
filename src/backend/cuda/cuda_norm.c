/* cuda_norm.c - batch-norm on the device: shapes, scratch, and which kernels run (norm.cu). */
#include "backend/cuda/cuda_layers.h"

enum { STATISTICS = 2, COEFFICIENTS = 4 };

static void describe(vg_backend *backend, cuda_norm_args *args, const vg_norm *norm, const vg_tensor *x) {
    *args = (cuda_norm_args){.x = cuda_t(x)->data,
                             .counters = cuda_of(backend)->counters,
                             .channels = (uint32_t)x->shape.c,
                             .epsilon = norm->epsilon,
                             .floor = vg_cuda__floor(norm->relu),
                             .mask = vg_cuda__mask(backend, norm->dropout, x->shape)};
}

/* Positions; where sums are taken (`step` > 0 positions per thread at once), their shape and scratch memory. */
static vg_status prepare(vg_backend *backend, cuda_norm_args *args, const vg_tensor *x, uint32_t step) {
    cuda_context *cuda = cuda_of(backend);
    uint32_t groups = (uint32_t)(cuda_t(x)->channels / 8);
    VG_TRY(vg_cuda__positions(&args->positions, x));
    args->inverse_count = 1.0 / (double)args->positions;
    args->inverse_unbiased = 1.0 / (double)(args->positions > 1 ? args->positions - 1 : 1);
    if (!step)
        return VG_OK;
    args->shape = vg_cuda__sum_shape(args->positions, groups, step, (uint32_t)cuda->multiprocessors);
    if (args->shape.chunks > CUDA_COUNTERS)
        return vg_base__fail(VG_ERR_UNSUPPORTED,
                             "batch-norm over %zu channels is not supported by this backend: too large", x->shape.c);
    size_t coefficients = (size_t)COEFFICIENTS * groups * 8, partials = vg_cuda__sum_scratch(&args->shape, STATISTICS);
    void *scratch;
    VG_TRY(vg_cuda__scratch(cuda, &scratch, (coefficients + partials) * sizeof(float)));
    args->coefficients = scratch;
    args->partials = args->coefficients + coefficients;
    return VG_OK;
}

vg_status vg_cuda__norm_forward(vg_backend *backend, const vg_norm *norm, const vg_norm_pass *pass,
                                const vg_block *theta) {
    vg_tensor *y = pass->y, *running = pass->running, *saved = pass->saved;
    const vg_tensor *x = pass->x;
    const vg_param *gamma = pass->gamma, *beta = pass->beta;
    cuda_context *cuda = cuda_of(backend);
    bool half = cuda_bf16(backend);
    uint32_t step = cuda_in_flight(half, false);
    cuda_norm_args args;
    VG_TRY(vg_cuda__writes(backend, y));
    describe(backend, &args, norm, x);
    args.gamma = cuda_b(theta)->data + gamma->offset;
    args.beta = cuda_b(theta)->data + beta->offset;
    VG_TRY(prepare(backend, &args, x, norm->training ? step : 0));
    args.out = cuda_t(y)->data;
    args.running = cuda_t(running)->data;
    args.saved = saved ? cuda_t(saved)->data : NULL;
    if (saved)
        cuda_t(saved)->twin_valid = false;
    if (norm->training) {
        cuda_t(running)->twin_valid = false;
        vg_cuda__norm_statistics(&args, half, cuda->stream);
        VG_TRY(vg_cuda__launched("batch-norm statistics"));
        args.running = NULL;
    }
    args.shape =
        vg_cuda__row_shape(args.positions, (uint32_t)(cuda_t(x)->channels / 8), step,
                           (uint32_t)cuda->multiprocessors * (args.mask.mode ? CUDA_DRAW_BLOCKS : CUDA_ROW_BLOCKS));
    vg_cuda__norm_apply(&args, half, cuda->stream);
    return vg_cuda__launched("batch-norm");
}

vg_status vg_cuda__norm_backward(vg_backend *backend, const vg_norm *norm, const vg_norm_gradient *to,
                                 const vg_block *theta, vg_block *grad) {
    vg_tensor *dx = to->dx;
    const vg_tensor *dy = to->dy, *x = to->x, *saved = to->saved, *addend = to->addend;
    const vg_param *gamma = to->gamma, *beta = to->beta;
    cuda_context *cuda = cuda_of(backend);
    bool half = cuda_bf16(backend);
    uint32_t step = cuda_in_flight(half, true);
    cuda_norm_args args;
    VG_TRY(vg_cuda__writes(backend, dx));
    describe(backend, &args, norm, x);
    args.gamma = cuda_b(theta)->data + gamma->offset;
    args.beta = cuda_b(theta)->data + beta->offset;
    VG_TRY(prepare(backend, &args, x, step));
    args.dy = cuda_t(dy)->data;
    args.addend = addend ? cuda_t(addend)->data : NULL;
    args.out = cuda_t(dx)->data;
    args.saved = cuda_t(saved)->data;
    args.dgamma = cuda_b(grad)->data + gamma->offset;
    args.dbeta = cuda_b(grad)->data + beta->offset;
    grad->version++;
    vg_cuda__norm_sums(&args, half, cuda->stream);
    VG_TRY(vg_cuda__launched("batch-norm gradient sums"));
    args.shape = vg_cuda__row_shape(args.positions, (uint32_t)(cuda_t(x)->channels / 8), step,
                                    (uint32_t)cuda->multiprocessors * CUDA_BACK_BLOCKS);
    vg_cuda__norm_apply_backward(&args, half, cuda->stream);
    return vg_cuda__launched("batch-norm gradient");
}
