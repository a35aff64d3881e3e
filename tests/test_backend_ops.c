/* test_backend_ops.c - every operation of every backend: gradients of the plain one by finite differences, the others against
 * the plain one. A backend that is not there is skipped by name. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "base/random.h"

#define OK(call)                                                                                                               \
    do {                                                                                                                       \
        if ((call) != VG_OK)                                                                                                   \
            fail_msg("%s: %s", #call, vg_error_message());                                                                     \
    } while (0)

static vg_random generator;

static float *draw(size_t count, float scale) {
    float *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = scale * (float)vg_random__normal(&generator);
    return values;
}

static vg_backend *open_backend(const char *name, vg_compute compute) {
    vg_backend *b = NULL;
    vg_backend_options options = {2, compute};
    if (vg_backend__open(&b, name, &options) != VG_OK)
        return NULL;
    vg_step step = {.seed = 0x123456789abcdefu,
                    .number = 7,
                    .row = 5,
                    .momentum = 0.1f,
                    .rate = 1e-3f,
                    .beta1 = 0.9f,
                    .beta2 = 0.999f,
                    .epsilon = 1e-8f,
                    .decay = 1e-2f,
                    .correction1 = 0.271f,
                    .correction2 = 0.002997f};
    OK(b->ops->step_set(b, &step));
    return b;
}

static vg_tensor *tensor(vg_backend *b, vg_tensor_kind kind, size_t n, vg_shape shape, const float *values) {
    vg_tensor *t;
    OK(b->ops->tensor_new(b, &t, kind, n, shape));
    if (values)
        OK(b->ops->tensor_upload(b, t, values));
    return t;
}

static float *values_of(vg_backend *b, vg_tensor *t) {
    float *v = malloc(t->n * vg_shape__size(t->shape) * sizeof *v);
    OK(b->ops->tensor_download(b, v, t));
    return v;
}

static double distance(const float *a, const float *b, size_t count) {
    double top = 0, bottom = 0;
    for (size_t i = 0; i < count; i++) {
        top += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        bottom += (double)b[i] * b[i];
    }
    return sqrt(top / (bottom > 0 ? bottom : 1));
}

/* --- one operation as a function of its inputs: outputs and gradients, by one backend */

enum { MAX_OUT = 6 };

typedef struct result {
    float *values[MAX_OUT];
    size_t counts[MAX_OUT];
    int count;
} result;

static void keep(result *r, float *values, size_t count) {
    r->values[r->count] = values;
    r->counts[r->count++] = count;
}

static void keep_tensor(result *r, vg_backend *b, vg_tensor *t) {
    keep(r, values_of(b, t), t->n * vg_shape__size(t->shape));
    b->ops->tensor_free(b, t);
}

static void keep_param(result *r, vg_backend *b, const vg_block *block, const vg_param *p) {
    float *v = malloc(vg_param__count(p) * sizeof *v);
    OK(b->ops->param_download(b, v, block, p));
    keep(r, v, vg_param__count(p));
}

static void drop(result *r) {
    for (int i = 0; i < r->count; i++)
        free(r->values[i]);
    *r = (result){0};
}

typedef struct problem {
    const char *what;
    int kind; /* 0 conv, 1 stage, 2 norm, 3 average, 4 linear, 5 loss, 6 adam, 7 repeat */
    size_t n, c, h, w, o, kernel, stride, pad, pool, heads, classes;
    float p;
    bool addend, training, mixture, weights, in_place;
    float *x, *dy, *wgt, *bias, *gamma, *beta, *add, *prior, *wts, *running;
    int32_t *labels;
} problem;

static void lay_out(vg_backend *b, vg_param *params, int count, vg_block **theta, vg_block **grad) {
    size_t offset = 0;
    for (int i = 0; i < count; i++) {
        OK(b->ops->param_plan(b, &params[i]));
        params[i].offset = offset;
        offset += (params[i].size + 15) / 16 * 16;
    }
    OK(b->ops->block_new(b, theta, offset));
    OK(b->ops->block_new(b, grad, offset));
}

