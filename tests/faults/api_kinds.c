/* api_kinds.c - other kinds of inputs, outputs and options of the functions that work on files, for api_walk.c: tables,
 * records, several axes and labels, label maps, policies that are chosen, saved and read, sets of every score, maps of
 * calibration, pages of all of them. make_kinds() writes the inputs into kinds/ of the working folder. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "api_walk.h"

enum { N = 60, M = 3, C = 3, IMAGES = 3, HEIGHT = 3, WIDTH = 4, SITES = IMAGES * HEIGHT * WIDTH };

/* --- inputs */
static double mixed(size_t i) { return (double)((i * 2654435761U) % 1009U) / 1009; }

/* Logits of sample n, member m: mostly right, with members that differ. */
static double logit(size_t n, size_t m, size_t c) {
    return 3 * mixed(31 * n + 7 * c) + 2 * mixed(101 * n + 13 * m + c) + (c == n % C ? 2.5 : 0);
}

static void fill(float *p, size_t n, bool logits) {
    for (size_t row = 0; row < n * M; row++) {
        double sum = 0;
        for (size_t c = 0; c < C; c++)
            sum += exp(logit(row / M, row % M, c));
        for (size_t c = 0; c < C; c++) {
            double z = logit(row / M, row % M, c);
            p[row * C + c] = (float)(logits ? z : exp(z) / sum);
        }
    }
}

typedef struct array {
    const char *name;
    vg_element element;
    size_t rank, shape[5];
    const void *data;
} array;

static vg_status save(const char *path, const array *arrays, size_t count) {
    vg_writer *writer = NULL;
    vg_status status;
    TRY(vg_writer_open(&writer, path));
    for (size_t i = 0; i < count; i++)
        TRY(vg_writer_array(writer, arrays[i].name, arrays[i].element, arrays[i].rank, arrays[i].shape,
                            arrays[i].data));
    return vg_writer_close(writer);
done:
    vg_writer_abandon(writer);
    return status;
}

/* The same samples as a table and as records, with names of classes, ids, groups. */
static vg_status save_texts(const float *p) {
    static const char *const names[C] = {"cat", "dog", "hen"};
    static char table[1 << 16], lines[1 << 16];
    size_t t = 0, l = 0;
    vg_status status;
    t += (size_t)snprintf(table, sizeof table, "id,member,cat,dog,hen,label,ward\n");
    for (size_t n = 0; n < N; n++) {
        l += (size_t)snprintf(lines + l, sizeof lines - l,
                              "{\"id\": \"s%zu\", \"label\": %zu, \"ward\": \"w%zu\", \"p\": [", n, n % C, n % 2);
        for (size_t m = 0; m < M; m++) {
            const float *row = p + (n * M + m) * C;
            t += (size_t)snprintf(table + t, sizeof table - t, "s%zu,%zu,%.9g,%.9g,%.9g,%s,w%zu\n", n, m,
                                  (double)row[0], (double)row[1], (double)row[2], names[n % C], n % 2);
            l += (size_t)snprintf(lines + l, sizeof lines - l, "%s[%.9g, %.9g, %.9g]", m ? ", " : "", (double)row[0],
                                  (double)row[1], (double)row[2]);
        }
        l += (size_t)snprintf(lines + l, sizeof lines - l, "]}\n");
    }
    TRY(vg_text_save("kinds/test.csv", table, t));
    TRY(vg_text_save("kinds/test.jsonl", lines, l));
    t = (size_t)snprintf(table, sizeof table, "id,cat,dog,hen,label,ward\n");
    for (size_t n = 0; n < N; n++)
        t += (size_t)snprintf(table + t, sizeof table - t, "s%zu,%.9g,%.9g,%.9g,%s,w%zu\n", n, (double)p[n * M * C],
                              (double)p[n * M * C + 1], (double)p[n * M * C + 2], names[n % C], n % 2);
    TRY(vg_text_save("kinds/wide.csv", table, t));
done:
    return status;
}

