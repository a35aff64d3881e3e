/* test_evaluate_set_work.c - what prediction sets do besides their results: the chunks that threads take, memory that
 * grows, how much of a row is ranked, numbers that are drawn; and thresholds of few images at every alpha. */
#include "evaluate/prediction_sets.h"
#include "sets_util.h"

/* --- chunks ------------------------------------------------------------------------------------------------------- */
enum { CHUNKS = 64 };
static unsigned calls[CHUNKS];

static vg_status note_call(void *context, size_t index, unsigned worker) {
    (void)context;
    (void)worker;
    assert_in_range(index, 0, CHUNKS - 1);
    calls[index]++;
    return VG_OK;
}

/* Every chunk that has a row is run once, and no other; threads are started for the first piece of several chunks. */
static void chunks_of_rows(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 2; threads++)
        for (size_t chunk = 1; chunk <= 5; chunk++) {
            vg_sets_data s = {.threads = threads};
            for (size_t rows = 0; rows <= 12; rows++) {
                vg_sets_piece piece = {.rows = rows, .chunk = chunk};
                memset(calls, 0, sizeof calls);
                ok(vg_sets__over_rows(&s, &piece, note_call, NULL));
                for (size_t i = 0; i < CHUNKS; i++)
                    assert_int_equal(calls[i], i * chunk < rows);
                assert_true((s.pool != NULL) == (threads > 1 && rows > chunk));
            }
            vg_pool__free(s.pool);
        }
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* An array that grows element by element keeps its elements, is moved rarely, and has at most twice what is needed. */
static void arrays_grow(void **state) {
    (void)state;
    uint32_t *array = NULL;
    size_t room = 0, moves = 0, before = 0;
    for (size_t n = 0; n < 100000; n++) {
        ok(vg_set__grow(&array, n, &room, n + 1, sizeof *array));
        assert_true(room >= n + 1 && room <= 2 * (n + 1));
        moves += room != before;
        before = room;
        array[n] = (uint32_t)n;
    }
    assert_in_range(moves, 1, 20);
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(array[i], i);
    const uint32_t *here = array;
    ok(vg_set__grow(&array, 100000, &room, room, sizeof *array)); /* all of it may be used before it is moved */
    assert_ptr_equal(here, array);
    free(array);
}

/* More labels than 32-bit numbers can count are refused before any is read. */
static void too_many_labels(void **state) {
    (void)state;
    double t;
    const vg_set_positives many[] = {{.samples = 1, .count = UINT32_MAX}, {.samples = UINT32_MAX, .count = 1}};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(vg_set_positives__threshold(&t, &many[i], .1, .9), VG_ERR_ARGUMENT);
        assert_non_null(strstr(vg_error_message(), "more than 2^32 true labels"));
    }
}

/* --- ranking ------------------------------------------------------------------------------------------------------ */
static size_t passes, collected;

static size_t count_collected(double *out, const double *v, size_t n, double least) {
    size_t count = vg_set__kernels()->collect(out, v, n, least);
    passes++;
    collected += count;
    return count;
}

/* Values that fall by a constant factor, in an order of their own. */
static void peaked(double *v, size_t n, double ratio, vg_random *random) {
    double value = 1 - ratio;
    for (size_t i = 0; i < n; i++, value *= ratio)
        v[i] = value;
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)vg_random__below(random, i);
        double kept = v[i - 1];
        v[i - 1] = v[j];
        v[j] = kept;
    }
}

/* Rows of one kind need few values beyond those of their sets, in one pass with few exceptions; a row of another
 * kind needs a few passes, and soon the ones like it need one again. Sets are the same as from the scores of all
 * classes. */
