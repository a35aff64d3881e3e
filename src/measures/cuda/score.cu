/* score.cu - the scoring kernel: a block of threads takes some samples through all phases (score_phases.h) in shared
 * memory, so that predictions are read from device memory once. Variants: floats or doubles; where the arrays live;
 * members per step. */
#include <cuda_runtime.h>

#include "measures/cuda/score_kernel.h"
#include "measures/cuda/score_phases.h"

template <int B, int wide, int where, int fine> static __device__ __forceinline__ void run_phases(const score_view *v) {
#define STAGE(number)                                                                                                  \
    score_phase(v, number, (int)threadIdx.x, B, wide, where, fine);                                                    \
    __syncthreads()
    STAGE(0);
    if (wide) {
        STAGE(1);
    }
    STAGE(2);
    STAGE(3);
    STAGE(4);
    STAGE(5);
    STAGE(6);
    STAGE(7);
    STAGE(8);
    STAGE(9);
    STAGE(10);
    STAGE(11);
    STAGE(12);
    STAGE(13);
    STAGE(14);
    STAGE(15);
#undef STAGE
}

/* Registers per thread: few enough for more warps, which hide each other's latency, while the sums of powers stay in
 * registers. */
template <int B, int wide, int where, int fine>
static __global__ void __maxnreg__(wide || where != SCORE_SHARED ? SCORE_REGISTERS_WIDE : SCORE_REGISTERS)
    score(const __grid_constant__ score_job job) {
    extern __shared__ __align__(16) char shared[];
    long long count = job.list ? (long long)*job.list_count : job.n, tiles = (count + job.samples - 1) / job.samples;
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        if (where == SCORE_SHARED) {
            score_view v = score_view_of(&job, tile * job.samples, count, shared, shared + job.p, 1);
            run_phases<B, wide, where, fine>(&v);
        } else {
            char *own = job.memory + (size_t)blockIdx.x * (job.p_bytes + (where == SCORE_GLOBAL ? job.bytes : 0));
            char *base = where == SCORE_GLOBAL ? own + job.p_bytes : shared;
            score_view v = score_view_of(&job, tile * job.samples, count, base, own, job.p_bytes != 0);
            run_phases<B, wide, where, fine>(&v);
        }
    }
}

template <int B, int wide, int where, int fine>
static cudaError_t launch(const score_job *job, long long blocks, cudaStream_t stream) {
    long long tiles = (job->n + job->samples - 1) / job->samples;
    size_t bytes = where == SCORE_GLOBAL ? 0 : job->bytes;
    if (blocks > 0 && tiles > blocks)
        tiles = blocks;
    if (tiles > 0x7fffffff)
        tiles = 0x7fffffff;
    cudaError_t error =
        cudaFuncSetAttribute(score<B, wide, where, fine>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error == cudaSuccess && where == SCORE_SHARED) /* as many blocks per multiprocessor as fit */
        error = cudaFuncSetAttribute(score<B, wide, where, fine>, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared);
    if (error != cudaSuccess)
        return error;
    score<B, wide, where, fine><<<(unsigned)tiles, (unsigned)job->threads, bytes, stream>>>(*job);
    return cudaGetLastError();
}

/* s += x, exactly but for the last bits of `rest`. */
static __device__ __forceinline__ void add_to(double *sum, double *rest, double x, double more) {
    double next = *sum + x, part = next - *sum;
    *rest += (*sum - (next - part)) + (x - part) + more;
    *sum = next;
}

enum { TOTAL_THREADS = 1024 };
static __global__ void __launch_bounds__(TOTAL_THREADS)
    total(const double *units, long long n, unsigned wanted, score_totals *totals) {
    __shared__ double sums[TOTAL_THREADS], rests[TOTAL_THREADS];
    int which = (int)blockIdx.x, tid = (int)threadIdx.x;
    double sum = 0.0, rest = 0.0;
    if (!(wanted >> which & 1))
        return;
    for (long long i = tid; i < n; i += TOTAL_THREADS)
        add_to(&sum, &rest, units[which * n + i], 0.0);
    sums[tid] = sum;
    rests[tid] = rest;
    for (int half = TOTAL_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (tid < half)
            add_to(&sums[tid], &rests[tid], sums[tid + half], rests[tid + half]);
    }
    if (tid == 0)
        add_to(&totals->sum[which], &totals->rest[which], sums[0], rests[0]);
}

extern "C" cudaError_t vg_measures__score_launch(const score_job *job, long long blocks, cudaStream_t stream) {
    if (job->wide) {
        if (job->place == SCORE_SHARED)
            return job->double_integral ? launch<8, 1, SCORE_SHARED, 1>(job, blocks, stream)
                                        : launch<8, 1, SCORE_SHARED, 0>(job, blocks, stream);
        return job->double_integral ? launch<8, 1, SCORE_GLOBAL, 1>(job, blocks, stream)
                                    : launch<8, 1, SCORE_GLOBAL, 0>(job, blocks, stream);
    }
    switch (job->place) {
    case SCORE_SHARED:
        return job->block == 4 ? launch<4, 0, SCORE_SHARED, 0>(job, blocks, stream)
                               : launch<8, 0, SCORE_SHARED, 0>(job, blocks, stream);
    case SCORE_LARGE: return launch<8, 0, SCORE_LARGE, 0>(job, blocks, stream);
    default: return launch<8, 0, SCORE_GLOBAL, 0>(job, blocks, stream);
    }
}

extern "C" cudaError_t vg_measures__score_total(const score_job *job, score_totals *totals, cudaStream_t stream) {
    unsigned wanted = 1u | (job->out.tu ? 2u : 0u) | (job->out.gtu ? 4u : 0u) | 8u | 16u;
    total<<<SCORE_FIGURES, TOTAL_THREADS, 0, stream>>>(job->units, job->unit_count, wanted, totals);
    return cudaGetLastError();
}
