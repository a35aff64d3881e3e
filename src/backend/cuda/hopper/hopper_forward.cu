/* hopper_forward.cu - 3x3 convolutions, stride 1, padding 1, on Hopper's tensor cores, and their gradients to the data.
 * In prediction the forward kernel also adds a residual and applies batch-norm, dropout and ReLU, which are an affine
 * map, a mask and a maximum there. A tile has 256 pixels (four squares of 8 x 8) x 160 output channels. The result has
 * the same bits as the convolution alone followed by norm.cu.
 *
 * y[p][o] = sum over taps (ky, kx) and c of x[p + tap][c] w[o][tap][c], channels-last, bfloat16, sums in float32. For
 * 32 channels at a time the copy engine loads the tile's pixels once, with a border of one pixel (zeros outside of the
 * image), in rows of ten: eight pixels of a square and their neighbours. All nine taps then read the same matrix from
 * different start addresses, and eight pixels are always ten rows from the next eight. The weights are loaded three
 * taps of 160 x 32 at a time.
 *
 * Gradient to the data (TRANSPOSED): dx[p][c] = sum over taps and o of dy[p + tap][o] w[o][8 - tap][c]; w is read in
 * its own layout, contiguous along its columns, one tap at a time.
 *
 * The tensor cores and all other instructions share the register ports: an instruction costs about a cycle of products.
 * Therefore two warpgroups only multiply. They round a finished tile into shared memory (where its residual already is)
 * and continue; seven epilogue warps write it to memory during the next products, and draw the masks. The second
 * warpgroup is three taps behind the first, so that one multiplies while the other stores its sums. One thread issues
 * the copies. */
#include <cuda_bf16.h>

#include "backend/cuda/affine.cuh"
#include "backend/cuda/hopper/hopper_kernels.h"
#include "backend/cuda/hopper/hopper_ptx.cuh"
#include "backend/cuda/mma.cuh"
#include "backend/cuda/vec.cuh"

