/* test_calibrate_cholesky.c - the factorisation and the solves of the Gaussian process: a matrix whose factor is known,
 * matrices of many orders against their own products, and one that is not positive definite. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "calibrate/cholesky.h"

/* A = L L' with L = (2 0; 1 3). */
static void small(void **state) {
    (void)state;
    double a[4] = {4, 2, 2, 10}, b[2] = {8, 22}, c[2] = {4, 8};
    assert_true(vg_cholesky__factor(a, 2));
    assert_true(a[0] == 2 && a[1] == 1 && a[3] == 3);
    vg_cholesky__solve(a, 2, b);
    assert_float_equal(b[0], 1, 1e-15);
    assert_float_equal(b[1], 2, 1e-15);
    vg_cholesky__solve_lower(a, 2, c);
    assert_float_equal(c[0], 2, 1e-15);
    assert_float_equal(c[1], 2, 1e-15);
    vg_cholesky__invert_lower(a, 2);
    assert_float_equal(a[0], 0.5, 1e-15);
    assert_float_equal(a[1], -1.0 / 6, 1e-15);
    assert_float_equal(a[3], 1.0 / 3, 1e-15);
}

static void indefinite(void **state) {
    (void)state;
    double a[4] = {1, 2, 2, 1}, nothing[1] = {0}, undefined[1] = {NAN};
    assert_false(vg_cholesky__factor(a, 2));
    assert_false(vg_cholesky__factor(nothing, 1));
    assert_false(vg_cholesky__factor(undefined, 1));
}

/* The matrix of a smooth kernel with noise on the diagonal, as the process has it. */
static double entry(size_t i, size_t j) {
    double distance = fabs((double)i - (double)j) / 7;
    return exp(-distance * distance / 2) + (i == j ? 0.01 : 0);
}

static void many_orders(void **state) {
    (void)state;
    enum { MOST = 100 };
    static double factor[MOST * MOST], inverse[MOST * MOST];
    for (size_t n = 1; n <= MOST; n += n < 10 ? 1 : 30) {
        double b[MOST];
        for (size_t j = 0; j < n; j++)
            for (size_t i = 0; i < n; i++)
                factor[i + j * n] = entry(i, j);
        assert_true(vg_cholesky__factor(factor, n));
        memcpy(inverse, factor, n * n * sizeof(double));
        vg_cholesky__invert_lower(inverse, n);
        for (size_t i = 0; i < n; i++)
            b[i] = sin((double)i);
        vg_cholesky__solve(factor, n, b);
        for (size_t i = 0; i < n; i++) {
            double product = 0;
            for (size_t j = 0; j < n; j++)
                product += entry(i, j) * b[j];
            assert_float_equal(product, sin((double)i), 1e-11);
            for (size_t j = 0; j <= i; j++) { /* L L^-1 = I */
                double sum = 0;
                for (size_t k = j; k <= i; k++)
                    sum += factor[i + k * n] * inverse[k + j * n];
                assert_float_equal(sum, i == j ? 1 : 0, 1e-11);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(small), cmocka_unit_test(indefinite),
                                       cmocka_unit_test(many_orders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
