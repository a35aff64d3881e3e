/* score_rows.h - scores as text, one row a sample: CSV with a heading, or JSON lines. */
#ifndef VG_WORKFLOW_SCORE_ROWS_H
#define VG_WORKFLOW_SCORE_ROWS_H

#include "vargate/formats.h"
#include "workflow/column_store.h"
#include "workflow/job.h"

vg_status vg_score_rows__write(vg_text *out, bool json, const vg_column_store *store, const vg_score_summary *summary,
                               const vg_job *job);

#endif
