/* test_nn_recipes.c - recipes: what each key accepts and what it refuses, with which message; settings that exclude
 * each other; files that are no recipes; texts that are read again as they were written. */
#include "nn/recipe.h"
#include "tiny_training.h"

/* Parsers that cannot be made: libyaml allocates for itself. */
static bool no_parser;
int __real_yaml_parser_initialize(void *parser);
int __wrap_yaml_parser_initialize(void *parser);
int __wrap_yaml_parser_initialize(void *parser) { return no_parser ? 0 : __real_yaml_parser_initialize(parser); }

static vg_status set_one(const char *assignment) {
    vg_recipe r;
    vg_recipe_defaults(&r);
    return vg_recipe_set(&r, assignment);
}

static void values_that_keys_refuse(void **state) {
    (void)state;
    static const struct {
        const char *assignment, *part;
    } cases[] = {
        {"rate=fast", "rate must be a number, found 'fast'"},
        {"rate=1e999", "rate must be a number, found '1e999'"},
        {"rate=nan", "rate must be a number, found 'nan'"},
        {"rate=11", "rate must lie in 0 .. 10, found 11"},
        {"rate=-1", "rate must lie in 0 .. 10, found -1"},
        {"epochs=2.5", "epochs must be a whole number, found '2.5'"},
        {"epochs=0", "epochs must lie in 1 .. 1e+06"},
        {"heads=100001", "heads must lie in 1 .. 100000"},
        {"ensemble=bagging", "ensemble must be one of mcd|lle|mcd-lle|deep|deep-mcd|deep-lle|deep-mcd-lle"},
        {"loss=mea", "loss must be one of mean|mixture|gated, found 'mea'"},
        {"nesterov=maybe", "nesterov must be one of no|yes|false|true|off|on, found 'maybe'"},
        {"bn_refresh=maybe", "bn_refresh must be one of no|yes"},
        {"seed=-1", "seed must be a whole number, found '-1'"},
        {"seed=1.5", "seed must be a whole number"},
        {"seed=99999999999999999999", "seed must be a whole number"},
        {"limit_seed=other", "limit_seed must be a whole number, found 'other'"},
        {"resize=64x", "resize must be pixels such as 64, or HEIGHTxWIDTH"},
        {"resize=x64", "resize must be pixels"},
        {"resize=5000", "of at most 4096, found '5000'"},
        {"resize=48x0", "resize must be pixels"},
        {"center_crop=-4", "center_crop must be pixels"},
        {"checkpoint_every=1.5", "must be whole epochs or a time such as 10m, found '1.5'"},
        {"checkpoint_every=xm", "must be whole epochs or a time such as 10m, found 'xm'"},
        {"checkpoint_every=m", "must be whole epochs or a time such as 10m, found 'm'"},
        {"checkpoint_every=5x", "must be whole epochs or a time such as 10m, found '5x'"},
        {"checkpoint_every=2000000h", "must be whole epochs or a time such as 10m"},
        {"class_weights=even", "class_weights must be none, balanced or a list of numbers, found 'even'"},
        {"class_weights=[1, heavy]", "class_weights must be a number, found 'heavy'"},
        {"class_weights=[0]", "class_weights must lie in 1e-06 .. 1e+06"},
        {"k=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]", "k takes at most"},
        {"k=[0]", "k must lie in 1e-06 .. 1e+06"},
        {"rate=[1]", "no list is expected here"},
        {"k=[[1]]", "no list is expected here"},
        {"rate={a: 1}", "a recipe is flat"},
        {"name=*anchor", "aliases are not supported"},
        {"name=\"two\\nlines\"", "name must be one line of at most"},
        {"name=\"\\x7f\"", "none of them a control character"},
        {"name=\"\\u2028\"", "none of them a control character"},
        {"name=\"\\ufeff\"", "none of them a control character"},
        {"name=\"\\ufffe\"", "none of them a control character"},
        {"name=\"\\x85\"", "none of them a control character"},
        {"name='open", "not YAML"},
        {"=1", "'=1' is not key=value"},
        {"rate", "'rate' is not key=value"},
        {"betas=[0.9, 0.99]", "they are two keys, beta1 and beta2"},
        {"balanced=yes", "balanced batches are 'sampling: balanced'"},
        {"Learning Rate=1", "it is called 'rate' here"},
        {"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz=1", "the nearest known one is"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vg_status status = set_one(cases[i].assignment);
        if (status != VG_ERR_ARGUMENT && status != VG_ERR_FORMAT)
            fail_msg("%s: status %d", cases[i].assignment, (int)status);
        expect_text(vg_error_message(), cases[i].part);
    }
    char longest[VG_RECIPE_TEXT + 16];
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "name=", 5);
    longest[5 + VG_RECIPE_TEXT] = 0;
    REFUSED(set_one(longest), VG_ERR_ARGUMENT, "name must be one line of at most");
    longest[4 + VG_RECIPE_TEXT] = 0;
    OK(set_one(longest));
}

