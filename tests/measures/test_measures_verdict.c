/* test_measures_verdict.c - the verdict on an ensemble: its figures against plain loops, and the same verdict whatever
 * k, M, measures, preset, number of classes, blocks and threads. */
#include "measures/kernel.h"
#include "measures/measure_table.h"
#include "measures_util.h"
#include "vargate/formats.h"

/* Logits of an ensemble: of each sample `base` x normal shared by the members, plus `noise` x normal of a member's own.
 * */
static float *make_logits(size_t n, size_t m, size_t c, double base, double noise) {
    float *z = ref_alloc(n * m * c, sizeof *z);
    double *common = ref_alloc(c, sizeof *common);
    rng_state = 77;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < c; j++)
            common[j] = base * rng_normal();
        for (size_t j = 0; j < m * c; j++)
            z[i * m * c + j] = (float)(common[j % c] + noise * rng_normal());
    }
    free(common);
    return z;
}

/* The summary of logits with nothing but GMU asked for. */
static vg_score_summary summarise(const vg_predictions *view, const vg_score_options *changed) {
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    if (changed)
        options = *changed;
    else
        options.logits = 1;
    size_t units = view->n * (options.task == VG_TASK_MULTICLASS ? 1 : view->c);
    vg_scores out = {.gmu = ref_alloc(units, sizeof(double))};
    vg_score_summary summary;
    assert_int_equal(vg_score(&out, &summary, view, &options), VG_OK);
    free(out.gmu);
    return summary;
}

static vg_verdict judge(const vg_score_summary *summary, unsigned long long correct, unsigned long long labelled) {
    vg_verdict verdict = VG_VERDICT_INIT;
    assert_int_equal(vg_verdict_judge(&verdict, summary, correct, labelled), VG_OK);
    assert_string_equal(verdict.name, vg_verdict__name(verdict.state));
    assert_true(strlen(verdict.text) > 20 && strlen(verdict.text) < VG_VERDICT_TEXT - 1);
    return verdict;
}

static vg_verdict judge_made(size_t n, size_t m, size_t c, double base, double noise) {
    float *z = make_logits(n, m, c, base, noise);
    vg_predictions view = vg_predictions_f32(z, n, m, c);
    vg_score_summary summary = summarise(&view, NULL);
    free(z);
    return judge(&summary, 0, 0);
}

/* --- the figures -------------------------------------------------------------------------------------------------- */
/* Share, disagreement and abstention of probabilities p[n][m][c] by their definitions. */
static void plain_figures(double out[3], const double *p, size_t n, size_t m, size_t c) {
    double between = 0, within = 0, differ = 0, abstained = 0, M = (double)m;
    for (size_t i = 0; i < n; i++, p += m * c) {
        double mu1 = -1, mu2 = -1, s1 = 0, s2 = 0;
        for (size_t j = 0; j < c; j++) {
            double mean = 0, square = 0;
            for (size_t k = 0; k < m; k++)
                mean += p[k * c + j] / M;
            for (size_t k = 0; k < m; k++) {
                square += (p[k * c + j] - mean) * (p[k * c + j] - mean);
                within += p[k * c + j] * (1 - p[k * c + j]) / M;
            }
            between += square / (M - 1);
            if (mean > mu1) {
                mu2 = mu1, s2 = s1;
                mu1 = mean, s1 = sqrt(square / M);
            } else if (mean > mu2) {
                mu2 = mean, s2 = sqrt(square / M);
            }
        }
        abstained += !(mu1 - s1 > mu2 + s2);
        for (size_t a = 0; a < m; a++)
            for (size_t b = 0; b < a; b++) {
                size_t top[2] = {0, 0};
                for (size_t j = 1; j < c; j++) {
                    top[0] = p[a * c + j] > p[a * c + top[0]] ? j : top[0];
                    top[1] = p[b * c + j] > p[b * c + top[1]] ? j : top[1];
                }
                differ += (top[0] != top[1]) / (0.5 * M * (M - 1));
            }
    }
    out[0] = between / (between + within);
    out[1] = differ / (double)n;
    out[2] = abstained / (double)n;
}

