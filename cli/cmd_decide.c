/* cmd_decide.c - vargate decide: predict or abstain, by the decision rule or a threshold, for a file or a stream. */
#include "cli.h"

typedef struct decide_values {
    vg_policy_options policy;
    vg_decide_options how;
    option_reals k, label_risks;
    double sets;
    bool stream, strict, json;
} decide_values;

#define PLACE(member) offsetof(decide_values, member)
static const option_entry own_entries[] = {
    {"k", 'k', OPTION_GATES, PLACE(k), "K|FILE", NULL,
     "keep by the decision rule at K (default 1 when nothing else is chosen); a file: --class-k FILE", 0, 0},
    {"target-risk", 0, OPTION_REAL, PLACE(policy.target_risk), "R", NULL,
     "choose on --calibration: the largest coverage whose risk is below R with --confidence", 1e-9, 0.999999},
    {"target-coverage", 0, OPTION_REAL, PLACE(policy.target_coverage), "C", NULL,
     "choose on --calibration: the most selective that keeps at least the share C", 1e-9, 1},
    {"label-risk", 0, OPTION_REALS, PLACE(label_risks), "R,...", NULL,
     "multilabel, choose on --calibration: a k for every label, so that its risk is below R; one R, or one for each", 0,
     0},
    {"calibration", 0, OPTION_TEXT, PLACE(policy.calibration), "VAL", NULL,
     "validation predictions to choose on; --labels are then its labels", 0, 0},
    {"by", 0, OPTION_TEXT, PLACE(policy.by), "NAME,...", NULL,
     "what to choose: k of the rule, or a threshold of a measure (snr, gmu, gtu@2, ...); several share the chance of "
     "error; auto, the default with --target-risk: search over all of them",
     0, 0},
    {"threshold", 0, OPTION_REAL, PLACE(policy.threshold), "X", NULL,
     "with --by: keep samples whose measure is below X (snr: above X)", -INFINITY, INFINITY},
    {"confidence", 0, OPTION_REAL, PLACE(policy.confidence), "P", "0.95", "of the bound on the risk", 0.5, 0.999999},
    {"sets", 0, OPTION_REAL, PLACE(sets), "A", NULL,
     "answer where the prediction set at alpha A, calibrated on --calibration, holds one class, and give a person the "
     "short list of the others",
     1e-9, 0.999999},
    {"refer-above", 0, OPTION_REAL, PLACE(how.refer_above), "S", NULL,
     "of images: refer one to a person where more than the share S of its sites abstain", 0, 1},
    OPTION_MAPS(PLACE(how.maps)),
    OPTION_PICTURES(PLACE(how.pictures)),
    {"policy", 0, OPTION_TEXT, PLACE(policy.file), "FILE", NULL, "decide by a policy that --save wrote", 0, 0},
    {"save", 0, OPTION_TEXT, PLACE(how.save), "FILE", NULL, "write the policy as JSON, for --policy", 0, 0},
    {"output", 'o', OPTION_TEXT, PLACE(how.output), "FILE", NULL,
     "write id, pred, decision, gmu, snr: .npz, .safetensors, .csv or .jsonl, - for CSV on standard output", 0, 0},
    OPTION_FORCE_SWITCH(PLACE(how.force)),
    {"json", 0, OPTION_FLAG, PLACE(json), NULL, NULL, "print the summary as JSON", 0, 0},
    {"stdin-jsonl", 0, OPTION_FLAG, PLACE(stream), NULL, NULL,
     "read {\"id\": ..., \"p\": [[...], ...]} (or \"z\": logits), one per line; write one decision per line", 0, 0},
    {"strict", 0, OPTION_FLAG, PLACE(strict), NULL, NULL, "with --stdin-jsonl: stop at the first bad line", 0, 0},
};

static int check_usage(const decide_values *own, size_t files) {
    const vg_policy_options *policy = &own->policy;
    const char *output = own->how.output, *save = own->how.save;
    if (own->k.count > 1)
        return console_usage("-k: the decision rule takes one k, found %zu", own->k.count);
    bool chosen = own->k.count || own->k.file || own->label_risks.count || !isnan(policy->target_risk) ||
                  !isnan(policy->target_coverage) || policy->by || policy->file;
    if (!isnan(own->sets) && (chosen || save || own->stream || !policy->calibration))
        return console_usage(
            "--sets needs --calibration and goes with no other way to decide; thresholds are saved and "
            "streamed by 'vargate sets'");
    if (own->stream && (files > 0 || output || own->json))
        return console_usage("--stdin-jsonl reads standard input and writes standard output: no file, -o or --json");
    if (own->strict && !own->stream)
        return console_usage("--strict goes with --stdin-jsonl");
    if ((own->json || own->stream) + output_is_standard(output) + output_is_standard(save) > 1)
        return console_usage("two of --json, --stdin-jsonl, -o - and --save - both write to standard output");
    if (!own->stream && files != 1)
        return console_usage("expected one prediction file, found %zu; 'vargate help decide' shows the usage", files);
    return CLI_OK;
}

