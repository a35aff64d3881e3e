/* decide.h - keeping or abstaining: the policy, how it is chosen on validation data, and where it is applied. */
#ifndef CLI_DECIDE_H
#define CLI_DECIDE_H

#include "score_options.h"
#include "vargate/evaluate.h"

typedef struct decide_policy {
    bool by_rule;      /* the decision rule at k; else a threshold on a measure */
    score_field field; /* the measure */
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
void decide_policy_name(char out[SCORE_NAME], const decide_policy *policy);
/* Reads --by NAME[@K]. Returns an exit code. */
int decide_policy_parse(decide_policy *policy, const char *by);

/* Sets k or the threshold from the validation file by policy's targets. CLI_FAILED, naming the best reachable, when no choice
 * meets the target. */
int decide_choose(decide_policy *policy, const score_options *options, const char *path, const char *labels);

/* Turns scores of a block (pred, decision, the policy's measure; one gate setting) into decisions, in place. */
void decide_apply(const decide_policy *policy, const vg_scores *block, size_t entries);
/* Fields a block needs for decide_apply and the outputs: pred, decision, gmu, snr, the policy's measure. */
score_set decide_fields(const decide_policy *policy);

/* Decides for a whole file; output NULL: summary alone. */
int decide_file(const decide_policy *policy, const score_options *options, const char *path, const char *labels,
                const char *output, bool json);
/* JSON lines from standard input to standard output. */
int decide_stream(const decide_policy *policy, const score_options *options, bool strict);

#endif
