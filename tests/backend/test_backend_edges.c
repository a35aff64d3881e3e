/* test_backend_edges.c - operations at the edge of what they take: sizes that do not fit, maps that are too wide,
 * layers without ReLU or bias, values that are not numbers, one row of one position, floors of the gated loss,
 * converted weights after the optimiser. On the plain backend and the CPU's. */
#include "backend_util.h"

static const char *const backends[] = {"ref", "cpu"};

static void expect_message(vg_status status, vg_status wanted, const char *part) {
    assert_int_equal(status, wanted);
    if (!strstr(vg_error_message(), part))
        fail_msg("'%s' is not in '%s'", part, vg_error_message());
}

/* --- sizes */

static void sizes_that_do_not_fit(void **state) {
    (void)state;
    const size_t half = SIZE_MAX / 2 + 1;
    const vg_shape shapes[] = {{half, 2, 1}, {half, 1, 2}, {half, 1, 1}};
    for (int i = 0; i < 2; i++) {
        vg_backend *b = open_backend(backends[i], VG_COMPUTE_F32);
        vg_tensor *t;
        vg_block *block;
        for (int k = 0; k < 3; k++) {
            expect_message(b->ops->tensor_new(b, &t, VG_TENSOR_ACTIVATION, 2, shapes[k]), VG_ERR_MEMORY,
                           "does not fit in memory");
            assert_null(t);
            vg_param p = {VG_PARAM_CONV, 2, shapes[k].c, shapes[k].h, shapes[k].w, 0, 0};
            expect_message(b->ops->param_plan(b, &p), VG_ERR_MEMORY, "does not fit in memory");
        }
        expect_message(b->ops->tensor_new(b, &t, VG_TENSOR_PLAIN, 1, (vg_shape){half / 2, 1, 1}), VG_ERR_MEMORY,
                       "do not fit in memory");
        expect_message(b->ops->block_new(b, &block, half), VG_ERR_MEMORY, "do not fit in memory");
        assert_null(block);
        b->ops->tensor_free(b, NULL);
        b->ops->block_free(b, NULL);
        vg_backend__close(b);
    }
    vg_backend__close(NULL);
}

static void maps_that_are_too_wide(void **state) {
    (void)state;
    vg_backend *b = open_backend("cpu", VG_COMPUTE_F32);
    const vg_shape wide = {16, 1, 1 << 16};
    vg_tensor *x = tensor(b, 0, 1, wide, NULL), *y = tensor(b, 0, 1, wide, NULL);
    vg_pooling pooling = {1, true, {0, 0}};
    expect_message(b->ops->pooling_forward(b, &pooling, y, NULL, x, NULL, NULL), VG_ERR_UNSUPPORTED,
                   "maps of width 65536 are wider than this backend supports");
    b->ops->tensor_free(b, x);
    b->ops->tensor_free(b, y);
    vg_backend__close(b);
}

static void names_of_backends(void **state) {
    (void)state;
    vg_backend *b;
    vg_backend_options tf32 = {.threads = 1, .compute = VG_COMPUTE_TF32}, bf16 = {.threads = 1, .compute = 1};
    expect_message(vg_backend__open(&b, "abacus", NULL), VG_ERR_UNSUPPORTED, "device 'abacus' is not in this build");
    assert_null(b);
    expect_message(vg_backend__open(&b, "ref", &bf16), VG_ERR_UNSUPPORTED, "computes in float32 only");
    OK(vg_backend__open(&b, "ref", &tf32));
    assert_int_equal(b->compute, VG_COMPUTE_F32);
    OK(b->ops->sync(b));
    vg_backend__close(b);
    OK(vg_backend__open(&b, "cpu", &tf32));
    assert_int_equal(b->compute, VG_COMPUTE_F32);
    vg_backend__close(b);
    bf16.unbound = true;
    if (vg_backend__open(&b, "auto", &bf16) == VG_OK) /* the CPU's refusal, not that of the plain backend */
        vg_backend__close(b);
    else
        expect_message(VG_ERR_UNSUPPORTED, VG_ERR_UNSUPPORTED, "no bfloat16");
}

/* --- layers in every combination, with values that are not numbers */

typedef struct layer {
    size_t c, pool;
    float p;
    bool relu, bare, nan, training;
} layer;
enum { SIDE = 6, LAYER_ROWS = 3 };

/* Values that bfloat16 holds exactly, so that both backends choose the same largest ones. */
static float *draw_coarse(size_t count) {
    float *values = draw(count, 1);
    for (size_t i = 0; i < count; i++)
        values[i] = fminf(fmaxf(roundf(32 * values[i]), -127), 127) / 32;
    return values;
}

