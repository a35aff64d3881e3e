/* mma.cuh - one product of the tensor cores by a warp: 16 x 16 by 16 x 8, bfloat16 in, float32 sums.
 *
 * Lane 4 g + t of the warp (g below 8, t below 4) holds, each word two neighbours along k with the first in the low half:
 *     a[0]  row g,     k 2t, 2t + 1        a[1]  row g + 8, the same k        a[2], a[3]  the same rows, k + 8
 *     b[0]  column g,  k 2t, 2t + 1        b[1]  k + 8
 *     c[0], c[1]  row g, columns 2t, 2t + 1                c[2], c[3]  row g + 8 */
#ifndef VG_CUDA_MMA_CUH
#define VG_CUDA_MMA_CUH

#include <cuda_runtime_api.h>
#include <stdint.h>

__device__ __forceinline__ void multiply_add(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if defined(__CUDA_ARCH__)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif !defined(__CUDACC__)
    emulate_multiply_add(c, a, b);
#endif
}

#endif
