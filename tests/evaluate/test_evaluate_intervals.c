/* test_evaluate_intervals.c - intervals, the lead of the best measure and the figures of classes, on numbers
 * found by hand or by another program, and at the ends where a method changes. */
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
#include "evaluate/evaluate_internal.h"
#include "evaluate/paired.h"
#include "vargate/evaluate.h"

static void near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-7 * (1 + fabs(expected))) && !(isnan(found) && isnan(expected)) &&
        found != expected)
        fail_msg("%.17g, expected %.17g", found, expected);
}

static void is(vg_estimate e, double low, double high) {
    near(e.low, low);
    near(e.high, high);
}

static void variance(void **state) {
    (void)state;
    const double some[] = {1, 2, 6};
    near(vg_evaluate__variance(some, 3), 7);
    near(vg_evaluate__variance(some, 1), 0);
    near(vg_evaluate__variance(some, 2), 0.5);
}

static vg_estimate interval(double value, vg_interval_kind kind, double events, const double *values, size_t count) {
    double copy[8];
    vg_estimate e = {value, 7, 7};
    memcpy(copy, values, count * sizeof *copy);
    vg_evaluate__interval(&e, &(vg_interval_rule){kind, events, 0, 0}, copy, count, 0.95);
    return e;
}

/* Resamples at 0 count as half the smallest above it, those at 1 as half the distance of the largest below. */
static void transformed(void **state) {
    (void)state;
    const double ends[] = {0, .25, .5, 1}, open[] = {.125, .25, .5, .75}, powers[] = {.125, .25, .5, 2};
    const double same[] = {.5, .5, .5};
    is(interval(.4, VG_INTERVAL_LOGIT, 5, ends, 4), 0.016631365414300124, 0.9633415283644504);
    is(interval(.4, VG_INTERVAL_LOGIT, 5, open, 4), 0.016631365414300124, 0.9633415283644504);
    is(interval(.4, VG_INTERVAL_LOG, 5, powers, 4), 0.014951035194917564, 10.701600117588526);
    is(interval(.4, VG_INTERVAL_LOG, 5, (double[]){0, .25, .5, 2}, 4), 0.014951035194917564, 10.701600117588526);
    is(interval(1.5, VG_INTERVAL_LOG, 5, same, 3), NAN, NAN);                                    /* no spread */
    is(interval(.4, VG_INTERVAL_LOGIT, 5, (double[]){.4, .4 - 1e-16, .4 + 1e-16}, 3), NAN, NAN); /* but rounding */
    assert_true(interval(.4, VG_INTERVAL_LOGIT, 5, (double[]){.4, .4 - 1e-8, .4 + 1e-8}, 3).low < .4);
    is(interval(1, VG_INTERVAL_LOGIT, 5, open, 4), NAN, NAN); /* at an end */
    is(interval(0, VG_INTERVAL_LOGIT, 5, open, 4), NAN, NAN);
    is(interval(0, VG_INTERVAL_LOG, 5, open, 4), NAN, NAN);
    assert_true(interval(1, VG_INTERVAL_LOG, 5, open, 4).low < 1);
    is(interval(.4, VG_INTERVAL_LOG, 2, open, 4), NAN, NAN); /* fewer than three events */
    assert_true(interval(.4, VG_INTERVAL_LOG, 3, open, 4).low < .4);
    is(interval(NAN, VG_INTERVAL_SHARE, 5, open, 4), NAN, NAN);
    is(interval(.4, VG_INTERVAL_NONE, 5, open, 4), NAN, NAN);
    /* just below 1, where the odds are rounded: an interval holds its value */
    for (double v = 1 - 0x1p-53; v > 1 - 0x1p-45; v -= 0x1p-53) {
        vg_estimate e = interval(v, VG_INTERVAL_LOGIT, 5, (double[]){.5, .5 + 1e-9, .5 - 1e-9}, 3);
        assert_true(e.low <= v && e.high >= v);
    }
}

/* Of the best order E-AURC is 0 and not what rounding leaves of a difference; of one inversion it is not. */
static void best_orders(void **state) {
    static uint8_t errors[3000];
    static double u[3000];
    (void)state;
    for (size_t n = 2; n <= 3000; n = n * 5 / 4 + 1)
        for (size_t wrong = 1; wrong < n; wrong = 2 * wrong + n / 7) {
            vg_ranking found;
            vg_measure measure = {"u", u, 1, 0};
            for (size_t r = 0; r < n; r++) {
                u[r] = (double)r;
                errors[r] = r >= n - wrong;
            }
            assert_int_equal(vg_rank(&found, &measure, errors, n, NULL), VG_OK);
            assert_true(found.eaurc.value == 0);
            errors[n - wrong - 1] = 1, errors[n - wrong] = 0;
            assert_int_equal(vg_rank(&found, &measure, errors, n, NULL), VG_OK);
            near(found.eaurc.value * (double)n * (double)(n - wrong), 1);
        }
}

