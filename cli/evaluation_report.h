/* evaluation_report.h - an evaluation as tables. */
#ifndef CLI_EVALUATION_REPORT_H
#define CLI_EVALUATION_REPORT_H

#include "vargate/workflow.h"

/* Returns an exit code. */
int evaluation_print_tables(const vg_evaluation_result *result);

#endif
