/* test_evaluate_thresholds.c - the parts of risk selection one by one, on values small enough to follow by hand: short
 * decimals, thresholds in gaps, grids of quantiles, rows as samples keep them, and which candidates are nominated. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/distributions.h"
#include "evaluate/bounds.h"
#include "evaluate/select_internal.h"
#include "vargate/evaluate.h"

static void same(double found, double expected) {
    if (found != expected)
        fail_msg("%.17g, expected %.17g", found, expected);
}

static void near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-14 * fabs(expected)))
        fail_msg("%.17g, expected %.17g", found, expected);
}

static void short_decimals(void **state) {
    (void)state;
    same(vg_evaluate__short_decimal(0.11, 0.19), 0.15);
    same(vg_evaluate__short_decimal(0.2, 0.3), 0.2); /* 0.25 rounds to an even digit, and both ends are allowed */
    same(vg_evaluate__short_decimal(0.5, 1), 0.8);
    same(vg_evaluate__short_decimal(0.7, 0.8), 0.8);
    same(vg_evaluate__short_decimal(17, 21), 20);
    same(vg_evaluate__short_decimal(-21, -17), -20);
    same(vg_evaluate__short_decimal(1 / 3., 1 / 3.), 1 / 3.);
    same(vg_evaluate__short_decimal(1234, 1234), 1234);
    same(vg_evaluate__short_decimal(-3, 3), 0);
    same(vg_evaluate__short_decimal(0.1 + 0.2, 0.1 + 0.2), 0.1 + 0.2); /* all 17 digits */
}

