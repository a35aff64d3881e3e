/* test_evaluate_ranking.c - rankings, curves and OOD figures of many sizes, with and without ties, against loops over
 * the definitions; operating points and options at their ends. */
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
#include "evaluate/evaluate_internal.h"
#include "vargate/evaluate.h"

enum { MOST = 6000, POINTS = 7, CURVE = 13 };
static const double coverages[POINTS] = {1e-9, 0.2, 0.5, 0.8, 0.95, 0.999, 1};
static const double risks[POINTS] = {0, 0.01, 0.05, 0.2, 0.5, 0.9, 1};

static double u[MOST], expected_errors[MOST + 1];
static uint8_t wrong[MOST];

static void near(double found, double expected, const char *what, size_t n) {
    if (!(fabs(found - expected) <= 1e-11 * (1 + fabs(expected))) && !(isnan(found) && isnan(expected)))
        fail_msg("%s of %zu rows: %.17g, expected %.17g", what, n, found, expected);
}

static void draw(vg_random *random, size_t n, uint64_t levels, double rate) {
    for (size_t i = 0; i < n; i++) {
        u[i] = (double)vg_random__below(random, levels) - (double)(levels / 2);
        wrong[i] = vg_random__unit(random) < rate * (1 + u[i] / (double)levels);
    }
}

static int rising(const void *a, const void *b) {
    double x = u[*(const size_t *)a], y = u[*(const size_t *)b];
    return (x > y) - (x < y);
}

/* The figures by their definitions, rows of equal value in every order at once. */
static void by_hand(vg_ranking *r, double *curve, size_t n) {
    static size_t order[MOST];
    double total = 0, pairs = 0, precision = 0, seen = 0, aurc = 0, augrc = 0, best = 0;
    double covered[POINTS] = {0};
    for (size_t i = 0; i < n; i++) {
        order[i] = i;
        total += wrong[i];
    }
    qsort(order, n, sizeof *order, rising);
    expected_errors[0] = 0;
    for (size_t first = 0, end; first < n; first = end) {
        double errors = 0;
        for (end = first; end < n && u[order[end]] == u[order[first]]; end++)
            errors += wrong[order[end]];
        double mass = (double)(end - first);
        for (size_t i = first; i < end; i++)
            expected_errors[i + 1] = seen + errors * (double)(i + 1 - first) / mass;
        pairs += errors * ((double)first - seen + (mass - errors) / 2);
        precision += errors * (total - seen) / (double)(n - first);
        seen += errors;
        for (size_t p = 0; p < POINTS; p++)
            if (seen <= risks[p] * (double)end * (1 + 1e-12))
                covered[p] = (double)end;
    }
    for (size_t i = 1; i <= n; i++) {
        aurc += expected_errors[i] / (double)i;
        augrc += expected_errors[i];
        best += fmax(0, (double)i - ((double)n - total)) / (double)i;
    }
    double N = (double)n;
    r->aurc.value = aurc / N;
    r->eaurc.value = (aurc - best) / N;
    r->augrc.value = augrc / N / N;
    r->error_auroc.value = total > 0 && total < N ? pairs / total / (N - total) : NAN;
    r->error_aupr.value = total > 0 ? precision / total : NAN;
    for (size_t p = 0; p < POINTS; p++) {
        size_t at = (size_t)fmax(1, ceil(coverages[p] * N - 1e-6));
        r->risk_at[p].value = expected_errors[at] / (double)at;
        r->coverage_at[p].value = covered[p] / N;
    }
    for (size_t p = 0; p < CURVE; p++) {
        size_t at = (size_t)fmax(1, ceil(N * (double)(p + 1) / CURVE - 1e-6));
        curve[p] = expected_errors[at] / (double)at;
    }
}

static void compare(const vg_ranking *found, const vg_ranking *expected, size_t n) {
    near(found->aurc.value, expected->aurc.value, "aurc", n);
    near(found->eaurc.value, expected->eaurc.value, "eaurc", n);
    near(found->augrc.value, expected->augrc.value, "augrc", n);
    near(found->error_auroc.value, expected->error_auroc.value, "auroc", n);
    near(found->error_aupr.value, expected->error_aupr.value, "aupr", n);
    for (size_t p = 0; p < POINTS; p++) {
        near(found->risk_at[p].value, expected->risk_at[p].value, "risk", n);
        near(found->coverage_at[p].value, expected->coverage_at[p].value, "coverage", n);
    }
}

