/* cmd_evaluate.c - vargate evaluate: what predictions and their uncertainties are worth, given the labels. */
#include "commands.h"
#include "console.h"
#include "console_job.h"
#include "evaluation_report.h"
#include "json_print.h"
#include "score_options.h"

typedef struct evaluate_values {
    bool json, all;
    size_t bins, bootstrap, seed, curve;
    double confidence;
    option_reals coverages, risks;
} evaluate_values;

#define PLACE(member) offsetof(evaluate_values, member)
static const option_entry own_entries[] = {
    {"json", 0, OPTION_FLAG, PLACE(json), NULL, NULL, "print the result as JSON", 0, 0},
    {"all", 0, OPTION_FLAG, PLACE(all), NULL, NULL, "show every measure, figure and class", 0, 0},
    {"bins", 0, OPTION_COUNT, PLACE(bins), "B", "15", "bins of the calibration errors", 1, 10000},
    {"bootstrap", 0, OPTION_COUNT, PLACE(bootstrap), "R", "0", "resamples for intervals, 1000 is usual; 0: none", 0,
     1000000},
    {"seed", 0, OPTION_COUNT, PLACE(seed), "S", "1", "seed of the bootstrap", 0, 9007199254740992.0},
    {"confidence", 0, OPTION_REAL, PLACE(confidence), "P", "0.95", "of the intervals", 0.5, 0.999999},
    {"coverages", 0, OPTION_REALS, PLACE(coverages), "C,...", "0.8,0.9,0.95",
     "coverages whose risk is reported, at most 8", 0, 0},
    {"risks", 0, OPTION_REALS, PLACE(risks), "R,...", "0.01,0.05", "risks whose coverage is reported, at most 8", 0, 0},
    {"curve", 0, OPTION_COUNT, PLACE(curve), "POINTS", "0",
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

static int evaluate(const score_options *options, const evaluate_values *own, const char *path) {
    score_request request;
    vg_evaluate_file_options how = VG_EVALUATE_FILE_OPTIONS_INIT;
    vg_evaluation_result *result;
    console_job state;
    char *text = NULL;
    int code = score_options_request(&request, options);
    if (code != CLI_OK)
        return code;
    how.bins = own->bins;
    how.resamples = own->bootstrap;
    how.seed = own->seed;
    how.confidence = own->confidence;
    how.coverages = own->coverages.values;
    how.coverage_count = own->coverages.count;
    how.risks = own->risks.values;
    how.risk_count = own->risks.count;
    how.curve_points = own->curve;
    how.job = console_job_listener(&state);
    code = console_status(vg_evaluate_file(&result, path, &request.input, &how));
    console_job_end(&state);
    if (code != CLI_OK)
        return code;
    code = own->json ? json_print_result(vg_evaluation_result_json(&text, result), &text)
                     : evaluation_print_tables(result, own->all);
    vg_evaluation_result_free(result);
    return code;
}

static int run(const command *self, int argc, char **argv) {
    static score_options options;
    static evaluate_values own;
    option_files files;
    option_group groups[] = {{"Evaluation", own_entries, sizeof own_entries / sizeof *own_entries, &own},
                             SCORE_OPTION_GROUP(options)};
    int code = options_parse(self, groups, 2, argc, argv, &files);
    if (code == CLI_OK)
        code = check_points("coverages", &own.coverages);
    if (code == CLI_OK)
        code = check_points("risks", &own.risks);
    if (code != CLI_OK)
        return code;
    if (files.count != 1)
        return console_usage("expected one prediction file, found %zu; 'vargate help evaluate' shows the usage",
                             files.count);
    return evaluate(&options, &own, files.items[0]);
}

const command command_evaluate = {
    .name = "evaluate",
    .summary = "accuracy, calibration, selective prediction and error detection",
    .usage = "PRED [--labels FILE] [options]",
    .details =
        "Every measure is judged by how well it tells errors from correct predictions; the best of each column is\n"
        "marked with *. AURC, E-AURC, AUGRC and risks: lower is better; AUROC, AUPR and coverages: higher.",
    .example = "vargate evaluate test.npz --temperature temps.json --bootstrap 1000 --json",
    .run = run,
};
