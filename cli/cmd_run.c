/* cmd_run.c - vargate run: recipes from training to results and a report page. The library does the work and skips
 * finished stages (vg_run_recipe); this file draws the page's figures by gnuplot and prints the tables at the end. */
#include "cli.h"

#define PLACE(member) offsetof(run_values, member)
static const option_entry entries[] = {
    {"set", 's', OPTION_TEXTS, PLACE(set), "KEY=VALUE", NULL, "change a key of the recipe; may be given several times",
     0, 0},
    OPTION_DATA(PLACE(how.data)),
    {"output", 'o', OPTION_TEXT, PLACE(how.folder), "RUN", NULL,
     "run folder (default: runs/NAME of the recipe); of several recipes the folder of all of them", 0, 0},
    OPTION_DEVICE(PLACE(how.device)),
    OPTION_THREADS(PLACE(how.threads), "threads on the CPU; 0: one per core"),
    OPTION_JOBS(PLACE(how.jobs), "networks of a deep ensemble trained at once on the CPU"),
    {"tensorboard", 0, OPTION_SWITCH, PLACE(how.tensorboard), NULL, NULL, "write the epochs for TensorBoard as well", 0,
     0},
};

enum { PATH_ROOM = 4200 };

/* --- the report --------------------------------------------------------------------------------------------------- */

static int make_page(const char *folder, const char *data, char path[PATH_ROOM]) {
    vg_page_options options = VG_PAGE_OPTIONS_INIT;
    size_t drawn;
    console_job state;
    vg_page *page;
    const char *words[] = {"vargate", "report", folder, "--data", data};
    options.data = data;
    options.command = words;
    options.command_words = data ? 5 : 3;
    options.job = console_job_guarded(&state);
    int code = console_status(vg_page_write(&page, folder, NULL, NULL, &options));
    console_job_end(&state);
    if (code != CLI_OK)
        return code;
    snprintf(path, PATH_ROOM, "%s", page->path);
    code = console_status(vg_page_draw(&drawn, page, gnuplot_run, NULL));
    vg_page_free(page);
    return code;
}

/* A failure of the report is printed but does not fail the run. */
static void report_stage(const char *folder, const run_values *own) {
    char path[PATH_ROOM];
    bool quiet = console_quiet();
    console_set_command("report");
    console_set_quiet(true);
    int code = make_page(folder, own->how.data, path);
    console_set_command(own->how.mcd_lle ? "reproduce" : "run");
    console_set_quiet(quiet);
    if (code == CLI_OK)
        console_note("%s shows the run", path);
    else
        console_warn("no report was made of %s", folder);
}

/* --- the tables at the end ---------------------------------------------------------------------------------------- */

/* A column of a table of figures by its key; `columns` when there is none. */
static size_t column_of(const vg_figure_table *table, const char *key) {
    size_t c = 0;
    while (c < table->columns && !(table->figures[c].key && strcmp(table->figures[c].key, key) == 0))
        c++;
    return c;
}

static void quality_row(text_table *table, const vg_evaluation_result *result, const char *name) {
    if (!result)
        return;
    const vg_evaluation *e = result->evaluation;
    table_figures(table, table_row(table, name), 1, "44444",
                  (double[]){e->accuracy.value, e->f1_macro.value, e->ece.value, e->nll.value, e->brier.value});
}

static double auroc_of(const vg_figure_table *figures, size_t column, const char *measure) {
    for (size_t r = 0; r < figures->rows; r++)
        if (strcmp(figures->names[r], measure) == 0)
            return figures->values[r * figures->columns + column].value;
    return NAN;
}

static void ood_row(text_table *table, const char *name, const vg_figure_table *figures) {
    static const char *const measures[] = {"tu", "eu", "epkl", "gmu", "geu@1"};
    size_t row = table_row(table, name), auroc = column_of(figures, "auroc");
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
        table_number(table, row, i + 1, auroc_of(figures, auroc, measures[i]), 4);
    size_t best = figures->best[auroc];
    if (best < figures->rows) {
        char text[TABLE_CELL];
        snprintf(text, sizeof text, "%.4f %.16s", figures->values[best * figures->columns + auroc].value,
                 figures->names[best]);
        table_text(table, row, 6, text);
    }
}