/* Where the risk of the coverage itself is certainly too low, its own variation is left, on both sides. */
static void coverage_ends(void **state) {
    vg_estimate e = {.5, 7, 7};
    const double wide = 1.96 * sqrt(.25 / 80);
    (void)state;
    vg_evaluate__coverage_ends(&e, .5, .5, 1.96, 80);
    is(e, .5 - wide, .5 + wide);
    vg_evaluate__coverage_ends(&e, .6, .4, 1.96, 80);
    is(e, .5 - wide, .5 + wide);
    vg_evaluate__coverage_ends(&e, 0, 1, 1.96, 80);
    is(e, 0, 1);
    vg_evaluate__coverage_ends(&e, .01, .99, 1.96, 1);
    is(e, 0, 1);
    e.value = NAN;
    vg_evaluate__coverage_ends(&e, .1, .2, 1.96, 80);
    is(e, NAN, NAN);
}

/* An area: an upper end with one unseen error, never below that of the resamples; none where there is no interval. */
static void areas(void **state) {
    (void)state;
    double values[] = {.2, .3, .4, .3};
    vg_estimate plain = {.3, 0, 0}, area = {.3, 0, 0}, few = {.3, 0, 0}, full = {.3, 0, 0};
    double copy[4];
    memcpy(copy, values, sizeof copy);
    vg_evaluate__interval(&plain, &(vg_interval_rule){VG_INTERVAL_LOGIT, 5, 0, 0}, copy, 4, 0.95);
    memcpy(copy, values, sizeof copy);
    vg_evaluate__interval(&area, &(vg_interval_rule){VG_INTERVAL_AREA, 5, 0, 0}, copy, 4, 0.95);
    /* without an unseen error both ends are those of the logit, up to how the spread is measured */
    near(area.low, plain.low);
    double delta = log(.3 / .7) + 2.7764451051977934 * sqrt(.02 / 3) / .21,
           logit_end = log(plain.high / (1 - plain.high));
    near(log(area.high / (1 - area.high)), fmax(delta, logit_end));
    memcpy(copy, values, sizeof copy);
    vg_evaluate__interval(&few, &(vg_interval_rule){VG_INTERVAL_AREA, 2, .1, .1}, copy, 4, 0.95);
    is(few, NAN, NAN);
    memcpy(copy, values, sizeof copy);
    vg_evaluate__interval(&full, &(vg_interval_rule){VG_INTERVAL_AREA, 5, .7, 1}, copy, 4, 0.95); /* .3 + .7 is 1 */
    is(full, plain.low, plain.high);
}

static vg_estimate auroc(double value, double variance, double positives, double negatives) {
    vg_estimate e = {value, 7, 7};
    vg_evaluate__auroc_interval(&e, variance, positives, negatives, 0.95);
    return e;
}

static void aurocs(void **state) {
    (void)state;
    is(auroc(1, 0, 10, 10), 0.8002136128811059, 1);
    is(auroc(0, 0, 10, 20), 0, 0.15107864652600006);
    is(auroc(.75, 0, 5, 8), 0.42028944988584804, 0.9195290771060418);
    is(auroc(.75, .0004, 5, 8), 0.42028944988584804, 0.9195290771060418); /* the wider of both */
    is(auroc(.75, .0004, 300, 400), 0.7086217821385837, 0.787266194609622);
    is(auroc(.75, .0004, 199, 400), 0.7061110234096845, 0.7885521603135321);
    is(auroc(.75, .0004, 400, 199), 0.7061110234096845, 0.7885521603135321);
    is(auroc(0, .0004, 300, 400), auroc(0, 0, 300, 400).low, auroc(0, 0, 300, 400).high); /* at an end no odds */
    is(auroc(1, .0004, 300, 400), auroc(1, 0, 300, 400).low, auroc(1, 0, 300, 400).high);
    assert_true(auroc(0, 0, 300, 400).high > .005 && auroc(1, 0, 300, 400).low < .995);
    is(auroc(.75, .0004, .5, 8), NAN, NAN);
    is(auroc(.75, .0004, 8, .5), NAN, NAN);
    is(auroc(NAN, .0004, 8, 8), NAN, NAN);
    assert_true(auroc(.75, .0004, 1, 8).low < .75);
    /* from 200 rows on DeLong's alone */
    vg_estimate e = auroc(.75, 1e-8, 200, 200);
    assert_true(e.low > .7495 && e.high < .7505);
    e = auroc(.75, 1e-8, 199, 200);
    assert_true(e.low < .72 && e.high > .78);
}

