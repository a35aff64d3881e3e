/* cpu_layers.c - bias, pooling, ReLU and dropout; average pooling; repeated rows; of the CPU backend.
 *
 * Sums over rows (bias gradients) are taken in a fixed number of parts, which are added in order: the same bits at any
 * thread count. */
#include <string.h>

#include "backend/cpu/cpu_backend.h"

/* Parts into which the rows are cut for sums. */
enum { PARTS = 8 };

/* The channel block of the loops: all channels at once where a row has one position, because its layout is plain
 * then. */
static size_t pooling_block(const vg_tensor *t, const vg_pooling *pooling) {
    bool flat = pooling->pool == 1 && t->shape.h * t->shape.w == 1 && t->shape.c <= VG_CPU_LANES;
    return flat ? t->shape.c : cpu_tensor_of(t)->b;
}

/* Rows of outputs whose masks fit the buffer at once. */
static size_t rows_at_once(const vg_tensor *t, size_t b) {
    size_t rows = VG_CPU_LANES / (t->shape.w * b);
    return rows < 1 ? 1 : rows > t->shape.h ? t->shape.h : rows;
}

/* The mask of one row from the masks of several. */
static vg_cpu_mask row_of(vg_cpu_mask mask, size_t skip) {
    if (mask.lanes)
        mask.lanes += skip;
    return mask;
}

/* One call of a pooling step: forward from x to y, or backward from dy to dx. */
typedef struct pooling_call {
    vg_backend *backend;
    const vg_pooling *pooling;
    vg_tensor *out;          /* y or dx */
    const vg_tensor *in;     /* x or dy */
    const vg_tensor *y;      /* backward: what forward gave */
    const vg_tensor *choice; /* may be NULL */
    const float *bias;       /* forward */
    size_t b;                /* channels of a block */
} pooling_call;

static uint8_t *winners_of(const pooling_call *call, const vg_tensor *pooled, size_t n, size_t cb) {
    vg_shape s = pooled->shape;
    uint8_t *all = call->choice ? cpu_tensor_of(call->choice)->data : NULL;
    return all ? all + (n * s.c + cb * call->b) * s.h * s.w : NULL;
}

static void forward_run(const pooling_call *call, size_t n, size_t cb) {
    const vg_pooling *pooling = call->pooling;
    const vg_tensor *y = call->out, *x = call->in;
    const vg_cpu_kernels *kernels = cpu_of(call->backend)->kernels;
    size_t b = call->b, height = y->shape.h, width = y->shape.w, element = cpu_element(cpu_tensor_of(y));
    size_t rows = rows_at_once(y, b);
    vg_cpu_window window = {width, x->shape.w, pooling->pool, b, cpu_tensor_of(y)->bf16, pooling->relu};
    char *to = cpu_run(y, n, cb);
    const char *from = cpu_run(x, n, cb);
    uint8_t *winners = winners_of(call, y, n, cb);
    vg_cpu_mask mask = {NULL, 0, 1.0f};
    uint16_t lanes[VG_CPU_LANES];
    for (size_t p = 0; p < height; p++) {
        size_t left = height - p < rows ? height - p : rows, out = p * width * b;
        if (p % rows == 0)
            mask =
                vg_cpu__mask(call->backend, pooling->dropout, lanes, &(cpu_span){y, b, n, cb, p * width, left * width});
        vg_cpu_pooling_row row = {to + out * element, winners ? winners + out : NULL,
                                  from + p * pooling->pool * window.in_width * b * element, call->bias + cb * b,
                                  row_of(mask, p % rows * width * b)};
        kernels->pooling_forward(&window, &row);
    }
}

