/* test_evaluate_risk.c - the risk promise where a sample gives several rows: bounds against formulas written out,
 * losses by sample, thresholds at quantiles of unlabelled values, candidates that share the level, and simulations of
 * how often a promise is broken. VARGATE_LONG_TESTS=1 makes the simulations large (make check-all). */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "evaluate/bounds.h"
#include "evaluate/rule.h"
#include "evaluate/select_internal.h"
#include "vargate/evaluate.h"

static bool is_long(void) { return getenv("VARGATE_LONG_TESTS") != NULL; }

/* --- bounds ------------------------------------------------------------------------------------------------------- */

/* P(Bin(n, r) <= k) by its sum. */
static double binomial_sum(size_t k, size_t n, double r) {
    double term = pow(1 - r, (double)n), sum = term;
    for (size_t i = 0; i < k; i++) {
        term *= (double)(n - i) / (double)(i + 1) * r / (1 - r);
        sum += term;
    }
    return sum;
}

/* The betting p-value by its definition, without rescaling. */
static double betting_reference(const double *losses, size_t n, double r, double level) {
    double capital = 0, best = 0;
    for (size_t j = 0; j < n; j++) {
        double variance = .25, running = .5;
        for (size_t i = 0; i < j; i++) {
            running += losses[i];
            double mean = running / (double)(i + 2);
            variance += (losses[i] - mean) * (losses[i] - mean);
        }
        variance /= (double)(j + 1);
        double bet = sqrt(2 * log(1 / level) / ((double)n * variance));
        capital += log(1 - fmin(bet, 1) * (losses[j] - r));
        best = fmax(best, capital);
    }
    return exp(-best);
}

/* The logarithm of the largest capital, summed in logarithms. */
static double log_capital(const double *losses, size_t n, long double risk, long double tuned) {
    long double sum = .5L, squares = .25L, total = 0, best = 0;
    for (size_t j = 0; j < n; j++) {
        long double bet = sqrtl(2 * logl(1 / tuned) * (long double)(j + 1) / (long double)n / squares);
        total += logl(1 - (bet < 1 ? bet : 1) * (losses[j] - risk));
        best = total > best ? total : best;
        sum += losses[j];
        long double mean = sum / (long double)(j + 2);
        squares += (losses[j] - mean) * (losses[j] - mean);
    }
    return (double)best;
}

/* Samples without loss against 60 %, then samples with a loss of 1: the capital rises far above what a double holds
 * and falls again; then the other way round. */
static void test_large_capital(void **state) {
    enum { N = 3000, LONG = 20000 };
    static double losses[LONG];
    (void)state;
    for (size_t j = 0; j < N; j++)
        losses[j] = j < N / 2 ? 0 : 1;
    double best = log_capital(losses, N, .6L, .05L);
    assert_true(best > 500);
    assert_true(fabs(vg_evaluate__betting_capital(losses, N, .6, .05) / best - 1) < 1e-12);
    for (size_t j = 0; j < N; j++)
        losses[j] = j < N / 4 ? 1 : 0;
    best = log_capital(losses, N, .6L, .05L);
    assert_true(fabs(vg_evaluate__betting_capital(losses, N, .6, .05) - best) < 1e-9 * (1 + best));
    for (size_t j = 0; j < LONG; j++)
        losses[j] = j < 600 ? 0 : 1; /* up to about e^250, and then down below e^-460 */
    best = log_capital(losses, LONG, .6L, 1e-6L);
    assert_true(best > 100 && best < 400);
    assert_true(fabs(vg_evaluate__betting_capital(losses, LONG, .6, 1e-6) / best - 1) < 1e-12);
}