namespace {

using namespace hopper;

/* The epilogue: none, batch-norm, or batch-norm after a dropout. */
enum { PLAIN, NORM, DROPOUT };

enum {
    N = HOPPER_N,
    THREADS = 512, /* one copying warp, seven epilogue warps, two multiplying warpgroups */
    WRITERS = 224,
    CHANNELS = 32, /* of a box */
    A_BUFFERS = 2,
    /* The output tile: channels 0-63, 64-127 and 128-159 of 256 pixels, each part in the copy engine's layout. */
    WIDE_BYTES = 256 * 128,
    OUT_BYTES = 256 * N * 2
};

/* A tile's boxes: 10 x 34 pixels, twice 10 x 18, four images of 10 x 10. Boxes begin at multiples of 512 bytes. */
template <int W> struct shape;
template <> struct shape<32> {
    enum { BOXES = 1, BOX = 340 * 64, BOX_STEP = 22016, SQUARE = 80 * 64, GROUP = 160 * 64, ROW_STEP = 512 };
};
template <> struct shape<16> {
    enum { BOXES = 2, BOX = 180 * 64, BOX_STEP = 11776, SQUARE = 80 * 64, GROUP = BOX_STEP, ROW_STEP = 8 };
};
template <> struct shape<8> {
    enum { BOXES = 1, BOX = 400 * 64, BOX_STEP = 25600, SQUARE = 100 * 64, GROUP = 200 * 64, ROW_STEP = 128 };
};

/* One buffer of weights: three taps of 160 rows of 32; transposed, one tap of 32 rows of 3 x 64. STEP: the distance of
 * 16 channels. */
template <int TRANSPOSED> struct weights {
    enum {
        TAPS = TRANSPOSED ? 1 : 3,
        TAP_BYTES = TRANSPOSED ? 3 * CHANNELS * 128 : N * 64,
        STEP = TRANSPOSED ? 16 * 128 : 32,
        BYTES = TAPS * TAP_BYTES,
        SLOTS = TRANSPOSED ? 7 : 3
    };
};

/* Places in shared memory, as addresses. */
template <int W, int TRANSPOSED> struct places {
    enum {
        A_BYTES = shape<W>::BOXES * shape<W>::BOX_STEP,
        B_BYTES = weights<TRANSPOSED>::BYTES,
        B_BUFFERS = weights<TRANSPOSED>::SLOTS,
        BYTES = 1024 + OUT_BYTES + A_BUFFERS * A_BYTES + B_BUFFERS * B_BYTES + 256
    };
    uint32_t out, a, b, barriers;
    __device__ explicit places(uint32_t start)
        : out(start), a(out + OUT_BYTES), b(a + A_BUFFERS * A_BYTES), barriers(b + B_BUFFERS * B_BYTES) {}
    __device__ uint32_t a_full(int i) const { return barriers + 8 * i; }
    __device__ uint32_t a_empty(int i) const { return barriers + 8 * (A_BUFFERS + i); }
    __device__ uint32_t b_full(int i) const { return barriers + 8 * (2 * A_BUFFERS + i); }
    __device__ uint32_t b_empty(int i) const { return barriers + 8 * (2 * A_BUFFERS + B_BUFFERS + i); }
    /* the output tile is free for sums */
    __device__ uint32_t out_ready() const { return barriers + 8 * (2 * A_BUFFERS + 2 * B_BUFFERS); }
    __device__ uint32_t out_full() const { return barriers + 8 * (2 * A_BUFFERS + 2 * B_BUFFERS + 1); }
    __device__ uint32_t keys() const { return barriers + 160; } /* of a forward convolution's masks */
    /* the first warpgroup has started */
    __device__ uint32_t started() const { return barriers + 8 * (2 * A_BUFFERS + 2 * B_BUFFERS + 2); }
};

template <int W> static __host__ __device__ inline int tiles_of(int n, int columns) {
    return (W == 32 ? n * 4 : W == 16 ? n : (n + 3) / 4) * (columns / N);
}

/* Which pixels and columns a tile has: images from `image` on, from column x on. */
template <int W> struct where {
    int image, x, n0;
    __device__ where(const hopper_forward &work, int tile) {
        int columns = work.columns / N, pixels;
        if (work.backwards)
            tile = tiles_of<W>(work.n, work.columns) - 1 - tile;
        pixels = tile / columns;
        n0 = (tile - pixels * columns) * N;
        image = W == 32 ? pixels / 4 : W == 16 ? pixels : pixels * 4;
        x = W == 32 ? pixels % 4 * 8 : 0;
    }
};

/* --- copying */

template <int W, int TRANSPOSED>
__device__ static inline void copy(const hopper_forward &work, const places<W, TRANSPOSED> &at, int tiles) {
    using S = shape<W>;
    using P = places<W, TRANSPOSED>;
    place<A_BUFFERS> a;
    place<P::B_BUFFERS> b;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        where<W> t(work, tile);
        for (int k0 = 0; k0 < work.k; k0 += CHANNELS) {
            barrier_wait(at.a_empty(a.slot), a.phase ^ 1);
            barrier_expect(at.a_full(a.slot), S::BOX * S::BOXES);
#pragma unroll
            for (int i = 0; i < S::BOXES; i++)
                load_box(at.a + a.slot * P::A_BYTES + i * S::BOX_STEP, &work.x, k0, t.x - 1 + 8 * i, -1, t.image,
                         at.a_full(a.slot));
            a.next();
#pragma unroll 1
            for (int tap = 0; tap < 9; tap += weights<TRANSPOSED>::TAPS) { /* ky changes faster: tap is 3 kx + ky */
                uint32_t to = at.b + b.slot * P::B_BYTES, full = at.b_full(b.slot);
                barrier_wait(at.b_empty(b.slot), b.phase ^ 1);
                barrier_expect(full, P::B_BYTES);
#pragma unroll
                for (int i = 0; i < 3; i++)
                    if (TRANSPOSED)
                        load_box(to + i * (CHANNELS * 128), &work.w, t.n0 + 64 * i, 8 - (tap % 3 * 3 + tap / 3), k0,
                                 full);
                    else
                        load_box(to + i * weights<0>::TAP_BYTES, &work.w, k0, 3 * i + tap / 3, t.n0, full);
                b.next();
            }
        }
    }
}

