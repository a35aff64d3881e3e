/* backend.h - the table of operations that a device offers to the training engine. Internal.
 *
 * A backend is a struct of functions (vg_backend_ops) and a context. Everything above src/backend/ works through this
 * table and does not know which backend runs. Three ideas keep it open to a CPU library with blocked layouts and to a
 * GPU:
 *
 * - Tensors are handles. Their logical shape is (n, c, h, w); the physical layout and element type of an ACTIVATION are
 *   the backend's own (blocked, channels-last, bfloat16). upload and download take float32 in (n, c, h, w) order. PLAIN
 *   tensors are float32 rows of c*h*w values (logits, statistics); INDEX tensors are int32 rows (labels).
 * - All parameters of a network lie in one flat block of float32, so that the optimiser is one pass; gradients and
 *   moments are blocks of the same size. The backend chooses the size and the physical order of a parameter in the
 *   block (vg_param.offset, .size) before the block is created. Padding inside a parameter is zero and stays zero.
 * - Operations are coarse, so that one kernel can do a whole chain: batch-norm with ReLU and the dropout before it,
 *   bias with ReLU, max-pool and the dropout after it, a convolution with the residual added to it.
 *
 * Dropout masks are never stored: whether an element is kept is a function of (step.seed, stream, step.number, row,
 * position); see counter.h. Values that change from step to step (learning rate, step number, ...) are set by step_set,
 * outside the operations, so that a sequence of them can be recorded once and replayed.
 *
 * Rows: a tensor is created for `capacity` rows; `n` is the number in use, which its owner may set to anything from 1
 * to capacity before an operation. An operation's outputs must have the `n` that its inputs imply.
 *
 * Operations are queued in order. Only download and loss_read wait; sync waits for everything. A backend has one caller
 * at a time. */
#ifndef VG_BACKEND_H
#define VG_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "vargate/types.h"

typedef struct vg_backend vg_backend;

/* Element type of activations and of the operands of products. Sums, statistics, losses and parameters are always
 * float32 or wider. */
typedef enum vg_compute {
    VG_COMPUTE_F32 = 0,
    VG_COMPUTE_BF16 = 1,
    VG_COMPUTE_TF32 = 2 /* float32; operands of products are rounded to 11 bits where that is faster */
} vg_compute;

typedef enum vg_tensor_kind {
    VG_TENSOR_ACTIVATION = 0, /* backend's layout and element type */
    VG_TENSOR_PLAIN = 1,      /* float32, row-major */
    VG_TENSOR_INDEX = 2,      /* int32, row-major */
    VG_TENSOR_CHOICE = 3      /* which element of a pooling window won: one byte each, backend's layout */
} vg_tensor_kind;

typedef struct vg_shape {
    size_t c, h, w;
} vg_shape;

/* The part of a tensor that every backend shares; each embeds it first in its own struct. */
typedef struct vg_tensor {
    size_t n, capacity; /* rows in use, rows there is room for */
    vg_shape shape;     /* of one row */
    vg_tensor_kind kind;
} vg_tensor;

/* A flat block of float32 on the device. */
typedef struct vg_block {
    size_t count;
    uint64_t version; /* increases whenever the contents change; caches of converted weights compare it */
} vg_block;

typedef enum vg_param_kind {
    VG_PARAM_CONV = 0,   /* [o][i][h][w]: filters */
    VG_PARAM_LINEAR = 1, /* [o][i][h][w]: o outputs read from a row of shape (i, h, w) */
    VG_PARAM_VECTOR = 2  /* [o]: biases, batch-norm scales and shifts */
} vg_param_kind;

/* One parameter: its logical shape, and where it lies in the flat blocks. */
typedef struct vg_param {
    vg_param_kind kind;
    size_t o, i, h, w;   /* unused ones are 1 */
    size_t offset, size; /* in floats; size is set by param_plan, offset by the code that lays out the block */
} vg_param;

/* A convolution's geometry; kernel size is the parameter's. */
typedef struct vg_conv {
    size_t stride, pad;
} vg_conv;

