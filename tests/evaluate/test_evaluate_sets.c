/* test_evaluate_sets.c - prediction sets: what they promise, on real predictions. The sets themselves are tested by
 * test_evaluate_set_rows.c.
 *
 * Under a random split of fixed samples into n for calibration and m for the test, the number of test
 * labels in their sets is beta-binomial, Beta(l, n + 1 - l) mixed over Bin(m, .), l = ceil((n + 1)(1 - alpha)), where
 * scores are distinct; whatever the data and the score. 2,000 splits of the example's predictions are compared with
 * that law (VARGATE_LONG_TESTS=1: 20,000, and the members themselves for every score). Class-conditional sets have the
 * law of each class. */
#include "sets_util.h"

static const char *const names[SCORES] = {"lac", "aps", "raps", "saps", "margin", "topk", "snr"};

/* --- the promise -------------------------------------------------------------------------------------------------- */
/* P(K <= k), K beta-binomial: m draws, Beta(a, b). */
static double mixed_cdf(size_t k, size_t m, double a, double b) {
    double sum = 0;
    for (size_t i = 0; i <= k; i++)
        sum += exp(lgamma((double)m + 1) - lgamma((double)i + 1) - lgamma((double)(m - i) + 1) + lgamma((double)i + a) +
                   lgamma((double)(m - i) + b) - lgamma((double)m + a + b) + lgamma(a + b) - lgamma(a) - lgamma(b));
    return sum;
}

/* How often each number of test labels was held, over splits. */
static void count_splits(size_t *held, samples *s, vg_sets_options *o, size_t n, size_t splits) {
    vg_random random = vg_random__start(17, 0);
    vg_set_places places = VG_SET_PLACES_INIT;
    for (size_t i = 0; i < splits; i++) {
        shuffle(s, &random);
        o->seed = i; /* u is drawn again: the split alone would not make positions exchangeable */
        vg_sets *sets = new_sets(o, 1);
        vg_predictions calibration = view_of(s, 0, n), test = view_of(s, n, s->n - n);
        ok(vg_sets_feed(sets, NULL, &calibration, s->labels, NULL));
        ok(vg_sets_feed(sets, &places, &test, s->labels + n, NULL));
        held[(size_t)llround(sets->figures[0].coverage.value * (double)test.n)]++;
        vg_sets_free(sets);
    }
}

static void check_law(const size_t *held, size_t m, size_t n, double alpha, size_t splits, const char *name,
                      bool above) {
    double l = ceil((double)(n + 1) * (1 - alpha) - 1e-9), seen = 0, worst = 0, mean = 0;
    for (size_t k = 0; k <= m; k++) {
        double law = mixed_cdf(k, m, l, (double)(n + 1) - l);
        seen += (double)held[k] / (double)splits;
        mean += (double)k / (double)m * (double)held[k] / (double)splits;
        worst = fmax(worst, above ? seen - law : fabs(seen - law));
    }
    printf("%-14s %zu splits: mean coverage %.4f, law %.4f; largest distance of distributions %.4f\n", name, splits,
           mean, l / (double)(n + 1), worst);
    assert_true(worst < 2.2 / sqrt((double)splits)); /* Kolmogorov: exceeded once in 8,000 runs */
    assert_true(mean > l / (double)(n + 1) - 0.004);
}

static void test_marginal_coverage(void **state) {
    size_t splits = is_long() ? 20000 : 2000, n = 120;
    (void)state;
    for (int score = 0; score < SCORES; score++) {
        samples s = example(score == VG_SET_SNR || is_long() ? 4 : 1);
        size_t *held = calloc(s.n + 1, sizeof *held);
        vg_sets_options o = options_of(score);
        double alpha = 0.1;
        o.alphas = &alpha;
        o.alpha_count = 1;
        count_splits(held, &s, &o, n, splits);
        check_law(held, s.n - n, n, alpha, splits, names[score], score == VG_SET_TOPK);
        free(held);
        samples_free(&s);
    }
}

static void test_gated_coverage(void **state) {
    size_t splits = is_long() ? 20000 : 1000, n = 120;
    (void)state;
    samples s = example(4);
    size_t *held = calloc(s.n + 1, sizeof *held);
    vg_sets_options o = options_of(VG_SET_APS);
    o.gate = 1;
    count_splits(held, &s, &o, n, splits);
    check_law(held, s.n - n, n, 0.1, splits, "aps, gated", false);
    free(held);
    samples_free(&s);
}

/* The tuning part takes its samples out of the calibration; the promise is that of the rest. */
static void test_tuned_coverage(void **state) {
    size_t splits = is_long() ? 5000 : 500, n = 160, total = 0;
    double covered = 0, promised = 0;
    vg_random random = vg_random__start(5, 0);
    vg_set_places places = VG_SET_PLACES_INIT;
    (void)state;
    samples s = example(1);
    for (size_t i = 0; i < splits; i++) {
        vg_sets_options o = VG_SETS_OPTIONS_INIT;
        o.score = i % 2 ? VG_SET_SAPS : VG_SET_RAPS;
        o.seed = i;
        shuffle(&s, &random);
        vg_sets *sets = new_sets(&o, 1);
        vg_predictions calibration = view_of(&s, 0, n), test = view_of(&s, n, s.n - n);
        ok(vg_sets_feed(sets, NULL, &calibration, s.labels, NULL));
        ok(vg_sets_feed(sets, &places, &test, s.labels + n, NULL));
        assert_int_equal(sets->calibrated + sets->tuned, n);
        assert_true(sets->tuned > 0 && isfinite(sets->lambda));
        double left = (double)sets->calibrated + 1;
        promised += ceil(left * 0.9 - 1e-9) / left;
        covered += sets->figures[0].coverage.value;
        total++;
        vg_sets_free(sets);
    }
    printf("tuned          %zu splits: mean coverage %.4f, law %.4f\n", total, covered / (double)total,
           promised / (double)total);
    assert_true(fabs(covered - promised) / (double)total < 4 * 0.035 / sqrt((double)total));
    samples_free(&s);
}

