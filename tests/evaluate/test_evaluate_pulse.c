/* test_evaluate_pulse.c - how often a long call asks whether to go on: in every pass over the rows once for each slice
 * of VG_SLICE rows, so that the answer is heard within some milliseconds however many rows there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "evaluate/evaluate_internal.h"
#include "vargate/evaluate.h"

/* Rows of three slices, the last one of a single row; of two where there are resamples. */
enum { SLICES = 3, ROWS = (SLICES - 1) * VG_SLICE + 1, FEW_SLICES = 2, FEW = (FEW_SLICES - 1) * VG_SLICE + 1 };

typedef struct asked {
    size_t times, stop_at;
    unsigned long long done, total;
} asked;

static int ask(void *context, unsigned long long done, unsigned long long total) {
    asked *a = context;
    a->done = done, a->total = total;
    return ++a->times == a->stop_at;
}

/* Worker 0 asks; the others see the answer. */
static void one_worker_asks(void **state) {
    (void)state;
    asked a = {.stop_at = 2};
    vg_pulse pulse = {.ask = ask, .context = &a, .what = "work", .total = 9};
    assert_int_equal(vg_evaluate__pulse(NULL, 0), VG_OK);
    vg_evaluate__pulse_add(NULL, 1);
    vg_evaluate__pulse_add(&pulse, 4);
    assert_int_equal(vg_evaluate__pulse(&pulse, 1), VG_OK);
    assert_int_equal(a.times, 0);
    assert_int_equal(vg_evaluate__pulse(&pulse, 0), VG_OK);
    assert_true(a.times == 1 && a.done == 4 && a.total == 9);
    assert_int_equal(vg_evaluate__pulse_end(&pulse), VG_OK);
    assert_int_equal(vg_evaluate__pulse(&pulse, 0), VG_ERR_INTERRUPTED);
    assert_string_equal(vg_error_message(), "work: interrupted");
    assert_int_equal(vg_evaluate__pulse(&pulse, 1), VG_ERR_INTERRUPTED);
    assert_int_equal(vg_evaluate__pulse(&pulse, 0), VG_ERR_INTERRUPTED);
    assert_int_equal(a.times, 2); /* not again */
    assert_int_equal(vg_evaluate__pulse_end(&pulse), VG_ERR_INTERRUPTED);
    pulse.ask = NULL;
    assert_int_equal(vg_evaluate__pulse(&pulse, 0), VG_OK);
}

static double *values_of(uint64_t stream) {
    double *values = malloc(ROWS * sizeof *values);
    vg_random random = vg_random__start(3, stream);
    assert_non_null(values);
    for (size_t i = 0; i < ROWS; i++)
        values[i] = vg_random__unit(&random);
    return values;
}

/* At least so many questions, and not many more. */
static void often_enough(const char *what, size_t times, size_t least) {
    print_message("%s: asked %zu times, expected at least %zu\n", what, times, least);
    assert_true(times >= least && times <= least + least / 4 + 4);
}

static size_t ood_asks(const vg_measure *id, const vg_measure *ood, size_t rows, size_t resamples) {
    vg_ood_options options = VG_OOD_OPTIONS_INIT;
    vg_ood_row row;
    asked a = {0};
    options.threads = 1;
    options.resamples = resamples;
    options.progress = ask;
    options.progress_context = &a;
    assert_int_equal(vg_ood_evaluate(&row, id, rows, ood, rows, 1, &options), VG_OK);
    return a.times;
}

/* Both sides of OOD. A walk along sorted rows asks after each slice, the other passes before. */
static void ood_asks_in_every_pass(void **state) {
    (void)state;
    double *one = values_of(1), *two = values_of(2);
    vg_measure id = {"u", one, 1, 0}, ood = {"u", two, 1, 0};
    /* at the beginning and before the measure; values are copied, put into buckets, walked */
    size_t walk = 2 * ROWS / VG_SLICE - 1;
    often_enough("ood", ood_asks(&id, &ood, ROWS, 0), 2 + 2 * SLICES + (2 * ROWS / VG_SLICE + 1) + walk);
    /* the same, but sorted with their rows; weights, cleared, then drawn in eight lanes; one walk for all lanes */
    size_t slices = 2 * FEW / VG_SLICE + 1;
    often_enough("ood, resampled", ood_asks(&id, &ood, FEW, 8),
                 2 + 2 * FEW_SLICES + (slices - 1) + 9 * 2 * FEW_SLICES + slices);
    free(one);
    free(two);
}

static size_t evaluation_asks(const vg_measure *measure, const double *other, size_t rows, size_t resamples) {
    vg_tally_options how = VG_TALLY_OPTIONS_INIT;
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    double *mean = malloc(2 * rows * sizeof *mean);
    int64_t *labels = malloc(rows * sizeof *labels);
    vg_evaluation *e;
    vg_tally *tally;
    asked a = {0};
    assert_true(mean && labels);
    for (size_t i = 0; i < rows; i++) {
        mean[2 * i] = other[i], mean[2 * i + 1] = 1 - other[i];
        labels[i] = measure->values[i] < 0.7;
    }
    how.bootstrap = resamples > 0;
    options.threads = 1;
    options.resamples = resamples;
    options.progress = ask;
    options.progress_context = &a;
    assert_int_equal(vg_tally_new(&tally, 2, &how), VG_OK);
    assert_int_equal(vg_tally_feed(tally, mean, mean, labels, rows), VG_OK);
    assert_int_equal(vg_evaluate(&e, tally, measure, 1, &options), VG_OK);
    vg_evaluation_free(e);
    vg_tally_free(tally);
    free(mean), free(labels);
    return a.times;
}

static void evaluation_asks_in_every_pass(void **state) {
    (void)state;
    double *values = values_of(1), *other = values_of(2);
    vg_measure measure = {"u", values, 1, 0};
    /* at the beginning and before seven pieces of work; two measures are put into buckets and walked */
    size_t fixed = 1 + 7, plain = evaluation_asks(&measure, other, ROWS, 0);
    often_enough("evaluation", plain, fixed + 2 * (SLICES + SLICES - 2) + 1);
    plain = evaluation_asks(&measure, other, FEW, 0);
    /* keys, sorted, intervals; weights, cleared, then drawn in eight lanes; the tally, the ranking, the rule at three
     * k */
    often_enough("resamples", evaluation_asks(&measure, other, FEW, 8) - plain,
                 FEW_SLICES + 1 + 1 + 9 * FEW_SLICES + (1 + 1 + 3) * FEW_SLICES);
    free(values), free(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_worker_asks), cmocka_unit_test(ood_asks_in_every_pass),
                                       cmocka_unit_test(evaluation_asks_in_every_pass)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
