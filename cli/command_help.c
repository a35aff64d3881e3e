/* command_help.c - the --help page of a command: usage, details, options with their defaults, an example. */
#include "cli.h"

enum { HELP_COLUMN = 30, HELP_WIDTH = 100 };

static void print_option(const option_entry *entry) {
    char left[96], help[1024];
    int used = entry->letter ? snprintf(left, sizeof left, "  -%c, --%s", entry->letter, entry->name)
                             : snprintf(left, sizeof left, "      --%s", entry->name);
    if (option_takes_value(entry) && used > 0 && (size_t)used < sizeof left)
        snprintf(left + used, sizeof left - (size_t)used, " %s", entry->value);
    if (entry->initial)
        snprintf(help, sizeof help, "%s (default %s)", entry->help, entry->initial);
    else
        snprintf(help, sizeof help, "%s", entry->help);
    if (strlen(left) > HELP_COLUMN - 2)
        printf("%s\n%*s", left, HELP_COLUMN, "");
    else
        printf("%-*s", HELP_COLUMN, left);
    text_wrap_words(help, HELP_COLUMN, HELP_WIDTH);
    printf("\n");
}

void command_help_print(const command *self, const option_group *groups, size_t group_count) {
    printf("vargate %s - %s\n\nUsage: vargate %s %s\n", self->name, self->summary, self->name, self->usage);
    if (self->details)
        printf("\n%s\n", self->details);
    for (size_t g = 0; g < group_count; g++) {
        printf("\n%s:\n", groups[g].title);
        const option_entry *entry;
        for (size_t i = 0; (entry = option_group_next(&groups[g], &i));)
            print_option(entry);
    }
    printf("\nExample:\n  %s\n", self->example);
}
