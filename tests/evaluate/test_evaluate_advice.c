/* test_evaluate_advice.c - which measure and which k: "noise" at the nominal rate where nothing that is compared
 * depends on the errors, and what is better where something does. */
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

#include "vargate/evaluate.h"

enum { SETS = 400, N = 400, MEASURES = 4 };

static double uniform_at(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* Two classes, a fifth of the predictions wrong. Spreads, hence the rule, and four measures are drawn without regard to
 * the errors; `known` adds what the errors are. */
static vg_evaluation *draw(uint64_t seed, double known) {
    static const double k[] = {0.5, 1, 2};
    static double mean[2 * N], std[2 * N], values[MEASURES][N];
    static int64_t labels[N];
    vg_measure measures[MEASURES];
    vg_tally *tally;
    vg_tally_options counting = VG_TALLY_OPTIONS_INIT;
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    vg_evaluation *e;
    for (size_t i = 0; i < N; i++) {
        bool wrong = uniform_at(&seed) < 0.2;
        mean[2 * i] = 0.8;
        mean[2 * i + 1] = 0.2;
        double u = uniform_at(&seed);
        std[2 * i] = std[2 * i + 1] = known > 0 ? 0.05 * u + 0.15 * wrong : 0.6 * u;
        labels[i] = wrong;
        for (size_t m = 0; m < MEASURES; m++)
            values[m][i] = uniform_at(&seed) + (m == 2 ? known * wrong : 0);
    }
    assert_int_equal(vg_tally_new(&tally, 2, &counting), VG_OK);
    assert_int_equal(vg_tally_feed(tally, mean, std, labels, N), VG_OK);
    for (size_t m = 0; m < MEASURES; m++) {
        measures[m] = (vg_measure){.values = values[m], .stride = 1};
        snprintf(measures[m].name, sizeof measures[m].name, m ? "m%zu" : "tu", m);
    }
    options.k = k;
    options.k_count = 3;
    options.threads = 1;
    assert_int_equal(vg_evaluate(&e, tally, measures, MEASURES, &options), VG_OK);
    vg_tally_free(tally);
    return e;
}

static const vg_finding *find(const vg_finding *list, size_t count, const char *about) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].about, about) == 0)
            return &list[i];
    fail_msg("nothing about %s", about);
    return list;
}

static void test_noise_is_called_noise(void **state) {
    (void)state;
    size_t measure = 0, k = 0;
    double most = 0.05 * SETS + 3 * sqrt(0.05 * 0.95 * SETS);
    for (uint64_t s = 0; s < SETS; s++) {
        vg_finding list[VG_MAX_FINDINGS];
        vg_evaluation *e = draw(1 + s * 7919, 0);
        size_t count = vg_evaluation_findings(list, e, NULL);
        measure += strcmp(find(list, count, "measure")->verdict, "clear") == 0;
        k += strcmp(find(list, count, "k")->verdict, "clear") == 0;
        vg_evaluation_free(e);
    }
    printf("of %d sets without a difference a measure is called clear for %zu, a k for %zu\n", SETS, measure, k);
    assert_true((double)measure <= most && (double)k <= most);
}

static void test_differences_are_found(void **state) {
    (void)state;
    vg_finding list[VG_MAX_FINDINGS];
    vg_evaluation *e = draw(3, 1);
    size_t count = vg_evaluation_findings(list, e, NULL);
    assert_string_equal(find(list, count, "measure")->choice, "m2");
    const vg_finding *f = find(list, count, "k");
    assert_string_equal(f->verdict, "clear");
    const vg_rule_row *best = NULL, *first = &e->rule[0];
    for (size_t i = 0; i < e->rule_count; i++)
        best = strcmp(e->rule[i].name, f->choice) == 0 ? &e->rule[i] : best;
    assert_non_null(best);
    double errors = (double)e->errors, right = (double)(N - e->errors); /* the figure that the text names */
    double gain = ((double)best->abstained_errors - (double)first->abstained_errors) / errors -
                  ((double)best->abstained_correct - (double)first->abstained_correct) / right;
    char words[32];
    snprintf(words, sizeof words, "larger by %.4f", gain);
    assert_non_null(strstr(f->text, words));
    vg_evaluation_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_noise_is_called_noise),
                                       cmocka_unit_test(test_differences_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
