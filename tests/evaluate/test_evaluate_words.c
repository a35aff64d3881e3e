/* test_evaluate_words.c - findings, notes and reasons, whole sentences of evaluations written down by hand: every
 * branch, the counts at which the words change, and the tests behind them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "evaluate/select_internal.h"
#include "vargate/evaluate.h"

static vg_reliability_bin bins[3];
static vg_ranking rankings[3];
static vg_rule_row rules[3];

/* 64 rows in the second of three bins, confidence 0.5 with no variance of its own: the accuracy has a standard error
 * of 4 rows. */
static vg_evaluation plain(void) {
    vg_evaluation e = {.struct_size = sizeof e, .n = 64, .classes = 2, .rows = 64, .bins = 3, .confidence = 0.95};
    for (size_t b = 0; b < 3; b++)
        bins[b] = (vg_reliability_bin){.confidence = NAN, .accuracy = NAN, .square = NAN, .hit = NAN};
    bins[1] = (vg_reliability_bin){.count = 64, .confidence = 0.5, .accuracy = 0.375, .square = 0.25};
    e.reliability = bins;
    e.accuracy.value = 0.375;
    e.ece.value = 0.125;
    e.calibration = (vg_calibration_check){0.0625, 0.04, 0.03125, 64};
    e.miou.value = NAN;
    e.errors = 40;
    e.measures = rankings;
    e.rule = rules;
    return e;
}

static const vg_finding *only(const vg_evaluation *e, const char *about, size_t expected) {
    static vg_finding list[VG_MAX_FINDINGS];
    size_t count = vg_evaluation_findings(list, e, NULL);
    assert_int_equal(count, expected);
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].about, about) == 0)
            return &list[i];
    fail_msg("nothing about %s", about);
    return NULL;
}

static void says(const vg_finding *f, const char *verdict, const char *choice, const char *text) {
    assert_string_equal(f->verdict, verdict);
    assert_string_equal(f->choice, choice);
    assert_string_equal(f->text, text);
}

static void calibration(void **state) {
    (void)state;
    vg_evaluation e = plain();
    /* exactly two standard errors are not one-sided */
    says(only(&e, "calibration", 1), "miscalibrated", "",
         "Not calibrated, right on average but not at every confidence: mean confidence 50.00 %, accuracy 37.50 %; ECE "
         "0.1250, of which 0.0312 is more than chance (p = 0.04). Temperatures fitted to validation logits (vargate "
         "calibrate) may help.");
    e.accuracy.value = 0.25; /* four */
    e.calibration.p_value = 0.0009;
    says(only(&e, "calibration", 1), "overconfident", "",
         "Not calibrated, overconfident: mean confidence 50.00 %, accuracy 25.00 %; ECE 0.1250, of which 0.0312 is "
         "more than chance (p < 0.001). Temperatures fitted to validation logits (vargate calibrate) may help.");
    e.accuracy.value = 0.75;
    e.calibration.p_value = 0.001;
    says(only(&e, "calibration", 1), "underconfident", "",
         "Not calibrated, underconfident: mean confidence 50.00 %, accuracy 75.00 %; ECE 0.1250, of which 0.0312 is "
         "more than chance (p = 0.001). Temperatures fitted to validation logits (vargate calibrate) may help.");
    bins[0] = (vg_reliability_bin){.count = 64, .confidence = 0.25, .square = 0.0625}; /* variance 12 more */
    e.rows = 128;
    e.accuracy.value = 0.3125; /* (0.375 - 0.3125) 128 / sqrt(28) = 1.51; sqrt(16) would give 2 */
    assert_string_equal(only(&e, "calibration", 1)->verdict, "miscalibrated");
    e.accuracy.value = 0.28; /* 2.30 */
    says(only(&e, "calibration", 1), "overconfident", "",
         "Not calibrated, overconfident: mean confidence 37.50 %, accuracy 28.00 %; ECE 0.1250, of which 0.0312 is "
         "more than chance (p = 0.001). Temperatures fitted to validation logits (vargate calibrate) may help.");
    e.calibration.p_value = 0.05;
    says(only(&e, "calibration", 1), "calibrated", "",
         "Calibrated: ECE 0.1250 is what chance alone gives with these samples (0.0625 on average; p = 0.05).");
    e.calibration.p_value = NAN;
    says(only(&e, "calibration", 1), "unknown", "",
         "Calibration: ECE 0.1250; whether it is more than chance is not tested: there are too many bins.");
    e.miou.value = 0.5;
    says(only(&e, "calibration", 1), "unknown", "",
         "Calibration: ECE 0.1250; whether it is more than chance is not tested: the sites of an image are not "
         "independent.");
    e = plain(); /* certain rows have no variance: nothing is one-sided */
    bins[1].confidence = bins[1].square = 1;
    assert_string_equal(only(&e, "calibration", 1)->verdict, "miscalibrated");
    e.rows = 0;
    assert_int_equal(vg_evaluation_findings((vg_finding[VG_MAX_FINDINGS]){0}, &e, NULL), 0);
}

