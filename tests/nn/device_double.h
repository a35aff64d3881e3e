/* device_double.h - a device for tests that does what only a GPU does otherwise: it holds the training images, records
 * the steps of a convolutional network and replays them, fuses layers, starts the optimiser early and keeps logits in
 * its own memory. Every operation is that of the plain backend, so its results have the same bits.
 *
 * The program is linked with --wrap=vg_backend__open, so that the name "cuda" opens it. */
#ifndef VG_TEST_DEVICE_DOUBLE_H
#define VG_TEST_DEVICE_DOUBLE_H

#include <stdlib.h>
#include <string.h>

#include "backend/ref/ref_backend.h"
#include "base/base.h"

/* What the device can do, and what it did. Set before it is opened. */
static struct {
    bool records, fuses, keeps;           /* recordings; fused layers and an early optimiser; logits */
    vg_status store_status, begin_status; /* of store_new and record_begin */
    vg_status end_status;                 /* of record_end */
    int stores, batches, recorded, replayed, fused, parts;
} twin;

struct vg_store {
    vg_store_images images;
    const vg_sample_draw *plan;
};

typedef struct call {
    vg_status (*run)(vg_backend *, const struct call *);
    const void *p[6];
    union {
        vg_conv conv;
        vg_pooling pooling;
        vg_head_loss loss;
        vg_conv_pooling fused;
        vg_adam_range range;
    } v;
    vg_pooling_gradient to;
} call;

enum { MOST_CALLS = 64, MOST_TENSORS = 256 };
struct vg_recording {
    call calls[MOST_CALLS];
    size_t count;
    vg_tensor *tensors[MOST_TENSORS]; /* that there were, with their rows in use: a recording has its own */
    size_t rows[MOST_TENSORS];
};

static const vg_backend_ops *plain;
static vg_backend_ops twin_ops;
static struct vg_recording *recording; /* being made; NULL: operations run at once */

static vg_tensor *live[MOST_TENSORS];

static vg_status twin_tensor_new(vg_backend *b, vg_tensor **out, vg_tensor_kind kind, size_t capacity, vg_shape shape) {
    size_t i = 0;
    VG_TRY(plain->tensor_new(b, out, kind, capacity, shape));
    while (i < MOST_TENSORS && live[i])
        i++;
    assert_true(i < MOST_TENSORS);
    live[i] = *out;
    return VG_OK;
}
static void twin_tensor_free(vg_backend *b, vg_tensor *t) {
    for (size_t i = 0; i < MOST_TENSORS; i++)
        live[i] = t && live[i] == t ? NULL : live[i];
    plain->tensor_free(b, t);
}

static vg_status take(vg_backend *b, call c) {
    if (!recording)
        return c.run(b, &c);
    assert_true(recording->count < MOST_CALLS);
    recording->calls[recording->count++] = c;
    return VG_OK;
}

/* A pointer that was stored as one to const. */
static inline void *at(const call *c, int i) { return (void *)(uintptr_t)c->p[i]; }

/* --- operations that can be recorded */

