/* test_evaluate_calibration.c - expected ECE, p-value, debiased ECE and the ECE's interval against labels redrawn row
 * by row; the notes that are printed with them. */
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
#include "vargate/evaluate.h"

enum { MOST = 4000, LABELS = 6 };

/* Two classes; p: confidence of class 0 (at least 1/2), right: whether the label is 0. Kept: the evaluation, the
 * caller's. */
static vg_evaluation *of_rows(const double *p, const uint8_t *right, size_t n, size_t bins, size_t resamples) {
    static double mean[2 * MOST];
    static int64_t labels[MOST];
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    vg_evaluate_options how = VG_EVALUATE_OPTIONS_INIT;
    vg_tally *tally;
    vg_evaluation *e;
    for (size_t i = 0; i < n; i++) {
        mean[2 * i] = p[i];
        mean[2 * i + 1] = 1 - p[i];
        labels[i] = !right[i];
    }
    options.bins = bins;
    options.bootstrap = resamples > 0;
    how.resamples = resamples;
    how.threads = 1;
    assert_int_equal(vg_tally_new(&tally, 2, &options), VG_OK);
    assert_int_equal(vg_tally_feed(tally, mean, NULL, labels, n), VG_OK);
    assert_int_equal(vg_evaluate(&e, tally, NULL, 0, &how), VG_OK);
    vg_tally_free(tally);
    return e;
}

static double ece_of(const double *p, const uint8_t *right, size_t n, size_t bins) {
    double gap[200] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++) {
        size_t b = (size_t)(p[i] * (double)bins);
        gap[b < bins ? b : bins - 1] += p[i] - right[i];
    }
    for (size_t b = 0; b < bins; b++)
        sum += fabs(gap[b]);
    return sum / (double)n;
}

/* Confidences 1 - v^power / 2. */
static void confidences(double *p, size_t n, double power, vg_random *random) {
    for (size_t i = 0; i < n; i++)
        p[i] = 1 - .5 * pow(vg_random__unit(random), power);
}

static void labels_from(uint8_t *right, const double *p, size_t n, double lower, vg_random *random) {
    for (size_t i = 0; i < n; i++)
        right[i] = vg_random__unit(random) < p[i] - lower;
}

/* Expected ECE and p-value against 2,000 redraws of the labels from the confidences: many and few rows per bin,
 * confident models. */
static void test_redrawn(void **state) {
    (void)state;
    static const struct {
        size_t n, bins;
        double power, lower;
    } cases[] = {{1000, 15, 2, 0},     {1000, 15, 2, .02}, {60, 15, 3, .05},
                 {4000, 15, 20, .004}, {300, 100, 1, 0},   {1000, 200, 1, .03}};
    static double p[MOST];
    static uint8_t right[MOST], again[MOST];
    enum { REDRAWS = 2000 };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        vg_random random = vg_random__start(90, c);
        size_t n = cases[c].n, bins = cases[c].bins, reached = 0;
        double sum = 0, square = 0;
        confidences(p, n, cases[c].power, &random);
        labels_from(right, p, n, cases[c].lower, &random);
        vg_evaluation *e = of_rows(p, right, n, bins, 0);
        assert_true(fabs(e->ece.value - ece_of(p, right, n, bins)) < 1e-12);
        for (size_t r = 0; r < REDRAWS; r++) {
            labels_from(again, p, n, 0, &random);
            double value = ece_of(p, again, n, bins);
            sum += value;
            square += value * value;
            reached += value >= e->ece.value * (1 - 1e-12);
        }
        double mean = sum / REDRAWS, spread = sqrt(square / REDRAWS - mean * mean), share = (double)reached / REDRAWS;
        double error = 4 * sqrt(share * (1 - share) / REDRAWS) +
                       .015; /* of 2,000 redraws, and what the bins' binomials approximate */
        if (fabs(e->calibration.expected - mean) > .02 * mean + 4 * spread / sqrt(REDRAWS))
            fail_msg("case %zu: expected ECE %g, redrawn %g", c, e->calibration.expected, mean);
        if (fabs(e->calibration.p_value - share) > error)
            fail_msg("case %zu: p-value %g, redrawn %g", c, e->calibration.p_value, share);
        vg_evaluation_free(e);
    }
}

