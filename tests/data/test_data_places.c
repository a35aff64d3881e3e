/* Where named data sets are found, what is said of files that are not the published ones, and fetching. */
#include "data_util.h"

#include <dirent.h>

#include "data/samples.h"
#include "data/tarball.h"

static const char *const files[4] = {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
                                     "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"};

/* Nothing of the machine's own may be found: an empty place for each variable. */
static void usual_path(void) {
    static char path[4096];
    if (!path[0])
        snprintf(path, sizeof path, "%s", getenv("PATH"));
    setenv("PATH", path, 1);
}

static int quiet_folder(void **state) {
    usual_path();
    if (make_folder(state) != 0)
        return -1;
    setenv("XDG_DATA_HOME", in("xdg"), 1);
    setenv("HOME", in("home"), 1);
    unsetenv("VARGATE_DATA");
    return 0;
}

static void copy(const char *from, const char *to) {
    size_t size;
    unsigned char *bytes = take(from, &size);
    put(to, bytes, size);
    free(bytes);
}

/* The shipped digits into FOLDER/NAME. */
static void copy_digits(const char *folder) {
    for (int i = 0; i < 4; i++) {
        char from[256], to[700];
        snprintf(from, sizeof from, "data/digits/%s", files[i]);
        snprintf(to, sizeof to, "%s/%s", in(folder), files[i]);
        copy(from, to);
    }
}

static void unpack_file(const char *from, const char *to) {
    static unsigned char bytes[4000000];
    gzFile file = gzopen(from, "rb");
    assert_non_null(file);
    int size = gzread(file, bytes, sizeof bytes);
    assert_true(size > 0);
    gzclose(file);
    put(to, bytes, (size_t)size);
}

static int restore_path_and_remove(void **state) {
    usual_path();
    return remove_folder(state);
}

static void order_of_places(void **state) {
    (void)state;
    char **places;
    size_t count;
    setenv("VARGATE_DATA", in("mine"), 1);
    OK(vg_data_places(&places, &count, in("asked")));
    assert_true(count >= 5);
    assert_string_equal(places[0], in("asked"));
    assert_string_equal(places[1], in("mine"));
    assert_string_equal(places[2], in("xdg/vargate"));
    assert_string_equal(places[count - 2], "data");
    vg_data_places_free(places, count);
    setenv("XDG_DATA_HOME", "relative", 1);
    unsetenv("VARGATE_DATA");
    OK(vg_data_places(&places, &count, NULL));
    assert_string_equal(places[0], in("home/.local/share/vargate"));
    vg_data_places_free(places, count);
}

static void names(void **state) {
    (void)state;
    const char *nearest;
    size_t count;
    const vg_data_entry *entries = vg_data_catalogue(&count);
    assert_int_equal(count, 8);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(vg_data_find(entries[i].name, NULL), &entries[i]);
        for (size_t f = 0; f < entries[i].file_count; f++)
            assert_int_equal(strlen(entries[i].files[f].md5), 32);
    }
    assert_null(vg_data_find("cifar-10", &nearest));
    assert_string_equal(nearest, "cifar10");
    assert_null(vg_data_find("imagenet", &nearest));
    assert_null(nearest);
    vg_dataset *set;
    FAILS(vg_dataset_open(&set, "mnits", VG_PART_TRAIN, NULL), VG_ERR_ARGUMENT, "did you mean 'mnist'?");
    FAILS(vg_dataset_open(&set, "mnist", VG_PART_TRAIN, searching(in("nowhere"))), VG_ERR_IO,
          "nowhere: no such folder");
    FAILS(vg_dataset_open(&set, "cifar100", VG_PART_TRAIN, NULL), VG_ERR_IO,
          "'vargate data fetch cifar100' downloads it");
}

