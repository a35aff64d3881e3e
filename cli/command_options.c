/* command_options.c - reads a command's arguments by its option tables. See command_options.h; command_help.c prints
 * the help page. */
#include <stdint.h>

#include "cli.h"

bool options_number(const char *text, double *out) {
    if (*text == '\0' || strspn(text, " \t") > 0)
        return false;
    char *end;
    *out = strtod(text, &end);
    return *end == '\0';
}

/* --- values ------------------------------------------------------------------------------------------------------- */
static int bad_value(const option_entry *entry, const char *text, const char *expected) {
    return console_usage("--%s: '%s' is not %s", entry->name, text, expected);
}

/* OPTION_COUNT and OPTION_UNSIGNED, whose range fits its type. */
static int set_count(const option_entry *entry, const char *text, void *place) {
    char *end, expected[96];
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    snprintf(expected, sizeof expected, "a whole number in %.0f..%.0f", entry->low, entry->high);
    if (*text < '0' || *text > '9' || *end || errno || (double)value < entry->low || (double)value > entry->high)
        return bad_value(entry, text, expected);
    if (entry->kind == OPTION_COUNT)
        *(size_t *)place = (size_t)value;
    else
        *(unsigned *)place = (unsigned)value;
    return CLI_OK;
}

static int set_real(const option_entry *entry, const char *text, double *out) {
    char expected[96];
    if (isinf(entry->high))
        snprintf(expected, sizeof expected, "a number");
    else
        snprintf(expected, sizeof expected, "a number in %g..%g", entry->low, entry->high);
    if (!options_number(text, out) || !(*out >= entry->low && *out <= entry->high))
        return bad_value(entry, text, expected);
    return CLI_OK;
}

static int set_reals(const option_entry *entry, const char *text, option_reals *out) {
    out->count = 0;
    for (const char *p = text;; p++) {
        char item[64];
        size_t length = strcspn(p, ",");
        if (length >= sizeof item)
            return bad_value(entry, text, "a list of numbers separated by commas");
        memcpy(item, p, length);
        item[length] = '\0';
        if (out->count == OPTION_MAX_REALS)
            return console_usage("--%s: more than %d numbers", entry->name, OPTION_MAX_REALS);
        if (!options_number(item, &out->values[out->count]) || isnan(out->values[out->count++]))
            return bad_value(entry, text, "a list of numbers separated by commas");
        p += length;
        if (*p == '\0')
            return CLI_OK;
    }
}

/* Numbers, or a file whose name ends in .json, in which case the setting is 1. */
static int set_gates(const option_entry *entry, const char *text, option_reals *out) {
    size_t length = strlen(text), ending = strlen(".json");
    out->file = length > ending && strcmp(text + length - ending, ".json") == 0 ? text : NULL;
    return set_reals(entry, out->file ? "1" : text, out);
}

static int set_choice(const option_entry *entry, const char *text, int *out) {
    size_t length = strlen(text);
    int index = 0;
    for (const char *p = entry->value;; p++, index++) {
        size_t name = strcspn(p, "|");
        if (name == length && memcmp(p, text, length) == 0) {
            *out = index;
            return CLI_OK;
        }
        p += name;
        if (*p == '\0')
            return console_usage("--%s: '%s' is not one of %s", entry->name, text, entry->value);
    }
}

static int set_value(const option_entry *entry, void *values, const char *text) {
    void *place = (char *)values + entry->offset;
    option_texts *texts = place;
    switch (entry->kind) {
    case OPTION_FLAG: *(bool *)place = true; return CLI_OK;
    case OPTION_SWITCH: *(int *)place = 1; return CLI_OK;
    case OPTION_TEXT: *(const char **)place = text; return CLI_OK;
    case OPTION_COUNT:
    case OPTION_UNSIGNED: return set_count(entry, text, place);
    case OPTION_REAL: return set_real(entry, text, place);
    case OPTION_REALS: return set_reals(entry, text, place);
    case OPTION_GATES: return set_gates(entry, text, place);
    case OPTION_CHOICE: return set_choice(entry, text, place);
    case OPTION_TEXTS:
        if (texts->count == OPTION_MAX_TEXTS)
            return console_usage("--%s: given more than %d times", entry->name, OPTION_MAX_TEXTS);
        texts->items[texts->count++] = text;
        return CLI_OK;
    }
    return CLI_USAGE;
}

