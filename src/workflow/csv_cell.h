/* csv_cell.h - texts from outside as cells of the CSV files that are written. Internal. */
#ifndef VG_WORKFLOW_CSV_CELL_H
#define VG_WORKFLOW_CSV_CELL_H

/* Passes `text` piece by piece to `put`, each piece ending with a NUL: in quotes where a comma, a quote or the end of a
 * line is in it, quotes doubled (RFC 4180). A text that a spreadsheet would take for a formula (it begins with =, +, -,
 * @, a tab or a carriage return, and is not a number) gets an apostrophe before it, which spreadsheets do not show. */
void vg_csv__cell(const char *text, void (*put)(void *context, const char *piece), void *context);

#endif