/* --- differences and the lead ------------------------------------------------------------------------------------- */
static void differences(void **state) {
    (void)state;
    enum { R = 4 };
    static const double second[R] = {.8, .7, .9, .6}, first[R] = {.6, .65, .7, .7}; /* .2 .05 .2 -.1 */
    double a[R * VG_PAIRED_FIGURES] = {0}, b[R * VG_PAIRED_FIGURES] = {0}, p;
    for (size_t r = 0; r < R; r++) {
        a[r * VG_PAIRED_FIGURES + VG_PAIRED_NLL] = first[r];
        b[r * VG_PAIRED_FIGURES + VG_PAIRED_NLL] = second[r];
    }
    vg_paired_replicates pair = {a, b, R, 0.9};
    vg_estimate d;
    assert_int_equal(vg_evaluate__difference(&d, &p, .12, VG_PAIRED_NLL, &pair), VG_OK);
    near(d.value, .12);
    is(d, -.1 + .15 * .15, .2); /* positions .15 and 2.85 of -.1 .05 .2 .2 */
    near(p, 2. * (1 + 1) / 5);
    assert_int_equal(vg_evaluate__difference(&d, &p, -.2, VG_PAIRED_NLL, &pair), VG_OK);
    is(d, -.2, .2); /* holds its value */
    assert_int_equal(vg_evaluate__difference(&d, &p, .3, VG_PAIRED_NLL, &pair), VG_OK);
    is(d, -.1 + .15 * .15, .3);
    assert_int_equal(vg_evaluate__difference(&d, &p, 0, VG_PAIRED_F1, &pair), VG_OK); /* all 0: both sides count all */
    near(p, 1);
    assert_int_equal(vg_evaluate__difference(&d, &p, NAN, VG_PAIRED_F1, &pair), VG_OK);
    assert_true(isnan(d.value) && isnan(p));
}

static vg_ranking ranks[3];
static vg_evaluation of_areas(double tu, double eu, double gmu) {
    vg_evaluation e = {.struct_size = sizeof e, .measure_count = 3, .measures = ranks, .confidence = 0.9};
    strcpy(ranks[0].name, "tu");
    strcpy(ranks[1].name, "eu");
    strcpy(ranks[2].name, "gmu");
    ranks[0].error_auroc.value = tu;
    ranks[1].error_auroc.value = eu;
    ranks[2].error_auroc.value = gmu;
    return e;
}

static void lead_is(vg_evaluation e, size_t leader, size_t rival, double difference) {
    vg_evaluate__lead_names(&e);
    assert_int_equal(e.lead.leader, leader);
    assert_int_equal(e.lead.rival, rival);
    near(e.lead.difference.value, difference);
    assert_true(isnan(e.lead.p_value) && isnan(e.lead.corrected) && isnan(e.lead.difference.low));
}

static void leaders(void **state) {
    (void)state;
    lead_is(of_areas(.7, .6, .8), 2, 0, .1);
    lead_is(of_areas(.8, .6, .7), 0, 2, .1); /* tu leads: the next best */
    lead_is(of_areas(.8, .7, .6), 0, 1, .1);
    lead_is(of_areas(.8, .8, .8), 0, 3, NAN);           /* all rank alike: there is no rival */
    lead_is(of_areas(.8, .8, .7), 0, 2, .1);            /* one that ranks otherwise */
    lead_is(of_areas(.8, .8 - 2e-12, .7), 0, 1, 2e-12); /* hardly */
    lead_is(of_areas(.8, .8 - 0.5e-12, .7), 0, 2, .1);  /* by rounding alone */
    lead_is(of_areas(.7, .8, .8), 1, 0, .1);
    lead_is(of_areas(NAN, .6, .8), 2, 0, NAN);
    lead_is(of_areas(NAN, NAN, NAN), 3, 3, NAN);
    vg_evaluation e = of_areas(.8, NAN, NAN);
    lead_is(e, 0, 3, NAN);
    e = of_areas(.8, .7, .75);
    strcpy(ranks[0].name, "mi"); /* without tu the second best */
    lead_is(e, 0, 2, .05);
}

