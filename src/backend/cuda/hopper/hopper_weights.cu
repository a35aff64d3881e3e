/* hopper_weights.cu - gradient of a 3x3 convolution (stride 1, padding 1) to its weights on Hopper's tensor cores.
 *
 * grad[o][tap][c] = sum over pixels p of x[p + tap][c] dy[p][o]. The sum is over pixels, so both operands are
 * contiguous along the other dimension (channels), which the tensor cores support. The result is divided into blocks of
 * 192 rows (tap, c) x 160 columns o: 64 channels, one kx, three ky. In steps of 128 pixels the copy engine loads dy
 * and, once for all three ky, x shifted by kx - 1 with the row above and the row below; ky moves the start by whole
 * rows. Three warpgroups take one ky each. Where 32 channels are left over, their nine (kx, ky) of 32 rows each form
 * pairs of 64: a block of six (kx 0 and 1) and one of three.
 *
 * The steps of all blocks form one sequence, which is divided evenly among the multiprocessors. Each stores its sums of
 * a block in a slot of its own (number of the multiprocessor + number of the block), and a second kernel adds them in
 * order: the same bits every run. The pixels of each step are assigned so that all multiprocessors traverse the pixels
 * together: what one has read, the others find in the cache. */
#include "backend/cuda/hopper/hopper_kernels.h"
#include "backend/cuda/hopper/hopper_ptx.cuh"

