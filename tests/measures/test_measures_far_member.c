/* test_measures_far_member.c - float32 members far from each other: one below all others (far_members.h), each
 * certain of a class of its own, or two groups. Every measure of the last is held against float64 input, which
 * test_measures_accuracy holds against quadruple precision to 1e-12. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "far_members.h"

static void test_one_far_member(void **state) {
    (void)state;
    for (size_t members = 2; members <= FAR_MOST; members++)
        for (size_t i = 0; i < FAR_VALUES; i++) {
            double error = far_member_error(vg_score, members, 2, far_values[i], 11 * members);
            if (!(error <= 1e-6))
                fail_msg("%zu members, one at %g: off by %g", members, (double)far_values[i], error);
        }
}

/* Members that are certain of classes of their own: EU is log M, above what panels of float hold from 55 members on. */
static void test_certain_members(void **state) {
    enum { MANY_CLASSES = 210 };
    static float p[FAR_SAMPLES * FAR_MOST * MANY_CLASSES];
    (void)state;
    for (size_t members = 5; members <= FAR_MOST; members += 15) {
        double eu[FAR_SAMPLES];
        for (size_t i = 0; i < FAR_SAMPLES * members; i++)
            for (size_t c = 0; c < MANY_CLASSES; c++)
                p[i * MANY_CLASSES + c] = c == i % members;
        vg_score_options options = VG_SCORE_OPTIONS_INIT;
        vg_scores out = {.eu = eu};
        vg_predictions view = vg_predictions_f32(p, FAR_SAMPLES, members, MANY_CLASSES);
        assert_int_equal(vg_score(&out, NULL, &view, &options), VG_OK);
        for (size_t s = 0; s < FAR_SAMPLES; s++)
            assert_true(fabs(eu[s] - log((double)members)) <= 1e-6);
    }
}

static void test_groups(void **state) {
    (void)state;
    assert_int_equal(far_groups_beyond(vg_score, GROUP_MEMBERS, GROUP_CLASSES), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_far_member), cmocka_unit_test(test_certain_members),
                                       cmocka_unit_test(test_groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
