/* test_evaluate_bootstrap_oracle.c - resamples of random small evaluations and OOD comparisons. The rows of a resample
 * are written out with repetition, its figures are computed from plain definitions in long double, and the intervals
 * are made from these by the formulas of docs/evaluation.md. Values are on coarse grids: rows are tied, margin ratios
 * equal a k, probabilities equal 0 and 1; some inputs have only right or only wrong rows. */
#define WITHIN 1e-11L
#include <stdlib.h>

#include "base/distributions.h"
#include "evaluate/evaluate_internal.h"
#include "evaluate/paired.h"
#include "oracle_util.h"

enum { SAMPLES = 80, CLASSES = 4, CELLS = SAMPLES * CLASSES, MEASURES = 3, MOST_K = 3, COVERAGES = 4, RISKS = 3 };
enum { OF_MEASURE = VG_RANK_FIXED + COVERAGES + RISKS, RESAMPLES = 19 };
enum { FIGURES = VG_TALLY_FIGURES + MEASURES * OF_MEASURE + 2 * MOST_K };

static const double coverages[COVERAGES] = {0.01, 0.5, 0.75, 1}, risks[RISKS] = {0, 0.25, 1}, grid_k[] = {1, 0.5, 2};

/* --- inputs ------------------------------------------------------------------------------------------------------- */
typedef struct trial {
    size_t n, classes, width, rows; /* width: rows of a sample */
    bool multilabel;
    double mean[CELLS], std[CELLS], u[MEASURES * CELLS], ratio[CELLS];
    int64_t labels[CELLS];
    size_t predicted[CELLS];
    vg_measure measures[MEASURES];
    size_t k_count, resamples;
    uint64_t seed;
    double confidence;
} trial;

static void predict(trial *t) {
    for (size_t r = 0; r < t->rows; r++) {
        const double *p = t->mean + r * (t->classes / t->width), *s = t->std + r * (t->classes / t->width);
        size_t best = 0, second;
        double margin = fabs(2 * p[0] - 1), spread = 2 * s[0];
        if (t->multilabel) {
            best = p[0] > 0.5;
        } else {
            find_leaders(&best, &second, p, t->classes);
            margin = p[best] - p[second];
            spread = s[best] + s[second];
        }
        t->predicted[r] = best;
        t->ratio[r] = margin > 0 ? margin / spread : 0; /* infinite without a spread */
    }
}

static bool wrong(const trial *t, size_t row) { return t->labels[row] != (int64_t)t->predicted[row]; }

static void make_measures(trial *t, vg_random *random) {
    static const size_t levels[] = {1, 2, 4, 9};
    for (size_t m = 0; m < MEASURES; m++) {
        size_t level = levels[below(random, 4)];
        t->measures[m] = (vg_measure){"", t->u + m * CELLS, 1, (int)below(random, 2)};
        snprintf(t->measures[m].name, VG_NAME_SIZE, "%s", m == 1 ? "tu" : m ? "c" : "a");
        for (size_t r = 0; r < t->rows; r++)
            t->u[m * CELLS + r] = (double)below(random, level) + (wrong(t, r) && below(random, 2) ? 3 : 0);
    }
}

/* Of every eight trials one has only right rows, one only wrong ones. */
static void make_trial(trial *t, size_t number, bool multilabel) {
    vg_random random = vg_random__start(20261119 + multilabel, number);
    t->multilabel = multilabel;
    t->n = multilabel ? 20 + below(&random, 9) : 20 + below(&random, SAMPLES - 19);
    t->classes = multilabel ? 1 + below(&random, CLASSES - 1) : 2 + below(&random, CLASSES - 1);
    t->width = multilabel ? t->classes : 1;
    t->rows = t->n * t->width;
    t->k_count = 1 + below(&random, MOST_K);
    t->resamples = 1 + below(&random, RESAMPLES);
    t->seed = number;
    t->confidence = number % 2 ? 0.8 : 0.95;
    for (size_t i = 0; i < t->n * t->classes; i++) {
        t->mean[i] = multilabel ? (double)below(&random, 9) / 8 : 0;
        t->std[i] = (double)below(&random, 4) / 16;
    }
    for (size_t i = 0; !multilabel && i < t->n; i++)
        for (size_t part = 0, c = 0; part < 8; part++) {
            c = below(&random, 3) ? c : below(&random, t->classes);
            t->mean[i * t->classes + c] += 1. / 8;
        }
    predict(t);
    for (size_t r = 0; r < t->rows; r++) {
        size_t kinds = multilabel ? 2 : t->classes, other = (t->predicted[r] + 1 + below(&random, kinds - 1)) % kinds;
        bool right = number % 8 == 0 || (number % 8 != 1 && below(&random, 4));
        t->labels[r] = (int64_t)(right ? t->predicted[r] : other);
    }
    make_measures(t, &random);
}

