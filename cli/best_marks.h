/* best_marks.h - a table with one row a measure: marks the best of each column and names them under it. */
#ifndef CLI_BEST_MARKS_H
#define CLI_BEST_MARKS_H

#include "text_table.h"
#include "vargate/workflow.h"

/* Prints the figures of every measure, '*' at each column's best, and a line of the best names. Returns an exit code.
 */
int best_table_print(const vg_figure_table *figures);
/* The intervals of the first `columns` figures of every measure, '-' where there is none. */
int interval_table_print(const vg_figure_table *figures, size_t columns);
/* One interval as a cell. */
void interval_cell(text_table *table, size_t row, size_t column, const vg_estimate *estimate);

#endif
