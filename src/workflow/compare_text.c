/* compare_text.c - a comparison as a file: JSON, CSV, Markdown, or a page. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/c_locale.h"
#include "formats/text_file.h"
#include "report/report_emit.h"
#include "vargate/compare.h"
#include "vargate/formats.h"
#include "workflow/csv_cell.h"

/* page_head.html and compare_page.html, embedded; the result's JSON replaces the marker. */
extern const unsigned char vg_compare__template[];
extern const size_t vg_compare__template_size;

static vg_status put(vg_text *file, const char *text) { return vg_text__write(file, text, strlen(text)); }

static vg_status put_number(vg_text *file, const char *format, double value, const char *missing) {
    char text[64];
    snprintf(text, sizeof text, format, value);
    return put(file, isnan(value) ? missing : text);
}

/* --- CSV ---------------------------------------------------------------------------------------------------------- */

typedef struct cell_sink {
    vg_text *file;
    vg_status status; /* of the first piece that could not be written */
} cell_sink;

static void put_piece(void *context, const char *piece) {
    cell_sink *sink = context;
    if (sink->status == VG_OK)
        sink->status = put(sink->file, piece);
}

static vg_status put_cell(vg_text *file, const char *text) {
    cell_sink sink = {file, VG_OK};
    vg_csv__cell(text, put_piece, &sink);
    return sink.status;
}

static vg_status csv_row(vg_text *file, const vg_compare_result *result, size_t row) {
    const vg_figure_table *table = result->table;
    const vg_compared *shown = &result->rows[row];
    char counts[96];
    VG_TRY(put_cell(file, shown->name));
    VG_TRY(put(file, ","));
    VG_TRY(put_cell(file, shown->path));
    snprintf(counts, sizeof counts, ",%zu,%zu,%zu,%s", shown->n, shown->m, shown->c, shown->measure);
    VG_TRY(put(file, counts));
    for (size_t c = 0; c < table->columns; c++) {
        size_t at = row * table->columns + c;
        const double values[] = {table->values[at].value, table->values[at].low, table->values[at].high,
                                 result->differences[at].value, result->p_values[at]};
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            VG_TRY(put(file, ","));
            VG_TRY(put_number(file, "%.17g", values[i], ""));
        }
    }
    return put(file, "\n");
}

static vg_status write_csv(vg_text *file, const vg_compare_result *result) {
    const vg_figure_table *table = result->table;
    VG_TRY(put(file, "name,path,n,m,c,measure"));
    for (size_t c = 0; c < table->columns; c++) {
        char heading[160];
        const char *key = table->figures[c].key;
        snprintf(heading, sizeof heading, ",%s,%s_low,%s_high,%s_difference,%s_p", key, key, key, key, key);
        VG_TRY(put(file, heading));
    }
    VG_TRY(put(file, "\n"));
    for (size_t r = 0; r < result->count; r++)
        VG_TRY(csv_row(file, result, r));
    return VG_OK;
}

/* --- Markdown ----------------------------------------------------------------------------------------------------- */

/* Writes a text with its markup escaped. */
static vg_status put_plain(vg_text *file, const char *text) {
    for (const char *c = text; *c; c++) {
        if (strchr("\\`*_{}[]()#+!|<>&", *c))
            VG_TRY(put(file, "\\"));
        VG_TRY(vg_text__write(file, (unsigned char)*c < ' ' ? " " : c, 1));
    }
    return VG_OK;
}

/* "low .. high", or "-" where it is not known. */
static vg_status put_interval(vg_text *file, const vg_estimate *e) {
    char text[80];
    snprintf(text, sizeof text, "%.4g .. %.4g", e->low, e->high);
    return put(file, isnan(e->low) ? "-" : text);
}

