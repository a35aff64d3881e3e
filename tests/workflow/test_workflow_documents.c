/* test_workflow_documents.c - JSON that commands write and others read again: thresholds of prediction sets, policies,
 * evaluations, results of runs. Each is written once; then one value at a time is changed or removed, and what reads it
 * must refuse it in one line that names the file and the value, or read what is left. */
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vargate/vargate.h"
#include "workflow_util.h"

enum { N = 60, M = 3, C = 3 };
static const char *const names[C] = {"cat", "dog", "hen"};
static char logits_file[PATH], table_file[PATH];

static double mixed(size_t i) { return (double)((i * 2654435761U) % 1009U) / 1009; }

/* The same members as logits in an .npz and as probabilities of one member in a table with names and groups. */
static void write_inputs(void) {
    static double z[N * M * C];
    static int64_t labels[N];
    const size_t shape[] = {N, M, C};
    vg_writer *writer;
    FILE *table = fopen(in_folder(table_file, "table.csv"), "w");
    assert_non_null(table);
    fprintf(table, "id,cat,dog,hen,label,ward\n");
    for (size_t n = 0; n < N; n++) {
        double sum = 0, p[C];
        labels[n] = (int64_t)(n % C);
        for (size_t i = n * M * C; i < (n + 1) * M * C; i++)
            z[i] = 3 * mixed(31 * n + 7 * (i % C)) + 2 * mixed(101 * n + i) + (i % C == n % C ? 2.5 : 0);
        for (size_t c = 0; c < C; c++)
            sum += p[c] = exp(z[n * M * C + c]);
        fprintf(table, "s%zu,%.9f,%.9f,%.9f,%s,w%zu\n", n, p[0] / sum, p[1] / sum, 1 - p[0] / sum - p[1] / sum,
                names[n % C], n % 2);
    }
    assert_int_equal(fclose(table), 0);
    OK(vg_writer_open(&writer, in_folder(logits_file, "logits.npz")));
    OK(vg_writer_array(writer, "Z", VG_ELEMENT_F64, 3, shape, z));
    OK(vg_writer_array(writer, "L", VG_ELEMENT_I64, 1, shape, labels));
    OK(vg_writer_close(writer));
}

static vg_input_options reading(void) {
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    input.classes = "cat,dog,hen";
    return input;
}

/* --- edits */
/* A change of one value: keys and indices separated by "/"; value NULL: it is removed. */
typedef struct edit {
    const char *at, *value, *message; /* message NULL: it is still read */
} edit;

static void write_edited(const char *from, const char *to, const edit *change) {
    char keys[128], *last = keys, one[PATH], other[PATH];
    json_error_t error;
    json_t *root = json_load_file(in_folder(one, from), 0, &error), *inner = root;
    assert_non_null(root);
    snprintf(keys, sizeof keys, "%s", change->at);
    for (char *slash; (slash = strchr(last, '/')); last = slash + 1) {
        *slash = '\0';
        inner = json_is_array(inner) ? json_array_get(inner, (size_t)atoi(last)) : json_object_get(inner, last);
        assert_non_null(inner);
    }
    if (!change->value && json_is_array(inner))
        json_array_remove(inner, (size_t)atoi(last));
    else if (!change->value)
        json_object_del(inner, last);
    else {
        json_t *value = json_loads(change->value, JSON_DECODE_ANY, &error);
        assert_non_null(value);
        if (json_is_array(inner))
            json_array_set_new(inner, (size_t)atoi(last), value);
        else
            json_object_set_new(inner, last, value);
    }
    assert_int_equal(json_dump_file(root, in_folder(other, to), 0), 0);
    json_decref(root);
}

/* What reads the file of that name. */
typedef vg_status (*reader)(const char *path);

static void check_edits(const char *document, reader read, const edit *edits, size_t count) {
    char path[PATH];
    OK(read(in_folder(path, document)));
    for (size_t i = 0; i < count; i++) {
        write_edited(document, "edited.json", &edits[i]);
        vg_status status = read(in_folder(path, "edited.json"));
        const char *message = status == VG_OK ? "" : vg_error_message();
        bool as_expected = edits[i].message ? status != VG_OK && strstr(message, edits[i].message) : status == VG_OK;
        if (!as_expected)
            fail_msg("%s = %s in %s: status %d, '%s', expected '%s'", edits[i].at,
                     edits[i].value ? edits[i].value : "nothing", document, (int)status, message,
                     edits[i].message ? edits[i].message : "to be read");
        assert_null(strchr(message, '\n'));
    }
}
#define CHECK(document, read, edits) check_edits(document, read, edits, sizeof edits / sizeof *edits)

