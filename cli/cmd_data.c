/* cmd_data.c - vargate data: which data sets are known and present, what one holds, and fetching them. */
#include "cli.h"

typedef struct data_values {
    const char *data, *from;
    bool json, statistics;
    option_texts set;
    vg_dataset_options reading; /* made from `data` and `set` */
} data_values;

#define PLACE(member) offsetof(data_values, member)
static const option_entry entries[] = {
    {"data", 'd', OPTION_TEXT, PLACE(data), "DIR", NULL, "folder searched first; fetch puts the set there", 0, 0},
    {"from", 0, OPTION_TEXT, PLACE(from), "DIR", NULL, "fetch: copy the files from this folder instead of downloading",
     0, 0},
    {"statistics", 0, OPTION_FLAG, PLACE(statistics), NULL, NULL,
     "info: read the set and show its channels' mean and deviation", 0, 0},
    {"set", 's', OPTION_TEXTS, PLACE(set), "KEY=VALUE", NULL,
     "info: how images are read, as in a recipe: resize, center_crop, channels, skip_corrupt, in_memory", 0, 0},
    {"json", 0, OPTION_FLAG, PLACE(json), NULL, NULL, "list, info: print as JSON", 0, 0},
};

static void list_row(text_table *table, const vg_data_entry *entry, const int here[2]) {
    char text[TABLE_CELL];
    size_t row = table_row(table, entry->name);
    snprintf(text, sizeof text, "%zux%zu %s", entry->height, entry->width, entry->channels == 1 ? "grey" : "RGB");
    table_text(table, row, 1, text);
    table_figures(table, row, 2, "###", (double[]){(double)entry->classes, (double)entry->train, (double)entry->test});
    table_text(table, row, 5, here[0] && here[1] ? "train, test" : here[0] ? "train" : here[1] ? "test" : "-");
    table_text(table, row, 6, entry->licence);
}

static int list(const data_values *own) {
    size_t count;
    const vg_data_entry *all = vg_data_catalogue(&count);
    text_table table;
    table_begin(&table, "name|images|classes|train|test|here|licence");
    for (size_t i = 0; i < count; i++) {
        int here[2];
        if (vg_data_here(here, &all[i], own->data) != VG_OK) {
            free(table.cells);
            return console_fail_library();
        }
        list_row(&table, &all[i], here);
    }
    table_print(&table);
    return CLI_OK;
}

static void print_message(void *context, const char *line) {
    (void)context;
    console_note("%s", line);
}

static int fetch(const data_values *own, const char *name) {
    vg_fetch_options options = VG_FETCH_OPTIONS_INIT;
    options.from = own->from;
    options.folder = own->data;
    options.message = print_message;
    options.download = data_download;
    return vg_data_fetch(name, &options) == VG_OK ? CLI_OK : console_fail_library();
}

static int show(const data_values *own, const char *name) {
    char *text = NULL;
    if (own->json)
        return json_print_result(vg_data_json(&text, name, &own->reading, own->statistics), &text);
    return name ? text_print_result(vg_data_text(&text, name, &own->reading, own->statistics), &text) : list(own);
}

static int run(const command *self, int argc, char **argv) {
    static const char *const actions[] = {"list", "info", "fetch"};
    data_values own;
    option_files files;
    option_group groups[] = {OPTION_GROUP("Data", entries, &own)};
    int code = options_parse(self, groups, 1, argc, argv, &files);
    if (code != CLI_OK)
        return code;
    if (files.count == 0)
        return console_usage("expected list, info NAME or fetch NAME; 'vargate help data' shows the usage");
    const char *action = files.items[0];
    own.reading = (vg_dataset_options)VG_DATASET_OPTIONS_INIT;
    code = console_usage_status(vg_data_reading(&own.reading, own.data, own.set.items, own.set.count));
    if (code != CLI_OK)
        return code;
    if (own.from && strcmp(action, "fetch") != 0)
        return console_usage("--from goes with fetch");
    if (strcmp(action, "list") == 0)
        return files.count > 1 ? console_usage("list takes no name; 'info %s' shows one set", files.items[1])
                               : show(&own, NULL);
    if (strcmp(action, "info") != 0 && strcmp(action, "fetch") != 0) {
        const char *near = vg_nearest_name(action, actions, 3);
        if (near)
            return console_usage("unknown action '%s'; did you mean '%s'?", action, near);
        return console_usage("unknown action '%s', expected list, info or fetch", action);
    }
    if (files.count != 2)
        return console_usage("%s takes the name of one data set; 'vargate data list' shows those known", action);
    return strcmp(action, "info") == 0 ? show(&own, files.items[1]) : fetch(&own, files.items[1]);
}

const command command_data = {
    .name = "data",
    .summary = "data sets: which are here, what they hold, fetching them",
    .usage = "list | info NAME | fetch NAME [options]",
    .details =
        "A set is looked for in --data, $VARGATE_DATA, $XDG_DATA_HOME/vargate (~/.local/share/vargate), the data that\n"
        "came with the program, ./data and /usr/share/datasets, in a folder of its name. Files are compared with\n"
        "their published checksums. NAME is one that list shows, or path:FILE_OR_FOLDER for your own images:\n"
        ".npz, IDX, CIFAR .bin, SVHN .mat, folders of JPEG, PNG or WebP files, or a CSV or TSV that names such files\n"
        "(docs/data.md).",
    .example = "vargate data fetch mnist --from ~/Downloads",
    .run = run,
};
