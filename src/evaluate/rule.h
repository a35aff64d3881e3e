/* rule.h - the decision rule evaluated at several k, and k chosen for several target risks at once. For the modules
 * above evaluate. */
#ifndef VG_RULE_H
#define VG_RULE_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/evaluate.h"

/* Rows that the decision rule is evaluated on. Borrowed for the call. */
typedef struct vg_rule_rows {
    const double *ratio;        /* rows: margin ratios */
    const uint8_t *errors;      /* rows: 1 = misclassified */
    const int64_t *labels;      /* rows; NULL: no counts by label */
    const int32_t *predictions; /* rows; NULL: no counts by prediction */
    size_t rows, classes;
} vg_rule_rows;
/* The decision rule at each of k_count ks. Results go to rule[0 .. k_count - 1], without intervals; the two count
 * arrays of each row are filled where the caller has set them to memory for `classes` values, and skipped where they
 * are NULL. */
vg_status vg_rule__evaluate(vg_rule_row *rule, const double *k, size_t k_count, const vg_rule_rows *rows);

/* vg_select_k for each of `count` target risks (options has none) from one pass over the rows; out[0 .. count - 1].
 * Each promise holds by itself, not all of them together: a target must be chosen before its result is seen. */
vg_status vg_select__k_targets(vg_selection *out, const double *targets, size_t count, const double *ratio,
                               const uint8_t *errors, size_t rows, const vg_select_options *options);

#endif
