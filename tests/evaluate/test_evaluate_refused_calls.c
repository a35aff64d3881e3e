/* test_evaluate_refused_calls.c - calls with missing arguments and with values that cannot be used: each is refused
 * with its message, and leaves the caller's results as they were. Options out of range: test_evaluate_refusals.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "evaluate/rule.h"
#include "refusal.h"
#include "vargate/evaluate.h"
#include "vargate/sets.h"

enum { N = 8 };
static double mean[2 * N] = {.9, .1, .2, .8, .6, .4, .5, .5, .3, .7, 1, 0, .8, .2, .1, .9};
static double u[N] = {1, 2, 4, 5, 3, 0, 2, 1}, gap[N] = {1, 2, 4, NAN, 3, 0, 2, 1};
static const int64_t labels[2 * N] = {0, 1, 1, 0, 1, 0, 0, 1};
static const uint8_t errors[N] = {0, 0, 1, 0, 0, 0, 1, 0};
static const vg_measure measure = {"mine", u, 1, 0}, nan_measure = {"holes", gap, 1, 0}, empty = {"none", NULL, 1, 0};

/* Whether a result has not been written to. */
static vg_selection untouched(void) {
    vg_selection s;
    memset(&s, 0x5a, sizeof s);
    s.struct_size = sizeof s;
    return s;
}
static void check_untouched(const vg_selection *s) {
    vg_selection fresh = untouched();
    assert_memory_equal(s, &fresh, sizeof fresh);
}

static void thresholds(void **state) {
    (void)state;
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    vg_selection s = untouched();
    o.target_risk = .5;
    WRONG(vg_select_threshold(&s, NULL, errors, N, &o), "vg_select_threshold: measure must not be NULL");
    WRONG(vg_select_threshold(&s, &measure, errors, N, NULL), "select: options must not be NULL");
    WRONG(vg_select_threshold(NULL, &measure, errors, N, &o), "select: out must not be NULL");
    WRONG(vg_select_threshold(&s, &measure, NULL, N, &o), "values and errors of a candidate must not be NULL");
    WRONG(vg_select_threshold(&s, &empty, errors, N, &o), "values and errors of a candidate must not be NULL");
    WRONG(vg_select_k(&s, NULL, errors, N, &o), "values and errors of a candidate must not be NULL");
    BAD(vg_select_threshold(&s, &nan_measure, errors, N, &o), "select: value 3 of measure holes is NaN");
    BAD(vg_select_k(&s, gap, errors, N, &o), "select: value 3 of measure margin ratio is NaN");
    o.unlabelled = gap;
    o.unlabelled_rows = N - 1;
    BAD(vg_select_threshold(&s, &measure, errors, N, &o), "select: unlabelled value 3 of measure mine is NaN");
    o.unlabelled_rows = 3;
    check_untouched(&s);
    ACCEPTED(vg_select_threshold(&s, &measure, errors, N, &o));
    assert_int_equal(s.rows, N);
    o.unlabelled = NULL, o.set_aside = N;
    s = untouched();
    BAD(vg_select_threshold(&s, &measure, errors, N, &o), "8 of 8 validation samples are set aside to place");
    check_untouched(&s);
    o.set_aside = N - 1;
    ACCEPTED(vg_select_threshold(&s, &measure, errors, N, &o));
    assert_int_equal(s.rows, 1);
}

static void candidates(void **state) {
    (void)state;
    vg_candidate list[2] = {{.measure = measure, .errors = errors}, {.measure = nan_measure, .errors = errors}};
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    vg_selection s = untouched();
    size_t chosen = 77;
    o.target_risk = .5;
    BAD(vg_select_among(&s, &chosen, list, 2, N, &o), "select: value 3 of measure holes is NaN");
    list[1].measure = empty;
    WRONG(vg_select_among(&s, &chosen, list, 2, N, &o), "values and errors of a candidate must not be NULL");
    WRONG(vg_select_among(&s, &chosen, NULL, 1, N, &o), "select: no candidates");
    assert_int_equal(chosen, 77);
    check_untouched(&s);
    ACCEPTED(vg_select_among(&s, NULL, list, 1, N, &o));
}

static void several_targets(void **state) {
    (void)state;
    const double targets[] = {.5, .25}, wrong[] = {.5, 2};
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    vg_selection s[2] = {untouched(), untouched()};
    WRONG(vg_select__k_targets(NULL, targets, 2, u, errors, N, &o), "out, targets and options must not be NULL");
    WRONG(vg_select__k_targets(s, NULL, 2, u, errors, N, &o), "out, targets and options must not be NULL");
    WRONG(vg_select__k_targets(s, targets, 2, u, errors, N, NULL), "out, targets and options must not be NULL");
    WRONG(vg_select__k_targets(s, wrong, 2, u, errors, N, &o), "select: target risk 2, expected above 0 and below 1");
    WRONG(vg_select__k_targets(s, targets, 2, NULL, errors, N, &o), "values and errors of a candidate must not be");
    BAD(vg_select__k_targets(s, targets, 2, u, errors, 0, &o), "select: no validation rows");
    BAD(vg_select__k_targets(s, targets, 2, gap, errors, N, &o), "select: value 3 of measure margin ratio is NaN");
    check_untouched(&s[0]);
    check_untouched(&s[1]);
    s[1].struct_size = 1;
    WRONG(vg_select__k_targets(s, targets, 2, u, errors, N, &o), "select: a result of size 1, expected");
    s[1].struct_size = sizeof s[1];
    ACCEPTED(vg_select__k_targets(s, targets, 0, u, errors, N, &o));
    check_untouched(&s[0]);
    ACCEPTED(vg_select__k_targets(s, targets, 2, u, errors, N, &o));
    assert_true(s[0].target_risk == .5 && s[1].target_risk == .25);
}