/* Differences .2 .05 .2 .05: mean .125, variance .0075, so that p = erfc(.12 / sqrt(2 x .0075)). */
static void resampled_lead(void **state) {
    (void)state;
    double leader[] = {.8, 9, .7, 9, .9, 9, .75, 9}, rival[] = {.6, 9, .65, 9, .7, 9, .7, 9}; /* two apart */
    vg_evaluation e = of_areas(.7, .6, .82);
    e.resamples = 4;
    vg_evaluate__lead_names(&e);
    assert_int_equal(vg_evaluate__lead_resampled(&e, leader, rival, 2), VG_OK);
    near(e.lead.p_value, 0.1658566603429102);
    near(e.lead.corrected, 2 * 0.1658566603429102);
    is(e.lead.difference, .05, .2);
    e = of_areas(.7, .6, .7);
    strcpy(ranks[0].name, "mi");
    strcpy(ranks[2].name, "tu"); /* the usual one is a rival also where it ranks alike */
    e.resamples = 4;
    vg_evaluate__lead_names(&e);
    assert_true(e.lead.leader == 0 && e.lead.rival == 2 && e.lead.difference.value == 0);
    assert_int_equal(vg_evaluate__lead_resampled(&e, leader, leader, 2), VG_OK); /* no difference at all */
    near(e.lead.p_value, 1);
    near(e.lead.corrected, 1);
    e = of_areas(.7, .6, .8);
    e.resamples = 4;
    vg_evaluate__lead_names(&e);
    assert_int_equal(vg_evaluate__lead_resampled(&e, leader, leader, 2), VG_OK); /* resamples without a spread */
    assert_true(isnan(e.lead.p_value) && isnan(e.lead.corrected));
    e.resamples = 1;
    assert_int_equal(vg_evaluate__lead_resampled(&e, leader, rival, 2), VG_OK);
    assert_true(isnan(e.lead.p_value));
    e.resamples = 2; /* .2 and .05 */
    assert_int_equal(vg_evaluate__lead_resampled(&e, leader, rival, 2), VG_OK);
    near(e.lead.p_value, erfc(.1 / sqrt(2 * .01125)));
    rival[2] = NAN;
    assert_int_equal(vg_evaluate__lead_resampled(&e, leader, rival, 2), VG_OK);
    assert_true(isnan(e.lead.p_value));
}

/* A variance of DeLong's: p = erfc(|d| / sqrt(2 v)), three measures make two comparisons. */
static void lead_by_variance(void **state) {
    (void)state;
    vg_evaluation e = of_areas(.7, .6, .8);
    vg_evaluate__lead_names(&e);
    vg_evaluate__lead_of_variance(&e, .0025, 0.95);
    near(e.lead.p_value, erfc(.1 / .05 / sqrt(2)));
    near(e.lead.corrected, 2 * erfc(.1 / .05 / sqrt(2)));
    is(e.lead.difference, .1 - 1.959963984540054 * .05, .1 + 1.959963984540054 * .05);
    e = of_areas(.8, NAN, NAN);
    vg_evaluate__lead_names(&e);
    vg_evaluate__lead_of_variance(&e, .0025, 0.95);
    assert_true(isnan(e.lead.p_value));
}

/* --- classes ------------------------------------------------------------------------------------------------------ */
static void classes(void **state) {
    (void)state;
    vg_class_row rows[3] = {{10, 8, 6, 6. / 8, 6. / 10, 0}, {0, 0, 0, 0, 0, 0}, {5, 0, 0, 0, 0, 0}};
    vg_class_figures out[3];
    size_t abstained[] = {4, 0, 2};
    vg_rule_row rule = {.abstained_by_label = abstained};
    vg_evaluation e = of_areas(.7, .6, .8);
    e.classes = 3;
    e.per_class = rows;
    memset(out, 0, sizeof out);
    e.class_figures = out;
    e.rule = &rule;
    e.rule_count = 1;
    vg_evaluate__class_estimates(&e);
    assert_int_equal(e.class_measure, 2);
    near(out[0].iou, 6. / 12);
    near(out[2].iou, 0);
    assert_true(isnan(out[1].iou) && out[0].abstained == 4 && out[2].abstained == 2);
    assert_true(out[0].recall.value == .6 && isnan(out[0].recall.low) && isnan(out[0].precision.high));
    e.resamples = 20;
    vg_evaluate__class_estimates(&e);
    is(out[0].recall, vg_base__beta_quantile(.05, 6, 5), vg_base__beta_quantile(.95, 7, 4));
    is(out[0].precision, vg_base__beta_quantile(.05, 6, 3), vg_base__beta_quantile(.95, 7, 2));
    is(out[2].recall, 0, vg_base__beta_quantile(.95, 1, 5));
    assert_true(isnan(out[2].precision.low) && isnan(out[1].recall.low));
    e.measure_count = 2; /* without gmu the first */
    vg_evaluate__class_estimates(&e);
    assert_int_equal(e.class_measure, 0);
    e.measure_count = 0;
    out[0].uncertainty = 5;
    vg_evaluate__class_estimates(&e);
    assert_true(e.class_measure == 0 && isnan(out[0].uncertainty));
}

