/* cuda_conv.c - the three products of a convolution.
 *
 * A forward convolution adds its addend in the same pass where an engine supports that and it is faster than a separate
 * pass; addends of data gradients take a separate pass. Weight gradients of bfloat16 products stay bfloat16 (sums in
 * float32, rounded once), and Adam converts them. */
#include "backend/cuda/cuda_conv.h"
#include "backend/cuda/cuda_accelerators.h"
#include "backend/cuda/elementwise.h"

cuda_conv_key vg_cuda__conv_key(cuda_conv_kind kind, const vg_conv *conv, const vg_param *w, const vg_tensor *x,
                                const vg_tensor *y) {
    cuda_conv_key key = {.kind = kind,
                         .n = (int64_t)x->n,
                         .c = (int64_t)cuda_pad(w->i),
                         .h = (int64_t)x->shape.h,
                         .w = (int64_t)x->shape.w,
                         .o = (int64_t)cuda_pad(w->o),
                         .r = (int64_t)w->h,
                         .s = (int64_t)w->w,
                         .oh = (int64_t)y->shape.h,
                         .ow = (int64_t)y->shape.w,
                         .stride = (int64_t)conv->stride,
                         .pad = (int64_t)conv->pad};
    return key;
}

/* Whether the fused key has an engine and is no slower than the plain one followed by a separate pass. */
static vg_status better(vg_backend *b, const cuda_conv_key *fused, const cuda_conv_places *fused_places,
                        const cuda_conv_key *plain, const cuda_conv_places *plain_places, float pass, bool *out) {
    bool served, tried = false;
    if (vg_cuda__conv_time(b, fused) < 0) {
        VG_TRY(vg_cuda__conv_run(b, fused, fused_places, &served));
        tried = true;
    }
    if (vg_cuda__conv_time(b, plain) < 0) {
        VG_TRY(vg_cuda__conv_run(b, plain, plain_places, &served));
        tried = true;
    }
    if (tried) /* The trials may have written to memory that the other stream uses next. */
        VG_TRY(vg_cuda__check(cudaStreamSynchronize(cuda_of(b)->stream), "waiting for trials"));
    float together = vg_cuda__conv_time(b, fused), alone = vg_cuda__conv_time(b, plain);
    *out = together > 0 && (alone <= 0 || together <= alone + pass);
    return VG_OK;
}

vg_status vg_cuda__conv_forward(vg_backend *b, const vg_conv *conv, vg_tensor *y, const vg_tensor *x,
                                const vg_block *theta, const vg_param *w, const vg_tensor *addend) {
    cuda_context *c = cuda_of(b);
    cuda_conv_key key = vg_cuda__conv_key(CUDA_CONV_FORWARD, conv, w, x, y);
    const void *weights;
    bool served;
    size_t count = y->n * cuda_t(y)->row, bytes = count * cuda_t(y)->element;
    VG_TRY(vg_cuda__writes(b, y));
    if (vg_cuda__packed(w))
        return vg_cuda__columns_forward(b, conv, y, x, theta, w, addend);
    VG_TRY(vg_cuda__weights(b, &weights, theta, w));
    cuda_conv_places places = {cuda_t(x)->data, (void *)weights, cuda_t(y)->data, NULL};
    if (addend == y)
        VG_TRY(vg_cuda__spare(c, &places.y, bytes));
    if (addend && addend != y) {
        cuda_conv_key fused = key;
        cuda_conv_places with = places;
        bool together;
        fused.addend = 1;
        with.addend = cuda_t(addend)->data;
        VG_TRY(better(b, &fused, &with, &key, &places, 3.0f * (float)bytes / VG_CUDA_BYTES_PER_MS + 0.002f, &together));
        if (together)
            return vg_cuda__conv_run(b, &fused, &with, &served);
    }
    VG_TRY(vg_cuda__conv_run(b, &key, &places, &served));
    if (!served)
        return vg_cuda__columns_forward(b, conv, y, x, theta, w, addend);
    if (addend)
        vg_cuda__k_add(c->stream, cuda_bf16(b), cuda_t(y)->data, places.y, cuda_t(addend)->data, count);
    return vg_cuda__launched("residual add");
}

