/* ref_conv.c - convolution (cross-correlation, as networks call it) by its definition:
 *     y[n][o][p][q] = sum over i, r, s of x[n][i][p * stride + r - pad][q * stride + s - pad] w[o][i][r][s]
 * to which the addend, where there is one, is added. */
#include "backend/ref/ref_backend.h"

typedef struct geometry {
    size_t n, i, h, w, o, p, q, r, s, stride, pad;
} geometry;

static geometry geometry_of(const vg_conv *conv, const vg_tensor *x, const vg_tensor *y, const vg_param *w) {
    return (geometry){x->n,       x->shape.c, x->shape.h, x->shape.w,   y->shape.c, y->shape.h,
                      y->shape.w, w->h,       w->w,       conv->stride, conv->pad};
}

/* Position in the input under tap r of output p; false outside. */
static bool tap(size_t *at, size_t p, size_t r, size_t stride, size_t pad, size_t size) {
    size_t t = p * stride + r;
    *at = t - pad;
    return t >= pad && t - pad < size;
}

vg_status vg_ref__conv_forward(vg_backend *backend, const vg_conv *conv, vg_tensor *y, const vg_tensor *x,
                               const vg_block *theta, const vg_param *w, const vg_tensor *addend) {
    (void)backend;
    geometry g = geometry_of(conv, x, y, w);
    const float *in = ref_data(x), *weights = ref_param(theta, w), *add = addend ? ref_data(addend) : NULL;
    float *out = ref_data(y);
    for (size_t k = 0; k < g.n * g.o * g.p * g.q; k++) {
        size_t q = k % g.q, p = k / g.q % g.p, o = k / (g.q * g.p) % g.o, n = k / (g.q * g.p * g.o), a, b;
        double sum = add ? add[k] : 0.0;
        for (size_t i = 0; i < g.i; i++)
            for (size_t r = 0; r < g.r; r++)
                for (size_t s = 0; s < g.s; s++)
                    if (tap(&a, p, r, g.stride, g.pad, g.h) && tap(&b, q, s, g.stride, g.pad, g.w))
                        sum += (double)in[((n * g.i + i) * g.h + a) * g.w + b] *
                               weights[((o * g.i + i) * g.r + r) * g.s + s];
        out[k] = (float)sum;
    }
    return VG_OK;
}

vg_status vg_ref__conv_backward_data(vg_backend *backend, const vg_conv *conv, vg_tensor *dx, const vg_tensor *dy,
                                     const vg_block *theta, const vg_param *w, const vg_tensor *addend) {
    (void)backend;
    geometry g = geometry_of(conv, dx, dy, w);
    const float *dout = ref_data(dy), *weights = ref_param(theta, w), *add = addend ? ref_data(addend) : NULL;
    float *din = ref_data(dx);
    for (size_t k = 0; k < g.n * g.i * g.h * g.w; k++) {
        size_t b = k % g.w, a = k / g.w % g.h, i = k / (g.w * g.h) % g.i, n = k / (g.w * g.h * g.i);
        double sum = add ? add[k] : 0.0;
        for (size_t r = 0; r < g.r; r++)
            for (size_t s = 0; s < g.s; s++) {
                if (a + g.pad < r || b + g.pad < s || (a + g.pad - r) % g.stride || (b + g.pad - s) % g.stride)
                    continue;
                size_t p = (a + g.pad - r) / g.stride, q = (b + g.pad - s) / g.stride;
                if (p >= g.p || q >= g.q)
                    continue;
                for (size_t o = 0; o < g.o; o++)
                    sum += (double)dout[((n * g.o + o) * g.p + p) * g.q + q] *
                           weights[((o * g.i + i) * g.r + r) * g.s + s];
            }
        din[k] = (float)sum;
    }
    return VG_OK;
}

vg_status vg_ref__conv_backward_weights(vg_backend *backend, const vg_conv *conv, vg_block *grad, const vg_param *w,
                                        const vg_tensor *x, const vg_tensor *dy) {
    (void)backend;
    geometry g = geometry_of(conv, x, dy, w);
    const float *in = ref_data(x), *dout = ref_data(dy);
    float *dw = ref_param(grad, w);
    for (size_t k = 0; k < g.o * g.i * g.r * g.s; k++) {
        size_t s = k % g.s, r = k / g.s % g.r, i = k / (g.s * g.r) % g.i, o = k / (g.s * g.r * g.i), a, b;
        double sum = 0;
        for (size_t n = 0; n < g.n; n++)
            for (size_t p = 0; p < g.p; p++)
                for (size_t q = 0; q < g.q; q++)
                    if (tap(&a, p, r, g.stride, g.pad, g.h) && tap(&b, q, s, g.stride, g.pad, g.w))
                        sum +=
                            (double)in[((n * g.i + i) * g.h + a) * g.w + b] * dout[((n * g.o + o) * g.p + p) * g.q + q];
        dw[k] = (float)sum;
    }
    grad->version++;
    return VG_OK;
}
