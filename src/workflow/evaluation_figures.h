/* evaluation_figures.h - the figures of an evaluation by name: as tables, and for its JSON. Internal. */
#ifndef VG_WORKFLOW_EVALUATION_FIGURES_H
#define VG_WORKFLOW_EVALUATION_FIGURES_H

#include <stdbool.h>

#include "vargate/workflow.h"
#include "workflow/figure_table.h"

/* The figures of one measure's ranking: AURC, E-AURC, AUGRC, error AUROC, error AUPR. */
enum { VG_RANKING_FIGURES = 5 };
struct vg_score_input;
const vg_figure *vg_evaluation__ranking_figure(size_t i);
const vg_estimate *vg_evaluation__ranking_estimate(const vg_ranking *ranking, size_t i);

/* One row with the figures of the data set as a whole; those of multilabel data only where it is. */
vg_status vg_evaluation__whole_table(vg_figure_table **out, const vg_evaluation *evaluation);
/* One row per measure: the ranking figures, then risks and coverages at the operating points, which have no key. The
 * table borrows the evaluation's names. */
vg_status vg_evaluation__measures_table(vg_figure_table **out, const vg_evaluation *evaluation);
/* The rows and columns of that table that a first look needs. It borrows the table's names. */
vg_status vg_evaluation__brief_table(vg_figure_table **out, const vg_figure_table *measures, const vg_evaluation *e);

/* vg_evaluate_file for an input that is open, its labels read as maps where it has images. */
vg_status vg_evaluation__of_input(vg_evaluation_result **out, struct vg_score_input *in,
                                  const vg_evaluate_file_options *own);

/* How many samples' means are enough for advise_calibrator: of classes C, at most n. */
size_t vg_evaluation__advice_samples(size_t n, size_t classes);
/* Which calibrator the predictions support, as one more finding. */
struct vg_kept_means;
vg_status vg_evaluation__advise_calibrator(vg_finding *out, const struct vg_kept_means *kept, unsigned threads);
/* Whether a finding chooses something: a measure, a k, a calibrator. */
bool vg_evaluation__is_advice(const vg_finding *finding);
/* The choices of these findings, in one sentence. */
void vg_evaluation__advice(char out[VG_FINDING_SIZE], const vg_finding *findings, size_t count);

#endif
