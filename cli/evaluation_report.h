/* evaluation_report.h - an evaluation as tables. */
#ifndef CLI_EVALUATION_REPORT_H
#define CLI_EVALUATION_REPORT_H

#include <stdbool.h>

#include "vargate/workflow.h"

/* all: every measure, figure and class, however wide. Returns an exit code. */
int evaluation_print_tables(const vg_evaluation_result *result, bool all);

#endif
