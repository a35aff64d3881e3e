/* Every reader of data sets: what it reads, and what it reports about files that are cut short, mislabelled or declare
 * a wrong size. */
#include "data_util.h"

#include "data/samples.h"
#include "vargate/formats.h"

/* --- IDX ---------------------------------------------------------------------------------------------------------- */
static void idx_plain_and_gzipped(void **state) {
    (void)state;
    unsigned char images[16 + 6 * 5 * 4], labels[8 + 6];
    size_t size = idx_images(images, 6, 5, 4), labels_size = idx_labels(labels, 6, 3);
    for (int packed = 0; packed < 4; packed++) { /* images gzipped: bit 0; labels: bit 1 */
        const char *path = in(packed & 1 ? "a-images-idx3-ubyte.gz" : "a-images-idx3-ubyte");
        const char *labels_path = in(packed & 2 ? "a-labels-idx1-ubyte.gz" : "a-labels-idx1-ubyte");
        (packed & 1 ? put_gz : put)(path, images, size);
        (packed & 2 ? put_gz : put)(labels_path, labels, labels_size);
        vg_dataset *set;
        OK(vg_dataset__read(&set, path, VG_PART_ANY));
        vg_dataset_info info = vg_dataset__info(set);
        assert_int_equal(info.n, 6);
        assert_int_equal(info.channels, 1);
        assert_int_equal(info.height, 5);
        assert_int_equal(info.width, 4);
        assert_int_equal(info.classes, 3);
        assert_false(info.is_float);
        assert_memory_equal(vg_dataset__pixels(set), images + 16, size - 16);
        for (int i = 0; i < 6; i++)
            assert_int_equal(vg_dataset__labels(set)[i], i % 3);
        vg_dataset_free(set);
        remove(path);
        remove(labels_path);
    }
}

static void idx_without_labels(void **state) {
    (void)state;
    unsigned char images[16 + 2 * 9];
    size_t size = idx_images(images, 2, 3, 3);
    put(in("b-images-idx3-ubyte"), images, size);
    vg_dataset *set;
    OK(vg_dataset__read(&set, in("b-images-idx3-ubyte"), VG_PART_ANY));
    assert_null(vg_dataset__labels(set));
    assert_int_equal(vg_dataset__info(set).classes, 0);
    vg_dataset_free(set);
    FAILS(vg_dataset__read(&set, in("b-images-idx3-ubyte"), VG_PART_TEST), VG_ERR_ARGUMENT, "one part only");
}

/* Cut after every byte, images and labels, plain and gzipped: always an error that names the file, never anything
 * else. */
static void idx_truncated_everywhere(void **state) {
    (void)state;
    unsigned char images[16 + 2 * 4], labels[8 + 2], expected[64];
    size_t size = idx_images(images, 2, 2, 2), labels_size = idx_labels(labels, 2, 2);
    vg_dataset *set;
    const char *path = in("c-images-idx3-ubyte"), *labels_path = in("c-labels-idx1-ubyte");
    put(labels_path, labels, labels_size);
    for (size_t cut = 0; cut < size; cut++) {
        put(path, images, cut);
        snprintf((char *)expected, sizeof expected, "truncated: %d bytes expected, %zu found", cut < 16 ? 16 : 24, cut);
        FAILS(vg_dataset__read(&set, path, VG_PART_ANY), VG_ERR_FORMAT, (char *)expected);
        assert_non_null(strstr(vg_error_message(), "c-images-idx3-ubyte"));
    }
    put(path, images, size);
    for (size_t cut = 0; cut < labels_size; cut++) {
        put(labels_path, labels, cut);
        snprintf((char *)expected, sizeof expected, "truncated: %d bytes expected, %zu found", cut < 8 ? 8 : 10, cut);
        FAILS(vg_dataset__read(&set, path, VG_PART_ANY), VG_ERR_FORMAT, (char *)expected);
        assert_non_null(strstr(vg_error_message(), "c-labels-idx1-ubyte"));
    }
    put(labels_path, labels, labels_size);
    put_gz(in("d-images-idx3-ubyte.gz"), images, size);
    size_t packed_size;
    unsigned char *packed = take(in("d-images-idx3-ubyte.gz"), &packed_size);
    for (size_t cut = 0; cut < packed_size; cut++) {
        put(in("d-images-idx3-ubyte.gz"), packed, cut);
        FAILS(vg_dataset__read(&set, in("d-images-idx3-ubyte.gz"), VG_PART_ANY), VG_ERR_FORMAT,
              "d-images-idx3-ubyte.gz: ");
    }
    packed[packed_size / 2] ^= 0x10; /* the gzip checksum sees it, if nothing else does */
    put(in("d-images-idx3-ubyte.gz"), packed, packed_size);
    FAILS(vg_dataset__read(&set, in("d-images-idx3-ubyte.gz"), VG_PART_ANY), VG_ERR_FORMAT, "d-images-idx3-ubyte.gz: ");
    free(packed);
}

