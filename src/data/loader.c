/* loader.c - batches prepared ahead by worker threads, the same content in the same order at any number of threads.
 *
 * Batches are numbered by tickets, epoch * steps + step. Ticket t is prepared in slot t mod slots of a ring. A worker
 * that is free takes the next ticket, under the lock, as soon as its slot is free. It copies the numbers of its samples
 * under the same lock, because only the order of one epoch is kept at a time, and fills the slot without the lock. The
 * caller takes slots in ticket order. The content of a batch is a function of (seed, epoch, step) and of (seed, epoch,
 * index) alone. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "data/augment.h"
#include "data/balance.h"

/* Separates the orders from all other draws that use the seed of the run. */
static const uint64_t order_domain = 0x6f72646572206f66ULL;

typedef enum slot_state { SLOT_FREE, SLOT_FILLING, SLOT_READY } slot_state;

typedef struct slot {
    slot_state state;
    float *images;   /* batch * C * H * W */
    int32_t *labels; /* batch */
    size_t *indices; /* batch */
    size_t count, step;
    uint64_t epoch;
    vg_status status; /* not VG_OK: an image could not be decoded */
    char *message;    /* why, or NULL */
} slot;

typedef struct worker {
    struct vg_loader *loader;
    pthread_t thread;
    vg_sample_scratch scratch;
    bool started;
} worker;

struct vg_loader {
    vg_sample_plan plan;
    size_t *samples; /* count: what an epoch goes through, unshuffled */
    size_t *order;   /* count: the order of the epoch in which the next ticket lies */
    size_t count, batch, steps;
    bool shuffle;
    vg_balance balance; /* groups 0: every sample once per epoch */
    uint64_t order_epoch;
    bool order_known;

    pthread_mutex_t lock;
    pthread_cond_t work, ready, idle; /* a slot became free; a slot became ready; no worker is filling */
    bool stop;
    unsigned filling;
    uint64_t next_epoch; /* the next ticket to hand to a worker */
    size_t next_step;
    size_t next_slot, caller_slot;
    bool held; /* the caller has the slot before caller_slot */
    slot *slots;
    size_t slot_count;
    worker *workers;
    unsigned worker_count;
};

static void order_of(size_t *order, const vg_loader *loader, uint64_t epoch) {
    memcpy(order, loader->samples, loader->count * sizeof *order);
    if (loader->shuffle || loader->balance.groups) {
        vg_random random = vg_random__start(loader->plan.seed ^ order_domain, epoch);
        if (loader->balance.groups) {
            vg_balance__draw(order, loader->count, &loader->balance, &random);
            return;
        }
        vg_random__shuffle(&random, order, loader->count);
    }
}

static void set_order(vg_loader *loader, uint64_t epoch) {
    if (loader->order_known && (loader->order_epoch == epoch || (!loader->shuffle && !loader->balance.groups)))
        return;
    order_of(loader->order, loader, epoch);
    loader->order_epoch = epoch;
    loader->order_known = true;
}

/* Gives the next ticket, whose slot is free, to a worker. The lock must be held. */
static slot *take_ticket(vg_loader *loader) {
    slot *s = &loader->slots[loader->next_slot];
    set_order(loader, loader->next_epoch);
    size_t first = loader->next_step * loader->batch;
    s->count = loader->count - first < loader->batch ? loader->count - first : loader->batch;
    memcpy(s->indices, loader->order + first, s->count * sizeof *s->indices);
    s->epoch = loader->next_epoch, s->step = loader->next_step;
    s->state = SLOT_FILLING;
    loader->filling++;
    loader->next_slot = (loader->next_slot + 1) % loader->slot_count;
    if (++loader->next_step == loader->steps)
        loader->next_step = 0, loader->next_epoch++;
    return s;
}

