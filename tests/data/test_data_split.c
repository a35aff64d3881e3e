/* Sets in memory: stratified seeded splits, statistics, reshaping, plain filling. */
#include "data/dataset.h"
#include "data_util.h"

#include <math.h>

static vg_dataset *unequal(size_t n) {
    /* Class sizes near n/2, n/3, n/6, interleaved. */
    unsigned char *pixels = malloc(n);
    int32_t *labels = malloc(n * sizeof *labels);
    for (size_t i = 0; i < n; i++) {
        pixels[i] = (unsigned char)(i & 255);
        labels[i] = i % 6 < 3 ? 0 : i % 6 < 5 ? 1 : 2;
    }
    vg_dataset *set;
    OK(vg_dataset__from_memory(
        &set, &(vg_dataset_images){sizeof(vg_dataset_images), "unequal", pixels, 0, labels, n, 1, 1, 1, 3}));
    free(pixels);
    free(labels);
    return set;
}

static void split_is_stratified_and_disjoint(void **state) {
    (void)state;
    const size_t sizes[] = {60, 1000, 1003, 7};
    for (size_t s = 0; s < 4; s++) {
        size_t n = sizes[s], *kept, *held, kept_count, held_count, total[3] = {0}, taken[3] = {0};
        vg_dataset *set = unequal(n);
        OK(vg_dataset__split(&kept, &kept_count, &held, &held_count, set, 0.1, 42));
        assert_int_equal(held_count, (size_t)floor(0.1 * (double)n + 0.5));
        assert_int_equal(kept_count + held_count, n);
        char *seen = calloc(n, 1);
        for (size_t i = 0; i < kept_count; i++) {
            assert_true(i == 0 || kept[i] > kept[i - 1]);
            seen[kept[i]]++;
        }
        for (size_t i = 0; i < held_count; i++) {
            assert_true(i == 0 || held[i] > held[i - 1]);
            seen[held[i]]++;
            taken[vg_dataset__labels(set)[held[i]]]++;
        }
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(seen[i], 1);
            total[vg_dataset__labels(set)[i]]++;
        }
        for (int c = 0; c < 3; c++) /* each class within one sample of its exact share */
            assert_true(fabs((double)taken[c] - (double)held_count * (double)total[c] / (double)n) < 1.0);
        free(seen);
        vg_indices__free(kept);
        vg_indices__free(held);
        vg_dataset_free(set);
    }
}

static void split_follows_the_seed(void **state) {
    (void)state;
    vg_dataset *set = unequal(600);
    size_t *kept, *held[3], count, kept_count;
    for (int i = 0; i < 3; i++) {
        OK(vg_dataset__split(&kept, &kept_count, &held[i], &count, set, 0.1, i == 2 ? 43 : 42));
        vg_indices__free(kept);
    }
    assert_memory_equal(held[0], held[1], count * sizeof *held[0]);
    assert_memory_not_equal(held[0], held[2], count * sizeof *held[0]);
    for (int i = 0; i < 3; i++)
        vg_indices__free(held[i]);
    OK(vg_dataset__split(&kept, &kept_count, &held[0], &count, set, 0.0, 1));
    assert_int_equal(count, 0);
    assert_int_equal(kept_count, 600);
    vg_indices__free(kept);
    vg_indices__free(held[0]);
    FAILS(vg_dataset__split(&kept, &kept_count, &held[0], &count, set, 1.0, 1), VG_ERR_ARGUMENT, "fraction 1");
    FAILS(vg_dataset__split(&kept, &kept_count, &held[0], &count, set, NAN, 1), VG_ERR_ARGUMENT, "fraction nan");
    FAILS(vg_dataset__split(&kept, &kept_count, &held[0], &count, set, 0.9999, 1), VG_ERR_ARGUMENT, "leaves none");
    vg_dataset_free(set);
}

