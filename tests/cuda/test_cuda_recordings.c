/* test_cuda_recordings.c - operations that only the GPU's backend has: batches prepared from resident data, compared
 * with the loader's; operations recorded once and replayed with another step's values; accounting of device memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "base/random.h"
#include "data/loader.h"
#include "data/samples.h"
#include "vargate/data.h"

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != VG_OK)                                                                                           \
            fail_msg("%s: %s", #call, vg_error_message());                                                             \
    } while (0)

enum { IMAGES = 50, BATCH = 16, EPOCHS = 3 };

/* The GPU, or a skipped test. */
static vg_backend *gpu(vg_compute compute) {
    vg_backend *b = NULL;
    vg_backend_options options = {.threads = 1, .compute = compute};
    if (vg_backend__open(&b, "cuda", &options) == VG_OK)
        return b;
    if (getenv("VARGATE_REQUIRE_GPU"))
        fail_msg("there is a GPU, but: %s", vg_error_message());
    print_message("skipped: no GPU: %s\n", vg_error_message());
    skip();
    return NULL;
}

/* --- batches */

static vg_dataset *random_set(vg_shape shape, bool is_float) {
    vg_dataset *set;
    size_t values = IMAGES * vg_shape__size(shape);
    unsigned char *bytes = malloc(values);
    float *floats = malloc(values * sizeof *floats);
    int32_t labels[IMAGES];
    vg_random random = vg_random__start(3, shape.c);
    for (size_t i = 0; i < values; i++) {
        bytes[i] = (unsigned char)vg_random__below(&random, 256);
        floats[i] = (float)bytes[i] / 255;
    }
    for (int i = 0; i < IMAGES; i++)
        labels[i] = (int32_t)vg_random__below(&random, 10);
    OK(vg_dataset__from_memory(&set, &(vg_dataset_images){sizeof(vg_dataset_images), "random",
                                                          is_float ? (void *)floats : (void *)bytes, is_float, labels,
                                                          IMAGES, shape.c, shape.h, shape.w, 10}));
    free(bytes);
    free(floats);
    return set;
}

static vg_store *stored(vg_backend *b, const vg_dataset *set, vg_shape shape, bool is_float, const vg_statistics *s) {
    vg_store *store;
    vg_store_images images = {.pixels = vg_dataset__pixels(set),
                              .labels = vg_dataset__labels(set),
                              .n = IMAGES,
                              .plan_room = IMAGES,
                              .shape = shape,
                              .is_float = is_float};
    memcpy(images.mean, s->mean, sizeof images.mean);
    memcpy(images.std, s->std, sizeof images.std);
    OK(b->ops->store_new(b, &store, &images));
    return store;
}

static void set_plan(vg_backend *b, vg_store *store, const vg_loader *loader, uint64_t epoch) {
    vg_sample_draw draws[IMAGES];
    OK(vg_loader__draws(loader, epoch, draws));
    OK(b->ops->store_plan(b, store, draws, IMAGES));
}

static void same_batches(vg_backend *b, vg_shape shape, bool is_float, vg_augment augment, double bound) {
    vg_dataset *set = random_set(shape, is_float);
    vg_loader *loader;
    vg_loader_options options = VG_LOADER_OPTIONS_INIT;
    options.batch = BATCH;
    options.seed = 12;
    options.augment = augment;
    OK(vg_dataset_statistics(&options.statistics, set, NULL, 0));
    OK(vg_loader__new(&loader, set, NULL, 0, &options));
    vg_store *store = stored(b, set, shape, is_float, &options.statistics);
    vg_tensor *images, *labels;
    size_t image = vg_shape__size(shape);
    float *got = malloc(BATCH * image * sizeof *got);
    OK(b->ops->tensor_new(b, &images, VG_TENSOR_ACTIVATION, BATCH, shape));
    OK(b->ops->tensor_new(b, &labels, VG_TENSOR_INDEX, BATCH, (vg_shape){1, 1, 1}));
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        set_plan(b, store, loader, epoch);
        for (size_t at = 0; at < IMAGES; at += BATCH) {
            vg_batch want;
            OK(vg_loader__next(loader, &want));
            assert_int_equal(want.epoch, epoch);
            vg_tensor__rows(images, want.count);
            vg_tensor__rows(labels, want.count);
            OK(b->ops->step_set(b, &(vg_step){.batch = at}));
            OK(b->ops->store_batch(b, store, images, labels));
            OK(b->ops->tensor_download(b, got, images));
            for (size_t i = 0; i < want.count * image; i++)
                if (!(fabs((double)got[i] - want.images[i]) <= bound))
                    fail_msg("%s pixels, epoch %d, image %zu, value %zu: %.6f on the device, %.6f from the loader",
                             is_float ? "float" : "byte", (int)epoch, at + i / image, i % image, (double)got[i],
                             (double)want.images[i]);
        }
    }
    free(got);
    b->ops->tensor_free(b, images);
    b->ops->tensor_free(b, labels);
    b->ops->store_free(b, store);
    vg_loader__free(loader);
    vg_dataset_free(set);
}

