/* decide.h - policies: how one is chosen on validation data and applied to scores. Internal. */
#ifndef VG_WORKFLOW_DECIDE_H
#define VG_WORKFLOW_DECIDE_H

#include <stdio.h>

#include "evaluate/whole_columns.h"
#include "vargate/evaluate.h"
#include "vargate/policy.h"
#include "vargate/workflow.h"
#include "workflow/prediction_input.h"
#include "workflow/site_images.h"

/* One candidate: the rule, or a threshold on a measure. */
typedef struct vg_decide_candidate {
    bool by_rule;   /* the decision rule at k; else a threshold on a measure */
    vg_field field; /* the measure */
    bool certainty; /* larger is more certain: keep above the threshold */
    double k;       /* of the rule, or of a gated measure's gate */
    double threshold;
    bool calibrated; /* decided on logits divided by the policy's temperature */
} vg_decide_candidate;

/* "k", "snr", "gtu@2"; "k = 1.5", "snr > 3", "gtu@2 < 0.1". */
void vg_decide__name(char out[VG_POLICY_NAME], const vg_decide_candidate *candidate);
void vg_decide__text(char out[VG_POLICY_TEXT], const vg_decide_candidate *candidate);

/* The most names of `by`, of candidates that a search considers, and of those it tests. */
enum { VG_DECIDE_NAMED = 16, VG_DECIDE_CANDIDATES = 64, VG_DECIDE_NOMINEES = 3 };
typedef struct vg_policy_data {
    vg_policy shown; /* the public part; first, so that a pointer to it is a pointer to the whole */
    vg_decide_candidate items[VG_DECIDE_CANDIDATES];
    size_t count, chosen;
    bool search;       /* every measure is considered, and few of them are tested */
    char *calibration; /* the validation file; NULL: none */
    char *origin;      /* where members and classes come from, for messages: the policy's file; NULL: `calibration` */
    char *line;        /* vg_policy.line */
    char *temperature; /* of candidates that are calibrated: numbers separated by commas; NULL: none is */
    char *given;       /* the temperature that the caller gave, likewise; kept in the policy's file */
    vg_selection selection;
    size_t members, classes;      /* of the predictions the policy was chosen on; 0: it was given */
    char **class_names;           /* `classes`; NULL: not known */
    vg_score_options conventions; /* what the measures were computed by; pointers in it are not used */
    double *class_k;              /* `classes`: a k for every class, of the choice or the file; NULL: none */
    double *label_risks;          /* of a k for every label that is to be chosen; NULL: none is */
    size_t label_risk_count;      /* 1, or classes */
    vg_selection *labels;         /* `classes`: how the k of each label was chosen; NULL: it was not */
    bool settled;                 /* members, classes and conventions are known */
    bool loaded;                  /* they come from a file: others are refused */
    vg_site_images images;        /* of the file that was decided last; count 0: none */
    bool by_image;                /* the promise is made for images, whose sites are the rows */
    vg_busy busy;
    char sentence[VG_POLICY_SENTENCE], again[VG_POLICY_SENTENCE];
} vg_policy_data;

static inline vg_policy_data *vg_policy__data(vg_policy *policy) { return (vg_policy_data *)(void *)policy; }
static inline const vg_policy_data *vg_policy__read(const vg_policy *policy) {
    return (const vg_policy_data *)(const void *)policy;
}
static inline const vg_decide_candidate *vg_policy__applied(const vg_policy *policy) {
    const vg_policy_data *data = vg_policy__read(policy);
    return &data->items[data->chosen];
}
/* The validation data it is chosen on; NULL: none. */
static inline const char *vg_policy__calibration(const vg_policy *policy) {
    return vg_policy__read(policy)->calibration;
}
/* Copies the chosen candidate to the fields that the caller sees. */
void vg_policy__show(vg_policy_data *policy);
/* The unit that the promise is made for: "sample" or "image". */
const char *vg_policy__unit(const vg_policy *policy);
/* Writes the sentence that describes the policy, and the options that repeat it, from the chosen candidate
 * (policy_words.c). */
void vg_policy__words(vg_policy_data *policy);
/* One name of `by`: "k", "snr", "gtu@2". */
vg_status vg_decide__parse(vg_decide_candidate *out, const char *by);

/* The caller's options, missing fields at their defaults. */
typedef struct vg_decide_request {
    vg_input_options input;
    vg_decide_options own;
} vg_decide_request;
vg_status vg_decide__request(vg_decide_request *out, const vg_input_options *input, const vg_decide_options *options);

/* VG_ERR_DATA where predictions have other members or classes than the data the policy was chosen on: a promise for
 * one ensemble does not hold for another. */
