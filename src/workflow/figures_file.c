/* figures_file.c - figures of evaluations and comparisons with OOD sets in a file: JSON or CSV by its name.
 *
 * JSON: the document of `--json`, or a list of them. CSV: one row per measure and file, the figures of the whole
 * data set repeated: file, n, accuracy, ..., measure, aurc, ...; with intervals KEY_low and KEY_high beside each
 * figure. Undefined figures are empty. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/c_locale.h"
#include "base/names.h"
#include "formats/text_file.h"
#include "vargate/formats.h"
#include "vargate/workflow.h"
#include "workflow/csv_cell.h"

typedef struct figures_file {
    vg_text *text;
    vg_status status; /* the first failure; later output is dropped */
    size_t documents; /* written so far */
    bool list;        /* JSON: several documents */
} figures_file;

static void put(figures_file *file, const char *text) {
    if (file->status == VG_OK)
        file->status = vg_text__write(file->text, text, strlen(text));
}

static vg_status close_file(figures_file *file) {
    if (file->status == VG_OK)
        return vg_text__close(file->text);
    vg_text__abandon(file->text);
    return file->status;
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */
static void put_document(figures_file *file, vg_status status, char **text) {
    if (file->status == VG_OK)
        file->status = status;
    if (file->list)
        put(file, file->documents ? ",\n" : "[\n");
    if (status != VG_OK)
        return;
    put(file, *text);
    if (!file->list)
        put(file, "\n");
    file->documents++;
    vg_free(*text);
}

/* --- CSV ---------------------------------------------------------------------------------------------------------- */
static void put_piece(void *context, const char *piece) { put(context, piece); }
static void put_name(figures_file *file, const char *text) { vg_csv__cell(text, put_piece, file); }

static void put_number(figures_file *file, double value) {
    char text[40] = ",";
    if (isfinite(value))
        snprintf(text, sizeof text, ",%.17g", value);
    put(file, text);
}

static void put_heading(figures_file *file, const vg_figure_table *table, bool intervals) {
    for (size_t c = 0; c < table->columns; c++) {
        const char *name = table->figures[c].key ? table->figures[c].key : table->figures[c].title;
        char text[160];
        if (intervals)
            snprintf(text, sizeof text, ",%.40s,%.40s_low,%.40s_high", name, name, name);
        else
            snprintf(text, sizeof text, ",%.40s", name);
        put(file, text);
    }
}

static void put_figures(figures_file *file, const vg_figure_table *table, size_t row, bool intervals) {
    for (size_t c = 0; c < table->columns; c++) {
        const vg_estimate *value = &table->values[row * table->columns + c];
        put_number(file, value->value);
        if (intervals) {
            put_number(file, value->low);
            put_number(file, value->high);
        }
    }
}

/* The rows of one file. */
typedef struct csv_part {
    const char *name;
    size_t n;
    const vg_figure_table *whole; /* figures of all of it; NULL: none */
    const vg_figure_table *measures;
    bool intervals;
} csv_part;

static void put_rows(figures_file *file, const csv_part *part) {
    char count[32];
    snprintf(count, sizeof count, ",%zu", part->n);
    if (file->documents++ == 0) {
        put(file, "file,n");
        if (part->whole)
            put_heading(file, part->whole, part->intervals);
        put(file, ",measure");
        put_heading(file, part->measures, part->intervals);
        put(file, "\n");
    }
    for (size_t r = 0; r < part->measures->rows; r++) {
        put_name(file, part->name);
        put(file, count);
        if (part->whole)
            put_figures(file, part->whole, 0, part->intervals);
        put(file, ",");
        put(file, part->measures->names[r]);
        put_figures(file, part->measures, r, part->intervals);
        put(file, "\n");
    }
}

static void put_evaluation(figures_file *file, const vg_evaluation_result *result, bool csv) {
    char *text = NULL;
    csv_part part = {result->file, result->n, result->whole, result->measures, result->evaluation->resamples > 0};
    if (csv)
        put_rows(file, &part);
    else
        put_document(file, vg_evaluation_result_json(&text, result), &text);
}

vg_status vg_evaluation_results_save(const vg_evaluation_result *const *results, size_t count, int list,
                                     const char *path) {
    VG_IN_C_LOCALE;
    figures_file file = {.list = list || count > 1};
    VG_TRY(vg_base__given(path && (results || count == 0), "vg_evaluation_results_save: results and path"));
    for (size_t i = 0; i < count; i++)
        VG_TRY(vg_base__given(results[i] != NULL, "vg_evaluation_results_save: a result"));
    VG_TRY(vg_target_check(path, VG_PRODUCT_FIGURES, NULL, 0, 1));
    VG_TRY(vg_text__open(&file.text, path));
    bool csv = vg_names__ends_with(path, ".csv");
    for (size_t i = 0; i < count; i++)
        put_evaluation(&file, results[i], csv);
    if (file.list && !csv)
        put(&file, "\n]\n");
    return close_file(&file);
}

vg_status vg_ood_result_save(const vg_ood_result *result, const char *path) {
    VG_TRY(vg_base__given(result && path, "vg_ood_result_save: result and path"));
    VG_IN_C_LOCALE;
    figures_file file = {.list = false};
    char *text = NULL;
    VG_TRY(vg_target_check(path, VG_PRODUCT_OOD, NULL, 0, 1));
    VG_TRY(vg_text__open(&file.text, path));
    for (size_t i = 0; i < result->set_count && vg_names__ends_with(path, ".csv"); i++) {
        csv_part part = {result->sets[i].file, result->sets[i].n, NULL, result->sets[i].table, result->resamples > 0};
        put_rows(&file, &part);
    }
    if (!vg_names__ends_with(path, ".csv"))
        put_document(&file, vg_ood_result_json(&text, result), &text);
    return close_file(&file);
}
