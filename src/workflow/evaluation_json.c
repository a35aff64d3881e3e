/* evaluation_json.c - an evaluation as JSON. Keys: docs/cli.md; they are stable. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "workflow/evaluation_figures.h"
#include "workflow/json_build.h"

/* Figures without an interval have no key. */
static void put_interval(json_t *intervals, const char *key, const vg_estimate *estimate) {
    if (isnan(estimate->low))
        return;
    double ends[2] = {estimate->low, estimate->high};
    vg_json__put(intervals, key, vg_json__numbers(ends, 2));
}

static json_t *points_json(const double *points, const vg_estimate *estimates, size_t count) {
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++) {
        char name[VG_NAME_SIZE];
        vg_k_name(name, points[i]);
        vg_json__put_number(object, name, estimates[i].value);
    }
    return object;
}

static void put_point_intervals(json_t *intervals, const char *key, const double *points, const vg_estimate *estimates,
                                size_t count) {
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++) {
        char name[VG_NAME_SIZE];
        vg_k_name(name, points[i]);
        put_interval(object, name, &estimates[i]);
    }
    vg_json__put(intervals, key, object);
}

static json_t *ranking_json(const vg_evaluation *e, const vg_ranking *ranking, bool intervals) {
    json_t *object = json_object();
    for (size_t i = 0; i < VG_RANKING_FIGURES; i++)
        vg_json__put_number(object, vg_evaluation__ranking_figure(i)->key,
                            vg_evaluation__ranking_estimate(ranking, i)->value);
    vg_json__put(object, "risk_at_coverage", points_json(e->coverages, ranking->risk_at, e->coverage_count));
    vg_json__put(object, "coverage_at_risk", points_json(e->risks, ranking->coverage_at, e->risk_count));
    if (ranking->curve)
        vg_json__put(object, "curve", vg_json__numbers(ranking->curve, e->curve_points));
    if (intervals) {
        json_t *ends = json_object();
        for (size_t i = 0; i < VG_RANKING_FIGURES; i++)
            put_interval(ends, vg_evaluation__ranking_figure(i)->key, vg_evaluation__ranking_estimate(ranking, i));
        put_point_intervals(ends, "risk_at_coverage", e->coverages, ranking->risk_at, e->coverage_count);
        put_point_intervals(ends, "coverage_at_risk", e->risks, ranking->coverage_at, e->risk_count);
        vg_json__put(object, "intervals", ends);
    }
    return object;
}

static json_t *rankings_json(const vg_evaluation *e, const vg_ranking *rankings, bool intervals) {
    json_t *object = json_object();
    for (size_t i = 0; i < e->measure_count; i++)
        vg_json__put(object, rankings[i].name, ranking_json(e, &rankings[i], intervals));
    return object;
}

static json_t *counts_json(const size_t *counts, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        vg_json__append(array, json_integer((json_int_t)counts[i]));
    return array;
}

static json_t *rule_json(const vg_evaluation *e) {
    json_t *object = json_object();
    for (size_t i = 0; i < e->rule_count; i++) {
        const vg_rule_row *rule = &e->rule[i];
        json_t *row = json_object();
        vg_json__put_number(row, "coverage", rule->coverage.value);
        vg_json__put_number(row, "accuracy", rule->accuracy.value);
        vg_json__put_count(row, "kept", rule->kept);
        vg_json__put_count(row, "kept_errors", rule->kept_errors);
        vg_json__put_count(row, "abstained", rule->abstained);
        vg_json__put_count(row, "abstained_errors", rule->abstained_errors);
        vg_json__put_count(row, "abstained_correct", rule->abstained_correct);
        if (rule->abstained_by_label)
            vg_json__put(row, "abstained_by_label", counts_json(rule->abstained_by_label, e->classes));
        if (rule->abstained_by_prediction)
            vg_json__put(row, "abstained_by_prediction", counts_json(rule->abstained_by_prediction, e->classes));
        if (e->resamples) {
            json_t *ends = json_object();
            put_interval(ends, "coverage", &rule->coverage);
            put_interval(ends, "accuracy", &rule->accuracy);
            vg_json__put(row, "intervals", ends);
        }
        vg_json__put(object, rule->name, row);
    }
    return object;
}

