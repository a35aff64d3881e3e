/* random_trials.h - random problems for the property tests: shapes, options and values as far apart as the definitions
 * allow. A trial is a function of its number and the seed, so that every process makes the same one. */
#ifndef VG_TEST_RANDOM_TRIALS_H
#define VG_TEST_RANDOM_TRIALS_H

#include "measures_util.h"

enum { MOST_MEMBERS = 40, MOST_CLASSES = 130, MOST_K = 4 };

typedef struct trial {
    uint64_t number;
    double *p; /* p[n][m][c], or logits */
    vg_dtype dtype;
    size_t n, m, c;
    vg_score_options options;
    double k[MOST_K], temperature[MOST_MEMBERS], class_k[MOST_CLASSES];
    const char *kind;
    double range; /* of logits over T: the largest difference in a row */
} trial;

static inline double log_uniform(double from, double to) { return pow(10, from + (to - from) * rng_uniform()); }

/* Rows at the ends of what float64 holds. */
static inline void extreme_row(double *row, size_t c, int kind, size_t chosen) {
    static const double steps[] = {0, 4.9406564584124654e-324, 1e-300, 1e-45, 1e-38, 1e-16, 1e-12, 1e-8, 1e-3, 1};
    for (size_t i = 0; i < c; i++)
        switch (kind) {
        case 0: row[i] = i == chosen ? 1 : log_uniform(-323, -300); break;                  /* subnormal */
        case 1: row[i] = i == chosen ? 1 - 0x1p-53 : 0x1p-53 / (double)(c - 1); break;      /* 1 - 1e-16 */
        case 2: row[i] = i == chosen; break;                                                /* one-hot */
        case 3: row[i] = 1 / (double)c; break;                                              /* uniform */
        case 4: row[i] = steps[rng_below(10)] + (i == chosen); break;                       /* far apart */
        default: row[i] = i == chosen ? 1 : i == (chosen + 1) % c ? 1 - 0x1p-52 : 0; break; /* nearly a tie */
        }
    if (kind >= 3)
        scale_to_one(row, c);
}

static inline void draw_extreme(trial *t) {
    static const char *const names[] = {"subnormal", "1-2^-53", "one-hot", "uniform", "far apart", "near tie"};
    int kind = (int)rng_below(6);
    size_t common = rng_below(t->c);
    t->kind = names[kind];
    for (size_t r = 0; r < t->n * t->m; r++)
        extreme_row(t->p + r * t->c, t->c, kind, rng_below(3) ? common : rng_below(t->c));
}

/* Logits: ordinary ones, huge ones, large offsets that the softmax must cancel, and the probability 0. */
static inline void draw_logits(trial *t) {
    int kind = (int)rng_below(5);
    double scale = kind == 0 ? log_uniform(-8, 1) : kind == 1 ? log_uniform(1, 6) : 3;
    t->kind = kind == 0 ? "logits" : kind == 1 ? "huge logits" : kind == 2 ? "shifted logits" : "logits with -inf";
    for (size_t r = 0; r < t->n * t->m; r++) {
        double shift = kind == 2 ? 1e3 * rng_normal() : 0;
        for (size_t i = 0; i < t->c; i++)
            t->p[r * t->c + i] = scale * rng_normal() + shift;
        if (kind > 3 && t->options.task == VG_TASK_MULTICLASS)
            t->p[r * t->c + rng_below(t->c)] = -INFINITY;
    }
}

static inline void draw_probabilities(trial *t) {
    static const maker kinds[] = {MAKE_DIRICHLET,  MAKE_ONE_HOT,   MAKE_IDENTICAL, MAKE_NEAR,
                                  MAKE_ZERO_CLASS, MAKE_SOME_ZERO, MAKE_TIE,       MAKE_FLOOR,
                                  MAKE_DENORMAL,   MAKE_PEAKED,    MAKE_FAR,       MAKE_MIXED};
    static const char *const names[] = {"dirichlet", "one-hot", "identical", "near",   "zero class", "some zero",
                                        "tie",       "floor",   "denormal",  "peaked", "far",        "mixed"};
    size_t chosen = rng_below(12);
    double parameter = kinds[chosen] == MAKE_NEAR ? log_uniform(-7, 0) : log_uniform(-2, 2);
    if (kinds[chosen] == MAKE_FAR || kinds[chosen] == MAKE_MIXED)
        parameter = 1 + 12 * rng_uniform();
    t->kind = names[chosen];
    free(t->p);
    t->p = t->options.task == VG_TASK_MULTICLASS ? make_predictions(t->n, t->m, t->c, kinds[chosen], parameter)
                                                 : make_labels(t->n, t->m, t->c, kinds[chosen], parameter);
}

