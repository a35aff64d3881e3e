/* test_evaluate_oracle.c - whole evaluations and OOD figures of random small inputs against their plain definitions:
 * counting, pairs of rows and sums in long double, O(N^2). Values are coarse, so that most rows are tied; some columns
 * are constant, some inputs have only right or only wrong rows. */
#define WITHIN 2e-12L
#include <stdlib.h>
#include <string.h>

#include "oracle_util.h"
#include "vargate/evaluate.h"

enum { MOST = 200, CLASSES = 5, CELLS = MOST * CLASSES, POINTS = 7, MEASURES = 3 };

/* `levels` different values, from the smallest steps of double to large ones, of both signs. */
static void fill(double *values, size_t count, vg_random *random) {
    static const size_t levels[] = {1, 2, 3, 8, 1000};
    static const double scales[] = {1, 0.125, 1e300, 1e-310, 3e-17};
    size_t level = levels[below(random, 5)];
    double scale = scales[below(random, 5)], shift = below(random, 2) ? -0.5 * (double)level : 0;
    for (size_t i = 0; i < count; i++)
        values[i] = scale * ((double)below(random, level) + shift);
}

/* --- one measure -------------------------------------------------------------------------------------------------- */

/* Errors expected among the first `kept` rows by rising u, ties in random order: a row is among them always, never,
 * or with the share of its group that is kept. */
static real errors_among(const double *u, const uint8_t *wrong, size_t n, size_t kept) {
    real sum = 0;
    for (size_t i = 0; i < n; i++) {
        size_t before = 0, equal = 0;
        for (size_t j = 0; j < n; j++) {
            before += u[j] < u[i];
            equal += u[j] == u[i];
        }
        real share = kept <= before ? 0 : kept >= before + equal ? 1 : (real)(kept - before) / (real)equal;
        sum += wrong[i] ? share : 0;
    }
    return sum;
}

static real area_of_roc(const double *u, const uint8_t *wrong, size_t n) {
    real pairs = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (wrong[i] && !wrong[j]) {
                pairs += 1;
                sum += u[i] > u[j] ? 1 : u[i] == u[j] ? 0.5L : 0;
            }
    return pairs > 0 ? sum / pairs : (real)NAN;
}

/* Average precision: over the positives, the share of positives among the rows of at least their value. */
static real average_precision(const double *u, const uint8_t *positive, size_t n) {
    real sum = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        real hits = 0, rows = 0;
        for (size_t j = 0; positive[i] && j < n; j++)
            if (u[j] >= u[i]) {
                rows += 1;
                hits += positive[j];
            }
        sum += positive[i] ? hits / rows : 0;
        all += positive[i];
    }
    return all > 0 ? sum / all : (real)NAN;
}

/* The largest share of rows that a threshold keeps at this risk. */
static real coverage_at(const double *u, const uint8_t *wrong, size_t n, double risk) {
    size_t best = 0;
    for (size_t i = 0; i < n; i++) {
        size_t kept = 0, errors = 0;
        for (size_t j = 0; j < n; j++)
            if (u[j] <= u[i]) {
                kept++;
                errors += wrong[j];
            }
        if ((real)errors <= (real)risk * (real)kept * (1 + 1e-12L) && kept > best)
            best = kept;
    }
    return (real)best / (real)n;
}

static const double coverages[] = {0.01, 0.5, 0.95, 1}, risks[] = {0, 0.05, 0.25, 1};

static void check_ranking(const vg_ranking *r, const vg_measure *m, const uint8_t *wrong, size_t n) {
    static double u[CELLS];
    real aurc = 0, augrc = 0, best = 0, total = 0;
    for (size_t i = 0; i < n; i++) {
        u[i] = m->certainty ? -m->values[i * m->stride] : m->values[i * m->stride];
        total += wrong[i];
    }
    for (size_t kept = 1; kept <= n; kept++) {
        real errors = errors_among(u, wrong, n, kept), least = (real)kept - ((real)n - total);
        aurc += errors / (real)kept / (real)n;
        augrc += errors / (real)n / (real)n;
        best += least > 0 ? least / (real)kept / (real)n : 0;
    }
    assert_string_equal(r->name, m->name);
    near("aurc", r->aurc.value, aurc);
    near("eaurc", r->eaurc.value, aurc - best);
    near("augrc", r->augrc.value, augrc);
    near("error_auroc", r->error_auroc.value, area_of_roc(u, wrong, n));
    near("error_aupr", r->error_aupr.value, average_precision(u, wrong, n));
    for (size_t i = 0; i < 4; i++) {
        size_t kept = (size_t)ceill((real)coverages[i] * (real)n - 1e-6L);
        kept = kept ? kept : 1;
        near("risk_at", r->risk_at[i].value, errors_among(u, wrong, n, kept) / (real)kept);
        near("coverage_at", r->coverage_at[i].value, coverage_at(u, wrong, n, risks[i]));
    }
    for (size_t i = 0; r->curve && i < POINTS; i++) {
        size_t kept = (n * (i + 1) + POINTS - 1) / POINTS;
        near("curve", r->curve[i], errors_among(u, wrong, n, kept) / (real)kept);
    }
}

