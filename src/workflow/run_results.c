/* run_results.c - results.json of a run: docs/schema/run.schema.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json_lines.h"
#include "formats/text_file.h"
#include "nn/recipe.h"
#include "vargate/formats.h"
#include "workflow/json_build.h"
#include "workflow/run_recipe.h"

static void put_evaluation(json_t *results, const char *key, const vg_evaluation_result *evaluation) {
    if (!evaluation)
        return;
    json_t *one = vg_evaluation_result__json(evaluation);
    json_object_del(one, "schema"); /* the whole document has them */
    json_object_del(one, "command");
    vg_json__put(results, key, one);
}

/* Puts the sets under the names that the recipe gives them. */
static void put_ood(json_t *results, const char *key, const vg_run *run, const vg_ood_result *ood) {
    if (!ood)
        return;
    json_t *sets = json_object();
    for (size_t i = 0; i < ood->set_count; i++)
        vg_json__put(sets, run->recipe.ood[i], vg_ood_set__json(&ood->sets[i], false));
    vg_json__put(results, key, sets);
}

static vg_status keep_last(void *last, const char *line, json_t *value) {
    json_t **kept = last;
    (void)line;
    json_decref(*kept);
    *kept = json_incref(value);
    return VG_OK;
}

/* The last line of metrics.jsonl; an empty object where there is none. */
static vg_status last_metrics(json_t **out, const vg_run *run) {
    char path[VG_RUN_PATH];
    *out = NULL;
    vg_run__file(path, run, "metrics.jsonl");
    vg_status status = vg_json_lines__read(path, keep_last, out);
    if (status == VG_OK && !*out)
        *out = json_object();
    return status;
}

static vg_status write_text(const char *path, const char *text) {
    vg_text *file;
    VG_TRY(vg_text__open(&file, path));
    vg_status status = vg_text__write(file, text, strlen(text));
    if (status == VG_OK)
        status = vg_text__write(file, "\n", 1);
    if (status == VG_OK)
        return vg_text__close(file);
    vg_text__abandon(file);
    return status;
}

vg_status vg_run__write_evaluation(const vg_evaluation_result *evaluation, const char *path) {
    char *text;
    VG_TRY(vg_evaluation_result_json(&text, evaluation));
    vg_status status = write_text(path, text);
    vg_free(text);
    return status;
}

vg_status vg_run__write_results(const vg_run *run) {
    const vg_recipe *recipe = &run->recipe;
    char path[VG_RUN_PATH], *text;
    json_t *training;
    VG_TRY(last_metrics(&training, run));
    json_t *results = vg_json__document("run");
    vg_json__put_text(results, "recipe", recipe->name);
    vg_json__put_text(results, "version", vg_version());
    vg_json__put_count(results, "seed", recipe->seed);
    vg_json__put_count(results, "split_seed", recipe->split_seed);
    vg_json__put_count(results, "networks", vg_recipe__networks(recipe));
    vg_json__put_text(results, "checkpoint", recipe->snapshots ? "snapshots" : recipe->checkpoint ? "best" : "last");
    put_evaluation(results, "test", run->evaluations[0]);
    put_evaluation(results, "test_calibrated", run->evaluations[1]);
    put_evaluation(results, "test_gated", run->evaluations[2]);
    put_ood(results, "ood", run, run->comparisons[0]);
    put_ood(results, "ood_calibrated", run, run->comparisons[1]);
    vg_json__put(results, "training", training);
    vg_run__file(path, run, "results.json");
    VG_TRY(vg_json__indented(&text, results));
    vg_status status = write_text(path, text);
    free(text);
    return status;
}
