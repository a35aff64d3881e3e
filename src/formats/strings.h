/* strings.h - lists of texts: names of classes, ids of samples, labels that are names. Internal to formats. */
#ifndef VG_STRINGS_H
#define VG_STRINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "vargate/status.h"

/* Texts in sequence in `bytes`, each ended by a NUL; text i begins at starts[i]. `slots` is a hash table of the
 * texts, made by the first vg_strings__intern or vg_strings__find. */
typedef struct vg_strings {
    char *bytes;
    size_t used, room;
    size_t *starts;
    size_t count, starts_room;
    size_t *slots; /* index + 1, or 0: free */
    size_t slot_count;
    const char **list;
} vg_strings;

vg_status vg_strings__push(vg_strings *strings, const char *text, size_t length);
/* The index of the text, which is added where it is missing. */
vg_status vg_strings__intern(vg_strings *strings, const char *text, size_t length, size_t *index);
/* The index of the text; *found is false when it is missing. */
vg_status vg_strings__find(vg_strings *strings, const char *text, size_t length, size_t *index, bool *found);
const char *vg_strings__at(const vg_strings *strings, size_t index);
/* Pointers to all texts, made once; borrowed. */
vg_status vg_strings__list(vg_strings *strings, const char *const **out);
void vg_strings__free(vg_strings *strings);

#endif
