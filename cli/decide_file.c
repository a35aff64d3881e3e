/* decide_file.c - decisions for a whole prediction file: .npz, .csv or .jsonl with id, pred, decision, gmu, snr; a
 * summary.
 *
 * id is the sample's index. In multilabel mode the other columns have one value a label (pred_0, ... in CSV). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "console.h"
#include "decide.h"
#include "decision_rows.h"
#include "json_output.h"
#include "score_file.h"
#include "score_pass.h"
#include "score_summary.h"

typedef struct decide_job {
    const decide_policy *policy;
    score_input in;
    column_store store;
    score_tally tally;
    bool keep;
} decide_job;

static int take_block(void *context, size_t first, size_t rows, const vg_scores *block) {
    decide_job *job = context;
    const score_layout *layout = &job->in.layout;
    size_t columns = layout->multilabel ? layout->c : 1;
    decide_apply(job->policy, block, rows * columns);
    score_tally_add(&job->tally, layout, block, rows, job->in.labels ? job->in.labels + first * columns : NULL);
    return job->keep ? column_store_put(&job->store, first, rows, block) : CLI_OK;
}

/* --- summary ------------------------------------------------------------------------------------------------------ */
static double share(unsigned long long part, unsigned long long whole) {
    return whole ? (double)part / (double)whole : NAN;
}

static const char *const bound_names[] = {"clopper-pearson", "hoeffding-bentkus", "betting"};
static const char *const source_names[] = {"none", "given", "unlabelled", "set-aside"};
static const char *const multiplicity_names[] = {"auto", "sequence", "bonferroni", "none"};

/* How the promise came about: the unit, the bound, what was tried and what it cost. */
static void print_promise(const decide_policy *policy, bool several) {
    static const char *const bounds[] = {"Clopper-Pearson", "Hoeffding-Bentkus", "betting"};
    const vg_selection *s = &policy->selection;
    printf(",\nrisk at most %.4g with %g %% confidence (%s bound; unit: the sample%s).\n", s->risk_bound,
           100 * policy->confidence, bounds[s->bound],
           several ? ", its risk the share of errors among its kept labels" : "");
    if (s->source == VG_GRID_SET_ASIDE)
        printf("Tried: %zu quantiles of %zu validation samples set aside", s->grid_count, s->set_aside);
    else
        printf("Tried: %zu quantiles of the predictions to be decided", s->grid_count);
    if (s->candidates > 1)
        printf(" for each of %zu candidates", s->candidates);
    printf("; %zu tested from %zu start%s,\nthis one at level %.3g of %g.\n", s->tested, s->starts * s->candidates,
           s->starts * s->candidates == 1 ? "" : "s", s->level, 1 - policy->confidence);
}

static void print_selection(const decide_policy *policy, bool several) {
    const vg_selection *s = &policy->selection;
    char name[SCORE_NAME], value[VG_NAME_SIZE];
    decide_policy_name(name, policy);
    vg_k_name(value, policy->by_rule ? policy->k : policy->threshold);
    printf("Chosen on validation data: coverage %.2f %% of %zu", 100 * s->coverage, s->rows);
    if (policy->labelled)
        printf(", risk %.4g (%zu errors in %zu kept)", s->risk, s->errors, s->kept);
    if (policy->target_risk > 0)
        print_promise(policy, several);
    else
        printf(".\n");
    if (policy->by_rule)
        printf("The same again: -k %s\n", value);
    else
        printf("The same again: --by %s --threshold %s\n", name, value);
}

static int print_text(const decide_job *job) {
    const score_tally *t = &job->tally;
    char text[DECIDE_TEXT];
    decide_policy_text(text, job->policy);
    printf("%s: %zu samples, %s\n", job->in.path, job->in.layout.n, text);
    if (job->policy->selection.rows)
        print_selection(job->policy, job->in.layout.multilabel);
    printf("kept      %llu of %llu (%.2f %%)\nabstained %llu (%.2f %%)\n", t->kept[0], t->entries,
           100 * share(t->kept[0], t->entries), t->entries - t->kept[0], 100 * (1 - share(t->kept[0], t->entries)));
    if (job->in.labels)
        printf("accuracy  %.2f %% overall, %.2f %% on the kept; %llu of %llu errors abstained\n",
               100 * share(t->correct, t->entries), 100 * share(t->kept_correct[0], t->kept[0]),
               t->entries - t->correct - (t->kept[0] - t->kept_correct[0]), t->entries - t->correct);
    return CLI_OK;
}

