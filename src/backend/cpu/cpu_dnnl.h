/* cpu_dnnl.h - what the CPU backend needs of oneDNN: convolutions and matrix products over memory whose layout the
 * caller names. The library's own headers, version 2 or 3, stay inside cpu_dnnl.c. Internal. */
#ifndef VG_CPU_DNNL_H
#define VG_CPU_DNNL_H

#include "base/base.h"

typedef struct vg_dnnl vg_dnnl;

typedef enum vg_dnnl_type { VG_DNNL_F32 = 0, VG_DNNL_BF16 = 1 } vg_dnnl_type;

/* How four dimensions lie in memory. Activations are (n, c, h, w), filters (o, i, h, w). */
typedef enum vg_dnnl_layout {
    VG_DNNL_PLAIN = 0,      /* row-major */
    VG_DNNL_CHANNELS_LAST,  /* n h w c */
    VG_DNNL_BLOCKED16,      /* n c/16 h w 16c */
    VG_DNNL_BLOCKED8,       /* n c/8 h w 8c */
    VG_DNNL_FILTER16,       /* o/16 i/16 h w 16i 16o */
    VG_DNNL_FILTER8,        /* o/8 i/8 h w 8i 8o */
    VG_DNNL_FILTER_FIRST16, /* o/16 h w i 16o */
    VG_DNNL_FILTER_FIRST8,  /* o/8 h w i 8o */
    VG_DNNL_STRIDED         /* matrices: dims[0] x dims[1], element (r, c) at r * strides[0] + c * strides[1] */
} vg_dnnl_layout;

typedef struct vg_dnnl_view {
    vg_dnnl_type type;
    vg_dnnl_layout layout;
    int64_t dims[4];
    int64_t strides[2];
} vg_dnnl_view;

/* Memory with its layout. version: of weights; a converted copy is reused while the version stays the same; 0: never
 * reused. */
typedef struct vg_dnnl_operand {
    vg_dnnl_view view;
    void *data;
    uint64_t version;
} vg_dnnl_operand;

typedef enum vg_dnnl_pass { VG_DNNL_FORWARD = 0, VG_DNNL_BACKWARD_DATA = 1, VG_DNNL_BACKWARD_WEIGHTS = 2 } vg_dnnl_pass;

vg_status vg_dnnl__new(vg_dnnl **out);
void vg_dnnl__free(vg_dnnl *dnnl);
/* The activation layout that convolutions of `type` prefer on this machine. */
vg_status vg_dnnl__preferred(vg_dnnl *dnnl, vg_dnnl_type type, vg_dnnl_layout *layout);
/* Whether this machine computes in bfloat16 without emulation. */
bool vg_dnnl__has_bf16(vg_dnnl *dnnl);

/* One pass of a convolution. */
typedef struct vg_dnnl_conv {
    vg_dnnl_pass pass;
    vg_dnnl_type type; /* element type of the computation */
    size_t stride, pad;
    bool accumulate; /* FORWARD: the result is added to what y holds */
} vg_dnnl_conv;

/* FORWARD reads x, w and writes y; BACKWARD_DATA reads y (its gradient), w and writes x; BACKWARD_WEIGHTS reads x, y
 * and writes w. */
vg_status vg_dnnl__conv(vg_dnnl *dnnl, const vg_dnnl_conv *conv, const vg_dnnl_operand *x, const vg_dnnl_operand *w,
                        const vg_dnnl_operand *y);

/* c (m x n) = a (m x k) b (k x n) + bias (n floats, or NULL), computed in `type`; views STRIDED. */
vg_status vg_dnnl__matmul(vg_dnnl *dnnl, vg_dnnl_type type, const vg_dnnl_operand *c, const vg_dnnl_operand *a,
                          const vg_dnnl_operand *b, const float *bias);

#endif