/* Every sample is as likely to be held out as any other of its class: 400 seeds of a 10 % split. */
static void split_is_fair(void **state) {
    (void)state;
    vg_dataset *set = unequal(120);
    size_t counts[120] = {0};
    for (uint64_t seed = 0; seed < 400; seed++) {
        size_t *kept, *held, kept_count, held_count;
        OK(vg_dataset__split(&kept, &kept_count, &held, &held_count, set, 0.1, seed));
        for (size_t i = 0; i < held_count; i++)
            counts[held[i]]++;
        vg_indices__free(kept);
        vg_indices__free(held);
    }
    for (int i = 0; i < 120; i++) /* mean 40, standard deviation 6 */
        assert_in_range(counts[i], 10, 70);
    vg_dataset_free(set);
}

static void limits(void **state) {
    (void)state;
    vg_dataset *set = unequal(600);
    size_t *some, count, *fewer, fewer_count, classes[3] = {0};
    OK(vg_dataset__limit(&some, &count, set, NULL, 0, 60, 5));
    assert_int_equal(count, 60);
    for (size_t i = 0; i < count; i++)
        classes[vg_dataset__labels(set)[some[i]]]++;
    assert_int_equal(classes[0], 30);
    assert_int_equal(classes[1], 20);
    assert_int_equal(classes[2], 10);
    OK(vg_dataset__limit(&fewer, &fewer_count, set, some, count, 12, 5));
    assert_int_equal(fewer_count, 12);
    for (size_t i = 0, j = 0; i < fewer_count; i++) {
        while (j < count && some[j] != fewer[i])
            j++;
        assert_true(j < count);
    }
    vg_indices__free(fewer);
    OK(vg_dataset__limit(&fewer, &fewer_count, set, some, count, 1000, 5));
    assert_int_equal(fewer_count, count);
    assert_memory_equal(fewer, some, count * sizeof *some);
    vg_indices__free(fewer);
    OK(vg_dataset__limit(&fewer, &fewer_count, set, NULL, 0, 60, 5)); /* the seed decides, and nothing else */
    assert_int_equal(fewer_count, count);
    assert_memory_equal(fewer, some, count * sizeof *some);
    vg_indices__free(fewer);
    OK(vg_dataset__limit(&fewer, &fewer_count, set, NULL, 0, 60, 6));
    assert_int_equal(fewer_count, count);
    assert_memory_not_equal(fewer, some, count * sizeof *some);
    vg_indices__free(fewer);
    vg_indices__free(some);
    vg_dataset_free(set);
}

static void statistics_by_hand(void **state) {
    (void)state;
    /* Two images, two channels of 1x2: channel 0 holds 0, 255, 51, 102; channel 1 is 51 throughout. */
    const unsigned char bytes[8] = {0, 255, 51, 51, 51, 102, 51, 51};
    const float floats[8] = {0.0f, 1.0f, 0.2f, 0.2f, 0.2f, 0.4f, 0.2f, 0.2f};
    vg_dataset *set;
    vg_statistics statistics;
    for (int is_float = 0; is_float < 2; is_float++) {
        OK(vg_dataset__from_memory(&set, &(vg_dataset_images){sizeof(vg_dataset_images), "tiny",
                                                              is_float ? (const void *)floats : bytes, is_float, NULL,
                                                              2, 2, 1, 2, 0}));
        OK(vg_dataset_statistics(&statistics, set, NULL, 0));
        assert_int_equal(statistics.channels, 2);
        assert_true(fabs(statistics.mean[0] - 0.4) < 1e-7);
        assert_true(fabs(statistics.std[0] - sqrt((0.16 + 0.36 + 0.04 + 0.0) / 4)) < 1e-7);
        assert_true(fabs(statistics.mean[1] - 0.2) < 1e-7);
        assert_true(statistics.std[1] == 1.0); /* it never varies */
        size_t second = 1;
        OK(vg_dataset_statistics(&statistics, set, &second, 1));
        assert_true(fabs(statistics.mean[0] - 0.3) < 1e-7 && fabs(statistics.std[0] - 0.1) < 1e-7);
        second = 2;
        FAILS(vg_dataset_statistics(&statistics, set, &second, 1), VG_ERR_ARGUMENT, "index 2");
        vg_dataset_free(set);
    }
}

