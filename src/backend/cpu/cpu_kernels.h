/* cpu_kernels.h - the vector loops of the CPU backend, in several instruction tiers picked once at run time. Internal.
 *
 * Activations lie as [n][C/b][H*W][b]: b = 16 or 8 is the blocked layout, b = 1 plain, b = C channels-last. A "run" is
 * `count` consecutive positions of one (row, channel block): count * b elements. Each kernel works on one run.
 *
 * Masks: kernels that drop elements take `lanes`, the 16-bit random lane of each element of the run (see counter.h), or
 * NULL for no dropout; an element is dropped when its lane < threshold, else multiplied by scale. */
#ifndef VG_CPU_KERNELS_H
#define VG_CPU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Elements: float, or bfloat16 kept in uint16_t. */
typedef struct vg_cpu_mask {
    const uint16_t *lanes;
    uint32_t threshold;
    float scale;
} vg_cpu_mask;

/* Geometry of a pooling step: `width` outputs in one row of outputs, read from `pool` rows of input of width
 * in_width. */
typedef struct vg_cpu_window {
    size_t width, in_width, pool, b;
    bool bf16, relu;
} vg_cpu_window;

/* One row of outputs forward: y = dropout(relu(maxpool(x) + bias)). bias: b floats. choice may be NULL. */
typedef struct vg_cpu_pooling_row {
    void *y;
    uint8_t *choice;
    const void *x;
    const float *bias;
    vg_cpu_mask mask;
} vg_cpu_pooling_row;

/* One row backward: dx has `pool` input rows, all written. sums: b floats, added to. Without lanes dy is still
 * multiplied by the mask's scale: after a ReLU a dropped element is recognised by its y, which is 0. */
typedef struct vg_cpu_pooling_back {
    void *dx;
    float *sums;
    const void *dy, *y;
    const uint8_t *choice;
    vg_cpu_mask mask;
} vg_cpu_pooling_back;

/* One run of batch-norm: `count` positions of b channels, and per channel the values that the kernels named beside them
 * read. */
typedef struct vg_cpu_norm_run {
    const void *x, *dy, *addend; /* addend may be NULL; dy and addend: backward */
    void *out;                   /* affine: y; norm_apply: dx, which may be dy or addend */
    const float *a, *c;          /* affine, norm_sums, norm_apply: x * a + c is the result before the ReLU */
    const float *mean, *inverse; /* squares: mean; norm_sums: both */
    const float *e, *f;          /* norm_apply */
    size_t count, b;
    bool bf16, relu;
    vg_cpu_mask mask;
} vg_cpu_norm_run;

/* Counters of random lanes: group g of 8 lanes has counter first + (g / per) * stride + g % per. */
typedef struct vg_cpu_draw {
    uint64_t seed, row;
    uint32_t stream, step, first, stride, per;
} vg_cpu_draw;

typedef struct vg_cpu_kernels {
    const char *tier;
    void (*lanes)(uint16_t *lanes, const vg_cpu_draw *draw, size_t groups);
    void (*pooling_forward)(const vg_cpu_window *, const vg_cpu_pooling_row *);
    void (*pooling_backward)(const vg_cpu_window *, const vg_cpu_pooling_back *);
    /* sums[b] += x;  squares[b] += (x - mean)^2, of dropped x. */
    void (*sum)(float *sums, const vg_cpu_norm_run *);
    void (*squares)(float *squares, const vg_cpu_norm_run *);
    /* y = relu?(x * a + c), a and c per channel. */
    void (*affine)(const vg_cpu_norm_run *);
    /* dbeta[b] += d, dgamma[b] += d * xhat, d = dy where x * a + c > 0 (or everywhere), xhat = (x - mean) * inverse. */
    void (*norm_sums)(float *dbeta, float *dgamma, const vg_cpu_norm_run *);
    /* dx = mask (a d + e x + f) + addend, per channel e and f. */
    void (*norm_apply)(const vg_cpu_norm_run *);
    /* y = masked x; count elements counted as positions * b. */
    void (*copy_masked)(void *y, const void *x, size_t count, bool bf16, vg_cpu_mask mask);
    void (*add)(void *y, const void *x, size_t count, bool bf16);
    void (*adam)(float *theta, const float *grad, float *m, float *v, size_t count, const float figures[7]);
    void (*to_bf16)(uint16_t *to, const float *from, size_t count);
} vg_cpu_kernels;

const vg_cpu_kernels *vg_cpu__kernels(void);

static inline float vg_cpu__from_bf16(uint16_t v) {
    union {
        uint32_t u;
        float f;
    } x = {.u = (uint32_t)v << 16};
    return x.f;
}

/* Nearest, ties to even; NaN stays NaN. */
static inline uint16_t vg_cpu__to_bf16(float v) {
    union {
        float f;
        uint32_t u;
    } x = {.f = v};
    uint32_t rounded = (x.u + 0x7FFFu + ((x.u >> 16) & 1u)) >> 16;
    return (uint16_t)((x.u & 0x7FFFFFFFu) > 0x7F800000u ? (x.u >> 16) | 0x40u : rounded);
}

#endif
