/* report_figures.c - figures for print, as gnuplot scripts with their data inside: the frame of each, and what can
 * be drawn.
 *
 * Sizes are those of a printed column: 3.5 inches wide, text of 7 to 8 points. Names from outside are written
 * between single quotes, where gnuplot expands nothing; a quote inside them is doubled. The colours are those of
 * Okabe and Ito, which colour-blind readers can distinguish. */
#include "report/report_figures.h"

#include <string.h>

#include "base/base.h"

typedef struct figure {
    const char *name;
    double height; /* inches */
    int (*possible)(const vg_report *report);
    vg_status (*draw)(vg_emit *e, const vg_report *report);
} figure;

static const figure figures[] = {
    {"decomposition", 4.0, vg_report__can_decompose, vg_report__draw_decomposition},
    {"gated", 4.0, vg_report__can_gate, vg_report__draw_gated},
    {"risk-coverage", 2.7, vg_report__can_rank, vg_report__draw_risk},
    {"reliability", 3.1, vg_report__can_rank, vg_report__draw_reliability},
    {"diversity", 2.6, vg_report__can_diversify, vg_report__draw_diversity},
    {"training", 2.6, vg_report__can_train, vg_report__draw_training},
    {"ood", 4.4, vg_report__can_ood, vg_report__draw_ood},
};
enum { FIGURES = sizeof figures / sizeof *figures };

const char *vg_report__figure_name(size_t index) { return index < FIGURES ? figures[index].name : NULL; }

int vg_report__figure_possible(const vg_report *report, size_t index) {
    vg_report r;
    return index < FIGURES && vg_report__take(&r, report) == VG_OK && r.rows && r.n > 0 && figures[index].possible(&r);
}

const char *vg_report__colour(size_t index) {
    static const char *const colours[] = {"#000000", "#E69F00", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"};
    return colours[index % (sizeof colours / sizeof *colours)];
}

void vg_report__quote(vg_emit *e, const char *text) {
    vg_report__raw(e, "'");
    for (size_t i = 0; text[i] && i < 120; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\'')
            vg_report__raw(e, "''");
        else if (c < 0x20 || c >= 0x7f || c == '`' || c == '\\')
            vg_report__raw(e, "?");
        else
            vg_report__bytes(e, &c, 1);
    }
    vg_report__raw(e, "'");
}

static vg_status set_terminal(vg_emit *e, const char *terminal, double height) {
    const double width = 3.5;
    if (strcmp(terminal, "pdfcairo") == 0)
        vg_report__format(e, "set terminal pdfcairo size %gin,%gin font 'Helvetica,8' linewidth 1.2 noenhanced\n",
                          width, height);
    else if (strcmp(terminal, "pngcairo") == 0)
        vg_report__format(
            e, "set terminal pngcairo size %g,%g font 'Helvetica,25' linewidth 3.2 pointscale 2.6 noenhanced\n",
            width * 300, height * 300);
    else if (strcmp(terminal, "svg") == 0)
        vg_report__format(
            e,
            "set terminal svg size %g,%g dynamic font 'Helvetica,Arial,sans-serif,11' linewidth 1.3 background "
            "'#ffffff' noenhanced\n",
            width * 130, height * 130);
    else
        return vg_base__fail(VG_ERR_ARGUMENT, "terminal '%s'; expected svg, pdfcairo or pngcairo", terminal);
    return VG_OK;
}

static vg_status draw(vg_emit *e, const vg_report *report, const figure *f, const char *terminal, const char *output) {
    vg_report__raw(e, "reset\nset encoding utf8\n");
    VG_TRY(set_terminal(e, terminal, f->height));
    vg_report__raw(e, "set output ");
    vg_report__quote(e, output);
    vg_report__raw(e, "\nset border 3 lc '#444444' lw 0.8\nset tics nomirror out scale 0.5 tc '#222222'\n"
                      "set grid back lc '#dddddd' lw 0.6 lt 1\nset key samplen 1.6 spacing 1.05 width -1\n");
    VG_TRY(f->draw(e, report));
    vg_report__raw(e, "unset output\n");
    return VG_OK;
}

vg_status vg_report__figure_script(const vg_report *report, size_t index, const char *terminal, const char *output,
                                   const vg_sink *sink) {
    vg_emit *e;
    vg_report taken;
    VG_TRY(vg_report__take(&taken, report));
    if (!vg_report__figure_possible(&taken, index))
        return vg_base__fail(VG_ERR_ARGUMENT, "figure %zu cannot be drawn: the report has no data for it", index);
    VG_TRY(vg_base__alloc(&e, 1, sizeof *e, "a figure"));
    vg_report__emit_begin(e, sink);
    vg_status status = draw(e, &taken, &figures[index], terminal, output), ended = vg_report__emit_end(e);
    vg_base__release(e);
    return status == VG_OK ? ended : status;
}