static void test_bounds_by_formula(void **state) {
    (void)state;
    double losses[400];
    vg_random random = vg_random__start(5, 0);
    for (size_t i = 0; i < 400; i++)
        losses[i] = vg_random__unit(&random) < .1 ? (double)vg_random__below(&random, 21) / 20 : 0;
    assert_true(fabs(vg_evaluate__binomial_cdf(3, 200, .03) / binomial_sum(3, 200, .03) - 1) < 1e-11);
    assert_true(fabs(vg_evaluate__binomial_cdf(0, 200, .03) / pow(.97, 200) - 1) < 1e-11);
    /* Hoeffding-Bentkus: 4 in 400 against 3 %, e times the binomial tail is the smaller; far off, Hoeffding's is. */
    double hoeffding = exp(-400 * (.01 * log(.01 / .03) + .99 * log(.99 / .97)));
    double bentkus = exp(1) * binomial_sum(4, 400, .03);
    assert_true(fabs(vg_evaluate__hoeffding_bentkus(.01, 400, .03) / fmin(hoeffding, bentkus) - 1) < 1e-9);
    assert_true(vg_evaluate__hoeffding_bentkus(.03, 400, .03) == 1 && vg_evaluate__hoeffding_bentkus(0, 0, .5) == 1);
    for (size_t n = 1; n <= 400; n = 2 * n + 1) {
        double log_p = -vg_evaluate__betting_capital(losses, n, .08, .01);
        assert_true(fabs(log_p - log(betting_reference(losses, n, .08, .01))) < 1e-9);
    }
    /* The bound is where twice the smaller p-value reaches the level. */
    double bound, sum = 0;
    assert_int_equal(vg_bounds__mean_upper(&bound, losses, 400, .95), VG_OK);
    for (size_t i = 0; i < 400; i++)
        sum += losses[i];
    double p =
        2 * fmin(vg_evaluate__hoeffding_bentkus(sum / 400, 400, bound), betting_reference(losses, 400, bound, .025));
    assert_true(fabs(p - .05) < 1e-6);
    losses[7] = 1.5;
    assert_int_equal(vg_bounds__mean_upper(&bound, losses, 400, .95), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "loss 7 is 1.5"));
}

/* How often the bound lies below the true mean, for losses of several shapes with the same mean. */
static void test_bounds_cover(void **state) {
    (void)state;
    enum { N = 300 };
    double losses[N], bound;
    size_t draws = is_long() ? 4000 : 400;
    for (int shape = 0; shape < 3; shape++) {
        size_t missed = 0;
        for (size_t draw = 0; draw < draws; draw++) {
            vg_random random = vg_random__start(6 + (uint64_t)shape, draw);
            for (size_t i = 0; i < N; i++) {
                double v = vg_random__unit(&random);
                losses[i] = shape == 0 ? v < .05 : shape == 1 ? (v < .25 ? .2 : 0) : v / 10; /* means .05 */
            }
            assert_int_equal(vg_bounds__mean_upper(&bound, losses, N, .95), VG_OK);
            missed += bound < .05;
        }
        assert_true((double)missed <= .05 * (double)draws + 3 * sqrt(.05 * .95 * (double)draws));
    }
}