/* --- whole evaluations -------------------------------------------------------------------------------------------- */
typedef struct trial {
    size_t n, classes, rows, bins;
    bool multilabel;
    double mean[CELLS], std[CELLS], u[MEASURES * CELLS], confidence[CELLS], ratio[CELLS];
    int64_t labels[CELLS];
    uint8_t wrong[CELLS];
    size_t predicted[CELLS];
    vg_measure measures[MEASURES];
} trial;

/* The prediction, confidence and margin ratio of every row, by their definitions. */
static void predict(trial *t) {
    for (size_t r = 0; r < t->rows; r++) {
        const double *p = t->mean + r * (t->multilabel ? 1 : t->classes),
                     *s = t->std + r * (t->multilabel ? 1 : t->classes);
        size_t best = 0, second = 1;
        double margin, spread;
        if (t->multilabel) {
            best = *p > 0.5;
            t->confidence[r] = best ? *p : 1 - *p;
            margin = 2 * t->confidence[r] - 1;
            spread = 2 * *s;
        } else {
            find_leaders(&best, &second, p, t->classes);
            t->confidence[r] = p[best];
            margin = p[best] - p[second];
            spread = s[best] + s[second];
        }
        t->ratio[r] = margin > 0 ? margin / spread : 0;
        t->predicted[r] = best;
        t->wrong[r] = (int64_t)best != t->labels[r];
    }
}

/* What the labels are made to be: 0 right, 1 wrong, else drawn. */
static void make_trial(trial *t, vg_random *random, bool multilabel) {
    size_t kind = below(random, 8), grain = below(random, 2) ? 4 : 64;
    t->multilabel = multilabel;
    t->n = below(random, 4) ? 1 + below(random, 40) : 1 + below(random, multilabel ? 60 : MOST);
    t->classes = multilabel ? 1 + below(random, CLASSES) : 2 + below(random, CLASSES - 1);
    t->rows = multilabel ? t->n * t->classes : t->n;
    t->bins = 1 + below(random, 15);
    for (size_t i = 0; i < t->n; i++) {
        double sum = 0, *p = t->mean + i * t->classes;
        for (size_t c = 0; c < t->classes; c++) {
            p[c] = multilabel ? (double)below(random, grain + 1) / (double)grain : (double)(1 + below(random, grain));
            sum += p[c];
            t->std[i * t->classes + c] = (double)below(random, 3) / 8;
        }
        for (size_t c = 0; !multilabel && c < t->classes; c++)
            p[c] /= sum;
    }
    for (size_t r = 0; r < t->rows; r++)
        t->labels[r] = (int64_t)below(random, multilabel ? 2 : t->classes);
    predict(t);
    for (size_t r = 0; r < t->rows; r++) {
        if (kind == 0 || (kind > 1 && below(random, 3)))
            t->labels[r] = (int64_t)t->predicted[r];
        else if (kind == 1)
            t->labels[r] = (int64_t)((t->predicted[r] + 1) % (multilabel ? 2 : t->classes));
    }
    predict(t);
    for (size_t m = 0; m < MEASURES; m++) {
        t->measures[m] = (vg_measure){"", t->u + m * CELLS, 1, (int)below(random, 2)};
        snprintf(t->measures[m].name, VG_NAME_SIZE, "m%zu", m);
        fill(t->u + m * CELLS, t->rows, random);
    }
}

/* ECE and MCE of values against outcomes: bins (b / B, (b + 1) / B], 0 in the first. stride: of both arrays. */
static real bin_errors(real *worst, const double *values, const uint8_t *outcome, size_t rows, size_t stride,
                       size_t bins) {
    real sum = 0, most = 0;
    for (size_t b = 0; b < bins; b++) {
        real gap = 0, count = 0;
        double low = (double)b / (double)bins, high = (double)(b + 1) / (double)bins;
        for (size_t r = 0; r < rows; r++)
            if ((values[r * stride] > low || b == 0) && values[r * stride] <= high) {
                gap += (real)values[r * stride] - outcome[r * stride];
                count += 1;
            }
        sum += fabsl(gap) / (real)rows;
        most = count > 0 && fabsl(gap) / count > most ? fabsl(gap) / count : most;
    }
    if (worst)
        *worst = most;
    return sum;
}

/* Equal-mass bins: bin b holds the places edge(b) .. edge(b + 1) - 1 by rising confidence, rows of equal confidence
 * spread evenly. */
