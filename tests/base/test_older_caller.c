/* test_older_caller.c - a program compiled against an older header still works.
 *
 * This program sees older_api.h alone, whose structs of options lack their last fields. Every struct is followed by
 * a guard of 0xee bytes: a library that read on would take them for thread counts and callbacks, and fail or crash.
 * Results are compared with values known beforehand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "folder_util.h"
#include "older_api.h"

/* `struct name` followed by a guard. */
#define GUARDED(TYPE, NAME, ...)                                                                                       \
    struct {                                                                                                           \
        TYPE options;                                                                                                  \
        unsigned char guard[128];                                                                                      \
    } NAME;                                                                                                            \
    memset(&NAME, 0xee, sizeof NAME);                                                                                  \
    NAME.options = (TYPE)__VA_ARGS__

static const double predictions[2][2][2] = {{{.5, .5}, {.5, .5}}, {{.9, .1}, {.9, .1}}};
static const double means[4][2] = {{.9, .1}, {.8, .2}, {.3, .7}, {.4, .6}};
static const int64_t labels[4] = {0, 0, 1, 0}; /* the last is predicted wrong */
static const uint8_t errors[4] = {0, 0, 0, 1};
static const double uncertainties[4] = {.1, .2, .3, .4};
static const vg_measure measure = {"u", uncertainties, 1, 0};

static void score(void **state) {
    (void)state;
    GUARDED(vg_score_options, older, VG_SCORE_OPTIONS_INIT);
    vg_predictions view = vg_predictions_f64(&predictions[0][0][0], 2, 2, 2);
    double tu[2];
    vg_scores out = {.tu = tu};
    assert_int_equal(vg_score(&out, NULL, &view, &older.options), 0);
    assert_true(fabs(tu[0] - log(2)) < 1e-12);
    assert_true(fabs(tu[1] + .9 * log(.9) + .1 * log(.1)) < 1e-12);
    assert_int_equal(vg_score_options_preset(&older.options, 1), 0);
    assert_int_equal(vg_score(&out, NULL, &view, &older.options), 0);
    assert_true(fabs(tu[0] - 1) < 1e-6); /* the preset VGE: in units of log C */
    assert_true(older.guard[0] == 0xee && older.guard[127] == 0xee);
}

static void evaluate(void **state) {
    (void)state;
    GUARDED(vg_tally_options, tally_options, VG_TALLY_OPTIONS_INIT);
    GUARDED(vg_evaluate_options, options, VG_EVALUATE_OPTIONS_INIT);
    vg_tally *tally;
    vg_evaluation *found;
    assert_int_equal(vg_tally_new(&tally, 2, &tally_options.options), 0);
    assert_int_equal(vg_tally_feed(tally, &means[0][0], NULL, labels, 4), 0);
    assert_int_equal(vg_evaluate(&found, tally, &measure, 1, &options.options), 0);
    assert_true(found->n == 4 && found->bins == 15 && found->accuracy.value == .75);
    assert_true(found->struct_size > sizeof *found);
    vg_evaluation_free(found);
    vg_tally_free(tally);
}

static void rank_and_select(void **state) {
    (void)state;
    GUARDED(vg_auroc_options, auroc, {sizeof auroc.options, .95});
    GUARDED(vg_ood_options, ood, {sizeof ood.options, 0, 1, .95});
    GUARDED(vg_select_options, select, {sizeof select.options, 0, .5, .95, NULL, 0, 0, 0});
    GUARDED(vg_selection, selected, {.struct_size = sizeof selected.options});
    vg_estimate area;
    vg_ood_row row;
    const double far[2] = {.9, .05};
    const vg_measure outside = {"u", far, 1, 0};
    assert_int_equal(vg_auroc(&area, &measure, errors, 4, &auroc.options), 0);
    assert_true(area.value == 1);
    assert_int_equal(vg_ood_evaluate(&row, &measure, 4, &outside, 2, 1, &ood.options), 0);
    assert_true(row.auroc.value == .5);
    assert_int_equal(vg_select_threshold(&selected.options, &measure, errors, 4, &select.options), 0);
    assert_true(selected.options.met && selected.options.kept == 2 && selected.options.errors == 0);
    assert_true(selected.options.struct_size == sizeof selected.options);
    for (size_t i = 0; i < sizeof selected.guard; i++)
        assert_int_equal(selected.guard[i], 0xee);
}

