/* test_workflow_train.c - a recipe trained, predicted and scored from C: recipes by name, what the listeners receive,
 * interruption by either of them and resumption to the same bits, predictions of one network and of several, refused
 * options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "vargate/formats.h"
#include "vargate/workflow.h"
#include "workflow_util.h"

enum { TRAIN = 320, BATCH = 64, STEPS = TRAIN / BATCH, EPOCHS = 2, HEADS = 3, TEST = 50 };

static const char *const changes[] = {"network=cnn-8-16", "heads=3",  "epochs=2",
                                      "train_limit=320",  "batch=64", "test_limit=50"};
static const size_t change_count = sizeof changes / sizeof *changes;

static void failed_with(vg_status found, vg_status expected, const char *part) {
    assert_int_equal(found, expected);
    if (!strstr(vg_error_message(), part))
        fail_msg("'%s' is not in '%s'", part, vg_error_message());
}

/* --- listening */

typedef struct heard {
    size_t starts, steps, epochs, checkpoints; /* events of the training */
    double accuracy;                           /* of the last epoch */
    size_t begins, ends, open, notes, progress;
    unsigned long long done, total;
    char last_note[1024];
    size_t stop_event_at, stop_job_at; /* at which step event or progress to stop; 0: never */
} heard;

static int on_event(void *context, const vg_train_event *event) {
    heard *h = context;
    h->starts += event->kind == VG_TRAIN_START;
    h->steps += event->kind == VG_TRAIN_STEP;
    h->checkpoints += event->kind == VG_TRAIN_CHECKPOINT;
    if (event->kind == VG_TRAIN_EPOCH) {
        h->epochs++;
        h->accuracy = event->metrics->val_accuracy;
    }
    return h->stop_event_at && h->steps >= h->stop_event_at;
}

static int on_message(void *context, const vg_job_message *message) {
    heard *h = context;
    switch (message->event) {
    case VG_JOB_BEGIN: h->begins++, h->open++; break;
    case VG_JOB_END: h->ends++, h->open--; break;
    case VG_JOB_NOTE:
        h->notes++;
        snprintf(h->last_note, sizeof h->last_note, "%s", message->text);
        break;
    case VG_JOB_WARNING: break;
    case VG_JOB_PROGRESS:
        h->progress++;
        h->done = message->done;
        h->total = message->total;
        assert_int_equal(h->open, 1);
        break;
    }
    return h->stop_job_at && h->progress >= h->stop_job_at;
}

/* A build with CUDA on a machine without a GPU: the description of the CPU says why the GPU is not used, in words that
 * nothing may be decided by. */
vg_status __real_vg_backend__open(vg_backend **out, const char *name, const vg_backend_options *options);
vg_status __wrap_vg_backend__open(vg_backend **out, const char *name, const vg_backend_options *options);
vg_status __wrap_vg_backend__open(vg_backend **out, const char *name, const vg_backend_options *options) {
    vg_status status = __real_vg_backend__open(out, name, options);
    if (status == VG_OK) {
        size_t used = strlen((*out)->device);
        snprintf((*out)->device + used, sizeof(*out)->device - used, " (cuda: no NVIDIA driver is loaded)");
    }
    return status;
}

static vg_recipe small_recipe(void) {
    vg_recipe recipe;
    OK(vg_recipe_find(&recipe, "quickstart", changes, change_count));
    return recipe;
}

static vg_status train(vg_train_result *result, heard *h, const char *run, bool resume) {
    vg_recipe recipe = small_recipe();
    char path[PATH];
    vg_train_recipe_options options = train_options(&recipe, path, run, resume);
    options.event = on_event;
    options.event_context = h;
    options.job = (vg_job){on_message, h};
    return vg_train_recipe(result, &options);
}

/* --- recipes */

