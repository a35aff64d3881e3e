/* trainer.c - the sequence of a training: steps, validation, checkpoints, stopping and resuming. A run is a function
 * of recipe, data, backend and thread count. A checkpoint (checkpoint.h) holds all that is needed to continue with
 * the same bits. At the end of an epoch the files are written in the order metrics.jsonl, best, last: a file that is
 * missing after a kill is made again by the resumed run, with the same content. */
#include "nn/trainer.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/c_locale.h"
#include "formats/tfevents.h"
#include "nn/recipe.h"
#include "nn/resident_data.h"
#include "nn/train_device.h"

double vg_train__clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

size_t vg_train__snapshot_epoch(const vg_recipe *recipe, size_t i) { return i * recipe->epochs / recipe->snapshots; }

/* One cosine from the rate to 0 for each snapshot (Huang et al., Snapshot ensembles; PyTorch's
 * CosineAnnealingWarmRestarts). */
static double cyclic_rate(const vg_recipe *recipe, uint64_t step, uint64_t steps) {
    const double pi = 3.14159265358979323846;
    uint64_t each = steps / recipe->epochs, begin = 0, end = 0;
    for (size_t i = 1; i <= recipe->snapshots && end <= step; i++) {
        begin = end;
        end = vg_train__snapshot_epoch(recipe, i) * each;
    }
    return recipe->rate * 0.5 * (1 + cos(pi * (double)(step - begin) / (double)(end - begin)));
}

/* Cosine: rises from 0.1 to 1 over the first quarter of all steps and falls back to 0.1 over the rest, both along a
 * cosine. */
double vg_train__rate(const vg_recipe *recipe, uint64_t step, uint64_t steps) {
    const double pi = 3.14159265358979323846, low = 0.1;
    if (!recipe->schedule)
        return recipe->rate;
    if (recipe->schedule == 2)
        return cyclic_rate(recipe, step, steps);
    double p = (double)step / (double)steps;
    double part = p < 0.25 ? 0.5 * (1 - cos(pi * p / 0.25)) : 0.5 * (1 + cos(pi * (p - 0.25) / 0.75));
    return recipe->rate * (low + (1 - low) * part);
}

int vg_train__event(vg_training *t, vg_train_event event) {
    event.epochs = t->recipe.epochs;
    event.epoch = t->state.epoch;
    event.steps = t->options.train.steps;
    if (event.kind != VG_TRAIN_REFRESH)
        event.step = t->state.step;
    if (t->options.event && t->options.event(t->options.event_context, &event))
        t->stop = true;
    return t->stop;
}

void vg_train__text(vg_training *t, vg_train_event_kind kind, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    vg_train__event(t, (vg_train_event){.kind = kind, .text = text, .loss = NAN});
}

/* --- one epoch */

static vg_status read_totals(vg_training *t) {
    vg_loss_totals totals;
    VG_TRY(t->backend->ops->loss_read(t->backend, &totals));
    if (totals.bad_step >= 0)
        return vg_base__fail(VG_ERR_NUMERIC,
                             "the loss is not finite at step %lld (epoch %zu); the last checkpoint is of epoch %zu",
                             (long long)totals.bad_step + 1, t->state.epoch + 1, t->saved_epoch);
    t->state.loss_sum += totals.loss + t->learner->penalty;
    t->learner->penalty = 0;
    t->state.loss_rows += totals.rows;
    t->state.correct += totals.correct;
    return VG_OK;
}

size_t vg_train__resident_rows(const vg_training *t, size_t step) {
    size_t left = t->options.train.samples - step * t->recipe.batch;
    return left < t->recipe.batch ? left : t->recipe.batch;
}

static vg_status next_step(vg_training *t) {
    const vg_feed *feed = &t->options.train;
    vg_train_state *s = &t->state;
    vg_nn_batch batch;
    uint32_t number = (uint32_t)s->total_steps;
    t->rate = vg_train__rate(&t->recipe, s->total_steps, (uint64_t)t->recipe.epochs * feed->steps);
    if (t->resident)
        return vg_learner__step_stored(t->learner, vg_resident_data__store(t->resident),
                                       (uint64_t)s->step * t->recipe.batch, vg_train__resident_rows(t, s->step), number,
                                       t->rate);
    VG_TRY(feed->next(feed->context, &batch));
    return vg_learner__step(t->learner, batch.images, batch.labels, batch.indices, batch.n, number, t->rate);
}

/* Whether a checkpoint is due by the clock, where the recipe sets a time. */
static bool is_due(const vg_training *t) {
    return t->recipe.checkpoint_seconds > 0 && vg_train__clock() - t->saved_at >= t->recipe.checkpoint_seconds;
}

