/* test_calibrate_data.c - sweeps over logits: row kernels of every tier against long double, element types
 * and strides, blocks, thread counts, and what is refused. */
#include "calibrate_util.h"

#include "base/base.h"
#include "calibrate/calibrate_data.h"
#include "calibrate/calibration.h"
#include "vargate/evaluate.h"

/* --- row kernels ------------------------------------------------------------------------------------------------ */
static void reference_sums(vg_row_sums *out, const double *z, size_t c, double b) {
    long double top = z[0], s0 = 0, s1 = 0, s2 = 0;
    for (size_t i = 1; i < c; i++)
        top = (long double)z[i] > top ? (long double)z[i] : top;
    for (size_t i = 0; i < c; i++) {
        long double x = (long double)b * ((long double)z[i] - top), e = expl(x);
        s0 += e;
        s1 += e * x;
        s2 += e * x * x;
    }
    *out = (vg_row_sums){(double)top, (double)s0, (double)s1, (double)s2};
}

static void check_sums(const vg_row_sums *actual, const vg_row_sums *expected) {
    assert_true(actual->top == expected->top);
    assert_close(actual->s0, expected->s0, 4e-15 * expected->s0);
    assert_close(actual->s1, expected->s1, 4e-15 * (1 - expected->s1));
    assert_close(actual->s2, expected->s2, 8e-15 * (1 + expected->s2));
}

static void check_row(const vg_softmax_kernels *k, double *z, float *narrow, double *e, size_t c, double b) {
    vg_row_sums expected, actual;
    for (size_t i = 0; i < c; i++)
        z[i] = (double)(narrow[i] = (float)z[i]);
    reference_sums(&expected, z, c, b);
    k->sums_f64(&actual, z, c, b);
    check_sums(&actual, &expected);
    k->sums_f32(&actual, narrow, c, b);
    check_sums(&actual, &expected);
    for (int wide = 0; wide < 2; wide++) {
        e[c] = -1; /* nothing is written past the row */
        assert_true(wide ? k->exps_f64(&actual, e, z, c, b) : k->exps_f32(&actual, e, narrow, c, b));
        check_sums(&actual, &expected);
        for (size_t i = 0; i < c; i++) {
            double x = b * (z[i] - expected.top), exact = x < -707 ? exp(-707) : exp(x);
            assert_close(e[i], exact, (4e-16 - 3e-16 * x) * exact); /* the argument's own rounding counts */
        }
        assert_true(e[c] == -1);
    }
    double last = z[c - 1];
    const double odd[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        z[c - 1] = odd[i];
        narrow[0] = (float)odd[i];
        assert_false(k->exps_f64(&actual, e, z, c, b));
        assert_false(k->exps_f32(&actual, e, narrow, c, b));
    }
    z[c - 1] = last;
}

static void test_kernels(void **state) {
    (void)state;
    const size_t sizes[] = {2, 3, 4, 5, 7, 8, 9, 10, 12, 15, 16, 17, 31, 100, 1000};
    double z[1001], e[1001];
    float narrow[1001];
    for (int tier = VG_TIER_PORTABLE; tier <= VG_TIER_AVX512; tier++) {
        if (!vg_base__cpu_can_run(vg_base__cpu_best_tier(), (vg_tier)tier))
            continue;
        const vg_softmax_kernels *k = vg_calibrate__softmax_kernels((vg_tier)tier);
        uint64_t draw = 0;
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            for (double b = 0.003; b < 2000; b *= 7) {
                for (size_t i = 0; i < sizes[s]; i++)
                    z[i] = 30 * (uniform_at(5, draw++) - 0.5);
                check_row(k, z, narrow, e, sizes[s], b);
                memset(z, 0, sizes[s] * sizeof *z);
                check_row(k, z, narrow, e, sizes[s], b);
            }
        }
        double mean[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
        k->add_scaled(mean, z, 0.5, 10);
        for (int i = 0; i < 10; i++)
            assert_close(mean[i], i + 1 + 0.5 * z[i], 1e-15);
    }
}