/* --- units -------------------------------------------------------------------------------------------------------- */
static void test_losses_by_sample(void **state) {
    (void)state;
    /* Four samples of three rows; t = .5 keeps 2, 1, 0 and 3 rows, with 1, 1, 0 and 1 errors: losses 1/2, 1, none, 1/3.
     */
    const double u[12] = {.1, .2, .9, .4, .6, .7, .8, .8, .9, .1, .2, .3};
    const uint8_t errors[12] = {1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1};
    const double grid[] = {.5};
    vg_measure measure = {"u", u, 1, 0};
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    o.target_risk = .9;
    o.grid = grid;
    o.grid_count = 1;
    o.rows_per_sample = 3;
    vg_selection s = VG_SELECTION_INIT, by_index = VG_SELECTION_INIT;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 12, &o), VG_OK);
    assert_int_equal(s.rows, 12);
    assert_int_equal(s.samples, 4);
    assert_int_equal(s.answered, 3);
    assert_int_equal(s.kept, 6);
    assert_int_equal(s.errors, 3);
    assert_true(fabs(s.risk - (.5 + 1 + 1. / 3) / 3) < 1e-15);
    assert_true(s.bound != VG_BOUND_CLOPPER_PEARSON && s.source == VG_GRID_GIVEN);
    /* The same rows in another order, with the sample of each given. */
    const size_t mixed[12] = {11, 0, 4, 8, 1, 5, 2, 9, 3, 6, 10, 7};
    double v[12];
    uint8_t e[12];
    size_t sample[12];
    for (size_t i = 0; i < 12; i++) {
        v[i] = u[mixed[i]];
        e[i] = errors[mixed[i]];
        sample[i] = mixed[i] / 3;
    }
    vg_measure other = {"u", v, 1, 0};
    o.rows_per_sample = 0;
    o.sample_of_row = sample;
    assert_int_equal(vg_select_threshold(&by_index, &other, e, 12, &o), VG_OK);
    assert_memory_equal(&s, &by_index, sizeof s);
    /* One row per sample, numbered with gaps: Clopper-Pearson. */
    const size_t apart[3] = {0, 2, 1}, twice[3] = {0, 0, 2}, beyond[3] = {0, 3, 1};
    o.sample_of_row = apart;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 3, &o), VG_OK);
    assert_int_equal(s.bound, VG_BOUND_CLOPPER_PEARSON);
    o.sample_of_row = twice;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 3, &o), VG_OK);
    assert_true(s.bound != VG_BOUND_CLOPPER_PEARSON && s.answered == 1);
    o.sample_of_row = beyond;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 3, &o), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "row 1 belongs to sample 3"));
    o.rows_per_sample = 2;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 3, &o), VG_ERR_ARGUMENT);
    o.sample_of_row = NULL;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 3, &o), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "3 rows are not a multiple of 2"));
}

/* --- candidates --------------------------------------------------------------------------------------------------- */
static void test_quantiles(void **state) {
    (void)state;
    enum { N = 4000 };
    static double values[N];
    vg_threshold_grid grid;
    for (size_t i = 0; i < N; i++)
        values[i] = ((double)(i * 7919 % N) + .5) / N;
    assert_int_equal(vg_evaluate__quantile_grid(&grid, values, N, 40, false), VG_OK);
    assert_int_equal(grid.count, 40);
    for (size_t j = 0; j < 40; j++) {
        char name[VG_NAME_SIZE];
        vg_k_name(name, grid.threshold[j]);
        assert_true(fabs(grid.share[j] - (double)(j + 1) / 40) <= .1 / 40 + 1e-9 || j == 39);
        assert_true(strlen(name) <= 5); /* "0.075": no digit that does not matter */
    }
    assert_true(grid.share[39] == 1);
    vg_evaluate__grid_free(&grid);
    /* The rule: a third of infinite ratios, a third of 0, the rest up to 1e9. Ks are positive, finite and rise without
     * a gap; the first keeps the infinite ones alone, the last everything that can be kept. */
    for (size_t i = 0; i < 3000; i++)
        values[i] = i < 1000 ? -(double)INFINITY : i < 2000 ? -pow(10, (double)(i - 1000) / 111) : 0;
    assert_int_equal(vg_evaluate__quantile_grid(&grid, values, 3000, 40, true), VG_OK);
    assert_true(grid.count > 15);
    for (size_t j = 0; j < grid.count; j++)
        assert_true(grid.threshold[j] < 0 && isfinite(grid.threshold[j]));
    assert_true(fabs(grid.share[0] - 1. / 3) < 1e-9 && fabs(grid.share[grid.count - 1] - 2. / 3) < 1e-9);
    vg_evaluate__grid_free(&grid);
    for (size_t i = 0; i < 10; i++)
        values[i] = i < 5 ? -(double)INFINITY : 0;
    assert_int_equal(vg_evaluate__quantile_grid(&grid, values, 10, 40, true), VG_OK);
    assert_true(grid.count == 1 && grid.threshold[0] < 0 && isfinite(grid.threshold[0]));
    vg_evaluate__grid_free(&grid);
    memset(values, 0, sizeof values);
    assert_int_equal(vg_evaluate__quantile_grid(&grid, values, 10, 40, true), VG_OK);
    assert_int_equal(grid.count, 0);
    vg_evaluate__grid_free(&grid);
    /* Equal and neighbouring values leave room for a threshold all the same. */
    values[0] = 1, values[1] = nextafter(1, 2);
    assert_int_equal(vg_evaluate__quantile_grid(&grid, values, 2, 2, false), VG_OK);
    assert_true(grid.count == 2 && grid.threshold[0] == nextafter(1, 2) && grid.threshold[1] > nextafter(1, 2));
    vg_evaluate__grid_free(&grid);
}

