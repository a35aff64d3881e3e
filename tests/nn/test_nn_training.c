/* test_nn_training.c - recipes; training that is stopped, killed and resumed; checkpoints; NaN and collapse; ensemble
 * prediction.
 *
 * Runs and data: training_util.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "nn/predictor.h"
#include "nn/recipe.h"
#include "training_util.h"
#include "vargate/formats.h"
#include "vargate/nn.h"

static const char *const all_switches[] = {
    "head_features=0.25", "head_prior=2",    "head_bootstrap=yes", "head_anchor=0.01",
    "head_init_scale=2",  "schedule=cosine", "weight_decay=1e-4",  NULL};

/* --- tests */

static void learns(void **state) {
    (void)state;
    outcome o = train((plan){.name = "plain", .changes = (const char *const[]){"epochs=12", "rate=2e-3", NULL}});
    if (o.status != VG_OK)
        fail_msg("%s", o.message);
    assert_true(o.result.last.val_accuracy > 0.9);
    assert_true(o.result.last.train_loss < 0.6);
    assert_true(o.result.last.diversity > 0 && o.result.last.diversity < 0.1);
    assert_true(o.result.last.k_sensitivity >= 0 && o.result.last.k_sensitivity <= 1);
    json_t *lines = metrics("plain");
    assert_int_equal(json_array_size(lines), 12);
    static const char *const names[] = {"epoch",   "train_loss", "val_loss",      "val_accuracy",
                                        "val_ece", "diversity",  "k_sensitivity", "lr"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_true(json_is_number(json_object_get(json_array_get(lines, 11), names[i])));
    json_decref(lines);
}

static void same_seed_same_bits(void **state) {
    (void)state;
    trained((plan){.name = "once", .changes = all_switches});
    trained((plan){.name = "twice", .changes = all_switches});
    same_checkpoint("once", "twice", "last.safetensors");
    same_checkpoint("once", "twice", "best.safetensors");
    same_metrics("once", "twice");
}

static void stopped_and_resumed(void **state) {
    (void)state;
    outcome o = train((plan){.name = "stopped", .changes = all_switches, .stop_at = STEPS + 3});
    assert_int_equal(o.status, VG_ERR_INTERRUPTED);
    o = train((plan){.name = "stopped", .changes = all_switches});
    assert_int_equal(o.status, VG_ERR_ARGUMENT); /* without resume nothing is overwritten */
    assert_non_null(strstr(o.message, "resume"));
    o = train((plan){.name = "stopped", .changes = all_switches, .resume = true, .stop_at = 2 * STEPS + 1});
    assert_int_equal(o.status, VG_ERR_INTERRUPTED);
    trained((plan){.name = "stopped", .changes = all_switches, .resume = true});
    same_checkpoint("once", "stopped", "last.safetensors");
    same_checkpoint("once", "stopped", "best.safetensors");
    same_metrics("once", "stopped");
}

static void killed_and_resumed(void **state) {
    (void)state;
    const plan deaths[] = {{.name = "killed", .changes = all_switches, .kill_at = 2, .resume = true},
                           {.name = "killed", .changes = all_switches, .kill_in_checkpoint = 1, .resume = true},
                           {.name = "killed", .changes = all_switches, .kill_in_checkpoint = 2, .resume = true},
                           {.name = "killed", .changes = all_switches, .kill_at = 2 * STEPS, .resume = true},
                           {.name = "killed", .changes = all_switches, .kill_at = 3 * STEPS - 1, .resume = true}};
    for (size_t i = 0; i < sizeof deaths / sizeof deaths[0]; i++)
        assert_int_equal(train(deaths[i]).status, -1);
    trained((plan){.name = "killed", .changes = all_switches, .resume = true});
    same_checkpoint("once", "killed", "last.safetensors");
    same_checkpoint("once", "killed", "best.safetensors");
    same_metrics("once", "killed");
}

static void other_recipe_refused(void **state) {
    (void)state;
    outcome o = train((plan){.name = "once", .changes = (const char *const[]){"rate=2e-3", NULL}, .resume = true});
    assert_int_equal(o.status, VG_ERR_ARGUMENT);
    assert_non_null(strstr(o.message, "another recipe"));
    assert_null(strchr(o.message, '\n'));
}

static void other_losses_and_ensembles(void **state) {
    (void)state;
    trained((plan){.name = "mcd", .changes = (const char *const[]){"ensemble=mcd", "heads=1", "epochs=2", NULL}});
    outcome o = train(
        (plan){.name = "mixture", .changes = (const char *const[]){"loss=mixture", "epochs=6", "rate=2e-3", NULL}});
    assert_int_equal(o.status, VG_OK);
    assert_true(o.result.last.train_loss < 2.0);
}

static void not_a_number(void **state) {
    (void)state;
    outcome o = train((plan){.name = "nan", .bad_step = STEPS + 2});
    assert_int_equal(o.status, VG_ERR_NUMERIC);
    char step[32];
    snprintf(step, sizeof step, "step %d ", STEPS + 3);
    assert_non_null(strstr(o.message, step));
    char path[512];
    vg_predictor *p;
    path_of(path, "nan", "last.safetensors"); /* of epoch 1 */
    OK(vg_predictor_open(&p, path, NULL));
    assert_int_equal(vg_predictor__info(p).epoch, 1);
    vg_predictor_free(p);
}

static void disk_full(void **state) {
    (void)state;
    outcome o = train((plan){.name = "full", .stop_at = STEPS});
    assert_int_equal(o.status, VG_ERR_INTERRUPTED);
    o = train((plan){.name = "full", .resume = true, .file_limit = 20000});
    assert_int_equal(o.status, VG_ERR_IO);
    assert_null(strchr(o.message, '\n'));
    trained((plan){.name = "full", .resume = true});
    trained((plan){.name = "full-not"});
    same_checkpoint("full", "full-not", "last.safetensors");
}

static void collapse_is_told(void **state) {
    (void)state;
    /* heads that begin as near copies of each other and stay so: any fall of D counts */
    outcome o = train((plan){.name = "collapse",
                             .changes = (const char *const[]){"collapse_fraction=1", "collapse_epochs=2", "epochs=12",
                                                              "rate=3e-3", "head_init_scale=1e-4", NULL}});
    assert_int_equal(o.status, VG_OK);
    assert_true(o.result.last.verdict.state == VG_VERDICT_COLLAPSED || o.result.last.verdict.state == VG_VERDICT_LOW);
    assert_true(o.collapses >= 1);
    assert_int_equal(o.result.collapsed, 1);
    /* members that only become certain lose D as well, without a collapse alarm */
    o = train((plan){
        .name = "diverse",
        .changes = (const char *const[]){"collapse_fraction=1", "collapse_epochs=2", "epochs=8", "rate=3e-3", NULL}});
    assert_int_equal(o.result.last.verdict.state, VG_VERDICT_DIVERSE);
    assert_int_equal(o.collapses, 0);
    o = train((plan){.name = "no-collapse", .changes = (const char *const[]){"collapse_fraction=0", NULL}});
    assert_int_equal(o.collapses, 0);
}

static void batch_norm_refreshed(void **state) {
    (void)state;
    static const char *const wrn[] = {"network=wrn-10-1", "heads=3", "dropout=0.3", "epochs=2", NULL};
    char path[512];
    vg_source *s;
    size_t index;
    trained((plan){.name = "wrn", .changes = wrn});
    path_of(path, "wrn", "last.safetensors");
    OK(vg_source__open(&s, path));
    OK(vg_source__find(s, "norm.running_var", &index));
    OK(vg_source__find(s, "norm.refreshed_var", &index));
    vg_source__close(s);
    outcome o = train(
        (plan){.name = "wrn-killed", .changes = wrn, .kill_in_checkpoint = 4}); /* end of epoch 2, before the refresh */
    assert_int_equal(o.status, -1);
    trained((plan){.name = "wrn-killed", .changes = wrn, .resume = true});
    same_checkpoint("wrn", "wrn-killed", "last.safetensors");
}

/* --- prediction (in this process: after all children) */

static float *predict(const char *run, vg_predictor_options o, size_t n, size_t cut, size_t *members) {
    char path[512];
    vg_predictor *p;
    path_of(path, run, "last.safetensors");
    o.threads = 2;
    OK(vg_predictor_open(&p, path, &o));
    vg_predictor_info info = vg_predictor__info(p);
    *members = info.members;
    float *images = malloc(n * IMAGE * sizeof *images), *out = malloc(n * info.members * 10 * sizeof *out);
    for (size_t i = 0; i < n; i++)
        picture(images + i * IMAGE, 3, i);
    for (size_t i = 0; i < n; i += cut)
        OK(vg_predictor_run(p, out + i * info.members * 10, images + i * IMAGE, n - i < cut ? n - i : cut, i));
    free(images);
    vg_predictor_free(p);
    return out;
}

static double largest_gap(const float *a, const float *b, size_t count) {
    double gap = 0;
    for (size_t i = 0; i < count; i++)
        gap = fmax(gap, fabs((double)a[i] - b[i]));
    return gap;
}

static void members_do_not_depend_on_cuts(void **state) {
    (void)state;
    for (int e = 1; e <= 2; e++) {
        vg_predictor_options o = VG_PREDICTOR_OPTIONS_INIT;
        size_t m;
        o.ensemble = e;
        float *a = predict("once", o, 70, 70, &m);
        o.rows = 17;
        float *b = predict("once", o, 70, 23, &m);
        assert_int_equal(m, 6);
        assert_true(largest_gap(a, b, 70 * m * 10) < 1e-4);
        free(a);
        free(b);
    }
}

/* Pass t through head t is entry (t, t) of all passes through all heads. */
static void paired_members(void **state) {
    (void)state;
    vg_predictor_options o = VG_PREDICTOR_OPTIONS_INIT;
    size_t m, all;
    o.ensemble = VG_ENSEMBLE_MCD_LLE;
    float *a = predict("once", o, 20, 20, &m);
    o.passes = o.heads = 6;
    float *b = predict("once", o, 20, 20, &all);
    assert_int_equal(m, 6);
    assert_int_equal(all, 36);
    double differ = 0;
    for (size_t i = 0; i < 20; i++)
        for (size_t t = 0; t < 6; t++) {
            assert_true(largest_gap(a + (i * 6 + t) * 10, b + (i * 36 + t * 6 + t) * 10, 10) < 1e-5);
            differ = fmax(differ, largest_gap(b + (i * 36 + t * 6) * 10, b + (i * 36 + (t + 1) % 6 * 6) * 10, 10));
        }
    assert_true(differ > 1e-3); /* masks differ from pass to pass */
    free(a);
    free(b);
}

/* One head, passes that differ. Other tests cover both losses and the plain schedule. */
static void monte_carlo_dropout(void **state) {
    (void)state;
    vg_predictor_options o = VG_PREDICTOR_OPTIONS_INIT;
    size_t m;
    json_t *lines = metrics("mcd");
    assert_true(json_number_value(json_object_get(json_array_get(lines, 1), "diversity")) > 0);
    json_decref(lines);
    o.members = 9;
    float *z = predict("mcd", o, 12, 12, &m);
    assert_int_equal(m, 9);
    for (size_t i = 0; i < 12; i++)
        for (size_t t = 1; t < 9; t++)
            assert_true(largest_gap(z + i * 90, z + (i * 9 + t) * 10, 10) > 0);
    free(z);
}

static void prediction_refusals(void **state) {
    (void)state;
    char path[512];
    vg_predictor *p;
    vg_predictor_options o = VG_PREDICTOR_OPTIONS_INIT;
    path_of(path, "once", "last.safetensors");
    o.members = 7;
    assert_int_equal(vg_predictor_open(&p, path, &o), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "6 heads"));
    path_of(path, "once", "recipe.yaml");
    assert_int_not_equal(vg_predictor_open(&p, path, NULL), VG_OK);
    /* options of an older header, which ended before `compute` and `rows`, and of none */
    path_of(path, "once", "last.safetensors");
    o = (vg_predictor_options)VG_PREDICTOR_OPTIONS_INIT;
    o.struct_size = offsetof(vg_predictor_options, compute);
    o.members = 2;
    o.compute = o.ensemble + 99; /* beyond struct_size: must not be read */
    o.rows = SIZE_MAX;
    OK(vg_predictor_open(&p, path, &o));
    assert_int_equal(vg_predictor__info(p).members, 2);
    vg_predictor_free(p);
    o.struct_size = sizeof o + 8;
    assert_int_equal(vg_predictor_open(&p, path, &o), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "vg_predictor_options.struct_size"));
    /* cut short: refused, never half-loaded */
    char cut[512], command[1200];
    path_of(path, "once", "last.safetensors");
    path_of(cut, "once", "cut.safetensors");
    snprintf(command, sizeof command, "head -c 100000 '%s' > '%s'", path, cut);
    assert_int_equal(system(command), 0);
    assert_int_equal(vg_predictor_open(&p, cut, NULL), VG_ERR_FORMAT);
}

