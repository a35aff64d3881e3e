/* test_measures_cuda.c - device scoring against the reference and against vg_scorer: random and adversarial cases,
 * shapes that do and do not fit shared memory, every memory, type, stride and option, the same bits every time. Skipped
 * where there is no GPU. */
#include "device_cases.h"
#include "far_members.h"

#ifdef VG_TEST_CUDA_RUNTIME
#include <cuda_runtime_api.h>
#endif

static vg_status by_device(vg_scores *got, vg_score_summary *summary, const vg_predictions *view,
                           const vg_score_options *options) {
    vg_scorer *s;
    vg_score_options on_device = *options;
    on_device.device = VG_SCORE_ON_CUDA;
    vg_status status = vg_scorer_new(&s, view->m, view->c, &on_device);
    if (status != VG_OK)
        return status;
    status = vg_scorer_feed(s, got, view, NULL);
    if (status == VG_OK)
        status = vg_scorer_summary(s, summary);
    vg_scorer_free(s);
    return status;
}

static void cuda_against_reference(void **state) {
    (void)state;
    assert_int_equal(device_usual_cases(by_device), 0);
    for (size_t shift = 0; shift < 3; shift++)
        assert_int_equal(device_lane_cases(by_device, shift), 0);
    assert_int_equal(device_random_cases(by_device, full_sweep() ? 600 : 60), 0);
}

/* Differences between two scorers' results beyond 1e-6 (relative above 1), and of classes and decisions at all. */
static size_t compare_scores(const char *name, const vg_scores *a, const vg_scores *b, score_shape shape,
                             const vg_scores *spread) {
    size_t count = 0;
    for (int f = 0; f < SCORE_FIELDS; f++)
        for (size_t i = 0; i < score_count(shape, score_fields[f].size); i++) {
            double x = (*score_place((vg_scores *)a, f))[i], y = (*score_place((vg_scores *)b, f))[i];
            double allowed = 1e-6 * (!strcmp(score_fields[f].name, "snr") ? fmax(1, fabs(x)) : 1);
            if (!(fabs(x - y) <= allowed) && count++ < complaint_limit)
                fprintf(stderr, "  [%s]: %s[%zu] CPU %.17g device %.17g\n", name, score_fields[f].name, i, x, y);
        }
    for (size_t i = 0; i < shape.problems; i++) {
        if (spread->snr[i] < 1e-9)
            continue; /* a tie but for rounding */
        bool same = a->pred[i] == b->pred[i] && a->second[i] == b->second[i] && a->flags[i] == b->flags[i];
        for (size_t k = 0; k < shape.k; k++)
            same = same && a->decision[i * shape.k + k] == b->decision[i * shape.k + k];
        if (!same && count++ < complaint_limit)
            fprintf(stderr, "  [%s]: classes, flags or decisions of %zu differ\n", name, i);
    }
    return count;
}

/* The device against the CPU, for shapes on which the reference would take too long. */
static size_t against_cpu(const char *name, const vg_predictions *view, const vg_score_options *options) {
    score_shape shape = shape_of(view, options);
    vg_scores cpu = scores_new(shape), device = scores_new(shape), again = scores_new(shape);
    vg_score_summary of_cpu, of_device;
    size_t count = 1;
    vg_status status = vg_score(&cpu, &of_cpu, view, options);
    if (status == VG_OK)
        status = by_device(&device, &of_device, view, options);
    if (status == VG_OK)
        status = by_device(&again, &of_device, view, options);
    if (status == VG_OK) {
        count = compare_scores(name, &cpu, &device, shape, &cpu);
        for (int f = 0; f < SCORE_FIELDS; f++)
            if (memcmp(*score_place(&device, f), *score_place(&again, f),
                       score_count(shape, score_fields[f].size) * 8) != 0) {
                fprintf(stderr, "  [%s]: field %d differs from run to run\n", name, f);
                count++;
            }
        if (fabs(of_cpu.diversity - of_device.diversity) > 1e-8 || fabs(of_cpu.mean_tu - of_device.mean_tu) > 1e-6 ||
            fabs(of_cpu.mean_gtu - of_device.mean_gtu) > 1e-6) {
            fprintf(stderr, "  [%s]: diversity %.12g and %.12g, mean TU %.9g and %.9g, mean GTU %.9g and %.9g\n", name,
                    of_cpu.diversity, of_device.diversity, of_cpu.mean_tu, of_device.mean_tu, of_cpu.mean_gtu,
                    of_device.mean_gtu);
            count++;
        }
    } else
        fprintf(stderr, "  [%s]: refused: %s\n", name, vg_error_message());
    scores_free(&cpu), scores_free(&device), scores_free(&again);
    return count;
}

