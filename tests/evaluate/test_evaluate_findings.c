/* test_evaluate_findings.c - an evaluation in words: verdicts on data whose answer is known, the lead of the best
 * measure against vg_auroc_compare, figures of classes against counts made here, Fisher's test against its sum. */
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
#include "evaluate/bounds.h"
#include "evaluate/whole_columns.h"
#include "vargate/evaluate.h"

enum { N = 4000, C = 3 };

static double mean[N * C], std_of[N * C], u[4][N];
static int64_t labels[N];
static const vg_finding *find(const vg_finding *list, size_t count, const char *about) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].about, about) == 0)
            return &list[i];
    fail_msg("nothing is found about %s", about);
    return NULL;
}

/* Confidence p, right with chance p^power: 1 is calibrated, above 1 overconfident. Measure 0 ("tu") is 1 - p, measure
 * `informed` knows more about the errors, the others are 1 - p with noise. The spread is small where it is right. */
static vg_evaluation *draw(double power, bool informed, size_t n, double spread, size_t resamples) {
    vg_random random = vg_random__start(5, 0);
    vg_tally_options how = VG_TALLY_OPTIONS_INIT;
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    vg_tally *tally;
    vg_evaluation *e;
    vg_measure measures[4];
    static const char *const names[] = {"tu", "eu", "gmu", "gtu@1"};
    for (size_t i = 0; i < n; i++) {
        double p = 0.5 + 0.499 * vg_random__unit(&random);
        bool right = vg_random__unit(&random) < pow(p, power);
        labels[i] = right ? 1 : 2;
        mean[i * C] = (1 - p) / 2;
        mean[i * C + 1] = p;
        mean[i * C + 2] = (1 - p) / 2;
        for (size_t c = 0; c < C; c++)
            std_of[i * C + c] = spread * (right ? 0.1 : 1) * vg_random__unit(&random);
        u[0][i] = 1 - p;
        u[1][i] = 1 - p + 0.01 * vg_random__unit(&random);
        u[2][i] = 1 - p + (informed ? 0.3 * !right * vg_random__unit(&random) : 0.001 * vg_random__unit(&random));
        u[3][i] = vg_random__unit(&random);
    }
    how.bootstrap = resamples > 0;
    assert_int_equal(vg_tally_new(&tally, C, &how), VG_OK);
    assert_int_equal(vg_tally_feed(tally, mean, std_of, labels, n), VG_OK);
    for (size_t m = 0; m < 4; m++) {
        measures[m] = (vg_measure){.values = u[m], .stride = 1};
        snprintf(measures[m].name, sizeof measures[m].name, "%s", names[m]);
    }
    options.resamples = resamples;
    assert_int_equal(vg_evaluate(&e, tally, measures, 4, &options), VG_OK);
    /* Without resamples the lead is DeLong's paired comparison, corrected for the three others. */
    vg_auroc_comparison direct;
    if (e->errors > 0 && resamples == 0) {
        assert_int_equal(vg_auroc_compare(&direct, &measures[e->lead.leader], &measures[e->lead.rival],
                                          vg_tally__info(tally).errors, n, NULL),
                         VG_OK);
        assert_true(direct.p_value == e->lead.p_value && direct.difference.low == e->lead.difference.low);
        assert_true(fabs(e->lead.corrected - fmin(1, 3 * direct.p_value)) < 1e-15);
    }
    vg_tally_free(tally);
    return e;
}

static void calibration_in_words(void **state) {
    (void)state;
    static const struct {
        double power;
        const char *verdict;
    } cases[] = {{1, "calibrated"}, {1.4, "overconfident"}, {0.6, "underconfident"}};
    for (size_t i = 0; i < 3; i++) {
        vg_finding list[VG_MAX_FINDINGS];
        vg_evaluation *e = draw(cases[i].power, false, N, 0.1, 0);
        size_t count = vg_evaluation_findings(list, e, NULL);
        assert_int_equal(count, 4);
        assert_string_equal(find(list, count, "calibration")->verdict, cases[i].verdict);
        vg_evaluation_free(e);
    }
}

