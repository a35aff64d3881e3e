/* run_recipe.c - a recipe from training to results. Every stage leaves a file in the run folder; a stage whose file is
 * newer than what it is made from is skipped.
 *
 *   train      recipe.yaml, metrics.jsonl, last.safetensors, best.safetensors
 *   predict    val.npz, test.npz, ood-NAME.npz (logits Z, labels L)
 *   calibrate  temps.json (one temperature per head; a single one for MCD)
 *   score      scores.npz
 *   evaluate   results.json: "test", "test_calibrated", "test_gated", "ood", "ood_calibrated", "training"
 *              (run_results.c); with loss gated at the k that was trained, k.json
 *   mcd-lle    mcd-lle.npz, mcd-lle.json: where asked for, a last-layer ensemble's members with dropout */
#include "workflow/run_recipe.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "nn/recipe.h"
#include "vargate/calibrate.h"
#include "workflow/prediction.h"
#include "workflow/training_data.h"
#include "workflow/workflow_options.h"

void vg_run__file(char out[VG_RUN_PATH], const vg_run *run, const char *name) {
    snprintf(out, VG_RUN_PATH, "%.500s/%.500s", run->folder, name);
}

/* ood-NAME.npz; a path's own name may hold slashes. */
static void ood_file(char out[VG_RUN_PATH], const vg_run *run, size_t i) {
    char name[VG_RECIPE_TEXT + 16];
    snprintf(name, sizeof name, "ood-%.*s.npz", VG_RECIPE_TEXT, run->recipe.ood[i]);
    for (char *c = name; *c; c++)
        if (*c == '/' || *c == ':')
            *c = '-';
    vg_run__file(out, run, name);
}

/* Whether `made` exists and is not older than `from`. */
static bool up_to_date(const char *made, const char *from) {
    struct stat a, b;
    if (stat(made, &a) != 0 || stat(from, &b) != 0)
        return false;
    return a.st_mtim.tv_sec > b.st_mtim.tv_sec ||
           (a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec >= b.st_mtim.tv_nsec);
}

/* The listener of the stages after prediction: their notes name files of the run folder, which
 * the user did not ask for, and are dropped. */
static int without_notes(void *context, const vg_job_message *message) {
    const vg_job *job = context;
    if (message->event == VG_JOB_NOTE || !job->notify)
        return 0;
    return job->notify(job->context, message);
}

/* --- stages ------------------------------------------------------------------------------------------------------- */

static vg_status train_stage(vg_run *run) {
    vg_train_recipe_options options = VG_TRAIN_RECIPE_OPTIONS_INIT;
    options.recipe = &run->recipe;
    options.folder = run->folder;
    options.data = run->options.data;
    options.device = run->options.device;
    options.threads = run->options.threads;
    options.resume = 1;
    options.event = run->options.event;
    options.event_context = run->options.event_context;
    options.job = run->options.job;
    options.jobs = run->options.jobs;
    options.tensorboard = run->options.tensorboard;
    return vg_train_recipe(&run->result.training, &options);
}

/* Whether predictions are newer than every checkpoint they are made from and, for a deep ensemble, than its recipe,
 * which gives the number of networks. */
static bool newer_than_networks(const vg_run *run, const char *output) {
    const char *name = run->recipe.checkpoint ? "best.safetensors" : "last.safetensors";
    char path[VG_RUN_PATH], one[64];
    if (!vg_recipe__is_deep(&run->recipe)) {
        vg_run__file(path, run, name);
        return up_to_date(output, path);
    }
    for (size_t i = 0; i < vg_recipe__networks(&run->recipe); i++) {
        snprintf(one, sizeof one, "network-%zu/%s", i + 1, name);
        vg_run__file(path, run, one);
        if (!up_to_date(output, path))
            return false;
    }
    vg_run__file(path, run, "recipe.yaml");
    return up_to_date(output, path);
}

