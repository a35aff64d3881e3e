/* ood_files.c - how well each measure separates out-of-distribution samples from those of one file; and its JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "workflow/figure_table.h"
#include "workflow/json_build.h"
#include "workflow/sample_measures.h"
#include "workflow/workflow_options.h"

static const vg_figure figures[] = {{"auroc", "AUROC", 1, 0},
                                    {"aupr_out", "AUPR-out", 1, 0},
                                    {"aupr_in", "AUPR-in", 1, 0},
                                    {"fpr95", "FPR95", 0, 0},
                                    {"detection_error", "detection error", 0, 0}};
enum { FIGURES = sizeof figures / sizeof *figures, SET_NAME = 256 };

/* The memory that the result's sets point to. */
typedef struct set_storage {
    char name[SET_NAME];
    char *file;
    vg_ood_row *rows;
    vg_figure_table *table;
} set_storage;

typedef struct ood_owner {
    vg_ood_result result; /* the public part */
    char *id_file;
    vg_ood_set *sets;
    set_storage *storage;
} ood_owner;

/* What all comparisons share. */
typedef struct ood_work {
    const vg_sample_measures *id;
    const vg_input_options *input;
    const vg_ood_files_options *own;
} ood_work;

/* The file's name without folder and ending, made unique among the sets before it. */
static void name_set(set_storage *sets, size_t index, const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    size_t length = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    length = length < 200 ? length : 200;
    snprintf(sets[index].name, SET_NAME, "%.*s", (int)length, base);
    for (size_t i = 0, copy = 2; i < index; i++) {
        if (strcmp(sets[i].name, sets[index].name) == 0) {
            snprintf(sets[index].name, SET_NAME, "%.*s-%zu", (int)length, base, copy++);
            i = (size_t)-1; /* look again from the first */
        }
    }
}

static vg_status fill_table(set_storage *set, size_t count) {
    VG_TRY(vg_figure_table__new(&set->table, count, figures, FIGURES));
    for (size_t r = 0; r < count; r++) {
        const vg_ood_row *row = &set->rows[r];
        const vg_estimate *estimates[FIGURES] = {&row->auroc, &row->aupr_out, &row->aupr_in, &row->fpr95,
                                                 &row->detection_error};
        vg_figure_table__name(set->table, r, row->name);
        for (size_t c = 0; c < FIGURES; c++)
            vg_figure_table__set(set->table, r, c, estimates[c]);
    }
    vg_figure_table__mark_best(set->table);
    return VG_OK;
}

/* The measures that both files have: energy and maxlogit exist only for logits. One allocation, *inside, holds both
 * lists. */
static vg_status common_measures(vg_measure **inside, vg_measure **outside, size_t *count, const vg_sample_measures *id,
                                 const vg_sample_measures *ood) {
    *inside = calloc(id->count ? 2 * id->count : 1, sizeof **inside);
    *count = 0;
    if (!*inside)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the measures of two files");
    *outside = *inside + id->count;
    for (size_t i = 0; i < id->count; i++)
        for (size_t j = 0; j < ood->count; j++)
            if (strcmp(id->list[i].name, ood->list[j].name) == 0) {
                (*inside)[*count] = id->list[i];
                (*outside)[(*count)++] = ood->list[j];
                break;
            }
    return VG_OK;
}

static vg_status evaluate(set_storage *set, const vg_sample_measures *ood, const ood_work *work) {
    const vg_sample_measures *id = work->id;
    vg_ood_options how = VG_OOD_OPTIONS_INIT;
    vg_job_part part = {&work->own->job, "comparing"};
    if (ood->c != id->c)
        return vg_base__fail(VG_ERR_DATA, "%s: %zu classes, the in-distribution file has %zu", set->file, ood->c,
                             id->c);
    if (work->own->resamples > 0 && (id->sites || ood->sites))
        return vg_base__fail(
            VG_ERR_UNSUPPORTED,
            "%s: --bootstrap of ood draws samples, and the sites of an image are not independent: their "
            "intervals would be too narrow",
            set->file);
    vg_measure *inside = NULL, *outside = NULL;
    size_t count = 0;
    VG_TRY(common_measures(&inside, &outside, &count, id, ood));
    set->rows = calloc(count ? count : 1, sizeof *set->rows);
    if (!set->rows) {
        free(inside);
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the result");
    }
    how.resamples = work->own->resamples;
    how.seed = work->own->seed;
    how.confidence = work->own->confidence;
    how.threads = id->threads;
    how.progress = vg_job__callback;
    how.progress_context = &part;
    vg_status status = vg_job__begin(&work->own->job, "comparing", "steps");
    if (status == VG_OK) {
        status = vg_ood_evaluate(set->rows, inside, id->n, outside, ood->n, count, &how);
        if (status != VG_OK)
            vg_base__fail(status, "%s: %s", set->file, vg_error_message());
    }
    vg_job__end(&work->own->job);
    free(inside);
    return status == VG_OK ? fill_table(set, count) : status;
}

