/* text_wrap.c - breaks text at spaces. See text_wrap.h. */
#include "text_wrap.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 80 };

void text_wrap_print(const char *text) {
    size_t indent = strspn(text, " -*"), column = indent; /* lines after the first begin where its words do */
    printf("%.*s", (int)indent, text);
    text += indent;
    for (size_t words = 0; *text; words++) {
        size_t length = strcspn(text, " ");
        if (words > 0 && column + 1 + length > WIDTH) {
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