/* `ensemble`: a vg_ensemble, or -1 for the recipe's. */
static vg_status predict_one(vg_run *run, const char *output, const char *split, const char *input, int ensemble) {
    const char *runs[] = {run->folder};
    if (newer_than_networks(run, output)) {
        vg_job__note(&run->options.job, "%s is up to date", output);
        return VG_OK;
    }
    vg_predict_runs_options options = VG_PREDICT_RUNS_OPTIONS_INIT;
    options.runs = runs;
    options.run_count = 1;
    options.checkpoint = run->recipe.snapshots ? -1 : run->recipe.checkpoint;
    options.split = split;
    options.input = input;
    options.labels_optional = input != NULL; /* OOD images */
    options.data = run->options.data;
    options.device = run->options.device;
    options.threads = run->options.threads;
    options.logits = 1;
    options.ensemble = ensemble;
    options.output = output;
    options.job = run->options.job;
    return vg_predict_runs(NULL, &options);
}

static vg_status predict_stage(vg_run *run) {
    VG_TRY(predict_one(run, run->val, "val", NULL, -1));
    VG_TRY(predict_one(run, run->test, "test", NULL, -1));
    for (size_t i = 0; i < run->recipe.ood_count; i++)
        VG_TRY(predict_one(run, run->ood[i], NULL, run->recipe.ood[i], -1));
    return VG_OK;
}

static vg_status calibrate_stage(vg_run *run) {
    if (!run->recipe.calibrate || up_to_date(run->temps, run->val))
        return VG_OK;
    vg_calibrate_options fit = VG_CALIBRATE_OPTIONS_INIT;
    vg_calibrate_file_options options = VG_CALIBRATE_FILE_OPTIONS_INIT;
    vg_calibration *calibration;
    fit.shared = vg_recipe__shares_temperature(&run->recipe);
    fit.threads = run->options.threads;
    options.fit = &fit;
    options.output = run->temps;
    options.job = run->quiet;
    VG_TRY(vg_calibrate_file(&calibration, run->val, NULL, &options));
    vg_calibration_free(calibration);
    return VG_OK;
}

static vg_status score_stage(vg_run *run) {
    char scores[VG_RUN_PATH];
    vg_run__file(scores, run, "scores.npz");
    if (up_to_date(scores, run->test))
        return VG_OK;
    vg_score_file_options options = VG_SCORE_FILE_OPTIONS_INIT;
    options.output = scores;
    options.summary = 0;
    options.job = run->quiet;
    return vg_score_file(NULL, run->test, &run->input, &options);
}

/* The figures of the test set and of the out-of-distribution sets at these temperatures (NULL: uncalibrated). */
static vg_status evaluate(vg_run *run, const char *temps, vg_evaluation_result **test, vg_ood_result **ood) {
    const char *paths[VG_RECIPE_LIST];
    vg_input_options input = run->input;
    vg_evaluate_file_options how = VG_EVALUATE_FILE_OPTIONS_INIT;
    vg_ood_files_options compare = VG_OOD_FILES_OPTIONS_INIT;
    input.temperature = temps;
    how.job = compare.job = run->quiet;
    for (size_t i = 0; i < run->recipe.ood_count; i++)
        paths[i] = run->ood[i];
    VG_TRY(vg_evaluate_file(test, run->test, &input, &how));
    return vg_ood_files(ood, run->test, paths, run->recipe.ood_count, &input, &compare);
}

/* The test set as predicted by a network with the gated loss: by the mean of the gated members, Q of test.npz. */
static vg_status evaluate_gated(vg_run *run) {
    vg_input_options input = run->input;
    vg_evaluate_file_options how = VG_EVALUATE_FILE_OPTIONS_INIT;
    if (!run->input.class_k)
        return VG_OK;
    input.key = "Q";
    input.class_k = NULL;
    how.job = run->quiet;
    VG_TRY(vg_evaluate_file(&run->evaluations[2], run->test, &input, &how));
    const vg_evaluation *e = run->evaluations[2]->evaluation;
    vg_job__note(&run->options.job, "the gated members (Q), as trained: accuracy %.4f, ECE %.4f, NLL %.4f",
                 e->accuracy.value, e->ece.value, e->nll.value);
    return VG_OK;
}

