/* test_evaluate_hand.c - evaluation by hand: small cases worked out on paper, the decision rule, names and columns,
 * refusals, and that the order of the samples, the cut into blocks and the thread count do not matter. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "evaluate/evaluate_internal.h"
#include "vargate/evaluate.h"

static void near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-14))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

/* Four samples, two bins: confidences .9 right, .8 wrong, .6 right, .5 right (tie, lower class). */
static void test_four_samples(void **state) {
    (void)state;
    const double mean[] = {.9, .1, .2, .8, .6, .4, .5, .5};
    const int64_t labels[] = {0, 0, 0, 0};
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    options.bins = 2;
    vg_tally *tally;
    vg_evaluation *e;
    assert_int_equal(vg_tally_new(&tally, 2, &options), VG_OK);
    assert_int_equal(vg_tally_feed(tally, mean, NULL, labels, 4), VG_OK);
    assert_int_equal(vg_evaluate(&e, tally, NULL, 0, NULL), VG_OK);
    near(e->accuracy.value, 0.75);
    near(e->f1_macro.value, (2 * 3. / 7 + 0) / 2); /* class 1: predicted once, never true: F1 0, and it counts */
    /* (0, .5]: .5 right: gap .5. (.5, 1]: .9 + .8 + .6 = 2.3 against 2 right: gap .3 */
    near(e->ece.value, (0.5 + 0.3) / 4);
    near(e->mce.value, 0.5);
    /* two by two: .5, .6 both right: .9; .8, .9 one right: .7 */
    near(e->ece_adaptive.value, (0.9 + 0.7) / 4);
    /* class 0, always true: low bin .2, .5 against 2: 1.3; high .9, .6 against 2: .5. Class 1, never: .1 + .4 + .5 =
     * 1.0, .8 */
    near(e->ece_classwise.value, (1.3 + .5 + 1.0 + .8) / 8);
    near(e->nll.value, -(log(.9) + log(.2) + log(.6) + log(.5)) / 4);
    near(e->brier.value, (2 * .01 + 2 * .64 + 2 * .16 + 2 * .25) / 4);
    assert_int_equal(e->reliability[0].count, 1);
    assert_int_equal(e->reliability[1].count, 3);
    assert_int_equal(e->confusion[0], 3);
    assert_int_equal(e->confusion[1], 1);
    assert_int_equal(e->rule_count, 0);
    vg_evaluation_free(e);
    vg_tally_free(tally);
}

/* Five rows in the order right, wrong, right, right, wrong. */
static void test_ranking_by_hand(void **state) {
    (void)state;
    const double u[] = {.1, .2, .3, .4, .5};
    const uint8_t errors[] = {0, 1, 0, 0, 1};
    const double coverages[] = {.2, .4, 1}, risks[] = {0, .25, .3, .5};
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    options.coverages = coverages;
    options.coverage_count = 3;
    options.risks = risks;
    options.risk_count = 4;
    vg_measure measure = {"u", u, 1, 0};
    vg_ranking r;
    assert_int_equal(vg_rank(&r, &measure, errors, 5, &options), VG_OK);
    near(r.aurc.value, (0 + 1. / 2 + 1. / 3 + 1. / 4 + 2. / 5) / 5);
    near(r.eaurc.value, r.aurc.value - (1. / 4 + 2. / 5) / 5);
    near(r.augrc.value, (0 + 1 + 1 + 1 + 2) / 25.);
    near(r.error_auroc.value, 4. / 6); /* the first error is above one of three, the second above all */
    near(r.error_aupr.value, .5 * 1 + .5 * (2. / 4));
    near(r.risk_at[0].value, 0);
    near(r.risk_at[1].value, 1. / 2);
    near(r.risk_at[2].value, 2. / 5);
    near(r.coverage_at[0].value, .2);
    near(r.coverage_at[1].value, .8);
    near(r.coverage_at[2].value, .8);
    near(r.coverage_at[3].value, 1);
    /* AUGRC's identity with AUROC: (1 - AUROC) acc err + err^2 / 2 + err / (2 N) */
    near(r.augrc.value, (1 - 4. / 6) * .6 * .4 + .08 + .4 / 10);
}

