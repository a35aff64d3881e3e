/* test_measures_errors.c - what the measures refuse, and how: the status, one line of text, the first bad (n, m) by
 * name, the same at any thread count and in any cut into blocks; and what they must not refuse. In every SIMD tier. */
#include "base/base.h"
#include "measures_util.h"
#include "tree_nodes.h"

enum { N = 2100, M = 5, C = 6 };

static double tu_room[N], gtu_room[3 * N], gmu_room[N];

static vg_scores places(void) { return (vg_scores){.tu = tu_room, .gtu = gtu_room, .gmu = gmu_room}; }

static void one_line(void) {
    const char *text = vg_error_message();
    assert_true(strlen(text) > 10);
    assert_null(strchr(text, '\n'));
}

static vg_status score(const vg_predictions *view, const vg_score_options *o) {
    vg_scores out = places();
    vg_score_summary summary;
    return vg_score(&out, &summary, view, o);
}

static void refused(vg_status want, const vg_predictions *view, const vg_score_options *o, const char *what) {
    vg_status got = score(view, o);
    if (got != want)
        fail_msg("%s: status %d, expected %d", what, (int)got, (int)want);
    one_line();
}

/* --- arguments */

static const float good[] = {0.5f, 0.5f, 0.25f, 0.75f, 1, 0, 0.125f, 0.875f}; /* N 2, M 2, C 2 */

static void bad_k(void **state) {
    (void)state;
    static const double bad[] = {0, -1, -0.0, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t at = 0; at < 3; at++) {
            double k[3] = {1, 2, 3};
            vg_score_options o = VG_SCORE_OPTIONS_INIT;
            vg_predictions view = vg_predictions_f32(good, 2, 2, 2);
            vg_scorer *scorer = NULL;
            k[at] = bad[i];
            o.k = k;
            o.k_count = 3;
            refused(VG_ERR_ARGUMENT, &view, &o, "k");
            assert_int_equal(vg_scorer_new(&scorer, 2, 2, &o), VG_ERR_ARGUMENT);
            assert_null(scorer);
        }
}

static void bad_class_k(void **state) {
    (void)state;
    static const double bad[] = {0, -1, NAN, INFINITY, 2e6};
    vg_predictions view = vg_predictions_f32(good, 2, 2, 2);
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    double class_k[3] = {1, 1, 1};
    o.class_k = class_k;
    o.class_k_count = 3;
    refused(VG_ERR_ARGUMENT, &view, &o, "a k for three of two classes");
    o.class_k_count = 2;
    assert_int_equal(score(&view, &o), VG_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        class_k[1] = bad[i];
        refused(VG_ERR_ARGUMENT, &view, &o, "k of a class");
    }
}

static void bad_shapes(void **state) {
    (void)state;
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    vg_predictions one_class = vg_predictions_f32(good, 2, 2, 1), no_members = vg_predictions_f32(good, 2, 0, 2);
    vg_predictions no_classes = vg_predictions_f32(good, 2, 2, 0), nothing = vg_predictions_f32(NULL, 2, 2, 2);
    vg_predictions odd_type = vg_predictions_f32(good, 2, 2, 2);
    odd_type.dtype = (vg_dtype)99;
    refused(VG_ERR_ARGUMENT, &one_class, &o, "C = 1");
    refused(VG_ERR_ARGUMENT, &no_members, &o, "M = 0");
    refused(VG_ERR_ARGUMENT, &no_classes, &o, "C = 0");
    refused(VG_ERR_ARGUMENT, &nothing, &o, "NULL data");
    refused(VG_ERR_ARGUMENT, &odd_type, &o, "dtype");
    o.task = VG_TASK_MULTILABEL;
    refused(VG_ERR_ARGUMENT, &no_classes, &o, "C = 0 labels");
    refused(VG_ERR_ARGUMENT, &no_members, &o, "M = 0 labels");
    assert_int_equal(score(&one_class, &o), VG_OK); /* one label is a problem */
}

