/* backend_util.h - what the tests of the backends share: an operation with all its inputs as a "problem", solving it by
 * any backend, and comparing one backend with the plain one. */
#ifndef VG_TEST_BACKEND_UTIL_H
#define VG_TEST_BACKEND_UTIL_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "base/random.h"

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != VG_OK)                                                                                           \
            fail_msg("%s: %s", #call, vg_error_message());                                                             \
    } while (0)

static vg_random generator;

static inline float *draw(size_t count, float scale) {
    float *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = scale * (float)vg_random__normal(&generator);
    return values;
}

static inline vg_backend *open_backend_with(const char *name, const vg_backend_options *options) {
    vg_backend *b = NULL;
    if (vg_backend__open(&b, name, options) != VG_OK)
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

static inline vg_backend *open_backend(const char *name, vg_compute compute) {
    vg_backend_options options = {.threads = 2, .compute = compute};
    return open_backend_with(name, &options);
}

/* Tensors have so many rows more than are in use. */
static size_t spare_rows;

static inline vg_tensor *tensor(vg_backend *b, vg_tensor_kind kind, size_t n, vg_shape shape, const float *values) {
    vg_tensor *t;
    OK(b->ops->tensor_new(b, &t, kind, n + spare_rows, shape));
    vg_tensor__rows(t, n);
    if (values)
        OK(b->ops->tensor_upload(b, t, values));
    return t;
}

static inline float *values_of(vg_backend *b, vg_tensor *t) {
    float *v = malloc(t->n * vg_shape__size(t->shape) * sizeof *v);
    OK(b->ops->tensor_download(b, v, t));
    return v;
}

/* |a - b| / |b|. */
static inline double distance(const float *a, const float *b, size_t count) {
    double top = 0, bottom = 0;
    for (size_t i = 0; i < count; i++) {
        top += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        bottom += (double)b[i] * b[i];
    }
    return sqrt(top / (bottom > 0 ? bottom : 1));
}

/* The largest |a - b| of an element, as a share of |b| and the root mean square of all b. */
static inline double worst_element(const float *a, const float *b, size_t count) {
    double square = 0, worst = 0;
    for (size_t i = 0; i < count; i++)
        square += (double)b[i] * b[i] / (double)count;
    for (size_t i = 0; i < count; i++) {
        double gap = fabs((double)a[i] - b[i]) / (fabs((double)b[i]) + sqrt(square) + 1e-30);
        worst = gap <= worst ? worst : gap; /* also when it is not a number */
    }
    return worst;
}

/* --- one operation as a function of its inputs: outputs and gradients, by one backend */

enum { MAX_OUT = 6 };

typedef struct result {
    float *values[MAX_OUT];
    size_t counts[MAX_OUT];
    int count;
} result;

static inline void keep(result *r, float *values, size_t count) {
    r->values[r->count] = values;
    r->counts[r->count++] = count;
}

static inline void keep_tensor(result *r, vg_backend *b, vg_tensor *t) {
    keep(r, values_of(b, t), t->n * vg_shape__size(t->shape));
    b->ops->tensor_free(b, t);
}

static inline void keep_param(result *r, vg_backend *b, const vg_block *block, const vg_param *p) {
    float *v = malloc(vg_param__count(p) * sizeof *v);
    OK(b->ops->param_download(b, v, block, p));
    keep(r, v, vg_param__count(p));
}

static inline void drop(result *r) {
    for (int i = 0; i < r->count; i++)
        free(r->values[i]);
    *r = (result){0};
}

typedef struct problem {
    const char *what;
    int kind; /* 0 conv, 1 pooling, 2 norm, 3 average, 4 linear, 5 loss, 6 adam, 7 repeat */
    size_t n, c, h, w, o, kernel, stride, pad, pool, heads, classes;
    float p;
    float smoothing; /* loss: of labels */
    bool classes_weighted;
    float clip; /* optimiser: largest norm of the gradients; 0: any */
    bool decoupled, sgd, nesterov;
    bool addend, training, mixture, gated, weights, in_place, bare; /* bare: a pooling without bias */
    float *x, *dy, *wgt, *bias, *gamma, *beta, *add, *prior, *wts, *running;
    int32_t *labels;
} problem;

static inline void lay_out(vg_backend *b, vg_param *params, int count, vg_block **theta, vg_block **grad) {
    size_t offset = 0;
    for (int i = 0; i < count; i++) {
        OK(b->ops->param_plan(b, &params[i]));
        params[i].offset = offset;
        offset += (params[i].size + 15) / 16 * 16;
    }
    OK(b->ops->block_new(b, theta, offset));
    OK(b->ops->block_new(b, grad, offset));
}

/* Three tensors of a layer and its two blocks. */
static inline void free_layer(vg_backend *b, vg_tensor *const tensors[3], vg_block *theta, vg_block *grad) {
    for (size_t i = 0; i < 3; i++)
        b->ops->tensor_free(b, tensors[i]);
    b->ops->block_free(b, theta);
    b->ops->block_free(b, grad);
}

static inline void solve_conv(vg_backend *b, const problem *q, result *r) {
    vg_conv conv = {q->stride, q->pad};
    vg_param w = {VG_PARAM_CONV, q->o, q->c, q->kernel, q->kernel, 0, 0};
    vg_shape in = {q->c, q->h, q->w}, out = {q->o, (q->h + 2 * q->pad - q->kernel) / q->stride + 1,
                                             (q->w + 2 * q->pad - q->kernel) / q->stride + 1};
    vg_block *theta, *grad;
    lay_out(b, &w, 1, &theta, &grad);
    OK(b->ops->param_upload(b, theta, &w, q->wgt));
    vg_tensor *x = tensor(b, 0, q->n, in, q->x), *y = tensor(b, 0, q->n, out, q->add),
              *dy = tensor(b, 0, q->n, out, q->dy);
    vg_tensor *add = tensor(b, 0, q->n, out, q->add), *dx = tensor(b, 0, q->n, in, q->prior);
    OK(b->ops->conv_forward(b, &conv, y, x, theta, &w, !q->addend ? NULL : q->in_place ? y : add));
    OK(b->ops->conv_backward_data(b, &conv, dx, dy, theta, &w, q->addend ? (q->in_place ? dx : x) : NULL));
    OK(b->ops->conv_backward_weights(b, &conv, grad, &w, x, dy));
    keep_tensor(r, b, y);
    keep_tensor(r, b, dx);
    keep_param(r, b, grad, &w);
    free_layer(b, (vg_tensor *[]){x, dy, add}, theta, grad);
}

static inline void solve_pooling(vg_backend *b, const problem *q, result *r) {
    vg_pooling pooling = {q->pool, true, {q->p, 3}};
    vg_param bias = {VG_PARAM_VECTOR, q->c, 1, 1, 1, 0, 0};
    vg_shape in = {q->c, q->h, q->w}, out = {q->c, q->h / q->pool, q->w / q->pool};
    vg_block *theta, *grad;
    lay_out(b, &bias, 1, &theta, &grad);
    OK(b->ops->param_upload(b, theta, &bias, q->bias));
    vg_tensor *x = tensor(b, 0, q->n, in, q->x), *y = tensor(b, 0, q->n, out, NULL),
              *dy = tensor(b, 0, q->n, out, q->dy);
    /* Old content, which every element must replace: also those that no window covers. */
    vg_tensor *dx = q->pool == 1 && q->in_place ? dy : tensor(b, 0, q->n, in, q->x);
    vg_tensor *choice = q->pool > 1 ? tensor(b, VG_TENSOR_CHOICE, q->n, out, NULL) : NULL;
    OK(b->ops->pooling_forward(b, &pooling, y, choice, x, theta, q->bare ? NULL : &bias));
    OK(b->ops->pooling_backward(b, &pooling, &(vg_pooling_gradient){dx, dy, y, choice, q->bare ? NULL : &bias}, grad));
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

static inline void solve_norm(vg_backend *b, const problem *q, result *r) {
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
    OK(b->ops->norm_forward(b, &norm, &(vg_norm_pass){y, x, &ps[0], &ps[1], running, saved}, theta));
    keep_tensor(r, b, y);
    keep_tensor(r, b, running);
    if (q->training) {
        vg_tensor *dx = q->in_place ? add : tensor(b, 0, q->n, in, NULL);
        vg_norm_gradient to = {dx, dy, x, q->addend ? add : NULL, saved, &ps[0], &ps[1]};
        OK(b->ops->norm_backward(b, &norm, &to, theta, grad));
        keep_tensor(r, b, dx);
        keep_param(r, b, grad, &ps[0]);
        keep_param(r, b, grad, &ps[1]);
        if (dx == add)
            add = NULL;
    }
    b->ops->tensor_free(b, add);
    free_layer(b, (vg_tensor *[]){x, dy, saved}, theta, grad);
}

static inline void solve_average(vg_backend *b, const problem *q, result *r) {
    vg_shape in = {q->c, q->h, q->w}, row = {q->c, 1, 1};
    vg_tensor *x = tensor(b, 0, q->n, in, q->x), *y = tensor(b, 0, q->n, row, NULL),
              *dy = tensor(b, 0, q->n, row, q->dy);
    vg_tensor *dx = tensor(b, 0, q->n, in, NULL);
    OK(b->ops->average_forward(b, y, x));
    OK(b->ops->average_backward(b, dx, dy));
    keep_tensor(r, b, y);
    keep_tensor(r, b, dx);
    b->ops->tensor_free(b, x);
    b->ops->tensor_free(b, dy);
}

static inline void solve_linear(vg_backend *b, const problem *q, result *r) {
    vg_param ps[2] = {{VG_PARAM_LINEAR, q->o, q->c, q->h, q->w, 0, 0}, {VG_PARAM_VECTOR, q->o, 1, 1, 1, 0, 0}};
    vg_shape in = {q->c, q->h, q->w}, out = {q->o, 1, 1};
    vg_tensor_kind kind = q->in_place ? VG_TENSOR_PLAIN : VG_TENSOR_ACTIVATION;
    vg_block *theta, *grad;
    lay_out(b, ps, 2, &theta, &grad);
    OK(b->ops->param_upload(b, theta, &ps[0], q->wgt));
    OK(b->ops->param_upload(b, theta, &ps[1], q->bias));
    vg_tensor *x = tensor(b, 0, q->n, in, q->x), *y = tensor(b, kind, q->n, out, NULL),
              *dy = tensor(b, kind, q->n, out, q->dy);
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

static inline void solve_loss(vg_backend *b, const problem *q, result *r) {
    vg_param gate = {VG_PARAM_VECTOR, q->classes, 1, 1, 1, 0, 0};
    vg_block *theta, *grad;
    lay_out(b, &gate, 1, &theta, &grad);
    OK(b->ops->param_upload(b, theta, &gate, q->bias));
    vg_head_loss loss = {.heads = q->heads,
                         .classes = q->classes,
                         .form = q->gated     ? VG_LOSS_GATED
                                 : q->mixture ? VG_LOSS_MIXTURE
                                              : VG_LOSS_MEAN,
                         .gate = &gate,
                         .theta = theta,
                         .grad = grad};
    vg_tensor *factors = NULL;
    if (q->classes_weighted) {
        float *values = malloc(q->classes * sizeof *values);
        for (size_t c = 0; c < q->classes; c++)
            values[c] = 0.5f + 0.75f * (float)(c % 4);
        factors = tensor(b, VG_TENSOR_PLAIN, 1, (vg_shape){q->classes, 1, 1}, values);
        free(values);
    }
    loss.smoothing = q->smoothing;
    loss.class_weights = factors;
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
    if (q->gated)
        keep_param(r, b, grad, &gate);
    b->ops->block_free(b, theta);
    b->ops->block_free(b, grad);
    b->ops->tensor_free(b, z);
    b->ops->tensor_free(b, prior);
    b->ops->tensor_free(b, wts);
    b->ops->tensor_free(b, labels);
    b->ops->tensor_free(b, factors);
}

static inline void solve_adam(vg_backend *b, const problem *q, result *r) {
    vg_step usual = b->step, step = usual;
    step.decoupled = q->decoupled;
    step.nesterov = q->nesterov;
    step.inertia = q->sgd ? 0.875f : 0;
    step.average = 0.25f;
    OK(b->ops->step_set(b, &step));
    vg_param p = {VG_PARAM_CONV, q->o, q->c, q->kernel, q->kernel, 0, 0};
    vg_block *theta, *grad, *m, *v, *mask, *mean;
    double penalty = 0;
    lay_out(b, &p, 1, &theta, &grad);
    OK(b->ops->block_new(b, &m, theta->count));
    OK(b->ops->block_new(b, &v, theta->count));
    OK(b->ops->block_new(b, &mask, theta->count));
    OK(b->ops->block_new(b, &mean, theta->count));
    OK(b->ops->param_upload(b, theta, &p, q->wgt));
    OK(b->ops->param_upload(b, grad, &p, q->x));
    OK(b->ops->param_upload(b, mask, &p, q->dy));
    OK(b->ops->block_anchor(b, grad, theta, &(vg_anchor){mask, 0, theta->count, 0.25f}, &penalty));
    OK(b->ops->block_multiply(b, grad, 0, mask, theta->count));
    for (int i = 0; i < 3; i++) {
        if (q->clip > 0)
            OK(b->ops->clip(b, grad, q->clip));
        OK(q->sgd ? b->ops->sgd(b, theta, grad, m) : b->ops->adam(b, theta, grad, m, v));
        OK(b->ops->block_average(b, mean, theta));
    }
    keep_param(r, b, theta, &p);
    if (!(q->clip > 0)) /* a backend may leave the gradients as they are and scale them in the optimiser */
        keep_param(r, b, grad, &p);
    keep_param(r, b, m, &p);
    keep_param(r, b, v, &p);
    keep_param(r, b, mean, &p);
    float *figure = malloc(sizeof *figure);
    *figure = (float)penalty;
    keep(r, figure, 1);
    vg_block *all[] = {theta, grad, m, v, mask, mean};
    for (int i = 0; i < 6; i++)
        b->ops->block_free(b, all[i]);
    OK(b->ops->step_set(b, &usual));
}

static inline void solve_repeat(vg_backend *b, const problem *q, result *r) {
    vg_shape s = {q->c, q->h, q->w};
    vg_tensor *x = tensor(b, 0, q->n, s, q->x), *y = tensor(b, 0, 3 * q->n - 1, s, NULL);
    vg_dropout dropout = {q->p, 11};
    OK(b->ops->repeat_rows(b, y, x, 1, 3, dropout)); /* rows 0, 0, 1, 1, 1, ... of x */
    keep_tensor(r, b, y);
    b->ops->tensor_free(b, x);
}

static inline void solve(vg_backend *b, const problem *q, result *r) {
    static void (*const solvers[])(vg_backend *, const problem *, result *) = {
        solve_conv, solve_pooling, solve_norm, solve_average, solve_linear, solve_loss, solve_adam, solve_repeat};
    *r = (result){0};
    solvers[q->kind](b, q, r);
}

/* The nearest value that bfloat16 has, so that both sides of a comparison start from the same inputs. */
static inline void round_values(float *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t u;
        memcpy(&u, &values[i], sizeof u);
        u = (u + 0x8000u) & 0xFFFF0000u;
        memcpy(&values[i], &u, sizeof u);
    }
}

static inline size_t larger(size_t a, size_t b) { return a > b ? a : b; }

/* Values enough for every input of a problem. */
static inline size_t room_of(const problem *q) {
    size_t image = larger(q->c, 1) * larger(q->h, 1) * larger(q->w, 1),
           taps = larger(q->kernel, 1) * larger(q->kernel, 1);
    size_t room = larger(q->n * image, q->n * q->heads * q->classes);
    room = larger(room, q->n * q->o * larger(q->h, 1) * larger(q->w, 1));        /* outputs */
    room = larger(room, q->o * (q->kind == 4 ? image : larger(q->c, 1) * taps)); /* weights */
    return larger(room, 65536);
}

/* problems[index] with its inputs drawn. */
static inline problem prepare(const problem *problems, int index, bool rounded) {
    problem q = problems[index];
    generator = vg_random__start(2024, (uint64_t)index);
    size_t big = room_of(&q);
    size_t vector = larger(1024, larger(q.c, q.o)), factors = larger(4096, q.n * q.heads);
    q.x = draw(big, 1);
    q.dy = draw(big, 1);
    q.wgt = draw(big, 0.2f);
    q.bias = draw(vector, 0.5f);
    q.gamma = draw(vector, 0.3f);
    q.beta = draw(vector, 0.3f);
    q.add = draw(big, 1);
    q.prior = draw(big, 1);
    q.wts = draw(factors, 1);
    q.running = draw(2 * vector, 1);
    q.labels = malloc(larger(64, q.n) * sizeof *q.labels);
    for (size_t i = 0; i < vector; i++)
        q.gamma[i] += 1;
    for (size_t i = 0; i < factors; i++)
        q.wts[i] = fabsf(q.wts[i]);
    for (size_t i = 0; i < 2 * vector; i++)
        q.running[i] = 0.5f + fabsf(q.running[i]);
    if (rounded) {
        round_values(q.x, big);
        round_values(q.dy, big);
        round_values(q.add, big);
        round_values(q.prior, big);
        round_values(q.wgt, big);
    }
    for (size_t i = 0; i < larger(64, q.n); i++)
        q.labels[i] = (int32_t)vg_random__below(&generator, q.classes ? q.classes : 1);
    return q;
}

static inline void finish(problem *q) {
    float *all[] = {q->x, q->dy, q->wgt, q->bias, q->gamma, q->beta, q->add, q->prior, q->wts, q->running};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    free(q->labels);
}

/* --- a backend against the plain one */

typedef struct bounds {
    double whole, element; /* of distance() and worst_element() */
} bounds;

/* A problem by a backend, once with tensors of just its rows and once with more, when the backend finds what it has
 * made the first time. */
static inline void compare_with(const result *want, vg_backend *b, const problem *q, bounds allowed) {
    result got;
    for (int round = 0; round < 2; round++) {
        spare_rows = round ? 3 : 0;
        solve(b, q, &got);
        assert_int_equal(want->count, got.count);
        for (int k = 0; k < want->count; k++) {
            double d = distance(got.values[k], want->values[k], want->counts[k]);
            double e = worst_element(got.values[k], want->values[k], want->counts[k]);
            if (!(d <= allowed.whole) || !(e <= allowed.element))
                fail_msg("%s: output %d of %s differs from the plain backend by %.2e (allowed %.2e), an element by "
                         "%.2e (%.2e)",
                         q->what, k, b->name, d, allowed.whole, e, allowed.element);
        }
        drop(&got);
    }
    spare_rows = 0;
}

/* The backend, or NULL after saying why not: the test is then skipped. A machine that is said to have a GPU
 * (VARGATE_REQUIRE_GPU) must open it. */
static inline vg_backend *open_or_say_with(const char *name, const vg_backend_options *options) {
    vg_backend *b = open_backend_with(name, options);
    if (b)
        return b;
    if (strcmp(name, "cuda") != 0)
        print_message("skipped: %s: %s\n", name, vg_error_message());
    else if (getenv("VARGATE_REQUIRE_GPU"))
        fail_msg("there is a GPU, but: %s", vg_error_message());
    else
        print_message("skipped: no GPU: %s\n", vg_error_message());
    return NULL;
}

static inline vg_backend *open_or_say(const char *name, vg_compute compute) {
    vg_backend_options options = {.threads = 2, .compute = compute};
    return open_or_say_with(name, &options);
}

#endif
