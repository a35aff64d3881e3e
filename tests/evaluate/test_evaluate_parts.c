/* test_evaluate_parts.c - rankings and the adaptive ECE from parts of the rows, against the whole: vg_rank and
 * vg_evaluate. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "evaluate/evaluate_internal.h"
#include "evaluate/rank_tied.h"
#include "vargate/evaluate.h"

enum { ROWS = 3000, PARTS = 4, BINS = 15 };

static double values[ROWS];
static uint8_t errors[ROWS];

/* `levels` distinct values: few make ties, many none. */
static void draw(unsigned levels) {
    unsigned state = 7 + levels;
    for (size_t i = 0; i < ROWS; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (double)((state >> 8) % levels) / levels;
        state = state * 1664525u + 1013904223u;
        errors[i] = (state >> 8) % 1000 < 30 + 400 * values[i];
    }
}

/* Rows of part p: those whose value lies in the p-th of PARTS stretches, of which the last but one is empty. */
static size_t rows_of(size_t p, int certainty, double *of, uint8_t *marks) {
    static const double edge[PARTS + 1] = {-1, 0.2, 0.7, 0.7, 2};
    size_t count = 0, at = certainty ? PARTS - 1 - p : p;
    for (size_t i = 0; i < ROWS; i++) {
        if (values[i] > edge[at] && values[i] <= edge[at + 1]) {
            of[count] = values[i];
            marks[count++] = errors[i];
        }
    }
    return count;
}

static void near(double a, double b) { assert_true(fabs(a - b) <= 1e-12 * (1 + fabs(b)) || (isnan(a) && isnan(b))); }

/* The evaluation of all rows with intervals; the caller's to free. */
static vg_evaluation *of_whole(int certainty) {
    static double mean[2 * ROWS], std[2 * ROWS];
    static int64_t labels[ROWS];
    vg_tally_options how = VG_TALLY_OPTIONS_INIT;
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    vg_measure whole = {"m", values, 1, certainty};
    vg_tally *tally;
    vg_evaluation *e;
    how.bootstrap = 1;
    options.resamples = 16;
    for (size_t i = 0; i < ROWS; i++) {
        mean[2 * i] = 0.75;
        mean[2 * i + 1] = 0.25;
        std[2 * i] = std[2 * i + 1] = values[i];
        labels[i] = errors[i];
    }
    assert_int_equal(vg_tally_new(&tally, 2, &how), VG_OK);
    assert_int_equal(vg_tally_feed(tally, mean, std, labels, ROWS), VG_OK);
    assert_int_equal(vg_evaluate(&e, tally, &whole, 1, &options), VG_OK);
    vg_tally_free(tally);
    return e;
}

static void compare(int certainty) {
    static double of[ROWS];
    static uint8_t marks[ROWS];
    vg_rank_part parts[PARTS];
    vg_measure whole = {"m", values, 1, certainty}, piece = {"m", of, 1, certainty};
    vg_ranking expected, found;
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    unsigned long long rows = 0, wrong = 0, all = 0;
    options.resamples = 16;
    for (size_t i = 0; i < ROWS; i++)
        all += errors[i];
    assert_int_equal(vg_rank(&expected, &whole, errors, ROWS, NULL), VG_OK);
    for (size_t p = 0; p < PARTS; p++) {
        size_t count = rows_of(p, certainty, of, marks);
        parts[p] = (vg_rank_part)VG_RANK_PART_INIT;
        parts[p].rows_before = rows, parts[p].errors_before = wrong;
        parts[p].rows_total = ROWS, parts[p].errors_total = all;
        assert_int_equal(vg_rank_part_walk(&parts[p], NULL, 0, &piece, marks, count, &options), VG_OK);
        rows += count;
        for (size_t i = 0; i < count; i++)
            wrong += marks[i];
    }
    assert_true(rows == ROWS && wrong == all);
    assert_int_equal(vg_rank_parts_merge(&found, parts, PARTS, &options), VG_OK);
    near(found.aurc.value, expected.aurc.value);
    near(found.eaurc.value, expected.eaurc.value);
    near(found.augrc.value, expected.augrc.value);
    near(found.error_auroc.value, expected.error_auroc.value);
    near(found.error_aupr.value, expected.error_aupr.value);
    for (size_t i = 0; i < 3; i++)
        near(found.risk_at[i].value, expected.risk_at[i].value);
    vg_evaluation *e = of_whole(certainty);
    for (size_t i = 0; i < 2; i++) {
        near(found.coverage_at[i].value, expected.coverage_at[i].value);
        near(found.coverage_at[i].low, e->measures[0].coverage_at[i].low);
        near(found.coverage_at[i].high, e->measures[0].coverage_at[i].high);
    }
    vg_evaluation_free(e);
}

