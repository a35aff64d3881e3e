/* decide_choose.c - the choice of a policy on validation data: scores the validation file, and for a target risk the
 * predictions to be decided, whose values place the thresholds; the selection of src/evaluate chooses. A search over
 * every measure is in decide_search.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate/select_internal.h"
#include "formats/arrays.h"
#include "workflow/decide.h"
#include "workflow/job.h"

vg_status vg_decide__select(vg_policy_data *policy, const vg_decide_scored validation[2],
                            const vg_decide_scored *others, const uint8_t *marks) {
    const vg_decide_scored *plain = validation[0].tally ? &validation[0] : &validation[1];
    vg_select_options options = VG_SELECT_OPTIONS_INIT;
    vg_candidate list[VG_DECIDE_CANDIDATES] = {{.rule = 0}};
    vg_selection found = VG_SELECTION_INIT;
    options.target_risk = policy->shown.target_risk;
    options.target_coverage = policy->shown.target_coverage;
    options.confidence = policy->shown.confidence;
    options.rows_per_sample = vg_score_input__unit_rows(&plain->in);
    policy->by_image = !plain->in.layout.multilabel && options.rows_per_sample > 1;
    if (policy->by_image)
        vg_job__note(plain->in.job, "%s: the promise is made for images: the %zu sites of one are not independent",
                     plain->in.path, options.rows_per_sample);
    vg_status status = vg_decide_scored__list(list, policy, validation, others);
    if (status == VG_OK)
        status = vg_evaluate__select_marked(&found, &policy->chosen, list, policy->count,
                                            vg_tally__info(plain->tally).rows, &options, marks);
    if (status != VG_OK)
        return vg_base__fail(status, "%s: %s", plain->in.path, vg_error_message());
    vg_decide_candidate *chosen = &policy->items[policy->chosen];
    if (plain->left_out && found.rows == plain->in.layout.n) { /* they are counted as abstained */
        size_t rows = found.rows;
        for (size_t i = 0; i < rows; i++)
            found.rows -= plain->left_out[i];
        found.coverage = found.rows ? (double)found.kept / (double)found.rows : NAN;
    }
    policy->selection = found;
    *(chosen->by_rule ? &chosen->k : &chosen->threshold) = found.threshold;
    policy->shown.labelled = plain->labelled;
    return VG_OK;
}

/* --- where nothing meets the target ------------------------------------------------------------------------------- */
/* How far the ensemble itself is the reason; "" where it is not. */
static void ensemble_reason(char *out, size_t room, const vg_decide_scored *validation) {
    vg_verdict verdict = VG_VERDICT_INIT;
    out[0] = '\0';
    size_t rows = vg_tally__info(validation->tally).rows;
    unsigned long long right = 0;
    for (size_t i = 0; i < rows; i++)
        right += !vg_tally__info(validation->tally).errors[i];
    if (vg_verdict_judge(&verdict, &validation->summary, right, validation->labelled ? rows : 0) != VG_OK)
        return;
    if (verdict.state == VG_VERDICT_IDENTICAL || verdict.state == VG_VERDICT_COLLAPSED)
        snprintf(out, room,
                 "the ensemble is %s (%.2g of the variance lies between members): k and the measures of "
                 "disagreement have nothing to work with; ",
                 verdict.name, verdict.share);
    else if (verdict.state == VG_VERDICT_UNDECIDED || verdict.state == VG_VERDICT_NO_SKILL)
        snprintf(out, room, "the ensemble is %s (accuracy %.3g, members disagree on %.3g of the pairs); ", verdict.name,
                 verdict.accuracy, verdict.disagreement);
}

static void what_was_tried(char *out, size_t room, const vg_policy_data *policy) {
    if (policy->search)
        snprintf(out, room, "none of %zu ways to decide (k of the rule, thresholds of every measure%s)",
                 policy->shown.searched, policy->temperature ? ", plain and calibrated logits" : "");
    else
        snprintf(out, room, "no %s",
                 policy->count > 1       ? "threshold of the measures in --by"
                 : policy->shown.by_rule ? "k"
                                         : "threshold");
}