static void values_that_keys_take(void **state) {
    (void)state;
    vg_recipe r;
    vg_recipe_defaults(&r);
    static const char *const all[] = {"bn_refresh=auto",
                                      "in_memory=on",
                                      "nesterov=true",
                                      "calibrate=off",
                                      "limit_seed=seed",
                                      "resize=48x64",
                                      "channels=3",
                                      "compute=bfloat16",
                                      "sampling=balanced",
                                      "class_weights=none",
                                      "name=\"a'b: c\"",
                                      "ood=[kmnist, x]",
                                      NULL};
    for (const char *const *a = all; *a; a++)
        OK(vg_recipe_set(&r, *a));
    assert_int_equal(r.bn_refresh, -1);
    assert_int_equal(r.in_memory, 1);
    assert_int_equal(r.nesterov, 1);
    assert_int_equal(r.calibrate, 0);
    assert_true(r.limit_seed == VG_LIMIT_SEED_AS_SEED);
    assert_true(r.resize[0] == 48 && r.resize[1] == 64);
    assert_int_equal(r.bfloat16, 1);
    assert_string_equal(r.name, "a'b: c");
    assert_int_equal(r.ood_count, 2);
    OK(vg_recipe_set(&r, "limit_seed=7"));
    assert_true(r.limit_seed == 7);
    OK(vg_recipe_set(&r, "class_weights=[1, 2.5, 0.125]"));
    assert_true(r.class_balance == 2 && r.class_weight_count == 3 && r.class_weights[1] == 2.5);
    OK(vg_recipe_set(&r, "class_weights=balanced"));
    assert_true(r.class_balance == 1 && r.class_weight_count == 0 && r.class_weights[1] == 0);
}

/* The changes, ended by NULL, make a recipe that cannot be trained. */
static void excluded(const char *part, const char *const *changes) {
    vg_recipe r;
    vg_recipe_defaults(&r);
    for (; *changes; changes++)
        OK(vg_recipe_set(&r, *changes));
    REFUSED(vg_recipe__check(&r), VG_ERR_ARGUMENT, part);
}
#define EXCLUDED(part, ...) excluded(part, (const char *const[]){__VA_ARGS__, NULL})

