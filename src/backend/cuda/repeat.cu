/* repeat.cu - row r of y = dropout(row (first + r) / repeat of x): one image becomes several stochastic passes.
 *
 * A block has part of one row, a thread some groups of eight elements of it. Rows of float32 in (c, h, w) order (PLAIN)
 * take one element per thread: they are rare and short. */
#include "backend/cuda/vec.cuh"

enum { THREADS = 256, VECTORS = 4 };

template <typename T, int MASK>
__global__ void __launch_bounds__(THREADS)
    repeat_rows(const __grid_constant__ cuda_repeat_args args, uint32_t blocks_a_row) {
    const uint32_t row = blockIdx.x / blocks_a_row,
                   first = blockIdx.x % blocks_a_row * blockDim.x * VECTORS + threadIdx.x;
    const size_t from = (size_t)((args.first + row) / args.repeat) * args.vectors, to = (size_t)row * args.vectors;
    const cuda_draw draw = draw_of<MASK>(args.mask);
    pack<T> raw[VECTORS];
#pragma unroll
    for (uint32_t u = 0; u < VECTORS; u++)
        if (first + u * blockDim.x < args.vectors)
            raw[u] = load((const T *)args.x, from + first + u * blockDim.x);
#pragma unroll
    for (uint32_t u = 0; u < VECTORS; u++) {
        const uint32_t vector = first + u * blockDim.x;
        if (vector >= args.vectors)
            break;
        float v[8];
        widen(v, raw[u]);
        if (MASK != CUDA_MASK_NONE) {
            /* aligned: positions follow vectors */
            const uint32_t pixel = MASK == CUDA_MASK_ODD ? vector / args.groups : 0;
            uint32_t lanes[4];
            lanes_in_row<MASK>(lanes, draw, args.mask, row, pixel, (vector - pixel * args.groups) * 8);
#pragma unroll
            for (int j = 0; j < 8; j++)
                v[j] = kept<MASK>(lanes, j, draw) ? v[j] * args.mask.scale : 0.0f;
        }
        store((T *)args.y, to + vector, v);
    }
}

/* args.vectors: elements per row. */
template <int MASK>
__global__ void __launch_bounds__(THREADS)
    repeat_plain(const __grid_constant__ cuda_repeat_args args, uint32_t blocks_a_row) {
    const uint32_t row = blockIdx.x / blocks_a_row, i = blockIdx.x % blocks_a_row * blockDim.x + threadIdx.x;
    if (i >= args.vectors)
        return;
    float v = ((const float *)args.x)[(size_t)((args.first + row) / args.repeat) * args.vectors + i];
    if (MASK != CUDA_MASK_NONE) {
        const uint32_t channel = i / args.positions, pixel = i % args.positions;
        const cuda_draw draw = draw_of<MASK>(args.mask);
        uint32_t lanes[4];
        lanes_in_row<MASK>(lanes, draw, args.mask, row, pixel, channel);
        v = kept<MASK>(lanes, 0, draw) ? v * args.mask.scale : 0.0f;
    }
    ((float *)args.y)[(size_t)row * args.vectors + i] = v;
}

template <typename T>
static void run(const cuda_repeat_args *args, unsigned threads, unsigned a_row, cudaStream_t stream) {
    const unsigned blocks = args->rows * a_row;
    switch (args->mask.mode) {
    case CUDA_MASK_NONE: CUDA_LAUNCH((repeat_rows<T, CUDA_MASK_NONE>), blocks, threads, stream, *args, a_row); break;
    case CUDA_MASK_ALIGNED:
        CUDA_LAUNCH((repeat_rows<T, CUDA_MASK_ALIGNED>), blocks, threads, stream, *args, a_row);
        break;
    default: CUDA_LAUNCH((repeat_rows<T, CUDA_MASK_ODD>), blocks, threads, stream, *args, a_row); break;
    }
}

void vg_cuda__repeat_run(const cuda_repeat_args *args, bool half, cudaStream_t stream) {
    if (args->plain) {
        const unsigned a_row = (args->vectors + THREADS - 1) / THREADS, blocks = args->rows * a_row;
        if (args->mask.mode == CUDA_MASK_NONE)
            CUDA_LAUNCH((repeat_plain<CUDA_MASK_NONE>), blocks, THREADS, stream, *args, a_row);
        else
            CUDA_LAUNCH((repeat_plain<CUDA_MASK_ODD>), blocks, THREADS, stream, *args, a_row);
        return;
    }
    /* Short rows: fewer threads, so that each still has several vectors to load. */
    const unsigned wanted = (args->vectors + VECTORS - 1) / VECTORS, rounded = (wanted + 31) / 32 * 32;
    const unsigned threads = rounded < THREADS ? rounded : (unsigned)THREADS, a_row = (wanted + threads - 1) / threads;
    if (half)
        run<bf16>(args, threads, a_row, stream);
    else
        run<float>(args, threads, a_row, stream);
}
