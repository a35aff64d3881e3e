/* cmd_calibrate.c - vargate calibrate: temperatures or other maps fitted to validation predictions, kept as JSON. */
#include "cli.h"

typedef struct calibrate_values {
    vg_calibrate_options fit;
    vg_calibrate_file_options file;
    bool per_member, json;
} calibrate_values;

#define PLACE(member) offsetof(calibrate_values, member)
static const option_entry own_entries[] = {
    {"output", 'o', OPTION_TEXT, PLACE(file.output), "FILE", NULL,
     "write the temperatures, or the map, as JSON: temps.json, - for standard output", 0, 0},
    OPTION_FORCE_SWITCH(PLACE(file.force)),
    {"json", 0, OPTION_FLAG, PLACE(json), NULL, NULL, "print what the file holds instead of a table", 0, 0},
    {"method", 0, OPTION_CHOICE, PLACE(fit.method), "temperature|vector|dirichlet|isotonic|histogram|venn-abers",
     "temperature", "what is fitted; all but temperature take probabilities, too", 0, 0},
    {"per-member", 0, OPTION_FLAG, PLACE(per_member), NULL, NULL, "one temperature or map per member (the default)", 0,
     0},
    {"shared", 0, OPTION_SWITCH, PLACE(fit.shared), NULL, NULL, "one for all members, as for Monte Carlo dropout", 0,
     0},
    {"mean", 0, OPTION_SWITCH, PLACE(fit.mean), NULL, NULL,
     "one map, of the mean over members; the members are moved to match it", 0, 0},
    {"map-bins", 0, OPTION_UNSIGNED, PLACE(fit.map_bins), "B", "15", "histogram: bins of each class", 1, 10000},
    {"equal-mass", 0, OPTION_SWITCH, PLACE(fit.equal_mass), NULL, NULL,
     "histogram: bins with equal numbers of samples instead of equal width", 0, 0},
    {"off-diagonal", 0, OPTION_REAL, PLACE(fit.off_diagonal), "L", "0.001",
     "dirichlet: penalty on the mean square of the entries off the diagonal", 0, 1e12},
    {"intercept", 0, OPTION_REAL, PLACE(fit.intercept), "L", "0.001",
     "dirichlet: penalty on the mean square of the biases", 0, 1e12},
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
     "held-out figures: each fold at temperatures fitted to the others, images kept whole; 0: none", 0, 100},
    {"bins", 0, OPTION_UNSIGNED, PLACE(fit.bins), "B", "15", "bins of the calibration error", 1, 1000},
};

/* --- printing ----------------------------------------------------------------------------------------------------- */
static void metric_row(text_table *table, const char *name, double before, double after, double held_out) {
    size_t row = table_row(table, name);
    table_number(table, row, 1, before, 6);
    table_number(table, row, 2, after, 6);
    if (!isnan(held_out))
        table_number(table, row, 3, held_out, 6);
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
    printf("\n%s", result->text);
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
        return console_usage("expected one file of predictions, found %zu; 'vargate help calibrate' shows the usage",
                             files);
    if (own->per_member + fit->shared + fit->mean > 1)
        return console_usage("--per-member, --shared and --mean exclude each other");
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
        "id",     "member", "calibration-map", "temperature", "multilabel", "multilabel-form", "k",        "class-k",
        "preset", "pairs",  "sigma",           "log-base",    "normalise",  "renormalise",     "measures", NULL};
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
    .summary = "fit temperatures or other calibration maps to validation predictions",
    .usage = "LOGITS [--labels FILE] [options] -o temps.json",
    .details =
        "LOGITS holds validation logits (N samples, M members, C classes) in any format that 'vargate score' reads.\n"
        "Every command that scores takes the result: --calibration-map temps.json. The column 'held out' shows every\n"
        "sample at temperatures, or a map, fitted without it; where it is worse than 'before', do not use them.",
    .example = "vargate calibrate validation.npz -o temps.json && vargate score test.npz --calibration-map temps.json",
    .run = run,
};
