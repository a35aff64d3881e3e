/* cuda_layers.h - the layers between products, on the device: how the work is divided into blocks, and each kernel's
 * arguments.
 *
 * An activation is a matrix of positions (n * h * w) by groups of eight channels. A block has block_groups groups side
 * by side and `lanes` positions; `chunks` blocks side by side cover the groups, `tiles` rows of blocks cover the
 * positions.
 *
 * Sums over positions: a thread keeps its group and sums its positions, the block sums its lanes, and the last block of
 * a chunk to finish sums the tiles, in double and in the order of the tiles, whichever block that is. */
#ifndef VG_CUDA_LAYERS_H
#define VG_CUDA_LAYERS_H

#include "backend/cuda/counter.cuh"
#include "backend/cuda/cuda_backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CUDA_SUM_THREADS = 256, /* threads of a block that computes sums */
    CUDA_SUM_GROUPS = 4,    /* its groups: 64 bytes of bfloat16 per position, and few enough for a fast final sum */
    CUDA_ROW_THREADS = 160, /* most threads of a block that works on whole positions: 160, 320, 640 channels fill it */
    CUDA_SUM_BLOCKS = 3,    /* blocks per multiprocessor, of kernels that compute sums */
    CUDA_ROW_BLOCKS = 6,    /* of the other kernels, forward */
    CUDA_DRAW_BLOCKS = 5,   /* the same with masks */
    CUDA_BACK_BLOCKS = 4,   /* and backward */
    CUDA_OVERLAP = 1        /* the blocks of a second pass may start before the first pass has finished */
};

typedef struct cuda_shape {
    uint32_t groups, block_groups, lanes, chunks, tiles;
} cuda_shape;

/* Positions whose loads a thread issues before it uses the first: for passes that read one tensor, and for those that
 * read several. */
static inline uint32_t cuda_in_flight(bool bf16, bool several) { return (bf16 ? 4u : 2u) / (several ? 2u : 1u); }

/* For sums over positions: few groups per block, so that many blocks share the final sum. */
cuda_shape vg_cuda__sum_shape(uint32_t positions, uint32_t groups, uint32_t unroll, uint32_t multiprocessors);
/* For passes without sums: whole positions, at most `blocks` blocks. */
cuda_shape vg_cuda__row_shape(uint32_t positions, uint32_t groups, uint32_t unroll, uint32_t blocks);
/* Floats of scratch for sums of `statistics` values per channel. */
size_t vg_cuda__sum_scratch(const cuda_shape *shape, size_t statistics);

typedef struct cuda_mask {
    const cuda_step *step;      /* device */
    int mode;                   /* CUDA_MASK_* */
    uint32_t stream, threshold; /* vg_counter__threshold << 16 */
    float scale;                /* of what is kept: 1 / (1 - p) */
    uint32_t channels;          /* logical */
    cuda_divider area;          /* positions per row */
} cuda_mask;

cuda_mask vg_cuda__mask(vg_backend *, vg_dropout, vg_shape);
float vg_cuda__floor(bool relu);
/* n * h * w of an activation, as 32 bits; fails from 2^31 on. */
vg_status vg_cuda__positions(uint32_t *out, const vg_tensor *t);

/* To be called before an activation is written: waits until the second stream has read its old contents. */
vg_status vg_cuda__output(vg_backend *, vg_tensor *t);

typedef struct cuda_norm_args {
    const void *x, *dy, *addend; /* addend: may be NULL */
    void *out;                   /* y or dx */
    const float *gamma, *beta;
    float *running; /* [2][channels]; NULL in a forward pass that takes `coefficients` as they are */
    float *saved;   /* [2][channels]: mean, 1/std; may be NULL in a forward pass */
    float *dgamma, *dbeta;
    /* scratch, [4][groups * 8]: forward a, c of y = a d + c; backward also e, f of dx = a dy + e d + f */
    float *coefficients;
    float *partials; /* scratch */
    unsigned *counters;
    uint32_t positions, channels;
    double inverse_count, inverse_unbiased; /* 1 / positions, 1 / (positions - 1) */
    float epsilon;
    float floor; /* 0 after a ReLU, -infinity without */
    cuda_mask mask;
    cuda_shape shape;
} cuda_norm_args;

void vg_cuda__norm_statistics(const cuda_norm_args *, bool bf16, cudaStream_t);
void vg_cuda__norm_apply(const cuda_norm_args *, bool bf16, cudaStream_t);
void vg_cuda__norm_sums(const cuda_norm_args *, bool bf16, cudaStream_t);
void vg_cuda__norm_apply_backward(const cuda_norm_args *, bool bf16, cudaStream_t);

typedef struct cuda_pooling_args {
    const void *x; /* forward: x; backward: dy */
    const void *y; /* backward: what forward gave */
    void *out;     /* y or dx */
    uint8_t *choice;
    const float *bias; /* forward, may be NULL */
    float *dbias;      /* backward, may be NULL */
    float *partials;   /* scratch */
    unsigned *counters;
    uint32_t positions; /* of the pooled side */
    uint32_t channels, pool, in_height, in_width;
    cuda_divider groups, width, height; /* of the pooled side */
    int relu;
    float floor; /* 0 after a ReLU, -infinity without */
    float scale; /* backward: of what passes */
    cuda_mask mask;
    cuda_shape shape; /* backward */
} cuda_pooling_args;

void vg_cuda__pooling_run_forward(const cuda_pooling_args *, bool bf16, cudaStream_t);
void vg_cuda__pooling_run_backward(const cuda_pooling_args *, bool bf16, cudaStream_t);

void vg_cuda__average_run_forward(void *y, const void *x, uint32_t rows, uint32_t area, uint32_t groups, bool bf16,
                                  cudaStream_t);
void vg_cuda__average_run_backward(void *dx, const void *dy, uint32_t rows, uint32_t area, uint32_t groups, bool bf16,
                                   cudaStream_t);

typedef struct cuda_repeat_args {
    const void *x;
    void *y;
    uint64_t first, repeat;
    uint32_t rows, groups;
    uint32_t vectors;   /* groups of eight elements per row; elements where `plain` */
    uint32_t positions; /* h * w */
    bool plain;         /* rows of float32 in (c, h, w) order */
    cuda_mask mask;
} cuda_repeat_args;

void vg_cuda__repeat_run(const cuda_repeat_args *, bool bf16, cudaStream_t);

#ifdef __cplusplus
}
#endif
#endif
