/* test_workflow_control.c - control of a run: every optimiser, loss and kind of sampling, stopped and resumed, gives
 * the same bits; early stopping and its extension; the best checkpoint by loss; snapshots as members; the running mean
 * of the parameters in predictions; refusals. */
#include <math.h>
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

#include "formats/arrays.h"
#include "vargate/formats.h"
#include "vargate/workflow.h"
#include "workflow_util.h"

enum { TRAIN = 320, BATCH = 64, STEPS = TRAIN / BATCH, HEADS = 2, MOST = 16 };

static const char *const small[] = {"network=cnn-8-16", "heads=2",       "epochs=3", "train_limit=320",
                                    "batch=64",         "test_limit=50", "rate=1e-3"};
enum { SMALL = sizeof small / sizeof *small };

static bool same_in(const char *run, const char *other, const char *name) {
    char one[PATH], two[PATH];
    snprintf(one, sizeof one, "%s/%s", run, name);
    snprintf(two, sizeof two, "%s/%s", other, name);
    return same_bytes(one, two);
}

static void failed_with(vg_status found, vg_status expected, const char *part) {
    if (found != expected)
        fail_msg("status %d, expected %d: %s", (int)found, (int)expected, vg_error_message());
    if (!strstr(vg_error_message(), part))
        fail_msg("'%s' is not in '%s'", part, vg_error_message());
}

static vg_status find(vg_recipe *recipe, const char *const *more, size_t count) {
    const char *changes[SMALL + MOST];
    memcpy(changes, small, sizeof small);
    for (size_t i = 0; i < count; i++)
        changes[SMALL + i] = more[i];
    return vg_recipe_find(recipe, "quickstart", changes, SMALL + count);
}

typedef struct heard {
    size_t steps, epochs, stop_at;
    double val_loss[64];
    char notes[8192];
} heard;

static int on_event(void *context, const vg_train_event *event) {
    heard *h = context;
    h->steps += event->kind == VG_TRAIN_STEP;
    if (event->kind == VG_TRAIN_EPOCH)
        h->val_loss[h->epochs++] = event->metrics->val_loss;
    return h->stop_at && h->steps >= h->stop_at;
}

static int on_message(void *context, const vg_job_message *message) {
    heard *h = context;
    size_t used = strlen(h->notes);
    if (message->event == VG_JOB_NOTE)
        snprintf(h->notes + used, sizeof h->notes - used, "%s\n", message->text);
    return 0;
}

static vg_status train(const vg_recipe *recipe, heard *h, const char *run, bool resume) {
    char path[PATH];
    vg_train_result result;
    vg_train_recipe_options options = train_options(recipe, path, run, resume);
    listen_to(&options, on_event, on_message, h);
    return vg_train_recipe(&result, &options);
}

/* --- stopping and resuming */

static void goes_on_to_the_same_bits(void **state) {
    (void)state;
    static const char *const settings[][MOST] = {
        {"optimiser=adamw", "weight_decay=0.1"},
        {"optimiser=sgd", "rate=0.05"},
        {"optimiser=sgd", "rate=0.05", "momentum=0.9", "nesterov=yes", "clip_norm=1"},
        {"clip_norm=0.5", "ema=0.9"},
        {"label_smoothing=0.1", "class_weights=balanced"},
        {"class_weights=[1, 2, 1, 1, 0.5, 1, 1, 3, 1, 1]"},
        {"sampling=balanced"},
        {"schedule=cyclic", "snapshots=3", "ema=0.5"},
    };
    static const char *const files[] = {"last.safetensors", "best.safetensors"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        size_t count = 0;
        char whole[PATH], stopped[PATH];
        vg_recipe recipe;
        heard all = {0}, first = {.stop_at = STEPS + 2}, rest = {0};
        while (count < MOST && settings[i][count])
            count++;
        OK(find(&recipe, settings[i], count));
        snprintf(whole, sizeof whole, "whole-%zu", i);
        snprintf(stopped, sizeof stopped, "stopped-%zu", i);
        OK(train(&recipe, &all, whole, false));
        failed_with(train(&recipe, &first, stopped, false), VG_ERR_INTERRUPTED, "stopped in epoch 2");
        OK(train(&recipe, &rest, stopped, true));
        assert_int_equal(first.steps + rest.steps, all.steps);
        for (int f = 0; f < 2; f++)
            if (!same_in(whole, stopped, files[f]))
                fail_msg("%s ...: %s differs after a stop", settings[i][0], files[f]);
        for (size_t s = 1; s <= recipe.snapshots; s++) {
            char name[64];
            snprintf(name, sizeof name, "snapshot-%zu.safetensors", s);
            assert_true(is_there("whole-7/snapshot-1.safetensors"));
            assert_true(same_in(whole, stopped, name));
        }
    }
    /* The settings matter: no two of these trainings end alike. */
    assert_false(same_in("whole-0", "whole-3", "last.safetensors"));
    assert_false(same_in("whole-4", "whole-5", "last.safetensors"));
}

