/* hopper_norm.cu - hopper_forward.cu's forward convolutions with what follows them in prediction: a residual added, and the
 * batch-norm, dropout and ReLU behind, which are a line, a mask and a floor there. The plain sums are written only where a
 * residual needs them. The same bits as the convolution and norm.cu one after the other.
 *
 * The tensor cores should not wait for all this. Two warpgroups multiply; while they do, their threads draw the tile's masks
 * into shared memory. Of a finished tile they add the residual in registers and put the sums, 64 rows at a time, into shared
 * memory: three more warps take them from there to memory while the next products run. One thread copies. */
#include <cuda_bf16.h>

#include "backend/cuda/affine.cuh"
#include "backend/cuda/hopper_copy.cuh"
#include "backend/cuda/vec.cuh"

namespace {

using namespace hopper;

enum {
    THREADS = 384,
    WRITERS = 3, /* warps; of their threads 80 write, four rows of 20 times eight channels at a time */
    PITCH = 336, /* bytes a row of sums on its way: 320, and 16 against bank conflicts */
    OUT_BYTES = 64 * PITCH,
    MASK_BYTES = HOPPER_PIXELS * 20, /* a tile's: a byte for eight channels */
    DRAWS = 22, /* of a multiplying thread: 120 of 128 draw, six rows at a time; the last of each half may be past its 64 */
    AT_ONCE = 20
};

/* Places in shared memory, as addresses. */
struct places {
    enum {
        A_STAGES = 2,
        A_BYTES = HOPPER_A_BYTES,
        B_STAGES = 4,
        B_BYTES = N * 128,
        BYTES = 1024 + A_STAGES * A_BYTES + B_STAGES * B_BYTES + 2 * OUT_BYTES + 256 + 2 * MASK_BYTES
    };
    uint32_t a, b, out, barriers, masks;
    __device__ explicit places(uint32_t start)
        : a(start), b(a + A_STAGES * A_BYTES), out(b + B_STAGES * B_BYTES), barriers(out + 2 * OUT_BYTES),
          masks(barriers + 256) {}
    __device__ uint32_t a_full(int i) const { return barriers + 8 * i; }
    __device__ uint32_t a_empty(int i) const { return barriers + 8 * (A_STAGES + i); }
    __device__ uint32_t b_full(int i) const { return barriers + 8 * (2 * A_STAGES + i); }
    __device__ uint32_t b_empty(int i) const { return barriers + 8 * (2 * A_STAGES + B_STAGES + i); }
    __device__ uint32_t out_full(int group) const { return barriers + 8 * (2 * A_STAGES + 2 * B_STAGES + group); }
    __device__ uint32_t out_empty(int group) const { return barriers + 8 * (2 * A_STAGES + 2 * B_STAGES + 2 + group); }
    /* The mask of eight channels, number q, of a tile's row. */
    __device__ uint32_t mask(int turn, int row, int q) const { return masks + turn * MASK_BYTES + row * 20 + q; }
};

/* --- multiplying warpgroups */

/* Draws the mask of a thread's piece t of a group's 128 rows, which begin at `row`. */
__device__ static inline void draw_piece(const places &at, int t, const hopper_forward &work, int turn, int group, uint32_t row,
                                         int n0) {
    const cuda_mask &mask = work.norm.mask;
    cuda_draw draw = draw_of<CUDA_MASK_ALIGNED>(mask);
    int thread = threadIdx.x % 128, half = t >= DRAWS / 2, in_half = 6 * (t - half * (DRAWS / 2)) + thread / 20;
    int r = half * 64 + in_half, q = thread % 20;
    uint32_t position = row + (uint32_t)r, image = cuda_divide(position, mask.area);
    uint32_t pixel = position - image * mask.area.divisor, lanes[4], byte = 0;
    asm volatile("" : "+r"(draw.key0), "+r"(draw.key1)); /* or twenty registers would hold the rounds' keys */
    cuda_lanes_aligned(lanes, &draw, image, pixel * mask.channels + n0 + q * 8);
#pragma unroll
    for (int j = 0; j < 8; j++)
        byte |= (uint32_t)cuda_kept(lanes, j, draw.threshold) << j;
    if (thread < 120 && in_half < 64)
        asm volatile("st.shared.b8 [%0], %1;" ::"r"(at.mask(turn, group * 128 + r, q)), "r"(byte) : "memory");
}

/* Two columns of one of a thread's rows of 64: number i of 40, as hopper_ptx.cuh lays a product out. */
struct cell {
    int row, column;
    __device__ explicit cell(int i)
        : row(threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 + i % 2 * 8), column(i / 2 * 8 + threadIdx.x % 4 * 2) {}
};

/* Cells from .. from + AT_ONCE - 1 of the residual; `row`: where the 64 rows begin in memory. */
__device__ static inline void get_addend(uint32_t (&pair)[AT_ONCE], int from, const hopper_forward &work, size_t row,
                                         size_t rows, int n0) {
    const __nv_bfloat16 *addend = (const __nv_bfloat16 *)work.addend + row * (size_t)work.columns + n0;
    int left = rows <= row ? 0 : rows - row < 64 ? (int)(rows - row) : 64;
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
        cell x(from + i);
        pair[i] = 0;
        if (x.row < left)
            pair[i] = *(const uint32_t *)(addend + x.row * work.columns + x.column);
    }
}
__device__ static inline void add_cells(float (&d)[80], const uint32_t (&pair)[AT_ONCE], int from) {
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
        d[2 * (from + i)] += __uint_as_float(pair[i] << 16);
        d[2 * (from + i) + 1] += __uint_as_float(pair[i] & 0xffff0000u);
    }
}
__device__ static inline void stage(const float (&d)[80], uint32_t out) {
#pragma unroll
    for (int i = 0; i < 40; i++) {
        cell x(i);
        __nv_bfloat162 both = __floats2bfloat162_rn(d[2 * i], d[2 * i + 1]);
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(out + x.row * PITCH + x.column * 2), "r"(*(uint32_t *)&both) : "memory");
    }
}

