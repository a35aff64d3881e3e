/* device_cases.h - what the tests of device scoring share: random and adversarial cases with the reference's results,
 * and their comparison with some scorer's. */
#ifndef VG_TEST_DEVICE_CASES_H
#define VG_TEST_DEVICE_CASES_H

#include <stdbool.h>

#include "measures_util.h"

typedef struct device_recipe {
    maker kind;
    double parameter;
    size_t n, m, c;
} device_recipe;

static const device_recipe device_recipes[] = {
    {MAKE_DIRICHLET, 0.01, 9, 10, 10},  {MAKE_DIRICHLET, 0.01, 3, 100, 3},
    {MAKE_DIRICHLET, 0.01, 3, 7, 100},  {MAKE_DIRICHLET, 0.1, 11, 5, 17},
    {MAKE_DIRICHLET, 1, 17, 10, 10},    {MAKE_DIRICHLET, 1, 3, 64, 33},
    {MAKE_DIRICHLET, 10, 5, 20, 5},     {MAKE_DIRICHLET, 100, 5, 20, 12},
    {MAKE_DIRICHLET, 1, 33, 3, 2},      {MAKE_DIRICHLET, 1, 2, 4, 1000},
    {MAKE_DIRICHLET, 0.02, 2, 3, 999},  {MAKE_DIRICHLET, 100, 1, 2, 1000},
    {MAKE_DIRICHLET, 0.01, 1, 1000, 3}, {MAKE_DIRICHLET, 1, 1, 1000, 2},
    {MAKE_DIRICHLET, 1, 7, 1, 10},      {MAKE_DIRICHLET, 0.01, 5, 1, 33},
    {MAKE_DIRICHLET, 1, 5, 2, 65},      {MAKE_DIRICHLET, 1, 2, 100, 10},
    {MAKE_ONE_HOT, 0, 9, 10, 4},        {MAKE_ONE_HOT, 0, 5, 17, 31},
    {MAKE_ONE_HOT, 0, 21, 2, 3},        {MAKE_IDENTICAL, 1, 5, 9, 10},
    {MAKE_IDENTICAL, 0.01, 5, 16, 7},   {MAKE_IDENTICAL, 100, 3, 100, 3},
    {MAKE_NEAR, 0.3, 10, 8, 10},        {MAKE_NEAR, 0.05, 10, 30, 10},
    {MAKE_NEAR, 1e-3, 10, 8, 10},       {MAKE_NEAR, 1e-4, 10, 8, 10},
    {MAKE_NEAR, 1e-5, 10, 8, 10},       {MAKE_NEAR, 1e-6, 10, 8, 10},
    {MAKE_NEAR, 1e-7, 10, 8, 10},       {MAKE_NEAR, 1e-5, 5, 3, 100},
    {MAKE_NEAR, 1e-6, 5, 50, 3},        {MAKE_ZERO_CLASS, 1, 7, 6, 11},
    {MAKE_ZERO_CLASS, 0.1, 5, 12, 40},  {MAKE_SOME_ZERO, 1, 7, 6, 11},
    {MAKE_SOME_ZERO, 0.5, 5, 13, 37},   {MAKE_TIE, 1, 7, 5, 6},
    {MAKE_TIE, 0.2, 5, 11, 19},         {MAKE_FLOOR, 0, 7, 8, 10},
    {MAKE_FLOOR, 1, 7, 8, 10},          {MAKE_DENORMAL, 0, 5, 6, 9},
    {MAKE_DENORMAL, 1, 5, 6, 9},        {MAKE_PEAKED, 0, 9, 10, 10},
    {MAKE_FAR, 6, 9, 33, 10},           {MAKE_PEAKED, 0, 3, 100, 4},
    {MAKE_LOGITS, 1, 7, 9, 10},         {MAKE_LOGITS, 20, 7, 9, 10},
    {MAKE_LOGITS, 300, 5, 6, 12},       {MAKE_LOGITS_NEAR, 1e-3, 7, 8, 10},
    {MAKE_LOGITS_NEAR, 1e-6, 7, 8, 10}, {MAKE_LOGITS, 3, 2, 70, 100},
};
enum { DEVICE_RECIPES = sizeof device_recipes / sizeof *device_recipes };

