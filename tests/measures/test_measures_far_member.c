/* test_measures_far_member.c - float32 members far from each other. All are equal but for one, which gives almost no
 * probability to a class: the terms of the others are equal and small, and are rounded alike where they are added to
 * its large one. Or each is certain of a class of its own. TU, AU, EU and EPKL must keep the accuracy of
 * docs/measures.md. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vargate/measures.h"

enum { SAMPLES = 32, MOST = 170, CLASSES = 2 };

static double entropy(const double *p) {
    double h = 0;
    for (size_t c = 0; c < CLASSES; c++)
        h -= p[c] > 0 ? p[c] * log(p[c]) : 0;
    return h;
}

static void check_members(size_t members, float far, size_t shift) {
    static float p[SAMPLES * MOST * CLASSES];
    double tu[SAMPLES], au[SAMPLES], eu[SAMPLES], epkl[SAMPLES];
    for (size_t s = 0; s < SAMPLES; s++)
        for (size_t m = 0; m < members; m++) {
            float *row = p + (s * members + m) * CLASSES;
            row[0] = m == s % members ? far : (float)(((double)((s + shift) % 97) + .5) / 97);
            row[1] = m == s % members ? 1 : 1 - row[0];
        }
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_scores out = {.tu = tu, .au = au, .eu = eu, .epkl = epkl};
    vg_predictions view = vg_predictions_f32(p, SAMPLES, members, CLASSES);
    assert_int_equal(vg_score(&out, NULL, &view, &options), VG_OK);
    for (size_t s = 0; s < SAMPLES; s++) {
        double mean[CLASSES] = {0, 0}, within = 0, reverse = 0;
        for (size_t m = 0; m < members; m++) {
            const double row[CLASSES] = {(double)p[(s * members + m) * 2], (double)p[(s * members + m) * 2 + 1]};
            within += entropy(row) / (double)members;
            for (size_t c = 0; c < CLASSES; c++)
                mean[c] += row[c] / (double)members;
        }
        for (size_t m = 0; m < members; m++)
            for (size_t c = 0; c < CLASSES; c++)
                reverse += mean[c] * log(mean[c] / fmax((double)p[(s * members + m) * 2 + c], 1e-12)) / (double)members;
        double total = entropy(mean), worst = fabs(tu[s] - total);
        worst = fmax(worst, fabs(au[s] - within));
        worst = fmax(worst, fabs(eu[s] - (total - within)));
        worst = fmax(worst, fabs(epkl[s] - (total - within + reverse)));
        if (!(worst <= 1e-6))
            fail_msg("%zu members, one at %g, sample %zu: off by %g", members, (double)far, s, worst);
    }
}

static void test_one_far_member(void **state) {
    static const float far[] = {0, 1e-34F, 1e-30F, 1e-25F, 1e-20F, 1e-15F, 1e-12F, 1e-9F};
    (void)state;
    for (size_t members = 2; members <= MOST; members++)
        for (size_t i = 0; i < sizeof far / sizeof *far; i++)
            check_members(members, far[i], 11 * members);
}

/* Members that are certain of classes of their own: EU is log M, above what panels of float hold from 55 members on. */
static void test_certain_members(void **state) {
    enum { MANY_CLASSES = 210 };
    static float p[SAMPLES * MOST * MANY_CLASSES];
    (void)state;
    for (size_t members = 5; members <= MOST; members += 15) {
        double eu[SAMPLES];
        for (size_t i = 0; i < SAMPLES * members; i++)
            for (size_t c = 0; c < MANY_CLASSES; c++)
                p[i * MANY_CLASSES + c] = c == i % members;
        vg_score_options options = VG_SCORE_OPTIONS_INIT;
        vg_scores out = {.eu = eu};
        vg_predictions view = vg_predictions_f32(p, SAMPLES, members, MANY_CLASSES);
        assert_int_equal(vg_score(&out, NULL, &view, &options), VG_OK);
        for (size_t s = 0; s < SAMPLES; s++)
            assert_true(fabs(eu[s] - log((double)members)) <= 1e-6);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_far_member), cmocka_unit_test(test_certain_members)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
