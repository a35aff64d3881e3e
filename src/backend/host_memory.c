/* host_memory.c - flat blocks in host memory and checked sizes. See host_memory.h. */
#include "backend/host_memory.h"

#include <string.h>

#include "base/base.h"

void vg_host__block_free(vg_backend *backend, vg_block *block) {
    (void)backend;
    if (block)
        vg_base__release(((vg_host_block *)block)->data);
    vg_base__release(block);
}

vg_status vg_host__block_new(vg_block **out, size_t size, size_t count, uint64_t version) {
    vg_host_block *b;
    *out = NULL;
    VG_TRY(vg_base__zalloc(&b, 1, size, "parameter block"));
    b->base = (vg_block){count, version};
    vg_status status = vg_base__zalloc(&b->data, count, sizeof(float), "parameter block");
    if (status != VG_OK)
        vg_host__block_free(NULL, &b->base);
    else
        *out = &b->base;
    return status;
}

vg_status vg_host__block_clear(vg_backend *backend, vg_block *block) {
    (void)backend;
    memset(((vg_host_block *)block)->data, 0, block->count * sizeof(float));
    block->version++;
    return VG_OK;
}

vg_status vg_host__step_set(vg_backend *backend, const vg_step *step) {
    backend->step = *step;
    return VG_OK;
}

vg_status vg_host__sync(vg_backend *backend) {
    (void)backend;
    return VG_OK;
}

vg_status vg_host__tensor_count(size_t *out, size_t capacity, vg_shape shape) {
    if (vg_base__mul(out, shape.c, shape.h) && vg_base__mul(out, *out, shape.w) && vg_base__mul(out, *out, capacity))
        return VG_OK;
    return vg_base__fail(VG_ERR_MEMORY, "a tensor of %zu x %zu x %zu x %zu does not fit in memory", capacity, shape.c,
                         shape.h, shape.w);
}

vg_status vg_host__param_plan(vg_backend *backend, vg_param *p) {
    size_t size;
    (void)backend;
    if (!vg_base__mul(&size, p->o, p->i) || !vg_base__mul(&size, size, p->h) || !vg_base__mul(&size, size, p->w))
        return vg_base__fail(VG_ERR_MEMORY, "a parameter of %zu x %zu x %zu x %zu does not fit in memory", p->o, p->i,
                             p->h, p->w);
    p->size = size;
    return VG_OK;
}
