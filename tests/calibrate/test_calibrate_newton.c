/* test_calibrate_newton.c - the exact solver: SciPy's minimisers, derivatives, convexity, degenerate data, and
 * metrics before and after against scikit-learn's and NumPy's. */
#include "calibrate_util.h"

#include "base/base.h"
#include "calibrate/calibrate_data.h"
#include "calibrate/calibration.h"

static void check_metrics(const vg_calibration_metrics *m, const json_t *expected) {
    assert_close(m->nll, number(expected, "nll"), 1e-9);
    assert_close(m->ece, number(expected, "ece"), 1e-9);
    assert_close(m->accuracy, number(expected, "accuracy"), 1e-12);
    assert_close(m->member_nll, number(expected, "member_nll"), 1e-9);
    assert_close(m->member_ece, number(expected, "member_ece"), 1e-9);
    assert_close(m->member_accuracy, number(expected, "member_accuracy"), 1e-12);
}

static void check_fit(const vg_temperature_fit *fit, double t, double loss) {
    assert_close(log(fit->temperature), log(t), 2e-9);
    assert_close(fit->loss, loss, 1e-11);
    assert_int_equal(fit->flags, VG_FIT_CONVERGED);
    assert_true(fit->curvature > 0);
    assert_true(fabs(fit->step) <= 1e-9);
    assert_close(fit->step, fit->gradient * fit->temperature / fit->curvature, 1e-15);
}

static void check_case(const json_t *c) {
    problem p = reference_problem(c);
    bool f32 = strcmp(json_string_value(json_object_get(c, "dtype")), "float32") == 0;
    vg_predictions view = f32 ? view_f32(&p) : view_f64(&p);
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    options.bins = (unsigned)number(c, "bins");
    options.t_min = 1e-3; /* some of the reference's minimisers lie beyond the usual range */
    options.t_max = 1e3;
    vg_calibration *fit;
    assert_ok(vg_calibrate(&fit, &view, p.y, &options));
    assert_int_equal(fit->count, p.m);
    assert_null(fit->bayes);
    assert_true(isnan(fit->gap_log_t_max));
    for (size_t i = 0; i < p.m; i++) {
        check_fit(&fit->newton[i], number_at(c, "temperatures", i), number_at(c, "losses", i));
        assert_true(fit->temperatures[i] == fit->newton[i].temperature);
    }
    assert_true(fit->newton_sweeps <= 11); /* and one to measure the result: 12 passes */
    check_metrics(&fit->before, json_object_get(c, "before"));
    check_metrics(&fit->after, json_object_get(c, "after"));
    vg_calibration_metrics again;
    assert_ok(vg_calibrate__measure(&again, &view, p.y, fit->temperatures, fit->count, &options));
    assert_memory_equal(&again, &fit->after, sizeof again);
    vg_calibration_free(fit);

    options.shared = 1;
    assert_ok(vg_calibrate(&fit, &view, p.y, &options));
    assert_int_equal(fit->count, 1);
    check_fit(fit->newton, number(c, "shared_temperature"), number(c, "shared_loss"));
    check_metrics(&fit->after, json_object_get(c, "after_shared"));
    vg_calibration_free(fit);
    if (f32)
        free((void *)view.data);
    free_problem(&p);
}

static void test_scipy(void **state) {
    (void)state;
    json_t *root = load_reference(), *cases = json_object_get(root, "cases");
    assert_true(json_array_size(cases) == 6);
    for (size_t i = 0; i < json_array_size(cases); i++)
        check_case(json_array_get(cases, i));
    json_decref(root);
}

/* --- derivatives and convexity ---------------------------------------------------------------------------------- */
typedef struct fixture {
    problem p;
    vg_predictions view;
    vg_pool *pool;
    vg_logits logits;
} fixture;

static void start(fixture *f, size_t n, size_t m, size_t c, uint64_t seed) {
    f->p = make_problem(n, m, c, seed, 1.1, 0.7);
    f->view = view_f64(&f->p);
    assert_ok(vg_pool__new(&f->pool, 2));
    const vg_logits_source source = {vg_logits__view_block, &f->view, n, m, c, f->p.y};
    assert_ok(vg_logits__start(&f->logits, &source, f->pool));
}

static void stop(fixture *f) {
    vg_logits__stop(&f->logits);
    vg_pool__free(f->pool);
    free_problem(&f->p);
}

