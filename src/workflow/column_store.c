/* column_store.c - columns in memory or in an unnamed temporary file. See column_store.h. */
#include "workflow/column_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Results up to this size stay in memory. VARGATE_SPOOL_BYTES sets another limit (0: always a file). */
static size_t memory_limit(void) {
    const char *text = getenv("VARGATE_SPOOL_BYTES");
    return text ? (size_t)strtoull(text, NULL, 10) : (size_t)96 << 20;
}

static vg_status make_file(vg_column_store *store, const char *beside) {
    char name[4096];
    const char *slash = beside ? strrchr(beside, '/') : NULL, *folder = getenv("TMPDIR");
    int length;
    if (slash)
        length = snprintf(name, sizeof name, "%.*s/.vargate-XXXXXX", (int)(slash - beside), beside);
    else
        length = snprintf(name, sizeof name, "%s/.vargate-XXXXXX", beside ? "." : folder && *folder ? folder : "/tmp");
    if (length < 0 || (size_t)length >= sizeof name)
        return vg_base__fail(VG_ERR_ARGUMENT, "temporary file: path is too long");
    store->file = mkstemp(name);
    if (store->file < 0)
        return vg_base__fail(VG_ERR_IO, "%s: %s", name, strerror(errno));
    unlink(name);
    return VG_OK;
}

vg_status vg_column_store__open(vg_column_store *store, vg_field_set set, const vg_score_layout *layout,
                                const char *beside) {
    *store = (vg_column_store){.layout = *layout, .set = set, .file = -1};
    for (int f = 0; f < VG_FIELD_COUNT; f++) {
        size_t bytes = 0;
        store->offset[f] = store->bytes;
        if ((set & VG_FIELD_BIT(f)) && (!vg_base__mul(&bytes, layout->n, vg_field__bytes(f, layout)) ||
                                        !vg_base__add(&store->bytes, store->bytes, bytes)))
            return vg_base__fail(VG_ERR_MEMORY, "the results of %zu samples do not fit a file", layout->n);
    }
    if (store->bytes > memory_limit())
        return make_file(store, beside);
    store->memory = malloc(store->bytes ? store->bytes : 1);
    return store->memory ? VG_OK : vg_base__fail(VG_ERR_MEMORY, "out of memory for the results");
}

void vg_column_store__borrow(vg_column_store *store, const vg_scores *held, const vg_score_layout *layout) {
    *store = (vg_column_store){.layout = *layout, .file = -1, .held = held};
    for (int f = 0; f < VG_FIELD_COUNT; f++) {
        if (vg_score_block__place(held, f)) {
            store->set |= VG_FIELD_BIT(f);
            store->bytes += layout->n * vg_field__bytes(f, layout);
        }
    }
}

void vg_column_store__close(vg_column_store *store) {
    free(store->memory);
    if (store->file >= 0)
        close(store->file);
    *store = (vg_column_store){.file = -1};
}

static vg_status file_put(const vg_column_store *store, const char *bytes, size_t size, size_t offset) {
    while (size > 0) {
        ssize_t done = pwrite(store->file, bytes, size, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return vg_base__fail(VG_ERR_IO, "temporary file of %zu bytes: %s", store->bytes,
                                 done < 0 ? strerror(errno) : "cannot grow");
        bytes += done;
        size -= (size_t)done;
        offset += (size_t)done;
    }
    return VG_OK;
}

static vg_status file_get(const vg_column_store *store, char *out, size_t size, size_t offset) {
    while (size > 0) {
        ssize_t done = pread(store->file, out, size, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return vg_base__fail(VG_ERR_IO, "temporary file: %s", done < 0 ? strerror(errno) : "ends too early");
        out += done;
        size -= (size_t)done;
        offset += (size_t)done;
    }
    return VG_OK;
}

vg_status vg_column_store__put(vg_column_store *store, size_t first, size_t rows, const vg_scores *block) {
    vg_status status = VG_OK;
    for (int f = 0; f < VG_FIELD_COUNT && status == VG_OK; f++) {
        if (!(store->set & VG_FIELD_BIT(f)))
            continue;
        size_t bytes = vg_field__bytes(f, &store->layout), offset = store->offset[f] + first * bytes;
        if (store->memory)
            memcpy(store->memory + offset, vg_score_block__place(block, f), rows * bytes);
        else
            status = file_put(store, vg_score_block__place(block, f), rows * bytes, offset);
    }
    return status;
}

vg_status vg_column_store__get(const vg_column_store *store, vg_field field, size_t first, size_t rows, void *out) {
    size_t bytes = vg_field__bytes(field, &store->layout);
    const char *memory = vg_column_store__memory(store, field);
    if (!memory)
        return file_get(store, out, rows * bytes, store->offset[field] + first * bytes);
    memcpy(out, memory + first * bytes, rows * bytes);
    return VG_OK;
}

const void *vg_column_store__memory(const vg_column_store *store, vg_field field) {
    if (store->held)
        return vg_score_block__place(store->held, field);
    return store->memory ? store->memory + store->offset[field] : NULL;
}
