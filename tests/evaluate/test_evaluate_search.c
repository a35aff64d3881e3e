/* test_evaluate_search.c - candidates nominated on samples that are then not tested: which are nominated, which samples
 * the tests see, and how often the promise of the whole search is broken. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "evaluate/select_internal.h"
#include "vargate/evaluate.h"

enum { ROWS = 1000, WAYS = 54, NOMINEES = 3 };

typedef struct draw {
    double values[WAYS][ROWS];
    uint8_t errors[ROWS], marks[ROWS];
    vg_candidate list[WAYS];
} draw;

static draw data;

static void link_candidates(void) {
    for (size_t i = 0; i < WAYS; i++) {
        data.list[i] = (vg_candidate){.measure = {"u", data.values[i], 1, 0}, .errors = data.errors};
        snprintf(data.list[i].measure.name, VG_NAME_SIZE, "u%zu", i);
    }
}

/* Every measure is noise, and every threshold has the same risk. */
static void draw_flat(vg_random *random, double risk) {
    for (size_t n = 0; n < ROWS; n++) {
        data.errors[n] = vg_random__unit(random) < risk;
        for (size_t i = 0; i < WAYS; i++)
            data.values[i][n] = vg_random__unit(random);
    }
    link_candidates();
}

/* Measure 17 knows the errors, up to noise; the risk at coverage c is far below that of all. */
static void draw_informed(vg_random *random) {
    draw_flat(random, 0.1);
    for (size_t n = 0; n < ROWS; n++)
        data.values[17][n] = data.errors[n] ? 0.6 + 0.4 * vg_random__unit(random) : vg_random__unit(random);
}

/* nominated_on, tested: marks; the honest search has the same for both. */
static bool promises(const uint8_t *nominated_on, const uint8_t *tested, size_t *way, double *threshold) {
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    vg_selection s = VG_SELECTION_INIT;
    size_t nominees[NOMINEES], chosen;
    vg_candidate few[NOMINEES];
    o.target_risk = 0.05;
    assert_int_equal(vg_evaluate__nominate(nominees, NOMINEES, data.list, WAYS, ROWS, &o, nominated_on), VG_OK);
    for (size_t i = 0; i < NOMINEES; i++)
        few[i] = data.list[nominees[i]];
    assert_int_equal(vg_evaluate__select_marked(&s, &chosen, few, NOMINEES, ROWS, &o, tested), VG_OK);
    *way = nominees[chosen];
    *threshold = s.threshold;
    if (tested)
        assert_int_equal(s.samples + s.set_aside, ROWS);
    return s.met;
}

static void aside_is_drawn(void **state) {
    (void)state;
    size_t count = 0, same = 0;
    uint8_t other[ROWS];
    assert_int_equal(vg_evaluate__draw_aside(data.marks, ROWS, 200, 1), VG_OK);
    assert_int_equal(vg_evaluate__draw_aside(other, ROWS, 200, 2), VG_OK);
    for (size_t n = 0; n < ROWS; n++) {
        count += data.marks[n];
        same += data.marks[n] && other[n];
    }
    assert_int_equal(count, 200);
    assert_true(same > 10 && same < 90); /* 40 expected */
    assert_int_equal(vg_evaluate__usual_aside(1000), 200);
    assert_int_equal(vg_evaluate__usual_aside(100000), 1000);
    assert_int_equal(vg_evaluate__usual_aside(3), 1);
}

/* Changing what was set aside changes nothing in the tests, and changing what is tested nothing in the nomination. */
static void parts_do_not_mix(void **state) {
    (void)state;
    vg_random random = vg_random__start(3, 0);
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    size_t before[NOMINEES], after[NOMINEES], chosen;
    vg_selection first = VG_SELECTION_INIT, second = VG_SELECTION_INIT;
    double unlabelled[ROWS];
    draw_informed(&random);
    for (size_t n = 0; n < ROWS; n++)
        unlabelled[n] = vg_random__unit(&random);
    assert_int_equal(vg_evaluate__draw_aside(data.marks, ROWS, 200, 1), VG_OK);
    o.target_risk = 0.05;
    vg_candidate one = data.list[17];
    one.unlabelled = unlabelled;
    one.unlabelled_rows = ROWS;
    assert_int_equal(vg_evaluate__nominate(before, NOMINEES, data.list, WAYS, ROWS, &o, data.marks), VG_OK);
    assert_int_equal(vg_evaluate__select_marked(&first, &chosen, &one, 1, ROWS, &o, data.marks), VG_OK);
    for (size_t n = 0; n < ROWS; n++) /* wrong labels where they must not matter */
        if (data.marks[n])
            data.errors[n] = 1;
    assert_int_equal(vg_evaluate__select_marked(&second, &chosen, &one, 1, ROWS, &o, data.marks), VG_OK);
    assert_true(first.met);
    assert_memory_equal(&first, &second, sizeof first);
    vg_random again = vg_random__start(3, 0);
    draw_informed(&again);
    for (size_t n = 0; n < ROWS; n++)
        if (!data.marks[n])
            data.errors[n] = 1;
    assert_int_equal(vg_evaluate__nominate(after, NOMINEES, data.list, WAYS, ROWS, &o, data.marks), VG_OK);
    assert_memory_equal(before, after, sizeof before);
    assert_int_equal(before[0], 17);
    bool first_candidate = false;
    for (size_t i = 0; i < NOMINEES; i++)
        first_candidate = first_candidate || before[i] == 0;
    assert_true(first_candidate); /* always among them */
}

/* A flat risk just above the target: every promise is a broken one. Nominating on the samples that are tested breaks
 * far more than 5 %, which shows that the simulation would notice. */
static void promise_of_the_search(void **state) {
    (void)state;
    enum { DRAWS = 600 };
    size_t broken = 0, refuted = 0, way;
    double threshold;
    uint8_t all[ROWS];
    memset(all, 1, sizeof all);
    for (size_t d = 0; d < DRAWS; d++) {
        vg_random random = vg_random__start(11, d);
        draw_flat(&random, 0.0515);
        assert_int_equal(vg_evaluate__draw_aside(data.marks, ROWS, 200, d), VG_OK);
        broken += promises(data.marks, data.marks, &way, &threshold);
        refuted += promises(all, NULL, &way, &threshold);
    }
    print_message("broken: %.1f %% of %d searches; nominated on the tested samples: %.1f %%\n",
                  100.0 * (double)broken / DRAWS, DRAWS, 100.0 * (double)refuted / DRAWS);
    assert_true((double)broken <= 0.05 * DRAWS + 2 * sqrt(0.05 * 0.95 * DRAWS));
    assert_true((double)refuted > 0.08 * DRAWS);
}

/* Where one measure knows the errors, the search finds it and promises much. */
static void finds_what_works(void **state) {
    (void)state;
    enum { DRAWS = 60 };
    size_t met = 0;
    for (size_t d = 0; d < DRAWS; d++) {
        vg_random random = vg_random__start(12, d);
        size_t way = 0;
        double threshold = 0;
        draw_informed(&random);
        assert_int_equal(vg_evaluate__draw_aside(data.marks, ROWS, 200, d), VG_OK);
        met += promises(data.marks, data.marks, &way, &threshold) && way == 17 && threshold > 0.4;
    }
    assert_true(met > DRAWS * 9 / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aside_is_drawn),
        cmocka_unit_test(parts_do_not_mix),
        cmocka_unit_test(promise_of_the_search),
        cmocka_unit_test(finds_what_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
