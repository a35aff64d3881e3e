/* test_measures_parts.c - the plain parts around the kernels one by one: 16-bit numbers, which members agree,
 * descents of trees against a loop, and verdicts at their thresholds, word by word. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "measures/disagreement.h"
#include "measures/kernel.h"
#include "measures/measure_table.h"
#include "measures/scorer.h"
#include "tree_nodes.h"
#include "vargate/measures.h"

static void near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-13 * (1 + fabs(expected))) && !(isnan(found) && isnan(expected)))
        fail_msg("%.17g, expected %.17g", found, expected);
}

/* --- elements ----------------------------------------------------------------------------------------------------- */
static void halves(void **state) {
    (void)state;
    for (unsigned bits = 0; bits < 65536; bits++) {
        double sign = bits & 0x8000 ? -1 : 1;
        int exponent = bits >> 10 & 31, mantissa = bits & 1023;
        double value = exponent == 31  ? (mantissa ? (double)NAN : sign * (double)INFINITY)
                       : exponent == 0 ? sign * ldexp(mantissa, -24)
                                       : sign * ldexp(1024 + mantissa, exponent - 25);
        float found = vg_measures__half((uint16_t)bits);
        assert_true(isnan(value) ? isnan(found) : (double)found == value && !signbit(found) == !signbit(value));
        int wide = bits >> 7 & 255, rest = bits & 127;
        value = wide == 255 ? (rest ? (double)NAN : sign * (double)INFINITY)
                : wide == 0 ? sign * ldexp(rest, -133)
                            : sign * ldexp(128 + rest, wide - 134);
        found = vg_measures__bfloat((uint16_t)bits);
        assert_true(isnan(value) ? isnan(found) : (double)found == value);
    }
}