static float *ramp(size_t count) {
    float *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = 0.25f * (float)(i % 5) - 0.5f;
    return values;
}

/* y, dx and the gradient of the bias. */
static void run_pooling(vg_backend *b, const layer *q, result *r, const float *x_values, const float *dy_values) {
    const vg_shape in = {q->c, SIDE, SIDE}, out = {q->c, SIDE / q->pool, SIDE / q->pool};
    vg_pooling pooling = {q->pool, q->relu, {q->p, 3}};
    vg_param bias = {VG_PARAM_VECTOR, q->c, 1, 1, 1, 0, 0};
    vg_block *theta, *grad;
    float *shift = ramp(q->c);
    lay_out(b, &bias, 1, &theta, &grad);
    OK(b->ops->param_upload(b, theta, &bias, shift));
    vg_tensor *x = tensor(b, 0, LAYER_ROWS, in, x_values), *y = tensor(b, 0, LAYER_ROWS, out, NULL),
              *dy = tensor(b, 0, LAYER_ROWS, out, dy_values), *dx = tensor(b, 0, LAYER_ROWS, in, NULL);
    vg_tensor *choice = q->pool > 1 ? tensor(b, VG_TENSOR_CHOICE, LAYER_ROWS, out, NULL) : NULL;
    OK(b->ops->pooling_forward(b, &pooling, y, choice, x, theta, q->bare ? NULL : &bias));
    OK(b->ops->pooling_backward(b, &pooling, &(vg_pooling_gradient){dx, dy, y, choice, q->bare ? NULL : &bias}, grad));
    keep_tensor(r, b, y);
    keep_tensor(r, b, dx);
    keep_param(r, b, grad, &bias);
    free_layer(b, (vg_tensor *[]){x, dy, choice}, theta, grad);
    free(shift);
}

/* y, the running statistics and, in training, dx and the gradients of gamma and beta. */
static void run_norm(vg_backend *b, const layer *q, result *r, const float *x_values, const float *dy_values) {
    const vg_shape in = {q->c, SIDE, SIDE}, row = {q->c, 1, 1};
    vg_norm norm = {1e-3f, q->relu, q->training, {q->p, 4}};
    vg_param ps[2] = {{VG_PARAM_VECTOR, q->c, 1, 1, 1, 0, 0}, {VG_PARAM_VECTOR, q->c, 1, 1, 1, 0, 0}};
    vg_block *theta, *grad;
    float *shift = ramp(2 * q->c), *statistics = malloc(2 * q->c * sizeof *statistics);
    for (size_t i = 0; i < 2 * q->c; i++)
        statistics[i] = i < q->c ? 0.125f : 0.75f;
    lay_out(b, ps, 2, &theta, &grad);
    OK(b->ops->param_upload(b, theta, &ps[0], shift + 1));
    OK(b->ops->param_upload(b, theta, &ps[1], shift));
    vg_tensor *x = tensor(b, 0, LAYER_ROWS, in, x_values), *y = tensor(b, 0, LAYER_ROWS, in, NULL),
              *dy = tensor(b, 0, LAYER_ROWS, in, dy_values), *running = tensor(b, VG_TENSOR_PLAIN, 2, row, statistics),
              *saved = tensor(b, VG_TENSOR_PLAIN, 2, row, NULL);
    OK(b->ops->norm_forward(b, &norm, &(vg_norm_pass){y, x, &ps[0], &ps[1], running, saved}, theta));
    keep_tensor(r, b, y);
    keep_tensor(r, b, running);
    if (q->training) {
        vg_tensor *dx = tensor(b, 0, LAYER_ROWS, in, NULL);
        OK(b->ops->norm_backward(b, &norm, &(vg_norm_gradient){dx, dy, x, NULL, saved, &ps[0], &ps[1]}, theta, grad));
        keep_tensor(r, b, dx);
        keep_param(r, b, grad, &ps[0]);
        keep_param(r, b, grad, &ps[1]);
    }
    free_layer(b, (vg_tensor *[]){x, dy, saved}, theta, grad);
    free(shift);
    free(statistics);
}

/* Equal as far as the type of the activations goes, or not a number in both. An element of a norm may lie on either
 * side of a ReLU: a few may differ. */
