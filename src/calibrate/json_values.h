/* json_values.h - numbers as JSON values. Internal to calibrate. */
#ifndef VG_CALIBRATE_JSON_VALUES_H
#define VG_CALIBRATE_JSON_VALUES_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/json_text.h"

/* A number, or null for NaN and infinity (the curvature of logits near the largest doubles overflows). */
static inline json_t *real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static inline json_t *reals(const double *values, size_t count, bool *ok) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        vg_base__json_add(array, real(values[i]), ok);
    return array;
}

#endif
