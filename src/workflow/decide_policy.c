/* decide_policy.c - the policy of a decision: reading the options, its name, its application to scores. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/names.h"
#include "workflow/decide.h"
#include "workflow/workflow_options.h"

void vg_decide__name(char out[VG_POLICY_NAME], const vg_decide_candidate *candidate) {
    _Static_assert((int)VG_POLICY_NAME == (int)VG_FIELD_TITLE, "a policy is named by its measure");
    vg_score_layout layout = {.k_count = 1, .k = &candidate->k};
    if (candidate->by_rule)
        snprintf(out, VG_POLICY_NAME, "k");
    else
        vg_field__title(out, candidate->field, &layout, 0);
}

void vg_decide__text(char out[VG_POLICY_TEXT], const vg_decide_candidate *candidate) {
    char name[VG_POLICY_NAME], value[VG_NAME_SIZE];
    vg_decide__name(name, candidate);
    vg_k_name(value, candidate->by_rule ? candidate->k : candidate->threshold);
    snprintf(out, VG_POLICY_TEXT, "%s %s %s", name, candidate->by_rule ? "=" : candidate->certainty ? ">" : "<", value);
}

/* --- reading `by` ------------------------------------------------------------------------------------------------- */
/* Reads the whole text as one number. */
static bool read_number(const char *text, double *out) {
    char *end;
    if (*text == '\0' || *text == ' ' || *text == '\t')
        return false;
    *out = strtod(text, &end);
    return *end == '\0';
}

static vg_status unknown_measure(const char *word) {
    const char *names[VG_FIELD_MEASURES + 1] = {"k"};
    for (int f = 0; f < VG_FIELD_MEASURES; f++)
        names[f + 1] = vg_field__name((vg_field)f);
    const char *near = vg_names__meant(word, names, VG_FIELD_MEASURES + 1);
    if (near)
        return vg_base__fail(VG_ERR_ARGUMENT, "--by: unknown measure '%s'; did you mean '%s'?", word, near);
    return vg_base__fail(VG_ERR_ARGUMENT, "--by: unknown measure '%s'; expected k, tu, au, eu, ..., gmu, snr, or gtu@2",
                         word);
}

vg_status vg_decide__parse(vg_decide_candidate *out, const char *by) {
    char word[32];
    size_t length = strcspn(by, "@");
    const char *gate = by[length] ? by + length + 1 : NULL;
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), by);
    out->by_rule = strcmp(word, "k") == 0 && !gate;
    out->k = 1;
    if (out->by_rule)
        return VG_OK;
    int field = 0;
    while (field < VG_FIELD_MEASURES && strcmp(word, vg_field__name((vg_field)field)) != 0)
        field++;
    if (field == VG_FIELD_MEASURES)
        return unknown_measure(word);
    out->field = (vg_field)field;
    out->certainty = field == VG_FIELD_SNR;
    if (vg_field__gated(out->field) && (!gate || !read_number(gate, &out->k)))
        return vg_base__fail(VG_ERR_ARGUMENT, "--by %s: a gated measure needs its gate setting: %s@1", by, word);
    if (!vg_field__gated(out->field) && gate)
        return vg_base__fail(VG_ERR_ARGUMENT, "--by %s: %s has no gate setting", by, word);
    if (!isfinite(out->k) || out->k <= 0)
        return vg_base__fail(VG_ERR_DATA, "--by %s: the gate setting must be > 0", by);
    return VG_OK;
}

static vg_status check_new(const vg_policy_data *policy, const vg_decide_candidate *added) {
    for (size_t i = 0; i < policy->count; i++) {
        char before[VG_POLICY_NAME], now[VG_POLICY_NAME];
        vg_decide__name(before, &policy->items[i]);
        vg_decide__name(now, added);
        if (strcmp(before, now) == 0)
            return vg_base__fail(VG_ERR_ARGUMENT, "--by: %s is named twice", now);
    }
    return VG_OK;
}

static vg_status parse_by(vg_policy_data *policy, const char *by) {
    const char *at = by;
    do {
        char name[64];
        size_t length = strcspn(at, ",");
        if (policy->count == VG_DECIDE_NAMED)
            return vg_base__fail(VG_ERR_ARGUMENT, "--by: more than %d names", VG_DECIDE_NAMED);
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), at);
        vg_decide_candidate *added = &policy->items[policy->count];
        VG_TRY(vg_decide__parse(added, name));
        VG_TRY(check_new(policy, added));
        policy->count++;
        at += length;
    } while (*at++ == ',');
    return VG_OK;
}

