/* Augmentation: crops, flips and erasing against what they should be by hand, jitter against torchvision's own values,
 * and the statistics of the draws. */
#include "data_util.h"

#include <math.h>

#include "data/augment.h"

enum { H = 8, W = 7, C = 3 };

static vg_dataset *pattern(void) {
    static unsigned char bytes[5 * C * H * W];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)((i * 37 + i / 11) % 256);
    vg_dataset *set;
    OK(vg_dataset__from_memory(
        &set, &(vg_dataset_images){sizeof(vg_dataset_images), "pattern", bytes, 0, NULL, 5, C, H, W, 0}));
    return set;
}

/* numpy.pad(mode="reflect"): -1 is 1, n is n - 2. */
static int mirrored(int at, int size) {
    while (at < 0 || at >= size)
        at = at < 0 ? -at : 2 * (size - 1) - at;
    return at;
}

static void crops_and_flips_by_hand(void **state) {
    (void)state;
    vg_dataset *set = pattern();
    const unsigned char *bytes = vg_dataset__pixels(set);
    vg_statistics statistics = {C, {0.1, 0.2, 0.3}, {0.5, 1.0, 2.0}};
    vg_augment augment = VG_AUGMENT_NONE;
    augment.crop_pad = 3;
    augment.flip = 0.5;
    vg_sample_plan *plan = malloc(sizeof *plan);
    float out[C * H * W], image[C * H * W];
    uint32_t columns[W];
    vg_sample_scratch scratch = {.image = image, .columns = columns};
    int flips = 0, seen[7][7] = {{0}};
    for (int layout = 0; layout < 2; layout++) {
        vg_sample__plan(plan, set, &augment, &statistics, (vg_layout)layout, 9);
        for (uint64_t epoch = 0; epoch < 400; epoch++) {
            size_t index = epoch % 5;
            vg_augment_draw draw = vg_augment__draw(&augment, 9, epoch, index, H, W);
            assert_true(draw.dy >= -3 && draw.dy <= 3 && draw.dx >= -3 && draw.dx <= 3 && !draw.erase);
            seen[draw.dy + 3][draw.dx + 3]++;
            flips += draw.flip;
            OK(vg_sample__make(out, &scratch, plan, epoch, index));
            for (int c = 0; c < C; c++)
                for (int y = 0; y < H; y++)
                    for (int x = 0; x < W; x++) {
                        int from_y = mirrored(y + (int)draw.dy, H),
                            from_x = mirrored((draw.flip ? W - 1 - x : x) + (int)draw.dx, W);
                        double value =
                            bytes[((index * C + (size_t)c) * H + (size_t)from_y) * W + (size_t)from_x] / 255.0;
                        float expected = (float)((value - statistics.mean[c]) / statistics.std[c]);
                        float found = layout == VG_LAYOUT_NHWC ? out[(y * W + x) * C + c] : out[(c * H + y) * W + x];
                        if (found != expected)
                            fail_msg("epoch %d channel %d (%d, %d): %g, expected %g", (int)epoch, c, y, x,
                                     (double)found, (double)expected);
                    }
        }
    }
    assert_in_range(flips, 2 * 150, 2 * 250); /* 200 of 400, standard deviation 10 */
    for (int y = 0; y < 7; y++)
        for (int x = 0; x < 7; x++)
            assert_true(seen[y][x] > 0);
    free(plan);
    vg_dataset_free(set);
}

/* Each switch draws from a stretch of its own: what one does is the same whatever else is on. */
static void switches_are_independent(void **state) {
    (void)state;
    const vg_augment all = VG_AUGMENT_CIFAR;
    for (size_t index = 0; index < 50; index++) {
        vg_augment only_crop = VG_AUGMENT_NONE, only_erase = VG_AUGMENT_NONE;
        only_crop.crop_pad = 4;
        only_erase.erase = 0.5;
        vg_augment_draw a = vg_augment__draw(&all, 3, 2, index, 32, 32),
                        b = vg_augment__draw(&only_crop, 3, 2, index, 32, 32),
                        c = vg_augment__draw(&only_erase, 3, 2, index, 32, 32);
        assert_true(a.dy == b.dy && a.dx == b.dx);
        assert_true(a.erase == c.erase && a.top == c.top && a.left == c.left && a.height == c.height &&
                    a.width == c.width);
    }
}

