/* units.c - images that are dealt to folds, and the error of the change of a mean. See units.h. */
#include "calibrate/units.h"

#include <math.h>

#include "base/base.h"
#include "base/distributions.h"

#define UPPER 0.975 /* the end of a 95 % interval */

static vg_status check(size_t n, const size_t *ends, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (ends[i] > n || (i > 0 && ends[i] < ends[i - 1]))
            return vg_base__fail(VG_ERR_ARGUMENT, "image %zu ends before sample %zu, expected %zu .. %zu", i, ends[i],
                                 i > 0 ? ends[i - 1] : (size_t)0, n);
    if (count == 0 || ends[count - 1] != n)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "the %zu images end before sample %zu, expected %zu: every sample is one "
                             "of an image",
                             count, count ? ends[count - 1] : (size_t)0, n);
    return VG_OK;
}

static vg_status deal(vg_units *units, size_t n, unsigned folds) {
    VG_TRY(vg_base__alloc(&units->fold, n, sizeof *units->fold, "folds of samples"));
    for (size_t i = 0, sample = 0; i < units->count; i++)
        for (; sample < units->ends[i]; sample++)
            units->fold[sample] = (uint8_t)(i % folds);
    return VG_OK;
}

vg_status vg_units__start(vg_units *out, size_t n, const size_t *ends, size_t count, unsigned *folds) {
    *out = (vg_units){0};
    if (!ends && count == 0)
        return VG_OK;
    if (!ends)
        return vg_base__fail(VG_ERR_ARGUMENT, "image_count is %zu, but image_ends is NULL", count);
    VG_TRY(check(n, ends, count));
    VG_TRY(vg_base__alloc(&out->ends, count, sizeof *out->ends, "ends of images"));
    for (size_t i = 0; i < count; i++)
        if (ends[i] > (i > 0 ? ends[i - 1] : 0))
            out->ends[out->count++] = ends[i];
    out->undivided = *folds > 0 && out->count == 1;
    *folds = out->count == 1 ? 0 : out->count < *folds ? (unsigned)out->count : *folds;
    vg_status status = *folds > 0 ? deal(out, n, *folds) : VG_OK;
    if (status != VG_OK)
        vg_units__stop(out);
    return status;
}

void vg_units__stop(vg_units *units) {
    vg_base__release(units->ends);
    vg_base__release(units->fold);
    *units = (vg_units){0};
}

size_t vg_units__in_fold(const vg_units *units, size_t n, size_t folds, size_t fold) {
    size_t samples = 0;
    if (!units->fold)
        return (n - fold + folds - 1) / folds;
    for (size_t i = fold; i < units->count; i += folds)
        samples += units->ends[i] - (i > 0 ? units->ends[i - 1] : 0);
    return samples;
}

/* --- the change of a mean ----------------------------------------------------------------------------------------- */
vg_change vg_units__change(const vg_units *units, const double *was, const double *is, size_t n) {
    double mean = 0, squares = 0, count = (double)(units->count ? units->count : n);
    for (size_t i = 0; i < n; i++)
        mean += (is[i] - (was ? was[i] : 0)) / (double)n;
    for (size_t i = 0, unit = 0; i < n; unit++) {
        double sum = 0;
        for (size_t end = units->count ? units->ends[unit] : i + 1; i < end; i++)
            sum += is[i] - (was ? was[i] : 0) - mean;
        squares += sum * sum;
    }
    double error = sqrt(squares / (count > 1 ? count - 1 : 1) / count) * (count / (double)n);
    double far = error > 0 ? fabs(mean) / error : 0, freedom = units->count > 1 ? count - 1 : INFINITY;
    double wide = vg_base__t_quantile(UPPER, freedom), p = vg_base__t_tails(far, freedom);
    return (vg_change){mean, error, mean - wide * error, mean + wide * error, p};
}
