/* test_workflow_search.c - a target risk without a measure to decide by: the search over every measure, plain and
 * calibrated; how often its promise is broken on files whose risk is known; the policy's file. */
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "folder_util.h"
#include "vargate/formats.h"
#include "vargate/policy.h"
#include "vargate/workflow.h"

enum { M = 4, MOST = 1500 };

static char validation[300], test[300], saved[300];
static double logits[MOST * M * 3];
static int64_t labels[MOST];

static void assert_ok(vg_status status) {
    if (status != VG_OK)
        fail_msg("%d: %s", (int)status, vg_error_message());
}

static void write_file(const char *path, size_t n, size_t c) {
    size_t shape[] = {n, M, c};
    vg_writer *writer;
    assert_ok(vg_writer_open(&writer, path));
    assert_ok(vg_writer_array(writer, "Z", VG_ELEMENT_F64, 3, shape, logits));
    assert_ok(vg_writer_array(writer, "L", VG_ELEMENT_I64, 1, shape, labels));
    assert_ok(vg_writer_close(writer));
}

static size_t predicted(size_t n, size_t c) {
    size_t best = 0;
    double most = -1;
    for (size_t k = 0; k < c; k++) {
        double mean = 0;
        for (size_t m = 0; m < M; m++) {
            double sum = 0;
            for (size_t j = 0; j < c; j++)
                sum += exp(logits[(n * M + m) * c + j] - logits[(n * M + m) * c + k]);
            mean += 1 / sum;
        }
        if (mean > most) {
            most = mean;
            best = k;
        }
    }
    return best;
}

/* Two classes, wrong with chance `risk` whatever the members say. Where a temperature changes the predicted class, the
 * risk of the changed prediction is larger, so that nothing has a smaller risk. */
static void draw_flat(vg_random *random, const char *path, size_t n, double risk) {
    for (size_t i = 0; i < n; i++) {
        double strength = 4 * vg_random__unit(random);
        for (size_t m = 0; m < M; m++) {
            logits[(i * M + m) * 2] = strength + 2 * vg_random__normal(random);
            logits[(i * M + m) * 2 + 1] = 0;
        }
        size_t best = predicted(i, 2);
        labels[i] = (int64_t)(vg_random__unit(random) < risk ? 1 - best : best);
    }
    write_file(path, n, 2);
}

/* Three classes; the members know how sure they are. */
static void draw_informed(vg_random *random, const char *path, size_t n, double spread) {
    for (size_t i = 0; i < n; i++) {
        double strength = 8 * vg_random__unit(random);
        labels[i] = (int64_t)vg_random__below(random, 3);
        double common[3] = {vg_random__normal(random), vg_random__normal(random), vg_random__normal(random)};
        for (size_t m = 0; m < M; m++)
            for (size_t c = 0; c < 3; c++)
                logits[(i * M + m) * 3 + c] =
                    2 * (common[c] + spread * vg_random__normal(random) + (c == (size_t)labels[i] ? strength : 0));
    }
    write_file(path, n, 3);
}

static int open_folder(void **state) {
    if (make_folder(state) != 0)
        return -1;
    snprintf(validation, sizeof validation, "%s/validation.npz", folder);
    snprintf(test, sizeof test, "%s/test.npz", folder);
    snprintf(saved, sizeof saved, "%s/policy.json", folder);
    return 0;
}

static vg_policy *new_policy(double risk) {
    vg_policy_options asked = VG_POLICY_OPTIONS_INIT;
    vg_policy *policy;
    asked.target_risk = risk;
    asked.calibration = validation;
    assert_ok(vg_policy_new(&policy, &asked));
    return policy;
}

/* --- the promise -------------------------------------------------------------------------------------------------- */
static void promise_holds(void **state) {
    (void)state;
    enum { DRAWS = 250, SAMPLES = 600 };
    size_t broken = 0;
    for (uint64_t d = 0; d < DRAWS; d++) {
        vg_random random = vg_random__start(21, d);
        vg_decide_result result = VG_DECIDE_RESULT_INIT;
        vg_policy *policy = new_policy(0.05);
        draw_flat(&random, validation, SAMPLES, 0.0515);
        draw_flat(&random, test, 200, 0.0515);
        vg_status status = vg_decide_file(&result, policy, test, NULL, NULL);
        assert_true(status == VG_OK || status == VG_ERR_DATA);
        if (status == VG_ERR_DATA)
            assert_non_null(strstr(vg_error_message(), "ways to decide"));
        broken += status == VG_OK;
        vg_policy_free(policy);
    }
    print_message("broken: %.1f %% of %d searches\n", 100.0 * (double)broken / DRAWS, DRAWS);
    assert_true((double)broken <= 0.05 * DRAWS + 2 * sqrt(0.05 * 0.95 * DRAWS));
}