/* --- multiplying warpgroups */

/* Address of a thread's row of 16 in the output tile, and of eight channels of it, with the swizzle applied. */
struct output_row {
    uint32_t wide, narrow;
    int wide_swizzle, narrow_swizzle;
    __device__ output_row(uint32_t out, int row)
        : wide(out + row * 128), narrow(out + 2 * WIDE_BYTES + row * 64), wide_swizzle(row % 8),
          narrow_swizzle(row / 2 % 4) {}
    __device__ uint32_t eight(int q) const {
        return q < 16 ? wide + q / 8 * WIDE_BYTES + ((q % 8 ^ wide_swizzle) << 4)
                      : narrow + (((q - 16) ^ narrow_swizzle) << 4);
    }
    /* Groups q and, for the upper half of the warp, q + 1; q is even. */
    __device__ uint32_t sixteen(int q) const {
        int high = threadIdx.x % 32 / 16;
        return q < 16 ? wide + q / 8 * WIDE_BYTES + (((q % 8 + high) ^ wide_swizzle) << 4)
                      : narrow + (((q - 16 + high) ^ narrow_swizzle) << 4);
    }
};

/* Stores 16 rows of sums, from `first` on, in the output tile, where the residual already is. */
template <int ADD> __device__ static inline void store_sums(float (&d)[80], uint32_t out, int first) {
    output_row to(out, first + threadIdx.x % 16);
#pragma unroll
    for (int q = 0; q < 20; q += 4) {
        if (ADD) {
            uint32_t v[2][4];
            load_matrices(v[0], to.sixteen(q));
            load_matrices(v[1], to.sixteen(q + 2));
#pragma unroll
            for (int i = 0; i < 8; i++) {
                float both[2];
                widen2(both, v[i / 4][i % 4]);
                d[4 * q + 2 * i] += both[0];
                d[4 * q + 2 * i + 1] += both[1];
            }
        }
#pragma unroll
        for (int i = 4 * q; i < 4 * q + 16; i += 8)
            store_matrices(to.sixteen(i / 4), narrow2(d[i], d[i + 1]), narrow2(d[i + 2], d[i + 3]),
                           narrow2(d[i + 4], d[i + 5]), narrow2(d[i + 6], d[i + 7]));
    }
}

/* The products of one buffer's taps over 32 channels; `more`: they are added to the sums so far. */
template <int W, int TRANSPOSED>
__device__ static inline void products(float (&d0)[80], float (&d1)[80], uint64_t p0, uint64_t q, bool more) {
    using B = weights<TRANSPOSED>;
    const uint64_t square = shape<W>::SQUARE / 16, row = 640 / 16;
    product_fence();
#pragma unroll
    for (int i = 0; i < 2 * B::TAPS; i++) {
        uint64_t p = p0 + i / 2 * row + i % 2 * 2, r = q + i / 2 * (B::TAP_BYTES / 16) + i % 2 * (B::STEP / 16);
        product<0, TRANSPOSED>(d0, p, r, i > 0 || more);
        product<0, TRANSPOSED>(d1, p + square, r, i > 0 || more);
    }
    product_commit();
}

