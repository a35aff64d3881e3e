/* hopper_forward.cu - 3x3 convolutions, stride 1, padding 1, on Hopper's tensor cores: 256 pixels x 160 output channels a tile.
 *
 * y[p][o] = sum over taps (ky, kx) and c of x[p + tap][c] w[o][tap][c], channels-last, bfloat16, sums in float32. A tile's
 * pixels are 8 rows of 32, 16 rows of 16 or 4 images of 8 x 8. For each (64 channels, kx) the copy engine brings the tile's
 * pixels shifted by kx - 1, with the row above and the row below (zeros outside of the image); ky then only moves the start by
 * whole rows, so one box serves three taps. The weights of one tap come as 160 x 64. One warp copies, two warpgroups multiply
 * two tiles of 64 pixels each. Sums go through shared memory to whole 16-byte writes, an addend is added on the way.
 *
 * Gradient to the data (TURNED): dx[p][c] = sum over taps and o of dy[p + tap][o] w[o][8 - tap][c]; w is read as it lies, its
 * columns running along memory. */
#include <cuda_bf16.h>

#include "backend/cuda/hopper_copy.cuh"

namespace {

using namespace hopper;

enum {
    THREADS = 384,
    PITCH = 336, /* bytes a row of the output on its way: 320, and 16 against bank conflicts */
    OUT_BYTES = 64 * PITCH,
};

/* Places in shared memory, as addresses. */
template <int TURNED> struct places {
    enum {
        A_STAGES = 2,
        A_BYTES = HOPPER_A_BYTES,
        B_STAGES = TURNED ? 4 : 5,
        B_BYTES = TURNED ? 3 * 64 * 128 : N * 128,
        B_STEP = TURNED ? 2048 : 32,
        BYTES = 1024 + A_STAGES * A_BYTES + B_STAGES * B_BYTES + 2 * OUT_BYTES + 256
    };
    uint32_t a, b, out, barriers;
    __device__ explicit places(uint32_t start)
        : a(start), b(a + A_STAGES * A_BYTES), out(b + B_STAGES * B_BYTES), barriers(out + 2 * OUT_BYTES) {}
    __device__ uint32_t a_full(int i) const { return barriers + 8 * i; }
    __device__ uint32_t a_empty(int i) const { return barriers + 8 * (A_STAGES + i); }
    __device__ uint32_t b_full(int i) const { return barriers + 8 * (2 * A_STAGES + i); }
    __device__ uint32_t b_empty(int i) const { return barriers + 8 * (2 * A_STAGES + B_STAGES + i); }
};

/* 64 rows of sums to memory; rows from `row` on, of `rows`. */
__device__ static inline void put(float (&d)[80], const hopper_forward &work, uint32_t out, size_t row, size_t rows, int n0,
                                  int group) {
    int thread = threadIdx.x % 128, lane = thread % 32;
    uint32_t mine = out + (thread / 32 * 16 + lane / 4) * PITCH + lane % 4 * 4;
    __nv_bfloat16 *y = (__nv_bfloat16 *)work.y;
    const __nv_bfloat16 *addend = (const __nv_bfloat16 *)work.addend;
    if (addend) {
#pragma unroll
        for (int i = 0; i < 10; i++) {
            int piece = i * 128 + thread, r = piece / 20, q = piece % 20;
            uint4 v = make_uint4(0, 0, 0, 0);
            if (row + r < rows)
                v = *(const uint4 *)(addend + (row + r) * work.columns + n0 + q * 8);
            asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(out + r * PITCH + q * 16), "r"(v.x), "r"(v.y),
                         "r"(v.z), "r"(v.w)
                         : "memory");
        }
        warpgroup_sync(group);
    }
#pragma unroll
    for (int i = 0; i < 40; i++) { /* i / 2: eight columns; i % 2: the row 8 below */
        uint32_t to = mine + i / 2 * 16 + i % 2 * (8 * PITCH);
        float u = d[2 * i], v = d[2 * i + 1];
        if (addend) {
            uint32_t pair;
            asm volatile("ld.shared.b32 %0, [%1];" : "=r"(pair) : "r"(to) : "memory");
            u += __uint_as_float(pair << 16);
            v += __uint_as_float(pair & 0xffff0000u);
        }
        __nv_bfloat162 both = __floats2bfloat162_rn(u, v);
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(*(uint32_t *)&both) : "memory");
    }
    warpgroup_sync(group);
#pragma unroll
    for (int i = 0; i < 10; i++) {
        int piece = i * 128 + thread, r = piece / 20, q = piece % 20;
        uint4 v;
        asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "r"(out + r * PITCH + q * 16)
                     : "memory");
        if (row + r < rows)
            *(uint4 *)(y + (row + r) * work.columns + n0 + q * 8) = v;
    }
    warpgroup_sync(group);
}