static vg_status save_all(void) {
    static float p[N * M * C], z[N * M * C], sites[SITES * M * C];
    static int64_t labels[N], maps[SITES], multi[N * C];
    vg_status status;
    fill(p, N, false);
    fill(z, N, true);
    for (size_t i = 0; i < N; i++)
        labels[i] = (int64_t)(i % C);
    for (size_t i = 0; i < N * C; i++)
        multi[i] = i % C == i / C % C || mixed(i) > 0.8;
    for (size_t s = 0; s < SITES; s++) { /* P[image][m][c][h][w] */
        maps[s] = s % 11 == 10 ? 255 : (int64_t)(s % C);
        for (size_t mc = 0; mc < M * C; mc++)
            sites[(s / (HEIGHT * WIDTH) * M * C + mc) * HEIGHT * WIDTH + s % (HEIGHT * WIDTH)] = p[s * M * C + mc];
    }
    const array of_p[] = {{"P", VG_ELEMENT_F32, 3, {N, M, C}, p}, {"L", VG_ELEMENT_I64, 1, {N}, labels}};
    const array of_z[] = {{"Z", VG_ELEMENT_F32, 3, {N, M, C}, z}, {"L", VG_ELEMENT_I64, 1, {N}, labels}};
    const array of_multi[] = {{"P", VG_ELEMENT_F32, 3, {N, M, C}, p}, {"L", VG_ELEMENT_I64, 2, {N, C}, multi}};
    const array of_sites[] = {{"P", VG_ELEMENT_F32, 5, {IMAGES, M, C, HEIGHT, WIDTH}, sites},
                              {"L", VG_ELEMENT_I64, 3, {IMAGES, HEIGHT, WIDTH}, maps}};
    const array of_members[] = {{"model_0", VG_ELEMENT_F32, 2, {N, C}, z},
                                {"model_1", VG_ELEMENT_F32, 2, {N, C}, z + N * C},
                                {"y", VG_ELEMENT_I64, 1, {N}, labels}};
    TRY(save("kinds/test.npz", of_p, 2));
    TRY(save("kinds/test.safetensors", of_p, 2));
    TRY(save("kinds/test.npy", of_p, 1));
    TRY(save("kinds/labels.npy", of_p + 1, 1));
    TRY(save("kinds/val.npz", of_z, 2));
    TRY(save("kinds/multi.npz", of_multi, 2));
    TRY(save("kinds/sites.npz", of_sites, 2));
    TRY(save("kinds/members.npz", of_members, 3));
    TRY(save_texts(p));
done:
    return status;
}

static vg_input_options reading(void) {
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    static vg_score_options scoring;
    scoring = (vg_score_options)VG_SCORE_OPTIONS_INIT;
    scoring.threads = 1;
    input.scoring = &scoring;
    input.classes = "cat,dog,hen"; /* of the table; a column of it is none */
    return input;
}

/* Files that other cases read: a map, ks of classes, a policy, thresholds. */
static vg_status save_fits(void) {
    vg_input_options input = reading();
    vg_calibrate_options fit = VG_CALIBRATE_OPTIONS_INIT;
    vg_calibrate_file_options calibrating = VG_CALIBRATE_FILE_OPTIONS_INIT;
    vg_fit_k_file_options gates = VG_FIT_K_FILE_OPTIONS_INIT;
    vg_calibration *calibration = NULL;
    vg_k_fit *ks = NULL;
    vg_status status;
    fit.method = VG_CALIBRATE_VECTOR;
    calibrating.fit = &fit;
    calibrating.output = "kinds/vector.json";
    gates.output = "kinds/gates.json";
    TRY(vg_calibrate_file(&calibration, "kinds/val.npz", &input, &calibrating));
    TRY(vg_fit_k_file(&ks, "kinds/test.npz", &input, &gates));
done:
    vg_calibration_free(calibration);
    vg_free(ks);
    return status;
}

bool make_kinds(void) {
    mkdir("kinds", 0777);
    return save_all() == VG_OK && save_fits() == VG_OK;
}

/* --- scores */
typedef struct kind {
    const char *path, *output, *axes, *labels, *temperature, *class_k, *maps;
    bool multilabel, ignores, summary;
    vg_field_set fields; /* 0: all */
} kind;

