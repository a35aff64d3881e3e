/* test_measures_properties.c - what the paper states of its measures, searched for counterexamples at random, in every
 * SIMD tier: normalisation and bounds of the gate, the four limits, no negative epistemic term, GMU between 0 and 1,
 * decisions and gate monotone in k, entropies that fall with k, nothing epistemic in one member or in identical ones,
 * and invariances. */
#include "measures_util.h"

static const double LN2 = 0.693147180559945309417;

/* Predictions in both types with all their scores. Freed by scored_free. */
typedef struct scored {
    void *data;
    vg_predictions view;
    vg_score_options options;
    score_shape shape;
    vg_scores s;
    vg_score_summary summary;
} scored;

static scored score_data(double *data, vg_dtype dtype, size_t n, size_t m, size_t c, const vg_score_options *options) {
    scored r = {.data = data, .view = vg_predictions_f64(data, n, m, c), .options = *options};
    if (dtype == VG_F32) {
        float *narrow = ref_alloc(n * m * c, sizeof *narrow);
        for (size_t i = 0; i < n * m * c; i++)
            narrow[i] = (float)data[i];
        free(data);
        r.data = narrow;
        r.view = vg_predictions_f32(narrow, n, m, c);
    }
    r.shape = shape_of(&r.view, &r.options);
    r.s = scores_new(r.shape);
    if (vg_score(&r.s, &r.summary, &r.view, &r.options) != VG_OK)
        fail_msg("%s", vg_error_message());
    return r;
}

static void scored_free(scored *r) {
    free(r->data);
    scores_free(&r->s);
}

static double *copy_of(const double *data, size_t count) {
    double *copy = ref_alloc(count, sizeof *copy);
    memcpy(copy, data, count * sizeof *copy);
    return copy;
}

static const double rising_k[] = {0.01, 0.1, 0.5, 1, 2, 5, 50};
enum { RISING = sizeof rising_k / sizeof *rising_k };

static vg_score_options rising(void) {
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    o.k = rising_k;
    o.k_count = RISING;
    return o;
}

/* Random shapes and kinds of data; `trial` seeds them. */
static scored random_trial(int trial, vg_preset preset) {
    static const maker kinds[] = {MAKE_DIRICHLET, MAKE_ONE_HOT, MAKE_NEAR,      MAKE_SOME_ZERO,
                                  MAKE_FLOOR,     MAKE_PEAKED,  MAKE_ZERO_CLASS};
    static const double alphas[] = {0.01, 0.1, 1, 10, 100};
    rng_state = 900 + (uint64_t)trial + seed_shift();
    vg_score_options o = rising();
    assert_int_equal(vg_score_options_preset(&o, preset), VG_OK);
    maker kind = kinds[trial % 7];
    double parameter = kind == MAKE_NEAR ? pow(10, -1 - 6 * rng_uniform()) : alphas[rng_below(5)];
    size_t n = 1 + rng_below(40), m = 1 + rng_below(20), c = 2 + rng_below(rng_below(4) ? 20 : 200);
    return score_data(make_predictions(n, m, c, kind, parameter), trial % 2 ? VG_F64 : VG_F32, n, m, c, &o);
}

/* --- bounds
 * -------------------------------------------------------------------------------------------------------------------
 * */

static void one_bound(int trial, const char *what, double low, double value, double high) {
    if (!(low <= value && value <= high))
        fail_msg("trial %d: %s = %.17g is not in [%.17g, %.17g]", trial, what, value, low, high);
}

