/* file_figures.c - the program on files: `vargate score` of a 4 GB .npy in the page cache, (1,000,000, 100, 10)
 * float32, version 1.0 of the format; `vargate decide --stdin-jsonl` of JSON lines.
 *
 * The file is written and flushed, so that no write-back runs beside what is measured, scored by the program, and
 * removed. Peak memory is the kernel's count for that process. Nothing large may be held while it is started: the count
 * of a started process begins with what its parent held. */
#define _GNU_SOURCE
#include "figures.h"

#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 1000 };
static const char listed[] = "tu,au,eu,epce,epkl,epjs,gtu,gau,geu,gepce,gepkl,gepjs,gmu,snr,pred,decision";

extern char **environ;

static int complain(const char *path) {
    fprintf(stderr, "bench_score: %s: %s\n", path, strerror(errno));
    return 1;
}

/* Magic, version, length of the text as two bytes, text padded so that data begin at 128. */
static int write_header(FILE *file, const shape *s) {
    char header[129], text[119];
    int length = snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu, %zu), }",
                          s->n, s->m, s->c);
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(header + 10, text, (size_t)length);
    header[127] = '\n';
    return fwrite(header, 1, 128, file) == 128 ? 0 : 1;
}

static int write_file(const char *path, const shape *s, drawing kind) {
    FILE *file = fopen(path, "wb");
    size_t sample = s->m * s->c;
    float *block = malloc(BLOCK * sample * sizeof *block);
    int status = file == NULL || block == NULL || write_header(file, s);
    for (size_t first = 0; first < s->n && status == 0; first += BLOCK) {
        shape part = *s;
        part.n = s->n - first < BLOCK ? s->n - first : BLOCK;
        status = draw_predictions(block, &part, first, kind) ||
                 fwrite(block, sample * sizeof *block, part.n, file) != part.n;
    }
    status = status || fflush(file) != 0 || fsync(fileno(file)) != 0;
    if (status)
        complain(path);
    if (file != NULL)
        fclose(file);
    free(block);
    return status;
}

typedef struct program_run {
    double ms, cpu_ms, peak_mb;
} program_run;

/* Runs a program to its end, its stdout thrown away, its stdin from a file (NULL: the caller's). */
static int run_program(program_run *out, char *const *arguments, const char *input) {
    posix_spawn_file_actions_t actions;
    struct timespec start, end;
    struct rusage usage;
    pid_t child;
    int status = 0;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1 /* O_WRONLY */, 0);
    if (input != NULL)
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, 0 /* O_RDONLY */, 0);
    clock_gettime(CLOCK_MONOTONIC, &start);
    errno = posix_spawn(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (errno != 0 || wait4(child, &status, 0, &usage) < 0)
        return complain(arguments[0]);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "bench_score: %s %s failed\n", arguments[0], arguments[1]);
        return 1;
    }
    double cpu = 1e3 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 1e-3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    *out = (program_run){1e3 * (double)(end.tv_sec - start.tv_sec) + 1e-6 * (double)(end.tv_nsec - start.tv_nsec), cpu,
                         (double)usage.ru_maxrss / 1024};
    return 0;
}

/* The best of `runs` for time, the worst for memory. */
static int best_run(program_run *best, char *const *arguments, const char *input, int runs) {
    program_run run;
    for (int i = 0; i < runs; i++) {
        if (run_program(&run, arguments, input) != 0)
            return 1;
        best->ms = i == 0 || run.ms < best->ms ? run.ms : best->ms;
        best->cpu_ms = i == 0 || run.cpu_ms < best->cpu_ms ? run.cpu_ms : best->cpu_ms;
        best->peak_mb = i == 0 || run.peak_mb > best->peak_mb ? run.peak_mb : best->peak_mb;
    }
    return 0;
}

