/* test_evaluate_calibration_oracle.c - expected and debiased ECE, the ECE's interval and its p-value of random small
 * evaluations against the formulas of src/evaluate/calibration_null.c, written out in long double; and the same of
 * evaluations that the caller finishes from bins and products. Confidences are eighths, so that gaps are exact: many
 * are 0, some bins are empty. */
#define WITHIN 1e-11L
#include <string.h>

#include "base/distributions.h"
#include "oracle_util.h"
#include "vargate/evaluate.h"

enum { SAMPLES = 220, LABELS = 4, ROWS = SAMPLES * LABELS, BINS = 6 };

typedef struct trial {
    size_t n, width, rows, bins; /* width: rows of a sample */
    bool multilabel;
    double mean[2 * ROWS], p[ROWS]; /* p: of the prediction */
    int64_t labels[ROWS];
    bool right[ROWS];
    size_t bin[ROWS];
} trial;

static void make_trial(trial *t, size_t number, bool multilabel) {
    vg_random random = vg_random__start(1912 + multilabel, number);
    t->multilabel = multilabel;
    t->n = 1 + below(&random, number % 5 ? 24 : SAMPLES);
    t->width = multilabel ? 1 + below(&random, LABELS) : 1;
    t->rows = t->n * t->width;
    t->bins = 1 + below(&random, BINS);
    size_t least = below(&random, 5), chance = 1 + below(&random, 8); /* of eighths: sure models, poor labels */
    for (size_t r = 0; r < t->rows; r++) {
        size_t eighths = 4 + least + below(&random, 5 - least), class = below(&random, 2);
        bool right = below(&random, 8) < chance;
        class = eighths > 4  ? class
                : multilabel ? 0
                             : class; /* of 1/2 label 0 is predicted; of two classes the first */
        t->p[r] = (double)eighths / 8;
        double of_one = class ? t->p[r] : 1 - t->p[r];
        size_t predicted = eighths > 4 ? class : 0;
        t->right[r] = right;
        t->labels[r] = (int64_t)(right ? predicted : 1 - predicted);
        if (multilabel)
            t->mean[r] = of_one;
        else
            t->mean[2 * r] = 1 - of_one, t->mean[2 * r + 1] = of_one;
        for (t->bin[r] = 0; t->p[r] > (double)(t->bin[r] + 1) / (double)t->bins; t->bin[r]++)
            ;
    }
}

/* --- by the formulas ---------------------------------------------------------------------------------------------- */
typedef struct expected {
    real gap[BINS], rows[BINS], variance[BINS], implied[BINS]; /* implied by the confidences */
    real sum, total;                                           /* of |gap|; its variance at fixed signs */
} expected;

/* Sums over samples of products of r, the gaps in a bin, and m, the rows there: rr, rm, mm, and how many have rows. */
static void make_products(double *products, const trial *t) {
    double *rr = products, *rm = rr + t->bins * t->bins, *mm = rm + t->bins * t->bins, *any = mm + t->bins * t->bins;
    memset(products, 0, (3 * t->bins * t->bins + t->bins) * sizeof *products);
    for (size_t i = 0; i < t->n; i++) {
        double r[BINS] = {0}, m[BINS] = {0};
        for (size_t row = i * t->width; row < (i + 1) * t->width; row++) {
            r[t->bin[row]] += t->p[row] - t->right[row];
            m[t->bin[row]] += 1;
        }
        for (size_t a = 0; a < t->bins; a++) {
            any[a] += m[a] > 0;
            for (size_t b = 0; b < t->bins; b++) {
                rr[a * t->bins + b] += r[a] * r[b];
                rm[a * t->bins + b] += r[a] * m[b];
                mm[a * t->bins + b] += m[a] * m[b];
            }
        }
    }
}

