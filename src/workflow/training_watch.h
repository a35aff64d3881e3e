/* training_watch.h - reports the events of one or several trainings to one job. Internal. */
#ifndef VG_WORKFLOW_TRAINING_WATCH_H
#define VG_WORKFLOW_TRAINING_WATCH_H

#include <pthread.h>
#include <stdbool.h>

#include "vargate/workflow.h"

/* The state that the trainings of a deep ensemble share. Its functions may be called by several threads at once: the
 * listeners receive one message at a time. */
typedef struct vg_training_crew {
    const vg_train_recipe_options *options;
    size_t networks;
    unsigned long long done, total; /* steps of all networks */
    bool begun;                     /* the job has received BEGIN */
    bool stop;                      /* a listener asked to stop, or a training has failed */
    pthread_mutex_t lock;
} vg_training_crew;

/* One training. */
typedef struct vg_training_watch {
    vg_training_crew *crew;
    size_t network; /* from 0 */
    unsigned long long done;
    char what[112]; /* "epoch 3/20  loss 0.1234" */
} vg_training_watch;

/* networks: 1 for a run that is not a deep ensemble. */
void vg_training_crew__begin(vg_training_crew *crew, const vg_train_recipe_options *options, size_t networks);
void vg_training_crew__end(vg_training_crew *crew);
/* Asks all trainings to write a checkpoint and to stop. */
/* For vg_train_options.event; context is a vg_training_watch *. */
int vg_training_watch__event(void *context, const vg_train_event *event);

#endif
