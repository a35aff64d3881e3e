/* cmd_score.c - vargate score: uncertainty of every sample of a prediction file, as a file or as a summary. */
#include <stdlib.h>

#include "commands.h"
#include "console.h"
#include "output_path.h"
#include "workflow/score_engine.h"
#include "workflow/score_writer.h"
#include "score_bridge.h"
#include "workflow/score_pass.h"
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
    vg_score_input in;
    vg_column_store store;
    vg_score_tally tally;
    bool summarise;
} score_job;

static vg_status take_block(void *context, size_t first, size_t rows, const vg_scores *block) {
    score_job *job = context;
    const vg_score_layout *layout = &job->in.layout;
    if (job->summarise) {
        size_t columns = layout->multilabel ? layout->c : 1;
        vg_score_tally__add(&job->tally, layout, block, rows, job->in.labels ? job->in.labels + first * columns : NULL);
    }
    return vg_column_store__put(&job->store, first, rows, block);
}

/* Scores into the store, then writes and prints what was asked for. */
static int score_and_tell(score_job *job, vg_score_writer *file, const char *output, bool json) {
    vg_score_summary summary;
    vg_field_set set = job->in.measures, computed = set;
    if (job->summarise && job->in.labels)
        computed |= VG_FIELD_BIT(VG_FIELD_PRED) | VG_FIELD_BIT(VG_FIELD_DECISION);
    vg_status status = vg_score_tally__new(&job->tally, job->in.layout.k_count);
    if (status == VG_OK)
        status = vg_column_store__open(&job->store, output ? set : set & VG_FIELDS_MEASURES, &job->in.layout, output);
    if (status == VG_OK)
        status = vg_score_pass__run(&job->in, computed, &(vg_score_sink){.context = job, .take = take_block}, &summary);
    if (status == VG_OK && output)
        status = vg_score_writer__write(file, &job->store, &summary, job->in.job);
    int code = console_status(status);
    if (code == CLI_OK && job->summarise)
        code = score_summary_print(&job->in, &job->store, &job->tally, &summary, computed, json);
    vg_column_store__close(&job->store);
    vg_score_tally__free(&job->tally);
    return code;
}

static int score(const score_options *options, const score_values *own, const char *path) {
    score_job *job = calloc(1, sizeof *job);
    vg_score_writer file = {0};
    vg_file_kind kind;
    if (!job)
        return console_fail_memory("the command");
    int code = own->output ? console_usage_status(vg_score_writer__kind(own->output, &kind)) : CLI_OK;
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
    if (own->output) {
        console_guard();
        code = console_status(vg_score_writer__open(&file, own->output, VG_PRODUCT_SCORES));
        if (code != CLI_OK)
            console_unguard();
    }
    if (code == CLI_OK) {
        code = score_and_tell(job, &file, own->output, own->json);
        if (code == CLI_OK && console_interrupted())
            code = CLI_FAILED;
        if (own->output) {
            vg_status closed = vg_score_writer__close(&file, code == CLI_OK ? VG_OK : VG_ERR_IO);
            code = code == CLI_OK ? console_status(closed) : code;
            console_unguard();
        }
    }
    if (code == CLI_OK && own->output)
        console_note("wrote %s: %zu samples", own->output, job->in.layout.n);
    vg_score_input__close(&job->in);
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