/* Ratios far beyond 10,000, and unlabelled ones to place the ks. */
static void test_large_ratios(void **state) {
    (void)state;
    enum { N = 3000 };
    static double ratio[N], other[N];
    static uint8_t errors[N];
    vg_random random = vg_random__start(8, 0);
    for (size_t i = 0; i < N; i++) {
        double u = vg_random__unit(&random);
        ratio[i] = pow(10, 3 + 4 * (1 - u)); /* 1e3 to 1e7 */
        errors[i] = vg_random__unit(&random) < (u < .7 ? .001 : .2);
        other[i] = pow(10, 3 + 4 * vg_random__unit(&random));
    }
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    o.target_risk = .01;
    o.unlabelled = other;
    o.unlabelled_rows = N;
    vg_selection s = VG_SELECTION_INIT, split = VG_SELECTION_INIT, same = VG_SELECTION_INIT;
    assert_int_equal(vg_select_k(&s, ratio, errors, N, &o), VG_OK);
    assert_true(s.met && s.threshold > 10000 && s.coverage > .6 && s.coverage < .75);
    assert_int_equal(s.source, VG_GRID_UNLABELLED);
    assert_true(s.rows == N && s.set_aside == 0 && s.grid_count == 40 && s.starts == 3 && s.candidates == 1);
    o.unlabelled = NULL;
    assert_int_equal(vg_select_k(&split, ratio, errors, N, &o), VG_OK);
    assert_true(split.met && split.source == VG_GRID_SET_ASIDE && split.set_aside == 600 && split.rows == N - 600);
    /* The validation values handed in as unlabelled ones are not independent of themselves: samples are set aside. */
    o.unlabelled = ratio;
    assert_int_equal(vg_select_k(&same, ratio, errors, N, &o), VG_OK);
    assert_memory_equal(&same, &split, sizeof same);
    other[5] = NAN;
    o.unlabelled = other;
    assert_int_equal(vg_select_k(&s, ratio, errors, N, &o), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "unlabelled value 5"));
}

/* Members that cannot decide between two classes anywhere: no k keeps anything, and that is said. */
static void test_no_margin(void **state) {
    (void)state;
    double ratio[100] = {0};
    uint8_t errors[100] = {0};
    char reason[200];
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    vg_selection s = VG_SELECTION_INIT;
    o.target_risk = .1;
    assert_int_equal(vg_select_k(&s, ratio, errors, 100, &o), VG_OK);
    assert_true(!s.met && s.kept == 0 && s.threshold > 0 && s.risk_bound == 1 && isnan(s.risk));
    vg_selection_reason(reason, sizeof reason, &s);
    assert_non_null(strstr(reason, "every sample has a margin of 0"));
    /* A loose target keeps everything, values beyond those that placed the thresholds included. */
    for (size_t i = 0; i < 100; i++)
        ratio[i] = 1 + (double)i;
    assert_int_equal(vg_select_k(&s, ratio, errors, 100, &o), VG_OK);
    assert_true(s.met && s.threshold < .1 && s.coverage == 1);
    vg_measure measure = {"u", ratio, 1, 0};
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 100, &o), VG_OK);
    assert_true(s.met && s.threshold > 100 && isfinite(s.threshold));
}

