/* elementwise.h - launchers of elementwise.cu. Internal. bf16: element type of the void pointers. */
#ifndef VG_CUDA_ELEMENTWISE_H
#define VG_CUDA_ELEMENTWISE_H

#include <cuda_runtime_api.h>

#include "backend/cuda/cuda_backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y = a + b, `count` elements, a multiple of 8; y may be a or b. */
void vg_cuda__k_add(cudaStream_t, bool bf16, void *y, const void *a, const void *b, size_t count);
/* out = in, bfloat16 to float32 and back; count a multiple of 8. */
void vg_cuda__k_widen(cudaStream_t, float *out, const void *in, size_t count);
void vg_cuda__k_narrow(cudaStream_t, void *out, const float *in, size_t count);
/* rows x from values, rows of `row` values, into rows of `twin_row` bfloat16, the rest of each row zero. */
void vg_cuda__k_narrow_rows(cudaStream_t, void *out, const float *in, size_t rows, size_t row, size_t twin_row);
/* (n, c, h, w) float32 <-> (n, h, w, channels) of the backend's type; channels past c are set to zero. */
void vg_cuda__k_to_activation(cudaStream_t, bool bf16, void *out, const float *in, size_t n, vg_shape shape,
                              size_t channels);
void vg_cuda__k_from_activation(cudaStream_t, bool bf16, float *out, const void *in, size_t n, vg_shape shape,
                                size_t channels);
/* y[row][column] += bias[column]. */
void vg_cuda__k_bias(cudaStream_t, float *y, const float *bias, size_t rows, size_t columns);
/* out[column] = sum over rows of in[row * pitch + column], rows in order. */
void vg_cuda__k_column_sums(cudaStream_t, bool bf16, float *out, const void *in, size_t rows, size_t columns,
                            size_t pitch);
void vg_cuda__k_multiply(cudaStream_t, float *a, const float *b, size_t count);
/* grad += 2 scale (theta - start); partial sums of squares to partial[blocks] (returned count), in a fixed order. */
int vg_cuda__k_anchor(cudaStream_t, float *grad, const float *theta, const float *start, size_t count, float scale,
                      double *partial);
/* See vg_backend_ops.members; M: members of a row of out. */
void vg_cuda__k_members(cudaStream_t, float *out, const float *z, const float *prior, vg_member_rows rows, size_t n,
                        size_t M);
void vg_cuda__k_step(cudaStream_t, cuda_step *place, cuda_step value);
/* Adam over `count` floats, a multiple of 16. */
typedef struct cuda_adam_args {
    const cuda_step *step;
    float *theta;
    const float *grad;
    const void *half;            /* gradients in bfloat16, in place of those in grad where narrow says so */
    const unsigned char *narrow; /* 1 for sixteen floats whose gradients are half's; NULL: none */
    float *m, *v;
    void *twin; /* bfloat16 copy of theta, updated as well; may be NULL */
    size_t count;
} cuda_adam_args;
void vg_cuda__k_adam(cudaStream_t, const cuda_adam_args *args);

#ifdef __cplusplus
}
#endif
#endif
