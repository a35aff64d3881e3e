/* test_formats_predictions.c - predictions and labels in every form that the layer over the readers takes. */
#include <unistd.h>

#include "formats/prediction_file.h"
#include "formats_util.h"

static double at(const vg_predictions *view, size_t n, size_t m, size_t c) {
    ptrdiff_t i = (ptrdiff_t)n * view->stride_n + (ptrdiff_t)m * view->stride_m + (ptrdiff_t)c * view->stride_c;
    return view->dtype == VG_F32 ? (double)((const float *)view->data)[i] : ((const double *)view->data)[i];
}

/* Blocks of every size from every start hold the ramp of make.py: element (n, m, c) is (15 n + 5 m + c) / scale. */
static void check_blocks(vg_prediction_file *file, size_t n, size_t m, size_t c, double scale) {
    size_t shape[3];
    vg_prediction_file_shape(file, shape, shape + 1, shape + 2, NULL);
    assert_int_equal(shape[0], n);
    assert_int_equal(shape[1], m);
    assert_int_equal(shape[2], c);
    for (size_t rows = 1; rows <= n; rows++)
        for (size_t first = 0; first + rows <= n; first++) {
            vg_predictions view;
            assert_ok(vg_prediction_file_block(file, first, rows, &view));
            assert_int_equal(view.n, rows);
            assert_int_equal(view.m, m);
            assert_int_equal(view.c, c);
            for (size_t i = 0; i < rows * m * c; i++) {
                double found = at(&view, i / (m * c), i / c % m, i % c),
                       expected = (double)((first * m * c + i) % 100) / scale;
                if (found != expected)
                    fail_msg("block %zu + %zu, element %zu: %g, expected %g", first, rows, i, found, expected);
            }
        }
    vg_predictions view;
    assert_fails(vg_prediction_file_block(file, n, 1, &view), VG_ERR_ARGUMENT, "samples");
    assert_fails(vg_prediction_file_block(file, 0, 0, &view), VG_ERR_ARGUMENT, "samples");
    assert_fails(vg_prediction_file_block(file, 1, SIZE_MAX, &view), VG_ERR_ARGUMENT, "samples");
}

static void check_file(const char *path, const char *axes, int expect_logits, double scale, size_t label_columns) {
    vg_prediction_options options = VG_PREDICTION_OPTIONS_INIT;
    options.axes = axes;
    vg_prediction_file *file;
    int logits;
    assert_ok(vg_prediction_file_open(&file, path, &options));
    vg_prediction_file_shape(file, NULL, NULL, NULL, &logits);
    assert_int_equal(logits, expect_logits);
    check_blocks(file, 4, 3, 5, scale);
    const int64_t *labels;
    size_t columns;
    for (int again = 0; again < 2; again++) {
        assert_ok(vg_prediction_file_labels(file, &labels, &columns));
        assert_int_equal(columns, label_columns);
        if (label_columns == 1)
            assert_memory_equal(labels, ((int64_t[]){0, 1, 4, 2}), 32);
        else if (label_columns == 5)
            assert_memory_equal(labels, ((int64_t[]){0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}), 160);
        else
            assert_null(labels);
    }
    vg_prediction_file_close(file);
}

static void as_stored(void **state) {
    (void)state;
    check_file(DATA "le_f4.npy", "NMC", 0, 1, 0);
    check_file(DATA "le_f2.npy", "NMC", 0, 1, 0);
    check_file(DATA "le_u1.npy", "NMC", 0, 1, 0);
    check_file(DATA "fortran.npy", "NMC", 0, 1, 0);
    check_file(DATA "be_f2.npy", "NMC", 0, 1, 0); /* Fortran order too */
    check_file(DATA "be_f8.npy", "NMC", 0, 1, 0);
    check_file(DATA "stored.npz", "NMC", 0, 64, 1);
    check_file(DATA "deflated.npz", "NMC", 0, 64, 1);
    check_file(DATA "deflated_fortran.npz", "NMC", 0, 64, 1);
    check_file(DATA "others.npz", "NMC", 0, 64, 1);
    check_file(DATA "mnc.npz", "MNC", 0, 64, 1);
    check_file(DATA "mnc_stored.npz", "MNC", 0, 64, 1);
    check_file(DATA "logits.npz", "NMC", 1, 64, 1);
    check_file(DATA "multilabel.npz", "NMC", 0, 64, 5);
    check_file(DATA "logits.safetensors", "NMC", 1, 64, 1);
}

