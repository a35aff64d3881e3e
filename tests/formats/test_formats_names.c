/* test_formats_names.c - roles of columns, and labels, classes and ids that are names: what is read, and what is
 * refused with the option that helps. */
#include "formats/prediction_file.h"
#include "formats_util.h"

static vg_prediction_file *file;

static vg_prediction_options plain(void) {
    vg_prediction_options options = VG_PREDICTION_OPTIONS_INIT;
    options.multilabel = 0;
    return options;
}

static vg_status open_text(const char *text, const char *name, const vg_prediction_options *options) {
    return vg_prediction_file__open_memory(&file, text, strlen(text), name, options);
}

/* The opened file has these labels, classes and ids (NULL: none), and is closed. */
static void check_names(size_t n, size_t c, const int64_t *labels, const char *const *classes, const char *const *ids) {
    size_t found_n, found_c, columns;
    const int64_t *found;
    const char *const *names;
    vg_prediction_file_shape(file, &found_n, NULL, &found_c, NULL);
    assert_int_equal(found_n, n);
    assert_int_equal(found_c, c);
    assert_ok(vg_prediction_file_labels(file, &found, &columns));
    assert_int_equal(found != NULL, labels != NULL);
    assert_int_equal(columns, labels != NULL);
    for (size_t i = 0; labels && i < n; i++)
        assert_int_equal(found[i], labels[i]);
    assert_ok(vg_prediction_file_classes(file, &names));
    assert_int_equal(names != NULL, classes != NULL);
    for (size_t i = 0; classes && i < c; i++)
        assert_string_equal(names[i], classes[i]);
    assert_ok(vg_prediction_file_ids(file, &names));
    assert_int_equal(names != NULL, ids != NULL);
    for (size_t i = 0; ids && i < n; i++)
        assert_string_equal(names[i], ids[i]);
    vg_prediction_file_close(file);
}

static void check_values(const double *values) {
    vg_predictions view;
    size_t n, m, c;
    vg_prediction_file_shape(file, &n, &m, &c, NULL);
    assert_ok(vg_prediction_file_block(file, 0, n, &view));
    assert_memory_equal(view.data, values, n * m * c * sizeof *values);
}

#define TEXTS(...) ((const char *const[]){__VA_ARGS__})
#define NUMBERS(...) ((const int64_t[]){__VA_ARGS__})