static void solve_conv(vg_backend *b, const problem *q, result *r) {
    vg_conv conv = {q->stride, q->pad};
    vg_param w = {VG_PARAM_CONV, q->o, q->c, q->kernel, q->kernel, 0, 0};
    vg_shape in = {q->c, q->h, q->w},
             out = {q->o, (q->h + 2 * q->pad - q->kernel) / q->stride + 1, (q->w + 2 * q->pad - q->kernel) / q->stride + 1};
    vg_block *theta, *grad;
    lay_out(b, &w, 1, &theta, &grad);
    OK(b->ops->param_upload(b, theta, &w, q->wgt));
    vg_tensor *x = tensor(b, 0, q->n, in, q->x), *y = tensor(b, 0, q->n, out, q->add), *dy = tensor(b, 0, q->n, out, q->dy);
    vg_tensor *add = tensor(b, 0, q->n, out, q->add), *dx = tensor(b, 0, q->n, in, q->prior);
    OK(b->ops->conv_forward(b, &conv, y, x, theta, &w, !q->addend ? NULL : q->in_place ? y : add));
    OK(b->ops->conv_backward_data(b, &conv, dx, dy, theta, &w, q->addend ? (q->in_place ? dx : x) : NULL));
    OK(b->ops->conv_backward_weights(b, &conv, grad, &w, x, dy));
    keep_tensor(r, b, y);
    keep_tensor(r, b, dx);
    keep_param(r, b, grad, &w);
    b->ops->tensor_free(b, x);
    b->ops->tensor_free(b, dy);
    b->ops->tensor_free(b, add);
    b->ops->block_free(b, theta);
    b->ops->block_free(b, grad);
}

static void solve_stage(vg_backend *b, const problem *q, result *r) {
    vg_stage stage = {q->pool, true, {q->p, 3}};
    vg_param bias = {VG_PARAM_VECTOR, q->c, 1, 1, 1, 0, 0};
    vg_shape in = {q->c, q->h, q->w}, out = {q->c, q->h / q->pool, q->w / q->pool};
    vg_block *theta, *grad;
    lay_out(b, &bias, 1, &theta, &grad);
    OK(b->ops->param_upload(b, theta, &bias, q->bias));
    vg_tensor *x = tensor(b, 0, q->n, in, q->x), *y = tensor(b, 0, q->n, out, NULL), *dy = tensor(b, 0, q->n, out, q->dy);
    vg_tensor *dx = q->pool == 1 && q->in_place ? dy : tensor(b, 0, q->n, in, NULL);
    vg_tensor *choice = q->pool > 1 ? tensor(b, VG_TENSOR_CHOICE, q->n, out, NULL) : NULL;
    OK(b->ops->stage_forward(b, &stage, y, choice, x, theta, &bias));
    OK(b->ops->stage_backward(b, &stage, dx, grad, &bias, dy, y, choice));
    keep_tensor(r, b, y);
    keep_tensor(r, b, dx);
    keep_param(r, b, grad, &bias);
    b->ops->tensor_free(b, x);
    if (dx != dy)
        b->ops->tensor_free(b, dy);
    b->ops->tensor_free(b, choice);
    b->ops->block_free(b, theta);
    b->ops->block_free(b, grad);
}

