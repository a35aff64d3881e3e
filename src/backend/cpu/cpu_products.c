/* cpu_products.c - convolutions and linear layers of the CPU backend, and the layout of their parameters.
 *
 * Filters [o][i][h][w] in memory, block b (16 or 8):
 *     o/b i/b h w b(i) b(o)   when b divides both
 *     o/b h w i b(o)          when it divides o only (first layers)
 *     [o][i][h][w]            otherwise
 * Linear weights [o][c][h][w]: row o holds its inputs in the order of a row of activations in memory, so the product
 * is a plain matrix product. */
#include <string.h>

#include "backend/cpu/cpu_backend.h"

static vg_engine_type compute_type(const vg_backend *backend) {
    return backend->compute == VG_COMPUTE_BF16 ? VG_ENGINE_BF16 : VG_ENGINE_F32;
}

vg_engine_layout vg_cpu__filter_layout(const vg_backend *backend, const vg_param *w) {
    size_t b = cpu_of(backend)->block;
    if (b < 8 || w->o % b)
        return VG_ENGINE_PLAIN;
    if (w->i % b == 0)
        return b == 16 ? VG_ENGINE_FILTER16 : VG_ENGINE_FILTER8;
    return b == 16 ? VG_ENGINE_FILTER_FIRST16 : VG_ENGINE_FILTER_FIRST8;
}

/* Position in memory of element [o][i][k], k = y * w + x. */
static size_t param_place(const vg_backend *backend, const vg_param *p, size_t o, size_t i, size_t k) {
    size_t b = cpu_of(backend)->block, area = p->h * p->w;
    if (p->kind == VG_PARAM_LINEAR) {
        size_t input_block = b == 0 && p->i % 8 == 0 && p->i <= VG_CPU_LANES ? p->i : b > 1 && p->i % b == 0 ? b : 1;
        return o * p->i * area + (i / input_block * area + k) * input_block + i % input_block;
    }
    switch (p->kind == VG_PARAM_CONV ? vg_cpu__filter_layout(backend, p) : VG_ENGINE_PLAIN) {
    case VG_ENGINE_FILTER16:
    case VG_ENGINE_FILTER8: return (((o / b * (p->i / b) + i / b) * area + k) * b + i % b) * b + o % b;
    case VG_ENGINE_FILTER_FIRST16:
    case VG_ENGINE_FILTER_FIRST8: return ((o / b * area + k) * p->i + i) * b + o % b;
    default: return (o * p->i + i) * area + k;
    }
}

/* Copies a parameter from the plain order [o][i][k] to its layout here, or back. The elements of one o and i are
 * equally far apart, so that the address is computed once for all of them. */
static void copy_param(const vg_backend *backend, const vg_param *p, float *to, const float *from, bool upload) {
    size_t area = p->h * p->w, apart = area > 1 ? param_place(backend, p, 0, 0, 1) : 1;
    if (p->kind == VG_PARAM_LINEAR && area == 1) { /* the same order */
        memcpy(to, from, vg_param__count(p) * sizeof *to);
        return;
    }
    for (size_t o = 0; o < p->o; o++)
        for (size_t i = 0; i < p->i; i++) {
            size_t here = param_place(backend, p, o, i, 0), plain = (o * p->i + i) * area;
            for (size_t k = 0; k < area; k++)
                to[upload ? here + k * apart : plain + k] = from[upload ? plain + k : here + k * apart];
        }
}

vg_status vg_cpu__param_upload(vg_backend *backend, vg_block *block, const vg_param *p, const float *values) {
    copy_param(backend, p, cpu_param(block, p), values, true);
    block->version++;
    return VG_OK;
}

vg_status vg_cpu__param_download(vg_backend *backend, float *values, const vg_block *block, const vg_param *p) {
    copy_param(backend, p, values, cpu_param(block, p), false);
    return VG_OK;
}

/* --- convolution */

static vg_engine_operand activation(const vg_tensor *tensor) {
    const cpu_tensor *t = cpu_tensor_of(tensor);
    vg_shape s = tensor->shape;
    vg_engine_operand operand;
    memset(&operand, 0, sizeof operand);
    operand.view.type = t->bf16 ? VG_ENGINE_BF16 : VG_ENGINE_F32;
    operand.view.layout = t->b == 16  ? VG_ENGINE_BLOCKED16
                          : t->b == 8 ? VG_ENGINE_BLOCKED8
                          : t->b == 1 ? VG_ENGINE_PLAIN
                                      : VG_ENGINE_CHANNELS_LAST;
    operand.view.dims[0] = (int64_t)tensor->n;
    operand.view.dims[1] = (int64_t)s.c;
    operand.view.dims[2] = (int64_t)s.h;
    operand.view.dims[3] = (int64_t)s.w;
    operand.data = t->data;
    return operand;
}