static void idx_headers_that_lie(void **state) {
    (void)state;
    unsigned char images[16 + 2 * 4 + 1], labels[8 + 3];
    size_t size = idx_images(images, 2, 2, 2), labels_size = idx_labels(labels, 2, 2);
    vg_dataset *set;
    const char *path = in("e-images-idx3-ubyte"), *labels_path = in("e-labels-idx1-ubyte");
    put(labels_path, labels, labels_size);
    images[size] = 0;
    put(path, images, size + 1);
    FAILS(vg_dataset__read(&set, path, VG_PART_ANY), VG_ERR_FORMAT, "too long: 24 bytes expected, 25 found");
    images[3] = 1;
    put(path, images, size);
    FAILS(vg_dataset__read(&set, path, VG_PART_ANY), VG_ERR_FORMAT, "starts with 0x00000801, expected 0x00000803");
    images[3] = 3;
    for (int i = 4; i < 16; i++) { /* enormous in each dimension: no memory is asked for */
        unsigned char kept = images[i];
        images[i] = 255;
        put(path, images, size);
        assert_int_not_equal(vg_dataset__read(&set, path, VG_PART_ANY), VG_OK);
        images[i] = kept;
    }
    memset(images + 4, 255, 12);
    put(path, images, size);
    assert_int_not_equal(vg_dataset__read(&set, path, VG_PART_ANY), VG_OK);
    put_gz(in("f-images-idx3-ubyte.gz"), images, size);
    assert_int_not_equal(vg_dataset__read(&set, in("f-images-idx3-ubyte.gz"), VG_PART_ANY), VG_OK);
    memset(images + 4, 0, 12);
    put(path, images, 16);
    FAILS(vg_dataset__read(&set, path, VG_PART_ANY), VG_ERR_DATA, "holds no pixels");
    size = idx_images(images, 2, 2, 2);
    put(path, images, size);
    labels_size = idx_labels(labels, 3, 2);
    put(labels_path, labels, labels_size);
    FAILS(vg_dataset__read(&set, path, VG_PART_ANY), VG_ERR_FORMAT, "3 labels, but");
    labels[3] = 3;
    put(labels_path, labels, labels_size);
    FAILS(vg_dataset__read(&set, path, VG_PART_ANY), VG_ERR_FORMAT, "starts with 0x00000803, expected 0x00000801");
}

/* --- CIFAR -------------------------------------------------------------------------------------------------------- */
static unsigned char cifar_byte(size_t n, size_t p) { return (unsigned char)((13 * n + p * p + p / 3) & 255); }

static size_t cifar_file(unsigned char *out, size_t n, size_t first, bool coarse) {
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (coarse)
            out[at++] = 99;
        out[at++] = (unsigned char)((first + i) % 7);
        for (size_t p = 0; p < 3072; p++)
            out[at++] = cifar_byte(first + i, p);
    }
    return at;
}