static void test_everything_tied(void **state) {
    (void)state;
    const double u[6] = {-0.0, 0, 0, -0.0, 0, 0};
    const uint8_t errors[6] = {1, 0, 0, 1, 0, 0};
    vg_measure measure = {"u", u, 1, 0};
    vg_ranking r;
    assert_int_equal(vg_rank(&r, &measure, errors, 6, NULL), VG_OK);
    near(r.aurc.value, 1. / 3); /* any order is as good: the error rate at every coverage */
    near(r.risk_at[0].value, 1. / 3);
    near(r.coverage_at[0].value, 0); /* a threshold keeps all or none */
    near(r.error_auroc.value, .5);
    near(r.error_aupr.value, 1. / 3);
}

static void test_degenerate_rankings(void **state) {
    (void)state;
    const double u[] = {3, 1, 2};
    const uint8_t none[] = {0, 0, 0}, all[] = {1, 1, 1};
    vg_measure measure = {"u", u, 1, 0};
    vg_ranking r;
    assert_int_equal(vg_rank(&r, &measure, none, 3, NULL), VG_OK);
    near(r.aurc.value, 0);
    near(r.eaurc.value, 0);
    near(r.coverage_at[0].value, 1);
    assert_true(isnan(r.error_auroc.value) && isnan(r.error_aupr.value));
    assert_int_equal(vg_rank(&r, &measure, all, 3, NULL), VG_OK);
    near(r.aurc.value, 1);
    near(r.eaurc.value, 0);
    near(r.augrc.value, (1 + 2 + 3) / 9.);
    near(r.coverage_at[1].value, 0);
    near(r.error_aupr.value, 1);
    assert_true(isnan(r.error_auroc.value));
}

/* Values of every sign and size, infinities among them, sort as a plain comparison sort does, for both sorts. */
static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void test_sorting(void **state) {
    (void)state;
    const size_t sizes[] = {0, 1, 2, 24, 25, 1000, 50000, 300000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t n = sizes[s];
        for (int kind = 0; kind < 4; kind++) {
            vg_random random = vg_random__start(7, s * 4 + (size_t)kind);
            double *x = calloc(n + 1, sizeof *x);
            uint64_t *keys = calloc(2 * n + 1, sizeof *keys);
            vg_keyed *pairs = calloc(2 * n + 1, sizeof *pairs);
            for (size_t i = 0; i < n; i++) {
                double r = vg_random__unit(&random);
                x[i] = kind == 0   ? r
                       : kind == 1 ? floor(8 * r) - 4
                       : kind == 2 ? exp(600 * (r - .5)) * (i % 2 ? 1 : -1)
                                   : 1 + r * 1e-13;
                if (kind == 2 && i % 97 == 0)
                    x[i] = i % 2 ? (double)INFINITY : -(double)INFINITY;
                keys[i] = vg_evaluate__key(x[i]);
                pairs[i] = (vg_keyed){keys[i], (uint32_t)i};
            }
            vg_evaluate__sort_keys(keys, keys + n, n);
            assert_int_equal(vg_evaluate__sort_pairs(pairs, pairs + n, n, NULL, 0), VG_OK);
            for (size_t i = 0; i < n; i++)
                assert_true(pairs[i].key == vg_evaluate__key(x[pairs[i].row]));
            qsort(x, n, sizeof *x, by_value);
            for (size_t i = 0; i < n; i++)
                assert_true(keys[i] == vg_evaluate__key(x[i]) && pairs[i].key == keys[i] &&
                            vg_evaluate__unkey(keys[i]) == x[i]);
            free(x);
            free(keys);
            free(pairs);
        }
    }
}

/* Many rows, few errors: rows are placed, not sorted. Against a plain sort and a walk position by position. */
typedef struct pair {
    double u;
    uint8_t error;
} pair;

static int by_uncertainty(const void *a, const void *b) {
    return by_value(&((const pair *)a)->u, &((const pair *)b)->u);
}

