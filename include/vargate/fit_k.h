/* fit_k.h - k of the gate fitted to a file of validation predictions; for arrays: vg_fit_k of calibrate.h.
 * Threads and errors: as in workflow.h. */
#ifndef VARGATE_FIT_K_H
#define VARGATE_FIT_K_H

#include "vargate/calibrate.h"
#include "vargate/workflow.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vg_fit_k_file_options {
    size_t struct_size;
    const vg_fit_k_options *fit; /* NULL: the defaults. Its logits and temperature are the file's and the input's */
    int one, force;              /* write the one k for all classes; replace a file that vargate did not write */
    const char *output;          /* ks as JSON, for vg_input_options.class_k; NULL: no file */
    vg_job job;
} vg_fit_k_file_options;
#define VG_FIT_K_FILE_OPTIONS_INIT                                                                                     \
    { sizeof(vg_fit_k_file_options), NULL, 0, 0, NULL, VG_JOB_INIT }

/* Fits k of the gate (vg_fit_k) to a file of validation predictions with labels. `input` and `options` may be NULL:
 * defaults. Fields, scoring and class_k of the input are not read. `*out` is the caller's, freed with vg_free. */
VG_API vg_status vg_fit_k_file(vg_k_fit **out, const char *path, const vg_input_options *input,
                               const vg_fit_k_file_options *options);

#ifdef __cplusplus
}
#endif
#endif
