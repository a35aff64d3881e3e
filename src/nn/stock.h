/* stock.h - the training images on the device, and the plans of epochs, drawn ahead on a thread. Internal. */
#ifndef VG_STOCK_H
#define VG_STOCK_H

#include "backend/backend.h"
#include "vargate/nn.h"

typedef struct vg_stock vg_stock;
/* `samples` a plan. VG_ERR_UNSUPPORTED when the device does not take such images: use the feed then. */
vg_status vg_stock__new(vg_stock **out, vg_backend *backend, const vg_train_options *options, size_t samples);
void vg_stock__free(vg_stock *stock); /* NULL is fine */
/* Makes an epoch's plan the device's, and starts drawing the next epoch's. */
vg_status vg_stock__epoch(vg_stock *stock, uint64_t epoch);
const vg_store *vg_stock__store(const vg_stock *stock);

#endif