static void check_many(int kind, double rate) {
    enum { ROWS = 30000, POINTS = 50 };
    static double u[ROWS], risk[POINTS];
    static uint8_t errors[ROWS];
    static pair pairs[ROWS];
    static double expected[ROWS + 1]; /* errors among the first i, ties averaged */
    vg_random random = vg_random__start(21, (uint64_t)kind);
    for (size_t i = 0; i < ROWS; i++) {
        double r = vg_random__unit(&random);
        u[i] = kind == 0   ? r
               : kind == 1 ? exp(-40 * r) * (r < .3 ? -1 : 1)
               : kind == 2 ? floor(100 * r * r)
                           : (r < .5 ? 1e-300 * r : 1e300 + r); /* all errors in one coarse bucket, or two */
        errors[i] = vg_random__unit(&random) < rate * (kind == 1 ? 1 : 2 * r);
        pairs[i] = (pair){u[i], errors[i]};
    }
    qsort(pairs, ROWS, sizeof *pairs, by_uncertainty);
    double aurc = 0, augrc = 0, auroc = 0, wrong = 0, right = 0;
    for (size_t i = 0; i < ROWS;) {
        size_t end = i, group = 0;
        for (; end < ROWS && pairs[end].u == pairs[i].u; end++)
            group += pairs[end].error;
        auroc += (double)group * (right + (double)(end - i - group) / 2);
        for (size_t j = i; j < end; j++) {
            expected[j + 1] = wrong + (double)group * (double)(j + 1 - i) / (double)(end - i);
            aurc += expected[j + 1] / (double)(j + 1);
            augrc += expected[j + 1];
        }
        wrong += (double)group;
        right += (double)(end - i - group);
        i = end;
    }
    vg_measure measure = {"u", u, 1, 0};
    vg_ranking r;
    assert_int_equal(vg_rank(&r, &measure, errors, ROWS, NULL), VG_OK);
    assert_true(fabs(r.aurc.value - aurc / ROWS) < 1e-13);
    assert_true(fabs(r.augrc.value - augrc / ROWS / ROWS) < 1e-13);
    assert_true(fabs(r.error_auroc.value - auroc / (wrong * right)) < 1e-13);
    assert_true(fabs(r.risk_at[1].value - expected[27000] / 27000) < 1e-13);
    assert_int_equal(vg_risk_coverage(risk, POINTS, &measure, errors, ROWS), VG_OK);
    for (size_t i = 0; i < POINTS; i++)
        assert_true(fabs(risk[i] - expected[(i + 1) * ROWS / POINTS] / (double)((i + 1) * ROWS / POINTS)) < 1e-13);
}

static void test_many_rows(void **state) {
    (void)state;
    const double rates[] = {.0005, .02, .05, .3};
    for (int kind = 0; kind < 4; kind++)
        for (size_t r = 0; r < 4; r++)
            check_many(kind, rates[r]);
}

/* --- the rule --------------------------------------------------------------------------------------------------- */
static void test_margin_ratio(void **state) {
    (void)state;
    const double mean[] = {.5, .3, .2, .1, .8, .1, .4, .2, .4, .7, .3, 0};
    const double std[] = {.05, .05, .1, 0, .1, .2, 0, 0, 0, 0, 0, .5};
    double ratio[4], again[4];
    assert_int_equal(vg_margin_ratio(ratio, mean, std, NULL, NULL, 4, 3), VG_OK);
    near(ratio[0], (.5 - .3) / .1);
    near(ratio[1], (.8 - .1) / (.1 + 0)); /* second: class 0, the lower of the tie, not class 2 */
    near(ratio[2], 0);                    /* a tie, no spread: never kept */
    assert_true(isinf(ratio[3]) && ratio[3] > 0);
    const int32_t pred[] = {0, 1, 0, 0}, second[] = {1, 0, 2, 1};
    assert_int_equal(vg_margin_ratio(again, mean, std, pred, second, 4, 3), VG_OK);
    assert_memory_equal(ratio, again, sizeof ratio);
    const double u[] = {.9, .2, .5, 1}, spread[] = {.1, .3, 0, 0};
    assert_int_equal(vg_margin_ratio(ratio, u, spread, NULL, NULL, 4, 1), VG_OK);
    near(ratio[0], .8 / .2);
    near(ratio[1], .6 / .6);
    near(ratio[2], 0);
    assert_true(isinf(ratio[3]));
}