/* A head reads no feature outside its share, also after training; the fixed network's logits have the set spread. */
static void heads_stay_apart(void **state) {
    (void)state;
    char path[512];
    vg_source *s;
    size_t w, mask;
    path_of(path, "once", "last.safetensors");
    OK(vg_source__open(&s, path));
    OK(vg_source__find(s, "heads.weight", &w));
    OK(vg_source__find(s, "heads.mask", &mask));
    float *weights = malloc(60 * 48 * sizeof *weights);
    int64_t *kept = malloc(60 * 48 * sizeof *kept);
    OK(vg_source__read_f32(s, w, 0, 60, weights));
    OK(vg_source__read_i64(s, mask, 0, 60, kept));
    size_t count = 0;
    for (size_t i = 0; i < 60 * 48; i++) {
        count += (size_t)kept[i];
        if (kept[i])
            assert_true(weights[i] != 0);
        else
            assert_true(weights[i] == 0);
    }
    assert_int_equal(count, 60 * 12);
    for (size_t h = 0; h < 6; h++) /* the classes of a head share its features, heads differ */
        assert_memory_equal(kept + h * 480, kept + h * 480 + 48, 48 * sizeof *kept);
    assert_memory_not_equal(kept, kept + 480, 48 * sizeof *kept);
    free(weights);
    free(kept);
    vg_source__close(s);
}