static void finds_a_policy(void **state) {
    (void)state;
    vg_random random = vg_random__start(22, 0);
    vg_decide_result result = VG_DECIDE_RESULT_INIT, again = VG_DECIDE_RESULT_INIT;
    vg_policy *policy = new_policy(0.02);
    draw_informed(&random, validation, MOST, 0.5);
    draw_informed(&random, test, MOST, 0.5);
    assert_ok(vg_decide_file(&result, policy, test, NULL, NULL));
    assert_true(policy->searched == 54 && policy->tuning == MOST / 5);
    assert_int_equal(policy->selection->candidates, 3);
    assert_int_equal(policy->selection->set_aside, MOST / 5);
    assert_true(result.kept > MOST / 2);
    assert_true((double)(result.kept - result.kept_correct) < 0.03 * (double)result.kept);
    assert_non_null(strstr(policy->sentence, "with 95 % confidence at most 2 % of what is kept is wrong"));
    /* What `again` says decides the same. */
    vg_policy_options given = VG_POLICY_OPTIONS_INIT;
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    given.by = policy->name;
    *(policy->by_rule ? &given.k : &given.threshold) = policy->by_rule ? policy->k : policy->threshold;
    input.temperature = policy->temperature;
    vg_policy *same;
    assert_ok(vg_policy_new(&same, &given));
    assert_ok(vg_decide_file(&again, same, test, &input, NULL));
    assert_int_equal(again.kept, result.kept);
    vg_policy_free(same);
    vg_policy_free(policy);
}

static void says_why_nothing_will_do(void **state) {
    (void)state;
    vg_random random = vg_random__start(23, 0);
    vg_decide_result result = VG_DECIDE_RESULT_INIT;
    vg_policy *policy = new_policy(0.001);
    draw_informed(&random, validation, 400, 0.00001);
    draw_informed(&random, test, 300, 0.00001);
    assert_int_equal(vg_decide_file(&result, policy, test, NULL, NULL), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "the ensemble is collapsed"));
    assert_non_null(strstr(vg_error_message(), "even without an error it takes"));
    assert_false(policy->chosen);
    vg_policy_free(policy);
}

/* --- the file ----------------------------------------------------------------------------------------------------- */
static void refuses_policy(const char *text, const char *message) {
    vg_policy_options asked = VG_POLICY_OPTIONS_INIT;
    char path[300];
    vg_policy *policy;
    snprintf(path, sizeof path, "%s/bad.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    asked.file = path;
    assert_int_equal(vg_policy_new(&policy, &asked), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), message));
}

