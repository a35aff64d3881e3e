/* test_nn_pairs.c - a backend that does a convolution and its batch-norm in one operation: the model requests
 * every such pair, and the convolution's own result only where a residual reads it; logits are the same; where the
 * backend declines, the two operations are used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "nn/model.h"

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != VG_OK)                                                                                           \
            fail_msg("%s: %s", #call, vg_error_message());                                                             \
    } while (0)

enum { N = 3, SIDE = 8, CLASSES = 3, HEADS = 2, IMAGE = 3 * SIDE * SIDE };

static int asked, both, decline_every;

/* The two operations one after the other, as if they were one. */
static vg_status pair(vg_backend *b, const vg_conv_norm *op, const vg_block *theta, bool *done) {
    vg_tensor *y = op->y;
    assert_false(op->norm.training);
    assert_int_equal(op->z->n, op->x->n);
    asked++;
    both += y != NULL;
    *done = !decline_every || asked % decline_every;
    if (!*done)
        return VG_OK;
    if (!y)
        OK(b->ops->tensor_new(b, &y, VG_TENSOR_ACTIVATION, op->z->n, op->z->shape));
    OK(b->ops->conv_forward(b, &op->conv, y, op->x, theta, op->w, op->addend));
    vg_norm_pass pass = {op->z, y, op->gamma, op->beta, (vg_tensor *)op->running, NULL};
    OK(b->ops->norm_forward(b, &op->norm, &pass, theta));
    if (!op->y)
        b->ops->tensor_free(b, y);
    return VG_OK;
}

static vg_model *model_on(vg_backend *b) {
    vg_network_spec spec = {"wrn-16-1", (vg_shape){3, SIDE, SIDE}, HEADS, CLASSES, 0.3, 1, false};
    vg_network *net;
    vg_model *model;
    float values[256];
    vg_random random = vg_random__start(3, 3);
    OK(vg_network__new(&net, &spec));
    OK(vg_model__new(&model, net, b, false));
    OK(vg_model__initialise(model, &(vg_initialisation){4, 0, false, 0}));
    for (int i = 0; i < net->norm_count; i++) {
        size_t c = model->running[i]->shape.c;
        assert_true(2 * c <= 256);
        for (size_t k = 0; k < 2 * c; k++)
            values[k] = k < c ? (float)vg_random__normal(&random) : 0.5f + (float)vg_random__unit(&random);
        OK(b->ops->tensor_upload(b, model->running[i], values));
    }
    return model;
}

static void logits(vg_model *model, const float *images, const vg_pass *pass, float *out) {
    vg_step step = {.seed = 9, .number = 1, .row = 40, .momentum = 0.1f};
    OK(model->backend->ops->step_set(model->backend, &step));
    OK(vg_model__input(model, images, N));
    OK(vg_model__forward(model, pass));
    OK(model->backend->ops->tensor_download(model->backend, out, vg_model__logits(model)));
    size_t taken = 0; /* nothing but the logits is held */
    for (size_t i = 0; i < model->arena_count; i++)
        taken += model->arena[i].taken;
    if (!pass->keep)
        assert_int_equal(taken, 1);
}

static void same_logits(void **state) {
    (void)state;
    vg_backend *b;
    vg_backend_options options = {.threads = 1, .compute = VG_COMPUTE_F32};
    static float images[N * IMAGE];
    float want[N * HEADS * CLASSES], got[N * HEADS * CLASSES];
    vg_random random = vg_random__start(8, 8);
    for (size_t i = 0; i < N * IMAGE; i++)
        images[i] = (float)vg_random__normal(&random);
    OK(vg_backend__open(&b, "ref", &options));
    const vg_backend_ops *plain = b->ops;
    vg_backend_ops paired = *plain;
    assert_null(plain->conv_norm_forward);
    paired.conv_norm_forward = pair;
    vg_model *model = model_on(b);
    for (int dropout = 0; dropout < 2; dropout++) {
        vg_pass pass = {VG_USE_RUNNING, dropout, false, 0, model->net->node_count};
        b->ops = plain;
        logits(model, images, &pass, want);
        b->ops = &paired;
        for (decline_every = 0; decline_every < 4; decline_every++) {
            if (decline_every == 1)
                continue;
            asked = both = 0;
            logits(model, images, &pass, got);
            assert_memory_equal(got, want, sizeof want);
            /* Two blocks per group: a pair in the middle of each block, one from each block to the next or to the last
             * norm, and the first convolution. A residual reads the results of the three first blocks, and the first
             * block's input. */
            assert_int_equal(asked, 13);
            assert_int_equal(both, 4);
        }
    }
    /* Statistics of the batch: nothing can be done in one go. */
    vg_pass batch = {VG_USE_BATCH, false, false, 0, model->net->node_count};
    asked = 0;
    logits(model, images, &batch, got);
    vg_pass keep = {VG_USE_RUNNING, false, true, 0, model->net->node_count};
    logits(model, images, &keep, got);
    assert_int_equal(asked, 0);
    b->ops = plain;
    vg_model__free(model);
    vg_backend__close(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_logits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