/* --- an evaluation put together by the caller --------------------------------------------------------------------- */
static vg_reliability_bin bins[3];
static vg_evaluation assembled(void) {
    vg_evaluation e = of_areas(.7, .6, .8);
    bins[0] = (vg_reliability_bin){.count = 8, .confidence = .5, .accuracy = .75, .square = .25, .hit = .375};
    bins[1] = (vg_reliability_bin){.confidence = NAN, .accuracy = NAN, .square = NAN, .hit = NAN};
    bins[2] = (vg_reliability_bin){.count = 16, .confidence = .875, .accuracy = .5, .square = .765625, .hit = .4375};
    e.n = e.rows = 24;
    e.classes = 2;
    e.bins = 3;
    e.reliability = bins;
    e.ece.value = (8 * .25 + 16 * .375) / 24;
    e.errors = 10;
    return e;
}

static void refused(vg_evaluation e) { assert_int_equal(vg_evaluation_finish(&e, NULL), VG_ERR_ARGUMENT); }

static void finished(void **state) {
    (void)state;
    vg_evaluation e = assembled();
    const double variance = .0025;
    assert_int_equal(vg_evaluation_finish(&e, NULL), VG_OK);
    assert_int_equal(e.calibration.mce_rows, 16); /* .375 is more than .25 */
    assert_true(e.calibration.p_value >= 0 && e.calibration.p_value <= 1 && e.lead.leader == 2);
    bins[0].accuracy = .875; /* the first of equals */
    assert_int_equal(vg_evaluation_finish(&e, NULL), VG_OK);
    assert_int_equal(e.calibration.mce_rows, 8);
    assert_true(isnan(e.lead.p_value));
    e.lead_variance = &variance;
    assert_int_equal(vg_evaluation_finish(&e, NULL), VG_OK);
    near(e.lead.p_value, erfc(.1 / .05 / sqrt(2)));
    near(e.lead.difference.low, .1 - 1.6448536269514722 * .05);
    e.confidence = 0; /* not given: 95 % */
    assert_int_equal(vg_evaluation_finish(&e, NULL), VG_OK);
    near(e.lead.difference.low, .1 - 1.959963984540054 * .05);
    e.struct_size = offsetof(vg_evaluation, miou); /* the first release's */
    assert_int_equal(vg_evaluation_finish(&e, NULL), VG_OK);
    assert_true(isnan(e.lead.p_value));
    e.struct_size--;
    refused(e);
    assert_int_equal(vg_evaluation_finish(NULL, NULL), VG_ERR_ARGUMENT);
    e = assembled();
    e.reliability = NULL;
    refused(e);
    e = assembled();
    e.bins = 0;
    refused(e);
    e = assembled();
    e.measures = NULL;
    refused(e);
    e.measure_count = 0;
    assert_int_equal(vg_evaluation_finish(&e, NULL), VG_OK);
    e.rule_count = 1;
    refused(e);
    e = assembled();
    e.resamples = 4;
    e.confidence = 1;
    refused(e);
    e.confidence = 0;
    refused(e);
    e = assembled();
    e.task = VG_TASK_MULTILABEL; /* rows of a sample depend on each other: not tested without products */
    assert_int_equal(vg_evaluation_finish(&e, NULL), VG_OK);
    assert_true(isnan(e.calibration.p_value) && e.calibration.mce_rows == 16);
}

/* Two bins of 8 rows, each 2 too confident, with a variance of 8 (7/8 - 49/64) = 0.875 and a covariance of 0.9 times
 * that: the chance of |X| + |Y| >= 4 is 0.0281 (another program's draws), against 0.0050 without the covariance. */
