/* test_measures_options.c - every convention switch against the reference, in every SIMD tier: the three presets, each
 * switch alone, probabilities and logits (with temperatures), both multilabel forms, many k. */
#include "measures_util.h"

/* --- variations of the options ---------------------------------------------------------------------------------------
 */

typedef struct variation {
    const char *name;
    void (*apply)(vg_score_options *);
} variation;

static void as_paper(vg_score_options *o) { (void)o; }
static void as_vge(vg_score_options *o) {
    o->pairs = VG_PAIRS_DISTINCT;
    o->sigma_gate = VG_SIGMA_POPULATION;
    o->sigma_margin = VG_SIGMA_SAMPLE;
    o->log_base = VG_LOG_2;
    o->normalise = 1;
    o->floor_form = VG_FLOOR_CLAMP;
    o->floor = 1e-8;
    o->gate_eps_form = VG_GATE_EPS_INSIDE;
    o->margin_eps_form = VG_MARGIN_EPS_TWICE;
    o->eps = 1e-8;
}
static void as_mljku(vg_score_options *o) {
    o->floor_form = VG_FLOOR_ADD;
    o->floor = 1e-10;
}
static void distinct_pairs(vg_score_options *o) { o->pairs = VG_PAIRS_DISTINCT; }
static void sample_gate(vg_score_options *o) { o->sigma_gate = VG_SIGMA_SAMPLE; }
static void sample_margin(vg_score_options *o) { o->sigma_margin = VG_SIGMA_SAMPLE; }
static void base_two(vg_score_options *o) { o->log_base = VG_LOG_2; }
static void normalised(vg_score_options *o) { o->normalise = 1; }
static void clamped(vg_score_options *o) {
    o->floor_form = VG_FLOOR_CLAMP;
    o->floor = 1e-8;
}
static void added_distinct(vg_score_options *o) {
    as_mljku(o);
    o->pairs = VG_PAIRS_DISTINCT;
}
static void inside(vg_score_options *o) { o->gate_eps_form = VG_GATE_EPS_INSIDE; }
static void twice(vg_score_options *o) { o->margin_eps_form = VG_MARGIN_EPS_TWICE; }
static void large_eps(vg_score_options *o) { o->eps = 0.05; }
static void large_eps_inside(vg_score_options *o) {
    as_vge(o);
    o->eps = 0.3;
}
static void large_floor(vg_score_options *o) { o->floor = 1e-3; }
static void large_floor_clamped(vg_score_options *o) {
    o->floor_form = VG_FLOOR_CLAMP;
    o->floor = 0.02;
}
static void large_floor_added(vg_score_options *o) {
    o->floor_form = VG_FLOOR_ADD;
    o->floor = 0.01;
}
static void least_floor(vg_score_options *o) { o->floor = 1e-30; }
static void renormalised(vg_score_options *o) { o->renormalise = 1; }

/* Of as many classes as a case has: from 0.01 to 100, or from 0.5 to 3, near enough for the float forms. */
static const double *many_k(int near) {
    static double k[2][512];
    for (size_t i = 0; i < 512; i++)
        k[near][i] = near ? 0.5 * pow(10, (double)(i * 37 % 101) / 128) : pow(10, (double)(i * 37 % 101) / 25 - 2);
    return k[near];
}
static void by_class(vg_score_options *o) { o->class_k = many_k(0); }
static void by_class_near(vg_score_options *o) { o->class_k = many_k(1); }
static void by_class_inside(vg_score_options *o) {
    as_vge(o);
    o->class_k = many_k(1);
}

static const variation variations[] = {
    {"paper", as_paper},
    {"vge", as_vge},
    {"mljku", as_mljku},
    {"distinct", distinct_pairs},
    {"sample-gate", sample_gate},
    {"sample-margin", sample_margin},
    {"base-2", base_two},
    {"normalise", normalised},
    {"clamp", clamped},
    {"add-distinct", added_distinct},
    {"inside", inside},
    {"twice", twice},
    {"large-eps", large_eps},
    {"vge-large-eps", large_eps_inside},
    {"large-floor", large_floor},
    {"clamp-large-floor", large_floor_clamped},
    {"add-large-floor", large_floor_added},
    {"floor-1e-30", least_floor},
    {"renormalise", renormalised},
    {"class-k", by_class},
    {"class-k-near", by_class_near},
    {"vge-class-k", by_class_inside},
};
enum { VARIATIONS = sizeof variations / sizeof *variations };

typedef struct source {
    const char *name;
    maker kind;
    double parameter;
    size_t n, m, c;
} source;