/* Results for many targets are those of one at a time. */
static void test_targets_at_once(void **state) {
    (void)state;
    enum { N = 2000 };
    static double ratio[N];
    static uint8_t errors[N];
    vg_random random = vg_random__start(9, 0);
    for (size_t i = 0; i < N; i++) {
        double u = vg_random__unit(&random);
        ratio[i] = 1 / (u + 1e-9);
        errors[i] = vg_random__unit(&random) < u * u / 4;
    }
    const double targets[] = {.002, .01, .03, .2};
    vg_selection all[4] = {VG_SELECTION_INIT, VG_SELECTION_INIT, VG_SELECTION_INIT, VG_SELECTION_INIT};
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    assert_int_equal(vg_select__k_targets(all, targets, 4, ratio, errors, N, &o), VG_OK);
    for (size_t i = 0; i < 4; i++) {
        vg_selection one = VG_SELECTION_INIT;
        o.target_risk = targets[i];
        assert_int_equal(vg_select_k(&one, ratio, errors, N, &o), VG_OK);
        assert_memory_equal(&all[i], &one, sizeof one);
    }
    assert_true(!all[0].met && all[2].met && all[3].met);
}

/* An older caller's smaller structs: missing options take their defaults, missing results are not written. */
static void test_older_callers(void **state) {
    (void)state;
    double u[300];
    uint8_t errors[300] = {0};
    for (size_t i = 0; i < 300; i++)
        u[i] = (double)i;
    vg_measure measure = {"u", u, 1, 0};
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    vg_selection s = VG_SELECTION_INIT, full = VG_SELECTION_INIT;
    o.target_risk = .05;
    assert_int_equal(vg_select_threshold(&full, &measure, errors, 300, &o), VG_OK);
    o.struct_size = offsetof(vg_select_options, rows_per_sample);
    o.rows_per_sample = 7; /* not seen */
    s.struct_size = offsetof(vg_selection, samples);
    s.samples = 12345;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 300, &o), VG_OK);
    assert_true(s.met && s.threshold == full.threshold && s.samples == 12345);
    assert_int_equal(s.struct_size, offsetof(vg_selection, samples));
    o.struct_size = 8;
    assert_int_equal(vg_select_threshold(&s, &measure, errors, 300, &o), VG_ERR_ARGUMENT);
}

/* --- simulations -------------------------------------------------------------------------------------------------- */

/* Samples of `labels` rows, values uniform on (0, 1) and independent. A row's error has chance `flat`, or u^2 / 2 for
 * flat 0, decided by a draw that the row shares with its whole sample with probability `shared`. Rows of a sample are
 * exchangeable, so a kept row is an error with chance flat, or t^2 / 6, whatever its sample keeps: that is the risk at
 * t. */
typedef struct world {
    size_t samples, labels;
    double shared, flat;
    bool rule;      /* by k: ratio = 1 / u */
    bool by_sample; /* the unit is given */
    bool unlabelled;
} world;

typedef struct tally_of_promises {
    size_t draws, promised, broken;
    double coverage; /* mean, of the promised */
} tally_of_promises;

static void draw_world(double *values, double *other, uint8_t *errors, const world *w, uint64_t stream) {
    vg_random random = vg_random__start(123, stream);
    for (size_t i = 0; i < w->samples; i++) {
        double common = vg_random__unit(&random);
        for (size_t c = 0; c < w->labels; c++) {
            double u = vg_random__unit(&random), chance = w->flat > 0 ? w->flat : u * u / 2;
            double own = vg_random__unit(&random), which = vg_random__unit(&random);
            size_t row = i * w->labels + c;
            values[row] = w->rule ? 1 / (u + 1e-12) : u;
            errors[row] = (which < w->shared ? common : own) < chance;
        }
    }
    for (size_t i = 0; i < 1000; i++) {
        double u = vg_random__unit(&random);
        other[i] = w->rule ? 1 / (u + 1e-12) : u;
    }
}

