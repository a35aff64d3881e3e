/* console_job.h - a job of the library on the console: its progress as a bar, its notes and warnings as lines, and a signal as
 * the wish to stop. */
#ifndef CLI_CONSOLE_JOB_H
#define CLI_CONSOLE_JOB_H

#include "progress.h"
#include "vargate/workflow.h"

typedef struct console_job {
    progress bar;
    char what[96], unit[32]; /* copies: the library's texts are borrowed for one call */
    bool drawing; /* a part has begun and not ended */
} console_job;

/* A listener for the library. `state` must outlive it. */
vg_job console_job_listener(console_job *state);

#endif
