/* evaluation_tables.c - an evaluation on the terminal: the data set, the measures with the best of each column, the
 * rule, the classes, and the findings in words. */
#include "cli.h"

static void print_notes(const vg_evaluation *e) {
    char notes[VG_MAX_NOTES][VG_NOTE_SIZE];
    size_t count = vg_evaluation_notes(notes, e);
    for (size_t i = 0; i < count; i++) {
        printf("%s", i == 0 ? "\n" : "");
        text_wrap_print(notes[i]);
    }
}

static void print_whole(const vg_evaluation *e, const vg_figure_table *whole) {
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
    table_print(&table);
    print_notes(e);
}

static void print_measures(const vg_evaluation_result *result, bool all) {
    const vg_figure_table *shown = all ? result->measures : result->brief;
    if (shown->rows == 0)
        return;
    printf("\n");
    text_wrap_print("Telling errors from correct predictions, most certain first:");
    best_table_print(shown);
    if (shown->rows < result->measures->rows)
        printf("  %zu of %zu measures; --all shows every measure and figure\n", shown->rows, result->measures->rows);
}

/* With a bootstrap: the intervals of each measure's ranking figures. */
static void print_intervals(const vg_evaluation_result *result, bool all) {
    enum { BRIEF_RANKINGS = 3 };
    if (result->measures->rows == 0 || result->evaluation->resamples == 0)
        return;
    printf("\n%g %% intervals:\n", 100 * result->evaluation->confidence);
    interval_table_print(all ? result->measures : result->brief, all ? result->interval_columns : BRIEF_RANKINGS);
}

static void print_rule_intervals(const vg_evaluation *e) {
    text_table table;
    if (e->resamples == 0)
        return;
    printf("%g %% intervals:\n", 100 * e->confidence);
    table_begin(&table, "k|coverage|accuracy on the kept");
    for (size_t i = 0; i < e->rule_count; i++) {
        size_t row = table_row(&table, e->rule[i].name);
        interval_cell(&table, row, 1, &e->rule[i].coverage);
        interval_cell(&table, row, 2, &e->rule[i].accuracy);
    }
    table_print(&table);
}

static void print_rule(const vg_evaluation *e) {
    text_table table;
    if (e->rule_count == 0)
        return;
    printf("\nDecision rule:\n");
    table_begin(&table, "k|coverage|accuracy on the kept|abstained|of them wrong|of them right");
    for (size_t i = 0; i < e->rule_count; i++) {
        const vg_rule_row *rule = &e->rule[i];
        size_t row = table_row(&table, rule->name);
        const double values[] = {rule->coverage.value, rule->accuracy.value, (double)rule->abstained,
                                 (double)rule->abstained_errors, (double)rule->abstained_correct};
        table_figures(&table, row, 1, "%%###", values);
    }
    table_print(&table);
    print_rule_intervals(e);
}

/* --- classes ------------------------------------------------------------------------------------------------------ */
enum { MOST_CLASSES = 20 }; /* without --all */

static void class_name(char out[TABLE_CELL], const vg_evaluation_result *result, size_t c) {
    if (result->class_names)
        snprintf(out, TABLE_CELL, "%.28s", result->class_names[c]);
    else
        snprintf(out, TABLE_CELL, "%zu", c);
}

/* Whether class c is among the `wanted` of smallest F1. */
static bool is_among_worst(const vg_evaluation *e, size_t c, size_t wanted) {
    size_t worse = 0;
    for (size_t i = 0; i < e->classes; i++)
        worse += e->per_class[i].f1 < e->per_class[c].f1 || (e->per_class[i].f1 == e->per_class[c].f1 && i < c);
    return worse < wanted;
}

static void print_class_intervals(const vg_evaluation_result *result, size_t wanted) {
    const vg_evaluation *e = result->evaluation;
    text_table table;
    if (e->resamples == 0)
        return;
    printf("%g %% intervals:\n", 100 * e->confidence);
    table_begin(&table, "class|recall|precision");
    for (size_t c = 0; c < e->classes; c++) {
        char name[TABLE_CELL];
        if (!is_among_worst(e, c, wanted))
            continue;
        class_name(name, result, c);
        size_t row = table_row(&table, name);
        interval_cell(&table, row, 1, &e->class_figures[c].recall);
        interval_cell(&table, row, 2, &e->class_figures[c].precision);
    }
    table_print(&table);
}

