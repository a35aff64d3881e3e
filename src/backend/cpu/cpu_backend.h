/* cpu_backend.h - the CPU backend: an engine for the products (oneDNN, or our own), own vector loops for the rest,
 * OpenMP threads for both. Internal.
 *
 * Activations lie as [n][C/b][H*W][b] in float32 or bfloat16. b is 16 (or 8) where oneDNN prefers blocked layouts and b
 * divides C; C itself where it prefers channels-last; else 1. Filters lie as oneDNN's forward convolution reads them
 * (o/b i/b h w bi bo), so that most of them are never reordered; linear weights as [o][position of the input row in
 * memory]. */
#ifndef VG_CPU_BACKEND_H
#define VG_CPU_BACKEND_H

#include "backend/cpu/cpu_accelerators.h"
#include "backend/cpu/cpu_engine.h"
#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/cpu_threads.h"
#include "backend/host_memory.h"

typedef struct cpu_tensor {
    vg_tensor base;
    size_t b;   /* channel block; see above */
    bool bf16;  /* elements are bfloat16 */
    void *data; /* floats, bfloat16s, int32s or bytes by kind */
} cpu_tensor;

typedef struct cpu_block {
    vg_block base; /* with data as in vg_host_block */
    float *data;
    uint16_t *shadow; /* the same in bfloat16, for linear layers; created on first use, then updated by the optimiser */
    uint64_t shadow_version;
} cpu_block;

typedef struct cpu_context {
    vg_engine *engine;
    const cpu_conv_accelerator *accelerator; /* of convolutions; NULL: none in this build */
    void *accelerator_state;
    const vg_cpu_kernels *kernels;
    vg_engine_layout layout; /* layout of activations whose channel count is a multiple of the block */
    size_t block;            /* 16, 8, 0 (channels-last) or 1 */
    vg_loss_totals totals;
    float *work; /* partial sums */
    size_t work_count;
    void *spare; /* a buffer for one activation, for sums that the library cannot compute in place */
    size_t spare_size;
    /* number of blocks created: their versions start at different values, so that no cache mistakes one block for
     * another */
    uint64_t blocks;
    bool unbound;       /* vg_backend_options */
    bool bound;         /* the threads are bound to cores until the backend is left */
    int caller_threads; /* of the loops of the thread that entered, before it did */
} cpu_context;

static inline cpu_context *cpu_of(const vg_backend *backend) { return backend->context; }
static inline const cpu_tensor *cpu_tensor_of(const vg_tensor *t) { return (const cpu_tensor *)t; }
static inline float *cpu_param(const vg_block *block, const vg_param *p) {
    return ((const cpu_block *)block)->data + p->offset;
}
static inline size_t cpu_element(const cpu_tensor *t) { return t->bf16 ? 2 : 4; }
/* Where run (row n, channel block cb) starts. */
static inline void *cpu_run(const vg_tensor *tensor, size_t n, size_t cb) {
    const cpu_tensor *t = cpu_tensor_of(tensor);
    vg_shape s = t->base.shape;
    return (char *)t->data + (n * s.c + cb * t->b) * s.h * s.w * cpu_element(t);
}

/* A buffer of at least `count` floats, kept as long as the backend is open. */
vg_status vg_cpu__work(vg_backend *backend, size_t count, float **out);
vg_status vg_cpu__spare(vg_backend *backend, size_t bytes, void **out);

/* Masks of `count` positions from `first` on of one run of a tensor, seen with channel block b (its own, or all
 * channels where rows have one position). The caller's buffer holds VG_CPU_LANES lanes, and count * b must not exceed
 * that. */
enum { VG_CPU_LANES = 8192 };
typedef struct cpu_span {
    const vg_tensor *t;
    size_t b, n, cb;     /* channel block size, row, channel block */
    size_t first, count; /* positions */
} cpu_span;
vg_cpu_mask vg_cpu__mask(const vg_backend *backend, vg_dropout dropout, uint16_t lanes[VG_CPU_LANES],
                         const cpu_span *at);