static void fill_slot(slot *s, const vg_sample_plan *plan, vg_sample_scratch *scratch) {
    const vg_dataset *set = plan->set;
    size_t image = vg_dataset__image(set);
    s->status = VG_OK;
    for (size_t i = 0; i < s->count && s->status == VG_OK; i++) {
        s->status = vg_sample__make(s->images + i * image, scratch, plan, s->epoch, s->indices[i]);
        s->labels[i] = set->labels ? set->labels[s->indices[i]] : -1;
    }
    if (s->status != VG_OK) { /* the message belongs to this thread: the caller gets a copy */
        free(s->message);
        s->message = strdup(vg_error_message());
    }
}

static void *work(void *argument) {
    worker *self = argument;
    vg_loader *loader = self->loader;
    pthread_mutex_lock(&loader->lock);
    while (!loader->stop) {
        if (loader->slots[loader->next_slot].state != SLOT_FREE) {
            pthread_cond_wait(&loader->work, &loader->lock);
            continue;
        }
        slot *s = take_ticket(loader);
        pthread_mutex_unlock(&loader->lock);
        fill_slot(s, &loader->plan, &self->scratch);
        pthread_mutex_lock(&loader->lock);
        s->state = SLOT_READY;
        if (--loader->filling == 0)
            pthread_cond_signal(&loader->idle);
        pthread_cond_signal(&loader->ready);
    }
    pthread_mutex_unlock(&loader->lock);
    return NULL;
}

static vg_status check_options(const vg_dataset *set, const size_t *indices, size_t count,
                               const vg_loader_options *options) {
    if (!set)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_loader__new: set must not be NULL");
    if (options->batch == 0 || count == 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: batches of %zu over %zu samples, expected at least 1 of each",
                             set->name, options->batch, count);
    if (options->drop_last && count < options->batch)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: %zu samples do not make one full batch of %zu", set->name, count,
                             options->batch);
    if (options->statistics.channels != 0 && options->statistics.channels != set->channels)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: statistics of %zu channels for images of %zu", set->name,
                             options->statistics.channels, set->channels);
    for (size_t c = 0; c < options->statistics.channels; c++)
        if (!(options->statistics.std[c] > 0.0))
            return vg_base__fail(VG_ERR_ARGUMENT, "%s: standard deviation %g of channel %zu, expected above 0",
                                 set->name, options->statistics.std[c], c);
    VG_TRY(vg_dataset__check_indices(set, indices, count));
    return vg_augment__check(&options->augment, set);
}

static vg_status make_slots(vg_loader *loader, size_t image) {
    size_t batch = loader->batch, floats;
    if (!vg_base__mul(&floats, batch, image))
        return vg_base__fail(VG_ERR_MEMORY, "a batch of %zu images is too large", batch);
    VG_TRY(vg_base__zalloc(&loader->slots, loader->slot_count, sizeof *loader->slots, "the loader's batches"));
    for (size_t i = 0; i < loader->slot_count; i++) {
        slot *s = &loader->slots[i];
        VG_TRY(vg_base__alloc(&s->images, floats, sizeof *s->images, "a batch of images"));
        VG_TRY(vg_base__alloc(&s->labels, batch, sizeof *s->labels, "a batch of labels"));
        VG_TRY(vg_base__alloc(&s->indices, batch, sizeof *s->indices, "a batch of indices"));
    }
    return VG_OK;
}

static vg_status start_workers(vg_loader *loader) {
    VG_TRY(vg_base__zalloc(&loader->workers, loader->worker_count, sizeof *loader->workers, "the loader's workers"));
    for (unsigned i = 0; i < loader->worker_count; i++) {
        worker *w = &loader->workers[i];
        w->loader = loader;
        VG_TRY(vg_sample__scratch(&w->scratch, loader->plan.set));
        int code = pthread_create(&w->thread, NULL, work, w);
        if (code != 0)
            return vg_base__fail(VG_ERR_MEMORY, "a loader thread could not be started: %s", strerror(code));
        w->started = true;
    }
    return VG_OK;
}

