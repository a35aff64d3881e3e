/* trainer.c - the course of a training: steps, validation, checkpoints, stopping and resuming. A run is a function
 * of recipe, data, backend and thread count. A checkpoint (checkpoint.h) holds all that is needed to continue with
 * the same bits. At the end of an epoch the files are written in the order metrics.jsonl, best, last: whatever is
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

#include "nn/recipe.h"
#include "nn/resident_data.h"
#include "nn/train_device.h"

double vg_train__clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Rises from 0.1 to 1 over the first quarter of all steps and falls back to 0.1 over the rest, both along a cosine. */
double vg_train__rate(const vg_recipe *recipe, uint64_t step, uint64_t steps) {
    const double pi = 3.14159265358979323846, low = 0.1;
    if (!recipe->schedule)
        return recipe->rate;
    double p = (double)step / (double)steps;
    double part = p < 0.25 ? 0.5 * (1 - cos(pi * p / 0.25)) : 0.5 * (1 + cos(pi * (p - 0.25) / 0.75));
    return recipe->rate * (low + (1 - low) * part);
}

static int send_event(vg_training *t, vg_train_event event) {
    event.epochs = t->recipe.epochs;
    event.epoch = t->state.epoch;
    event.steps = t->options.train.steps;
    if (event.kind != VG_TRAIN_REFRESH)
        event.step = t->state.step;
    if (t->options.event && t->options.event(t->options.event_context, &event))
        t->stop = true;
    return t->stop;
}

