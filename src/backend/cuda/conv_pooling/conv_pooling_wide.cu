/* conv_pooling_wide.cu - a 5 x 5 convolution from 12 x 12 images of 128 channels together with the bias, 2 x 2
 * max-pool, ReLU and dropout after it: the second layer of the CNN. bfloat16, sums in float32; the 8 x 8 map before
 * pooling is never in memory.
 *
 * A block has two images, which lie in shared memory from its beginning to its end, and 64 output channels, whose
 * weights come tap by tap through a ring of four slots. Eight warps: two images x two halves of the output channels x
 * two halves of the input channels, whose sums are exchanged at the end. A warp computes 64 positions by 32 channels in
 * four tiles of 16 positions. Rows g and g + 8 of a tile are the left and the right position of window g; the tiles
 * hold the upper and the lower line of windows 0 to 7, then those of windows 8 to 15. Channel 8 a + 2 j + e of 32 is
 * column 2 a + e of tile j (window.cuh).
 *
 * Pixels and rows of weights are 256 bytes, sixteen pieces of 16. Against bank conflicts the lower three bits of a
 * piece's number are changed by a key of the row, another for each of the eight rows that are read at once: windows are
 * 4 x 4. */
#include "backend/cuda/conv_pooling/window.cuh"

enum {
    SIDE = CONV_POOLING_WIDE_SIDE,
    INPUTS = CONV_POOLING_WIDE_INPUTS,
    ROW_BYTES = INPUTS * 2,
    PIECES = INPUTS / 8,
    IMAGES = 2, /* of a block */
    PART = 64,  /* its output channels */
    TAPS = 25,
    ACROSS = 5,
    SLOTS = 4,
    THREADS = 256,
    AREA = SIDE * SIDE,
    IMAGE_BYTES = AREA * ROW_BYTES,
    TAP_BYTES = PART * ROW_BYTES,
    SHARED_BYTES = IMAGES * IMAGE_BYTES + SLOTS * TAP_BYTES
};
static_assert((int)SHARED_BYTES == (int)CONV_POOLING_WIDE_SHARED, "the caller knows how much shared memory it takes");

/* Where a pixel's first piece lies in an image, and the key of its pieces. */
__device__ __forceinline__ uint32_t pixel_place(uint32_t y, uint32_t x) { return (y * SIDE + x) * ROW_BYTES; }
__device__ __forceinline__ uint32_t pixel_key(uint32_t y, uint32_t x) { return (x >> 1 & 3u) | (y >> 1 & 1u) << 2; }

__device__ __forceinline__ void fetch_images(unsigned char *to, const cuda_conv_pooling_args &args, uint32_t first) {
    for (uint32_t i = threadIdx.x; i < IMAGES * AREA * PIECES; i += THREADS) {
        const uint32_t piece = i % PIECES, image = i / PIECES / AREA, pixel = i / PIECES % AREA, y = pixel / SIDE,
                       x = pixel % SIDE;
        const uint32_t row = first + image < args.n ? first + image : args.n - 1;
        copy_16(to + image * IMAGE_BYTES + pixel_place(y, x) + (piece ^ pixel_key(y, x)) * 16,
                (const bf16 *)args.images + ((size_t)row * AREA + pixel) * INPUTS + piece * 8);
    }
}

/* The weights [64][128] of one tap, rows in the order of the tiles' columns. */
__device__ __forceinline__ void fetch_tap(unsigned char *to, const cuda_conv_pooling_args &args, uint32_t part,
                                          uint32_t tap) {
    for (uint32_t i = threadIdx.x; i < PART * PIECES; i += THREADS) {
        const uint32_t piece = i % PIECES, o = i / PIECES, row = o / 32 * 32 + o % 8 / 2 * 8 + o % 32 / 8 * 2 + o % 2;
        copy_16(to + row * ROW_BYTES + (piece ^ (row & 7u)) * 16,
                (const bf16 *)args.weights + ((size_t)(part * PART + o) * TAPS + tap) * INPUTS + piece * 8);
    }
}

/* The operands of one multiplication of a warp: 64 positions by 16 input channels, those by 32 output channels. */
struct operands {
    uint32_t a[4][4], b[2][4];
};

/* Input channels 16 k onwards of the warp's half, at one tap. y, x: the lane's pixel for the upper line of windows 0 to
 * 7. */
__device__ __forceinline__ void load_operands(operands &o, const unsigned char *image, const unsigned char *rows,
                                              uint32_t y, uint32_t x, uint32_t k) {
    const uint32_t lane = threadIdx.x % 32, matrix = lane / 8;
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) { /* four lines of pixels are two of windows: the key's bit is the same */
        const uint32_t piece = (2 * k + matrix / 2) ^ pixel_key(y + i % 2, x);
        load_matrices(o.a[i], image + pixel_place(y + i % 2 + i / 2 * 4, x) + piece * 16);
    }
#pragma unroll
    for (uint32_t j = 0; j < 2; j++)
        load_matrices(o.b[j], rows + j * 16 * ROW_BYTES + ((2 * k + matrix % 2) ^ (lane & 7u)) * 16);
}

