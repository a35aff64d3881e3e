/* test_backend_masks.c - dropout masks: how many are dropped, and that they depend on their place alone; opening by name. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/backend.h"

#define OK(call)                                                                                                               \
    do {                                                                                                                       \
        if ((call) != VG_OK)                                                                                                   \
            fail_msg("%s: %s", #call, vg_error_message());                                                                     \
    } while (0)

static vg_tensor *tensor(vg_backend *b, size_t n, vg_shape shape, const float *values) {
    vg_tensor *t;
    OK(b->ops->tensor_new(b, &t, VG_TENSOR_ACTIVATION, n, shape));
    if (values)
        OK(b->ops->tensor_upload(b, t, values));
    return t;
}

static float *values_of(vg_backend *b, vg_tensor *t) {
    float *v = malloc(t->n * vg_shape__size(t->shape) * sizeof *v);
    OK(b->ops->tensor_download(b, v, t));
    return v;
}

static void unknown_name(void **state) {
    (void)state;
    vg_backend *b;
    assert_int_equal(vg_backend__open(&b, "abacus", NULL), VG_ERR_UNSUPPORTED);
    assert_non_null(strstr(vg_error_message(), "abacus"));
    assert_non_null(strstr(vg_error_message(), "ref"));
    OK(vg_backend__open(&b, "auto", NULL));
    vg_backend__close(b);
}

/* Dropout drops about p and keeps the mean; the same place gives the same mask whatever else is in the batch. */
static void masks(void **state) {
    (void)state;
    vg_backend *b;
    OK(vg_backend__open(&b, "auto", NULL));
    OK(b->ops->step_set(b, &(vg_step){.seed = 77, .number = 3, .row = 11}));
    vg_shape s = {32, 16, 16};
    size_t n = 8, row = vg_shape__size(s);
    float *ones = malloc(n * row * sizeof *ones);
    for (size_t i = 0; i < n * row; i++)
        ones[i] = 1;
    vg_tensor *x = tensor(b, n, s, ones), *y = tensor(b, n, s, NULL), *one = tensor(b, 1, s, NULL);
    OK(b->ops->repeat_rows(b, y, x, 0, 1, (vg_dropout){0.3f, 2}));
    float *v = values_of(b, y);
    size_t dropped = 0;
    for (size_t i = 0; i < n * row; i++) {
        dropped += v[i] == 0;
        assert_true(v[i] == 0 || fabsf(v[i] - 1 / 0.7f) < 1e-6f);
    }
    double share = (double)dropped / (double)(n * row), sd = sqrt(0.3 * 0.7 / (double)(n * row));
    assert_true(fabs(share - 0.3) < 4 * sd + 1.0 / 65536);
    vg_step step = b->step;
    step.row += 5;
    OK(b->ops->step_set(b, &step));
    OK(b->ops->repeat_rows(b, one, x, 0, 1, (vg_dropout){0.3f, 2}));
    float *w = values_of(b, one);
    assert_memory_equal(w, v + 5 * row, row * sizeof *w);
    free(ones);
    free(v);
    free(w);
    b->ops->tensor_free(b, x);
    b->ops->tensor_free(b, y);
    b->ops->tensor_free(b, one);
    vg_backend__close(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(unknown_name), cmocka_unit_test(masks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
