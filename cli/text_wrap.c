/* text_wrap.c - breaks text at spaces. See text_wrap.h. */
#include "text_wrap.h"

#include <stdio.h>
#include <string.h>

#include "terminal.h"

enum { WIDTH = 80, WIDEST = 100 }; /* longer lines are hard to read */

void text_wrap_print(const char *text) {
    size_t room = terminal_columns(stdout, WIDTH), width = room < WIDEST ? room : WIDEST;
    size_t indent = strspn(text, " -*"), column = indent; /* lines after the first begin where its words do */
    printf("%.*s", (int)indent, text);
    text += indent;
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
    printf("\n");
}