static void solve_norm(vg_backend *b, const problem *q, result *r) {
    vg_norm norm = {1e-5f, true, q->training, {q->p, 9}};
    vg_param ps[2] = {{VG_PARAM_VECTOR, q->c, 1, 1, 1, 0, 0}, {VG_PARAM_VECTOR, q->c, 1, 1, 1, 0, 0}};
    vg_shape in = {q->c, q->h, q->w}, row = {q->c, 1, 1};
    vg_block *theta, *grad;
    lay_out(b, ps, 2, &theta, &grad);
    OK(b->ops->param_upload(b, theta, &ps[0], q->gamma));
    OK(b->ops->param_upload(b, theta, &ps[1], q->beta));
    vg_tensor *x = tensor(b, 0, q->n, in, q->x), *y = tensor(b, 0, q->n, in, NULL), *dy = tensor(b, 0, q->n, in, q->dy);
    vg_tensor *add = tensor(b, 0, q->n, in, q->add), *running = tensor(b, VG_TENSOR_PLAIN, 2, row, q->running);
    vg_tensor *saved = tensor(b, VG_TENSOR_PLAIN, 2, row, NULL);
    OK(b->ops->norm_forward(b, &norm, y, x, theta, &ps[0], &ps[1], running, saved));
    keep_tensor(r, b, y);
    keep_tensor(r, b, running);
    if (q->training) {
        vg_tensor *dx = q->in_place ? add : tensor(b, 0, q->n, in, NULL);
        OK(b->ops->norm_backward(b, &norm, dx, grad, dy, x, theta, &ps[0], &ps[1], saved, q->addend ? add : NULL));
        keep_tensor(r, b, dx);
        keep_param(r, b, grad, &ps[0]);
        keep_param(r, b, grad, &ps[1]);
        if (dx == add)
            add = NULL;
    }
    b->ops->tensor_free(b, add);
    b->ops->tensor_free(b, x);
    b->ops->tensor_free(b, dy);
    b->ops->tensor_free(b, saved);
    b->ops->block_free(b, theta);
    b->ops->block_free(b, grad);
}

static void solve_average(vg_backend *b, const problem *q, result *r) {
    vg_shape in = {q->c, q->h, q->w}, row = {q->c, 1, 1};
    vg_tensor *x = tensor(b, 0, q->n, in, q->x), *y = tensor(b, 0, q->n, row, NULL), *dy = tensor(b, 0, q->n, row, q->dy);
    vg_tensor *dx = tensor(b, 0, q->n, in, NULL);
    OK(b->ops->average_forward(b, y, x));
    OK(b->ops->average_backward(b, dx, dy));
    keep_tensor(r, b, y);
    keep_tensor(r, b, dx);
    b->ops->tensor_free(b, x);
    b->ops->tensor_free(b, dy);
}

static void solve_linear(vg_backend *b, const problem *q, result *r) {
    vg_param ps[2] = {{VG_PARAM_LINEAR, q->o, q->c, q->h, q->w, 0, 0}, {VG_PARAM_VECTOR, q->o, 1, 1, 1, 0, 0}};
    vg_shape in = {q->c, q->h, q->w}, out = {q->o, 1, 1};
    vg_tensor_kind kind = q->in_place ? VG_TENSOR_PLAIN : VG_TENSOR_ACTIVATION;
    vg_block *theta, *grad;
    lay_out(b, ps, 2, &theta, &grad);
    OK(b->ops->param_upload(b, theta, &ps[0], q->wgt));
    OK(b->ops->param_upload(b, theta, &ps[1], q->bias));
    vg_tensor *x = tensor(b, 0, q->n, in, q->x), *y = tensor(b, kind, q->n, out, NULL), *dy = tensor(b, kind, q->n, out, q->dy);
    vg_tensor *dx = tensor(b, 0, q->n, in, NULL);
    OK(b->ops->linear_forward(b, y, x, theta, &ps[0], q->addend ? &ps[1] : NULL));
    OK(b->ops->linear_backward_data(b, dx, dy, theta, &ps[0]));
    OK(b->ops->linear_backward_weights(b, grad, &ps[0], &ps[1], x, dy));
    keep_tensor(r, b, y);
    keep_tensor(r, b, dx);
    keep_param(r, b, grad, &ps[0]);
    keep_param(r, b, grad, &ps[1]);
    b->ops->tensor_free(b, x);
    b->ops->tensor_free(b, dy);
    b->ops->block_free(b, theta);
    b->ops->block_free(b, grad);
}

