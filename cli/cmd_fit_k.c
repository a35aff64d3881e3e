/* cmd_fit_k.c - vargate fit-k: a k of the gate for every class, fitted to validation predictions, kept as k.json. */
#include "cli.h"
#include "vargate/fit_k.h"

typedef struct fit_k_values {
    vg_fit_k_options fit;
    vg_fit_k_file_options file;
    bool json;
} fit_k_values;

#define PLACE(member) offsetof(fit_k_values, member)
static const option_entry own_entries[] = {
    {"output", 'o', OPTION_TEXT, PLACE(file.output), "FILE", NULL,
     "write the ks as JSON: k.json, - for standard output", 0, 0},
    {"one", 0, OPTION_SWITCH, PLACE(file.one), NULL, NULL,
     "write the one k for all classes instead of a k for every class", 0, 0},
    {"k-min", 0, OPTION_REAL, PLACE(fit.k_min), "K", "0.001", "lower bound of every k", 1e-3, 1e6},
    {"k-max", 0, OPTION_REAL, PLACE(fit.k_max), "K", "1000", "upper bound of every k", 1e-3, 1e6},
    {"folds", 0, OPTION_UNSIGNED, PLACE(fit.folds), "F", "5",
     "held-out figures: each fold at ks fitted to the others, images kept whole; 0: none", 0, 100},
    {"bins", 0, OPTION_UNSIGNED, PLACE(fit.bins), "B", "15", "bins of the calibration error", 1, 1000},
    OPTION_FORCE_SWITCH(PLACE(file.force)),
    {"json", 0, OPTION_FLAG, PLACE(json), NULL, NULL, "print what the file holds instead of a table", 0, 0},
};

static void figure_row(text_table *table, const char *name, const vg_k_fit *f, size_t offset) {
    const vg_k_figures *all[] = {&f->before, &f->one.after, &f->one.held_out, &f->by_class.after,
                                 &f->by_class.held_out};
    size_t row = table_row(table, name);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        double value = *(const double *)(const void *)((const char *)all[i] + offset);
        if (!isnan(value))
            table_number(table, row, i + 1, value, 6);
    }
}

static int print_table(const char *path, const vg_k_fit *f) {
    text_table table;
    double low = f->k[0], high = f->k[0];
    for (size_t c = 1; c < f->classes; c++) {
        low = fmin(low, f->k[c]);
        high = fmax(high, f->k[c]);
    }
    heading_print(path, f->samples, f->members, f->classes, false, "");
    table_begin(&table, "|plain mean|one k|held out|k per class|held out");
    figure_row(&table, "NLL", f, offsetof(vg_k_figures, nll));
    figure_row(&table, "ECE", f, offsetof(vg_k_figures, ece));
    figure_row(&table, "accuracy", f, offsetof(vg_k_figures, accuracy));
    table_print(&table);
    printf("\nOne k          %.4g (%u iterations, largest derivative %.1e)\n", f->k_one, f->one.iterations,
           f->one.gradient);
    printf("k per class    from %.4g to %.4g (%u iterations, largest derivative %.1e)\n", low, high,
           f->by_class.iterations, f->by_class.gradient);
    printf("\n%s\n", f->text);
    return CLI_OK;
}

static int fit(fit_k_values *own, const score_options *scoring, const char *path) {
    score_request request;
    console_job listener;
    vg_k_fit *result;
    char *text;
    int code = score_options_request(&request, scoring);
    if (code != CLI_OK)
        return code;
    own->fit.threads = scoring->threads;
    own->file.fit = &own->fit;
    own->file.job = console_job_writing(&listener, own->file.output);
    code = console_status(vg_fit_k_file(&result, path, &request.input, &own->file));
    console_job_end(&listener);
    if (code != CLI_OK)
        return code;
    code =
        own->json ? text_print_result(vg_k_fit_json(&text, result, own->file.one), &text) : print_table(path, result);
    vg_free(result);
    return code;
}

static int run(const command *self, int argc, char **argv) {
    static score_options options;
    static const char *const without[] = {"k",      "class-k",     "measures", "multilabel", "multilabel-form",
                                          "preset", "pairs",       "sigma",    "log-base",   "normalise",
                                          "id",     "renormalise", NULL};
    fit_k_values own = {.fit = VG_FIT_K_OPTIONS_INIT, .file = VG_FIT_K_FILE_OPTIONS_INIT};
    option_files files;
    option_group groups[] = {OPTION_GROUP("Fit", own_entries, &own),
                             SCORE_OPTION_SUBSET("Predictions", options, without)};
    int code = options_parse(self, groups, 2, argc, argv, &files);
    if (code != CLI_OK)
        return code;
    if (files.count != 1)
        return console_usage("expected one file of predictions, found %zu; 'vargate help fit-k' shows the usage",
                             files.count);
    if (own.fit.k_min >= own.fit.k_max)
        return console_usage("--k-min %g is not below --k-max %g", own.fit.k_min, own.fit.k_max);
    if (own.fit.folds == 1)
        return console_usage("--folds 1 leaves nothing to fit to; give 0 or 2 and more");
    output_as_json(&own.file.output, &own.json);
    return fit(&own, &options, files.items[0]);
}

const command command_fit_k = {
    .name = "fit-k",
    .summary = "fit a k of the gate for every class to validation predictions",
    .usage = "VAL [--labels FILE] [options] -o k.json",
    .details =
        "VAL holds validation predictions, probabilities or logits, in any format that 'vargate score' reads. The ks\n"
        "maximise the likelihood of the mean of the gated members; members stay as they are. Every command that\n"
        "scores takes the result: -k k.json. The last line says whether held-out samples support one k, a k for every\n"
        "class, or the plain mean.",
    .example = "vargate fit-k validation.npz -o k.json && vargate score test.npz -k k.json",
    .run = run,
};