/* --- early stopping */

/* A rate so high that the network stops learning at once and its validation loss rises. */
static const char *const rising[] = {"rate=2e-2", "train_limit=128", "epochs=12", "patience=2", "best_by=loss"};

static size_t lowest_epoch(const heard *h) {
    size_t lowest = 0;
    for (size_t i = 1; i < h->epochs; i++)
        if (h->val_loss[i] < h->val_loss[lowest])
            lowest = i;
    return lowest + 1;
}

static json_int_t best_epoch(const char *run) {
    char path[PATH];
    vg_source *source;
    snprintf(path, sizeof path, "%s/%s/last.safetensors", folder, run);
    OK(vg_source__open(&source, path));
    json_t *state = json_loads(vg_source__metadata(source, "state"), 0, NULL);
    json_int_t epoch = json_integer_value(json_object_get(state, "best_epoch"));
    json_decref(state);
    vg_source__close(source);
    return epoch;
}

static void stops_early_and_goes_on(void **state) {
    (void)state;
    vg_recipe recipe, longer;
    heard first = {0}, again = {0}, rest = {0}, whole = {0};
    OK(find(&recipe, rising, 5));
    OK(train(&recipe, &first, "early", false));
    assert_true(first.epochs < 12);
    assert_int_equal(lowest_epoch(&first), first.epochs - 2);
    assert_int_equal(best_epoch("early"), lowest_epoch(&first));
    assert_non_null(strstr(first.notes, "stopping early after epoch"));
    OK(train(&recipe, &again, "early", true)); /* finished */
    assert_int_equal(again.steps, 0);
    assert_non_null(strstr(again.notes, "stopped early after epoch"));
    longer = recipe;
    longer.patience = 0;
    longer.epochs = first.epochs + 2;
    OK(train(&longer, &rest, "early", true));
    assert_int_equal(rest.epochs, 2);
    OK(train(&longer, &whole, "never", false));
    assert_true(same_in("early", "never", "last.safetensors"));
    assert_true(same_in("early", "never", "best.safetensors"));
}

static void min_delta_counts_small_gains_as_none(void **state) {
    (void)state;
    static const char *const settings[] = {"rate=1e-5", "epochs=12", "patience=3", "min_delta=100"};
    vg_recipe recipe;
    heard h = {0};
    OK(find(&recipe, settings, 4));
    OK(train(&recipe, &h, "delta", false));
    assert_int_equal(h.epochs, 4); /* the first counts, three more do not */
}

/* --- predictions */

static size_t predict(const char *run, int checkpoint, const char *output) {
    char path[PATH], to[PATH];
    const char *runs[] = {in_folder(path, run)};
    vg_predict_runs_options options = VG_PREDICT_RUNS_OPTIONS_INIT;
    vg_predict_runs_result result = VG_PREDICT_RUNS_RESULT_INIT;
    options.runs = runs;
    options.run_count = 1;
    options.checkpoint = checkpoint;
    options.device = "cpu";
    options.threads = 1;
    options.output = in_folder(to, output);
    OK(vg_predict_runs(&result, &options));
    return result.members;
}

static void snapshots_are_members(void **state) {
    (void)state;
    vg_recipe recipe;
    const char *const cyclic[] = {"schedule=cyclic", "snapshots=3", "ema=0.5", "epochs=4"};
    heard h = {0};
    assert_int_equal(predict("whole-7", -1, "snapshots.npz"), 3 * HEADS);
    assert_int_equal(predict("whole-7", 0, "last.npz"), HEADS);
    OK(find(&recipe, cyclic, 4));
    failed_with(train(&recipe, &h, "whole-7", true), VG_ERR_ARGUMENT, "snapshots along a schedule of 3 epochs");
}

