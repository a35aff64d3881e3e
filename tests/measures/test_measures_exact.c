/* test_measures_exact.c - what must be the same to the bit, in every SIMD tier: results at 1, 2 and 7 threads; of
 * samples fed in blocks of any size, summary included; of strided views and of packed ones; of float16 and bfloat16 and
 * of the float32 they convert to; of a measure asked for alone and of the same measure among all. */
#include "measures_util.h"

/* --- comparing and the problems compared */

static int same_bytes(const char *what, const char *name, const void *a, const void *b, size_t bytes, size_t element) {
    for (size_t i = 0; a && b && i < bytes / element; i++)
        if (memcmp((const char *)a + i * element, (const char *)b + i * element, element)) {
            fprintf(stderr, "  %s %s: %s[%zu] differs", vg_cpu_tier(), what, name, i);
            if (element == sizeof(double))
                fprintf(stderr, ": %.17g and %.17g", ((const double *)a)[i], ((const double *)b)[i]);
            fprintf(stderr, "\n");
            return 0;
        }
    return 1;
}

/* Every field that both have. */
static int same_scores(const char *what, vg_scores *a, vg_scores *b, score_shape s) {
    int same = 1;
    for (int f = 0; f < SCORE_FIELDS; f++)
        same &= same_bytes(what, score_fields[f].name, *score_place(a, f), *score_place(b, f),
                           score_count(s, score_fields[f].size) * sizeof(double), sizeof(double));
    same &= same_bytes(what, "pred", a->pred, b->pred, s.problems * sizeof(int32_t), sizeof(int32_t));
    same &= same_bytes(what, "second", a->second, b->second, s.problems * sizeof(int32_t), sizeof(int32_t));
    same &= same_bytes(what, "flags", a->flags, b->flags, s.problems * sizeof(uint32_t), sizeof(uint32_t));
    same &= same_bytes(what, "decision", a->decision, b->decision, s.problems * s.k * sizeof(int32_t), sizeof(int32_t));
    return same;
}

static int same_summary(const char *what, const vg_score_summary *a, const vg_score_summary *b) {
    const double x[] = {a->diversity, a->k_sensitivity, a->mean_tu, a->mean_gtu};
    const double y[] = {b->diversity, b->k_sensitivity, b->mean_tu, b->mean_gtu};
    return a->samples == b->samples && same_bytes(what, "summary", x, y, sizeof x, sizeof *x);
}

/* A problem: float32 and float64 views of the same kind of data, and options. */
typedef struct setting {
    const char *name;
    maker kind;
    double parameter;
    size_t n, m, c;
    vg_preset preset;
    vg_task task;
    vg_dtype dtype;
} setting;

