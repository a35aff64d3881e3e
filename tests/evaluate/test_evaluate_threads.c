/* test_evaluate_threads.c - how many threads an evaluation starts: those that were asked for, and of OOD without
 * resamples no more than there are measures, because one thread ranks a measure and each has memory for all rows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "vargate/evaluate.h"

static unsigned started, pools;

vg_status __real_vg_pool__new(vg_pool **out, unsigned threads);
vg_status __wrap_vg_pool__new(vg_pool **out, unsigned threads);
vg_status __wrap_vg_pool__new(vg_pool **out, unsigned threads) {
    pools++;
    started = threads;
    return __real_vg_pool__new(out, threads);
}

enum { ROWS = 20, MEASURES = 3 };
static double id[ROWS], ood[ROWS];

static void of_ood(void **state) {
    (void)state;
    const vg_measure one = {"u", id, 1, 0}, two = {"u", ood, 1, 0};
    const vg_measure ids[MEASURES] = {one, one, one}, oods[MEASURES] = {two, two, two};
    vg_ood_row rows[MEASURES];
    for (size_t i = 0; i < ROWS; i++)
        id[i] = (double)(i * 7 % 13), ood[i] = (double)(i * 5 % 17);
    for (unsigned threads = 0; threads <= 5; threads++)
        for (size_t count = 0; count <= MEASURES; count++)
            for (size_t resamples = 0; resamples <= 1; resamples++) {
                vg_ood_options o = VG_OOD_OPTIONS_INIT;
                unsigned given = threads ? threads : vg_base__cores();
                unsigned useful = count < given ? (unsigned)count : given;
                o.threads = threads;
                o.resamples = resamples;
                pools = 0;
                assert_int_equal(vg_ood_evaluate(rows, ids, ROWS, oods, ROWS, count, &o), VG_OK);
                assert_int_equal(pools, 1);
                assert_int_equal(started, resamples ? given : useful ? useful : 1);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_ood)};
    return cmocka_run_group_tests_name("evaluate: threads", tests, NULL, NULL);
}