/* --- figures of a list of rows ------------------------------------------------------------------------------------ */
typedef struct listed {
    size_t count, rows[CELLS];
    size_t before[CELLS], equal[CELLS]; /* rows of less, and of the same uncertainty as each */
    double u[CELLS];
} listed;

static void order(listed *l, const trial *t, size_t m) {
    for (size_t i = 0; i < l->count; i++)
        l->u[i] = t->measures[m].certainty ? -t->u[m * CELLS + l->rows[i]] : t->u[m * CELLS + l->rows[i]];
    for (size_t i = 0; i < l->count; i++) {
        l->before[i] = l->equal[i] = 0;
        for (size_t j = 0; j < l->count; j++) {
            l->before[i] += l->u[j] < l->u[i];
            l->equal[i] += l->u[j] == l->u[i];
        }
    }
}

/* Errors expected among the first `kept` rows, those of equal value in random order. */
static real errors_among(const listed *l, const trial *t, size_t kept) {
    real sum = 0;
    for (size_t i = 0; i < l->count; i++)
        if (wrong(t, l->rows[i]) && kept > l->before[i]) {
            size_t in = kept - l->before[i];
            sum += in >= l->equal[i] ? 1 : (real)in / (real)l->equal[i];
        }
    return sum;
}

static void ranking_pairs(real *auroc, real *aupr, const listed *l, const trial *t) {
    real pairs = 0, won = 0, errors = 0, sum = 0;
    for (size_t i = 0; i < l->count; i++) {
        real hits = 0, rows = 0;
        if (!wrong(t, l->rows[i]))
            continue;
        for (size_t j = 0; j < l->count; j++) {
            bool other = !wrong(t, l->rows[j]);
            pairs += other;
            won += !other ? 0 : l->u[i] > l->u[j] ? 1 : l->u[i] == l->u[j] ? 0.5L : 0;
            rows += l->u[j] >= l->u[i];
            hits += l->u[j] >= l->u[i] && !other;
        }
        errors += 1;
        sum += hits / rows;
    }
    *auroc = pairs > 0 ? won / pairs : (real)NAN;
    *aupr = errors > 0 ? sum / errors : (real)NAN;
}

static size_t position(double coverage, size_t rows) {
    size_t at = (size_t)ceill((real)coverage * (real)rows - 1e-6L);
    return at ? at : 1;
}

static void ranking_figures(real *out, listed *l, const trial *t, size_t m) {
    size_t n = l->count, errors = 0;
    real aurc = 0, augrc = 0, best = 0;
    order(l, t, m);
    for (size_t i = 0; i < n; i++)
        errors += wrong(t, l->rows[i]);
    for (size_t kept = 1; kept <= n; kept++) {
        real e = errors_among(l, t, kept);
        aurc += e / (real)kept / (real)n;
        augrc += e / (real)n / (real)n;
        best += kept > n - errors ? (real)(kept - (n - errors)) / (real)kept / (real)n : 0;
    }
    out[VG_RANK_AURC] = aurc;
    out[VG_RANK_EAURC] = aurc - best;
    out[VG_RANK_AUGRC] = augrc;
    ranking_pairs(&out[VG_RANK_AUROC], &out[VG_RANK_AUPR], l, t);
    for (size_t i = 0; i < COVERAGES; i++) {
        size_t kept = position(coverages[i], n);
        out[VG_RANK_FIXED + i] = errors_among(l, t, kept) / (real)kept;
    }
    for (size_t i = 0; i < RISKS; i++)
        out[VG_RANK_FIXED + COVERAGES + i] = (real)NAN; /* not resampled */
}