static void solve_loss(vg_backend *b, const problem *q, result *r) {
    vg_loss loss = {q->heads, q->classes, q->mixture ? VG_LOSS_MIXTURE : VG_LOSS_MEAN};
    vg_shape row = {q->heads * q->classes, 1, 1}, head = {q->heads, 1, 1}, one = {1, 1, 1};
    vg_tensor *z = tensor(b, VG_TENSOR_PLAIN, q->n, row, q->x), *dz = tensor(b, VG_TENSOR_PLAIN, q->n, row, NULL);
    vg_tensor *prior = q->addend ? tensor(b, VG_TENSOR_PLAIN, q->n, row, q->prior) : NULL;
    vg_tensor *wts = q->weights ? tensor(b, VG_TENSOR_PLAIN, q->n, head, q->wts) : NULL;
    vg_tensor *labels = tensor(b, VG_TENSOR_INDEX, q->n, one, NULL);
    vg_loss_totals totals;
    OK(b->ops->index_upload(b, labels, q->labels));
    OK(b->ops->loss(b, &loss, dz, z, prior, labels, wts));
    OK(b->ops->loss(b, &loss, NULL, z, prior, labels, wts));
    OK(b->ops->loss_read(b, &totals));
    assert_int_equal(totals.rows, 2 * q->n);
    assert_int_equal(totals.bad_step, -1);
    float *figures = malloc(2 * sizeof *figures);
    figures[0] = (float)(totals.loss / (double)totals.rows);
    figures[1] = (float)totals.correct;
    keep(r, figures, 2);
    keep_tensor(r, b, dz);
    b->ops->tensor_free(b, z);
    b->ops->tensor_free(b, prior);
    b->ops->tensor_free(b, wts);
    b->ops->tensor_free(b, labels);
}

static void solve_adam(vg_backend *b, const problem *q, result *r) {
    vg_param p = {VG_PARAM_CONV, q->o, q->c, q->kernel, q->kernel, 0, 0};
    vg_block *theta, *grad, *m, *v, *mask;
    double penalty = 0;
    lay_out(b, &p, 1, &theta, &grad);
    OK(b->ops->block_new(b, &m, theta->count));
    OK(b->ops->block_new(b, &v, theta->count));
    OK(b->ops->block_new(b, &mask, theta->count));
    OK(b->ops->param_upload(b, theta, &p, q->wgt));
    OK(b->ops->param_upload(b, grad, &p, q->x));
    OK(b->ops->param_upload(b, mask, &p, q->dy));
    OK(b->ops->block_anchor(b, grad, theta, mask, 0, theta->count, 0.25f, &penalty));
    OK(b->ops->block_multiply(b, grad, 0, mask, theta->count));
    for (int i = 0; i < 3; i++)
        OK(b->ops->adam(b, theta, grad, m, v));
    keep_param(r, b, theta, &p);
    keep_param(r, b, grad, &p);
    keep_param(r, b, m, &p);
    keep_param(r, b, v, &p);
    float *figure = malloc(sizeof *figure);
    *figure = (float)penalty;
    keep(r, figure, 1);
    vg_block *all[] = {theta, grad, m, v, mask};
    for (int i = 0; i < 5; i++)
        b->ops->block_free(b, all[i]);
}

static void solve_repeat(vg_backend *b, const problem *q, result *r) {
    vg_shape s = {q->c, q->h, q->w};
    vg_tensor *x = tensor(b, 0, q->n, s, q->x), *y = tensor(b, 0, 3 * q->n - 1, s, NULL);
    vg_dropout dropout = {q->p, 11};
    OK(b->ops->repeat_rows(b, y, x, 1, 3, dropout)); /* rows 0, 0, 1, 1, 1, ... of x */
    keep_tensor(r, b, y);
    b->ops->tensor_free(b, x);
}

