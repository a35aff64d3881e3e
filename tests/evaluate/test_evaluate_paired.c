/* test_evaluate_paired.c - two systems on the same samples: McNemar's test against exact binomial sums, resampled
 * figures against the same figures computed from the draws one by one, differences and their p-values. */
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
#include "evaluate/paired.h"

enum { N = 150, C = 3, R = 40, SEED = 7 };

static double first[N * C], second[N * C], spread[N * C], uncertainty[N];
static int64_t labels[N];

static void near(double found, double expected, double most) {
    if (!(fabs(found - expected) <= most))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static double uniform(void) {
    static uint64_t state = 99;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static void make_rows(double *mean, double skill) {
    for (size_t n = 0; n < N; n++) {
        double sum = 0;
        for (size_t c = 0; c < C; c++) {
            mean[n * C + c] = 0.05 + uniform() + (labels[n] == (int64_t)c ? skill * uniform() : 0);
            sum += mean[n * C + c];
        }
        for (size_t c = 0; c < C; c++)
            mean[n * C + c] /= sum;
    }
}

static int make_data(void **state) {
    (void)state;
    for (size_t n = 0; n < N; n++) {
        labels[n] = (int64_t)(uniform() * C);
        uncertainty[n] = uniform();
    }
    for (size_t i = 0; i < N * C; i++)
        spread[i] = 0.01;
    make_rows(first, 1);
    make_rows(second, 3);
    return 0;
}

static vg_tally *tally_of(const double *mean) {
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    vg_tally *tally;
    options.bootstrap = 1;
    assert_int_equal(vg_tally_new(&tally, C, &options), VG_OK);
    assert_int_equal(vg_tally_feed(tally, mean, spread, labels, N), VG_OK);
    return tally;
}

/* The binomial sum, term by term. */
static double binomial(size_t a, size_t b) {
    size_t n = a + b, k = a < b ? a : b;
    double sum = 0;
    for (size_t i = 0; i <= k; i++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) - (double)n * log(2));
    return fmin(1, 2 * sum);
}

static void mcnemar(void **state) {
    (void)state;
    near(vg_evaluate__mcnemar(5, 15), 0.04138946533203125, 1e-12); /* scipy.stats.binomtest(5, 20) */
    near(vg_evaluate__mcnemar(0, 0), 1, 0);
    near(vg_evaluate__mcnemar(8, 8), 1, 0);
    near(vg_evaluate__mcnemar(0, 1), 1, 1e-12);
    for (size_t a = 0; a < 30; a++)
        for (size_t b = 0; b < 30; b++)
            if (a != b)
                near(vg_evaluate__mcnemar(a, b), binomial(a, b), 1e-10);
}

static size_t best_class(const double *p) {
    size_t best = 0;
    for (size_t c = 1; c < C; c++)
        best = p[c] > p[best] ? c : best;
    return best;
}

/* Accuracy, NLL, Brier and error AUROC of one resample, from the definition. */
static void by_hand(double out[VG_PAIRED_FIGURES], const double *mean, const double *weight) {
    double right = 0, nll = 0, brier = 0, pairs = 0, won = 0;
    for (size_t n = 0; n < N; n++) {
        const double *p = mean + n * C;
        right += weight[n] * (best_class(p) == (size_t)labels[n]);
        nll -= weight[n] * log(p[labels[n]]);
        for (size_t c = 0; c < C; c++) {
            double gap = p[c] - (labels[n] == (int64_t)c);
            brier += weight[n] * gap * gap;
        }
        for (size_t m = 0; m < N; m++) {
            bool wrong = best_class(p) != (size_t)labels[n], other = best_class(mean + m * C) == (size_t)labels[m];
            if (!wrong || !other)
                continue;
            pairs += weight[n] * weight[m];
            won += weight[n] * weight[m] * (uncertainty[n] > uncertainty[m]);
        }
    }
    out[VG_PAIRED_ACCURACY] = right / N;
    out[VG_PAIRED_NLL] = nll / N;
    out[VG_PAIRED_BRIER] = brier / N;
    out[VG_PAIRED_AUROC] = won / pairs;
}

static void replicates_are_the_figures_of_their_draws(void **state) {
    (void)state;
    vg_measure measure = {.name = "own", .values = uncertainty, .stride = 1};
    vg_tally *tally = tally_of(first);
    double values[R * VG_PAIRED_FIGURES];
    assert_int_equal(vg_evaluate__replicates(values, tally, &measure, R, SEED, 2), VG_OK);
    for (size_t r = 0; r < R; r++) {
        double weight[N] = {0}, expected[VG_PAIRED_FIGURES];
        vg_random random = vg_random__start(SEED, r);
        for (size_t i = 0; i < N; i++)
            weight[vg_random__below(&random, N)] += 1;
        by_hand(expected, first, weight);
        const double *got = values + r * VG_PAIRED_FIGURES;
        near(got[VG_PAIRED_ACCURACY], expected[VG_PAIRED_ACCURACY], 1e-12);
        near(got[VG_PAIRED_NLL], expected[VG_PAIRED_NLL], 1e-12);
        near(got[VG_PAIRED_BRIER], expected[VG_PAIRED_BRIER], 1e-12);
        near(got[VG_PAIRED_AUROC], expected[VG_PAIRED_AUROC], 1e-12);
    }
    vg_tally_free(tally);
}

/* Of nine differences: how many are at most 0 and at least 0, and NumPy's quantiles. */
static void differences_are_counted(void **state) {
    (void)state;
    static const double lists[4][9] = {{-1, 2, 3, 4, 5, 6, 7, 8, 9},
                                       {-9, -8, -7, -6, -5, -4, -3, 1, 2},
                                       {0, 1, 2, 3, 4, 5, 6, 7, 8},
                                       {0, 0, 0, 0, 0, 1, 1, -1, -1}};
    static const double p_values[] = {.4, .6, .4, 1}, lows[] = {.2, -8.6, .4, -1}, highs[] = {8.6, 1.6, 7.6, 1};
    double zero[9 * VG_PAIRED_FIGURES] = {0}, other[9 * VG_PAIRED_FIGURES], p;
    vg_estimate e;
    for (int i = 0; i < 4; i++)
        for (vg_paired_figure f = VG_PAIRED_ACCURACY; f < VG_PAIRED_FIGURES; f++) {
            for (size_t r = 0; r < 9 * VG_PAIRED_FIGURES; r++)
                other[r] = 100;
            for (size_t r = 0; r < 9; r++)
                other[r * VG_PAIRED_FIGURES + f] = lists[i][(r * 4) % 9];
            const vg_paired_replicates pair = {zero, other, 9, .9};
            assert_int_equal(vg_evaluate__difference(&e, &p, .5, f, &pair), VG_OK);
            near(p, p_values[i], 1e-15);
            near(e.low, fmin(lows[i], .5), 1e-14);
            near(e.high, highs[i], 1e-14);
        }
}

static void differences_are_tested(void **state) {
    (void)state;
    vg_measure measure = {.name = "own", .values = uncertainty, .stride = 1};
    vg_tally *a = tally_of(first), *b = tally_of(second);
    double left[R * VG_PAIRED_FIGURES], right[R * VG_PAIRED_FIGURES], p;
    vg_estimate difference;
    assert_int_equal(vg_evaluate__replicates(left, a, &measure, R, SEED, 1), VG_OK);
    assert_int_equal(vg_evaluate__replicates(right, b, &measure, R, SEED, 1), VG_OK);
    vg_paired_replicates pair = {left, right, R, 0.95}, same = {left, left, R, 0.95}, none = {NULL, NULL, 0, 0.95};

    assert_int_equal(vg_evaluate__difference(&difference, &p, 0.3, VG_PAIRED_ACCURACY, &pair), VG_OK);
    assert_true(difference.low > 0 && difference.low <= 0.3 && difference.high >= 0.3);
    near(p, 2. / (R + 1), 1e-12); /* every resample has the second ahead: the smallest p there is */

    assert_int_equal(vg_evaluate__difference(&difference, &p, 0, VG_PAIRED_NLL, &same), VG_OK);
    near(difference.low, 0, 0);
    near(difference.high, 0, 0);
    near(p, 1, 0);

    assert_int_equal(vg_evaluate__difference(&difference, &p, 0.3, VG_PAIRED_NLL, &none), VG_OK);
    assert_true(isnan(difference.low) && isnan(p));
    right[3 * VG_PAIRED_FIGURES + VG_PAIRED_AURC] = NAN; /* undefined in one resample: no interval holds */
    assert_int_equal(vg_evaluate__difference(&difference, &p, 0.3, VG_PAIRED_AURC, &pair), VG_OK);
    assert_true(isnan(difference.low) && isnan(p));
    vg_tally_free(a);
    vg_tally_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mcnemar), cmocka_unit_test(replicates_are_the_figures_of_their_draws),
        cmocka_unit_test(differences_are_tested), cmocka_unit_test(differences_are_counted)};
    return cmocka_run_group_tests(tests, make_data, NULL);
}
