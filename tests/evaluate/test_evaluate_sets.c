/* test_evaluate_sets.c - prediction sets: what they promise, on real predictions, and the sets themselves against a
 * plain reference.
 *
 * The promise. Under a random split of fixed samples into n for calibration and m for the test, the number of test
 * labels in their sets is beta-binomial, Beta(l, n + 1 - l) mixed over Bin(m, .), l = ceil((n + 1)(1 - alpha)), where
 * scores are distinct; whatever the data and the score. 2,000 splits of the example's predictions are compared with
 * that law (VARGATE_LONG_TESTS=1: 20,000, and the members themselves for every score). Class-conditional sets have the
 * law of each class. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "evaluate/bounds.h"
#include "vargate/formats.h"
#include "vargate/sets.h"
#include "vargate/workflow.h"

static const char *const names[] = {"lac", "aps", "raps", "saps", "margin", "topk", "snr"};
enum { SCORES = sizeof names / sizeof *names };

static bool is_long(void) { return getenv("VARGATE_LONG_TESTS") != NULL; }
static void ok(vg_status status) {
    if (status != VG_OK)
        fail_msg("%s", vg_error_message());
}

/* --- data --------------------------------------------------------------------------------------------------------- */
typedef struct samples {
    size_t n, m, c;
    double *p; /* n x m x c */
    int64_t *labels;
} samples;

static samples samples_new(size_t n, size_t m, size_t c) {
    samples s = {n, m, c, malloc(n * m * c * sizeof(double)), malloc(n * sizeof(int64_t))};
    assert_non_null(s.p);
    assert_non_null(s.labels);
    return s;
}
static void samples_free(samples *s) {
    free(s->p);
    free(s->labels);
}
static vg_predictions view_of(const samples *s, size_t first, size_t count) {
    return vg_predictions_f64(s->p + first * s->m * s->c, count, s->m, s->c);
}

/* The example's logits as probabilities, each group of members averaged to one of `m` members. */
static samples example(size_t m) {
    vg_prediction_file *file;
    size_t n, M, c, columns;
    int logits;
    const int64_t *labels;
    vg_predictions view;
    ok(vg_prediction_file_open(&file, "data/example-predictions.npz", NULL));
    vg_prediction_file_shape(file, &n, &M, &c, &logits);
    assert_int_equal(logits, 1);
    ok(vg_prediction_file_labels(file, &labels, &columns));
    ok(vg_prediction_file_block(file, 0, n, &view));
    samples s = samples_new(n, m, c);
    memset(s.p, 0, n * m * c * sizeof *s.p);
    const float *z = view.data;
    for (size_t i = 0; i < n; i++) {
        s.labels[i] = labels[i];
        for (size_t j = 0; j < M; j++) {
            const float *row = z + (ptrdiff_t)i * view.stride_n + (ptrdiff_t)j * view.stride_m;
            double sum = 0;
            for (size_t k = 0; k < c; k++)
                sum += exp((double)row[k]);
            for (size_t k = 0; k < c; k++)
                s.p[(i * m + j % m) * c + k] += exp((double)row[k]) / sum / (double)(M / m);
        }
    }
    vg_prediction_file_close(file);
    return s;
}

/* Puts the samples into a random order. */
static void shuffle(samples *s, vg_random *random) {
    size_t row = s->m * s->c;
    double kept[64 * 16];
    assert_true(row <= sizeof kept / sizeof *kept);
    for (size_t i = s->n; i > 1; i--) {
        size_t j = (size_t)vg_random__below(random, i);
        int64_t label = s->labels[i - 1];
        memcpy(kept, s->p + j * row, row * sizeof *kept);
        memmove(s->p + j * row, s->p + (i - 1) * row, row * sizeof *kept);
        memcpy(s->p + (i - 1) * row, kept, row * sizeof *kept);
        s->labels[i - 1] = s->labels[j];
        s->labels[j] = label;
    }
}

