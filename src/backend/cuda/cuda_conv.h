/* cuda_conv.h - what the operations on convolutions share: their keys, and convolutions as products over patches.
 * Internal. */
#ifndef VG_CUDA_CONV_H
#define VG_CUDA_CONV_H

#include "backend/cuda/cuda_dnn.h"

/* Memory bandwidth in bytes per millisecond, to compare a separate pass over a tensor with the time of a fused
 * kernel. */
#define VG_CUDA_BYTES_PER_MS 3.5e9f

/* The key with channel counts as stored, padding included. */
cuda_conv_key vg_cuda__conv_key(cuda_conv_kind kind, const vg_conv *conv, const vg_param *w, const vg_tensor *x,
                                const vg_tensor *y);

vg_status vg_cuda__columns_forward(vg_backend *, const vg_conv *, vg_tensor *y, const vg_tensor *x,
                                   const vg_block *theta, const vg_param *w, const vg_tensor *addend);
vg_status vg_cuda__columns_backward_data(vg_backend *, const vg_conv *, vg_tensor *dx, const vg_tensor *dy,
                                         const vg_block *theta, const vg_param *w, const vg_tensor *addend);
vg_status vg_cuda__columns_backward_weights(vg_backend *, const vg_conv *, vg_block *grad, const vg_param *w,
                                            const vg_tensor *x, const vg_tensor *dy);

#endif