static void solve(vg_backend *b, const problem *q, result *r) {
    static void (*const solvers[])(vg_backend *, const problem *, result *) = {
        solve_conv, solve_stage, solve_norm, solve_average, solve_linear, solve_loss, solve_adam, solve_repeat};
    *r = (result){0};
    solvers[q->kind](b, q, r);
}

/* --- the problems */

static const problem problems[] = {
    {.what = "conv 5x5 from 1 channel", .kind = 0, .n = 3, .c = 1, .h = 12, .w = 12, .o = 32, .kernel = 5, .stride = 1},
    {.what = "conv 5x5", .kind = 0, .n = 3, .c = 32, .h = 9, .w = 9, .o = 48, .kernel = 5, .stride = 1},
    {.what = "conv 3x3 pad 1 stride 2 from 3",
     .kind = 0,
     .n = 2,
     .c = 3,
     .h = 9,
     .w = 8,
     .o = 16,
     .kernel = 3,
     .stride = 2,
     .pad = 1},
    {.what = "conv 3x3 pad 1, residual",
     .kind = 0,
     .n = 4,
     .c = 16,
     .h = 8,
     .w = 8,
     .o = 16,
     .kernel = 3,
     .stride = 1,
     .pad = 1,
     .addend = true},
    {.what = "conv 3x3 pad 1, residual in place",
     .kind = 0,
     .n = 4,
     .c = 32,
     .h = 8,
     .w = 8,
     .o = 32,
     .kernel = 3,
     .stride = 1,
     .pad = 1,
     .addend = true,
     .in_place = true},
    {.what = "conv 1x1 stride 2", .kind = 0, .n = 3, .c = 16, .h = 8, .w = 8, .o = 32, .kernel = 1, .stride = 2},
    {.what = "conv of odd channels", .kind = 0, .n = 2, .c = 5, .h = 7, .w = 6, .o = 7, .kernel = 3, .stride = 1, .pad = 1},
    {.what = "pool, ReLU", .kind = 1, .n = 9, .c = 32, .h = 8, .w = 8, .pool = 2},
    {.what = "pool, ReLU, dropout", .kind = 1, .n = 9, .c = 32, .h = 8, .w = 6, .pool = 2, .p = 0.3f},
    {.what = "ReLU, dropout", .kind = 1, .n = 10, .c = 48, .h = 1, .w = 1, .pool = 1, .p = 0.05f},
    {.what = "ReLU, dropout in place, odd channels",
     .kind = 1,
     .n = 10,
     .c = 13,
     .h = 2,
     .w = 3,
     .pool = 1,
     .p = 0.5f,
     .in_place = true},
    {.what = "pool by 3", .kind = 1, .n = 2, .c = 16, .h = 6, .w = 9, .pool = 3, .p = 0.1f},
    {.what = "norm", .kind = 2, .n = 11, .c = 32, .h = 4, .w = 4, .training = true},
    {.what = "norm after dropout, residual",
     .kind = 2,
     .n = 11,
     .c = 32,
     .h = 5,
     .w = 4,
     .training = true,
     .p = 0.3f,
     .addend = true},
    {.what = "norm, residual in place, odd channels",
     .kind = 2,
     .n = 5,
     .c = 6,
     .h = 4,
     .w = 4,
     .training = true,
     .addend = true,
     .p = 0.2f,
     .in_place = true},
    {.what = "norm by running statistics", .kind = 2, .n = 5, .c = 32, .h = 4, .w = 4, .p = 0.1f},
    {.what = "average pool", .kind = 3, .n = 5, .c = 32, .h = 4, .w = 3},
    {.what = "linear from maps", .kind = 4, .n = 6, .c = 32, .h = 2, .w = 3, .o = 40},
    {.what = "linear heads", .kind = 4, .n = 6, .c = 64, .h = 1, .w = 1, .o = 30, .addend = true, .in_place = true},
    {.what = "linear of odd sizes", .kind = 4, .n = 5, .c = 7, .h = 3, .w = 1, .o = 9, .addend = true, .in_place = true},
    {.what = "loss, one head", .kind = 5, .n = 7, .heads = 1, .classes = 10},
    {.what = "loss, heads", .kind = 5, .n = 7, .heads = 6, .classes = 5},
    {.what = "loss, heads, prior and weights", .kind = 5, .n = 7, .heads = 6, .classes = 5, .addend = true, .weights = true},
    {.what = "loss, mixture", .kind = 5, .n = 7, .heads = 6, .classes = 5, .addend = true, .mixture = true},
    {.what = "Adam, anchor, mask", .kind = 6, .o = 32, .c = 16, .kernel = 3},
    {.what = "repeated rows", .kind = 7, .n = 4, .c = 32, .h = 3, .w = 5},
    {.what = "repeated rows, dropout", .kind = 7, .n = 4, .c = 32, .h = 3, .w = 5, .p = 0.25f},
};
enum { PROBLEMS = sizeof problems / sizeof problems[0] };

