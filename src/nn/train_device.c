/* train_device.c - a backend shared by trainings in sequence: the networks of a deep ensemble. Opening a device and
 * copying the images to it are done once; parameters, working tensors and recordings belong to each training and are
 * freed with it. */
#include "nn/train_device.h"

#include <stdio.h>
#include <string.h>

struct vg_train_device {
    vg_backend *backend;
    vg_backend_options options; /* the options it was opened with */
    char name[32];
    bool unbound;
    vg_store *store;
    vg_store_images images; /* the images in the store; pixels and labels identify them */
};

vg_status vg_train_device__new(struct vg_train_device **out, int unbound) {
    VG_TRY(vg_base__zalloc(out, 1, sizeof **out, "a device"));
    (*out)->unbound = unbound != 0;
    return VG_OK;
}

void vg_train_device__free(struct vg_train_device *d) {
    if (!d)
        return;
    if (d->store)
        d->backend->ops->store_free(d->backend, d->store);
    vg_backend__close(d->backend);
    vg_base__release(d);
}

vg_status vg_train_device__backend(vg_backend **out, struct vg_train_device *d, const char *name,
                                   const vg_backend_options *options) {
    if (d->backend && (strncmp(d->name, name ? name : "auto", sizeof d->name - 1) != 0 ||
                       d->options.threads != options->threads || d->options.compute != options->compute))
        return vg_base__fail(VG_ERR_ARGUMENT, "trainings that share a device must ask for the same one");
    if (!d->backend) {
        d->options = *options;
        d->options.unbound = d->unbound;
        snprintf(d->name, sizeof d->name, "%s", name ? name : "auto");
        VG_TRY(vg_backend__open(&d->backend, name, &d->options));
    }
    *out = d->backend;
    return VG_OK;
}

static bool same_images(const vg_store_images *a, const vg_store_images *b) {
    return a->pixels == b->pixels && a->labels == b->labels && a->n == b->n && a->plan_room == b->plan_room &&
           a->shape.c == b->shape.c && a->shape.h == b->shape.h && a->shape.w == b->shape.w &&
           a->is_float == b->is_float && memcmp(a->mean, b->mean, sizeof a->mean) == 0 &&
           memcmp(a->std, b->std, sizeof a->std) == 0;
}

vg_status vg_train_device__store(vg_store **out, struct vg_train_device *d, const vg_store_images *images) {
    if (d->store && !same_images(&d->images, images)) {
        d->backend->ops->store_free(d->backend, d->store);
        d->store = NULL;
    }
    if (!d->store)
        VG_TRY(d->backend->ops->store_new(d->backend, &d->store, images));
    d->images = *images;
    *out = d->store;
    return VG_OK;
}

int vg_train_device__is_gpu(const char *name) {
    vg_backend *backend;
    vg_backend_options options = {.threads = 1};
    if (name && strcmp(name, "cuda") == 0)
        return 1;
    if (name && strcmp(name, "auto") != 0)
        return 0;
    if (vg_backend__open(&backend, name, &options) != VG_OK)
        return 0;
    int gpu = strcmp(backend->name, "cuda") == 0;
    vg_backend__close(backend);
    return gpu;
}
