/* pooling.cu - bias, max-pool, ReLU and dropout in one kernel; backward with the bias's gradient in one kernel.
 *
 *     y = keep * relu(max over the window of x + bias)
 *     d = keep * dy where y > 0; dx = d at the window's largest element, 0 elsewhere; dbias = sum of d over positions
 *
 * A thread works on eight channels of one pooled position (forward) or of several (backward, where it sums them). A
 * choice is the element's number in its window, row by row. After a ReLU, y > 0 shows that an element was kept, so no
 * mask is drawn. */
#include "backend/cuda/sums.cuh"

enum { THREADS = 256 }; /* forward */

/* The choices of eight channels. */
template <int POOL> struct choices {
    static constexpr uint32_t NONE = 255;
    uint2 bytes;
    __device__ __forceinline__ void read(const uint8_t *from, size_t vector) { bytes = ((const uint2 *)from)[vector]; }
    __device__ __forceinline__ void write(uint8_t *to, size_t vector) const { ((uint2 *)to)[vector] = bytes; }
    __device__ __forceinline__ uint32_t get(int j) const { return (j < 4 ? bytes.x : bytes.y) >> (j % 4 * 8) & 255u; }
    __device__ __forceinline__ void add(int j, uint32_t which) { (j < 4 ? bytes.x : bytes.y) |= which << (j % 4 * 8); }
};
template <> struct choices<2> {
    static constexpr uint32_t NONE = 15;
    uint32_t bits;
    __device__ __forceinline__ void read(const uint8_t *from, size_t vector) {
        bits = ((const uint32_t *)from)[vector];
    }
    __device__ __forceinline__ void write(uint8_t *to, size_t vector) const { ((uint32_t *)to)[vector] = bits; }
    __device__ __forceinline__ uint32_t get(int j) const { return bits >> (4 * j) & 15u; }
    __device__ __forceinline__ void add(int j, uint32_t which) { bits |= which << (4 * j); }
};

/* --- forward */

/* The window's largest elements and their indices, with best = -infinity on entry: the first of equals; a NaN counts
 * as largest. POOL 0: size known at run time. */
template <typename T, int POOL>
__device__ __forceinline__ void largest(float best[8], uint32_t which[8], const cuda_pooling_args &args, size_t corner,
                                        uint32_t groups) {
    const T *x = (const T *)args.x;
    const size_t line = (size_t)args.in_width * groups;
    [[maybe_unused]] auto compare = [&](const pack<T> &raw, uint32_t r) {
        float v[8];
        widen(v, raw);
#pragma unroll
        for (int j = 0; j < 8; j++)
            if (v[j] > best[j] || v[j] != v[j]) {
                best[j] = v[j];
                which[j] = r;
            }
    };
    if constexpr (POOL == 1) {
        widen(best, load(x, corner));
    } else if constexpr (POOL > 1) {
        pack<T> raw[POOL * POOL];
#pragma unroll
        for (int r = 0; r < POOL * POOL; r++)
            raw[r] = load(x, corner + r / POOL * line + (size_t)(r % POOL) * groups);
#pragma unroll
        for (int r = 0; r < POOL * POOL; r++)
            compare(raw[r], r);
    } else {
        for (uint32_t r = 0; r < args.pool * args.pool; r++)
            compare(load(x, corner + r / args.pool * line + (size_t)(r % args.pool) * groups), r);
    }
}

template <typename T, int POOL, int MASK>
__global__ void __launch_bounds__(THREADS) pooling_forward(const __grid_constant__ cuda_pooling_args args) {
    const uint32_t groups = args.groups.divisor, vector = blockIdx.x * THREADS + threadIdx.x;
    const uint32_t position = cuda_divide(vector, args.groups), group = vector - position * groups;
    if (position >= args.positions)
        return;
    const uint32_t line = cuda_divide(position, args.width), q = position - line * args.width.divisor;
    const uint32_t row = cuda_divide(line, args.height), p = line - row * args.height.divisor;
    const uint32_t pool = POOL ? POOL : args.pool;
    const size_t corner = (((size_t)row * args.in_height + p * pool) * args.in_width + q * pool) * groups + group;
    float v[8], bias[8] = {};
    uint32_t which[8], lanes[4];
    if (args.bias)
        load8(bias, args.bias + group * 8);
#pragma unroll
    for (int j = 0; j < 8; j++) {
        v[j] = -INFINITY;
        which[j] = 0;
    }
    largest<T, POOL>(v, which, args, corner, groups);
    const cuda_draw draw = draw_of<MASK>(args.mask);
    lanes_in_row<MASK>(lanes, draw, args.mask, row, p * args.width.divisor + q, group * 8);
#pragma unroll
    for (int j = 0; j < 8; j++) {
        v[j] = raise_to(v[j] + bias[j], args.floor);
        if (MASK != CUDA_MASK_NONE)
            v[j] = kept<MASK>(lanes, j, draw) ? v[j] * args.mask.scale : 0.0f;
    }
    store((T *)args.out, vector, v);
    if (POOL != 1 && args.choice) {
        choices<POOL> choice = {};
#pragma unroll
        for (int j = 0; j < 8; j++)
            choice.add(j, !args.relu || v[j] > 0.0f ? which[j] : choice.NONE);
        choice.write(args.choice, vector);
    }
}

/* --- backward */

/* Writes one window of dx: d at the chosen element, 0 elsewhere, and 0 in the border that the last windows do not
 * cover. */
