/* test_workflow_run.c - a whole run from C: typed figures that are those of results.json, what a second call skips,
 * settings that change after training, and an interruption in every stage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <jansson.h>

#include "vargate/workflow.h"
#include "workflow_util.h"

enum { TEXT = 4096 };

/* What the listener receives, and where it stops the run: at the first progress of a part whose name begins so. */
typedef struct heard {
    char parts[TEXT], notes[TEXT];
    const char *stop_in;
    size_t steps;
} heard;

static void append(char *text, const char *more) {
    size_t used = strlen(text);
    snprintf(text + used, TEXT - used, "%s;", more);
}

static int on_message(void *context, const vg_job_message *message) {
    heard *h = context;
    if (message->event == VG_JOB_BEGIN)
        append(h->parts, message->text);
    if (message->event == VG_JOB_NOTE)
        append(h->notes, message->text);
    return message->event == VG_JOB_PROGRESS && h->stop_in &&
           strncmp(message->text, h->stop_in, strlen(h->stop_in)) == 0;
}

static int on_event(void *context, const vg_train_event *event) {
    ((heard *)context)->steps += event->kind == VG_TRAIN_STEP;
    return 0;
}

static vg_status run(vg_run_result **result, heard *h, const char *name, const char *change) {
    const char *changes[] = {"network=cnn-8-16", "heads=3",       "epochs=1", "train_limit=256",
                             "batch=64",         "test_limit=80", change};
    vg_recipe recipe;
    char path[PATH];
    vg_run_recipe_options options = VG_RUN_RECIPE_OPTIONS_INIT;
    OK(vg_recipe_find(&recipe, "quickstart", changes, change ? 7 : 6));
    options.recipe = &recipe;
    options.folder = in_folder(path, name);
    options.device = "cpu";
    options.threads = 1;
    options.event = on_event;
    options.event_context = h;
    options.job = (vg_job){on_message, h};
    return vg_run_recipe(result, &options);
}

/* results.json of a run, without what depends on the clock and on the folder's name. */
static json_t *results_of(const char *name) {
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s/results.json", folder, name);
    json_t *results = json_load_file(path, 0, NULL);
    assert_non_null(results);
    json_object_del(json_object_get(results, "training"), "images_per_s");
    for (const char *const *key = (const char *const[]){"test", "test_calibrated", NULL}; *key; key++)
        json_object_del(json_object_get(results, *key), "file");
    for (const char *const *key = (const char *const[]){"ood", "ood_calibrated", NULL}; *key; key++)
        json_object_del(json_object_get(json_object_get(results, *key), "digits-ood"), "file");
    return results;
}

static double number_at(const json_t *value, const char *const *keys) {
    for (; *keys; keys++)
        value = json_object_get(value, *keys);
    assert_true(json_is_number(value));
    return json_number_value(value);
}
#define NUMBER(value, ...) number_at(value, (const char *const[]){__VA_ARGS__, NULL})

static double auroc(const vg_ood_set *set, const char *measure) {
    for (size_t i = 0; i < set->table->rows; i++)
        if (strcmp(set->table->names[i], measure) == 0)
            return set->rows[i].auroc.value;
    fail_msg("no %s", measure);
    return 0;
}

