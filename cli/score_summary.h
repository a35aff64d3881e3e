/* score_summary.h - what the scores of a file say as a whole, for the terminal or as JSON. */
#ifndef CLI_SCORE_SUMMARY_H
#define CLI_SCORE_SUMMARY_H

#include "score_bridge.h"
#include "workflow/column_store.h"
#include "workflow/score_tally.h"

/* Prints it. `store` holds the measures, `set` what was computed. Returns an exit code. */
int score_summary_print(const vg_score_input *in, const vg_column_store *store, const vg_score_tally *tally,
                        const vg_score_summary *summary, vg_field_set set, bool json);

#endif
