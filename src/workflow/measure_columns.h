/* measure_columns.h - whole columns of measures for evaluation, scored in one pass together with the tally of the
 * labels. */
#ifndef VG_WORKFLOW_MEASURE_COLUMNS_H
#define VG_WORKFLOW_MEASURE_COLUMNS_H

#include "evaluate/whole_columns.h"
#include "vargate/evaluate.h"
#include "workflow/kept_means.h"
#include "workflow/prediction_input.h"

/* Bits VG_COLUMN_* of the measures in a set. */
unsigned vg_measure_columns__bits(vg_field_set set);

/* One pass over the predictions: measures of `set` into `*columns`, and, where `tally` is not NULL, means, spreads
 * and labels into it. `*columns` is owned by the caller, freed with vg_columns__free also on failure. `lean`: they
 * are used by vg_evaluate__columns only, which computes some of them (where the options allow it). `summary` may be
 * NULL. `kept` may be NULL; it goes with a tally, and with one label per sample. */
vg_status vg_measure_columns__score(vg_columns **columns, vg_tally *tally, vg_score_input *in, vg_field_set set,
                                    bool lean, vg_score_summary *summary, vg_kept_means *kept);

/* vg_evaluate__columns with the gate settings, threads and listener of the input; `options` has the rest. */
vg_status vg_measure_columns__evaluate(vg_evaluation **out, const vg_score_input *in, const vg_tally *tally,
                                       const vg_columns *columns, vg_evaluate_options options);

/* All measures of the columns; the caller's, freed with free. */
vg_status vg_measure_columns__list(vg_measure **out, size_t *count, const vg_columns *columns);

/* The factor that turns the population spread, which scorers give, into the one that the decision rule uses. */
double vg_measure_columns__rule_spread(const vg_score_input *in);

#endif