static tally_of_promises simulate(const world *w, double target, size_t draws) {
    size_t rows = w->samples * w->labels;
    double *values = malloc(rows * sizeof *values), other[1000];
    uint8_t *errors = malloc(rows);
    tally_of_promises t = {.draws = draws};
    assert_true(values && errors);
    for (size_t draw = 0; draw < draws; draw++) {
        draw_world(values, other, errors, w, draw);
        vg_measure measure = {"u", values, 1, 0};
        vg_select_options o = VG_SELECT_OPTIONS_INIT;
        o.target_risk = target;
        o.rows_per_sample = w->by_sample ? w->labels : 1;
        o.unlabelled = w->unlabelled ? other : NULL;
        o.unlabelled_rows = w->unlabelled ? 1000 : 0;
        vg_selection s = VG_SELECTION_INIT;
        assert_int_equal(w->rule ? vg_select_k(&s, values, errors, rows, &o)
                                 : vg_select_threshold(&s, &measure, errors, rows, &o),
                         VG_OK);
        if (!s.met)
            continue;
        double at = w->rule ? 1 / s.threshold : s.threshold, reach = at > 1 ? 1 : at;
        t.promised++;
        t.broken += (w->flat > 0 ? w->flat : reach * reach / 6) > target;
        t.coverage += s.coverage;
    }
    t.coverage /= t.promised ? (double)t.promised : 1;
    free(values);
    free(errors);
    print_message("n %zu, %zu labels, shared %g, risk %g: %zu of %zu promised, %zu broken (%.2f %%), coverage %.3f\n",
                  w->samples, w->labels, w->shared, w->flat, t.promised, draws, t.broken,
                  100 * (double)t.broken / (double)draws, t.coverage);
    return t;
}

/* At most 5 % and three standard deviations of the count. */
static void assert_holds(tally_of_promises t) {
    double draws = (double)t.draws;
    assert_true((double)t.broken <= .05 * draws + 3 * sqrt(.05 * .95 * draws));
}

static void test_multilabel_promises(void **state) {
    (void)state;
    size_t draws = is_long() ? 2000 : 150;
    for (int unlabelled = 0; unlabelled < 2; unlabelled++) {
        for (int half = 0; half < 2; half++) {
            world w = {500, 20, half ? .5 : 1, .052, false, true, unlabelled != 0};
            assert_holds(simulate(&w, .05, draws));
            w.flat = 0;
            tally_of_promises t = simulate(&w, .05, draws);
            assert_holds(t);
            assert_true(t.promised > draws * 8 / 10 && t.coverage > .35 && t.coverage < .548);
            w.rule = true;
            assert_holds(simulate(&w, .05, draws));
        }
    }
    /* Rows taken for the unit break it far more often: this is what the unit is for. */
    world rows = {500, 20, 1, .052, false, false, true};
    tally_of_promises wrong = simulate(&rows, .05, draws);
    assert_true((double)wrong.broken > .1 * (double)draws);
}

static void test_many_labels_promises(void **state) {
    (void)state;
    size_t draws = is_long() ? 300 : 20;
    for (int half = 0; half < 2; half++) {
        world w = {2000, 80, half ? .5 : 1, .0505, false, true, true};
        tally_of_promises t = simulate(&w, .05, draws);
        assert_holds(t);
        w.flat = 0;
        t = simulate(&w, .05, draws);
        assert_holds(t);
        assert_true(t.promised == draws && t.coverage > .45 && t.coverage < .548);
    }
}

static void test_multiclass_promises(void **state) {
    (void)state;
    size_t draws = is_long() ? 3000 : 300;
    for (int unlabelled = 0; unlabelled < 2; unlabelled++) {
        for (int rule = 0; rule < 2; rule++) {
            world w = {1000, 1, 0, .0505, rule != 0, true, unlabelled != 0};
            assert_holds(simulate(&w, .05, draws));
            w.flat = 0;
            tally_of_promises t = simulate(&w, .05, draws);
            assert_holds(t);
            assert_true(t.promised > draws * 8 / 10 && t.coverage > .33 && t.coverage < .548);
        }
    }
}

