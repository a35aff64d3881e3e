/* cmd_sets.c - vargate sets: prediction sets with a promised coverage, for a file or a stream. */
#include "cli.h"

typedef struct set_values {
    sets_request request; /* the library's options; first, so that the option table can refer to its fields */
    option_reals alpha, gated;
    bool randomise, no_randomise, stream, strict;
} set_values;

#define PLACE(member) offsetof(set_values, member)
#define OPTION(member) PLACE(request.options.member)
#define OWN(member) PLACE(request.file.member)
static const option_entry own_entries[] = {
    {"calibration", 0, OPTION_TEXT, OWN(calibration), "VAL", NULL,
     "predictions with labels to calibrate on; --labels are then its labels", 0, 0},
    {"alpha", 0, OPTION_REALS, PLACE(alpha), "A,...", NULL, "shares of samples whose label may be missed (default 0.1)",
     0, 0},
    {"score", 0, OPTION_CHOICE, OPTION(score), "lac|aps|raps|saps|margin|topk|snr", "lac", "nonconformity of a class",
     0, 0},
    {"by", 0, OPTION_TEXT, OWN(by), "CELLS", NULL,
     "a threshold for each class (class), for each top class (top), or for each group (group:COLUMN)", 0, 0},
    {"gated", 0, OPTION_GATES, PLACE(gated), "K|FILE", NULL,
     "sets from the gated mean at K, or at the ks of fit-k's FILE, instead of the mean", 0, 0},
    {"never-empty", 0, OPTION_SWITCH, OPTION(never_empty), NULL, NULL, "add the top class to an empty set", 0, 0},
    {"randomise", 0, OPTION_FLAG, PLACE(randomise), NULL, NULL,
     "draw u for every sample: coverage is then exact (default of aps, raps, saps)", 0, 0},
    {"no-randomise", 0, OPTION_FLAG, PLACE(no_randomise), NULL, NULL, "u = 1: larger sets, nothing drawn", 0, 0},
    {"seed", 0, OPTION_COUNT, OPTION(seed), "S", "1", "of the draws of every sample", 0, 1e15},
    {"lambda", 0, OPTION_REAL, OPTION(lambda), "X", NULL, "penalty of a rank, raps and saps (default: tuned)", 0, 1e9},
    {"k-reg", 0, OPTION_REAL, OPTION(k_reg), "R", NULL, "ranks without a penalty, raps (default: tuned)", 0, 1e9},
    {"tuning", 0, OPTION_REAL, OPTION(tuning), "SHARE", "0.2",
     "of VAL, to tune on; these samples do not count for the threshold", 1e-6, 0.999},
    {"p-values", 0, OPTION_SWITCH, OPTION(p_values), NULL, NULL, "with -o: a p-value for every class", 0, 0},
    {"confidence", 0, OPTION_REAL, OPTION(confidence), "P", "0.95", "of intervals; multilabel: of the promise", 0.5, 1},
    {"save", 0, OPTION_TEXT, OWN(save), "FILE", NULL, "write the thresholds as JSON, for --thresholds", 0, 0},
    {"thresholds", 0, OPTION_TEXT, OPTION(thresholds), "FILE", NULL, "thresholds that --save wrote", 0, 0},
    {"output", 'o', OPTION_TEXT, OWN(output), "FILE", NULL,
     "write the sets: .npz, .csv or .jsonl, - for CSV on standard output", 0, 0},
    OPTION_FORCE_SWITCH(OWN(force)),
    {"json", 0, OPTION_FLAG, PLACE(request.json), NULL, NULL, "print the figures as JSON", 0, 0},
    {"stdin-jsonl", 0, OPTION_FLAG, PLACE(stream), NULL, NULL,
     "read {\"id\": ..., \"p\": [[...], ...]} (or \"z\": logits), one per line; write its sets as one line", 0, 0},
    {"strict", 0, OPTION_FLAG, PLACE(strict), NULL, NULL, "with --stdin-jsonl: stop at the first bad line", 0, 0},
};

