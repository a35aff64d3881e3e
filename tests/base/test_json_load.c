/* test_json_load.c - our reader of JSON (json_load.c) beside jansson's: the same values, and the same errors at
 * the same position, also of damaged texts. With one allocation that fails there is the complete value or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_text.h"

static unsigned long at, count;
static void *allocate(size_t size) { return ++count == at ? NULL : malloc(size); }

static json_t *load(const char *text, unsigned long n, size_t flags, json_error_t *error) {
    at = n;
    count = 0;
    json_t *value = vg_base__json_load(text, strlen(text), flags, error);
    at = 0;
    return value;
}

static const char *const texts[] = {
    "[0.12345678901234567]",
    "[1.23456789012]",
    "[1.234567890123]",
    "[1.2345678901234]",
    "[1.23456789012345]",
    "[1.234567890123456, 1]",
    "{\"abcdefghijklmnopqrstuvwxyz\": \"ABCDEFGHIJ\\u00e9\\\"KLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz\"}",
    "{\"a\": [[true, false, null]], \"b\": {\"c\": -12345678901234567}}",
};

static void test_every_allocation(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *whole = json_loads(texts[i], 0, NULL);
        unsigned long all = 1;
        assert_non_null(whole);
        for (unsigned long n = 0; n <= all; n++) {
            json_error_t error;
            json_t *value = load(texts[i], n, 0, &error);
            all = n == 0 ? count : all;
            assert_true(value || vg_base__json_no_memory(&error));
            assert_true(n == 0 || n > count || !value);
            assert_true(!value || json_equal(value, whole));
            json_decref(value);
        }
        assert_true(all >= 3);
        json_decref(whole);
    }
}

/* What is not JSON is refused as jansson refuses it, with the same position and text. */
static void test_errors(void **unused) {
    static const char *const wrong[] = {"",
                                        "12345678901234567",
                                        "[12345678901234567",
                                        "[12345678901234567]]",
                                        "[12345678901234567],[1]",
                                        "\"abcdefghijklmnopqrstuvwxyz",
                                        "[1.2345678901234567x]",
                                        "{\"abcdefghijklmnop\": 1, \"abcdefghijklmnop\": 2}",
                                        "1234567890123456,2",
                                        "[\"abcdefghijklmnopq\\",
                                        "abcdefghijklmnopqrst"};
    (void)unused;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        json_error_t ours, theirs;
        assert_null(load(wrong[i], 0, JSON_REJECT_DUPLICATES, &ours));
        assert_null(json_loads(wrong[i], JSON_REJECT_DUPLICATES, &theirs));
        assert_string_equal(ours.text, theirs.text);
        assert_int_equal(ours.position, theirs.position);
        assert_false(vg_base__json_no_memory(&ours));
    }
    json_t *value = load("12345678901234567", 0, JSON_DECODE_ANY, NULL);
    assert_int_equal(json_integer_value(value), 12345678901234567);
    json_decref(value);
}

static void compare(const char *text, size_t size, size_t flags) {
    json_error_t ours = {.line = 0}, theirs = {.line = 0};
    json_t *value = vg_base__json_load(text, size, flags, &ours), *expected = json_loadb(text, size, flags, &theirs);
    if (!value != !expected || (value && !json_equal(value, expected)) || strcmp(ours.text, theirs.text) != 0 ||
        (!value && (ours.position != theirs.position || ours.line != theirs.line || ours.column != theirs.column)))
        fail_msg("%.*s\nours %d (line %d, column %d) %s\ntheirs %d (line %d, column %d) %s", (int)size, text,
                 ours.position, ours.line, ours.column, ours.text, theirs.position, theirs.line, theirs.column,
                 theirs.text);
    json_decref(value);
    json_decref(expected);
}

static uint64_t state = 1;
static size_t below(size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(state >> 33) % n;
}

/* Texts in which bytes and pieces are replaced, removed and repeated. */
static void test_damaged(void **unused) {
    static const char *const pieces[] = {"{",
                                         "}",
                                         "[",
                                         "]",
                                         ",",
                                         ":",
                                         "\"",
                                         "\\",
                                         "\\u",
                                         "true",
                                         "null",
                                         "1",
                                         "-",
                                         "0",
                                         ".",
                                         "e",
                                         "e+5",
                                         "1e999",
                                         "\xc3\xa9",
                                         "\xc3",
                                         "\xf0\x9f\x98\x80",
                                         "\xed\xa0\x80",
                                         "\n",
                                         "\\ud83d\\ude00",
                                         "\\ud83d",
                                         "\\u0000",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "9223372036854775808",
                                         "0.1",
                                         "\"a\": ",
                                         "\t",
                                         "\x01"};
    (void)unused;
    for (int i = 0; i < 60000; i++) {
        char text[400];
        size_t size = strlen(strcpy(text, texts[below(sizeof texts / sizeof *texts)]));
        for (size_t edits = 1 + below(4); edits > 0; edits--) {
            const char *piece = pieces[below(sizeof pieces / sizeof *pieces)];
            size_t place = below(size + 1), drop = below(3) ? 0 : below(size - place + 1), length = strlen(piece);
            if (size - drop + length >= sizeof text)
                continue;
            memmove(text + place + length, text + place + drop, size - place - drop);
            memcpy(text + place, piece, length);
            size += length - drop;
        }
        compare(text, size, below(2) ? JSON_REJECT_DUPLICATES : 0);
        compare(text, size, JSON_DECODE_ANY);
    }
}

/* Lists in lists, to jansson's limit and beyond; numbers of thousands of digits. */
static void test_extremes(void **unused) {
    static char text[9000];
    (void)unused;
    for (size_t depth = 2046; depth < 2051; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        compare(text, 2 * depth, 0);
    }
    memset(text, '1', sizeof text);
    text[0] = '[', text[1] = '0', text[2] = '.', text[sizeof text - 1] = ']';
    compare(text, sizeof text, 0);
    text[2] = '1', text[1] = '-';
    compare(text, sizeof text, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation), cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_damaged), cmocka_unit_test(test_extremes)};
    json_set_alloc_funcs(allocate, free);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
