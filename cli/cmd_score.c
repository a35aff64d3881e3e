/* cmd_score.c - vargate score: uncertainty of every sample of a prediction file, as a file or as a summary. */
#include "commands.h"
#include "console.h"
#include "console_job.h"
#include "output_path.h"
#include "score_options.h"
#include "score_summary.h"

typedef struct score_values {
    const char *output;
    bool json, force;
    int device;
} score_values;

static const option_entry own_entries[] = {
    {"output", 'o', OPTION_TEXT, offsetof(score_values, output), "FILE", NULL,
     "write the scores of every sample: .npz, .csv or .jsonl; without it a summary is printed", 0, 0},
    {"force", 0, OPTION_FLAG, offsetof(score_values, force), NULL, NULL, OUTPUT_FORCE_HELP, 0, 0},
    {"json", 0, OPTION_FLAG, offsetof(score_values, json), NULL, NULL, "print the summary as JSON (with -o too)", 0, 0},
    {"device", 0, OPTION_CHOICE, offsetof(score_values, device), SCORE_DEVICE_WORDS, "cpu",
     "where to compute; auto: on a GPU where there is one", 0, 0},
};

static int score(const score_options *options, const score_values *own, const char *path) {
    score_request request;
    vg_score_file_options how;
    vg_score_result *result = NULL;
    console_job state;
    const score_output to = {own->output, own->force, own->json};
    int code = score_prepare(&request, &how, options, &to, &state);
    if (code != CLI_OK)
        return code;
    request.input.device = (vg_score_device)own->device;
    vg_status status = vg_score_file(&result, path, &request.input, &how);
    code = score_finish(status, result, &how, own->json, &state);
    if (code == CLI_OK && own->output)
        console_note("wrote %s: %zu sample%s", own->output, result->n, plural(result->n));
    vg_score_result_free(result);
    return code;
}

static int run(const command *self, int argc, char **argv) {
    static score_options options;
    score_values own;
    option_files files;
    option_group groups[] = {{"Output", own_entries, sizeof own_entries / sizeof *own_entries, &own},
                             SCORE_OPTION_GROUP(options)};
    int code = options_parse(self, groups, 2, argc, argv, &files);
    if (code != CLI_OK)
        return code;
    if (files.count != 1)
        return console_usage("expected one prediction file, found %zu; 'vargate help score' shows the usage",
                             files.count);
    return score(&options, &own, files.items[0]);
}

const command command_score = {
    .name = "score",
    .summary = "uncertainty of every sample of a prediction file",
    .usage = "PRED [options]",
    .details = "PRED holds predictions (N samples, M members, C classes) as .npy, .npz, .safetensors, .csv or .jsonl;\n"
               "'-' reads an .npy from standard input. Probabilities, or logits (arrays named Z, or --logits).",
    .example = "vargate score predictions.npz -k 0.5,1,2 -o scores.npz",
    .run = run,
};
