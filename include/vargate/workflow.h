/* workflow.h - what a command of the program does, as functions: options in, typed results out, nothing printed.
 *
 * The modules below compute; this one does the whole of a task: it opens files, checks that they fit each other, streams them
 * through a scorer, evaluates, writes outputs beside their names and renames them. The command line and the Python package are
 * two faces of it.
 *
 * Listening to a job. Every options struct here ends in a `vg_job`. Its function hears how far the work is, notes and warnings
 * that a person would want to read, and can stop the work by returning non-zero: the call then fails with VG_ERR_INTERRUPTED and
 * leaves no partial output. It is called from the calling thread only. An empty vg_job is silent and cannot stop anything.
 *
 * Threads. Functions here may be called from several threads at once, each with its own options and results. */
#ifndef VARGATE_WORKFLOW_H
#define VARGATE_WORKFLOW_H

#include <stddef.h>

#include "vargate/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- listening to a job --------------------------------------------------------------------------------------------------- */

typedef enum vg_job_event {
    VG_JOB_BEGIN = 0,    /* a part of the work begins: `text` names it ("scoring"), `unit` what is counted ("samples") */
    VG_JOB_PROGRESS = 1, /* `done` of `total` units (0: unknown); sent often, so the listener limits its own output */
    VG_JOB_END = 2,      /* the part that began last has ended, well or not */
    VG_JOB_NOTE = 3,     /* `text`: one line of information */
    VG_JOB_WARNING = 4   /* `text`: one line about something doubtful in the input or the result */
} vg_job_event;

typedef struct vg_job_message {
    vg_job_event event;
    const char *text, *unit; /* borrowed for the call; NULL where the event has none */
    unsigned long long done, total;
} vg_job_message;

/* A non-zero return asks the job to stop. The return value for NOTE, WARNING and END is ignored. */
typedef int (*vg_job_fn)(void *context, const vg_job_message *message);

typedef struct vg_job {
    vg_job_fn tell; /* NULL: nobody listens */
    void *context;
} vg_job;
#define VG_JOB_INIT { NULL, NULL }

#ifdef __cplusplus
}
#endif
#endif