/* --- element types, strides, blocks, threads -------------------------------------------------------------------- */
static vg_calibration *fit_view(const vg_predictions *view, const int64_t *y, unsigned threads) {
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    options.threads = threads;
    vg_calibration *fit;
    assert_ok(vg_calibrate(&fit, view, y, &options));
    return fit;
}

static void assert_same(const vg_calibration *a, const vg_calibration *b) {
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->temperatures, b->temperatures, a->count * sizeof(double));
    assert_memory_equal(a->newton, b->newton, a->count * sizeof *a->newton);
    assert_memory_equal(&a->before, &b->before, sizeof a->before);
    assert_memory_equal(&a->after, &b->after, sizeof a->after);
}

static void test_strides(void **state) {
    (void)state;
    problem p = make_problem(120, 3, 6, 21, 0.7, 0.8);
    vg_predictions plain = view_f64(&p);
    vg_calibration *expected = fit_view(&plain, p.y, 1);
    double *other = malloc(120 * 3 * 6 * 2 * sizeof *other);
    /* axes (C, M, N) backwards along N, every second element */
    vg_predictions view = {other + 119 * 2, VG_F64, 120, 3, 6, -2, 240, 720};
    for (size_t n = 0; n < 120; n++) {
        for (size_t m = 0; m < 3; m++) {
            for (size_t c = 0; c < 6; c++)
                other[(119 - n) * 2 + m * 240 + c * 720] = p.z[(n * 3 + m) * 6 + c];
        }
    }
    vg_calibration *fit = fit_view(&view, p.y, 2);
    assert_same(fit, expected);
    vg_calibration_free(fit);
    vg_calibration_free(expected);
    free(other);
    free_problem(&p);
}

/* Values that both 16-bit types hold exactly. */
static void test_half_types(void **state) {
    (void)state;
    problem p = make_problem(150, 2, 5, 22, 0.7, 0.8);
    uint16_t *half = malloc(150 * 10 * sizeof *half), *brain = malloc(150 * 10 * sizeof *brain);
    for (size_t i = 0; i < 1500; i++) {
        p.z[i] = round(p.z[i] * 8) / 8;
        if (p.z[i] == 0)
            p.z[i] = i % 2 ? 0x1p-24 : -0x1p-15; /* subnormal as float16 */
        float value = (float)p.z[i];
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        assert_int_equal(bits & 0xffff, 0);
        brain[i] = (uint16_t)(bits >> 16);
        int exponent = (int)(bits >> 23 & 255) - 127;
        uint32_t sign = bits >> 16 & 0x8000;
        if (exponent < -14)
            half[i] = (uint16_t)(sign | (uint32_t)(fabsf(value) * 0x1p24f));
        else
            half[i] = (uint16_t)(sign | (uint32_t)(exponent + 15) << 10 | (bits >> 13 & 1023));
    }
    vg_predictions view = view_f64(&p);
    vg_calibration *expected = fit_view(&view, p.y, 1);
    view.data = half;
    view.dtype = VG_F16;
    vg_calibration *fit = fit_view(&view, p.y, 1);
    assert_same(fit, expected);
    vg_calibration_free(fit);
    view.data = brain;
    view.dtype = VG_BF16;
    fit = fit_view(&view, p.y, 1);
    assert_same(fit, expected);
    vg_calibration_free(fit);
    half[7 * 10 + 5 + 2] = 0x7e00;
    view.data = half;
    view.dtype = VG_F16;
    assert_fails(vg_calibrate(&fit, &view, p.y, NULL), VG_ERR_DATA, "sample 7, member 1");
    vg_calibration_free(expected);
    free(half);
    free(brain);
    free_problem(&p);
}

typedef struct blocks {
    vg_predictions whole;
    unsigned char *buffer; /* blocks are copied here, so that an old view is of no use */
    size_t row, calls, next, largest;
} blocks;

