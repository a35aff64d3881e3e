/* cmd_calibrate.c - vargate calibrate: temperatures fitted to validation logits, kept as temps.json. */
#include "cli.h"

typedef struct calibrate_values {
    vg_calibrate_options fit;
    vg_calibrate_file_options file;
    bool per_member, json;
} calibrate_values;

#define PLACE(member) offsetof(calibrate_values, member)
static const option_entry own_entries[] = {
    {"output", 'o', OPTION_TEXT, PLACE(file.output), "FILE", NULL,
     "write the temperatures as JSON: temps.json, - for standard output", 0, 0},
    OPTION_FORCE_SWITCH(PLACE(file.force)),
    {"json", 0, OPTION_FLAG, PLACE(json), NULL, NULL, "print what the file holds instead of a table", 0, 0},
    {"per-member", 0, OPTION_FLAG, PLACE(per_member), NULL, NULL, "one temperature a member (the default)", 0, 0},
    {"shared", 0, OPTION_SWITCH, PLACE(fit.shared), NULL, NULL,
     "one temperature for all members, as for Monte Carlo dropout", 0, 0},
    {"solver", 0, OPTION_CHOICE, PLACE(fit.solver), "newton|bayes|both", "newton",
     "the exact minimiser, the paper's Gaussian-process search, or both and their gap", 0, 0},
    {"evaluations", 0, OPTION_UNSIGNED, PLACE(fit.evaluations), "E", "50", "bayes: evaluations of the loss", 3, 1000},
    {"initial", 0, OPTION_UNSIGNED, PLACE(fit.initial), "I", "10",
     "bayes: how many of them before the search is guided", 2, 1000},
    {"seed", 0, OPTION_COUNT, PLACE(fit.seed), "S", "0", "bayes: seed of its random draws", 0, 9007199254740992.0},
    {"t-min", 0, OPTION_REAL, PLACE(fit.t_min), "T", "0.01",
     "lower end of the temperatures that either solver looks at", 1e-12, 1e12},
    {"t-max", 0, OPTION_REAL, PLACE(fit.t_max), "T", "10", "upper end; an end that is reached is warned of", 1e-12,
     1e12},
    {"folds", 0, OPTION_UNSIGNED, PLACE(fit.folds), "F", "2",
     "held-out figures: each fold at temperatures fitted to the others; 0: none", 0, 100},
    {"bins", 0, OPTION_UNSIGNED, PLACE(fit.bins), "B", "15", "bins of the calibration error", 1, 1000},
};

/* --- telling ------------------------------------------------------------------------------------------------------ */
static void metric_row(text_table *table, const char *name, double before, double after, double held_out) {
    size_t row = table_row(table, name);
    table_number(table, row, 1, before, 6);
    table_number(table, row, 2, after, 6);
    if (!isnan(held_out))
        table_number(table, row, 3, held_out, 6);
}

