/* average.cu - the mean over a row's positions, and its gradient. A block has one row: groups of eight channels side by
 * side; the lanes share the positions, and their sums are added in order. */
#include "backend/cuda/vec.cuh"

enum { THREADS = 320 };

/* Groups and lanes of a block; blocks side by side where the groups are many. */
struct average_shape {
    uint32_t area, groups, block_groups, lanes, chunks;
};

static average_shape shape_of(uint32_t area, uint32_t groups) {
    average_shape s = {area, groups, groups < THREADS ? groups : (uint32_t)THREADS, 1, 1};
    s.chunks = (groups + s.block_groups - 1) / s.block_groups;
    s.lanes = THREADS / s.block_groups;
    if (s.lanes > area)
        s.lanes = area;
    return s;
}

template <typename T> __global__ void __launch_bounds__(THREADS) average_forward(T *y, const T *x, average_shape s) {
    __shared__ float space[THREADS][8];
    const uint32_t row = blockIdx.x / s.chunks,
                   group = blockIdx.x % s.chunks * s.block_groups + threadIdx.x % s.block_groups;
    const uint32_t lane = threadIdx.x / s.block_groups;
    float sum[8] = {};
    if (group < s.groups) {
#pragma unroll 4
        for (uint32_t p = lane; p < s.area; p += s.lanes) {
            float v[8];
            widen(v, load(x, ((size_t)row * s.area + p) * s.groups + group));
            for (int j = 0; j < 8; j++)
                sum[j] += v[j];
        }
    }
    for (int j = 0; j < 8; j++)
        space[threadIdx.x][j] = sum[j];
    __syncthreads();
    if (lane > 0 || group >= s.groups)
        return;
    for (uint32_t l = 1; l < s.lanes; l++)
        for (int j = 0; j < 8; j++)
            sum[j] += space[l * s.block_groups + threadIdx.x][j];
    for (int j = 0; j < 8; j++)
        sum[j] /= (float)s.area;
    store(y, (size_t)row * s.groups + group, sum);
}

template <typename T> __global__ void __launch_bounds__(THREADS) average_backward(T *dx, const T *dy, average_shape s) {
    const uint32_t row = blockIdx.x / s.chunks,
                   group = blockIdx.x % s.chunks * s.block_groups + threadIdx.x % s.block_groups;
    if (group >= s.groups)
        return;
    float v[8];
    widen(v, load(dy, (size_t)row * s.groups + group));
    for (int j = 0; j < 8; j++)
        v[j] /= (float)s.area;
#pragma unroll 4
    for (uint32_t p = threadIdx.x / s.block_groups; p < s.area; p += s.lanes)
        store(dx, ((size_t)row * s.area + p) * s.groups + group, v);
}

void vg_cuda__average_run_forward(void *y, const void *x, uint32_t rows, uint32_t area, uint32_t groups, bool half,
                                  cudaStream_t stream) {
    const average_shape s = shape_of(area, groups);
    const unsigned blocks = rows * s.chunks, threads = s.block_groups * s.lanes;
    if (half)
        CUDA_LAUNCH((average_forward<bf16>), blocks, threads, stream, (bf16 *)y, (const bf16 *)x, s);
    else
        CUDA_LAUNCH((average_forward<float>), blocks, threads, stream, (float *)y, (const float *)x, s);
}

void vg_cuda__average_run_backward(void *dx, const void *dy, uint32_t rows, uint32_t area, uint32_t groups, bool half,
                                   cudaStream_t stream) {
    const average_shape s = shape_of(area, groups);
    const unsigned blocks = rows * s.chunks, threads = s.block_groups * s.lanes;
    if (half)
        CUDA_LAUNCH((average_backward<bf16>), blocks, threads, stream, (bf16 *)dx, (const bf16 *)dy, s);
    else
        CUDA_LAUNCH((average_backward<float>), blocks, threads, stream, (float *)dx, (const float *)dy, s);
}
