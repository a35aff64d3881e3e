/* compare_rows.c - the figures of one input of a comparison. See compare_rows.h.
 *
 * Predictions are scored and evaluated; only the figures, the error marks and the labels are kept, so that memory
 * does not grow with the measures of every input. Stored results are read from their JSON. */
#include "workflow/compare_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json_text.h"
#include "workflow/evaluation_figures.h"
#include "workflow/measure_columns.h"
#include "workflow/row_names.h"
#include "workflow/site_evaluation.h"

enum { PATH_ROOM = 4400 };

/* --- rows --------------------------------------------------------------------------------------------------------- */

static void release_row(vg_compare_row *row) {
    for (size_t i = 0; row->ood_names && i < row->shown.ood_count; i++)
        free(row->ood_names[i]);
    vg_report_names__free(row->class_names, row->classes);
    vg_report_epochs__free(&row->epochs);
    void *parts[] = {row->name, row->path, row->labels, row->errors, row->replicates, row->ood_names, row->ood_auroc};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        free(parts[i]);
}

void vg_compare_rows__free(vg_compare_rows *rows) {
    for (size_t i = 0; i < rows->count; i++)
        release_row(&rows->items[i]);
    free(rows->items);
    *rows = (vg_compare_rows){0};
}

static char *copy_text(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

static vg_status new_row(vg_compare_row **out, vg_compare_rows *rows, const char *path, const char *variant) {
    if (rows->count == rows->room) {
        size_t room = rows->room ? 2 * rows->room : 8;
        vg_compare_row *items = realloc(rows->items, room * sizeof *items);
        if (!items)
            return vg_base__fail(VG_ERR_MEMORY, "out of memory for the comparison");
        rows->items = items;
        rows->room = room;
    }
    vg_compare_row *row = *out = &rows->items[rows->count++];
    *row = (vg_compare_row){.path = copy_text(path), .variant = variant};
    for (size_t f = 0; f < VG_COMPARE_FIGURES; f++)
        row->figures[f] = (vg_estimate){NAN, NAN, NAN};
    return row->path ? VG_OK : vg_base__fail(VG_ERR_MEMORY, "out of memory for the comparison");
}

/* --- predictions -------------------------------------------------------------------------------------------------- */

static void take_figures(vg_compare_row *row, const vg_evaluation *e, const vg_ranking *best) {
    row->figures[VG_COMPARE_ACCURACY] = e->accuracy;
    row->figures[VG_COMPARE_F1] = e->f1_macro;
    row->figures[VG_COMPARE_ECE] = e->ece;
    row->figures[VG_COMPARE_NLL] = e->nll;
    row->figures[VG_COMPARE_BRIER] = e->brier;
    if (!best)
        return;
    row->figures[VG_COMPARE_AURC] = best->aurc;
    row->figures[VG_COMPARE_AUROC] = best->error_auroc;
    snprintf(row->measure, sizeof row->measure, "%s", best->name);
    if (best->curve) {
        memcpy(row->curve, best->curve, sizeof row->curve);
        row->shown.curve_points = VG_COMPARE_CURVE;
    }
}

/* The measure of lowest AURC; NULL where none is defined. */
static const vg_ranking *lowest_aurc(const vg_evaluation *e) {
    const vg_ranking *best = NULL;
    for (size_t i = 0; i < e->measure_count; i++)
        if (!isnan(e->measures[i].aurc.value) && (!best || e->measures[i].aurc.value < best->aurc.value))
            best = &e->measures[i];
    return best;
}

static vg_status keep_names(vg_compare_row *row, const vg_score_input *in) {
    vg_row_names names;
    VG_TRY(vg_score_input__names(&names, in));
    row->classes = in->layout.c;
    vg_status status = vg_report_names__copy(&row->class_names, names.classes, row->classes);
    vg_row_names__free(&names);
    return status;
}

static vg_status keep_pairs(vg_compare_row *row, const vg_score_input *in, const vg_tally *tally,
                            const vg_columns *columns, const vg_compare_options *own) {
    vg_measure measure;
    size_t rows = vg_tally__info(tally).rows;
    row->rows = rows;
    row->label_count = in->layout.n * (in->layout.multilabel ? in->layout.c : 1);
    row->labels = malloc((row->label_count ? row->label_count : 1) * sizeof *row->labels);
    row->errors = malloc(rows ? rows : 1);
    if (!row->labels || !row->errors)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the comparison");
    memcpy(row->labels, in->labels, row->label_count * sizeof *row->labels);
    VG_TRY(keep_names(row, in));
    memcpy(row->errors, vg_tally__info(tally).errors, rows);
    if (own->resamples == 0 || !*row->measure)
        return VG_OK;
    row->replicates = malloc(own->resamples * VG_PAIRED_FIGURES * sizeof *row->replicates);
    if (!row->replicates)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the comparison");
    VG_TRY(vg_columns__find(columns, row->measure, &measure));
    return vg_evaluate__replicates(row->replicates, tally, &measure, own->resamples, own->seed, in->options.threads);
}

static vg_status evaluate_columns(vg_compare_row *row, const vg_score_input *in, const vg_tally *tally,
                                  const vg_columns *columns, const vg_compare_options *own) {
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    vg_evaluation *evaluation = NULL;
    options.curve_points = VG_COMPARE_CURVE;
    options.resamples = own->resamples;
    options.seed = own->seed;
    options.confidence = own->confidence;
    vg_status status = vg_measure_columns__evaluate(&evaluation, in, tally, columns, options);
    if (status == VG_OK) {
        take_figures(row, evaluation, lowest_aurc(evaluation));
        status = keep_pairs(row, in, tally, columns, own);
    }
    vg_evaluation_free(evaluation);
    return status;
}

static vg_status evaluate_input(vg_compare_row *row, vg_score_input *in, const vg_compare_options *own) {
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    vg_tally *tally = NULL;
    vg_columns *columns = NULL;
    vg_score_summary summary;
    VG_TRY(vg_score_input__need_labels(in));
    options.task = in->options.task;
    options.bootstrap = own->resamples > 0;
    options.expected = in->layout.n;
    options.class_k = in->options.class_k;
    VG_TRY(vg_tally_new(&tally, in->layout.c, &options));
    vg_status status = vg_measure_columns__score(&columns, tally, in, in->measures, false, &summary, NULL);
    if (status == VG_OK)
        status = evaluate_columns(row, in, tally, columns, own);
    if (status == VG_OK)
        row->figures[VG_COMPARE_DIVERSITY].value = summary.diversity;
    vg_columns__free(columns);
    vg_tally_free(tally);
    return status;
}

/* Images: figures of all sites in bounded memory, and resamples of images, whose sites are not independent. */
static vg_status evaluate_images(vg_compare_row *row, vg_score_input *in, const vg_compare_options *own) {
    enum { FEWEST_IMAGES = 3 };
    vg_evaluate_file_options how = VG_EVALUATE_FILE_OPTIONS_INIT;
    vg_site_figures sites = {.evaluation = NULL};
    VG_TRY(vg_score_input__need_labels(in));
    row->images = vg_score_input__shape(in)[0];
    how.curve_points = VG_COMPARE_CURVE;
    how.resamples = row->images < FEWEST_IMAGES ? 0 : own->resamples;
    if (how.resamples < own->resamples)
        vg_job__warn(in->job, "%s: no intervals and no tests, which draw images: %zu image%s, at least %d are needed",
                     row->path, row->images, row->images == 1 ? "" : "s", FEWEST_IMAGES);
    how.seed = own->seed;
    how.confidence = own->confidence;
    if (how.resamples > 0 && !(row->replicates = malloc(how.resamples * VG_PAIRED_FIGURES * sizeof *row->replicates)))
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the comparison");
    sites.pairs = row->replicates;
    VG_TRY(vg_site_evaluation__run(&sites, in, &how));
    take_figures(row, sites.evaluation, lowest_aurc(sites.evaluation));
    row->figures[VG_COMPARE_DIVERSITY].value = sites.summary.diversity;
    row->rows = sites.evaluation->rows;
    row->digest = sites.labels;
    vg_evaluation_free(sites.evaluation);
    vg_site_images__free(&sites.images);
    return keep_names(row, in);
}

/* Adds a file of predictions as one row. */
static vg_status add_predictions(vg_compare_rows *rows, const char *path, const char *shown, const char *variant,
                                 const vg_input_options *input, const vg_compare_options *own) {
    vg_compare_row *row;
    vg_score_input in;
    VG_TRY(new_row(&row, rows, shown, variant));
    VG_TRY(vg_score_input__open_maps(&in, path, input, input->labels, &own->job));
    row->shown.n = in.layout.n;
    row->shown.m = in.layout.m;
    row->shown.c = in.layout.c;
    row->multilabel = in.layout.multilabel;
    vg_status status = vg_score_input__images(&in) && !row->multilabel ? evaluate_images(row, &in, own)
                                                                       : evaluate_input(row, &in, own);
    vg_score_input__close(&in);
    row->shown.predictions = 1;
    return status;
}

/* --- stored results ----------------------------------------------------------------------------------------------- */

/* What is not known is null in a document. */
static double real_of(const json_t *value) { return json_is_number(value) ? json_number_value(value) : NAN; }
static double number_of(const json_t *object, const char *key) { return real_of(json_object_get(object, key)); }

static size_t count_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) && json_integer_value(value) > 0 ? (size_t)json_integer_value(value) : 0;
}

