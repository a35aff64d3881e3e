/* test_workflow_pages.c - what a page is made from: files of scores that are not whole, images as arrays, names of
 * classes, out-of-distribution sets; and the command that repeats a policy. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vargate/vargate.h"
#include "workflow_util.h"

enum { N = 40, M = 3, C = 3, SIDE = 6, SMALL_K = 3 };
static double p[N * M * C];
static int64_t labels[N], many[N * C];

static double mixed(size_t i) { return (double)((i * 2654435761U) % 1009U) / 1009; }

/* Arrays of a file; name NULL ends them. */
typedef struct array {
    const char *name;
    vg_element element;
    size_t rank, shape[4];
    const void *data;
} array;

static const char *save(const char *name, const array *arrays) {
    static char path[4][PATH];
    static size_t used;
    char *out = path[used++ % 4];
    vg_writer *writer;
    OK(vg_writer_open(&writer, in_folder(out, name)));
    for (; arrays->name; arrays++)
        OK(vg_writer_array(writer, arrays->name, arrays->element, arrays->rank, arrays->shape, arrays->data));
    OK(vg_writer_close(writer));
    return out;
}

static int set_up(void **state) {
    if (make_folder(state) != 0)
        return -1;
    for (size_t row = 0; row < N * M; row++) {
        double sum = 0;
        for (size_t c = 0; c < C; c++)
            sum += p[row * C + c] = exp(4 * mixed(17 * row + c) + (c == row / M % C ? 1.5 : 0));
        for (size_t c = 0; c < C; c++)
            p[row * C + c] /= sum;
    }
    for (size_t n = 0; n < N; n++)
        labels[n] = (int64_t)(n % C);
    for (size_t i = 0; i < N * C; i++)
        many[i] = i % C == i / C % C || mixed(i) > 0.8;
    return 0;
}

static vg_status make_page(const char *path, const vg_page_options *options) {
    char out[PATH];
    vg_page *page = NULL;
    vg_status status = vg_page_write(&page, path, in_folder(out, "page"), NULL, options);
    if (status == VG_OK)
        assert_true(is_there("page/report.html"));
    vg_page_free(page);
    return status;
}

static void refuse(vg_status status, const char *text) {
    if (status == VG_OK || !strstr(vg_error_message(), text))
        fail_msg("status %d, '%s', expected '%s'", (int)status, status == VG_OK ? "" : vg_error_message(), text);
    assert_null(strchr(vg_error_message(), '\n'));
}

