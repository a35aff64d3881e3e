/* test_measures_plain.c - what the reference does not give, against plain definitions in long double: the gated
 * predictive distributions, the measures to compare with, the figures of a summary, and samples that a summary leaves
 * out; in every SIMD tier.
 *
 * Members and classes are drawn around the numbers at which the kernels take another layout or another search: 8, 10,
 * 16, 20 and 64 members or classes, 192 classes, and no multiple of a vector's lanes. Members that are equal, one-hot
 * or tied beside others that differ; logits with a temperature for each member. */
#include "measures_util.h"

#include "measures/scorer.h"

enum { MOST_K = 3, TRIALS = 600 };

typedef struct plain {
    size_t n, m, c;
    int logits, number;
    vg_dtype dtype;
    long double *p, *z; /* n m c probabilities, and logits over T */
    vg_predictions view;
    vg_score_options options;
    double k[MOST_K], class_k[256], temperature[64];
    uint8_t *marks; /* n, which samples the summary leaves out */
    void *data;
} plain;

typedef struct sums { /* over the samples that count */
    size_t samples;
    long double variance, total, disagreement, abstained, tu, gtu;
    int open; /* a decision that rounding may change */
} sums;

/* One sample's definitions. */
typedef struct sample {
    long double mean[256], sigma[256], gated[MOST_K][256], maxprob, gap, topstd, votes, maxlogit, energy, tu,
        gtu[MOST_K];
    size_t first, second;
    int near; /* the order of the leading classes is open to rounding */
} sample;

/* --- drawing */

static void draw(plain *t) {
    static const size_t members[] = {1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 15, 16, 17, 20, 21, 33, 64};
    static const size_t classes[] = {2, 3, 4, 5, 8, 9, 10, 15, 16, 17, 20, 31, 32, 33, 64, 65, 191, 192, 193, 211};
    static const maker kinds[] = {MAKE_DIRICHLET, MAKE_IDENTICAL, MAKE_ONE_HOT, MAKE_NEAR, MAKE_SOME_ZERO, MAKE_PEAKED};
    maker kind = kinds[rng_below(sizeof kinds / sizeof *kinds)];
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    t->m = members[rng_below(sizeof members / sizeof *members)];
    t->c = classes[rng_below(sizeof classes / sizeof *classes)];
    t->n = 1 + rng_below(1 + 1500 / (t->m * t->c));
    t->n = t->n < 40 ? t->n : 40;
    t->logits = rng_below(3) == 0;
    t->dtype = (vg_dtype[]){VG_F64, VG_F32, VG_F32, VG_F16, VG_BF16}[rng_below(t->logits ? 5 : 3)];
    o.logits = t->logits;
    o.k_count = 1 + rng_below(MOST_K);
    o.threads = 1 + (unsigned)rng_below(3);
    for (size_t i = 0; i < MOST_K; i++)
        t->k[i] = exp(1.5 * rng_normal());
    for (size_t i = 0; i < t->c; i++)
        t->class_k[i] = exp(0.5 * rng_normal());
    for (size_t i = 0; i < t->m; i++)
        t->temperature[i] = 0.5 + rng_uniform();
    o.k = t->k;
    if (rng_below(3) == 0)
        o.class_k = t->class_k, o.class_k_count = t->c;
    if (t->logits && rng_below(2))
        o.temperature = t->temperature, o.temperature_count = t->m;
    t->options = o;
    double *values = make_predictions(t->n, t->m, t->c, t->logits ? MAKE_LOGITS : kind, kind == MAKE_NEAR ? 1e-2 : 0.4);
    t->data = narrowed(values, t->n * t->m * t->c, t->dtype);
    free(values);
    t->view = (vg_predictions){t->data, t->dtype, t->n, t->m, t->c, (ptrdiff_t)(t->m * t->c), (ptrdiff_t)t->c, 1};
}