static void figures_are_those_of_the_definitions(void **state) {
    (void)state;
    static const size_t shapes[][3] = {{120, 2, 10}, {100, 7, 3}, {40, 9, 41}, {100, 3, 2}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        size_t n = shapes[s][0], m = shapes[s][1], c = shapes[s][2];
        float *z = make_logits(n, m, c, 2, 0.7);
        double *p = ref_alloc(n * m * c, sizeof *p), expected[3];
        for (size_t r = 0; r < n * m; r++) {
            double sum = 0;
            for (size_t j = 0; j < c; j++)
                sum += p[r * c + j] = exp((double)z[r * c + j]);
            for (size_t j = 0; j < c; j++)
                p[r * c + j] /= sum;
        }
        plain_figures(expected, p, n, m, c);
        vg_predictions logits = vg_predictions_f32(z, n, m, c), plain = vg_predictions_f64(p, n, m, c);
        /* the same with axes M, N, C, and classes backwards through a negative stride */
        double *turned = ref_alloc(n * m * c, sizeof *turned);
        for (size_t i = 0; i < n * m * c; i++)
            turned[((i / c % m) * n + i / (m * c)) * c + (c - 1 - i % c)] = p[i];
        vg_predictions other = {turned + c - 1, VG_F64, n, m, c, (ptrdiff_t)c, (ptrdiff_t)(n * c), -1};
        vg_score_options probabilities = VG_SCORE_OPTIONS_INIT;
        vg_score_summary found[] = {summarise(&logits, NULL), summarise(&plain, &probabilities),
                                    summarise(&other, &probabilities)};
        for (size_t i = 0; i < 3; i++) {
            vg_verdict v = judge(&found[i], 0, 0);
            assert_true(fabs(v.share - expected[0]) < 1e-6);
            assert_true(fabs(v.disagreement - expected[1]) < 1e-12);
            assert_true(fabs(v.abstained - expected[2]) < 1e-12);
            assert_true(fabs(v.class_variance - (double)c * v.diversity) < 1e-12);
        }
        free(z), free(p), free(turned);
    }
}

static void half_precision_orders_as_numbers(void **state) {
    (void)state;
    /* float16 bits of three members' logits: -2 -1, -1 -2, -0 +0 (a tie: class 0); and the same pattern in bfloat16 */
    static const uint16_t half[] = {0xc000, 0xbc00, 0xbc00, 0xc000, 0x8000, 0x0000};
    static const uint16_t bfloat[] = {0xc000, 0xbf80, 0xbf80, 0xc000, 0x8000, 0x0000};
    vg_predictions view = {half, VG_F16, 1, 3, 2, 6, 2, 1};
    assert_true(fabs(summarise(&view, NULL).disagreement - 2.0 / 3) < 1e-15); /* 1 | 0 | 0 */
    view.data = bfloat;
    view.dtype = VG_BF16;
    assert_true(fabs(summarise(&view, NULL).disagreement - 2.0 / 3) < 1e-15);
}

static void labels_are_two_outcomes(void **state) {
    (void)state;
    /* one sample, two labels, four members: 3 of 4 say yes to the first, all say no to the second */
    static const double u[] = {0.9, 0.1, 0.8, 0.2, 0.7, 0.1, 0.3, 0.2};
    vg_predictions view = vg_predictions_f64(u, 1, 4, 2);
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    options.task = VG_TASK_MULTILABEL;
    vg_score_summary s = summarise(&view, &options);
    assert_int_equal(s.outcomes, 2);
    assert_true(fabs(s.disagreement - 0.5 * (3.0 / 6)) < 1e-15); /* 3 of 6 pairs, and none */
    double v1 = (0.225 * 0.225 + 0.125 * 0.125 + 0.025 * 0.025 + 0.375 * 0.375) / 4, v2 = 0.0025;
    assert_true(fabs(s.member_variance - (v1 + v2) / 2) < 1e-15);
    assert_true(fabs(s.total_variance - (0.675 * 0.325 + 0.15 * 0.85) / 2) < 1e-15);
    /* u = .675, sigma = .2278: .675 - .228 > .325 + .228 does not hold; .85 - .05 > .15 + .05 does */
    assert_true(fabs(s.abstained - 0.5) < 1e-15);
}

