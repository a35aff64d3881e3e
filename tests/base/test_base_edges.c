/* test_base_edges.c - edges of what all modules stand on: bytes that look like UTF-8, words that look like numbers,
 * paths through links, files that cannot be replaced, a JSON file that is too long. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/names.h"
#include "base/number.h"
#include "base/printable.h"
#include "folder_util.h"

static char paths[4][600];
static const char *in(const char *name) {
    static size_t next;
    char *out = paths[next++ % 4];
    snprintf(out, sizeof paths[0], "%s/%s", folder, name);
    return out;
}
static void assert_ok(vg_status status) {
    if (status != VG_OK)
        fail_msg("%s", vg_error_message());
}
static void assert_fails(vg_status status, vg_status expected, const char *text) {
    if (status != expected || !strstr(vg_error_message(), text))
        fail_msg("status %d, '%.200s', expected '%s'", (int)status, vg_error_message(), text);
}

static void sequences_of_utf8(void **state) {
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {{"a", 1},
                 {"\xc3\xa9", 2},
                 {"\xe2\x82\xac", 3},
                 {"\xf0\x9f\x98\x80", 4},
                 {"\xf4\x8f\xbf\xbf", 4}, /* the last code point */
                 {"\xc0\x80", 0},         /* overlong forms */
                 {"\xe0\x9f\xbf", 0},
                 {"\xf0\x8f\xbf\xbf", 0},
                 {"\xed\x9f\xbf", 3}, /* below the surrogates */
                 {"\xed\xa0\x80", 0},
                 {"\xf4\x90\x80\x80", 0}, /* past the last */
                 {"\xf5\x80\x80\x80", 0},
                 {"\x80", 0},
                 {"\xe2\x82", 0},
                 {"\xf0\x9f\x98", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (vg_printable__sequence(cases[i].text) != cases[i].length)
            fail_msg("case %zu: %zu bytes, expected %zu", i, vg_printable__sequence(cases[i].text), cases[i].length);
        assert_int_equal(vg_printable__is_utf8(cases[i].text), cases[i].length > 0);
    }
    char out[64]; /* marks that turn the direction of text, and controls of Latin-1, are shown as bytes */
    static const char *const hidden[] = {"\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9", "\xc2\x85"};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        assert_non_null(strchr(vg_printable(out, sizeof out, hidden[i]), '\\'));
    static const char *const shown[] = {"\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\xa5", "\xe2\x81\xaa", "\xc2\xa0"};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        assert_true(strlen(vg_printable(out, sizeof out, shown[i])) > 0);
}

static void texts_of_numbers(void **state) {
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},
                {"-0.5", -0.5},
                {".5", 0.5},
                {"5.", 5},
                {"1e3", 1000},
                {"1E+3", 1000},
                {"1e-3", 0.001},
                {"INF", (double)INFINITY},
                {"-Infinity", -(double)INFINITY},
                {"0.30000000000000004", 0.30000000000000004},
                {"1e400", (double)INFINITY},
                {"4.9e-324", 4.9e-324}};
    static const char *const bad[] = {"", "-", ".", "e3", "1e", "1e+", "1.2.3", "0x10", "1 ", " 1", "infinit", "nano"};
    double value;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(vg_number__parse(&value, good[i].text, strlen(good[i].text)));
        if (!(value >= good[i].value && value <= good[i].value))
            fail_msg("'%s' is read as %.17g", good[i].text, value);
    }
    assert_true(vg_number__parse(&value, "NaN", 3) && isnan(value));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (vg_number__parse(&value, bad[i], strlen(bad[i])))
            fail_msg("'%s' is read as %g", bad[i], value);
    char digits[700]; /* longer than the room on the stack */
    memset(digits, '3', sizeof digits);
    digits[1] = '.';
    assert_true(vg_number__parse(&value, digits, sizeof digits));
    assert_true(fabs(value - 10.0 / 3) < 1e-15);
}

static void names_that_were_meant(void **state) {
    static const char *const names[] = {"accuracy", "brier", "coverage"}, *const others[] = {"accuracy", "ece"};
    char out[24];
    (void)state;
    assert_string_equal(vg_names__meant("acc", names, 3), "accuracy");
    assert_string_equal(vg_names__meant("bireR", names, 3), "brier");
    assert_null(vg_names__meant("temperature", names, 3));
    assert_int_equal(vg_names__differ(names, others, 2), 1);
    assert_int_equal(vg_names__differ(names, names, 3), 3);
    assert_string_equal(vg_names__list(out, sizeof out, names, 3), "accuracy, brier, ...");
    assert_string_equal(vg_names__list(out, sizeof out, names, 1), "accuracy");
}