static void recipes(void **state) {
    (void)state;
    vg_recipe r, again;
    vg_recipe_defaults(&r);
    assert_int_equal(vg_recipe_set(&r, "head_featurs=0.5"), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "'head_features'"));
    assert_int_equal(vg_recipe_set(&r, "epochs=2.5"), VG_ERR_ARGUMENT);
    assert_int_equal(vg_recipe_set(&r, "dropout=1.5"), VG_ERR_ARGUMENT);
    assert_int_equal(vg_recipe_set(&r, "ensemble=forest"), VG_ERR_ARGUMENT);
    assert_int_equal(vg_recipe_set(&r, "flip"), VG_ERR_ARGUMENT);
    OK(vg_recipe_set(&r, "ood=[fashion-mnist, 'path:my set']"));
    OK(vg_recipe_set(&r, "k=[0.5, 1]"));
    OK(vg_recipe_set(&r, "rate=3.3e-4"));
    assert_int_equal(r.ood_count, 2);
    assert_string_equal(r.ood[1], "path:my set");
    assert_true(r.k_count == 2 && r.k[0] == 0.5 && r.rate == 3.3e-4);
    char path[512], *text, *text2;
    OK(vg_recipe_text(&text, &r));
    path_of(path, "", "round.yaml");
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    OK(vg_recipe__read(&again, path));
    OK(vg_recipe_text(&text2, &again));
    assert_string_equal(text, text2);
    vg_free(text);
    vg_free(text2);
    file = fopen(path, "w");
    fputs("name: x\nepoch: 3\n", file);
    fclose(file);
    assert_int_equal(vg_recipe__read(&again, path), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "line 2"));
    assert_non_null(strstr(vg_error_message(), "'epochs'"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recipes),
        cmocka_unit_test(learns),
        cmocka_unit_test(same_seed_same_bits),
        cmocka_unit_test(stopped_and_resumed),
        cmocka_unit_test(killed_and_resumed),
        cmocka_unit_test(other_recipe_refused),
        cmocka_unit_test(disk_full),
        cmocka_unit_test(collapse_is_told),
        cmocka_unit_test(batch_norm_refreshed),
        cmocka_unit_test(other_losses_and_ensembles),
        cmocka_unit_test(not_a_number),
        cmocka_unit_test(members_do_not_depend_on_cuts),
        cmocka_unit_test(paired_members),
        cmocka_unit_test(monte_carlo_dropout),
        cmocka_unit_test(prediction_refusals),
        cmocka_unit_test(heads_stay_apart),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
