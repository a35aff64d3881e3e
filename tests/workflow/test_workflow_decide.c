/* test_workflow_decide.c - calibrating, deciding and reporting on files as a C program sees them: results against the
 * modules below and against the rule written out here; interruption leaves nothing behind; bad input is refused in one
 * line. */
#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "base/base.h"
#include "folder_util.h"
#include "formats/arrays.h"
#include "vargate/formats.h"
#include "vargate/policy.h"
#include "vargate/temperatures.h"
#include "vargate/workflow.h"
#include "workflow/report_files.h"

enum { N = 400, M = 5, C = 4 };

static double logits[N * M * C], probabilities[N * M * C];
static int64_t labels[N];
static char logit_file[300], probability_file[300];

static void assert_ok(vg_status status) {
    if (status != VG_OK)
        fail_msg("status %d: %s", (int)status, vg_error_message());
}

static void place(char out[300], const char *name) { snprintf(out, 300, "%s/%s", folder, name); }

/* Uniform in [0, 1): a linear congruential generator, so that the data are the same everywhere. */
static double uniform(void) {
    static uint64_t state = 12345;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static void write_file(const char *path, const char *name, const double *values) {
    size_t shape[] = {N, M, C};
    vg_writer *writer;
    assert_ok(vg_writer_open(&writer, path));
    assert_ok(vg_writer_array(writer, name, VG_ELEMENT_F64, 3, shape, values));
    assert_ok(vg_writer_array(writer, "L", VG_ELEMENT_I64, 1, shape, labels));
    assert_ok(vg_writer_close(writer));
}

/* Members that agree more or less on a class which is mostly the label. */
static int make_files(void **state) {
    if (make_folder(state) != 0)
        return -1;
    for (size_t n = 0; n < N; n++) {
        double strength = 4 * uniform(), noise = 2 * uniform();
        labels[n] = (int64_t)(uniform() * C);
        for (size_t m = 0; m < M; m++) {
            double *z = logits + (n * M + m) * C, *p = probabilities + (n * M + m) * C, sum = 0;
            for (size_t c = 0; c < C; c++)
                z[c] = (c == (size_t)labels[n] ? strength : 0) + noise * (uniform() - 0.5) * 4;
            for (size_t c = 0; c < C; c++)
                sum += p[c] = exp(z[c]);
            for (size_t c = 0; c < C; c++)
                p[c] /= sum;
        }
    }
    place(logit_file, "logits.npz");
    place(probability_file, "probabilities.npz");
    write_file(logit_file, "Z", logits);
    write_file(probability_file, "P", probabilities);
    return 0;
}

/* Entries of the folder, hidden ones included: leftovers of an output that was not finished show here. */
static size_t entries(void) {
    DIR *dir = opendir(folder);
    size_t count = 0;
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static int stop_at_progress(void *context, const vg_job_message *message) {
    int *heard = context;
    *heard += message->event == VG_JOB_PROGRESS;
    return message->event == VG_JOB_PROGRESS;
}

static int keep_warning(void *context, const vg_job_message *message) {
    if (message->event == VG_JOB_WARNING)
        snprintf(context, 300, "%s", message->text);
    return 0;
}

/* --- calibrate ---------------------------------------------------------------------------------------------------- */

static void calibrates_a_file(void **state) {
    (void)state;
    vg_calibrate_file_options options = VG_CALIBRATE_FILE_OPTIONS_INIT;
    vg_predictions view = vg_predictions_f64(logits, N, M, C);
    vg_calibration *of_file, *direct;
    char output[300];
    double *kept;
    size_t count;
    place(output, "temps.json");
    options.output = output;
    assert_ok(vg_calibrate_file(&of_file, logit_file, NULL, &options));
    assert_ok(vg_calibrate(&direct, &view, labels, NULL));
    assert_int_equal(of_file->count, M);
    assert_memory_equal(of_file->temperatures, direct->temperatures, M * sizeof(double));
    assert_ok(vg_temperatures_load(&kept, &count, output));
    assert_int_equal(count, M);
    assert_memory_equal(kept, direct->temperatures, M * sizeof(double));
    vg_free(kept);
    vg_calibration_free(of_file);
    vg_calibration_free(direct);
}

static void refuses_to_calibrate(void **state) {
    (void)state;
    vg_calibrate_file_options options = VG_CALIBRATE_FILE_OPTIONS_INIT;
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    vg_calibration *out;
    input.key = "P";
    assert_int_equal(vg_calibrate_file(&out, probability_file, &input, &options), VG_ERR_DATA);
    assert_null(out);
    assert_non_null(strstr(vg_error_message(), "holds probabilities; temperatures are fitted to logits"));
    options = (vg_calibrate_file_options)VG_CALIBRATE_FILE_OPTIONS_INIT;
    options.output = logit_file; /* the input itself */
    options.force = 1;
    assert_int_equal(vg_calibrate_file(&out, logit_file, NULL, &options), VG_ERR_ARGUMENT);
    assert_int_not_equal(vg_calibrate_file(&out, "/nowhere/logits.npz", NULL, NULL), VG_OK);
}

static void stops_calibrating(void **state) {
    (void)state;
    vg_calibrate_file_options options = VG_CALIBRATE_FILE_OPTIONS_INIT;
    vg_calibration *out;
    char output[300];
    int heard = 0;
    size_t before = entries();
    place(output, "stopped.json");
    options.output = output;
    options.job = (vg_job){stop_at_progress, &heard};
    assert_int_equal(vg_calibrate_file(&out, logit_file, NULL, &options), VG_ERR_INTERRUPTED);
    assert_int_equal(heard, 1);
    assert_null(out);
    assert_int_equal(entries(), before);
}

/* --- decide ------------------------------------------------------------------------------------------------------- */

/* Mean and population standard deviation over members, and the two largest means: the decision rule keeps a sample when
 * mean1 - k std1 > mean2 + k std2. */
static int rule_keeps(size_t n, double k, int64_t *prediction) {
    double mean[C] = {0}, std[C] = {0};
    size_t first = 0, second = 1;
    for (size_t c = 0; c < C; c++) {
        for (size_t m = 0; m < M; m++)
            mean[c] += probabilities[(n * M + m) * C + c] / M;
        for (size_t m = 0; m < M; m++)
            std[c] += pow(probabilities[(n * M + m) * C + c] - mean[c], 2) / M;
        std[c] = sqrt(std[c]);
    }
    for (size_t c = 1; c < C; c++)
        first = mean[c] > mean[first] ? c : first;
    second = first == 0 ? 1 : 0;
    for (size_t c = 0; c < C; c++)
        second = c != first && mean[c] > mean[second] ? c : second;
    *prediction = (int64_t)first;
    return mean[first] - k * std[first] > mean[second] + k * std[second];
}

static vg_policy *make_policy(const char *by, double k, double threshold) {
    vg_policy_options options = VG_POLICY_OPTIONS_INIT;
    vg_policy *policy;
    options.by = by;
    options.k = k;
    options.threshold = threshold;
    assert_ok(vg_policy_new(&policy, &options));
    assert_true(policy->chosen);
    return policy;
}

static void decides_by_the_rule(void **state) {
    (void)state;
    vg_decide_options options = VG_DECIDE_OPTIONS_INIT;
    vg_decide_result result = VG_DECIDE_RESULT_INIT;
    vg_policy *policy = make_policy(NULL, 1.5, NAN);
    char output[300], *text;
    unsigned long long kept = 0, correct = 0, kept_correct = 0;
    int64_t written[N];
    size_t index;
    vg_source *source;
    place(output, "decisions.npz");
    options.output = output;
    assert_ok(vg_decide_file(&result, policy, probability_file, NULL, &options));
    assert_string_equal(policy->text, "k = 1.5");
    assert_ok(vg_source__open(&source, output));
    assert_ok(vg_source__find(source, "decision", &index));
    assert_ok(vg_source__read_i64(source, index, 0, N, written));
    vg_source__close(source);
    for (size_t n = 0; n < N; n++) {
        int64_t prediction;
        int keeps = rule_keeps(n, 1.5, &prediction);
        assert_int_equal(written[n], keeps ? prediction : -1);
        kept += (unsigned long long)keeps;
        correct += prediction == labels[n];
        kept_correct += keeps && prediction == labels[n];
    }
    assert_int_equal(result.samples, N);
    assert_int_equal(result.entries, N);
    assert_int_equal(result.kept, kept);
    assert_true(kept > 20 && kept < N - 20);
    assert_true(result.labelled && !result.multilabel);
    assert_int_equal(result.correct, correct);
    assert_int_equal(result.kept_correct, kept_correct);
    assert_ok(vg_decide_result_json(&text, &result, policy, probability_file));
    json_t *root = json_loads(text, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(root, "kept")), kept);
    assert_int_equal(json_integer_value(json_object_get(root, "abstained")), N - kept);
    assert_true(json_real_value(json_object_get(root, "k")) == 1.5);
    assert_null(json_object_get(root, "calibration"));
    json_decref(root);
    vg_free(text);
    vg_policy_free(policy);
}

static void decides_by_a_threshold(void **state) {
    (void)state;
    vg_decide_result result = VG_DECIDE_RESULT_INIT;
    vg_predictions view = vg_predictions_f64(probabilities, N, M, C);
    vg_policy *policy = make_policy("snr", NAN, 2);
    static double snr[N];
    vg_scores scores = {.snr = snr};
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    unsigned long long kept = 0;
    assert_ok(vg_score(&scores, NULL, &view, &scoring));
    for (size_t n = 0; n < N; n++)
        kept += snr[n] > 2;
    assert_ok(vg_decide_file(&result, policy, probability_file, NULL, NULL));
    assert_int_equal(result.kept, kept);
    assert_string_equal(policy->text, "snr > 2");
    vg_policy_free(policy);
}

static void chooses_a_policy(void **state) {
    (void)state;
    vg_policy_options asked = VG_POLICY_OPTIONS_INIT;
    vg_decide_options options = VG_DECIDE_OPTIONS_INIT;
    vg_decide_result result = VG_DECIDE_RESULT_INIT, again = VG_DECIDE_RESULT_INIT;
    vg_policy *policy, *given;
    char warning[300] = "";
    asked.by = "gmu";
    asked.target_coverage = 0.6;
    asked.calibration = probability_file;
    options.job = (vg_job){keep_warning, warning};
    assert_ok(vg_policy_new(&policy, &asked));
    assert_false(policy->chosen);
    assert_null(policy->selection);
    assert_ok(vg_decide_file(&result, policy, probability_file, NULL, &options));
    assert_true(policy->chosen && policy->labelled);
    assert_non_null(policy->selection);
    assert_int_equal(policy->selection->rows, N);
    assert_int_equal(policy->selection->kept, result.kept); /* the same file */
    assert_true(result.kept >= 0.6 * N && result.kept < 0.7 * N);
    assert_non_null(strstr(warning, "is also the --calibration file"));
    given = make_policy("gmu", NAN, policy->threshold);
    assert_ok(vg_decide_file(&again, given, probability_file, NULL, NULL));
    assert_int_equal(again.kept, result.kept);
    vg_policy_free(given);
    vg_policy_free(policy);
}

static void says_when_no_setting_will_do(void **state) {
    (void)state;
    vg_policy_options asked = VG_POLICY_OPTIONS_INIT;
    vg_decide_options options = VG_DECIDE_OPTIONS_INIT;
    vg_decide_result result = VG_DECIDE_RESULT_INIT;
    vg_policy *policy;
    char output[300];
    size_t before = entries();
    place(output, "missed.csv");
    asked.by = "k";
    asked.target_risk = 1e-6; /* more than 400 samples can promise */
    asked.calibration = probability_file;
    options.output = output;
    assert_ok(vg_policy_new(&policy, &asked));
    assert_int_equal(vg_decide_file(&result, policy, probability_file, NULL, &options), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "no k meets a risk of 1e-06"));
    assert_false(policy->chosen);
    assert_int_equal(entries(), before);
    vg_policy_free(policy);
}