namespace {

using namespace hopper;

enum {
    N = HOPPER_N,
    THREADS = 512,
    GROUPS = 3,
    SLOTS = 3,
    X_BYTES = 192 * 128,
    DY_BOX = HOPPER_CHUNK * 64, /* 32 columns */
    DY_BOXES = N / 32,
    DY_BYTES = DY_BOXES * DY_BOX,
    SLOT_BYTES = X_BYTES + DY_BYTES,
    SHARED_BYTES = 1024 + SLOTS * SLOT_BYTES + 128,
    SLOT = GROUPS * 64 * N, /* floats of a block's sums */
};

/* The sequence of steps. A step of a heavy block costs 3, of a light one (three 32-row pieces: two warpgroups) 2. */
struct line {
    int columns, wide, narrow; /* blocks of 160 columns; of 64 channels in one of those; whether 32 channels are left */
    int heavy, light;          /* blocks */
    int steps;                 /* of a block */
    __host__ __device__ line(int n, int width, int c, int o)
        : columns(o / N), wide(c / 64 * 3), narrow(c % 64 != 0), heavy(columns * (wide + narrow)),
          light(columns * narrow), steps(width == 32   ? n * 8
                                         : width == 16 ? n * 2
                                                       : (n + 1) / 2) {}
    __host__ __device__ long long cost() const { return (3LL * heavy + 2LL * light) * steps; }
    /* Where part `part` of `parts` begins. */
    __host__ __device__ long long begin(int part, int parts) const {
        long long at = cost() * part / parts, middle = 3LL * heavy * steps;
        return at < middle ? at / 3 : (long long)heavy * steps + (at - middle) / 2;
    }
};

/* What a block is made of. */
struct block {
    int kind; /* 0: 64 channels, one kx; 1: 32 channels, kx 0 and 1; 2: 32 channels, kx 2 */
    int o, c, kx;
    __device__ block(const line &l, int c_all, int number) {
        int in_columns = l.wide + l.narrow;
        if (number >= l.heavy) {
            kind = 2;
            o = (number - l.heavy) * N;
        } else {
            o = number / in_columns * N;
            number %= in_columns;
            kind = number >= l.wide;
        }
        c = kind ? c_all - 32 : number / 3 * 64;
        kx = kind == 0 ? number % 3 : kind == 1 ? 0 : 2;
    }
};

struct spots {
    uint32_t start, barriers;
    __device__ explicit spots(uint32_t at) : start(at), barriers(at + SLOTS * SLOT_BYTES) {}
    __device__ uint32_t x(int i) const { return start + i * SLOT_BYTES; }
    __device__ uint32_t dy(int i) const { return start + i * SLOT_BYTES + X_BYTES; }
    __device__ uint32_t full(int i) const { return barriers + 8 * i; }
    __device__ uint32_t empty(int i) const { return barriers + 8 * (SLOTS + i); }
};

__device__ static inline int box_rows(int width) { return width == 32 ? 192 : 160; }

/* The pixels of step `at` of the sequence, in block `number`: the number of the block's steps before it when they are
 * ordered by time (steps since the begin of their part), then by part. `first`: the first part that has steps of the
 * block. */
__device__ static inline int pixels_of(const hopper_weights &work, const line &l, int number, int at, int first) {
    int from = number * l.steps, to = from + l.steps, part = blockIdx.x, time = at - work.begin[part], rank = 0;
    for (int j = first; j < (int)gridDim.x && work.begin[j] < to; j++) {
        int begin = work.begin[j], low = max(begin, from), high = min(work.begin[j + 1], to);
        rank += min(max(time + (j < part) - (low - begin), 0), high - low);
    }
    return rank;
}

/* Loads one step's boxes of the pixels `i`. */
__device__ static inline void copy_step(const hopper_weights &work, const block &b, uint32_t x, uint32_t dy,
                                        uint32_t full, int i) {
    int width = work.width, shift = width == 32 ? 3 : 1; /* steps per image: 8, 2; or two images per step */
    int image = width == 8 ? 2 * i : i >> shift, y = width == 8 ? 0 : (i & ((1 << shift) - 1)) * (HOPPER_CHUNK / width);
    uint32_t x_bytes = box_rows(width) * 128;
    barrier_expect(full, DY_BYTES + (b.kind == 2 ? x_bytes / 2 : x_bytes));
    if (b.kind == 0) {
        load_box(x, &work.x, b.c, b.kx - 1, y - 1, image, full);
    } else {
        load_box(x, &work.narrow, b.c, b.kx - 1, y - 1, image, full);
        if (b.kind == 1)
            load_box(x + x_bytes / 2, &work.narrow, b.c, b.kx, y - 1, image, full);
    }
#pragma unroll
    for (int j = 0; j < DY_BOXES; j++)
        load_box(dy + j * DY_BOX, &work.dy, b.o + 32 * j, 0, y, image, full);
}

__device__ static inline void copy(const hopper_weights &work, const spots &at, const line &l, int from, int to) {
    place<SLOTS> r;
    while (from < to) {
        int number = from / l.steps, count = min(l.steps - from % l.steps, to - from), first = blockIdx.x;
        block b(l, work.c, number);
        while (work.begin[first] > number * l.steps)
            first--;
        for (int k = from; k < from + count; k++) {
            int i = pixels_of(work, l, number, k, first);
            barrier_wait(at.empty(r.slot), r.phase ^ 1);
            copy_step(work, b, at.x(r.slot), at.dy(r.slot), at.full(r.slot), i);
            r.next();
        }
        from += count;
    }
}

/* Where warpgroup `group` reads x in a slot: its offset, its descriptor's bits, bytes of 16 pixels. */
struct reader {
    uint32_t offset, step;
    uint64_t bits;
    __device__ reader(const hopper_weights &work, const block &b, int group) {
        int width = work.width;
        if (b.kind == 0) {
            offset = group * width * 128;
            bits = work.a_bits;
            step = 16 * 128;
        } else {
            int u = 2 * group, v = b.kind == 2 && u == 2 ? 2 : u + 1;
            uint32_t box = box_rows(width) * 64, row = width * 64;
            uint32_t first = u / 3 * box + u % 3 * row, second = v / 3 * box + v % 3 * row;
            offset = first;
            bits = work.narrow_bits | (uint64_t)((second - first) >> 4) << 16;
            step = 16 * 64;
        }
    }
};

__device__ static inline void multiply(const hopper_weights &work, const spots &at, const line &l, int from, int to) {
    place<SLOTS> r;
    int group = warp_uniform(threadIdx.x / 128) - 1, thread = threadIdx.x % 128;
    bool leader = threadIdx.x % 32 == 0;
    float d[80];
    while (from < to) {
        int number = from / l.steps, count = min(l.steps - from % l.steps, to - from);
        block b(l, work.c, number);
        from += count;
        if (b.kind == 2 && group == 2) { /* the third warpgroup has no work in this block */
            for (int i = 0; i < count; i++) {
                barrier_wait(at.full(r.slot), r.phase);
                if (leader)
                    barrier_arrive(at.empty(r.slot));
                r.next();
            }
            continue;
        }
        reader x(work, b, group);
        uint32_t skip = work.width == 8 ? x.step / 16 : 0, pace = x.step / 16; /* the second image's 16 halo pixels */
#pragma unroll
        for (int i = 0; i < 80; i++)
            d[i] = 0;
        keep_in_registers(d);
        int last = -1;
        for (int i = 0; i < count; i++) {
            barrier_wait(at.full(r.slot), r.phase);
            uint64_t p = descriptor(x.bits, at.x(r.slot) + x.offset), q = descriptor(work.b_bits, at.dy(r.slot));
            product_fence();
#pragma unroll
            for (int k = 0; k < 8; k++)
                product<1, 1>(d, p + k * pace + (k >= 4 ? skip : 0), q + k * 64);
            product_commit();
            product_wait<1>();
            if (leader && last >= 0)
                barrier_arrive(at.empty(last));
            last = r.slot;
            r.next();
        }
        product_wait<0>();
        keep_in_registers(d);
        if (leader)
            barrier_arrive(at.empty(last));
        float4 *out = (float4 *)(work.partial + (size_t)(blockIdx.x + number) * SLOT + (size_t)group * 64 * N) + thread;
#pragma unroll
        for (int i = 0; i < 20; i++)
            out[i * 128] = make_float4(d[4 * i], d[4 * i + 1], d[4 * i + 2], d[4 * i + 3]);
    }
}

static __global__ void __launch_bounds__(THREADS, 1) weights_kernel(const __grid_constant__ hopper_weights work) {
    extern __shared__ unsigned char memory[];
    spots at((shared_address(memory) + 1023) & ~1023u);
    line l(work.n, work.width, work.c, work.o);
    int from = work.begin[blockIdx.x], to = work.begin[blockIdx.x + 1];
    if (threadIdx.x == 0) {
        prefetch_map(&work.x);
        prefetch_map(&work.dy);
        for (int i = 0; i < SLOTS; i++) {
            barrier_init(at.full(i), 1);
            barrier_init(at.empty(i), 4 * GROUPS);
        }
        barrier_init_done();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        if (threadIdx.x == 0)
            copy(work, at, l, from, to);
    } else {
        multiply(work, at, l, from, to);
    }
}

/* Adds the sums of block blockIdx.z, warpgroup blockIdx.y, columns 8 blockIdx.x ..., in the order of the sequence. */
static __global__ void __launch_bounds__(128) add_kernel(const __grid_constant__ hopper_weights work, int parts) {
    int c = work.c, number = blockIdx.z, group = blockIdx.y, q = blockIdx.x, thread = threadIdx.x, lane = thread % 32;
    line l(work.n, work.width, c, work.o);
    block b(l, c, number);
    if (b.kind == 2 && group == 2)
        return;
    int from = number * l.steps, first = 0, after = parts; /* the parts that have steps of this block */
    for (int high = parts; high - first > 1;) {
        int middle = (first + high) / 2;
        if (work.begin[middle] <= from)
            first = middle;
        else
            high = middle;
    }
    for (int low = first; after - low > 1;) {
        int middle = (low + after) / 2;
        if (work.begin[middle] < from + l.steps)
            low = middle;
        else
            after = middle;
    }
    int count = after - first;
    const float4 *in =
        (const float4 *)(work.partial + (size_t)(first + number) * SLOT + (size_t)group * 64 * N) + q * 128 + thread;
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 8
    for (int i = 0; i < count; i++) {
        float4 v = in[(size_t)i * (SLOT / 4)];
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
    float values[2][2] = {{sum.x, sum.y}, {sum.z, sum.w}};
    int column = b.o + 8 * q + 2 * (lane % 4);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int row = thread / 32 * 16 + lane / 4 + 8 * i, tap, channel;
        if (b.kind == 0) {
            tap = 3 * group + b.kx;
            channel = b.c + row;
        } else {
            int unit = 2 * group + row / 32;
            if (b.kind == 2 && unit > 2)
                continue;
            tap = unit % 3 * 3 + b.kx + unit / 3;
            channel = b.c + row % 32;
        }
        for (int j = 0; j < 2; j++)
            work.grad[((size_t)(column + j) * 9 + tap) * c + channel] = values[i][j];
    }
}

} // namespace

size_t vg_cuda__hopper_partials(int c, int o, int blocks) {
    line l(1, 32, c, o);
    return (size_t)(blocks + l.heavy + l.light) * SLOT;
}

int vg_cuda__k_hopper_weights(cudaStream_t stream, hopper_weights *work) {
    cudaError_t error = cudaFuncSetAttribute(weights_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES);
    if (error != cudaSuccess)
        return (int)error;
    line l(work->n, work->width, work->c, work->o);
    int parts = work->blocks < HOPPER_PARTS ? work->blocks : HOPPER_PARTS;
    parts = l.cost() / 3 < parts ? (int)(l.cost() / 3) : parts; /* every part has at least one step */
    for (int i = 0; i <= parts; i++)
        work->begin[i] = (int)l.begin(i, parts);
    weights_kernel<<<parts, THREADS, SHARED_BYTES, stream>>>(*work);
    add_kernel<<<dim3(N / 8, GROUPS, l.heavy + l.light), 128, 0, stream>>>(*work, parts);
    return (int)cudaGetLastError();
}
