/* test_backend_ops.c - every operation of every backend: gradients of the plain one by finite differences, the others
 * against the plain one. A backend that is not available is skipped, with its name. */
#include "backend_util.h"

/* --- the problems */

static const problem problems[] = {
    {.what = "conv 5x5 from 1 channel", .kind = 0, .n = 3, .c = 1, .h = 12, .w = 12, .o = 32, .kernel = 5, .stride = 1},
    {.what = "conv 5x5", .kind = 0, .n = 3, .c = 32, .h = 9, .w = 9, .o = 48, .kernel = 5, .stride = 1},
    {.what = "conv 5x5 of 32s", .kind = 0, .n = 3, .c = 32, .h = 8, .w = 8, .o = 64, .kernel = 5, .stride = 1},
    {.what = "conv 5x5 of 32s, odd sizes",
     .kind = 0,
     .n = 3,
     .c = 32,
     .h = 7,
     .w = 9,
     .o = 32,
     .kernel = 5,
     .stride = 1},
    {.what = "conv 5x5 of 32s, pad 2, residual",
     .kind = 0,
     .n = 3,
     .c = 32,
     .h = 8,
     .w = 7,
     .o = 32,
     .kernel = 5,
     .stride = 1,
     .pad = 2,
     .addend = true},
    {.what = "conv 5x5 of 32s, pad 1, residual in place",
     .kind = 0,
     .n = 2,
     .c = 32,
     .h = 7,
     .w = 6,
     .o = 32,
     .kernel = 5,
     .stride = 1,
     .pad = 1,
     .addend = true,
     .in_place = true},
    {.what = "conv 3x3 of 32s, odd sizes",
     .kind = 0,
     .n = 3,
     .c = 64,
     .h = 7,
     .w = 5,
     .o = 32,
     .kernel = 3,
     .stride = 1},
    {.what = "conv 3x3 of 32s, pad 1",
     .kind = 0,
     .n = 5,
     .c = 32,
     .h = 6,
     .w = 7,
     .o = 96,
     .kernel = 3,
     .stride = 1,
     .pad = 1},
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
    {.what = "conv 1x1 stride 2, odd sides",
     .kind = 0,
     .n = 3,
     .c = 16,
     .h = 9,
     .w = 7,
     .o = 32,
     .kernel = 1,
     .stride = 2},
    {.what = "conv of odd channels",
     .kind = 0,
     .n = 2,
     .c = 5,
     .h = 7,
     .w = 6,
     .o = 7,
     .kernel = 3,
     .stride = 1,
     .pad = 1},
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
    {.what = "pool, odd sides", .kind = 1, .n = 9, .c = 32, .h = 9, .w = 7, .pool = 2, .p = 0.3f},
    {.what = "pool, odd width, one channel block more", .kind = 1, .n = 3, .c = 48, .h = 6, .w = 5, .pool = 2},
    {.what = "pool by 3 with a rest of 2", .kind = 1, .n = 2, .c = 16, .h = 8, .w = 7, .pool = 3},
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
    {.what = "norm by running statistics, odd channels", .kind = 2, .n = 3, .c = 21, .h = 3, .w = 5, .p = 0.3f},
    {.what = "ReLU without bias", .kind = 1, .n = 3, .c = 16, .h = 5, .w = 5, .pool = 1, .bare = true},
    {.what = "average pool", .kind = 3, .n = 5, .c = 32, .h = 4, .w = 3},
    {.what = "linear from maps", .kind = 4, .n = 6, .c = 32, .h = 2, .w = 3, .o = 40},
    {.what = "linear heads", .kind = 4, .n = 6, .c = 64, .h = 1, .w = 1, .o = 30, .addend = true, .in_place = true},
    {.what = "linear of odd sizes",
     .kind = 4,
     .n = 5,
     .c = 7,
     .h = 3,
     .w = 1,
     .o = 9,
     .addend = true,
     .in_place = true},
    {.what = "loss, one head", .kind = 5, .n = 7, .heads = 1, .classes = 10},
    {.what = "loss, heads", .kind = 5, .n = 7, .heads = 6, .classes = 5},
    {.what = "loss, heads, prior and weights",
     .kind = 5,
     .n = 7,
     .heads = 6,
     .classes = 5,
     .addend = true,
     .weights = true},
    {.what = "loss, mixture", .kind = 5, .n = 7, .heads = 6, .classes = 5, .addend = true, .mixture = true},
    {.what = "loss, 100 heads", .kind = 5, .n = 5, .heads = 100, .classes = 10, .addend = true, .weights = true},
    {.what = "loss, 100 heads, mixture", .kind = 5, .n = 5, .heads = 100, .classes = 10, .mixture = true},
    {.what = "loss, gated", .kind = 5, .n = 7, .heads = 6, .classes = 5, .gated = true},
    {.what = "loss, gated, prior", .kind = 5, .n = 7, .heads = 2, .classes = 11, .addend = true, .gated = true},
    {.what = "loss, gated, 100 heads", .kind = 5, .n = 5, .heads = 100, .classes = 10, .gated = true},
    {.what = "loss, gated, 3 heads of 300 classes", .kind = 5, .n = 5, .heads = 3, .classes = 300, .gated = true},
    {.what = "loss, smoothed labels", .kind = 5, .n = 7, .heads = 6, .classes = 5, .smoothing = 0.1f},
    {.what = "loss, class weights", .kind = 5, .n = 7, .heads = 3, .classes = 6, .classes_weighted = true},
    {.what = "loss, smoothed labels, class weights, prior and weights",
     .kind = 5,
     .n = 7,
     .heads = 6,
     .classes = 5,
     .smoothing = 0.25f,
     .classes_weighted = true,
     .addend = true,
     .weights = true},
    {.what = "loss, 100 heads of 40 classes, smoothed labels, class weights",
     .kind = 5,
     .n = 5,
     .heads = 100,
     .classes = 40,
     .smoothing = 0.1f,
     .classes_weighted = true},
    {.what = "AdamW", .kind = 6, .o = 32, .c = 16, .kernel = 3, .decoupled = true},
    {.what = "Adam, clipped gradients", .kind = 6, .o = 32, .c = 16, .kernel = 3, .clip = 1.5f},
    {.what = "AdamW, clipped gradients", .kind = 6, .o = 7, .c = 5, .kernel = 3, .clip = 1.5f, .decoupled = true},
    {.what = "Adam, gradients below the clip", .kind = 6, .o = 32, .c = 16, .kernel = 3, .clip = 1e6f},
    {.what = "SGD", .kind = 6, .o = 32, .c = 16, .kernel = 3, .sgd = true},
    {.what = "SGD, Nesterov, clipped",
     .kind = 6,
     .o = 7,
     .c = 5,
     .kernel = 3,
     .sgd = true,
     .nesterov = true,
     .clip = 1},
    {.what = "Adam, anchor, mask", .kind = 6, .o = 32, .c = 16, .kernel = 3},
    {.what = "Adam of odd channels", .kind = 6, .o = 7, .c = 5, .kernel = 3},
    {.what = "repeated rows", .kind = 7, .n = 4, .c = 32, .h = 3, .w = 5},
    {.what = "repeated rows, dropout", .kind = 7, .n = 4, .c = 32, .h = 3, .w = 5, .p = 0.25f},
};
enum { PROBLEMS = sizeof problems / sizeof problems[0] };

