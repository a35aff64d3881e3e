/* best_marks.h - a table with one row a measure: marks the best of each column and names them under it. */
#ifndef CLI_BEST_MARKS_H
#define CLI_BEST_MARKS_H

#include <stdbool.h>
#include <stddef.h>

#include "text_table.h"

typedef struct best_column {
    const char *title; /* in the heading and in the line of names */
    const char *key;   /* in JSON */
    bool higher;       /* the larger the better */
    bool percent;      /* shown as a percentage */
    /* The figure of measure `row`. */
    double (*figure)(const void *rows, size_t row, size_t argument);
    size_t argument;
} best_column;

/* Index of the best of `rows` figures (the first of equals), `rows` when all are NaN. */
size_t best_row(const best_column *column, const void *figures, size_t rows);
/* Prints the table of `rows` measures named by `name(figures, row)`, '*' at each column's best, and a line of the best names.
 */
int best_table_print(const char *first_title, const best_column *columns, size_t count, const void *figures, size_t rows,
                     const char *(*name)(const void *figures, size_t row));

#endif
