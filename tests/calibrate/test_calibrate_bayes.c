/* test_calibrate_bayes.c - the Gaussian-process search: its regression against scikit-learn's, its likelihood's
 * gradient against finite differences, and how near it lands to the exact temperature over 100 seeded problems. */
#include "calibrate_util.h"

#include "calibrate/gaussian_process.h"

static void test_scikit_learn(void **state) {
    (void)state;
    json_t *root = load_reference(), *r = json_object_get(root, "gaussian_process");
    size_t n = json_array_size(json_object_get(r, "x")), count = json_array_size(json_object_get(r, "at"));
    double x[32], y[32], at[32], mean[32], deviation[32], gradient[2];
    assert_in_range(n, 2, 32);
    assert_in_range(count, 1, 32);
    for (size_t i = 0; i < n; i++) {
        x[i] = number_at(r, "x", i);
        y[i] = number_at(r, "y", i);
    }
    for (size_t i = 0; i < count; i++)
        at[i] = number_at(r, "at", i);
    vg_gp *gp;
    assert_ok(vg_gp__new(&gp, 32, 32));
    gp->log_length = number(r, "log_length");
    gp->log_noise = number(r, "log_noise");
    assert_ok(vg_gp__fit(gp, x, y, n, false, 0));
    assert_close(gp->log_length, number(r, "log_length"), 0);
    double point[2] = {gp->log_length, gp->log_noise};
    assert_close(vg_gp__objective(gp, point, gradient), number(r, "objective"), 1e-9);
    assert_close(gp->signal, number(r, "signal"), 1e-9 * gp->signal);
    vg_gp__predict(gp, at, count, mean, deviation);
    for (size_t i = 0; i < count; i++) {
        assert_close(mean[i], number_at(r, "mean", i), 1e-9);
        assert_close(deviation[i], number_at(r, "deviation", i), 1e-7);
    }
    vg_gp__free(gp);
    json_decref(root);
}

static void test_likelihood_gradient(void **state) {
    (void)state;
    enum { N = 15 };
    double x[N], y[N], unused[2];
    for (int i = 0; i < N; i++) {
        x[i] = -4 + 0.45 * i + 0.3 * uniform_at(3, (uint64_t)i);
        y[i] = log(0.2 + exp(-x[i]) + x[i] * x[i]) + 0.01 * uniform_at(4, (uint64_t)i);
    }
    vg_gp *gp;
    assert_ok(vg_gp__new(&gp, N, 8));
    assert_ok(vg_gp__fit(gp, x, y, N, false, 0));
    for (double length = -1; length <= 2; length += 0.5) {
        for (double noise = -14; noise <= -5; noise += 3) {
            const double h = 1e-4;
            double gradient[2];
            vg_gp__objective(gp, (double[2]){length, noise}, gradient);
            double up = vg_gp__objective(gp, (double[2]){length + h, noise}, unused);
            double down = vg_gp__objective(gp, (double[2]){length - h, noise}, unused);
            assert_close(gradient[0], (up - down) / (2 * h), 1e-4 * (1 + fabs(gradient[0])));
            up = vg_gp__objective(gp, (double[2]){length, noise + h}, unused);
            down = vg_gp__objective(gp, (double[2]){length, noise - h}, unused);
            assert_close(gradient[1], (up - down) / (2 * h), 1e-4 * (1 + fabs(gradient[1])));
        }
    }
    vg_gp__free(gp);
}