/* The text of the page's file; valid until the next call. */
static const char *page_text(void) {
    static char text[1 << 22];
    char path[PATH];
    FILE *file = fopen(in_folder(path, "page/report.html"), "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    return text;
}

/* --- files of scores */
static const char *write_scores(const char *name, bool multilabel) {
    static char path[PATH];
    const array predictions[] = {{"P", VG_ELEMENT_F64, 3, {N, M, C}, p},
                                 {"L", VG_ELEMENT_I64, multilabel ? 2 : 1, {N, C}, multilabel ? many : labels},
                                 {.name = NULL}};
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    vg_score_file_options how = VG_SCORE_FILE_OPTIONS_INIT;
    scoring.task = multilabel ? VG_TASK_MULTILABEL : VG_TASK_MULTICLASS;
    input.scoring = &scoring;
    how.output = in_folder(path, name);
    how.summary = 0;
    how.force = 1;
    OK(vg_score_file(NULL, save("predictions.npz", predictions), &input, &how));
    return path;
}

static void scores_are_checked(void **state) {
    static double mean[N * C], std[N * C], tu[N], k[SMALL_K] = {1, 2, 3};
    static const int64_t outside[N] = {0, 1, 7};
    const array m = {"mean", VG_ELEMENT_F64, 2, {N, C}, mean}, s = {"std", VG_ELEMENT_F64, 2, {N, C}, std};
    const array t = {"tu", VG_ELEMENT_F64, 1, {N}, tu}, ks = {"k", VG_ELEMENT_F64, 1, {SMALL_K}, k};
    const array none = {.name = NULL};
    const struct {
        array arrays[6];
        const char *message;
    } files[] = {
        {{t, ks, none}, "scores without mean and std; write them with 'vargate score PRED -o FILE'"},
        {{t, ks, s, {"mean", VG_ELEMENT_F64, 1, {N}, mean}, none}, "mean is not of shape (N, C)"},
        {{t, ks, s, {"mean", VG_ELEMENT_F64, 2, {N, 1}, mean}, none}, "mean is not of shape (N, C)"},
        {{t, m, s, {"k", VG_ELEMENT_F64, 2, {1, SMALL_K}, k}, none}, "k is not a list of gate settings"},
        {{t, ks, m, s, {"class_k", VG_ELEMENT_F64, 1, {2}, k}, none}, "class_k does not have one value for each of 3"},
        {{ks, m, s, {"tu", VG_ELEMENT_F64, 1, {N - 1}, tu}, none}, "tu does not have the shape of scores of 40"},
        {{t, ks, m, {"std", VG_ELEMENT_F64, 2, {N - 1, C}, std}, none}, "std does not have the shape of mean"},
        {{t, ks, m, none}, "std does not have the shape of mean"},
        {{t, ks, m, s, {"L", VG_ELEMENT_I64, 1, {N}, outside}, none}, "label 7 of sample 2 is outside 0..2"},
    };
    (void)state;
    for (size_t i = 0; i < N * C; i++)
        mean[i] = 1.0 / C, std[i] = 0.1;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        refuse(make_page(save("scores.npz", files[i].arrays), NULL), files[i].message);
    const array whole[] = {t, ks, m, s, none};
    OK(make_page(save("scores.npz", whole), NULL));
}

static void scores_of_both_tasks_make_pages(void **state) {
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    const array few[] = {{"L", VG_ELEMENT_I64, 1, {N - 1}, labels}, {.name = NULL}};
    const array all[] = {{"L", VG_ELEMENT_I64, 2, {N, C}, many}, {.name = NULL}};
    char out[PATH];
    vg_page *page;
    (void)state;
    OK(make_page(write_scores("one.npz", false), NULL));
    const char *path = write_scores("many.npz", true);
    OK(make_page(path, NULL));
    in_folder(out, "page");
    input.labels = save("few.npy", few);
    refuse(vg_page_write(&page, path, out, &input, NULL), "39 labels in 1 columns for 40 samples");
    input.labels = save("all.npy", all);
    OK(vg_page_write(&page, path, out, &input, NULL));
    vg_page_free(page);
}

/* Predictions beside scores are scored with the scores' own gate settings; other scores must have the same. */
static void ood_sets_are_checked(void **state) {
    static const double k[] = {5};
    const array predictions[] = {{"P", VG_ELEMENT_F64, 3, {N, M, C}, p}, {.name = NULL}};
    const array pairs[] = {{"P", VG_ELEMENT_F64, 3, {N, M, 2}, p}, {.name = NULL}};
    vg_named_file sets[VG_PAGE_OOD + 1];
    vg_page_options options = VG_PAGE_OPTIONS_INIT;
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    vg_score_file_options how = VG_SCORE_FILE_OPTIONS_INIT;
    char scores[PATH], other[PATH];
    (void)state;
    snprintf(scores, sizeof scores, "%s", write_scores("scores.npz", false));
    sets[0] = (vg_named_file){"near", save("near.npz", predictions)};
    options.ood = sets;
    options.ood_count = 1;
    OK(make_page(scores, &options));
    assert_non_null(strstr(page_text(), "\"near\""));
    scoring.k = k;
    scoring.k_count = 1;
    input.scoring = &scoring;
    how.output = in_folder(other, "other.npz");
    OK(vg_score_file(NULL, sets[0].path, &input, &how));
    sets[0].path = other;
    refuse(make_page(scores, &options), "other.npz: not the measures and gate settings of");
    for (size_t i = 0; i <= VG_PAGE_OOD; i++)
        sets[i] = (vg_named_file){"near", scores};
    options.ood_count = VG_PAGE_OOD + 1;
    refuse(make_page(scores, &options), "more than 16 OOD sets");
    options.ood_count = 1;
    refuse(make_page(write_scores("many.npz", true), &options), "a page of multilabel predictions has no OOD sets");
    snprintf(scores, sizeof scores, "%s", write_scores("scores.npz", false));
    scoring.renormalise = 1;
    sets[0].path = save("pairs.npz", pairs);
    refuse(make_page(scores, &options), "pairs.npz");
}

/* --- images and names */
static void images_of_arrays_are_shown(void **state) {
    static uint8_t bytes[N * SIDE * SIDE * 3];
    static float reals[N * SIDE * SIDE * 3];
    static const struct {
        size_t rank, shape[4];
        bool real;
        const char *message; /* NULL: shown */
    } cases[] = {{3, {N, SIDE, SIDE}, false, NULL},
                 {4, {N, SIDE, SIDE, 3}, false, NULL},
                 {4, {N, 3, SIDE, SIDE}, true, NULL},
                 {4, {N, 1, SIDE, SIDE}, true, NULL},
                 {4, {N, SIDE, SIDE, 2}, false, "images are (N, H, W), or (N, H, W, C) or (N, C, H, W) of 1 or 3"},
                 {2, {N, SIDE}, false, "images are (N, H, W)"},
                 {3, {N - 1, SIDE, SIDE}, true, "39 images, but the predictions are of 40"}};
    vg_page_options options = VG_PAGE_OPTIONS_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i % 251);
        reals[i] = (float)(i % 300) / 255 - 0.05F; /* some below 0 and above 1 */
    }
    char scores[PATH];
    snprintf(scores, sizeof scores, "%s", write_scores("scores.npz", false));
    OK(make_page(scores, NULL));
    size_t plain = strlen(page_text());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        array images[] = {{"x", cases[i].real ? VG_ELEMENT_F32 : VG_ELEMENT_U8, cases[i].rank, {0}, bytes},
                          {.name = NULL}};
        memcpy(images[0].shape, cases[i].shape, sizeof images[0].shape);
        images[0].data = cases[i].real ? (const void *)reals : bytes;
        options.images = save("images.npy", images);
        if (cases[i].message) {
            refuse(make_page(scores, &options), cases[i].message);
            continue;
        }
        OK(make_page(scores, &options));
        size_t channels = cases[i].rank == 3 ? 1 : cases[i].shape[1] == SIDE ? cases[i].shape[3] : cases[i].shape[1];
        assert_true(strlen(page_text()) >
                    plain + N * SIDE * SIDE * channels / 4); /* compressed or not, they are in it */
    }
    options.images = "/nonexistent/images.npy";
    refuse(make_page(scores, &options), "--images /nonexistent/images.npy: ");
    options.images = "/nonexistent/folder";
    refuse(make_page(scores, &options), "--images /nonexistent/folder: ");
}

