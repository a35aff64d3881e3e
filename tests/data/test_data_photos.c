/* test_data_photos.c - image files: pixels against Pillow's (tests/data/photos/make_photos.py), orientation, resizing
 * and cropping; hostile and damaged files; sets that are decoded as they are needed. */
#include "data/augment.h"
#include "data/image_file.h"
#include "data_util.h"

static const char *const photos = "tests/data/photos";

static vg_dataset_options reading(void) {
    vg_dataset_options options = VG_DATASET_OPTIONS_INIT;
    return options;
}

static const char *photo(const char *name) {
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", photos, name);
    return path;
}

static void copy_to(const char *from, const char *to) {
    size_t size;
    unsigned char *bytes = take(photo(from), &size);
    put(to, bytes, size);
    free(bytes);
}

/* True where this build can read the file. */
static bool readable(const char *name) {
    vg_image_scratch scratch = {0};
    vg_image_header header;
    vg_status status = vg_image__survey(&header, photo(name), &scratch);
    vg_image__release(&scratch);
    return status != VG_ERR_UNSUPPORTED;
}

static void size_from(size_t out[2], const char *text) {
    out[0] = out[1] = 0;
    sscanf(text, "%zux%zu", &out[0], &out[1]);
}

/* --- pixels --- */

static void as_pillow(void **state) {
    (void)state;
    FILE *lines = fopen(photo("cases.txt"), "r"), *blob = fopen(photo("cases.bin"), "rb");
    char name[64], resize[32], crop[32];
    size_t height, width, cases = 0;
    vg_image_target target;
    vg_image_scratch scratch = {0};
    assert_true(lines && blob);
    while (fscanf(lines, "%63s %31s %31s %u %zu %zu", name, resize, crop, &target.channels, &height, &width) == 6) {
        size_t count = target.channels * height * width;
        uint8_t *wanted = malloc(count), *got = malloc(count);
        assert_int_equal(fread(wanted, 1, count, blob), count);
        size_from(target.resize, resize);
        size_from(target.crop, crop);
        if (readable(name)) {
            OK(vg_image__load(got, photo(name), &target, height, width, &scratch));
            for (size_t i = 0; i < count; i++)
                if (abs((int)got[i] - (int)wanted[i]) > 1)
                    fail_msg("%s to %s, crop %s, %u channels: byte %zu is %d, Pillow's %d", name, resize, crop,
                             target.channels, i, got[i], wanted[i]);
            cases++;
        }
        free(wanted);
        free(got);
    }
    assert_true(feof(lines) && fgetc(blob) == EOF);
    fclose(lines);
    fclose(blob);
    vg_image__release(&scratch);
    if (cases == 0)
        skip();
}

/* The resampling alone, where no decoder rounds: PNG files whose sides keep their ratio are compared to the bit. For
 * other sizes Pillow 13 may resample down first, which rounds differently. */
static void resampling_is_exact(void **state) {
    (void)state;
    if (!readable("plain.png"))
        skip();
    FILE *lines = fopen(photo("cases.txt"), "r"), *blob = fopen(photo("cases.bin"), "rb");
    char name[64], resize[32], crop[32];
    size_t height, width, cases = 0;
    vg_image_target target;
    vg_image_scratch scratch = {0};
    while (fscanf(lines, "%63s %31s %31s %u %zu %zu", name, resize, crop, &target.channels, &height, &width) == 6) {
        size_t count = target.channels * height * width;
        uint8_t wanted[3 * 100 * 140], got[3 * 100 * 140];
        assert_true(count <= sizeof got);
        assert_int_equal(fread(wanted, 1, count, blob), count);
        size_from(target.resize, resize);
        size_from(target.crop, crop);
        if (!strstr(name, ".png") || target.resize[1])
            continue;
        OK(vg_image__load(got, photo(name), &target, height, width, &scratch));
        if (memcmp(got, wanted, count) != 0)
            fail_msg("%s to %s, crop %s, %u channels differs from Pillow's", name, resize, crop, target.channels);
        cases++;
    }
    assert_true(cases >= 12);
    fclose(lines);
    fclose(blob);
    vg_image__release(&scratch);
}

