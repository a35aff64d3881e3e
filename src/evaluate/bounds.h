/* bounds.h - upper confidence bounds of a mean loss. */
#ifndef VG_BOUNDS_H
#define VG_BOUNDS_H

#include <stddef.h>

#include "vargate/status.h"

/* Upper confidence bound of the mean of n independent losses in [0, 1]: the smaller of the Hoeffding-Bentkus and the
 * betting bound, each at half of 1 - confidence. The betting bound depends on the order of the losses, which must not
 * depend on them. */
vg_status vg_bounds__mean_upper(double *bound, const double *losses, size_t n, double confidence);
/* Upper confidence bound of a proportion after `errors` of n, exact: the `confidence` quantile of Beta(errors + 1, n -
 * errors); 1 when errors = n (n = 0 included). */
double vg_bounds__clopper_pearson(size_t errors, size_t n, double confidence);

#endif
