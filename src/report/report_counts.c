/* report_counts.c - the decision rule at a list of k, counted over any number of rows.
 *
 * A row is kept at every k below its margin ratio. The list rises, so that a row is kept at its first `steps` entries:
 * rows are counted by their steps, and the counts at k are sums over all larger steps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "report/report_parts.h"

enum { SLIDER = 400 };
#define LEAST 0.01
#define LARGEST 10000.0

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Positions of the slider: evenly spaced logarithms, as numbers of three digits, which a person can type. */
static double slider_at(size_t i) {
    char text[32];
    snprintf(text, sizeof text, "%.3g", LEAST * pow(LARGEST / LEAST, (double)i / (SLIDER - 1)));
    return strtod(text, NULL);
}

static vg_status list_k(vg_report_counts *counts, const double *extra, size_t extra_count) {
    size_t all = SLIDER + extra_count;
    VG_TRY(vg_base__alloc(&counts->k, all, sizeof *counts->k, "gate settings"));
    for (size_t i = 0; i < all; i++)
        counts->k[i] = i < SLIDER ? slider_at(i) : extra[i - SLIDER];
    qsort(counts->k, all, sizeof *counts->k, by_value);
    for (size_t i = 0; i < all; i++)
        if (counts->count == 0 || counts->k[counts->count - 1] != counts->k[i])
            counts->k[counts->count++] = counts->k[i];
    return VG_OK;
}

vg_status vg_report__counts_new(vg_report_counts *counts, const double *extra, size_t extra_count, size_t groups) {
    *counts = (vg_report_counts){.groups = groups};
    VG_TRY(list_k(counts, extra, extra_count));
    if (groups > VG_REPORT_GROUP_CELLS / counts->count)
        counts->groups = 0;
    size_t steps = counts->count + 1, held = counts->groups ? counts->groups : 1;
    unsigned long long **totals[] = {&counts->total, &counts->support, &counts->predicted, &counts->found};
    VG_TRY(vg_base__zalloc(&counts->kept, steps, sizeof *counts->kept, "counts of the rule"));
    VG_TRY(vg_base__zalloc(&counts->wrong, steps, sizeof *counts->wrong, "counts of the rule"));
    VG_TRY(vg_base__zalloc(&counts->group_kept, steps, held * sizeof *counts->group_kept, "counts of the groups"));
    VG_TRY(vg_base__zalloc(&counts->group_wrong, steps, held * sizeof *counts->group_wrong, "counts of the groups"));
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
        VG_TRY(vg_base__zalloc(totals[i], held, sizeof **totals[i], "counts of the groups"));
    return VG_OK;
}

void vg_report__counts_free(vg_report_counts *counts) {
    vg_base__release(counts->k);
    vg_base__release(counts->kept);
    vg_base__release(counts->wrong);
    vg_base__release(counts->group_kept);
    vg_base__release(counts->group_wrong);
    vg_base__release(counts->total);
    vg_base__release(counts->support);
    vg_base__release(counts->predicted);
    vg_base__release(counts->found);
    *counts = (vg_report_counts){0};
}

size_t vg_report__counts_steps(const vg_report_counts *counts, double ratio) {
    size_t low = 0, high = counts->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (counts->k[middle] < ratio)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Until the end kept[s] counts the rows of s steps; `steps` is at most count. */
void vg_report__counts_add(vg_report_counts *counts, size_t steps, size_t label, int64_t truth, int64_t pred) {
    bool wrong = truth >= 0 && truth != pred, classes = label == SIZE_MAX;
    size_t group = !classes ? label : (size_t)(truth >= 0 ? truth : pred);
    counts->rows++;
    counts->errors += wrong;
    counts->kept[steps]++;
    counts->wrong[steps] += wrong;
    if (counts->groups == 0)
        return;
    counts->total[group]++;
    counts->support[group] += classes ? 1 : truth == 1;
    counts->predicted[classes ? (size_t)pred : group] += classes ? 1 : pred == 1;
    counts->found[group] += classes ? truth == pred : truth == 1 && pred == 1;
    counts->group_kept[steps * counts->groups + group]++;
    counts->group_wrong[steps * counts->groups + group] += wrong;
}

/* Entry i becomes the sum of entries i + 1 and on: rows of more than i steps are kept at k number i. */
void vg_report__counts_end(vg_report_counts *counts) {
    size_t groups = counts->groups;
    for (size_t i = counts->count; i-- > 0;) {
        counts->kept[i] += counts->kept[i + 1];
        counts->wrong[i] += counts->wrong[i + 1];
        for (size_t g = 0; g < groups; g++) {
            counts->group_kept[i * groups + g] += counts->group_kept[(i + 1) * groups + g];
            counts->group_wrong[i * groups + g] += counts->group_wrong[(i + 1) * groups + g];
        }
    }
    for (size_t i = 0; i < counts->count; i++) {
        counts->kept[i] = counts->kept[i + 1];
        counts->wrong[i] = counts->wrong[i + 1];
        for (size_t g = 0; g < groups; g++) {
            counts->group_kept[i * groups + g] = counts->group_kept[(i + 1) * groups + g];
            counts->group_wrong[i * groups + g] = counts->group_wrong[(i + 1) * groups + g];
        }
    }
}

vg_status vg_report__count_rows(vg_report_counts *out, const vg_report *r, const vg_promises *promises) {
    size_t groups = r->label_count ? r->label_count : r->classes, used = 0;
    double *extra;
    VG_TRY(vg_base__alloc(&extra, r->k_count + VG_PROMISES, sizeof *extra, "gate settings"));
    for (size_t i = 0; i < r->k_count; i++)
        extra[used++] = r->k[i];
    for (size_t i = 0; promises && i < VG_PROMISES; i++)
        if (promises->found[i].met)
            extra[used++] = promises->found[i].threshold;
    vg_status status = vg_report__counts_new(out, extra, used, r->n <= UINT32_MAX ? groups : SIZE_MAX);
    vg_base__release(extra);
    VG_TRY(status);
    for (size_t i = 0; i < r->n; i++)
        vg_report__counts_add(out, vg_report__counts_steps(out, r->rows->ratio[i]),
                              r->label_count ? i % r->label_count : SIZE_MAX, r->labels ? r->labels[i] : -1,
                              r->rows->top_class[i * r->rows->top]);
    vg_report__counts_end(out);
    return VG_OK;
}