static void f1_figures(real *out, const listed *l, const trial *t) {
    real macro = 0, present = 0;
    size_t marks = 0, hits = 0;
    for (size_t c = 0; c < t->classes; c++) {
        size_t is = 0, said = 0, both = 0;
        for (size_t i = 0; i < l->count; i++) {
            size_t r = l->rows[i], wanted = t->multilabel ? 1 : c;
            if (t->multilabel && r % t->classes != c)
                continue;
            is += t->labels[r] == (int64_t)wanted;
            said += t->predicted[r] == wanted;
            both += t->predicted[r] == wanted && !wrong(t, r);
        }
        macro += is + said ? 2 * (real)both / (real)(is + said) : 0;
        present += t->multilabel || is + said;
        marks += is + said;
        hits += both;
    }
    out[VG_TALLY_F1_MACRO] = macro / present;
    out[VG_TALLY_F1_MICRO] = !t->multilabel ? (real)NAN : marks ? 2 * (real)hits / (real)marks : 0;
}

/* Rows of a sample follow each other in the list. */
static void whole_figures(real *out, const listed *l, const trial *t) {
    real right = 0, nll = 0, brier = 0, whole = 0;
    for (size_t i = 0; i < l->count; i++) {
        size_t r = l->rows[i], cells = t->classes / t->width, label = (size_t)t->labels[r];
        const double *p = t->mean + r * cells;
        real likely = t->multilabel ? (label ? (real)p[0] : 1 - (real)p[0]) : (real)p[label];
        right += !wrong(t, r);
        nll -= logl(likely > 1e-12L ? likely : 1e-12L);
        for (size_t c = 0; c < cells; c++) {
            real off = (real)p[c] - (t->multilabel ? (real)label : (real)(c == label));
            brier += off * off;
        }
        bool all = i % t->width == 0;
        for (size_t c = 0; all && c < t->width; c++)
            all = !wrong(t, r + c);
        whole += all;
    }
    for (size_t f = 0; f < VG_TALLY_FIGURES; f++)
        out[f] = (real)NAN;
    out[VG_TALLY_ACCURACY] = right / (real)l->count;
    out[VG_TALLY_NLL] = nll / (real)l->count;
    out[VG_TALLY_BRIER] = brier / (real)l->count;
    f1_figures(out, l, t);
    if (t->multilabel)
        out[VG_TALLY_SUBSET] = whole * (real)t->width / (real)l->count;
}

static void figures_of(real out[FIGURES], listed *l, const trial *t) {
    whole_figures(out, l, t);
    for (size_t m = 0; m < MEASURES; m++)
        ranking_figures(out + VG_TALLY_FIGURES + m * OF_MEASURE, l, t, m);
    for (size_t j = 0; j < t->k_count; j++) {
        real kept = 0, right = 0, *at = out + VG_TALLY_FIGURES + MEASURES * OF_MEASURE + 2 * j;
        for (size_t i = 0; i < l->count; i++) {
            kept += grid_k[j] < t->ratio[l->rows[i]];
            right += grid_k[j] < t->ratio[l->rows[i]] && !wrong(t, l->rows[i]);
        }
        at[0] = kept / (real)l->count;
        at[1] = kept > 0 ? right / kept : (real)NAN;
    }
    for (size_t f = 0; f < FIGURES; f++) /* exactly at an end of the scale, where a sum has been rounded */
        out[f] = fabsl(out[f]) < 1e-15L ? 0 : fabsl(out[f] - 1) < 1e-15L ? 1 : out[f];
}

/* Resample r of n samples: as often as it was drawn each sample, with all its rows. */
static void draw(listed *l, const trial *t, size_t r) {
    size_t times[SAMPLES] = {0};
    vg_random random = vg_random__start(t->seed, r);
    for (size_t i = 0; i < t->n; i++)
        times[below(&random, t->n)]++;
    l->count = 0;
    for (size_t i = 0; i < t->n; i++)
        for (size_t copy = 0; copy < times[i]; copy++)
            for (size_t c = 0; c < t->width; c++)
                l->rows[l->count++] = i * t->width + c;
    assert_int_equal(l->count, t->rows);
}

