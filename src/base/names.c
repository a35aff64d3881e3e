/* names.c - lists of names. See names.h. */
#include "base/names.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

bool vg_names__ends_with(const char *name, const char *ending) {
    size_t length = strlen(name), wanted = strlen(ending);
    return length > wanted && strcasecmp(name + length - wanted, ending) == 0;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Optimal string alignment: three rows of the table of distances between prefixes. */
size_t vg_names__distance(const char *a, const char *b) {
    size_t length_a = strlen(a), length_b = strlen(b), rows[3][VG_NAMES_LONGEST + 1];
    if (length_a > VG_NAMES_LONGEST || length_b > VG_NAMES_LONGEST)
        return SIZE_MAX;
    size_t *before = rows[0], *above = rows[1], *here = rows[2];
    for (size_t j = 0; j <= length_b; j++)
        above[j] = before[j] = j;
    for (size_t i = 1; i <= length_a; i++) {
        here[0] = i;
        for (size_t j = 1; j <= length_b; j++) {
            size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
            here[j] = least(replaced, 1 + least(above[j], here[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                here[j] = least(here[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = above;
        above = here;
        here = oldest;
    }
    return above[length_b];
}

const char *vg_names__nearest(const char *word, const char *const *names, size_t count, size_t limit) {
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t distance = vg_names__distance(word, names[i]);
        if (distance < limit) {
            limit = distance;
            nearest = names[i];
        }
    }
    return nearest;
}

const char *vg_names__meant(const char *word, const char *const *names, size_t count) {
    const char *best = NULL;
    size_t length = strlen(word), limit = 2 + length / 4;
    for (size_t i = 0; i < count; i++) {
        bool shortened = length >= 3 && strncmp(word, names[i], length) == 0;
        size_t distance = shortened ? 1 : vg_names__distance(word, names[i]);
        if (distance < limit) {
            best = names[i];
            limit = distance;
        }
    }
    return best;
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