static void figures_are_those_of_the_file(void **state) {
    (void)state;
    heard h = {.stop_in = NULL};
    vg_run_result *result;
    OK(run(&result, &h, "whole", NULL));
    json_t *file = results_of("whole");
    assert_int_equal(h.steps, 4);
    assert_int_equal(result->training.epochs_done, 1);
    assert_int_equal(result->test->n, 80);
    assert_int_equal(result->test->m, 3);
    assert_true(result->test->evaluation->accuracy.value == NUMBER(file, "test", "accuracy"));
    assert_true(result->test_calibrated->evaluation->nll.value == NUMBER(file, "test_calibrated", "nll"));
    assert_int_equal(result->ood->set_count, 1);
    assert_string_equal(result->ood_names[0], "digits-ood");
    assert_true(auroc(&result->ood->sets[0], "gtu@2") ==
                NUMBER(file, "ood", "digits-ood", "measures", "gtu@2", "auroc"));
    assert_true(auroc(&result->ood_calibrated->sets[0], "tu") ==
                NUMBER(file, "ood_calibrated", "digits-ood", "measures", "tu", "auroc"));
    assert_true(result->training.last.val_accuracy == NUMBER(file, "training", "val_accuracy"));
    static const char *const files[] = {"whole/val.npz", "whole/test.npz", "whole/ood-digits-ood.npz",
                                        "whole/temps.json", "whole/scores.npz"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (!is_there(files[i]))
            fail_msg("no %s", files[i]);
    json_decref(file);
    vg_run_result_free(result);
}

static void second_call_skips_what_is_done(void **state) {
    (void)state;
    heard h = {.stop_in = NULL};
    vg_run_result *result;
    json_t *before = results_of("whole");
    OK(run(&result, &h, "whole", NULL));
    json_t *after = results_of("whole");
    assert_int_equal(h.steps, 0);
    assert_int_equal(result->training.epochs_done, 0);
    assert_non_null(strstr(h.notes, "whole/test.npz is up to date"));
    assert_null(strstr(h.parts, "predicting"));
    assert_null(strstr(h.parts, "calibrating"));
    assert_true(json_equal(before, after));
    json_decref(before);
    json_decref(after);
    vg_run_result_free(result);
}

static void settings_after_training_may_change(void **state) {
    (void)state;
    heard h = {.stop_in = NULL};
    vg_run_result *result;
    OK(run(&result, &h, "whole", "k=[0.5]"));
    assert_int_equal(h.steps, 0);
    assert_true(auroc(&result->ood->sets[0], "gtu@0.5") > 0);
    vg_run_result_free(result);
    OK(run(&result, &h, "whole", "calibrate=no"));
    assert_int_equal(h.steps, 0);
    assert_null(result->test_calibrated);
    assert_null(result->ood_calibrated);
    vg_run_result_free(result);
    OK(run(&result, &h, "whole", "ood=[]"));
    assert_int_equal(result->ood->set_count, 0);
    vg_run_result_free(result);
    assert_int_equal(run(&result, &h, "whole", "rate=1e-3"), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "another recipe"));
    assert_null(result);
}

/* Stopped in every stage and called again, a run ends with the results of one that was not stopped. */
static void goes_on_after_an_interruption(void **state) {
    (void)state;
    static const char *const stages[] = {"epoch 1/1", "predicting", "calibrating",
                                         "scoring",   "evaluating", "comparing"};
    vg_run_result *result;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        heard h = {.stop_in = stages[i]};
        vg_status status = run(&result, &h, "stopped", NULL);
        if (status != VG_ERR_INTERRUPTED)
            fail_msg("stopped in '%s': status %d", stages[i], (int)status);
        assert_null(result);
        assert_false(is_there("stopped/results.json"));
    }
    char command[2 * PATH]; /* unfinished files have hidden names */
    snprintf(command, sizeof command, "ls -A '%s/stopped' | grep -q '^\\.'", folder);
    assert_int_not_equal(system(command), 0);
    heard h = {.stop_in = NULL}, other = {.stop_in = NULL};
    OK(run(&result, &h, "stopped", NULL));
    vg_run_result_free(result);
    OK(run(&result, &other, "plain", NULL));
    vg_run_result_free(result);
    json_t *stopped = results_of("stopped"), *plain = results_of("plain");
    assert_true(json_equal(stopped, plain));
    json_decref(stopped);
    json_decref(plain);
}

static void refuses_options(void **state) {
    (void)state;
    vg_run_result *result;
    vg_run_recipe_options options = VG_RUN_RECIPE_OPTIONS_INIT;
    assert_int_equal(vg_run_recipe(&result, &options), VG_ERR_ARGUMENT);
    options.struct_size = 3;
    assert_int_equal(vg_run_recipe(&result, &options), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "vg_run_recipe_options: struct_size is 3"));
    vg_run_result_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_the_file), /* the next two use its run */
        cmocka_unit_test(second_call_skips_what_is_done), cmocka_unit_test(settings_after_training_may_change),
        cmocka_unit_test(goes_on_after_an_interruption),  cmocka_unit_test(refuses_options),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
