/* test_measures_scratch.c - what a kernel that is given logits of -inf may rely on (masked_logits.c), seen by a kernel
 * of the test: memory as large as it asked for in each of the forms in which samples are scored, aligned, and samples
 * in the right form. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measures/kernel.h"

/* The forms: logits as they were given; in double, with a large number for -inf; as probabilities. */
typedef enum form { GIVEN, WIDE, PROBABILITIES, FORMS } form;
enum { LARGE = 16 << 20, M = 2, C = 3, N = 4 };
static size_t wanted[FORMS], scored[FORMS];
static form refused;
static const char plan[N] = {0, 1, 1, 0}; /* which samples have a logit of -inf */

static form form_of(const vg_kernel_job *job) {
    return job->in.dtype == VG_F32 ? GIVEN : job->options.logits ? WIDE : PROBABILITIES;
}

static size_t units(const vg_kernel_job *job) {
    (void)job;
    return 4;
}

static bool workspace(size_t *bytes, const vg_kernel_job *job) {
    *bytes = wanted[form_of(job)];
    return refused != form_of(job);
}

static void check_values(const vg_kernel_job *job, size_t n) {
    for (size_t m = 0; m < M; m++) {
        double sum = 0;
        for (size_t c = 0; c < C; c++) {
            double x = vg_measures__value(&job->in, n, m, c);
            assert_true(isfinite(x));
            sum += x;
        }
        assert_true(form_of(job) != PROBABILITIES || fabs(sum - 1) < 1e-12);
    }
}

static vg_status score(const vg_kernel_job *job, void *memory, size_t first, size_t count) {
    assert_int_equal((uintptr_t)memory % 64, 0);
    memset(memory, 1, wanted[form_of(job)]); /* ends the program where there is less */
    assert_null(job->pool);
    for (size_t n = first; n < first + count; n++) {
        assert_true(plan[n] == (form_of(job) != GIVEN));
        check_values(job, n);
    }
    assert_true(!job->out.energy == (form_of(job) == PROBABILITIES));
    assert_true(!job->out.tu == (form_of(job) == WIDE));
    scored[form_of(job)] += count;
    return VG_OK;
}

static const vg_kernel_tier tier = {.name = "test", .units = units, .workspace = workspace, .score = score};

static vg_status score_all(void) {
    static float logits[N * M * C];
    static double results[N];
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    for (size_t i = 0; i < N * M * C; i++)
        logits[i] = plan[i / (M * C)] && i % C == 1 ? -INFINITY : (float)(i % 5);
    options.logits = 1;
    vg_kernel_job job = {.m = M, .c = C, .options = options, .in = vg_predictions_f32(logits, N, M, C)};
    job.out.tu = job.out.energy = results;
    memset(scored, 0, sizeof scored);
    return vg_measures__score_masked(&tier, &job, 0, N);
}

static void every_form_has_its_memory(void **state) {
    (void)state;
    refused = FORMS;
    for (form large = GIVEN; large < FORMS; large++) {
        for (form f = GIVEN; f < FORMS; f++)
            wanted[f] = f == large ? LARGE : 64;
        assert_int_equal(score_all(), VG_OK);
        assert_int_equal(scored[GIVEN], 2);
        assert_int_equal(scored[WIDE], 2);
        assert_int_equal(scored[PROBABILITIES], 2);
    }
}

static void sizes_that_do_not_fit_are_refused(void **state) {
    (void)state;
    for (form f = GIVEN; f < FORMS; f++)
        wanted[f] = SIZE_MAX; /* would be taken for a size */
    for (refused = GIVEN; refused < FORMS; refused++) {
        assert_int_equal(score_all(), VG_ERR_MEMORY);
        assert_string_equal(vg_error_message(), "2 members x 3 classes do not fit in memory");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_form_has_its_memory),
                                       cmocka_unit_test(sizes_that_do_not_fit_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
