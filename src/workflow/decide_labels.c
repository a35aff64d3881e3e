/* decide_labels.c - a k of the decision rule for every label of multilabel predictions, each chosen on validation data
 * by a target risk of its own: the promise of `--target-risk`, made for each label alone.
 *
 * The rows of label c are those of every sample, so that the sample is the unit and Clopper-Pearson's bound holds. The
 * ks become the policy's k for every class, and the rule is applied at 1. A label whose risk cannot be promised is an
 * error that names it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "workflow/decide.h"

typedef struct label_work {
    vg_policy_data *policy;
    vg_decide_scored validation, others;
    bool placed; /* the predictions to be decided place the thresholds */
    uint8_t *errors;
} label_work;

static vg_status check_layout(const label_work *w) {
    const vg_policy_data *policy = w->policy;
    const vg_score_input *in = &w->validation.in;
    size_t given = policy->label_risk_count;
    if (!in->layout.multilabel)
        return vg_base__fail(VG_ERR_ARGUMENT, "--label-risk chooses a k for every label: it goes with --multilabel");
    if (policy->class_k)
        return vg_base__fail(VG_ERR_ARGUMENT, "--label-risk chooses the k of every label: --class-k, or a file of -k, "
                                              "does not go with it");
    if (given != 1 && given != in->layout.c)
        return vg_base__fail(VG_ERR_ARGUMENT, "--label-risk: %zu risks, %s has %zu labels: give one, or one for each",
                             given, in->path, in->layout.c);
    return VG_OK;
}

static vg_status missed(const label_work *w, size_t c, const vg_selection *best) {
    char reason[400], name[80] = "";
    const vg_policy_data *policy = w->policy;
    vg_selection_reason(reason, sizeof reason, best);
    if (policy->class_names)
        snprintf(name, sizeof name, " (%.60s)", policy->class_names[c]);
    return vg_base__fail(VG_ERR_DATA,
                         "%s: label %zu%s: no k meets a risk of %g with %g %% confidence; the best reachable bound is "
                         "%.4g (%zu error%s in %zu kept); %s",
                         policy->calibration, c, name, best->target_risk, 100 * best->confidence, best->risk_bound,
                         best->errors, best->errors == 1 ? "" : "s", best->kept, reason);
}

static vg_status choose_label(label_work *w, size_t c) {
    vg_policy_data *policy = w->policy;
    size_t labels = policy->classes, samples = w->validation.in.layout.n, chosen;
    vg_tally_info rows = vg_tally__info(w->validation.tally);
    vg_candidate one = {.measure = {"k", rows.ratio + c, labels, 1}, .rule = 1, .errors = w->errors};
    vg_select_options options = VG_SELECT_OPTIONS_INIT;
    vg_selection *found = &policy->labels[c];
    for (size_t i = 0; i < samples; i++)
        w->errors[i] = rows.errors[i * labels + c];
    if (w->placed) {
        one.unlabelled = vg_tally__info(w->others.tally).ratio + c;
        one.unlabelled_rows = w->others.in.layout.n;
        one.unlabelled_stride = labels;
    }
    options.target_risk = policy->label_risks[policy->label_risk_count == 1 ? 0 : c];
    options.confidence = policy->shown.confidence;
    *found = (vg_selection)VG_SELECTION_INIT;
    if (vg_select_among(found, &chosen, &one, 1, samples, &options) != VG_OK)
        return vg_base__fail(VG_ERR_DATA, "%s: label %zu: %s", policy->calibration, c, vg_error_message());
    policy->class_k[c] = found->threshold;
    return found->met ? VG_OK : missed(w, c, found);
}

static vg_status choose(label_work *w) {
    vg_policy_data *policy = w->policy;
    VG_TRY(check_layout(w));
    VG_TRY(vg_base__alloc(&w->errors, w->validation.in.layout.n, 1, "errors of a label"));
    VG_TRY(vg_base__zalloc(&policy->labels, policy->classes, sizeof *policy->labels, "labels"));
    VG_TRY(vg_base__zalloc(&policy->class_k, policy->classes, sizeof *policy->class_k, "a k for every label"));
    for (size_t c = 0; c < policy->classes; c++)
        VG_TRY(choose_label(w, c));
    policy->selection = policy->labels[0];
    policy->shown.labels = policy->labels;
    policy->shown.label_count = policy->classes;
    policy->shown.labelled = 1;
    return VG_OK;
}

vg_status vg_decide__choose_labels(vg_policy_data *policy, const vg_decide_request *request, const char *decided) {
    label_work w = {.policy = policy, .placed = decided != NULL};
    vg_decide_input input;
    const double k = 1;
    VG_TRY(vg_decide__input(&input, request, &k, 1));
    vg_status status = vg_decide__open_validation(&w.validation, policy, &input, false);
    if (status == VG_OK && decided)
        status = vg_decide_scored__open(&w.others, policy, &input, decided, vg_score_no_labels, false);
    if (status == VG_OK && decided)
        status = vg_policy__check_shape(&policy->shown, &w.others.in);
    if (status == VG_OK)
        status = choose(&w);
    vg_base__release(w.errors);
    vg_decide_scored__close(&w.others);
    vg_decide_scored__close(&w.validation);
    return status;
}

/* --- words -------------------------------------------------------------------------------------------------------- */
void vg_decide__label_words(vg_policy_data *policy) {
    vg_policy *p = &policy->shown;
    size_t used = (size_t)snprintf(policy->again, sizeof policy->again, "-k 1 --class-k ");
    for (size_t c = 0; c < policy->classes && used < sizeof policy->again; c++) {
        char one[VG_NAME_SIZE];
        vg_k_name(one, policy->class_k[c]);
        used += (size_t)snprintf(policy->again + used, sizeof policy->again - used, "%s%s", c ? "," : "", one);
    }
    if (used >= sizeof policy->again)
        snprintf(policy->again, sizeof policy->again, "-k 1 --class-k FILE");
    used = (size_t)snprintf(policy->sentence, sizeof policy->sentence,
                            "Keep the labels that the decision rule keeps at the k of each label: for each of %zu "
                            "labels, with %g %% confidence, at most ",
                            policy->classes, 100 * p->confidence);
    if (policy->label_risk_count == 1)
        snprintf(policy->sentence + used, sizeof policy->sentence - used, "%g %% of what is kept is wrong.",
                 100 * policy->label_risks[0]);
    else
        snprintf(policy->sentence + used, sizeof policy->sentence - used, "its target risk of what is kept is wrong.");
    p->sentence = policy->sentence;
    p->again = policy->again;
}

void vg_decide__write_labels(FILE *out, const vg_policy *shown) {
    const vg_policy_data *policy = vg_policy__read(shown);
    int width = 5;
    for (size_t c = 0; policy->class_names && c < policy->classes; c++) {
        int length = (int)strlen(policy->class_names[c]);
        width = length > 30 ? 30 : length > width ? length : width;
    }
    fprintf(out, "  %-*s  %10s  target %%  bound %%  found %%  kept %% of %zu validation samples\n", width, "label",
            "k", policy->labels[0].rows);
    for (size_t c = 0; c < policy->classes; c++) {
        const vg_selection *s = &policy->labels[c];
        char name[128], number[24];
        snprintf(number, sizeof number, "%zu", c);
        vg_printable(name, sizeof name, policy->class_names ? policy->class_names[c] : number);
        fprintf(out, "  %-*.*s  %10.5g  %8.2f  %7.2f  %7.2f  %6.2f\n", width, width, name, s->threshold,
                100 * s->target_risk, 100 * s->risk_bound, 100 * s->risk, 100 * s->coverage);
    }
}
