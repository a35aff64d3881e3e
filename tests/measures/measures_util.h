/* measures_util.h - what the measure tests share: random and adversarial predictions, comparison with the reference at
 * the promised tolerances, and running a suite once in every SIMD tier. */
#ifndef VG_TEST_MEASURES_UTIL_H
#define VG_TEST_MEASURES_UTIL_H

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "reference.h"

/* --- random numbers: splitmix64 ----------------------------------------------------------------------------------- */

static uint64_t rng_state = 1;

static inline uint64_t rng_next(void) {
    uint64_t z = (rng_state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline double rng_uniform(void) { return ((double)(rng_next() >> 11) + 0.5) * 0x1p-53; } /* in (0, 1) */
static inline size_t rng_below(size_t n) { return (size_t)(rng_next() % n); }

static inline double rng_normal(void) { return sqrt(-2 * log(rng_uniform())) * cos(6.283185307179586 * rng_uniform()); }

/* The logarithm of a Gamma(alpha, 1) variate (Marsaglia and Tsang; alpha < 1 by G(alpha + 1) U^(1/alpha)). */
static inline double rng_log_gamma(double alpha) {
    double boost = 0;
    if (alpha < 1) {
        boost = log(rng_uniform()) / alpha;
        alpha += 1;
    }
    double d = alpha - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = rng_normal(), v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        if (log(rng_uniform()) < 0.5 * x * x + d - d * v + d * log(v))
            return log(d * v) + boost;
    }
}

/* --- element types ------------------------------------------------------------------------------------------------ */

static inline const char *type_name(vg_dtype type) {
    return type == VG_F64 ? "f64" : type == VG_F32 ? "f32" : type == VG_F16 ? "f16" : "bf16";
}

/* The bits of the float16 or bfloat16 nearest to x, ties to even; the largest finite one where a finite x is beyond. */
static inline uint16_t narrow_bits(double x, vg_dtype type) {
    int fraction = type == VG_F16 ? 10 : 7, bias = type == VG_F16 ? 15 : 127, exponent;
    unsigned sign = signbit(x) ? 0x8000 : 0, infinite = (2u * (unsigned)bias + 1) << fraction, bits;
    double f = frexp(fabs(x), &exponent);
    if (isinf(x))
        return (uint16_t)(sign | infinite);
    if (f == 0 || exponent < 2 - bias)
        bits = (unsigned)rint(ldexp(fabs(x), bias - 1 + fraction)); /* subnormal */
    else if (exponent > bias + 1)
        bits = infinite - 1;
    else
        bits = ((unsigned)(exponent - 2 + bias) << fraction) + (unsigned)rint(ldexp(f, fraction + 1));
    return (uint16_t)(sign | (bits < infinite ? bits : infinite - 1));
}

/* The values as an array of this type, to be freed. */
static inline void *narrowed(const double *values, size_t count, vg_dtype type) {
    void *data = ref_alloc(count, sizeof(double));
    for (size_t i = 0; i < count; i++)
        if (type == VG_F64)
            ((double *)data)[i] = values[i];
        else if (type == VG_F32)
            ((float *)data)[i] = (float)values[i];
        else
            ((uint16_t *)data)[i] = narrow_bits(values[i], type);
    return data;
}

/* --- predictions: p[n][m][c] as doubles, narrowed afterwards ------------------------------------------------------ */

typedef enum maker {
    MAKE_DIRICHLET,  /* members independent, parameter alpha */
    MAKE_ONE_HOT,    /* every member 1 on one class: many exact ties */
    MAKE_IDENTICAL,  /* one Dirichlet draw for all members */
    MAKE_UNIFORM,    /* every class 1/C: rounding is the same in all classes and does not cancel in sums over them */
    MAKE_NEAR,       /* one draw, times exp(parameter * normal) */
    MAKE_ZERO_CLASS, /* Dirichlet with about a third of the classes 0 in every member */
    MAKE_SOME_ZERO,  /* Dirichlet with entries set to 0 at random */
    MAKE_TIE,        /* the first two classes equal in every member, and the largest */
    MAKE_FLOOR,      /* all classes but one log-uniform in 1e-16 .. 1e-8 */
    MAKE_DENORMAL,   /* all classes but one subnormal (in float32), or a little above */
    MAKE_PEAKED,     /* collapsed ensemble: one class above 1 - 1e-6 in every member */
    MAKE_FAR,        /* two kinds of members, up to `parameter` decades apart, by sample and class */
    /* one draw, each class times exp(a spread of its own * normal), spreads over `parameter` decades below 1 */
    MAKE_MIXED,
    MAKE_FIRST,      /* the first nine members Dirichlet(0.3), the others close together (MAKE_NEAR) */
    MAKE_LOGITS,     /* normal logits times parameter */
    MAKE_LOGITS_NEAR /* one draw of normal logits times 3, plus parameter * normal */
} maker;

static inline void to_distribution(double *row, size_t c) { /* from logarithms */
    double largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < c; i++)
        largest = row[i] > largest ? row[i] : largest;
    for (size_t i = 0; i < c; i++)
        sum += row[i] = exp(row[i] - largest);
    for (size_t i = 0; i < c; i++)
        row[i] /= sum;
}

