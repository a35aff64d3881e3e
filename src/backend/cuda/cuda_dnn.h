/* cuda_dnn.h - convolutions by cuDNN's graph interface: plans by shape, the fastest engine found by timing.
 * Internal. */
#ifndef VG_CUDA_DNN_H
#define VG_CUDA_DNN_H

#include "backend/cuda/cuda_backend.h"

typedef enum cuda_conv_kind { CUDA_CONV_FORWARD = 0, CUDA_CONV_DATA = 1, CUDA_CONV_WEIGHTS = 2 } cuda_conv_kind;

/* One convolution; channels are padded ones. */
typedef struct cuda_conv_key {
    int64_t kind;       /* a cuda_conv_kind; 64 bits, because keys are compared byte by byte and must have no padding */
    int64_t n, c, h, w; /* x, dx */
    int64_t o, r, s;    /* filters */
    int64_t oh, ow;     /* y, dy */
    int64_t stride, pad;
    int64_t addend; /* forward: y = conv + addend in one pass */
    int64_t wide;   /* weights: the gradient is float32 although the operands are bfloat16 */
} cuda_conv_key;

/* x, w, y as the kind reads them: forward x, w -> y (+ addend); data dy = y, w -> x; weights x, y -> w. */
typedef struct cuda_conv_places {
    void *x, *w, *y, *addend;
} cuda_conv_places;

vg_status vg_cuda__plans_new(vg_backend *);
void vg_cuda__plans_free(vg_backend *);
/* Runs it; *served is false (and nothing was done) when there is no engine for this key. The first call with a key
 * times the engines and keeps the fastest that gives the same bits every time; the choice is stored in a file for later
 * runs. */
vg_status vg_cuda__conv_run(vg_backend *, const cuda_conv_key *key, const cuda_conv_places *places, bool *served);
/* Whether an accelerator's kernel (cuda_accelerators.h) was chosen for this key, or was at most `more` milliseconds
 * slower than the chosen engine; the first call with a key times the engines, as vg_cuda__conv_run does. */
vg_status vg_cuda__conv_own(vg_backend *, const cuda_conv_key *key, const cuda_conv_places *places, float more,
                            bool *own);
/* The time of the chosen engine in its trial, in milliseconds; 0: there is no engine; -1: not tried yet. */
float vg_cuda__conv_time(vg_backend *, const cuda_conv_key *key);

#endif
