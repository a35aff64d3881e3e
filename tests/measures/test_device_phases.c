/* test_device_phases.c - the arithmetic of the scoring kernel without a device: its phases, compiled for the host, run
 * thread by thread and block by block, against the reference. Every placement of the arrays and every shape of
 * block. */
#include "device_cases.h"
#include "far_members.h"
#include "measures/cuda/score_groups.h"
#include "measures/cuda/score_phases.h"

/* How blocks are shaped: as planned for a device, or forced. */
static struct {
    size_t shared;
    int samples, threads, place;
} forced;

/* Forms by lanes with groups of this many lanes, whatever the shape: a sample as a whole, or in tiles of one or more
 * rounds. 0: as planned. */
static struct {
    score_form form;
    int lanes, rounds;
} forced_lanes;

static bool backwards; /* threads run from the last to the first */

static void run_block(const score_job *job, long long first, long long count, char *base, char *p, int own) {
    score_view v = score_view_of(job, first, count, base, p, own);
    for (int phase = 0; phase < SCORE_PHASES; phase++)
        for (int turn = 0; turn < job->threads; turn++) {
            int tid = backwards ? job->threads - 1 - turn : turn;
            if (job->wide)
                score_phase(&v, phase, tid, 8, 1, (int)job->place, job->double_integral);
            else
                score_phase(&v, phase, tid, job->block, 0, (int)job->place, 0);
        }
}

static void shape_blocks(score_job *job) {
    assert_true(vg_measures__score_plan(job, forced.shared, 228 << 10, 132));
    if (!forced.threads)
        return;
    job->samples = forced.samples;
    job->threads = forced.threads;
    job->place = (score_where)forced.place;
    if (job->wide && job->place == SCORE_LARGE)
        job->place = SCORE_GLOBAL;
    job->block = job->place == SCORE_SHARED ? job->block : 8;
    job->split = forced.threads % 3 + 1 < job->m ? forced.threads % 3 + 1 : 1;
    assert_true(vg_measures__score_layout(job));
}

/* A sample that the kernel leaves to the host. */
static void by_host(vg_scores *got, size_t n, const vg_predictions *view, const vg_score_options *options, size_t k) {
    vg_predictions one = *view;
    vg_scores at = *got;
    one.n = 1;
    one.data = (const char *)view->data + n * view->m * view->c * (view->dtype == VG_F64 ? 8 : 4);
    for (int f = 0; f < SCORE_FIELDS; f++)
        *score_place(&at, f) += n * (score_fields[f].size == PER_K       ? k
                                     : score_fields[f].size == PER_CLASS ? view->c
                                                                         : 1);
    at.pred += n, at.second += n, at.flags += n, at.decision += n * k;
    assert_int_equal(vg_score(&at, NULL, &one, options), VG_OK);
}

/* One sample in either form by lanes. The compiler sees P and G as constants on the device; here they vary. */
static void run_sample(const score_job *job, long long n, double *units) {
    lane_state states[LANE_STATES];
    lane_view v = lane_view_of(job, n, 0, 0);
    int P = job->m <= SCORE_FEW ? job->m : 0, G = job->gated > 0;
    float *info = ref_alloc((size_t)job->rounds * 32 * 8, sizeof *info),
          *weights = ref_alloc((size_t)job->padded * 8, sizeof *weights);
    memset(states, 0xff, sizeof states);
    memset(info, 0xff, (size_t)job->rounds * 32 * 8 * sizeof *info);
    memset(weights, 0xff, (size_t)job->padded * 8 * sizeof *weights);
    v.info = info;
    v.weights = weights;
    if (job->form == SCORE_GROUPS) {
        group_score(&v, states, units, P, G);
    } else {
        v.weights = job->tile_weights + n * job->padded * 8;
        for (int tile = 0; tile < job->tiles; tile++) {
            v.base = tile * job->lanes * job->rounds;
            tile_first(&v, states, tile, P, G);
        }
        for (int m = 0; m < job->m; m++)
            tile_member(&v, states, m);
        for (int tile = job->tiles - 1; job->weighted && tile >= 0; tile--) {
            v.base = tile * job->lanes * job->rounds;
            tile_second(&v, states, tile, P, G);
        }
        tile_finish(&v, states, units);
    }
    free(info), free(weights);
}

static void run_lanes(score_job *job) {
    size_t bytes = job->form == SCORE_TILES ? vg_measures__score_tile_bytes(job) * (size_t)job->n : 0;
    char *memory = ref_alloc(bytes, 1);
    double units[SCORE_FIGURES] = {0};
    memset(memory, 0xff, bytes);
    vg_measures__score_tile_memory(job, memory);
    for (long long n = 0; n < job->n; n++)
        run_sample(job, backwards ? job->n - 1 - n : n, units);
    for (int i = 0; i < SCORE_FIGURES; i++)
        job->units[i] = units[i];
    job->unit_count = 1;
    free(memory);
}

