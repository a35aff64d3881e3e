/* optimiser.cu - AdamW, clipped gradients, stochastic gradient descent and the running mean of the parameters: four
 * floats per thread, one pass over memory each. Formulas: vg_step in backend.h. The sums of the norm have a fixed
 * order: the grid is fixed, a block adds its threads as a tree, and one block adds the blocks in order. */
#include <cuda_bf16.h>

#include "backend/cuda/optimiser.h"

enum { THREADS = 256, MOST_BLOCKS = 65536 };

static unsigned grid_of(size_t items) {
    size_t blocks = (items + THREADS - 1) / THREADS;
    return (unsigned)(blocks < 1 ? 1 : blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
}

#define FOR_EACH_FOUR(g, groups)                                                                                       \
    for (size_t g = (size_t)blockIdx.x * THREADS + threadIdx.x; g < groups; g += (size_t)gridDim.x * THREADS)

/* Reads four gradients: float32, or bfloat16 where they were computed in it. */
__device__ static inline void read_gradient(const cuda_adam_args &a, size_t g, float out[4]) {
    if (a.narrow && a.narrow[g / 4]) {
        uint2 both = ((const uint2 *)a.half)[g];
        float2 low = __bfloat1622float2(*reinterpret_cast<__nv_bfloat162 *>(&both.x));
        float2 high = __bfloat1622float2(*reinterpret_cast<__nv_bfloat162 *>(&both.y));
        out[0] = low.x, out[1] = low.y, out[2] = high.x, out[3] = high.y;
        return;
    }
    float4 G = ((const float4 *)a.grad)[g];
    out[0] = G.x, out[1] = G.y, out[2] = G.z, out[3] = G.w;
}

__device__ static inline void read_four(const float *from, size_t g, float out[4]) {
    float4 F = ((const float4 *)from)[g];
    out[0] = F.x, out[1] = F.y, out[2] = F.z, out[3] = F.w;
}

__device__ static inline void write_four(float *to, size_t g, const float v[4]) {
    ((float4 *)to)[g] = make_float4(v[0], v[1], v[2], v[3]);
}

/* theta, and its bfloat16 copy where there is one. */
__device__ static inline void write_theta(const cuda_adam_args &a, size_t g, const float t[4]) {
    write_four(a.theta, g, t);
    if (!a.twin)
        return;
    __nv_bfloat162 low = __floats2bfloat162_rn(t[0], t[1]), high = __floats2bfloat162_rn(t[2], t[3]);
    uint2 both;
    both.x = *reinterpret_cast<unsigned *>(&low);
    both.y = *reinterpret_cast<unsigned *>(&high);
    ((uint2 *)a.twin)[g] = both;
}

static __global__ void __launch_bounds__(THREADS)
    scaled_adam_kernel(const __grid_constant__ cuda_adam_args a, const float *scale, size_t groups) {
    const vg_step s = a.step->step;
    const float b1 = s.beta1, b2 = s.beta2, c1 = 1.0f / s.correction1, c2 = 1.0f / s.correction2;
    const float factor = scale ? *scale : 1.0f, shrink = s.decoupled ? 1.0f - s.rate * s.decay : 1.0f;
    const float decay = s.decoupled ? 0.0f : s.decay;
    FOR_EACH_FOUR(g, groups) {
        float t[4], d[4], p[4], q[4];
        read_four(a.theta, g, t);
        read_gradient(a, g, d);
        read_four(a.m, g, p);
        read_four(a.v, g, q);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            t[i] *= shrink;
            d[i] = factor * d[i] + decay * t[i];
            p[i] = b1 * p[i] + (1.0f - b1) * d[i];
            q[i] = b2 * q[i] + (1.0f - b2) * d[i] * d[i];
            t[i] -= s.rate * (p[i] * c1) / (sqrtf(q[i] * c2) + s.epsilon);
        }
        write_theta(a, g, t);
        write_four(a.m, g, p);
        write_four(a.v, g, q);
    }
}

static __global__ void __launch_bounds__(THREADS)
    sgd_kernel(const __grid_constant__ cuda_adam_args a, const float *scale, size_t groups) {
    const vg_step s = a.step->step;
    const float factor = scale ? *scale : 1.0f;
    FOR_EACH_FOUR(g, groups) {
        float t[4], d[4], p[4];
        read_four(a.theta, g, t);
        read_gradient(a, g, d);
        read_four(a.m, g, p);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            d[i] = factor * d[i] + s.decay * t[i];
            p[i] = s.inertia * p[i] + d[i];
            t[i] -= s.rate * (s.nesterov ? d[i] + s.inertia * p[i] : p[i]);
        }
        write_theta(a, g, t);
        write_four(a.m, g, p);
    }
}

/* The sum of one double per thread, in thread 0. */
__device__ static double add_block(double sum) {
    __shared__ double part[THREADS];
    part[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    return part[0];
}

static __global__ void __launch_bounds__(THREADS)
    squares_kernel(const __grid_constant__ cuda_adam_args a, double *partial, size_t groups) {
    double sum = 0;
    FOR_EACH_FOUR(g, groups) {
        float d[4];
        read_gradient(a, g, d);
        for (int i = 0; i < 4; i++)
            sum += (double)d[i] * d[i];
    }
    sum = add_block(sum);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

static __global__ void __launch_bounds__(THREADS) clip_kernel(const double *partial, float most, float *scale) {
    double sum = add_block(threadIdx.x < CUDA_CLIP_BLOCKS ? partial[threadIdx.x] : 0.0);
    if (threadIdx.x == 0) {
        double factor = (double)most / (sqrt(sum) + 1e-6);
        *scale = factor < 1.0 ? (float)factor : 1.0f;
    }
}

static __global__ void __launch_bounds__(THREADS)
    average_kernel(const cuda_step *step, float *mean, const float *theta, size_t groups) {
    const float share = step->step.average;
    FOR_EACH_FOUR(g, groups) {
        float a[4], t[4];
        read_four(mean, g, a);
        read_four(theta, g, t);
#pragma unroll
        for (int i = 0; i < 4; i++)
            a[i] += share * (t[i] - a[i]);
        write_four(mean, g, a);
    }
}

extern "C" {

void vg_cuda__k_scaled_adam(cudaStream_t stream, const cuda_adam_args *args, const float *scale) {
    size_t groups = args->count / 4;
    scaled_adam_kernel<<<grid_of(groups), THREADS, 0, stream>>>(*args, scale, groups);
}

void vg_cuda__k_sgd(cudaStream_t stream, const cuda_adam_args *args, const float *scale) {
    size_t groups = args->count / 4;
    sgd_kernel<<<grid_of(groups), THREADS, 0, stream>>>(*args, scale, groups);
}

void vg_cuda__k_clip(cudaStream_t stream, const cuda_adam_args *args, float most, double *partial, float *scale) {
    squares_kernel<<<CUDA_CLIP_BLOCKS, THREADS, 0, stream>>>(*args, partial, args->count / 4);
    clip_kernel<<<1, THREADS, 0, stream>>>(partial, most, scale);
}

void vg_cuda__k_block_average(cudaStream_t stream, const cuda_step *step, float *mean, const float *theta,
                              size_t count) {
    average_kernel<<<grid_of(count / 4), THREADS, 0, stream>>>(step, mean, theta, count / 4);
}

} /* extern "C" */
