/* figure_table.h - building tables of figures. Internal. */
#ifndef VG_WORKFLOW_FIGURE_TABLE_H
#define VG_WORKFLOW_FIGURE_TABLE_H

#include "base/base.h"
#include "vargate/workflow.h"

enum { VG_FIGURE_TITLE = 24 };

/* A table without names (NULL) and values (zero); the figures and their titles are copied, keys borrowed. */
vg_status vg_figure_table__new(vg_figure_table **out, size_t rows, const vg_figure *figures, size_t columns);
void vg_figure_table__free(vg_figure_table *table);
/* `name` is borrowed until the table is freed. */
void vg_figure_table__name(vg_figure_table *table, size_t row, const char *name);
void vg_figure_table__set(vg_figure_table *table, size_t row, size_t column, const vg_estimate *value);
/* Finds the best of each column, after the values are set. */
void vg_figure_table__mark_best(vg_figure_table *table);

#endif
