/* rule.h - k chosen for several target risks at once. For the modules above evaluate. */
#ifndef VG_RULE_H
#define VG_RULE_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/evaluate.h"

/* vg_select_k for each of `count` target risks (options has none) from one pass over the rows; out[0 .. count - 1].
 * Each promise holds by itself, not all of them together: a target must be chosen before its result is seen. */
vg_status vg_select__k_targets(vg_selection *out, const double *targets, size_t count, const double *ratio,
                               const uint8_t *errors, size_t rows, const vg_select_options *options);

#endif