/* The fit improves on every start; the mean passes near the points; its slope is its derivative. */
static void test_fit(void **state) {
    (void)state;
    enum { N = 12 };
    double x[N], y[N], gradient[2];
    for (int i = 0; i < N; i++) {
        x[i] = -4.5 + 0.55 * i;
        y[i] = sin(x[i]) + 0.3 * x[i];
    }
    vg_gp *gp;
    assert_ok(vg_gp__new(&gp, N, 8));
    gp->log_length = -2;
    gp->log_noise = -5;
    assert_ok(vg_gp__fit(gp, x, y, N, true, 20));
    double point[2] = {gp->log_length, gp->log_noise}, best = vg_gp__objective(gp, point, gradient), other[2];
    for (double length = -2; length <= 3; length += 0.25) {
        for (double noise = -22; noise <= -5; noise += 1)
            assert_true(vg_gp__objective(gp, (double[2]){length, noise}, other) >= best - 0.05);
    }
    vg_gp__objective(gp, point, gradient);
    double mean[3], at[3];
    for (int i = 0; i < N; i++) {
        vg_gp__predict(gp, &x[i], 1, mean, NULL);
        assert_close(mean[0] * gp->deviation + gp->mean, y[i], 1e-2);
    }
    for (double place = -4; place < 1.5; place += 0.37) {
        at[0] = place - 1e-4;
        at[1] = place;
        at[2] = place + 1e-4;
        vg_gp__predict(gp, at, 3, mean, NULL);
        assert_close(vg_gp__mean_slope(gp, place), (mean[2] - mean[0]) / 2e-4, 1e-4);
        assert_close(mean[1] * gp->deviation + gp->mean, sin(place) + 0.3 * place, 2e-2);
    }
    vg_gp__free(gp);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* 100 problems of 2 to 20 classes with temperatures over the range, each with its own data and search seed. */
static void test_precision(void **state) {
    (void)state;
    enum { PROBLEMS = 100 };
    const size_t classes[] = {2, 3, 5, 10, 20};
    double gaps[PROBLEMS], largest_loss = 0;
    for (uint64_t i = 0; i < PROBLEMS; i++) {
        double scale = exp(-4.2 + 5.2 * uniform_at(1000, i)), boost = 0.5 + 1.2 * uniform_at(2000, i);
        problem p = make_problem(150, 1, classes[i % 5], 300 + i, scale, boost);
        vg_predictions view = view_f64(&p);
        vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
        options.solver = VG_SOLVER_BOTH;
        options.seed = i;
        options.threads = 1;
        vg_calibration *fit;
        assert_ok(vg_calibrate(&fit, &view, p.y, &options));
        assert_int_equal(fit->newton->flags, VG_FIT_CONVERGED);
        assert_in_range(fit->temperatures[0] * 1e6, 12000, 9000000); /* a minimiser inside the range searched */
        assert_int_equal(fit->bayes->flags, 0);
        assert_int_equal(fit->bayes->evaluations, 50);
        gaps[i] = fabs(log(fit->bayes->temperature / fit->newton->temperature));
        assert_close(fit->gap_log_t_max, gaps[i], 1e-12);
        assert_close(fit->gap_log_t_median, gaps[i], 1e-12);
        assert_true(fit->gap_loss_max >= -1e-13);
        assert_close(fit->bayes->step, log(fit->newton->temperature / fit->bayes->temperature), 1e-3 + 0.1 * gaps[i]);
        largest_loss = fmax(largest_loss, fit->gap_loss_max);
        vg_calibration_free(fit);
        free_problem(&p);
    }
    qsort(gaps, PROBLEMS, sizeof gaps[0], by_value);
    print_message("|log T - exact|: median %.2e, worst %.2e; loss above the least: %.2e\n",
                  0.5 * (gaps[PROBLEMS / 2 - 1] + gaps[PROBLEMS / 2]), gaps[PROBLEMS - 1], largest_loss);
    assert_true(0.5 * (gaps[PROBLEMS / 2 - 1] + gaps[PROBLEMS / 2]) <= 1e-3);
    assert_true(gaps[PROBLEMS - 1] <= 1e-2);
}

static vg_calibration *fit_heads(const problem *p, unsigned threads, uint64_t seed, int shared) {
    vg_predictions view = view_f64(p);
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    options.solver = VG_SOLVER_BAYES;
    options.evaluations = 25;
    options.threads = threads;
    options.seed = seed;
    options.shared = shared;
    vg_calibration *fit;
    assert_ok(vg_calibrate(&fit, &view, p->y, &options));
    return fit;
}

/* The same bits at any thread count; other draws for another seed; a head's search does not depend on the other
 * heads. */
static void test_seeds_and_threads(void **state) {
    (void)state;
    problem p = make_problem(200, 5, 4, 9, 0.6, 0.8);
    vg_calibration *one = fit_heads(&p, 1, 7, 0), *three = fit_heads(&p, 3, 7, 0), *other = fit_heads(&p, 1, 8, 0);
    assert_int_equal(one->count, 5);
    assert_int_equal(one->bayes_sweeps, 26);
    assert_null(one->newton);
    assert_memory_equal(one->bayes, three->bayes, 5 * sizeof *one->bayes);
    assert_memory_equal(&one->after, &three->after, sizeof one->after);
    assert_memory_not_equal(one->temperatures, other->temperatures, 5 * sizeof(double));
    for (int i = 0; i < 5; i++)
        assert_close(log(one->temperatures[i]), log(other->temperatures[i]), 1e-2);
    vg_calibration_free(other);
    vg_calibration_free(three);
    problem first = make_problem(200, 5, 4, 9, 0.6, 0.8); /* head 0 alone: the same stream, the same data */
    for (size_t i = 0; i < 200; i++)
        memmove(first.z + i * 4, first.z + i * 20, 4 * sizeof(double));
    first.m = 1;
    other = fit_heads(&first, 2, 7, 0);
    assert_true(other->temperatures[0] == one->temperatures[0]);
    vg_calibration_free(other);
    vg_calibration_free(one);
    one = fit_heads(&p, 2, 7, 1);
    assert_int_equal(one->count, 1);
    assert_true(fabs(one->bayes->step) < 1e-2);
    vg_calibration_free(one);
    free_problem(&first);
    free_problem(&p);
}

/* Minimisers outside the range searched, and a loss without any: the ends, flagged. */
static void test_ends(void **state) {
    (void)state;
    problem p = make_problem(150, 2, 5, 31, 40, 0.5); /* T > 10 */
    vg_calibration *fit = fit_heads(&p, 1, 1, 0);
    for (int i = 0; i < 2; i++) {
        assert_close(log(fit->temperatures[i]), log(10), 1e-6);
        assert_int_equal(fit->bayes[i].flags, VG_FIT_AT_MAX);
    }
    vg_calibration_free(fit);
    free_problem(&p);
    double z[] = {1, 1, 1, 4, 4, 4};
    int64_t y[] = {0, 1};
    problem flat = {2, 1, 3, z, y};
    fit = fit_heads(&flat, 1, 1, 0);
    assert_close(fit->bayes->loss, log(3), 1e-12);
    vg_calibration_free(fit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scikit_learn), cmocka_unit_test(test_likelihood_gradient), cmocka_unit_test(test_fit),
        cmocka_unit_test(test_precision),    cmocka_unit_test(test_seeds_and_threads),   cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
