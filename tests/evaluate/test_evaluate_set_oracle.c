/* test_evaluate_set_oracle.c - prediction sets of random small inputs by their definitions: every score, grouping and
 * option; thresholds by sorting, tuning by trying every lambda, sets, p-values and figures by looking at every class.
 * Probabilities are multiples of 1/16, so that many scores are equal to a threshold, and many classes to each other. */
#include "base/distributions.h"
#include "evaluate/set_rule.h"
#include "sets_util.h"

typedef long double real;

enum { MOST = 60, CLASSES = 9, ALPHAS = 3, CELLS = CLASSES, GRAIN = 16 };

static char place[160]; /* which trial, for messages */

static void near(const char *what, double found, real expected, real within) {
    if ((isnan(found) && isnan((double)expected)) || ((real)found == expected))
        return;
    if (!(fabsl((real)found - expected) <= within * (1 + fabsl(expected))))
        fail_msg("%s: %s is %.17g, expected %.17Lg", place, what, found, expected);
}

static size_t below(vg_random *random, size_t n) { return (size_t)vg_random__below(random, n); }

/* --- inputs ------------------------------------------------------------------------------------------------------- */
typedef struct part {
    size_t n;
    double p[MOST * 2 * CLASSES]; /* n x members x classes */
    double mean[MOST][CLASSES], std[MOST][CLASSES];
    int64_t labels[MOST];
    const char *groups[MOST];
} part;

typedef struct trial {
    size_t members, classes;
    part calibration, test;
    vg_sets_options options;
    double alphas[ALPHAS];
    bool randomised;
} trial;

/* Rows of multiples of 1/16; the mean and the deviation of two members are exact. */
static void make_part(part *t, size_t members, size_t classes, bool unseen, vg_random *random) {
    static const char *const names[] = {"a", "b", "c", "new"};
    memset(t->p, 0, sizeof t->p);
    for (size_t i = 0; i < t->n; i++) {
        double *rows[2] = {t->p + i * members * classes, t->p + (i * members + members - 1) * classes};
        size_t few = 1 + below(random, classes);
        for (size_t m = 0; m < members; m++)
            for (size_t grain = 0, at = below(random, few); grain < GRAIN; grain++) {
                at = below(random, 4) ? at : below(random, few);
                rows[m][at] += 1.0 / GRAIN;
            }
        for (size_t c = 0; c < classes; c++) {
            t->mean[i][c] = (rows[0][c] + rows[1][c]) / 2;
            t->std[i][c] = fabs(rows[0][c] - rows[1][c]) / 2;
        }
        t->labels[i] = (int64_t)below(random, 1 + below(random, classes));
        t->groups[i] = names[below(random, unseen ? 4 : 3)];
    }
}

static void make_trial(trial *t, size_t number) {
    static const double alphas[] = {0.1, 0.25, 0.5, 0.05, 0.75, 0.02};
    vg_random random = vg_random__start(20261119, number);
    t->members = 1 + below(&random, 2);
    t->classes = 2 + below(&random, CLASSES - 1);
    t->calibration.n = 1 + below(&random, below(&random, 2) ? MOST : 20);
    t->test.n = 1 + below(&random, 40);
    make_part(&t->calibration, t->members, t->classes, false, &random);
    make_part(&t->test, t->members, t->classes, true, &random);
    vg_sets_options o = VG_SETS_OPTIONS_INIT;
    o.score = (vg_set_score)(number % SCORES);
    o.by = (vg_set_by)below(&random, 4);
    for (size_t a = 0; a < ALPHAS; a++)
        t->alphas[a] = alphas[below(&random, 6)];
    o.alphas = t->alphas;
    o.alpha_count = 1 + below(&random, ALPHAS);
    o.never_empty = (int)below(&random, 2);
    o.p_values = (int)below(&random, 2);
    o.seed = number;
    o.tuning = 0.5;
    bool ranked = o.score == VG_SET_RAPS || o.score == VG_SET_SAPS;
    if (ranked || o.score == VG_SET_APS)
        o.randomise = (int)below(&random, 3) - 1;
    if (ranked && below(&random, 2))
        o.lambda = below(&random, 2) ? 0.0625 : 0.25;
    if (o.score == VG_SET_RAPS && below(&random, 2))
        o.k_reg = (double)below(&random, 3);
    t->options = o;
    t->randomised = o.randomise == 1 || (o.randomise == -1 && (ranked || o.score == VG_SET_APS));
}

