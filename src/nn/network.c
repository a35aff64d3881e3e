/* network.c - the networks of the paper, as lists of operations.
 *
 * cnn-W-F:  twice (conv 5x5 to W without padding, ReLU, max-pool 2, dropout); flatten; linear to F, ReLU, dropout;
 *           linear to H heads. "cnn" is cnn-128-2048. A last row or column that fills no window of a max-pool is left
 *           out, as in PyTorch.
 * wrn-D-K:  conv 3x3 to 16; three groups of (D - 4) / 6 blocks, widths 16 K, 32 K, 64 K, strides 1, 2, 2;
 *           then BN, ReLU, average pool, linear to H heads.
 *    block: BN, ReLU, conv 3x3 (stride), dropout, BN, ReLU, conv 3x3, plus the shortcut: the block's input, or where
 *           the shape changes a 1x1 convolution (stride) of the first ReLU's output. */
#include "nn/network.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/recipe.h"

typedef struct builder {
    vg_network *net;
    bool full;            /* ran out of room */
    char prefix[16];      /* of the names of the trunk that is being built; "": the only one */
    uint32_t streams;     /* dropout streams of the trunks before it */
    uint32_t next_stream; /* the first that it has not taken */
} builder;

enum { DROPOUT_STREAMS = 256 }; /* vg_dropout.stream */

/* The dropout of a layer of this trunk. */
static vg_dropout dropout_of(builder *b, double p, uint32_t stream) {
    stream += b->streams;
    if (p > 0 && stream >= DROPOUT_STREAMS)
        b->full = true;
    b->next_stream = stream >= b->next_stream ? stream + 1 : b->next_stream;
    return (vg_dropout){(float)p, stream};
}

static int add_value(builder *b, vg_shape shape, vg_tensor_kind kind) {
    vg_network *net = b->net;
    if (net->value_count > VG_NET_NODES) {
        b->full = true;
        return 0;
    }
    net->values[net->value_count] = (vg_value){shape, kind, -1, 0};
    return net->value_count++;
}

static vg_node *add_node(builder *b, vg_node_kind kind, int x, vg_shape out, vg_tensor_kind out_kind) {
    static vg_node spill;
    vg_network *net = b->net;
    if (net->node_count >= VG_NET_NODES) {
        b->full = true;
        return &spill;
    }
    vg_node *node = &net->nodes[net->node_count];
    *node = (vg_node){.kind = kind, .x = x, .addend = -1, .w = -1, .b = -1, .statistics = -1};
    net->values[x].last_use = net->node_count;
    net->values[x].uses++;
    net->node_count++;
    node->y = add_value(b, out, out_kind);
    return node;
}

VG_PRINTF(4, 5) static int add_param(builder *b, vg_param param, vg_init init, const char *format, ...) {
    vg_network *net = b->net;
    if (net->param_count >= VG_NET_PARAMS) {
        b->full = true;
        return 0;
    }
    vg_net_param *p = &net->params[net->param_count];
    va_list arguments;
    size_t used = (size_t)snprintf(p->name, sizeof p->name, "%s", b->prefix);
    va_start(arguments, format);
    vsnprintf(p->name + used, sizeof p->name - used, format, arguments);
    va_end(arguments);
    p->param = param;
    p->init = init;
    p->fan_in = param.i * param.h * param.w;
    if (param.kind == VG_PARAM_VECTOR && net->param_count > 0) /* a bias follows its weights */
        p->fan_in = p[-1].fan_in;
    return net->param_count++;
}

typedef struct conv_shape {
    size_t out, kernel, stride, pad;
} conv_shape;

/* addend: the value that is added to the result; -1: none. */
static int conv(builder *b, int x, conv_shape s, int addend, const char *name) {
    vg_shape in = b->net->values[x].shape;
    vg_shape shape = {s.out, (in.h + 2 * s.pad - s.kernel) / s.stride + 1,
                      (in.w + 2 * s.pad - s.kernel) / s.stride + 1};
    vg_node *node = add_node(b, VG_NODE_CONV, x, shape, VG_TENSOR_ACTIVATION);
    node->conv = (vg_conv){s.stride, s.pad};
    node->w = add_param(b, (vg_param){VG_PARAM_CONV, s.out, in.c, s.kernel, s.kernel, 0, 0}, VG_INIT_WEIGHT,
                        "%s.weight", name);
    node->addend = addend;
    if (addend >= 0) {
        b->net->values[addend].last_use = b->net->node_count - 1;
        b->net->values[addend].uses++;
    }
    return node->y;
}

