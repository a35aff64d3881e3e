/* fault_loop.h - faults at every call within a test: a body is run with the n-th allocation (or open, read, write, ...)
 * failing, for every n. It then returns an error with one line of message, or what it returns without a fault, and in
 * both cases has freed its memory. Of allocations that the same stack of calls makes again and again the first, the
 * second and the last fail: the others take the same way out.
 *
 * The functions below are those of fault_preload.c, which the build links into every test whose name ends in _faults.
 * Allocations of the library, of the test itself and of jansson are counted; those within other shared libraries are
 * not. A body must not allocate by functions whose failure it does not handle, and takes its input from memory that
 * was made before. */
#ifndef VG_TEST_FAULT_LOOP_H
#define VG_TEST_FAULT_LOOP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vargate/types.h"

void vg_fault_arm(const char *kind, unsigned long n, bool every);
unsigned long vg_fault_calls(const char *kind);
void vg_fault_note(bool on);
uint64_t vg_fault_site(unsigned long n);
long vg_fault_live(void);

typedef vg_status (*fault_body)(void *context);

typedef struct fault_walk {
    const char *what;
    fault_body body;
    void *context;
    const char *kind;        /* "alloc", "open", "read", "write", "mmap", "fsync", "rename", "thread", "folder" */
    vg_status status;        /* what a failed call becomes; VG_OK: any error */
    unsigned long stride;    /* every stride-th of these calls fails, one after the other; 0: every one */
    void (*before)(void *);  /* called with the context before every run, without a fault; may be NULL */
    unsigned long tolerated; /* faults after which the body succeeds; more fail the test. 0: any number */
    const double *figure;    /* of the result: where the body succeeds, the same as without a fault. May be NULL */
} fault_walk;

static inline void fault_judge(const fault_walk *w, vg_status status, unsigned long n, unsigned long calls,
                               long leaked) {
    const char *message = vg_error_message();
    if (status != VG_OK && w->status != VG_OK && status != w->status)
        fail_msg("%s, %s %lu of %lu: status %d, expected %d: %s", w->what, w->kind, n, calls, (int)status,
                 (int)w->status, message);
    if (status != VG_OK && (!*message || strchr(message, '\n')))
        fail_msg("%s, %s %lu of %lu: not one line of message: '%s'", w->what, w->kind, n, calls, message);
    if (leaked > 0)
        fail_msg("%s, %s %lu of %lu: %ld blocks are not freed (status %d, %s)", w->what, w->kind, n, calls, leaked,
                 (int)status, message);
}

static inline vg_status fault_run(const fault_walk *w, unsigned long n, long *grown) {
    if (w->before)
        w->before(w->context);
    long before = vg_fault_live();
    vg_fault_arm(n ? w->kind : "none", n, false);
    vg_status status = w->body(w->context);
    if (n)
        vg_fault_arm("none", 0, false);
    *grown = vg_fault_live() - before;
    return status;
}

/* Whether the n-th call is worth a run: see above. */
static inline bool is_first_or_last(const uint64_t *sites, unsigned long n, unsigned long calls) {
    unsigned long before = 0, after = 0;
    for (unsigned long i = 0; i < calls; i++) {
        before += i < n - 1 && sites[i] == sites[n - 1];
        after += i > n - 1 && sites[i] == sites[n - 1];
    }
    return before < 2 || after == 0;
}

/* Runs the body without a fault, the second time with what is made once there. Returns the stack of every call, or NULL
 * where they are not allocations. */
static inline uint64_t *run_plainly(const fault_walk *w, unsigned long *calls, long *kept) {
    bool notes = strcmp(w->kind, "alloc") == 0;
    for (int i = 0; i < 2; i++) {
        vg_fault_note(notes && i == 1);
        vg_status status = fault_run(w, 0, kept);
        *calls = vg_fault_calls(w->kind);
        vg_fault_note(false);
        if (status != VG_OK)
            fail_msg("%s without a fault: status %d, %s", w->what, (int)status, vg_error_message());
    }
    if (*kept > 0)
        fail_msg("%s without a fault: %ld blocks are not freed", w->what, *kept);
    uint64_t *sites = notes ? malloc((*calls + 1) * sizeof *sites) : NULL;
    for (unsigned long n = 1; sites && n <= *calls; n++)
        sites[n - 1] = vg_fault_site(n);
    return sites;
}

/* Runs the walk; returns the number of faults that the body survived. */
static inline unsigned long walk_faults(fault_walk w) {
    long kept = 0, grown;
    unsigned long survived = 0, calls = 0, runs = 0, candidates = 0;
    uint64_t *sites = run_plainly(&w, &calls, &kept);
    const double expected = w.figure ? *w.figure : 0;
    kept = kept > 0 ? kept : 0;
    for (unsigned long n = 1; n <= calls; n++) {
        if ((sites && !is_first_or_last(sites, n, calls)) || (w.stride && candidates++ % w.stride))
            continue;
        vg_status status = fault_run(&w, n, &grown);
        survived += status == VG_OK;
        runs++;
        fault_judge(&w, status, n, calls, grown - kept);
        if (status == VG_OK && w.figure && *w.figure != expected)
            fail_msg("%s, %s %lu of %lu: %.17g instead of %.17g", w.what, w.kind, n, calls, *w.figure, expected);
    }
    free(sites);
    print_message("%s: %lu calls of %s, %lu failed, %lu survived\n", w.what, calls, w.kind, runs, survived);
    if (w.tolerated && survived > w.tolerated)
        fail_msg("%s: %lu faults (%s) made no difference, at most %lu may", w.what, survived, w.kind, w.tolerated);
    return survived;
}

#endif
