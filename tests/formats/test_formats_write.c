/* test_formats_write.c - round trips, and that a failed write leaves nothing behind. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/text_file.h"
#include "formats_util.h"

static char folder[256];

static int set_up(void **state) {
    (void)state;
    make_folder(folder, sizeof folder);
    return 0;
}

/* Removes what the tests left in the folder; how many entries there were. */
static size_t sweep(void) {
    DIR *listing = opendir(folder);
    size_t count = 0;
    for (struct dirent *each; (each = readdir(listing));) {
        if (strcmp(each->d_name, ".") == 0 || strcmp(each->d_name, "..") == 0)
            continue;
        char path[600];
        snprintf(path, sizeof path, "%s/%s", folder, each->d_name);
        unlink(path);
        count++;
    }
    closedir(listing);
    return count;
}

static int tear_down(void **state) {
    (void)state;
    sweep();
    return rmdir(folder);
}

static const char *in_folder(const char *name) {
    static char path[4][512];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static const vg_element all[] = {VG_ELEMENT_F16, VG_ELEMENT_BF16, VG_ELEMENT_F32, VG_ELEMENT_F64, VG_ELEMENT_I8,
                                 VG_ELEMENT_I16, VG_ELEMENT_I32,  VG_ELEMENT_I64, VG_ELEMENT_U8,  VG_ELEMENT_U16,
                                 VG_ELEMENT_U32, VG_ELEMENT_U64,  VG_ELEMENT_BOOL};

/* Writes one array of each type in odd pieces, then reads the bytes back where they are mapped. */
static void round_trip(const char *path) {
    uint8_t bytes[24 * 8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i & 1); /* fit for bool too */
    bool npz = strstr(path, ".npz");
    vg_writer *writer;
    assert_ok(vg_writer_open(&writer, path));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (npz && all[i] == VG_ELEMENT_BF16)
            continue;
        assert_ok(vg_writer__begin(writer, vg_element__name(all[i]), all[i], 3, (size_t[]){2, 3, 4}));
        assert_ok(vg_writer__append(writer, bytes, 5));
        assert_ok(vg_writer__append(writer, bytes, 0));
        assert_ok(vg_writer__append(writer, bytes + 5, 24 * vg_element__size(all[i]) - 5));
    }
    assert_ok(vg_writer_array(writer, "scalar", VG_ELEMENT_F32, 0, NULL, &(float){2.5f}));
    assert_ok(vg_writer__begin(writer, "nothing", VG_ELEMENT_F64, 2, (size_t[]){0, 3}));
    assert_ok(vg_writer__metadata(writer, "epoch", "17"));
    assert_ok(vg_writer__metadata(writer, "note", "quote \" and \n newline"));
    assert_ok(vg_writer_close(writer));
    vg_source *source;
    size_t index;
    assert_ok(vg_source__open(&source, path));
    assert_int_equal(vg_source__count(source), npz ? 14 : 15);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (npz && all[i] == VG_ELEMENT_BF16)
            continue;
        vg_array_info info;
        const void *map;
        assert_ok(vg_source__find(source, vg_element__name(all[i]), &index));
        assert_ok(vg_source__info(source, index, &info));
        assert_int_equal(info.element, all[i]);
        assert_int_equal(info.rank, 3);
        assert_ok(vg_source__map(source, index, &map));
        assert_non_null(map); /* aligned as written */
        assert_memory_equal(map, bytes, 24 * vg_element__size(all[i]));
    }
    float scalar;
    assert_ok(vg_source__find(source, "scalar", &index));
    assert_ok(vg_source__read_f32(source, index, 0, 1, &scalar));
    assert_true(scalar == 2.5f);
    assert_string_equal(vg_source__metadata(source, "epoch"), "17");
    assert_string_equal(vg_source__metadata(source, "note"), "quote \" and \n newline");
    assert_ok(read_everything(source));
    vg_source__close(source);
}

static void round_trips(void **state) {
    (void)state;
    round_trip(in_folder("a.npz"));
    round_trip(in_folder("a.safetensors"));
    assert_int_equal(sweep(), 2);
}

