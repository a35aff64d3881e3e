/* cmd_data.c - vargate data: which data sets are known and here, what one holds, and how to fetch them. */
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

static const char *const state_names[] = {"missing", "wrong", "not compared", "good"};
static const char *const part_names[] = {"train", "test"};

/* --- list --------------------------------------------------------------------------------------------------------- */
/* Whether every file of a part is somewhere; nothing is read. */
static int part_here(bool *here, const vg_data_entry *entry, vg_part part, const char *folder) {
    size_t found_count = 0, file_count = 0;
    for (size_t i = 0; i < entry->file_count; i++) {
        vg_data_found found;
        if (entry->files[i].part != part)
            continue;
        if (vg_data_look(&found, entry, i, folder, 0) != VG_OK)
            return console_fail_library();
        file_count++;
        found_count += found.state != VG_DATA_MISSING;
    }
    *here = file_count > 0 && found_count == file_count;
    return CLI_OK;
}

static void list_row(text_table *table, const vg_data_entry *entry, const bool here[2]) {
    char text[TABLE_CELL];
    size_t row = table_row(table, entry->name);
    snprintf(text, sizeof text, "%zux%zu %s", entry->height, entry->width, entry->channels == 1 ? "grey" : "RGB");
    table_text(table, row, 1, text);
    table_number(table, row, 2, (double)entry->classes, 6);
    table_number(table, row, 3, (double)entry->train, 6);
    table_number(table, row, 4, (double)entry->test, 6);
    table_text(table, row, 5, here[0] && here[1] ? "train, test" : here[0] ? "train" : here[1] ? "test" : "-");
    table_text(table, row, 6, entry->licence);
}

static int list(const data_values *own) {
    size_t count;
    const vg_data_entry *all = vg_data_catalogue(&count);
    text_table table;
    table_begin(&table, "name|images|classes|train|test|here|licence");
    for (size_t i = 0; i < count; i++) {
        bool here[2] = {false, false};
        for (int part = 0; part < 2; part++) {
            int code = part_here(&here[part], &all[i], (vg_part)part, own->data);
            if (code != CLI_OK) {
                free(table.cells);
                return code;
            }
        }
        list_row(&table, &all[i], here);
    }
    return table_print(&table);
}

/* --- info --------------------------------------------------------------------------------------------------------- */
static void print_contents(const char *title, const vg_dataset_info *info, const vg_statistics *statistics) {
    printf("%-9s %zu image%s of %zux%zu, %zu channel%s, %s, ", title, info->n, info->n == 1 ? "" : "s", info->height,
           info->width, info->channels, info->channels == 1 ? "" : "s", info->is_float ? "float32" : "bytes");
    if (info->classes > 0)
        printf("%zu class%s\n", info->classes, info->classes == 1 ? "" : "es");
    else
        printf("no labels\n");
    for (size_t c = 0; c < statistics->channels; c++)
        printf("%-9s %.6f, standard deviation %.6f\n", c == 0 ? "  mean" : "", statistics->mean[c], statistics->std[c]);
    if (info->classes > 0 && info->class_names) {
        printf("  classes");
        for (size_t c = 0; c < info->classes && c < 20; c++)
            printf("%s %s", c == 0 ? "" : ",", console_text(info->class_names[c]));
        printf("%s\n", info->classes > 20 ? ", ..." : "");
    }
    for (size_t i = 0; i < info->note_count; i++)
        printf("  note    %s\n", info->notes[i]);
    if (info->skipped_count > 0)
        printf("  skipped %zu file%s\n", info->skipped_count, info->skipped_count == 1 ? "" : "s");
    for (size_t i = 0; i < info->skipped_count; i++)
        printf("          %s\n", info->skipped[i]);
}

/* Prints what is in a set. */
static int print_set(const vg_dataset *set, const char *title) {
    vg_dataset_info info = VG_DATASET_INFO_INIT;
    vg_statistics statistics;
    if (vg_dataset_describe(&info, set) != VG_OK || vg_dataset_statistics(&statistics, set, NULL, 0) != VG_OK)
        return console_fail_library();
    print_contents(title, &info, &statistics);
    return CLI_OK;
}