static void elements(void **state) {
    (void)state;
    const double d[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const uint16_t h[] = {0x3c00, 0x4000}; /* 1 and 2 as float16; bfloat16 of the first is 2^-7 */
    vg_predictions in = vg_predictions_f64(d, 2, 2, 2);
    near(vg_measures__value(&in, 1, 0, 1), 6);
    near(vg_measures__value(&in, 0, 1, 0), 3);
    in = (vg_predictions){.data = h, .dtype = VG_F16, .n = 1, .m = 1, .c = 2, .stride_c = 1};
    near(vg_measures__value(&in, 0, 0, 1), 2);
    in.dtype = VG_BF16;
    near(vg_measures__value(&in, 0, 0, 0), 0x1p-7);
}

/* Up to 256 rows spread over the array; the sum may be off by 1e-3, a value may be 1.001. */
static void already_distributions(void **state) {
    (void)state;
    double p[] = {.5, .5, .25, .75, 0, 1};
    vg_predictions in = vg_predictions_f64(p, 3, 1, 2);
    assert_int_equal(vg_predictions_normalised(&in), 1);
    p[5] = 1.0009;
    assert_int_equal(vg_predictions_normalised(&in), 1);
    p[5] = 1.0011;
    assert_int_equal(vg_predictions_normalised(&in), 0);
    p[5] = .9991;
    assert_int_equal(vg_predictions_normalised(&in), 1);
    p[5] = .9989;
    assert_int_equal(vg_predictions_normalised(&in), 0);
    p[5] = 1.0015;
    p[4] = -.001;
    assert_int_equal(vg_predictions_normalised(&in), 0);
    p[4] = 0, p[5] = 1;
    in.c = 1;
    assert_int_equal(vg_predictions_normalised(&in), 0);
    in.c = 2;
    in.data = NULL;
    assert_int_equal(vg_predictions_normalised(&in), 0);
    assert_int_equal(vg_predictions_normalised(NULL), 0);
    in.data = p;
    in.dtype = (vg_element)(VG_BF16 + 1);
    assert_int_equal(vg_predictions_normalised(&in), 0);
    static double many[512 * 2]; /* every second row is looked at */
    for (size_t i = 0; i < 512; i++)
        many[2 * i] = many[2 * i + 1] = i % 2 ? 7 : .5;
    in = vg_predictions_f64(many, 256, 2, 2);
    assert_int_equal(vg_predictions_normalised(&in), 1);
    many[2 * 510] = 7;
    assert_int_equal(vg_predictions_normalised(&in), 0);
    in = vg_predictions_f64(many, 128, 2, 2); /* 256 rows: all of them */
    assert_int_equal(vg_predictions_normalised(&in), 0);
}

/* --- agreement ---------------------------------------------------------------------------------------------------- */
enum { MOST_M = 9, MOST_C = 40 };

/* Pairs that name different classes, and members outside the largest group, by counting. */
static void agree_by_hand(double *pairs, double *votes, const double *x, size_t m, size_t c) {
    size_t top[MOST_M], differ = 0, most = 0;
    for (size_t a = 0; a < m; a++) {
        top[a] = 0;
        for (size_t j = 1; j < c; j++)
            top[a] = x[a * c + j] > x[a * c + top[a]] ? j : top[a];
    }
    for (size_t a = 0; a < m; a++) {
        size_t same = 0;
        for (size_t b = 0; b < m; b++) {
            differ += b < a && top[a] != top[b];
            same += top[a] == top[b];
        }
        most = same > most ? same : most;
    }
    *pairs = m < 2 ? 0 : (double)differ / ((double)m * (double)(m - 1) / 2);
    *votes = (double)(m - most) / (double)m;
}

static void members_that_agree(void **state) {
    (void)state;
    vg_random random = vg_random__start(4, 0);
    for (int trial = 0; trial < 400; trial++) {
        size_t m = 1 + vg_random__below(&random, MOST_M), c = 2 + vg_random__below(&random, trial % 2 ? 3 : MOST_C - 1);
        double x[2 * MOST_M * MOST_C];
        float f[2 * MOST_M * MOST_C], turned[2 * MOST_M * MOST_C];
        uint16_t h[2 * MOST_M * MOST_C];
        uint32_t work[MOST_M + MOST_C] = {0};
        for (size_t i = 0; i < 2 * m * c; i++) {
            unsigned level = (unsigned)vg_random__below(&random, 5); /* -2 .. 2: ties, and both zeros */
            static const uint16_t bits[] = {0xc000, 0xbc00, 0x8000, 0x3c00, 0x4000};
            h[i] = level == 2 && vg_random__below(&random, 2) ? 0 : bits[level];
            x[i] = (double)level - 2;
            f[i] = (float)x[i];
        }
        for (size_t n = 0; n < 2; n++)
            for (size_t a = 0; a < m; a++)
                for (size_t j = 0; j < c; j++)
                    turned[(n * c + j) * m + a] = f[(n * m + a) * c + j];
        vg_predictions views[] = {vg_predictions_f64(x, 2, m, c), vg_predictions_f32(f, 2, m, c),
                                  vg_predictions_f32(turned, 2, m, c), vg_predictions_f32(f, 2, m, c)};
        views[2].stride_m = 1;
        views[2].stride_c = (ptrdiff_t)m;
        views[3].data = h;
        views[3].dtype = VG_F16;
        for (size_t n = 0; n < 2; n++)
            for (int v = 0; v < 4; v++) {
                double pairs, votes, found;
                agree_by_hand(&pairs, &votes, x + n * m * c, m, c);
                near(vg_disagreement__sample(&views[v], n, work), pairs);
                vg_disagreement__votes(&found, &views[v], n, 1, work);
                near(found, m < 2 ? 0 : votes);
            }
        size_t above = 0, label = vg_random__below(&random, c);
        for (size_t a = 0; a < m; a++)
            above += x[(m + a) * c + label] > 1;
        double other = (double)(m - above), M = (double)m, yes = (double)above;
        near(vg_disagreement__label(&views[0], 1, label, 1), m < 2 ? 0 : yes * other / (M * (M - 1) / 2));
        near(vg_disagreement__label_votes(&views[0], 1, label, 1), fmin(yes, other) / M);
    }
    uint32_t alone = 1, named[2] = {0};
    near(vg_disagreement__of_tops(&alone, 1, named), 0); /* one member: no pairs */
}

/* All of the first `base` samples, then every second of as many again, every fourth of twice as many, ... */
static void thinned_samples(void **state) {
    (void)state;
    double weight;
    for (unsigned long long i = 0; i < 5000; i++) {
        unsigned long long step = 1, next = i;
        while (next / step >= 128)
            step *= 2;
        while (next % step)
            next++;
        double expected = (double)(next / step >= 128 ? 2 * step : step);
        assert_int_equal(vg_disagreement__next(i, 128, &weight), next);
        near(weight, expected);
    }
    assert_int_equal(vg_disagreement__base(1, 1), 512);
    assert_int_equal(vg_disagreement__base(512, 1), 512);
    assert_int_equal(vg_disagreement__base(513, 1), 256);
    assert_int_equal(vg_disagreement__base(64, 8), 512);
    assert_int_equal(vg_disagreement__base(65, 8), 256);
    assert_int_equal(vg_disagreement__base(128, 8), 256);
    assert_int_equal(vg_disagreement__base(129, 8), 128);
    assert_int_equal(vg_disagreement__base(1 << 20, 1000), 128);
}

static void wide_gates(void **state) {
    (void)state;
    double k[] = {1, 8};
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    assert_false(vg_measures__wide_gates(&o));
    o.class_k = k;
    o.class_k_count = 2;
    assert_false(vg_measures__wide_gates(&o));
    k[1] = 8.0001;
    assert_true(vg_measures__wide_gates(&o));
    k[0] = 9, k[1] = 1;
    assert_true(vg_measures__wide_gates(&o));
    o.class_k_count = 1;
    assert_false(vg_measures__wide_gates(&o));
}

/* --- trees -------------------------------------------------------------------------------------------------------- */
enum { NODES = 31, FEATURES = 3, SAMPLES = 21 };

static void descents(void **state) {
    (void)state;
    vg_random random = vg_random__start(6, 0);
    for (int trial = 0; trial < 20; trial++) {
        node nodes[2][NODES];
        double value[2][NODES * 3], out[2 * SAMPLES * 2];
        float x[SAMPLES * FEATURES];
        uint32_t leaves[2 * SAMPLES];
        vg_tree trees[2];
        for (int t = 0; t < 2; t++) {
            for (size_t i = 0; i < NODES; i++) { /* a heap: the children of i are 2 i + 1 and 2 i + 2 */
                bool leaf = 2 * i + 2 >= NODES || (i > 2 && vg_random__below(&random, 4) == 0);
                nodes[t][i] = (node){leaf ? -1 : (int64_t)(2 * i + 1), leaf ? -1 : (int64_t)(2 * i + 2),
                                     leaf ? -2 : (int64_t)vg_random__below(&random, FEATURES),
                                     (double)vg_random__below(&random, 5), vg_random__below(&random, 2) != 0};
                for (size_t c = 0; c < 3; c++)
                    value[t][3 * i + c] = (double)(100 * i + c);
            }
            trees[t] = tree_of(nodes[t], NODES, value[t], 3);
        }
        if (trial % 2)
            trees[1].missing = NULL; /* a NaN then goes to the right */
        for (size_t i = 0; i < SAMPLES * FEATURES; i++)
            x[i] = vg_random__below(&random, 6) == 0 ? NAN : (float)vg_random__below(&random, 5);
        assert_int_equal(vg_trees_check(trees, 2, FEATURES), VG_OK);
        vg_trees_leaves(leaves, trees, 2, x, SAMPLES, FEATURES);
        vg_trees_values(out, trees, 2, leaves, SAMPLES, SAMPLES, 2);
        for (size_t t = 0; t < 2; t++)
            for (size_t n = 0; n < SAMPLES; n++) {
                size_t at = 0;
                while (nodes[t][at].left >= 0) {
                    const node *here = &nodes[t][at];
                    float v = x[n * FEATURES + (size_t)here->feature];
                    bool left = isnan(v) ? trees[t].missing && here->missing : (double)v <= here->threshold;
                    at = (size_t)(left ? here->left : here->right);
                }
                assert_int_equal(leaves[t * SAMPLES + n], at);
                assert_true(out[(t * SAMPLES + n) * 2] == 100 * (double)at);
                assert_true(out[(t * SAMPLES + n) * 2 + 1] == 100 * (double)at + 1);
            }
    }
}

/* Nothing is read beside the features: the last sample ends where memory that cannot be read begins. */
static void descents_read_features_alone(void **state) {
    (void)state;
    const node nodes[3] = {{1, 2, 0, 0.5, 0}, {-1, -1, -2, 0, 0}, {-1, -1, -2, 0, 0}};
    static const double value[3];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    vg_tree tree = tree_of(nodes, 3, value, 1);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED && mprotect(memory + page, page, PROT_NONE) == 0);
    for (size_t n = 1; n <= SAMPLES; n++) { /* one feature */
        uint32_t leaves[SAMPLES];
        float *x = (float *)(void *)(memory + page) - n;
        for (size_t i = 0; i < n; i++)
            x[i] = (float)(i % 2);
        vg_trees_leaves(leaves, &tree, 1, x, n, 1);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(leaves[i], 1 + i % 2);
    }
    munmap(memory, 2 * page);
}