static void finds_recipes(void **state) {
    (void)state;
    vg_recipe recipe, other;
    OK(vg_recipe_find(&recipe, "quickstart", NULL, 0));
    OK(vg_recipe_find(&other, "recipes/quickstart.yaml", NULL, 0));
    assert_memory_equal(&recipe, &other, sizeof recipe);
    assert_int_equal(recipe.heads, 100);
    recipe = small_recipe();
    assert_int_equal(recipe.heads, HEADS);
    failed_with(vg_recipe_find(&recipe, "no-such-recipe", NULL, 0), VG_ERR_IO, "no-such-recipe");
    const char *wrong[] = {"epoch=3"};
    failed_with(vg_recipe_find(&recipe, "quickstart", wrong, 1), VG_ERR_ARGUMENT, "the nearest known one is 'epochs'");
    const char *impossible[] = {"batch=0"};
    failed_with(vg_recipe_find(&recipe, "quickstart", impossible, 1), VG_ERR_ARGUMENT, "batch");
}

/* --- training */

static void trains_and_tells(void **state) {
    (void)state;
    heard h = {0};
    vg_train_result result;
    OK(train(&result, &h, "whole", false));
    assert_int_equal(h.starts, 1);
    assert_int_equal(h.steps, STEPS * EPOCHS);
    assert_int_equal(h.epochs, EPOCHS);
    assert_true(h.checkpoints >= 1);
    assert_true(h.accuracy == result.last.val_accuracy);
    assert_int_equal(result.epochs_done, EPOCHS);
    assert_int_equal(h.begins, 1);
    assert_int_equal(h.ends, 1);
    assert_int_equal(h.done, STEPS * EPOCHS);
    assert_int_equal(h.total, STEPS * EPOCHS);
    assert_non_null(strstr(h.last_note, "epoch 2/2  loss "));
    assert_true(is_there("whole/best.safetensors"));
    /* What is finished is not trained again. */
    heard again = {0};
    OK(train(&result, &again, "whole", true));
    assert_int_equal(result.epochs_done, 0);
    assert_int_equal(again.steps, 0);
    failed_with(train(&result, &again, "whole", false), VG_ERR_ARGUMENT, "exists already: resume it");
}

static void stops_and_goes_on_to_the_same_bits(void **state) {
    (void)state;
    vg_train_result result;
    heard by_job = {.stop_job_at = STEPS + 2}, by_event = {.stop_event_at = 2}, rest = {0};
    failed_with(train(&result, &by_job, "by-job", false), VG_ERR_INTERRUPTED, "by-job/last.safetensors");
    assert_true(by_job.steps < STEPS * EPOCHS);
    assert_int_equal(by_job.begins, by_job.ends);
    assert_true(is_there("by-job/last.safetensors"));
    assert_false(is_there("by-job/train.lock"));
    OK(train(&result, &rest, "by-job", true));
    assert_int_equal(by_job.steps + rest.steps, STEPS * EPOCHS);
    assert_true(same_bytes("by-job/last.safetensors", "whole/last.safetensors"));
    assert_true(same_bytes("by-job/best.safetensors", "whole/best.safetensors"));
    failed_with(train(&result, &by_event, "by-event", false), VG_ERR_INTERRUPTED, "after step 2 of 5");
    assert_int_equal(by_event.steps, 2);
    rest = (heard){0};
    OK(train(&result, &rest, "by-event", true));
    assert_true(same_bytes("by-event/last.safetensors", "whole/last.safetensors"));
}

static void refuses_training_options(void **state) {
    (void)state;
    vg_train_result result;
    vg_recipe recipe = small_recipe();
    vg_train_recipe_options options = VG_TRAIN_RECIPE_OPTIONS_INIT;
    failed_with(vg_train_recipe(&result, &options), VG_ERR_ARGUMENT, "recipe of the options must not be NULL");
    options.recipe = &recipe;
    options.struct_size++;
    failed_with(vg_train_recipe(&result, &options), VG_ERR_ARGUMENT, "vg_train_recipe_options: struct_size is");
    options.struct_size = 8;
    failed_with(vg_train_recipe(&result, &options), VG_ERR_ARGUMENT, "vg_train_recipe_options: struct_size is 8");
    failed_with(vg_train_recipe(&result, NULL), VG_ERR_ARGUMENT, "recipe of the options must not be NULL");
    options = (vg_train_recipe_options)VG_TRAIN_RECIPE_OPTIONS_INIT;
    snprintf(recipe.dataset, sizeof recipe.dataset, "path:/no/such/place");
    options.recipe = &recipe;
    failed_with(vg_train_recipe(&result, &options), VG_ERR_IO, "/no/such/place");
}