static void same_values(const layer *q, const char *what, const result *a, const result *b, float allowed) {
    for (int k = 0; k < a->count; k++) {
        size_t wrong = 0, first = 0;
        for (size_t i = 0; i < a->counts[k]; i++) {
            float x = a->values[k][i], y = b->values[k][i];
            bool same = fabsf(x - y) <= allowed * (1 + fabsf(x)) || (isnan(x) && isnan(y));
            first = !same && wrong == 0 ? i : first;
            wrong += !same;
        }
        if (wrong * 100 > (a->count > 3 ? a->counts[k] : 0))
            fail_msg("%s of %zu channels, window %zu, dropout %g, ReLU %d, bias %d, NaN %d, training %d: of result %d "
                     "%zu elements differ, the first is %zu: %g, plain %g",
                     what, q->c, q->pool, (double)q->p, q->relu, !q->bare, q->nan, q->training, k, wrong, first,
                     (double)b->values[k][first], (double)a->values[k][first]);
    }
}

static void compare_layer(vg_backend *ref, vg_backend *cpu, const layer *q, bool norm) {
    const size_t count = LAYER_ROWS * q->c * SIDE * SIDE;
    const bool bf16 = cpu->compute == VG_COMPUTE_BF16;
    result want = {0}, got = {0};
    generator = vg_random__start(3, q->c + q->pool);
    float *x = draw_coarse(count), *dy = draw_coarse(count);
    for (size_t i = 7; q->nan && i < count; i += 11)
        x[i] = NAN;
    if (norm) {
        run_norm(ref, q, &want, x, dy);
        run_norm(cpu, q, &got, x, dy);
    } else {
        run_pooling(ref, q, &want, x, dy);
        run_pooling(cpu, q, &got, x, dy);
    }
    same_values(q, norm ? "norm" : "pooling", &want, &got, bf16 ? 5e-2f : norm ? 2e-4f : 1e-5f);
    drop(&want);
    drop(&got);
    free(x);
    free(dy);
}

static void every_layer(vg_compute compute) {
    static const size_t channels[] = {16, 8, 5};
    vg_backend *ref = open_backend("ref", VG_COMPUTE_F32), *cpu = open_backend("cpu", compute);
    for (int i = 0; cpu && i < 3 * 3 * 16; i++) {
        layer q = {.c = channels[i / 16 % 3],
                   .pool = 1 + (size_t)(i / 48),
                   .p = i & 1 ? 0.25f : 0,
                   .relu = i & 2,
                   .bare = i & 4,
                   .nan = i & 8};
        if (q.nan && q.p > 0) /* a NaN that is dropped is 0 or NaN, as the backend likes */
            continue;
        compare_layer(ref, cpu, &q, false);
        q.training = q.bare; /* two values that a norm has instead */
        q.bare = false;
        if (q.pool == 1 && !q.nan)
            compare_layer(ref, cpu, &q, true);
    }
    vg_backend__close(ref);
    vg_backend__close(cpu);
    if (!cpu)
        skip();
}

static void layers_in_float32(void **state) { (void)state, every_layer(VG_COMPUTE_F32); }
static void layers_in_bfloat16(void **state) { (void)state, every_layer(VG_COMPUTE_BF16); }

/* One row of one position has no variance: the unbiased one is taken over 1 and not over 0. */
static void norm_of_one_value(void **state) {
    (void)state;
    const vg_shape row = {16, 1, 1};
    float values[16], running[32], got[32], y[16];
    for (int i = 0; i < 16; i++) {
        values[i] = (float)i - 8;
        running[i] = 0;
        running[16 + i] = 1;
    }
    for (int i = 0; i < 2; i++) {
        vg_backend *b = open_backend(backends[i], VG_COMPUTE_F32);
        vg_norm norm = {1e-5f, false, true, {0, 0}};
        vg_param ps[2] = {{VG_PARAM_VECTOR, 16, 1, 1, 1, 0, 0}, {VG_PARAM_VECTOR, 16, 1, 1, 1, 0, 0}};
        vg_block *theta, *grad;
        lay_out(b, ps, 2, &theta, &grad);
        OK(b->ops->param_upload(b, theta, &ps[0], values));
        OK(b->ops->param_upload(b, theta, &ps[1], values));
        vg_tensor *x = tensor(b, 0, 1, row, values), *z = tensor(b, 0, 1, row, NULL),
                  *statistics = tensor(b, VG_TENSOR_PLAIN, 2, row, running);
        OK(b->ops->norm_forward(b, &norm, &(vg_norm_pass){z, x, &ps[0], &ps[1], statistics, NULL}, theta));
        OK(b->ops->tensor_download(b, y, z));
        OK(b->ops->tensor_download(b, got, statistics));
        for (int c = 0; c < 16; c++) {
            assert_true(fabsf(y[c] - values[c]) < 5e-3f); /* beta, also where it is negative: there is no ReLU */
            assert_true(fabsf(got[c] - 0.1f * values[c]) < 1e-6f);
            assert_true(fabsf(got[16 + c] - 0.9f) < 1e-6f);
        }
        b->ops->tensor_free(b, x);
        b->ops->tensor_free(b, z);
        b->ops->tensor_free(b, statistics);
        b->ops->block_free(b, theta);
        b->ops->block_free(b, grad);
        vg_backend__close(b);
    }
}

