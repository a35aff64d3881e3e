/* console_job.h - a job of the library on the console: its progress as a bar, its notes and warnings as lines, and a
 * signal as the wish to stop. */
#ifndef CLI_CONSOLE_JOB_H
#define CLI_CONSOLE_JOB_H

#include "progress.h"
#include "vargate/workflow.h"

typedef struct console_job {
    progress bar;
    char what[96], unit[32]; /* copies: the library's texts are borrowed for one call */
    bool drawing;            /* a part has begun and not ended */
    bool guards;  /* signals are to be held back from the first part on, because an output is being written */
    bool guarded; /* they are */
} console_job;

/* A listener for the library. `state` must outlive it. */
vg_job console_job_listener(console_job *state);
/* The same for a job with an output file: from the first part on, signals are held back (console_guard) and stop the
 * job, which then removes what it has written. Reading the input comes before the first part and ends at once. */
vg_job console_job_guarded(console_job *state);
/* After the call: signals end the program again. */
void console_job_end(console_job *state);

#endif
