/* bench_layers.c - how long the layers between products take on the GPU at the networks' sizes, batch 128, in bfloat16,
 * and what share of that time their reads and writes would take at 4 TB/s. A tool for tuning the kernels.
 *
 * Each figure is a recording of several operations, replayed. Every operation has tensors of its own, so that no cache
 * holds them all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/backend.h"

enum { ROWS = 128, SETS = 6, TURNS = 5, REPLAYS = 20 };

typedef enum operation {
    NORM_FORWARD,
    NORM_BACKWARD,
    NORM_RUNNING,
    POOLING_FORWARD,
    POOLING_BACKWARD,
    AVERAGE,
    REPEAT
} operation;

typedef struct layer {
    const char *what;
    operation op;
    vg_shape shape; /* of the larger side */
    size_t pool;
    float p;
    bool addend;
    double passes; /* reads and writes of the larger side */
} layer;

static const layer all[] = {
    {"norm forward 16", NORM_FORWARD, {16, 32, 32}, 1, 0, false, 3},
    {"norm forward 160", NORM_FORWARD, {160, 32, 32}, 1, 0, false, 3},
    {"norm forward 160, dropout", NORM_FORWARD, {160, 32, 32}, 1, 0.3f, false, 3},
    {"norm forward 320", NORM_FORWARD, {320, 16, 16}, 1, 0, false, 3},
    {"norm forward 320, dropout", NORM_FORWARD, {320, 16, 16}, 1, 0.3f, false, 3},
    {"norm forward 640", NORM_FORWARD, {640, 8, 8}, 1, 0, false, 3},
    {"norm forward 640, dropout", NORM_FORWARD, {640, 8, 8}, 1, 0.3f, false, 3},
    {"norm backward 16", NORM_BACKWARD, {16, 32, 32}, 1, 0, false, 5},
    {"norm backward 160, residual", NORM_BACKWARD, {160, 32, 32}, 1, 0, true, 6},
    {"norm backward 160, dropout", NORM_BACKWARD, {160, 32, 32}, 1, 0.3f, false, 5},
    {"norm backward 320, residual", NORM_BACKWARD, {320, 16, 16}, 1, 0, true, 6},
    {"norm backward 320, dropout", NORM_BACKWARD, {320, 16, 16}, 1, 0.3f, false, 5},
    {"norm backward 640, residual", NORM_BACKWARD, {640, 8, 8}, 1, 0, true, 6},
    {"norm backward 640, dropout", NORM_BACKWARD, {640, 8, 8}, 1, 0.3f, false, 5},
    {"norm by running statistics 160, dropout", NORM_RUNNING, {160, 32, 32}, 1, 0.3f, false, 2},
    {"norm by running statistics 640", NORM_RUNNING, {640, 8, 8}, 1, 0, false, 2},
    {"pooling forward 128 x 24 x 24", POOLING_FORWARD, {128, 24, 24}, 2, 0.05f, false, 1.3125},
    {"pooling forward 128 x 8 x 8", POOLING_FORWARD, {128, 8, 8}, 2, 0.05f, false, 1.3125},
    {"pooling forward 2048", POOLING_FORWARD, {2048, 1, 1}, 1, 0.05f, false, 2},
    {"pooling backward 128 x 24 x 24", POOLING_BACKWARD, {128, 24, 24}, 2, 0.05f, false, 1.3125},
    {"pooling backward 128 x 8 x 8", POOLING_BACKWARD, {128, 8, 8}, 2, 0.05f, false, 1.3125},
    {"pooling backward 2048", POOLING_BACKWARD, {2048, 1, 1}, 1, 0.05f, false, 3},
    {"average 640, both ways", AVERAGE, {640, 8, 8}, 1, 0, false, 2},
    {"repeated rows 160, dropout", REPEAT, {160, 32, 32}, 1, 0.3f, false, 2},
};

typedef struct set {
    vg_tensor *x, *y, *dx, *dy, *choice, *running, *saved, *mean;
} set;