/* --- prediction */

typedef struct ensemble {
    const char *runs[3];
    char paths[3][PATH];
    char output[PATH];
    vg_predict_runs_options options;
} ensemble;

static vg_predict_runs_options *predict_of(ensemble *e, const char *const *runs, size_t count, const char *output) {
    e->options = (vg_predict_runs_options)VG_PREDICT_RUNS_OPTIONS_INIT;
    for (size_t i = 0; i < count; i++)
        e->runs[i] = in_folder(e->paths[i], runs[i]);
    e->options.runs = e->runs;
    e->options.run_count = count;
    e->options.device = "cpu";
    e->options.threads = 1;
    e->options.output = in_folder(e->output, output);
    return &e->options;
}

static const char *const one_run[] = {"whole"}, *const two_runs[] = {"whole", "by-job/best.safetensors"};

static void predicts(void **state) {
    (void)state;
    ensemble e;
    heard h = {0};
    vg_predict_runs_result result = VG_PREDICT_RUNS_RESULT_INIT;
    vg_predict_runs_options *options = predict_of(&e, one_run, 1, "test.npz");
    options->job = (vg_job){on_message, &h};
    OK(vg_predict_runs(&result, options));
    assert_int_equal(result.samples, TEST);
    assert_int_equal(result.members, HEADS);
    assert_int_equal(result.classes, 10);
    assert_int_equal(result.epoch, EPOCHS);
    assert_true(result.has_labels);
    assert_int_equal(h.done, TEST);
    assert_int_equal(h.begins, 1);
    assert_int_equal(h.ends, 1);
    vg_prediction_file *file;
    const int64_t *labels;
    size_t n, m, c, columns;
    int logits;
    OK(vg_prediction_file_open(&file, e.output, NULL));
    vg_prediction_file_shape(file, &n, &m, &c, &logits);
    assert_true(n == TEST && m == HEADS && c == 10 && !logits);
    OK(vg_prediction_file_labels(file, &labels, &columns));
    assert_non_null(labels);
    vg_prediction_file_close(file);

    options = predict_of(&e, two_runs, 2, "deep.npz");
    options->split = "val";
    OK(vg_predict_runs(&result, options));
    assert_int_equal(result.members, 2 * HEADS);
    assert_int_equal(result.samples, 500);
    options = predict_of(&e, one_run, 1, "ood.npz");
    options->input = "digits-ood";
    OK(vg_predict_runs(&result, options));
    assert_false(result.has_labels);
    OK(vg_predict_runs(NULL, options));
}

static void stopped_prediction_leaves_nothing(void **state) {
    (void)state;
    ensemble e;
    heard h = {.stop_job_at = 1};
    vg_predict_runs_options *options = predict_of(&e, one_run, 1, "stopped.npz");
    options->split = "val"; /* two chunks */
    options->job = (vg_job){on_message, &h};
    failed_with(vg_predict_runs(NULL, options), VG_ERR_INTERRUPTED, "predicting: interrupted");
    assert_int_equal(h.begins, h.ends);
    assert_true(h.done < h.total);
    char command[PATH];
    snprintf(command, sizeof command, "ls -A '%s' | grep -q stopped", folder);
    assert_int_not_equal(system(command), 0);
}

