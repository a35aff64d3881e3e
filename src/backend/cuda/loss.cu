/* loss.cu - cross-entropy of H softmax heads and its gradient, one block per row; the last to finish sums the rows,
 * in order. Formulas: ref/ref_heads.c. Rows that fit shared memory are read once and each exponential is computed twice
 * (few_kernel); others are read from memory repeatedly (loss_kernel). */
#include <cuda_bf16.h>

#include "backend/cuda/last_block.cuh"
#include "backend/cuda/loss.h"

enum { THREADS = 256, WARPS = THREADS / 32, FEW_CLASSES = 32, FEW_BYTES = 40 << 10 };

__device__ static inline float value(const cuda_loss_work &w, size_t at) {
    return w.logits[at] + (w.addend ? w.addend[at] : 0.0f);
}

/* log sum exp of each head into normaliser[H]. */
__device__ static void normalisers(const cuda_loss_work &w, size_t row, float *normaliser) {
    size_t C = w.classes, base = row * w.heads * C;
    if (C <= FEW_CLASSES) {
        for (size_t h = threadIdx.x; h < w.heads; h += THREADS) {
            float top = -INFINITY, sum = 0;
            for (size_t c = 0; c < C; c++)
                top = fmaxf(top, value(w, base + h * C + c));
            for (size_t c = 0; c < C; c++)
                sum += expf(value(w, base + h * C + c) - top);
            normaliser[h] = top + logf(sum);
        }
        return;
    }
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (size_t h = warp; h < w.heads; h += WARPS) {
        float top = -INFINITY, sum = 0;
        for (size_t c = lane; c < C; c += 32)
            top = fmaxf(top, value(w, base + h * C + c));
        for (int d = 16; d > 0; d /= 2)
            top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, d));
        for (size_t c = lane; c < C; c += 32)
            sum += expf(value(w, base + h * C + c) - top);
        for (int d = 16; d > 0; d /= 2)
            sum += __shfl_xor_sync(0xFFFFFFFFu, sum, d);
        if (lane == 0)
            normaliser[h] = top + logf(sum);
    }
}

/* Sum over heads of p(c): classes side by side; where classes are few, `parts` groups of threads share the heads. */
__device__ static void class_sums(const cuda_loss_work &w, size_t row, const float *normaliser, float *sums,
                                  float *partial) {
    size_t C = w.classes, base = row * w.heads * C;
    size_t parts = C < THREADS ? THREADS / C : 1;
    for (size_t first = 0; first < C; first += THREADS) {
        size_t c = first + threadIdx.x % (parts > 1 ? C : THREADS), part = parts > 1 ? threadIdx.x / C : 0;
        float sum = 0;
        if (part < parts && c < C)
            for (size_t h = part; h < w.heads; h += parts)
                sum += expf(value(w, base + h * C + c) - normaliser[h]);
        partial[threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.x < (parts > 1 ? C : THREADS) && first + threadIdx.x < C) {
            for (size_t p = 1; p < parts; p++)
                sum += partial[p * C + threadIdx.x];
            sums[first + threadIdx.x] = sum;
        }
        __syncthreads();
    }
}

/* Sum over a warp's lanes, in each of them; the same order always. */
template <typename T> __device__ static inline T warp_sum(T x) {
    for (int d = 16; d > 0; d /= 2)
        x += __shfl_xor_sync(0xFFFFFFFFu, x, d);
    return x;
}

/* Sum of one double per thread, in a fixed order, returned to every thread. room: WARPS doubles for this call alone. */
__device__ static double block_sum(double x, double *room) {
    x = warp_sum(x);
    if (threadIdx.x % 32 == 0)
        room[threadIdx.x / 32] = x;
    __syncthreads();
    x = room[0];
    for (int w = 1; w < WARPS; w++)
        x += room[w];
    return x;
}

