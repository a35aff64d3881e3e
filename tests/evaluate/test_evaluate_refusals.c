/* test_evaluate_refusals.c - what the functions of the module refuse, each with its message, and the nearest values
 * that they accept: options at the ends of their ranges, samples that cannot be counted, arguments that contradict. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "evaluate/bounds.h"
#include "evaluate/evaluate_internal.h"
#include "evaluate/select_internal.h"
#include "refusal.h"
#include "vargate/sets.h"

enum { N = 6 };
static const double below_one = 1 - 0x1p-53, tiny = 0x1p-1074;
static double mean[2 * N] = {.9, .1, .2, .8, .6, .4, .5, .5, .3, .7, 1, 0};
static double spread[2 * N] = {.1, .1, .1, .1, .2, .2, 0, 0, .1, .1, 0, 0};
static int64_t labels[2 * N] = {0, 1, 1, 0, 1, 0};
static double u[N] = {.1, .2, .4, .5, .3, 0};
static const uint8_t errors[N] = {0, 0, 1, 0, 0, 0};
static vg_measure measure = {"u", u, 1, 0};

/* --- tallies */
static vg_status new_tally(size_t classes, vg_tally_options o) {
    vg_tally *t = NULL;
    vg_status status = vg_tally_new(&t, classes, &o);
    vg_tally_free(t);
    return status;
}
static vg_status feed(vg_task task, size_t row, double p, double s, int64_t label) {
    vg_tally_options o = VG_TALLY_OPTIONS_INIT;
    vg_tally *t;
    double m[2 * N], d[2 * N];
    int64_t l[2 * N] = {0};
    o.task = task;
    memcpy(m, mean, sizeof m);
    memcpy(d, spread, sizeof d);
    m[row] = p, d[row] = s, l[row] = label;
    ACCEPTED(vg_tally_new(&t, 2, &o));
    vg_status status = vg_tally_feed(t, m, d, l, N);
    vg_tally_free(t);
    return status;
}

static void tallies(void **state) {
    (void)state;
    const vg_tally_options usual = VG_TALLY_OPTIONS_INIT;
    vg_tally_options o = usual;
    WRONG(new_tally(1, o), "tally: 1 classes, expected 2 to 2147483647");
    ACCEPTED(new_tally(2, o));
    o.task = VG_TASK_MULTILABEL;
    WRONG(new_tally(0, o), "tally: 0 classes, expected 1 to");
    ACCEPTED(new_tally(1, o));
    WRONG(new_tally((size_t)INT32_MAX + 1, o), "2147483648 classes");
    o = usual, o.bins = 0;
    WRONG(new_tally(2, o), "tally: 0 bins, expected 1 to 10000");
    o.bins = 10001;
    WRONG(new_tally(2, o), "tally: 10001 bins");
    o.bins = 10000;
    ACCEPTED(new_tally(2, o));
    o.bins = 1;
    ACCEPTED(new_tally(2, o));
    o = usual, o.floor = -tiny;
    WRONG(new_tally(2, o), "tally: floor -4.94066e-324, expected at least 0 and below 1");
    o.floor = 1;
    WRONG(new_tally(2, o), "tally: floor 1, expected");
    o.floor = NAN;
    WRONG(new_tally(2, o), "tally: floor nan");
    o.floor = 0;
    ACCEPTED(new_tally(2, o));
    o.floor = below_one;
    ACCEPTED(new_tally(2, o));
    const double k[2] = {1, 0}, endless[2] = {INFINITY, 1}, good[2] = {tiny, 1e300};
    o = usual, o.class_k = k;
    WRONG(new_tally(2, o), "rule: k 1 is 0, expected a positive number");
    o.class_k = endless;
    WRONG(new_tally(2, o), "rule: k 0 is inf, expected a positive number");
    o.class_k = good;
    ACCEPTED(new_tally(2, o));
}

