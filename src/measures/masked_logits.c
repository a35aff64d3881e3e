/* masked_logits.c - logits of -inf: classes to which a member gives the probability 0.
 *
 * Kernels refuse values that are not finite. A tile that they refuse only because of logits of -inf is scored again
 * from a copy in which such a logit is log(floor) below the row's logsumexp, so that its probability is the floor of
 * probabilities that are 0 (vg_score_options.floor). Rows without -inf cost nothing, and every kernel and type is
 * covered. */
#include <math.h>
#include <stdint.h>

#include "measures/kernel.h"

/* log sum exp of a row over its finite values; -inf where there are none, NaN where one is +inf or NaN. */
static double row_level(const vg_predictions *in, size_t n, size_t m, double inverse) {
    double top = -INFINITY, sum = 0;
    for (size_t c = 0; c < in->c; c++) {
        double z = vg_measures__value(in, n, m, c) * inverse;
        if (isnan(z) || z == INFINITY)
            return NAN;
        top = z > top ? z : top;
    }
    for (size_t c = 0; c < in->c && isfinite(top); c++)
        sum += exp(vg_measures__value(in, n, m, c) * inverse - top);
    return isfinite(top) ? top + log(sum) : top;
}

static void put(void *to, vg_element dtype, size_t at, double value) {
    if (dtype == VG_F64)
        ((double *)to)[at] = value;
    else
        ((float *)to)[at] = (float)value;
}

/* Copies the samples `first` .. `end` - 1, packed; labels: each logit is a row of its own. */
static vg_status copy_rows(void *to, vg_element dtype, const vg_kernel_job *job, size_t first, size_t end) {
    const vg_predictions *in = &job->in;
    double lowest = log(job->options.floor > 0 ? job->options.floor : 1e-300);
    size_t at = 0;
    for (size_t n = first; n < end; n++)
        for (size_t m = 0; m < in->m; m++) {
            double inverse = job->inverse_temperature ? job->inverse_temperature[m] : 1, level = 0;
            if (!job->labels)
                level = row_level(in, n, m, inverse);
            if (!job->labels && !isfinite(level))
                return isnan(level) ? VG_ERR_DATA
                                    : vg_base__fail(VG_ERR_DATA, "sample %zu, member %zu: every logit is -inf",
                                                    job->first + n, m);
            for (size_t c = 0; c < in->c; c++, at++) {
                double z = vg_measures__value(in, n, m, c);
                if (isnan(z) || z == INFINITY)
                    return VG_ERR_DATA;
                put(to, dtype, at, z == -INFINITY ? (level + lowest) / inverse : z);
            }
        }
    return VG_OK;
}

vg_status vg_measures__score_masked(const vg_kernel_tier *tier, const vg_kernel_job *job, size_t first, size_t count) {
    size_t per = job->labels ? job->labels : 1, from = first / per, end = (first + count - 1) / per + 1, bytes;
    vg_kernel_job own = *job;
    vg_element dtype = job->in.dtype == VG_F64 ? VG_F64 : VG_F32;
    size_t row = job->in.m * job->in.c, size = dtype == VG_F64 ? sizeof(double) : sizeof(float);
    char *copy = NULL, *workspace = NULL;
    vg_status status = vg_base__alloc(&copy, (end - from) * row, size, "logits");
    if (status == VG_OK)
        status = copy_rows(copy, dtype, job, from, end);
    /* Kernels count from the chunk's first sample. */
    own.in.data = (const void *)((uintptr_t)copy - from * row * size);
    own.in.dtype = dtype;
    own.in.stride_n = (ptrdiff_t)row, own.in.stride_m = (ptrdiff_t)job->in.c, own.in.stride_c = 1;
    if (status == VG_OK && !tier->workspace(&bytes, &own))
        status = vg_base__fail(VG_ERR_MEMORY, "%zu members x %zu classes do not fit in memory", job->m, job->c);
    if (status == VG_OK)
        status = vg_base__zalloc(&workspace, bytes + 128, 1, "scoring workspace");
    if (status == VG_OK)
        status = tier->score(&own, (void *)(((uintptr_t)workspace + 63) / 64 * 64), first, count);
    vg_base__release(copy);
    vg_base__release(workspace);
    return status;
}
