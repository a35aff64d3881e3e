/* conv_pooling.cu - a 5 x 5 convolution of images with one channel together with the bias, 2 x 2 max-pool, ReLU and
 * dropout after it, and the gradients of its weights and bias; bfloat16 images, weights and results, sums in float32.
 *
 *     y = keep * relu(max over the window of conv(x) + bias)
 *     d = scale * dy where an element of the window was chosen
 *     dw[o][tap] = sum over images and windows of d * x at (chosen + tap)
 *
 * The convolution's own result is never in memory: forward takes the largest of a window's four sums where they are, in
 * one thread, and backward places dy at the chosen one of four positions as it loads the operands. One block per
 * image, which lies in shared memory twice, the second time moved by a pixel, so that any two neighbours are one word.
 *
 * Forward. A warp's product has the taps along k, six per row of the kernel with a zero after the fifth (30 of 32), and
 * 16 positions by 32 channels: rows g and g + 8 are the left and the right position of window g, the first product has
 * the upper two, the second the lower two. Channel 8 t + 2 j + e is column 2 t + e of tile j, so that a thread ends
 * with eight neighbouring channels of one window.
 *
 * Backward. Positions lie along k: 4 * window + number in the window. Channel 8 g + 2 i + e of 64 is row g + 8 e of
 * tile i, so that a thread reads eight neighbouring channels of dy. Columns are taps; column 25 is ones: the bias's
 * gradient. */
#include "backend/cuda/conv_pooling/conv_pooling.h"
#include "backend/cuda/conv_pooling/window.cuh"

enum {
    FORWARD_WARPS = 12,
    SPLITS = 4,     /* backward: warps that share an image's windows */
    BACK_PART = 64, /* its channels per warp */
    AHEAD = 3,      /* steps of four windows whose dy a warp loads at once */
    SUM_WARPS = 8,
    TAPS = 25,
    ACROSS = 5
};

/* Row by row with zeros after each row and one row of them below; the second copy begins with the second pixel. */
__device__ __forceinline__ void fetch(uint32_t (&image)[2][CONV_POOLING_WORDS], const cuda_conv_pooling_args &args,
                                      uint32_t row) {
    uint16_t *copy = (uint16_t *)image[0], *moved = (uint16_t *)image[1];
    const bf16 *from = (const bf16 *)args.images + (size_t)row * args.height * args.width * CUDA_PAD;
    const uint32_t count = (args.height + 1) * args.pitch.divisor;
    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
        const uint32_t y = cuda_divide(i, args.pitch), x = i - y * args.pitch.divisor;
        const bool inside = y < args.height && x < args.width;
        const uint16_t pixel = inside ? from[(size_t)(y * args.width + x) * CUDA_PAD].bits : (uint16_t)0;
        copy[i] = pixel;
        if (i > 0)
            moved[i - 1] = pixel;
        if (i + 1 == count)
            moved[i] = 0;
    }
}

/* Where the upper left position of a window lies in `image`, in words; a window past the last one counts as the
 * last. */
__device__ __forceinline__ uint32_t corner(const cuda_conv_pooling_args &args, uint32_t window) {
    const uint32_t at = window < args.windows ? window : args.windows - 1;
    const uint32_t p = cuda_divide(at, args.out_width), q = at - p * args.out_width.divisor;
    return p * args.pitch.divisor + q;
}

/* --- forward */

/* The weights of one column: taps 2 c and 2 c + 1 of row r of the kernel, where pair = 3 r + c. */
__device__ __forceinline__ uint32_t two_taps(const bf16 *weights, uint32_t channel, uint32_t pair) {
    const uint32_t r = pair / 3, s = pair % 3 * 2;
    const bf16 *row = weights + channel * CONV_POOLING_TAPS + r * ACROSS + s;
    const uint32_t low = r < ACROSS ? row[0].bits : 0, high = r < ACROSS && s + 1 < ACROSS ? row[1].bits : 0;
    return low | high << 16;
}

