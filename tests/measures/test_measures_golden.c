/* test_measures_golden.c - known values: cases worked out by hand (the working is beside each), and the table
 * data/measures/values.txt, computed at 60 digits by a program written apart from the C reference. Both the reference
 * and, in every SIMD tier, the kernels must agree with the table. */
#include "measures_util.h"

static const double LN2 = 0.693147180559945309417, LN3 = 1.098612288668109691395;

/* --- by hand ---------------------------------------------------------------------------------------------------------
 */

enum { ROOM = 64 };
typedef struct small_result {
    double tu[ROOM], au[ROOM], eu[ROOM], epce[ROOM], epkl[ROOM], epjs[ROOM], gtu[ROOM], gau[ROOM], geu[ROOM],
        gepce[ROOM], gepkl[ROOM], gepjs[ROOM], gmu[ROOM], snr[ROOM], mean[ROOM], std[ROOM];
    int32_t pred[ROOM], second[ROOM], decision[ROOM];
    uint32_t flags[ROOM];
    vg_score_summary summary;
} small_result;

static small_result small;

static vg_scores small_places(void) {
    return (vg_scores){.tu = small.tu,
                       .au = small.au,
                       .eu = small.eu,
                       .epce = small.epce,
                       .epkl = small.epkl,
                       .epjs = small.epjs,
                       .gtu = small.gtu,
                       .gau = small.gau,
                       .geu = small.geu,
                       .gepce = small.gepce,
                       .gepkl = small.gepkl,
                       .gepjs = small.gepjs,
                       .gmu = small.gmu,
                       .snr = small.snr,
                       .pred = small.pred,
                       .second = small.second,
                       .decision = small.decision,
                       .mean = small.mean,
                       .std = small.std,
                       .flags = small.flags};
}

static void score_small(const double *data, size_t n, size_t m, size_t c, const vg_score_options *options) {
    vg_scores out = small_places();
    vg_predictions view = vg_predictions_f64(data, n, m, c);
    memset(&small, 0xee, sizeof small);
    assert_int_equal(vg_score(&out, &small.summary, &view, options), VG_OK);
}

static void near(double got, double want) {
    if (!(fabs(got - want) <= 1e-12 * fmax(1, fabs(want))))
        fail_msg("got %.17g, want %.17g", got, want);
}

/* Two members that are sure of different classes: p_1 = (1, 0), p_2 = (0, 1).
 * mu = (1/2, 1/2), sigma = (1/2, 1/2). H(mu) = log 2, H(p_m) = 0, so TU = EU = log 2, AU = 0.
 * Cross terms: -log(max(0, 1e-12)) = 12 log 10 for the two off-diagonal pairs of four, 0 on the diagonal: EPCE = 6 log
 * 10 = EPKL. JS of disjoint distributions is log 2, for two pairs of four: EPJS = log(2)/2. The gate is the same in
 * both classes, so it cancels in q_m = p_m: gated values equal ungated ones at every k. Equal means: SNR = 0, GMU = 1 -
 * (1/2)(1 - 1) = 1, every decision uncertain, a tie; the lower class is first. */
static void opposite_members(void **state) {
    (void)state;
    const double p[] = {1, 0, 0, 1};
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    score_small(p, 1, 2, 2, &options);
    near(small.tu[0], LN2);
    near(small.au[0], 0);
    near(small.eu[0], LN2);
    near(small.epce[0], 6 * log(10.0));
    near(small.epkl[0], 6 * log(10.0));
    near(small.epjs[0], LN2 / 2);
    for (int k = 0; k < 3; k++) {
        near(small.gtu[k], LN2);
        near(small.gau[k], 0);
        near(small.geu[k], LN2);
        near(small.gepce[k], 6 * log(10.0));
        near(small.gepkl[k], 6 * log(10.0));
        near(small.gepjs[k], LN2 / 2);
        assert_int_equal(small.decision[k], -1);
    }
    assert_true(small.snr[0] == 0);
    near(small.gmu[0], 1);
    assert_int_equal(small.pred[0], 0);
    assert_int_equal(small.second[0], 1);
    assert_int_equal(small.flags[0], VG_FLAG_TIE);
    near(small.mean[0], 0.5);
    near(small.std[1], 0.5);
    near(small.summary.diversity, 0.25);
    near(small.summary.mean_tu, LN2);
    near(small.summary.k_sensitivity, 0);
}

/* The same under pairs = distinct: only the two off-diagonal pairs: EPCE = EPKL = 12 log 10, EPJS = log 2.
 * Sample spread: sigma = sqrt((1/4 + 1/4)/1) = 1/sqrt 2, but std stays the population's 1/2. Base 2: TU = 1 bit.
 * Normalised: TU / log C = 1 whatever the base. */