static void samples_of_tallies(void **state) {
    (void)state;
    ACCEPTED(feed(VG_TASK_MULTICLASS, 3, 1.0, 1.0, 1));
    ACCEPTED(feed(VG_TASK_MULTICLASS, 3, 0.0, 0.0, 0));
    REFUSED(feed(VG_TASK_MULTICLASS, 3, 1.5, 0, 0), VG_ERR_DATA, "sample 1, class 1: mean probability 1.5, expected 0");
    REFUSED(feed(VG_TASK_MULTICLASS, 11, -0.5, 0, 0), VG_ERR_DATA, "sample 5, class 1: mean probability -0.5");
    REFUSED(feed(VG_TASK_MULTICLASS, 2, NAN, 0, 0), VG_ERR_DATA, "sample 1, class 0: mean probability nan");
    REFUSED(feed(VG_TASK_MULTICLASS, 4, .5, 1.5, 0), VG_ERR_DATA, "sample 2, class 0: spread 1.5, expected 0 to 1");
    REFUSED(feed(VG_TASK_MULTICLASS, 9, .5, -1, 0), VG_ERR_DATA, "sample 4, class 1: spread -1, expected 0 to 1");
    REFUSED(feed(VG_TASK_MULTICLASS, 4, .5, 0, 2), VG_ERR_DATA, "label 4 is 2, expected 0 to 1");
    REFUSED(feed(VG_TASK_MULTICLASS, 0, .5, 0, -1), VG_ERR_DATA, "label 0 is -1, expected 0 to 1");
    ACCEPTED(feed(VG_TASK_MULTILABEL, 11, .5, 0, 1));
    REFUSED(feed(VG_TASK_MULTILABEL, 11, .5, 0, 2), VG_ERR_DATA, "sample 5, label 1: value 2, expected 0 or 1");
    REFUSED(feed(VG_TASK_MULTILABEL, 4, .5, 0, -1), VG_ERR_DATA, "sample 2, label 0: value -1, expected 0 or 1");
    vg_tally *t;
    ACCEPTED(vg_tally_new(&t, 2, NULL));
    ACCEPTED(vg_tally_feed(t, NULL, NULL, NULL, 0));
    ACCEPTED(vg_tally_feed(t, mean, spread, labels, 2));
    WRONG(vg_tally_feed(t, mean, NULL, labels, 2), "std must be given with every block or with none");
    ACCEPTED(vg_tally_feed(t, mean, spread, labels, 2));
    int64_t wrong[2] = {1, 7};
    REFUSED(vg_tally_feed(t, mean, spread, wrong, 2), VG_ERR_DATA, "label 5 is 7"); /* counted from the first block */
    vg_tally_free(t);
}

/* --- evaluations */
static vg_status evaluate(size_t rows, int bootstrap, size_t count, const vg_evaluate_options *o) {
    vg_tally_options how = VG_TALLY_OPTIONS_INIT;
    vg_tally *t;
    vg_evaluation *e = NULL;
    how.bootstrap = bootstrap;
    ACCEPTED(vg_tally_new(&t, 2, &how));
    ACCEPTED(vg_tally_feed(t, mean, spread, labels, rows));
    vg_status status = vg_evaluate(&e, t, &measure, count, o);
    assert_true((e != NULL) == (status == VG_OK));
    vg_evaluation_free(e);
    vg_tally_free(t);
    return status;
}