static vg_status compare(ood_owner *owner, size_t index, const char *path, const ood_work *work) {
    set_storage *set = &owner->storage[index];
    vg_sample_measures ood;
    name_set(owner->storage, index, path);
    VG_TRY(vg_base__strdup(&set->file, path));
    VG_TRY(vg_sample_measures__read(&ood, path, work->input, &work->own->job));
    vg_status status = evaluate(set, &ood, work);
    owner->sets[index] = (vg_ood_set){set->name, set->file, ood.n, set->rows, set->table};
    vg_sample_measures__free(&ood);
    return status;
}

static vg_status fill(ood_owner *owner, const char *id_path, const char *const *paths, size_t count, ood_work *work) {
    vg_sample_measures id;
    VG_TRY(vg_base__strdup(&owner->id_file, id_path));
    VG_TRY(vg_sample_measures__read(&id, id_path, work->input, &work->own->job));
    work->id = &id;
    vg_status status = VG_OK;
    for (size_t i = 0; i < count && status == VG_OK; i++)
        status = compare(owner, i, paths[i], work);
    owner->result = (vg_ood_result){.struct_size = sizeof owner->result,
                                    .id_file = owner->id_file,
                                    .id_n = id.n,
                                    .resamples = work->own->resamples,
                                    .confidence = work->own->confidence,
                                    .set_count = count,
                                    .sets = owner->sets};
    vg_sample_measures__free(&id);
    return status;
}

vg_status vg_ood_files(vg_ood_result **out, const char *id_path, const char *const *paths, size_t count,
                       const vg_input_options *input, const vg_ood_files_options *options) {
    VG_TRY(vg_base__given(out != NULL, "vg_ood_files: out"));
    VG_IN_C_LOCALE;
    vg_ood_files_options own = VG_OOD_FILES_OPTIONS_INIT;
    ood_work work = {NULL, input, &own};
    *out = NULL;
    VG_TRY(vg_base__given(id_path && (paths || count == 0), "vg_ood_files: id_path and paths"));
    for (size_t i = 0; i < count; i++)
        VG_TRY(vg_base__given(paths[i] != NULL, "vg_ood_files: a path"));
    VG_TRY(vg_workflow__options(&own, sizeof own, options, "vg_ood_files_options"));
    ood_owner *owner = calloc(1, sizeof *owner);
    if (owner) {
        owner->sets = calloc(count ? count : 1, sizeof *owner->sets);
        owner->storage = calloc(count ? count : 1, sizeof *owner->storage);
        owner->result.set_count = owner->storage ? count : 0; /* vg_ood_result_free visits these */
    }
    vg_status status = owner && owner->sets && owner->storage
                           ? fill(owner, id_path, paths, count, &work)
                           : vg_base__fail(VG_ERR_MEMORY, "out of memory for the results");
    if (status == VG_OK)
        *out = &owner->result;
    else
        vg_ood_result_free((vg_ood_result *)(void *)owner);
    return status;
}

void vg_ood_result_free(vg_ood_result *result) {
    if (!result)
        return;
    ood_owner *owner = (ood_owner *)(void *)result;
    for (size_t i = 0; i < result->set_count; i++) {
        vg_base__release(owner->storage[i].file);
        free(owner->storage[i].rows);
        vg_figure_table__free(owner->storage[i].table);
    }
    vg_base__release(owner->id_file);
    free(owner->sets);
    free(owner->storage);
    free(owner);
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */
static json_t *row_json(const vg_figure_table *table, size_t row, bool intervals) {
    json_t *object = json_object(), *ends = intervals ? json_object() : NULL;
    for (size_t c = 0; c < table->columns; c++) {
        const vg_estimate *estimate = &table->values[row * table->columns + c];
        double range[2] = {estimate->low, estimate->high};
        vg_json__put_number(object, table->figures[c].key, estimate->value);
        if (ends && !isnan(estimate->low)) /* figures without an interval have no key */
            vg_json__put(ends, table->figures[c].key, vg_json__numbers(range, 2));
    }
    if (ends)
        vg_json__put(object, "intervals", ends);
    return object;
}

json_t *vg_ood_set__json(const vg_ood_set *set, bool intervals) {
    json_t *out = json_object(), *measures = json_object();
    for (size_t i = 0; i < set->table->rows; i++)
        vg_json__put(measures, set->table->names[i], row_json(set->table, i, intervals));
    vg_json__put_text(out, "file", set->file);
    vg_json__put_count(out, "n", set->n);
    vg_json__put(out, "measures", measures);
    vg_json__put(out, "best", vg_json__best(set->table));
    return out;
}

vg_status vg_ood_result_json(char **text, const vg_ood_result *result) {
    VG_TRY(vg_base__given(text && result, "vg_ood_result_json: out and result"));
    VG_IN_C_LOCALE;
    json_t *out = vg_json__document("ood"), *side = json_object(), *sets = json_object();
    vg_json__put_text(out, "positive", "ood");
    vg_json__put_text(side, "file", result->id_file);
    vg_json__put_count(side, "n", result->id_n);
    vg_json__put(out, "id", side);
    for (size_t i = 0; i < result->set_count; i++)
        vg_json__put(sets, result->sets[i].name, vg_ood_set__json(&result->sets[i], result->resamples > 0));
    vg_json__put(out, "ood", sets);
    return vg_json__text(text, out);
}
