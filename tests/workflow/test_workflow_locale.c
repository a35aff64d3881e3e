/* test_workflow_locale.c - a host program with a decimal comma: numbers of streams, files and documents are read and
 * written with a point all the same. The locale is made here; skipped where localedef cannot make it. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vargate/vargate.h"
#include "workflow_util.h"

enum { N = 24, M = 3, C = 3 };
static char predictions[PATH];
static bool has_comma; /* the locale could be made */

static void write_predictions(void) {
    static double p[N * M * C];
    static int64_t labels[N];
    const size_t shape[] = {N, M, C};
    vg_writer *writer;
    for (size_t row = 0; row < N * M; row++) {
        double sum = 0;
        labels[row / M] = (int64_t)(row / M % C);
        for (size_t c = 0; c < C; c++)
            sum += p[row * C + c] = 1 + (double)((row * 7 + c * 5 + row * c) % 11) + 4 * (c == row / M % C);
        for (size_t c = 0; c < C; c++)
            p[row * C + c] /= sum;
    }
    OK(vg_writer_open(&writer, in_folder(predictions, "predictions.npz")));
    OK(vg_writer_array(writer, "P", VG_ELEMENT_F64, 3, shape, p));
    OK(vg_writer_array(writer, "L", VG_ELEMENT_I64, 1, shape, labels));
    OK(vg_writer_close(writer));
}

/* Numbers of 17 digits, as other programs print them, and ids that are numbers. */
static void stream(FILE *out) {
    static const char *const lines[] = {
        "{\"id\": 1.5, \"p\": [[0.30000000000000004, 0.29999999999999998, 0.39999999999999997]]}",
        "{\"id\": 2, \"note\": 0, \"p\": [[0.30000000000000004, 0.2, 0.49999999999999994]]}",
        "{\"id\": 12.25, \"note\": 0, \"z\": [[0.12345678901234567890, 1e-30, 2.5], [1, 2, 3.25]]}"};
    vg_policy_options options = VG_POLICY_OPTIONS_INIT;
    vg_policy *policy;
    vg_decision_stream *decisions;
    const char *answer;
    size_t length;
    options.k = 0.5;
    OK(vg_policy_new(&policy, &options));
    OK(vg_decision_stream_new(&decisions, policy, NULL, NULL));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        OK(vg_decision_stream_line(decisions, lines[i], strlen(lines[i]), &answer, &length));
        fwrite(answer, 1, length, out);
    }
    vg_decision_stream_free(decisions);
    vg_policy_free(policy);
}

static void documents(FILE *out) {
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    static const double k[] = {0.5, 1.25};
    vg_score_result *scores;
    vg_evaluation_result *evaluation;
    char *text;
    scoring.k = k;
    scoring.k_count = 2;
    input.scoring = &scoring;
    OK(vg_score_file(&scores, predictions, &input, NULL));
    OK(vg_score_result_json(&text, scores));
    fputs(text, out);
    vg_free(text);
    vg_score_result_free(scores);
    OK(vg_evaluate_file(&evaluation, predictions, &input, NULL));
    OK(vg_evaluation_result_json(&text, evaluation));
    fputs(text, out);
    vg_free(text);
    vg_evaluation_result_free(evaluation);
}

