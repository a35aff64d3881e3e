/* test_calibrate_gate.c - the likelihood of the gated mean as a function of k: the loss by its definition, gradients
 * and Hessian products by finite differences, results that do not depend on threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "calibrate/gate_loss.h"

enum { N = 300, M = 5, C = 6 };

static double uniform(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

static double logits[N * M * C];
static int64_t labels[N];

static void fill(void) {
    for (size_t n = 0; n < N; n++) {
        labels[n] = (int64_t)(uniform() * C);
        for (size_t i = 0; i < M * C; i++)
            logits[n * M * C + i] = 4 * uniform() * (double)(1 + i % C) / C + 2 * (i % C == (size_t)labels[n]);
    }
    for (size_t i = 0; i < M * C; i++) /* members that agree entirely: sigma = 0 */
        logits[i] = logits[i % C];
}

static vg_gate_data start(unsigned threads) {
    vg_fit_k_options options = VG_FIT_K_OPTIONS_INIT;
    vg_predictions view = vg_predictions_f64(logits, N, M, C);
    vg_gate_data data;
    options.logits = 1;
    options.threads = threads;
    assert_int_equal(vg_gate_data__start(&data, &view, labels, &options), VG_OK);
    return data;
}

/* The loss, straight from its definition. */
static double loss_at(const double *k) {
    double total = 0;
    for (size_t n = 0; n < N; n++) {
        double p[M][C], mean = 0;
        for (size_t m = 0; m < M; m++) {
            double sum = 0;
            for (size_t c = 0; c < C; c++)
                sum += p[m][c] = exp(logits[(n * M + m) * C + c]);
            for (size_t c = 0; c < C; c++)
                p[m][c] /= sum;
        }
        for (size_t m = 0; m < M; m++) {
            double z = 0, own = 0;
            for (size_t c = 0; c < C; c++) {
                double mu = 0, square = 0;
                for (size_t i = 0; i < M; i++)
                    mu += p[i][c] / M;
                for (size_t i = 0; i < M; i++)
                    square += (p[i][c] - mu) * (p[i][c] - mu) / M;
                double gate = fmax(-expm1(-mu / (k[c] * (sqrt(square) + 1e-8))), 1e-8) * p[m][c];
                z += gate;
                own = c == (size_t)labels[n] ? gate : own;
            }
            mean += own / z / M;
        }
        total -= log(mean) / N;
    }
    return total;
}

static void gradients(void **state) {
    (void)state;
    vg_gate_data data = start(2);
    for (int one = 0; one < 2; one++) {
        data.one = one;
        vg_objective o = vg_gate_data__objective(&data);
        double x[C], g[C], at, k[C], v[C], hv[C], ahead[C], behind[C];
        for (size_t c = 0; c < C; c++) {
            x[c] = one ? 0.2 : uniform() - 0.5;
            v[c] = 2 * uniform() - 1;
        }
        for (size_t c = 0; c < C; c++)
            k[c] = vg_gate_data__k(&data, x[one ? 0 : c]);
        assert_int_equal(o.value(o.context, x, &at, g), VG_OK);
        assert_true(fabs(at - loss_at(k)) < 1e-12);
        assert_int_equal(o.product(o.context, x, v, hv), VG_OK);
        for (size_t c = 0; c < o.n; c++) {
            double h = 1e-5, high, low, y[C], none[C];
            memcpy(y, x, sizeof y);
            y[c] = x[c] + h;
            assert_int_equal(o.value(o.context, y, &high, none), VG_OK);
            y[c] = x[c] - h;
            assert_int_equal(o.value(o.context, y, &low, none), VG_OK);
            assert_true(fabs((high - low) / (2 * h) - g[c]) < 1e-8);
        }
        for (int side = 0; side < 2; side++) {
            double y[C], none;
            for (size_t c = 0; c < o.n; c++)
                y[c] = x[c] + (side ? -1e-5 : 1e-5) * v[c];
            assert_int_equal(o.value(o.context, y, &none, side ? behind : ahead), VG_OK);
        }
        for (size_t c = 0; c < o.n; c++)
            assert_true(fabs((ahead[c] - behind[c]) / 2e-5 - hv[c]) < 1e-7);
    }
    vg_gate_data__stop(&data);
}

static void threads(void **state) {
    (void)state;
    vg_fit_k_options options = VG_FIT_K_OPTIONS_INIT;
    vg_predictions view = vg_predictions_f64(logits, N, M, C);
    vg_k_fit *one, *four;
    options.logits = 1;
    options.threads = 1;
    assert_int_equal(vg_fit_k(&one, &view, labels, &options), VG_OK);
    options.threads = 4;
    assert_int_equal(vg_fit_k(&four, &view, labels, &options), VG_OK);
    assert_memory_equal(one->k, four->k, C * sizeof(double));
    assert_true(one->by_class.converged && one->one.converged);
    assert_true(one->by_class.after.nll <= one->one.after.nll + 1e-9);
    assert_true(one->one.after.nll <= one->before.nll + 1e-9);
    vg_free(one);
    vg_free(four);
}

