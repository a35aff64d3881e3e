/* sort.h - sorting of small arrays of numbers. Internal. Large arrays of keys: sort_body.h. */
#ifndef VG_BASE_SORT_H
#define VG_BASE_SORT_H

#include <stddef.h>

/* In ascending order, in place. No value may be NaN. */
void vg_base__sort_doubles(double *values, size_t count);

#endif
