/* conv_pooling.h - launchers of conv_pooling.cu and conv_pooling_wide.cu. Internal. */
#ifndef VG_CUDA_CONV_POOLING_H
#define VG_CUDA_CONV_POOLING_H

#include "backend/cuda/cuda_layers.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CONV_POOLING_TAPS = 32, /* bfloat16 per row of the weights: 25 and padding */
    /* room for an image in shared memory, in words of two pixels: (height + 1) (width / 2 + 1) */
    CONV_POOLING_WORDS = 1024,
    CONV_POOLING_WIDE_SIDE = 12, /* of conv_pooling_wide.cu's images */
    CONV_POOLING_WIDE_INPUTS = 128,
    CONV_POOLING_WIDE_OUTPUTS = 128,                        /* of the gradient */
    CONV_POOLING_WIDE_SHARED = 2 * 144 * 256 + 4 * 64 * 256 /* bytes of shared memory per block */
};

typedef struct cuda_conv_pooling_args {
    /* bfloat16 [n][height][width][CUDA_PAD], of which the first channel counts; wide: [n][12][12][128] */
    const void *images;
    const void *weights; /* bfloat16 [channels][CONV_POOLING_TAPS]; wide: [channels][25][128] */
    const float *bias;   /* may be NULL */
    void *y;             /* bfloat16 [n][windows][channels] */
    uint8_t *choice;     /* forward: may be NULL. Four bits per element: pooling.cu's */
    const void *dy;      /* backward: of y's shape */
    float *partials;     /* backward: scratch, vg_cuda__conv_pooling_scratch floats */
    float *dw;           /* [channels][CONV_POOLING_TAPS] */
    float *dbias;        /* may be NULL */
    uint32_t n, height, width, channels;
    uint32_t windows;       /* pooled positions of an image */
    cuda_divider out_width; /* of the pooled map */
    cuda_divider pitch;     /* pixels per row of an image in shared memory */
    float scale;            /* backward: of what passes */
    cuda_mask mask;
} cuda_conv_pooling_args;

/* The shapes that the kernels support: 5 x 5 taps, stride 1, no border, pooling 2 x 2, even sides, 64 or 128
 * channels. */
static inline bool vg_cuda__conv_pooling_fits(size_t height, size_t width, size_t channels) {
    return (channels == 64 || channels == 128) && height >= 6 && width >= 6 && height % 2 == 0 && width % 2 == 0 &&
           height < 128 && width < 128 && (height + 1) * (width / 2 + 1) <= CONV_POOLING_WORDS;
}
static inline size_t vg_cuda__conv_pooling_scratch(size_t n, size_t channels) {
    return n * channels * CONV_POOLING_TAPS;
}

void vg_cuda__conv_pooling_run_forward(const cuda_conv_pooling_args *, cudaStream_t);
void vg_cuda__conv_pooling_run_backward(const cuda_conv_pooling_args *, cudaStream_t);
/* The same from 12 x 12 images of 128 channels to a multiple of 64; height, width, pitch are not read. */
void vg_cuda__conv_pooling_run_wide(const cuda_conv_pooling_args *, cudaStream_t);

/* The gradient to those images: dx[n][12][12][inputs], inputs a multiple of 64, from dy[n][8][8][128] and
 * weights[128][25][inputs], all bfloat16. */
typedef struct cuda_conv_wide_data {
    const void *dy, *weights;
    void *dx;
    uint32_t n, inputs;
} cuda_conv_wide_data;
void vg_cuda__conv_wide_run_data(const cuda_conv_wide_data *, cudaStream_t);

#ifdef __cplusplus
}
#endif
#endif
