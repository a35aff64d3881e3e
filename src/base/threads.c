/* threads.c - a pool of persistent workers that share out the indices of a loop. See base.h for the contract. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/c_locale.h"

/* A wait for some time must not end early or late when the time of day is set. */
#ifdef __linux__
#define WAITING_CLOCK CLOCK_MONOTONIC
#else
#define WAITING_CLOCK CLOCK_REALTIME /* no pthread_condattr_setclock() on macOS */
#endif

struct vg_pool {
    unsigned threads;   /* workers, the caller included */
    pthread_t *handles; /* threads - 1 */
    unsigned started;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    unsigned long generation; /* of the loop that is offered to the workers */
    unsigned busy;            /* workers that have not finished it */
    bool stop;
    void (*idle)(void *context); /* called by the caller's thread while it waits */
    void *idle_context;
    /* the loop */
    vg_pool_body body;
    void *context;
    size_t count;
    atomic_size_t next;
    atomic_size_t failed_at; /* smallest failed index, SIZE_MAX when none */
    vg_status failure;
    char failure_text[1024];
};

unsigned vg_base__cores(void) {
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
#endif
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (unsigned)cores : 1;
}

static void work(vg_pool *pool, unsigned worker) {
    for (;;) {
        size_t index = atomic_fetch_add(&pool->next, 1);
        if (index >= pool->count || index > atomic_load(&pool->failed_at))
            return;
        vg_status status = pool->body(pool->context, index, worker);
        if (status == VG_OK)
            continue;
        pthread_mutex_lock(&pool->lock);
        if (index < atomic_load(&pool->failed_at)) {
            atomic_store(&pool->failed_at, index);
            pool->failure = status;
            strncpy(pool->failure_text, vg_error_message(), sizeof pool->failure_text - 1);
        }
        pthread_mutex_unlock(&pool->lock);
        return;
    }
}

typedef struct starter {
    vg_pool *pool;
    unsigned worker;
} starter;

static void *worker_main(void *argument) {
    VG_IN_C_LOCALE;
    starter start = *(starter *)argument;
    vg_base__release(argument);
    vg_pool *pool = start.pool;
    unsigned long seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->stop && pool->generation == seen)
            pthread_cond_wait(&pool->wake, &pool->lock);
        if (pool->stop)
            break;
        seen = pool->generation;
        pthread_mutex_unlock(&pool->lock);
        work(pool, start.worker);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void init_done(pthread_cond_t *done) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
#ifdef __linux__
    pthread_condattr_setclock(&attributes, WAITING_CLOCK);
#endif
    pthread_cond_init(done, &attributes);
    pthread_condattr_destroy(&attributes);
}

vg_status vg_pool__new(vg_pool **out, unsigned threads) {
    *out = NULL;
    if (threads == 0)
        threads = vg_base__cores();
    vg_pool *pool;
    VG_TRY(vg_base__zalloc(&pool, 1, sizeof *pool, "a thread pool"));
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    init_done(&pool->done);
    vg_status status = vg_base__zalloc(&pool->handles, threads, sizeof *pool->handles, "a thread pool");
    for (unsigned w = 1; status == VG_OK && w < threads; w++) {
        starter *start;
        status = vg_base__alloc(&start, 1, sizeof *start, "a thread pool");
        if (status != VG_OK)
            break;
        *start = (starter){pool, w};
        if (pthread_create(&pool->handles[w - 1], NULL, worker_main, start) != 0) {
            vg_base__release(start);
            status = vg_base__fail(VG_ERR_MEMORY, "could not start thread %u of %u", w + 1, threads);
            break;
        }
        pool->started++;
    }
    pool->threads = pool->started + 1;
    if (status != VG_OK) {
        vg_pool__free(pool);
        return status;
    }
    *out = pool;
    return VG_OK;
}

void vg_pool__free(vg_pool *pool) {
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->started; i++)
        pthread_join(pool->handles[i], NULL);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->done);
    vg_base__release(pool->handles);
    vg_base__release(pool);
}

unsigned vg_pool__threads(const vg_pool *pool) { return pool->threads; }

void vg_pool__while_waiting(vg_pool *pool, void (*idle)(void *context), void *context) {
    pool->idle = idle;
    pool->idle_context = context;
}

/* Waits until the other workers are done. The caller holds the lock. */
static void wait_for_others(vg_pool *pool) {
    enum { EVERY_NS = 20000000 };
    while (pool->busy > 0) {
        if (!pool->idle) {
            pthread_cond_wait(&pool->done, &pool->lock);
            continue;
        }
        struct timespec until;
        clock_gettime(WAITING_CLOCK, &until);
        until.tv_nsec += EVERY_NS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        if (pthread_cond_timedwait(&pool->done, &pool->lock, &until) == ETIMEDOUT) {
            pthread_mutex_unlock(&pool->lock);
            pool->idle(pool->idle_context);
            pthread_mutex_lock(&pool->lock);
        }
    }
}

vg_status vg_pool__run(vg_pool *pool, size_t count, vg_pool_body body, void *context) {
    bool alone = pool->threads == 1 || count < 2;
    pthread_mutex_lock(&pool->lock);
    pool->body = body;
    pool->context = context;
    pool->count = count;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->failed_at, SIZE_MAX);
    pool->failure = VG_OK;
    if (!alone) {
        pool->generation++;
        pool->busy = pool->threads - 1;
        pthread_cond_broadcast(&pool->wake);
    }
    pthread_mutex_unlock(&pool->lock);
    work(pool, 0);
    if (!alone) {
        pthread_mutex_lock(&pool->lock);
        wait_for_others(pool);
        pthread_mutex_unlock(&pool->lock);
    }
    if (pool->failure != VG_OK)
        return vg_base__fail_text(pool->failure, pool->failure_text);
    return VG_OK;
}

vg_status vg_base__enter(vg_busy *busy, const char *what) {
    if (__atomic_exchange_n(&busy->inside, 1, __ATOMIC_ACQUIRE))
        return vg_base__fail(VG_ERR_ARGUMENT, "%s is in use by another thread; it serves one caller at a time", what);
    return VG_OK;
}

void vg_base__leave(vg_busy *busy) { __atomic_store_n(&busy->inside, 0, __ATOMIC_RELEASE); }
