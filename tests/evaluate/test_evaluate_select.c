/* test_evaluate_select.c - thresholds chosen on validation data: the promised risk holds as often as promised, the
 * choice is the largest coverage that can be promised, coverage targets are exact, and unreachable targets name the
 * best that can be reached. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/distributions.h"
#include "base/random.h"
#include "evaluate/bounds.h"
#include "evaluate/evaluate_internal.h"
#include "vargate/evaluate.h"

/* Worlds whose risk is known: uncertainty u uniform on (0, 1), P(error | u) = u^2 / 2, so that the risk of keeping u
 * < t is t^2 / 6; or P(error | u) = flat, an uninformative measure. */
enum { ROWS = 2000 };
static void draw(double *u, double *ratio, uint8_t *errors, size_t rows, uint64_t stream, double flat) {
    vg_random random = vg_random__start(99, stream);
    for (size_t i = 0; i < rows; i++) {
        u[i] = vg_random__unit(&random);
        ratio[i] = u[i] > 0 ? 1 / u[i] : (double)INFINITY; /* kept at k: u < 1 / k */
        errors[i] = vg_random__unit(&random) < (flat > 0 ? flat : u[i] * u[i] / 2);
    }
}
static double true_risk(double t, double flat) {
    t = t > 1 ? 1 : t;
    return flat > 0 ? flat : t * t / 6;
}

/* How often, in 300 draws, the chosen threshold's true risk exceeds the target. */
static size_t broken_promises(double target, double flat, bool by_k, vg_multiplicity method, double *mean_coverage,
                              size_t *chosen) {
    static double u[ROWS], ratio[ROWS];
    static uint8_t errors[ROWS];
    size_t broken = 0;
    *mean_coverage = 0;
    *chosen = 0;
    for (uint64_t trial = 0; trial < 300; trial++) {
        draw(u, ratio, errors, ROWS, trial, flat);
        vg_select_options options = VG_SELECT_OPTIONS_INIT;
        options.target_risk = target;
        options.multiplicity = method;
        vg_selection s = VG_SELECTION_INIT;
        vg_measure measure = {"u", u, 1, 0};
        assert_int_equal(by_k ? vg_select_k(&s, ratio, errors, ROWS, &options)
                              : vg_select_threshold(&s, &measure, errors, ROWS, &options),
                         VG_OK);
        assert_true(!s.met || s.risk_bound <= target);
        if (!s.met)
            continue;
        ++*chosen;
        *mean_coverage += s.coverage;
        broken += true_risk(by_k ? 1 / s.threshold : s.threshold, flat) > target;
    }
    *mean_coverage /= *chosen ? (double)*chosen : 1;
    return broken;
}

static void test_promises_hold(void **state) {
    (void)state;
    double coverage;
    size_t chosen;
    for (int by_k = 0; by_k < 2; by_k++) {
        /* The best possible coverage is sqrt(6 target): .548, .775. 27 is 5 % of 300 and three sigmas. */
        assert_true(broken_promises(.05, 0, by_k, VG_MULTIPLICITY_AUTO, &coverage, &chosen) <= 27);
        assert_true(chosen >= 285);
        assert_true(coverage > .4 && coverage < .548);
        assert_true(broken_promises(.1, 0, by_k, VG_MULTIPLICITY_AUTO, &coverage, &chosen) <= 27);
        assert_true(coverage > .6 && coverage < .775);
        /* An uninformative measure, a risk just above the target everywhere: whatever is chosen breaks the
         * promise. */
        assert_true(broken_promises(.05, .052, by_k, VG_MULTIPLICITY_AUTO, &coverage, &chosen) <= 27);
        assert_true(broken_promises(.05, .052, by_k, VG_MULTIPLICITY_BONFERRONI, &coverage, &chosen) <= 27);
    }
    /* Without accounting for the choice it is broken far more often, which shows that this test would notice. */
    assert_true(broken_promises(.05, .052, false, VG_MULTIPLICITY_NONE, &coverage, &chosen) > 40);
    assert_true(broken_promises(.05, .052, true, VG_MULTIPLICITY_NONE, &coverage, &chosen) > 40);
}

