/* test_formats_numpy.c - files that NumPy and safetensors wrote (tests/data/formats/make.py) read back element by
 * element. */
#include "formats_util.h"

/* Every element of array `index`, read in three ways and in two pieces, is the ramp that make.py wrote. */
static void check_ramp(vg_source *source, size_t index, double scale) {
    vg_array_info info;
    assert_ok(vg_source__info(source, index, &info));
    size_t rows = info.rank ? info.shape[0] : 1, row = rows ? info.count / rows : 0, cut = rows / 3;
    double *f64 = calloc(info.count + 1, sizeof *f64);
    float *f32 = calloc(info.count + 1, sizeof *f32);
    int64_t *i64 = calloc(info.count + 1, sizeof *i64);
    assert_ok(vg_source__read_f64(source, index, 0, cut, f64));
    assert_ok(vg_source__read_f64(source, index, cut, rows - cut, f64 + cut * row));
    assert_ok(vg_source__read_f32(source, index, cut, rows - cut, f32 + cut * row));
    assert_ok(vg_source__read_f32(source, index, 0, cut, f32));
    if (scale == 1)
        assert_ok(vg_source__read_i64(source, index, 0, rows, i64));
    for (size_t i = 0; i < info.count; i++) {
        double expected = info.element == VG_ELEMENT_BOOL ? (double)(i % 2) : (double)(i % 100) / scale;
        if (f64[i] != expected || f32[i] != (float)expected || (scale == 1 && i64[i] != (int64_t)expected))
            fail_msg("array '%s' element %zu: %g %g %lld, expected %g", info.name, i, f64[i], (double)f32[i],
                     (long long)i64[i], expected);
    }
    free(f64), free(f32), free(i64);
}

static void npy_types(void **state) {
    (void)state;
    static const char *const names[] = {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"};
    static const vg_element elements[] = {VG_ELEMENT_F16, VG_ELEMENT_F32, VG_ELEMENT_F64, VG_ELEMENT_I8,
                                          VG_ELEMENT_I16, VG_ELEMENT_I32, VG_ELEMENT_I64, VG_ELEMENT_U8,
                                          VG_ELEMENT_U16, VG_ELEMENT_U32, VG_ELEMENT_U64};
    for (size_t i = 0; i < 22; i++) {
        char path[100];
        bool big = i >= 11;
        snprintf(path, sizeof path, DATA "%s_%s.npy", big ? "be" : "le", names[i % 11]);
        if (big && names[i % 11][1] == '1')
            continue;
        vg_source *source;
        assert_ok(vg_source__open(&source, path));
        vg_array_info info;
        assert_int_equal(vg_source__count(source), 1);
        assert_ok(vg_source__info(source, 0, &info));
        assert_int_equal(info.element, elements[i % 11]);
        assert_int_equal(info.rank, 3);
        assert_int_equal(info.shape[0] * 100 + info.shape[1] * 10 + info.shape[2], 435);
        assert_int_equal(info.count, 60);
        assert_int_equal(info.fortran_order, big); /* make.py writes the big-endian ones so */
        check_ramp(source, 0, 1);
        const void *map;
        assert_ok(vg_source__map(source, 0, &map));
        assert_true((map == NULL) == big);
        vg_source__close(source);
    }
}

static void npy_forms(void **state) {
    (void)state;
    static const struct {
        const char *path;
        size_t rank, count;
    } cases[] = {{DATA "bool.npy", 1, 7},
                 {DATA "fortran.npy", 3, 60},
                 {DATA "empty.npy", 3, 0},
                 {DATA "version2.npy", 3, 60},
                 {DATA "version3.npy", 3, 60}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vg_source *source;
        vg_array_info info;
        assert_ok(vg_source__open(&source, cases[i].path));
        assert_ok(vg_source__info(source, 0, &info));
        assert_int_equal(info.rank, cases[i].rank);
        assert_int_equal(info.count, cases[i].count);
        check_ramp(source, 0, 1);
        vg_source__close(source);
    }
    vg_source *source;
    double seven;
    assert_ok(vg_source__open(&source, DATA "scalar.npy"));
    assert_ok(vg_source__read_f64(source, 0, 0, 1, &seven));
    assert_true(seven == 7);
    assert_fails(vg_source__read_f64(source, 0, 1, 1, &seven), VG_ERR_ARGUMENT, "rows");
    vg_source__close(source);
}

static void npy_refused(void **state) {
    (void)state;
    vg_source *source;
    assert_fails(vg_source__open(&source, DATA "bfloat16.npy"), VG_ERR_UNSUPPORTED, "bfloat16");
    assert_null(source);
    assert_fails(vg_source__open(&source, DATA "structure.npy"), VG_ERR_UNSUPPORTED, "structures");
    assert_ok(vg_source__open(&source, DATA "text.npy"));
    assert_int_equal(vg_source__count(source), 0);
    assert_fails(vg_source__find(source, "", &(size_t){0}), VG_ERR_UNSUPPORTED, "holds texts (U3), expected numbers");
    vg_source__close(source);
    assert_fails(vg_source__open(&source, DATA "missing.npy"), VG_ERR_IO, "missing.npy: cannot open: No such file");
    assert_fails(vg_source__open(&source, "tests"), VG_ERR_IO, "folder");
    assert_fails(vg_source__open(&source, DATA "make.py"), VG_ERR_FORMAT, "unknown kind");
}

static void npz_kinds(void **state) {
    (void)state;
    static const char *const paths[] = {DATA "stored.npz",      DATA "deflated.npz",      DATA "deflated_fortran.npz",
                                        DATA "pipe_stored.npz", DATA "pipe_deflated.npz", DATA "others.npz"};
    static const int64_t labels[] = {0, 1, 4, 2};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        vg_source *source;
        size_t index;
        int64_t found[4];
        assert_ok(vg_source__open(&source, paths[i]));
        assert_int_equal(vg_source__count(source), 2);
        assert_ok(vg_source__find(source, "P", &index));
        check_ramp(source, index, 64);
        assert_ok(vg_source__find(source, "L", &index));
        assert_ok(vg_source__read_i64(source, index, 0, 4, found));
        assert_memory_equal(found, labels, sizeof labels);
        assert_ok(read_everything(source));
        assert_fails(vg_source__find(source, "R", &index), VG_ERR_ARGUMENT, "no array named 'R'; it holds 'P', 'L'");
        if (strstr(paths[i], "others")) {
            assert_fails(vg_source__find(source, "names", &index), VG_ERR_UNSUPPORTED,
                         "array 'names' holds texts (U3)");
            assert_fails(vg_source__find(source, "thing", &index), VG_ERR_UNSUPPORTED, "only pickle can read");
        }
        vg_source__close(source);
    }
}