template <int TURNED, int MODE>
__device__ static inline void multiply(const hopper_forward &work, const places<TURNED> &at, int tiles) {
    using P = places<TURNED>;
    place<P::A_STAGES> a;
    place<P::B_STAGES> b;
    int group = threadIdx.x / 128 - 1, columns = work.columns / N, width = work.width;
    bool speaker = threadIdx.x % 32 == 0;
    uint32_t tile_bytes = (width == 8 ? 80 : 64) * 128; /* from 64 pixels to the next 64 */
    uint32_t row_bytes = width * 128;
    size_t rows = (size_t)work.n * width * width;
    float d0[80], d1[80];
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
#pragma unroll
        for (int i = 0; i < 80; i++)
            d0[i] = d1[i] = 0;
        hold(d0);
        hold(d1);
        int last_a = -1, last_b = -1; /* stages to give back once their products are done */
        size_t row = (size_t)(tile / columns) * HOPPER_PIXELS + group * 128;
        int n0 = tile % columns * N;
        for (int k0 = 0; k0 < work.k; k0 += HOPPER_K) {
            bool half = work.k - k0 < HOPPER_K;
            for (int kx = 0; kx < 3; kx++) {
                barrier_wait(at.a_full(a.stage), a.phase);
                uint32_t from = at.a + a.stage * P::A_BYTES + 2 * group * tile_bytes;
                for (int ky = 0; ky < 3; ky++) {
                    barrier_wait(at.b_full(b.stage), b.phase);
                    uint64_t p0 = descriptor(work.a_bits, from + ky * row_bytes);
                    uint64_t p1 = descriptor(work.a_bits, from + ky * row_bytes + tile_bytes);
                    uint64_t q = descriptor(work.b_bits, at.b + b.stage * P::B_BYTES);
                    product_fence();
#pragma unroll
                    for (int i = 0; i < (MODE == 2 ? 0 : 2); i++) {
                        product<0, TURNED>(d0, p0 + 2 * i, q + i * (P::B_STEP / 16));
                        product<0, TURNED>(d1, p1 + 2 * i, q + i * (P::B_STEP / 16));
                    }
                    if (!half && MODE != 2) {
                        product_fence();
#pragma unroll
                        for (int i = 2; i < 4; i++) {
                            product<0, TURNED>(d0, p0 + 2 * i, q + i * (P::B_STEP / 16));
                            product<0, TURNED>(d1, p1 + 2 * i, q + i * (P::B_STEP / 16));
                        }
                    }
                    product_commit();
                    product_wait<1>();
                    if (speaker) {
                        if (last_b >= 0)
                            barrier_arrive(at.b_empty(last_b));
                        if (last_a >= 0)
                            barrier_arrive(at.a_empty(last_a));
                    }
                    last_b = b.stage;
                    last_a = ky == 2 ? a.stage : -1;
                    b.next();
                }
                a.next();
            }
        }
        product_wait<0>();
        hold(d0);
        hold(d1);
        if (speaker) {
            barrier_arrive(at.b_empty(last_b));
            barrier_arrive(at.a_empty(last_a));
        }
        uint32_t out = at.out + group * OUT_BYTES;
        put(d0, work, out, row, rows, n0, group + 1);
        put(d1, work, out, row + 64, rows, n0, group + 1);
    }
}

template <int TURNED, int MODE>
__global__ void __launch_bounds__(THREADS, 1) forward_kernel(const __grid_constant__ hopper_forward work) {
    extern __shared__ unsigned char memory[];
    using P = places<TURNED>;
    places<TURNED> at((shared_address(memory) + 1023) & ~1023u);
    size_t rows = (size_t)work.n * work.width * work.width;
    int tiles = (int)((rows + HOPPER_PIXELS - 1) / HOPPER_PIXELS) * (work.columns / N);
    if (threadIdx.x == 0) {
        prefetch_map(&work.x);
        prefetch_map(&work.w);
        for (int i = 0; i < P::A_STAGES; i++) {
            barrier_init(at.a_full(i), 1);
            barrier_init(at.a_empty(i), 8);
        }
        for (int i = 0; i < P::B_STAGES; i++) {
            barrier_init(at.b_full(i), 1);
            barrier_init(at.b_empty(i), 8);
        }
        barrier_init_done();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        registers_down<40>();
        if (threadIdx.x == 0)
            copy<TURNED, MODE>(work, at, tiles);
    } else {
        registers_up<232>();
        multiply<TURNED, MODE>(work, at, tiles);
    }
}

typedef void (*forward_function)(hopper_forward);

static int launch(forward_function kernel, int shared, cudaStream_t stream, const hopper_forward *work) {
    cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    if (error != cudaSuccess)
        return (int)error;
    size_t rows = (size_t)work->n * work->width * work->width;
    int tiles = (int)((rows + HOPPER_PIXELS - 1) / HOPPER_PIXELS) * (work->columns / N);
    int blocks = tiles < work->blocks ? tiles : work->blocks;
    kernel<<<blocks, THREADS, shared, stream>>>(*work);
    return (int)cudaGetLastError();
}

template <int TURNED> forward_function plain(int mode) {
    return mode == 1 ? forward_kernel<TURNED, 1> : mode == 2 ? forward_kernel<TURNED, 2> : forward_kernel<TURNED, 0>;
}

} // namespace

int vg_cuda__k_hopper_forward(cudaStream_t stream, const hopper_forward *work) {
    return work->turned ? launch(plain<1>(work->mode), places<1>::BYTES, stream, work)
                        : launch(plain<0>(work->mode), places<0>::BYTES, stream, work);
}
