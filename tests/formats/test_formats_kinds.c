/* test_formats_kinds.c - the kinds of files that people have: tables with other separators and decimal commas, gzip,
 * JSON documents, one array per member, and the files of other programs. tests/data/formats/make_tables.py writes them
 * with NumPy and pandas, all with the same predictions: element i is i / 64. */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/prediction_file.h"
#include "formats_util.h"

static vg_prediction_file *file;

static vg_prediction_options plain(void) {
    vg_prediction_options options = VG_PREDICTION_OPTIONS_INIT;
    options.multilabel = 0;
    return options;
}

static double value_at(const vg_predictions *view, size_t n, size_t m, size_t c) {
    ptrdiff_t at = (ptrdiff_t)n * view->stride_n + (ptrdiff_t)m * view->stride_m + (ptrdiff_t)c * view->stride_c;
    return view->dtype == VG_F32 ? (double)((const float *)view->data)[at] : ((const double *)view->data)[at];
}

/* Blocks of every size hold element i = i / 64 of (4, members, 5); of one member: every third row. */
static void check_values(size_t members, int expect_logits) {
    size_t n, m, c;
    int logits;
    vg_prediction_file_shape(file, &n, &m, &c, &logits);
    assert_int_equal(n, 4);
    assert_int_equal(m, members);
    assert_int_equal(c, 5);
    assert_int_equal(logits, expect_logits);
    for (size_t rows = 1; rows <= 4; rows++)
        for (size_t first = 0; first + rows <= 4; first++) {
            vg_predictions view;
            assert_ok(vg_prediction_file_block(file, first, rows, &view));
            for (size_t i = 0; i < rows * m * c; i++) {
                size_t row = first + i / (m * c);
                double found = value_at(&view, i / (m * c), i / c % m, i % c);
                assert_true(found == (double)((row * 3 + i / c % m) * 5 + i % c) / 64);
            }
        }
}

static void check_labels(void) {
    const int64_t *labels;
    size_t columns;
    assert_ok(vg_prediction_file_labels(file, &labels, &columns));
    assert_non_null(labels);
    assert_int_equal(columns, 1);
    assert_memory_equal(labels, ((int64_t[]){0, 1, 4, 2}), 32);
}

static void check_ids(void) {
    const char *const *ids;
    assert_ok(vg_prediction_file_ids(file, &ids));
    assert_non_null(ids);
    assert_string_equal(ids[0], "img-7");
    assert_string_equal(ids[2], "1004");
    assert_string_equal(ids[3], "img-9");
}