static void bad_options(void **state) {
    (void)state;
    static const double t[] = {1, 2, 3}, zero = 0, negative = -2, nan = NAN, infinite = INFINITY;
    static const double *const bad[] = {&zero, &negative, &nan, &infinite};
    const vg_score_options usual = VG_SCORE_OPTIONS_INIT;
    vg_predictions view = vg_predictions_f32(good, 2, 2, 2);
    vg_score_options o = usual;
    o.struct_size = sizeof o + 8;
    refused(VG_ERR_ARGUMENT, &view, &o, "struct_size");
    o.struct_size = 0;
    refused(VG_ERR_ARGUMENT, &view, &o, "struct_size 0");
    o = usual;
    o.logits = 1;
    for (int i = 0; i < 4; i++) {
        o.temperature = bad[i];
        o.temperature_count = 1;
        refused(VG_ERR_ARGUMENT, &view, &o, "temperature");
    }
    double mixed[] = {1, 0};
    o.temperature = mixed;
    o.temperature_count = 2;
    refused(VG_ERR_ARGUMENT, &view, &o, "second temperature");
    o.temperature = t;
    o.temperature_count = 3;
    refused(VG_ERR_ARGUMENT, &view, &o, "3 temperatures for 2 members");
    o.temperature_count = 2;
    assert_int_equal(score(&view, &o), VG_OK);
    o = usual;
    o.eps = -1;
    refused(VG_ERR_ARGUMENT, &view, &o, "eps");
    o.eps = NAN;
    refused(VG_ERR_ARGUMENT, &view, &o, "eps NaN");
    o = usual;
    o.floor = -1;
    refused(VG_ERR_ARGUMENT, &view, &o, "floor");
    o.floor = NAN;
    refused(VG_ERR_ARGUMENT, &view, &o, "floor NaN");
    o = usual;
    o.task = (vg_task)9;
    refused(VG_ERR_ARGUMENT, &view, &o, "task");
    o = usual;
    o.floor_form = (vg_floor)9;
    refused(VG_ERR_ARGUMENT, &view, &o, "floor form");
}

/* Blocks must have the scorer's M and C. */
static void bad_block(void **state) {
    (void)state;
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    vg_scorer *scorer;
    vg_scores out = places();
    vg_predictions view = vg_predictions_f32(good, 1, 4, 2), right = vg_predictions_f32(good, 2, 2, 2);
    assert_int_equal(vg_scorer_new(&scorer, 2, 2, &o), VG_OK);
    assert_int_equal(vg_scorer_feed(scorer, &out, &view, NULL), VG_ERR_ARGUMENT);
    one_line();
    view = vg_predictions_f32(good, 1, 2, 4);
    assert_int_equal(vg_scorer_feed(scorer, &out, &view, NULL), VG_ERR_ARGUMENT);
    assert_int_equal(vg_scorer_feed(scorer, &out, &right, NULL), VG_OK);
    vg_scorer_free(scorer);
}

/* No samples: nothing to write, nothing wrong. */
static void no_samples(void **state) {
    (void)state;
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    vg_predictions view = vg_predictions_f32(good, 0, 2, 2), null = vg_predictions_f32(NULL, 0, 2, 2);
    vg_scores out = places();
    vg_score_summary summary = {.samples = 9};
    tu_room[0] = -77;
    assert_int_equal(vg_score(&out, &summary, &view, &o), VG_OK);
    assert_int_equal(summary.samples, 0);
    assert_true(tu_room[0] == -77);
    assert_int_equal(vg_score(&out, &summary, &null, &o), VG_OK);
}

/* --- data */

static float *uniform_rows(void) {
    float *data = ref_alloc((size_t)N * M * C, sizeof *data);
    for (size_t i = 0; i < (size_t)N * M * C; i++)
        data[i] = i % C == 0 ? 0.375f : 0.125f;
    return data;
}

/* The message has n and m as whole numbers, in this order. */
static int names(const char *text, size_t n, size_t m) {
    size_t seen = 0, wanted[2] = {n, m};
    while (*text && seen < 2) {
        if (*text >= '0' && *text <= '9') {
            char *end;
            seen += strtoul(text, &end, 10) == wanted[seen];
            text = end;
        } else {
            text++;
        }
    }
    return seen == 2;
}

