/* decide.h - keeping or abstaining: the policy, how it is chosen on validation data, and where it is applied. */
#ifndef CLI_DECIDE_H
#define CLI_DECIDE_H

#include "score_bridge.h"
#include "vargate/evaluate.h"

typedef struct decide_policy {
    bool by_rule;      /* the decision rule at k; else a threshold on a measure */
    vg_field field; /* the measure */
    bool certainty;    /* larger is more certain: keep above the threshold */
    double k;          /* of the rule, or of a gated measure's gate */
    double threshold;
    /* how it was chosen on validation data; target 0: not */
    double target_risk, target_coverage, confidence;
    bool labelled; /* the validation data had labels */
    vg_selection selection;
} decide_policy;

/* "k = 1.5", "snr > 3", "gtu@2 < 0.1". */
enum { DECIDE_TEXT = 96 };
void decide_policy_text(char out[DECIDE_TEXT], const decide_policy *policy);
/* The measure's name, "k" for the rule. */
void decide_policy_name(char out[VG_FIELD_TITLE], const decide_policy *policy);
/* Policies to choose among. */
enum { DECIDE_CANDIDATES = 16 };
typedef struct decide_candidates {
    decide_policy items[DECIDE_CANDIDATES];
    size_t count;
} decide_candidates;
/* Reads --by NAME[@K],... Returns an exit code. */
int decide_candidates_parse(decide_candidates *out, const char *by);

typedef struct decide_files {
    const char *validation, *labels; /* labels of the validation file; NULL: in it */
    const char *decided;             /* the predictions to be decided; NULL: not known yet (a stream) */
} decide_files;
/* Chooses among the candidates, and their k or threshold, on the validation file by their targets; `policy` becomes the
 * one chosen. CLI_FAILED, naming the best reachable and what it would take, when none meets the target. options->k is
 * set to the candidates' gates. */
int decide_choose(decide_policy *policy, decide_candidates *candidates, score_options *options,
                  const decide_files *files);

/* Turns scores of a block (pred, decision, the policy's measure; one gate setting) into decisions, in place. */
void decide_apply(const decide_policy *policy, const vg_scores *block, size_t entries);
/* Fields a block needs for decide_apply and the outputs: pred, decision, gmu, snr, the policy's measure. */
vg_field_set decide_fields(const decide_policy *policy);

/* Decides for a whole file; output NULL: summary alone. */
int decide_file(const decide_policy *policy, const score_options *options, const char *path, const char *labels,
                const char *output, bool json);
/* JSON lines from standard input to standard output. */
int decide_stream(const decide_policy *policy, const score_options *options, bool strict);

#endif