static void calibrate(void **state) {
    (void)state;
    GUARDED(vg_calibrate_options, older, VG_CALIBRATE_OPTIONS_INIT);
    double logits[4][1][2];
    for (size_t i = 0; i < 4; i++)
        for (size_t c = 0; c < 2; c++)
            logits[i][0][c] = log(means[i][c]);
    vg_predictions view = vg_predictions_f64(&logits[0][0][0], 4, 1, 2);
    vg_calibration *fit;
    assert_int_equal(vg_calibrate(&fit, &view, labels, &older.options), 0);
    vg_calibration_metrics found = fit->before;
    assert_true(fabs(found.nll + (log(.9) + log(.8) + log(.7) + log(.4)) / 4) < 1e-12);
    assert_true(found.accuracy == .75);
    assert_true(fabs(found.ece - (.1 + .2 + .3 + .6) / 4) < 1e-12); /* in 15 bins, the default, each has its own */
    assert_true(fit->temperatures[0] > 0 && fit->after.nll <= found.nll);
    vg_calibration_free(fit);
}

static void open_predictions(void **state) {
    (void)state;
    GUARDED(vg_prediction_options, older, {sizeof older.options, NULL, 0, -1});
    static const char text[] = "{\"P\": [[0.9, 0.1], [0.8, 0.2]]}\n{\"P\": [[0.3, 0.7], [0.4, 0.6]]}\n"
                               "{\"P\": [[0.5, 0.5], [0.4, 0.6]]}\n";
    vg_prediction_file *file;
    size_t n, m, c;
    int logits;
    char path[300];
    snprintf(path, sizeof path, "%s/p.jsonl", folder);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    fputs(text, stream);
    assert_int_equal(fclose(stream), 0);
    vg_status status = vg_prediction_file_open(&file, path, &older.options);
    if (status != 0)
        print_message("%s\n", vg_error_message());
    assert_int_equal(status, 0);
    vg_prediction_file_shape(file, &n, &m, &c, &logits);
    assert_true(n == 3 && m == 2 && c == 2 && logits == 0);
    vg_prediction_file_close(file);
}

/* Of a smaller struct of results only what it has is filled. */
static void describe_data(void **state) {
    (void)state;
    vg_dataset *set;
    GUARDED(vg_dataset_info, older, {.struct_size = sizeof older.options});
    GUARDED(vg_dataset_options, how, {sizeof how.options, "data"});
    assert_int_equal(vg_dataset_open(&set, "digits", 1, &how.options), 0);
    assert_int_equal(vg_dataset_describe(&older.options, set), 0);
    assert_string_equal(older.options.name, "digits");
    assert_true(older.options.channels == 1 && older.options.classes == 10 && older.options.verified == 1);
    for (size_t i = 0; i < sizeof older.guard; i++)
        assert_int_equal(older.guard[i], 0xee);
    older.options.struct_size = sizeof older.options + 4096;
    assert_int_equal(vg_dataset_describe(&older.options, set), 1);
    assert_non_null(strstr(vg_error_message(), "vg_dataset_info.struct_size"));
    vg_dataset_free(set);
}

/* Sizes that no release had are refused, naming the struct. */
static void impossible_sizes(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 4, 13, 4096, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        GUARDED(vg_ood_options, ood, {sizes[i], 0, 1, .95});
        GUARDED(vg_tally_options, tally_options, VG_TALLY_OPTIONS_INIT);
        vg_ood_row row;
        vg_tally *tally;
        assert_int_equal(vg_ood_evaluate(&row, &measure, 4, &measure, 4, 1, &ood.options), 1);
        assert_non_null(strstr(vg_error_message(), "vg_ood_options.struct_size"));
        tally_options.options.struct_size = sizes[i];
        assert_int_equal(vg_tally_new(&tally, 2, &tally_options.options), 1);
        assert_non_null(strstr(vg_error_message(), "vg_tally_options.struct_size"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(score),
        cmocka_unit_test(evaluate),
        cmocka_unit_test(rank_and_select),
        cmocka_unit_test(calibrate),
        cmocka_unit_test(open_predictions),
        cmocka_unit_test(describe_data),
        cmocka_unit_test(impossible_sizes),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