static void settings_that_exclude_each_other(void **state) {
    (void)state;
    EXCLUDED("ensemble mcd has one head, found heads 5", "ensemble=mcd", "heads=5");
    EXCLUDED("as many members as heads at most, found members 9 and heads 5", "heads=5", "members=9");
    EXCLUDED("this ensemble needs dropout above 0", "ensemble=mcd-lle", "dropout=0");
    EXCLUDED("the networks of ensemble deep have one head each, found heads 2", "ensemble=deep", "heads=2");
    EXCLUDED("take ensemble deep-mcd-lle", "ensemble=deep-mcd", "heads=2");
    EXCLUDED("at most 64, found 65", "ensemble=deep", "heads=1", "members=65");
    EXCLUDED("this ensemble needs dropout above 0", "ensemble=deep-mcd", "heads=1", "dropout=0");
    EXCLUDED("momentum and nesterov are for optimiser sgd", "momentum=0.9");
    EXCLUDED("momentum and nesterov are for optimiser sgd", "nesterov=yes");
    EXCLUDED("nesterov needs momentum above 0", "optimiser=sgd", "nesterov=yes");
    EXCLUDED("label_smoothing and class_weights need loss mean", "loss=mixture", "label_smoothing=0.1");
    EXCLUDED("label_smoothing and class_weights need loss mean", "loss=mixture", "class_weights=balanced");
    EXCLUDED("class_weights needs a number for every class", "class_weights=[]");
    EXCLUDED("correct for the same thing: choose one", "class_weights=balanced", "sampling=balanced");
    EXCLUDED("min_delta is for patience, which is 0", "min_delta=0.1");
    EXCLUDED("one cycle per snapshot: set snapshots", "schedule=cyclic");
    EXCLUDED("fewer epochs than snapshots", "snapshots=3", "epochs=2");
    EXCLUDED("patience and snapshots exclude each other", "snapshots=2", "patience=1");
    EXCLUDED("checkpoint best and snapshots exclude each other", "snapshots=2", "checkpoint=best");
    EXCLUDED("20 snapshots of 5 networks are more than 64 networks", "ensemble=deep", "heads=1", "snapshots=20");
    EXCLUDED("it is for ensembles lle and deep", "loss=gated", "ensemble=mcd", "heads=1");
    EXCLUDED("found heads 1", "loss=gated", "heads=1");
    EXCLUDED("found members 1", "loss=gated", "ensemble=deep", "heads=1", "members=1");
    EXCLUDED("every snapshot has a k of its own", "loss=gated", "snapshots=2");
    EXCLUDED("share no trunk", "loss=gated", "ensemble=deep", "heads=1", "head_features=0.5");
    EXCLUDED("share no trunk", "loss=gated", "ensemble=deep", "heads=1", "head_anchor=0.5");
    EXCLUDED("passes is for ensemble deep-mcd", "passes=5");
    EXCLUDED("head_bootstrap needs loss mean", "loss=mixture", "head_bootstrap=yes");
    EXCLUDED("rate must be above 0", "rate=0");
}

