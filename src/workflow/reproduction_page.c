/* reproduction_page.c - the paper's table and the runs' figures as files: table.md, table.json, index.html.
 *
 * The page is self-contained: the figures, which the runs' reports have drawn as SVG, are embedded. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/file.h"
#include "formats/text_file.h"
#include "report/report_emit.h"
#include "vargate/formats.h"
#include "workflow/json_build.h"
#include "workflow/reproduction.h"

/* The title of a data set or an ensemble of the paper. */
static const char *title_of(const char *name) {
    static const char *const titles[][2] = {
        {"mcd", "MCD"},     {"mcd-lle", "MCD-LLE"}, {"lle", "LLE"},          {"lle-calibrated", "LLE, calibrated"},
        {"mnist", "MNIST"}, {"svhn", "SVHN"},       {"cifar10", "CIFAR-10"}, {"cifar100", "CIFAR-100"}};
    size_t i = 0;
    while (strcmp(titles[i][0], name) != 0)
        i++;
    return titles[i][1];
}

/* A share as the paper prints it, without the zero before the point. */
static void share(char out[16], double value, int digits) {
    char text[16];
    snprintf(text, sizeof text, "%.*f", digits, value);
    snprintf(out, 16, "%s", text[0] == '0' ? text + 1 : text);
}

/* accuracy / F1 / ECE with the digits the paper has, or four. */
static void triple(char out[64], const double values[3], int digits) {
    char parts[3][16];
    for (size_t i = 0; i < 3; i++)
        share(parts[i], values[i], digits);
    if (isnan(values[0]))
        snprintf(out, 64, "-");
    else
        snprintf(out, 64, "%s / %s / %s", parts[0], parts[1], parts[2]);
}

/* A difference with its sign, which zero, as shown, does not have. */
static void difference(char out[16], double value) {
    snprintf(out, 16, "%+.4f", value);
    if (strspn(out + 1, "0.") == strlen(out + 1))
        memmove(out, out + 1, strlen(out));
}

static void differences(char out[64], const vg_paper_cell *cell) {
    char parts[3][16];
    for (size_t i = 0; i < 3; i++)
        difference(parts[i], cell->ours[i] - cell->paper[i]);
    if (!cell->there)
        snprintf(out, 64, "-");
    else
        snprintf(out, 64, "%s / %s / %s", parts[0], parts[1], parts[2]);
}

static const char *judgement(const vg_paper_cell *cell) {
    return !cell->there ? "not run" : cell->within ? "reproduced" : "off";
}

/* The figures of a cell as they are shown: of the run, as published, and the difference. */
typedef struct cell_texts {
    char ours[64], paper[64], off[64];
} cell_texts;

static cell_texts texts_of(const vg_paper_cell *cell) {
    cell_texts t;
    triple(t.ours, cell->ours, 4);
    triple(t.paper, cell->paper, 3);
    differences(t.off, cell);
    return t;
}

/* --- Markdown and JSON -------------------------------------------------------------------------------------------- */

static void emit_markdown(vg_emit *e, const vg_reproduction_owner *owner) {
    vg_report__raw(e, "Accuracy / macro F1 / ECE on the test set.\n\n"
                      "| data | ensemble | ours | the paper | difference | |\n| --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < VG_PAPER_CELLS; i++) {
        const vg_paper_cell *cell = &owner->cells[i];
        cell_texts t = texts_of(cell);
        vg_report__format(e, "| %s | %s | %s | %s | %s | %s |\n", title_of(cell->dataset), title_of(cell->ensemble),
                          t.ours, t.paper, t.off, judgement(cell));
    }
}

static vg_status table_json(char **text, const vg_reproduction_owner *owner) {
    json_t *out = vg_json__document("reproduce"), *cells = json_array();
    for (size_t i = 0; i < VG_PAPER_CELLS; i++) {
        const vg_paper_cell *cell = &owner->cells[i];
        json_t *one = json_object();
        vg_json__put_text(one, "dataset", cell->dataset);
        vg_json__put_text(one, "ensemble", cell->ensemble);
        vg_json__put_text(one, "run", cell->recipe);
        vg_json__put(one, "paper", vg_json__numbers(cell->paper, 3));
        vg_json__put(one, "ours", vg_json__numbers(cell->ours, 3));
        vg_json__put_text(one, "judgement", judgement(cell));
        vg_json__append(cells, one);
    }
    vg_json__put(out, "cells", cells);
    return vg_json__indented(text, out);
}

static void emit_json(vg_emit *e, const vg_reproduction_owner *owner) {
    char *text;
    vg_status status = table_json(&text, owner);
    if (status != VG_OK) {
        e->status = status;
        return;
    }
    vg_report__raw(e, text);
    vg_report__raw(e, "\n");
    vg_free(text);
}

/* --- the page ----------------------------------------------------------------------------------------------------- */

/* reproduction_page.html, embedded; the rows of the table and the figures replace the markers. */
extern const unsigned char vg_reproduction__template[];
extern const size_t vg_reproduction__template_size;