/* The levels of the fallback procedure, worked out: five points, one start: plain fixed sequence at full level. */
static void test_sequence_levels(void **state) {
    (void)state;
    double u[1000];
    uint8_t errors[1000] = {0};
    for (size_t i = 0; i < 1000; i++)
        u[i] = ((double)i + .5) / 1000;
    for (size_t i = 600; i < 1000; i += 4)
        errors[i] = 1;
    const double grid[] = {.9, .1, .5, .7, .3}; /* any order */
    vg_measure measure = {"u", u, 1, 0};
    vg_select_options options = VG_SELECT_OPTIONS_INIT;
    options.target_risk = .045;
    options.grid = grid;
    options.grid_count = 5;
    options.starts = 1;
    vg_selection s = VG_SELECTION_INIT;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 1000, &options), VG_OK);
    assert_int_equal(s.met, 1);
    assert_true(s.threshold == .5); /* 100, 300, 500 rows without error pass; 700 rows with 25 do not: bound .0500 */
    assert_int_equal(s.kept, 500);
    assert_int_equal(s.errors, 0);
    assert_true(fabs(s.level - .05) < 1e-12);
    assert_true(fabs(s.risk_bound - (1 - pow(.05, 1. / 500))) < 1e-12);
    assert_int_equal(s.starts, 1);
    assert_int_equal(s.grid_count, 5);
    assert_int_equal(s.multiplicity, VG_MULTIPLICITY_SEQUENCE);
    /* Five starts: 100 rows fail at a fifth of the level (bound .0450071), 300 pass, and hand theirs on to 500. */
    options.starts = 5;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 1000, &options), VG_OK);
    assert_true(s.threshold == .5 && fabs(s.level - .02) < 1e-12);
    /* Bonferroni: a fifth each. */
    options.multiplicity = VG_MULTIPLICITY_BONFERRONI;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 1000, &options), VG_OK);
    assert_true(s.threshold == .5 && fabs(s.level - .01) < 1e-12);
    /* A first point that keeps nothing breaks a sequence of one start, not one of several. */
    const double empty_first[] = {-1, .3, .5};
    options.multiplicity = VG_MULTIPLICITY_SEQUENCE;
    options.grid = empty_first;
    options.grid_count = 3;
    options.starts = 1;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 1000, &options), VG_OK);
    assert_int_equal(s.met, 0);
    options.starts = 3;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 1000, &options), VG_OK);
    assert_true(s.met && s.threshold == .5);
}

/* Nine points of a grid have three starts unless told otherwise: one for every four of them. */
static void test_starts_of_a_grid(void **state) {
    (void)state;
    static double u[1000];
    static uint8_t errors[1000];
    const double grid[] = {.1, .2, .3, .4, .5, .6, .7, .8, .9};
    for (size_t i = 0; i < 1000; i++)
        u[i] = ((double)i + .5) / 1000;
    vg_measure measure = {"u", u, 1, 0};
    vg_select_options options = VG_SELECT_OPTIONS_INIT;
    vg_selection s = VG_SELECTION_INIT;
    options.target_risk = .045;
    options.grid = grid;
    options.grid_count = 9;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 1000, &options), VG_OK);
    assert_int_equal(s.starts, 3);
    assert_true(s.met && s.threshold == .9);
    options.grid_count = 8;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 1000, &options), VG_OK);
    assert_int_equal(s.starts, 2);
}

/* Values that lie among others, as in a table of several measures. */
static void test_values_of_a_column(void **state) {
    (void)state;
    static double u[ROWS], ratio[ROWS], table[3 * ROWS];
    static uint8_t errors[ROWS];
    draw(u, ratio, errors, ROWS, 7, 0);
    for (size_t i = 0; i < 3 * ROWS; i++)
        table[i] = i % 3 == 1 ? u[i / 3] : -1;
    vg_measure alone = {"u", u, 1, 0}, column = {"u", table + 1, 3, 0};
    for (int target = 0; target < 2; target++) {
        vg_select_options options = VG_SELECT_OPTIONS_INIT;
        vg_selection a = VG_SELECTION_INIT, b = VG_SELECTION_INIT;
        *(target ? &options.target_coverage : &options.target_risk) = target ? .7 : .1;
        assert_int_equal(vg_select_threshold(&a, &alone, errors, ROWS, &options), VG_OK);
        assert_int_equal(vg_select_threshold(&b, &column, errors, ROWS, &options), VG_OK);
        assert_true(a.met && b.met && a.threshold == b.threshold && a.kept == b.kept && a.errors == b.errors);
    }
}

