/* memory.c - allocations whose sizes are checked and whose failure is an error message. */
#define _GNU_SOURCE /* madvise */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/base.h"

enum { HUGE_PAGE = 2 << 20, MANY_PAGES = 2 * HUGE_PAGE };

/* Asks for huge pages within a large allocation: one page fault in place of 512, and fewer misses of the TLB. A hint:
 * systems without them, or set to never use them, go on with small pages. */
static void advise_huge_pages(void *memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
    size_t skipped = (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
    if (bytes >= MANY_PAGES)
        (void)madvise((char *)memory + skipped, (bytes - skipped) / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}

vg_status vg_base__alloc(void *out, size_t count, size_t size, const char *what) {
    size_t bytes, rounded;
    void *memory = NULL;
    memcpy(out, &memory, sizeof memory);
    if (!vg_base__mul(&bytes, count, size) || !vg_base__add(&rounded, bytes, 64))
        return vg_base__fail(VG_ERR_MEMORY, "%s: %zu x %zu bytes do not fit in memory", what, count, size);
    rounded = rounded / 64 * 64;
    if (rounded < 64)
        rounded = 64;
    memory = aligned_alloc(64, rounded);
    if (!memory)
        return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory (%zu bytes)", what, bytes);
    advise_huge_pages(memory, rounded);
    memcpy(out, &memory, sizeof memory);
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

void vg_free(void *memory) { free(memory); }

vg_status vg_base__strdup(char **out, const char *text) {
    size_t length = strlen(text) + 1;
    VG_TRY(vg_base__alloc(out, length, 1, "a string"));
    memcpy(*out, text, length);
    return VG_OK;
}