static void windows(void **state) {
    (void)state;
    vg_image_window w;
    vg_image_target target = {{64, 0}, {0, 0}, 3};
    assert_true(vg_image__window(&w, &target, 300, 401));
    assert_int_equal(w.resized_height, 64);
    assert_int_equal(w.resized_width, 85); /* 64 * 401 / 300, cut off */
    assert_int_equal(w.height, 64);
    assert_int_equal(w.width, 64);
    assert_int_equal(w.left, 10); /* 10.5, to the even neighbour, as Python rounds */
    target = (vg_image_target){{0, 0}, {50, 0}, 3};
    assert_false(vg_image__window(&w, &target, 300, 49));
    target = (vg_image_target){{32, 48}, {20, 40}, 3};
    assert_true(vg_image__window(&w, &target, 1, 16384));
    assert_int_equal(w.top, 6);
    assert_int_equal(w.left, 4);
}

static void orientation(void **state) {
    (void)state;
    uint8_t tiff[26] = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0};
    assert_int_equal(vg_exif__orientation(tiff, 26), 6);
    for (size_t size = 0; size < 22; size++) /* every cut of it */
        assert_int_equal(vg_exif__orientation(tiff, size), 1);
    tiff[18] = 9; /* no such orientation */
    assert_int_equal(vg_exif__orientation(tiff, 26), 1);
    memset(tiff + 4, 0xff, 4); /* a directory beyond the end */
    assert_int_equal(vg_exif__orientation(tiff, 26), 1);
}

/* --- hostile files --- */

static void every_cut_fails(void **state) {
    (void)state;
    static const char *const names[] = {"grey.jpg", "tall.jpg", "plain.png", "lossy.webp"};
    vg_image_target target = {{8, 0}, {0, 0}, 1};
    vg_image_scratch scratch = {0};
    uint8_t got[64];
    for (size_t k = 0; k < 4; k++) {
        if (!readable(names[k]))
            continue;
        size_t size;
        unsigned char *bytes = take(photo(names[k]), &size);
        /* The last bytes of a JPEG may be padding and its end mark, those of a PNG an empty chunk. */
        for (size_t cut = 0; cut + 16 < size; cut += 1 + size / 211) {
            put(in("cut"), bytes, cut);
            FAILS(vg_image__load(got, in("cut"), &target, 8, 8, &scratch), VG_ERR_FORMAT, "/cut: ");
        }
        free(bytes);
    }
    vg_image__release(&scratch);
}

/* A header that promises more than a file can hold costs no memory. */
static void huge_sizes_are_refused(void **state) {
    (void)state;
    vg_image_target target = {{8, 0}, {0, 0}, 1};
    vg_image_scratch scratch = {0};
    uint8_t got[64];
    size_t size;
    if (readable("grey.jpg")) {
        unsigned char *bytes = take(photo("grey.jpg"), &size);
        size_t at = 0;
        while (at + 9 < size && !(bytes[at] == 0xff && bytes[at + 1] == 0xc0))
            at++;
        memset(bytes + at + 5, 0xfe, 4); /* height and width in the start of frame */
        put(in("huge.jpg"), bytes, size);
        FAILS(vg_image__load(got, in("huge.jpg"), &target, 8, 8, &scratch), VG_ERR_FORMAT,
              "65278x65278 pixels (rows x columns), at most");
        free(bytes);
    }
    if (readable("plain.png")) {
        unsigned char *bytes = take(photo("plain.png"), &size);
        big_endian(bytes + 16, 16000);
        big_endian(bytes + 20, 16000);
        big_endian(bytes + 29, (uint32_t)crc32(0, bytes + 12, 17));
        put(in("huge.png"), bytes, size);
        FAILS(vg_image__load(got, in("huge.png"), &target, 8, 8, &scratch), VG_ERR_FORMAT, "16000x16000 pixels");
        free(bytes);
    }
    assert_true(scratch.packed_room == 0 && scratch.planes_room == 0);
    put(in("text.jpg"), "hello, world", 12);
    FAILS(vg_image__load(got, in("text.jpg"), &target, 8, 8, &scratch), VG_ERR_FORMAT,
          "starts with 0x68656c6c, a JPEG, PNG or WebP image expected");
    put(in("empty.jpg"), "", 0);
    FAILS(vg_image__load(got, in("empty.jpg"), &target, 8, 8, &scratch), VG_ERR_FORMAT, "is empty");
    FAILS(vg_image__load(got, in("none.jpg"), &target, 8, 8, &scratch), VG_ERR_IO, "No such file");
    FAILS(vg_image__load(got, folder, &target, 8, 8, &scratch), VG_ERR_IO, "not a file");
    vg_image__release(&scratch);
}

/* --- sets --- */

