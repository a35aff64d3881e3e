/* test_evaluate_set_pieces.c - prediction sets of long blocks, which are worked on in pieces, against the same samples
 * in short ones; what tuning and groups do to the thresholds; the beta distribution of the coverage. */
#include "sets_util.h"

enum { N = 9000, C = 3, A = 2 };
static const double alphas[A] = {0.25, 0.05};

typedef struct found {
    uint8_t mask[N * A];
    int32_t size[N * A], pred[N * C];
    double p_value[N * C], value[N * C];
    vg_set_figures figures[A];
} found;

/* Calibrates on the first 500 samples and applies the sets to all, in blocks of `step`. */
static void apply(found *out, const samples *s, const int64_t *labels, bool multilabel, size_t step) {
    vg_sets_options o = options_of(VG_SET_LAC);
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    size_t width = multilabel ? C : 1;
    memset(out, 0, sizeof *out);
    scoring.task = multilabel ? VG_TASK_MULTILABEL : VG_TASK_MULTICLASS;
    o.scoring = &scoring;
    o.alphas = alphas;
    o.alpha_count = A;
    o.p_values = !multilabel;
    vg_sets *sets = new_sets(&o, 2);
    vg_predictions first = view_of(s, 0, 500);
    ok(vg_sets_feed(sets, NULL, &first, labels, NULL));
    for (size_t i = 0; i < s->n; i += step) {
        vg_predictions block = view_of(s, i, s->n - i < step ? s->n - i : step);
        vg_set_places at = VG_SET_PLACES_INIT;
        at.mask = out->mask + i * A;
        at.size = out->size + i * A;
        at.pred = out->pred + i * width;
        at.p_value = multilabel ? NULL : out->p_value + i * C;
        at.value = out->value + i * C;
        ok(vg_sets_feed(sets, &at, &block, labels + i * width, NULL));
    }
    memcpy(out->figures, sets->figures, sizeof out->figures);
    vg_sets_free(sets);
}

static void check_figures(const found *f, size_t n) {
    for (size_t a = 0; a < A; a++) {
        double sum = 0, empty = 0, single = 0;
        for (size_t i = 0; i < n; i++) {
            int32_t size = f->size[i * A + a];
            assert_int_equal(__builtin_popcount(f->mask[i * A + a]), size);
            sum += size, empty += size == 0, single += size == 1;
        }
        assert_int_equal(f->figures[a].samples, n);
        assert_true(fabs(f->figures[a].mean_size.value - sum / (double)n) < 1e-12);
        assert_true(fabs(f->figures[a].empty.value - empty / (double)n) < 1e-12);
        assert_true(fabs(f->figures[a].singletons.value - single / (double)n) < 1e-12);
    }
}

static void pieces_are_joined(void **state) {
    static found whole, parts;
    (void)state;
    for (int way = 0; way < 4; way++) { /* one member is read in place, several through their means */
        bool multilabel = way & 1;
        samples s = random_samples(N, way & 2 ? 2 : 1, C, 0, 5);
        int64_t *labels = malloc(N * C * sizeof *labels);
        for (size_t i = 0; i < N * C; i++)
            labels[i] = multilabel ? (int64_t)(i * 7 % 11 % 2) : s.labels[i % N];
        apply(&whole, &s, labels, multilabel, N);
        apply(&parts, &s, labels, multilabel, 1000);
        assert_memory_equal(whole.mask, parts.mask, sizeof whole.mask);
        assert_memory_equal(whole.size, parts.size, sizeof whole.size);
        assert_memory_equal(whole.pred, parts.pred, (multilabel ? C : 1) * N * sizeof *whole.pred);
        assert_memory_equal(whole.p_value, parts.p_value, sizeof whole.p_value);
        assert_memory_equal(whole.value, parts.value, sizeof whole.value);
        check_figures(&whole, N);
        for (size_t i = 0; i < N; i++) { /* the last piece as well */
            size_t top = 0;
            for (size_t c = 0; c < C; c++) {
                top = whole.value[i * C + c] > whole.value[i * C + top] ? c : top;
                if (multilabel)
                    assert_int_equal(whole.pred[i * C + c], whole.value[i * C + c] > 0.5);
            }
            if (!multilabel)
                assert_int_equal(whole.pred[i], top);
        }
        free(labels);
        samples_free(&s);
    }
}

