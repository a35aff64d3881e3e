/* test_measures_certain.c - ensembles that are nearly certain, in float32: TU, AU and their gated forms, far below
 * 1e-6, keep their digits, so that confident samples can be ranked. Values are multiples of 2^-24, so that rows sum to
 * 1 exactly; the logarithm of a mean next to 1 is then that of a number which no float holds. In every SIMD tier. */
#include "measures_util.h"

static const size_t members[] = {1, 2, 3, 5, 8, 10, 13, 24}, classes[] = {2, 3, 5, 10, 40, 200, 333};
enum { SAMPLES = 19, SHAPES = 56 };
static score_case cases[SHAPES];
static const double ks[] = {0.5, 1, 2, 3, 30};

/* Rows whose other classes have from one part of 2^24, in the first samples, up to one of 64, in the last. */
static double *nearly_certain(size_t n, size_t m, size_t c) {
    double *p = ref_alloc(n * m * c, sizeof *p);
    for (size_t row = 0; row < n * m; row++) {
        size_t sample = row / m, parts = 1 + rng_below((size_t)1 << sample), left = parts, top = sample % c;
        for (size_t i = 0; i < c; i++)
            p[row * c + i] = 0;
        for (size_t i = 0; left > 0; i++) {
            size_t other = (top + 1 + (i + row) % (c - 1)) % c, some = i + 2 < c ? rng_below(left + 1) : left;
            p[row * c + other] += (double)some * 0x1p-24;
            left -= some;
        }
        p[row * c + top] = 1 - (double)parts * 0x1p-24;
    }
    return p;
}

static void close_to(const char *what, const score_case *s, size_t count, const double *want, const double *got) {
    for (size_t i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= 2e-6 * want[i] + 1e-12))
            fail_msg("%s of %zu members, %zu classes [%zu]: %.9g, expected %.9g", what, s->view.m, s->view.c, i, got[i],
                     want[i]);
}

static void digits_are_kept(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        const score_case *s = &cases[i];
        vg_scores got = scores_new(s->shape);
        size_t gated = s->shape.problems * s->shape.k;
        assert_int_equal(vg_score(&got, NULL, &s->view, &s->options), VG_OK);
        close_to("TU", s, s->shape.problems, s->want.tu, got.tu);
        close_to("AU", s, s->shape.problems, s->want.au, got.au);
        close_to("GTU", s, gated, s->want.gtu, got.gtu);
        close_to("GAU", s, gated, s->want.gau, got.gau);
        scores_free(&got);
    }
}

static int suite(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(digits_are_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    options.threads = 1, options.k = ks, options.k_count = 5;
    rng_state = 5 + seed_shift();
    for (size_t i = 0; i < SHAPES; i++) {
        size_t m = members[i % 8], c = classes[i / 8], n = m * c > 500 ? 2 : SAMPLES;
        cases[i] = case_new("nearly certain", nearly_certain(n, m, c), VG_F32, n, m, c, &options);
    }
    return run_cases(cases, SHAPES, suite);
}
