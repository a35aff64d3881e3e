/* json_text.h - building, writing and reading JSON with jansson so that every failed allocation is noticed. For the
 * modules that use jansson. Internal. */
#ifndef VG_JSON_TEXT_H
#define VG_JSON_TEXT_H

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "vargate/status.h"

/* Set a key or append a value. Both take ownership of the value; *ok becomes false when it is NULL or cannot be
 * stored. */
static inline void vg_base__json_put(json_t *object, const char *key, json_t *value, bool *ok) {
    *ok &= json_object_set_new(object, key, value) == 0;
}
static inline void vg_base__json_add(json_t *array, json_t *value, bool *ok) {
    *ok &= json_array_append_new(array, value) == 0;
}

/* The text of a value; the caller frees it with free(). NULL when memory ran out. json_dumps() does not check
 * whether the key of an object was written: where its buffer cannot grow, the text lacks the key. This function
 * allocates once, for the whole text. */
static inline char *vg_base__json_text(const json_t *value, size_t flags) {
    size_t size = value ? json_dumpb(value, NULL, 0, flags) : 0;
    char *text = size ? malloc(size + 1) : NULL;
    if (text && json_dumpb(value, text, size, flags) != size) {
        free(text);
        text = NULL;
    }
    if (text)
        text[size] = '\0';
    return text;
}

/* json_loadb(), and no value where an allocation failed, which json_loadb() does not always notice: *error then says
 * "out of memory". `error` may be NULL. */
json_t *vg_base__json_load(const char *text, size_t size, size_t flags, json_error_t *error);
/* A flag of vg_base__json_load(): -Infinity, as Python's json module writes it, is taken for a number. jansson has no
 * value for it, so that it is kept as -DBL_MAX; vg_base__json_number() gives it back. */
#define VG_JSON_INFINITY ((size_t)1 << 40)
static inline double vg_base__json_number(const json_t *number) {
    double value = json_number_value(number);
    return value == -DBL_MAX ? -INFINITY : value;
}
bool vg_base__json_no_memory(const json_error_t *error);
/* The same of a file. The message names it, with line and column. */
vg_status vg_base__json_load_file(json_t **out, const char *path, size_t flags);

#endif
