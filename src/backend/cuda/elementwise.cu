/* elementwise.cu - conversions, sums, layouts, Adam: one pass over memory each. */
#include <cuda_bf16.h>

#include "backend/cuda/elementwise.h"

typedef __nv_bfloat16 bf16;

enum { THREADS = 256 };

static unsigned grid_for(size_t items) {
    size_t blocks = (items + THREADS - 1) / THREADS, most = 132 * 16;
    return (unsigned)(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

struct alignas(16) eight {
    bf16 v[8];
};

__device__ static inline void load8(float *out, const bf16 *in) {
    eight e = *reinterpret_cast<const eight *>(in);
#pragma unroll
    for (int i = 0; i < 8; i++)
        out[i] = __bfloat162float(e.v[i]);
}
__device__ static inline void load8(float *out, const float *in) {
    float4 a = reinterpret_cast<const float4 *>(in)[0], b = reinterpret_cast<const float4 *>(in)[1];
    out[0] = a.x, out[1] = a.y, out[2] = a.z, out[3] = a.w, out[4] = b.x, out[5] = b.y, out[6] = b.z, out[7] = b.w;
}
__device__ static inline void store8(bf16 *out, const float *in) {
    eight e;
#pragma unroll
    for (int i = 0; i < 8; i++)
        e.v[i] = __float2bfloat16(in[i]);
    *reinterpret_cast<eight *>(out) = e;
}
__device__ static inline void store8(float *out, const float *in) {
    reinterpret_cast<float4 *>(out)[0] = make_float4(in[0], in[1], in[2], in[3]);
    reinterpret_cast<float4 *>(out)[1] = make_float4(in[4], in[5], in[6], in[7]);
}

#define FOR_EACH(i, count)                                                                                             \
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (count); i += (size_t)gridDim.x * blockDim.x)

template <typename T> static __global__ void add_kernel(T *y, const T *a, const T *b, size_t groups) {
    FOR_EACH(g, groups) {
        float p[8], q[8];
        load8(p, a + 8 * g);
        load8(q, b + 8 * g);
#pragma unroll
        for (int i = 0; i < 8; i++)
            p[i] += q[i];
        store8(y + 8 * g, p);
    }
}

template <typename TO, typename FROM> static __global__ void convert_kernel(TO *out, const FROM *in, size_t groups) {
    FOR_EACH(g, groups) {
        float p[8];
        load8(p, in + 8 * g);
        store8(out + 8 * g, p);
    }
}

static __global__ void narrow_rows_kernel(bf16 *out, const float *in, size_t rows, size_t row, size_t twin_row) {
    FOR_EACH(i, rows * twin_row) {
        size_t r = i / twin_row, c = i % twin_row;
        out[i] = __float2bfloat16(c < row ? in[r * row + c] : 0.0f);
    }
}

template <typename T> __device__ static inline T to_type(float x);
template <> __device__ inline float to_type<float>(float x) { return x; }
template <> __device__ inline bf16 to_type<bf16>(float x) { return __float2bfloat16(x); }
__device__ static inline float to_float(float x) { return x; }
__device__ static inline float to_float(bf16 x) { return __bfloat162float(x); }

template <typename T>
static __global__ void to_activation_kernel(T *out, const float *in, size_t n, size_t c, size_t pixels,
                                            size_t channels) {
    FOR_EACH(i, n * pixels * channels) {
        size_t k = i % channels, p = i / channels % pixels, row = i / (channels * pixels);
        out[i] = to_type<T>(k < c ? in[(row * c + k) * pixels + p] : 0.0f);
    }
}

template <typename T>
static __global__ void from_activation_kernel(float *out, const T *in, size_t n, size_t c, size_t pixels,
                                              size_t channels) {
    FOR_EACH(i, n * pixels * c) {
        size_t p = i % pixels, k = i / pixels % c, row = i / (pixels * c);
        out[i] = to_float(in[(row * pixels + p) * channels + k]);
    }
}

static __global__ void bias_kernel(float *y, const float *bias, size_t rows, size_t columns) {
    FOR_EACH(i, rows * columns) y[i] += bias[i % columns];
}

/* One column for each threadIdx.x; the rows are distributed over threadIdx.y, whose sums are added in order. */
enum { SUM_X = 32, SUM_Y = 16 };
template <typename T>
static __global__ void column_sums_kernel(float *out, const T *in, size_t rows, size_t columns, size_t pitch) {
    __shared__ float part[SUM_Y][SUM_X];
    size_t column = blockIdx.x * (size_t)SUM_X + threadIdx.x;
    float sum = 0;
    if (column < columns)
        for (size_t r = threadIdx.y; r < rows; r += SUM_Y)
            sum += to_float(in[r * pitch + column]);
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < columns) {
        for (int i = 1; i < SUM_Y; i++)
            sum += part[i][threadIdx.x];
        out[column] = sum;
    }
}