/* Under perfect calibration the p-value is below .05 and .5 about as often as it should; under a shift of .1 nearly
 * always. */
static void test_level(void **state) {
    (void)state;
    enum { SETS = 200, N = 500 };
    static double p[N];
    static uint8_t right[N];
    size_t low = 0, half = 0, found = 0;
    vg_random random = vg_random__start(91, 0);
    for (size_t s = 0; s < SETS; s++) {
        confidences(p, N, 4, &random);
        labels_from(right, p, N, 0, &random);
        vg_evaluation *e = of_rows(p, right, N, 15, 0);
        low += e->calibration.p_value < .05;
        half += e->calibration.p_value < .5;
        vg_evaluation_free(e);
        labels_from(right, p, N, .1, &random);
        e = of_rows(p, right, N, 15, 0);
        found += e->calibration.p_value < .05;
        vg_evaluation_free(e);
    }
    assert_true(low >= SETS * .015 && low <= SETS * .1);
    assert_true(half >= SETS * .4 && half <= SETS * .6);
    assert_true(found >= SETS * .97);
}

/* The debiased ECE is nearer the truth than the ECE where the model is calibrated or nearly so, and no worse than a
 * tenth below it where it is far off. */
static void test_debiased(void **state) {
    (void)state;
    enum { SETS = 100, N = 1000 };
    static double p[N];
    static uint8_t right[N];
    static const double lower[] = {0, .01, .2};
    for (size_t c = 0; c < 3; c++) {
        double plain = 0, debiased = 0;
        vg_random random = vg_random__start(92, c);
        for (size_t s = 0; s < SETS; s++) {
            confidences(p, N, 3, &random);
            labels_from(right, p, N, lower[c], &random);
            vg_evaluation *e = of_rows(p, right, N, 15, 0);
            plain += e->ece.value / SETS;
            debiased += e->calibration.debiased / SETS;
            assert_true(e->calibration.debiased >= 0 && e->calibration.debiased <= e->ece.value);
            vg_evaluation_free(e);
        }
        assert_true(fabs(debiased - lower[c]) < fabs(plain - lower[c]) || c == 2);
        assert_true(debiased > .9 * lower[c] - .005 && debiased < lower[c] + .008);
        assert_true(c > 0 || plain > 3 * debiased);
    }
}

/* Multilabel rows of a sample that are right or wrong together: with rows taken as independent the test would reject
 * calibrated models in most sets. */
static void test_samples(void **state) {
    (void)state;
    enum { SETS = 150, N = 1000 };
    static double mean[N * LABELS];
    static int64_t labels[N * LABELS];
    size_t low = 0;
    double expected = 0, found = 0;
    vg_random random = vg_random__start(93, 0);
    for (size_t s = 0; s < SETS; s++) {
        for (size_t i = 0; i < N; i++) {
            double common = vg_random__unit(&random), level = 1 - .5 * vg_random__unit(&random);
            for (size_t c = 0; c < LABELS; c++) {
                double p = level - .02 * (level - .5) * (double)c;
                mean[i * LABELS + c] = p;
                labels[i * LABELS + c] = common < p;
            }
        }
        vg_tally_options options = VG_TALLY_OPTIONS_INIT;
        options.task = VG_TASK_MULTILABEL;
        vg_tally *tally;
        vg_evaluation *e;
        assert_int_equal(vg_tally_new(&tally, LABELS, &options), VG_OK);
        assert_int_equal(vg_tally_feed(tally, mean, NULL, labels, N), VG_OK);
        assert_int_equal(vg_evaluate(&e, tally, NULL, 0, NULL), VG_OK);
        low += e->calibration.p_value < .05;
        expected += e->calibration.expected / SETS;
        found += e->ece.value / SETS;
        vg_evaluation_free(e);
        vg_tally_free(tally);
    }
    if (low > SETS * .09)
        fail_msg("p < .05 in %zu of %d calibrated sets; ECE %g, expected %g", low, SETS, found, expected);
    assert_true(fabs(expected - found) < .06 * found);
}

/* One bin, 100 rows of confidence .8, 70 right: gap 10, variance 100 (.8 .2) = 16 implied, 21 seen; standard error
 * sqrt(21). */