static void evaluations(void **state) {
    (void)state;
    const vg_evaluate_options usual = VG_EVALUATE_OPTIONS_INIT;
    vg_evaluate_options o = usual;
    const double bad_k[] = {1, -1}, points[] = {0, .5, 1, 1.5, -.5, NAN, 0, 0, 0};
    REFUSED(evaluate(0, 0, 1, &o), VG_ERR_DATA, "evaluate: no samples");
    ACCEPTED(evaluate(1, 0, 1, &o));
    ACCEPTED(evaluate(N, 0, 0, &o));
    o.resamples = 1;
    WRONG(evaluate(N, 0, 1, &o), "the bootstrap needs a tally made with bootstrap = 1");
    ACCEPTED(evaluate(N, 1, 1, &o));
    static const double ends[] = {0, 1, -1, 2, NAN};
    for (size_t i = 0; i < 5; i++) {
        o.confidence = ends[i];
        WRONG(evaluate(N, 1, 1, &o), "expected above 0 and below 1");
    }
    o.resamples = 0; /* not used then */
    ACCEPTED(evaluate(N, 0, 1, &o));
    o = usual, o.k = bad_k, o.k_count = 2;
    WRONG(evaluate(N, 0, 1, &o), "rule: k 1 is -1, expected a positive number");
    o.k_count = 1;
    ACCEPTED(evaluate(N, 0, 1, &o));
    o = usual, o.coverages = points, o.coverage_count = 1;
    WRONG(evaluate(N, 0, 1, &o), "evaluate: coverage 0 is 0, expected above 0 and at most 1");
    o.coverages = points + 1, o.coverage_count = 2;
    ACCEPTED(evaluate(N, 0, 1, &o));
    o.coverage_count = 3;
    WRONG(evaluate(N, 0, 1, &o), "evaluate: coverage 2 is 1.5, expected");
    o.coverages = points, o.coverage_count = 9;
    WRONG(evaluate(N, 0, 1, &o), "9 coverages and 2 risks asked for, at most 8 of each");
    o = usual, o.risks = points, o.risk_count = 3;
    ACCEPTED(evaluate(N, 0, 1, &o));
    o.risk_count = 4;
    WRONG(evaluate(N, 0, 1, &o), "evaluate: risk 3 is 1.5, expected 0 to 1");
    o.risks = points + 4, o.risk_count = 1;
    WRONG(evaluate(N, 0, 1, &o), "evaluate: risk 0 is -0.5, expected 0 to 1");
    o.risks = points, o.risk_count = 9;
    WRONG(evaluate(N, 0, 1, &o), "3 coverages and 9 risks asked for");
    o = usual, o.resamples = SIZE_MAX / 2;
    REFUSED(evaluate(N, 1, 1, &o), VG_ERR_MEMORY, "memory");
    o = usual, o.curve_points = SIZE_MAX / 2;
    REFUSED(evaluate(N, 0, 1, &o), VG_ERR_MEMORY, "memory");
    u[3] = NAN;
    REFUSED(evaluate(N, 0, 1, &usual), VG_ERR_DATA, "u");
    u[3] = .5;
}

static void finished(void **state) {
    (void)state;
    vg_reliability_bin bin = {0, 1, 4, .75, .5, .6, .4};
    vg_ranking ranking = {.name = "tu"};
    vg_evaluation e = {.struct_size = sizeof e, .n = 4, .classes = 2, .rows = 4, .bins = 1, .reliability = &bin};
    WRONG(vg_evaluation_finish(NULL, NULL), "evaluation: NULL, or struct_size is below");
    e.struct_size = offsetof(vg_evaluation, miou) - 1;
    WRONG(vg_evaluation_finish(&e, NULL), "struct_size is below");
    e.struct_size = offsetof(vg_evaluation, miou);
    ACCEPTED(vg_evaluation_finish(&e, NULL));
    assert_int_equal(e.calibration.mce_rows, 4);
    e.struct_size = sizeof e;
    e.reliability = NULL;
    WRONG(vg_evaluation_finish(&e, NULL), "reliability, measures and rule must not be NULL, and bins at least 1");
    e.reliability = &bin, e.bins = 0;
    WRONG(vg_evaluation_finish(&e, NULL), "and bins at least 1");
    e.bins = 1, e.measure_count = 1;
    WRONG(vg_evaluation_finish(&e, NULL), "measures and rule must not be NULL");
    e.measures = &ranking, e.rule_count = 1;
    WRONG(vg_evaluation_finish(&e, NULL), "measures and rule must not be NULL");
    e.rule_count = 0, e.resamples = 1, e.confidence = 1;
    WRONG(vg_evaluation_finish(&e, NULL), "evaluation: confidence 1, expected above 0 and below 1");
    e.confidence = 0;
    WRONG(vg_evaluation_finish(&e, NULL), "evaluation: confidence 0, expected");
    e.confidence = .9;
    ACCEPTED(vg_evaluation_finish(&e, NULL));
    bin.count = 0;
    REFUSED(vg_evaluation_finish(&e, NULL), VG_ERR_DATA, "calibration: no samples in any bin");
    static vg_reliability_bin bins[129] = {{0, 1, 4, .75, .5, .6, .4}};
    static double products[3 * 129 * 129 + 129];
    e.reliability = bins, e.bins = 129, e.bin_products = products, e.task = VG_TASK_MULTILABEL;
    WRONG(vg_evaluation_finish(&e, NULL), "calibration: products of 129 bins, at most 128");
    e.bins = 128;
    ACCEPTED(vg_evaluation_finish(&e, NULL));
}

