/* text_table.c - aligned columns. See text_table.h. */
#include "text_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"

enum { MAX_COLUMNS = 32 };

static char *cell(text_table *table, size_t row, size_t column) { return table->cells[row * table->columns + column]; }

static bool grow(text_table *table) {
    if (table->rows < table->capacity)
        return true;
    size_t capacity = table->capacity ? 2 * table->capacity : 32;
    void *cells = realloc(table->cells, capacity * table->columns * TABLE_CELL);
    if (!cells) {
        table->failed = true;
        return false;
    }
    table->cells = cells;
    table->capacity = capacity;
    return true;
}

void table_begin(text_table *table, const char *heading) {
    *table = (text_table){.columns = 1};
    for (const char *p = heading; *p; p++)
        table->columns += *p == '|';
    size_t row = table_row(table, ""), column = 0;
    for (const char *p = heading; !table->failed; column++) {
        size_t length = strcspn(p, "|");
        snprintf(cell(table, row, column), TABLE_CELL, "%.*s", (int)length, p);
        if (p[length] == '\0')
            break;
        p += length + 1;
    }
}

size_t table_row(text_table *table, const char *name) {
    if (!grow(table))
        return 0;
    size_t row = table->rows++;
    for (size_t c = 0; c < table->columns; c++)
        cell(table, row, c)[0] = '\0';
    table_text(table, row, 0, name);
    return row;
}

void table_text(text_table *table, size_t row, size_t column, const char *text) {
    if (!table->failed)
        snprintf(cell(table, row, column), TABLE_CELL - 2, "%s", text);
}

void table_number(text_table *table, size_t row, size_t column, double value, int digits) {
    if (table->failed)
        return;
    if (isnan(value))
        table_text(table, row, column, "-");
    else
        snprintf(cell(table, row, column), TABLE_CELL - 2, "%.*g", digits, value);
}

void table_percent(text_table *table, size_t row, size_t column, double value) {
    if (table->failed)
        return;
    if (isnan(value))
        table_text(table, row, column, "-");
    else
        snprintf(cell(table, row, column), TABLE_CELL - 2, "%.2f %%", 100 * value);
}

void table_mark(text_table *table, size_t row, size_t column) {
    if (!table->failed)
        strcat(cell(table, row, column), "*"); /* setters leave room */
}

/* True when a cell of the column carries a mark: the others then keep its place free. */
static bool has_mark(text_table *table, size_t column) {
    for (size_t r = 1; r < table->rows; r++) {
        const char *text = cell(table, r, column);
        if (text[0] && text[strlen(text) - 1] == '*')
            return true;
    }
    return false;
}

static void print_cell(const char *text, size_t width, bool first, bool mark_room) {
    size_t length = strlen(text);
    bool marked = length > 0 && text[length - 1] == '*';
    if (first)
        printf("  %-*s", (int)width, text);
    else
        printf("  %*s%s", (int)(width + (marked ? 1 : 0)), text, mark_room && !marked ? " " : "");
}

int table_print(text_table *table) {
    size_t width[MAX_COLUMNS] = {0};
    bool marks[MAX_COLUMNS] = {false}, failed = table->failed;
    size_t columns = table->columns < MAX_COLUMNS ? table->columns : MAX_COLUMNS;
    for (size_t c = 0; c < columns && !failed; c++) {
        marks[c] = has_mark(table, c);
        for (size_t r = 0; r < table->rows; r++) {
            size_t length = strlen(cell(table, r, c));
            length -= c > 0 && length > 0 && cell(table, r, c)[length - 1] == '*';
            width[c] = length > width[c] ? length : width[c];
        }
    }
    for (size_t r = 0; r < table->rows && !failed; r++) {
        for (size_t c = 0; c < columns; c++)
            print_cell(cell(table, r, c), width[c], c == 0, marks[c] && c + 1 < columns);
        printf("\n");
    }
    free(table->cells);
    *table = (text_table){0};
    return failed ? console_fail_memory("a table") : CLI_OK;
}