/* The functions of evaluate.h and measures.h, as a C program calls them, and a message. */
static void evaluations(FILE *out) {
    enum { ROWS = 40 };
    static double mean[ROWS * C], std[ROWS * C], tu[ROWS];
    static int64_t labels[ROWS];
    char notes[VG_MAX_NOTES][VG_NOTE_SIZE], reason[200];
    static vg_finding findings[VG_MAX_FINDINGS];
    vg_measure measure = {.name = "tu", .values = tu};
    vg_score_summary summary = {.samples = ROWS,
                                .members = 4,
                                .outcomes = C,
                                .member_variance = 0.0125,
                                .total_variance = 0.5,
                                .disagreement = 0.125,
                                .abstained = 0.25};
    vg_select_options selecting = VG_SELECT_OPTIONS_INIT;
    uint8_t errors[ROWS];
    vg_selection selection = VG_SELECTION_INIT;
    vg_tally *tally;
    vg_evaluation *evaluation;
    vg_verdict verdict = VG_VERDICT_INIT;
    for (size_t i = 0; i < ROWS; i++) {
        labels[i] = (int64_t)(i * 7 % 5 % C), errors[i] = i % 3 == 0, tu[i] = 0.5 + (double)(i * 13 % 17) / 40;
        for (size_t c = 0; c < C; c++)
            mean[i * C + c] = c == i % C ? 0.5 : 0.25, std[i * C + c] = 0.125;
    }
    OK(vg_tally_new(&tally, C, NULL));
    OK(vg_tally_feed(tally, mean, std, labels, ROWS));
    OK(vg_evaluate(&evaluation, tally, &measure, 1, NULL));
    for (size_t i = 0, count = vg_evaluation_notes(notes, evaluation); i < count; i++)
        fprintf(out, "%s\n", notes[i]);
    OK(vg_verdict_judge(&verdict, &summary, 20, ROWS));
    for (size_t i = 0, count = vg_evaluation_findings(findings, evaluation, &verdict); i < count; i++)
        fprintf(out, "%s\n", findings[i].text);
    selecting.target_risk = 0.01;
    OK(vg_select_threshold(&selection, &measure, errors, ROWS, &selecting));
    vg_selection_reason(reason, sizeof reason, &selection);
    fprintf(out, "%s\n", reason);
    mean[1] = -1.5;
    assert_int_equal(vg_tally_feed(tally, mean, std, labels, ROWS), VG_ERR_DATA);
    fprintf(out, "%s\n", vg_error_message());
    vg_evaluation_free(evaluation);
    vg_tally_free(tally);
}

static void copy_file(FILE *out, const char *path) {
    char text[4096];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (size_t size; (size = fread(text, 1, sizeof text, file)) > 0;)
        fwrite(text, 1, size, out);
    fclose(file);
}

static void files(FILE *out) {
    static const char *const names[] = {"scores.csv", "scores.jsonl"};
    char path[PATH];
    vg_score_file_options how = VG_SCORE_FILE_OPTIONS_INIT;
    vg_calibrate_file_options calibrating = VG_CALIBRATE_FILE_OPTIONS_INIT;
    vg_calibrate_options fit = VG_CALIBRATE_OPTIONS_INIT;
    vg_calibration *map;
    for (size_t i = 0; i < 2; i++) {
        how.output = in_folder(path, names[i]);
        how.force = 1;
        OK(vg_score_file(NULL, predictions, NULL, &how));
        copy_file(out, path);
    }
    fit.method = VG_CALIBRATE_VECTOR;
    calibrating.fit = &fit;
    calibrating.output = in_folder(path, "map.json");
    calibrating.force = 1;
    OK(vg_calibrate_file(&map, predictions, NULL, &calibrating));
    copy_file(out, path);
    fputs(map->text, out);
    vg_calibration_free(map);
}

static void decisions(FILE *out) {
    char path[PATH], save[PATH];
    vg_policy_options options = VG_POLICY_OPTIONS_INIT;
    vg_decide_options how = VG_DECIDE_OPTIONS_INIT;
    vg_decide_result result = VG_DECIDE_RESULT_INIT;
    vg_sets_options alphas = VG_SETS_OPTIONS_INIT;
    vg_sets_file_options own = VG_SETS_FILE_OPTIONS_INIT;
    static const double alpha = 0.25;
    vg_policy *policy;
    vg_sets *sets;
    char *text;
    options.by = "gtu@1.5";
    options.threshold = 0.75;
    how.output = in_folder(path, "decisions.csv");
    how.save = in_folder(save, "policy.json");
    how.force = 1;
    OK(vg_policy_new(&policy, &options));
    OK(vg_decide_file(&result, policy, predictions, NULL, &how));
    copy_file(out, path);
    copy_file(out, save);
    OK(vg_decide_result_text(&text, &result, policy, "predictions.npz"));
    fputs(text, out);
    vg_free(text);
    fprintf(out, "%s %s\n", policy->text, policy->again ? policy->again : "");
    vg_policy_free(policy);
    alphas.alphas = &alpha;
    alphas.alpha_count = 1;
    own.calibration = predictions;
    OK(vg_sets_file(&sets, &alphas, predictions, NULL, &own));
    for (int document = VG_SETS_FIGURES; document <= VG_SETS_DECISIONS; document++) {
        OK(vg_sets_text(&text, sets, (vg_sets_document)document));
        fputs(text, out);
        vg_free(text);
    }
    vg_sets_free(sets);
}

