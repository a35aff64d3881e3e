/* head_gate.cu - the gated loss of H softmax heads and its gradients, one block per row; the last block to finish sums
 * the rows, in order. Formulas: ref/ref_gate.c.
 *
 * Probabilities are not stored: each pass over a row's H x C logits computes them again from the heads' normalisers.
 * What is kept for a class or a head is double, in shared memory:
 *     k, mu, gamma, by_mean, by_spread, r  [C]     normaliser, inverse, share  [H] */
#include "backend/cuda/head_gate.h"
#include "backend/cuda/last_block.cuh"
#include "backend/cuda/vec.cuh"
#include "backend/gate.h"

#ifndef CUDA_DYNAMIC_SHARED /* a test without a GPU defines its own */
#define CUDA_DYNAMIC_SHARED(name) extern __shared__ __align__(1024) unsigned char name[]
#define CUDA_LAUNCH_SHARED(kernel, blocks, threads, bytes, stream, ...)                                                \
    kernel<<<(blocks), (threads), (bytes), (stream)>>>(__VA_ARGS__)
#endif

enum { THREADS = 256 };

/* gate.h's k, whose functions are the host's. */
__device__ static inline double softplus(double l) { return (l > 30 ? l : log1p(exp(l))) + 1e-8; }
__device__ static inline double k_of(double l) { return fmin(fmax(softplus(l), VG_GATE_LEAST), VG_GATE_MOST); }
__device__ static inline double slope_of(double l) {
    const double k = softplus(l);
    return k <= VG_GATE_LEAST || k >= VG_GATE_MOST ? 0 : 1 / (1 + exp(-l));
}

/* A row's arrays in shared memory. */
struct gate_row {
    size_t H, C, base, label;
    double *k, *mu, *gamma, *by_mean, *by_spread, *r; /* C; see cpu/cpu_gate.c */
    double *normaliser, *inverse, *share;             /* H */
    double *partial;                                  /* THREADS */
};

__device__ static inline float logit(const cuda_gate_work &w, size_t at) {
    return w.logits[at] + (w.addend ? w.addend[at] : 0.0f);
}

__device__ static inline double probability(const cuda_gate_work &w, const gate_row &g, size_t h, size_t c) {
    return exp((double)logit(w, g.base + h * g.C + c) - g.normaliser[h]);
}

/* out(c, sum over heads of term(h, c)) for every class, called by one thread per class. Where classes are few,
 * several threads share the heads of one; their sums are added in a fixed order. Ends with a barrier. */
template <typename Term, typename Out>
__device__ static void sum_heads(const gate_row &g, size_t classes, const Term &term, const Out &out) {
    const size_t side = classes < THREADS ? classes : (size_t)THREADS, parts = THREADS / side;
    for (size_t first = 0; first < classes; first += side) {
        const size_t c = first + threadIdx.x % side, part = threadIdx.x / side;
        double sum = 0;
        if (part < parts && c < classes)
            for (size_t h = part; h < g.H; h += parts)
                sum += term(h, c);
        g.partial[threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.x < side && c < classes) {
            for (size_t p = 1; p < parts; p++)
                sum += g.partial[p * side + threadIdx.x];
            out(c, sum);
        }
        __syncthreads();
    }
}

__device__ static void normalise(const cuda_gate_work &w, const gate_row &g) {
    for (size_t h = threadIdx.x; h < g.H; h += THREADS) {
        float top = -INFINITY;
        double sum = 0;
        for (size_t c = 0; c < g.C; c++)
            top = fmaxf(top, logit(w, g.base + h * g.C + c));
        for (size_t c = 0; c < g.C; c++)
            sum += exp((double)logit(w, g.base + h * g.C + c) - top);
        g.normaliser[h] = top + log(sum);
    }
    for (size_t c = threadIdx.x; c < g.C; c += THREADS)
        g.k[c] = k_of(w.l[c]);
    __syncthreads();
}

__device__ static void gate(const cuda_gate_work &w, const gate_row &g) {
    const double over_heads = 1 / (double)g.H;
    sum_heads(
        g, g.C, [&](size_t h, size_t c) { return probability(w, g, h, c); },
        [&](size_t c, double sum) { g.mu[c] = sum * over_heads; });
    sum_heads(
        g, g.C,
        [&](size_t h, size_t c) {
            const double away = probability(w, g, h, c) - g.mu[c];
            return away * away;
        },
        [&](size_t c, double sum) {
            const double sigma = sqrt(sum * over_heads), s = sigma + VG_GATE_EPSILON, t = g.mu[c] / (g.k[c] * s);
            const double open = -expm1(-t);
            const bool low = open < VG_GATE_FLOOR;
            g.gamma[c] = low ? VG_GATE_FLOOR : open;
            g.by_mean[c] = low ? 0 : exp(-t) / (g.k[c] * s);
            g.by_spread[c] = sigma > 0 ? -g.by_mean[c] * g.mu[c] / s / sigma : 0;
        });
}

