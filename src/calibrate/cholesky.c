/* cholesky.c - the factorisation A = L L' and its triangular solves (cholesky.h), unblocked and single-threaded. */
#include "calibrate/cholesky.h"

#include <math.h>

bool vg_cholesky__factor(double *a, size_t n) {
    for (size_t j = 0; j < n; j++) {
        double *column = a + j * n;
        for (size_t k = 0; k < j; k++) {
            const double *before = a + k * n;
            double factor = before[j];
            for (size_t i = j; i < n; i++)
                column[i] -= before[i] * factor;
        }
        if (!(column[j] > 0))
            return false;
        double pivot = sqrt(column[j]);
        column[j] = pivot;
        for (size_t i = j + 1; i < n; i++)
            column[i] /= pivot;
    }
    return true;
}

void vg_cholesky__solve_lower(const double *l, size_t n, double *b) {
    for (size_t j = 0; j < n; j++) {
        b[j] /= l[j + j * n];
        for (size_t i = j + 1; i < n; i++)
            b[i] -= l[i + j * n] * b[j];
    }
}

void vg_cholesky__solve(const double *l, size_t n, double *b) {
    vg_cholesky__solve_lower(l, n, b);
    for (size_t j = n; j-- > 0;) { /* L' x = b */
        for (size_t i = j + 1; i < n; i++)
            b[j] -= l[i + j * n] * b[i];
        b[j] /= l[j + j * n];
    }
}

/* From the last column to the first. Column j of the inverse is -1/L_jj times the inverse of the lower right part,
 * which is computed already, times the rest of column j of L. */
void vg_cholesky__invert_lower(double *l, size_t n) {
    for (size_t j = n; j-- > 0;) {
        double *column = l + j * n, first = 1 / column[j];
        column[j] = first;
        for (size_t k = n; k-- > j + 1;) {
            const double *inverse = l + k * n; /* adds column[k] times column k of the inverse, from row k down */
            double factor = column[k];
            for (size_t i = k + 1; i < n; i++)
                column[i] += inverse[i] * factor;
            column[k] = inverse[k] * factor;
        }
        for (size_t i = j + 1; i < n; i++)
            column[i] *= -first;
    }
}
