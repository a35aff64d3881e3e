/* masked_logits.c - logits of -inf: classes to which a member gives the probability 0.
 *
 * Kernels refuse values that are not finite. Of a tile that they refuse, samples with logits of -inf (in multilabel
 * mode, labels) are scored again from their probabilities, in double: exactly 0 there, and at the floor in cross
 * terms, where log 0 would be infinite (VG_FLOOR_MAX, whichever form is set). The other samples of the tile are scored
 * from their logits, as in any other tile. Rows without -inf cost nothing, and every kernel and type is covered. */
#include <math.h>
#include <stdint.h>

#include "measures/kernel.h"

/* A logit that stands for -inf where the logits themselves are asked for lies this far below the row's logsumexp. */
static const double far_below = 690;

typedef struct masked_work {
    const vg_kernel_tier *tier;
    const vg_kernel_job *job;
    size_t per;    /* units of a sample */
    double *copy;  /* samples x m x c of the input */
    void *scratch; /* of the kernel */
} masked_work;

static double inverse_of(const vg_kernel_job *job, size_t m) {
    return job->inverse_temperature ? job->inverse_temperature[m] : 1;
}

/* The largest value of a row over T, and log sum exp minus it; -inf where every logit is. */
static double row_level(const vg_predictions *in, size_t n, size_t m, double inverse, double *above) {
    double top = -INFINITY, sum = 0;
    for (size_t c = 0; c < in->c; c++)
        top = fmax(top, vg_measures__value(in, n, m, c) * inverse);
    for (size_t c = 0; c < in->c && isfinite(top); c++)
        sum += exp(vg_measures__value(in, n, m, c) * inverse - top);
    *above = log(sum);
    return top;
}

/* Whether a unit has a logit of -inf; VG_ERR_DATA where it has +inf, NaN or a row of nothing but -inf. */
static vg_status look_at(const vg_kernel_job *job, size_t unit, bool *masked) {
    const vg_predictions *in = &job->in;
    size_t n = job->labels ? unit / job->labels : unit, from = job->labels ? unit % job->labels : 0;
    size_t to = job->labels ? from + 1 : in->c;
    *masked = false;
    for (size_t m = 0; m < in->m; m++) {
        bool some = job->labels != 0;
        for (size_t c = from; c < to; c++) {
            double z = vg_measures__value(in, n, m, c);
            if (isnan(z) || z == INFINITY)
                return VG_ERR_DATA;
            some = some || z > -INFINITY;
            *masked = *masked || z == -INFINITY;
        }
        if (!some)
            return vg_base__fail(VG_ERR_DATA, "sample %zu, member %zu: every logit is -inf", job->first + n, m);
    }
    return VG_OK;
}

/* Samples as probabilities, or as logits in which `far_below` stands for -inf. In multilabel mode each logit is a row
 * of its own. */
static void copy_samples(const masked_work *w, size_t first, size_t end, bool probabilities) {
    const vg_predictions *in = &w->job->in;
    double *to = w->copy;
    for (size_t n = first; n < end; n++)
        for (size_t m = 0; m < in->m; m++) {
            double inverse = inverse_of(w->job, m), above = 0;
            double top = w->job->labels ? 0 : row_level(in, n, m, inverse, &above);
            for (size_t c = 0; c < in->c; c++) {
                double z = vg_measures__value(in, n, m, c), x = z * inverse;
                double p = w->job->labels ? 1 / (1 + exp(-x)) : exp(x - top - above);
                *to++ = probabilities ? p : isfinite(z) ? z : (top + above - far_below) / inverse;
            }
        }
}

/* Scores units from the copy of their samples. */
static vg_status score_copy(const masked_work *w, vg_kernel_job *own, size_t first, size_t count, bool probabilities) {
    size_t from = first / w->per, row = own->in.m * own->in.c;
    copy_samples(w, from, (first + count - 1) / w->per + 1, probabilities);
    /* Kernels count from the chunk's first sample. */
    own->in.data = (const void *)((uintptr_t)w->copy - from * row * sizeof *w->copy);
    own->in.dtype = VG_F64;
    own->in.stride_n = (ptrdiff_t)row, own->in.stride_m = (ptrdiff_t)own->in.c, own->in.stride_c = 1;
    return w->tier->score(own, w->scratch, first, count);
}