/* --- scores ------------------------------------------------------------------------------------------------------- */

/* Scores that are equal but for rounding are made equal: set_scores.c. */
static real coarse(real score) { return roundl(score * 0x1p39L) / 0x1p39L; }

static size_t rank_of(const double *v, size_t classes, size_t y) {
    size_t rank = 1;
    for (size_t c = 0; c < classes; c++)
        rank += v[c] > v[y] || (v[c] == v[y] && c < y);
    return rank;
}

/* The class ranked first among those other than `without`. */
static size_t first_class(const double *v, size_t classes, size_t without) {
    size_t best = without == 0;
    for (size_t c = 0; c < classes; c++)
        best = c != without && v[c] > v[best] ? c : best;
    return best;
}

typedef struct parameters {
    double lambda, k_reg;
} parameters;

static real score_of(const trial *t, const part *p, size_t i, size_t y, double u, parameters with) {
    const double *v = p->mean[i];
    size_t rank = rank_of(v, t->classes, y), rival = first_class(v, t->classes, y);
    real above = 0, most = v[first_class(v, t->classes, t->classes)], over = (real)rank - with.k_reg;
    for (size_t c = 0; c < t->classes; c++)
        above += rank_of(v, t->classes, c) < rank ? (real)v[c] : 0;
    switch (t->options.score) {
    case VG_SET_LAC: return 1 - (real)v[y];
    case VG_SET_APS: return coarse(above + (real)u * v[y]);
    case VG_SET_RAPS: return coarse(above + (real)u * v[y] + (over > 0 ? (real)with.lambda * over : 0));
    case VG_SET_SAPS: return coarse(rank == 1 ? u * most : most + ((real)rank - 2 + u) * with.lambda);
    case VG_SET_MARGIN: return (real)v[rival] - v[y];
    case VG_SET_TOPK: return (real)rank;
    default: return (v[rival] - v[y]) / (p->std[i][rival] + p->std[i][y] + 1e-8); /* as rounded in double */
    }
}

static double draw(const trial *t, unsigned stream, size_t i) {
    return t->randomised ? vg_set__uniform(t->options.seed, stream, i) : 1;
}

/* --- thresholds --------------------------------------------------------------------------------------------------- */
static int rising(const void *a, const void *b) {
    real x = *(const real *)a, y = *(const real *)b;
    return (x > y) - (x < y);
}

/* The ceil((n + 1)(1 - alpha))-th smallest score. */
static real quantile(real *scores, size_t n, double alpha) {
    size_t at = (size_t)ceill(((real)n + 1) * (1 - (real)alpha) - 1e-9L);
    qsort(scores, n, sizeof *scores, rising);
    return at > n ? (real)INFINITY : scores[at ? at - 1 : 0];
}

typedef struct expected {
    bool tuned[MOST]; /* calibration samples that lambda and k_reg come from */
    size_t tuned_count, cell[MOST], cells, in_cell[CELLS];
    const char *names[CELLS];
    parameters with[ALPHAS];
    real threshold[ALPHAS][CELLS];
} expected;

static bool needs_tuning(const trial *t) {
    const vg_sets_options *o = &t->options;
    return (o->score == VG_SET_RAPS || o->score == VG_SET_SAPS) &&
           (isnan(o->lambda) || (o->score == VG_SET_RAPS && isnan(o->k_reg)));
}

