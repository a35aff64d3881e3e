/* hopper_forward.cu - 3x3 convolutions, stride 1, padding 1, on Hopper's tensor cores: 256 pixels x 160 output channels a tile.
 *
 * y[p][o] = sum over taps (ky, kx) and c of x[p + tap][c] w[o][tap][c], channels-last, bfloat16, sums in float32. A tile's
 * pixels are 8 rows of 32, 16 rows of 16 or 4 images of 8 x 8. For each (64 channels, kx) the copy engine brings the tile's
 * pixels shifted by kx - 1, with the row above and the row below (zeros outside of the image); ky then only moves the start by
 * whole rows, so one box serves three taps. The weights of one tap come as 160 x 64. One warp copies, two warpgroups multiply
 * two tiles of 64 pixels each. Sums go through shared memory to whole 16-byte writes, an addend is added on the way.
 *
 * NORM: in prediction the batch-norm, dropout and ReLU behind the convolution are a line, a mask and a floor: they are applied
 * to the 16 bytes on their way out, the plain sums are written only where a residual needs them. A thread draws the masks of
 * its twenty pieces while the tensor cores are at work and keeps them as 160 bits.
 *
 * Gradient to the data (TURNED): dx[p][c] = sum over taps and o of dy[p + tap][o] w[o][8 - tap][c]; w is read as it lies, its
 * columns running along memory. */
#include <cuda_bf16.h>

#include "backend/cuda/affine.cuh"
#include "backend/cuda/hopper_kernels.h"
#include "backend/cuda/hopper_ptx.cuh"
#include "backend/cuda/vec.cuh"

namespace {

using namespace hopper;

enum {
    N = HOPPER_N,
    THREADS = 384,
    A_STAGES = 2,
    A_BYTES = HOPPER_A_BYTES,
    PITCH = 336, /* bytes a row of the output on its way: 320, and 16 against bank conflicts */
    OUT_BYTES = 64 * PITCH,
    PIECES = 10,        /* of eight channels, a thread has of 64 pixels */
    LINE_BYTES = N * 4, /* a or c of a tile's columns: first the lower four of each eight channels, then the upper */
};
template <int TURNED> struct shape;
template <> struct shape<0> {
    enum { B_STAGES = 5, B_BYTES = N * 128, B_STEP = 32 };
};
template <> struct shape<1> {
    enum { B_STAGES = 4, B_BYTES = 3 * 64 * 128, B_STEP = 2048 };
};

template <int TURNED> constexpr int shared_bytes(bool norm) {
    return 1024 + A_STAGES * A_BYTES + shape<TURNED>::B_STAGES * shape<TURNED>::B_BYTES + 2 * OUT_BYTES + 256 +
           (norm ? 4 * LINE_BYTES : 0);
}

/* Places in shared memory, as addresses. */
template <int TURNED> struct places {
    uint32_t a, b, out, barriers;
    __device__ explicit places(uint32_t start)
        : a(start), b(a + A_STAGES * A_BYTES), out(b + shape<TURNED>::B_STAGES * shape<TURNED>::B_BYTES),
          barriers(out + 2 * OUT_BYTES) {}
    __device__ uint32_t line(int group) const { return barriers + 256 + group * 2 * LINE_BYTES; }
    __device__ uint32_t a_full(int i) const { return barriers + 8 * i; }
    __device__ uint32_t a_empty(int i) const { return barriers + 8 * (A_STAGES + i); }
    __device__ uint32_t b_full(int i) const { return barriers + 8 * (2 * A_STAGES + i); }
    __device__ uint32_t b_empty(int i) const { return barriers + 8 * (2 * A_STAGES + shape<TURNED>::B_STAGES + i); }
};

/* A ring's place: which stage, and which time round. */
template <int STAGES> struct place {
    int stage = 0;
    uint32_t phase = 0;
    __device__ void next() {
        if (++stage == STAGES) {
            stage = 0;
            phase ^= 1;
        }
    }
};

template <int TURNED, int MODE>
__device__ static inline void copy(const hopper_forward &work, const places<TURNED> &at, int tiles) {
    using S = shape<TURNED>;
    place<A_STAGES> a;
    place<S::B_STAGES> b;
    int columns = work.columns / N, width = work.width;
    uint32_t a_bytes = width == 16 ? 18 * 16 * 128 : 320 * 128;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int pixels = tile / columns, n0 = tile % columns * N;
        int image = width == 32 ? pixels / 4 : width == 16 ? pixels : pixels * 4, y = width == 32 ? pixels % 4 * 8 : 0;
        for (int k0 = 0; k0 < work.k; k0 += HOPPER_K)
            for (int kx = 0; kx < 3; kx++) {
                barrier_wait(at.a_empty(a.stage), a.phase ^ 1);
                if (MODE == 1)
                    barrier_arrive(at.a_full(a.stage));
                else {
                    barrier_expect(at.a_full(a.stage), a_bytes);
                    load_box(at.a + a.stage * A_BYTES, &work.x, k0, kx - 1, y - 1, image, at.a_full(a.stage));
                }
                a.next();
                for (int ky = 0; ky < 3; ky++) {
                    uint32_t to = at.b + b.stage * S::B_BYTES, full = at.b_full(b.stage);
                    barrier_wait(at.b_empty(b.stage), b.phase ^ 1);
                    if (MODE == 1)
                        barrier_arrive(full);
                    else
                        barrier_expect(full, S::B_BYTES);
                    if (MODE == 1) {
                    } else if (TURNED)
                        for (int i = 0; i < 3; i++)
                            load_box(to + i * 8192, &work.w, n0 + 64 * i, 8 - (3 * ky + kx), k0, full);
                    else
                        load_box(to, &work.w, k0, 3 * ky + kx, n0, full);
                    b.next();
                }
            }
    }
}

