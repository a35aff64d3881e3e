/* test_formats_refusals.c - calls and files that are refused, with the words of the refusal: writers used out of order,
 * metadata that cannot be kept, arrays and records that fit no samples, labels and names that fit no classes. */
#include <unistd.h>

#include "formats/text_file.h"
#include "formats/tfevents.h"
#include "formats_util.h"

static char folder[256], path[400];
static const char *at(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}
static bool is_there(const char *name) { return access(at(name), F_OK) == 0; }

/* --- writers */
static vg_writer *opened(const char *name) {
    vg_writer *writer;
    assert_ok(vg_writer_open(&writer, at(name)));
    return writer;
}

static void writers_check_their_calls(void **state) {
    static const float values[4] = {1, 2, 3, 4};
    static const size_t shape[9] = {2, 2, 1, 1, 1, 1, 1, 1, 1};
    vg_writer *writer;
    (void)state;
    assert_fails(vg_writer_open(NULL, "x.npy"), VG_ERR_ARGUMENT, "out and path must not be NULL");
    assert_fails(vg_writer_open(&writer, NULL), VG_ERR_ARGUMENT, "out and path must not be NULL");
    assert_fails(vg_writer_array(NULL, "a", VG_ELEMENT_F32, 2, shape, values), VG_ERR_ARGUMENT,
                 "vg_writer_array: writer must not be NULL");
    assert_fails(vg_writer_close(NULL), VG_ERR_ARGUMENT, "writer must not be NULL");
    assert_fails(vg_writer__metadata(NULL, "k", "v"), VG_ERR_ARGUMENT, "must not be NULL");
    assert_fails(vg_writer__mark(NULL, VG_PRODUCT_SCORES), VG_ERR_ARGUMENT, "writer must not be NULL");
    vg_writer_abandon(NULL);

    writer = opened("calls.npz");
    assert_fails(vg_writer_array(writer, NULL, VG_ELEMENT_F32, 2, shape, values), VG_ERR_ARGUMENT, "must not be NULL");
    assert_fails(vg_writer__append(writer, NULL, 4), VG_ERR_ARGUMENT, "must not be NULL");
    assert_fails(vg_writer__mark(writer, (vg_product)99), VG_ERR_ARGUMENT, "no product has the number 99");
    assert_fails(vg_writer__texts(writer, "names", NULL, 2), VG_ERR_ARGUMENT, "must not be NULL");
    assert_fails(vg_writer_array(writer, "deep", VG_ELEMENT_F32, 9, shape, values), VG_ERR_ARGUMENT,
                 "array 'deep' has 9 axes, at most 8 can be written");
    /* Nothing more is written to a file whose writing failed, and none appears. */
    assert_fails(vg_writer_array(writer, "a", VG_ELEMENT_F32, 2, shape, values), VG_ERR_IO, "an earlier write failed");
    assert_fails(vg_writer__append(writer, values, 4), VG_ERR_IO, "an earlier write failed");
    assert_fails(vg_writer_close(writer), VG_ERR_IO, "an earlier write failed");
    assert_false(is_there("calls.npz"));

    writer = opened("short.npz");
    assert_ok(vg_writer__begin(writer, "a", VG_ELEMENT_F32, 2, shape));
    assert_ok(vg_writer__append(writer, values, 8));
    assert_ok(vg_writer__append(writer, NULL, 0));
    assert_fails(vg_writer_close(writer), VG_ERR_ARGUMENT, "array 'a' is 8 bytes short");
    assert_false(is_there("short.npz"));
    writer = opened("empty.npy");
    assert_fails(vg_writer_close(writer), VG_ERR_ARGUMENT, "an .npy holds one array, none was written");
    writer = opened("half.npy");
    assert_fails(vg_writer_array(writer, "a", VG_ELEMENT_BF16, 2, shape, values), VG_ERR_ARGUMENT,
                 ".npy cannot hold bfloat16");
    vg_writer_abandon(writer);
    char *name = malloc(60002);
    memset(name, 'n', 60001);
    name[60001] = '\0';
    writer = opened("long.npz");
    assert_fails(vg_writer_array(writer, name, VG_ELEMENT_F32, 2, shape, values), VG_ERR_ARGUMENT,
                 "an array's name has 60001 bytes, at most 60000 can be written");
    vg_writer_abandon(writer);
    free(name);
}

