/* sets_table.c - prediction sets as a few lines of text: how they were calibrated, coverage and sizes at every
 * alpha, and the shares that are answered automatically and left to a person. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workflow/prediction_set_text.h"

enum { COLUMNS = 8, CELL = 36 };
typedef struct table_row {
    char cells[COLUMNS][CELL];
} table_row;

/* k_reg and lambda at an alpha, after a comma or a colon. */
static void print_rule(FILE *out, const vg_sets *s, size_t a) {
    const char *before = s->tuned ? "" : ",";
    if (s->k_regs)
        fprintf(out, "%s k_reg %g", before, s->k_regs[a]);
    if (s->lambdas)
        fprintf(out, "%s lambda %g", s->k_regs ? "," : before, s->lambdas[a]);
}

static void print_settings(FILE *out, const vg_sets *s) {
    static const char *const by[] = {"", ", a threshold for each class", ", a threshold for each group",
                                     ", a threshold for each top class"};
    fprintf(out, "Score %s", vg_sets__score_word((size_t)s->score));
    if (!isnan(s->gate))
        fprintf(out, " on the gated mean at k = %g", s->gate);
    if (!s->tuned)
        print_rule(out, s, 0);
    fprintf(out, "%s%s; calibrated on %zu %s%s.\n", s->randomised ? ", randomised" : "", by[s->by], s->calibrated,
            s->by_image ? "image" : "sample", s->calibrated == 1 ? "" : "s");
    if (!s->tuned)
        return;
    const vg_sets_data *data = vg_sets__data((vg_sets *)s);
    fprintf(out, "%s%s%s tuned on %zu %s%s%s", data->tunes_k_reg ? "k_reg" : "",
            data->tunes_k_reg && data->tunes_lambda ? " and " : "", data->tunes_lambda ? "lambda" : "", s->tuned,
            s->by_image ? "site" : "other sample", s->tuned == 1 ? "" : "s", s->by_image ? " of other images" : "");
    size_t shown = s->lambdas && !vg_sets__one_rule(data) ? s->alpha_count : 1;
    for (size_t a = 0; a < shown; a++) {
        fprintf(out, "%s", a == 0 ? ":" : ";");
        if (shown > 1)
            fprintf(out, " at alpha = %g", s->alphas[a]);
        print_rule(out, s, a);
    }
    fprintf(out, ".\n");
}

/* Columns as wide as their widest cell: the first left-aligned, the others right-aligned. */
static void print_rows(FILE *out, const table_row *rows, size_t count) {
    int width[COLUMNS] = {0};
    for (size_t r = 0; r < count; r++)
        for (size_t c = 0; c < COLUMNS; c++) {
            int here = (int)strlen(rows[r].cells[c]);
            width[c] = here > width[c] ? here : width[c];
        }
    for (size_t r = 0; r < count; r++) {
        fprintf(out, "  %-*s", width[0], rows[r].cells[0]);
        for (size_t c = 1; c < COLUMNS && width[c]; c++)
            fprintf(out, "  %*s", width[c], rows[r].cells[c]);
        fprintf(out, "\n");
    }
}

/* A share with its interval: "91.20 [90.10, 92.30]". */
static void put_share(char cell[CELL], const vg_estimate *e) {
    if (isnan(e->value))
        snprintf(cell, CELL, "-");
    else if (isnan(e->low))
        snprintf(cell, CELL, "%.2f", 100 * e->value);
    else
        snprintf(cell, CELL, "%.2f [%.2f, %.2f]", 100 * e->value, 100 * e->low, 100 * e->high);
}

static void put_threshold(char cell[CELL], const vg_sets *s, size_t a) {
    if (s->cell_count > 1)
        snprintf(cell, CELL, "several");
    else if (isinf(s->thresholds[a]))
        snprintf(cell, CELL, "full set");
    else
        snprintf(cell, CELL, "%.5g", s->thresholds[a]);
}

static void fill_row(table_row *row, const vg_sets *s, size_t a) {
    const vg_set_figures *f = &s->figures[a];
    put_share(row->cells[2], s->multilabel ? &f->risk : &f->coverage);
    snprintf(row->cells[3], CELL, isnan(f->mean_size.low) ? "%.4g" : "%.4g [%.4g, %.4g]", f->mean_size.value,
             f->mean_size.low, f->mean_size.high);
    snprintf(row->cells[4], CELL, "%.4g", f->median_size.value);
    snprintf(row->cells[5], CELL, "%.2f", 100 * f->singletons.value);
    snprintf(row->cells[6], CELL, "%.2f", 100 * f->empty.value);
    if (f->worst_class == SIZE_MAX)
        return;
    double worst = 100 * f->worst_class_coverage.value;
    if (s->class_names)
        snprintf(row->cells[7], CELL, "%.2f (%.20s)", worst, s->class_names[f->worst_class]);
    else
        snprintf(row->cells[7], CELL, "%.2f (%zu)", worst, f->worst_class);
}

