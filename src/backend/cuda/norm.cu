/* norm.cu - batch-norm with the dropout before it and the ReLU after it; two kernels forward, two backward.
 *
 *     d = dropout(x), y = relu(a d + c), a = gamma / std, c = beta - mean a
 *     dx = keep * (a dyr + e d + f) + addend, dyr = dy where a d + c > 0,
 *     e = -a dgamma / (N std), f = -a dbeta / N - e mean
 *
 * Masks and the sign of the ReLU's input are recomputed from x in each pass: a pass reads x (and dy) and writes its
 * result, nothing else. Sums are of differences from one value of the channel (forward) or from its mean (backward), so
 * that float32 keeps its digits where the mean is large; after a dropout, which alone gives a variance of p / (1 - p)
 * mean^2, they are of the kept x themselves. A thread adds some tens of them; the rest of the sum is in sums.cuh.
 *
 * The second pass traverses the tensor from its end to its beginning, because the values that the first pass read last
 * are still in the cache. Its blocks may start before the first pass has finished: they issue their first loads, then
 * wait. */
#include "backend/cuda/affine.cuh"
#include "backend/cuda/sums.cuh"

/* --- forward */

/* From the sums of d - shift and of its square to the batch's statistics of one channel. */
__device__ __forceinline__ void finish_statistics(const cuda_norm_args &args, uint32_t channel, double shift,
                                                  double sum, double squares) {
    const double momentum = (double)args.mask.step->step.momentum, offset = sum * args.inverse_count;
    const double mean = shift + offset, rest = squares - sum * offset, spread = rest > 0.0 || rest != rest ? rest : 0.0;
    const float inverse = (float)rsqrt(spread * args.inverse_count + (double)args.epsilon);
    float *running = args.running + channel, *variance = running + args.channels;
    *running = (float)((1.0 - momentum) * (double)*running + momentum * mean);
    *variance = (float)((1.0 - momentum) * (double)*variance + momentum * spread * args.inverse_unbiased);
    if (args.saved) {
        args.saved[channel] = (float)mean;
        args.saved[args.channels + channel] = inverse;
    }
    float *a = args.coefficients + channel;
    affine(a, a + args.shape.groups * 8, args.gamma[channel], args.beta[channel], (float)mean, inverse);
}

/* Calls body(u, lanes, vector) for those of the U positions p, p + s.lanes, ... that exist: the random numbers of the
 * dropout mask there, and the index of the vector of eight channels. */
template <int MASK, int U, typename F>
__device__ __forceinline__ void each_position(const cuda_norm_args &args, const cuda_draw &draw, uint32_t p,
                                              const place &at, F body) {
    uint32_t lanes[U][4];
    lanes_at<MASK>(lanes, draw, args.mask, p, args.shape.lanes, at.group * 8);
#pragma unroll
    for (int u = 0; u < U; u++) {
        if (p + u * args.shape.lanes >= args.positions)
            break;
        body(u, lanes[u], (size_t)(p + u * args.shape.lanes) * args.shape.groups + at.group);
    }
}

/* Loads the vectors of one array at those positions. */
template <typename T, int U>
__device__ __forceinline__ void load_positions(pack<T> (&raw)[U], const T *x, const cuda_norm_args &args, uint32_t p,
                                               const place &at) {
#pragma unroll
    for (int u = 0; u < U; u++)
        if (p + u * args.shape.lanes < args.positions)
            raw[u] = load(x, (size_t)(p + u * args.shape.lanes) * args.shape.groups + at.group);
}

