/* test_nn_courses.c - how a training goes on: snapshots and the best checkpoint with refreshed statistics, the best by
 * the loss, stopping early and going on, settings that all checkpoints of a run adopt, curves for TensorBoard. */
#include "formats/arrays.h"
#include "nn/checkpoint.h"
#include "tiny_training.h"
#include "vargate/formats.h"

#include <sys/stat.h>

static char notes[2048];
static vg_epoch_metrics epochs[16];
static size_t epoch_count;

static int listen(void *context, const vg_train_event *event) {
    (void)context;
    if (event->kind == VG_TRAIN_EPOCH && epoch_count < 16)
        epochs[epoch_count++] = *event->metrics;
    if (event->kind == VG_TRAIN_NOTE || event->kind == VG_TRAIN_WARNING)
        snprintf(notes + strlen(notes), sizeof notes - strlen(notes), "%s\n", event->text);
    return 0;
}

static vg_train_result go(const char *name, const char *const *changes, bool resume) {
    char run[400];
    tiny_feed train = {0}, validation = {0};
    vg_recipe recipe = tiny_recipe(changes);
    vg_train_result result;
    snprintf(run, sizeof run, "%s/%s", folder, name);
    vg_train_options o = tiny_options(&recipe, run, &train, &validation);
    o.device = "cpu";
    o.resume = resume;
    o.event = listen;
    o.tensorboard = 1;
    notes[0] = 0;
    epoch_count = 0;
    OK(vg_train(&result, &o));
    return result;
}

static void path_of(char out[420], const char *run, const char *file) {
    snprintf(out, 420, "%s/%s/%s", folder, run, file);
}

static bool has_array(const char *run, const char *file, const char *array) {
    char path[420];
    vg_source *s;
    size_t index;
    path_of(path, run, file);
    OK(vg_source__open(&s, path));
    bool found = vg_source__find(s, array, &index) == VG_OK;
    vg_source__close(s);
    return found;
}

static vg_recipe recipe_in(const char *run, const char *file) {
    char path[420];
    vg_recipe recipe;
    vg_train_state state;
    path_of(path, run, file);
    OK(vg_checkpoint__peek(path, &recipe, &state));
    return recipe;
}

static void snapshots_are_refreshed_and_renamed(void **state) {
    (void)state;
    static const char *const first[] = {"network=wrn-10-1", "dropout=0.3",       "epochs=2", "schedule=cyclic",
                                        "snapshots=2",      "collapse_epochs=1", NULL};
    static const char *const renamed[] = {"network=wrn-10-1", "dropout=0.3",       "epochs=2",     "schedule=cyclic",
                                          "snapshots=2",      "collapse_epochs=1", "name=renamed", NULL};
    static const char *const files[] = {"snapshot-1.safetensors", "snapshot-2.safetensors", "last.safetensors",
                                        "best.safetensors"};
    go("snapshots", first, false);
    expect_text(notes, "improve by the refresh that follows the last epoch");
    expect_text(notes, "with batch-norm refreshed: val loss");
    for (int i = 0; i < 4; i++) {
        assert_true(has_array("snapshots", files[i], "norm.refreshed_mean"));
        assert_string_equal(recipe_in("snapshots", files[i]).name, "tiny");
    }
    vg_train_result again = go("snapshots", renamed, true);
    assert_int_equal(again.epochs_done, 0);
    expect_text(notes, "name: renamed (was tiny)");
    for (int i = 0; i < 4; i++) {
        assert_true(has_array("snapshots", files[i], "norm.refreshed_mean"));
        assert_string_equal(recipe_in("snapshots", files[i]).name, "renamed");
    }
}

static void best_by_loss(void **state) {
    (void)state;
    static const char *const by_loss[] = {"epochs=6", "best_by=loss", "rate=0.02", NULL};
    static const char *const by_accuracy[] = {"epochs=6", "rate=0.02", NULL};
    for (int i = 0; i < 2; i++) {
        vg_train_result r = go(i ? "by-accuracy" : "by-loss", i ? by_accuracy : by_loss, false);
        size_t best = 0;
        assert_int_equal(epoch_count, 6);
        for (size_t e = 1; e < 6; e++) {
            bool lower = epochs[e].val_loss < epochs[best].val_loss;
            bool higher = epochs[e].val_accuracy > epochs[best].val_accuracy;
            bool level = epochs[e].val_accuracy == epochs[best].val_accuracy;
            if (i ? higher || (level && lower) : lower)
                best = e;
        }
        assert_int_equal(r.best.epoch, best + 1);
        assert_true(r.best.val_loss == epochs[best].val_loss);
    }
}

static void stopping_early_and_going_on(void **state) {
    (void)state;
    static const char *const impatient[] = {"epochs=9", "patience=2", "min_delta=1000", NULL};
    static const char *const patient[] = {"epochs=9", "patience=4", "min_delta=1000", NULL};
    vg_train_result r = go("early", impatient, false);
    assert_int_equal(r.epochs_done, 3); /* the first epoch is the lowest, and two more are waited for */
    expect_text(notes, "stopping early after epoch 3: the validation loss has not fallen below");
    expect_text(notes, "that of epoch 1, for 2 epochs; a larger patience continues");
    r = go("early", impatient, true);
    assert_int_equal(r.epochs_done, 0);
    expect_text(notes, "stopped early after epoch 3");
    r = go("early", patient, true);
    assert_int_equal(r.epochs_done, 2);
    assert_int_equal(r.last.epoch, 5);
    expect_text(notes, "patience: 4 (was 2)");
}

/* The file holds a name for every curve, of the gate too where there is one, also after a resumption. */
static void curves_for_tensorboard(void **state) {
    (void)state;
    static const char *const one[] = {"loss=gated", "epochs=1", NULL}, *const two[] = {"loss=gated", "epochs=2", NULL};
    static const char *const tags[] = {"loss/train", "accuracy/validation", "ensemble/diversity", "gate/k_least",
                                       "gate/k_largest"};
    char path[420];
    static char bytes[1 << 16];
    go("curves", one, false);
    go("curves", two, true);
    path_of(path, "curves", "tensorboard/events.out.tfevents.vargate");
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t t = 0; t < sizeof tags / sizeof *tags; t++) {
        size_t found = 0, length = strlen(tags[t]);
        for (size_t i = 0; i + length <= size; i++)
            found += memcmp(bytes + i, tags[t], length) == 0;
        assert_int_equal(found, 2); /* one of every epoch */
    }
    path_of(path, "curves", "k.json");
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshots_are_refreshed_and_renamed),
        cmocka_unit_test(best_by_loss),
        cmocka_unit_test(stopping_early_and_going_on),
        cmocka_unit_test(curves_for_tensorboard),
    };
    make_tiny_images();
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
