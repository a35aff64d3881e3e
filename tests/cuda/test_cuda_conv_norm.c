/* test_cuda_conv_norm.c - a convolution and its batch-norm in one operation against the two separate operations, on the
 * same backend: the same bits, with and without a residual, a dropout, and the convolution's own result. It runs only
 * on GPUs that have the fused operation; elsewhere it prints why it was skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend_util.h"

typedef struct layer {
    size_t n, side, c, o;
    bool must; /* the layers of WRN-28-10, which a Hopper GPU must serve */
} layer;

/* Small layers, for slow tools such as compute-sanitizer: of every width, and with a partial tile. */
static const layer small[] = {{1, 32, 32, 160, true}, {1, 16, 64, 160, true}, {2, 8, 96, 320, true}};
static const layer layers[] = {{3, 32, 160, 160, true}, {5, 16, 320, 320, true},  {7, 8, 640, 640, true},
                               {2, 8, 96, 320, true},   {130, 8, 160, 160, true}, {3, 8, 64, 64, false},
                               {2, 12, 160, 160, false}};

/* Operands of both computations. */
typedef struct things {
    vg_conv conv;
    vg_norm norm;
    vg_param params[3]; /* w, gamma, beta */
    vg_block *theta, *grad;
    vg_tensor *x, *addend, *running;
    vg_shape out;
} things;

static void upload(vg_backend *b, things *t, int i, float shift, float spread) {
    size_t count = vg_param__count(&t->params[i]);
    float *values = draw(count, spread);
    for (size_t k = 0; k < count; k++)
        values[k] += shift;
    OK(b->ops->param_upload(b, t->theta, &t->params[i], values));
    free(values);
}

static vg_tensor *drawn(vg_backend *b, size_t n, vg_shape shape) {
    float *values = draw(n * vg_shape__size(shape), 1);
    vg_tensor *out = tensor(b, VG_TENSOR_ACTIVATION, n, shape, values);
    OK(b->ops->sync(b));
    free(values);
    return out;
}

static things make(vg_backend *b, const layer *l, float p) {
    things t = {.conv = {1, 1}, .norm = {1e-5f, true, false, {p, 6}}};
    vg_shape in = {l->c, l->side, l->side}, row = {l->o, 1, 1};
    t.out = (vg_shape){l->o, l->side, l->side};
    t.params[0] = (vg_param){VG_PARAM_CONV, l->o, l->c, 3, 3, 0, 0};
    t.params[1] = t.params[2] = (vg_param){VG_PARAM_VECTOR, l->o, 1, 1, 1, 0, 0};
    lay_out(b, t.params, 3, &t.theta, &t.grad);
    upload(b, &t, 0, 0, 0.05f);
    upload(b, &t, 1, 1, 0.3f);
    upload(b, &t, 2, 0, 0.5f);
    t.x = drawn(b, l->n, in);
    t.addend = drawn(b, l->n, t.out);
    float *running = draw(2 * l->o, 0.5f);
    for (size_t i = l->o; i < 2 * l->o; i++)
        running[i] = 0.3f + fabsf(running[i]);
    t.running = tensor(b, VG_TENSOR_PLAIN, 2, row, running);
    OK(b->ops->sync(b));
    free(running);
    return t;
}

static void unmake(vg_backend *b, things *t) {
    b->ops->tensor_free(b, t->x);
    b->ops->tensor_free(b, t->addend);
    b->ops->tensor_free(b, t->running);
    b->ops->block_free(b, t->theta);
    b->ops->block_free(b, t->grad);
}

/* All values of a tensor, or NULL; frees the tensor. */
static float *taken(vg_backend *b, vg_tensor *t) {
    float *values = t ? values_of(b, t) : NULL;
    b->ops->tensor_free(b, t);
    return values;
}

