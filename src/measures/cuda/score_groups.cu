/* score_groups.cu - the kernels by groups of lanes (score_groups.h): a whole sample, or four kernels for samples in
 * tiles. Compiled without automatic fusing of products into sums: see SCORE_FMA. Also the most probable classes of
 * members. */
#include <cuda_runtime.h>

#include "measures/cuda/score_groups.h"
#include "measures/cuda/score_kernel.h"

enum { WARPS = SCORE_GROUP_THREADS / 32 };

static __device__ __forceinline__ int warp_lane() { return (int)threadIdx.x & 31; }
/* The warp's number in the block, known to the compiler to be that of all its lanes. */
static __device__ __forceinline__ int block_warp() { return __shfl_sync(0xffffffffu, (int)threadIdx.x / 32, 0); }
static __device__ __forceinline__ long long warp_index() { return (long long)blockIdx.x * WARPS + block_warp(); }

/* The group's view of sample n with its own part of the shared memory. */
static __device__ __forceinline__ lane_view view_of_sample(const score_job *job, long long n, float *shared) {
    int lane = warp_lane() & (job->lanes - 1), slot = warp_lane() - lane, weights = job->padded * 8 + 4;
    int groups = 32 / job->lanes, info = job->rounds * 32 * 8;
    lane_view v = lane_view_of(job, n, lane, slot);
    v.info = shared + block_warp() * (info + groups * weights);
    v.weights = v.info + info + slot / job->lanes * weights;
    return v;
}
/* The same for a warp that has a tile of the sample. */
static __device__ __forceinline__ lane_view view_of_tile(const score_job *job, long long n, float *shared) {
    lane_view v = lane_view_of(job, n, warp_lane(), 0);
    v.info = shared + block_warp() * (job->rounds * 32 * 8);
    v.weights = job->tile_weights + v.n * job->padded * 8;
    return v;
}

/* Adds the figures of a block's groups in their order: part blockIdx.x of gridDim.x. units: [groups][SCORE_FIGURES]. */
static __device__ void store_units(const score_job *job, const double *units, int groups) {
    __syncthreads();
    for (int which = (int)threadIdx.x; which < SCORE_FIGURES; which += SCORE_GROUP_THREADS) {
        double sum = 0.0;
        for (int g = 0; g < groups; g++)
            sum += units[g * SCORE_FIGURES + which];
        job->units[which * (long long)gridDim.x + blockIdx.x] = sum;
    }
}

template <int P, int G>
static __global__ void __launch_bounds__(SCORE_GROUP_THREADS, SCORE_GROUP_BLOCKS)
    score_samples(const __grid_constant__ score_job job) {
    extern __shared__ __align__(16) float shared[];
    __shared__ double units[SCORE_GROUP_THREADS * SCORE_FIGURES];
    int groups = 32 / job.lanes, group = (int)threadIdx.x / job.lanes;
    double *own = units + group * SCORE_FIGURES;
    if (((int)threadIdx.x & (job.lanes - 1)) == 0)
        for (int i = 0; i < SCORE_FIGURES; i++)
            own[i] = 0.0;
    long long step = (long long)gridDim.x * WARPS * groups;
    for (long long n = warp_index() * groups; n < job.n; n += step) {
        lane_state s;
        lane_view v = view_of_sample(&job, n + warp_lane() / job.lanes, shared);
        group_score(&v, &s, own, P, G);
    }
    store_units(&job, units, WARPS * groups);
}

/* Tile `item % tiles` of sample `item / tiles`. */
template <int P, int G, int second>
static __global__ void __launch_bounds__(SCORE_GROUP_THREADS, P ? SCORE_TILE_BLOCKS : SCORE_GROUP_BLOCKS)
    score_tiles(const __grid_constant__ score_job job) {
    extern __shared__ __align__(16) float shared[];
    long long item = warp_index(), n = item / job.tiles;
    int tile = (int)(item - n * job.tiles);
    if (n >= job.n)
        return;
    lane_state s;
    lane_view v = view_of_tile(&job, n, shared);
    v.base = tile * job.lanes * job.rounds;
    if (second)
        tile_second(&v, &s, tile, P, G);
    else
        tile_first(&v, &s, tile, P, G);
}

static __global__ void __launch_bounds__(SCORE_GROUP_THREADS) score_members(const __grid_constant__ score_job job) {
    long long item = warp_index(), n = item / job.m;
    if (n >= job.n)
        return;
    lane_state s;
    lane_view v = view_of_tile(&job, n, NULL);
    tile_member(&v, &s, (int)(item - n * job.m));
}