static vg_engine_operand filter(const vg_backend *backend, const vg_block *block, const vg_param *w, bool versioned) {
    vg_engine_operand operand;
    memset(&operand, 0, sizeof operand);
    operand.view.layout = vg_cpu__filter_layout(backend, w);
    operand.view.dims[0] = (int64_t)w->o;
    operand.view.dims[1] = (int64_t)w->i;
    operand.view.dims[2] = (int64_t)w->h;
    operand.view.dims[3] = (int64_t)w->w;
    operand.data = cpu_param(block, w);
    operand.version = versioned ? block->version : 0;
    return operand;
}

static size_t bytes_of(const vg_tensor *t) { return t->n * vg_shape__size(t->shape) * cpu_element(cpu_tensor_of(t)); }

static void add_into(vg_backend *backend, vg_tensor *y, const void *x) {
    enum { PIECE = 32768 };
    const cpu_tensor *t = cpu_tensor_of(y);
    const vg_cpu_kernels *kernels = cpu_of(backend)->kernels;
    size_t count = y->n * vg_shape__size(y->shape), element = cpu_element(t);
    CPU_PARALLEL
    for (size_t at = 0; at < count; at += PIECE)
        kernels->add((char *)t->data + at * element, (const char *)x + at * element,
                     count - at < PIECE ? count - at : PIECE, t->bf16);
}

/* The accelerator that takes this convolution, or NULL. */
static const cpu_conv_accelerator *accelerator_for(const vg_backend *backend, const vg_conv *conv, const vg_param *w,
                                                   const vg_tensor *x) {
    const cpu_conv_accelerator *own = cpu_of(backend)->accelerator;
    return own && own->serves(backend, conv, w, x) ? own : NULL;
}

vg_status vg_cpu__conv_forward(vg_backend *backend, const vg_conv *conv, vg_tensor *y, const vg_tensor *x,
                               const vg_block *theta, const vg_param *w, const vg_tensor *addend) {
    const cpu_conv_accelerator *own = accelerator_for(backend, conv, w, x);
    vg_engine_operand ox = activation(x), ow = filter(backend, theta, w, true), oy = activation(y);
    if (addend && addend != y)
        memcpy(oy.data, cpu_tensor_of(addend)->data, bytes_of(y));
    if (own)
        return own->forward(backend, conv, y, x, theta, w, addend != NULL);
    vg_engine_conv pass = {VG_ENGINE_FORWARD, compute_type(backend), conv->stride, conv->pad, addend != NULL};
    return vg_engine__conv(cpu_of(backend)->engine, &pass, &ox, &ow, &oy);
}

vg_status vg_cpu__conv_backward_data(vg_backend *backend, const vg_conv *conv, vg_tensor *dx, const vg_tensor *dy,
                                     const vg_block *theta, const vg_param *w, const vg_tensor *addend) {
    vg_engine_operand ox = activation(dx), ow = filter(backend, theta, w, true), oy = activation(dy);
    const void *kept = addend ? cpu_tensor_of(addend)->data : NULL;
    const cpu_conv_accelerator *own = accelerator_for(backend, conv, w, dx);
    if (own) {
        if (addend && addend != dx)
            memcpy(ox.data, kept, bytes_of(dx));
        return own->backward_data(backend, conv, dx, dy, theta, w, addend != NULL);
    }
    if (addend == dx) { /* The library overwrites its output, so the result goes to a spare buffer. */
        VG_TRY(vg_cpu__spare(backend, bytes_of(dx), &ox.data));
        kept = ox.data;
    }
    vg_engine_conv pass = {VG_ENGINE_BACKWARD_DATA, compute_type(backend), conv->stride, conv->pad, false};
    VG_TRY(vg_engine__conv(cpu_of(backend)->engine, &pass, &ox, &ow, &oy));
    if (addend)
        add_into(backend, dx, kept);
    return VG_OK;
}

vg_status vg_cpu__conv_backward_weights(vg_backend *backend, const vg_conv *conv, vg_block *grad, const vg_param *w,
                                        const vg_tensor *x, const vg_tensor *dy) {
    const cpu_conv_accelerator *own = accelerator_for(backend, conv, w, x);
    vg_engine_operand ox = activation(x), ow = filter(backend, grad, w, false), oy = activation(dy);
    if (own)
        return own->backward_weights(backend, conv, grad, w, x, dy);
    grad->version++;
    vg_engine_conv pass = {VG_ENGINE_BACKWARD_WEIGHTS, compute_type(backend), conv->stride, conv->pad, false};
    return vg_engine__conv(cpu_of(backend)->engine, &pass, &ox, &ow, &oy);
}

