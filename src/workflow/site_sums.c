/* site_sums.c - counts that add up over parts of the rows. See site_sums.h. */
#include "workflow/site_sums.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/calibration_bins.h"

enum { BIN_SUMS = 5, CONFUSION_MOST = 1024 };

vg_status vg_site_sums__new(vg_site_sums *s, size_t classes, size_t bins, size_t k_count) {
    *s = (vg_site_sums){.classes = classes, .bins = bins, .k_count = k_count};
    VG_TRY(vg_base__zalloc(&s->bin, bins, BIN_SUMS * sizeof *s->bin, "bins"));
    VG_TRY(vg_base__zalloc(&s->gaps, classes, bins * sizeof *s->gaps, "bins"));
    VG_TRY(vg_base__zalloc(&s->counts, classes, 3 * sizeof *s->counts, "classes"));
    VG_TRY(vg_base__zalloc(&s->uncertainty, classes, sizeof *s->uncertainty, "classes"));
    VG_TRY(vg_base__zalloc(&s->rule, k_count, sizeof *s->rule, "gate settings"));
    if (classes <= CONFUSION_MOST)
        VG_TRY(vg_base__zalloc(&s->confusion, classes, classes * sizeof *s->confusion, "confusion matrix"));
    for (size_t k = 0; k < k_count; k++) {
        VG_TRY(vg_base__zalloc(&s->rule[k].by_label, classes, sizeof(size_t), "classes"));
        VG_TRY(vg_base__zalloc(&s->rule[k].by_prediction, classes, sizeof(size_t), "classes"));
    }
    return VG_OK;
}

void vg_site_sums__free(vg_site_sums *s) {
    for (size_t k = 0; s->rule && k < s->k_count; k++) {
        vg_base__release(s->rule[k].by_label);
        vg_base__release(s->rule[k].by_prediction);
    }
    vg_base__release(s->bin);
    vg_base__release(s->gaps);
    vg_base__release(s->counts);
    vg_base__release(s->uncertainty);
    vg_base__release(s->rule);
    vg_base__release(s->confusion);
    *s = (vg_site_sums){.classes = 0};
}

static void add_rule(vg_site_rule *to, const vg_rule_row *row, size_t classes) {
    to->kept += row->kept;
    to->kept_errors += row->kept_errors;
    for (size_t c = 0; c < classes; c++) {
        to->by_label[c] += row->abstained_by_label ? row->abstained_by_label[c] : 0;
        to->by_prediction[c] += row->abstained_by_prediction ? row->abstained_by_prediction[c] : 0;
    }
}

static void add_evaluation(vg_site_sums *s, const vg_evaluation *e) {
    double rows = (double)e->rows;
    s->rows += e->rows;
    s->correct += e->rows - e->errors;
    s->nll += (long double)e->nll.value * rows;
    s->brier += (long double)e->brier.value * rows;
    for (size_t b = 0; b < s->bins; b++) {
        const vg_reliability_bin *bin = &e->reliability[b];
        double count = (double)bin->count, *to = s->bin + b * BIN_SUMS;
        const double means[] = {1, bin->confidence, bin->accuracy, bin->square, bin->hit};
        for (size_t i = 0; bin->count > 0 && i < BIN_SUMS; i++)
            to[i] += means[i] * count;
    }
    for (size_t c = 0; c < s->classes; c++) {
        s->counts[3 * c] += e->per_class[c].support;
        s->counts[3 * c + 1] += e->per_class[c].predicted;
        s->counts[3 * c + 2] += e->per_class[c].true_positive;
    }
    for (size_t i = 0; s->confusion && e->confusion && i < s->classes * s->classes; i++)
        s->confusion[i] += e->confusion[i];
    for (size_t k = 0; k < s->k_count; k++)
        add_rule(&s->rule[k], &e->rule[k], s->classes);
}

vg_status vg_site_sums__add(vg_site_sums *s, const vg_tally *tally, const double *k, size_t k_count) {
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    vg_tally_info held = VG_TALLY_INFO_INIT;
    vg_evaluation *e;
    options.k = k;
    options.k_count = k_count;
    options.threads = 1;
    VG_TRY(vg_tally_describe(&held, tally));
    VG_TRY(vg_evaluate(&e, tally, NULL, 0, &options));
    add_evaluation(s, e);
    vg_evaluation_free(e);
    for (size_t i = 0; i < s->classes * s->bins; i++)
        s->gaps[i] += held.class_gaps[i];
    return VG_OK;
}

/* --- the evaluation ----------------------------------------------------------------------------------------------- */
static vg_estimate only(double value) { return (vg_estimate){value, NAN, NAN}; }

static double ratio_of(double a, double b) { return b > 0 ? a / b : NAN; }