template <typename T, int MASK>
__global__ void __launch_bounds__(CUDA_SUM_THREADS, CUDA_SUM_BLOCKS)
    norm_statistics(const __grid_constant__ cuda_norm_args args) {
    constexpr int U = in_flight<T>();
    __shared__ sum_space<2> space;
    const cuda_shape &s = args.shape;
    const place at = place_of(s);
    const T *x = (const T *)args.x;
    float sum[2][8] = {};
    next_may_begin();
    if (at.active) {
        uint32_t p = at.tile * s.lanes * U + at.lane;
        pack<T> raw[U];
        auto fetch = [&] { load_positions(raw, x, args, p, at); };
        fetch();
        const cuda_draw draw = draw_of<MASK>(args.mask);
        float shift[8];
        if (MASK == CUDA_MASK_NONE)
            widen(shift, load(x, at.group));
        for (; p < args.positions; p += s.tiles * s.lanes * U, fetch()) {
            each_position<MASK, U>(args, draw, p, at, [&](int u, const uint32_t(&lanes)[4], size_t) {
                float v[8];
                widen(v, raw[u]);
#pragma unroll
                for (int j = 0; j < 8; j++)
                    if (kept<MASK>(lanes, j, draw)) {
                        const float d = MASK == CUDA_MASK_NONE ? v[j] - shift[j] : v[j];
                        sum[0][j] += d;
                        sum[1][j] = fmaf(d, d, sum[1][j]);
                    }
            });
        }
    }
    if (!add_up<2>(space, sum, s, at, args.partials, args.counters))
        return;
    const uint32_t t = threadIdx.x, channels = s.block_groups * 8, channel = at.chunk * channels + t;
    if (t >= channels || channel >= s.groups * 8)
        return;
    const double scale = (double)args.mask.scale, shift = MASK == CUDA_MASK_NONE ? (double)element(x, channel) : 0.0;
    if (channel < args.channels)
        finish_statistics(args, channel, shift, scale * space.total[t], scale * scale * space.total[channels + t]);
    else
        args.coefficients[channel] = args.coefficients[s.groups * 8 + channel] = 0.0f;
}

/* a and c of a thread's eight channels, from the running statistics; the first thread of a channel also writes
 * `saved`. */
__device__ __forceinline__ void running_coefficients(float a[8], float c[8], const cuda_norm_args &args,
                                                     const place &at) {
    for (uint32_t j = 0; j < 8; j++) {
        uint32_t channel = at.group * 8 + j;
        a[j] = c[j] = 0.0f;
        if (channel >= args.channels)
            continue;
        float mean = args.running[channel], inverse = inverse_std(args.running[args.channels + channel], args.epsilon);
        affine(&a[j], &c[j], args.gamma[channel], args.beta[channel], mean, inverse);
        if (args.saved && at.tile == 0 && at.lane == 0) {
            args.saved[channel] = mean;
            args.saved[args.channels + channel] = inverse;
        }
    }
}

/* Number of tiles of a pass; a block takes every s.tiles-th, from the last to the first. */
__device__ __forceinline__ int64_t last_tile(const cuda_norm_args &args, uint32_t step, const place &at) {
    return ((int64_t)args.positions + step - 1) / step - 1 - at.tile;
}

template <typename T, int MASK>
__global__ void __launch_bounds__(CUDA_ROW_THREADS, MASK ? CUDA_DRAW_BLOCKS : CUDA_ROW_BLOCKS)
    norm_apply(const __grid_constant__ cuda_norm_args args) {
    constexpr int U = in_flight<T>();
    const cuda_shape &s = args.shape;
    const place at = place_of(s);
    const T *x = (const T *)args.x;
    if (!at.active)
        return;
    int64_t tile = last_tile(args, s.lanes * U, at);
    uint32_t p = 0;
    pack<T> raw[U];
    auto fetch = [&] {
        p = (uint32_t)tile * s.lanes * U + at.lane;
#pragma unroll
        for (int u = 0; u < U; u++)
            if (tile >= 0 && p + u * s.lanes < args.positions)
                raw[u] = load_last(x, (size_t)(p + u * s.lanes) * s.groups + at.group);
    };
    fetch(); /* x was complete before the statistics' kernel started */
    wait_for_previous();
    float a[8], c[8];
    if (args.running) {
        running_coefficients(a, c, args, at);
    } else {
        load8_fresh(a, args.coefficients + at.group * 8);
        load8_fresh(c, args.coefficients + (s.groups + at.group) * 8);
    }
    const cuda_draw draw = draw_of<MASK>(args.mask);
#pragma unroll
    for (int j = 0; j < 8; j++)
        a[j] *= args.mask.scale;
    for (; tile >= 0; tile -= s.tiles, fetch()) {
        each_position<MASK, U>(args, draw, p, at, [&](int u, const uint32_t(&lanes)[4], size_t vector) {
            float v[8];
            widen(v, raw[u]);
#pragma unroll
            for (int j = 0; j < 8; j++)
                v[j] = kept<MASK>(lanes, j, draw) ? fmaf(a[j], v[j], c[j]) : c[j];
            store_above((T *)args.out, vector, v, args.floor);
        });
    }
}

/* --- backward */