/* Z of every head, and the mean of the gated heads into g.r. */
__device__ static void weigh_heads(const cuda_gate_work &w, const gate_row &g) {
    for (size_t h = threadIdx.x; h < g.H; h += THREADS) {
        double z = 0;
        for (size_t c = 0; c < g.C; c++)
            z += probability(w, g, h, c) * g.gamma[c];
        g.inverse[h] = z > VG_GATE_FLOOR ? 1 / z : 0;
    }
    __syncthreads();
    sum_heads(
        g, g.C,
        [&](size_t h, size_t c) {
            const double p = probability(w, g, h, c);
            return g.inverse[h] > 0 ? p * g.gamma[c] * g.inverse[h] : p;
        },
        [&](size_t c, double sum) { g.r[c] = sum / (double)g.H; });
}

/* Computes R and the row's part of the gradient of k, and applies R to the coefficients; u is dL/dQ of the label. */
__device__ static void weigh_classes(const cuda_gate_work &w, const gate_row &g, double u) {
    for (size_t h = threadIdx.x; h < g.H; h += THREADS)
        g.share[h] = u * probability(w, g, h, g.label) * g.gamma[g.label] * g.inverse[h] * g.inverse[h];
    __syncthreads();
    sum_heads(
        g, g.C,
        [&](size_t h, size_t c) {
            return probability(w, g, h, c) * ((c == g.label ? u * g.inverse[h] : 0) - g.share[h]);
        },
        [&](size_t c, double sum) {
            w.row_dk[blockIdx.x * g.C + c] = -sum * g.by_mean[c] * g.mu[c] / g.k[c];
            g.by_mean[c] *= sum / (double)g.H;
            g.by_spread[c] *= sum / (double)g.H;
        });
}

__device__ static inline double to_probability(const gate_row &g, size_t h, size_t c, double p, double u) {
    const bool gated = g.inverse[h] > 0;
    return g.by_mean[c] + g.by_spread[c] * (p - g.mu[c]) - g.gamma[c] * g.share[h] +
           (c != g.label ? 0
            : gated      ? u * g.gamma[c] * g.inverse[h]
                         : u);
}

__device__ static void to_logits(const cuda_gate_work &w, const gate_row &g, double u) {
    for (size_t h = threadIdx.x; h < g.H; h += THREADS) {
        double all = 0;
        for (size_t c = 0; c < g.C; c++) {
            const double p = probability(w, g, h, c);
            all += p * to_probability(g, h, c, p, u);
        }
        for (size_t c = 0; c < g.C; c++) {
            const double p = probability(w, g, h, c);
            w.dlogits[g.base + h * g.C + c] = (float)(p * (to_probability(g, h, c, p, u) - all) / (double)w.rows);
        }
    }
}

/* Of the last block: totals of all rows, and the gradient of l. */
__device__ static void add_up(const cuda_gate_work &w, const gate_row &g) {
    for (size_t c = threadIdx.x; w.dlogits && c < g.C; c += THREADS) {
        double sum = 0;
        for (size_t r = 0; r < w.rows; r++)
            sum += __ldcg(w.row_dk + r * g.C + c);
        w.dl[c] = (float)(sum * slope_of(w.l[c]) / (double)w.rows);
    }
    if (threadIdx.x != 0)
        return;
    double loss = 0, right = 0;
    for (size_t r = 0; r < w.rows; r++) {
        loss += __ldcg(w.row_loss + r);
        right += __ldcg(w.row_right + r);
    }
    w.totals->loss += loss;
    w.totals->rows += w.rows;
    w.totals->correct += (unsigned long long)right;
    if (!isfinite(loss) && w.totals->bad_step < 0)
        w.totals->bad_step = w.step->step.number;
    *w.counter = 0;
}

static __global__ void __launch_bounds__(THREADS) gate_kernel(const __grid_constant__ cuda_gate_work w) {
    CUDA_DYNAMIC_SHARED(shared);
    __shared__ double partial[THREADS];
    double *at = (double *)shared;
    const size_t H = w.heads, C = w.classes;
    const gate_row g = {H,
                        C,
                        blockIdx.x * H * C,
                        (size_t)w.labels[blockIdx.x],
                        at,
                        at + C,
                        at + 2 * C,
                        at + 3 * C,
                        at + 4 * C,
                        at + 5 * C,
                        at + 6 * C,
                        at + 6 * C + H,
                        at + 6 * C + 2 * H,
                        partial};
    normalise(w, g);
    gate(w, g);
    weigh_heads(w, g);
    const double own = g.r[g.label], u = own > VG_GATE_FLOOR ? -1 / ((double)H * own) : 0;
    if (threadIdx.x == 0) {
        size_t best = 0;
        for (size_t c = 1; c < C; c++)
            best = g.r[c] > g.r[best] ? c : best;
        w.row_right[blockIdx.x] = best == g.label;
        w.row_loss[blockIdx.x] = own != own ? own : -log(fmax(own, VG_GATE_FLOOR));
    }
    if (w.dlogits) {
        weigh_classes(w, g, u);
        to_logits(w, g, u);
    }
    if (is_last_block(w.counter))
        add_up(w, g);
}

extern "C" void vg_cuda__k_gated_loss(cudaStream_t stream, const cuda_gate_work *w) {
    CUDA_LAUNCH_SHARED(gate_kernel, (unsigned)w->rows, THREADS, cuda_gate_room(w->heads, w->classes) * sizeof(double),
                       stream, *w);
}