/* An evaluation of two rows, for its memory: every figure is replaced. */
static vg_status make_evaluation(vg_evaluation **out, const vg_site_sums *s, const vg_measure *measures, size_t count,
                                 const vg_evaluate_options *options) {
    vg_tally_options how = VG_TALLY_OPTIONS_INIT;
    vg_tally *tally = NULL;
    double *rows = NULL;
    const int64_t labels[2] = {0, 0};
    how.bins = s->bins;
    VG_TRY(vg_base__zalloc(&rows, 4 * s->classes, sizeof *rows, "classes"));
    rows[0] = rows[s->classes] = 1;
    vg_status status = vg_tally_new(&tally, s->classes, &how);
    if (status == VG_OK)
        status = vg_tally_feed(tally, rows, rows + 2 * s->classes, labels, 2);
    if (status == VG_OK)
        status = vg_evaluate(out, tally, measures, count, options);
    vg_tally_free(tally);
    vg_base__release(rows);
    return status;
}

static void fill_bins(vg_evaluation *e, const vg_site_sums *s) {
    vg_bin_gaps gaps = {0, 0};
    double classwise = 0;
    for (size_t b = 0; b < s->bins; b++) {
        const double *sums = s->bin + b * BIN_SUMS;
        vg_reliability_bin *bin = &e->reliability[b];
        double count = sums[0], worst = gaps.worst;
        bin->count = (size_t)count;
        bin->confidence = ratio_of(sums[1], count);
        bin->accuracy = ratio_of(sums[2], count);
        bin->square = ratio_of(sums[3], count);
        bin->hit = ratio_of(sums[4], count);
        vg_base__add_bin(&gaps, count, sums[1], sums[2]);
        if (gaps.worst > worst)
            e->calibration.mce_rows = bin->count;
    }
    e->ece = only(gaps.total / (double)s->rows);
    e->mce = only(gaps.worst);
    for (size_t i = 0; i < s->classes * s->bins; i++)
        classwise += fabs(s->gaps[i]);
    e->ece_classwise = only(classwise / ((double)s->rows * (double)s->classes));
}

static void fill_classes(vg_evaluation *e, const vg_site_sums *s) {
    double f1 = 0, iou = 0, seen = 0;
    for (size_t c = 0; c < s->classes; c++) {
        const size_t *counts = s->counts + 3 * c;
        double support = (double)counts[0], predicted = (double)counts[1], hit = (double)counts[2];
        vg_class_row *row = &e->per_class[c];
        *row = (vg_class_row){.support = counts[0], .predicted = counts[1], .true_positive = counts[2]};
        row->precision = predicted > 0 ? hit / predicted : 0;
        row->recall = support > 0 ? hit / support : 0;
        row->f1 = support + predicted > 0 ? 2 * hit / (support + predicted) : 0;
        if (support + predicted > 0) {
            f1 += row->f1;
            iou += hit / (support + predicted - hit);
            seen++;
        }
        e->class_figures[c] = (vg_class_figures){.recall = only(row->recall),
                                                 .precision = only(row->precision),
                                                 .uncertainty = ratio_of(s->uncertainty[c], support),
                                                 .iou = ratio_of(hit, support + predicted - hit),
                                                 .abstained = s->k_count > 0 ? s->rule[0].by_label[c] : 0};
    }
    e->f1_macro = only(ratio_of(f1, seen));
    e->miou = only(ratio_of(iou, seen));
    if (e->confusion && s->confusion)
        memcpy(e->confusion, s->confusion, s->classes * s->classes * sizeof *s->confusion);
}

static void fill_rule(vg_evaluation *e, const vg_site_sums *s) {
    for (size_t k = 0; k < e->rule_count; k++) {
        vg_rule_row *row = &e->rule[k];
        const vg_site_rule *from = &s->rule[k];
        row->rows = s->rows;
        row->kept = from->kept;
        row->kept_errors = from->kept_errors;
        row->abstained = s->rows - from->kept;
        row->abstained_errors = s->rows - s->correct - from->kept_errors;
        row->abstained_correct = row->abstained - row->abstained_errors;
        row->coverage = only((double)from->kept / (double)s->rows);
        row->accuracy = only(ratio_of((double)(from->kept - from->kept_errors), (double)from->kept));
        if (row->abstained_by_label)
            memcpy(row->abstained_by_label, from->by_label, s->classes * sizeof(size_t));
        if (row->abstained_by_prediction)
            memcpy(row->abstained_by_prediction, from->by_prediction, s->classes * sizeof(size_t));
    }
}

vg_status vg_site_sums__evaluation(vg_evaluation **out, const vg_site_sums *s, const vg_measure *measures, size_t count,
                                   const vg_evaluate_options *options) {
    VG_TRY(make_evaluation(out, s, measures, count, options));
    vg_evaluation *e = *out;
    double rows = (double)s->rows;
    e->n = e->rows = s->rows;
    e->errors = s->rows - s->correct;
    e->accuracy = only((double)s->correct / rows);
    e->nll = only((double)(s->nll / (long double)rows));
    e->brier = only((double)(s->brier / (long double)rows));
    e->ece_adaptive = only(NAN);
    e->calibration = (vg_calibration_check){NAN, NAN, NAN, 0}; /* tests of independent rows, which sites are not */
    e->lead = (vg_measure_lead){.leader = count, .rival = count, .difference = {NAN, NAN, NAN}};
    e->lead.p_value = e->lead.corrected = NAN;
    fill_bins(e, s);
    fill_classes(e, s);
    fill_rule(e, s);
    return VG_OK;
}
