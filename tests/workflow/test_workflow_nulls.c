/* test_workflow_nulls.c - NULL for an argument that must be given, in every public function (null_calls.h): an error,
 * or nothing where a function returns no status. The last test reads the headers: no public function is left out. */
#include <glob.h>
#include <stdbool.h>

#include "formats_util.h"
#include "vargate/vargate.h"

#define EXAMPLE "data/example-predictions.npz"

/* What calls would write to. */
static struct {
    vg_calibration *calibration;
    vg_k_fit *fit;
    vg_calibration_map *map;
    vg_compare_result *compared;
    vg_dataset *set;
    vg_doctor_line *lines;
    vg_evaluation *evaluation;
    vg_writer *writer;
    vg_prediction_file *file;
    vg_scorer *scorer;
    vg_predictor *predictor;
    vg_page *page;
    vg_decision_stream *stream;
    vg_score_result *scored;
    vg_evaluation_result *evaluated;
    vg_ood_result *ood;
    vg_run_result *ran;
    char **places, *text;
    const char *answer;
    double *numbers;
    const int64_t *labels;
    const char *const *names;
    vg_predictions view;
    size_t count;
} any;

/* Valid arguments. */
static struct {
    vg_calibration_map *map;
    vg_dataset *set;
    vg_tally *tally;
    vg_evaluation *evaluation;
    vg_writer *writer;
    vg_prediction_file *file;
    vg_scorer *scorer;
    vg_policy *policy;
    vg_decision_stream *stream;
    vg_sets *sets;
} objects;
static double values[8] = {0.75, 0.25, 0.5, 0.5, 0.25, 0.75, 0.5, 0.5};
static const int64_t labels[2] = {0, 1};
static const uint8_t marks[2] = {0, 1};
static const size_t shape[2] = {2, 2};
static const char *const paths[2] = {"none-1.npz", "none-2.npz"}, *const none[2] = {NULL, NULL};
static vg_predictions view, no_view;
static vg_k_fit fit;
static vg_calibration calibration;
static vg_compare_result compared = {.struct_size = sizeof compared};
static vg_sweep_options sweep = VG_SWEEP_OPTIONS_INIT;
static vg_dataset_info info = VG_DATASET_INFO_INIT;
static vg_statistics statistics;
static vg_data_found found;
static int here[2];
static vg_dataset_options reading = VG_DATASET_OPTIONS_INIT;
static vg_doctor_line line;
static char text[64], notes[VG_MAX_NOTES][VG_NOTE_SIZE];
static vg_field_set fields;
static vg_tally_info tally_info = VG_TALLY_INFO_INIT;
static vg_measure measure = {"u", values, 1, 0}, no_values = {"u", NULL, 1, 0};
static vg_estimate estimate;
static vg_auroc_comparison pair;
static vg_finding findings[VG_MAX_FINDINGS];
static vg_ranking ranking;
static vg_rank_part part = {.struct_size = sizeof part, .rows_total = 2, .errors_total = 1};
static vg_select_options select = VG_SELECT_OPTIONS_INIT;
static vg_selection selection = VG_SELECTION_INIT;
static vg_candidate candidate = {.measure = {"u", values, 1, 0}, .errors = marks},
                    no_errors = {.measure = {"u", values, 1, 0}};
static vg_ood_row ood;
static vg_sites sites = VG_SITES_INIT;
static vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
static vg_scores scores;
static vg_score_summary summary;
static vg_verdict verdict = VG_VERDICT_INIT;
static vg_scorer_state state_of_scorer;
static vg_tree tree;
static uint32_t leaf;
static float one;
static vg_recipe recipe;
static vg_train_options training = VG_TRAIN_OPTIONS_INIT;
static vg_train_result trained;
static vg_predictor_info network = VG_PREDICTOR_INFO_INIT;
static vg_decide_result decided = VG_DECIDE_RESULT_INIT;
static vg_train_recipe_options train_recipe = VG_TRAIN_RECIPE_OPTIONS_INIT;
static vg_score_result scored = {.struct_size = sizeof scored};
static vg_evaluation_result evaluated = {.struct_size = sizeof evaluated};
static const vg_evaluation_result *const no_result[1] = {NULL}, *const one_result[1] = {&evaluated};
static vg_ood_result ood_result = {.struct_size = sizeof ood_result};
static vg_run_recipe_options run = VG_RUN_RECIPE_OPTIONS_INIT;

