/* report_ood.c - distributions of a measure in and out of distribution: histograms over common bins, the ROC curve.
 *
 * Bins are of equal width from the smallest to the largest value of both sides. ROC points lie at thresholds that
 * are values of the ID side, even in rank: each is a point of the exact curve, where value >= threshold means OOD. */
#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "report/report_parts.h"

static int falling(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a < b) - (a > b);
}

static vg_status sorted_values(double **out, const vg_measure *measure, size_t n) {
    VG_TRY(vg_base__alloc(out, n, sizeof(double), "values of a measure"));
    for (size_t i = 0; i < n; i++)
        (*out)[i] = vg_report__uncertainty(measure, i);
    qsort(*out, n, sizeof(double), falling);
    return VG_OK;
}

static void histogram(size_t bins[VG_OOD_BINS], const double *values, size_t n, double low, double high) {
    double scale = high > low ? VG_OOD_BINS / (high - low) : 0;
    for (size_t b = 0; b < VG_OOD_BINS; b++)
        bins[b] = 0;
    for (size_t i = 0; i < n; i++) {
        double at = (values[i] - low) * scale;
        bins[at >= VG_OOD_BINS ? VG_OOD_BINS - 1 : at > 0 ? (size_t)at : 0]++;
    }
}

/* The number of values >= t; `values` are sorted from large to small. */
static size_t at_least(const double *values, size_t n, double t) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (values[middle] >= t)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void roc(vg_ood_curves *out, const double *id, size_t id_rows, const double *ood, size_t ood_rows) {
    out->fpr[0] = out->tpr[0] = 0;
    for (size_t j = 1; j < VG_OOD_ROC; j++) {
        double t = id[(id_rows - 1) * (j - 1) / (VG_OOD_ROC - 2)];
        out->fpr[j] = (double)at_least(id, id_rows, t) / (double)id_rows;
        out->tpr[j] = (double)at_least(ood, ood_rows, t) / (double)ood_rows;
    }
    out->fpr[VG_OOD_ROC - 1] = out->tpr[VG_OOD_ROC - 1] = 1;
}

vg_status vg_report__ood_curves(vg_ood_curves *out, const vg_measure *id, size_t id_rows, const vg_measure *ood,
                                size_t ood_rows) {
    double *a = NULL, *b = NULL;
    *out = (vg_ood_curves){0};
    if (id_rows == 0 || ood_rows == 0)
        return VG_OK;
    vg_status status = sorted_values(&a, id, id_rows);
    if (status == VG_OK)
        status = sorted_values(&b, ood, ood_rows);
    if (status == VG_OK) {
        out->low = fmin(a[id_rows - 1], b[ood_rows - 1]);
        out->high = fmax(a[0], b[0]);
        histogram(out->id, a, id_rows, out->low, out->high);
        histogram(out->ood, b, ood_rows, out->low, out->high);
        roc(out, a, id_rows, b, ood_rows);
    }
    vg_base__release(a);
    vg_base__release(b);
    return status;
}
