/* ref_backend.h - the plain C backend: every operation follows its formula, with sums in double. The other backends are
 * tested against it. */
#ifndef VG_REF_BACKEND_H
#define VG_REF_BACKEND_H

#include "backend/host_memory.h"

typedef struct ref_tensor {
    vg_tensor base;
    float *data;     /* ACTIVATION, PLAIN: [n][c][h][w] */
    int32_t *index;  /* INDEX */
    uint8_t *choice; /* CHOICE */
} ref_tensor;

typedef vg_host_block ref_block;

typedef struct ref_context {
    vg_loss_totals totals;
} ref_context;

static inline float *ref_data(const vg_tensor *t) { return ((const ref_tensor *)t)->data; }
static inline float *ref_param(const vg_block *b, const vg_param *p) {
    return ((const ref_block *)b)->data + p->offset;
}

/* The factor of one element under dropout: 0 or 1/(1-p); 1 when p is 0. */
float vg_backend__ref_keep(const vg_step *step, vg_dropout dropout, size_t row, vg_shape shape, size_t c, size_t y,
                           size_t x);

vg_status vg_ref__conv_forward(vg_backend *, const vg_conv *, vg_tensor *y, const vg_tensor *x, const vg_block *theta,
                               const vg_param *w, const vg_tensor *addend);
vg_status vg_ref__conv_backward_data(vg_backend *, const vg_conv *, vg_tensor *dx, const vg_tensor *dy,
                                     const vg_block *theta, const vg_param *w, const vg_tensor *addend);
vg_status vg_ref__conv_backward_weights(vg_backend *, const vg_conv *, vg_block *grad, const vg_param *w,
                                        const vg_tensor *x, const vg_tensor *dy);
vg_status vg_ref__pooling_forward(vg_backend *, const vg_pooling *, vg_tensor *y, vg_tensor *choice, const vg_tensor *x,
                                  const vg_block *theta, const vg_param *bias);
vg_status vg_ref__pooling_backward(vg_backend *, const vg_pooling *, const vg_pooling_gradient *, vg_block *grad);
vg_status vg_ref__norm_forward(vg_backend *, const vg_norm *, const vg_norm_pass *, const vg_block *theta);
vg_status vg_ref__norm_backward(vg_backend *, const vg_norm *, const vg_norm_gradient *, const vg_block *theta,
                                vg_block *grad);
vg_status vg_ref__average_forward(vg_backend *, vg_tensor *y, const vg_tensor *x);
vg_status vg_ref__average_backward(vg_backend *, vg_tensor *dx, const vg_tensor *dy);
vg_status vg_ref__linear_forward(vg_backend *, vg_tensor *y, const vg_tensor *x, const vg_block *theta,
                                 const vg_param *w, const vg_param *bias);
vg_status vg_ref__linear_backward_data(vg_backend *, vg_tensor *dx, const vg_tensor *dy, const vg_block *theta,
                                       const vg_param *w);
vg_status vg_ref__linear_backward_weights(vg_backend *, vg_block *grad, const vg_param *w, const vg_param *bias,
                                          const vg_tensor *x, const vg_tensor *dy);
vg_status vg_ref__copy_columns(vg_backend *, vg_tensor *y, size_t y_at, const vg_tensor *x, size_t x_at, size_t count);
vg_status vg_ref__loss(vg_backend *, const vg_head_loss *, vg_tensor *dlogits, const vg_tensor *logits,
                       const vg_tensor *addend, const vg_tensor *labels, const vg_tensor *weights);
vg_status vg_ref__gated_loss(vg_backend *, const vg_head_loss *, vg_tensor *dlogits, const vg_tensor *logits,
                             const vg_tensor *addend, const vg_tensor *labels);
vg_status vg_ref__loss_read(vg_backend *, vg_loss_totals *totals);
vg_status vg_ref__members(vg_backend *, vg_tensor *out, const vg_tensor *z, const vg_tensor *prior,
                          const vg_member_rows *rows);
vg_status vg_ref__repeat_rows(vg_backend *, vg_tensor *y, const vg_tensor *x, uint64_t first, uint64_t repeat,
                              vg_dropout dropout);

#endif