static vg_status run_conv(vg_backend *b, const call *c) {
    return plain->conv_forward(b, &c->v.conv, at(c, 0), c->p[1], c->p[2], c->p[3], c->p[4]);
}
static vg_status twin_conv(vg_backend *b, const vg_conv *conv, vg_tensor *y, const vg_tensor *x, const vg_block *theta,
                           const vg_param *w, const vg_tensor *addend) {
    return take(b, (call){.run = run_conv, .p = {y, x, theta, w, addend}, .v.conv = *conv});
}
static vg_status run_conv_data(vg_backend *b, const call *c) {
    return plain->conv_backward_data(b, &c->v.conv, at(c, 0), c->p[1], c->p[2], c->p[3], c->p[4]);
}
static vg_status twin_conv_data(vg_backend *b, const vg_conv *conv, vg_tensor *dx, const vg_tensor *dy,
                                const vg_block *theta, const vg_param *w, const vg_tensor *addend) {
    return take(b, (call){.run = run_conv_data, .p = {dx, dy, theta, w, addend}, .v.conv = *conv});
}
static vg_status run_conv_weights(vg_backend *b, const call *c) {
    return plain->conv_backward_weights(b, &c->v.conv, at(c, 0), c->p[1], c->p[2], c->p[3]);
}
static vg_status twin_conv_weights(vg_backend *b, const vg_conv *conv, vg_block *grad, const vg_param *w,
                                   const vg_tensor *x, const vg_tensor *dy) {
    return take(b, (call){.run = run_conv_weights, .p = {grad, w, x, dy}, .v.conv = *conv});
}
static vg_status run_pooling(vg_backend *b, const call *c) {
    return plain->pooling_forward(b, &c->v.pooling, at(c, 0), at(c, 1), c->p[2], c->p[3], c->p[4]);
}
static vg_status twin_pooling(vg_backend *b, const vg_pooling *pooling, vg_tensor *y, vg_tensor *choice,
                              const vg_tensor *x, const vg_block *theta, const vg_param *bias) {
    return take(b, (call){.run = run_pooling, .p = {y, choice, x, theta, bias}, .v.pooling = *pooling});
}
static vg_status run_pooling_back(vg_backend *b, const call *c) {
    return plain->pooling_backward(b, &c->v.pooling, &c->to, at(c, 0));
}
static vg_status twin_pooling_back(vg_backend *b, const vg_pooling *pooling, const vg_pooling_gradient *to,
                                   vg_block *grad) {
    return take(b, (call){.run = run_pooling_back, .p = {grad}, .v.pooling = *pooling, .to = *to});
}
static vg_status run_linear(vg_backend *b, const call *c) {
    return plain->linear_forward(b, at(c, 0), c->p[1], c->p[2], c->p[3], c->p[4]);
}
static vg_status twin_linear(vg_backend *b, vg_tensor *y, const vg_tensor *x, const vg_block *theta, const vg_param *w,
                             const vg_param *bias) {
    return take(b, (call){.run = run_linear, .p = {y, x, theta, w, bias}});
}
static vg_status run_linear_data(vg_backend *b, const call *c) {
    return plain->linear_backward_data(b, at(c, 0), c->p[1], c->p[2], c->p[3]);
}
static vg_status twin_linear_data(vg_backend *b, vg_tensor *dx, const vg_tensor *dy, const vg_block *theta,
                                  const vg_param *w) {
    return take(b, (call){.run = run_linear_data, .p = {dx, dy, theta, w}});
}
static vg_status run_linear_weights(vg_backend *b, const call *c) {
    return plain->linear_backward_weights(b, at(c, 0), c->p[1], c->p[2], c->p[3], c->p[4]);
}
static vg_status twin_linear_weights(vg_backend *b, vg_block *grad, const vg_param *w, const vg_param *bias,
                                     const vg_tensor *x, const vg_tensor *dy) {
    return take(b, (call){.run = run_linear_weights, .p = {grad, w, bias, x, dy}});
}
static vg_status run_loss(vg_backend *b, const call *c) {
    return plain->loss(b, &c->v.loss, at(c, 0), c->p[1], c->p[2], c->p[3], c->p[4]);
}
static vg_status twin_loss(vg_backend *b, const vg_head_loss *loss, vg_tensor *dlogits, const vg_tensor *logits,
                           const vg_tensor *addend, const vg_tensor *labels, const vg_tensor *weights) {
    return take(b, (call){.run = run_loss, .p = {dlogits, logits, addend, labels, weights}, .v.loss = *loss});
}
static vg_status run_adam(vg_backend *b, const call *c) {
    return plain->adam(b, at(c, 0), c->p[1], at(c, 2), at(c, 3));
}
static vg_status twin_adam(vg_backend *b, vg_block *theta, const vg_block *grad, vg_block *m, vg_block *v) {
    return take(b, (call){.run = run_adam, .p = {theta, grad, m, v}});
}

/* Adam over a part: over copies of the blocks' headers that begin there. */
static vg_status run_part(vg_backend *b, const call *c) {
    ref_block parts[4];
    for (int i = 0; i < 4; i++) {
        parts[i] = *(const ref_block *)c->p[i];
        parts[i].data += c->v.range.first;
        parts[i].base.count = c->v.range.count;
    }
    ((vg_block *)at(c, 0))->version++;
    return plain->adam(b, &parts[0].base, &parts[1].base, &parts[2].base, &parts[3].base);
}
static vg_status twin_part(vg_backend *b, vg_block *theta, const vg_block *grad, vg_block *m, vg_block *v,
                           const vg_adam_range *range) {
    twin.parts++;
    return take(b, (call){.run = run_part, .p = {theta, grad, m, v}, .v.range = *range});
}

/* --- fused layers. The value between the two is made in a tensor that lives as long as the call. */

