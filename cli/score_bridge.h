/* score_bridge.h - exit codes for the library's scoring helpers, for the commands that have not moved to src/workflow
 * yet. */
#ifndef CLI_SCORE_BRIDGE_H
#define CLI_SCORE_BRIDGE_H

#include "score_options.h"
#include "workflow/prediction_input.h"

/* vg_score_input__open, open_labels and need_labels by options as typed; failures are printed. */
int score_input_open(vg_score_input *in, const score_options *options, const char *path);
int score_input_open_labels(vg_score_input *in, const score_options *options, const char *path, const char *labels);
int score_input_need_labels(const vg_score_input *in);
/* vg_score_input__settings. */
int score_options_resolve(vg_score_options *out, const score_options *options);
/* The listener of those commands. */
const vg_job *score_bridge_job(void);

#endif
