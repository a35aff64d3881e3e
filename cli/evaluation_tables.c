/* evaluation_tables.c - an evaluation on the terminal: the data set, the measures with the best of each column, the rule. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "console.h"
#include "evaluation_figures.h"
#include "evaluation_report.h"
#include "text_table.h"

static void put_interval(text_table *table, size_t row, size_t column, const vg_estimate *estimate) {
    char interval[TABLE_CELL] = "-";
    if (!isnan(estimate->low))
        snprintf(interval, sizeof interval, "%.4g .. %.4g", estimate->low, estimate->high);
    table_text(table, row, column, interval);
}

static void print_notes(const vg_evaluation *e) {
    char notes[VG_MAX_NOTES][VG_NOTE_SIZE];
    size_t count = vg_evaluation_notes(notes, e);
    for (size_t i = 0; i < count; i++)
        printf("%s%s\n", i == 0 ? "\n" : "", notes[i]);
}

static int print_whole(const vg_evaluation *e) {
    text_table table;
    char heading[64];
    snprintf(heading, sizeof heading, "|value|%g %% interval", 100 * e->confidence);
    table_begin(&table, e->resamples ? heading : "|value");
    for (size_t i = 0; i < evaluation_figure_count; i++) {
        const evaluation_figure *figure = &evaluation_figures[i];
        const vg_estimate *estimate = evaluation_estimate(e, figure);
        if (figure->multilabel_only && e->label_count == 0)
            continue;
        size_t row = table_row(&table, figure->title);
        table_number(&table, row, 1, estimate->value, 5);
        if (e->resamples)
            put_interval(&table, row, 2, estimate);
    }
    int code = table_print(&table);
    if (code == CLI_OK)
        print_notes(e);
    return code;
}

static int print_measures(const vg_evaluation *e) {
    best_column columns[EVALUATION_MAX_COLUMNS];
    char titles[EVALUATION_MAX_COLUMNS][EVALUATION_TITLE];
    size_t count = evaluation_columns(columns, titles, e);
    if (e->measure_count == 0)
        return CLI_OK;
    printf("\nTelling errors from correct predictions, most certain first:\n");
    return best_table_print("measure", columns, count, e->measures, e->measure_count, ranking_name);
}

/* With a bootstrap: the intervals of each measure's ranking figures. */
static int print_intervals(const vg_evaluation *e) {
    text_table table;
    char heading[EVALUATION_MAX_COLUMNS * EVALUATION_TITLE] = "measure";
    if (e->measure_count == 0 || e->resamples == 0)
        return CLI_OK;
    for (size_t i = 0; i < ranking_figure_count; i++) {
        strcat(heading, "|");
        strcat(heading, ranking_figures[i].title);
    }
    printf("\n%g %% intervals:\n", 100 * e->confidence);
    table_begin(&table, heading);
    for (size_t m = 0; m < e->measure_count; m++) {
        size_t row = table_row(&table, e->measures[m].name);
        for (size_t i = 0; i < ranking_figure_count; i++)
            put_interval(&table, row, i + 1, evaluation_estimate(&e->measures[m], &ranking_figures[i]));
    }
    return table_print(&table);
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

int evaluation_print_tables(const vg_score_input *in, const vg_evaluation *e) {
    const vg_score_layout *layout = &in->layout;
    printf("%s: %zu samples, %zu member%s, %zu %s (%s)\n\n", in->path, layout->n, layout->m, layout->m == 1 ? "" : "s",
           layout->c, layout->multilabel ? "labels" : "classes", in->logits ? "logits" : "probabilities");
    int code = print_whole(e);
    if (code == CLI_OK)
        code = print_measures(e);
    if (code == CLI_OK)
        code = print_intervals(e);
    if (code == CLI_OK)
        code = print_rule(e);
    return code == CLI_OK ? print_labels(e) : code;
}