/* Reads one part and prints what is in it. */
static int print_part(const data_values *own, const char *name, vg_part part, const char *title) {
    vg_dataset *set;
    if (vg_dataset_open(&set, name, part, &own->reading) != VG_OK)
        return console_fail_library();
    int code = print_set(set, title);
    vg_dataset_free(set);
    return code;
}

/* One's own set: each of its parts, or all of it where it has no parts. A part that is there and cannot be read is a
 * failure. */
static int info_own(const data_values *own, const char *name) {
    vg_dataset *sets[2] = {NULL, NULL};
    int code = CLI_OK;
    for (int part = 0; part < 2 && code == CLI_OK; part++) {
        vg_status status = vg_dataset_open(&sets[part], name, (vg_part)part, &own->reading);
        if (status != VG_OK && status != VG_ERR_ARGUMENT)
            code = console_fail_library();
    }
    for (int part = 0; part < 2 && code == CLI_OK; part++)
        if (sets[part])
            code = print_set(sets[part], sets[0] && sets[1] ? part_names[part] : "holds");
    if (code == CLI_OK && !sets[0] && !sets[1])
        code = print_part(own, name, VG_PART_ANY, "holds");
    for (int part = 0; part < 2; part++)
        vg_dataset_free(sets[part]);
    return code;
}

/* The set's files, each compared with its checksum; counts what is good in each part. */
static int print_files(const data_values *own, const vg_data_entry *entry, size_t lacking[2]) {
    for (size_t i = 0; i < entry->file_count; i++) {
        const vg_data_file *file = &entry->files[i];
        vg_data_found found;
        if (vg_data_look(&found, entry, i, own->data, 1) != VG_OK)
            return console_fail_library();
        lacking[file->part] += found.state == VG_DATA_MISSING || found.state == VG_DATA_WRONG;
        printf("  %-5s %-28s %-12s %s%s%s\n", part_names[file->part], file->name, state_names[found.state],
               console_text(found.path), found.problem[0] ? ": " : "", found.problem);
    }
    return CLI_OK;
}

static int print_places(const data_values *own) {
    char **places;
    size_t count;
    if (vg_data_places(&places, &count, own->data) != VG_OK)
        return console_fail_library();
    for (size_t i = 0; i < count; i++)
        printf("%s %s\n", i == 0 ? "looked in" : "         ", console_text(places[i]));
    vg_data_places_free(places, count);
    return CLI_OK;
}

static int info_known(const data_values *own, const vg_data_entry *entry) {
    vg_data_found first; /* a wrong --data fails before anything is printed */
    if (vg_data_look(&first, entry, 0, own->data, 0) != VG_OK)
        return console_fail_library();
    const size_t sizes[2] = {entry->train, entry->test};
    size_t lacking[2] = {0, 0};
    printf("%s: %s\n", entry->name, entry->title);
    printf("images    %zux%zu %s, %zu train, %zu test, %zu classes\n", entry->height, entry->width,
           entry->channels == 1 ? "grey" : "RGB", entry->train, entry->test, entry->classes);
    printf("licence   %s\nhome      %s\n", entry->licence, entry->homepage);
    int code = print_places(own);
    if (code == CLI_OK) {
        printf("files\n");
        code = print_files(own, entry, lacking);
    }
    for (int part = 0; part < 2 && code == CLI_OK && own->statistics; part++)
        if (sizes[part] > 0 && lacking[part] == 0)
            code = print_part(own, entry->name, (vg_part)part, part_names[part]);
    return code;
}

static int print_json(const data_values *own, const char *name) {
    char *text = NULL;
    return json_print_result(vg_data_json(&text, name, &own->reading, own->statistics), &text);
}

