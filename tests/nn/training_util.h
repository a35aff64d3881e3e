/* training_util.h - small trainings for tests, each in a child process of its own: some of them are killed on purpose.
 * The data is made here: digits of ten kinds of blobs, the same for every run. */
#ifndef VG_TEST_TRAINING_UTIL_H
#define VG_TEST_TRAINING_UTIL_H

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/random.h"
#include "checkpoint_arrays.h"
#include "folder_util.h"
#include "vargate/formats.h"
#include "vargate/nn.h"

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != VG_OK)                                                                                           \
            fail_msg("%s: %s", #call, vg_error_message());                                                             \
    } while (0)

enum { SIDE = 28, IMAGE = SIDE * SIDE, BATCH = 32, TRAIN = 200, VALID = 60, STEPS = (TRAIN + BATCH - 1) / BATCH };

/* --- data */

typedef struct set {
    uint64_t stream;
    size_t count, steps, bad_step; /* bad_step: global step whose images are NaN; 0: none */
    uint64_t epoch;
    size_t step;
    bool shuffle;
    float images[BATCH * IMAGE];
    int32_t labels[BATCH];
    size_t indices[BATCH];
} set;

/* Image i of a stream: a bright square whose position is its class, and noise. */
static inline int32_t picture(float *image, uint64_t stream, size_t i) {
    vg_random random = vg_random__start(77, stream << 32 | i);
    int32_t label = (int32_t)(i % 10);
    for (int k = 0; k < IMAGE; k++)
        image[k] = (float)(0.7 * vg_random__normal(&random));
    for (int y = 0; y < 6; y++)
        for (int x = 0; x < 6; x++)
            image[(4 + label / 5 * 12 + y) * SIDE + label % 5 * 5 + x] += 1.5f;
    return label;
}

static inline vg_status seek(void *context, uint64_t epoch, size_t step) {
    set *s = context;
    s->epoch = epoch + step / s->steps;
    s->step = step % s->steps;
    return VG_OK;
}

static inline vg_status next(void *context, vg_nn_batch *batch) {
    set *s = context;
    size_t first = s->step * BATCH, n = s->count - first < BATCH ? s->count - first : BATCH, order[TRAIN];
    for (size_t i = 0; i < s->count; i++)
        order[i] = i;
    vg_random random = vg_random__start(5, s->epoch);
    if (s->shuffle)
        vg_random__shuffle(&random, order, s->count);
    for (size_t i = 0; i < n; i++) {
        s->indices[i] = order[first + i];
        s->labels[i] = picture(s->images + i * IMAGE, s->stream, order[first + i]);
    }
    if (s->bad_step && s->epoch * s->steps + s->step == s->bad_step)
        s->images[3] = NAN;
    *batch = (vg_nn_batch){s->images, s->labels, s->indices, n};
    if (++s->step == s->steps) {
        s->step = 0;
        s->epoch++;
    }
    return VG_OK;
}

static inline vg_feed feed(set *s, uint64_t stream, size_t count, bool shuffle) {
    *s = (set){.stream = stream, .count = count, .steps = (count + BATCH - 1) / BATCH, .shuffle = shuffle};
    return (vg_feed){s, count, s->steps, seek, next};
}

static inline vg_recipe small(const char *const *changes) {
    vg_recipe r;
    vg_recipe_defaults(&r);
    const char *base[] = {"name=test", "network=cnn-16-48", "heads=6",     "batch=32",
                          "epochs=3",  "rate=1e-3",         "dropout=0.1", NULL};
    for (const char **c = base; *c; c++)
        OK(vg_recipe_set(&r, *c));
    for (; changes && *changes; changes++)
        OK(vg_recipe_set(&r, *changes));
    return r;
}

/* --- runs in children */

typedef struct plan {
    const char *name;
    const char *const *changes;
    int stop_at, kill_at;   /* global step; 0: never */
    int kill_in_checkpoint; /* at the n-th one */
    size_t bad_step;
    long file_limit; /* bytes a file may have; 0: no limit */
    bool resume;
    unsigned threads;         /* 0: 2 */
    const char *const *names; /* of the ten classes; NULL: none */
    int pause_ms;             /* after every step */
    int wait_at;              /* global step at which it stays until it is killed; 0: never */
} plan;

typedef struct outcome {
    int status; /* vg_status, -1: killed */
    int collapses, steps;
    vg_train_result result;
    int middle_checkpoints; /* last.safetensors written within an epoch */
    char said[2048];        /* notes and warnings, one per line */
    char message[512];
} outcome;