/* --- the policy --------------------------------------------------------------------------------------------------- */
static vg_status check_targets(const vg_policy_data *policy, const vg_policy_options *o, const char *by) {
    bool risk = !isnan(o->target_risk), coverage = !isnan(o->target_coverage), target = risk || coverage;
    if (policy->count > 1 && !risk)
        return vg_base__fail(VG_ERR_ARGUMENT, "--by %s: several candidates need --target-risk to choose among them",
                             by);
    if (risk && coverage)
        return vg_base__fail(VG_ERR_ARGUMENT, "--target-risk and --target-coverage exclude each other");
    if (target && (!isnan(o->k) || !isnan(o->threshold)))
        return vg_base__fail(VG_ERR_ARGUMENT, "a target chooses %s; give one or the other",
                             isnan(o->k) ? "the threshold" : "k");
    if (target && !o->calibration)
        return vg_base__fail(VG_ERR_ARGUMENT, "--target-%s needs --calibration VAL to choose on",
                             risk ? "risk" : "coverage");
    if (!target && o->calibration)
        return vg_base__fail(VG_ERR_ARGUMENT, "--calibration needs --target-risk or --target-coverage");
    return VG_OK;
}

static vg_status check_values(const vg_policy_data *policy, const vg_policy_options *o, const char *by) {
    bool by_rule = policy->items[0].by_rule, target = !isnan(o->target_risk) || !isnan(o->target_coverage);
    if (by_rule && !isnan(o->threshold))
        return vg_base__fail(VG_ERR_ARGUMENT, "--threshold needs --by MEASURE; the decision rule takes -k");
    if (!by_rule && !isnan(o->k))
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "-k belongs to the decision rule; with --by %s give --threshold or a target", by);
    if (!by_rule && !target && isnan(o->threshold))
        return vg_base__fail(VG_ERR_ARGUMENT, "--by %s needs --threshold, --target-risk or --target-coverage", by);
    return VG_OK;
}

