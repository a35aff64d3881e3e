/* work_log.h - what a call asks of the rest of the library: memory, threads, pieces of work, kernels and sorts. The
 * linker's --wrap puts the functions below in front of the real ones (tests/CMakeLists.txt, tests whose names end in
 * _pinned). A change that leaves every figure as it is but takes more memory, starts threads for a handful of samples,
 * or does not reach a kernel, shows here and nowhere else.
 *
 * A request enters a sum by a hash of its numbers, so that the order in which threads make requests does not count.
 * Requests of more than 2 GB, of 64 MB where the memory is cleared, and of more than 64 threads are refused without the
 * system being asked: sizes that no machine has can be tested on every machine.
 *
 * What is asked for depends on the machine (number of processors, size of its caches) and changes with every buffer
 * that is added, so no table of it is kept. Where VARGATE_BITS names a file, compare_recorded() writes digests of the
 * work and of every figure to its last bit there, by tier and kind of case, and later runs hold theirs against it:
 *
 *     VARGATE_BITS=FILE build/release/tests/test_evaluate_pinned
 *
 * before and after a change that must alter nothing, with the same compiler, options and machine. */
#ifndef VG_TEST_WORK_LOG_H
#define VG_TEST_WORK_LOG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "evaluate/evaluate_internal.h"
#include "evaluate/set_kernels.h"
#include "measures/kernel.h"

/* --- hashes */
static inline uint64_t hash_step(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count) {
    uint64_t word = 0;
    for (size_t i = 0; i < count; i += sizeof word) {
        word = 0;
        memcpy(&word, (const char *)bytes + i, count - i < sizeof word ? count - i : sizeof word);
        hash = hash_step(hash, word);
    }
    return hash;
}

/* --- the log */
enum {
    WORK_ALLOC = 1,
    WORK_CLEAR,
    WORK_POPULATE,
    WORK_POOL,
    WORK_RUN,
    WORK_SCORE,
    WORK_ROOM,
    WORK_PROGRESS,
    WORK_ROWS,      /* and the other kernels of rows */
    WORK_SORT = 20, /* both sorts */
    WORK_PULSE = 25,
    WORK_CHECK,
    WORK_SETS = 30 /* and the other kernels of sets */
};
/* Of two and more threads, which one takes a piece is not fixed: what each allocates for itself at its first large
 * piece, and which rows it looks at before another one finds a wrong row, are left out. */
static atomic_ullong work_sum, work_of_each;
static atomic_uint work_threads;
static inline void work_note(unsigned kind, uint64_t a, uint64_t b) {
    bool each = kind <= WORK_POPULATE || kind >= WORK_SORT;
    atomic_fetch_add(each ? &work_of_each : &work_sum, hash_step(hash_step(hash_step(1, kind), a), b));
}
/* The log since the last call. */
static inline uint64_t work_taken(void) {
    uint64_t sum = atomic_exchange(&work_sum, 0), each = atomic_exchange(&work_of_each, 0);
    return sum + (atomic_exchange(&work_threads, 1) > 1 ? 0 : each);
}

