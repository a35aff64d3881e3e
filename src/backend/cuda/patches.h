/* patches.h - launchers of patches.cu. Internal. */
#ifndef VG_CUDA_PATCHES_H
#define VG_CUDA_PATCHES_H

#include "backend/cuda/cuda_backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One convolution as a product: column k = (r * s_count + s) * c + channel, K of them with the padding. */
typedef struct cuda_columns {
    int n, h, w, channels; /* x: channels as they lie in memory */
    int c;                 /* channels that count */
    int r, s, stride, pad;
    int oh, ow;
    int k; /* columns of a row: r * s * c rounded up to 8 */
} cuda_columns;

/* columns[(n, oh, ow)][k] = x at (y stride - pad + r, x stride - pad + s), zero outside and past r * s * c. */
void vg_cuda__k_columns(cudaStream_t, bool bf16, void *columns, const void *x, cuda_columns shape);
/* dx = the sum of the columns each element went to (+ addend, may be NULL or dx); channels past c zero. */
void vg_cuda__k_uncolumns(cudaStream_t, bool bf16, void *dx, const void *columns, const void *addend,
                          cuda_columns shape);

#ifdef __cplusplus
}
#endif
#endif
