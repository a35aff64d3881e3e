/* cpu_threads.c - the functions of an OpenMP runtime that gcc and clang call for `omp parallel for` with a static
 * schedule, over the threads of base/: for builds with VG_OWN_OPENMP, which link no such library (wheels).
 *
 * A thread that enters a loop has a pool of its own, made at the first loop and freed when the thread ends, so that
 * several backends may train at once, each from its own thread. Loops do not nest. */
#ifdef VG_OWN_OPENMP
#include "backend/cpu/cpu_threads.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>

#include "base/base.h"

typedef struct loop {
    void (*body)(const struct loop *); /* one thread's share */
    unsigned threads;
    void (*compiled)(void); /* the function that the compiler made of the loop */
    void **arguments;
} loop;

static _Thread_local unsigned wanted;           /* by omp_set_num_threads; 0: one per core */
static _Thread_local unsigned number, team = 1; /* within the loop that runs on this thread */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t own_pool;

static void free_pool(void *pool) { vg_pool__free(pool); }
static void make_key(void) { (void)pthread_key_create(&own_pool, free_pool); }

int omp_get_thread_num(void) { return (int)number; }
int omp_get_max_threads(void) { return (int)(wanted ? wanted : vg_base__cores()); }
void omp_set_num_threads(int threads) { wanted = threads > 0 ? (unsigned)threads : 0; }

static vg_status run_part(void *context, size_t index, unsigned worker) {
    const loop *l = context;
    unsigned outer_number = number, outer_team = team;
    (void)worker;
    number = (unsigned)index;
    team = l->threads;
    l->body(l);
    number = outer_number;
    team = outer_team;
    return VG_OK;
}

/* The calling thread's pool of that many threads, or NULL. */
static vg_pool *pool_of(unsigned threads) {
    pthread_once(&once, make_key);
    vg_pool *pool = pthread_getspecific(own_pool);
    if (pool && vg_pool__threads(pool) == threads)
        return pool;
    vg_pool__free(pool);
    if (vg_pool__new(&pool, threads) != VG_OK)
        pool = NULL;
    pthread_setspecific(own_pool, pool);
    return pool;
}

static void run_loop(loop *l) {
    l->threads = team > 1 ? 1 : (unsigned)omp_get_max_threads();
    vg_pool *pool = l->threads > 1 ? pool_of(l->threads) : NULL;
    if (pool) {
        (void)vg_pool__run(pool, l->threads, run_part, l);
        return;
    }
    l->threads = 1; /* one thread, or not enough memory for more */
    (void)run_part(l, 0, 0);
}

#if defined(__clang__)
enum { MOST_ARGUMENTS = 16 };

/* What clang makes of a loop: the number of the thread, then the addresses of the variables it uses. */
typedef void (*clang_body)(int32_t *thread, int32_t *bound, void *, void *, void *, void *, void *, void *, void *,
                           void *, void *, void *, void *, void *, void *, void *, void *, void *);

static void call_clang(const loop *l) {
    int32_t thread = (int32_t)number, bound = 0;
    void *const *a = l->arguments; /* arguments that the body does not have are ignored by it */
    ((clang_body)l->compiled)(&thread, &bound, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
                              a[12], a[13], a[14], a[15]);
}

void __kmpc_fork_call(void *location, int32_t count, void (*compiled)(void), ...);
void __kmpc_fork_call(void *location, int32_t count, void (*compiled)(void), ...) {
    void *arguments[MOST_ARGUMENTS] = {NULL};
    loop l = {.body = call_clang, .compiled = compiled, .arguments = arguments};
    va_list list;
    (void)location;
    va_start(list, compiled);
    for (int32_t i = 0; i < count && i < MOST_ARGUMENTS; i++)
        arguments[i] = va_arg(list, void *);
    va_end(list);
    run_loop(&l);
}

/* The share of thread `thread` of the indices lower..upper: consecutive parts of equal length. */
void __kmpc_for_static_init_8u(void *location, int32_t thread, int32_t schedule, int32_t *last, uint64_t *lower,
                               uint64_t *upper, int64_t *stride, int64_t step, int64_t chunk);
void __kmpc_for_static_init_8u(void *location, int32_t thread, int32_t schedule, int32_t *last, uint64_t *lower,
                               uint64_t *upper, int64_t *stride, int64_t step, int64_t chunk) {
    uint64_t first = *lower, count = (*upper - first) / (uint64_t)step + 1;
    uint64_t begin = count * number / team, end = count * (number + 1) / team;
    (void)location, (void)thread, (void)schedule, (void)chunk;
    *stride = (int64_t)(count * (uint64_t)step);
    *last = number + 1 == team;
    *lower = first + begin * (uint64_t)step;
    *upper = first + end * (uint64_t)step - (uint64_t)step; /* below lower for an empty part; see below for 0 */
    if (begin == end) {
        *lower = 1;
        *upper = 0;
    }
}

void __kmpc_for_static_fini(void *location, int32_t thread);
void __kmpc_for_static_fini(void *location, int32_t thread) { (void)location, (void)thread; }

#else /* gcc: the body takes one pointer, and asks for its share by itself */
static void call_gcc(const loop *l) { ((void (*)(void *))l->compiled)(l->arguments); }

int omp_get_num_threads(void);
int omp_get_num_threads(void) { return (int)team; }

void GOMP_parallel(void (*compiled)(void *), void *data, unsigned threads, unsigned flags);
void GOMP_parallel(void (*compiled)(void *), void *data, unsigned threads, unsigned flags) {
    loop l = {.body = call_gcc, .compiled = (void (*)(void))compiled, .arguments = data};
    (void)threads, (void)flags;
    run_loop(&l);
}
#endif
#else
typedef int vg_cpu__no_own_threads; /* an empty file is not C */
#endif