/* Dropout: each element zeroed with probability p (rounded to a multiple of 2^-16), the others scaled by 1/(1-p). */
typedef struct vg_dropout {
    float p;         /* 0: none */
    uint32_t stream; /* which dropout of the network: masks of different streams are independent; below 256 */
} vg_dropout;

/* y = dropout(relu(maxpool(x + bias))), pooling windows pool x pool, stride pool; pool = 1: none. */
typedef struct vg_pooling {
    size_t pool;
    bool relu;
    vg_dropout dropout;
} vg_pooling;

/* y = relu(gamma * (d - mean) / sqrt(var + epsilon) + beta), d = dropout(x); mean and variance over rows and positions
 * of d (training) or the running ones. Training moves the running statistics by step.momentum (unbiased variance, as
 * PyTorch). */
typedef struct vg_norm {
    float epsilon;
    bool relu;
    bool training;
    vg_dropout dropout;
} vg_norm;

/* What norm_forward works on. running: PLAIN, 2 rows (mean, variance) of c values. saved: PLAIN, 2 rows (mean, 1/std)
 * of the batch; NULL: no backward will follow. */
typedef struct vg_norm_pass {
    vg_tensor *y;
    const vg_tensor *x;
    const vg_param *gamma, *beta;
    vg_tensor *running, *saved;
} vg_norm_pass;

/* What norm_backward works on: dx = gradient to x (+ addend, if not NULL). dx may be dy or addend. */
typedef struct vg_norm_gradient {
    vg_tensor *dx;
    const vg_tensor *dy, *x, *addend, *saved;
    const vg_param *gamma, *beta;
} vg_norm_gradient;

/* What pooling_backward works on: from dy to dx and the bias's gradient (bias NULL: not wanted). y and choice are what
 * forward gave. dx may be dy when pool is 1. */
typedef struct vg_pooling_gradient {
    vg_tensor *dx;
    const vg_tensor *dy, *y, *choice;
    const vg_param *bias;
} vg_pooling_gradient;

/* A penalty scale |theta - start|^2 on `count` parameters from `offset` on; start holds `count` values. */
typedef struct vg_anchor {
    const vg_block *start;
    size_t offset, count;
    float scale;
} vg_anchor;

/* The parameters of one adam_part: `count` from `first` on, multiples of 16. */
typedef struct vg_adam_range {
    size_t first, count;
    bool beside; /* see adam_part */
} vg_adam_range;

/* A convolution and the batch-norm of its result. */
typedef struct vg_conv_norm {
    vg_conv conv;
    vg_norm norm;                /* not training */
    const vg_tensor *x, *addend; /* addend: may be NULL */
    vg_tensor *y;                /* conv(x) + addend; NULL: not wanted */
    vg_tensor *z;                /* norm(y) */
    const vg_param *w, *gamma, *beta;
    const vg_tensor *running;
} vg_conv_norm;

/* A convolution and the pooling after it. */
typedef struct vg_conv_pooling {
    vg_conv conv;
    vg_pooling pooling;
    const vg_tensor *x;
    vg_tensor *y;             /* pooling(conv(x)) */
    vg_tensor *choice;        /* NULL: no backward will follow */
    const vg_param *w, *bias; /* bias NULL: none */
} vg_conv_pooling;

typedef enum vg_loss_form {
    VG_LOSS_MEAN = 0,    /* mean over heads of each head's cross-entropy */
    VG_LOSS_MIXTURE = 1, /* cross-entropy of the heads' mean probability */
    VG_LOSS_GATED = 2    /* cross-entropy of the mean of the gated heads, with a trained k for every class: gate.h */
} vg_loss_form;

/* With smoothing e or class weights w the target of a row is t(c) = w(c) ((1 - e) [c = y] + e / C) in place of [c = y],
 * a head's cross-entropy is -sum_c t(c) log p(c), and the mean over rows is weighted: the sum over rows divided by the
 * sum of w(y). This is PyTorch's cross_entropy(weight, label_smoothing). For the mean form alone. */