/* 64 rows of sums, the residual added, to the writers. The first cells of the residual have come already. */
__device__ static inline void hand_over(float (&d)[80], uint32_t (&pair)[AT_ONCE], const hopper_forward &work, const places &at,
                                        place<1> &turn, int group, size_t row, size_t rows, int n0) {
    if (work.addend) {
        add_cells(d, pair, 0);
        get_addend(pair, AT_ONCE, work, row, rows, n0);
        add_cells(d, pair, AT_ONCE);
    }
    barrier_wait(at.out_empty(group), turn.phase ^ 1);
    stage(d, at.out + group * OUT_BYTES);
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        barrier_arrive(at.out_full(group));
    turn.next();
}

template <int MASK> __device__ static inline void multiply(const hopper_forward &work, const places &at, int tiles) {
    place<places::A_STAGES> a;
    place<places::B_STAGES> b;
    place<1> turn;
    int group = threadIdx.x / 128 - 1, columns = work.columns / N, width = work.width, even = 0;
    bool speaker = threadIdx.x % 32 == 0;
    uint32_t tile_bytes = (width == 8 ? 80 : 64) * 128; /* from 64 pixels to the next 64 */
    uint32_t row_bytes = width * 128, pair[AT_ONCE];
    size_t rows = (size_t)work.n * width * width;
    float d0[80], d1[80];
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, even ^= 1) {
#pragma unroll
        for (int i = 0; i < 80; i++)
            d0[i] = d1[i] = 0;
        hold(d0);
        hold(d1);
        int last_a = -1, last_b = -1; /* stages to give back once their products are done */
        size_t row = (size_t)(tile / columns) * HOPPER_PIXELS + group * 128;
        int n0 = tile % columns * N, drawn = 0;
        for (int k0 = 0; k0 < work.k; k0 += HOPPER_K) {
            bool half = work.k - k0 < HOPPER_K;
            for (int kx = 0; kx < 3; kx++) {
                barrier_wait(at.a_full(a.stage), a.phase);
                uint32_t from = at.a + a.stage * places::A_BYTES + 2 * group * tile_bytes;
                for (int ky = 0; ky < 3; ky++) {
                    barrier_wait(at.b_full(b.stage), b.phase);
                    uint64_t p0 = descriptor(work.a_bits, from + ky * row_bytes);
                    uint64_t p1 = descriptor(work.a_bits, from + ky * row_bytes + tile_bytes);
                    uint64_t q = descriptor(work.b_bits, at.b + b.stage * places::B_BYTES);
                    product_fence();
#pragma unroll
                    for (int i = 0; i < 2; i++) {
                        product<0, 0>(d0, p0 + 2 * i, q + 2 * i);
                        product<0, 0>(d1, p1 + 2 * i, q + 2 * i);
                    }
                    if (!half) {
                        product_fence();
#pragma unroll
                        for (int i = 2; i < 4; i++) {
                            product<0, 0>(d0, p0 + 2 * i, q + 2 * i);
                            product<0, 0>(d1, p1 + 2 * i, q + 2 * i);
                        }
                    }
                    product_commit();
                    if (MASK != CUDA_MASK_NONE && drawn < DRAWS)
                        draw_piece(at, drawn++, work, even, group, (uint32_t)row, n0);
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
        for (; MASK != CUDA_MASK_NONE && drawn < DRAWS; drawn++)
            draw_piece(at, drawn, work, even, group, (uint32_t)row, n0);
        if (work.addend)
            get_addend(pair, 0, work, row, rows, n0);
        product_wait<0>();
        hold(d0);
        hold(d1);
        if (speaker) {
            barrier_arrive(at.b_empty(last_b));
            barrier_arrive(at.a_empty(last_a));
        }
        hand_over(d0, pair, work, at, turn, group, row, rows, n0);
        if (work.addend)
            get_addend(pair, 0, work, row + 64, rows, n0);
        hand_over(d1, pair, work, at, turn, group, row + 64, rows, n0);
    }
}

/* --- writing warps */

/* Batch-norm, dropout and ReLU of eight channels. */
template <int MASK>
__device__ static inline uint4 normal(uint4 words, const float (&a)[8], const float (&c)[8], uint32_t kept, float floor) {
    float v[8];
    widen(v, pack<bf16>{words});
#pragma unroll
    for (int j = 0; j < 8; j++)
        v[j] = MASK == CUDA_MASK_NONE || (kept >> j & 1) ? fmaf(a[j], v[j], c[j]) : c[j];
    return make_uint4(narrow2_above(v[0], v[1], floor), narrow2_above(v[2], v[3], floor), narrow2_above(v[4], v[5], floor),
                      narrow2_above(v[6], v[7], floor));
}

/* 64 rows from shared memory to memory: this thread's channels of rows r, r + 4, ... `row`: where they begin in memory, `first`
 * in the tile. */
template <int MASK>
__device__ static inline void write_rows(const hopper_forward &work, const places &at, int turn, int group, int first,
                                         size_t row, size_t rows, int n0, int r, int q, const float (&a)[8],
                                         const float (&c)[8]) {
    size_t begin = row * (size_t)work.columns + n0 + q * 8;
    __nv_bfloat16 *y = (__nv_bfloat16 *)work.y + begin, *z = (__nv_bfloat16 *)work.norm.z + begin;
    int left = rows <= row ? 0 : rows - row < 64 ? (int)(rows - row) : 64;
#pragma unroll 1
    for (; r < 64; r += 16) {
        uint4 v[4];
        uint32_t kept[4] = {0, 0, 0, 0};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(v[i].x), "=r"(v[i].y), "=r"(v[i].z), "=r"(v[i].w)
                         : "r"(at.out + group * OUT_BYTES + (r + 4 * i) * PITCH + q * 16)
                         : "memory");
            if (MASK != CUDA_MASK_NONE)
                asm volatile("ld.shared.u8 %0, [%1];" : "=r"(kept[i]) : "r"(at.mask(turn, first + r + 4 * i, q)) : "memory");
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            uint4 w = normal<MASK>(v[i], a, c, kept[i], work.norm.floor);
            int to = (r + 4 * i) * work.columns;
            if (r + 4 * i < left && work.y)
                *(uint4 *)(y + to) = v[i];
            if (r + 4 * i < left)
                *(uint4 *)(z + to) = w;
        }
    }
}