static void dependent_bins(void **state) {
    (void)state;
    enum { BINS = 3 };
    double products[3 * BINS * BINS + BINS] = {0};
    vg_evaluation e = assembled();
    for (size_t b = 0; b < BINS; b += 2)
        bins[b] = (vg_reliability_bin){.count = 8, .confidence = .875, .accuracy = .625, .square = .765625};
    e.task = VG_TASK_MULTILABEL;
    e.n = 8;
    e.rows = 16;
    products[0 * BINS + 2] = products[2 * BINS + 0] = 0.9 * 0.875;
    products[3 * BINS * BINS] = products[3 * BINS * BINS + 2] = 8;
    e.bin_products = products;
    assert_int_equal(vg_evaluation_finish(&e, NULL), VG_OK);
    if (!(fabs(e.calibration.p_value - 0.0281) < 0.006))
        fail_msg("p = %g", e.calibration.p_value);
    near(e.calibration.expected, 2 * sqrt(2 * 0.875 / 3.14159265358979323846) / 16);
}

/* Resamples come in any order. */
static void order_of_resamples(void **state) {
    (void)state;
    enum { COUNT = 5 };
    static const vg_interval_kind kinds[] = {VG_INTERVAL_LOG, VG_INTERVAL_LOGIT, VG_INTERVAL_SHARE, VG_INTERVAL_AREA};
    static const double values[COUNT] = {.25, 0, .5, 1, .75};
    for (size_t k = 0; k < 4; k++) {
        vg_estimate first = interval(.5, kinds[k], 6, values, COUNT);
        for (size_t turn = 1; turn < COUNT; turn++) {
            double turned[COUNT];
            for (size_t i = 0; i < COUNT; i++)
                turned[i] = values[(i + turn) % COUNT];
            vg_estimate e = interval(.5, kinds[k], 6, turned, COUNT);
            near(e.low, first.low);
            near(e.high, first.high);
        }
    }
}

/* From 200 rows on the rarer side the interval of an area follows DeLong's variance alone, however small that is. */
static void areas_of_many_rows(void **state) {
    (void)state;
    for (size_t fewer = 190; fewer < 210; fewer++)
        for (int side = 0; side < 2; side++) {
            vg_estimate e = {0.8, NAN, NAN};
            vg_evaluate__auroc_interval(&e, 1e-10, side ? (double)fewer : 1000, side ? 1000 : (double)fewer, 0.95);
            assert_true(fewer < 200 ? e.high - e.low > 0.01 : e.high - e.low < 0.001);
        }
}

/* At a confidence near 0 an interval is its figure, and the ends are on their sides of it in spite of rounding. */
static void intervals_hold_their_figures(void **state) {
    (void)state;
    static const vg_interval_kind kinds[] = {VG_INTERVAL_LOG, VG_INTERVAL_LOGIT, VG_INTERVAL_SHARE, VG_INTERVAL_AREA};
    for (size_t i = 1; i < 997; i++) {
        vg_estimate area = {(double)i / 997, NAN, NAN};
        vg_evaluate__auroc_interval(&area, 1e-4, 400, 300, 1e-13);
        assert_true(area.low <= area.value && area.value <= area.high && area.high - area.low < 1e-9);
        for (size_t k = 0; k < 4; k++) {
            double v = (double)i / 997, values[] = {v * 0.99, v * 0.995, v};
            vg_estimate e = {v, NAN, NAN};
            vg_evaluate__interval(&e, &(vg_interval_rule){.kind = kinds[k], .events = 50}, values, 3, 1e-13);
            assert_true(e.low <= v && v <= e.high);
            assert_true(kinds[k] == VG_INTERVAL_SHARE || (e.low > v * (1 - 1e-9) && e.high < v * (1 + 1e-9)));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variance),
        cmocka_unit_test(transformed),
        cmocka_unit_test(best_orders),
        cmocka_unit_test(coverage_ends),
        cmocka_unit_test(areas),
        cmocka_unit_test(aurocs),
        cmocka_unit_test(differences),
        cmocka_unit_test(leaders),
        cmocka_unit_test(classes),
        cmocka_unit_test(resampled_lead),
        cmocka_unit_test(lead_by_variance),
        cmocka_unit_test(finished),
        cmocka_unit_test(dependent_bins),
        cmocka_unit_test(order_of_resamples),
        cmocka_unit_test(areas_of_many_rows),
        cmocka_unit_test(intervals_hold_their_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