/* The gradients of one channel's gamma and beta, and what the second pass needs. centred: sum of dyr (d - mean). */
__device__ __forceinline__ void finish_sums(const cuda_norm_args &args, uint32_t channel, double sum, double centred) {
    const double mean = (double)args.saved[channel];
    const float inverse = args.saved[args.channels + channel];
    const double dgamma = centred * (double)inverse;
    const uint32_t row = args.shape.groups * 8;
    float *k = args.coefficients + channel, a, c;
    affine(&a, &c, args.gamma[channel], args.beta[channel], (float)mean, inverse);
    const double e = -(double)a * dgamma * args.inverse_count * (double)inverse;
    args.dgamma[channel] = (float)dgamma;
    args.dbeta[channel] = (float)sum;
    k[0] = a;
    k[row] = c;
    k[2 * row] = (float)e;
    k[3 * row] = (float)(-(double)a * sum * args.inverse_count - e * mean);
}

template <typename T, int MASK>
__global__ void __launch_bounds__(CUDA_SUM_THREADS, CUDA_SUM_BLOCKS)
    norm_sums(const __grid_constant__ cuda_norm_args args) {
    constexpr int U = in_flight<T>() / 2;
    __shared__ sum_space<2> space;
    const cuda_shape &s = args.shape;
    const place at = place_of(s);
    const T *x = (const T *)args.x, *dy = (const T *)args.dy;
    float sum[2][8] = {};
    next_may_begin();
    if (at.active) {
        uint32_t p = at.tile * s.lanes * U + at.lane;
        pack<T> raw[U], rough[U];
        auto fetch = [&] {
#pragma unroll
            for (int u = 0; u < U; u++)
                if (p + u * s.lanes < args.positions) {
                    raw[u] = load(x, (size_t)(p + u * s.lanes) * s.groups + at.group);
                    rough[u] = load(dy, (size_t)(p + u * s.lanes) * s.groups + at.group);
                }
        };
        fetch();
        const cuda_draw draw = draw_of<MASK>(args.mask);
        float a[8], c[8], mean[8]; /* after a dropout: sums of scale x, without the mean */
        load8(a, args.gamma + at.group * 8);
        load8(c, args.beta + at.group * 8);
#pragma unroll
        for (uint32_t j = 0; j < 8; j++) {
            const uint32_t channel = at.group * 8 + j;
            const bool there = channel < args.channels;
            mean[j] = there ? args.saved[channel] : 0.0f;
            a[j] *= there ? args.saved[args.channels + channel] : 0.0f;
            if (MASK != CUDA_MASK_NONE) {
                c[j] = fmaf(-mean[j], a[j], c[j]);
                a[j] *= args.mask.scale;
            }
        }
        for (; p < args.positions; p += s.tiles * s.lanes * U, fetch()) {
            each_position<MASK, U>(args, draw, p, at, [&](int u, const uint32_t(&lanes)[4], size_t) {
                float v[8], g[8];
                widen(v, raw[u]);
                widen(g, rough[u]);
#pragma unroll
                for (int j = 0; j < 8; j++) {
                    const bool keep = kept<MASK>(lanes, j, draw);
                    const float d = MASK == CUDA_MASK_NONE ? v[j] - mean[j] : v[j];
                    const bool through = !((keep ? fmaf(a[j], d, c[j]) : c[j]) <= args.floor);
                    if (through)
                        sum[0][j] += g[j];
                    if (through && keep)
                        sum[1][j] = fmaf(g[j], d, sum[1][j]);
                }
            });
        }
    }
    if (!add_up<2>(space, sum, s, at, args.partials, args.counters))
        return;
    const uint32_t t = threadIdx.x, channels = s.block_groups * 8, channel = at.chunk * channels + t;
    if (t >= channels || channel >= s.groups * 8)
        return;
    if (channel < args.channels)
        finish_sums(args, channel, space.total[t],
                    MASK == CUDA_MASK_NONE ? space.total[channels + t]
                                           : (double)args.mask.scale * space.total[channels + t] -
                                                 (double)args.saved[channel] * space.total[t]);
    else
        for (uint32_t k = 0; k < 4; k++)
            args.coefficients[k * s.groups * 8 + channel] = 0.0f;
}