vg_status vg_decide__missed(const vg_policy_data *policy, const vg_decide_scored *validation) {
    const vg_selection *best = &policy->selection;
    const vg_policy *p = &policy->shown;
    char reason[400], ensemble[240], what[160];
    const char *path = policy->calibration;
    vg_selection_reason(reason, sizeof reason, best);
    what_was_tried(what, sizeof what, policy);
    ensemble_reason(ensemble, sizeof ensemble, validation);
    if (p->target_risk > 0 && best->grid_count == 0)
        return vg_base__fail(VG_ERR_DATA, "%s: %s meets a risk of %g: %s%s", path, what, p->target_risk, ensemble,
                             reason);
    if (p->target_risk > 0)
        return vg_base__fail(VG_ERR_DATA,
                             "%s: %s meets a risk of %g with %g %% confidence; the best reachable is %s: risk at most "
                             "%.4g (found %zu error%s in %zu kept, coverage %.2f %%); %s%s",
                             path, what, p->target_risk, 100 * p->confidence, p->text, best->risk_bound, best->errors,
                             best->errors == 1 ? "" : "s", best->kept, 100 * best->coverage, ensemble, reason);
    return vg_base__fail(VG_ERR_DATA, "%s: %s keeps %g %% of the samples; the best reachable is %s: coverage %.2f %%",
                         path, what, 100 * p->target_coverage, p->text, 100 * best->coverage);
}

/* --- choosing ----------------------------------------------------------------------------------------------------- */
vg_status vg_decide__open_validation(vg_decide_scored *validation, vg_policy_data *policy, const vg_decide_input *input,
                                     bool calibrated) {
    VG_TRY(vg_decide_scored__open(validation, policy, input, policy->calibration, input->reading.labels, calibrated));
    if (policy->shown.target_risk > 0 && !validation->labelled) {
        validation->in.labels = NULL;
        return vg_score_input__need_labels(&validation->in);
    }
    return vg_policy__remember(policy, &validation->in);
}

/* `decided` NULL: the predictions to be decided are not known. */
static vg_status choose_on(vg_policy_data *policy, const vg_decide_request *request, const char *decided) {
    vg_decide_scored validation[2] = {{.labelled = false}}, others[2] = {{.labelled = false}};
    bool placed = policy->shown.target_risk > 0 && decided;
    double gates[VG_DECIDE_CANDIDATES];
    vg_decide_input input;
    VG_TRY(vg_decide__input(&input, request, gates, vg_decide_scored__gates(gates, policy)));
    vg_status status = vg_decide__open_validation(&validation[0], policy, &input, false);
    if (status == VG_OK && placed)
        status = vg_decide_scored__open(&others[0], policy, &input, decided, vg_score_no_labels, false);
    if (status == VG_OK && placed)
        status = vg_policy__check_shape(&policy->shown, &others[0].in);
    if (status == VG_OK)
        status = vg_decide__select(policy, validation, placed ? others : NULL, NULL);
    if (status == VG_OK) {
        vg_policy__show(policy);
        if (!policy->selection.met)
            status = vg_decide__missed(policy, &validation[0]);
    }
    vg_decide_scored__close(&others[0]);
    vg_decide_scored__close(&validation[0]);
    return status;
}

vg_status vg_policy__choose(vg_policy *shown, const vg_decide_request *request, const char *decided) {
    vg_policy_data *policy = vg_policy__data(shown);
    if (shown->chosen)
        return VG_OK;
    VG_TRY(policy->label_risks ? vg_decide__choose_labels(policy, request, decided)
           : policy->search    ? vg_decide__search(policy, request, decided)
                               : choose_on(policy, request, decided));
    shown->selection = policy->label_risks ? NULL : &policy->selection;
    shown->chosen = 1;
    vg_policy__show(policy);
    bool same = decided && vg_target__same_file(decided, policy->calibration);
    bool copied = decided && shown->target_risk > 0 && policy->selection.source == VG_GRID_SET_ASIDE;
    if (same || copied)
        vg_job__warn(&request->own.job,
                     "%s %s the --calibration file: what was chosen on it says little about it; give another", decided,
                     same ? "is also" : "holds the same predictions as");
    return VG_OK;
}
