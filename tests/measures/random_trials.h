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

/* Decimal logarithms between which numbers are subnormal (float16: not so large that 130 of them and 1 sum to more than
 * 1.001), and the distance from 1 to the next number below. */
typedef struct type_ends {
    double least, most, below_one;
} type_ends;

static inline type_ends ends_of(vg_dtype type) {
    switch (type) {
    case VG_F64: return (type_ends){-323.3, -307.7, 0x1p-53};
    case VG_F32: return (type_ends){-44.8, -37.9, 0x1p-24};
    case VG_F16: return (type_ends){-7.2, -5.3, 0x1p-11};
    default: return (type_ends){-40, -37.9, 0x1p-8};
    }
}

/* Rows at the ends of what the type holds. */
static inline void extreme_row(double *row, size_t c, int kind, size_t chosen, type_ends ends) {
    static const double steps[] = {0, 4.9406564584124654e-324, 1e-300, 1e-45, 1e-38, 1e-16, 1e-12, 1e-8, 1e-3, 1};
    double little = ends.below_one;
    for (size_t i = 0; i < c; i++)
        switch (kind) {
        case 0: row[i] = i == chosen ? 1 : log_uniform(ends.least, ends.most); break;   /* subnormal */
        case 1: row[i] = i == chosen ? 1 - little : little / (double)(c - 1); break;    /* 1 - 1e-16 */
        case 2: row[i] = i == chosen; break;                                            /* one-hot */
        case 3: row[i] = 1 / (double)c; break;                                          /* uniform */
        case 4: row[i] = steps[rng_below(10)] + (i == chosen); break;                   /* far apart */
        default: row[i] = i == chosen ? 1 : i == (chosen + 1) % c ? 1 - 2 * little : 0; /* nearly a tie */
        }
    if (kind >= 3)
        scale_to_one(row, c);
}

static inline void draw_extreme(trial *t) {
    static const char *const names[] = {"subnormal", "1 - ulp", "one-hot", "uniform", "far apart", "near tie"};
    int kind = (int)rng_below(6);
    size_t common = rng_below(t->c);
    t->kind = names[kind];
    for (size_t r = 0; r < t->n * t->m; r++)
        extreme_row(t->p + r * t->c, t->c, kind, rng_below(3) ? common : rng_below(t->c), ends_of(t->dtype));
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

/* To what the type holds, so that the reference and every tier read the same values. */
static inline void narrow_values(trial *t) {
    for (size_t i = 0; i < t->n * t->m * t->c; i++) {
        uint16_t bits = narrow_bits(t->p[i], t->dtype);
        t->p[i] = t->dtype == VG_F64   ? t->p[i]
                  : t->dtype == VG_F32 ? (float)t->p[i]
                  : t->dtype == VG_F16 ? ref_half(bits)
                                       : ref_bfloat(bits);
    }
}

/* The trial of this number; freed by trial_free. */
static inline trial trial_new(uint64_t seed, uint64_t number) {
    trial t = {.number = number};
    rng_state = (seed * 0x2545f4914f6cdd1du) ^ (number * 0x9e3779b97f4a7c15u + 1);
    rng_next();
    draw_options(&t);
    int large = rng_below(32) == 0;
    t.dtype = (vg_dtype[]){VG_F64, VG_F32, VG_F16, VG_BF16}[rng_below(4)];
    if (t.dtype == VG_BF16 && !t.options.logits) /* rounded rows sum to 1 within 1 / 512 only */
        t.options.renormalise = 1;
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
    narrow_values(&t);
    t.range = range_of(&t);
    return t;
}

/* What a run must have met, whatever the seed. */
typedef enum feature {
    HAS_SMALL_K,
    HAS_LARGE_K,
    HAS_CLASS_K,
    HAS_TEMPERATURES,
    HAS_SUBNORMAL,                       /* HAS_SUBNORMAL + the type: a value that is subnormal in it */
    HAS_NEXT_TO_ONE = HAS_SUBNORMAL + 4, /* the number below 1 of the type */
    HAS_ONE_HOT = HAS_NEXT_TO_ONE + 4,
    HAS_LOGITS = HAS_ONE_HOT + 4,
    HAS_PROBABILITIES = HAS_LOGITS + 4, /* as they are, or divided by their sums */
    HAS_TASK = HAS_PROBABILITIES + 4,   /* + the task */
    HAS_FLOOR = HAS_TASK + 3,           /* + the form of the floor */
    HAS_MINUS_INFINITY = HAS_FLOOR + 3,
    HAS_EQUAL_MEMBERS, /* M > 1, all the same */
    HAS_ONE_MEMBER,
    HAS_TWO_CLASSES,
    HAS_MANY_CLASSES, /* more than a tile */
    FEATURES
} feature;

static inline uint64_t features_of(const trial *t) {
    static const double normal[] = {[VG_F32] = FLT_MIN, [VG_F64] = DBL_MIN, [VG_F16] = 0x1p-14, [VG_BF16] = FLT_MIN};
    const vg_score_options *o = &t->options;
    int type = (int)t->dtype, equal = t->m > 1;
    uint64_t has = (uint64_t)1 << (HAS_TASK + (int)o->task) | (uint64_t)1 << (HAS_FLOOR + (int)o->floor_form) |
                   (uint64_t)1 << ((o->logits ? HAS_LOGITS : HAS_PROBABILITIES) + type) |
                   (uint64_t)(t->m == 1) << HAS_ONE_MEMBER | (uint64_t)(t->c == 2) << HAS_TWO_CLASSES |
                   (uint64_t)(t->c > 64) << HAS_MANY_CLASSES | (uint64_t)(o->class_k != NULL) << HAS_CLASS_K |
                   (uint64_t)(o->temperature_count > 1) << HAS_TEMPERATURES;
    for (size_t i = 0; i < o->k_count; i++)
        has |= (uint64_t)(o->k[i] < 1e-280) << HAS_SMALL_K | (uint64_t)(o->k[i] > 1e280) << HAS_LARGE_K;
    for (size_t r = 0; r < t->n * t->m; r++) {
        const double *row = t->p + r * t->c;
        size_t zeros = 0, ones = 0;
        for (size_t i = 0; i < t->c; i++) {
            double x = row[i];
            zeros += x == 0, ones += x == 1;
            has |= (uint64_t)(x > 0 && x < normal[type]) << (HAS_SUBNORMAL + type) |
                   (uint64_t)(x == 1 - ends_of(t->dtype).below_one) << (HAS_NEXT_TO_ONE + type) |
                   (uint64_t)(x == -INFINITY) << HAS_MINUS_INFINITY;
        }
        has |= (uint64_t)(ones == 1 && zeros == t->c - 1) << (HAS_ONE_HOT + type);
        equal = equal && memcmp(row, t->p + r / t->m * t->m * t->c, t->c * sizeof *row) == 0;
    }
    return has | (uint64_t)equal << HAS_EQUAL_MEMBERS;
}

/* A struct that was copied points to its own settings again. */
static inline void trial_settle(trial *t) {
    t->options.k = t->k;
    t->options.class_k = t->options.class_k ? t->class_k : NULL;
    t->options.temperature = t->options.temperature ? t->temperature : NULL;
}

static inline void trial_free(trial *t) { free(t->p); }

#endif
