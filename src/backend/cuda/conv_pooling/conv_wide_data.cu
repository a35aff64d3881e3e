/* conv_wide_data.cu - the gradient of a 5 x 5 convolution from 12 x 12 to 8 x 8 to its input: the second layer of the
 * CNN. bfloat16, sums in float32.
 *
 *     dx[y + r][x + s][c] = sum over taps (r, s) and o of dy[y][x][o] w[o][r][s][c]
 *
 * Read from dx, more than half of the products would be with the border of zeros around dy. Read from dy there is none:
 * for each tap the product of all of dy with the tap's weights is added to dx, moved by the tap. A block has two images
 * and 64 input channels. dy stays in registers, as operands; dx lies in shared memory as float32, is read into the
 * tensor cores' sums before a tap and written back after it; the weights come tap by tap through a ring of four slots.
 * Eight warps: two images x two halves of dy's rows x two halves of the channels; between two taps all wait for each
 * other, so that the order of the sums is that of the taps.
 *
 * Against bank conflicts pieces are swizzled by a key of their row: 16 bytes of dy and of the weights, 32 bytes of
 * dx. */
#include "backend/cuda/conv_pooling/conv_pooling.h"
#include "backend/cuda/mma.cuh"
#include "backend/cuda/vec.cuh"

enum {
    SIDE = CONV_POOLING_WIDE_SIDE,
    AREA = SIDE * SIDE,
    OUTPUTS = CONV_POOLING_WIDE_OUTPUTS,
    POSITIONS = 64, /* of dy */
    IMAGES = 2,     /* of a block */
    PART = 64,      /* its input channels */
    TAPS = 25,
    ACROSS = 5,
    SLOTS = 4,
    THREADS = 256,
    DY_ROW = OUTPUTS * 2, /* bytes */
    DX_ROW = PART * 4,
    TAP_ROW = PART * 2,
    TAP_BYTES = OUTPUTS * TAP_ROW,
    DX_BYTES = IMAGES * AREA * DX_ROW,
    SHARED_BYTES = DX_BYTES + SLOTS * TAP_BYTES,
    STEPS = OUTPUTS / 16
};
static_assert((int)SHARED_BYTES <= (int)CONV_POOLING_WIDE_SHARED, "the caller knows how much shared memory it takes");
static_assert(IMAGES * POSITIONS * DY_ROW <= DX_BYTES, "dy comes by the place of dx");

__device__ __forceinline__ void fetch_dy(unsigned char *to, const cuda_conv_wide_data &args, uint32_t first) {
    for (uint32_t i = threadIdx.x; i < IMAGES * POSITIONS * (DY_ROW / 16); i += THREADS) {
        const uint32_t piece = i % (DY_ROW / 16), row = i / (DY_ROW / 16), image = row / POSITIONS;
        const uint32_t n = first + image < args.n ? first + image : args.n - 1;
        copy_16(to + row * DY_ROW + (piece ^ (row & 7u)) * 16,
                (const bf16 *)args.dy + ((size_t)n * POSITIONS + row % POSITIONS) * OUTPUTS + piece * 8);
    }
}

/* The weights [128][64] of one tap. */
__device__ __forceinline__ void fetch_tap(unsigned char *to, const cuda_conv_wide_data &args, uint32_t part,
                                          uint32_t tap) {
    for (uint32_t i = threadIdx.x; i < OUTPUTS * (TAP_ROW / 16); i += THREADS) {
        const uint32_t piece = i % (TAP_ROW / 16), o = i / (TAP_ROW / 16);
        copy_16(to + o * TAP_ROW + (piece ^ (o & 7u)) * 16,
                (const bf16 *)args.weights + ((size_t)o * TAPS + tap) * args.inputs + part * PART + piece * 8);
    }
}

/* The warp's 32 rows of dy, all 128 channels. */
__device__ __forceinline__ void load_dy(uint32_t (&a)[2][STEPS][4], const unsigned char *dy) {
    const uint32_t lane = threadIdx.x % 32, matrix = lane / 8;
#pragma unroll
    for (uint32_t i = 0; i < 2; i++)
#pragma unroll
        for (uint32_t k = 0; k < STEPS; k++)
            load_matrices(a[i][k], dy + (16 * i + matrix % 2 * 8 + lane % 8) * DY_ROW +
                                       ((2 * k + matrix / 2) ^ (lane & 7u)) * 16);
}

/* Where the thread's two channels of tile 0 lie in row `pixel` of dx; tile j is at (j ^ key) * 32. */
__device__ __forceinline__ float2 *sum_place(unsigned char *dx, uint32_t pixel, uint32_t tile) {
    return (float2 *)(dx + pixel * DX_ROW + (tile ^ (pixel & 7u)) * 32 + threadIdx.x % 4 * 8);
}

