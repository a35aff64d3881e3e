/* store.cu - a batch from resident data: crop, flip, colour jitter, normalisation, erasing, one block per image. For
 * the same draws it gives the same images as the loader on the CPU (src/data/augment.c, jitter.c). */
#include <cuda_bf16.h>

#include "backend/cuda/cuda_store.h"

enum { THREADS = 256 };

struct store_view {
    const void *pixels;
    const int32_t *labels;
    const vg_sample_draw *plan;
    int c, h, w;
    bool is_float;
    float mean[CUDA_STORE_CHANNELS], scale[CUDA_STORE_CHANNELS];
};

__device__ static inline int reflect(int at, int size) {
    at = at < 0 ? -at : at;
    return at >= size ? 2 * (size - 1) - at : at;
}

__device__ static inline float clamp01(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }

__device__ static inline float grey(const float *image, int pixels, int p) {
    return 0.2989f * image[p] + 0.587f * image[pixels + p] + 0.114f * image[2 * pixels + p];
}

__device__ static float mean_level(const float *image, int channels, int pixels) {
    __shared__ double room[THREADS];
    double sum = 0;
    for (int p = threadIdx.x; p < pixels; p += THREADS)
        sum += channels == 3 ? grey(image, pixels, p) : image[p];
    room[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half)
            room[threadIdx.x] += room[threadIdx.x + half];
    }
    __syncthreads();
    float mean = (float)(room[0] / pixels);
    __syncthreads();
    return mean;
}

__device__ static inline float channel_of(float high, float range, float transposed, float n) {
    float k = transposed + n;
    k = k >= 6.0f ? k - 6.0f : k;
    return high - range * clamp01(fminf(k, 4.0f - k));
}

__device__ static void hue(float *image, int pixels, float sixths) {
    for (int p = threadIdx.x; p < pixels; p += THREADS) {
        float r = image[p], g = image[pixels + p], b = image[2 * pixels + p];
        float high = fmaxf(fmaxf(r, g), b), low = fminf(fminf(r, g), b), range = high - low;
        float over = 1.0f / (range > 0.0f ? range : 1.0f);
        float h = high == r ? (g - b) * over : high == g ? 2.0f + (b - r) * over : 4.0f + (r - g) * over;
        float transposed = h + sixths;
        transposed = transposed < 0.0f ? transposed + 6.0f : transposed;
        transposed = transposed >= 6.0f ? transposed - 6.0f : transposed;
        image[p] = channel_of(high, range, transposed, 5.0f);
        image[pixels + p] = channel_of(high, range, transposed, 3.0f);
        image[2 * pixels + p] = channel_of(high, range, transposed, 1.0f);
    }
}

__device__ static void jitter(float *image, int channels, int pixels, const vg_sample_draw &s) {
    for (int i = 0; i < 4; i++) {
        int what = s.order >> (2 * i) & 3;
        if (!(s.jitter >> what & 1))
            continue;
        float f = s.factor[what];
        __syncthreads();
        if (what == 0) {
            for (int k = threadIdx.x; k < channels * pixels; k += THREADS)
                image[k] = clamp01(f * image[k]);
        } else if (what == 1) {
            float level = mean_level(image, channels, pixels);
            for (int k = threadIdx.x; k < channels * pixels; k += THREADS)
                image[k] = clamp01(f * image[k] + (1.0f - f) * level);
        } else if (what == 2 && channels == 3) {
            for (int p = threadIdx.x; p < pixels; p += THREADS) {
                float level = grey(image, pixels, p);
                for (int c = 0; c < 3; c++)
                    image[c * pixels + p] = clamp01(f * image[c * pixels + p] + (1.0f - f) * level);
            }
        } else if (what == 3 && channels == 3) {
            hue(image, pixels, 6.0f * f);
        }
    }
    __syncthreads();
}

template <typename T> struct alignas(sizeof(T) * 8) pack { T v[8]; };
__device__ static inline void put(float &to, float x) { to = x; }
__device__ static inline void put(__nv_bfloat16 &to, float x) { to = __float2bfloat16(x); }

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    batch_kernel(T *images, int32_t *labels, store_view v, const cuda_step *step, int channels) {
    extern __shared__ float image[];
    const vg_sample_draw s = v.plan[step->step.batch + blockIdx.x];
    int pixels = v.h * v.w, size = v.c * pixels;
    size_t base = (size_t)s.index * size;
    if (threadIdx.x == 0)
        labels[blockIdx.x] = v.labels[s.index];
    for (int i = threadIdx.x; i < size; i += THREADS) {
        int c = i / pixels, p = i - c * pixels, y = p / v.w, x = p - y * v.w;
        int from = (c * v.h + reflect(y + s.dy, v.h)) * v.w + reflect((s.flip ? v.w - 1 - x : x) + s.dx, v.w);
        image[i] = v.is_float ? ((const float *)v.pixels)[base + from]
                              : (float)((const uint8_t *)v.pixels)[base + from] / 255.0f;
    }
    if (s.jitter)
        jitter(image, v.c, pixels, s);
    else
        __syncthreads();
    T *out = images + (size_t)blockIdx.x * pixels * channels;
    int groups = channels / 8;
    for (int i = threadIdx.x; i < pixels * groups; i += THREADS) {
        int p = i / groups, first = (i - p * groups) * 8, y = p / v.w, x = p - y * v.w;
        bool gone = s.erase && y >= s.top && y < s.top + s.height && x >= s.left && x < s.left + s.width;
        pack<T> e;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            int c = first + k;
            put(e.v[k], c < v.c && !gone ? (image[c * pixels + p] - v.mean[c]) * v.scale[c] : 0.0f);
        }
        *reinterpret_cast<pack<T> *>(out + (size_t)p * channels + first) = e;
    }
}

extern "C" void vg_cuda__k_store_batch(cudaStream_t stream, bool bf16, void *images, int32_t *labels,
                                       const struct vg_store *store, const cuda_step *step, size_t rows,
                                       size_t channels) {
    store_view v = {
        store->pixels,   store->labels, store->plan, (int)store->shape.c, (int)store->shape.h, (int)store->shape.w,
        store->is_float, {0},           {0}};
    for (int c = 0; c < CUDA_STORE_CHANNELS; c++) {
        v.mean[c] = store->mean[c];
        v.scale[c] = store->scale[c];
    }
    size_t shared = vg_shape__size(store->shape) * sizeof(float);
    if (bf16)
        batch_kernel<__nv_bfloat16>
            <<<(unsigned)rows, THREADS, shared, stream>>>((__nv_bfloat16 *)images, labels, v, step, (int)channels);
    else
        batch_kernel<float>
            <<<(unsigned)rows, THREADS, shared, stream>>>((float *)images, labels, v, step, (int)channels);
}