/* Random members: `levels` > 0 rounds probabilities to multiples of 1 / levels, so that many are equal. */
static samples random_samples(size_t n, size_t m, size_t c, unsigned levels, uint64_t seed) {
    samples s = samples_new(n, m, c);
    vg_random random = vg_random__start(seed, 0);
    for (size_t r = 0; r < n * m; r++) {
        double sum = 0, *p = s.p + r * c;
        for (size_t k = 0; k < c; k++)
            sum += p[k] = pow(vg_random__unit(&random), 4);
        for (size_t k = 0; k < c; k++)
            p[k] /= sum;
        if (levels == 0)
            continue;
        for (size_t k = 0; k < c; k++)
            p[k] = 0;
        for (unsigned i = 0; i < levels; i++)
            p[vg_random__below(&random, 1 + vg_random__below(&random, c))] += 1.0 / levels;
    }
    for (size_t i = 0; i < n; i++)
        s.labels[i] = (int64_t)vg_random__below(&random, 1 + vg_random__below(&random, c));
    return s;
}

static vg_sets *new_sets(vg_sets_options *o, unsigned threads) {
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    vg_sets *sets;
    scoring.threads = threads;
    if (!o->scoring)
        o->scoring = &scoring;
    ok(vg_sets_new(&sets, o));
    if (o->scoring == &scoring)
        o->scoring = NULL;
    return sets;
}

static vg_sets_options options_of(int score) {
    vg_sets_options o = VG_SETS_OPTIONS_INIT;
    o.score = (vg_set_score)score;
    if (score == VG_SET_RAPS || score == VG_SET_SAPS)
        o.lambda = 0.05;
    if (score == VG_SET_RAPS)
        o.k_reg = 1;
    return o;
}

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
        o->seed = i; /* u is drawn anew: the split alone would not make positions exchangeable */
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

/* --- the sets themselves ------------------------------------------------------------------------------------------ */
typedef struct reference { /* one sample's values */
    const double *v, *sigma;
    size_t c;
    double u;
} reference;

static bool first_of(const reference *r, size_t a, size_t b) {
    return r->v[a] > r->v[b] || (r->v[a] == r->v[b] && a < b);
}

/* The definitions, class by class. */
static double reference_score(const vg_sets *s, const reference *r, size_t y) {
    double above = 0, most = 0;
    size_t rank = 1, rival = y == 0 ? 1 : 0;
    for (size_t j = 0; j < r->c; j++) {
        most = fmax(most, r->v[j]);
        if (j == y)
            continue;
        rival = first_of(r, j, rival) ? j : rival;
        if (first_of(r, j, y)) {
            above += r->v[j];
            rank++;
        }
    }
    switch (s->score) {
    case VG_SET_LAC: return 1 - r->v[y];
    case VG_SET_APS: return above + r->u * r->v[y];
    case VG_SET_RAPS: return above + r->u * r->v[y] + s->lambda * fmax(0, (double)rank - s->k_reg);
    case VG_SET_SAPS: return rank == 1 ? r->u * most : most + ((double)rank - 2 + r->u) * s->lambda;
    case VG_SET_MARGIN: return r->v[rival] - r->v[y];
    case VG_SET_TOPK: return (double)rank;
    default: return (r->v[rival] - r->v[y]) / (r->sigma[rival] + r->sigma[y] + 1e-8);
    }
}