/* A target out of reach: the best tested one is reported, and how many samples it would take. */
static void test_unreachable_risk(void **state) {
    (void)state;
    double ratio[50];
    uint8_t errors[50] = {0};
    char reason[300];
    for (size_t i = 0; i < 50; i++)
        ratio[i] = .5 + (double)i * .1;
    errors[0] = errors[10] = 1;
    vg_select_options options = VG_SELECT_OPTIONS_INIT;
    options.target_risk = .001; /* 50 rows cannot show that */
    vg_selection s = VG_SELECTION_INIT;
    assert_int_equal(vg_select_k(&s, ratio, errors, 50, &options), VG_OK);
    assert_int_equal(s.met, 0);
    assert_int_equal(s.set_aside, 10);
    assert_int_equal(s.rows, 40);
    assert_int_equal(s.samples, 40);
    assert_true(s.risk_bound > .001 && s.kept > 0);
    assert_true(fabs(s.risk_bound - vg_bounds__clopper_pearson(s.errors, s.kept, 1 - s.level)) < 1e-12);
    /* Without an error, (1 - .001)^n <= .05 / 3. */
    assert_int_equal(s.fewest, (size_t)ceil(log(.05 / 3) / log(.999)));
    vg_selection_reason(reason, sizeof reason, &s);
    assert_non_null(strstr(reason, "40 validation samples cannot show it: even without an error it takes 4093"));
    /* With the risk of a world that is known: the estimate is of the right size. Risk .02 everywhere, target .03:
     * the bound at n rows is .02 + about 2.13 sqrt(.02 * .98 / n), below .03 from some 900 on. */
    static double u[600];
    static uint8_t wrong[600];
    for (size_t i = 0; i < 600; i++) {
        u[i] = (double)(i * 7919 % 600) / 600;
        wrong[i] = i % 50 == 0;
    }
    vg_measure measure = {"u", u, 1, 0};
    options.target_risk = .03;
    assert_int_equal(vg_select_threshold(&s, &measure, wrong, 600, &options), VG_OK);
    assert_int_equal(s.met, 0);
    assert_true(s.needed > 660 && s.needed < 3000);
    vg_selection_reason(reason, sizeof reason, &s);
    assert_non_null(strstr(reason, "it would take about"));
    options.target_risk = .012; /* above the target at any size */
    for (size_t i = 0; i < 600; i++)
        wrong[i] = i % 5 == 0;
    assert_int_equal(vg_select_threshold(&s, &measure, wrong, 600, &options), VG_OK);
    vg_selection_reason(reason, sizeof reason, &s);
    assert_true(!s.met && s.needed == 0);
    assert_non_null(strstr(reason, "more samples would not help"));
}

static void test_coverage_target(void **state) {
    (void)state;
    const double u[] = {5, 3, 3, 1, 4, 2, 9, 8, 7, 6};
    const uint8_t errors[10] = {0, 0, 0, 0, 0, 0, 1, 0, 0, 0};
    vg_select_options options = VG_SELECT_OPTIONS_INIT;
    options.target_coverage = .9;
    vg_selection s = VG_SELECTION_INIT;
    vg_measure measure = {"u", u, 1, 0};
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 10, &options), VG_OK);
    assert_true(s.met && s.kept == 9 && s.errors == 0 && s.threshold == 8.5);
    options.target_coverage = .3; /* the third is tied with the fourth: both stay */
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 10, &options), VG_OK);
    assert_true(s.met && s.kept == 4);
    /* As ks: half way between the ninth largest ratio and the tenth. */
    options.target_coverage = .9;
    assert_int_equal(vg_select_k(&s, u, errors, 10, &options), VG_OK);
    assert_true(s.met && s.kept == 9 && s.threshold == 1.5);
    const double some[] = {0, 0, 0, 1, 2, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    assert_int_equal(vg_select_k(&s, some, errors, 10, &options), VG_OK);
    assert_true(!s.met && s.kept == 7 && s.threshold > 0 && s.threshold < 1); /* ties are never kept */
    options.target_coverage = .5;
    assert_int_equal(vg_select_k(&s, some, errors, 10, &options), VG_OK);
    assert_true(s.met && s.kept == 5 && s.threshold > 2 && s.threshold < 100);
    const double grid[] = {2.5, .5, 4.5};
    options.grid = grid;
    options.grid_count = 3;
    options.target_coverage = .6;
    assert_int_equal(vg_select_k(&s, u, errors, 10, &options), VG_OK);
    assert_true(s.met && s.threshold == 2.5 && s.kept == 8 && s.grid_count == 3);
}

/* The k chosen for a coverage, put back into the rule as the scorer computes it, keeps just the rows it was chosen
 * to keep. */