/* FOLDER/set with ant (colour.jpg, grey.jpg, plain.png) and bee (tall.jpg, grey.png). */
static const char *make_set(const char *name) {
    static char path[300];
    char to[400];
    static const char *const files[][2] = {{"colour.jpg", "ant/a.jpg"},
                                           {"grey.jpg", "ant/b.JPEG"},
                                           {"plain.png", "ant/c.png"},
                                           {"tall.jpg", "bee/a.jpg"},
                                           {"grey.png", "bee/b.png"}};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (size_t i = 0; i < 5; i++) {
        snprintf(to, sizeof to, "%s/%s", path, files[i][1]);
        copy_to(files[i][0], to);
    }
    snprintf(path, sizeof path, "path:%s/%s", folder, name);
    return path;
}

static void need_jpeg_and_png(void) {
    if (!readable("colour.jpg") || !readable("plain.png"))
        skip();
}

static void mixed_sizes(void **state) {
    (void)state;
    need_jpeg_and_png();
    vg_dataset *set;
    const char *name = make_set("mixed");
    vg_dataset_options options = reading();
    FAILS(vg_dataset_open(&set, name, VG_PART_TRAIN, &options), VG_ERR_DATA, "one size expected; give them one");
    options.resize[0] = 21;
    OK(vg_dataset_open(&set, name, VG_PART_TRAIN, &options));
    vg_dataset_info info = vg_dataset__info(set);
    assert_true(info.n == 5 && info.channels == 3 && info.height == 21 && info.width == 21 && info.classes == 2);
    assert_true(info.pixels && info.skipped_count == 0);
    assert_string_equal(info.class_names[1], "bee");
    assert_non_null(strstr(info.files[1], "ant/b.JPEG"));
    const uint8_t *pixels = vg_dataset__pixels(set);
    size_t plane = 21 * 21;
    for (size_t p = 0; p < plane; p++) /* a grey file is grey in RGB */
        assert_true(pixels[3 * plane + p] == pixels[4 * plane + p] && pixels[4 * plane + p] == pixels[5 * plane + p]);
    vg_dataset_free(set);
    options.channels = 1;
    options.center_crop[0] = 15, options.center_crop[1] = 17;
    OK(vg_dataset_open(&set, name, VG_PART_TRAIN, &options));
    info = vg_dataset__info(set);
    assert_true(info.channels == 1 && info.height == 15 && info.width == 17);
    vg_dataset_free(set);
    FAILS(vg_dataset_open(&set, name, VG_PART_TEST, &options), VG_ERR_ARGUMENT, "one part only");
    options.center_crop[0] = options.center_crop[1] = 30;
    FAILS(vg_dataset_open(&set, name, VG_PART_TRAIN, &options), VG_ERR_ARGUMENT, "center_crop 30x30 does not fit");
    options.resize[0] = 0;
    FAILS(vg_dataset_open(&set, name, VG_PART_TRAIN, &options), VG_ERR_DATA, "smaller than the 30x30");
    options = reading();
    options.channels = 2;
    FAILS(vg_dataset_open(&set, name, VG_PART_TRAIN, &options), VG_ERR_ARGUMENT, "channels 2, expected 1");
    options.channels = 0, options.resize[0] = 5000;
    FAILS(vg_dataset_open(&set, name, VG_PART_TRAIN, &options), VG_ERR_ARGUMENT, "resize 5000x0");
}

/* Sets that are no files follow the same options. */
static void arrays_are_resized_too(void **state) {
    (void)state;
    vg_dataset *set, *plain;
    vg_dataset_options options = reading();
    options.folder = "data";
    OK(vg_dataset_open(&plain, "digits", VG_PART_TEST, &options));
    options.resize[0] = 20, options.channels = 3;
    OK(vg_dataset_open(&set, "digits", VG_PART_TEST, &options));
    vg_dataset_info info = vg_dataset__info(set);
    assert_true(info.n == 2000 && info.channels == 3 && info.height == 20 && info.width == 20 && info.verified);
    assert_memory_equal(vg_dataset__labels(set), vg_dataset__labels(plain), 2000 * sizeof(int32_t));
    assert_string_equal(info.class_names[3], vg_dataset__info(plain).class_names[3]);
    vg_image_window window;
    vg_image_target target = {{20, 0}, {0, 0}, 1};
    vg_image_scratch scratch = {0};
    uint8_t wanted[400];
    assert_true(vg_image__window(&window, &target, 28, 28));
    OK(vg_image__resize(wanted, (const uint8_t *)vg_dataset__pixels(plain) + 7 * 784, 28, 28, &window, &scratch));
    for (size_t c = 0; c < 3; c++)
        assert_memory_equal((const uint8_t *)vg_dataset__pixels(set) + (7 * 3 + c) * 400, wanted, 400);
    vg_image__release(&scratch);
    vg_dataset_free(set);
    vg_dataset_free(plain);
}

