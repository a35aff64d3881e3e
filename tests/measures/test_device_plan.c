/* test_device_plan.c - how a job is laid out on a device, without a device: a block's arrays lie side by side and fill
 * its memory; the shape that is planned is the best of all, by a model of the throughput that is written here a second
 * time; the order of sums follows from the shape of the input alone; groups of lanes are the cheapest that fit. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measures/cuda/score_job.h"

enum { H200_SHARED = 227 << 10, H200_ALL = 228 << 10, H200_COUNT = 132, MOST_ARRAYS = 20 };

static uint64_t state = 99;
static uint64_t draw(uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

static int most(int a, int b) { return a > b ? a : b; }
static int least(int a, int b) { return a < b ? a : b; }
static int over(int a, int b) { return (a + b - 1) / b; } /* rounded up */

/* --- where the arrays lie */
typedef struct part {
    size_t from;
    double bytes; /* a double, so that no size is too large for it */
} part;

static int by_place(const void *a, const void *b) {
    const part *x = a, *y = b;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Elements of a row of p: of shared memory the rows begin in different banks. */
static int row_of(const score_job *job) {
    if (job->place != SCORE_SHARED)
        return job->c;
    if (job->wide || job->c % 4)
        return job->c % 2 ? job->c : job->c + 1;
    return job->c / 4 % 2 ? job->c : job->c + 4;
}

/* The arrays of a block by their shapes (score_view.h), and the bytes of p outside of shared memory. */
static size_t arrays_of(part *out, double *p, const score_job *job) {
    double S = job->samples, M = job->m, C = job->c, K = job->gated, F = job->split, R = job->wide ? 8 : 4;
    double groups = SCORE_GROUP * ceil(K / SCORE_GROUP), padded = 8 * ceil(M / 8), parts = SCORE_PARTS;
    double moments = (24 + 2 * R) * F * C, psi = F * C * ceil(M * K * R / (F * C)), sums = (3 + 2 * K) * R * F * C;
    double pass = fmax(fmax(2 + K, 3 * K), SCORE_SUMS * (K + 1));
    bool shared = job->place == SCORE_SHARED, is_input = job->packed && !job->logits;
    is_input = is_input && job->dtype == (job->wide ? VG_F64 : VG_F32);
    const part all[] = {{job->mu, S * C * 8},
                        {job->halves, S * C * 8},
                        {job->variance, S * C * 8},
                        {job->low, S * C * R},
                        {job->high, S * C * R},
                        {job->gamma, S * C * groups * R},
                        {job->omega, S * M * groups * R},
                        {job->weight, S * padded * (K + 1) * R},
                        {job->partial, S * fmax(moments, fmax(psi, sums))},
                        {job->leads, S * parts * 6 * 8},
                        {job->pass, S * parts * pass * 8},
                        {job->zbar, S * K * 16},
                        {job->psi_mean, S * K * 8},
                        {job->weight_bounds, S * K * 16},
                        {job->terms, job->need_sets ? S * (K + 1) * SCORE_SUMS * C * R : 0},
                        {job->offset, job->logits ? S * M * 8 : 0},
                        {job->large, S * 4},
                        {job->p, shared ? (S * M + padded - M) * row_of(job) * R : 0}};
    size_t count = sizeof all / sizeof *all;
    memcpy(out, all, sizeof all);
    *p = shared || is_input ? 0 : S * M * C * R;
    return shared ? count : count - 1;
}

/* Disjoint, at multiples of 16, and no more memory than they need. */
static void check_layout(const score_job *job) {
    part parts[MOST_ARRAYS];
    double p, end = 0;
    size_t count = arrays_of(parts, &p, job);
    assert_int_equal(job->row, row_of(job));
    assert_int_equal(job->groups, over(job->gated, SCORE_GROUP) * SCORE_GROUP);
    assert_int_equal(job->p_bytes, (size_t)(256 * ceil(p / 256)));
    qsort(parts, count, sizeof *parts, by_place);
    for (size_t i = 0; i < count; i++) {
        assert_true((double)parts[i].from == end);
        end += 16 * ceil(parts[i].bytes / 16);
    }
    assert_int_equal(job->bytes, (size_t)(256 * ceil(end / 256)));
}

/* Whether the arrays of a job of this shape are smaller than 2 GB. */
static bool is_small(const score_job *job) {
    part parts[MOST_ARRAYS];
    double p, end = 0;
    size_t count = arrays_of(parts, &p, job);
    for (size_t i = 0; i < count; i++)
        end += 16 * ceil(parts[i].bytes / 16);
    return end < 0x1p31 && 16 * ceil(p / 16) < 0x1p31 && (double)job->m * job->c < 0x1p30;
}

static score_job some_job(int m, int c) {
    static const vg_dtype types[] = {VG_F32, VG_F32, VG_F64, VG_F16};
    score_job job = {.m = m, .c = c, .k = (int)draw(6), .dtype = types[draw(4)]};
    job.logits = draw(4) == 0;
    job.wide = job.logits || job.dtype == VG_F64;
    job.gated = draw(4) ? job.k : 0;
    job.need_sets = draw(4) != 0;
    job.packed = draw(3) != 0;
    job.n = 1 + (long long)draw(draw(2) ? 300 : 1 << 20);
    job.stride_m = c;
    job.stride_n = (long long)m * c;
    return job;
}

static void arrays_lie_side_by_side(void **unused) {
    (void)unused;
    for (int i = 0; i < 3000; i++) {
        score_job job = some_job(1 + (int)draw(draw(2) ? 9 : 200), 2 + (int)draw(draw(2) ? 12 : 700));
        job.samples = 1 + (int)draw(32);
        job.split = 1 + (int)draw(SCORE_MOST_SPLIT);
        job.place = (score_where)draw(3);
        assert_true(vg_measures__score_layout(&job));
        check_layout(&job);
    }
}

/* Offsets are computed as int on the device: what does not fit is refused, up to the largest shapes that there are. */
static void large_arrays_are_refused(void **unused) {
    size_t refused = 0, taken = 0;
    (void)unused;
    for (int i = 0; i < 20000; i++) {
        int bits = (int)draw(31), other = draw(4) ? least(most(26 - bits + (int)draw(6), 0), 30) : (int)draw(31);
        score_job job = some_job((1 << bits) + (int)draw(1u << bits), (1 << other) + (int)draw(1u << other));
        job.c = most(job.c, 2);
        job.samples = 1 + (int)draw(3);
        job.split = 1 + (int)draw(SCORE_MOST_SPLIT);
        job.place = draw(4) ? SCORE_GLOBAL : (score_where)draw(3);
        if (job.place == SCORE_SHARED && job.c > INT_MAX - 4)
            continue;
        bool fits = is_small(&job);
        assert_true(vg_measures__score_layout(&job) == fits);
        if (fits)
            check_layout(&job);
        *(fits ? &taken : &refused) += 1;
    }
    assert_true(refused > 1000 && taken > 1000);
    score_job job = {.m = 1 << 15, .c = 1 << 15, .samples = 1, .split = 1, .place = SCORE_GLOBAL, .packed = true};
    assert_false(vg_measures__score_layout(&job)); /* 2^30 values */
    job.m--;
    assert_true(vg_measures__score_layout(&job));
}

/* --- shapes */
/* Parts of the members: so many threads as are left for a class, of at least four members each. */
static int split_of(const score_job *job) {
    int items = job->samples * job->c, each = job->threads / least(items, job->threads);
    return most(1, least(least(each, SCORE_MOST_SPLIT), job->m / 4));
}

/* The model of the throughput in device_plan.c, in its words: 16384 registers for each of four schedulers, of at most
 * 64 warps; five blocks overlap; 24 warps hide latency; a partial last wave costs as much as a full one. */
static double worth_of(const score_job *job, size_t shared_all, int multiprocessors) {
    int registers = job->wide || job->place != SCORE_SHARED ? SCORE_REGISTERS_WIDE : SCORE_REGISTERS;
    int warps = least(4 * (16384 / registers / 32), 64), block_warps = job->threads / 32;
    int blocks = least((int)(shared_all / (job->bytes + 1024)), warps / block_warps);
    double items = (double)job->samples * (job->gated + 1) * job->c, rounds = ceil(items / job->threads);
    double active = fmin(blocks * fmin(ceil(items / 32), block_warps), 24);
    double all = ceil((double)job->n / job->samples), waves = all / ((double)blocks * multiprocessors);
    return blocks == 0 ? 0
                       : job->samples * fmin(blocks, 5) / (1 + 0.35 * rounds) * pow(active / 24, 0.8) * waves /
                             ceil(waves) * (job->place == SCORE_SHARED ? 1 : 0.7);
}

typedef struct device {
    size_t shared, all;
    int count;
} device;

/* The largest worth of all shapes in one place; split 0: as many parts as the shape suggests. `splits`: those of the
 * shapes that are as good within half a per cent, a bit each; may be NULL. */
static double best_of(const score_job *start, score_where place, int split, const device *on, unsigned *splits) {
    double best = 0;
    for (int turn = 0; turn < (splits ? 2 : 1); turn++)
        for (int samples = 1; samples <= 32; samples++)
            for (int threads = 64; threads <= 512; threads += 32) {
                score_job job = *start;
                job.place = place, job.samples = samples, job.threads = threads;
                job.split = split ? split : split_of(&job);
                if (!vg_measures__score_layout(&job) || job.bytes > on->shared)
                    continue;
                double worth = worth_of(&job, on->all, on->count);
                if (turn == 1 && worth * 1.0051 >= best && worth > 0)
                    *splits |= 1u << job.split;
                best = fmax(best, worth);
            }
    return best;
}

/* The parts and steps by which a job of this input is summed up, whatever is asked for and wherever it runs. */
static void check_order(const score_job *job, int block) {
    const device usual_device = {H200_SHARED, H200_ALL, H200_COUNT};
    score_job usual = *job;
    unsigned splits = 0;
    usual.n = 1 << 18;
    usual.k = usual.gated = 3;
    usual.need_sets = usual.packed = true;
    if (best_of(&usual, SCORE_SHARED, 0, &usual_device, &splits) == 0) {
        usual.samples = 1, usual.threads = 256;
        splits = 1u << split_of(&usual);
    }
    assert_true(splits >> job->split & 1);
    assert_int_equal(block, job->wide || job->m > 128 || job->m * job->c > 16384 ? 8 : 4);
}

static void check_plan(const score_job *start, const device *on) {
    score_job job = *start;
    assert_true(vg_measures__score_plan(&job, on->shared, on->all, on->count));
    check_layout(&job);
    bool integral = start->out.epjs || start->out.gepjs, eight = job.wide || job.m > 128 || job.m * job.c > 16384;
    double best = best_of(start, SCORE_SHARED, job.split, on, NULL);
    if (!start->wide && (eight || !integral))
        best = fmax(best, best_of(start, SCORE_LARGE, job.split, on, NULL));
    if (best == 0) {
        assert_int_equal(job.place, SCORE_GLOBAL);
        assert_int_equal(job.samples, 1);
        assert_int_equal(job.threads, 256);
        assert_int_equal(job.block, 8);
    } else {
        assert_true(job.place != SCORE_GLOBAL && job.bytes <= on->shared);
        assert_true(job.samples >= 1 && job.samples <= 32);
        assert_true(job.threads >= 64 && job.threads <= 512 && job.threads % 32 == 0);
        if (worth_of(&job, on->all, on->count) * 1.0051 < best)
            fail_msg("%d members, %d classes, %lld samples: %d samples and %d threads are worth %g, the best %g", job.m,
                     job.c, job.n, job.samples, job.threads, worth_of(&job, on->all, on->count), best);
    }
    check_order(&job, job.place == SCORE_GLOBAL ? eight ? 8 : 4 : job.block);
}

static void the_best_shape_is_planned(void **unused) {
    static const device devices[] = {
        {H200_SHARED, H200_ALL, H200_COUNT}, {99 << 10, 100 << 10, 84}, {48 << 10, 64 << 10, 8}};
    static const int shapes[][2] = {{5, 10},    {20, 10},   {1, 2},  {128, 10}, {129, 10},  {16, 1024},
                                    {17, 1000}, {64, 256},  {7, 300}, {32, 3},  {1000, 10}, {4, 5000},
                                    {100, 100}, {10, 1000}, {300, 300}, {2000, 1000}};
    double figure;
    size_t global = 0, large = 0;
    (void)unused;
    for (int i = 0; i < 96; i++) {
        const int *shape = shapes[i % 16];
        score_job job = some_job(shape[0], shape[1]);
        job.out.epjs = draw(2) ? &figure : NULL;
        job.out.gepjs = draw(4) == 0 ? &figure : NULL;
        check_plan(&job, &devices[i % 3]);
        assert_true(vg_measures__score_plan(&job, devices[0].shared, devices[0].all, devices[0].count));
        global += job.place == SCORE_GLOBAL;
        large += job.place == SCORE_LARGE;
    }
    assert_true(global > 0 && large > 0);
}

/* The same input is summed up in the same order, whatever is asked for, on any device that holds a sample. */
static void the_order_is_of_the_input_alone(void **unused) {
    double figure;
    (void)unused;
    for (int i = 0; i < 40; i++) {
        score_job first = some_job(1 + (int)draw(40), 2 + (int)draw(40)), other = some_job(first.m, first.c);
        other.dtype = first.dtype, other.logits = first.logits, other.wide = first.wide;
        other.out.epjs = &figure;
        assert_true(vg_measures__score_plan(&first, H200_SHARED, H200_ALL, H200_COUNT));
        assert_true(vg_measures__score_plan(&other, 99 << 10, 100 << 10, 20));
        assert_int_equal(first.split, other.split);
        assert_int_equal(first.block, other.block);
    }
}

/* --- forms by lanes */
/* The estimate of device_plan.c for a group of lanes: 200 instructions for an element, or the cycles of the cache for
 * the lines that a warp reads, a sample's own or a part of one, where these are more; 300 for a sample, 100 for an
 * exchange. */
static double cost_of(const score_job *job, int lanes) {
    double samples = 32.0 / lanes, lines = samples * fmin((double)job->m * job->c * 4 / 128, 1);
    return lanes * ((double)over(job->c, lanes) * job->m * fmax(16 * lines, 200) + 300 + 100 * log2(lanes));
}
/* At most 8 classes for a lane, and 12 KiB of a warp's weights. */
static bool lanes_fit(const score_job *job, int lanes) {
    int padded = 8 * over(job->m, 8), bytes = 32 / lanes * (padded * 8 + 4) * 4;
    return over(job->c, lanes) <= 8 && bytes <= 12288;
}

static void check_groups(const score_job *job) {
    bool fits = false;
    for (int lanes = 1; lanes <= 32; lanes *= 2) {
        fits = fits || lanes_fit(job, lanes);
        bool group = job->form == SCORE_GROUPS && lanes_fit(job, lanes);
        if (group && cost_of(job, job->lanes) > 1.000001 * cost_of(job, lanes))
            fail_msg("%d members, %d classes: %d lanes cost %g, %d lanes %g", job->m, job->c, job->lanes,
                     cost_of(job, job->lanes), lanes, cost_of(job, lanes));
    }
    assert_true(fits == (job->form == SCORE_GROUPS));
    if (!fits)
        return;
    assert_true(lanes_fit(job, job->lanes));
    assert_int_equal(job->rounds, over(job->c, job->lanes));
    assert_int_equal(job->tiles, 1);
}

static void check_form(score_job job) {
    bool few = job.m <= 8, far = (double)llabs(job.stride_m) > floor((double)INT_MAX / job.m) - job.c;
    bool lanes = !job.wide && !job.logits && !job.list && job.dtype == VG_F32 && job.k <= 3 && !far;
    vg_measures__score_form(&job);
    assert_int_equal(job.padded, 8 * over(job.m, 8));
    if (lanes && job.c > 256) {
        assert_int_equal(job.form, SCORE_TILES);
        assert_int_equal(job.lanes, 32);
        assert_int_equal(job.rounds, few ? 8 : job.m <= 128 ? 4 : 2);
        assert_int_equal(job.tiles, over(job.c, 32 * job.rounds));
    } else if (lanes && job.m <= (job.c <= 4 ? 32 : 8)) {
        check_groups(&job);
    } else {
        assert_int_equal(job.form, SCORE_BLOCKS);
    }
    if (lanes) { /* logarithms also where EPJS is a sum over pairs of few members */
        bool gated = job.m > 1 && (job.need_gated_logs || (few && job.out.gepjs));
        assert_int_equal(job.lane_gated_logs, gated);
        assert_int_equal(job.lane_logs, job.m > 1 && (job.need_logs || gated || (few && job.out.epjs)));
        assert_int_equal(job.weighted, job.gated > 0 || (!few && job.out.epjs));
    }
    assert_true(job.nats == (job.list ? 7 : job.form == SCORE_BLOCKS ? 3 : 2));
    if (job.form == SCORE_BLOCKS)
        return;
    for (int count = 1; count <= 140; count += 139) { /* a group of lanes for a sample, 128 threads a block */
        vg_measures__score_units(&job, count);
        long long blocks = (job.n * job.lanes + 127) / 128;
        assert_int_equal(job.unit_count, blocks < 32LL * count ? blocks : 32LL * count);
    }
}

static void the_cheapest_lanes_are_taken(void **unused) {
    static const unsigned listed[1];
    double figure;
    (void)unused;
    for (int i = 0; i < 20000; i++) {
        score_job job = some_job(1 + (int)draw(draw(3) ? 10 : 200), 2 + (int)draw(draw(3) ? 80 : 600));
        job.k = (int)draw(5);
        job.nats = 7;
        job.list = draw(10) ? NULL : listed;
        job.out.epjs = draw(2) ? &figure : NULL;
        job.out.gepjs = draw(2) ? &figure : NULL;
        job.need_logs = draw(2), job.need_gated_logs = draw(2);
        if (draw(8) == 0)
            job.stride_m = (long long)(INT_MAX / job.m - job.c + (int)draw(3) - 1) * (draw(2) ? 1 : -1);
        check_form(job);
    }
    for (int m = 1; m <= 33; m++)
        for (int c = 2; c <= 300; c++)
            check_form((score_job){
                .m = m, .c = c, .k = 3, .gated = 3, .dtype = VG_F32, .stride_m = c, .n = 7 * c, .nats = 7});
}

/* Arrays of tiles: one after the other, each as long as its shape in score_job.h. */
static void memory_of_tiles(void **unused) {
    (void)unused;
    for (int i = 0; i < 500; i++) {
        score_job job = {.m = 1 + (int)draw(200), .c = 300 + (int)draw(5000), .dtype = VG_F32, .n = 1 + (int)draw(50)};
        job.stride_m = job.c;
        vg_measures__score_form(&job);
        size_t n = (size_t)job.n, M = (size_t)job.m, T = (size_t)job.tiles, bytes = vg_measures__score_tile_bytes(&job);
        char *memory = (char *)(uintptr_t)4096; /* never read */
        vg_measures__score_tile_memory(&job, memory);
        part parts[] = {{(size_t)((char *)job.tile_rows - memory), (double)(n * T * M * 8 * sizeof(float))},
                        {(size_t)((char *)job.tile - memory), (double)(n * T * sizeof(tile_sums))},
                        {(size_t)((char *)job.tile_weights - memory), (double)(n * (size_t)job.padded * 32)},
                        {(size_t)((char *)job.tile_psi - memory), (double)(n * M * 4 * sizeof(double))},
                        {(size_t)((char *)job.tile_zbar - memory), (double)(n * 4 * sizeof(double))}};
        double end = 0;
        qsort(parts, 5, sizeof *parts, by_place);
        for (size_t j = 0; j < 5; j++) {
            assert_true((double)parts[j].from == end);
            end += parts[j].bytes;
        }
        assert_true((double)(n * bytes) == end);
    }
}

/* A job that is done again: in double, for the samples that the first one left, whose own list follows; only what may
 * be off in float. */
static void jobs_are_done_again(void **unused) {
    double figure;
    unsigned redo[20], *list = redo;
    score_report report = {0};
    score_job job = {.m = 3, .c = 4, .n = 10, .redo = list, .redo_count = &report.redo[0], .report = &report};
    (void)unused;
    job.units = &figure;
    job.out.tu = job.out.mean = job.out.std = job.out.gmu = job.out.snr = job.out.gau = &figure;
    vg_measures__score_again(&job);
    assert_true(job.wide && job.list == redo && job.list_count == &report.redo[0]);
    assert_true(job.redo == redo + 10 && job.redo_count == &report.redo[1]);
    assert_null(job.units);
    assert_true(!job.out.mean && !job.out.std && !job.out.gmu && !job.out.snr && job.out.tu && job.out.gau);
    assert_true(!job.out.pred && !job.out.second && !job.out.decision && !job.out.flags);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_lie_side_by_side),
        cmocka_unit_test(large_arrays_are_refused),
        cmocka_unit_test(the_best_shape_is_planned),
        cmocka_unit_test(the_order_is_of_the_input_alone),
        cmocka_unit_test(the_cheapest_lanes_are_taken),
        cmocka_unit_test(memory_of_tiles),
        cmocka_unit_test(jobs_are_done_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