/* slope = dL/d(log b), bend = d2L/d(log b)2 - slope. */
static void test_finite_differences(void **state) {
    (void)state;
    const size_t classes[] = {2, 3, 7, 8, 9, 100};
    for (size_t k = 0; k < sizeof classes / sizeof classes[0]; k++) {
        fixture f;
        start(&f, 200, 3, classes[k], 5 + k);
        for (double u = -3; u <= 2; u += 0.5) {
            const double h = 1e-4;
            double low[3], mid[3], high[3];
            for (int m = 0; m < 3; m++) {
                mid[m] = exp(u + 0.1 * m);
                low[m] = exp(u + 0.1 * m - h);
                high[m] = exp(u + 0.1 * m + h);
            }
            vg_temperature_loss a[3], b[3], c[3];
            assert_ok(vg_logits__losses(&f.logits, low, NULL, a));
            assert_ok(vg_logits__losses(&f.logits, mid, NULL, b));
            assert_ok(vg_logits__losses(&f.logits, high, NULL, c));
            for (int m = 0; m < 3; m++) {
                double scale = 1 + fabs(b[m].loss) + b[m].bend;
                assert_close(b[m].slope, (c[m].loss - a[m].loss) / (2 * h), 1e-7 * scale);
                assert_close(b[m].bend + b[m].slope, (c[m].slope - a[m].slope) / (2 * h), 1e-7 * scale);
                assert_true(b[m].bend > 0);
            }
        }
        stop(&f);
    }
}

static void test_convex(void **state) {
    (void)state;
    fixture f;
    start(&f, 150, 1, 6, 77);
    double before = -INFINITY;
    for (double b = 0.01; b < 20; b *= 1.3) {
        double points[3] = {b, 1.15 * b, 1.3 * b};
        vg_temperature_loss at[3];
        for (int i = 0; i < 3; i++)
            assert_ok(vg_logits__losses(&f.logits, &points[i], NULL, &at[i]));
        assert_true(at[1].loss <= 0.5 * (at[0].loss + at[2].loss) + 1e-14);
        assert_true(at[0].slope / points[0] > before); /* dL/db increases */
        before = at[0].slope / points[0];
    }
    stop(&f);
}

/* The loss and its derivatives of one row, by hand: z = (0, ln 3), b = 1, y = 0: L = ln 4, p = (1/4, 3/4). */
static void test_by_hand(void **state) {
    (void)state;
    const double z[2] = {0, log(3)};
    const int64_t y = 0;
    problem p = {1, 1, 2, (double *)z, (int64_t *)&y};
    vg_predictions view = view_f64(&p);
    vg_pool *pool;
    vg_logits logits;
    assert_ok(vg_pool__new(&pool, 1));
    const vg_logits_source source = {vg_logits__view_block, &view, 1, 1, 2, &y};
    assert_ok(vg_logits__start(&logits, &source, pool));
    vg_temperature_loss loss;
    const double one = 1;
    assert_ok(vg_logits__losses(&logits, &one, NULL, &loss));
    assert_close(loss.loss, log(4), 1e-15);
    assert_close(loss.slope, 0.75 * log(3), 1e-15);
    assert_close(loss.bend, 0.75 * 0.25 * log(3) * log(3), 1e-15);
    vg_logits__stop(&logits);
    vg_pool__free(pool);
}

/* --- degenerate data -------------------------------------------------------------------------------------------- */
static vg_calibration *fit_small(double *z, int64_t *y, size_t n, size_t c, const vg_calibrate_options *options) {
    problem p = {n, 1, c, z, y};
    vg_predictions view = view_f64(&p);
    vg_calibration *fit;
    assert_ok(vg_calibrate(&fit, &view, y, options));
    return fit;
}

static void test_all_correct(void **state) {
    (void)state;
    double z[] = {3, 1, 0, -1, 2, 0, 0, 1, 7};
    int64_t y[] = {0, 1, 2};
    vg_calibration *fit = fit_small(z, y, 3, 3, NULL);
    assert_true(fit->temperatures[0] == 0.01);
    assert_int_equal(fit->newton->flags, VG_FIT_CONVERGED | VG_FIT_AT_MIN);
    assert_true(fit->newton->gradient <= 0);
    assert_true(fit->newton->loss < 1e-40);
    assert_true(fit->newton_sweeps <= 3);
    assert_close(fit->after.accuracy, 1, 0);
    assert_close(fit->after.ece, 0, 1e-12);
    vg_calibration_free(fit);
}

