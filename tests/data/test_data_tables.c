/* test_data_tables.c - CSV and TSV lists of image files: columns, quoting, splits, and what is refused. */
#include "data/image_list.h"
#include "data_util.h"

static const char *table(const char *name, const char *text) {
    static char path[400];
    snprintf(path, sizeof path, "%s", in(name));
    put(path, text, strlen(text));
    return path;
}

typedef struct wanted {
    const char *path, *class;
    int held;
} wanted;

static void reads(const char *path, vg_part part, const wanted *rows, size_t count) {
    vg_image_list list = {0};
    bool one_part;
    char full[512];
    OK(vg_image_list__table(&list, &one_part, path, part));
    assert_int_equal(list.count, count);
    for (size_t i = 0; i < count; i++) {
        snprintf(full, sizeof full, "%s%s%s", rows[i].path[0] == '/' ? "" : folder, rows[i].path[0] == '/' ? "" : "/",
                 rows[i].path);
        assert_string_equal(list.entries[i].path, full);
        assert_true(!rows[i].class == !list.entries[i].class);
        if (rows[i].class)
            assert_string_equal(list.entries[i].class, rows[i].class);
        assert_int_equal(list.entries[i].held, rows[i].held);
    }
    vg_image_list__free(&list);
}

static void columns_and_quotes(void **state) {
    (void)state;
    const wanted plain[] = {{"a.jpg", "cat", 0}, {"sub/b.jpg", "dog", 0}, {"/abs/c.jpg", "cat", 0}};
    reads(table("t.csv", "file,label\na.jpg,cat\nsub/b.jpg,dog\n/abs/c.jpg,cat\n"), VG_PART_TRAIN, plain, 3);
    /* other names, other order, a byte order mark, CRLF, empty lines, no line end at the end */
    reads(table("t.csv", "\xef\xbb\xbf"
                         "Class,id,Path\r\ncat,1,a.jpg\r\n\r\ndog,2,sub/b.jpg\r\ncat,3,/abs/c.jpg"),
          VG_PART_ANY, plain, 3);
    reads(table("t.tsv", "file\tlabel\na.jpg\tcat\nsub/b.jpg\tdog\n/abs/c.jpg\tcat\n"), VG_PART_TRAIN, plain, 3);
    reads(table("t.csv", "file;label\na.jpg;cat\nsub/b.jpg;dog\n/abs/c.jpg;cat\n"), VG_PART_TRAIN, plain, 3);
    const wanted quoted[] = {{"a, \"b\".jpg", "one\ntwo", 0}, {"c.jpg", "", 0}};
    reads(table("t.csv", "file,label\n\"a, \"\"b\"\".jpg\",\"one\ntwo\"\n"), VG_PART_TRAIN, quoted, 1);
    const wanted bare[] = {{"a.jpg", NULL, 0}, {"b.jpg", NULL, 0}};
    reads(table("t.csv", "image\na.jpg\nb.jpg\n"), VG_PART_ANY, bare, 2);
}

