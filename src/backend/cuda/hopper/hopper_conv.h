/* hopper_conv.h - 3x3 convolutions of stride 1 and padding 1 on Hopper GPUs (compute capability 9.0) by our own
 * tensor-core kernels, where they fit exactly: bfloat16 operands, square images of 8, 16 or 32, channels in tiles of
 * 160. Internal.
 *
 * cuDNN's tiles are 64 wide and more; 160 = 2.5 x 64 wastes a sixth of them. These kernels take tiles of 160 columns.
 * hopper_forward.cu: forward and gradient to the data; hopper_weights.cu: gradient to the weights. */
#ifndef VG_CUDA_HOPPER_CONV_H
#define VG_CUDA_HOPPER_CONV_H

#include "backend/cuda/cuda_accelerators.h"
#include "backend/cuda/hopper/hopper_kernels.h"

/* Whether vg_cuda__hopper_run takes this convolution on this device. */
bool vg_cuda__hopper_serves(vg_backend *, const cuda_conv_key *key);
/* Runs it. places as vg_cuda__conv_run; with key->addend the addend may be the result itself (forward and data). The
 * same bits every run. Uses the scratch memory (weights). */
vg_status vg_cuda__hopper_run(vg_backend *, const cuda_conv_key *key, const cuda_conv_places *places);

/* Forward, with the batch-norm after it: where places->y is NULL, only norm->z is written. */
vg_status vg_cuda__hopper_run_norm(vg_backend *, const cuda_conv_key *key, const cuda_conv_places *places,
                                   const hopper_norm *norm);
/* The operation conv_norm_forward by it. */
vg_status vg_cuda__hopper_conv_norm(vg_backend *, const vg_conv_norm *op, const vg_block *theta, bool *done);

#endif
