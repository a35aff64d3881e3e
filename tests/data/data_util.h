/* data_util.h - what the tests of src/data share: a folder of their own, and small files in the formats of data sets.
 * */
#ifndef TESTS_DATA_UTIL_H
#define TESTS_DATA_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/base.h"
#include "folder_util.h"
#include "vargate/data.h"

#define OK(expression)                                                                                                 \
    do {                                                                                                               \
        vg_status status_ = (expression);                                                                              \
        if (status_ != VG_OK)                                                                                          \
            fail_msg("%s: %s", #expression, vg_error_message());                                                       \
    } while (0)
/* Fails as it should, with a one-line message that contains `text`. */
#define FAILS(expression, expected, text)                                                                              \
    do {                                                                                                               \
        vg_status status_ = (expression);                                                                              \
        if (status_ != (expected) || !strstr(vg_error_message(), (text)) || strchr(vg_error_message(), '\n'))          \
            fail_msg("%s: %d, message '%s', expected '%s'", #expression, (int)status_, vg_error_message(), (text));    \
    } while (0)

/* Options that search `place` first for a set; NULL: the default places alone. One of them lives at a time. */
static inline const vg_dataset_options *searching(const char *place) {
    static vg_dataset_options options;
    options = (vg_dataset_options)VG_DATASET_OPTIONS_INIT;
    options.folder = place;
    return &options;
}

/* A path in the folder; eight of them live at a time. */
static inline const char *in(const char *name) {
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, 512, "%s/%s", folder, name);
    return path;
}

static inline void make_parents(const char *path) {
    char part[512];
    for (size_t i = 1; path[i]; i++)
        if (path[i] == '/') {
            snprintf(part, sizeof part, "%.*s", (int)i, path);
            mkdir(part, 0777);
        }
}

static inline void put(const char *path, const void *bytes, size_t size) {
    make_parents(path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline void put_gz(const char *path, const void *bytes, size_t size) {
    make_parents(path);
    gzFile file = gzopen(path, "wb9");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
}

/* Bytes of a whole file; the caller frees them. */
static inline unsigned char *take(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size + 1);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static inline void big_endian(unsigned char *at, uint32_t value) {
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* IDX images with byte i of the pixels = (7 i + 3) mod 251. Returns the size. */
static inline size_t idx_images(unsigned char *out, uint32_t n, uint32_t rows, uint32_t columns) {
    big_endian(out, 0x803);
    big_endian(out + 4, n);
    big_endian(out + 8, rows);
    big_endian(out + 12, columns);
    for (uint32_t i = 0; i < n * rows * columns; i++)
        out[16 + i] = (unsigned char)((7 * i + 3) % 251);
    return 16 + n * rows * columns;
}

/* IDX labels i mod classes. */
static inline size_t idx_labels(unsigned char *out, uint32_t n, unsigned classes) {
    big_endian(out, 0x801);
    big_endian(out + 4, n);
    for (uint32_t i = 0; i < n; i++)
        out[8 + i] = (unsigned char)(i % classes);
    return 8 + n;
}

#endif
