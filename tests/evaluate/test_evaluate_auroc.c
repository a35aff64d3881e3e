/* test_evaluate_auroc.c - AUROC, DeLong's variance and paired comparison against sums over all pairs; samples of
 * several rows; perfect separation and other ends. The interval of coverage at risk against its definition. */
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
#include "evaluate/evaluate_internal.h"
#include "vargate/evaluate.h"

enum { N = 701 };
static const double z95 = 1.959963984540054;

static double kernel(double positive, double negative) {
    return positive > negative ? 1 : positive == negative ? .5 : 0;
}

/* The area and the placement of every row, by all pairs. */
static double by_pairs(double *placement, const double *u, const uint8_t *positive, size_t n) {
    double area = 0, counts[2] = {0, 0};
    for (size_t i = 0; i < n; i++)
        counts[positive[i]]++;
    for (size_t i = 0; i < n; i++) {
        placement[i] = 0;
        for (size_t j = 0; j < n; j++)
            if (positive[i] != positive[j])
                placement[i] += (positive[i] ? kernel(u[i], u[j]) : kernel(u[j], u[i])) / counts[!positive[i]];
        area += positive[i] ? placement[i] / counts[1] : 0;
    }
    return area;
}

/* DeLong's covariance of the areas of two measures, by their placements. */
static double covariance(const double *a, double area_a, const double *b, double area_b, const uint8_t *positive,
                         size_t n) {
    double sums[2] = {0, 0}, counts[2] = {0, 0};
    for (size_t i = 0; i < n; i++) {
        counts[positive[i]]++;
        sums[positive[i]] += (a[i] - area_a) * (b[i] - area_b);
    }
    return sums[0] / (counts[0] - 1) / counts[0] + sums[1] / (counts[1] - 1) / counts[1];
}

static void draw(double *u, double *v, uint8_t *positive, uint64_t stream) {
    vg_random random = vg_random__start(40, stream);
    for (size_t i = 0; i < N; i++) {
        positive[i] = vg_random__unit(&random) < .4;
        double shared = vg_random__normal(&random) + positive[i];
        u[i] = floor(3 * (shared + vg_random__normal(&random))) / 3; /* ties */
        v[i] = shared + .5 * vg_random__normal(&random);
    }
}

static void near(double found, double expected, const char *what) {
    if (!(fabs(found - expected) < 1e-12))
        fail_msg("%s: %.15g, expected %.15g", what, found, expected);
}

static void test_delong(void **state) {
    (void)state;
    double u[N], v[N], a[N], b[N];
    uint8_t positive[N];
    for (uint64_t stream = 0; stream < 5; stream++) {
        draw(u, v, positive, stream);
        double area = by_pairs(a, u, positive, N), other = by_pairs(b, v, positive, N);
        vg_measure first = {"u", u, 1, 0}, second = {"v", v, 1, 0};
        vg_estimate e;
        assert_int_equal(vg_auroc(&e, &first, positive, N, NULL), VG_OK);
        near(e.value, area, "area");
        size_t hits = 0;
        for (size_t i = 0; i < N; i++)
            hits += positive[i];
        size_t fewer = hits < N - hits ? hits : N - hits;
        assert_true(fewer >= 200); /* below, Newcombe's interval may be the wider one */
        double t = vg_base__t_quantile(.975, (double)fewer - 1);
        double spread = sqrt(covariance(a, area, a, area, positive, N)) / (area * (1 - area)),
               logit = log(area / (1 - area));
        near(log(e.high / (1 - e.high)), logit + t * spread, "upper end");
        near(log(e.low / (1 - e.low)), logit - t * spread, "lower end");
        vg_auroc_comparison c;
        assert_int_equal(vg_auroc_compare(&c, &first, &second, positive, N, NULL), VG_OK);
        double variance = covariance(a, area, a, area, positive, N) + covariance(b, other, b, other, positive, N) -
                          2 * covariance(a, area, b, other, positive, N);
        near(c.difference.value, area - other, "difference");
        near(c.difference.high, area - other + z95 * sqrt(variance), "upper end of the difference");
        near(c.p_value, erfc(fabs(area - other) / sqrt(2 * variance)), "p-value");
        near(c.first.low, e.low, "the first alone");
        /* a certainty is the other way round */
        vg_measure certainty = {"u", u, 1, 1};
        assert_int_equal(vg_auroc(&e, &certainty, positive, N, NULL), VG_OK);
        near(e.value, 1 - area, "certainty");
        assert_int_equal(vg_auroc_compare(&c, &first, &first, positive, N, NULL), VG_OK);
        assert_true(c.p_value == 1 && c.difference.value == 0 && c.difference.low == 0 && c.difference.high == 0);
    }
}

