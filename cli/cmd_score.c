/* cmd_score.c - vargate score: uncertainty of every sample of a prediction file, as a file or as a summary. */
#include <stdlib.h>

#include "commands.h"
#include "console.h"
#include "output_path.h"
#include "score_engine.h"
#include "score_file.h"
#include "score_options.h"
#include "score_pass.h"
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

typedef struct score_job {
    score_input in;
    column_store store;
    score_tally tally;
    bool summarise;
} score_job;

static int take_block(void *context, size_t first, size_t rows, const vg_scores *block) {
    score_job *job = context;
    const score_layout *layout = &job->in.layout;
    if (job->summarise) {
        size_t columns = layout->multilabel ? layout->c : 1;
        score_tally_add(&job->tally, layout, block, rows, job->in.labels ? job->in.labels + first * columns : NULL);
    }
    return column_store_put(&job->store, first, rows, block);
}

/* Scores into the store, then writes and prints what was asked for. */
static int score_and_tell(score_job *job, score_file *file, const char *output, bool json) {
    vg_score_summary summary;
    score_set set = job->in.measures, computed = set;
    if (job->summarise && job->in.labels)
        computed |= SCORE_BIT(FIELD_PRED) | SCORE_BIT(FIELD_DECISION);
    int code = column_store_open(&job->store, output ? set : set & SCORE_MEASURES, &job->in.layout, output);
    if (code == CLI_OK)
        code = score_pass(&job->in, computed, &(score_sink){.context = job, .take = take_block}, &summary);
    if (code == CLI_OK && output)
        code = score_file_write(file, &job->store, &summary);
    if (code == CLI_OK && job->summarise)
        code = score_summary_print(&job->in, &job->store, &job->tally, &summary, computed, json);
    column_store_close(&job->store);
    return code;
}

static int score(const score_options *options, const score_values *own, const char *path) {
    score_job *job = calloc(1, sizeof *job);
    score_file file = {0};
    file_kind kind;
    if (!job)
        return console_fail_memory("the command");
    int code = own->output ? score_file_kind(own->output, &kind) : CLI_OK;
    const char *inputs[] = {path, options->labels, options->temperature};
    if (code == CLI_OK)
        code = output_path_check(own->output, VG_PRODUCT_SCORES, own->force, inputs, 3);
    if (code == CLI_OK)
        code = score_input_open(&job->in, options, path);
    if (code != CLI_OK) {
        free(job);
        return code;
    }
    job->summarise = !own->output || own->json;
    job->in.device = own->device;
    if (own->output)
        code = score_file_open(&file, own->output, VG_PRODUCT_SCORES);
    if (code == CLI_OK) {
        code = score_and_tell(job, &file, own->output, own->json);
        if (own->output)
            code = score_file_close(&file, code);
    }
    if (code == CLI_OK && own->output)
        console_note("wrote %s: %zu samples", own->output, job->in.layout.n);
    score_input_close(&job->in);
    free(job);
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
        return console_usage("expected one prediction file, found %zu; 'vargate help score' shows the usage", files.count);
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