static void test_by_hand(void **state) {
    (void)state;
    double p[100];
    uint8_t right[100];
    for (size_t i = 0; i < 100; i++) {
        p[i] = .8;
        right[i] = i < 70;
    }
    vg_evaluation *e = of_rows(p, right, 100, 15, 8);
    double s = sqrt(21), m = 10 / s - 1;
    double excess = 2 * s * (exp(-m * m / 2) / sqrt(2 * acos(-1)) - m * erfc(m / sqrt(2)) / 2),
           debiased = (10 - excess) / 100;
    assert_true(fabs(e->calibration.debiased - debiased) < 1e-12);
    assert_true(fabs(e->ece.low - (debiased - 1.959963984540054 * s / 100)) < 1e-12);
    assert_true(fabs(e->ece.high - (.1 + 1.959963984540054 * s / 100)) < 1e-12);
    /* E|X - 80|, X binomial of 100 and .8: 2 * 81 C(100, 81) .8^81 .2^20 (De Moivre) */
    double moivre = 2 * exp(log(81) + lgamma(101) - lgamma(82) - lgamma(20) + 81 * log(.8) + 20 * log(.2));
    assert_true(fabs(e->calibration.expected - moivre / 100) < 1e-12);
    /* P(|X - 80| >= 10) = .0165 */
    assert_true(fabs(e->calibration.p_value - .0165) < .004);
    assert_int_equal(e->calibration.mce_rows, 100);
    assert_int_equal(e->errors, 30);
    vg_evaluation_free(e);
}

/* Two bins: .8 with 50 of 100 right (gap 30, squares 34, within the bin 25) and .6 with 60 of 100 (0, 24, 24). The
 * sum of the gaps varies by 58 - 30^2 / 200 = 53.5, more than the 49 within the bins. */
static void test_two_bins(void **state) {
    (void)state;
    double p[200];
    uint8_t right[200];
    for (size_t i = 0; i < 200; i++) {
        p[i] = i < 100 ? .8 : .6;
        right[i] = i < 100 ? i < 50 : i < 160;
    }
    vg_evaluation *e = of_rows(p, right, 200, 15, 8);
    assert_true(fabs(e->ece.value - .15) < 1e-12);
    assert_true(fabs(e->ece.high - (.15 + 1.959963984540054 * sqrt(53.5) / 200)) < 1e-12);
    vg_evaluation_free(e);
}

/* More bins than are drawn one by one: the sum of their gaps is taken as normal. Calibrated confidences stay below, and
 * confidences that are .2 too high far above, what is expected of them; the level is that of the normal tail. */
static void test_many_bins(void **state) {
    (void)state;
    enum { SETS = 200, N = 3000, BINS = 400 };
    static double p[N];
    static uint8_t right[N];
    size_t low = 0;
    vg_random random = vg_random__start(95, 0);
    for (size_t s = 0; s < SETS; s++) {
        confidences(p, N, 1, &random);
        labels_from(right, p, N, s ? 0 : .2, &random);
        vg_evaluation *e = of_rows(p, right, N, BINS, 0);
        assert_true(e->calibration.p_value > 0 && e->calibration.p_value < 1);
        assert_true(s || e->calibration.p_value < 1e-9);
        low += e->calibration.p_value < .1;
        vg_evaluation_free(e);
    }
    assert_true(low > SETS * .04 && low < SETS * .17);
}

/* One row in each of many bins, of confidence close to 1/2: what is expected of a gap is 2 p (1 - p), and its variance
 * p (1 - p) less the square of that. */
static void test_a_row_in_each_bin(void **state) {
    (void)state;
    enum { N = 300, BINS = 10000 };
    static double p[N];
    static uint8_t right[N];
    double expected = 0, variance = 0, sum = 0;
    for (size_t i = 0; i < N; i++) {
        p[i] = 0.5 + ((double)i + 0.5) / BINS;
        right[i] = i % 7 < 3;
        double mean = 2 * p[i] * (1 - p[i]);
        expected += mean;
        variance += p[i] * (1 - p[i]) - mean * mean;
        sum += fabs(p[i] - right[i]);
    }
    assert_true(variance > 0 && variance < 1);
    vg_evaluation *e = of_rows(p, right, N, BINS, 0);
    assert_true(fabs(e->calibration.p_value - 0.5 * erfc((sum - expected) / sqrt(2 * variance))) < 1e-6);
    vg_evaluation_free(e);
}