/* P(at least l of n) at the chance x: the distribution function of Beta(l, n + 1 - l). */
static double beta_cdf(double x, size_t l, size_t n) {
    double sum = 0;
    for (size_t i = l; i <= n; i++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) + (double)i * log(x) +
                   (double)(n - i) * log1p(-x));
    return sum;
}

static void law_of_coverage(void **state) {
    static found f;
    (void)state;
    samples s = random_samples(1000, 1, C, 0, 6);
    apply(&f, &s, s.labels, false, 1000);
    for (size_t a = 0; a < A; a++) {
        size_t place = (size_t)ceil(501 * (1 - alphas[a]) - 1e-9);
        assert_true(fabs(beta_cdf(f.figures[a].expected_low, place, 500) - .025) < 1e-9);
        assert_true(fabs(beta_cdf(f.figures[a].expected_high, place, 500) - .975) < 1e-9);
    }
    samples_free(&s);
}

/* Two groups, in one of which the label has the largest probability and in the other the smallest: with a tuned score
 * too, each has a threshold of its own. */
static void tuned_groups(void **state) {
    enum { CLASSES = 8, ROWS = 600 };
    static const char *groups[ROWS];
    const double alpha = 0.4;
    vg_sets_options o = VG_SETS_OPTIONS_INIT;
    (void)state;
    o.score = VG_SET_RAPS;
    o.by = VG_SETS_BY_GROUP;
    o.randomise = 0;
    o.alphas = &alpha;
    o.alpha_count = 1;
    samples s = random_samples(ROWS, 1, CLASSES, 0, 7);
    for (size_t i = 0; i < ROWS; i++) {
        const double *p = s.p + i * CLASSES;
        size_t most = 0, least = 0;
        for (size_t c = 1; c < CLASSES; c++) {
            most = p[c] > p[most] ? c : most;
            least = p[c] < p[least] ? c : least;
        }
        groups[i] = i % 2 ? "hard" : "easy";
        s.labels[i] = (int64_t)(i % 2 ? least : most);
    }
    vg_sets *sets = new_sets(&o, 1);
    vg_predictions view = view_of(&s, 0, ROWS);
    ok(vg_sets_feed(sets, NULL, &view, s.labels, groups));
    ok(vg_sets_feed(sets, NULL, NULL, NULL, NULL));
    assert_int_equal(sets->cell_count, 2);
    size_t easy = strcmp(sets->cell_names[0], "easy") == 0 ? 0 : 1;
    assert_int_equal(sets->cell_samples[0] + sets->cell_samples[1] + sets->tuned, ROWS);
    assert_true(sets->cell_samples[0] > 200 && sets->cell_samples[1] > 200);
    assert_true(sets->thresholds[easy] < 0.6 && fabs(sets->thresholds[1 - easy] - 1) < 1e-9);
    vg_sets_free(sets);
    samples_free(&s);
}

static double tuned_size(double lambda, const samples *s, double *chosen) {
    vg_sets_options o = VG_SETS_OPTIONS_INIT;
    o.score = VG_SET_SAPS;
    o.lambda = lambda;
    o.tuning = 0.5;
    vg_set_places places = VG_SET_PLACES_INIT;
    vg_sets *sets = new_sets(&o, 1);
    vg_predictions first = view_of(s, 0, s->n / 2), rest = view_of(s, s->n / 2, s->n / 2);
    ok(vg_sets_feed(sets, NULL, &first, s->labels, NULL));
    ok(vg_sets_feed(sets, &places, &rest, s->labels + s->n / 2, NULL));
    double size = sets->figures[0].mean_size.value;
    *chosen = sets->lambda;
    vg_sets_free(sets);
    return size;
}

