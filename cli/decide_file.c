/* decide_file.c - decisions for a whole prediction file: .npz, .csv or .jsonl with id, pred, decision, gmu, snr; a
 * summary.
 *
 * id is the sample's index. In multilabel mode the other columns have one value a label (pred_0, ... in CSV). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "console.h"
#include "decide.h"
#include "json_print.h"
#include "workflow/decision_rows.h"
#include "workflow/json_build.h"
#include "workflow/score_pass.h"
#include "workflow/score_tally.h"
#include "workflow/score_writer.h"

typedef struct decide_job {
    const decide_policy *policy;
    vg_score_input in;
    vg_column_store store;
    vg_score_tally tally;
    bool keep;
} decide_job;

static vg_status take_block(void *context, size_t first, size_t rows, const vg_scores *block) {
    decide_job *job = context;
    const vg_score_layout *layout = &job->in.layout;
    size_t columns = layout->multilabel ? layout->c : 1;
    decide_apply(job->policy, block, rows * columns);
    vg_score_tally__add(&job->tally, layout, block, rows, job->in.labels ? job->in.labels + first * columns : NULL);
    return job->keep ? vg_column_store__put(&job->store, first, rows, block) : VG_OK;
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
    char name[VG_FIELD_TITLE], value[VG_NAME_SIZE];
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
    const vg_score_tally *t = &job->tally;
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
        vg_json__put_number(out, "target_risk", policy->target_risk);
    else
        vg_json__put_number(out, "target_coverage", policy->target_coverage);
    vg_json__put_number(out, "confidence", policy->confidence);
    vg_json__put_count(out, "n", s->rows);
    vg_json__put_count(out, "kept", s->kept);
    vg_json__put_number(out, "coverage", s->coverage);
    if (policy->labelled) {
        vg_json__put_count(out, "errors", s->errors);
        vg_json__put_number(out, "risk", s->risk);
        vg_json__put_number(out, "risk_bound", s->risk_bound);
    }
    vg_json__put_number(out, "level", s->level);
    vg_json__put_count(out, "grid", s->grid_count);
    if (policy->target_risk > 0) {
        vg_json__put_text(out, "unit", "sample");
        vg_json__put_count(out, "samples", s->samples);
        vg_json__put_count(out, "answered", s->answered);
        vg_json__put_text(out, "bound", bound_names[s->bound]);
        vg_json__put_text(out, "thresholds", source_names[s->source]);
        vg_json__put_count(out, "set_aside", s->set_aside);
        vg_json__put_count(out, "candidates", s->candidates);
        vg_json__put_count(out, "tested", s->tested);
        vg_json__put_count(out, "starts", s->starts);
        vg_json__put_text(out, "multiplicity", multiplicity_names[s->multiplicity]);
    }
    return out;
}

static int print_json(const decide_job *job) {
    const vg_score_tally *t = &job->tally;
    json_t *out = vg_json__document("decide");
    char by[VG_FIELD_TITLE];
    decide_policy_name(by, job->policy);
    vg_json__put_text(out, "file", job->in.path);
    vg_json__put_count(out, "n", job->in.layout.n);
    vg_json__put_text(out, "by", by);
    if (job->policy->by_rule)
        vg_json__put_number(out, "k", job->policy->k);
    else
        vg_json__put_number(out, "threshold", job->policy->threshold);
    vg_json__put_count(out, "kept", t->kept[0]);
    vg_json__put_count(out, "abstained", t->entries - t->kept[0]);
    vg_json__put_number(out, "coverage", share(t->kept[0], t->entries));
    if (job->in.labels) {
        vg_json__put_number(out, "accuracy", share(t->correct, t->entries));
        vg_json__put_number(out, "kept_accuracy", share(t->kept_correct[0], t->kept[0]));
        vg_json__put_count(out, "abstained_errors", t->entries - t->correct - (t->kept[0] - t->kept_correct[0]));
    }
    if (job->policy->selection.rows)
        vg_json__put(out, "calibration", selection_json(job->policy));
    return json_print(out);
}

/* --- work --------------------------------------------------------------------------------------------------------- */
static int decide_open(decide_job *job, vg_score_writer *file, const char *output) {
    vg_field_set kept = VG_FIELD_BIT(VG_FIELD_GMU) | VG_FIELD_BIT(VG_FIELD_SNR) | VG_FIELD_BIT(VG_FIELD_PRED) |
                        VG_FIELD_BIT(VG_FIELD_DECISION);
    if (!output)
        return CLI_OK;
    job->keep = true;
    console_guard();
    vg_status status = vg_score_writer__open(file, output, VG_PRODUCT_DECISIONS);
    if (status == VG_OK) {
        status = vg_column_store__open(&job->store, kept, &job->in.layout, output);
        if (status != VG_OK)
            status = vg_score_writer__close(file, status);
    }
    if (status != VG_OK)
        console_unguard();
    return console_status(status);
}

int decide_file(const decide_policy *policy, const score_options *options, const char *path, const char *labels,
                const char *output, bool json) {
    decide_job *job = calloc(1, sizeof *job);
    vg_score_writer file = {0};
    if (!job)
        return console_fail_memory("the command");
    job->policy = policy;
    job->store.file = -1;
    int code = score_input_open_labels(&job->in, options, path, labels);
    if (code == CLI_OK)
        code = console_status(vg_score_tally__new(&job->tally, job->in.layout.k_count));
    if (code == CLI_OK)
        code = decide_open(job, &file, output);
    if (code == CLI_OK) {
        vg_score_sink sink = {.context = job, .take = take_block};
        vg_status status = vg_score_pass__run(&job->in, decide_fields(policy), &sink, NULL);
        if (status == VG_OK && output)
            status = vg_decision_rows__write(&file, &job->store, policy->by_rule ? "k" : "threshold",
                                             policy->by_rule ? policy->k : policy->threshold, score_bridge_job());
        if (output) {
            status = vg_score_writer__close(&file, status);
            console_unguard();
        }
        code = console_status(status);
    }
    if (code == CLI_OK)
        code = json ? print_json(job) : print_text(job);
    vg_column_store__close(&job->store);
    vg_score_tally__free(&job->tally);
    vg_score_input__close(&job->in);
    free(job);
    return code;
}