/* The cell of class y of a sample; `cells` where its group is unknown. */
static size_t cell_of(const trial *t, const part *p, size_t i, size_t y, const expected *e) {
    size_t at = 0;
    switch (t->options.by) {
    case VG_SETS_BY_CLASS: return y;
    case VG_SETS_BY_TOP: return first_class(p->mean[i], t->classes, t->classes);
    case VG_SETS_BY_GROUP:
        while (at < e->cells && strcmp(e->names[at], p->groups[i]) != 0)
            at++;
        return at;
    default: return 0;
    }
}

/* The classes in all sets of the tuning samples at their own threshold. */
static size_t size_with(const trial *t, const expected *e, parameters with, double alpha) {
    const part *p = &t->calibration;
    real scores[MOST];
    size_t n = 0, size = 0;
    for (size_t i = 0; i < p->n; i++)
        if (e->tuned[i])
            scores[n++] = score_of(t, p, i, (size_t)p->labels[i], draw(t, VG_SET_CALIBRATION, i), with);
    real limit = quantile(scores, n, alpha);
    for (size_t i = 0; i < p->n; i++)
        for (size_t c = 0; e->tuned[i] && c < t->classes; c++)
            size += score_of(t, p, i, c, draw(t, VG_SET_CALIBRATION, i), with) <= limit;
    return size;
}

/* k_reg: the quantile of the labels' ranks; lambda: that of smallest sets, of equals the smallest. */
static parameters tune(const trial *t, const expected *e, double alpha) {
    static const double lambdas[] = {0, 0.0001, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1};
    parameters found = {t->options.lambda, t->options.k_reg};
    real ranks[MOST];
    size_t n = 0, least = SIZE_MAX;
    for (size_t i = 0; i < t->calibration.n; i++)
        if (e->tuned[i])
            ranks[n++] = (real)rank_of(t->calibration.mean[i], t->classes, (size_t)t->calibration.labels[i]);
    if (t->options.score == VG_SET_RAPS && isnan(found.k_reg)) {
        real rank = quantile(ranks, n, alpha);
        found.k_reg = isinf((double)rank) ? (double)t->classes : (double)rank;
    }
    for (size_t l = t->options.score == VG_SET_SAPS; isnan(t->options.lambda) && l < 10; l++) {
        size_t size = size_with(t, e, (parameters){lambdas[l], found.k_reg}, alpha);
        if (size < least) {
            least = size;
            found.lambda = lambdas[l];
        }
    }
    return found;
}

static void find_cells(expected *e, const trial *t) {
    const part *p = &t->calibration;
    memset(e, 0, sizeof *e);
    for (size_t i = 0; i < p->n; i++) {
        e->tuned[i] = needs_tuning(t) && vg_set__uniform(t->options.seed, VG_SET_TUNING, i) < t->options.tuning;
        e->tuned_count += e->tuned[i];
        if (t->options.by == VG_SETS_BY_GROUP && cell_of(t, p, i, 0, e) == e->cells)
            e->names[e->cells++] = p->groups[i];
    }
    if (t->options.by != VG_SETS_BY_GROUP)
        e->cells = t->options.by == VG_SETS_BY_NONE ? 1 : t->classes;
    for (size_t i = 0; i < p->n; i++) {
        e->cell[i] = cell_of(t, p, i, (size_t)p->labels[i], e);
        e->in_cell[e->cell[i]] += !e->tuned[i];
    }
}

/* The scores of the calibration samples of a cell that are not tuned on. */
static size_t scores_in(real *scores, const trial *t, const expected *e, size_t cell, parameters with) {
    const part *p = &t->calibration;
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (!e->tuned[i] && e->cell[i] == cell)
            scores[n++] = score_of(t, p, i, (size_t)p->labels[i], draw(t, VG_SET_CALIBRATION, i), with);
    return n;
}