static const setting settings[] = {
    {"c10", MAKE_DIRICHLET, 0.1, 203, 10, 10, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F32},
    {"c10d", MAKE_DIRICHLET, 0.1, 203, 10, 10, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F64},
    {"c37", MAKE_SOME_ZERO, 0.5, 101, 7, 37, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F32},
    {"c3m100", MAKE_DIRICHLET, 1, 67, 100, 3, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F32},
    {"c100", MAKE_DIRICHLET, 0.05, 33, 20, 100, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F32},
    {"far", MAKE_FAR, 6, 61, 19, 12, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F32},
    {"c1000", MAKE_DIRICHLET, 0.1, 9, 5, 1000, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F64},
    {"vge", MAKE_DIRICHLET, 0.1, 77, 6, 11, VG_PRESET_VGE, VG_TASK_MULTICLASS, VG_F32},
    {"mljku", MAKE_DIRICHLET, 0.1, 77, 6, 11, VG_PRESET_MLJKU, VG_TASK_MULTICLASS, VG_F64},
    {"one", MAKE_DIRICHLET, 0.1, 51, 1, 5, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F32},
    {"c2", MAKE_ONE_HOT, 0, 301, 3, 2, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F32},
    {"logits", MAKE_LOGITS, 3, 103, 8, 13, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F32},
    {"logits64", MAKE_LOGITS_NEAR, 1e-4, 103, 8, 13, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F64},
    {"labels", MAKE_DIRICHLET, 1, 29, 6, 9, VG_PRESET_PAPER, VG_TASK_MULTILABEL, VG_F32},
    {"labels-vge", MAKE_DIRICHLET, 0.3, 29, 6, 9, VG_PRESET_VGE, VG_TASK_MULTILABEL_LITERAL, VG_F64},
    {"label-logits", MAKE_LOGITS, 3, 29, 6, 9, VG_PRESET_PAPER, VG_TASK_MULTILABEL, VG_F32},
    {"n1", MAKE_DIRICHLET, 1, 1, 10, 10, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F32},
    {"n2000", MAKE_DIRICHLET, 0.3, 2003, 3, 4, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F32},
    {"staged", MAKE_DIRICHLET, 1, 30011, 2, 2, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F32}, /* result_staging.h */
    {"staged-one", MAKE_DIRICHLET, 1, 30011, 1, 3, VG_PRESET_VGE, VG_TASK_MULTICLASS, VG_F32},
    /* samples whose classes several threads share (panel_run.h) */
    {"shared", MAKE_DIRICHLET, 0.3, 2, 4, 40011, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F32},
    {"shared-far", MAKE_FAR, 12, 1, 4, 40011, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F32},
    {"shared-tie", MAKE_TIE, 1, 1, 2, 70001, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F32},
    {"shared-many", MAKE_DIRICHLET, 1, 2, 40, 4001, VG_PRESET_VGE, VG_TASK_MULTICLASS, VG_F32},
    {"shared64", MAKE_NEAR, 1e-3, 1, 12, 12001, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F64},
    {"shared-logits", MAKE_LOGITS, 3, 2, 12, 12001, VG_PRESET_PAPER, VG_TASK_MULTICLASS, VG_F32},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

typedef struct bench {
    void *data;
    vg_predictions view;
    vg_score_options options;
    score_shape shape;
    vg_scores all; /* everything, one thread, packed, in one call */
    vg_score_summary summary;
} bench;

static bench bench_new(const setting *s) {
    bench b = {.options = VG_SCORE_OPTIONS_INIT};
    rng_state = 5 + (uint64_t)(s - settings);
    size_t count = s->n * s->m * s->c;
    double *data = s->task == VG_TASK_MULTICLASS ? make_predictions(s->n, s->m, s->c, s->kind, s->parameter)
                                                 : make_labels(s->n, s->m, s->c, s->kind, s->parameter);
    if (s->dtype == VG_F32) {
        float *narrow = ref_alloc(count, sizeof *narrow);
        for (size_t i = 0; i < count; i++)
            narrow[i] = (float)data[i];
        free(data);
        b.data = narrow;
        b.view = vg_predictions_f32(narrow, s->n, s->m, s->c);
    } else {
        b.data = data;
        b.view = vg_predictions_f64(data, s->n, s->m, s->c);
    }
    assert_int_equal(vg_score_options_preset(&b.options, s->preset), VG_OK);
    b.options.task = s->task;
    b.options.logits = s->kind == MAKE_LOGITS || s->kind == MAKE_LOGITS_NEAR;
    b.options.threads = 1;
    b.shape = shape_of(&b.view, &b.options);
    b.all = scores_new(b.shape);
    if (vg_score(&b.all, &b.summary, &b.view, &b.options) != VG_OK)
        fail_msg("%s: %s", s->name, vg_error_message());
    return b;
}

static void bench_free(bench *b) {
    free(b->data);
    scores_free(&b->all);
}

/* Scores `view` with all fields and compares with the bench's results. */
static int scores_alike(const char *what, bench *b, const vg_predictions *view, const vg_score_options *options) {
    vg_scores got = scores_new(b->shape);
    vg_score_summary summary;
    if (vg_score(&got, &summary, view, options) != VG_OK)
        fail_msg("%s: %s", what, vg_error_message());
    int same = same_scores(what, &b->all, &got, b->shape) & same_summary(what, &b->summary, &summary);
    scores_free(&got);
    return same;
}

/* --- the tests */

static void threads(void **state) {
    (void)state;
    static const unsigned counts[] = {2, 7, 0};
    int same = 1;
    for (int s = 0; s < SETTINGS; s++) {
        bench b = bench_new(&settings[s]);
        for (int t = 0; t < 3; t++) {
            char what[64];
            vg_score_options options = b.options;
            options.threads = counts[t];
            snprintf(what, sizeof what, "%s at %u threads", settings[s].name, counts[t]);
            same &= scores_alike(what, &b, &b.view, &options);
        }
        bench_free(&b);
    }
    assert_true(same);
}

/* Places advanced to a block's first sample. */
static vg_scores places_from(vg_scores *all, score_shape whole, size_t n, size_t first) {
    vg_scores part = *all;
    size_t problems = whole.problems / n * first;
    for (int f = 0; f < SCORE_FIELDS; f++) {
        enum field_size size = score_fields[f].size;
        size_t skip = size == PER_PROBLEM ? problems : size == PER_K ? problems * whole.k : whole.classes / n * first;
        *score_place(&part, f) += skip;
    }
    part.pred += problems;
    part.second += problems;
    part.flags += problems;
    part.decision += problems * whole.k;
    return part;
}

static vg_predictions rows_from(const vg_predictions *view, size_t first, size_t count) {
    vg_predictions part = *view;
    size_t width = view->dtype == VG_F64 ? sizeof(double) : view->dtype == VG_F32 ? sizeof(float) : sizeof(uint16_t);
    part.data = (const char *)view->data + (ptrdiff_t)first * view->stride_n * (ptrdiff_t)width;
    part.n = count;
    return part;
}

static int blocks_alike(const setting *s, bench *b, size_t largest, unsigned thread_count) {
    char what[80];
    vg_scorer *scorer;
    vg_scores got = scores_new(b->shape);
    vg_score_summary summary;
    vg_score_options options = b->options;
    options.threads = thread_count;
    snprintf(what, sizeof what, "%s in blocks up to %zu", s->name, largest);
    assert_int_equal(vg_scorer_new(&scorer, s->m, s->c, &options), VG_OK);
    for (size_t first = 0; first < s->n;) {
        size_t count = largest == 1 ? 1 : rng_below(largest + 1); /* a block of no samples is legal */
        count = count < s->n - first ? count : s->n - first;
        vg_predictions block = rows_from(&b->view, first, count);
        vg_scores places = places_from(&got, b->shape, s->n, first);
        assert_int_equal(vg_scorer_feed(scorer, &places, &block, NULL), VG_OK);
        first += count;
    }
    assert_int_equal(vg_scorer_summary(scorer, &summary), VG_OK);
    vg_scorer_free(scorer);
    int same = same_scores(what, &b->all, &got, b->shape) & same_summary(what, &b->summary, &summary);
    scores_free(&got);
    return same;
}

static void blocks(void **state) {
    (void)state;
    int same = 1;
    for (int s = 0; s < SETTINGS; s++) {
        bench b = bench_new(&settings[s]);
        same &= blocks_alike(&settings[s], &b, 1, 1);
        same &= blocks_alike(&settings[s], &b, 5, 2);
        same &= blocks_alike(&settings[s], &b, 64, 3);
        same &= blocks_alike(&settings[s], &b, settings[s].n, 1);
        bench_free(&b);
    }
    assert_true(same);
    vg_scorer_free(NULL);
}

/* The same elements laid out with other strides: order of axes, direction, gaps. */
static int strides_alike(const char *name, bench *b, ptrdiff_t stride_n, ptrdiff_t stride_m, ptrdiff_t stride_c) {
    char what[96];
    const vg_predictions *v = &b->view;
    ptrdiff_t last[3] = {(ptrdiff_t)v->n - 1, (ptrdiff_t)v->m - 1, (ptrdiff_t)v->c - 1},
              stride[3] = {stride_n, stride_m, stride_c};
    ptrdiff_t start = 0, reach = 0;
    for (int a = 0; a < 3; a++) {
        reach += last[a] * (stride[a] < 0 ? -stride[a] : stride[a]);
        start += stride[a] < 0 ? last[a] * -stride[a] : 0;
    }
    size_t width = v->dtype == VG_F64 ? sizeof(double) : sizeof(float);
    char *memory = ref_alloc((size_t)reach + 1, width);
    memset(memory, 0xff, ((size_t)reach + 1) * width); /* NaN in the gaps: reading one is an error */
    for (size_t n = 0; n < v->n; n++)
        for (size_t m = 0; m < v->m; m++)
            for (size_t c = 0; c < v->c; c++)
                memcpy(memory + (size_t)(start + (ptrdiff_t)n * stride_n + (ptrdiff_t)m * stride_m +
                                         (ptrdiff_t)c * stride_c) *
                                    width,
                       (const char *)v->data + ((n * v->m + m) * v->c + c) * width, width);
    vg_predictions view = {memory + (size_t)start * width, v->dtype, v->n, v->m, v->c, stride_n, stride_m, stride_c};
    snprintf(what, sizeof what, "%s strides %td %td %td", name, stride_n, stride_m, stride_c);
    int same = scores_alike(what, b, &view, &b->options);
    free(memory);
    return same;
}

static void strides(void **state) {
    (void)state;
    int same = 1;
    for (int s = 0; s < SETTINGS; s++) {
        const setting *x = &settings[s];
        bench b = bench_new(x);
        ptrdiff_t n = (ptrdiff_t)x->n, m = (ptrdiff_t)x->m, c = (ptrdiff_t)x->c;
        same &= strides_alike(x->name, &b, c, n * c, 1);               /* MNC */
        same &= strides_alike(x->name, &b, 1, n, n * m);               /* CMN */
        same &= strides_alike(x->name, &b, -m * c, -c, -1);            /* all backwards */
        same &= strides_alike(x->name, &b, m * c, c, -1);              /* classes backwards */
        same &= strides_alike(x->name, &b, m * (c + 3) + 1, c + 3, 1); /* padded rows */
        same &= strides_alike(x->name, &b, 2 * m * c, -2 * c, 2);      /* every second element */
        bench_free(&b);
    }
    assert_true(same);
}

/* A stride of 0 repeats: all members read the same row. */
static void stride_zero(void **state) {
    (void)state;
    bench b = bench_new(&settings[0]);
    const vg_predictions *v = &b.view;
    float *copy = ref_alloc(v->n * v->m * v->c, sizeof *copy);
    for (size_t n = 0; n < v->n; n++)
        for (size_t m = 0; m < v->m; m++)
            memcpy(copy + (n * v->m + m) * v->c, (const float *)v->data + n * v->m * v->c, v->c * sizeof *copy);
    vg_predictions packed = vg_predictions_f32(copy, v->n, v->m, v->c), repeated = *v;
    repeated.stride_m = 0;
    vg_scores one = scores_new(b.shape), two = scores_new(b.shape);
    assert_int_equal(vg_score(&one, NULL, &packed, &b.options), VG_OK);
    assert_int_equal(vg_score(&two, NULL, &repeated, &b.options), VG_OK);
    assert_true(same_scores("stride 0", &one, &two, b.shape));
    scores_free(&one);
    scores_free(&two);
    free(copy);
    bench_free(&b);
}

/* Every finite float16 and bfloat16 pattern up to 1e4 as a logit, and as a probability in rows divided by their sum. */
static void narrow_types(void **state) {
    (void)state;
    enum { N = 819, M = 8, C = 10, COUNT = N * M * C };
    uint16_t *narrow = ref_alloc(COUNT, sizeof *narrow);
    float *wide = ref_alloc(COUNT, sizeof *wide);
    int same = 1;
    for (int kind = 0; kind < 4; kind++) {
        vg_dtype dtype = kind % 2 ? VG_BF16 : VG_F16;
        vg_score_options o = VG_SCORE_OPTIONS_INIT;
        o.logits = kind < 2;
        o.renormalise = kind >= 2;
        for (size_t i = 0; i < COUNT; i++) {
            uint16_t bits = (uint16_t)(i * 40503u); /* odd factor: every pattern comes once in 65536 */
            double value = dtype == VG_F16 ? ref_half(bits) : ref_bfloat(bits);
            if (!(fabs(value) <= 1e4) || (kind >= 2 && (value < 0 || i % C == 0))) {
                bits = dtype == VG_F16 ? 0x3800 : 0x3f00; /* 0.5 */
                value = 0.5;
            }
            narrow[i] = bits;
            wide[i] = (float)value;
        }
        vg_predictions a = vg_predictions_f32(wide, N, M, C), b = {narrow, dtype, N, M, C, M * C, C, 1};
        score_shape shape = shape_of(&a, &o);
        vg_scores one = scores_new(shape), two = scores_new(shape);
        if (vg_score(&one, NULL, &a, &o) != VG_OK || vg_score(&two, NULL, &b, &o) != VG_OK)
            fail_msg("%s", vg_error_message());
        same &= same_scores(dtype == VG_F16 ? "float16" : "bfloat16", &one, &two, shape);
        scores_free(&one);
        scores_free(&two);
    }
    free(narrow);
    free(wide);
    assert_true(same);
}

/* Scores with the fields of `chosen` only and compares those. */
static int part_alike(const char *name, bench *b, vg_scores *chosen) {
    char what[64];
    snprintf(what, sizeof what, "part of %s", name);
    if (vg_score(chosen, NULL, &b->view, &b->options) != VG_OK)
        fail_msg("%s: %s", what, vg_error_message());
    return same_scores(what, &b->all, chosen, b->shape);
}

static void alone(void **state) {
    (void)state;
    int same = 1;
    for (int s = 0; s < SETTINGS; s++) {
        bench b = bench_new(&settings[s]);
        const char *name = settings[s].name;
        vg_scores room = scores_new(b.shape);
        for (int f = 0; f < SCORE_FIELDS; f++) { /* each alone, and each with the next */
            vg_scores one = {0}, two = {0};
            int next = (f + 1) % SCORE_FIELDS;
            *score_place(&one, f) = *score_place(&two, f) = *score_place(&room, f);
            *score_place(&two, next) = *score_place(&room, next);
            same &= part_alike(name, &b, &one);
            same &= part_alike(name, &b, &two);
        }
        vg_scores parts[] = {
            {.pred = room.pred},
            {.second = room.second},
            {.decision = room.decision},
            {.flags = room.flags},
            {.gmu = room.gmu, .snr = room.snr, .decision = room.decision, .pred = room.pred},
            {.tu = room.tu, .au = room.au, .eu = room.eu, .gmu = room.gmu},
            {.gtu = room.gtu, .gau = room.gau, .geu = room.geu, .gepce = room.gepce, .gepkl = room.gepkl},
            {.mean = room.mean, .std = room.std, .flags = room.flags},
            {0}};
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
            same &= part_alike(name, &b, &parts[p]);
        scores_free(&room);
        bench_free(&b);
    }
    assert_true(same);
}

/* One call on more samples than a scorer takes at once (65,536): every field goes on where the last chunk ended. */
static void chunks(void **state) {
    (void)state;
    enum { LONG = 140003, PART = 50000, M2 = 2, C2 = 2 };
    for (int task = VG_TASK_MULTICLASS; task <= VG_TASK_MULTILABEL; task++) {
        float *data = ref_alloc((size_t)LONG * M2 * C2, sizeof *data);
        vg_score_options options = VG_SCORE_OPTIONS_INIT;
        options.task = (vg_task)task;
        for (size_t i = 0; i < (size_t)LONG * M2 * C2; i += C2) {
            data[i] = (float)rng_uniform();
            data[i + 1] = 1 - data[i];
        }
        vg_predictions view = vg_predictions_f32(data, LONG, M2, C2);
        score_shape shape = shape_of(&view, &options);
        vg_scores whole = scores_new(shape), parts = scores_new(shape);
        assert_int_equal(vg_score(&whole, NULL, &view, &options), VG_OK);
        for (size_t first = 0; first < LONG; first += PART) {
            vg_predictions part = rows_from(&view, first, LONG - first < PART ? LONG - first : PART);
            vg_scores places = places_from(&parts, shape, LONG, first);
            assert_int_equal(vg_score(&places, NULL, &part, &options), VG_OK);
        }
        assert_true(same_scores("in one call and in parts", &parts, &whole, shape));
        scores_free(&whole);
        scores_free(&parts);
        free(data);
    }
}

/* Diversity never depends on what was asked for; the entropy means need both tu and gtu. */
static void summary_of_parts(void **state) {
    (void)state;
    bench b = bench_new(&settings[0]);
    vg_scores room = scores_new(b.shape), parts[] = {{0}, {.gmu = room.gmu}, {.tu = room.tu}, {.gtu = room.gtu}};
    for (int p = 0; p < 4; p++) {
        vg_score_summary summary;
        assert_int_equal(vg_score(&parts[p], &summary, &b.view, &b.options), VG_OK);
        assert_int_equal(summary.samples, b.view.n);
        assert_true(memcmp(&summary.diversity, &b.summary.diversity, sizeof(double)) == 0);
        assert_true(isnan(summary.k_sensitivity));
    }
    vg_scores both = {.tu = room.tu, .gtu = room.gtu};
    vg_score_summary summary;
    assert_int_equal(vg_score(&both, &summary, &b.view, &b.options), VG_OK);
    assert_true(same_summary("tu and gtu", &b.summary, &summary));
    scores_free(&room);
    bench_free(&b);
}

/* Means of as many equal samples are the sample's values: sums are compensated. */
static void summary_of_many(void **state) {
    (void)state;
    enum { MANY = 200000 };
    double *data = ref_alloc(MANY * 4, sizeof *data);
    const double k = 1;
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    options.k = &k;
    options.k_count = 1;
    for (int turn = 0; turn < 3; turn++) {
        double one = 0.3 + 0.11 * turn, two = 0.21 + 0.07 * turn;
        for (size_t i = 0; i < MANY; i++)
            data[4 * i] = one, data[4 * i + 1] = 1 - one, data[4 * i + 2] = two, data[4 * i + 3] = 1 - two;
        vg_predictions view = vg_predictions_f64(data, MANY, 2, 2);
        vg_scores places = scores_new(shape_of(&view, &options));
        vg_score_summary summary;
        assert_int_equal(vg_score(&places, &summary, &view, &options), VG_OK);
        assert_true(fabs(summary.mean_tu / places.tu[0] - 1) < 1e-15);
        assert_true(fabs(summary.mean_gtu / places.gtu[0] - 1) < 1e-15);
        scores_free(&places);
    }
    free(data);
}

/* A sample without anything in the first class, at every place among samples that have a member below the floor there:
 * each of them has the bits that it has alone. */
static void empty_class_among_others(void **state) {
    (void)state;
    enum { N = 18, C = 3 };
    static const float little[] = {0, 1e-38F, 1e-32F};
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    int same = 1;
    for (size_t m = 2; m <= 20; m += 3)
        for (size_t at = 0; at < N; at++) {
            float *data = ref_alloc(N * m * C, sizeof *data);
            for (size_t i = 0; i < N * m; i++) {
                float first = i / m == at ? little[(i + at) % 3] : i % m == 1 ? 1e-20F : 0.5F;
                data[i * C] = first;
                data[i * C + 1] = (1 - first) * 0.75F;
                data[i * C + 2] = 1 - first - data[i * C + 1];
            }
            vg_predictions view = vg_predictions_f32(data, N, m, C);
            vg_scores block = scores_new(shape_of(&view, &options));
            assert_int_equal(vg_score(&block, NULL, &view, &options), VG_OK);
            for (size_t n = 0; n < N; n++) {
                vg_predictions one = rows_from(&view, n, 1);
                vg_scores alone = scores_new(shape_of(&one, &options));
                vg_scores here = places_from(&block, shape_of(&view, &options), N, n);
                assert_int_equal(vg_score(&alone, NULL, &one, &options), VG_OK);
                same &= same_scores("an empty class", &alone, &here, shape_of(&one, &options));
                scores_free(&alone);
            }
            scores_free(&block);
            free(data);
        }
    assert_true(same);
}

static int suite(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads),          cmocka_unit_test(blocks),       cmocka_unit_test(strides),
        cmocka_unit_test(stride_zero),      cmocka_unit_test(narrow_types), cmocka_unit_test(alone),
        cmocka_unit_test(summary_of_parts), cmocka_unit_test(chunks),       cmocka_unit_test(summary_of_many),
        cmocka_unit_test(empty_class_among_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_in_every_tier(suite); }