static void cuda_batches(void **state) {
    (void)state;
    for (int compute = VG_COMPUTE_F32; compute <= VG_COMPUTE_BF16; compute++) {
        vg_backend *b = gpu((vg_compute)compute);
        double bound = compute == VG_COMPUTE_BF16 ? 1e-2 : 5e-5; /* of values up to about 2 */
        same_batches(b, (vg_shape){3, 32, 32}, false, (vg_augment)VG_AUGMENT_CIFAR, bound);
        same_batches(b, (vg_shape){3, 32, 32}, true, (vg_augment)VG_AUGMENT_CIFAR, bound);
        same_batches(b, (vg_shape){3, 32, 32}, false, (vg_augment)VG_AUGMENT_NONE, bound);
        same_batches(b, (vg_shape){1, 28, 28}, false, (vg_augment){2, 0.5, 0.5, 0.2, 0.2, 0, 0}, bound);
        same_batches(b, (vg_shape){1, 28, 20}, false, (vg_augment){3, 0.5, 0, 0, 0, 0, 0}, bound);
        vg_backend__close(b);
    }
}

/* The loss reads a batch's labels: they must be those of its images. */
static void cuda_batch_labels(void **state) {
    (void)state;
    vg_backend *b = gpu(VG_COMPUTE_F32);
    vg_shape shape = {1, 8, 8}, row = {10, 1, 1};
    vg_dataset *set = random_set(shape, false);
    vg_statistics statistics;
    OK(vg_dataset_statistics(&statistics, set, NULL, 0));
    vg_store *store = stored(b, set, shape, false, &statistics);
    vg_sample_draw plan[IMAGES];
    float z[BATCH * 10];
    memset(plan, 0, sizeof plan);
    vg_random random = vg_random__start(8, 8);
    for (int i = 0; i < IMAGES; i++)
        plan[i].index = (uint32_t)(i * 7 % IMAGES);
    for (int i = 0; i < BATCH * 10; i++)
        z[i] = (float)vg_random__normal(&random);
    OK(b->ops->store_plan(b, store, plan, IMAGES));
    vg_tensor *images, *labels, *logits;
    OK(b->ops->tensor_new(b, &images, VG_TENSOR_ACTIVATION, BATCH, shape));
    OK(b->ops->tensor_new(b, &labels, VG_TENSOR_INDEX, BATCH, (vg_shape){1, 1, 1}));
    OK(b->ops->tensor_new(b, &logits, VG_TENSOR_PLAIN, BATCH, row));
    OK(b->ops->tensor_upload(b, logits, z));
    OK(b->ops->step_set(b, &(vg_step){.batch = 21}));
    OK(b->ops->store_batch(b, store, images, labels));
    vg_loss_totals totals;
    OK(b->ops->loss(b, &(vg_head_loss){.heads = 1, .classes = 10}, NULL, logits, NULL, labels, NULL));
    OK(b->ops->loss_read(b, &totals));
    double wanted = 0;
    for (int i = 0; i < BATCH; i++) {
        double sum = 0;
        for (int c = 0; c < 10; c++)
            sum += exp((double)z[i * 10 + c]);
        wanted += log(sum) - (double)z[i * 10 + vg_dataset__labels(set)[plan[21 + i].index]];
    }
    assert_true(fabs(totals.loss - wanted) < 1e-4 * wanted);
    b->ops->tensor_free(b, images);
    b->ops->tensor_free(b, labels);
    b->ops->tensor_free(b, logits);
    b->ops->store_free(b, store);
    vg_dataset_free(set);
    vg_backend__close(b);
}