/* The published figures of MNIST hold for the shipped sample to two digits; the sample is balanced and verified. */
static void shipped_digits(void **state) {
    (void)state;
    const size_t each[2] = {500, 200};
    for (int part = 0; part < 2; part++) {
        vg_dataset *set;
        vg_statistics statistics;
        size_t counts[10] = {0};
        OK(vg_dataset_open(&set, "digits", (vg_part)part, searching("data")));
        vg_dataset_info info = vg_dataset__info(set);
        assert_int_equal(info.n, 10 * each[part]);
        assert_true(info.verified);
        assert_string_equal(info.class_names[7], "7");
        for (size_t i = 0; i < info.n; i++)
            counts[vg_dataset__labels(set)[i]]++;
        for (int c = 0; c < 10; c++)
            assert_int_equal(counts[c], each[part]);
        OK(vg_dataset_statistics(&statistics, set, NULL, 0));
        assert_true(fabs(statistics.mean[0] - 0.1307) < 0.005 && fabs(statistics.std[0] - 0.3081) < 0.005);
        vg_dataset_free(set);
    }
    vg_dataset *set;
    OK(vg_dataset_open(&set, "digits-ood", VG_PART_ANY, searching("data")));
    assert_int_equal(vg_dataset__info(set).n, 2000);
    assert_string_equal(vg_dataset__info(set).class_names[9], "ankle boot");
    vg_dataset_free(set);
    FAILS(vg_dataset_open(&set, "digits-ood", VG_PART_TRAIN, searching("data")), VG_ERR_DATA, "has no train part");
}

static void filling(void **state) {
    (void)state;
    unsigned char bytes[2 * 2 * 3];
    for (int i = 0; i < 12; i++)
        bytes[i] = (unsigned char)(20 * i);
    vg_dataset *set;
    OK(vg_dataset__from_memory(&set,
                               &(vg_dataset_images){sizeof(vg_dataset_images), "tiny", bytes, 0, NULL, 2, 2, 1, 3, 0}));
    vg_statistics statistics = {2, {0.25, 0.5}, {0.5, 2.0}};
    const size_t order[3] = {1, 0, 1};
    float out[18], channels_last[18];
    OK(vg_dataset__fill(out, set, order, 3, &statistics, VG_LAYOUT_NCHW));
    OK(vg_dataset__fill(channels_last, set, order, 3, &statistics, VG_LAYOUT_NHWC));
    for (size_t i = 0; i < 3; i++)
        for (size_t c = 0; c < 2; c++)
            for (size_t x = 0; x < 3; x++) {
                double value = bytes[(order[i] * 2 + c) * 3 + x] / 255.0;
                float expected = (float)((value - statistics.mean[c]) / statistics.std[c]);
                assert_true(out[(i * 2 + c) * 3 + x] == expected);
                assert_true(channels_last[(i * 3 + x) * 2 + c] == expected);
            }
    OK(vg_dataset__fill(out, set, NULL, 1, NULL, VG_LAYOUT_NCHW));
    assert_true(out[5] == (float)(100 / 255.0));
    FAILS(vg_dataset__fill(out, set, NULL, 3, NULL, VG_LAYOUT_NCHW), VG_ERR_ARGUMENT, "holds 2");
    statistics.channels = 1;
    FAILS(vg_dataset__fill(out, set, NULL, 1, &statistics, VG_LAYOUT_NCHW), VG_ERR_ARGUMENT,
          "statistics of 1 channels");
    vg_dataset_free(set);
}

