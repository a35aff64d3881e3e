/* loss.cu - cross-entropy of H softmax heads and its gradient, one block a row; the last block to finish adds the rows up, in
 * order. Formulas: ref/ref_heads.c. */
#include <cuda_bf16.h>

#include "backend/cuda/loss.h"

enum { THREADS = 256, WARPS = THREADS / 32, FEW_CLASSES = 32 };

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

/* Sum over heads of p(c): classes side by side, the heads dealt to `parts` groups of threads when classes are few. */
__device__ static void class_sums(const cuda_loss_work &w, size_t row, const float *normaliser, float *sums, float *partial) {
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

/* Sum of one double a thread, in a fixed order; the result in thread 0. */
__device__ static double block_sum(double x, double *room) {
    room[threadIdx.x] = x;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half)
            room[threadIdx.x] += room[threadIdx.x + half];
    }
    __syncthreads();
    return room[0];
}

__device__ static void add_up(const cuda_loss_work &w, double *room) {
    double loss = 0, right = 0;
    for (size_t r = threadIdx.x; r < w.rows; r += THREADS) {
        loss += __ldcg(w.row_loss + r);
        right += __ldcg(w.row_right + r);
    }
    loss = block_sum(loss, room);
    __syncthreads();
    right = block_sum(right, room);
    if (threadIdx.x == 0) {
        w.totals->loss += loss;
        w.totals->rows += w.rows;
        w.totals->correct += (unsigned long long)right;
        if (!isfinite(loss) && w.totals->bad_step < 0)
            w.totals->bad_step = w.step->step.number;
        *w.counter = 0;
    }
}

static __global__ void __launch_bounds__(THREADS) loss_kernel(cuda_loss_work w) {
    extern __shared__ float shared[]; /* normaliser[H], sums[C] */
    __shared__ float partial[THREADS];
    __shared__ double room[THREADS];
    __shared__ bool last;
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
        size_t best = 0;
        for (size_t c = 1; c < C; c++)
            if (sums[c] > sums[best])
                best = c;
        w.row_right[row] = best == label;
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
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(w.counter, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last) {
        __threadfence();
        add_up(w, room);
    }
}

extern "C" void vg_cuda__k_loss(cudaStream_t stream, const cuda_loss_work *w) {
    size_t shared = (w->heads + w->classes) * sizeof(float);
    loss_kernel<<<(unsigned)w->rows, THREADS, shared, stream>>>(*w);
}
