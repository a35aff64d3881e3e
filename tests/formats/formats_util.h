/* formats_util.h - what the tests of file formats share. */
#ifndef FORMATS_UTIL_H
#define FORMATS_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "formats/arrays.h"
#include "vargate/formats.h"

#define DATA "tests/data/formats/"

#define assert_ok(expression)                                                                                          \
    do {                                                                                                               \
        if ((expression) != VG_OK)                                                                                     \
            fail_msg("%s: %s", #expression, vg_error_message());                                                       \
    } while (0)

/* The call fails with this status, and its message holds this text and is one line. */
static inline void assert_fails(vg_status status, vg_status expected, const char *text) {
    if (status != expected || !strstr(vg_error_message(), text))
        fail_msg("status %d (%s), expected %d with '%s'", (int)status, vg_error_message(), (int)expected, text);
    assert_null(strchr(vg_error_message(), '\n'));
}

/* A whole file; the caller frees it. */
static inline uint8_t *slurp(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    size_t room = 1 << 16;
    uint8_t *bytes = malloc(room);
    *size = 0;
    for (size_t got; (got = fread(bytes + *size, 1, room - *size, file)) > 0;) {
        *size += got;
        if (*size == room)
            bytes = realloc(bytes, room *= 2);
    }
    fclose(file);
    return bytes;
}

static inline void spit(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Reads everything of every array of a source in all three ways; the first failure's status, or VG_OK. */
static inline vg_status read_everything(vg_source *source) {
    vg_status first = VG_OK;
    for (size_t i = 0; i < vg_source__count(source); i++) {
        vg_array_info info;
        vg_status status = vg_source__info(source, i, &info);
        size_t rows = info.rank ? info.shape[0] : 1;
        double *values = malloc(info.count * sizeof *values + 8);
        if (status == VG_OK)
            status = vg_source__read_f64(source, i, 0, rows, values);
        if (status == VG_OK)
            status = vg_source__read_f32(source, i, 0, rows, (float *)values);
        if (status == VG_OK && vg_source__read_i64(source, i, 0, rows, (int64_t *)values) != VG_OK)
            status = strstr(vg_error_message(), "whole number") ? VG_OK : VG_ERR_FORMAT;
        const void *map;
        if (status == VG_OK)
            status = vg_source__map(source, i, &map);
        free(values);
        if (first == VG_OK)
            first = status;
    }
    return first;
}

/* Opens bytes as a file of that name and reads everything. A copy of exactly `size` bytes, so that reading beyond
 * shows. */
static inline vg_status try_bytes(const uint8_t *bytes, size_t size, const char *name) {
    uint8_t *copy = malloc(size ? size : 1);
    if (size)
        memcpy(copy, bytes, size);
    vg_source *source;
    vg_status status = vg_source__open_memory(&source, copy, size, name);
    if (status == VG_OK) {
        status = read_everything(source);
        vg_source__close(source);
    }
    free(copy);
    return status;
}

/* A folder for a test's own files. */
static inline void make_folder(char *path, size_t room) {
    const char *base = getenv("TMPDIR");
    snprintf(path, room, "%s/vargate-test-XXXXXX", base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(path));
}

#endif
