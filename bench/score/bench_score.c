/* bench_score.c - the speed of scoring: one JSON line per figure.
 *
 *     bench_score [--only everything,epjs,margin,gates,small,tiers,file] [--threads 2] [--divide 1] [--runs 5]
 *                 [--data dirichlet|trained] [--vargate PROGRAM] [--folder FOLDER]
 *     bench_score --dump FILE.npy N M C [...]     the predictions of the figures, for other programs
 *
 * Predictions are float32 and seeded. --divide D takes 1/D of the samples. `tiers` runs this program again for
 * `everything` under VARGATE_CPU=avx2 and =portable. `file` needs 4 GB in --folder and --vargate. See README.md beside
 * run.sh for what each line means. */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figures.h"
#include "vargate/formats.h"

extern char **environ;

typedef struct arguments {
    bench_options options;
    const char *only, *dump;
    shape dumped;
} arguments;

static int usage(void) {
    fprintf(stderr,
            "usage: bench_score [--only everything,epjs,margin,gates,small,tiers,file] [--threads T] [--divide D] "
            "[--runs R]\n"
            "                   [--data dirichlet|trained] [--vargate PROGRAM] [--folder FOLDER] [--dump FILE.npy N M "
            "C]\n");
    return 2;
}

static int parse(arguments *a, int argc, char **argv) {
    *a = (arguments){{2, 1, 5, DRAW_DIRICHLET, "build/release/vargate", "build"},
                     "everything,epjs,margin,gates,small,tiers,file",
                     NULL,
                     {0}};
    bench_options *o = &a->options;
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (value == NULL)
            return usage();
        if (strcmp(name, "--only") == 0)
            a->only = value;
        else if (strcmp(name, "--threads") == 0)
            o->threads = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(name, "--divide") == 0)
            o->divide = strtoull(value, NULL, 10);
        else if (strcmp(name, "--runs") == 0)
            o->runs = atoi(value);
        else if (strcmp(name, "--data") == 0 && (strcmp(value, "dirichlet") == 0 || strcmp(value, "trained") == 0))
            o->kind = value[0] == 't' ? DRAW_TRAINED : DRAW_DIRICHLET;
        else if (strcmp(name, "--vargate") == 0)
            o->vargate = value;
        else if (strcmp(name, "--folder") == 0)
            o->folder = value;
        else if (strcmp(name, "--dump") == 0 && i + 4 < argc) {
            a->dump = value;
            a->dumped = (shape){strtoull(argv[i + 2], NULL, 10), strtoull(argv[i + 3], NULL, 10),
                                strtoull(argv[i + 4], NULL, 10), 0};
            i += 3;
        } else
            return usage();
    }
    a->dumped.threads = o->threads;
    int bad_dump = a->dump != NULL && (a->dumped.n == 0 || a->dumped.m == 0 || a->dumped.c == 0);
    return o->threads == 0 || o->divide == 0 || o->runs < 1 || bad_dump ? usage() : 0;
}

static int dump(const arguments *a) {
    const shape *s = &a->dumped;
    size_t shape_of[] = {s->n, s->m, s->c};
    float *p = malloc(s->n * s->m * s->c * sizeof *p);
    if (p == NULL || draw_predictions(p, s, 0, a->options.kind) != 0) {
        fprintf(stderr, "bench_score: cannot draw %zu x %zu x %zu predictions\n", s->n, s->m, s->c);
        free(p);
        return 1;
    }
    vg_writer *writer;
    vg_status status = vg_writer_open(&writer, a->dump);
    if (status == VG_OK) {
        status = vg_writer_array(writer, "p", VG_ELEMENT_F32, 3, shape_of, p);
        if (status == VG_OK)
            status = vg_writer_close(writer);
        else
            vg_writer_abandon(writer);
    }
    free(p);
    if (status != VG_OK)
        fprintf(stderr, "bench_score: %s\n", vg_error_message());
    return status != VG_OK;
}

/* This program again, `everything` alone, in a lower tier. */
static int bench_tier(const arguments *a, const char *tier) {
    char threads[16], divide[24], runs[16];
    snprintf(threads, sizeof threads, "%u", a->options.threads);
    snprintf(divide, sizeof divide, "%zu", a->options.divide);
    snprintf(runs, sizeof runs, "%d", a->options.runs);
    char *data = a->options.kind == DRAW_TRAINED ? "trained" : "dirichlet";
    char *const child_arguments[] = {"bench_score", "--only", "everything", "--threads", threads, "--divide",
                                     divide,        "--runs", runs,         "--data",    data,    NULL};
    setenv("VARGATE_CPU", tier, 1);
    pid_t child;
    int status = 0;
    errno = posix_spawn(&child, "/proc/self/exe", NULL, NULL, child_arguments, environ);
    if (errno != 0 || waitpid(child, &status, 0) < 0) {
        fprintf(stderr, "bench_score: cannot run again: %s\n", strerror(errno));
        return 1;
    }
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static int asked(const arguments *a, const char *word) {
    size_t length = strlen(word);
    for (const char *at = a->only; (at = strstr(at, word)) != NULL; at += length) {
        if ((at == a->only || at[-1] == ',') && (at[length] == '\0' || at[length] == ','))
            return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    arguments a;
    int status = parse(&a, argc, argv);
    if (status != 0)
        return status;
    if (a.dump != NULL)
        return dump(&a);
    /* The file first: see file_figures.c on memory. */
    if (asked(&a, "file"))
        status |= bench_file(&a.options);
    if (asked(&a, "everything"))
        status |= bench_everything(&a.options);
    if (asked(&a, "epjs"))
        status |= bench_epjs(&a.options);
    if (asked(&a, "margin"))
        status |= bench_margin(&a.options);
    if (asked(&a, "gates"))
        status |= bench_gates(&a.options);
    if (asked(&a, "small"))
        status |= bench_one(&a.options) | bench_stream(&a.options);
    if (asked(&a, "tiers"))
        status |= bench_tier(&a, "avx2") | bench_tier(&a, "portable");
    return status;
}