static const plan *current;
static outcome *report;
static int checkpoints;

static inline void usleep_ms(int ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

static inline int on_event(void *context, const vg_train_event *event) {
    (void)context;
    if (event->kind == VG_TRAIN_COLLAPSE)
        report->collapses++;
    if (event->kind == VG_TRAIN_CHECKPOINT && ++checkpoints == current->kill_in_checkpoint)
        kill(getpid(), SIGKILL);
    if (event->kind == VG_TRAIN_CHECKPOINT && event->step > 0)
        report->middle_checkpoints++;
    if (event->kind == VG_TRAIN_NOTE || event->kind == VG_TRAIN_WARNING) {
        size_t used = strlen(report->said);
        snprintf(report->said + used, sizeof report->said - used, "%s\n", event->text);
    }
    if (event->kind != VG_TRAIN_STEP)
        return 0;
    if (current->pause_ms)
        usleep_ms(current->pause_ms);
    int step = (int)(event->epoch * event->steps + event->step);
    report->steps = step;
    while (current->wait_at && step >= current->wait_at)
        usleep_ms(50);
    if (step == current->kill_at)
        kill(getpid(), SIGKILL);
    return current->stop_at && step >= current->stop_at;
}

static inline void path_of(char *out, const char *run, const char *file) {
    snprintf(out, 512, "%s/%s/%s", folder, run, file);
}

/* What a child does: trains as planned and sends the outcome. */
static inline void train_here(plan p, int end) {
    outcome o = {.status = -1};
    static set training, validation;
    char run[512];
    vg_recipe recipe = small(p.changes);
    vg_train_options options = VG_TRAIN_OPTIONS_INIT;
    path_of(run, p.name, "");
    current = &p;
    report = &o;
    options.recipe = &recipe;
    options.folder = run;
    options.device = "cpu";
    options.threads = p.threads ? p.threads : 2;
    options.class_names = p.names;
    options.resume = p.resume;
    options.channels = 1;
    options.height = options.width = SIDE;
    options.classes = 10;
    options.std[0] = 1;
    options.train = feed(&training, 1, TRAIN, true);
    options.validation = feed(&validation, 2, VALID, false);
    training.bad_step = p.bad_step;
    options.event = on_event;
    if (p.file_limit) {
        struct rlimit limit = {(rlim_t)p.file_limit, (rlim_t)p.file_limit};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    o.status = (int)vg_train(&o.result, &options);
    snprintf(o.message, sizeof o.message, "%s", o.status ? vg_error_message() : "");
    ssize_t written = write(end, &o, sizeof o);
    exit(written == sizeof o ? 0 : 1); /* not _exit: counts of coverage are written, and leaks looked for, at exit */
}

/* Begins a training in a child; its outcome comes out of *end. */
static inline pid_t begin_training(plan p, int *end) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL); /* or the child would write it again at its end */
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        train_here(p, ends[1]);
    close(ends[1]);
    *end = ends[0];
    return child;
}

static inline outcome end_training(pid_t child, int end) {
    outcome o = {.status = -1}, got;
    ssize_t length = read(end, &got, sizeof got);
    close(end);
    waitpid(child, NULL, 0);
    if (length == sizeof got)
        o = got;
    return o;
}

static inline outcome train(plan p) {
    int end;
    pid_t child = begin_training(p, &end);
    return end_training(child, end);
}

static inline void trained(plan p) {
    outcome o = train(p);
    if (o.status != VG_OK)
        fail_msg("%s: %s", p.name, o.status < 0 ? "killed" : o.message);
}

/* Arrays of two checkpoints, byte for byte. */
static inline void same_checkpoint(const char *a, const char *b, const char *file) {
    char one[512], two[512];
    path_of(one, a, file);
    path_of(two, b, file);
    same_arrays(one, two);
}

static inline json_t *metrics(const char *run) {
    char path[512], line[4096];
    json_t *lines = json_array();
    path_of(path, run, "metrics.jsonl");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        json_t *j = json_loads(line, 0, NULL);
        assert_non_null(j);
        json_object_del(j, "images_per_s");
        json_array_append_new(lines, j);
    }
    fclose(file);
    return lines;
}

static inline void same_metrics(const char *a, const char *b) {
    json_t *x = metrics(a), *y = metrics(b);
    if (!json_equal(x, y))
        fail_msg("metrics of %s and %s differ:\n%s\n%s", a, b, json_dumps(x, 0), json_dumps(y, 0));
    json_decref(x);
    json_decref(y);
}

#endif