static void load(plain *t) {
    size_t c = t->c, count = t->n * t->m * c;
    t->p = ref_alloc(count, sizeof *t->p);
    t->z = ref_alloc(count, sizeof *t->z);
    t->marks = ref_alloc(t->n, 1);
    for (size_t i = 0; i < t->n; i++)
        t->marks[i] = rng_below(4) == 0;
    for (size_t r = 0; r < t->n * t->m; r++) {
        long double sum = 0, *z = t->z + r * c, *p = t->p + r * c;
        for (size_t i = 0; i < c; i++) {
            z[i] = (long double)ref_element(&t->view, r / t->m, r % t->m, i);
            z[i] /= t->options.temperature ? t->temperature[r % t->m] : 1;
            p[i] = t->logits ? expl(z[i]) : z[i];
            sum += p[i];
        }
        for (size_t i = 0; t->logits && i < c; i++)
            p[i] /= sum;
    }
}

static plain *plain_new(int number) {
    plain *t = ref_alloc(1, sizeof *t);
    rng_state = 400 + (uint64_t)number * 131 + seed_shift();
    t->number = number;
    draw(t);
    load(t);
    return t;
}

static void plain_free(plain *t) { free(t->p), free(t->z), free(t->marks), free(t->data), free(t); }

/* --- definitions */

static long double entropy(const long double *p, size_t c) {
    long double sum = 0;
    for (size_t i = 0; i < c; i++)
        sum -= p[i] > 0 ? p[i] * logl(p[i]) : 0;
    return sum;
}

static size_t top_of(const long double *x, size_t c) {
    size_t top = 0;
    for (size_t i = 1; i < c; i++)
        top = x[i] > x[top] ? i : top;
    return top;
}

static void moments(sample *s, const plain *t, const long double *p) {
    for (size_t i = 0; i < t->c; i++) {
        long double sum = 0, square = 0, m = (long double)t->m;
        for (size_t j = 0; j < t->m; j++)
            sum += p[j * t->c + i];
        s->mean[i] = sum / m;
        for (size_t j = 0; j < t->m; j++)
            square += (p[j * t->c + i] - s->mean[i]) * (p[j * t->c + i] - s->mean[i]);
        s->sigma[i] = sqrtl(square / m);
    }
    s->first = top_of(s->mean, t->c);
    s->second = s->first == 0;
    for (size_t i = 0; i < t->c; i++)
        s->second = i != s->first && s->mean[i] > s->mean[s->second] ? i : s->second;
    long double third = 0, near = t->dtype == VG_F64 ? 1e-13L : 1e-6L;
    for (size_t i = 0; i < t->c; i++)
        third = i != s->first && i != s->second && s->mean[i] > third ? s->mean[i] : third;
    s->near = s->mean[s->first] - s->mean[s->second] < near || s->mean[s->second] - third < near * s->mean[s->second];
    s->tu = entropy(s->mean, t->c);
}

static long double k_at(const plain *t, size_t k, size_t c) {
    return t->k[k] * (t->options.class_k ? t->class_k[c] : 1);
}

static void gates(sample *s, const plain *t, const long double *p) {
    for (size_t k = 0; k < t->options.k_count; k++) {
        long double gamma[256];
        for (size_t i = 0; i < t->c; i++) {
            gamma[i] = -expm1l(-s->mean[i] / (k_at(t, k, i) * s->sigma[i] + 1e-8L));
            s->gated[k][i] = 0;
        }
        for (size_t j = 0; j < t->m; j++) {
            long double z = 0;
            for (size_t i = 0; i < t->c; i++)
                z += p[j * t->c + i] * gamma[i];
            for (size_t i = 0; i < t->c; i++)
                s->gated[k][i] += p[j * t->c + i] * gamma[i] / z / (long double)t->m;
        }
        s->gtu[k] = entropy(s->gated[k], t->c);
    }
}

static void literature(sample *s, const plain *t, const long double *z) {
    size_t named[256] = {0}, most = 0;
    s->maxlogit = INFINITY, s->energy = 0;
    for (size_t j = 0; j < t->m; j++) {
        long double sum = 0;
        size_t top = top_of(z + j * t->c, t->c);
        most = ++named[top] > most ? named[top] : most;
        for (size_t i = 0; i < t->c; i++)
            sum += expl(z[j * t->c + i]);
        s->energy -= logl(sum) / (long double)t->m;
    }
    for (size_t i = 0; i < t->c; i++) {
        long double sum = 0;
        for (size_t j = 0; j < t->m; j++)
            sum += z[j * t->c + i] / (long double)t->m;
        s->maxlogit = -sum < s->maxlogit ? -sum : s->maxlogit;
    }
    s->maxprob = 1 - s->mean[s->first];
    s->gap = 1 - (s->mean[s->first] - s->mean[s->second]);
    s->topstd = s->sigma[s->first];
    s->votes = 1 - (long double)most / (long double)t->m;
}

