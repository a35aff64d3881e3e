/* base.h - what every module uses: errors, checked memory, threads. Internal. */
#ifndef VG_BASE_H
#define VG_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vargate/status.h"

#if defined(__GNUC__)
#define VG_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define VG_PRINTF(f, a)
#endif

/* Sets the calling thread's message and returns `status`. A failing function ends with `return vg_base__fail(...)`. */
vg_status vg_base__fail(vg_status status, const char *format, ...) VG_PRINTF(2, 3);
/* VG_ERR_ARGUMENT, "WHAT must not be NULL", unless all arguments that a public function needs are there:
 *     VG_TRY(vg_base__given(out && path, "vg_thing_open: out and path")); */
vg_status vg_base__given(bool all, const char *what);
/* Sets on this thread a message that was copied from another one (vg_error_message there). */
vg_status vg_base__fail_text(vg_status status, const char *text);

/* The mark of an object that serves one caller at a time: a second one gets VG_ERR_ARGUMENT, "WHAT is in use by another
 * thread", not a data race. Zeroed memory is a mark that is free. */
typedef struct vg_busy {
    int inside; /* not _Atomic: CUDA sources include this header */
} vg_busy;
vg_status vg_base__enter(vg_busy *busy, const char *what);
void vg_base__leave(vg_busy *busy);
/* Calls a function while the mark is set; its status, or that of vg_base__enter. */
#define VG_ALONE(status, busy, what, call)                                                                             \
    do {                                                                                                               \
        (status) = vg_base__enter(busy, what);                                                                         \
        if ((status) == VG_OK) {                                                                                       \
            (status) = (call);                                                                                         \
            vg_base__leave(busy);                                                                                      \
        }                                                                                                              \
    } while (0)

/* Returns from the enclosing function if `expression` is not VG_OK; the message is already set. */
#define VG_TRY(expression)                                                                                             \
    do {                                                                                                               \
        vg_status vg_try_ = (expression);                                                                              \
        if (vg_try_ != VG_OK)                                                                                          \
            return vg_try_;                                                                                            \
    } while (0)

/* Copies the options that a caller gave to `out`, a struct of `size` bytes that begins with `size_t struct_size`. A
 * smaller struct from a caller compiled against an older header is accepted: the fields it lacks keep the values of
 * `defaults` (the _INIT macro's), as all do where `given` is NULL. out->struct_size becomes `size`. VG_ERR_ARGUMENT,
 * naming the struct, for a struct_size that no release had: larger than `size`, smaller than the field itself, or not a
 * multiple of its alignment.
 *
 *     static const vg_thing_options defaults = VG_THING_OPTIONS_INIT;
 *     vg_thing_options o;
 *     VG_TRY(vg_base__take_options(&o, options, &defaults, sizeof o, "vg_thing_options")); */
vg_status vg_base__take_options(void *out, const void *given, const void *defaults, size_t size, const char *name);
/* The counterpart for results: copies the first out->struct_size bytes of a result of `size` bytes, which begins
 * with struct_size too, to the caller's struct. out->struct_size keeps its value. VG_ERR_ARGUMENT for a struct_size
 * that no release had. */
vg_status vg_base__give_result(void *out, const void *result, size_t size, const char *name);

/* Product and sum of sizes; false when the result would overflow. */
static inline bool vg_base__mul(size_t *out, size_t a, size_t b) { return !__builtin_mul_overflow(a, b, out); }
static inline bool vg_base__add(size_t *out, size_t a, size_t b) { return !__builtin_add_overflow(a, b, out); }

/* Allocates count * size bytes aligned to 64, uninitialised (alloc) or zeroed (zalloc). `what` names the object in
 * the error message. count = 0 gives a valid pointer. Free with vg_base__release. */
vg_status vg_base__alloc(void *out, size_t count, size_t size, const char *what);
vg_status vg_base__zalloc(void *out, size_t count, size_t size, const char *what);
void vg_base__release(void *memory);
/* Maps the pages of memory that will be written soon in one system call, which is cheaper than one page fault after
 * the other. Their content is kept. Does nothing where the system does not support it. */
void vg_base__populate(void *memory, size_t bytes);
/* Releases an allocation of `bytes`. The pages of a large one are unmapped by all cores in parallel. */
void vg_base__release_large(void *memory, size_t bytes);
/* A copy of a NUL-terminated string; release with vg_base__release. */
vg_status vg_base__strdup(char **out, const char *text);

/* --- threads ---------------------------------------------------------------------------------------------------------
 * A pool of persistent workers. run() calls body(context, index, worker) for every index in 0..count-1, indices handed
 * out in increasing order, worker in 0..threads-1 (0 is the caller's thread, which works too). Which worker takes which
 * index is not fixed: results must not depend on it. A body that fails stops the hand-out of further indices; run()
 * returns the failure of the smallest index that failed, with its message, which is therefore the same at any thread
 * count as long as a body's outcome depends on its index alone. */
typedef struct vg_pool vg_pool;
typedef vg_status (*vg_pool_body)(void *context, size_t index, unsigned worker);

/* threads = 0: one per available core (affinity respected). */
vg_status vg_pool__new(vg_pool **out, unsigned threads);
void vg_pool__free(vg_pool *pool);
unsigned vg_pool__threads(const vg_pool *pool);
vg_status vg_pool__run(vg_pool *pool, size_t count, vg_pool_body body, void *context);
/* While run() waits for the other workers to finish, the calling thread calls idle(context) about fifty times a
 * second, so that it can notice an interruption. NULL: never. */
void vg_pool__while_waiting(vg_pool *pool, void (*idle)(void *context), void *context);
/* The number of cores that this process may run on. */
unsigned vg_base__cores(void);

#endif
