/* test_evaluate_set_kernels.c - the kernels over the values of one sample, of every tier, against their definitions:
 * rows of 2 to 70 classes with values that are equal, at a bound and one step beside it. */
#include <string.h>

#include "evaluate/set_kernels.h"
#include "sets_util.h"

enum { MOST = 70, GUARD = 0xa5 };

static const vg_set_kernels *kernels(int way) { return way ? vg_set__kernels() : &vg_set__kernels_plain; }

/* A row whose sum is exactly one but for `off`, which is added to the value at `at`. */
static void fill(double *v, float *f, size_t n, size_t at, double off) {
    for (size_t c = 0; c < n; c++)
        v[c] = c == at ? (double)(128 - (n - 1)) / 128 + off : 1.0 / 128;
    for (size_t c = 0; c < n; c++)
        f[c] = (float)v[c];
}

static void check_distribution(const vg_set_kernels *k, const double *v, const float *f, size_t n, bool is) {
    double wide[MOST + 1];
    wide[n] = -7;
    assert_int_equal(k->is_distribution(v, n), is);
    assert_int_equal(k->widen(wide, f, n), is);
    for (size_t c = 0; c < n && is; c++)
        assert_true(wide[c] == (double)f[c]);
    assert_true(wide[n] == -7);
}

/* What sums to one within 0.8e-3 is taken, what does not within 1e-3 is not (between them either is right), nor is a
 * row with a negative value or NaN, wherever it stands. What follows the row is not read. */
static void test_distributions(void **state) {
    static const double taken[] = {0, 0.8e-3, -0.8e-3}, refused[] = {1e-3, -1e-3, 1, -0.2, INFINITY, NAN};
    double v[MOST + 1];
    float f[MOST + 1];
    (void)state;
    for (int way = 0; way < 2; way++)
        for (size_t n = 2; n <= MOST; n++)
            for (size_t at = 0; at < n; at++) {
                v[n] = f[n] = NAN;
                for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
                    fill(v, f, n, at, taken[i]);
                    check_distribution(kernels(way), v, f, n, true);
                }
                for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
                    fill(v, f, n, at, refused[i]);
                    check_distribution(kernels(way), v, f, n, false);
                }
                fill(v, f, n, at, 0);
                v[at] = f[at] = -1.0f / 128; /* its neighbour makes the sum one */
                v[(at + 1) % n] = f[(at + 1) % n] = (float)(128 - n + 3) / 128;
                check_distribution(kernels(way), v, f, n, false);
            }
}

/* The largest value and its equals: the first of them, at every pair of places. */
static void test_top(void **state) {
    double v[MOST + 1];
    (void)state;
    for (int way = 0; way < 2; way++)
        for (size_t n = 2; n <= MOST; n++)
            for (size_t a = 0; a < n; a++)
                for (size_t b = a; b < n; b++) {
                    for (size_t c = 0; c < n; c++)
                        v[c] = 0.25;
                    v[a] = v[b] = 0.5;
                    v[n] = 1;
                    assert_int_equal(kernels(way)->top(v, n), a);
                }
}

/* The values of a row lie on a bound, one step below it and one above. */
static void around(double *v, size_t n, double bound, vg_random *random) {
    const double near[] = {bound, nextafter(bound, 0), nextafter(bound, 1), 0, 1};
    for (size_t c = 0; c < n; c++)
        v[c] = near[vg_random__below(random, sizeof near / sizeof *near)];
}

static void check_marks(const uint8_t *mask, size_t size, const double *v, size_t n, double base, const double *most,
                        size_t step) {
    size_t count = 0;
    for (size_t c = 0; c < 8 * ((n + 7) / 8); c++) {
        bool in = c < n && base - v[c] <= most[c * step];
        assert_int_equal(mask[c / 8] >> (7 - c % 8) & 1, in);
        count += in;
    }
    assert_int_equal(size, count);
}

static void test_marks(void **state) {
    double v[MOST + VG_SET_SPARE], own[MOST + VG_SET_SPARE], found[MOST + VG_SET_SPARE];
    uint8_t mask[3 * ((MOST + 7) / 8) + 1];
    int32_t size[3];
    vg_random random = vg_random__start(31, 0);
    (void)state;
    for (size_t round = 0; round < 20; round++)
        for (size_t n = 2; n <= MOST; n++)
            for (int way = 0; way < 2; way++) {
                const vg_set_kernels *k = kernels(way);
                const size_t bytes = (n + 7) / 8;
                const double least = round % 2 ? 0.375 : 1.0 / 3, base = 1, bounds[] = {base - least, -1, 2};
                vg_set_marks marks = {mask, size, bytes, 3};
                around(v, n, least, &random);
                around(own, n, base - least, &random);
                memset(mask, GUARD, sizeof mask);
                k->mark_within(&marks, v, n, base, bounds);
                for (size_t a = 0; a < 3; a++)
                    check_marks(mask + a * bytes, (size_t)size[a], v, n, base, bounds + a, 0);
                assert_int_equal(mask[3 * bytes], GUARD);
                memset(mask, GUARD, sizeof mask);
                check_marks(mask, k->mark_own(mask, v, n, base, own), v, n, base, own, 1);
                assert_int_equal(mask[bytes], GUARD);
                size_t marked = k->mark_from(mask, v, n, least), count = 0;
                assert_int_equal(k->collect(found, v, n, least), marked);
                for (size_t c = 0; c < n; c++) {
                    bool in = v[c] >= least;
                    assert_int_equal(mask[c / 8] >> (7 - c % 8) & 1, in);
                    assert_true(!in || found[count] == v[c]);
                    count += in;
                }
                assert_int_equal(marked, count);
                assert_int_equal(mask[bytes], GUARD);
            }
}

/* Ranks: equal values in the order of the classes; their sum, and all values in falling order. */
static void test_ranks(void **state) {
    double v[MOST + VG_SET_SPARE], copy[MOST + VG_SET_SPARE], out[MOST + 1];
    vg_random random = vg_random__start(32, 0);
    (void)state;
    for (size_t round = 0; round < 30; round++)
        for (size_t n = 2; n <= MOST; n++)
            for (int way = 0; way < 2; way++) {
                const vg_set_kernels *k = kernels(way);
                size_t levels = round % 3 == 0 ? 2 : round % 3 == 1 ? 5 : 1000, y = vg_random__below(&random, n);
                vg_set_above is = {0, 0, 0};
                for (size_t c = 0; c < n; c++)
                    v[c] = (double)vg_random__below(&random, levels) / 128000;
                for (size_t c = 0; c < n; c++) {
                    bool first = v[c] > v[y] || (v[c] == v[y] && c < y);
                    is.count += first;
                    is.sum += first ? vg_set__exact(v[c]) : 0;
                    is.most = fmax(is.most, v[c]);
                }
                vg_set_above found = k->above(v, n, y);
                assert_int_equal(found.count, is.count);
                assert_true(found.sum == is.sum && found.most == is.most);
                memcpy(copy, v, n * sizeof *v);
                out[n] = -7;
                k->order(out, copy, n);
                assert_true(out[n] == -7);
                for (size_t c = 0; c < n; c++) { /* as many are above it as stand before its first place */
                    size_t above = 0, before = 0;
                    for (size_t j = 0; j < n; j++)
                        above += v[j] > v[c];
                    while (before < n && out[before] != v[c])
                        before++;
                    assert_int_equal(before, above);
                    assert_true(c == 0 || out[c - 1] >= out[c]);
                }
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_distributions), cmocka_unit_test(test_top),
                                       cmocka_unit_test(test_marks), cmocka_unit_test(test_ranks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