static void print_figures(FILE *out, const vg_sets *s) {
    table_row rows[VG_SETS_ALPHAS + 1] = {{{"alpha", "threshold"}}};
    static const char *const heads[] = {"",       "",         "coverage %", "mean size",
                                        "median", "single %", "empty %",    "worst class %"};
    for (size_t c = 2; s->figures && c < (s->multilabel ? COLUMNS - 1 : COLUMNS); c++)
        snprintf(rows[0].cells[c], CELL, "%s", c == 2 && s->multilabel ? "missed labels %" : heads[c]);
    for (size_t a = 0; a < s->alpha_count; a++) {
        snprintf(rows[a + 1].cells[0], CELL, "%g", s->alphas[a]);
        put_threshold(rows[a + 1].cells[1], s, a);
        if (s->figures)
            fill_row(&rows[a + 1], s, a);
    }
    print_rows(out, rows, s->alpha_count + 1);
}

static void print_strata(FILE *out, const vg_sets *s) {
    static const table_row head = {{"alpha", "set size", "samples", "coverage %"}};
    for (size_t a = 0; a < s->alpha_count; a++) {
        const vg_set_figures *f = &s->figures[a];
        table_row rows[VG_SET_STRATA + 1] = {head};
        for (size_t i = 0; i < f->stratum_count; i++) {
            const vg_set_stratum *t = &f->strata[i];
            char(*cells)[CELL] = rows[i + 1].cells;
            snprintf(cells[0], CELL, "%g", f->alpha);
            snprintf(cells[1], CELL, t->low == t->high ? "%zu" : "%zu-%zu", t->low, t->high);
            snprintf(cells[2], CELL, "%llu", t->samples);
            put_share(cells[3], &t->coverage);
        }
        print_rows(out, rows, f->stratum_count + 1);
    }
}

static void print_table(FILE *out, const vg_sets *s) {
    print_settings(out, s);
    print_figures(out, s);
    if (!s->figures || !s->labelled)
        return;
    if (!isnan(s->figures[0].expected_low))
        fprintf(out,
                "By its beta distribution the coverage of many samples lies between %.2f and %.2f %% at alpha = %g.\n",
                100 * s->figures[0].expected_low, 100 * s->figures[0].expected_high, s->alphas[0]);
    if (s->images)
        fprintf(out,
                "Of %llu images, %llu sites left out: the image is the unit of exchange. Coverage is the mean share "
                "of\nan image's sites whose set holds the label.\n",
                s->images, s->left_out);
    fprintf(out, "Brackets: %g %% intervals%s.\n", 100 * s->confidence, s->images ? " over images" : "");
    if (!s->multilabel)
        print_strata(out, s);
}

static void print_decisions(FILE *out, const vg_sets *s) {
    const vg_set_figures *f = &s->figures[0];
    double n = (double)s->samples, answered = f->singletons.value * n, left = n - answered;
    fprintf(out, "%llu samples, prediction sets at alpha = %g, calibrated on %zu%s\n", s->samples, f->alpha,
            s->calibrated, s->by_image ? " images" : "");
    fprintf(out, "answered  %.0f (%.2f %%): one class is left\n", answered, 100 * f->singletons.value);
    fprintf(out, "a person  %.0f (%.2f %%)", left, 100 * (1 - f->singletons.value));
    if (left - f->empty.value * n > 0.5)
        fprintf(out, ": a short list of %.3g classes on average",
                (f->mean_size.value * n - answered) / (left - f->empty.value * n));
    fprintf(out, "%s\n", f->empty.value > 0 ? "; some without a list, because no class is likely enough" : "");
    if (s->labelled)
        fprintf(out, "coverage  %.2f %% of the labels are in their set; accuracy of the answers %.2f %%\n",
                100 * f->coverage.value, 100 * f->singleton_accuracy.value);
}

vg_status vg_sets__table(char **out, const vg_sets *s, bool decisions) {
    size_t length;
    *out = NULL;
    FILE *stream = open_memstream(out, &length);
    if (!stream)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for a table");
    decisions && s->figures ? print_decisions(stream, s) : print_table(stream, s);
    return fclose(stream) == 0 && *out ? VG_OK : vg_base__fail(VG_ERR_MEMORY, "out of memory for a table");
}
