/* vec.cuh - eight neighbouring channels in one thread: 16 bytes of bfloat16 or 32 of float32, read, widened and written
 * back.
 *
 * Elements of activations are the storage types `bf16` and `float`; arithmetic is float32. */
#ifndef VG_CUDA_VEC_CUH
#define VG_CUDA_VEC_CUH

#include <stdint.h>

#include "backend/cuda/cuda_layers.h"

/* A test without a GPU defines its own launches. */
#ifndef CUDA_LAUNCH
#define CUDA_LAUNCH(kernel, blocks, threads, stream, ...) kernel<<<(blocks), (threads), 0, (stream)>>>(__VA_ARGS__)
#define CUDA_LAUNCH_EARLY(kernel, blocks, threads, stream, ...)                                                        \
    launch_early(kernel, blocks, threads, stream, __VA_ARGS__)

/* Launches a kernel whose blocks may start before the previous kernel has finished, once that one has called
 * next_may_begin. Until wait_for_previous they may read only what is older than the previous kernel. On devices without
 * this feature the two run one after the other. */
template <typename A>
static void launch_early(void (*kernel)(A), unsigned blocks, unsigned threads, cudaStream_t stream, const A &args) {
    int device = 0, major = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = CUDA_OVERLAP && major >= 9 ? 1 : 0;
    cudaLaunchKernelEx(&config, kernel, args);
}
#endif

__device__ __forceinline__ void next_may_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}
__device__ __forceinline__ void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

struct bf16 {
    uint16_t bits;
};

/* Eight elements as they lie in memory. */
template <typename T> struct pack;
template <> struct __align__(16) pack<bf16> { uint4 words; };
template <> struct __align__(16) pack<float> { float4 low, high; };

/* Packs of one tensor that a thread loads before it uses the first: cuda_in_flight of cuda_layers.h. */
template <typename T> constexpr int in_flight() { return sizeof(T) == 2 ? 4 : 2; }

__device__ __forceinline__ pack<bf16> load(const bf16 *p, size_t vector) { return {((const uint4 *)p)[vector]}; }
__device__ __forceinline__ pack<float> load(const float *p, size_t vector) {
    const float4 *q = (const float4 *)p + 2 * vector;
    return {q[0], q[1]};
}
/* The same for the last use: a hint that the second-level cache need not keep it. */
__device__ __forceinline__ pack<bf16> load_last(const bf16 *p, size_t vector) {
    return {__ldcs((const uint4 *)p + vector)};
}
__device__ __forceinline__ pack<float> load_last(const float *p, size_t vector) {
    const float4 *q = (const float4 *)p + 2 * vector;
    return {__ldcs(q), __ldcs(q + 1)};
}

__device__ __forceinline__ void widen2(float v[2], uint32_t word) {
    v[0] = __uint_as_float(word << 16);
    v[1] = __uint_as_float(word & 0xFFFF0000u);
}
__device__ __forceinline__ void widen(float v[8], const pack<bf16> &p) {
    widen2(v, p.words.x);
    widen2(v + 2, p.words.y);
    widen2(v + 4, p.words.z);
    widen2(v + 6, p.words.w);
}
__device__ __forceinline__ void widen(float v[8], const pack<float> &p) {
    v[0] = p.low.x, v[1] = p.low.y, v[2] = p.low.z, v[3] = p.low.w;
    v[4] = p.high.x, v[5] = p.high.y, v[6] = p.high.z, v[7] = p.high.w;
}

/* Two floats to the nearest bfloat16 (ties to even), the first in the low half. */
__device__ __forceinline__ uint32_t narrow2(float low, float high) {
#ifdef __CUDA_ARCH__
    uint32_t word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
#else
    uint32_t half[2] = {__float_as_uint(low), __float_as_uint(high)};
    for (int i = 0; i < 2; i++)
        half[i] = (half[i] & 0x7FFFFFFFu) > 0x7F800000u ? 0x7FFFu : (half[i] + 0x7FFFu + (half[i] >> 16 & 1u)) >> 16;
    return half[0] | half[1] << 16;
#endif
}
__device__ __forceinline__ void store(bf16 *p, size_t vector, const float v[8]) {
    ((uint4 *)p)[vector] =
        make_uint4(narrow2(v[0], v[1]), narrow2(v[2], v[3]), narrow2(v[4], v[5]), narrow2(v[6], v[7]));
}
__device__ __forceinline__ void store(float *p, size_t vector, const float v[8]) {
    float4 *q = (float4 *)p + 2 * vector;
    q[0] = make_float4(v[0], v[1], v[2], v[3]);
    q[1] = make_float4(v[4], v[5], v[6], v[7]);
}

