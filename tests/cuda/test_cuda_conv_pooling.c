/* test_cuda_conv_pooling.c - a convolution of one-channel images and the pooling after it in one operation, and its
 * gradients, against the plain backend's separate operations; the same bits every time. It runs only on a GPU;
 * elsewhere it prints why it was skipped. */
#include "backend_util.h"

typedef struct layer {
    size_t n, height, width, o, kernel, pad, pool, c; /* c 0: one channel */
    float p;
    bool bare, must; /* bare: without bias; must: the GPU must serve it */
} layer;

static const layer layers[] = {
    {.n = 128, .height = 28, .width = 28, .o = 128, .kernel = 5, .pool = 2, .p = 0.05f, .must = true},
    {.n = 7, .height = 28, .width = 28, .o = 64, .kernel = 5, .pool = 2, .p = 0, .must = true},
    {.n = 3, .height = 8, .width = 30, .o = 64, .kernel = 5, .pool = 2, .p = 0.5f, .bare = true, .must = true},
    {.n = 1, .height = 6, .width = 6, .o = 128, .kernel = 5, .pool = 2, .p = 0.3f, .must = true},
    {.n = 20, .height = 40, .width = 40, .o = 128, .kernel = 5, .pool = 2, .p = 0.1f, .must = true},
    {.n = 17, .height = 12, .width = 12, .o = 128, .kernel = 5, .pool = 2, .p = 0.05f, .c = 128, .must = true},
    {.n = 3, .height = 12, .width = 12, .o = 64, .kernel = 5, .pool = 2, .p = 0, .c = 128, .bare = true, .must = true},
    {.n = 1, .height = 12, .width = 12, .o = 192, .kernel = 5, .pool = 2, .p = 0.4f, .c = 128, .must = true},
    {.n = 41, .height = 12, .width = 12, .o = 64, .kernel = 5, .pool = 2, .p = 0.1f, .c = 128, .must = true},
    {.n = 2, .height = 12, .width = 12, .o = 96, .kernel = 5, .pool = 2, .p = 0.4f, .c = 128},
    {.n = 2, .height = 14, .width = 12, .o = 64, .kernel = 5, .pool = 2, .p = 0.4f, .c = 128},
    {.n = 2, .height = 12, .width = 12, .o = 64, .kernel = 5, .pool = 2, .p = 0.4f, .c = 64},
    {.n = 5, .height = 28, .width = 28, .o = 16, .kernel = 5, .pool = 2, .p = 0.1f},
    {.n = 5, .height = 28, .width = 28, .o = 128, .kernel = 3, .pool = 2, .p = 0.1f},
    {.n = 5, .height = 28, .width = 28, .o = 128, .kernel = 5, .pad = 2, .pool = 2, .p = 0.1f},
    {.n = 5, .height = 28, .width = 28, .o = 128, .kernel = 5, .pool = 3, .p = 0.1f},
    {.n = 5, .height = 64, .width = 64, .o = 128, .kernel = 5, .pool = 2, .p = 0.1f},
};

enum { Y, DW, DBIAS, DX, OUTPUTS }; /* the last of images with several channels alone */

typedef struct inputs {
    float *x, *w, *bias, *dy;
    vg_shape in, mid, out;
} inputs;

static size_t channels(const layer *l) { return l->c ? l->c : 1; }

static inputs draw_inputs(const layer *l) {
    size_t h = l->height + 2 * l->pad - l->kernel + 1, w = l->width + 2 * l->pad - l->kernel + 1;
    inputs q = {.in = {channels(l), l->height, l->width}, .mid = {l->o, h, w}, .out = {l->o, h / l->pool, w / l->pool}};
    size_t xs = l->n * vg_shape__size(q.in), ws = l->o * channels(l) * l->kernel * l->kernel,
           ys = l->n * vg_shape__size(q.out);
    q.x = draw(xs, 1);
    q.w = draw(ws, l->c ? 0.02f : 0.2f);
    q.bias = draw(l->o, 0.5f);
    q.dy = draw(ys, 1);
    round_values(q.x, xs);
    round_values(q.w, ws);
    round_values(q.dy, ys);
    return q;
}

static void free_inputs(inputs *q) {
    free(q->x);
    free(q->w);
    free(q->bias);
    free(q->dy);
}

