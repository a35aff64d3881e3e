/* report_figures.h - the figures, two functions for each: whether the report has its data, and its script. Internal. */
#ifndef VG_REPORT_FIGURES_H
#define VG_REPORT_FIGURES_H

#include "report/report_emit.h"
#include "report/report_parts.h"

int vg_report__can_decompose(const vg_report *report);
int vg_report__can_gate(const vg_report *report);
int vg_report__can_rank(const vg_report *report);
int vg_report__can_diversify(const vg_report *report);
int vg_report__can_train(const vg_report *report);
int vg_report__can_ood(const vg_report *report);
vg_status vg_report__draw_decomposition(vg_emit *e, const vg_report *report);
vg_status vg_report__draw_gated(vg_emit *e, const vg_report *report);
vg_status vg_report__draw_risk(vg_emit *e, const vg_report *report);
vg_status vg_report__draw_reliability(vg_emit *e, const vg_report *report);
vg_status vg_report__draw_diversity(vg_emit *e, const vg_report *report);
vg_status vg_report__draw_training(vg_emit *e, const vg_report *report);
vg_status vg_report__draw_ood(vg_emit *e, const vg_report *report);

/* The colour of curve `index`; the palette repeats. */
const char *vg_report__colour(size_t index);
/* Writes any text between single quotes. */
void vg_report__quote(vg_emit *e, const char *text);

#endif
