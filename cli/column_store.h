/* column_store.h - results of all samples, column by column, until they can be written or summarised.
 *
 * Blocks of scores arrive for all fields at once, while files and quantiles want one field at a time. Small results are kept in
 * memory; beyond a limit they go to one unnamed temporary file, field after field, so that memory stays bounded whatever N. */
#ifndef CLI_COLUMN_STORE_H
#define CLI_COLUMN_STORE_H

#include "score_fields.h"

typedef struct column_store {
    score_layout layout;
    score_set set;
    size_t offset[FIELD_COUNT]; /* of each field's first byte */
    size_t bytes;               /* of all fields */
    char *memory;               /* NULL: in the file */
    int file;                   /* -1: in memory */
} column_store;

/* Room for the fields of `set`. A temporary file, when one is needed, is made in the folder of `beside` (NULL: $TMPDIR, /tmp)
 * and has no name. Returns an exit code. */
int column_store_open(column_store *store, score_set set, const score_layout *layout, const char *beside);
void column_store_close(column_store *store);
/* Keeps samples first .. first + rows - 1 of every field of the set. */
int column_store_put(column_store *store, size_t first, size_t rows, const vg_scores *block);
/* Reads them back: rows * score_field_width values. */
int column_store_get(const column_store *store, score_field field, size_t first, size_t rows, void *out);
/* A field's values in memory when they are there, else NULL. */
const void *column_store_memory(const column_store *store, score_field field);

#endif