static vg_input_options input_of(const kind *k) {
    static const int64_t ignored = 255;
    static vg_score_options scoring;
    vg_input_options input = reading();
    scoring = *input.scoring;
    scoring.task = k->multilabel ? VG_TASK_MULTILABEL : VG_TASK_MULTICLASS;
    input.scoring = &scoring;
    input.axes = k->axes;
    input.labels = k->labels;
    input.temperature = k->temperature;
    input.class_k = k->class_k;
    input.ignore = k->ignores ? &ignored : NULL;
    input.fields = k->fields;
    return input;
}

static vg_status score(double *figure, const kind *k) {
    vg_input_options input = input_of(k);
    vg_score_file_options how = VG_SCORE_FILE_OPTIONS_INIT;
    vg_score_result *result = NULL;
    char *text = NULL;
    vg_status status;
    how.output = k->output;
    how.summary = k->summary;
    how.maps = k->maps;
    how.pictures = 1;
    TRY(vg_score_file(&result, k->path, &input, &how));
    TRY(vg_score_result_json(&text, result));
    *figure += (double)strlen(text) + result->summary->diversity;
done:
    vg_score_result_free(result);
    vg_free(text);
    return status;
}
#define CASE(name, function, ...)                                                                                      \
    static vg_status name(double *figure) { return function(figure, &(const kind){__VA_ARGS__}); }
CASE(score_table, score, .path = "kinds/test.csv", .output = "out/scores.jsonl")
CASE(score_records, score, .path = "kinds/test.jsonl", .output = "out/scores.csv")
CASE(score_tensors, score, .path = "kinds/test.safetensors", .output = "out/scores.safetensors")
CASE(score_array, score, .path = "kinds/test.npy", .output = "out/scores.npz", .labels = "kinds/labels.npy")
CASE(score_labels, score, .path = "kinds/multi.npz", .output = "out/scores.npz", .multilabel = true, .summary = true)
CASE(score_mapped, score, .path = "kinds/val.npz", .output = "out/scores.npz", .temperature = "kinds/vector.json")
CASE(score_gates, score, .path = "kinds/test.npz", .output = "out/scores.npz", .class_k = "kinds/gates.json")
CASE(score_sites, score, .path = "kinds/sites.npz", .axes = "NMCHW", .output = "out/scores.npz", .maps = "out/maps",
     .ignores = true, .fields = VG_FIELD_BIT(VG_FIELD_GMU) | VG_FIELD_BIT(VG_FIELD_SNR) | VG_FIELD_BIT(VG_FIELD_PRED))

/* --- evaluations */
static vg_status evaluate(double *figure, const kind *k) {
    vg_input_options input = input_of(k);
    vg_evaluate_file_options how = VG_EVALUATE_FILE_OPTIONS_INIT;
    vg_evaluation_result *result = NULL;
    vg_status status;
    how.resamples = 3;
    how.curve_points = 10;
    TRY(vg_evaluate_file(&result, k->path, &input, &how));
    const vg_evaluation_result *one = result;
    TRY(vg_evaluation_results_save(&one, 1, 1, k->output));
    *figure += result->whole->values[0].value;
done:
    vg_evaluation_result_free(result);
    return status;
}
CASE(evaluate_table, evaluate, .path = "kinds/test.csv", .output = "out/figures.csv")
CASE(evaluate_labels, evaluate, .path = "kinds/multi.npz", .output = "out/figures.json", .multilabel = true)
CASE(evaluate_sites, evaluate, .path = "kinds/sites.npz", .axes = "NMCHW", .output = "out/figures.json",
     .ignores = true)

static vg_status ood(double *figure, const kind *k) {
    const char *const paths[] = {"kinds/test.csv", "kinds/test.npz"};
    vg_input_options input = input_of(k);
    vg_ood_files_options how = VG_OOD_FILES_OPTIONS_INIT;
    vg_ood_result *result = NULL;
    vg_status status;
    how.resamples = 3;
    TRY(vg_ood_files(&result, k->path, paths, 2, &input, &how));
    TRY(vg_ood_result_save(result, k->output));
    *figure += result->sets[0].rows[0].auroc.value;
done:
    vg_ood_result_free(result);
    return status;
}
CASE(ood_kinds, ood, .path = "kinds/test.jsonl", .output = "out/ood.csv")