/* The nearest value that bfloat16 has, so that both sides of a comparison start from the same inputs. */
static void round_values(float *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t u;
        memcpy(&u, &values[i], sizeof u);
        u = (u + 0x8000u) & 0xFFFF0000u;
        memcpy(&values[i], &u, sizeof u);
    }
}

static problem prepare(int index, bool rounded) {
    problem q = problems[index];
    generator = vg_random__start(2024, (uint64_t)index);
    size_t big = 65536;
    q.x = draw(big, 1);
    q.dy = draw(big, 1);
    q.wgt = draw(big, 0.2f);
    q.bias = draw(1024, 0.5f);
    q.gamma = draw(1024, 0.3f);
    q.beta = draw(1024, 0.3f);
    q.add = draw(big, 1);
    q.prior = draw(big, 1);
    q.wts = draw(4096, 1);
    q.running = draw(2048, 1);
    q.labels = malloc(64 * sizeof *q.labels);
    for (size_t i = 0; i < 1024; i++)
        q.gamma[i] += 1;
    for (size_t i = 0; i < 4096; i++)
        q.wts[i] = fabsf(q.wts[i]);
    for (size_t i = 0; i < 2048; i++)
        q.running[i] = 0.5f + fabsf(q.running[i]);
    if (rounded) {
        round_values(q.x, big);
        round_values(q.dy, big);
        round_values(q.add, big);
        round_values(q.prior, big);
        round_values(q.wgt, big);
    }
    for (int i = 0; i < 64; i++)
        q.labels[i] = (int32_t)vg_random__below(&generator, q.classes ? q.classes : 1);
    return q;
}

static void finish(problem *q) {
    float *all[] = {q->x, q->dy, q->wgt, q->bias, q->gamma, q->beta, q->add, q->prior, q->wts, q->running};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    free(q->labels);
}

/* --- finite differences */

/* What the output gradient dy makes of the output: sum of y * dy; the loss itself for the loss. */
static double objective(vg_backend *b, const problem *q) {
    result r;
    double sum = 0;
    solve(b, q, &r);
    if (q->kind == 5)
        sum = r.values[0][0];
    else
        for (size_t i = 0; i < r.counts[0]; i++)
            sum += (double)r.values[0][i] * q->dy[i];
    drop(&r);
    return sum;
}

/* Compares some entries of the gradient to `input` with central differences. Where a ReLU or a maximum turns over within the
 * step the two differ; a few such entries are let pass. */
static void differences(vg_backend *b, problem *q, float *input, size_t count, const float *gradient, const char *which,
                        const float *subtract) {
    const float h = q->kind == 5 ? 1.0f / 64 : 1.0f / 4096; /* the loss is smooth, the others have corners */
    size_t checked = 0, bad = 0;
    double scale = 0;
    for (size_t i = 0; i < count; i++)
        scale += fabs(gradient[i]) / (double)count;
    for (size_t i = 0; i < count; i += 1 + count / 40, checked++) {
        float old = input[i];
        input[i] = old + h;
        double up = objective(b, q);
        input[i] = old - h;
        double down = objective(b, q);
        input[i] = old;
        double wanted = (up - down) / (2.0 * h), got = (double)gradient[i] - (subtract ? subtract[i] : 0);
        bad += fabs(got - wanted) > 3e-3 * (fabs(wanted) + scale);
    }
    if (bad * 10 > checked)
        fail_msg("%s: gradient to %s: %zu of %zu entries differ from finite differences", q->what, which, bad, checked);
}

