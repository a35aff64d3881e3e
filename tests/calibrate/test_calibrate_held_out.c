/* test_calibrate_held_out.c - figures on samples that temperatures were not fitted to, one range for both solvers,
 * and the one warning that a result carries. */
#include <stdbool.h>
#include <stdio.h>

#include "calibrate/calibration.h"
#include "calibrate_util.h"
#include "vargate/temperatures.h"

static vg_calibration *fit_with(const problem *p, const vg_calibrate_options *options) {
    vg_calibration *fit;
    vg_predictions view = view_f64(p);
    assert_ok(vg_calibrate(&fit, &view, p->y, options));
    return fit;
}

/* Samples of one fold, or of all others, on their own. */
static problem part_of(const problem *p, size_t folds, size_t fold, bool inside) {
    problem out = {0, p->m, p->c, malloc(p->n * p->m * p->c * sizeof(double)), malloc(p->n * sizeof(int64_t))};
    for (size_t i = 0; i < p->n; i++) {
        if ((i % folds == fold) != inside)
            continue;
        memcpy(out.z + out.n * p->m * p->c, p->z + i * p->m * p->c, p->m * p->c * sizeof(double));
        out.y[out.n++] = p->y[i];
    }
    return out;
}

/* Each fold fitted and measured by separate calls, averaged by hand. */
static void held_out_is_what_separate_fits_give(void **state) {
    (void)state;
    for (int shared = 0; shared < 2; shared++)
        for (unsigned folds = 2; folds <= 5; folds += 3) {
            problem p = make_problem(503, 3, 4, 11, 1.3, 0.8);
            vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
            options.shared = shared;
            options.folds = folds;
            options.bins = 1; /* one bin: ECE is |confidence - accuracy| over all samples */
            vg_calibration *whole = fit_with(&p, &options);
            assert_int_equal(whole->folds, folds);
            double nll = 0, member_nll = 0, accuracy = 0;
            assert_true(whole->held_out_nll_error > 0 && whole->held_out_nll_error < 0.1);
            for (size_t f = 0; f < folds; f++) {
                problem rest = part_of(&p, folds, f, false), own = part_of(&p, folds, f, true);
                options.folds = 0;
                vg_calibration *fit = fit_with(&rest, &options);
                assert_true(isnan(fit->held_out.nll) && fit->folds == 0);
                vg_calibration_metrics metrics;
                vg_predictions view = view_f64(&own);
                assert_ok(vg_calibrate__measure(&metrics, &view, own.y, fit->temperatures, fit->count, &options));
                double share = (double)own.n / (double)p.n;
                nll += share * metrics.nll;
                member_nll += share * metrics.member_nll;
                accuracy += share * metrics.accuracy;
                vg_calibration_free(fit);
                free_problem(&rest);
                free_problem(&own);
            }
            assert_close(whole->held_out.nll, nll, 1e-9);
            assert_close(whole->held_out.member_nll, member_nll, 1e-9);
            assert_close(whole->held_out.accuracy, accuracy, 1e-12);
            assert_true(whole->held_out.member_nll >= whole->after.member_nll);
            vg_calibration_free(whole);
            free_problem(&p);
        }
}

static void threads_do_not_matter(void **state) {
    (void)state;
    problem p = make_problem(9000, 4, 5, 3, 1.3, 0.8);
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    options.threads = 1;
    vg_calibration *one = fit_with(&p, &options);
    options.threads = 3;
    vg_calibration *three = fit_with(&p, &options);
    assert_memory_equal(&one->held_out, &three->held_out, sizeof one->held_out);
    vg_calibration_free(one);
    vg_calibration_free(three);
    free_problem(&p);
}

/* Members that are sure of different things and right half the time: each is overconfident, their mean is about
 * right. Dividing by each one's temperature helps the members and harms the mean. */
static problem disagreeing(size_t n, size_t m, size_t c) {
    problem p = {n, m, c, malloc(n * m * c * sizeof(double)), malloc(n * sizeof(int64_t))};
    uint64_t k = 0;
    for (size_t i = 0; i < n; i++) {
        p.y[i] = (int64_t)(uniform_at(9, k++) * (double)c);
        for (size_t j = 0; j < m; j++) {
            size_t top = uniform_at(9, k++) < 0.6 ? (size_t)p.y[i] : (size_t)(uniform_at(9, k++) * (double)c);
            for (size_t l = 0; l < c; l++)
                p.z[(i * m + j) * c + l] = l == top ? 4 : 0;
        }
    }
    return p;
}

