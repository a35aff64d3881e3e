/* cuda_store.c - resident data: a data set held on the device, and an epoch's plan. */
#include "backend/cuda/cuda_store.h"

#include <string.h>

void vg_cuda__store_free(vg_backend *b, vg_store *s) {
    if (!s)
        return;
    cuda_context *c = cuda_of(b);
    vg_cuda__free(c, s->pixels, s->n * s->pixel_bytes * vg_shape__size(s->shape));
    vg_cuda__free(c, s->labels, s->n * sizeof *s->labels);
    vg_cuda__free(c, s->plan, s->plan_room * sizeof *s->plan);
    if (s->staged)
        cudaFreeHost(s->staged);
    if (s->copied)
        cudaEventDestroy(s->copied);
    vg_base__release(s);
}

static vg_status make(vg_backend *b, vg_store *s, const vg_store_images *images) {
    cuda_context *c = cuda_of(b);
    size_t values;
    if (!vg_base__mul(&values, s->n, vg_shape__size(s->shape)) || !vg_base__mul(&values, values, s->pixel_bytes))
        return vg_base__fail(VG_ERR_MEMORY, "cuda: a data set of %zu images does not fit in memory", s->n);
    VG_TRY(vg_cuda__alloc(c, &s->pixels, values, false, "the data set"));
    VG_TRY(vg_cuda__alloc(c, &s->labels, s->n * sizeof *s->labels, false, "labels"));
    VG_TRY(vg_cuda__alloc(c, &s->plan, s->plan_room * sizeof *s->plan, true, "an epoch's plan"));
    VG_TRY(vg_cuda__check(cudaMallocHost((void **)&s->staged, s->plan_room * sizeof *s->staged), "pinned memory"));
    VG_TRY(vg_cuda__check(cudaEventCreateWithFlags(&s->copied, cudaEventDisableTiming), "making an event"));
    VG_TRY(vg_cuda__copy(c, s->pixels, images->pixels, values, cudaMemcpyHostToDevice, "copying the data set"));
    return vg_cuda__copy(c, s->labels, images->labels, s->n * sizeof *s->labels, cudaMemcpyHostToDevice,
                         "copying labels");
}

vg_status vg_cuda__store_new(vg_backend *b, vg_store **out, const vg_store_images *images) {
    vg_store *s;
    *out = NULL;
    if (images->shape.c > CUDA_STORE_CHANNELS || vg_shape__size(images->shape) * sizeof(float) > CUDA_STORE_IMAGE)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "cuda: images of %zu x %zu x %zu are prepared on the CPU",
                             images->shape.c, images->shape.h, images->shape.w);
    VG_TRY(vg_base__zalloc(&s, 1, sizeof *s, "data set on the device"));
    s->n = images->n;
    s->shape = images->shape;
    s->is_float = images->is_float;
    s->pixel_bytes = images->is_float ? sizeof(float) : 1;
    s->plan_room = images->plan_room;
    for (size_t k = 0; k < images->shape.c; k++) {
        s->mean[k] = (float)images->mean[k];
        s->scale[k] = (float)(1.0 / images->std[k]);
    }
    vg_status status = make(b, s, images);
    if (status != VG_OK)
        vg_cuda__store_free(b, s);
    else
        *out = s;
    return status;
}

vg_status vg_cuda__store_plan(vg_backend *b, vg_store *s, const vg_sample_draw *samples, size_t count) {
    if (count > s->plan_room)
        return vg_base__fail(VG_ERR_ARGUMENT, "cuda: a plan has %zu samples, expected at most %zu", count,
                             s->plan_room);
    for (size_t i = 0; i < count; i++)
        if (samples[i].index >= s->n)
            return vg_base__fail(VG_ERR_ARGUMENT, "cuda: sample %zu of the plan is image %u, the set has %zu", i,
                                 samples[i].index, s->n);
    VG_TRY(vg_cuda__check(cudaEventSynchronize(s->copied), "waiting for a plan"));
    memcpy(s->staged, samples, count * sizeof *samples);
    VG_TRY(vg_cuda__check(
        cudaMemcpyAsync(s->plan, s->staged, count * sizeof *samples, cudaMemcpyHostToDevice, cuda_of(b)->stream),
        "copying a plan"));
    return vg_cuda__check(cudaEventRecord(s->copied, cuda_of(b)->stream), "copying a plan");
}

vg_status vg_cuda__store_batch(vg_backend *b, const vg_store *s, vg_tensor *images, vg_tensor *labels) {
    VG_TRY(vg_cuda__writes(b, images));
    cuda_t(images)->patches_valid = false;
    vg_cuda__k_store_batch(cuda_of(b)->stream, cuda_bf16(b), cuda_t(images)->data, cuda_t(labels)->data, s,
                           cuda_of(b)->step, images->n, cuda_t(images)->channels);
    return vg_cuda__launched("batch");
}
