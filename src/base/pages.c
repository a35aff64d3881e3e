/* pages.c - ranges of whole memory pages: mapping them before they are written, unmapping them on all cores. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"

/* The whole pages inside memory[0 .. bytes - 1]. */
static size_t whole_pages(char **first, void *memory, size_t bytes) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = ((uintptr_t)memory + page - 1) / page * page;
    uintptr_t to = ((uintptr_t)memory + bytes) / page * page;
    *first = (char *)memory + (from - (uintptr_t)memory);
    return memory && to > from ? (size_t)(to - from) : 0;
}

/* Also the pages of which only a part is in the range: the system provides whole ones. */
void vg_base__populate(void *memory, size_t bytes) {
#ifdef MADV_POPULATE_WRITE
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)memory % page;
    if (memory && bytes > 0)
        (void)madvise((char *)memory - before, (before + bytes + page - 1) / page * page, MADV_POPULATE_WRITE);
#else
    (void)memory, (void)bytes;
#endif
}

enum { PARTS = 16, LARGE_BYTES = 32 << 20 };
typedef struct pages {
    char *first;
    size_t bytes;
} pages;

static vg_status drop_part(void *context, size_t index, unsigned worker) {
    const pages *p = context;
    char *first;
    size_t part = p->bytes / PARTS, whole = whole_pages(&first, p->first + index * part, part);
    (void)worker;
    if (whole > 0)
        (void)madvise(first, whole, MADV_DONTNEED);
    return VG_OK;
}

void vg_base__release_large(void *memory, size_t bytes) {
    vg_pool *pool;
    pages all = {memory, bytes};
    if (memory && bytes >= LARGE_BYTES && vg_base__cores() > 1 && vg_pool__new(&pool, 0) == VG_OK) {
        (void)vg_pool__run(pool, PARTS, drop_part, &all);
        vg_pool__free(pool);
    }
    free(memory);
}
