/* ref_layers.c - the layers between products: bias, pooling, ReLU, dropout; batch-norm; average pooling; repeated
 * rows. */
#include <math.h>
#include <string.h>

#include "backend/ref/ref_backend.h"

static size_t at(vg_shape s, size_t n, size_t c, size_t y, size_t x) { return ((n * s.c + c) * s.h + y) * s.w + x; }

vg_status vg_ref__pooling_forward(vg_backend *backend, const vg_pooling *pooling, vg_tensor *y, vg_tensor *choice,
                                  const vg_tensor *x, const vg_block *theta, const vg_param *bias) {
    vg_shape s = y->shape;
    size_t pool = pooling->pool;
    for (size_t k = 0; k < y->n * vg_shape__size(s); k++) {
        size_t q = k % s.w, p = k / s.w % s.h, c = k / (s.w * s.h) % s.c, n = k / (s.w * s.h * s.c);
        float best = -INFINITY;
        uint8_t winner = 0;
        for (size_t r = 0; r < pool * pool; r++) {
            float v = ref_data(x)[at(x->shape, n, c, p * pool + r / pool, q * pool + r % pool)];
            if (v > best || v != v) {
                best = v;
                winner = (uint8_t)r;
            }
        }
        if (bias)
            best += ref_param(theta, bias)[c];
        if (pooling->relu && best < 0)
            best = 0;
        ref_data(y)[k] = best * vg_backend__ref_keep(&backend->step, pooling->dropout, n, s, c, p, q);
        if (choice)
            ((ref_tensor *)choice)->choice[k] = winner;
    }
    return VG_OK;
}

vg_status vg_ref__pooling_backward(vg_backend *backend, const vg_pooling *pooling, const vg_pooling_gradient *to,
                                   vg_block *grad) {
    vg_tensor *dx = to->dx;
    const vg_tensor *dy = to->dy, *y = to->y, *choice = to->choice;
    const vg_param *bias = to->bias;
    vg_shape s = dy->shape;
    size_t pool = pooling->pool;
    double sum = 0;
    if (dx->shape.h != s.h * pool || dx->shape.w != s.w * pool) /* rows and columns that no window covers */
        memset(ref_data(dx), 0, dx->n * dx->shape.c * dx->shape.h * dx->shape.w * sizeof(float));
    for (size_t c = 0; c < s.c; c++, sum = 0) {
        for (size_t k = 0; k < dy->n * s.h * s.w; k++) {
            size_t q = k % s.w, p = k / s.w % s.h, n = k / (s.w * s.h), i = at(s, n, c, p, q);
            float d = ref_data(dy)[i] * vg_backend__ref_keep(&backend->step, pooling->dropout, n, s, c, p, q);
            if (pooling->relu && !(ref_data(y)[i] > 0))
                d = 0;
            sum += d;
            for (size_t r = 0; r < pool * pool; r++)
                ref_data(dx)[at(dx->shape, n, c, p * pool + r / pool, q * pool + r % pool)] =
                    pool == 1 || r == ((const ref_tensor *)choice)->choice[i] ? d : 0;
        }
        if (bias)
            ref_param(grad, bias)[c] = (float)sum;
    }
    return VG_OK;
}

/* x under the norm's dropout. */
static double dropped(const vg_backend *backend, const vg_norm *norm, const vg_tensor *x, size_t n, size_t c,
                      size_t k) {
    vg_shape s = x->shape;
    return (double)ref_data(x)[(n * s.c + c) * s.h * s.w + k] *
           vg_backend__ref_keep(&backend->step, norm->dropout, n, s, c, k / s.w, k % s.w);
}