/* --- policies */
static vg_status decide(double *figure, const vg_policy_options *options, const kind *k) {
    static const char line[] = "{\"id\": 1, \"p\": [[0.5, 0.25, 0.25], [0.75, 0.25, 0], [1, 0, 0]]}";
    vg_input_options input = input_of(k);
    vg_policy_options again = VG_POLICY_OPTIONS_INIT;
    vg_decide_options how = VG_DECIDE_OPTIONS_INIT;
    vg_decide_result result = VG_DECIDE_RESULT_INIT;
    vg_policy *policy = NULL, *read = NULL;
    vg_decision_stream *stream = NULL;
    char *text = NULL;
    const char *answer;
    size_t length;
    vg_status status;
    how.output = k->output;
    how.save = "out/policy.json";
    how.maps = k->maps;
    how.pictures = 1;
    how.refer_above = k->maps ? 0.25 : NAN;
    TRY(vg_policy_new(&policy, options));
    TRY(vg_decide_file(&result, policy, k->path, &input, &how));
    TRY(vg_decide_result_text(&text, &result, policy, k->path));
    *figure += (double)(strlen(text) + result.kept);
    again.file = "out/policy.json";
    TRY(vg_policy_new(&read, &again));
    if (!policy->temperature && !k->multilabel) {
        TRY(vg_decision_stream_new(&stream, read, NULL, NULL));
        TRY(vg_decision_stream_line(stream, line, sizeof line - 1, &answer, &length));
        *figure += (double)length;
    }
done:
    vg_decision_stream_free(stream);
    vg_policy_free(policy);
    vg_policy_free(read);
    vg_free(text);
    return status;
}
static vg_status decide_coverage(double *figure) {
    vg_policy_options options = VG_POLICY_OPTIONS_INIT;
    options.by = "gmu";
    options.target_coverage = 0.5;
    options.calibration = "kinds/test.csv";
    return decide(figure, &options, &(const kind){.path = "kinds/test.csv", .output = "out/decisions.csv"});
}
static vg_status decide_risk(double *figure) {
    vg_policy_options options = VG_POLICY_OPTIONS_INIT;
    options.target_risk = 0.4;
    options.confidence = 0.6;
    options.calibration = "kinds/val.npz";
    return decide(figure, &options, &(const kind){.path = "kinds/val.npz", .output = "out/decisions.npz"});
}
static vg_status decide_labels(double *figure) {
    static const double risk = 0.5;
    vg_policy_options options = VG_POLICY_OPTIONS_INIT;
    options.label_risks = &risk;
    options.label_risk_count = 1;
    options.confidence = 0.6;
    options.calibration = "kinds/multi.npz";
    return decide(figure, &options,
                  &(const kind){.path = "kinds/multi.npz", .output = "out/decisions.jsonl", .multilabel = true});
}
static vg_status decide_sites(double *figure) {
    vg_policy_options options = VG_POLICY_OPTIONS_INIT;
    options.k = 1;
    return decide(figure, &options,
                  &(const kind){.path = "kinds/sites.npz",
                                .output = "out/decisions.npz",
                                .axes = "NMCHW",
                                .maps = "out/maps",
                                .ignores = true});
}