static void refuses_prediction_options(void **state) {
    (void)state;
    ensemble e;
    vg_predict_runs_result result = VG_PREDICT_RUNS_RESULT_INIT;
    vg_predict_runs_options *options = predict_of(&e, one_run, 1, "refused.npz");
    options->split = "test";
    options->input = "digits-ood";
    failed_with(vg_predict_runs(&result, options), VG_ERR_ARGUMENT, "split and input exclude each other");
    options->input = NULL;
    options->split = "validation";
    failed_with(vg_predict_runs(&result, options), VG_ERR_ARGUMENT, "split must be test, val or train");
    options->split = NULL;
    options->run_count = 0;
    failed_with(vg_predict_runs(&result, options), VG_ERR_ARGUMENT, "found 0");
    options->run_count = VG_MAX_RUNS + 1;
    failed_with(vg_predict_runs(&result, options), VG_ERR_ARGUMENT, "found 65");
    options->run_count = 1;
    result.struct_size = 4;
    failed_with(vg_predict_runs(&result, options), VG_ERR_ARGUMENT, "vg_predict_runs_result.struct_size is 4");
    result.struct_size = sizeof result;
    options->output = NULL;
    failed_with(vg_predict_runs(&result, options), VG_ERR_ARGUMENT, "the output must not be NULL");
    const char *const nowhere[] = {"nowhere"};
    failed_with(vg_predict_runs(&result, predict_of(&e, nowhere, 1, "refused.npz")), VG_ERR_IO,
                "no such run folder or checkpoint");
    assert_false(is_there("refused.npz"));
    /* Neither a checkpoint nor somebody's own file is replaced. */
    failed_with(vg_predict_runs(NULL, predict_of(&e, one_run, 1, "whole/last.safetensors")), VG_ERR_ARGUMENT,
                "the output is the input");
    char own[PATH];
    FILE *file = fopen(in_folder(own, "own.npz"), "w");
    assert_non_null(file);
    fputs("mine", file);
    fclose(file);
    options = predict_of(&e, one_run, 1, "own.npz");
    failed_with(vg_predict_runs(NULL, options), VG_ERR_ARGUMENT, "is not a file of predictions");
    options->force = 1;
    OK(vg_predict_runs(NULL, options));
}

/* --- scoring */

/* Scores of networks are the scores of the file that they would have written, to the bit. */
static void scores_what_it_predicts(void **state) {
    (void)state;
    ensemble e;
    heard h = {0};
    char by_file[PATH], by_runs[PATH];
    const double k[] = {0.5, 2};
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    vg_score_file_options how = VG_SCORE_FILE_OPTIONS_INIT;
    vg_score_result *of_file, *of_runs;
    scoring.k = k;
    scoring.k_count = 2;
    input.scoring = &scoring;
    input.temperature = "1.5";
    vg_predict_runs_options *options = predict_of(&e, two_runs, 2, "val.npz");
    options->split = "val"; /* two chunks */
    options->logits = 1;
    OK(vg_predict_runs(NULL, options));
    how.output = in_folder(by_file, "by-file.npz");
    OK(vg_score_file(&of_file, e.output, &input, &how));
    how.output = in_folder(by_runs, "by-runs.npz");
    how.job = (vg_job){on_message, &h};
    OK(vg_score_runs(&of_runs, options, &input, &how));
    assert_true(same_bytes("by-file.npz", "by-runs.npz"));
    assert_true(h.progress >= 2 && h.begins == h.ends);
    assert_int_equal(of_runs->n, 500);
    assert_int_equal(of_runs->m, 2 * HEADS);
    assert_int_equal(of_runs->correct, of_file->correct);
    assert_true(of_runs->accuracy == of_file->accuracy);
    assert_int_equal(of_runs->measure_count, of_file->measure_count);
    for (size_t i = 0; i < of_runs->measure_count; i++)
        assert_true(of_runs->measures[i].stats.mean == of_file->measures[i].stats.mean);
    vg_score_result_free(of_file);
    vg_score_result_free(of_runs);

    h = (heard){.stop_job_at = 1};
    how.output = in_folder(by_runs, "halted.npz");
    failed_with(vg_score_runs(&of_runs, options, &input, &how), VG_ERR_INTERRUPTED, "interrupted");
    assert_null(of_runs);
    assert_false(is_there("halted.npz"));
    how.output = in_folder(by_runs, "scores.txt");
    failed_with(vg_score_runs(&of_runs, options, &input, &how), VG_ERR_ARGUMENT, "must end in .npz, .safetensors");
    input.temperature = "1,2";
    how.output = NULL;
    failed_with(vg_score_runs(&of_runs, options, &input, &how), VG_ERR_ARGUMENT, "2 values for 6 members");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_recipes),
        cmocka_unit_test(trains_and_tells), /* the following ones use its run */
        cmocka_unit_test(stops_and_goes_on_to_the_same_bits),
        cmocka_unit_test(refuses_training_options),
        cmocka_unit_test(predicts),
        cmocka_unit_test(stopped_prediction_leaves_nothing),
        cmocka_unit_test(refuses_prediction_options),
        cmocka_unit_test(scores_what_it_predicts),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
