/* test_evaluate_joined.c - calibration of a multilabel evaluation that is put together from sums over its samples
 * (vg_evaluation.bin_products): the figures of the evaluation of the rows themselves. Labels of a sample depend on each
 * other, and the gaps of bins have both signs. And sets by group whose blocks become shorter. */
#include "base/random.h"
#include "evaluate/prediction_sets.h"
#include "sets_util.h"

enum { N = 120, LABELS = 5, BINS = 8 };
static double mean[N * LABELS];
static int64_t labels[N * LABELS];

/* Overconfident where sure, underconfident elsewhere; the labels of a sample share a shift. */
static void draw(uint64_t seed) {
    vg_random random = vg_random__start(seed, 1);
    for (size_t i = 0; i < N; i++) {
        double shift = vg_random__normal(&random);
        for (size_t j = 0; j < LABELS; j++) {
            double p = vg_random__unit(&random), logit = log(p / (1 - p));
            mean[i * LABELS + j] = p;
            labels[i * LABELS + j] = (fabs(logit) > 1.5 ? 0.4 : 1.6) * logit + shift > vg_random__normal(&random);
        }
    }
}

static size_t bin_of(const vg_evaluation *e, double confidence) {
    size_t b = 0;
    while (b + 1 < e->bins && confidence > e->reliability[b].high)
        b++;
    return b;
}

static void add_sample(double *products, const vg_evaluation *e, size_t sample) {
    double r[BINS] = {0}, m[BINS] = {0};
    for (size_t row = sample * LABELS; row < (sample + 1) * LABELS; row++) {
        bool yes = mean[row] > 0.5;
        double confidence = yes ? mean[row] : 1 - mean[row];
        size_t b = bin_of(e, confidence);
        r[b] += confidence - (yes == (labels[row] != 0));
        m[b]++;
    }
    for (size_t a = 0; a < BINS; a++) {
        for (size_t b = 0; b < BINS; b++) {
            products[a * BINS + b] += r[a] * r[b];
            products[BINS * BINS + a * BINS + b] += r[a] * m[b];
            products[2 * BINS * BINS + a * BINS + b] += m[a] * m[b];
        }
        products[3 * BINS * BINS + a] += m[a] > 0;
    }
}

static void near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-9 * (1 + fabs(expected))))
        fail_msg("%.15g, expected %.15g", found, expected);
}

static void from_products(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        vg_tally_options how = VG_TALLY_OPTIONS_INIT;
        vg_evaluate_options o = VG_EVALUATE_OPTIONS_INIT;
        static double products[3 * BINS * BINS + BINS];
        vg_tally *tally;
        vg_evaluation *e;
        bool signs[2] = {false, false};
        draw(seed);
        how.task = VG_TASK_MULTILABEL, how.bins = BINS, how.bootstrap = 1;
        o.resamples = 8;
        ok(vg_tally_new(&tally, LABELS, &how));
        ok(vg_tally_feed(tally, mean, NULL, labels, N));
        ok(vg_evaluate(&e, tally, NULL, 0, &o));
        memset(products, 0, sizeof products);
        for (size_t i = 0; i < N; i++)
            add_sample(products, e, i);
        for (size_t b = 0; b < BINS; b++)
            if (e->reliability[b].count)
                signs[e->reliability[b].confidence > e->reliability[b].accuracy] = true;
        assert_true(signs[0] && signs[1]);
        vg_evaluation joined = {.struct_size = sizeof joined, .task = VG_TASK_MULTILABEL, .n = N, .classes = LABELS};
        joined.rows = N * LABELS, joined.bins = BINS, joined.reliability = e->reliability;
        joined.resamples = 8, joined.confidence = e->confidence, joined.errors = e->errors;
        joined.ece = (vg_estimate){e->ece.value, NAN, NAN};
        joined.bin_products = products;
        ok(vg_evaluation_finish(&joined, NULL));
        near(joined.calibration.expected, e->calibration.expected);
        near(joined.calibration.p_value, e->calibration.p_value);
        near(joined.calibration.debiased, e->calibration.debiased);
        assert_int_equal(joined.calibration.mce_rows, e->calibration.mce_rows);
        near(joined.ece.low, e->ece.low);
        near(joined.ece.high, e->ece.high);
        vg_evaluation_free(e);
        vg_tally_free(tally);
    }
}

/* Groups without calibration samples are counted in their own block alone. */
static void shorter_blocks(void **state) {
    (void)state;
    static const char *const seen[10] = {"a", "a", "a", "a", "a", "a", "a", "a", "a", "a"};
    static const char *const some[10] = {"a", "a", "a", "a", "a", "b", "b", "a", "b", "b"};
    static const int64_t zeros[10] = {0};
    double p[20];
    vg_sets_options o = VG_SETS_OPTIONS_INIT;
    vg_set_places out = VG_SET_PLACES_INIT;
    vg_sets *sets;
    for (size_t i = 0; i < 20; i++)
        p[i] = i % 2 ? 0.25 : 0.75;
    o.by = VG_SETS_BY_GROUP;
    ok(vg_sets_new(&sets, &o));
    vg_predictions ten = vg_predictions_f64(p, 10, 1, 2), five = vg_predictions_f64(p, 5, 1, 2);
    ok(vg_sets_feed(sets, NULL, &ten, zeros, seen));
    ok(vg_sets_feed(sets, &out, &ten, zeros, some));
    assert_int_equal(vg_sets__data(sets)->unseen_groups, 4);
    ok(vg_sets_feed(sets, &out, &five, zeros, some));
    assert_int_equal(vg_sets__data(sets)->unseen_groups, 4);
    assert_string_equal(vg_sets__data(sets)->unseen_group, "b");
    vg_sets_free(sets);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(from_products), cmocka_unit_test(shorter_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