static void check_cifar(vg_dataset *set, size_t n) {
    vg_dataset_info info = vg_dataset__info(set);
    assert_int_equal(info.n, n);
    assert_int_equal(info.channels, 3);
    assert_int_equal(info.height, 32);
    assert_int_equal(info.width, 32);
    const unsigned char *pixels = vg_dataset__pixels(set);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(vg_dataset__labels(set)[i], i % 7);
        for (size_t p = 0; p < 3072; p++)
            if (pixels[i * 3072 + p] != cifar_byte(i, p))
                fail_msg("image %zu pixel %zu", i, p);
    }
}

static void cifar_batches(void **state) {
    (void)state;
    unsigned char *bytes = malloc(20 * 3074);
    vg_dataset *set;
    put(in("c10/data_batch_1.bin"), bytes, cifar_file(bytes, 5, 0, false));
    put(in("c10/data_batch_2.bin"), bytes, cifar_file(bytes, 4, 5, false));
    put(in("c10/test_batch.bin"), bytes, cifar_file(bytes, 3, 0, false));
    OK(vg_dataset__read(&set, in("c10"), VG_PART_TRAIN));
    check_cifar(set, 9);
    vg_dataset_free(set);
    OK(vg_dataset__read(&set, in("c10"), VG_PART_TEST));
    check_cifar(set, 3);
    vg_dataset_free(set);
    OK(vg_dataset__read(&set, in("c10/data_batch_1.bin"), VG_PART_ANY));
    check_cifar(set, 5);
    vg_dataset_free(set);
    put(in("c100/train.bin"), bytes, cifar_file(bytes, 11, 0, true));
    put_gz(in("c100/test.bin.gz"), bytes, cifar_file(bytes, 2, 0, true));
    OK(vg_dataset__read(&set, in("c100"), VG_PART_TRAIN));
    check_cifar(set, 11);
    vg_dataset_free(set);
    OK(vg_dataset__read(&set, in("c100/test.bin.gz"), VG_PART_ANY));
    check_cifar(set, 2);
    vg_dataset_free(set);
    FAILS(vg_dataset__read(&set, in("c100"), VG_PART_TEST), VG_ERR_ARGUMENT, "no test set found");
    put(in("c10/test_batch.bin"), bytes, 3 * 3073 - 1);
    FAILS(
        vg_dataset__read(&set, in("c10"), VG_PART_TEST), VG_ERR_FORMAT,
        "test_batch.bin: truncated: whole records of 3073 bytes expected, 9218 bytes found (2 records and 3072 bytes)");
    put(in("c10/test_batch.bin"), bytes, 0);
    FAILS(vg_dataset__read(&set, in("c10"), VG_PART_TEST), VG_ERR_FORMAT, "truncated");
    free(bytes);
}

/* --- npz ---------------------------------------------------------------------------------------------------------- */
static void write_npz(const char *path, const char *images, vg_element element, size_t rank, const size_t *shape,
                      const void *data, const char *labels, const int64_t *values, size_t count) {
    vg_writer *writer;
    make_parents(path);
    OK(vg_writer_open(&writer, path));
    OK(vg_writer_array(writer, images, element, rank, shape, data));
    if (labels)
        OK(vg_writer_array(writer, labels, VG_ELEMENT_I64, 1, &count, values));
    OK(vg_writer_close(writer));
}