/* --- finite differences */

/* The scalar whose gradient is dy: the sum of y * dy; for the loss, the loss itself. */
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

/* Compares some entries of the gradient to `input` with central differences. Where a ReLU or a maximum switches within
 * the step the two differ; a few such entries are allowed. */
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
        problem q = prepare(problems, i, false);
        result r;
        /* The mean over 100 heads changes with one logit by less than the resolution of the float in which it is
         * returned. The gated loss has a test of its own, in double precision. */
        if (q.kind > 5 || (q.kind == 2 && !q.training) || (q.kind == 5 && q.heads >= 100) || q.gated) {
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
            if (!q.bare)
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

/* --- the gated loss in double precision */

/* Logits of N rows of H heads of C classes, labels, and l of every class. */
enum { GATE_N = 6, GATE_H = 5, GATE_C = 4, GATE_K = GATE_H * GATE_C };
typedef struct gate_case {
    const char *what;
    float spread, sharpness, l; /* of a head's logits around the row's; of the row's; mean of l */
} gate_case;

/* The mean loss in double precision, and with dz not NULL the gradients. */
static double gated_loss(vg_backend *b, const float *z, const float *l, float *dz, float *dl) {
    static const int32_t y[GATE_N] = {0, 1, 2, 3, 1, 0};
    vg_param gate = {VG_PARAM_VECTOR, GATE_C, 1, 1, 1, 0, 0};
    vg_block *theta, *grad;
    lay_out(b, &gate, 1, &theta, &grad);
    OK(b->ops->param_upload(b, theta, &gate, l));
    vg_head_loss loss = {
        .heads = GATE_H, .classes = GATE_C, .form = VG_LOSS_GATED, .gate = &gate, .theta = theta, .grad = grad};
    vg_shape row = {GATE_K, 1, 1}, one = {1, 1, 1};
    vg_tensor *logits = tensor(b, VG_TENSOR_PLAIN, GATE_N, row, z),
              *labels = tensor(b, VG_TENSOR_INDEX, GATE_N, one, NULL);
    vg_tensor *gradient = dz ? tensor(b, VG_TENSOR_PLAIN, GATE_N, row, NULL) : NULL;
    vg_loss_totals totals;
    OK(b->ops->index_upload(b, labels, y));
    OK(b->ops->loss(b, &loss, gradient, logits, NULL, labels, NULL));
    OK(b->ops->loss_read(b, &totals));
    if (dz) {
        OK(b->ops->tensor_download(b, dz, gradient));
        OK(b->ops->param_download(b, dl, grad, &gate));
    }
    b->ops->tensor_free(b, logits);
    b->ops->tensor_free(b, labels);
    b->ops->tensor_free(b, gradient);
    b->ops->block_free(b, theta);
    b->ops->block_free(b, grad);
    return totals.loss / GATE_N;
}

/* The derivative in *at by central differences at h and 2h, whose error of order h^2 cancels. */
static double derivative(vg_backend *b, const float *z, const float *l, float *at) {
    const float h = 1.0f / 512, old = *at;
    double side[4];
    for (int i = 0; i < 4; i++) {
        *at = old + h * (float)((int[]){-2, -1, 1, 2}[i]);
        side[i] = gated_loss(b, z, l, NULL, NULL);
    }
    *at = old;
    return (8 * (side[2] - side[1]) - (side[3] - side[0])) / (12.0 * h);
}

static void compare_derivatives(vg_backend *b, const gate_case *g, const float *z, const float *l, bool gate) {
    float dz[GATE_N * GATE_K], dl[GATE_C], *at = (float *)(gate ? l : z);
    const float *gradient = gate ? dl : dz;
    size_t count = gate ? GATE_C : GATE_N * GATE_K;
    double scale = 0;
    gated_loss(b, z, l, dz, dl);
    for (size_t i = 0; i < count; i++)
        scale = fmax(scale, fabs(gradient[i]));
    assert_true(scale > 0);
    for (size_t i = 0; i < count; i++) {
        double want = derivative(b, z, l, at + i);
        if (!(fabs(gradient[i] - want) <= 1e-6 * (scale + 1e-4)))
            fail_msg("%s: gradient %zu to %s is %.9g, finite differences give %.9g", g->what, i,
                     gate ? "the gate" : "the logits", (double)gradient[i], want);
    }
}

static void gated_gradients(void **state) {
    static const gate_case cases[] = {{"heads that differ", 1, 1, 0},
                                      {"heads nearly alike", 0.02f, 1, 2},
                                      {"sharp heads", 2, 4, 1},
                                      {"small k", 1, 1, -4},
                                      {"large k", 1, 2, 20}};
    (void)state;
    vg_backend *b = open_backend("ref", VG_COMPUTE_F32);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const gate_case *g = &cases[i];
        generator = vg_random__start(77, i);
        float *row = draw(GATE_N * GATE_C, g->sharpness), *z = draw(GATE_N * GATE_K, g->spread),
              *l = draw(GATE_C, 0.5f);
        for (size_t k = 0; k < GATE_N * GATE_K; k++)
            z[k] =
                roundf(1024 * (z[k] + row[k / GATE_K * GATE_C + k % GATE_C])) / 1024; /* exact with the steps added */
        for (size_t c = 0; c < GATE_C; c++)
            l[c] = roundf(1024 * (l[c] + g->l)) / 1024;
        compare_derivatives(b, g, z, l, false);
        compare_derivatives(b, g, z, l, true);
        free(row);
        free(z);
        free(l);
    }
    vg_backend__close(b);
}