static void found_in_each_place(void **state) {
    (void)state;
    static const char *const folders[] = {"asked/digits", "asked", "mine/digits", "xdg/vargate/digits"};
    for (int i = 3; i >= 0; i--) { /* each one found hides those before it */
        vg_dataset *set;
        char expected[700];
        copy_digits(folders[i]);
        setenv("VARGATE_DATA", in("mine"), 1);
        OK(vg_dataset_open(&set, "digits", VG_PART_TEST, searching(i < 2 ? in("asked") : NULL)));
        snprintf(expected, sizeof expected, "%s/%s", in(folders[i]), files[2]);
        assert_string_equal(vg_dataset__info(set).source, expected);
        assert_string_equal(vg_dataset__info(set).name, "digits");
        assert_true(vg_dataset__info(set).verified);
        vg_dataset_free(set);
    }
}

/* The same data in other wrappings is the same data. */
static void unpacked_and_packed_again(void **state) {
    (void)state;
    vg_dataset *set;
    copy_digits("a/digits");
    char plain[600];
    snprintf(plain, sizeof plain, "%s", in("a/digits/t10k-images-idx3-ubyte"));
    unpack_file("data/digits/t10k-images-idx3-ubyte.gz", plain);
    remove(in("a/digits/t10k-images-idx3-ubyte.gz"));
    OK(vg_dataset_open(&set, "digits", VG_PART_TEST, searching(in("a"))));
    assert_true(vg_dataset__info(set).verified);
    vg_dataset_free(set);
    size_t size;
    unsigned char *bytes = take(plain, &size);
    remove(plain);
    gzFile file = gzopen(in("a/digits/t10k-images-idx3-ubyte.gz"), "wb1");
    gzwrite(file, bytes, (unsigned)size);
    gzclose(file);
    OK(vg_dataset_open(&set, "digits", VG_PART_TEST, searching(in("a"))));
    assert_true(vg_dataset__info(set).verified);
    vg_dataset_free(set);
    bytes[1000] ^= 1;
    put_gz(in("a/digits/t10k-images-idx3-ubyte.gz"), bytes, size);
    FAILS(vg_dataset_open(&set, "digits", VG_PART_TEST, searching(in("a"))), VG_ERR_DATA,
          "after unpacking, expected 9c404613659158c37dc79d13bba9e47d");
    put(plain, bytes, size);
    remove(in("a/digits/t10k-images-idx3-ubyte.gz"));
    FAILS(vg_dataset_open(&set, "digits", VG_PART_TEST, searching(in("a"))), VG_ERR_DATA,
          "t10k-images-idx3-ubyte: MD5 ");
    put(plain, bytes, size - 5);
    FAILS(vg_dataset_open(&set, "digits", VG_PART_TEST, searching(in("a"))), VG_ERR_DATA,
          "t10k-images-idx3-ubyte: truncated: 1568016 bytes expected, 1568011 found");
    free(bytes);
    char name[600]; /* one's own folder is not compared with anything */
    bytes = take("data/digits/t10k-images-idx3-ubyte.gz", &size);
    put(in("a/digits/t10k-images-idx3-ubyte.gz"), bytes, size - 7);
    remove(plain);
    FAILS(vg_dataset_open(&set, "digits", VG_PART_TEST, searching(in("a"))), VG_ERR_DATA,
          "breaks off after 1568016 bytes");
    put(in("a/digits/t10k-images-idx3-ubyte.gz"), bytes, size / 2);
    FAILS(vg_dataset_open(&set, "digits", VG_PART_TEST, searching(in("a"))), VG_ERR_DATA,
          "truncated: 1568016 bytes expected after unpacking, ");
    free(bytes);
    snprintf(name, sizeof name, "path:%s", in("a/digits"));
    OK(vg_dataset_open(&set, name, VG_PART_TRAIN, NULL));
    assert_false(vg_dataset__info(set).verified);
    assert_int_equal(vg_dataset__info(set).n, 5000);
    vg_dataset_free(set);
}

/* Files with the right names but of another set, lying in the folder asked for: passed over if the set is elsewhere,
 * else reported. */
