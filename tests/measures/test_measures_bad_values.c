/* test_measures_bad_values.c - a value that makes no distribution is found wherever it stands among samples, members
 * and classes, and its place is named: a negative value whose neighbour makes the sum 1, NaN, and a sum that is off. In
 * every SIMD tier, in both types, asked for TU alone and with gates. */
#include <stdbool.h>

#include "measures_util.h"

enum { N = 37, MOST_M = 33, MOST_C = 40, TRIALS = 60 };

/* Values of one type, and access to them by index. */
typedef struct rows {
    vg_dtype type;
    float f[N * MOST_M * MOST_C];
    double d[N * MOST_M * MOST_C];
} rows;
static rows all;

static double value_at(size_t i) { return all.type == VG_F32 ? (double)all.f[i] : all.d[i]; }
static void put(size_t i, double x) {
    all.f[i] = (float)x;
    all.d[i] = x;
}

static vg_status score(size_t m, size_t c, bool gated) {
    static double tu[N], geu[N];
    static const double k = 1;
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_scores out = {.tu = tu, .geu = gated ? geu : NULL};
    vg_predictions view = vg_predictions_f64(all.d, N, m, c);
    if (all.type == VG_F32)
        view = vg_predictions_f32(all.f, N, m, c);
    options.threads = 1;
    options.k = &k;
    options.k_count = 1;
    return vg_score(&out, NULL, &view, &options);
}

/* Spoils class `at` of a row, and maybe the next one. */
static void spoil(size_t row, size_t c, size_t at, int kind) {
    size_t one = row * c + at, next = row * c + (at + 1) % c;
    if (kind == 0) {
        put(next, value_at(next) + value_at(one) + 0.125);
        put(one, -0.125);
    } else {
        put(one, kind == 1 ? NAN : value_at(one) + 0.004);
    }
}

static void every_place(void **state) {
    static const size_t members[] = {1, 2, 3, 5, 8, 9, 12, 33}, classes[] = {2, 3, 7, 8, 10, 16, 17, 40};
    (void)state;
    rng_state = 77;
    for (int type = 0; type < 2; type++)
        for (size_t i = 0; i < 8; i++)
            for (size_t j = 0; j < 8; j++) {
                size_t m = members[i], c = classes[j];
                all.type = type ? VG_F64 : VG_F32;
                for (size_t row = 0; row < N * m; row++)
                    for (size_t at = 0; at < c; at++)
                        put(row * c + at, (1 + (double)((row + at) % c)) * 2 / (double)(c * (c + 1)));
                assert_int_equal(score(m, c, false), VG_OK);
                for (int trial = 0; trial < TRIALS; trial++) {
                    size_t row = rng_below(N * m), at = rng_below(c);
                    double kept[MOST_C];
                    char place[64];
                    for (size_t x = 0; x < c; x++)
                        kept[x] = all.d[row * c + x];
                    spoil(row, c, at, trial % 3);
                    vg_status status = score(m, c, trial % 2);
                    if (m > 1)
                        snprintf(place, sizeof place, "sample %zu, member %zu", row / m, row % m);
                    else
                        snprintf(place, sizeof place, "sample %zu", row);
                    if (status != VG_ERR_DATA || !strstr(vg_error_message(), place))
                        fail_msg("%zu x %zu, type %d, kind %d, %s, class %zu: status %d, %s", m, c, type, trial % 3,
                                 place, at, (int)status, status ? vg_error_message() : "");
                    for (size_t x = 0; x < c; x++)
                        put(row * c + x, kept[x]);
                }
            }
}

static int suite(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_in_every_tier(suite); }
