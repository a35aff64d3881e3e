/* trainer.h - the state of a running training, shared by trainer.c (its sequence) and run_folder.c (its files).
 * Internal. */
#ifndef VG_TRAINER_H
#define VG_TRAINER_H

#include <jansson.h>

#include "nn/checkpoint.h"
#include "nn/learner.h"
#include "nn/monitor.h"
#include "nn/run_lock.h"
#include "vargate/nn.h"

typedef struct vg_training {
    vg_train_options options;
    vg_recipe recipe;
    vg_backend *backend;
    vg_learner *learner;
    vg_train_state state;
    vg_train_result result;
    struct vg_resident_data *resident; /* NULL: batches come from the feed */
    double rate;
    bool stop;
    size_t saved_epoch; /* of the last checkpoint; 0: none */
    double saved_at;    /* vg_train__clock() of that */
    vg_run_lock *lock;
    const char *const *class_names; /* the data's, or kept_names; NULL: none */
    char **kept_names;              /* the resumed checkpoint's */
    char changes[512];              /* settings that differ from the resumed checkpoint's; "": none */
    size_t old_epochs;              /* epochs in the recipe of the resumed checkpoint; 0: not resumed */
    unsigned old_threads;           /* and its thread count; 0: not known */
    struct vg_events *events;       /* the same for TensorBoard; NULL: not wanted */
    char *log;                      /* metrics.jsonl so far */
    size_t log_length;
    float *logits;
    size_t logits_room;
    double *gates; /* classes: the k of the gate that the last validation used; NULL: the loss is not gated */
} vg_training;

double vg_train__clock(void);
double vg_train__rate(const vg_recipe *recipe, uint64_t step, uint64_t steps);
/* The epoch after which snapshot i, from 1, is taken. */
size_t vg_train__snapshot_epoch(const vg_recipe *recipe, size_t i);
/* snapshot-I.safetensors. */
enum { VG_SNAPSHOT_NAME = 48 };
const char *vg_train__snapshot_name(char out[VG_SNAPSHOT_NAME], size_t i);

/* Sends an event; returns whether the listener asks to stop. */
int vg_train__event(vg_training *t, vg_train_event event);
/* Sends a line of text to the user. */
VG_PRINTF(3, 4) void vg_train__text(vg_training *t, vg_train_event_kind kind, const char *format, ...);
/* The number of images in step `step` of an epoch on resident data. */
size_t vg_train__resident_rows(const vg_training *t, size_t step);
/* Measures the network on the validation set: all heads without dropout, or for MCD a few stochastic passes. */
vg_status vg_train__validate(vg_training *t, vg_epoch_metrics *metrics);
/* Whether all epochs are done, or the validation loss has not fallen for `patience` of them. */
bool vg_train__finished(const vg_training *t);
/* Batch-norm statistics without dropout (refresh.c). */
bool vg_train__wants_refresh(const vg_training *t);
vg_status vg_train__refresh(vg_training *t);

/* FOLDER/name. */
vg_status vg_train__path(char *out, size_t room, const vg_training *t, const char *name);
/* Creates the folder and its parents. */
vg_status vg_train__folder(vg_training *t);
/* Whether there is a checkpoint to resume from. A checkpoint without the option `resume`, or of another recipe or
 * other data, is refused. */
vg_status vg_train__resumable(vg_training *t, bool *resumed);
vg_status vg_train__resume(vg_training *t);
/* recipe.yaml and run.json. */
vg_status vg_train__describe(vg_training *t);
/* Creates an empty metrics.jsonl. */
vg_status vg_train__begin_log(vg_training *t);
/* Writes k.json: the k of the gate in the checkpoint that predictions use. Does nothing where the loss is not gated
 * or there is no such checkpoint yet. */
vg_status vg_train__write_gates(vg_training *t);
/* Adds a line to metrics.jsonl. */
vg_status vg_train__log(vg_training *t, const vg_epoch_metrics *metrics);
/* Adds the validation figures taken after the batch-norm refresh to its last line. */
vg_status vg_train__log_refreshed(vg_training *t, const vg_epoch_metrics *metrics);
/* Opens the event file for TensorBoard, with the epochs so far. Does nothing where it was not asked for. */
vg_status vg_train__begin_events(vg_training *t);
/* Adds a line of metrics.jsonl to it. */
vg_status vg_train__write_event(vg_training *t, const json_t *line);
vg_status vg_train__save(vg_training *t, const char *name, bool full);
/* Loads a checkpoint that is not the last one, applies `change` to it (NULL: none) and saves it with the current
 * recipe. */
vg_status vg_train__rewrite(vg_training *t, const char *name, vg_status (*change)(vg_training *t));

#endif
