/* evaluation_figures.c - names of the figures of an evaluation. See evaluation_figures.h. */
#include "evaluation_figures.h"

#include <stdio.h>

#define WHOLE(member) offsetof(vg_evaluation, member)
const evaluation_figure evaluation_figures[] = {
    {"accuracy", "accuracy", WHOLE(accuracy), false},
    {"f1_macro", "F1 macro", WHOLE(f1_macro), false},
    {"f1_micro", "F1 micro", WHOLE(f1_micro), true},
    {"subset_accuracy", "all labels right", WHOLE(subset_accuracy), true},
    {"ece", "ECE", WHOLE(ece), false},
    {"ece_macro", "ECE, mean of labels", WHOLE(ece_macro), true},
    {"ece_adaptive", "ECE, adaptive bins", WHOLE(ece_adaptive), false},
    {"ece_classwise", "ECE, classwise", WHOLE(ece_classwise), false},
    {"mce", "MCE", WHOLE(mce), false},
    {"nll", "NLL", WHOLE(nll), false},
    {"brier", "Brier", WHOLE(brier), false},
};
const size_t evaluation_figure_count = sizeof evaluation_figures / sizeof *evaluation_figures;

#define RANKING(member) offsetof(vg_ranking, member)
const evaluation_figure ranking_figures[] = {
    {"aurc", "AURC", RANKING(aurc), false},
    {"eaurc", "E-AURC", RANKING(eaurc), false},
    {"augrc", "AUGRC", RANKING(augrc), false},
    {"error_auroc", "error AUROC", RANKING(error_auroc), false},
    {"error_aupr", "error AUPR", RANKING(error_aupr), false},
};
const size_t ranking_figure_count = sizeof ranking_figures / sizeof *ranking_figures;

const vg_estimate *evaluation_estimate(const void *base, const evaluation_figure *figure) {
    return (const vg_estimate *)(const void *)((const char *)base + figure->offset);
}

const char *ranking_name(const void *rankings, size_t row) { return ((const vg_ranking *)rankings)[row].name; }

static double ranking_value(const void *rankings, size_t row, size_t argument) {
    return evaluation_estimate((const vg_ranking *)rankings + row, &ranking_figures[argument])->value;
}

static double risk_value(const void *rankings, size_t row, size_t argument) {
    return ((const vg_ranking *)rankings)[row].risk_at[argument].value;
}

static double coverage_value(const void *rankings, size_t row, size_t argument) {
    return ((const vg_ranking *)rankings)[row].coverage_at[argument].value;
}

size_t evaluation_columns(best_column columns[EVALUATION_MAX_COLUMNS], char titles[EVALUATION_MAX_COLUMNS][EVALUATION_TITLE],
                          const vg_evaluation *evaluation) {
    size_t count = 0;
    for (size_t i = 0; i < ranking_figure_count; i++) {
        bool higher = i >= 3; /* the areas under ROC and precision-recall curves */
        columns[count++] = (best_column){ranking_figures[i].title, ranking_figures[i].key, higher, false, ranking_value, i};
    }
    for (size_t i = 0; i < evaluation->coverage_count; i++) {
        snprintf(titles[count], EVALUATION_TITLE, "risk@%g%%", 100 * evaluation->coverages[i]);
        columns[count] = (best_column){titles[count], titles[count], false, true, risk_value, i};
        count++;
    }
    for (size_t i = 0; i < evaluation->risk_count; i++) {
        snprintf(titles[count], EVALUATION_TITLE, "cov@%g%%risk", 100 * evaluation->risks[i]);
        columns[count] = (best_column){titles[count], titles[count], true, true, coverage_value, i};
        count++;
    }
    return count;
}