static void by_options(void **state) {
    (void)state;
    vg_prediction_options options = VG_PREDICTION_OPTIONS_INIT;
    vg_prediction_file *file;
    int logits;
    options.key = "f2";
    options.logits = 1;
    assert_ok(vg_prediction_file_open(&file, DATA "mixed.safetensors", &options));
    vg_prediction_file_shape(file, NULL, NULL, NULL, &logits);
    assert_int_equal(logits, 1);
    check_blocks(file, 4, 3, 5, 1);
    vg_prediction_file_close(file);
    options.key = "scalar";
    assert_fails(vg_prediction_file_open(&file, DATA "mixed.safetensors", &options), VG_ERR_FORMAT,
                 "'scalar' has 0 axes");
    assert_null(file);
    options.key = "nothing";
    assert_fails(vg_prediction_file_open(&file, DATA "stored.npz", &options), VG_ERR_ARGUMENT,
                 "no array named 'nothing'");
    options.key = NULL;
    assert_fails(vg_prediction_file_open(&file, DATA "mixed.safetensors", &options), VG_ERR_FORMAT, "P, Q or Z");
    assert_fails(vg_prediction_file_open(&file, DATA "bool.npy", NULL), VG_ERR_FORMAT, "has 1 axis, expected 3");
    assert_fails(vg_prediction_file_open(&file, DATA "wide.npz", NULL), VG_ERR_FORMAT, "holds no predictions");
    options.struct_size = 4;
    assert_fails(vg_prediction_file_open(&file, DATA "stored.npz", &options), VG_ERR_ARGUMENT, "struct_size");
    assert_ok(vg_prediction_file_open(&file, DATA "empty.npy", NULL));
    size_t n, m, c;
    vg_prediction_file_shape(file, &n, &m, &c, NULL);
    assert_int_equal(n * 100 + m * 10 + c, 35);
    vg_prediction_file_close(file);
}

static void one_member(void **state) {
    (void)state;
    char folder[256], path[300];
    make_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/one.npy", folder);
    double values[6] = {0, 1, 2, 3, 4, 5};
    vg_writer *writer;
    assert_ok(vg_writer_open(&writer, path));
    assert_ok(vg_writer_array(writer, "", VG_ELEMENT_F64, 2, (size_t[]){2, 3}, values));
    assert_ok(vg_writer_close(writer));
    vg_prediction_file *file;
    assert_ok(vg_prediction_file_open(&file, path, NULL));
    check_blocks(file, 2, 1, 3, 1);
    vg_prediction_file_close(file);
    unlink(path);
    rmdir(folder);
}

static void label_files(void **state) {
    (void)state;
    int64_t *labels;
    size_t n, columns;
    assert_fails(vg_labels__read(&labels, &n, &columns, DATA "le_i4.npy", NULL), VG_ERR_FORMAT, "3 axes");
    assert_ok(vg_labels__read(&labels, &n, &columns, DATA "bool.npy", NULL));
    assert_int_equal(n, 7);
    assert_int_equal(columns, 1);
    assert_int_equal(labels[3], 1);
    vg_labels__free(labels);
    assert_ok(vg_labels__read(&labels, &n, &columns, DATA "multilabel.npz", NULL));
    assert_int_equal(n * 10 + columns, 45);
    vg_labels__free(labels);
    assert_ok(vg_labels__read(&labels, &n, &columns, DATA "wide.npz", "array 7"));
    assert_int_equal(labels[0], 7);
    vg_labels__free(labels);
    assert_fails(vg_labels__read(&labels, &n, &columns, DATA "wide.npz", NULL), VG_ERR_FORMAT, "name one");
    assert_null(labels);
    vg_labels__free(NULL);
}

/* Labels whose number differs from the samples', or that are no whole numbers. */
static void bad_labels(void **state) {
    (void)state;
    char folder[256], path[300];
    make_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/bad.npz", folder);
    float values[6] = {0, 1, 2, 3, 4, 5};
    double labels[3] = {0, 1, 0.5};
    for (size_t count = 2; count <= 3; count++) {
        vg_writer *writer;
        assert_ok(vg_writer_open(&writer, path));
        assert_ok(vg_writer_array(writer, "P", VG_ELEMENT_F32, 3, (size_t[]){3, 1, 2}, values));
        assert_ok(vg_writer_array(writer, "L", VG_ELEMENT_F64, 1, &count, labels));
        assert_ok(vg_writer_close(writer));
        vg_prediction_file *file;
        const int64_t *found;
        size_t columns;
        assert_ok(vg_prediction_file_open(&file, path, NULL));
        assert_fails(vg_prediction_file_labels(file, &found, &columns), VG_ERR_DATA,
                     count == 2 ? "2 labels for 3 samples" : "element 2 is 0.5");
        assert_null(found);
        vg_prediction_file_close(file);
    }
    unlink(path);
    rmdir(folder);
}

/* "-" reads an .npy from a pipe as from a file. */
static void standard_input(void **state) {
    (void)state;
    size_t size;
    uint8_t *bytes = slurp(DATA "le_f4.npy", &size);
    int ends[2], saved = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, size), (int)size);
    close(ends[1]);
    assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
    close(ends[0]);
    vg_prediction_file *file;
    vg_status status = vg_prediction_file_open(&file, "-", NULL);
    dup2(saved, STDIN_FILENO);
    close(saved);
    assert_ok(status);
    check_blocks(file, 4, 3, 5, 1);
    vg_prediction_file_close(file);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_stored),   cmocka_unit_test(by_options), cmocka_unit_test(one_member),
        cmocka_unit_test(label_files), cmocka_unit_test(bad_labels), cmocka_unit_test(standard_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
