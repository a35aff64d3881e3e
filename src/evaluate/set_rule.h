/* set_rule.h - nonconformity scores of prediction sets and the thresholds they are compared with. Internal.
 *
 * Every score but snr grows with the rank of a class, so that a set is a prefix of the ranking and classes beyond a
 * threshold need not be ranked. Sums of probabilities are exact: each is rounded to a multiple of 2^-51 first, so that
 * a sum below 4 does not depend on the order of its terms. Otherwise a label's score in calibration and the same
 * class's score in a test sample could differ by rounding, and where many scores are equal (one-hot members, few
 * members) the promised coverage would be lost. */
#ifndef VG_SET_RULE_H
#define VG_SET_RULE_H

#include <stdbool.h>

#include "base/base.h"
#include "evaluate/set_kernels.h"
#include "vargate/sets.h"

typedef struct vg_set_rule {
    vg_set_score score;
    double lambda, k_reg;
    double eps; /* of snr */
    size_t classes;
    const vg_set_kernels *kernels;
} vg_set_rule;

/* One sample. */
typedef struct vg_set_row {
    const double *value;  /* C */
    const double *spread; /* C; of snr alone */
    double u;
} vg_set_row;

/* Streams of the uniform numbers. */
enum { VG_SET_CALIBRATION = 0, VG_SET_TEST = 1, VG_SET_TUNING = 2 };
/* In (0, 1), a function of its arguments alone. */
double vg_set__uniform(uint64_t seed, unsigned stream, uint64_t sample);

/* The two first classes. */
void vg_set__leaders(size_t out[2], const vg_set_rule *rule, const double *v);
/* The parts of a rank-dependent score of class y, while lambda and k_reg are not known. */
typedef struct vg_set_parts {
    double above, own, most, u; /* the sum of the values ranked above y, that of y, the largest */
    uint32_t rank, cell, unit;
} vg_set_parts;
vg_set_parts vg_set__label_parts(const vg_set_rule *rule, const vg_set_row *row, size_t y);
double vg_set__ranked_score(const vg_set_rule *rule, const vg_set_parts *parts);
/* The score of class y, in one pass over the classes. */
double vg_set__label_score(const vg_set_rule *rule, const vg_set_row *row, size_t y);
/* The scores of all classes: exactly those of vg_set__label_score, except that any above `limit` may be INFINITY.
 * order: scratch of C. */
void vg_set__scores(double *out, const vg_set_rule *rule, const vg_set_row *row, double limit, uint32_t *order);

/* --- sets of rank-dependent scores (set_ranking.c) ---------------------------------------------------------------- */

/* A thread's memory for one sample: C + VG_SET_SPARE values each. */
typedef struct vg_set_room {
    double *row;     /* values that had to be converted */
    double *found;   /* some values of the row */
    double *falling; /* the same in falling order */
    double *sums;    /* their cumulative sums */
    double *keys;
    double least; /* the guessed bound for the next sample */
} vg_set_room;
size_t vg_set_room__doubles(size_t classes);
vg_set_room vg_set_room__at(double *memory, size_t classes);
/* Fills falling and sums with the values that are at least `least`; returns their number. */
size_t vg_set__order_row(vg_set_room *room, const vg_set_kernels *kernels, const double *v, size_t n, double least);
/* The number of leading classes, of `count` whose sums are known, with scores up to the threshold. */
size_t vg_set__prefix(const vg_set_rule *rule, const double *sums, size_t count, double u, double threshold);
/* The same for one rule and threshold for each alpha; room->falling then holds the values of the classes in sets. */
void vg_set__prefixes(size_t *out, const vg_set_rule *rules, const double *thresholds, size_t alphas, vg_set_room *room,
                      const vg_set_row *row);
/* Marks the first `count` classes, whose values are in room->falling; returns count. */
size_t vg_set__mark_prefix(uint8_t *mask, const vg_set_kernels *kernels, const double *v, size_t classes,
                           const vg_set_room *room, size_t count);

/* Calibration scores of labels, by cell. */
typedef struct vg_set_pool {
    size_t cells, count, room, cell_room, unit_room;
    double *score;  /* count */
    uint32_t *cell; /* count */
    uint32_t *unit; /* count: the image of a site; NULL: scores of samples */
    size_t *start;  /* cells + 1, after settling */
    double *mass;   /* count + cells, after settling: see set_units.c; NULL: scores of samples */
    size_t *images; /* cells: images with a site in the cell */
} vg_set_pool;
/* Makes *array, of elements of `size` bytes and `used` of them in use, hold at least `needed`. */
vg_status vg_set__grow(void *array, size_t used, size_t *room, size_t needed, size_t size);
/* Makes room for `more` scores and cells at `count`, and with `units` for images; the caller writes them and adds their
 * number to count. */
vg_status vg_set_pool__reserve(vg_set_pool *pool, size_t more, bool units);
/* Puts the scores of a cell beside each other, so far in order that vg_set__quantile finds those of the alphas; no
 * alphas: sorted, for vg_set__p_value. */
