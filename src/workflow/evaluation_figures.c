/* evaluation_figures.c - names of the figures of an evaluation, and tables of them. See evaluation_figures.h. */
#include "workflow/evaluation_figures.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct figure_place {
    vg_figure figure;
    size_t offset; /* of the vg_estimate */
    bool multilabel_only;
} figure_place;

#define WHOLE(member) offsetof(vg_evaluation, member)
static const figure_place whole[] = {
    {{"accuracy", "accuracy", 1, 0}, WHOLE(accuracy), false},
    {{"f1_macro", "F1 macro", 1, 0}, WHOLE(f1_macro), false},
    {{"miou", "mIoU", 1, 0}, WHOLE(miou), false},
    {{"f1_micro", "F1 micro", 1, 0}, WHOLE(f1_micro), true},
    {{"subset_accuracy", "all labels right", 1, 0}, WHOLE(subset_accuracy), true},
    {{"ece", "ECE", 0, 0}, WHOLE(ece), false},
    {{"ece_macro", "ECE, mean of labels", 0, 0}, WHOLE(ece_macro), true},
    {{"ece_adaptive", "ECE, adaptive bins", 0, 0}, WHOLE(ece_adaptive), false},
    {{"ece_classwise", "ECE, classwise", 0, 0}, WHOLE(ece_classwise), false},
    {{"mce", "MCE", 0, 0}, WHOLE(mce), false},
    {{"nll", "NLL", 0, 0}, WHOLE(nll), false},
    {{"brier", "Brier", 0, 0}, WHOLE(brier), false},
};
enum { WHOLE_COUNT = sizeof whole / sizeof *whole };

#define RANKING(member) offsetof(vg_ranking, member)
static const figure_place ranking_places[] = {
    {{"aurc", "AURC", 0, 0}, RANKING(aurc), false},
    {{"eaurc", "E-AURC", 0, 0}, RANKING(eaurc), false},
    {{"augrc", "AUGRC", 0, 0}, RANKING(augrc), false},
    {{"error_auroc", "error AUROC", 1, 0}, RANKING(error_auroc), false},
    {{"error_aupr", "error AUPR", 1, 0}, RANKING(error_aupr), false},
};
_Static_assert(sizeof ranking_places / sizeof *ranking_places == VG_RANKING_FIGURES, "one entry per figure");

static const vg_estimate *estimate_at(const void *base, size_t offset) {
    return (const vg_estimate *)(const void *)((const char *)base + offset);
}

const vg_figure *vg_evaluation__ranking_figure(size_t i) { return &ranking_places[i].figure; }

const vg_estimate *vg_evaluation__ranking_estimate(const vg_ranking *ranking, size_t i) {
    return estimate_at(ranking, ranking_places[i].offset);
}

vg_status vg_evaluation__whole_table(vg_figure_table **out, const vg_evaluation *e) {
    vg_figure figures[WHOLE_COUNT];
    size_t places[WHOLE_COUNT], count = 0;
    for (size_t i = 0; i < WHOLE_COUNT; i++) {
        bool images = whole[i].offset == WHOLE(miou);
        if ((whole[i].multilabel_only && e->label_count == 0) || (images && isnan(e->miou.value)))
            continue;
        figures[count] = whole[i].figure;
        places[count++] = whole[i].offset;
    }
    VG_TRY(vg_figure_table__new(out, 1, figures, count));
    vg_figure_table__name(*out, 0, "all");
    for (size_t i = 0; i < count; i++)
        vg_figure_table__set(*out, 0, i, estimate_at(e, places[i]));
    vg_figure_table__mark_best(*out);
    return VG_OK;
}

/* Titles and kinds of the columns; `titles` gives room for those of the operating points. Returns how many there are.
 */
enum { MOST_COLUMNS = VG_RANKING_FIGURES + 2 * VG_MAX_OPERATING_POINTS };
static size_t measure_columns(vg_figure figures[MOST_COLUMNS], char titles[MOST_COLUMNS][VG_FIGURE_TITLE],
                              const vg_evaluation *e) {
    size_t count = 0;
    for (size_t i = 0; i < VG_RANKING_FIGURES; i++)
        figures[count++] = ranking_places[i].figure;
    for (size_t i = 0; i < e->coverage_count; i++, count++) {
        snprintf(titles[count], VG_FIGURE_TITLE, "risk@%g%%", 100 * e->coverages[i]);
        figures[count] = (vg_figure){NULL, titles[count], 0, 1};
    }
    for (size_t i = 0; i < e->risk_count; i++, count++) {
        snprintf(titles[count], VG_FIGURE_TITLE, "cov@%g%%risk", 100 * e->risks[i]);
        figures[count] = (vg_figure){NULL, titles[count], 1, 1};
    }
    return count;
}