static vg_status between(vg_backend *b, vg_tensor **out, const vg_conv *conv, const vg_tensor *x, const vg_param *w) {
    vg_shape s = {w->o, (x->shape.h + 2 * conv->pad - w->h) / conv->stride + 1,
                  (x->shape.w + 2 * conv->pad - w->w) / conv->stride + 1};
    return plain->tensor_new(b, out, VG_TENSOR_ACTIVATION, x->n, s);
}
static vg_status run_conv_pooling(vg_backend *b, const call *c) {
    const vg_conv_pooling *op = &c->v.fused;
    vg_tensor *y;
    VG_TRY(between(b, &y, &op->conv, op->x, op->w));
    vg_status status = plain->conv_forward(b, &op->conv, y, op->x, c->p[0], op->w, NULL);
    if (status == VG_OK)
        status = plain->pooling_forward(b, &op->pooling, op->y, op->choice, y, c->p[0], op->bias);
    plain->tensor_free(b, y);
    return status;
}
static vg_status twin_conv_pooling(vg_backend *b, const vg_conv_pooling *op, const vg_block *theta, bool *done) {
    *done = op->conv.pad == 0; /* as on a GPU, not every shape has a fused kernel */
    if (!*done)
        return VG_OK;
    twin.fused++;
    return take(b, (call){.run = run_conv_pooling, .p = {theta}, .v.fused = *op});
}
static vg_status run_conv_pooling_back(vg_backend *b, const call *c) {
    const vg_conv_pooling *op = &c->v.fused;
    vg_tensor *dx;
    VG_TRY(between(b, &dx, &op->conv, op->x, op->w));
    vg_pooling_gradient to = {dx, c->p[1], op->y, op->choice, op->bias};
    vg_status status = plain->pooling_backward(b, &op->pooling, &to, at(c, 0));
    if (status == VG_OK)
        status = plain->conv_backward_weights(b, &op->conv, at(c, 0), op->w, op->x, dx);
    plain->tensor_free(b, dx);
    return status;
}
static vg_status twin_conv_pooling_back(vg_backend *b, const vg_conv_pooling *op, vg_block *grad, const vg_tensor *dy) {
    return take(b, (call){.run = run_conv_pooling_back, .p = {grad, dy}, .v.fused = *op});
}
static vg_status twin_conv_norm(vg_backend *b, const vg_conv_norm *op, const vg_block *theta, bool *done) {
    vg_tensor *y = op->y;
    *done = op->conv.stride == 1;
    if (!*done)
        return VG_OK;
    twin.fused++;
    if (!y)
        VG_TRY(between(b, &y, &op->conv, op->x, op->w));
    vg_norm_pass pass = {op->z, y, op->gamma, op->beta, (vg_tensor *)(uintptr_t)op->running, NULL};
    vg_status status = plain->conv_forward(b, &op->conv, y, op->x, theta, op->w, op->addend);
    if (status == VG_OK)
        status = plain->norm_forward(b, &op->norm, &pass, theta);
    if (y != op->y)
        plain->tensor_free(b, y);
    return status;
}

/* --- resident data. Draws of augmentation are not taken: the tests draw none. */

static vg_status store_new(vg_backend *b, vg_store **out, const vg_store_images *images) {
    (void)b;
    if (twin.store_status != VG_OK)
        return vg_base__fail(twin.store_status, "the images do not fit on the device");
    VG_TRY(vg_base__zalloc(out, 1, sizeof **out, "a store"));
    (*out)->images = *images;
    twin.stores++;
    return VG_OK;
}
static void store_free(vg_backend *b, vg_store *store) { (void)b, vg_base__release(store); }
static vg_status store_plan(vg_backend *b, vg_store *store, const vg_sample_draw *samples, size_t count) {
    static vg_sample_draw copy[64];
    (void)b;
    assert_true(count <= 64);
    memcpy(copy, samples, count * sizeof *samples);
    store->plan = copy;
    return VG_OK;
}
static vg_status run_batch(vg_backend *b, const call *c) {
    const vg_store *s = c->p[0];
    vg_tensor *images = at(c, 1), *labels = at(c, 2);
    size_t area = images->shape.h * images->shape.w, size = vg_shape__size(images->shape);
    twin.batches++;
    for (size_t r = 0; r < images->n; r++) {
        size_t from = s->plan[b->step.batch + r].index;
        ((ref_tensor *)labels)->index[r] = s->images.labels[from];
        for (size_t k = 0; k < size; k++) {
            double v = s->images.is_float ? ((const float *)s->images.pixels)[from * size + k]
                                          : ((const uint8_t *)s->images.pixels)[from * size + k] / 255.0;
            ref_data(images)[r * size + k] = (float)((v - s->images.mean[k / area]) / s->images.std[k / area]);
        }
    }
    return VG_OK;
}
static vg_status store_batch(vg_backend *b, const vg_store *store, vg_tensor *images, vg_tensor *labels) {
    return take(b, (call){.run = run_batch, .p = {store, images, labels}});
}

