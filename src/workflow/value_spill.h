/* value_spill.h - columns of values with error marks that need not fit in memory, read back in order of value.
 * Internal.
 *
 * Rows arrive in blocks and go to one unnamed temporary file, in groups of rows; a group is stored column after
 * column. A column is read back in parts: the values are divided by the leading bits of their order, 16 at a time,
 * into parts that fit the memory, and every value of a part is below those of the next. */
#ifndef VG_WORKFLOW_VALUE_SPILL_H
#define VG_WORKFLOW_VALUE_SPILL_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/status.h"

typedef struct vg_value_spill vg_value_spill;

/* Room for `columns` columns; at most about `part_rows` rows are in memory while one is read back. */
vg_status vg_value_spill__new(vg_value_spill **out, size_t columns, size_t part_rows);
void vg_value_spill__free(vg_value_spill *spill);
/* Adds rows: values[column][row] at columns[column] + row, and their marks. VG_ERR_DATA for a NaN. */
vg_status vg_value_spill__add(vg_value_spill *spill, const double *const *columns, const uint8_t *errors, size_t rows);
size_t vg_value_spill__rows(const vg_value_spill *spill);

/* A part: `rows` rows in any order, or, where values is NULL, rows that all have one value, too many for the memory. */
typedef struct vg_spill_part {
    const double *values;
    const uint8_t *errors;
    size_t rows, wrong; /* wrong: rows marked */
    double value;       /* the one value */
} vg_spill_part;
typedef vg_status (*vg_spill_take)(void *context, const vg_spill_part *part);
/* Passes the parts of a column to `take`, values rising from part to part. */
vg_status vg_value_spill__walk(vg_value_spill *spill, size_t column, vg_spill_take take, void *context);
/* Passes the rows of a column to `take` in the order they were added, some thousands at a time. */
vg_status vg_value_spill__scan(const vg_value_spill *spill, size_t column, vg_spill_take take, void *context);

#endif
