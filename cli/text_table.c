/* text_table.c - tables with aligned columns. See results_print.h. */
#include "cli.h"

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
        vg_printable(cell(table, row, column), TABLE_CELL - 2, text);
}

double table_value(double value) { return fabs(value) < 1e-14 ? 0 : value; }

void table_number(text_table *table, size_t row, size_t column, double value, int digits) {
    char text[2 * TABLE_CELL] = "-";
    if (!isnan(value))
        snprintf(text, sizeof text, "%.*g", digits, table_value(value));
    table_text(table, row, column, text);
}

void table_percent(text_table *table, size_t row, size_t column, double value) {
    char text[TABLE_CELL] = "-";
    if (!isnan(value))
        snprintf(text, sizeof text, "%.2f %%", fabs(value) < 5e-5 ? 0 : 100 * value);
    table_text(table, row, column, text);
}

void table_figures(text_table *table, size_t row, size_t column, const char *kinds, const double *values) {
    for (; *kinds; kinds++, values++, column++) {
        if (*kinds == '%')
            table_percent(table, row, column, *values);
        else
            table_number(table, row, column, *values, *kinds == '#' ? 12 : *kinds - '0');
    }
}

void table_mark(text_table *table, size_t row, size_t column) {
    if (!table->failed)
        strcat(cell(table, row, column), "*"); /* setters leave room for it */
}

/* Whether a cell of the column has a mark; the other cells then leave its column blank. */
static bool has_mark(text_table *table, size_t column) {
    for (size_t r = 1; r < table->rows; r++) {
        const char *text = cell(table, r, column);
        if (text[0] && text[strlen(text) - 1] == '*')
            return true;
    }
    return false;
}

/* How a table is laid out: widths of its columns, and whether room is kept for marks. */
typedef struct layout {
    size_t width[MAX_COLUMNS], columns;
    bool marks[MAX_COLUMNS];
} layout;

static layout lay_out(text_table *table) {
    layout l = {.columns = table->columns < MAX_COLUMNS ? table->columns : MAX_COLUMNS};
    for (size_t c = 0; c < l.columns; c++) {
        l.marks[c] = has_mark(table, c);
        for (size_t r = 0; r < table->rows; r++) {
            size_t length = strlen(cell(table, r, c));
            length -= c > 0 && length > 0 && cell(table, r, c)[length - 1] == '*';
            l.width[c] = length > l.width[c] ? length : l.width[c];
        }
    }
    return l;
}

/* Spaces before a text, and after it where there are marks, lie outside the colours. */
static void print_cell(const layout *l, size_t column, const char *text, bool heading, bool last) {
    size_t length = strlen(text);
    bool marked = column > 0 && length > 0 && text[length - 1] == '*';
    size_t width = l->width[column] + marked, padding = width > length ? width - length : 0;
    const char *begin = heading  ? terminal_begin(stdout, STYLE_HEADING)
                        : marked ? terminal_begin(stdout, STYLE_BEST)
                                 : "";
    const char *end = *begin ? terminal_end(stdout) : "";
    if (column == 0)
        printf("  %s%s%s%*s", begin, text, end, (int)padding, "");
    else
        printf("  %*s%s%s%s%s", (int)padding, "", begin, text, end, l->marks[column] && !marked && !last ? " " : "");
}

static size_t space_of(const layout *l, size_t column) { return 2 + l->width[column] + l->marks[column]; }

/* Columns first .. end - 1 after the names. */
static void print_block(text_table *table, const layout *l, size_t first, size_t end) {
    for (size_t r = 0; r < table->rows; r++) {
        print_cell(l, 0, cell(table, r, 0), r == 0, false);
        for (size_t c = first; c < end; c++)
            print_cell(l, c, cell(table, r, c), r == 0, c + 1 == end);
        printf("\n");
    }
}

/* A table that is wider than the terminal is printed in parts, each beginning with the names. */
void table_print(text_table *table) {
    if (table->failed)
        console_lose_output();
    else {
        layout l = lay_out(table);
        size_t room = terminal_columns(stdout, 0), first = 1;
        do {
            size_t used = space_of(&l, 0), end = first;
            while (end < l.columns && (end == first || room == 0 || used + space_of(&l, end) <= room))
                used += space_of(&l, end++);
            if (first > 1)
                printf("\n");
            print_block(table, &l, first, end);
            first = end;
        } while (first < l.columns);
    }
    free(table->cells);
    *table = (text_table){0};
}

int text_print_result(vg_status status, char **text) {
    if (status != VG_OK)
        return console_fail_library();
    console_print(*text);
    vg_free(*text);
    return CLI_OK;
}

int json_print_result(vg_status status, char **text) {
    int code = text_print_result(status, text);
    if (code == CLI_OK)
        putchar('\n');
    return code;
}
