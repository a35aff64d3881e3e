/* ref_backend.c - the plain C backend: opening and closing, tensors, parameters, flat blocks. Everything is float32 in
 * logical order. */
#include "backend/ref/ref_backend.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/counter.h"

float vg_backend__ref_keep(const vg_step *step, vg_dropout dropout, size_t row, vg_shape s, size_t c, size_t y,
                           size_t x) {
    if (dropout.p <= 0.0f)
        return 1.0f;
    size_t position = (y * s.w + x) * s.c + c;
    uint16_t lanes[8];
    vg_counter__lanes(lanes, step->seed, dropout.stream, step->number, step->row + row, (uint32_t)(position / 8));
    return lanes[position % 8] < vg_counter__threshold(dropout.p) ? 0.0f : 1.0f / (1.0f - dropout.p);
}

static void tensor_free(vg_backend *backend, vg_tensor *tensor) {
    (void)backend;
    if (!tensor)
        return;
    ref_tensor *t = (ref_tensor *)tensor;
    vg_base__release(t->data);
    vg_base__release(t->index);
    vg_base__release(t->choice);
    vg_base__release(t);
}

static vg_status tensor_new(vg_backend *backend, vg_tensor **out, vg_tensor_kind kind, size_t capacity,
                            vg_shape shape) {
    ref_tensor *t;
    size_t count;
    *out = NULL;
    VG_TRY(vg_host__tensor_count(&count, capacity, shape));
    VG_TRY(vg_base__zalloc(&t, 1, sizeof *t, "tensor"));
    t->base = (vg_tensor){capacity, capacity, shape, kind};
    vg_status status = kind == VG_TENSOR_INDEX    ? vg_base__zalloc(&t->index, count, sizeof(int32_t), "indices")
                       : kind == VG_TENSOR_CHOICE ? vg_base__zalloc(&t->choice, count, 1, "pooling choices")
                                                  : vg_base__zalloc(&t->data, count, sizeof(float), "tensor");
    if (status != VG_OK)
        tensor_free(backend, &t->base);
    else
        *out = &t->base;
    return status;
}

static vg_status tensor_upload(vg_backend *backend, vg_tensor *t, const float *values) {
    (void)backend;
    memcpy(ref_data(t), values, t->n * vg_shape__size(t->shape) * sizeof(float));
    return VG_OK;
}

static vg_status tensor_download(vg_backend *backend, float *values, const vg_tensor *t) {
    (void)backend;
    memcpy(values, ref_data(t), t->n * vg_shape__size(t->shape) * sizeof(float));
    return VG_OK;
}

static vg_status index_upload(vg_backend *backend, vg_tensor *t, const int32_t *values) {
    (void)backend;
    memcpy(((ref_tensor *)t)->index, values, t->n * vg_shape__size(t->shape) * sizeof(int32_t));
    return VG_OK;
}

static vg_status block_new(vg_backend *backend, vg_block **out, size_t count) {
    (void)backend;
    return vg_host__block_new(out, sizeof(ref_block), count, 1);
}

static vg_status param_upload(vg_backend *backend, vg_block *block, const vg_param *p, const float *values) {
    (void)backend;
    memcpy(ref_param(block, p), values, p->size * sizeof(float));
    block->version++;
    return VG_OK;
}

static vg_status param_download(vg_backend *backend, float *values, const vg_block *block, const vg_param *p) {
    (void)backend;
    memcpy(values, ref_param(block, p), p->size * sizeof(float));
    return VG_OK;
}

static vg_status block_anchor(vg_backend *backend, vg_block *grad, const vg_block *theta, const vg_anchor *anchor,
                              double *penalty) {
    size_t count = anchor->count;
    float scale = anchor->scale;
    (void)backend;
    float *g = ((ref_block *)grad)->data + anchor->offset;
    const float *t = ((const ref_block *)theta)->data + anchor->offset, *s = ((const ref_block *)anchor->start)->data;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double d = (double)t[i] - s[i];
        g[i] += (float)(2.0 * scale * d);
        sum += d * d;
    }
    if (penalty)
        *penalty += scale * sum;
    return VG_OK;
}

static vg_status adam(vg_backend *backend, vg_block *theta, const vg_block *grad, vg_block *m, vg_block *v) {
    const vg_step *s = &backend->step;
    float *t = ((ref_block *)theta)->data, *mm = ((ref_block *)m)->data, *vv = ((ref_block *)v)->data;
    const float *gg = ((const ref_block *)grad)->data;
    double decay = s->decoupled ? 0 : s->decay;
    for (size_t i = 0; i < theta->count; i++) {
        if (s->decoupled)
            t[i] = (float)((1.0 - (double)s->rate * s->decay) * t[i]);
        double g = (double)gg[i] + decay * t[i];
        mm[i] = (float)(s->beta1 * (double)mm[i] + (1.0 - s->beta1) * g);
        vv[i] = (float)(s->beta2 * (double)vv[i] + (1.0 - s->beta2) * g * g);
        t[i] = (float)(t[i] - (double)s->rate * (mm[i] / s->correction1) /
                                  (sqrt((double)vv[i] / s->correction2) + s->epsilon));
    }
    theta->version++;
    return VG_OK;
}