static void cuda_plan_refusals(void **state) {
    (void)state;
    vg_backend *b = gpu(VG_COMPUTE_F32);
    vg_shape shape = {1, 8, 8};
    vg_dataset *set = random_set(shape, false);
    vg_statistics statistics;
    OK(vg_dataset_statistics(&statistics, set, NULL, 0));
    vg_store *store = stored(b, set, shape, false, &statistics);
    static vg_sample_draw plan[IMAGES + 1];
    assert_int_not_equal(b->ops->store_plan(b, store, plan, IMAGES + 1), VG_OK);
    plan[3].index = IMAGES;
    assert_int_not_equal(b->ops->store_plan(b, store, plan, IMAGES), VG_OK);
    b->ops->store_free(b, store);
    vg_dataset_free(set);
    vg_backend__close(b);
}

/* --- recordings */

/* Convolution, then batch-norm with dropout: y of the step that is set. */
typedef struct chain {
    vg_tensor *x, *y, *z, *running, *saved;
    vg_block *theta, *grad, *m, *v;
    vg_param params[3];
} chain;

static void chain_new(vg_backend *b, chain *k) {
    vg_shape shape = {16, 8, 8}, row = {16, 1, 1};
    size_t offset = 0, values = BATCH * vg_shape__size(shape);
    float *noise = malloc(values * sizeof *noise);
    vg_random random = vg_random__start(4, 4);
    for (size_t i = 0; i < values; i++)
        noise[i] = (float)vg_random__normal(&random);
    k->params[0] = (vg_param){VG_PARAM_CONV, 16, 16, 3, 3, 0, 0};
    k->params[1] = k->params[2] = (vg_param){VG_PARAM_VECTOR, 16, 1, 1, 1, 0, 0};
    for (int i = 0; i < 3; i++) {
        OK(b->ops->param_plan(b, &k->params[i]));
        k->params[i].offset = offset;
        offset += (k->params[i].size + 63) / 64 * 64;
    }
    vg_block **blocks[] = {&k->theta, &k->grad, &k->m, &k->v};
    for (int i = 0; i < 4; i++)
        OK(b->ops->block_new(b, blocks[i], offset));
    for (int i = 0; i < 3; i++) {
        OK(b->ops->param_upload(b, k->theta, &k->params[i], noise + 100 * i));
        OK(b->ops->param_upload(b, k->grad, &k->params[i], noise + 77 * i + 5));
    }
    OK(b->ops->tensor_new(b, &k->x, VG_TENSOR_ACTIVATION, BATCH, shape));
    OK(b->ops->tensor_new(b, &k->y, VG_TENSOR_ACTIVATION, BATCH, shape));
    OK(b->ops->tensor_new(b, &k->z, VG_TENSOR_ACTIVATION, BATCH, shape));
    OK(b->ops->tensor_new(b, &k->running, VG_TENSOR_PLAIN, 2, row));
    OK(b->ops->tensor_new(b, &k->saved, VG_TENSOR_PLAIN, 2, row));
    OK(b->ops->tensor_upload(b, k->x, noise));
    OK(b->ops->tensor_upload(b, k->running, noise));
    free(noise);
}

static void chain_free(vg_backend *b, chain *k) {
    vg_tensor *tensors[] = {k->x, k->y, k->z, k->running, k->saved};
    vg_block *blocks[] = {k->theta, k->grad, k->m, k->v};
    for (int i = 0; i < 5; i++)
        b->ops->tensor_free(b, tensors[i]);
    for (int i = 0; i < 4; i++)
        b->ops->block_free(b, blocks[i]);
}

static void chain_run(vg_backend *b, chain *k) {
    vg_norm norm = {1e-5f, true, true, {0.3f, 4}};
    OK(b->ops->conv_forward(b, &(vg_conv){1, 1}, k->y, k->x, k->theta, &k->params[0], NULL));
    vg_norm_pass pass = {k->z, k->y, &k->params[1], &k->params[2], k->running, k->saved};
    OK(b->ops->norm_forward(b, &norm, &pass, k->theta));
    OK(b->ops->adam(b, k->theta, k->grad, k->m, k->v));
}

