/* The loader: every sample once per epoch, the same batches at any thread count and after any seek, orders that follow
 * the seed. */
#include <math.h>

#include "data/loader.h"
#include "data/samples.h"
#include "data_util.h"

enum { N = 103, SIZE = 6 };

static vg_dataset *numbered(void) {
    static unsigned char bytes[N * 3 * SIZE * SIZE];
    static int32_t labels[N];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)((i * 31 + i / 13) % 256);
    for (int i = 0; i < N; i++)
        labels[i] = i % 7;
    vg_dataset *set;
    OK(vg_dataset__from_memory(
        &set, &(vg_dataset_images){sizeof(vg_dataset_images), "numbered", bytes, 0, labels, N, 3, SIZE, SIZE, 7}));
    return set;
}

static vg_loader_options usual(unsigned threads) {
    vg_loader_options options = VG_LOADER_OPTIONS_INIT;
    const vg_augment augment = VG_AUGMENT_CIFAR;
    options.batch = 16;
    options.seed = 77;
    options.threads = threads;
    options.augment = augment;
    options.statistics = (vg_statistics){3, {0.4, 0.5, 0.6}, {0.2, 0.3, 0.4}};
    return options;
}

typedef struct kept {
    float images[16 * 3 * SIZE * SIZE];
    int32_t labels[16];
    size_t indices[16], count, step;
    uint64_t epoch;
} kept;

static void keep(kept *out, const vg_batch *batch) {
    memset(out, 0, sizeof *out);
    out->count = batch->count, out->step = batch->step, out->epoch = batch->epoch;
    memcpy(out->images, batch->images, batch->count * 3 * SIZE * SIZE * sizeof *batch->images);
    memcpy(out->labels, batch->labels, batch->count * sizeof *batch->labels);
    memcpy(out->indices, batch->indices, batch->count * sizeof *batch->indices);
}

/* 5 epochs of 7 steps with one worker: what every other loader must give. */
enum { STEPS = 7, BATCHES = 5 * STEPS };
static kept *reference(const vg_dataset *set) {
    kept *all = malloc(BATCHES * sizeof *all);
    vg_loader_options options = usual(1);
    vg_loader *loader;
    OK(vg_loader__new(&loader, set, NULL, 0, &options));
    assert_int_equal(vg_loader__steps(loader), STEPS);
    for (int i = 0; i < BATCHES; i++) {
        vg_batch batch;
        OK(vg_loader__next(loader, &batch));
        keep(&all[i], &batch);
        assert_int_equal(all[i].epoch, i / STEPS);
        assert_int_equal(all[i].step, i % STEPS);
        assert_int_equal(all[i].count, i % STEPS == STEPS - 1 ? N % 16 : 16);
    }
    vg_loader__free(loader);
    return all;
}

static void same_at_any_thread_count(void **state) {
    (void)state;
    vg_dataset *set = numbered();
    kept *all = reference(set), one;
    for (unsigned threads = 1; threads <= 4; threads++)
        for (unsigned prefetch = 0; prefetch <= 9; prefetch += 3) {
            vg_loader_options options = usual(threads);
            options.prefetch = prefetch;
            vg_loader *loader;
            OK(vg_loader__new(&loader, set, NULL, 0, &options));
            for (int i = 0; i < BATCHES; i++) {
                vg_batch batch;
                OK(vg_loader__next(loader, &batch));
                keep(&one, &batch);
                assert_memory_equal(&one, &all[i], sizeof one);
                assert_int_equal((uintptr_t)batch.images % 64, 0);
            }
            vg_loader__free(loader);
        }
    free(all);
    vg_dataset_free(set);
}

static void same_after_any_seek(void **state) {
    (void)state;
    vg_dataset *set = numbered();
    kept *all = reference(set), one;
    vg_loader_options options = usual(3);
    vg_loader *loader;
    OK(vg_loader__new(&loader, set, NULL, 0, &options));
    for (int round = 0; round < 60; round++) {
        int at = (round * 17 + 5) % BATCHES;
        if (round % 5 == 4 && at % STEPS == 0 && at > 0) /* the end of an epoch is the beginning of the next */
            OK(vg_loader__seek(loader, (uint64_t)(at / STEPS - 1), STEPS));
        else
            OK(vg_loader__seek(loader, (uint64_t)(at / STEPS), (size_t)(at % STEPS)));
        for (int i = at; i < BATCHES && i < at + round % 9; i++) {
            vg_batch batch;
            OK(vg_loader__next(loader, &batch));
            keep(&one, &batch);
            assert_memory_equal(&one, &all[i], sizeof one);
        }
    }
    FAILS(vg_loader__seek(loader, 0, STEPS + 1), VG_ERR_ARGUMENT, "step 8 of an epoch of 7");
    vg_loader__free(loader);
    free(all);
    vg_dataset_free(set);
}