static void stored_ranking(vg_compare_row *row, const json_t *measures) {
    const char *name;
    json_t *measure;
    double best = NAN;
    json_object_foreach((json_t *)measures, name, measure) {
        double aurc = number_of(measure, "aurc");
        if (isnan(aurc) || (!isnan(best) && aurc >= best))
            continue;
        best = aurc;
        row->figures[VG_COMPARE_AURC].value = aurc;
        row->figures[VG_COMPARE_AUROC].value = number_of(measure, "error_auroc");
        snprintf(row->measure, sizeof row->measure, "%.*s", (int)sizeof row->measure - 1, name);
    }
}

/* Adds an evaluation document as one row. */
static vg_status add_stored(vg_compare_rows *rows, const json_t *document, const char *path, const char *variant) {
    static const struct {
        vg_compare_figure figure;
        const char *key;
    } keys[] = {{VG_COMPARE_ACCURACY, "accuracy"},
                {VG_COMPARE_F1, "f1_macro"},
                {VG_COMPARE_ECE, "ece"},
                {VG_COMPARE_NLL, "nll"},
                {VG_COMPARE_BRIER, "brier"}};
    vg_compare_row *row;
    VG_TRY(new_row(&row, rows, path, variant));
    row->shown.n = count_of(document, "n");
    row->shown.m = count_of(document, "m");
    row->shown.c = count_of(document, "c");
    row->multilabel = json_is_true(json_object_get(document, "multilabel"));
    if (row->shown.n == 0 || row->shown.c == 0 || isnan(number_of(document, "accuracy")))
        return vg_base__fail(VG_ERR_DATA, "%s: holds no evaluation; 'vargate evaluate --json' makes one", path);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *ends = json_object_get(json_object_get(document, "intervals"), keys[i].key);
        vg_estimate *e = &row->figures[keys[i].figure];
        e->value = number_of(document, keys[i].key);
        if (json_array_size(ends) == 2) {
            e->low = real_of(json_array_get(ends, 0));
            e->high = real_of(json_array_get(ends, 1));
        }
    }
    stored_ranking(row, json_object_get(document, "measures"));
    return VG_OK;
}

