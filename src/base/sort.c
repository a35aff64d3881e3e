/* sort.c - sorting of small arrays of numbers. See sort.h. */
#include "base/sort.h"

#include <stdlib.h>

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void vg_base__sort_doubles(double *values, size_t count) {
    if (count > 1)
        qsort(values, count, sizeof *values, compare);
}
