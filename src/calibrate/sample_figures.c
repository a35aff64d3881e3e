/* sample_figures.c - figures of single samples before a calibration and held out, and the intervals of their change. */
#include <math.h>
#include <string.h>

#include "calibrate/calibrate_data.h"

vg_status vg_sample_figures__new(vg_sample_figures *was, vg_sample_figures *is, size_t n) {
    VG_TRY(vg_base__alloc(&was->nll, n, 4 * sizeof(double), "figures of samples"));
    was->gap = was->nll + n;
    is->nll = was->gap + n;
    is->gap = is->nll + n;
    VG_TRY(vg_base__alloc(&was->bin, n, 2 * sizeof(uint16_t), "bins of samples"));
    is->bin = was->bin + n;
    return VG_OK;
}

void vg_sample_figures__give(vg_sample_figures *was, vg_calibration *result, vg_status status) {
    if (!result || !result->sample_nll[0])
        return;
    if (status == VG_OK)
        was->nll = NULL;
    else
        result->sample_nll[0] = result->sample_nll[1] = NULL;
}

void vg_sample_figures__free(vg_sample_figures *was) {
    vg_base__release(was->nll);
    vg_base__release(was->bin);
}

/* sign[bin]: 1 where the confidence of the bin's samples exceeds their accuracy, else -1. */
static void bin_signs(double *sign, const vg_sample_figures *s, size_t n, unsigned bins) {
    memset(sign, 0, bins * sizeof *sign);
    for (size_t i = 0; i < n; i++)
        sign[s->bin[i]] += s->gap[i];
    for (unsigned b = 0; b < bins; b++)
        sign[b] = sign[b] < 0 ? -1 : 1;
}

/* The ECE is the mean over samples of (confidence - right) with the sign of the bin, which makes its change a mean of
 * paired differences. */
vg_status vg_sample_figures__compare(vg_calibration *r, const vg_units *units, const vg_sample_figures *was,
                                     const vg_sample_figures *is) {
    double *sign, *difference;
    size_t n = r->samples;
    VG_TRY(vg_base__alloc(&difference, n + 2 * (size_t)r->bins, sizeof *difference, "differences"));
    sign = difference + n;
    vg_change change = vg_units__change(units, was->nll, is->nll, n);
    r->held_out_nll_error = change.error;
    r->nll_change[0] = change.low;
    r->nll_change[1] = change.high;
    bin_signs(sign, was, n, r->bins);
    bin_signs(sign + r->bins, is, n, r->bins);
    for (size_t i = 0; i < n; i++)
        difference[i] = is->gap[i] * sign[r->bins + is->bin[i]] - was->gap[i] * sign[was->bin[i]];
    change = vg_units__change(units, NULL, difference, n);
    r->ece_change[0] = change.low;
    r->ece_change[1] = change.high;
    r->sample_nll[0] = was->nll;
    r->sample_nll[1] = is->nll;
    vg_base__release(difference);
    return VG_OK;
}
