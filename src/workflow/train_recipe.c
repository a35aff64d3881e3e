/* train_recipe.c - a recipe trained into a run folder: its data set opened and fed to vg_train, its events told to the
 * job. */
#include <math.h>
#include <stdio.h>

#include "vargate/workflow.h"
#include "workflow/job.h"
#include "workflow/training_data.h"
#include "workflow/workflow_options.h"

/* Passes the events of vg_train on: to the job as lines and progress, to the caller's own function as they are. */
typedef struct watcher {
    const vg_train_recipe_options *options;
    char what[96]; /* "epoch 3/20  loss 0.1234" */
    bool begun;
    bool stop; /* the listener of the job wants to stop */
} watcher;

static void progress(watcher *w, size_t done, size_t total) {
    if (w->begun && vg_job__progress(&w->options->job, w->what, done, total) != VG_OK)
        w->stop = true;
}

static void began(watcher *w, const vg_train_event *event) {
    const vg_job *job = &w->options->job;
    vg_job__note(job, "training on %s%s", event->text,
                 event->epoch || event->step ? ", going on from the last checkpoint" : "");
    w->begun = true;
    if (vg_job__begin(job, "training", "steps") != VG_OK)
        w->stop = true;
}

static void epoch_done(watcher *w, const vg_train_event *event) {
    const vg_epoch_metrics *m = event->metrics;
    vg_job__note(
        &w->options->job,
        "epoch %zu/%zu  loss %.4f  val loss %.4f  accuracy %.4f  ECE %.4f  D %.3g  k-sensitivity %.3f  %.0f images/s",
        m->epoch, event->epochs, m->train_loss, m->val_loss, m->val_accuracy, m->val_ece, m->diversity,
        m->k_sensitivity, m->images_per_s);
}

static void step_done(watcher *w, const vg_train_event *event) {
    if (isnan(event->loss)) /* not read from the device yet */
        snprintf(w->what, sizeof w->what, "epoch %zu/%zu", event->epoch + 1, event->epochs);
    else
        snprintf(w->what, sizeof w->what, "epoch %zu/%zu  loss %.4f", event->epoch + 1, event->epochs, event->loss);
}

static int on_event(void *context, const vg_train_event *event) {
    watcher *w = context;
    const vg_train_recipe_options *o = w->options;
    size_t done = event->epoch * event->steps + event->step, total = event->steps * event->epochs;
    switch (event->kind) {
    case VG_TRAIN_START: began(w, event); break;
    case VG_TRAIN_STEP:
        step_done(w, event);
        progress(w, done, total);
        break;
    case VG_TRAIN_EPOCH:
        epoch_done(w, event);
        progress(w, done, total); /* validation took a while: asks the listener again */
        break;
    case VG_TRAIN_COLLAPSE:
        vg_job__warn(&o->job, "diversity collapse: D is %.3g after epoch %zu, its peak was %.3g; %s",
                     event->metrics->diversity, event->epoch, event->diversity_peak, event->metrics->verdict.text);
        break;
    case VG_TRAIN_REFRESH:
        snprintf(w->what, sizeof w->what, "batch-norm refresh");
        progress(w, event->step, event->steps);
        break;
    case VG_TRAIN_NOTE: vg_job__note(&o->job, "%s", event->text); break;
    case VG_TRAIN_WARNING: vg_job__warn(&o->job, "%s", event->text); break;
    case VG_TRAIN_CHECKPOINT: break;
    }
    int asked = o->event ? o->event(o->event_context, event) : 0;
    return asked || w->stop;
}

static vg_status train(vg_train_result *result, const vg_train_recipe_options *o, vg_training_data *data) {
    watcher w = {.options = o, .what = "training"};
    vg_train_options options = VG_TRAIN_OPTIONS_INIT;
    vg_dataset_info info = vg_dataset__info(data->set);
    char remark[512];
    if (info.classes < 2)
        return vg_base__fail(VG_ERR_DATA, "%s: training needs labels of at least 2 classes, found %zu", info.source,
                             info.classes);
    if (vg_dataset__remark(remark, sizeof remark, data->set))
        vg_job__warn(&o->job, "%s", remark);
    options.recipe = o->recipe;
    options.folder = o->folder;
    options.device = o->device;
    options.threads = o->threads;
    options.resume = o->resume;
    options.event = on_event;
    options.event_context = &w;
    VG_TRY(vg_training_data__describe(&options, data, o->recipe));
    vg_job__note(&o->job, "%s: %zu images to train on, %zu held out", info.name, data->fit_count, data->held_count);
    vg_status status = vg_train(result, &options);
    if (w.begun)
        vg_job__end(&o->job);
    return status;
}

vg_status vg_train_recipe(vg_train_result *result, const vg_train_recipe_options *options) {
    vg_train_recipe_options o = VG_TRAIN_RECIPE_OPTIONS_INIT;
    vg_training_data data;
    char folder[VG_RECIPE_TEXT + 8];
    VG_TRY(vg_workflow__options(&o, sizeof o, options, "vg_train_recipe_options"));
    if (!o.recipe || !result)
        return vg_base__fail(VG_ERR_ARGUMENT, "train: a recipe and a place for the result are needed");
    if (!o.folder) {
        snprintf(folder, sizeof folder, "runs/%s", o.recipe->name);
        o.folder = folder;
    }
    VG_TRY(vg_training_data__open(&data, o.recipe, o.data));
    vg_status status = train(result, &o, &data);
    vg_training_data__close(&data);
    return status;
}
