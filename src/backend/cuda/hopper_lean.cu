/* hopper_lean.cu - the 3x3 convolutions of hopper_forward.cu with two thirds of the products (Winograd's F(2, 3) along x), for
 * prediction: 256 pixels x 160 output channels a tile.
 *
 * Two neighbouring pixels y0, y1 = d1 .. of a row need the inputs d0, d1, d2, d3 and of each row ky of the filter g0, g1, g2:
 *     y0 = m1 + m2 + m0,   m1 = (d1 + d2) (g0 + g1 + g2)/2,   m0 = (d0 - d2) g0,
 *     y1 = m1 - m2 + m3,   m2 = (d2 - d1) (g0 - g1 + g2)/2,   m3 = (d1 - d3) (-g2),
 * four products instead of six. Sums over channels and ky are taken of m1 and m2 first, in two sets of registers; these turn
 * into m1 + m2 and m1 - m2, and m0 and m3 go on in the same registers. The combinations of inputs and of weights are rounded to
 * bfloat16 once more than in the plain form: its price.
 *
 * For each 64 channels the copy engine brings the tile's pixels with the row above and the row below. Three warps make of them
 * the combination that is wanted, a row of 128 bytes a pair of pixels; on images of 16 and 32 ky only moves the start by whole
 * rows, on images of 8 (where that would not be a multiple of the swizzle) each ky has its own. One warp copies, two warpgroups
 * multiply 64 pairs each. The combinations of weights are made before each convolution: [o][4 ky-filters of three][c]. */
#include "backend/cuda/hopper_epilogue.cuh"

namespace {

using namespace hopper;

enum {
    THREADS = 384,
    MAKERS = 3, /* warps */
    RAW_BYTES = HOPPER_A_BYTES,
    X_STAGES = 3,
    X_BYTES = 160 * 128,
    B_STAGES = 4,
    B_BYTES = N * 128,
    TAPS = 12,
    SHARED_BYTES = 1024 + RAW_BYTES + X_STAGES * X_BYTES + B_STAGES * B_BYTES + 2 * OUT_BYTES + 256 + 4 * LINE_BYTES,
};

/* Places in shared memory, as addresses. */
struct places {
    uint32_t raw, x, b, out, barriers;
    __device__ explicit places(uint32_t start)
        : raw(start), x(raw + RAW_BYTES), b(x + X_STAGES * X_BYTES), out(b + B_STAGES * B_BYTES),
          barriers(out + 2 * OUT_BYTES) {}
    __device__ uint32_t line(int group) const { return barriers + 256 + group * 2 * LINE_BYTES; }
    __device__ uint32_t raw_full() const { return barriers; }
    __device__ uint32_t raw_empty() const { return barriers + 8; }
    __device__ uint32_t x_full(int i) const { return barriers + 16 + 8 * i; }
    __device__ uint32_t x_empty(int i) const { return barriers + 16 + 8 * (X_STAGES + i); }
    __device__ uint32_t b_full(int i) const { return barriers + 16 + 8 * (2 * X_STAGES + i); }
    __device__ uint32_t b_empty(int i) const { return barriers + 16 + 8 * (2 * X_STAGES + B_STAGES + i); }
};

/* Which product: in the first turn m1 and m2, in the second m0 and m3. */
__device__ static inline int product_of(int turn, int which) { return turn == 0 ? 1 + which : 3 * which; }

__device__ static inline void copy(const hopper_forward &work, const places &at, int tiles) {
    place<1> raw;
    place<B_STAGES> b;
    int columns = work.columns / N, width = work.width;
    uint32_t raw_bytes = width == 16 ? 18 * 16 * 128 : 320 * 128;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int pixels = tile / columns, n0 = tile % columns * N;
        int image = width == 32 ? pixels / 4 : width == 16 ? pixels : pixels * 4, y = width == 32 ? pixels % 4 * 8 : 0;
        for (int turn = 0; turn < 2; turn++)
            for (int k0 = 0; k0 < work.k; k0 += HOPPER_K) {
                barrier_wait(at.raw_empty(), raw.phase ^ 1);
                barrier_expect(at.raw_full(), raw_bytes);
                load_box(at.raw, &work.x, k0, 0, y - 1, image, at.raw_full());
                raw.next();
                for (int tap = 0; tap < 6; tap++) {
                    barrier_wait(at.b_empty(b.stage), b.phase ^ 1);
                    barrier_expect(at.b_full(b.stage), B_BYTES);
                    load_box(at.b + b.stage * B_BYTES, &work.w, k0, 3 * product_of(turn, tap / 3) + tap % 3, n0,
                             at.b_full(b.stage));
                    b.next();
                }
            }
    }
}

