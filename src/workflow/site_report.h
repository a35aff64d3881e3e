/* site_report.h - what a report page shows of images: the sites of some of them, counts of all, and a random sample of
 * sites for its plots, in memory that does not grow with the number of images. Internal. */
#ifndef VG_WORKFLOW_SITE_REPORT_H
#define VG_WORKFLOW_SITE_REPORT_H

#include "report/report.h"
#include "workflow/prediction_input.h"
#include "workflow/report_files.h"

struct vg_report_subject;

/* All of it belongs to the subject and is freed by vg_site_report__free. `shown` points to the arrays that are declared
 * after it. */
typedef struct vg_site_report {
    vg_report_counts counts;
    vg_report_sites shown;
    size_t *positions; /* sites of the random sample */
    size_t *numbers;
    uint16_t *pred, *label, *steps;
    uint8_t *level, *photo;
    uint32_t *sites, *abstained;
} vg_site_report;

/* Fills the subject's sites and, of the random sample, n, rows, labels and columns. The subject has its settings and
 * its evaluation, where there are labels. */
vg_status vg_site_report__make(struct vg_report_subject *subject, vg_score_input *in);
/* Takes the images that are shown from `images`, of any size. */
vg_status vg_site_report__photos(vg_site_report *report, const vg_report_images *images);
void vg_site_report__free(vg_site_report *report);

#endif
