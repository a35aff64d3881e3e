/* test_measures_sizes.c - numbers of members, classes and settings of k whose memory does not fit size_t: a kernel says
 * so instead of asking for what is left where a product wraps around, and a scorer refuses before it reads anything. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "measures/kernel.h"
#include "refusal.h"

static size_t power(unsigned bits) { return (size_t)1 << bits; }

/* A job of these sizes that asks for everything. */
static vg_kernel_job job_of(size_t m, size_t c, size_t k, int form) {
    static double result;
    static const vg_score_options usual = VG_SCORE_OPTIONS_INIT;
    static const vg_dtype types[] = {VG_F32, VG_F64, VG_F32, VG_F16};
    vg_kernel_job job = {.m = m, .c = c, .k = k, .options = usual, .figures = true};
    job.out = (vg_scores){.tu = &result, .epjs = &result, .gepjs = &result, .gepkl = &result, .mean = &result};
    job.need_logs = job.need_reverse = job.need_gated = job.need_gated_logs = job.need_gated_reverse = true;
    job.in = (vg_predictions){.dtype = types[form], .n = 1, .m = m, .c = c, .stride_c = 1};
    job.in.stride_m = (ptrdiff_t)c;
    job.in.stride_n = (ptrdiff_t)(m * c);
    job.options.logits = form == 2;
    job.single_precision = types[form] != VG_F64;
    return job;
}

/* At least a float for each member, class and k; and what does not fit does not fit when a number grows. */
static void workspaces_do_not_wrap(void **state) {
    (void)state;
    const vg_kernel_tier *tiers[] = {vg_measures__tier(), &vg_measures__portable};
    size_t refused = 0, taken = 0;
    for (size_t t = 0; t < 2; t++)
        for (int form = 0; form < 4; form++)
            for (unsigned axis = 0; axis < 7; axis++) { /* which of m, c and k grow together */
                bool fits = true;
                for (unsigned bits = 1; bits < 64; bits++) {
                    size_t m = axis % 2 == 0 ? power(bits) : 5, c = axis / 2 % 2 ? power(bits) : 7;
                    size_t k = axis / 4 ? power(bits) : 3, bytes = 0;
                    vg_kernel_job job = job_of(m, c, k, form);
                    bool now = tiers[t]->workspace(&bytes, &job);
                    if (now && !fits)
                        fail_msg("form %d: %zu members, %zu classes and %zu k fit, less do not", form, m, c, k);
                    fits = now;
                    *(now ? &taken : &refused) += 1;
                    if (!now)
                        continue;
                    if ((double)bytes < 4 * ((double)m + (double)c + (double)k))
                        fail_msg("form %d: %zu bytes for %zu members, %zu classes and %zu k", form, bytes, m, c, k);
                }
                assert_true(axis == 1 || !fits);
            }
    assert_true(refused > 100 && taken > 1000);
}

/* Scorers of such sizes: the message names what was asked for. */
static void scorers_are_refused(void **state) {
    (void)state;
    static const struct {
        size_t m, c;
        vg_task task;
        const char *message;
    } sizes[] = {{SIZE_MAX, 2, VG_TASK_MULTICLASS, "18446744073709551615 members x 2 classes do not fit in memory"},
                 {2, SIZE_MAX, VG_TASK_MULTICLASS, "2 members x 18446744073709551615 classes do not fit in memory"},
                 {SIZE_MAX / 2, 3, VG_TASK_MULTICLASS, "9223372036854775807 members x 3 classes do not fit in memory"},
                 {3, SIZE_MAX / 2, VG_TASK_MULTICLASS, "3 members x 9223372036854775807 classes do not fit in memory"},
                 {2, SIZE_MAX / 4, VG_TASK_MULTILABEL, "4611686018427387903 labels do not fit in memory"},
                 {2, SIZE_MAX / 128 + 1, VG_TASK_MULTILABEL, "144115188075855872 labels do not fit in memory"}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        vg_score_options o = VG_SCORE_OPTIONS_INIT;
        vg_scorer *scorer;
        o.threads = 3;
        o.task = sizes[i].task;
        REFUSED(vg_scorer_new(&scorer, sizes[i].m, sizes[i].c, &o), VG_ERR_MEMORY, sizes[i].message);
        assert_null(scorer);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(workspaces_do_not_wrap), cmocka_unit_test(scorers_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
