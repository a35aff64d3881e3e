/* test_evaluate_set_rows.c - prediction sets: masks, sizes and thresholds against a plain reference, equal scores, few
 * samples, groups, blocks, the kernels of every tier, files of thresholds. */
#include "evaluate/set_kernels.h"
#include "sets_util.h"

/* --- against the definitions -------------------------------------------------------------------------------------- */
typedef struct reference { /* one sample's values */
    const double *v, *sigma;
    size_t c;
    double u;
} reference;

static bool first_of(const reference *r, size_t a, size_t b) {
    return r->v[a] > r->v[b] || (r->v[a] == r->v[b] && a < b);
}

/* Scores that differ by less than 2^-39 are equal by definition (docs/design/prediction-sets.md). */
static double rounded(double score) { return nearbyint(score * 0x1p39) * 0x1p-39; }

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
    case VG_SET_APS: return rounded(above + r->u * r->v[y]);
    case VG_SET_RAPS: return rounded(above + r->u * r->v[y] + s->lambda * fmax(0, (double)rank - s->k_reg));
    case VG_SET_SAPS: return rounded(rank == 1 ? r->u * most : most + ((double)rank - 2 + r->u) * s->lambda);
    case VG_SET_MARGIN: return r->v[rival] - r->v[y];
    case VG_SET_TOPK: return (double)rank;
    default: return (r->v[rival] - r->v[y]) / (r->sigma[rival] + r->sigma[y] + 1e-8);
    }
}

/* Every mask, size, first class and threshold of a file of samples against the definitions. u = 1. */
static void check_against_reference(int score, vg_set_by by, size_t members, unsigned levels, unsigned threads) {
    const double alphas[] = {0.3, 0.1};
    size_t n = 230, C = 11, bytes = 2;
    samples s = random_samples(2 * n, members, C, levels, 3 + levels);
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
            /* Sums of another order differ by rounding; the other scores are the same expressions. */
            double own = reference_score(sets, &r, c), slack = score >= 1 && score <= 3 ? 1e-13 * fmax(1, own) : 0;
            for (size_t j = 0; j < n; j++) {
                reference q = {mean + j * C, std + j * C, C, 1};
                size_t first = 0;
                for (size_t k = 1; k < C; k++)
                    first = q.v[k] > q.v[first] ? k : first;
                size_t here = by == VG_SETS_BY_CLASS ? (size_t)s.labels[j] : by == VG_SETS_BY_TOP ? first : 0;
                in_cell += here == cell;
                larger += here == cell && reference_score(sets, &q, (size_t)s.labels[j]) >= own - slack;
            }
            /* In the set where at least the scores beyond the quantile's rank are as large as this class's. */
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
            for (size_t members = 1; members <= 4 && by != VG_SETS_BY_GROUP; members += 3) {
                check_against_reference(score, (vg_set_by)by, members, 0, 1); /* distinct values */
                check_against_reference(score, (vg_set_by)by, members, 4, 3); /* ties: means are multiples of 1/16 */
                check_against_reference(score, (vg_set_by)by, members, 1, 2); /* one-hot members */
            }
}

/* One member is read in place, two equal ones go through the scorer: the same sets of up to 300 classes, in double
 * and in float. */
static void test_one_member(void **state) {
    enum { N = 300, A = 3, C = 300 };
    static const double alphas[A] = {0.3, 0.05, 0.001};
    static uint8_t mask[2][N * A * ((C + 7) / 8)];
    static float single[2 * N * 2 * C];
    (void)state;
    for (int score = 0; score < VG_SET_SNR; score++)
        for (unsigned way = 0; way < 4; way++) {
            samples s = random_samples(2 * N, 1, C, way / 2 ? 5 : 0, 77);
            vg_sets_options o = options_of(score);
            o.alphas = alphas;
            o.alpha_count = A;
            for (size_t m = 1; m <= 2; m++) {
                samples pair = samples_new(2 * N, m, C);
                for (size_t i = 0; i < 2 * N * m; i++)
                    memcpy(pair.p + i * C, s.p + i / m * C, C * sizeof *s.p);
                for (size_t i = 0; i < 2 * N * m * C; i++)
                    single[i] = (float)pair.p[i];
                vg_predictions all = way % 2 ? vg_predictions_f32(single, 2 * N, m, C) : view_of(&pair, 0, 2 * N);
                vg_predictions half = all;
                half.n = N;
                vg_sets *sets = new_sets(&o, 2);
                vg_set_places places = VG_SET_PLACES_INIT;
                places.mask = mask[m - 1];
                ok(vg_sets_feed(sets, NULL, &half, s.labels, NULL));
                half.data = way % 2 ? (const void *)(single + N * m * C) : (const void *)(pair.p + N * m * C);
                ok(vg_sets_feed(sets, &places, &half, s.labels + N, NULL));
                vg_sets_free(sets);
                samples_free(&pair);
            }
            assert_memory_equal(mask[0], mask[1], sizeof mask[0]);
            samples_free(&s);
        }
}