static void print_classes(const vg_evaluation_result *result, bool all) {
    const vg_evaluation *e = result->evaluation;
    size_t wanted = all || e->classes <= MOST_CLASSES ? e->classes : MOST_CLASSES;
    bool measured = e->class_measure<e->measure_count, ruled = e->rule_count> 0, images = result->image_count > 0;
    char heading[160], more[64] = "";
    text_table table;
    if (e->label_count > 0)
        return;
    printf(wanted < e->classes ? "\nThe %zu of %zu classes of smallest F1 (--all shows every one):\n" : "\nClasses:\n",
           wanted, e->classes);
    if (ruled)
        snprintf(more, sizeof more, "|abstained at k = %s", e->rule[0].name);
    snprintf(heading, sizeof heading, "class|count|recall|precision|F1%s%s%s%s", images ? "|IoU" : "",
             measured ? "|mean " : "", measured ? e->measures[e->class_measure].name : "", more);
    table_begin(&table, heading);
    for (size_t c = 0; c < e->classes; c++) {
        const vg_class_row *figures = &e->per_class[c];
        char name[TABLE_CELL];
        if (!is_among_worst(e, c, wanted))
            continue;
        class_name(name, result, c);
        size_t row = table_row(&table, name);
        table_figures(&table, row, 1, "#%%4",
                      (double[]){(double)figures->support, figures->recall, figures->precision, figures->f1});
        if (images)
            table_number(&table, row, 5, e->class_figures[c].iou, 4);
        if (measured)
            table_number(&table, row, 5 + images, e->class_figures[c].uncertainty, 4);
        if (ruled)
            table_number(&table, row, 5 + images + measured, (double)e->class_figures[c].abstained, 12);
    }
    table_print(&table);
    print_class_intervals(result, wanted);
}

/* --- images ------------------------------------------------------------------------------------------------------- */
void images_print_size(const size_t sites[4], unsigned long long ignored) {
    printf("%zu image%s of %zu x %zu", sites[0], plural(sites[0]), sites[1], sites[2]);
    if (sites[3] > 1)
        printf(" x %zu", sites[3]);
    printf(" sites, %llu of them left out\n", ignored);
}

void images_print(const vg_image_row *rows, const size_t *order, size_t count, size_t wanted, double k,
                  const char *measure) {
    char heading[160], number[32];
    text_table table;
    wanted = wanted < count ? wanted : count;
    printf("\nImages, those with the largest share of abstained sites first (%zu of %zu):\n", wanted, count);
    vg_k_name(number, k);
    snprintf(heading, sizeof heading, "image|abstained at k = %s|accuracy|mean %s|p95|max", number,
             measure ? measure : "");
    table_begin(&table, heading);
    for (size_t i = 0; i < wanted; i++) {
        const vg_image_row *image = &rows[order[i]];
        snprintf(number, sizeof number, "%zu", order[i]);
        size_t row = table_row(&table, number);
        table_figures(&table, row, 1, "%%444",
                      (double[]){image->abstained_share, image->accuracy, image->mean, image->p95, image->max});
    }
    table_print(&table);
}

static void print_images(const vg_evaluation_result *result, bool all) {
    const vg_evaluation *e = result->evaluation;
    const char *measure = e->class_measure < e->measure_count ? e->measures[e->class_measure].name : NULL;
    if (result->image_count > 0 && e->rule_count > 0)
        images_print(result->images, result->image_order, result->image_count, all ? result->image_count : 5,
                     e->rule[0].k, measure);
}

/* --- findings ----------------------------------------------------------------------------------------------------- */
static void print_findings(const vg_evaluation_result *result) {
    printf("\nIn words:\n");
    for (size_t i = 0; i < result->finding_count; i++) {
        char text[VG_FINDING_SIZE + 2];
        snprintf(text, sizeof text, "- %s", result->findings[i].text);
        text_wrap_print(text);
    }
}

/* Multilabel: the figures of each label. */
static void print_labels(const vg_evaluation_result *result) {
    const vg_evaluation *e = result->evaluation;
    text_table table;
    if (e->label_count == 0)
        return;
    printf("\nPer label:\n");
    table_begin(&table, "label|positives|accuracy|F1|ECE|NLL|Brier");
    for (size_t i = 0; i < e->label_count; i++) {
        char name[TABLE_CELL];
        class_name(name, result, i);
        size_t row = table_row(&table, name);
        const vg_label_row *label = &e->labels[i];
        table_figures(&table, row, 1, "#%4444",
                      (double[]){(double)label->positive.support, label->accuracy, label->f1, label->ece, label->nll,
                                 label->brier});
    }
    table_print(&table);
}

void evaluation_print_tables(const vg_evaluation_result *result, bool all) {
    const vg_evaluation *e = result->evaluation;
    heading_print(result->file, result->n, result->m, result->c, result->multilabel,
                  result->logits ? " (logits)" : " (probabilities)");
    if (result->image_count) {
        images_print_size(result->sites, result->ignored);
        printf("\n");
    }
    text_wrap_print(result->advice);
    printf("\n");
    print_whole(e, result->whole);
    print_measures(result, all);
    print_intervals(result, all);
    print_rule(e);
    print_classes(result, all);
    print_images(result, all);
    print_labels(result);
    print_findings(result);
}