/* Every mask, size, first class and threshold of a file of samples against the definitions. u = 1. */
static void check_against_reference(int score, vg_set_by by, unsigned levels, unsigned threads) {
    const double alphas[] = {0.3, 0.1};
    size_t n = 230, C = 11, bytes = 2;
    samples s = random_samples(2 * n, 4, C, levels, 3 + levels);
    double *mean = malloc(2 * n * C * sizeof *mean), *std = malloc(2 * n * C * sizeof *std);
    vg_scores scored = {.mean = mean, .std = std};
    vg_score_options plain = VG_SCORE_OPTIONS_INIT;
    vg_predictions all = view_of(&s, 0, 2 * n);
    ok(vg_score(&scored, NULL, &all, &plain));
    vg_sets_options o = options_of(score);
    vg_set_places places = VG_SET_PLACES_INIT;
    uint8_t *mask = malloc(n * 2 * bytes);
    int32_t *size = malloc(n * 2 * sizeof *size), *pred = malloc(n * sizeof *pred);
    double *p_value = malloc(n * C * sizeof *p_value);
    o.alphas = alphas;
    o.alpha_count = 2;
    o.by = by;
    o.randomise = 0;
    o.p_values = 1;
    places.mask = mask;
    places.size = size;
    places.pred = pred;
    places.p_value = p_value;
    vg_sets *sets = new_sets(&o, threads);
    for (size_t i = 0; i < n; i += 50) {
        vg_predictions block = view_of(&s, i, n - i < 50 ? n - i : 50);
        ok(vg_sets_feed(sets, NULL, &block, s.labels + i, NULL));
    }
    vg_predictions test = view_of(&s, n, n);
    ok(vg_sets_feed(sets, &places, &test, s.labels + n, NULL));
    for (size_t i = 0; i < n; i++) {
        reference r = {mean + (n + i) * C, std + (n + i) * C, C, 1};
        size_t top = 0;
        for (size_t c = 1; c < C; c++)
            top = r.v[c] > r.v[top] ? c : top;
        assert_int_equal(pred[i], top);
        for (size_t c = 0; c < C; c++) {
            size_t cell = by == VG_SETS_BY_CLASS ? c : by == VG_SETS_BY_TOP ? top : 0, larger = 0, in_cell = 0;
            double own = reference_score(sets, &r, c);
            for (size_t j = 0; j < n; j++) {
                reference q = {mean + j * C, std + j * C, C, 1};
                size_t first = 0;
                for (size_t k = 1; k < C; k++)
                    first = q.v[k] > q.v[first] ? k : first;
                size_t here = by == VG_SETS_BY_CLASS ? (size_t)s.labels[j] : by == VG_SETS_BY_TOP ? first : 0;
                in_cell += here == cell;
                larger +=
                    here == cell && reference_score(sets, &q, (size_t)s.labels[j]) >= own - 1e-13 * fmax(1, fabs(own));
            }
            /* In the set where at least the scores beyond the quantile's place are as large as this class's. */
            for (size_t a = 0; a < 2; a++) {
                double place = ceil((double)(in_cell + 1) * (1 - alphas[a]) - 1e-9);
                bool in = place > (double)in_cell || (double)larger >= (double)in_cell - place + 1;
                assert_int_equal(mask[(i * 2 + a) * bytes + c / 8] >> (7 - c % 8) & 1, in);
            }
            assert_float_equal(p_value[i * C + c], (double)(1 + larger) / (double)(in_cell + 1), 1e-12);
        }
    }
    vg_sets_free(sets);
    samples_free(&s);
    free(mean), free(std), free(mask), free(size), free(pred), free(p_value);
}

static void test_reference(void **state) {
    (void)state;
    for (int score = 0; score < SCORES; score++)
        for (int by = 0; by < 4; by++)
            if (by != VG_SETS_BY_GROUP) {
                check_against_reference(score, (vg_set_by)by, 0, 1); /* distinct values */
                check_against_reference(score, (vg_set_by)by, 4, 3); /* ties: means are multiples of 1/16 */
                check_against_reference(score, (vg_set_by)by, 1, 2); /* one-hot members */
            }
}