static void bounds(void **state) {
    (void)state;
    for (int trial = 0; trial < 120; trial++) {
        scored r = random_trial(trial, (vg_preset)(trial / 7 % 3));
        double t = trial % 2 ? 1e-12 : 1e-6, unit = r.options.log_base == VG_LOG_2 ? 1 / LN2 : 1;
        double top = r.options.normalise ? 1 : log((double)r.view.c) * unit;
        double floors = (double)r.view.c * r.options.floor * 40; /* what a floor can take from a cross entropy */
        double whole = r.options.normalise ? log((double)r.view.c) * unit : 1; /* TU, AU, EU back in EPCE's units */
        double add =
            r.options.floor_form == VG_FLOOR_ADD ? (double)r.view.c * 1e-9 : 0; /* log(p + floor) may exceed 0 */
        for (size_t i = 0; i < r.shape.problems; i++) {
            one_bound(trial, "TU", -t - add, r.s.tu[i], top * (1 + 1e-3) + t);
            one_bound(trial, "AU", -t - add, r.s.au[i], r.s.tu[i] + t);
            one_bound(trial, "EU", 0, r.s.eu[i], top * (1 + 1e-3) + t);
            one_bound(trial, "TU - AU - EU", -t - add, r.s.tu[i] - r.s.au[i] - r.s.eu[i], t + add);
            one_bound(trial, "EPKL", -floors, r.s.epkl[i], INFINITY);
            one_bound(trial, "EPCE - AU - EPKL", -t - add, r.s.epce[i] - r.s.au[i] * whole - r.s.epkl[i], t + add);
            one_bound(trial, "EPJS", 0, r.s.epjs[i], LN2 * unit * (1 + 1e-3) + t);
            one_bound(trial, "GMU", 0, r.s.gmu[i], 1 + 1e-3 * (trial % 2 ? 0 : 1));
            one_bound(trial, "SNR", 0, r.s.snr[i], INFINITY);
            for (size_t k = i * RISING; k < (i + 1) * RISING; k++) {
                one_bound(trial, "GTU", -t - add, r.s.gtu[k], top + t);
                one_bound(trial, "GAU", -t - add, r.s.gau[k], r.s.gtu[k] + t);
                one_bound(trial, "GEU", 0, r.s.geu[k], top + t);
                one_bound(trial, "GTU - GAU - GEU", -t - add, r.s.gtu[k] - r.s.gau[k] - r.s.geu[k], t + add);
                one_bound(trial, "GEPKL", -floors, r.s.gepkl[k], INFINITY);
                one_bound(trial, "GEPJS", 0, r.s.gepjs[k], LN2 * unit + t);
            }
        }
        for (size_t i = 0; i < r.shape.classes; i++) {
            one_bound(trial, "mean", 0, r.s.mean[i], 1 + 1e-3);
            one_bound(trial, "std", 0, r.s.std[i], 0.5 + 1e-3);
        }
        scored_free(&r);
    }
}

/* Once uncertain at some k, uncertain at every larger one; when certain, of the class of largest mean. */
static void decision_monotone(void **state) {
    (void)state;
    size_t certain = 0, uncertain = 0;
    for (int trial = 0; trial < 120; trial++) {
        scored r = random_trial(trial, (vg_preset)(trial % 3));
        for (size_t i = 0; i < r.shape.problems; i++) {
            const int32_t *d = r.s.decision + i * RISING;
            for (int k = 0; k < RISING; k++) {
                assert_true(d[k] == -1 || d[k] == r.s.pred[i]);
                assert_true(k == 0 || d[k - 1] != -1 || d[k] == -1);
                certain += d[k] >= 0;
                uncertain += d[k] < 0;
            }
            assert_true(r.s.pred[i] != r.s.second[i]);
        }
        scored_free(&r);
    }
    assert_true(certain > 100 && uncertain > 100); /* the search met both */
}

/* --- the gate, on the reference, whose agreement with the kernels other tests show -----------------------------------
 */

