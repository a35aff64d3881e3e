/* stopwatch.c - times, threads and JSON lines of the scoring benchmark. */
#define _GNU_SOURCE
#include "stopwatch.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "vargate/measures.h"

enum { MAX_THREADS = 256, MAX_RUNS = 40 };

static double now_ms(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

int time_best(timing *out, timed_fn work, void *context, int runs) {
    *out = (timing){INFINITY, INFINITY, 0};
    int status = work(context);
    double first = now_ms(CLOCK_MONOTONIC);
    while (status == 0 && (out->runs < runs || (now_ms(CLOCK_MONOTONIC) - first < 500 && out->runs < MAX_RUNS))) {
        double start = now_ms(CLOCK_MONOTONIC), start_cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);
        status = work(context);
        double cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID) - start_cpu, wall = now_ms(CLOCK_MONOTONIC) - start;
        out->ms = wall < out->ms ? wall : out->ms;
        out->cpu_ms = cpu < out->cpu_ms ? cpu : out->cpu_ms;
        out->runs++;
    }
    return status;
}

typedef struct thread_job {
    thread_fn work;
    void *context;
    unsigned thread, threads;
} thread_job;

static void *thread_main(void *argument) {
    thread_job *job = argument;
    job->work(job->context, job->thread, job->threads);
    return NULL;
}

int on_threads(unsigned threads, thread_fn work, void *context) {
    pthread_t handles[MAX_THREADS];
    thread_job jobs[MAX_THREADS];
    cpu_set_t allowed;
    int bind = sched_getaffinity(0, sizeof allowed, &allowed) == 0 && (unsigned)CPU_COUNT(&allowed) >= threads;
    if (threads == 0 || threads > MAX_THREADS)
        return 1;
    unsigned started = 0;
    int processor = 0;
    for (; started < threads; started++) {
        jobs[started] = (thread_job){work, context, started, threads};
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        if (bind) {
            while (!CPU_ISSET(processor, &allowed))
                processor++;
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(processor++, &one);
            pthread_attr_setaffinity_np(&attributes, sizeof one, &one);
        }
        int failed = pthread_create(&handles[started], &attributes, thread_main, &jobs[started]);
        pthread_attr_destroy(&attributes);
        if (failed)
            break;
    }
    for (unsigned t = 0; t < started; t++)
        pthread_join(handles[t], NULL);
    if (started < threads)
        fprintf(stderr, "bench_score: cannot start thread %u\n", started);
    return started < threads;
}

static const char *cpu_name(void) {
    static char name[200] = "";
    FILE *file = name[0] == '\0' ? fopen("/proc/cpuinfo", "r") : NULL;
    char line[256];
    while (file != NULL && name[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        char *value = strstr(line, ": ");
        if (strncmp(line, "model name", 10) == 0 && value != NULL) {
            value[strcspn(value, "\n\"\\")] = '\0';
            snprintf(name, sizeof name, "%s", value + 2);
        }
    }
    if (file != NULL)
        fclose(file);
    return name[0] == '\0' ? "unknown" : name;
}

void print_figure(const char *figure, const shape *s, const timing *t, const char *more) {
    printf(
        "{\"bench\": \"score\", \"figure\": \"%s\", \"n\": %zu, \"m\": %zu, \"c\": %zu, \"threads\": %u, \"ms\": %.4g, "
        "\"cpu_ms\": %.4g, \"runs\": %d%s, \"tier\": \"%s\", \"cpu\": \"%s\"}\n",
        figure, s->n, s->m, s->c, s->threads, t->ms, t->cpu_ms, t->runs, more, vg_cpu_tier(), cpu_name());
    fflush(stdout);
}
