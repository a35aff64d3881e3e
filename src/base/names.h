/* names.h - lists of names and where one stands in them. Internal. */
#ifndef VG_NAMES_H
#define VG_NAMES_H

#include <stddef.h>

/* Position of `name` among `count` names; `count` when it is not there. */
size_t vg_names__find(const char *const *names, size_t count, const char *name);
/* The first position at which two lists of `count` names differ; `count` when they are the same. */
size_t vg_names__differ(const char *const *a, const char *const *b, size_t count);
/* "a, b, c" cut with "..." to fit `room`, for messages. Returns out. */
const char *vg_names__list(char *out, size_t room, const char *const *names, size_t count);

#endif
