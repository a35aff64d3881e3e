/* test_evaluate_coverage.c - whether every interval that is printed holds its level. Data are drawn again and again
 * from populations whose figures are known, and the share of draws is counted in which a 95 % interval holds the truth.
 *
 * With VARGATE_LONG_TESTS set (make check-all): n = 200, 1000, 5000, and the table of docs/design/interval-coverage.md
 * on stdout; at n >= 1000 at least 91 % of the draws must be covered. Otherwise a short form at n = 1000. A figure
 * always lies in its own interval. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "vargate/evaluate.h"

enum { CLASSES = 3, LABELS = 8, MOST_FIGURES = 24, BINS = 15 };

/* --- populations --- */

/* A model of three classes: confidence p = 1 - (2/3) v^power, v uniform; right with probability max(p - excess (1 - p),
 * 0). */
typedef struct population {
    const char *name;
    bool multilabel;
    double power;  /* larger: more confident */
    double excess; /* 0: perfectly calibrated */
    double shared; /* multilabel: share of samples whose labels are all wrong or right together */
} population;
static const population populations[] = {
    {"calibrated, 0.7 % errors", false, 95, 0, 0}, /* rare errors among the most certain rows carry the areas */
    {"calibrated, 3 % errors", false, 20, 0, 0},
    {"nearly calibrated, 8 % errors", false, 7, .03, 0},
    {"overconfident, 30 % errors", false, 2, .4, 0},
    {"underconfident, 0.7 % errors", false, 7, -.92, 0},
    {"8 labels, errors shared in half the samples", true, 6, .1, .5},
    {"8 labels, 1 % errors, shared in half the samples", true, 40, 0, .5},
};
enum { POPULATIONS = sizeof populations / sizeof *populations };

typedef struct draw {
    size_t n;
    double *mean, *std, *u;
    int64_t *labels;
    double *chance; /* of being right, for each row */
} draw;

static draw draw_new(size_t n, bool multilabel) {
    size_t width = multilabel ? LABELS : CLASSES, rows = multilabel ? n * LABELS : n;
    draw d = {n,
              malloc(n * width * sizeof(double)),
              malloc(n * width * sizeof(double)),
              malloc(rows * sizeof(double)),
              malloc(rows * sizeof(int64_t)),
              malloc(rows * sizeof(double))};
    assert_true(d.mean && d.std && d.u && d.labels && d.chance);
    return d;
}

static void draw_free(draw *d) {
    free(d->mean);
    free(d->std);
    free(d->u);
    free(d->labels);
    free(d->chance);
}

static void fill(draw *d, const population *is, uint64_t seed, uint64_t stream) {
    vg_random random = vg_random__start(seed, stream);
    size_t width = is->multilabel ? LABELS : 1;
    for (size_t i = 0; i < d->n; i++) {
        bool shared = vg_random__unit(&random) < is->shared;
        double common = vg_random__unit(&random);
        for (size_t c = 0; c < width; c++) {
            size_t row = i * width + c;
            double least = is->multilabel ? .5 : 1. / 3, p = 1 - (1 - least) * pow(vg_random__unit(&random), is->power);
            double chance = fmax(p - is->excess * (1 - p), 0), own = vg_random__unit(&random);
            bool right = (shared ? common : own) < chance;
            d->chance[row] = chance;
            d->u[row] = 1 - p + .1 * vg_random__unit(&random);
            if (is->multilabel) {
                bool said = vg_random__unit(&random) < .4;
                d->mean[row] = said ? p : 1 - p;
                d->std[row] = .2 * p * (1 - p) * (1 + vg_random__unit(&random));
                d->labels[row] = said == right;
                continue;
            }
            size_t top = vg_random__below(&random, 3);
            for (size_t k = 0; k < 3; k++) {
                d->mean[3 * i + (top + k) % 3] = k == 0 ? p : (1 - p) / 2;
                d->std[3 * i + (top + k) % 3] = .3 * p * (1 - p) * (1 + vg_random__unit(&random));
            }
            d->labels[i] = (int64_t)(right ? top : (top + 1 + vg_random__below(&random, 2)) % 3);
        }
    }
}

/* --- figures --- */

typedef struct figures {
    size_t count;
    const char *name[MOST_FIGURES];
    vg_estimate is[MOST_FIGURES];
} figures;

static void add(figures *f, const char *name, vg_estimate e) {
    assert_true(f->count < MOST_FIGURES);
    f->name[f->count] = name;
    f->is[f->count++] = e;
}