/* --- prediction sets */
static vg_status sets(double *figure, const vg_sets_options *options, const char *path, const char *by,
                      const char *output) {
    vg_input_options input = reading();
    vg_sets_file_options own = VG_SETS_FILE_OPTIONS_INIT;
    vg_sets_options again = VG_SETS_OPTIONS_INIT;
    vg_sets *result = NULL, *applied = NULL;
    char *text = NULL;
    vg_status status;
    own.calibration = path;
    own.by = by;
    own.save = "out/thresholds.json";
    own.output = output;
    TRY(vg_sets_file(&result, options, path, &input, &own));
    own = (vg_sets_file_options)VG_SETS_FILE_OPTIONS_INIT;
    own.by = by && strncmp(by, "group:", 6) == 0 ? by : NULL; /* others are in the file */
    again.thresholds = "out/thresholds.json";
    TRY(vg_sets_file(&applied, &again, path, &input, &own));
    TRY(vg_sets_text(&text, applied, VG_SETS_TABLE));
    *figure += (double)strlen(text) + result->figures[0].mean_size.value + applied->figures[0].mean_size.value;
done:
    vg_sets_free(result);
    vg_sets_free(applied);
    vg_free(text);
    return status;
}
static vg_status sets_groups(double *figure) {
    static const double alphas[] = {0.2, 0.4};
    vg_sets_options options = VG_SETS_OPTIONS_INIT;
    options.score = VG_SET_APS;
    options.alphas = alphas;
    options.alpha_count = 2;
    return sets(figure, &options, "kinds/wide.csv", "group:ward", "out/sets.csv");
}
static vg_status sets_tuned(double *figure) {
    vg_sets_options options = VG_SETS_OPTIONS_INIT;
    options.score = VG_SET_RAPS;
    options.gate = 1;
    return sets(figure, &options, "kinds/test.npz", NULL, "out/sets.jsonl");
}
static vg_status sets_classes(double *figure) {
    vg_sets_options options = VG_SETS_OPTIONS_INIT;
    options.score = VG_SET_SNR;
    return sets(figure, &options, "kinds/test.jsonl", "class", "out/sets.npz");
}

/* --- fits */
static vg_status calibrate(double *figure, vg_calibration_method method, bool mean) {
    static const double p[] = {0.5, 0.25, 0.25, 0.75, 0.25, 0, 1, 0, 0};
    vg_input_options input = reading();
    vg_calibrate_options fit = VG_CALIBRATE_OPTIONS_INIT;
    vg_calibrate_file_options how = VG_CALIBRATE_FILE_OPTIONS_INIT;
    vg_calibration *result = NULL;
    vg_calibration_map *map = NULL;
    double out[9];
    vg_status status;
    fit.method = method;
    fit.mean = mean;
    how.fit = &fit;
    how.output = "out/map.json";
    TRY(vg_calibrate_file(&result, "kinds/test.csv", &input, &how));
    TRY(vg_calibration_map_load(&map, "out/map.json"));
    vg_predictions view = vg_predictions_f64(p, 1, 3, 3);
    TRY(vg_calibration_map_apply(out, NULL, NULL, map, &view, 0, 1));
    *figure += out[0] + result->after.nll;
done:
    vg_calibration_free(result);
    vg_free(map);
    return status;
}
static vg_status calibrate_dirichlet(double *figure) { return calibrate(figure, VG_CALIBRATE_DIRICHLET, false); }
static vg_status calibrate_isotonic(double *figure) { return calibrate(figure, VG_CALIBRATE_ISOTONIC, true); }
static vg_status calibrate_histogram(double *figure) { return calibrate(figure, VG_CALIBRATE_HISTOGRAM, false); }
static vg_status calibrate_venn_abers(double *figure) { return calibrate(figure, VG_CALIBRATE_VENN_ABERS, true); }
static vg_status fit_k_file(double *figure) {
    vg_input_options input = reading();
    vg_fit_k_options fit = VG_FIT_K_OPTIONS_INIT;
    vg_fit_k_file_options how = VG_FIT_K_FILE_OPTIONS_INIT;
    vg_k_fit *result = NULL;
    vg_status status;
    fit.threads = 1;
    fit.folds = 2;
    how.fit = &fit;
    how.one = 1;
    how.output = "out/k.json";
    TRY(vg_fit_k_file(&result, "kinds/test.csv", &input, &how));
    *figure += result->k_one;
done:
    vg_free(result);
    return status;
}

