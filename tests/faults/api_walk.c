/* api_walk.c - faults at every call, over the C API: each case (api_walk.h) is called with the n-th allocation, open,
 * read, write and so on failing, for every n. The call then fails with a status and one line of message, or gives the
 * figures that it gives without a fault; in both cases all memory is freed. With "alloc+" every allocation from the
 * n-th on fails, except in calls of oneDNN, which then leaks or ends the process. Runs with fault_preload.c preloaded,
 * in a folder with the inputs.
 *
 *   api_walk [STRIDE]     every STRIDE-th n of a case, from a start that $SEED gives; default 1. "sites": of the
 *                         allocations one n for every stack that allocates, as far as the case's own stride allows; of
 *                         the other kinds every n */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api_walk.h"

typedef void (*arm_fn)(const char *kind, unsigned long n, bool every);
typedef unsigned long (*calls_fn)(const char *kind);
typedef long (*live_fn)(void);
typedef uint64_t (*site_fn)(unsigned long n);
typedef void (*note_fn)(bool on);
static arm_fn arm;
static live_fn live;
static calls_fn calls_of;
static site_fn site_of; /* NULL: not by sites */
static note_fn note;
static size_t wrong, injected, stride = 1, from;
enum { MOST_SITES = 1 << 16 };

static const char *const kinds[] = {"alloc", "open",   "read",   "write",  "mmap",
                                    "fsync", "rename", "thread", "folder", "alloc"}; /* the last: "alloc+" */
enum { KINDS = sizeof kinds / sizeof *kinds, ALLOC_LASTING = KINDS - 1 };

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place) {
    (void)about, (void)kind, (void)place;
    return remove(path);
}
static void clean(void) {
    nftw("out", remove_one, 16, FTW_DEPTH | FTW_PHYS);
    mkdir("out", 0777);
}

/* What a call without a fault gives. */
typedef struct plain {
    double figure;
    long kept; /* blocks that stay allocated, such as caches */
    unsigned long calls[KINDS];
} plain;

static bool call_plainly(plain *out, const api_case *c) {
    for (int i = 0; i < 2; i++) { /* the second time what is made once is there */
        out->figure = 0;
        clean();
        long before = live();
        arm("none", 0, false);
        vg_status status = c->call(&out->figure);
        for (size_t k = 0; k < KINDS; k++)
            out->calls[k] = calls_of(kinds[k]);
        out->kept = live() - before > 0 ? live() - before : 0;
        if (status != VG_OK) {
            printf("FAILED: %s without a fault: %s\n", c->name, vg_error_message());
            wrong++;
            return false;
        }
    }
    return true;
}

/* The first allocation of every stack that makes some, in a call without a fault. Returns how many there are. */
static size_t find_sites(unsigned long chosen[MOST_SITES], unsigned long calls) {
    static uint64_t seen[2 * MOST_SITES]; /* a hash table, 0: free */
    size_t count = 0;
    memset(seen, 0, sizeof seen);
    for (unsigned long n = 1; n <= calls && count < MOST_SITES; n++) {
        uint64_t site = site_of(n) | 1, at = site % (2 * MOST_SITES);
        while (seen[at] && seen[at] != site)
            at = (at + 1) % (2 * MOST_SITES);
        if (seen[at] == site)
            continue;
        seen[at] = site;
        chosen[count++] = n;
    }
    return count;
}

static const char *judge(vg_status status, double figure, double expected, long leaked) {
    const char *message = vg_error_message();
    if (status == VG_OK && figure != expected)
        return "other figures than without a fault";
    if (status != VG_OK && (!*message || strchr(message, '\n')))
        return "no line of message";
    return leaked > 0 ? "memory is not freed" : NULL;
}

