/* cmd_decide.c - vargate decide: predict or abstain, by the decision rule or a threshold, for a file or a stream. */
#include <math.h>
#include <stddef.h>

#include "commands.h"
#include "console.h"
#include "decide.h"
#include "output_path.h"
#include "workflow/score_writer.h"

typedef struct decide_values {
    const char *calibration, *by, *output;
    double k, target_risk, target_coverage, threshold, confidence;
    bool stream, strict, json, force;
} decide_values;

#define PLACE(member) offsetof(decide_values, member)
static const option_entry own_entries[] = {
    {"k", 'k', OPTION_REAL, PLACE(k), "K", NULL,
     "keep by the decision rule at K (default 1 when nothing else is chosen)", -INFINITY, INFINITY},
    {"target-risk", 0, OPTION_REAL, PLACE(target_risk), "R", NULL,
     "choose on --calibration: the largest coverage whose risk is below R with --confidence", 1e-9, 0.999999},
    {"target-coverage", 0, OPTION_REAL, PLACE(target_coverage), "C", NULL,
     "choose on --calibration: the most selective that keeps at least the share C", 1e-9, 1},
    {"calibration", 0, OPTION_TEXT, PLACE(calibration), "VAL", NULL,
     "validation predictions to choose on; --labels are then its labels", 0, 0},
    {"by", 0, OPTION_TEXT, PLACE(by), "NAME,...", "k",
     "what to choose: k of the rule, or a threshold of a measure (snr, gmu, gtu@2, ...); several share the chance of "
     "error",
     0, 0},
    {"threshold", 0, OPTION_REAL, PLACE(threshold), "X", NULL,
     "with --by: keep samples whose measure is below X (snr: above X)", -INFINITY, INFINITY},
    {"confidence", 0, OPTION_REAL, PLACE(confidence), "P", "0.95", "of the bound on the risk", 0.5, 0.999999},
    {"output", 'o', OPTION_TEXT, PLACE(output), "FILE", NULL,
     "write id, pred, decision, gmu, snr: .npz, .csv or .jsonl", 0, 0},
    {"force", 0, OPTION_FLAG, PLACE(force), NULL, NULL, OUTPUT_FORCE_HELP, 0, 0},
    {"json", 0, OPTION_FLAG, PLACE(json), NULL, NULL, "print the summary as JSON", 0, 0},
    {"stdin-jsonl", 0, OPTION_FLAG, PLACE(stream), NULL, NULL,
     "read {\"id\": ..., \"p\": [[...], ...]} (or \"z\": logits) a line, write a decision a line", 0, 0},
    {"strict", 0, OPTION_FLAG, PLACE(strict), NULL, NULL, "with --stdin-jsonl: stop at the first bad line", 0, 0},
};

static int check_usage(const decide_values *own, const decide_candidates *set, size_t files) {
    bool risk = !isnan(own->target_risk), coverage = !isnan(own->target_coverage), target = risk || coverage;
    const decide_policy *policy = &set->items[0];
    if (set->count > 1 && !risk)
        return console_usage("--by %s: several candidates need --target-risk to choose among them", own->by);
    if (risk && coverage)
        return console_usage("--target-risk and --target-coverage exclude each other");
    if (target && (!isnan(own->k) || !isnan(own->threshold)))
        return console_usage("a target chooses %s; give one or the other", isnan(own->k) ? "the threshold" : "k");
    if (target && !own->calibration)
        return console_usage("--target-%s needs --calibration VAL to choose on", risk ? "risk" : "coverage");
    if (!target && own->calibration)
        return console_usage("--calibration needs --target-risk or --target-coverage");
    if (policy->by_rule && !isnan(own->threshold))
        return console_usage("--threshold needs --by MEASURE; the decision rule takes -k");
    if (!policy->by_rule && !isnan(own->k))
        return console_usage("-k is the decision rule's; with --by %s give --threshold or a target", own->by);
    if (!policy->by_rule && !target && isnan(own->threshold))
        return console_usage("--by %s needs --threshold, --target-risk or --target-coverage", own->by);
    if (own->stream && (files > 0 || own->output || own->json))
        return console_usage("--stdin-jsonl reads standard input and writes standard output: no file, -o or --json");
    if (own->strict && !own->stream)
        return console_usage("--strict goes with --stdin-jsonl");
    if (!own->stream && files != 1)
        return console_usage("expected one prediction file, found %zu; 'vargate help decide' shows the usage", files);
    return CLI_OK;
}

