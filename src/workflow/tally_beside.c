/* tally_beside.c - a thread that feeds a tally, one block at a time and in order. See tally_beside.h. */
#include "workflow/tally_beside.h"
#include "base/c_locale.h"
#include "evaluate/columns_layout.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct vg_tally_beside {
    vg_tally *tally;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    vg_tally_block block;
    bool busy, stop, failed;
    char message[1024];
};

static void *count_blocks(void *argument) {
    VG_IN_C_LOCALE;
    vg_tally_beside *b = argument;
    pthread_mutex_lock(&b->lock);
    for (;;) {
        while (!b->busy && !b->stop)
            pthread_cond_wait(&b->changed, &b->lock);
        if (!b->busy)
            break;
        vg_tally_block block = b->block;
        pthread_mutex_unlock(&b->lock);
        vg_columns__prefault(block.columns, block.ahead, block.ahead_rows);
        bool counted = vg_tally_feed(b->tally, block.mean, block.std, block.labels, block.rows) == VG_OK;
        pthread_mutex_lock(&b->lock);
        if (!counted && !b->failed) {
            b->failed = true;
            strncpy(b->message, vg_error_message(), sizeof b->message - 1);
        }
        b->busy = false;
        pthread_cond_signal(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

vg_tally_beside *vg_tally_beside__new(vg_tally *tally) {
    vg_tally_beside *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->tally = tally;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    sigset_t all, before; /* signals are delivered to the main thread only */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int refused = pthread_create(&b->thread, NULL, count_blocks, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!refused)
        return b;
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->changed);
    free(b);
    return NULL;
}

bool vg_tally_beside__post(vg_tally_beside *b, const vg_tally_block *block) {
    pthread_mutex_lock(&b->lock);
    while (b->busy)
        pthread_cond_wait(&b->changed, &b->lock);
    bool go_on = !b->failed;
    if (go_on) {
        b->block = *block;
        b->busy = true;
        pthread_cond_signal(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return go_on;
}

const char *vg_tally_beside__wait(vg_tally_beside *b) {
    pthread_mutex_lock(&b->lock);
    while (b->busy)
        pthread_cond_wait(&b->changed, &b->lock);
    pthread_mutex_unlock(&b->lock);
    return b->failed ? b->message : NULL;
}

void vg_tally_beside__free(vg_tally_beside *b) {
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->changed);
    free(b);
}
