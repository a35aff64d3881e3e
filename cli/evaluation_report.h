/* evaluation_report.h - an evaluation as tables or as JSON. */
#ifndef CLI_EVALUATION_REPORT_H
#define CLI_EVALUATION_REPORT_H

#include "score_bridge.h"
#include "vargate/evaluate.h"

/* Both return an exit code. */
int evaluation_print_tables(const vg_score_input *in, const vg_evaluation *evaluation);
int evaluation_print_json(const vg_score_input *in, const vg_evaluation *evaluation);

#endif
