/* test_measures_extremes.c - the ends of the scale of k and of the number of members, against the reference in every
 * SIMD tier: the largest k with the largest factor of every class, at which the normalisers Z_m are smallest; one
 * member, of which k changes nothing; and members that lie below the floor at some k alone, or
 * of whom one alone does. */
#include "measures_util.h"

static score_case *cases;
static size_t case_count;

static const double ks[] = {1e-3, 1, 1e15, 1e300};
enum { KS = sizeof ks / sizeof *ks };

static void add(const char *name, double *data, vg_dtype dtype, const size_t shape[3], const vg_score_options *o) {
    cases[case_count++] = case_new(name, data, dtype, shape[0], shape[1], shape[2], o);
}

/* Members that share no class, or some, where every class has the largest k; both kernels, panels across classes too.
 * EPJS of many members needs normalisers that lie close together, so a factor is the same for all classes. */
static void add_widest(vg_dtype dtype) {
    static const size_t shapes[][3] = {{33, 2, 2}, {20, 5, 3}, {9, 12, 30}, {3, 3, 200}};
    static const maker kinds[] = {MAKE_ONE_HOT, MAKE_FLOOR, MAKE_SOME_ZERO};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            size_t n = shapes[s][0], m = shapes[s][1], c = shapes[s][2];
            double *factors = ref_alloc(c, sizeof *factors);
            vg_score_options o = VG_SCORE_OPTIONS_INIT;
            for (size_t i = 0; i < c; i++)
                factors[i] = VG_CLASS_K_MOST;
            o.k = ks, o.k_count = KS, o.class_k = factors, o.class_k_count = c;
            add("widest", make_predictions(n, m, c, kinds[k], 0.1), dtype, shapes[s], &o);
            free(factors);
        }
}

/* One member in panels of both layouts and in tiles (VG_FLOOR_ADD), with both forms of eps in the gate. */
static void add_alone(vg_dtype dtype) {
    static const size_t shapes[][3] = {{35, 1, 2}, {17, 1, 10}, {3, 1, 200}};
    for (int preset = 0; preset <= (int)VG_PRESET_MLJKU; preset++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            vg_score_options o = VG_SCORE_OPTIONS_INIT;
            assert_int_equal(vg_score_options_preset(&o, (vg_preset)preset), VG_OK);
            o.k = ks, o.k_count = KS;
            add("alone", make_predictions(shapes[s][0], 1, shapes[s][2], MAKE_DIRICHLET, 0.5), dtype, shapes[s], &o);
        }
}

/* Samples in which a member lies below the floor at the larger k alone: each is scored by itself, so that no other lane
 * of its panel has a floor at the first k. Two and three members, and five by the general loops. */
static void add_floors_of_later_gates(void) {
    static const double three[] = {1, 2, 3};
    static const size_t shapes[][3] = {{1, 2, 2}, {1, 3, 2}, {1, 5, 3}};
    for (size_t s = 0; s < 3; s++)
        for (int step = 0; step < 12; step++) {
            size_t m = shapes[s][1], c = shapes[s][2];
            double *p = ref_alloc(m * c, sizeof *p);
            vg_score_options o = VG_SCORE_OPTIONS_INIT;
            for (size_t i = 0; i < m; i++) {
                p[i * c] = i + 1 < m ? 0.3 : (1 + 0.3 * step) * 1e-12;
                for (size_t j = 1; j < c; j++)
                    p[i * c + j] = (1 - p[i * c]) / (double)(c - 1);
            }
            o.k = three, o.k_count = 3;
            add("later gates", p, VG_F32, shapes[s], &o);
        }
}

/* The members of a sample are equal but for one, which has a quarter of what the others have in one class, or, of few
 * members, lies below the floor there: the first and the last members in turn, of an even and an odd number. Each
 * preset has a floor of its own form. */
