/* test_evaluate_faults.c - the functions over arrays of the C API (scoring, sites, trees, calibration, evaluation,
 * rankings, selection, prediction sets) with an allocation failing, for every stack of calls that makes one. The calls
 * are those of tests/faults/api_arrays.c, of which test_api_faults.sh walks a sample with every other kind of fault. */
#include "api_walk.h"
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
