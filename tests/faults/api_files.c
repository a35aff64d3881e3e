/* api_files.c - the public functions that read and write files, for api_walk.c. The working folder holds what
 * make_inputs of tests/faults/commands makes, and an empty folder out/. */
#include <string.h>

#include "api_walk.h"

static vg_input_options reading(void) {
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    static vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    scoring.threads = 2;
    input.scoring = &scoring;
    return input;
}

static vg_status writer(double *figure) {
    static const float values[6] = {0.5F, 0.5F, 0.25F, 0.75F, 1, 0};
    const size_t shape[] = {3, 2};
    vg_writer *one = NULL;
    vg_prediction_file *file = NULL;
    vg_predictions view;
    const int64_t *labels;
    const char *const *names;
    size_t n, m, c, columns;
    int logits;
    vg_status status;
    TRY(vg_writer_open(&one, "out/array.npz"));
    TRY(vg_writer_array(one, "P", VG_ELEMENT_F32, 2, shape, values));
    status = vg_writer_close(one);
    one = NULL;
    if (status != VG_OK)
        goto done;
    TRY(vg_text_save("out/text.txt", "text\n", 5));
    TRY(vg_prediction_file_open(&file, "out/array.npz", NULL));
    vg_prediction_file_shape(file, &n, &m, &c, &logits);
    TRY(vg_prediction_file_labels(file, &labels, &columns));
    TRY(vg_prediction_file_classes(file, &names));
    TRY(vg_prediction_file_ids(file, &names));
    TRY(vg_prediction_file_block(file, 0, n, &view));
    *figure += (double)(n + 10 * m + 100 * c);
done:
    vg_writer_abandon(one);
    vg_prediction_file_close(file);
    return status;
}

static vg_status score(double *figure) {
    vg_input_options input = reading();
    vg_score_file_options how = VG_SCORE_FILE_OPTIONS_INIT;
    vg_score_result *result = NULL, *of_set = NULL;
    vg_score_set set = VG_SCORE_SET_INIT;
    static double tu[2] = {0.5, 0.25};
    static const double k = 1;
    vg_scores scores = {.tu = tu};
    vg_score_summary summary = {0};
    char *text = NULL;
    vg_status status;
    how.output = "out/scores.csv";
    TRY(vg_target_check(how.output, VG_PRODUCT_SCORES, NULL, 0, 0));
    TRY(vg_score_file(&result, "pred.npz", &input, &how));
    TRY(vg_score_result_json(&text, result));
    *figure += (double)strlen(text);
    set.n = 2, set.m = 2, set.c = 2, set.k = &k, set.k_count = 1, set.scores = &scores, set.summary = &summary;
    status = vg_score_set_finish(&of_set, &set, NULL);
    status = status == VG_ERR_ARGUMENT ? VG_OK : status;
done:
    vg_score_result_free(result);
    vg_score_result_free(of_set);
    vg_free(text);
    return status;
}

static vg_status evaluate(double *figure) {
    vg_input_options input = reading();
    vg_evaluate_file_options how = VG_EVALUATE_FILE_OPTIONS_INIT;
    vg_evaluation_result *result = NULL;
    char *text = NULL;
    vg_status status;
    how.resamples = 10;
    TRY(vg_evaluate_file(&result, "pred.npz", &input, &how));
    TRY(vg_evaluation_result_json(&text, result));
    const vg_evaluation_result *one = result;
    TRY(vg_evaluation_results_save(&one, 1, 0, "out/figures.json"));
    *figure += (double)strlen(text);
done:
    vg_evaluation_result_free(result);
    vg_free(text);
    return status;
}

static vg_status ood(double *figure) {
    static const char *const paths[] = {"ood.npz"};
    vg_input_options input = reading();
    vg_ood_result *result = NULL;
    char *text = NULL;
    vg_status status;
    TRY(vg_ood_files(&result, "pred.npz", paths, 1, &input, NULL));
    TRY(vg_ood_result_save(result, "out/ood.json"));
    TRY(vg_ood_result_json(&text, result));
    *figure += (double)strlen(text);
done:
    vg_ood_result_free(result);
    vg_free(text);
    return status;
}

