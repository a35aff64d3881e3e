/* figure_ood.c - out-of-distribution sets: how the best measure's values lie on both sides of the first set, and ROC
 * curves. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report_figures.h"

enum { MAX_SETS = 3 };

int vg_report__can_ood(const vg_report *report) {
    return report->ood_count > 0 && report->measure_count > 0 && report->ood[0].n > 0;
}

static size_t best_measure(const vg_report *report, const vg_report_ood *set) {
    size_t best = 0;
    for (size_t m = 1; m < report->measure_count; m++) {
        if (set->figures[m].auroc.value > set->figures[best].auroc.value)
            best = m;
    }
    return best;
}

static void histogram(vg_emit *e, const vg_report *report, const vg_report_ood *set, const vg_ood_curves *curves) {
    double width = (curves->high - curves->low) / VG_OOD_BINS;
    vg_report__raw(e, "$histogram << EOD\n");
    for (size_t b = 0; b < VG_OOD_BINS; b++)
        vg_report__format(e, "%.6g %.6g %.6g\n", curves->low + ((double)b + 0.5) * width,
                          100 * (double)curves->id[b] / (double)report->n,
                          100 * (double)curves->ood[b] / (double)set->n);
    vg_report__raw(e, "EOD\n");
}

static vg_status roc_data(vg_emit *e, const vg_report *report, size_t s, size_t m, size_t index) {
    vg_ood_curves curves;
    VG_TRY(
        vg_report__ood_curves(&curves, &report->measures[m], report->n, &report->ood[s].measures[m], report->ood[s].n));
    vg_report__format(e, "$roc%zu << EOD\n", index);
    for (size_t i = 0; i < VG_OOD_ROC; i++)
        vg_report__format(e, "%.5g %.5g\n", curves.fpr[i], curves.tpr[i]);
    vg_report__raw(e, "EOD\n");
    return VG_OK;
}

static void roc_title(vg_emit *e, const vg_report *report, size_t s, size_t m) {
    char title[160];
    snprintf(title, sizeof title, "%.60s by %s: %.3f", report->ood[s].name ? report->ood[s].name : "OOD",
             report->measures[m].name, report->ood[s].figures[m].auroc.value);
    vg_report__quote(e, title);
}

vg_status vg_report__draw_ood(vg_emit *e, const vg_report *report) {
    const vg_report_ood *first = &report->ood[0];
    size_t sets = report->ood_count < MAX_SETS ? report->ood_count : MAX_SETS, best = best_measure(report, first),
           count = 0;
    size_t set_of[2 * MAX_SETS], measure_of[2 * MAX_SETS];
    vg_ood_curves curves;
    char title[160];
    VG_TRY(vg_report__ood_curves(&curves, &report->measures[best], report->n, &first->measures[best], first->n));
    histogram(e, report, first, &curves);
    for (size_t s = 0; s < sets; s++) {
        const vg_measure *tu = vg_report__measure(report, "tu");
        size_t of_set = best_measure(report, &report->ood[s]);
        if (report->ood[s].n == 0)
            continue;
        set_of[count] = s;
        measure_of[count++] = of_set;
        if (tu && (size_t)(tu - report->measures) != of_set) {
            set_of[count] = s;
            measure_of[count++] = (size_t)(tu - report->measures);
        }
    }
    for (size_t i = 0; i < count; i++)
        VG_TRY(roc_data(e, report, set_of[i], measure_of[i], i));
    double span = curves.high > curves.low ? curves.high - curves.low : 1, step = pow(10, floor(log10(span)));
    step = span / step < 2 ? step / 2 : span / step < 5 ? step : 2 * step;
    vg_report__format(e, "set xrange [%.8g:%.8g]\nset xtics %.3g\nset format x '%%g'\n", curves.low, curves.low + span,
                      step);
    vg_report__raw(e, "set multiplot layout 2,1 margins 0.17,0.94,0.10,0.97 spacing 0,0.16\nset style fill transparent "
                      "solid 0.55 noborder\n"
                      "set boxwidth 1 relative\nset key top right\nset logscale y\nset yrange [0.01:100]\nset ylabel "
                      "'samples (%)' offset "
                      "1.2,0\nset xlabel ");
    vg_report__quote(e, report->measures[best].name);
    snprintf(title, sizeof title, "%.60s", first->name ? first->name : "OOD");
    vg_report__format(
        e,
        " offset 0,0.5\nplot $histogram using 1:2 with boxes lc '%s' title 'in distribution', $histogram using "
        "1:3 with boxes lc '%s' title ",
        vg_report__colour(2), vg_report__colour(1));
    vg_report__quote(e, title);
    vg_report__raw(e, "\nunset logscale y\nset key bottom right\nset xrange [0:1]\nset xtics 0.2\nset yrange "
                      "[0:1]\nset xlabel 'false "
                      "positive rate' offset 0,0.5\n"
                      "set ylabel 'true positive rate'\nplot x with lines dt '.' lc '#777777' notitle");
    for (size_t i = 0; i < count; i++) {
        vg_report__format(e, ", $roc%zu with lines lw 1.4 dt %s lc '%s' title ", i,
                          i > 0 && set_of[i] == set_of[i - 1] ? "'-'" : "1", vg_report__colour(2 + set_of[i]));
        roc_title(e, report, set_of[i], measure_of[i]);
    }
    vg_report__raw(e, "\nunset multiplot\n");
    return VG_OK;
}