static inline void draw_dirichlet(double *row, size_t c, double alpha) {
    for (size_t i = 0; i < c; i++)
        row[i] = rng_log_gamma(alpha);
    to_distribution(row, c);
}

static inline void scale_to_one(double *row, size_t c) {
    double sum = 0;
    for (size_t i = 0; i < c; i++)
        sum += row[i];
    for (size_t i = 0; i < c; i++)
        row[i] /= sum;
}

/* One class takes what the others, each 10^uniform(from, to), leave. */
static inline void draw_small(double *row, size_t c, double from, double to, size_t main_class) {
    double rest = 1;
    for (size_t i = 0; i < c; i++) {
        row[i] = pow(10, from + (to - from) * rng_uniform());
        rest -= i == main_class ? 0 : row[i];
    }
    row[main_class] = rest;
}

static inline void draw_member(double *row, size_t c, maker kind, double parameter, const double *base) {
    size_t chosen = rng_below(c);
    switch (kind) {
    case MAKE_ONE_HOT:
        for (size_t i = 0; i < c; i++)
            row[i] = i == chosen;
        break;
    case MAKE_IDENTICAL: memcpy(row, base, c * sizeof *row); break;
    case MAKE_UNIFORM:
        for (size_t i = 0; i < c; i++)
            row[i] = 1 / (double)c;
        break;
    case MAKE_NEAR:
        for (size_t i = 0; i < c; i++)
            row[i] = base[i] * exp(parameter * rng_normal());
        scale_to_one(row, c);
        break;
    case MAKE_ZERO_CLASS:
        draw_dirichlet(row, c, parameter);
        for (size_t i = 0; i < c; i++)
            row[i] = base[i] < 0.5 / (double)c ? 0 : row[i] + 1e-3;
        scale_to_one(row, c);
        break;
    case MAKE_SOME_ZERO:
        draw_dirichlet(row, c, parameter);
        for (size_t i = 0; i < c; i++)
            row[i] = i != chosen && rng_uniform() < 0.4 ? 0 : row[i] + 1e-4;
        scale_to_one(row, c);
        break;
    case MAKE_TIE:
        draw_dirichlet(row, c, parameter);
        row[0] = row[1] = 1.5 + rng_uniform();
        scale_to_one(row, c);
        break;
    case MAKE_FLOOR: draw_small(row, c, -16, -8, parameter > 0 ? chosen : 0); break;
    case MAKE_DENORMAL: draw_small(row, c, -44, -30, parameter > 0 ? chosen : 0); break;
    case MAKE_PEAKED: draw_small(row, c, -14, -7 - log10((double)c), 0); break;
    case MAKE_FAR: /* the last class takes what the others leave */
        row[c - 1] = 1;
        for (size_t i = 0; i + 1 < c; i++) {
            double decades = parameter * (0.3 + 0.7 * fmod(1000 * base[i], 1));
            row[i] = 0.5 / (double)c * (rng_below(2) ? 1 : pow(10, -decades) * (1 + 0.1 * rng_uniform()));
            row[c - 1] -= row[i];
        }
        break;
    case MAKE_MIXED:
        for (size_t i = 0; i < c; i++)
            row[i] =
                log(base[i] > 1e-30 ? base[i] : 1e-30) + pow(10, -parameter * fmod(1000 * base[i], 1)) * rng_normal();
        to_distribution(row, c);
        break;
    case MAKE_LOGITS:
        for (size_t i = 0; i < c; i++)
            row[i] = parameter * rng_normal();
        break;
    case MAKE_LOGITS_NEAR:
        for (size_t i = 0; i < c; i++)
            row[i] = log(base[i]) + parameter * rng_normal();
        break;
    default: draw_dirichlet(row, c, parameter);
    }
}

