/* decide_policy.c - the policy of 'vargate decide': its name, its choice on validation data, its application to scores. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "decide.h"
#include "measure_columns.h"

/* Layout that names the policy's measure. */
static score_layout policy_layout(const decide_policy *policy) { return (score_layout){.k_count = 1, .k = &policy->k}; }

void decide_policy_name(char out[SCORE_NAME], const decide_policy *policy) {
    score_layout layout = policy_layout(policy);
    if (policy->by_rule)
        snprintf(out, SCORE_NAME, "k");
    else
        score_name(out, policy->field, &layout, 0);
}

void decide_policy_text(char out[DECIDE_TEXT], const decide_policy *policy) {
    char name[SCORE_NAME], value[VG_NAME_SIZE];
    decide_policy_name(name, policy);
    vg_k_name(value, policy->by_rule ? policy->k : policy->threshold);
    snprintf(out, DECIDE_TEXT, "%s %s %s", name, policy->by_rule ? "=" : policy->certainty ? ">" : "<", value);
}

static int unknown_measure(const char *word) {
    const char *names[FIELD_MEASURES + 1] = {"k"};
    for (int f = 0; f < FIELD_MEASURES; f++)
        names[f + 1] = score_field_name(f);
    const char *near = options_nearest(word, names, FIELD_MEASURES + 1);
    if (near)
        return console_usage("--by: unknown measure '%s'; did you mean '%s'?", word, near);
    return console_usage("--by: unknown measure '%s'; expected k, tu, au, eu, ..., gmu, snr, or gtu@2", word);
}

int decide_policy_parse(decide_policy *policy, const char *by) {
    char word[32];
    size_t length = strcspn(by, "@");
    const char *gate = by[length] ? by + length + 1 : NULL;
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), by);
    policy->by_rule = strcmp(word, "k") == 0 && !gate;
    policy->k = 1;
    if (policy->by_rule)
        return CLI_OK;
    int field = 0;
    while (field < FIELD_MEASURES && strcmp(word, score_field_name(field)) != 0)
        field++;
    if (field == FIELD_MEASURES)
        return unknown_measure(word);
    policy->field = field;
    policy->certainty = field == FIELD_SNR;
    if (score_field_gated(field) && (!gate || !options_number(gate, &policy->k)))
        return console_usage("--by %s: a gated measure needs its gate setting: %s@1", by, word);
    if (!score_field_gated(field) && gate)
        return console_usage("--by %s: %s has no gate setting", by, word);
    if (!isfinite(policy->k) || policy->k <= 0)
        return console_fail("--by %s: the gate setting must be > 0", by);
    return CLI_OK;
}

/* --- choosing ----------------------------------------------------------------------------------------------------------- */
static int select_on(decide_policy *policy, const vg_columns *columns, const vg_tally *tally) {
    vg_select_options options = VG_SELECT_OPTIONS_INIT;
    options.target_risk = policy->target_risk;
    options.target_coverage = policy->target_coverage;
    options.confidence = policy->confidence;
    policy->selection = (vg_selection)VG_SELECTION_INIT;
    size_t rows = vg_tally_rows(tally);
    vg_status status;
    if (policy->by_rule) {
        status = vg_select_k(&policy->selection, vg_tally_ratio(tally), vg_tally_errors(tally), rows, &options);
        policy->k = policy->selection.threshold;
    } else {
        char name[SCORE_NAME];
        vg_measure measure;
        decide_policy_name(name, policy);
        status = vg_columns_find(columns, name, &measure);
        if (status == VG_OK)
            status = vg_select_threshold(&policy->selection, &measure, vg_tally_errors(tally), rows, &options);
        policy->threshold = policy->selection.threshold;
    }
    return status == VG_OK ? CLI_OK : console_fail_library();
}

static int target_missed(const decide_policy *policy, const char *path) {
    const vg_selection *best = &policy->selection;
    char text[DECIDE_TEXT];
    decide_policy_text(text, policy);
    if (policy->target_risk > 0)
        return console_fail("%s: no %s meets a risk of %g with %g %% confidence; the best reachable is %s: risk at most %.4g "
                            "(found %zu errors in %zu kept, coverage %.2f %%)",
                            path, policy->by_rule ? "k" : "threshold", policy->target_risk, 100 * policy->confidence, text,
                            best->risk_bound, best->errors, best->kept, 100 * best->coverage);
    return console_fail("%s: no %s keeps %g %% of the samples; the best reachable is %s: coverage %.2f %%", path,
                        policy->by_rule ? "k" : "threshold", 100 * policy->target_coverage, text, 100 * best->coverage);
}

/* A coverage can be chosen without labels: zeros then stand in for them and nothing is said about risk. */
static int stand_in_labels(score_input *in, int64_t **zeros) {
    *zeros = calloc(in->layout.n, (in->layout.multilabel ? in->layout.c : 1) * sizeof **zeros);
    in->labels = *zeros;
    return *zeros ? CLI_OK : console_fail_memory("labels");
}

int decide_choose(decide_policy *policy, const score_options *options, const char *path, const char *labels) {
    score_input in;
    vg_tally *tally = NULL;
    vg_columns *columns = NULL;
    int64_t *zeros = NULL;
    int code = score_input_open_labels(&in, options, path, labels);
    if (code != CLI_OK)
        return code;
    policy->labelled = in.labels != NULL;
    if (!policy->labelled)
        code = policy->target_risk > 0 ? score_input_need_labels(&in) : stand_in_labels(&in, &zeros);
    vg_tally_options how = VG_TALLY_OPTIONS_INIT;
    how.task = in.options.task;
    how.confusion = 0;
    how.expected = in.layout.n;
    if (code == CLI_OK && vg_tally_new(&tally, in.layout.c, &how) != VG_OK)
        code = console_fail_library();
    if (code == CLI_OK)
        code = measure_columns_score(&columns, tally, &in, policy->by_rule ? 0 : SCORE_BIT(policy->field), false);
    if (code == CLI_OK)
        code = select_on(policy, columns, tally);
    if (code == CLI_OK && !policy->selection.met)
        code = target_missed(policy, path);
    vg_columns_free(columns);
    vg_tally_free(tally);
    free(zeros);
    score_input_close(&in);
    return code;
}

/* --- applying ----------------------------------------------------------------------------------------------------------- */
score_set decide_fields(const decide_policy *policy) {
    score_set set = SCORE_BIT(FIELD_GMU) | SCORE_BIT(FIELD_SNR) | SCORE_BIT(FIELD_PRED) | SCORE_BIT(FIELD_DECISION);
    return policy->by_rule ? set : set | SCORE_BIT(policy->field);
}

void decide_apply(const decide_policy *policy, const vg_scores *block, size_t entries) {
    if (policy->by_rule)
        return;
    const double *values = score_block_place(block, policy->field);
    for (size_t i = 0; i < entries; i++) {
        bool keep = policy->certainty ? values[i] > policy->threshold : values[i] < policy->threshold;
        block->decision[i] = keep ? block->pred[i] : -1;
    }
}