__device__ static void add_up(const cuda_loss_work &w, double *room) {
    double loss = 0, right = 0;
    for (size_t r = threadIdx.x; r < w.rows; r += THREADS) {
        loss += __ldcg(w.row_loss + r);
        right += __ldcg(w.row_right + r);
    }
    loss = block_sum(loss, room + WARPS);
    right = block_sum(right, room + 2 * WARPS);
    if (threadIdx.x == 0) {
        w.totals->loss += loss;
        w.totals->rows += w.rows;
        w.totals->correct += (unsigned long long)right;
        if (!isfinite(loss) && w.totals->bad_step < 0)
            w.totals->bad_step = w.step->step.number;
        *w.counter = 0;
    }
}

/* The class of the largest sum, of equals the first. */
__device__ static size_t largest(const float *sums, size_t classes) {
    size_t best = 0;
    for (size_t c = 1; c < classes; c++)
        if (sums[c] > sums[best])
            best = c;
    return best;
}

/* The end of a block: the last block sums the rows. */
__device__ static void leave(const cuda_loss_work &w, double *room) {
    if (is_last_block(w.counter))
        add_up(w, room);
}

static __global__ void __launch_bounds__(THREADS) loss_kernel(cuda_loss_work w) {
    extern __shared__ float shared[]; /* normaliser[H], sums[C] */
    __shared__ float partial[THREADS];
    __shared__ double room[3 * WARPS];
    float *normaliser = shared, *sums = shared + w.heads;
    size_t row = blockIdx.x, C = w.classes, K = w.heads * C, base = row * K;
    size_t label = (size_t)w.labels[row];
    normalisers(w, row, normaliser);
    __syncthreads();
    class_sums(w, row, normaliser, sums, partial);
    float over_rows = 1.0f / (float)w.rows, over_heads = 1.0f / (float)w.heads;
    double loss = 0;
    for (size_t h = threadIdx.x; h < w.heads && !w.mixture; h += THREADS) {
        double weight = w.weights ? w.weights[row * w.heads + h] : 1.0;
        loss -= weight * (double)(value(w, base + h * C + label) - normaliser[h]);
    }
    loss = block_sum(loss, room);
    if (threadIdx.x == 0) {
        w.row_right[row] = largest(sums, C) == label;
        w.row_loss[row] = w.mixture ? -log((double)sums[label] / (double)w.heads) : loss / (double)w.heads;
    }
    size_t width = w.twin && w.twin_row > K ? w.twin_row : K;
    for (size_t i = threadIdx.x; w.dlogits && i < width; i += THREADS) {
        float gradient = 0;
        if (i < K) {
            size_t h = i / C, c = i - h * C;
            float p = expf(value(w, base + i) - normaliser[h]);
            float factor = w.mixture ? expf(value(w, base + h * C + label) - normaliser[h]) / sums[label]
                                     : (w.weights ? w.weights[row * w.heads + h] : 1.0f) * over_heads;
            gradient = over_rows * factor * (p - (c == label ? 1.0f : 0.0f));
            w.dlogits[base + i] = gradient;
        }
        if (w.twin)
            ((__nv_bfloat16 *)w.twin)[row * w.twin_row + i] = __float2bfloat16(gradient);
    }
    leave(w, room);
}

/* --- few classes */

/* The row's logits into values[K]. */
__device__ static void read_row(const cuda_loss_work &w, float *values) {
    const unsigned K = (unsigned)(w.heads * w.classes);
    const size_t base = (size_t)blockIdx.x * K;
    for (unsigned i = threadIdx.x; i < K; i += THREADS)
        values[i] = value(w, base + i);
}