vg_status vg_cuda__conv_backward_data(vg_backend *b, const vg_conv *conv, vg_tensor *dx, const vg_tensor *dy,
                                      const vg_block *theta, const vg_param *w, const vg_tensor *addend) {
    cuda_context *c = cuda_of(b);
    cuda_conv_key key = vg_cuda__conv_key(CUDA_CONV_DATA, conv, w, dx, dy);
    const void *weights;
    bool served;
    size_t count = dx->n * cuda_t(dx)->row;
    VG_TRY(vg_cuda__writes(b, dx));
    if (vg_cuda__packed(w))
        return vg_cuda__columns_backward_data(b, conv, dx, dy, theta, w, addend);
    if (!addend) {
        VG_TRY(vg_cuda__accelerated_backward_data(b, conv, dx, dy, theta, w, &served));
        if (served)
            return VG_OK;
    }
    VG_TRY(vg_cuda__weights(b, &weights, theta, w));
    cuda_conv_places places = {cuda_t(dx)->data, (void *)weights, cuda_t(dy)->data, NULL};
    if (addend) {
        cuda_conv_key fused = key;
        cuda_conv_places with = places;
        size_t bytes = count * cuda_t(dx)->element;
        bool together;
        fused.addend = 1;
        with.addend = cuda_t(addend)->data;
        VG_TRY(vg_cuda__spare(c, &places.x, bytes));
        /* Trials write the result, which must not overwrite the addend. */
        if (addend == dx && vg_cuda__conv_time(b, &fused) < 0)
            with.x = places.x;
        VG_TRY(better(b, &fused, &with, &key, &places, 3.0f * (float)bytes / VG_CUDA_BYTES_PER_MS + 0.002f, &together));
        with.x = cuda_t(dx)->data;
        if (together)
            return vg_cuda__conv_run(b, &fused, &with, &served);
    }
    VG_TRY(vg_cuda__conv_run(b, &key, &places, &served));
    if (!served)
        return vg_cuda__columns_backward_data(b, conv, dx, dy, theta, w, addend);
    if (addend)
        vg_cuda__k_add(c->stream, cuda_bf16(b), cuda_t(dx)->data, places.x, cuda_t(addend)->data, count);
    return vg_cuda__launched("gradient add");
}

static vg_status backward_weights(vg_backend *b, const vg_conv *conv, vg_block *grad, const vg_param *w,
                                  const vg_tensor *x, const vg_tensor *dy) {
    cuda_conv_key key = vg_cuda__conv_key(CUDA_CONV_WEIGHTS, conv, w, x, dy);
    cuda_conv_places places = {cuda_t(x)->data, cuda_b(grad)->data + w->offset, cuda_t(dy)->data, NULL};
    bool served;
    if (vg_cuda__packed(w))
        return vg_cuda__columns_backward_weights(b, conv, grad, w, x, dy);
    if (cuda_bf16(b)) {
        cuda_conv_key wide = key;
        cuda_conv_places narrow = places;
        bool direct;
        wide.wide = 1;
        VG_TRY(vg_cuda__spare(cuda_of(b), &narrow.w, w->size * 2));
        VG_TRY(better(b, &wide, &places, &key, &narrow, 0.0f, &direct));
        if (direct)
            return vg_cuda__conv_run(b, &wide, &places, &served);
        VG_TRY(vg_cuda__narrow_gradient(b, grad, w, &places.w));
    }
    VG_TRY(vg_cuda__conv_run(b, &key, &places, &served));
    if (served)
        return VG_OK;
    if (cuda_bf16(b))
        VG_TRY(vg_cuda__wide_gradient(b, grad, w));
    return vg_cuda__columns_backward_weights(b, conv, grad, w, x, dy);
}

vg_status vg_cuda__conv_backward_weights(vg_backend *b, const vg_conv *conv, vg_block *grad, const vg_param *w,
                                         const vg_tensor *x, const vg_tensor *dy) {
    grad->version++;
    if (!cuda_bf16(b)) /* Patches of float32 convolutions use the main stream's buffers. */
        return backward_weights(b, conv, grad, w, x, dy);
    VG_TRY(vg_cuda__side_begin(b));
    vg_status status = backward_weights(b, conv, grad, w, x, dy);
    vg_status end = vg_cuda__side_end(b, x, dy);
    return status == VG_OK ? end : status;
}
