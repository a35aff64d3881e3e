/* score_rows.h - scores as text, one row per sample: CSV with a header, or JSON lines. */
#ifndef VG_WORKFLOW_SCORE_ROWS_H
#define VG_WORKFLOW_SCORE_ROWS_H

#include "workflow/score_writer.h"

vg_status vg_score_rows__write(const vg_score_writer *file, const vg_column_store *store,
                               const vg_score_summary *summary, const vg_job *job);

#endif