vg_status vg_evaluation__measures_table(vg_figure_table **out, const vg_evaluation *e) {
    vg_figure figures[MOST_COLUMNS];
    char titles[MOST_COLUMNS][VG_FIGURE_TITLE];
    size_t count = measure_columns(figures, titles, e);
    VG_TRY(vg_figure_table__new(out, e->measure_count, figures, count));
    for (size_t r = 0; r < e->measure_count; r++) {
        const vg_ranking *ranking = &e->measures[r];
        size_t column = 0;
        vg_figure_table__name(*out, r, ranking->name);
        for (size_t i = 0; i < VG_RANKING_FIGURES; i++)
            vg_figure_table__set(*out, r, column++, vg_evaluation__ranking_estimate(ranking, i));
        for (size_t i = 0; i < e->coverage_count; i++)
            vg_figure_table__set(*out, r, column++, &ranking->risk_at[i]);
        for (size_t i = 0; i < e->risk_count; i++)
            vg_figure_table__set(*out, r, column++, &ranking->coverage_at[i]);
    }
    vg_figure_table__mark_best(*out);
    return VG_OK;
}

/* --- a first look ------------------------------------------------------------------------------------------------- */
enum { BRIEF_COLUMNS = 5 };

/* AURC, error AUROC, error AUPR, risk at the first coverage, coverage at the first risk: as far as there are. */
static size_t brief_columns(size_t columns[BRIEF_COLUMNS], const vg_evaluation *e) {
    static const size_t rankings[] = {0, 3, 4};
    size_t count = 0;
    for (size_t i = 0; i < sizeof rankings / sizeof *rankings; i++)
        columns[count++] = rankings[i];
    if (e->coverage_count > 0)
        columns[count++] = VG_RANKING_FIGURES;
    if (e->risk_count > 0)
        columns[count++] = VG_RANKING_FIGURES + e->coverage_count;
    return count;
}

/* The gated measure of largest error AUROC; measure_count when there is none. */
static size_t best_gated(const vg_evaluation *e) {
    size_t best = e->measure_count;
    for (size_t i = 0; i < e->measure_count; i++) {
        double area = e->measures[i].error_auroc.value;
        if (strchr(e->measures[i].name, '@') && !isnan(area) &&
            (best == e->measure_count || area > e->measures[best].error_auroc.value))
            best = i;
    }
    return best;
}

static bool is_brief_row(size_t row, const vg_figure_table *measures, const size_t *columns, size_t count,
                         size_t gated) {
    static const char *const usual[] = {"tu", "eu", "gmu", "snr"};
    bool shown = row == gated;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        shown = shown || strcmp(measures->names[row], usual[i]) == 0;
    for (size_t i = 0; i < count; i++)
        shown = shown || measures->best[columns[i]] == row;
    return shown;
}

vg_status vg_evaluation__brief_table(vg_figure_table **out, const vg_figure_table *measures, const vg_evaluation *e) {
    size_t columns[BRIEF_COLUMNS], count = brief_columns(columns, e), gated = best_gated(e), rows = 0, at = 0;
    vg_figure figures[BRIEF_COLUMNS];
    for (size_t i = 0; i < count; i++)
        figures[i] = measures->figures[columns[i]];
    for (size_t r = 0; r < measures->rows; r++)
        rows += is_brief_row(r, measures, columns, count, gated);
    VG_TRY(vg_figure_table__new(out, rows, figures, count));
    for (size_t r = 0; r < measures->rows; r++) {
        if (!is_brief_row(r, measures, columns, count, gated))
            continue;
        vg_figure_table__name(*out, at, measures->names[r]);
        for (size_t i = 0; i < count; i++)
            vg_figure_table__set(*out, at, i, &measures->values[r * measures->columns + columns[i]]);
        at++;
    }
    vg_figure_table__mark_best(*out);
    return VG_OK;
}
