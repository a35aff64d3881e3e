/* test_base_distributions.c - quantiles and tails of the normal distribution and of Student's t, against values of
 * other programs and against closed forms. The beta distribution is tested in test_evaluate_reference.c and
 * test_evaluate_select.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/distributions.h"

static void near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-10 * (1 + fabs(expected))))
        fail_msg("%.17g, expected %.17g", found, expected);
}

static void quantiles(void **state) {
    (void)state;
    near(vg_base__normal_quantile(0.5), 0);
    near(vg_base__normal_quantile(0.975), 1.959963984540054);
    near(vg_base__normal_quantile(0.025), -1.959963984540054);
    near(vg_base__normal_quantile(1e-10), -6.361340902404056);
    assert_true(vg_base__normal_quantile(0) == -INFINITY && vg_base__normal_quantile(1) == INFINITY);
    assert_true(isnan(vg_base__normal_quantile(2)) && isnan(vg_base__normal_quantile(-1)));
    near(vg_base__t_quantile(0.975, 1), 12.706204736174707);
    near(vg_base__t_quantile(0.975, 5), 2.5705818356363146);
    near(vg_base__t_quantile(0.025, 5), -2.5705818356363146);
    near(vg_base__t_quantile(0.95, 2), 2.919985580353726);
    near(vg_base__t_quantile(0.5, 3), 0);
    assert_true(vg_base__t_quantile(0.9, 1e6) == vg_base__normal_quantile(0.9));
    assert_true(vg_base__t_quantile(0.9, 999999) > vg_base__normal_quantile(0.9));
    assert_true(vg_base__t_quantile(0.9, NAN) == vg_base__normal_quantile(0.9));
}

/* One and two degrees of freedom have closed forms; the quantile is the inverse; many degrees of freedom are normal. */
static void tails(void **state) {
    const double pi = acos(-1);
    (void)state;
    for (double t = 0; t < 40; t = 1.5 * t + 0.125) {
        near(vg_base__t_tails(t, 1), 1 - 2 / pi * atan(t));
        near(vg_base__t_tails(t, 2), 1 - t / sqrt(2 + t * t));
        near(vg_base__t_tails(t, 1e6), erfc(t / sqrt(2)));
        assert_true(t == 0 || vg_base__t_tails(t, 5e5) > vg_base__t_tails(t, 1e6));
    }
    for (double freedom = 1; freedom < 1e6; freedom = 3 * freedom + 1)
        for (double tail = 0.5; tail > 1e-6; tail /= 7)
            near(vg_base__t_tails(vg_base__t_quantile(1 - tail / 2, freedom), freedom), tail);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(quantiles), cmocka_unit_test(tails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
