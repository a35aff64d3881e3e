/* test_evaluate_ece.c - the calibration error on its own equals the tally's, and refuses what the tally refuses; the
 * tally's NLL against a sum of logarithms. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/calibration_bins.h"
#include "base/random.h"
#include "vargate/evaluate.h"

enum { N = 500, C = 7 };

static void fill(float p[N][C], int64_t y[N], uint64_t seed) {
    vg_random r = vg_random__start(seed, 0);
    for (size_t i = 0; i < N; i++) {
        double row[C], sum = 0;
        for (size_t c = 0; c < C; c++)
            sum += row[c] = pow(vg_random__unit(&r), 6) + 1e-6;
        for (size_t c = 0; c < C; c++)
            p[i][c] = (float)(row[c] / sum);
        if (i % 50 == 0) { /* on the edges of bins */
            memset(p[i], 0, sizeof p[i]);
            p[i][i % C] = i % 100 ? 1.0f : 0.6f;
            p[i][(i + 1) % C] = 1.0f - p[i][i % C];
        }
        y[i] = (int64_t)vg_random__below(&r, C);
    }
}

static void equals_the_tally(void **state) {
    (void)state;
    static float p[N][C];
    static double wide[N][C];
    int64_t y[N];
    const size_t bins[] = {1, 2, 10, 15, 100};
    for (size_t b = 0; b < sizeof bins / sizeof *bins; b++) {
        fill(p, y, b);
        for (size_t i = 0; i < N * C; i++)
            wide[i / C][i % C] = (double)p[i / C][i % C];
        vg_tally_options o = VG_TALLY_OPTIONS_INIT;
        vg_tally *tally;
        vg_evaluation *found;
        double ece, mce, ece64;
        o.bins = bins[b];
        assert_int_equal(vg_tally_new(&tally, C, &o), VG_OK);
        assert_int_equal(vg_tally_feed(tally, &wide[0][0], NULL, y, N), VG_OK);
        vg_evaluate_options eo = VG_EVALUATE_OPTIONS_INIT;
        assert_int_equal(vg_evaluate(&found, tally, NULL, 0, &eo), VG_OK);
        assert_int_equal(vg_calibration_error(&ece, &mce, p, VG_F32, y, N, C, bins[b]), VG_OK);
        assert_int_equal(vg_calibration_error(&ece64, NULL, wide, VG_F64, y, N, C, bins[b]), VG_OK);
        assert_true(ece == found->ece.value && mce == found->mce.value);
        assert_true(ece == ece64);
        vg_evaluation_free(found);
        vg_tally_free(tally);
    }
}

/* A confidence that is exactly an edge belongs to the bin below it, the next larger number to the bin above, whatever
 * the product of confidence and number of bins is rounded to. */
static void edges_belong_to_the_bin_below(void **state) {
    (void)state;
    static double edges[VG_BINS_MOST + 1];
    for (size_t bins = 1; bins <= VG_BINS_MOST; bins += bins < 200 ? 1 : 49) {
        vg_base__bin_edges(edges, bins);
        assert_int_equal(vg_base__bin(edges, bins, 0), 0);
        assert_int_equal(vg_base__bin(edges, bins, 1.001), bins - 1);
        for (size_t b = 1; b <= bins; b++) {
            assert_int_equal(vg_base__bin(edges, bins, edges[b]), b - 1);
            assert_int_equal(vg_base__bin(edges, bins, nextafter(edges[b], 2)), b < bins ? b : bins - 1);
        }
    }
}