static void evaluate(figures *f, const draw *d, bool multilabel, size_t resamples, uint64_t seed) {
    static const double ks[] = {1}, coverages[] = {.8, .9}, risks[] = {.02, .05};
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    options.task = multilabel ? VG_TASK_MULTILABEL : VG_TASK_MULTICLASS;
    options.bootstrap = resamples > 0;
    vg_evaluate_options how = VG_EVALUATE_OPTIONS_INIT;
    how.k = ks;
    how.k_count = 1;
    how.coverages = coverages;
    how.risks = risks;
    how.coverage_count = how.risk_count = 2;
    how.resamples = resamples;
    how.seed = seed;
    how.threads = 1;
    vg_measure measure = {"u", d->u, 1, 0};
    vg_tally *tally;
    vg_evaluation *e;
    assert_int_equal(vg_tally_new(&tally, multilabel ? LABELS : CLASSES, &options), VG_OK);
    assert_int_equal(vg_tally_feed(tally, d->mean, d->std, d->labels, d->n), VG_OK);
    assert_int_equal(vg_evaluate(&e, tally, &measure, 1, &how), VG_OK);
    const vg_ranking *r = &e->measures[0];
    f->count = 0;
    add(f, "accuracy", e->accuracy);
    add(f, "f1_macro", e->f1_macro);
    add(f, "ece", e->ece);
    add(f, "nll", e->nll);
    add(f, "brier", e->brier);
    add(f, "aurc", r->aurc);
    add(f, "eaurc", r->eaurc);
    add(f, "augrc", r->augrc);
    add(f, "error_auroc", r->error_auroc);
    add(f, "error_aupr", r->error_aupr);
    add(f, "risk_at_coverage.0.8", r->risk_at[0]);
    add(f, "risk_at_coverage.0.9", r->risk_at[1]);
    add(f, "coverage_at_risk.0.02", r->coverage_at[0]);
    add(f, "coverage_at_risk.0.05", r->coverage_at[1]);
    add(f, "rule coverage", e->rule[0].coverage);
    add(f, "rule accuracy", e->rule[0].accuracy);
    if (multilabel) {
        add(f, "f1_micro", e->f1_micro);
        add(f, "subset_accuracy", e->subset_accuracy);
    }
    assert_true(isnan(e->mce.low) && isnan(e->ece_classwise.low) && isnan(e->ece_adaptive.low) &&
                isnan(e->ece_macro.low));
    vg_evaluation_free(e);
    vg_tally_free(tally);
}

/* The ECE of the population itself: labels replaced by their chances, so that no label noise is left. */
static double population_ece(const draw *d, bool multilabel) {
    double gap[BINS] = {0}, sum = 0;
    size_t rows = multilabel ? d->n * LABELS : d->n;
    for (size_t row = 0; row < rows; row++) {
        double p = multilabel ? fmax(d->mean[row], 1 - d->mean[row]) : 0;
        for (size_t c = 0; !multilabel && c < CLASSES; c++)
            p = fmax(p, d->mean[row * CLASSES + c]);
        size_t b = (size_t)(p * BINS);
        gap[b < BINS ? b : BINS - 1] += p - d->chance[row];
    }
    for (size_t b = 0; b < BINS; b++)
        sum += fabs(gap[b]);
    return sum / (double)rows;
}

static figures truth_of(const population *is, size_t rows) {
    figures f;
    draw d = draw_new(is->multilabel ? rows / LABELS : rows, is->multilabel);
    fill(&d, is, 77, 0);
    evaluate(&f, &d, is->multilabel, 0, 1);
    f.is[2].value = population_ece(&d, is->multilabel);
    draw_free(&d);
    return f;
}

/* --- OOD --- */

typedef struct detection {
    const char *name;
    double shift, spread; /* of OOD; ID is standard normal */
} detection;
static const detection detections[] = {{"OOD normal, 1 away", 1, 1.2}, {"OOD normal, 3 away", 3, 1}};
enum { DETECTIONS = sizeof detections / sizeof *detections };

