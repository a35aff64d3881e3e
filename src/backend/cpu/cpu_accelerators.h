/* cpu_accelerators.h - optional kernels of the CPU backend, each set in a folder of its own. Internal.
 *
 * A folder under src/backend/cpu serves some shapes or some processors faster than the general code. The build
 * registers a folder that is present (VG_WITH_... in cmake/Modules.cmake); without it the general code serves the same
 * calls, only slower. The general operations know only this interface. */
#ifndef VG_CPU_ACCELERATORS_H
#define VG_CPU_ACCELERATORS_H

#include "backend/backend.h"
#include "backend/cpu/cpu_kernels.h"

/* One way to compute convolutions. `state` is what open made for one backend. */
typedef struct cpu_conv_accelerator {
    vg_status (*open)(void **state);
    void (*close)(void *state); /* NULL is allowed */
    /* Whether it takes this convolution. The answer depends on the geometry alone and not on the number of rows, so
     * that a row's result does not change with its batch. */
    bool (*serves)(const vg_backend *, const vg_conv *, const vg_param *w, const vg_tensor *x);
    /* As the operations of backend.h; add: the result is added to what y or dx holds. */
    vg_status (*forward)(vg_backend *, const vg_conv *, vg_tensor *y, const vg_tensor *x, const vg_block *theta,
                         const vg_param *w, bool add);
    vg_status (*backward_data)(vg_backend *, const vg_conv *, vg_tensor *dx, const vg_tensor *dy, const vg_block *theta,
                               const vg_param *w, bool add);
    vg_status (*backward_weights)(vg_backend *, const vg_conv *, vg_block *grad, const vg_param *w, const vg_tensor *x,
                                  const vg_tensor *dy);
} cpu_conv_accelerator;

/* The accelerator of convolutions that this build has, or NULL. */
const cpu_conv_accelerator *vg_cpu__conv_accelerator(void);

/* Replaces those of `kernels` for which this build has a faster form on this processor. Replacements pass the cases
 * that they do not handle to `general`, which must outlive them. */
void vg_cpu__accelerate_kernels(vg_cpu_kernels *kernels, const vg_cpu_kernels *general);

#endif
