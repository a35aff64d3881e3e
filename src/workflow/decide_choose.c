/* decide_choose.c - the choice of a policy on validation data: scores the validation file, and for a target risk the
 * predictions to be decided, whose values place the thresholds; vg_select_among chooses. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/arrays.h"
#include "workflow/decide.h"
#include "workflow/job.h"
#include "workflow/measure_columns.h"

/* A file's measures of all candidates, its margin ratios and, of the validation data, its errors. */
typedef struct scored_file {
    vg_score_input in;
    vg_tally *tally;
    vg_columns *columns;
    int64_t *zeros; /* stand in for labels that are not there or not looked at */
    bool labelled;
} scored_file;

static void scored_close(scored_file *f) {
    vg_columns__free(f->columns);
    vg_tally_free(f->tally);
    vg_base__release(f->zeros);
    vg_score_input__close(&f->in);
}

/* labels: as of vg_score_input__open_labels. The tally makes the margin ratios, and it needs labels. */
static vg_status scored_open(scored_file *f, const vg_policy_data *policy, const vg_decide_input *input,
                             const char *path, const char *labels) {
    VG_TRY(vg_score_input__open_labels(&f->in, path, &input->reading, labels, input->job));
    const vg_score_layout *layout = &f->in.layout;
    f->labelled = f->in.labels != NULL;
    if (!f->labelled) {
        size_t width = (layout->multilabel ? layout->c : 1) * sizeof *f->zeros;
        VG_TRY(vg_base__zalloc(&f->zeros, layout->n ? layout->n : 1, width, "labels"));
        f->in.labels = f->zeros;
    }
    vg_tally_options how = VG_TALLY_OPTIONS_INIT;
    how.task = f->in.options.task;
    how.confusion = 0;
    how.expected = layout->n;
    VG_TRY(vg_tally_new(&f->tally, layout->c, &how));
    vg_field_set wanted = 0;
    for (size_t i = 0; i < policy->count; i++)
        wanted |= policy->items[i].by_rule ? 0 : VG_FIELD_BIT(policy->items[i].field);
    return vg_measure_columns__score(&f->columns, f->tally, &f->in, wanted, false);
}

static vg_status values_of(vg_measure *out, const scored_file *f, const vg_decide_candidate *candidate) {
    char name[VG_POLICY_NAME];
    vg_decide__name(name, candidate);
    if (!candidate->by_rule)
        return vg_columns__find(f->columns, name, out);
    *out = (vg_measure){"k", vg_tally_ratio(f->tally), 1, 1};
    return VG_OK;
}

static vg_status list_candidates(vg_candidate *list, const vg_policy_data *policy, const scored_file *validation,
                                 const scored_file *others) {
    for (size_t i = 0; i < policy->count; i++) {
        vg_measure other = {.values = NULL};
        list[i].rule = policy->items[i].by_rule;
        list[i].errors = vg_tally_errors(validation->tally);
        VG_TRY(values_of(&list[i].measure, validation, &policy->items[i]));
        if (others)
            VG_TRY(values_of(&other, others, &policy->items[i]));
        list[i].unlabelled = other.values;
        list[i].unlabelled_rows = others ? vg_tally_rows(others->tally) : 0;
        list[i].unlabelled_stride = other.stride;
    }
    return VG_OK;
}

/* others NULL: thresholds are placed by a part of the validation data. */
static vg_status select_on(vg_policy_data *policy, const scored_file *validation, const scored_file *others) {
    vg_select_options options = VG_SELECT_OPTIONS_INIT;
    vg_candidate list[VG_DECIDE_CANDIDATES] = {{.rule = 0}};
    vg_selection found = VG_SELECTION_INIT;
    options.target_risk = policy->shown.target_risk;
    options.target_coverage = policy->shown.target_coverage;
    options.confidence = policy->shown.confidence;
    options.rows_per_sample = validation->in.layout.multilabel ? validation->in.layout.c : 1;
    vg_status status = list_candidates(list, policy, validation, others);
    if (status == VG_OK)
        status =
            vg_select_among(&found, &policy->chosen, list, policy->count, vg_tally_rows(validation->tally), &options);
    if (status != VG_OK)
        return vg_base__fail(status, "%s: %s", validation->in.path, vg_error_message());
    vg_decide_candidate *chosen = &policy->items[policy->chosen];
    policy->selection = found;
    *(chosen->by_rule ? &chosen->k : &chosen->threshold) = found.threshold;
    policy->shown.labelled = validation->labelled;
    vg_policy__show(policy);
    return VG_OK;
}