/* Each kind of bad element, alone and followed by later ones, at 1, 2 and 7 threads and in blocks. */
static void bad_rows(void **state) {
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY, -0.25f, 0.9f, 2.0f};
    static const size_t at_n[] = {0, 1, 7, 63, 64, 500, 1999, N - 1}, at_m[] = {0, 4, 2, 1, 3, 2, 0, 4};
    float *data = uniform_rows();
    vg_predictions view = vg_predictions_f32(data, N, M, C);
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++)
        for (size_t i = 0; i < sizeof at_n / sizeof *at_n; i++) {
            size_t place = (at_n[i] * M + at_m[i]) * C + (b + i) % C,
                   later = N - 1 - at_n[i] ? at_n[i] + (N - at_n[i]) / 2 : at_n[i];
            float before = data[place], behind = data[later * M * C];
            data[place] = bad[b];
            if (later > at_n[i])
                data[later * M * C] = NAN;
            char first[512] = "";
            for (unsigned threads = 1; threads <= 7; threads = threads == 1 ? 2 : threads == 2 ? 7 : 8) {
                vg_score_options o = VG_SCORE_OPTIONS_INIT;
                o.threads = threads;
                refused(VG_ERR_DATA, &view, &o, "bad row");
                if (!names(vg_error_message(), at_n[i], at_m[i]))
                    fail_msg("%g at n %zu m %zu, but: %s", (double)bad[b], at_n[i], at_m[i], vg_error_message());
                if (threads == 1)
                    snprintf(first, sizeof first, "%s", vg_error_message());
                assert_string_equal(first, vg_error_message());
            }
            data[place] = before;
            data[later * M * C] = behind;
        }
    free(data);
}

/* Samples are counted from the first block's first. */
static void bad_row_in_a_later_block(void **state) {
    (void)state;
    float *data = uniform_rows();
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    vg_scorer *scorer;
    vg_scores out = places();
    data[(1234 * M + 3) * C + 2] = NAN;
    assert_int_equal(vg_scorer_new(&scorer, M, C, &o), VG_OK);
    for (size_t first = 0; first < N; first += 100) {
        vg_predictions block = vg_predictions_f32(data + first * M * C, 100, M, C);
        vg_status status = vg_scorer_feed(scorer, &out, &block, NULL);
        assert_int_equal(status, first == 1200 ? VG_ERR_DATA : VG_OK);
        if (first == 1200) {
            assert_true(names(vg_error_message(), 1234, 3));
            break;
        }
    }
    vg_scorer_free(scorer);
    free(data);
}

static vg_status score_row(const double *row, size_t c, const vg_score_options *o, vg_dtype dtype) {
    float narrow[8];
    for (size_t i = 0; i < c; i++)
        narrow[i] = (float)row[i];
    vg_predictions view = dtype == VG_F32 ? vg_predictions_f32(narrow, 1, 1, c) : vg_predictions_f64(row, 1, 1, c);
    return score(&view, o);
}

/* What counts as a distribution: sums within 1e-3 of 1, no more. Renormalising takes any positive sum, but no bad
 * element. */
static void row_rules(void **state) {
    (void)state;
    static const double near_low[] = {0.4995, 0.4998}, near_high[] = {0.5, 0.5007}, low[] = {0.4995, 0.499},
                        high[] = {0.5, 0.502};
    static const double zero[] = {0, 0}, large[] = {300, 1e6}, negative[] = {1.5, -0.5}, nan[] = {NAN, 1},
                        infinite[] = {INFINITY, 1};
    static const double tiny[] = {-1e-9, 1};
    for (int d = 0; d < 2; d++) {
        vg_dtype dtype = d ? VG_F64 : VG_F32;
        vg_score_options o = VG_SCORE_OPTIONS_INIT, r = VG_SCORE_OPTIONS_INIT;
        r.renormalise = 1;
        assert_int_equal(score_row(near_low, 2, &o, dtype), VG_OK);
        assert_int_equal(score_row(near_high, 2, &o, dtype), VG_OK);
        assert_int_equal(score_row(low, 2, &o, dtype), VG_ERR_DATA);
        assert_int_equal(score_row(high, 2, &o, dtype), VG_ERR_DATA);
        assert_int_equal(score_row(zero, 2, &o, dtype), VG_ERR_DATA);
        assert_int_equal(score_row(negative, 2, &o, dtype), VG_ERR_DATA);
        assert_int_equal(score_row(tiny, 2, &o, dtype), VG_ERR_DATA);
        assert_int_equal(score_row(low, 2, &r, dtype), VG_OK);
        assert_int_equal(score_row(large, 2, &r, dtype), VG_OK);
        assert_int_equal(score_row(zero, 2, &r, dtype), VG_ERR_DATA);
        assert_int_equal(score_row(negative, 2, &r, dtype), VG_ERR_DATA);
        assert_int_equal(score_row(nan, 2, &r, dtype), VG_ERR_DATA);
        assert_int_equal(score_row(infinite, 2, &r, dtype), VG_ERR_DATA);
        o.logits = 1;
        assert_int_equal(score_row(large, 2, &o, dtype), VG_OK);
        assert_int_equal(score_row(negative, 2, &o, dtype), VG_OK);
        assert_int_equal(score_row(nan, 2, &o, dtype), VG_ERR_DATA);
        assert_int_equal(score_row(infinite, 2, &o, dtype), VG_ERR_DATA);
        one_line();
    }
}