static void npz_layouts(void **state) {
    (void)state;
    unsigned char hwc[2 * 5 * 4 * 3], chw[2 * 3 * 5 * 4];
    for (size_t n = 0; n < 2; n++)
        for (size_t c = 0; c < 3; c++)
            for (size_t p = 0; p < 20; p++)
                hwc[(n * 20 + p) * 3 + c] = chw[(n * 3 + c) * 20 + p] = (unsigned char)(100 * n + 30 * c + p);
    const int64_t labels[2] = {4, 1};
    vg_dataset *set;
    for (int planar = 0; planar < 2; planar++) {
        const size_t hwc_shape[4] = {2, 5, 4, 3}, chw_shape[4] = {2, 3, 5, 4};
        write_npz(in("own.npz"), "images", VG_ELEMENT_U8, 4, planar ? chw_shape : hwc_shape, planar ? chw : hwc,
                  "labels", labels, 2);
        OK(vg_dataset__read(&set, in("own.npz"), VG_PART_TRAIN));
        vg_dataset_info info = vg_dataset__info(set);
        assert_int_equal(info.channels, 3);
        assert_int_equal(info.height, 5);
        assert_int_equal(info.width, 4);
        assert_int_equal(info.classes, 5);
        assert_memory_equal(vg_dataset__pixels(set), chw, sizeof chw);
        assert_int_equal(vg_dataset__labels(set)[0], 4);
        vg_dataset_free(set);
    }
    FAILS(vg_dataset__read(&set, in("own.npz"), VG_PART_TEST), VG_ERR_ARGUMENT, "one part only");
    const size_t grey[3] = {2, 15, 4};
    write_npz(in("own.npz"), "images", VG_ELEMENT_U8, 3, grey, chw, NULL, NULL, 0);
    OK(vg_dataset__read(&set, in("own.npz"), VG_PART_ANY));
    assert_int_equal(vg_dataset__info(set).channels, 1);
    assert_null(vg_dataset__labels(set));
    vg_dataset_free(set);
    const size_t flat[2] = {2, 60};
    write_npz(in("own.npz"), "images", VG_ELEMENT_U8, 2, flat, chw, NULL, NULL, 0);
    FAILS(vg_dataset__read(&set, in("own.npz"), VG_PART_ANY), VG_ERR_FORMAT, "has 2 axes");
}

static void npz_types(void **state) {
    (void)state;
    float values[8] = {0.0f, 0.25f, -1.5f, 3.0f, 0.5f, 1.0f, 2.0f, 7.5f};
    int64_t whole[8] = {0, 1, 2, 255, 4, 5, 6, 7}, labels[2] = {0, 1};
    const size_t shape[3] = {2, 2, 2};
    vg_dataset *set;
    write_npz(in("t.npz"), "images", VG_ELEMENT_F32, 3, shape, values, "labels", labels, 2);
    OK(vg_dataset__read(&set, in("t.npz"), VG_PART_ANY));
    assert_true(vg_dataset__info(set).is_float);
    assert_memory_equal(vg_dataset__pixels(set), values, sizeof values);
    vg_dataset_free(set);
    write_npz(in("t.npz"), "images", VG_ELEMENT_I64, 3, shape, whole, "labels", labels, 2);
    OK(vg_dataset__read(&set, in("t.npz"), VG_PART_ANY));
    assert_false(vg_dataset__info(set).is_float);
    assert_int_equal(((const unsigned char *)vg_dataset__pixels(set))[3], 255);
    vg_dataset_free(set);
    whole[5] = 256;
    write_npz(in("t.npz"), "images", VG_ELEMENT_I64, 3, shape, whole, "labels", labels, 2);
    FAILS(vg_dataset__read(&set, in("t.npz"), VG_PART_ANY), VG_ERR_DATA,
          "image 1 holds 256, expected integers in 0..255");
    memcpy(&values[6], &(uint32_t){0x7fc00000}, 4);
    write_npz(in("t.npz"), "images", VG_ELEMENT_F32, 3, shape, values, "labels", labels, 2);
    FAILS(vg_dataset__read(&set, in("t.npz"), VG_PART_ANY), VG_ERR_DATA, "image 1 holds nan");
    values[6] = 1.0f;
    labels[1] = -1;
    write_npz(in("t.npz"), "images", VG_ELEMENT_F32, 3, shape, values, "labels", labels, 2);
    FAILS(vg_dataset__read(&set, in("t.npz"), VG_PART_ANY), VG_ERR_DATA, "label -1 of sample 1");
    write_npz(in("t.npz"), "images", VG_ELEMENT_F32, 3, shape, values, "labels", labels, 1);
    FAILS(vg_dataset__read(&set, in("t.npz"), VG_PART_ANY), VG_ERR_FORMAT, "holds 1 values for 2 images");
    write_npz(in("t.npz"), "pictures", VG_ELEMENT_F32, 3, shape, values, NULL, NULL, 0);
    FAILS(vg_dataset__read(&set, in("t.npz"), VG_PART_ANY), VG_ERR_FORMAT, "no array named");
}