/* Calibration samples fed as test samples: at least as many labels are held as the threshold has scores below it. */
static void test_equal_scores(void **state) {
    (void)state;
    for (int score = 0; score < SCORES; score++) {
        size_t n = 499, held = 450;
        samples s = random_samples(n, 10, 7, 1, 99);
        vg_sets_options o = options_of(score);
        vg_set_places places = VG_SET_PLACES_INIT;
        vg_predictions view = view_of(&s, 0, n);
        o.randomise = 0;
        vg_sets *sets = new_sets(&o, 1);
        ok(vg_sets_feed(sets, NULL, &view, s.labels, NULL));
        ok(vg_sets_feed(sets, &places, &view, s.labels, NULL));
        assert_true(sets->figures[0].coverage.value * (double)n > (double)held - 0.5);
        vg_sets_free(sets);
        samples_free(&s);
    }
}

/* --- edges -------------------------------------------------------------------------------------------------------- */
static void test_few_samples(void **state) {
    samples s = random_samples(60, 3, 5, 0, 4);
    vg_sets_options o = VG_SETS_OPTIONS_INIT;
    vg_set_places places = VG_SET_PLACES_INIT;
    int32_t size[60];
    vg_predictions nine = view_of(&s, 0, 9), eight = view_of(&s, 0, 8), test = view_of(&s, 0, 60);
    (void)state;
    places.size = size;
    for (int more = 0; more < 2; more++) { /* alpha = 0.1 needs 9 samples */
        vg_sets *sets = new_sets(&o, 1);
        ok(vg_sets_feed(sets, NULL, more ? &nine : &eight, s.labels, NULL));
        ok(vg_sets_feed(sets, &places, &test, NULL, NULL));
        assert_int_equal(isinf(sets->thresholds[0]) != 0, !more);
        for (size_t i = 0; i < 60 && !more; i++)
            assert_int_equal(size[i], 5);
        assert_true(isnan(sets->figures[0].coverage.value));
        assert_int_equal(vg_sets_feed(sets, NULL, &nine, s.labels, NULL), VG_ERR_ARGUMENT);
        vg_sets_free(sets);
    }
    /* A class without calibration samples is in every set; one that has them need not be. */
    uint8_t mask[60];
    for (size_t i = 0; i < 60; i++)
        s.labels[i] = s.labels[i] == 2 ? 1 : s.labels[i];
    o.by = VG_SETS_BY_CLASS;
    places.mask = mask;
    vg_sets *sets = new_sets(&o, 1);
    ok(vg_sets_feed(sets, NULL, &test, s.labels, NULL));
    ok(vg_sets_feed(sets, &places, &test, NULL, NULL));
    assert_int_equal(sets->cell_samples[2], 0);
    for (size_t i = 0; i < 60; i++)
        assert_true(mask[i] & 0x20);
    vg_sets_free(sets);
    samples_free(&s);
}

static void test_groups(void **state) {
    samples s = random_samples(400, 3, 5, 0, 12);
    const char *groups[400];
    vg_sets_options o = VG_SETS_OPTIONS_INIT;
    vg_set_places places = VG_SET_PLACES_INIT;
    int32_t size[400];
    (void)state;
    for (size_t i = 0; i < 400; i++)
        groups[i] = i >= 390 ? "new" : i % 3 ? "b" : "a";
    o.by = VG_SETS_BY_GROUP;
    places.size = size;
    vg_sets *sets = new_sets(&o, 2);
    vg_predictions calibration = view_of(&s, 0, 200), test = view_of(&s, 200, 200), part = view_of(&s, 0, 67);
    assert_int_equal(vg_sets_feed(sets, NULL, &calibration, s.labels, NULL), VG_ERR_ARGUMENT);
    ok(vg_sets_feed(sets, NULL, &calibration, s.labels, groups));
    ok(vg_sets_feed(sets, &places, &test, NULL, groups + 200));
    assert_int_equal(sets->cell_count, 2);
    assert_string_equal(sets->cell_names[0], "a");
    assert_int_equal(size[199], 5);
    /* The threshold of a group is that of its samples alone. */
    for (size_t i = 0; i < 67; i++) {
        memcpy(s.p + i * 15, s.p + i * 45, 15 * sizeof *s.p);
        s.labels[i] = s.labels[3 * i];
    }
    o.by = VG_SETS_BY_NONE;
    vg_sets *alone = new_sets(&o, 1);
    ok(vg_sets_feed(alone, NULL, &part, s.labels, NULL));
    ok(vg_sets_feed(alone, NULL, NULL, NULL, NULL));
    assert_true(alone->thresholds[0] == sets->thresholds[0]);
    vg_sets_free(alone);
    vg_sets_free(sets);
    samples_free(&s);
}

