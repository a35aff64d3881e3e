/* names.c - lists of names. See names.h. */
#include "base/names.h"

#include <stdio.h>
#include <string.h>

size_t vg_names__find(const char *const *names, size_t count, const char *name) {
    size_t i = 0;
    while (i < count && strcmp(names[i], name) != 0)
        i++;
    return i;
}

size_t vg_names__differ(const char *const *a, const char *const *b, size_t count) {
    size_t i = 0;
    while (i < count && strcmp(a[i], b[i]) == 0)
        i++;
    return i;
}

const char *vg_names__list(char *out, size_t room, const char *const *names, size_t count) {
    size_t at = 0;
    out[0] = 0;
    for (size_t i = 0; i < count; i++) {
        size_t wanted = strlen(names[i]) + (i ? 2 : 0);
        if (at + wanted + 6 > room) {
            snprintf(out + at, room - at, "%s...", i ? ", " : "");
            break;
        }
        at += (size_t)snprintf(out + at, room - at, "%s%s", i ? ", " : "", names[i]);
    }
    return out;
}