static inline size_t device_case(const device_recipe *r, const char *name, vg_dtype dtype,
                                 const vg_score_options *options, case_scoring score) {
    score_case s =
        case_new(name, make_predictions(r->n, r->m, r->c, r->kind, r->parameter), dtype, r->n, r->m, r->c, options);
    size_t differences = case_compare(&s, score, "device");
    case_free(&s);
    return differences;
}

/* Every recipe in float32 and float64, default conventions. */
static inline size_t device_usual_cases(case_scoring score) {
    static const double few[] = {1, 2, 3}, many[] = {0.01, 0.5, 1, 7, 1000};
    size_t differences = 0;
    for (int i = 0; i < DEVICE_RECIPES; i++) {
        const device_recipe *r = &device_recipes[i];
        vg_score_options options = VG_SCORE_OPTIONS_INIT;
        char name[32];
        int small = r->m * r->m * r->c < 3000;
        options.logits = r->kind == MAKE_LOGITS || r->kind == MAKE_LOGITS_NEAR;
        options.k = small ? many : few;
        options.k_count = small ? 5 : r->m < 500 ? 3 : 1;
        snprintf(name, sizeof name, "recipe %d", i);
        for (int wide = 0; wide < 2; wide++) {
            rng_state = 77000 + (uint64_t)i + seed_shift();
            differences += device_case(r, name, wide ? VG_F64 : VG_F32, &options, score);
        }
    }
    return differences;
}

/* float32 probabilities with up to three gates, of every kind: what the forms by lanes take. */
static inline size_t device_lane_cases(case_scoring score, size_t shift) {
    static const double k[] = {1, 0.05, 20, 2, 3};
    size_t differences = 0;
    for (size_t i = 0; i < DEVICE_RECIPES; i++) {
        const device_recipe *r = &device_recipes[i];
        vg_score_options options = VG_SCORE_OPTIONS_INIT;
        char name[32];
        if (r->kind == MAKE_LOGITS || r->kind == MAKE_LOGITS_NEAR)
            continue;
        options.k = k + (i + shift) % 3;
        options.k_count = 1 + (i + shift) / 3 % 3;
        options.pairs = (vg_pairs)((i + shift) % 2);
        options.sigma_gate = (vg_sigma)((i + shift) / 2 % 2);
        options.gate_eps_form = (vg_gate_eps)((i + shift) / 4 % 2);
        snprintf(name, sizeof name, "lanes %zu", i);
        rng_state = 88000 + i + shift + seed_shift();
        differences += device_case(r, name, VG_F32, &options, score);
    }
    return differences;
}

/* Random kinds, shapes, k and conventions. */
static inline size_t device_random_cases(case_scoring score, size_t count) {
    size_t differences = 0;
    for (size_t trial = 0; trial < count; trial++) {
        rng_state = 100000 + trial + seed_shift();
        device_recipe r = {(maker)rng_below(MAKE_LOGITS_NEAR + 1), 0, 0, 0, 0};
        vg_score_options options = VG_SCORE_OPTIONS_INIT;
        double k[9], temperature[40], class_k[92];
        char name[32];
        options.logits = r.kind >= MAKE_LOGITS;
        r.parameter =
            r.kind == MAKE_NEAR || options.logits ? pow(10, -6 * rng_uniform()) * 3 : pow(10, 4 * rng_uniform() - 2);
        r.n = 1 + rng_below(9), r.m = 1 + rng_below(rng_below(3) ? 12 : 40),
        r.c = 2 + rng_below(rng_below(3) ? 20 : 90);
        for (int i = 0; i < 9; i++)
            k[i] = pow(10, 4 * rng_uniform() - 2);
        for (int i = 0; i < 40; i++)
            temperature[i] = 0.5 + 2 * rng_uniform();
        for (int i = 0; i < 92; i++)
            class_k[i] = pow(10, (double)(((size_t)i * 37 + trial) % 101) / (trial % 4 == 1 ? 25 : 125) - 1);
        options.k = k;
        options.k_count = 1 + rng_below(r.m * r.m * r.c < 5000 ? 9 : 2);
        options.class_k = trial % 2 ? class_k : NULL;
        options.class_k_count = r.c;
        options.pairs = (vg_pairs)rng_below(2);
        options.sigma_gate = (vg_sigma)rng_below(2);
        options.sigma_margin = (vg_sigma)rng_below(2);
        options.log_base = (vg_log_base)rng_below(2);
        options.normalise = (int)rng_below(2);
        options.gate_eps_form = (vg_gate_eps)rng_below(2);
        options.margin_eps_form = (vg_margin_eps)rng_below(2);
        if (options.logits && rng_below(2)) {
            options.temperature = temperature;
            options.temperature_count = rng_below(2) ? r.m : 1;
        }
        snprintf(name, sizeof name, "random %zu", trial);
        differences += device_case(&r, name, trial % 3 ? VG_F32 : VG_F64, &options, score);
    }
    return differences;
}

