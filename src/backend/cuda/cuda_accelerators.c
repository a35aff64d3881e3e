/* cuda_accelerators.c - the table of the CUDA backend's optional kernels, and the operations that exist only through
 * it. */
#include "backend/cuda/cuda_accelerators.h"

#ifdef VG_WITH_CUDA_HOPPER
extern const cuda_accelerator vg_cuda__hopper; /* hopper/hopper_conv.c */
#endif
#ifdef VG_WITH_CUDA_CONV_POOLING
extern const cuda_accelerator vg_cuda__conv_poolings; /* conv_pooling/cuda_conv_pooling.c */
#endif

const cuda_accelerator *vg_cuda__accelerator(size_t index) {
    static const cuda_accelerator *const accelerators[] = {
#ifdef VG_WITH_CUDA_HOPPER
        &vg_cuda__hopper,
#endif
#ifdef VG_WITH_CUDA_CONV_POOLING
        &vg_cuda__conv_poolings,
#endif
        NULL};
    return index < sizeof accelerators / sizeof *accelerators ? accelerators[index] : NULL;
}

const cuda_accelerator *vg_cuda__conv_accelerator(vg_backend *b, const cuda_conv_key *key) {
    const cuda_accelerator *a;
    for (size_t i = 0; (a = vg_cuda__accelerator(i)) != NULL; i++)
        if (a->conv_serves && a->conv_serves(b, key))
            return a;
    return NULL;
}

vg_status vg_cuda__accelerated_backward_data(vg_backend *b, const vg_conv *conv, vg_tensor *dx, const vg_tensor *dy,
                                             const vg_block *theta, const vg_param *w, bool *done) {
    const cuda_accelerator *a;
    *done = false;
    for (size_t i = 0; !*done && (a = vg_cuda__accelerator(i)) != NULL; i++)
        if (a->conv_backward_data)
            VG_TRY(a->conv_backward_data(b, conv, dx, dy, theta, w, done));
    return VG_OK;
}

vg_status vg_cuda__conv_norm_forward(vg_backend *b, const vg_conv_norm *op, const vg_block *theta, bool *done) {
    const cuda_accelerator *a;
    *done = false;
    for (size_t i = 0; !*done && (a = vg_cuda__accelerator(i)) != NULL; i++)
        if (a->conv_norm_forward)
            VG_TRY(a->conv_norm_forward(b, op, theta, done));
    return VG_OK;
}

vg_status vg_cuda__conv_pooling_forward(vg_backend *b, const vg_conv_pooling *op, const vg_block *theta, bool *done) {
    const cuda_accelerator *a;
    *done = false;
    for (size_t i = 0; !*done && (a = vg_cuda__accelerator(i)) != NULL; i++)
        if (a->conv_pooling_forward)
            VG_TRY(a->conv_pooling_forward(b, op, theta, done));
    return VG_OK;
}

vg_status vg_cuda__conv_pooling_backward(vg_backend *b, const vg_conv_pooling *op, vg_block *grad,
                                         const vg_tensor *dy) {
    const cuda_accelerator *a;
    bool done = false;
    for (size_t i = 0; !done && (a = vg_cuda__accelerator(i)) != NULL; i++)
        if (a->conv_pooling_backward)
            VG_TRY(a->conv_pooling_backward(b, op, grad, dy, &done));
    return done ? VG_OK
                : vg_base__fail(VG_ERR_UNSUPPORTED,
                                "cuda: the gradients of this convolution with its pooling need two operations");
}