/* --- rankings, areas, ratios, calibration errors, bounds */
static void rankings(void **state) {
    (void)state;
    vg_ranking r;
    double curve[2] = {0, 0};
    WRONG(vg_rank(&r, &measure, errors, 0, NULL), "ranking: measure u has no rows");
    ACCEPTED(vg_rank(&r, &measure, errors, 1, NULL));
    WRONG(vg_risk_coverage(curve, 2, &measure, errors, 0), "has no rows");
    vg_rank_part part = VG_RANK_PART_INIT;
    part.rows_total = N, part.errors_total = 1, part.rows_before = 2;
    ACCEPTED(vg_rank_part_walk(&part, NULL, 0, &measure, errors, N - 2, NULL));
    WRONG(vg_rank_part_walk(&part, NULL, 0, &measure, errors, N - 1, NULL),
          "a part of 5 rows needs values, errors and");
    ACCEPTED(vg_rank_part_walk(&part, NULL, 0, &measure, NULL, 0, NULL));
    WRONG(vg_rank_part_walk(&part, NULL, 0, &measure, NULL, 1, NULL), "a part of 1 rows needs");
    WRONG(vg_rank_part_walk(&part, curve, 0, &measure, errors, 1, NULL),
          "a part with gaps of 0 bins, expected at least");
    ACCEPTED(vg_rank_part_walk(&part, curve, 1, &measure, errors, 1, NULL));
    part.struct_size--;
    WRONG(vg_rank_part_walk(&part, NULL, 0, &measure, errors, 1, NULL), "vg_rank_part");
    part.struct_size++;
    WRONG(vg_rank_parts_merge(&r, &part, 0, NULL), "ranking: there are no parts");
    ACCEPTED(vg_rank_parts_merge(&r, &part, 1, NULL));
}

static void areas(void **state) {
    (void)state;
    vg_auroc_options o = VG_AUROC_OPTIONS_INIT;
    vg_estimate e;
    vg_auroc_comparison pair;
    WRONG(vg_auroc(&e, &measure, errors, 0, &o), "auroc: 0 rows, expected 1 to 4294967295");
    ACCEPTED(vg_auroc(&e, &measure, errors, 1, &o));
    o.rows_per_sample = 0;
    WRONG(vg_auroc(&e, &measure, errors, N, &o), "auroc: 6 rows are not whole samples of 0 rows");
    o.rows_per_sample = 4;
    WRONG(vg_auroc(&e, &measure, errors, N, &o), "auroc: 6 rows are not whole samples of 4 rows");
    WRONG(vg_auroc_compare(&pair, &measure, &measure, errors, N, &o), "not whole samples of 4 rows");
    o.rows_per_sample = 3;
    ACCEPTED(vg_auroc(&e, &measure, errors, N, &o));
    static const double ends[] = {0, 1, NAN};
    for (size_t i = 0; i < 3; i++) {
        o.confidence = ends[i];
        WRONG(vg_auroc(&e, &measure, errors, N, &o), "auroc: confidence");
    }
}