static void refuses_policies(void **state) {
    (void)state;
    const struct {
        vg_policy_options options;
        vg_status status;
        const char *message;
    } cases[] = {
        {{0, "gmi", NAN, NAN, NAN, NAN, 0.95, NULL, NULL, NULL, 0}, VG_ERR_ARGUMENT, "--by: unknown measure 'gmi'"},
        {{0, "gtu", NAN, 1, NAN, NAN, 0.95, NULL, NULL, NULL, 0}, VG_ERR_ARGUMENT, "needs its gate setting: gtu@1"},
        {{0, "gtu@-1", NAN, 1, NAN, NAN, 0.95, NULL, NULL, NULL, 0}, VG_ERR_DATA, "the gate setting must be > 0"},
        {{0, "snr,gmu", NAN, 1, NAN, NAN, 0.95, NULL, NULL, NULL, 0},
         VG_ERR_ARGUMENT,
         "several candidates need --target-risk"},
        {{0, "snr", NAN, NAN, NAN, NAN, 0.95, NULL, NULL, NULL, 0}, VG_ERR_ARGUMENT, "--by snr needs --threshold"},
        {{0, NULL, NAN, 3, NAN, NAN, 0.95, NULL, NULL, NULL, 0}, VG_ERR_ARGUMENT, "--threshold needs --by MEASURE"},
        {{0, NULL, NAN, NAN, 0.1, NAN, 0.95, NULL, NULL, NULL, 0},
         VG_ERR_ARGUMENT,
         "--target-risk needs --calibration"},
        {{0, "auto", NAN, NAN, NAN, NAN, 0.95, NULL, NULL, NULL, 0}, VG_ERR_ARGUMENT, "--by auto needs --target-risk"},
        {{0, NULL, 2, NAN, NAN, NAN, 0.95, NULL, "p.json", NULL, 0}, VG_ERR_ARGUMENT, "--policy says what decides"},
        {{0, NULL, NAN, NAN, 0.1, NAN, 1.5, "v.npz", NULL, NULL, 0}, VG_ERR_ARGUMENT, "confidence: 1.5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vg_policy_options options = cases[i].options;
        vg_policy *policy;
        options.struct_size = sizeof options;
        assert_int_equal(vg_policy_new(&policy, &options), cases[i].status);
        assert_null(policy);
        assert_non_null(strstr(vg_error_message(), cases[i].message));
    }
}

static void stops_deciding(void **state) {
    (void)state;
    vg_decide_options options = VG_DECIDE_OPTIONS_INIT;
    vg_decide_result result = VG_DECIDE_RESULT_INIT;
    vg_policy *policy = make_policy("k", NAN, NAN);
    char output[300];
    int heard = 0;
    size_t before = entries();
    place(output, "stopped.csv");
    options.output = output;
    options.job = (vg_job){stop_at_progress, &heard};
    assert_int_equal(vg_decide_file(&result, policy, probability_file, NULL, &options), VG_ERR_INTERRUPTED);
    assert_true(heard >= 1);
    assert_int_equal(entries(), before);
    options.job = (vg_job)VG_JOB_INIT;
    options.output = "decisions.txt";
    assert_int_equal(vg_decide_file(&result, policy, probability_file, NULL, &options), VG_ERR_ARGUMENT);
    vg_policy_free(policy);
}

/* An options struct of a program built when it had fewer fields. */
static void takes_smaller_structs(void **state) {
    (void)state;
    vg_decide_options options = VG_DECIDE_OPTIONS_INIT;
    struct {
        vg_decide_result result;
        char after;
    } small = {VG_DECIDE_RESULT_INIT, 77};
    int heard = 0;
    vg_policy *policy = make_policy("k", NAN, NAN);
    options.struct_size = offsetof(vg_decide_options, job);
    options.job = (vg_job){stop_at_progress, &heard};
    small.result.struct_size = offsetof(vg_decide_result, correct);
    small.result.correct = 999;
    assert_ok(vg_decide_file(&small.result, policy, probability_file, NULL, &options));
    assert_true(small.result.kept > 0);
    assert_int_equal(small.result.correct, 999);
    assert_int_equal(small.after, 77);
    assert_int_equal(heard, 0);
    options.struct_size = 0; /* not initialised */
    assert_int_equal(vg_decide_file(&small.result, policy, probability_file, NULL, &options), VG_ERR_ARGUMENT);
    vg_policy_free(policy);
}

/* --- a stream ----------------------------------------------------------------------------------------------------- */

static void decides_line_by_line(void **state) {
    (void)state;
    vg_decision_stream *stream;
    vg_policy *policy = make_policy("k", 1, NAN);
    const char *answer;
    char line[2000];
    size_t length;
    assert_ok(vg_decision_stream_new(&stream, policy, NULL, NULL));
    for (size_t n = 0; n < 50; n++) {
        int64_t prediction;
        int keeps = rule_keeps(n, 1, &prediction);
        size_t used = (size_t)snprintf(line, sizeof line, "{\"id\": %zu, \"p\": [", n);
        for (size_t i = 0; i < M * C; i++)
            used += (size_t)snprintf(line + used, sizeof line - used, "%s%.17g%s",
                                     i % C ? ","
                                     : i   ? ",["
                                           : "[",
                                     probabilities[n * M * C + i], i % C == C - 1 ? "]" : "");
        used += (size_t)snprintf(line + used, sizeof line - used, "]}");
        assert_ok(vg_decision_stream_line(stream, line, used, &answer, &length));
        assert_int_equal(strlen(answer), length);
        assert_int_equal(answer[length - 1], '\n');
        json_t *root = json_loads(answer, 0, NULL);
        assert_int_equal(json_integer_value(json_object_get(root, "id")), n);
        assert_int_equal(json_integer_value(json_object_get(root, "pred")), prediction);
        assert_int_equal(json_integer_value(json_object_get(root, "decision")), keeps ? prediction : -1);
        assert_int_equal(json_array_size(json_object_get(root, "mean")), C);
        json_decref(root);
    }
    static const char bad[] = "{\"id\": \"x\", \"p\": [[0.5, 0.6]]}";
    assert_int_equal(vg_decision_stream_line(stream, bad, sizeof bad - 1, &answer, &length), VG_ERR_DATA);
    assert_int_equal(strncmp(answer, "{\"id\":\"x\",\"error\":", 18), 0);
    assert_non_null(strstr(vg_error_message(), "line 51 (id \"x\"): "));
    assert_ok(vg_decision_stream_line(stream, "  ", 2, &answer, &length));
    assert_int_equal(length, 0);
    vg_decision_stream_free(stream);
    vg_policy_free(policy);
}

/* --- a page ------------------------------------------------------------------------------------------------------- */

static void writes_a_page(void **state) {
    (void)state;
    vg_page_options options = VG_PAGE_OPTIONS_INIT;
    vg_named_file ood = {"other", logit_file};
    vg_page *page;
    char output[300], expected[320], begin[16] = "";
    place(output, "new/report");
    options.ood = &ood;
    options.ood_count = 1;
    options.title = "A title";
    options.class_names = "a,b,c,d";
    assert_ok(vg_page_write(&page, probability_file, output, NULL, &options));
    snprintf(expected, sizeof expected, "%s/report.html", output);
    assert_string_equal(page->path, expected);
    assert_string_equal(page->folder, output);
    const vg_report *report = vg_page__report(page);
    assert_string_equal(report->title, "A title");
    assert_int_equal(report->n, N);
    assert_int_equal(report->members, M);
    assert_int_equal(report->classes, C);
    assert_string_equal(report->class_names[2], "c");
    assert_int_equal(report->ood_count, 1);
    assert_string_equal(report->ood[0].name, "other");
    assert_non_null(report->evaluation);
    unsigned long long correct = 0;
    for (size_t n = 0; n < N; n++) {
        int64_t prediction;
        rule_keeps(n, 1, &prediction);
        correct += prediction == labels[n];
    }
    assert_true(fabs(report->evaluation->accuracy.value - (double)correct / N) < 1e-12);
    FILE *file = fopen(expected, "r");
    assert_non_null(file);
    assert_int_equal(fread(begin, 1, 15, file), 15);
    fclose(file);
    assert_int_equal(strncasecmp(begin, "<!doctype html>", 15), 0);
    vg_page_free(page);
}

static void refuses_pages(void **state) {
    (void)state;
    vg_page_options options = VG_PAGE_OPTIONS_INIT;
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    vg_page *page;
    char output[300], empty[300];
    int heard = 0;
    size_t before = entries();
    place(output, "stopped");
    assert_int_equal(vg_page_write(&page, probability_file, NULL, NULL, NULL), VG_ERR_ARGUMENT);
    assert_null(page);
    options.job = (vg_job){stop_at_progress, &heard};
    assert_int_equal(vg_page_write(&page, probability_file, output, NULL, &options), VG_ERR_INTERRUPTED);
    assert_null(page);
    assert_int_equal(heard, 1);
    options.job = (vg_job)VG_JOB_INIT;
    options.class_names = "a,b";
    assert_int_equal(vg_page_write(&page, probability_file, output, NULL, &options), VG_ERR_DATA);
    assert_string_equal(vg_error_message(), "--class-names: 2 names for 4 classes");
    options.class_names = NULL;
    scoring.task = VG_TASK_MULTILABEL;
    input.scoring = &scoring;
    assert_int_equal(vg_page_write(&page, probability_file, output, &input, &options), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "labels have one column; --multilabel needs 4"));
    assert_int_equal(entries(), before);
    snprintf(empty, sizeof empty, "%s", folder); /* a folder without predictions of a run */
    assert_int_equal(vg_page_write(&page, empty, NULL, NULL, NULL), VG_ERR_IO);
    assert_non_null(strstr(vg_error_message(), "neither test.npz nor scores.npz in it"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calibrates_a_file),      cmocka_unit_test(refuses_to_calibrate),
        cmocka_unit_test(stops_calibrating),      cmocka_unit_test(decides_by_the_rule),
        cmocka_unit_test(decides_by_a_threshold), cmocka_unit_test(chooses_a_policy),
        cmocka_unit_test(refuses_policies),       cmocka_unit_test(says_when_no_setting_will_do),
        cmocka_unit_test(stops_deciding),         cmocka_unit_test(takes_smaller_structs),
        cmocka_unit_test(decides_line_by_line),   cmocka_unit_test(writes_a_page),
        cmocka_unit_test(refuses_pages),
    };
    return cmocka_run_group_tests(tests, make_files, remove_folder);
}