static void cuda_large_shapes(void **state) {
    static const struct {
        maker kind;
        double parameter;
        size_t n, m, c;
    } shapes[] = {
        {MAKE_DIRICHLET, 1, 3000, 100, 10}, {MAKE_DIRICHLET, 1, 300, 100, 100}, {MAKE_DIRICHLET, 0.01, 200, 100, 100},
        {MAKE_NEAR, 1e-4, 200, 100, 100},   {MAKE_NEAR, 0.5, 500, 100, 10},     {MAKE_DIRICHLET, 0.1, 20, 100, 1000},
        {MAKE_DIRICHLET, 1, 5, 1000, 500},  {MAKE_DIRICHLET, 1, 3, 30, 5000},   {MAKE_DIRICHLET, 1, 500, 1, 2},
        {MAKE_LOGITS, 3, 200, 100, 100},    {MAKE_LOGITS, 3, 5, 100, 1000},     {MAKE_PEAKED, 0, 300, 100, 10},
        {MAKE_DIRICHLET, 1, 7001, 5, 19},   {MAKE_DIRICHLET, 0.1, 3001, 8, 2},  {MAKE_NEAR, 1e-3, 999, 3, 10},
        {MAKE_DIRICHLET, 1, 5, 5, 32000},   {MAKE_DIRICHLET, 1, 50, 2, 300},    {MAKE_SOME_ZERO, 1, 30, 8, 257},
        {MAKE_DIRICHLET, 1, 500, 20, 30},   {MAKE_PEAKED, 0, 100, 16, 256},     {MAKE_DIRICHLET, 0.3, 3, 200, 700},
        {MAKE_NEAR, 0.1, 5, 12, 2000},      {MAKE_DIRICHLET, 1, 1000, 1, 19},   {MAKE_DIRICHLET, 1, 9, 1, 1000}};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        size_t count = shapes[i].n * shapes[i].m * shapes[i].c;
        rng_state = 500 + i;
        double *wide = make_predictions(shapes[i].n, shapes[i].m, shapes[i].c, shapes[i].kind, shapes[i].parameter);
        float *narrow = ref_alloc(count, sizeof *narrow);
        for (size_t j = 0; j < count; j++)
            narrow[j] = (float)wide[j];
        vg_score_options options = VG_SCORE_OPTIONS_INIT;
        vg_predictions view = vg_predictions_f32(narrow, shapes[i].n, shapes[i].m, shapes[i].c);
        vg_predictions view64 = vg_predictions_f64(wide, shapes[i].n, shapes[i].m, shapes[i].c);
        char name[32];
        options.logits = shapes[i].kind == MAKE_LOGITS;
        snprintf(name, sizeof name, "large %zu", i);
        assert_int_equal(against_cpu(name, &view, &options), 0);
        if (i % 2 == 0)
            assert_int_equal(against_cpu(name, &view64, &options), 0);
        free(narrow), free(wide);
    }
}

static void cuda_asked_alone(void **state) {
    (void)state;
    assert_int_equal(device_alone_cases(by_device), 0);
}

