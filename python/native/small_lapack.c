/* small_lapack.c - the four LAPACK routines that the Gaussian process of calibration calls, plainly, for matrices of
 * some hundred rows, so that a wheel need not carry 40 MB of OpenBLAS for them. Only what is called is there:
 * column-major storage (a[i + j * lda]), the lower triangle, a diagonal that is stored, no transpose. Other arguments
 * are answered as LAPACK does, with minus the number of the argument. */
#include "lapacke.h"

#include <math.h>
#include <stddef.h>

/* b -= L x from column j on: the forward substitution L x = b, in place. */
static void solve_lower(const double *a, size_t n, size_t lda, double *b) {
    for (size_t j = 0; j < n; j++) {
        b[j] /= a[j + j * lda];
        for (size_t i = j + 1; i < n; i++)
            b[i] -= a[i + j * lda] * b[j];
    }
}

/* L^T x = b, in place. */
static void solve_lower_transposed(const double *a, size_t n, size_t lda, double *b) {
    for (size_t j = n; j-- > 0;) {
        for (size_t i = j + 1; i < n; i++)
            b[j] -= a[i + j * lda] * b[i];
        b[j] /= a[j + j * lda];
    }
}

/* A = L L^T, column after column. */
lapack_int LAPACKE_dpotrf_work(int layout, char uplo, lapack_int order, double *a, lapack_int leading) {
    if (layout != LAPACK_COL_MAJOR)
        return -1;
    if (uplo != 'L')
        return -2;
    size_t n = (size_t)order, lda = (size_t)leading;
    for (size_t j = 0; j < n; j++) {
        double *column = a + j * lda;
        for (size_t k = 0; k < j; k++) {
            const double *before = a + k * lda;
            double factor = before[j];
            for (size_t i = j; i < n; i++)
                column[i] -= before[i] * factor;
        }
        if (!(column[j] > 0))
            return (lapack_int)j + 1;
        double pivot = sqrt(column[j]);
        column[j] = pivot;
        for (size_t i = j + 1; i < n; i++)
            column[i] /= pivot;
    }
    return 0;
}

lapack_int LAPACKE_dpotrs_work(int layout, char uplo, lapack_int n, lapack_int columns, const double *a, lapack_int lda,
                               double *b, lapack_int ldb) {
    if (layout != LAPACK_COL_MAJOR)
        return -1;
    if (uplo != 'L')
        return -2;
    for (lapack_int c = 0; c < columns; c++) {
        double *right = b + (size_t)c * (size_t)ldb;
        solve_lower(a, (size_t)n, (size_t)lda, right);
        solve_lower_transposed(a, (size_t)n, (size_t)lda, right);
    }
    return 0;
}

/* L^-1 in place, from the last column to the first: column j of the inverse is -1/L_jj times the inverse of what lies
 * below and to the right, which is already there, times the rest of column j of L. */
lapack_int LAPACKE_dtrtri_work(int layout, char uplo, char diag, lapack_int order, double *a, lapack_int leading) {
    if (layout != LAPACK_COL_MAJOR)
        return -1;
    if (uplo != 'L')
        return -2;
    if (diag != 'N')
        return -3;
    size_t n = (size_t)order, lda = (size_t)leading;
    for (size_t j = 0; j < n; j++) {
        if (a[j + j * lda] == 0)
            return (lapack_int)j + 1;
    }
    for (size_t j = n; j-- > 0;) {
        double *column = a + j * lda, first = 1 / column[j];
        column[j] = first;
        for (size_t k = n; k-- > j + 1;) {
            const double *inverse = a + k * lda; /* adds column[k] times column k of the inverse, from row k down */
            double factor = column[k];
            for (size_t i = k + 1; i < n; i++)
                column[i] += inverse[i] * factor;
            column[k] = inverse[k] * factor;
        }
        for (size_t i = j + 1; i < n; i++)
            column[i] *= -first;
    }
    return 0;
}

lapack_int LAPACKE_dtrtrs_work(int layout, char uplo, char trans, char diag, lapack_int n, lapack_int columns,
                               const double *a, lapack_int lda, double *b, lapack_int ldb) {
    if (layout != LAPACK_COL_MAJOR)
        return -1;
    if (uplo != 'L')
        return -2;
    if (trans != 'N')
        return -3;
    if (diag != 'N')
        return -4;
    for (lapack_int c = 0; c < columns; c++)
        solve_lower(a, (size_t)n, (size_t)lda, b + (size_t)c * (size_t)ldb);
    return 0;
}