static void worse_is_said_with_figures(void **state) {
    (void)state;
    problem p = disagreeing(600, 8, 4);
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    vg_calibration *fit = fit_with(&p, &options);
    assert_true(fit->held_out.member_nll < fit->before.member_nll);
    assert_true(fit->held_out.nll > fit->before.nll);
    char figures[64];
    snprintf(figures, sizeof figures, "NLL %.4g -> %.4g", fit->before.nll, fit->held_out.nll);
    assert_non_null(strstr(fit->warning, "on held-out samples the temperatures make the ensemble worse"));
    assert_non_null(strstr(fit->warning, figures));
    assert_null(strchr(fit->warning, '\n'));
    vg_calibration_free(fit);
    options.folds = 0;
    fit = fit_with(&p, &options);
    assert_non_null(strstr(fit->warning, "on the samples they were fitted to"));
    vg_calibration_free(fit);
    free_problem(&p);
    p = make_problem(600, 1, 4, 5, 3, 0.8); /* overconfident, and helped */
    options.folds = 2;
    fit = fit_with(&p, &options);
    assert_string_equal(fit->warning, "");
    vg_calibration_free(fit);
    free_problem(&p);
}

/* Labels that every member predicts with a margin: no inner minimiser. A hundred ends, one line; and no gap in log T.
 */
static void one_range_and_one_warning(void **state) {
    (void)state;
    problem p = make_problem(200, 100, 5, 7, 0.01, 0);
    for (size_t i = 0; i < p.n; i++)
        for (size_t m = 0; m < p.m; m++)
            p.z[(i * p.m + m) * p.c + (size_t)p.y[i]] = 20;
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    options.solver = VG_SOLVER_BOTH;
    vg_calibration *fit = fit_with(&p, &options);
    assert_int_equal(fit->at_min, 100);
    assert_true(isnan(fit->gap_log_t_max) && isnan(fit->gap_log_t_median));
    assert_true(fabs(fit->gap_loss_max) < 1e-9);
    assert_true(fit->t_min == 0.01 && fit->t_max == 10);
    for (size_t i = 0; i < fit->count; i++) {
        assert_true(fit->newton[i].temperature == 0.01);
        assert_true(fit->bayes[i].temperature >= 0.01 * (1 - 1e-12) && fit->bayes[i].temperature <= 10 * (1 + 1e-12));
    }
    assert_non_null(strstr(fit->warning, "100 of 100 temperatures reached the lower end of their range, 0.01"));
    assert_null(strstr(fit->warning, "worse"));
    vg_calibration_free(fit);
    options.t_min = 2; /* the range is both solvers' */
    fit = fit_with(&p, &options);
    for (size_t i = 0; i < fit->count; i++) {
        assert_true(fit->newton[i].temperature == 2);
        assert_true(fabs(fit->bayes[i].temperature - 2) < 0.1);
    }
    vg_calibration_free(fit);
    free_problem(&p);
}

/* Logits of 1e20 and 1e300: curvatures overflow, and the text holds null for them. */
static void enormous_logits_have_a_text(void **state) {
    (void)state;
    static const double scales[] = {1e20, 1e300};
    for (size_t k = 0; k < 2; k++) {
        problem p = make_problem(100, 3, 5, 13, scales[k], 0.7);
        vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
        options.solver = VG_SOLVER_BOTH;
        vg_calibration *fit = fit_with(&p, &options);
        char *text;
        assert_ok(vg_temperatures_text(&text, fit));
        json_t *root = json_loads(text, 0, NULL);
        assert_non_null(root);
        assert_int_equal(json_array_size(json_object_get(root, "temperatures")), 3);
        assert_non_null(
            strstr(json_string_value(json_object_get(root, "warning")), "reached the upper end of their range, 10"));
        json_decref(root);
        vg_free(text);
        vg_calibration_free(fit);
        free_problem(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_out_is_what_separate_fits_give), cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(worse_is_said_with_figures),          cmocka_unit_test(one_range_and_one_warning),
        cmocka_unit_test(enormous_logits_have_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