static void measure(void **state) {
    (void)state;
    vg_evaluation e = plain();
    e.measure_count = 3;
    strcpy(rankings[0].name, "tu");
    strcpy(rankings[1].name, "eu");
    strcpy(rankings[2].name, "gmu");
    rankings[0].error_auroc.value = 0.75;
    rankings[1].error_auroc.value = 0.625;
    rankings[2].error_auroc.value = 0.875;
    e.lead = (vg_measure_lead){2, 0, {0.125, 0.0625, 0.1875}, 0.01, 0.02};
    e.errors = 9;
    says(only(&e, "measure", 2), "few-errors", "",
         "Measures: 9 errors are too few to tell which measure finds them best.");
    e.errors = 1;
    says(only(&e, "measure", 2), "few-errors", "",
         "Measures: 1 error is too few to tell which measure finds them best.");
    e.errors = 0;
    e.accuracy.value = 0;
    says(only(&e, "measure", 2), "few-errors", "",
         "Measures: 0 errors are too few to tell which measure finds them best.");
    e.errors = 1;
    says(only(&e, "measure", 2), "few-errors", "",
         "Measures: every prediction is an error, so that no measure can tell errors from correct ones.");
    e.errors = 10;
    says(only(&e, "measure", 2), "clear", "gmu",
         "To find errors use gmu: its error AUROC of 0.8750 leads tu (0.7500) by 0.1250 (95 % interval 0.0625 to "
         "0.1875; paired DeLong test, p = 0.02 corrected for 2 comparisons), which is more than noise.");
    e.lead.corrected = 0.05;
    e.measure_count = 2;
    e.lead = (vg_measure_lead){0, 1, {0.125, -0.0625, 0.1875}, 0.05, 0.05};
    e.resamples = 20;
    says(only(&e, "measure", 2), "noise", "tu",
         "No measure is clearly best at finding errors: tu, with an error AUROC of 0.7500, leads eu (0.6250) by 0.1250 "
         "(95 % interval -0.0625 to 0.1875; paired bootstrap, p = 0.05 corrected for 1 comparison), which is within "
         "noise. Use tu, the simplest.");
    strcpy(rankings[0].name, "mi");
    says(only(&e, "measure", 2), "noise", "eu",
         "No measure is clearly best at finding errors: mi, with an error AUROC of 0.7500, leads eu (0.6250) by 0.1250 "
         "(95 % interval -0.0625 to 0.1875; paired bootstrap, p = 0.05 corrected for 1 comparison), which is within "
         "noise. Use eu.");
    e.lead.corrected = NAN;
    says(only(&e, "measure", 2), "alone", "mi", "Errors are found by mi with an error AUROC of 0.7500.");
    e.lead.rival = 2;
    e.lead.corrected = 0.01;
    says(only(&e, "measure", 2), "alone", "mi", "Errors are found by mi with an error AUROC of 0.7500.");
    e.lead.leader = 2;
    assert_string_equal(only(&e, "measure", 2)->verdict, "few-errors");
}

static vg_rule_row rule(const char *name, size_t rows, size_t errors, size_t caught, size_t given) {
    vg_rule_row r = {.rows = rows, .kept_errors = errors - caught, .abstained_errors = caught};
    r.abstained_correct = given;
    r.abstained = caught + given;
    r.kept = rows - r.abstained;
    r.coverage.value = (double)r.kept / (double)rows;
    r.accuracy.value = r.kept ? (double)(r.kept - r.kept_errors) / (double)r.kept : NAN;
    strcpy(r.name, name);
    return r;
}