/* The weights of 16 outputs by the warp's 32 channels. */
__device__ __forceinline__ void load_weights(uint32_t (&b)[2][4], const unsigned char *weights, uint32_t tile,
                                             uint32_t k) {
    const uint32_t lane = threadIdx.x % 32, matrix = lane / 8;
#pragma unroll
    for (uint32_t j = 0; j < 2; j++)
        load_matrices_transposed(b[j], weights + (16 * k + matrix % 2 * 8 + lane % 8) * TAP_ROW +
                                           ((tile + 2 * j + matrix / 2) ^ (lane & 7u)) * 16);
}

/* One tap of one warp: rows of dy from line `line` on, channels from tile `tile` on. dx: of the image. */
__device__ __forceinline__ void add_tap(unsigned char *dx, const uint32_t (&a)[2][STEPS][4],
                                        const unsigned char *weights, uint32_t line, uint32_t tile, uint32_t tap) {
    const uint32_t corner = (line + tap / ACROSS) * SIDE + tap % ACROSS + threadIdx.x % 32 / 4;
    float sums[2][4][4];
    uint32_t b[2][2][4];
    load_weights(b[0], weights, tile, 0);
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const float2 was = *sum_place(dx, corner + i * SIDE, tile + j);
            sums[i / 2][j][i % 2 * 2] = was.x;
            sums[i / 2][j][i % 2 * 2 + 1] = was.y;
        }
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        if (k + 1 < STEPS)
            load_weights(b[(k + 1) % 2], weights, tile, k + 1);
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const uint32_t pair[2] = {b[k % 2][j / 2][j % 2 * 2], b[k % 2][j / 2][j % 2 * 2 + 1]};
                multiply_add(sums[i][j], a[i][k], pair);
            }
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            *sum_place(dx, corner + i * SIDE, tile + j) = {sums[i / 2][j][i % 2 * 2], sums[i / 2][j][i % 2 * 2 + 1]};
}

/* Eight channels per thread at a time. */
__device__ __forceinline__ void put_dx(const cuda_conv_wide_data &args, const unsigned char *dx, uint32_t first,
                                       uint32_t part) {
    for (uint32_t i = threadIdx.x; i < IMAGES * AREA * (PART / 8); i += THREADS) {
        const uint32_t tile = i % (PART / 8), row = i / (PART / 8), pixel = row % AREA;
        float v[8];
        if (first + row / AREA >= args.n)
            break;
        load8(v, (const float *)(dx + row * DX_ROW + (tile ^ (pixel & 7u)) * 32));
        store((bf16 *)args.dx, ((size_t)first * AREA + row) * (args.inputs / 8) + part * (PART / 8) + tile, v);
    }
}

static __global__ void __launch_bounds__(THREADS, 1) conv_wide_data(const __grid_constant__ cuda_conv_wide_data args) {
    CUDA_DYNAMIC_SHARED(memory);
    const uint32_t warp = threadIdx.x / 32, image = warp % 2, half = warp / 2 % 2, side = warp / 4;
    const uint32_t parts = args.inputs / PART, part = blockIdx.x % parts, first = blockIdx.x / parts * IMAGES;
    unsigned char *ring = memory + DX_BYTES;
    uint32_t a[2][STEPS][4];
    fetch_dy(memory, args, first);
    end_copies();
    for (uint32_t tap = 0; tap + 1 < SLOTS; tap++) {
        fetch_tap(ring + tap * TAP_BYTES, args, part, tap);
        end_copies();
    }
    wait_for_copies<SLOTS - 1>();
    __syncthreads();
    load_dy(a, memory + (image * POSITIONS + half * 32) * DY_ROW);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < DX_BYTES / 16; i += THREADS)
        ((uint4 *)memory)[i] = make_uint4(0, 0, 0, 0);
    for (uint32_t tap = 0; tap < TAPS; tap++) {
        wait_for_copies<SLOTS - 2>();
        __syncthreads(); /* All copies of this tap have arrived, and all threads have finished the previous tap. */
        if (tap + SLOTS - 1 < TAPS)
            fetch_tap(ring + (tap + SLOTS - 1) % SLOTS * TAP_BYTES, args, part, tap + SLOTS - 1);
        end_copies();
        add_tap(memory + image * AREA * DX_ROW, a, ring + tap % SLOTS * TAP_BYTES, half * 4, side * 4, tap);
    }
    __syncthreads();
    put_dx(args, memory, first, part);
}

void vg_cuda__conv_wide_run_data(const cuda_conv_wide_data *args, cudaStream_t stream) {
    const unsigned blocks = (args->n + IMAGES - 1) / IMAGES * (args->inputs / PART);
    CUDA_LAUNCH_SHARED(conv_wide_data, blocks, THREADS, SHARED_BYTES, stream, *args);
}
