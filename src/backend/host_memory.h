/* host_memory.h - what the backends in host memory share: flat blocks, the step, and checked sizes. Internal to
 * backend. */
#ifndef VG_HOST_MEMORY_H
#define VG_HOST_MEMORY_H

#include "backend/backend.h"

/* A flat block in host memory. A backend that keeps more with a block begins its own struct with these two fields. */
typedef struct vg_host_block {
    vg_block base;
    float *data;
} vg_host_block;

/* Allocates a zeroed block of `count` floats in a struct of `size` bytes that begins with vg_host_block. `version` is
 * the first version of its contents. */
vg_status vg_host__block_new(vg_block **out, size_t size, size_t count, uint64_t version);
void vg_host__block_free(vg_backend *backend, vg_block *block);
vg_status vg_host__block_clear(vg_backend *backend, vg_block *block);

/* Stores the step for the operations that follow. */
vg_status vg_host__step_set(vg_backend *backend, const vg_step *step);
/* Operations in host memory are done when they return: nothing to wait for. */
vg_status vg_host__sync(vg_backend *backend);

/* Elements of `capacity` rows of a shape, and floats of a parameter in logical order (param->size). VG_ERR_MEMORY,
 * naming the sizes, when the product does not fit size_t. */
vg_status vg_host__tensor_count(size_t *out, size_t capacity, vg_shape shape);
vg_status vg_host__param_plan(vg_backend *backend, vg_param *param);

/* Operations that every backend in host memory has from here. */
#define VG_HOST_OPERATIONS                                                                                             \
    .sync = vg_host__sync, .step_set = vg_host__step_set, .param_plan = vg_host__param_plan,                           \
    .block_clear = vg_host__block_clear

#endif
