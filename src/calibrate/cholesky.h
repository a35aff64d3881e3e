/* cholesky.h - the factorisation A = L L' and its triangular solves, for the matrices of the Gaussian process: some
 * hundred rows at most, where a BLAS with threads costs more than it saves. Internal.
 *
 * Matrices have n columns of n values, column after column: entry (i, j) is a[i + j * n]. Only the lower triangle is
 * read and written. */
#ifndef VG_CHOLESKY_H
#define VG_CHOLESKY_H

#include <stdbool.h>
#include <stddef.h>

/* A = L L', in place. False: a leading minor is not positive. */
bool vg_cholesky__factor(double *a, size_t n);
/* L x = b, in place. */
void vg_cholesky__solve_lower(const double *l, size_t n, double *b);
/* L L' x = b, in place. */
void vg_cholesky__solve(const double *l, size_t n, double *b);
/* L^-1, in place; the diagonal of a factor has no zero. */
void vg_cholesky__invert_lower(double *l, size_t n);

#endif
