/* calibrate_util.h - what the calibration tests share: made-up problems (the same, to the bit, as those of
 * tests/data/calibrate/make_reference.py) and the reference file. */
#ifndef VG_TEST_CALIBRATE_UTIL_H
#define VG_TEST_CALIBRATE_UTIL_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "vargate/calibrate.h"

typedef struct problem {
    size_t n, m, c;
    double *z; /* n m c */
    int64_t *y;
} problem;

static inline double uniform_at(uint64_t seed, uint64_t k) {
    uint64_t x = seed + (k + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-53;
}

static inline problem make_problem(size_t n, size_t m, size_t c, uint64_t seed, double scale, double boost) {
    problem p = {n, m, c, malloc(n * m * c * sizeof(double)), malloc(n * sizeof(int64_t))};
    assert_non_null(p.z);
    assert_non_null(p.y);
    for (size_t i = 0; i < n; i++) {
        p.y[i] = (int64_t)floor(uniform_at(seed, 2 * i) * (double)c);
        double strength = 1 + 2 * uniform_at(seed, 2 * i + 1);
        for (size_t j = 0; j < m * c; j++) {
            uint64_t k = 2 * n + 3 * (i * m * c + j);
            double u = uniform_at(seed, k) + uniform_at(seed, k + 1) + uniform_at(seed, k + 2), noise = 4 * (u - 1.5);
            double label = (int64_t)(j % c) == p.y[i] ? boost * strength : 0;
            p.z[i * m * c + j] = scale * ((double)(j / c) + 1) * (noise + label);
        }
    }
    return p;
}

static inline void free_problem(problem *p) {
    free(p->z);
    free(p->y);
}

static inline vg_predictions view_f64(const problem *p) {
    ptrdiff_t c = (ptrdiff_t)p->c;
    return (vg_predictions){p->z, VG_F64, p->n, p->m, p->c, (ptrdiff_t)p->m * c, c, 1};
}

/* The same as float32; free the data. Rounds p->z as well, so that both hold the same numbers. */
static inline vg_predictions view_f32(problem *p) {
    size_t count = p->n * p->m * p->c;
    float *data = malloc(count * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++)
        p->z[i] = (double)(data[i] = (float)p->z[i]);
    vg_predictions view = view_f64(p);
    view.data = data;
    view.dtype = VG_F32;
    return view;
}

#define assert_close(actual, expected, tolerance) check_close(actual, expected, tolerance, #actual, __FILE__, __LINE__)
static inline void check_close(double actual, double expected, double tolerance, const char *what, const char *file,
                               int line) {
    if (!(fabs(actual - expected) <= tolerance)) {
        print_error("%s is %.17g, expected %.17g within %g\n", what, actual, expected, tolerance);
        _fail(file, line);
    }
}

#define assert_fails(expression, status, part) check_fails(expression, status, part, __FILE__, __LINE__)
static inline void check_fails(vg_status actual, vg_status expected, const char *part, const char *file, int line) {
    if (actual != expected || strstr(vg_error_message(), part) == NULL || strchr(vg_error_message(), '\n') != NULL) {
        print_error("status %d, message \"%s\"; expected %d and \"%s\"\n", (int)actual, vg_error_message(),
                    (int)expected, part);
        _fail(file, line);
    }
}

#define assert_ok(expression) check_ok(expression, __FILE__, __LINE__)
static inline void check_ok(vg_status status, const char *file, int line) {
    if (status != VG_OK) {
        print_error("status %d: %s\n", (int)status, vg_error_message());
        _fail(file, line);
    }
}

static inline json_t *load_reference(void) {
    json_error_t error;
    json_t *root = json_load_file("tests/data/calibrate/reference.json", 0, &error);
    if (root == NULL)
        fail_msg("%s: %s", error.source, error.text);
    return root;
}

static inline double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static inline double number_at(const json_t *object, const char *key, size_t i) {
    const json_t *value = json_array_get(json_object_get(object, key), i);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static inline problem reference_problem(const json_t *c) {
    return make_problem((size_t)number(c, "n"), (size_t)number(c, "m"), (size_t)number(c, "c"),
                        (uint64_t)number(c, "seed"), number(c, "scale"), number(c, "boost"));
}

#endif