static void test_class_coverage(void **state) {
    size_t splits = is_long() ? 20000 : 2000, n = 200, C;
    double alpha = 0.2;
    vg_random random = vg_random__start(23, 0);
    (void)state;
    samples s = example(1);
    C = s.c;
    double *excess = calloc(2 * C, sizeof *excess);
    uint8_t *mask = malloc(s.n * ((C + 7) / 8));
    for (size_t i = 0; i < splits; i++) {
        vg_sets_options o = options_of(i % 2 ? VG_SET_LAC : VG_SET_APS);
        vg_set_places places = VG_SET_PLACES_INIT;
        size_t seen[16] = {0};
        o.by = VG_SETS_BY_CLASS;
        o.alphas = &alpha;
        o.alpha_count = 1;
        o.seed = i;
        places.mask = mask;
        shuffle(&s, &random);
        vg_sets *sets = new_sets(&o, 1);
        vg_predictions calibration = view_of(&s, 0, n), test = view_of(&s, n, s.n - n);
        ok(vg_sets_feed(sets, NULL, &calibration, s.labels, NULL));
        ok(vg_sets_feed(sets, &places, &test, s.labels + n, NULL));
        for (size_t j = 0; j < n; j++)
            seen[s.labels[j]]++;
        for (size_t c = 0; c < C; c++) {
            double all = (double)seen[c] + 1, l = ceil(all * (1 - alpha) - 1e-9), here = 0, count = 0;
            for (size_t j = 0; j < test.n; j++)
                if (s.labels[n + j] == (int64_t)c) {
                    here += mask[j * ((C + 7) / 8) + c / 8] >> (7 - c % 8) & 1;
                    count++;
                }
            double difference = count > 0 ? here / count - (l > all - 1 ? 1 : l / all) : 0;
            excess[2 * c] += difference;
            excess[2 * c + 1] += difference * difference;
        }
        vg_sets_free(sets);
    }
    for (size_t c = 0; c < C; c++) {
        double mean = excess[2 * c] / (double)splits, error = sqrt(excess[2 * c + 1]) / (double)splits;
        printf("class %zu: coverage above its law by %.4f, standard error %.4f\n", c, mean, error);
        assert_true(fabs(mean) < 4.5 * error);
    }
    free(excess);
    free(mask);
    samples_free(&s);
}

/* --- multilabel --------------------------------------------------------------------------------------------------- */
/* Labels that are present with the probability predicted, or overconfidently so; the expected loss of a threshold is
 * then measured on many samples. The promise may be broken in 5 % of the calibrations. */
static void test_missed_labels(void **state) {
    size_t draws = is_long() ? 2000 : 200, n = 300, big = 20000, C = 6, broken = 0, finite = 0;
    double alpha = 0.15;
    vg_random random = vg_random__start(3, 0);
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    (void)state;
    scoring.task = VG_TASK_MULTILABEL;
    samples s = samples_new(big, 1, C);
    int64_t *labels = malloc(big * C * sizeof *labels);
    double sums[1025] = {0}; /* losses of the whole population at every threshold of the grid */
    for (size_t i = 0; i < big; i++) {
        double score[6];
        size_t count = 0;
        for (size_t c = 0; c < C; c++) {
            double u = vg_random__unit(&random);
            s.p[i * C + c] = u;
            labels[i * C + c] = vg_random__unit(&random) < u * u;
            if (labels[i * C + c])
                score[count++] = 1 - u;
        }
        for (size_t g = 0; g <= 1024; g++)
            for (size_t j = 0; j < count; j++)
                sums[g] += score[j] > (double)g / 1024 ? 1.0 / (double)count : 0;
    }
    for (size_t d = 0; d < draws; d++) {
        vg_sets_options o = VG_SETS_OPTIONS_INIT;
        samples part = samples_new(n, 1, C);
        int64_t *some = malloc(n * C * sizeof *some);
        for (size_t i = 0; i < n; i++) {
            size_t j = (size_t)vg_random__below(&random, big);
            memcpy(part.p + i * C, s.p + j * C, C * sizeof *part.p);
            memcpy(some + i * C, labels + j * C, C * sizeof *some);
        }
        o.scoring = &scoring;
        o.alphas = &alpha;
        o.alpha_count = 1;
        vg_sets *sets = new_sets(&o, 1);
        vg_predictions view = view_of(&part, 0, n);
        ok(vg_sets_feed(sets, NULL, &view, some, NULL));
        ok(vg_sets_feed(sets, NULL, NULL, NULL, NULL));
        finite += isfinite(sets->thresholds[0]) != 0;
        broken += isfinite(sets->thresholds[0]) && sums[(size_t)(sets->thresholds[0] * 1024)] / (double)big > alpha;
        vg_sets_free(sets);
        samples_free(&part);
        free(some);
    }
    printf("missed labels: %zu of %zu calibrations broke the promise\n", broken, draws);
    assert_int_equal(finite, draws);
    assert_true((double)broken < 0.05 * (double)draws + 3 * sqrt(0.05 * (double)draws));
    free(labels);
    samples_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marginal_coverage), cmocka_unit_test(test_gated_coverage),
        cmocka_unit_test(test_tuned_coverage),    cmocka_unit_test(test_class_coverage),
        cmocka_unit_test(test_missed_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