/* --- thresholds of prediction sets */
static void save_thresholds(const char *name, const vg_sets_options *options, const char *path, const char *by) {
    char save[PATH];
    vg_input_options input = reading();
    vg_sets_file_options own = VG_SETS_FILE_OPTIONS_INIT;
    vg_sets *sets;
    own.calibration = path;
    own.by = by;
    own.save = in_folder(save, name);
    OK(vg_sets_file(&sets, options, NULL, &input, &own));
    assert_int_equal(sets->calibrated + sets->tuned, N);
    vg_sets_free(sets);
}

static vg_status load_thresholds(const char *path) {
    vg_sets_options options = VG_SETS_OPTIONS_INIT;
    vg_sets *sets;
    options.thresholds = path;
    vg_status status = vg_sets_new(&sets, &options);
    if (status == VG_OK)
        assert_int_equal(sets->classes, C);
    else
        assert_null(sets);
    vg_sets_free(sets);
    return status;
}

static void thresholds_are_checked(void **state) {
    static const edit edits[] = {
        {"command", "\"scores\"", "edited.json: no file of thresholds; 'vargate sets --save' writes one"},
        {"command", NULL, "no file of thresholds"},
        {"schema", "\"vargate/9\"", "thresholds of schema vargate/9; this vargate reads vargate/1"},
        {"schema", NULL, "thresholds of schema ?"},
        {"score", "\"best\"", "'score' is missing, or its type or value is wrong"},
        {"score", NULL, "'score' is missing"},
        {"by", "3", "'by' is missing"},
        {"thresholds", "[]", "'thresholds' is missing"},
        {"thresholds", "{}", "'thresholds' is missing"},
        {"thresholds/0/alpha", NULL, "alpha"},
        {"thresholds/0/alpha", "1", "alpha"},
        {"thresholds/0/cells", "[]", "'cells' is missing"},
        {"thresholds/1/cells", NULL, "'cells' is missing"},
        {"thresholds/0/cells/0/threshold", "\"much\"", "'threshold' is missing"},
        {"thresholds/0/cells/0/threshold", "null", NULL},
        {"thresholds/0/cells/0/cell", NULL, "'cell' is missing"},
        {"thresholds/1/cells/0/cell", "\"w7\"", "'cell' is missing"},
        {"thresholds/1/cells/0/cell", "\"w1\"", "'cell' is missing"},
        {"members", "0", "'members' is missing"},
        {"classes", "\"three\"", "'classes' is missing"},
        {"confidence", "1.5", "confidence"},
        {"class_names", "[\"cat\", \"dog\"]", "'class_names' is missing"},
        {"class_names/1", "2", "'class_names' is missing"},
        {"class_names", NULL, NULL},
        {"conventions", NULL, "conventions.task is missing or of another type"},
        {"conventions/task", "\"guess\"", "conventions.task is 'guess', which is not known here"},
        {"temperature", "[0]", "'temperature' is missing"},
        {"class_k", "[1, -1, 1]", "'class_k' is missing"},
    };
    static const double alphas[] = {0.2, 0.4};
    vg_sets_options options = VG_SETS_OPTIONS_INIT;
    (void)state;
    options.alphas = alphas;
    options.alpha_count = 2;
    save_thresholds("groups.json", &options, table_file, "group:ward");
    CHECK("groups.json", load_thresholds, edits);
}

static void tuned_thresholds_are_checked(void **state) {
    static const edit edits[] = {{"thresholds/1/lambda", NULL, NULL}, /* the one that all share */
                                 {"lambda", NULL, NULL},
                                 {"tuned_parameters", "[1, \"lambda\", \"other\"]", NULL}};
    static const double alphas[] = {0.2, 0.4};
    vg_sets_options options = VG_SETS_OPTIONS_INIT;
    (void)state;
    options.score = VG_SET_RAPS;
    options.alphas = alphas;
    options.alpha_count = 2;
    save_thresholds("tuned.json", &options, table_file, NULL);
    CHECK("tuned.json", load_thresholds, edits);
}