static void gradients_of_ref(void **state) {
    (void)state;
    vg_backend *b = open_backend("ref", VG_COMPUTE_F32);
    for (int i = 0; i < PROBLEMS; i++) {
        problem q = prepare(i, false);
        result r;
        if (q.kind > 5 || (q.kind == 2 && !q.training)) {
            finish(&q);
            continue;
        }
        solve(b, &q, &r);
        switch (q.kind) {
        case 0:
            differences(b, &q, q.x, r.counts[1], r.values[1], "x", !q.addend ? NULL : q.in_place ? q.prior : q.x);
            differences(b, &q, q.wgt, r.counts[2], r.values[2], "weights", NULL);
            break;
        case 1:
            differences(b, &q, q.x, r.counts[1], r.values[1], "x", NULL);
            differences(b, &q, q.bias, q.c, r.values[2], "bias", NULL);
            break;
        case 2:
            differences(b, &q, q.x, r.counts[2], r.values[2], "x", q.addend ? q.add : NULL);
            differences(b, &q, q.gamma, q.c, r.values[3], "gamma", NULL);
            differences(b, &q, q.beta, q.c, r.values[4], "beta", NULL);
            break;
        case 3: differences(b, &q, q.x, r.counts[1], r.values[1], "x", NULL); break;
        case 4:
            differences(b, &q, q.x, r.counts[1], r.values[1], "x", NULL);
            differences(b, &q, q.wgt, r.counts[2], r.values[2], "weights", NULL);
            if (q.addend)
                differences(b, &q, q.bias, q.o, r.values[3], "bias", NULL);
            break;
        case 5: differences(b, &q, q.x, r.counts[1], r.values[1], "logits", NULL); break;
        }
        drop(&r);
        finish(&q);
    }
    vg_backend__close(b);
}

/* --- other backends against the plain one */

static void compare(const char *name, vg_compute compute, double bound) {
    vg_backend *ref = open_backend("ref", VG_COMPUTE_F32), *b = open_backend(name, compute);
    if (!b) {
        print_message("skipped: %s: %s\n", name, vg_error_message());
        vg_backend__close(ref);
        skip();
    }
    for (int i = 0; i < PROBLEMS; i++) {
        problem q = prepare(i, compute == VG_COMPUTE_BF16);
        result want, got;
        solve(ref, &q, &want);
        for (int round = 0; round < 2; round++) { /* twice: the second finds its primitives made */
            solve(b, &q, &got);
            assert_int_equal(want.count, got.count);
            for (int k = 0; k < want.count; k++) {
                double d = distance(got.values[k], want.values[k], want.counts[k]);
                if (!(d <= bound))
                    fail_msg("%s: output %d of %s differs from the plain backend by %.2e, allowed %.2e", q.what, k, name, d,
                             bound);
            }
            drop(&got);
        }
        drop(&want);
        finish(&q);
    }
    vg_backend__close(ref);
    vg_backend__close(b);
}

static void cpu_float32(void **state) {
    (void)state;
    if (strcmp(vg_backend__name(0), "ref") == 0)
        skip();
    compare("cpu", VG_COMPUTE_F32, 2e-6);
}

static void cpu_bfloat16(void **state) {
    (void)state;
    if (strcmp(vg_backend__name(0), "ref") == 0)
        skip();
    compare("cpu", VG_COMPUTE_BF16, 1e-2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_ref),
        cmocka_unit_test(cpu_float32),
        cmocka_unit_test(cpu_bfloat16),

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
