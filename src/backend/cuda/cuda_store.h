/* cuda_store.h - resident data: a data set held on the device. Internal. */
#ifndef VG_CUDA_STORE_H
#define VG_CUDA_STORE_H

#include "backend/cuda/cuda_backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CUDA_STORE_CHANNELS = 16,
    CUDA_STORE_IMAGE = 48 << 10 /* most bytes of an image as floats, limited by shared memory */
};

struct vg_store {
    void *pixels;    /* n * c * h * w bytes or floats, planar */
    int32_t *labels; /* n */
    vg_sample_draw *plan;
    size_t plan_room;
    vg_sample_draw *staged; /* pinned staging buffer of the plan */
    cudaEvent_t copied;
    size_t n, pixel_bytes;
    vg_shape shape;
    bool is_float;
    float mean[CUDA_STORE_CHANNELS], scale[CUDA_STORE_CHANNELS];
};

/* `rows` images from entry step.batch of the plan on, and their labels. */
void vg_cuda__k_store_batch(cudaStream_t, bool bf16, void *images, int32_t *labels, const struct vg_store *store,
                            const cuda_step *step, size_t rows, size_t channels);

vg_status vg_cuda__store_new(vg_backend *, vg_store **out, const vg_store_images *images);
void vg_cuda__store_free(vg_backend *, vg_store *store);
vg_status vg_cuda__store_plan(vg_backend *, vg_store *store, const vg_sample_draw *samples, size_t count);
vg_status vg_cuda__store_batch(vg_backend *, const vg_store *store, vg_tensor *images, vg_tensor *labels);

#ifdef __cplusplus
}
#endif
#endif