/* Half floats, strides, and options that are left to the host. */
static void cuda_other_views(void **state) {
    enum { N = 40, M = 7, C = 6 }; /* p = 1/2 .. 1/32 and 1/32 again */
    uint16_t half[N * M * C];
    float turned[M * N * C];
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    (void)state;
    for (int i = 0; i < N * M; i++)
        for (int c = 0; c < C; c++) { /* 1/2, 1/4, ... in an order of its own */
            int power = (c + i * i) % C + 1 < C ? (c + i * i) % C + 1 : C - 1;
            half[i * C + c] = (uint16_t)((15 - power) << 10);
            turned[((i % M) * N + i / M) * C + c] = ldexpf(1, -power);
        }
    vg_predictions f16 = {half, VG_F16, N, M, C, M * C, C, 1}, mnc = {turned, VG_F32, N, M, C, C, (ptrdiff_t)N * C, 1};
    assert_int_equal(against_cpu("float16", &f16, &options), 0);
    assert_int_equal(against_cpu("axes M, N, C", &mnc, &options), 0);
    options.task = VG_TASK_MULTILABEL;
    assert_int_equal(against_cpu("multilabel", &mnc, &options), 0);
    options.task = VG_TASK_MULTICLASS;
    for (int preset = 0; preset < 3; preset++) {
        assert_int_equal(vg_score_options_preset(&options, (vg_preset)preset), VG_OK);
        assert_int_equal(against_cpu("preset", &mnc, &options), 0);
    }
}

/* The first bad row is named, as by vg_scorer, counted over all blocks. */
static void cuda_bad_rows(void **state) {
    float p[5 * 3 * 2];
    double tu[5];
    vg_scores out = {.tu = tu};
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_scorer *s;
    (void)state;
    options.device = VG_SCORE_ON_CUDA;
    for (int i = 0; i < 30; i++)
        p[i] = 0.5f;
    vg_predictions view = vg_predictions_f32(p, 5, 3, 2);
    assert_int_equal(vg_scorer_new(&s, 3, 2, &options), VG_OK);
    assert_int_equal(vg_scorer_feed(s, &out, &view, NULL), VG_OK);
    p[2 * 7] = NAN, p[2 * 13] = 7;
    assert_int_equal(vg_scorer_feed(s, &out, &view, NULL), VG_ERR_DATA);
    assert_string_equal(vg_error_message(), "sample 7, member 1, class 0: a probability is not a number");
    vg_scorer_free(s);
}

/* The same where the classes of a sample are divided, and where members lie apart. */
static void cuda_bad_rows_of_many_classes(void **state) {
    enum { N = 3, M = 4, C = 700 };
    double tu[N];
    float *p = ref_alloc((size_t)N * M * C, sizeof *p);
    vg_scores out = {.tu = tu};
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_scorer *s;
    (void)state;
    options.device = VG_SCORE_ON_CUDA;
    for (size_t i = 0; i < (size_t)N * M * C; i++)
        p[i] = 1.0f / C;
    vg_predictions view = vg_predictions_f32(p, N, M, C);
    assert_int_equal(vg_scorer_new(&s, M, C, &options), VG_OK);
    assert_int_equal(vg_scorer_feed(s, &out, &view, NULL), VG_OK);
    assert_true(fabs(tu[2] - log(C)) < 1e-6);
    p[(2 * M + 3) * C + 5] += 0.01f, p[(1 * M + 2) * C + 699] = -1.0f, p[(1 * M + 2) * C] += 1 + 1.0f / C;
    assert_int_equal(vg_scorer_feed(s, &out, &view, NULL), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "sample 4, member 2"));
    vg_scorer_free(s);
    free(p);
}

/* Samples in which a member's gated probabilities are too small for the kernel are left to the host. */
static void cuda_small_gates(void **state) {
    double p[2 * 2 * 3] = {1, 0, 0, 0, 1, 0, 0.2, 0.3, 0.5, 0.3, 0.3, 0.4}, k[] = {1, 1e300};
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_predictions view = vg_predictions_f64(p, 2, 2, 3);
    (void)state;
    options.k = k;
    options.k_count = 2;
    assert_int_equal(against_cpu("small gates", &view, &options), 0);
}

static void cuda_far_members(void **state) {
    static const size_t classes[] = {2, 10, FAR_MOST_CLASSES};
    double worst = 0;
    (void)state;
    for (size_t c = 0; c < sizeof classes / sizeof *classes; c++)
        for (size_t members = 2; members <= FAR_MOST; members += members / 16 + 1)
            for (size_t f = 0; f < FAR_VALUES; f++)
                far_worst(&worst, far_member_error(by_device, members, classes[c], far_values[f], 11 * members));
    fprintf(stderr, "  one far member: at most %.3g\n", worst);
    assert_true(worst <= 1e-6);
    assert_int_equal(far_groups_beyond(by_device, GROUP_MEMBERS, GROUP_CLASSES), 0);
}

