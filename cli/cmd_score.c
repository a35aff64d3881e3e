/* cmd_score.c - vargate score: uncertainty of every sample of a prediction file, as a file or as a summary. */
#include "cli.h"

typedef struct score_values {
    const char *output, *maps;
    size_t pictures;
    bool json, force;
    int device;
} score_values;

static const option_entry own_entries[] = {
    {"output", 'o', OPTION_TEXT, offsetof(score_values, output), "FILE", NULL,
     "write the scores of every sample: .npz, .safetensors, .csv or .jsonl, - for CSV on standard output; a folder, or "
     "a name with a star: one file for each input; without it a summary is printed",
     0, 0},
    OPTION_FORCE(offsetof(score_values, force)),
    {"json", 0, OPTION_FLAG, offsetof(score_values, json), NULL, NULL, "print the summary as JSON (with -o too)", 0, 0},
    OPTION_MAPS(offsetof(score_values, maps)),
    OPTION_PICTURES(offsetof(score_values, pictures)),
    {"device", 0, OPTION_CHOICE, offsetof(score_values, device), SCORE_DEVICE_WORDS, "cpu",
     "where to compute; auto: on a GPU where there is one", 0, 0},
};

/* Where the results of all files go. */
typedef struct score_work {
    const score_values *own;
    score_request request;
    text_table table; /* several files on the terminal: one row per file */
    size_t done;
    bool several, list; /* more than one file; JSON as a list */
} score_work;

static void add_row(text_table *table, const vg_score_result *result) {
    size_t row = table_row(table, result->file);
    table_figures(table, row, 1, "###4",
                  (double[]){(double)result->n, (double)result->m, (double)result->c, result->summary->diversity});
    table_text(table, row, 5, result->verdict->name);
    if (result->rule_count > 0)
        table_percent(table, row, 6, 1 - result->rule[0].coverage);
    table_percent(table, row, 7, result->accuracy);
}

static int show(score_work *work, const vg_score_result *result, const char *output) {
    const score_values *own = work->own;
    int code = CLI_OK;
    if (own->json && work->list)
        printf(work->done ? ",\n" : "[\n");
    if (own->json || (!output && !work->several))
        code = score_summary_print(result, own->json);
    else if (!output)
        add_row(&work->table, result);
    if (code == CLI_OK && output && !output_is_standard(output))
        console_note("wrote %s: %zu samples", output, result->n);
    work->done++;
    return code;
}

static int score(score_work *work, const file_list *list, const char *path) {
    vg_score_file_options how = VG_SCORE_FILE_OPTIONS_INIT;
    const score_values *own = work->own;
    vg_score_result *result;
    console_job state;
    char named[4096];
    int code = CLI_OK;
    how.output = own->output;
    if (file_list_is_folder(own->output)) {
        code = file_list_output(named, sizeof named, own->output, path, ".npz");
        how.output = named;
    }
    if (code == CLI_OK)
        code = output_ending_check(how.output, VG_PRODUCT_SCORES);
    if (code == CLI_OK) /* no output of one file may be the input of another; the rest is checked where it is written */
        code = output_path_check(how.output, VG_PRODUCT_SCORES, true, (const char *const *)list->items, list->count,
                                 &work->request.input);
    if (code != CLI_OK)
        return code;
    how.force = own->force;
    how.maps = own->maps;
    how.pictures = own->pictures;
    how.summary = !own->output || own->json;
    how.job = console_job_writing(&state, own->output);
    code = console_status(vg_score_file(&result, path, &work->request.input, &how));
    console_job_end(&state);
    if (code != CLI_OK)
        return code;
    code = show(work, result, how.output);
    vg_score_result_free(result);
    return code;
}

static int score_all(score_work *work, const file_list *list) {
    work->several = list->count > 1;
    work->list = list->several;
    int code = work->own->output && (work->several || file_list_is_folder(work->own->output))
                   ? file_list_check(list, work->own->output)
                   : CLI_OK;
    if (code == CLI_OK && work->own->maps && work->several)
        code = console_usage("--maps takes one prediction file, found %zu", list->count);
    if (code == CLI_OK && work->own->json && output_is_standard(work->own->output))
        code = console_usage("--json and -o - both write to standard output");
    if (code != CLI_OK)
        return code;
    if (work->several)
        table_begin(&work->table, "file|samples|members|classes|diversity|ensemble|abstained|accuracy");
    for (size_t i = 0; i < list->count && code == CLI_OK; i++)
        code = score(work, list, list->items[i]);
    if (work->list && work->own->json && code == CLI_OK)
        printf("]\n");
    if (work->several && code == CLI_OK && !work->own->output && !work->own->json)
        table_print(&work->table);
    else
        free(work->table.cells);
    return code;
}

static int run(const command *self, int argc, char **argv) {
    static score_options options;
    score_values own;
    option_files files;
    option_group groups[] = {OPTION_GROUP("Output", own_entries, &own), SCORE_OPTION_GROUP(options)};
    int code = options_parse(self, groups, 2, argc, argv, &files);
    if (code != CLI_OK)
        return code;
    if (files.count == 0)
        return console_usage("expected a prediction file; 'vargate help score' shows the usage");
    file_list list;
    score_work work = {.own = &own};
    code = file_list_open(&list, &files);
    if (code == CLI_OK)
        code = score_options_request(&work.request, &options);
    work.request.scoring.device = (vg_score_device)own.device;
    if (code == CLI_OK)
        code = score_all(&work, &list);
    file_list_free(&list);
    return code;
}

const command command_score = {
    .name = "score",
    .summary = "uncertainty of every sample of a prediction file",
    .usage = "PRED [PRED ...] [options]",
    .details = "PRED holds predictions (N samples, M members, C classes) as .npy, .npz, .safetensors, .csv or .jsonl;\n"
               "'-' is standard input, of the kind that --format tells. Probabilities, or logits (arrays named Z, or "
               "--logits).",
    .example = "vargate score predictions.npz -k 0.5,1,2 -o scores.npz",
    .run = run,
};