static void every_sample_once_an_epoch(void **state) {
    (void)state;
    vg_dataset *set = numbered();
    size_t odd[N / 2];
    for (size_t i = 0; i < N / 2; i++)
        odd[i] = 2 * i + 1;
    vg_loader_options options = usual(2);
    size_t first[N / 2], moved = 0;
    vg_loader *loader;
    OK(vg_loader__new(&loader, set, odd, N / 2, &options));
    for (int epoch = 0; epoch < 3; epoch++) {
        int seen[N] = {0};
        for (size_t step = 0, at = 0; step < vg_loader__steps(loader); step++) {
            vg_batch batch;
            OK(vg_loader__next(loader, &batch));
            for (size_t i = 0; i < batch.count; i++, at++) {
                seen[batch.indices[i]]++;
                assert_int_equal(batch.labels[i], batch.indices[i] % 7);
                if (epoch == 0)
                    first[at] = batch.indices[i];
                else
                    moved += first[at] != batch.indices[i];
            }
        }
        for (int i = 0; i < N; i++)
            assert_int_equal(seen[i], i % 2);
    }
    assert_true(moved > N / 2); /* another order every epoch */
    vg_loader__free(loader);
    vg_dataset_free(set);
}

static void unshuffled_is_plain(void **state) {
    (void)state;
    vg_dataset *set = numbered();
    vg_loader_options options = VG_LOADER_OPTIONS_INIT;
    options.shuffle = 0;
    options.batch = 10;
    options.drop_last = 1;
    options.layout = VG_LAYOUT_NHWC;
    options.statistics = (vg_statistics){3, {0.4, 0.5, 0.6}, {0.2, 0.3, 0.4}};
    vg_loader *loader;
    float expected[10 * 3 * SIZE * SIZE];
    OK(vg_loader__new(&loader, set, NULL, 0, &options));
    assert_int_equal(vg_loader__steps(loader), 10);
    for (size_t step = 0; step < 25; step++) {
        vg_batch batch;
        OK(vg_loader__next(loader, &batch));
        assert_int_equal(batch.count, 10);
        assert_int_equal(batch.indices[0], step % 10 * 10);
        OK(vg_dataset__fill(expected, set, batch.indices, 10, &options.statistics, VG_LAYOUT_NHWC));
        assert_memory_equal(batch.images, expected, sizeof expected);
    }
    vg_loader__free(loader);
    vg_dataset_free(set);
}

static void seeds_and_epochs_differ(void **state) {
    (void)state;
    vg_dataset *set = numbered();
    kept *all = reference(set);
    vg_loader_options options = usual(2);
    options.seed = 78;
    vg_loader *loader;
    vg_batch batch;
    OK(vg_loader__new(&loader, set, NULL, 0, &options));
    OK(vg_loader__next(loader, &batch));
    assert_memory_not_equal(batch.indices, all[0].indices, sizeof all[0].indices);
    vg_loader__free(loader);
    /* The same sample is augmented differently from epoch to epoch. */
    options = usual(2);
    options.shuffle = 0;
    OK(vg_loader__new(&loader, set, NULL, 0, &options));
    OK(vg_loader__next(loader, &batch));
    keep(&all[0], &batch);
    OK(vg_loader__seek(loader, 1, 0));
    OK(vg_loader__next(loader, &batch));
    assert_memory_equal(batch.indices, all[0].indices, sizeof all[0].indices);
    assert_memory_not_equal(batch.images, all[0].images, sizeof all[0].images);
    vg_loader__free(loader);
    free(all);
    vg_dataset_free(set);
}