static void clear_value(const option_entry *entry, void *values) {
    void *place = (char *)values + entry->offset;
    switch (entry->kind) {
    case OPTION_FLAG: *(bool *)place = false; break;
    case OPTION_SWITCH: *(int *)place = 0; break;
    case OPTION_TEXT: *(const char **)place = NULL; break;
    case OPTION_COUNT: *(size_t *)place = 0; break;
    case OPTION_UNSIGNED: *(unsigned *)place = 0; break;
    case OPTION_REAL: *(double *)place = NAN; break;
    case OPTION_REALS:
    case OPTION_GATES:
        ((option_reals *)place)->count = 0;
        ((option_reals *)place)->file = NULL;
        break;
    case OPTION_CHOICE: *(int *)place = -1; break;
    case OPTION_TEXTS: ((option_texts *)place)->count = 0; break;
    }
}

static int set_defaults(const option_group *groups, size_t group_count) {
    for (size_t g = 0; g < group_count; g++) {
        for (size_t i = 0; i < groups[g].count; i++) {
            const option_entry *entry = &groups[g].entries[i];
            clear_value(entry, groups[g].values);
            if (entry->initial && option_takes_value(entry)) {
                int code = set_value(entry, groups[g].values, entry->initial);
                if (code != CLI_OK)
                    return code;
            }
        }
    }
    return CLI_OK;
}

const option_entry *option_group_next(const option_group *group, size_t *next) {
    while (*next < group->count) {
        const option_entry *entry = &group->entries[(*next)++];
        const char *const *left_out = group->without;
        while (left_out && *left_out && strcmp(*left_out, entry->name) != 0)
            left_out++;
        if (!left_out || !*left_out)
            return entry;
    }
    return NULL;
}

/* --- arguments ---------------------------------------------------------------------------------------------------- */
typedef struct common_values {
    bool help, quiet;
    int colour;
} common_values;

static const option_entry common_entries[] = {
    {"quiet", 'q', OPTION_FLAG, offsetof(common_values, quiet), NULL, NULL, "no progress and no notes", 0, 0},
    {"color", 0, OPTION_CHOICE, offsetof(common_values, colour), TERMINAL_COLOUR_WORDS, "auto",
     "colours in tables and messages; auto: on a terminal, unless NO_COLOR is set", 0, 0},
    {"help", 'h', OPTION_FLAG, offsetof(common_values, help), NULL, NULL, "show this help", 0, 0},
};

typedef struct reader {
    option_group groups[8];
    size_t group_count;
    int argc, next;
    char **argv;
    const option_entry *given[128]; /* those with one value that were seen */
    size_t given_count;
    bool standard; /* option_files.standard */
} reader;

/* Older spellings of options, still accepted. */
static const struct { const char *old, *name; } former_names[] = {{"out", "output"}};

static const option_entry *find_entry(const reader *in, const char *name, size_t length, char letter, void **values) {
    for (size_t i = 0; name && i < sizeof former_names / sizeof *former_names; i++) {
        if (strlen(former_names[i].old) == length && memcmp(former_names[i].old, name, length) == 0) {
            name = former_names[i].name;
            length = strlen(name);
        }
    }
    for (size_t g = 0; g < in->group_count; g++) {
        const option_entry *entry;
        for (size_t i = 0; (entry = option_group_next(&in->groups[g], &i));) {
            if (letter ? entry->letter == letter
                       : strlen(entry->name) == length && memcmp(entry->name, name, length) == 0) {
                *values = in->groups[g].values;
                return entry;
            }
        }
    }
    return NULL;
}

static int unknown_option(const reader *in, const char *name, size_t length) {
    const char *names[256];
    size_t count = 0;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), name);
    for (size_t g = 0; g < in->group_count; g++) {
        const option_entry *entry;
        for (size_t i = 0; count < 256 && (entry = option_group_next(&in->groups[g], &i));)
            names[count++] = entry->name;
    }
    const char *near = vg_nearest_name(word, names, count);
    if (near)
        return console_usage("unknown option --%s; did you mean --%s?", word, near);
    return console_usage("unknown option --%s; 'vargate help %s' lists them", word, console_command());
}