static void npz_many(void **state) {
    (void)state;
    vg_source *source;
    assert_ok(vg_source__open(&source, DATA "wide.npz"));
    assert_int_equal(vg_source__count(source), 40);
    for (int64_t i = 0; i < 40; i++) {
        char name[20];
        size_t index;
        int64_t value;
        snprintf(name, sizeof name, "array %d", (int)i);
        assert_ok(vg_source__find(source, name, &index));
        assert_ok(vg_source__read_i64(source, index, 0, 1, &value));
        assert_int_equal(value, i);
    }
    size_t index;
    assert_fails(vg_source__find(source, "x", &index), VG_ERR_ARGUMENT, "...");
    vg_source__close(source);
}

static void safetensors(void **state) {
    (void)state;
    static const char *const names[] = {"f2", "f4", "f8", "i1", "i2",   "i4",   "i8",
                                        "u1", "u2", "u4", "u8", "bf16", "bool", "empty"};
    vg_source *source;
    size_t index;
    double value;
    assert_ok(vg_source__open(&source, DATA "mixed.safetensors"));
    assert_int_equal(vg_source__count(source), 15);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_ok(vg_source__find(source, names[i], &index));
        check_ramp(source, index, 1);
    }
    assert_ok(vg_source__find(source, "scalar", &index));
    assert_ok(vg_source__read_f64(source, index, 0, 1, &value));
    assert_true(value == 7);
    assert_fails(vg_source__find(source, "f8e4m3", &index), VG_ERR_UNSUPPORTED, "F8_E4M3");
    assert_string_equal(vg_source__metadata(source, "made by"), "make.py");
    assert_string_equal(vg_source__metadata(source, "classes"), "cat \xc3\xa9 dog");
    assert_null(vg_source__metadata(source, "x"));
    vg_source__close(source);
}

/* Every float16 pattern against the definition. */
static void half_values(void **state) {
    (void)state;
    static uint8_t file[128 + 2 * 65536];
    const char header[] = "{'descr': '<f2', 'fortran_order': False, 'shape': (65536,), }";
    memset(file, ' ', 128);
    memcpy(file, "\x93NUMPY\1\0\x76\0", 10);
    memcpy(file + 10, header, sizeof header - 1);
    file[127] = '\n';
    for (size_t i = 0; i < 65536; i++)
        file[128 + 2 * i] = (uint8_t)i, file[129 + 2 * i] = (uint8_t)(i >> 8);
    vg_source *source;
    float *values = malloc(65536 * sizeof *values);
    assert_ok(vg_source__open_memory(&source, file, sizeof file, "half.npy"));
    assert_ok(vg_source__read_f32(source, 0, 0, 65536, values));
    for (unsigned i = 0; i < 65536; i++) {
        unsigned exponent = i >> 10 & 31, fraction = i & 1023;
        double magnitude = exponent == 0 ? fraction * 0x1p-24 : (1024 + fraction) * 0x1p-25;
        for (unsigned e = 1; exponent && e <= exponent; e++)
            magnitude *= 2;
        if (exponent == 31) {
            if (fraction)
                assert_true(values[i] != values[i]);
            else
                assert_true(values[i] * 0.0f != 0.0f && values[i] == values[i] && (values[i] < 0) == (i >> 15));
        } else {
            uint32_t bits;
            memcpy(&bits, values + i, sizeof bits);
            if ((double)values[i] != (i >> 15 ? -magnitude : magnitude) || bits >> 31 != i >> 15)
                fail_msg("half %04x is %g, expected %g", i, (double)values[i], magnitude);
        }
    }
    free(values);
    vg_source__close(source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npy_types),   cmocka_unit_test(npy_forms), cmocka_unit_test(npy_refused),
        cmocka_unit_test(npz_kinds),   cmocka_unit_test(npz_many),  cmocka_unit_test(safetensors),
        cmocka_unit_test(half_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