static void shape_lanes(score_job *job) {
    int lanes = forced_lanes.lanes, rounds = forced_lanes.rounds;
    bool whole = forced_lanes.form == SCORE_GROUPS;
    job->form = forced_lanes.form;
    job->lanes = lanes;
    job->rounds = whole ? (job->c + lanes - 1) / lanes : rounds;
    job->tiles = whole ? 1 : (job->c + lanes * rounds - 1) / (lanes * rounds);
}

static void run_job(score_job *job) {
    long long count = job->list ? (long long)*job->list_count : job->n;
    vg_measures__score_form(job);
    if (forced_lanes.lanes && !job->wide && job->k <= SCORE_GATES)
        shape_lanes(job);
    if (job->form != SCORE_BLOCKS && !forced.threads) {
        run_lanes(job);
        return;
    }
    job->form = SCORE_BLOCKS;
    job->unit_count = job->n;
    shape_blocks(job);
    char *base = ref_alloc(job->bytes, 1), *p = ref_alloc(job->p_bytes, 1);
    for (long long first = 0; first < count; first += job->samples) {
        memset(base, 0xff, job->bytes); /* NaN: results must not depend on old contents */
        run_block(job, first, count, base, job->place == SCORE_SHARED ? base + job->p : p,
                  job->place == SCORE_SHARED || job->p_bytes);
    }
    free(base), free(p);
}

static vg_status emulate(vg_scores *got, vg_score_summary *summary, const vg_predictions *view,
                         const vg_score_options *options) {
    static const double three[] = {1, 2, 3};
    score_report report = {0, {0, 0}};
    score_job job = {
        .in = view->data, .dtype = view->dtype, .n = (long long)view->n, .m = (int)view->m, .c = (int)view->c};
    double *inverse = ref_alloc(view->m, sizeof *inverse);
    job.packed = view->stride_n == (ptrdiff_t)(view->m * view->c) && view->stride_m == (ptrdiff_t)view->c;
    job.stride_n = view->stride_n;
    job.stride_m = view->stride_m;
    job.k = options->k ? (int)options->k_count : 3;
    job.gates = options->k ? options->k : three;
    job.class_k = options->class_k;
    for (int i = 0; i < job.k; i++)
        job.widest = job.gates[i] > job.gates[job.widest] ? i : job.widest;
    for (size_t i = 0; options->temperature && i < view->m; i++)
        inverse[i] = 1 / options->temperature[options->temperature_count == 1 ? 0 : i];
    job.inverse_temperature = options->temperature ? inverse : NULL;
    double *units = ref_alloc(SCORE_FIGURES * view->n, sizeof *units);
    job.units = units;
    unsigned *redo = ref_alloc(2 * view->n, sizeof *redo);
    job.redo = redo;
    job.redo_count = &report.redo[0];
    job.report = &report;
    vg_measures__score_switches(&job, options, got);
    run_job(&job);
    unsigned *left = job.redo;
    size_t parts = (size_t)job.unit_count;
    if (!job.wide) { /* in double where divergences are large */
        vg_measures__score_again(&job);
        left = job.redo;
        run_job(&job);
    }
    for (unsigned i = 0; i < *job.redo_count && !report.bad; i++)
        by_host(got, left[i], view, options, (size_t)job.k);
    *summary = (vg_score_summary){.samples = view->n};
    for (size_t i = 0; i < parts; i++) {
        summary->diversity += units[i] / (double)(view->n * view->c);
        summary->mean_tu += units[parts + i] / (double)view->n;
        summary->mean_gtu += units[2 * parts + i] / (double)view->n;
        summary->total_variance += units[3 * parts + i] / (double)view->n;
        summary->abstained += units[4 * parts + i] / (double)view->n;
    }
    summary->k_sensitivity = 1.0 - summary->mean_gtu / summary->mean_tu;
    free(units), free(redo), free(inverse);
    return report.bad ? VG_ERR_DATA : VG_OK;
}

static void as_planned(void **state) {
    (void)state;
    forced.shared = 227 << 10, forced.threads = 0;
    assert_int_equal(device_usual_cases(emulate), 0);
    assert_int_equal(device_random_cases(emulate, full_sweep() ? 1000 : 40), 0);
}

