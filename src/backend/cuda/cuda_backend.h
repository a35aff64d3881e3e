/* cuda_backend.h - what the files of the CUDA backend share. Internal. Included by C and by CUDA C++.
 *
 * Layouts. ACTIVATION: channels-last, (n, h, w, C) with C = channels rounded up to 8, bfloat16 or float32 by the
 * backend's compute; the padding channels are zero in every activation, and every operation keeps them so. PLAIN:
 * float32 rows, no padding. INDEX: int32 rows. CHOICE: one byte per element, in the layout of the activation it belongs
 * to. Parameters in a block: CONV and LINEAR [O][h][w][I], O and I rounded up to 8 (a LINEAR whose result is PLAIN
 * still has O rounded up; the rows past o are zero); VECTOR [o rounded up to 8]. In bfloat16 mode a block used as
 * weights has a bfloat16 copy (`twin`), which every operation that writes the block keeps up to date.
 *
 * Operations are queued on one stream and return. Weight gradients run on a second stream, because only Adam waits for
 * them: vg_cuda__side_begin and _end. An operation that writes a tensor which such a gradient still reads waits for it
 * (vg_cuda__writes), and operations that read gradients wait for all of them (vg_cuda__join). Adam of parameters whose
 * gradients are complete early runs on a third stream (vg_cuda__late_begin). The main stream has the highest priority.
 * During a recording (cudaStreamBeginCapture) nothing may allocate, copy from the host or wait. An operation does so
 * only when it sees a size for the first time, which is why a sequence is run once before it is recorded. Values that
 * change between replays are read from device memory (context->step). */
#ifndef VG_CUDA_BACKEND_H
#define VG_CUDA_BACKEND_H

#include <cuda_runtime_api.h>

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_PAD = 8 };
static inline size_t cuda_pad(size_t channels) { return (channels + CUDA_PAD - 1) / CUDA_PAD * CUDA_PAD; }

typedef struct cuda_tensor {
    vg_tensor base;
    void *data;
    size_t channels; /* of ACTIVATION and CHOICE: padded */
    size_t row;      /* physical elements per row */
    size_t element;  /* bytes per element */
    void *twin;      /* PLAIN, bfloat16 mode: the same values in bfloat16, rows of twin_row elements */
    size_t twin_row;
    bool twin_valid;
    void *patches; /* of an image with few channels: its patches for the convolution of patches_shape (patches.h) */
    size_t patches_size;
    bool patches_valid;
    int patches_shape[16];
    uint64_t side_read; /* number of the last operation on the second stream that reads it */
} cuda_tensor;

typedef struct cuda_block {
    vg_block base;
    float *data;
    void *twin; /* bfloat16 copy, NULL until first needed */
    uint64_t twin_version;
    /* Gradients computed in bfloat16 are stored in the twin; one byte for every 16 floats marks them, on the device and
     * on the host. */
    unsigned char *narrow, *narrow_host;
} cuda_block;

/* The step as kernels read it, in device memory. */
typedef struct cuda_step {
    vg_step step;
} cuda_step;

struct cuda_plans;    /* cuDNN: execution plans by shape (cuda_dnn.c) */
struct cuda_products; /* cuBLASLt: matrix products by shape (cuda_blas.c) */

enum { CUDA_SIDE_EVENTS = 64 };

typedef struct cuda_context {
    int caller_device; /* the current device of the thread that entered, before it did */
    /* the current stream: main, or the second one between vg_cuda__side_begin and _end */
    cudaStream_t stream;
    cudaStream_t main, side, late; /* side and late may be NULL: everything then runs on main */
    bool late_busy;                /* the main stream has not yet waited for the third */
    cudaEvent_t late_done;
    cudaEvent_t fork, read[CUDA_SIDE_EVENTS];
    /* number of operations on the second stream, and of those that the main stream has waited for */
    uint64_t side_count, side_joined;
    void *side_scratch;
    size_t side_scratch_size;
    cuda_step *step;                 /* device */
    struct cuda_totals *totals;      /* device: totals of the loss */
    struct cuda_totals *totals_host; /* pinned */
    void *scratch;                   /* device; valid within one operation */
    size_t scratch_size;
    void *spare; /* a second buffer, for operations that call a library which uses the scratch memory */
    size_t spare_size;
    void *third; /* a third one, for operations that need two beside the library's */
    size_t third_size;
    /* device, zero between operations: counts finished blocks, for kernels whose last block finishes the work */
    unsigned *counters;
    float *clip;  /* device: the factor of clipped gradients; NULL until first needed */
    bool clipped; /* the next step of the optimiser uses it */
    int multiprocessors;
    /* direction in which the next convolution with batch-norm traverses memory (hopper/hopper_conv.c) */
    bool backwards;
    size_t memory_used;
    bool recording;
    unsigned recordings;          /* recordings that exist: the memory they point to must stay */
    struct cuda_retired *retired; /* buffers replaced by larger ones while recordings existed */
    bool lost;                    /* the device failed: nothing can be freed on it */
    vg_acceleration acceleration;
    struct cuda_plans *plans;
    struct cuda_products *products;
} cuda_context;