/* Blocks and threads change nothing, randomised scores included; never_empty fills empty sets. */
static void test_blocks(void **state) {
    samples s = random_samples(700, 3, 9, 0, 31);
    uint8_t mask[2][600 * 2];
    (void)state;
    for (int way = 0; way < 2; way++) {
        vg_sets_options o = options_of(VG_SET_APS);
        vg_set_places places = VG_SET_PLACES_INIT;
        size_t step = way ? 7 : 1000;
        double alpha = 0.4;
        o.alphas = &alpha;
        o.alpha_count = 1;
        o.never_empty = 1;
        vg_sets *sets = new_sets(&o, way ? 3 : 1);
        for (size_t i = 0; i < 100; i += step) {
            vg_predictions block = view_of(&s, i, 100 - i < step ? 100 - i : step);
            ok(vg_sets_feed(sets, NULL, &block, s.labels + i, NULL));
        }
        for (size_t i = 0; i < 600; i += step) {
            vg_predictions block = view_of(&s, 100 + i, 600 - i < step ? 600 - i : step);
            places.mask = mask[way] + i * 2;
            ok(vg_sets_feed(sets, &places, &block, s.labels + 100 + i, NULL));
        }
        assert_int_equal(sets->samples, 600);
        assert_true(sets->figures[0].empty.value == 0);
        vg_sets_free(sets);
    }
    assert_memory_equal(mask[0], mask[1], sizeof mask[0]);
    samples_free(&s);
}

/* A file of thresholds makes the sets that the calibration did. */
static void test_thresholds_file(void **state) {
    samples s = random_samples(300, 3, 6, 0, 8);
    const double alphas[] = {0.2, 0.001};
    char path[] = "/tmp/vargate-thresholds-XXXXXX", *text;
    uint8_t mask[2][100 * 2];
    (void)state;
    vg_sets_options o = options_of(VG_SET_RAPS);
    vg_set_places places = VG_SET_PLACES_INIT;
    o.alphas = alphas;
    o.alpha_count = 2;
    o.by = VG_SETS_BY_CLASS;
    o.gate = 2;
    o.seed = 9;
    vg_predictions calibration = view_of(&s, 0, 200), test = view_of(&s, 200, 100);
    vg_sets *sets = new_sets(&o, 1);
    places.mask = mask[0];
    ok(vg_sets_feed(sets, NULL, &calibration, s.labels, NULL));
    ok(vg_sets_feed(sets, &places, &test, NULL, NULL));
    ok(vg_sets_text(&text, sets, VG_SETS_THRESHOLDS));
    FILE *file = fdopen(mkstemp(path), "w");
    fputs(text, file);
    fclose(file);
    vg_free(text);
    vg_sets_free(sets);
    vg_sets_options again = VG_SETS_OPTIONS_INIT;
    again.thresholds = path;
    sets = new_sets(&again, 1);
    places.mask = mask[1];
    ok(vg_sets_feed(sets, &places, &test, NULL, NULL));
    assert_memory_equal(mask[0], mask[1], sizeof mask[0]);
    vg_sets_free(sets);
    remove(path);
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
        cmocka_unit_test(test_marginal_coverage),
        cmocka_unit_test(test_gated_coverage),
        cmocka_unit_test(test_tuned_coverage),
        cmocka_unit_test(test_class_coverage),
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_equal_scores),
        cmocka_unit_test(test_few_samples),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_thresholds_file),
        cmocka_unit_test(test_missed_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
