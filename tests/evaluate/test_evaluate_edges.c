/* test_evaluate_edges.c - arguments that must be refused, means just over 1, a call without measures that is stopped,
 * points at less than a row, and three figures whose parts other tests do not tell apart: bets of samples with several
 * rows, AUROC of dependent rows, resamples of the subset accuracy. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "evaluate/evaluate_internal.h"
#include "evaluate/select_internal.h"
#include "evaluate/whole_columns.h"
#include "vargate/evaluate.h"

static void near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-9 * (1 + fabs(expected))))
        fail_msg("%.17g, expected %.17g", found, expected);
}

static void null_arguments(void **state) {
    (void)state;
    const double u[] = {1, 2, 3};
    const uint8_t errors[] = {0, 1, 0};
    vg_measure m = {"u", u, 1, 0}, empty = {"u", NULL, 1, 0};
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    vg_selection s = VG_SELECTION_INIT;
    vg_candidate one = {.measure = m, .errors = errors};
    o.target_risk = 0.5;
    assert_int_equal(vg_select_threshold(&s, &m, errors, 3, &o), VG_OK);
    assert_int_equal(vg_select_threshold(NULL, &m, errors, 3, &o), VG_ERR_ARGUMENT);
    assert_int_equal(vg_select_threshold(&s, NULL, errors, 3, &o), VG_ERR_ARGUMENT);
    assert_int_equal(vg_select_threshold(&s, &empty, errors, 3, &o), VG_ERR_ARGUMENT);
    assert_int_equal(vg_select_threshold(&s, &m, NULL, 3, &o), VG_ERR_ARGUMENT);
    assert_int_equal(vg_select_threshold(&s, &m, errors, 0, &o), VG_ERR_DATA);
    assert_int_equal(vg_select_threshold(&s, &m, errors, 3, NULL), VG_ERR_ARGUMENT);
    assert_int_equal(vg_select_among(&s, NULL, &one, 0, 3, &o), VG_ERR_ARGUMENT);
    assert_int_equal(vg_select_among(&s, NULL, NULL, 1, 3, &o), VG_ERR_ARGUMENT);
    assert_int_equal(vg_columns__new(NULL, 3, NULL, 0, VG_COLUMNS_ALL), VG_ERR_ARGUMENT);
    assert_int_equal(vg_tally_new(NULL, 3, NULL), VG_ERR_ARGUMENT);
    assert_int_equal(vg_tally_feed(NULL, u, NULL, NULL, 1), VG_ERR_ARGUMENT);
    assert_int_equal(vg_tally_describe(NULL, NULL), VG_ERR_ARGUMENT);
    assert_int_equal(vg_evaluate(NULL, NULL, NULL, 0, NULL), VG_ERR_ARGUMENT);
    vg_evaluation *e;
    assert_int_equal(vg_evaluate(&e, NULL, NULL, 0, NULL), VG_ERR_ARGUMENT);
}

/* Means and spreads may pass 1 by 0.002, wherever they lie in a block. */
static void means_over_one(void **state) {
    (void)state;
    enum { N = 40, C = 5 };
    double mean[N * C], std[N * C];
    int64_t labels[N] = {0};
    static const double values[] = {1.0019, 1.0021, 1.5, 2.5, INFINITY, -1e-9, -0.0, NAN};
    for (size_t v = 0; v < 8; v++)
        for (size_t at = 0; at < N * C; at += 13)
            for (int spread = 0; spread < 2; spread++) {
                vg_tally *tally;
                bool good = values[v] >= 0 && values[v] < 1.002;
                for (size_t i = 0; i < N * C; i++)
                    mean[i] = std[i] = 0.2;
                (spread ? std : mean)[at] = values[v];
                assert_int_equal(vg_tally_new(&tally, C, NULL), VG_OK);
                assert_int_equal(vg_tally_feed(tally, mean, std, labels, N), good ? VG_OK : VG_ERR_DATA);
                assert_int_equal(vg_tally__info(tally).rows, good ? N : 0);
                vg_tally_free(tally);
            }
}

static int stop(void *context, unsigned long long done, unsigned long long total) {
    (void)done, (void)total;
    ++*(int *)context;
    return 1;
}

/* The caller is asked at least once, also where there is nothing to do. */
static void asked_without_measures(void **state) {
    (void)state;
    int asked = 0;
    vg_ood_options o = VG_OOD_OPTIONS_INIT;
    o.progress = stop;
    o.progress_context = &asked;
    assert_int_equal(vg_ood_evaluate(NULL, NULL, 2, NULL, 2, 0, &o), VG_ERR_INTERRUPTED);
    assert_int_equal(asked, 1);
}

/* Samples of two rows, one of them wrong: every loss is 1/2, so that their order does not matter. Bets are tuned for
 * half the level. */