vg_status vg_policy__check_shape(const vg_policy *policy, vg_score_input *in);
/* Stores what the policy's file records of the predictions: members, classes, conventions. */
vg_status vg_policy__remember(vg_policy_data *policy, vg_score_input *in);
void vg_policy__forget(vg_policy_data *policy); /* frees what was stored */
/* Chooses where the policy has a target and is not chosen yet. `decided`: the predictions to be decided; NULL: not
 * known yet (a stream). */
vg_status vg_policy__choose(vg_policy *policy, const vg_decide_request *request, const char *decided);

/* The policy as a file: writing and reading (policy_file.c). docs/schema/policy.schema.json. */
/* Writes and closes the file; NULL: nothing to write. */
vg_status vg_policy__save(const vg_policy *policy, vg_text *file);
vg_status vg_policy__load(vg_policy_data *policy, const char *path);
/* Opens the file named by `save`, before any work, so that a path that cannot be written is reported before
 * decisions are made; NULL where none is asked for. */
vg_status vg_policy__open_save(vg_text **file, const vg_policy *policy, const char *path,
                               const vg_decide_request *request);

/* How predictions are read and scored for a decision: the caller's options with gate settings and, where the policy
 * has them, conventions in place of theirs. `calibrated`: at the policy's temperature. */
typedef struct vg_decide_input {
    vg_input_options reading; /* its `scoring` points to the next field */
    vg_score_options scoring;
    const vg_job *job;
} vg_decide_input;
/* Everything is borrowed; `out` must not be moved. */
vg_status vg_decide__input(vg_decide_input *out, const vg_decide_request *request, const double *k, size_t k_count);
vg_status vg_decide__settle(vg_decide_input *input, const vg_policy *policy, bool calibrated);

/* Fields a block needs to be decided and written: pred, decision, gmu, snr, the policy's measure. */
vg_field_set vg_decide__fields(const vg_policy *policy);
/* Turns scores of a block (one gate setting) into decisions, in place. */
void vg_decide__apply(const vg_policy *policy, const vg_scores *block, size_t entries);

/* --- scored files (decide_scored.c) ------------------------------------------------------------------------------- */

/* A file's measures of candidates, its margin ratios and, of the validation data, its errors. */
typedef struct vg_decide_scored {
    vg_score_input in;
    vg_tally *tally;
    vg_columns *columns;
    int64_t *zeros;    /* replace labels that are missing or not used; of images, labels without -1 */
    uint8_t *left_out; /* of images with label maps: sites that are left out; NULL: none */
    vg_score_summary summary;
    bool labelled;
} vg_decide_scored;
/* Scores `path` for those candidates of the policy that are `calibrated`, or are not. labels: as of
 * vg_score_input__open_labels. Closed also after a failure. */
vg_status vg_decide_scored__open(vg_decide_scored *f, const vg_policy_data *policy, const vg_decide_input *input,
                                 const char *path, const char *labels, bool calibrated);
void vg_decide_scored__close(vg_decide_scored *f);
/* Candidates of the policy for vg_select_among. Each array of two holds plain and calibrated scores. `others` NULL: a
 * part of the validation data places the thresholds. */
vg_status vg_decide_scored__list(vg_candidate *list, const vg_policy_data *policy, const vg_decide_scored validation[2],
                                 const vg_decide_scored *others);
/* The gate settings of the policy's candidates, each once; returns how many. */
size_t vg_decide_scored__gates(double gates[VG_DECIDE_CANDIDATES], const vg_policy_data *policy);

/* --- choosing (decide_choose.c, decide_search.c) ------------------------------------------------------------------ */

/* Opens the validation data and, for a target risk, demands labels. */
vg_status vg_decide__open_validation(vg_decide_scored *validation, vg_policy_data *policy, const vg_decide_input *input,
                                     bool calibrated);
/* Chooses among the policy's candidates; marks: samples that are not tested, NULL: none. */
vg_status vg_decide__select(vg_policy_data *policy, const vg_decide_scored validation[2],
                            const vg_decide_scored *others, const uint8_t *marks);
/* The error when the best candidate does not meet the target: VG_ERR_DATA, with the reason. */
vg_status vg_decide__missed(const vg_policy_data *policy, const vg_decide_scored *validation);
/* A k for every label (decide_labels.c), the words that describe it, and its table. */
vg_status vg_decide__choose_labels(vg_policy_data *policy, const vg_decide_request *request, const char *decided);
void vg_decide__label_words(vg_policy_data *policy);
void vg_decide__write_labels(FILE *out, const vg_policy *policy);
/* The search over all measures: leaves the nominees as the policy's candidates, and the chosen one among them. */
vg_status vg_decide__search(vg_policy_data *policy, const vg_decide_request *request, const char *decided);

#endif
