/* problem.c - maps temperatures (one shared or one per member) to the losses of members, and reports progress. */
#include <math.h>
#include <string.h>

#include "calibrate/solvers.h"

vg_status vg_problem__start(vg_problem *out, vg_logits *logits, const vg_calibrate_options *options,
                            unsigned sweeps_most) {
    memset(out, 0, sizeof *out);
    out->logits = logits;
    out->shared = options->shared != 0;
    out->count = out->shared ? 1 : logits->m;
    out->options = options;
    out->sweeps_most = sweeps_most;
    vg_status status = vg_base__alloc(&out->b, logits->m, sizeof(double), "member temperatures");
    if (status == VG_OK)
        status = vg_base__alloc(&out->active, logits->m, sizeof(bool), "member temperatures");
    if (status == VG_OK)
        status = vg_base__alloc(&out->losses, logits->m, sizeof(vg_temperature_loss), "member losses");
    if (status != VG_OK)
        vg_problem__stop(out);
    return status;
}

void vg_problem__stop(vg_problem *problem) {
    vg_base__release(problem->b);
    vg_base__release(problem->active);
    vg_base__release(problem->losses);
    problem->b = NULL;
    problem->active = NULL;
    problem->losses = NULL;
}

vg_temperature_loss vg_problem__share(const vg_problem *problem, const vg_temperature_loss *members, size_t i) {
    if (!problem->shared)
        return members[i];
    vg_temperature_loss sum = {0, 0, 0};
    double count = (double)problem->logits->m;
    for (size_t m = 0; m < problem->logits->m; m++) {
        sum.loss += members[m].loss;
        sum.slope += members[m].slope;
        sum.bend += members[m].bend;
    }
    return (vg_temperature_loss){sum.loss / count, sum.slope / count, sum.bend / count};
}

vg_status vg_problem__swept(vg_problem *problem) {
    const vg_calibrate_options *o = problem->options;
    problem->sweeps++;
    if (o->progress != NULL && o->progress(o->progress_context, problem->sweeps, problem->sweeps_most) != 0)
        return vg_base__fail(VG_ERR_INTERRUPTED, "calibration stopped after %u sweeps", problem->sweeps);
    return VG_OK;
}

vg_status vg_problem__evaluate(vg_problem *problem, const double *log_b, const bool *active, vg_temperature_loss *out) {
    for (size_t m = 0; m < problem->logits->m; m++) {
        size_t i = problem->shared ? 0 : m;
        problem->active[m] = active == NULL || active[i];
        problem->b[m] = problem->active[m] ? exp(log_b[i]) : 1;
    }
    VG_TRY(vg_logits__losses(problem->logits, problem->b, problem->active, problem->losses));
    for (size_t i = 0; i < problem->count; i++) {
        if (active == NULL || active[i])
            out[i] = vg_problem__share(problem, problem->losses, i);
    }
    return vg_problem__swept(problem);
}

vg_temperature_fit vg_problem__fit(double log_b, const vg_temperature_loss *loss) {
    double b = exp(log_b);
    return (vg_temperature_fit){.temperature = exp(-log_b),
                                .loss = loss->loss,
                                .gradient = loss->slope / b,
                                .curvature = loss->bend / b / b,
                                .step = loss->bend > 0 ? loss->slope / loss->bend : 0,
                                .sharpness = loss->bend};
}