int sets_run(vg_sets **out, sets_request *r, const score_options *scoring, const char *path) {
    score_request request;
    console_job listener;
    *out = NULL;
    int code = score_options_request(&request, scoring);
    if (code != CLI_OK)
        return code;
    r->file.job = console_job_writing(&listener, r->file.output ? r->file.output : r->file.save);
    code = console_status(vg_sets_file(out, &r->options, path, &request.input, &r->file));
    console_job_end(&listener);
    return code;
}

int sets_print(const sets_request *r, vg_sets *sets, vg_sets_document document) {
    char *text;
    if (output_is_standard(r->file.output))
        return CLI_OK;
    if (r->json)
        return json_print_result(vg_sets_text(&text, sets, sets->figures ? 0 : VG_SETS_THRESHOLDS), &text);
    return text_print_result(vg_sets_text(&text, sets, document), &text);
}

static int answer_stream(vg_sets *sets, bool strict) {
    vg_decide_options options = VG_DECIDE_OPTIONS_INIT;
    vg_decision_stream *stream;
    options.sets = sets;
    int code = console_status(vg_decision_stream_new(&stream, NULL, NULL, &options));
    if (code == CLI_OK)
        code = decision_stdin_run(stream, strict);
    vg_decision_stream_free(stream);
    return code;
}

static int make_sets(const score_options *scoring, set_values *own, const char *path) {
    sets_request *r = &own->request;
    vg_sets *sets;
    if (own->stream && (path || r->file.output || r->json))
        return console_usage("--stdin-jsonl reads standard input and writes standard output: no file, -o or --json");
    if (own->randomise && own->no_randomise)
        return console_usage("--randomise and --no-randomise exclude each other");
    if (!path && !own->stream && !r->file.save)
        return console_usage("expected one prediction file; 'vargate help sets' shows the usage");
    if (own->gated.count > 1)
        return console_usage("--gated: %zu values, expected one k, or a file of 'vargate fit-k'", own->gated.count);
    r->options.gate = own->gated.count ? own->gated.values[0] : NAN;
    r->options.alphas = own->alpha.values;
    r->options.alpha_count = own->alpha.count;
    r->options.randomise = own->randomise ? 1 : own->no_randomise ? 0 : -1;
    int code = sets_run(&sets, r, scoring, path);
    if (code == CLI_OK)
        code = own->stream ? answer_stream(sets, own->strict) : sets_print(r, sets, VG_SETS_TABLE);
    vg_sets_free(sets);
    return code;
}

static int run(const command *self, int argc, char **argv) {
    static score_options options;
    static set_values own = {.request = {VG_SETS_OPTIONS_INIT, VG_SETS_FILE_OPTIONS_INIT, false}};
    static const char *const not_here[] = {"k", "measures", NULL};
    option_files files;
    option_group groups[] = {OPTION_GROUP("Sets", own_entries, &own),
                             SCORE_OPTION_SUBSET("Scoring", options, not_here)};
    int code = options_parse(self, groups, 2, argc, argv, &files);
    options.k.file = own.gated.file;
    if (code == CLI_OK && files.count > 1)
        code = console_usage("expected one prediction file, found %zu", files.count);
    return code == CLI_OK ? make_sets(&options, &own, files.count ? files.items[0] : NULL) : code;
}

const command command_sets = {
    .name = "sets",
    .summary = "prediction sets with a promised coverage",
    .usage = "[PRED] --calibration VAL [--alpha A,...] [--score SCORE] [options]\n"
             "       vargate sets [PRED | --stdin-jsonl] --thresholds FILE [options]",
    .details =
        "A set holds the classes that cannot be excluded. It misses the label of at most the share alpha of the "
        "samples,\nwhere VAL and PRED are samples of one population. With --multilabel it misses at most the share "
        "alpha of a\nsample's labels on average, with --confidence. Without -o a table is printed.",
    .example = "vargate sets test.npz --calibration validation.npz --alpha 0.1,0.05 --score raps -o sets.csv",
    .run = run,
};
