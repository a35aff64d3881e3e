/* dump_arrays.c - reads files from standard input and writes what the readers make of them, for differential.py.
 *
 *     in    name length 4, name, size 4, bytes                       for each file, until the end
 *     out   0, message length 4, message                             refused, or
 *           1, number of arrays 4, then for each
 *              name length 4, name, element 1, rank 1, lengths 8 each, read 1, and where read is 1 the values, float64
 *
 * Numbers are in the byte order of the machine. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "formats/arrays.h"

enum { MOST_ELEMENTS = 1 << 16 };

static void put(const void *bytes, size_t size) {
    if (size && fwrite(bytes, 1, size, stdout) != size)
        exit(1);
}

static void put_text(const char *text) {
    uint32_t length = (uint32_t)strlen(text);
    put(&length, sizeof length);
    put(text, length);
}

static void put_array(vg_source *source, size_t index) {
    vg_array_info info;
    double *values;
    if (vg_source__info(source, index, &info) != VG_OK)
        exit(1);
    uint8_t about[2] = {(uint8_t)info.element, (uint8_t)info.rank}, read = 0;
    put_text(info.name);
    put(about, sizeof about);
    for (size_t i = 0; i < info.rank; i++)
        put(&(uint64_t){info.shape[i]}, sizeof(uint64_t));
    if (info.count > MOST_ELEMENTS || vg_base__alloc(&values, info.count, sizeof *values, "values") != VG_OK) {
        put(&read, 1);
        return;
    }
    read = vg_source__read_f64(source, index, 0, info.rank ? info.shape[0] : 1, values) == VG_OK;
    put(&read, 1);
    if (read)
        put(values, info.count * sizeof *values);
    vg_base__release(values);
}

static void put_file(const void *bytes, size_t size, const char *name) {
    vg_source *source;
    uint8_t accepted = vg_source__open_memory(&source, bytes, size, name) == VG_OK;
    put(&accepted, 1);
    if (!accepted) {
        put_text(vg_error_message());
        return;
    }
    uint32_t count = (uint32_t)vg_source__count(source);
    put(&count, sizeof count);
    for (size_t i = 0; i < count; i++)
        put_array(source, i);
    vg_source__close(source);
}

/* A length and as many bytes, followed by a NUL; NULL at the end of the input. */
static char *take(uint32_t *length) {
    if (fread(length, sizeof *length, 1, stdin) != 1)
        return NULL;
    char *bytes = malloc((size_t)*length + 1);
    if (!bytes || fread(bytes, 1, *length, stdin) != *length)
        exit(1);
    bytes[*length] = '\0';
    return bytes;
}

int main(void) {
    char *name, *bytes;
    uint32_t length, size;
    while ((name = take(&length)) != NULL && (bytes = take(&size)) != NULL) {
        put_file(bytes, size, name);
        free(bytes);
        free(name);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