/* --- batch-norm behind the convolution */

/* a and c of the columns from n0 on. */
__device__ static inline void put_lines(const hopper_forward &work, uint32_t line, int n0) {
    for (int i = threadIdx.x % 128; i < N; i += 128) {
        const hopper_norm &norm = work.norm;
        int channel = n0 + i;
        uint32_t to = line + ((i >> 2 & 1) * (N / 8) + i / 8) * 16 + i % 4 * 4;
        float a, c;
        affine(&a, &c, norm.gamma[channel], norm.beta[channel], norm.running[channel],
               inverse_std(norm.running[work.columns + channel], norm.epsilon));
        a *= norm.mask.scale;
        asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(a) : "memory");
        asm volatile("st.shared.f32 [%0], %1;" ::"r"(to + LINE_BYTES), "f"(c) : "memory");
    }
}
__device__ static inline void get_line(float (&v)[8], uint32_t at) {
#pragma unroll
    for (int i = 0; i < 2; i++)
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v[4 * i]), "=f"(v[4 * i + 1]), "=f"(v[4 * i + 2]), "=f"(v[4 * i + 3])
                     : "r"(at + i * (LINE_BYTES / 2))
                     : "memory");
}

/* The masks of a thread's pieces, eight bits each, the newest lowest. */
struct kept_bits {
    uint32_t word[5];
};

/* Draws the mask of piece t, 0 to 19; `row`: the group's first pixel. */
__device__ static inline void draw_piece(kept_bits &kept, int t, const hopper_forward &work, uint32_t row, int n0) {
    const cuda_mask &mask = work.norm.mask;
    cuda_draw draw = draw_of<CUDA_MASK_ALIGNED>(mask);
    int piece = (t < PIECES ? t : t - PIECES) * 128 + threadIdx.x % 128, r = piece / 20, q = piece % 20;
    uint32_t position = row + (t < PIECES ? 0 : 64) + r, image = cuda_divide(position, mask.area);
    uint32_t pixel = position - image * mask.area.divisor, lanes[4], byte = 0;
    asm volatile("" : "+r"(draw.key0), "+r"(draw.key1)); /* or twenty registers would hold the rounds' keys */
    cuda_lanes_aligned(lanes, &draw, image, pixel * mask.channels + n0 + q * 8);
#pragma unroll
    for (int j = 0; j < 8; j++)
        byte |= (uint32_t)cuda_kept(lanes, j, draw.threshold) << j;
#pragma unroll
    for (int i = 4; i > 0; i--)
        kept.word[i] = __funnelshift_l(kept.word[i - 1], kept.word[i], 8);
    kept.word[0] = kept.word[0] << 8 | byte;
}

template <int MASK>
__device__ static inline void put_normal(const hopper_forward &work, size_t to, uint4 words, uint32_t line, int q,
                                         uint32_t kept) {
    float v[8], a[8], c[8];
    widen(v, pack<bf16>{words});
    get_line(a, line + q * 16);
    get_line(c, line + LINE_BYTES + q * 16);
#pragma unroll
    for (int j = 0; j < 8; j++)
        v[j] = MASK == CUDA_MASK_NONE || (kept >> j & 1) ? fmaf(a[j], v[j], c[j]) : c[j];
    store_above((bf16 *)work.norm.z, to / 8, v, work.norm.floor);
}

/* 64 rows of sums to memory; rows from `row` on, of `rows`. HALF: the first 64 of a group's 128 or the second. */
template <int HALF, int NORM, int MASK>
__device__ static inline void put(float (&d)[80], const hopper_forward &work, uint32_t out, size_t row, size_t rows, int n0,
                                  int group, uint32_t line, const kept_bits &kept) {
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
        size_t to = (row + r) * work.columns + n0 + q * 8;
        if (row + r < rows && (!NORM || y))
            *(uint4 *)(y + to) = v;
        constexpr int last = 2 * PIECES - 1 - HALF * PIECES;
        if (NORM && row + r < rows)
            put_normal<MASK>(work, to, v, line, q, kept.word[(last - i) / 4] >> (last - i) % 4 * 8);
    }
    warpgroup_sync(group);
}