static int bench_program(const char *figure, char *const *arguments, const shape *s, int runs) {
    program_run best = {0};
    char more[120];
    if (best_run(&best, arguments, NULL, runs) != 0)
        return 1;
    double mb = (double)(s->n * s->m * s->c) * sizeof(float) * 1e-6;
    snprintf(more, sizeof more, ", \"mb_per_s\": %.4g, \"peak_mb\": %.1f", 1e3 * mb / best.ms, best.peak_mb);
    timing t = {best.ms, best.cpu_ms, runs};
    print_figure(figure, s, &t, more);
    return 0;
}

static int bench_in_memory(const bench_options *o) {
    shape s = {(100000 + o->divide - 1) / o->divide, 100, 10, o->threads};
    float *p = malloc(s.n * s.m * s.c * sizeof *p);
    timing t;
    char more[80];
    int status = p == NULL || draw_predictions(p, &s, 0, o->kind) || time_score(&t, p, &s, EVERYTHING, NULL, 0, 3);
    if (status == 0) {
        snprintf(more, sizeof more, ", \"mb_per_s\": %.4g", (double)(s.n * s.m * s.c) * sizeof *p * 1e-3 / t.ms);
        print_figure("file: in memory", &s, &t, more);
    }
    free(p);
    return status;
}

int bench_file(const bench_options *o) {
    char input[1024], output[1024], threads[16], program[1024];
    snprintf(input, sizeof input, "%s/bench-%ld.npy", o->folder, (long)getpid());
    snprintf(output, sizeof output, "%s/bench-%ld.npz", o->folder, (long)getpid());
    snprintf(program, sizeof program, "%s", o->vargate);
    snprintf(threads, sizeof threads, "%u", o->threads);
    shape s = {(1000000 + o->divide - 1) / o->divide, 100, 10, o->threads};
    char *const to_file[] = {program,   "score", input,  "--measures", (char *)listed, "--threads", threads,
                             "--quiet", "-o",    output, NULL};
    char *const to_summary[] = {program,     "score", input,     "--measures", (char *)listed,
                                "--threads", threads, "--quiet", "--json",     NULL};
    int status = write_file(input, &s, o->kind) || bench_program("file: score -o .npz", to_file, &s, 3) ||
                 bench_program("file: score --json", to_summary, &s, 3);
    unlink(input);
    unlink(output);
    return status || bench_in_memory(o);
}

/* {"id": 0, "p": [[...], ...]}, probabilities with six digits. */
static int write_lines(const char *path, const shape *s, drawing kind) {
    FILE *file = fopen(path, "w");
    float *p = malloc(s->n * s->m * s->c * sizeof *p);
    int status = file == NULL || p == NULL || draw_predictions(p, s, 0, kind);
    for (size_t n = 0; n < s->n && status == 0; n++) {
        fprintf(file, "{\"id\": %zu, \"p\": [", n);
        for (size_t i = 0; i < s->m * s->c; i++)
            fprintf(file, "%s%.6f", i == 0 ? "[" : i % s->c == 0 ? "], [" : ", ", (double)p[n * s->m * s->c + i]);
        fprintf(file, "]]}\n");
    }
    status = status || fflush(file) != 0;
    if (status)
        complain(path);
    if (file != NULL)
        fclose(file);
    free(p);
    return status;
}

int bench_stream(const bench_options *o) {
    char input[1024], program[1024], more[120];
    program_run best = {0};
    snprintf(input, sizeof input, "%s/bench-%ld.jsonl", o->folder, (long)getpid());
    snprintf(program, sizeof program, "%s", o->vargate);
    shape s = {(200000 + o->divide - 1) / o->divide, 5, 10, 1};
    char *const arguments[] = {program, "decide", "--stdin-jsonl", NULL};
    int status = write_lines(input, &s, o->kind) || best_run(&best, arguments, input, 5);
    unlink(input);
    if (status == 0) {
        snprintf(more, sizeof more, ", \"lines_per_core_s\": %.4g", 1e3 * (double)s.n / best.cpu_ms);
        timing t = {best.ms, best.cpu_ms, 5};
        print_figure("decide --stdin-jsonl", &s, &t, more);
    }
    return status;
}
