/* report_sections.c - evaluation, training and OOD figures as JSON of the page. Keys are those of `vargate evaluate
 * --json` and `vargate ood --json` where they mean the same. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

#include "report/report_parts.h"

static void estimate(vg_emit *e, const char *key, const vg_estimate *value) {
    vg_report__key_number(e, key, value->value);
}

static void reliability(vg_emit *e, const vg_evaluation *v) {
    vg_report__key(e, "reliability");
    vg_report__open(e, '[');
    for (size_t b = 0; b < v->bins; b++) {
        const vg_reliability_bin *bin = &v->reliability[b];
        vg_report__open(e, '{');
        vg_report__key_number(e, "low", bin->low);
        vg_report__key_number(e, "high", bin->high);
        vg_report__key_count(e, "count", bin->count);
        vg_report__key_number(e, "confidence", bin->confidence);
        vg_report__key_number(e, "accuracy", bin->accuracy);
        vg_report__close(e, '}');
    }
    vg_report__close(e, ']');
}

static void points(vg_emit *e, const char *key, const vg_estimate *values, size_t count) {
    vg_report__key(e, key);
    vg_report__open(e, '[');
    for (size_t i = 0; i < count; i++)
        vg_report__number(e, values[i].value);
    vg_report__close(e, ']');
}

static void ranking(vg_emit *e, const vg_evaluation *v, const vg_ranking *r) {
    vg_report__key(e, r->name);
    vg_report__open(e, '{');
    estimate(e, "aurc", &r->aurc);
    estimate(e, "eaurc", &r->eaurc);
    estimate(e, "augrc", &r->augrc);
    estimate(e, "error_auroc", &r->error_auroc);
    estimate(e, "error_aupr", &r->error_aupr);
    points(e, "risk_at_coverage", r->risk_at, v->coverage_count);
    points(e, "coverage_at_risk", r->coverage_at, v->risk_count);
    if (r->curve) {
        vg_report__key(e, "curve");
        vg_report__open(e, '[');
        for (size_t i = 0; i < v->curve_points; i++)
            vg_report__number_short(e, r->curve[i], 6);
        vg_report__close(e, ']');
    }
    vg_report__close(e, '}');
}

static void reals(vg_emit *e, const char *key, const double *values, size_t count) {
    vg_report__key(e, key);
    vg_report__open(e, '[');
    for (size_t i = 0; i < count; i++)
        vg_report__number(e, values[i]);
    vg_report__close(e, ']');
}

/* How far the ECE can be relied on at this number of samples, and other notes on the evaluation. */
static void notes(vg_emit *e, const vg_evaluation *v) {
    char text[VG_MAX_NOTES][VG_NOTE_SIZE];
    size_t count = vg_evaluation_notes(text, v);
    vg_report__key(e, "ece_expected");
    vg_report__number(e, v->calibration.expected);
    vg_report__key(e, "ece_p_value");
    vg_report__number(e, v->calibration.p_value);
    vg_report__key(e, "ece_debiased");
    vg_report__number(e, v->calibration.debiased);
    vg_report__key(e, "notes");
    vg_report__open(e, '[');
    for (size_t i = 0; i < count; i++)
        vg_report__text(e, text[i]);
    vg_report__close(e, ']');
}

void vg_report__emit_evaluation(vg_emit *e, const vg_evaluation *v, int with_measures) {
    if (!v) {
        vg_report__text(e, NULL);
        return;
    }
    vg_report__open(e, '{');
    estimate(e, "accuracy", &v->accuracy);
    estimate(e, "f1_macro", &v->f1_macro);
    estimate(e, "ece", &v->ece);
    estimate(e, "ece_adaptive", &v->ece_adaptive);
    estimate(e, "ece_classwise", &v->ece_classwise);
    estimate(e, "mce", &v->mce);
    estimate(e, "nll", &v->nll);
    estimate(e, "brier", &v->brier);
    estimate(e, "f1_micro", &v->f1_micro);
    estimate(e, "subset_accuracy", &v->subset_accuracy);
    estimate(e, "miou", &v->miou);
    notes(e, v);
    reliability(e, v);
    if (with_measures) {
        reals(e, "coverages", v->coverages, v->coverage_count);
        reals(e, "risks", v->risks, v->risk_count);
        vg_report__key(e, "measures");
        vg_report__open(e, '{');
        for (size_t i = 0; i < v->measure_count; i++)
            ranking(e, v, &v->measures[i]);
        vg_report__close(e, '}');
    }
    vg_report__close(e, '}');
}

void vg_report__emit_advice(vg_emit *e, const vg_report *r) {
    vg_report__key_text(e, "advice", r->advice);
    vg_report__key(e, "findings");
    vg_report__open(e, '[');
    for (size_t i = 0; i < r->finding_count; i++) {
        vg_report__open(e, '{');
        vg_report__key_text(e, "about", r->findings[i].about);
        vg_report__key_text(e, "verdict", r->findings[i].verdict);
        vg_report__key_text(e, "choice", r->findings[i].choice);
        vg_report__key_text(e, "text", r->findings[i].text);
        vg_report__close(e, '}');
    }
    vg_report__close(e, ']');
    vg_report__key_text(e, "sets", r->sets); /* a document of its own, as text */
    vg_report__key_text(e, "sets_from", r->sets_from);
}

enum { GATE_LINES = 12 }; /* up to this number of classes each has its own line */