/* Intervals from resamples of known spread, and those that need none. */
static void finishes_an_evaluation_of_parts(void **state) {
    (void)state;
    enum { FIGURES = 11 + 10 + 6, RESAMPLES = 16 };
    static double resampled[RESAMPLES * FIGURES];
    draw(200);
    vg_evaluation *e = of_whole(0), merged = *e;
    const double step = 0.004;
    double spread = step * step * RESAMPLES / (RESAMPLES - 1);
    for (size_t r = 0; r < RESAMPLES; r++)
        for (size_t f = 0; f < FIGURES; f++)
            resampled[r * FIGURES + f] = 0.5 + (r % 2 ? step : -step);
    vg_ranking ranking = e->measures[0];
    vg_class_figures classes[2] = {e->class_figures[0], e->class_figures[1]};
    for (size_t c = 0; c < 2; c++)
        classes[c].recall = classes[c].precision = (vg_estimate){NAN, NAN, NAN};
    merged.measures = &ranking;
    merged.class_figures = classes;
    merged.accuracy.low = merged.accuracy.high = ranking.error_auroc.low = ranking.error_auroc.high = NAN;
    assert_int_equal(vg_evaluation_finish(&merged, resampled), VG_OK);
    vg_estimate share = {e->accuracy.value, NAN, NAN}, area = {ranking.error_auroc.value, NAN, NAN};
    vg_evaluate__share_interval(&share, ROWS, spread, e->confidence);
    vg_evaluate__auroc_interval(&area, spread, (double)e->errors, (double)(ROWS - e->errors), e->confidence);
    near(merged.accuracy.low, share.low);
    near(merged.accuracy.high, share.high);
    near(ranking.error_auroc.low, area.low);
    near(ranking.error_auroc.high, area.high);
    near(ranking.coverage_at[1].high, e->measures[0].coverage_at[1].high); /* kept */
    near(merged.ece.low, e->ece.low);
    near(classes[0].recall.low, e->class_figures[0].recall.low);
    near(classes[1].precision.high, e->class_figures[1].precision.high);
    assert_int_equal(merged.lead.leader, 0);
    assert_int_equal(merged.lead.rival, 1); /* none, so that nothing is compared: */
    assert_true(isnan(merged.lead.difference.value) && isnan(merged.lead.difference.low));
    assert_true(isnan(merged.lead.difference.high) && isnan(merged.lead.p_value) && isnan(merged.lead.corrected));
    /* nor is anything read behind the resamples */
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = RESAMPLES * (FIGURES - 6) * sizeof *resampled;
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED && mprotect(memory + page, page, PROT_NONE) == 0);
    merged.rule_count = 0;
    memcpy(memory + page - bytes, resampled, bytes);
    assert_int_equal(vg_evaluation_finish(&merged, (const double *)(const void *)(memory + page - bytes)), VG_OK);
    munmap(memory, 2 * page);
    vg_evaluation_free(e);
}

static void ranks_parts_as_the_whole(void **state) {
    (void)state;
    static const unsigned levels[] = {1, 2, 7, 200, 1u << 24};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        draw(levels[i]);
        compare(0);
        compare(1);
    }
}

static void adds_adaptive_bins(void **state) {
    (void)state;
    static double of[ROWS];
    static uint8_t marks[ROWS];
    static double mean[2 * ROWS];
    static int64_t labels[ROWS];
    vg_tally_options how = VG_TALLY_OPTIONS_INIT;
    vg_tally *tally;
    vg_evaluation *e;
    double gap[BINS + 1] = {0}, sum = 0;
    unsigned long long rows = 0;
    draw(50);
    for (size_t i = 0; i < ROWS; i++) {
        values[i] = 0.51 + 0.49 * values[i];
        mean[2 * i] = values[i];
        mean[2 * i + 1] = 1 - values[i];
        labels[i] = errors[i];
    }
    assert_int_equal(vg_tally_new(&tally, 2, &how), VG_OK);
    assert_int_equal(vg_tally_feed(tally, mean, NULL, labels, ROWS), VG_OK);
    assert_int_equal(vg_evaluate(&e, tally, NULL, 0, NULL), VG_OK);
    for (size_t p = 0; p < PARTS; p++) {
        size_t count = rows_of(p, 0, of, marks);
        vg_rank_part part = VG_RANK_PART_INIT;
        vg_measure piece = {"confidence", of, 1, 0};
        part.rows_before = rows, part.rows_total = ROWS, part.errors_total = ROWS;
        assert_int_equal(vg_rank_part_walk(&part, gap, BINS, &piece, marks, count, NULL), VG_OK);
        rows += count;
    }
    for (size_t b = 0; b < BINS; b++)
        sum += fabs(gap[b]);
    near(sum / ROWS, e->ece_adaptive.value);
    const double *class_gap = vg_tally__info(tally).class_gaps;
    sum = 0;
    for (size_t b = 0; b < 2 * BINS; b++)
        sum += fabs(class_gap[b]);
    near(sum / (2.0 * ROWS), e->ece_classwise.value);
    assert_null(vg_tally__info(tally).label_gaps);
    vg_evaluation_free(e);
    vg_tally_free(tally);
}