typedef struct vg_head_loss {
    size_t heads, classes;
    vg_loss_form form;
    float smoothing;                /* of labels; 0: none */
    const vg_tensor *class_weights; /* PLAIN, one row of `classes`; NULL: all 1 */
    const vg_param *gate;           /* gated: l, `classes` values in theta; NULL in the other forms */
    const vg_block *theta;
    vg_block *grad; /* gated, with dlogits: the gate's part is overwritten with its gradient */
} vg_head_loss;

/* Totals that loss() accumulates on the device until loss_read returns and clears them. */
typedef struct vg_loss_totals {
    double loss; /* sum over rows of the row's loss; weighted rows so that the mean over a batch is its loss */
    uint64_t rows;
    uint64_t correct; /* rows whose largest mean probability is the label's (ties: lower class) */
    int64_t bad_step; /* step.number at which a row's loss was first not finite; -1: none */
} vg_loss_totals;

/* Resident data: a data set held on the device. A sample is one row of an epoch's plan: which image, and the draws
 * of its augmentation. */
typedef struct vg_store vg_store;
typedef struct vg_store_images {
    const void *pixels; /* n * c * h * w, planar: bytes (b / 255) or floats. Copied */
    const int32_t *labels;
    size_t n, plan_room; /* images; samples a plan may have */
    vg_shape shape;
    bool is_float;
    double mean[16], std[16];
} vg_store_images;

/* The ensemble members that rows of logits belong to: row r is pass (at + r) % passes of image (at + r) / passes.
 * `paired`: pass t is member t, through head t; otherwise pass t gives members t * taken .. t * taken + taken - 1,
 * through the first heads. */
typedef struct vg_member_rows {
    size_t heads, classes; /* of a row */
    size_t passes, taken;
    bool paired;
    uint64_t at;
} vg_member_rows;

/* A sequence of operations recorded once and run again by replay. */
typedef struct vg_recording vg_recording;

/* What changes from step to step. */
typedef struct vg_step {
    uint64_t seed;   /* of dropout masks */
    uint32_t number; /* training step, or a constant in prediction; part of every mask */
    uint64_t row;    /* the row number of a batch's row 0 in masks; row r has row + r */
    uint64_t batch;  /* store_batch: index in the plan of the batch's first sample */
    float momentum;  /* of running statistics */
    /* Adam: m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2, theta -= rate * (m / correction1) / (sqrt(v / correction2) +
     * epsilon), g including decay * theta. correction = 1 - beta^t. decoupled (AdamW): g is without it, and theta is
     * multiplied by 1 - rate * decay first. */
    float rate, beta1, beta2, epsilon, decay, correction1, correction2;
    bool decoupled;
    /* SGD: m = inertia m + g, g including decay * theta; theta -= rate * m, or rate * (g + inertia m) with nesterov. */
    bool nesterov;
    float inertia;
    float average; /* share of the new parameters in block_average */
} vg_step;