/* 60 samples of 3 labels, each present with probability .8: all three in `hits` samples, none in the others. */
static vg_evaluation *of_triples(size_t hits, size_t bins) {
    static double mean[180];
    static int64_t labels[180];
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    vg_evaluate_options how = VG_EVALUATE_OPTIONS_INIT;
    vg_tally *tally;
    vg_evaluation *e;
    for (size_t i = 0; i < 180; i++) {
        mean[i] = .8;
        labels[i] = i / 3 < hits;
    }
    options.task = VG_TASK_MULTILABEL;
    options.bins = bins;
    options.bootstrap = 1;
    how.resamples = 8;
    assert_int_equal(vg_tally_new(&tally, 3, &options), VG_OK);
    assert_int_equal(vg_tally_feed(tally, mean, NULL, labels, 60), VG_OK);
    assert_int_equal(vg_evaluate(&e, tally, NULL, 0, &how), VG_OK);
    vg_tally_free(tally);
    return e;
}

/* Of 60 samples `hits` are right in all three rows: gap 180 (.8 - share). The samples' sums, 3 (.8 - 1) and 3 (.8 - 0),
 * have the squared deviations 60 x 9 share (1 - share) in all; their estimate in the bin is 60 / 59 of that. */
static void test_samples_by_hand(void **state) {
    static const size_t hits[] = {30, 42};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        vg_evaluation *e = of_triples(hits[i], 15);
        double share = (double)hits[i] / 60, gap = 180 * (.8 - share), total = 540 * share * (1 - share);
        double s = sqrt(total * 60 / 59), m = gap / s - 1, half = 1.959963984540054 * sqrt(total) / 180;
        double excess = 2 * s * (exp(-m * m / 2) / sqrt(2 * acos(-1)) - m * erfc(m / sqrt(2)) / 2),
               debiased = (gap - excess) / 180;
        assert_true(fabs(e->calibration.debiased - debiased) < 1e-12);
        assert_true(fabs(e->ece.low - fmax(debiased - half, 0)) < 1e-12);
        assert_true(fabs(e->ece.high - (gap / 180 + half)) < 1e-12);
        assert_true(fabs(e->calibration.p_value - erfc(gap / s / sqrt(2))) < .02);
        vg_evaluation_free(e);
    }
    vg_evaluation *e =
        of_triples(0, 15); /* no draw comes near: the least p-value that so many draws can show, and not 0 */
    assert_true(e->calibration.p_value > 0 && e->calibration.p_value < .001);
    vg_evaluation_free(e);
    e = of_triples(48, 15); /* no gap: every draw reaches it */
    assert_true(e->calibration.p_value == 1);
    vg_evaluation_free(e);
    vg_finding list[VG_MAX_FINDINGS];
    e = of_triples(30, 500); /* the covariances of so many bins are not kept: no test, and a finding that says so */
    assert_true(isnan(e->calibration.p_value) && e->ece.value > .2);
    assert_true(vg_evaluation_findings(list, e, NULL) > 0);
    assert_string_equal(list[0].verdict, "unknown");
    assert_non_null(strstr(list[0].text, "there are too many bins"));
    vg_evaluation_free(e);
}

