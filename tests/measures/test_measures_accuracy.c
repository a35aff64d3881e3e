/* test_measures_accuracy.c - the kernels against the reference over random and adversarial probabilities, default
 * conventions, in every SIMD tier: absolute error 1e-6 (float32) and 1e-12 (float64), and for the epistemic measures a
 * relative one of
 * 1e-4 and 1e-9 down to values of 1e-12. VG_TEST_FULL=1 takes a larger sweep. */
#include "measures_util.h"

typedef struct recipe {
    maker kind;
    double parameter;
    size_t n, m, c;
} recipe;

static const recipe recipes[] = {
    {MAKE_DIRICHLET, 0.01, 9, 10, 10},
    {MAKE_DIRICHLET, 0.01, 3, 100, 3},
    {MAKE_DIRICHLET, 0.01, 3, 7, 100},
    {MAKE_DIRICHLET, 0.1, 11, 5, 17},
    {MAKE_DIRICHLET, 1, 17, 10, 10},
    {MAKE_DIRICHLET, 1, 3, 64, 33},
    {MAKE_DIRICHLET, 10, 5, 20, 5},
    {MAKE_DIRICHLET, 100, 5, 20, 12},
    {MAKE_DIRICHLET, 1, 33, 3, 2},
    {MAKE_DIRICHLET, 1, 2, 4, 1000},
    {MAKE_DIRICHLET, 0.02, 2, 3, 999},
    {MAKE_DIRICHLET, 100, 1, 2, 1000},
    {MAKE_DIRICHLET, 0.01, 1, 1000, 3},
    {MAKE_DIRICHLET, 1, 1, 1000, 2},
    {MAKE_DIRICHLET, 1, 7, 1, 10},
    {MAKE_DIRICHLET, 0.01, 5, 1, 33},
    {MAKE_DIRICHLET, 1, 5, 2, 65},
    {MAKE_ONE_HOT, 0, 9, 10, 4},
    {MAKE_ONE_HOT, 0, 5, 17, 31},
    {MAKE_ONE_HOT, 0, 21, 2, 3},
    {MAKE_IDENTICAL, 1, 5, 9, 10},
    {MAKE_IDENTICAL, 0.01, 5, 16, 7},
    {MAKE_IDENTICAL, 100, 3, 100, 3},
    {MAKE_UNIFORM, 0, 9, 4, 98},
    {MAKE_UNIFORM, 0, 2, 6, 129},
    {MAKE_UNIFORM, 0, 2, 2, 3032},
    {MAKE_UNIFORM, 0, 1, 3, 3816},
    {MAKE_UNIFORM, 0, 2, 12, 98},
    {MAKE_UNIFORM, 0, 1, 20, 1500},
    {MAKE_NEAR, 1e-3, 10, 8, 10},
    {MAKE_NEAR, 1e-4, 10, 8, 10},
    {MAKE_NEAR, 1e-5, 10, 8, 10},
    {MAKE_NEAR, 1e-6, 10, 8, 10},
    {MAKE_NEAR, 1e-7, 10, 8, 10},
    {MAKE_NEAR, 1e-5, 5, 3, 100},
    {MAKE_NEAR, 1e-6, 5, 50, 3},
    {MAKE_ZERO_CLASS, 1, 7, 6, 11},
    {MAKE_ZERO_CLASS, 0.1, 5, 12, 40},
    {MAKE_SOME_ZERO, 1, 7, 6, 11},
    {MAKE_SOME_ZERO, 0.5, 5, 13, 37},
    {MAKE_TIE, 1, 7, 5, 6},
    {MAKE_TIE, 0.2, 5, 11, 19},
    {MAKE_FLOOR, 0, 7, 8, 10},
    {MAKE_FLOOR, 1, 7, 8, 10},
    {MAKE_DENORMAL, 0, 5, 6, 9},
    {MAKE_DENORMAL, 1, 5, 6, 9},
    {MAKE_PEAKED, 0, 9, 10, 10},
    {MAKE_PEAKED, 0, 3, 100, 4},
    {MAKE_FAR, 6, 9, 18, 10},
    {MAKE_FAR, 6, 9, 33, 10},
    {MAKE_FAR, 3, 17, 20, 30},
    {MAKE_FAR, 6, 4, 131, 5},
    {MAKE_MIXED, 2, 40, 8, 10},
    {MAKE_MIXED, 3, 40, 8, 4},
    {MAKE_MIXED, 4, 40, 5, 3},
    {MAKE_MIXED, 3, 40, 16, 6},
    {MAKE_MIXED, 3, 20, 2, 5},
    {MAKE_MIXED, 3, 20, 25, 5},
    {MAKE_FIRST, 1e-3, 10, 100, 10},
    {MAKE_FIRST, 1e-5, 10, 41, 5},
    {MAKE_FIRST, 1e-3, 2, 700, 7},
    {MAKE_FIRST, 1e-4, 8, 12, 4},
};