static int compare_reals(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_temperatures(const vg_calibration *result) {
    double *sorted = malloc(result->count * sizeof *sorted);
    if (!sorted) {
        console_lose_output();
        return;
    }
    for (size_t i = 0; i < result->count; i++)
        sorted[i] = result->temperatures[i];
    qsort(sorted, result->count, sizeof *sorted, compare_reals);
    if (result->count == 1)
        printf("\nTemperature    %.6g%s\n", sorted[0], result->members > 1 ? ", shared by all members" : "");
    else
        printf("\nTemperatures   one a member: median %.6g, from %.6g to %.6g\n", sorted[result->count / 2], sorted[0],
               sorted[result->count - 1]);
    free(sorted);
    if (result->newton)
        printf("newton         %u sweep%s over the data (%.1f passes of work)\n", result->newton_sweeps,
               plural(result->newton_sweeps), result->newton_passes);
    if (result->bayes)
        printf("bayes          %u sweep%s over the data\n", result->bayes_sweeps, plural(result->bayes_sweeps));
    if (result->newton && result->bayes && isnan(result->gap_log_t_max))
        printf("gap            in the loss: worst %.3g (no minimiser lies inside the range of T)\n",
               result->gap_loss_max);
    else if (result->newton && result->bayes)
        printf("gap            in log T: median %.3g, worst %.3g; in the loss: worst %.3g\n", result->gap_log_t_median,
               result->gap_log_t_max, result->gap_loss_max);
    if (result->folds)
        printf(
            "held out       every sample at temperatures fitted without it, %u folds; NLL changes by %+.2g +- %.2g\n",
            result->folds, result->held_out.nll - result->before.nll, result->held_out_nll_error);
}

static int print_table(const char *path, const vg_calibration *result) {
    text_table table;
    heading_print(path, result->samples, result->members, result->classes, false, "");
    const vg_calibration_metrics *was = &result->before, *is = &result->after, *held = &result->held_out;
    table_begin(&table, result->folds ? "|before|after|held out" : "|before|after");
    metric_row(&table, "NLL", was->nll, is->nll, held->nll);
    metric_row(&table, "ECE", was->ece, is->ece, held->ece);
    metric_row(&table, "accuracy", was->accuracy, is->accuracy, held->accuracy);
    if (result->members > 1) {
        metric_row(&table, "NLL, mean of members", was->member_nll, is->member_nll, held->member_nll);
        metric_row(&table, "ECE, mean of members", was->member_ece, is->member_ece, held->member_ece);
    }
    table_print(&table);
    print_temperatures(result);
    return CLI_OK;
}

static int calibrate(calibrate_values *own, const score_options *reading, const char *path) {
    vg_calibration *result;
    console_job listener;
    char *text;
    score_request request;
    int code = score_options_request(&request, reading);
    if (code != CLI_OK)
        return code;
    own->fit.threads = reading->threads;
    own->file.fit = &own->fit;
    own->file.job = console_job_writing(&listener, own->file.output);
    code = console_status(vg_calibrate_file(&result, path, &request.input, &own->file));
    console_job_end(&listener);
    if (code == CLI_OK)
        code = own->json ? text_print_result(vg_temperatures_text(&text, result), &text) : print_table(path, result);
    vg_calibration_free(result);
    return code;
}

static int check_usage(const calibrate_values *own, size_t files) {
    const vg_calibrate_options *fit = &own->fit;
    if (files != 1)
        return console_usage("expected one file of logits, found %zu; 'vargate help calibrate' shows the usage", files);
    if (own->per_member && fit->shared)
        return console_usage("--per-member and --shared exclude each other");
    if (fit->initial > fit->evaluations)
        return console_usage("--initial %u is more than --evaluations %u", fit->initial, fit->evaluations);
    if (fit->t_min >= fit->t_max)
        return console_usage("--t-min %g is not below --t-max %g", fit->t_min, fit->t_max);
    if (fit->folds == 1)
        return console_usage("--folds 1 leaves nothing to fit to; give 0 or 2 and more");
    return CLI_OK;
}

static int run(const command *self, int argc, char **argv) {
    static const char *const without[] = {
        "id",     "member", "logits", "temperature", "multilabel", "multilabel-form", "k",        "class-k",
        "preset", "pairs",  "sigma",  "log-base",    "normalise",  "renormalise",     "measures", "ignore", NULL};
    static score_options reading;
    calibrate_values own = {.fit = VG_CALIBRATE_OPTIONS_INIT, .file = VG_CALIBRATE_FILE_OPTIONS_INIT};
    option_files files;
    option_group groups[] = {OPTION_GROUP("Options", own_entries, &own),
                             SCORE_OPTION_SUBSET("Reading", reading, without)};
    int code = options_parse(self, groups, 2, argc, argv, &files);
    if (code == CLI_OK)
        code = check_usage(&own, files.count);
    if (code != CLI_OK)
        return code;
    output_as_json(&own.file.output, &own.json);
    return calibrate(&own, &reading, files.items[0]);
}

const command command_calibrate = {
    .name = "calibrate",
    .summary = "fit temperatures to validation logits",
    .usage = "LOGITS [--labels FILE] [options] -o temps.json",
    .details =
        "LOGITS holds validation logits (N samples, M members, C classes) in any format that 'vargate score' reads.\n"
        "Every command that scores takes the result: --temperature temps.json. The column 'held out' shows every\n"
        "sample at temperatures that were fitted without it; where it is worse than 'before', do not use the "
        "temperatures.",
    .example = "vargate calibrate validation.npz -o temps.json && vargate score test.npz --temperature temps.json",
    .run = run,
};
