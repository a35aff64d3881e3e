/* json_text.h - building and writing JSON with jansson such that memory that ran out is noticed. For the modules that
 * use jansson. Internal. */
#ifndef VG_JSON_TEXT_H
#define VG_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>

/* Set a key or append a value, which they own; *ok becomes false when the value, or the room for it, could not be
 * made. */
static inline void vg_base__json_put(json_t *object, const char *key, json_t *value, bool *ok) {
    *ok &= json_object_set_new(object, key, value) == 0;
}
static inline void vg_base__json_add(json_t *array, json_t *value, bool *ok) {
    *ok &= json_array_append_new(array, value) == 0;
}

/* The text of a value, NULL when memory ran out; the caller's (free). json_dumps() does not look whether the key of an
 * object was written, so that a text whose buffer could not grow lacks the key. This allocates once, for the whole. */
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

#endif
