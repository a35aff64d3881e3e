/* call_beside.h - a call on a thread of its own, beside the caller's work. */
#ifndef VG_WORKFLOW_CALL_BESIDE_H
#define VG_WORKFLOW_CALL_BESIDE_H

#include <pthread.h>

#include "base/base.h"

typedef struct vg_call_beside {
    vg_status (*call)(void *context);
    void *context;
    pthread_t thread;
    bool started;
    vg_status status;
    char message[1024];
} vg_call_beside;

/* Starts the call; threads 1: vg_call_beside__end makes it, as it does where no thread could be started. */
void vg_call_beside__start(vg_call_beside *beside, vg_status (*call)(void *context), void *context, unsigned threads);
/* Waits for it; its status, with its message. */
vg_status vg_call_beside__end(vg_call_beside *beside);
/* The same where its result is of no use any more: it is not made if it was not started. */
void vg_call_beside__drop(vg_call_beside *beside);

#endif
