/* test_workflow_sweep.c - a grid of runs from C: stopped and continued, typed results, refused options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "folder_util.h"
#include "vargate/compare.h"

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != VG_OK)                                                                                           \
            fail_msg("%s: %s", #call, vg_error_message());                                                             \
    } while (0)

static const char *const settings[] = {"network=cnn-8-16", "heads=2",      "train_limit=320", "batch=64",
                                       "test_limit=50",    "calibrate=no", "ood=[]",          "epochs=2",
                                       "rate=1e-3,1e-4",   "k=[1, 2],[3]"};
enum { SETTINGS = sizeof settings / sizeof *settings };

typedef struct heard {
    size_t epochs, stop_after; /* epochs; 0: never */
    unsigned long long total;
} heard;

static int on_message(void *context, const vg_job_message *message) {
    heard *h = context;
    h->epochs += message->event == VG_JOB_NOTE && strstr(message->text, ": epoch ") != NULL;
    if (message->event == VG_JOB_PROGRESS && strcmp(message->text, "sweep") == 0)
        h->total = message->total;
    return h->stop_after && h->epochs >= h->stop_after;
}

static vg_status sweep(vg_compare_result **result, heard *h) {
    char path[300];
    vg_sweep_options options = VG_SWEEP_OPTIONS_INIT;
    snprintf(path, sizeof path, "%s/grid", folder);
    options.recipe = "quickstart";
    options.settings = settings;
    options.setting_count = SETTINGS;
    options.folder = path;
    options.device = "cpu";
    options.threads = 1;
    options.resamples = 50;
    options.job = (vg_job){on_message, h};
    return vg_sweep(result, &options);
}

static void stops_and_goes_on(void **state) {
    (void)state;
    vg_compare_result *result;
    heard first = {.stop_after = 3}, rest = {0}, again = {0};
    assert_int_equal(sweep(&result, &first), VG_ERR_INTERRUPTED);
    assert_null(result);
    if (!strstr(vg_error_message(), "rate=1e-3,k=[3]: stopped"))
        fail_msg("%s", vg_error_message());
    OK(sweep(&result, &rest));
    assert_int_equal(first.epochs + rest.epochs, 4 * 2);
    assert_int_equal(rest.total, 4);
    assert_int_equal(result->count, 4);
    assert_string_equal(result->rows[0].name, "rate=1e-3,k=[1,-2]");
    assert_string_equal(result->rows[3].name, "rate=1e-4,k=[3]");
    for (size_t i = 0; i < result->count; i++)
        assert_true(result->rows[i].paired || i == 0);
    vg_compare_result_free(result);
    OK(sweep(&result, &again));
    assert_int_equal(again.epochs, 0);
    vg_compare_result_free(result);
}

static void refuses(void **state) {
    (void)state;
    vg_compare_result *result;
    vg_sweep_options options = VG_SWEEP_OPTIONS_INIT;
    const char *const empty[] = {"rate=1e-3,,1e-4"}, *const bare[] = {"rate"};
    assert_int_equal(vg_sweep(&result, &options), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "recipe and settings must not be NULL"));
    options.recipe = "quickstart";
    options.settings = empty;
    options.setting_count = 1;
    assert_int_equal(vg_sweep(&result, &options), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "a value of 'rate' is empty"));
    options.settings = bare;
    assert_int_equal(vg_sweep(&result, &options), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "'rate' is not key=value"));
    options.struct_size = 4;
    assert_int_equal(vg_sweep(&result, &options), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "vg_sweep_options: struct_size is 4"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(stops_and_goes_on), cmocka_unit_test(refuses)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