/* Values below the floor become the floor: 0 for a ReLU, -infinity without. NaN stays. */
__device__ __forceinline__ float raise_to(float v, float floor) { return v < floor ? floor : v; }
__device__ __forceinline__ uint32_t narrow2_above(float low, float high, float floor) {
#ifdef __CUDA_ARCH__
    uint32_t word, least = __float_as_uint(floor) >> 16 | (__float_as_uint(floor) & 0xFFFF0000u);
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(word) : "r"(narrow2(low, high)), "r"(least));
    return word;
#else
    return narrow2(raise_to(low, floor), raise_to(high, floor));
#endif
}
__device__ __forceinline__ void store_above(bf16 *p, size_t vector, const float v[8], float floor) {
    ((uint4 *)p)[vector] = make_uint4(narrow2_above(v[0], v[1], floor), narrow2_above(v[2], v[3], floor),
                                      narrow2_above(v[4], v[5], floor), narrow2_above(v[6], v[7], floor));
}
__device__ __forceinline__ void store_above(float *p, size_t vector, const float v[8], float floor) {
    float w[8];
#pragma unroll
    for (int j = 0; j < 8; j++)
        w[j] = raise_to(v[j], floor);
    store(p, vector, w);
}

__device__ __forceinline__ float element(const bf16 *p, size_t i) { return __uint_as_float((uint32_t)p[i].bits << 16); }
__device__ __forceinline__ float element(const float *p, size_t i) { return p[i]; }

/* Eight float32 of a vector parameter. */
__device__ __forceinline__ void load8(float v[8], const float *p) {
    widen(v, pack<float>{((const float4 *)p)[0], ((const float4 *)p)[1]});
}
/* Reads what a kernel that may still be running has written: bypasses the first-level cache. */
__device__ __forceinline__ void load8_fresh(float v[8], const float *p) {
    widen(v, pack<float>{__ldcg((const float4 *)p), __ldcg((const float4 *)p + 1)});
}

/* The step's part of a mask, read from device memory; nothing is read where nothing is drawn. */
template <int MASK> __device__ __forceinline__ cuda_draw draw_of(const cuda_mask &mask) {
    cuda_draw draw = {};
    if (MASK != CUDA_MASK_NONE) {
        const vg_step *step = &mask.step->step;
        draw.key0 = (uint32_t)step->seed;
        draw.key1 = (uint32_t)(step->seed >> 32);
        draw.step = step->number;
        draw.stream = mask.stream;
        draw.row = step->row;
        draw.threshold = mask.threshold;
    }
    return draw;
}

/* The lanes of the channels from `channel` on at position `pixel` of row `row`. */
template <int MASK>
__device__ __forceinline__ void lanes_in_row(uint32_t lanes[4], const cuda_draw &draw, const cuda_mask &mask,
                                             uint32_t row, uint32_t pixel, uint32_t channel) {
    if (MASK == CUDA_MASK_ALIGNED)
        cuda_lanes_aligned(lanes, &draw, row, pixel * mask.channels + channel);
    if (MASK == CUDA_MASK_ODD)
        cuda_lanes_odd(lanes, &draw, row, pixel * mask.channels + channel);
}

/* The same for U positions counted over the whole batch, `step` apart. Their rounds are interleaved, and the keys,
 * which the compiler would otherwise keep in twenty registers, are recomputed each time. */
template <int MASK, int U>
__device__ __forceinline__ void lanes_at(uint32_t (&lanes)[U][4], const cuda_draw &draw, const cuda_mask &mask,
                                         uint32_t first, uint32_t step, uint32_t channel) {
    if (MASK == CUDA_MASK_NONE)
        return;
    uint32_t k0 = draw.key0, k1 = draw.key1;
#ifdef __CUDA_ARCH__
    asm volatile("" : "+r"(k0), "+r"(k1));
#endif
#pragma unroll
    for (int u = 0; u < U; u++) {
        const uint32_t position = first + u * step, row = cuda_divide(position, mask.area);
        const uint32_t pixel = position - row * mask.area.divisor;
        if (MASK == CUDA_MASK_ALIGNED)
            cuda_count(lanes[u], &draw, row, (pixel * mask.channels + channel) >> 3);
        else
            lanes_in_row<MASK>(lanes[u], draw, mask, row, pixel, channel);
    }
    if (MASK == CUDA_MASK_ALIGNED) {
#pragma unroll
        for (int round = 0; round < CUDA_ROUNDS; round++) {
#pragma unroll
            for (int u = 0; u < U; u++)
                cuda_round(lanes[u], k0, k1);
            cuda_next_key(&k0, &k1);
        }
    }
}

template <int MASK> __device__ __forceinline__ bool kept(const uint32_t lanes[4], int j, const cuda_draw &draw) {
    return MASK == CUDA_MASK_NONE || cuda_kept(lanes, j, draw.threshold);
}

#endif
