/* test_nn_resident.c - what the training engine does on a device that holds the images, without one: recorded and
 * replayed steps, fused layers, a device that several trainings share, logits that stay there. Each must give the bits
 * of the same training from the feed, on the plain backend. The device: device_double.h. */
#include "tiny_training.h"

#include <errno.h>
#include <pthread.h>

#include "checkpoint_arrays.h"
#include "device_double.h"
#include "nn/predictor.h"
#include "nn/recipe.h"
#include "nn/train_device.h"

static vg_status plan_status;

static vg_status plan(void *context, uint64_t epoch, vg_sample_draw *samples) {
    (void)context;
    if (plan_status != VG_OK)
        return vg_base__fail(plan_status, "epoch %d has no plan", (int)epoch);
    for (size_t i = 0; i < TINY_COUNT; i++)
        samples[i] = (vg_sample_draw){.index = (uint32_t)i};
    return VG_OK;
}

static void run_path(char out[400], const char *name) { snprintf(out, 400, "%s/%s", folder, name); }

typedef struct job {
    const char *name, *device;
    const char *const *changes;
    struct vg_train_device *shared;
    int stop_after; /* steps; 0: never */
    bool resume;
} job;

static int count_down(void *context, const vg_train_event *event) {
    int *left = context;
    return event->kind == VG_TRAIN_STEP && *left > 0 && --*left == 0;
}

static vg_status train_job(job j) {
    char run[400];
    tiny_feed train = {0}, validation = {0};
    vg_recipe recipe = tiny_recipe(j.changes);
    vg_train_result result;
    run_path(run, j.name);
    vg_train_options o = tiny_options(&recipe, run, &train, &validation);
    o.device = j.device;
    o.shared = j.shared;
    o.resume = j.resume;
    o.resident = (vg_resident){NULL, tiny_images, 1, tiny_labels, TINY_COUNT, plan};
    o.event = count_down;
    o.event_context = &j.stop_after;
    return vg_train(&result, &o);
}

static void same_run(const char *a, const char *b) {
    static const char *const files[] = {"last.safetensors", "best.safetensors"};
    for (int i = 0; i < 2; i++) {
        char one[420], two[420];
        snprintf(one, sizeof one, "%s/%s/%s", folder, a, files[i]);
        snprintf(two, sizeof two, "%s/%s/%s", folder, b, files[i]);
        same_arrays(one, two);
    }
}

static int reset(void **state) {
    (void)state;
    memset(&twin, 0, sizeof twin);
    plan_status = VG_OK;
    return 0;
}

static const char *const two_epochs[] = {"epochs=2", "dropout=0.2", NULL};

static void resident_data_gives_the_same_bits(void **state) {
    (void)state;
    OK(train_job((job){"feed", "ref", two_epochs, NULL, 0, false}));
    OK(train_job((job){"resident", "cuda", two_epochs, NULL, 0, false}));
    assert_int_equal(twin.stores, 1);
    assert_int_equal(twin.batches, 2 * TINY_STEPS);
    same_run("feed", "resident");
}

static void recorded_steps_give_the_same_bits(void **state) {
    (void)state;
    twin.records = true;
    OK(train_job((job){"recorded", "cuda", two_epochs, NULL, 0, false}));
    assert_int_equal(twin.recorded, 1);
    assert_int_equal(twin.replayed, 2 * TINY_STEPS - 1);
    same_run("feed", "recorded");
    /* Stopped in the middle and resumed, with another recording. */
    assert_int_equal(train_job((job){"halves", "cuda", two_epochs, NULL, 4, false}), VG_ERR_INTERRUPTED);
    OK(train_job((job){"halves", "cuda", two_epochs, NULL, 0, true}));
    same_run("feed", "halves");
}

static void last_batch_that_is_not_full(void **state) {
    (void)state;
    static const char *const uneven[] = {"batch=5", "epochs=3", NULL}; /* 5, 5 and 2 images */
    twin.records = true;
    OK(train_job((job){"uneven-recorded", "cuda", uneven, NULL, 0, false}));
    assert_int_equal(twin.recorded, 1);
    assert_int_equal(twin.replayed, 5); /* of the six full batches all but the first */
    twin.records = false;
    OK(train_job((job){"uneven", "cuda", uneven, NULL, 0, false}));
    same_run("uneven", "uneven-recorded");
}