/* A file of thresholds determines their meaning: options that would change it are refused by their names. */
static void thresholds_decide_the_options(void **state) {
    char path[PATH];
    static const double other_alpha = 0.3, same_alphas[] = {0.2, 0.4}, temperature = 2, ones[C] = {1, 1, 1};
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    vg_sets *sets;
    (void)state;
    in_folder(path, "groups.json");
#define REFUSED(text, ...)                                                                                             \
    do {                                                                                                               \
        vg_sets_options options = VG_SETS_OPTIONS_INIT;                                                                \
        options.thresholds = path;                                                                                     \
        __VA_ARGS__;                                                                                                   \
        assert_int_equal(vg_sets_new(&sets, &options), VG_ERR_ARGUMENT);                                               \
        assert_non_null(strstr(vg_error_message(), text));                                                             \
    } while (0)
    REFUSED("another --alpha than is asked for", options.alphas = &other_alpha; options.alpha_count = 1);
    REFUSED("another --score", options.score = VG_SET_APS);
    REFUSED("another --by", options.by = VG_SETS_BY_TOP);
    REFUSED("another --gated", options.gate = 2);
    REFUSED("another --lambda", options.lambda = 0.5);
    REFUSED("another --k-reg", options.k_reg = 1);
    REFUSED("another --confidence", options.confidence = 0.5);
    REFUSED("another --seed", options.seed = 99);
    REFUSED("another --randomise", options.randomise = 1);
    REFUSED("under another 'pairs'", options.scoring = &scoring; scoring.pairs = VG_PAIRS_DISTINCT);
    scoring = (vg_score_options)VG_SCORE_OPTIONS_INIT;
    REFUSED("its own temperature, or none", options.scoring = &scoring; scoring.temperature = &temperature;
            scoring.temperature_count = 1);
    scoring = (vg_score_options)VG_SCORE_OPTIONS_INIT;
    REFUSED("its own k for every class, or none", options.scoring = &scoring; scoring.class_k = ones;
            scoring.class_k_count = C);
    REFUSED("has its own calibration map, or none", options.calibration_map = "{}");
    vg_sets_options options = VG_SETS_OPTIONS_INIT;
    options.thresholds = path;
    options.alphas = same_alphas;
    options.alpha_count = 2;
    OK(vg_sets_new(&sets, &options));
    assert_int_equal(sets->by, VG_SETS_BY_GROUP);
    vg_sets_free(sets);
}

/* --- policies */
static vg_status load_policy(const char *path) {
    vg_policy_options options = VG_POLICY_OPTIONS_INIT;
    vg_policy *policy = NULL;
    options.file = path;
    vg_status status = vg_policy_new(&policy, &options);
    if (status == VG_OK)
        assert_int_equal(policy->chosen, 1);
    vg_policy_free(policy);
    return status;
}

static void save_policy(const char *name, const vg_policy_options *options, const char *path,
                        const vg_input_options *input) {
    char save[PATH];
    vg_decide_options how = VG_DECIDE_OPTIONS_INIT;
    vg_decide_result result = VG_DECIDE_RESULT_INIT;
    vg_policy *policy;
    how.save = in_folder(save, name);
    OK(vg_policy_new(&policy, options));
    OK(vg_decide_file(&result, policy, path, input, &how));
    assert_int_equal(result.samples, N);
    vg_policy_free(policy);
}