/* Adds a sample's share of the summary. */
static void add(sums *to, const sample *s, const plain *t, const long double *z) {
    size_t widest = 0, pairs = t->m * (t->m - 1) / 2, differ = 0;
    long double near = t->dtype == VG_F64 ? 1e-12L : 1e-6L;
    for (size_t k = 1; k < t->options.k_count; k++)
        widest = t->k[k] > t->k[widest] ? k : widest;
    for (size_t i = 0; i < t->c; i++) {
        to->variance += s->sigma[i] * s->sigma[i];
        to->total += s->mean[i] * (1 - s->mean[i]);
    }
    for (size_t a = 0; a < t->m; a++)
        for (size_t b = 0; b < a; b++)
            differ += top_of(z + a * t->c, t->c) != top_of(z + b * t->c, t->c);
    /* The rule of a summary is that of k = 1, whatever the k of the classes. */
    long double rule = s->mean[s->first] - s->sigma[s->first] - (s->mean[s->second] + s->sigma[s->second]);
    to->open |= s->near || fabsl(rule) < near;
    to->abstained += !(rule > 0);
    to->disagreement += pairs ? (long double)differ / (long double)pairs : 0;
    to->tu += s->tu;
    to->gtu += s->gtu[widest];
    to->samples++;
}

/* --- comparison */

static void alike(const plain *t, const char *name, size_t at, long double want, double got, long double within) {
    if (!(fabsl(want - (long double)got) <= within))
        fail_msg("%s trial %d (N=%zu M=%zu C=%zu %s%s): %s[%zu] is %.17g, expected %.17Lg", vg_cpu_tier(), t->number,
                 t->n, t->m, t->c, type_name(t->dtype), t->logits ? " logits" : "", name, at, got, want);
}

static long double precision(const plain *t) { return t->dtype == VG_F64 ? 1e-12L : 1e-6L; }

static void compare_sample(const plain *t, const sample *s, size_t n, const vg_scores *got, const double *means) {
    long double e = precision(t);
    size_t K = t->options.k_count;
    /* What an ulp of the mean does to a spread, and so to a gate. */
    long double gate = e * 10 + (t->dtype == VG_F64 ? 0 : 1e-6L);
    for (size_t i = 0; i < t->c; i++)
        for (size_t k = 0; k < K; k++)
            alike(t, "gated mean", (n * K + k) * t->c + i, s->gated[k][i], means[(n * K + k) * t->c + i], gate);
    alike(t, "maxprob", n, s->maxprob, got->maxprob[n], e);
    alike(t, "gap", n, s->gap, got->gap[n], e);
    alike(t, "votes", n, s->votes, got->votes[n], 1e-15L);
    if (!s->near)
        alike(t, "topstd", n, s->topstd, got->topstd[n], e);
    if (t->logits) {
        alike(t, "maxlogit", n, s->maxlogit, got->maxlogit[n], e * fmaxl(1, fabsl(s->maxlogit)));
        alike(t, "energy", n, s->energy, got->energy[n], e * fmaxl(1, fabsl(s->energy)));
    }
}

static void compare_summary(const plain *t, const sums *want, const vg_score_summary *got) {
    long double n = (long double)want->samples, e = precision(t);
    assert_int_equal(got->samples, want->samples);
    assert_int_equal(got->members, t->m);
    assert_int_equal(got->outcomes, t->c);
    if (want->samples == 0) {
        assert_true(isnan(got->diversity) && isnan(got->disagreement) && isnan(got->mean_tu));
        return;
    }
    alike(t, "diversity", 0, want->variance / (n * (long double)t->c), got->diversity, e);
    alike(t, "member variance", 0, want->variance / n, got->member_variance, e);
    alike(t, "total variance", 0, want->total / n, got->total_variance, e);
    alike(t, "disagreement", 0, want->disagreement / n, got->disagreement, 1e-14L);
    alike(t, "mean TU", 0, want->tu / n, got->mean_tu, e);
    alike(t, "mean GTU", 0, want->gtu / n, got->mean_gtu, 10 * e);
    if (!want->open)
        alike(t, "abstained", 0, want->abstained / n, got->abstained, 1e-14L);
}