static void opposite_members_switched(void **state) {
    (void)state;
    const double p[] = {1, 0, 0, 1};
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    options.pairs = VG_PAIRS_DISTINCT;
    options.sigma_gate = options.sigma_margin = VG_SIGMA_SAMPLE;
    options.log_base = VG_LOG_2;
    score_small(p, 1, 2, 2, &options);
    near(small.tu[0], 1);
    near(small.epce[0], 12 * log(10.0) / LN2);
    near(small.epkl[0], 12 * log(10.0) / LN2);
    near(small.epjs[0], 1);
    near(small.std[0], 0.5);
    near(small.summary.mean_tu, LN2); /* the summary stays in nats */
    options.normalise = 1;
    score_small(p, 1, 2, 2, &options);
    near(small.tu[0], 1);
    near(small.eu[0], 1);
    near(small.gtu[2], 1);
    near(small.epjs[0], 1); /* normalisation leaves the pairwise measures alone */
}

/* p_1 = (1, 0), p_2 = (1/2, 1/2). mu = (3/4, 1/4), sigma = (1/4, 1/4).
 * TU = -(3/4 log 3/4 + 1/4 log 1/4) = 2 log 2 - (3/4) log 3; AU = (0 + log 2)/2.
 * JS: middle = mu, so JS = TU - AU, over two pairs of four: EPJS = EU/2.
 * Cross terms: (1,1) 0; (1,2) log 2; (2,1) -1/2 log 1e-12 = 6 log 10; (2,2) log 2: EPCE = (2 log 2 + 6 log 10)/4.
 * SNR = (1/2)/(1/2 + 1e-8). Rule at k: 3/4 - k/4 > 1/4 + k/4 iff k < 1: certain at 1/2, uncertain at 1 (equality) and
 * 2. */
static void half_sure(void **state) {
    (void)state;
    const double p[] = {1, 0, 0.5, 0.5}, k[] = {0.5, 1, 2};
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    options.k = k;
    options.k_count = 3;
    score_small(p, 1, 2, 2, &options);
    double tu = 2 * LN2 - 0.75 * LN3, snr = 0.5 / (0.5 + 1e-8);
    near(small.tu[0], tu);
    near(small.au[0], LN2 / 2);
    near(small.eu[0], tu - LN2 / 2);
    near(small.epjs[0], (tu - LN2 / 2) / 2);
    near(small.epce[0], (2 * LN2 + 6 * log(10.0)) / 4);
    near(small.epkl[0], 6 * log(10.0) / 4);
    near(small.snr[0], snr);
    near(small.gmu[0], 1 - 0.75 * (1 - exp(-snr)));
    assert_int_equal(small.decision[0], 0);
    assert_int_equal(small.decision[1], -1);
    assert_int_equal(small.decision[2], -1);
    /* k = 1: Gamma = (1 - exp(-3), 1 - exp(-1)) but for eps = 1e-8; q_1 = (1, 0), q_2 = (a, b)/(a + b) */
    double a = -expm1(-0.75 / (0.25 + 1e-8)), b = -expm1(-0.25 / (0.25 + 1e-8)), x = a / (a + b), y = (1 + x) / 2;
    double h2 = -(x * log(x) + (1 - x) * log(1 - x)), h = -(y * log(y) + (1 - y) * log(1 - y));
    near(small.gtu[1], h);
    near(small.gau[1], h2 / 2);
    near(small.geu[1], h - h2 / 2);
    near(small.gepjs[1], (h - h2 / 2) / 2);
    near(small.gepce[1], (-log(x) + (1 - x) * 12 * log(10.0) + h2) / 4);
    assert_int_equal(small.flags[0], 0);
}

/* Uniform identical members over C classes: TU = AU = EPCE = log C, every epistemic term exactly 0, all classes tie. */
static void uniform_members(void **state) {
    (void)state;
    const double p[] = {0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25};
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    score_small(p, 1, 3, 4, &options);
    near(small.tu[0], 2 * LN2);
    near(small.au[0], 2 * LN2);
    near(small.epce[0], 2 * LN2);
    assert_true(small.eu[0] == 0 && small.epkl[0] == 0 && small.epjs[0] == 0);
    assert_true(small.geu[2] == 0 && small.gepkl[2] == 0 && small.gepjs[2] == 0);
    near(small.gtu[2], 2 * LN2);
    near(small.gmu[0], 1);
    assert_int_equal(small.pred[0], 0);
    assert_int_equal(small.second[0], 1);
    assert_int_equal(small.flags[0], VG_FLAG_TIE);
}