static vg_status load_json(json_t **out, const char *path) {
    VG_TRY(vg_base__json_load_file(out, path, 0));
    if (json_is_object(*out))
        return VG_OK;
    json_decref(*out);
    *out = NULL;
    return vg_base__fail(VG_ERR_DATA, "%s: not a JSON object", path);
}

/* --- out-of-distribution sets of a run ---------------------------------------------------------------------------- */

/* The largest AUROC of all measures on one set; NaN when there is none. */
static double best_auroc(const json_t *set) {
    const char *name;
    json_t *measure;
    double best = NAN;
    json_object_foreach(json_object_get(set, "measures"), name, measure) best = fmax(best, number_of(measure, "auroc"));
    return best;
}

static vg_status take_ood(vg_compare_row *row, const json_t *sets) {
    size_t count = json_object_size(sets);
    const char *name;
    json_t *set;
    double sum = 0;
    if (count == 0)
        return VG_OK;
    row->ood_names = calloc(count, sizeof *row->ood_names);
    row->ood_auroc = calloc(count, sizeof *row->ood_auroc);
    if (!row->ood_names || !row->ood_auroc)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the comparison");
    json_object_foreach((json_t *)sets, name, set) {
        size_t i = row->shown.ood_count++;
        row->ood_names[i] = copy_text(name);
        row->ood_auroc[i] = best_auroc(set);
        sum += row->ood_auroc[i];
        if (!row->ood_names[i])
            return vg_base__fail(VG_ERR_MEMORY, "out of memory for the comparison");
    }
    row->figures[VG_COMPARE_OOD].value = sum / (double)count;
    return VG_OK;
}

