/* cuda_columns.c - convolutions as matrix products over patches.
 *
 * Used where the input has few channels (images: cuDNN would multiply padding), and where cuDNN has no engine that
 * gives the same bits every time (some float32 gradients). The patches of an input with few channels are kept for the
 * weight gradient. */
#include "backend/cuda/cuda_blas.h"
#include "backend/cuda/cuda_conv.h"
#include "backend/cuda/elementwise.h"
#include "backend/cuda/patches.h"

static cuda_columns shape_of(const vg_conv *conv, const vg_param *w, const vg_tensor *x, const vg_tensor *y) {
    bool packed = vg_cuda__packed(w);
    size_t c = packed ? w->i : cuda_pad(w->i);
    cuda_columns q = {.n = (int)x->n,
                      .h = (int)x->shape.h,
                      .w = (int)x->shape.w,
                      .channels = (int)cuda_t(x)->channels,
                      .c = (int)c,
                      .r = (int)w->h,
                      .s = (int)w->w,
                      .stride = (int)conv->stride,
                      .pad = (int)conv->pad,
                      .oh = (int)y->shape.h,
                      .ow = (int)y->shape.w,
                      .k = (int)cuda_pad(w->h * w->w * c)};
    return q;
}

static size_t rows_of(const cuda_columns *q) { return (size_t)q->n * (size_t)q->oh * (size_t)q->ow; }

static vg_status none(const cuda_product_key *k) {
    return vg_base__fail(VG_ERR_UNSUPPORTED, "cuda: no algorithm for a convolution as a product %lld x %lld x %lld",
                         (long long)k->m, (long long)k->n, (long long)k->k);
}

_Static_assert(sizeof(cuda_columns) <= sizeof((cuda_tensor *)0)->patches_shape,
               "a tensor remembers the shape of its patches");

static bool same(const cuda_columns *a, const cuda_columns *b) {
    return a->n == b->n && a->r == b->r && a->s == b->s && a->stride == b->stride && a->pad == b->pad &&
           a->oh == b->oh && a->ow == b->ow && a->c == b->c;
}

/* The patches of x: stored with it when it has few channels, in the spare buffer otherwise. */
static vg_status patches(vg_backend *b, const cuda_columns *q, const vg_tensor *x, const vg_param *w, void **out) {
    cuda_context *c = cuda_of(b);
    cuda_tensor *t = cuda_t(x);
    size_t bytes = rows_of(q) * (size_t)q->k * t->element;
    if (!vg_cuda__packed(w)) {
        VG_TRY(vg_cuda__spare(c, out, bytes));
    } else {
        if (t->patches_size < bytes) {
            /* sized for the largest batch, because recordings contain the address */
            bytes = bytes / x->n * x->capacity;
            VG_TRY(vg_cuda__check(cudaDeviceSynchronize(), "waiting for the device"));
            vg_cuda__free(c, t->patches, t->patches_size);
            t->patches = NULL;
            t->patches_size = 0;
            VG_TRY(vg_cuda__alloc(c, &t->patches, bytes, false, "patches"));
            t->patches_size = bytes;
        }
        *out = t->patches;
        if (t->patches_valid && same((const cuda_columns *)t->patches_shape, q))
            return VG_OK;
        *(cuda_columns *)t->patches_shape = *q;
        t->patches_valid = true;
    }
    vg_cuda__k_columns(c->stream, cuda_bf16(b), *out, t->data, *q);
    return vg_cuda__launched("patches");
}

vg_status vg_cuda__columns_forward(vg_backend *b, const vg_conv *conv, vg_tensor *y, const vg_tensor *x,
                                   const vg_block *theta, const vg_param *w, const vg_tensor *addend) {
    cuda_columns q = shape_of(conv, w, x, y);
    const void *weights;
    void *columns;
    bool served;
    size_t rows = rows_of(&q), count = rows * cuda_t(y)->channels;
    void *place = cuda_t(y)->data;
    VG_TRY(vg_cuda__weights(b, &weights, theta, w));
    VG_TRY(patches(b, &q, x, w, &columns));
    if (addend) { /* not in the spare buffer, which may hold the patches */
        if (!vg_cuda__packed(w))
            VG_TRY(vg_cuda__third(cuda_of(b), &place, count * cuda_t(y)->element));
        else
            VG_TRY(vg_cuda__spare(cuda_of(b), &place, count * cuda_t(y)->element));
    }
    cuda_product_key key = {.m = (int64_t)cuda_t(y)->channels,
                            .n = (int64_t)rows,
                            .k = q.k,
                            .lda = q.k,
                            .ldb = q.k,
                            .ldd = (int64_t)cuda_t(y)->channels,
                            .transpose_a = 1};
    VG_TRY(vg_cuda__product(b, &key, place, weights, columns, NULL, &served));
    if (!served)
        return none(&key);
    if (addend)
        vg_cuda__k_add(cuda_of(b)->stream, cuda_bf16(b), cuda_t(y)->data, place, cuda_t(addend)->data, count);
    return vg_cuda__launched("residual add");
}

vg_status vg_cuda__columns_backward_data(vg_backend *b, const vg_conv *conv, vg_tensor *dx, const vg_tensor *dy,
                                         const vg_block *theta, const vg_param *w, const vg_tensor *addend) {
    cuda_columns q = shape_of(conv, w, dx, dy);
    const void *weights;
    void *columns;
    bool served;
    size_t rows = rows_of(&q);
    VG_TRY(vg_cuda__weights(b, &weights, theta, w));
    VG_TRY(vg_cuda__spare(cuda_of(b), &columns, rows * (size_t)q.k * cuda_t(dx)->element));
    cuda_product_key key = {.m = q.k,
                            .n = (int64_t)rows,
                            .k = (int64_t)cuda_t(dy)->channels,
                            .lda = q.k,
                            .ldb = (int64_t)cuda_t(dy)->channels,
                            .ldd = q.k};
    VG_TRY(vg_cuda__product(b, &key, columns, weights, cuda_t(dy)->data, NULL, &served));
    if (!served)
        return none(&key);
    vg_cuda__k_uncolumns(cuda_of(b)->stream, cuda_bf16(b), cuda_t(dx)->data, columns,
                         addend ? cuda_t(addend)->data : NULL, q);
    cuda_t(dx)->patches_valid = false;
    return vg_cuda__launched("gradient of patches");
}

vg_status vg_cuda__columns_backward_weights(vg_backend *b, const vg_conv *conv, vg_block *grad, const vg_param *w,
                                            const vg_tensor *x, const vg_tensor *dy) {
    cuda_columns q = shape_of(conv, w, x, dy);
    void *columns;
    bool served;
    VG_TRY(patches(b, &q, x, w, &columns));
    cuda_product_key key = {.m = q.k,
                            .n = (int64_t)cuda_t(dy)->channels,
                            .k = (int64_t)rows_of(&q),
                            .lda = q.k,
                            .ldb = (int64_t)cuda_t(dy)->channels,
                            .ldd = q.k,
                            .transpose_b = 1,
                            .wide = 1};
    VG_TRY(vg_cuda__product(b, &key, cuda_b(grad)->data + w->offset, columns, cuda_t(dy)->data, NULL, &served));
    return served ? VG_OK : none(&key);
}
