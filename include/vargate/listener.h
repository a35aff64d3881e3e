/* listener.h - how a long task of workflow.h reports its progress, and how it is stopped.
 *
 * Listening to a job. The options of every long function end in a `vg_job`. Its function receives progress, notes
 * and warnings for a reader, and can stop the work by returning non-zero: the call then fails with
 * VG_ERR_INTERRUPTED and leaves no partial output (training leaves a checkpoint). It is called from the calling
 * thread only. An empty vg_job is silent and cannot stop anything. */
#ifndef VARGATE_LISTENER_H
#define VARGATE_LISTENER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vg_job_event {
    VG_JOB_BEGIN = 0, /* a part of the work begins: `text` names it ("scoring"), `unit` what is counted ("samples") */
    /* `done` of `total` units (0: unknown); sent often, so the listener limits its own output. `text` describes the
     * current state: "epoch 3/20  loss 0.1234" */
    VG_JOB_PROGRESS = 1,
    VG_JOB_END = 2,    /* the part that began last has ended, well or not */
    VG_JOB_NOTE = 3,   /* `text`: one line of information */
    VG_JOB_WARNING = 4 /* `text`: one line about something questionable in the input or the result */
} vg_job_event;

typedef struct vg_job_message {
    vg_job_event event;
    const char *text, *unit; /* borrowed for the call; NULL where the event has none */
    unsigned long long done, total;
} vg_job_message;

/* A non-zero return asks the job to stop. The return value for NOTE, WARNING and END is ignored. */
typedef int (*vg_job_fn)(void *context, const vg_job_message *message);

typedef struct vg_job {
    vg_job_fn notify; /* NULL: no listener */
    void *context;
} vg_job;
#define VG_JOB_INIT {NULL, NULL}

#ifdef __cplusplus
}
#endif
#endif