/* The k of `line` in an epoch: that of a class, or with many classes the smallest, the median and the largest. */
static double gate_value(const vg_report *report, double *sorted, size_t epoch, size_t line) {
    const double *k = report->gates + epoch * report->gate_count;
    size_t count = report->gate_count, places[] = {0, count / 2, count - 1};
    if (count <= GATE_LINES)
        return k[line];
    memcpy(sorted, k, count * sizeof *k);
    vg_base__sort_doubles(sorted, count);
    return sorted[places[line]];
}

/* "k": {"names": [...], "lines": [[k of each epoch], ...]}, or null. */
static vg_status emit_gates(vg_emit *e, const vg_report *report) {
    static const char *const few[] = {"least", "middle", "largest"};
    bool each = report->gate_count <= GATE_LINES;
    size_t lines = each ? report->gate_count : 3;
    double *sorted;
    vg_report__key(e, "k");
    if (!report->gates || !report->gate_count) {
        vg_report__text(e, NULL);
        return VG_OK;
    }
    VG_TRY(vg_base__alloc(&sorted, report->gate_count, sizeof *sorted, "the gate"));
    vg_report__open(e, '{');
    vg_report__key(e, "names");
    vg_report__open(e, '[');
    for (size_t i = 0; i < lines; i++) {
        char number[32];
        snprintf(number, sizeof number, "%zu", i);
        bool named = each && report->class_names && report->gate_count == report->classes;
        vg_report__text(e, named ? report->class_names[i] : each ? number : few[i]);
    }
    vg_report__close(e, ']');
    vg_report__key(e, "lines");
    vg_report__open(e, '[');
    for (size_t i = 0; i < lines; i++) {
        vg_report__open(e, '[');
        for (size_t epoch = 0; epoch < report->epoch_count; epoch++)
            vg_report__number_short(e, gate_value(report, sorted, epoch, i), 5);
        vg_report__close(e, ']');
    }
    vg_report__close(e, ']');
    vg_report__close(e, '}');
    vg_base__release(sorted);
    return VG_OK;
}

vg_status vg_report__emit_training(vg_emit *e, const vg_report *report) {
    static const char *const keys[] = {"epoch",   "train_loss", "val_loss",     "val_accuracy",
                                       "val_ece", "diversity",  "k_sensitivity"};
    if (report->epoch_count == 0) {
        vg_report__text(e, NULL);
        return VG_OK;
    }
    vg_report__open(e, '{');
    vg_report__key_number(e, "collapse", report->collapse_epoch);
    for (size_t key = 0; key < sizeof keys / sizeof *keys; key++) {
        vg_report__key(e, keys[key]);
        vg_report__open(e, '[');
        for (size_t i = 0; i < report->epoch_count; i++) {
            const vg_report_epoch *p = &report->epochs[i];
            const double values[] = {p->epoch,   p->train_loss, p->val_loss,     p->val_accuracy,
                                     p->val_ece, p->diversity,  p->k_sensitivity};
            vg_report__number_short(e, values[key], 8);
        }
        vg_report__close(e, ']');
    }
    vg_report__key(e, "train_accuracy");
    vg_report__open(e, '[');
    for (size_t i = 0; i < report->epoch_count; i++)
        vg_report__number_short(e, report->train_accuracy ? report->train_accuracy[i] : NAN, 8);
    vg_report__close(e, ']');
    VG_TRY(emit_gates(e, report));
    vg_report__close(e, '}');
    return VG_OK;
}

static void counts(vg_emit *e, const char *key, const size_t *values, size_t count) {
    vg_report__key(e, key);
    vg_report__open(e, '[');
    for (size_t i = 0; i < count; i++)
        vg_report__count(e, values[i]);
    vg_report__close(e, ']');
}

static void short_reals(vg_emit *e, const char *key, const double *values, size_t count) {
    vg_report__key(e, key);
    vg_report__open(e, '[');
    for (size_t i = 0; i < count; i++)
        vg_report__number_short(e, values[i], 5);
    vg_report__close(e, ']');
}

static vg_status ood_measure(vg_emit *e, const vg_report *report, const vg_report_ood *set, size_t m) {
    const vg_ood_row *row = &set->figures[m];
    vg_ood_curves curves;
    VG_TRY(vg_report__ood_curves(&curves, &report->measures[m], report->n, &set->measures[m], set->n));
    vg_report__key(e, report->measures[m].name);
    vg_report__open(e, '{');
    estimate(e, "auroc", &row->auroc);
    estimate(e, "aupr_out", &row->aupr_out);
    estimate(e, "aupr_in", &row->aupr_in);
    estimate(e, "fpr95", &row->fpr95);
    estimate(e, "detection_error", &row->detection_error);
    vg_report__key_number(e, "low", curves.low);
    vg_report__key_number(e, "high", curves.high);
    counts(e, "id", curves.id, VG_OOD_BINS);
    counts(e, "ood", curves.ood, VG_OOD_BINS);
    short_reals(e, "fpr", curves.fpr, VG_OOD_ROC);
    short_reals(e, "tpr", curves.tpr, VG_OOD_ROC);
    vg_report__close(e, '}');
    return VG_OK;
}

vg_status vg_report__emit_ood(vg_emit *e, const vg_report *report) {
    vg_report__open(e, '[');
    for (size_t s = 0; s < report->ood_count; s++) {
        const vg_report_ood *set = &report->ood[s];
        vg_report__open(e, '{');
        vg_report__key_text(e, "name", set->name);
        vg_report__key_count(e, "n", set->n);
        vg_report__key(e, "measures");
        vg_report__open(e, '{');
        for (size_t m = 0; m < report->measure_count; m++)
            VG_TRY(ood_measure(e, report, set, m));
        vg_report__close(e, '}');
        vg_report__close(e, '}');
    }
    vg_report__close(e, ']');
    return VG_OK;
}