static real adaptive(const trial *t) {
    real sum = 0;
    size_t first = 0;
    for (size_t b = 0; b < t->bins; b++) {
        size_t last = first + t->rows / t->bins + (b < t->rows % t->bins);
        real gap = 0;
        for (size_t i = 0; i < t->rows; i++) {
            size_t before = 0, equal = 0;
            for (size_t j = 0; j < t->rows; j++) {
                before += t->confidence[j] < t->confidence[i];
                equal += t->confidence[j] == t->confidence[i];
            }
            size_t from = before > first ? before : first, to = before + equal < last ? before + equal : last;
            if (to > from)
                gap += ((real)t->confidence[i] - !t->wrong[i]) * (real)(to - from) / (real)equal;
        }
        sum += fabsl(gap) / (real)t->rows;
        first = last;
    }
    return sum;
}

static void check_calibration(const vg_evaluation *e, const trial *t) {
    static uint8_t right[CELLS], is_label[CELLS];
    size_t width = t->classes;
    for (size_t r = 0; r < t->rows; r++)
        right[r] = !t->wrong[r];
    for (size_t i = 0; i < t->n * width; i++)
        is_label[i] = t->multilabel ? t->labels[i] == 1 : t->labels[i / width] == (int64_t)(i % width);
    real worst, classwise = 0, macro = 0;
    near("ece", e->ece.value, bin_errors(&worst, t->confidence, right, t->rows, 1, t->bins));
    near("mce", e->mce.value, worst);
    near("ece_adaptive", e->ece_adaptive.value, adaptive(t));
    for (size_t c = 0; c < width; c++) {
        classwise += bin_errors(NULL, t->mean + c, is_label + c, t->n, width, t->bins) / (real)width;
        if (t->multilabel) {
            real own = bin_errors(NULL, t->confidence + c, right + c, t->n, width, t->bins);
            near("label ece", e->labels[c].ece, own);
            macro += own / (real)width;
        }
    }
    near("ece_classwise", e->ece_classwise.value, classwise);
    near("ece_macro", e->ece_macro.value, t->multilabel ? macro : (real)NAN);
    real nll = 0, brier = 0;
    for (size_t i = 0; i < t->n * width; i++) {
        real p = t->mean[i], off = p - is_label[i], of_label = t->multilabel && !is_label[i] ? 1 - p : p;
        if (t->multilabel || is_label[i])
            nll -= logl(of_label > 1e-12L ? of_label : 1e-12L) / (real)t->rows;
        brier += off * off / (real)t->rows;
    }
    near("nll", e->nll.value, nll);
    near("brier", e->brier.value, brier);
}

static void check_counts(const vg_evaluation *e, const trial *t) {
    real macro = 0, present = 0, errors = 0;
    size_t hits = 0, marks = 0;
    for (size_t r = 0; r < t->rows; r++)
        errors += t->wrong[r];
    near("accuracy", e->accuracy.value, 1 - errors / (real)t->rows);
    assert_int_equal(e->errors, (size_t)errors);
    for (size_t c = 0; c < t->classes; c++) {
        size_t support = 0, predicted = 0, both = 0;
        for (size_t r = 0; r < t->rows; r++) {
            if (t->multilabel && r % t->classes != c)
                continue;
            size_t wanted = t->multilabel ? 1 : c;
            support += t->labels[r] == (int64_t)wanted;
            predicted += t->predicted[r] == wanted;
            both += t->predicted[r] == wanted && t->labels[r] == (int64_t)wanted;
        }
        assert_int_equal(e->per_class[c].support, support);
        assert_int_equal(e->per_class[c].predicted, predicted);
        assert_int_equal(e->per_class[c].true_positive, both);
        macro += support + predicted ? 2 * (real)both / (real)(support + predicted) : 0;
        present += t->multilabel || support + predicted;
        hits += both;
        marks += support + predicted;
    }
    near("f1_macro", e->f1_macro.value, macro / present);
    near("f1_micro", e->f1_micro.value, !t->multilabel ? (real)NAN : marks ? 2 * (real)hits / (real)marks : 0);
    for (size_t j = 0; j < e->rule_count; j++) {
        size_t kept = 0, kept_errors = 0;
        for (size_t r = 0; r < t->rows; r++) {
            kept += e->rule[j].k < t->ratio[r];
            kept_errors += e->rule[j].k < t->ratio[r] && t->wrong[r];
        }
        assert_int_equal(e->rule[j].kept, kept);
        assert_int_equal(e->rule[j].kept_errors, kept_errors);
        assert_int_equal(e->rule[j].abstained_errors, (size_t)errors - kept_errors);
        near("rule accuracy", e->rule[j].accuracy.value, kept ? 1 - (real)kept_errors / (real)kept : (real)NAN);
    }
}

