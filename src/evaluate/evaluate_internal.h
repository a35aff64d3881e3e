/* evaluate_internal.h - what the files of this module share: sorted keys, the sums of a ranking, the tally's fields. */
#ifndef VG_EVALUATE_INTERNAL_H
#define VG_EVALUATE_INTERNAL_H

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "base/calibration_bins.h"
#include "evaluate/whole_columns.h"
#include "vargate/evaluate.h"

/* --- long calls (pulse.c) --------------------------------------------------------------------------------------- */

/* Cancellation and progress of a long call, shared by all of its workers. Workers check it between slices of a few
 * milliseconds. Only worker 0, which runs on the calling thread, calls the caller's progress function; the other
 * workers read the flag `stop` that it sets. */
typedef struct vg_pulse {
    vg_progress_fn ask; /* may be NULL: never stops */
    void *context;
    const char *what; /* name of the call in messages */
    size_t total;     /* steps in all */
    atomic_size_t done;
    atomic_bool stop;
} vg_pulse;
enum { VG_SLICE = 1 << 18 };                                    /* rows between two checks */
vg_status vg_evaluate__pulse(vg_pulse *pulse, unsigned worker); /* VG_ERR_INTERRUPTED to stop; pulse may be NULL */
/* Called at the end: VG_ERR_INTERRUPTED if the caller asked to stop while the last slices ran. */
vg_status vg_evaluate__pulse_end(const vg_pulse *pulse);
void vg_evaluate__pulse_add(vg_pulse *pulse, size_t steps);
void vg_evaluate__pulse_idle(void *pulse); /* for vg_pool__while_waiting */

/* --- sorting (sort_keys.c) -------------------------------------------------------------------------------------- */

/* Doubles as integers of the same order; -0 and 0 have the same key. NaN must have been refused. */
static inline uint64_t vg_evaluate__key(double value) {
    uint64_t bits;
    value += 0.0;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}