static void metadata_that_cannot_be_kept(void **state) {
    static const char *const names[] = {"cat", "dog"};
    static const float value = 1;
    vg_writer *writer = opened("twice.npz");
    (void)state;
    assert_ok(vg_writer__metadata(writer, "key", "one"));
    assert_fails(vg_writer__metadata(writer, "key", "two"), VG_ERR_ARGUMENT, "metadata 'key' given twice");
    vg_writer_abandon(writer);
    for (int i = 0; i < 2; i++) {
        writer = opened(i ? "bytes.npz" : "bytes.safetensors");
        assert_ok(vg_writer_array(writer, "a", VG_ELEMENT_F32, 0, NULL, &value));
        assert_ok(vg_writer__metadata(writer, "key", "\xff\xfe"));
        assert_fails(vg_writer_close(writer), VG_ERR_ARGUMENT, "metadata 'key' is not UTF-8");
    }
    char *text = malloc(70001);
    memset(text, 't', 70000);
    text[70000] = '\0';
    writer = opened("large.npz");
    assert_ok(vg_writer_array(writer, "a", VG_ELEMENT_F32, 0, NULL, &value));
    assert_ok(vg_writer__metadata(writer, "key", text));
    assert_fails(vg_writer_close(writer), VG_ERR_ARGUMENT, "bytes of metadata, an .npz keeps at most 65535");
    assert_false(is_there("large.npz"));
    free(text);
    writer = opened("m.npy");
    assert_fails(vg_writer__metadata(writer, "key", "v"), VG_ERR_ARGUMENT, "only .npz and .safetensors keep metadata");
    assert_ok(vg_writer__mark(writer, VG_PRODUCT_SCORES)); /* an .npy has none */
    vg_writer_abandon(writer);
    writer = opened("t.safetensors");
    assert_fails(vg_writer__texts(writer, "names", names, 2), VG_ERR_ARGUMENT, "cannot hold an array of texts");
    vg_writer_abandon(writer);
    writer = opened("m.safetensors");
    assert_fails(vg_writer_array(writer, "__metadata__", VG_ELEMENT_F32, 0, NULL, &value), VG_ERR_ARGUMENT,
                 "an array cannot be named __metadata__");
    vg_writer_abandon(writer);
}

/* Bytes that are no UTF-8 become the replacement character; what is written can be read. */
static void texts_of_any_bytes(void **state) {
    enum { COUNT = 7 };
    static const char *const texts[COUNT] = {"caf\xc3\xa9",       "\xf0\x9f\x98\x80", "b \xff",
                                             "a\xe2\x82",         "c \xed\xa0\x80",   "d \xe0\x80\xaf", /* overlong */
                                             "e \xf4\x90\x80\x80"}; /* past the last */
    static const float p[COUNT] = {1};
    static const size_t shape[] = {1, COUNT};
    const char *const *found;
    vg_prediction_file *file;
    vg_writer *writer = opened("texts.npz");
    (void)state;
    assert_ok(vg_writer_array(writer, "P", VG_ELEMENT_F32, 2, shape, p));
    assert_ok(vg_writer__texts(writer, "classes", texts, COUNT));
    assert_ok(vg_writer_close(writer));
    assert_ok(vg_prediction_file_open(&file, at("texts.npz"), NULL));
    assert_ok(vg_prediction_file_classes(file, &found));
    assert_string_equal(found[0], texts[0]);
    assert_string_equal(found[1], texts[1]);
    for (size_t i = 2; i < COUNT; i++)
        if (!strstr(found[i], "\xef\xbf\xbd"))
            fail_msg("text %zu is read back as '%s'", i, found[i]);
    vg_prediction_file_close(file);
}

static void texts_and_events(void **state) {
    vg_text *text;
    vg_events *events;
    vg_event_scalar scalars[VG_EVENT_SCALARS + 1];
    (void)state;
    assert_fails(vg_text__open(NULL, "x"), VG_ERR_ARGUMENT, "out and path must not be NULL");
    assert_fails(vg_text__write(NULL, "x", 1), VG_ERR_ARGUMENT, "text and bytes must not be NULL");
    assert_fails(vg_text__close(NULL), VG_ERR_ARGUMENT, "text must not be NULL");
    vg_text__abandon(NULL);
    assert_fails(vg_text__open(&text, at("no/such/folder/x.txt")), VG_ERR_IO, "x.txt");
    assert_fails(vg_events__open(&events, at("no/such/folder/events")), VG_ERR_IO, "events");
    for (size_t i = 0; i <= VG_EVENT_SCALARS; i++)
        scalars[i] = (vg_event_scalar){"loss", 1};
    assert_ok(vg_events__open(&events, at("events")));
    assert_fails(vg_events__write(events, 0, 1, scalars, VG_EVENT_SCALARS + 1), VG_ERR_ARGUMENT,
                 "an event of 25 scalars, expected at most 24");
    assert_ok(vg_events__write(events, 0, 1, scalars, VG_EVENT_SCALARS));
    assert_ok(vg_events__close(events));
    assert_ok(vg_events__close(NULL));
}