static void splits(void **state) {
    (void)state;
    const char *path = table("t.csv", "file,label,split\na.jpg,x,train\nb.jpg,y,val\nc.jpg,x,test\nd.jpg,y,Training\n");
    const wanted train[] = {{"a.jpg", "x", 0}, {"b.jpg", "y", 1}, {"d.jpg", "y", 0}}, test[] = {{"c.jpg", "x", 0}};
    reads(path, VG_PART_TRAIN, train, 3);
    reads(path, VG_PART_TEST, test, 1);
    reads(path, VG_PART_ANY, test, 1);
    vg_image_list list = {0};
    bool one_part;
    path = table("t.csv", "file,split\na.jpg,train\n");
    FAILS(vg_image_list__table(&list, &one_part, path, VG_PART_TEST), VG_ERR_ARGUMENT, "has no 'test'");
    vg_image_list__free(&list);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "is empty"},
        {"name,label\na.jpg,x\n", "names no column 'file'"},
        {"file,label\n", "names no files"},
        {"file,label\na.jpg,x\nb.jpg\n", "line 3: 1 fields, line 1 has 2"},
        {"file,label\na.jpg,\n", "line 2: has no label"},
        {"file,label\n,x\n", "line 2: names no file"},
        {"file,split\na.jpg,dev\n", "line 2: split 'dev', expected train, val or test"},
        {"file,label\n\"a.jpg,x\n", "line 2: a quoted field does not end"},
        {"file,split\na.jpg,train\nb.jpg,val\na.jpg,test\n", "line 4: "},
        {"file,label\na.jpg,x\na.jpg,y\n", "is in line 2 already, with another label"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vg_image_list list = {0};
        bool one_part;
        const char *path = table("bad.csv", cases[i].text);
        vg_status status = vg_image_list__table(&list, &one_part, path, VG_PART_TRAIN);
        if (status == VG_OK || !strstr(vg_error_message(), cases[i].message))
            fail_msg("case %zu: status %d, '%s'", i, (int)status, vg_error_message());
        vg_image_list__free(&list);
    }
    vg_image_list list = {0};
    bool one_part;
    put(in("nul.csv"), "file\na\0b\n", 9);
    FAILS(vg_image_list__table(&list, &one_part, in("nul.csv"), VG_PART_TRAIN), VG_ERR_FORMAT, "line 2: a NUL byte");
    vg_image_list__free(&list);
    char *text = malloc(20000);
    memset(text, 'a', 20000);
    memcpy(text, "file\n", 5);
    put(in("long.csv"), text, 20000);
    free(text);
    FAILS(vg_image_list__table(&list, &one_part, in("long.csv"), VG_PART_TRAIN), VG_ERR_FORMAT, "line 2: is too long");
    vg_image_list__free(&list);
}

/* A whole set by its table: labels in byte order of their names, the validation images, files that are missing. */
static void a_set(void **state) {
    (void)state;
    vg_dataset *set;
    char name[500];
    size_t size;
    unsigned char *bytes = take("tests/data/photos/plain.png", &size);
    for (int i = 0; i < 4; i++) {
        char file[32];
        snprintf(file, sizeof file, "pics/%d.png", i);
        put(in(file), bytes, size);
    }
    free(bytes);
    const char *path = table("set.csv", "file,label,split\npics/0.png,10,train\npics/1.png,9,val\npics/2.png,9,train\n"
                                        "pics/3.png,10,test\npics/none.png,9,train\n");
    snprintf(name, sizeof name, "path:%s", path);
    vg_dataset_options options = VG_DATASET_OPTIONS_INIT;
    options.resize[0] = 12;
    vg_status status = vg_dataset_open(&set, name, VG_PART_TEST, &options);
    if (status == VG_ERR_UNSUPPORTED)
        skip();
    OK(status);
    assert_int_equal(vg_dataset__info(set).n, 1);
    vg_dataset_free(set);
    FAILS(vg_dataset_open(&set, name, VG_PART_TRAIN, &options), VG_ERR_IO,
          "none.png: No such file or directory (named "
          "in line 6)");
    options.skip_corrupt = 1;
    OK(vg_dataset_open(&set, name, VG_PART_TRAIN, &options));
    vg_dataset_info info = vg_dataset__info(set);
    assert_true(info.n == 3 && info.classes == 2 && info.skipped_count == 1);
    assert_string_equal(info.class_names[0], "10");
    assert_string_equal(info.class_names[1], "9");
    const int32_t labels[3] = {0, 1, 1};
    assert_memory_equal(vg_dataset__labels(set), labels, sizeof labels);
    size_t *kept, *held, kept_count, held_count;
    OK(vg_dataset__split(&kept, &kept_count, &held, &held_count, set, 0.1, 1));
    assert_true(kept_count == 2 && held_count == 1 && held[0] == 1);
    vg_indices__free(kept);
    vg_indices__free(held);
    vg_dataset_free(set);
    FAILS(vg_dataset_open(&set, strcat(strcpy(name, "path:"), table("one.csv", "file\npics/0.png\n")), VG_PART_TEST,
                          &options),
          VG_ERR_ARGUMENT, "one part only");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns_and_quotes), cmocka_unit_test(splits),
                                       cmocka_unit_test(refused), cmocka_unit_test(a_set)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