static void test_all_wrong(void **state) {
    (void)state;
    double z[] = {3, 1, 0, -1, 2, 0, 0, 1, 7};
    int64_t y[] = {2, 0, 0};
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    vg_calibration *fit = fit_small(z, y, 3, 3, NULL);
    assert_true(fit->temperatures[0] == 10);
    vg_calibration_free(fit);
    options.t_max = 1e3;
    fit = fit_small(z, y, 3, 3, &options);
    assert_true(fit->temperatures[0] == 1e3);
    assert_int_equal(fit->newton->flags, VG_FIT_CONVERGED | VG_FIT_AT_MAX);
    assert_true(fit->newton->gradient > 0);
    assert_close(fit->newton->loss, log(3), 1e-2);
    vg_calibration_free(fit);
}

static void test_flat(void **state) {
    (void)state;
    double z[] = {2, 2, 2, -5, -5, -5};
    int64_t y[] = {0, 2};
    vg_calibration *fit = fit_small(z, y, 2, 3, NULL);
    assert_true(fit->temperatures[0] == 1);
    assert_int_equal(fit->newton->flags, VG_FIT_CONVERGED | VG_FIT_FLAT);
    assert_close(fit->newton->loss, log(3), 1e-15);
    vg_calibration_free(fit);
}

/* The label ties with the largest logit of every row: the loss falls towards log 2 as T -> 0. */
static void test_ties(void **state) {
    (void)state;
    double z[] = {2, 2, 0, 1, 3, 3};
    int64_t y[] = {0, 2};
    vg_calibration *fit = fit_small(z, y, 2, 3, NULL);
    assert_int_equal(fit->newton->flags, VG_FIT_CONVERGED | VG_FIT_AT_MIN);
    assert_close(fit->newton->loss, log(2), 1e-12);
    assert_close(fit->after.accuracy, 0.5, 0); /* of a tie the lower index counts */
    vg_calibration_free(fit);
}

/* Two classes, margin d, one wrong in `of`: softmax must give (of-1)/of, so b d = log(of - 1). Very small to very
 * large T. */
static void test_known_minimiser(void **state) {
    (void)state;
    const double margins[] = {1e-3, 0.02, 1, 50, 2e3, 5e6};
    for (size_t k = 0; k < sizeof margins / sizeof margins[0]; k++) {
        for (size_t of = 3; of <= 3000; of *= 10) {
            double *z = calloc(2 * of, sizeof *z);
            int64_t *y = calloc(of, sizeof *y);
            for (size_t i = 0; i < of; i++)
                z[2 * i] = margins[k];
            y[of / 2] = 1;
            vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
            options.t_min = 1e-6;
            options.t_max = 1e8;
            vg_calibration *fit = fit_small(z, y, of, 2, &options);
            assert_int_equal(fit->newton->flags, VG_FIT_CONVERGED);
            assert_close(log(fit->temperatures[0]), log(margins[k] / log((double)of - 1)), 1e-8);
            vg_calibration_free(fit);
            free(z);
            free(y);
        }
    }
}

/* A range that does not hold the minimiser, on either side of it, also one that does not hold T = 1. */
static void test_range(void **state) {
    (void)state;
    problem p = make_problem(300, 1, 5, 11, 0.5, 0.6); /* T = 1.83 */
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    options.t_max = 1.5;
    vg_calibration *fit = fit_small(p.z, p.y, 300, 5, &options);
    assert_true(fit->temperatures[0] == 1.5);
    assert_int_equal(fit->newton->flags, VG_FIT_CONVERGED | VG_FIT_AT_MAX);
    vg_calibration_free(fit);
    options.t_min = 5;
    options.t_max = 50;
    fit = fit_small(p.z, p.y, 300, 5, &options);
    assert_true(fit->temperatures[0] == 5);
    assert_int_equal(fit->newton->flags, VG_FIT_CONVERGED | VG_FIT_AT_MIN);
    vg_calibration_free(fit);
    free_problem(&p);
}

/* Logits of size 1e30, and rows where all but one class lie far below: nothing overflows. */
static void test_large_logits(void **state) {
    (void)state;
    double z[] = {1e30, 0, -1e30, 0, 1, -1e300, 5, 4, -1e300};
    int64_t y[] = {1, 1, 0};
    vg_calibration *fit = fit_small(z, y, 3, 3, NULL);
    assert_true(isfinite(fit->newton->loss));
    assert_true(isfinite(fit->after.nll));
    vg_calibration_free(fit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scipy),
        cmocka_unit_test(test_finite_differences),
        cmocka_unit_test(test_convex),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_all_correct),
        cmocka_unit_test(test_all_wrong),
        cmocka_unit_test(test_flat),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_known_minimiser),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_large_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