static __global__ void multiply_kernel(float *a, const float *b, size_t count) { FOR_EACH(i, count) a[i] *= b[i]; }

enum { ANCHOR_BLOCKS = 128 };
static __global__ void anchor_kernel(float *grad, const float *theta, const float *start, size_t count, float scale,
                                     double *partial) {
    __shared__ double part[THREADS];
    double sum = 0;
    FOR_EACH(i, count) {
        float d = theta[i] - start[i];
        grad[i] += 2.0f * scale * d;
        sum += (double)d * d;
    }
    part[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0 && partial)
        partial[blockIdx.x] = part[0];
}

/* One value of one member per thread. */
static __global__ void members_kernel(float *out, const float *z, const float *prior, vg_member_rows m, size_t n,
                                      size_t M) {
    size_t C = m.classes, K = m.heads * C, taken = m.paired ? 1 : m.taken, values = taken * C;
    FOR_EACH(i, n * values) {
        size_t r = i / values, rest = i - r * values, g = rest / C, c = rest - g * C;
        size_t image = (size_t)((m.at + r) / m.passes), pass = (size_t)((m.at + r) % m.passes);
        size_t head = m.paired ? pass : g, member = pass * taken + g;
        out[(image * M + member) * C + c] = z[r * K + head * C + c] + (prior ? prior[image * K + head * C + c] : 0.0f);
    }
}

static __global__ void step_kernel(cuda_step *place, cuda_step value) { *place = value; }

/* 28 to 30 bytes per element: gradient, parameter and moments read, the last three and the twin written. */
static __global__ void __launch_bounds__(THREADS)
    adam_kernel(const cuda_step *step, float4 *theta, const float4 *grad, const uint2 *half,
                const unsigned char *narrow, float4 *m, float4 *v, uint2 *twin, size_t groups) {
    const vg_step s = step->step;
    float b1 = s.beta1, b2 = s.beta2, c1 = 1.0f / s.correction1, c2 = 1.0f / s.correction2;
    FOR_EACH(g, groups) {
        /* These are not needed before the next step, so the second-level cache should keep gradients, twin and
         * activations instead. */
        float4 T = __ldcs(theta + g), M = __ldcs(m + g), V = __ldcs(v + g), G;
        if (narrow && narrow[g / 4]) {
            uint2 both = half[g];
            float2 low = __bfloat1622float2(*reinterpret_cast<__nv_bfloat162 *>(&both.x));
            float2 high = __bfloat1622float2(*reinterpret_cast<__nv_bfloat162 *>(&both.y));
            G = make_float4(low.x, low.y, high.x, high.y);
        } else {
            G = grad[g];
        }
        float t[4] = {T.x, T.y, T.z, T.w}, d[4] = {G.x, G.y, G.z, G.w}, p[4] = {M.x, M.y, M.z, M.w},
              q[4] = {V.x, V.y, V.z, V.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            d[i] += s.decay * t[i];
            p[i] = b1 * p[i] + (1.0f - b1) * d[i];
            q[i] = b2 * q[i] + (1.0f - b2) * d[i] * d[i];
            t[i] -= s.rate * (p[i] * c1) / (sqrtf(q[i] * c2) + s.epsilon);
        }
        __stcs(theta + g, make_float4(t[0], t[1], t[2], t[3]));
        __stcs(m + g, make_float4(p[0], p[1], p[2], p[3]));
        __stcs(v + g, make_float4(q[0], q[1], q[2], q[3]));
        if (twin) {
            __nv_bfloat162 low = __floats2bfloat162_rn(t[0], t[1]), high = __floats2bfloat162_rn(t[2], t[3]);
            uint2 both;
            both.x = *reinterpret_cast<unsigned *>(&low);
            both.y = *reinterpret_cast<unsigned *>(&high);
            twin[g] = both;
        }
    }
}

/* --- launchers */

