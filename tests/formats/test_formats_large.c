/* test_formats_large.c - a 50 GB .npy, which takes no disk because it is one hole: far blocks are reached, and
 * reading on and on keeps resident memory small, in the plain order and in those whose samples lie all over the
 * file. */
#include <sys/resource.h>
#include <unistd.h>

#include "formats_util.h"

static char folder[256], path[300];

/* An .npy header followed by zeros; false where the file system cannot have it. */
static bool make_hole(const char *order, const char *shape, size_t bytes) {
    uint8_t header[128];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\1\0\x76\0", 10);
    int length =
        snprintf((char *)header + 10, 118, "{'descr': '<f4', 'fortran_order': %s, 'shape': %s, }", order, shape);
    header[10 + length] = ' ';
    header[127] = '\n';
    spit(path, header, sizeof header);
    return truncate(path, (off_t)(sizeof header + bytes)) == 0;
}

static int set_up(void **state) {
    (void)state;
    make_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/hole.npy", folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder);
}

/* Kilobytes a scan of a large file may add. ThreadSanitizer keeps several bytes for each that is read. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SHADOWED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(SHADOWED)
enum { PEAK = 1000000 };
#else
enum { PEAK = 100000 };
#endif

static long peak_kilobytes(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Touches one element in each page of a block's runs. */
static void touch(const vg_predictions *view) {
    volatile float sum = 0;
    for (size_t n = 0; n < view->n; n += view->stride_n >= 1024 ? 1 : 1024 / (size_t)view->stride_n)
        for (size_t m = 0; m < view->m; m++)
            for (size_t c = 0; c < view->c; c += view->stride_c == 1 ? 10 : 1)
                sum = sum + ((const float *)view->data)[(ptrdiff_t)n * view->stride_n + (ptrdiff_t)m * view->stride_m +
                                                        (ptrdiff_t)c * view->stride_c];
    assert_true(sum == 0);
}

static void far_blocks(void **state) {
    (void)state;
    if (!make_hole("False", "(12500000, 100, 10)", (size_t)50000000000))
        skip();
    vg_prediction_file *file;
    vg_predictions view;
    size_t n;
    assert_ok(vg_prediction_file_open(&file, path, NULL));
    vg_prediction_file_shape(file, &n, NULL, NULL, NULL);
    assert_int_equal(n, 12500000);
    for (size_t first = 0; first < n; first += 2500000 - 1) {
        size_t rows = n - first < 1000 ? n - first : 1000;
        assert_ok(vg_prediction_file_block(file, first, rows, &view));
        touch(&view);
    }
    long before = peak_kilobytes();
    for (size_t first = 0; first < 100000; first += 1000) { /* 400 MB in a row */
        assert_ok(vg_prediction_file_block(file, first, 1000, &view));
        touch(&view);
    }
    vg_prediction_file_close(file);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(peak_kilobytes() - before < PEAK);
#else
    (void)before;
#endif
}

/* 10,000 runs per block: each touches a page of its own and maps the neighbouring pages too. */
static void scattered(void **state) {
    (void)state;
    static const char *const axes[] = {"NMC", "MNC"};
    for (int fortran = 0; fortran < 2; fortran++) {
        if (!make_hole(fortran ? "True" : "False", fortran ? "(50000, 100, 100)" : "(2000, 50000, 5)",
                       (size_t)2000000000))
            skip();
        vg_prediction_options options = VG_PREDICTION_OPTIONS_INIT;
        options.axes = axes[!fortran];
        vg_prediction_file *file;
        vg_predictions view;
        assert_ok(vg_prediction_file_open(&file, path, &options));
        long before = peak_kilobytes();
        for (size_t first = 0; first < 3000; first += 500) {
            assert_ok(vg_prediction_file_block(file, first, 500, &view));
            touch(&view);
        }
        vg_prediction_file_close(file);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        assert_true(peak_kilobytes() - before < 250000);
#else
        (void)before;
#endif
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(far_blocks), cmocka_unit_test(scattered)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