/* k < ratio is the rule itself, for any means and spreads. */
static void test_ratio_is_the_rule(void **state) {
    (void)state;
    vg_random random = vg_random__start(3, 0);
    for (size_t i = 0; i < 20000; i++) {
        double p = vg_random__unit(&random), mean[2] = {p, 1 - p},
               std[2] = {vg_random__unit(&random) / 2, vg_random__unit(&random) / 2};
        double k = 4 * vg_random__unit(&random), ratio;
        assert_int_equal(vg_margin_ratio(&ratio, mean, std, NULL, NULL, 1, 2), VG_OK);
        size_t top = p < 1 - p, low = !top;
        bool rule = mean[top] - k * std[top] > mean[low] + k * std[low];
        if (fabs(k / ratio - 1) > 1e-12)
            assert_int_equal(k < ratio, rule);
    }
}

static void test_rule_counts(void **state) {
    (void)state;
    double ratio[] = {.5, 1, 1.5, 2.5, INFINITY, 0};
    uint8_t errors[] = {1, 0, 1, 0, 0, 0};
    int32_t labels[] = {0, 1, 2, 2, 1, 0}, predictions[] = {1, 1, 0, 2, 1, 0};
    const double k[] = {1, 2, 100};
    size_t by_label[3][3] = {{0}}, by_prediction[3][3] = {{0}};
    vg_tally rows = {.classes = 3, .rows = 6, .ratio = ratio, .error = errors, .label = labels};
    rows.prediction = predictions;
    vg_rule_row rule[3] = {{0}};
    for (size_t j = 0; j < 3; j++) {
        rule[j].abstained_by_label = by_label[j];
        rule[j].abstained_by_prediction = by_prediction[j];
        vg_evaluate__rule_of_tally(&rule[j], k[j], &rows);
    }
    assert_int_equal(rule[0].kept, 3); /* 1 is not below 1 */
    assert_int_equal(rule[0].kept_errors, 1);
    assert_int_equal(rule[0].abstained, 3);
    assert_int_equal(rule[0].abstained_errors, 1);
    assert_int_equal(rule[0].abstained_correct, 2);
    near(rule[0].coverage.value, .5);
    near(rule[0].accuracy.value, 2. / 3);
    assert_int_equal(by_label[0][0], 2);
    assert_int_equal(by_label[0][1], 1);
    assert_int_equal(by_label[0][2], 0);
    assert_int_equal(by_prediction[0][0], 1);
    assert_int_equal(by_prediction[0][1], 2);
    near(rule[1].accuracy.value, 1);
    assert_int_equal(rule[2].kept, 1);
    assert_string_equal(rule[2].name, "100");
    size_t counts[2][3] = {{0}};
    vg_rule_row none = {.abstained_by_label = counts[0], .abstained_by_prediction = counts[1]};
    rows.rows = 1;
    vg_evaluate__rule_of_tally(&none, 3, &rows);
    near(none.coverage.value, 0);
    assert_true(isnan(none.accuracy.value));
}