template <int W, int TRANSPOSED, int ADD>
__device__ static inline void multiply(const hopper_forward &work, const places<W, TRANSPOSED> &at, int tiles) {
    using P = places<W, TRANSPOSED>;
    place<A_BUFFERS> a;
    place<P::B_BUFFERS> b;
    place<1> turn;
    const int TAPS = weights<TRANSPOSED>::TAPS;
    int group = warp_uniform(threadIdx.x / 128) - 2, first = group * 128 + threadIdx.x / 32 % 4 * 16, done = 0;
    bool leader = threadIdx.x % 32 == 0;
    float d0[80], d1[80];
#pragma unroll
    for (int i = 0; i < 80; i++)
        d0[i] = d1[i] = 0;
    barrier_wait(at.started(), group == 0); /* the first warpgroup does not wait */
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int last_a = -1, last_b = -1; /* buffers to release once their products are done */
        keep_in_registers(d0);
        keep_in_registers(d1);
#pragma unroll 1
        for (int k0 = 0; k0 < work.k; k0 += CHANNELS) {
            barrier_wait(at.a_full(a.slot), a.phase);
            uint32_t from = at.a + a.slot * P::A_BYTES + group * shape<W>::GROUP;
#pragma unroll 1
            for (int tap = 0; tap < 9; tap += TAPS) {
                barrier_wait(at.b_full(b.slot), b.phase);
                products<W, TRANSPOSED>(d0, d1, descriptor(work.a_bits, from),
                                        descriptor(work.b_bits, at.b + b.slot * P::B_BYTES), (k0 | tap) != 0);
                product_wait<1>();
                if (leader && last_b >= 0)
                    barrier_arrive(at.b_empty(last_b));
                if (leader && last_a >= 0)
                    barrier_arrive(at.a_empty(last_a));
                if (leader && group == 0 && ++done == 3 / TAPS)
                    barrier_arrive(at.started());
                last_b = b.slot;
                last_a = tap + TAPS == 9 ? a.slot : -1;
                b.next();
                from += TAPS == 3 ? 64 : tap % 3 == 2 ? 64 - 2 * 640 : 640;
            }
            a.next();
        }
        product_wait<0>();
        keep_in_registers(d0);
        keep_in_registers(d1);
        if (leader) {
            barrier_arrive(at.b_empty(last_b));
            barrier_arrive(at.a_empty(last_a));
        }
        barrier_wait(at.out_ready(), turn.phase);
        turn.next();
        store_sums<ADD>(d0, at.out, first);
        store_sums<ADD>(d1, at.out, first + 64);
        __syncwarp();
        if (leader)
            barrier_arrive(at.out_full());
    }
}

/* --- writing warps */

/* The epilogue warps have consumed the previous tile, so its shared memory can be reused; the next residual is loaded
 * into it. */
template <int W, int ADD, typename P>
__device__ static inline void prepare_output(const hopper_forward &work, const P &at, int tile) {
    uint32_t ready = at.out_ready();
    if (!ADD) {
        barrier_arrive(ready);
        return;
    }
    where<W> t(work, tile);
    fence_for_copies();
    barrier_expect(ready, OUT_BYTES);
#pragma unroll
    for (int i = 0; i < shape<W>::BOXES; i++) {
        uint32_t part = i * (WIDE_BYTES / 2);
        load_box(at.out + part, &work.addend_wide, t.n0, t.x + 8 * i, 0, t.image, ready);
        load_box(at.out + WIDE_BYTES + part, &work.addend_wide, t.n0 + 64, t.x + 8 * i, 0, t.image, ready);
        load_box(at.out + 2 * WIDE_BYTES + part / 2, &work.addend_narrow, t.n0 + 128, t.x + 8 * i, 0, t.image, ready);
    }
}

/* Batch-norm of eight channels as y = a d + c. */
struct lines {
    float a[8], c[8];
    __device__ void of(const hopper_norm &norm, int columns, int channel) {
#pragma unroll
        for (int j = 0; j < 8; j++) {
            affine(&a[j], &c[j], norm.gamma[channel + j], norm.beta[channel + j], norm.running[channel + j],
                   inverse_std(norm.running[columns + channel + j], norm.epsilon));
            a[j] *= norm.mask.scale;
        }
    }
    template <int KIND>
    __device__ uint4 normal(uint4 words, const uint32_t (&drawn)[4], const hopper_norm &norm) const {
        float v[8];
        widen(v, pack<bf16>{words});
#pragma unroll
        for (int j = 0; j < 8; j++)
            v[j] = KIND != DROPOUT || cuda_kept(drawn, j, norm.mask.threshold) ? fmaf(a[j], v[j], c[j]) : c[j];
        return make_uint4(narrow2_above(v[0], v[1], norm.floor), narrow2_above(v[2], v[3], norm.floor),
                          narrow2_above(v[4], v[5], norm.floor), narrow2_above(v[6], v[7], norm.floor));
    }
};

/* Stores the round keys of all masks in shared memory: computing them each time would be a sixth of the work. */
__device__ static inline void store_round_keys(uint32_t to, const cuda_draw &draw) {
    uint32_t k0 = draw.key0, k1 = draw.key1;
    for (int round = 0; round < CUDA_ROUNDS; round++, cuda_next_key(&k0, &k1))
        store_shared(to + 8 * round, k0, k1);
}