template <int MASK>
__global__ void __launch_bounds__(FORWARD_WARPS * 32)
    conv_pooling_forward(const __grid_constant__ cuda_conv_pooling_args args) {
    __shared__ uint32_t image[2][CONV_POOLING_WORDS];
    const uint32_t warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, row = blockIdx.x;
    const uint32_t parts = args.channels / 32, part = warp % parts, splits = blockDim.x / 32 / parts,
                   group = part * 4 + t;
    const uint32_t line = args.pitch.divisor / 2;
    uint32_t b[4][2][2], offset[4];
    float bias[8] = {};
    fetch(image, args, row);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const uint32_t pair = 4 * k + t;
        offset[k] = pair / 3 * line + pair % 3;
#pragma unroll
        for (int j = 0; j < 4; j++)
            b[j][k / 2][k % 2] = two_taps((const bf16 *)args.weights, part * 32 + g / 2 * 8 + 2 * j + g % 2, pair);
    }
    if (args.bias)
        load8(bias, args.bias + group * 8);
    const cuda_draw draw = draw_of<MASK>(args.mask);
    __syncthreads();
    for (uint32_t first = warp / parts * 8; first < args.windows; first += splits * 8) {
        const uint32_t base = corner(args, first + g);
        float sums[2][4][4] = {};
#pragma unroll
        for (int below = 0; below < 2; below++)
#pragma unroll
            for (int k = 0; k < 2; k++) {
                const uint32_t at = base + below * line;
                const uint32_t a[4] = {image[0][at + offset[2 * k]], image[1][at + offset[2 * k]],
                                       image[0][at + offset[2 * k + 1]], image[1][at + offset[2 * k + 1]]};
#pragma unroll
                for (int j = 0; j < 4; j++)
                    multiply_add(sums[below][j], a, b[j][k]);
            }
        if (first + g < args.windows)
            finish_window<MASK>(args, draw, sums, bias, row, first + g, group);
    }
}

/* --- backward */

/* Eight channels of dy at one window, and which element each chose. */
struct spot {
    uint4 dy;
    uint32_t choice;
};

__device__ __forceinline__ spot spot_at(const cuda_conv_pooling_args &args, uint32_t row, uint32_t window,
                                        uint32_t group) {
    spot s = {make_uint4(0, 0, 0, 0), 0xFFFFFFFFu};
    if (window < args.windows) {
        const size_t vector = ((size_t)row * args.windows + window) * (args.channels / 8) + group;
        s.dy = ((const uint4 *)args.dy)[vector];
        s.choice = ((const uint32_t *)args.choice)[vector];
    }
    return s;
}

/* Channel c of a spot as the left and the right position of the window's upper (first = 0) or lower (2) line see it. */
__device__ __forceinline__ uint32_t spread(uint32_t word, uint32_t choice, int c, uint32_t first) {
    const uint32_t d = c % 2 ? word >> 16 : word & 0xFFFFu, chosen = choice >> (4 * c) & 15u;
    return chosen == first ? d : chosen == first + 1 ? d << 16 : 0u;
}

/* Four windows: two spots of this thread, of windows t / 2 and 2 + t / 2 of the four. */
__device__ __forceinline__ void add_windows(float (&sums)[4][4][4], const spot (&s)[2], const uint32_t (&b)[4][2],
                                            uint32_t first) {
    const uint32_t upper[4] = {s[0].dy.x, s[0].dy.y, s[0].dy.z, s[0].dy.w};
    const uint32_t lower[4] = {s[1].dy.x, s[1].dy.y, s[1].dy.z, s[1].dy.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t a[4] = {
            spread(upper[i], s[0].choice, 2 * i, first), spread(upper[i], s[0].choice, 2 * i + 1, first),
            spread(lower[i], s[1].choice, 2 * i, first), spread(lower[i], s[1].choice, 2 * i + 1, first)};
#pragma unroll
        for (int j = 0; j < 4; j++)
            multiply_add(sums[i][j], a, b[j]);
    }
}

/* Adds the sums of a block's warps, (0 + 2) + (1 + 3) of SPLITS, into the image's partial sums. */
__device__ __forceinline__ void add_splits(float (&sums)[4][4][4], float (&room)[2][2][BACK_PART][32],
                                           const cuda_conv_pooling_args &args, uint32_t part, uint32_t split) {
    const uint32_t lane = threadIdx.x % 32;
    float *own = &sums[0][0][0];
    for (uint32_t half = SPLITS / 2; half > 0; half /= 2) {
        if (split >= half && split < 2 * half)
#pragma unroll
            for (int k = 0; k < BACK_PART; k++)
                room[split - half][part][k][lane] = own[k];
        __syncthreads();
        if (split < half)
#pragma unroll
            for (int k = 0; k < BACK_PART; k++)
                own[k] += room[split][part][k][lane];
        __syncthreads();
    }
    if (split == 0) {
        float *to = args.partials + ((size_t)blockIdx.x * (args.channels / BACK_PART) + part) * BACK_PART * 32;
#pragma unroll
        for (int k = 0; k < BACK_PART; k++)
            to[k * 32 + lane] = own[k];
    }
}

