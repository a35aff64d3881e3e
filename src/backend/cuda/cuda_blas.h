/* cuda_blas.h - matrix products by cuBLASLt: the fastest algorithm found by timing. Internal. */
#ifndef VG_CUDA_BLAS_H
#define VG_CUDA_BLAS_H

#include "backend/cuda/cuda_backend.h"

/* D (m x n, column-major, leading dimension ldd) = op(A) op(B), A and B of the backend's element type, D float32 when
 * `wide`. */
typedef struct cuda_product_key {
    int64_t m, n, k;
    int64_t lda, ldb, ldd;
    int64_t transpose_a, transpose_b;
    int64_t wide;
    int64_t bias; /* one float32 per row of D is added; D is then float32 */
} cuda_product_key;

vg_status vg_cuda__products_new(vg_backend *);
void vg_cuda__products_free(vg_backend *);
/* *served is false when the library has no algorithm for the key. */
vg_status vg_cuda__product(vg_backend *, const cuda_product_key *key, void *d, const void *a, const void *b,
                           const float *bias, bool *served);

#endif
