/* paired.c - tests of two systems on the same samples. See paired.h. */
#include "evaluate/paired.h"

#include <math.h>
#include <stdbool.h>

#include "base/base.h"
#include "base/sort.h"
#include "evaluate/select_internal.h"

/* Linear interpolation of sorted values, as NumPy does by default. */
static double quantile(const double *sorted, size_t count, double share) {
    double at = share * (double)(count - 1);
    size_t low = (size_t)at, high = low + 1 < count ? low + 1 : low;
    return sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
}

vg_status vg_evaluate__difference(vg_estimate *out, double *p_value, double value, vg_paired_figure figure,
                                  const vg_paired_replicates *pair) {
    size_t resamples = pair->resamples;
    size_t below = 0, above = 0;
    double *differences;
    *out = (vg_estimate){value, NAN, NAN};
    *p_value = NAN;
    if (resamples == 0 || isnan(value))
        return VG_OK;
    VG_TRY(vg_base__alloc(&differences, resamples, sizeof *differences, "differences of resamples"));
    bool defined = true;
    for (size_t r = 0; r < resamples; r++) {
        double d = pair->second[r * VG_PAIRED_FIGURES + figure] - pair->first[r * VG_PAIRED_FIGURES + figure];
        differences[r] = d;
        below += d <= 0;
        above += d >= 0;
        defined = defined && !isnan(d);
    }
    if (defined) {
        vg_base__sort_doubles(differences, resamples);
        out->low = fmin(quantile(differences, resamples, (1 - pair->confidence) / 2), value);
        out->high = fmax(quantile(differences, resamples, (1 + pair->confidence) / 2), value);
        *p_value = fmin(1, 2 * (double)(1 + (below < above ? below : above)) / (double)(resamples + 1));
    }
    vg_base__release(differences);
    return VG_OK;
}

double vg_evaluate__mcnemar(size_t a, size_t b) {
    size_t least = a < b ? a : b, all = a + b;
    return fmin(1, 2 * vg_evaluate__binomial_cdf((double)least, (double)all, 0.5));
}