/* --- memory and threads */
enum { WORK_MOST_CLEARED = 1 << 26, WORK_MOST_THREADS = 64 };
#define WORK_MOST ((size_t)1 << 31)
static inline bool work_refuses(size_t count, size_t size, size_t most) {
    size_t bytes;
    return vg_base__mul(&bytes, count, size) && bytes > most;
}
extern vg_status __real_vg_base__alloc(void *out, size_t count, size_t size, const char *what);
vg_status __wrap_vg_base__alloc(void *out, size_t count, size_t size, const char *what);
vg_status __wrap_vg_base__alloc(void *out, size_t count, size_t size, const char *what) {
    work_note(WORK_ALLOC, count, size);
    if (work_refuses(count, size, WORK_MOST))
        return vg_base__fail(VG_ERR_MEMORY, "%s: %zu x %zu bytes", what, count, size);
    return __real_vg_base__alloc(out, count, size, what);
}
extern vg_status __real_vg_base__zalloc(void *out, size_t count, size_t size, const char *what);
vg_status __wrap_vg_base__zalloc(void *out, size_t count, size_t size, const char *what);
vg_status __wrap_vg_base__zalloc(void *out, size_t count, size_t size, const char *what) {
    work_note(WORK_CLEAR, count, size);
    if (work_refuses(count, size, WORK_MOST_CLEARED))
        return vg_base__fail(VG_ERR_MEMORY, "%s: %zu x %zu bytes", what, count, size);
    return __real_vg_base__zalloc(out, count, size, what);
}
extern void __real_vg_base__populate(void *memory, size_t bytes);
void __wrap_vg_base__populate(void *memory, size_t bytes);
void __wrap_vg_base__populate(void *memory, size_t bytes) {
    work_note(WORK_POPULATE, bytes, 0);
    __real_vg_base__populate(memory, bytes);
}
extern vg_status __real_vg_pool__new(vg_pool **out, unsigned threads);
vg_status __wrap_vg_pool__new(vg_pool **out, unsigned threads);
vg_status __wrap_vg_pool__new(vg_pool **out, unsigned threads) {
    work_note(WORK_POOL, threads, 0);
    if (threads > 1)
        atomic_store(&work_threads, threads);
    if (threads > WORK_MOST_THREADS)
        return vg_base__fail(VG_ERR_MEMORY, "%u threads", threads);
    return __real_vg_pool__new(out, threads);
}
extern vg_status __real_vg_pool__run(vg_pool *pool, size_t count, vg_pool_body body, void *context);
vg_status __wrap_vg_pool__run(vg_pool *pool, size_t count, vg_pool_body body, void *context);
vg_status __wrap_vg_pool__run(vg_pool *pool, size_t count, vg_pool_body body, void *context) {
    work_note(WORK_RUN, count, 0);
    return __real_vg_pool__run(pool, count, body, context);
}

/* --- kernels of the measures */
extern const vg_kernel_tier *__real_vg_measures__tier(void);
const vg_kernel_tier *__wrap_vg_measures__tier(void);
static bool noted_workspace(size_t *bytes, const vg_kernel_job *job) {
    bool fits = __real_vg_measures__tier()->workspace(bytes, job);
    work_note(WORK_ROOM, fits, fits ? *bytes : 0);
    return fits;
}
static vg_status noted_score(const vg_kernel_job *job, void *workspace, size_t first, size_t count) {
    work_note(WORK_SCORE, first, count);
    return __real_vg_measures__tier()->score(job, workspace, first, count);
}
static vg_kernel_tier noted_tier;
static void note_tier(void) {
    noted_tier = *__real_vg_measures__tier();
    noted_tier.workspace = noted_workspace;
    noted_tier.score = noted_score;
}
const vg_kernel_tier *__wrap_vg_measures__tier(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, note_tier);
    return &noted_tier;
}

/* The slow check of rows: only where a kernel found something. */
extern vg_status __real_vg_measures__check_units(const vg_kernel_job *job, size_t first, size_t count);
vg_status __wrap_vg_measures__check_units(const vg_kernel_job *job, size_t first, size_t count);
vg_status __wrap_vg_measures__check_units(const vg_kernel_job *job, size_t first, size_t count) {
    work_note(WORK_CHECK, first, count);
    return __real_vg_measures__check_units(job, first, count);
}
extern vg_status __real_vg_measures__bad_row(const vg_kernel_job *job, size_t first, size_t count);
vg_status __wrap_vg_measures__bad_row(const vg_kernel_job *job, size_t first, size_t count);
vg_status __wrap_vg_measures__bad_row(const vg_kernel_job *job, size_t first, size_t count) {
    work_note(WORK_CHECK, first, count + 1000000);
    return __real_vg_measures__bad_row(job, first, count);
}

