/* decide_json.h - how a policy was chosen, as JSON: in the document of `vargate decide` and in a policy's file. */
#ifndef VG_WORKFLOW_DECIDE_JSON_H
#define VG_WORKFLOW_DECIDE_JSON_H

#include <jansson.h>

#include "vargate/workflow.h"

/* The object "calibration"; policy->selection is not NULL. */
json_t *vg_decide__selection_json(const vg_policy *policy);
/* The part of it that a target risk adds, read back; what is missing keeps its value. */
void vg_decide__read_promise(vg_selection *out, const json_t *from);

#endif