/* values become probabilities; chosen[H]: the label's logarithms. */
__device__ static void probabilities(const cuda_loss_work &w, float *values, float *normaliser, float *chosen,
                                     unsigned label) {
    const unsigned C = (unsigned)w.classes, H = (unsigned)w.heads;
    for (unsigned h = threadIdx.x; h < H; h += THREADS) {
        const float *z = values + h * C;
        float top = -INFINITY, sum = 0;
        for (unsigned c = 0; c < C; c++)
            top = fmaxf(top, z[c]);
        for (unsigned c = 0; c < C; c++)
            sum += expf(z[c] - top);
        normaliser[h] = top + logf(sum);
        chosen[h] = z[label] - normaliser[h];
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < H * C; i += THREADS)
        values[i] = expf(values[i] - normaliser[i / C]);
    __syncthreads();
}

/* sums[c] over the heads, one warp per class. */
__device__ static void few_sums(const cuda_loss_work &w, const float *values, float *sums) {
    const unsigned C = (unsigned)w.classes, H = (unsigned)w.heads, lane = threadIdx.x % 32;
    for (unsigned c = threadIdx.x / 32; c < C; c += WARPS) {
        float sum = 0;
        for (unsigned h = lane; h < H; h += 32)
            sum += values[h * C + c];
        sum = warp_sum(sum);
        if (lane == 0)
            sums[c] = sum;
    }
    __syncthreads();
}

__device__ static void put_gradient(const cuda_loss_work &w, const float *values, const float *sums, unsigned label) {
    const unsigned C = (unsigned)w.classes, K = (unsigned)w.heads * C;
    const unsigned width = w.twin && w.twin_row > K ? (unsigned)w.twin_row : K;
    const size_t row = blockIdx.x;
    const float over_rows = 1.0f / (float)w.rows, over_heads = 1.0f / (float)w.heads;
    for (unsigned i = threadIdx.x; i < width; i += THREADS) {
        float gradient = 0;
        if (i < K) {
            const unsigned h = i / C;
            const float factor = w.mixture ? values[h * C + label] / sums[label]
                                           : (w.weights ? w.weights[row * w.heads + h] : 1.0f) * over_heads;
            gradient = over_rows * factor * (values[i] - (i - h * C == label ? 1.0f : 0.0f));
            w.dlogits[row * K + i] = gradient;
        }
        if (w.twin)
            ((__nv_bfloat16 *)w.twin)[row * w.twin_row + i] = __float2bfloat16(gradient);
    }
}

static __global__ void __launch_bounds__(THREADS) few_kernel(const __grid_constant__ cuda_loss_work w) {
    extern __shared__ float shared[]; /* values[K], normaliser[H], chosen[H], sums[C] */
    __shared__ double room[3 * WARPS];
    float *values = shared, *normaliser = values + w.heads * w.classes, *chosen = normaliser + w.heads,
          *sums = chosen + w.heads;
    const size_t row = blockIdx.x;
    const unsigned label = (unsigned)w.labels[row];
    read_row(w, values);
    __syncthreads();
    probabilities(w, values, normaliser, chosen, label);
    if (w.mixture)
        few_sums(w, values, sums);
    if (w.dlogits)
        put_gradient(w, values, sums, label);
    if (!w.mixture)
        few_sums(w, values, sums);
    double loss = 0;
    for (unsigned h = threadIdx.x; h < w.heads && !w.mixture; h += THREADS)
        loss -= (w.weights ? (double)w.weights[row * w.heads + h] : 1.0) * (double)chosen[h];
    loss = block_sum(loss, room);
    if (threadIdx.x == 0) {
        unsigned best = 0;
        for (unsigned c = 1; c < w.classes; c++)
            if (sums[c] > sums[best])
                best = c;
        w.row_right[row] = best == label;
        w.row_loss[row] = w.mixture ? -log((double)sums[label] / (double)w.heads) : loss / (double)w.heads;
    }
    leave(w, room);
}

/* --- smoothed labels and class weights */

/* The target of class c given the label, before smoothing is added: see vg_head_loss. */
__device__ static inline float target(const cuda_loss_work &w, size_t c, size_t label) {
    float t = w.smoothing / (float)w.classes + (c == label ? 1.0f - w.smoothing : 0.0f);
    return w.class_weights ? t * w.class_weights[c] : t;
}

