/* verdict_output.c - the verdict's lines. */
#include "verdict_output.h"

#include <stdio.h>
#include <string.h>

#include "terminal.h"

void verdict_print(const char *head, const vg_verdict *verdict) {
    enum { WIDEST = 100 };
    size_t indent = strlen(head), used = indent, room = terminal_columns(stdout, WIDEST);
    size_t columns = room < WIDEST ? room : WIDEST;
    terminal_style style = strcmp(verdict->name, "diverse") == 0 ? STYLE_GOOD
                           : strcmp(verdict->name, "low") == 0   ? STYLE_FAIR
                                                                 : STYLE_BAD;
    bool coloured = strcmp(verdict->name, "unknown") != 0;
    printf("%s%s", head, coloured ? terminal_begin(stdout, style) : "");
    for (const char *word = verdict->text; *word;) {
        size_t length = strcspn(word, " ");
        if (used > indent && used + 1 + length > columns) {
            printf("\n%*s", (int)indent, "");
            used = indent;
        } else if (used > indent) {
            putchar(' ');
            used++;
        }
        printf("%.*s", (int)length, word);
        used += length;
        word += length + (word[length] == ' ');
    }
    printf("%s\n", coloured ? terminal_end(stdout) : "");
}