static void npz_two_parts(void **state) {
    (void)state;
    const unsigned char pixels[4] = {1, 2, 3, 4};
    const size_t shape[3] = {1, 2, 2}, one = 1;
    const int64_t zero = 0, three = 3;
    vg_dataset *set;
    vg_writer *writer;
    OK(vg_writer_open(&writer, in("both.npz")));
    OK(vg_writer_array(writer, "x_train", VG_ELEMENT_U8, 3, shape, pixels));
    OK(vg_writer_array(writer, "y_train", VG_ELEMENT_I64, 1, &one, &zero));
    OK(vg_writer_array(writer, "x_test", VG_ELEMENT_U8, 3, shape, pixels));
    OK(vg_writer_array(writer, "y_test", VG_ELEMENT_I64, 1, &one, &three));
    OK(vg_writer_close(writer));
    OK(vg_dataset__read(&set, in("both.npz"), VG_PART_TRAIN));
    assert_int_equal(vg_dataset__labels(set)[0], 0);
    vg_dataset_free(set);
    for (int part = VG_PART_TEST; part <= VG_PART_ANY; part++) {
        OK(vg_dataset__read(&set, in("both.npz"), (vg_part)part));
        assert_int_equal(vg_dataset__labels(set)[0], 3);
        vg_dataset_free(set);
    }
    write_npz(in("pair/train.npz"), "images", VG_ELEMENT_U8, 3, shape, pixels, "labels", &zero, 1);
    write_npz(in("pair/test.npz"), "images", VG_ELEMENT_U8, 3, shape, pixels, "labels", &three, 1);
    FAILS(vg_dataset_open(&set, in("pair"), VG_PART_TEST, NULL), VG_ERR_ARGUMENT, "path:FILE_OR_FOLDER");
    char name[300];
    snprintf(name, sizeof name, "path:%s", in("pair"));
    OK(vg_dataset_open(&set, name, VG_PART_TEST, NULL));
    assert_int_equal(vg_dataset__labels(set)[0], 3);
    vg_dataset_free(set);
}

/* --- files made by other programs --------------------------------------------------------------------------------- */
static void svhn_mat(void **state) {
    (void)state;
    vg_dataset *set;
    OK(vg_dataset__read(&set, "tests/data/datasets/svhn", VG_PART_TRAIN));
    vg_dataset_info info = vg_dataset__info(set);
    assert_int_equal(info.n, 12);
    assert_int_equal(info.channels, 3);
    assert_int_equal(info.classes, 10);
    const unsigned char *pixels = vg_dataset__pixels(set);
    for (size_t n = 0; n < 12; n++) {
        assert_int_equal(vg_dataset__labels(set)[n], (n + 1) % 10); /* 10 is the digit 0 */
        for (size_t k = 0; k < 3; k++)
            for (size_t r = 0; r < 32; r++)
                for (size_t c = 0; c < 32; c++)
                    if (pixels[((n * 3 + k) * 32 + r) * 32 + c] != (7 * r + 3 * c + 50 * k + 11 * n) % 256)
                        fail_msg("image %zu channel %zu row %zu column %zu", n, k, r, c);
    }
    vg_dataset_free(set);
    size_t size;
    unsigned char *bytes = take("tests/data/datasets/svhn/train_32x32.mat", &size);
    for (size_t cut = 0; cut < size; cut += 1 + size / 40) {
        put(in("cut.mat"), bytes, cut);
        assert_int_not_equal(vg_dataset__read(&set, in("cut.mat"), VG_PART_ANY), VG_OK);
    }
    free(bytes);
}