/* The bins of two halves, added, give what the whole gives. */
static void test_bins(void **state) {
    (void)state;
    enum { N = 700, BINS = 15 };
    static double p[N];
    static uint8_t right[N];
    vg_random random = vg_random__start(94, 0);
    confidences(p, N, 3, &random);
    labels_from(right, p, N, .03, &random);
    vg_evaluation *whole = of_rows(p, right, N, BINS, 8), *first = of_rows(p, right, 300, BINS, 0),
                  *rest = of_rows(p + 300, right + 300, N - 300, BINS, 0);
    vg_reliability_bin bins[BINS];
    for (size_t b = 0; b < BINS; b++) {
        const vg_reliability_bin *one = &first->reliability[b], *two = &rest->reliability[b];
        double m = (double)one->count, n = (double)two->count;
        bins[b] = m > 0 ? *one : *two;
        bins[b].count = one->count + two->count;
        if (m > 0 && n > 0) {
            bins[b].confidence = (m * one->confidence + n * two->confidence) / (m + n);
            bins[b].accuracy = (m * one->accuracy + n * two->accuracy) / (m + n);
            bins[b].square = (m * one->square + n * two->square) / (m + n);
            bins[b].hit = (m * one->hit + n * two->hit) / (m + n);
        }
    }
    vg_evaluation merged = {.struct_size = sizeof merged, .bins = BINS, .reliability = bins, .rows = N};
    merged.resamples = 8;
    merged.confidence = whole->confidence;
    merged.ece.value = whole->ece.value;
    assert_int_equal(vg_evaluation_finish(&merged, NULL), VG_OK);
    vg_calibration_check check = merged.calibration;
    assert_true(fabs(check.expected - whole->calibration.expected) < 1e-12);
    assert_true(fabs(check.debiased - whole->calibration.debiased) < 1e-12);
    assert_true(fabs(check.p_value - whole->calibration.p_value) < 1e-9);
    assert_int_equal(check.mce_rows, whole->calibration.mce_rows);
    assert_true(fabs(merged.ece.low - whole->ece.low) < 1e-12 && fabs(merged.ece.high - whole->ece.high) < 1e-12);
    memset(bins, 0, sizeof bins);
    assert_int_equal(vg_evaluation_finish(&merged, NULL), VG_ERR_DATA);
    merged.reliability = NULL;
    assert_int_equal(vg_evaluation_finish(&merged, NULL), VG_ERR_ARGUMENT);
    assert_int_equal(vg_evaluation_finish(NULL, NULL), VG_ERR_ARGUMENT);
    merged.reliability = bins;
    merged.measure_count = 1;
    assert_int_equal(vg_evaluation_finish(&merged, NULL), VG_ERR_ARGUMENT);
    merged.measure_count = 0;
    merged.rule_count = 1;
    assert_int_equal(vg_evaluation_finish(&merged, NULL), VG_ERR_ARGUMENT);
    vg_evaluation_free(whole);
    vg_evaluation_free(first);
    vg_evaluation_free(rest);
}

static void test_notes(void **state) {
    (void)state;
    static double p[1000];
    static uint8_t right[1000];
    char notes[VG_MAX_NOTES][VG_NOTE_SIZE];
    for (size_t i = 0; i < 1000; i++) {
        p[i] = .9;
        right[i] = i % 10 != 0;
    }
    p[0] = .55; /* wrong, alone in its bin */
    vg_evaluation *e = of_rows(p, right, 1000, 15, 0);
    assert_int_equal(vg_evaluation_notes(notes, e), 2);
    assert_non_null(strstr(notes[0], "no larger than a perfectly calibrated model would show"));
    assert_non_null(strstr(notes[1], "a bin of 1 row:"));
    vg_evaluation_free(e);
    for (size_t i = 0; i < 1000; i++)
        right[i] = i % 5 != 0;
    e = of_rows(p, right, 1000, 15, 0);
    assert_true(vg_evaluation_notes(notes, e) >= 1);
    assert_non_null(strstr(notes[0], "p < 0.001"));
    assert_non_null(strstr(notes[0], "debiased estimate 0.09"));
    vg_evaluation_free(e);
    /* nothing wrong, nothing uncertain */
    for (size_t i = 0; i < 1000; i++)
        p[i] = right[i] = 1;
    e = of_rows(p, right, 1000, 15, 8);
    assert_true(e->calibration.expected == 0 && e->calibration.p_value == 1 && e->calibration.debiased == 0);
    assert_true(e->ece.low == 0 && e->ece.high == 0 && e->accuracy.high == 1);
    assert_true(fabs(e->accuracy.low - pow(.025, 1. / 1000)) < 1e-12); /* Clopper and Pearson, 1000 of 1000 */
    vg_evaluation_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_redrawn),  cmocka_unit_test(test_level),           cmocka_unit_test(test_debiased),
        cmocka_unit_test(test_samples),  cmocka_unit_test(test_by_hand),         cmocka_unit_test(test_bins),
        cmocka_unit_test(test_two_bins), cmocka_unit_test(test_samples_by_hand), cmocka_unit_test(test_many_bins),
        cmocka_unit_test(test_notes),    cmocka_unit_test(test_a_row_in_each_bin),
    };
    return cmocka_run_group_tests_name("evaluate: calibration", tests, NULL, NULL);
}
