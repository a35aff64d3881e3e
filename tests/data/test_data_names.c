/* test_data_names.c - classes by name: sets mapped to the numbers of a network, labels that are texts, names kept in an
 * .npz, labels that look like a mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/dataset.h"
#include "folder_util.h"
#include "formats/source.h"
#include "vargate/formats.h"

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != VG_OK)                                                                                           \
            fail_msg("%s: %s", #call, vg_error_message());                                                             \
    } while (0)

static const char *const animals[] = {"bird", "cat", "dog", "emu"};

static void expect_text(const char *part) {
    if (!strstr(vg_error_message(), part))
        fail_msg("'%s' is not in '%s'", part, vg_error_message());
}

static vg_dataset *set_of(const int32_t *labels, size_t n, size_t classes, const char *const *names) {
    static const uint8_t pixels[64] = {0};
    vg_dataset *set;
    OK(vg_dataset__from_memory(
        &set, &(vg_dataset_images){sizeof(vg_dataset_images), "made", pixels, 0, labels, n, 1, 1, 1, classes}));
    if (names)
        OK(vg_dataset__name_classes(set, names, classes));
    return set;
}

static void file_of(char out[512], const char *name) { snprintf(out, 512, "%s/%s", folder, name); }

/* --- mapping */

static void missing_class_is_mapped_by_name(void **state) {
    (void)state;
    static const char *const present[] = {"dog", "bird", "emu"}; /* no cat, another order */
    static const int32_t labels[] = {0, 1, 2, 2, 1}, expected[] = {2, 0, 3, 3, 0};
    vg_dataset *set = set_of(labels, 5, 3, present);
    OK(vg_dataset__map_classes(set, animals, 4));
    vg_dataset_info info = vg_dataset__info(set);
    assert_int_equal(info.classes, 4);
    assert_string_equal(info.class_names[1], "cat");
    assert_memory_equal(vg_dataset__labels(set), expected, sizeof expected);
    vg_dataset_free(set);
}

static void foreign_class_is_refused_by_name(void **state) {
    (void)state;
    static const char *const names[] = {"bird", "fox"};
    static const int32_t both[] = {0, 1, 1}, only_bird[] = {0, 0, 0};
    vg_dataset *set = set_of(both, 3, 2, names);
    assert_int_equal(vg_dataset__map_classes(set, animals, 4), VG_ERR_DATA);
    expect_text("'fox' is none of the known classes: bird, cat, dog, emu");
    assert_int_equal(vg_dataset__info(set).classes, 2); /* as it was */
    assert_string_equal(vg_dataset__info(set).class_names[1], "fox");
    vg_dataset_free(set);
    set = set_of(only_bird, 3, 2, names); /* a name without a sample is harmless */
    OK(vg_dataset__map_classes(set, animals, 4));
    vg_dataset_free(set);
    set = set_of(both, 3, 2, NULL);
    assert_int_equal(vg_dataset__map_classes(set, animals, 4), VG_ERR_ARGUMENT);
    vg_dataset_free(set);
}

static void odd_labels_are_noticed(void **state) {
    (void)state;
    static const int32_t from_one[] = {1, 2, 3, 1}, gap[] = {0, 1, 3, 3}, good[] = {0, 1, 2, 3};
    vg_dataset *set = set_of(from_one, 4, 0, NULL);
    assert_true(vg_dataset__counts_from_one(set));
    vg_dataset_free(set);
    set = set_of(gap, 4, 4, NULL);
    assert_false(vg_dataset__counts_from_one(set));
    vg_dataset_free(set);
    set = set_of(good, 4, 4, NULL);
    assert_false(vg_dataset__counts_from_one(set));
    vg_dataset_free(set);
}

/* --- texts in files */

static void write_set(const char *path, const char *labels_name, const char *const *texts, const int64_t *numbers,
                      const char *const *classes, size_t class_count) {
    static const uint8_t pixels[6 * 4] = {0};
    size_t shape[3] = {6, 2, 2}, n = 6;
    vg_writer *writer;
    OK(vg_writer_open(&writer, path));
    OK(vg_writer_array(writer, "images", VG_ELEMENT_U8, 3, shape, pixels));
    if (texts)
        OK(vg_writer__texts(writer, labels_name, texts, 6));
    if (numbers)
        OK(vg_writer_array(writer, labels_name, VG_ELEMENT_I64, 1, &n, numbers));
    if (classes)
        OK(vg_writer__texts(writer, "classes", classes, class_count));
    OK(vg_writer_close(writer));
}

static void text_labels_are_read(void **state) {
    (void)state;
    static const char *const labels[] = {"dog", "cat", "žluťoučký kůň", "cat", "dog", "ant"};
    static const int32_t expected[] = {2, 1, 3, 1, 2, 0};
    char path[512];
    vg_dataset *set;
    file_of(path, "texts.npz");
    write_set(path, "labels", labels, NULL, NULL, 0);
    OK(vg_dataset__read(&set, path, VG_PART_TRAIN));
    vg_dataset_info info = vg_dataset__info(set);
    assert_int_equal(info.classes, 4);
    static const char *const sorted[] = {"ant", "cat", "dog", "žluťoučký kůň"};
    for (size_t c = 0; c < 4; c++)
        assert_string_equal(info.class_names[c], sorted[c]);
    assert_memory_equal(vg_dataset__labels(set), expected, sizeof expected);
    vg_dataset_free(set);
}