/* --- one verdict -------------------------------------------------------------------------------------------------- */
static void same_figures(const vg_verdict *a, const vg_verdict *b) {
    assert_int_equal(a->state, b->state);
    assert_true(a->share == b->share && a->disagreement == b->disagreement && a->abstained == b->abstained);
    assert_string_equal(a->text, b->text);
}

static void k_measures_and_presets_do_not_matter(void **state) {
    (void)state;
    static const double one[] = {1, 2, 3}, hundred[] = {100}, small[] = {0.01};
    static const struct {
        double base, noise;
        vg_verdict_state expected;
    } ensembles[] = {{8, 0.01, VG_VERDICT_COLLAPSED},
                     {8, 0.15, VG_VERDICT_LOW},
                     {8, 1, VG_VERDICT_DIVERSE},
                     {0, 0.01, VG_VERDICT_UNDECIDED}};
    for (size_t e = 0; e < 4; e++) {
        float *z = make_logits(400, 20, 10, ensembles[e].base, ensembles[e].noise);
        vg_predictions view = vg_predictions_f32(z, 400, 20, 10);
        vg_score_options options = VG_SCORE_OPTIONS_INIT;
        options.logits = 1;
        vg_score_summary first = summarise(&view, &options);
        vg_verdict expected = judge(&first, 0, 0);
        assert_int_equal(expected.state, ensembles[e].expected);
        const double *gates[] = {one, hundred, small};
        for (size_t g = 0; g < 3; g++) {
            double tu[400], gtu[1200], epjs[400];
            vg_scores out = {.tu = tu, .gtu = gtu, .epjs = epjs};
            vg_score_summary summary;
            options.k = gates[g];
            options.k_count = g == 0 ? 3 : 1;
            assert_int_equal(vg_score(&out, &summary, &view, &options), VG_OK);
            vg_verdict found = judge(&summary, 0, 0);
            same_figures(&found, &expected);
        }
        for (int preset = VG_PRESET_VGE; preset <= VG_PRESET_MLJKU; preset++) {
            vg_score_options other = VG_SCORE_OPTIONS_INIT;
            other.logits = 1;
            assert_int_equal(vg_score_options_preset(&other, (vg_preset)preset), VG_OK);
            vg_score_summary summary = summarise(&view, &other);
            assert_int_equal(judge(&summary, 0, 0).state, expected.state);
        }
        free(z);
    }
}

static void members_do_not_matter(void **state) {
    (void)state;
    static const double ensembles[][2] = {{8, 0.01}, {8, 0.15}, {8, 1}, {3, 0.5}, {0, 0.01}, {0, 0.1}, {0, 2}};
    for (size_t e = 0; e < sizeof ensembles / sizeof *ensembles; e++)
        for (size_t c = 2; c <= 1000; c = c == 2 ? 10 : c * 10) {
            vg_verdict two = judge_made(c < 1000 ? 600 : 200, 2, c, ensembles[e][0], ensembles[e][1]);
            vg_verdict many = judge_made(c < 1000 ? 300 : 60, c < 1000 ? 100 : 30, c, ensembles[e][0], ensembles[e][1]);
            if (two.state != many.state)
                fail_msg("base %g, noise %g, %zu classes: %s at M = 2, %s at M = 100", ensembles[e][0], ensembles[e][1],
                         c, two.text, many.text);
            assert_true(fabs(two.disagreement - many.disagreement) < 0.1);
            assert_non_null(two.state == VG_VERDICT_DIVERSE ? strstr(two.text, "two members") : "");
        }
}

static void near_uniform_members_are_not_collapsed(void **state) {
    (void)state;
    static const double noises[] = {0.001, 0.01, 0.1, 0.5};
    for (size_t i = 0; i < 4; i++)
        for (size_t c = 10; c <= 1000; c *= 10)
            for (size_t m = 2; m <= 32; m *= 4) {
                vg_verdict v = judge_made(200, m, c, 0, noises[i]);
                assert_true(v.disagreement > 0.85);
                assert_int_equal(v.state, VG_VERDICT_UNDECIDED);
                assert_null(strstr(v.text, "copies"));
            }
}

