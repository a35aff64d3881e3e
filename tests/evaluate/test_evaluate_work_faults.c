/* test_evaluate_work_faults.c - what calls of the module cost besides their results: threads that are started and
 * blocks of memory that are asked for. No fault is made: faults/fault_preload.c, which the build links into this
 * program by its name, counts. */
#include <math.h>

#include "fault_loop.h"
#include "vargate/sets.h"

enum { ROWS = 20000, CLASSES = 4 };
static double mean[ROWS * CLASSES], std[ROWS * CLASSES], u[ROWS];
static int64_t labels[ROWS];
static uint8_t errors[ROWS];
static const vg_measure measures[2] = {{"tu", u, 1, 0}, {"snr", u, 1, 1}};

static int fill(void **state) {
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        labels[i] = (int64_t)(i * 7 % CLASSES);
        u[i] = (double)(i * 7919 % ROWS);
        errors[i] = i % 9 == 0;
        for (size_t c = 0; c < CLASSES; c++) {
            mean[i * CLASSES + c] = (int64_t)c == labels[i] ? 0.4 : 0.2;
            std[i * CLASSES + c] = 0.1;
        }
    }
    return 0;
}

/* Memory of a tally grows by half: samples fed one by one need few blocks. */
static void tallies(void **state) {
    (void)state;
    vg_tally_options o = VG_TALLY_OPTIONS_INIT;
    for (size_t expected = 0; expected <= ROWS; expected += ROWS) {
        vg_tally *tally;
        o.expected = expected;
        assert_int_equal(vg_tally_new(&tally, CLASSES, &o), VG_OK);
        vg_fault_arm("none", 0, false);
        for (size_t i = 0; i < ROWS; i++)
            assert_int_equal(vg_tally_feed(tally, mean + i * CLASSES, std + i * CLASSES, labels + i, 1), VG_OK);
        unsigned long blocks = vg_fault_calls("alloc");
        print_message("%d rows, %zu expected: %lu blocks\n", ROWS, expected, blocks);
        assert_true(blocks <= (expected ? 5 : 140)); /* five arrays each time */
        vg_tally_free(tally);
    }
}

/* As many threads as are asked for, the caller one of them. */
static void threads(void **state) {
    (void)state;
    vg_tally_options how = VG_TALLY_OPTIONS_INIT;
    vg_evaluate_options o = VG_EVALUATE_OPTIONS_INIT;
    vg_ood_options ood = VG_OOD_OPTIONS_INIT;
    vg_ood_row rows[2];
    vg_tally *tally;
    vg_evaluation *e;
    how.bootstrap = 1;
    o.resamples = ood.resamples = 20;
    assert_int_equal(vg_tally_new(&tally, CLASSES, &how), VG_OK);
    assert_int_equal(vg_tally_feed(tally, mean, std, labels, ROWS), VG_OK);
    for (unsigned count = 1; count <= 4; count++) {
        o.threads = ood.threads = count;
        vg_fault_arm("none", 0, false);
        assert_int_equal(vg_evaluate(&e, tally, measures, 2, &o), VG_OK);
        assert_int_equal(vg_fault_calls("thread"), count - 1);
        vg_evaluation_free(e);
        vg_fault_arm("none", 0, false);
        assert_int_equal(vg_ood_evaluate(rows, measures, ROWS, measures, ROWS / 2, 2, &ood), VG_OK);
        assert_int_equal(vg_fault_calls("thread"), count - 1);
    }
    vg_tally_free(tally);
}

/* Sets of a few samples are made by the caller alone. Blocks of the same size need memory once, pools of calibration
 * scores grow by a share. */