static vg_step step_of(uint32_t t) {
    return (vg_step){.seed = 5,
                     .number = t,
                     .row = 3 * t,
                     .momentum = 0.1f,
                     .rate = 1e-2f / (float)(t + 1),
                     .beta1 = 0.9f,
                     .beta2 = 0.999f,
                     .epsilon = 1e-8f,
                     .correction1 = 1 - powf(0.9f, (float)(t + 1)),
                     .correction2 = 1 - powf(0.999f, (float)(t + 1))};
}

/* Five steps one operation at a time, and five of which the last three are replayed: the same bits. */
static void cuda_replay(void **state) {
    (void)state;
    enum { LENGTH = BATCH * 16 * 8 * 8, WEIGHTS = 16 * 16 * 9, T = 5 };
    for (int compute = VG_COMPUTE_F32; compute <= VG_COMPUTE_BF16; compute++) {
        static float out[2][T][LENGTH], weights[2][WEIGHTS], running[2][32];
        vg_backend *b = gpu((vg_compute)compute);
        for (int way = 0; way < 2; way++) {
            chain k;
            vg_recording *recording = NULL;
            chain_new(b, &k);
            for (uint32_t t = 0; t < T; t++) {
                vg_step step = step_of(t);
                OK(b->ops->step_set(b, &step));
                if (way && t == 2) {
                    OK(b->ops->record_begin(b));
                    chain_run(b, &k);
                    OK(b->ops->record_end(b, &recording));
                }
                if (recording)
                    OK(b->ops->replay(b, recording));
                else
                    chain_run(b, &k);
                OK(b->ops->tensor_download(b, out[way][t], k.z));
            }
            OK(b->ops->param_download(b, weights[way], k.theta, &k.params[0]));
            OK(b->ops->tensor_download(b, running[way], k.running));
            if (recording)
                b->ops->recording_free(b, recording);
            chain_free(b, &k);
        }
        for (int t = 0; t < T; t++)
            if (memcmp(out[0][t], out[1][t], sizeof out[0][t]) != 0)
                fail_msg("step %d of 0..4 differs when replayed", t);
        assert_memory_equal(weights[0], weights[1], sizeof weights[0]);
        assert_memory_equal(running[0], running[1], sizeof running[0]);
        assert_memory_not_equal(out[0][3], out[0][4], sizeof out[0][3]); /* each step its own masks and weights */
        vg_backend__close(b);
    }
}

/* Freed memory is no longer counted. */
static void cuda_memory(void **state) {
    (void)state;
    vg_backend *b = gpu(VG_COMPUTE_F32);
    vg_tensor *t;
    size_t before = b->ops->memory_used(b);
    OK(b->ops->tensor_new(b, &t, VG_TENSOR_ACTIVATION, 64, (vg_shape){64, 32, 32}));
    assert_true(b->ops->memory_used(b) >= before + (size_t)64 * 64 * 32 * 32 * sizeof(float));
    b->ops->tensor_free(b, t);
    assert_int_equal(b->ops->memory_used(b), before);
    /* more than any device has: one error line, and the backend remains usable */
    assert_int_equal(b->ops->tensor_new(b, &t, VG_TENSOR_PLAIN, (size_t)1 << 24, (vg_shape){1 << 20, 1, 1}),
                     VG_ERR_MEMORY);
    assert_null(strchr(vg_error_message(), '\n'));
    OK(b->ops->tensor_new(b, &t, VG_TENSOR_ACTIVATION, 2, (vg_shape){8, 2, 2}));
    OK(b->ops->sync(b));
    b->ops->tensor_free(b, t);
    vg_backend__close(b);
}

int main(void) {
    if (getenv("VARGATE_TEST_ONLY")) /* a pattern */
        cmocka_set_test_filter(getenv("VARGATE_TEST_ONLY"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuda_batches), cmocka_unit_test(cuda_batch_labels), cmocka_unit_test(cuda_plan_refusals),
        cmocka_unit_test(cuda_replay),  cmocka_unit_test(cuda_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