/* Eight uninformative measures, a risk just above the target: the level accounts for picking the best of them. */
static void test_candidates_share_the_level(void **state) {
    (void)state;
    enum { N = 1000, MEASURES = 8 };
    static double values[MEASURES][N], other[MEASURES][N];
    static uint8_t errors[N];
    size_t draws = is_long() ? 3000 : 250, broken = 0, unpaid = 0, chosen;
    for (size_t draw = 0; draw < draws; draw++) {
        vg_random random = vg_random__start(321, draw);
        vg_candidate list[MEASURES] = {{.rule = 0}};
        for (size_t m = 0; m < MEASURES; m++) {
            for (size_t i = 0; i < N; i++) {
                values[m][i] = vg_random__unit(&random);
                other[m][i] = vg_random__unit(&random);
            }
            list[m] = (vg_candidate){
                .measure = {"u", values[m], 1, 0}, .errors = errors, .unlabelled = other[m], .unlabelled_rows = N};
        }
        for (size_t i = 0; i < N; i++)
            errors[i] = vg_random__unit(&random) < .0505;
        vg_select_options o = VG_SELECT_OPTIONS_INIT;
        vg_selection s = VG_SELECTION_INIT;
        o.target_risk = .05;
        assert_int_equal(vg_select_among(&s, &chosen, list, MEASURES, N, &o), VG_OK);
        assert_true(s.candidates == MEASURES && s.tested >= 3 * MEASURES && chosen < MEASURES);
        assert_true(s.level <= .05 / MEASURES + 1e-15);
        broken += s.met != 0;
        bool any = false;
        for (size_t m = 0; m < MEASURES; m++) {
            o.unlabelled = other[m];
            o.unlabelled_rows = N;
            assert_int_equal(vg_select_threshold(&s, &list[m].measure, errors, N, &o), VG_OK);
            any = any || s.met;
        }
        unpaid += any;
    }
    tally_of_promises t = {.draws = draws, .broken = broken};
    assert_holds(t);
    assert_true(unpaid > 2 * broken && (double)unpaid > .07 * (double)draws);
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    vg_selection s = VG_SELECTION_INIT;
    o.target_coverage = .5;
    vg_candidate two[2] = {{.measure = {"u", values[0], 1, 0}, .errors = errors},
                           {.measure = {"v", values[1], 1, 0}, .errors = errors}};
    assert_int_equal(vg_select_among(&s, &chosen, two, 2, N, &o), VG_ERR_ARGUMENT);
    assert_int_equal(vg_select_among(&s, &chosen, two, 0, N, &o), VG_ERR_ARGUMENT);
    /* Of two measures the one that detects errors is chosen. */
    o.target_coverage = 0;
    o.target_risk = .03;
    for (size_t i = 0; i < N; i++)
        values[1][i] = errors[i] ? .9 + values[1][i] / 10 : values[1][i] * .95;
    assert_int_equal(vg_select_among(&s, &chosen, two, 2, N, &o), VG_OK);
    assert_true(s.met && chosen == 1 && s.coverage > .7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds_by_formula),
        cmocka_unit_test(test_large_capital),
        cmocka_unit_test(test_bounds_cover),
        cmocka_unit_test(test_losses_by_sample),
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_large_ratios),
        cmocka_unit_test(test_no_margin),
        cmocka_unit_test(test_targets_at_once),
        cmocka_unit_test(test_older_callers),
        cmocka_unit_test(test_multilabel_promises),
        cmocka_unit_test(test_many_labels_promises),
        cmocka_unit_test(test_multiclass_promises),
        cmocka_unit_test(test_candidates_share_the_level),
    };
    return cmocka_run_group_tests_name("evaluate: risk", tests, NULL, NULL);
}