static void adapting(void **state) {
    (void)state;
    const unsigned char bytes[2 * 2 * 2] = {1, 2, 3, 4, 5, 6, 7, 8};
    const int32_t labels[2] = {1, 0};
    vg_dataset *set, *wide;
    OK(vg_dataset__from_memory(
        &set, &(vg_dataset_images){sizeof(vg_dataset_images), "small", bytes, 0, labels, 2, 1, 2, 2, 0}));
    OK(vg_dataset__adapt(&wide, set, 3, 4, 6));
    const unsigned char *pixels = vg_dataset__pixels(wide);
    for (size_t n = 0; n < 2; n++)
        for (size_t c = 0; c < 3; c++)
            for (size_t y = 0; y < 4; y++)
                for (size_t x = 0; x < 6; x++) {
                    bool inside = y >= 1 && y < 3 && x >= 2 && x < 4;
                    unsigned expected = inside ? bytes[n * 4 + (y - 1) * 2 + x - 2] : 0;
                    assert_int_equal(pixels[((n * 3 + c) * 4 + y) * 6 + x], expected);
                }
    assert_memory_equal(vg_dataset__labels(wide), labels, sizeof labels);
    assert_string_equal(vg_dataset__info(wide).name, "small");
    vg_dataset *same;
    FAILS(vg_dataset__adapt(&same, wide, 1, 4, 6), VG_ERR_DATA, "without loss");
    FAILS(vg_dataset__adapt(&same, wide, 3, 2, 2), VG_ERR_DATA, "without loss");
    vg_dataset_free(wide);
    vg_dataset_free(set);
}

/* The test share and the rest are all samples, each once with its label; validation images stay where they are. */
static void test_shares(void **state) {
    (void)state;
    enum { N = 240 };
    for (int held = 0; held < 2; held++) {
        vg_dataset *parts[2];
        size_t seen[N] = {0}, classes[2][3] = {{0}};
        for (int test = 0; test < 2; test++) {
            vg_dataset *set = parts[test] = unequal(N);
            if (held) {
                OK(vg_base__zalloc(&set->held, N, 1, "a split"));
                memset(set->held, 1, 60);
            }
            OK(vg_dataset__cut(set, test, 0.2, 5));
            for (size_t i = 0; i < set->n; i++) {
                size_t before = set->pixels.bytes[i]; /* of sample i it is i */
                seen[before]++;
                assert_int_equal(set->labels[i], before % 6 < 3 ? 0 : before % 6 < 5 ? 1 : 2);
                assert_true(!held || test || set->held[i] == (before < 60));
                classes[test][set->labels[i]]++;
            }
        }
        size_t share = held ? 36 : 48;
        assert_int_equal(parts[1]->n, share);
        assert_int_equal(parts[0]->n, N - share);
        for (size_t i = 0; i < N; i++)
            assert_int_equal(seen[i], 1);
        assert_int_equal(classes[1][0], share / 2);
        assert_int_equal(classes[1][2], share / 6);
        assert_null(parts[1]->held);
        vg_dataset_free(parts[0]);
        vg_dataset_free(parts[1]);
    }
    vg_dataset *few = unequal(4), *other = unequal(N), *again = unequal(N);
    FAILS(vg_dataset__cut(few, false, 0.1, 1), VG_ERR_ARGUMENT, "leaves none to test on");
    OK(vg_dataset__cut(other, true, 0.2, 6));
    OK(vg_dataset__cut(again, true, 0.2, 5));
    assert_memory_not_equal(other->pixels.bytes, again->pixels.bytes, 48);
    vg_dataset_free(few);
    vg_dataset_free(other);
    vg_dataset_free(again);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(split_is_stratified_and_disjoint),
                                       cmocka_unit_test(split_follows_the_seed),
                                       cmocka_unit_test(split_is_fair),
                                       cmocka_unit_test(limits),
                                       cmocka_unit_test(statistics_by_hand),
                                       cmocka_unit_test(shipped_digits),
                                       cmocka_unit_test(filling),
                                       cmocka_unit_test(adapting),
                                       cmocka_unit_test(test_shares)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
