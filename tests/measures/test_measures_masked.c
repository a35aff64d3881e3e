/* Logits of -inf are the probability 0: every element type, both layouts and every tier give the measures of the same
 * rows as probabilities; a row of nothing else, +inf and NaN are refused. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "measures_util.h"

enum { N = 83, M = 5, C = 7, SIZE = N * M * C };

/* Multiples of 1/4 in -4 .. 4, which every type holds; a fifth of the classes but the first are -inf. */
static double logit(size_t n, size_t m, size_t c) {
    unsigned mixed = (unsigned)(n * 7919 + m * 104729 + c * 1299709 + 12345);
    mixed = (mixed ^ mixed >> 13) * 2654435761u;
    mixed ^= mixed >> 16;
    return c > 0 && n % 3 > 0 && mixed % 5 == 0 ? -INFINITY : (double)(mixed / 8 % 33) / 4 - 4;
}

static uint16_t bfloat_bits(double value) {
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static uint16_t half_bits(double value) {
    int exponent;
    double part = frexp(fabs(value), &exponent); /* part in [1/2, 1) */
    uint16_t sign = value < 0 ? 0x8000 : 0;
    if (isinf(value))
        return sign | 0x7c00;
    if (value == 0)
        return sign;
    return (uint16_t)(sign | (exponent + 14) << 10 | (int)((2 * part - 1) * 1024));
}

static size_t place_of(size_t n, size_t m, size_t c, bool outermost) {
    return outermost ? (c * M + m) * N + n : (n * M + m) * C + c;
}

static vg_predictions make(void *data, vg_element dtype, bool outermost) {
    for (size_t n = 0; n < N; n++)
        for (size_t m = 0; m < M; m++)
            for (size_t c = 0; c < C; c++) {
                size_t at = place_of(n, m, c, outermost);
                double z = logit(n, m, c);
                if (dtype == VG_F64)
                    ((double *)data)[at] = z;
                else if (dtype == VG_F32)
                    ((float *)data)[at] = (float)z;
                else
                    ((uint16_t *)data)[at] = dtype == VG_F16 ? half_bits(z) : bfloat_bits(z);
            }
    vg_predictions view = vg_predictions_f64(data, N, M, C);
    view.dtype = dtype;
    view.stride_n = outermost ? 1 : M * C;
    view.stride_m = outermost ? N : C;
    view.stride_c = outermost ? (ptrdiff_t)N * M : 1;
    return view;
}

typedef struct results {
    double tu[N], au[N], eu[N], epkl[N], epjs[N], gmu[N], gtu[N * 3], gepkl[N * 3], mean[N * C], std[N * C];
    double energy[N];
    int32_t pred[N];
} results;

static vg_score_summary score(results *r, const vg_predictions *view, int logits) {
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    vg_scores out = {.tu = r->tu, .eu = r->eu, .epkl = r->epkl, .epjs = r->epjs, .gmu = r->gmu};
    vg_score_summary summary;
    out.gtu = r->gtu, out.mean = r->mean, out.pred = r->pred, out.std = r->std, out.au = r->au, out.gepkl = r->gepkl;
    out.energy = logits ? r->energy : NULL;
    o.logits = logits;
    o.threads = 2;
    if (vg_score(&out, &summary, view, &o) != VG_OK)
        fail_msg("%s", vg_error_message());
    return summary;
}

static void compare(const char *what, const double *a, const double *b, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-12 * (1 + fabs(b[i]))))
            fail_msg("%s %zu: %.17g of logits, %.17g of probabilities", what, i, a[i], b[i]);
}

static void are_probabilities_of_0(void **state) {
    (void)state;
    static results wanted, found;
    static double p[SIZE], data[SIZE];
    for (size_t row = 0; row < N * M; row++) {
        double sum = 0;
        for (size_t c = 0; c < C; c++)
            sum += p[row * C + c] = exp(logit(row / M, row % M, c));
        for (size_t c = 0; c < C; c++)
            p[row * C + c] /= sum;
    }
    vg_predictions view = vg_predictions_f64(p, N, M, C);
    vg_score_summary plain = score(&wanted, &view, 0);
    static const vg_element types[] = {VG_F32, VG_F64, VG_F16, VG_BF16};
    for (size_t t = 0; t < 4; t++)
        for (int outermost = 0; outermost < 2; outermost++) {
            view = make(data, types[t], outermost != 0);
            vg_score_summary summary = score(&found, &view, 1);
            compare("tu", found.tu, wanted.tu, N);
            compare("eu", found.eu, wanted.eu, N);
            compare("epkl", found.epkl, wanted.epkl, N);
            compare("epjs", found.epjs, wanted.epjs, N);
            compare("gmu", found.gmu, wanted.gmu, N);
            compare("gtu", found.gtu, wanted.gtu, N * 3);
            compare("au", found.au, wanted.au, N);
            compare("gepkl", found.gepkl, wanted.gepkl, N * 3);
            compare("mean", found.mean, wanted.mean, N * C);
            compare("std", found.std, wanted.std, N * C);
            compare("diversity", &summary.diversity, &plain.diversity, 1);
            assert_memory_equal(found.pred, wanted.pred, sizeof found.pred);
        }
}