template <int TURNED, int MODE, int NORM, int MASK>
__device__ static inline void multiply(const hopper_forward &work, const places<TURNED> &at, int tiles) {
    using S = shape<TURNED>;
    place<A_STAGES> a;
    place<S::B_STAGES> b;
    int group = threadIdx.x / 128 - 1, columns = work.columns / N, width = work.width;
    bool speaker = threadIdx.x % 32 == 0;
    uint32_t tile_bytes = (width == 8 ? 80 : 64) * 128; /* from 64 pixels to the next 64 */
    uint32_t row_bytes = width * 128;
    size_t rows = (size_t)work.n * width * width;
    float d0[80], d1[80];
    kept_bits kept = {};
    int normal = -1; /* the columns whose a and c lie in shared memory */
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
#pragma unroll
        for (int i = 0; i < 80; i++)
            d0[i] = d1[i] = 0;
        hold(d0);
        hold(d1);
        int last_a = -1, last_b = -1; /* stages to give back once their products are done */
        size_t row = (size_t)(tile / columns) * HOPPER_PIXELS + group * 128;
        int n0 = tile % columns * N, drawn = 0;
        if (NORM && n0 != normal)
            put_lines(work, at.line(group), n0);
        normal = n0;
        for (int k0 = 0; k0 < work.k; k0 += HOPPER_K) {
            bool half = work.k - k0 < HOPPER_K;
            for (int kx = 0; kx < 3; kx++) {
                barrier_wait(at.a_full(a.stage), a.phase);
                uint32_t from = at.a + a.stage * A_BYTES + 2 * group * tile_bytes;
                for (int ky = 0; ky < 3; ky++) {
                    barrier_wait(at.b_full(b.stage), b.phase);
                    uint64_t p0 = descriptor(work.a_bits, from + ky * row_bytes);
                    uint64_t p1 = descriptor(work.a_bits, from + ky * row_bytes + tile_bytes);
                    uint64_t q = descriptor(work.b_bits, at.b + b.stage * S::B_BYTES);
                    product_fence();
#pragma unroll
                    for (int i = 0; i < (MODE == 2 ? 0 : 2); i++) {
                        product<0, TURNED>(d0, p0 + 2 * i, q + i * (S::B_STEP / 16));
                        product<0, TURNED>(d1, p1 + 2 * i, q + i * (S::B_STEP / 16));
                    }
                    if (!half && MODE != 2) {
                        product_fence();
#pragma unroll
                        for (int i = 2; i < 4; i++) {
                            product<0, TURNED>(d0, p0 + 2 * i, q + i * (S::B_STEP / 16));
                            product<0, TURNED>(d1, p1 + 2 * i, q + i * (S::B_STEP / 16));
                        }
                    }
                    product_commit();
                    if (MASK != CUDA_MASK_NONE && drawn < 2 * PIECES)
                        draw_piece(kept, drawn++, work, (uint32_t)row, n0);
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
        for (; MASK != CUDA_MASK_NONE && drawn < 2 * PIECES; drawn++)
            draw_piece(kept, drawn, work, (uint32_t)row, n0);
        product_wait<0>();
        hold(d0);
        hold(d1);
        if (speaker) {
            barrier_arrive(at.b_empty(last_b));
            barrier_arrive(at.a_empty(last_a));
        }
        uint32_t out = at.out + group * OUT_BYTES;
        put<0, NORM, MASK>(d0, work, out, row, rows, n0, group + 1, at.line(group), kept);
        put<1, NORM, MASK>(d1, work, out, row + 64, rows, n0, group + 1, at.line(group), kept);
    }
}

template <int TURNED, int MODE, int NORM, int MASK>
__global__ void __launch_bounds__(THREADS, 1) forward_kernel(const __grid_constant__ hopper_forward work) {
    extern __shared__ unsigned char memory[];
    using S = shape<TURNED>;
    places<TURNED> at((shared_address(memory) + 1023) & ~1023u);
    size_t rows = (size_t)work.n * work.width * work.width;
    int tiles = (int)((rows + HOPPER_PIXELS - 1) / HOPPER_PIXELS) * (work.columns / N);
    if (threadIdx.x == 0) {
        prefetch_map(&work.x);
        prefetch_map(&work.w);
        for (int i = 0; i < A_STAGES; i++) {
            barrier_init(at.a_full(i), 1);
            barrier_init(at.a_empty(i), 8);
        }
        for (int i = 0; i < S::B_STAGES; i++) {
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
        multiply<TURNED, MODE, NORM, MASK>(work, at, tiles);
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
    return mode == 1   ? forward_kernel<TURNED, 1, 0, CUDA_MASK_NONE>
           : mode == 2 ? forward_kernel<TURNED, 2, 0, CUDA_MASK_NONE>
                       : forward_kernel<TURNED, 0, 0, CUDA_MASK_NONE>;
}

} // namespace

int vg_cuda__k_hopper_forward(cudaStream_t stream, const hopper_forward *work) {
    if (work->norm.z)
        return launch(work->norm.mask.mode == CUDA_MASK_NONE ? forward_kernel<0, 0, 1, CUDA_MASK_NONE>
                                                             : forward_kernel<0, 0, 1, CUDA_MASK_ALIGNED>,
                      shared_bytes<0>(true), stream, work);
    return work->turned ? launch(plain<1>(work->mode), shared_bytes<1>(false), stream, work)
                        : launch(plain<0>(work->mode), shared_bytes<0>(false), stream, work);
}