static vg_status train_epoch(vg_training *t) {
    const vg_feed *feed = &t->options.train;
    vg_train_state *s = &t->state;
    unsigned every = t->backend->read_every ? t->backend->read_every : 1;
    double begun = vg_train__clock();
    VG_TRY(t->resident ? vg_resident_data__epoch(t->resident, s->epoch) : feed->seek(feed->context, s->epoch, s->step));
    s->seconds += vg_train__clock() - begun;
    while (s->step < feed->steps && !t->stop) {
        double start = vg_train__clock();
        VG_TRY(next_step(t));
        s->step++;
        s->total_steps++;
        bool read = s->step % every == 0 || s->step == feed->steps;
        if (read)
            VG_TRY(read_totals(t));
        s->seconds += vg_train__clock() - start;
        vg_train__event(t, (vg_train_event){.kind = VG_TRAIN_STEP,
                                            .loss = s->loss_rows ? s->loss_sum / (double)s->loss_rows : NAN});
        bool due = is_due(t) && s->step < feed->steps && !t->stop;
        if ((t->stop || due) && !read) /* a checkpoint follows, which contains the sums of the loss */
            VG_TRY(read_totals(t));
        if (due)
            VG_TRY(vg_train__save(t, "last.safetensors", true));
    }
    return VG_OK;
}

static vg_status logits_room(vg_training *t, size_t wanted) {
    if (wanted <= t->logits_room)
        return VG_OK;
    vg_base__release(t->logits);
    t->logits = NULL;
    t->logits_room = 0;
    VG_TRY(vg_base__alloc(&t->logits, wanted, sizeof(float), "logits"));
    t->logits_room = wanted;
    return VG_OK;
}

/* Predicts the whole validation set and gives the logits to the monitor, batch by batch. */
static vg_status feed_monitor(vg_training *t, vg_monitor *monitor, const vg_members *members) {
    const vg_feed *feed = &t->options.validation;
    uint64_t seen = 0;
    VG_TRY(feed->seek(feed->context, 0, 0));
    for (size_t i = 0; i < feed->steps; i++) {
        vg_nn_batch batch;
        VG_TRY(feed->next(feed->context, &batch));
        VG_TRY(logits_room(t, batch.n * members->count * t->state.classes));
        VG_TRY(vg_learner__predict(t->learner, t->logits, batch.images, batch.n, seen, members, 128));
        VG_TRY(vg_monitor__feed(monitor, t->logits, batch.labels, batch.n));
        seen += batch.n;
    }
    return VG_OK;
}

vg_status vg_train__validate(vg_training *t, vg_epoch_metrics *metrics) {
    bool mcd = t->recipe.ensemble == VG_ENSEMBLE_MCD;
    vg_members members = {mcd, mcd ? t->recipe.monitor_passes : 1, mcd ? 1 : vg_recipe__heads(&t->recipe), false, 0};
    members.count = members.passes * members.heads;
    vg_monitor_options options = {.members = members.count,
                                  .classes = t->state.classes,
                                  .mixture = t->recipe.loss == VG_LOSS_MIXTURE,
                                  .gates = t->gates,
                                  .threads = t->options.threads};
    for (size_t i = 0; i < t->recipe.k_count; i++)
        options.k = t->recipe.k[i] > options.k ? t->recipe.k[i] : options.k;
    vg_monitor *monitor = NULL;
    vg_learner__exchange(t->learner);
    vg_status status = t->gates ? vg_learner__gates(t->learner, t->gates) : VG_OK;
    if (status == VG_OK)
        status = vg_monitor__new(&monitor, &options);
    if (status == VG_OK)
        status = feed_monitor(t, monitor, &members);
    vg_learner__exchange(t->learner);
    if (status == VG_OK)
        status = vg_monitor__figures(monitor, metrics);
    vg_monitor__free(monitor);
    return status;
}

/* The diversity of an ensemble that becomes certain falls far below its peak too. Therefore the verdict decides as
 * well: members that still differ where they are uncertain have not collapsed. */
static bool still_diverse(vg_verdict_state state) {
    return state != VG_VERDICT_IDENTICAL && state != VG_VERDICT_COLLAPSED && state != VG_VERDICT_LOW;
}

/* Raises the alarm once when the diversity stays below the set share of its peak for several epochs, and again only
 * after it has recovered. */