/* Takes a value from the arguments. An option given twice is refused, because which value counts would be a guess. */
static int take_value(reader *in, const option_entry *entry, void *values, const char *text) {
    const option_entry *end = common_entries + sizeof common_entries / sizeof *common_entries;
    bool everywhere = entry >= common_entries && entry < end;
    bool single = option_takes_value(entry) && entry->kind != OPTION_TEXTS && !everywhere;
    for (size_t i = 0; single && i < in->given_count; i++)
        if (in->given[i] == entry)
            return console_usage("--%s is given twice", entry->name);
    if (single && in->given_count < sizeof in->given / sizeof *in->given)
        in->given[in->given_count++] = entry;
    bool output = strcmp(entry->name, "output") == 0 || strcmp(entry->name, "save") == 0;
    in->standard |= text && strcmp(text, "-") == 0 && !output;
    return set_value(entry, values, text);
}

static int read_long(reader *in, const char *argument) {
    const char *name = argument + 2, *text = strchr(name, '=');
    size_t length = text ? (size_t)(text - name) : strlen(name);
    void *values;
    const option_entry *entry = find_entry(in, name, length, 0, &values);
    if (!entry)
        return unknown_option(in, name, length);
    if (!option_takes_value(entry)) {
        if (text)
            return console_usage("--%s takes no value", entry->name);
        return take_value(in, entry, values, NULL);
    }
    if (text)
        return take_value(in, entry, values, text + 1);
    if (in->next == in->argc)
        return console_usage("--%s needs a value: %s", entry->name, entry->value);
    return take_value(in, entry, values, in->argv[in->next++]);
}

static int read_short(reader *in, const char *argument) {
    for (const char *p = argument + 1; *p; p++) {
        void *values;
        const option_entry *entry = find_entry(in, NULL, 0, *p, &values);
        if (!entry)
            return console_usage("unknown option -%c; 'vargate help %s' lists them", *p, console_command());
        if (!option_takes_value(entry)) {
            take_value(in, entry, values, NULL);
            continue;
        }
        if (p[1])
            return take_value(in, entry, values, p[1] == '=' ? p + 2 : p + 1);
        if (in->next == in->argc)
            return console_usage("-%c needs a value: %s", *p, entry->value);
        return take_value(in, entry, values, in->argv[in->next++]);
    }
    return CLI_OK;
}

static int read_arguments(reader *in, option_files *files) {
    bool options_over = false;
    *files = (option_files){.items = in->argv};
    while (in->next < in->argc) {
        char *argument = in->argv[in->next++];
        int code = CLI_OK;
        if (options_over || argument[0] != '-' || argument[1] == '\0') {
            in->argv[files->count++] = argument; /* earlier slots were read already */
            in->standard |= strcmp(argument, "-") == 0;
        } else if (strcmp(argument, "--") == 0)
            options_over = true;
        else
            code = argument[1] == '-' ? read_long(in, argument) : read_short(in, argument);
        if (code != CLI_OK)
            return code;
    }
    files->standard = in->standard;
    return CLI_OK;
}

static bool asks_for_help(int argc, char **argv) {
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    }
    return false;
}

int options_parse(const command *self, const option_group *groups, size_t group_count, int argc, char **argv,
                  option_files *files) {
    common_values common = {.quiet = false};
    reader in = {.group_count = group_count + 1, .argc = argc, .next = 0, .argv = argv};
    memcpy(in.groups, groups, group_count * sizeof *groups);
    in.groups[group_count] = (option_group)OPTION_GROUP("Everywhere", common_entries, &common);
    int code = set_defaults(in.groups, in.group_count);
    if (code != CLI_OK)
        return code;
    if (asks_for_help(argc, argv)) {
        command_help_print(self, in.groups, in.group_count);
        return OPTIONS_HELP_SHOWN;
    }
    code = read_arguments(&in, files);
    for (size_t g = 0; g < group_count && code == CLI_OK; g++)
        code = groups[g].check ? groups[g].check(groups[g].values, files) : CLI_OK;
    console_set_quiet(common.quiet);
    terminal_set_colour((terminal_colour)common.colour);
    return code;
}
