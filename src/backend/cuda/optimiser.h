/* optimiser.h - launchers of optimiser.cu. Internal. */
#ifndef VG_CUDA_OPTIMISER_H
#define VG_CUDA_OPTIMISER_H

#include "backend/cuda/elementwise.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_CLIP_BLOCKS = 256 };

/* Adam with decoupled decay or with a factor on the gradients; args as for vg_cuda__k_adam, whose kernel serves the
 * usual case. scale: a factor in device memory, or NULL. */
void vg_cuda__k_scaled_adam(cudaStream_t, const cuda_adam_args *args, const float *scale);
/* Stochastic gradient descent; args->v is not used. */
void vg_cuda__k_sgd(cudaStream_t, const cuda_adam_args *args, const float *scale);
/* *scale = min(1, most / (|grad| + 1e-6)). partial: CUDA_CLIP_BLOCKS doubles of scratch memory. Of args the gradients
 * and count are read. */
void vg_cuda__k_clip(cudaStream_t, const cuda_adam_args *args, float most, double *partial, float *scale);
/* mean += step.average (theta - mean), count a multiple of 16. */
void vg_cuda__k_block_average(cudaStream_t, const cuda_step *step, float *mean, const float *theta, size_t count);

#ifdef __cplusplus
}
#endif
#endif