/* The sum over rows of the weight of the label's class. */
__device__ static double weight_of_rows(const cuda_loss_work &w, double *room) {
    if (!w.class_weights)
        return (double)w.rows;
    double sum = 0;
    for (size_t r = threadIdx.x; r < w.rows; r += THREADS)
        sum += (double)w.class_weights[w.labels[r]];
    return block_sum(sum, room);
}

/* The row's loss over heads and classes, of this thread. */
__device__ static double target_part(const cuda_loss_work &w, const float *normaliser, size_t base, size_t label) {
    const size_t C = w.classes, K = w.heads * C;
    double loss = 0;
    for (size_t i = threadIdx.x; i < K; i += THREADS) {
        size_t h = i / C, c = i - h * C;
        double weight = w.weights ? w.weights[blockIdx.x * w.heads + h] : 1.0;
        loss -= weight * (double)target(w, c, label) * (double)(value(w, base + i) - normaliser[h]);
    }
    return loss;
}

__device__ static void put_target_gradient(const cuda_loss_work &w, const float *normaliser, size_t base, size_t label,
                                           float all, float over_rows) {
    const size_t C = w.classes, K = w.heads * C, width = w.twin && w.twin_row > K ? w.twin_row : K;
    const float over_heads = 1.0f / (float)w.heads;
    for (size_t i = threadIdx.x; i < width; i += THREADS) {
        float gradient = 0;
        if (i < K) {
            size_t h = i / C, c = i - h * C;
            float p = expf(value(w, base + i) - normaliser[h]);
            float factor = (w.weights ? w.weights[blockIdx.x * w.heads + h] : 1.0f) * over_heads;
            gradient = over_rows * factor * (p * all - target(w, c, label));
            w.dlogits[base + i] = gradient;
        }
        if (w.twin)
            ((__nv_bfloat16 *)w.twin)[blockIdx.x * w.twin_row + i] = __float2bfloat16(gradient);
    }
}

static __global__ void __launch_bounds__(THREADS) target_kernel(const __grid_constant__ cuda_loss_work w) {
    extern __shared__ float shared[]; /* normaliser[H], sums[C] */
    __shared__ float partial[THREADS];
    __shared__ double room[5 * WARPS];
    float *normaliser = shared, *sums = shared + w.heads, all = 0;
    const size_t row = blockIdx.x, C = w.classes, base = row * w.heads * C, label = (size_t)w.labels[row];
    normalisers(w, row, normaliser);
    __syncthreads();
    class_sums(w, row, normaliser, sums, partial);
    for (size_t c = 0; c < C; c++)
        all += target(w, c, label);
    const double rows = weight_of_rows(w, room + 3 * WARPS);
    const double loss = block_sum(target_part(w, normaliser, base, label), room);
    if (threadIdx.x == 0) {
        w.row_right[row] = largest(sums, C) == label;
        w.row_loss[row] = loss / (double)w.heads * (double)w.rows / rows;
    }
    if (w.dlogits)
        put_target_gradient(w, normaliser, base, label, all, (float)(1.0 / rows));
    leave(w, room);
}

extern "C" void vg_cuda__k_loss(cudaStream_t stream, const cuda_loss_work *w) {
    size_t shared = (w->heads + w->classes) * sizeof(float);
    size_t few = (w->heads * w->classes + 2 * w->heads + w->classes) * sizeof(float);
    if (w->targets)
        target_kernel<<<(unsigned)w->rows, THREADS, shared, stream>>>(*w);
    else if (w->classes <= FEW_CLASSES && few <= FEW_BYTES)
        few_kernel<<<(unsigned)w->rows, THREADS, few, stream>>>(*w);
    else
        loss_kernel<<<(unsigned)w->rows, THREADS, shared, stream>>>(*w);
}