/* --- intervals by their formulas ---------------------------------------------------------------------------------- */
typedef struct ends {
    real low, high;
} ends;

static const ends none = {(real)NAN, (real)NAN};

static real student(double confidence, size_t errors) {
    return (real)vg_base__t_quantile(1 - (1 - confidence) / 2, (double)errors - 1);
}

static real odds(real x) { return logl(x / (1 - x)); }
static real share_of(real x) { return 1 / (1 + expl(-x)); }

/* On the scale of logarithms, or of odds where `bounded`. Resamples at an end of the scale are half an event from it.
 * None where all resamples are alike: rounding alone must not make an interval. */
static ends by_logarithm(real v, const real *x, size_t count, size_t errors, double confidence, bool bounded) {
    real least = (real)INFINITY, most = 0, scaled[RESAMPLES];
    if (!(v > 0) || (bounded && !(v < 1)) || errors < 3)
        return none;
    for (size_t i = 0; i < count; i++) {
        least = x[i] > 0 && x[i] < least ? x[i] : least;
        most = x[i] < 1 && x[i] > most ? x[i] : most;
    }
    for (size_t i = 0; i < count; i++) {
        real y = x[i] > 0 ? x[i] : least / 2;
        y = bounded && y >= 1 ? (1 + most) / 2 : y;
        scaled[i] = bounded ? odds(y) : logl(y);
    }
    real far = student(confidence, errors) * sqrtl(variance_of(scaled, count)), at = bounded ? odds(v) : logl(v);
    if (far == 0)
        return none;
    return bounded ? (ends){share_of(at - far), share_of(at + far)} : (ends){expl(at - far), expl(at + far)};
}

/* The ends of Clopper and Pearson at the effective number of rows. */
static ends by_share(real v, const real *x, size_t count, real rows, double confidence) {
    real square = variance_of(x, count), half = (1 - (real)confidence) / 2;
    if (!(rows >= 1))
        return none;
    if (square > 0 && v > 0 && v < 1 && v * (1 - v) / square < rows)
        rows = v * (1 - v) / square;
    double hits = (double)(v * rows), misses = (double)(rows - v * rows);
    return (ends){v > 0 ? vg_base__beta_quantile((double)half, hits, misses + 1) : 0,
                  v < 1 ? vg_base__beta_quantile((double)(1 - half), hits + 1, misses) : 1};
}

/* With one error more in a random row of N: at rank r it adds (1/N) sum_{k >= r} 1/k to AURC, (N - r + 1) / N^2 to
 * AUGRC. The means and mean squares over the ranks are those of many rows. */
static ends by_area(real v, const real *x, size_t count, size_t errors, double confidence, size_t figure, size_t n) {
    bool augrc = figure == VG_RANK_AUGRC;
    real more = v + (augrc ? 0.5L : 1) / (real)n, square = (augrc ? 1 / 3.0L : 2) / ((real)n * (real)n);
    ends e = by_logarithm(v, x, count, errors, confidence, true);
    if (isnan((double)e.high) || !(more < 1))
        return e;
    real far = student(confidence, errors) * sqrtl(variance_of(x, count) + square) / (more * (1 - more));
    real high = share_of(odds(more) + far);
    e.high = high > e.high ? high : e.high;
    return e;
}

static void check_ends(const char *what, vg_estimate found, ends expected) {
    if (isnan(found.value))
        expected = none;
    if (isnan((double)expected.low) && fabs(found.high - found.low) < 1e-13)
        return; /* all resamples alike, up to rounding */
    near(what, found.low,
         expected.low < found.value    ? expected.low
         : isnan((double)expected.low) ? expected.low
                                       : found.value);
    near(what, found.high,
         expected.high > found.value    ? expected.high
         : isnan((double)expected.high) ? expected.high
                                        : found.value);
}

/* --- evaluations -------------------------------------------------------------------------------------------------- */
typedef struct checked {
    const trial *t;
    const vg_evaluation *e;
    real of_all[FIGURES];
    real values[RESAMPLES][FIGURES];
} checked;