static vg_status calibrate(double *figure) {
    vg_input_options input = reading();
    vg_calibrate_file_options how = VG_CALIBRATE_FILE_OPTIONS_INIT;
    vg_calibration *result = NULL;
    vg_calibration_map *map = NULL;
    vg_k_fit *fit = NULL;
    double *temperatures = NULL, out[4];
    static const double p[4] = {0.5, 0.5, 0.25, 0.75};
    size_t count = 0;
    vg_status status;
    how.output = "out/temperatures.json";
    TRY(vg_calibrate_file(&result, "val.npz", &input, &how));
    TRY(vg_temperatures_load(&temperatures, &count, "out/temperatures.json"));
    TRY(vg_fit_k_file(&fit, "pred.npz", &input, NULL));
    status = vg_calibration_map_load(&map, "out/temperatures.json");
    if (status == VG_OK) {
        vg_predictions view = vg_predictions_f64(p, 1, 2, 2);
        status = vg_calibration_map_apply(out, NULL, NULL, map, &view, 0, 1);
    }
    status = status == VG_ERR_MEMORY || status == VG_ERR_IO ? status : VG_OK; /* no map: temperatures */
    *figure += (double)count;
done:
    vg_calibration_free(result);
    vg_free(temperatures);
    vg_free(fit);
    vg_free(map);
    return status;
}

static vg_status decide(double *figure) {
    static const char line[] = "{\"id\": 1, \"p\": [[0.75, 0.25]]}";
    vg_input_options input = reading();
    vg_decide_options how = VG_DECIDE_OPTIONS_INIT;
    vg_decide_result result = VG_DECIDE_RESULT_INIT;
    vg_policy *policy = NULL, *other = NULL;
    vg_decision_stream *stream = NULL;
    char *text = NULL, *json = NULL;
    const char *answer;
    size_t length;
    vg_status status;
    how.output = "out/decisions.jsonl";
    TRY(vg_policy_new(&policy, NULL));
    TRY(vg_decide_file(&result, policy, "pred.npz", &input, &how));
    TRY(vg_decide_result_text(&text, &result, policy, "pred.npz"));
    TRY(vg_decide_result_json(&json, &result, policy, "pred.npz"));
    TRY(vg_policy_new(&other, NULL));
    TRY(vg_decision_stream_new(&stream, other, NULL, NULL));
    TRY(vg_decision_stream_line(stream, line, sizeof line - 1, &answer, &length));
    *figure += (double)(strlen(text) + strlen(json) + length);
done:
    vg_decision_stream_free(stream);
    vg_policy_free(policy);
    vg_policy_free(other);
    vg_free(text);
    vg_free(json);
    return status;
}

static vg_status sets(double *figure) {
    vg_input_options input = reading();
    vg_sets_file_options own = VG_SETS_FILE_OPTIONS_INIT;
    vg_sets *result = NULL;
    vg_status status;
    own.calibration = "val.npz";
    TRY(vg_sets_file(&result, NULL, "pred.npz", &input, &own));
    *figure += (double)result->samples;
done:
    vg_sets_free(result);
    return status;
}

static vg_status no_gnuplot(void *context, const char *folder, const char *script, size_t length) {
    (void)context, (void)folder, (void)script, (void)length;
    return VG_ERR_UNSUPPORTED;
}

static vg_status pages(double *figure) {
    static const char *const paths[] = {"pred.npz", "ood.npz"};
    vg_input_options input = reading();
    vg_compare_options how = VG_COMPARE_OPTIONS_INIT;
    vg_compare_result *compared = NULL;
    vg_reproduction *paper = NULL;
    vg_page *page = NULL;
    size_t files;
    char *text = NULL;
    vg_status status;
    how.resamples = 10;
    TRY(vg_page_write(&page, "pred.npz", "out/page", &input, NULL));
    vg_page_draw(&files, page, no_gnuplot, NULL);
    TRY(vg_compare(&compared, paths, 2, &input, &how));
    TRY(vg_compare_result_json(&text, compared));
    TRY(vg_compare_result_save(compared, "out/compare.md"));
    *figure += (double)strlen(text);
    status = vg_reproduction_read(&paper, "out");
    if (status == VG_OK)
        status = vg_reproduction_save(paper);
    status = status == VG_ERR_MEMORY ? status : VG_OK; /* out/ holds no runs of the paper */
done:
    vg_page_free(page);
    vg_compare_result_free(compared);
    vg_reproduction_free(paper);
    vg_free(text);
    return status;
}

static vg_status data(double *figure) {
    vg_dataset_options options = VG_DATASET_OPTIONS_INIT;
    vg_dataset_info info = VG_DATASET_INFO_INIT;
    vg_statistics statistics;
    vg_fetch_options fetching = VG_FETCH_OPTIONS_INIT;
    vg_data_found found;
    vg_dataset *set = NULL;
    char **places = NULL, *text = NULL, *json = NULL;
    const char *nearest;
    size_t count = 0;
    int here[2];
    vg_status status;
    vg_data_catalogue(&count);
    const vg_data_entry *entry = vg_data_find("digits", &nearest);
    TRY(vg_data_reading(&options, "data", NULL, 0));
    TRY(vg_data_places(&places, &count, "data"));
    TRY(vg_data_look(&found, entry, 0, "data", 1));
    TRY(vg_data_here(here, entry, "data"));
    TRY(vg_dataset_open(&set, "digits", VG_PART_TEST, &options));
    TRY(vg_dataset_describe(&info, set));
    TRY(vg_dataset_statistics(&statistics, set, NULL, 0));
    TRY(vg_data_json(&json, "digits", &options, 0));
    TRY(vg_data_text(&text, "digits", &options, 0));
    fetching.from = "data/digits";
    fetching.folder = "out";
    TRY(vg_data_fetch("digits", &fetching));
    *figure += (double)info.n + statistics.mean[0] + (double)(strlen(text) + strlen(json));
done:
    vg_dataset_free(set);
    vg_data_places_free(places, count);
    vg_free(text);
    vg_free(json);
    return status;
}

