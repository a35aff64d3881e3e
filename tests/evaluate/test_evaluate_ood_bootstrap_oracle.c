/* test_evaluate_ood_bootstrap_oracle.c - resampled intervals of random small OOD comparisons: both sides of every
 * resample are written out with repetition, the figures are counted in pairs of samples in long double, and the
 * intervals are made from these by the formulas of docs/evaluation.md. Values are coarse, so that most are tied within
 * and across the sides; some sides are separated entirely. */
#define WITHIN 1e-11L
#include <stdlib.h>

#include "base/distributions.h"
#include "oracle_util.h"
#include "vargate/evaluate.h"

enum { MOST = 60, RESAMPLES = 19, MEASURES = 2 };
enum { OUT, IN, FPR95, FIGURES };

typedef struct trial {
    size_t n[2]; /* ID and OOD samples */
    double values[2][MEASURES][MOST];
    int certainty[MEASURES];
    size_t resamples;
    uint64_t seed;
    double confidence;
} trial;

static void make_trial(trial *t, size_t number) {
    static const size_t levels[] = {1, 2, 5, 40};
    vg_random random = vg_random__start(1119, number);
    for (size_t side = 0; side < 2; side++)
        t->n[side] = below(&random, 6) ? 2 + below(&random, MOST - 1) : 20 * (1 + below(&random, 3));
    for (size_t m = 0; m < MEASURES; m++) {
        size_t level = levels[below(&random, 4)];
        double shift = (double)(below(&random, 3) * level / 2);
        t->certainty[m] = (int)below(&random, 2);
        for (size_t side = 0; side < 2; side++)
            for (size_t i = 0; i < t->n[side]; i++) {
                double u = (double)below(&random, level) + (side ? shift : 0);
                t->values[side][m][i] = t->certainty[m] ? 7 - u : u;
            }
    }
    t->resamples = 1 + below(&random, RESAMPLES);
    t->seed = number + 3;
    t->confidence = number % 2 ? 0.7 : 0.95;
}

/* u[0]: ID, u[1]: OOD; larger is more like OOD. */
static void figures_of(real out[FIGURES], double u[2][MOST], const size_t n[2]) {
    out[OUT] = out[IN] = 0;
    out[FPR95] = 1;
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < n[side]; i++) {
            double at = u[side][i];
            real up[2] = {0, 0}, down[2] = {0, 0}; /* samples of at least, and of at most this value */
            for (size_t other = 0; other < 2; other++)
                for (size_t j = 0; j < n[other]; j++) {
                    up[other] += u[other][j] >= at;
                    down[other] += u[other][j] <= at;
                }
            out[side ? OUT : IN] += side ? up[1] / (up[0] + up[1]) : down[0] / (down[0] + down[1]);
            if (20 * up[1] >= 19 * (real)n[1] && up[0] / (real)n[0] < out[FPR95])
                out[FPR95] = up[0] / (real)n[0];
        }
    out[OUT] /= (real)n[1];
    out[IN] /= (real)n[0];
    for (size_t f = 0; f < FIGURES; f++)
        out[f] = fabsl(out[f] - 1) < 1e-15L ? 1 : out[f];
}

/* The sides of resample r draw from streams r and 2^32 + r. */
static void draw(double out[2][MOST], const trial *t, size_t m, size_t r) {
    for (size_t side = 0; side < 2; side++) {
        vg_random random = vg_random__start(t->seed, r + (side ? (uint64_t)1 << 32 : 0));
        for (size_t i = 0; i < t->n[side]; i++) {
            double value = t->values[side][m][below(&random, t->n[side])];
            out[side][i] = t->certainty[m] ? -value : value;
        }
    }
}

static real odds(real x) { return logl(x / (1 - x)); }
static real share_of(real x) { return 1 / (1 + expl(-x)); }