static void numpy_texts(void **state) {
    (void)state;
    vg_prediction_options options = plain();
    const char *const *classes = TEXTS("cat", "K\303\244tzchen", "\360\237\220\266");
    assert_ok(vg_prediction_file_open(&file, DATA "names.npz", &options));
    check_names(4, 3, NUMBERS(0, 2, 1, 2), classes, TEXTS("a", "bb", "", "dddd"));
    assert_ok(vg_prediction_file_open(&file, DATA "names_deflated.npz", &options));
    check_names(4, 3, NUMBERS(0, 2, 1, 2), classes, TEXTS("9", "8", "7", "6"));
    const int64_t *labels;
    size_t columns;
    assert_ok(vg_prediction_file_open(&file, DATA "names_missing.npz", &options));
    assert_fails(vg_prediction_file_labels(file, &labels, &columns), VG_ERR_DATA, "give --classes with the 3 names");
    vg_prediction_file_close(file);
    options.classes = "cat,K\303\244tzchen,\360\237\220\266";
    assert_ok(vg_prediction_file_open(&file, DATA "names_missing.npz", &options));
    check_names(4, 3, NUMBERS(0, 2, 1, 2), classes, NULL);
    options.classes = "cat,dog,bird";
    assert_ok(vg_prediction_file_open(&file, DATA "names_missing.npz", &options));
    assert_fails(vg_prediction_file_labels(file, &labels, &columns), VG_ERR_DATA,
                 "label '\360\237\220\266' of sample 1 is none of the classes cat, dog, bird");
    vg_prediction_file_close(file);
    options.classes = "cat,dog";
    assert_fails(vg_prediction_file_open(&file, DATA "names_missing.npz", &options), VG_ERR_DATA,
                 "2 names for 3 classes");
    options.classes = "cat,dog,cat";
    assert_fails(vg_prediction_file_open(&file, DATA "names_missing.npz", &options), VG_ERR_ARGUMENT,
                 "'cat' is named twice");
    options = plain(); /* numbers that are names, found without options */
    assert_ok(vg_prediction_file_open(&file, DATA "sklearn.npz", &options));
    check_names(4, 3, NUMBERS(0, 2, 1, 2), TEXTS("2", "5", "7"), NULL);
    options.key = "y_prob", options.labels_key = "y_true";
    assert_ok(vg_prediction_file_open(&file, DATA "sklearn.npz", &options));
    check_names(4, 3, NUMBERS(0, 2, 1, 2), TEXTS("2", "5", "7"), NULL);
    options.labels_key = "truth";
    assert_ok(vg_prediction_file_open(&file, DATA "sklearn.npz", &options));
    assert_fails(vg_prediction_file_labels(file, &labels, &columns), VG_ERR_ARGUMENT,
                 "no array named 'truth'; it holds 'y_prob'");
    vg_prediction_file_close(file);
    options = plain(); /* the same name twice */
    char folder[256], path[300];
    make_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/same.npz", folder);
    vg_writer *writer;
    float values[3] = {.5f, .25f, .25f};
    int64_t twice[3] = {2, 5, 2};
    assert_ok(vg_writer_open(&writer, path));
    assert_ok(vg_writer_array(writer, "P", VG_ELEMENT_F32, 2, (size_t[]){1, 3}, values));
    assert_ok(vg_writer_array(writer, "classes", VG_ELEMENT_I64, 1, (size_t[]){3}, twice));
    assert_ok(vg_writer_close(writer));
    assert_fails(vg_prediction_file_open(&file, path, &options), VG_ERR_DATA, "classes 0 and 2 are both named '2'");
    remove(path);
    remove(folder);
    options = plain(); /* texts of bytes, in a file of their own */
    assert_ok(open_text("dog,cat\n.5,.5\n.25,.75\n", "a.csv", &options));
    assert_ok(vg_prediction_file__read_labels(file, &labels, &columns, DATA "text_bytes.npy", NULL));
    assert_int_equal(labels[0] * 10 + labels[1], 10);
    vg_prediction_file_close(file);
    /* objects are not unpickled */
    options.labels_key = "L";
    assert_ok(vg_prediction_file_open(&file, DATA "objects.npz", &options));
    assert_fails(vg_prediction_file_labels(file, &labels, &columns), VG_ERR_ARGUMENT, "only pickle can read");
    vg_prediction_file_close(file);
}

static void csv_roles(void **state) {
    (void)state;
    vg_prediction_options options = plain();
    /* pandas' index, an id and the true class are never classes. */
    assert_ok(open_text(",cat,dog,y_true\n0,.75,.25,dog\n1,.5,.5,cat\n", "a.csv", &options));
    check_values((double[]){.75, .25, .5, .5});
    check_names(2, 2, NUMBERS(1, 0), TEXTS("cat", "dog"), TEXTS("0", "1"));
    assert_ok(open_text("Unnamed: 0,id,p_cat,p_dog,label\n0,x,.75,.25,cat\n1,y,.5,.5,dog\n", "a.csv", &options));
    check_names(2, 2, NUMBERS(0, 1), TEXTS("cat", "dog"), TEXTS("x", "y"));
    /* Numbered columns go where their number says; numbers from 0 are no names, others are. */
    assert_ok(open_text("p1,p0,label\n.25,.75,0\n.5,.5,1\n", "a.csv", &options));
    check_values((double[]){.75, .25, .5, .5});
    check_names(2, 2, NUMBERS(0, 1), NULL, NULL);
    assert_ok(open_text("0,1,2\n.25,.75,0\n", "a.csv", &options));
    check_names(1, 3, NULL, NULL, NULL);
    assert_ok(open_text("class_1,class_2,class_3,y\n.25,.75,0,2\n.25,.75,0,3.0\n", "a.csv", &options));
    check_names(2, 3, NUMBERS(1, 2), TEXTS("1", "2", "3"), NULL);
    /* The long form has ids too. */
    assert_ok(open_text("sample,member,cat,dog,label\n8,1,.5,.5,dog\n7,0,1,0,cat\n7,1,.75,0.25,cat\n8,0,.1,.9,dog\n",
                        "a.csv", &options));
    check_names(2, 2, NUMBERS(0, 1), TEXTS("cat", "dog"), TEXTS("7", "8"));
    /* Roles by option; the order of --classes is that of the classes; what is left over is passed over. */
    options.id = "image", options.labels_key = "species", options.classes = "dog,cat";
    const char *table = "image,cat,dog,confidence,species\na.png,.75,.25,.75,cat\nb.png,.5,.5,.5,dog\n";
    assert_ok(open_text(table, "a.csv", &options));
    check_values((double[]){.25, .75, .5, .5});
    check_names(2, 2, NUMBERS(1, 0), TEXTS("dog", "cat"), TEXTS("a.png", "b.png"));
    options.classes = "[cd].[tg]";
    assert_ok(open_text(table, "a.csv", &options));
    check_names(2, 2, NUMBERS(0, 1), TEXTS("cat", "dog"), TEXTS("a.png", "b.png"));
    options = plain();
    options.member = "model", options.id = "case";
    assert_ok(open_text("case,model,p0,p1\n0,5,.5,.5\n0,6,.25,.75\n", "a.csv", &options));
    check_values((double[]){.5, .5, .25, .75});
    check_names(1, 2, NULL, NULL, TEXTS("0"));
}

