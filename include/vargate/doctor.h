/* doctor.h - what this build and this machine have, and how to get what is missing.
 *
 * Threads: functions here may be called from several threads at once. Errors: VG_ERR_MEMORY when memory runs out; what
 * is missing on the machine is a finding, not an error. */
#ifndef VARGATE_DOCTOR_H
#define VARGATE_DOCTOR_H

#include <stddef.h>

#include "vargate/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The compiler, the processor and the devices that the library was built for, in one line. Constant. */
VG_API const char *vg_build_facts(void);
/* One finding of vg_doctor. */
typedef struct vg_doctor_line {
    char topic[24];   /* "processor", "GPU", "data sets", ... */
    char found[256];  /* what there is */
    char advice[256]; /* how to get what is missing; "": nothing is */
} vg_doctor_line;
/* Looks at what this build and this machine have: vector tier, threads, devices, libraries, programs, data sets. *out,
 * *count lines, is the caller's, freed with vg_doctor_free. */
VG_API vg_status vg_doctor(vg_doctor_line **out, size_t *count);
/* Frees the lines of vg_doctor. NULL is accepted. */
VG_API void vg_doctor_free(vg_doctor_line *lines);
/* The lines as JSON (docs/schema/doctor.schema.json). *out is the caller's, freed with vg_free. */
VG_API vg_status vg_doctor_json(char **out, const vg_doctor_line *lines, size_t count);

#ifdef __cplusplus
}
#endif
#endif