static void by_lanes(void **state) {
    static const struct {
        score_form form;
        int lanes, rounds;
    } shapes[] = {{SCORE_BLOCKS, 0, 0},  {SCORE_GROUPS, 1, 0}, {SCORE_GROUPS, 8, 0},
                  {SCORE_GROUPS, 32, 0}, {SCORE_TILES, 32, 2}, {SCORE_TILES, 32, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        forced_lanes.form = shapes[i].form;
        forced_lanes.lanes = shapes[i].lanes, forced_lanes.rounds = shapes[i].rounds;
        assert_int_equal(device_lane_cases(emulate, i), 0);
    }
    forced_lanes.lanes = 0;
}

static void asked_alone(void **state) {
    (void)state;
    assert_int_equal(device_alone_cases(emulate), 0);
}

/* Small blocks, odd blocks, arrays outside shared memory. */
static void other_shapes(void **state) {
    static const int shapes[][3] = {
        {1, 32, SCORE_SHARED}, {3, 64, SCORE_SHARED}, {5, 96, SCORE_LARGE}, {2, 128, SCORE_GLOBAL}};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        forced.samples = shapes[i][0], forced.threads = shapes[i][1], forced.place = shapes[i][2];
        assert_int_equal(device_random_cases(emulate, full_sweep() ? 200 : 15), 0);
    }
    forced.threads = 0;
}

/* Shapes for which the reference would take too long, against vg_score. No thread may depend on what another does in
 * the same phase: the same bits in either order. */
static void large_shapes(void **state) {
    static const device_recipe recipes[] = {
        {MAKE_DIRICHLET, 1, 5, 100, 10},     {MAKE_DIRICHLET, 1, 2, 100, 100},  {MAKE_DIRICHLET, 0.01, 3, 100, 100},
        {MAKE_NEAR, 1e-4, 2, 100, 100},      {MAKE_NEAR, 0.5, 6, 100, 10},      {MAKE_DIRICHLET, 0.01, 2, 1000, 10},
        {MAKE_DIRICHLET, 0.1, 1, 100, 1000}, {MAKE_DIRICHLET, 1, 1, 1000, 500}, {MAKE_PEAKED, 0, 6, 100, 10},
        {MAKE_LOGITS, 3, 2, 100, 100},       {MAKE_DIRICHLET, 1, 1, 30, 5000}};
    (void)state;
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        const device_recipe *r = &recipes[i];
        size_t count = r->n * r->m * r->c;
        vg_score_options options = VG_SCORE_OPTIONS_INIT;
        vg_score_summary summary;
        rng_state = 500 + i;
        double *wide = make_predictions(r->n, r->m, r->c, r->kind, r->parameter);
        float *narrow = ref_alloc(count, sizeof *narrow);
        for (size_t j = 0; j < count; j++)
            narrow[j] = (float)wide[j];
        options.logits = r->kind == MAKE_LOGITS;
        vg_predictions view = vg_predictions_f32(narrow, r->n, r->m, r->c);
        score_shape shape = shape_of(&view, &options);
        vg_scores cpu = scores_new(shape), once = scores_new(shape), again = scores_new(shape);
        vg_score_summary by_cpu;
        assert_int_equal(vg_score(&cpu, &by_cpu, &view, &options), VG_OK);
        assert_int_equal(emulate(&once, &summary, &view, &options), VG_OK);
        assert_true(fabs(summary.total_variance - by_cpu.total_variance) < 1e-9);
        assert_true(fabs(summary.abstained - by_cpu.abstained) < 1e-12);
        backwards = true;
        assert_int_equal(emulate(&again, &summary, &view, &options), VG_OK);
        backwards = false;
        for (int f = 0; f < SCORE_FIELDS; f++) {
            size_t values = score_count(shape, score_fields[f].size);
            double most = 0;
            for (size_t j = 0; j < values; j++)
                most = fmax(most, fabs((*score_place(&cpu, f))[j] - (*score_place(&once, f))[j]) /
                                      (strcmp(score_fields[f].name, "snr") ? 1 : fmax(1, (*score_place(&cpu, f))[j])));
            if (!(most <= 1e-6))
                fail_msg("shape %zu: %s is off by %g", i, score_fields[f].name, most);
            assert_memory_equal(*score_place(&once, f), *score_place(&again, f), values * sizeof(double));
        }
        assert_memory_equal(cpu.pred, once.pred, shape.problems * sizeof *cpu.pred);
        assert_memory_equal(cpu.decision, once.decision, shape.problems * shape.k * sizeof *cpu.decision);
        assert_memory_equal(cpu.flags, once.flags, shape.problems * sizeof *cpu.flags);
        scores_free(&cpu), scores_free(&once), scores_free(&again);
        free(wide), free(narrow);
    }
}