extern "C" {

void vg_cuda__k_add(cudaStream_t stream, bool half, void *y, const void *a, const void *b, size_t count) {
    if (half)
        add_kernel<bf16>
            <<<grid_for(count / 8), THREADS, 0, stream>>>((bf16 *)y, (const bf16 *)a, (const bf16 *)b, count / 8);
    else
        add_kernel<float>
            <<<grid_for(count / 8), THREADS, 0, stream>>>((float *)y, (const float *)a, (const float *)b, count / 8);
}

void vg_cuda__k_widen(cudaStream_t stream, float *out, const void *in, size_t count) {
    convert_kernel<float, bf16><<<grid_for(count / 8), THREADS, 0, stream>>>(out, (const bf16 *)in, count / 8);
}

void vg_cuda__k_narrow(cudaStream_t stream, void *out, const float *in, size_t count) {
    convert_kernel<bf16, float><<<grid_for(count / 8), THREADS, 0, stream>>>((bf16 *)out, in, count / 8);
}

void vg_cuda__k_narrow_rows(cudaStream_t stream, void *out, const float *in, size_t rows, size_t row, size_t twin_row) {
    narrow_rows_kernel<<<grid_for(rows * twin_row), THREADS, 0, stream>>>((bf16 *)out, in, rows, row, twin_row);
}

void vg_cuda__k_to_activation(cudaStream_t stream, bool half, void *out, const float *in, size_t n, vg_shape s,
                              size_t channels) {
    size_t pixels = s.h * s.w, items = n * pixels * channels;
    if (half)
        to_activation_kernel<bf16><<<grid_for(items), THREADS, 0, stream>>>((bf16 *)out, in, n, s.c, pixels, channels);
    else
        to_activation_kernel<float>
            <<<grid_for(items), THREADS, 0, stream>>>((float *)out, in, n, s.c, pixels, channels);
}

void vg_cuda__k_from_activation(cudaStream_t stream, bool half, float *out, const void *in, size_t n, vg_shape s,
                                size_t channels) {
    size_t pixels = s.h * s.w, items = n * pixels * s.c;
    if (half)
        from_activation_kernel<bf16>
            <<<grid_for(items), THREADS, 0, stream>>>(out, (const bf16 *)in, n, s.c, pixels, channels);
    else
        from_activation_kernel<float>
            <<<grid_for(items), THREADS, 0, stream>>>(out, (const float *)in, n, s.c, pixels, channels);
}

void vg_cuda__k_bias(cudaStream_t stream, float *y, const float *bias, size_t rows, size_t columns) {
    bias_kernel<<<grid_for(rows * columns), THREADS, 0, stream>>>(y, bias, rows, columns);
}

void vg_cuda__k_column_sums(cudaStream_t stream, bool half, float *out, const void *in, size_t rows, size_t columns,
                            size_t pitch) {
    dim3 threads(SUM_X, SUM_Y);
    unsigned blocks = (unsigned)((columns + SUM_X - 1) / SUM_X);
    if (half)
        column_sums_kernel<bf16><<<blocks, threads, 0, stream>>>(out, (const bf16 *)in, rows, columns, pitch);
    else
        column_sums_kernel<float><<<blocks, threads, 0, stream>>>(out, (const float *)in, rows, columns, pitch);
}

void vg_cuda__k_multiply(cudaStream_t stream, float *a, const float *b, size_t count) {
    multiply_kernel<<<grid_for(count), THREADS, 0, stream>>>(a, b, count);
}

int vg_cuda__k_anchor(cudaStream_t stream, float *grad, const float *theta, const float *start, size_t count,
                      float scale, double *partial) {
    anchor_kernel<<<ANCHOR_BLOCKS, THREADS, 0, stream>>>(grad, theta, start, count, scale, partial);
    return ANCHOR_BLOCKS;
}

void vg_cuda__k_members(cudaStream_t stream, float *out, const float *z, const float *prior, vg_member_rows rows,
                        size_t n, size_t M) {
    size_t items = n * (rows.paired ? 1 : rows.taken) * rows.classes;
    members_kernel<<<grid_for(items), THREADS, 0, stream>>>(out, z, prior, rows, n, M);
}

void vg_cuda__k_step(cudaStream_t stream, cuda_step *place, cuda_step value) {
    step_kernel<<<1, 1, 0, stream>>>(place, value);
}

void vg_cuda__k_adam(cudaStream_t stream, const cuda_adam_args *args) {
    adam_kernel<<<grid_for(args->count / 4), THREADS, 0, stream>>>(
        args->step, (float4 *)args->theta, (const float4 *)args->grad, (const uint2 *)args->half, args->narrow,
        (float4 *)args->m, (float4 *)args->v, (uint2 *)args->twin, args->count / 4);
}

} /* extern "C" */