static void test_coverage_by_the_rule(void **state) {
    (void)state;
    enum { N = 500, C = 3 };
    static double mean[N * C], std[N * C], ratio[N];
    static uint8_t errors[N];
    vg_random random = vg_random__start(77, 0);
    for (size_t i = 0; i < N; i++) {
        double a = vg_random__unit(&random), b = vg_random__unit(&random) * (1 - a);
        mean[i * C] = a, mean[i * C + 1] = b, mean[i * C + 2] = 1 - a - b;
        for (size_t c = 0; c < C; c++)
            std[i * C + c] = .01 + .2 * vg_random__unit(&random);
    }
    assert_int_equal(vg_margin_ratio(ratio, mean, std, NULL, NULL, N, C), VG_OK);
    for (size_t wanted = 1; wanted <= N; wanted++) {
        vg_select_options options = VG_SELECT_OPTIONS_INIT;
        options.target_coverage = (double)wanted / N;
        vg_selection s = VG_SELECTION_INIT;
        assert_int_equal(vg_select_k(&s, ratio, errors, N, &options), VG_OK);
        assert_true(s.met && s.kept == wanted);
        size_t kept = 0;
        for (size_t i = 0; i < N; i++) {
            size_t p, q;
            vg_evaluate__top_two(&p, &q, mean + i * C, C);
            kept += mean[i * C + p] - s.threshold * std[i * C + p] > mean[i * C + q] + s.threshold * std[i * C + q];
        }
        assert_int_equal(kept, wanted);
    }
}

/* A bound that is shown as the best reachable lies above the target, or the target would have been met. */
static void test_missed_bounds_are_above(void **state) {
    (void)state;
    double ratio[300];
    uint8_t errors[300];
    size_t missed = 0;
    for (uint64_t draw = 0; draw < 200; draw++) {
        vg_random random = vg_random__start(78, draw);
        for (size_t i = 0; i < 300; i++) {
            ratio[i] = exp(4 * vg_random__unit(&random) - 2);
            errors[i] = vg_random__unit(&random) < .2 / (1 + 8 * ratio[i]);
        }
        vg_select_options options = VG_SELECT_OPTIONS_INIT;
        options.target_risk = .01 + .0005 * (double)(draw % 100);
        vg_selection s = VG_SELECTION_INIT;
        assert_int_equal(vg_select_k(&s, ratio, errors, 300, &options), VG_OK);
        assert_true(s.met == (s.risk_bound <= options.target_risk));
        missed += !s.met;
    }
    assert_true(missed > 20 && missed < 180);
}

static void test_refusals(void **state) {
    (void)state;
    const double u[] = {1, NAN}, grid[] = {1, 0};
    const uint8_t errors[] = {0, 0};
    vg_measure measure = {"tu", u, 1, 0};
    vg_selection s = VG_SELECTION_INIT;
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 1, &o), VG_ERR_ARGUMENT); /* no target */
    o.target_risk = .1;
    o.target_coverage = .5;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 1, &o), VG_ERR_ARGUMENT); /* two */
    o.target_coverage = 0;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 0, &o), VG_ERR_DATA);
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 2, &o), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "value 1 of measure tu is NaN"));
    o.target_risk = 1;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 1, &o), VG_ERR_ARGUMENT);
    o.target_risk = .1;
    o.grid = grid;
    o.grid_count = 2;
    assert_int_equal(vg_select_k(&s, u, errors, 1, &o), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "grid point 1 is 0"));
    o.grid_count = 1;
    o.confidence = 1;
    assert_int_equal(vg_select_k(&s, u, errors, 1, &o), VG_ERR_ARGUMENT);
    assert_true(vg_bounds__clopper_pearson(0, 0, .95) == 1 && vg_bounds__clopper_pearson(5, 5, .95) == 1);
    assert_true(isnan(vg_base__beta_quantile(.5, -1, 1)) && isnan(vg_base__beta_cdf(.5, 0, 1)));
    assert_true(vg_base__beta_cdf(-1, 2, 2) == 0 && vg_base__beta_cdf(2, 2, 2) == 1 &&
                vg_base__beta_quantile(1, 2, 2) == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_promises_hold),
        cmocka_unit_test(test_sequence_levels),
        cmocka_unit_test(test_starts_of_a_grid),
        cmocka_unit_test(test_values_of_a_column),
        cmocka_unit_test(test_unreachable_risk),
        cmocka_unit_test(test_coverage_target),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_coverage_by_the_rule),
        cmocka_unit_test(test_missed_bounds_are_above),
    };
    return cmocka_run_group_tests_name("evaluate: selection", tests, NULL, NULL);
}
