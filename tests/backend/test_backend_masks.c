/* test_backend_masks.c - dropout masks: the share that is dropped, and that a mask depends on its position alone;
 * opening by name. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "backend/counter.h"
#include "backend_util.h"

static void unknown_name(void **state) {
    (void)state;
    vg_backend *b;
    assert_int_equal(vg_backend__open(&b, "abacus", NULL), VG_ERR_UNSUPPORTED);
    assert_non_null(strstr(vg_error_message(), "abacus"));
    assert_non_null(strstr(vg_error_message(), "ref"));
    OK(vg_backend__open(&b, "auto", NULL));
    vg_backend__close(b);
}

/* Dropout drops about p and keeps the mean; the same position gives the same mask whatever else is in the batch. */
static void masks(vg_backend *b) {
    OK(b->ops->step_set(b, &(vg_step){.seed = 77, .number = 3, .row = 11}));
    vg_shape s = {32, 16, 16};
    size_t n = 8, row = vg_shape__size(s);
    float *ones = malloc(n * row * sizeof *ones);
    for (size_t i = 0; i < n * row; i++)
        ones[i] = 1;
    vg_tensor *x = tensor(b, VG_TENSOR_ACTIVATION, n, s, ones), *y = tensor(b, VG_TENSOR_ACTIVATION, n, s, NULL),
              *one = tensor(b, VG_TENSOR_ACTIVATION, 1, s, NULL);
    OK(b->ops->repeat_rows(b, y, x, 0, 1, (vg_dropout){0.3f, 2}));
    float *v = values_of(b, y);
    size_t dropped = 0;
    for (size_t i = 0; i < n * row; i++) {
        dropped += v[i] == 0;
        assert_true(v[i] == 0 || fabsf(v[i] - 1 / 0.7f) < (b->compute == VG_COMPUTE_BF16 ? 4e-3f : 1e-6f));
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
}

/* Every mask is the one that counter.h says, also with odd channels, large rows and steps, any stream. */
static void masks_by_definition(vg_backend *b) {
    static const vg_shape shapes[] = {{8, 3, 2}, {21, 2, 3}, {13, 1, 1}, {160, 4, 4}};
    static const vg_step steps[] = {{.seed = 1, .number = 0, .row = 0},
                                    {.seed = 0xfedcba9876543210u, .number = 4000000000u, .row = 0x0000000ffffffffdu}};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 2; j++) {
            vg_shape s = shapes[i];
            vg_dropout dropout = {j ? 0.05f : 0.5f, j ? 255 : 0};
            size_t n = 6, row = vg_shape__size(s);
            float *ones = malloc(n * row * sizeof *ones);
            for (size_t k = 0; k < n * row; k++)
                ones[k] = 1;
            vg_tensor *x = tensor(b, VG_TENSOR_ACTIVATION, n, s, ones),
                      *y = tensor(b, VG_TENSOR_ACTIVATION, n, s, NULL);
            OK(b->ops->step_set(b, &steps[j]));
            OK(b->ops->repeat_rows(b, y, x, 0, 1, dropout));
            float *v = values_of(b, y);
            for (size_t k = 0; k < n * row; k++) {
                size_t r = k / row, c = k % row / (s.h * s.w), at = k % (s.h * s.w) * s.c + c;
                uint16_t lanes[8];
                vg_counter__lanes(lanes, steps[j].seed, dropout.stream, steps[j].number, steps[j].row + r,
                                  (uint32_t)(at / 8));
                if ((v[k] == 0) != (lanes[at % 8] < vg_counter__threshold(dropout.p)))
                    fail_msg("%s, %zu channels: row %zu, position %zu", b->name, s.c, r, at);
            }
            free(ones);
            free(v);
            b->ops->tensor_free(b, x);
            b->ops->tensor_free(b, y);
        }
}

static void on(const char *name, void (*check)(vg_backend *)) {
    for (int compute = VG_COMPUTE_F32; compute <= VG_COMPUTE_BF16; compute++) {
        vg_backend *b;
        vg_backend_options options = {.threads = 2, .compute = (vg_compute)compute};
        if (vg_backend__open(&b, name, &options) == VG_OK) {
            check(b);
            vg_backend__close(b);
        } else if (compute == VG_COMPUTE_F32) {
            if (strcmp(name, "cuda") != 0 || getenv("VARGATE_REQUIRE_GPU"))
                fail_msg("%s: %s", name, vg_error_message());
            print_message("skipped: no GPU: %s\n", vg_error_message());
            skip();
        }
    }
}

static void ref_masks(void **state) {
    (void)state;
    on("ref", masks);
    on("ref", masks_by_definition);
}

static void cpu_masks(void **state) {
    (void)state;
    on("cpu", masks);
    on("cpu", masks_by_definition);
}

static void cuda_masks(void **state) {
    (void)state;
    on("cuda", masks);
    on("cuda", masks_by_definition);
}

int main(void) {
    if (getenv("VARGATE_TEST_ONLY")) /* a pattern */
        cmocka_set_test_filter(getenv("VARGATE_TEST_ONLY"));
    const struct CMUnitTest tests[] = {cmocka_unit_test(unknown_name), cmocka_unit_test(ref_masks),
                                       cmocka_unit_test(cpu_masks), cmocka_unit_test(cuda_masks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
