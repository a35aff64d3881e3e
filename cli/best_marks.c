/* best_marks.c - tables of measures with the best of each column marked. */
#include "cli.h"

/* The number of rows that have the best figure of a column; 0 where all figures are equal, because none is best
 * then. */
static size_t count_best(const vg_figure_table *figures, size_t column) {
    size_t best = figures->best[column], equal = 0, all = 0;
    if (best >= figures->rows)
        return 0;
    double figure = figures->values[best * figures->columns + column].value;
    for (size_t r = 0; r < figures->rows; r++) {
        double other = figures->values[r * figures->columns + column].value;
        all += !isnan(other);
        equal += fabs(other - figure) <= 1e-14;
    }
    return equal == all && all > 1 ? 0 : equal;
}

static void begin_table(text_table *table, const vg_figure_table *figures, size_t columns) {
    char heading[512];
    size_t used = (size_t)snprintf(heading, sizeof heading, "measure");
    for (size_t c = 0; c < columns && used < sizeof heading; c++)
        used += (size_t)snprintf(heading + used, sizeof heading - used, "|%s", figures->figures[c].title);
    table_begin(table, heading);
}

/* "* best: AURC gtu@1, risk@80% tu and 2 more"; nothing where no figure has a best. */
static void print_best(const vg_figure_table *figures) {
    char text[1024] = "  * best:";
    size_t used = strlen(text), named = 0;
    for (size_t c = 0; c < figures->columns && used < sizeof text; c++) {
        size_t equal = count_best(figures, c);
        if (equal == 0)
            continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %s %s", named++ ? "," : "",
                                 figures->figures[c].title, figures->names[figures->best[c]]);
        if (equal > 1 && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, " and %zu more", equal - 1);
    }
    if (named)
        text_wrap_print(text);
}

static void mark_best(text_table *table, const vg_figure_table *figures, size_t column) {
    if (count_best(figures, column) == 0)
        return;
    double best = figures->values[figures->best[column] * figures->columns + column].value;
    for (size_t r = 0; r < figures->rows; r++)
        if (fabs(figures->values[r * figures->columns + column].value - best) <= 1e-14)
            table_mark(table, r + 1, column + 1);
}

void best_table_print(const vg_figure_table *figures) {
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
    for (size_t c = 0; c < figures->columns; c++)
        mark_best(&table, figures, c);
    table_print(&table);
    print_best(figures);
}

void interval_cell(text_table *table, size_t row, size_t column, const vg_estimate *estimate) {
    char interval[TABLE_CELL] = "-";
    if (!isnan(estimate->low))
        snprintf(interval, sizeof interval, "%.4g .. %.4g", table_value(estimate->low), table_value(estimate->high));
    table_text(table, row, column, interval);
}

void interval_table_print(const vg_figure_table *figures, size_t columns) {
    text_table table;
    begin_table(&table, figures, columns);
    for (size_t r = 0; r < figures->rows; r++) {
        size_t row = table_row(&table, figures->names[r]);
        for (size_t c = 0; c < columns; c++)
            interval_cell(&table, row, c + 1, &figures->values[r * figures->columns + c]);
    }
    table_print(&table);
}
