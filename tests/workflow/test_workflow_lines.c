/* test_workflow_lines.c - lines of a decision stream in every form that its two readers take: numbers of any length,
 * ids of any type, keys in any order, and lines that are answered by an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vargate/vargate.h"

static void assert_ok(vg_status status) {
    if (status != VG_OK)
        fail_msg("%s", vg_error_message());
}

typedef struct line {
    const char *text, *answer; /* a part of the answer */
    bool refused;
} line;

static void check(const line *lines, size_t count, const vg_policy_options *options) {
    vg_policy *policy;
    vg_decision_stream *stream;
    const char *answer;
    size_t length;
    assert_ok(vg_policy_new(&policy, options));
    assert_ok(vg_decision_stream_new(&stream, policy, NULL, NULL));
    for (size_t i = 0; i < count; i++) {
        vg_status status = vg_decision_stream_line(stream, lines[i].text, strlen(lines[i].text), &answer, &length);
        if (status != (lines[i].refused ? VG_ERR_DATA : VG_OK) || !strstr(answer, lines[i].answer))
            fail_msg("line %zu, %.80s: status %d, answer %s", i + 1, lines[i].text, (int)status, answer);
        assert_int_equal(strlen(answer), length);
        assert_true(length == 0 || answer[length - 1] == '\n');
        if (lines[i].refused) { /* the message has the number of the line */
            char number[32];
            snprintf(number, sizeof number, "line %zu", i + 1);
            assert_non_null(strstr(vg_error_message(), number));
        }
    }
    vg_decision_stream_free(stream);
    vg_policy_free(policy);
}

static void forms_of_lines(void **state) {
    static const line lines[] = {
        {"{\"p\": [[0.75, 0.25]]}", "{\"id\":null,\"pred\":0,", false},
        {"{\"id\": 7, \"p\": [[0.25, 0.75]]}", "{\"id\":7,\"pred\":1,", false},
        {"{\"p\":[[0.25,0.75]],\"id\":\"a b\"}", "{\"id\":\"a b\",\"pred\":1,", false},
        {" { \"p\" : [ [ 0.25 , 0.75 ] ] , \"id\" : -1.5e3 } ", "{\"id\":-1.5e3,", false},
        {"{\"id\": \"\\u00e9\", \"p\": [[0.25, 0.75]]}", "\"pred\":1", false},
        {"{\"id\": 0.1, \"other\": [1], \"p\": [[0.25, 0.75]]}", "{\"id\":0.1,", false},
        {"{\"id\": {\"a\": [1, null]}, \"p\": [[0.25, 0.75]]}", "{\"id\":{\"a\":[1,null]},", false},
        {"{\"id\": null, \"p\": [[0.25, 0.75]]}", "{\"id\":null,\"pred\":1", false},
        {"{\"p\": [0.25, 0.75]}", "\"pred\":1", false}, /* one member */
        {"{\"z\": [[1, 2.5], [-3, 0]]}", "\"pred\":1", false},
        {"{\"z\": [[1e2, 1E+2], [12345678901234567890123, 0.00000000000000000000000000000000001]]}", "\"pred\":0",
         false},
        {"{\"z\": [[0.1234567890123456789, 0.12345678901234567890123]]}", "\"pred\"", false},
        {"", "", false},
        {"   \t", "", false},
        {"[1]", "not a JSON object", true},
        {"{\"p\": [[0.5, 0.5]]", "not JSON at byte", true},
        {"{\"p\": [[0.5, 0.5]]} x", "not JSON at byte", true},
        {"{\"p\": [[0.5, 0.5]], \"p\": [[0.5, 0.5]]}", "not JSON at byte", true},
        {"{\"p\": [[00.5, 0.5]]}", "not JSON at byte", true},
        {"{\"p\": [[0.5, .5]]}", "not JSON at byte", true},
        {"{\"p\": [[0.5, 1.]]}", "not JSON at byte", true},
        {"{\"p\": [[0.5, 1e]]}", "not JSON at byte", true},
        {"{\"id\": 3, \"p\": [[0.5, 0.5]], \"z\": [[1, 2]]}", "{\"id\":3,\"error\":", true},
        {"{\"id\": 4}", "{\"id\":4,\"error\":", true},
        {"{\"id\": 5, \"p\": []}", "{\"id\":5,\"error\":", true},
        {"{\"id\": 6, \"p\": [[]]}", "member 0 has 0 values", true},
        {"{\"id\": 7, \"p\": [[0.5, 0.5], [1]]}", "member 1 has 1 values, expected 2", true},
        {"{\"id\": 8, \"p\": [[0.5, \"x\"]]}", "member 0, class 1 is not a number", true},
        {"{\"id\": 9, \"p\": [[0.5, 0.75]]}", "{\"id\":9,\"error\":", true},
        {"{\"id\": 10, \"p\": 1}", "{\"id\":10,\"error\":", true},
        {"{\"id\": 11, \"p\": [[0.75, 0.25]]}", "{\"id\":11,\"pred\":0,", false}, /* the stream goes on */
    };
    vg_policy_options options = VG_POLICY_OPTIONS_INIT;
    (void)state;
    options.k = 1;
    check(lines, sizeof lines / sizeof *lines, &options);
}