static void bets_of_samples(void **state) {
    (void)state;
    enum { SAMPLES = 50 };
    double u[2 * SAMPLES], losses[SAMPLES];
    const double grid[] = {10};
    uint8_t errors[2 * SAMPLES];
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    vg_selection s = VG_SELECTION_INIT;
    vg_measure m = {"u", u, 1, 0};
    for (size_t i = 0; i < 2 * SAMPLES; i++) {
        u[i] = (double)(i % 7);
        errors[i] = i % 2;
        losses[i / 2] = 0.5;
    }
    o.rows_per_sample = 2;
    o.target_risk = 0.9;
    o.confidence = 0.9;
    o.grid = grid;
    o.grid_count = 1;
    assert_int_equal(vg_select_threshold(&s, &m, errors, 2 * SAMPLES, &o), VG_OK);
    assert_true(s.met && s.answered == SAMPLES && s.risk == 0.5);
    near(s.level, 0.1);
    near(s.risk_bound, vg_evaluate__bounded_upper(losses, SAMPLES, 0.1, 0.05));
    assert_int_equal(s.bound, VG_BOUND_BETTING);
    assert_true(fabs(s.risk_bound - vg_evaluate__bounded_upper(losses, SAMPLES, 0.1, 0.2)) > 1e-6);
}

/* Perfectly separated rows, two to a sample: the interval is that of 5 positive and 15 negative samples. */
static void auroc_of_samples(void **state) {
    (void)state;
    double u[40];
    uint8_t positive[40];
    vg_auroc_options o = VG_AUROC_OPTIONS_INIT;
    vg_measure m = {"u", u, 1, 0};
    vg_estimate e, expected = {1, NAN, NAN};
    for (size_t i = 0; i < 40; i++) {
        u[i] = (double)i;
        positive[i] = i >= 30;
    }
    o.rows_per_sample = 2;
    assert_int_equal(vg_auroc(&e, &m, positive, 40, &o), VG_OK);
    vg_evaluate__auroc_interval(&expected, 0, 5, 15, o.confidence);
    near(e.low, expected.low);
    near(e.high, 1);
}

/* Label 0 is wrong in every fourth sample, label 1 in every fifth, label 2 never. */
static void resampled_subsets(void **state) {
    (void)state;
    enum { N = 40, C = 3, R = 20 };
    double mean[N * C], shares[R];
    int64_t labels[N * C];
    bool right[N];
    vg_tally_options how = VG_TALLY_OPTIONS_INIT;
    vg_evaluate_options o = VG_EVALUATE_OPTIONS_INIT;
    vg_tally *tally;
    vg_evaluation *e;
    how.task = VG_TASK_MULTILABEL;
    how.bootstrap = 1;
    o.resamples = R;
    o.seed = 7;
    for (int label = 0; label < C; label++) { /* one label at a time, then all but the last */
        double value = 0;
        for (size_t i = 0; i < N; i++) {
            right[i] = true;
            for (size_t c = 0; c < C; c++) {
                bool wrong = (label == 2 ? c < 2 : c == (size_t)label) && i % (4 + c) == 0;
                mean[i * C + c] = 0.75;
                labels[i * C + c] = !wrong;
                right[i] = right[i] && !wrong;
            }
            value += right[i] / (double)N;
        }
        assert_int_equal(vg_tally_new(&tally, C, &how), VG_OK);
        assert_int_equal(vg_tally_feed(tally, mean, NULL, labels, N), VG_OK);
        assert_int_equal(vg_evaluate(&e, tally, NULL, 0, &o), VG_OK);
        for (size_t r = 0; r < R; r++) {
            vg_random random = vg_random__start(7, r);
            shares[r] = 0;
            for (size_t i = 0; i < N; i++)
                shares[r] += right[vg_random__below(&random, N)] / (double)N;
        }
        vg_estimate expected = {value, NAN, NAN};
        vg_evaluate__share_interval(&expected, N, vg_evaluate__variance(shares, R), o.confidence);
        near(e->subset_accuracy.value, value);
        near(e->subset_accuracy.low, expected.low);
        near(e->subset_accuracy.high, expected.high);
        vg_evaluation_free(e);
        vg_tally_free(tally);
    }
}

/* A share of the rows that is less than one is one row: the first points of a long curve, and a small coverage. */
static void less_than_a_row(void **state) {
    (void)state;
    enum { POINTS = 3000000 };
    static double curve[POINTS];
    const double u[] = {1, 2}, least = 1e-9;
    const uint8_t errors[] = {1, 0};
    vg_measure m = {"u", u, 1, 0};
    vg_evaluate_options o = VG_EVALUATE_OPTIONS_INIT;
    vg_ranking r;
    assert_int_equal(vg_risk_coverage(curve, POINTS, &m, errors, 2), VG_OK);
    for (size_t i = 0; i < POINTS; i++)
        assert_true(curve[i] == (i < POINTS / 2 ? 1 : 0.5) || i == POINTS / 2); /* its position has a tolerance */
    o.coverages = &least;
    o.coverage_count = 1;
    assert_int_equal(vg_rank(&r, &m, errors, 2, &o), VG_OK);
    near(r.risk_at[0].value, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_arguments),  cmocka_unit_test(means_over_one),   cmocka_unit_test(asked_without_measures),
        cmocka_unit_test(bets_of_samples), cmocka_unit_test(auroc_of_samples), cmocka_unit_test(resampled_subsets),
        cmocka_unit_test(less_than_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