static void sources_check_their_calls(void **state) {
    vg_source *source;
    vg_array_info info;
    double value;
    (void)state;
    assert_fails(vg_source__open(NULL, "x"), VG_ERR_ARGUMENT, "must not be NULL");
    assert_fails(vg_source__open_memory(&source, NULL, 1, "x"), VG_ERR_ARGUMENT, "must not be NULL");
    assert_ok(vg_source__open(&source, at("texts.npz")));
    assert_fails(vg_source__info(source, 7, &info), VG_ERR_ARGUMENT, "array 7 wanted, but it holds 1");
    assert_fails(vg_source__read_f64(source, 7, 0, 1, &value), VG_ERR_ARGUMENT, "array 7 wanted, but it holds 1");
    vg_source__close(source);
    assert_fails(vg_target__check(NULL, VG_PRODUCT_SCORES, NULL, 0, 0), VG_ERR_ARGUMENT, "must not be NULL");
    assert_fails(vg_target__check("x", (vg_product)99, NULL, 0, 0), VG_ERR_ARGUMENT, "the product must be one");
}

/* --- predictions */
static vg_status read_all(const char *name, const vg_prediction_options *options) {
    vg_prediction_file *file;
    const int64_t *labels;
    const char *const *texts;
    vg_predictions view;
    size_t columns;
    vg_status status = vg_prediction_file_open(&file, at(name), options);
    if (status != VG_OK)
        return status;
    status = vg_prediction_file_block(file, 0, 1, &view);
    if (status == VG_OK)
        status = vg_prediction_file_labels(file, &labels, &columns);
    if (status == VG_OK)
        status = vg_prediction_file_ids(file, &texts);
    vg_prediction_file_close(file);
    return status;
}