/* Members on which D alone is misleading: certain of a thousand classes, so that C D is small, and still different. */
static void a_thousand_classes(void **state) {
    (void)state;
    assert_int_equal(judge_made(200, 10, 1000, 8, 1).state, VG_VERDICT_DIVERSE);
    assert_int_equal(judge_made(200, 10, 1000, 8, 0.02).state, VG_VERDICT_COLLAPSED);
    vg_verdict accurate = judge_made(400, 10, 1000, 60, 2.5); /* certain of nearly every sample */
    assert_int_equal(accurate.state, VG_VERDICT_DIVERSE);
    assert_true(accurate.diversity < 1e-4);
}

static void labels_have_a_say(void **state) {
    (void)state;
    float *z = make_logits(300, 20, 10, 8, 1);
    vg_predictions view = vg_predictions_f32(z, 300, 20, 10);
    vg_score_summary s = summarise(&view, NULL);
    assert_int_equal(judge(&s, 0, 0).state, VG_VERDICT_DIVERSE);
    assert_int_equal(judge(&s, 280, 300).state, VG_VERDICT_DIVERSE);
    assert_int_equal(judge(&s, 60, 300).state, VG_VERDICT_DIVERSE); /* weak, but better than one in ten */
    vg_verdict wrong = judge(&s, 0, 300), guess = judge(&s, 33, 300);
    assert_int_equal(wrong.state, VG_VERDICT_NO_SKILL);
    assert_non_null(strstr(wrong.text, "right on 0 % where chance is 10 %"));
    assert_int_equal(guess.state, VG_VERDICT_NO_SKILL);
    assert_int_equal(judge(&s, 0, 5).state, VG_VERDICT_DIVERSE); /* five labels prove nothing */
    free(z);
    z = make_logits(300, 20, 10, 8, 0.01);
    view = vg_predictions_f32(z, 300, 20, 10);
    s = summarise(&view, NULL);
    assert_int_equal(judge(&s, 0, 300).state, VG_VERDICT_COLLAPSED);
    assert_non_null(strstr(judge(&s, 0, 300).text, "no better than chance"));
    assert_non_null(strstr(judge(&s, 995, 1000).text, "right on 99.5 %"));
    assert_non_null(strstr(judge(&s, 99997, 100000).text, "right on nearly 100 %"));
    assert_non_null(strstr(judge(&s, 277, 300).text, "right on 92 %, and TU or GMU still rank its errors"));
    free(z);
}

static void one_or_identical_members(void **state) {
    (void)state;
    assert_int_equal(judge_made(50, 1, 5, 2, 1).state, VG_VERDICT_ONE_MEMBER);
    assert_int_equal(judge_made(50, 4, 5, 2, 0).state, VG_VERDICT_IDENTICAL);
    vg_score_summary nothing = {.members = 3,
                                .outcomes = 3,
                                .diversity = NAN,
                                .member_variance = NAN,
                                .total_variance = NAN,
                                .disagreement = NAN,
                                .abstained = NAN};
    assert_int_equal(judge(&nothing, 0, 0).state, VG_VERDICT_UNKNOWN);
    vg_verdict verdict = VG_VERDICT_INIT;
    assert_int_equal(vg_verdict_judge(&verdict, &nothing, 4, 3), VG_ERR_ARGUMENT);
    verdict.struct_size = 8;
    assert_int_equal(vg_verdict_judge(&verdict, &nothing, 0, 0), VG_ERR_ARGUMENT);
    assert_int_equal(vg_verdict_judge(NULL, &nothing, 0, 0), VG_ERR_ARGUMENT);
    assert_string_equal(vg_verdict__name((vg_verdict_state)99), "unknown");
}

