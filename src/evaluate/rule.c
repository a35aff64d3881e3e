/* rule.c - the decision rule: keep the prediction i where mu_i - k sigma_i > mu_j + k sigma_j, else abstain.
 *
 * Solved for k the rule is k < (mu_i - mu_j) / (sigma_i + sigma_j): one margin ratio per row decides for every k. */
#include "evaluate/evaluate_internal.h"

static vg_status label_ratios(double *ratio, const double *mean, const double *std, size_t rows) {
    for (size_t r = 0; r < rows; r++) {
        double u = mean[r], top = u > 1 - u ? u : 1 - u;
        if (isnan(u) || isnan(std[r]))
            return vg_base__fail(VG_ERR_DATA, "margin ratio: mean %g and spread %g of row %zu", u, std[r], r);
        ratio[r] = vg_evaluate__ratio(2 * top - 1, 2 * std[r]);
    }
    return VG_OK;
}

vg_status vg_margin_ratio(double *ratio, const double *mean, const double *std, const int32_t *pred,
                          const int32_t *second, size_t n, size_t classes) {
    if (n > 0 && (!ratio || !mean || !std))
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_margin_ratio: ratio, mean and std must not be NULL");
    if (classes < 1)
        return vg_base__fail(VG_ERR_ARGUMENT, "margin ratio: 0 classes, expected at least 1");
    if ((pred != NULL) != (second != NULL) || (pred && classes == 1))
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "margin ratio: pred and second must be given together, and for two classes or more");
    if (classes == 1)
        return label_ratios(ratio, mean, std, n);
    for (size_t r = 0; r < n; r++) {
        const double *m = mean + r * classes, *s = std + r * classes;
        size_t i, j;
        if (pred) {
            i = (size_t)pred[r];
            j = (size_t)second[r];
            if (pred[r] < 0 || second[r] < 0 || i >= classes || j >= classes)
                return vg_base__fail(VG_ERR_DATA, "margin ratio: classes %d and %d of sample %zu, expected 0 to %zu",
                                     pred[r], second[r], r, classes - 1);
        } else {
            vg_evaluate__top_two(&i, &j, m, classes);
        }
        ratio[r] = vg_evaluate__ratio(m[i] - m[j], s[i] + s[j]);
        if (isnan(m[i] - m[j]) || isnan(s[i] + s[j]))
            return vg_base__fail(VG_ERR_DATA, "margin ratio: NaN among the means and spreads of sample %zu", r);
    }
    return VG_OK;
}

void vg_evaluate__rule_finish(vg_rule_row *row) {
    row->abstained = row->rows - row->kept;
    row->abstained_correct = row->abstained - row->abstained_errors;
    row->coverage = (vg_estimate){row->rows ? (double)row->kept / (double)row->rows : NAN, NAN, NAN};
    row->accuracy =
        (vg_estimate){row->kept ? (double)(row->kept - row->kept_errors) / (double)row->kept : NAN, NAN, NAN};
}

vg_status vg_evaluate__check_k(const double *k, size_t k_count) {
    for (size_t j = 0; j < k_count; j++)
        if (!(k[j] > 0 && isfinite(k[j])))
            return vg_base__fail(VG_ERR_ARGUMENT, "rule: k %zu is %g, expected a positive number", j, k[j]);
    return VG_OK;
}

enum { FEW_CLASSES = 32 };

/* For few classes: counts rows by (label, prediction), one count per row; the other counts follow. */
static void count_pairs(vg_rule_row *row, const vg_tally *t) {
    uint32_t cells[2][FEW_CLASSES * FEW_CLASSES] = {{0}}; /* abstained, kept */
    size_t classes = t->classes;
    double k = row->k;
    for (size_t r = 0; r < t->rows; r++)
        cells[k < t->ratio[r]][(size_t)t->label[r] * classes + (size_t)t->prediction[r]]++;
    for (size_t cell = 0; cell < classes * classes; cell++) {
        size_t label = cell / classes, prediction = cell % classes, wrong = label != prediction;
        row->kept += cells[1][cell];
        row->kept_errors += wrong * cells[1][cell];
        row->abstained_errors += wrong * cells[0][cell];
        row->abstained_by_label[label] += cells[0][cell];
        row->abstained_by_prediction[prediction] += cells[0][cell];
    }
}

static void count_rows(vg_rule_row *row, const vg_tally *t) {
    size_t *by_label = row->abstained_by_label, *by_prediction = row->abstained_by_prediction;
    size_t kept_rows = 0, kept_errors = 0, errors = 0;
    double k = row->k;
    for (size_t r = 0; r < t->rows; r++) { /* without a branch, because the outcome cannot be predicted */
        bool wrong = t->error[r] != 0, kept = k < t->ratio[r];
        size_t c = t->multilabel ? r % t->classes : (size_t)t->label[r];
        kept_rows += kept;
        kept_errors += kept & wrong;
        errors += wrong;
        by_label[c] += !kept;
        if (t->multilabel)
            by_prediction[c] += !kept & (t->prediction[r] != 0);
        else
            by_prediction[t->prediction[r]] += !kept;
    }
    row->kept = kept_rows;
    row->kept_errors = kept_errors;
    row->abstained_errors = errors - kept_errors;
}

void vg_evaluate__rule_of_tally(vg_rule_row *row, double k, const vg_tally *t) {
    row->k = k;
    row->rows = t->rows;
    vg_k_name(row->name, k);
    if (!t->multilabel && t->classes <= FEW_CLASSES)
        count_pairs(row, t);
    else
        count_rows(row, t);
    vg_evaluate__rule_finish(row);
}