/* Sends a line of text to the user. */
VG_PRINTF(3, 4) static void send_text(vg_training *t, vg_train_event_kind kind, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    send_event(t, (vg_train_event){.kind = kind, .text = text, .loss = NAN});
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

/* The number of images in step `step` of an epoch on resident data. */
static size_t resident_rows(const vg_training *t, size_t step) {
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
                                       (uint64_t)s->step * t->recipe.batch, resident_rows(t, s->step), number, t->rate);
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
        send_event(t, (vg_train_event){.kind = VG_TRAIN_STEP,
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

/* Measures the network on the validation set: all heads without dropout, or for MCD a few stochastic passes. */
static vg_status validate(vg_training *t, vg_epoch_metrics *metrics) {
    bool mcd = t->recipe.ensemble == VG_ENSEMBLE_MCD;
    vg_members members = {mcd, mcd ? t->recipe.monitor_passes : 1, mcd ? 1 : t->recipe.heads, false, 0};
    members.count = members.passes * members.heads;
    vg_monitor_options options = {.members = members.count,
                                  .classes = t->state.classes,
                                  .mixture = t->recipe.mixture,
                                  .threads = t->options.threads};
    for (size_t i = 0; i < t->recipe.k_count; i++)
        options.k = t->recipe.k[i] > options.k ? t->recipe.k[i] : options.k;
    vg_monitor *monitor;
    VG_TRY(vg_monitor__new(&monitor, &options));
    vg_status status = feed_monitor(t, monitor, &members);
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
    send_event(t, (vg_train_event){.kind = VG_TRAIN_COLLAPSE, .metrics = metrics, .diversity_peak = s->peak_diversity});
}

static vg_status finish_epoch(vg_training *t) {
    vg_train_state *s = &t->state;
    double rows = (double)s->loss_rows;
    vg_epoch_metrics m = {.epoch = s->epoch + 1,
                          .train_loss = s->loss_sum / rows,
                          .train_accuracy = (double)s->correct / rows,
                          .rate = t->rate,
                          .images_per_s = s->seconds > 0 ? rows / s->seconds : 0};
    VG_TRY(validate(t, &m));
    s->epoch++;
    s->step = 0;
    s->loss_sum = s->seconds = 0;
    s->loss_rows = s->correct = 0;
    bool best = s->best_epoch == 0 || m.val_accuracy > s->best_accuracy ||
                (m.val_accuracy == s->best_accuracy && m.val_loss < s->best_loss);
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
    size_t every = t->recipe.checkpoint_every;
    if (every ? s->epoch % every == 0 || s->epoch == t->recipe.epochs : is_due(t) || s->epoch == t->recipe.epochs)
        VG_TRY(vg_train__save(t, "last.safetensors", true));
    send_event(t, (vg_train_event){.kind = VG_TRAIN_EPOCH, .metrics = &t->result.last});
    return VG_OK;
}

/* --- batch-norm refresh */

static bool wants_refresh(const vg_training *t) {
    const vg_network *net = t->learner->model->net;
    bool both = net->norm_count > 0 && net->first_dropout < net->node_count;
    return t->recipe.bn_refresh < 0 ? both : t->recipe.bn_refresh && net->norm_count > 0;
}

static vg_status refresh_once(vg_training *t) {
    const vg_feed *feed = &t->options.train;
    VG_TRY(t->resident ? vg_resident_data__epoch(t->resident, t->recipe.epochs)
                       : feed->seek(feed->context, t->recipe.epochs, 0));
    for (size_t i = 0; i < feed->steps; i++) {
        vg_nn_batch batch = {.n = t->resident ? resident_rows(t, i) : 0};
        if (!t->resident)
            VG_TRY(feed->next(feed->context, &batch));
        VG_TRY(vg_learner__refresh(t->learner, batch.images, t->resident ? vg_resident_data__store(t->resident) : NULL,
                                   (uint64_t)i * t->recipe.batch, batch.n, i));
        if (send_event(t, (vg_train_event){.kind = VG_TRAIN_REFRESH, .step = i + 1, .loss = NAN}))
            return vg_base__fail(
                VG_ERR_INTERRUPTED,
                "stopped while taking batch-norm statistics again; the checkpoint is %s/last.safetensors, and "
                "resume takes them from the start",
                t->options.folder);
    }
    t->learner->model->has_refreshed = true;
    return VG_OK;
}

/* Refreshes the best checkpoint first, so that the last one, whose statistics mark the run as finished, is written
 * last. */
static vg_status refresh(vg_training *t) {
    char best[4096];
    vg_train_state state = t->state;
    VG_TRY(vg_train__path(best, sizeof best, t, "best.safetensors"));
    if (state.best_epoch > 0 && state.best_epoch < state.epoch) {
        vg_recipe recipe;
        char last[4096];
        VG_TRY(vg_train__path(last, sizeof last, t, "last.safetensors"));
        VG_TRY(vg_checkpoint__peek(best, &recipe, &t->state));
        VG_TRY(vg_checkpoint__load(best, t->learner, false));
        vg_status status = refresh_once(t);
        if (status == VG_OK)
            status = vg_train__save(t, "best.safetensors", false);
        t->state = state;
        VG_TRY(status);
        VG_TRY(vg_checkpoint__load(last, t->learner, true));
    }
    VG_TRY(refresh_once(t));
    if (state.best_epoch == state.epoch)
        VG_TRY(vg_train__save(t, "best.safetensors", false));
    if (t->recipe.ensemble != VG_ENSEMBLE_MCD) { /* MCD is validated with dropout, on the running statistics */
        vg_epoch_metrics m = {0};
        VG_TRY(validate(t, &m));
        VG_TRY(vg_train__log_refreshed(t, &m));
        send_text(t, VG_TRAIN_NOTE, "with batch-norm refreshed: val loss %.4f  accuracy %.4f  ECE %.4f", m.val_loss,
                  m.val_accuracy, m.val_ece);
    }
    return vg_train__save(t, "last.safetensors", true);
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
    while (t->state.epoch < t->recipe.epochs && !t->stop) {
        VG_TRY(train_epoch(t));
        if (t->state.step == t->options.train.steps)
            VG_TRY(finish_epoch(t));
    }
    if (t->stop) {
        VG_TRY(vg_train__save(t, "last.safetensors", true));
        return vg_base__fail(VG_ERR_INTERRUPTED,
                             "stopped in epoch %zu after step %zu of %zu; the checkpoint is %s/last.safetensors",
                             t->state.epoch + 1, t->state.step, t->options.train.steps, t->options.folder);
    }
    if (wants_refresh(t) && !t->learner->model->has_refreshed)
        VG_TRY(refresh(t));
    /* A finished run without metrics.jsonl: its figures are computed again. */
    if (t->result.last.epoch < t->state.epoch) {
        VG_TRY(validate(t, &t->result.last));
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
    if (o->recipe->ensemble > VG_ENSEMBLE_MCD_LLE)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_train trains one network; a deep ensemble is vg_train_recipe's");
    return vg_recipe__check(o->recipe);
}

/* Reports settings that the user should know about before the first step. */
static void report_settings(vg_training *t, bool resumed) {
    const vg_recipe *r = &t->recipe;
    bool on_cpu = strcmp(t->backend->name, "cuda") != 0;
    if (t->changes[0])
        send_text(t, VG_TRAIN_NOTE, "going on with other settings: %s", t->changes);
    if (resumed && r->epochs != t->old_epochs && r->schedule)
        send_text(t, VG_TRAIN_NOTE,
                  "the learning rate follows the schedule of %zu epochs from here on, no longer that of %zu", r->epochs,
                  t->old_epochs);
    if (r->bfloat16 == VG_COMPUTE_TF32 && t->backend->compute != VG_COMPUTE_TF32)
        send_text(t, VG_TRAIN_WARNING, "compute tf32 is for GPUs: %s computes in float32", t->backend->device);
    if (resumed && on_cpu && t->old_threads && t->old_threads != t->backend->threads && t->state.epoch < r->epochs)
        send_text(
            t, VG_TRAIN_WARNING,
            "going on with %u threads after %u: sums are taken in another order, so the bits differ from those of a "
            "run that was not stopped",
            t->backend->threads, t->old_threads);
    if (r->batch > t->options.train.samples)
        send_text(t, VG_TRAIN_WARNING, "batch %zu is larger than the %zu training images: every step takes all of them",
                  r->batch, t->options.train.samples);
    if (wants_refresh(t) && r->ensemble != VG_ENSEMBLE_MCD && t->state.epoch < r->epochs)
        send_text(t, VG_TRAIN_NOTE,
                  "validation figures are taken without dropout before batch-norm is refreshed, and improve by the "
                  "refresh that follows the last epoch");
}

static vg_status start_learner(vg_training *t, bool resumed) {
    vg_learner_options lo = vg_checkpoint__learner_options(&t->recipe, &t->state, true);
    VG_TRY(vg_learner__new(&t->learner, t->backend, &lo));
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
    if (o->resident.plan && vg_learner__takes_store(t->learner)) {
        vg_status status = vg_resident_data__new(&t->resident, t->backend, o, o->train.samples);
        if (status != VG_OK && status != VG_ERR_UNSUPPORTED)
            return status;
    }
    send_event(t, (vg_train_event){.kind = VG_TRAIN_START, .text = t->backend->device, .loss = NAN});
    report_settings(t, resumed);
    return VG_OK;
}

vg_status vg_train(vg_train_result *result, const vg_train_options *options) {
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
    vg_learner__free(t->learner);
    if (!o.shared)
        vg_backend__close(t->backend);
    vg_base__release(t->logits);
    vg_base__release(t->log);
    vg_checkpoint__free_names(t->kept_names, t->state.classes);
    vg_run_lock__release(t->lock);
    vg_base__release(t);
    return status;
}