static void steps_that_cannot_be_recorded(void **state) {
    (void)state;
    twin.records = true;
    twin.begin_status = VG_ERR_UNSUPPORTED;
    OK(train_job((job){"no-begin", "cuda", two_epochs, NULL, 0, false}));
    same_run("feed", "no-begin");
    twin.begin_status = VG_OK;
    twin.end_status = VG_ERR_MEMORY;
    OK(train_job((job){"no-end", "cuda", two_epochs, NULL, 0, false}));
    same_run("feed", "no-end");
    assert_int_equal(twin.replayed, 0);
}

/* An anchor's penalty is read back every step, bootstrap weights need the positions of the images on the host. */
static void heads_that_need_the_host(void **state) {
    (void)state;
    static const char *const anchored[] = {"head_anchor=0.1", "head_features=0.5", NULL};
    static const char *const weighted[] = {"head_bootstrap=yes", NULL};
    twin.records = true;
    OK(train_job((job){"anchored", "cuda", anchored, NULL, 0, false}));
    assert_int_equal(twin.recorded, 0);
    assert_int_equal(twin.batches, TINY_STEPS);
    OK(train_job((job){"anchored-feed", "ref", anchored, NULL, 0, false}));
    same_run("anchored-feed", "anchored");
    OK(train_job((job){"weighted", "cuda", weighted, NULL, 0, false}));
    assert_int_equal(twin.stores, 1);
    OK(train_job((job){"weighted-feed", "ref", weighted, NULL, 0, false}));
    same_run("weighted-feed", "weighted");
}

static void images_that_do_not_fit(void **state) {
    (void)state;
    twin.store_status = VG_ERR_UNSUPPORTED; /* then the feed is used */
    OK(train_job((job){"no-store", "cuda", two_epochs, NULL, 0, false}));
    assert_int_equal(twin.batches, 0);
    same_run("feed", "no-store");
    twin.store_status = VG_ERR_MEMORY;
    REFUSED(train_job((job){"no-room", "cuda", two_epochs, NULL, 0, false}), VG_ERR_MEMORY, "do not fit on the device");
}

static void plan_that_fails(void **state) {
    (void)state;
    plan_status = VG_ERR_DATA;
    REFUSED(train_job((job){"no-plan", "cuda", two_epochs, NULL, 0, false}), VG_ERR_DATA, "epoch 0 has no plan");
}

/* Plans are drawn by the thread that trains where no other can be started. */
static bool no_threads;
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*body)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*body)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*body)(void *), void *argument) {
    return no_threads ? EAGAIN : __real_pthread_create(thread, how, body, argument);
}

static void plans_without_threads(void **state) {
    (void)state;
    no_threads = true;
    vg_status status = train_job((job){"alone", "cuda", two_epochs, NULL, 0, false});
    no_threads = false;
    OK(status);
    assert_int_equal(twin.batches, 2 * TINY_STEPS);
    same_run("feed", "alone");
}

static void refreshed_statistics(void **state) {
    (void)state;
    static const char *const residual[] = {"network=wrn-10-1", "dropout=0.3", "epochs=1", NULL};
    OK(train_job((job){"wrn-feed", "ref", residual, NULL, 0, false}));
    twin.fuses = true; /* in the validation passes */
    OK(train_job((job){"wrn-resident", "cuda", residual, NULL, 0, false}));
    assert_int_equal(twin.batches, 2 * TINY_STEPS);
    assert_true(twin.fused > 0);
    same_run("wrn-feed", "wrn-resident");
}

static void fused_layers_and_an_early_optimiser(void **state) {
    (void)state;
    static const char *const prior[] = {"head_prior=2", "epochs=1", NULL}; /* layers that cannot be fused */
    static const char *const wide[] = {"network=cnn-16-65536", "epochs=1", "heads=1", "ensemble=lle", NULL};
    twin.fuses = twin.records = true;
    OK(train_job((job){"fused", "cuda", two_epochs, NULL, 0, false}));
    assert_true(twin.fused > 0);
    assert_int_equal(twin.parts, 0);
    same_run("feed", "fused");
    OK(train_job((job){"prior-feed", "ref", prior, NULL, 0, false}));
    OK(train_job((job){"prior-fused", "cuda", prior, NULL, 0, false}));
    same_run("prior-feed", "prior-fused");
    OK(train_job((job){"wide-feed", "ref", wide, NULL, 0, false}));
    OK(train_job((job){"wide", "cuda", wide, NULL, 0, false}));
    assert_true(twin.parts >= 2);
    same_run("wide-feed", "wide");
}