/* Every row twice, as two rows of a sample: the interval must be nearly that of the rows once, not narrower by sqrt(2).
 */
static void test_samples(void **state) {
    (void)state;
    double u[N], v[N], twice[2 * N], other[2 * N];
    uint8_t positive[N], marks[2 * N];
    draw(u, v, positive, 9);
    for (size_t i = 0; i < 2 * N; i++) {
        twice[i] = v[i / 2];
        other[i] = u[i / 2];
        marks[i] = positive[i / 2];
    }
    vg_measure once = {"v", v, 1, 0}, two = {"v", twice, 1, 0};
    vg_estimate a, b, apart;
    vg_auroc_options options = VG_AUROC_OPTIONS_INIT;
    assert_int_equal(vg_auroc(&a, &once, positive, N, &options), VG_OK);
    assert_int_equal(vg_auroc(&apart, &two, marks, 2 * N, &options), VG_OK);
    options.rows_per_sample = 2;
    assert_int_equal(vg_auroc(&b, &two, marks, 2 * N, &options), VG_OK);
    near(a.value, b.value, "area");
    double width = a.high - a.low;
    assert_true(fabs(b.high - b.low - width) < .01 * width);
    assert_true(apart.high - apart.low < .75 * width);
    vg_measure u_once = {"u", u, 1, 0}, u_two = {"u", other, 1, 0};
    vg_auroc_comparison one, both;
    assert_int_equal(vg_auroc_compare(&one, &once, &u_once, positive, N, NULL), VG_OK);
    assert_int_equal(vg_auroc_compare(&both, &two, &u_two, marks, 2 * N, &options), VG_OK);
    near(one.difference.value, both.difference.value, "difference");
    width = one.difference.high - one.difference.low;
    assert_true(fabs(both.difference.high - both.difference.low - width) < .01 * width);
    assert_true(fabs(both.p_value - one.p_value) < .05 * one.p_value);
    options.rows_per_sample = 7;
    assert_int_equal(vg_auroc(&b, &two, marks, 2 * N, &options), VG_ERR_ARGUMENT);
}

/* Perfect separation: the lower end x has 1 - x = z sqrt(variance at x). All tied, one side empty, few positives, NaN.
 */
static void test_ends(void **state) {
    (void)state;
    double u[40];
    uint8_t positive[40];
    for (size_t i = 0; i < 40; i++) {
        u[i] = (double)i;
        positive[i] = i >= 30;
    }
    vg_measure measure = {"u", u, 1, 0}, certainty = {"u", u, 1, 1};
    vg_estimate e, reversed;
    assert_int_equal(vg_auroc(&e, &measure, positive, 40, NULL), VG_OK);
    assert_true(e.value == 1 && e.high == 1 && e.low > .5 && e.low < .95);
    double x = e.low, n = 19, variance = x * (1 - x) * (1 + n * (1 - x) / (2 - x) + n * x / (1 + x)) / 300;
    near(1 - x, z95 * sqrt(variance), "Newcombe's end");
    assert_int_equal(vg_auroc(&reversed, &certainty, positive, 40, NULL), VG_OK);
    assert_true(reversed.value == 0 && reversed.low == 0);
    near(reversed.high, 1 - e.low, "mirrored");
    double tied[40] = {0};
    measure.values = tied;
    assert_int_equal(vg_auroc(&e, &measure, positive, 40, NULL), VG_OK);
    assert_true(e.value == .5 && e.low < .45 && e.high > .55);
    memset(positive, 0, sizeof positive);
    assert_int_equal(vg_auroc(&e, &measure, positive, 40, NULL), VG_OK);
    assert_true(isnan(e.value) && isnan(e.low) && isnan(e.high));
    positive[0] = 1; /* a single positive in the middle */
    measure.values = u;
    u[0] = 20.5;
    assert_int_equal(vg_auroc(&e, &measure, positive, 40, NULL), VG_OK);
    assert_true(e.low < e.value - .2 && e.high > e.value + .2 && e.low >= 0 && e.high <= 1);
    u[7] = NAN;
    assert_int_equal(vg_auroc(&e, &measure, positive, 40, NULL), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "value 7 is NaN"));
}

/* No errors, only errors, and errors separated perfectly, through the whole evaluation: figures lie in their intervals
 * or have none. */