static inline double vg_evaluate__unkey(uint64_t key) {
    uint64_t bits = key >> 63 ? key & ~((uint64_t)1 << 63) : ~key;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The number of bits of a value: 0 for 0. */
static inline unsigned vg_evaluate__bits(uint64_t value) { return value ? 64u - (unsigned)__builtin_clzll(value) : 0; }

typedef struct vg_keyed {
    uint64_t key;
    uint32_t row;
} vg_keyed;

/* Sorts keys[0 .. n - 1] upwards; scratch holds n. The order among equal keys is not defined. Sorting pairs can be
 * interrupted. */
void vg_evaluate__sort_keys(uint64_t *keys, uint64_t *scratch, size_t n);
/* Selection: afterwards the keys at the indices places[0 .. count - 1], each below n, are those of the sorted order. */
void vg_evaluate__select_keys(uint64_t *keys, uint64_t *scratch, size_t n, const size_t *places, size_t count);
vg_status vg_evaluate__sort_pairs(vg_keyed *pairs, vg_keyed *scratch, size_t n, vg_pulse *pulse, unsigned worker);

/* --- rows by vectors: rows_plain.c, x86/rows_avx512.c ----------------------------------------------------------- */

/* A cell of keys (rank_buckets.c): its first bucket, and the shift that maps the bits below the cell's to a bucket
 * in it. */
typedef struct vg_rank_cell {
    uint32_t first, shift;
} vg_rank_cell;
/* The range of the items of a bucket: at least `least`, below least + 2^range. range 0: not known, because the bucket
 * consists of joined cells. */
typedef struct vg_rank_bounds {
    uint64_t least;
    unsigned range;
} vg_rank_bounds;
typedef struct vg_bucket_map {
    const vg_rank_cell *cells;
    uint64_t least, most; /* keys of the first and of the last cell; keys outside go to these */
    unsigned shift;       /* key - least to cell */
    uint64_t below;       /* mask of the bits below it */
    size_t buckets;
    vg_rank_bounds *bounds;
    uint64_t allowed, allowed_span; /* keys allowed .. allowed + allowed_span have their place, others do not */
} vg_bucket_map;
/* The place of a key in the cells. */
static inline uint64_t vg_evaluate__inside(const vg_bucket_map *map, uint64_t key) {
    return (key < map->least ? map->least : key > map->most ? map->most : key) - map->least;
}
static inline size_t vg_evaluate__bucket(const vg_bucket_map *map, uint64_t key) {
    uint64_t inside = vg_evaluate__inside(map, key);
    vg_rank_cell cell = map->cells[inside >> map->shift];
    return cell.first + (size_t)((inside & map->below) >> cell.shift);
}

/* A measure as it is ranked: max(values - less, 0) + plus, row by row and with the measure's stride, where those are
 * not NULL; or 1 - values. */
typedef struct vg_rank_column {
    vg_measure measure;
    const double *less, *plus;
    bool complement;
} vg_rank_column;
static inline double vg_evaluate__value(const vg_rank_column *column, size_t row) {
    size_t at = row * column->measure.stride;
    double value = column->measure.values[at];
    if (column->less)
        value = value < column->less[at] ? 0 : value - column->less[at];
    if (column->complement)
        value = 1 - value;
    return column->plus ? value + column->plus[at] : value;
}
/* The key of a row's uncertainty. That of a certainty is the complement, so that zeros have the highest bit of the
 * others, which are rarely negative. */
static inline uint64_t vg_evaluate__row_key(const vg_rank_column *column, size_t row) {
    uint64_t key = vg_evaluate__key(vg_evaluate__value(column, row));
    return column->measure.certainty ? ~key : key;
}

/* Rows to be ordered: a measure's values and the error marks. */
typedef struct vg_rank_rows {
    vg_rank_column column;
    const uint8_t *errors;
    size_t error_stride;
} vg_rank_rows;

enum { VG_ROW_BATCH = 256, VG_CLASS_BATCH = 1024 }; /* rows, and classes of all samples together, processed at a time */

/* Results for samples before they are counted: by sample, and by sample and class. */
typedef struct vg_sample_batch {
    uint32_t best[VG_ROW_BATCH], second[VG_ROW_BATCH]; /* classes of largest mean, ties the lower index first */
    double brier[VG_ROW_BATCH];
    double *gap;    /* mean - [label = c] */
    uint32_t *cell; /* c bins + the bin of mean */
} vg_sample_batch;

/* Inserts item i among the sorted items before it; returns the number of items that it passed. */
static inline size_t vg_evaluate__insert(uint64_t *items, size_t i) {
    uint64_t item = items[i];
    size_t j = i;
    for (; j > 0 && items[j - 1] > item; j--)
        items[j] = items[j - 1];
    items[j] = item;
    return i - j;
}

/* The area of a measure, and the rows of both kinds. */
typedef struct vg_area {
    double area, positives, negatives;
} vg_area;

/* An item of a run whose next neighbour has the same key: its index, and the errors before it. */
typedef struct vg_rank_tie {
    uint32_t item, errors;
} vg_rank_tie;

typedef struct vg_rank_room vg_rank_room;
typedef struct vg_row_kernels {
    /* Appends the items of rows first .. last - 1 to their buckets (rank_buckets.c), and notes these in
     * room->bucket_of, where that is not NULL. False where a key is not allowed there. */
    bool (*gather_rows)(vg_rank_room *room, const vg_bucket_map *map, const vg_rank_rows *rows, size_t first,
                        size_t last);
    /* Replaces counts by their exclusive prefix sums; the total is below 2^16. */
    void (*prefix_sums)(uint16_t *cells, size_t count);
    /* Sorts n items among which few inversions are left. Gives up and returns false when that takes more than `most`
     * moves by insertion; the items are then in some other order, none lost. */
    bool (*fix_bucket_order)(uint64_t *items, size_t n, size_t most);
    /* Finds the items that are errors (lowest bit set) and returns how many there are; their positions, counted from
     * `first`, go to where[], which has memory for n + 8. *tied: whether two neighbours have the same key. */
    size_t (*find_errors)(uint32_t *where, bool *tied, const uint64_t *items, size_t n, uint32_t first);
    /* The items whose next neighbour has the same key, and their number; ties[] has memory for n. */
    size_t (*find_ties)(vg_rank_tie *ties, const uint64_t *items, size_t n);
    /* Adds over i < n to sums[0 .. 3] tail[before[i]], to sums[4 .. 7] (left - i) / (all - before[i]), four partial
     * sums in turn, and returns the sum of all before[i]. */
    uint64_t (*walk)(double sums[8], const uint32_t *before, size_t n, const double *tail, double left, double all);
    /* n <= VG_ROW_BATCH samples of `classes` >= 2 means and a label each. */
    void (*samples)(vg_sample_batch *out, const double *mean, const int64_t *labels, size_t n, size_t classes,
                    const double *edges, size_t bins);
    /* Finds the first value outside 0 .. most or NaN. The index may be up to 7 before it; SIZE_MAX when there is
     * none. */
    size_t (*find_out_of_range)(const double *values, size_t count, double most);
    /* Of n rows of c probabilities each the largest, the smallest and the sum, which is NaN where one of them is. */
    void (*extremes)(double *most, double *least, double *sum, const double *p, size_t n, size_t c);
    /* Replaces the rows of the other kind below each of n rows by the row's influence on the area (delong.c). */
    void (*influences)(double *rows, const uint8_t *positive, size_t n, const vg_area *area);
} vg_row_kernels;
extern const vg_row_kernels vg_evaluate__rows_plain;
#if defined(__x86_64__) && defined(VG_WITH_EVALUATE_X86)
extern const vg_row_kernels vg_evaluate__rows_avx512;
#endif
/* The kernels of the tier in use. Orders and counts are the same in all tiers; sums of a sample's squares may differ in
 * the last bit. */
const vg_row_kernels *vg_evaluate__rows(void);

/* --- orderings (rank_buckets.c) --------------------------------------------------------------------------------- */

/* All measures of the columns, also those that are not stored; one whose values are the tally's has none. Returns their
 * number; `out` (NULL: none) has room for as many (columns.c). */
size_t vg_evaluate__columns_list(vg_rank_column *out, const vg_columns *columns);

/* A worker's memory for orderings. */
struct vg_rank_room {
    const vg_row_kernels *kernels;
    uint64_t *memory, *items; /* memory of all chunks; its first address that is a multiple of the chunk size */
    uint32_t *link, chunks;   /* the next chunk of each; chunks in use */
    bool populated;           /* the chunks' memory has been requested from the system, at the first ordering */
    uint64_t **cursor;        /* of each bucket: where its next row goes, */
    uint32_t *full;           /* its number of full chunks, */
    vg_rank_bounds *bounds;   /* and the range of its values */
    vg_rank_cell *cells;
    uint64_t *hot;              /* a bucket and its sorted copy, */
    uint16_t *fine;             /* and its cells: small enough for the first-level cache */
    uint64_t *spill;            /* 2 spill_rows: instead of `hot` for large buckets, allocated when there is one */
    size_t spill_rows;          /* rows of a bucket that fit `spill`, or `hot` while there is no spill */
    uint32_t *before;           /* rows and 8 more: rows before each group */
    uint16_t *bucket_of;        /* NULL, or in the memory of `before`: the bucket of each row */
    struct vg_tied_group *tied; /* rows / 2 */
    vg_pulse *pulse;            /* may be NULL */
    unsigned worker;
};
enum { VG_CHUNK = 512, VG_CHUNK_BYTES = VG_CHUNK * 8 }; /* rows in a chunk; a bucket is a chain of chunks */
/* Appends an item to a bucket. */
static inline void vg_evaluate__append(vg_rank_room *room, size_t bucket, uint64_t item) {
    uint64_t *end = room->cursor[bucket];
    *end++ = item;
    if ((uintptr_t)end % VG_CHUNK_BYTES == 0) { /* full: append a fresh chunk */
        uint32_t chunk = room->chunks++;
        room->link[(size_t)(end - room->items) / VG_CHUNK - 1] = chunk;
        room->full[bucket]++;
        end = room->items + (size_t)chunk * VG_CHUNK;
    }
    room->cursor[bucket] = end;
}
vg_status vg_evaluate__rank_room(vg_rank_room *room, size_t rows, vg_pulse *pulse, unsigned worker);
void vg_evaluate__rank_room_free(vg_rank_room *room);

/* The rows of a measure by rising uncertainty, given out in runs. VG_ERR_DATA names the measure and the first NaN. */
typedef struct vg_rank_order {
    const vg_rank_room *room;
    vg_bucket_map map;
    size_t buckets, next;
    size_t upper;        /* the first bucket of keys with the highest bit set */
    size_t given, asked; /* rows given out, and how many these were when the caller was last asked */
} vg_rank_order;
/* Rising. The lowest bit of each item is the error mark, the rest is the key without its highest bit. No value is in
 * two runs. */
typedef struct vg_rank_run {
    const uint64_t *items;
    size_t count, before; /* its rows, and those given out before */
    uint64_t high;        /* the highest bit of all its keys */
    void *scratch;        /* 8 bytes for each item, for the caller's use */
} vg_rank_run;
vg_status vg_evaluate__rank_order(vg_rank_order *order, vg_rank_room *room, const vg_rank_column *column,
                                  const uint8_t *errors, size_t error_stride, size_t rows);
size_t vg_evaluate__bucket_rows(const vg_rank_room *room, size_t bucket);
/* The range of the n > 0 items of a bucket, least even; range 0: all are equal, and none is an error. */
vg_rank_bounds vg_evaluate__bucket_bounds(const vg_rank_room *room, size_t bucket, size_t n);
/* The next run, valid until the next call; count 0 after the last. VG_ERR_INTERRUPTED to stop, which the caller is
 * asked after each slice of rows. */
vg_status vg_evaluate__rank_next(vg_rank_run *run, vg_rank_order *order);

/* --- groups (rank_groups.c) ------------------------------------------------------------------------------------- */

/* The distinct uncertainties of errors, rising: before[g] rows come before group g. Most groups are one error;
 * groups of several (tied) rows are listed in rising order. */
typedef struct vg_tied_group {
    uint32_t group, mass, errors; /* its index, its rows, the errors among them */
    uint32_t seen;                /* errors before it */
} vg_tied_group;
typedef struct vg_rank_groups {
    size_t rows, wrong, count, tied_count;
    uint32_t *before;    /* count */
    vg_tied_group *tied; /* tied_count */
} vg_rank_groups;
vg_status vg_evaluate__rank_groups(vg_rank_groups *groups, vg_rank_room *room, const vg_rank_column *column,
                                   const uint8_t *errors, size_t error_stride, size_t rows);

/* --- rankings (rank_sums.c) ------------------------------------------------------------------------------------- */

/* tail[i] = 1/(i+1) + ... + 1/n for i = 0 .. n: n + 1 values. */
vg_status vg_evaluate__harmonic_tail(double **tail, size_t n);

/* 1/(a+1) + ... + 1/b for whole numbers a <= b, to full precision and without a table: for parts of a ranking whose
 * other rows are not in memory. */
double vg_evaluate__harmonic_between(double a, double b);

/* Operating points, the same for every measure and resample of n rows. */
typedef struct vg_rank_plan {
    double n;           /* rows (weights sum to it) */
    const double *tail; /* harmonic tail of n; NULL: vg_evaluate__harmonic_between is called instead */
    size_t coverage_count, risk_count;
    double position[VG_MAX_OPERATING_POINTS]; /* ceil(coverage n), at least 1 */
    double risk[VG_MAX_OPERATING_POINTS];
    /* intervals of coverages at risks (rank_intervals.c): the quantile, and the rows that count as one. z 0: none */
    double z, unit;
} vg_rank_plan;

static inline double vg_evaluate__tail_at(const vg_rank_plan *plan, double row) {
    return plan->tail ? plan->tail[(size_t)row] : vg_evaluate__harmonic_between(row, plan->n);
}

/* The sums of one walk from the most to the least certain. Only groups of tied rows that hold an error count. */
typedef struct vg_rank_sums {
    double total; /* errors in all, known beforehand */
    double seen;  /* errors before this group */
    double aurc, augrc, pairs, precision;
    double hits[VG_MAX_OPERATING_POINTS];    /* errors expected among the first position[i] */
    double covered[VG_MAX_OPERATING_POINTS]; /* rows kept at risk[i] */
    double below[VG_MAX_OPERATING_POINTS], within[VG_MAX_OPERATING_POINTS]; /* with plan->z: vg_rank_part */
} vg_rank_sums;

/* The figures of a finished walk, in the order of the flat array that the bootstrap collects. */
enum { VG_RANK_AURC, VG_RANK_EAURC, VG_RANK_AUGRC, VG_RANK_AUROC, VG_RANK_AUPR, VG_RANK_FIXED };

vg_status vg_evaluate__rank_plan(vg_rank_plan *plan, const double *tail, size_t rows,
                                 const vg_evaluate_options *options);
void vg_evaluate__rank_event(vg_rank_sums *sums, const vg_rank_plan *plan, double before, double mass, double errors);
/* values: VG_RANK_FIXED + coverage_count + risk_count. */
void vg_evaluate__rank_figures(double *values, vg_rank_sums *sums, const vg_rank_plan *plan);
void vg_evaluate__rank_store(vg_ranking *out, const char *name, const double *values, const vg_rank_plan *plan);
/* Walks the groups and fills the sums. */
void vg_evaluate__rank_walk(vg_rank_sums *sums, const vg_rank_plan *plan, const vg_rank_groups *groups);
/* Row number ceil(rows (i + 1) / points). */
double vg_evaluate__curve_position(size_t i, size_t points, double rows);
/* risk[i] among the first so many rows, of the points that lie in this part; part NULL: it is the whole. */
void vg_evaluate__rank_curve(double *risk, size_t points, const vg_rank_groups *groups, const vg_rank_part *part);

/* --- the rule (rule.c) ------------------------------------------------------------------------------------------ */

/* The two classes of largest mean, ties the lower index first; classes >= 2. Written with selections instead of
 * branches, because which class is largest cannot be predicted. */
static inline void vg_evaluate__top_two(size_t *best, size_t *second, const double *mean, size_t classes) {
    size_t i = 0, j = 0;
    double first = mean[0], next = -1;
    for (size_t c = 1; c < classes; c++) {
        double p = mean[c];
        i = p > first ? c : i;
        first = p > first ? p : first;
    }
    for (size_t c = 0; c < classes; c++) {
        double p = c == i ? -1 : mean[c];
        j = p > next ? c : j;
        next = p > next ? p : next;
    }
    *best = i;
    *second = j;
}
/* margin / spread; 0 without a margin, infinite for a margin without spread. */
static inline double vg_evaluate__ratio(double margin, double spread) {
    return margin > 0 ? spread > 0 ? margin / spread : (double)INFINITY : 0;
}

/* k sigma of class c at k = 1; class_k NULL: 1 for every class. */
static inline double vg_evaluate__wide(const double *std, const double *class_k, size_t c) {
    return class_k ? class_k[c] * std[c] : std[c];
}

void vg_evaluate__rule_finish(vg_rule_row *row); /* computes the figures that follow from the counts */
vg_status vg_evaluate__check_k(const double *k, size_t k_count);
/* One row of zeros whose two count arrays hold classes zeros. */
void vg_evaluate__rule_of_tally(vg_rule_row *row, double k, const vg_tally *tally);

/* --- the tally (tally.c) ---------------------------------------------------------------------------------------- */

struct vg_tally {
    vg_busy busy;
    size_t classes, bins;
    double floor;
    bool multilabel, bootstrap, has_ratio;
    size_t n, rows, capacity, reserve; /* samples, rows, rows allocated, rows expected */
    double *edges;                     /* bins + 1: i / bins */
    double *class_k;                   /* classes: a k for every class, or NULL */
    /* per row */
    double *confidence, *ratio;
    uint8_t *error;
    int32_t *label, *prediction; /* classes; multilabel: 0 or 1 */
    double *nll, *brier;         /* bootstrap only */
    /* sums over rows, by bin of confidence */
    size_t *bin_count, *bin_correct;
    double *bin_confidence, *bin_square, *bin_hit; /* sums of p, p^2, and p of the correct rows */
    /* by class and bin of its own probability: sum of mean - [label = c] */
    double *class_gap;
    double nll_sum, nll_product, brier_sum; /* NLL: the sum minus the log of the product */
    size_t correct;
    vg_class_row *per_class; /* counts only */
    vg_sample_batch batch;   /* not multilabel: samples being counted */
    uint64_t *confusion;     /* classes x classes or NULL */
    /* multilabel, by label (and bin of confidence): */
    double *label_gap; /* classes x bins: sum of confidence - correct */
    double *label_nll, *label_brier;
    size_t *label_correct;
    size_t subset_correct;
};

/* The first position of adaptive bin j of `bins` over n rows; sizes differ by at most one, larger ones first. */
static inline double vg_evaluate__adaptive_edge(size_t n, size_t bins, size_t j) {
    size_t size = n / bins, extra = n % bins;
    return (double)(j * size + (j < extra ? j : extra));
}

/* --- figures of a tally (tally_metrics.c) ----------------------------------------------------------------------- */
enum {
    VG_TALLY_ACCURACY,
    VG_TALLY_F1_MACRO,
    VG_TALLY_ECE,
    VG_TALLY_ECE_ADAPTIVE,
    VG_TALLY_ECE_CLASSWISE,
    VG_TALLY_MCE,
    VG_TALLY_NLL,
    VG_TALLY_BRIER,
    VG_TALLY_F1_MICRO,
    VG_TALLY_SUBSET,
    VG_TALLY_ECE_MACRO,
    VG_TALLY_FIGURES
};
double vg_evaluate__f1(double support, double predicted, double hit);
/* The signed gap of each adaptive bin, sum of confidence - correct, from rows `before` .. `before + rows - 1` of
 * `total` by rising confidence; added to gap[bins]. */
vg_status vg_evaluate__adaptive_gaps(double *gap, size_t bins, vg_rank_room *room, const vg_rank_column *confidence,
                                     const uint8_t *errors, size_t rows, double before, size_t total);
/* All figures but adaptive ECE, which is left NaN; and adaptive ECE, which needs the confidences sorted. */
void vg_evaluate__tally_figures(double values[VG_TALLY_FIGURES], const vg_tally *tally);
vg_status vg_evaluate__adaptive_ece(double *out, vg_rank_room *room, const vg_tally *tally);
void vg_evaluate__per_class(vg_class_row *rows, const vg_tally *tally);
void vg_evaluate__reliability(vg_reliability_bin *bins, const vg_tally *tally);
/* The estimates of an evaluation in the order of the enum. */
void vg_evaluate__figure_places(vg_estimate *places[VG_TALLY_FIGURES], vg_evaluation *evaluation);
void vg_evaluate__labels(vg_label_row *rows, const vg_tally *tally);

/* Expected ECE, p-value, debiased ECE, rows of the bin of MCE; the interval of e->ece where confidence > 0
 * (calibration_null.c). */
vg_status vg_evaluate__calibration(vg_evaluation *e, const vg_tally *tally, double confidence);
/* The same from e->reliability alone, of independent rows. */
vg_status vg_evaluate__calibration_of_bins(vg_evaluation *e, const double *products, double confidence);

/* --- intervals (interval.c) --- */
typedef enum vg_interval_kind {
    VG_INTERVAL_NONE,
    VG_INTERVAL_LOG,
    VG_INTERVAL_LOGIT,
    VG_INTERVAL_SHARE,
    VG_INTERVAL_AREA
} vg_interval_kind;
typedef struct vg_interval_rule {
    vg_interval_kind kind;
    double events; /* SHARE: its number of rows; LOG, LOGIT, AREA: the errors that the figure depends on */
    double unseen_mean, unseen_square; /* AREA: what one more error in a random row adds: mean and mean square */
} vg_interval_rule;
/* The interval of e->value from its resamples values[0 .. count - 1] (overwritten; NaNs are left out). */
void vg_evaluate__interval(vg_estimate *e, const vg_interval_rule *rule, double *values, size_t count,
                           double confidence);
/* The interval of a share whose estimate has this variance (0: binomial of `rows`). */
void vg_evaluate__share_interval(vg_estimate *e, double rows, double variance, double confidence);
/* The interval of an AUROC from its variance. */
void vg_evaluate__auroc_interval(vg_estimate *e, double variance, double positives, double negatives,
                                 double confidence);
/* Mean square deviation from the mean; 0 for a single value. */
double vg_evaluate__variance(const double *values, size_t count);

/* --- AUROC (delong.c) --- */
enum {
    VG_PLACE_END = 1,
    VG_PLACE_POSITIVE = 2
}; /* marks of a position in an order: the last of equal values; a positive row */
void vg_evaluate__places(uint32_t *order, uint8_t *places, const vg_keyed *pairs, const uint8_t *positive, size_t rows);
/* Of every row the rows of the other kind (positive or not) below it, those of equal value half (rows_below.c). They
 * are counted in the room, which is for at least as many rows and must not be used for anything else until they are
 * read, once and in the order of the rows. */
typedef struct vg_rows_below {
    vg_rank_room *room;
    const uint16_t *buckets; /* of the rows */
    size_t done;             /* rows read */
    double positives, negatives;
    double sum; /* over the positive rows */
} vg_rows_below;
vg_status vg_evaluate__count_below(vg_rows_below *out, vg_rank_room *room, const vg_rank_column *column,
                                   const uint8_t *positive, size_t rows);
/* Reads those of the next n <= VG_ROW_BATCH rows. */
void vg_evaluate__next_below(double *below, vg_rows_below *counts, size_t n);
/* The area, and each row's influence on it: they sum to 0. NaN, influence unchanged, when all or none are positive. */
double vg_evaluate__placements(double *influence, const uint32_t *order, const uint8_t *places, size_t rows);
vg_estimate vg_evaluate__auroc_estimate(double area, const double *influence, const uint8_t *positive, size_t rows,
                                        size_t rows_per_sample, double confidence);

/* Two measures on the same rows, counted. */
typedef struct vg_area_pair {
    vg_rows_below counts[2];
    const uint8_t *positive;
    size_t rows, width; /* rows of a sample */
    vg_rank_room own;   /* where the pool has one worker: memory of the second measure, released by the caller */
} vg_area_pair;
/* Counts the rows below each for both measures. rooms: one for each worker of the pool. */
vg_status vg_evaluate__count_pair(vg_area_pair *out, const vg_rank_column *const columns[2], const vg_tally *t,
                                  vg_rank_room *rooms, vg_pool *pool);
/* The difference of the error AUROCs with its interval; returns the p-value of no difference. */
double vg_evaluate__pair_test(vg_estimate *difference, vg_area_pair *pair, double confidence);

/* The interval of a coverage at `risk`; factor >= 1: the rows that count as one independent row (rank_intervals.c). */
void vg_evaluate__coverage_interval(vg_estimate *e, const uint8_t *places, size_t rows, double risk, double factor,
                                    double confidence);
/* The same from the two coverages between which the risk crosses the target; samples: rows / factor. */
void vg_evaluate__coverage_ends(vg_estimate *e, double below, double within, double z, double samples);
/* Advances the two coverages, in rows, to `rows` where the risk of so many rows with so many errors allows it. Between
 * two errors the last row decides, so it needs to be called only there. */
void vg_evaluate__pass_risk(double *below, double *within, const vg_rank_plan *plan, double risk, double rows,
                            double errors);

/* --- the bootstrap (bootstrap.c) -------------------------------------------------------------------------------- */

/* Intervals of the figures that resamples provide: values[r * figures + f], in the order of figure_places. */
vg_status vg_evaluate__resampled(vg_evaluation *e, const vg_rank_plan *plan, const double *values, size_t figures);

enum { VG_LANES = 8 }; /* resamples processed at a time, as weights[sample * VG_LANES + lane] */

/* The number of times that each of n samples is drawn in resamples first .. first + VG_LANES - 1; resample r draws
 * from stream `stream` + r. */
vg_status vg_evaluate__weights(double *weights, size_t n, uint64_t seed, uint64_t stream, size_t first, vg_pulse *pulse,
                               unsigned worker);
/* Fills the intervals of everything in `evaluation`. */
vg_status vg_evaluate__bootstrap(vg_evaluation *evaluation, const vg_tally *tally, const vg_rank_column *columns,
                                 const vg_rank_plan *plan, const vg_evaluate_options *options, vg_pulse *pulse,
                                 vg_pool *pool);
/* One block of resamples of the tally's figures: values[lane * stride + figure] (bootstrap_tally.c). */
size_t vg_evaluate__tally_scratch(const vg_tally *tally); /* doubles of scratch that a block needs */
vg_status vg_evaluate__tally_block(double *values, size_t stride, const vg_tally *tally, const double *weights,
                                   double *scratch, vg_pulse *pulse, unsigned worker);

/* --- OOD (ood.c, ood_bootstrap.c) ------------------------------------------------------------------------------- */
enum { VG_OOD_AUROC, VG_OOD_AUPR_OUT, VG_OOD_AUPR_IN, VG_OOD_FPR95, VG_OOD_DETECTION, VG_OOD_FIGURES };
typedef struct vg_ood_work {
    const vg_measure *id, *ood;
    size_t id_rows, ood_rows, count;
    const vg_ood_options *options;
    vg_ood_row *out;
    vg_pulse *pulse;
    vg_keyed *pairs;     /* with a bootstrap: 2 (id_rows + ood_rows) for each worker */
    vg_rank_room *rooms; /* without: one for each worker */
    double *values;      /* id_rows + ood_rows for each worker: all values of a measure, ID first */
    uint8_t *marks;      /* id_rows + ood_rows: 1 = OOD */
    uint32_t *order;     /* with a bootstrap: every measure's order, ID rows first */
    uint8_t *places;     /* VG_PLACE_END, VG_PLACE_POSITIVE (OOD) of each position */
} vg_ood_work;
/* Fills the intervals of work->out. */
vg_status vg_evaluate__ood_bootstrap(vg_ood_work *work, vg_pool *pool);

/* --- the lead of a measure, classes (lead.c) ---------------------------------------------------------------------- */
/* Called after the rankings and the rule. With resamples it only finds the leader and its rival;
 * vg_evaluate__lead_resampled does the rest. rooms: one for each worker of the pool. */
vg_status vg_evaluate__lead_and_classes(vg_evaluation *e, const vg_tally *t, const vg_rank_column *columns,
                                        vg_rank_room *rooms, vg_pool *pool);
/* The test of the lead from the variance of the difference. */
void vg_evaluate__lead_of_variance(vg_evaluation *e, double variance, double confidence);
/* Sets the interval of a difference of two areas, whose ends are NaN, and returns the two-sided p-value of no
 * difference; NaN: undefined. */
double vg_evaluate__auroc_difference(vg_estimate *difference, double variance, double confidence);
/* The paired bootstrap of the lead: error AUROCs of the leader and of its rival in the same e->resamples resamples,
 * `stride` apart. */
vg_status vg_evaluate__lead_resampled(vg_evaluation *e, const double *leader, const double *rival, size_t stride);
/* The parts that need no rows: the leader and its rival; the measure of the classes, recall and precision. */
void vg_evaluate__lead_names(vg_evaluation *e);
void vg_evaluate__class_estimates(vg_evaluation *e);

#endif
