/* option_words.c - options as words of a command line. See command_options.h. */
#include "cli.h"

static void put(char *out, size_t room, const char *text) {
    size_t used = strlen(out);
    snprintf(out + used, room - used, "%s", text);
}

/* A word that a shell reads unchanged, else in single quotes. */
void option_word(char *out, size_t room, const char *text) {
    bool plain =
        *text != '\0' &&
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%") == strlen(text);
    put(out, room, plain ? " " : " '");
    for (const char *p = text; *p; p++) {
        char one[2] = {*p, '\0'};
        put(out, room, *p == '\'' ? "'\\''" : one);
    }
    put(out, room, plain ? "" : "'");
}

/* The name of choice number `index` in "all|distinct". */
static void put_choice(char *out, size_t room, const char *choices, int index) {
    char word[64];
    for (; index > 0 && *choices; index--)
        choices += strcspn(choices, "|") + 1;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(choices, "|"), choices);
    option_word(out, room, word);
}

static bool is_changed(const option_entry *entry, const void *value, const void *initial) {
    const char *const *a = value, *const *b = initial;
    const option_reals *x = value, *y = initial;
    switch (entry->kind) {
    case OPTION_FLAG: return *(const bool *)value != *(const bool *)initial;
    case OPTION_TEXT: return *a != *b && (!*a || !*b || strcmp(*a, *b) != 0);
    case OPTION_COUNT: return *(const size_t *)value != *(const size_t *)initial;
    case OPTION_REAL: return memcmp(value, initial, sizeof(double)) != 0;
    case OPTION_REALS:
    case OPTION_GATES:
        return x->file != y->file || x->count != y->count ||
               memcmp(x->values, y->values, x->count * sizeof *x->values) != 0;
    case OPTION_CHOICE: return *(const int *)value != *(const int *)initial;
    case OPTION_TEXTS: return false;
    }
    return false;
}

static void put_value(char *out, size_t room, const option_entry *entry, const void *value) {
    const option_reals *reals = value;
    char text[64];
    switch (entry->kind) {
    case OPTION_TEXT: option_word(out, room, *(const char *const *)value); break;
    case OPTION_COUNT:
        snprintf(text, sizeof text, "%zu", *(const size_t *)value);
        option_word(out, room, text);
        break;
    case OPTION_REAL:
        snprintf(text, sizeof text, "%.17g", *(const double *)value);
        option_word(out, room, text);
        break;
    case OPTION_GATES:
    case OPTION_REALS:
        if (reals->file)
            option_word(out, room, reals->file);
        for (size_t i = 0; !reals->file && i < reals->count; i++) {
            snprintf(text, sizeof text, "%s%.17g", i ? "," : " ", reals->values[i]);
            put(out, room, text);
        }
        break;
    case OPTION_CHOICE: put_choice(out, room, entry->value, *(const int *)value); break;
    case OPTION_FLAG:
    case OPTION_TEXTS: break;
    }
}

void option_words(char *out, size_t room, const option_group *group, const void *defaults, const char *const *without) {
    out[0] = '\0';
    for (size_t i = 0; i < group->count; i++) {
        const option_entry *entry = &group->entries[i];
        const void *value = (const char *)group->values + entry->offset;
        bool left_out = !is_changed(entry, value, (const char *)defaults + entry->offset);
        for (const char *const *name = without; *name; name++)
            left_out = left_out || strcmp(entry->name, *name) == 0;
        for (size_t j = 0; j < i; j++) /* two names of one option */
            left_out = left_out || group->entries[j].offset == entry->offset;
        if (left_out)
            continue;
        put(out, room, " --");
        put(out, room, entry->name);
        put_value(out, room, entry, value);
    }
}
