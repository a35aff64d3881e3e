/* compare_runs.c - several inputs side by side, each compared with the first; and the JSON of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "workflow/compare_rows.h"
#include "workflow/figure_table.h"
#include "workflow/job.h"
#include "workflow/json_build.h"
#include "workflow/workflow_options.h"

static const vg_figure figures[VG_COMPARE_FIGURES] = {
    [VG_COMPARE_ACCURACY] = {"accuracy", "accuracy", 1, 0},
    [VG_COMPARE_F1] = {"f1_macro", "F1", 1, 0},
    [VG_COMPARE_ECE] = {"ece", "ECE", 0, 0},
    [VG_COMPARE_NLL] = {"nll", "NLL", 0, 0},
    [VG_COMPARE_BRIER] = {"brier", "Brier", 0, 0},
    [VG_COMPARE_DIVERSITY] = {"diversity", "D", 1, 0},
    [VG_COMPARE_AURC] = {"aurc", "AURC", 0, 0},
    [VG_COMPARE_AUROC] = {"error_auroc", "error AUROC", 1, 0},
    [VG_COMPARE_OOD] = {"ood_auroc", "OOD AUROC", 1, 0},
};

typedef struct compare_owner {
    vg_compare_result result; /* the public part */
    vg_compare_rows rows;
    vg_compared *shown;
    vg_figure_table *table;
    vg_estimate *differences;
    double *p_values;
} compare_owner;

/* --- tests against the first -------------------------------------------------------------------------------------- */

/* Whether class `in_a` of a and class `in_b` of b have the same name, as far as names are known. */
static bool same_class(const vg_compare_row *a, int64_t in_a, const vg_compare_row *b, int64_t in_b) {
    if (!a->class_names || !b->class_names)
        return in_a == in_b;
    return strcmp(a->class_names[in_a], b->class_names[in_b]) == 0;
}

/* Labels are compared by the names of their classes; those of a multilabel sample and of images, of which a digest is
 * kept, are in the order of the classes. */
static bool same_samples(const vg_compare_row *a, const vg_compare_row *b) {
    bool same = a->shown.predictions && b->shown.predictions && a->rows == b->rows &&
                a->label_count == b->label_count && a->images == b->images;
    if (same && (a->multilabel || a->images)) {
        for (size_t c = 0; c < a->classes && same; c++)
            same = same_class(a, (int64_t)c, b, (int64_t)c);
        if (a->images)
            return same && a->digest == b->digest;
        return same && memcmp(a->labels, b->labels, a->label_count * sizeof *a->labels) == 0;
    }
    for (size_t i = 0; same && i < a->label_count; i++)
        same = same_class(a, a->labels[i], b, b->labels[i]);
    return same;
}

/* Counts the rows that only one of the two has right. */
static void discordant(size_t *only_a, size_t *only_b, const vg_compare_row *a, const vg_compare_row *b) {
    *only_a = *only_b = 0;
    for (size_t i = 0; i < a->rows; i++) {
        *only_a += !a->errors[i] && b->errors[i];
        *only_b += a->errors[i] && !b->errors[i];
    }
}

static vg_status test_row(compare_owner *owner, size_t index) {
    static const struct {
        vg_compare_figure figure;
        vg_paired_figure paired;
    } tested[] = {{VG_COMPARE_ACCURACY, VG_PAIRED_ACCURACY}, {VG_COMPARE_F1, VG_PAIRED_F1},
                  {VG_COMPARE_NLL, VG_PAIRED_NLL},           {VG_COMPARE_BRIER, VG_PAIRED_BRIER},
                  {VG_COMPARE_AURC, VG_PAIRED_AURC},         {VG_COMPARE_AUROC, VG_PAIRED_AUROC}};
    const vg_compare_row *first = &owner->rows.items[0], *row = &owner->rows.items[index];
    vg_estimate *differences = owner->differences + index * VG_COMPARE_FIGURES;
    double *p = owner->p_values + index * VG_COMPARE_FIGURES;
    bool drawn = first->replicates && row->replicates;
    vg_paired_replicates pair = {first->replicates, row->replicates, drawn ? owner->result.resamples : 0,
                                 owner->result.confidence};
    for (size_t f = 0; f < VG_COMPARE_FIGURES; f++)
        differences[f].value = row->figures[f].value - first->figures[f].value;
    for (size_t i = 0; i < sizeof tested / sizeof *tested; i++) {
        vg_compare_figure f = tested[i].figure;
        VG_TRY(vg_evaluate__difference(&differences[f], &p[f], differences[f].value, tested[i].paired, &pair));
    }
    /* A sample's labels, and an image's sites, are not independent: only a bootstrap of samples or images is valid. */
    if (!row->multilabel && !row->images) {
        size_t a, b;
        discordant(&a, &b, first, row);
        p[VG_COMPARE_ACCURACY] = vg_evaluate__mcnemar(a, b);
    }
    return VG_OK;
}