static void another_sets_files(void **state) {
    (void)state;
    vg_dataset *set;
    copy("data/fashion/t10k-images-idx3-ubyte.gz", in("asked/t10k-images-idx3-ubyte.gz"));
    copy("data/fashion/t10k-labels-idx1-ubyte.gz", in("asked/t10k-labels-idx1-ubyte.gz"));
    OK(vg_dataset_open(&set, "digits", VG_PART_TEST, searching(in("asked")))); /* from ./data */
    assert_string_equal(vg_dataset__info(set).source, "data/digits/t10k-images-idx3-ubyte.gz");
    vg_dataset_free(set);
    FAILS(vg_dataset_open(&set, "kmnist", VG_PART_TEST, searching(in("asked"))), VG_ERR_DATA,
          "not the published Kuzushiji-MNIST");
}

typedef struct lines {
    char text[4096];
} lines;

static void collect(void *context, const char *line) {
    lines *all = context;
    assert_null(strchr(line, '\n'));
    size_t used = strlen(all->text);
    snprintf(all->text + used, sizeof all->text - used, "%s\n", line);
}

static vg_status fetch(const char *name, const char *from, const char *folder, lines *said) {
    vg_fetch_options options = VG_FETCH_OPTIONS_INIT;
    memset(said, 0, sizeof *said);
    options.from = from;
    options.folder = folder;
    options.message = collect;
    options.message_context = said;
    return vg_data_fetch(name, &options);
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

/* Nothing but whole files of the set is left behind. */
static void only_files_in(const char *folder, int expected) {
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(directory);
    assert_int_equal(count, expected);
}

static void fetch_from_a_folder(void **state) {
    (void)state;
    lines said;
    vg_dataset *set;
    OK(fetch("digits", "data", in("store"), &said));
    only_files_in(in("store/digits"), 4);
    assert_non_null(strstr(said.text, "checksum as published"));
    assert_non_null(strstr(said.text, "digits: complete in "));
    OK(vg_dataset_open(&set, "digits", VG_PART_TRAIN, searching(in("store"))));
    vg_dataset_free(set);
    OK(fetch("digits", "data/digits", NULL, &said)); /* the folder itself; to the XDG place */
    only_files_in(in("xdg/vargate/digits"), 4);
    put(in("store/digits/t10k-labels-idx1-ubyte.gz"), "damaged", 7);
    OK(fetch("digits", "data", in("store"), &said));
    assert_non_null(strstr(said.text, "it is replaced"));
    OK(vg_dataset_open(&set, "digits", VG_PART_TEST, searching(in("store"))));
    vg_dataset_free(set);
    /* A damaged source is refused, and what was there before stays. */
    copy_digits("source");
    put(in("source/t10k-images-idx3-ubyte.gz"), "damaged", 7);
    FAILS(fetch("digits", in("source"), in("other"), &said), VG_ERR_DATA, "t10k-images-idx3-ubyte.gz: ");
    assert_false(exists(in("other/digits/t10k-images-idx3-ubyte.gz")));
    /* One part of a set alone is fetched, too. */
    remove(in("source/t10k-images-idx3-ubyte.gz"));
    OK(fetch("digits", in("source"), in("half"), &said));
    assert_non_null(strstr(said.text, "only the training part is complete; t10k-images-idx3-ubyte.gz is missing"));
    mkdir(in("empty"), 0777);
    FAILS(fetch("digits", in("empty"), in("none"), &said), VG_ERR_IO, "not found in");
    FAILS(fetch("digits", in("nowhere"), in("none"), &said), VG_ERR_IO, "nowhere: no such folder");
    FAILS(fetch("digit", in("empty"), in("none"), &said), VG_ERR_ARGUMENT, "did you mean 'digits'?");
    put(in("blocked"), "", 0);
    FAILS(fetch("digits", "data", in("blocked"), &said), VG_ERR_IO, "blocked");
    FAILS(fetch("digits", NULL, in("none"), &said), VG_ERR_IO, "ships with vargate");
    assert_false(exists(in("none/digits")));
    OK(fetch("digits", NULL, NULL, &said));
    assert_non_null(strstr(said.text, "already here"));
}

/* Stand-ins for a download: one that fails, and one that writes something else, an error page, say. */
static vg_status no_network(void *context, const char *address, const char *folder, char *reason, size_t room) {
    (void)context, (void)address, (void)folder;
    snprintf(reason, room, "curl: (6) Could not resolve host: example");
    return VG_ERR_IO;
}

static vg_status error_page(void *context, const char *address, const char *folder, char *reason, size_t room) {
    (void)reason, (void)room;
    char path[1000];
    snprintf(path, sizeof path, "%s/%s", folder, strrchr(address, '/') ? strrchr(address, '/') + 1 : "x.tgz");
    put(path, "<html>\n", 7);
    ++*(int *)context;
    return VG_OK;
}

static void downloads_that_fail(void **state) {
    (void)state;
    vg_fetch_options options = VG_FETCH_OPTIONS_INIT;
    int called = 0;
    options.folder = in("store");
    FAILS(vg_data_fetch("kmnist", &options), VG_ERR_UNSUPPORTED, "a function that downloads");
    assert_false(exists(in("store/kmnist")));
    options.download = no_network;
    FAILS(vg_data_fetch("kmnist", &options), VG_ERR_IO, "(6) Could not resolve host");
    assert_non_null(strstr(vg_error_message(), "fetch kmnist --from FOLDER"));
    assert_false(exists(in("store/kmnist")));
    options.download = error_page;
    options.download_context = &called;
    FAILS(vg_data_fetch("kmnist", &options), VG_ERR_IO, "truncated: 47040016 bytes expected, 7 found");
    FAILS(vg_data_fetch("cifar10", &options), VG_ERR_IO, "expected c32a1d4ab5d03f1284b67883e8d87530");
    assert_true(called >= 2);
    assert_false(exists(in("store/kmnist")));
    assert_false(exists(in("store/cifar10")));
}

/* A download that works needs a published file, which a test without a network does not have: unpacking is tested with
 * the tar reader itself. */
static const char *wanted(void *context, const char *name) { return strcmp(name, "b.bin") == 0 ? context : NULL; }

static void tar_archives(void **state) {
    (void)state;
    char command[2000], target[600];
    put(in("t/sub/a.bin"), "aaaa", 4);
    put(in("t/sub/b.bin"), "bbbbbbbb", 8);
    snprintf(target, sizeof target, "%s", in("out.bin"));
    snprintf(command, sizeof command, "cd '%s' && tar cf plain.tar sub && tar czf packed.tar.gz sub", in("t"));
    assert_int_equal(system(command), 0);
    static const char *const archives[] = {"t/plain.tar", "t/packed.tar.gz"};
    for (int i = 0; i < 2; i++) {
        size_t size;
        OK(vg_tarball__extract(in(archives[i]), wanted, target));
        unsigned char *bytes = take(target, &size);
        assert_int_equal(size, 8);
        assert_memory_equal(bytes, "bbbbbbbb", 8);
        free(bytes);
        remove(target);
    }
    size_t size;
    unsigned char *bytes = take(in("t/plain.tar"), &size);
    size_t member = 0; /* the header of b.bin */
    while (memcmp(bytes + member, "sub/b.bin", 10) != 0)
        member += 512;
    for (size_t cut = member + 1; cut < member + 520; cut++) {
        put(in("cut.tar"), bytes, cut);
        FAILS(vg_tarball__extract(in("cut.tar"), wanted, target), VG_ERR_FORMAT, "cut.tar: ");
        assert_false(exists(target));
    }
    bytes[member + 130] ^= 4; /* the size no longer agrees with the header's checksum */
    put(in("bad.tar"), bytes, size);
    FAILS(vg_tarball__extract(in("bad.tar"), wanted, target), VG_ERR_FORMAT, "damaged tar header");
    free(bytes);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, quiet_folder, restore_path_and_remove)
    const struct CMUnitTest tests[] = {TEST(order_of_places),     TEST(names),
                                       TEST(found_in_each_place), TEST(unpacked_and_packed_again),
                                       TEST(another_sets_files),  TEST(fetch_from_a_folder),
                                       TEST(downloads_that_fail), TEST(tar_archives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