static vg_status copy_block(void *context, size_t first, size_t rows, vg_predictions *view) {
    blocks *b = context;
    assert_true(first == b->next || first == 0); /* in order, once per sweep */
    b->next = first + rows;
    b->calls++;
    b->largest = rows > b->largest ? rows : b->largest;
    memcpy(b->buffer, (const unsigned char *)b->whole.data + first * b->row, rows * b->row);
    *view = b->whole;
    view->data = b->buffer;
    view->n = rows;
    return VG_OK;
}

/* Large enough for several blocks and a subsample; the same bits whole, in blocks, and at 1, 2, 3 and 5 threads. */
static void test_blocks_and_threads(void **state) {
    (void)state;
    problem p = make_problem(9000, 4, 300, 23, 0.1, 2);
    vg_predictions view = view_f32(&p);
    vg_calibration *expected = fit_view(&view, p.y, 1), *fit;
    for (unsigned threads = 2; threads <= 5; threads += threads == 3 ? 2 : 1) {
        fit = fit_view(&view, p.y, threads);
        assert_same(fit, expected);
        vg_calibration_free(fit);
    }
    size_t row = p.m * p.c * sizeof(float);
    blocks b = {view, malloc(row * p.n), row, 0, 0, 0};
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    options.threads = 2;
    assert_ok(vg_calibrate_blocks(&fit, copy_block, &b, p.n, p.m, p.c, p.y, &options));
    assert_same(fit, expected);
    assert_true(b.largest < p.n);
    assert_true(b.calls >= 2 * (fit->newton_sweeps + 1));
    assert_true(fit->newton_sweeps <= 7);
    assert_true(fit->newton_passes > 1 && fit->newton_passes < fit->newton_sweeps + 1);
    vg_calibration_free(fit);
    vg_calibration_free(expected);
    free(b.buffer);
    free((void *)view.data);
    free_problem(&p);
}

/* --- refused ---------------------------------------------------------------------------------------------------- */
static vg_status wrong_block(void *context, size_t first, size_t rows, vg_predictions *view) {
    *view = *(const vg_predictions *)context;
    view->n = rows;
    view->c = 3;
    (void)first;
    return VG_OK;
}

static int stop_at(void *context, unsigned long long done, unsigned long long total) {
    assert_true(done <= total);
    return done >= *(unsigned *)context;
}

static void test_refused(void **state) {
    (void)state;
    problem p = make_problem(50, 2, 4, 24, 1, 1);
    vg_predictions view = view_f64(&p);
    vg_calibration *fit = (vg_calibration *)&p;
    const double odd[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        double keep = p.z[33 * 8 + 4], late = p.z[49 * 8];
        p.z[33 * 8 + 4] = odd[i];
        p.z[49 * 8] = NAN;
        assert_fails(vg_calibrate(&fit, &view, p.y, NULL), VG_ERR_DATA, "sample 33, member 1");
        assert_null(fit);
        p.z[33 * 8 + 4] = keep;
        p.z[49 * 8] = late;
    }
    int64_t keep = p.y[12];
    p.y[12] = 4;
    assert_fails(vg_calibrate(&fit, &view, p.y, NULL), VG_ERR_DATA, "label of sample 12 is 4, expected 0 .. 3");
    p.y[12] = -1;
    assert_fails(vg_calibrate(&fit, &view, p.y, NULL), VG_ERR_DATA, "label of sample 12 is -1");
    p.y[12] = keep;
    vg_predictions none = view;
    none.n = 0;
    assert_fails(vg_calibrate(&fit, &none, p.y, NULL), VG_ERR_ARGUMENT, "(0, 2, 4)");
    none = view;
    none.c = 1;
    assert_fails(vg_calibrate(&fit, &none, p.y, NULL), VG_ERR_ARGUMENT, "C >= 2");
    assert_fails(vg_calibrate(&fit, NULL, p.y, NULL), VG_ERR_ARGUMENT, "logits");
    assert_fails(vg_calibrate(&fit, &view, NULL, NULL), VG_ERR_ARGUMENT, "labels");
    assert_fails(vg_calibrate_blocks(&fit, wrong_block, &view, 50, 2, 4, p.y, NULL), VG_ERR_ARGUMENT, "(50, 2, 3)");
    vg_calibration_metrics metrics;
    assert_fails(vg_calibrate__measure(&metrics, &view, p.y, (double[3]){1, 1, 1}, 3, NULL), VG_ERR_ARGUMENT,
                 "3 temperatures");
    assert_fails(vg_calibrate__measure(&metrics, &view, p.y, (double[2]){1, 0}, 2, NULL), VG_ERR_ARGUMENT,
                 "temperature 1 is 0");
    free_problem(&p);
}

