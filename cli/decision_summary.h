/* decision_summary.h - what decisions amount to, for the terminal. */
#ifndef CLI_DECISION_SUMMARY_H
#define CLI_DECISION_SUMMARY_H

#include "vargate/workflow.h"

void decision_summary_print(const char *path, const vg_policy *policy, const vg_decide_result *result);

#endif