static void read_like_pandas(void **state) {
    (void)state;
    static const struct {
        const char *path, *key, *decimal;
        size_t members;
        bool logits, labels, ids;
    } cases[] = {
        {DATA "long.tsv", NULL, NULL, 3, false, true, false},
        {DATA "long_comma.csv", NULL, NULL, 3, false, true, false},
        {DATA "long_semicolon.csv", NULL, NULL, 3, false, true, false},
        {DATA "long_logits.tab", NULL, NULL, 3, true, true, false},
        {DATA "long_quoted.csv", NULL, "comma", 3, false, true, false},
        {DATA "names_long.csv", NULL, NULL, 3, false, true, true},
        {DATA "long.csv.gz", NULL, NULL, 3, false, true, false},
        {DATA "long.tsv.gz", NULL, NULL, 3, false, true, false},
        {DATA "two_members.csv.gz", NULL, NULL, 3, false, true, false},
        {DATA "plain_spaces.txt", NULL, NULL, 1, false, false, false},
        {DATA "plain_tabs.txt", NULL, NULL, 1, false, false, false},
        {DATA "lines.jsonl.gz", NULL, NULL, 3, false, true, true},
        {DATA "array.json", NULL, NULL, 3, false, false, false},
        {DATA "records.json", NULL, NULL, 3, false, true, true},
        {DATA "lists.json", NULL, NULL, 3, false, true, true},
        {DATA "models.npz", NULL, NULL, 3, false, true, false},
        {DATA "models_deflated.npz", NULL, NULL, 3, false, true, false},
        {DATA "models_fortran.npz", NULL, NULL, 3, false, true, false},
        {DATA "models_named.npz", "resnet,vit,swin", NULL, 3, false, true, false},
        {DATA "models_unnamed.npz", "arr_0,arr_1,arr_2", NULL, 3, false, false, false},
        {DATA "models.npz", "model_*", NULL, 3, false, true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vg_prediction_options options = plain();
        options.key = cases[i].key;
        options.decimal = cases[i].decimal;
        if (vg_prediction_file_open(&file, cases[i].path, &options) != VG_OK)
            fail_msg("%s: %s", cases[i].path, vg_error_message());
        check_values(cases[i].members, cases[i].logits);
        if (cases[i].labels)
            check_labels();
        if (cases[i].ids)
            check_ids();
        vg_prediction_file_close(file);
    }
}

static void other_programs(void **state) {
    (void)state;
    static const struct {
        const char *path, *message;
    } cases[] = {
        {DATA "long.parquet", "is a Parquet file, which the Python package reads: vargate.score; convert it in Python: "
                              "t = pandas.read_parquet(\"long.parquet\"); t.to_csv(\"long.csv\", index=False)"},
        {DATA "model.pt", "is a PyTorch file, which is not read because opening it can run any code; convert it in "
                          "Python: p = torch.load(\"model.pt\", weights_only=True); np.savez(\"model.npz\","},
        {DATA "pickled.pkl", "is a pickle, which is not read because opening it can run any code; convert it in "
                             "Python: p = pickle.load(open(\"pickled.pkl\", \"rb\")); np.savez(\"pickled.npz\","},
        {DATA "pickled.npy", "holds Python objects, which only pickle can read; convert it in Python: a = "
                             "np.load(\"pickled.npy\", allow_pickle=True); np.savez(\"numbers.npz\","},
    };
    vg_prediction_options options = plain();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(vg_prediction_file_open(&file, cases[i].path, &options), VG_ERR_UNSUPPORTED, cases[i].message);
    vg_source *source;
    size_t index;
    assert_ok(vg_source__open(&source, DATA "others.npz"));
    assert_fails(vg_source__find(source, "thing", &index), VG_ERR_UNSUPPORTED,
                 "a = np.load(\"others.npz\", allow_pickle=True)[\"thing\"]; np.savez(");
    vg_source__close(source);
    /* Known by content under any name. */
    static const struct {
        const char *bytes, *name, *message;
        size_t size;
    } contents[] = {
        {"\x80\x04N.", "p.csv", "is a pickle", 4},      {"PAR1....PAR1", "p", "is a Parquet file", 12},
        {"\x89HDF\r\n\x1a\n....", "p.h5", "h5py", 12},  {"ARROW1......", "p.feather", "is an Arrow file", 12},
        {"garbage....", "model.pth", "torch.load", 11}, {"garbage....", "x.joblib", "joblib.load", 11},
    };
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++)
        assert_fails(vg_source__open_memory(&source, contents[i].bytes, contents[i].size, contents[i].name),
                     VG_ERR_UNSUPPORTED, contents[i].message);
    /* Bytes of a pickle's opcode in front of something else are no pickle. */
    assert_fails(vg_source__open_memory(&source, "\x80\x04Nx", 4, "p"), VG_ERR_FORMAT, "unknown kind of file");
}

static vg_status open_text(const char *text, const char *name, const vg_prediction_options *options) {
    return vg_prediction_file__open_memory(&file, text, strlen(text), name, options);
}

static void check_pair(double left, double right) {
    vg_predictions view;
    assert_ok(vg_prediction_file_block(file, 0, 1, &view));
    assert_true(value_at(&view, 0, 0, 0) == left && value_at(&view, 0, 0, 1) == right);
    vg_prediction_file_close(file);
}

