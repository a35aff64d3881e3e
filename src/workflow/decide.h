/* decide.h - keeping or abstaining: the policy, how it is chosen on validation data and applied to scores. Internal. */
#ifndef VG_WORKFLOW_DECIDE_H
#define VG_WORKFLOW_DECIDE_H

#include "vargate/evaluate.h"
#include "vargate/workflow.h"
#include "workflow/prediction_input.h"

/* One way to decide. */
typedef struct vg_decide_candidate {
    bool by_rule;   /* the decision rule at k; else a threshold on a measure */
    vg_field field; /* the measure */
    bool certainty; /* larger is more certain: keep above the threshold */
    double k;       /* of the rule, or of a gated measure's gate */
    double threshold;
} vg_decide_candidate;

/* "k", "snr", "gtu@2"; "k = 1.5", "snr > 3", "gtu@2 < 0.1". */
void vg_decide__name(char out[VG_POLICY_NAME], const vg_decide_candidate *candidate);
void vg_decide__text(char out[VG_POLICY_TEXT], const vg_decide_candidate *candidate);

enum { VG_DECIDE_CANDIDATES = 16 };
typedef struct vg_policy_data {
    vg_policy shown; /* what the caller sees; first, so that a pointer to it is a pointer to all */
    vg_decide_candidate items[VG_DECIDE_CANDIDATES];
    size_t count, chosen;
    char *calibration; /* NULL: nothing to choose on */
    vg_selection selection;
    size_t members, classes; /* of the validation data the policy was chosen on; 0: it was given */
} vg_policy_data;

static inline vg_policy_data *vg_policy__data(vg_policy *policy) { return (vg_policy_data *)(void *)policy; }
static inline const vg_decide_candidate *vg_policy__applied(const vg_policy *policy) {
    const vg_policy_data *data = (const vg_policy_data *)(const void *)policy;
    return &data->items[data->chosen];
}
/* The validation data it is chosen on; NULL: none. */
static inline const char *vg_policy__calibration(const vg_policy *policy) {
    return ((const vg_policy_data *)(const void *)policy)->calibration;
}
/* Copies the chosen candidate to the fields that the caller sees. */
void vg_policy__show(vg_policy_data *policy);

/* The caller's options, missing fields at their defaults. */
typedef struct vg_decide_request {
    vg_input_options input;
    vg_decide_options own;
} vg_decide_request;
vg_status vg_decide__request(vg_decide_request *out, const vg_input_options *input, const vg_decide_options *options);

/* VG_ERR_DATA where predictions have other members or classes than the validation data: a threshold that was chosen
 * for one ensemble promises nothing about another. */
vg_status vg_policy__check_shape(const vg_policy *policy, const vg_score_input *in);
/* Chooses where the policy has a target and is not chosen yet. `decided`: the predictions to be decided; NULL: not
 * known yet (a stream). */
vg_status vg_policy__choose(vg_policy *policy, const vg_decide_request *request, const char *decided);

/* How predictions are read and scored for a decision: the caller's options with the policy's gate settings in place of
 * theirs. */
typedef struct vg_decide_input {
    vg_input_options reading; /* its `scoring` points to the next field */
    vg_score_options scoring;
    const vg_job *job;
} vg_decide_input;
/* Everything is borrowed; `out` must not be moved. */
vg_status vg_decide__input(vg_decide_input *out, const vg_decide_request *request, const double *k, size_t k_count);

/* Fields a block needs to be decided and written: pred, decision, gmu, snr, the policy's measure. */
vg_field_set vg_decide__fields(const vg_policy *policy);
/* Turns scores of a block (one gate setting) into decisions, in place. */
void vg_decide__apply(const vg_policy *policy, const vg_scores *block, size_t entries);

#endif
