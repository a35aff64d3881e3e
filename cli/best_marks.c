/* best_marks.c - tables of measures with their best marked. See best_marks.h. */
#include "best_marks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text_wrap.h"

static void begin_table(text_table *table, const vg_figure_table *figures, size_t columns) {
    char heading[512];
    size_t used = (size_t)snprintf(heading, sizeof heading, "measure");
    for (size_t c = 0; c < columns && used < sizeof heading; c++)
        used += (size_t)snprintf(heading + used, sizeof heading - used, "|%s", figures->figures[c].title);
    table_begin(table, heading);
}

static void print_best(const vg_figure_table *figures) {
    char text[1024] = "  * best:";
    size_t used = strlen(text);
    for (size_t c = 0; c < figures->columns && used < sizeof text; c++) {
        size_t best = figures->best[c];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %s %s", c ? "," : "", figures->figures[c].title,
                                 best < figures->rows ? figures->names[best] : "-");
    }
    text_wrap_print(text);
}

int best_table_print(const vg_figure_table *figures) {
    text_table table;
    begin_table(&table, figures, figures->columns);
    for (size_t r = 0; r < figures->rows; r++) {
        size_t row = table_row(&table, figures->names[r]);
        for (size_t c = 0; c < figures->columns; c++) {
            double figure = figures->values[r * figures->columns + c].value;
            if (figures->figures[c].percent)
                table_percent(&table, row, c + 1, figure);
            else
                table_number(&table, row, c + 1, figure, 4);
        }
    }
    for (size_t c = 0; c < figures->columns; c++) {
        if (figures->best[c] < figures->rows)
            table_mark(&table, figures->best[c] + 1, c + 1);
    }
    int code = table_print(&table);
    print_best(figures);
    return code;
}

void interval_cell(text_table *table, size_t row, size_t column, const vg_estimate *estimate) {
    char interval[TABLE_CELL] = "-";
    if (!isnan(estimate->low))
        snprintf(interval, sizeof interval, "%.4g .. %.4g", estimate->low, estimate->high);
    table_text(table, row, column, interval);
}

int interval_table_print(const vg_figure_table *figures, size_t columns) {
    text_table table;
    begin_table(&table, figures, columns);
    for (size_t r = 0; r < figures->rows; r++) {
        size_t row = table_row(&table, figures->names[r]);
        for (size_t c = 0; c < columns; c++)
            interval_cell(&table, row, c + 1, &figures->values[r * figures->columns + c]);
    }
    return table_print(&table);
}