static void separators(void **state) {
    (void)state;
    vg_prediction_options options = plain();
    static const struct {
        const char *text;
        double left, right;
    } cases[] = {
        {"p0;p1\n0,25;0,75\n", .25, .75},
        {"0,25;0,75\n1;0\n", .25, .75}, /* no header: ',' would leave "25;0" together */
        {"p0\tp1\n0,25\t0,75\n", .25, .75},
        {"id;p0;p1\nDoe, Jane;0.25;0.75\n", .25, .75}, /* a comma within a text */
        {"p0;p1\n0,25;7,5e-1\n", .25, .75},
        {"p0;p1\n1,234;-0,5\n", 1.234, -.5}, /* another number shows that the comma is a decimal one */
        {"p_a, b;p_c\n0.25;0.75\n", .25, .75},
        {"\"p;0\",\"p;1\"\n0.25,0.75\n", .25, .75},
        {"p0;p1;label\n0,25;0,75;1,0\n", .25, .75}, /* labels that pandas made floats */
        {"p0,p1\t\n0.25,0.75\t\n", .25, .75},       /* a tab at the ends of lines of a .csv */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        options.classes = strstr(cases[i].text, "p;0") ? "p;0,p;1" : NULL;
        options.logits = strstr(cases[i].text, "1,234") ? 1 : -1;
        if (open_text(cases[i].text, "x.csv", &options) != VG_OK)
            fail_msg("%s: %s", cases[i].text, vg_error_message());
        check_pair(cases[i].left, cases[i].right);
    }
    options = plain();
    assert_ok(open_text("p0\tp1\textra_1\n0.25\t0.75\t\n", "x.tsv", (options.classes = "p0,p1", &options)));
    check_pair(.25, .75); /* the last field is empty, and ignored */
    options = plain();
    options.separator = "semicolon";
    assert_ok(open_text("p,0;p,1\n0.25;0.75\n", "x.csv", (options.classes = ".*", &options)));
    check_pair(.25, .75);
    options = plain();
    options.separator = ";", options.decimal = ",";
    options.logits = 1;
    assert_ok(open_text("p0;p1\n1,234;2,500\n", "x.csv", &options));
    check_pair(1.234, 2.5);
}

static void separators_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *name, *message;
    } cases[] = {
        {"a,b;c\nx,y;z\n", "x.csv", "its fields may be separated by ',' or by ';'; say which it is: --separator ';'"},
        {"p0;p1\n0,25;0.75\n", "x.csv",
         "line 2, column 2: '0.75' has a decimal point, but line 2 a comma; say which it is: --decimal comma"},
        {"p0;p1\n0.25;0.75\n\n0,5;0,5\n", "x.csv",
         "line 4, column 1: '0,5' has a decimal comma, but line 2 a point; say which it is: --decimal point"},
        {"p0;p1\n1,234;2,500\n", "x.csv", "line 2: its comma may be a decimal mark or separate thousands"},
        {"\"p0\",\"p1\"\n\"0,25\",\"0,75\"\n", "x.csv",
         "line 2, column 1: '0,25' has a comma; if that is its decimal mark, give --decimal comma"},
        {"p0;p1\n1.234,5;0\n", "x.csv", "'1.234,5' is not a number"},
        {"p0;p1\n1,2,3;0\n", "x.csv", "'1,2,3' is not a number"},
        {"p0\tp1\n0.5\n", "x.tsv", "line 2: fewer than the 2 fields"},
        {"p0\tp1\n0.5\t\n", "x.tsv", "line 2, column 2: '' is not a number"},
        {"0.5 0.5\n0.5 0.5 0.5\n", "x.txt", "line 2: more than the 2 fields"},
        {"sample;member;p0;p1\na;;0,5;0,5\n", "x.csv", "line 2, column 2: the member is empty"},
        {"sample,member,p0,p1\na,x,.5,.5\na,y,.5,.5\nb,x,.5,.5\n", "x.csv",
         "3 rows, expected one for each of 2 samples and 2 members"},
        {"sample,member,p0,p1\na,x,.5,.5\na,x,.5,.5\n", "x.csv", "2 rows, expected one for each of 1 samples"},
        {"sample,member,p0,p1\na,x,.5,.5\na,x,.5,.5\nb,y,.5,.5\nb,x,.5,.5\n", "x.csv",
         "line 3: sample a, member x is already in line 2"},
    };
    vg_prediction_options options = plain();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(open_text(cases[i].text, cases[i].name, &options), VG_ERR_FORMAT, cases[i].message);
    options.separator = "pipe";
    assert_fails(open_text("a|b\n1|0\n", "x.csv", &options), VG_ERR_ARGUMENT,
                 "--separator: 'pipe' is none of comma, semicolon, tab, space");
    options.separator = NULL, options.decimal = "dot";
    assert_fails(open_text("a,b\n1,0\n", "x.csv", &options), VG_ERR_ARGUMENT,
                 "--decimal: 'dot' is none of point, comma");
}

