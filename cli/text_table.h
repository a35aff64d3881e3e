/* text_table.h - a table of short texts printed in aligned columns, the best entry of a column marked with '*'. */
#ifndef CLI_TEXT_TABLE_H
#define CLI_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum { TABLE_CELL = 32 };

typedef struct text_table {
    size_t columns, rows, capacity;
    char (*cells)[TABLE_CELL]; /* rows x columns */
    bool failed;               /* an allocation failed; printing says so */
} text_table;

/* Starts a table whose first row is the heading, given as `columns` texts separated by '|'. */
void table_begin(text_table *table, const char *heading);
/* Adds a row; cells left unset stay empty. Returns its index. */
size_t table_row(text_table *table, const char *name);
void table_text(text_table *table, size_t row, size_t column, const char *text);
/* The value as it is shown: what is left of rounding (below 1e-14, of either sign) is 0. */
double table_value(double value);
/* A figure with `digits` significant digits; NaN is shown as '-'. */
void table_number(text_table *table, size_t row, size_t column, double value, int digits);
/* A share as a percentage with two decimals. */
void table_percent(text_table *table, size_t row, size_t column, double value);
/* Appends '*' to the cell. */
void table_mark(text_table *table, size_t row, size_t column);
/* Prints to standard output: first column left-aligned, the others right-aligned, in parts where it is wider than the
 * terminal; frees the table. Returns an exit code. */
int table_print(text_table *table);

#endif