/* --- names and columns ------------------------------------------------------------------------------------------ */
static void test_names(void **state) {
    (void)state;
    const struct {
        double k;
        const char *name;
    } all[] = {{1, "1"},
               {0.5, "0.5"},
               {100, "100"},
               {2.25, "2.25"},
               {0.1, "0.1"},
               {1e-3, "0.001"},
               {12345.678, "12345.678"},
               {1. / 3, "0.3333333333333333"},
               {1e20, "1e+20"},
               {10, "10"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char name[VG_NAME_SIZE];
        vg_k_name(name, all[i].k);
        assert_string_equal(name, all[i].name);
        assert_true(strtod(name, NULL) == all[i].k);
    }
}

static void test_columns(void **state) {
    (void)state;
    const double k[] = {1, 0.25};
    vg_columns *columns;
    vg_scores places;
    vg_measure list[16], found;
    unsigned which = VG_COLUMN_TU | VG_COLUMN_SNR | VG_COLUMN_GTU | VG_COLUMN_GEPJS;
    assert_int_equal(vg_columns__new(&columns, 10, k, 2, which), VG_OK);
    for (size_t row = 0; row < 10; row++) {
        vg_columns__at(columns, row, &places);
        assert_null(places.au);
        assert_null(places.mean);
        places.tu[0] = (double)row;
        places.snr[0] = 100 + (double)row;
        for (size_t j = 0; j < 2; j++) {
            places.gtu[j] = 1000 * (double)(j + 1) + (double)row;
            places.gepjs[j] = -1000 * (double)(j + 1) - (double)row;
        }
    }
    assert_int_equal(vg_columns__measures(columns, list, 16), 6);
    assert_string_equal(list[0].name, "tu");
    assert_string_equal(list[1].name, "snr");
    assert_string_equal(list[2].name, "gtu@1");
    assert_string_equal(list[5].name, "gepjs@0.25");
    assert_int_equal(list[0].certainty, 0);
    assert_int_equal(list[1].certainty, 1);
    assert_int_equal(vg_columns__find(columns, "gepjs@0.25", &found), VG_OK);
    for (size_t row = 0; row < 10; row++)
        near(found.values[row * found.stride], -2000 - (double)row);
    assert_int_equal(vg_columns__find(columns, "gtu@2", &found), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "gtu@0.25"));
    vg_columns__free(columns);
    static const char *const usual[] = {"gtu@1", "gtu@2", "gtu@3"};
    for (int given = 0; given < 2; given++) { /* no k: 1, 2 and 3 */
        assert_int_equal(vg_columns__new(&columns, 10, given ? k : NULL, 0, VG_COLUMN_GTU), VG_OK);
        assert_int_equal(vg_columns__measures(columns, list, 16), 3);
        for (size_t j = 0; j < 3; j++)
            assert_string_equal(list[j].name, usual[j]);
        vg_columns__free(columns);
    }
    assert_int_equal(vg_columns__new(&columns, SIZE_MAX / 2, k, 2, VG_COLUMNS_ALL), VG_ERR_MEMORY);
    assert_int_equal(vg_columns__new(&columns, 1, k, 2, 1u << 27), VG_ERR_ARGUMENT);
}

/* --- refusals --------------------------------------------------------------------------------------------------- */
static void refused(vg_status found, vg_status expected, const char *words) {
    assert_int_equal(found, expected);
    if (!strstr(vg_error_message(), words))
        fail_msg("message '%s' does not say '%s'", vg_error_message(), words);
}

