/* cmd_evaluate.c - vargate evaluate: what predictions and their uncertainties are worth, given the labels. */
#include <stdlib.h>

#include "commands.h"
#include "console.h"
#include "evaluation_report.h"
#include "workflow/measure_columns.h"
#include "progress.h"
#include "score_bridge.h"

typedef struct evaluate_values {
    bool json;
    size_t bins, bootstrap, seed, curve;
    double confidence;
    option_reals coverages, risks;
} evaluate_values;

#define PLACE(member) offsetof(evaluate_values, member)
static const option_entry own_entries[] = {
    {"json", 0, OPTION_FLAG, PLACE(json), NULL, NULL, "print the result as JSON", 0, 0},
    {"bins", 0, OPTION_COUNT, PLACE(bins), "B", "15", "bins of the calibration errors", 1, 10000},
    {"bootstrap", 0, OPTION_COUNT, PLACE(bootstrap), "R", "0", "resamples for intervals, 1000 is usual; 0: none", 0, 1000000},
    {"seed", 0, OPTION_COUNT, PLACE(seed), "S", "1", "seed of the bootstrap", 0, 9007199254740992.0},
    {"confidence", 0, OPTION_REAL, PLACE(confidence), "P", "0.95", "of the intervals", 0.5, 0.999999},
    {"coverages", 0, OPTION_REALS, PLACE(coverages), "C,...", "0.8,0.9,0.95", "coverages whose risk is reported, at most 8", 0,
     0},
    {"risks", 0, OPTION_REALS, PLACE(risks), "R,...", "0.01,0.05", "risks whose coverage is reported, at most 8", 0, 0},
    {"curve", 0, OPTION_COUNT, PLACE(curve), "POINTS", "0", "points of each measure's risk-coverage curve in the JSON; 0: none",
     0, 100000},
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

static int make_tally(vg_tally **tally, const vg_score_input *in, const evaluate_values *own) {
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    options.task = in->options.task;
    options.bins = own->bins;
    options.bootstrap = own->bootstrap > 0;
    options.expected = in->layout.n;
    return vg_tally_new(tally, in->layout.c, &options) == VG_OK ? CLI_OK : console_fail_library();
}

static int evaluate(vg_evaluation **out, const vg_score_input *in, const vg_tally *tally, const vg_columns *columns,
                    const evaluate_values *own) {
    int code = CLI_OK;
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    progress bar;
    progress_begin(&bar, "evaluating", "steps");
    options.k = in->layout.k;
    options.k_count = in->layout.k_count;
    options.coverages = own->coverages.values;
    options.coverage_count = own->coverages.count;
    options.risks = own->risks.values;
    options.risk_count = own->risks.count;
    options.curve_points = own->curve;
    options.resamples = own->bootstrap;
    options.seed = own->seed;
    options.confidence = own->confidence;
    options.threads = in->options.threads;
    options.progress = progress_callback;
    options.progress_context = &bar;
    if (vg_evaluate_columns(out, tally, columns, &options) != VG_OK)
        code = console_fail("%s: %s", in->path, vg_error_message());
    progress_end(&bar);
    return code;
}

static int evaluate_file(const score_options *options, const evaluate_values *own, const char *path) {
    vg_score_input in;
    vg_tally *tally = NULL;
    vg_columns *columns = NULL;
    vg_evaluation *result = NULL;
    int code = score_input_open(&in, options, path);
    if (code != CLI_OK)
        return code;
    code = score_input_need_labels(&in);
    if (code == CLI_OK)
        code = make_tally(&tally, &in, own);
    if (code == CLI_OK)
        code = console_status(vg_measure_columns__score(&columns, tally, &in, in.measures, true));
    if (code == CLI_OK)
        code = evaluate(&result, &in, tally, columns, own);
    if (code == CLI_OK)
        code = own->json ? evaluation_print_json(&in, result) : evaluation_print_tables(&in, result);
    vg_evaluation_free(result);
    vg_columns_free(columns);
    vg_tally_free(tally);
    vg_score_input__close(&in);
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
        return console_usage("expected one prediction file, found %zu; 'vargate help evaluate' shows the usage", files.count);
    return evaluate_file(&options, &own, files.items[0]);
}

const command command_evaluate = {
    .name = "evaluate",
    .summary = "accuracy, calibration, selective prediction and error detection",
    .usage = "PRED [--labels FILE] [options]",
    .details = "Every measure is judged by how well it tells errors from correct predictions; the best of each column is\n"
               "marked with *. AURC, E-AURC, AUGRC and risks: lower is better; AUROC, AUPR and coverages: higher.",
    .example = "vargate evaluate test.npz --temperature temps.json --bootstrap 1000 --json",
    .run = run,
};
