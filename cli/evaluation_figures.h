/* evaluation_figures.h - the figures of an evaluation by name, shared by its tables and its JSON. */
#ifndef CLI_EVALUATION_FIGURES_H
#define CLI_EVALUATION_FIGURES_H

#include "best_marks.h"
#include "vargate/evaluate.h"

typedef struct evaluation_figure {
    const char *key, *title;
    size_t offset; /* of the vg_estimate */
    bool multilabel_only;
} evaluation_figure;

/* Figures of the data set as a whole, offsets in vg_evaluation. */
extern const evaluation_figure evaluation_figures[];
extern const size_t evaluation_figure_count;
/* Figures of one measure, offsets in vg_ranking. */
extern const evaluation_figure ranking_figures[];
extern const size_t ranking_figure_count;

const vg_estimate *evaluation_estimate(const void *base, const evaluation_figure *figure);

/* The columns of the measures' table: ranking figures, then risks and coverages at the operating points. `titles` gives room
 * for the names of the latter. */
enum { EVALUATION_MAX_COLUMNS = 5 + 2 * VG_MAX_OPERATING_POINTS, EVALUATION_TITLE = 24 };
size_t evaluation_columns(best_column columns[EVALUATION_MAX_COLUMNS], char titles[EVALUATION_MAX_COLUMNS][EVALUATION_TITLE],
                          const vg_evaluation *evaluation);
/* name of measure `row` of an array of vg_ranking. */
const char *ranking_name(const void *rankings, size_t row);

#endif