static int new_policy(vg_policy **out, decide_values *own) {
    own->policy.k = own->k.count > 0 && !own->k.file ? own->k.values[0] : NAN;
    own->policy.label_risks = own->label_risks.values;
    own->policy.label_risk_count = own->label_risks.count;
    vg_status status = vg_policy_new(out, &own->policy);
    return status == VG_ERR_ARGUMENT ? console_usage_status(status) : console_status(status);
}

static int decide_stream(vg_policy *policy, const vg_input_options *input, decide_values *own) {
    vg_decision_stream *stream;
    console_job listener;
    own->how.job = console_job_listener(&listener);
    int code = console_status(vg_decision_stream_new(&stream, policy, input, &own->how));
    console_job_end(&listener);
    if (code == CLI_OK)
        code = decision_stdin_run(stream, own->strict);
    vg_decision_stream_free(stream);
    return code;
}

static int decide_file(vg_policy *policy, const vg_input_options *input, decide_values *own, const char *path) {
    const char *output = own->how.output, *save = own->how.save;
    vg_decide_result result = VG_DECIDE_RESULT_INIT;
    console_job listener;
    char *text;
    own->how.job = console_job_writing(&listener, output ? output : save);
    int code = console_status(vg_decide_file(&result, policy, path, input, &own->how));
    console_job_end(&listener);
    if (code != CLI_OK || output_is_standard(output) || output_is_standard(save))
        return code;
    if (own->json)
        return json_print_result(vg_decide_result_json(&text, &result, policy, path), &text);
    code = text_print_result(vg_decide_result_text(&text, &result, policy, path), &text);
    if (code != CLI_OK)
        return code;
    if (policy->line && save)
        printf("Saved: %s; the same again: %s\n", save, policy->line);
    else if (policy->line)
        printf("The same again: %s\n", policy->line);
    return CLI_OK;
}

/* Answers automatically where one class is left, and lists the possible classes of the other samples for a person. */
static int decide_sets(const score_options *scoring, const decide_values *own, const char *path) {
    sets_request r = {VG_SETS_OPTIONS_INIT, VG_SETS_FILE_OPTIONS_INIT, own->json};
    vg_sets *sets;
    r.options.alphas = &own->sets;
    r.options.alpha_count = 1;
    r.options.confidence = own->policy.confidence;
    r.file.calibration = own->policy.calibration;
    r.file.output = own->how.output;
    r.file.force = own->how.force;
    int code = sets_run(&sets, &r, scoring, path);
    if (code == CLI_OK)
        code = sets_print(&r, sets, VG_SETS_DECISIONS);
    vg_sets_free(sets);
    return code;
}

static int decide(const score_options *scoring, decide_values *own, vg_policy *policy, const char *path) {
    score_request request;
    int code = output_ending_check(own->how.output, VG_PRODUCT_SCORES);
    if (code == CLI_OK)
        code = score_options_request(&request, scoring);
    if (code != CLI_OK)
        return code;
    if (!isnan(own->sets))
        return decide_sets(scoring, own, path);
    return path ? decide_file(policy, &request.input, own, path) : decide_stream(policy, &request.input, own);
}

static int run(const command *self, int argc, char **argv) {
    static score_options options;
    static const char *const not_here[] = {"k", "measures", NULL};
    static decide_values own = {.policy = VG_POLICY_OPTIONS_INIT, .how = VG_DECIDE_OPTIONS_INIT};
    vg_policy *policy = NULL;
    option_files files;
    option_group groups[] = {OPTION_GROUP("Decision", own_entries, &own),
                             SCORE_OPTION_SUBSET("Scoring", options, not_here)};
    int code = options_parse(self, groups, 2, argc, argv, &files);
    options.k.file = own.k.file;
    if (code == CLI_OK && isnan(own.sets))
        code = new_policy(&policy, &own);
    if (code == CLI_OK)
        code = check_usage(&own, files.count);
    if (code == CLI_OK)
        code = decide(&options, &own, policy, own.stream ? NULL : files.items[0]);
    vg_policy_free(policy);
    return code;
}

const command command_decide = {
    .name = "decide",
    .summary = "predict or abstain, for a file or a stream",
    .usage = "PRED [-k K | --target-risk R | --target-coverage C | --label-risk R | --sets A | --policy FILE] "
             "[options]\n"
             "       vargate decide --stdin-jsonl [-k K | --policy FILE] [options]",
    .details = "A decision is the predicted class, or -1 for abstain. A target risk is met in the finite-sample sense: "
               "an upper\n"
               "confidence bound, corrected for every setting tried, lies below it. Without --by, k of the rule and "
               "thresholds of\n"
               "every measure, of logits also at a fitted temperature, are searched: a part of VAL that is then not "
               "tested on\n"
               "chooses what to test. Thresholds to try are quantiles of PRED's own values; in a stream, of that part.",
    .example = "vargate decide test.npz --calibration validation.npz --target-risk 0.01 -o decisions.csv",
    .run = run,
};