/* An element of a MATLAB file: its tag, its data, and zeros up to a multiple of 8. Returns where the next begins. */
static size_t element(unsigned char *to, uint32_t type, const void *data, uint32_t size) {
    memcpy(to, &type, 4);
    memcpy(to + 4, &size, 4);
    memcpy(to + 8, data, size);
    memset(to + 8 + size, 0, (8 - size % 8) % 8);
    return 8 + size + (8 - size % 8) % 8;
}

/* A variable that is not deflated. type: 1 int8, 2 uint8, 9 double. */
static size_t variable(unsigned char *to, const char *name, const int32_t dims[4], uint32_t type, const void *values,
                       uint32_t size) {
    unsigned char inside[4096];
    uint32_t flags[2] = {type == 2 ? 9 : 6, 0};
    size_t used = element(inside, 6, flags, 8);
    used += element(inside + used, 5, dims, 16);
    used += element(inside + used, 1, name, (uint32_t)strlen(name));
    used += element(inside + used, type, values, size);
    return element(to, 14, inside, (uint32_t)used);
}

/* Variables that are not deflated, others before them, labels as doubles; a version that is not read. */
static void svhn_mat_plain(void **state) {
    (void)state;
    unsigned char file[16384] = "MATLAB 5.0 MAT-file", pixels[2 * 3 * 3 * 2];
    double labels[2] = {10, 7}, beyond[2] = {10, 11};
    const int32_t images[4] = {2, 3, 3, 2}, column[4] = {2, 1, 1, 1};
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (unsigned char)i;
    memcpy(file + 124, "\0\1IM", 4);
    size_t used = 128 + variable(file + 128, "other", column, 9, labels, sizeof labels);
    used += variable(file + used, "X", images, 2, pixels, sizeof pixels);
    size_t end = used + variable(file + used, "y", column, 9, labels, sizeof labels);
    put(in("plain.mat"), file, end);
    vg_dataset *set;
    OK(vg_dataset__read(&set, in("plain.mat"), VG_PART_ANY));
    assert_int_equal(vg_dataset__info(set).n, 2);
    assert_int_equal(vg_dataset__labels(set)[0], 0);
    assert_int_equal(vg_dataset__labels(set)[1], 7);
    /* row 0, column 1: the first axis is the fastest */
    assert_int_equal(((const unsigned char *)vg_dataset__pixels(set))[1], 2);
    vg_dataset_free(set);
    for (size_t cut = 0; cut < end; cut++) {
        put(in("cut.mat"), file, cut);
        assert_int_not_equal(vg_dataset__read(&set, in("cut.mat"), VG_PART_ANY), VG_OK);
    }
    end = used + variable(file + used, "y", column, 9, beyond, sizeof beyond);
    put(in("label.mat"), file, end);
    assert_int_equal(vg_dataset__read(&set, in("label.mat"), VG_PART_ANY), VG_ERR_DATA);
    memcpy(file + 124, "\0\2IM", 4);
    put(in("level.mat"), file, end);
    assert_int_equal(vg_dataset__read(&set, in("level.mat"), VG_PART_ANY), VG_ERR_UNSUPPORTED);
    assert_non_null(strstr(vg_error_message(), "-v7.3"));
}

