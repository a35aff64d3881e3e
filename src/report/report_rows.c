/* report_rows.c - what the page shows of each sample: margin ratio, its largest classes with mean and spread,
 * members' votes.
 *
 * Only the largest classes are kept, so that memory is N x VG_REPORT_TOP whatever C. */
#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "evaluate/evaluate_internal.h"
#include "report/report.h"

vg_status vg_report__rows_new(vg_report_rows **out, size_t n, size_t classes) {
    *out = NULL;
    if (classes < 2)
        return vg_base__fail(VG_ERR_ARGUMENT, "a report needs at least 2 classes, found %zu", classes);
    vg_report_rows *rows;
    VG_TRY(vg_base__zalloc(&rows, 1, sizeof *rows, "a report"));
    rows->n = n;
    rows->classes = classes;
    rows->top = classes < VG_REPORT_TOP ? classes : VG_REPORT_TOP;
    size_t cells;
    vg_status status =
        vg_base__mul(&cells, n, rows->top) ? VG_OK : vg_base__fail(VG_ERR_MEMORY, "%zu samples are too many", n);
    if (status == VG_OK)
        status = vg_base__zalloc(&rows->ratio, n, sizeof(double), "margin ratios");
    if (status == VG_OK)
        status = vg_base__zalloc(&rows->top_class, cells, sizeof(int32_t), "largest classes");
    if (status == VG_OK)
        status = vg_base__zalloc(&rows->top_mean, cells, sizeof(float), "largest means");
    if (status == VG_OK)
        status = vg_base__zalloc(&rows->top_std, cells, sizeof(float), "spreads");
    if (status == VG_OK)
        status = vg_base__zalloc(&rows->top_votes, cells, sizeof(uint32_t), "votes");
    if (status == VG_OK)
        status = vg_base__zalloc(&rows->agree, n, sizeof(uint32_t), "votes");
    if (status != VG_OK)
        vg_report__rows_free(rows);
    else
        *out = rows;
    return status;
}

void vg_report__rows_free(vg_report_rows *rows) {
    if (!rows)
        return;
    vg_base__release(rows->ratio);
    vg_base__release(rows->top_class);
    vg_base__release(rows->top_mean);
    vg_base__release(rows->top_std);
    vg_base__release(rows->top_votes);
    vg_base__release(rows->agree);
    vg_base__release(rows);
}

/* The `top` largest of C values in falling order, ties by index: insertion into a short list. */
static void largest(int32_t *order, size_t top, const double *values, size_t classes) {
    size_t count = 0;
    for (size_t c = 0; c < classes; c++) {
        if (count == top && !(values[c] > values[order[top - 1]]))
            continue;
        size_t at = count < top ? count++ : top - 1;
        for (; at > 0 && values[c] > values[order[at - 1]]; at--)
            order[at] = order[at - 1];
        order[at] = (int32_t)c;
    }
}

static vg_status check_range(const vg_report_rows *rows, size_t first, size_t count) {
    if (first > rows->n || count > rows->n - first)
        return vg_base__fail(VG_ERR_ARGUMENT, "samples %zu..%zu of a report of %zu", first, first + count, rows->n);
    return VG_OK;
}

/* Rows of a multilabel task: the outcomes absent and present with one spread. */
static vg_status feed_labels(vg_report_rows *rows, size_t first, size_t count, const double *mean, const double *std) {
    for (size_t i = 0; i < count; i++) {
        size_t row = first + i;
        double u = mean[i], larger = u > 0.5 ? u : 1 - u;
        if (isnan(u) || isnan(std[i]))
            return vg_base__fail(VG_ERR_DATA, "sample %zu: mean or spread of label %zu is NaN", row / rows->label_count,
                                 row % rows->label_count);
        double k = rows->class_k ? rows->class_k[row % rows->label_count] : 1;
        rows->ratio[row] = vg_evaluate__ratio(2 * larger - 1, 2 * k * std[i]);
        for (size_t t = 0; t < 2; t++) {
            int32_t outcome = (int32_t)((u > 0.5) != (t == 1));
            rows->top_class[2 * row + t] = outcome;
            rows->top_mean[2 * row + t] = (float)(outcome ? u : 1 - u);
            rows->top_std[2 * row + t] = (float)std[i];
        }
    }
    return VG_OK;
}

