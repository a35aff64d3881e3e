/* decision_rows.h - decisions in a file. Internal. */
#ifndef VG_WORKFLOW_DECISION_ROWS_H
#define VG_WORKFLOW_DECISION_ROWS_H

#include "workflow/score_writer.h"

/* Writes id, pred, decision, gmu, snr of every sample, and in an array file also the parameter of the policy: "k" or
 * "threshold" as `name`, with its value. */
vg_status vg_decision_rows__write(vg_score_writer *file, const vg_column_store *store, const char *name, double value,
                                  const vg_job *job);

#endif