/* --- losses */

enum { H = 3, C = 4, ROWS = 2 };
static const int32_t y_values[ROWS] = {1, 2};

typedef struct loss_case {
    vg_loss_form form;
    float smoothing, l;
} loss_case;

static vg_loss_totals run_loss(vg_backend *b, const loss_case *q, const float *z, float *dz, float *dl) {
    vg_param gate = {VG_PARAM_VECTOR, C, 1, 1, 1, 0, 0};
    vg_block *theta, *grad;
    vg_loss_totals totals;
    const float l[C] = {q->l, q->l, q->l, q->l};
    lay_out(b, &gate, 1, &theta, &grad);
    OK(b->ops->param_upload(b, theta, &gate, l));
    vg_head_loss loss = {.heads = H,
                         .classes = C,
                         .form = q->form,
                         .smoothing = q->smoothing,
                         .gate = &gate,
                         .theta = theta,
                         .grad = grad};
    vg_tensor *logits = tensor(b, VG_TENSOR_PLAIN, ROWS, (vg_shape){H * C, 1, 1}, z),
              *to = tensor(b, VG_TENSOR_PLAIN, ROWS, (vg_shape){H * C, 1, 1}, NULL),
              *labels = tensor(b, VG_TENSOR_INDEX, ROWS, (vg_shape){1, 1, 1}, NULL);
    OK(b->ops->index_upload(b, labels, y_values));
    OK(b->ops->loss(b, &loss, to, logits, NULL, labels, NULL));
    OK(b->ops->loss_read(b, &totals));
    OK(b->ops->tensor_download(b, dz, to));
    OK(b->ops->param_download(b, dl, grad, &gate));
    b->ops->tensor_free(b, logits);
    b->ops->tensor_free(b, to);
    b->ops->tensor_free(b, labels);
    b->ops->block_free(b, theta);
    b->ops->block_free(b, grad);
    return totals;
}

/* A logit that is not a number marks the step; the next read begins anew. */
static void losses_that_are_not_numbers(void **state) {
    (void)state;
    static const loss_case cases[] = {
        {VG_LOSS_MEAN, 0, 0}, {VG_LOSS_MEAN, 0.1f, 0}, {VG_LOSS_MIXTURE, 0, 0}, {VG_LOSS_GATED, 0, 0}};
    for (int i = 0; i < 2; i++) {
        vg_backend *b = open_backend(backends[i], VG_COMPUTE_F32);
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            float z[ROWS * H * C] = {0}, dz[ROWS * H * C], dl[C];
            z[5] = NAN;
            vg_loss_totals totals = run_loss(b, &cases[k], z, dz, dl);
            assert_int_equal(totals.bad_step, 7);
            z[5] = 0;
            totals = run_loss(b, &cases[k], z, dz, dl);
            assert_int_equal(totals.bad_step, -1);
            assert_true(fabs(totals.loss / ROWS - log(C)) < 1e-6);
        }
        vg_backend__close(b);
    }
}

/* Floors of the gated loss. A label that no member gives any probability costs -log 1e-8 and gives no gradient. A class
 * that all members rule out has a gate at its floor, which has no gradient either. Members that agree have no
 * spread. */
static void floors_of_the_gate(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        vg_backend *b = open_backend(backends[i], VG_COMPUTE_F32);
        float z[ROWS * H * C] = {0}, dz[ROWS * H * C], dl[C];
        const loss_case usual = {VG_LOSS_GATED, 0, 0}, widest = {VG_LOSS_GATED, 0, 2000}; /* k at its bound of 1e3 */
        for (int r = 0; r < ROWS; r++)
            for (int h = 0; h < H; h++)
                z[(r * H + h) * C + y_values[r]] = -80;
        vg_loss_totals totals = run_loss(b, &usual, z, dz, dl);
        assert_true(fabs(totals.loss / ROWS - 8 * log(10)) < 1e-6);
        assert_int_equal(totals.bad_step, -1);
        for (int k = 0; k < ROWS * H * C; k++)
            assert_true(dz[k] == 0);
        for (int c = 0; c < C; c++)
            assert_true(dl[c] == 0);
        memset(z, 0, sizeof z);
        for (int k = 0; k < ROWS * H; k++)
            z[k * C] = -80; /* nobody's class; the members agree on the rest */
        totals = run_loss(b, &widest, z, dz, dl);
        assert_true(fabs(totals.loss / ROWS - log(3)) < 1e-4);
        for (int c = 0; c < C; c++)
            assert_true(dl[c] == 0); /* k is at its bound */
        for (int k = 0; k < ROWS * H; k++)
            assert_true(fabsf(dz[k * C]) < 1e-9f);
        vg_backend__close(b);
    }
}

