/* measure_columns.h - whole columns of measures for evaluation: scored in one pass, with what the labels say beside them. */
#ifndef CLI_MEASURE_COLUMNS_H
#define CLI_MEASURE_COLUMNS_H

#include "score_options.h"
#include "vargate/evaluate.h"

/* Bits VG_COLUMN_* of the measures in a set. */
unsigned measure_columns_bits(score_set set);

/* One pass over the predictions: measures of `set` into `*columns`, and, where `tally` is not NULL, means, spreads and labels
 * into it. `*columns` is the caller's, freed with vg_columns_free also on failure. `lean`: they are for
 * vg_evaluate_columns alone, which can do without some (where the options allow it). Returns an exit code. */
int measure_columns_score(vg_columns **columns, vg_tally *tally, score_input *in, score_set set, bool lean);

/* All measures of the columns; the caller's, freed with free. */
int measure_columns_list(vg_measure **out, size_t *count, const vg_columns *columns);

#endif