static void set_policy(decide_policy *policy, const decide_values *own) {
    if (!isnan(own->k))
        policy->k = own->k;
    policy->threshold = own->threshold;
    policy->target_risk = isnan(own->target_risk) ? 0 : own->target_risk;
    policy->target_coverage = isnan(own->target_coverage) ? 0 : own->target_coverage;
    policy->confidence = own->confidence;
}

static int decide(score_options *options, const decide_values *own, decide_candidates *set, const char *path) {
    const char *labels = options->labels;
    decide_policy policy = set->items[0];
    vg_file_kind kind;
    const char *inputs[] = {path, own->calibration, labels, options->temperature};
    int code = own->output ? console_usage_status(vg_score_writer__kind(own->output, &kind)) : CLI_OK;
    if (code == CLI_OK)
        code = output_path_check(own->output, VG_PRODUCT_DECISIONS, own->force, inputs, 4);
    if (code == CLI_OK && own->calibration) {
        decide_files files = {own->calibration, labels, path};
        code = decide_choose(&policy, set, options, &files);
        labels = vg_score_labels_if_any; /* those were the validation data's */
        options->labels = NULL;
        if (code == CLI_OK && path && vg_same_file(path, own->calibration))
            console_warn("%s is also the --calibration file: what was chosen on it says little about it; give another",
                         path);
    }
    options->k.values[0] = policy.k;
    options->k.count = 1;
    if (code != CLI_OK)
        return code;
    if (own->stream)
        return decide_stream(&policy, options, own->strict);
    return decide_file(&policy, options, path, labels, own->output, own->json);
}

static int run(const command *self, int argc, char **argv) {
    static score_options options;
    static const char *const not_here[] = {"k", "measures", NULL};
    static option_entry score_entries[SCORE_OPTION_ROOM];
    decide_values own;
    static decide_candidates set;
    option_files files;
    option_group groups[] = {{"Decision", own_entries, sizeof own_entries / sizeof *own_entries, &own},
                             {"Scoring", score_entries, score_option_subset(score_entries, not_here), &options}};
    int code = score_options_defaults(&options);
    if (code == CLI_OK)
        code = options_parse(self, groups, 2, argc, argv, &files);
    if (code == CLI_OK)
        code = decide_candidates_parse(&set, own.by);
    if (code == CLI_OK)
        code = check_usage(&own, &set, files.count);
    if (code != CLI_OK)
        return code;
    for (size_t i = 0; i < set.count; i++)
        set_policy(&set.items[i], &own);
    return decide(&options, &own, &set, own.stream ? NULL : files.items[0]);
}

const command command_decide = {
    .name = "decide",
    .summary = "predict or abstain, for a file or a stream",
    .usage = "PRED [-k K | --target-risk R | --target-coverage C] [options]\n"
             "       vargate decide --stdin-jsonl [-k K] [options]",
    .details = "A decision is the predicted class, or -1 for abstain. A target risk is met in the finite-sample sense: "
               "an upper\n"
               "confidence bound, corrected for every setting tried, lies below it. Thresholds to try are quantiles of "
               "PRED's own\n"
               "values; in a stream, of a part of VAL that is then not tested on.",
    .example = "vargate decide test.npz --calibration validation.npz --target-risk 0.01 -o decisions.csv",
    .run = run,
};