/* Multilabel, two members, labels u = (0.5, 0.5), (1, 1), (0, 0.5):
 * label 0: u = 1/2, sigma = 0: SNR 0; GMU continuous 1, literal mu(i) 0 = 0. pred [u > 0.5] = 0.
 * label 1: u = 1, sigma = 0: SNR = 1/1e-8, GMU = 0 in both forms; decision 1 at every k.
 * label 2: u = 1/4, sigma = 1/4, mu(i) = 3/4 of outcome 0: SNR = (1/2)/(1/2 + 1e-8), Gamma = 1 - exp(-SNR);
 *          GMU continuous 1 - 3/4 Gamma, literal (u <= 0.5) 3/4 Gamma; half_sure with the order of outcomes kept. */
static void multilabel_forms(void **state) {
    (void)state;
    const double u[] = {0.5, 1, 0, 0.5, 1, 0.5}, k[] = {0.5, 1, 2};
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    double gate = -expm1(-0.5 / (0.5 + 1e-8)), tu = 2 * LN2 - 0.75 * LN3;
    options.task = VG_TASK_MULTILABEL;
    options.k = k;
    options.k_count = 3;
    score_small(u, 1, 2, 3, &options);
    near(small.gmu[0], 1);
    near(small.gmu[1], 0);
    near(small.gmu[2], 1 - 0.75 * gate);
    near(small.snr[1], 1e8);
    near(small.tu[0], LN2);
    near(small.tu[1], 0);
    near(small.tu[2], tu);
    near(small.eu[2], tu - LN2 / 2);
    near(small.epjs[2], (tu - LN2 / 2) / 2);
    const int32_t preds[] = {0, 1, 0}, decisions[] = {-1, -1, -1, 1, 1, 1, 0, -1, -1};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(small.pred[i], preds[i]);
        assert_int_equal(small.second[i], 1 - preds[i]);
    }
    for (int i = 0; i < 9; i++)
        assert_int_equal(small.decision[i], decisions[i]);
    near(small.mean[2], 0.25);
    near(small.std[2], 0.25);
    near(small.summary.diversity, 0.0625 / 3);
    options.task = VG_TASK_MULTILABEL_LITERAL;
    score_small(u, 1, 2, 3, &options);
    near(small.gmu[0], 0);
    near(small.gmu[1], 0);
    near(small.gmu[2], 0.75 * gate);
}

/* Logits log(p) + any constant give p back: (log 1, log 3) + 100 is (1/4, 3/4); T = 2 halves the log odds: odds sqrt 3.
 * */
static void logits_by_hand(void **state) {
    (void)state;
    const double z[] = {100, 100 + LN3}, two = 2;
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    options.logits = 1;
    score_small(z, 1, 1, 2, &options);
    near(small.mean[0], 0.25);
    near(small.tu[0], 2 * LN2 - 0.75 * LN3);
    options.temperature = &two;
    options.temperature_count = 1;
    score_small(z, 1, 1, 2, &options);
    near(small.mean[1], sqrt(3) / (1 + sqrt(3)));
    /* log space, no floor: KL of (0, -1000) against (-1000, 0) is 1000, both ways: EPKL = (1000 + 1000)/4 */
    const double far[] = {0, -1000, -1000, 0};
    options.temperature = NULL;
    options.temperature_count = 0;
    score_small(far, 1, 2, 2, &options);
    near(small.epkl[0], 500);
    near(small.epce[0], 500);
    near(small.gepkl[0], 500);
    near(small.epjs[0], LN2 / 2);
}

/* --- the table -------------------------------------------------------------------------------------------------------
 */