/* --- the optimiser and converted weights */

/* The first product after a step of Adam must see the new weights, also where there was no product before it. */
static void weights_after_adam(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        vg_backend *b = open_backend("cpu", i ? VG_COMPUTE_BF16 : VG_COMPUTE_F32);
        if (!b)
            continue;
        vg_param w = {VG_PARAM_LINEAR, 16, 16, 1, 1, 0, 0};
        vg_block *theta, *grad, *m, *v;
        float ones[256], x[16], y[16];
        lay_out(b, &w, 1, &theta, &grad);
        OK(b->ops->block_new(b, &m, theta->count));
        OK(b->ops->block_new(b, &v, theta->count));
        for (int k = 0; k < 256; k++)
            ones[k] = 1;
        for (int k = 0; k < 16; k++)
            x[k] = 1;
        vg_step step = b->step;
        step.rate = 0.5f;
        step.decay = 0;
        step.beta1 = step.beta2 = 0;
        step.correction1 = step.correction2 = 1;
        OK(b->ops->step_set(b, &step));
        OK(b->ops->param_upload(b, theta, &w, ones));
        OK(b->ops->param_upload(b, grad, &w, ones));
        OK(b->ops->adam(b, theta, grad, m, v)); /* every weight becomes a half */
        vg_tensor *in = tensor(b, 0, 1, (vg_shape){16, 1, 1}, x),
                  *out = tensor(b, VG_TENSOR_PLAIN, 1, (vg_shape){16, 1, 1}, NULL);
        OK(b->ops->linear_forward(b, out, in, theta, &w, NULL));
        OK(b->ops->tensor_download(b, y, out));
        for (int k = 0; k < 16; k++)
            if (fabsf(y[k] - 8) > 1e-3f)
                fail_msg("%s: output %d is %g, expected 8", i ? "bfloat16" : "float32", k, (double)y[k]);
        b->ops->tensor_free(b, in);
        b->ops->tensor_free(b, out);
        b->ops->block_free(b, theta);
        b->ops->block_free(b, grad);
        b->ops->block_free(b, m);
        b->ops->block_free(b, v);
        vg_backend__close(b);
    }
}

/* The anchor's gradient is the same with and without the penalty, which is added to what there is. */
static void anchors(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        vg_backend *b = open_backend(backends[i], VG_COMPUTE_F32);
        vg_param p = {VG_PARAM_VECTOR, 4, 1, 1, 1, 0, 0};
        const float at[4] = {1, 2, 3, 4}, start[4] = {1, 1, 1, 1};
        float g[4];
        double penalty = 10;
        vg_block *theta, *grad, *from;
        lay_out(b, &p, 1, &theta, &grad);
        OK(b->ops->block_new(b, &from, theta->count));
        OK(b->ops->param_upload(b, theta, &p, at));
        OK(b->ops->param_upload(b, from, &p, start));
        vg_anchor anchor = {from, 0, 4, 0.5f};
        OK(b->ops->block_anchor(b, grad, theta, &anchor, NULL));
        OK(b->ops->block_anchor(b, grad, theta, &anchor, &penalty));
        OK(b->ops->param_download(b, g, grad, &p));
        for (int k = 0; k < 4; k++)
            assert_true(g[k] == 2 * (at[k] - start[k]));
        assert_true(penalty == 10 + 0.5 * (1 + 4 + 9));
        OK(b->ops->block_clear(b, grad));
        OK(b->ops->param_download(b, g, grad, &p));
        for (int k = 0; k < 4; k++)
            assert_true(g[k] == 0);
        b->ops->block_free(b, theta);
        b->ops->block_free(b, grad);
        b->ops->block_free(b, from);
        vg_backend__close(b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_that_do_not_fit),       cmocka_unit_test(maps_that_are_too_wide),
        cmocka_unit_test(names_of_backends),           cmocka_unit_test(layers_in_float32),
        cmocka_unit_test(layers_in_bfloat16),          cmocka_unit_test(norm_of_one_value),
        cmocka_unit_test(losses_that_are_not_numbers), cmocka_unit_test(floors_of_the_gate),
        cmocka_unit_test(weights_after_adam),          cmocka_unit_test(anchors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
