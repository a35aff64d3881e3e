/* tiny_training.h - the smallest training there is, in this process: 12 images of 16 x 16 pixels and three classes,
 * which take milliseconds. For tests that run it very often. */
#ifndef VG_TEST_TINY_TRAINING_H
#define VG_TEST_TINY_TRAINING_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "folder_util.h"
#include "vargate/nn.h"

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != VG_OK)                                                                                           \
            fail_msg("%s: %s", #call, vg_error_message());                                                             \
    } while (0)

enum { TINY_SIDE = 16, TINY_IMAGE = TINY_SIDE * TINY_SIDE, TINY_COUNT = 12, TINY_BATCH = 4, TINY_CLASSES = 3 };
enum { TINY_STEPS = TINY_COUNT / TINY_BATCH };

static float tiny_images[TINY_COUNT * TINY_IMAGE];
static int32_t tiny_labels[TINY_COUNT];
static size_t tiny_indices[TINY_COUNT];

/* A bright row whose place is the class, in noise. */
static inline void make_tiny_images(void) {
    vg_random random = vg_random__start(11, 0);
    for (size_t i = 0; i < TINY_COUNT; i++) {
        tiny_labels[i] = (int32_t)(i % TINY_CLASSES);
        tiny_indices[i] = i;
        for (size_t k = 0; k < TINY_IMAGE; k++)
            tiny_images[i * TINY_IMAGE + k] =
                (float)(0.5 * vg_random__normal(&random)) + (k / (5 * TINY_SIDE) == i % TINY_CLASSES ? 1.0f : 0.0f);
    }
}

/* Batches in the order of the set. `fail_at`: the call of `next` that fails, from 1; 0: none. */
typedef struct tiny_feed {
    size_t step, calls, fail_at;
    vg_status failure;
} tiny_feed;

vg_status vg_base__fail(vg_status status, const char *format, ...);

static inline vg_status tiny_seek(void *context, uint64_t epoch, size_t step) {
    (void)epoch;
    ((tiny_feed *)context)->step = step % TINY_STEPS;
    return VG_OK;
}

static inline vg_status tiny_next(void *context, vg_nn_batch *batch) {
    tiny_feed *f = context;
    size_t first = f->step * TINY_BATCH;
    if (++f->calls == f->fail_at)
        return vg_base__fail(f->failure, "batch %zu could not be read", f->calls);
    *batch = (vg_nn_batch){tiny_images + first * TINY_IMAGE, tiny_labels + first, tiny_indices + first, TINY_BATCH};
    f->step = (f->step + 1) % TINY_STEPS;
    return VG_OK;
}

static inline vg_feed feed_of(tiny_feed *f) { return (vg_feed){f, TINY_COUNT, TINY_STEPS, tiny_seek, tiny_next}; }

/* One epoch of cnn-4-8 with two heads; then the changes, ended by NULL. */
static inline vg_recipe tiny_recipe(const char *const *changes) {
    static const char *const base[] = {"name=tiny", "network=cnn-4-8", "heads=2",     "batch=4",
                                       "epochs=1",  "rate=1e-3",       "dropout=0.1", NULL};
    vg_recipe r;
    vg_recipe_defaults(&r);
    for (const char *const *c = base; *c; c++)
        OK(vg_recipe_set(&r, *c));
    for (; changes && *changes; changes++)
        OK(vg_recipe_set(&r, *changes));
    return r;
}

static inline vg_train_options tiny_options(const vg_recipe *recipe, const char *run, tiny_feed *train,
                                            tiny_feed *validation) {
    vg_train_options o = VG_TRAIN_OPTIONS_INIT;
    o.recipe = recipe;
    o.folder = run;
    o.device = "ref";
    o.threads = 1;
    o.channels = 1;
    o.height = o.width = TINY_SIDE;
    o.classes = TINY_CLASSES;
    o.std[0] = 1;
    o.train = feed_of(train);
    o.validation = feed_of(validation);
    return o;
}

static inline void expect_text(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

/* A call that must fail so, with this in its message. */
#define REFUSED(call, wanted, part)                                                                                    \
    do {                                                                                                               \
        vg_status refused_ = (call);                                                                                   \
        if (refused_ != (wanted))                                                                                      \
            fail_msg("%s: status %d: %s", #call, (int)refused_, refused_ ? vg_error_message() : "");                   \
        expect_text(vg_error_message(), part);                                                                         \
    } while (0)

#endif