static void refuses(void **state) {
    (void)state;
    double ece, p[2][3] = {{.2, .3, .5}, {.1, .8, .1}};
    int64_t y[2] = {2, 1};
    assert_int_equal(vg_calibration_error(&ece, NULL, p, VG_F64, y, 2, 3, 15), VG_OK);
    assert_true(fabs(ece - (.5 + .2) / 2) < 1e-15);
    for (size_t c = 0; c < 3; c++) {
        double kept = p[1][c];
        p[1][c] = NAN;
        assert_int_equal(vg_calibration_error(&ece, NULL, p, VG_F64, y, 2, 3, 15), VG_ERR_DATA);
        assert_non_null(strstr(vg_error_message(), "sample 1"));
        p[1][c] = -kept;
        assert_int_equal(vg_calibration_error(&ece, NULL, p, VG_F64, y, 2, 3, 15), VG_ERR_DATA);
        p[1][c] = kept;
    }
    for (size_t c = 0; c < 3; c++) { /* a negative value where the row sums to 1 */
        double rows[9][3] = {{.2, .3, .5}, {.1, .8, .1}, {.2, .3, .5}, {.1, .8, .1}, {.2, .3, .5},
                             {.1, .8, .1}, {.2, .3, .5}, {.1, .8, .1}, {.2, .3, .5}};
        int64_t labels[9] = {0};
        rows[7][c] = -.1;
        rows[7][(c + 1) % 3] = .6;
        rows[7][(c + 2) % 3] = .5;
        assert_int_equal(vg_calibration_error(&ece, NULL, rows, VG_F64, labels, 9, 3, 15), VG_ERR_DATA);
        assert_non_null(strstr(vg_error_message(), "sample 7: a probability is negative"));
    }
    p[1][1] = .2; /* the row sums to 0.4 */
    assert_int_equal(vg_calibration_error(&ece, NULL, p, VG_F64, y, 2, 3, 15), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "sample 1: the probabilities sum to 0.4"));
    p[1][1] = .8;
    y[0] = 3;
    assert_int_equal(vg_calibration_error(&ece, NULL, p, VG_F64, y, 2, 3, 15), VG_ERR_DATA);
    y[0] = 2;
    assert_int_equal(vg_calibration_error(&ece, NULL, p, VG_F64, y, 0, 3, 15), VG_ERR_ARGUMENT);
    assert_int_equal(vg_calibration_error(&ece, NULL, p, VG_F16, y, 2, 3, 15), VG_ERR_ARGUMENT);
    assert_int_equal(vg_calibration_error(&ece, NULL, p, VG_F64, y, 2, 3, 0), VG_ERR_ARGUMENT);
}

/* NLL from products: against logarithms summed one by one, in long double, with probabilities that make a product
 * vanish or grow; the same bits whatever the blocks; infinite where a true class has none of it. */
static void nll_is_the_sum_of_logs(void **state) {
    (void)state;
    enum { ROWS = 20000 };
    static double mean[ROWS][2];
    static int64_t y[ROWS];
    vg_random r = vg_random__start(9, 0);
    const size_t blocks[] = {ROWS, 1, 777};
    for (int kind = 0; kind < 4; kind++) {
        long double sum = 0;
        double nll[3];
        for (size_t i = 0; i < ROWS; i++) {
            double u = vg_random__unit(&r);
            double p = kind == 0 ? u : kind == 1 ? 1.0019 : kind == 2 ? pow(10, -320 * u) : i == 5000 ? 0.0 : u;
            y[i] = (int64_t)(i % 2);
            mean[i][y[i]] = p;
            mean[i][1 - y[i]] = p < 1 ? 1 - p : 0;
            sum -= logl((long double)p);
        }
        for (size_t b = 0; b < 3; b++) {
            vg_tally_options options = VG_TALLY_OPTIONS_INIT;
            vg_tally *tally;
            vg_evaluation *e;
            options.floor = 0;
            assert_int_equal(vg_tally_new(&tally, 2, &options), VG_OK);
            for (size_t i = 0; i < ROWS; i += blocks[b])
                assert_int_equal(
                    vg_tally_feed(tally, mean[i], NULL, y + i, i + blocks[b] < ROWS ? blocks[b] : ROWS - i), VG_OK);
            assert_int_equal(vg_evaluate(&e, tally, NULL, 0, NULL), VG_OK);
            nll[b] = e->nll.value;
            vg_evaluation_free(e);
            vg_tally_free(tally);
        }
        assert_memory_equal(&nll[0], &nll[1], sizeof *nll);
        assert_memory_equal(&nll[0], &nll[2], sizeof *nll);
        if (kind == 3)
            assert_true(isinf(nll[0]) && nll[0] > 0);
        else
            assert_true(fabs(nll[0] - (double)(sum / ROWS)) <= 1e-13 * fabs((double)(sum / ROWS)));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(equals_the_tally),
                                       cmocka_unit_test(edges_belong_to_the_bin_below), cmocka_unit_test(refuses),
                                       cmocka_unit_test(nll_is_the_sum_of_logs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