static void names_of_numbers_are_read(void **state) {
    (void)state;
    static const int64_t labels[] = {0, 1, 2, 2, 1, 0};
    static const char *const twice[] = {"a", "b", "a"};
    char path[512];
    vg_dataset *set;
    file_of(path, "named.npz");
    write_set(path, "labels", NULL, labels, animals, 4); /* one more than there are labels of */
    OK(vg_dataset__read(&set, path, VG_PART_TRAIN));
    assert_int_equal(vg_dataset__info(set).classes, 4);
    assert_string_equal(vg_dataset__info(set).class_names[3], "emu");
    vg_dataset_free(set);
    write_set(path, "labels", NULL, labels, animals, 2);
    assert_int_equal(vg_dataset__read(&set, path, VG_PART_TRAIN), VG_ERR_DATA);
    expect_text("'classes' names 2 classes, but the labels reach 2");
    write_set(path, "labels", NULL, labels, twice, 3);
    assert_int_equal(vg_dataset__read(&set, path, VG_PART_TRAIN), VG_ERR_DATA);
    expect_text("'classes' names 'a' twice");
}

/* The texts of one array of a file that NumPy wrote (tests/data/names/make_texts.py), as the reader of sets gets
 * them. */
static vg_strings texts_of(const char *path, const char *name) {
    vg_strings texts = {0};
    vg_source *source;
    OK(vg_source__open(&source, path));
    for (size_t i = source->count; i < source->count + source->text_count; i++)
        if (strcmp(source->arrays[i].name, name) == 0)
            OK(vg_source__texts(source, i, &texts));
    vg_source__close(source);
    return texts;
}

static void numpys_own_files(void **state) {
    (void)state;
    static const struct {
        const char *path, *name;
        const char *texts[3];
    } arrays[] = {{"tests/data/names/texts.npz", "unicode", {"cat", "łódź", "🦊 fox"}},
                  {"tests/data/names/texts.npz", "big_endian", {"cat", "łódź", "🦊 fox"}},
                  {"tests/data/names/packed.npz", "unicode", {"cat", "łódź", "🦊 fox"}}}; /* deflated */
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        vg_strings texts = texts_of(arrays[i].path, arrays[i].name);
        assert_int_equal(texts.count, 3);
        for (size_t k = 0; k < 3; k++)
            assert_string_equal(vg_strings__at(&texts, k), arrays[i].texts[k]);
        vg_strings__free(&texts);
    }
    vg_strings bytes = texts_of("tests/data/names/texts.npz", "bytes");
    assert_string_equal(vg_strings__at(&bytes, 1), "dog");
    vg_strings__free(&bytes);
    assert_int_equal(texts_of("tests/data/names/texts.npz", "numbers").count, 0);
    assert_int_equal(texts_of("tests/data/names/texts.npz", "missing").count, 0);
}

/* A column (N, 1) of texts is a list; spaces at the end are no part of a text. */
static void column_of_texts(void **state) {
    (void)state;
    vg_dataset *set;
    OK(vg_dataset__read(&set, "tests/data/names/column.npz", VG_PART_TRAIN));
    vg_dataset_info info = vg_dataset__info(set);
    const int32_t *labels = vg_dataset__labels(set);
    assert_int_equal(info.classes, 3);
    assert_string_equal(info.class_names[1], "dog");
    assert_true(labels[0] == 1 && labels[1] == 0 && labels[2] == 2);
    vg_dataset_free(set);
}

/* One byte of a text changed: the checksum of the archive says so. */
static void damaged_texts_are_noticed(void **state) {
    (void)state;
    static const char *const labels[] = {"dog", "cat", "emu", "cat", "dog", "ant"};
    char path[512], bytes[8192];
    vg_dataset *set;
    file_of(path, "damaged.npz");
    write_set(path, "labels", labels, NULL, NULL, 0);
    FILE *file = fopen(path, "r+b");
    size_t size = fread(bytes, 1, sizeof bytes, file), at = 0;
    while (at + 4 < size && memcmp(bytes + at, "e\0\0\0m", 5) != 0)
        at++;
    assert_true(at + 4 < size);
    fseek(file, (long)at, SEEK_SET);
    fputc('o', file);
    fclose(file);
    assert_int_equal(vg_dataset__read(&set, path, VG_PART_TRAIN), VG_ERR_FORMAT);
    expect_text("member 'labels.npy': CRC-32");
}

/* Labels of a type that cannot be read are an error, not "no labels". */
static void pickled_labels_are_refused(void **state) {
    (void)state;
    vg_dataset *set;
    assert_int_equal(vg_dataset__read(&set, "tests/data/names/pickled.npz", VG_PART_TRAIN), VG_ERR_UNSUPPORTED);
    expect_text("labels");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_class_is_mapped_by_name),
        cmocka_unit_test(foreign_class_is_refused_by_name),
        cmocka_unit_test(odd_labels_are_noticed),
        cmocka_unit_test(text_labels_are_read),
        cmocka_unit_test(names_of_numbers_are_read),
        cmocka_unit_test(numpys_own_files),
        cmocka_unit_test(column_of_texts),
        cmocka_unit_test(damaged_texts_are_noticed),
        cmocka_unit_test(pickled_labels_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