static void test_options(void **state) {
    (void)state;
    problem p = make_problem(50, 1, 4, 25, 1, 1);
    vg_predictions view = view_f64(&p);
    vg_calibration *fit;
    const vg_calibrate_options good = VG_CALIBRATE_OPTIONS_INIT;
    vg_calibrate_options o;
#define REFUSED(assignment, part)                                                                                      \
    o = good;                                                                                                          \
    o.assignment;                                                                                                      \
    assert_fails(vg_calibrate(&fit, &view, p.y, &o), VG_ERR_ARGUMENT, part)
    REFUSED(struct_size = 4096, "struct_size is 4096");
    REFUSED(struct_size = 0, "struct_size is 0");
    REFUSED(solver = (vg_solver)7, "solver is 7");
    REFUSED(t_min = 0, "the range of T");
    REFUSED(t_max = INFINITY, "the range of T");
    REFUSED(t_min = 20, "the range of T");
    REFUSED(t_max = NAN, "the range of T");
    REFUSED(folds = 1, "folds is 1");
    REFUSED(tolerance = 0, "tolerance is 0");
    REFUSED(max_sweeps = 1, "max_sweeps is 1");
    REFUSED(evaluations = 2, "evaluations is 2");
    REFUSED(initial = 51, "initial evaluations is 51");
    REFUSED(bins = 0, "bins is 0");
#undef REFUSED
    o = good;
    o.solver = VG_SOLVER_BOTH;
    o.progress = stop_at;
    for (unsigned stop = 1; stop < 60; stop += 9) {
        o.progress_context = &stop;
        assert_fails(vg_calibrate(&fit, &view, p.y, &o), VG_ERR_INTERRUPTED, "stopped");
    }
    assert_string_equal(vg_solver__name(VG_SOLVER_BOTH), "both");
    free_problem(&p);
}

/* 25 members that each name one class outright: class 0 gets 7/25 = 0.28 of sample 0 and 8/25 = 0.32 of sample 1. With
 * 25 bins, 0.28 is the upper edge of its bin, although 0.28 * 25 is rounded to more than 7. Sample 0 is right, sample 1
 * wrong: in two bins, as vg_evaluate counts them, their errors add up; in one bin they would cancel. */
static void bin_edges_are_those_of_the_evaluation(void **state) {
    (void)state;
    enum { M = 25, C = 5 };
    static const int counts[2][C] = {{7, 6, 6, 6, 0}, {8, 6, 6, 5, 0}};
    static double z[2][M][C], mean[2][C];
    const int64_t y[2] = {0, 4};
    for (size_t n = 0; n < 2; n++)
        for (size_t c = 0, m = 0; c < C; c++) {
            mean[n][c] = counts[n][c] / (double)M;
            for (int i = 0; i < counts[n][c]; i++, m++)
                for (size_t j = 0; j < C; j++)
                    z[n][m][j] = j == c ? 0 : -1000;
        }
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    options.bins = 25;
    vg_predictions view = vg_predictions_f64(&z[0][0][0], 2, M, C);
    vg_calibration_metrics found;
    double expected;
    assert_ok(vg_calibrate__measure(&found, &view, y, NULL, 0, &options));
    assert_ok(vg_calibration_error(&expected, NULL, mean, VG_F64, y, 2, C, options.bins));
    assert_true(fabs(expected - (0.72 + 0.32) / 2) < 1e-15);
    assert_true(found.ece == expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_strides),
        cmocka_unit_test(test_half_types),
        cmocka_unit_test(test_blocks_and_threads),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_options),
        cmocka_unit_test(bin_edges_are_those_of_the_evaluation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
