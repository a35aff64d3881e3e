/* sums.cuh - sums over positions, channel by channel, in an order that does not depend on which block finishes last. */
#ifndef VG_CUDA_SUMS_CUH
#define VG_CUDA_SUMS_CUH

#include "backend/cuda/vec.cuh"

/* Where a thread is in a cuda_shape. */
struct place {
    uint32_t chunk, tile, lane, group; /* group: of all channels */
    bool active;                       /* the group exists */
};

__device__ __forceinline__ place place_of(const cuda_shape &s) {
    place p;
    p.chunk = blockIdx.x % s.chunks;
    p.tile = blockIdx.x / s.chunks;
    p.lane = threadIdx.x / s.block_groups;
    p.group = p.chunk * s.block_groups + threadIdx.x % s.block_groups;
    p.active = p.group < s.groups;
    return p;
}

/* Shared memory of a block that adds up S values per channel. */
template <int S> struct __align__(16) sum_space {
    union {
        float lanes[CUDA_SUM_THREADS * 8 * S]; /* [lane][S][block_groups * 8] */
        double tiles[CUDA_SUM_THREADS * 4];    /* [part][S][block_groups * 8] */
    };
    double total[CUDA_SUM_GROUPS * 8 * S]; /* [S][block_groups * 8] */
    bool last;
};

/* The lanes' sums -> sum (of column threadIdx.x, below `width`). */
template <int S>
__device__ __forceinline__ float add_lanes(sum_space<S> &space, const float (&own)[S][8], const cuda_shape &s) {
    const uint32_t channels = s.block_groups * 8, width = channels * S, t = threadIdx.x, cuts = blockDim.x / width;
    const uint32_t lane = t / s.block_groups, group = t % s.block_groups;
    for (int k = 0; k < S; k++) {
        float4 *to = (float4 *)(space.lanes + lane * width + k * channels + group * 8);
        to[0] = make_float4(own[k][0], own[k][1], own[k][2], own[k][3]);
        to[1] = make_float4(own[k][4], own[k][5], own[k][6], own[k][7]);
    }
    __syncthreads();
    const uint32_t column = t % width, cut = t / width;
    float sum = 0;
    if (cut < cuts) {
#pragma unroll 8
        for (uint32_t l = cut; l < s.lanes; l += cuts)
            sum += space.lanes[l * width + column];
    }
    __syncthreads();
    space.lanes[t] = sum;
    __syncthreads();
    for (uint32_t k = 1; k < cuts && t < width; k++)
        sum += space.lanes[k * width + t];
    return sum;
}

/* The tiles' partial sums of this chunk -> space.total. */
template <int S>
__device__ __forceinline__ void add_tiles(sum_space<S> &space, const float *partials, const cuda_shape &s,
                                          uint32_t chunk) {
    const uint32_t width = s.block_groups * 8 * S, quads = width / 4, t = threadIdx.x;
    const uint32_t quad = t % quads, part = t / quads, parts = blockDim.x / quads;
    const float4 *from = (const float4 *)(partials + (size_t)chunk * s.tiles * width) + quad;
    double sum[4] = {0, 0, 0, 0};
    if (part < parts) {
#pragma unroll 4
        for (uint32_t tile = part; tile < s.tiles; tile += parts) {
            float4 v = __ldcg(from + (size_t)tile * quads);
            sum[0] += (double)v.x;
            sum[1] += (double)v.y;
            sum[2] += (double)v.z;
            sum[3] += (double)v.w;
        }
        for (int i = 0; i < 4; i++)
            space.tiles[part * width + quad * 4 + i] = sum[i];
    }
    __syncthreads();
    if (t < width) {
        double total = 0;
#pragma unroll 4
        for (uint32_t k = 0; k < parts; k++)
            total += space.tiles[k * width + t];
        space.total[t] = total;
    }
    __syncthreads();
}

/* Sums `own` over all threads of all tiles. Returns true in one block of each chunk, which then has the totals in
 * space.total; all threads of a block get the same answer. Threads of groups that do not exist pass zeros. */
template <int S>
__device__ __forceinline__ bool add_up(sum_space<S> &space, const float (&own)[S][8], const cuda_shape &s,
                                       const place &at, float *partials, unsigned *counters) {
    const uint32_t width = s.block_groups * 8 * S, t = threadIdx.x;
    float sum = add_lanes<S>(space, own, s);
    if (s.tiles == 1) {
        if (t < width)
            space.total[t] = (double)sum;
        __syncthreads();
        return true;
    }
    if (t < width)
        partials[((size_t)at.chunk * s.tiles + at.tile) * width + t] = sum;
    __threadfence();
    __syncthreads();
    if (t == 0)
        space.last = atomicAdd(counters + at.chunk, 1u) == s.tiles - 1;
    __syncthreads();
    if (!space.last)
        return false;
    __threadfence();
    add_tiles<S>(space, partials, s, at.chunk);
    if (t == 0)
        counters[at.chunk] = 0;
    return true;
}

#endif
