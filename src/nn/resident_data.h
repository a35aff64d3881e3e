/* resident_data.h - training images held on the device, and the plans of epochs, drawn ahead by a thread. One caller
 * at a time. Internal. */
#ifndef VG_RESIDENT_DATA_H
#define VG_RESIDENT_DATA_H

#include "backend/backend.h"
#include "vargate/nn.h"

typedef struct vg_resident_data vg_resident_data;
/* Copies the images to the device; a plan has `samples` samples. VG_ERR_UNSUPPORTED when the device does not hold
 * such images: the caller uses the feed then. Trainings that share a device share the images on it. */
vg_status vg_resident_data__new(vg_resident_data **out, vg_backend *backend, const vg_train_options *options,
                                size_t samples);
void vg_resident_data__free(vg_resident_data *data); /* NULL is accepted */
/* Sends the plan of an epoch to the device, and starts drawing the next one. */
vg_status vg_resident_data__epoch(vg_resident_data *data, uint64_t epoch);
const vg_store *vg_resident_data__store(const vg_resident_data *data);

#endif