/* Far from an optimum and at one, a quadratic and Rosenbrock's valley. */
static vg_status valley(void *context, const double *x, double *f, double *g) {
    (void)context;
    double a = 1 - x[0], b = x[1] - x[0] * x[0];
    *f = a * a + 100 * b * b;
    if (g) {
        g[0] = -2 * a - 400 * x[0] * b;
        g[1] = 200 * b;
    }
    return VG_OK;
}
static vg_status bend(void *context, const double *x, const double *v, double *hv) {
    (void)context;
    double xx = 2 - 400 * (x[1] - 3 * x[0] * x[0]), xy = -400 * x[0];
    hv[0] = xx * v[0] + xy * v[1];
    hv[1] = xy * v[0] + 200 * v[1];
    return VG_OK;
}

static void solver(void **state) {
    (void)state;
    vg_objective o = {.n = 2, .value = valley, .product = bend};
    double x[2] = {-1.2, 1};
    vg_minimum found;
    assert_int_equal(vg_newton_cg(&found, x, &o, 1e-10, 200), VG_OK);
    assert_true(found.converged && fabs(x[0] - 1) < 1e-8 && fabs(x[1] - 1) < 1e-8);
    assert_int_equal(vg_newton_cg(&found, x, &o, 1e-6, 200), VG_OK);
    assert_int_equal(found.iterations, 0);
}

/* The same between bounds: both variables end at most at 0.5, where only the first is held. */
static void bounded_solver(void **state) {
    (void)state;
    vg_objective o = {.n = 2, .value = valley, .product = bend, .low = -2, .high = 0.5};
    double x[2] = {-1.2, 0.4};
    vg_minimum found;
    assert_int_equal(vg_newton_cg(&found, x, &o, 1e-10, 200), VG_OK);
    assert_true(found.converged && x[0] == 0.5 && fabs(x[1] - 0.25) < 1e-8);
    o.low = 2; /* the unbounded minimum lies outside: a corner */
    o.high = 3;
    x[0] = x[1] = 2.5;
    assert_int_equal(vg_newton_cg(&found, x, &o, 1e-10, 200), VG_OK);
    assert_true(found.converged && x[0] == 2 && x[1] == 3);
}

/* A fit whose ks end at bounds takes few products with the Hessian, each of which reads all members. */
static void products(void **state) {
    (void)state;
    enum { ROWS = 400, MEMBERS = 4, CLASSES = 40 };
    static double many[ROWS * MEMBERS * CLASSES], x[CLASSES];
    static int64_t own[ROWS];
    for (size_t n = 0; n < ROWS; n++) {
        own[n] = (int64_t)(uniform() * CLASSES);
        for (size_t c = 0; c < CLASSES; c++) {
            double mean = 8 * (uniform() - 0.5) + 7 * (c == (size_t)own[n]);
            for (size_t m = 0; m < MEMBERS; m++)
                many[(n * MEMBERS + m) * CLASSES + c] = mean + 3 * (uniform() - 0.5);
        }
    }
    vg_fit_k_options options = VG_FIT_K_OPTIONS_INIT;
    vg_predictions view = vg_predictions_f64(many, ROWS, MEMBERS, CLASSES);
    vg_gate_data data;
    vg_minimum found;
    size_t held = 0;
    options.logits = 1;
    assert_int_equal(vg_gate_data__start(&data, &view, own, &options), VG_OK);
    vg_objective o = vg_gate_data__objective(&data);
    for (size_t c = 0; c < CLASSES; c++)
        x[c] = vg_gate_data__variable(&data, 0.7);
    assert_int_equal(vg_newton_cg(&found, x, &o, options.tolerance, 200), VG_OK);
    for (size_t c = 0; c < CLASSES; c++) {
        double k = vg_gate_data__k(&data, x[c]);
        held += k < 1.0001 * options.k_min || k > 0.9999 * options.k_max;
    }
    vg_gate_data__stop(&data);
    assert_true(found.converged && found.gradient <= options.tolerance);
    assert_true(held > 0);
    assert_in_range(found.products, 1, 300);
}

int main(void) {
    fill();
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients), cmocka_unit_test(threads), cmocka_unit_test(solver),
                                       cmocka_unit_test(bounded_solver), cmocka_unit_test(products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
