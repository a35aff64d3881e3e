/* resident_data.c - training images held on the device, and the plans of epochs. A plan says which image comes when
 * and what its augmentation drew. Drawing 45,000 of them takes about 50 ms of one core, and an epoch a few seconds,
 * so the plan of the next epoch is drawn during the current one, on a thread of its own. */
#include "nn/resident_data.h"

#include <pthread.h>
#include <string.h>

#include "base/base.h"
#include "nn/train_device.h"

struct vg_resident_data {
    vg_backend *backend; /* borrowed */
    vg_store *store;
    bool shared; /* the store belongs to the device that trainings share */
    vg_resident resident;
    size_t samples;
    vg_sample_draw *drawn; /* of epoch `epoch` once the thread is done */
    uint64_t epoch;
    bool known, running;
    pthread_t thread;
    vg_status status;
    char message[256];
};

static void *draw(void *argument) {
    vg_resident_data *s = argument;
    s->status = s->resident.plan(s->resident.context, s->epoch, s->drawn);
    if (s->status != VG_OK) {
        strncpy(s->message, vg_error_message(), sizeof s->message - 1);
        s->message[sizeof s->message - 1] = 0;
    }
    return NULL;
}

static void join(vg_resident_data *s) {
    if (s->running)
        pthread_join(s->thread, NULL);
    s->running = false;
}

static void start(vg_resident_data *s, uint64_t epoch) {
    s->epoch = epoch;
    s->known = true;
    s->running = pthread_create(&s->thread, NULL, draw, s) == 0;
    if (!s->running)
        draw(s);
}

void vg_resident_data__free(vg_resident_data *s) {
    if (!s)
        return;
    join(s);
    if (s->store && !s->shared)
        s->backend->ops->store_free(s->backend, s->store);
    vg_base__release(s->drawn);
    vg_base__release(s);
}

vg_status vg_resident_data__new(vg_resident_data **out, vg_backend *backend, const vg_train_options *o,
                                size_t samples) {
    vg_resident_data *s;
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
    s->shared = o->shared != NULL;
    vg_status status = s->shared ? vg_train_device__store(&s->store, o->shared, &images)
                                 : backend->ops->store_new(backend, &s->store, &images);
    if (status == VG_OK)
        status = vg_base__alloc(&s->drawn, samples, sizeof *s->drawn, "an epoch's plan");
    if (status != VG_OK)
        vg_resident_data__free(s);
    else
        *out = s;
    return status;
}

vg_status vg_resident_data__epoch(vg_resident_data *s, uint64_t epoch) {
    join(s);
    if (!s->known || s->epoch != epoch) {
        start(s, epoch);
        join(s);
    }
    if (s->status != VG_OK)
        return vg_base__fail(s->status, "%s", s->message);
    VG_TRY(s->backend->ops->store_plan(s->backend, s->store, s->drawn, s->samples));
    start(s, epoch + 1);
    return VG_OK;
}

const vg_store *vg_resident_data__store(const vg_resident_data *s) { return s->store; }