static void policies_are_checked(void **state) {
    static const edit edits[] = {
        {"command", "\"thresholds\"", "edited.json: not a policy; 'vargate decide --save' writes one"},
        {"schema", NULL, "not a policy"},
        {"schema", "\"vargate/0\"", "a policy of schema vargate/0; this vargate reads vargate/1"},
        {"by", NULL, "the text 'by' is missing"},
        {"by", "\"a name that is far longer than the longest name of any measure\"", "the text 'by' is missing"},
        {"by", "\"luck\"", "luck"},
        {"by", "\"k\"", "'k' is missing or not a number in its range"},
        {"threshold", NULL, "'threshold' is missing or not a number in its range"},
        {"members", "-1", "'members' or 'classes' is missing"},
        {"classes", NULL, "'members' or 'classes' is missing"},
        {"conventions/eps", "\"small\"", "conventions.eps is missing or of another type"},
        {"conventions/floor_form", "\"none\"", "conventions.floor_form is 'none', which is not known here"},
        {"class_names", "[\"cat\"]", "1 class names for 3 classes"},
        {"class_names/2", "null", "the name of class 2 is not a text"},
        {"class_names", NULL, NULL},
        {"temperature", "[1, 0]", "temperature 1 is not a positive number"},
        {"temperature", "[2]", NULL},
        {"class_k", "[1, 2]", "class_k does not have one value for each of 3 classes"},
        {"class_k", "[1, 2, \"3\"]", "class_k 2 is not a positive number"},
        {"class_k", "[1, 2, 3]", NULL},
        {"calibration", "7", NULL}, /* no promise */
        {"calibration/unit", "\"image\"", NULL},
    };
    vg_policy_options options = VG_POLICY_OPTIONS_INIT;
    vg_input_options input = reading();
    char path[PATH];
    (void)state;
    options.by = "gmu";
    options.target_coverage = 0.5;
    options.calibration = table_file;
    save_policy("policy.json", &options, table_file, &input);
    CHECK("policy.json", load_policy, edits);
    FILE *text = fopen(in_folder(path, "text.json"), "w");
    assert_non_null(text);
    fputs("by = gmu\n", text);
    assert_int_equal(fclose(text), 0);
    assert_int_equal(load_policy(path), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "not a policy, which is JSON"));
}

/* A policy answers lines of its own kind only, and goes with no other calibration. */
static void policies_are_for_their_kind(void **state) {
    static const char two[] = "{\"p\": [[0.5, 0.5]]}", plain[] = "{\"p\": [[0.5, 0.25, 0.25]]}";
    char path[PATH], scores[PATH];
    vg_policy_options options = VG_POLICY_OPTIONS_INIT;
    vg_decide_options how = VG_DECIDE_OPTIONS_INIT;
    vg_decide_result result = VG_DECIDE_RESULT_INIT;
    vg_input_options input = reading();
    vg_decision_stream *stream;
    vg_policy *policy;
    const char *answer;
    size_t length;
    (void)state;
    options.file = in_folder(path, "policy.json");
    OK(vg_policy_new(&policy, &options));
    OK(vg_decision_stream_new(&stream, policy, NULL, NULL));
    OK(vg_decision_stream_line(stream, plain, sizeof plain - 1, &answer, &length));
    assert_non_null(strstr(answer, "\"pred\":0"));
    assert_int_equal(vg_decision_stream_line(stream, two, sizeof two - 1, &answer, &length), VG_ERR_DATA);
    assert_non_null(strstr(answer, "\"error\":"));
    assert_non_null(strstr(vg_error_message(), "line 2"));
    vg_decision_stream_free(stream);
    input.temperature = "2";
    how.output = in_folder(scores, "decisions.csv");
    assert_int_equal(vg_decide_file(&result, policy, logits_file, &input, &how), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "chosen without a calibration"));
    assert_false(is_there("decisions.csv"));
    vg_policy_free(policy);

    write_edited("policy.json", "warm.json", &(const edit){"temperature", "[2]", NULL});
    options.file = in_folder(path, "warm.json");
    OK(vg_policy_new(&policy, &options));
    assert_string_equal(policy->temperature, "2");
    assert_int_equal(vg_decide_file(&result, policy, logits_file, &input, &how), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "has a calibration of its own"));
    OK(vg_decision_stream_new(&stream, policy, NULL, NULL));
    assert_int_equal(vg_decision_stream_line(stream, plain, sizeof plain - 1, &answer, &length), VG_ERR_DATA);
    assert_non_null(strstr(answer, "probabilities, the policy is for logits at a temperature"));
    vg_decision_stream_free(stream);
    vg_policy_free(policy);
}

/* --- evaluations that are compared */
static vg_compare_result *compared;
static vg_status compare_with(const char *path) {
    const char *const paths[] = {table_file, path};
    vg_input_options input = reading();
    vg_compare_options options = VG_COMPARE_OPTIONS_INIT;
    options.resamples = 0;
    vg_compare_result_free(compared);
    compared = NULL;
    return vg_compare(&compared, paths, 2, &input, &options);
}

static void save_evaluation(const char *name) {
    char path[PATH];
    vg_input_options input = reading();
    vg_evaluate_file_options how = VG_EVALUATE_FILE_OPTIONS_INIT;
    vg_evaluation_result *result;
    how.resamples = 20;
    OK(vg_evaluate_file(&result, table_file, &input, &how));
    const vg_evaluation_result *one = result;
    OK(vg_evaluation_results_save(&one, 1, 0, in_folder(path, name)));
    vg_evaluation_result_free(result);
}