static void expect(expected *e, const trial *t) {
    real scores[MOST];
    for (size_t a = 0; a < t->options.alpha_count; a++) {
        e->with[a] = (parameters){t->options.lambda, t->options.k_reg};
        if (needs_tuning(t)) /* p-values belong to one score */
            e->with[a] = a > 0 && t->options.p_values ? e->with[0] : tune(t, e, t->alphas[a]);
        for (size_t cell = 0; cell < e->cells; cell++)
            e->threshold[a][cell] = quantile(scores, scores_in(scores, t, e, cell, e->with[a]), t->alphas[a]);
    }
}

/* --- sets and figures --------------------------------------------------------------------------------------------- */
typedef struct results {
    uint8_t mask[MOST * ALPHAS * 2];
    int32_t size[MOST * ALPHAS], pred[MOST];
    double p_value[MOST * CLASSES], value[MOST * CLASSES];
} results;

static void check_p_values(const trial *t, const expected *e, const results *r, size_t i) {
    real scores[MOST], own;
    for (size_t c = 0; c < t->classes; c++) {
        size_t cell = cell_of(t, &t->test, i, c, e),
               n = cell < e->cells ? scores_in(scores, t, e, cell, e->with[0]) : 0;
        real least = 1;
        own = score_of(t, &t->test, i, c, draw(t, VG_SET_TEST, i), e->with[0]);
        for (size_t j = 0; j < n; j++)
            least += scores[j] >= own;
        near("p-value", r->p_value[i * t->classes + c], least / (real)(n + 1), 1e-15L);
    }
}

typedef struct counts {
    size_t of_size[CLASSES + 1], held[CLASSES + 1], of_class[CLASSES], covered[CLASSES];
} counts;

/* The set of sample i at alpha a, class by class. */
static void check_set(counts *k, const trial *t, const expected *e, const results *r, size_t i, size_t a) {
    const part *p = &t->test;
    size_t bytes = (t->classes + 7) / 8, at = i * t->options.alpha_count + a, size = 0, y = (size_t)p->labels[i];
    size_t top = first_class(p->mean[i], t->classes, t->classes);
    bool in[16] = {false};
    for (size_t c = 0; c < t->classes; c++) {
        size_t cell = cell_of(t, p, i, c, e);
        real score = score_of(t, p, i, c, draw(t, VG_SET_TEST, i), e->with[a]);
        in[c] = cell == e->cells || score <= e->threshold[a][cell];
        size += in[c];
    }
    if (size == 0 && t->options.never_empty) {
        in[top] = true;
        size = 1;
    }
    assert_int_equal(r->size[at], size);
    assert_int_equal(r->pred[i], top);
    for (size_t c = 0; c < 8 * bytes; c++)
        if ((r->mask[at * bytes + c / 8] >> (7 - c % 8) & 1) != in[c])
            fail_msg("%s: sample %zu, alpha %zu, class %zu is %sin the set", place, i, a, c, in[c] ? "not " : "");
    k->of_size[size]++;
    k->held[size] += in[y];
    k->of_class[y]++;
    k->covered[y] += in[y];
}

static void check_share(const char *what, vg_estimate found, size_t part, size_t whole, double confidence) {
    real half = (1 - (real)confidence) / 2;
    double k = (double)part, n = (double)whole;
    near(what, found.value, whole ? (real)part / (real)whole : (real)NAN, 1e-15L);
    near(what, found.low, !whole ? (real)NAN : !part ? 0 : vg_base__beta_quantile((double)half, k, n - k + 1), 1e-12L);
    near(what, found.high,
         !whole          ? (real)NAN
         : part == whole ? 1
                         : vg_base__beta_quantile((double)(1 - half), k + 1, n - k),
         1e-12L);
}

