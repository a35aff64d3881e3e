/* cuda_accelerators.h - optional kernels of the CUDA backend, each set in a folder of its own. Internal.
 *
 * A folder under src/backend/cuda serves one generation of GPUs or the shapes of one network faster than cuDNN and the
 * general kernels. The build registers a folder that is present (VG_WITH_... in cmake/Modules.cmake); without it the
 * general operations serve the same calls, only slower. The general operations use only this interface, and try it
 * first. */
#ifndef VG_CUDA_ACCELERATORS_H
#define VG_CUDA_ACCELERATORS_H

#include "backend/cuda/cuda_dnn.h"

/* One folder's kernels. A function that a folder does not offer is NULL. Where there is `done`, false means that the
 * folder does not serve these shapes and that nothing was done. */
typedef struct cuda_accelerator {
    const char *name;
    /* A convolution as one more candidate beside cuDNN's engines: whether it is served, and its run. */
    bool (*conv_serves)(vg_backend *, const cuda_conv_key *key);
    vg_status (*conv_run)(vg_backend *, const cuda_conv_key *key, const cuda_conv_places *places);
    /* The operations of the same names in backend.h. */
    vg_status (*conv_norm_forward)(vg_backend *, const vg_conv_norm *op, const vg_block *theta, bool *done);
    vg_status (*conv_pooling_forward)(vg_backend *, const vg_conv_pooling *op, const vg_block *theta, bool *done);
    vg_status (*conv_pooling_backward)(vg_backend *, const vg_conv_pooling *op, vg_block *grad, const vg_tensor *dy,
                                       bool *done);
    /* conv_backward_data without an addend. */
    vg_status (*conv_backward_data)(vg_backend *, const vg_conv *, vg_tensor *dx, const vg_tensor *dy,
                                    const vg_block *theta, const vg_param *w, bool *done);
} cuda_accelerator;

/* The accelerators of this build, in the order in which they are tried; NULL past the last. */
const cuda_accelerator *vg_cuda__accelerator(size_t index);
/* The first whose conv_serves takes this key, or NULL. */
const cuda_accelerator *vg_cuda__conv_accelerator(vg_backend *, const cuda_conv_key *key);
/* Tries every accelerator that has conv_backward_data. */
vg_status vg_cuda__accelerated_backward_data(vg_backend *, const vg_conv *, vg_tensor *dx, const vg_tensor *dy,
                                             const vg_block *theta, const vg_param *w, bool *done);

#endif
