/* test_nn_runs.c - control of a run: one training at a time in a folder, resuming what is finished or has other
 * settings, more epochs, checkpoints by the clock, warnings about questionable settings, class names that are kept,
 * splits of deep ensembles. */
#include "nn/checkpoint.h"
#include "nn/predictor.h"
#include "nn/recipe.h"
#include "training_util.h"

static const char *const digits[] = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
static const char *const swapped[] = {"one", "zero", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
static const char *const foreign[] = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "ten"};
static const char *const two_epochs[] = {"epochs=2", NULL};

static void expect_text(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

static bool is_there(const char *run, const char *file) {
    char path[512];
    path_of(path, run, file);
    return access(path, F_OK) == 0;
}

static vg_recipe recipe_of(const char *run, const char *file) {
    char path[512];
    vg_recipe recipe;
    vg_train_state state;
    path_of(path, run, file);
    OK(vg_checkpoint__peek(path, &recipe, &state));
    return recipe;
}

/* --- one at a time */

static void second_training_is_refused(void **state) {
    (void)state;
    char host[257] = "", holder[400];
    int end;
    pid_t child = begin_training((plan){.name = "locked", .wait_at = STEPS + 2}, &end);
    for (int i = 0; i < 600 && !is_there("locked", "last.safetensors"); i++)
        usleep_ms(50);
    assert_true(is_there("locked", "last.safetensors"));
    assert_true(is_there("locked", "train.lock"));
    outcome o = train((plan){.name = "locked", .resume = true});
    assert_int_equal(o.status, VG_ERR_IO);
    gethostname(host, sizeof host - 1);
    snprintf(holder, sizeof holder, "process %ld on %s is training into this folder", (long)child, host);
    expect_text(o.message, holder);
    /* Killed, it leaves the file but not the lock. */
    kill(child, SIGKILL);
    assert_int_equal(end_training(child, end).status, -1);
    assert_true(is_there("locked", "train.lock"));
    trained((plan){.name = "locked", .resume = true});
    assert_false(is_there("locked", "train.lock"));
    trained((plan){.name = "not-locked"});
    same_checkpoint("locked", "not-locked", "last.safetensors");
}

/* --- options */

/* Options that end before class_names, as an older header had them, and sizes that no header had. */
static void options_of_other_headers(void **state) {
    (void)state;
    vg_train_options options = VG_TRAIN_OPTIONS_INIT;
    vg_train_result result;
    options.struct_size = offsetof(vg_train_options, class_names);
    assert_int_equal(vg_train(&result, &options), VG_ERR_ARGUMENT);
    expect_text(vg_error_message(), "training needs a recipe"); /* the size was accepted */
    options.struct_size = sizeof options + 8;
    assert_int_equal(vg_train(&result, &options), VG_ERR_ARGUMENT);
    expect_text(vg_error_message(), "vg_train_options.struct_size");
    assert_int_equal(vg_train(&result, NULL), VG_ERR_ARGUMENT);
    expect_text(vg_error_message(), "result and options must not be NULL");
}

/* --- resuming */

static void finished_run_keeps_its_figures(void **state) {
    (void)state;
    char path[512];
    outcome first = train((plan){.name = "finished", .changes = two_epochs});
    assert_int_equal(first.status, VG_OK);
    assert_int_equal(first.result.epochs_done, 2);
    outcome again = train((plan){.name = "finished", .changes = two_epochs, .resume = true});
    assert_int_equal(again.status, VG_OK);
    assert_int_equal(again.result.epochs_done, 0);
    assert_int_equal(again.result.last.epoch, 2);
    assert_true(first.result.last.val_accuracy > 0);
    assert_true(again.result.last.val_accuracy == first.result.last.val_accuracy);
    assert_true(again.result.last.diversity == first.result.last.diversity);
    assert_true(again.result.best.val_accuracy == first.result.best.val_accuracy);
    assert_int_equal(again.result.best.epoch, first.result.best.epoch);
    path_of(path, "finished", "metrics.jsonl");
    assert_int_equal(remove(path), 0);
    again = train((plan){.name = "finished", .changes = two_epochs, .resume = true});
    assert_int_equal(again.status, VG_OK);
    assert_true(again.result.last.val_accuracy == first.result.last.val_accuracy);
    assert_true(fabs(again.result.last.val_loss - first.result.last.val_loss) < 1e-6);
}

static void harmless_changes_are_taken(void **state) {
    (void)state;
    static const char *const other[] = {
        "epochs=2",        "name=renamed", "k=[2]",        "test_limit=7", "checkpoint_every=5",
        "checkpoint=best", "calibrate=no", "ood=[kmnist]", "members=3",    NULL};
    char path[512], chosen[512];
    int best = -1;
    trained((plan){.name = "harmless", .changes = two_epochs});
    outcome o = train((plan){.name = "harmless", .changes = other, .resume = true});
    if (o.status != VG_OK)
        fail_msg("%s", o.message);
    expect_text(o.said, "k: [2] (was [1, 2, 3])");
    expect_text(o.said, "name: renamed (was test)");
    static const char *const files[] = {"last.safetensors", "best.safetensors"};
    for (int i = 0; i < 2; i++) {
        vg_recipe r = recipe_of("harmless", files[i]);
        assert_string_equal(r.name, "renamed");
        assert_true(r.test_limit == 7 && r.k_count == 1 && r.k[0] == 2 && r.members == 3 && r.checkpoint == 1);
        same_checkpoint("harmless", "finished", files[i]);
    }
    path_of(path, "harmless", "");
    OK(vg_run__checkpoint(chosen, sizeof chosen, path, -1, &best));
    assert_int_equal(best, 1);
    expect_text(chosen, "best.safetensors");
    vg_recipe written;
    path_of(path, "harmless", "recipe.yaml");
    OK(vg_recipe__read(&written, path));
    assert_string_equal(written.name, "renamed");
    o = train(
        (plan){.name = "harmless", .changes = (const char *const[]){"epochs=2", "dropout=0.2", NULL}, .resume = true});
    assert_int_equal(o.status, VG_ERR_ARGUMENT);
    expect_text(o.message, "'dropout: 0.1' there, 'dropout: 0.2' here");
}

/* A run that is made longer ends where one of that length ends, also when statistics were refreshed in between. */
static void more_epochs(void **state) {
    (void)state;
    trained((plan){.name = "longer", .changes = two_epochs});
    outcome o = train((plan){.name = "longer", .resume = true}); /* three */
    assert_int_equal(o.status, VG_OK);
    assert_int_equal(o.result.epochs_done, 1);
    same_checkpoint("longer", "not-locked", "last.safetensors");
    same_checkpoint("longer", "not-locked", "best.safetensors");
    same_metrics("longer", "not-locked");
    o = train((plan){.name = "longer", .changes = two_epochs, .resume = true});
    assert_int_equal(o.status, VG_ERR_ARGUMENT);
    expect_text(o.message, "has trained for 3 epochs already: epochs 2 is less");
    static const char *const short_wrn[] = {"network=wrn-10-1", "heads=3", "dropout=0.3", "epochs=1", NULL};
    static const char *const long_wrn[] = {"network=wrn-10-1", "heads=3", "dropout=0.3", "epochs=2", NULL};
    trained((plan){.name = "wrn-longer", .changes = short_wrn});
    o = train((plan){.name = "wrn-longer", .changes = long_wrn, .resume = true});
    assert_int_equal(o.status, VG_OK);
    expect_text(o.said, "with batch-norm refreshed: val loss");
    trained((plan){.name = "wrn-long", .changes = long_wrn});
    same_checkpoint("wrn-longer", "wrn-long", "last.safetensors");
    json_t *lines = metrics("wrn-long");
    json_t *last = json_array_get(lines, 1);
    double plain = json_number_value(json_object_get(last, "val_loss"));
    double refreshed = json_number_value(json_object_get(last, "refreshed_val_loss"));
    assert_true(refreshed > 0 && refreshed != plain);
    assert_null(json_object_get(json_array_get(lines, 0), "refreshed_val_loss"));
    json_decref(lines);
}

static void schedule_of_more_epochs_is_told(void **state) {
    (void)state;
    static const char *const one[] = {"epochs=1", "schedule=cosine", NULL}, *const two[] = {"epochs=2",
                                                                                            "schedule=cosine", NULL};
    trained((plan){.name = "cosine", .changes = one});
    outcome o = train((plan){.name = "cosine", .changes = two, .resume = true});
    assert_int_equal(o.status, VG_OK);
    expect_text(o.said, "schedule of 2 epochs instead of that of 1");
    /* The rate at the last step of two epochs: 0.1 x at the end of the cosine, not another value. */
    assert_true(o.result.last.rate < 0.13e-3 && o.result.last.rate > 0.1e-3);
}

static void stop_names_the_checkpoint(void **state) {
    (void)state;
    char path[512];
    outcome o = train((plan){.name = "stop", .stop_at = 3});
    assert_int_equal(o.status, VG_ERR_INTERRUPTED);
    path_of(path, "stop", "");
    expect_text(o.message, path);
    expect_text(o.message, "last.safetensors");
    assert_true(is_there("stop", "last.safetensors"));
}

/* --- checkpoints by the clock */

static void checkpoints_by_time(void **state) {
    (void)state;
    static const char *const timed[] = {"checkpoint_every=0.1s", NULL};
    outcome o = train((plan){.name = "timed", .changes = timed, .pause_ms = 40, .kill_at = 2 * STEPS - 1});
    assert_int_equal(o.status, -1);
    vg_recipe recipe;
    vg_train_state reached;
    char path[512];
    path_of(path, "timed", "last.safetensors");
    OK(vg_checkpoint__peek(path, &recipe, &reached));
    assert_true(reached.step > 0); /* in the middle of an epoch */
    o = train((plan){.name = "timed", .changes = timed, .resume = true, .pause_ms = 40});
    assert_int_equal(o.status, VG_OK);
    assert_true(o.middle_checkpoints > 0);
    same_checkpoint("timed", "not-locked", "last.safetensors");
    same_metrics("timed", "not-locked");
    o = train((plan){.name = "seldom", .changes = (const char *const[]){"checkpoint_every=10m", NULL}});
    assert_int_equal(o.status, VG_OK);
    assert_int_equal(o.middle_checkpoints, 0);
    same_checkpoint("seldom", "not-locked", "last.safetensors");
}

/* --- what is said */

static void questionable_settings_are_reported(void **state) {
    (void)state;
    static const char *const odd[] = {"epochs=1", "batch=300", "compute=tf32", NULL};
    outcome o = train((plan){.name = "odd", .changes = odd}); /* the feed's batches stay 32 */
    assert_int_equal(o.status, VG_OK);
    expect_text(o.said, "batch 300 is larger than the 200 training images");
    expect_text(o.said, "compute tf32 is for GPUs");
    trained((plan){.name = "threads", .changes = two_epochs, .threads = 1});
    o = train((plan){.name = "threads", .resume = true, .threads = 2});
    assert_int_equal(o.status, VG_OK);
#ifdef _OPENMP /* else there is one thread, whatever is asked for */
    expect_text(o.said, "continuing with 2 threads after 1");
#endif
    o = train((plan){.name = "plain", .changes = two_epochs});
    assert_string_equal(o.said, "");
}

/* --- class names */

static void class_names_travel(void **state) {
    (void)state;
    char path[512];
    vg_predictor *p, *q;
    trained((plan){.name = "named", .changes = two_epochs, .names = digits});
    outcome o = train((plan){.name = "named", .resume = true, .names = swapped});
    assert_int_equal(o.status, VG_ERR_DATA);
    expect_text(o.message, "class 0 is 'zero' there, 'one' in the data");
    trained((plan){.name = "named", .resume = true}); /* data without names: those of the checkpoint stay */
    static float images[3 * IMAGE], a[3 * 60], b[3 * 60];
    for (size_t i = 0; i < 3; i++)
        picture(images + i * IMAGE, 3, i);
    static const char *const files[] = {"last.safetensors", "best.safetensors"};
    for (int f = 0; f < 2; f++) {
        path_of(path, "named", files[f]);
        OK(vg_predictor_open(&p, path, NULL));
        vg_predictor_info info = vg_predictor__info(p);
        assert_non_null(info.class_names);
        for (size_t c = 0; c < 10; c++)
            assert_string_equal(info.class_names[c], digits[c]);
        OK(vg_predictor_open(&q, path, NULL));
        OK(vg_predictor__order_classes(q, swapped, 10));
        assert_string_equal(vg_predictor__info(q).class_names[0], "one");
        OK(vg_predictor_run(p, a, images, 3, 0));
        OK(vg_predictor_run(q, b, images, 3, 0));
        for (size_t r = 0; r < 18; r++) {
            assert_true(a[r * 10] == b[r * 10 + 1] && a[r * 10 + 1] == b[r * 10]);
            assert_memory_equal(a + r * 10 + 2, b + r * 10 + 2, 8 * sizeof *a);
        }
        assert_int_equal(vg_predictor__order_classes(p, foreign, 10), VG_ERR_DATA);
        expect_text(vg_error_message(), "class 'ten' is none of this network's classes: zero, one");
        vg_predictor_free(p);
        vg_predictor_free(q);
    }
}

/* --- recipes */

static void expect_advice(const char *assignment, const char *advice) {
    vg_recipe r;
    vg_recipe_defaults(&r);
    assert_int_equal(vg_recipe_set(&r, assignment), VG_ERR_ARGUMENT);
    expect_text(vg_error_message(), advice);
}

static void unknown_keys_lead_to_known_ones(void **state) {
    (void)state;
    expect_advice("lr=0.1", "it is called 'rate' here");
    expect_advice("learning_rate=0.1", "it is called 'rate' here");
    expect_advice("learning-rate=0.1", "it is called 'rate' here");
    expect_advice("optimizer=sgd", "it is called 'optimiser' here");
    expect_advice("early_stopping=3", "it is called 'patience' here");
    expect_advice("weight-decay=0.1", "the nearest known one is 'weight_decay'");
    expect_advice("batch_size=5", "it is called 'batch' here");
    expect_advice("Epochs=5", "the nearest known one is 'epochs'");
}

static void gate_settings_and_times(void **state) {
    (void)state;
    vg_recipe r, again;
    char *text, path[512];
    vg_recipe_defaults(&r);
    OK(vg_recipe_set(&r, "k=[]"));
    assert_int_equal(vg_recipe__check(&r), VG_ERR_ARGUMENT);
    expect_text(vg_error_message(), "k needs at least one");
    OK(vg_recipe_set(&r, "k=[1]"));
    OK(vg_recipe__check(&r));
    static const struct {
        const char *value;
        size_t epochs;
        double seconds;
    } times[] = {{"checkpoint_every=10m", 0, 600},
                 {"checkpoint_every=2h", 0, 7200},
                 {"checkpoint_every=1.5m", 0, 90},
                 {"checkpoint_every=4", 4, 0}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        OK(vg_recipe_set(&r, times[i].value));
        assert_int_equal(r.checkpoint_every, times[i].epochs);
        assert_true(r.checkpoint_seconds == times[i].seconds);
        OK(vg_recipe_text(&text, &r));
        path_of(path, "", "times.yaml");
        FILE *file = fopen(path, "w");
        fputs(text, file);
        fclose(file);
        vg_free(text);
        OK(vg_recipe__read(&again, path));
        assert_true(again.checkpoint_every == times[i].epochs && again.checkpoint_seconds == times[i].seconds);
    }
    expect_advice("checkpoint_every=0m", "whole epochs or a time such as 10m");
    expect_advice("checkpoint_every=m", "must be whole epochs or a time");
    expect_advice("checkpoint_every=-3m", "whole epochs or a time such as 10m");
    expect_advice("checkpoint_every=1.5", "whole epochs or a time such as 10m");
}

/* Runs of other seeds hold out the same images; those of other splits do not go together. */
static void splits_are_compared(void **state) {
    (void)state;
    vg_recipe a, b;
    vg_recipe_defaults(&a);
    vg_recipe_defaults(&b);
    OK(vg_recipe_set(&b, "seed=7"));
    assert_true(a.split_seed == b.split_seed);
    OK(vg_recipe__check_split(&a, &b));
    OK(vg_recipe_set(&b, "split_seed=7"));
    assert_int_equal(vg_recipe__check_split(&a, &b), VG_ERR_DATA);
    expect_text(vg_error_message(), "split_seed 1 and 7");
    b = a;
    OK(vg_recipe_set(&b, "validation=0.2"));
    assert_int_equal(vg_recipe__check_split(&a, &b), VG_ERR_DATA);
    b = a;
    OK(vg_recipe_set(&b, "test=0.2"));
    assert_int_equal(vg_recipe__check_split(&a, &b), VG_ERR_DATA);
    expect_text(vg_error_message(), "test 0 and 0.2");
    b = a;
    OK(vg_recipe_set(&b, "dataset=path:elsewhere")); /* the same images by another path divide alike */
    OK(vg_recipe__check_split(&a, &b));
}

/* Images are read once for all networks of an ensemble. */
static void ways_to_read_are_compared(void **state) {
    (void)state;
    vg_recipe a, b;
    vg_recipe_defaults(&a);
    OK(vg_recipe_set(&a, "resize=32"));
    b = a;
    OK(vg_recipe__check_reading(&a, &b));
    OK(vg_recipe_set(&b, "resize=32x32"));
    assert_int_equal(vg_recipe__check_reading(&a, &b), VG_ERR_DATA);
    expect_text(vg_error_message(), "resize 32x0 and 32x32");
    b = a;
    OK(vg_recipe_set(&b, "center_crop=32")); /* what resize=32 alone cuts out */
    OK(vg_recipe__check_reading(&a, &b));
    OK(vg_recipe_set(&b, "center_crop=30"));
    assert_int_equal(vg_recipe__check_reading(&a, &b), VG_ERR_DATA);
    expect_text(vg_error_message(), "center_crop 32x32 and 30x30");
}

/* A checkpoint without split_seed was split by its seed. */
static void older_checkpoints_split_by_their_seed(void **state) {
    (void)state;
    char path[512];
    vg_writer *writer;
    vg_recipe recipe;
    vg_train_state read;
    float value = 0;
    path_of(path, "", "old.safetensors");
    OK(vg_writer_open(&writer, path));
    OK(vg_writer__metadata(writer, "recipe", "name: old\nseed: 5\nk: []\n"));
    OK(vg_writer__metadata(writer, "state", "{\"epoch\": 1, \"classes\": 10}"));
    OK(vg_writer_array(writer, "x", VG_ELEMENT_F32, 0, NULL, &value));
    OK(vg_writer_close(writer));
    OK(vg_checkpoint__peek(path, &recipe, &read));
    assert_true(recipe.seed == 5 && recipe.split_seed == 5);
    assert_true(recipe.k_count > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_other_headers),
        cmocka_unit_test(unknown_keys_lead_to_known_ones),
        cmocka_unit_test(gate_settings_and_times),
        cmocka_unit_test(splits_are_compared),
        cmocka_unit_test(ways_to_read_are_compared),
        cmocka_unit_test(older_checkpoints_split_by_their_seed),
        cmocka_unit_test(second_training_is_refused),
        cmocka_unit_test(finished_run_keeps_its_figures),
        cmocka_unit_test(harmless_changes_are_taken),
        cmocka_unit_test(more_epochs),
        cmocka_unit_test(schedule_of_more_epochs_is_told),
        cmocka_unit_test(stop_names_the_checkpoint),
        cmocka_unit_test(checkpoints_by_time),
        cmocka_unit_test(questionable_settings_are_reported),
        cmocka_unit_test(class_names_travel),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
