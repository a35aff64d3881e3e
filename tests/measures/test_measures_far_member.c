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

/* --- members in groups */

enum { GROUP_SAMPLES = 4, GROUP_GATES = 4, MEASURES = 6, GROUP_MEMBERS = 183, GROUP_CLASSES = 290 };

typedef struct groups {
    int family;
    size_t members, classes;
    double value; /* of the far members, or what certain ones leave to the other classes */
} groups;

/* Member m of a sample of a family. 0: the first members are certain of class 1, with `value` elsewhere, the others
 * agree. 1: each is certain of a class of its own but for `value`. 2: one has `value` in one class, and is otherwise
 * like the others. 3: every third agrees, the others are certain of one of five classes. 4: the first sixteenth lie
 * apart, the others agree. */
static void fill_groups(float *row, const groups *g, size_t sample, size_t m) {
    size_t C = g->classes, far = sample % 2 ? (g->members + 4) / 5 : 1;
    double all = (double)(sample * 37 + g->members) / 97, rest = 1 - (all - floor(all)) * 0.98;
    double first = sample < 2 ? 1 / (double)C : rest / (double)(C - 1); /* of an agreeing member, in class 0 */
    for (size_t c = 0; c < C; c++) {
        double even = sample < 2 ? 1 / (double)C : c == C - 1 ? 1 - rest : rest / (double)(C - 1), own = even;
        if (g->family == 0 && m < far)
            own = c == 1 ? 1 : g->value;
        else if (g->family == 1)
            own = c == (m + sample) % C ? 1 - g->value : g->value / (double)(C - 1);
        else if (g->family == 2 && m == sample)
            own = c == 0 ? g->value : c == 1 ? even + first : even;
        else if (g->family == 3 && m % 3)
            own = c == m % 5 * 7 % C ? 1 : g->value;
        else if (g->family == 4 && m < (g->members + 15) / 16)
            own = (double)(c + 1) * 2 / (double)(C * (C + 1));
        row[c] = (float)own;
    }
}

static vg_scores groups_scores(double *values, double *snr) {
    double *gated = values + MEASURES * GROUP_SAMPLES;
    const size_t step = GROUP_SAMPLES * GROUP_GATES;
    return (vg_scores){.tu = values,
                       .au = values + GROUP_SAMPLES,
                       .eu = values + 2 * GROUP_SAMPLES,
                       .epce = values + 3 * GROUP_SAMPLES,
                       .epkl = values + 4 * GROUP_SAMPLES,
                       .epjs = values + 5 * GROUP_SAMPLES,
                       .gtu = gated,
                       .gau = gated + step,
                       .geu = gated + 2 * step,
                       .gepce = gated + 3 * step,
                       .gepkl = gated + 4 * step,
                       .gepjs = gated + 5 * step,
                       .snr = snr};
}

static void check_groups(const groups *g) {
    enum { PLAIN = MEASURES * GROUP_SAMPLES, ALL = PLAIN * (1 + GROUP_GATES) };
    static float single[GROUP_SAMPLES * GROUP_MEMBERS * GROUP_CLASSES];
    static double twice[GROUP_SAMPLES * GROUP_MEMBERS * GROUP_CLASSES];
    static const double k[GROUP_GATES] = {.3, 1, 3, 30};
    double values[2][ALL], snr[2][GROUP_SAMPLES];
    size_t rows = GROUP_SAMPLES * g->members;
    for (size_t i = 0; i < rows; i++)
        fill_groups(single + i * g->classes, g, i / g->members, i % g->members);
    for (size_t i = 0; i < rows * g->classes; i++)
        twice[i] = (double)single[i];
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    options.k = k;
    options.k_count = GROUP_GATES;
    vg_predictions views[2] = {vg_predictions_f32(single, GROUP_SAMPLES, g->members, g->classes),
                               vg_predictions_f64(twice, GROUP_SAMPLES, g->members, g->classes)};
    for (int i = 0; i < 2; i++) {
        vg_scores out = groups_scores(values[i], snr[i]);
        assert_int_equal(vg_score(&out, NULL, &views[i], &options), VG_OK);
    }
    for (size_t i = 0; i < ALL; i++) {
        double error = fabs(values[0][i] - values[1][i]);
        bool pairs = i < PLAIN ? i >= PLAIN - GROUP_SAMPLES : i >= ALL - GROUP_SAMPLES * GROUP_GATES;
        if (!(error <= (pairs ? 5e-6 : i < PLAIN ? 1.5e-6 : 3e-6))) /* as docs/measures.md states */
            fail_msg("family %d, %zu members, %zu classes, %g: value %zu is off by %g", g->family, g->members,
                     g->classes, g->value, i, error);
    }
    for (size_t s = 0; s < GROUP_SAMPLES; s++) {
        double error = fabs(snr[0][s] - snr[1][s]) / fmax(snr[1][s], 1);
        if (!(error <= 1e-6))
            fail_msg("family %d, %zu members, %zu classes, %g: SNR is off by %g", g->family, g->members, g->classes,
                     g->value, error);
    }
}

static void test_groups(void **state) {
    static const size_t members[] = {2, 3, 7, 19, 45, 87, GROUP_MEMBERS};
    static const size_t classes[] = {2, 10, 100, 181, GROUP_CLASSES};
    static const double values[] = {0, 1e-30, 1e-15, 1e-6}, left[] = {.27, .02, .003, 1e-5};
    (void)state;
    for (size_t m = 0; m < sizeof members / sizeof *members; m++)
        for (size_t c = 0; c < sizeof classes / sizeof *classes; c++)
            for (int family = 0; family < 5; family++)
                for (size_t v = 0; v < (family == 4 ? 1 : 4); v++)
                    check_groups(&(groups){family, members[m], classes[c], family == 1 ? left[v] : values[v]});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_far_member), cmocka_unit_test(test_certain_members),
                                       cmocka_unit_test(test_groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