template <int MASK> __device__ static inline void write_all(const hopper_forward &work, const places &at, int tiles) {
    place<1> turn;
    const hopper_norm &norm = work.norm;
    int thread = threadIdx.x - 32, r = thread / 20, q = thread % 20, columns = work.columns / N, normal_n0 = -1, even = 0;
    size_t rows = (size_t)work.n * work.width * work.width;
    float a[8], c[8];
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, even ^= 1) {
        int n0 = tile % columns * N;
        if (n0 != normal_n0) {
#pragma unroll
            for (int j = 0; j < 8; j++) {
                int channel = n0 + q * 8 + j;
                affine(&a[j], &c[j], norm.gamma[channel], norm.beta[channel], norm.running[channel],
                       inverse_std(norm.running[work.columns + channel], norm.epsilon));
                a[j] *= norm.mask.scale;
            }
        }
        normal_n0 = n0;
        for (int half = 0; half < 2; half++) {
            for (int group = 0; group < 2; group++) {
                int first = group * 128 + half * 64;
                barrier_wait(at.out_full(group), turn.phase);
                if (thread < 80)
                    write_rows<MASK>(work, at, even, group, first, (size_t)(tile / columns) * HOPPER_PIXELS + first, rows, n0,
                                     r, q, a, c);
                __syncwarp();
                if (threadIdx.x % 32 == 0)
                    barrier_arrive(at.out_empty(group));
            }
            turn.next();
        }
    }
}

