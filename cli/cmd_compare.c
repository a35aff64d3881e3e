/* cmd_compare.c - vargate compare: runs or predictions side by side, each tested against the first. */
#include "cli.h"

typedef struct compare_values {
    vg_compare_options how;
    const char *output;
    bool json, force;
} compare_values;

#define PLACE(member) offsetof(compare_values, member)
static const option_entry own_entries[] = {
    {"output", 'o', OPTION_TEXT, PLACE(output), "FILE", NULL,
     "write the comparison: .json, .csv, .md or .html (a page), - for JSON on standard output", 0, 0},
    OPTION_FORCE(PLACE(force)),
    {"json", 0, OPTION_FLAG, PLACE(json), NULL, NULL, "print the result as JSON", 0, 0},
    OPTION_BOOTSTRAP(PLACE(how.resamples), "1000", "resamples for intervals and paired tests; 0: neither"),
    OPTION_SEED(PLACE(how.seed)),
    OPTION_CONFIDENCE(PLACE(how.confidence)),
};

/* Every figure that was resampled, with its interval; where it is tested, its difference to the first row's. */
static void print_intervals(const vg_compare_result *result) {
    const vg_figure_table *figures = result->table;
    bool tested = false;
    text_table table;
    table_begin(&table, "interval of|value|interval|to the first|interval|p");
    for (size_t at = 0; at < result->count * figures->columns; at++) {
        size_t r = at / figures->columns, c = at % figures->columns;
        char name[TABLE_CELL];
        if (isnan(figures->values[at].low))
            continue;
        snprintf(name, sizeof name, "%.44s: %.14s", result->rows[r].name, figures->figures[c].title);
        size_t row = table_row(&table, name);
        table_number(&table, row, 1, figures->values[at].value, 4);
        interval_cell(&table, row, 2, &figures->values[at]);
        if (isnan(result->p_values[at]))
            continue;
        tested = true;
        table_number(&table, row, 3, result->differences[at].value, 3);
        interval_cell(&table, row, 4, &result->differences[at]);
        table_number(&table, row, 5, result->p_values[at], 2);
    }
    printf("\n");
    if (table.rows > 1)
        table_print(&table);
    else
        free(table.cells);
    if (!tested && result->count > 1)
        printf("No difference is tested: %s.\n", result->rows[0].predictions
                                                     ? "no other row has predictions of the same samples as the first"
                                                     : "the first row has stored figures, no predictions");
}

/* Rows in the order given; '*' at the best of a column where rows differ in it. */
void comparison_print_figures(const vg_compare_result *result) {
    const vg_figure_table *figures = result->table;
    text_table table;
    table_begin(&table, "run|accuracy|F1|ECE|NLL|Brier|D|AURC|error AUROC|by|OOD AUROC");
    for (size_t r = 0; r < result->count; r++) {
        size_t row = table_row(&table, result->rows[r].name);
        for (size_t c = 0, at = 1; c < figures->columns; c++, at++) {
            double value = figures->values[r * figures->columns + c].value;
            table_number(&table, row, at, value, 4);
            bool tied = true;
            for (size_t other = 0; other < result->count; other++)
                tied = tied && figures->values[other * figures->columns + c].value == value;
            if (figures->best[c] == r && !tied)
                table_mark(&table, row, at);
            if (strcmp(figures->figures[c].key, "error_auroc") == 0)
                table_text(&table, row, ++at, *result->rows[r].measure ? result->rows[r].measure : "-");
        }
    }
    table_print(&table);
    printf("AURC and error AUROC are by the measure of lowest AURC. * the best of a column.\n");
}

static int output(const vg_compare_result *result, const compare_values *own) {
    char *text = NULL;
    int code = own->output ? output_written(GUARDED(vg_compare_result_save(result, own->output)), own->output) : CLI_OK;
    if (code != CLI_OK || (own->output && !own->json))
        return code;
    if (own->json)
        return json_print_result(vg_compare_result_json(&text, result), &text);
    comparison_print_figures(result);
    if (result->resamples > 0)
        print_intervals(result);
    return CLI_OK;
}

int comparison_make(vg_compare_result **out, const option_files *files, const score_request *request,
                    vg_compare_options how) {
    console_job state;
    how.job = console_job_listener(&state);
    int code = console_status(vg_compare(out, (const char *const *)files->items, files->count, &request->input, &how));
    console_job_end(&state);
    return code;
}

static int compare(const score_options *options, const compare_values *own, const option_files *files) {
    score_request request;
    vg_compare_result *result;
    int code = score_options_request(&request, options);
    if (code == CLI_OK)
        code = output_path_check(own->output, VG_PRODUCT_COMPARISON, own->force, (const char *const *)files->items,
                                 files->count, &request.input);
    if (code == CLI_OK)
        code = comparison_make(&result, files, &request, own->how);
    if (code != CLI_OK)
        return code;
    code = output(result, own);
    vg_compare_result_free(result);
    return code;
}

static int run(const command *self, int argc, char **argv) {
    static score_options options;
    compare_values own = {.how = VG_COMPARE_OPTIONS_INIT};
    option_files files;
    option_group groups[] = {OPTION_GROUP("Comparison", own_entries, &own), SCORE_OPTION_GROUP(options)};
    int code = options_parse(self, groups, 2, argc, argv, &files);
    if (code != CLI_OK)
        return code;
    output_as_json(&own.output, &own.json);
    if (files.count == 0)
        return console_usage("expected runs or files of predictions; 'vargate help compare' shows the usage");
    if (files.count > VG_COMPARE_MOST)
        return console_usage("%zu inputs, expected at most %d", files.count, VG_COMPARE_MOST);
    return compare(&options, &own, &files);
}

const command command_compare = {
    .name = "compare",
    .summary = "runs or predictions side by side, tested against the first",
    .usage = "RUN [RUN ...] [options]",
    .details =
        "RUN is the folder of a finished run, a file of predictions with labels, or JSON of 'vargate evaluate'. A run\n"
        "that was calibrated has two rows. Rows with the samples of the first are tested against it: accuracy by\n"
        "McNemar's exact test, F1, NLL, Brier, AURC and error AUROC by resampling both with the same draws.",
    .example = "vargate compare runs/a runs/b -o comparison.md",
    .run = run,
};