static void sets(void **state) {
    (void)state;
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    vg_sets_options o = VG_SETS_OPTIONS_INIT;
    vg_set_places places = VG_SET_PLACES_INIT;
    static int32_t size[ROWS];
    vg_sets *one;
    scoring.threads = 3;
    o.scoring = &scoring;
    places.size = size;
    vg_predictions few = vg_predictions_f64(mean, 20, 1, CLASSES), many = vg_predictions_f64(mean, ROWS, 1, CLASSES);
    assert_int_equal(vg_sets_new(&one, &o), VG_OK);
    vg_fault_arm("none", 0, false);
    for (int i = 0; i < 100; i++)
        assert_int_equal(vg_sets_feed(one, NULL, &few, labels, NULL), VG_OK);
    print_message("100 blocks of 20: %lu threads, %lu blocks\n", vg_fault_calls("thread"), vg_fault_calls("alloc"));
    assert_true(vg_fault_calls("thread") == 0 && vg_fault_calls("alloc") <= 30);
    assert_int_equal(vg_sets_feed(one, &places, &few, labels, NULL), VG_OK);
    assert_int_equal(vg_fault_calls("thread"), 0);
    assert_int_equal(vg_sets_feed(one, &places, &many, labels, NULL), VG_OK);
    assert_int_equal(vg_fault_calls("thread"), 2);
    unsigned long blocks = vg_fault_calls("alloc");
    assert_int_equal(vg_sets_feed(one, &places, &many, labels, NULL), VG_OK);
    assert_int_equal(vg_fault_calls("thread"), 2);
    assert_int_equal(vg_fault_calls("alloc"), blocks);
    vg_sets_free(one);
}

/* Every kind of sets, freed after each of its steps: made, calibrated in part, applied in part. */
static void dropped_sets(void **state) {
    (void)state;
    static const char *const groups[] = {"a", "b", "a", "c", "b", "a", "b", "c", "a", "b",
                                         "c", "a", "b", "a", "c", "b", "a", "b", "c", "a"};
    static int32_t size[ROWS];
    vg_predictions few = vg_predictions_f64(mean, 20, 1, CLASSES);
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    vg_set_places places = VG_SET_PLACES_INIT;
    scoring.threads = 1;
    places.size = size;
    for (int score = VG_SET_LAC; score <= VG_SET_TOPK; score++)
        for (int by = VG_SETS_BY_NONE; by <= VG_SETS_BY_TOP; by++)
            for (int kind = 0; kind < 4; kind++)
                for (int steps = 0; steps <= 3; steps++) {
                    vg_sets_options o = VG_SETS_OPTIONS_INIT;
                    vg_sets *one;
                    const char *const *of = by == VG_SETS_BY_GROUP ? groups : NULL;
                    o.score = (vg_set_score)score, o.by = (vg_set_by)by;
                    o.scoring = &scoring;
                    o.gate = kind == 1 ? 2 : NAN;
                    o.p_values = kind == 2;
                    o.sites = kind == 3 ? 4 : 0;
                    o.tuning = 0.5; /* where lambda is to be found */
                    long before = vg_fault_live();
                    if (vg_sets_new(&one, &o) != VG_OK)
                        continue; /* a kind that there is not */
                    if (steps > 0)
                        assert_int_equal(vg_sets_feed(one, NULL, &few, labels, of), VG_OK);
                    if (steps > 1)
                        assert_int_equal(vg_sets_feed(one, NULL, NULL, NULL, NULL), VG_OK);
                    if (steps > 2)
                        assert_int_equal(vg_sets_feed(one, &places, &few, labels, of), VG_OK);
                    vg_sets_free(one);
                    if (vg_fault_live() != before)
                        fail_msg("score %d, by %d, kind %d: %ld blocks left after step %d", score, by, kind,
                                 vg_fault_live() - before, steps);
                }
}

/* Functions without an object keep nothing and start nothing. */
static void rankings(void **state) {
    (void)state;
    vg_ranking ranking;
    vg_estimate area;
    long before = vg_fault_live();
    vg_fault_arm("none", 0, false);
    assert_int_equal(vg_rank(&ranking, &measures[0], errors, ROWS, NULL), VG_OK);
    assert_int_equal(vg_auroc(&area, &measures[0], errors, ROWS, NULL), VG_OK);
    print_message("a ranking and an area of %d rows: %lu blocks\n", ROWS, vg_fault_calls("alloc"));
    assert_true(vg_fault_calls("thread") == 0 && vg_fault_calls("alloc") <= 40 && vg_fault_live() == before);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tallies), cmocka_unit_test(threads), cmocka_unit_test(sets),
                                       cmocka_unit_test(dropped_sets), cmocka_unit_test(rankings)};
    return cmocka_run_group_tests(tests, fill, NULL);
}
