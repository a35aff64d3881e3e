/* figure_samples.c - figures over the samples sorted by falling uncertainty: the decomposition (baseline above,
 * gated below), and gated measures at several k.
 *
 * Samples are sorted by TU (or the first measure); each curve is the mean over bins of neighbours in that order,
 * divided by the largest bin of any curve in the figure, so that all share one scale. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "measures/measure_table.h"
#include "report/report_figures.h"

enum { BINS = 150, MAX_CURVES = 24 };

typedef struct curve {
    const vg_measure *measure;
    char title[VG_NAME_SIZE + 8];
    double bins[BINS];
} curve;

typedef struct curves {
    size_t count, bins;
    double largest;
    curve items[MAX_CURVES];
} curves;

static void add(curves *list, const vg_report *report, const char *name, const char *title) {
    const vg_measure *measure = vg_report__measure(report, name);
    if (!measure || list->count == MAX_CURVES)
        return;
    list->items[list->count].measure = measure;
    snprintf(list->items[list->count].title, sizeof list->items[0].title, "%s", title);
    list->count++;
}

static void add_gated(curves *list, const vg_report *report, const char *stem, const char *title, double k) {
    char name[VG_NAME_SIZE], text[VG_NAME_SIZE], name_of_k[VG_NAME_SIZE];
    vg_k_name(name_of_k, k);
    snprintf(name, sizeof name, "%.8s@%.20s", stem, name_of_k);
    snprintf(text, sizeof text, "%.8s%s%.18s", title, *title ? "" : "k = ", *title ? "" : name_of_k);
    add(list, report, name, text);
}

static vg_status average(curves *list, const vg_report *report) {
    const vg_measure *tu = vg_report__measure(report, "tu");
    size_t *order;
    VG_TRY(vg_report__order(&order, tu ? tu : vg_report__main_measure(report), report->n));
    list->bins = report->n < BINS ? report->n : BINS;
    list->largest = 0;
    for (size_t c = 0; c < list->count; c++) {
        curve *one = &list->items[c];
        for (size_t b = 0; b < list->bins; b++) {
            size_t from = b * report->n / list->bins, to = (b + 1) * report->n / list->bins;
            double sum = 0;
            for (size_t i = from; i < to; i++)
                sum += one->measure->values[order[i] * one->measure->stride];
            one->bins[b] = sum / (double)(to - from);
            if (one->bins[b] > list->largest)
                list->largest = one->bins[b];
        }
    }
    vg_base__release(order);
    return VG_OK;
}

static void data(vg_emit *e, const curves *list) {
    vg_report__raw(e, "$samples << EOD\n");
    for (size_t b = 0; b < list->bins; b++) {
        vg_report__format(e, "%.5g", 100 * ((double)b + 0.5) / (double)list->bins);
        for (size_t c = 0; c < list->count; c++)
            vg_report__format(e, " %.6g", list->largest > 0 ? list->items[c].bins[b] / list->largest : 0);
        vg_report__raw(e, "\n");
    }
    vg_report__raw(e, "EOD\n");
}

static void panel(vg_emit *e, const curves *list, const char *title, size_t from, size_t to, int dashed_first) {
    vg_report__raw(e, "set title ");
    vg_report__quote(e, title);
    vg_report__raw(e, " offset 0,-0.6\nplot ");
    for (size_t c = from; c < to; c++) {
        vg_report__format(e, "%s$samples using 1:%zu with lines lw 1.4 dt %s lc '%s' title ", c > from ? ", " : "",
                          c + 2, dashed_first && c == from ? "'-'" : "1", vg_report__colour(c - from));
        vg_report__quote(e, list->items[c].title);
    }
    vg_report__raw(e, "\n");
}

/* The percentage of samples, in steps of 10, up to which some curve is above 1 % of the scale. Beyond it all curves
 * would lie on the axis. */
static int visible_percent(const curves *list) {
    size_t last = 0;
    for (size_t c = 0; c < list->count; c++) {
        for (size_t b = 0; b < list->bins; b++) {
            if (list->items[c].bins[b] > 0.01 * list->largest && b > last)
                last = b;
        }
    }
    return (int)(10 * ((10 * (last + 1) + list->bins - 1) / list->bins));
}

static void frame(vg_emit *e, const curves *list) {
    vg_report__format(e, "set xrange [0:%d]\n", visible_percent(list));
    vg_report__raw(e, "set multiplot layout 2,1 margins 0.16,0.94,0.10,0.95 spacing 0,0.13\nset yrange [0:*]\n"
                      "set ylabel 'uncertainty / largest' offset 1.2,0\nset format x '%g%%'\n");
}

int vg_report__can_decompose(const vg_report *report) {
    return vg_report__measure(report, "tu") && report->k_count > 0;
}

vg_status vg_report__draw_decomposition(vg_emit *e, const vg_report *report) {
    static const char *const ungated[] = {"tu", "au", "eu", "epkl", "epjs"};
    static const char *const gated[] = {"gtu", "gau", "geu", "gepkl", "gepjs"};
    curves *list;
    char title[96], k[VG_NAME_SIZE];
    VG_TRY(vg_base__zalloc(&list, 1, sizeof *list, "a figure"));
    for (size_t i = 0; i < sizeof ungated / sizeof *ungated; i++)
        add(list, report, ungated[i], vg_measure__find(ungated[i])->symbol);
    size_t middle = list->count;
    for (size_t i = 0; i < sizeof gated / sizeof *gated; i++)
        add_gated(list, report, gated[i], vg_measure__find(gated[i])->symbol, report->k[0]);
    add(list, report, "gmu", vg_measure__find("gmu")->symbol);
    vg_status status = average(list, report);
    if (status == VG_OK) {
        vg_k_name(k, report->k[0]);
        data(e, list);
        frame(e, list);
        panel(e, list, "Baseline", 0, middle, 0);
        snprintf(title, sizeof title, "Gated, k = %s", k);
        vg_report__raw(e, "set xlabel 'samples, most uncertain first' offset 0,0.5\n");
        if (list->count > middle)
            panel(e, list, title, middle, list->count, 0);
        vg_report__raw(e, "unset multiplot\n");
    }
    vg_base__release(list);
    return status;
}

int vg_report__can_gate(const vg_report *report) {
    char k[VG_NAME_SIZE], name[VG_NAME_SIZE];
    if (report->k_count == 0)
        return 0;
    vg_k_name(k, report->k[0]);
    snprintf(name, sizeof name, "gtu@%.24s", k);
    return vg_report__measure(report, name) != NULL;
}

vg_status vg_report__draw_gated(vg_emit *e, const vg_report *report) {
    curves *list;
    size_t shown = report->k_count < 6 ? report->k_count : 6;
    VG_TRY(vg_base__zalloc(&list, 1, sizeof *list, "a figure"));
    add(list, report, "tu", "TU, no gate");
    for (size_t i = 0; i < shown; i++)
        add_gated(list, report, "gtu", "", report->k[i]);
    size_t middle = list->count;
    add(list, report, "eu", "EU, no gate");
    for (size_t i = 0; i < shown; i++)
        add_gated(list, report, "geu", "", report->k[i]);
    vg_status status = average(list, report);
    if (status == VG_OK) {
        data(e, list);
        frame(e, list);
        panel(e, list, "Total: GTU", 0, middle, 1);
        vg_report__raw(e, "set xlabel 'samples, most uncertain first' offset 0,0.5\n");
        if (list->count > middle)
            panel(e, list, "Epistemic: GEU", middle, list->count, 1);
        vg_report__raw(e, "unset multiplot\n");
    }
    vg_base__release(list);
    return status;
}
