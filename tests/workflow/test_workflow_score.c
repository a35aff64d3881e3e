/* test_workflow_score.c - scoring, evaluating and OOD-testing files as a C program does it: options in, typed results
 * out, a listener that stops the work, and one message for what cannot be done. The reference is the measures module on
 * the same predictions. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <unistd.h>

#include "formats_util.h"
#include "vargate/workflow.h"

#define EXAMPLE "data/example-predictions.npz"

enum { N = 300, M = 100, C = 10, K = 3 };

/* What the library says of the example's samples, and their labels. */
static double tu[N], gtu[N * K];
static int32_t pred[N], decision[N * K];
static int64_t labels[N];

static char folder[256];

static const char *in_folder(const char *name) {
    static char path[320];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static size_t files_in_folder(void) {
    size_t count = 0;
    DIR *open = opendir(folder);
    assert_non_null(open);
    for (struct dirent *entry; (entry = readdir(open));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(open);
    return count;
}

static int set_up(void **state) {
    (void)state;
    vg_prediction_options how = VG_PREDICTION_OPTIONS_INIT;
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_scores places = {.tu = tu, .gtu = gtu, .pred = pred, .decision = decision};
    vg_prediction_file *file;
    vg_predictions view;
    const int64_t *stored;
    size_t n, m, c, columns;
    assert_ok(vg_prediction_file_open(&file, EXAMPLE, &how));
    vg_prediction_file_shape(file, &n, &m, &c, &options.logits);
    assert_true(n == N && m == M && c == C && options.logits);
    assert_ok(vg_prediction_file_labels(file, &stored, &columns));
    memcpy(labels, stored, sizeof labels);
    assert_ok(vg_prediction_file_block(file, 0, N, &view));
    assert_ok(vg_score(&places, NULL, &view, &options));
    vg_prediction_file_close(file);
    make_folder(folder, sizeof folder);
    return 0;
}

/* Fails where a test has left a file behind. */
static int tear_down(void **state) {
    (void)state;
    return rmdir(folder);
}

static int compare_reals(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Mean, median and 95th percentile (NumPy's definition) of every `stride`-th value. */
static void assert_stats(const vg_column_stats *stats, const double *values, size_t stride) {
    double sorted[N], sum = 0;
    for (size_t i = 0; i < N; i++)
        sum += sorted[i] = values[i * stride];
    qsort(sorted, N, sizeof *sorted, compare_reals);
    double at = 0.95 * (N - 1);
    size_t low = (size_t)at;
    assert_true(fabs(stats->mean - sum / N) <= 1e-14 * N);
    assert_true(stats->median == sorted[N / 2 - 1] + 0.5 * (sorted[N / 2] - sorted[N / 2 - 1]));
    assert_true(fabs(stats->p95 - (sorted[low] + (at - (double)low) * (sorted[low + 1] - sorted[low]))) <= 1e-15);
}

static json_t *parse(vg_status status, char **text) {
    assert_ok(status);
    json_t *value = json_loads(*text, 0, NULL);
    assert_non_null(value);
    vg_free(*text);
    return value;
}

/* --- scoring ------------------------------------------------------------------------------------------------------ */

static void summarises_a_file(void **state) {
    (void)state;
    vg_score_result *result;
    unsigned long long correct = 0, kept[K] = {0}, kept_correct[K] = {0};
    assert_ok(vg_score_file(&result, EXAMPLE, NULL, NULL));
    assert_true(result->n == N && result->m == M && result->c == C && result->logits && !result->multilabel);
    assert_int_equal(result->measure_count, 8 + 6 * K);
    assert_string_equal(result->measures[0].name, "tu");
    assert_string_equal(result->measures[9].name, "gtu@2");
    assert_stats(&result->measures[0].stats, tu, 1);
    assert_stats(&result->measures[9].stats, gtu + 1, K);
    for (size_t i = 0; i < N; i++) {
        correct += pred[i] == labels[i];
        for (size_t k = 0; k < K; k++) {
            kept[k] += decision[i * K + k] >= 0;
            kept_correct[k] += decision[i * K + k] >= 0 && pred[i] == labels[i];
        }
    }
    assert_true(result->judged && result->entries == N && result->correct == correct);
    assert_int_equal(result->rule_count, K);
    for (size_t k = 0; k < K; k++)
        assert_true(result->rule[k].kept == kept[k] && result->rule[k].kept_correct == kept_correct[k]);
    assert_string_equal(result->verdict->name, "diverse");
    char *text;
    json_t *json = parse(vg_score_result_json(&text, result), &text);
    assert_string_equal(json_string_value(json_object_get(json, "command")), "score");
    assert_true(json_real_value(json_object_get(json, "accuracy")) == (double)correct / N);
    json_t *one = json_object_get(json_object_get(json, "measures"), "gtu@2");
    assert_true(json_real_value(json_object_get(one, "p95")) == result->measures[9].stats.p95);
    json_decref(json);
    vg_score_result_free(result);
    vg_score_result_free(NULL);
}

static void writes_scores(void **state) {
    (void)state;
    static double stored[N];
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    vg_score_file_options options = VG_SCORE_FILE_OPTIONS_INIT;
    vg_score_result *result;
    vg_source *source;
    size_t index;
    options.output = in_folder("scores.npz");
    options.summary = 0;
    assert_ok(vg_fields_parse(&input.fields, "tu,margin"));
    assert_ok(vg_score_file(&result, EXAMPLE, &input, &options));
    assert_true(result->n == N && result->measure_count == 0 && !result->verdict);
    assert_true(result->summary->diversity > 0);
    vg_score_result_free(result);
    assert_ok(vg_source__open(&source, options.output));
    assert_ok(vg_source__find(source, "tu", &index));
    assert_ok(vg_source__read_f64(source, index, 0, N, stored));
    assert_memory_equal(stored, tu, sizeof tu);
    assert_int_not_equal(vg_source__find(source, "gtu", &index), VG_OK);
    vg_source__close(source);
    assert_ok(vg_score_file(NULL, EXAMPLE, &input, &options)); /* its own product may be replaced */
    assert_int_equal(files_in_folder(), 1);
    unlink(options.output);
}

static size_t read_bytes(char *out, size_t room, const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(out, 1, room, file);
    assert_true(feof(file) && fclose(file) == 0);
    return size;
}

/* Scores of memory end as those of a file do: the same CSV byte for byte, the same figures; names only in arrays. */
static void finishes_a_set_in_memory(void **state) {
    (void)state;
    static char ours[1 << 18], theirs[1 << 18];
    static const char *names[C] = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
    static const double k[K] = {1, 2, 3};
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    vg_score_file_options options = VG_SCORE_FILE_OPTIONS_INIT;
    vg_scores places = {.tu = tu, .gtu = gtu, .decision = decision};
    vg_score_set set = VG_SCORE_SET_INIT;
    vg_score_result *file, *memory;
    assert_ok(vg_fields_parse(&input.fields, "tu,gtu,decision"));
    options.output = in_folder("file.csv");
    assert_ok(vg_score_file(&file, EXAMPLE, &input, &options));
    size_t size = read_bytes(theirs, sizeof theirs, options.output);
    unlink(options.output);
    set.n = N, set.m = M, set.c = C, set.k = k, set.k_count = K, set.logits = 1;
    set.scores = &places;
    set.labels = labels;
    set.class_names = names;
    assert_int_equal(vg_score_set_finish(&memory, &set, &options), VG_ERR_ARGUMENT); /* no summary */
    set.summary = file->summary;
    assert_ok(vg_score_set_finish(&memory, &set, &options));
    assert_int_equal(read_bytes(ours, sizeof ours, options.output), size);
    assert_memory_equal(ours, theirs, size);
    unlink(options.output);
    assert_true(memory->measure_count == file->measure_count && memory->rule_count == K && !memory->judged);
    for (size_t i = 0; i < memory->measure_count; i++)
        assert_memory_equal(&memory->measures[i].stats, &file->measures[i].stats, sizeof(vg_column_stats));
    for (size_t i = 0; i < K; i++) /* without pred: a kept decision is its prediction */
        assert_true(memory->rule[i].kept_correct == file->rule[i].kept_correct && memory->rule[i].kept_correct > 0);
    vg_score_result_free(memory);
    options.output = in_folder("set.npz");
    assert_ok(vg_score_set_finish(NULL, &set, &options));
    vg_score_result_free(file); /* whose summary is the set's */
    size = read_bytes(ours, sizeof ours, options.output);
    assert_non_null(memmem(ours, size, "classes.npy", 11)); /* a name in the archive's directory */
    unlink(options.output);
    set.struct_size = 1;
    assert_int_equal(vg_score_set_finish(NULL, &set, &options), VG_ERR_ARGUMENT);
}

static void knows_its_fields(void **state) {
    (void)state;
    vg_field_set set;
    size_t words = 0;
    assert_ok(vg_fields_parse(&set, "gtu,pred"));
    assert_int_equal(set, VG_FIELD_BIT(VG_FIELD_GTU) | VG_FIELD_BIT(VG_FIELD_PRED));
    assert_ok(vg_fields_parse(&set, "all"));
    assert_int_equal(set, VG_FIELDS_ALL);
    assert_fails(vg_fields_parse(&set, "tu,nonsense"), VG_ERR_ARGUMENT, "'nonsense'");
    assert_fails(vg_fields_parse(&set, ""), VG_ERR_ARGUMENT, "''");
    for (; vg_fields_word(words); words++)
        assert_ok(vg_fields_parse(&set, vg_fields_word(words)));
    assert_true(words > VG_FIELD_COUNT);
}

/* --- interruption ------------------------------------------------------------------------------------------------- */

typedef struct listener {
    const char *stop_in; /* the part whose first progress stops the job */
    size_t begun, ended, progress;
} listener;

static int listen(void *context, const vg_job_message *message) {
    listener *l = context;
    l->begun += message->event == VG_JOB_BEGIN;
    l->ended += message->event == VG_JOB_END;
    l->progress += message->event == VG_JOB_PROGRESS;
    return l->stop_in && message->event == VG_JOB_PROGRESS && strcmp(message->text, l->stop_in) == 0;
}

static void hears_progress(void **state) {
    (void)state;
    listener l = {NULL, 0, 0, 0};
    vg_score_file_options options = VG_SCORE_FILE_OPTIONS_INIT;
    options.job = (vg_job){listen, &l};
    options.output = in_folder("heard.csv");
    assert_ok(vg_score_file(NULL, EXAMPLE, NULL, &options));
    assert_true(l.begun >= 2 && l.begun == l.ended && l.progress >= 2);
    unlink(options.output);
}

static void stops_and_leaves_nothing(void **state) {
    (void)state;
    static const char *const parts[] = {"scoring", "writing"}, *const names[] = {"a.npz", "a.csv", "a.jsonl"};
    for (size_t i = 0; i < 6; i++) {
        listener l = {parts[i % 2], 0, 0, 0};
        vg_score_file_options options = VG_SCORE_FILE_OPTIONS_INIT;
        vg_score_result *result = (vg_score_result *)(void *)&l;
        options.job = (vg_job){listen, &l};
        options.output = in_folder(names[i / 2]);
        assert_fails(vg_score_file(&result, EXAMPLE, NULL, &options), VG_ERR_INTERRUPTED, "interrupted");
        assert_null(result);
        assert_int_equal(l.begun, l.ended);
        assert_int_equal(files_in_folder(), 0);
    }
}

static void stops_an_evaluation(void **state) {
    (void)state;
    static const char *const parts[] = {"scoring", "evaluating"};
    for (size_t i = 0; i < 2; i++) {
        listener l = {parts[i], 0, 0, 0};
        vg_evaluate_file_options options = VG_EVALUATE_FILE_OPTIONS_INIT;
        vg_evaluation_result *result;
        options.resamples = 200;
        options.job = (vg_job){listen, &l};
        assert_int_equal(vg_evaluate_file(&result, EXAMPLE, NULL, &options), VG_ERR_INTERRUPTED);
        assert_null(result);
        assert_int_equal(l.begun, l.ended);
    }
}

/* --- evaluating --------------------------------------------------------------------------------------------------- */

static void evaluates_a_file(void **state) {
    (void)state;
    vg_evaluation_result *result;
    double correct = 0;
    for (size_t i = 0; i < N; i++)
        correct += pred[i] == labels[i];
    assert_ok(vg_evaluate_file(&result, EXAMPLE, NULL, NULL));
    assert_true(result->n == N && result->m == M && result->c == C);
    assert_string_equal(result->whole->figures[0].key, "accuracy");
    assert_true(result->whole->values[0].value == correct / N);
    const vg_figure_table *t = result->measures;
    assert_true(t->rows == 8 + 6 + 6 * K && t->rows == result->evaluation->measure_count);
    assert_string_equal(t->figures[0].key, "aurc");
    assert_null(t->figures[5].key);
    for (size_t c = 0; c < t->columns; c++) {
        double best = t->values[t->best[c] * t->columns + c].value;
        for (size_t r = 0; r < t->rows; r++) {
            double value = t->values[r * t->columns + c].value;
            assert_false(t->figures[c].higher ? value > best : value < best);
            assert_false(r < t->best[c] && value == best);
        }
    }
    char *text;
    json_t *json = parse(vg_evaluation_result_json(&text, result), &text);
    assert_true(json_real_value(json_object_get(json, "accuracy")) == correct / N);
    assert_string_equal(json_string_value(json_object_get(json_object_get(json, "best"), "aurc")),
                        t->names[t->best[0]]);
    assert_null(json_object_get(json, "intervals"));
    json_decref(json);
    vg_evaluation_result_free(result);
    vg_evaluation_result_free(NULL);
}

static void takes_operating_points(void **state) {
    (void)state;
    static const double coverages[] = {0.5}, risks[] = {0.02, 0.03};
    vg_evaluate_file_options options = VG_EVALUATE_FILE_OPTIONS_INIT;
    vg_evaluation_result *result;
    options.coverages = coverages;
    options.coverage_count = 1;
    options.risks = risks;
    options.risk_count = 2;
    assert_ok(vg_evaluate_file(&result, EXAMPLE, NULL, &options));
    assert_int_equal(result->measures->columns, result->interval_columns + 3);
    assert_string_equal(result->measures->figures[result->interval_columns].title, "risk@50%");
    assert_string_equal(result->measures->figures[result->measures->columns - 1].title, "cov@3%risk");
    vg_evaluation_result_free(result);
}

/* --- out of distribution ------------------------------------------------------------------------------------------ */

static void tells_no_file_from_itself(void **state) {
    (void)state;
    const char *const paths[] = {EXAMPLE, EXAMPLE};
    vg_ood_result *result;
    assert_ok(vg_ood_files(&result, EXAMPLE, paths, 2, NULL, NULL));
    assert_true(result->id_n == N && result->set_count == 2);
    assert_string_equal(result->sets[0].name, "example-predictions");
    assert_string_equal(result->sets[1].name, "example-predictions-2");
    for (size_t r = 0; r < result->sets[1].table->rows; r++)
        assert_true(result->sets[1].rows[r].auroc.value == 0.5);
    char *text;
    json_t *json = parse(vg_ood_result_json(&text, result), &text);
    assert_int_equal(json_object_size(json_object_get(json, "ood")), 2);
    json_decref(json);
    vg_ood_result_free(result);
    assert_fails(vg_ood_files(&result, EXAMPLE, (const char *const[]){"none.npz"}, 1, NULL, NULL), VG_ERR_IO,
                 "none.npz");
    assert_null(result);
}

/* --- what cannot be done ------------------------------------------------------------------------------------------ */

static void refuses_bad_input(void **state) {
    (void)state;
    static const float even[4] = {0.5f, 0.5f, 0.5f, 0.5f};
    static const double zero = 0;
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    vg_score_file_options options = VG_SCORE_FILE_OPTIONS_INIT;
    vg_score_result *result;
    vg_evaluation_result *evaluation;
    char path[320];
    snprintf(path, sizeof path, "%s", in_folder("even.npz"));
    vg_writer *writer;
    assert_ok(vg_writer_open(&writer, path));
    assert_ok(vg_writer_array(writer, "P", VG_ELEMENT_F32, 3, (const size_t[]){1, 2, 2}, even));
    assert_ok(vg_writer_close(writer));
    assert_fails(vg_score_file(&result, "none.npz", NULL, NULL), VG_ERR_IO, "none.npz");
    assert_null(result);
    assert_fails(vg_evaluate_file(&evaluation, path, NULL, NULL), VG_ERR_DATA, "no labels");
    assert_null(evaluation);
    input.temperature = "2";
    assert_fails(vg_score_file(&result, path, &input, NULL), VG_ERR_ARGUMENT, "applies to logits");
    input.temperature = NULL;
    scoring.k = &zero;
    scoring.k_count = 1;
    input.scoring = &scoring;
    assert_fails(vg_score_file(&result, path, &input, NULL), VG_ERR_ARGUMENT, "not a positive number");
    options.output = in_folder("scores.xls");
    assert_fails(vg_score_file(&result, path, NULL, &options), VG_ERR_ARGUMENT, "must end in");
    options.output = path;
    assert_int_not_equal(vg_score_file(&result, path, NULL, &options), VG_OK); /* the input itself */
    assert_int_equal(files_in_folder(), 1);
    unlink(path);
}

/* Callers that were compiled against an earlier or a later header. */
static void takes_options_of_other_versions(void **state) {
    (void)state;
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    vg_evaluate_file_options options = VG_EVALUATE_FILE_OPTIONS_INIT;
    vg_evaluation_result *result;
    input.struct_size = offsetof(vg_input_options, temperature);
    input.temperature = "none.json"; /* beyond what the caller's header had */
    options.struct_size = offsetof(vg_evaluate_file_options, confidence);
    options.bins = 7;
    options.confidence = -1;
    assert_ok(vg_evaluate_file(&result, EXAMPLE, &input, &options));
    assert_int_equal(result->evaluation->bins, 7);
    vg_evaluation_result_free(result);
    input.struct_size = sizeof input + 8;
    assert_fails(vg_evaluate_file(&result, EXAMPLE, &input, NULL), VG_ERR_ARGUMENT, "vg_input_options");
    options.struct_size = 0;
    assert_fails(vg_evaluate_file(&result, EXAMPLE, NULL, &options), VG_ERR_ARGUMENT, "vg_evaluate_file_options");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summarises_a_file),        cmocka_unit_test(writes_scores),
        cmocka_unit_test(finishes_a_set_in_memory), cmocka_unit_test(knows_its_fields),
        cmocka_unit_test(hears_progress),           cmocka_unit_test(stops_and_leaves_nothing),
        cmocka_unit_test(stops_an_evaluation),      cmocka_unit_test(evaluates_a_file),
        cmocka_unit_test(takes_operating_points),   cmocka_unit_test(tells_no_file_from_itself),
        cmocka_unit_test(refuses_bad_input),        cmocka_unit_test(takes_options_of_other_versions),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
