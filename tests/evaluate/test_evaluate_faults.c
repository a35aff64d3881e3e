/* test_evaluate_faults.c - the functions over arrays of the C API (scoring, sites, trees, calibration, evaluation,
 * rankings, selection, prediction sets) with an allocation failing, for every stack of calls that makes one. The calls
 * are those of tests/faults/api_arrays.c, of which test_api_faults.sh walks a sample with every other kind of fault. */
#include "api_walk.h"
#include "evaluate/select_internal.h"
#include "fault_loop.h"

static double figure;

static vg_status call_case(void *context) {
    figure = 0;
    return ((const api_case *)context)->call(&figure);
}

static void every_case(void **state) {
    (void)state;
    for (const api_case *c = array_cases; c->name; c++)
        walk_faults((fault_walk){.what = c->name,
                                 .body = call_case,
                                 .context = (void *)(uintptr_t)c,
                                 .kind = "alloc",
                                 .status = VG_ERR_MEMORY,
                                 .figure = &figure});
}

/* The choice of candidates, which the search of `decide` makes. */
static vg_status nominate(void *context) {
    enum { ROWS = 60, LISTED = 4 };
    static double values[LISTED][ROWS];
    static uint8_t errors[ROWS], marks[ROWS];
    vg_candidate list[LISTED];
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    size_t nominees[2] = {9, 9};
    (void)context;
    o.target_risk = 0.2;
    for (size_t i = 0; i < ROWS; i++) {
        errors[i] = i % 7 == 0;
        marks[i] = i % 3 == 0;
        for (size_t c = 0; c < LISTED; c++)
            values[c][i] = (double)((i * (11 + 6 * c)) % ROWS) + (c == 2 && errors[i] ? ROWS : 0);
    }
    for (size_t c = 0; c < LISTED; c++)
        list[c] = (vg_candidate){.measure = {"u", values[c], 1, 0}, .errors = errors};
    vg_status status = vg_evaluate__nominate(nominees, 2, list, LISTED, ROWS, &o, marks);
    figure = (double)(10 * nominees[0] + nominees[1]);
    assert_true(status != VG_OK || (nominees[0] == 2 && nominees[1] == 0));
    return status;
}

static void nominations(void **state) {
    (void)state;
    walk_faults((fault_walk){
        .what = "nominate", .body = nominate, .kind = "alloc", .status = VG_ERR_MEMORY, .figure = &figure});
}

/* The test of the best measure against the next one: no evaluation comes back without it. */
static vg_status lead(void *context) {
    enum { ROWS = 90, CLASSES = 2 };
    static double mean[ROWS * CLASSES], values[2][ROWS];
    static int64_t labels[ROWS];
    vg_tally *tally = NULL;
    vg_evaluation *e = NULL;
    vg_evaluate_options o = VG_EVALUATE_OPTIONS_INIT;
    (void)context;
    o.threads = 1;
    for (size_t i = 0; i < ROWS; i++) {
        mean[i * CLASSES] = 0.9, mean[i * CLASSES + 1] = 0.1;
        labels[i] = i % 4 == 0;
        for (size_t m = 0; m < 2; m++)
            values[m][i] = (double)((i * (7 + 4 * m)) % ROWS) + (labels[i] ? 30 - 20 * (double)m : 0);
    }
    const vg_measure measures[2] = {{"a", values[0], 1, 0}, {"b", values[1], 1, 0}};
    vg_status status = vg_tally_new(&tally, CLASSES, NULL);
    if (status == VG_OK)
        status = vg_tally_feed(tally, mean, NULL, labels, ROWS);
    if (status == VG_OK)
        status = vg_evaluate(&e, tally, measures, 2, &o);
    figure = e ? e->lead.p_value : 0;
    vg_evaluation_free(e);
    vg_tally_free(tally);
    return status;
}

static void leads(void **state) {
    (void)state;
    assert_int_equal(lead(NULL), VG_OK);
    assert_true(figure > 0 && figure < 1);
    walk_faults(
        (fault_walk){.what = "lead", .body = lead, .kind = "alloc", .status = VG_ERR_MEMORY, .figure = &figure});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case), cmocka_unit_test(nominations),
                                       cmocka_unit_test(leads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