typedef struct vg_backend_ops {
    /* --- life. close also leaves. */
    void (*close)(vg_backend *);
    /* What computing changes for the calling thread (threads of its loops and their cores, its current device): `enter`
     * sets it, `leave` restores what the thread had. NULL: nothing changes. See vg_backend__enter. */
    vg_status (*enter)(vg_backend *);
    void (*leave)(vg_backend *);
    vg_status (*sync)(vg_backend *);
    vg_status (*step_set)(vg_backend *, const vg_step *step);

    /* --- tensors. upload and download move the first n rows. */
    vg_status (*tensor_new)(vg_backend *, vg_tensor **out, vg_tensor_kind kind, size_t capacity, vg_shape shape);
    void (*tensor_free)(vg_backend *, vg_tensor *);
    vg_status (*tensor_upload)(vg_backend *, vg_tensor *, const float *values);
    vg_status (*tensor_download)(vg_backend *, float *values, const vg_tensor *);
    vg_status (*index_upload)(vg_backend *, vg_tensor *, const int32_t *values);

    /* --- parameters */
    /* Sets param->size, the floats it takes in a block. */
    vg_status (*param_plan)(vg_backend *, vg_param *param);
    vg_status (*block_new)(vg_backend *, vg_block **out, size_t count); /* zeroed */
    void (*block_free)(vg_backend *, vg_block *);
    vg_status (*block_clear)(vg_backend *, vg_block *);
    /* One parameter to and from logical order ([o][i][h][w]). */
    vg_status (*param_upload)(vg_backend *, vg_block *, const vg_param *, const float *values);
    vg_status (*param_download)(vg_backend *, float *values, const vg_block *, const vg_param *);

    /* --- convolution: x (n, i, H, W), y (n, o, H', W'). addend, if not NULL, has the output's shape and is added to
     * it; it may be the output itself. */
    vg_status (*conv_forward)(vg_backend *, const vg_conv *, vg_tensor *y, const vg_tensor *x, const vg_block *theta,
                              const vg_param *w, const vg_tensor *addend);
    vg_status (*conv_backward_data)(vg_backend *, const vg_conv *, vg_tensor *dx, const vg_tensor *dy,
                                    const vg_block *theta, const vg_param *w, const vg_tensor *addend);
    /* Overwrites w's part of grad. */
    vg_status (*conv_backward_weights)(vg_backend *, const vg_conv *, vg_block *grad, const vg_param *w,
                                       const vg_tensor *x, const vg_tensor *dy);

    /* --- bias, pooling, ReLU, dropout */
    /* bias NULL: none. `choice` stores which element of each window was largest (kind CHOICE, shape of y); NULL when
     * pool is 1 or no backward will follow. */
    vg_status (*pooling_forward)(vg_backend *, const vg_pooling *, vg_tensor *y, vg_tensor *choice, const vg_tensor *x,
                                 const vg_block *theta, const vg_param *bias);
    vg_status (*pooling_backward)(vg_backend *, const vg_pooling *, const vg_pooling_gradient *, vg_block *grad);

    /* --- batch-norm */
    vg_status (*norm_forward)(vg_backend *, const vg_norm *, const vg_norm_pass *, const vg_block *theta);
    /* Overwrites the gradients of gamma and beta. */
    vg_status (*norm_backward)(vg_backend *, const vg_norm *, const vg_norm_gradient *, const vg_block *theta,
                               vg_block *grad);

    /* --- global average pool: x (n, c, h, w) -> y (n, c, 1, 1) */
    vg_status (*average_forward)(vg_backend *, vg_tensor *y, const vg_tensor *x);
    vg_status (*average_backward)(vg_backend *, vg_tensor *dx, const vg_tensor *dy);

    /* --- linear: y (n, o) = x (n, i*h*w) w^T + bias. y and dy: ACTIVATION or PLAIN. */
    vg_status (*linear_forward)(vg_backend *, vg_tensor *y, const vg_tensor *x, const vg_block *theta,
                                const vg_param *w, const vg_param *bias);
    vg_status (*linear_backward_data)(vg_backend *, vg_tensor *dx, const vg_tensor *dy, const vg_block *theta,
                                      const vg_param *w);
    vg_status (*linear_backward_weights)(vg_backend *, vg_block *grad, const vg_param *w, const vg_param *bias,
                                         const vg_tensor *x, const vg_tensor *dy);

    /* --- columns: y[r][y_at ..] = x[r][x_at ..], `count` values of every row of two PLAIN tensors with the same n */
    vg_status (*copy_columns)(vg_backend *, vg_tensor *y, size_t y_at, const vg_tensor *x, size_t x_at, size_t count);

    /* --- loss: logits PLAIN (n, heads * classes), class fastest. addend (may be NULL): added to the logits. weights
     * (may be NULL): PLAIN (n, heads), factors of each (row, head)'s cross-entropy. dlogits (may be NULL) = gradient of
     * the mean over rows. A row's loss is added to the totals. Weights are for the mean form alone. */
    vg_status (*loss)(vg_backend *, const vg_head_loss *, vg_tensor *dlogits, const vg_tensor *logits,
                      const vg_tensor *addend, const vg_tensor *labels, const vg_tensor *weights);
    vg_status (*loss_read)(vg_backend *, vg_loss_totals *totals);

    /* --- flat blocks */
    /* a[offset ..] *= b[0 ..], count values: masks on gradients. */
    vg_status (*block_multiply)(vg_backend *, vg_block *a, size_t offset, const vg_block *b, size_t count);
    /* grad[offset ..] += 2 scale (theta[offset ..] - start[0 ..]), count values; adds scale |theta - start|^2 to
     * *penalty on the host when penalty is not NULL (that waits). */
    vg_status (*block_anchor)(vg_backend *, vg_block *grad, const vg_block *theta, const vg_anchor *, double *penalty);
    /* One Adam step over whole blocks, by step_set's figures. */
    vg_status (*adam)(vg_backend *, vg_block *theta, const vg_block *grad, vg_block *m, vg_block *v);
    /* One step of stochastic gradient descent over whole blocks, likewise. */
    vg_status (*sgd)(vg_backend *, vg_block *theta, const vg_block *grad, vg_block *m);
    /* The next adam or sgd takes grad times min(1, most / (|grad| + 1e-6)), |grad| over the whole block: PyTorch's
     * clip_grad_norm_. Whether grad itself is changed is the backend's choice. */
    vg_status (*clip)(vg_backend *, vg_block *grad, float most);
    /* mean += step.average (theta - mean). */
    vg_status (*block_average)(vg_backend *, vg_block *mean, const vg_block *theta);

    /* --- folding passes: y row r = dropout(x row (first + r) / repeat); masks as anywhere (row number step.row + r) */
    vg_status (*repeat_rows)(vg_backend *, vg_tensor *y, const vg_tensor *x, uint64_t first, uint64_t repeat,
                             vg_dropout dropout);

    /* --- the rest may be NULL in a backend that gains nothing by it. conv_forward and norm_forward in one
     * operation, to the same bits; *done is false, and nothing was done, where this backend has no fused kernel for
     * these shapes. */
    vg_status (*conv_norm_forward)(vg_backend *, const vg_conv_norm *op, const vg_block *theta, bool *done);
    /* conv_forward and pooling_forward in one operation, without rounding the convolution's result between them; *done
     * as above. The gradients come from pooling_backward and the convolution's operations as usual or, where x is an
     * image of one channel and its gradient is not needed, from conv_pooling_backward: the same op, from dy to the
     * gradients of w and bias. A backend has both functions or neither. */
    vg_status (*conv_pooling_forward)(vg_backend *, const vg_conv_pooling *op, const vg_block *theta, bool *done);
    vg_status (*conv_pooling_backward)(vg_backend *, const vg_conv_pooling *op, vg_block *grad, const vg_tensor *dy);
    /* adam over some parameters. `beside`: it may run at the same time as what is queued after it, which neither reads
     * these parameters nor writes their gradients, until an adam_part that is not beside, or until adam. */
    vg_status (*adam_part)(vg_backend *, vg_block *theta, const vg_block *grad, vg_block *m, vg_block *v,
                           const vg_adam_range *range);
    /* Writes to out (PLAIN, one row per image, members x classes) the members of z's rows, plus prior's logits
     * (PLAIN, one row per image, heads x classes; NULL: none). */
    vg_status (*members)(vg_backend *, vg_tensor *out, const vg_tensor *z, const vg_tensor *prior,
                         const vg_member_rows *rows);
    /* Resident data: store_plan sets an epoch's order, store_batch prepares the images and labels of images->n samples
     * from index step.batch of the plan on: cropped, flipped, jittered, normalised, erased as drawn. */
    vg_status (*store_new)(vg_backend *, vg_store **out, const vg_store_images *images);
    void (*store_free)(vg_backend *, vg_store *store);
    vg_status (*store_plan)(vg_backend *, vg_store *store, const vg_sample_draw *samples, size_t count);
    vg_status (*store_batch)(vg_backend *, const vg_store *store, vg_tensor *images, vg_tensor *labels);
    /* Operations between record_begin and record_end are recorded and not run; replay runs them with the current values
     * of step_set. The same sequence must have run once before (sizes are then known); tensors and blocks must live as
     * long as the recording. record_end with out NULL discards the recording. */
    vg_status (*record_begin)(vg_backend *);
    vg_status (*record_end)(vg_backend *, vg_recording **out);
    vg_status (*replay)(vg_backend *, const vg_recording *recording);
    void (*recording_free)(vg_backend *, vg_recording *recording);
    /* The device address of a PLAIN tensor's values, and the stream (cudaStream_t) on which they are valid, for code
     * that reads them there. */
    vg_status (*tensor_address)(vg_backend *, const vg_tensor *, const float **values, void **stream);
    size_t (*memory_used)(vg_backend *); /* bytes on the device */
} vg_backend_ops;