static void show(const vg_run_result *result) {
    text_table table;
    table_begin(&table, "test set|accuracy|F1|ECE|NLL|Brier");
    quality_row(&table, result->test, "as trained");
    quality_row(&table, result->test_calibrated, "calibrated");
    table_print(&table);
    if (result->ood->set_count == 0)
        return;
    printf("\n");
    table_begin(&table, "OOD by AUROC|TU|EU|EPKL|GMU|GEU@1|best");
    for (size_t i = 0; i < result->ood->set_count; i++)
        ood_row(&table, result->ood_names[i], result->ood->sets[i].table);
    table_print(&table);
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static int run_stages(vg_run_result **result, const vg_recipe *recipe, const run_values *own, const char *folder) {
    vg_run_recipe_options options = own->how;
    console_job state;
    options.recipe = recipe;
    options.folder = folder;
    options.job = console_job_listener(&state);
    console_guard();
    vg_status status = vg_run_recipe(result, &options);
    console_unguard();
    if (status == VG_ERR_INTERRUPTED)
        return console_fail("%s; the same command continues from it", vg_error_message());
    return console_status(status);
}

const char *checkpoint_words(const vg_recipe *recipe) {
    return recipe->snapshots ? "all snapshots" : recipe->checkpoint ? "best.safetensors" : "last.safetensors";
}

static int run_one(const vg_recipe *recipe, const run_values *own, const char *folder) {
    vg_run_result *result;
    int code = run_stages(&result, recipe, own, folder);
    if (code != CLI_OK)
        return code;
    report_stage(result->folder, own);
    show(result);
    console_note("%s/results.json has every figure; predictions are those of %s", result->folder,
                 checkpoint_words(recipe));
    vg_run_result_free(result);
    return code;
}

/* Every recipe is read and checked before the first one is trained. */
static int find_recipes(vg_recipe *recipes, const char *const *names, size_t count, const run_values *own) {
    for (size_t i = 0; i < count; i++) {
        int code = console_status(vg_recipe_find(&recipes[i], names[i], own->set.items, own->set.count));
        if (code != CLI_OK)
            return code;
        for (size_t j = 0; j < i; j++)
            if (strcmp(recipes[i].name, recipes[j].name) == 0)
                return console_usage("%s and %s are both named '%s', so they would share a run folder", names[j],
                                     names[i], recipes[i].name);
    }
    return CLI_OK;
}

/* Runs them in sequence, each in a folder of its name. */
static int run_several(const vg_recipe *recipes, size_t count, run_values own) {
    int code = CLI_OK;
    for (size_t i = 0; i < count && code == CLI_OK; i++) {
        char folder[PATH_ROOM];
        snprintf(folder, sizeof folder, "%s/%s", own.how.folder ? own.how.folder : "runs", recipes[i].name);
        printf("%s%s: run %zu of %zu\n", i ? "\n" : "", console_text(recipes[i].name), i + 1, count);
        fflush(stdout);
        own.how.later = &recipes[i + 1];
        own.how.later_count = i == 0 ? count - 1 : 0;
        code = run_one(&recipes[i], &own, folder);
    }
    return code;
}

int run_recipes(const char *const *names, size_t count, const run_values *own) {
    vg_recipe *recipes = malloc(count * sizeof *recipes);
    if (!recipes)
        return console_fail("out of memory");
    int code = find_recipes(recipes, names, count, own);
    if (code == CLI_OK)
        code = count == 1 && !own->how.mcd_lle ? run_one(recipes, own, own->how.folder)
                                               : run_several(recipes, count, *own);
    free(recipes);
    return code;
}

static int run(const command *self, int argc, char **argv) {
    static const char *const first[] = {"quickstart"};
    run_values own = {.how = VG_RUN_RECIPE_OPTIONS_INIT};
    option_group groups[] = {OPTION_GROUP("Options", entries, &own)};
    option_files files;
    int code = options_parse(self, groups, 1, argc, argv, &files);
    if (code == CLI_OK)
        code = output_folder_check(own.how.folder);
    if (code != CLI_OK)
        return code;
    if (files.count == 0)
        return run_recipes(first, 1, &own);
    return run_recipes((const char *const *)files.items, files.count, &own);
}

const command command_run = {
    "run",
    "train, predict, calibrate, score, evaluate and report recipes",
    "[RECIPE ...] [options]",
    "RECIPE is a YAML file or the name of one that ships; without it 'quickstart', a last-layer ensemble on the\n"
    "digits that ship. Everything is kept in the run folder; called again, what is done already is skipped and what\n"
    "was stopped is continued.\n"
    "Several recipes run one after the other, each in a folder of its name inside that of -o.",
    "vargate run mnist-lle -o runs/mnist",
    run,
};