/* A label's probability must lie in 0 .. 1. */
static void label_rules(void **state) {
    (void)state;
    static const double fine[] = {0, 1, 0.3, 1}, over[] = {0.2, 1.01, 0.3, 1}, under[] = {0.2, 0.1, -0.01, 1},
                        nan[] = {0.2, 0.1, 1, NAN};
    for (int d = 0; d < 2; d++) {
        vg_score_options o = VG_SCORE_OPTIONS_INIT;
        o.task = VG_TASK_MULTILABEL;
        assert_int_equal(score_row(fine, 4, &o, d ? VG_F64 : VG_F32), VG_OK);
        assert_int_equal(score_row(over, 4, &o, d ? VG_F64 : VG_F32), VG_ERR_DATA);
        assert_int_equal(score_row(under, 4, &o, d ? VG_F64 : VG_F32), VG_ERR_DATA);
        assert_int_equal(score_row(nan, 4, &o, d ? VG_F64 : VG_F32), VG_ERR_DATA);
        one_line();
    }
}

/* --- progress
 * --------------------------------------------------------------------------------------------------------------------
 * */

static int stop(void *context, unsigned long long done, unsigned long long total) {
    ++*(int *)context;
    return done <= total || total == 0; /* non-zero: stop */
}

static void progress_can_stop(void **state) {
    (void)state;
    int calls = 0;
    float *data = uniform_rows();
    vg_predictions view = vg_predictions_f32(data, N, M, C);
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    o.progress = stop;
    o.progress_context = &calls;
    vg_status status = score(&view, &o);
    assert_true(calls > 0 ? status == VG_ERR_INTERRUPTED
                          : status == VG_OK); /* a short call may end before it reports */
    free(data);
}

typedef struct second_caller { /* calls the scorer while a call is inside it, as another thread would */
    vg_scorer *scorer;
    const vg_predictions *block;
    vg_status feed, summary, save;
} second_caller;

static int call_again(void *context, unsigned long long done, unsigned long long total) {
    (void)done;
    (void)total;
    second_caller *again = context;
    vg_scores out = places();
    vg_score_summary summary;
    vg_scorer_state state;
    again->feed = vg_scorer_feed(again->scorer, &out, again->block, NULL);
    again->summary = vg_scorer_summary(again->scorer, &summary);
    again->save = vg_scorer_save(again->scorer, &state);
    return 0;
}

static void a_second_caller_is_refused(void **state) {
    (void)state;
    float *data = uniform_rows();
    vg_predictions view = vg_predictions_f32(data, 100, M, C);
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    second_caller again = {.block = &view};
    vg_score_summary summary;
    vg_scores out = places();
    o.progress = call_again;
    o.progress_context = &again;
    assert_int_equal(vg_scorer_new(&again.scorer, M, C, &o), VG_OK);
    assert_int_equal(vg_scorer_feed(again.scorer, &out, &view, NULL), VG_OK);
    assert_int_equal(again.feed, VG_ERR_ARGUMENT);
    assert_int_equal(again.summary, VG_ERR_ARGUMENT);
    assert_int_equal(again.save, VG_ERR_ARGUMENT);
    one_line();
    assert_int_equal(vg_scorer_summary(again.scorer, &summary), VG_OK);
    assert_int_equal(summary.samples, 100);
    vg_scorer_free(again.scorer);
    free(data);
}