static void gate_function(void **state) {
    (void)state;
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    for (int trial = 0; trial < 300; trial++) {
        double mu = rng_uniform(), sigma = 0.5 * rng_uniform(), before = 1;
        for (int k = 0; k < RISING; k++) { /* 0 <= Gamma < 1, falling in k */
            ref_real gamma = ref_gamma(mu, sigma, rising_k[k], &o);
            assert_true(gamma >= 0 && gamma <= 1 && (double)gamma <= before);
            before = (double)gamma;
        }
    }
    /* the four limits: confident and certain, confident and uncertain, ambiguous and certain, ambiguous and uncertain
     * */
    assert_true(ref_gamma(1, 0, 1, &o) >= 1 - 1e-15);
    assert_true(ref_gamma(1, 0.5, 1e12, &o) < 1e-11);
    assert_true(ref_gamma(1e-20, 0, 1, &o) < 1e-11);
    assert_true(ref_gamma(1e-20, 0.5, 1e12, &o) < 1e-30);
    /* gated members are distributions */
    for (int trial = 0; trial < 20; trial++) {
        double *data = make_predictions(1, 5, 7, trial % 2 ? MAKE_DIRICHLET : MAKE_SOME_ZERO, 0.1);
        ref_members p = ref_members_new(5, 7), q = ref_members_new(5, 7);
        ref_real mu[7], variance[7], sigma[7];
        for (int i = 0; i < 35; i++)
            p.p[i] = data[i];
        ref_mean(mu, &p);
        ref_variance(variance, &p, mu);
        ref_spread(sigma, variance, &p, VG_SIGMA_POPULATION);
        assert_false(ref_gate(&q, &p, NULL, mu, sigma, 2, &o, 0));
        for (int m = 0; m < 5; m++) {
            ref_real sum = 0;
            for (int i = 0; i < 7; i++)
                sum += q.p[m * 7 + i];
            assert_true(fabs((double)(sum - 1)) < 1e-30);
        }
        ref_members_free(&p);
        ref_members_free(&q);
        free(data);
    }
}

/* As k -> 0 the gate opens: gated measures become the plain ones. As k grows without bound Gamma tends to mu/(k sigma),
 * whose factor 1/k cancels: gated measures settle. Between, their mean over samples falls. */
static void limits_in_k(void **state) {
    (void)state;
    const double ks[] = {1e-9, 0.3, 1, 2, 3, 10, 1e5, 1e7};
    enum { K = sizeof ks / sizeof *ks };
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    o.k = ks;
    o.k_count = K;
    for (int trial = 0; trial < 10; trial++) {
        rng_state = 77 + (uint64_t)trial + seed_shift();
        double *data = make_predictions(200, 8, 6, MAKE_DIRICHLET, trial < 5 ? 5 : 0.5), mean[K] = {0};
        scored r = score_data(data, trial % 2 ? VG_F64 : VG_F32, 200, 8, 6, &o);
        for (size_t i = 0; i < 200; i++) {
            const double *gtu = r.s.gtu + i * K, *geu = r.s.geu + i * K;
            if (trial < 5) { /* means far above eps */
                assert_true(fabs(gtu[0] - r.s.tu[i]) < 1e-6 && fabs(geu[0] - r.s.eu[i]) < 1e-6);
                assert_true(fabs(r.s.gepjs[i * K] - r.s.epjs[i]) < 1e-6 && fabs(r.s.gepkl[i * K] - r.s.epkl[i]) < 1e-6);
            }
            assert_true(fabs(gtu[K - 1] - gtu[K - 2]) < 1e-4);
            for (int k = 0; k < K; k++)
                mean[k] += gtu[k] / 200;
        }
        for (int k = 1; k < K; k++)
            assert_true(mean[k] <= mean[k - 1] + 1e-6);
        assert_true(mean[K - 1] < mean[0]);
        scored_free(&r);
    }
}

static double gmu_of(const double *p, double eps) {
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    o.eps = eps;
    scored r = score_data(copy_of(p, 4), VG_F64, 1, 2, 2, &o);
    double gmu = r.s.gmu[0];
    scored_free(&r);
    return gmu;
}