static void keeps_a_policy(void **state) {
    (void)state;
    vg_random random = vg_random__start(22, 0);
    vg_decide_options options = VG_DECIDE_OPTIONS_INIT;
    vg_decide_result result = VG_DECIDE_RESULT_INIT, again = VG_DECIDE_RESULT_INIT;
    vg_policy *policy = new_policy(0.02), *loaded;
    vg_policy_options asked = VG_POLICY_OPTIONS_INIT;
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    draw_informed(&random, validation, MOST, 0.5);
    draw_informed(&random, test, MOST, 0.5);
    options.save = saved;
    assert_ok(vg_decide_file(&result, policy, test, NULL, &options));
    asked.file = saved;
    assert_ok(vg_policy_new(&loaded, &asked));
    assert_true(loaded->chosen && loaded->selection);
    assert_string_equal(loaded->text, policy->text);
    assert_string_equal(loaded->sentence, policy->sentence);
    assert_memory_equal(&loaded->threshold, &policy->threshold, sizeof(double));
    assert_ok(vg_decide_file(&again, loaded, test, NULL, NULL));
    assert_int_equal(again.kept, result.kept);
    assert_true(loaded->selection->risk_bound == policy->selection->risk_bound);
    /* Conventions are the policy's: others are refused. */
    scoring.log_base = VG_LOG_2;
    input.scoring = &scoring;
    assert_int_equal(vg_decide_file(&again, loaded, test, &input, NULL), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "another 'log_base'"));
    input.scoring = NULL;
    input.temperature = "2";
    assert_int_equal(vg_decide_file(&again, loaded, test, &input, NULL), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "--calibration-map"));
    /* Other classes are refused, in files and in streams. */
    draw_flat(&random, test, 50, 0.1);
    assert_int_equal(vg_decide_file(&again, loaded, test, NULL, NULL), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "4 members and 2 classes, the policy"));
    vg_decision_stream *stream;
    const char *answer;
    size_t length;
    static const char narrow[] = "{\"id\":1,\"z\":[[1,2],[1,2],[1,2],[1,2]]}",
                      fits[] = "{\"id\":2,\"z\":[[1,2,9],[1,2,9],[1,2,9],[1,2,9.5]]}";
    assert_ok(vg_decision_stream_new(&stream, loaded, NULL, NULL));
    assert_int_equal(vg_decision_stream_line(stream, narrow, sizeof narrow - 1, &answer, &length), VG_ERR_DATA);
    assert_non_null(strstr(answer, "the policy is for 4 and 3"));
    assert_ok(vg_decision_stream_line(stream, fits, sizeof fits - 1, &answer, &length));
    assert_non_null(strstr(answer, "\"decision\":2"));
    vg_decision_stream_free(stream);
    vg_policy_free(loaded);
    vg_policy_free(policy);
}

static void refuses_bad_files(void **state) {
    (void)state;
    refuses_policy("{}", "not a policy");
    refuses_policy("[1, 2", "bad.json: ");
    refuses_policy("{\"schema\": \"vargate/9\", \"command\": \"policy\"}", "a policy of schema vargate/9");
    refuses_policy("{\"schema\": \"vargate/1\", \"command\": \"policy\", \"by\": \"gmi\"}", "unknown measure 'gmi'");
    refuses_policy("{\"schema\": \"vargate/1\", \"command\": \"policy\", \"by\": \"k\", \"k\": -1}", "'k' is missing");
    refuses_policy("{\"schema\": \"vargate/1\", \"command\": \"policy\", \"by\": \"k\", \"k\": 1}", "'members' or");
    refuses_policy("{\"schema\": \"vargate/1\", \"command\": \"policy\", \"by\": \"k\", \"k\": 1, \"members\": 2, "
                   "\"classes\": 2}",
                   "conventions.task");
}

/* Temperatures that the caller gave, and names of the classes, are kept with the policy. */
static void keeps_what_was_given(void **state) {
    (void)state;
    vg_random random = vg_random__start(24, 0);
    vg_policy_options given = VG_POLICY_OPTIONS_INIT, asked = VG_POLICY_OPTIONS_INIT;
    vg_decide_options options = VG_DECIDE_OPTIONS_INIT;
    vg_decide_result result = VG_DECIDE_RESULT_INIT, again = VG_DECIDE_RESULT_INIT;
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    vg_policy *policy, *loaded;
    draw_informed(&random, test, 300, 0.5);
    given.by = "tu";
    given.threshold = 0.3;
    input.temperature = "2.5,2.25,2,1.75";
    input.classes = "cat,dog,eel";
    options.save = saved;
    options.force = 1;
    assert_ok(vg_policy_new(&policy, &given));
    assert_ok(vg_decide_file(&result, policy, test, &input, &options));
    asked.file = saved;
    assert_ok(vg_policy_new(&loaded, &asked));
    assert_string_equal(loaded->temperature, "2.5,2.25,2,1.75");
    input.temperature = NULL;
    assert_ok(vg_decide_file(&again, loaded, test, &input, NULL));
    assert_int_equal(again.kept, result.kept);
    input.classes = "cat,eel,dog";
    assert_int_equal(vg_decide_file(&again, loaded, test, &input, NULL), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "class 1 is 'eel'"));
    vg_policy_free(loaded);
    vg_policy_free(policy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promise_holds),     cmocka_unit_test(finds_a_policy),
        cmocka_unit_test(keeps_a_policy),    cmocka_unit_test(says_why_nothing_will_do),
        cmocka_unit_test(refuses_bad_files), cmocka_unit_test(keeps_what_was_given),
    };
    return cmocka_run_group_tests(tests, open_folder, remove_folder);
}
