/* score_phases.h - the phases of a block in their order; the block synchronises after each. */
#ifndef VG_MEASURES_SCORE_PHASES_H
#define VG_MEASURES_SCORE_PHASES_H

#include "measures/cuda/score_sets.h"

enum { SCORE_PHASES = 16 };

/* B: members of one step of the integral; wide: arrays of double; place: a score_where; fine: the integral in double.
 * All constants. */
SCORE_FN void score_phase(const score_view *v, const int phase, int tid, const int B, const int wide, const int place,
                          const int fine) {
    const score_job *job = v->job;
    bool sets = job->need_sets;
    switch (phase) {
    case 0: phase_load(v, tid, wide, place == SCORE_SHARED); break;
    case 1:
        if (wide && job->logits)
            phase_softmax(v, tid);
        break;
    case 2: phase_sums(v, tid, wide); break;
    case 3: phase_squares(v, tid, wide); break;
    case 4: phase_gates(v, tid, wide); break;
    case 5: phase_class_parts(v, tid, wide); break;
    case 6: phase_class_totals(v, tid); break;
    case 7: phase_members(v, tid, wide); break;
    case 8: phase_weights(v, tid, wide); break;
    case 9:
        if (job->gated)
            phase_member_parts(v, tid, wide);
        break;
    case 10:
        if (job->gated)
            phase_member_totals(v, tid);
        break;
    case 11:
        if (job->need_logs || job->gated)
            phase_member_sums(v, tid, wide);
        break;
    case 12:
        if (sets)
            phase_sets(v, tid, B, wide, place != SCORE_SHARED, fine);
        break;
    case 13:
        if (sets)
            phase_set_parts(v, tid, wide);
        break;
    case 14:
        if (sets)
            phase_write(v, tid, wide);
        phase_margin(v, tid);
        break;
    default: phase_list(v, tid);
    }
}

#endif
