/* sets_file.h - prediction sets for files: calibrate on one, make the sets of another, write them. Threads and
 * errors: as in workflow.h. */
#ifndef VARGATE_SETS_FILE_H
#define VARGATE_SETS_FILE_H

#include <stddef.h>

#include "vargate/listener.h"
#include "vargate/sets.h"
#include "vargate/status.h"
#include "vargate/workflow.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vg_sets_file_options {
    size_t struct_size;
    const char *calibration; /* predictions with labels; NULL: vg_sets_options.thresholds names a file */
    /* Cells in place of vg_sets_options.by: "class", "top", or "group:NAME", an array, column or field with the
     * samples' groups; NULL: those of the options, or of the file of thresholds. */
    const char *by;
    const char *output; /* the sets: .npz, .csv or .jsonl; NULL: no file */
    const char *save;   /* the thresholds as JSON, for vg_sets_options.thresholds; NULL: no file */
    int force;          /* replace existing outputs even if vargate did not write them */
    vg_job job;
} vg_sets_file_options;
#define VG_SETS_FILE_OPTIONS_INIT                                                                                      \
    { sizeof(vg_sets_file_options), NULL, NULL, NULL, NULL, 0, VG_JOB_INIT }

/* Calibrates on a file, or reads thresholds, and makes the sets of the predictions in `path` (NULL: only calibrates).
 * `scoring` of the options is not read: `input` says how predictions are read. Labels named in `input` are those of the
 * calibration file where there is one. The figures are in `*out`, which is freed with vg_sets_free. The job is warned
 * of thresholds that too few calibration samples allow, and of groups without any. */
VG_API vg_status vg_sets_file(vg_sets **out, const vg_sets_options *options, const char *path,
                              const vg_input_options *input, const vg_sets_file_options *own);

#ifdef __cplusplus
}
#endif
#endif