static void test_refusals(void **state) {
    (void)state;
    double mean[] = {.5, .5, .2, .8, .1, .9}, std[6] = {0};
    int64_t labels[] = {0, 1, 1};
    vg_tally *tally;
    vg_evaluation *e;
    assert_int_equal(vg_tally_new(&tally, 2, NULL), VG_OK);
    refused(vg_evaluate(&e, tally, NULL, 0, NULL), VG_ERR_DATA, "no samples");
    assert_int_equal(vg_tally_feed(tally, mean, NULL, labels, 1), VG_OK);
    labels[2] = 2;
    refused(vg_tally_feed(tally, mean + 2, NULL, labels + 1, 2), VG_ERR_DATA, "label 2 is 2, expected 0 to 1");
    labels[2] = -1;
    refused(vg_tally_feed(tally, mean + 2, NULL, labels + 1, 2), VG_ERR_DATA, "label 2 is -1");
    labels[2] = 1;
    mean[5] = NAN;
    refused(vg_tally_feed(tally, mean + 2, NULL, labels + 1, 2), VG_ERR_DATA, "sample 2, class 1");
    mean[5] = .9;
    refused(vg_tally_feed(tally, mean + 2, std, labels + 1, 2), VG_ERR_ARGUMENT, "std");
    assert_int_equal(vg_tally__info(tally).rows, 1); /* refused blocks left no trace */
    assert_int_equal(vg_tally_feed(tally, mean + 2, NULL, labels + 1, 2), VG_OK);
    double u[] = {1, 2, NAN};
    vg_measure measure = {"gtu@2", u, 1, 0};
    refused(vg_evaluate(&e, tally, &measure, 1, NULL), VG_ERR_DATA, "gtu@2: value 2 is NaN");
    assert_null(e);
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    options.resamples = 10;
    refused(vg_evaluate(&e, tally, NULL, 0, &options), VG_ERR_ARGUMENT, "bootstrap = 1");
    const double zero = 0;
    options = (vg_evaluate_options)VG_EVALUATE_OPTIONS_INIT;
    options.k = &zero;
    options.k_count = 1;
    refused(vg_evaluate(&e, tally, NULL, 0, &options), VG_ERR_ARGUMENT, "k 0 is 0");
    vg_tally_free(tally);
    refused(vg_tally_new(&tally, 1, NULL), VG_ERR_ARGUMENT, "1 classes");
    vg_tally_options bad = VG_TALLY_OPTIONS_INIT;
    bad.bins = 0;
    refused(vg_tally_new(&tally, 3, &bad), VG_ERR_ARGUMENT, "0 bins");
    bad = (vg_tally_options)VG_TALLY_OPTIONS_INIT;
    bad.task = VG_TASK_MULTILABEL;
    refused(vg_tally_new(&tally, 0, &bad), VG_ERR_ARGUMENT, "0 classes, expected 1");
    assert_int_equal(vg_tally_new(&tally, 2, &bad), VG_OK);
    const int64_t two[] = {0, 1, 0, 2};
    refused(vg_tally_feed(tally, mean, NULL, two, 2), VG_ERR_DATA, "sample 1, label 1: value 2");
    vg_tally_free(tally);
    vg_ood_row row;
    vg_measure id = {"tu", u, 1, 0}, ood = {"au", u, 1, 0};
    refused(vg_ood_evaluate(&row, &id, 2, &ood, 2, 1, NULL), VG_ERR_ARGUMENT, "tu of the ID samples and au");
    refused(vg_ood_evaluate(&row, &id, 2, &id, 3, 1, NULL), VG_ERR_DATA, "value 2 of the OOD samples is NaN");
    vg_measure empty = {"tu", NULL, 1, 0};
    refused(vg_ood_evaluate(&row, &empty, 1, &id, 2, 1, NULL), VG_ERR_ARGUMENT, "tu has no values");
    refused(vg_ood_evaluate(&row, &id, 2, &empty, 1, 1, NULL), VG_ERR_ARGUMENT, "tu has no values");
    assert_int_equal(vg_ood_evaluate(&row, &id, 2, &id, 0, 1, NULL), VG_OK);
    assert_true(isnan(row.auroc.value) && isnan(row.fpr95.value));
}

/* --- what must not matter --------------------------------------------------------------------------------------- */
enum { N = 5000, C = 7, MEASURES = 3 };
typedef struct world {
    double mean[N * C], std[N * C], u[MEASURES][N];
    int64_t labels[N];
} world;

static void make_world(world *w) {
    vg_random random = vg_random__start(11, 0);
    for (size_t i = 0; i < N; i++) {
        double sum = 0;
        for (size_t c = 0; c < C; c++)
            sum += w->mean[i * C + c] = pow(vg_random__unit(&random), 4);
        for (size_t c = 0; c < C; c++) {
            w->mean[i * C + c] /= sum;
            w->std[i * C + c] = vg_random__unit(&random) * .2;
        }
        double pick = vg_random__unit(&random);
        size_t label = 0;
        for (; label < C - 1 && pick > w->mean[i * C + label]; label++)
            pick -= w->mean[i * C + label];
        w->labels[i] = (int64_t)label;
        for (size_t m = 0; m < MEASURES; m++)
            w->u[m][i] = m == 0   ? vg_random__unit(&random)
                         : m == 1 ? floor(20 * w->mean[i * C])
                                  : log(w->mean[i * C + 1] + 1e-9);
    }
}