/* The resamples of figure f in which it is defined. */
static size_t column(real out[RESAMPLES], const checked *k, size_t f) {
    size_t count = 0;
    for (size_t r = 0; r < k->t->resamples; r++)
        if (!isnan((double)k->values[r][f]))
            out[count++] = k->values[r][f];
    return count;
}

/* Shares of a multilabel evaluation that are 0 or 1 count samples. */
static void check_share(const char *what, vg_estimate found, const checked *k, size_t f, real rows, bool of_rows) {
    real x[RESAMPLES];
    size_t count = column(x, k, f);
    near(what, found.value, k->of_all[f]);
    if (of_rows && (k->of_all[f] == 0 || k->of_all[f] == 1))
        rows = rows / (real)k->t->width > 1 ? rows / (real)k->t->width : 1;
    check_ends(what, found, count ? by_share(k->of_all[f], x, count, rows, k->t->confidence) : none);
}

static void check_scaled(const char *what, vg_estimate found, const checked *k, size_t f, bool bounded) {
    real x[RESAMPLES];
    size_t count = column(x, k, f);
    near(what, found.value, k->of_all[f]);
    check_ends(what, found, by_logarithm(k->of_all[f], x, count, k->e->errors, k->t->confidence, bounded));
}

static void check_whole(const checked *k) {
    const vg_evaluation *e = k->e;
    check_share("accuracy", e->accuracy, k, VG_TALLY_ACCURACY, (real)k->t->rows, true);
    check_scaled("f1_macro", e->f1_macro, k, VG_TALLY_F1_MACRO, true);
    check_scaled("nll", e->nll, k, VG_TALLY_NLL, false);
    check_scaled("brier", e->brier, k, VG_TALLY_BRIER, false);
    check_scaled("f1_micro", e->f1_micro, k, VG_TALLY_F1_MICRO, true);
    check_share("subset_accuracy", e->subset_accuracy, k, VG_TALLY_SUBSET, (real)k->t->n, false);
    for (size_t j = 0; j < k->t->k_count; j++) {
        size_t f = VG_TALLY_FIGURES + MEASURES * OF_MEASURE + 2 * j;
        check_share("rule coverage", e->rule[j].coverage, k, f, (real)k->t->rows, true);
        check_share("rule accuracy", e->rule[j].accuracy, k, f + 1, (real)e->rule[j].kept, true);
    }
}

static void check_areas(const checked *k, size_t m) {
    static const char *const names[] = {"aurc", "eaurc", "augrc"};
    const vg_ranking *r = &k->e->measures[m];
    const vg_estimate found[] = {r->aurc, r->eaurc, r->augrc};
    for (size_t i = 0; i < 3; i++) {
        size_t f = VG_TALLY_FIGURES + m * OF_MEASURE + i;
        real x[RESAMPLES];
        size_t count = column(x, k, f);
        /* Where resamples are alike, or in the best order, rounding differs from 0, and logarithms show that. */
        bool rounded = variance_of(x, count) < 1e-24L || (i == VG_RANK_EAURC && k->of_all[f] < 1e-12L);
        for (size_t j = 0; i == VG_RANK_EAURC && j < count; j++)
            rounded |= x[j] < 1e-12L;
        near(names[i], found[i].value, k->of_all[f]);
        if (!rounded)
            check_ends(names[i], found[i], by_area(k->of_all[f], x, count, k->e->errors, k->t->confidence, i, k->t->n));
    }
}

/* Rows that count as one: the variance of the accuracy over that of independent rows. */
static real rows_as_one(const checked *k) {
    real x[RESAMPLES], right = k->of_all[VG_TALLY_ACCURACY] * (1 - k->of_all[VG_TALLY_ACCURACY]);
    size_t count = column(x, k, VG_TALLY_ACCURACY);
    if (!k->t->multilabel)
        return 1;
    real factor = right > 0 && count > 1 ? variance_of(x, count) * (real)k->t->rows / right : (real)k->t->classes;
    return factor < 1 ? 1 : factor;
}