template <int MASK> __global__ void __launch_bounds__(THREADS, 1) norm_kernel(const __grid_constant__ hopper_forward work) {
    extern __shared__ unsigned char memory[];
    places at((shared_address(memory) + 1023) & ~1023u);
    size_t rows = (size_t)work.n * work.width * work.width;
    int tiles = (int)((rows + HOPPER_PIXELS - 1) / HOPPER_PIXELS) * (work.columns / N);
    if (threadIdx.x == 0) {
        prefetch_map(&work.x);
        prefetch_map(&work.w);
        for (int i = 0; i < places::A_STAGES; i++) {
            barrier_init(at.a_full(i), 1);
            barrier_init(at.a_empty(i), 8);
        }
        for (int i = 0; i < places::B_STAGES; i++) {
            barrier_init(at.b_full(i), 1);
            barrier_init(at.b_empty(i), 8);
        }
        for (int group = 0; group < 2; group++) {
            barrier_init(at.out_full(group), 4);
            barrier_init(at.out_empty(group), WRITERS);
        }
        barrier_init_done();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        registers_down<56>();
        if (threadIdx.x == 0)
            copy<0, 0>(work, at, tiles);
        else if (threadIdx.x >= 32)
            write_all<MASK>(work, at, tiles);
    } else {
        registers_up<224>();
        multiply<MASK>(work, at, tiles);
    }
}

} // namespace

int vg_cuda__k_hopper_norm(cudaStream_t stream, const hopper_forward *work) {
    bool drawn = work->norm.mask.mode != CUDA_MASK_NONE;
    void (*kernel)(hopper_forward) = drawn ? norm_kernel<CUDA_MASK_ALIGNED> : norm_kernel<CUDA_MASK_NONE>;
    cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, places::BYTES);
    if (error != cudaSuccess)
        return (int)error;
    size_t rows = (size_t)work->n * work->width * work->width;
    int tiles = (int)((rows + HOPPER_PIXELS - 1) / HOPPER_PIXELS) * (work->columns / N);
    int blocks = tiles < work->blocks ? tiles : work->blocks;
    kernel<<<blocks, THREADS, places::BYTES, stream>>>(*work);
    return (int)cudaGetLastError();
}