/* --- kernels of the evaluation */
extern const vg_row_kernels *__real_vg_evaluate__rows(void);
const vg_row_kernels *__wrap_vg_evaluate__rows(void);
#define REAL_ROWS __real_vg_evaluate__rows()
static bool noted_gather(vg_rank_room *room, const vg_bucket_map *map, const vg_rank_rows *rows, size_t a, size_t b) {
    work_note(WORK_ROWS, a, b);
    work_note(WORK_ROWS + 1, map->shift, map->buckets);
    return REAL_ROWS->gather_rows(room, map, rows, a, b);
}
static void noted_prefix(uint16_t *cells, size_t count) {
    work_note(WORK_ROWS + 2, count, 0);
    REAL_ROWS->prefix_sums(cells, count);
}
static bool noted_fix(uint64_t *items, size_t n, size_t most) {
    bool done = REAL_ROWS->fix_bucket_order(items, n, most);
    work_note(WORK_ROWS + 3, n, most * 2 + done);
    return done;
}
static size_t noted_errors(uint32_t *where, bool *tied, const uint64_t *items, size_t n, uint32_t first) {
    work_note(WORK_ROWS + 4, n, first);
    return REAL_ROWS->find_errors(where, tied, items, n, first);
}
static size_t noted_ties(vg_rank_tie *ties, const uint64_t *items, size_t n) {
    work_note(WORK_ROWS + 5, n, 0);
    return REAL_ROWS->find_ties(ties, items, n);
}
static uint64_t noted_walk(double sums[8], const uint32_t *before, size_t n, const double *tail, double left,
                           double all) {
    work_note(WORK_ROWS + 6, n, 0);
    return REAL_ROWS->walk(sums, before, n, tail, left, all);
}
static void noted_samples(vg_sample_batch *out, const double *mean, const int64_t *labels, size_t n, size_t classes,
                          const double *edges, size_t bins) {
    work_note(WORK_ROWS + 7, n, classes * 1000 + bins);
    REAL_ROWS->samples(out, mean, labels, n, classes, edges, bins);
}
static size_t noted_range(const double *values, size_t count, double most) {
    size_t found = REAL_ROWS->find_out_of_range(values, count, most);
    work_note(WORK_ROWS + 8, count, found);
    return found;
}
static void noted_extremes(double *most, double *least, double *sum, const double *p, size_t n, size_t c) {
    work_note(WORK_ROWS + 9, n, c);
    REAL_ROWS->extremes(most, least, sum, p, n, c);
}
static void noted_influences(double *rows, const uint8_t *positive, size_t n, const vg_area *area) {
    work_note(WORK_ROWS + 11, n, 0);
    REAL_ROWS->influences(rows, positive, n, area);
}
static vg_row_kernels noted_rows;
static void note_rows(void) {
    noted_rows = (vg_row_kernels){.gather_rows = noted_gather,
                                  .prefix_sums = noted_prefix,
                                  .fix_bucket_order = noted_fix,
                                  .finer = REAL_ROWS->finer,
                                  .find_errors = noted_errors,
                                  .find_ties = noted_ties,
                                  .walk = noted_walk,
                                  .samples = noted_samples,
                                  .find_out_of_range = noted_range,
                                  .extremes = noted_extremes,
                                  .influences = noted_influences};
}
const vg_row_kernels *__wrap_vg_evaluate__rows(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, note_rows);
    return &noted_rows;
}

/* --- kernels of prediction sets */
extern const vg_set_kernels *__real_vg_set__kernels(void);
const vg_set_kernels *__wrap_vg_set__kernels(void);
#define REAL_SETS __real_vg_set__kernels()
static bool noted_distribution(const double *v, size_t n) {
    bool is = REAL_SETS->is_distribution(v, n);
    work_note(WORK_SETS, n, is);
    return is;
}
static bool noted_widen(double *out, const float *v, size_t n) {
    bool is = REAL_SETS->widen(out, v, n);
    work_note(WORK_SETS + 1, n, is);
    return is;
}
static void noted_within(const vg_set_marks *to, const double *v, size_t n, double base, const double *thresholds) {
    work_note(WORK_SETS + 2, n, 0);
    REAL_SETS->mark_within(to, v, n, base, thresholds);
}
static size_t noted_own(uint8_t *mask, const double *v, size_t n, double base, const double *thresholds) {
    work_note(WORK_SETS + 3, n, 0);
    return REAL_SETS->mark_own(mask, v, n, base, thresholds);
}
static size_t noted_floats(const vg_set_marks *to, const vg_set_floats *in, const float *bounds) {
    work_note(WORK_SETS + 4, in->rows, in->n);
    return REAL_SETS->mark_floats(to, in, bounds);
}
static size_t noted_from(uint8_t *mask, const double *v, size_t n, double least) {
    work_note(WORK_SETS + 5, n, 0);
    return REAL_SETS->mark_from(mask, v, n, least);
}
static size_t noted_collect(double *out, const double *v, size_t n, double least) {
    size_t count = REAL_SETS->collect(out, v, n, least);
    work_note(WORK_SETS + 6, n, count);
    return count;
}
static void noted_order(double *out, double *v, size_t n) {
    work_note(WORK_SETS + 7, n, 0);
    REAL_SETS->order(out, v, n);
}
static vg_set_above noted_above(const double *v, size_t n, size_t y) {
    work_note(WORK_SETS + 8, n, y);
    return REAL_SETS->above(v, n, y);
}
static vg_set_kernels noted_sets;
static void note_sets(void) {
    noted_sets = (vg_set_kernels){.is_distribution = noted_distribution,
                                  .widen = noted_widen,
                                  .top = REAL_SETS->top,
                                  .mark_within = noted_within,
                                  .mark_own = noted_own,
                                  .mark_floats = noted_floats,
                                  .mark_from = noted_from,
                                  .collect = noted_collect,
                                  .order = noted_order,
                                  .above = noted_above};
}
const vg_set_kernels *__wrap_vg_set__kernels(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, note_sets);
    return &noted_sets;
}