/* What a descent could not survive is refused: each field at its ends. */
static void trees_refused(void **state) {
    (void)state;
    const node good[3] = {{1, 2, 1, 0, 0}, {-1, -1, -2, 0, 0}, {-1, -1, -2, 0, 0}};
    static const struct {
        int64_t left, right, feature;
        int ok;
    } cases[] = {{1, 2, 0, 1}, {1, 2, 1, 1}, {1, 2, 2, 0},  {1, 2, -1, 0}, {1, 3, 0, 0}, {3, 2, 0, 0}, {2, 1, 0, 1},
                 {0, 2, 0, 0}, {1, 0, 0, 0}, {1, -1, 0, 0}, {1, 1, 0, 1},  {2, 2, 0, 1}, {-1, 9, 9, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        node nodes[3];
        memcpy(nodes, good, sizeof nodes);
        nodes[0].left = cases[i].left;
        nodes[0].right = cases[i].right;
        nodes[0].feature = cases[i].feature;
        vg_tree t = tree_of(nodes, NODES, NULL, 3);
        t.nodes = 3;
        assert_int_equal(vg_trees_check(&t, 1, 2), cases[i].ok ? VG_OK : VG_ERR_DATA);
    }
    vg_tree t = tree_of(good, NODES, NULL, 3);
    t.nodes = 0;
    assert_int_equal(vg_trees_check(&t, 1, 2), VG_ERR_DATA);
    t.nodes = (size_t)UINT32_MAX + 1;
    assert_int_equal(vg_trees_check(&t, 1, 2), VG_ERR_DATA);
    assert_int_equal(vg_trees_check(&t, 0, 2), VG_OK);
    /* any node of any tree */
    const node deep[5] = {{1, 2, 0, 0, 0}, {-1, -1, -2, 0, 0}, {3, 4, 2, 0, 0}, {-1, -1, -2, 0, 0}, {-1, -1, -2, 0, 0}};
    const vg_tree two[2] = {tree_of(good, 3, NULL, 3), tree_of(deep, 5, NULL, 3)};
    assert_int_equal(vg_trees_check(two, 2, 3), VG_OK);
    assert_int_equal(vg_trees_check(two, 2, 2), VG_ERR_DATA); /* node 2 of the second tree asks for feature 2 */
}

/* --- verdicts ----------------------------------------------------------------------------------------------------- */
/* Ten members and four classes: V = 10/9 of the variance. `share` of the variance lies between members. */
static vg_score_summary figures(double share, double disagreement, double abstained) {
    vg_score_summary s = {.samples = 100, .diversity = 0.09, .members = 10, .outcomes = 4};
    s.member_variance = 0.09; /* V = 0.1, and A = total - 0.09 */
    s.total_variance = 0.09 + 0.1 / share - 0.1;
    s.disagreement = disagreement;
    s.abstained = abstained;
    return s;
}

static vg_verdict judged(const vg_score_summary *s, unsigned long long correct, unsigned long long labelled) {
    vg_verdict v = VG_VERDICT_INIT;
    assert_int_equal(vg_verdict_judge(&v, s, correct, labelled), VG_OK);
    return v;
}

static void state_is(vg_score_summary s, unsigned long long correct, unsigned long long labelled,
                     vg_verdict_state expected) {
    vg_verdict v = judged(&s, correct, labelled);
    if (v.state != expected)
        fail_msg("%s, expected %d", v.text, (int)expected);
}

static void verdicts_at_thresholds(void **state) {
    (void)state;
    /* differ = disagreement / (1 - 1/4) */
    state_is(figures(0.0009, 0.03, 0), 0, 0, VG_VERDICT_COLLAPSED);
    state_is(figures(0.0011, 0.03, 0), 0, 0, VG_VERDICT_LOW);
    state_is(figures(0.0009, 0.0374, 0), 0, 0, VG_VERDICT_COLLAPSED);
    state_is(figures(0.0009, 0.0376, 0), 0, 0, VG_VERDICT_LOW);
    state_is(figures(0.019, 0.1, 0), 0, 0, VG_VERDICT_LOW);
    state_is(figures(0.021, 0.1, 0), 0, 0, VG_VERDICT_DIVERSE);
    state_is(figures(0.01, 0.149, 0), 0, 0, VG_VERDICT_LOW);
    state_is(figures(0.01, 0.151, 0), 0, 0, VG_VERDICT_DIVERSE);
    state_is(figures(0.01, 0.374, 0), 0, 0, VG_VERDICT_DIVERSE);
    state_is(figures(0.01, 0.375, 0), 0, 0, VG_VERDICT_UNDECIDED);
    state_is(figures(0.01, 0.1, 0.949), 0, 0, VG_VERDICT_LOW);
    state_is(figures(0.01, 0.1, 0.95), 0, 0, VG_VERDICT_UNDECIDED);
    /* 100 labels: chance 0.25 and two standard errors of 0.0433 are 0.3366 */
    state_is(figures(0.1, 0.2, 0), 33, 100, VG_VERDICT_NO_SKILL);
    state_is(figures(0.1, 0.2, 0), 34, 100, VG_VERDICT_DIVERSE);
    state_is(figures(0.1, 0.6, 0), 33, 100, VG_VERDICT_NO_SKILL);
    state_is(figures(0.0009, 0.03, 0), 0, 100, VG_VERDICT_COLLAPSED);
    state_is(figures(0.1, 0.2, 0), 0, 29, VG_VERDICT_DIVERSE);
    state_is(figures(0.1, 0.2, 0), 0, 30, VG_VERDICT_NO_SKILL);
    vg_score_summary s = figures(0.1, 0.2, 0);
    s.members = 1;
    state_is(s, 0, 0, VG_VERDICT_ONE_MEMBER);
    s.members = 0;
    state_is(s, 0, 0, VG_VERDICT_UNKNOWN);
    s = figures(0.1, NAN, 0);
    state_is(s, 0, 0, VG_VERDICT_UNKNOWN);
    s = figures(0.1, 0.2, 0);
    s.samples = 0;
    state_is(s, 0, 0, VG_VERDICT_UNKNOWN);
    s = figures(0.1, 0, 0);
    s.member_variance = s.diversity = 0;
    state_is(s, 0, 0, VG_VERDICT_IDENTICAL);
    s = figures(0.5, 0.2, 0);
    s.total_variance = 0.05; /* below the members' own by rounding */
    assert_true(judged(&s, 0, 0).share == 1);
}

static void text_is(vg_score_summary s, unsigned long long correct, unsigned long long labelled, const char *expected) {
    vg_verdict v = judged(&s, correct, labelled);
    assert_string_equal(v.text, expected);
}

static void verdicts_in_words(void **state) {
    (void)state;
    vg_score_summary s = figures(0.0005, 0.01, 0.2);
    text_is(s, 0, 0,
            "collapsed: the members are nearly copies (0.050 % of the variance lies between them, pairs of them name "
            "different classes on about 1.0 %); epistemic terms and the gate say little");
    text_is(s, 90, 100,
            "collapsed: the members are nearly copies (0.050 % of the variance lies between them, pairs of them name "
            "different classes on about 1.0 %); epistemic terms and the gate say little; the mean is right on 90 %, "
            "and TU or GMU still rank its errors");
    text_is(s, 20, 100,
            "collapsed: the members are nearly copies (0.050 % of the variance lies between them, pairs of them name "
            "different classes on about 1.0 %); epistemic terms and the gate say little; and the mean is right on 20 "
            "%, no better than chance (25 %)");
    s = figures(0.01, 0.08, 0.2);
    text_is(s, 90, 100,
            "low diversity: the members agree on most samples (1.0 % of the variance lies between them, pairs of them "
            "name different classes on about 8.0 %); use epistemic terms with care; the mean is right on 90 %");
    s = figures(0.28, 0.3, 0.123);
    text_is(s, 90, 100,
            "diverse: 28 % of the variance lies between the members, pairs of them name different classes on about 30 "
            "%; the rule abstains on 12 % at k = 1");
    s.members = 2; /* V = 2 x 0.09 = 0.18 */
    text_is(s, 90, 100,
            "diverse: 41 % of the variance lies between the two members, they name different classes on about 30 %; "
            "the rule abstains on 12 % at k = 1");
    s = figures(0.01, 0.6, 0.2);
    text_is(s, 90, 100,
            "undecided: the members disagree more than they agree (pairs of them name different classes on about 60 %, "
            "1.0 % of the variance lies between them): none prefers any class; the rule abstains on 20 % at k = 1; the "
            "mean is right on 90 %: rank by GMU or TU, or use a smaller k");
    s = figures(0.25, 0.6, 1);
    text_is(s, 0, 0,
            "undecided: the members disagree more than they agree (pairs of them name different classes on about 60 %, "
            "25 % of the variance lies between them): each prefers its own; the rule abstains on 100 % at k = 1");
    text_is(s, 25, 100,
            "no skill: the mean is right on 25 % where chance is 25 %, so that no measure of the members' disagreement "
            "(25 % of the variance) can help; check labels and the order of classes");
    s.member_variance = 0;
    s.disagreement = 0;
    text_is(s, 99, 100,
            "identical members: epistemic terms are 0 and the gate does nothing; the mean is right on 99 %");
    s.members = 1;
    text_is(s, 99, 100, "one member: there is no disagreement to measure, epistemic terms are 0");
    s.samples = 0;
    text_is(s, 99, 100, "unknown: there is nothing to judge by");
}

/* The share of abstentions in its words, at the numbers where they change. */
static void percents(void **state) {
    (void)state;
    static const struct {
        double share;
        const char *text;
    } cases[] = {{1, "100 %"},
                 {0.99951, "nearly 100 %"},
                 {0.9996, "nearly 100 %"},
                 {0.99949, "99.9 %"},
                 {0.9951, "99.5 %"},
                 {0.9949, "99 %"},
                 {0.0996, "10 %"},
                 {0.0994, "9.9 %"},
                 {0.012, "1.2 %"},
                 {0.0096, "0.96 %"},
                 {0.00045, "0.045 %"},
                 {1.1e-6, "0.00011 %"},
                 {9e-7, "less than 0.0001 %"},
                 {0, "0 %"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vg_score_summary s = figures(0.28, 0.3, cases[i].share);
        char expected[80];
        vg_verdict v = judged(&s, 0, 0);
        snprintf(expected, sizeof expected, "abstains on %s at k = 1", cases[i].text);
        if (!strstr(v.text, expected))
            fail_msg("%s: expected %s", v.text, expected);
    }
}

static void verdicts_refused(void **state) {
    (void)state;
    vg_verdict v = VG_VERDICT_INIT;
    vg_score_summary s = figures(0.28, 0.3, 0);
    assert_int_equal(vg_verdict_judge(&v, &s, 3, 2), VG_ERR_ARGUMENT);
    assert_int_equal(vg_verdict_judge(&v, &s, 2, 2), VG_OK);
    assert_int_equal(vg_verdict_judge(NULL, &s, 2, 2), VG_ERR_ARGUMENT);
    assert_int_equal(vg_verdict_judge(&v, NULL, 2, 2), VG_ERR_ARGUMENT);
    v.struct_size--;
    assert_int_equal(vg_verdict_judge(&v, &s, 2, 2), VG_ERR_ARGUMENT);
    assert_string_equal(vg_verdict__name(VG_VERDICT_NO_SKILL), "no-skill");
    assert_string_equal(vg_verdict__name((vg_verdict_state)(VG_VERDICT_NO_SKILL + 1)), "unknown");
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */
enum { SITES = 150, SITE_M = 3, SITE_C = 5, SITE_ALL = SITES * SITE_M * SITE_C };

/* Element `at` of an array of this type, a multiple of 1/64 up to 1. */
static void put_element(void *to, vg_element dtype, size_t at, unsigned sixtyfourths) {
    double value = sixtyfourths / 64.0;
    int exponent = 0;
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    double part = frexp(value, &exponent);
    if (dtype == VG_F64)
        ((double *)to)[at] = value;
    else if (dtype == VG_F32)
        ((float *)to)[at] = f;
    else if (dtype == VG_BF16)
        ((uint16_t *)to)[at] = (uint16_t)(bits >> 16);
    else
        ((uint16_t *)to)[at] =
            value > 0 ? (uint16_t)((unsigned)(exponent + 14) << 10 | ((unsigned)(part * 2048) & 1023)) : 0;
}

/* Samples beside each other, as the sites of an image are, against samples one after another: the same in each type. */
static void sites_of_every_type(void **state) {
    (void)state;
    static double packed[SITE_ALL], beside[SITE_ALL], tu[3][SITES], epjs[3][SITES], gmu[3][SITES],
        mean[3][SITES * SITE_C];
    vg_random random = vg_random__start(12, 0);
    static const vg_element types[] = {VG_F64, VG_F32, VG_F16, VG_BF16};
    for (size_t t = 0; t < 4; t++) {
        for (size_t row = 0; row < SITES * SITE_M; row++) {
            unsigned count[SITE_C] = {0};
            for (int i = 0; i < 64; i++)
                count[vg_random__below(&random, 1 + vg_random__below(&random, SITE_C))]++;
            for (size_t c = 0; c < SITE_C; c++) {
                put_element(packed, types[t], row * SITE_C + c, count[c]);
                put_element(beside, types[t], (row % SITE_M * SITE_C + c) * SITES + row / SITE_M, count[c]);
            }
        }
        vg_predictions views[] = {
            {packed, types[t], SITES, SITE_M, SITE_C, SITE_M * SITE_C, SITE_C, 1},
            {beside, types[t], SITES, SITE_M, SITE_C, 1, SITE_C * SITES, SITES},
        };
        for (int v = 0; v < 2; v++) {
            vg_score_options o = VG_SCORE_OPTIONS_INIT;
            vg_scores out = {.tu = tu[v], .epjs = epjs[v], .gmu = gmu[v], .mean = mean[v]};
            assert_int_equal(vg_score(&out, NULL, &views[v], &o), VG_OK);
        }
        for (size_t i = 0; i < SITES; i++) {
            assert_true(fabs(tu[0][i] - tu[1][i]) < 1e-6 && fabs(epjs[0][i] - epjs[1][i]) < 1e-6);
            assert_true(fabs(gmu[0][i] - gmu[1][i]) < 1e-5);
            for (size_t c = 0; c < SITE_C; c++) {
                double sum = 0;
                for (size_t m = 0; m < SITE_M; m++)
                    sum += vg_measures__value(&views[0], i, m, c) / SITE_M;
                assert_true(fabs(mean[0][i * SITE_C + c] - sum) < 1e-6 && fabs(mean[1][i * SITE_C + c] - sum) < 1e-6);
            }
        }
    }
}

static void blocks_refused(void **state) {
    (void)state;
    const double p[] = {.5, .5, .25, .75};
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    vg_predictions block = vg_predictions_f64(p, 1, 2, 2);
    double tu;
    vg_scores out = {.tu = &tu};
    vg_scorer *s;
    assert_int_equal(vg_scorer_new(&s, 2, 2, &o), VG_OK);
    assert_int_equal(vg_scorer_feed(s, &out, &block, NULL), VG_OK);
    assert_int_equal(vg_scorer_feed(s, NULL, &block, NULL), VG_ERR_ARGUMENT);
    assert_int_equal(vg_scorer_feed(s, &out, NULL, NULL), VG_ERR_ARGUMENT);
    block.m = 1;
    assert_int_equal(vg_scorer_feed(s, &out, &block, NULL), VG_ERR_ARGUMENT);
    block.m = 2, block.c = 1;
    assert_int_equal(vg_scorer_feed(s, &out, &block, NULL), VG_ERR_ARGUMENT);
    block.c = 2, block.dtype = (vg_element)(VG_BF16 + 1);
    assert_int_equal(vg_scorer_feed(s, &out, &block, NULL), VG_ERR_ARGUMENT);
    block.dtype = VG_F64, block.data = NULL;
    assert_int_equal(vg_scorer_feed(s, &out, &block, NULL), VG_ERR_ARGUMENT);
    block.n = 0;
    assert_int_equal(vg_scorer_feed(s, &out, &block, NULL), VG_OK);
    vg_scorer_free(s);
    assert_int_equal(vg_score(NULL, NULL, &block, &o), VG_ERR_ARGUMENT);
    assert_int_equal(vg_score(&out, NULL, NULL, &o), VG_ERR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sites_of_every_type),
        cmocka_unit_test(blocks_refused),
        cmocka_unit_test(halves),
        cmocka_unit_test(elements),
        cmocka_unit_test(already_distributions),
        cmocka_unit_test(members_that_agree),
        cmocka_unit_test(thinned_samples),
        cmocka_unit_test(wide_gates),
        cmocka_unit_test(descents),
        cmocka_unit_test(descents_read_features_alone),
        cmocka_unit_test(trees_refused),
        cmocka_unit_test(verdicts_at_thresholds),
        cmocka_unit_test(verdicts_in_words),
        cmocka_unit_test(percents),
        cmocka_unit_test(verdicts_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