static void png_colour(void **state) {
    (void)state;
    vg_dataset *set;
    vg_status status = vg_dataset__read(&set, "tests/data/datasets/colour", VG_PART_TRAIN);
    if (status == VG_ERR_UNSUPPORTED)
        skip();
    OK(status);
    vg_dataset_info info = vg_dataset__info(set);
    assert_int_equal(info.n, 5);
    assert_int_equal(info.channels, 3);
    assert_int_equal(info.height, 4);
    assert_int_equal(info.width, 3);
    assert_int_equal(info.classes, 2);
    assert_string_equal(info.class_names[0], "ant");
    assert_string_equal(info.class_names[1], "bee");
    const int32_t labels[5] = {0, 0, 0, 1, 1};
    assert_memory_equal(vg_dataset__labels(set), labels, sizeof labels);
    const unsigned char *pixels = vg_dataset__pixels(set);
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 3; x++) {
                int base = 10 * y + x, at = (c * 4 + y) * 3 + x;
                assert_int_equal(pixels[at], base + 50 * c);
                assert_int_equal(pixels[36 + at], base + 1 + 50 * c);
                assert_int_equal(pixels[72 + at], base + 7);
                assert_int_equal(pixels[108 + at], x == 1 ? 0 : base + 2 + 50 * c); /* transparent is black */
                assert_int_equal(pixels[144 + at], x == c ? 255 : 0);
            }
    vg_dataset_free(set);
    FAILS(vg_dataset__read(&set, "tests/data/datasets/colour", VG_PART_TEST), VG_ERR_ARGUMENT, "one part only");
    FAILS(vg_dataset__read(&set, "tests/data/datasets/mixed", VG_PART_ANY), VG_ERR_DATA, "one size expected");
}

static void png_grey_and_damaged(void **state) {
    (void)state;
    vg_dataset *set;
    vg_status status = vg_dataset__read(&set, "tests/data/datasets/grey", VG_PART_ANY);
    if (status == VG_ERR_UNSUPPORTED)
        skip();
    OK(status);
    assert_int_equal(vg_dataset__info(set).channels, 1);
    assert_int_equal(vg_dataset__info(set).n, 3);
    const unsigned char *pixels = vg_dataset__pixels(set);
    for (int i = 0; i < 3; i++)
        for (int p = 0; p < 12; p++)
            assert_int_equal(pixels[i * 12 + p], 100 * i + 10 * (p / 3) + p % 3);
    vg_dataset_free(set);
    size_t size;
    unsigned char *bytes = take("tests/data/datasets/grey/0/x.png", &size);
    put(in("train/0/a.png"), bytes, size);
    put(in("test/0/a.png"), bytes, size);
    OK(vg_dataset__read(&set, folder, VG_PART_TEST));
    vg_dataset_free(set);
    for (size_t cut = 0; cut < size - 12; cut++) { /* the last chunk carries nothing */
        put(in("test/0/a.png"), bytes, cut);
        FAILS(vg_dataset__read(&set, folder, VG_PART_TEST), VG_ERR_FORMAT, "test/0/a.png: ");
    }
    free(bytes);
}

static void nothing_there(void **state) {
    (void)state;
    vg_dataset *set;
    FAILS(vg_dataset__read(&set, in("nowhere"), VG_PART_ANY), VG_ERR_IO, "no such file or folder");
    mkdir(in("empty"), 0777);
    FAILS(vg_dataset__read(&set, in("empty"), VG_PART_TRAIN), VG_ERR_ARGUMENT, "no training set found in it");
    put(in("notes.txt"), "hello", 5);
    FAILS(vg_dataset__read(&set, in("notes.txt"), VG_PART_ANY), VG_ERR_FORMAT, "starts with 0x68656c6c");
    put(in("broken.npz"), "PK", 2);
    assert_int_not_equal(vg_dataset__read(&set, in("broken.npz"), VG_PART_ANY), VG_OK);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {TEST(idx_plain_and_gzipped),
                                       TEST(idx_without_labels),
                                       TEST(idx_truncated_everywhere),
                                       TEST(idx_headers_that_lie),
                                       TEST(cifar_batches),
                                       TEST(npz_layouts),
                                       TEST(npz_types),
                                       TEST(npz_two_parts),
                                       TEST(svhn_mat),
                                       TEST(svhn_mat_plain),
                                       TEST(png_colour),
                                       TEST(png_grey_and_damaged),
                                       TEST(nothing_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
