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

static const char *const paper_sets[] = {"mnist", "svhn", "cifar10", "cifar100"};
enum { PAPER_SETS = sizeof paper_sets / sizeof *paper_sets, RECIPE_NAME = 32 };

/* Sets wanted[i] for the names in the list; all for NULL. */
static int wanted_sets(bool wanted[PAPER_SETS], const char *only) {
    for (size_t i = 0; i < PAPER_SETS; i++)
        wanted[i] = !only;
    for (const char *at = only; at && *at;) {
        size_t length = strcspn(at, ","), i = 0;
        while (i < PAPER_SETS && (strlen(paper_sets[i]) != length || strncmp(at, paper_sets[i], length) != 0))
            i++;
        if (i == PAPER_SETS)
            return console_usage("--only: '%.*s' is not one of mnist, svhn, cifar10, cifar100", (int)length, at);
        wanted[i] = true;
        at += length + (at[length] == ',');
    }
    return CLI_OK;
}

/* What the table holds, and where it was written. */
static int show_paper(const char *folder) {
    vg_reproduction *paper;
    text_table table;
    int code = console_status(vg_reproduction_read(&paper, folder));
    if (code != CLI_OK)
        return code;
    code = console_status(vg_reproduction_save(paper));
    if (code != CLI_OK) {
        vg_reproduction_free(paper);
        return code;
    }
    table_begin(&table, "cell|accuracy|paper|F1|paper|ECE|paper|");
    for (size_t i = 0; i < paper->count; i++) {
        const vg_paper_cell *cell = &paper->cells[i];
        char name[TABLE_CELL];
        snprintf(name, sizeof name, "%.10s %.16s", cell->dataset, cell->ensemble);
        size_t row = table_row(&table, name);
        for (size_t f = 0; f < 3; f++) {
            table_number(&table, row, 1 + 2 * f, cell->ours[f], 4);
            table_number(&table, row, 2 + 2 * f, cell->paper[f], 3);
        }
        table_text(&table, row, 7, !cell->there ? "not run" : cell->within ? "reproduced" : "off");
    }
    printf("\n");
    code = table_print(&table);
    if (code == CLI_OK)
        console_note("%s/index.html shows the table and the figures; table.md and table.json beside it", folder);
    vg_reproduction_free(paper);
    return code;
}

static int reproduce(const command *self, int argc, char **argv) {
    reproduce_values own = {.runs.how = VG_RUN_RECIPE_OPTIONS_INIT};
    option_group groups[] = {OPTION_GROUP("Options", reproduce_entries, &own)};
    char names[2 * PAPER_SETS][RECIPE_NAME];
    const char *recipes[2 * PAPER_SETS];
    bool wanted[PAPER_SETS];
    option_files files;
    size_t count = 0;
    int code = options_parse(self, groups, 1, argc, argv, &files);
    if (code == CLI_OK && files.count > 0)
        code = console_usage("expected no argument, found '%s'; --only chooses data sets", files.items[0]);
    if (code == CLI_OK)
        code = wanted_sets(wanted, own.only);
    if (code != CLI_OK)
        return code;
    for (size_t i = 0; i < 2 * PAPER_SETS; i++) {
        if (!wanted[i / 2])
            continue;
        snprintf(names[count], RECIPE_NAME, "%s-%s", paper_sets[i / 2], i % 2 ? "lle" : "mcd");
        recipes[count] = names[count];
        count++;
    }
    if (own.table)
        return show_paper(own.runs.how.folder);
    own.runs.how.mcd_lle = 1;
    code = run_recipes(recipes, count, &own.runs);
    return code == CLI_OK ? show_paper(own.runs.how.folder) : code;
}

const command command_reproduce = {
    "reproduce",
    "run the paper's experiments and set its table beside ours",
    "[options]",
    "Runs the paper's recipes (MNIST, SVHN, CIFAR-10, CIFAR-100, each by Monte-Carlo dropout and as a last-layer\n"
    "ensemble), skips what is done and continues what was stopped. 'vargate data list' shows which data sets are\n"
    "here. A GPU is advised: on an NVIDIA H200 MNIST takes half a minute, SVHN 9 minutes a run, CIFAR-10 14, CIFAR-100 "
    "19.",
    "vargate reproduce --only mnist --device cuda",
    reproduce,
};