/* Whatever of the grid gives the smallest sets is found: here not its first values. */
static void lambda_is_searched(void **state) {
    (void)state;
    samples s = example(1);
    double tuned, given, least = INFINITY;
    double size = tuned_size(NAN, &s, &tuned);
    static const double grid[] = {0.0001, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1};
    for (size_t i = 0; i < sizeof grid / sizeof *grid; i++)
        least = fmin(least, tuned_size(grid[i], &s, &given));
    assert_true(tuned > 0.0001);
    assert_true(size < 1.1 * least); /* chosen on other samples */
    assert_true(size < tuned_size(0.0001, &s, &given) - 0.01);
    samples_free(&s);
}

/* Several error rates at once are those one by one. */
static void alphas_do_not_meet(void **state) {
    enum { SOME = 400 };
    (void)state;
    samples s = random_samples(SOME, 1, C, 0, 8);
    int64_t labels[SOME * C];
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    vg_predictions view = view_of(&s, 0, SOME);
    double alone[A];
    scoring.task = VG_TASK_MULTILABEL;
    for (size_t i = 0; i < SOME * C; i++)
        labels[i] = s.p[i] > 0.4 || i % 9 == 0;
    for (size_t a = 0; a <= A; a++) {
        vg_sets_options o = VG_SETS_OPTIONS_INIT;
        o.scoring = &scoring;
        o.alphas = alphas + a % A;
        o.alpha_count = a < A ? 1 : A;
        vg_sets *sets = new_sets(&o, 1);
        ok(vg_sets_feed(sets, NULL, &view, labels, NULL));
        ok(vg_sets_feed(sets, NULL, NULL, NULL, NULL));
        if (a < A)
            alone[a] = sets->thresholds[0];
        else
            assert_memory_equal(sets->thresholds, alone, sizeof alone);
        vg_sets_free(sets);
    }
    assert_true(alone[0] < alone[1] && alone[0] > 0);
    samples_free(&s);
}

/* Multiples of 1/16 are the same in float: thresholds of classes, groups and top classes too. */
static void floats_have_the_same_thresholds(void **state) {
    enum { SOME = 600 };
    (void)state;
    samples s = random_samples(SOME, 1, C, 16, 9);
    static float narrow[SOME * C];
    const char *groups[SOME];
    for (size_t i = 0; i < SOME * C; i++)
        narrow[i] = (float)s.p[i];
    for (size_t i = 0; i < SOME; i++)
        groups[i] = s.labels[i] == 2 ? "rare" : "usual";
    vg_predictions views[2] = {view_of(&s, 0, SOME), vg_predictions_f32(narrow, SOME, 1, C)};
    for (int by = VG_SETS_BY_NONE; by <= VG_SETS_BY_TOP; by++) {
        vg_sets *sets[2];
        for (int type = 0; type < 2; type++) {
            vg_sets_options o = options_of(VG_SET_LAC);
            o.by = (vg_set_by)by;
            o.alphas = alphas, o.alpha_count = A;
            sets[type] = new_sets(&o, 1);
            ok(vg_sets_feed(sets[type], NULL, &views[type], s.labels, by == VG_SETS_BY_GROUP ? groups : NULL));
            ok(vg_sets_feed(sets[type], NULL, NULL, NULL, NULL));
        }
        size_t cells = sets[0]->cell_count;
        assert_int_equal(cells, sets[1]->cell_count);
        assert_memory_equal(sets[0]->thresholds, sets[1]->thresholds, A * cells * sizeof(double));
        assert_memory_equal(sets[0]->cell_samples, sets[1]->cell_samples, cells * sizeof *sets[0]->cell_samples);
        vg_sets_free(sets[0]);
        vg_sets_free(sets[1]);
    }
    samples_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_joined),  cmocka_unit_test(law_of_coverage),
        cmocka_unit_test(tuned_groups),       cmocka_unit_test(lambda_is_searched),
        cmocka_unit_test(alphas_do_not_meet), cmocka_unit_test(floats_have_the_same_thresholds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