enum { CUDA_COUNTERS = 4096 };

static inline cuda_context *cuda_of(vg_backend *b) { return (cuda_context *)b->context; }
static inline cuda_tensor *cuda_t(const vg_tensor *t) { return (cuda_tensor *)t; }
static inline cuda_block *cuda_b(const vg_block *b) { return (cuda_block *)b; }
static inline bool cuda_bf16(const vg_backend *b) { return b->compute == VG_COMPUTE_BF16; }
/* Sets the layout of a zeroed tensor; its memory is still to be allocated. */
static inline void cuda_tensor_plan(cuda_tensor *t, const vg_backend *b, vg_tensor_kind kind, size_t capacity,
                                    vg_shape shape) {
    bool layered = kind == VG_TENSOR_ACTIVATION || kind == VG_TENSOR_CHOICE;
    t->base.n = t->base.capacity = capacity;
    t->base.shape = shape;
    t->base.kind = kind;
    t->channels = layered ? cuda_pad(shape.c) : shape.c;
    t->row = t->channels * shape.h * shape.w;
    t->element = kind == VG_TENSOR_CHOICE ? 1 : kind == VG_TENSOR_ACTIVATION && cuda_bf16(b) ? 2 : 4;
}

/* VG_OK, or a failure whose message names the action and CUDA's reason. Out of memory is VG_ERR_MEMORY. */
vg_status vg_cuda__check(cudaError_t error, const char *doing);
/* Copies and waits for the copy. */
vg_status vg_cuda__copy(cuda_context *, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                        const char *what);
/* Checks for an error after a launch. */
vg_status vg_cuda__launched(const char *kernel);
/* Device memory, zeroed when `zero`. */
vg_status vg_cuda__alloc(cuda_context *, void *out, size_t bytes, bool zero, const char *what);
void vg_cuda__free(cuda_context *, void *memory, size_t bytes);
/* At least `bytes` of scratch memory, aligned to 256. */
vg_status vg_cuda__scratch(cuda_context *, void *out, size_t bytes);
vg_status vg_cuda__spare(cuda_context *, void *out, size_t bytes);
vg_status vg_cuda__third(cuda_context *, void *out, size_t bytes);
/* A convolution over few channels: computed over patches, its weights without padding between taps. */
static inline bool vg_cuda__packed(const vg_param *p) { return p->kind == VG_PARAM_CONV && p->i < CUDA_PAD; }
/* The address of a parameter's gradient in bfloat16, marked as such; Adam reads it there. */
vg_status vg_cuda__narrow_gradient(vg_backend *, vg_block *grad, const vg_param *w, void **out);
vg_status vg_cuda__wide_gradient(vg_backend *, vg_block *grad, const vg_param *w);
/* The second stream: what is launched between begin and end runs there, after everything queued before; x and dy are
 * the tensors it reads. Every begin must be followed by an end, also after an error. */
vg_status vg_cuda__streams_open(cuda_context *, unsigned streams); /* streams: how many of the three, 0: all */
void vg_cuda__streams_close(cuda_context *);
vg_status vg_cuda__side_begin(vg_backend *);
vg_status vg_cuda__side_end(vg_backend *, const vg_tensor *x, const vg_tensor *dy);
/* The main stream waits for the weight gradients (join_side), or for them and the third stream (join). */
vg_status vg_cuda__join_side(vg_backend *);
vg_status vg_cuda__join(vg_backend *);
/* The third stream: work launched between begin and end runs there, after everything that is queued on the other
 * two. */
vg_status vg_cuda__late_begin(vg_backend *);
vg_status vg_cuda__late_end(vg_backend *);
/* To be called before an operation on the main stream writes t. */
vg_status vg_cuda__writes(vg_backend *, const vg_tensor *t);
vg_status vg_cuda__plans_stream(vg_backend *, cudaStream_t stream);
/* The weights of a product, at the offset of w: the bfloat16 copy (updated if needed), or the floats themselves. */
vg_status vg_cuda__weights(vg_backend *, const void **out, const vg_block *theta, const vg_param *w);
/* dy as a matrix operand in the backend's element type: an activation's data, or a PLAIN tensor's twin. *row:
 * elements per row. */