/* A scorer that takes over another's sums ends at the same bits. */
static void sums_move_to_another_scorer(void **state) {
    (void)state;
    float *data = uniform_rows();
    for (size_t i = 0; i < N * M; i++) { /* distributions that differ; in every third sample so much as to abstain */
        float by = i / M % 3 == 0 ? -0.25f * (float)(i % 2) : 0.1f * (float)(i % 7) / 7 / C;
        data[i * C] += by;
        data[i * C + 1] -= by;
    }
    vg_predictions whole = vg_predictions_f32(data, N, M, C), first = vg_predictions_f32(data, 300, M, C),
                   rest = vg_predictions_f32(data + 300 * M * C, N - 300, M, C);
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    vg_scorer *a, *b;
    vg_scores out = places();
    vg_scorer_state held;
    vg_score_summary expected, found;
    assert_int_equal(vg_score(&out, &expected, &whole, &o), VG_OK);
    assert_int_equal(vg_scorer_new(&a, M, C, &o), VG_OK);
    assert_int_equal(vg_scorer_new(&b, M, C, &o), VG_OK);
    assert_int_equal(vg_scorer_feed(a, &out, &first, NULL), VG_OK);
    assert_int_equal(vg_scorer_save(a, &held), VG_OK);
    assert_int_equal(vg_scorer_restore(b, &held), VG_OK);
    assert_int_equal(vg_scorer_feed(b, &out, &rest, NULL), VG_OK);
    assert_int_equal(vg_scorer_summary(b, &found), VG_OK);
    assert_true(expected.diversity > 0 && expected.abstained > 0 && expected.abstained < 1);
    assert_memory_equal(&found, &expected, sizeof found);
    held.struct_size--;
    assert_int_equal(vg_scorer_restore(b, &held), VG_ERR_ARGUMENT);
    vg_scorer_free(a);
    vg_scorer_free(b);
    free(data);
}

static void probabilities_are_told_from_logits(void **state) {
    (void)state;
    float *data = uniform_rows();
    vg_predictions view = vg_predictions_f32(data, N, M, C), none = vg_predictions_f32(data, 0, M, C);
    assert_int_equal(vg_predictions_normalised(&view), 1);
    assert_int_equal(vg_predictions_normalised(&none), 0);
    data[0] += 0.5f;
    assert_int_equal(vg_predictions_normalised(&view), 0);
    data[0] = -data[1];
    data[1] *= 3; /* sums to 1, with a negative */
    assert_int_equal(vg_predictions_normalised(&view), 0);
    data[0] = NAN;
    assert_int_equal(vg_predictions_normalised(&view), 0);
    free(data);
}

/* Rows so long that they are read in blocks: a negative value is found wherever it lies, though the sum is 1. */
static void long_rows(void **state) {
    (void)state;
    enum { N2 = 2, M2 = 48, C2 = 4096, ALL = N2 * M2 * C2 };
    static float single[ALL];
    static double data[ALL];
    static const size_t places[] = {0, 900, 1800, 2700, 3600, C2 - 2};
    double tu[N2];
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_scores out = {.tu = tu};
    vg_predictions views[] = {vg_predictions_f32(single, N2, M2, C2), vg_predictions_f64(data, N2, M2, C2)};
    for (size_t i = 0; i < ALL; i++)
        single[i] = (float)(data[i] = 1.0 / C2);
    for (size_t i = 0; i < 2 * sizeof places / sizeof *places; i++)
        for (size_t m = 0; m < N2 * M2; m += M2 - 1) { /* of the first sample, and of the second */
            const vg_predictions *view = &views[i % 2];
            size_t at = m * C2 + places[i / 2];
            assert_int_equal(vg_score(&out, NULL, view, &options), VG_OK);
            single[at] = (float)(data[at] = -1.0 / C2), single[at + 1] = (float)(data[at + 1] = 3.0 / C2);
            assert_int_equal(vg_score(&out, NULL, view, &options), VG_ERR_DATA);
            assert_non_null(strstr(vg_error_message(), "a probability is negative"));
            single[at] = single[at + 1] = (float)(data[at] = data[at + 1] = 1.0 / C2);
        }
}

