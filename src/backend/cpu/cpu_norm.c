/* cpu_norm.c - batch-norm with ReLU and the dropout before it, of the CPU backend.
 *
 * Forward: two passes for mean and variance (of the dropped input), one to apply y = relu(d a + c), a = gamma / std,
 * c = beta - mean a. Backward: one pass for the sums dbeta, dgamma, one to apply
 *     dx = mask (a g + e d + f),  g = dy where y > 0,  e = -a dgamma / (count std),  f = -a dbeta / count - e mean
 * Sums are taken in a fixed number of parts and added in double, in order: the same bits at any thread count. */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_backend.h"

enum { PARTS = 8 };

typedef struct norm_call {
    vg_backend *backend;
    const vg_norm *norm;
    const vg_tensor *x, *dy, *addend;
    vg_tensor *out;
    const float *a, *c, *mean, *inverse, *e, *f; /* per channel */
    enum { SUM, SQUARES, APPLY, BACK_SUMS, BACK_APPLY } what;
} norm_call;

/* Passes one run (row n, block cb) to one of the kernels; sums has 2 x C floats per part. */
static void norm_run(const norm_call *call, size_t n, size_t cb, float *sums, float *more) {
    const vg_cpu_kernels *kernels = cpu_of(call->backend)->kernels;
    const cpu_tensor *t = cpu_tensor_of(call->x);
    size_t b = t->b, area = call->x->shape.h * call->x->shape.w, element = cpu_element(t), at = cb * b;
    size_t step = call->norm->dropout.p > 0 ? VG_CPU_LANES / b : area;
    uint16_t lanes[VG_CPU_LANES];
    for (size_t k = 0; k < area; k += step) {
        size_t count = area - k < step ? area - k : step, skip = k * b * element;
        vg_cpu_norm_run run = {.x = (const char *)cpu_run(call->x, n, cb) + skip,
                               .dy = call->dy ? (const char *)cpu_run(call->dy, n, cb) + skip : NULL,
                               .addend = call->addend ? (const char *)cpu_run(call->addend, n, cb) + skip : NULL,
                               .out = call->out ? (char *)cpu_run(call->out, n, cb) + skip : NULL,
                               .a = call->a + at,
                               .c = call->c + at,
                               .mean = call->mean + at,
                               .inverse = call->inverse ? call->inverse + at : NULL,
                               .e = call->e ? call->e + at : NULL,
                               .f = call->f ? call->f + at : NULL,
                               .count = count,
                               .b = b,
                               .bf16 = t->bf16,
                               .relu = call->norm->relu};
        run.mask = vg_cpu__mask(call->backend, call->norm->dropout, lanes, &(cpu_span){call->x, b, n, cb, k, count});
        switch (call->what) {
        case SUM: kernels->sum(sums, &run); break;
        case SQUARES: kernels->squares(sums, &run); break;
        case APPLY: kernels->affine(&run); break;
        case BACK_SUMS: kernels->norm_sums(sums, more, &run); break;
        case BACK_APPLY: kernels->norm_apply(&run); break;
        }
    }
}

/* Processes every run. For sums, parts[PARTS][2][C] are cleared, filled and added up into totals[2][C]. A run's own
 * sum starts at zero, so that float32 adds at most one image of one channel before the sum continues in double. */
static void norm_all(const norm_call *call, double *totals) {
    const cpu_tensor *t = cpu_tensor_of(call->x);
    size_t b = t->b, channels = call->x->shape.c, blocks = channels / b, rows = call->x->n;
    if (!totals) {
        CPU_PARALLEL_2
        for (size_t n = 0; n < rows; n++)
            for (size_t cb = 0; cb < blocks; cb++)
                norm_run(call, n, cb, NULL, NULL);
        return;
    }
    double *parts = totals + 2 * channels;
    memset(totals, 0, (PARTS + 1) * 2 * channels * sizeof(double));
    CPU_PARALLEL_2
    for (size_t part = 0; part < PARTS; part++)
        for (size_t cb = 0; cb < blocks; cb++)
            for (size_t n = part * rows / PARTS; n < (part + 1) * rows / PARTS; n++) {
                float first[VG_CPU_LANES / 4], second[VG_CPU_LANES / 4];
                double *own = parts + part * 2 * channels + cb * b;
                memset(first, 0, b * sizeof(float));
                memset(second, 0, b * sizeof(float));
                norm_run(call, n, cb, first, second);
                for (size_t j = 0; j < b; j++) {
                    own[j] += first[j];
                    own[channels + j] += second[j];
                }
            }
    for (size_t part = 0; part < PARTS; part++)
        for (size_t i = 0; i < 2 * channels; i++)
            totals[i] += parts[part * 2 * channels + i];
}

