/* job.h - messages to the listener of a job. Internal. All functions accept a job without a listener. */
#ifndef VG_WORKFLOW_JOB_H
#define VG_WORKFLOW_JOB_H

#include "base/base.h"
#include "vargate/workflow.h"

/* A counted part of the work. VG_ERR_INTERRUPTED, with a message that names `what`, once the listener asks to stop;
 * the caller then cleans up and returns the status. vg_job__end must follow every begin, also after an interruption. */
vg_status vg_job__begin(const vg_job *job, const char *what, const char *unit);
vg_status vg_job__progress(const vg_job *job, const char *what, unsigned long long done, unsigned long long total);
void vg_job__end(const vg_job *job);

/* One line for the user. */
void vg_job__note(const vg_job *job, const char *format, ...) VG_PRINTF(2, 3);
void vg_job__warn(const vg_job *job, const char *format, ...) VG_PRINTF(2, 3);

/* Progress of a library call as progress of a job, for options that take a vg_progress_fn: context is a vg_job_part *.
 */
typedef struct vg_job_part {
    const vg_job *job;
    const char *what;
} vg_job_part;
int vg_job__callback(void *part, unsigned long long done, unsigned long long total);

#endif