/* C(4, 3) C(16, 2) / C(20, 5) + C(4, 4) C(16, 1) / C(20, 5) = (480 + 16) / 15504 = 0.03199 */
static void abstaining(void **state) {
    (void)state;
    vg_evaluation e = plain();
    e.accuracy.value = 0.8;
    e.rule_count = 1;
    rules[0] = rule("1", 20, 4, 3, 2);
    says(only(&e, "abstaining", 2), "helps", "1",
         "Abstaining at k = 1 on 25.00 % of the samples raises accuracy on the rest from 80.00 to 93.33 % (95 % "
         "interval 68.05 to 99.83): it catches 3 of 4 errors and gives up 2 of 16 correct predictions (p = 0.032 "
         "against chance).");
    rules[0] = rule("1", 20, 4, 2, 3); /* + C(4, 2) C(16, 3) = 3360: 0.2487 */
    says(only(&e, "abstaining", 2), "noise", "",
         "Abstaining at k = 1 on 25.00 % of the samples catches 2 of 4 errors: no more than chance would (p = 0.25).");
    rules[0] = rule("1", 20, 1, 1, 4); /* 5 of 20 */
    says(only(&e, "abstaining", 2), "noise", "",
         "Abstaining at k = 1 on 25.00 % of the samples catches 1 of 1 error: no more than chance would (p = 0.25).");
    rules[0] = rule("1", 20, 0, 0, 4);
    says(only(&e, "abstaining", 2), "noise", "",
         "Abstaining at k = 1 on 20.00 % of the samples catches 0 of 0 errors: no more than chance would (p = 1).");
    rules[0] = rule("1", 20, 18, 16, 2); /* more are abstained on than are right: x begins at 16; 153 / 190 */
    says(only(&e, "abstaining", 2), "noise", "",
         "Abstaining at k = 1 on 90.00 % of the samples catches 16 of 18 errors: no more than chance would (p = 1).");
    rules[0] = rule("1", 20, 18, 17, 1); /* C(18,17) 2 + C(18,18) = 37 of 190 */
    says(
        only(&e, "abstaining", 2), "noise", "",
        "Abstaining at k = 1 on 90.00 % of the samples catches 17 of 18 errors: no more than chance would (p = 0.19).");
    rules[0] = rule("1", 20, 4, 0, 0);
    says(only(&e, "abstaining", 2), "keeps-all", "",
         "Abstaining: the rule abstains on nothing at every k of these, so that nothing is gained.");
    rules[0] = rule("1", 20, 4, 4, 16);
    says(only(&e, "abstaining", 2), "keeps-nothing", "",
         "Abstaining: the rule keeps nothing at every k of these, so that nothing is gained.");
}

static void abstaining_of_dependent_rows(void **state) {
    (void)state;
    vg_evaluation e = plain();
    e.accuracy.value = 0.8;
    e.rule_count = 1;
    e.label_count = 2;
    rules[0] = rule("1", 20, 4, 3, 2);
    says(only(&e, "abstaining", 2), "untested", "1",
         "Abstaining at k = 1 on 25.00 % of the labels: accuracy on the rest is 93.33 % instead of 80.00 %; 3 of 4 "
         "errors are caught and 2 of 16 correct predictions given up. This is not compared with chance: the labels of "
         "a sample are not independent.");
    e.label_count = 0;
    e.miou.value = 0.5;
    e.rule_count = 2;
    rules[1] = rule("2", 20, 4, 3, 3); /* no test of k either */
    says(only(&e, "abstaining", 2), "untested", "1",
         "Abstaining at k = 1 on 25.00 % of the sites: accuracy on the rest is 93.33 % instead of 80.00 %; 3 of 4 "
         "errors are caught and 2 of 16 correct predictions given up. This is not compared with chance: the sites of "
         "an image are not independent.");
}

/* The best k: gains 0.75 - 0.125, 1 - 0.1875 and the same again, of which the first is taken. Two of three ks are
 * compared with the first one. */
static void best_k(void **state) {
    (void)state;
    vg_evaluation e = plain();
    e.rule_count = 3;
    rules[0] = rule("1", 40, 8, 4, 4);
    rules[1] = rule("2", 40, 8, 6, 4);
    rules[2] = rule("3", 40, 8, 6, 4);
    says(only(&e, "k", 3), "few-errors", "1", "k: 8 errors cannot tell which k is best. Use k = 1.");
    assert_non_null(strstr(only(&e, "abstaining", 3)->text, "Abstaining at k = 1 on")); /* the advised one */
    rules[0] = rule("1", 40, 1, 0, 4);
    rules[1] = rules[2] = rule("2", 40, 1, 1, 4);
    says(only(&e, "k", 3), "few-errors", "1", "k: 1 error cannot tell which k is best. Use k = 1.");
    rules[0] = rule("1", 40, 40, 20, 0);
    rules[1] = rules[2] = rule("2", 40, 40, 30, 0);
    says(only(&e, "k", 3), "few-errors", "1", "k: 40 errors cannot tell which k is best. Use k = 1.");
    rules[0] = rule("1", 40, 10, 5, 3);
    rules[1] = rule("2", 40, 10, 5, 3); /* the same: the first */
    rules[2] = rule("3", 40, 10, 5, 6);
    says(only(&e, "k", 3), "first", "1",
         "Use k = 1: no other of these ks catches more errors for the correct predictions that it gives up.");
}