static void expect(expected *x, const trial *t) {
    real along = 0, square = 0, within = 0;
    *x = (expected){.sum = 0};
    for (size_t r = 0; r < t->rows; r++) {
        x->gap[t->bin[r]] += (real)t->p[r] - t->right[r];
        x->rows[t->bin[r]] += 1;
        x->implied[t->bin[r]] += (real)t->p[r] * (1 - (real)t->p[r]);
    }
    real samples[BINS] = {0};
    for (size_t i = 0; i < t->n; i++) {
        real own[BINS] = {0}, signs = 0;
        bool here[BINS] = {false};
        for (size_t row = i * t->width; row < (i + 1) * t->width; row++) {
            size_t b = t->bin[row];
            real gap = (real)t->p[row] - t->right[row];
            own[b] += gap - x->gap[b] / x->rows[b];
            signs += x->gap[b] < 0 ? -gap : gap;
            here[b] = true;
        }
        along += signs;
        square += signs * signs;
        for (size_t b = 0; b < t->bins; b++) {
            x->variance[b] += own[b] * own[b];
            samples[b] += here[b];
        }
    }
    for (size_t b = 0; b < t->bins; b++) {
        if (t->multilabel && samples[b] > 1)
            x->variance[b] *= samples[b] / (samples[b] - 1);
        x->variance[b] = x->variance[b] > x->implied[b] ? x->variance[b] : x->implied[b];
        within += x->variance[b];
        x->sum += fabsl(x->gap[b]);
    }
    real seen = square - along * along / (real)t->n;
    if (t->multilabel)
        x->total = t->n < 2 ? within : seen > 0 ? seen : 0;
    else
        x->total = seen > within ? seen : within;
}

/* Of a perfectly calibrated bin: draws of the rarer outcome, as many as rows, scaled to the bin's variance; or normal,
 * which count 0 stands for. */
typedef struct lattice {
    size_t count;
    real mean, scale, spread, chance[ROWS + 1];
} lattice;

static real make_lattice(lattice *l, const expected *x, const trial *t, size_t b) {
    const real half = sqrtl(2 / acosl(-1));
    real p = 0, average = 0;
    for (size_t r = 0; r < t->rows; r++)
        p += t->bin[r] == b ? (real)t->p[r] : 0;
    p /= x->rows[b];
    real rare = p < 0.5L ? p : 1 - p, plain = x->rows[b] * rare * (1 - rare);
    *l = (lattice){.spread = sqrtl(t->multilabel ? x->variance[b] : x->implied[b])};
    if (t->multilabel || x->implied[b] >= 20 || plain == 0)
        return half * l->spread;
    l->count = (size_t)x->rows[b];
    l->mean = x->rows[b] * rare;
    l->scale = l->spread / sqrtl(plain);
    for (size_t k = 0; k <= l->count; k++) {
        real n = (real)l->count, of = (real)k;
        l->chance[k] =
            expl(lgammal(n + 1) - lgammal(of + 1) - lgammal(n - of + 1) + of * logl(rare) + (n - of) * logl(1 - rare));
        average += l->chance[k] * fabsl(of - l->mean) * l->scale;
    }
    return average;
}

/* The chance that |S| of one or of two bins reaches the sum seen; NaN where it is not easily had. */
static real chance_of(const lattice *l, size_t used, const expected *x) {
    real chance = 0, limit = x->sum * (1 - 1e-12L);
    if (used == 1 && l[0].count == 0)
        return l[0].spread > 0 ? erfcl(limit / l[0].spread / sqrtl(2)) : x->sum <= 0;
    if (used > 2 || l[0].count == 0 || (used == 2 && l[1].count == 0))
        return (real)NAN;
    for (size_t j = 0; j <= l[0].count; j++)
        for (size_t k = 0; k <= (used == 2 ? l[1].count : 0); k++) {
            real sum = fabsl((real)j - l[0].mean) * l[0].scale, other = 1;
            if (used == 2) {
                sum += fabsl((real)k - l[1].mean) * l[1].scale;
                other = l[1].chance[k];
            }
            chance += sum >= limit ? l[0].chance[j] * other : 0;
        }
    return chance;
}