static void check_collapse(vg_training *t, const vg_epoch_metrics *metrics) {
    vg_train_state *s = &t->state;
    if (metrics->diversity > s->peak_diversity)
        s->peak_diversity = metrics->diversity;
    if (metrics->diversity >= t->recipe.collapse_fraction * s->peak_diversity ||
        still_diverse(metrics->verdict.state)) {
        s->low_epochs = 0;
        s->collapsed = false;
        return;
    }
    if (++s->low_epochs < t->recipe.collapse_epochs || s->collapsed)
        return;
    s->collapsed = true;
    t->result.collapsed = 1;
    vg_train__event(
        t, (vg_train_event){.kind = VG_TRAIN_COLLAPSE, .metrics = metrics, .diversity_peak = s->peak_diversity});
}

bool vg_train__finished(const vg_training *t) {
    return t->state.epoch >= t->recipe.epochs || (t->recipe.patience && t->state.waited >= t->recipe.patience);
}

/* The best by the recipe's rule; ties are decided by the other figure. */
static bool is_best(const vg_training *t, const vg_epoch_metrics *m) {
    const vg_train_state *s = &t->state;
    bool lower = m->val_loss<s->best_loss, higher = m->val_accuracy> s->best_accuracy;
    if (s->best_epoch == 0)
        return true;
    if (t->recipe.best_by)
        return lower || (m->val_loss == s->best_loss && higher);
    return higher || (m->val_accuracy == s->best_accuracy && lower);
}

/* Counts the epochs since the validation loss was lowest. A loss that is not finite counts as not fallen. */
static void count_waiting(vg_training *t, const vg_epoch_metrics *m) {
    vg_train_state *s = &t->state;
    bool first = s->waited == s->epoch - 1; /* no finite one was seen yet */
    if (isfinite(m->val_loss) && (first || m->val_loss < s->lowest_loss - t->recipe.min_delta)) {
        s->lowest_loss = m->val_loss;
        s->waited = 0;
    } else {
        s->waited++;
    }
}

/* Snapshots are written before the last checkpoint, so that a kill between the two loses nothing. */
static vg_status save_snapshot(vg_training *t) {
    char name[VG_SNAPSHOT_NAME];
    for (size_t i = 1; i <= t->recipe.snapshots; i++)
        if (t->state.epoch == vg_train__snapshot_epoch(&t->recipe, i))
            return vg_train__save(t, vg_train__snapshot_name(name, i), false);
    return VG_OK;
}

static vg_status finish_epoch(vg_training *t) {
    vg_train_state *s = &t->state;
    double rows = (double)s->loss_rows;
    vg_epoch_metrics m = {.epoch = s->epoch + 1,
                          .train_loss = s->loss_sum / rows,
                          .train_accuracy = (double)s->correct / rows,
                          .rate = t->rate,
                          .images_per_s = s->seconds > 0 ? rows / s->seconds : 0};
    VG_TRY(vg_train__validate(t, &m));
    s->epoch++;
    s->step = 0;
    s->loss_sum = s->seconds = 0;
    s->loss_rows = s->correct = 0;
    bool best = is_best(t, &m);
    count_waiting(t, &m);
    if (best && isfinite(m.val_loss)) {
        s->best_epoch = s->epoch;
        s->best_accuracy = m.val_accuracy;
        s->best_loss = m.val_loss;
        t->result.best = m;
    }
    t->result.last = m;
    t->result.epochs_done++;
    check_collapse(t, &m);
    VG_TRY(vg_train__log(t, &m));
    if (best)
        VG_TRY(vg_train__save(t, "best.safetensors", false));
    VG_TRY(save_snapshot(t));
    size_t every = t->recipe.checkpoint_every;
    if (vg_train__finished(t) || (every ? s->epoch % every == 0 : is_due(t)))
        VG_TRY(vg_train__save(t, "last.safetensors", true));
    VG_TRY(vg_train__write_gates(t));
    vg_train__event(t, (vg_train_event){.kind = VG_TRAIN_EPOCH, .metrics = &t->result.last});
    return VG_OK;
}

/* --- the run */

static vg_status scale_prior(vg_training *t) {
    enum { IMAGES = 2000 };
    const vg_feed *feed = &t->options.train;
    size_t image = t->state.channels * t->state.height * t->state.width,
           wanted = feed->samples < IMAGES ? feed->samples : IMAGES;
    float *images;
    if (!t->learner->prior)
        return VG_OK;
    VG_TRY(vg_base__alloc(&images, wanted * image, sizeof *images, "images for head_prior"));
    vg_status status = feed->seek(feed->context, 0, 0);
    for (size_t have = 0; have < wanted && status == VG_OK;) {
        vg_nn_batch batch = {0};
        status = feed->next(feed->context, &batch);
        size_t take = batch.n < wanted - have ? batch.n : wanted - have;
        if (status == VG_OK)
            memcpy(images + have * image, batch.images, take * image * sizeof *images);
        have += take;
    }
    if (status == VG_OK)
        status = vg_learner__scale_prior(t->learner, images, wanted);
    vg_base__release(images);
    return status;
}