static __global__ void __launch_bounds__(2 * SPLITS * 32)
    conv_pooling_backward(const __grid_constant__ cuda_conv_pooling_args args) {
    __shared__ uint32_t image[2][CONV_POOLING_WORDS];
    __shared__ float room[2][2][BACK_PART][32];
    const uint32_t warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, row = blockIdx.x;
    const uint32_t parts = args.channels / BACK_PART, part = warp % parts, split = warp / parts;
    const uint32_t line = args.pitch.divisor / 2, group = part * (BACK_PART / 8) + g;
    next_may_begin();
    float sums[4][4][4] = {};
    const uint32_t *taps[4]; /* of this thread's column of each tile, at the window's corner */
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const uint32_t tap = 8 * j + g < TAPS ? 8 * j + g : 0, r = tap / ACROSS, s = tap % ACROSS;
        taps[j] = image[s % 2] + (r + t % 2) * line + s / 2;
    }
    fetch(image, args, row);
    __syncthreads();
    for (uint32_t begin = split * 4; begin < args.windows; begin += SPLITS * 4 * AHEAD) {
        spot spots[AHEAD][2];
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
#pragma unroll
            for (int k = 0; k < 2; k++)
                spots[u][k] = spot_at(args, row, begin + u * SPLITS * 4 + 2 * k + t / 2, group);
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            uint32_t b[4][2];
#pragma unroll
            for (int k = 0; k < 2; k++) {
                const uint32_t at = corner(args, begin + u * SPLITS * 4 + 2 * k + t / 2);
#pragma unroll
                for (int j = 0; j < 4; j++)
                    b[j][k] = 8 * j + g < TAPS ? taps[j][at] : 8 * j + g == TAPS ? 0x3F803F80u : 0u;
            }
            add_windows(sums, spots[u], b, t % 2 * 2);
        }
    }
    add_splits(sums, room, args, part, split);
}

/* One block adds up one number of a thread, of 32 lanes, over the images: SUM_WARPS sums of every eighth, then
 * those. */
static __global__ void __launch_bounds__(SUM_WARPS * 32)
    conv_pooling_sums(const __grid_constant__ cuda_conv_pooling_args args) {
    __shared__ float room[SUM_WARPS][32];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, part = blockIdx.x / BACK_PART,
                   k = blockIdx.x % BACK_PART;
    const float *from = args.partials + (size_t)blockIdx.x * 32 + lane;
    float sum = 0.0f;
    wait_for_previous();
#pragma unroll 8
    for (uint32_t row = warp; row < args.n; row += SUM_WARPS)
        sum += __ldcg(from + (size_t)row * args.channels * CONV_POOLING_TAPS);
    room[warp][lane] = sum;
    __syncthreads();
    if (warp > 0)
        return;
    for (int w = 1; w < SUM_WARPS; w++)
        sum += room[w][lane];
    const uint32_t channel = part * BACK_PART + lane / 4 * 8 + k / 16 * 2 + k % 4 / 2;
    const uint32_t tap = k / 4 % 4 * 8 + lane % 4 * 2 + k % 2;
    args.dw[channel * CONV_POOLING_TAPS + tap] = tap < TAPS ? sum * args.scale : 0.0f;
    if (tap == TAPS && args.dbias)
        args.dbias[channel] = sum * args.scale;
}

/* --- launches */

void vg_cuda__conv_pooling_run_forward(const cuda_conv_pooling_args *args, cudaStream_t stream) {
    const unsigned blocks = args->n, threads = FORWARD_WARPS * 32;
    if (args->mask.mode == CUDA_MASK_NONE)
        CUDA_LAUNCH((conv_pooling_forward<CUDA_MASK_NONE>), blocks, threads, stream, *args);
    else
        CUDA_LAUNCH((conv_pooling_forward<CUDA_MASK_ALIGNED>), blocks, threads, stream, *args);
}

void vg_cuda__conv_pooling_run_backward(const cuda_conv_pooling_args *args, cudaStream_t stream) {
    const unsigned parts = args->channels / BACK_PART;
    CUDA_LAUNCH(conv_pooling_backward, args->n, parts * SPLITS * 32, stream, *args);
    CUDA_LAUNCH_EARLY(conv_pooling_sums, parts * BACK_PART, SUM_WARPS * 32, stream, *args);
}