vg_status vg_ref__norm_forward(vg_backend *backend, const vg_norm *norm, const vg_norm_pass *pass,
                               const vg_block *theta) {
    vg_tensor *y = pass->y, *running = pass->running, *saved = pass->saved;
    const vg_tensor *x = pass->x;
    const vg_param *gamma = pass->gamma, *beta = pass->beta;
    vg_shape s = x->shape;
    size_t area = s.h * s.w, count = x->n * area;
    double momentum = backend->step.momentum;
    for (size_t c = 0; c < s.c; c++) {
        float *rm = ref_data(running) + c, *rv = rm + s.c;
        double mean = *rm, var = *rv;
        if (norm->training) {
            double sum = 0, squares = 0;
            for (size_t k = 0; k < count; k++)
                sum += dropped(backend, norm, x, k / area, c, k % area);
            mean = sum / (double)count;
            for (size_t k = 0; k < count; k++) {
                double d = dropped(backend, norm, x, k / area, c, k % area) - mean;
                squares += d * d;
            }
            var = squares / (double)count;
            *rm = (float)((1 - momentum) * *rm + momentum * mean);
            *rv = (float)((1 - momentum) * *rv + momentum * squares / (double)(count > 1 ? count - 1 : 1));
        }
        double inverse = 1.0 / sqrt(var + norm->epsilon);
        if (saved) {
            ref_data(saved)[c] = (float)mean;
            ref_data(saved)[s.c + c] = (float)inverse;
        }
        for (size_t k = 0; k < count; k++) {
            double v =
                (dropped(backend, norm, x, k / area, c, k % area) - mean) * inverse * ref_param(theta, gamma)[c] +
                ref_param(theta, beta)[c];
            ref_data(y)[(k / area * s.c + c) * area + k % area] = (float)(norm->relu && v < 0 ? 0 : v);
        }
    }
    return VG_OK;
}

vg_status vg_ref__norm_backward(vg_backend *backend, const vg_norm *norm, const vg_norm_gradient *to,
                                const vg_block *theta, vg_block *grad) {
    vg_tensor *dx = to->dx;
    const vg_tensor *dy = to->dy, *x = to->x, *saved = to->saved, *addend = to->addend;
    const vg_param *gamma = to->gamma, *beta = to->beta;
    vg_shape s = x->shape;
    size_t area = s.h * s.w, count = x->n * area;
    for (size_t c = 0; c < s.c; c++) {
        double mean = ref_data(saved)[c], inverse = ref_data(saved)[s.c + c], g = ref_param(theta, gamma)[c];
        double b = ref_param(theta, beta)[c], dbeta = 0, dgamma = 0;
        for (int round = 0; round < 2; round++)
            for (size_t k = 0; k < count; k++) {
                size_t n = k / area, i = (n * s.c + c) * area + k % area;
                double hat = (dropped(backend, norm, x, n, c, k % area) - mean) * inverse;
                double d = norm->relu && hat * g + b <= 0 ? 0.0 : ref_data(dy)[i];
                if (round == 0) {
                    dbeta += d;
                    dgamma += d * hat;
                    continue;
                }
                double v = g * inverse * (d - (dbeta + hat * dgamma) / (double)count);
                v *= vg_backend__ref_keep(&backend->step, norm->dropout, n, s, c, k % area / s.w, k % area % s.w);
                ref_data(dx)[i] = (float)(v + (addend ? ref_data(addend)[i] : 0.0));
            }
        ref_param(grad, gamma)[c] = (float)dgamma;
        ref_param(grad, beta)[c] = (float)dbeta;
    }
    return VG_OK;
}

vg_status vg_ref__average_forward(vg_backend *backend, vg_tensor *y, const vg_tensor *x) {
    (void)backend;
    size_t area = x->shape.h * x->shape.w;
    for (size_t k = 0; k < x->n * x->shape.c; k++) {
        double sum = 0;
        for (size_t j = 0; j < area; j++)
            sum += ref_data(x)[k * area + j];
        ref_data(y)[k] = (float)(sum / (double)area);
    }
    return VG_OK;
}

vg_status vg_ref__average_backward(vg_backend *backend, vg_tensor *dx, const vg_tensor *dy) {
    (void)backend;
    size_t area = dx->shape.h * dx->shape.w;
    for (size_t k = 0; k < dx->n * dx->shape.c * area; k++)
        ref_data(dx)[k] = ref_data(dy)[k / area] / (float)area;
    return VG_OK;
}

vg_status vg_ref__repeat_rows(vg_backend *backend, vg_tensor *y, const vg_tensor *x, uint64_t first, uint64_t repeat,
                              vg_dropout dropout) {
    vg_shape s = y->shape;
    for (size_t k = 0; k < y->n * vg_shape__size(s); k++) {
        size_t q = k % s.w, p = k / s.w % s.h, c = k / (s.w * s.h) % s.c, n = k / (s.w * s.h * s.c);
        size_t from = (size_t)((first + n) / repeat);
        ref_data(y)[k] =
            ref_data(x)[at(s, from, c, p, q)] * vg_backend__ref_keep(&backend->step, dropout, n, s, c, p, q);
    }
    return VG_OK;
}
