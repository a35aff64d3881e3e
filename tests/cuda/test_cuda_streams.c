/* test_cuda_streams.c - the training step of the MNIST network on one, two and three CUDA streams, operation by
 * operation and replayed as a whole: the same bits; and Adam in parts, beside other work, against Adam in one
 * operation. */
#include <unistd.h>

#include "backend_util.h"

#include "folder_util.h"
#include "nn/learner.h"

enum { ROWS = 40, IMAGES = 120, SIDE = 28, CLASSES = 10, STEPS = 6 };

/* The GPU with the given number of streams, or NULL. */
static vg_backend *gpu(vg_compute compute, unsigned streams) {
    vg_backend_options options = {.threads = 2, .compute = compute, .streams = streams};
    return open_or_say_with("cuda", &options);
}

/* --- the step */

static vg_learner *learner(vg_backend *b) {
    vg_learner *l;
    vg_learner_options o = {
        .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 1e-4, .seed = 9, .training = true};
    /* hidden layer and heads: over a million each */
    o.network = (vg_network_spec){"cnn", {1, SIDE, SIDE}, 110, CLASSES, 0.05, 1, false};
    OK(vg_learner__new(&l, b, &o));
    OK(vg_learner__initialise(l));
    return l;
}

static void make_images(unsigned char *pixels, int32_t *labels) {
    vg_random random = vg_random__start(5, 1);
    for (size_t i = 0; i < (size_t)IMAGES * SIDE * SIDE; i++)
        pixels[i] = (unsigned char)vg_random__below(&random, 256);
    for (size_t i = 0; i < IMAGES; i++)
        labels[i] = (int32_t)vg_random__below(&random, CLASSES);
}

/* Weights, both moments and losses after STEPS steps over resident images, of which the third and later ones are
 * replayed. */
static float *train_stored(vg_backend *b, double losses[STEPS], size_t *count) {
    static unsigned char pixels[IMAGES * SIDE * SIDE];
    static int32_t labels[IMAGES];
    static vg_sample_draw plan[IMAGES];
    vg_store *store;
    vg_learner *l = learner(b);
    make_images(pixels, labels);
    vg_store_images images = {.pixels = pixels,
                              .labels = labels,
                              .n = IMAGES,
                              .plan_room = IMAGES,
                              .shape = {1, SIDE, SIDE},
                              .mean = {0.4},
                              .std = {0.3}};
    OK(b->ops->store_new(b, &store, &images));
    for (size_t i = 0; i < IMAGES; i++)
        plan[i] = (vg_sample_draw){.index = (uint32_t)(i * 7 % IMAGES)};
    OK(b->ops->store_plan(b, store, plan, IMAGES));
    for (uint32_t t = 0; t < STEPS; t++) {
        vg_loss_totals totals;
        OK(vg_learner__step_stored(l, store, t % 3 * ROWS, ROWS, t, 1e-3));
        OK(b->ops->loss_read(b, &totals));
        losses[t] = totals.loss;
    }
    assert_non_null(l->recorded.recording);
    const vg_model *model = l->model;
    const vg_block *blocks[] = {model->theta, model->m, model->v};
    size_t values = 0, at = 0;
    for (int i = 0; i < model->net->param_count; i++)
        values += vg_param__count(&model->params[i]);
    float *out = malloc(3 * values * sizeof *out);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < model->net->param_count; i++) {
            OK(vg_model__get(l->model, out + at, blocks[k], i));
            at += vg_param__count(&model->params[i]);
        }
    vg_learner__free(l);
    b->ops->store_free(b, store);
    *count = at;
    return out;
}

static void same_step(void **state) {
    (void)state;
    static const unsigned streams[] = {1, 2, 3, 3};
    static const vg_compute computes[] = {VG_COMPUTE_BF16, VG_COMPUTE_F32};
    for (int c = 0; c < 2; c++) {
        float *first = NULL;
        double losses[4][STEPS];
        size_t count;
        for (int k = 0; k < 4; k++) {
            vg_backend *b = gpu(computes[c], streams[k]);
            if (!b)
                skip();
            float *got = train_stored(b, losses[k], &count);
            vg_backend__close(b);
            if (!first) {
                first = got;
                continue;
            }
            for (int t = 0; t < STEPS; t++)
                if (losses[k][t] != losses[0][t])
                    fail_msg("%u streams: the loss of step %d is %.9g, with one stream %.9g", streams[k], t,
                             losses[k][t], losses[0][t]);
            assert_memory_equal(got, first, count * sizeof *got);
            free(got);
        }
        free(first);
        assert_true(losses[0][STEPS - 1] != losses[0][STEPS - 4]); /* the same images, other weights and masks */
    }
}

/* --- Adam */

static void adam_in_parts(void **state) {
    (void)state;
    enum { COUNT = 3 * 4096 + 48, CUT = 4096 + 16 };
    vg_backend *b = gpu(VG_COMPUTE_BF16, 3);
    if (!b)
        skip();
    vg_param p = {VG_PARAM_VECTOR, COUNT, 1, 1, 1, 0, 0};
    static float got[2][3][COUNT];
    OK(b->ops->param_plan(b, &p));
    for (int parts = 0; parts < 2; parts++) {
        vg_block *blocks[4];
        generator = vg_random__start(8, 8);
        for (int i = 0; i < 4; i++)
            OK(b->ops->block_new(b, &blocks[i], COUNT));
        for (int i = 0; i < 2; i++) {
            float *values = draw(COUNT, 1);
            OK(b->ops->param_upload(b, blocks[i], &p, values));
            free(values);
        }
        for (int t = 0; t < 3; t++) {
            if (!parts) {
                OK(b->ops->adam(b, blocks[0], blocks[1], blocks[2], blocks[3]));
                continue;
            }
            OK(b->ops->adam_part(b, blocks[0], blocks[1], blocks[2], blocks[3],
                                 &(vg_adam_range){2 * CUT, COUNT - 2 * CUT, true}));
            OK(b->ops->adam_part(b, blocks[0], blocks[1], blocks[2], blocks[3], &(vg_adam_range){CUT, CUT, true}));
            OK(b->ops->adam_part(b, blocks[0], blocks[1], blocks[2], blocks[3], &(vg_adam_range){0, CUT, false}));
        }
        for (int i = 0; i < 3; i++)
            OK(b->ops->param_download(b, got[parts][i], blocks[i + (i > 0)], &p));
        assert_int_not_equal(
            b->ops->adam_part(b, blocks[0], blocks[1], blocks[2], blocks[3], &(vg_adam_range){8, 16, false}), VG_OK);
        assert_int_not_equal(
            b->ops->adam_part(b, blocks[0], blocks[1], blocks[2], blocks[3], &(vg_adam_range){16, COUNT, true}), VG_OK);
        for (int i = 0; i < 4; i++)
            b->ops->block_free(b, blocks[i]);
    }
    assert_memory_equal(got[0], got[1], sizeof got[0]);
    vg_backend__close(b);
}

/* The chosen engines are stored, so that every backend uses the same ones. */
static int keep_choices(void **state) { return make_folder(state) || setenv("XDG_CACHE_HOME", folder, 1) != 0; }

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_step), cmocka_unit_test(adam_in_parts)};
    return cmocka_run_group_tests(tests, keep_choices, remove_folder);
}
