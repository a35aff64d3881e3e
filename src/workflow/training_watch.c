/* training_watch.c - reports the events of trainings to a job as lines and progress. See training_watch.h. */
#include "workflow/training_watch.h"

#include <math.h>
#include <stdio.h>

#include "base/c_locale.h"
#include "workflow/job.h"

/* "network 2 of 5: ", or nothing for a run of one network. */
static const char *prefix(char out[48], const vg_training_watch *w) {
    out[0] = 0;
    if (w->crew->networks > 1)
        snprintf(out, 48, "network %zu of %zu: ", w->network + 1, w->crew->networks);
    return out;
}

static void progress(vg_training_watch *w, unsigned long long done, unsigned long long total) {
    vg_training_crew *crew = w->crew;
    if (crew->begun && vg_job__progress(&crew->options->job, w->what, done, total) != VG_OK)
        crew->stop = true;
}

/* Steps of all networks together. */
static void step_progress(vg_training_watch *w, const vg_train_event *event) {
    vg_training_crew *crew = w->crew;
    unsigned long long done = (unsigned long long)event->epoch * event->steps + event->step;
    crew->done += done - w->done;
    w->done = done;
    crew->total = (unsigned long long)event->steps * event->epochs * crew->networks;
    progress(w, crew->done, crew->total);
}

static void began(vg_training_watch *w, const vg_train_event *event) {
    const vg_job *job = &w->crew->options->job;
    char who[48];
    vg_job__note(job, "%straining on %s%s", prefix(who, w), event->text,
                 event->epoch || event->step ? ", continuing from the last checkpoint" : "");
    if (!w->crew->begun && vg_job__begin(job, "training", "steps") != VG_OK)
        w->crew->stop = true;
    w->crew->begun = true;
    w->done = (unsigned long long)event->epoch * event->steps + event->step;
    w->crew->done += w->done;
}

static void epoch_done(vg_training_watch *w, const vg_train_event *event) {
    const vg_epoch_metrics *m = event->metrics;
    char who[48], members[64] = "";
    if (w->crew->options->recipe->ensemble != VG_ENSEMBLE_DEEP) /* a network of one member has no diversity */
        snprintf(members, sizeof members, "  D %.3g  k-sensitivity %.3f", m->diversity, m->k_sensitivity);
    vg_job__note(&w->crew->options->job,
                 "%sepoch %zu/%zu  loss %.4f  val loss %.4f  accuracy %.4f  ECE %.4f%s  %.0f images/s", prefix(who, w),
                 m->epoch, event->epochs, m->train_loss, m->val_loss, m->val_accuracy, m->val_ece, members,
                 m->images_per_s);
}

static void name_step(vg_training_watch *w, const vg_train_event *event) {
    char who[48] = "", loss[32] = "";
    if (w->crew->networks > 1)
        snprintf(who, sizeof who, "network %zu/%zu  ", w->network + 1, w->crew->networks);
    if (!isnan(event->loss)) /* NaN: not read from the device yet */
        snprintf(loss, sizeof loss, "  loss %.4f", event->loss);
    snprintf(w->what, sizeof w->what, "%sepoch %zu/%zu%s", who, event->epoch + 1, event->epochs, loss);
}

static void notify(vg_training_watch *w, const vg_train_event *event) {
    const vg_job *job = &w->crew->options->job;
    char who[48];
    switch (event->kind) {
    case VG_TRAIN_START: began(w, event); break;
    case VG_TRAIN_STEP:
        name_step(w, event);
        step_progress(w, event);
        break;
    case VG_TRAIN_EPOCH:
        epoch_done(w, event);
        step_progress(w, event); /* validation took a while: give the listener a chance to stop */
        break;
    case VG_TRAIN_COLLAPSE:
        vg_job__warn(job, "%sdiversity collapse: D is %.3g after epoch %zu, its peak was %.3g; %s", prefix(who, w),
                     event->metrics->diversity, event->epoch, event->diversity_peak, event->metrics->verdict.text);
        break;
    case VG_TRAIN_REFRESH:
        snprintf(w->what, sizeof w->what, "batch-norm refresh");
        if (w->crew->networks > 1)
            progress(w, w->crew->done, w->crew->total);
        else
            progress(w, event->step, event->steps);
        break;
    case VG_TRAIN_NOTE: vg_job__note(job, "%s%s", prefix(who, w), event->text); break;
    case VG_TRAIN_WARNING: vg_job__warn(job, "%s%s", prefix(who, w), event->text); break;
    case VG_TRAIN_CHECKPOINT: break;
    }
}

int vg_training_watch__event(void *context, const vg_train_event *event) {
    vg_training_watch *w = context;
    vg_training_crew *crew = w->crew;
    const vg_train_recipe_options *o = crew->options;
    vg_train_event numbered = *event;
    if (crew->networks > 1) {
        numbered.network = w->network + 1;
        numbered.networks = crew->networks;
    }
    pthread_mutex_lock(&crew->lock);
    notify(w, event);
    if (o->event) {
        locale_t inside = vg_locale__outside();
        if (o->event(o->event_context, &numbered))
            crew->stop = true;
        vg_locale__inside(inside);
    }
    int stop = crew->stop;
    pthread_mutex_unlock(&crew->lock);
    return stop;
}

void vg_training_crew__begin(vg_training_crew *crew, const vg_train_recipe_options *options, size_t networks) {
    *crew = (vg_training_crew){.options = options, .networks = networks};
    pthread_mutex_init(&crew->lock, NULL);
}

void vg_training_crew__end(vg_training_crew *crew) {
    if (crew->begun)
        vg_job__end(&crew->options->job);
    pthread_mutex_destroy(&crew->lock);
}