/* One tap of one warp: half of the input channels. The next operands are loaded before the current ones are
 * multiplied. */
__device__ __forceinline__ void add_tap(float (&sums)[4][4][4], const unsigned char *image,
                                        const unsigned char *weights, uint32_t tap) {
    const uint32_t lane = threadIdx.x % 32, matrix = lane / 8;
    const uint32_t x = lane % 4 * 2 + matrix % 2 + tap % ACROSS, y = lane % 8 / 4 * 2 + tap / ACROSS;
    const unsigned char *rows = weights + (matrix / 2 * 8 + lane % 8) * ROW_BYTES;
    operands o[2];
    load_operands(o[0], image, rows, y, x, 0);
#pragma unroll
    for (uint32_t k = 0; k < INPUTS / 32; k++) {
        if (k + 1 < INPUTS / 32)
            load_operands(o[(k + 1) % 2], image, rows, y, x, k + 1);
        const operands &now = o[k % 2];
#pragma unroll
        for (uint32_t i = 0; i < 4; i++)
#pragma unroll
            for (uint32_t j = 0; j < 4; j++) {
                const uint32_t pair[2] = {now.b[j / 2][j % 2 * 2], now.b[j / 2][j % 2 * 2 + 1]};
                multiply_add(sums[i][j], now.a[i], pair);
            }
    }
}

/* A warp finishes windows 8 HALF onwards; it passes its sums of the others to the warp that has the other input
 * channels. */
template <int HALF> __device__ __forceinline__ void give(const float (&sums)[4][4][4], float *to) {
#pragma unroll
    for (int k = 0; k < 32; k++)
        to[k * 32] = sums[2 * (1 - HALF) + k / 16][k / 4 % 4][k % 4];
}
template <int HALF>
__device__ __forceinline__ void take(float (&out)[2][4][4], const float (&sums)[4][4][4], const float *from) {
#pragma unroll
    for (int k = 0; k < 32; k++)
        out[k / 16][k / 4 % 4][k % 4] = sums[2 * HALF + k / 16][k / 4 % 4][k % 4] + from[k * 32];
}

template <int MASK>
__global__ void __launch_bounds__(THREADS, 1) conv_pooling_wide(const __grid_constant__ cuda_conv_pooling_args args) {
    CUDA_DYNAMIC_SHARED(memory);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, image = warp % 2, side = warp / 2 % 2,
                   half = warp / 4;
    const uint32_t parts = args.channels / PART, part = blockIdx.x % parts, first = blockIdx.x / parts * IMAGES;
    unsigned char *ring = memory + IMAGES * IMAGE_BYTES;
    float sums[4][4][4] = {}, own[2][4][4], bias[8] = {};
    fetch_images(memory, args, first);
    for (uint32_t tap = 0; tap + 1 < SLOTS; tap++) {
        fetch_tap(ring + tap * TAP_BYTES, args, part, tap);
        end_copies();
    }
    for (uint32_t tap = 0; tap < TAPS; tap++) {
        wait_for_copies<SLOTS - 2>();
        __syncthreads(); /* All copies of this tap have arrived, and no thread reads the previous tap any more. */
        if (tap + SLOTS - 1 < TAPS)
            fetch_tap(ring + (tap + SLOTS - 1) % SLOTS * TAP_BYTES, args, part, tap + SLOTS - 1);
        end_copies();
        add_tap(sums, memory + image * IMAGE_BYTES + half * (ROW_BYTES / 2),
                ring + tap % SLOTS * TAP_BYTES + side * 32 * ROW_BYTES + half * (ROW_BYTES / 2), tap);
    }
    float *room = (float *)ring + lane;
    __syncthreads();
    if (half == 0)
        give<0>(sums, room + warp * 1024);
    else
        give<1>(sums, room + warp * 1024);
    __syncthreads();
    if (half == 0)
        take<0>(own, sums, room + (warp ^ 4u) * 1024);
    else
        take<1>(own, sums, room + (warp ^ 4u) * 1024);
    const uint32_t group = part * (PART / 8) + side * 4 + lane % 4;
    if (args.bias)
        load8(bias, args.bias + group * 8);
    if (first + image < args.n)
        finish_window<MASK>(args, draw_of<MASK>(args.mask), own, bias, first + image, half * 8 + lane / 4, group);
}

/* --- launch */

void vg_cuda__conv_pooling_run_wide(const cuda_conv_pooling_args *args, cudaStream_t stream) {
    const unsigned blocks = (args->n + IMAGES - 1) / IMAGES * (args->channels / PART);
    if (args->mask.mode == CUDA_MASK_NONE)
        CUDA_LAUNCH_SHARED((conv_pooling_wide<CUDA_MASK_NONE>), blocks, THREADS, SHARED_BYTES, stream, *args);
    else
        CUDA_LAUNCH_SHARED((conv_pooling_wide<CUDA_MASK_ALIGNED>), blocks, THREADS, SHARED_BYTES, stream, *args);
}