static void sets(void **state) {
    (void)state;
    vg_sets_options o = VG_SETS_OPTIONS_INIT;
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    vg_set_places out = VG_SET_PLACES_INIT;
    vg_predictions two = vg_predictions_f64(mean, N, 1, 2), members = vg_predictions_f64(mean, N / 2, 2, 2);
    vg_sets *made;
    ACCEPTED(vg_sets_new(&made, &o));
    ACCEPTED(vg_sets_feed(made, NULL, &two, labels, NULL));
    BAD(vg_sets_feed(made, NULL, &members, labels, NULL), "2 members and 2 classes, the thresholds are for 1 and 2");
    ACCEPTED(vg_sets_feed(made, &out, &two, labels, NULL));
    assert_int_equal(made->calibrated, N);
    assert_int_equal(made->samples, N);
    BAD(vg_sets_feed(made, &out, &members, labels, NULL), "what is calibrated on one ensemble promises nothing about");
    assert_int_equal(made->samples, N);
    vg_sets_free(made);
    o.sites = 2;
    scoring.task = VG_TASK_MULTILABEL;
    o.scoring = &scoring;
    vg_sets *none = (vg_sets *)(void *)&o;
    WRONG(vg_sets_new(&none, &o), "sites of images have one label each: they do not go with multilabel");
    assert_null(none);
}

static void other_calls(void **state) {
    (void)state;
    vg_tally *tally;
    vg_evaluation *e = NULL;
    vg_ood_row row;
    vg_estimate area = {7, 8, 9};
    WRONG(vg_tally_new(NULL, 2, NULL), "vg_tally_new: out must not be NULL");
    ACCEPTED(vg_tally_new(&tally, 2, NULL));
    WRONG(vg_tally_feed(NULL, mean, NULL, labels, N), "vg_tally_feed: tally, mean and labels must not be NULL");
    WRONG(vg_tally_feed(tally, NULL, NULL, labels, N), "vg_tally_feed: tally, mean and labels must not be NULL");
    WRONG(vg_tally_feed(tally, mean, NULL, NULL, N), "vg_tally_feed: tally, mean and labels must not be NULL");
    ACCEPTED(vg_tally_feed(tally, mean, NULL, labels, N));
    WRONG(vg_evaluate(NULL, tally, &measure, 1, NULL), "vg_evaluate: out must not be NULL");
    WRONG(vg_evaluate(&e, NULL, &measure, 1, NULL), "evaluate: tally and measures must not be NULL");
    assert_null(e);
    e = (vg_evaluation *)(void *)&row; /* a failure resets the pointer */
    WRONG(vg_evaluate(&e, tally, NULL, 1, NULL), "evaluate: tally and measures must not be NULL");
    assert_null(e);
    e = (vg_evaluation *)(void *)&row;
    WRONG(vg_evaluate(&e, tally, &empty, 1, NULL), "evaluate: measure none has no values");
    assert_null(e);
    vg_tally_free(tally);
    WRONG(vg_ood_evaluate(NULL, &measure, N, &measure, N, 1, NULL), "ood: out, id and ood must not be NULL");
    WRONG(vg_ood_evaluate(&row, NULL, N, &measure, N, 1, NULL), "ood: out, id and ood must not be NULL");
    WRONG(vg_ood_evaluate(&row, &measure, N, NULL, N, 1, NULL), "ood: out, id and ood must not be NULL");
    ACCEPTED(vg_ood_evaluate(NULL, NULL, N, NULL, N, 0, NULL));
    BAD(vg_ood_evaluate(&row, &measure, N, &(vg_measure){"mine", gap, 1, 0}, N, 1, NULL),
        "measure mine: value 3 of the OOD samples is NaN");
    BAD(vg_ood_evaluate(&row, &(vg_measure){"mine", gap, 1, 0}, N, &measure, N, 1, NULL),
        "measure mine: value 3 of the ID samples is NaN");
    WRONG(vg_auroc(NULL, &measure, errors, N, NULL), "auroc: out, measures, their values and positive must not be");
    WRONG(vg_auroc(&area, NULL, errors, N, NULL), "auroc: out, measures, their values and positive must not be NULL");
    WRONG(vg_auroc(&area, &empty, errors, N, NULL), "auroc: out, measures, their values and positive must not be");
    WRONG(vg_auroc(&area, &measure, NULL, N, NULL), "auroc: out, measures, their values and positive must not be");
    assert_true(area.value == 7 && area.low == 8 && area.high == 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thresholds), cmocka_unit_test(candidates),  cmocka_unit_test(several_targets),
        cmocka_unit_test(sets),       cmocka_unit_test(other_calls),
    };
    return cmocka_run_group_tests_name("evaluate: refused calls", tests, NULL, NULL);
}
