/* cuda_repeat.c - repeated rows on the device (repeat.cu). */
#include "backend/cuda/cuda_layers.h"

vg_status vg_cuda__repeat_rows(vg_backend *backend, vg_tensor *y, const vg_tensor *x, uint64_t first, uint64_t repeat,
                               vg_dropout dropout) {
    bool plain = y->kind == VG_TENSOR_PLAIN;
    size_t vectors = plain ? vg_shape__size(y->shape) : cuda_t(y)->row / 8, blocks;
    if (y->kind != VG_TENSOR_ACTIVATION && !plain)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "rows of a tensor of kind %d cannot be repeated", (int)y->kind);
    if (!vg_base__mul(&blocks, y->n, vectors / 32 + 1) || blocks >= (size_t)1 << 31 || vectors >= (size_t)1 << 31)
        return vg_base__fail(VG_ERR_UNSUPPORTED,
                             "%zu repeated rows of %zu x %zu x %zu are not supported by this backend: too large", y->n,
                             y->shape.c, y->shape.h, y->shape.w);
    VG_TRY(vg_cuda__writes(backend, y));
    cuda_repeat_args args = {.x = cuda_t(x)->data,
                             .y = cuda_t(y)->data,
                             .first = first,
                             .repeat = repeat,
                             .rows = (uint32_t)y->n,
                             .groups = plain ? 0 : (uint32_t)(cuda_t(y)->channels / 8),
                             .vectors = (uint32_t)vectors,
                             .positions = (uint32_t)(y->shape.h * y->shape.w),
                             .plain = plain,
                             .mask = vg_cuda__mask(backend, dropout, y->shape)};
    VG_TRY(vg_cuda__output(backend, y));
    vg_cuda__repeat_run(&args, cuda_bf16(backend), cuda_of(backend)->stream);
    return vg_cuda__launched("repeated rows");
}