/* --- combinations of pixels */

/* 16 bytes, number q, of a row of 128 in a swizzled array. */
__device__ static inline uint32_t swizzled(uint32_t base, int row, int q) { return base + row * 128 + ((q ^ (row & 7)) << 4); }

__device__ static inline uint4 read16(uint32_t at) {
    uint4 v;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at) : "memory");
    return v;
}
__device__ static inline void write16(uint32_t at, uint4 v) {
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
/* a + b or a - b of two bfloat16. */
__device__ static inline uint32_t combine2(uint32_t a, uint32_t b, bool plus) {
    __nv_bfloat162 x = *(__nv_bfloat162 *)&a, y = *(__nv_bfloat162 *)&b, z = plus ? __hadd2(x, y) : __hsub2(x, y);
    return *(uint32_t *)&z;
}
__device__ static inline uint4 combine(uint4 a, uint4 b, bool plus) {
    return make_uint4(combine2(a.x, b.x, plus), combine2(a.y, b.y, plus), combine2(a.z, b.z, plus), combine2(a.w, b.w, plus));
}

/* Rows first, first + 12, ... of combination `which`, bytes 16 q to 16 q + 15 of each. A row is a pair of pixels; `ky` moves it
 * down on images of 8. */
template <int WIDTH> __device__ static inline void make(uint32_t to, uint32_t raw, int which, int ky, int first, int q) {
    constexpr int PAIRS = WIDTH / 2, ROWS = WIDTH == 32 ? 160 : WIDTH == 16 ? 144 : 128;
    /* the two pixels of a combination, from the pair's first: 0: -1 and 1, 1: 0 and 1, 2: 1 and 0, 3: 0 and 2 */
    int from_a = which == 0 ? -1 : which == 2, from_b = which == 3 ? 2 : which != 2;
    int edge = which == 0 ? 0 : which == 3 ? PAIRS - 1 : -1; /* the pair one of whose pixels lies outside: there it is 0 */
#pragma unroll 2
    for (int row = first; row < ROWS; row += 4 * MAKERS) {
        int pixel = WIDTH == 8 ? ((row >> 5) * 10 + (row >> 2 & 7) + ky) * 8 + (row & 3) * 2 : 2 * row;
        bool outside = (row & (PAIRS - 1)) == edge;
        int a = outside && which == 0 ? pixel : pixel + from_a, b = outside && which == 3 ? pixel : pixel + from_b;
        uint4 u = read16(swizzled(raw, a, q)), v = read16(swizzled(raw, b, q));
        if (outside && which == 0)
            u = make_uint4(0, 0, 0, 0);
        if (outside && which == 3)
            v = make_uint4(0, 0, 0, 0);
        write16(swizzled(to, row, q), combine(u, v, which == 1));
    }
}

__device__ static inline void make_all(const hopper_forward &work, const places &at, int tiles) {
    place<1> raw;
    place<X_STAGES> x;
    int thread = threadIdx.x - 32, q = thread % 8, first = thread / 8, width = work.width, parts = width == 8 ? 3 : 1;
    bool speaker = threadIdx.x % 32 == 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
        for (int turn = 0; turn < 2; turn++)
            for (int k0 = 0; k0 < work.k; k0 += HOPPER_K) {
                bool mine = q < (work.k - k0 < HOPPER_K ? 4 : 8);
                barrier_wait(at.raw_full(), raw.phase);
                for (int part = 0; part < 2 * parts; part++) {
                    int which = product_of(turn, part / parts), ky = part % parts;
                    uint32_t to = at.x + x.stage * X_BYTES;
                    barrier_wait(at.x_empty(x.stage), x.phase ^ 1);
                    if (mine && width == 32)
                        make<32>(to, at.raw, which, ky, first, q);
                    else if (mine && width == 16)
                        make<16>(to, at.raw, which, ky, first, q);
                    else if (mine)
                        make<8>(to, at.raw, which, ky, first, q);
                    async_fence();
                    __syncwarp();
                    if (speaker)
                        barrier_arrive(at.x_full(x.stage));
                    x.next();
                }
                if (speaker)
                    barrier_arrive(at.raw_empty());
                raw.next();
            }
}

/* --- products */

/* Stages to give back once their products are done; -1: none. */
struct used {
    int x = -1, b = -1;
};
__device__ static inline void give_back(const places &at, used &last) {
    if (threadIdx.x % 32 == 0) {
        if (last.b >= 0)
            barrier_arrive(at.b_empty(last.b));
        if (last.x >= 0)
            barrier_arrive(at.x_empty(last.x));
    }
    last.x = last.b = -1;
}

/* d += of one combination, its three ky. */
template <int MASK>
__device__ static inline void multiply_three(float (&d)[80], const hopper_forward &work, const places &at, place<X_STAGES> &x,
                                             place<B_STAGES> &b, used &last, bool half, int group, kept_bits &kept, int &drawn,
                                             uint32_t row, int n0) {
    bool narrow = work.width == 8;
    for (int ky = 0; ky < 3; ky++) {
        if (ky == 0 || narrow)
            barrier_wait(at.x_full(x.stage), x.phase);
        barrier_wait(at.b_full(b.stage), b.phase);
        uint32_t from = at.x + x.stage * X_BYTES + group * 64 * 128 + (narrow ? 0 : ky * work.width * 64);
        uint64_t p = descriptor(work.a_bits, from), q = descriptor(work.b_bits, at.b + b.stage * B_BYTES);
        product_fence();
#pragma unroll
        for (int i = 0; i < 2; i++)
            product<0, 0>(d, p + 2 * i, q + 2 * i);
        if (!half) {
            product_fence();
#pragma unroll
            for (int i = 2; i < 4; i++)
                product<0, 0>(d, p + 2 * i, q + 2 * i);
        }
        product_commit();
        if (MASK != CUDA_MASK_NONE && drawn < 2 * PIECES)
            draw_piece(kept, drawn++, work, row, n0);
        product_wait<1>();
        give_back(at, last);
        last.b = b.stage;
        b.next();
        if (ky == 2 || narrow) {
            last.x = x.stage;
            x.next();
        }
    }
}

template <int NORM, int MASK> __device__ static inline void multiply(const hopper_forward &work, const places &at, int tiles) {
    place<X_STAGES> x;
    place<B_STAGES> b;
    int group = threadIdx.x / 128 - 1, columns = work.columns / N;
    size_t rows = (size_t)work.n * work.width * work.width;
    float d0[80], d1[80];
    kept_bits kept = {};
    int normal = -1; /* the columns whose a and c lie in shared memory */
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        size_t row = (size_t)(tile / columns) * HOPPER_PIXELS + group * 128;
        int n0 = tile % columns * N, drawn = 0;
        used last;
#pragma unroll
        for (int i = 0; i < 80; i++)
            d0[i] = d1[i] = 0;
        hold(d0);
        hold(d1);
        if (NORM && n0 != normal)
            put_lines(work, at.line(group), n0);
        normal = n0;
        for (int turn = 0; turn < 2; turn++) {
            for (int k0 = 0; k0 < work.k; k0 += HOPPER_K) {
                bool half = work.k - k0 < HOPPER_K;
                multiply_three<MASK>(d0, work, at, x, b, last, half, group, kept, drawn, (uint32_t)row, n0);
                multiply_three<MASK>(d1, work, at, x, b, last, half, group, kept, drawn, (uint32_t)row, n0);
            }
            product_wait<0>();
            hold(d0);
            hold(d1);
            give_back(at, last);
            if (turn == 0) {
#pragma unroll
                for (int i = 0; i < 80; i++) {
                    float u = d0[i], v = d1[i];
                    d0[i] = u + v;
                    d1[i] = u - v;
                }
                hold(d0);
                hold(d1);
            }
        }
        for (; MASK != CUDA_MASK_NONE && drawn < 2 * PIECES; drawn++)
            draw_piece(kept, drawn, work, (uint32_t)row, n0);
        uint32_t out = at.out + group * OUT_BYTES, line = at.line(group);
        put_pairs<0, NORM, MASK>(d0, d1, work, out, row, rows, n0, group + 1, line, kept);
        put_pairs<1, NORM, MASK>(d0, d1, work, out, row + 64, rows, n0, group + 1, line, kept);
    }
}