static void csv_doubts(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
        const char *id, *label, *classes, *member;
        int logits;
    } cases[] = {
        {"cat,dog,confidence\n.75,.25,.75\n",
         "column 'confidence' is not clearly a class; name those that are: --classes cat,dog", NULL, NULL, NULL, NULL,
         1},
        {"p0,p1,age\n.75,.25,44\n", "column 'age' is not clearly a class; name those that are: --classes p0,p1", NULL,
         NULL, NULL, NULL, -1},
        {"cat,dog,age\n.75,.25,44\n",
         "sum to 45, not 1, so not all may be classes; name those that are: --classes "
         "cat,dog,age",
         NULL, NULL, NULL, NULL, -1},
        {"cat,dog\n7.5,-2\n", "do not show whether all of these columns are classes; name them: --classes cat,dog",
         NULL, NULL, NULL, NULL, 1},
        {"cat,dog\n.75,.25\n", "--id: no column is named 'file'; its columns are cat, dog", "file", NULL, NULL, NULL,
         -1},
        {"cat,dog\n.75,.25\n", "--label: no column is named 'species'", NULL, "species", NULL, NULL, -1},
        {"cat,dog\n.75,.25\n", "--member: no column is named 'model'", NULL, NULL, NULL, "model", -1},
        {"cat,dog\n.75,.25\n", "--classes: 'bird' names no column and matches none; its columns are cat, dog", NULL,
         NULL, "bird", NULL, -1},
        {"cat,dog\n.75,.25\n", "--classes: column 'cat' is named twice", NULL, NULL, "cat,cat", NULL, -1},
        {"cat,dog\n.75,.25\n", "'(' is neither a list of columns nor a regular expression", NULL, NULL, "(", NULL, -1},
        {"cat,dog,label,y\n.75,.25,0,1\n", "more than one column of labels; name the one to take: --label", NULL, NULL,
         NULL, NULL, -1},
        {"sample,id,cat,dog\n0,1,.75,.25\n", "more than one sample column; name the one to take: --id", NULL, NULL,
         NULL, NULL, -1},
        {".75,.25\n", "has no line of column names, so --id cannot name one", "x", NULL, NULL, NULL, -1},
        {"cat,dog,cat\n.5,.5,0\n", "two columns are named 'cat'", NULL, NULL, NULL, NULL, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vg_prediction_options options = plain();
        options.id = cases[i].id, options.labels_key = cases[i].label, options.classes = cases[i].classes;
        options.member = cases[i].member, options.logits = cases[i].logits;
        vg_status status = open_text(cases[i].text, "x.csv", &options);
        assert_fails(status, status == VG_ERR_ARGUMENT ? VG_ERR_ARGUMENT : VG_ERR_FORMAT, cases[i].message);
    }
    vg_prediction_options options = plain(); /* classes that are named are taken, logits or not */
    options.classes = "cat,dog", options.logits = 1;
    assert_ok(open_text("cat,dog\n7.5,-2\n", "x.csv", &options));
    check_values((double[]){7.5, -2});
    vg_prediction_file_close(file);
}