static void networks_of_deep_ensembles(void **state) {
    (void)state;
    vg_recipe r, one;
    vg_recipe_defaults(&r);
    static const struct {
        const char *ensemble;
        vg_ensemble network;
        size_t members;
    } cases[] = {{"ensemble=deep", VG_ENSEMBLE_LLE, 0},
                 {"ensemble=deep-mcd", VG_ENSEMBLE_MCD, 20},
                 {"ensemble=deep-lle", VG_ENSEMBLE_LLE, 0},
                 {"ensemble=deep-mcd-lle", VG_ENSEMBLE_MCD_LLE, 0}};
    OK(vg_recipe_set(&r, "seed=30"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OK(vg_recipe_set(&r, cases[i].ensemble));
        assert_int_equal(vg_recipe__networks(&r), 5);
        vg_recipe__network(&one, &r, 2);
        assert_int_equal(one.ensemble, cases[i].network);
        assert_int_equal(one.members, cases[i].members);
        assert_true(one.seed == 32 && one.limit_seed == 30);
    }
    OK(vg_recipe_set(&r, "ensemble=deep-mcd"));
    OK(vg_recipe_set(&r, "passes=7"));
    vg_recipe__network(&one, &r, 0);
    assert_int_equal(one.members, 7);
    OK(vg_recipe_set(&r, "ensemble=lle"));
    assert_int_equal(vg_recipe__networks(&r), 1);
    vg_recipe__network(&one, &r, 3);
    assert_true(one.seed == 30);
}

/* --- files */

static vg_status read_text(vg_recipe *out, const char *text) {
    char path[400];
    snprintf(path, sizeof path, "%s/a.yaml", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    vg_status status = vg_recipe__read(out, path);
    vg_recipe parsed;
    assert_int_equal(vg_recipe__parse(&parsed, text, strlen(text), path), status);
    if (status == VG_OK)
        assert_memory_equal(&parsed, out, sizeof parsed);
    return status;
}

static void files_that_are_no_recipes(void **state) {
    (void)state;
    vg_recipe r;
    REFUSED(vg_recipe__read(&r, "/nonexistent/a.yaml"), VG_ERR_IO, "/nonexistent/a.yaml");
    REFUSED(read_text(&r, ""), VG_ERR_FORMAT, "found none");
    REFUSED(read_text(&r, "just words\n"), VG_ERR_FORMAT, "line 1: expected 'key: value' lines");
    REFUSED(read_text(&r, "- 1\n"), VG_ERR_FORMAT, "line 1: no list is expected here");
    REFUSED(read_text(&r, "rate: 1e-3\nrate: 1e-4\n"), VG_ERR_FORMAT, "line 2: key 'rate' is given twice");
    REFUSED(read_text(&r, "rate: 1e-3\nrates: 1e-4\n"), VG_ERR_ARGUMENT, "line 2: unknown key 'rates'");
    REFUSED(read_text(&r, "k: [1\n"), VG_ERR_FORMAT, "not YAML");
    REFUSED(read_text(&r, "rate: 0\n"), VG_ERR_ARGUMENT, "rate must be above 0");
    OK(read_text(&r, "ensemble: mcd\n")); /* heads become 1 */
    assert_int_equal(r.heads, 1);
    REFUSED(read_text(&r, "ensemble: mcd\nheads: 3\n"), VG_ERR_ARGUMENT, "mcd has one head, found heads 3");
}

static void written_recipes_are_read_again(void **state) {
    (void)state;
    vg_recipe r, again;
    char *text;
    vg_recipe_defaults(&r);
    static const char *const all[] = {"name='-dash'",
                                      "dataset='a ''b'' c'",
                                      "ood=[kmnist, 'x y']",
                                      "rate=0.000123456789",
                                      "checkpoint_every=1.5m",
                                      "in_memory=no",
                                      "bn_refresh=yes",
                                      "limit_seed=3",
                                      "resize=48x64",
                                      "center_crop=32",
                                      "class_weights=[0.1, 3]",
                                      "schedule=cosine",
                                      NULL};
    for (const char *const *a = all; *a; a++)
        OK(vg_recipe_set(&r, *a));
    OK(vg_recipe_text(&text, &r));
    OK(read_text(&again, text));
    vg_free(text);
    assert_memory_equal(&again, &r, sizeof r);
    /* As many weights as there can be, each with all its digits. */
    r.class_weight_count = VG_RECIPE_WEIGHTS;
    for (size_t i = 0; i < VG_RECIPE_WEIGHTS; i++)
        r.class_weights[i] = 1.0 / (3 + (double)i);
    OK(vg_recipe_text(&text, &r));
    OK(read_text(&again, text));
    vg_free(text);
    assert_memory_equal(&again, &r, sizeof r);
}

static void parsers_without_memory(void **state) {
    (void)state;
    vg_recipe r;
    OK(read_text(&r, "rate: 1e-3\n"));
    no_parser = true;
    vg_status set = set_one("rate=1");
    char message[200];
    snprintf(message, sizeof message, "%s", vg_error_message());
    vg_status read = read_text(&r, "rate: 1e-3\n"), parsed = vg_recipe__parse(&r, "a: 1", 4, "text");
    no_parser = false;
    assert_true(set == VG_ERR_MEMORY && read == VG_ERR_MEMORY && parsed == VG_ERR_MEMORY);
    expect_text(message, "out of memory for the YAML parser");
    expect_text(vg_error_message(), "out of memory for the YAML parser");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_keys_refuse),          cmocka_unit_test(values_that_keys_take),
        cmocka_unit_test(settings_that_exclude_each_other), cmocka_unit_test(networks_of_deep_ensembles),
        cmocka_unit_test(files_that_are_no_recipes),        cmocka_unit_test(written_recipes_are_read_again),
        cmocka_unit_test(parsers_without_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
