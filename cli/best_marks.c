/* best_marks.c - tables of measures with their best marked. See best_marks.h. */
#include "best_marks.h"

#include <math.h>
#include <stdio.h>

size_t best_row(const best_column *column, const void *figures, size_t rows) {
    size_t best = rows;
    double best_figure = NAN;
    for (size_t r = 0; r < rows; r++) {
        double figure = column->figure(figures, r, column->argument);
        if (isnan(figure))
            continue;
        if (best == rows || (column->higher ? figure > best_figure : figure < best_figure)) {
            best = r;
            best_figure = figure;
        }
    }
    return best;
}

int best_table_print(const char *first_title, const best_column *columns, size_t count, const void *figures, size_t rows,
                     const char *(*name)(const void *figures, size_t row)) {
    char heading[512];
    size_t used = (size_t)snprintf(heading, sizeof heading, "%s", first_title);
    for (size_t c = 0; c < count && used < sizeof heading; c++)
        used += (size_t)snprintf(heading + used, sizeof heading - used, "|%s", columns[c].title);
    text_table table;
    table_begin(&table, heading);
    for (size_t r = 0; r < rows; r++) {
        size_t row = table_row(&table, name(figures, r));
        for (size_t c = 0; c < count; c++) {
            double figure = columns[c].figure(figures, r, columns[c].argument);
            if (columns[c].percent)
                table_percent(&table, row, c + 1, figure);
            else
                table_number(&table, row, c + 1, figure, 4);
        }
    }
    for (size_t c = 0; c < count; c++) {
        size_t best = best_row(&columns[c], figures, rows);
        if (best < rows)
            table_mark(&table, best + 1, c + 1);
    }
    int code = table_print(&table);
    printf("  * best:");
    for (size_t c = 0; c < count; c++) {
        size_t best = best_row(&columns[c], figures, rows);
        printf("%s %s %s", c ? "," : "", columns[c].title, best < rows ? name(figures, best) : "-");
    }
    printf("\n");
    return code;
}
