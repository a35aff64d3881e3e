/* lapacke.h - what of LAPACKE the library calls, for wheels: they carry small_lapack.c instead of LAPACK. */
#ifndef VARGATE_SMALL_LAPACKE_H
#define VARGATE_SMALL_LAPACKE_H

typedef int lapack_int;
enum { LAPACK_COL_MAJOR = 102 };

lapack_int LAPACKE_dpotrf_work(int layout, char uplo, lapack_int n, double *a, lapack_int lda);
lapack_int LAPACKE_dpotrs_work(int layout, char uplo, lapack_int n, lapack_int columns, const double *a, lapack_int lda,
                               double *b, lapack_int ldb);
lapack_int LAPACKE_dtrtri_work(int layout, char uplo, char diag, lapack_int n, double *a, lapack_int lda);
lapack_int LAPACKE_dtrtrs_work(int layout, char uplo, char trans, char diag, lapack_int n, lapack_int columns,
                               const double *a, lapack_int lda, double *b, lapack_int ldb);

#endif