static void names_of_classes(void **state) {
    vg_page_options options = VG_PAGE_OPTIONS_INIT;
    char path[PATH], scores[PATH];
    (void)state;
    snprintf(scores, sizeof scores, "%s", write_scores("scores.npz", false));
    options.class_names = "red,green,dark blue";
    OK(make_page(scores, &options));
    assert_non_null(strstr(page_text(), "dark blue"));
    options.class_names = "red,green";
    refuse(make_page(scores, &options), "--class-names: 2 names for 3 classes");
    options.class_names = "red,,blue"; /* an empty name is one */
    OK(make_page(scores, &options));
    FILE *list = fopen(in_folder(path, "names.txt"), "w");
    assert_non_null(list);
    fputs("ochre\r\n\nviolet\number\n", list);
    assert_int_equal(fclose(list), 0);
    options.class_names = path;
    OK(make_page(scores, &options));
    assert_non_null(strstr(page_text(), "violet"));
    options.class_names = "/nonexistent";
    refuse(make_page(scores, &options), "--class-names: 1 names for 3 classes");
}

/* --- the command that repeats a policy */
static void commands_name_the_conventions(void **state) {
    static const array none = {.name = NULL};
    const array predictions[] = {{"P", VG_ELEMENT_F64, 3, {N, M, C}, p}, {"L", VG_ELEMENT_I64, 1, {N}, labels}, none};
    static const struct {
        vg_preset preset;
        bool pairs, sigma, base, normalise, renormalise;
        const char *options;
    } cases[] = {
        {VG_PRESET_PAPER, 0, 0, 0, 0, 0, ""},
        {VG_PRESET_PAPER, 1, 1, 1, 1, 1, " --pairs distinct --sigma sample --log-base 2 --normalise --renormalise"},
        {VG_PRESET_VGE, 0, 0, 0, 0, 0, " --preset vge"},
        {VG_PRESET_MLJKU, 0, 0, 0, 0, 0, " --preset mljku"},
        {VG_PRESET_MLJKU, 1, 0, 1, 0, 0, " --preset mljku"}};
    char path[PATH], save_to[PATH];
    (void)state;
    snprintf(path, sizeof path, "%s", save("with space.npz", predictions));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vg_policy_options options = VG_POLICY_OPTIONS_INIT;
        vg_decide_options how = VG_DECIDE_OPTIONS_INIT;
        vg_decide_result result = VG_DECIDE_RESULT_INIT;
        vg_input_options input = VG_INPUT_OPTIONS_INIT;
        vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
        vg_policy *policy;
        OK(vg_score_options_preset(&scoring, cases[i].preset));
        if (cases[i].pairs)
            scoring.pairs = scoring.pairs == VG_PAIRS_ALL ? VG_PAIRS_DISTINCT : VG_PAIRS_ALL;
        if (cases[i].sigma)
            scoring.sigma_gate = scoring.sigma_margin = VG_SIGMA_SAMPLE;
        if (cases[i].base)
            scoring.log_base = scoring.log_base == VG_LOG_E ? VG_LOG_2 : VG_LOG_E;
        scoring.normalise |= cases[i].normalise;
        scoring.renormalise |= cases[i].renormalise;
        input.scoring = &scoring;
        options.by = "gmu";
        options.target_coverage = 0.5;
        options.calibration = path;
        OK(vg_policy_new(&policy, &options));
        OK(vg_decide_file(&result, policy, path, &input, &how));
        assert_non_null(policy->line);
        assert_non_null(strstr(policy->line, "with space.npz'"));
        if (!strstr(policy->line, cases[i].options))
            fail_msg("'%s' lacks '%s'", policy->line, cases[i].options);
        if (i == 0)
            assert_null(strstr(policy->line, "--p"));
        if (i == 4) { /* what differs from the preset */
            assert_non_null(strstr(policy->line, "--pairs "));
            assert_non_null(strstr(policy->line, "--log-base "));
        }
        how.save = in_folder(save_to, "policy.json");
        how.force = 1;
        OK(vg_decide_file(&result, policy, path, &input, &how));
        assert_non_null(strstr(policy->line, "--policy "));
        assert_null(strstr(policy->line, "--preset"));
        vg_policy_free(policy);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_checked),   cmocka_unit_test(scores_of_both_tasks_make_pages),
        cmocka_unit_test(ood_sets_are_checked), cmocka_unit_test(images_of_arrays_are_shown),
        cmocka_unit_test(names_of_classes),     cmocka_unit_test(commands_name_the_conventions),
    };
    return cmocka_run_group_tests(tests, set_up, remove_folder);
}