static vg_status target_missed(const vg_policy_data *policy) {
    const vg_selection *best = &policy->selection;
    const vg_policy *p = &policy->shown;
    char reason[400];
    const char *path = policy->calibration;
    const char *what = policy->count > 1 ? "threshold of the measures in --by" : p->by_rule ? "k" : "threshold";
    vg_selection_reason(reason, sizeof reason, best);
    if (p->target_risk > 0 && best->grid_count == 0)
        return vg_base__fail(VG_ERR_DATA, "%s: no %s meets a risk of %g: %s", path, what, p->target_risk, reason);
    if (p->target_risk > 0)
        return vg_base__fail(
            VG_ERR_DATA,
            "%s: no %s meets a risk of %g with %g %% confidence; the best reachable is %s: risk at most "
            "%.4g (found %zu errors in %zu kept, coverage %.2f %%); %s",
            path, what, p->target_risk, 100 * p->confidence, p->text, best->risk_bound, best->errors, best->kept,
            100 * best->coverage, reason);
    return vg_base__fail(VG_ERR_DATA,
                         "%s: no %s keeps %g %% of the samples; the best reachable is %s: coverage %.2f %%", path, what,
                         100 * p->target_coverage, p->text, 100 * best->coverage);
}

/* The gate settings of the candidates, each once; returns how many. */
static size_t gates_of(double gates[VG_DECIDE_CANDIDATES], const vg_policy_data *policy) {
    size_t count = 0;
    for (size_t i = 0; i < policy->count; i++) {
        bool known = false;
        for (size_t j = 0; j < count; j++)
            known = known || gates[j] == policy->items[i].k;
        if (!known)
            gates[count++] = policy->items[i].k;
    }
    return count;
}

vg_status vg_policy__check_shape(const vg_policy *shown, const vg_score_input *in) {
    const vg_policy_data *policy = (const vg_policy_data *)(const void *)shown;
    if (policy->classes == 0 || (policy->members == in->layout.m && policy->classes == in->layout.c))
        return VG_OK;
    return vg_base__fail(VG_ERR_DATA,
                         "%s: %zu members and %zu classes, the validation file %s has %zu and %zu: what is chosen on "
                         "one ensemble promises nothing about another",
                         in->path, in->layout.m, in->layout.c, policy->calibration, policy->members, policy->classes);
}

/* `decided` NULL: the predictions to be decided are not known. */
static vg_status choose_on(vg_policy_data *policy, const vg_decide_input *input, const char *decided) {
    scored_file validation = {.labelled = false}, others = {.labelled = false};
    bool by_risk = policy->shown.target_risk > 0, placed = by_risk && decided;
    vg_status status = scored_open(&validation, policy, input, policy->calibration, input->reading.labels);
    if (status == VG_OK && by_risk && !validation.labelled) {
        validation.in.labels = NULL;
        status = vg_score_input__need_labels(&validation.in);
    }
    policy->members = validation.in.layout.m;
    policy->classes = validation.in.layout.c;
    if (status == VG_OK && placed)
        status = scored_open(&others, policy, input, decided, vg_score_no_labels);
    if (status == VG_OK && placed)
        status = vg_policy__check_shape(&policy->shown, &others.in);
    if (status == VG_OK)
        status = select_on(policy, &validation, placed ? &others : NULL);
    if (status == VG_OK && !policy->selection.met)
        status = target_missed(policy);
    scored_close(&others);
    scored_close(&validation);
    return status;
}

vg_status vg_policy__choose(vg_policy *shown, const vg_decide_request *request, const char *decided) {
    vg_policy_data *policy = vg_policy__data(shown);
    double gates[VG_DECIDE_CANDIDATES];
    if (shown->chosen)
        return VG_OK;
    vg_decide_input input;
    VG_TRY(vg_decide__input(&input, request, gates, gates_of(gates, policy)));
    VG_TRY(choose_on(policy, &input, decided));
    shown->selection = &policy->selection;
    shown->chosen = 1;
    if (decided && vg_target__same_file(decided, policy->calibration))
        vg_job__warn(&request->own.job,
                     "%s is also the --calibration file: what was chosen on it says little about it; give another",
                     decided);
    return VG_OK;
}