/* The four limits of GMU. A margin near 1 leaves no room for spread, so there eps, which adds to it, stands for it: GMU
 * rises with it from 1 - mu(i), and to 1 - mu(i) (1 - exp(-margin/eps)). */
static void limits_of_gmu(void **state) {
    (void)state;
    const double confident[] = {1 - 1e-9, 1e-9, 1 - 1e-9, 1e-9},
                 ambiguous[] = {0.5 + 1e-12, 0.5 - 1e-12, 0.5 + 1e-12, 0.5 - 1e-12};
    const double torn[] = {1, 0, 1e-9, 1 - 1e-9};
    assert_true(fabs(gmu_of(confident, 1e-8) - 1e-9) < 1e-12);     /* confident, certain */
    assert_true(gmu_of(confident, 0.1) > gmu_of(confident, 0.01)); /* confident, ever less certain */
    assert_true(gmu_of(confident, 0.9) > gmu_of(confident, 0.1));
    assert_true(fabs(gmu_of(confident, 0.9) - exp(-1 / 0.9)) < 1e-8);
    assert_true(gmu_of(ambiguous, 1e-8) > 1 - 1e-3 && gmu_of(ambiguous, 1e-8) <= 1); /* ambiguous, certain */
    assert_true(gmu_of(torn, 1e-8) > 1 - 1e-8 && gmu_of(torn, 1e-8) <= 1);           /* ambiguous, uncertain */
}

/* --- no disagreement */

static void nothing_epistemic(const scored *r, const char *what) {
    for (size_t i = 0; i < r->shape.classes; i++)
        if (r->s.std[i] != 0)
            fail_msg("%s %s M=%zu: std[%zu] = %g", what, r->view.dtype == VG_F64 ? "f64" : "f32", r->view.m, i,
                     r->s.std[i]);
    for (int f = 0; f < SCORE_FIELDS; f++)
        for (size_t i = 0; score_fields[f].relative && i < score_count(r->shape, score_fields[f].size); i++) {
            double value = (*score_place((vg_scores *)&r->s, f))[i];
            if (value != 0)
                fail_msg("%s %s M=%zu C=%zu: %s[%zu] = %g", what, r->view.dtype == VG_F64 ? "f64" : "f32", r->view.m,
                         r->view.c, score_fields[f].name, i, value);
        }
    assert_true(r->summary.diversity == 0);
}

/* One member, and members all alike: sigma and every epistemic measure are 0 exactly, in every convention. */
static void no_disagreement(void **state) {
    (void)state;
    static const size_t members[] = {1, 2, 3, 5, 7, 10, 16, 33, 100};
    for (int trial = 0; trial < 9 * 3 * 2 * 3; trial++) {
        size_t m = members[trial % 9], n = 7, c = 2 + rng_below(40);
        vg_score_options o = rising();
        assert_int_equal(vg_score_options_preset(&o, (vg_preset)(trial / 9 % 3)), VG_OK);
        vg_dtype dtype = trial / 27 % 2 ? VG_F64 : VG_F32;
        int kind = trial / 54;
        double *data = make_predictions(n, m, c, kind == 1 ? MAKE_LOGITS_NEAR : MAKE_IDENTICAL,
                                        kind == 1   ? 0
                                        : kind == 2 ? 100
                                                    : 0.5);
        for (size_t i = 0; kind == 0 && i < n * m * c; i++) /* zeros among them, but nothing between 0 and the floor */
            data[i] = data[i] < 1e-6 ? 0 : data[i];
        o.logits = kind == 1;
        scored r = score_data(data, dtype, n, m, c, &o);
        nothing_epistemic(&r, kind == 1 ? "logits" : "probabilities");
        scored_free(&r);
    }
}