static const source probabilities[] = {
    {"dirichlet", MAKE_DIRICHLET, 0.3, 3, 7, 11},
    {"peaked", MAKE_DIRICHLET, 0.02, 3, 10, 5},
    {"near", MAKE_NEAR, 1e-5, 5, 5, 9},
    {"one-hot", MAKE_ONE_HOT, 0, 3, 6, 5},
    {"floor", MAKE_FLOOR, 1, 3, 5, 8},
    {"zero", MAKE_SOME_ZERO, 1, 3, 6, 19},
    {"one-member", MAKE_DIRICHLET, 0.1, 3, 1, 6},
    {"two-members", MAKE_DIRICHLET, 1, 5, 2, 3},
    {"collapsed", MAKE_PEAKED, 0, 3, 9, 10},
    {"two-classes", MAKE_DIRICHLET, 1, 7, 4, 2},
    {"same", MAKE_IDENTICAL, 0.3, 3, 5, 7},
    {"tie", MAKE_TIE, 1, 3, 4, 5},
};
static const source logits[] = {
    {"logits", MAKE_LOGITS, 3, 3, 7, 11},         {"flat", MAKE_LOGITS, 0.01, 3, 6, 10},
    {"sharp", MAKE_LOGITS, 40, 3, 6, 10},         {"huge", MAKE_LOGITS, 2000, 3, 5, 7},
    {"near", MAKE_LOGITS_NEAR, 1e-3, 5, 6, 9},    {"nearer", MAKE_LOGITS_NEAR, 1e-5, 5, 6, 9},
    {"nearest", MAKE_LOGITS_NEAR, 1e-6, 5, 6, 9}, {"one-member", MAKE_LOGITS, 3, 3, 1, 6},
    {"two-classes", MAKE_LOGITS, 5, 7, 4, 2},     {"many-classes", MAKE_LOGITS, 2, 1, 3, 500},
    {"members", MAKE_LOGITS, 3, 1, 70, 5},        {"members-and-classes", MAKE_LOGITS, 3, 2, 16, 203},
    {"near-many", MAKE_LOGITS_NEAR, 1e-4, 1, 11, 230},
};
enum { PROBABILITIES = sizeof probabilities / sizeof *probabilities, LOGITS = sizeof logits / sizeof *logits };

static score_case *cases;
static size_t case_count, case_room;

static void add(const char *what, const source *s, const variation *v, double *data, vg_dtype dtype,
                vg_score_options *o) {
    char name[100];
    snprintf(name, sizeof name, "%s %s %s", what, s->name, v->name);
    v->apply(o);
    o->class_k_count = s->c;
    if (case_count == case_room) {
        case_room = case_room ? 2 * case_room : 256;
        cases = realloc(cases, case_room * sizeof *cases);
        if (!cases)
            abort();
    }
    cases[case_count++] = case_new(name, data, dtype, s->n, s->m, s->c, o);
}

static void add_probabilities(void) {
    static const double k[] = {0.0005, 1, 4};
    for (int s = 0; s < PROBABILITIES; s++)
        for (int v = 0; v < VARIATIONS; v++)
            for (int d = 0; d < 2; d++) {
                const source *from = &probabilities[s];
                vg_score_options o = VG_SCORE_OPTIONS_INIT;
                o.k = k;
                o.k_count = 3;
                double *data = make_predictions(from->n, from->m, from->c, from->kind, from->parameter);
                if (variations[v].apply == renormalised) /* rows of any positive sum */
                    for (size_t i = 0; i < from->n * from->m * from->c; i++)
                        data[i] *= 0.1 + (double)(i / from->c % 7);
                add("p", from, &variations[v], data, d ? VG_F64 : VG_F32, &o);
            }
}

/* Logits under the switches that matter to them, with no temperature, one, and one per member. */
static void add_logits(void) {
    for (int s = 0; s < LOGITS; s++)
        for (int t = 0; t < 6; t++) {
            const source *from = &logits[s];
            double temperature[100];
            vg_score_options o = VG_SCORE_OPTIONS_INIT;
            for (int m = 0; m < 100; m++)
                temperature[m] = t == 1 ? 1.7 : exp(0.5 * rng_normal());
            o.logits = 1;
            o.temperature = t == 1 || t == 2 ? temperature : NULL;
            o.temperature_count = t == 1 ? 1 : t == 2 ? from->m : 0;
            const variation *v = &variations[t < 3 ? 0 : t == 3 ? 1 : t == 4 ? 2 : 3];
            for (int d = 0; d < 2; d++) {
                double *data = make_predictions(from->n, from->m, from->c, from->kind, from->parameter);
                add(t == 1 ? "z/T" : t == 2 ? "z/T[m]" : "z", from, v, data, d ? VG_F64 : VG_F32, &o);
            }
        }
}