/* A program compiled against a header whose options ended before `threads` and `prefetch`. */
static void options_of_an_older_header(void **state) {
    (void)state;
    vg_dataset *set = numbered();
    vg_loader_options options = VG_LOADER_OPTIONS_INIT;
    vg_loader *loader;
    vg_batch batch;
    options.struct_size = offsetof(vg_loader_options, threads);
    options.batch = 5;
    options.threads = options.prefetch = 4000000000u; /* beyond struct_size: must not be read */
    OK(vg_loader__new(&loader, set, NULL, 0, &options));
    assert_int_equal(vg_loader__steps(loader), (N - 1) / 5 + 1);
    OK(vg_loader__next(loader, &batch));
    assert_int_equal(batch.count, 5);
    vg_loader__free(loader);
    options.struct_size = sizeof options + 8;
    FAILS(vg_loader__new(&loader, set, NULL, 0, &options), VG_ERR_ARGUMENT, "vg_loader_options.struct_size");
    OK(vg_loader__new(&loader, set, NULL, 0, NULL)); /* the defaults */
    vg_loader__free(loader);
    vg_dataset_free(set);
}

/* Batches far smaller than the ring, a set of one sample, loaders freed with work under way. */
static void edges(void **state) {
    (void)state;
    const unsigned char pixel = 200;
    vg_dataset *set;
    OK(vg_dataset__from_memory(&set,
                               &(vg_dataset_images){sizeof(vg_dataset_images), "one", &pixel, 0, NULL, 1, 1, 1, 1, 0}));
    vg_loader_options options = VG_LOADER_OPTIONS_INIT;
    options.threads = 4;
    vg_loader *loader;
    for (int round = 0; round < 20; round++) {
        OK(vg_loader__new(&loader, set, NULL, 0, &options));
        for (int i = 0; i < round; i++) {
            vg_batch batch;
            OK(vg_loader__next(loader, &batch));
            assert_int_equal(batch.count, 1);
            assert_int_equal(batch.epoch, i);
            assert_int_equal(batch.labels[0], -1);
            assert_true(batch.images[0] == (float)(200 / 255.0));
        }
        vg_loader__free(loader);
    }
    vg_loader__free(NULL);
    size_t beyond = 1;
    FAILS(vg_loader__new(&loader, set, &beyond, 1, &options), VG_ERR_ARGUMENT, "index 1");
    FAILS(vg_loader__new(&loader, set, &beyond, 0, &options), VG_ERR_ARGUMENT, "over 0 samples");
    options.drop_last = 1;
    FAILS(vg_loader__new(&loader, set, NULL, 0, &options), VG_ERR_ARGUMENT, "one full batch");
    options.drop_last = 0;
    options.statistics.channels = 2;
    FAILS(vg_loader__new(&loader, set, NULL, 0, &options), VG_ERR_ARGUMENT, "statistics of 2 channels");
    options.statistics = (vg_statistics){1, {0}, {0}};
    FAILS(vg_loader__new(&loader, set, NULL, 0, &options), VG_ERR_ARGUMENT, "standard deviation 0");
    options.struct_size = 3;
    FAILS(vg_loader__new(&loader, set, NULL, 0, &options), VG_ERR_ARGUMENT, "vg_loader_options.struct_size is 3");
    vg_dataset_free(set);
}

/* One value of a sample made by hand from what was drawn; jitter off. */
static float by_hand(const vg_dataset *set, const vg_sample_draw *d, const vg_statistics *s, int c, int y, int x) {
    const unsigned char *bytes = vg_dataset__pixels(set);
    int from_y = y + d->dy, from_x = (d->flip ? SIZE - 1 - x : x) + d->dx;
    if (d->erase && y >= d->top && y < d->top + d->height && x >= d->left && x < d->left + d->width)
        return 0;
    from_y = from_y < 0 ? -from_y : from_y >= SIZE ? 2 * (SIZE - 1) - from_y : from_y;
    from_x = from_x < 0 ? -from_x : from_x >= SIZE ? 2 * (SIZE - 1) - from_x : from_x;
    return (float)((bytes[((d->index * 3 + (unsigned)c) * SIZE + (unsigned)from_y) * SIZE + (unsigned)from_x] / 255.0 -
                    s->mean[c]) /
                   s->std[c]);
}