/* Work memory: (PARTS + 1) * 2 * C doubles, then 4 * C floats. */
static vg_status norm_work(vg_backend *backend, size_t channels, double **totals, float **rows) {
    float *work;
    VG_TRY(vg_cpu__work(backend, (PARTS + 1) * 4 * channels + 4 * channels, &work));
    *totals = (double *)work;
    *rows = work + (PARTS + 1) * 4 * channels;
    return VG_OK;
}

vg_status vg_cpu__norm_forward(vg_backend *backend, const vg_norm *norm, const vg_norm_pass *pass,
                               const vg_block *theta) {
    vg_tensor *y = pass->y, *running = pass->running, *saved = pass->saved;
    const vg_tensor *x = pass->x;
    const vg_param *gamma = pass->gamma, *beta = pass->beta;
    size_t channels = x->shape.c;
    double count = (double)(x->n * x->shape.h * x->shape.w), momentum = backend->step.momentum, *totals;
    float *rows, *means = cpu_tensor_of(running)->data, *vars = means + channels;
    VG_TRY(norm_work(backend, channels, &totals, &rows));
    float *a = rows, *c = rows + channels, *mean = rows + 2 * channels, *inverse = rows + 3 * channels;
    norm_call call = {.backend = backend, .norm = norm, .x = x, .out = y, .a = a, .c = c, .mean = mean, .what = SUM};
    if (norm->training) {
        norm_all(&call, totals);
        for (size_t i = 0; i < channels; i++)
            mean[i] = (float)(totals[i] / count);
        call.what = SQUARES;
        norm_all(&call, totals);
    }
    for (size_t i = 0; i < channels; i++) {
        double var = norm->training ? totals[i] / count : vars[i];
        if (norm->training) {
            means[i] = (float)((1 - momentum) * means[i] + momentum * mean[i]);
            vars[i] = (float)((1 - momentum) * vars[i] + momentum * totals[i] / (count > 1 ? count - 1 : 1));
        } else {
            mean[i] = means[i];
        }
        inverse[i] = (float)(1.0 / sqrt(var + norm->epsilon));
        a[i] = cpu_param(theta, gamma)[i] * inverse[i];
        c[i] = cpu_param(theta, beta)[i] - mean[i] * a[i];
    }
    if (saved) {
        memcpy(cpu_tensor_of(saved)->data, mean, channels * sizeof(float));
        memcpy((float *)cpu_tensor_of(saved)->data + channels, inverse, channels * sizeof(float));
    }
    call.what = APPLY;
    norm_all(&call, NULL);
    return VG_OK;
}

vg_status vg_cpu__norm_backward(vg_backend *backend, const vg_norm *norm, const vg_norm_gradient *to,
                                const vg_block *theta, vg_block *grad) {
    vg_tensor *dx = to->dx;
    const vg_tensor *dy = to->dy, *x = to->x, *saved = to->saved, *addend = to->addend;
    const vg_param *gamma = to->gamma, *beta = to->beta;
    size_t channels = x->shape.c;
    double count = (double)(x->n * x->shape.h * x->shape.w), *totals;
    const float *mean = cpu_tensor_of(saved)->data, *inverse = mean + channels;
    float *rows;
    VG_TRY(norm_work(backend, channels, &totals, &rows));
    float *a = rows, *c = rows + channels, *e = rows + 2 * channels, *f = rows + 3 * channels;
    for (size_t i = 0; i < channels; i++) {
        a[i] = cpu_param(theta, gamma)[i] * inverse[i];
        c[i] = cpu_param(theta, beta)[i] - mean[i] * a[i];
    }
    norm_call call = {.backend = backend,
                      .norm = norm,
                      .x = x,
                      .dy = dy,
                      .addend = addend,
                      .out = dx,
                      .a = a,
                      .c = c,
                      .mean = mean,
                      .inverse = inverse,
                      .e = e,
                      .f = f,
                      .what = BACK_SUMS};
    norm_all(&call, totals);
    for (size_t i = 0; i < channels; i++) {
        cpu_param(grad, beta)[i] = (float)totals[i];
        cpu_param(grad, gamma)[i] = (float)totals[channels + i];
        e[i] = (float)(-(double)a[i] * totals[channels + i] / count * inverse[i]);
        f[i] = (float)(-(double)a[i] * totals[i] / count - (double)e[i] * mean[i]);
    }
    grad->version++;
    call.what = BACK_APPLY;
    norm_all(&call, NULL);
    return VG_OK;
}