static vg_status run_epochs(vg_training *t) {
    bool was_finished = vg_train__finished(t);
    while (!vg_train__finished(t) && !t->stop) {
        VG_TRY(train_epoch(t));
        if (t->state.step == t->options.train.steps)
            VG_TRY(finish_epoch(t));
    }
    if (t->state.epoch < t->recipe.epochs && vg_train__finished(t))
        vg_train__text(t, VG_TRAIN_NOTE,
                       "%s after epoch %zu: the validation loss has not fallen below %.4f, that of epoch %zu, for %zu "
                       "epochs; a larger patience continues",
                       was_finished ? "stopped early" : "stopping early", t->state.epoch, t->state.lowest_loss,
                       t->state.epoch - t->state.waited, t->state.waited);
    if (t->stop) {
        VG_TRY(vg_train__save(t, "last.safetensors", true));
        VG_TRY(vg_train__write_gates(t));
        return vg_base__fail(VG_ERR_INTERRUPTED,
                             "stopped in epoch %zu after step %zu of %zu; the checkpoint is %s/last.safetensors",
                             t->state.epoch + 1, t->state.step, t->options.train.steps, t->options.folder);
    }
    if (vg_train__wants_refresh(t) && !t->learner->model->has_refreshed)
        VG_TRY(vg_train__refresh(t));
    VG_TRY(vg_train__write_gates(t));
    /* A finished run without metrics.jsonl: its figures are computed again. */
    if (t->result.last.epoch < t->state.epoch) {
        VG_TRY(vg_train__validate(t, &t->result.last));
        t->result.last.epoch = t->state.epoch;
    }
    return VG_OK;
}

static vg_status check_options(const vg_train_options *o) {
    if (!o->recipe || !o->folder || !o->train.next || !o->train.seek || !o->validation.next || !o->validation.seek)
        return vg_base__fail(VG_ERR_ARGUMENT, "training needs a recipe, a folder and two feeds");
    if (!o->train.steps || !o->validation.steps)
        return vg_base__fail(VG_ERR_DATA, "there are no images to train or to validate on");
    if (o->classes < 2)
        return vg_base__fail(VG_ERR_DATA, "training needs labels of at least 2 classes, found %zu", o->classes);
    if (vg_recipe__is_deep(o->recipe))
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_train trains one network; a deep ensemble is vg_train_recipe's");
    return vg_recipe__check(o->recipe);
}

/* Reports settings that the user should know about before the first step. */
static void report_settings(vg_training *t, bool resumed) {
    const vg_recipe *r = &t->recipe;
    bool on_cpu = strcmp(t->backend->name, "cuda") != 0;
    if (t->changes[0])
        vg_train__text(t, VG_TRAIN_NOTE, "continuing with other settings: %s", t->changes);
    if (resumed && r->epochs != t->old_epochs && r->schedule)
        vg_train__text(t, VG_TRAIN_NOTE,
                       "from here on the learning rate follows the schedule of %zu epochs instead of that of %zu",
                       r->epochs, t->old_epochs);
    if (r->bfloat16 == VG_COMPUTE_TF32 && t->backend->compute != VG_COMPUTE_TF32)
        vg_train__text(t, VG_TRAIN_WARNING, "compute tf32 is for GPUs: %s computes in float32", t->backend->device);
    if (resumed && on_cpu && t->old_threads && t->old_threads != t->backend->threads && !vg_train__finished(t))
        vg_train__text(
            t, VG_TRAIN_WARNING,
            "continuing with %u thread%s after %u: sums are taken in another order, so the bits differ from those of a "
            "run that was not stopped",
            t->backend->threads, t->backend->threads == 1 ? "" : "s", t->old_threads);
    if (r->batch > t->options.train.samples)
        vg_train__text(t, VG_TRAIN_WARNING,
                       "batch %zu is larger than the %zu training images: every step takes all of them", r->batch,
                       t->options.train.samples);
    if (vg_train__wants_refresh(t) && r->ensemble != VG_ENSEMBLE_MCD && !vg_train__finished(t))
        vg_train__text(
            t, VG_TRAIN_NOTE,
            "validation figures are taken without dropout before batch-norm is refreshed, and improve by the "
            "refresh that follows the last epoch");
}