vg_status vg_cuda__operand(vg_backend *, const void **out, size_t *row, const vg_tensor *t);

/* --- operations, one file each (see backend.h for what they do) */
vg_status vg_cuda__conv_forward(vg_backend *, const vg_conv *, vg_tensor *y, const vg_tensor *x, const vg_block *theta,
                                const vg_param *w, const vg_tensor *addend);
vg_status vg_cuda__conv_backward_data(vg_backend *, const vg_conv *, vg_tensor *dx, const vg_tensor *dy,
                                      const vg_block *theta, const vg_param *w, const vg_tensor *addend);
vg_status vg_cuda__conv_backward_weights(vg_backend *, const vg_conv *, vg_block *grad, const vg_param *w,
                                         const vg_tensor *x, const vg_tensor *dy);
vg_status vg_cuda__conv_norm_forward(vg_backend *, const vg_conv_norm *op, const vg_block *theta, bool *done);
vg_status vg_cuda__conv_pooling_forward(vg_backend *, const vg_conv_pooling *op, const vg_block *theta, bool *done);
vg_status vg_cuda__conv_pooling_backward(vg_backend *, const vg_conv_pooling *op, vg_block *grad, const vg_tensor *dy);
vg_status vg_cuda__pooling_forward(vg_backend *, const vg_pooling *, vg_tensor *y, vg_tensor *choice,
                                   const vg_tensor *x, const vg_block *theta, const vg_param *bias);
vg_status vg_cuda__pooling_backward(vg_backend *, const vg_pooling *, const vg_pooling_gradient *, vg_block *grad);
vg_status vg_cuda__norm_forward(vg_backend *, const vg_norm *, const vg_norm_pass *, const vg_block *theta);
vg_status vg_cuda__norm_backward(vg_backend *, const vg_norm *, const vg_norm_gradient *, const vg_block *theta,
                                 vg_block *grad);
vg_status vg_cuda__average_forward(vg_backend *, vg_tensor *y, const vg_tensor *x);
vg_status vg_cuda__average_backward(vg_backend *, vg_tensor *dx, const vg_tensor *dy);
vg_status vg_cuda__repeat_rows(vg_backend *, vg_tensor *y, const vg_tensor *x, uint64_t first, uint64_t repeat,
                               vg_dropout dropout);
vg_status vg_cuda__linear_forward(vg_backend *, vg_tensor *y, const vg_tensor *x, const vg_block *theta,
                                  const vg_param *w, const vg_param *bias);
vg_status vg_cuda__linear_backward_data(vg_backend *, vg_tensor *dx, const vg_tensor *dy, const vg_block *theta,
                                        const vg_param *w);
vg_status vg_cuda__linear_backward_weights(vg_backend *, vg_block *grad, const vg_param *w, const vg_param *bias,
                                           const vg_tensor *x, const vg_tensor *dy);
vg_status vg_cuda__copy_columns(vg_backend *, vg_tensor *y, size_t y_at, const vg_tensor *x, size_t x_at, size_t count);
vg_status vg_cuda__loss(vg_backend *, const vg_head_loss *, vg_tensor *dlogits, const vg_tensor *logits,
                        const vg_tensor *addend, const vg_tensor *labels, const vg_tensor *weights);
vg_status vg_cuda__gated_loss(vg_backend *, const vg_head_loss *, vg_tensor *dlogits, const vg_tensor *logits,
                              const vg_tensor *addend, const vg_tensor *labels);
vg_status vg_cuda__loss_read(vg_backend *, vg_loss_totals *totals);
vg_status vg_cuda__block_multiply(vg_backend *, vg_block *a, size_t offset, const vg_block *b, size_t count);
vg_status vg_cuda__block_anchor(vg_backend *, vg_block *grad, const vg_block *theta, const vg_anchor *,
                                double *penalty);
vg_status vg_cuda__adam(vg_backend *, vg_block *theta, const vg_block *grad, vg_block *m, vg_block *v);
vg_status vg_cuda__sgd(vg_backend *, vg_block *theta, const vg_block *grad, vg_block *m);
vg_status vg_cuda__clip(vg_backend *, vg_block *grad, float most);
vg_status vg_cuda__block_average(vg_backend *, vg_block *mean, const vg_block *theta);
vg_status vg_cuda__adam_part(vg_backend *, vg_block *theta, const vg_block *grad, vg_block *m, vg_block *v,
                             const vg_adam_range *range);

#ifdef __cplusplus
}
#endif
#endif