/* rank_intervals.c: the coverages between which the risk passes R, extended by the variation of a coverage. */
static void check_coverage(const checked *k, listed *all, size_t m, size_t risk) {
    vg_estimate found = k->e->measures[m].coverage_at[risk];
    real z = vg_base__normal_quantile(1 - (1 - k->t->confidence) / 2), factor = rows_as_one(k), low = 0, high = 0;
    real n = (real)k->t->rows, aim = risks[risk], v = found.value;
    order(all, k->t, m);
    for (size_t i = 0; i < all->count; i++) {
        size_t kept = all->before[i] + all->equal[i];
        real rows = (real)kept / factor, off = errors_among(all, k->t, kept) / factor - rows * aim;
        real room = z * sqrtl(rows * aim * (1 - aim)) + 0.5L;
        low = -off > room && (real)kept / n > low ? (real)kept / n : low;
        high = off <= room && (real)kept / n > high ? (real)kept / n : high;
    }
    low = low < v ? low : v;
    high = high > v ? high : v;
    bool at_end =
        low > v - 1e-14L; /* the largest coverage of lower risk, for certain: the lower end is not looked at */
    real down = v - sqrtl((v - low) * (v - low) + z * z * low * (1 - low) / (n / factor));
    real up = v + sqrtl((high - v) * (high - v) + z * z * high * (1 - high) / (n / factor));
    check_ends("coverage_at", found,
               (ends){at_end                ? (real)found.low
                      : low > 0 && down > 0 ? down
                                            : 0,
                      high < 1 && up < 1 ? up : 1});
}

static void check_measure(const checked *k, listed *all, size_t m) {
    const vg_ranking *r = &k->e->measures[m];
    size_t f = VG_TALLY_FIGURES + m * OF_MEASURE;
    check_areas(k, m);
    check_scaled("error_aupr", r->error_aupr, k, f + VG_RANK_AUPR, true);
    near("error_auroc", r->error_auroc.value, k->of_all[f + VG_RANK_AUROC]);
    for (size_t i = 0; i < COVERAGES; i++)
        check_share("risk_at", r->risk_at[i], k, f + VG_RANK_FIXED + i, (real)position(coverages[i], k->t->rows), true);
    for (size_t i = 0; i < RISKS; i++)
        check_coverage(k, all, m, i);
}

static int rising(const void *a, const void *b) {
    real x = *(const real *)a, y = *(const real *)b;
    return (x > y) - (x < y);
}

static real percentile(const real *sorted, size_t count, real share) {
    real at = share * (real)(count - 1);
    size_t low = (size_t)at;
    return low + 1 < count ? sorted[low] + (at - (real)low) * (sorted[low + 1] - sorted[low]) : sorted[low];
}

/* The leader is the measure of largest area, the first of equals; its rival TU, or the best that has another area. */
static void check_lead(const checked *k) {
    const vg_measure_lead *lead = &k->e->lead;
    const real *area = k->of_all + VG_TALLY_FIGURES + VG_RANK_AUROC;
    size_t best = 0, rival = MEASURES;
    if (isnan((double)area[0])) {
        assert_true(lead->leader == MEASURES && lead->rival == MEASURES && isnan(lead->p_value));
        return;
    }
    for (size_t m = 1; m < MEASURES; m++)
        best = area[m * OF_MEASURE] > area[best * OF_MEASURE] + 1e-13L ? m : best;
    for (size_t m = 0; m < MEASURES; m++)
        if (area[m * OF_MEASURE] < area[best * OF_MEASURE] - 1e-11L &&
            (rival == MEASURES || area[m * OF_MEASURE] > area[rival * OF_MEASURE] + 1e-13L))
            rival = m;
    rival = best != 1 ? 1 : rival;
    assert_int_equal(lead->leader, best);
    assert_int_equal(lead->rival, rival);
    if (rival == MEASURES)
        return;
    real x[RESAMPLES], value = area[best * OF_MEASURE] - area[rival * OF_MEASURE];
    size_t n = k->t->resamples;
    bool defined = true;
    for (size_t r = 0; r < n; r++) {
        const real *of = k->values[r] + VG_TALLY_FIGURES + VG_RANK_AUROC;
        x[r] = of[best * OF_MEASURE] - of[rival * OF_MEASURE];
        defined = defined && !isnan((double)x[r]);
    }
    real square = variance_of(x, n), p = square > 0 ? erfcl(fabsl(value) / sqrtl(2 * square)) : (real)NAN;
    qsort(x, n, sizeof *x, rising);
    real half = (1 - (real)k->t->confidence) / 2;
    near("lead", lead->difference.value, value);
    check_ends("lead", lead->difference, defined ? (ends){percentile(x, n, half), percentile(x, n, 1 - half)} : none);
    if (square == 0 || square > 1e-20L) {
        near("p-value", lead->p_value, value == 0 && square == 0 ? 1 : p);
        near("corrected", lead->corrected, 2 * p < 1 || isnan((double)p) ? 2 * p : 1);
    }
}