static void evaluations_are_checked(void **state) {
    static const edit edits[] = {
        {"n", "0", "edited.json: holds no evaluation; 'vargate evaluate --json' makes one"},
        {"accuracy", NULL, "holds no evaluation"},
        {"c", "\"3\"", "holds no evaluation"},
        {"c", "4", "4 classes, the first input has 3"},
        {"multilabel", "true", "multilabel, the first input is multiclass"},
        {"measures", NULL, NULL},
        {"intervals", NULL, NULL},
        {"test", "{}", "holds no evaluation"},
    };
    char path[PATH];
    (void)state;
    save_evaluation("evaluation.json");
    CHECK("evaluation.json", compare_with, edits);
    OK(compare_with(in_folder(path, "evaluation.json")));
    assert_int_equal(compared->count, 2);
    assert_int_equal(compared->rows[1].predictions, 0);
    for (size_t i = 0; i < 2; i++) /* accuracy, F1: stored as they are computed */
        assert_true(fabs(compared->table->values[i].value -
                         compared->table->values[compared->table->columns + i].value) < 1e-12);
    const vg_estimate *accuracy = &compared->table->values[compared->table->columns];
    assert_true(accuracy->low <= accuracy->value && accuracy->value <= accuracy->high);
    /* An interval that is not known stays unknown. */
    write_edited("evaluation.json", "null.json", &(const edit){"intervals/accuracy", "[null, null]", NULL});
    OK(compare_with(in_folder(path, "null.json")));
    assert_true(isnan(compared->table->values[compared->table->columns].low));
    assert_true(isnan(compared->table->values[compared->table->columns].high));
    FILE *list = fopen(in_folder(path, "list.json"), "w");
    assert_non_null(list);
    fputs("[1]", list);
    assert_int_equal(fclose(list), 0);
    assert_int_equal(compare_with(path), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "list.json: not a JSON object"));
    vg_compare_result_free(compared);
    compared = NULL;
}

/* A run of which only the results are left: its rows come from them. */
static void results_are_checked(void **state) {
    char path[PATH], text[2 * PATH];
    (void)state;
    assert_int_equal(mkdir(in_folder(path, "run"), 0777), 0);
    assert_int_equal(compare_with(path), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "not a finished run (no results.json)"));
    snprintf(text, sizeof text, "cd '%s' && printf '{}' >run/results.json", folder);
    assert_int_equal(system(text), 0);
    assert_int_equal(compare_with(path), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "results.json has no test set's figures"));
    snprintf(
        text, sizeof text,
        "cd '%s' && printf '{\"training\": {\"diversity\": 0.25}, \"test\": %%s, \"ood\": {\"far\": {\"measures\": "
        "{\"tu\": {\"auroc\": 0.5}, \"gmu\": {\"auroc\": 0.75}}}}}' \"$(cat evaluation.json)\" >run/results.json",
        folder);
    assert_int_equal(system(text), 0);
    OK(compare_with(path));
    assert_int_equal(compared->count, 2);
    assert_int_equal(compared->rows[1].ood_count, 1);
    assert_string_equal(compared->rows[1].ood_names[0], "far");
    assert_true(fabs(compared->rows[1].ood_auroc[0] - 0.75) < 1e-12);
    snprintf(text, sizeof text, "cd '%s' && cp evaluation.json run/mcd-lle.json", folder);
    assert_int_equal(system(text), 0);
    OK(compare_with(path));
    assert_int_equal(compared->count, 3);
    assert_non_null(strstr(compared->rows[2].name, "mcd-lle"));
    vg_compare_result_free(compared);
    compared = NULL;
}

static int set_up(void **state) {
    if (make_folder(state) != 0)
        return -1;
    write_inputs();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thresholds_are_checked),        cmocka_unit_test(tuned_thresholds_are_checked),
        cmocka_unit_test(thresholds_decide_the_options), cmocka_unit_test(policies_are_checked),
        cmocka_unit_test(policies_are_for_their_kind),   cmocka_unit_test(evaluations_are_checked),
        cmocka_unit_test(results_are_checked),
    };
    return cmocka_run_group_tests(tests, set_up, remove_folder);
}