/* --- recordings */

static vg_status record_begin(vg_backend *b) {
    (void)b;
    if (twin.begin_status != VG_OK)
        return vg_base__fail(twin.begin_status, "nothing can be recorded");
    return vg_base__zalloc(&recording, 1, sizeof *recording, "a recording");
}
static vg_status record_end(vg_backend *b, vg_recording **out) {
    (void)b;
    bool kept = out && twin.end_status == VG_OK;
    for (size_t i = 0; i < MOST_TENSORS; i++) {
        recording->tensors[i] = live[i];
        recording->rows[i] = live[i] ? live[i]->n : 0;
    }
    if (kept)
        *out = recording;
    else
        vg_base__release(recording);
    recording = NULL;
    twin.recorded += kept;
    return twin.end_status == VG_OK ? VG_OK : vg_base__fail(twin.end_status, "the recording was lost");
}
static vg_status replay(vg_backend *b, const vg_recording *r) {
    twin.replayed++;
    for (size_t i = 0; i < MOST_TENSORS; i++)
        if (r->tensors[i] && r->tensors[i] == live[i])
            live[i]->n = r->rows[i];
    for (size_t i = 0; i < r->count; i++)
        VG_TRY(r->calls[i].run(b, &r->calls[i]));
    return VG_OK;
}
static void recording_free(vg_backend *b, vg_recording *r) { (void)b, vg_base__release(r); }

static vg_status tensor_address(vg_backend *b, const vg_tensor *t, const float **values, void **stream) {
    *values = ref_data(t);
    *stream = b;
    return VG_OK;
}

/* --- opening */

vg_status __real_vg_backend__open(vg_backend **out, const char *name, const vg_backend_options *options);
vg_status __wrap_vg_backend__open(vg_backend **out, const char *name, const vg_backend_options *options);
vg_status __wrap_vg_backend__open(vg_backend **out, const char *name, const vg_backend_options *options) {
    if (!name || strcmp(name, "cuda") != 0)
        return __real_vg_backend__open(out, name, options);
    VG_TRY(__real_vg_backend__open(out, "ref", options));
    plain = (*out)->ops;
    twin_ops = *plain;
    twin_ops.tensor_new = twin_tensor_new;
    twin_ops.tensor_free = twin_tensor_free;
    twin_ops.conv_forward = twin_conv;
    twin_ops.conv_backward_data = twin_conv_data;
    twin_ops.conv_backward_weights = twin_conv_weights;
    twin_ops.pooling_forward = twin_pooling;
    twin_ops.pooling_backward = twin_pooling_back;
    twin_ops.linear_forward = twin_linear;
    twin_ops.linear_backward_data = twin_linear_data;
    twin_ops.linear_backward_weights = twin_linear_weights;
    twin_ops.loss = twin_loss;
    twin_ops.adam = twin_adam;
    twin_ops.store_new = store_new;
    twin_ops.store_free = store_free;
    twin_ops.store_plan = store_plan;
    twin_ops.store_batch = store_batch;
    twin_ops.record_begin = twin.records ? record_begin : NULL;
    twin_ops.record_end = record_end;
    twin_ops.replay = replay;
    twin_ops.recording_free = recording_free;
    twin_ops.conv_pooling_forward = twin.fuses ? twin_conv_pooling : NULL;
    twin_ops.conv_pooling_backward = twin.fuses ? twin_conv_pooling_back : NULL;
    twin_ops.conv_norm_forward = twin.fuses ? twin_conv_norm : NULL;
    twin_ops.adam_part = twin.fuses ? twin_part : NULL;
    twin_ops.tensor_address = twin.keeps ? tensor_address : NULL;
    (*out)->ops = &twin_ops;
    (*out)->name = "cuda";
    (*out)->read_every = 2;
    return VG_OK;
}

#endif