static void score_plain(const plain *t, vg_scores *out, double *means, vg_score_summary *summary) {
    vg_scorer *s;
    assert_int_equal(vg_scorer_new(&s, t->m, t->c, &t->options), VG_OK);
    size_t half = t->n / 2, row = t->m * t->c;
    for (int part = 0; part < 2; part++) { /* in two blocks */
        size_t first = part ? half : 0, n = part ? t->n - half : half, K = t->options.k_count;
        vg_predictions block = t->view;
        size_t element = t->dtype == VG_F64 ? 8 : t->dtype == VG_F32 ? 4 : 2;
        block.data = (const char *)t->data + first * row * element;
        block.n = n;
        vg_scores at = {.tu = out->tu + first, .gtu = out->gtu + first * K, .maxprob = out->maxprob + first};
        at.gap = out->gap + first, at.topstd = out->topstd + first, at.votes = out->votes + first;
        at.maxlogit = t->logits ? out->maxlogit + first : NULL;
        at.energy = t->logits ? out->energy + first : NULL;
        vg_scorer__set_gated_means(s, means + first * K * t->c);
        vg_scorer__set_left_out(s, t->marks + first);
        if (vg_scorer_feed(s, &at, &block, NULL) != VG_OK)
            fail_msg("trial %d: %s", t->number, vg_error_message());
    }
    assert_int_equal(vg_scorer_summary(s, summary), VG_OK);
    vg_scorer_free(s);
}

static void trials(void **state) {
    (void)state;
    for (int number = 0; number < TRIALS; number++) {
        plain *t = plain_new(number);
        double *memory = ref_alloc(t->n * (7 + MOST_K), sizeof *memory), *at = memory;
        double *means = ref_alloc(t->n * MOST_K * t->c, sizeof *means);
        vg_scores out = {.tu = at, .gtu = at + 7 * t->n, .maxprob = at + t->n, .gap = at + 2 * t->n};
        out.topstd = at + 3 * t->n, out.votes = at + 4 * t->n, out.maxlogit = at + 5 * t->n, out.energy = at + 6 * t->n;
        vg_score_summary summary;
        sums want = {0};
        static sample s;
        score_plain(t, &out, means, &summary);
        for (size_t n = 0; n < t->n; n++) {
            const long double *p = t->p + n * t->m * t->c, *z = t->z + n * t->m * t->c;
            moments(&s, t, p);
            gates(&s, t, p);
            literature(&s, t, z);
            compare_sample(t, &s, n, &out, means);
            if (!t->marks[n])
                add(&want, &s, t, z);
        }
        compare_summary(t, &want, &summary);
        free(memory), free(means);
        plain_free(t);
    }
}

/* More samples than a scorer takes at once: gated means go on where the last ones ended. Of one member the spread is 0
 * and the gate open, so that the gated mean is the member. */
static void gated_means_of_many(void **state) {
    (void)state;
    enum { LONG = 65536 + 77, K = 2, C = 3 };
    double *p = ref_alloc(LONG * C, sizeof *p), *means = ref_alloc(LONG * K * C, sizeof *means);
    const double k[K] = {1, 2};
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    o.k = k, o.k_count = K, o.threads = 2;
    for (size_t i = 0; i < LONG; i++) {
        p[C * i] = 0.1 + 0.5 * rng_uniform(), p[C * i + 1] = 0.3 * rng_uniform() + 0.01;
        p[C * i + 2] = 1 - p[C * i] - p[C * i + 1];
    }
    vg_predictions view = vg_predictions_f64(p, LONG, 1, C);
    vg_scores out = {0};
    vg_scorer *s;
    assert_int_equal(vg_scorer_new(&s, 1, C, &o), VG_OK);
    vg_scorer__set_gated_means(s, means);
    assert_int_equal(vg_scorer_feed(s, &out, &view, NULL), VG_OK);
    vg_scorer_free(s);
    for (size_t i = 0; i < LONG * K; i++)
        for (size_t c = 0; c < C; c++)
            assert_true(fabs(means[i * C + c] - p[i / K * C + c]) < 1e-12);
    free(p), free(means);
}

static int suite(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(trials), cmocka_unit_test(gated_means_of_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_in_every_tier(suite); }