/* The masks of two rows of eight channels from `channel` on: row i of the tile, and the row 128 further. */
template <int W>
__device__ static inline void draw_two(uint32_t (&drawn)[2][4], const cuda_draw &draw, uint32_t keys,
                                       const hopper_norm &norm, int3 at, int i) {
    const int image = at.x, pixel = at.y, channel = at.z, channels = norm.mask.channels;
#pragma unroll
    for (int j = 0; j < 2; j++) {
        int place = W == 8 ? i % 8 * 8 + pixel : i * W + pixel + j * shape<W>::ROW_STEP;
        cuda_count(drawn[j], &draw, image + (W == 8 ? i / 8 + 2 * j : 0), (uint32_t)(place * channels + channel) >> 3);
    }
#pragma unroll
    for (int round = 0; round < CUDA_ROUNDS; round += 2) {
        uint4 k = load_shared(keys + 8 * round);
#pragma unroll
        for (int j = 0; j < 2; j++) {
            cuda_round(drawn[j], k.x, k.y);
            cuda_round(drawn[j], k.z, k.w);
        }
    }
}

/* The share of an epilogue thread. Eight rows of 20 groups of eight channels are the work of five warps, and a tile has
 * 16 such units, each with the rows 128 further on. A warp's share takes time from the tensor cores of its quarter of
 * the multiprocessor, and these wait for one another. So the last warpgroup of those that do not multiply has one warp
 * in each quarter, and the three warps beside the copying one take the fifth part, each a third of the time. */
struct share {
    int row, q, begin, step;
    __device__ share() {
        int warp = threadIdx.x / 32, part = warp < 4 ? 4 : warp - 4, id = part * 32 + threadIdx.x % 32;
        row = id / 20;
        q = id % 20;
        begin = part == 4 ? warp - 1 : 0;
        step = part == 4 ? 3 : 1;
    }
};

/* Writes a tile from shared memory to global memory. This thread's rows come in pairs: 128 rows apart in the tile,
 * ROW_STEP pixels apart in memory; eight rows in the tile are W pixels in memory. */
template <int W, int KIND>
__device__ static inline void write_tile(const hopper_forward &work, uint32_t out, uint32_t keys, const where<W> &t,
                                         const lines &line, const cuda_draw &draw, const share &mine) {
    const hopper_norm &norm = work.norm;
    uint32_t next = mine.q < 16 ? 1024 : 512, second = 16 * next;
    uint32_t source = output_row(out, mine.row).eight(mine.q) + mine.begin * next;
    int channel = t.n0 + mine.q * 8, pixel = t.x + mine.row;
    int images = work.n - t.image; /* images that exist from this tile's first on */
    size_t to = ((size_t)t.image * (W * W) + pixel + mine.begin * W) * work.columns + channel;
#pragma unroll 1
    for (int i = mine.begin; i < 16; i += mine.step) {
        uint32_t drawn[2][4] = {};
        if (KIND == DROPOUT)
            draw_two<W>(drawn, draw, keys, norm, make_int3(t.image, pixel, channel), i);
        uint4 v[2] = {load_shared(source), load_shared(source + second)};
#pragma unroll
        for (int j = 0; j < 2; j++) {
            size_t offset = to + (size_t)(j * shape<W>::ROW_STEP) * work.columns;
            if (W == 8 && i / 8 + 2 * j >= images)
                continue;
            if (work.y)
                *(uint4 *)((__nv_bfloat16 *)work.y + offset) = v[j];
            if (KIND != PLAIN)
                *(uint4 *)((__nv_bfloat16 *)norm.z + offset) = line.normal<KIND>(v[j], drawn[j], norm);
        }
        source += next * mine.step;
        to += (size_t)(W * mine.step) * work.columns;
    }
}

