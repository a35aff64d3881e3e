/* stock.c - images that stay on the device.
 *
 * A plan says which image comes when and what its augmentation drew. Drawing 45,000 of them takes some 50 ms of one core, a few
 * seconds of training being one epoch: the next epoch's plan is drawn meanwhile, on a thread that lives as long as that takes.
 */
#include "nn/stock.h"

#include <pthread.h>
#include <string.h>

#include "base/base.h"

struct vg_stock {
    vg_backend *backend; /* borrowed */
    vg_store *store;
    vg_resident resident;
    size_t samples;
    vg_nn_sample *drawn; /* of epoch `epoch` once the thread is done */
    vg_store_sample *plan;
    uint64_t epoch;
    bool known, running;
    pthread_t thread;
    vg_status status;
    char message[256];
};

static void *draw(void *argument) {
    vg_stock *s = argument;
    s->status = s->resident.plan(s->resident.context, s->epoch, s->drawn);
    if (s->status != VG_OK) {
        strncpy(s->message, vg_error_message(), sizeof s->message - 1);
        s->message[sizeof s->message - 1] = 0;
    }
    return NULL;
}

static void join(vg_stock *s) {
    if (s->running)
        pthread_join(s->thread, NULL);
    s->running = false;
}

static void start(vg_stock *s, uint64_t epoch) {
    s->epoch = epoch;
    s->known = true;
    s->running = pthread_create(&s->thread, NULL, draw, s) == 0;
    if (!s->running)
        draw(s);
}

void vg_stock__free(vg_stock *s) {
    if (!s)
        return;
    join(s);
    if (s->store)
        s->backend->ops->store_free(s->backend, s->store);
    vg_base__release(s->drawn);
    vg_base__release(s->plan);
    vg_base__release(s);
}

vg_status vg_stock__new(vg_stock **out, vg_backend *backend, const vg_train_options *o, size_t samples) {
    vg_stock *s;
    vg_store_images images = {.pixels = o->resident.pixels,
                              .labels = o->resident.labels,
                              .n = o->resident.n,
                              .plan_room = samples,
                              .shape = {o->channels, o->height, o->width},
                              .is_float = o->resident.is_float != 0};
    *out = NULL;
    VG_TRY(vg_base__zalloc(&s, 1, sizeof *s, "images on the device"));
    s->backend = backend;
    s->resident = o->resident;
    s->samples = samples;
    memcpy(images.mean, o->mean, sizeof images.mean);
    memcpy(images.std, o->std, sizeof images.std);
    vg_status status = backend->ops->store_new(backend, &s->store, &images);
    if (status == VG_OK)
        status = vg_base__alloc(&s->drawn, samples, sizeof *s->drawn, "an epoch's plan");
    if (status == VG_OK)
        status = vg_base__alloc(&s->plan, samples, sizeof *s->plan, "an epoch's plan");
    if (status != VG_OK)
        vg_stock__free(s);
    else
        *out = s;
    return status;
}

vg_status vg_stock__epoch(vg_stock *s, uint64_t epoch) {
    join(s);
    if (!s->known || s->epoch != epoch) {
        start(s, epoch);
        join(s);
    }
    if (s->status != VG_OK)
        return vg_base__fail(s->status, "%s", s->message);
    for (size_t i = 0; i < s->samples; i++) {
        const vg_nn_sample *d = &s->drawn[i];
        s->plan[i] = (vg_store_sample){d->index, d->dy,  d->dx,   d->flip,   d->erase, d->jitter,
                                       d->order, d->top, d->left, d->height, d->width, {0}};
        memcpy(s->plan[i].factor, d->factor, sizeof d->factor);
    }
    VG_TRY(s->backend->ops->store_plan(s->backend, s->store, s->plan, s->samples));
    start(s, epoch + 1);
    return VG_OK;
}

const vg_store *vg_stock__store(const vg_stock *s) { return s->store; }