vg_status vg_cpu__pooling_forward(vg_backend *backend, const vg_pooling *pooling, vg_tensor *y, vg_tensor *choice,
                                  const vg_tensor *x, const vg_block *theta, const vg_param *bias) {
    size_t b = pooling_block(y, pooling), blocks = y->shape.c / b;
    float *zeros = NULL;
    if (y->shape.w * b > VG_CPU_LANES)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "maps of width %zu are wider than this backend supports", y->shape.w);
    if (!bias) {
        VG_TRY(vg_cpu__work(backend, y->shape.c, &zeros));
        memset(zeros, 0, y->shape.c * sizeof(float));
    }
    pooling_call call = {.backend = backend,
                         .pooling = pooling,
                         .out = y,
                         .in = x,
                         .choice = choice,
                         .bias = bias ? cpu_param(theta, bias) : zeros,
                         .b = b};
    CPU_PARALLEL_2
    for (size_t n = 0; n < y->n; n++)
        for (size_t cb = 0; cb < blocks; cb++)
            forward_run(&call, n, cb);
    return VG_OK;
}

/* Zeroes the columns at the right and the rows below that no window covers. `to`: a run of dx; `position`: the bytes of
 * one of its positions. */
static void clear_border(char *to, const vg_tensor *dx, vg_shape pooled, size_t pool, size_t position) {
    size_t width = dx->shape.w, covered = pooled.w * pool, rows = pooled.h * pool;
    for (size_t y = 0; y < rows && covered < width; y++)
        memset(to + (y * width + covered) * position, 0, (width - covered) * position);
    if (rows < dx->shape.h)
        memset(to + rows * width * position, 0, (dx->shape.h - rows) * width * position);
}

static void backward_run(const pooling_call *call, size_t n, size_t cb, float *sums) {
    const vg_pooling *pooling = call->pooling;
    const vg_tensor *dx = call->out, *dy = call->in;
    const vg_cpu_kernels *kernels = cpu_of(call->backend)->kernels;
    size_t b = call->b, height = dy->shape.h, width = dy->shape.w, element = cpu_element(cpu_tensor_of(dy));
    size_t rows = rows_at_once(dy, b);
    vg_cpu_window window = {width, dx->shape.w, pooling->pool, b, cpu_tensor_of(dy)->bf16, pooling->relu};
    char *to = cpu_run(dx, n, cb);
    const char *from = cpu_run(dy, n, cb), *was = cpu_run(call->y, n, cb);
    const uint8_t *winners = winners_of(call, dy, n, cb);
    /* After a ReLU, y = 0 marks dropped elements, so the masks need not be drawn again. */
    vg_cpu_mask mask = {NULL, 0, pooling->dropout.p > 0 ? 1.0f / (1.0f - pooling->dropout.p) : 1.0f};
    uint16_t lanes[VG_CPU_LANES];
    for (size_t p = 0; p < height; p++) {
        size_t left = height - p < rows ? height - p : rows, in = p * width * b;
        if (p % rows == 0 && !pooling->relu)
            mask = vg_cpu__mask(call->backend, pooling->dropout, lanes,
                                &(cpu_span){dy, b, n, cb, p * width, left * width});
        vg_cpu_pooling_back row = {to + p * pooling->pool * window.in_width * b * element,
                                   sums,
                                   from + in * element,
                                   was + in * element,
                                   winners ? winners + in : NULL,
                                   row_of(mask, p % rows * width * b)};
        kernels->pooling_backward(&window, &row);
    }
    clear_border(to, dx, dy->shape, pooling->pool, b * element);
}

vg_status vg_cpu__pooling_backward(vg_backend *backend, const vg_pooling *pooling, const vg_pooling_gradient *to,
                                   vg_block *grad) {
    vg_tensor *dx = to->dx;
    const vg_tensor *dy = to->dy, *y = to->y, *choice = to->choice;
    const vg_param *bias = to->bias;
    size_t b = pooling_block(dy, pooling), channels = dy->shape.c, blocks = channels / b;
    float *sums;
    VG_TRY(vg_cpu__work(backend, PARTS * channels, &sums));
    memset(sums, 0, PARTS * channels * sizeof(float));
    pooling_call call = {.backend = backend, .pooling = pooling, .out = dx, .in = dy, .y = y, .choice = choice, .b = b};
    CPU_PARALLEL_2
    for (size_t part = 0; part < PARTS; part++)
        for (size_t cb = 0; cb < blocks; cb++)
            for (size_t n = part * dy->n / PARTS; n < (part + 1) * dy->n / PARTS; n++)
                backward_run(&call, n, cb, sums + part * channels + cb * b);
    for (size_t c = 0; bias && c < channels; c++) {
        double sum = 0;
        for (size_t part = 0; part < PARTS; part++)
            sum += sums[part * channels + c];
        cpu_param(grad, bias)[c] = (float)sum;
    }
    if (bias)
        grad->version++;
    return VG_OK;
}