/* M = 1 has no epistemic part even where entries lie below the floor. */
static void one_member(void **state) {
    (void)state;
    for (int trial = 0; trial < 30; trial++) {
        vg_score_options o = rising();
        assert_int_equal(vg_score_options_preset(&o, (vg_preset)(trial % 3)), VG_OK);
        o.pairs = trial / 3 % 2 ? VG_PAIRS_DISTINCT : VG_PAIRS_ALL;
        o.sigma_gate = o.sigma_margin = trial / 6 % 2 ? VG_SIGMA_SAMPLE : VG_SIGMA_POPULATION;
        scored r = score_data(make_predictions(5, 1, 9, trial % 2 ? MAKE_FLOOR : MAKE_DIRICHLET, 0.02),
                              trial % 2 ? VG_F32 : VG_F64, 5, 1, 9, &o);
        nothing_epistemic(&r, "one member");
        scored_free(&r);
    }
}

/* --- invariances */

/* Compares all measures (not the per-class ones) of two results, sample by sample. */
static void alike(const char *what, scored *a, scored *b, double tolerance, int pairwise) {
    for (int f = 0; f < SCORE_FIELDS; f++) {
        const char *name = score_fields[f].name;
        if (score_fields[f].size == PER_CLASS || (!pairwise && (strstr(name, "ep") || strstr(name, "snr"))))
            continue;
        for (size_t i = 0; i < score_count(a->shape, score_fields[f].size); i++) {
            double x = (*score_place(&a->s, f))[i], y = (*score_place(&b->s, f))[i];
            if (!(fabs(x - y) <= tolerance * fmax(1, fabs(x))))
                fail_msg("%s: %s[%zu] %.17g and %.17g", what, name, i, x, y);
        }
    }
}

static void invariances(void **state) {
    (void)state;
    enum { N = 9, M = 6, C = 8 };
    for (int trial = 0; trial < 24; trial++) {
        rng_state = 300 + (uint64_t)trial + seed_shift();
        vg_score_options o = rising(), z = rising();
        double *p = make_predictions(N, M, C, MAKE_DIRICHLET, trial % 2 ? 1 : 0.3);
        double *members = ref_alloc(N * M * C, sizeof *p), *classes = ref_alloc(N * M * C, sizeof *p);
        double *twice = ref_alloc(2 * N * M * C, sizeof *p), *logits = ref_alloc(N * M * C, sizeof *p);
        size_t member_shift = 1 + rng_below(M - 1), class_shift = 1 + rng_below(C - 1);
        for (size_t n = 0; n < N; n++)
            for (size_t m = 0; m < M; m++) {
                double offset = 50 * rng_normal();
                for (size_t c = 0; c < C; c++) {
                    double value = p[(n * M + m) * C + c];
                    value = p[(n * M + m) * C + c] = value < 1e-11 ? 0 : value;
                    members[(n * M + (m + member_shift) % M) * C + c] = value;
                    classes[(n * M + m) * C + (c + class_shift) % C] = value;
                    twice[(n * 2 * M + m) * C + c] = twice[(n * 2 * M + M + m) * C + c] = value;
                    logits[(n * M + m) * C + c] = log(value > 0 ? value : 1e-60) + offset;
                }
            }
        z.logits = 1;
        scored a = score_data(p, VG_F64, N, M, C, &o), b = score_data(members, VG_F64, N, M, C, &o);
        scored c = score_data(classes, VG_F64, N, M, C, &o), d = score_data(twice, VG_F64, N, 2 * M, C, &o);
        scored e = score_data(logits, VG_F64, N, M, C, &z);
        alike("members permuted", &a, &b, 1e-11, 1);
        alike("classes permuted", &a, &c, 1e-11, 1);
        alike("members doubled", &a, &d, 1e-11, 1);
        alike("as logits", &a, &e, 1e-9, 0);
        for (size_t i = 0; i < N; i++)
            assert_int_equal(c.s.pred[i], (a.s.pred[i] + (int32_t)class_shift) % C);
        scored_free(&a), scored_free(&b), scored_free(&c), scored_free(&d), scored_free(&e);
    }
}

