/* test_workflow_deep.c - deep ensembles as one recipe: each network is the run that its seed would give by itself, jobs
 * change nothing, a stopped ensemble continues with the network that was stopped, predictions and calibration of all
 * networks together, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "vargate/formats.h"
#include "vargate/temperatures.h"
#include "vargate/workflow.h"
#include "workflow_util.h"

enum { TRAIN = 320, BATCH = 64, STEPS = TRAIN / BATCH, EPOCHS = 2, NETWORKS = 3, TEST = 50 };

static const char *const small[] = {"network=cnn-8-16", "epochs=2",      "train_limit=320", "batch=64",
                                    "test_limit=50",    "ensemble=deep", "heads=1",         "members=3"};
enum { SMALL = sizeof small / sizeof *small };

static void same_networks(const char *one, const char *other) {
    for (int i = 1; i <= NETWORKS; i++) {
        char a[PATH], b[PATH];
        for (int best = 0; best < 2; best++) {
            snprintf(a, sizeof a, "%s/network-%d/%s.safetensors", one, i, best ? "best" : "last");
            snprintf(b, sizeof b, "%s/network-%d/%s.safetensors", other, i, best ? "best" : "last");
            if (!same_bytes(a, b))
                fail_msg("%s and %s differ", a, b);
        }
    }
}

static void failed_with(vg_status found, vg_status expected, const char *part) {
    if (found != expected)
        fail_msg("status %d, expected %d: %s", (int)found, (int)expected, vg_error_message());
    if (!strstr(vg_error_message(), part))
        fail_msg("'%s' is not in '%s'", part, vg_error_message());
}

typedef struct heard {
    size_t starts, steps, inside, begins, ends;
    size_t first_step_of; /* network of the first step; 0: none, or of a single network */
    size_t stop_at;       /* at which step event; 0: never */
    unsigned long long done, total;
    char notes[16384];
} heard;

static int on_event(void *context, const vg_train_event *event) {
    heard *h = context;
    if (h->inside++) /* one message at a time, whatever the number of threads */
        abort();
    h->starts += event->kind == VG_TRAIN_START;
    if (event->kind == VG_TRAIN_STEP && h->steps++ == 0)
        h->first_step_of = event->network;
    h->inside--;
    return h->stop_at && h->steps >= h->stop_at;
}

static int on_message(void *context, const vg_job_message *message) {
    heard *h = context;
    h->begins += message->event == VG_JOB_BEGIN;
    h->ends += message->event == VG_JOB_END;
    if (message->event == VG_JOB_PROGRESS) {
        h->done = message->done;
        h->total = message->total;
    }
    if (message->event == VG_JOB_NOTE) {
        size_t used = strlen(h->notes);
        snprintf(h->notes + used, sizeof h->notes - used, "%s\n", message->text);
    }
    return 0;
}

static vg_recipe recipe_with(const char *const *more, size_t count) {
    const char *changes[SMALL + 8];
    vg_recipe recipe;
    memcpy(changes, small, sizeof small);
    for (size_t i = 0; i < count; i++)
        changes[SMALL + i] = more[i];
    OK(vg_recipe_find(&recipe, "quickstart", changes, SMALL + count));
    return recipe;
}

static vg_status train(const vg_recipe *recipe, heard *h, const char *run, bool resume, unsigned jobs) {
    char path[PATH];
    vg_train_result result;
    vg_train_recipe_options options = train_options(recipe, path, run, resume);
    listen_to(&options, on_event, on_message, h);
    options.jobs = jobs;
    return vg_train_recipe(&result, &options);
}

/* --- training */

static void networks_are_single_runs_of_their_seeds(void **state) {
    (void)state;
    vg_recipe deep = recipe_with(NULL, 0);
    heard h = {0};
    OK(train(&deep, &h, "deep", false, 1));
    assert_int_equal(h.starts, NETWORKS);
    assert_int_equal(h.steps, NETWORKS * STEPS * EPOCHS);
    assert_int_equal(h.done, h.total);
    assert_int_equal(h.total, NETWORKS * STEPS * EPOCHS);
    assert_int_equal(h.begins, 1);
    assert_int_equal(h.ends, 1);
    assert_non_null(strstr(h.notes, "network 3 of 3: epoch 2/2  loss "));
    assert_false(is_there("deep/train.lock"));
    const char *const alone[] = {"ensemble=lle", "members=0", "seed=2", "limit_seed=1"};
    vg_recipe single = recipe_with(alone, 4);
    heard other = {0};
    OK(train(&single, &other, "single", false, 1));
    assert_true(same_bytes("single/last.safetensors", "deep/network-2/last.safetensors"));
    assert_true(same_bytes("single/best.safetensors", "deep/network-2/best.safetensors"));
    assert_false(same_bytes("deep/network-1/last.safetensors", "deep/network-2/last.safetensors"));
}