/* An epoch's draws, asked for at once, are those its batches are made with; the loader's position stays. */
static void draws_of_an_epoch(void **state) {
    (void)state;
    vg_dataset *set = numbered();
    vg_loader_options options = usual(2);
    vg_loader *loader;
    static vg_sample_draw draws[N];
    size_t erased = 0, flipped = 0, moved = 0;
    options.augment = (vg_augment){2, 0.5, 0.5, 0, 0, 0, 0};
    OK(vg_loader__new(&loader, set, NULL, 0, &options));
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        OK(vg_loader__draws(loader, 7, draws)); /* another epoch's in between */
        OK(vg_loader__draws(loader, epoch, draws));
        for (size_t at = 0; at < N;) {
            vg_batch batch;
            OK(vg_loader__next(loader, &batch));
            assert_int_equal(batch.epoch, epoch);
            for (size_t i = 0; i < batch.count; i++, at++) {
                const vg_sample_draw *d = &draws[at];
                assert_int_equal(d->index, batch.indices[i]);
                assert_int_equal(d->jitter, 0);
                erased += d->erase, flipped += d->flip, moved += d->dy || d->dx;
                for (int k = 0; k < 3 * SIZE * SIZE; k++)
                    assert_true(fabsf(batch.images[i * 3 * SIZE * SIZE + (size_t)k] -
                                      by_hand(set, d, &options.statistics, k / (SIZE * SIZE), k / SIZE % SIZE,
                                              k % SIZE)) < 1e-6f);
            }
        }
    }
    assert_true(erased > N && flipped > N && moved > 2 * N); /* of 3 N */
    vg_loader__free(loader);
    options.augment = (vg_augment){0, 0, 0, 0.2, 0, 0.2, 0.1};
    OK(vg_loader__new(&loader, set, NULL, 0, &options));
    OK(vg_loader__draws(loader, 0, draws));
    assert_int_equal(draws[0].jitter, 1 | 4 | 8);
    vg_loader__free(loader);
    vg_dataset_free(set);
}

/* Classes equally often, and the samples of a class: the distribution of PyTorch's WeightedRandomSampler with weights
 * 1 / (samples of the class), by a chi-square test at 1e-6. */
static void balanced_classes(void **state) {
    (void)state;
    enum { EPOCHS = 400, CLASSES = 3 };
    static const size_t sizes[CLASSES] = {90, 10, 3};
    static unsigned char bytes[N];
    static int32_t labels[N];
    size_t counts[N] = {0}, by_class[CLASSES] = {0};
    for (size_t i = 0; i < N; i++)
        labels[i] = i < sizes[0] ? 0 : i < sizes[0] + sizes[1] ? 2 : 5; /* classes without samples between them */
    vg_dataset *set;
    OK(vg_dataset__from_memory(
        &set, &(vg_dataset_images){sizeof(vg_dataset_images), "unequal", bytes, 0, labels, N, 1, 1, 1, 7}));
    vg_loader_options options = VG_LOADER_OPTIONS_INIT;
    options.batch = 16;
    options.threads = 2;
    options.balance = 1;
    vg_loader *loader;
    OK(vg_loader__new(&loader, set, NULL, 0, &options));
    for (size_t i = 0; i < EPOCHS * vg_loader__steps(loader); i++) {
        vg_batch batch;
        OK(vg_loader__next(loader, &batch));
        for (size_t k = 0; k < batch.count; k++) {
            counts[batch.indices[k]]++;
            assert_int_equal(batch.labels[k], labels[batch.indices[k]]);
            by_class[batch.labels[k] / 2]++;
        }
    }
    double total = EPOCHS * (double)N, square = 0;
    for (size_t i = 0; i < N; i++) {
        double expected = total / CLASSES / (double)sizes[labels[i] / 2];
        square += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    }
    assert_true(square < 180 && square > 45); /* 102 degrees of freedom */
    for (int c = 0; c < CLASSES; c++)
        assert_true(fabs((double)by_class[c] - total / 3) < 5 * sqrt(total * 2 / 9));
    /* The draws of an epoch for devices are the same ones, and a seek finds them again. */
    vg_sample_draw draws[N];
    vg_batch batch;
    OK(vg_loader__draws(loader, 7, draws));
    OK(vg_loader__seek(loader, 7, 1));
    OK(vg_loader__next(loader, &batch));
    for (size_t k = 0; k < batch.count; k++)
        assert_int_equal(batch.indices[k], draws[16 + k].index);
    vg_loader__free(loader);
    vg_dataset_free(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_at_any_thread_count),
                                       cmocka_unit_test(same_after_any_seek),
                                       cmocka_unit_test(every_sample_once_an_epoch),
                                       cmocka_unit_test(unshuffled_is_plain),
                                       cmocka_unit_test(seeds_and_epochs_differ),
                                       cmocka_unit_test(options_of_an_older_header),
                                       cmocka_unit_test(edges),
                                       cmocka_unit_test(draws_of_an_epoch),
                                       cmocka_unit_test(balanced_classes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