static inline double *make_predictions(size_t n, size_t m, size_t c, maker kind, double parameter) {
    double *data = ref_alloc(n * m * c, sizeof *data), *base = ref_alloc(c, sizeof *base);
    static const double alphas[] = {0.05, 0.3, 1, 5, 100};
    for (size_t i = 0; i < n; i++) {
        draw_dirichlet(base, c, kind == MAKE_IDENTICAL ? parameter : alphas[i % 5]);
        if (kind == MAKE_NEAR || kind == MAKE_FIRST || kind == MAKE_LOGITS_NEAR)
            for (size_t x = 0; x < c; x++)
                base[x] = base[x] > 1e-9 ? base[x] : 1e-9;
        if (kind == MAKE_NEAR || kind == MAKE_FIRST)
            scale_to_one(base, c);
        for (size_t j = 0; j < m; j++) {
            int apart = kind == MAKE_FIRST && j < 9;
            draw_member(data + (i * m + j) * c, c,
                        apart                ? MAKE_DIRICHLET
                        : kind == MAKE_FIRST ? MAKE_NEAR
                                             : kind,
                        apart ? 0.3 : parameter, base);
        }
    }
    free(base);
    return data;
}

/* Multilabel u[n][m][c]: each label's Bernoulli, drawn as the second entry of a two-class member. */
static inline double *make_labels(size_t n, size_t m, size_t c, maker kind, double parameter) {
    double *data = ref_alloc(n * m * c, sizeof *data);
    for (size_t i = 0; i < n; i++)
        for (size_t l = 0; l < c; l++) {
            double *pair = make_predictions(1, m, 2, kind, parameter);
            for (size_t j = 0; j < m; j++)
                data[(i * m + j) * c + l] = pair[2 * j + (i + l) % 2];
            free(pair);
        }
    return data;
}

/* --- results ------------------------------------------------------------------------------------------------------ */

