/* column_store.c - columns in memory or in an unnamed temporary file. See column_store.h. */
#include "column_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console.h"

/* Results up to this size stay in memory. VARGATE_SPOOL_BYTES sets another limit (0: always a file). */
static size_t memory_limit(void) {
    const char *text = getenv("VARGATE_SPOOL_BYTES");
    return text ? (size_t)strtoull(text, NULL, 10) : (size_t)96 << 20;
}

static int make_file(column_store *store, const char *beside) {
    char name[4096];
    const char *slash = beside ? strrchr(beside, '/') : NULL, *folder = getenv("TMPDIR");
    int length;
    if (slash)
        length = snprintf(name, sizeof name, "%.*s/.vargate-XXXXXX", (int)(slash - beside), beside);
    else
        length = snprintf(name, sizeof name, "%s/.vargate-XXXXXX", beside ? "." : folder && *folder ? folder : "/tmp");
    if (length < 0 || (size_t)length >= sizeof name)
        return console_fail("temporary file: path is too long");
    store->file = mkstemp(name);
    if (store->file < 0)
        return console_fail("%s: %s", name, strerror(errno));
    unlink(name);
    return CLI_OK;
}

int column_store_open(column_store *store, score_set set, const score_layout *layout, const char *beside) {
    *store = (column_store){.layout = *layout, .set = set, .file = -1};
    for (int f = 0; f < FIELD_COUNT; f++) {
        size_t bytes = 0;
        store->offset[f] = store->bytes;
        if ((set & SCORE_BIT(f)) && (__builtin_mul_overflow(layout->n, score_field_bytes(f, layout), &bytes) ||
                                     __builtin_add_overflow(store->bytes, bytes, &store->bytes)))
            return console_fail("the results of %zu samples do not fit a file", layout->n);
    }
    if (store->bytes > memory_limit())
        return make_file(store, beside);
    store->memory = malloc(store->bytes ? store->bytes : 1);
    return store->memory ? CLI_OK : console_fail_memory("the results");
}

void column_store_close(column_store *store) {
    free(store->memory);
    if (store->file >= 0)
        close(store->file);
    *store = (column_store){.file = -1};
}

static int file_put(const column_store *store, const char *bytes, size_t size, size_t offset) {
    while (size > 0) {
        ssize_t done = pwrite(store->file, bytes, size, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return console_fail("temporary file of %zu bytes: %s", store->bytes, done < 0 ? strerror(errno) : "cannot grow");
        bytes += done;
        size -= (size_t)done;
        offset += (size_t)done;
    }
    return CLI_OK;
}

static int file_get(const column_store *store, char *out, size_t size, size_t offset) {
    while (size > 0) {
        ssize_t done = pread(store->file, out, size, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return console_fail("temporary file: %s", done < 0 ? strerror(errno) : "ends too early");
        out += done;
        size -= (size_t)done;
        offset += (size_t)done;
    }
    return CLI_OK;
}

int column_store_put(column_store *store, size_t first, size_t rows, const vg_scores *block) {
    int code = CLI_OK;
    for (int f = 0; f < FIELD_COUNT && code == CLI_OK; f++) {
        if (!(store->set & SCORE_BIT(f)))
            continue;
        size_t bytes = score_field_bytes(f, &store->layout), offset = store->offset[f] + first * bytes;
        if (store->memory)
            memcpy(store->memory + offset, score_block_place(block, f), rows * bytes);
        else
            code = file_put(store, score_block_place(block, f), rows * bytes, offset);
    }
    return code;
}

int column_store_get(const column_store *store, score_field field, size_t first, size_t rows, void *out) {
    size_t bytes = score_field_bytes(field, &store->layout), offset = store->offset[field] + first * bytes;
    if (!store->memory)
        return file_get(store, out, rows * bytes, offset);
    memcpy(out, store->memory + offset, rows * bytes);
    return CLI_OK;
}

const void *column_store_memory(const column_store *store, score_field field) {
    return store->memory ? store->memory + store->offset[field] : NULL;
}