/* The entries of the table whose functions every backend keeps in its main file under the names of the entries. */
#define VG_BACKEND_OWN_STORAGE                                                                                         \
    .tensor_new = tensor_new, .tensor_free = tensor_free, .tensor_upload = tensor_upload,                              \
    .tensor_download = tensor_download, .index_upload = index_upload, .block_new = block_new

/* The same of the backends on the host: the steps of the optimisers. */
#define VG_BACKEND_OWN_UPDATES                                                                                         \
    .block_multiply = block_multiply, .block_anchor = block_anchor, .adam = adam, .sgd = sgd, .clip = clip,            \
    .block_average = block_average

struct vg_backend {
    const char *name; /* "ref", "cpu", "cuda" */
    char device[128]; /* in words, for logs */
    const vg_backend_ops *ops;
    vg_compute compute;
    unsigned threads;
    unsigned read_every; /* number of steps between two loss_read calls that does not slow the device down */
    unsigned rows;       /* batch size in prediction that keeps the device busy; 0: no preference */
    vg_step step;
    bool entered; /* by the thread that computes with it now */
    void *context;
};

/* Whether optional kernels of a backend (its accelerators) replace the general ones. */
typedef enum vg_acceleration {
    VG_ACCELERATE_TIMED = 0,  /* where they are faster: they are timed against the general ones once per shape */
    VG_ACCELERATE_ALWAYS = 1, /* wherever they serve the shapes, untimed: a test that wants known kernels */
    VG_ACCELERATE_NEVER = 2   /* general kernels only: a test or a benchmark that compares */
} vg_acceleration;

