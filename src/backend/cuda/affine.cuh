/* affine.cuh - batch-norm by given statistics is affine, y = a d + c: one definition, so that all kernels give the same
 * bits. */
#ifndef VG_CUDA_AFFINE_CUH
#define VG_CUDA_AFFINE_CUH

#include <cuda_runtime_api.h>
#include <math.h>

__device__ __forceinline__ void affine(float *a, float *c, float gamma, float beta, float mean, float inverse) {
    *a = gamma * inverse;
    *c = fmaf(-mean, *a, beta);
}
__device__ __forceinline__ float inverse_std(float variance, float epsilon) { return 1.0f / sqrtf(variance + epsilon); }

#endif