static void pages(FILE *out) {
    char path[PATH];
    vg_page *page;
    vg_page_options options = VG_PAGE_OPTIONS_INIT;
    options.force = 1;
    OK(vg_page_write(&page, predictions, in_folder(path, "page"), NULL, &options));
    copy_file(out, page->path);
    vg_page_free(page);
}

static bool make_locale(void) {
    char command[2 * PATH];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >/dev/null 2>&1", folder);
    if (system(command) != 0)
        return false;
    setenv("LOCPATH", folder, 1);
    bool there = setlocale(LC_ALL, "de_DE.UTF-8") && strcmp(localeconv()->decimal_point, ",") == 0;
    setlocale(LC_ALL, "C");
    return there;
}

static char *written(void (*write)(FILE *out), const char *locale) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    setlocale(LC_ALL, locale);
    write(out);
    setlocale(LC_ALL, "C");
    assert_int_equal(fclose(out), 0);
    return text;
}

static void compare(void (*write)(FILE *out)) {
    if (!has_comma)
        skip();
    char *plain = written(write, "C"), *comma = written(write, "de_DE.UTF-8");
    size_t same = 0;
    while (plain[same] && plain[same] == comma[same])
        same++;
    if (plain[same] != comma[same])
        fail_msg("'%.60s' with a decimal comma, expected '%.60s'", comma + (same > 30 ? same - 30 : 0),
                 plain + (same > 30 ? same - 30 : 0));
    free(plain);
    free(comma);
}
#define TEST(name)                                                                                                     \
    static void name##_are_the_same(void **state) {                                                                    \
        (void)state;                                                                                                   \
        compare(name);                                                                                                 \
    }
TEST(stream)
TEST(documents)
TEST(files)
TEST(decisions)
TEST(pages)
TEST(evaluations)

/* Listeners run in the caller's locale, which is the thread's again when the call ends. */
static int see_comma(void *context, const vg_job_message *message) {
    char text[16];
    (void)message;
    snprintf(text, sizeof text, "%.1f", 0.5);
    *(int *)context += strcmp(text, "0,5") == 0 ? 1 : 1000;
    return 0;
}
static void listeners_keep_their_locale(void **state) {
    int seen = 0;
    char text[16];
    vg_score_file_options how = VG_SCORE_FILE_OPTIONS_INIT;
    (void)state;
    if (!has_comma)
        skip();
    setlocale(LC_ALL, "de_DE.UTF-8");
    how.job = (vg_job){see_comma, &seen};
    vg_status status = vg_score_file(NULL, predictions, NULL, &how);
    snprintf(text, sizeof text, "%.1f", 0.5);
    setlocale(LC_ALL, "C");
    assert_int_equal(status, VG_OK);
    assert_true(seen >= 2 && seen < 1000);
    assert_string_equal(text, "0,5");
}

static int set_up(void **state) {
    setenv("SOURCE_DATE_EPOCH", "0", 1);
    if (make_folder(state) != 0)
        return -1;
    write_predictions();
    has_comma = make_locale();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream_are_the_same),         cmocka_unit_test(documents_are_the_same),
        cmocka_unit_test(files_are_the_same),          cmocka_unit_test(decisions_are_the_same),
        cmocka_unit_test(pages_are_the_same),          cmocka_unit_test(evaluations_are_the_same),
        cmocka_unit_test(listeners_keep_their_locale),
    };
    return cmocka_run_group_tests(tests, set_up, remove_folder);
}
