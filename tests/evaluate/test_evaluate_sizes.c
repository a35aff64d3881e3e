/* test_evaluate_sizes.c - numbers whose products do not fit size_t are refused before any memory is looked at: an array
 * that is named here has a few elements or none. A product that wrapped around would be small, and accepted. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "evaluate/columns_layout.h"
#include "evaluate/evaluate_internal.h"
#include "evaluate/set_rule.h"
#include "refusal.h"

static const size_t half = SIZE_MAX / 2 + 1, quarter = SIZE_MAX / 4 + 1; /* powers of two */

static void tallies(void **state) {
    (void)state;
    static const double mean[4] = {.75, .25, .5, .5};
    static const int64_t labels[4] = {0, 1, 1, 0};
    vg_tally_options o = VG_TALLY_OPTIONS_INIT;
    vg_tally *t;
    o.task = VG_TASK_MULTILABEL;
    o.expected = half;
    REFUSED(vg_tally_new(&t, 2, &o), VG_ERR_MEMORY, "tally: 9223372036854775808 samples of 2 labels do not fit memory");
    assert_null(t);
    o.expected = quarter;
    REFUSED(vg_tally_new(&t, 4, &o), VG_ERR_MEMORY, "samples of 4 labels do not fit memory");
    o.expected = 0;
    ACCEPTED(vg_tally_new(&t, 2, &o));
    REFUSED(vg_tally_feed(t, mean, NULL, labels, half), VG_ERR_MEMORY, "more samples do not fit memory");
    ACCEPTED(vg_tally_feed(t, mean, NULL, labels, 1));
    REFUSED(vg_tally_feed(t, mean, NULL, labels, half - 1), VG_ERR_MEMORY, "more samples do not fit memory");
    vg_tally_free(t);
    o.task = VG_TASK_MULTICLASS;
    ACCEPTED(vg_tally_new(&t, 2, &o));
    ACCEPTED(vg_tally_feed(t, mean, NULL, labels, 2));
    REFUSED(vg_tally_feed(t, mean, NULL, labels, SIZE_MAX), VG_ERR_MEMORY, "tally: 18446744073709551615 more samples");
    REFUSED(vg_tally_feed(t, mean, NULL, labels, SIZE_MAX - 1), VG_ERR_MEMORY, "more samples do not fit memory");
    ACCEPTED(vg_tally_feed(t, mean, NULL, labels, 2)); /* unchanged by what was refused */
    assert_int_equal(vg_tally__info(t).rows, 4);
    vg_tally_free(t);
}

static void evaluations(void **state) {
    (void)state;
    static const double mean[4] = {.75, .25, .5, .5}, u[4] = {1, 2, 3, 4};
    static const int64_t labels[2] = {0, 1};
    static const vg_measure four[4] = {{"a", u, 1, 0}, {"b", u, 1, 0}, {"c", u, 1, 0}, {"d", u, 1, 0}};
    vg_evaluate_options o = VG_EVALUATE_OPTIONS_INIT;
    vg_evaluation *e;
    vg_tally *t;
    ACCEPTED(vg_tally_new(&t, 2, NULL));
    ACCEPTED(vg_tally_feed(t, mean, NULL, labels, 2));
    o.curve_points = quarter;
    REFUSED(vg_evaluate(&e, t, four, 4, &o), VG_ERR_MEMORY, "results of 4 measures and 2 classes do not fit memory");
    o.curve_points = quarter + 1; /* four points, if it wrapped around */
    REFUSED(vg_evaluate(&e, t, four, 4, &o), VG_ERR_MEMORY, "results of 4 measures and 2 classes do not fit memory");
    assert_null(e);
    vg_tally_free(t);
    vg_tally_options resampled = VG_TALLY_OPTIONS_INIT;
    resampled.bootstrap = 1;
    ACCEPTED(vg_tally_new(&t, 2, &resampled));
    ACCEPTED(vg_tally_feed(t, mean, NULL, labels, 2));
    o.curve_points = 0;
    o.resamples = half;
    REFUSED(vg_evaluate(&e, t, four, 4, &o), VG_ERR_MEMORY, "9223372036854775808 resamples do not fit memory");
    vg_tally_free(t);
}

static void columns(void **state) {
    (void)state;
    static const double k[2] = {1, 2};
    vg_columns *made;
    static const unsigned which[] = {VG_COLUMN_TU | VG_COLUMN_GTU, VG_COLUMN_GTU, VG_COLUMN_TU | VG_COLUMN_AU};
    for (size_t i = 0; i < 3; i++) {
        size_t width = i == 0 ? 3 : 2;
        size_t rows = SIZE_MAX / width + 1; /* the first that does not fit */
        REFUSED(vg_columns__new(&made, rows, k, 2, which[i]), VG_ERR_MEMORY,
                "rows at 2 gate settings do not fit memory");
    }
    REFUSED(vg_columns__new(&made, 1, k, half, VG_COLUMN_GTU | VG_COLUMN_GAU), VG_ERR_MEMORY,
            "1 rows at 9223372036854775808 gate settings do not fit memory");
    REFUSED(vg_columns__new(&made, 1, k, SIZE_MAX, VG_COLUMN_GTU | VG_COLUMN_TU), VG_ERR_MEMORY,
            "1 rows at 18446744073709551615 gate settings do not fit memory");
}

static void sums_and_sets(void **state) {
    (void)state;
    double *tail = NULL;
    REFUSED(vg_evaluate__harmonic_tail(&tail, SIZE_MAX), VG_ERR_MEMORY,
            "harmonic sums: 18446744073709551615 rows do not");
    REFUSED(vg_evaluate__harmonic_tail(&tail, SIZE_MAX / 8), VG_ERR_MEMORY, "do not fit in memory");
    vg_evaluation e = {.bins = SIZE_MAX / 3 + 1, .n = 4, .classes = 2};
    REFUSED(vg_evaluate__calibration_of_bins(&e, NULL, 0.9), VG_ERR_MEMORY,
            "bins: 6148914691236517206 x 24 bytes do not fit in memory");
    vg_set_tuning tuning = {.n = quarter - 1};
    const vg_set_parts label = {0};
    static const double sums[4];
    REFUSED(vg_set_tuning__add(&tuning, &label, sums, 4), VG_ERR_MEMORY, "tuning samples of 4 classes do not fit in");
    assert_int_equal(tuning.n, quarter - 1);
    vg_rank_room room;
    WRONG(vg_evaluate__rank_room(&room, (size_t)UINT32_MAX + 1, NULL, 0),
          "ranking: 4294967296 rows, at most 4294967295");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tallies), cmocka_unit_test(evaluations),
                                       cmocka_unit_test(columns), cmocka_unit_test(sums_and_sets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