/* Many classes that no member gives anything: exactly 0, and in no sum. In both modes, at a temperature. */
static void nothing_is_given_to_them(void **state) {
    enum { CLASSES = 20000, FEW = 3 };
    float *z = malloc(2 * CLASSES * sizeof *z);
    double *mean = malloc(CLASSES * sizeof *mean), *std = malloc(CLASSES * sizeof *std), tu, au, eu, energy, p[FEW];
    const double temperature = 2;
    double wanted_tu = 0, wanted_au = 0;
    (void)state;
    for (size_t i = 0; i < 2 * CLASSES; i++)
        z[i] = i % CLASSES < FEW ? (float)((i * 5 % 7) % 4) : -INFINITY;
    vg_predictions view = vg_predictions_f32(z, 1, 2, CLASSES);
    vg_scores out = {.tu = &tu, .au = &au, .eu = &eu, .mean = mean, .std = std};
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    o.logits = 1, o.temperature = &temperature, o.temperature_count = 1;
    out.energy = &energy;
    if (vg_score(&out, NULL, &view, &o) != VG_OK)
        fail_msg("%s", vg_error_message());
    memset(p, 0, sizeof p);
    for (size_t m = 0; m < 2; m++) {
        double sum = 0;
        for (size_t c = 0; c < FEW; c++)
            sum += exp((double)z[m * CLASSES + c] / 2);
        for (size_t c = 0; c < FEW; c++) {
            double here = exp((double)z[m * CLASSES + c] / 2) / sum;
            p[c] += here / 2;
            wanted_au -= here * log(here) / 2;
        }
    }
    for (size_t c = 0; c < FEW; c++)
        wanted_tu -= p[c] * log(p[c]);
    for (size_t c = FEW; c < CLASSES; c++)
        assert_true(mean[c] == 0 && std[c] == 0);
    assert_true(fabs(tu - wanted_tu) < 1e-14 && fabs(au - wanted_au) < 1e-14);
    assert_true(fabs(eu - (wanted_tu - wanted_au)) < 1e-14);
    assert_true(isfinite(energy));
    vg_scores labels = {.mean = mean, .std = std};
    view = vg_predictions_f32(z, 1, 2, CLASSES);
    o.task = VG_TASK_MULTILABEL;
    if (vg_score(&labels, NULL, &view, &o) != VG_OK)
        fail_msg("%s", vg_error_message());
    assert_true(mean[0] > 0 && mean[FEW] == 0 && std[FEW] == 0);
    free(z), free(mean), free(std);
}

/* A sample's results do not depend on whether one beside it has logits of -inf. */
static void neighbours_keep_their_bits(void **state) {
    (void)state;
    static results with, without;
    static double data[SIZE];
    vg_predictions view = make(data, VG_F64, false);
    score(&with, &view, 1);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = isinf(data[i]) ? 0 : data[i];
    score(&without, &view, 1);
    for (size_t n = 0; n < N; n += 3) { /* those have none */
        assert_memory_equal(&with.tu[n], &without.tu[n], sizeof(double));
        assert_memory_equal(&with.epkl[n], &without.epkl[n], sizeof(double));
        assert_memory_equal(&with.gtu[n * 3], &without.gtu[n * 3], 3 * sizeof(double));
        assert_memory_equal(&with.mean[n * C], &without.mean[n * C], C * sizeof(double));
    }
}

static void others_are_refused(void **state) {
    (void)state;
    static double data[SIZE], tu[N];
    vg_predictions view = make(data, VG_F64, false);
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    vg_scores out = {.tu = tu};
    o.logits = 1;
    double before = data[(31 * M + 2) * C + 3];
    data[(31 * M + 2) * C + 3] = INFINITY;
    assert_int_equal(vg_score(&out, NULL, &view, &o), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "infinite"));
    data[(31 * M + 2) * C + 3] = NAN;
    assert_int_equal(vg_score(&out, NULL, &view, &o), VG_ERR_DATA);
    data[(31 * M + 2) * C + 3] = before;
    for (size_t c = 0; c < C; c++)
        data[(31 * M + 2) * C + c] = -INFINITY;
    assert_int_equal(vg_score(&out, NULL, &view, &o), VG_ERR_DATA);
    assert_string_equal(vg_error_message(), "sample 31, member 2: every logit is -inf");
}

static int suite(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_probabilities_of_0), cmocka_unit_test(nothing_is_given_to_them),
        cmocka_unit_test(neighbours_keep_their_bits), cmocka_unit_test(others_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_in_every_tier(suite); }
