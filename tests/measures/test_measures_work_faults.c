/* test_measures_work_faults.c - what a call costs besides its results: the threads that it starts and the blocks of
 * memory that it asks for. No fault is made: faults/fault_preload.c, which the build links into this program by its
 * name, counts. Also that results which pass through a buffer are the same. */
#include "base/random.h"
#include "fault_loop.h"
#include "vargate/measures.h"

enum { MOST = 200000 };
static double p[MOST], tu[MOST], gtu[3 * MOST];

typedef struct work {
    unsigned long threads, blocks;
} work;

/* Scores n samples of m members and c classes on four threads, twice; `again` is the work of the second time. */
static work score(size_t n, size_t m, size_t c, work *again) {
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_scores out = {.tu = tu, .gtu = gtu};
    vg_scorer *scorer;
    vg_predictions block = vg_predictions_f64(p, n, m, c);
    work all[2];
    for (size_t i = 0; i < n * m * c; i++)
        p[i] = 1 / (double)c;
    options.threads = 4;
    vg_fault_arm("none", 0, false);
    assert_int_equal(vg_scorer_new(&scorer, m, c, &options), VG_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(vg_scorer_feed(scorer, &out, &block, NULL), VG_OK);
        all[i] = (work){vg_fault_calls("thread"), vg_fault_calls("alloc")};
    }
    vg_scorer_free(scorer);
    *again = (work){all[1].threads - all[0].threads, all[1].blocks - all[0].blocks};
    return all[0];
}

/* A handful of samples is scored by the caller alone; more start the threads, once. */
static void threads(void **state) {
    (void)state;
    static const struct {
        size_t n, m, c;
        unsigned long threads;
    } shapes[] = {{1, 2, 3, 0},     {100, 2, 3, 0},    {1000, 5, 10, 0}, {1310, 5, 10, 0},
                  {1311, 5, 10, 3}, {20000, 1, 10, 3}, {2, 200, 150, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        work again, first = score(shapes[i].n, shapes[i].m, shapes[i].c, &again);
        if (first.threads != shapes[i].threads || again.threads != 0)
            fail_msg("%zu x %zu x %zu: %lu threads, then %lu, expected %lu, then 0", shapes[i].n, shapes[i].m,
                     shapes[i].c, first.threads, again.threads, shapes[i].threads);
    }
}

/* A second block of the same size needs no memory. */
static void memory(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 50, 3000};
    for (size_t i = 0; i < 3; i++) {
        work again, first = score(sizes[i], 4, 10, &again);
        print_message("%zu samples: %lu blocks, then %lu\n", sizes[i], first.blocks, again.blocks);
        assert_true(first.blocks <= 10 && again.blocks == 0);
    }
}

/* Many results of many samples pass through a buffer of each thread (result_staging.h), which is asked for once, when
 * a block is large enough. */
static void staging(void **state) {
    (void)state;
    static double values[9][MOST];
    vg_scores out = {.tu = tu, .gtu = gtu, .au = values[0], .eu = values[1], .epce = values[2], .epkl = values[3]};
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_scorer *scorer;
    out.epjs = values[4], out.gmu = values[5], out.snr = values[6], out.maxprob = values[7], out.gap = values[8];
    for (size_t i = 0; i < MOST; i++)
        p[i] = 0.5;
    options.threads = 2;
    vg_predictions few = vg_predictions_f64(p, 40000, 1, 2), many = vg_predictions_f64(p, MOST / 2, 1, 2);
    assert_int_equal(vg_scorer_new(&scorer, 1, 2, &options), VG_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(vg_scorer_feed(scorer, &out, &few, NULL), VG_OK);
    for (unsigned long i = 0; i < 3; i++) {
        vg_fault_arm("none", 0, false);
        assert_int_equal(vg_scorer_feed(scorer, &out, i == 2 ? &few : &many, NULL), VG_OK);
        assert_int_equal(vg_fault_calls("alloc"), i == 0);
    }
    vg_scorer_free(scorer);
}

/* Results of a large block pass through a buffer, those of small ones do not (result_staging.h): both give the same
 * results and the same figures over all samples, to the bit. */
static void staged_blocks(void **state) {
    (void)state;
    enum { N = 90000, ARRAYS = 12, FEW = 5000 };
    static double p[N * 2 * 3], values[2][ARRAYS][N];
    vg_random random = vg_random__start(8, 0);
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    vg_score_summary summary[2];
    const double k = 1;
    o.threads = 1, o.k = &k, o.k_count = 1;
    for (size_t i = 0; i < N * 2; i++) {
        double a = vg_random__unit(&random), b = vg_random__unit(&random);
        p[3 * i] = a * b, p[3 * i + 1] = a * (1 - b), p[3 * i + 2] = 1 - a;
    }
    for (int few = 0; few < 2; few++) {
        vg_scorer *s;
        assert_int_equal(vg_scorer_new(&s, 2, 3, &o), VG_OK);
        for (size_t first = 0; first < N; first += few ? FEW : N) {
            double(*at)[N] = values[few];
            vg_predictions block = vg_predictions_f64(p + first * 6, few ? FEW : N, 2, 3);
            vg_scores out = {.tu = at[0] + first, .au = at[1] + first, .eu = at[2] + first, .epce = at[3] + first};
            out.epkl = at[4] + first, out.epjs = at[5] + first, out.gmu = at[6] + first, out.snr = at[7] + first;
            out.gtu = at[8] + first, out.gau = at[9] + first, out.geu = at[10] + first, out.gepkl = at[11] + first;
            assert_int_equal(vg_scorer_feed(s, &out, &block, NULL), VG_OK);
        }
        assert_int_equal(vg_scorer_summary(s, &summary[few]), VG_OK);
        vg_scorer_free(s);
    }
    assert_memory_equal(values[0], values[1], sizeof values[0]);
    assert_true(summary[0].total_variance == summary[1].total_variance);
    assert_true(summary[0].member_variance == summary[1].member_variance);
    assert_true(summary[0].abstained == summary[1].abstained && summary[0].abstained > 0);
    assert_true(summary[0].mean_tu == summary[1].mean_tu && summary[0].mean_gtu == summary[1].mean_gtu);
    assert_true(summary[0].diversity == summary[1].diversity && summary[0].disagreement == summary[1].disagreement);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads), cmocka_unit_test(memory), cmocka_unit_test(staging),
                                       cmocka_unit_test(staged_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