/* A row that is not a distribution is refused by name, and one within the tolerance of the scorer is taken. */
static void test_bad_rows(void **state) {
    static const double added[] = {0.00095, -0.00095, 0.01, NAN, -0.5, INFINITY};
    (void)state;
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        samples s = random_samples(200, 1, 20, 0, 5);
        vg_sets_options o = options_of(VG_SET_LAC);
        vg_sets *sets = new_sets(&o, 2);
        vg_predictions view = view_of(&s, 0, 200);
        s.p[150 * 20 + 3] = i == 4 ? -0.5 : s.p[150 * 20 + 3] + added[i];
        vg_status status = vg_sets_feed(sets, NULL, &view, s.labels, NULL);
        assert_int_equal(status, i < 2 ? VG_OK : VG_ERR_DATA);
        if (i >= 2)
            assert_non_null(strstr(vg_error_message(), "sample 150"));
        vg_sets_free(sets);
        samples_free(&s);
    }
}

/* Lambda and k_reg of several alphas are those that each alpha gets alone, and so are the thresholds. */
static void test_tuning_of_alphas(void **state) {
    const double alphas[] = {0.3, 0.1, 0.02};
    samples s = example(5);
    (void)state;
    for (int score = VG_SET_RAPS; score <= VG_SET_SAPS; score++) {
        vg_sets_options o = VG_SETS_OPTIONS_INIT;
        vg_predictions view = view_of(&s, 0, s.n);
        o.score = (vg_set_score)score;
        o.tuning = 0.3;
        o.alphas = alphas;
        o.alpha_count = 3;
        vg_sets *all = new_sets(&o, 1);
        ok(vg_sets_feed(all, NULL, &view, s.labels, NULL));
        ok(vg_sets_feed(all, NULL, NULL, NULL, NULL));
        for (size_t a = 0; a < 3; a++) {
            o.alphas = alphas + a;
            o.alpha_count = 1;
            vg_sets *one = new_sets(&o, 1);
            ok(vg_sets_feed(one, NULL, &view, s.labels, NULL));
            ok(vg_sets_feed(one, NULL, NULL, NULL, NULL));
            assert_true(one->lambda == all->lambdas[a] && one->thresholds[0] == all->thresholds[a]);
            assert_true(score == VG_SET_SAPS ? all->k_regs == NULL : one->k_reg == all->k_regs[a]);
            assert_int_equal(one->tuned + one->calibrated, s.n);
            assert_int_equal(one->tuned, all->tuned);
            vg_sets_free(one);
        }
        if (score == VG_SET_RAPS)
            assert_true(all->k_regs[0] != all->k_regs[2]); /* the test would else show nothing */
        vg_sets_free(all);
    }
    samples_free(&s);
}