/* Members and samples apart: pass t of a sample read through head t, [n][t][head][c]. */
static void strides(void **state) {
    enum { N = 9, M = 7, C = 5 };
    (void)state;
    for (int logits = 0; logits < 2; logits++) {
        rng_state = 9;
        double *data = make_predictions(N * M, M, C, logits ? MAKE_LOGITS : MAKE_DIRICHLET, 0.3);
        float *all = ref_alloc(N * M * M * C, sizeof *all), *packed = ref_alloc(N * M * C, sizeof *packed);
        for (size_t i = 0; i < (size_t)N * M * M * C; i++)
            all[i] = (float)data[i];
        for (size_t i = 0; i < (size_t)N * M; i++)
            memcpy(packed + i * C, all + (i * M + i % M) * C, C * sizeof *packed);
        vg_predictions apart = {all, VG_F32, N, M, C, M * M * C, M * C + C, 1},
                       together = vg_predictions_f32(packed, N, M, C);
        vg_score_options options = VG_SCORE_OPTIONS_INIT;
        options.logits = logits;
        score_shape shape = shape_of(&together, &options);
        vg_scores a = scores_new(shape), b = scores_new(shape);
        vg_score_summary summary;
        assert_int_equal(emulate(&a, &summary, &apart, &options), VG_OK);
        assert_int_equal(emulate(&b, &summary, &together, &options), VG_OK);
        for (int f = 0; f < SCORE_FIELDS; f++)
            assert_memory_equal(*score_place(&a, f), *score_place(&b, f), score_count(shape, score_fields[f].size) * 8);
        scores_free(&a), scores_free(&b);
        free(data), free(all), free(packed);
    }
}

/* Rows that are not distributions are found, the first one first. */
static void bad_rows(void **state) {
    static const float bad[][2] = {{0.5f, 0.6f}, {NAN, 0.5f}, {-0.5f, 1.5f}, {INFINITY, 0.0f}};
    (void)state;
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        float p[5 * 3 * 2];
        for (int i = 0; i < 30; i++)
            p[i] = 0.5f;
        memcpy(p + 2 * 7, bad[b], sizeof bad[b]); /* sample 2, member 1 */
        memcpy(p + 2 * 13, bad[b], sizeof bad[b]);
        vg_predictions view = vg_predictions_f32(p, 5, 3, 2);
        vg_score_options options = VG_SCORE_OPTIONS_INIT;
        score_shape shape = shape_of(&view, &options);
        vg_scores got = scores_new(shape);
        vg_score_summary summary;
        assert_int_equal(emulate(&got, &summary, &view, &options), VG_ERR_DATA);
        scores_free(&got);
    }
}

/* One member far below the others, in every form: as planned for few and more classes, then forced. */
static void far_members(void **state) {
    static const struct {
        size_t classes, most;
        score_form form;
        int lanes, rounds, threads;
    } shapes[] = {{2, FAR_MOST, SCORE_BLOCKS, 0, 0, 0}, {10, FAR_MOST, SCORE_BLOCKS, 0, 0, 0},
                  {100, 40, SCORE_BLOCKS, 0, 0, 0},     {2, FAR_MOST, SCORE_BLOCKS, 0, 0, 64},
                  {2, FAR_MOST, SCORE_GROUPS, 2, 0, 0}, {10, 40, SCORE_GROUPS, 8, 0, 0},
                  {2, FAR_MOST, SCORE_TILES, 2, 1, 0},  {100, 40, SCORE_TILES, 32, 2, 0}};
    (void)state;
    forced.samples = 4, forced.place = SCORE_SHARED;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        forced.threads = shapes[i].threads;
        forced_lanes.form = shapes[i].form;
        forced_lanes.lanes = shapes[i].lanes, forced_lanes.rounds = shapes[i].rounds;
        for (size_t members = 2; members <= shapes[i].most; members += members / 16 + 1)
            for (size_t f = 0; f < FAR_VALUES; f++) {
                double error = far_member_error(emulate, members, shapes[i].classes, far_values[f], 11 * members);
                if (!(error <= 1e-6))
                    fail_msg("shape %zu, %zu members, one at %g: off by %g", i, members, (double)far_values[f], error);
            }
    }
    forced_lanes.lanes = forced.threads = 0;
    assert_int_equal(far_groups_beyond(emulate, 45, GROUP_CLASSES), 0);
}

int main(void) {
    forced.shared = 227 << 10;
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_planned),   cmocka_unit_test(by_lanes),
                                       cmocka_unit_test(asked_alone),  cmocka_unit_test(other_shapes),
                                       cmocka_unit_test(large_shapes), cmocka_unit_test(strides),
                                       cmocka_unit_test(far_members),  cmocka_unit_test(bad_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