static void ratios(void **state) {
    (void)state;
    double out[N], m[2 * N];
    const int32_t first[N] = {0, 1, 0, 0, 1, 0}, second[N] = {1, 0, 1, 1, 0, 1};
    WRONG(vg_margin_ratio(out, mean, spread, NULL, NULL, N, 0), "margin ratio: 0 classes, expected at least 1");
    WRONG(vg_margin_ratio(out, mean, spread, first, NULL, N, 2), "pred and second must be given together");
    WRONG(vg_margin_ratio(out, mean, spread, NULL, second, N, 2), "pred and second must be given together");
    WRONG(vg_margin_ratio(out, mean, spread, first, second, N, 1), "and for two classes or more");
    ACCEPTED(vg_margin_ratio(out, mean, spread, first, second, N, 2));
    ACCEPTED(vg_margin_ratio(out, mean, spread, NULL, NULL, N, 1));
    memcpy(m, mean, sizeof m);
    m[6] = NAN;
    REFUSED(vg_margin_ratio(out, m, spread, NULL, NULL, N, 2), VG_ERR_DATA,
            "NaN among the means and spreads of sample 3");
}

static void calibration_errors(void **state) {
    (void)state;
    double ece;
    WRONG(vg_calibration_error(&ece, NULL, mean, VG_F64, labels, 0, 2, 5), "calibration error: no samples");
    WRONG(vg_calibration_error(&ece, NULL, mean, VG_F16, labels, N, 2, 5), "must be float32 or float64");
    WRONG(vg_calibration_error(&ece, NULL, mean, VG_F64, labels, N, 1, 5), "1 classes and 5 bins, expected at least 2");
    WRONG(vg_calibration_error(&ece, NULL, mean, VG_F64, labels, N, 2, 0), "2 classes and 0 bins");
    WRONG(vg_calibration_error(&ece, NULL, mean, VG_F64, labels, N, 2, 10001), "10001 bins, expected at least 2 and 1");
    ACCEPTED(vg_calibration_error(&ece, NULL, mean, VG_F64, labels, N, 2, 10000));
    ACCEPTED(vg_calibration_error(NULL, &ece, mean, VG_F64, labels, N, 2, 1));
    ACCEPTED(vg_calibration_error(NULL, NULL, mean, VG_F64, labels, N, 2, 1));
}

static void bounds(void **state) {
    (void)state;
    double bound;
    const double losses[] = {0, 1, .5}, wrong[] = {.5, 1.5}, negative[] = {-.5};
    WRONG(vg_bounds__mean_upper(NULL, losses, 3, .9), "bounded mean: bound and losses must not be NULL");
    WRONG(vg_bounds__mean_upper(&bound, NULL, 3, .9), "bounded mean: bound and losses must not be NULL");
    WRONG(vg_bounds__mean_upper(&bound, losses, 3, 0), "bounded mean: confidence 0, expected above 0 and below 1");
    WRONG(vg_bounds__mean_upper(&bound, losses, 3, 1), "bounded mean: confidence 1, expected");
    REFUSED(vg_bounds__mean_upper(&bound, wrong, 2, .9), VG_ERR_DATA, "bounded mean: loss 1 is 1.5, expected 0 to 1");
    REFUSED(vg_bounds__mean_upper(&bound, negative, 1, .9), VG_ERR_DATA, "bounded mean: loss 0 is -0.5");
    ACCEPTED(vg_bounds__mean_upper(&bound, losses, 3, .9));
    assert_true(bound > .5 && bound <= 1);
    ACCEPTED(vg_bounds__mean_upper(&bound, NULL, 0, .9));
    assert_true(bound == 1);
}

/* --- selections */
static vg_status choose(const vg_select_options *o, size_t rows, size_t count) {
    vg_selection s = VG_SELECTION_INIT;
    vg_candidate list[2] = {{.measure = measure, .errors = errors}, {.measure = measure, .errors = errors}};
    return vg_select_among(&s, NULL, list, count, rows, o);
}