static void flat_and_parts(void **state) {
    (void)state;
    need_jpeg_and_png();
    vg_dataset *set;
    char name[400];
    vg_dataset_options options = reading();
    options.resize[0] = 16;
    copy_to("colour.jpg", in("flat/2.jpg"));
    copy_to("tall.jpg", in("flat/1.jpg"));
    snprintf(name, sizeof name, "path:%s/flat", folder);
    OK(vg_dataset_open(&set, name, VG_PART_ANY, &options));
    vg_dataset_info info = vg_dataset__info(set);
    assert_true(info.n == 2 && info.classes == 0 && !info.class_names && vg_dataset__labels(set) == NULL);
    assert_non_null(strstr(info.files[0], "flat/1.jpg"));
    vg_dataset_free(set);
    /* train, val and test: val is the validation part, whatever the fraction and seed */
    make_set("parts/train");
    make_set("parts/test");
    copy_to("colour.jpg", in("parts/val/bee/z.jpg"));
    copy_to("tall.jpg", in("parts/val/cow/z.jpg"));
    snprintf(name, sizeof name, "path:%s/parts", folder);
    OK(vg_dataset_open(&set, name, VG_PART_TRAIN, &options));
    info = vg_dataset__info(set);
    assert_true(info.n == 7 && info.classes == 3);
    size_t *kept, *held, kept_count, held_count;
    OK(vg_dataset__split(&kept, &kept_count, &held, &held_count, set, 0.3, 9));
    assert_true(kept_count == 5 && held_count == 2 && held[0] == 5 && held[1] == 6);
    assert_true(vg_dataset__labels(set)[5] == 1 && vg_dataset__labels(set)[6] == 2);
    vg_indices__free(kept);
    vg_indices__free(held);
    vg_dataset_free(set);
    OK(vg_dataset_open(&set, name, VG_PART_TEST, &options));
    assert_int_equal(vg_dataset__info(set).n, 5);
    vg_dataset_free(set);
}

static void damaged_files(void **state) {
    (void)state;
    need_jpeg_and_png();
    vg_dataset *set;
    const char *name = make_set("damaged");
    size_t size;
    unsigned char *bytes = take(photo("colour.jpg"), &size);
    put(in("damaged/ant/bb.jpg"), bytes, size / 2);
    put(in("damaged/bee/0.jpg"), "none", 4);
    free(bytes);
    vg_dataset_options options = reading();
    options.resize[0] = 16;
    for (int in_memory = 0; in_memory < 2; in_memory++)
        for (unsigned threads = 1; threads <= 5; threads += 2) {
            options.in_memory = in_memory, options.threads = threads, options.skip_corrupt = 0;
            /* the first in the order of the set, at any number of threads; without channels the headers are read */
            FAILS(vg_dataset_open(&set, name, VG_PART_TRAIN, &options), VG_ERR_FORMAT, "bee/0.jpg: starts with");
            options.channels = 3;
            if (in_memory)
                FAILS(vg_dataset_open(&set, name, VG_PART_TRAIN, &options), VG_ERR_FORMAT,
                      "ant/bb.jpg: damaged JPEG: Premature end");
            options.channels = 0, options.skip_corrupt = 1;
            OK(vg_dataset_open(&set, name, VG_PART_TRAIN, &options));
            vg_dataset_info info = vg_dataset__info(set);
            assert_true(info.n == 5 && info.skipped_count == 2 && !info.pixels == !in_memory);
            assert_non_null(strstr(info.skipped[0], "ant/bb.jpg: damaged JPEG"));
            assert_non_null(strstr(info.skipped[1], "bee/0.jpg: starts with"));
            assert_non_null(strstr(info.files[2], "ant/c.png"));
            assert_true(vg_dataset__labels(set)[2] == 0 && vg_dataset__labels(set)[3] == 1);
            vg_dataset_free(set);
        }
    put(in("worse/ant/a.jpg"), "none", 4);
    char worse[400];
    snprintf(worse, sizeof worse, "path:%s/worse", folder);
    FAILS(vg_dataset_open(&set, worse, VG_PART_TRAIN, &options), VG_ERR_DATA, "none of its 1 images can be read");
}

