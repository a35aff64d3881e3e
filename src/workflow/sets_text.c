/* sets_text.c - prediction sets as JSON: the figures (docs/schema/sets.schema.json) and the file of thresholds
 * (docs/schema/thresholds.schema.json; read back by sets_load.c). Numbers have 17 significant digits, so that a file
 * makes the same sets as the calibration did; a threshold that is infinite (the full set) is null. */
#include <math.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/json_text.h"
#include "vargate/formats.h"
#include "workflow/decide_json.h"
#include "workflow/json_build.h"
#include "workflow/prediction_set_text.h"

static const char *const scores[] = {"lac", "aps", "raps", "saps", "margin", "topk", "snr", NULL};
static const char *const cells[] = {"none", "class", "group", "top", NULL};

const char *vg_sets__score_word(size_t i) { return i < sizeof scores / sizeof *scores ? scores[i] : NULL; }
const char *vg_sets__by_word(size_t i) { return i < sizeof cells / sizeof *cells ? cells[i] : NULL; }

/* The number that all alphas share; NaN: none, or they differ. */
static double common(const double *of_alpha, size_t alphas) {
    double found = of_alpha[0];
    for (size_t a = 1; a < alphas; a++)
        found = of_alpha[a] == found ? found : NAN;
    return found;
}

/* The settings of the sets, which both documents have. */
static void put_settings(json_t *out, const vg_sets_data *s) {
    const vg_sets *shown = &s->shown;
    vg_json__put_text(out, "task", shown->multilabel ? "multilabel" : "multiclass");
    vg_json__put_text(out, "score", scores[shown->score]);
    vg_json__put_text(out, "by", cells[shown->by]);
    vg_json__put_number(out, "gated", shown->gate);
    vg_json__put_number(out, "lambda", common(s->lambdas, shown->alpha_count));
    vg_json__put_number(out, "k_reg", common(s->k_regs, shown->alpha_count));
    vg_json__put(out, "randomised", json_boolean(shown->randomised));
    vg_json__put(out, "never_empty", json_boolean(shown->never_empty));
    vg_json__put_count(out, "seed", shown->seed);
    vg_json__put_number(out, "confidence", shown->confidence);
    vg_json__put_count(out, "members", shown->members);
    vg_json__put_count(out, "classes", shown->classes);
    if (shown->by_image)
        vg_json__put_text(out, "unit", "image");
    vg_json__put_count(out, "calibrated", shown->calibrated);
    vg_json__put_count(out, "tuned", shown->tuned);
    json_t *names = json_array();
    if (s->tunes_lambda)
        vg_json__append(names, json_string("lambda"));
    if (s->tunes_k_reg)
        vg_json__append(names, json_string("k_reg"));
    vg_json__put(out, "tuned_parameters", names);
}

/* The name of a cell: its group, or its class. */
static json_t *cell_name(const vg_sets_data *s, size_t cell) {
    if (s->shown.cell_names)
        return json_string(s->shown.cell_names[cell]);
    if (s->shown.by == VG_SETS_BY_NONE)
        return json_string("all");
    return s->class_names ? json_string(s->class_names[cell]) : json_integer((json_int_t)cell);
}

static json_t *cells_json(const vg_sets_data *s, size_t a) {
    json_t *out = json_array();
    for (size_t cell = 0; cell < s->shown.cell_count; cell++) {
        json_t *one = json_object();
        vg_json__put(one, "cell", cell_name(s, cell));
        vg_json__put_count(one, "samples", s->cell_samples[cell]);
        vg_json__put_number(one, "threshold", s->thresholds[a * s->shown.cell_count + cell]);
        vg_json__append(out, one);
    }
    return out;
}

/* Lambda and k_reg of an alpha, where the score has them. */
static void put_rule(json_t *out, const vg_sets_data *s, size_t a) {
    if (s->shown.lambdas)
        vg_json__put_number(out, "lambda", s->shown.lambdas[a]);
    if (s->shown.k_regs)
        vg_json__put_number(out, "k_reg", s->shown.k_regs[a]);
}

/* --- figures ------------------------------------------------------------------------------------------------------ */
static void put_estimate(json_t *out, json_t *intervals, const char *key, const vg_estimate *e) {
    double ends[2] = {e->low, e->high};
    vg_json__put_number(out, key, e->value);
    if (!isnan(e->low))
        vg_json__put(intervals, key, vg_json__numbers(ends, 2));
}

static json_t *strata_json(const vg_set_figures *f) {
    json_t *out = json_array();
    for (size_t i = 0; i < f->stratum_count; i++) {
        const vg_set_stratum *s = &f->strata[i];
        double ends[2] = {s->coverage.low, s->coverage.high};
        json_t *one = json_object();
        vg_json__put_count(one, "low", s->low);
        vg_json__put_count(one, "high", s->high);
        vg_json__put_count(one, "samples", s->samples);
        vg_json__put_number(one, "coverage", s->coverage.value);
        vg_json__put(one, "interval", vg_json__numbers(ends, 2));
        vg_json__append(out, one);
    }
    return out;
}