static void check_chance(const vg_calibration_check *found, const expected *x, const trial *t) {
    static lattice l[BINS];
    size_t used = 0;
    real sum = 0;
    for (size_t b = 0; b < t->bins; b++)
        if (x->rows[b] > 0)
            sum += make_lattice(&l[used++], x, t, b);
    near("expected ECE", found->expected, sum / (real)t->rows);
    real chance = chance_of(l, used, x);
    if (!isnan((double)chance)) {
        real off = 5 * sqrtl(chance * (1 - chance) / 9999) + 3e-4L; /* of 9,999 draws */
        if (!(fabsl(found->p_value - chance) <= off))
            fail_msg("%s: p-value %g, expected %Lg", place, found->p_value, chance);
    }
    assert_true(found->p_value > 0 && found->p_value <= 1);
}

static void check_figures(const vg_evaluation *e, const expected *x, const trial *t) {
    const vg_calibration_check *found = &e->calibration;
    real sum = 0, half = (real)vg_base__normal_quantile(0.95) * sqrtl(x->total) / (real)t->rows;
    for (size_t b = 0; b < t->bins; b++) {
        real s = sqrtl(x->variance[b]), gap = fabsl(x->gap[b]), at = gap > s ? gap / s - 1 : 0;
        real excess = 2 * s * (expl(-at * at / 2) / sqrtl(2 * acosl(-1)) - at * erfcl(at / sqrtl(2)) / 2);
        sum += s > 0 ? gap - excess : gap;
    }
    real debiased = sum > 0 ? sum / (real)t->rows : 0, ece = x->sum / (real)t->rows;
    near("debiased ECE", found->debiased, debiased);
    near("ECE", e->ece.value, ece);
    near("low end of the ECE", e->ece.low, debiased > half ? debiased - half : 0);
    near("high end of the ECE", e->ece.high, ece + half < 1 ? ece + half : 1);
    check_chance(found, x, t);
    size_t rows = 0;
    real worst = -1;
    for (size_t b = 0; b < t->bins; b++)
        if (x->rows[b] > 0 && fabsl(x->gap[b]) / x->rows[b] > worst) {
            worst = fabsl(x->gap[b]) / x->rows[b];
            rows = (size_t)x->rows[b];
        }
    assert_int_equal(found->mce_rows, rows);
}

static void check_trial(const trial *t) {
    static double products[3 * BINS * BINS + BINS];
    expected x;
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    vg_evaluate_options wanted = VG_EVALUATE_OPTIONS_INIT;
    vg_tally *tally;
    vg_evaluation *e;
    options.task = t->multilabel ? VG_TASK_MULTILABEL : VG_TASK_MULTICLASS;
    options.bootstrap = 1;
    options.bins = t->bins;
    wanted.resamples = 1, wanted.confidence = 0.9, wanted.threads = 1;
    assert_int_equal(vg_tally_new(&tally, t->multilabel ? t->width : 2, &options), VG_OK);
    assert_int_equal(vg_tally_feed(tally, t->mean, NULL, t->labels, t->n), VG_OK);
    assert_int_equal(vg_evaluate(&e, tally, NULL, 0, &wanted), VG_OK);
    expect(&x, t);
    check_figures(e, &x, t);
    vg_evaluation parts = {.struct_size = sizeof parts, .task = e->task, .n = e->n, .classes = e->classes};
    parts.rows = e->rows, parts.bins = e->bins, parts.reliability = e->reliability, parts.ece.value = e->ece.value;
    parts.resamples = 1, parts.confidence = 0.9;
    if (t->multilabel) {
        make_products(products, t);
        parts.bin_products = products;
    }
    assert_int_equal(vg_evaluation_finish(&parts, NULL), VG_OK);
    check_figures(&parts, &x, t);
    vg_evaluation_free(e);
    vg_tally_free(tally);
}

static void test_trials(void **state) {
    static trial t;
    const bool *multilabel = *state;
    for (size_t i = 0; i < 60; i++) {
        make_trial(&t, i, *multilabel);
        snprintf(place, sizeof place, "trial %zu, n %zu, width %zu, bins %zu", i, t.n, t.width, t.bins);
        check_trial(&t);
    }
}

int main(void) {
    static bool multiclass = false, multilabel = true;
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(test_trials, &multiclass),
                                       cmocka_unit_test_prestate(test_trials, &multilabel)};
    return cmocka_run_group_tests_name("evaluate: calibration by its formulas", tests, NULL, NULL);
}
