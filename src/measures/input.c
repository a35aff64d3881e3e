/* input.c - single elements of the input, of any type and stride, and the message for a row that cannot be scored. */
#include <math.h>
#include <string.h>

#include "measures/kernel.h"

float vg_measures__half(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, mantissa = bits & 0x3ffu, out;
    if (exponent == 31)
        out = sign | 0x7f800000u | mantissa << 13;
    else if (exponent > 0)
        out = sign | (exponent + 112) << 23 | mantissa << 13;
    else {
        float small = (float)mantissa * 0x1p-24f; /* exact */
        return sign ? -small : small;
    }
    float value;
    memcpy(&value, &out, sizeof value);
    return value;
}

float vg_measures__bfloat(uint16_t bits) {
    uint32_t out = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &out, sizeof value);
    return value;
}

double vg_measures__value(const vg_predictions *in, size_t n, size_t m, size_t c) {
    ptrdiff_t at = (ptrdiff_t)n * in->stride_n + (ptrdiff_t)m * in->stride_m + (ptrdiff_t)c * in->stride_c;
    switch (in->dtype) {
    case VG_F32: return (double)((const float *)in->data)[at];
    case VG_F64: return ((const double *)in->data)[at];
    case VG_F16: return (double)vg_measures__half(((const uint16_t *)in->data)[at]);
    case VG_BF16: return (double)vg_measures__bfloat(((const uint16_t *)in->data)[at]);
    default: return NAN; /* no type of predictions: refused before this */
    }
}

/* Fails if row (n, m) is bad. */
static vg_status check_row(const vg_kernel_job *job, size_t n, size_t m) {
    const vg_predictions *in = &job->in;
    const vg_score_options *o = &job->options;
    size_t shown = job->first + n;
    double sum = 0;
    for (size_t c = 0; c < in->c; c++) {
        double x = vg_measures__value(in, n, m, c);
        sum += x;
        if (!isfinite(x))
            return vg_base__fail(VG_ERR_DATA, "sample %zu, member %zu, class %zu: %s is %s", shown, m, c,
                                 o->logits ? "a logit" : "a probability", isnan(x) ? "not a number" : "infinite");
        if (!o->logits && x < 0)
            return vg_base__fail(VG_ERR_DATA, "sample %zu, member %zu, class %zu: a probability is negative (%g)",
                                 shown, m, c, x);
        if (!o->logits && job->labels && x > 1)
            return vg_base__fail(VG_ERR_DATA, "sample %zu, member %zu, label %zu: a probability is above 1 (%g)", shown,
                                 m, c, x);
    }
    if (o->logits || job->labels)
        return VG_OK;
    if (o->renormalise ? !(sum > 0) : !(fabs(sum - 1) <= 1e-3))
        return vg_base__fail(VG_ERR_DATA, "sample %zu, member %zu: the probabilities sum to %.9g, not 1%s", shown, m,
                             sum,
                             o->renormalise ? "" : " (logits: --logits; else --renormalise divides rows by their sum)");
    return VG_OK;
}

vg_status vg_measures__check_units(const vg_kernel_job *job, size_t first, size_t count) {
    size_t per = job->labels ? job->labels : 1;
    for (size_t n = first / per; n <= (first + count - 1) / per; n++)
        for (size_t m = 0; m < job->in.m; m++)
            VG_TRY(check_row(job, n, m));
    return VG_OK;
}

vg_status vg_measures__bad_row(const vg_kernel_job *job, size_t first, size_t count) {
    size_t per = job->labels ? job->labels : 1;
    VG_TRY(vg_measures__check_units(job, first, count));
    return vg_base__fail(VG_ERR_DATA, "samples %zu to %zu hold a row that is not a distribution",
                         job->first + first / per, job->first + (first + count - 1) / per);
}

static bool is_distribution(const vg_predictions *in, size_t n, size_t m) {
    double sum = 0;
    for (size_t c = 0; c < in->c; c++) {
        double x = vg_measures__value(in, n, m, c);
        if (!(x >= 0 && x <= 1.001))
            return false;
        sum += x;
    }
    return fabs(sum - 1) <= 1e-3;
}

int vg_predictions_normalised(const vg_predictions *in) {
    enum { MOST_ROWS = 256 };
    size_t rows;
    if (!in || !in->data || in->c < 2 || (int)in->dtype < 0 || in->dtype > VG_BF16 ||
        !vg_base__mul(&rows, in->n, in->m) || rows == 0)
        return 0;
    size_t count = rows < MOST_ROWS ? rows : MOST_ROWS, step = rows / count;
    for (size_t i = 0; i < count; i++)
        if (!is_distribution(in, i * step / in->m, i * step % in->m))
            return 0;
    return 1;
}