/* A line for every figure that was resampled: its interval, and its difference to the first row's. */
static vg_status write_intervals(vg_text *file, const vg_compare_result *result) {
    const vg_figure_table *table = result->table;
    bool any = false;
    for (size_t at = 0; at < table->rows * table->columns; at++) {
        const vg_estimate *e = &table->values[at];
        if (isnan(e->low))
            continue;
        VG_TRY(put(file, any ? ""
                             : "\n| run | figure | value | interval | to the first | interval | p |\n"
                               "| --- | --- | ---: | ---: | ---: | ---: | ---: |\n"));
        any = true;
        VG_TRY(put(file, "| "));
        VG_TRY(put_plain(file, result->rows[at / table->columns].name));
        VG_TRY(put(file, " | "));
        VG_TRY(put(file, table->figures[at % table->columns].title));
        VG_TRY(put_number(file, " | %.4g | ", e->value, " | - | "));
        VG_TRY(put_interval(file, e));
        VG_TRY(put_number(file, " | %+.3g | ", result->differences[at].value, " | - | "));
        VG_TRY(put_interval(file, &result->differences[at]));
        VG_TRY(put_number(file, " | %.2g |\n", result->p_values[at], " | - |\n"));
    }
    return VG_OK;
}

static vg_status write_markdown(vg_text *file, const vg_compare_result *result) {
    const vg_figure_table *table = result->table;
    VG_TRY(put(file, "| run |"));
    for (size_t c = 0; c < table->columns; c++) {
        VG_TRY(put(file, " "));
        VG_TRY(put(file, table->figures[c].title));
        VG_TRY(put(file, " |"));
    }
    VG_TRY(put(file, "\n| --- |"));
    for (size_t c = 0; c < table->columns; c++)
        VG_TRY(put(file, " ---: |"));
    for (size_t r = 0; r < result->count; r++) {
        VG_TRY(put(file, "\n| "));
        VG_TRY(put_plain(file, result->rows[r].name));
        VG_TRY(put(file, " |"));
        for (size_t c = 0; c < table->columns; c++) {
            double p = result->p_values[r * table->columns + c];
            VG_TRY(put(file, r == table->best[c] && table->rows > 1 ? " **" : " "));
            VG_TRY(put_number(file, "%.4g", table->values[r * table->columns + c].value, "-"));
            VG_TRY(put(file, r == table->best[c] && table->rows > 1 ? "**" : ""));
            VG_TRY(put(file, p < 0.05 ? " \\* |" : " |"));
        }
    }
    VG_TRY(put(file, "\n\n\\* differs from the first row (paired test, p < 0.05, one test per figure). Bold: best.\n"));
    return write_intervals(file, result);
}

/* --- JSON and the page -------------------------------------------------------------------------------------------- */

static vg_status write_json(vg_text *file, const vg_compare_result *result) {
    char *text;
    VG_TRY(vg_compare_result_json(&text, result));
    vg_status status = put(file, text);
    if (status == VG_OK)
        status = put(file, "\n");
    vg_free(text);
    return status;
}

/* JSON inside a script element: no text in it may end the element. */
static vg_status put_script(vg_text *file, const char *json) {
    for (const char *c = json; *c; c++)
        VG_TRY(*c == '<' ? put(file, "\\u003c") : vg_text__write(file, c, 1));
    return VG_OK;
}

static vg_status write_page(vg_text *file, const vg_compare_result *result) {
    vg_page_parts parts;
    char *text;
    VG_TRY(vg_report__split_page(&parts, vg_compare__template, vg_compare__template_size, "/*RESULT*/null",
                                 "compare_page.html"));
    VG_TRY(vg_compare_result_json(&text, result));
    vg_status status = vg_text__write(file, parts.before, parts.before_size);
    if (status == VG_OK)
        status = put_script(file, text);
    if (status == VG_OK)
        status = vg_text__write(file, parts.after, parts.after_size);
    vg_free(text);
    return status;
}

vg_status vg_compare_result_save(const vg_compare_result *result, const char *path) {
    VG_TRY(vg_base__given(result && path, "vg_compare_result_save: result and path"));
    VG_IN_C_LOCALE;
    static const struct {
        const char *ending;
        vg_status (*write)(vg_text *file, const vg_compare_result *result);
    } kinds[] = {{".json", write_json}, {".csv", write_csv}, {".md", write_markdown}, {".html", write_page}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(dot, kinds[i].ending) != 0)
            continue;
        vg_text *file;
        VG_TRY(vg_text__open(&file, path));
        vg_status status = kinds[i].write(file, result);
        if (status == VG_OK)
            return vg_text__close(file);
        vg_text__abandon(file);
        return status;
    }
    return vg_base__fail(VG_ERR_ARGUMENT, "%s: expected a name that ends in .json, .csv, .md or .html", path);
}