vg_status vg_loader__new(vg_loader **out, const vg_dataset *set, const size_t *indices, size_t count,
                         const vg_loader_options *options) {
    static const vg_loader_options defaults = VG_LOADER_OPTIONS_INIT;
    vg_loader_options o;
    *out = NULL;
    VG_TRY(vg_base__take_options(&o, options, &defaults, sizeof o, "vg_loader_options"));
    if (set && !indices)
        count = set->n;
    VG_TRY(check_options(set, indices, count, &o));
    vg_loader *loader;
    VG_TRY(vg_base__zalloc(&loader, 1, sizeof *loader, "a loader"));
    pthread_mutex_init(&loader->lock, NULL);
    pthread_cond_init(&loader->work, NULL);
    pthread_cond_init(&loader->ready, NULL);
    pthread_cond_init(&loader->idle, NULL);
    loader->count = count;
    loader->batch = o.batch < count ? o.batch : count;
    loader->steps = o.drop_last ? count / o.batch : (count - 1) / loader->batch + 1;
    loader->shuffle = o.shuffle != 0;
    unsigned cores = vg_base__cores();
    bool decodes = !set->pixels.any;
    unsigned most = decodes ? 16 : 4; /* decoding is most of the work, and batches of large images are large */
    loader->worker_count = o.threads ? o.threads : cores < most ? cores : most;
    /* One slot more than are prepared ahead: the one that the caller reads. */
    loader->slot_count = 1 + (o.prefetch ? o.prefetch : (decodes ? 1 : 2) * (size_t)loader->worker_count);
    vg_sample__plan(&loader->plan, set, &o.augment, &o.statistics, o.layout, o.seed);
    size_t image = vg_dataset__image(set);
    vg_status status = vg_base__alloc(&loader->samples, count, sizeof *loader->samples, "the loader's samples");
    if (status == VG_OK)
        status = vg_base__alloc(&loader->order, count, sizeof *loader->order, "an epoch's order");
    for (size_t i = 0; status == VG_OK && i < count; i++)
        loader->samples[i] = indices ? indices[i] : i;
    if (status == VG_OK && o.balance)
        status = vg_balance__new(&loader->balance, loader->samples, count, set->labels);
    if (status == VG_OK)
        status = make_slots(loader, image);
    if (status == VG_OK)
        status = start_workers(loader);
    if (status != VG_OK) {
        vg_loader__free(loader);
        return status;
    }
    *out = loader;
    return VG_OK;
}

void vg_loader__free(vg_loader *loader) {
    if (!loader)
        return;
    pthread_mutex_lock(&loader->lock);
    loader->stop = true;
    pthread_cond_broadcast(&loader->work);
    pthread_mutex_unlock(&loader->lock);
    for (unsigned i = 0; loader->workers && i < loader->worker_count; i++) {
        if (loader->workers[i].started)
            pthread_join(loader->workers[i].thread, NULL);
        vg_sample__release(&loader->workers[i].scratch);
    }
    for (size_t i = 0; loader->slots && i < loader->slot_count; i++) {
        vg_base__release(loader->slots[i].images);
        vg_base__release(loader->slots[i].labels);
        vg_base__release(loader->slots[i].indices);
        free(loader->slots[i].message);
    }
    vg_base__release(loader->workers);
    vg_base__release(loader->slots);
    vg_base__release(loader->samples);
    vg_base__release(loader->order);
    vg_balance__free(&loader->balance);
    pthread_cond_destroy(&loader->work);
    pthread_cond_destroy(&loader->ready);
    pthread_cond_destroy(&loader->idle);
    pthread_mutex_destroy(&loader->lock);
    vg_base__release(loader);
}

size_t vg_loader__steps(const vg_loader *loader) { return loader->steps; }

