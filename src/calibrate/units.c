/* units.c - images that are dealt to folds, and the error of the change of a mean. See units.h.
 *
 * Student's t has whole degrees of freedom v here, so that P(|T| <= t) is a finite sum (Abramowitz and Stegun 26.7.3
 * and 26.7.4), with a = atan(t / sqrt v):
 *     v even: sin a (1 + 1/2 cos^2 a + (1 3)/(2 4) cos^4 a + ... )                          v / 2 terms
 *     v odd:  2/pi (a + sin a (cos a + 2/3 cos^3 a + (2 4)/(3 5) cos^5 a + ... ))           (v - 1) / 2 terms */
#include "calibrate/units.h"

#include <math.h>

#include "base/base.h"

#define WIDE 1.959963984540054 /* half the width of a 95 % interval, in standard errors */
#define LEVEL 0.05
#define NORMAL_FROM 100000 /* degrees of freedom from which t is the normal distribution, to 1e-5 of its quantile */

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
/* P(|T| > t), t >= 0. */
static double student_tail(double t, size_t freedom) {
    if (freedom >= NORMAL_FROM)
        return erfc(t / sqrt(2));
    double a = atan(t / sqrt((double)freedom)), c = cos(a), odd = (double)(freedom % 2);
    double term = freedom == 1 ? 0 : odd != 0 ? c : 1, sum = term, before = -1;
    for (double k = 1 + odd; k + 2 <= (double)freedom && sum != before; k += 2) {
        before = sum;
        term *= c * c * k / (k + 1);
        sum += term;
    }
    double inside = odd != 0 ? (a + sin(a) * sum) / acos(0) : sin(a) * sum;
    return fmax(0, 1 - inside);
}

/* The t with P(|T| > t) = LEVEL, at most 13. */
static double student_wide(size_t freedom) {
    double low = 1, high = 16;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (student_tail(middle, freedom) > LEVEL)
            low = middle;
        else
            high = middle;
    }
    return high;
}

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
    double far = error > 0 ? fabs(mean) / error : 0, wide = WIDE, p = error > 0 ? erfc(far / sqrt(2)) : 1;
    if (units->count > 1) {
        wide = student_wide(units->count - 1);
        p = student_tail(far, units->count - 1);
    }
    return (vg_change){mean, error, mean - wide * error, mean + wide * error, p};
}