static json_t *class_row_json(const vg_class_row *row) {
    json_t *object = json_object();
    vg_json__put_count(object, "support", row->support);
    vg_json__put_count(object, "predicted", row->predicted);
    vg_json__put_count(object, "true_positive", row->true_positive);
    vg_json__put_number(object, "precision", row->precision);
    vg_json__put_number(object, "recall", row->recall);
    vg_json__put_number(object, "f1", row->f1);
    return object;
}

static json_t *classes_json(const vg_evaluation *e, const char *const *names) {
    json_t *array = json_array();
    for (size_t i = 0; i < e->classes; i++) {
        const vg_class_figures *more = &e->class_figures[i];
        json_t *row = class_row_json(&e->per_class[i]);
        if (!isnan(e->miou.value))
            vg_json__put_number(row, "iou", more->iou);
        vg_json__put_number(row, "mean_uncertainty", more->uncertainty);
        if (e->rule_count > 0)
            vg_json__put_count(row, "abstained", more->abstained);
        if (names)
            vg_json__put_text(row, "name", names[i]);
        if (e->resamples) {
            json_t *ends = json_object();
            put_interval(ends, "recall", &more->recall);
            put_interval(ends, "precision", &more->precision);
            vg_json__put(row, "intervals", ends);
        }
        vg_json__append(array, row);
    }
    return array;
}

/* The advice: the findings that choose something, and whether the difference to the next is noise. */
static json_t *advice_json(const vg_evaluation_result *result) {
    json_t *out = json_object();
    for (size_t i = 0; i < result->finding_count; i++) {
        const vg_finding *finding = &result->findings[i];
        if (!vg_evaluation__is_advice(finding))
            continue;
        json_t *row = json_object();
        vg_json__put(row, "use", finding->choice[0] ? vg_json__string(finding->choice) : json_null());
        vg_json__put(row, "clear", json_boolean(strcmp(finding->verdict, "clear") == 0));
        vg_json__put_text(row, "why", finding->text);
        vg_json__put(out, finding->about, row);
    }
    return out;
}

static json_t *findings_json(const vg_evaluation_result *result) {
    json_t *array = json_array();
    for (size_t i = 0; i < result->finding_count; i++) {
        const vg_finding *finding = &result->findings[i];
        json_t *row = json_object();
        vg_json__put_text(row, "about", finding->about);
        vg_json__put_text(row, "verdict", finding->verdict);
        if (finding->choice[0])
            vg_json__put_text(row, "choice", finding->choice);
        vg_json__put_text(row, "text", finding->text);
        vg_json__append(array, row);
    }
    return array;
}

/* The best measure against the one that is preferred unless it is beaten. */
static json_t *lead_json(const vg_evaluation *e) {
    json_t *out = json_object();
    if (e->lead.leader < e->measure_count)
        vg_json__put_text(out, "leader", e->measures[e->lead.leader].name);
    if (e->lead.rival < e->measure_count) {
        double ends[2] = {e->lead.difference.low, e->lead.difference.high};
        vg_json__put_text(out, "rival", e->measures[e->lead.rival].name);
        vg_json__put_number(out, "difference", e->lead.difference.value);
        vg_json__put(out, "interval", vg_json__numbers(ends, 2));
        vg_json__put_number(out, "p_value", e->lead.p_value);
        vg_json__put_number(out, "p_corrected", e->lead.corrected);
    }
    return out;
}

static json_t *labels_json(const vg_evaluation *e) {
    json_t *array = json_array();
    for (size_t i = 0; i < e->label_count; i++) {
        const vg_label_row *label = &e->labels[i];
        json_t *object = class_row_json(&label->positive);
        vg_json__put_number(object, "accuracy", label->accuracy);
        vg_json__put_number(object, "ece", label->ece);
        vg_json__put_number(object, "nll", label->nll);
        vg_json__put_number(object, "brier", label->brier);
        vg_json__put(object, "measures", rankings_json(e, label->measures, false));
        vg_json__append(array, object);
    }
    return array;
}

