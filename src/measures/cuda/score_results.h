/* score_results.h - the results of a set of a sample from its sums over classes, and their conventions. Compiles as
 * CUDA and as plain C. */
#ifndef VG_MEASURES_SCORE_RESULTS_H
#define VG_MEASURES_SCORE_RESULTS_H

#include "measures/cuda/score_job.h"
#include "measures/cuda/score_math.h"

/* Of one set, in nats and over all pairs; psi: mean over members of psi(z), 0 for the ungated set. */
typedef struct set_figures {
    double tu, eu, reverse, epjs, psi;
} set_figures;

/* Whether floats are too short for a set's EU and EPJS, and for its EPCE and EPKL. Samples where they are get these
 * results from the kernel in double, and only these: what else is asked for does not change a result. */
SCORE_FN bool eu_too_large(const score_job *job, const set_figures *x) {
    return !(x->eu < job->nats && x->psi < job->nats);
}
SCORE_FN bool reverse_too_large(const score_job *job, const set_figures *x) {
    return eu_too_large(job, x) || !(x->reverse < job->nats);
}
SCORE_FN bool set_too_large(const score_job *job, const set_figures *x, int set) {
    return (set ? job->need_gated_reverse : job->need_reverse) ? reverse_too_large(job, x) : eu_too_large(job, x);
}

SCORE_FN void place(double *array, long long at, double value) {
    if (array)
        array[at] = value;
}

/* Applies the conventions for pairs, the base of the logarithm and the normalisation, and writes the results of sample
 * n. */
SCORE_FN void write_set(const score_job *job, long long n, int set, const set_figures *x) {
    const vg_scores *out = &job->out;
    long long at = set ? n * job->k + set - 1 : n;
    double eu = x->eu, epkl = (x->eu + x->reverse) * job->pairs, epjs = x->epjs;
    if (job->m == 1)
        eu = epkl = epjs = 0.0;
    double au = score_most(x->tu - eu, 0.0);
    if (!job->list)
        place(set ? out->gtu : out->tu, at, x->tu * job->share);
    if (!job->list || eu_too_large(job, x)) {
        place(set ? out->gau : out->au, at, au * job->share);
        place(set ? out->geu : out->eu, at, eu * job->share);
        place(set ? out->gepjs : out->epjs, at, epjs * (job->pairs * job->unit));
    }
    if (!job->list || reverse_too_large(job, x)) {
        place(set ? out->gepce : out->epce, at, (au + epkl) * job->unit);
        place(set ? out->gepkl : out->epkl, at, epkl * job->unit);
    }
}

#endif
