/* test_evaluate_oracle.c - whole evaluations of random small inputs against their plain definitions:
 * counting, pairs of rows and sums in long double, O(N^2). Values are coarse, so that most rows are tied; some columns
 * are constant, some inputs have only right or only wrong rows. */
#define WITHIN 2e-12L
#include <stdlib.h>
#include <string.h>

#include "base/distributions.h"
#include "evaluate/evaluate_internal.h"
#include "oracle_util.h"
#include "vargate/evaluate.h"

enum { MOST = 200, CLASSES = 5, CELLS = MOST * CLASSES, POINTS = 7, MEASURES = 3 };

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
    double mean[CELLS], std[CELLS], u[2 * MEASURES * CELLS], confidence[CELLS], ratio[CELLS];
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
    size_t first_name = below(random, 4);
    for (size_t m = 0; m < MEASURES; m++) {
        static const char *const names[] = {"a", "tu", "gmu", "c", "d", "e"};
        double *values = t->u + 2 * m * CELLS;
        t->measures[m] = (vg_measure){"", values, 1 + below(random, 2), (int)below(random, 2)};
        snprintf(t->measures[m].name, VG_NAME_SIZE, "%s", names[first_name + m]);
        fill(values, t->rows * t->measures[m].stride, random);
        for (size_t r = 0; m == 1 && r < t->rows; r++) /* better than chance */
            values[r * t->measures[m].stride] = (double)below(random, 3) + t->wrong[r];
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

/* The figures of a class from its counts, and from its rows: those of the label, in multilabel mode all of it. */
static void check_class(const vg_evaluation *e, const trial *t, size_t c) {
    const vg_class_row *row = &e->per_class[c];
    const vg_class_figures *more = &e->class_figures[c];
    real is = (real)row->support, said = (real)row->predicted, both = (real)row->true_positive, sum = 0, rows = 0;
    real recall = is > 0 ? both / is : 0, precision = said > 0 ? both / said : 0;
    size_t abstained = 0, named = 0;
    while (named < MEASURES && strcmp(t->measures[named].name, "gmu") != 0)
        named++;
    assert_int_equal(e->class_measure, named < MEASURES ? named : 0);
    const vg_measure *m = &t->measures[e->class_measure];
    for (size_t r = 0; r < t->rows; r++)
        if (t->multilabel ? r % t->classes == c : t->labels[r] == (int64_t)c) {
            rows += 1;
            sum += (real)m->values[r * m->stride];
            abstained += !(e->rule[0].k < t->ratio[r]);
        }
    near("recall", row->recall, recall);
    near("precision", row->precision, precision);
    near("f1", row->f1, is + said > 0 ? 2 * both / (is + said) : 0);
    near("recall", more->recall.value, recall);
    near("precision", more->precision.value, precision);
    assert_true(isnan(more->recall.low) && isnan(more->precision.high));
    near("iou", more->iou, is + said > 0 ? both / (is + said - both) : (real)NAN);
    near("uncertainty", more->uncertainty, rows > 0 ? sum / rows : (real)NAN);
    assert_int_equal(more->abstained, abstained);
}

/* One label of a multilabel evaluation: the figures of its rows alone. */
static void check_label(const vg_evaluation *e, const trial *t, size_t c) {
    static uint8_t wrong[MOST];
    const vg_label_row *label = &e->labels[c];
    real right = 0, nll = 0, brier = 0, n = (real)t->n;
    for (size_t i = 0; i < t->n; i++) {
        size_t r = i * t->classes + c;
        real p = t->mean[r], of_label = t->labels[r] ? p : 1 - p;
        wrong[i] = t->wrong[r];
        right += !wrong[i];
        nll -= logl(of_label > 1e-12L ? of_label : 1e-12L) / n;
        brier += (1 - of_label) * (1 - of_label) / n;
    }
    near("label accuracy", label->accuracy, right / n);
    near("label f1", label->f1, (real)e->per_class[c].f1);
    near("label nll", label->nll, nll);
    near("label brier", label->brier, brier);
    assert_memory_equal(&label->positive, &e->per_class[c], sizeof label->positive);
    for (size_t m = 0; m < MEASURES; m++) {
        vg_measure own = t->measures[m];
        own.values += c * own.stride;
        own.stride *= t->classes;
        assert_null(label->measures[m].curve);
        check_ranking(&label->measures[m], &own, wrong, t->n);
    }
}

/* Bars of the diagram, and the cells of the confusion matrix. */
static void check_bins(const vg_evaluation *e, const trial *t) {
    bool decides = false;
    for (size_t b = 0; b < t->bins; b++) {
        const vg_reliability_bin *bin = &e->reliability[b];
        real count = 0, p = 0, right = 0, square = 0, hit = 0;
        double low = (double)b / (double)t->bins, high = (double)(b + 1) / (double)t->bins;
        for (size_t r = 0; r < t->rows; r++)
            if ((t->confidence[r] > low || b == 0) && t->confidence[r] <= high) {
                count += 1;
                p += (real)t->confidence[r];
                right += !t->wrong[r];
                square += (real)t->confidence[r] * (real)t->confidence[r];
                hit += t->wrong[r] ? 0 : (real)t->confidence[r];
            }
        assert_true(bin->low == low && bin->high == high && (real)bin->count == count);
        near("mean confidence", bin->confidence, p / count);
        near("accuracy of a bin", bin->accuracy, right / count);
        near("mean square", bin->square, square / count);
        near("mean of hits", bin->hit, hit / count);
        decides |= e->calibration.mce_rows == bin->count && fabsl(fabsl(p - right) / count - e->mce.value) < 1e-12L;
    }
    assert_true(decides);
    for (size_t i = 0; e->confusion && i < t->classes * t->classes; i++) {
        uint64_t cell = 0;
        for (size_t r = 0; r < t->rows; r++)
            cell += t->labels[r] == (int64_t)(i / t->classes) && t->predicted[r] == i % t->classes;
        assert_int_equal(e->confusion[i], cell);
    }
    assert_true((e->confusion == NULL) == t->multilabel);
}

/* --- the lead: DeLong's test by all pairs of rows ----------------------------------------------------------------- */

/* The influence of each row on the area: the share of the rows of the other kind that it outranks (that outrank it)
 * less the area, over the rows of its own kind. */
static real influences(real *out, const double *u, const uint8_t *wrong, size_t n) {
    real area = area_of_roc(u, wrong, n), kinds[2] = {0, 0};
    for (size_t i = 0; i < n; i++)
        kinds[wrong[i]] += 1;
    for (size_t i = 0; i < n; i++) {
        real share = 0;
        for (size_t j = 0; j < n; j++) {
            double own = wrong[i] ? u[i] : u[j], other = wrong[i] ? u[j] : u[i];
            share += wrong[i] == wrong[j] ? 0 : own > other ? 1 : own == other ? 0.5L : 0;
        }
        out[i] = (share / kinds[!wrong[i]] - area) / kinds[wrong[i]];
    }
    return area;
}

/* Samples of `width` rows. Of one row each: both kinds have a variance of their own. */
static real variance_of_area(const real *influence, const uint8_t *wrong, size_t n, size_t width) {
    real squares[2] = {0, 0}, count[2] = {0, 0}, sum = 0, groups = (real)(n / width);
    for (size_t i = 0; i < n; i++) {
        sum += influence[i];
        if ((i + 1) % width)
            continue;
        squares[width == 1 && wrong[i]] += sum * sum;
        count[width == 1 && wrong[i]] += 1;
        sum = 0;
    }
    if (width > 1)
        return groups > 1 ? squares[0] * groups / (groups - 1) : 0;
    for (size_t kind = 0; kind < 2; kind++)
        squares[kind] = count[kind] > 1 ? squares[kind] * count[kind] / (count[kind] - 1) : 0;
    return squares[0] + squares[1];
}

static void check_difference(vg_estimate found, double p_value, real value, real variance, double confidence) {
    real far = sqrtl(variance) * (real)vg_base__normal_quantile(1 - (1 - confidence) / 2);
    near("difference", found.value, value);
    if (variance > 1e-20L) {
        near("low end of the difference", found.low, value - far > -1 ? value - far : -1);
        near("high end of the difference", found.high, value + far < 1 ? value + far : 1);
        near("p-value", p_value, erfcl(fabsl(value) / sqrtl(2 * variance)));
    } else if (variance == 0 && fabsl(value) < 1e-15L) {
        assert_true(p_value == 1 && found.low == found.value && found.high == found.value);
    } else if (variance == 0) {
        assert_true(isnan(p_value) && isnan(found.low) && isnan(found.high));
    }
}

/* Alone an area has the interval that follows from its variance. */
static void check_area(vg_estimate found, real area, real variance, const real kinds[2], double confidence) {
    vg_estimate expected = {(double)area, NAN, NAN};
    vg_evaluate__auroc_interval(&expected, (double)variance, fmax((double)kinds[1], 1), fmax((double)kinds[0], 1),
                                confidence);
    near("area", found.value, area);
    near("low end of an area", found.low, expected.low);
    near("high end of an area", found.high, expected.high);
}

static void check_areas(const vg_evaluation *e, const trial *t) {
    static double u[MEASURES][CELLS];
    static real parts[MEASURES][CELLS], difference[CELLS];
    size_t width = t->multilabel ? t->classes : 1, best = 0, rival = MEASURES;
    real area[MEASURES], kinds[2] = {0, 0};
    vg_auroc_options options = VG_AUROC_OPTIONS_INIT;
    vg_auroc_comparison pair;
    options.rows_per_sample = width;
    options.confidence = 0.8;
    for (size_t r = 0; r < t->rows; r++)
        kinds[t->wrong[r]] += 1 / (real)width;
    for (size_t m = 0; m < MEASURES; m++) {
        for (size_t r = 0; r < t->rows; r++)
            u[m][r] = (t->measures[m].certainty ? -1 : 1) * t->measures[m].values[r * t->measures[m].stride];
        area[m] = influences(parts[m], u[m], t->wrong, t->rows);
    }
    if (kinds[0] == 0 || kinds[1] == 0) {
        assert_true(e->lead.leader == MEASURES && e->lead.rival == MEASURES && isnan(e->lead.difference.value));
        assert_true(isnan(e->lead.p_value) && isnan(e->lead.corrected));
        return;
    }
    for (size_t m = 0; m < MEASURES; m++)
        best = area[m] > area[best] + 1e-13L ? m : best;
    for (size_t m = 0; m < MEASURES; m++)
        if (area[m] < area[best] - 1e-11L && (rival == MEASURES || area[m] > area[rival] + 1e-13L))
            rival = m;
    for (size_t m = 0; m < MEASURES; m++) /* TU unless it leads */
        rival = m != best && strcmp(t->measures[m].name, "tu") == 0 ? m : rival;
    assert_int_equal(e->lead.leader, best);
    assert_int_equal(e->lead.rival, rival);
    for (size_t m = 0; m < MEASURES; m++) {
        size_t other = m == best ? rival : (m + 1) % MEASURES;
        if (other == MEASURES)
            continue;
        for (size_t r = 0; r < t->rows; r++)
            difference[r] = parts[m][r] - parts[other][r];
        real variance = variance_of_area(difference, t->wrong, t->rows, width);
        assert_int_equal(vg_auroc_compare(&pair, &t->measures[m], &t->measures[other], t->wrong, t->rows, &options),
                         VG_OK);
        check_difference(pair.difference, pair.p_value, area[m] - area[other], variance, 0.8);
        check_area(pair.first, area[m], variance_of_area(parts[m], t->wrong, t->rows, width), kinds, 0.8);
        check_area(pair.second, area[other], variance_of_area(parts[other], t->wrong, t->rows, width), kinds, 0.8);
        if (m == best) {
            check_difference(e->lead.difference, e->lead.p_value, area[m] - area[other], variance, 0.95);
            near("corrected", e->lead.corrected, e->lead.p_value > 0.5 ? 1 : 2 * (real)e->lead.p_value);
        }
    }
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
        check_class(e, t, c);
        macro += support + predicted ? 2 * (real)both / (real)(support + predicted) : 0;
        present += t->multilabel || support + predicted;
        hits += both;
        marks += support + predicted;
    }
    near("f1_macro", e->f1_macro.value, macro / present);
    real whole = 0;
    for (size_t i = 0; i < t->n; i++) {
        size_t right = 0;
        for (size_t c = 0; t->multilabel && c < t->classes; c++)
            right += !t->wrong[i * t->classes + c];
        whole += right == t->classes;
    }
    near("subset accuracy", e->subset_accuracy.value, t->multilabel ? whole / (real)t->n : (real)NAN);
    assert_int_equal(e->label_count, t->multilabel ? t->classes : 0);
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
    check_bins(e, t);
    for (size_t c = 0; c < e->label_count; c++)
        check_label(e, t, c);
    if (t->rows <= 90)
        check_areas(e, t);
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_multiclass), cmocka_unit_test(test_multilabel)};
    return cmocka_run_group_tests_name("evaluate: plain definitions", tests, NULL, NULL);
}