static json_t *selection_json(const decide_policy *policy) {
    const vg_selection *s = &policy->selection;
    json_t *out = json_object();
    if (policy->target_risk > 0)
        json_put_number(out, "target_risk", policy->target_risk);
    else
        json_put_number(out, "target_coverage", policy->target_coverage);
    json_put_number(out, "confidence", policy->confidence);
    json_put_count(out, "n", s->rows);
    json_put_count(out, "kept", s->kept);
    json_put_number(out, "coverage", s->coverage);
    if (policy->labelled) {
        json_put_count(out, "errors", s->errors);
        json_put_number(out, "risk", s->risk);
        json_put_number(out, "risk_bound", s->risk_bound);
    }
    json_put_number(out, "level", s->level);
    json_put_count(out, "grid", s->grid_count);
    if (policy->target_risk > 0) {
        json_put_text(out, "unit", "sample");
        json_put_count(out, "samples", s->samples);
        json_put_count(out, "answered", s->answered);
        json_put_text(out, "bound", bound_names[s->bound]);
        json_put_text(out, "thresholds", source_names[s->source]);
        json_put_count(out, "set_aside", s->set_aside);
        json_put_count(out, "candidates", s->candidates);
        json_put_count(out, "tested", s->tested);
        json_put_count(out, "starts", s->starts);
        json_put_text(out, "multiplicity", multiplicity_names[s->multiplicity]);
    }
    return out;
}

static int print_json(const decide_job *job) {
    const score_tally *t = &job->tally;
    json_t *out = json_document("decide");
    char by[SCORE_NAME];
    decide_policy_name(by, job->policy);
    json_put_text(out, "file", job->in.path);
    json_put_count(out, "n", job->in.layout.n);
    json_put_text(out, "by", by);
    if (job->policy->by_rule)
        json_put_number(out, "k", job->policy->k);
    else
        json_put_number(out, "threshold", job->policy->threshold);
    json_put_count(out, "kept", t->kept[0]);
    json_put_count(out, "abstained", t->entries - t->kept[0]);
    json_put_number(out, "coverage", share(t->kept[0], t->entries));
    if (job->in.labels) {
        json_put_number(out, "accuracy", share(t->correct, t->entries));
        json_put_number(out, "kept_accuracy", share(t->kept_correct[0], t->kept[0]));
        json_put_count(out, "abstained_errors", t->entries - t->correct - (t->kept[0] - t->kept_correct[0]));
    }
    if (job->policy->selection.rows)
        json_put(out, "calibration", selection_json(job->policy));
    return json_print(out);
}

/* --- work --------------------------------------------------------------------------------------------------------- */
static int decide_open(decide_job *job, score_file *file, const char *output) {
    score_set kept = SCORE_BIT(FIELD_GMU) | SCORE_BIT(FIELD_SNR) | SCORE_BIT(FIELD_PRED) | SCORE_BIT(FIELD_DECISION);
    if (!output)
        return CLI_OK;
    job->keep = true;
    int code = score_file_open(file, output, VG_PRODUCT_DECISIONS);
    if (code != CLI_OK)
        return code;
    code = column_store_open(&job->store, kept, &job->in.layout, output);
    return code == CLI_OK ? CLI_OK : score_file_close(file, code);
}

int decide_file(const decide_policy *policy, const score_options *options, const char *path, const char *labels,
                const char *output, bool json) {
    decide_job *job = calloc(1, sizeof *job);
    score_file file = {0};
    if (!job)
        return console_fail_memory("the command");
    job->policy = policy;
    job->store.file = -1;
    int code = score_input_open_labels(&job->in, options, path, labels);
    if (code == CLI_OK)
        code = decide_open(job, &file, output);
    if (code == CLI_OK) {
        score_sink sink = {.context = job, .take = take_block};
        code = score_pass(&job->in, decide_fields(policy), &sink, NULL);
        if (code == CLI_OK && output)
            code = decision_rows_write(&file, &job->store, policy);
        if (output)
            code = score_file_close(&file, code);
    }
    if (code == CLI_OK)
        code = json ? print_json(job) : print_text(job);
    column_store_close(&job->store);
    score_input_close(&job->in);
    free(job);
    return code;
}
