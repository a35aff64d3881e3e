/* test_measures_threads.c - how samples are divided among threads: chunks of the length that scorer.c states, parts of
 * a chunk that follow each other and are worth a thread's while, the classes of a sample where there are few samples,
 * and no threads for a handful of samples. The build lets this program run the parts itself, one after the other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measures/kernel.h"

enum { MOST = 140000, MOST_PARTS = 4000, PART = 16384 /* elements */ };
static float values[1 << 21];
static double results[MOST], expected[MOST];

/* What the pool was asked to do. */
static struct {
    unsigned threads; /* of the pool; 0: none was made */
    size_t runs, parts;
    size_t sizes[MOST_PARTS]; /* units of each part of the last run */
    size_t ends[8];           /* where a chunk ends, where only the last part of each is run */
    bool last_alone;
} pool;

static size_t units_done(void) {
    size_t end = MOST;
    while (end > 0 && isnan(results[end - 1]))
        end--;
    return end;
}

vg_status __real_vg_pool__new(vg_pool **out, unsigned threads);
vg_status __wrap_vg_pool__new(vg_pool **out, unsigned threads);
vg_status __wrap_vg_pool__new(vg_pool **out, unsigned threads) {
    pool.threads = threads;
    return __real_vg_pool__new(out, threads);
}

vg_status __wrap_vg_pool__run(vg_pool *of, size_t count, vg_pool_body body, void *context);
vg_status __wrap_vg_pool__run(vg_pool *of, size_t count, vg_pool_body body, void *context) {
    size_t done = 0;
    (void)of;
    pool.parts = count;
    assert_true(count < MOST_PARTS);
    while (!isnan(results[done]) && done < MOST)
        done++;
    for (size_t i = pool.last_alone ? count - 1 : 0; i < count; i++) {
        size_t from = done;
        assert_int_equal(body(context, i, (unsigned)(i % pool.threads)), VG_OK);
        while (done < MOST && !isnan(results[done]))
            done++;
        pool.sizes[i] = done - from;
    }
    if (pool.last_alone && pool.runs < 8)
        pool.ends[pool.runs] = units_done();
    pool.runs++;
    return VG_OK;
}

/* `made` different samples, or the same one n times, for which the largest chunks need little memory. */
static vg_predictions samples(size_t n, size_t m, size_t c, size_t made) {
    for (size_t i = 0; i < made * m * c; i++)
        values[i] = (float)(1 + (i / c * 7 + i) % 5);
    for (size_t row = 0; row < made * m; row++) {
        double sum = 0;
        for (size_t i = 0; i < c; i++)
            sum += (double)values[row * c + i];
        for (size_t i = 0; i < c; i++)
            values[row * c + i] = (float)((double)values[row * c + i] / sum);
    }
    vg_predictions view = vg_predictions_f32(values, n, m, c);
    view.stride_n = made > 1 ? view.stride_n : 0;
    return view;
}

static void forget(void) {
    memset(&pool, 0, sizeof pool);
    for (size_t i = 0; i < MOST; i++)
        results[i] = NAN;
}

static void score(double *to, const vg_predictions *view, unsigned threads) {
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_scores out = {.tu = to};
    options.threads = threads;
    forget();
    assert_int_equal(vg_score(&out, NULL, view, &options), VG_OK);
}

/* Samples that the kernel scores at once. */
static size_t tile_of(const vg_predictions *view) {
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_kernel_job job = {.m = view->m, .c = view->c, .options = options, .in = *view, .single_precision = true};
    return vg_measures__tier()->units(&job);
}

/* The parts of the last run: whole tiles of more than 16384 elements, but no tile more than that takes, or four times
 * as many in the first ones. The last ones are short, eight for each thread, so that threads end together. */
static void check_parts(size_t n, size_t m, size_t c, size_t tile, unsigned threads) {
    size_t each = tile, total, longer = 0, done = 0;
    while (each * m * c <= PART)
        each += tile;
    total = (n + each - 1) / each;
    while (longer < pool.parts && pool.sizes[longer] == 4 * each)
        longer++;
    for (size_t i = 0; i < pool.parts; done += pool.sizes[i++])
        if (i >= longer && i + 1 < pool.parts)
            assert_int_equal(pool.sizes[i], each);
    assert_int_equal(done, n);
    assert_int_equal(pool.parts - longer, total - 4 * longer);
    if (total / 4 <= 4 * threads)
        assert_int_equal(longer, 0);
    else
        assert_int_equal((pool.parts - longer) / 4, 2 * threads);
}