/* Of 10 errors 2 more are caught for 3 more of 30 correct predictions: the difference is 2/10 - 3/30 = 0.1, its
 * variance (3/12)(9/12)/10 + (4/32)(28/32)/30. */
static void compared_ks(void **state) {
    (void)state;
    vg_evaluation e = plain();
    e.rule_count = 2;
    rules[0] = rule("1", 40, 10, 5, 3);
    rules[1] = rule("2", 40, 10, 7, 6);
    says(only(&e, "k", 3), "noise", "1",
         "Use k = 1: at another, k = 2, the share of errors caught less that of correct predictions given up is larger "
         "by 0.1000 (95 % interval -0.1933 to 0.3933; paired test, p = 0.5 corrected for 1 comparison), which is "
         "within noise.");
    e.rule_count = 3;
    rules[0] = rule("1", 400, 100, 50, 30);
    rules[1] = rule("2", 400, 100, 70, 60);
    rules[2] = rule("3", 400, 100, 95, 75); /* 0.45 - 0.15 = 0.3 */
    says(only(&e, "k", 3), "clear", "3",
         "Use k = 3: over k = 1, the share of errors caught less that of correct predictions given up is larger by "
         "0.3000 (95 % interval 0.1943 to 0.4057; paired test, p < 0.001 corrected for 2 comparisons), which is more "
         "than noise.");
    e.confidence = 0.9;
    says(only(&e, "k", 3), "clear", "3",
         "Use k = 3: over k = 1, the share of errors caught less that of correct predictions given up is larger by "
         "0.3000 (90 % interval 0.2113 to 0.3887; paired test, p < 0.001 corrected for 2 comparisons), which is more "
         "than noise.");
}

static void diversity(void **state) {
    (void)state;
    vg_finding list[VG_MAX_FINDINGS];
    vg_verdict verdict = VG_VERDICT_INIT;
    vg_evaluation e = plain();
    static const char *const texts[][2] = {{"a b", "A b."}, {"zero.", "Zero."}, {"{x", "{x."},
                                           {"`x", "`x."},   {"", "."},          {"Big", "Big."}};
    verdict.state = VG_VERDICT_COLLAPSED;
    verdict.name = "collapsed";
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        strcpy(verdict.text, texts[i][0]);
        assert_int_equal(vg_evaluation_findings(list, &e, &verdict), 2);
        assert_string_equal(list[0].text, texts[i][1]);
        assert_string_equal(list[1].about, "calibration");
    }
    verdict.state = VG_VERDICT_UNKNOWN;
    assert_int_equal(vg_evaluation_findings(list, &e, &verdict), 1);
    e.rows = 0;
    verdict.state = VG_VERDICT_COLLAPSED;
    assert_int_equal(vg_evaluation_findings(list, &e, &verdict), 1);
}

static void notes(void **state) {
    (void)state;
    char said[VG_MAX_NOTES][VG_NOTE_SIZE];
    vg_evaluation e = plain();
    e.errors = 30;
    e.measure_count = 1;
    e.calibration.mce_rows = 30;
    assert_int_equal(vg_evaluation_notes(said, &e), 1);
    assert_string_equal(said[0], "ECE 0.1250: a perfectly calibrated model would show 0.0625 on average with these "
                                 "samples (p = 0.04); debiased estimate 0.0312.");
    e.calibration.p_value = 0.05;
    vg_evaluation_notes(said, &e);
    assert_string_equal(said[0], "ECE 0.1250 cannot be distinguished from that of a perfectly calibrated model, which "
                                 "would show 0.0625 on average with these samples (p = 0.05).");
    e.ece.value = 0.0625;
    vg_evaluation_notes(said, &e);
    assert_string_equal(said[0], "ECE 0.0625 is no larger than a perfectly calibrated model would show with these "
                                 "samples (0.0625 on average; p = 0.05).");
    e.calibration.p_value = 0.001;
    vg_evaluation_notes(said, &e);
    assert_non_null(strstr(said[0], "(p = 0.001); debiased"));
    e.calibration.p_value = 0.0009;
    vg_evaluation_notes(said, &e);
    assert_non_null(strstr(said[0], "(p < 0.001); debiased"));
    e.calibration.p_value = NAN;
    assert_int_equal(vg_evaluation_notes(said, &e), 0);
    e.calibration.mce_rows = 29;
    e.errors = 29;
    assert_int_equal(vg_evaluation_notes(said, &e), 2);
    assert_string_equal(said[0], "MCE comes from a bin of 29 rows: it says little about calibration.");
    assert_string_equal(said[1], "29 errors: with fewer than 30, figures of error detection and selective prediction "
                                 "are uncertain and their intervals approximate.");
    e.calibration.mce_rows = e.errors = 1;
    vg_evaluation_notes(said, &e);
    assert_string_equal(said[0], "MCE comes from a bin of 1 row: it says little about calibration.");
    assert_string_equal(said[1], "1 error: with fewer than 30, figures of error detection and selective prediction are "
                                 "uncertain and their intervals approximate.");
    e.measure_count = 0;
    assert_int_equal(vg_evaluation_notes(said, &e), 1);
}