static void selections(void **state) {
    (void)state;
    const vg_select_options usual = VG_SELECT_OPTIONS_INIT;
    vg_select_options o = usual;
    WRONG(choose(&o, N, 1), "target risk 0 and target coverage 0, expected exactly one of them");
    o.target_risk = .5, o.target_coverage = .5;
    WRONG(choose(&o, N, 1), "target risk 0.5 and target coverage 0.5, expected exactly one");
    o.target_coverage = 0;
    ACCEPTED(choose(&o, N, 1));
    ACCEPTED(choose(&o, N, 2));
    static const double risks[] = {-.1, 1, NAN};
    for (size_t i = 0; i < 3; i++) {
        o.target_risk = risks[i];
        WRONG(choose(&o, N, 1), "expected above 0 and below 1");
    }
    o.target_risk = 0, o.target_coverage = 1.5;
    WRONG(choose(&o, N, 1), "target coverage 1.5, expected above 0 and at most 1");
    o.target_coverage = -1;
    WRONG(choose(&o, N, 1), "target coverage -1, expected above 0 and at most 1");
    o.target_coverage = 1;
    ACCEPTED(choose(&o, N, 1));
    WRONG(choose(&o, N, 2), "several candidates with a target coverage; expected a target risk and no grid");
    o = usual, o.target_risk = .5, o.confidence = 1;
    WRONG(choose(&o, N, 1), "select: confidence 1, expected above 0 and below 1");
    o.confidence = 0;
    WRONG(choose(&o, N, 1), "select: confidence 0, expected");
    o.confidence = .5, o.multiplicity = (vg_multiplicity)4;
    WRONG(choose(&o, N, 1), "select: unknown multiplicity 4");
    o.multiplicity = VG_MULTIPLICITY_NONE;
    ACCEPTED(choose(&o, N, 1));
    REFUSED(choose(&o, 0, 1), VG_ERR_DATA, "select: no validation rows");
    WRONG(choose(&o, N, 0), "select: no candidates");
    const double grid[] = {.2, NAN};
    o.grid = grid, o.grid_count = 0;
    WRONG(choose(&o, N, 1), "select: the grid is empty");
    WRONG(choose(&o, N, 2), "several candidates with a grid");
    o.grid_count = 2;
    WRONG(choose(&o, N, 1), "select: grid point 1 is nan, expected a number");
    o.grid_count = 1;
    ACCEPTED(choose(&o, N, 1));
}

static void units_of_selections(void **state) {
    (void)state;
    const size_t of[N] = {0, 0, 5, 1, 1, 2}, wrong[N] = {0, 0, N, 1, 1, 2};
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    o.target_risk = .5;
    o.rows_per_sample = 4;
    WRONG(choose(&o, N, 1), "select: 6 rows are not a multiple of 4 rows per sample");
    o.rows_per_sample = 3;
    ACCEPTED(choose(&o, N, 1));
    o.sample_of_row = of;
    WRONG(choose(&o, N, 1), "give the number of rows per sample or the sample of each row, not both");
    o.rows_per_sample = 1;
    ACCEPTED(choose(&o, N, 1));
    o.sample_of_row = wrong;
    REFUSED(choose(&o, N, 1), VG_ERR_DATA, "row 2 belongs to sample 6, expected a number below 6");
    const double k[] = {1, -1};
    vg_selection s = VG_SELECTION_INIT;
    o.sample_of_row = NULL, o.grid = k, o.grid_count = 2;
    WRONG(vg_select_k(&s, u, errors, N, &o), "grid point 1 is -1, expected a positive k");
    o.grid_count = 1;
    ACCEPTED(vg_select_k(&s, u, errors, N, &o));
    s.struct_size = sizeof s + 1;
    WRONG(vg_select_k(&s, u, errors, N, &o), "select: a result of size");
    s.struct_size = 1;
    WRONG(vg_select_k(&s, u, errors, N, &o), "select: a result of size 1, expected");
    uint8_t marks[N] = {1, 1, 1, 1, 1, 1};
    vg_sample_units units;
    ACCEPTED(vg_evaluate__units_open(&units, N, &(vg_select_options)VG_SELECT_OPTIONS_INIT));
    REFUSED(vg_evaluate__units_mark(&units, marks, 1), VG_ERR_DATA,
            "all 6 validation samples are set aside: none is left");
    vg_evaluate__units_close(&units);
}

