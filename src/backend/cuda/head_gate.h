/* head_gate.h - launcher of head_gate.cu. Internal. */
#ifndef VG_CUDA_HEAD_GATE_H
#define VG_CUDA_HEAD_GATE_H

#include "backend/cuda/loss.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cuda_gate_work {
    const float *logits, *addend; /* addend may be NULL */
    const int32_t *labels;
    const float *l; /* classes */
    float *dlogits; /* NULL: no gradients are wanted */
    float *dl;      /* classes */
    size_t rows, heads, classes;
    double *row_loss, *row_right; /* rows */
    double *row_dk;               /* rows x classes */
    unsigned *counter;
    cuda_totals *totals;
    const cuda_step *step;
} cuda_gate_work;

/* Doubles of shared memory that a row takes. */
static inline size_t cuda_gate_room(size_t heads, size_t classes) { return 6 * classes + 3 * heads; }
void vg_cuda__k_gated_loss(cudaStream_t, const cuda_gate_work *work);

#ifdef __cplusplus
}
#endif
#endif
