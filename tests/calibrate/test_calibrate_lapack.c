/* test_calibrate_lapack.c - LAPACK as it is opened at run time: a library that is not there is said by name, the one
 * that is there factors and solves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "calibrate/lapack.h"

static void missing(void **state) {
    (void)state;
    const char *const names[] = {"liblapacke-of-nowhere.so", NULL};
    vg_lapack lapack;
    assert_int_equal(vg_lapack__load(&lapack, names), VG_ERR_UNSUPPORTED);
    assert_non_null(strstr(vg_error_message(), "liblapacke-of-nowhere.so"));
    assert_null(strchr(vg_error_message(), '\n'));
}

static void not_lapack(void **state) {
    (void)state;
    const char *const names[] = {"libc.so.6", NULL};
    vg_lapack lapack;
    assert_int_equal(vg_lapack__load(&lapack, names), VG_ERR_UNSUPPORTED);
    assert_non_null(strstr(vg_error_message(), "LAPACKE_dpotrf_work"));
}

/* A = L L' with L = (2 0; 1 3). */
static void solves(void **state) {
    (void)state;
    const vg_lapack *lapack, *again;
    assert_int_equal(vg_lapack__open(&lapack), VG_OK);
    assert_int_equal(vg_lapack__open(&again), VG_OK);
    assert_ptr_equal(lapack, again);
    double a[4] = {4, 2, 2, 10}, b[2] = {8, 22}, c[2] = {4, 8}, inverse[4];
    assert_int_equal(lapack->potrf(VG_LAPACK_COLUMNS, 'L', 2, a, 2), 0);
    assert_true(a[0] == 2 && a[1] == 1 && a[3] == 3);
    assert_int_equal(lapack->potrs(VG_LAPACK_COLUMNS, 'L', 2, 1, a, 2, b, 2), 0);
    assert_float_equal(b[0], 1, 1e-15);
    assert_float_equal(b[1], 2, 1e-15);
    assert_int_equal(lapack->trtrs(VG_LAPACK_COLUMNS, 'L', 'N', 'N', 2, 1, a, 2, c, 2), 0);
    assert_float_equal(c[0], 2, 1e-15);
    assert_float_equal(c[1], 2, 1e-15);
    memcpy(inverse, a, sizeof inverse);
    assert_int_equal(lapack->trtri(VG_LAPACK_COLUMNS, 'L', 'N', 2, inverse, 2), 0);
    assert_float_equal(inverse[1], -1.0 / 6, 1e-15);
    double indefinite[4] = {1, 2, 2, 1};
    assert_int_equal(lapack->potrf(VG_LAPACK_COLUMNS, 'L', 2, indefinite, 2), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(missing), cmocka_unit_test(not_lapack),
                                       cmocka_unit_test(solves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
