/* test_measures_quick.c - the quick check of rows (their sum in float, their signs): of rows that are distributions no
 * value is looked at a second time; of one that is only just a distribution all are. The build lets this program count
 * the calls of the full check. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "measures/kernel.h"

static size_t checked; /* units that the full check looked at */

vg_status __real_vg_measures__check_units(const vg_kernel_job *job, size_t first, size_t count);
vg_status __wrap_vg_measures__check_units(const vg_kernel_job *job, size_t first, size_t count);
vg_status __wrap_vg_measures__check_units(const vg_kernel_job *job, size_t first, size_t count) {
    checked += count;
    return __real_vg_measures__check_units(job, first, count);
}

enum { N = 37, MOST = 400000 };
static double wide[MOST];
static float narrow[MOST];
static const size_t members[] = {1, 2, 3, 5, 8, 9, 16, 70}, classes[] = {2, 3, 4, 5, 8, 10, 17, 33, 64, 100, 129};

static double random_value(void) {
    static unsigned long long state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

/* Rows of every kind: even, peaked, and a single class with everything; class by class where `turned`. */
static vg_predictions make(size_t m, size_t c, bool single, bool turned) {
    for (size_t row = 0; row < N * m; row++) {
        double sum = 0, p[129];
        for (size_t j = 0; j < c; j++)
            sum += p[j] = row % 7 == 6 ? (double)(j == row % c) : row % 7 > 2 ? pow(random_value(), 9) : random_value();
        for (size_t j = 0; j < c; j++) {
            size_t at = turned ? (row % m * c + j) * N + row / m : row * c + j;
            wide[at] = p[j] / sum;
            narrow[at] = (float)wide[at];
        }
    }
    vg_predictions view = single ? vg_predictions_f32(narrow, N, m, c) : vg_predictions_f64(wide, N, m, c);
    if (turned)
        view.stride_n = 1, view.stride_m = (ptrdiff_t)(N * c), view.stride_c = N;
    return view;
}

static size_t score(const vg_predictions *view) {
    static double tu[N], gtu[3 * N], epkl[N];
    vg_scores out = {.tu = tu, .gtu = gtu, .epkl = epkl};
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    options.threads = 1;
    checked = 0;
    assert_int_equal(vg_score(&out, NULL, view, &options), VG_OK);
    return checked;
}

static void good_rows_are_read_once(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        for (size_t j = 0; j < sizeof classes / sizeof *classes; j++)
            for (int form = 0; form < 4; form++) {
                vg_predictions view = make(members[i], classes[j], form % 2, form / 2);
                size_t again = score(&view);
                if (again > 0)
                    fail_msg("%zu members, %zu classes, form %d: %zu samples checked again", members[i], classes[j],
                             form, again);
            }
}

/* A row whose sum is off by a little less than is allowed. */
static void doubtful_rows_are_looked_at(void **state) {
    (void)state;
    size_t found = 0;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        for (size_t j = 0; j < sizeof classes / sizeof *classes; j++)
            for (int single = 0; single < 2; single++) {
                vg_predictions view = make(members[i], classes[j], single, false);
                size_t row = (N / 2 * members[i] + members[i] - 1) * classes[j];
                for (size_t c = row; c < row + classes[j]; c++)
                    narrow[c] = (float)(wide[c] *= 1.00096);
                size_t again = score(&view);
                found += again > 0;
                assert_true(again <= 16); /* the samples beside it, no others */
            }
    assert_true(found > 0); /* the kernels of tiles have a full check of their own */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(good_rows_are_read_once),
                                       cmocka_unit_test(doubtful_rows_are_looked_at)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
