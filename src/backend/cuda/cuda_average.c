/* cuda_average.c - global average pooling on the device (average.cu). */
#include "backend/cuda/cuda_layers.h"

/* Converts sizes to the kernels' 32-bit numbers, checked. */
static vg_status measure(const vg_tensor *maps, uint32_t *rows, uint32_t *area, uint32_t *groups) {
    uint32_t positions;
    VG_TRY(vg_cuda__positions(&positions, maps));
    *rows = (uint32_t)maps->n;
    *area = (uint32_t)(maps->shape.h * maps->shape.w);
    *groups = (uint32_t)(cuda_t(maps)->channels / 8);
    if ((uint64_t)*rows * (*groups / CUDA_SUM_THREADS + 1) >= (uint64_t)1 << 31)
        return vg_base__fail(VG_ERR_UNSUPPORTED,
                             "averages over %zu x %zu maps are not supported by this backend: too large", maps->n,
                             maps->shape.c);
    return VG_OK;
}

vg_status vg_cuda__average_forward(vg_backend *backend, vg_tensor *y, const vg_tensor *x) {
    uint32_t rows, area, groups;
    VG_TRY(vg_cuda__output(backend, y));
    VG_TRY(measure(x, &rows, &area, &groups));
    VG_TRY(vg_cuda__writes(backend, y));
    vg_cuda__average_run_forward(cuda_t(y)->data, cuda_t(x)->data, rows, area, groups, cuda_bf16(backend),
                                 cuda_of(backend)->stream);
    return vg_cuda__launched("average pooling");
}

vg_status vg_cuda__average_backward(vg_backend *backend, vg_tensor *dx, const vg_tensor *dy) {
    uint32_t rows, area, groups;
    VG_TRY(vg_cuda__output(backend, dx));
    VG_TRY(measure(dx, &rows, &area, &groups));
    VG_TRY(vg_cuda__writes(backend, dx));
    vg_cuda__average_run_backward(cuda_t(dx)->data, cuda_t(dy)->data, rows, area, groups, cuda_bf16(backend),
                                  cuda_of(backend)->stream);
    return vg_cuda__launched("average pooling's gradient");
}
