/* decision_rows.h - decisions in a file. */
#ifndef CLI_DECISION_ROWS_H
#define CLI_DECISION_ROWS_H

#include "decide.h"
#include "score_file.h"

/* Writes id, pred, decision, gmu, snr of every sample, and in an array file also k or the threshold. Returns an exit code. */
int decision_rows_write(score_file *file, const column_store *store, const decide_policy *policy);

#endif