static void measures_in_words(void **state) {
    (void)state;
    vg_finding list[VG_MAX_FINDINGS];
    vg_evaluation *e = draw(1, true, N, 0.1, 0);
    size_t count = vg_evaluation_findings(list, e, NULL);
    const vg_finding *f = find(list, count, "measure");
    assert_string_equal(f->verdict, "clear");
    assert_string_equal(f->choice, "gmu");
    assert_non_null(strstr(f->text, "To find errors use gmu"));
    assert_non_null(strstr(f->text, "leads tu ("));
    vg_evaluation_free(e);
    e = draw(1, false, N, 0.1, 0);
    count = vg_evaluation_findings(list, e, NULL);
    f = find(list, count, "measure");
    assert_string_equal(f->verdict, "noise");
    assert_string_equal(f->choice, "tu");
    assert_non_null(strstr(f->text, "within noise"));
    vg_evaluation_free(e);
    e = draw(0.01, false, 200, 0.1, 0); /* hardly an error */
    assert_true(e->errors < 10);
    count = vg_evaluation_findings(list, e, NULL);
    assert_string_equal(find(list, count, "measure")->verdict, "few-errors");
    vg_evaluation_free(e);
}

/* P(as many errors or more among the abstained), drawn blindly, by products of ratios. */
static double fisher(size_t rows, size_t errors, size_t drawn, size_t caught) {
    double sum = 0;
    for (size_t x = caught; x <= errors && x <= drawn; x++) {
        double p = 1; /* C(errors, x) C(rows - errors, drawn - x) / C(rows, drawn) */
        size_t right = rows - errors, rest = drawn - x;
        if (rest > right)
            continue;
        for (size_t i = 0; i < x; i++)
            p *= (double)(errors - i) / (double)(x - i) * (double)(drawn - i) / (double)(rows - i);
        for (size_t i = 0; i < rest; i++)
            p *= (double)(right - i) / (double)(rest - i) * (double)(rest - i) / (double)(rows - x - i);
        sum += p;
    }
    return sum;
}

static void abstaining_in_words(void **state) {
    (void)state;
    vg_finding list[VG_MAX_FINDINGS];
    vg_evaluation *e = draw(1, false, N, 0.5, 0);
    size_t count = vg_evaluation_findings(list, e, NULL);
    const vg_finding *f = find(list, count, "abstaining");
    assert_string_equal(f->verdict, "helps");
    assert_true(strcmp(f->choice, "1") == 0 || strcmp(f->choice, "2") == 0 || strcmp(f->choice, "3") == 0);
    vg_evaluation_free(e);
    e = draw(1, false, N, 1e-9, 0); /* no spread: the rule keeps everything */
    count = vg_evaluation_findings(list, e, NULL);
    assert_string_equal(find(list, count, "abstaining")->verdict, "keeps-all");
    vg_evaluation_free(e);
    /* A single k and few rows: the printed p-value is Fisher's. */
    e = draw(1, false, 120, 0.4, 0);
    vg_rule_row *r = &e->rule[0];
    e->rule_count = 1;
    count = vg_evaluation_findings(list, e, NULL);
    f = find(list, count, "abstaining");
    double p = fisher(r->rows, r->kept_errors + r->abstained_errors, r->abstained, r->abstained_errors);
    char expected[32];
    snprintf(expected, sizeof expected, p < 0.001 ? "p < 0.001" : "p = %.2g", p);
    assert_true(r->abstained > 0 && r->kept > 0);
    assert_non_null(strstr(f->text, expected));
    /* Sites of an image are not independent: neither a test nor an interval, and no test of k. */
    e->miou.value = 0.5;
    count = vg_evaluation_findings(list, e, NULL);
    f = find(list, count, "abstaining");
    assert_string_equal(f->verdict, "untested");
    assert_null(strstr(f->text, "p "));
    assert_null(strstr(f->text, "interval"));
    assert_non_null(strstr(f->text, "of the sites"));
    e->rule_count = 3;
    vg_evaluation_free(e);
}

