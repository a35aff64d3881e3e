/* whole_columns.h - the measures of a whole data set as columns, for a streaming scorer to write into. For the modules
 * above evaluate.
 *
 *     vg_columns__new(&columns, N, k, K, VG_COLUMNS_ALL);
 *     for each block of rows starting at sample `first`:
 *         vg_columns__at(columns, first, &scores);  // the scorer writes into the columns
 *         vg_scorer_feed(scorer, &scores, &block, NULL);
 *     vg_evaluate__columns(&evaluation, tally, columns, &options);
 *
 * One thread at a time writes or frees; several may read complete columns. */
#ifndef VG_WHOLE_COLUMNS_H
#define VG_WHOLE_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/evaluate.h"

/* Lists the measures of `scores` whose pointers are not NULL: tu au eu epce epkl epjs gmu snr, then gtu@k gau@k
 * geu@k gepce@k gepkl@k gepjs@k for each k. Writes at most `capacity` to `out` (NULL: none) and returns how many
 * there are. */
size_t vg_measures__list(vg_measure *out, size_t capacity, const vg_scores *scores, const double *k, size_t k_count);

/* The description of a tally's rows; pointers are valid until the next feed. */
vg_tally_info vg_tally__info(const vg_tally *tally);

/* Bits that select the columns to keep. */
enum {
    VG_COLUMN_TU = 1 << 0,
    VG_COLUMN_AU = 1 << 1,
    VG_COLUMN_EU = 1 << 2,
    VG_COLUMN_EPCE = 1 << 3,
    VG_COLUMN_EPKL = 1 << 4,
    VG_COLUMN_EPJS = 1 << 5,
    VG_COLUMN_GTU = 1 << 6,
    VG_COLUMN_GAU = 1 << 7,
    VG_COLUMN_GEU = 1 << 8,
    VG_COLUMN_GEPCE = 1 << 9,
    VG_COLUMN_GEPKL = 1 << 10,
    VG_COLUMN_GEPJS = 1 << 11,
    VG_COLUMN_GMU = 1 << 12,
    VG_COLUMN_SNR = 1 << 13,
    VG_COLUMN_MAXPROB = 1 << 20, /* after pred to flags of vg_scores */
    VG_COLUMN_GAP = 1 << 21,
    VG_COLUMN_TOPSTD = 1 << 22,
    VG_COLUMN_VOTES = 1 << 23,
    VG_COLUMN_MAXLOGIT = 1 << 24,
    VG_COLUMN_ENERGY = 1 << 25,
    VG_COLUMNS_ALL = (1 << 14) - 1, /* the paper's measures */
    VG_COLUMNS_BASELINES = (1 << 26) - (1 << 20)
};
/* Whole columns (rows values each, rows x K, or K x rows, for gated measures) for a streaming scorer to write into. */
typedef struct vg_columns vg_columns;
vg_status vg_columns__new(vg_columns **out, size_t rows, const double *k, size_t k_count, unsigned which);
void vg_columns__free(vg_columns *columns);
/* Sets `places` to the columns from `row` on; every other pointer of it becomes NULL. */
void vg_columns__at(const vg_columns *columns, size_t row, vg_scores *places);
/* vg_measures__list of the whole columns, without those that are not stored. */
size_t vg_columns__measures(const vg_columns *columns, vg_measure *out, size_t capacity);
/* The column of that name; VG_ERR_ARGUMENT, listing the columns, when there is none. */
vg_status vg_columns__find(const vg_columns *columns, const char *name, vg_measure *out);

/* vg_evaluate for all measures of the columns. */
vg_status vg_evaluate__columns(vg_evaluation **out, const vg_tally *tally, const vg_columns *columns,
                               const vg_evaluate_options *options);

#endif
