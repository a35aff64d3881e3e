/* evaluation_tables.c - an evaluation on the terminal: the data set, the measures with the best of each column, the
 * rule. */
#include <stdio.h>

#include "best_marks.h"
#include "console.h"
#include "evaluation_report.h"

static void print_notes(const vg_evaluation *e) {
    char notes[VG_MAX_NOTES][VG_NOTE_SIZE];
    size_t count = vg_evaluation_notes(notes, e);
    for (size_t i = 0; i < count; i++)
        printf("%s%s\n", i == 0 ? "\n" : "", notes[i]);
}

static int print_whole(const vg_evaluation *e, const vg_figure_table *whole) {
    text_table table;
    char heading[64];
    snprintf(heading, sizeof heading, "|value|%g %% interval", 100 * e->confidence);
    table_begin(&table, e->resamples ? heading : "|value");
    for (size_t i = 0; i < whole->columns; i++) {
        size_t row = table_row(&table, whole->figures[i].title);
        table_number(&table, row, 1, whole->values[i].value, 5);
        if (e->resamples)
            interval_cell(&table, row, 2, &whole->values[i]);
    }
    int code = table_print(&table);
    if (code == CLI_OK)
        print_notes(e);
    return code;
}

static int print_measures(const vg_evaluation_result *result) {
    if (result->measures->rows == 0)
        return CLI_OK;
    printf("\nTelling errors from correct predictions, most certain first:\n");
    return best_table_print(result->measures);
}

/* With a bootstrap: the intervals of each measure's ranking figures. */
static int print_intervals(const vg_evaluation_result *result) {
    if (result->measures->rows == 0 || result->evaluation->resamples == 0)
        return CLI_OK;
    printf("\n%g %% intervals:\n", 100 * result->evaluation->confidence);
    return interval_table_print(result->measures, result->interval_columns);
}

static int print_rule(const vg_evaluation *e) {
    text_table table;
    if (e->rule_count == 0)
        return CLI_OK;
    printf("\nDecision rule:\n");
    table_begin(&table, "k|coverage|accuracy on the kept|abstained|of them wrong|of them right");
    for (size_t i = 0; i < e->rule_count; i++) {
        const vg_rule_row *rule = &e->rule[i];
        size_t row = table_row(&table, rule->name);
        table_percent(&table, row, 1, rule->coverage.value);
        table_percent(&table, row, 2, rule->accuracy.value);
        table_number(&table, row, 3, (double)rule->abstained, 12);
        table_number(&table, row, 4, (double)rule->abstained_errors, 12);
        table_number(&table, row, 5, (double)rule->abstained_correct, 12);
    }
    return table_print(&table);
}

/* Multilabel: how each label fares by itself. */
static int print_labels(const vg_evaluation *e) {
    text_table table;
    if (e->label_count == 0)
        return CLI_OK;
    printf("\nPer label:\n");
    table_begin(&table, "label|positives|accuracy|F1|ECE|NLL|Brier");
    for (size_t i = 0; i < e->label_count; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        size_t row = table_row(&table, name);
        table_number(&table, row, 1, (double)e->labels[i].positive.support, 12);
        table_percent(&table, row, 2, e->labels[i].accuracy);
        table_number(&table, row, 3, e->labels[i].f1, 4);
        table_number(&table, row, 4, e->labels[i].ece, 4);
        table_number(&table, row, 5, e->labels[i].nll, 4);
        table_number(&table, row, 6, e->labels[i].brier, 4);
    }
    return table_print(&table);
}

int evaluation_print_tables(const vg_evaluation_result *result) {
    const vg_evaluation *e = result->evaluation;
    printf("%s: %zu samples, %zu member%s, %zu %s (%s)\n\n", result->file, result->n, result->m,
           result->m == 1 ? "" : "s", result->c, result->multilabel ? "labels" : "classes",
           result->logits ? "logits" : "probabilities");
    int code = print_whole(e, result->whole);
    if (code == CLI_OK)
        code = print_measures(result);
    if (code == CLI_OK)
        code = print_intervals(result);
    if (code == CLI_OK)
        code = print_rule(e);
    return code == CLI_OK ? print_labels(e) : code;
}