static __global__ void __launch_bounds__(SCORE_GROUP_THREADS) score_finish(const __grid_constant__ score_job job) {
    __shared__ double units[WARPS * SCORE_FIGURES];
    double *own = units + threadIdx.x / 32 * SCORE_FIGURES;
    if (warp_lane() == 0)
        for (int i = 0; i < SCORE_FIGURES; i++)
            own[i] = 0.0;
    for (long long n = warp_index(); n < job.n; n += (long long)gridDim.x * WARPS) {
        lane_state s;
        lane_view v = view_of_tile(&job, n, NULL);
        tile_finish(&v, &s, own);
    }
    store_units(&job, units, WARPS);
}

/* --- launching */
typedef void (*kernel)(score_job);

static cudaError_t start(kernel f, const score_job *job, long long blocks, size_t bytes, cudaStream_t stream) {
    void *arguments[] = {(void *)job};
    if (blocks > 0x7fffffff)
        return cudaErrorInvalidConfiguration;
    cudaError_t error = cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error == cudaSuccess)
        error = cudaLaunchKernel((const void *)f, dim3((unsigned)blocks), dim3(SCORE_GROUP_THREADS), arguments, bytes,
                                 stream);
    return error;
}

static long long warps(long long items) { return (items + WARPS - 1) / WARPS; }

template <int P, int G> static cudaError_t launch(const score_job *job, cudaStream_t stream) {
    size_t info = (size_t)job->rounds * 32 * 8 * sizeof(float) * WARPS;
    size_t weights = (size_t)(32 / job->lanes) * ((size_t)job->padded * 8 + 4) * sizeof(float) * WARPS;
    if (job->form == SCORE_GROUPS)
        return start(score_samples<P, G>, job, job->unit_count, P && !G ? 0 : info + weights, stream);
    cudaError_t error = start(score_tiles<P, G, 0>, job, warps(job->n * job->tiles), P ? 0 : info, stream);
    if (error == cudaSuccess)
        error = start(score_members, job, warps(job->n * job->m), 0, stream);
    if (error == cudaSuccess && job->weighted)
        error = start(score_tiles < P, P ? 1 : G, 1 >, job, warps(job->n * job->tiles), 0, stream);
    return error != cudaSuccess ? error : start(score_finish, job, job->unit_count, 0, stream);
}

template <int P> static cudaError_t launch_gates(const score_job *job, cudaStream_t stream) {
    return job->gated ? launch<P, 1>(job, stream) : launch<P, 0>(job, stream);
}

/* Up to SCORE_FEW members their number is a constant of the kernel. */
extern "C" cudaError_t vg_measures__groups_launch(const score_job *job, cudaStream_t stream) {
    switch (job->m) {
    case 1: return launch_gates<1>(job, stream);
    case 2: return launch_gates<2>(job, stream);
    case 3: return launch_gates<3>(job, stream);
    case 4: return launch_gates<4>(job, stream);
    case 5: return launch_gates<5>(job, stream);
    case 6: return launch_gates<6>(job, stream);
    case 7: return launch_gates<7>(job, stream);
    case 8: return launch_gates<8>(job, stream);
    default: return launch_gates<0>(job, stream);
    }
}

/* --- the most probable class of members */
static __global__ void __launch_bounds__(SCORE_GROUP_THREADS)
    find_tops(const __grid_constant__ score_job job, long long step, unsigned *tops) {
    long long row = warp_index(), sample = row / job.m;
    if (sample >= job.n)
        return;
    long long at = sample * step * job.stride_n + (row - sample * job.m) * job.stride_m;
    double best = -INFINITY;
    int where = 0x7fffffff;
    for (int c = warp_lane(); c < job.c; c += 32) {
        double value = input_value(&job, at + c);
        if (value > best || where == 0x7fffffff) {
            best = value;
            where = c;
        }
    }
    for (int apart = 16; apart > 0; apart /= 2) {
        double other = __shfl_xor_sync(0xffffffffu, best, apart);
        int other_where = __shfl_xor_sync(0xffffffffu, where, apart);
        if (lead_before(other, other_where, best, where)) {
            best = other;
            where = other_where;
        }
    }
    if (warp_lane() == 0)
        tops[row] = (unsigned)where;
}

extern "C" cudaError_t vg_measures__tops_launch(const score_job *job, long long step, unsigned *tops,
                                                cudaStream_t stream) {
    find_tops<<<(unsigned)warps(job->n * job->m), SCORE_GROUP_THREADS, 0, stream>>>(*job, step, tops);
    return cudaGetLastError();
}