static void check(vg_status status) {
    if (status == VG_OK)
        return;
    fprintf(stderr, "%s\n", vg_error_message());
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static vg_tensor *tensor(vg_backend *b, vg_tensor_kind kind, size_t n, vg_shape shape) {
    vg_tensor *t;
    check(b->ops->tensor_new(b, &t, kind, n, shape));
    if (kind == VG_TENSOR_CHOICE)
        return t;
    size_t count = n * vg_shape__size(shape);
    float *values = malloc(count * sizeof *values);
    uint32_t state = 1;
    for (size_t i = 0; i < count; i++)
        values[i] = (float)((state = state * 1664525u + 1013904223u) >> 8) / 8388608.0f - 0.5f;
    check(b->ops->tensor_upload(b, t, values));
    free(values);
    return t;
}

static void run(vg_backend *b, const layer *l, const set *s, vg_block *theta, vg_block *grad, const vg_param *params) {
    vg_norm norm = {1e-5f, true, l->op != NORM_RUNNING, {l->p, 4}};
    vg_pooling pooling = {l->pool, true, {l->p, 4}};
    switch (l->op) {
    case NORM_FORWARD:
    case NORM_RUNNING:
        check(b->ops->norm_forward(b, &norm, &(vg_norm_pass){s->y, s->x, &params[0], &params[1], s->running, s->saved},
                                   theta));
        break;
    case NORM_BACKWARD: /* in place, as in training */
        check(b->ops->norm_backward(b, &norm,
                                    &(vg_norm_gradient){l->addend ? s->dx : s->dy, s->dy, s->x,
                                                        l->addend ? s->dx : NULL, s->saved, &params[0], &params[1]},
                                    theta, grad));
        break;
    case POOLING_FORWARD: check(b->ops->pooling_forward(b, &pooling, s->y, s->choice, s->x, theta, &params[0])); break;
    case POOLING_BACKWARD:
        check(b->ops->pooling_backward(
            b, &pooling, &(vg_pooling_gradient){l->pool == 1 ? s->dy : s->dx, s->dy, s->y, s->choice, &params[0]},
            grad));
        break;
    case AVERAGE:
        check(b->ops->average_forward(b, s->mean, s->x));
        check(b->ops->average_backward(b, s->dx, s->mean));
        break;
    case REPEAT: check(b->ops->repeat_rows(b, s->y, s->x, 0, 4, (vg_dropout){l->p, 4})); break;
    }
}

static void measure(vg_backend *b, const layer *l) {
    vg_shape small = {l->shape.c, l->shape.h / l->pool, l->shape.w / l->pool}, row = {l->shape.c, 1, 1};
    vg_param params[2] = {{VG_PARAM_VECTOR, l->shape.c, 1, 1, 1, 0, 0}, {VG_PARAM_VECTOR, l->shape.c, 1, 1, 1, 0, 0}};
    vg_block *theta, *grad;
    vg_recording *recording;
    set sets[SETS];
    for (int i = 0; i < 2; i++)
        check(b->ops->param_plan(b, &params[i]));
    params[1].offset = (params[0].size + 15) / 16 * 16;
    check(b->ops->block_new(b, &theta, params[1].offset + params[1].size));
    check(b->ops->block_new(b, &grad, params[1].offset + params[1].size));
    for (int i = 0; i < SETS; i++)
        sets[i] = (set){tensor(b, VG_TENSOR_ACTIVATION, ROWS, l->shape),
                        tensor(b, VG_TENSOR_ACTIVATION, ROWS, small),
                        tensor(b, VG_TENSOR_ACTIVATION, ROWS, l->shape),
                        tensor(b, VG_TENSOR_ACTIVATION, ROWS, small),
                        l->pool > 1 ? tensor(b, VG_TENSOR_CHOICE, ROWS, small) : NULL,
                        tensor(b, VG_TENSOR_PLAIN, 2, row),
                        tensor(b, VG_TENSOR_PLAIN, 2, row),
                        tensor(b, VG_TENSOR_ACTIVATION, ROWS, row)};
    for (int round = 0; round < 2; round++) {
        if (round == 1)
            check(b->ops->record_begin(b));
        for (int i = 0; i < SETS * TURNS; i++)
            run(b, l, &sets[i % SETS], theta, grad, params);
    }
    check(b->ops->record_end(b, &recording));
    double best = 1e9;
    for (int i = 0; i < REPLAYS; i++) {
        check(b->ops->sync(b));
        double start = now();
        check(b->ops->replay(b, recording));
        check(b->ops->sync(b));
        double took = (now() - start) / (SETS * TURNS);
        best = took < best ? took : best;
    }
    double bytes = l->passes * ROWS * (double)vg_shape__size(l->shape) * 2;
    printf("%-42s %8.2f us, %7.1f MB, %4.0f %% of 4 TB/s\n", l->what, best * 1e6, bytes / 1e6,
           bytes / 4e12 / best * 100);
    b->ops->recording_free(b, recording);
    for (int i = 0; i < SETS; i++) {
        vg_tensor *each[] = {sets[i].x,      sets[i].y,       sets[i].dx,    sets[i].dy,
                             sets[i].choice, sets[i].running, sets[i].saved, sets[i].mean};
        for (int k = 0; k < 8; k++)
            b->ops->tensor_free(b, each[k]);
    }
    b->ops->block_free(b, theta);
    b->ops->block_free(b, grad);
}

int main(void) {
    vg_backend *b;
    vg_backend_options options = {.threads = 0, .compute = VG_COMPUTE_BF16};
    check(vg_backend__open(&b, "cuda", &options));
    check(b->ops->step_set(b, &(vg_step){.seed = 1, .number = 2, .momentum = 0.1f}));
    printf("%s; replays of %d operations, best of %d\n", b->device, SETS * TURNS, REPLAYS);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        measure(b, &all[i]);
    vg_backend__close(b);
    return 0;
}
