/* cmd_predict.c - vargate predict: a run folder and images to ensemble predictions. */
#include "cli.h"

typedef struct predict_values {
    vg_predict_runs_options how;
    bool score, json;
} predict_values;

#define PLACE(member) offsetof(predict_values, member)
static const option_entry entries[] = {
    {"output", 'o', OPTION_TEXT, PLACE(how.output), "PRED.npz", NULL,
     "where predictions go (.npz); with --score the scores", 0, 0},
    {"split", 0, OPTION_TEXT, PLACE(how.split), "test|val|train", NULL,
     "images of the recipe's data set (default: test)", 0, 0},
    {"input", 'i', OPTION_TEXT, PLACE(how.input), "SET", NULL, "other images: a data set's name, a file or a folder", 0,
     0},
    {"skip-corrupt", 0, OPTION_SWITCH, PLACE(how.skip_corrupt), NULL, NULL,
     "leave out image files that cannot be read, and name them", 0, 0},
    {"ensemble", 'e', OPTION_CHOICE, PLACE(how.ensemble), "mcd|lle|mcd-lle", NULL,
     "how members are made (default: the recipe's)", 0, 0},
    {"members", 'm', OPTION_COUNT, PLACE(how.members), "M", "0", "members; 0: the recipe's", 0, 100000},
    {"passes", 0, OPTION_COUNT, PLACE(how.passes), "T", "0",
     "with --heads: stochastic passes, each through the first G heads", 0, 100000},
    {"heads", 0, OPTION_COUNT, PLACE(how.heads), "G", "0", "with --passes: heads read in every pass; M = T x G", 0,
     100000},
    {"logits", 0, OPTION_SWITCH, PLACE(how.logits), NULL, NULL, "write logits (Z) instead of probabilities (P)", 0, 0},
    {"score", 0, OPTION_FLAG, PLACE(score), NULL, NULL,
     "score the predictions as they come and keep the scores alone: a file, or without -o a summary", 0, 0},
    OPTION_FORCE_SWITCH(PLACE(how.force)),
    {"json", 0, OPTION_FLAG, PLACE(json), NULL, NULL, "with --score: print the summary as JSON", 0, 0},
    {"checkpoint", 0, OPTION_CHOICE, PLACE(how.checkpoint), "last|best", NULL,
     "which checkpoint of a run folder (default: the recipe's)", 0, 0},
    OPTION_DATA(PLACE(how.data)),
    OPTION_DEVICE(PLACE(how.device)),
    OPTION_THREADS(PLACE(how.threads), "threads on the CPU; 0: one per core"),
};

static int predict(predict_values *own) {
    console_job state;
    own->how.job = console_job_listener(&state);
    console_guard();
    vg_status status = vg_predict_runs(NULL, &own->how);
    console_unguard();
    return status == VG_ERR_INTERRUPTED ? console_fail("stopped; nothing was written") : console_status(status);
}

static int score(const predict_values *own, const score_options *scoring) {
    vg_score_file_options how = VG_SCORE_FILE_OPTIONS_INIT;
    vg_score_result *result = NULL;
    score_request request;
    console_job state;
    how.output = own->how.output;
    how.force = own->how.force;
    how.summary = !how.output || own->json;
    int code = output_ending_check(how.output, VG_PRODUCT_SCORES);
    if (code == CLI_OK)
        code = score_options_request(&request, scoring);
    if (code != CLI_OK)
        return code;
    how.job = console_job_writing(&state, how.output);
    code = console_status(vg_score_runs(&result, &own->how, &request.input, &how));
    console_job_end(&state);
    if (code == CLI_OK && how.summary)
        code = score_summary_print(result, own->json);
    if (code == CLI_OK && how.output)
        console_note("%s: scores of %zu image%s, %zu member%s, %zu classes", how.output, result->n, plural(result->n),
                     result->m, plural(result->m), result->c);
    vg_score_result_free(result);
    return code;
}

static int check_usage(const predict_values *own, const score_options *scoring) {
    const vg_predict_runs_options *how = &own->how;
    if (how->run_count < 1)
        return console_usage("expected a run folder or a checkpoint");
    if (!how->output && !own->score)
        return console_usage("expected -o PRED.npz");
    if (!own->score && output_is_standard(how->output))
        return console_usage("-o -: predictions are arrays; name a file that ends in .npz or .safetensors");
    if (!own->score && (own->json || scoring->input.temperature))
        return console_usage("%s goes with --score", own->json ? "--json" : "--calibration-map");
    if (own->score && how->logits)
        return console_usage("--score and --logits exclude each other: scores are always taken from the logits");
    if (how->split && how->input)
        return console_usage("--split and --input exclude each other");
    if (how->split && strcmp(how->split, "test") && strcmp(how->split, "val") && strcmp(how->split, "train"))
        return console_usage("--split must be test, val or train, found '%s'", how->split);
    if (how->run_count > VG_MAX_RUNS)
        return console_usage("at most %d runs make a deep ensemble, found %zu", VG_MAX_RUNS, how->run_count);
    return CLI_OK;
}

static int run(const command *self, int argc, char **argv) {
    static const char *const without[] = {"labels",      "logits",  "multilabel", "multilabel-form", "renormalise",
                                          "axes",        "key",     "threads",    "labels-key",      "label",
                                          "labels-from", "classes", "id",         "member",          "format",
                                          "ignore",      NULL};
    static score_options scoring;
    predict_values own = {.how = VG_PREDICT_RUNS_OPTIONS_INIT};
    option_group groups[] = {OPTION_GROUP("Options", entries, &own),
                             SCORE_OPTION_SUBSET("Scoring (with --score)", scoring, without)};
    option_files files;
    int code = options_parse(self, groups, 2, argc, argv, &files);
    if (code != CLI_OK)
        return code;
    own.how.runs = (const char *const *)files.items;
    own.how.run_count = files.count;
    code = check_usage(&own, &scoring);
    if (code != CLI_OK)
        return code;
    return own.score ? score(&own, &scoring) : predict(&own);
}

const command command_predict = {
    "predict",
    "ensemble predictions of a trained network",
    "RUN... -o PRED.npz [options]",
    "RUN is a run folder or a checkpoint; several make a deep ensemble, their members side by side. The file has P\n"
    "(or logits Z) of shape (N, M, C) and the labels L, or with --score what 'vargate score' makes of them. Members:\n"
    "mcd, stochastic passes; lle, heads; mcd-lle, pass t through head t.",
    "vargate predict runs/mnist-lle --split test -o test.npz",
    run,
};
