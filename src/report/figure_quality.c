/* figure_quality.c - figures of the quality of predictions: risk against coverage, reliability. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report_figures.h"

int vg_report__can_rank(const vg_report *report) { return report->evaluation != NULL; }

static const vg_ranking *ranking(const vg_evaluation *v, const char *name) {
    for (size_t i = 0; i < v->measure_count; i++) {
        if (strcmp(v->measures[i].name, name) == 0)
            return v->measures[i].curve ? &v->measures[i] : NULL;
    }
    return NULL;
}

/* --- risk and coverage ------------------------------------------------------------------------------------------ */

/* Labels for the smallest and the largest k of the rule, offset so that they do not overlap: the points lie close
 * together at the right. */
static void rule_ends(vg_emit *e, const vg_evaluation *v) {
    size_t first = 0, last = v->rule_count;
    while (first < last && v->rule[first].kept == 0)
        first++;
    while (last > first && v->rule[last - 1].kept == 0)
        last--;
    for (size_t i = first; i<last; i += last - first> 1 ? last - first - 1 : 1) {
        vg_report__format(e, "set label 'k=%s' at %.6g,%.6g right offset -0.8,%s\n", v->rule[i].name,
                          100 * v->rule[i].coverage.value, 100 * (1 - v->rule[i].accuracy.value),
                          i == first ? "0.6" : "-0.6");
    }
}

vg_status vg_report__draw_risk(vg_emit *e, const vg_report *report) {
    const vg_evaluation *v = report->evaluation;
    char gated[VG_NAME_SIZE] = "", gated_title[VG_NAME_SIZE] = "", k[VG_NAME_SIZE];
    if (report->k_count > 0) {
        vg_k_name(k, report->k[0]);
        snprintf(gated, sizeof gated, "gtu@%.24s", k);
        snprintf(gated_title, sizeof gated_title, "GTU, k=%.20s", k);
    }
    const char *const names[] = {"tu", "au", "eu", "epkl", "gmu", gated};
    const char *const titles[] = {"TU", "AU", "EU", "EPKL", "GMU", gated_title};
    enum { SERIES = sizeof names / sizeof *names };
    for (size_t s = 0; s < SERIES; s++) {
        const vg_ranking *r = ranking(v, names[s]);
        vg_report__format(e, "$curve%zu << EOD\n", s);
        for (size_t i = 0; r && i < v->curve_points; i++)
            vg_report__format(e, "%.5g %.6g\n", 100 * (double)(i + 1) / (double)v->curve_points, 100 * r->curve[i]);
        vg_report__raw(e, "EOD\n");
    }
    vg_report__raw(e, "$rule << EOD\n");
    for (size_t i = 0; i < v->rule_count; i++) {
        if (v->rule[i].kept > 0)
            vg_report__format(e, "%.6g %.6g\n", 100 * v->rule[i].coverage.value, 100 * (1 - v->rule[i].accuracy.value));
    }
    vg_report__raw(e,
                   "EOD\nset key outside top center horizontal maxrows 2\nset xlabel 'coverage (%)' offset 0,0.4\nset "
                   "ylabel 'risk on the kept (%)' offset 1.2,0\n"
                   "set xrange [0:100]\nset yrange [0:*]\nset bmargin 3\nset rmargin 2\n");
    rule_ends(e, v);
    vg_report__raw(e, "plot ");
    for (size_t s = 0, shown = 0; s < SERIES; s++) {
        if (!ranking(v, names[s]))
            continue;
        vg_report__format(e, "%s$curve%zu with lines lw 1.4 dt %s lc '%s' title ", shown++ ? ", " : "", s,
                          s == 5 ? "'-'" : "1", vg_report__colour(s));
        vg_report__quote(e, titles[s]);
    }
    if (v->rule_count > 0)
        vg_report__raw(e, ", $rule with points pt 7 ps 0.5 lc '#000000' title 'rule'");
    vg_report__raw(e, "\n");
    return VG_OK;
}

/* --- reliability ------------------------------------------------------------------------------------------------ */

static void bins(vg_emit *e, const char *name, const vg_evaluation *v) {
    vg_report__format(e, "$%s << EOD\n", name);
    for (size_t b = 0; v && b < v->bins; b++) {
        if (v->reliability[b].count > 0)
            vg_report__format(e, "%.6g %.6g %zu\n", v->reliability[b].confidence, v->reliability[b].accuracy,
                              v->reliability[b].count);
    }
    vg_report__raw(e, "EOD\n");
}

vg_status vg_report__draw_reliability(vg_emit *e, const vg_report *report) {
    const vg_evaluation *before = report->is_calibrated ? report->other : report->evaluation,
                        *after = report->is_calibrated ? report->evaluation : report->other;
    bins(e, "before", before);
    bins(e, "after", after);
    vg_report__raw(
        e, "set tmargin 1\nset bmargin 3\nset lmargin 7\nset rmargin 2\nset xrange [0:1]\nset yrange [0:1]\nset key "
           "top left\nset xlabel 'confidence' offset 0,0.4\n"
           "set ylabel 'accuracy' offset 1.2,0\nplot x with lines lw 1 dt '.' lc '#777777' title 'perfect'");
    if (before)
        vg_report__format(e, ", $before with linespoints pt 7 ps 0.5 lw 1.3 lc '%s' title '%s, ECE %.3f'",
                          vg_report__colour(4), after ? "before" : "as predicted", before->ece.value);
    if (after)
        vg_report__format(e, ", $after with linespoints pt 5 ps 0.5 lw 1.3 lc '%s' title 'calibrated, ECE %.3f'",
                          vg_report__colour(2), after->ece.value);
    vg_report__raw(e, "\n");
    return VG_OK;
}