__device__ __host__ static inline int tiles_of(const hopper_forward &work) {
    size_t rows = (size_t)work.n * work.width * work.width;
    return (int)((rows + HOPPER_PIXELS - 1) / HOPPER_PIXELS) * (work.columns / N);
}

template <int NORM, int MASK>
__global__ void __launch_bounds__(THREADS, 1) lean_kernel(const __grid_constant__ hopper_forward work) {
    extern __shared__ unsigned char memory[];
    places at((shared_address(memory) + 1023) & ~1023u);
    int tiles = tiles_of(work);
    if (threadIdx.x == 0) {
        prefetch_map(&work.x);
        prefetch_map(&work.w);
        barrier_init(at.raw_full(), 1);
        barrier_init(at.raw_empty(), MAKERS);
        for (int i = 0; i < X_STAGES; i++) {
            barrier_init(at.x_full(i), MAKERS);
            barrier_init(at.x_empty(i), 8);
        }
        for (int i = 0; i < B_STAGES; i++) {
            barrier_init(at.b_full(i), 1);
            barrier_init(at.b_empty(i), 8);
        }
        barrier_init_done();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        registers_down<40>();
        if (threadIdx.x == 0)
            copy(work, at, tiles);
        else if (threadIdx.x >= 32)
            make_all(work, at, tiles);
    } else {
        registers_up<232>();
        multiply<NORM, MASK>(work, at, tiles);
    }
}