/* A link is followed, and the file that it names is replaced; what is no file is not. */
static void outputs_through_links(void **state) {
    vg_output *output;
    struct stat about;
    char longest[4300];
    (void)state;
    assert_int_equal(symlink("target.txt", in("link.txt")), 0);
    for (int i = 0; i < 2; i++) { /* the target is made, then replaced */
        assert_ok(vg_output__open(&output, in("link.txt")));
        assert_ok(vg_output__write(output, "four", 4));
        assert_ok(vg_output__patch(output, 1, "u", 1));
        assert_ok(vg_output__commit(output));
        assert_int_equal(lstat(in("link.txt"), &about), 0);
        assert_true(S_ISLNK(about.st_mode));
        assert_int_equal(stat(in("target.txt"), &about), 0);
        assert_int_equal(about.st_size, 4);
    }
    assert_int_equal(symlink("circle.txt", in("circle.txt")), 0);
    assert_fails(vg_output__open(&output, in("circle.txt")), VG_ERR_IO, "too many symbolic links");
    assert_fails(vg_output__open(&output, ""), VG_ERR_ARGUMENT, "an output file needs a name");
    assert_fails(vg_output__open(&output, folder), VG_ERR_IO, "is a folder, expected a file to write");
    assert_int_equal(mkfifo(in("pipe"), 0600), 0);
    assert_fails(vg_output__open(&output, in("pipe")), VG_ERR_IO, "is not a regular file, so it cannot be replaced");
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_fails(vg_output__open(&output, longest), VG_ERR_IO, "...: the path is too long");
    longest[4080] = '\0';
    assert_fails(vg_output__open(&output, longest), VG_ERR_IO, "...: the path is too long");
    assert_fails(vg_output__open(&output, in("no/such/x.txt")), VG_ERR_IO, "x.txt");
    assert_fails(vg_file__place(in("missing"), in("x")), VG_ERR_IO, "missing: cannot write to disk");
    assert_fails(vg_file__place(in("target.txt"), in("no/such/x")), VG_ERR_IO, "no/such/x");
    vg_output__abandon(NULL);
}

static void temporary_files(void **state) {
    const char *before = getenv("TMPDIR");
    char kept[300];
    vg_mapping map;
    (void)state;
    snprintf(kept, sizeof kept, "%s", before ? before : "");
    setenv("TMPDIR", "", 1);
    int fd = vg_file__temporary();
    assert_true(fd >= 0);
    assert_ok(vg_file__write_all(fd, "bytes", 5, "a copy"));
    char out[5];
    assert_ok(vg_file__read_at(fd, 0, out, 5, "a copy"));
    assert_memory_equal(out, "bytes", 5);
    assert_fails(vg_file__read_at(fd, 3, out, 5, "a copy"), VG_ERR_IO, "a copy: cannot read back: ends early");
    assert_ok(vg_file__map_temporary(&map, fd, "a copy"));
    assert_int_equal(map.size, 5);
    vg_file__prefetch(&map, 0, 5);
    vg_file__prefetch(&map, 9, 5);
    vg_file__forget(&map, 0, 100);
    assert_memory_equal(map.bytes, "bytes", 5);
    vg_file__unmap(&map);
    close(fd);
    assert_fails(vg_file__write_all(fd, "bytes", 5, "a copy"), VG_ERR_IO, "a copy: cannot write");
    assert_fails(vg_file__map_temporary(&map, fd, "a copy"), VG_ERR_IO, "cannot stat its copy");
    setenv("TMPDIR", "/nonexistent", 1);
    assert_true(vg_file__temporary() < 0);
    char *longest = malloc(9000);
    memset(longest, 'x', 8999);
    longest[8999] = '\0';
    setenv("TMPDIR", longest, 1);
    assert_true(vg_file__temporary() < 0);
    assert_int_equal(errno, ENAMETOOLONG);
    free(longest);
    if (before)
        setenv("TMPDIR", kept, 1);
    else
        unsetenv("TMPDIR");
}

/* A gigabyte of zeros, of which none is on the disk, is refused before it is read. */
static void json_that_is_too_long(void **state) {
    json_t *root;
    int fd = open(in("long.json"), O_RDWR | O_CREAT, 0600);
    (void)state;
    assert_true(fd >= 0);
    if (ftruncate(fd, ((off_t)1 << 30) + 1) != 0)
        skip();
    close(fd);
    assert_fails(vg_base__json_load_file(&root, in("long.json"), 0), VG_ERR_FORMAT,
                 "1073741825 bytes, expected a JSON file of at most 1073741824");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences_of_utf8),     cmocka_unit_test(texts_of_numbers),
        cmocka_unit_test(names_that_were_meant), cmocka_unit_test(outputs_through_links),
        cmocka_unit_test(temporary_files),       cmocka_unit_test(json_that_is_too_long),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