static void classes_by_hand(void **state) {
    (void)state;
    vg_evaluation *e = draw(1, false, N, 0.3, 20);
    assert_int_equal(e->class_measure, 2); /* gmu */
    for (size_t c = 0; c < C; c++) {
        double sum = 0;
        size_t count = 0, abstained = 0;
        for (size_t i = 0; i < N; i++) {
            if (labels[i] != (int64_t)c)
                continue;
            double other = fmax(mean[i * C], mean[i * C + 2]);
            size_t second = mean[i * C] >= mean[i * C + 2] ? 0 : 2;
            sum += u[2][i];
            count++;
            abstained += !(mean[i * C + 1] - std_of[i * C + 1] > other + std_of[i * C + second]);
        }
        const vg_class_figures *f = &e->class_figures[c];
        assert_int_equal(e->per_class[c].support, count);
        assert_int_equal(f->abstained, abstained);
        if (count == 0) {
            assert_true(isnan(f->uncertainty) && isnan(f->recall.low));
            continue;
        }
        assert_true(fabs(f->uncertainty - sum / (double)count) < 1e-12);
        assert_true(f->recall.low <= f->recall.value && f->recall.value <= f->recall.high);
        size_t hits = e->per_class[c].true_positive;
        assert_true(f->recall.high == vg_bounds__clopper_pearson(hits, count, 0.975));
    }
    vg_evaluation_free(e);
}

static void diversity_comes_first(void **state) {
    (void)state;
    vg_finding list[VG_MAX_FINDINGS];
    vg_verdict verdict = VG_VERDICT_INIT;
    vg_evaluation *e = draw(1, false, 500, 0.3, 0);
    verdict.state = VG_VERDICT_COLLAPSED;
    verdict.name = "collapsed";
    snprintf(verdict.text, sizeof verdict.text, "collapsed: members agree");
    assert_int_equal(vg_evaluation_findings(list, e, &verdict), 5);
    assert_string_equal(list[0].about, "diversity");
    assert_string_equal(list[0].verdict, "collapsed");
    assert_string_equal(list[0].text, "Collapsed: members agree.");
    vg_evaluation_free(e);
}

/* Without GMU the figures of classes are of the first measure, also where it is the only one. */
static void classes_without_gmu(void **state) {
    (void)state;
    const double p[] = {.9, .1, .2, .8, .4, .6}, values[] = {1, 2, 4};
    const int64_t y[] = {0, 1, 1};
    vg_measure only = {"tu", values, 1, 0};
    vg_tally *tally;
    vg_evaluation *e;
    assert_int_equal(vg_tally_new(&tally, 2, NULL), VG_OK);
    assert_int_equal(vg_tally_feed(tally, p, NULL, y, 3), VG_OK);
    assert_int_equal(vg_evaluate(&e, tally, &only, 1, NULL), VG_OK);
    assert_int_equal(e->class_measure, 0);
    assert_true(e->class_figures[0].uncertainty == 1 && e->class_figures[1].uncertainty == 3);
    vg_evaluation_free(e);
    assert_int_equal(vg_evaluate(&e, tally, NULL, 0, NULL), VG_OK);
    assert_int_equal(e->class_measure, 0); /* of none */
    vg_evaluation_free(e);
    vg_tally_free(tally);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calibration_in_words),  cmocka_unit_test(measures_in_words),
        cmocka_unit_test(abstaining_in_words),   cmocka_unit_test(classes_by_hand),
        cmocka_unit_test(diversity_comes_first), cmocka_unit_test(classes_without_gmu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