static void emit_cells(vg_emit *e, const vg_reproduction_owner *owner) {
    for (size_t i = 0; i < VG_PAPER_CELLS; i++) {
        const vg_paper_cell *cell = &owner->cells[i];
        cell_texts t = texts_of(cell);
        const char *kind = !cell->there ? "" : cell->within ? "reproduced" : "off";
        vg_report__format(e, "<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td>", title_of(cell->dataset),
                          title_of(cell->ensemble), t.ours, t.paper, t.off);
        vg_report__format(e, "<td class=\"%s\">%s</td></tr>\n", kind, judgement(cell));
    }
}

/* Embeds an SVG of a run's report as an image, the first one after a heading; writes nothing where it was not drawn. */
static bool emit_figure(vg_emit *e, const vg_reproduction_owner *owner, const char *run, const char *figure,
                        const char *caption, bool first) {
    char path[VG_PAPER_FOLDER + 200];
    vg_mapping map;
    snprintf(path, sizeof path, "%s/%s/report/figures/%s.svg", owner->folder, run, figure);
    if (vg_file__map(&map, path) != VG_OK)
        return false;
    if (first)
        vg_report__format(e, "<h2>%s</h2>\n", run);
    vg_base64 coded = {.out = e};
    vg_report__format(e, "<figure><figcaption>%s: %s</figcaption>\n<img alt=\"%s of %s\" ", run, caption, figure, run);
    vg_report__raw(e, "src=\"data:image/svg+xml;base64,");
    vg_report__base64(&coded, map.bytes, map.size);
    vg_report__base64_finish(&coded);
    vg_report__raw(e, "\"></figure>\n");
    vg_file__unmap(&map);
    return true;
}

static void emit_figures(vg_emit *e, const vg_reproduction_owner *owner) {
    static const struct {
        const char *name, *caption;
    } figures[] = {{"decomposition", "measures of the test samples, sorted, divided by the largest of them"},
                   {"gated", "gated measures at each k"},
                   {"diversity", "diversity of the members over epochs"},
                   {"ood", "in- and out-of-distribution samples"}};
    const char *before = "";
    for (size_t i = 0; i < VG_PAPER_CELLS; i++) {
        const vg_paper_cell *cell = &owner->cells[i];
        if (!cell->there || strcmp(cell->recipe, before) == 0)
            continue;
        before = cell->recipe;
        bool any = false;
        for (size_t f = 0; f < sizeof figures / sizeof *figures; f++)
            any = emit_figure(e, owner, cell->recipe, figures[f].name, figures[f].caption, !any) || any;
    }
}

/* Writes the template from *at to the marker, which it leaves out, or to the end. */
static void emit_until(vg_emit *e, size_t *at, const char *marker) {
    const char *page = (const char *)vg_reproduction__template + *at, *found = NULL;
    size_t left = vg_reproduction__template_size - *at;
    for (size_t i = 0, length = strlen(marker); *marker && i + length <= left && !found; i++)
        found = memcmp(page + i, marker, length) == 0 ? page + i : NULL;
    size_t size = found ? (size_t)(found - page) : left;
    vg_report__bytes(e, page, size);
    *at += size + (found ? strlen(marker) : 0);
}

static void emit_page(vg_emit *e, const vg_reproduction_owner *owner) {
    size_t at = 0;
    emit_until(e, &at, "<!--CELLS-->\n");
    emit_cells(e, owner);
    emit_until(e, &at, "<!--FIGURES-->\n");
    emit_figures(e, owner);
    emit_until(e, &at, "");
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static vg_status write_bytes(void *context, const void *bytes, size_t size) {
    return vg_text__write(context, bytes, size);
}

static vg_status save(const vg_reproduction_owner *owner, const char *name,
                      void (*emit)(vg_emit *e, const vg_reproduction_owner *owner)) {
    char path[VG_PAPER_FOLDER + 64];
    vg_text *file;
    vg_emit text;
    snprintf(path, sizeof path, "%s/%s", owner->folder, name);
    VG_TRY(vg_text__open(&file, path));
    vg_sink sink = {.context = file, .write = write_bytes};
    vg_report__emit_begin(&text, &sink);
    emit(&text, owner);
    vg_status status = vg_report__emit_end(&text);
    if (status == VG_OK)
        return vg_text__close(file);
    vg_text__abandon(file);
    return status;
}

vg_status vg_reproduction_save(const vg_reproduction *reproduction) {
    VG_TRY(vg_base__given(reproduction != NULL, "vg_reproduction_save: reproduction"));
    VG_IN_C_LOCALE;
    const vg_reproduction_owner *owner = (const vg_reproduction_owner *)(const void *)reproduction;
    VG_TRY(save(owner, "table.md", emit_markdown));
    VG_TRY(save(owner, "table.json", emit_json));
    return save(owner, "index.html", emit_page);
}