static int unknown_set(const char *name, const char *nearest) {
    if (nearest)
        return console_fail("no data set is called '%s'; did you mean '%s'?", name, nearest);
    return console_fail(
        "no data set is called '%s'; 'vargate data list' shows those known (one's own: path:FILE_OR_FOLDER)", name);
}

/* The keys of a recipe that say how images are read. */
static int take_settings(data_values *own) {
    static const unsigned channels[] = {0, 1, 3};
    vg_recipe recipe;
    own->reading = (vg_dataset_options)VG_DATASET_OPTIONS_INIT;
    own->reading.folder = own->data;
    vg_recipe_defaults(&recipe);
    for (size_t i = 0; i < own->set.count; i++)
        if (vg_recipe_set(&recipe, own->set.items[i]) != VG_OK)
            return console_usage_status(VG_ERR_ARGUMENT);
    for (int i = 0; i < 2; i++) {
        own->reading.resize[i] = recipe.resize[i];
        own->reading.center_crop[i] = recipe.center_crop[i];
    }
    own->reading.channels = channels[recipe.channels];
    own->reading.skip_corrupt = recipe.skip_corrupt;
    own->reading.in_memory = recipe.in_memory;
    own->reading.test_share = recipe.test;
    own->reading.test_seed = recipe.split_seed;
    return CLI_OK;
}

static int info(const data_values *own, const char *name) {
    const char *nearest = NULL;
    bool is_path = strncmp(name, "path:", 5) == 0;
    const vg_data_entry *entry = is_path ? NULL : vg_data_find(name, &nearest);
    if (!is_path && !entry)
        return unknown_set(name, nearest);
    if (own->json)
        return print_json(own, name);
    return is_path ? info_own(own, name) : info_known(own, entry);
}

/* --- fetch -------------------------------------------------------------------------------------------------------- */
static void print_message(void *context, const char *line) {
    (void)context;
    console_note("%s", line);
}

static int fetch(const data_values *own, const char *name) {
    vg_fetch_options options = VG_FETCH_OPTIONS_INIT;
    options.from = own->from;
    options.folder = own->data;
    options.message = print_message;
    return vg_data_fetch(name, &options) == VG_OK ? CLI_OK : console_fail_library();
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
    code = take_settings(&own);
    if (code != CLI_OK)
        return code;
    if (own.from && strcmp(action, "fetch") != 0)
        return console_usage("--from goes with fetch");
    if (strcmp(action, "list") == 0)
        return files.count > 1 ? console_usage("list takes no name; 'info %s' shows one set", files.items[1])
               : own.json      ? print_json(&own, NULL)
                               : list(&own);
    if (strcmp(action, "info") != 0 && strcmp(action, "fetch") != 0) {
        const char *near = vg_nearest_name(action, actions, 3);
        if (near)
            return console_usage("unknown action '%s'; did you mean '%s'?", action, near);
        return console_usage("unknown action '%s', expected list, info or fetch", action);
    }
    if (files.count != 2)
        return console_usage("%s takes the name of one data set; 'vargate data list' shows those known", action);
    return strcmp(action, "info") == 0 ? info(&own, files.items[1]) : fetch(&own, files.items[1]);
}

const command command_data = {
    .name = "data",
    .summary = "data sets: which are here, what they hold, fetching them",
    .usage = "list | info NAME | fetch NAME [options]",
    .details =
        "A set is looked for in --data, $VARGATE_DATA, $XDG_DATA_HOME/vargate (~/.local/share/vargate), the data that\n"
        "came with the program, ./data and /usr/share/datasets, in a folder of its name. Files are compared with\n"
        "their published checksums. NAME is one that list shows, or path:FILE_OR_FOLDER for one's own images:\n"
        ".npz, IDX, CIFAR .bin, SVHN .mat, folders of JPEG, PNG or WebP files, or a CSV or TSV that names such files\n"
        "(docs/data.md).",
    .example = "vargate data fetch mnist --from ~/Downloads",
    .run = run,
};