static void json_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "is empty"},
        {"  \n", "ends after 3 bytes, expected '[' or '{'"},
        {"3", "byte 0: expected '[' or '{', found '3'"},
        {"[]", "holds no samples"},
        {"[[0.5, 0.5]", "ends after 11 bytes, expected ',' or ']'"},
        {"[[0.5, 0.5], [0.5", "expected a closing bracket"},
        {"[[0.5, 0.5] [0.5, 0.5]]", "byte 12: expected ',' or ']', found '['"},
        {"[[0.5, 0.5],]", "byte 12: expected a value, found ']'"},
        {"[[0.5, 0.5]] x", "byte 13: expected nothing after the document"},
        {"{\"p\": [[0.5, 0.5]]}\n{\"p\": [[0.5, 0.5]]}\n", "if it has one object per line, name it .jsonl"},
        {"[[0.5, 0.5], [0.5]]", "sample 1: member 0 is not a list of 2 numbers"},
        {"[[[1, 0]], [[1, 0], [1, 0]]]", "sample 1: probabilities of 2 members, the first sample has"},
        {"[[0.5, NaN]]", "byte"},
        {"[[[[1]]]]", "sample 0: member 0, class 0 is not a number"},
        {"[0.5, 0.5]", "sample 0 is neither a list of members or classes nor an object"},
        {"[[0.5, 0.5], 3]", "sample 1 is neither"},
        {"{\"p\": [[1, 0]], \"label\": [0, 1]}", "2 labels for 1 samples"},
        {"{\"p\": [[1, 0]], \"id\": [0, 1]}", "2 ids for 1 samples"},
        {"{\"p\": [[1, 0]], \"z\": [[1, 0]]}", "'z': holds predictions, labels or ids under two keys"},
        {"{\"p\": 3}", "'p' is not a list"},
        {"{\"temperatures\": [1.5]}", "holds no predictions: none of its keys is p, probs, z, logits or label"},
        {"{p: [[1, 0]]}", "byte 1: expected a key in quotes, found 'p'"},
        {"{\"p\" [[1, 0]]}", "byte 5: expected ':', found '['"},
        {"[{\"cat\": 0.5, \"dog\": 0.5}]", "sample 0: has none of the keys p, z and label; if each of its fields is a "
                                           "class, write a .csv of them"},
        {"[\"\\", "closing quote"},
        {"[{\"cat\": 0.5, \"dog\": 0.5, \"y_true\": \"cat\"}]",
         "its samples have no key p or z (--key names another); if it is a table that pandas wrote, convert it in "
         "Python: "
         "t = pandas.read_json(\"x.json\"); t.to_csv(\"x.csv\", index=False)"},
        {"{\"cat\": {\"0\": 0.5}, \"y\": {\"0\": 1}}",
         "its keys hold objects, not lists; if it is a table that pandas wrote"},
    };
    vg_prediction_options options = plain();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(open_text(cases[i].text, "x.json", &options), VG_ERR_FORMAT, cases[i].message);
    /* Nesting without end is refused without recursion. */
    size_t deep = 1 << 20;
    char *text = malloc(2 * deep + 1);
    memset(text, '[', deep), memset(text + deep, ']', deep);
    text[2 * deep] = '\0';
    assert_fails(open_text(text, "x.json", &options), VG_ERR_FORMAT, "x.json: byte");
    free(text);
}

static void json_labels(void **state) {
    (void)state;
    vg_prediction_options options = plain();
    assert_ok(open_text("\xef\xbb\xbf{\"q\": [[0.25, 0.75], [1, 0]], \"classes\": [\"cat\", \"dog\"], \"y\": [\"dog\", "
                        "\"cat\"]}",
                        "x.json", &options));
    const int64_t *labels;
    size_t columns;
    assert_ok(vg_prediction_file_labels(file, &labels, &columns));
    assert_memory_equal(labels, ((int64_t[]){1, 0}), 16);
    char folder[] = "/tmp/vargate-kinds-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/y.json", folder);
    static const char *const lists[] = {"[\"cat\", \"dog\"]", "[0, 1]", "[[1, 0], [0, 1]]", "{\"labels\": [0, 1.0]}"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        spit(path, lists[i], strlen(lists[i]));
        assert_ok(vg_prediction_file__read_labels(file, &labels, &columns, path, NULL));
        assert_memory_equal(labels, ((int64_t[]){0, 1}), 16);
    }
    unlink(path);
    rmdir(folder);
    check_pair(.25, .75);
}

