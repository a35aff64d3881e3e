/* cuda_conv_pooling.c - a convolution of the CNN and the pooling after it in one kernel, for the shapes of that
 * network: the first layer in both directions (conv_pooling.cu), the second forward (conv_pooling_wide.cu); and the
 * second layer's gradient to its input (conv_wide_data.cu). */
#include "backend/cuda/conv_pooling/conv_pooling.h"
#include "backend/cuda/cuda_accelerators.h"

/* A 5 x 5 convolution without padding, pooled by two. */
static bool suits(vg_backend *b, const vg_conv_pooling *op) {
    const vg_param *w = op->w;
    vg_shape x = op->x->shape, y = op->y->shape;
    return cuda_bf16(b) && cuda_of(b)->acceleration != VG_ACCELERATE_NEVER && w->kind == VG_PARAM_CONV && w->h == 5 &&
           w->w == 5 && op->conv.stride == 1 && op->conv.pad == 0 && op->pooling.pool == 2 && op->pooling.relu &&
           y.h * 2 + 4 == x.h && y.w * 2 + 4 == x.w && y.c == w->o && op->x->n < (size_t)1 << 20;
}

static bool first_serves(vg_backend *b, const vg_conv_pooling *op) {
    return suits(b, op) && op->w->i == 1 && vg_cuda__conv_pooling_fits(op->x->shape.h, op->x->shape.w, op->w->o);
}

/* Whether a block can have the shared memory that the second layer's kernels need. */
static bool room_for_wide(void) {
    int device = 0, shared = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess &&
           shared >= CONV_POOLING_WIDE_SHARED;
}

static bool wide_serves(vg_backend *b, const vg_conv_pooling *op) {
    vg_shape x = op->x->shape;
    return suits(b, op) && op->w->i == CONV_POOLING_WIDE_INPUTS && x.h == CONV_POOLING_WIDE_SIDE &&
           x.w == CONV_POOLING_WIDE_SIDE && op->w->o % 64 == 0 && op->w->o <= 4096 && room_for_wide();
}

/* Arguments common to forward and backward. */
static cuda_conv_pooling_args shared_args(vg_backend *b, const vg_conv_pooling *op) {
    vg_shape x = op->x->shape, y = op->y->shape;
    return (cuda_conv_pooling_args){.images = cuda_t(op->x)->data,
                                    .choice = op->choice ? cuda_t(op->choice)->data : NULL,
                                    .n = (uint32_t)op->x->n,
                                    .height = (uint32_t)x.h,
                                    .width = (uint32_t)x.w,
                                    .channels = (uint32_t)y.c,
                                    .windows = (uint32_t)(y.h * y.w),
                                    .out_width = cuda_divider_of((uint32_t)y.w),
                                    .pitch = cuda_divider_of((uint32_t)x.w + 2),
                                    .mask = vg_cuda__mask(b, op->pooling.dropout, y)};
}

static vg_status forward(vg_backend *b, const vg_conv_pooling *op, const vg_block *theta, bool *done) {
    const void *weights;
    bool first = first_serves(b, op);
    *done = first || wide_serves(b, op);
    if (!*done)
        return VG_OK;
    VG_TRY(vg_cuda__output(b, op->y));
    VG_TRY(vg_cuda__weights(b, &weights, theta, op->w));
    cuda_conv_pooling_args args = shared_args(b, op);
    args.weights = weights;
    args.bias = op->bias ? cuda_b(theta)->data + op->bias->offset : NULL;
    args.y = cuda_t(op->y)->data;
    if (first)
        vg_cuda__conv_pooling_run_forward(&args, cuda_of(b)->stream);
    else
        vg_cuda__conv_pooling_run_wide(&args, cuda_of(b)->stream);
    return vg_cuda__launched("convolution, pooling, ReLU");
}

static vg_status backward(vg_backend *b, const vg_conv_pooling *op, vg_block *grad, const vg_tensor *dy, bool *done) {
    void *scratch;
    *done = first_serves(b, op) && op->choice;
    if (!*done)
        return VG_OK;
    cuda_conv_pooling_args args = shared_args(b, op);
    VG_TRY(
        vg_cuda__scratch(cuda_of(b), &scratch, vg_cuda__conv_pooling_scratch(args.n, args.channels) * sizeof(float)));
    args.partials = scratch;
    args.dy = cuda_t(dy)->data;
    args.scale = args.mask.scale;
    args.dw = cuda_b(grad)->data + op->w->offset;
    args.dbias = op->bias ? cuda_b(grad)->data + op->bias->offset : NULL;
    grad->version++;
    vg_cuda__conv_pooling_run_backward(&args, cuda_of(b)->stream);
    return vg_cuda__launched("gradients of a convolution and its pooling");
}

static vg_status backward_data(vg_backend *b, const vg_conv *conv, vg_tensor *dx, const vg_tensor *dy,
                               const vg_block *theta, const vg_param *w, bool *done) {
    const void *weights;
    vg_shape x = dx->shape;
    *done = cuda_bf16(b) && cuda_of(b)->acceleration != VG_ACCELERATE_NEVER && w->h == 5 && w->w == 5 &&
            conv->stride == 1 && conv->pad == 0 && x.h == CONV_POOLING_WIDE_SIDE && x.w == CONV_POOLING_WIDE_SIDE &&
            w->o == CONV_POOLING_WIDE_OUTPUTS && w->i % 64 == 0 && w->i <= 4096 && dx->n < (size_t)1 << 20 &&
            room_for_wide();
    if (!*done)
        return VG_OK;
    VG_TRY(vg_cuda__weights(b, &weights, theta, w));
    cuda_conv_wide_data args = {cuda_t(dy)->data, weights, cuda_t(dx)->data, (uint32_t)dx->n, (uint32_t)w->i};
    vg_cuda__conv_wide_run_data(&args, cuda_of(b)->stream);
    return vg_cuda__launched("gradient to a convolution's input");
}

extern const cuda_accelerator vg_cuda__conv_poolings;
const cuda_accelerator vg_cuda__conv_poolings = {.name = "conv_pooling",
                                                 .conv_pooling_forward = forward,
                                                 .conv_pooling_backward = backward,
                                                 .conv_backward_data = backward_data};