vg_status vg_report__rows_feed(vg_report_rows *rows, size_t first, size_t count, const double *mean,
                               const double *std) {
    size_t C = rows->classes, top = rows->top;
    VG_TRY(check_range(rows, first, count));
    if (rows->label_count)
        return feed_labels(rows, first, count, mean, std);
    for (size_t i = 0; i < count * C; i++) {
        if (isnan(mean[i]) || isnan(std[i]))
            return vg_base__fail(VG_ERR_DATA, "sample %zu: mean or spread of class %zu is NaN", first + i / C, i % C);
    }
    VG_TRY(vg_margin_ratio(rows->ratio + first, mean, std, NULL, NULL, count, C));
    for (size_t i = 0; i < count; i++) {
        int32_t *order = rows->top_class + (first + i) * top;
        largest(order, top, mean + i * C, C);
        if (rows->class_k) { /* top is at least 2 */
            size_t a = (size_t)order[0], b = (size_t)order[1];
            double wide =
                vg_evaluate__wide(std + i * C, rows->class_k, a) + vg_evaluate__wide(std + i * C, rows->class_k, b);
            rows->ratio[first + i] = vg_evaluate__ratio(mean[i * C + a] - mean[i * C + b], wide);
        }
        for (size_t t = 0; t < top; t++) {
            rows->top_mean[(first + i) * top + t] = (float)mean[i * C + (size_t)order[t]];
            rows->top_std[(first + i) * top + t] = (float)std[i * C + (size_t)order[t]];
        }
    }
    return VG_OK;
}

static double element(const vg_predictions *p, size_t n, size_t m, size_t c) {
    ptrdiff_t at = (ptrdiff_t)n * p->stride_n + (ptrdiff_t)m * p->stride_m + (ptrdiff_t)c * p->stride_c;
    return p->dtype == VG_F64 ? ((const double *)p->data)[at] : (double)((const float *)p->data)[at];
}

/* Members that see a label present: a probability above 1/2, a logit above 0. */
static vg_status count_labels(vg_report_rows *rows, size_t first, const vg_predictions *block) {
    VG_TRY(check_range(rows, first * rows->label_count, block->n * rows->label_count));
    for (size_t i = 0; i < block->n * block->c; i++) {
        size_t row = first * block->c + i;
        uint32_t present = 0;
        for (size_t m = 0; m < block->m; m++)
            present += element(block, i / block->c, m, i % block->c) > rows->present_above;
        for (size_t t = 0; t < 2; t++)
            rows->top_votes[2 * row + t] = rows->top_class[2 * row + t] ? present : (uint32_t)block->m - present;
        rows->agree[row] = 2 * present > block->m ? present : (uint32_t)block->m - present;
    }
    rows->has_votes = 1;
    return VG_OK;
}

vg_status vg_report__rows_votes(vg_report_rows *rows, size_t first, const vg_predictions *block) {
    uint32_t *votes;
    if (rows->label_count)
        return count_labels(rows, first, block);
    VG_TRY(check_range(rows, first, block->n));
    if (block->c != rows->classes || (block->dtype != VG_F32 && block->dtype != VG_F64))
        return vg_base__fail(VG_ERR_ARGUMENT, "votes over %zu classes, the report has %zu", block->c, rows->classes);
    VG_TRY(vg_base__alloc(&votes, block->c, sizeof *votes, "votes"));
    for (size_t i = 0; i < block->n; i++) {
        uint32_t most = 0;
        for (size_t c = 0; c < block->c; c++)
            votes[c] = 0;
        for (size_t m = 0; m < block->m; m++) {
            size_t best = 0;
            double value = element(block, i, m, 0);
            for (size_t c = 1; c < block->c; c++) {
                double next = element(block, i, m, c);
                if (next > value) {
                    value = next;
                    best = c;
                }
            }
            if (++votes[best] > most)
                most = votes[best];
        }
        for (size_t t = 0; t < rows->top; t++) {
            size_t cell = (first + i) * rows->top + t;
            rows->top_votes[cell] = votes[rows->top_class[cell]];
        }
        rows->agree[first + i] = most;
    }
    vg_base__release(votes);
    rows->has_votes = 1;
    return VG_OK;
}