/* --- linear */

/* A matrix of rows x columns at `data`, element (r, c) at r * row_stride + c * column_stride. */
static vg_engine_operand matrix(void *data, bool bf16, size_t rows, size_t columns, size_t row_stride,
                                size_t column_stride, uint64_t version) {
    vg_engine_operand operand;
    memset(&operand, 0, sizeof operand);
    operand.view.type = bf16 ? VG_ENGINE_BF16 : VG_ENGINE_F32;
    operand.view.layout = VG_ENGINE_STRIDED;
    operand.view.dims[0] = (int64_t)rows;
    operand.view.dims[1] = (int64_t)columns;
    operand.view.strides[0] = (int64_t)row_stride;
    operand.view.strides[1] = (int64_t)column_stride;
    operand.data = data;
    operand.version = version;
    return operand;
}

static vg_engine_operand rows_of(const vg_tensor *t) {
    size_t width = vg_shape__size(t->shape);
    return matrix(cpu_tensor_of(t)->data, cpu_tensor_of(t)->bf16, t->n, width, width, 1, 0);
}

/* Linear weights as a matrix o x inputs, or transposed: in float32 the weights themselves, for bfloat16 products
 * their rounded copy. */
static vg_status weights_of(vg_backend *backend, vg_engine_operand *out, const vg_block *theta, const vg_param *w,
                            size_t inputs, bool transposed) {
    bool bf16 = backend->compute == VG_COMPUTE_BF16;
    void *data = cpu_param(theta, w);
    if (bf16) {
        uint16_t *rounded;
        VG_TRY(vg_cpu__shadow(backend, theta, w, &rounded));
        data = rounded;
    }
    *out = transposed ? matrix(data, bf16, inputs, w->o, 1, inputs, theta->version)
                      : matrix(data, bf16, w->o, inputs, inputs, 1, theta->version);
    return VG_OK;
}

vg_status vg_cpu__linear_forward(vg_backend *backend, vg_tensor *y, const vg_tensor *x, const vg_block *theta,
                                 const vg_param *w, const vg_param *bias) {
    size_t in = vg_shape__size(x->shape);
    vg_engine_operand a = rows_of(x), b, c = rows_of(y);
    VG_TRY(weights_of(backend, &b, theta, w, in, true));
    return vg_engine__matmul(cpu_of(backend)->engine, compute_type(backend), &c, &a, &b,
                             bias ? cpu_param(theta, bias) : NULL);
}

vg_status vg_cpu__linear_backward_data(vg_backend *backend, vg_tensor *dx, const vg_tensor *dy, const vg_block *theta,
                                       const vg_param *w) {
    size_t in = vg_shape__size(dx->shape);
    vg_engine_operand a = rows_of(dy), b, c = rows_of(dx);
    VG_TRY(weights_of(backend, &b, theta, w, in, false));
    return vg_engine__matmul(cpu_of(backend)->engine, compute_type(backend), &c, &a, &b, NULL);
}

vg_status vg_cpu__linear_backward_weights(vg_backend *backend, vg_block *grad, const vg_param *w, const vg_param *bias,
                                          const vg_tensor *x, const vg_tensor *dy) {
    size_t in = vg_shape__size(x->shape), out = w->o;
    const cpu_tensor *t = cpu_tensor_of(dy);
    vg_engine_operand a = matrix(t->data, t->bf16, out, dy->n, 1, out, 0), b = rows_of(x);
    vg_engine_operand c = matrix(cpu_param(grad, w), false, out, in, in, 1, 0);
    VG_TRY(vg_engine__matmul(cpu_of(backend)->engine, compute_type(backend), &c, &a, &b, NULL));
    grad->version++;
    if (!bias)
        return VG_OK;
    float *sums = cpu_param(grad, bias);
    CPU_PARALLEL
    for (size_t piece = 0; piece < (out + 63) / 64; piece++) {
        size_t first = piece * 64, last = first + 64 < out ? first + 64 : out;
        memset(sums + first, 0, (last - first) * sizeof(float));
        for (size_t n = 0; n < dy->n; n++)
            for (size_t o = first; o < last; o++)
                sums[o] += t->bf16 ? vg_cpu__from_bf16(((const uint16_t *)t->data)[n * out + o])
                                   : ((const float *)t->data)[n * out + o];
    }
    return VG_OK;
}
