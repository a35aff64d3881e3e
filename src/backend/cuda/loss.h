/* loss.h - launcher of loss.cu. Internal. */
#ifndef VG_CUDA_LOSS_H
#define VG_CUDA_LOSS_H

#include "backend/cuda/cuda_backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cuda_totals {
    double loss;
    unsigned long long rows, correct;
    long long bad_step;
} cuda_totals;

typedef struct cuda_loss_work {
    const float *logits, *addend, *weights; /* the last two may be NULL */
    const int32_t *labels;
    float *dlogits; /* may be NULL */
    void *twin;     /* bfloat16 copy of dlogits in rows of twin_row; may be NULL */
    size_t twin_row;
    size_t rows, heads, classes;
    bool mixture;
    bool targets; /* smoothed labels or class weights: see vg_head_loss */
    float smoothing;
    const float *class_weights; /* classes; NULL: all 1 */
    double *row_loss;           /* rows */
    unsigned *row_right;        /* rows */
    unsigned *counter;
    cuda_totals *totals;
    const cuda_step *step;
} cuda_loss_work;

vg_status vg_cuda__totals_new(cuda_context *);
void vg_cuda__k_loss(cudaStream_t, const cuda_loss_work *work);

#ifdef __cplusplus
}
#endif
#endif