static void check_sizes(const vg_set_figures *f, const counts *k, size_t n) {
    size_t sizes[MOST], at = 0;
    real sum = 0, squares = 0, z = vg_base__normal_quantile(0.975);
    for (size_t s = 0; s <= CLASSES; s++)
        for (size_t i = 0; i < k->of_size[s]; i++) {
            sum += (real)s;
            sizes[at++] = s;
        }
    for (size_t i = 0; i < n; i++)
        squares += ((real)sizes[i] - sum / (real)n) * ((real)sizes[i] - sum / (real)n);
    real error = n > 1 ? z * sqrtl(squares / (real)(n - 1) / (real)n) : (real)NAN, reach = z * sqrtl((real)n) / 2;
    near("mean size", f->mean_size.value, sum / (real)n, 1e-14L);
    near("mean size", f->mean_size.low, sum / (real)n - error, 1e-12L);
    near("mean size", f->mean_size.high, sum / (real)n + error, 1e-12L);
    real low = floorl((real)n / 2 - reach), high = ceill((real)n / 2 + reach);
    near("median size", f->median_size.value, (real)(sizes[(n - 1) / 2] + sizes[n / 2]) / 2, 0);
    near("median size", f->median_size.low, (real)sizes[low > 0 ? (size_t)low : 0], 0);
    near("median size", f->median_size.high, (real)sizes[high < (real)n - 1 ? (size_t)high : n - 1], 0);
}

static void check_figures(const vg_set_figures *f, const counts *k, const trial *t) {
    static const size_t low[] = {0, 1, 2, 4}, high[] = {0, 1, 3, 10};
    size_t held = 0, seen = 0, worst = SIZE_MAX, at = 0;
    for (size_t s = 0; s <= t->classes; s++)
        held += k->held[s];
    for (size_t c = 0; c < t->classes; c++) {
        seen += k->of_class[c] > 0;
        if (k->of_class[c] &&
            (worst == SIZE_MAX || k->covered[c] * k->of_class[worst] < k->covered[worst] * k->of_class[c]))
            worst = c;
    }
    assert_int_equal(f->samples, t->test.n);
    assert_int_equal(f->labelled, t->test.n);
    check_share("coverage", f->coverage, held, t->test.n, 0.95);
    check_share("singletons", f->singletons, k->of_size[1], t->test.n, 0.95);
    check_share("empty", f->empty, k->of_size[0], t->test.n, 0.95);
    check_share("singleton accuracy", f->singleton_accuracy, k->held[1], k->of_size[1], 0.95);
    assert_int_equal(f->worst_class, worst);
    check_share("worst class", f->worst_class_coverage, k->covered[worst], k->of_class[worst], 1 - 0.05 / (double)seen);
    check_sizes(f, k, t->test.n);
    for (size_t i = 0; i < 4; i++) {
        size_t samples = 0, covered = 0, upper = high[i] < t->classes ? high[i] : t->classes;
        for (size_t s = low[i]; s <= upper; s++) {
            samples += k->of_size[s];
            covered += k->held[s];
        }
        if (samples == 0)
            continue;
        assert_true(at < f->stratum_count && f->strata[at].low == low[i] && f->strata[at].high == upper);
        assert_true(f->strata[at].samples == samples && f->strata[at].covered == covered);
        check_share("stratum", f->strata[at++].coverage, covered, samples, 0.95);
    }
    assert_int_equal(f->stratum_count, at);
}

/* Of one threshold: quantiles of Beta(l, n + 1 - l), l its rank among n scores. */
static void check_law(const vg_set_figures *f, const expected *e, double alpha) {
    size_t n = e->in_cell[0], l = (size_t)ceill(((real)n + 1) * (1 - (real)alpha) - 1e-9L);
    if (e->cells > 1) {
        assert_true(isnan(f->expected_low) && isnan(f->expected_high));
        return;
    }
    near("expected", f->expected_low, l > n ? 1 : vg_base__beta_quantile(0.025, (double)l, (double)(n + 1 - l)),
         1e-12L);
    near("expected", f->expected_high, l > n ? 1 : vg_base__beta_quantile(0.975, (double)l, (double)(n + 1 - l)),
         1e-12L);
}