/* --- kernels ------------------------------------------------------------------------------------------------------ */
/* The kernels of the machine's tier against the plain ones. */
static void test_kernels(void **state) {
    enum { MOST = 70 };
    const vg_set_kernels *fast = vg_set__kernels(), *plain = &vg_set__kernels_plain;
    vg_random random = vg_random__start(11, 0);
    (void)state;
    for (size_t n = 2; n <= MOST; n++)
        for (unsigned levels = 0; levels < 8; levels += 3) {
            samples s = random_samples(1, 1, n, levels, n);
            double found[2][MOST + VG_SET_SPARE], falling[2][MOST + VG_SET_SPARE], bound = s.p[n / 3];
            double thresholds[3] = {1 - bound, 0.5, -1};
            uint8_t mask[2][3 * ((MOST + 7) / 8)] = {{0}};
            int32_t size[2][3];
            for (int way = 0; way < 2; way++) {
                const vg_set_kernels *k = way ? fast : plain;
                vg_set_marks marks = {mask[way], size[way], (n + 7) / 8, 3};
                assert_true(k->is_distribution(s.p, n));
                assert_int_equal(k->top(s.p, n), plain->top(s.p, n));
                k->mark_within(&marks, s.p, n, 1, thresholds);
                assert_int_equal(k->collect(found[way], s.p, n, bound), plain->collect(falling[way], s.p, n, bound));
                memcpy(found[way], s.p, n * sizeof *s.p);
                k->order(falling[way], found[way], n);
            }
            assert_memory_equal(mask[0], mask[1], sizeof mask[0]);
            assert_memory_equal(size[0], size[1], sizeof size[0]);
            assert_memory_equal(falling[0], falling[1], n * sizeof *falling[0]);
            for (size_t i = 1; i < n; i++)
                assert_true(falling[0][i - 1] >= falling[0][i]);
            size_t y = (size_t)vg_random__below(&random, n);
            vg_set_above a = plain->above(s.p, n, y), b = fast->above(s.p, n, y);
            assert_true(a.count == b.count && a.sum == b.sum && a.most == b.most);
            assert_int_equal(plain->mark_own(mask[0], s.p, n, 0.6, s.p), fast->mark_own(mask[1], s.p, n, 0.6, s.p));
            assert_memory_equal(mask[0], mask[1], (n + 7) / 8);
            assert_int_equal(plain->mark_from(mask[0], s.p, n, bound), fast->mark_from(mask[1], s.p, n, bound));
            assert_memory_equal(mask[0], mask[1], (n + 7) / 8);
            samples_free(&s);
        }
}

/* Rows of floats, apart by more than their length, at no, one and several alphas. The bits are those of the comparison,
 * nothing is written beyond them, and a row that may not be a distribution ends the work. */
static void test_float_rows(void **state) {
    enum { MOST = 70, ROWS = 37, STRIDE = MOST + 3, BYTES = 3 * ((MOST + 7) / 8), GUARD = 0xa5 };
    static const float wrong[] = {-0.25f, NAN, INFINITY, 1.5f};
    (void)state;
    for (size_t n = 2; n <= MOST; n++)
        for (size_t alphas = 0; alphas <= 3; alphas++)
            for (int way = 0; way < 2; way++) {
                const vg_set_kernels *k = way ? vg_set__kernels() : &vg_set__kernels_plain;
                samples s = random_samples(ROWS, 1, n, 0, n);
                float v[ROWS * STRIDE] = {0}, bounds[3] = {(float)s.p[n / 3], 0, 0.3f};
                size_t bytes = (n + 7) / 8, used = ROWS * alphas * bytes;
                uint8_t mask[ROWS * BYTES + 1];
                int32_t size[ROWS * 3];
                vg_set_marks marks = {mask, size, bytes, alphas};
                for (size_t i = 0; i < ROWS; i++)
                    for (size_t c = 0; c < n; c++)
                        v[i * STRIDE + c] = (float)s.p[i * n + c];
                memset(mask, GUARD, sizeof mask);
                assert_int_equal(k->mark_floats(&marks, &(vg_set_floats){v, STRIDE, ROWS, n}, bounds), ROWS);
                assert_int_equal(mask[used], GUARD);
                for (size_t at = 0; at < ROWS * alphas; at++) {
                    int32_t count = 0;
                    for (size_t c = 0; c < 8 * bytes; c++) {
                        bool in = c < n && v[at / alphas * STRIDE + c] >= bounds[at % alphas];
                        count += in;
                        assert_int_equal(mask[at * bytes + c / 8] >> (7 - c % 8) & 1, in);
                    }
                    assert_int_equal(size[at], count);
                }
                for (size_t w = 0; w < ROWS * sizeof wrong / sizeof *wrong; w++) {
                    size_t row = w / 4; /* 16 of them may be looked at together */
                    float *first = v + row * STRIDE, *last = first + n - 1, kept[2] = {*first, *last};
                    *first += w % 4 == 0 ? kept[1] - wrong[0] : 0; /* the sum alone does not show a negative value */
                    *last = wrong[w % 4];
                    assert_int_equal(k->mark_floats(&marks, &(vg_set_floats){v, STRIDE, ROWS, n}, bounds), row);
                    *first = kept[0];
                    *last = kept[1];
                }
                samples_free(&s);
            }
}

/* --- samples ------------------------------------------------------------------------------------------------------ */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),       cmocka_unit_test(test_one_member),
        cmocka_unit_test(test_bad_rows),        cmocka_unit_test(test_tuning_of_alphas),
        cmocka_unit_test(test_kernels),         cmocka_unit_test(test_float_rows),
        cmocka_unit_test(test_equal_scores),    cmocka_unit_test(test_few_samples),
        cmocka_unit_test(test_groups),          cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_thresholds_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