/* Every double-valued field of vg_scores: how many values it has, and whether it is held to a relative error. */
enum field_size { PER_PROBLEM, PER_K, PER_CLASS };
typedef struct score_field {
    const char *name;
    size_t offset;
    enum field_size size;
    int relative;
} score_field;
#define FIELD(name, size, relative)                                                                                    \
    { #name, offsetof(vg_scores, name), size, relative }
static const score_field score_fields[] = {
    FIELD(tu, PER_PROBLEM, 0),   FIELD(au, PER_PROBLEM, 0),   FIELD(eu, PER_PROBLEM, 1), FIELD(epce, PER_PROBLEM, 0),
    FIELD(epkl, PER_PROBLEM, 1), FIELD(epjs, PER_PROBLEM, 1), FIELD(gtu, PER_K, 0),      FIELD(gau, PER_K, 0),
    FIELD(geu, PER_K, 1),        FIELD(gepce, PER_K, 0),      FIELD(gepkl, PER_K, 1),    FIELD(gepjs, PER_K, 1),
    FIELD(gmu, PER_PROBLEM, 0),  FIELD(snr, PER_PROBLEM, 0),  FIELD(mean, PER_CLASS, 0), FIELD(std, PER_CLASS, 0)};
enum { SCORE_FIELDS = sizeof score_fields / sizeof *score_fields };

typedef struct score_shape {
    size_t problems, k, classes; /* classes: N C */
} score_shape;

static inline double **score_place(vg_scores *s, int field) {
    return (double **)(void *)((char *)s + score_fields[field].offset);
}

static inline size_t score_count(score_shape shape, enum field_size size) {
    return size == PER_PROBLEM ? shape.problems : size == PER_K ? shape.problems * shape.k : shape.classes;
}

static inline score_shape shape_of(const vg_predictions *v, const vg_score_options *o) {
    return (score_shape){o->task == VG_TASK_MULTICLASS ? v->n : v->n * v->c, o->k ? o->k_count : 3, v->n * v->c};
}

/* Every field, filled with bytes that are no result. */
static inline vg_scores scores_new(score_shape shape) {
    vg_scores s = {0};
    for (int f = 0; f < SCORE_FIELDS; f++) {
        size_t count = score_count(shape, score_fields[f].size);
        *score_place(&s, f) = ref_alloc(count, sizeof(double));
        memset(*score_place(&s, f), 0xee, count * sizeof(double));
    }
    s.pred = ref_alloc(shape.problems, sizeof *s.pred);
    s.second = ref_alloc(shape.problems, sizeof *s.second);
    s.flags = ref_alloc(shape.problems, sizeof *s.flags);
    s.decision = ref_alloc(shape.problems * shape.k, sizeof *s.decision);
    memset(s.pred, 0xee, shape.problems * sizeof *s.pred);
    memset(s.second, 0xee, shape.problems * sizeof *s.second);
    memset(s.flags, 0xee, shape.problems * sizeof *s.flags);
    memset(s.decision, 0xee, shape.problems * shape.k * sizeof *s.decision);
    return s;
}

static inline void scores_free(vg_scores *s) {
    for (int f = 0; f < SCORE_FIELDS; f++)
        free(*score_place(s, f));
    free(s->pred);
    free(s->second);
    free(s->flags);
    free(s->decision);
}

static inline ref_extra extra_new(score_shape s) {
    return (ref_extra){ref_alloc(s.problems, sizeof(double)), ref_alloc(s.problems, sizeof(double)),
                       ref_alloc(s.problems, sizeof(double)), ref_alloc(s.problems, sizeof(double)),
                       ref_alloc(s.problems * s.k, sizeof(double))};
}

static inline void extra_free(ref_extra *e) {
    free(e->gap);
    free(e->gap2);
    free(e->snr_denominator);
    free(e->mu_first);
    free(e->rule);
}

/* --- a case: predictions, options, and what the reference says of them -----------------------------------------------
 */

typedef struct score_case {
    char name[160];
    void *data;
    double *k, *temperature, *class_k;
    vg_predictions view;
    vg_score_options options;
    score_shape shape;
    vg_scores want;
    ref_extra extra;
    vg_score_summary summary;
} score_case;

/* `data` (doubles, taken over) narrowed to dtype. k and temperature are copied. */
static inline score_case case_new(const char *name, double *data, vg_dtype dtype, size_t n, size_t m, size_t c,
                                  const vg_score_options *options) {
    score_case s = {.options = *options};
    snprintf(s.name, sizeof s.name, "%s %s N=%zu M=%zu C=%zu", name, type_name(dtype), n, m, c);
    s.data = narrowed(data, n * m * c, dtype);
    s.view = (vg_predictions){s.data, dtype, n, m, c, (ptrdiff_t)(m * c), (ptrdiff_t)c, 1};
    free(data);
    if (options->k) {
        s.options.k = s.k = ref_alloc(options->k_count, sizeof(double));
        memcpy(s.k, options->k, options->k_count * sizeof(double));
    }
    if (options->temperature) {
        s.options.temperature = s.temperature = ref_alloc(options->temperature_count, sizeof(double));
        memcpy(s.temperature, options->temperature, options->temperature_count * sizeof(double));
    }
    if (options->class_k) {
        s.options.class_k = s.class_k = ref_alloc(c, sizeof(double));
        memcpy(s.class_k, options->class_k, c * sizeof(double));
    }
    s.shape = shape_of(&s.view, &s.options);
    s.want = scores_new(s.shape);
    s.extra = extra_new(s.shape);
    ref_score(&s.want, &s.extra, &s.summary, &s.view, &s.options);
    return s;
}

static inline void case_free(score_case *s) {
    free(s->data);
    free(s->k);
    free(s->temperature);
    free(s->class_k);
    scores_free(&s->want);
    extra_free(&s->extra);
}

/* --- comparison ------------------------------------------------------------------------------------------------------
 */

enum { complaint_limit = 4 }; /* lines per case */

typedef struct complaint {
    const score_case *in;
    size_t count;
} complaint;

static inline void complain(complaint *c, const char *what, size_t at, double want, double got, double allowed) {
    if (c->count++ < complaint_limit)
        fprintf(stderr, "  %s [%s]: %s[%zu] want %.17g got %.17g (off %.3g, allowed %.3g)\n", vg_cpu_tier(),
                c->in->name, what, at, want, got, fabs(want - got), allowed);
}

/* Whether members are computed on entry (softmax, a division by the sum) and so carry a rounding error of their own. */
static inline int computed_members(const score_case *s) {
    return s->options.logits || s->options.renormalise || s->options.floor_form == VG_FLOOR_CLAMP;
}

/* The same of a label's two outcomes, 1 - u and u. */
static inline int rounded_members(const score_case *s) {
    return computed_members(s) || s->options.task != VG_TASK_MULTICLASS;
}

/* Means closer than this, relatively, may come out in either order after rounding; equal ones must tie when sums are
 * exact. */
static inline int near_tie(const score_case *s, double gap) {
    double near = s->view.dtype == VG_F64 ? 1e-13 : 1e-6;
    return gap < near && (gap > 0 || computed_members(s));
}

static inline int ambiguous(const score_case *s, size_t problem) {
    return near_tie(s, s->extra.gap[problem]) || near_tie(s, s->extra.gap2[problem]);
}

/* The absolute error allowed at one value: 1e-6 or 1e-12, for SNR relative to max(1, SNR), and for what logits leave
 * unbounded relative to max(1, value). SNR divides a margin, good to a few ulps of the mean, by as little as eps; and
 * where members are computed on entry, their spread too is good to a few ulps of the mean only. That much is in the
 * formula and in float64 itself and is allowed for, in GMU too. */
static inline double allowed_error(const score_case *s, int field, size_t at, double want) {
    double tolerance = s->view.dtype == VG_F64 ? 1e-12 : 1e-6;
    const char *name = score_fields[field].name;
    if (!strcmp(name, "snr") || !strcmp(name, "gmu")) {
        double snr = s->want.snr[at], ulps = 8 * DBL_EPSILON * s->extra.mu_first[at] / s->extra.snr_denominator[at];
        if (rounded_members(s))
            ulps *= 1 + snr;
        return !strcmp(name, "snr") ? tolerance * fmax(1, snr) + ulps
                                    : tolerance + s->extra.mu_first[at] * exp(-snr) * ulps;
    }
    return s->options.logits ? tolerance * fmax(1, fabs(want)) : tolerance;
}

static inline void compare_doubles(complaint *c, int field, const double *want, const double *got) {
    const score_case *s = c->in;
    const score_field *f = &score_fields[field];
    double relative = s->view.dtype == VG_F64 ? 1e-9 : 1e-4;
    int margin = !strcmp(f->name, "snr") || !strcmp(f->name, "gmu");
    for (size_t i = 0; i < score_count(s->shape, f->size); i++) {
        if (margin && ambiguous(s, i))
            continue;
        double allowed = allowed_error(s, field, i, want[i]);
        if (f->relative && want[i] >= 1e-12)
            allowed = fmin(allowed, relative * want[i]);
        if (!(fabs(want[i] - got[i]) <= allowed))
            complain(c, f->name, i, want[i], got[i], allowed);
    }
}

static inline void compare_classes(complaint *c, const vg_scores *got) {
    const score_case *s = c->in;
    double near = s->view.dtype == VG_F64 ? 1e-13 : 1e-6;
    for (size_t i = 0; i < s->shape.problems; i++) {
        if (ambiguous(s, i))
            continue;
        if (got->pred[i] != s->want.pred[i])
            complain(c, "pred", i, s->want.pred[i], got->pred[i], 0);
        if (got->second[i] != s->want.second[i])
            complain(c, "second", i, s->want.second[i], got->second[i], 0);
        if (got->flags[i] != s->want.flags[i])
            complain(c, "flags", i, s->want.flags[i], got->flags[i], 0);
        for (size_t k = i * s->shape.k; k < (i + 1) * s->shape.k; k++)
            if (got->decision[k] != s->want.decision[k] && !(fabs(s->extra.rule[k]) < near && s->extra.gap[i] > 0))
                complain(c, "decision", k, s->want.decision[k], got->decision[k], 0);
    }
}

static inline void compare_value(complaint *c, const char *name, double want, double got, double allowed) {
    if (!(fabs(want - got) <= allowed))
        complain(c, name, 0, want, got, allowed);
}

/* Scores a case into `got`. */
typedef vg_status (*case_scoring)(vg_scores *got, vg_score_summary *summary, const vg_predictions *view,
                                  const vg_score_options *options);

/* Scores a case and counts its differences from the reference beyond the tolerances. `where` opens messages. */
static inline size_t case_compare(const score_case *s, case_scoring score, const char *where) {
    complaint c = {s, 0};
    vg_scores got = scores_new(s->shape);
    vg_score_summary summary;
    double tolerance = s->view.dtype == VG_F64 ? 1e-12 : 1e-6, relative = s->view.dtype == VG_F64 ? 1e-9 : 1e-4;
    if (score(&got, &summary, &s->view, &s->options) != VG_OK) {
        fprintf(stderr, "  %s [%s]: refused: %s\n", where, s->name, vg_error_message());
        scores_free(&got);
        return 1;
    }
    for (int f = 0; f < SCORE_FIELDS; f++)
        compare_doubles(&c, f, *score_place((vg_scores *)&s->want, f), *score_place(&got, f));
    compare_classes(&c, &got);
    compare_value(&c, "samples", (double)s->summary.samples, (double)summary.samples, 0);
    compare_value(&c, "diversity", s->summary.diversity, summary.diversity,
                  relative * s->summary.diversity +
                      (s->view.dtype == VG_F64 ? 0 : 1e-38) + /* float squares underflow */
                      (rounded_members(s) ? 16 * DBL_EPSILON * (DBL_EPSILON + sqrt(s->summary.diversity)) : 0));
    compare_value(&c, "mean_tu", s->summary.mean_tu, summary.mean_tu, tolerance);
    compare_value(&c, "mean_gtu", s->summary.mean_gtu, summary.mean_gtu, tolerance);
    if (s->summary.mean_tu > 1e-3)
        compare_value(&c, "k_sensitivity", s->summary.k_sensitivity, summary.k_sensitivity,
                      tolerance / s->summary.mean_tu * 4);
    if (c.count > complaint_limit)
        fprintf(stderr, "  %s [%s]: %zu differences in all\n", where, s->name, c.count);
    scores_free(&got);
    return c.count;
}

/* All of them by vg_score, in the tier of this process. */
static inline void cases_agree(const score_case *cases, size_t count) {
    size_t differences = 0;
    for (size_t i = 0; i < count; i++)
        differences += case_compare(&cases[i], vg_score, vg_cpu_tier());
    assert_int_equal(differences, 0);
}

/* --- tiers -----------------------------------------------------------------------------------------------------------
 */

/* Runs `suite` in a child process for each tier this machine has; 0 when every one passed. What the parent prepared
 * before (references above all) is shared by the children; the parent itself must not have called the library's
 * kernels. */
static inline int run_in_every_tier(int (*suite)(void)) {
    static const char *const tiers[] = {"portable", "neon", "avx2", "avx512"};
    int failed = 0;
    for (size_t t = 0; t < sizeof tiers / sizeof *tiers; t++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            setenv("VARGATE_CPU", tiers[t], 1);
            if (strcmp(vg_cpu_tier(), tiers[t]) != 0) {
                fprintf(stderr, "[ tier %s: not on this machine ]\n", tiers[t]);
                _exit(t == 0); /* the portable tier is everywhere */
            }
            fprintf(stderr, "[ tier %s ]\n", tiers[t]);
            exit(suite() ? 1 : 0); /* not _exit: a leak checker runs at exit */
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            fprintf(stderr, "[ tier %s FAILED ]\n", tiers[t]);
            failed = 1;
        }
    }
    return failed;
}

/* The same, then frees the cases that the tests looked at. */
static inline int run_cases(score_case *cases, size_t count, int (*suite)(void)) {
    int failed = run_in_every_tier(suite);
    for (size_t i = 0; i < count; i++)
        case_free(&cases[i]);
    return failed;
}

/* VG_TEST_SEED moves random searches elsewhere. */
static inline uint64_t seed_shift(void) {
    const char *seed = getenv("VG_TEST_SEED");
    return seed ? strtoul(seed, NULL, 10) * 1000003 : 0;
}

/* Whether the long form of the sweeps was asked for. */
static inline int full_sweep(void) {
    const char *full = getenv("VG_TEST_FULL");
    return full && *full && strcmp(full, "0") != 0;
}

#endif