static void thresholds_in_gaps(void **state) {
    (void)state;
    static const struct {
        double last, next;
        bool rule;
        double expected;
    } cases[] = {
        {1, 2, false, 1.5},
        {1, INFINITY, false, 1.5},
        {0.5, INFINITY, false, 1},
        {3, INFINITY, false, 4},
        {-3, INFINITY, false, -2},
        {INFINITY, INFINITY, false, -1},
        {-INFINITY, 2, false, 0},
        {-INFINITY, 0, false, -2},
        {-INFINITY, -2, false, -5},
        {-INFINITY, -DBL_MAX, false, -DBL_MAX},
        {-1, 0.5, true, -0.5},
        {-1, 0, true, -0.5},
        {-1, 0, false, -0.5},
        {-1, 0.5, false, -0.2},
        {-4, -2, true, -3},
        {-1, INFINITY, true, -0.5},
        {-DBL_TRUE_MIN, 0, true, -DBL_TRUE_MIN},
        {-DBL_TRUE_MIN, 0, false, 0},
        {1, 1 + DBL_EPSILON, false, 1 + DBL_EPSILON},
        {-1 - DBL_EPSILON, -1, true, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        same(vg_evaluate__threshold_between(cases[i].last, cases[i].next, cases[i].rule), cases[i].expected);
}

/* Checks a grid of `points` over values[n], which are sorted in place. */
static void grid_is(double *values, size_t n, size_t points, bool rule, const double *thresholds, const double *shares,
                    size_t count) {
    vg_threshold_grid grid;
    assert_int_equal(vg_evaluate__quantile_grid(&grid, values, n, points, rule), VG_OK);
    assert_int_equal(grid.count, count);
    for (size_t j = 0; j < count; j++) {
        same(grid.threshold[j], thresholds[j]);
        same(grid.share[j], shares[j]);
    }
    vg_evaluate__grid_free(&grid);
}

static void grids_of_quantiles(void **state) {
    (void)state;
    double ten[] = {3, 1, 0, 2, 9, 8, 7, 6, 5, 4}, hundred[100], equal[10], ratios[] = {0, -3, -1, -5, 0, -2, -4, 0};
    grid_is(ten, 10, 5, false, (double[]){1.5, 3.5, 5.5, 7.5, 14}, (double[]){.2, .4, .6, .8, 1}, 5);
    for (size_t i = 0; i < 10; i++)
        same(ten[i], (double)i);
    for (size_t i = 0; i < 100; i++)
        hundred[i] = (double)(99 - i);
    /* two values of slack on either side of the 20th, 40th, ... value give round numbers */
    grid_is(hundred, 100, 5, false, (double[]){20, 40, 60, 80, 150}, (double[]){.2, .4, .6, .8, 1}, 5);
    for (size_t i = 0; i < 100; i++)
        hundred[i] = -100 + (double)i; /* -100 to -1 by the rule: thresholds below 0 */
    grid_is(hundred, 100, 5, true, (double[]){-80, -60, -40, -20, -.01}, (double[]){.2, .4, .6, .8, 1}, 5);
    for (size_t i = 0; i < 10; i++)
        equal[i] = 5;
    grid_is(equal, 10, 5, false, (double[]){8}, (double[]){1}, 1);
    /* three rows of ratio 0 are never kept */
    grid_is(ratios, 8, 5, true, (double[]){-4.5, -3.5, -2.5, -1.5, -.01},
            (double[]){1 / 8., 2 / 8., 3 / 8., 4 / 8., 5 / 8.}, 5);
    for (size_t i = 0; i < 10; i++)
        equal[i] = i < 4 ? 1 : 2; /* ties: of the points that fall among them one is left */
    grid_is(equal, 10, 5, false, (double[]){1.5, 2.5}, (double[]){.4, 1}, 2);
    for (size_t i = 0; i < 10; i++)
        equal[i] = 0;
    grid_is(equal, 10, 5, true, NULL, NULL, 0);
    for (size_t i = 0; i < 10; i++)
        equal[i] = -INFINITY; /* members agree entirely: a k that keeps them */
    grid_is(equal, 10, 5, true, (double[]){-2}, (double[]){1}, 1);
    double least[] = {-DBL_TRUE_MIN, -DBL_TRUE_MIN}; /* no k is large enough to keep these alone */
    grid_is(least, 2, 1, true, (double[]){-DBL_TRUE_MIN}, (double[]){0}, 1);
    double mixed[] = {-INFINITY, -INFINITY, -8, -1};
    grid_is(mixed, 4, 2, true, (double[]){-20, -.01}, (double[]){.5, 1}, 2);
}

static void given_grids(void **state) {
    (void)state;
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    vg_threshold_grid grid;
    const double points[] = {3, 1, 2}, zero[] = {1, 0}, endless[] = {INFINITY}, none[] = {NAN};
    o.grid = points;
    assert_int_equal(vg_evaluate__given_grid(&grid, &o, false, false), VG_ERR_ARGUMENT); /* of no points */
    o.grid_count = 3;
    assert_int_equal(vg_evaluate__given_grid(&grid, &o, true, true), VG_OK);
    assert_true(grid.count == 3 && !grid.share);
    assert_true(grid.threshold[0] == -3 && grid.threshold[1] == -2 && grid.threshold[2] == -1);
    vg_evaluate__grid_free(&grid);
    assert_int_equal(vg_evaluate__given_grid(&grid, &o, false, false), VG_OK);
    assert_true(grid.threshold[0] == 1 && grid.threshold[1] == 2 && grid.threshold[2] == 3);
    vg_evaluate__grid_free(&grid);
    o.grid_count = 1;
    o.grid = endless;
    assert_int_equal(vg_evaluate__given_grid(&grid, &o, false, false), VG_OK);
    vg_evaluate__grid_free(&grid);
    assert_int_equal(vg_evaluate__given_grid(&grid, &o, true, true), VG_ERR_ARGUMENT);
    vg_evaluate__grid_free(&grid);
    o.grid = none;
    assert_int_equal(vg_evaluate__given_grid(&grid, &o, false, false), VG_ERR_ARGUMENT);
    vg_evaluate__grid_free(&grid);
    o.grid = zero;
    o.grid_count = 2;
    assert_int_equal(vg_evaluate__given_grid(&grid, &o, true, true), VG_ERR_ARGUMENT);
    vg_evaluate__grid_free(&grid);
}

/* Three samples of two rows; u < t is kept. */
static void rows_of_samples(void **state) {
    (void)state;
    const double values[] = {.1, .9, .3, .3, .5, .2};
    const uint8_t errors[] = {1, 0, 0, 1, 0, 0};
    double at[] = {.2, .3, .6};
    vg_threshold_grid grid = {3, at, NULL};
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    vg_sample_units units;
    vg_tested_rows t;
    o.rows_per_sample = 2;
    assert_int_equal(vg_evaluate__units_open(&units, 6, &o), VG_OK);
    assert_true(units.samples == 3 && units.several && vg_evaluate__sample(&units, 5) == 2);
    assert_int_equal(vg_evaluate__tested_new(&t, &units, values, errors, &grid), VG_OK);
    assert_true(t.rows == 6 && t.samples == 3 && t.points == 3);
    assert_true(t.kept[0] == 1 && t.kept[1] == 2 && t.kept[2] == 5);
    assert_true(t.errors[0] == 1 && t.errors[1] == 1 && t.errors[2] == 2);
    assert_true(vg_evaluate__losses_at(&t, 0) == 1 && t.losses[0] == 1);
    assert_true(vg_evaluate__losses_at(&t, 1) == 2 && t.losses[0] == 1 && t.losses[1] == 0);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(vg_evaluate__losses_at(&t, 2), 3);
        assert_true(t.losses[0] == 1 && t.losses[1] == .5 && t.losses[2] == 0);
    }
    assert_true(vg_evaluate__losses_at(&t, 1) == 2 && t.losses[0] == 1 && t.losses[1] == 0); /* back */
    vg_evaluate__tested_free(&t);
    vg_evaluate__units_close(&units);

    /* the second sample is set aside: its rows are not counted */
    assert_int_equal(vg_evaluate__units_open(&units, 6, &o), VG_OK);
    assert_int_equal(vg_evaluate__units_mark(&units, (const uint8_t[]){0, 1, 0}, 1), VG_OK);
    assert_true(units.aside == 1 && units.place[1] == 0 && units.place[0] + units.place[2] == 3);
    assert_int_equal(vg_evaluate__tested_new(&t, &units, values, errors, &grid), VG_OK);
    assert_true(t.rows == 4 && t.samples == 2 && t.kept[2] == 3 && t.errors[2] == 1);
    assert_int_equal(vg_evaluate__losses_at(&t, 2), 2);
    assert_true(t.losses[units.place[0] - 1] == 1 && t.losses[units.place[2] - 1] == 0);
    vg_evaluate__tested_free(&t);
    vg_evaluate__units_close(&units);
    assert_int_equal(vg_evaluate__units_open(&units, 6, &o), VG_OK);
    assert_int_equal(vg_evaluate__units_mark(&units, (const uint8_t[]){1, 1, 1}, 1), VG_ERR_DATA);
    vg_evaluate__units_close(&units);
}

static void numbers_of_samples(void **state) {
    (void)state;
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    vg_sample_units units;
    const size_t apart[] = {2, 0, 1}, shared[] = {1, 0, 1}, missing[] = {2, 2, 0}, beyond[] = {0, 3, 1};
    assert_int_equal(vg_evaluate__units_open(&units, 3, &o), VG_OK);
    assert_true(units.samples == 3 && !units.several && units.each == 1);
    o.rows_per_sample = 2;
    assert_int_equal(vg_evaluate__units_open(&units, 3, &o), VG_ERR_ARGUMENT);
    assert_int_equal(vg_evaluate__units_open(&units, (size_t)UINT32_MAX + 1, &o), VG_ERR_ARGUMENT);
    assert_int_equal(vg_evaluate__units_open(&units, (size_t)UINT32_MAX - 1, &o), VG_OK);
    o.rows_per_sample = 1;
    assert_int_equal(vg_evaluate__units_open(&units, (size_t)UINT32_MAX, &o), VG_OK);
    o.sample_of_row = apart;
    assert_int_equal(vg_evaluate__units_open(&units, 3, &o), VG_OK);
    assert_true(units.samples == 3 && !units.several && vg_evaluate__sample(&units, 0) == 2);
    o.sample_of_row = shared;
    assert_int_equal(vg_evaluate__units_open(&units, 3, &o), VG_OK);
    assert_true(units.samples == 2 && units.several);
    o.sample_of_row = missing;
    assert_int_equal(vg_evaluate__units_open(&units, 3, &o), VG_OK);
    assert_true(units.samples == 3 && units.several);
    o.sample_of_row = beyond;
    assert_int_equal(vg_evaluate__units_open(&units, 3, &o), VG_ERR_DATA);
    o.rows_per_sample = 2;
    o.sample_of_row = apart;
    assert_int_equal(vg_evaluate__units_open(&units, 3, &o), VG_ERR_ARGUMENT);
}

static void samples_set_aside(void **state) {
    (void)state;
    uint8_t marks[4] = {9, 9, 9, 9};
    assert_int_equal(vg_evaluate__usual_aside(1), 1);
    assert_int_equal(vg_evaluate__usual_aside(9), 1);
    assert_int_equal(vg_evaluate__usual_aside(10), 2);
    assert_int_equal(vg_evaluate__usual_aside(5004), 1000);
    assert_int_equal(vg_evaluate__usual_aside(5005), 1000);
    assert_int_equal(vg_evaluate__usual_aside(4999), 999);
    assert_int_equal(vg_evaluate__draw_aside(marks, 4, 9, 1), VG_OK);
    assert_true(marks[0] == 1 && marks[1] == 1 && marks[2] == 1 && marks[3] == 1);
    assert_int_equal(vg_evaluate__draw_aside(marks, 4, 0, 1), VG_OK);
    assert_true(marks[0] == 0 && marks[1] == 0 && marks[2] == 0 && marks[3] == 0);
    assert_int_equal(vg_evaluate__draw_aside(marks, 4, 3, 1), VG_OK);
    assert_int_equal(marks[0] + marks[1] + marks[2] + marks[3], 3);
}

/* --- nominees ----------------------------------------------------------------------------------------------------- */
enum { ROWS = 12, WAYS = 6 };
static unsigned lottery = 3;
static unsigned draw(unsigned below) {
    lottery = lottery * 1664525u + 1013904223u;
    return (lottery >> 10) % below;
}

/* The candidate of largest first figure, then second, then smallest number. */
static size_t best_of(double figures[WAYS][2], const bool *taken, int by) {
    size_t best = WAYS;
    for (size_t i = 0; i < WAYS; i++)
        if (!taken[i] && (best == WAYS || figures[i][by] > figures[best][by] ||
                          (figures[i][by] == figures[best][by] && figures[i][!by] > figures[best][!by])))
            best = i;
    return best;
}

static void nominees(void **state) {
    (void)state;
    for (int trial = 0; trial < 300; trial++) {
        double values[WAYS][2 * ROWS], figures[WAYS][2];
        uint8_t errors[WAYS][ROWS], marks[ROWS];
        vg_candidate list[WAYS];
        vg_select_options o = VG_SELECT_OPTIONS_INIT;
        size_t rows = 0, found[WAYS], each = 1 + draw(2), wanted = 1 + draw(WAYS);
        bool taken[WAYS] = {false};
        o.target_risk = 0.3;
        o.rows_per_sample = each;
        for (size_t i = 0; i < ROWS; i++)
            marks[i] = (uint8_t)(i == 0 || draw(3) > 0);
        for (size_t w = 0; w < WAYS; w++) {
            double kept[ROWS];
            uint8_t wrong[ROWS];
            rows = 0;
            for (size_t i = 0; i < ROWS; i++) {
                errors[w][i] = draw(3) == 0;
                values[w][2 * i] = draw(4);
                if (marks[i / each]) {
                    kept[rows] = values[w][2 * i];
                    wrong[rows++] = errors[w][i];
                }
            }
            list[w] = (vg_candidate){.measure = {"u", values[w], 2, draw(2)}, .errors = errors[w]};
            vg_measure copy = {"u", kept, 1, list[w].measure.certainty};
            vg_evaluate_options how = VG_EVALUATE_OPTIONS_INIT;
            vg_ranking ranking;
            how.risks = &o.target_risk;
            how.risk_count = 1;
            assert_int_equal(vg_rank(&ranking, &copy, wrong, rows, &how), VG_OK);
            figures[w][0] = isnan(ranking.error_auroc.value) ? 0.5 : ranking.error_auroc.value;
            figures[w][1] = ranking.coverage_at[0].value;
        }
        assert_int_equal(vg_evaluate__nominate(found, wanted, list, WAYS, ROWS, &o, marks), VG_OK);
        for (size_t i = 0; i < wanted; i++) {
            size_t expected = i + 1 == wanted && !taken[0] ? 0 : best_of(figures, taken, i % 2 == 1);
            assert_int_equal(found[i], expected);
            taken[expected] = true;
        }
    }
}

/* --- bounds ------------------------------------------------------------------------------------------------------- */
static void bounds_by_hand(void **state) {
    (void)state;
    const double losses[] = {0, .5, 0, 1}, zeros[] = {0, 0, 0, 0, 0, 0}, ones[] = {1, 1};
    near(vg_evaluate__binomial_cdf(1, 4, .5), 5 / 16.);
    same(vg_evaluate__binomial_cdf(4, 4, .5), 1);
    /* ten million samples cost no digits; the value is of 60-digit arithmetic */
    assert_true(fabs(vg_base__beta_cdf(.3995, 4e6, 6e6) / 0.00062352975795467031 - 1) < 1e-12);
    near(vg_evaluate__binomial_cdf(3, 4, .5), 15 / 16.);
    same(vg_evaluate__hoeffding_bentkus(.5, 4, .5), 1);
    same(vg_evaluate__hoeffding_bentkus(.25, 0, .5), 1);
    same(vg_evaluate__hoeffding_bentkus(.25, 4, 1), 0);
    /* x = 0: Hoeffding 0.5^6 is below e 0.5^6 */
    near(vg_evaluate__hoeffding_bentkus(0, 6, .5), 1 / 64.);
    /* x = 1/4 of 32, r = 1/2: exp(-32 h) = (3/4)^-24 (1/4)^-8 2^-32 = 0.01520; e P(Bin <= 8) = 0.00958 */
    near(vg_evaluate__hoeffding_bentkus(.25, 32, .5), 2.718281828459045 * vg_evaluate__binomial_cdf(8, 32, .5));
    assert_true(vg_evaluate__hoeffding_bentkus(.25, 32, .5) > .0095 &&
                vg_evaluate__hoeffding_bentkus(.25, 32, .5) < .0097);
    /* one loss of 0: the bet is min(1, sqrt(2 log(1 / b) / (1 * 0.25))) = 1 at b = 0.5, so that K = 1.5 */
    near(vg_evaluate__betting_capital(zeros, 1, .5, .5), log(1.5));
    /* two, b = exp(-1/16): bet^2 = (1/16) 1 / 0.25 = 1/4; then the mean is 1/4, squares 0.25 + 1/16, bet^2 = 2/5 */
    near(vg_evaluate__betting_capital(zeros, 2, .5, exp(-1 / 16.)), log((1 + .25) * (1 + .5 * sqrt(.4))));
    same(vg_evaluate__betting_capital(ones, 2, .5, .5), 0); /* the largest is the first, 1 */
    near(vg_evaluate__bounded_p(zeros, 6, .5, .5), 2 / 64.);
    /* an error at the first sample counts like one at any other: 1 in 32, where the bets are not the better bound */
    const double early[32] = {1};
    near(vg_evaluate__bounded_p(early, 32, .5, .5), 2 * vg_evaluate__hoeffding_bentkus(1 / 32., 32, .5));
    assert_int_equal(vg_evaluate__bounded_kind(early, 32, .5, .5), VG_BOUND_HOEFFDING_BENTKUS);
    same(vg_evaluate__bounded_p(ones, 2, .5, .5), 1);
    same(vg_evaluate__bounded_p(zeros, 0, .5, .5), 1);
    assert_int_equal(vg_evaluate__bounded_kind(zeros, 6, .5, .5), VG_BOUND_HOEFFDING_BENTKUS);
    assert_int_equal(vg_evaluate__bounded_kind(zeros, 0, .5, .5), VG_BOUND_HOEFFDING_BENTKUS);
    /* without an error p = 2 (1 - r)^n crosses the level at r = 1 - (level / 2)^(1 / n) */
    double upper = vg_evaluate__bounded_upper(zeros, 6, .1, .05);
    assert_true(fabs(upper - (1 - pow(.05, 1 / 6.))) < 2e-12);
    double bound;
    assert_int_equal(vg_bounds__mean_upper(&bound, zeros, 6, .9), VG_OK);
    same(bound, vg_evaluate__bounded_upper(zeros, 6, 1 - .9, (1 - .9) / 2));
    assert_int_equal(vg_bounds__mean_upper(&bound, losses, 4, 0), VG_ERR_ARGUMENT);
    assert_int_equal(vg_bounds__mean_upper(&bound, losses, 4, 1), VG_ERR_ARGUMENT);
    assert_int_equal(vg_bounds__mean_upper(NULL, losses, 4, .5), VG_ERR_ARGUMENT);
    assert_int_equal(vg_bounds__mean_upper(&bound, NULL, 4, .5), VG_ERR_ARGUMENT);
    assert_int_equal(vg_bounds__mean_upper(&bound, NULL, 0, .5), VG_OK);
    same(bound, 1);
    assert_int_equal(vg_bounds__mean_upper(&bound, losses, 4, .5), VG_OK);
    assert_int_equal(vg_bounds__mean_upper(&bound, (double[]){0, -.1}, 2, .5), VG_ERR_DATA);
    assert_int_equal(vg_bounds__mean_upper(&bound, (double[]){1.1, 0}, 2, .5), VG_ERR_DATA);
    assert_int_equal(vg_bounds__mean_upper(&bound, (double[]){NAN, 0}, 2, .5), VG_ERR_DATA);
}

/* The product of the capital passes 1e200, and falls below 1e-200, many times: the largest is that of a sum of
 * logarithms. */
static void capital_of_many(void **state) {
    (void)state;
    enum { MANY = 6000 };
    static double losses[MANY];
    for (int way = 0; way < 4; way++) {
        double scale = 2 * log(1 / .05) / MANY, sum = .5, squares = .25, mean = .5, log_capital = 0, best = 0;
        for (size_t j = 0; j < MANY; j++) {
            losses[j] = way == 0 ? 0 : way == 1 ? j >= MANY / 2 : way == 2 ? j < MANY / 2 : draw(100) < 20;
            double bet = fmin(1, sqrt(scale * (double)(j + 1) / squares));
            log_capital += log(1 - bet * (losses[j] - .4));
            best = fmax(best, log_capital);
            sum += losses[j];
            mean = sum / (double)(j + 2);
            squares += (losses[j] - mean) * (losses[j] - mean);
        }
        double found = vg_evaluate__betting_capital(losses, MANY, .4, .05);
        if (!(fabs(found - best) <= 1e-10 * (1 + best)))
            fail_msg("way %d: %.17g, expected %.17g", way, found, best);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_decimals),    cmocka_unit_test(thresholds_in_gaps), cmocka_unit_test(grids_of_quantiles),
        cmocka_unit_test(given_grids),       cmocka_unit_test(rows_of_samples),    cmocka_unit_test(numbers_of_samples),
        cmocka_unit_test(samples_set_aside), cmocka_unit_test(nominees),           cmocka_unit_test(bounds_by_hand),
        cmocka_unit_test(capital_of_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