/* --- other backends against the plain one */

static void compare(const char *name, vg_compute compute, bounds allowed) {
    vg_backend *b = open_or_say(name, compute);
    if (!b)
        skip();
    assert_string_equal(b->name, name);
    vg_backend *ref = open_backend("ref", VG_COMPUTE_F32);
    for (int i = 0; i < PROBLEMS; i++) {
        problem q = prepare(problems, i, compute == VG_COMPUTE_BF16);
        result want;
        solve(ref, &q, &want);
        compare_with(&want, b, &q, allowed);
        drop(&want);
        finish(&q);
    }
    vg_backend__close(ref);
    vg_backend__close(b);
}

static void cpu_float32(void **state) {
    (void)state;
    compare("cpu", VG_COMPUTE_F32, (bounds){2e-6, 5e-5});
}

static void cpu_bfloat16(void **state) {
    (void)state;
    compare("cpu", VG_COMPUTE_BF16, (bounds){1e-2, 6e-2});
}

static void cuda_float32(void **state) {
    (void)state;
    compare("cuda", VG_COMPUTE_F32, (bounds){1e-4, 1e-3});
}

static void cuda_tf32(void **state) {
    (void)state;
    compare("cuda", VG_COMPUTE_TF32, (bounds){1e-3, 1e-2});
}

static void cuda_bfloat16(void **state) {
    (void)state;
    compare("cuda", VG_COMPUTE_BF16, (bounds){1e-2, 6e-2});
}

int main(void) {
    if (getenv("VARGATE_TEST_ONLY")) /* a pattern */
        cmocka_set_test_filter(getenv("VARGATE_TEST_ONLY"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_ref), cmocka_unit_test(gated_gradients), cmocka_unit_test(cpu_float32),
        cmocka_unit_test(cpu_bfloat16),     cmocka_unit_test(cuda_float32),    cmocka_unit_test(cuda_tf32),
        cmocka_unit_test(cuda_bfloat16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
