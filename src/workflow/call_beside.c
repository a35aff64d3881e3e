/* call_beside.c - see call_beside.h. */
#include "workflow/call_beside.h"

#include <signal.h>
#include <string.h>

#include "base/c_locale.h"

static void *run(void *argument) {
    VG_IN_C_LOCALE;
    vg_call_beside *b = argument;
    b->status = b->call(b->context);
    if (b->status != VG_OK)
        strncpy(b->message, vg_error_message(), sizeof b->message - 1);
    return NULL;
}

void vg_call_beside__start(vg_call_beside *b, vg_status (*call)(void *context), void *context, unsigned threads) {
    *b = (vg_call_beside){.call = call, .context = context};
    sigset_t all, before; /* signals are delivered to the main thread only */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    b->started = threads != 1 && pthread_create(&b->thread, NULL, run, b) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void vg_call_beside__drop(vg_call_beside *b) {
    if (b->started)
        pthread_join(b->thread, NULL);
}

vg_status vg_call_beside__end(vg_call_beside *b) {
    if (!b->started)
        return b->call(b->context);
    vg_call_beside__drop(b);
    return b->status == VG_OK ? VG_OK : vg_base__fail_text(b->status, b->message);
}