static void detection(void **state) {
    (void)state;
    vg_ood_row row;
    vg_ood_options o = VG_OOD_OPTIONS_INIT;
    vg_measure other = {"v", u, 1, 0}, certain = {"u", u, 1, 1};
    WRONG(vg_ood_evaluate(&row, &measure, N, &other, N, 1, &o),
          "measure 0 is u of the ID samples and v of the OOD ones");
    WRONG(vg_ood_evaluate(&row, &measure, N, &certain, N, 1, &o), "measure 0 is u of the ID samples and u of");
    ACCEPTED(vg_ood_evaluate(NULL, NULL, N, NULL, N, 0, &o));
    WRONG(vg_ood_evaluate(&row, &measure, SIZE_MAX, &measure, 1, 1, &o), "at most 4294967295 together");
    WRONG(vg_ood_evaluate(&row, &measure, UINT32_MAX, &measure, 1, 1, &o), "at most 4294967295 together");
    o.confidence = 1;
    ACCEPTED(vg_ood_evaluate(&row, &measure, N, &measure, N, 1, &o)); /* not used */
    o.resamples = 2;
    WRONG(vg_ood_evaluate(&row, &measure, N, &measure, N, 1, &o), "ood: confidence 1, expected above 0 and below 1");
    o.confidence = 0;
    WRONG(vg_ood_evaluate(&row, &measure, N, &measure, N, 1, &o), "ood: confidence 0");
    o.confidence = .5;
    ACCEPTED(vg_ood_evaluate(&row, &measure, N, &measure, N, 1, &o));
    o.resamples = SIZE_MAX / 2;
    REFUSED(vg_ood_evaluate(&row, &measure, N, &measure, N, 1, &o), VG_ERR_MEMORY,
            "resamples of 12 samples do not fit");
}

/* --- prediction sets */
static vg_status new_sets(const vg_sets_options *o) {
    vg_sets *sets = NULL;
    vg_status status = vg_sets_new(&sets, o);
    vg_sets_free(sets);
    return status;
}

static void options_of_sets(void **state) {
    (void)state;
    const vg_sets_options usual = VG_SETS_OPTIONS_INIT;
    vg_sets_options o = usual;
    static double alphas[65];
    for (size_t i = 0; i < 65; i++)
        alphas[i] = .5;
    o.alphas = alphas, o.alpha_count = 65;
    WRONG(new_sets(&o), "--alpha: 65 values, at most 64");
    o.alpha_count = 64;
    ACCEPTED(new_sets(&o));
    static const double ends[] = {0, 1, NAN};
    for (size_t i = 0; i < 3; i++) {
        alphas[1] = ends[i];
        WRONG(new_sets(&o), "--alpha: ");
        vg_sets_options tuned = usual, sure = usual;
        tuned.tuning = sure.confidence = ends[i];
        WRONG(new_sets(&tuned), "--tuning: ");
        WRONG(new_sets(&sure), "--confidence: ");
    }
    o = usual, o.gate = 0;
    WRONG(new_sets(&o), "--gated: k is 0, expected above 0");
    o.gate = INFINITY;
    WRONG(new_sets(&o), "--gated: k is inf");
    o.gate = 1, o.score = VG_SET_SNR;
    WRONG(new_sets(&o), "--gated does not go with the score snr");
    o = usual, o.score = VG_SET_RAPS, o.lambda = -1;
    WRONG(new_sets(&o), "--lambda: -1, expected 0 or more");
    o.lambda = 0, o.k_reg = -1;
    WRONG(new_sets(&o), "--k-reg: -1, expected 0 or more");
    o.k_reg = 0;
    ACCEPTED(new_sets(&o));
    o.score = VG_SET_SAPS;
    WRONG(new_sets(&o), "--k-reg goes with the score raps");
    o.score = VG_SET_APS, o.k_reg = NAN;
    WRONG(new_sets(&o), "--lambda goes with the scores raps and saps");
    o = usual, o.randomise = 1;
    WRONG(new_sets(&o), "--randomise goes with the scores aps, raps and saps");
    o.score = VG_SET_APS;
    ACCEPTED(new_sets(&o));
    o = usual, o.score = (vg_set_score)7;
    WRONG(new_sets(&o), "unknown score 7 or grouping 0");
    o = usual, o.by = (vg_set_by)4;
    WRONG(new_sets(&o), "unknown score 0 or grouping 4");
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    scoring.task = VG_TASK_MULTILABEL;
    o = usual, o.scoring = &scoring;
    ACCEPTED(new_sets(&o));
    o.p_values = 1;
    WRONG(new_sets(&o), "--multilabel: sets of labels have the score lac and one threshold");
    o.p_values = 0, o.by = VG_SETS_BY_TOP;
    WRONG(new_sets(&o), "--multilabel: sets of labels");
}