static void parts_of_a_chunk(void **state) {
    (void)state;
    static const size_t shapes[][2] = {{5, 10}, {2, 3}, {70, 9}, {3, 200}, {30, 40}, {400, 50}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (unsigned threads = 2; threads <= 5; threads++) {
            const size_t m = shapes[s][0], c = shapes[s][1], totals[] = {5, 16 * threads, 16 * threads + 5};
            vg_predictions view = samples(1, m, c, 1);
            size_t tile = tile_of(&view), each = tile;
            while (each * m * c <= PART)
                each += tile;
            for (size_t i = 0; i < 3; i++) {
                view.n = totals[i] * each - i;
                if (view.n > 65536)
                    continue;
                score(results, &view, threads);
                assert_int_equal(pool.runs, 1);
                assert_int_equal(pool.threads, threads);
                check_parts(view.n, m, c, tile, threads);
                for (size_t n = 1; n < view.n; n++)
                    assert_true(results[n] == results[0]);
            }
        }
}

/* About 64 million elements, from 128 to 65536 samples. */
static void chunks_of_a_block(void **state) {
    (void)state;
    static const struct {
        size_t m, c, n, each;
    } blocks[] = {{10, 10, 131100, 65536}, {97, 10, 131080, 65536}, {98, 10, 131000, 65306},
                  {100, 100, 14000, 6400}, {496, 1000, 280, 129},   {600, 1000, 270, 128}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        vg_predictions view = samples(blocks[i].n, blocks[i].m, blocks[i].c, 1);
        vg_score_options options = VG_SCORE_OPTIONS_INIT;
        vg_scores out = {.tu = results};
        options.threads = 2;
        forget();
        pool.last_alone = true;
        assert_int_equal(vg_score(&out, NULL, &view, &options), VG_OK);
        assert_true(pool.runs >= 2);
        assert_int_equal(pool.ends[0], blocks[i].each);
        assert_int_equal(pool.ends[1], 2 * blocks[i].each);
        assert_int_equal(units_done(), blocks[i].n);
    }
}

static unsigned long long told[2];
static size_t times_told;
static int tell(void *context, unsigned long long done, unsigned long long total) {
    (void)context, (void)total;
    if (times_told < 2)
        told[times_told] = done;
    times_told++;
    return 0;
}

/* A caller that is told of progress hears of it every 4 million elements. */
static void progress_is_told(void **state) {
    (void)state;
    vg_predictions view = samples(900, 100, 100, 1);
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_scores out = {.tu = results};
    options.threads = 1;
    options.progress = tell;
    assert_int_equal(vg_score(&out, NULL, &view, &options), VG_OK);
    assert_int_equal(times_told, 3);
    assert_int_equal(told[0], 400);
    assert_int_equal(told[1], 800);
}

/* Fewer than 65536 elements, or no more samples than are scored at once, are the calling thread's. */
static void few_samples_need_no_threads(void **state) {
    (void)state;
    vg_predictions view = samples(1023, 8, 8, 1);
    score(results, &view, 3);
    assert_int_equal(pool.threads, 0);
    view.n = 1024;
    score(results, &view, 1);
    assert_int_equal(pool.threads, 0);
    score(results, &view, 3);
    assert_int_equal(pool.threads, 3);
    view = samples(1, 500, 150, 1);
    view.n = tile_of(&view);
    score(results, &view, 3);
    assert_int_equal(pool.threads, 0);
    view.n++;
    score(results, &view, 4); /* no classes are shared here, though a thread is idle */
    assert_int_equal(pool.threads, 4);
    assert_int_equal(pool.runs, 1);
}

/* A pool that a large block has made is not used for a small one. */
static void one_part_needs_no_pool(void **state) {
    (void)state;
    vg_predictions view = samples(3000, 5, 10, 1);
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_scores out = {.tu = results};
    vg_scorer *scorer;
    options.threads = 2;
    forget();
    assert_int_equal(vg_scorer_new(&scorer, 5, 10, &options), VG_OK);
    assert_int_equal(vg_scorer_feed(scorer, &out, &view, NULL), VG_OK);
    assert_int_equal(pool.runs, 1);
    view.n = 20;
    assert_int_equal(vg_scorer_feed(scorer, &out, &view, NULL), VG_OK);
    assert_int_equal(pool.runs, 1);
    vg_scorer_free(scorer);
}

/* Threads share the classes of one sample after the other where by samples alone they would be idle for more than a
 * tenth of the time that samples take. */
static void classes_are_shared(void **state) {
    (void)state;
    enum { M = 2, C = 65536, SHARES = 2, N = 12 };
    vg_predictions view = samples(N, M, C, N);
    score(expected, &view, 1);
    for (unsigned threads = 2; threads <= 11; threads += 1 + threads % 3)
        for (size_t n = 1; n <= N; n++) {
            size_t idle = (threads - n % threads) % threads;
            view.n = n;
            score(results, &view, threads);
            assert_int_equal(pool.threads, threads);
            assert_int_equal(pool.runs, 10 * idle > n ? n : 1);
            assert_int_equal(pool.parts, 10 * idle > n ? SHARES : n);
            assert_memory_equal(results, expected, n * sizeof *results);
        }
}

/* The two leading classes of a sample, both in the last share of its classes and so far apart as lanes repeat. */
static void leading_classes_of_a_share(void **state) {
    (void)state;
    enum { M = 2, C = 65536, FIRST = 60016, SECOND = 60000 };
    int32_t pred[1], second[1];
    vg_predictions view = vg_predictions_f32(values, 1, M, C);
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_scores out = {.pred = pred, .second = second};
    for (size_t i = 0; i < M * C; i++)
        values[i] = i % C == FIRST ? 0.5f : i % C == SECOND ? 0.25f : 0x1p-18f;
    assert_int_equal(vg_score(&out, NULL, &view, &options), VG_OK);
    assert_int_equal(pred[0], FIRST);
    assert_int_equal(second[0], SECOND);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_a_chunk),            cmocka_unit_test(chunks_of_a_block),
        cmocka_unit_test(progress_is_told),            cmocka_unit_test(few_samples_need_no_threads),
        cmocka_unit_test(one_part_needs_no_pool),      cmocka_unit_test(classes_are_shared),
        cmocka_unit_test(leading_classes_of_a_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