static const recipe more_recipes[] = {
    {MAKE_DIRICHLET, 0.01, 5, 100, 10},  {MAKE_DIRICHLET, 0.1, 5, 100, 10}, {MAKE_DIRICHLET, 1, 3, 100, 10},
    {MAKE_DIRICHLET, 0.01, 1, 100, 100}, {MAKE_DIRICHLET, 1, 1, 100, 100},  {MAKE_DIRICHLET, 0.01, 2, 1000, 10},
    {MAKE_DIRICHLET, 0.01, 1, 30, 1000}, {MAKE_NEAR, 1e-4, 1, 30, 700},     {MAKE_SOME_ZERO, 0.1, 1, 13, 900},
    {MAKE_DIRICHLET, 1, 1, 30, 1000},    {MAKE_NEAR, 1e-5, 2, 1000, 3},     {MAKE_NEAR, 1e-6, 1, 100, 100},
    {MAKE_ONE_HOT, 0, 1, 1000, 10},      {MAKE_PEAKED, 0, 1, 1000, 5},      {MAKE_SOME_ZERO, 0.1, 3, 100, 20},
    {MAKE_FLOOR, 1, 2, 200, 10},         {MAKE_TIE, 1, 1, 500, 4},
};

static const char *const maker_names[] = {"dirichlet", "one-hot", "identical", "uniform",    "near",   "zero-class",
                                          "some-zero", "tie",     "floor",     "denormal",   "peaked", "far",
                                          "mixed",     "first",   "logits",    "logits-near"};

static score_case *cases;
static size_t case_count;

static void add_case(const recipe *r, vg_dtype dtype) {
    static const double few[] = {1, 2, 3}, many[] = {0.01, 0.5, 1, 7, 1000};
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    char name[64];
    int small = r->m * r->m * r->c < 3000;
    options.k = small ? many : few;
    options.k_count = small ? 5 : r->m < 500 ? 3 : 1;
    snprintf(name, sizeof name, "%s(%g)", maker_names[r->kind], r->parameter);
    cases[case_count++] =
        case_new(name, make_predictions(r->n, r->m, r->c, r->kind, r->parameter), dtype, r->n, r->m, r->c, &options);
}

/* Every C from 2 to 40: all vector tails; M and N odd and small. */
static void add_class_sweep(void) {
    for (size_t c = 2; c <= 40; c++) {
        recipe r = {c % 3 ? MAKE_DIRICHLET : MAKE_SOME_ZERO, 0.3, 1 + c % 4, 2 + c % 5, c};
        add_case(&r, c % 2 ? VG_F64 : VG_F32);
    }
}

/* The grid of bench/peers/score_grid.py, as far as the reference's pairs allow: both layouts of the kernels, every
 * number of members around their limits, many classes. Members are independent, near each other or peaked in turn. */
static void add_grid(void) {
    static const size_t members[] = {1, 2, 3, 5, 6, 7, 8, 10, 11, 16, 20, 50, 100, 1000};
    static const size_t classes[] = {2, 10, 19, 100, 191, 192, 1000, 10000, 32000, 128000};
    static const recipe kinds[] = {{MAKE_DIRICHLET, 1, 1, 0, 0}, {MAKE_NEAR, 1e-4, 1, 0, 0}, {MAKE_FLOOR, 1, 1, 0, 0}};
    const size_t most = full_sweep() ? 1300000 : 33000;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        for (size_t j = 0; j < sizeof classes / sizeof *classes; j++) {
            recipe r = kinds[(i + j) % 3];
            r.m = members[i];
            r.c = classes[j];
            if (r.c > most / r.m / r.m || (r.kind == MAKE_FLOOR && r.c > 1000))
                continue;
            rng_state = 5000 + 100 * i + j + seed_shift();
            add_case(&r, (i + j) % 4 == 3 ? VG_F64 : VG_F32);
        }
}