static vg_status test_rows(compare_owner *owner) {
    size_t cells = owner->rows.count * VG_COMPARE_FIGURES;
    owner->differences = malloc(cells * sizeof *owner->differences);
    owner->p_values = malloc(cells * sizeof *owner->p_values);
    if (!owner->differences || !owner->p_values)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the comparison");
    for (size_t i = 0; i < cells; i++) {
        owner->differences[i] = (vg_estimate){NAN, NAN, NAN};
        owner->p_values[i] = NAN;
    }
    for (size_t i = 1; i < owner->rows.count; i++) {
        if (!same_samples(&owner->rows.items[0], &owner->rows.items[i]))
            continue;
        owner->rows.items[i].shown.paired = 1;
        VG_TRY(test_row(owner, i));
    }
    return VG_OK;
}

/* --- the result --------------------------------------------------------------------------------------------------- */

/* The first class of a that b lacks; NULL where it has all, or names are not known. */
static const char *class_lacking(const vg_compare_row *b, const vg_compare_row *a) {
    for (size_t i = 0; a->class_names && b->class_names && i < a->classes; i++) {
        size_t j = 0;
        while (j < b->classes && strcmp(b->class_names[j], a->class_names[i]) != 0)
            j++;
        if (j == b->classes)
            return a->class_names[i];
    }
    return NULL;
}

static vg_status check_row(const vg_compare_row *row, const vg_compare_row *first, const vg_job *job) {
    const char *lacking = class_lacking(row, first);
    if (row->multilabel != first->multilabel)
        return vg_base__fail(VG_ERR_DATA, "%s: %s, the first input is %s", row->path,
                             row->multilabel ? "multilabel" : "multiclass",
                             first->multilabel ? "multilabel" : "multiclass");
    if (row->shown.c != first->shown.c)
        return vg_base__fail(VG_ERR_DATA, "%s: %zu classes, the first input has %zu", row->path, row->shown.c,
                             first->shown.c);
    if (lacking && !*row->variant)
        vg_job__warn(job, "%s: other classes than the first input's, no '%s' among them: only shown beside it",
                     row->path, lacking);
    return VG_OK;
}

static vg_status fill_table(compare_owner *owner) {
    size_t count = owner->rows.count;
    VG_TRY(vg_figure_table__new(&owner->table, count, figures, VG_COMPARE_FIGURES));
    for (size_t r = 0; r < count; r++) {
        vg_figure_table__name(owner->table, r, owner->rows.items[r].name);
        for (size_t f = 0; f < VG_COMPARE_FIGURES; f++)
            vg_figure_table__set(owner->table, r, f, &owner->rows.items[r].figures[f]);
    }
    vg_figure_table__mark_best(owner->table);
    return VG_OK;
}

/* Called when all rows have been added: the public part points into them, and adding rows moves them. */
static vg_status show_rows(compare_owner *owner) {
    owner->shown = calloc(owner->rows.count, sizeof *owner->shown);
    if (!owner->shown)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the comparison");
    for (size_t i = 0; i < owner->rows.count; i++) {
        vg_compare_row *row = &owner->rows.items[i];
        row->shown.name = row->name;
        row->shown.path = row->path;
        row->shown.measure = row->measure;
        row->shown.curve = row->shown.curve_points ? row->curve : NULL;
        row->shown.ood_names = (const char *const *)row->ood_names;
        row->shown.ood_auroc = row->ood_auroc;
        owner->shown[i] = row->shown;
    }
    owner->result.count = owner->rows.count;
    owner->result.rows = owner->shown;
    owner->result.table = owner->table;
    owner->result.differences = owner->differences;
    owner->result.p_values = owner->p_values;
    return VG_OK;
}

static vg_status fill(compare_owner *owner, const char *const *paths, size_t count, const vg_input_options *input,
                      const vg_compare_options *own) {
    owner->result.struct_size = sizeof owner->result;
    owner->result.resamples = own->resamples;
    owner->result.confidence = own->confidence;
    for (size_t i = 0; i < count; i++) {
        size_t from = owner->rows.count;
        VG_TRY(vg_compare_rows__add(&owner->rows, paths[i], input, own));
        for (size_t r = from; r < owner->rows.count; r++)
            VG_TRY(check_row(&owner->rows.items[r], &owner->rows.items[0], &own->job));
    }
    VG_TRY(vg_compare_rows__name(&owner->rows));
    VG_TRY(test_rows(owner));
    VG_TRY(fill_table(owner));
    return show_rows(owner);
}

