/* verdict_output.c - the verdict's lines. */
#include "verdict_output.h"

#include <stdio.h>
#include <string.h>

void verdict_print(const char *head, const vg_verdict *verdict) {
    enum { COLUMNS = 100 };
    size_t indent = strlen(head), used = indent;
    printf("%s", head);
    for (const char *word = verdict->text; *word;) {
        size_t length = strcspn(word, " ");
        if (used > indent && used + 1 + length > COLUMNS) {
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
    putchar('\n');
}