static void knows_harmonic_sums(void **state) {
    (void)state;
    static const double ends[][2] = {{0, 1}, {0, 40}, {3, 3}, {31, 33}, {32, 100000}, {99999, 100000}, {7, 250000}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        long double sum = 0;
        for (double j = ends[i][1]; j > ends[i][0]; j--)
            sum += 1 / (long double)j;
        near(vg_evaluate__harmonic_between(ends[i][0], ends[i][1]), (double)sum);
    }
}

static void refuses_counts_that_do_not_fit(void **state) {
    (void)state;
    vg_rank_part part = VG_RANK_PART_INIT;
    vg_measure piece = {"m", values, 1, 0};
    vg_ranking out;
    part.rows_total = 10;
    assert_int_equal(vg_rank_part_walk(&part, NULL, 0, &piece, errors, 11, NULL), VG_ERR_ARGUMENT);
    part.errors_before = 1;
    assert_int_equal(vg_rank_part_walk(&part, NULL, 0, &piece, errors, 5, NULL), VG_ERR_ARGUMENT);
    part.struct_size = 3;
    assert_int_equal(vg_rank_part_walk(&part, NULL, 0, &piece, errors, 5, NULL), VG_ERR_ARGUMENT);
    assert_int_equal(vg_rank_parts_merge(&out, &part, 0, NULL), VG_ERR_ARGUMENT);
}

static void near_all(const double *a, const double *b, size_t count) {
    for (size_t i = 0; i < count; i++)
        near(a[i], b[i]);
}

/* A part whose rows all have one value: from its counts alone, and from its rows. */
static void takes_rows_of_one_value(void **state) {
    (void)state;
    enum { MOST = 20, POINTS = 30 };
    static const double risks[] = {0.05, 0.3, 0.6}, one[MOST] = {0};
    for (uint64_t trial = 0; trial < 400; trial++) {
        vg_random random = vg_random__start(31, trial);
        vg_evaluate_options o = VG_EVALUATE_OPTIONS_INIT;
        vg_rank_part tied = VG_RANK_PART_INIT, walked;
        size_t rows = 1 + vg_random__below(&random, MOST), wrong = vg_random__below(&random, rows + 1);
        uint8_t marks[MOST] = {0};
        double curves[2][POINTS];
        for (size_t i = 0; i < wrong; i++)
            marks[rows - 1 - i] = 1;
        tied.rows_before = vg_random__below(&random, MOST);
        tied.errors_before = vg_random__below(&random, tied.rows_before + 1);
        tied.rows_total = tied.rows_before + rows + vg_random__below(&random, MOST);
        tied.errors_total = tied.errors_before + wrong + (tied.rows_total - tied.rows_before - rows) / 2;
        tied.rows_per_sample = trial % 3;
        walked = tied;
        o.resamples = trial % 2;
        o.risks = risks;
        o.risk_count = 3;
        vg_measure m = {"m", one, 1, 0};
        assert_int_equal(vg_evaluate__rank_part_tied(&tied, rows, wrong, &o), VG_OK);
        assert_int_equal(vg_rank_part_walk(&walked, NULL, 0, &m, marks, rows, &o), VG_OK);
        near(tied.aurc, walked.aurc);
        near(tied.augrc, walked.augrc);
        near(tied.pairs, walked.pairs);
        near(tied.precision, walked.precision);
        near_all(tied.hits, walked.hits, VG_MAX_OPERATING_POINTS);
        near_all(tied.covered, walked.covered, VG_MAX_OPERATING_POINTS);
        near_all(tied.below, walked.below, VG_MAX_OPERATING_POINTS);
        near_all(tied.within, walked.within, VG_MAX_OPERATING_POINTS);
        for (size_t i = 0; i < POINTS; i++)
            curves[0][i] = curves[1][i] = -1;
        vg_evaluate__rank_curve_tied(curves[0], POINTS, &tied, rows, wrong);
        assert_int_equal(vg_evaluate__rank_curve_part(curves[1], POINTS, &walked, &m, marks, rows), VG_OK);
        near_all(curves[0], curves[1], POINTS);
    }
}

/* Without rows there is no figure. */
static void has_no_figures_without_rows(void **state) {
    (void)state;
    vg_rank_part none = VG_RANK_PART_INIT;
    vg_ranking out;
    assert_int_equal(vg_rank_parts_merge(&out, &none, 1, NULL), VG_OK);
    assert_true(isnan(out.aurc.value) && isnan(out.eaurc.value) && isnan(out.augrc.value));
    assert_true(isnan(out.error_auroc.value) && isnan(out.error_aupr.value));
    for (size_t i = 0; i < VG_MAX_OPERATING_POINTS; i++)
        assert_true(isnan(out.risk_at[i].value) && isnan(out.coverage_at[i].value));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_parts_as_the_whole),
        cmocka_unit_test(finishes_an_evaluation_of_parts),
        cmocka_unit_test(adds_adaptive_bins),
        cmocka_unit_test(knows_harmonic_sums),
        cmocka_unit_test(refuses_counts_that_do_not_fit),
        cmocka_unit_test(takes_rows_of_one_value),
        cmocka_unit_test(has_no_figures_without_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
