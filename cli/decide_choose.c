/* decide_choose.c - the choice of 'vargate decide' on validation data: scores the validation file, and for a target
 * risk the predictions to be decided, whose values place the thresholds; the library chooses. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "console.h"
#include "decide.h"
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
    vg_columns_free(f->columns);
    vg_tally_free(f->tally);
    free(f->zeros);
    vg_score_input__close(&f->in);
}

/* labels: as of score_input_open_labels. The tally makes the margin ratios, and it needs labels. */
static int scored_open(scored_file *f, const decide_candidates *set, const score_options *options, const char *path,
                       const char *labels) {
    *f = (scored_file){0};
    int code = score_input_open_labels(&f->in, options, path, labels);
    if (code != CLI_OK)
        return code;
    f->labelled = f->in.labels != NULL;
    if (!f->labelled) {
        f->zeros = calloc(f->in.layout.n ? f->in.layout.n : 1,
                          (f->in.layout.multilabel ? f->in.layout.c : 1) * sizeof *f->zeros);
        f->in.labels = f->zeros;
    }
    if (!f->in.labels)
        code = console_fail_memory("labels");
    vg_tally_options how = VG_TALLY_OPTIONS_INIT;
    how.task = f->in.options.task;
    how.confusion = 0;
    how.expected = f->in.layout.n;
    if (code == CLI_OK && vg_tally_new(&f->tally, f->in.layout.c, &how) != VG_OK)
        code = console_fail_library();
    vg_field_set wanted = 0;
    for (size_t i = 0; i < set->count; i++)
        wanted |= set->items[i].by_rule ? 0 : VG_FIELD_BIT(set->items[i].field);
    if (code == CLI_OK)
        code = console_status(vg_measure_columns__score(&f->columns, f->tally, &f->in, wanted, false));
    return code;
}

static vg_status values_of(vg_measure *out, const scored_file *f, const decide_policy *policy) {
    char name[VG_FIELD_TITLE];
    decide_policy_name(name, policy);
    if (!policy->by_rule)
        return vg_columns_find(f->columns, name, out);
    *out = (vg_measure){"k", vg_tally_ratio(f->tally), 1, 1};
    return VG_OK;
}

/* others NULL: thresholds are placed by a part of the validation data. */
static int select_on(decide_candidates *set, size_t *chosen, const scored_file *validation, const scored_file *others) {
    const decide_policy *asked = &set->items[0];
    vg_select_options options = VG_SELECT_OPTIONS_INIT;
    vg_candidate list[DECIDE_CANDIDATES] = {{.rule = 0}};
    vg_selection found = VG_SELECTION_INIT;
    options.target_risk = asked->target_risk;
    options.target_coverage = asked->target_coverage;
    options.confidence = asked->confidence;
    options.rows_per_sample = validation->in.layout.multilabel ? validation->in.layout.c : 1;
    vg_status status = VG_OK;
    for (size_t i = 0; i < set->count && status == VG_OK; i++) {
        vg_measure other = {.values = NULL};
        list[i].rule = set->items[i].by_rule;
        list[i].errors = vg_tally_errors(validation->tally);
        status = values_of(&list[i].measure, validation, &set->items[i]);
        if (status == VG_OK && others)
            status = values_of(&other, others, &set->items[i]);
        list[i].unlabelled = other.values;
        list[i].unlabelled_rows = others ? vg_tally_rows(others->tally) : 0;
        list[i].unlabelled_stride = other.stride;
    }
    if (status == VG_OK)
        status = vg_select_among(&found, chosen, list, set->count, vg_tally_rows(validation->tally), &options);
    if (status != VG_OK)
        return console_fail("%s: %s", validation->in.path, vg_error_message());
    decide_policy *policy = &set->items[*chosen];
    policy->selection = found;
    policy->labelled = validation->labelled;
    *(policy->by_rule ? &policy->k : &policy->threshold) = found.threshold;
    return CLI_OK;
}

static int target_missed(const decide_policy *policy, size_t candidates, const char *path) {
    const vg_selection *best = &policy->selection;
    char text[DECIDE_TEXT], reason[400];
    const char *what = candidates > 1 ? "threshold of the measures in --by" : policy->by_rule ? "k" : "threshold";
    decide_policy_text(text, policy);
    vg_selection_reason(reason, sizeof reason, best);
    if (policy->target_risk > 0 && best->grid_count == 0)
        return console_fail("%s: no %s meets a risk of %g: %s", path, what, policy->target_risk, reason);
    if (policy->target_risk > 0)
        return console_fail(
            "%s: no %s meets a risk of %g with %g %% confidence; the best reachable is %s: risk at most %.4g "
            "(found %zu errors in %zu kept, coverage %.2f %%); %s",
            path, what, policy->target_risk, 100 * policy->confidence, text, best->risk_bound, best->errors, best->kept,
            100 * best->coverage, reason);
    return console_fail("%s: no %s keeps %g %% of the samples; the best reachable is %s: coverage %.2f %%", path, what,
                        100 * policy->target_coverage, text, 100 * best->coverage);
}

/* The gate settings of the candidates. */
static void set_gates(score_options *options, const decide_candidates *set) {
    options->k.count = 0;
    for (size_t i = 0; i < set->count; i++) {
        bool known = false;
        for (size_t j = 0; j < options->k.count; j++)
            known = known || options->k.values[j] == set->items[i].k;
        if (!known)
            options->k.values[options->k.count++] = set->items[i].k;
    }
}

int decide_choose(decide_policy *policy, decide_candidates *set, score_options *options, const decide_files *files) {
    scored_file validation, others = {0};
    size_t chosen = 0;
    bool by_risk = set->items[0].target_risk > 0;
    set_gates(options, set);
    int code = scored_open(&validation, set, options, files->validation, files->labels);
    if (code == CLI_OK && by_risk && !validation.labelled) {
        validation.in.labels = NULL;
        code = score_input_need_labels(&validation.in);
    }
    bool placed = by_risk && files->decided;
    if (code == CLI_OK && placed)
        code = scored_open(&others, set, options, files->decided, vg_score_no_labels);
    if (code == CLI_OK)
        code = select_on(set, &chosen, &validation, placed ? &others : NULL);
    *policy = set->items[chosen];
    if (code == CLI_OK && !policy->selection.met)
        code = target_missed(policy, set->count, files->validation);
    scored_close(&others);
    scored_close(&validation);
    return code;
}