static void add_multilabel(void) {
    static const source labels[] = {
        {"labels", MAKE_DIRICHLET, 0.5, 3, 6, 7},
        {"hard", MAKE_ONE_HOT, 0, 3, 4, 9},
        {"near", MAKE_NEAR, 1e-5, 3, 5, 11},
        {"floor", MAKE_FLOOR, 1, 2, 5, 8},
        {"one-member", MAKE_DIRICHLET, 1, 3, 1, 4},
        {"one-label", MAKE_DIRICHLET, 0.1, 5, 8, 1},
        {"many-labels", MAKE_DIRICHLET, 1, 1, 3, 70},
        {"logits", MAKE_LOGITS, 4, 3, 6, 5},
        {"near-logits", MAKE_LOGITS_NEAR, 1e-5, 3, 5, 6},
    };
    static const int chosen[] = {0, 1, 2, 3, 5, 8, 10, 11};
    for (size_t s = 0; s < sizeof labels / sizeof *labels; s++)
        for (size_t v = 0; v < sizeof chosen / sizeof *chosen; v++)
            for (int form = 1; form <= 2; form++) {
                const source *from = &labels[s];
                static const double temperature = 2.5;
                vg_score_options o = VG_SCORE_OPTIONS_INIT;
                o.task = (vg_task)form;
                o.logits = from->kind == MAKE_LOGITS || from->kind == MAKE_LOGITS_NEAR;
                o.temperature = o.logits && form == 2 ? &temperature : NULL;
                o.temperature_count = o.temperature ? 1 : 0;
                add(form == 1 ? "continuous" : "literal", from, &variations[chosen[v]],
                    make_labels(from->n, from->m, from->c, from->kind, from->parameter),
                    (v + (size_t)form) % 2 ? VG_F64 : VG_F32, &o);
            }
}

/* Sixteen k in no order, some alike, from tiny to enormous. */
static void add_many_k(void) {
    static const double k[] = {3, 1e-6, 1e-3, 0.5, 0.25, 1, 1, 1e3, 2, 1e6, 16, 8, 1e9, 1e-9, 4, 0.1};
    for (int s = 0; s < PROBABILITIES; s++)
        for (int d = 0; d < 2; d++) {
            const source *from = &probabilities[s];
            vg_score_options o = VG_SCORE_OPTIONS_INIT;
            o.k = k;
            o.k_count = 16;
            double *data = make_predictions(from->n, from->m, from->c, from->kind, from->parameter);
            add("16 k", from, &variations[s % 2], data, d ? VG_F64 : VG_F32, &o);
        }
}

static void within_tolerances(void **state) {
    (void)state;
    cases_agree(cases, case_count);
}

/* vg_score_options_preset sets exactly the switches from `pairs` to `eps`. */
static void presets(void **state) {
    (void)state;
    void (*const by_hand[])(vg_score_options *) = {as_paper, as_vge, as_mljku};
    for (int preset = 0; preset < 3; preset++) {
        double k = 5, t = 2;
        vg_score_options want = VG_SCORE_OPTIONS_INIT, got = VG_SCORE_OPTIONS_INIT;
        want.task = got.task = VG_TASK_MULTILABEL;
        want.logits = got.logits = want.renormalise = got.renormalise = 1;
        want.k = got.k = &k, want.k_count = got.k_count = 1;
        want.temperature = got.temperature = &t, want.temperature_count = got.temperature_count = 1;
        want.threads = got.threads = 3;
        by_hand[preset](&want);
        as_vge(&got);
        as_mljku(&got); /* whatever was set before */
        assert_int_equal(vg_score_options_preset(&got, (vg_preset)preset), VG_OK);
        assert_true(got.struct_size == want.struct_size && got.task == want.task && got.logits == want.logits);
        assert_true(got.renormalise == want.renormalise && got.k == want.k && got.k_count == want.k_count);
        assert_true(got.temperature == want.temperature && got.temperature_count == want.temperature_count);
        assert_int_equal(got.threads, want.threads);
        assert_int_equal(got.pairs, want.pairs);
        assert_int_equal(got.sigma_gate, want.sigma_gate);
        assert_int_equal(got.sigma_margin, want.sigma_margin);
        assert_int_equal(got.log_base, want.log_base);
        assert_int_equal(got.normalise, want.normalise);
        assert_int_equal(got.floor_form, want.floor_form);
        assert_true(got.floor == want.floor && got.eps == want.eps);
        assert_int_equal(got.gate_eps_form, want.gate_eps_form);
        assert_int_equal(got.margin_eps_form, want.margin_eps_form);
    }
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    assert_int_equal(vg_score_options_preset(&o, (vg_preset)17), VG_ERR_ARGUMENT);
}

static int suite(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(presets), cmocka_unit_test(within_tolerances)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
    rng_state = 42 + seed_shift();
    add_probabilities();
    add_logits();
    add_multilabel();
    add_many_k();
    int failed = run_in_every_tier(suite);
    for (size_t i = 0; i < case_count; i++)
        case_free(&cases[i]);
    free(cases);
    return failed;
}
