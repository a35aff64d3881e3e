/* network.h - a network as data: values, parameters, and the list of operations from the images to the logits.
 * Internal.
 *
 * Nodes are in the order in which they run; each writes one value. Value 0 is the image. The last node is the linear
 * layer of all heads: H * C logits per row, class fastest. A network of several trunks is as many networks side by
 * side, each with heads of its own; every one ends with a node that copies its logits into the tensor of all logits.
 * Building a network touches no device. */
#ifndef VG_NETWORK_H
#define VG_NETWORK_H

#include "backend/backend.h"
#include "vargate/nn.h"

enum { VG_NET_NODES = 512, VG_NET_PARAMS = 1024, VG_NET_NORMS = 256, VG_NET_NAME = 48 };

typedef enum vg_node_kind {
    VG_NODE_CONV,
    VG_NODE_POOLING,
    VG_NODE_NORM,
    VG_NODE_AVERAGE,
    VG_NODE_LINEAR,
    VG_NODE_JOIN /* the logits of one trunk into those of all */
} vg_node_kind;

typedef struct vg_node {
    vg_node_kind kind;
    int x, y;       /* values read and written */
    int addend;     /* CONV: value added to the output; -1: none */
    int w, b;       /* parameters: weights and bias, or gamma and beta; -1: none */
    int statistics; /* NORM: which running statistics */
    size_t at;      /* JOIN: the column of the first logit */
    vg_conv conv;
    vg_pooling pooling; /* dropout.p is the rate; the pass decides whether dropout is on */
    vg_norm norm;
} vg_node;

typedef struct vg_value {
    vg_shape shape;
    vg_tensor_kind kind;
    int last_use; /* last node that reads it */
    int uses;
} vg_value;

/* How a parameter is initialised. HEADS and HEADS_BIAS have C rows per head, and each head is drawn from its own
 * stream. */
typedef enum vg_init {
    VG_INIT_WEIGHT,
    VG_INIT_BIAS,
    VG_INIT_HEADS,
    VG_INIT_HEADS_BIAS,
    VG_INIT_ZERO,
    VG_INIT_ONE
} vg_init;

typedef struct vg_net_param {
    char name[VG_NET_NAME]; /* "conv1.weight", "group1.block2.norm1.bias": names in checkpoints */
    vg_param param;
    vg_init init;
    size_t fan_in; /* of the layer it belongs to; a bias has that of its weights */
} vg_net_param;

typedef struct vg_network {
    vg_node nodes[VG_NET_NODES];
    vg_value values[VG_NET_NODES + 1];
    vg_net_param params[VG_NET_PARAMS];
    char norm_names[VG_NET_NORMS][VG_NET_NAME];
    int node_count, value_count, param_count, norm_count;
    int first_dropout;     /* node of the first dropout; node_count if there is none */
    int gate;              /* the parameter of the gated loss, which no node reads: l of every class; -1: none */
    size_t heads, classes; /* heads of all trunks together */
    vg_shape input;
} vg_network;

typedef struct vg_network_spec {
    const char *architecture; /* "cnn", "cnn-WIDTH-HIDDEN", "wrn-DEPTH-WIDTH" */
    vg_shape input;
    size_t heads, classes;
    double dropout;
    size_t trunks; /* networks side by side, which divides heads; 0: 1 */
    bool gated;    /* with the parameter of the gated loss */
} vg_network_spec;

/* The network that a recipe trains on images of this shape. The name is the recipe's. */
vg_network_spec vg_network__spec_of(const vg_recipe *recipe, vg_shape image, size_t classes);

/* Fails with VG_ERR_ARGUMENT where the architecture is unknown or does not fit the image. */
vg_status vg_network__new(vg_network **out, const vg_network_spec *spec);
/* The fixed random network of head_prior for this image size (28x28 or 32x32), to the same number of logits. */
vg_status vg_network__prior(vg_network **out, const vg_network_spec *spec);
void vg_network__free(vg_network *network);
/* Memory that training a recipe on images of this shape takes at least, in bytes: parameters, their gradients and
 * moments, and the values of a batch. 0 when the network cannot be made. */
size_t vg_network__training_memory(const vg_recipe *recipe, vg_shape image, size_t classes);

#endif