/* 300 CIFAR-10 images under dropout and 100 heads; and the same with every head the first one plus a trace of noise. */
static void real_predictions(void **state) {
    (void)state;
    vg_prediction_file *file;
    vg_prediction_options options = VG_PREDICTION_OPTIONS_INIT;
    vg_predictions view;
    assert_int_equal(vg_prediction_file_open(&file, "data/example-predictions.npz", &options), VG_OK);
    assert_int_equal(vg_prediction_file_block(file, 0, 300, &view), VG_OK);
    vg_score_summary s = summarise(&view, NULL);
    vg_verdict v = judge(&s, 284, 300);
    assert_int_equal(v.state, VG_VERDICT_DIVERSE);
    assert_true(fabs(v.share - 0.275) < 0.001 && fabs(v.disagreement - 0.030) < 0.003);
    float *z = ref_alloc(300 * 100 * 10, sizeof *z);
    for (size_t i = 0; i < 300 * 1000; i++)
        z[i] = (float)(vg_measures__value(&view, i / 1000, 0, i % 10) + 0.01 * rng_normal());
    vg_predictions copies = vg_predictions_f32(z, 300, 100, 10);
    s = summarise(&copies, NULL);
    v = judge(&s, 284, 300);
    assert_int_equal(v.state, VG_VERDICT_COLLAPSED);
    assert_true(v.share < 2e-4 && v.disagreement < 0.005);
    free(z);
    vg_prediction_file_close(file);
}

/* --- streams ------------------------------------------------------------------------------------------------------ */
static void blocks_and_threads_do_not_matter(void **state) {
    (void)state;
    size_t n = 5000, m = 6, c = 4;
    float *z = make_logits(n, m, c, 1, 1);
    vg_predictions view = vg_predictions_f32(z, n, m, c);
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    options.logits = 1;
    options.threads = 1;
    vg_score_summary expected = summarise(&view, &options), found;
    for (unsigned threads = 1; threads <= 3; threads++)
        for (size_t step = 1; step < n; step = step * 13 + 1) {
            vg_scorer *scorer;
            double *gmu = ref_alloc(n, sizeof *gmu);
            options.threads = threads;
            assert_int_equal(vg_scorer_new(&scorer, m, c, &options), VG_OK);
            for (size_t first = 0; first < n; first += step) {
                vg_predictions block = vg_predictions_f32(z + first * m * c, first + step < n ? step : n - first, m, c);
                vg_scores out = {.gmu = gmu + first};
                assert_int_equal(vg_scorer_feed(scorer, &out, &block, NULL), VG_OK);
            }
            assert_int_equal(vg_scorer_summary(scorer, &found), VG_OK);
            vg_scorer_free(scorer);
            free(gmu);
            assert_true(found.disagreement == expected.disagreement && found.abstained == expected.abstained);
            assert_true(found.total_variance == expected.total_variance);
            assert_true(found.member_variance == expected.member_variance);
        }
    free(z);
}

/* A long stream counts a part of its samples: close to all of them, also when it is sorted with the agreeing samples
 * first. */
static void thinned_streams_stay_close(void **state) {
    (void)state;
    size_t n = 100000, m = 4, c = 3;
    float *z = ref_alloc(n * m * c, sizeof *z);
    double differ = 0;
    rng_state = 5;
    for (size_t i = 0; i < n; i++) {
        double pairs = 0;
        size_t top[4];
        for (size_t j = 0; j < m; j++) {
            top[j] = i < n / 2 ? 0 : rng_below(c);
            for (size_t k = 0; k < c; k++)
                z[(i * m + j) * c + k] = k == top[j] ? 1.0f : 0.0f;
            for (size_t k = 0; k < j; k++)
                pairs += top[j] != top[k];
        }
        differ += pairs / 6 / (double)n;
    }
    vg_predictions view = vg_predictions_f32(z, n, m, c);
    assert_true(fabs(summarise(&view, NULL).disagreement - differ) < 0.02);
    free(z);
}

static int suite(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_the_definitions),
        cmocka_unit_test(half_precision_orders_as_numbers),
        cmocka_unit_test(labels_are_two_outcomes),
        cmocka_unit_test(k_measures_and_presets_do_not_matter),
        cmocka_unit_test(members_do_not_matter),
        cmocka_unit_test(near_uniform_members_are_not_collapsed),
        cmocka_unit_test(a_thousand_classes),
        cmocka_unit_test(labels_have_a_say),
        cmocka_unit_test(one_or_identical_members),
        cmocka_unit_test(real_predictions),
        cmocka_unit_test(blocks_and_threads_do_not_matter),
        cmocka_unit_test(thinned_streams_stay_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_in_every_tier(suite); }