template <int W, int KIND, int ADD, typename P>
__device__ static inline void write(const hopper_forward &work, const P &at, int tiles) {
    place<1> turn;
    share mine;
    int line_n0 = -1;
    bool leader = threadIdx.x == 32;
    lines line;
    cuda_draw draw = draw_of < KIND == DROPOUT ? CUDA_MASK_ALIGNED : CUDA_MASK_NONE > (work.norm.mask);
    if (leader)
        prepare_output<W, ADD>(work, at, blockIdx.x);
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        where<W> t(work, tile);
        if (KIND != PLAIN && t.n0 != line_n0)
            line.of(work.norm, work.columns, t.n0 + mine.q * 8);
        line_n0 = t.n0;
        barrier_wait(at.out_full(), turn.phase);
        turn.next();
        write_tile<W, KIND>(work, at.out, at.keys(), t, line, draw, mine);
        threads_sync<WRITERS>(1);
        if (leader && tile + (int)gridDim.x < tiles)
            prepare_output<W, ADD>(work, at, tile + gridDim.x);
    }
}

template <int W, int TRANSPOSED, int KIND, int ADD>
__global__ void __launch_bounds__(THREADS, 1) forward_kernel(const __grid_constant__ hopper_forward work) {
    extern __shared__ unsigned char memory[];
    using P = places<W, TRANSPOSED>;
    P at((shared_address(memory) + 1023) & ~1023u);
    int tiles = tiles_of<W>(work.n, work.columns);
    if (threadIdx.x == 0) {
        prefetch_map(&work.x);
        prefetch_map(&work.w);
        for (int i = 0; i < A_BUFFERS; i++) {
            barrier_init(at.a_full(i), 1);
            barrier_init(at.a_empty(i), 8);
        }
        for (int i = 0; i < P::B_BUFFERS; i++) {
            barrier_init(at.b_full(i), 1);
            barrier_init(at.b_empty(i), 8);
        }
        barrier_init(at.out_ready(), 1);
        barrier_init(at.out_full(), 8);
        barrier_init(at.started(), 4);
        barrier_init_done();
    }
    if (KIND == DROPOUT && threadIdx.x == 32)
        store_round_keys(at.keys(), draw_of<CUDA_MASK_ALIGNED>(work.norm.mask));
    __syncthreads();
    if (threadIdx.x < 256) {
        registers_down<56>();
        if (threadIdx.x == 0)
            copy<W, TRANSPOSED>(work, at, tiles);
        else if (threadIdx.x >= 32)
            write<W, KIND, ADD>(work, at, tiles);
    } else {
        registers_up<200>();
        multiply<W, TRANSPOSED, ADD>(work, at, tiles);
    }
}

template <int W, int TRANSPOSED, int KIND, int ADD> static int launch(cudaStream_t stream, const hopper_forward *work) {
    const int bytes = places<W, TRANSPOSED>::BYTES;
    void (*kernel)(hopper_forward) = forward_kernel<W, TRANSPOSED, KIND, ADD>;
    cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess)
        return (int)error;
    int tiles = tiles_of<W>(work->n, work->columns), blocks = tiles < work->blocks ? tiles : work->blocks;
    kernel<<<blocks, THREADS, bytes, stream>>>(*work);
    return (int)cudaGetLastError();
}
template <int W, int TRANSPOSED, int KIND> static int launch_kind(cudaStream_t stream, const hopper_forward *work) {
    return work->addend ? launch<W, TRANSPOSED, KIND, 1>(stream, work) : launch<W, TRANSPOSED, KIND, 0>(stream, work);
}
template <int W> static int launch_width(cudaStream_t stream, const hopper_forward *work) {
    if (work->transposed)
        return launch_kind<W, 1, PLAIN>(stream, work);
    if (!work->norm.z)
        return launch_kind<W, 0, PLAIN>(stream, work);
    return work->norm.mask.mode == CUDA_MASK_NONE ? launch_kind<W, 0, NORM>(stream, work)
                                                  : launch_kind<W, 0, DROPOUT>(stream, work);
}

} // namespace

int vg_cuda__k_hopper_forward(cudaStream_t stream, const hopper_forward *work) {
    return work->width == 32   ? launch_width<32>(stream, work)
           : work->width == 16 ? launch_width<16>(stream, work)
                               : launch_width<8>(stream, work);
}