static void jobs_change_nothing(void **state) {
    (void)state;
    vg_recipe deep = recipe_with(NULL, 0);
    heard h = {0};
    OK(train(&deep, &h, "jobs", false, 3));
    assert_int_equal(h.steps, NETWORKS * STEPS * EPOCHS);
    same_networks("jobs", "deep");
}

static void stops_and_goes_on(void **state) {
    (void)state;
    vg_recipe deep = recipe_with(NULL, 0);
    heard first = {.stop_at = STEPS * EPOCHS + 3}, rest = {0}, again = {0};
    failed_with(train(&deep, &first, "stopped", false, 1), VG_ERR_INTERRUPTED, "network 2 of 3: stopped in epoch 1");
    assert_true(is_there("stopped/network-2/last.safetensors"));
    assert_false(is_there("stopped/network-3"));
    assert_false(is_there("stopped/train.lock"));
    failed_with(train(&deep, &rest, "stopped", false, 1), VG_ERR_ARGUMENT, "exists already: resume it");
    OK(train(&deep, &rest, "stopped", true, 1));
    assert_int_equal(first.steps + rest.steps, NETWORKS * STEPS * EPOCHS); /* the finished network took no step */
    assert_int_equal(rest.first_step_of, 2);
    same_networks("stopped", "deep");
    OK(train(&deep, &again, "stopped", true, 2));
    assert_int_equal(again.steps, 0);
    /* Stopped while several run at once. */
    heard both = {.stop_at = 4}, end = {0};
    failed_with(train(&deep, &both, "stopped-jobs", false, 2), VG_ERR_INTERRUPTED, "of 3: stopped in epoch");
    OK(train(&deep, &end, "stopped-jobs", true, 2));
    same_networks("stopped-jobs", "deep");
}

static void more_networks_and_epochs_go_on(void **state) {
    (void)state;
    const char *const fewer[] = {"members=2", "epochs=1"};
    vg_recipe before = recipe_with(fewer, 2), deep = recipe_with(NULL, 0);
    heard first = {0}, rest = {0};
    OK(train(&before, &first, "grown", false, 1));
    assert_false(is_there("grown/network-3"));
    OK(train(&deep, &rest, "grown", true, 1));
    assert_int_equal(first.steps, 2 * STEPS);
    assert_int_equal(rest.steps, NETWORKS * STEPS * EPOCHS - first.steps);
    same_networks("grown", "deep");
}

/* --- predictions */

static size_t members_of(const char *run, vg_predict_runs_options *options) {
    char path[PATH], output[PATH];
    const char *runs[] = {in_folder(path, run)};
    vg_predict_runs_result result = VG_PREDICT_RUNS_RESULT_INIT;
    options->runs = runs;
    options->run_count = 1;
    options->device = "cpu";
    options->threads = 1;
    options->output = in_folder(output, "predicted.npz");
    OK(vg_predict_runs(&result, options));
    return result.members;
}

static void predicts_all_networks(void **state) {
    (void)state;
    vg_predict_runs_options options = VG_PREDICT_RUNS_OPTIONS_INIT;
    options.split = "val";
    assert_int_equal(members_of("deep", &options), NETWORKS);
    char paths[NETWORKS][PATH], output[PATH];
    const char *runs[NETWORKS];
    for (int i = 0; i < NETWORKS; i++) {
        snprintf(paths[i], PATH, "%s/deep/network-%d", folder, i + 1);
        runs[i] = paths[i];
    }
    options.runs = runs;
    options.run_count = NETWORKS;
    options.output = in_folder(output, "listed.npz");
    OK(vg_predict_runs(NULL, &options));
    assert_true(same_bytes("listed.npz", "predicted.npz"));
}

