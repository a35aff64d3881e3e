/* runs_util.h - what tests of orderings share. */
#ifndef RUNS_UTIL_H
#define RUNS_UTIL_H

#include "evaluate/evaluate_internal.h"

/* Whether there is a next run. */
static inline bool next_run(vg_rank_run *run, vg_rank_order *order) {
    assert_int_equal(vg_evaluate__rank_next(run, order), VG_OK);
    return run->count > 0;
}

#endif