/* By separate operations, or by the fused one. Returns whether the fused one was available. */
static bool run(vg_backend *b, const layer *l, const inputs *q, bool together, result *r) {
    vg_param ps[2] = {{VG_PARAM_CONV, l->o, channels(l), l->kernel, l->kernel, 0, 0},
                      {VG_PARAM_VECTOR, l->o, 1, 1, 1, 0, 0}};
    vg_conv conv = {1, l->pad};
    vg_pooling pooling = {l->pool, true, {l->p, 3}};
    const vg_param *bias = l->bare ? NULL : &ps[1];
    vg_block *theta, *grad;
    bool done = true;
    *r = (result){0};
    lay_out(b, ps, 2, &theta, &grad);
    OK(b->ops->param_upload(b, theta, &ps[0], q->w));
    OK(b->ops->param_upload(b, theta, &ps[1], q->bias));
    vg_tensor *x = tensor(b, 0, l->n, q->in, q->x), *mid = tensor(b, 0, l->n, q->mid, NULL),
              *y = tensor(b, 0, l->n, q->out, NULL);
    vg_tensor *dy = tensor(b, 0, l->n, q->out, q->dy), *choice = tensor(b, VG_TENSOR_CHOICE, l->n, q->out, NULL);
    vg_tensor *dx = tensor(b, 0, l->n, q->in, NULL);
    vg_conv_pooling op = {conv, pooling, x, y, choice, &ps[0], bias};
    if (together) {
        OK(b->ops->conv_pooling_forward(b, &op, theta, &done));
    } else {
        OK(b->ops->conv_forward(b, &conv, mid, x, theta, &ps[0], NULL));
        OK(b->ops->pooling_forward(b, &pooling, y, choice, mid, theta, bias));
    }
    if (done && together && !l->c) {
        OK(b->ops->conv_pooling_backward(b, &op, grad, dy));
    } else if (done) {
        OK(b->ops->pooling_backward(b, &pooling, &(vg_pooling_gradient){mid, dy, y, choice, bias}, grad));
        OK(b->ops->conv_backward_weights(b, &conv, grad, &ps[0], x, mid));
        if (l->c)
            OK(b->ops->conv_backward_data(b, &conv, dx, mid, theta, &ps[0], NULL));
    }
    keep_tensor(r, b, y);
    keep_param(r, b, grad, &ps[0]);
    keep_param(r, b, grad, &ps[1]);
    if (l->c)
        keep(r, values_of(b, dx), l->n * vg_shape__size(q->in));
    vg_tensor *tensors[] = {x, mid, dy, choice, dx};
    for (int i = 0; i < 5; i++)
        b->ops->tensor_free(b, tensors[i]);
    b->ops->block_free(b, theta);
    b->ops->block_free(b, grad);
    return done;
}

static void compare(vg_backend *ref, vg_backend *b, const layer *l) {
    static const char *const names[OUTPUTS] = {"y", "dw", "dbias", "dx"};
    inputs q = draw_inputs(l);
    result want, got, again;
    run(ref, l, &q, false, &want);
    bool done = run(b, l, &q, true, &got);
#ifdef VG_WITH_CUDA_CONV_POOLING
    bool expected = l->must;
#else
    bool expected = false;
#endif
    if (done != expected)
        fail_msg("%zu x %zu, %zu channels: %s in one go", l->height, l->width, l->o, done ? "unexpectedly" : "not");
    if (done) {
        spare_rows = 3;
        run(b, l, &q, true, &again);
        spare_rows = 0;
        for (int k = 0; k < want.count; k++) {
            double whole = distance(got.values[k], want.values[k], want.counts[k]);
            double element = worst_element(got.values[k], want.values[k], want.counts[k]);
            if (!(whole <= (l->c ? 1e-2 : 4e-3)) || !(element <= (l->c ? 6e-2 : 3e-2)))
                fail_msg(
                    "%zu images %zu x %zu, %zu channels: %s differs from the plain backend by %.2e, an element by %.2e",
                    l->n, l->height, l->width, l->o, names[k], whole, element);
            assert_memory_equal(got.values[k], again.values[k], got.counts[k] * sizeof(float));
        }
        drop(&again);
    }
    drop(&want);
    drop(&got);
    free_inputs(&q);
}

static void in_one_go(void **state) {
    (void)state;
    vg_backend *b = open_or_say("cuda", VG_COMPUTE_BF16);
    if (!b)
        skip();
    vg_backend *ref = open_backend("ref", VG_COMPUTE_F32);
    generator = vg_random__start(6, 6);
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        compare(ref, b, &layers[i]);
    vg_backend__close(ref);
    vg_backend__close(b);
}

/* Other element types use the separate operations. */
static void float32_does_not(void **state) {
    (void)state;
    vg_backend *b = open_or_say("cuda", VG_COMPUTE_F32);
    if (!b)
        skip();
    inputs q = draw_inputs(&layers[1]);
    result r;
    assert_false(run(b, &layers[1], &q, true, &r));
    drop(&r);
    free_inputs(&q);
    vg_backend__close(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_one_go), cmocka_unit_test(float32_does_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