static void erasing(void **state) {
    (void)state;
    vg_augment augment = VG_AUGMENT_NONE;
    augment.erase = 0.5;
    int erased = 0;
    double area = 0.0, log_ratio = 0.0, smallest = 1.0, largest = 0.0;
    for (size_t index = 0; index < 20000; index++) {
        vg_augment_draw draw = vg_augment__draw(&augment, 1, 0, index, 32, 32);
        if (!draw.erase)
            continue;
        assert_true(draw.height < 32 && draw.width < 32 && draw.top + draw.height <= 32 &&
                    draw.left + draw.width <= 32);
        double part = (double)(draw.height * draw.width) / 1024.0;
        erased++;
        area += part;
        log_ratio += log((double)draw.height / (double)draw.width);
        smallest = part < smallest ? part : smallest;
        largest = part > largest ? part : largest;
    }
    assert_in_range(erased, 9700, 10300);
    assert_true(fabs(area / erased - 0.175) < 0.005); /* mean of 2 .. 33 % */
    /* Log-uniform over 0.3 .. 3.3: the mean is half of log 0.99, all but 0 */
    assert_true(fabs(log_ratio / erased - 0.5 * log(0.3 * 3.3)) < 0.03);
    assert_true(smallest > 0.012 && smallest < 0.03 && largest > 0.31 && largest < 0.35);
    vg_dataset *set = pattern();
    vg_statistics none = {0};
    vg_sample_plan *plan = malloc(sizeof *plan);
    augment.erase = 1.0;
    vg_sample__plan(plan, set, &augment, &none, VG_LAYOUT_NCHW, 1);
    float out[C * H * W], image[C * H * W], plain[C * H * W];
    uint32_t columns[W];
    vg_sample_scratch scratch = {.image = image, .columns = columns};
    for (uint64_t epoch = 0; epoch < 50; epoch++) {
        vg_augment_draw draw = vg_augment__draw(&augment, 1, epoch, 3, H, W);
        OK(vg_sample__make(out, &scratch, plan, epoch, 3));
        size_t three = 3;
        OK(vg_dataset__fill(plain, set, &three, 1, NULL, VG_LAYOUT_NCHW));
        for (size_t c = 0; c < C; c++)
            for (size_t y = 0; y < H; y++)
                for (size_t x = 0; x < W; x++) {
                    bool inside = draw.erase && y >= draw.top && y < draw.top + draw.height && x >= draw.left &&
                                  x < draw.left + draw.width;
                    size_t at = (c * H + y) * W + x;
                    assert_true(out[at] == (inside ? 0.0f : plain[at]));
                }
    }
    free(plan);
    vg_dataset_free(set);
}

static void read_floats(FILE *file, float *out, size_t count) {
    for (size_t i = 0; i < count; i++)
        assert_int_equal(fscanf(file, "%f", &out[i]), 1);
}

/* tests/data/datasets/make_jitter.py wrote these with torchvision. */
static void jitter_as_torchvision(void **state) {
    (void)state;
    FILE *file = fopen("tests/data/datasets/jitter.txt", "r");
    assert_non_null(file);
    const vg_augment on = {0, 0, 0, 1, 1, 1, 0.5};
    int cases = 0, channels, pixels;
    while (fscanf(file, "%d %d", &channels, &pixels) == 2) {
        float factors[4], image[90], expected[90];
        vg_augment_draw draw = {0};
        assert_true(channels * pixels <= 90);
        read_floats(file, factors, 4);
        for (int i = 0; i < 4; i++) {
            int operation;
            assert_int_equal(fscanf(file, "%d", &operation), 1);
            draw.order[i] = (unsigned char)operation;
            draw.factor[i] = (double)factors[i];
        }
        size_t count = (size_t)(channels * pixels);
        read_floats(file, image, count);
        read_floats(file, expected, count);
        vg_jitter__apply(image, (size_t)channels, (size_t)pixels, &on, &draw);
        for (size_t i = 0; i < count; i++)
            if (!(fabsf(image[i] - expected[i]) < 5e-6f))
                fail_msg("case %d value %zu: %g, torchvision %g", cases, i, (double)image[i], (double)expected[i]);
        cases++;
    }
    fclose(file);
    assert_int_equal(cases, 12);
}