/* --- inputs ------------------------------------------------------------------------------------------------------- */

static bool is_file(const char *folder, const char *name, char path[PATH_ROOM]) {
    struct stat info;
    snprintf(path, PATH_ROOM, "%.4000s/%.300s", folder, name);
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* Adds one variant of a run: from its predictions where it has them, else from its results. */
static vg_status add_variant(vg_compare_rows *rows, const char *folder, const json_t *results, bool calibrated,
                             const vg_input_options *input, const vg_compare_options *own) {
    char test[PATH_ROOM], temps[PATH_ROOM];
    const char *variant = calibrated ? "calibrated" : "";
    const json_t *stored = json_object_get(results, calibrated ? "test_calibrated" : "test");
    vg_input_options reading = *input;
    if (!stored)
        return VG_OK;
    if (is_file(folder, "test.npz", test) && (!calibrated || is_file(folder, "temps.json", temps))) {
        reading.temperature = calibrated ? temps : NULL;
        VG_TRY(add_predictions(rows, test, folder, variant, &reading, own));
    } else {
        VG_TRY(add_stored(rows, stored, folder, variant));
        if (!calibrated)
            rows->items[rows->count - 1].figures[VG_COMPARE_DIVERSITY].value =
                number_of(json_object_get(results, "training"), "diversity");
    }
    return take_ood(&rows->items[rows->count - 1], json_object_get(results, calibrated ? "ood_calibrated" : "ood"));
}

/* The epochs of a run, where its folder has them, belong to its first row. */
static vg_status take_epochs(vg_compare_row *row, const char *folder) {
    char path[PATH_ROOM];
    return is_file(folder, "metrics.jsonl", path) ? vg_report_epochs__read(&row->epochs, path) : VG_OK;
}

static vg_status add_results(vg_compare_rows *rows, const char *folder, const json_t *results,
                             const vg_input_options *input, const vg_compare_options *own) {
    char path[PATH_ROOM];
    json_t *document;
    if (!json_object_get(results, "test"))
        return vg_base__fail(VG_ERR_DATA, "%s: results.json has no test set's figures", folder);
    VG_TRY(add_variant(rows, folder, results, false, input, own));
    VG_TRY(take_epochs(&rows->items[rows->count - 1], folder));
    VG_TRY(add_variant(rows, folder, results, true, input, own));
    if (!is_file(folder, "mcd-lle.json", path))
        return VG_OK;
    VG_TRY(load_json(&document, path));
    vg_status status = add_stored(rows, document, folder, "mcd-lle");
    json_decref(document);
    return status;
}

static vg_status add_run(vg_compare_rows *rows, const char *folder, const vg_input_options *input,
                         const vg_compare_options *own) {
    char path[PATH_ROOM];
    json_t *results;
    if (!is_file(folder, "results.json", path))
        return vg_base__fail(VG_ERR_DATA, "%s: not a finished run (no results.json); 'vargate run' continues it",
                             folder);
    VG_TRY(load_json(&results, path));
    vg_status status = add_results(rows, folder, results, input, own);
    json_decref(results);
    return status;
}

/* results.json by its own name, or the document of an evaluation. */
static vg_status add_document(vg_compare_rows *rows, const char *path, const vg_input_options *input,
                              const vg_compare_options *own) {
    json_t *document;
    VG_TRY(load_json(&document, path));
    vg_status status = json_object_get(document, "test") ? add_results(rows, path, document, input, own)
                                                         : add_stored(rows, document, path, "");
    json_decref(document);
    return status;
}

vg_status vg_compare_rows__add(vg_compare_rows *rows, const char *path, const vg_input_options *input,
                               const vg_compare_options *options) {
    struct stat info;
    const char *dot = strrchr(path, '.');
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return add_run(rows, path, input, options);
    if (dot && strcmp(dot, ".json") == 0)
        return add_document(rows, path, input, options);
    return add_predictions(rows, path, path, "", input, options);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

enum { NAME_ROOM = 300, MOST_PARTS = 16 };

/* The last `parts` parts of the row's path, and its variant. */
static void name_of(char out[NAME_ROOM], const vg_compare_row *row, size_t parts) {
    size_t length = strlen(row->path), first;
    while (length > 1 && row->path[length - 1] == '/')
        length--;
    for (first = length; first > 0 && (row->path[first - 1] != '/' || --parts > 0);)
        first--;
    size_t most = NAME_ROOM - 64, kept = length - first < most ? length - first : most;
    snprintf(out, NAME_ROOM, "%.*s%s%s", (int)kept, row->path + length - kept, *row->variant ? " " : "", row->variant);
}

static bool same_name(const vg_compare_row *a, const vg_compare_row *b, size_t parts) {
    char names[2][NAME_ROOM];
    name_of(names[0], a, parts);
    name_of(names[1], b, parts);
    return strcmp(names[0], names[1]) == 0;
}

/* How many parts of the path tell a row from those of other paths. */
static size_t parts_needed(const vg_compare_rows *rows, const vg_compare_row *row) {
    size_t parts = 1;
    for (size_t i = 0; i < rows->count; i++)
        while (parts < MOST_PARTS && strcmp(rows->items[i].path, row->path) != 0 &&
               same_name(&rows->items[i], row, parts))
            parts++;
    return parts;
}

/* Of an input that was given before, the name says how often. */
static size_t times_before(const vg_compare_rows *rows, const vg_compare_row *row) {
    size_t times = 0;
    for (const vg_compare_row *r = rows->items; r < row; r++)
        times += strcmp(r->path, row->path) == 0 && strcmp(r->variant, row->variant) == 0;
    return times;
}

vg_status vg_compare_rows__name(vg_compare_rows *rows) {
    for (size_t i = 0; i < rows->count; i++) {
        vg_compare_row *row = &rows->items[i];
        char name[NAME_ROOM];
        size_t times = times_before(rows, row);
        name_of(name, row, parts_needed(rows, row));
        if (times)
            snprintf(name + strlen(name), sizeof name - strlen(name), " (%zu)", times + 1);
        row->name = copy_text(name);
        if (!row->name)
            return vg_base__fail(VG_ERR_MEMORY, "out of memory for the comparison");
    }
    return VG_OK;
}
