/* test_formats_text.c - .csv and .jsonl: what they turn into, and what is said about lines that are wrong. */
#include <float.h>
#include <locale.h>
#include <math.h>

#include "formats/source.h"
#include "formats_util.h"

static vg_source *source;

static vg_status open_text(const char *text, const char *name) {
    return vg_source__open_memory(&source, text, strlen(text), name);
}

/* The array of that name has this shape (zero-terminated when shorter than 3) and these values. */
static void check_array(const char *name, size_t rank, const size_t *shape, const double *values) {
    size_t index;
    vg_array_info info;
    double found[64];
    assert_ok(vg_source__find(source, name, &index));
    assert_ok(vg_source__info(source, index, &info));
    assert_int_equal(info.rank, rank);
    assert_memory_equal(info.shape, shape, rank * sizeof *shape);
    assert_true(info.count <= 64);
    assert_ok(vg_source__read_f64(source, index, 0, info.shape[0], found));
    for (size_t i = 0; i < info.count; i++)
        assert_true(found[i] == values[i]);
}

static void csv_forms(void **state) {
    (void)state;
    assert_ok(
        open_text("sample,member,cat,dog,label\n8,1,.5,.5,1\n7,0,1,0,0\n\n7,1,.75,0.25,0\n8,0,.1,.9,1\n", "a.csv"));
    check_array("P", 3, (size_t[]){2, 2, 2}, (double[]){1, 0, .75, .25, .1, .9, .5, .5});
    check_array("L", 1, (size_t[]){2}, (double[]){0, 1});
    vg_source__close(source);
    assert_ok(open_text("\xef\xbb\xbf"
                        "ID , \"z0\",Z_1,Label\r\n\"first, one\",1e2 ,-2,2\r\nb, 3,+4.25,0\r\n",
                        "a.csv"));
    check_array("Z", 2, (size_t[]){2, 2}, (double[]){100, -2, 3, 4.25});
    check_array("L", 1, (size_t[]){2}, (double[]){2, 0});
    vg_source__close(source);
    assert_ok(open_text("1,2,3\n4,5,6", "a.csv"));
    check_array("P", 2, (size_t[]){2, 3}, (double[]){1, 2, 3, 4, 5, 6});
    assert_int_equal(vg_source__count(source), 1);
    vg_source__close(source);
    assert_ok(open_text("label0,a,label1\n0,.5,1\n1,.25,1\n", "a.csv"));
    check_array("P", 2, (size_t[]){2, 1}, (double[]){.5, .25});
    check_array("L", 2, (size_t[]){2, 2}, (double[]){0, 1, 1, 1});
    vg_source__close(source);
    assert_ok(open_text("a,b,label\n", "a.csv")); /* no samples */
    check_array("P", 2, (size_t[]){0, 2}, NULL);
    vg_source__close(source);
    assert_ok(open_text("sample,member,b\n", "a.csv"));
    check_array("P", 3, (size_t[]){0, 0, 1}, NULL);
    vg_source__close(source);
}

static void csv_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a,b\n1,2\n3\n", "x.csv: line 3: fewer than the 2 fields"},
        {"a,b\n1,2,3\n", "line 2: more than the 2 fields"},
        {"a,b\n\n1,two\n", "line 3, column 2: 'two' is not a number"},
        {"a,b\n1,\n", "line 2, column 2: '' is not a number"},
        {"a,b\n1,0x10\n", "'0x10' is not a number"},
        {"a,b\n1,1,5\n", "more"},
        {"a,label\n1,1.5\n", "line 2, column 2: '1.5', expected a whole number"},
        {"a,label\n1,1e300\n", "expected a whole number"},
        {"a,label\n1,nan\n", "expected a whole number"},
        {"\"a,b\n1,2\n", "line 1: a quoted field is not closed"},
        {"a,\"b\"c\n1,2\n", "line 1: a quoted field"},
        {"a,\"b\"\"\n1,2\n", "line 1: a quoted field is not closed"},
        {"a,\"b\"\"\"c\n1,2\n", "line 1: a quoted field"},
        {"id,a,b\n\"\"\"\n", "line 2: a quoted field is not closed"},
        {"sample,member,p\n0,0,1\n0,1,1\n1,0,1\n",
         "3 rows, expected one for each of samples 0 .. 1 and members 0 .. 1"},
        {"sample,member,p\n0,0,1\n0,1,1\n0,1,1\n1,1,1\n", "line 4: sample 0, member 1 is already in line 3"},
        {"sample,member,p\n0,0,1\n9007199254740992,9007199254740992,1\n", "2 rows"},
        {"sample,member,p,y\n0,0,1,1\n0,1,1,2\n", "line 3: sample 0 has another label than in line 2"},
        {"sample,member,p\n,0,1\n", "line 2, column 1: the sample is empty"},
        {"member,p\n0,1\n", "needs a sample column"},
        {"sample,id,p\n0,1,1\n", "more than one sample"},
        {"sample\n0\n", "no columns of values"},
        {"\n \n\r\n", "blank"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(open_text(cases[i].text, "x.csv"), VG_ERR_FORMAT, cases[i].message);
}