/* A result has the same bits whatever else is asked for and however many samples follow: the number of fields for which
 * it has not. */
static inline size_t device_alone_case(case_scoring score, const device_recipe *r, vg_dtype dtype) {
    double *wide = make_predictions(r->n, r->m, r->c, r->kind, r->parameter);
    void *p = dtype == VG_F64 ? (void *)wide : narrowed(wide, r->n * r->m * r->c, dtype);
    vg_predictions view = {p, dtype, r->n, r->m, r->c, (ptrdiff_t)(r->m * r->c), (ptrdiff_t)r->c, 1}, some = view;
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    score_shape shape = shape_of(&view, &options), fewer;
    vg_scores all = scores_new(shape), one = scores_new(shape);
    vg_score_summary summary;
    size_t differences = 0;
    some.n = (r->n + 1) / 2;
    fewer = shape_of(&some, &options);
    if (score(&all, &summary, &view, &options) != VG_OK)
        differences++;
    for (int f = 0; f < SCORE_FIELDS; f++) {
        vg_scores alone = {0};
        *score_place(&alone, f) = *score_place(&one, f);
        bool good = score(&alone, &summary, f % 2 ? &some : &view, &options) == VG_OK;
        size_t bytes = score_count(f % 2 ? fewer : shape, score_fields[f].size) * sizeof(double);
        if (!good || memcmp(*score_place(&one, f), *score_place(&all, f), bytes) != 0) {
            fprintf(stderr, "  %zu x %zu: %s differs where it is asked for alone\n", r->m, r->c, score_fields[f].name);
            differences++;
        }
    }
    scores_free(&all), scores_free(&one);
    if (p != wide)
        free(p);
    free(wide);
    return differences;
}

/* Samples in every form: groups of lanes, tiles, blocks. */
static inline size_t device_alone_cases(case_scoring score) {
    static const device_recipe recipes[] = {
        {MAKE_SOME_ZERO, 0.3, 61, 5, 19},   {MAKE_DIRICHLET, 0.3, 77, 1, 2},   {MAKE_SOME_ZERO, 0.3, 33, 12, 4},
        {MAKE_DIRICHLET, 0.3, 9, 8, 256},   {MAKE_SOME_ZERO, 0.3, 5, 3, 400},  {MAKE_DIRICHLET, 0.3, 3, 20, 300},
        {MAKE_DIRICHLET, 0.3, 40, 10, 10},  {MAKE_SOME_ZERO, 0.3, 9, 20, 100}, {MAKE_DIRICHLET, 1, 30, 100, 10},
        {MAKE_DIRICHLET, 0.3, 5, 100, 100}, {MAKE_NEAR, 0.1, 9, 50, 30},       {MAKE_DIRICHLET, 0.3, 3, 130, 140}};
    size_t differences = 0;
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        rng_state = 900 + i;
        differences += device_alone_case(score, &recipes[i], VG_F32);
        if (i % 3 == 0)
            differences += device_alone_case(score, &recipes[i], VG_F64);
    }
    return differences;
}

#endif