static json_t *confusion_json(const vg_evaluation *e) {
    json_t *rows = json_array();
    for (size_t i = 0; i < e->classes; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < e->classes; j++)
            vg_json__append(row, json_integer((json_int_t)e->confusion[i * e->classes + j]));
        vg_json__append(rows, row);
    }
    return rows;
}

static json_t *reliability_json(const vg_evaluation *e) {
    json_t *array = json_array();
    for (size_t i = 0; i < e->bins; i++) {
        const vg_reliability_bin *bin = &e->reliability[i];
        json_t *object = json_object();
        vg_json__put_number(object, "low", bin->low);
        vg_json__put_number(object, "high", bin->high);
        vg_json__put_count(object, "count", bin->count);
        vg_json__put_number(object, "confidence", bin->confidence);
        vg_json__put_number(object, "accuracy", bin->accuracy);
        vg_json__append(array, object);
    }
    return array;
}

static void put_whole(json_t *out, const vg_evaluation *e, const vg_figure_table *whole) {
    json_t *intervals = e->resamples ? json_object() : NULL;
    for (size_t i = 0; i < whole->columns; i++) {
        vg_json__put_number(out, whole->figures[i].key, whole->values[i].value);
        if (e->resamples)
            put_interval(intervals, whole->figures[i].key, &whole->values[i]);
    }
    vg_json__put_number(out, "ece_expected", e->calibration.expected);
    vg_json__put_number(out, "ece_p_value", e->calibration.p_value);
    vg_json__put_number(out, "ece_debiased", e->calibration.debiased);
    vg_json__put_count(out, "mce_rows", e->calibration.mce_rows);
    vg_json__put_count(out, "errors", e->errors);
    if (e->resamples) {
        vg_json__put(out, "intervals", intervals); /* notes that there is not an object where memory ran out */
        vg_json__put_count(out, "bootstrap", e->resamples);
        vg_json__put_number(out, "confidence", e->confidence);
        vg_json__put_count(out, "seed", e->seed);
    }
}

static json_t *notes_json(const vg_evaluation *e) {
    char notes[VG_MAX_NOTES][VG_NOTE_SIZE];
    json_t *array = json_array();
    size_t count = vg_evaluation_notes(notes, e);
    for (size_t i = 0; i < count; i++)
        vg_json__append(array, vg_json__string(notes[i]));
    return array;
}

json_t *vg_evaluation_result__json(const vg_evaluation_result *result) {
    const vg_evaluation *e = result->evaluation;
    json_t *out = vg_json__document("evaluate");
    vg_json__put_text(out, "file", result->file);
    vg_json__put_count(out, "n", e->n);
    vg_json__put_count(out, "m", result->m);
    vg_json__put_count(out, "c", e->classes);
    vg_json__put(out, "multilabel", json_boolean(result->multilabel));
    vg_json__put_count(out, "bins", e->bins);
    put_whole(out, e, result->whole);
    vg_json__put(out, "notes", notes_json(e));
    vg_json__put(out, "measures", rankings_json(e, e->measures, e->resamples > 0));
    vg_json__put(out, "best", vg_json__best(result->measures));
    vg_json__put(out, "rule", rule_json(e));
    vg_json__put(out, "lead", lead_json(e));
    if (e->class_measure < e->measure_count)
        vg_json__put_text(out, "class_measure", e->measures[e->class_measure].name);
    vg_json__put(out, "per_class", classes_json(e, result->class_names));
    if (e->confusion)
        vg_json__put(out, "confusion", confusion_json(e));
    vg_json__put(out, "reliability", reliability_json(e));
    if (e->label_count)
        vg_json__put(out, "per_label", labels_json(e));
    if (result->image_count)
        vg_json__put_images(
            out, &(vg_image_list){result->sites, result->ignored, result->images, result->image_count, true, NAN});
    vg_json__put(out, "advice", advice_json(result));
    vg_json__put(out, "findings", findings_json(result));
    return out;
}

vg_status vg_evaluation_result_json(char **text, const vg_evaluation_result *result) {
    VG_TRY(vg_base__given(text && result, "vg_evaluation_result_json: out and result"));
    VG_IN_C_LOCALE;
    return vg_json__text(text, vg_evaluation_result__json(result));
}