static vg_status evaluate_stage(vg_run *run) {
    VG_TRY(evaluate(run, NULL, &run->evaluations[0], &run->comparisons[0]));
    if (run->recipe.calibrate)
        VG_TRY(evaluate(run, run->temps, &run->evaluations[1], &run->comparisons[1]));
    VG_TRY(evaluate_gated(run));
    return vg_run__write_results(run);
}

/* The members of a last-layer ensemble with dropout: MCD-LLE of the same network. */
static vg_status mcd_lle_stage(vg_run *run) {
    char test[VG_RUN_PATH], figures[VG_RUN_PATH];
    vg_evaluate_file_options how = VG_EVALUATE_FILE_OPTIONS_INIT;
    vg_evaluation_result *evaluation;
    if (!run->options.mcd_lle || run->recipe.ensemble != VG_ENSEMBLE_LLE || !(run->recipe.dropout > 0))
        return VG_OK;
    vg_run__file(test, run, "mcd-lle.npz");
    vg_run__file(figures, run, "mcd-lle.json");
    VG_TRY(predict_one(run, test, "test", NULL, VG_ENSEMBLE_MCD_LLE));
    if (up_to_date(figures, test))
        return VG_OK;
    how.job = run->quiet;
    VG_TRY(vg_evaluate_file(&evaluation, test, &run->input, &how));
    vg_status status = vg_run__write_evaluation(evaluation, figures);
    vg_evaluation_result_free(evaluation);
    return status;
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

static void name_files(vg_run *run) {
    vg_run__file(run->val, run, "val.npz");
    vg_run__file(run->test, run, "test.npz");
    vg_run__file(run->temps, run, "temps.json");
    vg_run__file(run->gates, run, "k.json");
    if (run->recipe.loss == 2) /* gated: the gate settings of the recipe are multiples of the trained k */
        run->input.class_k = run->gates;
    for (size_t i = 0; i < run->recipe.ood_count; i++)
        ood_file(run->ood[i], run, i);
}

/* The training part of a known set: one that is here is not read, another is opened for its message. */
static vg_status check_train_part(const vg_recipe *recipe, const char *data) {
    const vg_data_entry *entry = vg_data_find(recipe->dataset, NULL);
    vg_dataset_options options = vg_training_data__options(recipe, data);
    vg_dataset *set;
    int here[2] = {1, 1};
    if (entry)
        VG_TRY(vg_data_here(here, entry, data));
    if (here[0])
        return VG_OK;
    VG_TRY(vg_dataset_open(&set, recipe->dataset, VG_PART_TRAIN, &options));
    vg_dataset_free(set);
    return VG_OK;
}

/* The test part, opened without decoding its images. */
static vg_status check_test_part(const vg_recipe *recipe, const char *data) {
    vg_dataset_options options = vg_training_data__options(recipe, data);
    vg_dataset *set;
    options.in_memory = options.skip_corrupt = 0;
    vg_status status = vg_dataset_open(&set, recipe->dataset, VG_PART_TEST, &options);
    if (status == VG_ERR_ARGUMENT && recipe->test == 0)
        return vg_base__fail(status, "%s; 'test: 0.2' in the recipe makes a fifth of the images the test set",
                             vg_error_message());
    if (status == VG_OK)
        vg_dataset_free(set);
    return status;
}

static vg_status check_ood_set(const vg_recipe *recipe, size_t i, const char *data) {
    vg_dataset_options options = vg_training_data__options(recipe, data);
    vg_dataset *set;
    VG_TRY(vg_prediction__open_set(&set, recipe->ood[i], &options));
    vg_dataset_free(set);
    return VG_OK;
}

/* Checks before training that the images needed after it exist, and those of later recipes, because missing ones would
 * waste the training. Predictions that exist already need none. */
static vg_status check_sets(const vg_run *run) {
    const char *data = run->options.data;
    if (access(run->test, F_OK) != 0)
        VG_TRY(check_test_part(&run->recipe, data));
    for (size_t i = 0; i < run->recipe.ood_count; i++)
        if (access(run->ood[i], F_OK) != 0)
            VG_TRY(check_ood_set(&run->recipe, i, data));
    for (const vg_recipe *r = run->options.later; r && r < run->options.later + run->options.later_count; r++) {
        VG_TRY(check_train_part(r, data));
        VG_TRY(check_test_part(r, data));
        for (size_t i = 0; i < r->ood_count; i++)
            VG_TRY(check_ood_set(r, i, data));
    }
    return VG_OK;
}

static vg_status run_stages(vg_run *run) {
    VG_TRY(check_sets(run));
    VG_TRY(train_stage(run));
    VG_TRY(predict_stage(run));
    VG_TRY(calibrate_stage(run));
    VG_TRY(score_stage(run));
    VG_TRY(evaluate_stage(run));
    return mcd_lle_stage(run);
}

static void fill_result(vg_run *run) {
    for (size_t i = 0; i < run->recipe.ood_count; i++)
        run->ood_names[i] = run->recipe.ood[i];
    run->result.struct_size = sizeof run->result;
    run->result.folder = run->folder;
    run->result.test = run->evaluations[0];
    run->result.test_calibrated = run->evaluations[1];
    run->result.ood = run->comparisons[0];
    run->result.ood_calibrated = run->comparisons[1];
    run->result.ood_names = run->ood_names;
}

static vg_status prepare(vg_run *run, const vg_run_recipe_options *options) {
    run->options = (vg_run_recipe_options)VG_RUN_RECIPE_OPTIONS_INIT;
    VG_TRY(vg_workflow__options(&run->options, sizeof run->options, options, "vg_run_recipe_options"));
    if (!run->options.recipe)
        return vg_base__fail(VG_ERR_ARGUMENT, "run: the recipe must not be NULL");
    const char *folder = run->options.folder, *name = run->options.recipe->name;
    if (strlen(folder ? folder : name) >= VG_RUN_FOLDER - sizeof "runs/")
        return vg_base__fail(VG_ERR_ARGUMENT, "run: the folder's name is too long: %s", folder ? folder : name);
    run->recipe = *run->options.recipe;
    snprintf(run->folder, sizeof run->folder, "%s%s", folder ? "" : "runs/", folder ? folder : name);
    run->quiet = (vg_job){without_notes, &run->options.job};
    run->scoring = (vg_score_options)VG_SCORE_OPTIONS_INIT;
    run->scoring.k = run->recipe.k;
    run->scoring.k_count = run->recipe.k_count;
    run->scoring.threads = run->options.threads;
    run->input = (vg_input_options)VG_INPUT_OPTIONS_INIT;
    run->input.scoring = &run->scoring;
    name_files(run);
    return VG_OK;
}

vg_status vg_run_recipe(vg_run_result **out, const vg_run_recipe_options *options) {
    VG_TRY(vg_base__given(out != NULL, "vg_run_recipe: out"));
    VG_IN_C_LOCALE;
    vg_run *run;
    *out = NULL;
    VG_TRY(vg_base__given(options != NULL, "vg_run_recipe: options"));
    VG_TRY(vg_base__zalloc(&run, 1, sizeof *run, "the run"));
    vg_status status = prepare(run, options);
    if (status == VG_OK)
        status = run_stages(run);
    fill_result(run);
    if (status == VG_OK)
        *out = &run->result;
    else
        vg_run_result_free(&run->result);
    return status;
}

void vg_run_result_free(vg_run_result *result) {
    vg_run *run = (vg_run *)(void *)result; /* the result is its first member */
    for (int i = 0; run && i < 3; i++)
        vg_evaluation_result_free(run->evaluations[i]);
    for (int i = 0; run && i < 2; i++)
        vg_ood_result_free(run->comparisons[i]);
    vg_base__release(run);
}