static void test_degenerate(void **state) {
    (void)state;
    enum { ROWS = 60 };
    static double mean[ROWS * 2], std[ROWS * 2], u[ROWS];
    static int64_t labels[ROWS];
    const size_t wrong[] = {0, 1, 2, 5, ROWS};
    for (size_t c = 0; c < sizeof wrong / sizeof *wrong; c++) {
        for (size_t i = 0; i < ROWS; i++) {
            mean[2 * i] = .9;
            mean[2 * i + 1] = .1;
            u[i] = std[2 * i] = std[2 * i + 1] = (double)i / 100;
            labels[i] = i >= ROWS - wrong[c]; /* errors last: perfect */
        }
        vg_tally_options options = VG_TALLY_OPTIONS_INIT;
        vg_evaluate_options how = VG_EVALUATE_OPTIONS_INIT;
        options.bootstrap = 1;
        how.resamples = 100;
        vg_measure measure = {"u", u, 1, 0};
        vg_tally *tally;
        vg_evaluation *e;
        assert_int_equal(vg_tally_new(&tally, 2, &options), VG_OK);
        assert_int_equal(vg_tally_feed(tally, mean, std, labels, ROWS), VG_OK);
        assert_int_equal(vg_evaluate(&e, tally, &measure, 1, &how), VG_OK);
        const vg_ranking *r = &e->measures[0];
        const vg_estimate all[] = {e->accuracy,
                                   e->f1_macro,
                                   e->ece,
                                   e->nll,
                                   e->brier,
                                   r->aurc,
                                   r->eaurc,
                                   r->augrc,
                                   r->error_auroc,
                                   r->error_aupr,
                                   r->risk_at[0],
                                   r->risk_at[1],
                                   r->coverage_at[0],
                                   r->coverage_at[1],
                                   e->rule[0].coverage,
                                   e->rule[0].accuracy};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            assert_true(isnan(all[i].low) == isnan(all[i].high));
            assert_true(isnan(all[i].low) || (all[i].low <= all[i].value && all[i].value <= all[i].high));
        }
        assert_true(e->accuracy.high - e->accuracy.low > .05);
        if (wrong[c] == 0)
            assert_true(isnan(r->error_auroc.low) && r->risk_at[0].low == 0 && r->risk_at[0].high > .05);
        else if (wrong[c] < ROWS)
            assert_true(r->error_auroc.value == 1 && r->error_auroc.low < .99);
        assert_true(isnan(r->aurc.low) || wrong[c] >= 3);
        vg_evaluation_free(e);
        vg_tally_free(tally);
    }
}

/* 1000 rows, every tenth an error from row 500 on, risk 5 %: reached at 1000 rows exactly. Ends by the formula, walked
 * plainly. */
static void test_coverage_interval(void **state) {
    (void)state;
    enum { ROWS = 1000 };
    uint8_t places[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        places[i] = (uint8_t)(VG_PLACE_END | (i >= 500 && i % 10 == 0 ? VG_PLACE_POSITIVE : 0));
    for (size_t c = 0; c < 2; c++) {
        double risk = c ? .02 : .05, value = c ? .62 : 1, errors = 0, low = 0, high = 0;
        for (size_t k = 1; k <= ROWS; k++) {
            errors += (places[k - 1] & VG_PLACE_POSITIVE) != 0;
            double mean = (double)k * risk, room = z95 * sqrt(mean * (1 - risk)) + .5;
            low = errors < mean - room ? (double)k / ROWS : low;
            high = errors <= mean + room ? (double)k / ROWS : high;
        }
        vg_estimate e = {value, 0, 0};
        vg_evaluate__coverage_interval(&e, places, ROWS, risk, 1, .95);
        near(e.low, value - sqrt((value - low) * (value - low) + z95 * z95 * low * (1 - low) / ROWS), "lower end");
        if (c)
            near(e.high, value + sqrt((value - high) * (value - high) + z95 * z95 * high * (1 - high) / ROWS),
                 "upper end");
        else
            assert_true(e.high == 1);
        vg_estimate wide = {value, 0, 0};
        vg_evaluate__coverage_interval(&wide, places, ROWS, risk, 4, .95);
        assert_true(wide.low < e.low && wide.high >= e.high);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delong),     cmocka_unit_test(test_samples),           cmocka_unit_test(test_ends),
        cmocka_unit_test(test_degenerate), cmocka_unit_test(test_coverage_interval),
    };
    return cmocka_run_group_tests_name("evaluate: AUROC", tests, NULL, NULL);
}
