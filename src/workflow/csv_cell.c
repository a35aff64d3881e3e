/* csv_cell.c - see csv_cell.h. */
#include "workflow/csv_cell.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool formula(const char *text) {
    char *end;
    if (*text == '\0' || !strchr("=+-@\t\r", *text))
        return false;
    strtod(text, &end);
    return end == text || *end != '\0';
}

void vg_csv__cell(const char *text, void (*put)(void *context, const char *piece), void *context) {
    bool quotes = strpbrk(text, ",\"\r\n") != NULL;
    if (quotes)
        put(context, "\"");
    if (formula(text))
        put(context, "'");
    for (const char *p = text; *p; p++) {
        const char one[3] = {*p, *p == '"' ? '"' : '\0', '\0'};
        put(context, one);
    }
    if (quotes)
        put(context, "\"");
}
