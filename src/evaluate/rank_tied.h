/* rank_tied.h - a part of a ranking whose rows all have one value, without storing them. For workflow. */
#ifndef VG_RANK_TIED_H
#define VG_RANK_TIED_H

#include "vargate/evaluate.h"

/* The result of vg_rank_part_walk for `rows` rows of equal uncertainty, `errors` of them wrong. `part` has the
 * counts before it and in all. */
vg_status vg_evaluate__rank_part_tied(vg_rank_part *part, size_t rows, size_t errors, const vg_evaluate_options *o);

/* The points of vg_risk_coverage of all parts that lie in this one: risk[i] of the others is left as it is. part NULL:
 * it is the whole. */
vg_status vg_evaluate__rank_curve_part(double *risk, size_t points, const vg_rank_part *part, const vg_measure *measure,
                                       const uint8_t *errors, size_t rows);
/* The same of rows that all have one value. */
void vg_evaluate__rank_curve_tied(double *risk, size_t points, const vg_rank_part *part, size_t rows, size_t errors);

#endif