/* One .npy of each type, as NumPy's own bytes are: the header of tests/data/formats/le_f4.npy is reproduced exactly. */
static void npy_bytes(void **state) {
    (void)state;
    float values[60];
    for (size_t i = 0; i < 60; i++)
        values[i] = (float)i;
    vg_writer *writer;
    const char *path = in_folder("a.npy");
    assert_ok(vg_writer_open(&writer, path));
    assert_ok(vg_writer_array(writer, "ignored", VG_ELEMENT_F32, 3, (size_t[]){4, 3, 5}, values));
    assert_ok(vg_writer_close(writer));
    size_t size, expected_size;
    uint8_t *bytes = slurp(path, &size), *expected = slurp(DATA "le_f4.npy", &expected_size);
    assert_int_equal(size, expected_size);
    assert_memory_equal(bytes, expected, size);
    free(bytes), free(expected);
    sweep();
}

/* More members than the plain end record can count. */
static void many_members(void **state) {
    (void)state;
    vg_writer *writer;
    const char *path = in_folder("many.npz");
    assert_ok(vg_writer_open(&writer, path));
    for (int32_t i = 0; i < 66000; i++) {
        char name[20];
        snprintf(name, sizeof name, "a%d", (int)i);
        assert_ok(vg_writer_array(writer, name, VG_ELEMENT_I32, 1, (size_t[]){1}, &i));
    }
    assert_ok(vg_writer_close(writer));
    vg_source *source;
    size_t index;
    int64_t value;
    assert_ok(vg_source__open(&source, path));
    assert_int_equal(vg_source__count(source), 66000);
    assert_ok(vg_source__find(source, "a65999", &index));
    assert_ok(vg_source__read_i64(source, index, 0, 1, &value));
    assert_int_equal(value, 65999);
    vg_source__close(source);
    sweep();
}

static void misuse(void **state) {
    (void)state;
    vg_writer *writer;
    double two[2] = {1, 2};
    assert_fails(vg_writer_open(&writer, in_folder("a.txt")), VG_ERR_ARGUMENT, ".safetensors");
    assert_ok(vg_writer_open(&writer, in_folder("a.npz")));
    assert_fails(vg_writer__append(writer, two, 8), VG_ERR_ARGUMENT, "8 bytes given");
    assert_fails(vg_writer__begin(writer, "x", VG_ELEMENT_F64, 0, NULL), VG_ERR_IO, "earlier");
    assert_fails(vg_writer_close(writer), VG_ERR_IO, "earlier");
    assert_ok(vg_writer_open(&writer, in_folder("a.npz")));
    assert_ok(vg_writer__begin(writer, "x", VG_ELEMENT_F64, 1, (size_t[]){2}));
    assert_ok(vg_writer__append(writer, two, 8));
    assert_fails(vg_writer_close(writer), VG_ERR_ARGUMENT, "'x' is 8 bytes short");
    assert_ok(vg_writer_open(&writer, in_folder("a.npz")));
    assert_ok(vg_writer_array(writer, "x", VG_ELEMENT_F64, 0, NULL, two));
    assert_ok(vg_writer_array(writer, "x", VG_ELEMENT_F64, 0, NULL, two));
    assert_fails(vg_writer_close(writer), VG_ERR_ARGUMENT, "two arrays named 'x'");
    assert_ok(vg_writer_open(&writer, in_folder("a.npz")));
    assert_fails(vg_writer__begin(writer, "x", VG_ELEMENT_F64, 2, (size_t[]){SIZE_MAX / 4, 3}), VG_ERR_ARGUMENT,
                 "shape");
    vg_writer_abandon(writer);
    assert_ok(vg_writer_open(&writer, in_folder("a.npy")));
    assert_fails(vg_writer__metadata(writer, "k", "v"), VG_ERR_ARGUMENT, "only .npz and .safetensors keep metadata");
    vg_writer_abandon(writer);
    assert_ok(vg_writer_open(&writer, in_folder("a.npy")));
    assert_ok(vg_writer_array(writer, "", VG_ELEMENT_F64, 0, NULL, two));
    assert_fails(vg_writer__begin(writer, "", VG_ELEMENT_F64, 0, NULL), VG_ERR_ARGUMENT, "one array");
    assert_fails(vg_writer_close(writer), VG_ERR_IO, "earlier");
    assert_ok(vg_writer_open(&writer, in_folder("a.npy")));
    assert_fails(vg_writer_close(writer), VG_ERR_ARGUMENT, "none was written");
    assert_ok(vg_writer_open(&writer, in_folder("a.safetensors")));
    assert_ok(vg_writer_array(writer, "\xff", VG_ELEMENT_F64, 0, NULL, two));
    assert_fails(vg_writer_close(writer), VG_ERR_ARGUMENT, "UTF-8");
    vg_writer_abandon(NULL);
    assert_int_equal(sweep(), 0);
}

