/* test_measures_closed_gates.c - gates that no signal passes. With VG_GATE_EPS_INSIDE a gate is eps at least: where k
 * is so large that all gates are, they are equal, and the gated measures are the plain ones. Every kernel, by shapes
 * and element types. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "vargate/measures.h"

enum { N = 20, MOST = N * 40 * 300 };
static double wide[MOST];
static float narrow[MOST];

static void draw(size_t m, size_t c) {
    vg_random random = vg_random__start(m, c);
    for (size_t row = 0; row < N * m; row++) {
        double sum = 0;
        for (size_t j = 0; j < c; j++)
            sum += wide[row * c + j] = 0.01 + vg_random__unit(&random);
        for (size_t j = 0; j < c; j++)
            narrow[row * c + j] = (float)(wide[row * c + j] /= sum);
    }
}

static void compare(const vg_predictions *view) {
    static const double k[] = {1e13, 1e15, 1e20, 1e30};
    double plain[3][N], gated[3][4 * N];
    uint32_t flags[N];
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    vg_scores out = {.tu = plain[0],
                     .au = plain[1],
                     .eu = plain[2],
                     .gtu = gated[0],
                     .gau = gated[1],
                     .geu = gated[2],
                     .flags = flags};
    o.gate_eps_form = VG_GATE_EPS_INSIDE;
    o.k = k, o.k_count = 4;
    assert_int_equal(vg_score(&out, NULL, view, &o), VG_OK);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < 12; j++)
            if (!(fabs(gated[j / 4][4 * i + j % 4] - plain[j / 4][i]) <= 2e-6) || flags[i])
                fail_msg("type %d, %zu members, %zu classes, sample %zu, k = %g: measure %zu is %.9g, ungated %.9g",
                         (int)view->dtype, view->m, view->c, i, k[j % 4], j / 4, gated[j / 4][4 * i + j % 4],
                         plain[j / 4][i]);
}

static void as_without_gates(void **state) {
    (void)state;
    static const size_t members[] = {2, 3, 5, 8, 17, 40}, classes[] = {2, 3, 4, 10, 17, 33, 100, 300};
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 8; j++) {
            draw(members[i], classes[j]);
            vg_predictions of_floats = vg_predictions_f32(narrow, N, members[i], classes[j]);
            vg_predictions of_doubles = vg_predictions_f64(wide, N, members[i], classes[j]);
            compare(&of_floats);
            compare(&of_doubles);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_without_gates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