static vg_status doctor(double *figure) {
    vg_doctor_line *lines = NULL;
    size_t count;
    char *json = NULL;
    vg_status status;
    (void)figure; /* what the machine has */
    TRY(vg_doctor(&lines, &count));
    TRY(vg_doctor_json(&json, lines, count));
done:
    vg_doctor_free(lines);
    vg_free(json);
    return status;
}

static vg_status predict(double *figure) {
    static const char *const runs[] = {"trained"};
    static float logits[8192], images[8192];
    vg_predict_runs_options how = VG_PREDICT_RUNS_OPTIONS_INIT;
    vg_predict_runs_result done_runs = VG_PREDICT_RUNS_RESULT_INIT;
    vg_predictor_info info = VG_PREDICTOR_INFO_INIT;
    vg_predictor_options options = VG_PREDICTOR_OPTIONS_INIT;
    vg_score_result *scored = NULL;
    vg_predictor *one = NULL;
    vg_input_options input = reading();
    vg_status status;
    how.runs = runs, how.run_count = 1, how.data = "data", how.device = "cpu", how.threads = 1;
    how.output = "out/pred.npz";
    TRY(vg_predict_runs(&done_runs, &how));
    how.output = NULL;
    TRY(vg_score_runs(&scored, &how, &input, NULL));
    options.device = "cpu";
    options.threads = 1;
    TRY(vg_predictor_open(&one, "trained/last.safetensors", &options));
    TRY(vg_predictor_describe(&info, one));
    TRY(vg_predictor_run(one, logits, images, 2, 0));
    *figure += (double)(done_runs.samples + info.classes) + (double)logits[0];
done:
    vg_predictor_free(one);
    vg_score_result_free(scored);
    return status;
}

static const char *const small[] = {"network=cnn-16-48", "heads=2",  "epochs=1", "train_limit=32",
                                    "test_limit=20",     "batch=16", "ood=[]",   "k=[1]"};
enum { SMALL = sizeof small / sizeof *small };

static vg_status train(double *figure) {
    static vg_recipe recipe;
    vg_train_recipe_options how = VG_TRAIN_RECIPE_OPTIONS_INIT;
    static vg_train_result result;
    vg_status status;
    TRY(vg_recipe_find(&recipe, "quickstart", small, SMALL));
    how.recipe = &recipe, how.folder = "out/train", how.data = "data", how.device = "cpu", how.threads = 1;
    TRY(vg_train_recipe(&result, &how));
    *figure += (double)result.epochs_done;
done:
    return status;
}

static vg_status run(double *figure) {
    static vg_recipe recipe;
    vg_run_recipe_options how = VG_RUN_RECIPE_OPTIONS_INIT;
    vg_sweep_options sweep = VG_SWEEP_OPTIONS_INIT;
    vg_run_result *result = NULL;
    vg_compare_result *compared = NULL;
    vg_status status;
    TRY(vg_recipe_find(&recipe, "quickstart", small, SMALL));
    how.recipe = &recipe, how.folder = "out/run", how.data = "data", how.device = "cpu", how.threads = 1;
    TRY(vg_run_recipe(&result, &how));
    sweep.recipe = "quickstart", sweep.settings = small, sweep.setting_count = SMALL, sweep.folder = "out/sweep";
    sweep.data = "data", sweep.device = "cpu", sweep.threads = 1, sweep.resamples = 0;
    TRY(vg_sweep(&compared, &sweep));
    *figure += result->test->evaluation->accuracy.value;
done:
    vg_run_result_free(result);
    vg_compare_result_free(compared);
    return status;
}

const api_case file_cases[] = {
    {"writer", writer, 1},       {"score", score, 1},   {"evaluate", evaluate, 5}, {"ood", ood, 1},
    {"calibrate", calibrate, 1}, {"decide", decide, 1}, {"sets", sets, 1},         {"pages", pages, 5},
    {"data", data, 1},           {"doctor", doctor, 5}, {"predict", predict, 50},  {"train", train, 50},
    {"run", run, 500},           {NULL, NULL, 0}};
