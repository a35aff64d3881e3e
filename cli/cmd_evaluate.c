/* cmd_evaluate.c - vargate evaluate: figures of predictions and their uncertainties, given the labels. */
#include "cli.h"

typedef struct evaluate_values {
    vg_evaluate_file_options how;
    const char *output;
    bool json, all, force;
    option_reals coverages, risks;
} evaluate_values;

#define PLACE(member) offsetof(evaluate_values, member)
static const option_entry own_entries[] = {
    {"output", 'o', OPTION_TEXT, PLACE(output), "FILE", NULL,
     "write every figure: .json or .csv, - for JSON on standard output; a folder: one .json for each input", 0, 0},
    OPTION_FORCE(PLACE(force)),
    {"json", 0, OPTION_FLAG, PLACE(json), NULL, NULL, "print the result as JSON; of several files a list", 0, 0},
    {"all", 0, OPTION_FLAG, PLACE(all), NULL, NULL, "show every measure, figure and class", 0, 0},
    {"bins", 0, OPTION_COUNT, PLACE(how.bins), "B", "15", "bins of the calibration errors", 1, 10000},
    OPTION_BOOTSTRAP(PLACE(how.resamples), "0", "resamples for intervals, 1000 is usual; 0: none"),
    OPTION_SEED(PLACE(how.seed)),
    OPTION_CONFIDENCE(PLACE(how.confidence)),
    {"coverages", 0, OPTION_REALS, PLACE(coverages), "C,...", "0.8,0.9,0.95",
     "coverages whose risk is reported, at most 8", 0, 0},
    {"risks", 0, OPTION_REALS, PLACE(risks), "R,...", "0.01,0.05", "risks whose coverage is reported, at most 8", 0, 0},
    {"curve", 0, OPTION_COUNT, PLACE(how.curve_points), "POINTS", "0",
     "points of each measure's risk-coverage curve in the JSON; 0: none", 0, 100000},
};

static int check_points(const char *name, const option_reals *points) {
    if (points->count > VG_MAX_OPERATING_POINTS)
        return console_usage("--%s: %zu values, at most %d", name, points->count, VG_MAX_OPERATING_POINTS);
    for (size_t i = 0; i < points->count; i++) {
        if (!(points->values[i] > 0 && points->values[i] <= 1))
            return console_usage("--%s: %g is not in (0, 1]", name, points->values[i]);
    }
    return CLI_OK;
}

/* Copies the lists to the library's options. */
static void complete(evaluate_values *own) {
    own->how.coverages = own->coverages.values;
    own->how.coverage_count = own->coverages.count;
    own->how.risks = own->risks.values;
    own->how.risk_count = own->risks.count;
}

/* Where the results of all files go: one file of figures, a file each in a folder, the terminal. */
typedef struct evaluate_work {
    const evaluate_values *own;
    score_request request;
    vg_evaluation_result **results;
    size_t count;
} evaluate_work;

static int check_output(const evaluate_work *work, const file_list *list, const char *output) {
    return output_path_check(output, VG_PRODUCT_FIGURES, work->own->force, (const char *const *)list->items,
                             list->count, &work->request.input);
}

static int write_each(const evaluate_work *work, const file_list *list) {
    int code = CLI_OK;
    for (size_t i = 0; i < list->count && code == CLI_OK; i++) {
        char output[4096];
        const vg_evaluation_result *one = work->results[i];
        code = file_list_output(output, sizeof output, work->own->output, list->items[i], ".json");
        if (code == CLI_OK)
            code = check_output(work, list, output);
        if (code == CLI_OK)
            code = output_written(GUARDED(vg_evaluation_results_save(&one, 1, 0, output)), output);
    }
    return code;
}

