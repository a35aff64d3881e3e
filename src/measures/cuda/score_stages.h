/* score_stages.h - the stages of a block in their order; the block synchronises after each. */
#ifndef VG_MEASURES_SCORE_STAGES_H
#define VG_MEASURES_SCORE_STAGES_H

#include "measures/cuda/score_sets.h"

enum { SCORE_STAGES = 16 };

/* B: members of one step of the integral; wide: arrays of double; place: a score_where; fine: the integral in double.
 * All constants. */
SCORE_FN void score_stage(const score_view *v, const int stage, int tid, const int B, const int wide, const int place,
                          const int fine) {
    const score_job *job = v->job;
    bool sets = job->need_sets;
    switch (stage) {
    case 0: stage_load(v, tid, wide, place == SCORE_SHARED); break;
    case 1:
        if (wide && job->logits)
            stage_softmax(v, tid);
        break;
    case 2: stage_sums(v, tid, wide); break;
    case 3: stage_squares(v, tid, wide); break;
    case 4: stage_gates(v, tid, wide); break;
    case 5: stage_class_parts(v, tid, wide); break;
    case 6: stage_class_totals(v, tid); break;
    case 7: stage_members(v, tid, wide); break;
    case 8: stage_weights(v, tid, wide); break;
    case 9:
        if (job->gated)
            stage_member_parts(v, tid, wide);
        break;
    case 10:
        if (job->gated)
            stage_member_totals(v, tid);
        break;
    case 11:
        if (job->need_logs || job->gated)
            stage_member_sums(v, tid, wide);
        break;
    case 12:
        if (sets)
            stage_sets(v, tid, B, wide, place != SCORE_SHARED, fine);
        break;
    case 13:
        if (sets)
            stage_set_parts(v, tid, wide);
        break;
    case 14:
        if (sets)
            stage_write(v, tid, wide);
        stage_margin(v, tid);
        break;
    default: stage_list(v, tid);
    }
}

#endif