vg_status vg_compare(vg_compare_result **out, const char *const *paths, size_t count, const vg_input_options *input,
                     const vg_compare_options *options) {
    VG_TRY(vg_base__given(out != NULL, "vg_compare: out"));
    VG_IN_C_LOCALE;
    vg_compare_options own = VG_COMPARE_OPTIONS_INIT;
    vg_input_options reading = VG_INPUT_OPTIONS_INIT;
    *out = NULL;
    VG_TRY(vg_base__given(paths != NULL, "vg_compare: paths"));
    VG_TRY(vg_workflow__options(&own, sizeof own, options, "vg_compare_options"));
    VG_TRY(vg_workflow__options(&reading, sizeof reading, input, "vg_input_options"));
    if (count == 0 || count > VG_COMPARE_MOST)
        return vg_base__fail(VG_ERR_ARGUMENT, "compare: %zu inputs, expected 1 .. %d", count, VG_COMPARE_MOST);
    for (size_t i = 0; i < count; i++)
        VG_TRY(vg_base__given(paths[i] != NULL, "vg_compare: a path"));
    if (!(own.confidence > 0 && own.confidence < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "compare: confidence %g, expected above 0 and below 1", own.confidence);
    compare_owner *owner = calloc(1, sizeof *owner);
    vg_status status = owner ? fill(owner, paths, count, &reading, &own)
                             : vg_base__fail(VG_ERR_MEMORY, "out of memory for the comparison");
    if (status == VG_OK)
        *out = &owner->result;
    else
        vg_compare_result_free((vg_compare_result *)(void *)owner);
    return status;
}

void vg_compare_result_free(vg_compare_result *result) {
    compare_owner *owner = (compare_owner *)(void *)result;
    if (!owner)
        return;
    vg_compare_rows__free(&owner->rows);
    vg_figure_table__free(owner->table);
    free(owner->shown);
    free(owner->differences);
    free(owner->p_values);
    free(owner);
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static void put_range(json_t *object, const char *key, const vg_estimate *e) {
    double ends[2] = {e->low, e->high};
    if (!isnan(e->low))
        vg_json__put(object, key, vg_json__numbers(ends, 2));
}

static json_t *differences_json(const vg_compare_result *result, size_t row) {
    const vg_figure_table *table = result->table;
    json_t *out = json_object();
    for (size_t c = 0; c < table->columns; c++) {
        const vg_estimate *e = &result->differences[row * table->columns + c];
        if (isnan(e->value))
            continue;
        json_t *one = json_object();
        vg_json__put_number(one, "value", e->value);
        put_range(one, "interval", e);
        if (!isnan(result->p_values[row * table->columns + c]))
            vg_json__put_number(one, "p_value", result->p_values[row * table->columns + c]);
        vg_json__put(out, table->figures[c].key, one);
    }
    return out;
}

/* The course of a training: diversity and validation accuracy after every epoch. */
static json_t *epochs_json(const vg_report_epochs *epochs) {
    json_t *out = json_object(), *numbers = json_array(), *diversity = json_array(), *accuracy = json_array();
    for (size_t i = 0; i < epochs->count; i++) {
        vg_json__append(numbers, vg_json__number(epochs->items[i].epoch));
        vg_json__append(diversity, vg_json__number(epochs->items[i].diversity));
        vg_json__append(accuracy, vg_json__number(epochs->items[i].val_accuracy));
    }
    vg_json__put(out, "epoch", numbers);
    vg_json__put(out, "diversity", diversity);
    vg_json__put(out, "val_accuracy", accuracy);
    return out;
}

static json_t *row_json(const vg_compare_result *result, size_t i) {
    const vg_report_epochs *epochs = &((const compare_owner *)(const void *)result)->rows.items[i].epochs;
    const vg_compared *row = &result->rows[i];
    const vg_figure_table *table = result->table;
    json_t *out = json_object(), *intervals = json_object(), *ood = json_object();
    vg_json__put_text(out, "name", row->name);
    vg_json__put_text(out, "path", row->path);
    vg_json__put_count(out, "n", row->n);
    vg_json__put_count(out, "m", row->m);
    vg_json__put_count(out, "c", row->c);
    vg_json__put_text(out, "measure", row->measure);
    vg_json__put(out, "predictions", json_boolean(row->predictions));
    vg_json__put(out, "paired", json_boolean(row->paired));
    for (size_t c = 0; c < table->columns; c++) {
        const vg_estimate *e = &table->values[i * table->columns + c];
        vg_json__put_number(out, table->figures[c].key, e->value);
        put_range(intervals, table->figures[c].key, e);
    }
    vg_json__put(out, "intervals", intervals);
    vg_json__put(out, "difference", differences_json(result, i));
    for (size_t s = 0; s < row->ood_count; s++)
        vg_json__put_number(ood, row->ood_names[s], row->ood_auroc[s]);
    vg_json__put(out, "ood", ood);
    if (row->curve)
        vg_json__put(out, "curve", vg_json__numbers(row->curve, row->curve_points));
    if (epochs->count)
        vg_json__put(out, "epochs", epochs_json(epochs));
    return out;
}

vg_status vg_compare_result_json(char **text, const vg_compare_result *result) {
    VG_TRY(vg_base__given(text && result, "vg_compare_result_json: out and result"));
    VG_IN_C_LOCALE;
    json_t *out = vg_json__document("compare"), *rows = json_array();
    vg_json__put_count(out, "bootstrap", result->resamples);
    vg_json__put_number(out, "confidence", result->confidence);
    for (size_t i = 0; i < result->count; i++)
        vg_json__append(rows, row_json(result, i));
    vg_json__put(out, "runs", rows);
    vg_json__put(out, "best", vg_json__best(result->table));
    return vg_json__text(text, out);
}
