/* cmd_sweep.c - vargate sweep: a recipe for every combination of some settings, and the table of all runs. */
#include "cli.h"

typedef struct sweep_values {
    vg_sweep_options how;
    option_texts set;
    bool json;
} sweep_values;

#define PLACE(member) offsetof(sweep_values, member)
static const option_entry entries[] = {
    {"set", 's', OPTION_TEXTS, PLACE(set), "KEY=A,B,C", NULL,
     "a run for each value of a key of the recipe; may be given several times, all combinations are run", 0, 0},
    OPTION_DATA(PLACE(how.data)),
    {"output", 'o', OPTION_TEXT, PLACE(how.folder), "DIR", NULL, "folder of the runs (default: runs/NAME-sweep)", 0, 0},
    OPTION_DEVICE(PLACE(how.device)),
    OPTION_THREADS(PLACE(how.threads), "threads of each run on the CPU; 0: the cores divided by the jobs"),
    OPTION_JOBS(PLACE(how.jobs), "runs at once"),
    OPTION_BOOTSTRAP(PLACE(how.resamples), "1000", "resamples for intervals and paired tests; 0: neither"),
    {"json", 0, OPTION_FLAG, PLACE(json), NULL, NULL, "print the comparison as JSON", 0, 0},
};

static int sweep(const char *recipe, const sweep_values *own) {
    vg_sweep_options options = own->how;
    vg_compare_result *result;
    console_job state;
    char *text = NULL;
    options.recipe = recipe;
    options.settings = own->set.items;
    options.setting_count = own->set.count;
    options.job = console_job_listener(&state);
    console_guard();
    vg_status status = vg_sweep(&result, &options);
    console_unguard();
    console_job_end(&state);
    if (status == VG_ERR_INTERRUPTED)
        return console_fail("%s; the same command continues from it", vg_error_message());
    if (status != VG_OK)
        return console_fail_library();
    int code = CLI_OK;
    if (own->json)
        code = json_print_result(vg_compare_result_json(&text, result), &text);
    else
        comparison_print_figures(result);
    if (code == CLI_OK)
        console_note("comparison.md and .html beside the runs mark and test the differences to the first run");
    vg_compare_result_free(result);
    return code;
}

static int run(const command *self, int argc, char **argv) {
    sweep_values own = {.how = VG_SWEEP_OPTIONS_INIT};
    option_group groups[] = {OPTION_GROUP("Options", entries, &own)};
    option_files files;
    int code = options_parse(self, groups, 1, argc, argv, &files);
    if (code != CLI_OK)
        return code;
    if (files.count != 1)
        return console_usage("expected one recipe, found %zu", files.count);
    return sweep(files.items[0], &own);
}

const command command_sweep = {
    .name = "sweep",
    .summary = "run a recipe for every combination of some settings, and compare",
    .usage = "RECIPE --set KEY=A,B,C [options]",
    .details =
        "Every combination of the values is run as by 'vargate run', into a folder named after it. The table is\n"
        "that of 'vargate compare', tested against the first combination; comparison.md and comparison.html are\n"
        "written beside the runs. Called again, finished runs are skipped and what was stopped is continued.",
    .example = "vargate sweep quickstart --set ensemble=lle,mcd-lle --set head_features=0,0.25",
    .run = run,
};