static void jsonl_names(void **state) {
    (void)state;
    vg_prediction_options options = plain();
    assert_ok(open_text("{\"id\": \"a\", \"classes\": [\"cat\", \"dog\"], \"p\": [[0.5, 0.5]], \"label\": \"dog\"}\n"
                        "{\"id\": 7, \"p\": [[1, 0]], \"label\": \"cat\"}\n",
                        "a.jsonl", &options));
    check_names(2, 2, NUMBERS(1, 0), TEXTS("cat", "dog"), TEXTS("a", "7"));
    options.classes = "cat,dog", options.labels_key = "truth", options.id = "file", options.key = "probability";
    assert_ok(open_text("{\"file\": [1], \"probability\": [0.5, 0.5], \"truth\": \"dog\", \"label\": 0}\n", "a.jsonl",
                        &options));
    check_names(1, 2, NUMBERS(1), TEXTS("cat", "dog"), TEXTS("[1]"));
    options = plain();
    assert_ok(open_text("{\"p\": [0.5, 0.5], \"label\": 1.0}\n{\"p\": [0.5, 0.5], \"label\": 0, \"id\": 1}\n",
                        "a.jsonl", &options));
    check_names(2, 2, NUMBERS(1, 0), NULL, NULL);
    assert_fails(
        open_text("{\"p\": [0.5, 0.5], \"label\": \"cat\"}\n{\"p\": [0.5, 0.5], \"label\": 0}\n", "a.jsonl", &options),
        VG_ERR_FORMAT, "line 2: its label is no name, the first line's is");
    assert_fails(open_text("{\"p\": [0.5, 0.5], \"classes\": [\"a\", \"a\"]}\n", "a.jsonl", &options), VG_ERR_FORMAT,
                 "twice");
    assert_fails(open_text("{\"p\": [0.5, 0.5], \"classes\": [1, 2]}\n", "a.jsonl", &options), VG_ERR_FORMAT,
                 "not a list of names");
    const int64_t *labels;
    size_t columns;
    assert_ok(open_text("{\"p\": [0.5, 0.5], \"label\": \"cat\"}\n", "a.jsonl", &options));
    assert_fails(vg_prediction_file_labels(file, &labels, &columns), VG_ERR_DATA, "labels are names ('cat', ...)");
    vg_prediction_file_close(file);
}