static inline void draw_k(trial *t) {
    vg_score_options *o = &t->options;
    o->k = t->k;
    o->k_count = 1 + rng_below(MOST_K);
    for (size_t i = 0; i < o->k_count; i++)
        t->k[i] = rng_below(2) ? log_uniform(-2, 2) : log_uniform(-300, 300);
    if (rng_below(8) == 0) {
        o->class_k = t->class_k;
        o->class_k_count = rng_below(4) ? t->c : 1;
        double decades = rng_below(2) ? 0.4 : 1.5;
        for (size_t i = 0; i < t->c; i++) /* the reference reads one of every class */
            t->class_k[i] = i < o->class_k_count ? log_uniform(-decades, decades) : t->class_k[0];
    }
    if (o->logits && rng_below(2)) {
        o->temperature = t->temperature;
        o->temperature_count = rng_below(2) ? 1 : t->m;
        for (size_t i = 0; i < o->temperature_count; i++)
            t->temperature[i] = log_uniform(-2, 2);
    }
}

static inline void draw_options(trial *t) {
    vg_score_options *o = &t->options;
    *o = (vg_score_options)VG_SCORE_OPTIONS_INIT;
    o->threads = 1;
    if (rng_below(4) == 0)
        o->task = rng_below(2) ? VG_TASK_MULTILABEL : VG_TASK_MULTILABEL_LITERAL;
    o->logits = rng_below(4) == 0;
    o->renormalise = !o->logits && rng_below(6) == 0;
    if (rng_below(2)) { /* a preset, or every switch for itself */
        if (vg_score_options_preset(o, (vg_preset)rng_below(3)) != VG_OK)
            abort();
        return;
    }
    o->pairs = (vg_pairs)rng_below(2);
    o->sigma_gate = (vg_sigma)rng_below(2);
    o->sigma_margin = (vg_sigma)rng_below(2);
    o->log_base = (vg_log_base)rng_below(2);
    o->normalise = (int)rng_below(2);
    o->floor_form = (vg_floor)rng_below(3);
    o->floor = log_uniform(-30, -6);
    o->gate_eps_form = (vg_gate_eps)rng_below(2);
    o->margin_eps_form = (vg_margin_eps)rng_below(2);
    o->eps = rng_below(2) ? 1e-8 : log_uniform(-12, -1);
}

static inline double range_of(const trial *t) {
    double range = 0;
    const vg_score_options *o = &t->options;
    for (size_t r = 0; o->logits && r < t->n * t->m; r++) {
        double low = o->task == VG_TASK_MULTICLASS ? INFINITY : 0, high = o->task == VG_TASK_MULTICLASS ? -INFINITY : 0;
        for (size_t i = r * t->c; i < (r + 1) * t->c; i++) {
            low = isfinite(t->p[i]) ? fmin(low, t->p[i]) : low;
            high = fmax(high, t->p[i]);
        }
        double temperature = o->temperature ? o->temperature[o->temperature_count > 1 ? r % t->m : 0] : 1;
        range = fmax(range, (high - low) / temperature);
    }
    return range;
}

/* The trial of this number; freed by trial_free. */
static inline trial trial_new(uint64_t seed, uint64_t number) {
    trial t = {.number = number};
    rng_state = (seed * 0x2545f4914f6cdd1du) ^ (number * 0x9e3779b97f4a7c15u + 1);
    rng_next();
    draw_options(&t);
    int large = rng_below(32) == 0;
    t.dtype = rng_below(2) ? VG_F64 : VG_F32;
    t.n = 1 + rng_below(4);
    t.m = 1 + rng_below(large ? MOST_MEMBERS : 9);
    t.c = 2 + rng_below(large ? MOST_CLASSES - 2 : 9);
    t.p = ref_alloc(t.n * t.m * t.c, sizeof *t.p);
    draw_k(&t);
    if (t.options.logits)
        draw_logits(&t);
    else if (rng_below(2))
        draw_extreme(&t);
    else
        draw_probabilities(&t);
    if (t.options.renormalise && t.options.task == VG_TASK_MULTICLASS) {
        double scale = log_uniform(-3, 3); /* not so far that a subnormal row has no sum in float32 */
        for (size_t i = 0; i < t.n * t.m * t.c; i++)
            t.p[i] *= scale;
    }
    for (size_t i = 0; t.dtype == VG_F32 && i < t.n * t.m * t.c; i++)
        t.p[i] = (float)t.p[i];
    t.range = range_of(&t);
    return t;
}

/* A struct that is copied to another place points to its own settings again. */
static inline void trial_settle(trial *t) {
    t->options.k = t->k;
    t->options.class_k = t->options.class_k ? t->class_k : NULL;
    t->options.temperature = t->options.temperature ? t->temperature : NULL;
}

static inline void trial_free(trial *t) { free(t->p); }

#endif