static void trees_are_walked(void **state) {
    (void)state;
    node nodes[] = {{1, 2, 1, 0.5, 1}, {-1, -1, -2, -2, 0}, {3, 4, 0, -1, 0}, {-1, -1, -2, -2, 0}, {-1, -1, -2, -2, 0}};
    const double value[] = {0, 0, 0.1, 0.9, 0, 0, 0.2, 0.8, 0.3, 0.7};
    static const float x[10][2] = {{0, 0.5f}, {-1, 0.6f}, {-0.9f, 1}, {0, NAN}, {NAN, 1},
                                   {0, 0},    {-2, 1},    {2, 1},     {3, -1},  {-1, 9}};
    static const double first[10] = {0.1, 0.2, 0.3, 0.1, 0.3, 0.1, 0.2, 0.3, 0.1, 0.2};
    uint32_t leaves[2][10];
    double out[2][10][2], some[2][3][2];
    vg_tree trees[2] = {tree_of(nodes, 5, value, 2),
                        tree_of(nodes + 3, 1, value + 6, 2)}; /* the second is a leaf alone */
    assert_int_equal(vg_trees_check(trees, 2, 2), VG_OK);
    vg_trees_leaves(&leaves[0][0], trees, 2, &x[0][0], 10, 2); /* eight at once, and two one by one */
    vg_trees_values(&out[0][0][0], trees, 2, &leaves[0][0], 10, 10, 2);
    for (size_t i = 0; i < 10; i++) {
        assert_true(out[0][i][0] == first[i] && out[1][i][0] == 0.2 && out[1][i][1] == 0.8);
        assert_true(out[0][i][1] == (first[i] == 0.1 ? 0.9 : first[i] == 0.2 ? 0.8 : 0.7));
    }
    float again[30][2];
    uint32_t more[2][30];
    for (size_t i = 0; i < 30; i++)
        memcpy(again[i], x[i % 10], sizeof again[i]);
    vg_trees_leaves(&more[0][0], trees, 2, &again[0][0], 30, 2); /* three times eight, and six */
    for (size_t i = 0; i < 30; i++)
        assert_true(more[0][i] == leaves[0][i % 10] && more[1][i] == leaves[1][i % 10]);
    vg_trees_values(&some[0][0][0], trees, 2, &leaves[0][4], 10, 3, 2); /* samples 4 to 6 */
    for (size_t m = 0; m < 2; m++)
        assert_memory_equal(some[m], out[m][4], sizeof some[m]);
    assert_int_equal(vg_trees_check(trees, 2, 1), VG_ERR_DATA); /* feature 1 of 1 */
    one_line();
    nodes[2].right = 5; /* no such node */
    assert_int_equal(vg_trees_check(trees, 2, 2), VG_ERR_DATA);
    nodes[2].right = 0; /* a circle */
    assert_int_equal(vg_trees_check(trees, 2, 2), VG_ERR_DATA);
    one_line();
}

/* A build or machine without a GPU refuses it by name, and takes the CPU where it may choose. Where there is one, the
 * scorer names it. */
static void devices(void **state) {
    (void)state;
    static const double p[2][2][2] = {{{.5, .5}, {.25, .75}}, {{.9, .1}, {.9, .1}}};
    vg_predictions view = vg_predictions_f64(&p[0][0][0], 2, 2, 2);
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    vg_scorer_feed_options feed = VG_SCORER_FEED_OPTIONS_INIT;
    vg_scorer *scorer;
    double tu[2];
    vg_scores out = {.tu = tu};
    o.device = VG_SCORE_ON_CUDA;
    vg_status status = vg_scorer_new(&scorer, 2, 2, &o);
    if (status == VG_OK)
        assert_string_not_equal(vg_scorer_device(scorer), "cpu");
    else {
        assert_int_equal(status, VG_ERR_UNSUPPORTED);
        assert_non_null(strstr(vg_error_message(), "no CUDA device: "));
        o.device = VG_SCORE_ON_AUTO;
        assert_int_equal(vg_scorer_new(&scorer, 2, 2, &o), VG_OK);
        assert_string_equal(vg_scorer_device(scorer), "cpu");
    }
    assert_int_equal(vg_scorer_feed(scorer, &out, &view, &feed), VG_OK);
    vg_scorer_free(scorer);
    o.device = (vg_score_device)3;
    assert_int_equal(vg_scorer_new(&scorer, 2, 2, &o), VG_ERR_ARGUMENT);
    o.device = VG_SCORE_ON_CPU;
    assert_int_equal(vg_scorer_new(&scorer, 2, 2, &o), VG_OK);
    feed.predictions = VG_MEMORY_DEVICE;
    assert_int_equal(vg_scorer_feed(scorer, &out, &view, &feed), VG_ERR_ARGUMENT);
    feed.struct_size = 4;
    assert_int_equal(vg_scorer_feed(scorer, &out, &view, &feed), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "vg_scorer_feed_options.struct_size"));
    vg_scorer_free(scorer);
}

static int suite(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_k),
        cmocka_unit_test(bad_class_k),
        cmocka_unit_test(bad_shapes),
        cmocka_unit_test(bad_options),
        cmocka_unit_test(bad_block),
        cmocka_unit_test(no_samples),
        cmocka_unit_test(bad_rows),
        cmocka_unit_test(row_rules),
        cmocka_unit_test(label_rules),
        cmocka_unit_test(bad_row_in_a_later_block),
        cmocka_unit_test(progress_can_stop),
        cmocka_unit_test(a_second_caller_is_refused),
        cmocka_unit_test(sums_move_to_another_scorer),
        cmocka_unit_test(probabilities_are_told_from_logits),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(trees_are_walked),
        cmocka_unit_test(devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_in_every_tier(suite); }