/* A set that is decoded as images are needed gives the bits of one in memory: statistics, samples, batches at any
 * number of threads and from any position. */
static void streamed_as_in_memory(void **state) {
    (void)state;
    need_jpeg_and_png();
    const char *name = make_set("streamed");
    vg_dataset *all, *streamed, *some;
    vg_dataset_options options = reading();
    options.resize[0] = 18;
    OK(vg_dataset_open(&all, name, VG_PART_TRAIN, &options));
    options.in_memory = 0;
    OK(vg_dataset_open(&streamed, name, VG_PART_TRAIN, &options));
    assert_null(vg_dataset__pixels(streamed));
    assert_null(vg_dataset__info(streamed).pixels);
    vg_statistics a, b;
    const size_t indices[3] = {4, 0, 3};
    OK(vg_dataset_statistics(&a, all, indices, 3));
    OK(vg_dataset_statistics(&b, streamed, indices, 3));
    assert_memory_equal(&a, &b, sizeof a);
    static float x[3 * 3 * 324], y[3 * 3 * 324];
    OK(vg_dataset__fill(x, all, indices, 3, &a, VG_LAYOUT_NHWC));
    OK(vg_dataset__fill(y, streamed, indices, 3, &a, VG_LAYOUT_NHWC));
    assert_memory_equal(x, y, sizeof x);
    OK(vg_dataset__gather(&some, streamed, indices, 3, 2));
    for (size_t i = 0; i < 3; i++)
        assert_memory_equal((const uint8_t *)vg_dataset__pixels(some) + i * 972,
                            (const uint8_t *)vg_dataset__pixels(all) + indices[i] * 972, 972);
    vg_dataset_free(some);
    vg_loader_options how = VG_LOADER_OPTIONS_INIT;
    how.batch = 2, how.seed = 3, how.statistics = a, how.augment = (vg_augment)VG_AUGMENT_CIFAR;
    for (unsigned threads = 1; threads <= 4; threads++) {
        vg_loader *one, *two;
        vg_batch p, q;
        how.threads = 1;
        OK(vg_loader__new(&one, all, NULL, 0, &how));
        how.threads = threads;
        OK(vg_loader__new(&two, streamed, NULL, 0, &how));
        OK(vg_loader__seek(one, 2, 1));
        OK(vg_loader__seek(two, 2, 1));
        for (int step = 0; step < 12; step++) {
            OK(vg_loader__next(one, &p));
            OK(vg_loader__next(two, &q));
            assert_true(p.count == q.count && p.epoch == q.epoch && p.step == q.step);
            assert_memory_equal(p.images, q.images, p.count * 972 * sizeof(float));
            assert_memory_equal(p.labels, q.labels, p.count * sizeof(int32_t));
        }
        vg_loader__free(one);
        vg_loader__free(two);
    }
    /* a file that is damaged later ends the batch that needs it, with its name */
    put(in("streamed/bee/a.jpg"), "gone", 4);
    vg_loader *loader;
    vg_batch batch;
    how.threads = 3, how.shuffle = 0;
    OK(vg_loader__new(&loader, streamed, NULL, 0, &how));
    OK(vg_loader__next(loader, &batch));
    FAILS(vg_loader__next(loader, &batch), VG_ERR_FORMAT, "streamed/bee/a.jpg: starts with");
    vg_loader__free(loader);
    FAILS(vg_dataset__fill(x, streamed, indices, 3, &a, VG_LAYOUT_NCHW), VG_ERR_FORMAT, "bee/a.jpg");
    FAILS(vg_dataset__adapt(&some, streamed, 3, 32, 32), VG_ERR_DATA, "set resize and channels");
    vg_dataset_free(all);
    vg_dataset_free(streamed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_pillow),
                                       cmocka_unit_test(resampling_is_exact),
                                       cmocka_unit_test(windows),
                                       cmocka_unit_test(orientation),
                                       cmocka_unit_test(every_cut_fails),
                                       cmocka_unit_test(huge_sizes_are_refused),
                                       cmocka_unit_test(mixed_sizes),
                                       cmocka_unit_test(arrays_are_resized_too),
                                       cmocka_unit_test(flat_and_parts),
                                       cmocka_unit_test(damaged_files),
                                       cmocka_unit_test(streamed_as_in_memory)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