static void print_files(const evaluate_work *work) {
    text_table table;
    table_begin(&table, "file|samples|accuracy|ECE|NLL|ensemble|best measure|error AUROC");
    for (size_t i = 0; i < work->count; i++) {
        const vg_evaluation_result *result = work->results[i];
        const vg_evaluation *e = result->evaluation;
        size_t row = table_row(&table, result->file), leader = e->lead.leader;
        table_figures(&table, row, 1, "#%44",
                      (double[]){(double)result->n, e->accuracy.value, e->ece.value, e->nll.value});
        table_text(&table, row, 5, result->verdict->name);
        table_text(&table, row, 6, leader < e->measure_count ? e->measures[leader].name : "-");
        table_number(&table, row, 7, leader < e->measure_count ? e->measures[leader].error_auroc.value : NAN, 4);
    }
    table_print(&table);
}

static int show_at(const evaluate_work *work, const file_list *list, const char *output) {
    if (!output && work->count == 1)
        evaluation_print_tables(work->results[0], work->own->all);
    else if (!output)
        print_files(work);
    if (!output)
        return CLI_OK;
    if (file_list_is_folder(output))
        return write_each(work, list);
    const vg_evaluation_result *const *results = (const vg_evaluation_result *const *)work->results;
    return output_written(GUARDED(vg_evaluation_results_save(results, work->count, list->several, output)), output);
}

/* Writes what -o and --json ask for; without either, prints tables. */
static int show(const evaluate_work *work, const file_list *list) {
    const char *output = work->own->output;
    bool print = work->own->json && !output_is_standard(output);
    int code = output || !print ? show_at(work, list, output) : CLI_OK;
    return code == CLI_OK && print ? show_at(work, list, "-") : code;
}

static int evaluate(evaluate_work *work, const file_list *list) {
    const char *output = work->own->output;
    int code = CLI_OK;
    if (output && file_list_is_folder(output))
        code = file_list_check(list, output);
    else if (output)
        code = check_output(work, list, output);
    for (size_t i = 0; i < list->count && code == CLI_OK; i++) {
        vg_evaluate_file_options how = work->own->how;
        console_job state;
        how.job = console_job_listener(&state);
        code = console_status(vg_evaluate_file(&work->results[i], list->items[i], &work->request.input, &how));
        console_job_end(&state);
        work->count += code == CLI_OK;
    }
    return code == CLI_OK ? show(work, list) : code;
}

static int evaluate_all(evaluate_work *work, const file_list *list) {
    work->results = calloc(list->count, sizeof *work->results);
    int code = work->results ? evaluate(work, list) : console_fail_memory("the results");
    for (size_t i = 0; i < work->count; i++)
        vg_evaluation_result_free(work->results[i]);
    free(work->results);
    return code;
}

static int run(const command *self, int argc, char **argv) {
    static score_options options;
    static evaluate_values own = {.how = VG_EVALUATE_FILE_OPTIONS_INIT};
    option_files files;
    option_group groups[] = {OPTION_GROUP("Evaluation", own_entries, &own), SCORE_OPTION_GROUP(options)};
    int code = options_parse(self, groups, 2, argc, argv, &files);
    if (code == CLI_OK)
        code = check_points("coverages", &own.coverages);
    if (code == CLI_OK)
        code = check_points("risks", &own.risks);
    if (code != CLI_OK)
        return code;
    complete(&own);
    if (files.count == 0)
        return console_usage("expected a prediction file; 'vargate help evaluate' shows the usage");
    file_list list;
    evaluate_work work = {.own = &own};
    code = file_list_open(&list, &files);
    if (code == CLI_OK)
        code = score_options_request(&work.request, &options);
    if (code == CLI_OK)
        code = evaluate_all(&work, &list);
    file_list_free(&list);
    return code;
}

const command command_evaluate = {
    .name = "evaluate",
    .summary = "accuracy, calibration, selective prediction and error detection",
    .usage = "PRED [PRED ...] [--labels FILE] [options]",
    .details =
        "Every measure is judged by how well it tells errors from correct predictions; the best of each column is\n"
        "marked with *. AURC, E-AURC, AUGRC and risks: lower is better; AUROC, AUPR and coverages: higher.",
    .example = "vargate evaluate test.npz --calibration-map temps.json --bootstrap 1000 --json",
    .run = run,
};