static void check_trial(const trial *t) {
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    options.task = t->multilabel ? VG_TASK_MULTILABEL : VG_TASK_MULTICLASS;
    options.bins = t->bins;
    vg_evaluate_options wanted = VG_EVALUATE_OPTIONS_INIT;
    wanted.coverages = coverages, wanted.risks = risks;
    wanted.coverage_count = wanted.risk_count = 4;
    wanted.curve_points = POINTS;
    wanted.threads = 1;
    vg_tally *tally;
    vg_evaluation *e;
    size_t first = t->n / 3, width = t->multilabel ? t->classes : 1;
    assert_int_equal(vg_tally_new(&tally, t->classes, &options), VG_OK);
    assert_int_equal(vg_tally_feed(tally, t->mean, t->std, t->labels, first), VG_OK);
    assert_int_equal(vg_tally_feed(tally, t->mean + first * t->classes, t->std + first * t->classes,
                                   t->labels + first * width, t->n - first),
                     VG_OK);
    assert_int_equal(vg_evaluate(&e, tally, t->measures, MEASURES, &wanted), VG_OK);
    check_counts(e, t);
    check_calibration(e, t);
    for (size_t m = 0; m < MEASURES; m++)
        check_ranking(&e->measures[m], &t->measures[m], t->wrong, t->rows);
    vg_evaluation_free(e);
    vg_tally_free(tally);
}

static void trials(bool multilabel, size_t count) {
    static trial t;
    for (size_t i = 0; i < count; i++) {
        vg_random random = vg_random__start(20261118 + multilabel, i);
        make_trial(&t, &random, multilabel);
        snprintf(place, sizeof place, "trial %zu, n %zu, classes %zu, bins %zu", i, t.n, t.classes, t.bins);
        check_trial(&t);
    }
}

static void test_multiclass(void **state) {
    (void)state;
    trials(false, 250);
}

static void test_multilabel(void **state) {
    (void)state;
    trials(true, 120);
}

/* --- OOD ---------------------------------------------------------------------------------------------------------- */
static void check_ood(const vg_ood_row *row, const double *u, size_t id, size_t ood) {
    static uint8_t positive[2 * MOST], negative[2 * MOST];
    static double turned[2 * MOST];
    size_t n = id + ood;
    real fpr95 = 1, detection = 0.5L;
    for (size_t i = 0; i < n; i++) {
        positive[i] = i >= id;
        negative[i] = i < id;
        turned[i] = -u[i];
        size_t called = 0, false_calls = 0; /* OOD and ID rows at a threshold of this value */
        for (size_t j = 0; j < n; j++) {
            called += u[j] >= u[i] && j >= id;
            false_calls += u[j] >= u[i] && j < id;
        }
        real fpr = (real)false_calls / (real)id, missed = (real)(ood - called) / (real)ood;
        if (20 * called >= 19 * ood && fpr < fpr95)
            fpr95 = fpr;
        if ((fpr + missed) / 2 < detection)
            detection = (fpr + missed) / 2;
    }
    near("auroc", row->auroc.value, area_of_roc(u, positive, n));
    near("aupr_out", row->aupr_out.value, average_precision(u, positive, n));
    near("aupr_in", row->aupr_in.value, average_precision(turned, negative, n));
    near("fpr95", row->fpr95.value, fpr95);
    near("detection error", row->detection_error.value, detection);
}

static void test_ood(void **state) {
    (void)state;
    static double values[2 * MOST], u[2 * MOST];
    for (size_t trial = 0; trial < 400; trial++) {
        vg_random random = vg_random__start(118, trial);
        size_t id = 1 + below(&random, trial % 4 ? 40 : MOST), ood = 1 + below(&random, trial % 4 ? 40 : MOST);
        int certainty = (int)below(&random, 2);
        snprintf(place, sizeof place, "trial %zu, %zu ID and %zu OOD", trial, id, ood);
        fill(values, id + ood, &random);
        for (size_t i = 0; i < id + ood; i++)
            u[i] = certainty ? -values[i] : values[i];
        vg_measure a = {"u", values, 1, certainty}, b = {"u", values + id, 1, certainty};
        for (size_t resamples = 0; resamples <= 9; resamples += 9) { /* two ways to sort */
            vg_ood_options options = VG_OOD_OPTIONS_INIT;
            options.resamples = resamples;
            options.threads = 1;
            vg_ood_row row;
            assert_int_equal(vg_ood_evaluate(&row, &a, id, &b, ood, 1, &options), VG_OK);
            check_ood(&row, u, id, ood);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_multiclass), cmocka_unit_test(test_multilabel),
                                       cmocka_unit_test(test_ood)};
    return cmocka_run_group_tests_name("evaluate: plain definitions", tests, NULL, NULL);
}