static void detect(figures *f, const detection *is, size_t n, size_t resamples, uint64_t seed, uint64_t stream) {
    double *id = malloc(n * sizeof *id), *ood = malloc(n * sizeof *ood);
    assert_true(id && ood);
    vg_random random = vg_random__start(seed, stream);
    for (size_t i = 0; i < n; i++) {
        id[i] = vg_random__normal(&random);
        ood[i] = is->shift + is->spread * vg_random__normal(&random);
    }
    vg_measure a = {"u", id, 1, 0}, b = {"u", ood, 1, 0};
    vg_ood_options options = VG_OOD_OPTIONS_INIT;
    options.resamples = resamples;
    options.seed = stream;
    options.threads = 1;
    vg_ood_row row;
    assert_int_equal(vg_ood_evaluate(&row, &a, n, &b, n, 1, &options), VG_OK);
    f->count = 0;
    add(f, "auroc", row.auroc);
    add(f, "aupr_out", row.aupr_out);
    add(f, "aupr_in", row.aupr_in);
    add(f, "fpr95", row.fpr95);
    add(f, "detection_error", row.detection_error);
    free(id);
    free(ood);
}

/* --- counting --- */

typedef struct coverage {
    size_t printed[MOST_FIGURES], held[MOST_FIGURES];
} coverage;

static void count(coverage *c, const figures *f, const figures *truth) {
    for (size_t i = 0; i < f->count; i++) {
        vg_estimate e = f->is[i];
        if (isnan(e.value) || isnan(e.low))
            continue;
        if (!(e.low <= e.value && e.value <= e.high))
            fail_msg("%s: %g is not in its interval %g .. %g", f->name[i], e.value, e.low, e.high);
        c->printed[i]++;
        c->held[i] += e.low <= truth->is[i].value && truth->is[i].value <= e.high;
    }
}

typedef struct plan {
    size_t sizes[3], size_count, draws, resamples;
    size_t truth; /* rows that stand for the population */
    double least; /* share covered at n >= 1000 */
    bool print;
} plan;

/* The lines of one population; c: one coverage per size. */
static size_t judge(const plan *p, const char *name, const figures *truth, const coverage *c) {
    size_t failed = 0;
    for (size_t i = 0; i < truth->count; i++) {
        bool any = false;
        for (size_t s = 0; s < p->size_count; s++)
            any |= c[s].printed[i] > 0;
        if (!any)
            continue;
        if (p->print)
            printf("| %s | %s | %.4g |", name, truth->name[i], truth->is[i].value);
        for (size_t s = 0; s < p->size_count; s++) {
            double share = c[s].printed[i] ? (double)c[s].held[i] / (double)c[s].printed[i] : NAN;
            if (p->print)
                printf(isnan(share) ? " - |" : " %.1f |", 100 * share);
            if (p->sizes[s] >= 1000 && share < p->least) {
                fprintf(stderr, "%s, n = %zu: %s is covered in %.1f %%\n", name, p->sizes[s], truth->name[i],
                        100 * share);
                failed++;
            }
        }
        if (p->print)
            printf("\n");
    }
    fflush(stdout);
    return failed;
}

static size_t try_population(const plan *p, const population *is) {
    static coverage c[3];
    memset(c, 0, sizeof c);
    figures truth = truth_of(is, p->truth), f;
    for (size_t s = 0; s < p->size_count; s++) {
        draw d = draw_new(p->sizes[s], is->multilabel);
        for (size_t r = 0; r < p->draws; r++) {
            fill(&d, is, 1000 + p->sizes[s], r);
            evaluate(&f, &d, is->multilabel, p->resamples, r);
            count(&c[s], &f, &truth);
        }
        draw_free(&d);
    }
    return judge(p, is->name, &truth, c);
}

static size_t try_detection(const plan *p, const detection *is) {
    static coverage c[3];
    memset(c, 0, sizeof c);
    figures truth, f;
    detect(&truth, is, p->truth, 0, 78, 0);
    for (size_t s = 0; s < p->size_count; s++)
        for (size_t r = 0; r < p->draws; r++) {
            detect(&f, is, p->sizes[s], p->resamples, 2000 + p->sizes[s], r);
            count(&c[s], &f, &truth);
        }
    return judge(p, is->name, &truth, c);
}

static void test_coverage(void **state) {
    (void)state;
    const plan brief = {{1000}, 1, 60, 100, 400000, .86, false},
               whole = {{200, 1000, 5000}, 3, 300, 200, 2000000, .91, true};
    const plan *p = getenv("VARGATE_LONG_TESTS") ? &whole : &brief;
    size_t failed = 0;
    if (p->print)
        printf(
            "| population | figure | truth | n = 200 | n = 1000 | n = 5000 |\n| --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < POPULATIONS; i++)
        failed += try_population(p, &populations[i]);
    for (size_t i = 0; i < DETECTIONS; i++)
        failed += try_detection(p, &detections[i]);
    assert_int_equal(failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_coverage)};
    return cmocka_run_group_tests_name("evaluate: coverage of intervals", tests, NULL, NULL);
}