static void jitter_draws(void **state) {
    (void)state;
    const vg_augment augment = {0, 0, 0, 0.2, 0.3, 2.0, 0.1};
    const double low[4] = {0.8, 0.7, 0.0, -0.1}, high[4] = {1.2, 1.3, 3.0, 0.1};
    double sums[4] = {0};
    int orders[256] = {0}, distinct = 0;
    for (size_t index = 0; index < 4800; index++) {
        vg_augment_draw draw = vg_augment__draw(&augment, 5, 1, index, 32, 32);
        for (int i = 0; i < 4; i++) {
            assert_true(draw.factor[i] >= low[i] && draw.factor[i] <= high[i]);
            sums[i] += draw.factor[i];
        }
        orders[draw.order[0] | draw.order[1] << 2 | draw.order[2] << 4 | draw.order[3] << 6]++;
    }
    for (int i = 0; i < 4; i++) /* five standard errors of a uniform mean */
        assert_true(fabs(sums[i] / 4800 - 0.5 * (low[i] + high[i])) < 5 * (high[i] - low[i]) / sqrt(12.0 * 4800));
    for (int i = 0; i < 256; i++)
        if (orders[i] > 0) {
            assert_in_range(orders[i], 130, 270); /* 200 of 4800 each, standard deviation 14 */
            distinct++;
        }
    assert_int_equal(distinct, 24);
}

static void refusals(void **state) {
    (void)state;
    vg_dataset *set = pattern(), *floats;
    vg_augment augment = VG_AUGMENT_NONE;
    augment.crop_pad = 7;
    FAILS(vg_augment__check(&augment, set), VG_ERR_ARGUMENT, "border of 7 pixels");
    augment.crop_pad = 0, augment.flip = 1.5;
    FAILS(vg_augment__check(&augment, set), VG_ERR_ARGUMENT, "flip 1.5");
    augment.flip = 0, augment.hue = 0.6;
    FAILS(vg_augment__check(&augment, set), VG_ERR_ARGUMENT, "hue 0.6");
    augment.hue = 0, augment.contrast = NAN;
    FAILS(vg_augment__check(&augment, set), VG_ERR_ARGUMENT, "contrast nan");
    augment.contrast = 0.2;
    const float values[4] = {0.0f, 0.5f, 1.0f, 1.25f};
    OK(vg_dataset__from_memory(
        &floats, &(vg_dataset_images){sizeof(vg_dataset_images), "floats", values, 1, NULL, 1, 1, 2, 2, 0}));
    FAILS(vg_augment__check(&augment, floats), VG_ERR_ARGUMENT, "holds 1.25");
    vg_dataset_free(floats);
    OK(vg_dataset__from_memory(
        &floats, &(vg_dataset_images){sizeof(vg_dataset_images), "floats", values, 1, NULL, 1, 2, 2, 1, 0}));
    FAILS(vg_augment__check(&augment, floats), VG_ERR_ARGUMENT, "needs 1 or 3 channels");
    vg_dataset_free(floats);
    vg_dataset_free(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(crops_and_flips_by_hand),
                                       cmocka_unit_test(switches_are_independent),
                                       cmocka_unit_test(erasing),
                                       cmocka_unit_test(jitter_as_torchvision),
                                       cmocka_unit_test(jitter_draws),
                                       cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
