/* hopper_kernels.h - launchers of hopper_forward.cu and hopper_weights.cu, and the geometry they share with their
 * caller. Internal. Included by C and by CUDA C++. */
#ifndef VG_CUDA_HOPPER_KERNELS_H
#define VG_CUDA_HOPPER_KERNELS_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdint.h>

#include "backend/cuda/cuda_layers.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HOPPER_N = 160,     /* columns of a tile: output channels */
    HOPPER_CHUNK = 128, /* pixels of a weight-gradient step */
    HOPPER_PARTS = 256, /* blocks of threads of a weight gradient, at most */
};

/* Batch-norm by the running statistics in the epilogue: z = relu(a d + c), d = dropout(y), where y is rounded to
 * bfloat16 first, as norm.cu reads it from memory. */
typedef struct hopper_norm {
    void *z;                             /* NULL: none */
    const float *gamma, *beta, *running; /* running: [2][columns] */
    float epsilon, floor;
    cuda_mask mask; /* CUDA_MASK_NONE or CUDA_MASK_ALIGNED */
} hopper_norm;

/* Forward: y[p][o] = sum over taps and c of x[p + tap][c] w[o][tap][c] (+ addend), and its batch-norm where norm.z is
 * not NULL. Gradient to the data: the same with x = dy and w[c][tap][o]: `transposed` reads w in its own layout, [k][8
 * - tap][n]. */
typedef struct hopper_forward {
    CUtensorMap x;                          /* (channels, w, h, n): boxes (32, 10, rows + 2, images) */
    CUtensorMap w;                          /* (c, tap, o): boxes (32, 1, 160), transposed (64, 1, 32) */
    CUtensorMap addend_wide, addend_narrow; /* as x: boxes (64 or 32, 8, rows, images) */
    void *y;                                /* NULL: only norm.z is written */
    int addend;                             /* whether there is one */
    int n, width, k, columns;               /* images; width = height; channels summed over; channels of the result */
    int transposed;
    int backwards;           /* the last tile first */
    uint64_t a_bits, b_bits; /* descriptors without their addresses */
    int blocks;
    hopper_norm norm;
} hopper_forward;
int vg_cuda__k_hopper_forward(cudaStream_t, const hopper_forward *work); /* a cudaError_t */

/* Gradient to the weights: grad[o][tap][c] = sum over pixels of x[p + tap][c] dy[p][o]. */
typedef struct hopper_weights {
    CUtensorMap x;      /* boxes (64, w, rows + 2, images) */
    CUtensorMap narrow; /* the same, 32 channels, 64-byte swizzle */
    CUtensorMap dy;     /* boxes (32, w, rows, images) */
    float *grad;
    float *partial; /* vg_cuda__hopper_partials floats */
    int n, width, c, o;
    uint64_t a_bits, narrow_bits, b_bits; /* descriptors without their addresses */
    int blocks;
    int begin[HOPPER_PARTS + 1]; /* set by the launcher */
} hopper_weights;
int vg_cuda__k_hopper_weights(cudaStream_t, hopper_weights *work);
/* Floats of `partial`. */
size_t vg_cuda__hopper_partials(int c, int o, int blocks);

#ifdef __cplusplus
}
#endif
#endif