/* --- combinations of weights: w [o][ky][kx][c], out [o][combination][ky][c]; a thread takes eight channels. */
__global__ void lean_weights(bf16 *out, const bf16 *w, int vectors, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    unsigned c = i % vectors, ky = i / vectors % 3, o = i / vectors / 3;
    float g0[8], g1[8], g2[8], sum[8], difference[8], minus[8];
    widen(g0, load(w, ((size_t)o * 9 + ky * 3) * vectors + c));
    widen(g1, load(w, ((size_t)o * 9 + ky * 3 + 1) * vectors + c));
    widen(g2, load(w, ((size_t)o * 9 + ky * 3 + 2) * vectors + c));
#pragma unroll
    for (int j = 0; j < 8; j++) {
        sum[j] = 0.5f * (g0[j] + g1[j] + g2[j]);
        difference[j] = 0.5f * (g0[j] - g1[j] + g2[j]);
        minus[j] = -g2[j];
    }
    size_t to = ((size_t)o * TAPS + ky) * vectors + c, step = (size_t)3 * vectors;
    store(out, to, g0);
    store(out, to + step, sum);
    store(out, to + 2 * step, difference);
    store(out, to + 3 * step, minus);
}

typedef void (*lean_function)(hopper_forward);

} // namespace

int vg_cuda__k_hopper_lean_weights(cudaStream_t stream, void *out, const void *w, int columns, int k) {
    unsigned count = (unsigned)columns * 3 * (unsigned)(k / 8);
    lean_weights<<<(count + 255) / 256, 256, 0, stream>>>((bf16 *)out, (const bf16 *)w, k / 8, count);
    return (int)cudaGetLastError();
}

int vg_cuda__k_hopper_lean(cudaStream_t stream, const hopper_forward *work) {
    lean_function kernel = !work->norm.z                            ? lean_kernel<0, CUDA_MASK_NONE>
                           : work->norm.mask.mode == CUDA_MASK_NONE ? lean_kernel<1, CUDA_MASK_NONE>
                                                                    : lean_kernel<1, CUDA_MASK_ALIGNED>;
    cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES);
    if (error != cudaSuccess)
        return (int)error;
    int tiles = tiles_of(*work), blocks = tiles < work->blocks ? tiles : work->blocks;
    kernel<<<blocks, THREADS, SHARED_BYTES, stream>>>(*work);
    return (int)cudaGetLastError();
}