/* bias_name NULL: no bias. */
static int pooling(builder *b, int x, size_t pool, double dropout, uint32_t stream, const char *bias_name) {
    vg_shape in = b->net->values[x].shape, shape = {in.c, in.h / pool, in.w / pool};
    vg_node *node = add_node(b, VG_NODE_POOLING, x, shape, VG_TENSOR_ACTIVATION);
    node->pooling = (vg_pooling){pool, true, dropout_of(b, dropout, stream)};
    if (bias_name)
        node->b = add_param(b, (vg_param){VG_PARAM_VECTOR, in.c, 1, 1, 1, 0, 0}, VG_INIT_BIAS, "%s.bias", bias_name);
    return node->y;
}

static int norm(builder *b, int x, double dropout, uint32_t stream, const char *name) {
    vg_shape in = b->net->values[x].shape;
    vg_node *node = add_node(b, VG_NODE_NORM, x, in, VG_TENSOR_ACTIVATION);
    node->norm = (vg_norm){1e-5f, true, true, dropout_of(b, dropout, stream)};
    vg_param vector = {VG_PARAM_VECTOR, in.c, 1, 1, 1, 0, 0};
    node->w = add_param(b, vector, VG_INIT_ONE, "%s.weight", name);
    node->b = add_param(b, vector, VG_INIT_ZERO, "%s.bias", name);
    if (b->net->norm_count >= VG_NET_NORMS) {
        b->full = true;
        return node->y;
    }
    snprintf(b->net->norm_names[b->net->norm_count], VG_NET_NAME, "%s%s", b->prefix, name);
    node->statistics = b->net->norm_count++;
    return node->y;
}

static int linear(builder *b, int x, size_t out, bool heads, bool bias, const char *name) {
    vg_shape in = b->net->values[x].shape, shape = {out, 1, 1};
    vg_node *node = add_node(b, VG_NODE_LINEAR, x, shape, heads ? VG_TENSOR_PLAIN : VG_TENSOR_ACTIVATION);
    node->w = add_param(b, (vg_param){VG_PARAM_LINEAR, out, in.c, in.h, in.w, 0, 0},
                        heads ? VG_INIT_HEADS : VG_INIT_WEIGHT, "%s.weight", name);
    if (bias)
        node->b = add_param(b, (vg_param){VG_PARAM_VECTOR, out, 1, 1, 1, 0, 0},
                            heads ? VG_INIT_HEADS_BIAS : VG_INIT_BIAS, "%s.bias", name);
    return node->y;
}

/* --- the paper's CNN */

static vg_status build_cnn(builder *b, const vg_network_spec *spec, size_t width, size_t hidden) {
    size_t h = spec->input.h, w = spec->input.w;
    if (h < 16 || w < 16)
        return vg_base__fail(
            VG_ERR_ARGUMENT,
            "the CNN needs images whose sides are 16 or more, found %zu x %zu; resize makes them larger", h, w);
    int x = conv(b, 0, (conv_shape){width, 5, 1, 0}, -1, "conv1");
    x = pooling(b, x, 2, spec->dropout, 0, "conv1");
    x = conv(b, x, (conv_shape){width, 5, 1, 0}, -1, "conv2");
    x = pooling(b, x, 2, spec->dropout, 1, "conv2");
    x = linear(b, x, hidden, false, false, "hidden");
    x = pooling(b, x, 1, spec->dropout, 2, "hidden");
    linear(b, x, spec->heads * spec->classes, true, true, "heads");
    return VG_OK;
}

/* --- wide residual networks */

static int block(builder *b, int x, size_t out, size_t stride, double dropout, uint32_t stream, const char *name) {
    char part[VG_NET_NAME];
    size_t in = b->net->values[x].shape.c;
    bool same = in == out && stride == 1;
    snprintf(part, sizeof part, "%s.norm1", name);
    int first = norm(b, x, 0, 0, part), shortcut = x;
    if (!same) {
        snprintf(part, sizeof part, "%s.shortcut", name);
        shortcut = conv(b, first, (conv_shape){out, 1, stride, 0}, -1, part);
    }
    snprintf(part, sizeof part, "%s.conv1", name);
    int y = conv(b, first, (conv_shape){out, 3, stride, 1}, -1, part);
    snprintf(part, sizeof part, "%s.norm2", name);
    y = norm(b, y, dropout, stream, part);
    snprintf(part, sizeof part, "%s.conv2", name);
    return conv(b, y, (conv_shape){out, 3, 1, 1}, shortcut, part);
}