static float get(const cpu_tensor *t, const void *run, size_t i) {
    return t->bf16 ? vg_cpu__from_bf16(((const uint16_t *)run)[i]) : ((const float *)run)[i];
}

static void put(const cpu_tensor *t, void *run, size_t i, float v) {
    if (t->bf16)
        ((uint16_t *)run)[i] = vg_cpu__to_bf16(v);
    else
        ((float *)run)[i] = v;
}

/* y is (n, c, 1, 1): its rows are plain for any block size. */
vg_status vg_cpu__average_forward(vg_backend *backend, vg_tensor *y, const vg_tensor *x) {
    const cpu_tensor *t = cpu_tensor_of(x), *out = cpu_tensor_of(y);
    size_t b = t->b, blocks = x->shape.c / b, area = x->shape.h * x->shape.w;
    (void)backend;
    CPU_PARALLEL_2
    for (size_t n = 0; n < x->n; n++)
        for (size_t cb = 0; cb < blocks; cb++)
            for (size_t j = 0; j < b; j++) {
                float sum = 0;
                for (size_t k = 0; k < area; k++)
                    sum += get(t, cpu_run(x, n, cb), k * b + j);
                put(out, out->data, n * x->shape.c + cb * b + j, sum / (float)area);
            }
    return VG_OK;
}

vg_status vg_cpu__average_backward(vg_backend *backend, vg_tensor *dx, const vg_tensor *dy) {
    const cpu_tensor *t = cpu_tensor_of(dx), *in = cpu_tensor_of(dy);
    size_t b = t->b, blocks = dx->shape.c / b, area = dx->shape.h * dx->shape.w;
    (void)backend;
    CPU_PARALLEL_2
    for (size_t n = 0; n < dx->n; n++)
        for (size_t cb = 0; cb < blocks; cb++)
            for (size_t i = 0; i < area * b; i++)
                put(t, cpu_run(dx, n, cb), i, get(in, in->data, n * dx->shape.c + cb * b + i % b) / (float)area);
    return VG_OK;
}

vg_status vg_cpu__repeat_rows(vg_backend *backend, vg_tensor *y, const vg_tensor *x, uint64_t first, uint64_t repeat,
                              vg_dropout dropout) {
    const cpu_context *cpu = cpu_of(backend);
    const cpu_tensor *t = cpu_tensor_of(y);
    size_t b = t->b, blocks = y->shape.c / b, area = y->shape.h * y->shape.w, element = cpu_element(t);
    size_t step = dropout.p > 0 ? VG_CPU_LANES / b : area;
    CPU_PARALLEL_2
    for (size_t n = 0; n < y->n; n++)
        for (size_t cb = 0; cb < blocks; cb++) {
            uint16_t lanes[VG_CPU_LANES];
            const char *from = cpu_run(x, (size_t)((first + n) / repeat), cb);
            char *to = cpu_run(y, n, cb);
            for (size_t k = 0; k < area; k += step) {
                size_t count = area - k < step ? area - k : step, at = k * b * element;
                vg_cpu_mask mask = vg_cpu__mask(backend, dropout, lanes, &(cpu_span){y, b, n, cb, k, count});
                if (mask.lanes)
                    cpu->kernels->copy_masked(to + at, from + at, count * b, t->bf16, mask);
                else
                    memcpy(to + at, from + at, count * b * element);
            }
        }
    return VG_OK;
}
