/* test_workflow_advice.c - the advice on calibrators of a file that is larger than the sample it is taken from: the
 * sample is the same at any thread count, represents files sorted by class and files with a period, and its size is
 * named; a part of it is enough where that part leaves no doubt. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vargate/formats.h"
#include "workflow_util.h"

enum { N = 40000, M = 2, MOST_C = 20, ELEMENTS = 1 << 15, COMPARED = ELEMENTS / MOST_C };

typedef enum sample_order { AS_DRAWN, BY_CLASS, PERIODIC } sample_order;

static float p[N * M * MOST_C];
static int64_t labels[N];
static size_t C = MOST_C; /* classes */

static double uniform(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* The label of a sample of the file: drawn, rising, or repeating. */
static size_t label_of(sample_order order, size_t n, size_t i, uint64_t *state) {
    return order == BY_CLASS ? i * C / n : order == PERIODIC ? i % C : (size_t)(uniform(state) * (double)C);
}

/* Logits z = a e_y + noise are calibrated at temperature s^2 / a, where s is the noise's deviation, here 1: softmax of
 * a z is the posterior. `power` sharpens it, `tilt` prefers the later classes; both members are alike. */
static void draw(sample_order order, size_t n, double power, double tilt) {
    uint64_t state = 11;
    for (size_t i = 0; i < n; i++) {
        double z[MOST_C], sum = 0;
        size_t y = label_of(order, n, i, &state);
        for (size_t c = 0; c < C; c++) {
            double normal = sqrt(-2 * log(1 - uniform(&state))) * cos(6.283185307179586 * uniform(&state));
            z[c] = exp(power * 2 * (2 * (c == y) + normal) + tilt * (double)c / (double)C);
            sum += z[c];
        }
        labels[i] = (int64_t)y;
        for (size_t j = 0; j < M * C; j++)
            p[i * M * C + j] = (float)(z[j % C] / sum);
    }
}

static vg_evaluation_result *evaluate(size_t n, unsigned threads) {
    char path[PATH];
    size_t shape[] = {n, M, C};
    vg_writer *writer;
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    vg_evaluation_result *result;
    OK(vg_writer_open(&writer, in_folder(path, "p.npz")));
    OK(vg_writer_array(writer, "P", VG_ELEMENT_F32, 3, shape, p));
    OK(vg_writer_array(writer, "L", VG_ELEMENT_I64, 1, shape, labels));
    OK(vg_writer_close(writer));
    scoring.threads = threads;
    input.scoring = &scoring;
    OK(vg_evaluate_file(&result, path, &input, NULL));
    return result;
}

static const vg_finding *about_calibrators(const vg_evaluation_result *result) {
    for (size_t i = 0; i < result->finding_count; i++)
        if (strcmp(result->findings[i].about, "calibrator") == 0)
            return &result->findings[i];
    fail_msg("nothing is said about calibrators");
    return NULL;
}

static void advises(const char *choice, size_t n, const char *compared) {
    vg_evaluation_result *one = evaluate(n, 1), *two = evaluate(n, 2);
    const vg_finding *found = about_calibrators(one);
    if (strcmp(found->choice, choice) != 0)
        fail_msg("%s is advised, expected %s: %s", found->choice, choice, found->text);
    assert_string_equal(found->text, about_calibrators(two)->text);
    if (compared)
        assert_non_null(strstr(found->text, compared));
    else
        assert_null(strstr(found->text, "Compared on"));
    vg_evaluation_result_free(one);
    vg_evaluation_result_free(two);
}

static void test_orders(void **state) {
    (void)state;
    char words[64];
    snprintf(words, sizeof words, "Compared on %d of %d samples.", COMPARED, N);
    for (sample_order order = AS_DRAWN; order <= PERIODIC; order++) {
        draw(order, N, 1, 0);
        advises("none", N, words);
        draw(order, N, 2, 0);
        advises("temperature", N, words);
        draw(order, N, 1, 6);
        advises("vector", N, words);
    }
}

/* Where a third of the sample is enough, it is compared first, and the rest only where the third leaves a doubt. */
static void test_first_look(void **state) {
    (void)state;
    char third[64], all[64];
    C = 10;
    snprintf(third, sizeof third, "Compared on %d of %d samples.", ELEMENTS / 10 / 3, N);
    snprintf(all, sizeof all, "Compared on %d of %d samples.", ELEMENTS / 10, N);
    for (sample_order order = AS_DRAWN; order <= PERIODIC; order++) {
        draw(order, N, 1, 0);
        advises("none", N, all);
        draw(order, N, 2, 0);
        advises("temperature", N, third);
        draw(order, N, 1, 6);
        advises("vector", N, third);
        draw(order, N, 1.12, 0);
        advises("temperature", N, all);
    }
    C = MOST_C;
}

/* A file no larger than the sample is used as a whole, and nothing is said of a sample. */
static void test_small(void **state) {
    (void)state;
    draw(AS_DRAWN, COMPARED, 2, 0);
    advises("temperature", COMPARED, NULL);
    draw(AS_DRAWN, 30, 2, 0);
    vg_evaluation_result *result = evaluate(30, 1);
    assert_string_equal(about_calibrators(result)->verdict, "unknown");
    vg_evaluation_result_free(result);
}

/* Means in memory are advised on as a file is; what cannot be calibrated is named. */
static void test_in_memory(void **state) {
    (void)state;
    static double mean[N * MOST_C];
    vg_finding found;
    draw(BY_CLASS, N, 1, 6);
    for (size_t i = 0; i < N * C; i++)
        mean[i] = p[i / C * M * C + i % C];
    vg_evaluation_result *result = evaluate(N, 1);
    OK(vg_calibrator_finding(&found, mean, labels, N, C, 1));
    assert_string_equal(found.text, about_calibrators(result)->text);
    vg_evaluation_result_free(result);
    for (size_t i = 0; i < N * C; i++)
        mean[i] *= 2;
    OK(vg_calibrator_finding(&found, mean, labels, N, C, 1));
    assert_string_equal(found.verdict, "unknown");
    assert_non_null(strstr(found.text, "sums to 2"));
    assert_int_equal(vg_calibrator_finding(&found, mean, labels, N, 1, 1), VG_ERR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders), cmocka_unit_test(test_first_look),
                                       cmocka_unit_test(test_small), cmocka_unit_test(test_in_memory)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