static vg_status build_wrn(builder *b, const vg_network_spec *spec, size_t depth, size_t width) {
    if (depth < 10 || (depth - 4) % 6 || depth > 100 || width < 1 || width > 64)
        return vg_base__fail(VG_ERR_ARGUMENT, "wrn-%zu-%zu: depth must be 10, 16, 22, ... (6 k + 4) and width 1 to 64",
                             depth, width);
    if (spec->input.h < 8 || spec->input.w < 8)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "a wide residual network needs images whose sides are 8 or more, found %zu x %zu; resize "
                             "makes them larger",
                             spec->input.h, spec->input.w);
    size_t blocks = (depth - 4) / 6;
    int x = conv(b, 0, (conv_shape){16, 3, 1, 1}, -1, "conv1");
    for (size_t group = 0; group < 3; group++)
        for (size_t i = 0; i < blocks; i++) {
            char name[32];
            snprintf(name, sizeof name, "group%zu.block%zu", group + 1, i + 1);
            x = block(b, x, (size_t)16 * width << group, group > 0 && i == 0 ? 2 : 1, spec->dropout,
                      (uint32_t)(group * blocks + i), name);
        }
    x = norm(b, x, 0, 0, "norm");
    vg_shape pooled = {b->net->values[x].shape.c, 1, 1};
    x = add_node(b, VG_NODE_AVERAGE, x, pooled, VG_TENSOR_ACTIVATION)->y;
    linear(b, x, spec->heads * spec->classes, true, true, "heads");
    return VG_OK;
}

/* --- the fixed network of head_prior */

static vg_status build_prior(builder *b, const vg_network_spec *spec) {
    int x;
    if (spec->input.h == 28 && spec->input.w == 28) {
        x = pooling(b, conv(b, 0, (conv_shape){16, 5, 2, 0}, -1, "conv1"), 1, 0, 0, NULL);
        x = pooling(b, conv(b, x, (conv_shape){32, 5, 2, 0}, -1, "conv2"), 1, 0, 0, NULL);
    } else {
        x = pooling(b, conv(b, 0, (conv_shape){32, 3, 2, 1}, -1, "conv1"), 1, 0, 0, NULL);
        x = pooling(b, conv(b, x, (conv_shape){64, 3, 2, 1}, -1, "conv2"), 1, 0, 0, NULL);
        x = pooling(b, conv(b, x, (conv_shape){64, 3, 2, 1}, -1, "conv3"), 1, 0, 0, NULL);
    }
    linear(b, x, spec->heads * spec->classes, true, false, "heads");
    b->net->params[b->net->param_count - 1].init = VG_INIT_WEIGHT;
    return VG_OK;
}

/* --- several trunks, and the gate */

/* A node that copies the logits x of a trunk to column `at` of value y. */
static void join(builder *b, int x, int y, size_t at) {
    vg_network *net = b->net;
    if (net->node_count >= VG_NET_NODES) {
        b->full = true;
        return;
    }
    net->values[x].last_use = net->node_count;
    net->values[x].uses++;
    net->nodes[net->node_count++] =
        (vg_node){.kind = VG_NODE_JOIN, .x = x, .y = y, .addend = -1, .w = -1, .b = -1, .statistics = -1, .at = at};
}

/* Architecture `name` for one trunk. */
static vg_status build_trunk(builder *b, const vg_network_spec *spec) {
    const char *name = spec->architecture;
    size_t one = 0, two = 0;
    int end = 0;
    if (strcmp(name, "cnn") == 0)
        return build_cnn(b, spec, 128, 2048);
    if (sscanf(name, "cnn-%zu-%zu%n", &one, &two, &end) == 2 && !name[end] && one && two && one <= 4096 && two <= 65536)
        return build_cnn(b, spec, one, two);
    if (sscanf(name, "wrn-%zu-%zu%n", &one, &two, &end) == 2 && !name[end])
        return build_wrn(b, spec, one, two);
    return vg_base__fail(VG_ERR_ARGUMENT, "network '%s' is not known; there are cnn, cnn-WIDTH-HIDDEN, wrn-DEPTH-WIDTH",
                         name);
}