vg_status vg_set_pool__settle(vg_set_pool *pool, const double *alphas, size_t alpha_count);
/* Where the scores of each cell begin, in pool->start and in `next`. */
void vg_set_pool__find_cells(const vg_set_pool *pool, size_t *next);
void vg_set_pool__free(vg_set_pool *pool);
static inline size_t vg_set_pool__samples(const vg_set_pool *pool, size_t cell) {
    return pool->start[cell + 1] - pool->start[cell];
}
/* The ceil((n + 1)(1 - alpha))-th smallest of n scores; INFINITY where that exceeds n. */
double vg_set__quantile(const double *settled, size_t n, double alpha);
/* ceil((n + 1)(1 - alpha)), computed without rounding of the product: 0.9 x 10 is 9. */
size_t vg_set__quantile_place(size_t n, double alpha);
/* (1 + #{scores >= s}) / (n + 1). */
double vg_set__p_value(const double *sorted, size_t n, double s);
/* The index of the first of n sorted scores that is at least s. */
size_t vg_set__first_at_least(const double *sorted, size_t n, double s);

/* --- images as units (set_units.c) -------------------------------------------------------------------------------- */

/* vg_set_pool__settle of sites: sorts the scores of each cell and fills in mass and images. */
vg_status vg_set_units__settle(vg_set_pool *pool);
/* The smallest score of the cell at which the losses of its n images sum to at most (n + 1) alpha - 1; INFINITY where
 * that is negative. */
double vg_set_units__quantile(const vg_set_pool *pool, size_t cell, double alpha);
/* (1 + sum over images of the share of sites with a score >= s) / (n + 1). */
double vg_set_units__p_value(const vg_set_pool *pool, size_t cell, double s);

/* --- tuning (set_tune.c) ------------------------------------------------------------------------------------------ */

/* For n tuning samples: the sums of the first 1, 2, .. C values of the ranking, and the parts of the label's score. */
typedef struct vg_set_tuning {
    size_t n, room, part_room;
    double *sums; /* n x C */
    vg_set_parts *parts;
} vg_set_tuning;
vg_status vg_set_tuning__add(vg_set_tuning *tuning, const vg_set_parts *label, const double *sums, size_t classes);
void vg_set_tuning__free(vg_set_tuning *tuning);
/* Sets rule->lambda and rule->k_reg, where NaN, to the pair with the smallest mean set size at alpha. */
vg_status vg_set_tuning__choose(vg_set_rule *rule, const vg_set_tuning *tuning, double alpha);

/* --- multilabel (set_risk.c) -------------------------------------------------------------------------------------- */

/* Positive labels of calibration samples: the mean of each, in the order of the samples. */
typedef struct vg_set_positives {
    size_t samples, count, sample_room, room;
    size_t *start; /* samples + 1 */
    double *value; /* count */
} vg_set_positives;
vg_status vg_set_positives__add(vg_set_positives *p, const double *value, const int64_t *labels, size_t classes);
void vg_set_positives__free(vg_set_positives *p);
/* The smallest threshold t on 1 - mean, of a fixed grid, such that at every grid point down to t the expected share
 * of missed labels is at most alpha with `confidence`; INFINITY where it is not even at the largest. */
vg_status vg_set_positives__threshold(double *out, const vg_set_positives *p, double alpha, double confidence);

/* --- figures (set_tally.c) ---------------------------------------------------------------------------------------- */

/* Sums over the sites of an image, and over images what intervals need of them. */
enum { VG_SET_UNIT_SIZE, VG_SET_UNIT_SINGLE, VG_SET_UNIT_EMPTY, VG_SET_UNIT_MISSED, VG_SET_UNIT_FIGURES };
typedef struct vg_set_units {
    unsigned long long current, count;   /* the image that is counted now; images before it */
    unsigned long long rows;             /* sites of the current image so far */
    double open[VG_SET_UNIT_FIGURES];    /* sums x over these */
    double loss, losses;                 /* of the images before: sums of the share missed and of its square */
    double rows_squared;                 /* sum of the squares of their numbers of sites n */
    double squares[VG_SET_UNIT_MISSED];  /* sums of x^2 */
    double products[VG_SET_UNIT_MISSED]; /* sums of x n */
} vg_set_units;
void vg_set_units__add(vg_set_units *units, unsigned long long image, size_t size, bool missed);
/* Ends the current image; returns the number of images. */
unsigned long long vg_set_units__close(vg_set_units *units);

/* Counts over test samples at one alpha. */
typedef struct vg_set_tally {
    size_t classes;
    unsigned long long samples, labelled;
    unsigned long long *size;               /* classes + 1: number of sets of each size */
    unsigned long long *held;               /* classes + 1: those that hold their label */
    unsigned long long *of_class, *covered; /* classes: samples with that label, and those covered */
    double loss, squares;                   /* multilabel: sums of the share of labels missed, and of its square */
    vg_set_units units;                     /* of images */
} vg_set_tally;
vg_status vg_set_tally__new(vg_set_tally *tally, size_t classes);
void vg_set_tally__free(vg_set_tally *tally);
/* Adds a set; label < 0: unknown. */
static inline void vg_set_tally__add(vg_set_tally *t, size_t size, int64_t label, bool covered) {
    t->samples++;
    t->size[size]++;
    if (label < 0)
        return;
    t->labelled++;
    t->held[size] += covered;
    t->of_class[label]++;
    t->covered[label] += covered;
}
/* The figures, except alpha and the interval of the beta distribution. */
void vg_set_tally__figures(vg_set_figures *out, const vg_set_tally *tally, bool multilabel, double confidence);
/* Of images: replaces the figures that are means over images, and the intervals that count sites. Returns the number of
 * images. */
unsigned long long vg_set_tally__unit_figures(vg_set_figures *out, const vg_set_tally *tally, double confidence);
/* The interval of the coverage over infinitely many test samples, with `confidence`: quantiles of Beta(l, n + 1 -
 * l), l the rank of the threshold among n scores. */
void vg_set__beta_law(double *low, double *high, size_t n, double alpha, double confidence);

#endif