/* On the scale of the odds, with Student's t of one degree less than the samples of the smaller side. */
static void check_precision(const char *what, vg_estimate found, real v, const real *x, const trial *t) {
    real scaled[RESAMPLES], most = 0;
    size_t fewer = t->n[0] < t->n[1] ? t->n[0] : t->n[1];
    near(what, found.value, v);
    for (size_t r = 0; r < t->resamples; r++)
        most = x[r] < 1 && x[r] > most ? x[r] : most;
    for (size_t r = 0; r < t->resamples; r++)
        scaled[r] = odds(x[r] < 1 ? x[r] : (1 + most) / 2);
    real spread = sqrtl(variance_of(scaled, t->resamples)); /* of equal resamples by rounding alone */
    if (v == 1 || fewer < 3 || spread < 1e-14L) {
        assert_true(isnan(found.low) || (v < 1 && fewer >= 3 && found.high - found.low < 1e-13));
        return;
    }
    real far = (real)vg_base__t_quantile(1 - (1 - t->confidence) / 2, (double)fewer - 1) * spread;
    near(what, found.low, share_of(odds(v) - far));
    near(what, found.high, share_of(odds(v) + far));
}

/* Clopper-Pearson at the effective number of ID samples. */
static void check_fpr(vg_estimate found, real v, const real *x, const trial *t) {
    real rows = (real)t->n[0], square = variance_of(x, t->resamples), half = (1 - (real)t->confidence) / 2;
    if (square > 0 && v > 0 && v < 1 && v * (1 - v) / square < rows)
        rows = v * (1 - v) / square;
    double hits = (double)(v * rows), misses = (double)(rows - v * rows);
    near("fpr95", found.value, v);
    near("fpr95", found.low, v > 0 ? (real)vg_base__beta_quantile((double)half, hits, misses + 1) : 0);
    near("fpr95", found.high, v < 1 ? (real)vg_base__beta_quantile((double)(1 - half), hits + 1, misses) : 1);
}

static void check_measure(const vg_ood_row *row, const trial *t, size_t m) {
    static double u[2][MOST];
    real of_all[FIGURES], of_one[FIGURES], x[FIGURES][RESAMPLES];
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < t->n[side]; i++)
            u[side][i] = t->certainty[m] ? -t->values[side][m][i] : t->values[side][m][i];
    figures_of(of_all, u, t->n);
    for (size_t r = 0; r < t->resamples; r++) {
        draw(u, t, m, r);
        figures_of(of_one, u, t->n);
        for (size_t f = 0; f < FIGURES; f++)
            x[f][r] = of_one[f];
    }
    check_precision("aupr_out", row->aupr_out, of_all[OUT], x[OUT], t);
    check_precision("aupr_in", row->aupr_in, of_all[IN], x[IN], t);
    check_fpr(row->fpr95, of_all[FPR95], x[FPR95], t);
    assert_true(isnan(row->detection_error.low) && isnan(row->detection_error.high));
}

static void test_intervals(void **state) {
    (void)state;
    static trial t;
    for (size_t number = 0; number < 300; number++) {
        make_trial(&t, number);
        snprintf(place, sizeof place, "trial %zu, %zu ID and %zu OOD, %zu resamples", number, t.n[0], t.n[1],
                 t.resamples);
        vg_measure sides[2][MEASURES];
        vg_ood_row rows[MEASURES];
        for (size_t m = 0; m < MEASURES; m++)
            for (size_t side = 0; side < 2; side++) {
                sides[side][m] = (vg_measure){"", t.values[side][m], 1, t.certainty[m]};
                snprintf(sides[side][m].name, VG_NAME_SIZE, "m%zu", m);
            }
        vg_ood_options options = VG_OOD_OPTIONS_INIT;
        options.resamples = t.resamples, options.seed = t.seed, options.confidence = t.confidence;
        options.threads = 1 + (unsigned)(number % 2);
        assert_int_equal(vg_ood_evaluate(rows, sides[0], t.n[0], sides[1], t.n[1], MEASURES, &options), VG_OK);
        for (size_t m = 0; m < MEASURES; m++)
            check_measure(&rows[m], &t, m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_intervals)};
    return cmocka_run_group_tests_name("evaluate: resamples of OOD by plain definitions", tests, NULL, NULL);
}
