/* patches.cu - the patches of an image as rows of a matrix, and back. */
#include <cuda_bf16.h>

#include "backend/cuda/patches.h"

typedef __nv_bfloat16 bf16;

enum { THREADS = 256 };

template <typename T> struct alignas(sizeof(T) * 8) pack { T v[8]; };
__device__ static inline float wide(float x) { return x; }
__device__ static inline float wide(bf16 x) { return __bfloat162float(x); }
__device__ static inline void put(float &to, float x) { to = x; }
__device__ static inline void put(bf16 &to, float x) { to = __float2bfloat16(x); }

static unsigned grid_for(size_t items) {
    size_t blocks = (items + THREADS - 1) / THREADS, most = 132 * 16;
    return (unsigned)(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

/* Eight columns per thread. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    columns_kernel(T *columns, const T *x, cuda_columns q, unsigned items) {
    unsigned groups = q.k / 8;
    for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < items; i += gridDim.x * THREADS) {
        unsigned row = i / groups, first = (i - row * groups) * 8;
        unsigned at = row / q.ow;
        int ox = row - at * q.ow, n = at / q.oh, oy = at - n * q.oh;
        pack<T> e;
#pragma unroll
        for (int j = 0; j < 8; j++) {
            int k = first + j, tap = k / q.c, c = k - tap * q.c, r = tap / q.s, s = tap - r * q.s;
            int y = oy * q.stride - q.pad + r, xx = ox * q.stride - q.pad + s;
            bool inside = tap < q.r * q.s && y >= 0 && y < q.h && xx >= 0 && xx < q.w;
            if (inside)
                e.v[j] = x[(((size_t)n * q.h + y) * q.w + xx) * q.channels + c];
            else
                put(e.v[j], 0.0f);
        }
        *reinterpret_cast<pack<T> *>(columns + (size_t)i * 8) = e;
    }
}

/* One element of dx per thread: the taps that read it, in order. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    uncolumns_kernel(T *dx, const T *columns, const T *addend, cuda_columns q, size_t items) {
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < items; i += (size_t)gridDim.x * THREADS) {
        size_t pixel = i / q.channels;
        int c = (int)(i - pixel * q.channels), x = (int)(pixel % q.w), y = (int)(pixel / q.w % q.h);
        size_t n = pixel / ((size_t)q.w * q.h);
        float sum = addend ? wide(addend[i]) : 0.0f;
        for (int r = 0; r < q.r && c < q.c; r++) {
            int oy = y + q.pad - r;
            if (oy < 0 || oy % q.stride || oy / q.stride >= q.oh)
                continue;
            for (int s = 0; s < q.s; s++) {
                int ox = x + q.pad - s;
                if (ox < 0 || ox % q.stride || ox / q.stride >= q.ow)
                    continue;
                size_t row = (n * q.oh + oy / q.stride) * q.ow + ox / q.stride;
                sum += wide(columns[row * q.k + (r * q.s + s) * q.c + c]);
            }
        }
        put(dx[i], c < q.c ? sum : 0.0f);
    }
}

extern "C" {

void vg_cuda__k_columns(cudaStream_t stream, bool half, void *columns, const void *x, cuda_columns q) {
    unsigned items = (unsigned)((size_t)q.n * q.oh * q.ow * (q.k / 8));
    if (half)
        columns_kernel<bf16><<<grid_for(items), THREADS, 0, stream>>>((bf16 *)columns, (const bf16 *)x, q, items);
    else
        columns_kernel<float><<<grid_for(items), THREADS, 0, stream>>>((float *)columns, (const float *)x, q, items);
}

void vg_cuda__k_uncolumns(cudaStream_t stream, bool half, void *dx, const void *columns, const void *addend,
                          cuda_columns q) {
    size_t items = (size_t)q.n * q.h * q.w * q.channels;
    if (half)
        uncolumns_kernel<bf16><<<grid_for(items), THREADS, 0, stream>>>((bf16 *)dx, (const bf16 *)columns,
                                                                        (const bf16 *)addend, q, items);
    else
        uncolumns_kernel<float><<<grid_for(items), THREADS, 0, stream>>>((float *)dx, (const float *)columns,
                                                                         (const float *)addend, q, items);
}

} /* extern "C" */
