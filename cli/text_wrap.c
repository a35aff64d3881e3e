/* text_wrap.c - sentences in lines that fit a terminal. */
#include "cli.h"

enum { WIDTH = 80, WIDEST = 100 }; /* longer lines are hard to read */

void text_wrap_words(const char *text, size_t indent, size_t columns) {
    size_t room = terminal_columns(stdout, columns), width = room < WIDEST ? room : WIDEST, column = indent;
    for (size_t words = 0; *text; words++) {
        size_t length = strcspn(text, " ");
        if (words > 0 && column + 1 + length > width) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        } else if (words > 0) {
            printf(" ");
            column++;
        }
        printf("%.*s", (int)length, text);
        column += length;
        text += length + (text[length] == ' ');
    }
}

void text_wrap_print(const char *text) {
    size_t indent = strspn(text, " -*");
    printf("%.*s", (int)indent, text);
    text_wrap_words(text + indent, indent, WIDTH);
    printf("\n");
}

void heading_print(const char *path, size_t n, size_t m, size_t c, bool multilabel, const char *values) {
    char facts[200];
    const char *name = console_text(path), *unit = !multilabel ? "classes" : c == 1 ? "label" : "labels";
    size_t length = strlen(name), room = terminal_columns(stdout, length + 1);
    snprintf(facts, sizeof facts, "%zu sample%s, %zu member%s, %zu %s%s", n, plural(n), m, plural(m), c, unit, values);
    if (length + 1 > room) {
        size_t head = (room - 4) / 2, tail = length - (room - 4 - head);
        while (head > 0 && (name[head] & 0xC0) == 0x80) /* within a character of UTF-8 */
            head--;
        while ((name[tail] & 0xC0) == 0x80)
            tail++;
        printf("%.*s...", (int)head, name);
        length = room - 1, name += tail;
    }
    bool fits = length + 2 + strlen(facts) <= terminal_columns(stdout, WIDTH);
    printf("%s:%s", name, fits ? " " : "\n  ");
    text_wrap_words(facts, fits ? 0 : 2, WIDTH);
    printf("\n\n");
}

void verdict_print(const char *head, const vg_verdict *verdict) {
    terminal_style style = strcmp(verdict->name, "diverse") == 0 ? STYLE_GOOD
                           : strcmp(verdict->name, "low") == 0   ? STYLE_FAIR
                                                                 : STYLE_BAD;
    bool coloured = strcmp(verdict->name, "unknown") != 0;
    printf("%s%s", head, coloured ? terminal_begin(stdout, style) : "");
    text_wrap_words(verdict->text, strlen(head), WIDEST);
    printf("%s\n", coloured ? terminal_end(stdout) : "");
}