/* More shapes than scorers are kept for, there and back. */
static void shapes_of_lines(void **state) {
    static char text[4096];
    vg_policy *policy;
    vg_decision_stream *stream;
    const char *answer;
    size_t length;
    (void)state;
    assert_ok(vg_policy_new(&policy, NULL));
    assert_ok(vg_decision_stream_new(&stream, policy, NULL, NULL));
    for (int turn = 0; turn < 2; turn++)
        for (size_t classes = 2; classes < 30; classes++) {
            size_t used = (size_t)snprintf(text, sizeof text, "{\"z\": [[");
            for (size_t c = 0; c < classes; c++)
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu", c ? "," : "", c == 1 ? 9 : c % 3);
            snprintf(text + used, sizeof text - used, "]]}");
            assert_ok(vg_decision_stream_line(stream, text, strlen(text), &answer, &length));
            assert_non_null(strstr(answer, "\"pred\":1"));
        }
    vg_decision_stream_free(stream);
    vg_decision_stream_free(NULL);
    vg_policy_free(policy);
    vg_policy_free(NULL);
}

/* Options of a policy that contradict each other, each named in the refusal. */
static void policies_that_are_refused(void **state) {
    vg_policy *policy;
    (void)state;
#define REFUSED(words, ...)                                                                                            \
    do {                                                                                                               \
        vg_policy_options options = VG_POLICY_OPTIONS_INIT;                                                            \
        __VA_ARGS__;                                                                                                   \
        vg_status status = vg_policy_new(&policy, &options);                                                           \
        if (status == VG_OK || !strstr(vg_error_message(), words))                                                     \
            fail_msg("status %d, '%s', expected '%s'", (int)status, vg_error_message(), words);                        \
    } while (0)
    REFUSED("did you mean 'gmu'?", options.by = "gmuu"; options.threshold = 1);
    REFUSED("unknown measure 'something-else'; expected k, tu,", options.by = "something-else"; options.threshold = 1);
    REFUSED("a gated measure needs its gate setting: gtu@1", options.by = "gtu"; options.threshold = 1);
    REFUSED("a gated measure needs its gate setting: gtu@1", options.by = "gtu@ 1"; options.threshold = 1);
    REFUSED("--by tu@2: tu has no gate setting", options.by = "tu@2"; options.threshold = 1);
    REFUSED("the gate setting must be > 0", options.by = "gtu@0"; options.threshold = 1);
    REFUSED("tu is named twice", options.by = "tu,tu"; options.target_risk = 0.1; options.calibration = "x");
    REFUSED("several candidates need --target-risk", options.by = "tu,au"; options.threshold = 1);
    REFUSED("--by: more than 16 names", options.target_risk = 0.1; options.calibration = "x";
            options.by = "tu,au,eu,epce,epkl,epjs,gmu,snr,maxprob,gap,topstd,votes,gtu@1,gtu@2,gau@1,gau@2,geu@1");
    REFUSED("exclude each other", options.target_risk = 0.1; options.target_coverage = 0.5; options.calibration = "x");
    REFUSED("a target chooses k; give one or the other", options.target_risk = 0.1; options.k = 1;
            options.calibration = "x");
    REFUSED("a target chooses the threshold", options.target_risk = 0.1; options.threshold = 1;
            options.calibration = "x");
    REFUSED("--target-risk needs --calibration", options.target_risk = 0.1);
    REFUSED("--target-coverage needs --calibration", options.target_coverage = 0.1);
    REFUSED("--calibration needs --target-risk or --target-coverage", options.calibration = "x");
    REFUSED("--threshold needs --by MEASURE", options.threshold = 1);
    REFUSED("-k belongs to the decision rule", options.by = "tu"; options.k = 1);
    REFUSED("--by tu needs --threshold", options.by = "tu");
    REFUSED("target_risk: 1 is not between 0 and 1", options.target_risk = 1; options.calibration = "x");
    REFUSED("target_coverage: 0 is not in 0..1", options.target_coverage = 0; options.calibration = "x");
    REFUSED("confidence: 1 is not between 0 and 1", options.confidence = 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_of_lines),
        cmocka_unit_test(shapes_of_lines),
        cmocka_unit_test(policies_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
