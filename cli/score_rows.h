/* score_rows.h - scores as text, one row a sample: CSV with a heading, or JSON lines. */
#ifndef CLI_SCORE_ROWS_H
#define CLI_SCORE_ROWS_H

#include "column_store.h"
#include "vargate/formats.h"

int score_rows_write(vg_text *out, bool json, const column_store *store, const vg_score_summary *summary);

#endif