static json_t *figures_json(const vg_sets_data *s, size_t a) {
    const vg_set_figures *f = &s->figures[a];
    json_t *out = json_object(), *intervals = json_object();
    size_t infinite = 0;
    for (size_t cell = 0; cell < s->shown.cell_count; cell++)
        infinite += isinf(s->thresholds[a * s->shown.cell_count + cell]) ? 1 : 0;
    vg_json__put_number(out, "alpha", f->alpha);
    vg_json__put_number(out, "threshold", s->shown.cell_count == 1 ? s->thresholds[a] : NAN);
    put_rule(out, s, a);
    put_estimate(out, intervals, "coverage", &f->coverage);
    put_estimate(out, intervals, "mean_size", &f->mean_size);
    put_estimate(out, intervals, "median_size", &f->median_size);
    put_estimate(out, intervals, "singletons", &f->singletons);
    put_estimate(out, intervals, "empty", &f->empty);
    put_estimate(out, intervals, "worst_class_coverage", &f->worst_class_coverage);
    put_estimate(out, intervals, "singleton_accuracy", &f->singleton_accuracy);
    if (s->shown.multilabel || s->shown.images)
        put_estimate(out, intervals, "risk", &f->risk);
    vg_json__put(out, "intervals", intervals);
    if (f->worst_class != SIZE_MAX)
        vg_json__put_count(out, "worst_class", f->worst_class);
    if (f->worst_class != SIZE_MAX && s->class_names)
        vg_json__put_text(out, "worst_class_name", s->class_names[f->worst_class]);
    if (!isnan(f->expected_low)) {
        double ends[2] = {f->expected_low, f->expected_high};
        vg_json__put(out, "expected_coverage", vg_json__numbers(ends, 2));
    }
    vg_json__put_count(out, "full_cells", infinite);
    vg_json__put(out, "cells", cells_json(s, a));
    vg_json__put(out, "by_size", strata_json(f));
    return out;
}

static json_t *figures_document(const vg_sets_data *s) {
    json_t *out = vg_json__document("sets"), *list = json_array();
    put_settings(out, s);
    vg_json__put_count(out, "n", s->shown.samples);
    if (s->shown.images) {
        vg_json__put_count(out, "images", s->shown.images);
        vg_json__put_count(out, "ignored", s->shown.left_out);
    }
    vg_json__put(out, "labelled", json_boolean(s->shown.labelled > 0));
    for (size_t a = 0; s->shown.figures && a < s->shown.alpha_count; a++)
        vg_json__append(list, figures_json(s, a));
    vg_json__put(out, "alphas", list);
    return out;
}

/* --- thresholds --------------------------------------------------------------------------------------------------- */
static json_t *thresholds_document(const vg_sets_data *s) {
    json_t *out = vg_json__document("thresholds"), *list = json_array();
    vg_json__put_text(out, "version", vg_version());
    put_settings(out, s);
    if (s->class_names) {
        json_t *names = json_array();
        for (size_t c = 0; c < s->shown.classes; c++)
            vg_json__append(names, json_string(s->class_names[c]));
        vg_json__put(out, "class_names", names);
    }
    if (s->temperature)
        vg_json__put(out, "temperature", vg_json__numbers(s->temperature, s->scoring.temperature_count));
    if (s->map)
        vg_json__put(out, "calibration_map", vg_base__json_load(s->map, strlen(s->map), 0, NULL));
    if (s->class_k)
        vg_json__put(out, "class_k", vg_json__numbers(s->class_k, s->scoring.class_k_count));
    vg_json__put(out, "conventions", vg_conventions__json(&s->scoring));
    for (size_t a = 0; a < s->shown.alpha_count; a++) {
        json_t *one = json_object();
        vg_json__put_number(one, "alpha", s->alphas[a]);
        put_rule(one, s, a);
        vg_json__put(one, "cells", cells_json(s, a));
        vg_json__append(list, one);
    }
    vg_json__put(out, "thresholds", list);
    return out;
}

vg_status vg_sets_text(char **out, vg_sets *sets, vg_sets_document document) {
    VG_TRY(vg_base__given(out && sets, "vg_sets_text: out and sets"));
    VG_IN_C_LOCALE;
    vg_sets_data *s = vg_sets__data(sets);
    VG_TRY(vg_sets__settle(s));
    if (document == VG_SETS_TABLE || document == VG_SETS_DECISIONS)
        return vg_sets__table(out, sets, document == VG_SETS_DECISIONS);
    return vg_json__text(out, document == VG_SETS_THRESHOLDS ? thresholds_document(s) : figures_document(s));
}

vg_status vg_sets__save(vg_sets_data *s, const char *path) {
    char *text;
    VG_TRY(vg_sets_text(&text, &s->shown, VG_SETS_THRESHOLDS));
    size_t length = strlen(text);
    text[length] = '\n'; /* replaces its NUL, which vg_text_save does not need */
    vg_status status = vg_text_save(path, text, length + 1);
    vg_free(text);
    return status;
}
