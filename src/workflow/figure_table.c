/* figure_table.c - tables of figures with the best of each column. See figure_table.h. */
#include "workflow/figure_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The public table points into the rest. */
typedef struct figure_storage {
    vg_figure_table table;
    const char **names;
    vg_figure *figures;
    vg_estimate *values;
    size_t *best;
    char (*titles)[VG_FIGURE_TITLE];
} figure_storage;

static figure_storage *storage(vg_figure_table *table) { return (figure_storage *)(void *)table; }

vg_status vg_figure_table__new(vg_figure_table **out, size_t rows, const vg_figure *figures, size_t columns) {
    figure_storage *s = calloc(1, sizeof *s);
    size_t cells;
    *out = s ? &s->table : NULL;
    if (s && vg_base__mul(&cells, rows, columns)) {
        s->names = calloc(rows ? rows : 1, sizeof *s->names);
        s->figures = calloc(columns ? columns : 1, sizeof *s->figures);
        s->values = calloc(cells ? cells : 1, sizeof *s->values);
        s->best = calloc(columns ? columns : 1, sizeof *s->best);
        s->titles = calloc(columns ? columns : 1, sizeof *s->titles);
    }
    if (!s || !s->names || !s->figures || !s->values || !s->best || !s->titles) {
        vg_figure_table__free(*out);
        *out = NULL;
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for a table of figures");
    }
    for (size_t c = 0; c < columns; c++) {
        snprintf(s->titles[c], VG_FIGURE_TITLE, "%s", figures[c].title);
        s->figures[c] = figures[c];
        s->figures[c].title = s->titles[c];
    }
    s->table = (vg_figure_table){rows, columns, s->names, s->figures, s->values, s->best};
    return VG_OK;
}

void vg_figure_table__free(vg_figure_table *table) {
    if (!table)
        return;
    figure_storage *s = storage(table);
    free(s->names);
    free(s->figures);
    free(s->values);
    free(s->best);
    free(s->titles);
    free(s);
}

void vg_figure_table__name(vg_figure_table *table, size_t row, const char *name) { storage(table)->names[row] = name; }

void vg_figure_table__set(vg_figure_table *table, size_t row, size_t column, const vg_estimate *value) {
    storage(table)->values[row * table->columns + column] = *value;
}

static size_t best_row(const vg_figure_table *table, size_t column) {
    size_t best = table->rows;
    double best_figure = NAN;
    for (size_t r = 0; r < table->rows; r++) {
        double figure = table->values[r * table->columns + column].value;
        if (isnan(figure))
            continue;
        if (best == table->rows || (table->figures[column].higher ? figure > best_figure : figure < best_figure)) {
            best = r;
            best_figure = figure;
        }
    }
    return best;
}

void vg_figure_table__mark_best(vg_figure_table *table) {
    for (size_t c = 0; c < table->columns; c++)
        storage(table)->best[c] = best_row(table, c);
}