static void networks_may_be_ensembles(void **state) {
    (void)state;
    const char *const mcd[] = {"ensemble=deep-mcd", "members=2", "passes=5", "epochs=1"},
                      *const lle[] = {"ensemble=deep-lle", "members=2", "heads=4", "epochs=1"},
                      *const both[] = {"ensemble=deep-mcd-lle", "members=2", "heads=4", "epochs=1"};
    const char *const *const changes[] = {mcd, lle, both};
    const char *const names[] = {"deep-mcd", "deep-lle", "deep-mcd-lle"};
    const size_t members[] = {10, 8, 8};
    for (int i = 0; i < 3; i++) {
        vg_recipe recipe = recipe_with(changes[i], 4);
        vg_predict_runs_options options = VG_PREDICT_RUNS_OPTIONS_INIT;
        heard h = {0};
        OK(train(&recipe, &h, names[i], false, 2));
        assert_int_equal(members_of(names[i], &options), members[i]);
    }
}

static void runs_to_the_results(void **state) {
    (void)state;
    char path[PATH], temps[PATH];
    vg_recipe deep = recipe_with(NULL, 0);
    vg_run_recipe_options options = VG_RUN_RECIPE_OPTIONS_INIT;
    vg_run_result *result;
    options.recipe = &deep;
    options.folder = in_folder(path, "deep");
    options.device = "cpu";
    options.threads = 1;
    OK(vg_run_recipe(&result, &options));
    assert_int_equal(result->training.epochs_done, 0); /* it was trained by an earlier test */
    assert_non_null(result->test_calibrated);
    vg_run_result_free(result);
    double *read;
    size_t count;
    OK(vg_temperatures_load(&read, &count, in_folder(temps, "deep/temps.json")));
    assert_int_equal(count, NETWORKS); /* one per network */
    vg_free(read);
    assert_true(is_there("deep/results.json"));
    /* Fewer networks: predictions are made again. */
    deep.members = 2;
    OK(vg_run_recipe(&result, &options));
    vg_run_result_free(result);
    vg_prediction_file *file;
    size_t n, m, c;
    int logits;
    OK(vg_prediction_file_open(&file, in_folder(path, "deep/test.npz"), NULL));
    vg_prediction_file_shape(file, &n, &m, &c, &logits);
    assert_true(n == TEST && m == 2);
    vg_prediction_file_close(file);
}

/* --- refusals */

static void refuses(void **state) {
    (void)state;
    vg_recipe recipe;
    heard h = {0};
    const char *const heads[] = {"ensemble=deep"};
    failed_with(vg_recipe_find(&recipe, "quickstart", heads, 1), VG_ERR_ARGUMENT, "or take ensemble deep-lle");
    const char *const many[] = {"ensemble=deep", "heads=1", "members=65"};
    failed_with(vg_recipe_find(&recipe, "quickstart", many, 3), VG_ERR_ARGUMENT, "at most 64, found 65");
    const char *const passes[] = {"passes=5"};
    failed_with(vg_recipe_find(&recipe, "quickstart", passes, 1), VG_ERR_ARGUMENT, "passes is for ensemble deep-mcd");
    recipe = recipe_with(NULL, 0);
    failed_with(train(&recipe, &h, "single", true, 1), VG_ERR_ARGUMENT, "is the run folder of a single network");
    const char *const alone[] = {"ensemble=lle", "members=0"};
    recipe = recipe_with(alone, 2);
    failed_with(train(&recipe, &h, "deep", true, 1), VG_ERR_ARGUMENT, "is the run folder of a deep ensemble");
    const char *const other[] = {"rate=1e-3"};
    recipe = recipe_with(other, 1);
    failed_with(train(&recipe, &h, "deep", true, 1), VG_ERR_ARGUMENT, "network 1 of 3: ");
}

/* A recipe file need not say that such networks have one head. */
static void a_file_needs_no_heads(void **state) {
    (void)state;
    char path[PATH];
    vg_recipe recipe;
    FILE *file = fopen(in_folder(path, "deep.yaml"), "w");
    assert_non_null(file);
    fputs("ensemble: deep\nmembers: 5\n", file);
    fclose(file);
    OK(vg_recipe_find(&recipe, path, NULL, 0));
    assert_int_equal(recipe.heads, 1);
    assert_int_equal(recipe.members, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_are_single_runs_of_their_seeds),
        cmocka_unit_test(jobs_change_nothing),
        cmocka_unit_test(stops_and_goes_on),
        cmocka_unit_test(more_networks_and_epochs_go_on),
        cmocka_unit_test(predicts_all_networks),
        cmocka_unit_test(networks_may_be_ensembles),
        cmocka_unit_test(runs_to_the_results),
        cmocka_unit_test(refuses),
        cmocka_unit_test(a_file_needs_no_heads),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
