/* columns_layout.h - layouts of columns that save time or memory. Internal: the workflows choose them.
 *
 * Bits beside VG_COLUMN_* in the argument `which` of vg_columns__new. */
#ifndef VG_EVALUATE_COLUMNS_LAYOUT_H
#define VG_EVALUATE_COLUMNS_LAYOUT_H

#include "evaluate/whole_columns.h"
#include "vargate/evaluate.h"

enum {
    /* Gated columns are K planes of `rows` values, one for each k, which are ranked faster than interleaved values.
     * The scorer needs the same setting: vg_scorer__set_planes(scorer, rows). */
    VG_COLUMNS_PLANES = 1 << 28,
    /* AU and EPCE, gated or not, take no memory where TU, EU (and EPKL) are kept: vg_evaluate__columns computes AU =
     * max(TU - EU, 0) and EPCE = AU + EPKL while it ranks them. Equal to the scorer's values to the bit for natural
     * logarithms without normalisation, all pairs, and floors other than VG_FLOOR_ADD; not to be used otherwise. */
    VG_COLUMNS_LEAN = 1 << 29,
    /* With VG_COLUMNS_LEAN: MAXPROB takes no memory. It is 1 - the confidence, which the tally of the same means keeps;
     * one row for each sample. */
    VG_COLUMNS_TALLIED = 1 << 30
};

/* Requests the memory of `rows` rows from `row` on (fewer where the columns end) from the system at once, which is
 * cheaper than page faults one by one, and can be done by another thread than the one that writes. The values do not
 * change. */
void vg_columns__prefault(const vg_columns *columns, size_t row, size_t rows);

#endif
