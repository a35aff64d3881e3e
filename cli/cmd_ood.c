/* cmd_ood.c - vargate ood: how well each measure separates out-of-distribution samples from in-distribution ones. */
#include "cli.h"

typedef struct ood_values {
    vg_ood_files_options how;
    const char *output;
    bool json, force;
} ood_values;

#define PLACE(member) offsetof(ood_values, member)
static const option_entry own_entries[] = {
    {"output", 'o', OPTION_TEXT, PLACE(output), "FILE", NULL,
     "write every figure: .json or .csv, - for JSON on standard output", 0, 0},
    OPTION_FORCE(PLACE(force)),
    {"json", 0, OPTION_FLAG, PLACE(json), NULL, NULL, "print the result as JSON", 0, 0},
    OPTION_BOOTSTRAP(PLACE(how.resamples), "0", "resamples for intervals, 1000 is usual; 0: none"),
    OPTION_SEED(PLACE(how.seed)),
    OPTION_CONFIDENCE(PLACE(how.confidence)),
};

/* With a bootstrap: the intervals of each set; the last column, the detection error, has none. */
static void print_tables(const vg_ood_result *result) {
    printf("In distribution: %s, %zu sample%s. OOD is the positive class.\n", result->id_file, result->id_n,
           plural(result->id_n));
    for (size_t i = 0; i < result->set_count; i++) {
        const vg_ood_set *set = &result->sets[i];
        printf("\n%s: %s, %zu sample%s\n", console_text(set->name), console_text(set->file), set->n, plural(set->n));
        best_table_print(set->table);
        if (result->resamples > 0) {
            printf("%g %% intervals:\n", 100 * result->confidence);
            interval_table_print(set->table, set->table->columns - 1);
        }
    }
}

/* Writes what -o and --json ask for; without either, prints tables. */
static int show(const ood_values *own, const vg_ood_result *result) {
    char *text = NULL;
    int code = CLI_OK;
    if (own->output)
        code = output_written(GUARDED(vg_ood_result_save(result, own->output)), own->output);
    else if (!own->json)
        print_tables(result);
    if (code == CLI_OK && own->json && !output_is_standard(own->output))
        code = json_print_result(vg_ood_result_json(&text, result), &text);
    return code;
}

static int detect(const score_options *options, ood_values *own, const char *const *paths, size_t count) {
    score_request request;
    vg_ood_result *result;
    console_job state;
    int code = score_options_request(&request, options);
    if (code == CLI_OK)
        code = output_path_check(own->output, VG_PRODUCT_OOD, own->force, paths, count, &request.input);
    if (code != CLI_OK)
        return code;
    own->how.job = console_job_listener(&state);
    code = console_status(vg_ood_files(&result, paths[0], paths + 1, count - 1, &request.input, &own->how));
    console_job_end(&state);
    if (code != CLI_OK)
        return code;
    code = show(own, result);
    vg_ood_result_free(result);
    return code;
}

static int run(const command *self, int argc, char **argv) {
    static score_options options;
    ood_values own = {.how = VG_OOD_FILES_OPTIONS_INIT};
    option_files files;
    option_group groups[] = {OPTION_GROUP("OOD", own_entries, &own), SCORE_OPTION_GROUP(options)};
    int code = options_parse(self, groups, 2, argc, argv, &files);
    if (code != CLI_OK)
        return code;
    if (files.count < 2)
        return console_usage(
            "expected an in-distribution file and at least one OOD file; 'vargate help ood' shows the usage");
    return detect(&options, &own, (const char *const *)files.items, files.count);
}

const command command_ood = {
    .name = "ood",
    .summary = "how well each measure detects out-of-distribution samples",
    .usage = "ID OOD [OOD ...] [options]",
    .details =
        "ID and OOD hold predictions of the same model. OOD is the positive class: AUPR-out takes it as positive,\n"
        "AUPR-in takes ID; FPR95 is the share of ID called OOD where 95 % of OOD is found. Labels are not used.\n"
        "With --multilabel a sample's value is the mean over its labels, and its max under NAME_max (snr: snr_min).",
    .example = "vargate ood cifar10.npz svhn.npz cifar100.npz --json",
    .run = run,
};