static vg_status sgd(vg_backend *backend, vg_block *theta, const vg_block *grad, vg_block *m) {
    const vg_step *s = &backend->step;
    float *t = ((ref_block *)theta)->data, *mm = ((ref_block *)m)->data;
    const float *gg = ((const ref_block *)grad)->data;
    for (size_t i = 0; i < theta->count; i++) {
        double g = (double)gg[i] + (double)s->decay * t[i];
        mm[i] = (float)(s->inertia * (double)mm[i] + g);
        t[i] = (float)(t[i] - (double)s->rate * (s->nesterov ? g + s->inertia * (double)mm[i] : (double)mm[i]));
    }
    theta->version++;
    return VG_OK;
}

static vg_status clip(vg_backend *backend, vg_block *grad, float most) {
    (void)backend;
    float *g = ((ref_block *)grad)->data;
    double sum = 0;
    for (size_t i = 0; i < grad->count; i++)
        sum += (double)g[i] * g[i];
    double factor = most / (sqrt(sum) + 1e-6);
    for (size_t i = 0; i < grad->count && factor < 1; i++)
        g[i] = (float)(factor * g[i]);
    grad->version++;
    return VG_OK;
}

static vg_status block_average(vg_backend *backend, vg_block *mean, const vg_block *theta) {
    float *a = ((ref_block *)mean)->data;
    const float *t = ((const ref_block *)theta)->data;
    for (size_t i = 0; i < mean->count; i++)
        a[i] = (float)(a[i] + (double)backend->step.average * ((double)t[i] - a[i]));
    mean->version++;
    return VG_OK;
}

static vg_status block_multiply(vg_backend *backend, vg_block *a, size_t offset, const vg_block *b, size_t count) {
    (void)backend;
    float *x = ((ref_block *)a)->data + offset;
    const float *y = ((const ref_block *)b)->data;
    for (size_t i = 0; i < count; i++)
        x[i] *= y[i];
    a->version++;
    return VG_OK;
}

static void close_ref(vg_backend *backend) {
    vg_base__release(backend->context);
    vg_base__release(backend);
}

static const vg_backend_ops ops = {
    .close = close_ref,
    VG_BACKEND_OWN_STORAGE,
    VG_HOST_OPERATIONS,
    .block_free = vg_host__block_free,
    .param_upload = param_upload,
    .param_download = param_download,
    .conv_forward = vg_ref__conv_forward,
    .conv_backward_data = vg_ref__conv_backward_data,
    .conv_backward_weights = vg_ref__conv_backward_weights,
    .pooling_forward = vg_ref__pooling_forward,
    .pooling_backward = vg_ref__pooling_backward,
    .norm_forward = vg_ref__norm_forward,
    .norm_backward = vg_ref__norm_backward,
    .average_forward = vg_ref__average_forward,
    .average_backward = vg_ref__average_backward,
    .linear_forward = vg_ref__linear_forward,
    .linear_backward_data = vg_ref__linear_backward_data,
    .linear_backward_weights = vg_ref__linear_backward_weights,
    .copy_columns = vg_ref__copy_columns,
    .loss = vg_ref__loss,
    .loss_read = vg_ref__loss_read,
    VG_BACKEND_OWN_UPDATES,
    .repeat_rows = vg_ref__repeat_rows,
    .members = vg_ref__members,
};

vg_status vg_backend__open_ref(vg_backend **out, const vg_backend_options *options) {
    vg_backend *backend;
    ref_context *context;
    *out = NULL;
    if (options->compute != VG_COMPUTE_F32)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "the plain backend computes in float32 only");
    VG_TRY(vg_base__zalloc(&backend, 1, sizeof *backend, "backend"));
    vg_status status = vg_base__zalloc(&context, 1, sizeof *context, "backend");
    if (status != VG_OK) {
        vg_base__release(backend);
        return status;
    }
    context->totals.bad_step = -1;
    backend->name = "ref";
    snprintf(backend->device, sizeof backend->device, "plain C, one thread");
    backend->ops = &ops;
    backend->read_every = 1;
    backend->threads = 1;
    backend->context = context;
    *out = backend;
    return VG_OK;
}