/* --- trials ------------------------------------------------------------------------------------------------------- */
static void feed(vg_sets *sets, results *r, const trial *t, const part *p) {
    size_t first = p->n / 3, A = t->options.alpha_count, bytes = (t->classes + 7) / 8, C = t->classes;
    for (size_t i = 0; i < p->n; i = i < first ? first : p->n) {
        size_t n = i < first ? first : p->n - i;
        vg_predictions block = vg_predictions_f64(p->p + i * t->members * C, n, t->members, C);
        vg_set_places out = VG_SET_PLACES_INIT;
        if (r) {
            out.mask = r->mask + i * A * bytes, out.size = r->size + i * A, out.pred = r->pred + i;
            out.value = r->value + i * C, out.p_value = t->options.p_values ? r->p_value + i * C : NULL;
        }
        ok(vg_sets_feed(sets, r ? &out : NULL, &block, p->labels + i,
                        t->options.by == VG_SETS_BY_GROUP ? p->groups + i : NULL));
    }
}

static void check_thresholds(const vg_sets *sets, const trial *t, const expected *e) {
    assert_int_equal(sets->cell_count, e->cells);
    assert_int_equal(sets->calibrated, t->calibration.n - e->tuned_count);
    assert_int_equal(sets->tuned, e->tuned_count);
    for (size_t a = 0; a < t->options.alpha_count; a++) {
        if (sets->lambdas)
            near("lambda", sets->lambdas[a], e->with[a].lambda, 0);
        if (sets->k_regs)
            near("k_reg", sets->k_regs[a], e->with[a].k_reg, 0);
        for (size_t cell = 0; cell < e->cells; cell++)
            near("threshold", sets->thresholds[a * e->cells + cell], e->threshold[a][cell], 4e-12L);
    }
    for (size_t cell = 0; cell < e->cells; cell++) {
        assert_int_equal(sets->cell_samples[cell], e->in_cell[cell]);
        if (t->options.by == VG_SETS_BY_GROUP)
            assert_string_equal(sets->cell_names[cell], e->names[cell]);
    }
}

static void check_trial(const trial *t) {
    static results r;
    expected e;
    vg_sets_options o = t->options;
    vg_sets *sets = new_sets(&o, 1);
    feed(sets, NULL, t, &t->calibration);
    find_cells(&e, t);
    if (needs_tuning(t) && e.tuned_count == 0) {
        assert_int_equal(vg_sets_feed(sets, NULL, NULL, NULL, NULL), VG_ERR_DATA);
        assert_non_null(strstr(vg_error_message(), "no calibration sample fell into the part for tuning"));
        vg_sets_free(sets);
        return;
    }
    ok(vg_sets_feed(sets, NULL, NULL, NULL, NULL));
    expect(&e, t);
    check_thresholds(sets, t, &e);
    feed(sets, &r, t, &t->test);
    for (size_t i = 0; i < t->test.n; i++) {
        for (size_t c = 0; c < t->classes; c++)
            near("value", r.value[i * t->classes + c], t->test.mean[i][c], 0);
        if (t->options.p_values)
            check_p_values(t, &e, &r, i);
    }
    for (size_t a = 0; a < t->options.alpha_count; a++) {
        counts k = {{0}, {0}, {0}, {0}};
        for (size_t i = 0; i < t->test.n; i++)
            check_set(&k, t, &e, &r, i, a);
        check_figures(&sets->figures[a], &k, t);
        check_law(&sets->figures[a], &e, t->alphas[a]);
    }
    vg_sets_free(sets);
}

static void test_sets(void **state) {
    (void)state;
    static trial t;
    for (size_t number = 0; number < 840; number++) {
        make_trial(&t, number);
        snprintf(place, sizeof place, "trial %zu, score %d by %d, %zu calibration samples, %zu classes", number,
                 (int)t.options.score, (int)t.options.by, t.calibration.n, t.classes);
        check_trial(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sets)};
    return cmocka_run_group_tests_name("evaluate: prediction sets by their definitions", tests, NULL, NULL);
}