static vg_sample_draw draw_of(const vg_loader *loader, uint64_t epoch, size_t index) {
    const vg_augment *a = &loader->plan.augment;
    const vg_dataset *set = loader->plan.set;
    vg_augment_draw d = vg_augment__draw(a, loader->plan.seed, epoch, index, set->height, set->width);
    bool colours = set->channels == 3;
    vg_sample_draw out = {.index = (uint32_t)index,
                          .dy = (int16_t)d.dy,
                          .dx = (int16_t)d.dx,
                          .flip = d.flip,
                          .erase = d.erase,
                          .jitter = (uint8_t)((a->brightness > 0) | (a->contrast > 0) << 1 |
                                              (colours && a->saturation > 0) << 2 | (colours && a->hue > 0) << 3),
                          .order = (uint8_t)(d.order[0] | d.order[1] << 2 | d.order[2] << 4 | d.order[3] << 6),
                          .top = (uint16_t)d.top,
                          .left = (uint16_t)d.left,
                          .height = (uint16_t)d.height,
                          .width = (uint16_t)d.width};
    for (int i = 0; i < 4; i++)
        out.factor[i] = (float)d.factor[i];
    return out;
}

vg_status vg_loader__draws(const vg_loader *loader, uint64_t epoch, vg_sample_draw *samples) {
    const vg_dataset *set = loader->plan.set;
    size_t *order;
    if (set->n > UINT32_MAX || set->height > INT16_MAX || set->width > INT16_MAX)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: too large for draws of whole epochs", set->name);
    VG_TRY(vg_base__alloc(&order, loader->count, sizeof *order, "an epoch's order"));
    order_of(order, loader, epoch);
    for (size_t i = 0; i < loader->count; i++)
        samples[i] = draw_of(loader, epoch, order[i]);
    vg_base__release(order);
    return VG_OK;
}

/* Releases the slot that the caller was reading. The lock must be held. */
static void release_slot(vg_loader *loader) {
    if (!loader->held)
        return;
    loader->slots[(loader->caller_slot + loader->slot_count - 1) % loader->slot_count].state = SLOT_FREE;
    loader->held = false;
    pthread_cond_signal(&loader->work);
}

vg_status vg_loader__next(vg_loader *loader, vg_batch *batch) {
    pthread_mutex_lock(&loader->lock);
    release_slot(loader);
    slot *s = &loader->slots[loader->caller_slot];
    while (s->state != SLOT_READY)
        pthread_cond_wait(&loader->ready, &loader->lock);
    loader->caller_slot = (loader->caller_slot + 1) % loader->slot_count;
    loader->held = true;
    *batch = (vg_batch){s->images, s->labels, s->indices, s->count, s->epoch, s->step};
    pthread_mutex_unlock(&loader->lock);
    if (s->status != VG_OK)
        return vg_base__fail_text(s->status, s->message ? s->message : "an image cannot be decoded");
    return VG_OK;
}

vg_status vg_loader__seek(vg_loader *loader, uint64_t epoch, size_t step) {
    if (step > loader->steps)
        return vg_base__fail(VG_ERR_ARGUMENT, "step %zu of an epoch of %zu steps", step, loader->steps);
    if (step == loader->steps)
        step = 0, epoch++;
    pthread_mutex_lock(&loader->lock);
    loader->held = false;
    /* No slot is taken while another is being filled: every other slot is marked as taken. */
    for (size_t i = 0; i < loader->slot_count; i++)
        if (loader->slots[i].state == SLOT_FREE)
            loader->slots[i].state = SLOT_READY;
    while (loader->filling > 0)
        pthread_cond_wait(&loader->idle, &loader->lock);
    for (size_t i = 0; i < loader->slot_count; i++)
        loader->slots[i].state = SLOT_FREE;
    loader->next_epoch = epoch, loader->next_step = step;
    loader->next_slot = loader->caller_slot = 0;
    pthread_cond_broadcast(&loader->work);
    pthread_mutex_unlock(&loader->lock);
    return VG_OK;
}