/* Checks that targets and confidence are in their ranges. */
static vg_status check_ranges(const vg_policy_options *o) {
    if (!isnan(o->target_risk) && !(o->target_risk > 0 && o->target_risk < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "target_risk: %g is not between 0 and 1", o->target_risk);
    if (!isnan(o->target_coverage) && !(o->target_coverage > 0 && o->target_coverage <= 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "target_coverage: %g is not in 0..1", o->target_coverage);
    if (!(o->confidence > 0 && o->confidence < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "confidence: %g is not between 0 and 1", o->confidence);
    return VG_OK;
}

/* A k for every label: takes the risks, and the rule, which is applied at 1. */
static vg_status fill_labels(vg_policy_data *policy, const vg_policy_options *o) {
    double most = 0;
    if ((o->by && strcmp(o->by, "k") != 0) || !isnan(o->k) || !isnan(o->threshold) || !isnan(o->target_risk) ||
        !isnan(o->target_coverage))
        return vg_base__fail(VG_ERR_ARGUMENT, "--label-risk chooses a k for every label: -k, --threshold, targets and "
                                              "a --by other than k do not go with it");
    if (!o->calibration)
        return vg_base__fail(VG_ERR_ARGUMENT, "--label-risk needs --calibration VAL to choose on");
    for (size_t i = 0; i < o->label_risk_count; i++) {
        if (!(o->label_risks[i] > 0 && o->label_risks[i] < 1))
            return vg_base__fail(VG_ERR_ARGUMENT, "--label-risk: %g is not between 0 and 1", o->label_risks[i]);
        most = fmax(most, o->label_risks[i]);
    }
    VG_TRY(check_ranges(o));
    VG_TRY(vg_base__alloc(&policy->label_risks, o->label_risk_count, sizeof *policy->label_risks, "target risks"));
    memcpy(policy->label_risks, o->label_risks, o->label_risk_count * sizeof *policy->label_risks);
    policy->label_risk_count = o->label_risk_count;
    policy->items[0] = (vg_decide_candidate){.by_rule = true, .k = 1, .threshold = NAN};
    policy->count = 1;
    policy->shown.target_risk = most;
    policy->shown.confidence = o->confidence;
    vg_policy__show(policy);
    return vg_base__strdup(&policy->calibration, o->calibration);
}

/* A policy's file decides everything. */
static vg_status fill_from_file(vg_policy_data *policy, const vg_policy_options *o) {
    if (o->by || !isnan(o->k) || !isnan(o->threshold) || !isnan(o->target_risk) || !isnan(o->target_coverage) ||
        o->calibration || o->label_risk_count)
        return vg_base__fail(VG_ERR_ARGUMENT, "--policy says what decides: -k, --by, --threshold, targets and "
                                              "--calibration do not go with it");
    VG_TRY(vg_policy__load(policy, o->file));
    policy->shown.chosen = 1;
    vg_policy__show(policy);
    return VG_OK;
}

static vg_status fill(vg_policy_data *policy, const vg_policy_options *o) {
    policy->search = !isnan(o->target_risk) && (!o->by || strcmp(o->by, "auto") == 0);
    const char *by = policy->search || !o->by ? "k" : o->by;
    if (o->file)
        return fill_from_file(policy, o);
    if (o->label_risk_count)
        return fill_labels(policy, o);
    if (!policy->search && strcmp(by, "auto") == 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "--by auto needs --target-risk to choose by");
    VG_TRY(parse_by(policy, by));
    VG_TRY(check_targets(policy, o, by));
    VG_TRY(check_values(policy, o, by));
    VG_TRY(check_ranges(o));
    for (size_t i = 0; i < policy->count; i++) {
        if (!isnan(o->k))
            policy->items[i].k = o->k;
        policy->items[i].threshold = o->threshold;
    }
    policy->shown.target_risk = isnan(o->target_risk) ? 0 : o->target_risk;
    policy->shown.target_coverage = isnan(o->target_coverage) ? 0 : o->target_coverage;
    policy->shown.confidence = o->confidence;
    policy->shown.chosen = !o->calibration;
    vg_policy__show(policy);
    return o->calibration ? vg_base__strdup(&policy->calibration, o->calibration) : VG_OK;
}

void vg_policy__show(vg_policy_data *policy) {
    const vg_decide_candidate *candidate = &policy->items[policy->chosen];
    policy->shown.by_rule = candidate->by_rule;
    policy->shown.certainty = candidate->certainty;
    policy->shown.k = candidate->k;
    policy->shown.threshold = candidate->threshold;
    bool numbers = candidate->calibrated && *policy->temperature != '{'; /* else a map, which is not a text to show */
    policy->shown.temperature = numbers ? policy->temperature : NULL;
    vg_decide__name(policy->shown.name, candidate);
    vg_decide__text(policy->shown.text, candidate);
    vg_policy__words(policy);
}

vg_status vg_policy_new(vg_policy **out, const vg_policy_options *options) {
    VG_TRY(vg_base__given(out != NULL, "vg_policy_new: out"));
    VG_IN_C_LOCALE;
    vg_policy_options own = VG_POLICY_OPTIONS_INIT;
    vg_policy_data *policy;
    *out = NULL;
    VG_TRY(vg_workflow__options(&own, sizeof own, options, "vg_policy_options"));
    VG_TRY(vg_base__zalloc(&policy, 1, sizeof *policy, "the policy"));
    policy->shown.struct_size = sizeof policy->shown;
    vg_status status = fill(policy, &own);
    if (status == VG_OK)
        *out = &policy->shown;
    else
        vg_policy_free(&policy->shown);
    return status;
}

void vg_policy_free(vg_policy *policy) {
    if (!policy)
        return;
    vg_policy_data *data = vg_policy__data(policy);
    vg_policy__forget(data);
    vg_base__release(data->calibration);
    vg_base__release(data->origin);
    vg_base__release(data->line);
    vg_base__release(data->temperature);
    vg_base__release(data->given);
    vg_base__release(data->label_risks);
    vg_base__release(data->labels);
    vg_site_images__free(&data->images);
    vg_base__release(policy);
}

/* --- applying ----------------------------------------------------------------------------------------------------- */
vg_field_set vg_decide__fields(const vg_policy *policy) {
    const vg_decide_candidate *applied = vg_policy__applied(policy);
    vg_field_set set = VG_FIELD_BIT(VG_FIELD_GMU) | VG_FIELD_BIT(VG_FIELD_SNR) | VG_FIELD_BIT(VG_FIELD_PRED) |
                       VG_FIELD_BIT(VG_FIELD_DECISION);
    return applied->by_rule ? set : set | VG_FIELD_BIT(applied->field);
}

void vg_decide__apply(const vg_policy *policy, const vg_scores *block, size_t entries) {
    const vg_decide_candidate *applied = vg_policy__applied(policy);
    if (applied->by_rule)
        return;
    const double *values = vg_score_block__place(block, applied->field);
    for (size_t i = 0; i < entries; i++) {
        if (block->decision[i] == VG_DECISION_LEFT_OUT)
            continue;
        bool keep = applied->certainty ? values[i] > applied->threshold : values[i] < applied->threshold;
        block->decision[i] = keep ? block->pred[i] : -1;
    }
}
