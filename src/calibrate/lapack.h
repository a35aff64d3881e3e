/* lapack.h - the four routines of LAPACK that the Gaussian process calls. Internal.
 *
 * LAPACK is opened at the first use, not when the program starts: with OpenBLAS it comes with threads that look for
 * work from then on, beside those of commands that have none for them. Wheels carry the routines
 * (python/native/small_lapack.c). */
#ifndef VG_LAPACK_H
#define VG_LAPACK_H

#include "vargate/status.h"

/* As LAPACKE's _work functions: layout, uplo, (trans, diag,) sizes, matrices with their leading dimensions. */
typedef struct vg_lapack {
    int (*potrf)(int layout, char uplo, int n, double *a, int lda);
    int (*potrs)(int layout, char uplo, int n, int columns, const double *a, int lda, double *b, int ldb);
    int (*trtri)(int layout, char uplo, char diag, int n, double *a, int lda);
    int (*trtrs)(int layout, char uplo, char trans, char diag, int n, int columns, const double *a, int lda, double *b,
                 int ldb);
} vg_lapack;

enum { VG_LAPACK_COLUMNS = 102 }; /* the layout: column by column */

/* The same for the whole process; never closed. */
vg_status vg_lapack__open(const vg_lapack **out);
/* From a library of one of these names; NULL ends them. */
vg_status vg_lapack__load(vg_lapack *out, const char *const *names);

#endif