static void reason_is(vg_selection s, const char *expected) {
    char text[300] = "x";
    vg_selection_reason(text, sizeof text, &s);
    assert_string_equal(text, expected);
}

static void reasons(void **state) {
    (void)state;
    vg_selection s = VG_SELECTION_INIT;
    char text[10] = "untouched";
    s.target_risk = 0.05;
    reason_is(s, "every sample has a margin of 0, so that no threshold keeps any");
    s.grid_count = 1;
    s.samples = 10;
    s.fewest = 11;
    s.needed = 40;
    reason_is(s, "10 validation samples cannot show it: even without an error it takes 11 answered ones, at the risks "
                 "found here about 40 validation samples");
    s.needed = 0;
    reason_is(s, "10 validation samples cannot show it: even without an error it takes 11 answered ones, and the risk "
                 "found is above the target at every threshold");
    s.fewest = 10;
    reason_is(s, "all values are the same, so that they do not separate errors from correct predictions");
    s.grid_count = 2;
    reason_is(s, "the risk found is above the target at every threshold: more samples would not help, these values do "
                 "not tell errors from correct predictions well enough");
    s.needed = 1;
    reason_is(s, "at the risks found here it would take about 1 validation samples");
    s.met = 1;
    reason_is(s, "");
    s.met = 0;
    s.target_risk = 0;
    reason_is(s, "");
    vg_selection_reason(text, 0, &s);
    assert_string_equal(text, "untouched");
    vg_selection_reason(text, sizeof text, NULL);
    assert_string_equal(text, "");
}

/* Without an error n samples pass at risk r and level a when (1 - r)^n <= a: 0.5^3 = 0.125 exactly. */
static void samples_that_it_takes(void **state) {
    (void)state;
    assert_int_equal(vg_evaluate__fewest(0.5, 0.125, false), 3);
    assert_int_equal(vg_evaluate__fewest(0.5, 0.1249, false), 4);
    assert_int_equal(vg_evaluate__fewest(0.5, 0.25, true), 3); /* half the level */
    assert_int_equal(vg_evaluate__fewest(0.05, 0.05, false), 59);
    double n = vg_evaluate__samples_for(0, 0.5, 0.125, false);
    assert_true(n >= 3 - 1e-9 && n < 3.01);
    n = vg_evaluate__samples_for(0, 0.5, 0.125, true); /* 2 e 0.5^n <= 0.125 */
    assert_true(n >= 5.442 && n < 5.45);
    assert_true(isinf(vg_evaluate__samples_for(0.5, 0.5, 0.1, false)));
    assert_true(isinf(vg_evaluate__samples_for(0.6, 0.5, 0.1, false)));
    n = vg_evaluate__samples_for(0.25, 0.5, 0.05, false); /* P(Bin(n, 1/2) <= n/4): 0.0730 at 12, 0.0384 at 16 */
    assert_true(n > 12 && n < 16);
    assert_true(vg_evaluate__binomial_cdf(0.25 * n, n, 0.5) <= 0.05);
    assert_true(vg_evaluate__binomial_cdf(0.25 * n / 1.002, n / 1.002, 0.5) > 0.05);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calibration), cmocka_unit_test(measure),
        cmocka_unit_test(abstaining),  cmocka_unit_test(abstaining_of_dependent_rows),
        cmocka_unit_test(best_k),      cmocka_unit_test(compared_ks),
        cmocka_unit_test(diversity),   cmocka_unit_test(notes),
        cmocka_unit_test(reasons),     cmocka_unit_test(samples_that_it_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