static vg_evaluate_options all_points(void) {
    vg_evaluate_options o = VG_EVALUATE_OPTIONS_INIT;
    o.coverages = coverages;
    o.risks = risks;
    o.coverage_count = o.risk_count = POINTS;
    o.curve_points = CURVE;
    return o;
}

static const size_t sizes[] = {1, 2, 3, 7, 16, 63, 64, 65, 130, 400, 2047, 2050, 6000};
static const uint64_t levels[] = {1, 2, 4, 30, 1000, 1ull << 40};
static const double rates[] = {0, 0.01, 0.1, 0.5, 0.99, 2};

static void rankings(void **state) {
    (void)state;
    vg_random random = vg_random__start(8, 0);
    vg_evaluate_options o = all_points();
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t l = 0; l < 6; l++)
            for (size_t r = 0; r < 6; r++) {
                size_t n = sizes[s];
                draw(&random, n, levels[l], rates[r]);
                vg_ranking expected, found;
                double curve[CURVE];
                by_hand(&expected, curve, n);
                vg_measure m = {"u", u, 1, 0};
                assert_int_equal(vg_rank(&found, &m, wrong, n, &o), VG_OK);
                assert_string_equal(found.name, "u");
                compare(&found, &expected, n);
                for (size_t i = 0; i < n; i++)
                    u[i] = -u[i];
                m.certainty = 1;
                assert_int_equal(vg_rank(&found, &m, wrong, n, &o), VG_OK);
                compare(&found, &expected, n);
            }
}

/* The same in an evaluation: with a curve, and of every label of a multilabel one. */
static void curves(void **state) {
    (void)state;
    enum { N = 700, C = 3 };
    static double mean[N * C], values[2][N * C];
    static int64_t labels[N * C];
    vg_random random = vg_random__start(9, 0);
    for (int multilabel = 0; multilabel < 2; multilabel++) {
        vg_tally_options how = VG_TALLY_OPTIONS_INIT;
        vg_evaluate_options o = all_points();
        vg_tally *tally;
        vg_evaluation *e;
        size_t rows = multilabel ? N * C : N;
        how.task = multilabel ? VG_TASK_MULTILABEL : VG_TASK_MULTICLASS;
        assert_int_equal(vg_tally_new(&tally, C, &how), VG_OK);
        for (size_t i = 0; i < N * C; i++) {
            mean[i] = i % C == 0 ? 0.6 : 0.2;
            labels[i] = (int64_t)vg_random__below(&random, 2);
            values[0][i] = (double)vg_random__below(&random, 50);
            values[1][i] = -(double)vg_random__below(&random, 5000);
        }
        assert_int_equal(vg_tally_feed(tally, mean, NULL, labels, N), VG_OK);
        vg_measure m[2] = {{"a", values[0], 1, 0}, {"b", values[1], 1, 1}};
        assert_int_equal(vg_evaluate(&e, tally, m, 2, &o), VG_OK);
        assert_int_equal(e->label_count, multilabel ? C : 0);
        assert_int_equal(e->curve_points, CURVE);
        for (size_t c = 0; c < POINTS; c++)
            assert_true(e->coverages[c] == coverages[c] && e->risks[c] == risks[c]);
        for (size_t k = 0; k < 2; k++)
            for (size_t part = 0; part <= e->label_count; part++) { /* 0: all rows */
                size_t step = part ? C : 1, first = part ? part - 1 : 0, n = rows / step;
                double curve[CURVE];
                vg_ranking expected;
                for (size_t i = 0; i < n; i++) {
                    u[i] = k ? -values[1][first + i * step] : values[0][first + i * step];
                    wrong[i] = vg_tally__info(tally).errors[first + i * step];
                }
                by_hand(&expected, curve, n);
                compare(part ? &e->labels[first].measures[k] : &e->measures[k], &expected, n);
                for (size_t p = 0; !part && p < CURVE; p++)
                    near(e->measures[k].curve[p], curve[p], "curve", n);
            }
        vg_evaluation_free(e);
        vg_tally_free(tally);
    }
}