/* Logits know no floor but that of cross terms. */
static void as_probabilities(vg_kernel_job *job) {
    job->options.logits = job->options.renormalise = 0;
    job->options.floor_form = VG_FLOOR_MAX;
    job->options.floor = job->options.floor > 0 ? job->options.floor : 1e-300;
    job->inverse_temperature = NULL;
    job->single_precision = false;
}

/* Scores units with logits of -inf: free energy and the largest logit from logits, the rest from probabilities. */
static vg_status score_run(const masked_work *w, size_t first, size_t count) {
    vg_kernel_job own = *w->job;
    own.pool = NULL;
    if (own.out.energy || own.out.maxlogit) {
        own.out = (vg_scores){.energy = own.out.energy, .maxlogit = own.out.maxlogit};
        VG_TRY(score_copy(w, &own, first, count, false));
        own = *w->job;
        own.pool = NULL;
        own.out.energy = own.out.maxlogit = NULL;
    }
    as_probabilities(&own);
    return score_copy(w, &own, first, count, true);
}

/* Units that are alike, one after the other. */
static vg_status score_runs(const masked_work *w, size_t first, size_t count) {
    vg_kernel_job plain = *w->job;
    plain.pool = NULL;
    for (size_t done = 0, end; done < count; done = end) {
        bool masked, next = false;
        VG_TRY(look_at(w->job, first + done, &masked));
        for (end = done + 1; end < count; end++) {
            VG_TRY(look_at(w->job, first + end, &next));
            if (next != masked)
                break;
        }
        VG_TRY(masked ? score_run(w, first + done, end - done)
                      : w->tier->score(&plain, w->scratch, first + done, end - done));
    }
    return VG_OK;
}

/* Raises *bytes to the workspace of a form in which units are scored. */
static bool make_room(size_t *bytes, const vg_kernel_tier *tier, const vg_kernel_job *job) {
    size_t own;
    bool fits = tier->workspace(&own, job);
    *bytes = fits && own > *bytes ? own : *bytes;
    return fits;
}

/* The largest workspace of these forms. */
static bool most_bytes(size_t *out, const vg_kernel_tier *tier, const vg_kernel_job *job) {
    vg_kernel_job own = *job;
    *out = 0;
    if (!make_room(out, tier, &own))
        return false;
    own.in.dtype = VG_F64;
    own.in.stride_n = (ptrdiff_t)(own.in.m * own.in.c), own.in.stride_m = (ptrdiff_t)own.in.c, own.in.stride_c = 1;
    if (!make_room(out, tier, &own))
        return false;
    as_probabilities(&own);
    return make_room(out, tier, &own);
}

vg_status vg_measures__score_masked(const vg_kernel_tier *tier, const vg_kernel_job *job, size_t first, size_t count) {
    size_t per = job->labels ? job->labels : 1, samples = (first + count - 1) / per - first / per + 1, bytes;
    masked_work work = {tier, job, per, NULL, NULL};
    char *workspace = NULL;
    if (!most_bytes(&bytes, tier, job))
        return vg_base__fail(VG_ERR_MEMORY, "%zu members x %zu classes do not fit in memory", job->m, job->c);
    VG_TRY(vg_base__alloc(&work.copy, samples * job->in.m * job->in.c, sizeof *work.copy, "logits"));
    vg_status status = vg_base__zalloc(&workspace, bytes + 128, 1, "scoring workspace");
    work.scratch = (void *)(((uintptr_t)workspace + 63) / 64 * 64);
    if (status == VG_OK)
        status = score_runs(&work, first, count);
    vg_base__release(work.copy);
    vg_base__release(workspace);
    return status;
}
