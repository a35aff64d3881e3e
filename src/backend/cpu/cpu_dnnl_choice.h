/* cpu_dnnl_choice.h - which implementation of oneDNN computes a product: descriptions of memory and of primitives. With
 * cpu_dnnl.c the only file that includes oneDNN. Internal. */
#ifndef VG_CPU_DNNL_CHOICE_H
#define VG_CPU_DNNL_CHOICE_H

#include <oneapi/dnnl/dnnl.h>

#include "backend/cpu/cpu_engine.h"

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t md_ref;
#define MD_REF(md) (md)
#define MD_FREE(md) dnnl_memory_desc_destroy(md)
#else
typedef const dnnl_memory_desc_t *md_ref;
#define MD_REF(md) (&(md))
#define MD_FREE(md) ((void)(md))
#endif

enum { VG_DNNL_IN1 = 0, VG_DNNL_IN2 = 1, VG_DNNL_OUT = 2, VG_DNNL_OPERANDS = 3 };

/* The key of a primitive. Keys are compared byte by byte, so a key is cleared before it is filled. */
typedef struct vg_dnnl_key {
    int kind; /* a vg_engine_pass, or VG_DNNL_MATMUL */
    vg_engine_type type;
    int64_t stride, pad;
    int64_t accumulate, bias;
    vg_engine_view views[VG_DNNL_OPERANDS];
} vg_dnnl_key;

enum { VG_DNNL_MATMUL = 100 };

/* The engine, and the attributes of its primitives. Their scratch memory is the caller's: oneDNN's own belongs to the
 * thread that made a primitive, and another thread that ran the primitive would crash. */
typedef struct vg_dnnl_device {
    dnnl_engine_t engine;
    dnnl_primitive_attr_t plain, adding; /* adding: to what the output holds */
    dnnl_post_ops_t sum;                 /* of adding */
} vg_dnnl_device;

dnnl_status_t vg_dnnl__device_open(vg_dnnl_device *device);
void vg_dnnl__device_close(vg_dnnl_device *device); /* also of one that could not be opened */

dnnl_status_t vg_dnnl__md_by_tag(dnnl_memory_desc_t *md, int rank, const int64_t *dims, vg_engine_type type,
                                 dnnl_format_tag_t tag);
/* The caller's memory. */
dnnl_status_t vg_dnnl__md_of_view(dnnl_memory_desc_t *md, const vg_engine_view *view);
/* Implementations by plain loops or through im2col are used only where there is no other. */
bool vg_dnnl__is_slow(dnnl_primitive_desc_t pd);
/* A convolution pass in the key's type: x and y in the caller's layouts when `fixed`, else in the library's choice. The
 * layout of weights is always the library's choice; weight gradients are float32. */
dnnl_status_t vg_dnnl__conv_choose(const vg_dnnl_device *device, dnnl_primitive_desc_t *pd, const vg_dnnl_key *key,
                                   const vg_engine_view *x, const vg_engine_view *w, const vg_engine_view *y,
                                   bool fixed);
/* c = a b + bias, which may be NULL. */
dnnl_status_t vg_dnnl__matmul_choose(const vg_dnnl_device *device, dnnl_primitive_desc_t *pd, md_ref a, md_ref b,
                                     md_ref bias, md_ref c);

#endif