/* One call with the n-th call of a kind failing. */
static void walk_one(const api_case *c, size_t which, const plain *expected, unsigned long n) {
    injected++;
    const char *kind = kinds[which], *every = which == ALLOC_LASTING ? "+" : "";
    double figure = 0;
    clean();
    long before = live();
    arm(kind, n, *every);
    vg_status status = c->call(&figure);
    arm("none", 0, false);
    const char *why = judge(status, figure, expected->figure, live() - before - expected->kept);
    if (why) {
        printf("FAILED: %s (%s%s, call %lu of %lu): status %d, %s: %s\n", c->name, kind, every, n,
               expected->calls[which], (int)status, why, vg_error_message());
        wrong++;
    }
    if (live() >= before && which != ALLOC_LASTING)
        return;
    /* Memory that was held in reserve is spent: a call without a fault holds it again. And nothing of a call that had
     * no memory at all remains. */
    figure = 0;
    clean();
    if (c->call(&figure) == VG_OK && figure == expected->figure)
        return;
    printf("FAILED: %s after one without memory (%s%s, call %lu): %s\n", c->name, kind, every, n, vg_error_message());
    wrong++;
}

static void walk(const api_case *c, size_t which, const plain *expected) {
    static unsigned long sites[MOST_SITES];
    unsigned long calls = expected->calls[which];
    size_t before_wrong = wrong, before = injected;
    bool allocations = strcmp(kinds[which], "alloc") == 0; /* of the others there are few */
    if (allocations && site_of) {
        double figure = 0;
        clean();
        arm("none", 0, false);
        note(true);
        c->call(&figure);
        note(false);
        size_t step = 1 + c->stride / 10, count = find_sites(sites, calls);
        for (size_t i = from % step; i < count; i += step)
            walk_one(c, which, expected, sites[i]);
    } else {
        size_t step = allocations ? c->stride * stride : stride;
        for (unsigned long n = 1 + from % step; n <= calls; n += step)
            walk_one(c, which, expected, n);
    }
    if (calls > 0)
        printf("%s %s%s: %lu calls, %zu faults, %zu ended wrongly\n", c->name, kinds[which],
               which == ALLOC_LASTING ? "+" : "", calls, injected - before, wrong - before_wrong);
    fflush(stdout);
}

static bool calls_onednn(const char *name) {
    static const char *const names[] = {"doctor", "predict", "train", "run"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        found |= strcmp(name, names[i]) == 0;
    return found;
}

/* only: the beginning of names; NULL: all. */
static void walk_all(const api_case *cases, const char *only) {
    for (; cases->name; cases++) {
        plain expected;
        if ((only && strncmp(only, cases->name, strlen(only)) != 0) || !call_plainly(&expected, cases))
            continue;
        for (size_t k = 0; k < KINDS; k++)
            if (k != ALLOC_LASTING || !calls_onednn(cases->name))
                walk(cases, k, &expected);
    }
}

int main(int argc, char **argv) {
    const char *seed = getenv("SEED"), *only = getenv("CASE");
    arm = (arm_fn)(uintptr_t)dlsym(RTLD_DEFAULT, "vg_fault_arm");
    live = (live_fn)(uintptr_t)dlsym(RTLD_DEFAULT, "vg_fault_live");
    calls_of = (calls_fn)(uintptr_t)dlsym(RTLD_DEFAULT, "vg_fault_calls");
    if (!arm || !live || !calls_of) {
        puts("the library of faults is not preloaded");
        return 77;
    }
    note = (note_fn)(uintptr_t)dlsym(RTLD_DEFAULT, "vg_fault_note");
    if (argc > 1 && strcmp(argv[1], "sites") == 0 && note)
        site_of = (site_fn)(uintptr_t)dlsym(RTLD_DEFAULT, "vg_fault_site");
    else if (argc > 1)
        stride = strtoul(argv[1], NULL, 10);
    from = seed ? strtoul(seed, NULL, 10) : 0;
    walk_all(array_cases, only);
    walk_all(file_cases, only);
    if (make_kinds()) {
        walk_all(kind_cases, only);
    } else {
        printf("FAILED: the inputs of api_kinds.c: %s\n", vg_error_message());
        wrong++;
    }
    printf("%zu faults, %zu ended wrongly\n", injected, wrong);
    return wrong != 0;
}
