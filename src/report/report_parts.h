/* report_parts.h - the pieces a page and the figures are made of. Internal. */
#ifndef VG_REPORT_PARTS_H
#define VG_REPORT_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "report/report.h"
#include "report/report_emit.h"

/* A copy of the caller's report; fields that an older caller's struct lacks take their defaults. */
vg_status vg_report__take(vg_report *out, const vg_report *given);

/* Which samples the page holds in full, and which of these have an image. */
typedef struct vg_chosen {
    size_t count;     /* samples in the page */
    size_t *samples;  /* count, increasing */
    uint8_t *plotted; /* count: 1 = belongs to the random sample; 0 = chosen because it is a notable case */
    size_t image_count;
    size_t *image_rows; /* image_count positions in `samples`, increasing */
} vg_chosen;
vg_status vg_report__choose(vg_chosen *out, const vg_report *report);
void vg_report__chosen_free(vg_chosen *chosen);

/* A measure by name; NULL when the report does not have it. */
const vg_measure *vg_report__measure(const vg_report *report, const char *name);
/* The value of a measure at a sample as an uncertainty: larger is less certain. */
double vg_report__uncertainty(const vg_measure *measure, size_t sample);
/* The measure by which cases are ordered: gmu, or the first there is; NULL when there is none. */
const vg_measure *vg_report__main_measure(const vg_report *report);
/* 0..n-1 by falling uncertainty; the caller's, vg_base__release. */
vg_status vg_report__order(size_t **out, const vg_measure *measure, size_t n);

/* Histograms of in- and out-of-distribution values over common bins, and points of the ROC curve. */
enum { VG_OOD_BINS = 40, VG_OOD_ROC = 101 };
typedef struct vg_ood_curves {
    double low, high;
    size_t id[VG_OOD_BINS], ood[VG_OOD_BINS];
    double fpr[VG_OOD_ROC], tpr[VG_OOD_ROC];
} vg_ood_curves;
vg_status vg_report__ood_curves(vg_ood_curves *out, const vg_measure *id, size_t id_rows, const vg_measure *ood,
                                size_t ood_rows);

/* Objects of the page's JSON. */
void vg_report__emit_evaluation(vg_emit *e, const vg_evaluation *evaluation, int with_measures);
vg_status vg_report__emit_training(vg_emit *e, const vg_report *report);
vg_status vg_report__emit_ood(vg_emit *e, const vg_report *report);
/* Counts at a list of k, and images of sites: null where there are none; then their columns (report_sites.c). */
void vg_report__emit_counts(vg_emit *e, const vg_report_counts *counts);
void vg_report__emit_count_columns(vg_emit *e, const vg_report_counts *counts);
void vg_report__emit_sites(vg_emit *e, const vg_report_sites *sites);
void vg_report__emit_site_columns(vg_emit *e, const vg_report_sites *sites, const vg_report_counts *counts);
/* What evaluate advises, and figures of prediction sets: keys of the enclosing object. */
void vg_report__emit_advice(vg_emit *e, const vg_report *report);

/* The k that can be promised for each of a list of target risks (report_promise.c). */
enum { VG_PROMISES = 270 };
typedef struct vg_promises {
    double confidence, target[VG_PROMISES];
    vg_selection found[VG_PROMISES];
} vg_promises;
/* `*out` is NULL where nothing can be promised: without labels, of one sample, and of rows that are a sample of more.
 * Released with vg_base__release. */
vg_status vg_report__promise(vg_promises **out, const vg_report *report);
void vg_report__emit_promises(vg_emit *e, const vg_promises *promises);

/* Counts of all rows of a report, at the k of the page, its presets and its promises. */
vg_status vg_report__count_rows(vg_report_counts *out, const vg_report *report, const vg_promises *promises);

/* The page without data, split where data are inserted. Made from report_template.html when the library is built. */
extern const unsigned char vg_report__template[];
extern const size_t vg_report__template_size;

#endif
