/* cmd_reproduce.c - vargate reproduce: the paper's recipes, then its table beside ours. */
#include "cli.h"

typedef struct reproduce_values {
    run_values runs;
    const char *only;
    bool table;
} reproduce_values;

#define PLACE(member) offsetof(reproduce_values, member)
static const option_entry reproduce_entries[] = {
    {"only", 0, OPTION_TEXT, PLACE(only), "SET,...", NULL, "these data sets alone: mnist, svhn, cifar10, cifar100", 0,
     0},
    {"table", 0, OPTION_FLAG, PLACE(table), NULL, NULL, "run nothing: the table of the runs that are there", 0, 0},
    {"set", 's', OPTION_TEXTS, PLACE(runs.set), "KEY=VALUE", NULL, "change a key of every recipe", 0, 0},
    OPTION_DATA(PLACE(runs.how.data)),
    {"output", 'o', OPTION_TEXT, PLACE(runs.how.folder), "DIR", "reproduction",
     "folder of the runs, the table and the page", 0, 0},
    OPTION_DEVICE(PLACE(runs.how.device)),
    OPTION_THREADS(PLACE(runs.how.threads), "threads on the CPU; 0: one per core"),
};

enum { RECIPES = 16 }; /* more than the paper has */

/* Whether the list "a,b" has the `length` letters at `name` as an entry. */
static bool has_name(const char *list, const char *name, size_t length) {
    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == length && strncmp(list, name, length) == 0)
            return true;
    return false;
}

/* The recipes of the data sets in `only`, of all for NULL. */
static int find_recipes(const char *recipes[RECIPES], size_t *count, const vg_reproduction *paper, const char *only) {
    char sets[256] = "";
    *count = 0;
    for (size_t i = 0; i < paper->count; i++) {
        const vg_paper_cell *cell = &paper->cells[i];
        if (i == 0 || strcmp(cell->dataset, cell[-1].dataset) != 0)
            snprintf(sets + strlen(sets), sizeof sets - strlen(sets), "%s%s", i ? "," : "", cell->dataset);
        bool wanted = !only || has_name(only, cell->dataset, strlen(cell->dataset));
        if (wanted && *count < RECIPES && (*count == 0 || strcmp(recipes[*count - 1], cell->recipe) != 0))
            recipes[(*count)++] = cell->recipe;
    }
    for (; only && *only; only += strcspn(only, ","), only += *only == ',')
        if (!has_name(sets, only, strcspn(only, ",")))
            return console_usage("--only: '%.*s' is not one of %s", (int)strcspn(only, ","), only, sets);
    return CLI_OK;
}

/* Prints the table, and where it was written. */
static void print_paper(const vg_reproduction *paper) {
    text_table table;
    table_begin(&table, "cell|accuracy|paper|F1|paper|ECE|paper|");
    for (size_t i = 0; i < paper->count; i++) {
        const vg_paper_cell *cell = &paper->cells[i];
        char name[TABLE_CELL];
        snprintf(name, sizeof name, "%.10s %.16s", cell->dataset, cell->ensemble);
        size_t row = table_row(&table, name);
        for (size_t f = 0; f < 3; f++)
            table_figures(&table, row, 1 + 2 * f, "43", (double[]){cell->ours[f], cell->paper[f]});
        table_text(&table, row, 7, !cell->there ? "not run" : cell->within ? "reproduced" : "off");
    }
    printf("\n");
    table_print(&table);
}

static int show_paper(const char *folder) {
    vg_reproduction *paper;
    int code = console_status(vg_reproduction_read(&paper, folder));
    if (code == CLI_OK)
        code = console_status(GUARDED(vg_reproduction_save(paper)));
    if (code == CLI_OK) {
        print_paper(paper);
        console_note("%s/index.html shows the table and the figures; table.md and table.json beside it", folder);
    }
    vg_reproduction_free(paper);
    return code;
}

static int reproduce(const command *self, int argc, char **argv) {
    reproduce_values own = {.runs.how = VG_RUN_RECIPE_OPTIONS_INIT};
    option_group groups[] = {OPTION_GROUP("Options", reproduce_entries, &own)};
    const char *recipes[RECIPES];
    vg_reproduction *paper = NULL;
    option_files files;
    size_t count;
    int code = options_parse(self, groups, 1, argc, argv, &files);
    if (code == CLI_OK && files.count > 0)
        code = console_usage("expected no argument, found '%s'; --only chooses data sets", files.items[0]);
    if (code == CLI_OK)
        code = console_status(vg_reproduction_read(&paper, NULL));
    if (code == CLI_OK)
        code = find_recipes(recipes, &count, paper, own.only);
    own.runs.how.mcd_lle = 1;
    if (code == CLI_OK && !own.table)
        code = run_recipes(recipes, count, &own.runs);
    vg_reproduction_free(paper);
    return code == CLI_OK ? show_paper(own.runs.how.folder) : code;
}

const command command_reproduce = {
    "reproduce",
    "run the paper's experiments and set its table beside ours",
    "[options]",
    "Runs the paper's recipes (MNIST, SVHN, CIFAR-10, CIFAR-100, each by Monte-Carlo dropout and as a last-layer\n"
    "ensemble), skips what is done and continues what was stopped. 'vargate data list' shows which data sets are\n"
    "here. A GPU is advised (speeds: docs/gpu.md): CIFAR-100 takes 350 epochs of 45,000 images for each ensemble.",
    "vargate reproduce --only mnist --device cuda",
    reproduce,
};
