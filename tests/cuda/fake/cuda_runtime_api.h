/* cuda_runtime_api.h - a replacement for CUDA's header: kernels run on the host, one block after another, each thread
 * of a block as a coroutine that yields at __syncthreads and at a warp's products. Sufficient for kernels without other
 * warp instructions and without asynchronous copies.
 *
 * The order of blocks and, between two barriers, of threads is drawn for each launch (emulate_seed), so that a missing
 * barrier, or a sum that depends on which block finishes last, shows as a difference between two runs. A barrier that
 * only some threads of a block reach is an error (emulate_errors). */
#ifndef FAKE_CUDA_RUNTIME_API_H
#define FAKE_CUDA_RUNTIME_API_H

#include <stddef.h>
#include <stdint.h>

enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
typedef void *cudaStream_t;
typedef void *cudaEvent_t;
typedef int cudaError_t;

#ifdef __cplusplus
extern "C" {
#endif
extern uint64_t emulate_seed;
extern unsigned emulate_errors, emulate_launches;
#ifdef __cplusplus
}

#include <cmath>
#include <cstring>
#include <functional>

#define __device__
#define __host__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)
#define CUDA_LAUNCH(kernel, blocks, threads, stream, ...)                                                              \
    do {                                                                                                               \
        (void)(stream);                                                                                                \
        emulate_launch((blocks), (threads), [&] { kernel(__VA_ARGS__); });                                             \
    } while (0)
#define CUDA_LAUNCH_EARLY CUDA_LAUNCH
#define CUDA_LAUNCH_SHARED(kernel, blocks, threads, bytes, stream, ...)                                                \
    CUDA_LAUNCH(kernel, blocks, threads, stream, __VA_ARGS__)

struct emulate_index {
    unsigned x;
};
extern emulate_index threadIdx, blockIdx, blockDim, gridDim;
void emulate_launch(unsigned blocks, unsigned threads, const std::function<void()> &kernel);
void __syncthreads();
/* mma.cuh's product, by all 32 threads of a warp. */
void emulate_multiply_add(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);
void emulate_load_matrices(uint32_t (&words)[4], const void *row);
void emulate_load_matrices_turned(uint32_t (&words)[4], const void *row);
#define CUDA_DYNAMIC_SHARED(name) alignas(1024) static unsigned char name[227 * 1024]

struct alignas(8) uint2 {
    uint32_t x, y;
};
struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
static inline uint2 make_uint2(uint32_t x, uint32_t y) { return {x, y}; }
static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

template <typename T> static inline T __ldcs(const T *p) { return *p; }
template <typename T> static inline T __ldcg(const T *p) { return *p; }
static inline void __threadfence() {}
static inline unsigned atomicAdd(unsigned *p, unsigned v) {
    unsigned old = *p;
    *p += v;
    return old;
}
static inline float __uint_as_float(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}
static inline uint32_t __float_as_uint(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}
static inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
#endif
#endif