template <typename T, int MASK>
__global__ void __launch_bounds__(CUDA_ROW_THREADS, CUDA_BACK_BLOCKS)
    norm_apply_backward(const __grid_constant__ cuda_norm_args args) {
    constexpr int U = in_flight<T>() / 2;
    const cuda_shape &s = args.shape;
    const place at = place_of(s);
    const T *x = (const T *)args.x, *dy = (const T *)args.dy, *addend = (const T *)args.addend;
    if (!at.active)
        return;
    int64_t tile = last_tile(args, s.lanes * U, at);
    uint32_t p = 0;
    pack<T> raw[U], rough[U], more[U];
    auto fetch = [&] {
        p = (uint32_t)tile * s.lanes * U + at.lane;
#pragma unroll
        for (int u = 0; u < U; u++)
            if (tile >= 0 && p + u * s.lanes < args.positions) {
                const size_t vector = (size_t)(p + u * s.lanes) * s.groups + at.group;
                raw[u] = load_last(x, vector);
                rough[u] = load_last(dy, vector);
                if (addend)
                    more[u] = load_last(addend, vector);
            }
    };
    fetch();
    wait_for_previous();
    float a[8], c[8], e[8], f[8];
    load8_fresh(a, args.coefficients + at.group * 8);
    load8_fresh(c, args.coefficients + (s.groups + at.group) * 8);
    load8_fresh(e, args.coefficients + (2 * s.groups + at.group) * 8);
    load8_fresh(f, args.coefficients + (3 * s.groups + at.group) * 8);
    const cuda_draw draw = draw_of<MASK>(args.mask);
    const float scale = args.mask.scale;
#pragma unroll
    for (int j = 0; j < 8; j++) { /* d = scale x; and dx has a factor of scale again */
        a[j] *= scale;
        e[j] *= scale * scale;
        f[j] *= scale;
    }
    for (; tile >= 0; tile -= s.tiles, fetch()) {
        each_position<MASK, U>(args, draw, p, at, [&](int u, const uint32_t(&lanes)[4], size_t vector) {
            float v[8], g[8], extra[8] = {};
            widen(v, raw[u]);
            widen(g, rough[u]);
            if (addend)
                widen(extra, more[u]);
#pragma unroll
            for (int j = 0; j < 8; j++) {
                const float through = fmaf(a[j], v[j], c[j]) <= args.floor ? 0.0f : g[j];
                const float dx = fmaf(a[j], through, fmaf(e[j], v[j], f[j]));
                v[j] = kept<MASK>(lanes, j, draw) ? dx + extra[j] : extra[j];
            }
            store((T *)args.out, vector, v);
        });
    }
}

/* --- launches */

#define DISPATCH(launch, kernel, args, half, stream)                                                                   \
    do {                                                                                                               \
        const unsigned blocks = (args)->shape.chunks * (args)->shape.tiles,                                            \
                       threads = (args)->shape.block_groups * (args)->shape.lanes;                                     \
        switch ((args)->mask.mode * 2 + ((half) ? 1 : 0)) {                                                            \
        case 0: launch((kernel<float, 0>), blocks, threads, stream, *(args)); break;                                   \
        case 1: launch((kernel<bf16, 0>), blocks, threads, stream, *(args)); break;                                    \
        case 2: launch((kernel<float, 1>), blocks, threads, stream, *(args)); break;                                   \
        case 3: launch((kernel<bf16, 1>), blocks, threads, stream, *(args)); break;                                    \
        case 4: launch((kernel<float, 2>), blocks, threads, stream, *(args)); break;                                   \
        default: launch((kernel<bf16, 2>), blocks, threads, stream, *(args)); break;                                   \
        }                                                                                                              \
    } while (0)

void vg_cuda__norm_statistics(const cuda_norm_args *args, bool half, cudaStream_t stream) {
    DISPATCH(CUDA_LAUNCH, norm_statistics, args, half, stream);
}
void vg_cuda__norm_apply(const cuda_norm_args *args, bool half, cudaStream_t stream) {
    if (args->running)
        DISPATCH(CUDA_LAUNCH, norm_apply, args, half, stream);
    else
        DISPATCH(CUDA_LAUNCH_EARLY, norm_apply, args, half, stream);
}
void vg_cuda__norm_sums(const cuda_norm_args *args, bool half, cudaStream_t stream) {
    DISPATCH(CUDA_LAUNCH, norm_sums, args, half, stream);
}
void vg_cuda__norm_apply_backward(const cuda_norm_args *args, bool half, cudaStream_t stream) {
    DISPATCH(CUDA_LAUNCH_EARLY, norm_apply_backward, args, half, stream);
}
