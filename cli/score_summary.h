/* score_summary.h - what scores say as a whole, for the terminal or as JSON, and what `score` and `predict --score` do
 * before and after the scoring itself. */
#ifndef CLI_SCORE_SUMMARY_H
#define CLI_SCORE_SUMMARY_H

#include <stdbool.h>

#include "console_job.h"
#include "score_options.h"
#include "vargate/workflow.h"

/* Prints it. Returns an exit code. */
int score_summary_print(const vg_score_result *result, bool json);

/* Where scores go. output NULL: the summary is printed instead of a file. */
typedef struct score_output {
    const char *output;
    bool force, json;
} score_output;
/* Checks the name of the output and sets the options of the scoring, the listener `state` included. Returns an exit
 * code. */
int score_prepare(score_request *request, vg_score_file_options *how, const score_options *options,
                  const score_output *to, console_job *state);
/* Ends the listener after a scoring of that status, and prints the summary where it is wanted. Returns an exit code. */
int score_finish(vg_status status, const vg_score_result *result, const vg_score_file_options *how, bool json,
                 console_job *state);

#endif
