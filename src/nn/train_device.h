/* train_device.h - a backend, and training images on it, that several trainings use one after another. Internal. */
#ifndef VG_TRAIN_DEVICE_H
#define VG_TRAIN_DEVICE_H

#include "backend/backend.h"
#include "vargate/nn.h"

/* A device that trainings in sequence share (vg_train_options.shared), with the training images on it once. It is
 * opened by the first training. One caller at a time. unbound: threads on the CPU are not bound to cores, because
 * other trainings run at the same time. */
vg_status vg_train_device__new(struct vg_train_device **out, int unbound);
void vg_train_device__free(struct vg_train_device *device); /* NULL is accepted */
/* Whether `name` ("auto", "cpu", ...; NULL: auto) opens a GPU. */
int vg_train_device__is_gpu(const char *name);

/* The backend for a training; opened by the first one. VG_ERR_ARGUMENT when a later one asks for another. */
vg_status vg_train_device__backend(vg_backend **out, struct vg_train_device *device, const char *name,
                                   const vg_backend_options *options);
/* The images on that backend, copied there by the first training that uses them. Borrowed. */
vg_status vg_train_device__store(vg_store **out, struct vg_train_device *device, const vg_store_images *images);

#endif
