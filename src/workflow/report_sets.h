/* report_sets.h - figures of prediction sets for a report page. Internal. */
#ifndef VG_WORKFLOW_REPORT_SETS_H
#define VG_WORKFLOW_REPORT_SETS_H

#include "workflow/prediction_input.h"

/* A JSON list of documents of `vargate sets --json`, one per score, at three alphas: calibrated on a random half of the
 * samples and counted on the other. `*out` is NULL for fewer than 40 samples, else released with vg_base__release. The
 * input has labels, one row of them per sample. */
vg_status vg_report_sets__halves(char **out, vg_score_input *in);
/* The same, calibrated on another file. */
vg_status vg_report_sets__files(char **out, const char *path, const char *calibration, const vg_input_options *reading,
                                const vg_job *job);

#endif
