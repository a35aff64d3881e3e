/* names.h - lists of names: positions, differences, the most similar name. Internal. */
#ifndef VG_NAMES_H
#define VG_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Position of `name` among `count` names; `count` when it is not there. */
size_t vg_names__find(const char *const *names, size_t count, const char *name);
/* The first position at which two lists of `count` names differ; `count` when they are the same. */
size_t vg_names__differ(const char *const *a, const char *const *b, size_t count);
/* Edits (insertion, deletion, replacement, exchange of two neighbours) that turn one word into another; SIZE_MAX where
 * a word has more than VG_NAMES_LONGEST bytes. */
enum { VG_NAMES_LONGEST = 63 };
size_t vg_names__distance(const char *a, const char *b);
/* The name of the fewest edits from `word`, the first of several; NULL where none has fewer than `limit`. */
const char *vg_names__nearest(const char *word, const char *const *names, size_t count, size_t limit);
/* The name that a person who wrote `word` probably meant: one that begins with it, where it has three letters or more,
 * or the one of the fewest edits, at most 1 + a quarter of its length. NULL: none. */
const char *vg_names__meant(const char *word, const char *const *names, size_t count);
/* Whether a file's name ends in `ending` (".csv"), upper or lower case, with something before it. */
bool vg_names__ends_with(const char *name, const char *ending);
/* "a, b, c" cut with "..." to fit `room`, for messages. Returns out. */
const char *vg_names__list(char *out, size_t room, const char *const *names, size_t count);

#endif