/* An ensemble repeated 100 times has the same measures (all pairs; population spread): large M without a slow
 * reference. */
static void members_repeated(void **state) {
    (void)state;
    static const size_t classes[] = {2, 3, 10, 33, 100, 1000};
    static const double k[] = {1, 5};
    enum { M = 10, TIMES = 100 };
    for (int trial = 0; trial < 24; trial++) {
        rng_state = 500 + (uint64_t)trial + seed_shift();
        vg_score_options o = VG_SCORE_OPTIONS_INIT;
        o.k = k;
        o.k_count = 2;
        size_t c = classes[trial % 6], samples = c < 100 ? 3 : 1;
        vg_dtype dtype = trial / 6 % 2 ? VG_F64 : VG_F32;
        double *p = make_predictions(samples, M, c, trial < 12 ? MAKE_DIRICHLET : MAKE_NEAR, trial < 12 ? 0.1 : 1e-4);
        double *many = ref_alloc(samples * M * TIMES * c, sizeof *many);
        for (size_t n = 0; n < samples; n++)
            for (size_t m = 0; m < M * TIMES; m++)
                memcpy(many + (n * M * TIMES + m) * c, p + (n * M + m % M) * c, c * sizeof *p);
        scored a = score_data(p, dtype, samples, M, c, &o), b = score_data(many, dtype, samples, M * TIMES, c, &o);
        alike("members repeated", &a, &b, dtype == VG_F64 ? 1e-11 : 2e-6, 1);
        for (int f = 0; f < SCORE_FIELDS; f++)
            for (size_t i = 0; score_fields[f].relative && i < score_count(a.shape, score_fields[f].size); i++) {
                double x = (*score_place(&a.s, f))[i], y = (*score_place(&b.s, f))[i];
                if (x >= 1e-12 && !(fabs(x - y) <= x * (dtype == VG_F64 ? 2e-9 : 2e-4)))
                    fail_msg("members repeated, C=%zu: %s[%zu] %.17g and %.17g", c, score_fields[f].name, i, x, y);
            }
        scored_free(&a), scored_free(&b);
    }
}

/* A label is the two-class problem (1 - u, u). */
static void label_is_two_classes(void **state) {
    (void)state;
    enum { N = 40, M = 7 };
    for (int trial = 0; trial < 6; trial++) {
        rng_state = 400 + (uint64_t)trial + seed_shift();
        vg_score_options o = rising(), labels = rising();
        assert_int_equal(vg_score_options_preset(&o, (vg_preset)(trial % 3)), VG_OK);
        assert_int_equal(vg_score_options_preset(&labels, (vg_preset)(trial % 3)), VG_OK);
        labels.task = VG_TASK_MULTILABEL;
        double *p = make_predictions(N, M, 2, MAKE_DIRICHLET, 0.7), *u = ref_alloc(N * M, sizeof *u);
        for (size_t i = 0; i < N * M; i++) {
            u[i] = p[2 * i + 1];
            p[2 * i] = 1 - u[i];
        }
        scored a = score_data(p, VG_F64, N, M, 2, &o), b = score_data(u, VG_F64, N, M, 1, &labels);
        alike("label", &a, &b, 1e-11, 1);
        for (size_t i = 0; i < N; i++)
            assert_int_equal(a.s.pred[i], b.s.pred[i]);
        scored_free(&a), scored_free(&b);
    }
}

static int suite(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds),           cmocka_unit_test(decision_monotone), cmocka_unit_test(gate_function),
        cmocka_unit_test(limits_in_k),      cmocka_unit_test(limits_of_gmu),     cmocka_unit_test(no_disagreement),
        cmocka_unit_test(one_member),       cmocka_unit_test(invariances),       cmocka_unit_test(label_is_two_classes),
        cmocka_unit_test(members_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_in_every_tier(suite); }