/* The learner, with the class weights of the caller or of the recipe. */
static vg_status make_learner(vg_training *t) {
    vg_learner_options lo = vg_checkpoint__learner_options(&t->recipe, &t->state, true);
    const vg_recipe *r = &t->recipe;
    const double *given = t->options.class_weights ? t->options.class_weights : r->class_weights;
    size_t classes = t->options.classes;
    float *weights;
    if (!r->class_balance)
        return vg_learner__new(&t->learner, t->backend, &lo);
    if (r->class_balance == 1 && !t->options.class_weights)
        return vg_base__fail(VG_ERR_ARGUMENT, "class_weights balanced needs vg_train_options.class_weights");
    if (r->class_balance == 2 && r->class_weight_count != classes)
        return vg_base__fail(VG_ERR_ARGUMENT, "class_weights has %zu numbers, the data %zu classes",
                             r->class_weight_count, classes);
    VG_TRY(vg_base__alloc(&weights, classes, sizeof *weights, "class weights"));
    for (size_t c = 0; c < classes; c++)
        weights[c] = (float)given[c];
    lo.class_weights = weights;
    vg_status status = vg_learner__new(&t->learner, t->backend, &lo);
    vg_base__release(weights);
    return status;
}

static vg_status start_learner(vg_training *t, bool resumed) {
    VG_TRY(make_learner(t));
    if (t->learner->model->net->gate >= 0)
        VG_TRY(vg_base__alloc(&t->gates, t->state.classes, sizeof *t->gates, "the gate"));
    t->saved_at = vg_train__clock();
    t->state.threads = t->backend->threads;
    if (resumed)
        return vg_train__resume(t);
    VG_TRY(vg_learner__initialise(t->learner));
    VG_TRY(scale_prior(t));
    VG_TRY(vg_train__describe(t));
    return vg_train__begin_log(t);
}

static vg_status begin(vg_training *t) {
    const vg_train_options *o = &t->options;
    vg_backend_options device = {.threads = o->threads, .compute = (vg_compute)t->recipe.bfloat16};
    bool resumed = false;
    t->state.channels = o->channels;
    t->state.height = o->height;
    t->state.width = o->width;
    t->state.classes = o->classes;
    t->class_names = o->class_names;
    memcpy(t->state.mean, o->mean, sizeof t->state.mean);
    memcpy(t->state.std, o->std, sizeof t->state.std);
    if (o->class_names)
        VG_TRY(vg_checkpoint__check_names(o->class_names, o->classes));
    VG_TRY(vg_train__folder(t));
    VG_TRY(vg_run_lock__take(&t->lock, o->folder));
    VG_TRY(vg_train__resumable(t, &resumed));
    VG_TRY(o->shared ? vg_train_device__backend(&t->backend, o->shared, o->device, &device)
                     : vg_backend__open(&t->backend, o->device, &device));
    VG_TRY(start_learner(t, resumed));
    VG_TRY(vg_train__begin_events(t));
    if (o->resident.plan && vg_learner__takes_store(t->learner)) {
        vg_status status = vg_resident_data__new(&t->resident, t->backend, o, o->train.samples);
        if (status != VG_OK && status != VG_ERR_UNSUPPORTED)
            return status;
    }
    vg_train__event(t, (vg_train_event){.kind = VG_TRAIN_START, .text = t->backend->device, .loss = NAN});
    report_settings(t, resumed);
    return VG_OK;
}

vg_status vg_train(vg_train_result *result, const vg_train_options *options) {
    VG_TRY(vg_base__given(result && options, "vg_train: result and options"));
    VG_IN_C_LOCALE;
    static const vg_train_options defaults = VG_TRAIN_OPTIONS_INIT;
    vg_train_options o;
    vg_training *t;
    double start = vg_train__clock();
    memset(result, 0, sizeof *result);
    VG_TRY(vg_base__take_options(&o, options, &defaults, sizeof o, "vg_train_options"));
    VG_TRY(check_options(&o));
    VG_TRY(vg_base__zalloc(&t, 1, sizeof *t, "training"));
    t->options = o;
    t->recipe = *o.recipe;
    vg_status status = begin(t);
    if (status == VG_OK)
        status = run_epochs(t);
    *result = t->result;
    result->seconds = vg_train__clock() - start;
    vg_resident_data__free(t->resident);
    vg_status closed = vg_events__close(t->events);
    status = status == VG_OK ? closed : status;
    vg_learner__free(t->learner);
    if (!o.shared)
        vg_backend__close(t->backend);
    vg_base__release(t->logits);
    vg_base__release(t->gates);
    vg_base__release(t->log);
    vg_checkpoint__free_names(t->kept_names, t->state.classes);
    vg_run_lock__release(t->lock);
    vg_base__release(t);
    return status;
}
