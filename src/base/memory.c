/* memory.c - allocations whose sizes are checked and whose failure is an error message. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* madvise */
#endif
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "base/base.h"

/* count * size bytes at a multiple of `alignment`; *rounded is how many there are. */
static vg_status allocate(void *out, size_t *rounded, size_t count, size_t size, size_t alignment, const char *what) {
    size_t bytes;
    void *memory = NULL;
    memcpy(out, &memory, sizeof memory);
    if (!vg_base__mul(&bytes, count, size) || !vg_base__add(rounded, bytes, alignment))
        return vg_base__fail(VG_ERR_MEMORY, "%s: %zu x %zu bytes do not fit in memory", what, count, size);
    *rounded = *rounded / alignment * alignment;
    memory = aligned_alloc(alignment, *rounded);
    if (!memory)
        return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory (%zu bytes)", what, bytes);
    memcpy(out, &memory, sizeof memory);
    return VG_OK;
}

vg_status vg_base__alloc(void *out, size_t count, size_t size, const char *what) {
    size_t bytes;
    return allocate(out, &bytes, count, size, 64, what);
}

vg_status vg_base__alloc_wide(void *out, size_t count, size_t size, const char *what) {
    const size_t page = (size_t)1 << 21;
    size_t bytes;
    if (!vg_base__mul(&bytes, count, size) || bytes < 2 * page)
        return vg_base__alloc(out, count, size, what);
    VG_TRY(allocate(out, &bytes, count, size, page, what));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    void *memory;
    memcpy(&memory, out, sizeof memory);
    madvise(memory, bytes, MADV_HUGEPAGE); /* a hint: where the system has none, small pages serve */
#endif
    return VG_OK;
}

vg_status vg_base__zalloc(void *out, size_t count, size_t size, const char *what) {
    VG_TRY(vg_base__alloc(out, count, size, what));
    void *memory;
    memcpy(&memory, out, sizeof memory);
    memset(memory, 0, count * size);
    return VG_OK;
}

void vg_base__release(void *memory) { free(memory); }

vg_status vg_base__strdup(char **out, const char *text) {
    size_t length = strlen(text) + 1;
    VG_TRY(vg_base__alloc(out, length, 1, "a string"));
    memcpy(*out, text, length);
    return VG_OK;
}
