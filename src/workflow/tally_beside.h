/* tally_beside.h - a thread that counts one block of means against the labels while the next is scored, and
 * prefaults the memory of the one after. */
#ifndef VG_WORKFLOW_TALLY_BESIDE_H
#define VG_WORKFLOW_TALLY_BESIDE_H

#include <stdbool.h>

#include "evaluate/whole_columns.h"
#include "vargate/evaluate.h"

/* One block: rows x classes means and spreads, owned by the counting thread until vg_tally_beside__wait returns, and
 * the labels of its rows. */
typedef struct vg_tally_block {
    const double *mean, *std;
    const int64_t *labels;
    size_t rows;
    const vg_columns *columns; /* rows `ahead` to ahead + ahead_rows will be written soon */
    size_t ahead, ahead_rows;
} vg_tally_block;

typedef struct vg_tally_beside vg_tally_beside;

/* Starts the thread. NULL where none can be started: the caller then counts itself. */
vg_tally_beside *vg_tally_beside__new(vg_tally *tally);
/* Gives a block to the thread, after waiting for the previous one. False when that one failed; wait gives the
 * message. */
bool vg_tally_beside__post(vg_tally_beside *beside, const vg_tally_block *block);
/* Waits until every block is counted. NULL, or the message of the block that failed. */
const char *vg_tally_beside__wait(vg_tally_beside *beside);
/* Ends the thread; NULL is accepted. */
void vg_tally_beside__free(vg_tally_beside *beside);

#endif