/* --- gzip --------------------------------------------------------------------------------------------------------- */
static void gzip_damaged(void **state) {
    (void)state;
    size_t size;
    uint8_t *bytes = slurp(DATA "long.csv.gz", &size);
    vg_source *source;
    for (size_t cut = 2; cut < size; cut++)
        assert_fails(vg_source__open_memory(&source, bytes, cut, "x.csv.gz"), VG_ERR_FORMAT, "x.csv.gz: truncated");
    bytes[size / 2] ^= 1;
    assert_true(vg_source__open_memory(&source, bytes, size, "x.csv.gz") == VG_ERR_FORMAT);
    bytes[size / 2] ^= 1;
    bytes[size - 5] ^= 1; /* CRC */
    assert_fails(vg_source__open_memory(&source, bytes, size, "x.csv.gz"), VG_ERR_FORMAT, "damaged gzip data");
    bytes[size - 5] ^= 1;
    bytes = realloc(bytes, size + 4);
    memcpy(bytes + size, "junk", 4);
    assert_fails(vg_source__open_memory(&source, bytes, size + 4, "x.csv.gz"), VG_ERR_FORMAT,
                 "after its gzip data, does not begin a gzip member");
    /* Gzip in gzip is not expanded twice, and an empty content is empty. */
    free(bytes);
    static const uint8_t nothing[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    assert_fails(vg_source__open_memory(&source, nothing, sizeof nothing, "x.csv.gz"), VG_ERR_FORMAT, "is empty");
}

/* 2 MB that inflate to 2 GB are refused before they are all written. */
static void gzip_bomb(void **state) {
    (void)state;
    size_t room = 4 << 20;
    uint8_t *packed = malloc(room), *zeros = calloc(1, 1 << 20);
    z_stream z = {.next_out = packed, .avail_out = (uInt)room};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    memset(zeros, '0', 1 << 20);
    for (int i = 0; i < 1100; i++) {
        z.next_in = zeros, z.avail_in = 1 << 20;
        assert_int_equal(deflate(&z, i == 1099 ? Z_FINISH : Z_NO_FLUSH), i == 1099 ? Z_STREAM_END : Z_OK);
    }
    vg_source *source;
    assert_fails(vg_source__open_memory(&source, packed, z.total_out, "x.csv.gz"), VG_ERR_FORMAT,
                 "inflates to more than 200 times its");
    deflateEnd(&z);
    free(packed);
    free(zeros);
}

/* --- one array per member ----------------------------------------------------------------------------------------- */
static void members_refused(void **state) {
    (void)state;
    vg_prediction_options options = plain();
    assert_fails(vg_prediction_file_open(&file, DATA "models_named.npz", &options), VG_ERR_FORMAT,
                 "3 others that could be predictions (resnet, vit, swin); name one: --key NAME, or, if each is a "
                 "member's, all of them: --key resnet,vit,swin");
    assert_fails(vg_prediction_file_open(&file, DATA "models_unnamed.npz", &options), VG_ERR_FORMAT,
                 "--key arr_0,arr_1,arr_2");
    options.key = "resnet,vgg";
    assert_fails(vg_prediction_file_open(&file, DATA "models_named.npz", &options), VG_ERR_ARGUMENT,
                 "no array named 'vgg'");
    options.key = "resnet,vit,resnet";
    assert_fails(vg_prediction_file_open(&file, DATA "models_named.npz", &options), VG_ERR_ARGUMENT,
                 "'resnet' is named twice");
    options.key = "resnet,L";
    assert_fails(vg_prediction_file_open(&file, DATA "models_named.npz", &options), VG_ERR_FORMAT,
                 "array 'L' has 1 axis, expected (samples, classes) of a member");
    options.key = "net*";
    assert_fails(vg_prediction_file_open(&file, DATA "models_named.npz", &options), VG_ERR_ARGUMENT,
                 "no array's name begins with 'net'");
    options.key = "models";
    assert_fails(vg_prediction_file_open(&file, DATA "models.npz", &options), VG_ERR_ARGUMENT,
                 "no array named 'models'");
    options.key = "model_1"; /* one of them alone */
    assert_ok(vg_prediction_file_open(&file, DATA "models.npz", &options));
    size_t m;
    vg_prediction_file_shape(file, NULL, &m, NULL, NULL);
    assert_int_equal(m, 1);
    vg_prediction_file_close(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_like_pandas), cmocka_unit_test(other_programs),     cmocka_unit_test(separators),
        cmocka_unit_test(json_labels),      cmocka_unit_test(separators_refused), cmocka_unit_test(json_refused),
        cmocka_unit_test(gzip_damaged),     cmocka_unit_test(gzip_bomb),          cmocka_unit_test(members_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