static void jsonl_forms(void **state) {
    (void)state;
    assert_ok(
        open_text("{\"id\": 1, \"p\": [[0.5, 0.5], [1, 0]], \"label\": 1}\n\n{\"P\": [[0, 1], [0.25, 0.75]], \"y\": 0}",
                  "a.jsonl"));
    check_array("P", 3, (size_t[]){2, 2, 2}, (double[]){.5, .5, 1, 0, 0, 1, .25, .75});
    check_array("L", 1, (size_t[]){2}, (double[]){1, 0});
    vg_source__close(source);
    assert_ok(open_text("{\"z\": [1, -2.5, 3e2], \"label\": [0, 1, true]}\r\n", "a.jsonl"));
    check_array("Z", 2, (size_t[]){1, 3}, (double[]){1, -2.5, 300});
    check_array("L", 2, (size_t[]){1, 3}, (double[]){0, 1, 1});
    vg_source__close(source);
    assert_ok(open_text("{\"label\": 3}\n{\"label\": 4}\n", "a.jsonl"));
    check_array("L", 1, (size_t[]){2}, (double[]){3, 4});
    vg_source__close(source);
}

static void jsonl_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"p\": [1, 2}\n", "x.jsonl: line 1, column"},
        {"{\"p\": [[1, 2]]}\n{\"p\": [[1]]}\n", "line 2: member 0 is not a list of 2 numbers"},
        {"{\"p\": [[1, 2]]}\n{\"p\": [[1, 2], [1, 2]]}\n",
         "line 2: probabilities of 2 members, the first line has probabilities of 1"},
        {"{\"p\": [[1, 2]]}\n{\"z\": [[1, 2]]}\n", "line 2: logits of 1"},
        {"{\"p\": [[1, \"2\"]]}\n", "member 0, class 1 is not a number"},
        {"{\"p\": [NaN]}\n", "line 1, column"},
        {"{\"p\": []}\n", "empty"},
        {"{\"p\": [[]]}\n", "no classes"},
        {"{\"p\": 1}\n", "not a list"},
        {"{\"p\": [1], \"z\": [1]}\n", "two keys"},
        {"{\"p\": [1], \"p\": [1]}\n", "duplicate"},
        {"{\"p\": [1], \"label\": 1}\n{\"p\": [1]}\n", "line 2: has other keys"},
        {"{\"p\": [1], \"label\": 1.5}\n", "neither a whole number"},
        {"{\"label\": [1, 2]}\n{\"label\": [1]}\n", "line 2: 1 labels, the first line has 2"},
        {"{\"x\": 1}\n", "none of the keys"},
        {"[1]\n", "not a JSON object"},
        {"\n\n", "blank"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(open_text(cases[i].text, "x.jsonl"), VG_ERR_FORMAT, cases[i].message);
}

static bool parse(double *out, const char *text) { return vg_number__parse(out, text, strlen(text)); }

/* Numbers agree with strtod to the bit, in a locale with a decimal comma too. */
static void numbers(void **state) {
    (void)state;
    double found;
    static const char *const fixed[] = {"0",
                                        "-0",
                                        "1",
                                        "+1.",
                                        ".5",
                                        "0.1",
                                        "1e22",
                                        "1e23",
                                        "1e-22",
                                        "123456789012345",
                                        "1234567890123456789",
                                        "4.9e-324",
                                        "1.7976931348623157e308",
                                        "1e999",
                                        "1e-999",
                                        "0.3333333333333333148296162562473909929395",
                                        "2.2250738585072011e-308",
                                        "9007199254740993",
                                        "1e99999999999",
                                        "0.000000000000000000000000012345"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        double expected = strtod(fixed[i], NULL);
        assert_true(parse(&found, fixed[i]));
        assert_memory_equal(&found, &expected, sizeof found);
    }
    uint64_t random = 1;
    for (size_t i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        double value, expected;
        char text[64];
        memcpy(&value, &random, sizeof value);
        if (i % 2)
            value = (double)(random >> 11) * 0x1p-53;
        if (value - value != 0)
            continue;
        snprintf(text, sizeof text, i % 3 ? "%.17g" : "%.6g", value);
        expected = strtod(text, NULL);
        assert_true(parse(&found, text));
        assert_memory_equal(&found, &expected, sizeof found);
    }
    assert_true(parse(&found, "-Inf") && found == -INFINITY);
    assert_true(parse(&found, "NaN") && found != found);
    static const char *const bad[] = {"",    "-",   ".",   "e5",   "1e",  "1e+",  "1x",
                                      "1 2", "0x1", "1,5", "nan1", "--1", "1..2", "infinit"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(parse(&found, bad[i]));
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C.UTF-8"};
    for (size_t i = 0; i < 4; i++)
        if (setlocale(LC_ALL, locales[i])) {
            assert_true(parse(&found, "0.12345678901234567890") && fabs(found - 0.12345678901234567) < 1e-16);
            assert_true(parse(&found, "1.5") && found == 1.5);
            setlocale(LC_ALL, "C");
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_forms),     cmocka_unit_test(csv_refused), cmocka_unit_test(jsonl_forms),
        cmocka_unit_test(jsonl_refused), cmocka_unit_test(numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
