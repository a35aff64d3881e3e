/* cuda_linear.c - linear layers as matrix products.
 *
 * A row-major array is a column-major one transposed: y (n x o) is D (o x n) and so on.
 *     forward   D (o x n) = W^T A, W stored (i x o)
 *     data      D (i x n) = W dy^T
 *     weights   D (i x o) = x^T dy */
#include "backend/cuda/cuda_blas.h"
#include "backend/cuda/elementwise.h"

static vg_status none(const cuda_product_key *k) {
    return vg_base__fail(VG_ERR_UNSUPPORTED, "cuda: cuBLASLt has no algorithm for a product %lld x %lld x %lld",
                         (long long)k->m, (long long)k->n, (long long)k->k);
}

/* Number of values, padding included, of one row of a layer's input. */
static int64_t inputs_of(const vg_param *w) { return (int64_t)(cuda_pad(w->i) * w->h * w->w); }

vg_status vg_cuda__linear_forward(vg_backend *b, vg_tensor *y, const vg_tensor *x, const vg_block *theta,
                                  const vg_param *w, const vg_param *bias) {
    const void *weights;
    bool served = false, plain = y->kind == VG_TENSOR_PLAIN;
    int64_t in = inputs_of(w), out = (int64_t)(plain ? w->o : cuda_pad(w->o)), rows = (int64_t)x->n;
    const float *added = bias ? cuda_b(theta)->data + bias->offset : NULL;
    VG_TRY(vg_cuda__weights(b, &weights, theta, w));
    cuda_product_key key = {
        .m = out, .n = rows, .k = in, .lda = in, .ldb = in, .ldd = out, .transpose_a = 1, .wide = plain};
    if (bias && !plain)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "cuda: a linear layer with a bias must have a PLAIN result");
    VG_TRY(vg_cuda__writes(b, y));
    cuda_t(y)->twin_valid = false;
    if (bias) {
        key.bias = 1;
        VG_TRY(vg_cuda__product(b, &key, cuda_t(y)->data, weights, cuda_t(x)->data, added, &served));
        if (served)
            return VG_OK;
        key.bias = 0;
    }
    VG_TRY(vg_cuda__product(b, &key, cuda_t(y)->data, weights, cuda_t(x)->data, NULL, &served));
    if (!served)
        return none(&key);
    if (bias)
        vg_cuda__k_bias(cuda_of(b)->stream, cuda_t(y)->data, added, y->n, w->o);
    return vg_cuda__launched("bias");
}

vg_status vg_cuda__linear_backward_data(vg_backend *b, vg_tensor *dx, const vg_tensor *dy, const vg_block *theta,
                                        const vg_param *w) {
    const void *weights, *operand;
    size_t pitch;
    bool served;
    int64_t in = inputs_of(w);
    VG_TRY(vg_cuda__weights(b, &weights, theta, w));
    VG_TRY(vg_cuda__operand(b, &operand, &pitch, dy));
    cuda_product_key key = {
        .m = in, .n = (int64_t)dx->n, .k = (int64_t)pitch, .lda = in, .ldb = (int64_t)pitch, .ldd = in};
    VG_TRY(vg_cuda__writes(b, dx));
    VG_TRY(vg_cuda__product(b, &key, cuda_t(dx)->data, weights, operand, NULL, &served));
    return served ? VG_OK : none(&key);
}

static vg_status backward_weights(vg_backend *b, vg_block *grad, const vg_param *w, const vg_param *bias,
                                  const vg_tensor *x, const vg_tensor *dy) {
    const void *operand;
    size_t pitch;
    bool served;
    VG_TRY(vg_cuda__operand(b, &operand, &pitch, dy));
    int64_t in = inputs_of(w);
    cuda_product_key key = {.m = in,
                            .n = (int64_t)pitch,
                            .k = (int64_t)x->n,
                            .lda = in,
                            .ldb = (int64_t)pitch,
                            .ldd = in,
                            .transpose_b = 1,
                            .wide = 1};
    VG_TRY(vg_cuda__product(b, &key, cuda_b(grad)->data + w->offset, cuda_t(x)->data, operand, NULL, &served));
    if (!served)
        return none(&key);
    if (bias) {
        bool plain = dy->kind == VG_TENSOR_PLAIN;
        vg_cuda__k_column_sums(cuda_of(b)->stream, !plain && cuda_bf16(b), cuda_b(grad)->data + bias->offset,
                               cuda_t(dy)->data, dy->n, w->o, plain ? w->o : cuda_t(dy)->row);
    }
    return vg_cuda__launched("bias gradient");
}

vg_status vg_cuda__linear_backward_weights(vg_backend *b, vg_block *grad, const vg_param *w, const vg_param *bias,
                                           const vg_tensor *x, const vg_tensor *dy) {
    const void *operand;
    size_t pitch;
    grad->version++;
    /* On the main stream, because later operations read the same copy. */
    VG_TRY(vg_cuda__operand(b, &operand, &pitch, dy));
    VG_TRY(vg_cuda__side_begin(b));
    vg_status status = backward_weights(b, grad, w, bias, x, dy);
    vg_status end = vg_cuda__side_end(b, x, dy);
    return status == VG_OK ? end : status;
}