/* --- pages, comparisons */
static vg_status page(double *figure, const kind *k) {
    static const vg_named_file others[] = {{"other", "kinds/test.npz"}};
    vg_input_options input = input_of(k);
    vg_page_options how = VG_PAGE_OPTIONS_INIT;
    vg_page *result = NULL;
    vg_status status;
    how.ood = others;
    how.ood_count = strcmp(k->path, "kinds/test.csv") == 0;
    if (strcmp(k->path, "run") == 0)
        input.classes = NULL;
    TRY(vg_page_write(&result, k->path, "out/page", &input, &how));
    *figure += (double)result->figure_count;
done:
    vg_page_free(result);
    return status;
}
CASE(page_table, page, .path = "kinds/test.csv")
CASE(page_labels, page, .path = "kinds/multi.npz", .multilabel = true)
CASE(page_sites, page, .path = "kinds/sites.npz", .axes = "NMCHW", .ignores = true)
CASE(page_run, page, .path = "run")

static vg_status compare(double *figure) {
    static const char *const paths[] = {"kinds/test.csv", "kinds/test.npz", "kinds/test.jsonl"};
    static const char *const outputs[] = {"out/c.html", "out/c.csv", "out/c.json"};
    vg_input_options input = reading();
    vg_compare_options how = VG_COMPARE_OPTIONS_INIT;
    vg_compare_result *result = NULL;
    vg_status status;
    how.resamples = 3;
    TRY(vg_compare(&result, paths, 3, &input, &how));
    for (size_t i = 0; i < 3; i++)
        TRY(vg_compare_result_save(result, outputs[i]));
    *figure += result->table->values[0].value;
done:
    vg_compare_result_free(result);
    return status;
}

/* --- images of files */
static vg_status dataset(double *figure, const char *name, const vg_dataset_options *options) {
    vg_dataset_info info = VG_DATASET_INFO_INIT;
    vg_statistics statistics;
    vg_dataset *set = NULL;
    char *json = NULL;
    vg_status status;
    TRY(vg_dataset_open(&set, name, VG_PART_ANY, options));
    TRY(vg_dataset_describe(&info, set));
    TRY(vg_dataset_statistics(&statistics, set, NULL, 0));
    TRY(vg_data_json(&json, name, options, 1));
    *figure += (double)(info.n + 100 * info.classes) + statistics.mean[0];
done:
    vg_dataset_free(set);
    vg_free(json);
    return status;
}
static vg_status photos(double *figure) {
    vg_dataset_options options = VG_DATASET_OPTIONS_INIT;
    options.resize[0] = 8;
    options.threads = 1;
    return dataset(figure, "path:photos", &options);
}

const api_case kind_cases[] = {{"score-table", score_table, 4},
                               {"score-records", score_records, 4},
                               {"score-tensors", score_tensors, 4},
                               {"score-array", score_array, 4},
                               {"score-labels", score_labels, 4},
                               {"score-mapped", score_mapped, 4},
                               {"score-gates", score_gates, 4},
                               {"score-sites", score_sites, 4},
                               {"evaluate-table", evaluate_table, 9},
                               {"evaluate-labels", evaluate_labels, 9},
                               {"evaluate-sites", evaluate_sites, 9},
                               {"ood-kinds", ood_kinds, 9},
                               {"decide-coverage", decide_coverage, 4},
                               {"decide-risk", decide_risk, 9},
                               {"decide-labels", decide_labels, 4},
                               {"decide-sites", decide_sites, 4},
                               {"sets-groups", sets_groups, 4},
                               {"sets-tuned", sets_tuned, 4},
                               {"sets-classes", sets_classes, 4},
                               {"calibrate-dirichlet", calibrate_dirichlet, 4},
                               {"calibrate-isotonic", calibrate_isotonic, 4},
                               {"calibrate-histogram", calibrate_histogram, 4},
                               {"calibrate-venn-abers", calibrate_venn_abers, 4},
                               {"fit-k-file", fit_k_file, 4},
                               {"page-table", page_table, 9},
                               {"page-labels", page_labels, 9},
                               {"page-sites", page_sites, 9},
                               {"page-run", page_run, 9},
                               {"compare", compare, 9},
                               {"photos", photos, 4},
                               {NULL, NULL, 0}};