static vg_evaluation *evaluate(const world *w, const size_t *order, size_t block, unsigned threads, vg_tally **keep) {
    double *mean = malloc(sizeof w->mean), *std = malloc(sizeof w->std), *u = malloc(sizeof w->u);
    int64_t *labels = malloc(sizeof w->labels);
    for (size_t i = 0; i < N; i++) {
        memcpy(mean + i * C, w->mean + order[i] * C, C * sizeof(double));
        memcpy(std + i * C, w->std + order[i] * C, C * sizeof(double));
        labels[i] = w->labels[order[i]];
        for (size_t m = 0; m < MEASURES; m++)
            u[i * MEASURES + m] = w->u[m][order[i]];
    }
    vg_measure measures[MEASURES] = {{"a", u, MEASURES, 0}, {"b", u + 1, MEASURES, 1}, {"c", u + 2, MEASURES, 0}};
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    options.threads = threads;
    options.curve_points = 20;
    vg_tally *tally;
    vg_evaluation *e;
    assert_int_equal(vg_tally_new(&tally, C, NULL), VG_OK);
    for (size_t first = 0; first < N; first += block)
        assert_int_equal(vg_tally_feed(tally, mean + first * C, std + first * C, labels + first,
                                       block < N - first ? block : N - first),
                         VG_OK);
    assert_int_equal(vg_evaluate(&e, tally, measures, MEASURES, &options), VG_OK);
    free(mean);
    free(std);
    free(u);
    free(labels);
    *keep = tally;
    return e;
}

/* Every figure of two evaluations: bits of those that are counted, `tolerance` for sums. */
static void same(const vg_evaluation *a, const vg_evaluation *b, double tolerance) {
    const vg_estimate *x = &a->accuracy, *y = &b->accuracy; /* the eight first figures lie in a row */
    for (size_t i = 0; i < 8; i++)
        assert_true(fabs(x[i].value - y[i].value) <= tolerance);
    for (size_t m = 0; m < MEASURES; m++) {
        const vg_ranking *r = &a->measures[m], *s = &b->measures[m];
        assert_true(r->aurc.value == s->aurc.value && r->eaurc.value == s->eaurc.value &&
                    r->augrc.value == s->augrc.value);
        assert_true(r->error_auroc.value == s->error_auroc.value && r->error_aupr.value == s->error_aupr.value);
        assert_memory_equal(r->curve, s->curve, 20 * sizeof(double));
        for (size_t i = 0; i < 3; i++)
            assert_true(r->risk_at[i].value == s->risk_at[i].value);
        for (size_t i = 0; i < 2; i++)
            assert_true(r->coverage_at[i].value == s->coverage_at[i].value);
    }
    assert_int_equal(a->rule_count, 3);
    for (size_t j = 0; j < a->rule_count; j++) {
        assert_int_equal(a->rule[j].kept, b->rule[j].kept);
        assert_int_equal(a->rule[j].abstained_errors, b->rule[j].abstained_errors);
        assert_memory_equal(a->rule[j].abstained_by_label, b->rule[j].abstained_by_label, 2 * C * sizeof(size_t));
    }
}

static void test_what_must_not_matter(void **state) {
    (void)state;
    world *w = calloc(1, sizeof *w);
    size_t *order = malloc(N * sizeof *order);
    make_world(w);
    for (size_t i = 0; i < N; i++)
        order[i] = i;
    vg_tally *tally, *other;
    vg_evaluation *base = evaluate(w, order, N, 1, &tally);
    assert_true(base->accuracy.value > .3 && base->accuracy.value < .9);
    const size_t blocks[] = {1, 7, 4999};
    for (unsigned i = 0; i < 3; i++) { /* blocks and threads: to the bit */
        vg_evaluation *e = evaluate(w, order, blocks[i], i + 2, &other);
        same(base, e, 0);
        vg_evaluation_free(e);
        vg_tally_free(other);
    }
    vg_random random = vg_random__start(1, 1);
    vg_random__shuffle(&random, order, N);
    vg_evaluation *e = evaluate(w, order, 500, 2, &other);
    same(base, e, 1e-12);
    vg_evaluation_free(e);
    vg_evaluation_free(base);
    vg_tally_free(tally);
    vg_tally_free(other);
    free(order);
    free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four_samples),
        cmocka_unit_test(test_ranking_by_hand),
        cmocka_unit_test(test_everything_tied),
        cmocka_unit_test(test_degenerate_rankings),
        cmocka_unit_test(test_sorting),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_margin_ratio),
        cmocka_unit_test(test_ratio_is_the_rule),
        cmocka_unit_test(test_rule_counts),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_what_must_not_matter),
    };
    return cmocka_run_group_tests_name("evaluate: by hand", tests, NULL, NULL);
}
