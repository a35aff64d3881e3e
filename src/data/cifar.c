/* cifar.c - the binary version of CIFAR-10 and CIFAR-100, plain or gzipped.
 *
 *     CIFAR-10    label byte            1024 R   1024 G   1024 B        3073 bytes per record
 *     CIFAR-100   coarse, fine label    1024 R   1024 G   1024 B        3074 bytes per record; the fine label is taken
 *
 * Each plane is 32x32, row by row: already the layout held in memory. Several files are one set, in the order given. */
#include <string.h>

#include "data/dataset.h"

enum { PIXELS = 3 * 32 * 32, CHUNK = 256 };

/* Records in one file; a gzipped one is read through to count them. */
static vg_status count_records(size_t *out, const char *path, size_t record) {
    vg_bytes bytes;
    VG_TRY(vg_bytes__open(&bytes, path));
    size_t size = bytes.file_size;
    vg_status status = VG_OK;
    if (!bytes.plain) {
        unsigned char block[16384];
        size_t got = sizeof block;
        while (status == VG_OK && got == sizeof block)
            status = vg_bytes__read(&bytes, block, sizeof block, &got);
        if (status == VG_OK)
            status = vg_bytes__at_end(&bytes, bytes.taken);
        size = bytes.taken;
    }
    vg_bytes__close(&bytes);
    VG_TRY(status);
    if (size == 0 || size % record != 0)
        return vg_base__fail(
            VG_ERR_FORMAT,
            "%s: truncated: whole records of %zu bytes expected, %zu bytes found (%zu records and %zu bytes)", path,
            record, size, size / record, size % record);
    *out = size / record;
    return VG_OK;
}

static vg_status read_records(vg_dataset *set, size_t first, size_t count, const char *path, size_t record,
                              unsigned char *chunk) {
    vg_bytes bytes;
    VG_TRY(vg_bytes__open(&bytes, path));
    vg_status status = VG_OK;
    for (size_t done = 0; status == VG_OK && done < count;) {
        size_t part = count - done < CHUNK ? count - done : CHUNK;
        status = vg_bytes__exactly(&bytes, chunk, part * record, count * record);
        for (size_t i = 0; status == VG_OK && i < part; i++, done++) {
            const unsigned char *at = chunk + i * record;
            set->labels[first + done] = at[record - PIXELS - 1];
            memcpy(set->pixels.bytes + (first + done) * PIXELS, at + record - PIXELS, PIXELS);
        }
    }
    if (status == VG_OK)
        status = vg_bytes__at_end(&bytes, count * record);
    vg_bytes__close(&bytes);
    return status;
}

static vg_status read_files(vg_dataset **out, const char *const *paths, size_t count, size_t record, size_t *counts,
                            unsigned char *chunk) {
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        VG_TRY(count_records(&counts[i], paths[i], record));
        if (!vg_base__add(&total, total, counts[i]))
            return vg_base__fail(VG_ERR_MEMORY, "%s: too many records", paths[i]);
    }
    VG_TRY(vg_dataset__new(out, paths[0], &(vg_dataset_shape){total, 3, 32, 32, false, true}));
    for (size_t i = 0, first = 0; i < count; first += counts[i++])
        VG_TRY(read_records(*out, first, counts[i], paths[i], record, chunk));
    return VG_OK;
}

vg_status vg_cifar__read(vg_dataset **out, const char *const *paths, size_t count, bool coarse, size_t classes) {
    size_t record = PIXELS + (coarse ? 2 : 1), *counts;
    unsigned char *chunk = NULL;
    vg_dataset *set = NULL;
    *out = NULL;
    VG_TRY(vg_base__zalloc(&counts, count, sizeof *counts, "record counts"));
    vg_status status = vg_base__alloc(&chunk, CHUNK, record, "CIFAR records");
    if (status == VG_OK)
        status = read_files(&set, paths, count, record, counts, chunk);
    if (status == VG_OK)
        status = vg_dataset__settle_labels(set, classes);
    vg_base__release(chunk);
    vg_base__release(counts);
    if (status != VG_OK) {
        vg_dataset_free(set);
        return status;
    }
    *out = set;
    return VG_OK;
}