static vg_status build_trunks(builder *b, const vg_network_spec *spec) {
    const size_t trunks = spec->trunks > 1 ? spec->trunks : 1, columns = spec->heads / trunks * spec->classes;
    vg_network *net = b->net;
    vg_network_spec one = *spec;
    if (trunks == 1)
        return build_trunk(b, spec);
    int all = add_value(b, (vg_shape){spec->heads * spec->classes, 1, 1}, VG_TENSOR_PLAIN);
    one.heads = spec->heads / trunks;
    for (size_t i = 0; i < trunks && !b->full; i++) {
        snprintf(b->prefix, sizeof b->prefix, "network%u.", (unsigned)(i + 1));
        b->streams = b->next_stream;
        VG_TRY(build_trunk(b, &one));
        for (int k = 1; k <= 2; k++) /* its heads are drawn as any other layer: each trunk has parameters of its own */
            net->params[net->param_count - k].init = k == 1 ? VG_INIT_BIAS : VG_INIT_WEIGHT;
        join(b, net->nodes[net->node_count - 1].y, all, i * columns);
    }
    b->prefix[0] = 0;
    return VG_OK;
}

static int first_dropout(const vg_network *net) {
    for (int i = 0; i < net->node_count; i++) {
        const vg_node *node = &net->nodes[i];
        if ((node->kind == VG_NODE_POOLING && node->pooling.dropout.p > 0) ||
            (node->kind == VG_NODE_NORM && node->norm.dropout.p > 0))
            return i;
    }
    return net->node_count;
}

static vg_status build(vg_network **out, const vg_network_spec *spec, bool prior) {
    builder b = {0};
    *out = NULL;
    VG_TRY(vg_base__zalloc(&b.net, 1, sizeof *b.net, "network"));
    b.net->heads = spec->heads;
    b.net->classes = spec->classes;
    b.net->input = spec->input;
    add_value(&b, spec->input, VG_TENSOR_ACTIVATION);
    vg_status status;
    if (spec->heads < 1 || spec->classes < 2 || spec->heads > 100000 || spec->classes > 100000)
        status = vg_base__fail(VG_ERR_ARGUMENT, "a network needs at least 1 head and 2 classes, found %zu and %zu",
                               spec->heads, spec->classes);
    else if (!(spec->dropout >= 0 && spec->dropout < 1))
        status = vg_base__fail(VG_ERR_ARGUMENT, "dropout must lie in [0, 1), found %g", spec->dropout);
    else if (prior)
        status = build_prior(&b, spec);
    else
        status = build_trunks(&b, spec);
    b.net->gate = -1;
    if (status == VG_OK && spec->gated && !prior)
        b.net->gate = add_param(&b, (vg_param){VG_PARAM_VECTOR, spec->classes, 1, 1, 1, 0, 0}, VG_INIT_ZERO, "gate.l");
    if (status == VG_OK && b.full)
        status = vg_base__fail(VG_ERR_ARGUMENT, "network '%s'%s has too many layers", spec->architecture,
                               spec->trunks > 1 ? ", so many times," : "");
    if (status != VG_OK) {
        vg_network__free(b.net);
        return status;
    }
    b.net->first_dropout = first_dropout(b.net);
    *out = b.net;
    return VG_OK;
}

vg_status vg_network__new(vg_network **out, const vg_network_spec *spec) { return build(out, spec, false); }

vg_status vg_network__prior(vg_network **out, const vg_network_spec *spec) { return build(out, spec, true); }

void vg_network__free(vg_network *network) { vg_base__release(network); }

vg_network_spec vg_network__spec_of(const vg_recipe *r, vg_shape image, size_t classes) {
    return (vg_network_spec){.architecture = r->network,
                             .input = image,
                             .heads = vg_recipe__heads(r),
                             .classes = classes,
                             .dropout = r->dropout,
                             .trunks = vg_recipe__is_joint(r) ? vg_recipe__heads(r) : 1,
                             .gated = r->loss == VG_LOSS_GATED};
}

size_t vg_network__training_memory(const vg_recipe *r, vg_shape image, size_t classes) {
    vg_network_spec spec = vg_network__spec_of(r, image, classes);
    vg_network *net;
    size_t parameters = 0, values = 0;
    if (vg_network__new(&net, &spec) != VG_OK)
        return 0;
    for (int i = 0; i < net->param_count; i++)
        parameters += vg_param__count(&net->params[i].param);
    for (int i = 0; i < net->value_count; i++)
        values += vg_shape__size(net->values[i].shape);
    vg_network__free(net);
    /* Parameters, gradients and two moments; values of a batch, and as much again for their gradients. */
    return (4 * parameters + 2 * r->batch * values) * sizeof(float);
}