#ifdef VG_TEST_CUDA_RUNTIME
/* Predictions and results on the device: the same bits as through host memory. */
static void cuda_device_memory_in_and_out(void **state) {
    enum { N = 700, M = 50, C = 10, K = 3 };
    double *wide = make_predictions(N, M, C, MAKE_DIRICHLET, 1), tu[N], gepjs[N * K], mean[N * C], back[N * C];
    float *p = ref_alloc(N * M * C, sizeof *p), *on_device;
    double *results;
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_scorer_feed_options device = VG_SCORER_FEED_OPTIONS_INIT;
    vg_scorer *s;
    (void)state;
    options.device = VG_SCORE_ON_CUDA;
    device.predictions = device.scores = VG_MEMORY_DEVICE;
    for (size_t i = 0; i < N * M * C; i++)
        p[i] = (float)wide[i];
    assert_int_equal(cudaMalloc((void **)&on_device, N * M * C * sizeof *p), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&results, N * (1 + K + C) * sizeof *results), cudaSuccess);
    assert_int_equal(cudaMemcpy(on_device, p, N * M * C * sizeof *p, cudaMemcpyHostToDevice), cudaSuccess);
    vg_predictions here = vg_predictions_f32(p, N, M, C), there = vg_predictions_f32(on_device, N, M, C);
    vg_scores out = {.tu = tu, .gepjs = gepjs, .mean = mean},
              out_there = {.tu = results, .gepjs = results + N, .mean = results + N * (1 + K)};
    assert_int_equal(vg_scorer_new(&s, M, C, &options), VG_OK);
    assert_int_equal(vg_scorer_feed(s, &out, &here, NULL), VG_OK);
    assert_int_equal(vg_scorer_feed(s, &out_there, &there, &device), VG_OK);
    assert_int_equal(cudaMemcpy(back, results, N * sizeof(double), cudaMemcpyDeviceToHost), cudaSuccess);
    assert_memory_equal(back, tu, sizeof tu);
    assert_int_equal(cudaMemcpy(back, results + N, N * K * sizeof(double), cudaMemcpyDeviceToHost), cudaSuccess);
    assert_memory_equal(back, gepjs, sizeof gepjs);
    assert_int_equal(cudaMemcpy(back, results + N * (1 + K), N * C * sizeof(double), cudaMemcpyDeviceToHost),
                     cudaSuccess);
    assert_memory_equal(back, mean, sizeof mean);
    vg_score_summary summary, by_cpu;
    assert_int_equal(vg_scorer_summary(s, &summary), VG_OK);
    vg_scorer_free(s);
    options.device = VG_SCORE_ON_CPU;
    assert_int_equal(vg_scorer_new(&s, M, C, &options), VG_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(vg_scorer_feed(s, &out, &here, NULL), VG_OK);
    assert_int_equal(vg_scorer_summary(s, &by_cpu), VG_OK);
    assert_true(fabs(summary.disagreement - by_cpu.disagreement) < 1e-12);
    assert_true(fabs(summary.abstained - by_cpu.abstained) < 1e-12);
    vg_scorer_free(s);
    (void)cudaFree(on_device), (void)cudaFree(results);
    free(p), free(wide);
}
#endif

int main(void) {
    if (getenv("VARGATE_TEST_ONLY")) /* a pattern */
        cmocka_set_test_filter(getenv("VARGATE_TEST_ONLY"));
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_scorer *probe;
    options.device = VG_SCORE_ON_CUDA;
    if (vg_scorer_new(&probe, 2, 2, &options) != VG_OK) {
        printf("skipped: no GPU (%s)\n", vg_error_message());
        return 77;
    }
    vg_scorer_free(probe);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuda_against_reference),
        cmocka_unit_test(cuda_large_shapes),
        cmocka_unit_test(cuda_other_views),
        cmocka_unit_test(cuda_asked_alone),
        cmocka_unit_test(cuda_bad_rows),
        cmocka_unit_test(cuda_bad_rows_of_many_classes),
        cmocka_unit_test(cuda_small_gates),
        cmocka_unit_test(cuda_far_members),
#ifdef VG_TEST_CUDA_RUNTIME
        cmocka_unit_test(cuda_device_memory_in_and_out),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