static void little_is_ranked(void **state) {
    enum { N = 1000, ROWS = 400 };
    (void)state;
    static const double ratios[] = {0.5, 0.99, 0.9, 0.2};
    static double v[N], score[N];
    static uint32_t order[N];
    vg_set_kernels kernels = *vg_set__kernels();
    kernels.collect = count_collected;
    static const double all[] = {0.5, 0.9, 0.3, 0.5, 0.9}; /* three of them, the largest in every place */
    double *memory = malloc(vg_set_room__doubles(N) * sizeof(double));
    vg_set_room room = vg_set_room__at(memory, N);
    const vg_set_rule rule = {.score = VG_SET_APS, .classes = N, .kernels = &kernels}, rules[] = {rule, rule, rule};
    vg_random random = vg_random__start(5, 0);
    for (size_t kind = 0; kind < 4; kind++) {
        const double *thresholds = all + kind % 3;
        size_t in_sets = 0;
        for (size_t i = 0; i < ROWS; i++) {
            vg_set_row row = {v, NULL, vg_random__unit(&random)};
            size_t found[3], expected[3] = {0};
            peaked(v, N, ratios[kind], &random);
            if (i == ROWS / 2)
                passes = collected = in_sets = 0;
            size_t had = passes;
            vg_set__prefixes(found, rules, thresholds, 3, &room, &row);
            assert_in_range(passes - had, 1, 6);
            vg_set__scores(score, &rule, &row, INFINITY, order);
            for (size_t a = 0; a < 3; a++) {
                for (size_t c = 0; c < N; c++)
                    expected[a] += score[c] <= thresholds[a];
                assert_int_equal(found[a], expected[a]);
            }
            in_sets += found[kind % 3 == 0 ? 1 : kind % 3 == 1 ? 0 : 2];
        }
        assert_in_range(passes, ROWS / 2, ROWS / 2 + 5);
        assert_true(collected <= 2 * in_sets + 5 * passes);
    }
    free(memory);
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

/* Samples, seeds and uses that differ in any bit have numbers of their own, inside (0, 1). */
static void numbers_differ(void **state) {
    (void)state;
    double found[2 * 64 + 3];
    size_t count = 0;
    for (int bit = 0; bit < 64; bit++) {
        found[count++] = vg_set__uniform(7, VG_SET_TEST, (uint64_t)1 << bit);
        found[count++] = vg_set__uniform((uint64_t)7 ^ (uint64_t)1 << bit, VG_SET_TEST, 0);
    }
    found[count++] = vg_set__uniform(7, VG_SET_TEST, 0);
    found[count++] = vg_set__uniform(7, VG_SET_CALIBRATION, 0);
    found[count++] = vg_set__uniform(7, VG_SET_TUNING, 0);
    for (size_t i = 0; i < count; i++) {
        assert_true(found[i] > 0 && found[i] < 1 && found[i] * 0x1p53 == floor(found[i] * 0x1p53));
        for (size_t j = 0; j < i; j++)
            assert_true(found[i] != found[j]);
    }
}

/* --- images ------------------------------------------------------------------------------------------------------- */

/* Thresholds and p-values of few images at alphas from 0 to 1, by their definition in set_rule.h. */
static void few_images(void **state) {
    enum { MOST = 40, CELLS = 2 };
    (void)state;
    for (uint64_t trial = 0; trial < 200; trial++) {
        vg_random random = vg_random__start(90, trial);
        size_t images = 1 + (size_t)vg_random__below(&random, 6), n = 0, of[CELLS][6] = {{0}};
        double score[MOST];
        uint32_t cell[MOST], unit[MOST];
        vg_set_pool pool = {.cells = CELLS};
        ok(vg_set_pool__reserve(&pool, MOST, true));
        for (size_t image = 0; image < images; image++)
            for (size_t sites = (size_t)vg_random__below(&random, 6); sites > 0; sites--, n++) {
                score[n] = (double)vg_random__below(&random, 8) / 8;
                cell[n] = trial % 4 ? (uint32_t)vg_random__below(&random, CELLS) : 0; /* or one cell is empty */
                unit[n] = (uint32_t)image;
                of[cell[n]][image]++;
            }
        memcpy(pool.score, score, n * sizeof *score);
        memcpy(pool.cell, cell, n * sizeof *cell);
        memcpy(pool.unit, unit, n * sizeof *unit);
        pool.count = n;
        ok(vg_set_pool__settle(&pool, NULL, 0));
        for (uint32_t c = 0; c < CELLS; c++) {
            double in_cell = 0;
            for (size_t image = 0; image < images; image++)
                in_cell += of[c][image] > 0;
            assert_int_equal(pool.images[c], (size_t)in_cell);
            for (size_t a = 1; a < 40; a++) {
                double alpha = (double)a / 40 + 1e-5, best = INFINITY;
                for (size_t i = 0; i < n; i++) {
                    double above = 0;
                    for (size_t j = 0; j < n; j++)
                        above += cell[j] == c && score[j] > score[i] ? 1 / (double)of[c][unit[j]] : 0;
                    if (cell[i] == c && score[i] < best && above <= (in_cell + 1) * alpha - 1)
                        best = score[i];
                }
                assert_true(vg_set_units__quantile(&pool, c, alpha) == best);
            }
            for (double t = -0.0625; t < 1.1; t += 0.0625) {
                double reached = 0;
                for (size_t j = 0; j < n; j++)
                    reached += cell[j] == c && score[j] >= t ? 1 / (double)of[c][unit[j]] : 0;
                assert_true(fabs(vg_set_units__p_value(&pool, c, t) - (1 + reached) / (in_cell + 1)) < 1e-12);
            }
        }
        vg_set_pool__free(&pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_of_rows),   cmocka_unit_test(arrays_grow),    cmocka_unit_test(too_many_labels),
        cmocka_unit_test(little_is_ranked), cmocka_unit_test(numbers_differ), cmocka_unit_test(few_images),
    };
    return cmocka_run_group_tests_name("evaluate: work of prediction sets", tests, NULL, NULL);
}