static void samples_of_sets(void **state) {
    (void)state;
    vg_sets_options o = VG_SETS_OPTIONS_INIT;
    vg_set_places out = VG_SET_PLACES_INIT;
    vg_predictions block = vg_predictions_f64(mean, N, 1, 2);
    vg_sets *sets;
    int64_t wrong[N] = {0, 1, 0, 2, 0, 0};
    double p[2 * N];
    ACCEPTED(vg_sets_new(&sets, &o));
    REFUSED(vg_sets_feed(sets, &out, &block, NULL, NULL), VG_ERR_DATA, "need calibration samples, and there are none");
    REFUSED(vg_sets_feed(sets, NULL, &block, NULL, NULL), VG_ERR_DATA, "calibration samples need labels");
    REFUSED(vg_sets_feed(sets, NULL, &block, wrong, NULL), VG_ERR_DATA,
            "calibration sample 3 has the label 2, expected");
    ACCEPTED(vg_sets_feed(sets, NULL, &block, labels, NULL));
    wrong[3] = -1;
    REFUSED(vg_sets_feed(sets, NULL, &block, wrong, NULL), VG_ERR_DATA, "calibration sample 9 has the label -1");
    ACCEPTED(vg_sets_feed(sets, &out, &block, labels, NULL));
    WRONG(vg_sets_feed(sets, NULL, &block, labels, NULL), "the calibration has ended");
    REFUSED(vg_sets_feed(sets, &out, &block, wrong, NULL), VG_ERR_DATA, "sample 9 has the label -1, expected 0 to 1");
    wrong[3] = 2;
    REFUSED(vg_sets_feed(sets, &out, &block, wrong, NULL), VG_ERR_DATA, "has the label 2, expected 0 to 1");
    out.p_value = p;
    WRONG(vg_sets_feed(sets, &out, &block, labels, NULL), "p-values need the option p_values");
    out.p_value = NULL;
    vg_sets_free(sets);
    o.by = VG_SETS_BY_GROUP;
    ACCEPTED(vg_sets_new(&sets, &o));
    WRONG(vg_sets_feed(sets, NULL, &block, labels, NULL), "thresholds by group need the group of every sample");
    vg_sets_free(sets);
    o.by = VG_SETS_BY_NONE, o.score = VG_SET_RAPS, o.tuning = 1e-9;
    ACCEPTED(vg_sets_new(&sets, &o));
    ACCEPTED(vg_sets_feed(sets, NULL, &block, labels, NULL));
    REFUSED(vg_sets_feed(sets, &out, &block, labels, NULL), VG_ERR_DATA,
            "no calibration sample fell into the part for");
    vg_sets_free(sets);
}

/* Names of ks: plain decimals from 1e-5 on and below 1e16. */
static void names(void **state) {
    (void)state;
    static const struct {
        double k;
        const char *name;
    } pairs[] = {{1e-5, "0.00001"},          {9e-6, "9e-06"}, {1, "1"}, {100, "100"},
                 {1e15, "1000000000000000"}, {1e16, "1e+16"}};
    char name[VG_NAME_SIZE];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        vg_k_name(name, pairs[i].k);
        assert_string_equal(name, pairs[i].name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),       cmocka_unit_test(tallies),         cmocka_unit_test(samples_of_tallies),
        cmocka_unit_test(evaluations), cmocka_unit_test(finished),        cmocka_unit_test(rankings),
        cmocka_unit_test(areas),       cmocka_unit_test(ratios),          cmocka_unit_test(calibration_errors),
        cmocka_unit_test(bounds),      cmocka_unit_test(selections),      cmocka_unit_test(units_of_selections),
        cmocka_unit_test(detection),   cmocka_unit_test(options_of_sets), cmocka_unit_test(samples_of_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