static void check_replicates(const checked *k, const vg_tally *tally) {
    static const size_t at[] = {VG_TALLY_ACCURACY,
                                VG_TALLY_F1_MACRO,
                                VG_TALLY_NLL,
                                VG_TALLY_BRIER,
                                VG_TALLY_FIGURES + OF_MEASURE + VG_RANK_AURC,
                                VG_TALLY_FIGURES + OF_MEASURE + VG_RANK_AUROC};
    double found[RESAMPLES * VG_PAIRED_FIGURES];
    assert_int_equal(vg_evaluate__replicates(found, tally, &k->t->measures[1], k->t->resamples, k->t->seed, 1), VG_OK);
    for (size_t r = 0; r < k->t->resamples; r++)
        for (size_t f = 0; f < VG_PAIRED_FIGURES; f++)
            near("figure of a resample", found[r * VG_PAIRED_FIGURES + f], k->values[r][at[f]]);
}

static void check_trial(const trial *t) {
    static checked k;
    static listed l;
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    vg_evaluate_options wanted = VG_EVALUATE_OPTIONS_INIT;
    vg_tally *tally;
    vg_evaluation *e;
    options.task = t->multilabel ? VG_TASK_MULTILABEL : VG_TASK_MULTICLASS;
    options.bootstrap = 1;
    wanted.k = grid_k, wanted.coverages = coverages, wanted.risks = risks;
    wanted.k_count = t->k_count, wanted.coverage_count = COVERAGES, wanted.risk_count = RISKS;
    wanted.resamples = t->resamples, wanted.seed = t->seed, wanted.confidence = t->confidence;
    wanted.threads = 1 + t->n % 2;
    assert_int_equal(vg_tally_new(&tally, t->classes, &options), VG_OK);
    assert_int_equal(vg_tally_feed(tally, t->mean, t->std, t->labels, t->n), VG_OK);
    assert_int_equal(vg_evaluate(&e, tally, t->measures, MEASURES, &wanted), VG_OK);
    k.t = t, k.e = e;
    for (size_t r = 0; r < t->resamples; r++) {
        draw(&l, t, r);
        figures_of(k.values[r], &l, t);
    }
    for (l.count = 0; l.count < t->rows; l.count++)
        l.rows[l.count] = l.count;
    figures_of(k.of_all, &l, t);
    check_replicates(&k, tally);
    check_whole(&k);
    for (size_t m = 0; m < MEASURES; m++)
        check_measure(&k, &l, m);
    check_lead(&k);
    vg_evaluation_free(e);
    vg_tally_free(tally);
}

typedef struct kind {
    bool multilabel;
    size_t count;
} kind;

static void test_trials(void **state) {
    static trial t;
    const kind *trials = *state;
    for (size_t i = 0; i < trials->count; i++) {
        make_trial(&t, i, trials->multilabel);
        snprintf(place, sizeof place, "trial %zu, n %zu, classes %zu, resamples %zu", i, t.n, t.classes, t.resamples);
        check_trial(&t);
    }
}

int main(void) {
    static kind multiclass = {false, 120}, multilabel = {true, 100};
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(test_trials, &multiclass),
                                       cmocka_unit_test_prestate(test_trials, &multilabel)};
    return cmocka_run_group_tests_name("evaluate: resamples by plain definitions", tests, NULL, NULL);
}
