/* select_internal.h - the parts of risk selection: bounds (bounds.c), the grid of thresholds (candidates.c), the
 * validation rows as they are tested (tested_rows.c), why nothing passed (select_reason.c), and the choice of the
 * candidates that are tested (nominate.c). Used by select.c, and by the search of src/workflow. */
#ifndef VG_SELECT_INTERNAL_H
#define VG_SELECT_INTERNAL_H

#include "evaluate/evaluate_internal.h"

/* --- bounds (bounds.c) -------------------------------------------------------------------------------------------- */

/* P(Bin(n, risk) <= errors); real arguments interpolate. 1 when errors >= n. */
double vg_evaluate__binomial_cdf(double errors, double n, double risk);
/* p-values of "the mean is at least risk" for losses in [0, 1]. `tuned`: the level for which the bets are tuned. */
double vg_evaluate__hoeffding_bentkus(double mean, size_t n, double risk);
double vg_evaluate__betting_capital(const double *losses, size_t n, double risk, double tuned); /* log of the largest */
double vg_evaluate__bounded_p(const double *losses, size_t n, double risk, double tuned);
vg_bound vg_evaluate__bounded_kind(const double *losses, size_t n, double risk,
                                   double tuned); /* the smaller of the two */
double vg_evaluate__bounded_upper(const double *losses, size_t n, double level, double tuned);

/* --- candidates (candidates.c) ------------------------------------------------------------------------------------ */

/* Thresholds on u (a certainty or ratio v is -v): rows with u < t are kept. Rising: the most selective first. */
typedef struct vg_threshold_grid {
    size_t count;
    double *threshold;
    double *share; /* the share that it keeps of the values that made the grid; NULL for a given grid */
} vg_threshold_grid;

/* A decimal of few digits in [low, high], nearest to the middle; the middle itself when none has fewer digits. */
double vg_evaluate__short_decimal(double low, double high);
/* A threshold of few digits in the gap (last, next) between two values of u; with `rule` it is below 0. */
double vg_evaluate__threshold_between(double last, double next, bool rule);
/* At most `points` thresholds at even quantiles of values[0 .. n - 1] of u, which are sorted here. None where n is 0,
 * or where the rule can keep nothing. */
vg_status vg_evaluate__quantile_grid(vg_threshold_grid *out, double *values, size_t n, size_t points, bool rule);
/* A grid fixed by the caller. */
vg_status vg_evaluate__given_grid(vg_threshold_grid *out, const vg_select_options *o, bool negated, bool rule);
void vg_evaluate__grid_free(vg_threshold_grid *grid);

/* --- rows (tested_rows.c) ----------------------------------------------------------------------------------------- */

/* Which sample a row belongs to, and the order in which samples are set aside and bet on. */
typedef struct vg_sample_units {
    size_t rows, samples;
    size_t each;          /* rows of a sample, where of_row is NULL */
    const size_t *of_row; /* rows, or NULL */
    bool several;         /* some sample has more than one row */
    size_t *place;        /* samples: position in a random order; NULL while no order is needed: the sample's number */
    size_t aside;         /* samples in the first positions, which are not tested */
} vg_sample_units;
static inline size_t vg_evaluate__sample(const vg_sample_units *units, size_t row) {
    return units->of_row ? units->of_row[row] : row / units->each;
}
vg_status vg_evaluate__units_open(vg_sample_units *units, size_t rows, const vg_select_options *o);
/* Draws the order and sets samples aside, `aside` of them. */
vg_status vg_evaluate__units_shuffle(vg_sample_units *units, size_t aside, uint64_t seed);
/* The same with samples that the caller has set aside: marks[sample] = 1. */
vg_status vg_evaluate__units_mark(vg_sample_units *units, const uint8_t *marks, uint64_t seed);
void vg_evaluate__units_close(vg_sample_units *units);
static inline size_t vg_evaluate__place(const vg_sample_units *units, size_t row) {
    size_t sample = vg_evaluate__sample(units, row);
    return units->place ? units->place[sample] : sample;
}

/* What each point of the grid keeps of the rows that are tested. */
typedef struct vg_tested_rows {
    size_t rows, samples, points;
    size_t *kept, *errors; /* points */
    /* With several rows per sample: rows by the first point that keeps them, those of point j up to kept[j], */
    struct vg_tested_entry *entries;
    uint32_t *sample_kept, *sample_errors; /* samples: of the points walked so far, */
    double *losses;                        /* and room for their losses */
    size_t walked;
} vg_tested_rows;
typedef struct vg_tested_entry {
    uint32_t place, error;
} vg_tested_entry;
/* values: u of all rows, as the grid's. */
vg_status vg_evaluate__tested_new(vg_tested_rows *out, const vg_sample_units *units, const double *values,
                                  const uint8_t *errors, const vg_threshold_grid *grid);
void vg_evaluate__tested_free(vg_tested_rows *tested);
/* With several rows per sample: fills losses at point j with the mean error of each sample that keeps a row, in the
 * order of places, and returns their number. Points must be asked for in rising order; j = 0 starts again. */
size_t vg_evaluate__losses_at(vg_tested_rows *tested, size_t j);

/* --- why nothing passed (select_reason.c) ------------------------------------------------------------------------- */

/* Kept samples that meet the target without an error, at the level of one start. */
size_t vg_evaluate__fewest(double target, double level, bool several);
/* Kept samples at which an observed risk would meet the target; INFINITY when the risk is not below it. */
double vg_evaluate__samples_for(double risk, double target, double level, bool several);

/* --- search (nominate.c, select.c) -------------------------------------------------------------------------------- */

/* Samples that are set aside unless the caller says how many: a fifth, at most 1,000. */
size_t vg_evaluate__usual_aside(size_t samples);
/* Marks `aside` of the samples, drawn under the seed, by 1; the others by 0. */
vg_status vg_evaluate__draw_aside(uint8_t *marks, size_t samples, size_t aside, uint64_t seed);
/* The indices of the `wanted` candidates (at most `count`) to test, chosen by the marked samples alone. Candidate 0
 * is always among them. `unlabelled` of the candidates is not read. */
vg_status vg_evaluate__nominate(size_t *nominees, size_t wanted, const vg_candidate *list, size_t count, size_t rows,
                                const vg_select_options *options, const uint8_t *marks);
/* vg_select_among on the samples that are not marked. Choices made with the marked samples (nominees, a temperature,
 * the grid without unlabelled values) are independent of these, so the promise holds for them. */
vg_status vg_evaluate__select_marked(vg_selection *out, size_t *chosen, const vg_candidate *candidates, size_t count,
                                     size_t rows, const vg_select_options *options, const uint8_t *marks);

#endif
