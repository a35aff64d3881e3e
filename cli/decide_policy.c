/* decide_policy.c - the policy of 'vargate decide': its name and its application to scores. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "console.h"
#include "decide.h"

/* Layout that names the policy's measure. */
static vg_score_layout policy_layout(const decide_policy *policy) { return (vg_score_layout){.k_count = 1, .k = &policy->k}; }

void decide_policy_name(char out[VG_FIELD_TITLE], const decide_policy *policy) {
    vg_score_layout layout = policy_layout(policy);
    if (policy->by_rule)
        snprintf(out, VG_FIELD_TITLE, "k");
    else
        vg_field__title(out, policy->field, &layout, 0);
}

void decide_policy_text(char out[DECIDE_TEXT], const decide_policy *policy) {
    char name[VG_FIELD_TITLE], value[VG_NAME_SIZE];
    decide_policy_name(name, policy);
    vg_k_name(value, policy->by_rule ? policy->k : policy->threshold);
    snprintf(out, DECIDE_TEXT, "%s %s %s", name, policy->by_rule ? "=" : policy->certainty ? ">" : "<", value);
}

static int unknown_measure(const char *word) {
    const char *names[VG_FIELD_MEASURES + 1] = {"k"};
    for (int f = 0; f < VG_FIELD_MEASURES; f++)
        names[f + 1] = vg_field__name(f);
    const char *near = options_nearest(word, names, VG_FIELD_MEASURES + 1);
    if (near)
        return console_usage("--by: unknown measure '%s'; did you mean '%s'?", word, near);
    return console_usage("--by: unknown measure '%s'; expected k, tu, au, eu, ..., gmu, snr, or gtu@2", word);
}

static int parse_one(decide_policy *policy, const char *by) {
    char word[32];
    size_t length = strcspn(by, "@");
    const char *gate = by[length] ? by + length + 1 : NULL;
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), by);
    policy->by_rule = strcmp(word, "k") == 0 && !gate;
    policy->k = 1;
    if (policy->by_rule)
        return CLI_OK;
    int field = 0;
    while (field < VG_FIELD_MEASURES && strcmp(word, vg_field__name(field)) != 0)
        field++;
    if (field == VG_FIELD_MEASURES)
        return unknown_measure(word);
    policy->field = field;
    policy->certainty = field == VG_FIELD_SNR;
    if (vg_field__gated(field) && (!gate || !options_number(gate, &policy->k)))
        return console_usage("--by %s: a gated measure needs its gate setting: %s@1", by, word);
    if (!vg_field__gated(field) && gate)
        return console_usage("--by %s: %s has no gate setting", by, word);
    if (!isfinite(policy->k) || policy->k <= 0)
        return console_fail("--by %s: the gate setting must be > 0", by);
    return CLI_OK;
}

int decide_candidates_parse(decide_candidates *out, const char *by) {
    const char *at = by;
    *out = (decide_candidates){0};
    do {
        char name[64];
        size_t length = strcspn(at, ",");
        if (out->count == DECIDE_CANDIDATES)
            return console_usage("--by: more than %d names", DECIDE_CANDIDATES);
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), at);
        int code = parse_one(&out->items[out->count], name);
        if (code != CLI_OK)
            return code;
        for (size_t i = 0; i < out->count; i++) {
            char before[VG_FIELD_TITLE], now[VG_FIELD_TITLE];
            decide_policy_name(before, &out->items[i]);
            decide_policy_name(now, &out->items[out->count]);
            if (strcmp(before, now) == 0)
                return console_usage("--by: %s is named twice", now);
        }
        out->count++;
        at += length;
    } while (*at++ == ',');
    return CLI_OK;
}

/* --- applying ----------------------------------------------------------------------------------------------------- */
vg_field_set decide_fields(const decide_policy *policy) {
    vg_field_set set = VG_FIELD_BIT(VG_FIELD_GMU) | VG_FIELD_BIT(VG_FIELD_SNR) | VG_FIELD_BIT(VG_FIELD_PRED) | VG_FIELD_BIT(VG_FIELD_DECISION);
    return policy->by_rule ? set : set | VG_FIELD_BIT(policy->field);
}

void decide_apply(const decide_policy *policy, const vg_scores *block, size_t entries) {
    if (policy->by_rule)
        return;
    const double *values = vg_score_block__place(block, policy->field);
    for (size_t i = 0; i < entries; i++) {
        bool keep = policy->certainty ? values[i] > policy->threshold : values[i] < policy->threshold;
        block->decision[i] = keep ? block->pred[i] : -1;
    }
}
