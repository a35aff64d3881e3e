/* decide_json.h - how a policy was chosen, as JSON: in the document of `vargate decide` and in a policy's file. */
#ifndef VG_WORKFLOW_DECIDE_JSON_H
#define VG_WORKFLOW_DECIDE_JSON_H

#include <jansson.h>

#include "vargate/policy.h"
#include "vargate/workflow.h"

/* The object "calibration"; policy->selection must not be NULL. */
json_t *vg_decide__selection_json(const vg_policy *policy);
/* How the k of each label was chosen: an array. */
json_t *vg_decide__labels_json(const vg_policy *policy);
/* Reads back the part of it that a target risk adds; missing keys keep their values. */
void vg_decide__read_promise(vg_selection *out, const json_t *from);

/* The switches of the measures as an object of a policy's or a thresholds' file, and read back: policy_file.c. */
json_t *vg_conventions__json(const vg_score_options *options);
vg_status vg_conventions__read(vg_score_options *out, const json_t *from, const char *path);
/* The first switch that `own` sets to something that is neither the default nor the stored one; NULL: none. */
const char *vg_conventions__differ(const vg_score_options *own, const vg_score_options *stored);

#endif