static vg_status give_block(void *context, size_t first, size_t rows, vg_predictions *block) {
    (void)context, (void)first, (void)rows;
    *block = view;
    return VG_OK;
}

/* --- the calls */
static void refused(vg_status status) {
    const char *message = vg_error_message();
    if (status != VG_ERR_ARGUMENT || !*message || strchr(message, '\n'))
        fail_msg("status %d: %s", (int)status, message);
}

#define ROW(function, argument, call)                                                                                  \
    static void function##__##argument(void **state) {                                                                 \
        (void)state;                                                                                                   \
        refused(call);                                                                                                 \
    }
#define NOTHING(function, argument, call)                                                                              \
    static void function##__##argument(void **state) {                                                                 \
        (void)state;                                                                                                   \
        assert_true(call);                                                                                             \
    }
#include "null_calls.h"
#undef ROW
#undef NOTHING

/* --- no function is left out */
#define ROW(function, argument, call) #function,
#define NOTHING ROW
static const char *const called[] = {
#include "null_calls.h"
};
#undef ROW
#undef NOTHING
/* No argument is a pointer. */
static const char *const pointless[] = {"vg_build_facts", "vg_error_message",   "vg_version",
                                        "vg_fields_word", "vg_measure_info_at", "vg_cpu_tier"};

static bool is_among(const char *const *names, size_t count, const char *name, size_t length) {
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0)
            return true;
    return false;
}

/* The functions of one header; a declaration is "VG_API type name(". */
static size_t check_header(const char *path) {
    size_t length, count = 0;
    char *source = (char *)slurp(path, &length);
    for (char *at = source; (at = strstr(at, "\nVG_API ")); count++) {
        char *end = strchr(at, '('), *name = end;
        while (name[-1] != ' ' && name[-1] != '*')
            name--;
        size_t letters = (size_t)(end - name);
        if (!is_among(called, sizeof called / sizeof *called, name, letters) &&
            !is_among(pointless, sizeof pointless / sizeof *pointless, name, letters))
            fail_msg("%s: %.*s is not in null_calls.h", path, (int)letters, name);
        at = end;
    }
    free(source);
    return count;
}

static void every_function_is_called(void **state) {
    (void)state;
    glob_t headers;
    size_t count = 0;
    assert_int_equal(glob("include/vargate/*.h", 0, NULL, &headers), 0);
    for (size_t i = 0; i < headers.gl_pathc; i++)
        count += check_header(headers.gl_pathv[i]);
    globfree(&headers);
    assert_true(count > 100);
}

static int set_up(void **state) {
    (void)state;
    static char folder[256], path[300];
    make_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.npz", folder);
    view = vg_predictions_f64(values, 2, 2, 2);
    no_view = vg_predictions_f64(NULL, 2, 2, 2);
    select.target_risk = 0.1;
    vg_recipe_defaults(&recipe);
    assert_ok(vg_calibration_map_load(&objects.map, "{\"temperatures\": [1.5]}"));
    assert_ok(vg_dataset_open(&objects.set, "digits", VG_PART_TEST, NULL));
    assert_ok(vg_tally_new(&objects.tally, 2, NULL));
    assert_ok(vg_tally_feed(objects.tally, values, values, labels, 2));
    assert_ok(vg_evaluate(&objects.evaluation, objects.tally, &measure, 1, NULL));
    assert_ok(vg_writer_open(&objects.writer, path));
    assert_ok(vg_prediction_file_open(&objects.file, EXAMPLE, NULL));
    assert_ok(vg_scorer_new(&objects.scorer, 2, 2, &scoring));
    assert_ok(vg_policy_new(&objects.policy, NULL));
    assert_ok(vg_decision_stream_new(&objects.stream, objects.policy, NULL, NULL));
    assert_ok(vg_sets_new(&objects.sets, NULL));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    vg_free(objects.map);
    vg_dataset_free(objects.set);
    vg_tally_free(objects.tally);
    vg_evaluation_free(objects.evaluation);
    vg_writer_abandon(objects.writer);
    vg_prediction_file_close(objects.file);
    vg_scorer_free(objects.scorer);
    vg_decision_stream_free(objects.stream);
    vg_policy_free(objects.policy);
    vg_sets_free(objects.sets);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define ROW(function, argument, call) cmocka_unit_test(function##__##argument),
#define NOTHING ROW
#include "null_calls.h"
        cmocka_unit_test(every_function_is_called),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
