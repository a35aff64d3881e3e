/* window.cuh - from the sums of a convolution in the tensor cores' layout to a pooled result; shared by conv_pooling.cu
 * and conv_pooling_wide.cu.
 *
 * A thread has sums[below][j][c] of one 2 x 2 window: c / 2 is the left or the right position, channel 2 j + c % 2 of
 * eight neighbours. */
#ifndef VG_CUDA_WINDOW_CUH
#define VG_CUDA_WINDOW_CUH

#include "backend/cuda/conv_pooling/conv_pooling.h"
#include "backend/cuda/mma.cuh"
#include "backend/cuda/vec.cuh"

/* The window's largest sums and which they are: the first of equals, a NaN before all. */
__device__ __forceinline__ void largest(float (&best)[8], uint32_t (&which)[8], const float (&sums)[2][4][4]) {
#pragma unroll
    for (int c = 0; c < 8; c++) {
        best[c] = -INFINITY;
        which[c] = 0;
#pragma unroll
        for (int r = 0; r < 4; r++) {
            const float v = sums[r / 2][c / 2][r % 2 * 2 + c % 2];
            if (v > best[c] || v != v) {
                best[c] = v;
                which[c] = r;
            }
        }
    }
}

/* Applies bias, ReLU and dropout, and writes the thread's result: eight channels of one window. */
template <int MASK>
__device__ __forceinline__ void finish_window(const cuda_conv_pooling_args &args, const cuda_draw &draw,
                                              const float (&sums)[2][4][4], const float (&bias)[8], uint32_t row,
                                              uint32_t window, uint32_t group) {
    float v[8];
    uint32_t which[8], lanes[4], bits = 0;
    largest(v, which, sums);
    lanes_in_row<MASK>(lanes, draw, args.mask, row, window, group * 8);
#pragma unroll
    for (int c = 0; c < 8; c++) {
        v[c] = raise_to(v[c] + bias[c], 0.0f);
        if (MASK != CUDA_MASK_NONE)
            v[c] = kept<MASK>(lanes, c, draw) ? v[c] * args.mask.scale : 0.0f;
        bits |= (v[c] > 0.0f ? which[c] : 15u) << (4 * c);
    }
    const size_t vector = ((size_t)row * args.windows + window) * (args.channels / 8) + group;
    store((bf16 *)args.y, vector, v);
    if (args.choice)
        ((uint32_t *)args.choice)[vector] = bits;
}

#endif