static void records_are_checked(void **state) {
    static const struct {
        const char *text, *label_key, *classes, *message; /* message NULL: it is read */
    } files[] = {
        {"{\"p\": [[0.5, 0.5]], \"label\": 0}\n", "truth", NULL, "--label: it has no key 'truth'"},
        {"{\"p\": [[0.5, 0.5]], \"truth\": 1}\n", "truth", NULL, NULL},
        {"{\"p\": [[0.5, 0.5]], \"z\": [[1, 2]]}\n", NULL, NULL, "has predictions or labels under two keys"},
        {"{\"p\": [[0.5, 0.5]], \"label\": 1, \"y\": 1}\n", NULL, NULL, "has predictions or labels under two keys"},
        {"{\"cat\": 0.5, \"dog\": 0.5}\n", NULL, NULL, "has none of the keys p, z and label"},
        {"{\"p\": [[0.5, 0.5]], \"classes\": 7}\n", NULL, NULL, "its classes are not a list of names"},
        {"{\"p\": [[0.5, 0.5]], \"id\": {\"a\": 1.5}}\n", NULL, NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        vg_prediction_options options = VG_PREDICTION_OPTIONS_INIT;
        options.labels_key = files[i].label_key;
        options.classes = files[i].classes;
        spit(at("records.jsonl"), files[i].text, strlen(files[i].text));
        vg_status status = read_all("records.jsonl", &options);
        if (!files[i].message && status != VG_OK)
            fail_msg("%s: %s", files[i].text, vg_error_message());
        if (files[i].message) {
            assert_int_not_equal(status, VG_OK);
            if (!strstr(vg_error_message(), files[i].message))
                fail_msg("%s: '%s', expected '%s'", files[i].text, vg_error_message(), files[i].message);
        }
    }
    static const char lists[] = "{\"probs\": [[[0.5, 0.5]]], \"classes\": \"cat,dog\"}";
    spit(at("lists.json"), lists, sizeof lists - 1);
    assert_int_not_equal(read_all("lists.json", NULL), VG_OK);
    assert_non_null(strstr(vg_error_message(), "its classes are not a list of names"));
}

static void save_arrays(const char *name, const float *values, size_t classes, const char *extra, vg_element element,
                        size_t rank, const size_t *shape, const void *data) {
    const size_t whole[] = {2, 1, classes};
    vg_writer *writer = opened(name);
    assert_ok(vg_writer_array(writer, "P", VG_ELEMENT_F32, 3, whole, values));
    assert_ok(vg_writer_array(writer, extra, element, rank, shape, data));
    assert_ok(vg_writer_close(writer));
}

static void labels_and_ids_are_checked(void **state) {
    static const float p[] = {0.5F, 0.5F, 0.25F, 0.75F};
    static const int64_t numbers[] = {0, 1, 1};
    static const double reals[] = {0.5, 1};
    static const size_t two[] = {2}, three[] = {3}, none[] = {2, 0}, cube[] = {2, 1, 1};
    vg_prediction_options options = VG_PREDICTION_OPTIONS_INIT;
    (void)state;
    save_arrays("labels.npz", p, 2, "y", VG_ELEMENT_I64, 1, three, numbers);
    assert_fails(read_all("labels.npz", NULL), VG_ERR_DATA, "3");
    save_arrays("labels.npz", p, 2, "y", VG_ELEMENT_I64, 2, none, numbers);
    assert_fails(read_all("labels.npz", NULL), VG_ERR_FORMAT, "labels 'y' have 0 columns");
    save_arrays("labels.npz", p, 2, "y", VG_ELEMENT_I64, 3, cube, numbers);
    assert_fails(read_all("labels.npz", NULL), VG_ERR_FORMAT, "have 3 axes, expected 1 (samples) or 2");
    save_arrays("labels.npz", p, 2, "y", VG_ELEMENT_I64, 1, two, numbers);
    assert_ok(read_all("labels.npz", NULL));
    options.labels_key = "P";
    assert_fails(read_all("labels.npz", &options), VG_ERR_ARGUMENT, "'P' cannot hold both the predictions and the");
    options.labels_key = "truth";
    assert_fails(read_all("labels.npz", &options), VG_ERR_ARGUMENT, "truth");
    options.labels_key = NULL;
    options.labels_from = 2;
    assert_fails(read_all("labels.npz", &options), VG_ERR_ARGUMENT, "labels count from 0 or from 1, not from 2");
    options.labels_from = 0;
    options.id = "y";
    assert_ok(read_all("labels.npz", &options)); /* whole numbers are ids too */
    save_arrays("ids.npz", p, 2, "who", VG_ELEMENT_I64, 1, three, numbers);
    options.id = "who";
    assert_fails(read_all("ids.npz", &options), VG_ERR_DATA, "'who' has 3 entries, expected 2");
    save_arrays("ids.npz", p, 2, "who", VG_ELEMENT_F64, 1, two, reals);
    assert_int_not_equal(read_all("ids.npz", &options), VG_OK);
    save_arrays("ids.npz", p, 2, "who", VG_ELEMENT_I64, 3, cube, numbers);
    assert_fails(read_all("ids.npz", &options), VG_ERR_DATA, "'who' is not a list of texts or whole numbers");
    options.id = "nobody";
    assert_fails(read_all("ids.npz", &options), VG_ERR_ARGUMENT, "nobody");
    assert_fails(vg_prediction_file_open(NULL, "x", NULL), VG_ERR_ARGUMENT, "out and path must not be NULL");
}

static void members_of_other_shapes(void **state) {
    static const float p[] = {0.5F, 0.5F, 0.25F, 0.75F, 0.5F, 0.5F};
    static const size_t pair[] = {2, 2}, trio[] = {3, 2}, empty[] = {2, 1, 0};
    vg_prediction_options options = VG_PREDICTION_OPTIONS_INIT;
    vg_writer *writer = opened("members.npz");
    (void)state;
    assert_ok(vg_writer_array(writer, "model_0", VG_ELEMENT_F32, 2, pair, p));
    assert_ok(vg_writer_array(writer, "model_1", VG_ELEMENT_F32, 2, trio, p));
    assert_ok(vg_writer_close(writer));
    assert_fails(read_all("members.npz", NULL), VG_ERR_FORMAT,
                 "array 'model_1' is (3, 2), but 'model_0' is (2, 2): members predict the same samples and classes");
    writer = opened("none.npz");
    assert_ok(vg_writer_array(writer, "P", VG_ELEMENT_F32, 3, empty, p));
    assert_ok(vg_writer_close(writer));
    assert_fails(read_all("none.npz", NULL), VG_ERR_FORMAT, "has 1 members and 0 classes, expected at least one of");
    writer = opened("first.npy");
    assert_ok(vg_writer_array(writer, "", VG_ELEMENT_F32, 3, (const size_t[]){3, 1, 2}, p));
    assert_ok(vg_writer_close(writer));
    options.members_first = 1;
    options.logits = 0;
    vg_prediction_file *file;
    size_t n, m, c;
    int logits;
    assert_ok(vg_prediction_file_open(&file, at("first.npy"), &options));
    vg_prediction_file_shape(file, &n, &m, &c, &logits);
    assert_int_equal(n, 1);
    assert_int_equal(m, 3);
    vg_prediction_file_close(file);
}

static int set_up(void **state) {
    (void)state;
    make_folder(folder, sizeof folder);
    return 0;
}
static int tear_down(void **state) {
    char command[300];
    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writers_check_their_calls),  cmocka_unit_test(metadata_that_cannot_be_kept),
        cmocka_unit_test(texts_of_any_bytes),         cmocka_unit_test(texts_and_events),
        cmocka_unit_test(sources_check_their_calls),  cmocka_unit_test(records_are_checked),
        cmocka_unit_test(labels_and_ids_are_checked), cmocka_unit_test(members_of_other_shapes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