/* --- sorts */
extern void __real_vg_evaluate__sort_keys(uint64_t *keys, uint64_t *scratch, size_t n);
void __wrap_vg_evaluate__sort_keys(uint64_t *keys, uint64_t *scratch, size_t n);
void __wrap_vg_evaluate__sort_keys(uint64_t *keys, uint64_t *scratch, size_t n) {
    work_note(WORK_SORT, n, 0);
    __real_vg_evaluate__sort_keys(keys, scratch, n);
}
extern void __real_vg_evaluate__select_keys(uint64_t *keys, uint64_t *scratch, size_t n, const size_t *places,
                                            size_t count);
void __wrap_vg_evaluate__select_keys(uint64_t *keys, uint64_t *scratch, size_t n, const size_t *places, size_t count);
void __wrap_vg_evaluate__select_keys(uint64_t *keys, uint64_t *scratch, size_t n, const size_t *places, size_t count) {
    work_note(WORK_SORT + 1, n, count);
    __real_vg_evaluate__select_keys(keys, scratch, n, places, count);
}

/* --- looks at whether the caller wants to stop */
extern vg_status __real_vg_evaluate__pulse(vg_pulse *pulse, unsigned worker);
vg_status __wrap_vg_evaluate__pulse(vg_pulse *pulse, unsigned worker);
vg_status __wrap_vg_evaluate__pulse(vg_pulse *pulse, unsigned worker) {
    work_note(WORK_PULSE, pulse != NULL, 0);
    return __real_vg_evaluate__pulse(pulse, worker);
}

/* --- comparison with another build */

/* What a file has after this title, NULL where it has nothing. */
static inline char *digest_line(char *text, const char *title) {
    for (char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL)
        if (strncmp(line, title, strlen(title)) == 0)
            return line + strlen(title);
    return NULL;
}
static inline char *whole_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *text = calloc(1 << 20, 1);
    if (text && fread(text, 1, (1 << 20) - 1, file) == 0)
        text[0] = 0;
    fclose(file);
    return text;
}
static inline void add_digests(const char *path, const char *title, const uint32_t *got, size_t count) {
    FILE *to = fopen(path, "ab");
    if (!to)
        return;
    fputs(title, to);
    for (size_t i = 0; i < count; i++)
        fprintf(to, "%s %08x", i % 12 ? "" : "\n   ", (unsigned)got[i]);
    fputc('\n', to);
    fclose(to);
}

/* Holds digests of the cases of a kind against those in the file that VARGATE_BITS names, or adds them where it has
 * none. Returns the first case that differs; `count` where none does or the variable is not set. */
static inline size_t compare_recorded(const char *what, const char *kind, const uint32_t *got, size_t count) {
    const char *path = getenv("VARGATE_BITS");
    if (!path)
        return count;
    char title[80], *text = whole_file(path), *at, *end;
    snprintf(title, sizeof title, "%s: %s of %s", vg_cpu_tier(), what, kind);
    at = text ? digest_line(text, title) : NULL;
    if (!at)
        add_digests(path, title, got, count);
    size_t i = 0;
    for (; at && i < count; i++, at = end)
        if (strtoul(at, &end, 16) != got[i] || end == at)
            break;
    free(text);
    return at ? i : count;
}

#endif