static void same(const layer *l, const char *what, const float *got, const float *want) {
    size_t area = l->side * l->side, count = l->n * l->o * area;
    for (size_t i = 0; got && i < count; i++)
        if (memcmp(&got[i], &want[i], sizeof *got) != 0)
            fail_msg("%zu images, %zu x %zu, %zu to %zu channels: %s of image %zu, channel %zu, position %zu is %g, "
                     "one after "
                     "the other %g",
                     l->n, l->side, l->side, l->c, l->o, what, i / (l->o * area), i / area % l->o, i % area,
                     (double)got[i], (double)want[i]);
}

/* Returns whether the backend has the fused operation. */
static bool compare(vg_backend *b, const layer *l, bool addend, bool both, float p) {
    things t = make(b, l, p);
    const vg_param *w = &t.params[0], *gamma = &t.params[1], *beta = &t.params[2];
    vg_tensor *y = both ? tensor(b, VG_TENSOR_ACTIVATION, l->n, t.out, NULL) : NULL;
    vg_tensor *z = tensor(b, VG_TENSOR_ACTIVATION, l->n, t.out, NULL);
    vg_tensor *y2 = tensor(b, VG_TENSOR_ACTIVATION, l->n, t.out, NULL),
              *z2 = tensor(b, VG_TENSOR_ACTIVATION, l->n, t.out, NULL);
    const vg_tensor *add = addend ? t.addend : NULL;
    vg_conv_norm op = {t.conv, t.norm, t.x, add, y, z, w, gamma, beta, t.running};
    bool done;
    OK(b->ops->conv_norm_forward(b, &op, t.theta, &done));
    OK(b->ops->conv_forward(b, &t.conv, y2, t.x, t.theta, w, add));
    OK(b->ops->norm_forward(b, &t.norm, &(vg_norm_pass){z2, y2, gamma, beta, t.running, NULL}, t.theta));
    float *got_y = taken(b, y), *got_z = taken(b, z), *want_y = taken(b, y2), *want_z = taken(b, z2);
    if (done) {
        same(l, "the convolution", got_y, want_y);
        same(l, "the batch-norm", got_z, want_z);
    }
    free(got_y);
    free(got_z);
    free(want_y);
    free(want_z);
    unmake(b, &t);
    return done;
}

static void one_after_the_other(const layer *list, size_t count) {
    /* The accelerators are taken without timing, so that the pair of operations and the fused one use the same
     * kernels. */
    vg_backend_options options = {.threads = 2, .compute = VG_COMPUTE_BF16, .acceleration = VG_ACCELERATE_ALWAYS};
    vg_backend *b = open_or_say_with("cuda", &options);
    if (!b)
        skip();
    vg_step step = {.seed = 0x123456789abcdefu, .number = 7, .row = 1000};
    int served = 0, tried = 0;
    generator = vg_random__start(5, 5);
    OK(b->ops->step_set(b, &step));
    for (size_t i = 0; i < count; i++)
        for (int form = 0; form < 8; form++) {
            bool done = compare(b, &list[i], form & 1, form & 2, form & 4 ? 0.3f : 0);
            assert_true(list[i].must || !done);
            served += done;
            tried += list[i].must;
        }
    print_message("%d of %d combinations in one go\n", served, tried);
    assert_true(served == 0 || served == tried); /* all on a Hopper GPU, none on another */
#ifdef VG_WITH_CUDA_HOPPER
    if (served == 0 && strstr(b->device, "H200"))
        fail_msg("none on %s", b->device);
#endif
    vg_backend__close(b);
}

static void cuda_small(void **state) {
    (void)state;
    one_after_the_other(small, sizeof small / sizeof small[0]);
}
static void wrn_28_10(void **state) {
    (void)state;
    one_after_the_other(layers, sizeof layers / sizeof layers[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cuda_small), cmocka_unit_test(wrn_28_10)};
    if (getenv("VARGATE_TEST_ONLY")) /* a pattern */
        cmocka_set_test_filter(getenv("VARGATE_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