/* --- OOD ---------------------------------------------------------------------------------------------------------- */
static void ood_by_hand(vg_ood_row *row, const double *id, size_t I, const double *ood, size_t O) {
    double pairs = 0, out = 0, in = 0, fpr95 = 1, detection = 0.5;
    for (size_t j = 0; j < O; j++) {
        double above = 0, positives = 0, caught = 0, false_alarms = 0;
        for (size_t i = 0; i < I; i++) {
            above += ood[j] > id[i] ? 1 : ood[j] == id[i] ? 0.5 : 0;
            false_alarms += id[i] >= ood[j];
        }
        for (size_t k = 0; k < O; k++)
            caught += ood[k] >= ood[j];
        positives = caught + false_alarms;
        pairs += above;
        out += caught / positives;
        if (caught >= 0.95 * (double)O * (1 - 1e-12))
            fpr95 = fmin(fpr95, false_alarms / (double)I);
        detection = fmin(detection, (false_alarms / (double)I + 1 - caught / (double)O) / 2);
    }
    for (size_t i = 0; i < I; i++) {
        double mine = 0, theirs = 0;
        for (size_t k = 0; k < I; k++)
            mine += id[k] <= id[i];
        for (size_t k = 0; k < O; k++)
            theirs += ood[k] <= id[i];
        in += mine / (mine + theirs);
    }
    row->auroc.value = pairs / (double)I / (double)O;
    row->aupr_out.value = out / (double)O;
    row->aupr_in.value = in / (double)I;
    row->fpr95.value = fpr95;
    row->detection_error.value = detection;
}

static void ood_figures(void **state) {
    (void)state;
    vg_random random = vg_random__start(10, 0);
    static double id[2][400], ood[2][400];
    static const size_t counts[] = {1, 2, 19, 20, 21, 100, 400};
    for (size_t a = 0; a < 7; a++)
        for (size_t b = 0; b < 7; b++)
            for (int way = 0; way < 4; way++) {
                size_t I = counts[a], O = counts[b];
                uint64_t many = way & 1 ? 6 : 1u << 30;
                for (size_t m = 0; m < 2; m++) {
                    for (size_t i = 0; i < I; i++)
                        id[m][i] = (double)vg_random__below(&random, many);
                    for (size_t i = 0; i < O; i++)
                        ood[m][i] = (double)vg_random__below(&random, many) + (double)(many / 4);
                }
                vg_ood_options o = VG_OOD_OPTIONS_INIT;
                vg_ood_row found[2], expected[2];
                for (size_t m = 0; m < 2; m++)
                    ood_by_hand(&expected[m], id[m], I, ood[m], O);
                for (size_t i = 0; i < I; i++)
                    id[1][i] = -id[1][i];
                for (size_t i = 0; i < O; i++)
                    ood[1][i] = -ood[1][i];
                vg_measure mi[2] = {{"x", id[0], 1, 0}, {"y", id[1], 1, 1}};
                vg_measure mo[2] = {{"x", ood[0], 1, 0}, {"y", ood[1], 1, 1}};
                o.resamples = way & 2 ? 9 : 0; /* the figures come from another walk */
                o.threads = 1 + (unsigned)way;
                assert_int_equal(vg_ood_evaluate(found, mi, I, mo, O, 2, &o), VG_OK);
                for (size_t m = 0; m < 2; m++) {
                    assert_string_equal(found[m].name, m ? "y" : "x");
                    near(found[m].auroc.value, expected[m].auroc.value, "auroc", I + O);
                    near(found[m].aupr_out.value, expected[m].aupr_out.value, "aupr out", I + O);
                    near(found[m].aupr_in.value, expected[m].aupr_in.value, "aupr in", I + O);
                    near(found[m].fpr95.value, expected[m].fpr95.value, "fpr95", I + O);
                    near(found[m].detection_error.value, expected[m].detection_error.value, "detection", I + O);
                    assert_int_equal(isnan(found[m].auroc.low), !(way & 2));
                }
            }
}

