/* json_values.h - sets values in JSON objects, with one flag for every possible failure. Internal to calibrate. */
#ifndef VG_CALIBRATE_JSON_VALUES_H
#define VG_CALIBRATE_JSON_VALUES_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* Sets a key; *ok becomes false when the value is NULL or cannot be stored. */
static inline void put(json_t *object, const char *key, json_t *value, bool *ok) {
    *ok &= json_object_set_new(object, key, value) == 0;
}
static inline void add(json_t *array, json_t *value, bool *ok) { *ok &= json_array_append_new(array, value) == 0; }

/* A number, or null for NaN and infinity (the curvature of logits near the largest doubles overflows). */
static inline json_t *real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static inline json_t *reals(const double *values, size_t count, bool *ok) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        add(array, real(values[i]), ok);
    return array;
}

#endif
