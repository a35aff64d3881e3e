/* model.h - a network on a backend: its parameters, statistics and working tensors; forward, backward. Internal.
 *
 * Working tensors come from an arena that hands out and takes back tensors by shape, so that after the first pass
 * nothing is allocated and memory is that of the tensors in use at once. */
#ifndef VG_MODEL_H
#define VG_MODEL_H

#include "nn/network.h"

enum { VG_NET_VALUES = VG_NET_NODES + 1 };

typedef struct vg_arena_entry {
    vg_tensor *tensor;
    bool taken;
} vg_arena_entry;

typedef struct vg_model {
    vg_network *net;                /* owned */
    vg_backend *backend;            /* borrowed */
    vg_param params[VG_NET_PARAMS]; /* laid out in the blocks */
    vg_block *theta, *grad, *m, *v; /* grad, m, v only for training */
    vg_tensor *running[VG_NET_NORMS], *refreshed[VG_NET_NORMS];
    bool has_refreshed;
    vg_arena_entry *arena;
    size_t arena_count, arena_room;
    /* of the current pass */
    vg_tensor *values[VG_NET_VALUES], *gradients[VG_NET_VALUES];
    vg_tensor *choices[VG_NET_NODES], *saved[VG_NET_NODES];
} vg_model;

typedef enum vg_statistics_use {
    VG_USE_BATCH = 0, /* batch-norm by the batch's statistics, updating the running ones */
    VG_USE_RUNNING = 1,
    VG_USE_REFRESHED = 2, /* the second set, taken without dropout */
    VG_REFRESH = 3        /* by the batch's, updating the second set */
} vg_statistics_use;

typedef struct vg_pass {
    vg_statistics_use statistics;
    bool dropout;    /* on */
    bool keep;       /* keep what backward needs */
    int first, last; /* nodes first .. last - 1 */
} vg_pass;

/* Takes ownership of the network, also on failure. training: with gradients and moments. */
vg_status vg_model__new(vg_model **out, vg_network *net, vg_backend *backend, bool training);
void vg_model__free(vg_model *model);

/* Takes a tensor of at least `rows` rows from the arena, with n = rows; return it with vg_model__give. */
vg_status vg_model__take(vg_model *model, vg_tensor **out, vg_tensor_kind kind, size_t rows, vg_shape shape);
void vg_model__give(vg_model *model, vg_tensor *tensor);
/* Returns everything that a pass has taken to the arena. */
void vg_model__clear(vg_model *model);

/* Begins a pass with a tensor for n images, which the caller fills. */
vg_status vg_model__begin(vg_model *model, size_t n);
/* Begins a pass with images in a tensor of another model. */
void vg_model__borrow(vg_model *model, vg_tensor *images);
/* Begins a pass with n images (n, c, h, w) uploaded to value 0. */
vg_status vg_model__input(vg_model *model, const float *images, size_t n);
/* Runs the nodes of a pass on the values that are there. The logits are the last node's value. */
vg_status vg_model__forward(vg_model *model, const vg_pass *pass);
/* Computes the gradients of every parameter from dlogits, which the model then owns. Where settled is not NULL, Adam
 * may start on the parameters of large layers before the end: it has been queued for the block's values from
 * *settled on, and the caller runs adam_part on the rest. Parameters lie in the order of the nodes that use them. */
vg_status vg_model__backward(vg_model *model, vg_tensor *dlogits, size_t *settled);
static inline vg_tensor *vg_model__logits(vg_model *model) {
    return model->values[model->net->nodes[model->net->node_count - 1].y];
}

/* Parameters by number, in logical order. `block` is theta, grad, m or v of the model. */
vg_status vg_model__get(vg_model *model, float *values, const vg_block *block, int param);
vg_status vg_model__set(vg_model *model, vg_block *block, int param, const float *values);

/* How the parameters of a model are drawn. */
typedef struct vg_initialisation {
    uint64_t seed, salt; /* salt: distinguishes the networks of one run */
    bool uniform; /* weights and biases uniform in +-1/sqrt(fan in) (PyTorch's default); else He: weights normal with
                            variance 2 / fan in, biases 0 */
    double head_scale; /* standard deviation of head weights times sqrt(fan in); 0: as the other weights */
} vg_initialisation;

/* Draws every parameter. Heads are independent of each other and of their number: head h draws from its own stream.
 * Batch-norm starts as the identity in both forms. */
vg_status vg_model__initialise(vg_model *model, const vg_initialisation *how);

#endif