typedef struct vg_backend_options {
    unsigned threads; /* 0: one per core */
    vg_compute compute;
    bool unbound; /* CPU: threads are not bound to cores, because other backends compute at the same time */
    bool brief;   /* of several reasons why it cannot be opened the first is enough: another backend is tried then */
    /* For tests and benchmarks of the CUDA backend; 0 for every other caller. */
    unsigned streams; /* CUDA streams of a training step, 1 to 3; 0: 3 */
    vg_acceleration acceleration;
} vg_backend_options;

/* Opens by name; "auto": the first that works of cuda, cpu, ref. An unknown or unavailable name fails with
 * VG_ERR_UNSUPPORTED, saying which there are. */
vg_status vg_backend__open(vg_backend **out, const char *name, const vg_backend_options *options);
void vg_backend__close(vg_backend *backend); /* NULL is accepted */
/* Opening enters and closing leaves. Whoever keeps a backend open from one public call to the next leaves it at the end
 * of each and enters it at the start, so that the caller's own loops and kernels run as it set them. Operations are
 * called between the two, by the thread that entered. Entering twice is entering once, and so is leaving. */
vg_status vg_backend__enter(vg_backend *backend);
void vg_backend__leave(vg_backend *backend);

/* Functions that open a backend, one per backend folder. */
vg_status vg_backend__open_ref(vg_backend **out, const vg_backend_options *options);
vg_status vg_backend__open_cpu(vg_backend **out, const vg_backend_options *options);
vg_status vg_backend__open_cuda(vg_backend **out, const vg_backend_options *options);

/* Rows of a tensor, set for the next operations. */
static inline vg_tensor *vg_tensor__rows(vg_tensor *tensor, size_t n) {
    tensor->n = n;
    return tensor;
}
static inline size_t vg_shape__size(vg_shape s) { return s.c * s.h * s.w; }
static inline size_t vg_param__count(const vg_param *p) { return p->o * p->i * p->h * p->w; }

#endif