/* --- options ------------------------------------------------------------------------------------------------------ */
static vg_status rank_at(const double *coverage, size_t coverage_count, const double *risk, size_t risk_count) {
    vg_evaluate_options o = VG_EVALUATE_OPTIONS_INIT;
    vg_measure m = {"u", u, 1, 0};
    vg_ranking r;
    o.coverages = coverage;
    o.coverage_count = coverage_count;
    o.risks = risk;
    o.risk_count = risk_count;
    return vg_rank(&r, &m, wrong, 10, &o);
}

static void operating_points(void **state) {
    (void)state;
    static const double many[] = {.1, .2, .3, .4, .5, .6, .7, .8, .9};
    const double over = 1 + 1e-9, none = 0, less = -1e-9, one = 1, nan = NAN;
    assert_int_equal(rank_at(many, VG_MAX_OPERATING_POINTS, many, VG_MAX_OPERATING_POINTS), VG_OK);
    assert_int_equal(rank_at(many, VG_MAX_OPERATING_POINTS + 1, many, 1), VG_ERR_ARGUMENT);
    assert_int_equal(rank_at(many, 1, many, VG_MAX_OPERATING_POINTS + 1), VG_ERR_ARGUMENT);
    assert_int_equal(rank_at(&one, 1, &one, 1), VG_OK);
    assert_int_equal(rank_at(&over, 1, &one, 1), VG_ERR_ARGUMENT);
    assert_int_equal(rank_at(&none, 1, &one, 1), VG_ERR_ARGUMENT);
    assert_int_equal(rank_at(&nan, 1, &one, 1), VG_ERR_ARGUMENT);
    assert_int_equal(rank_at(&one, 1, &none, 1), VG_OK);
    assert_int_equal(rank_at(&one, 1, &less, 1), VG_ERR_ARGUMENT);
    assert_int_equal(rank_at(&one, 1, &over, 1), VG_ERR_ARGUMENT);
    assert_int_equal(rank_at(&one, 1, &nan, 1), VG_ERR_ARGUMENT);
    assert_int_equal(rank_at(NULL, 0, NULL, 0), VG_OK);
}

static void ood_options(void **state) {
    (void)state;
    const double v[] = {1, 2};
    vg_ood_options o = VG_OOD_OPTIONS_INIT;
    vg_ood_row row;
    vg_measure m = {"x", v, 1, 0}, sure = {"x", v, 1, 1};
    o.resamples = 8;
    static const double confidences[] = {0, 1, NAN};
    for (int i = 0; i < 3; i++) {
        o.confidence = confidences[i];
        assert_int_equal(vg_ood_evaluate(&row, &m, 2, &m, 2, 1, &o), VG_ERR_ARGUMENT);
    }
    o.resamples = 0; /* then it is not read */
    assert_int_equal(vg_ood_evaluate(&row, &m, 2, &m, 2, 1, &o), VG_OK);
    assert_int_equal(vg_ood_evaluate(&row, &m, 2, &sure, 2, 1, NULL), VG_ERR_ARGUMENT);
    assert_int_equal(vg_ood_evaluate(NULL, &m, 2, &m, 2, 1, NULL), VG_ERR_ARGUMENT);
    assert_int_equal(vg_ood_evaluate(&row, NULL, 2, &m, 2, 1, NULL), VG_ERR_ARGUMENT);
    assert_int_equal(vg_ood_evaluate(&row, &m, 2, NULL, 2, 1, NULL), VG_ERR_ARGUMENT);
    assert_int_equal(vg_ood_evaluate(NULL, NULL, 2, NULL, 2, 0, NULL), VG_OK);
    assert_int_equal(vg_ood_evaluate(&row, &m, UINT32_MAX, &m, 1, 1, NULL), VG_ERR_ARGUMENT);
    assert_int_equal(vg_ood_evaluate(&row, &m, SIZE_MAX, &m, 2, 1, NULL), VG_ERR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rankings),         cmocka_unit_test(curves),      cmocka_unit_test(ood_figures),
        cmocka_unit_test(operating_points), cmocka_unit_test(ood_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
