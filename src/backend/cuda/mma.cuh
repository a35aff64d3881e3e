/* mma.cuh - one product of the tensor cores by a warp: 16 x 16 by 16 x 8, bfloat16 in, float32 sums; its operands from
 * shared memory, and copies into that which do not pass through registers.
 *
 * Lane 4 g + t of the warp (g below 8, t below 4) holds, each word two neighbours along k with the first in the low
 * half:
 *     a[0]  row g,     k 2t, 2t + 1        a[1]  row g + 8, the same k        a[2], a[3]  the same rows, k + 8
 *     b[0]  column g,  k 2t, 2t + 1        b[1]  k + 8
 *     c[0], c[1]  row g, columns 2t, 2t + 1                c[2], c[3]  row g + 8 */
#ifndef VG_CUDA_MMA_CUH
#define VG_CUDA_MMA_CUH

#include <cuda_runtime_api.h>
#include <stdint.h>

__device__ __forceinline__ void multiply_add(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if defined(__CUDA_ARCH__)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif !defined(__CUDACC__)
    emulate_multiply_add(c, a, b);
#endif
}

/* Four 8 x 8 matrices of 16 bits whose rows are 16 bytes anywhere in shared memory: lane l names row l % 8 of matrix l
 * / 8 and gets, of matrix m, elements 2 t and 2 t + 1 of row g in words[m]. */
#if defined(__CUDACC__)
__device__ __forceinline__ void load_matrices(uint32_t (&words)[4], uint32_t row) { /* an address in shared memory */
#if defined(__CUDA_ARCH__)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(row)
                 : "memory");
#endif
}
#endif
__device__ __forceinline__ void load_matrices(uint32_t (&words)[4], const void *row) {
#if defined(__CUDA_ARCH__)
    load_matrices(words, (uint32_t)__cvta_generic_to_shared(row));
#elif !defined(__CUDACC__)
    emulate_load_matrices(words, row);
#endif
}

/* The same the other way: elements g of rows 2 t and 2 t + 1. */
__device__ __forceinline__ void load_matrices_transposed(uint32_t (&words)[4], const void *row) {
#if defined(__CUDA_ARCH__)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
#elif !defined(__CUDACC__)
    emulate_load_matrices_turned(words, row);
#endif
}

/* Copies 16 bytes from global to shared memory asynchronously. A copy belongs to the group that end_copies closes next;
 * wait_for_copies waits until all groups but the last LEFT are complete. */
__device__ __forceinline__ void copy_16(void *to, const void *from) {
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint32_t)__cvta_generic_to_shared(to)), "l"(from)
                 : "memory");
#elif !defined(__CUDACC__)
    memcpy(to, from, 16);
#endif
}
__device__ __forceinline__ void end_copies() {
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int LEFT> __device__ __forceinline__ void wait_for_copies() {
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

/* Shared memory whose size the launch gives; a test without a GPU has its own. */
#ifndef CUDA_DYNAMIC_SHARED
#define CUDA_DYNAMIC_SHARED(name) extern __shared__ __align__(1024) unsigned char name[]
#define CUDA_LAUNCH_SHARED(kernel, blocks, threads, bytes, stream, ...)                                                \
    do {                                                                                                               \
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (bytes));                            \
        kernel<<<(blocks), (threads), (bytes), (stream)>>>(__VA_ARGS__);                                               \
    } while (0)
#endif

#endif