vg_status vg_cpu__conv_forward(vg_backend *, const vg_conv *, vg_tensor *y, const vg_tensor *x, const vg_block *theta,
                               const vg_param *w, const vg_tensor *addend);
vg_status vg_cpu__conv_backward_data(vg_backend *, const vg_conv *, vg_tensor *dx, const vg_tensor *dy,
                                     const vg_block *theta, const vg_param *w, const vg_tensor *addend);
vg_status vg_cpu__conv_backward_weights(vg_backend *, const vg_conv *, vg_block *grad, const vg_param *w,
                                        const vg_tensor *x, const vg_tensor *dy);
vg_status vg_cpu__pooling_forward(vg_backend *, const vg_pooling *, vg_tensor *y, vg_tensor *choice, const vg_tensor *x,
                                  const vg_block *theta, const vg_param *bias);
vg_status vg_cpu__pooling_backward(vg_backend *, const vg_pooling *, const vg_pooling_gradient *, vg_block *grad);
vg_status vg_cpu__norm_forward(vg_backend *, const vg_norm *, const vg_norm_pass *, const vg_block *theta);
vg_status vg_cpu__norm_backward(vg_backend *, const vg_norm *, const vg_norm_gradient *, const vg_block *theta,
                                vg_block *grad);
vg_status vg_cpu__average_forward(vg_backend *, vg_tensor *y, const vg_tensor *x);
vg_status vg_cpu__average_backward(vg_backend *, vg_tensor *dx, const vg_tensor *dy);
vg_status vg_cpu__linear_forward(vg_backend *, vg_tensor *y, const vg_tensor *x, const vg_block *theta,
                                 const vg_param *w, const vg_param *bias);
vg_status vg_cpu__linear_backward_data(vg_backend *, vg_tensor *dx, const vg_tensor *dy, const vg_block *theta,
                                       const vg_param *w);
vg_status vg_cpu__linear_backward_weights(vg_backend *, vg_block *grad, const vg_param *w, const vg_param *bias,
                                          const vg_tensor *x, const vg_tensor *dy);
vg_status vg_cpu__copy_columns(vg_backend *, vg_tensor *y, size_t y_at, const vg_tensor *x, size_t x_at, size_t count);
vg_status vg_cpu__loss(vg_backend *, const vg_head_loss *, vg_tensor *dlogits, const vg_tensor *logits,
                       const vg_tensor *addend, const vg_tensor *labels, const vg_tensor *weights);
vg_status vg_cpu__gated_loss(vg_backend *, const vg_head_loss *, vg_tensor *dlogits, const vg_tensor *logits,
                             const vg_tensor *addend, const vg_tensor *labels);
/* Probabilities of one head into p, from its logits and what is added to them (or NULL); returns log of the label's. */
double vg_cpu__softmax(float *p, const float *z, const float *add, size_t classes, size_t label);
/* Adds the losses of rows to the totals, in order; right: 1 where the prediction is the label. */
void vg_cpu__add_losses(vg_backend *, const double *losses, const double *right, size_t rows);
vg_status vg_cpu__loss_read(vg_backend *, vg_loss_totals *totals);
vg_status vg_cpu__repeat_rows(vg_backend *, vg_tensor *y, const vg_tensor *x, uint64_t first, uint64_t repeat,
                              vg_dropout dropout);
vg_status vg_cpu__param_upload(vg_backend *, vg_block *, const vg_param *, const float *values);
vg_status vg_cpu__param_download(vg_backend *, float *values, const vg_block *, const vg_param *);
/* A parameter in bfloat16. */
vg_status vg_cpu__shadow(vg_backend *backend, const vg_block *block, const vg_param *p, uint16_t **out);
/* Layout of a filter in the blocks. */
vg_engine_layout vg_cpu__filter_layout(const vg_backend *backend, const vg_param *w);

#endif
