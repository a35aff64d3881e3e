/* cpu_engine.h - the products of the CPU backend: convolutions and matrix products over memory whose layout the
 * caller names. A build has one engine: oneDNN's (cpu_dnnl.c), or our own kernels (cpu_gemm.c) without that library,
 * as in wheels. Internal. */
#ifndef VG_CPU_ENGINE_H
#define VG_CPU_ENGINE_H

#include "base/base.h"

typedef struct vg_engine vg_engine;

/* The name of the engine, for the description of the device: "oneDNN" or "own products". */
extern const char vg_engine__name[];

typedef enum vg_engine_type { VG_ENGINE_F32 = 0, VG_ENGINE_BF16 = 1 } vg_engine_type;

/* The order of four dimensions in memory. Activations are (n, c, h, w), filters (o, i, h, w). */
typedef enum vg_engine_layout {
    VG_ENGINE_PLAIN = 0,      /* row-major */
    VG_ENGINE_CHANNELS_LAST,  /* n h w c */
    VG_ENGINE_BLOCKED16,      /* n c/16 h w 16c */
    VG_ENGINE_BLOCKED8,       /* n c/8 h w 8c */
    VG_ENGINE_FILTER16,       /* o/16 i/16 h w 16i 16o */
    VG_ENGINE_FILTER8,        /* o/8 i/8 h w 8i 8o */
    VG_ENGINE_FILTER_FIRST16, /* o/16 h w i 16o */
    VG_ENGINE_FILTER_FIRST8,  /* o/8 h w i 8o */
    VG_ENGINE_STRIDED         /* matrices: dims[0] x dims[1], element (r, c) at r * strides[0] + c * strides[1] */
} vg_engine_layout;

typedef struct vg_engine_view {
    vg_engine_type type;
    vg_engine_layout layout;
    int64_t dims[4];
    int64_t strides[2];
} vg_engine_view;

/* Memory with its layout. version: of weights; a converted copy is reused while the version stays the same; 0: never
 * reused. */
typedef struct vg_engine_operand {
    vg_engine_view view;
    void *data;
    uint64_t version;
} vg_engine_operand;

typedef enum vg_engine_pass {
    VG_ENGINE_FORWARD = 0,
    VG_ENGINE_BACKWARD_DATA = 1,
    VG_ENGINE_BACKWARD_WEIGHTS = 2
} vg_engine_pass;

vg_status vg_engine__new(vg_engine **out);
void vg_engine__free(vg_engine *engine);
/* The activation layout that convolutions of `type` prefer on this machine. */
vg_status vg_engine__preferred(vg_engine *engine, vg_engine_type type, vg_engine_layout *layout);
/* Whether this machine computes in bfloat16 without emulation. */
bool vg_engine__has_bf16(vg_engine *engine);

/* One pass of a convolution. */
typedef struct vg_engine_conv {
    vg_engine_pass pass;
    vg_engine_type type; /* element type of the computation */
    size_t stride, pad;
    bool accumulate; /* FORWARD: the result is added to what y holds */
} vg_engine_conv;

/* FORWARD reads x, w and writes y; BACKWARD_DATA reads y (its gradient), w and writes x; BACKWARD_WEIGHTS reads x, y
 * and writes w. */
vg_status vg_engine__conv(vg_engine *engine, const vg_engine_conv *conv, const vg_engine_operand *x,
                          const vg_engine_operand *w, const vg_engine_operand *y);

/* c (m x n) = a (m x k) b (k x n) + bias (n floats, or NULL), computed in `type`; views STRIDED. */
vg_status vg_engine__matmul(vg_engine *engine, vg_engine_type type, const vg_engine_operand *c,
                            const vg_engine_operand *a, const vg_engine_operand *b, const float *bias);

#endif