static void add_one_apart(vg_dtype dtype) {
    static const size_t shapes[][3] = {{3, 3, 12}, {7, 7, 3}, {4, 32, 2}, {4, 35, 3}};
    static const double three[] = {1, 2, 3};
    for (int form = 0; form < 12; form++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            size_t n = shapes[s][0], m = shapes[s][1], c = shapes[s][2];
            double *p = make_predictions(n, m, c, MAKE_DIRICHLET, 5);
            vg_score_options o = VG_SCORE_OPTIONS_INIT;
            assert_int_equal(vg_score_options_preset(&o, (vg_preset)(form % 3)), VG_OK);
            o.k = three, o.k_count = form / 6 ? 3 : 1;
            for (size_t i = 0; i < n; i++) {
                double *first = p + i * m * c, *row = first + (i < n / 2 ? i : m - n + i) * c;
                for (size_t j = 1; j < m; j++)
                    memcpy(first + j * c, first, c * sizeof *p);
                double less = form / 3 % 2 && m < 10 ? 1e-20 : row[i % c] / 4;
                row[(i + 1) % c] += row[i % c] - less;
                row[i % c] = less;
            }
            add("one apart", p, dtype, shapes[s], &o);
        }
}

static void within_tolerances(void **state) {
    (void)state;
    cases_agree(cases, case_count);
}

/* No member is ever gated to nothing. */
static void none_is_gated_out(void **state) {
    (void)state;
    for (size_t i = 0; i < case_count; i++) {
        vg_scores got = scores_new(cases[i].shape);
        assert_int_equal(vg_score(&got, NULL, &cases[i].view, &cases[i].options), VG_OK);
        for (size_t u = 0; u < cases[i].view.n; u++)
            assert_int_equal(got.flags[u] & VG_FLAG_GATED_OUT, 0);
        scores_free(&got);
    }
}

/* Of one member, with eps added to k sigma, every k has the results of the first, bit by bit. */
static void one_member_has_one_result(void **state) {
    (void)state;
    for (size_t i = 0; i < case_count; i++) {
        const score_case *s = &cases[i];
        vg_scores got = scores_new(s->shape);
        double *const gated[] = {got.gtu, got.gau, got.geu, got.gepce, got.gepkl, got.gepjs};
        assert_int_equal(vg_score(&got, NULL, &s->view, &s->options), VG_OK);
        for (size_t g = 0; s->view.m == 1 && s->options.gate_eps_form == VG_GATE_EPS_OUTSIDE && g < 6; g++)
            for (size_t at = 0; at < s->view.n * KS; at++)
                assert_memory_equal(&gated[g][at], &gated[g][at / KS * KS], sizeof(double));
        scores_free(&got);
    }
}

/* Samples too large to be copied, whose classes do not lie side by side, have the results of those that do, bit by bit.
 */
static void strides_of_large_samples(void **state) {
    enum { N = 2, M = 1400, C = 193 };
    double *p = make_predictions(N, M, C, MAKE_DIRICHLET, 0.5);
    float *even = ref_alloc((size_t)N * M * C, sizeof *even), *turned = ref_alloc((size_t)N * M * C, sizeof *turned);
    double found[2][4][3 * N];
    int32_t pred[2][N];
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    (void)state;
    for (size_t i = 0; i < (size_t)N * M * C; i++) {
        even[i] = (float)p[i];
        turned[i % C * (N * M) + i / C] = even[i]; /* [c][n][m] */
    }
    for (int way = 0; way < 2; way++) {
        vg_predictions view = vg_predictions_f32(way ? turned : even, N, M, C);
        double(*to)[3 * N] = found[way];
        vg_scores out = {.tu = to[0], .eu = to[1], .epkl = to[2], .gtu = to[3], .pred = pred[way]};
        if (way)
            view.stride_n = M, view.stride_m = 1, view.stride_c = (ptrdiff_t)N * M;
        if (vg_score(&out, NULL, &view, &o) != VG_OK)
            fail_msg("%s", vg_error_message());
    }
    for (size_t i = 0; i < 3; i++)
        assert_memory_equal(found[0][i], found[1][i], N * sizeof(double));
    assert_memory_equal(found[0][3], found[1][3], sizeof found[0][3]);
    assert_memory_equal(pred[0], pred[1], sizeof pred[0]);
    free(p);
    free(even);
    free(turned);
}

static int suite(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(within_tolerances), cmocka_unit_test(none_is_gated_out),
                                       cmocka_unit_test(one_member_has_one_result),
                                       cmocka_unit_test(strides_of_large_samples)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
    cases = ref_alloc(512, sizeof *cases);
    rng_state = 77 + seed_shift();
    for (int wide = 0; wide < 2; wide++) {
        add_widest(wide ? VG_F64 : VG_F32);
        add_alone(wide ? VG_F64 : VG_F32);
    }
    add_floors_of_later_gates();
    add_one_apart(VG_F32);
    add_one_apart(VG_F64);
    int failed = run_cases(cases, case_count, suite);
    free(cases);
    return failed;
}