static void shared_device(void **state) {
    (void)state;
    struct vg_train_device *device;
    OK(vg_train_device__new(&device, 1));
    OK(train_job((job){"shared-1", "cuda", two_epochs, device, 0, false}));
    OK(train_job((job){"shared-2", "cuda", two_epochs, device, 0, false}));
    assert_int_equal(twin.stores, 1);
    same_run("feed", "shared-1");
    same_run("feed", "shared-2");
    REFUSED(train_job((job){"shared-3", "ref", two_epochs, device, 0, false}), VG_ERR_ARGUMENT,
            "must ask for the same one");
    /* Other images replace those that are there. */
    vg_store *one, *two;
    vg_store_images images = {.pixels = tiny_images, .labels = tiny_labels, .n = 3, .plan_room = 3};
    OK(vg_train_device__store(&one, device, &images));
    assert_int_equal(twin.stores, 2);
    OK(vg_train_device__store(&two, device, &images));
    assert_ptr_equal(one, two);
    images.n = 2;
    OK(vg_train_device__store(&two, device, &images));
    assert_int_equal(twin.stores, 3);
    vg_train_device__free(device);
    vg_train_device__free(NULL);
    assert_int_equal(vg_train_device__is_gpu("cuda"), 1);
    assert_int_equal(vg_train_device__is_gpu("cpu"), 0);
    assert_int_equal(vg_train_device__is_gpu("auto"), 0);
    assert_int_equal(vg_train_device__is_gpu(NULL), 0);
}

/* --- logits that stay on the device */

static void same_logits(const char *run, const vg_predictor_options *how) {
    char path[440];
    vg_predictor *host, *there;
    vg_predictor_options o = *how;
    static float wanted[TINY_COUNT * 12 * TINY_CLASSES];
    const float *got;
    void *stream;
    snprintf(path, sizeof path, "%s/%s/last.safetensors", folder, run);
    o.device = "ref";
    OK(vg_predictor_open(&host, path, &o));
    o.device = "cuda";
    OK(vg_predictor_open(&there, path, &o));
    size_t members = vg_predictor__info(host).members;
    OK(vg_predictor_run(host, wanted, tiny_images, TINY_COUNT, 5));
    for (size_t n = 3; n <= TINY_COUNT; n += 9) { /* the second time for more images than there is room for */
        OK(vg_predictor__run_on_device(there, &got, &stream, tiny_images, n, 5));
        assert_non_null(stream);
        assert_memory_equal(got, wanted, n * members * TINY_CLASSES * sizeof *got);
    }
    REFUSED(vg_predictor__run_on_device(there, &got, &stream, tiny_images, 65, 0), VG_ERR_ARGUMENT,
            "65 images at once, expected at most");
    REFUSED(vg_predictor__run_on_device(host, &got, &stream, tiny_images, 1, 0), VG_ERR_UNSUPPORTED,
            "its logits are in host memory");
    vg_predictor_free(host);
    vg_predictor_free(there);
}

static void logits_on_the_device(void **state) {
    (void)state;
    static const char *const prior[] = {"head_prior=2", "dropout=0.2", "heads=3", NULL};
    vg_predictor_options o = VG_PREDICTOR_OPTIONS_INIT;
    twin.keeps = true;
    o.rows = 12;
    OK(train_job((job){"prior", "ref", prior, NULL, 0, false}));
    same_logits("prior", &o);
    o.ensemble = VG_ENSEMBLE_MCD_LLE;
    same_logits("prior", &o);
    o.passes = 4;
    o.heads = 3;
    same_logits("prior", &o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(resident_data_gives_the_same_bits, reset),
        cmocka_unit_test_setup(recorded_steps_give_the_same_bits, reset),
        cmocka_unit_test_setup(last_batch_that_is_not_full, reset),
        cmocka_unit_test_setup(steps_that_cannot_be_recorded, reset),
        cmocka_unit_test_setup(heads_that_need_the_host, reset),
        cmocka_unit_test_setup(images_that_do_not_fit, reset),
        cmocka_unit_test_setup(plan_that_fails, reset),
        cmocka_unit_test_setup(plans_without_threads, reset),
        cmocka_unit_test_setup(refreshed_statistics, reset),
        cmocka_unit_test_setup(fused_layers_and_an_early_optimiser, reset),
        cmocka_unit_test_setup(shared_device, reset),
        cmocka_unit_test_setup(logits_on_the_device, reset),
    };
    make_tiny_images();
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