/* A k for every class, in every layout of the kernels. */
static void add_class_k(void) {
    static const recipe shapes[] = {{MAKE_DIRICHLET, 1, 19, 3, 5},     {MAKE_DIRICHLET, 0.1, 9, 6, 40},
                                    {MAKE_DIRICHLET, 0.3, 17, 12, 10}, {MAKE_DIRICHLET, 0.1, 2, 5, 1000},
                                    {MAKE_DIRICHLET, 0.1, 2, 12, 201}, {MAKE_NEAR, 1e-4, 5, 4, 201},
                                    {MAKE_NEAR, 1e-5, 5, 20, 7},       {MAKE_FAR, 6, 9, 33, 10}};
    static const double k[] = {1, 0.3};
    double class_k[1000];
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; i++) {
        const recipe *r = &shapes[i / 2];
        vg_score_options options = VG_SCORE_OPTIONS_INIT;
        rng_state = 9000 + i + seed_shift();
        for (size_t c = 0; c < r->c; c++)
            class_k[c] = pow(10, 4 * rng_uniform() - 2);
        options.k = k;
        options.k_count = 2;
        options.class_k = class_k;
        options.class_k_count = r->c;
        cases[case_count++] = case_new("class-k", make_predictions(r->n, r->m, r->c, r->kind, r->parameter),
                                       i % 2 ? VG_F64 : VG_F32, r->n, r->m, r->c, &options);
    }
}

/* Random kinds, shapes and k. */
static void add_random(size_t count) {
    for (size_t trial = 0; trial < count; trial++) {
        rng_state = 100000 + trial + seed_shift();
        maker kind = (maker)rng_below(MAKE_LOGITS_NEAR + 1);
        int near = kind == MAKE_NEAR || kind == MAKE_LOGITS_NEAR;
        double parameter = near ? pow(10, -7 * rng_uniform()) : pow(10, 4 * rng_uniform() - 2), k[4];
        size_t n = 1 + rng_below(6), m = 1 + rng_below(rng_below(3) ? 12 : 40),
               c = 2 + rng_below(rng_below(3)   ? 20
                                 : rng_below(3) ? 90
                                                : 250);
        vg_score_options options = VG_SCORE_OPTIONS_INIT;
        options.logits = kind == MAKE_LOGITS || kind == MAKE_LOGITS_NEAR;
        char name[64];
        for (int i = 0; i < 4; i++)
            k[i] = pow(10, 6 * rng_uniform() - 3);
        options.k = k;
        options.k_count = 1 + rng_below(m * m * c < 10000 ? 4 : 2);
        snprintf(name, sizeof name, "random %zu %s(%g)", trial, maker_names[kind], parameter);
        cases[case_count++] =
            case_new(name, make_predictions(n, m, c, kind, parameter), trial % 2 ? VG_F64 : VG_F32, n, m, c, &options);
    }
}

static void prepare(void) {
    size_t usual = sizeof recipes / sizeof *recipes,
           more = full_sweep() ? sizeof more_recipes / sizeof *more_recipes : 0;
    size_t random = full_sweep() ? 600 : 60;
    cases = ref_alloc(2 * (usual + more) + 40 + 140 + 16 + random, sizeof *cases);
    for (size_t i = 0; i < usual + more; i++) {
        const recipe *r = i < usual ? &recipes[i] : &more_recipes[i - usual];
        rng_state = 1000 + i + seed_shift();
        add_case(r, VG_F32);
        add_case(r, VG_F64);
    }
    add_class_sweep();
    add_grid();
    add_class_k();
    add_random(random);
}

static void within_tolerances(void **state) {
    (void)state;
    cases_agree(cases, case_count);
}

static int suite(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(within_tolerances)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
    prepare();
    int failed = run_cases(cases, case_count, suite);
    free(cases);
    return failed;
}