static void bad_places(void **state) {
    (void)state;
    vg_writer *writer;
    vg_text *text;
    assert_fails(vg_writer_open(&writer, in_folder("none/a.npz")), VG_ERR_IO, "No such file");
    assert_fails(vg_text__open(&text, in_folder("none/a.csv")), VG_ERR_IO, "cannot create");
    assert_fails(vg_text__open(&text, folder), VG_ERR_IO, "folder");
    assert_fails(vg_text__open(&text, "/dev/null"), VG_ERR_IO, "not a regular file");
    assert_fails(vg_text__open(&text, ""), VG_ERR_ARGUMENT, "name");
    assert_null(text);
    if (geteuid() != 0) {
        assert_int_equal(chmod(folder, 0500), 0);
        assert_fails(vg_writer_open(&writer, in_folder("a.npz")), VG_ERR_IO, "Permission denied");
        assert_int_equal(chmod(folder, 0700), 0);
    }
    assert_int_equal(sweep(), 0);
}

/* The target is replaced whole, also through a link, also one to a file that is not there yet; an abandoned write
 * changes nothing. */
static void replacing(void **state) {
    (void)state;
    const char *target = in_folder("target.txt"), *link = in_folder("link.txt");
    spit(target, "before", 6);
    assert_int_equal(symlink("target.txt", link), 0);
    vg_text *text;
    size_t size;
    assert_ok(vg_text__open(&text, link));
    assert_ok(vg_text__write(text, "after", 5));
    uint8_t *bytes = slurp(target, &size);
    assert_memory_equal(bytes, "before", 6);
    free(bytes);
    assert_ok(vg_text__close(text));
    struct stat about;
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    bytes = slurp(target, &size);
    assert_int_equal(size, 5);
    assert_memory_equal(bytes, "after", 5);
    free(bytes);
    assert_ok(vg_text__open(&text, link));
    assert_ok(vg_text__write(text, "x", 1));
    vg_text__abandon(text);
    unlink(target);
    assert_ok(vg_text__open(&text, link));
    assert_ok(vg_text__close(text));
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(stat(target, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0666 & ~mask);
    assert_int_equal(about.st_size, 0);
    assert_int_equal(sweep(), 2);
}

/* A full disk, simulated by a limit on file sizes: every kind fails with one line, at the write or at the close, and
 * leaves nothing. */
static void disk_full(void **state) {
    (void)state;
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    static double values[20000];
    static const char *const names[] = {"f.npy", "f.npz", "f.safetensors"};
    for (rlim_t limit = 50; limit < 160000; limit = limit * 3 / 2) {
        small = before;
        small.rlim_cur = limit;
        for (size_t i = 0; i < 3; i++) {
            vg_writer *writer;
            const char *path = in_folder(names[i]);
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
            assert_ok(vg_writer_open(&writer, path));
            vg_status appended = vg_writer_array(writer, "x", VG_ELEMENT_F64, 1, (size_t[]){20000}, values);
            vg_status closed = vg_writer_close(writer);
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
            assert_true(appended == VG_ERR_IO || appended == VG_OK);
            assert_fails(closed, VG_ERR_IO, names[i]);
            assert_int_equal(sweep(), 0);
        }
        vg_text *text;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        assert_ok(vg_text__open(&text, in_folder("f.txt")));
        vg_text__write(text, values, sizeof values);
        vg_status closed = vg_text__close(text);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_fails(closed, VG_ERR_IO, "f.txt");
        assert_int_equal(sweep(), 0);
    }
    signal(SIGXFSZ, SIG_DFL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips), cmocka_unit_test(npy_bytes),  cmocka_unit_test(many_members),
        cmocka_unit_test(misuse),      cmocka_unit_test(bad_places), cmocka_unit_test(replacing),
        cmocka_unit_test(disk_full),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