/* With ema = 0 the checkpoint holds the trained parameters; with ema they are beside their mean. */
static void predictions_use_the_mean(void **state) {
    (void)state;
    char path[PATH];
    vg_source *source;
    size_t index, raw;
    float mean[10], trained[10];
    snprintf(path, sizeof path, "%s/whole-3/last.safetensors", folder);
    OK(vg_source__open(&source, path));
    OK(vg_source__find(source, "hidden.bias", &index));
    OK(vg_source__find(source, "raw/hidden.bias", &raw));
    OK(vg_source__read_f32(source, index, 0, 10, mean));
    OK(vg_source__read_f32(source, raw, 0, 10, trained));
    assert_memory_not_equal(mean, trained, sizeof mean);
    vg_source__close(source);
    snprintf(path, sizeof path, "%s/whole-3/best.safetensors", folder);
    OK(vg_source__open(&source, path));
    assert_int_not_equal(vg_source__find(source, "raw/hidden.bias", &raw), VG_OK);
    vg_source__close(source);
    assert_int_equal(predict("whole-3", -1, "mean.npz"), HEADS);
}

/* --- refusals */

static void refuses(void **state) {
    (void)state;
    static const struct {
        const char *set[3], *says;
    } cases[] = {
        {{"momentum=0.9"}, "momentum and nesterov are for optimiser sgd"},
        {{"optimiser=sgd", "nesterov=yes"}, "nesterov needs momentum above 0"},
        {{"optimiser=rmsprop"}, "optimiser must be one of adam|adamw|sgd"},
        {{"loss=mixture", "label_smoothing=0.1"}, "need loss mean"},
        {{"class_weights=balanced", "sampling=balanced"}, "correct for the same thing"},
        {{"class_weights=heavy"}, "must be none, balanced or a list of numbers"},
        {{"class_weights=[]"}, "a number for every class"},
        {{"class_weights=[1, -2]"}, "class_weights must lie in"},
        {{"min_delta=1"}, "min_delta is for patience"},
        {{"schedule=cyclic"}, "set snapshots"},
        {{"snapshots=4"}, "fewer epochs than snapshots"},
        {{"snapshots=2", "patience=1"}, "exclude each other"},
        {{"snapshots=2", "checkpoint=best"}, "exclude each other"},
        {{"optimizer=sgd"}, "it is called 'optimiser' here"},
        {{"early_stopping=3"}, "it is called 'patience' here"},
        {{"max_grad_norm=1"}, "it is called 'clip_norm' here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vg_recipe recipe;
        size_t count = 0;
        while (count < 3 && cases[i].set[count])
            count++;
        failed_with(find(&recipe, cases[i].set, count), VG_ERR_ARGUMENT, cases[i].says);
    }
    vg_recipe recipe;
    heard h = {0};
    const char *const few[] = {"class_weights=[1, 2, 3]"};
    OK(find(&recipe, few, 1));
    failed_with(train(&recipe, &h, "few", false), VG_ERR_ARGUMENT, "class_weights has 3 numbers, the data 10 classes");
}

/* A recipe is the same after writing and reading, with a list of weights and without. */
static void recipes_are_kept(void **state) {
    (void)state;
    static const char *const texts[] = {"class_weights=[1, 2, 0.25]", "class_weights=balanced", "class_weights=none"};
    static const char *const lines[] = {"class_weights: [1, 2, 0.25]\n", "class_weights: balanced\n",
                                        "class_weights: none\n"};
    vg_recipe recipe;
    vg_recipe_defaults(&recipe);
    for (int i = 0; i < 3; i++) {
        char *text;
        OK(vg_recipe_set(&recipe, texts[i]));
        OK(vg_recipe_text(&text, &recipe));
        assert_non_null(strstr(text, lines[i]));
        vg_free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_on_to_the_same_bits),
        cmocka_unit_test(stops_early_and_goes_on),
        cmocka_unit_test(min_delta_counts_small_gains_as_none),
        cmocka_unit_test(snapshots_are_members),
        cmocka_unit_test(predictions_use_the_mean),
        cmocka_unit_test(refuses),
        cmocka_unit_test(recipes_are_kept),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