template <typename T, int POOL>
__device__ __forceinline__ void spread(const cuda_pooling_args &args, const float d[8], const choices<POOL> &choice,
                                       uint32_t row, uint32_t p, uint32_t q, uint32_t group) {
    const uint32_t pool = POOL ? POOL : args.pool, groups = args.shape.groups;
    const size_t corner = (((size_t)row * args.in_height + p * pool) * args.in_width + q * pool) * groups + group;
    if (POOL == 1) {
        store((T *)args.out, corner, d);
        return;
    }
    const uint32_t high = p + 1 == args.height.divisor ? args.in_height - p * pool : pool;
    const uint32_t wide = q + 1 == args.width.divisor ? args.in_width - q * pool : pool;
    auto put = [&](uint32_t r, uint32_t s) {
        float v[8];
#pragma unroll
        for (int j = 0; j < 8; j++)
            v[j] = r < pool && s < pool && choice.get(j) == r * pool + s ? d[j] : 0.0f;
        store((T *)args.out, corner + ((size_t)r * args.in_width + s) * groups, v);
    };
    if constexpr (POOL > 1) {
        if (high == pool && wide == pool) {
#pragma unroll
            for (int r = 0; r < POOL * POOL; r++)
                put(r / POOL, r % POOL);
            return;
        }
    }
    for (uint32_t r = 0; r < high; r++)
        for (uint32_t s = 0; s < wide; s++)
            put(r, s);
}

template <typename T, int POOL, int MASK>
__global__ void __launch_bounds__(CUDA_SUM_THREADS, CUDA_SUM_BLOCKS)
    pooling_backward(const __grid_constant__ cuda_pooling_args args) {
    constexpr int U = in_flight<T>() / 2;
    __shared__ sum_space<1> space;
    const cuda_shape &s = args.shape;
    const place at = place_of(s);
    const T *dy = (const T *)args.x, *y = (const T *)args.y;
    float sum[1][8] = {};
    if (at.active) {
        const cuda_draw draw = draw_of<MASK>(args.mask);
        for (uint32_t first = at.tile * s.lanes * U + at.lane; first < args.positions; first += s.tiles * s.lanes * U) {
            pack<T> raw[U], was[U];
            choices<POOL> choice[U] = {};
#pragma unroll
            for (int u = 0; u < U; u++)
                if (first + u * s.lanes < args.positions) {
                    const size_t vector = (size_t)(first + u * s.lanes) * s.groups + at.group;
                    raw[u] = load(dy, vector);
                    if (POOL != 1)
                        choice[u].read(args.choice, vector);
                    else if (args.relu)
                        was[u] = load(y, vector);
                }
#pragma unroll
            for (int u = 0; u < U; u++) {
                const uint32_t position = first + u * s.lanes;
                if (position >= args.positions)
                    break;
                const uint32_t line = cuda_divide(position, args.width), q = position - line * args.width.divisor;
                const uint32_t row = cuda_divide(line, args.height), p = line - row * args.height.divisor;
                float d[8], v[8];
                uint32_t lanes[4];
                widen(d, raw[u]);
                if (POOL == 1 && args.relu)
                    widen(v, was[u]);
                lanes_in_row<MASK>(lanes, draw, args.mask, row, p * args.width.divisor + q, at.group * 8);
#pragma unroll
                for (int j = 0; j < 8; j++) {
                    const bool open = POOL == 1 ? !args.relu || v[j] > 0.0f : choice[u].get(j) != choices<POOL>::NONE;
                    d[j] = open && kept<MASK>(lanes, j, draw) ? d[j] * args.scale : 0.0f;
                    sum[0][j] += d[j];
                }
                spread<T, POOL>(args, d, choice[u], row, p, q, at.group);
            }
        }
    }
    if (!args.dbias || !add_up<1>(space, sum, s, at, args.partials, args.counters))
        return;
    const uint32_t t = threadIdx.x, channel = at.chunk * s.block_groups * 8 + t;
    if (t < s.block_groups * 8 && channel < args.channels)
        args.dbias[channel] = (float)space.total[t];
}

/* --- launches */

#define BY_MASK(kernel, T, POOL)                                                                                       \
    do {                                                                                                               \
        switch (args->mask.mode) {                                                                                     \
        case CUDA_MASK_NONE: CUDA_LAUNCH((kernel<T, POOL, CUDA_MASK_NONE>), blocks, threads, stream, *args); break;    \
        case CUDA_MASK_ALIGNED:                                                                                        \
            CUDA_LAUNCH((kernel<T, POOL, CUDA_MASK_ALIGNED>), blocks, threads, stream, *args);                         \
            break;                                                                                                     \
        default: CUDA_LAUNCH((kernel<T, POOL, CUDA_MASK_ODD>), blocks, threads, stream, *args); break;                 \
        }                                                                                                              \
    } while (0)

#define BY_POOL(kernel, T)                                                                                             \
    do {                                                                                                               \
        switch (args->pool) {                                                                                          \
        case 1: BY_MASK(kernel, T, 1); break;                                                                          \
        case 2: BY_MASK(kernel, T, 2); break;                                                                          \
        default: BY_MASK(kernel, T, 0); break;                                                                         \
        }                                                                                                              \
    } while (0)

void vg_cuda__pooling_run_forward(const cuda_pooling_args *args, bool half, cudaStream_t stream) {
    const unsigned threads = THREADS, blocks = (args->positions * args->groups.divisor + threads - 1) / threads;
    if (half)
        BY_POOL(pooling_forward, bf16);
    else
        BY_POOL(pooling_forward, float);
}

void vg_cuda__pooling_run_backward(const cuda_pooling_args *args, bool half, cudaStream_t stream) {
    const unsigned blocks = args->shape.chunks * args->shape.tiles,
                   threads = args->shape.block_groups * args->shape.lanes;
    if (half)
        BY_POOL(pooling_backward, bf16);
    else
        BY_POOL(pooling_backward, float);
}
