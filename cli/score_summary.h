/* score_summary.h - what the scores of a file say as a whole, for the terminal or as JSON. */
#ifndef CLI_SCORE_SUMMARY_H
#define CLI_SCORE_SUMMARY_H

#include "column_store.h"
#include "score_options.h"

/* Counts taken while samples stream by; entries are samples, or (sample, label) pairs in multilabel mode. */
typedef struct score_tally {
    unsigned long long entries, correct;
    unsigned long long kept[OPTION_MAX_REALS], kept_correct[OPTION_MAX_REALS];
    unsigned long long ties, gated_out;
} score_tally;

/* Adds a block; `labels` start at its first sample (NULL: none). Fields that were not computed are left out. */
void score_tally_add(score_tally *tally, const score_layout *layout, const vg_scores *block, size_t rows,
                     const int64_t *labels);

/* Prints it. `store` holds the measures, `set` what was computed. Returns an exit code. */
int score_summary_print(const score_input *in, const column_store *store, const score_tally *tally,
                        const vg_score_summary *summary, score_set set, bool json);

#endif