static double *table_numbers(FILE *file, size_t count) {
    double *numbers = ref_alloc(count, sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        if (fscanf(file, "%lf", &numbers[i]) != 1)
            abort();
    return numbers;
}

static void table_fill(vg_scores *s, FILE *file, size_t problems, size_t k_count) {
    for (size_t i = 0; i < problems; i++) {
        double *x = table_numbers(file, 11),
               *first[] = {s->tu, s->au, s->eu, s->epce, s->epkl, s->epjs, s->gmu, s->snr};
        for (int f = 0; f < 8; f++)
            first[f][i] = x[f];
        s->pred[i] = (int32_t)x[8];
        s->second[i] = (int32_t)x[9];
        s->flags[i] = x[10] != 0 ? VG_FLAG_TIE : 0;
        free(x);
        for (size_t k = i * k_count; k < (i + 1) * k_count; k++) {
            double *y = table_numbers(file, 7), *gated[] = {s->gtu, s->gau, s->geu, s->gepce, s->gepkl, s->gepjs};
            for (int f = 0; f < 6; f++)
                gated[f][k] = y[f];
            s->decision[k] = (int32_t)y[6];
            free(y);
        }
    }
}

/* The next case of the table, what the table says replacing what the reference said, after comparing the two. */
static int table_next(score_case *out, FILE *file, size_t *reference_errors) {
    char name[80];
    int w[11];
    if (fscanf(file, " case %79s", name) != 1)
        return 0;
    for (int i = 0; i < 11; i++)
        if (fscanf(file, "%d", &w[i]) != 1)
            abort();
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    o.task = (vg_task)w[0], o.logits = w[1], o.renormalise = w[2], o.pairs = (vg_pairs)w[3];
    o.sigma_gate = (vg_sigma)w[4], o.sigma_margin = (vg_sigma)w[5], o.log_base = (vg_log_base)w[6], o.normalise = w[7];
    o.floor_form = (vg_floor)w[8], o.gate_eps_form = (vg_gate_eps)w[9], o.margin_eps_form = (vg_margin_eps)w[10];
    double *head = table_numbers(file, 3);
    o.floor = head[0], o.eps = head[1], o.k_count = (size_t)head[2];
    double *k = table_numbers(file, o.k_count), *t_count = table_numbers(file, 1);
    o.k = k, o.temperature_count = (size_t)*t_count;
    double *t = table_numbers(file, o.temperature_count), *size = table_numbers(file, 2);
    o.temperature = o.temperature_count ? t : NULL;
    size_t m = (size_t)size[0], c = (size_t)size[1];
    *out = case_new(name, table_numbers(file, m * c), VG_F64, 1, m, c, &o);
    vg_scores table = scores_new(out->shape);
    table_fill(&table, file, out->shape.problems, out->shape.k);
    complaint complaints = {out, 0};
    for (int f = 0; f < SCORE_FIELDS; f++) {
        const score_field *field = &score_fields[f];
        double **has = score_place(&table, f), **says = score_place(&out->want, f);
        for (size_t i = 0; field->size != PER_CLASS && i < score_count(out->shape, field->size); i++) {
            double allowed = 1e-14 * fmax(1e-6, fabs((*has)[i]));
            if (!(fabs((*has)[i] - (*says)[i]) <= allowed))
                complain(&complaints, field->name, i, (*has)[i], (*says)[i], allowed);
            (*says)[i] = (*has)[i];
        }
    }
    compare_classes(&complaints, &table);
    *reference_errors += complaints.count;
    scores_free(&table);
    free(head);
    free(k);
    free(t_count);
    free(t);
    free(size);
    return 1;
}

static score_case cases[100];
static size_t case_count, reference_errors, js_errors;

/* The reference's two forms of the Jensen-Shannon sum, where members nearly agree. */
static void compare_js_forms(void) {
    for (int trial = 0; trial < 12; trial++) {
        double *data = make_predictions(1, 6, 5, trial % 2 ? MAKE_NEAR : MAKE_DIRICHLET,
                                        trial % 2 ? pow(10, -trial / 2 - 1) : 0.1);
        ref_members r = ref_members_new(6, 5);
        for (int i = 0; i < 30; i++)
            r.p[i] = data[i];
        double quad = (double)ref_js_pairs(&r, 0, 100), fast = (double)ref_js_pairs(&r, 0, 0);
        if (!(fabs(quad - fast) <= 1e-10 * quad)) {
            fprintf(stderr, "Jensen-Shannon forms of the reference: %.17g and %.17g\n", quad, fast);
            js_errors++;
        }
        ref_members_free(&r);
        free(data);
    }
}

static void prepare(void) {
    FILE *file = fopen("tests/data/measures/values.txt", "r");
    if (!file)
        return;
    while (case_count < sizeof cases / sizeof *cases && table_next(&cases[case_count], file, &reference_errors))
        case_count++;
    fclose(file);
    compare_js_forms();
}

static void reference_agrees(void **state) {
    (void)state;
    assert_true(case_count > 40);
    assert_int_equal(reference_errors, 0);
    assert_int_equal(js_errors, 0);
}

static void kernels_agree(void **state) {
    (void)state;
    cases_agree(cases, case_count);
}

static int suite(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opposite_members), cmocka_unit_test(opposite_members_switched),
        cmocka_unit_test(half_sure),        cmocka_unit_test(uniform_members),
        cmocka_unit_test(multilabel_forms), cmocka_unit_test(logits_by_hand),
        cmocka_unit_test(reference_agrees), cmocka_unit_test(kernels_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
    prepare();
    return run_cases(cases, case_count, suite);
}
