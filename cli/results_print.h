/* results_print.h - results on standard output: tables, summaries, JSON, and figures drawn by gnuplot. Functions that
 * return int return an exit code. */
#ifndef CLI_RESULTS_PRINT_H
#define CLI_RESULTS_PRINT_H

#include "console.h"
#include "score_options.h"
#include "vargate/sets_file.h"

/* --- tables ------------------------------------------------------------------------------------------------------- */

enum { TABLE_CELL = 64 };

typedef struct text_table {
    size_t columns, rows, capacity;
    char (*cells)[TABLE_CELL]; /* rows x columns */
    bool failed;               /* an allocation failed; nothing is printed then, and console_lose_output called */
} text_table;

/* Starts a table whose first row is the heading, given as `columns` texts separated by '|'. */
void table_begin(text_table *table, const char *heading);
/* Adds a row; cells left unset stay empty. Returns its index. */
size_t table_row(text_table *table, const char *name);
void table_text(text_table *table, size_t row, size_t column, const char *text);
/* The value as it is shown: rounding errors (below 1e-14, of either sign) become 0. */
double table_value(double value);
/* A figure with `digits` significant digits; NaN is shown as '-'. */
void table_number(text_table *table, size_t row, size_t column, double value, int digits);
/* A share as a percentage with two decimals. */
void table_percent(text_table *table, size_t row, size_t column, double value);
/* A figure into each cell from `column` on, a letter of `kinds` each: '%' a percentage, '#' a count, a digit so many
 * significant digits. */
void table_figures(text_table *table, size_t row, size_t column, const char *kinds, const double *values);
/* Appends '*' to the cell. */
void table_mark(text_table *table, size_t row, size_t column);
/* Prints to standard output: first column left-aligned, the others right-aligned, in parts where it is wider than
 * the terminal; frees the table. */
void table_print(text_table *table);

/* Prints the figures of every measure, '*' at each column's best, and a line of the best names. */
void best_table_print(const vg_figure_table *figures);
/* The intervals of the first `columns` figures of every measure, '-' where there is none. */
void interval_table_print(const vg_figure_table *figures, size_t columns);
/* One interval as a cell. */
void interval_cell(text_table *table, size_t row, size_t column, const vg_estimate *estimate);

/* --- results ------------------------------------------------------------------------------------------------------ */

/* Prints the text of a result that the library made with that status, and frees it; JSON ends in a newline. */
int text_print_result(vg_status status, char **text);
int json_print_result(vg_status status, char **text);

/* The text after `head`, broken into lines of at most 100 columns that are aligned. */
void verdict_print(const char *head, const vg_verdict *verdict);

/* Prints it. Returns an exit code. */
int score_summary_print(const vg_score_result *result, bool json);

/* Prediction sets: the library's options, and how the result is shown. */
typedef struct sets_request {
    vg_sets_options options;
    vg_sets_file_options file;
    bool json;
} sets_request;
int sets_run(vg_sets **out, sets_request *request, const score_options *scoring, const char *path);
int sets_print(const sets_request *request, vg_sets *sets, vg_sets_document document);

/* Answers JSON lines from standard input on standard output, each at once. A bad line is answered by an error and
 * the stream continues; strict: it stops. Returns an exit code. */
int decision_stdin_run(vg_decision_stream *stream, bool strict);

/* Compares the files (vg_compare); `how` without its job. Returns an exit code. */
int comparison_make(vg_compare_result **out, const option_files *files, const score_request *request,
                    vg_compare_options how);
/* Prints the figures of every row. */
void comparison_print_figures(const vg_compare_result *result);

/* Images: their number and size, and the `wanted` ones of the largest abstained share. */
void images_print_size(const size_t sites[4], unsigned long long ignored);
void images_print(const vg_image_row *rows, const size_t *order, size_t count, size_t wanted, double k,
                  const char *measure);

/* all: every measure, figure and class, however wide. */
void evaluation_print_tables(const vg_evaluation_result *result, bool all);

/* Downloads for vg_data_fetch: by curl or wget, npm, apt-get. */
vg_status data_download(void *context, const char *address, const char *folder, char *reason, size_t room);
/* Runs gnuplot for vg_page_draw; a note where it is not installed. */
vg_status gnuplot_run(void *context, const char *folder, const char *script, size_t length);

/* --- runs --------------------------------------------------------------------------------------------------------- */

/* The values of the commands' options. */
typedef struct run_values {
    vg_run_recipe_options how; /* its folder: of several recipes that of all of them */
    option_texts set;
} run_values;

/* Runs the recipes one after the other, draws their pages and prints their figures. Returns an exit code. */
int run_recipes(const char *const *names, size_t count, const run_values *own);
/* Which checkpoint of a run predicts: "all snapshots", "best.safetensors" or "last.safetensors". */
const char *checkpoint_words(const vg_recipe *recipe);

#endif