/* Labels of three samples and classes: what each text of a label file gives, or its error. */
static void label_kinds(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
        int from, multilabel;
        int64_t labels[3];
    } cases[] = {
        {"0\n2\n1\n", NULL, 0, 0, {0, 2, 1}},
        {"1\n3\n2\n",
         "labels go from 1 to 3 and none is 0: they seem to count the 3 classes from 1; give --labels-from 1",
         0,
         0,
         {0}},
        {"1\n3\n2\n", NULL, 1, 0, {0, 2, 1}},
        {"0\n2\n1\n", "label 0 of sample 0 is outside 1..3", 1, 0, {0}},
        {"0\n3\n1\n", "label 3 of sample 1 is outside 0..2", 0, 0, {0}},
        {"1,0,0\n0,0,1\n0,1,0\n", NULL, 0, 0, {0, 2, 1}},
        {"cat,dog,bird\n1,0,0\n0,0,1\n0,1,0\n", NULL, 0, 0, {0, 2, 1}},
        {"1,0,0\n0,1,1\n0,1,0\n", "row 1 has 2 ones (is this a --multilabel problem?)", 0, 0, {0}},
        {"1,0,0\n0,7,1\n0,1,0\n", "row 1 has 1 ones and other numbers", 0, 0, {0}},
        {"1,0\n0,1\n0,1\n", "labels have 2 columns, expected 1 or 3", 0, 0, {0}},
        {"0\n2\n1\n", "labels have one column; --multilabel needs 3", 0, 1, {0}},
        {"0\n2\n", "2 labels for 3 samples", 0, 0, {0}},
        {"0\n2\n1\n0\n", "give --axes MNC", 0, 0, {0}},
        {"name,y_true\nx,dog\ny,cat\nz,bird\n", NULL, 0, 0, {1, 0, 2}},
        {"species\ndog\ncat\nbird\n", NULL, 0, 0, {1, 0, 2}},
        {"species\ndog\ncat\nfish\n", "label 'fish' of sample 2 is none of the classes cat, dog, bird", 0, 0, {0}},
    };
    char folder[256], path[300], predictions[300];
    make_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/y.csv", folder);
    snprintf(predictions, sizeof predictions, "%s/p.npy", folder);
    float values[36];
    for (size_t i = 0; i < 36; i++)
        values[i] = i % 3 == 0 ? .5f : .25f;
    vg_writer *writer;
    assert_ok(vg_writer_open(&writer, predictions));
    assert_ok(vg_writer_array(writer, "", VG_ELEMENT_F32, 3, (size_t[]){3, 4, 3}, values));
    assert_ok(vg_writer_close(writer));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vg_prediction_options options = plain();
        const int64_t *labels;
        size_t columns;
        options.classes = "cat,dog,bird";
        options.labels_from = cases[i].from;
        options.multilabel = cases[i].multilabel;
        spit(path, cases[i].text, strlen(cases[i].text));
        assert_ok(vg_prediction_file_open(&file, predictions, &options));
        vg_status status = vg_prediction_file__read_labels(file, &labels, &columns, path, NULL);
        if (cases[i].message) {
            assert_fails(status, VG_ERR_DATA, cases[i].message);
            assert_null(labels);
        } else {
            assert_ok(status);
            assert_int_equal(columns, 1);
            assert_memory_equal(labels, cases[i].labels, sizeof cases[i].labels);
        }
        vg_prediction_file_close(file);
    }
    remove(path);
    remove(predictions);
    remove(folder);
}

/* Logits under a name of probabilities, and axes that look exchanged. */
static void noticed(void **state) {
    (void)state;
    char folder[256], path[300];
    make_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/p.npz", folder);
    float values[120];
    for (size_t i = 0; i < 120; i++)
        values[i] = .5f;
    for (int logits = 0; logits < 2; logits++) {
        values[7] = logits ? -2.5f : .5f;
        vg_writer *writer;
        assert_ok(vg_writer_open(&writer, path));
        assert_ok(vg_writer_array(writer, "P", VG_ELEMENT_F32, 3, (size_t[]){3, 20, 2}, values));
        assert_ok(vg_writer_close(writer));
        if (logits) {
            assert_fails(
                vg_prediction_file_open(&file, path, NULL), VG_ERR_DATA,
                "sample 0, member 3, class 1 is -2.5, which is not a probability; if these are logits, give --logits");
            continue;
        }
        assert_ok(vg_prediction_file_open(&file, path, NULL));
        assert_non_null(strstr(vg_prediction_file__notice(file), "read as 3 samples of 20 members"));
        assert_non_null(strstr(vg_prediction_file__notice(file), "--axes MNC"));
        vg_prediction_file_close(file);
        vg_prediction_options options = plain();
        options.axes = "MNC";
        assert_ok(vg_prediction_file_open(&file, path, &options));
        assert_null(vg_prediction_file__notice(file));
        vg_prediction_file_close(file);
    }
    vg_prediction_options options = plain();
    options.logits = 1;
    assert_ok(vg_prediction_file_open(&file, path, &options));
    vg_prediction_file_close(file);
    /* Options of a program that was built when `logits` was their last field. */
    options.struct_size = offsetof(vg_prediction_options, labels_key);
    options.labels_key = (const char *)(uintptr_t)1;
    assert_ok(vg_prediction_file_open(&file, path, &options));
    vg_prediction_file_close(file);
    remove(path);
    remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numpy_texts), cmocka_unit_test(csv_roles),   cmocka_unit_test(csv_doubts),
        cmocka_unit_test(jsonl_names), cmocka_unit_test(label_kinds), cmocka_unit_test(noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
