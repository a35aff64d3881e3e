/* column_store.h - results of all samples, column by column, until they can be written or summarised.
 *
 * Blocks of scores arrive for all fields at once, while files and quantiles need one field at a time. Small results
 * are kept in memory; beyond a limit they go to one unnamed temporary file, field after field, so that memory stays
 * bounded for any N. */
#ifndef VG_WORKFLOW_COLUMN_STORE_H
#define VG_WORKFLOW_COLUMN_STORE_H

#include "workflow/score_fields.h"

typedef struct vg_column_store {
    vg_score_layout layout;
    vg_field_set set;
    size_t offset[VG_FIELD_COUNT]; /* of each field's first byte */
    size_t bytes;                  /* of all fields */
    char *memory;                  /* NULL: in the file */
    int file;                      /* -1: in memory */
    bool left_out;                 /* values that are NaN belong to samples that are left out of statistics */
    const vg_scores *held;         /* not NULL: the caller's arrays instead of both. Borrowed */
} vg_column_store;

/* Makes room for the fields of `set`. A temporary file, when one is needed, is made in the folder of `beside` (NULL:
 * $TMPDIR, /tmp) and has no name. */
vg_status vg_column_store__open(vg_column_store *store, vg_field_set set, const vg_score_layout *layout,
                                const char *beside);
/* The same over arrays of all samples that the caller owns; nothing is copied, and put must not be called. */
void vg_column_store__borrow(vg_column_store *store, const vg_scores *held, const vg_score_layout *layout);
void vg_column_store__close(vg_column_store *store);
/* Stores samples first .. first + rows - 1 of every field of the set. */
vg_status vg_column_store__put(vg_column_store *store, size_t first, size_t rows, const vg_scores *block);
/* Reads them back: rows * vg_field__width values. */
vg_status vg_column_store__get(const vg_column_store *store, vg_field field, size_t first, size_t rows, void *out);
/* A field's values where they are in memory, else NULL. */
const void *vg_column_store__memory(const vg_column_store *store, vg_field field);

#endif
