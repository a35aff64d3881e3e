/* model.c - a network's parameters and working tensors on a backend; forward and backward over its nodes. */
#include "nn/model.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

/* --- creation */

static vg_status lay_out(vg_model *model, bool training) {
    vg_backend *b = model->backend;
    size_t offset = 0;
    for (int i = 0; i < model->net->param_count; i++) {
        vg_param *p = &model->params[i];
        *p = model->net->params[i].param;
        VG_TRY(b->ops->param_plan(b, p));
        p->offset = offset;
        if (!vg_base__add(&offset, offset, p->size + 15))
            return vg_base__fail(VG_ERR_MEMORY, "the network's parameters do not fit memory");
        offset = offset / 16 * 16;
    }
    VG_TRY(b->ops->block_new(b, &model->theta, offset));
    if (training) {
        VG_TRY(b->ops->block_new(b, &model->grad, offset));
        VG_TRY(b->ops->block_new(b, &model->m, offset));
        VG_TRY(b->ops->block_new(b, &model->v, offset));
    }
    for (int i = 0; i < model->net->node_count; i++) {
        const vg_node *node = &model->net->nodes[i];
        vg_shape row = {model->net->values[node->x].shape.c, 1, 1};
        if (node->kind != VG_NODE_NORM)
            continue;
        VG_TRY(b->ops->tensor_new(b, &model->running[node->statistics], VG_TENSOR_PLAIN, 2, row));
        VG_TRY(b->ops->tensor_new(b, &model->refreshed[node->statistics], VG_TENSOR_PLAIN, 2, row));
    }
    return VG_OK;
}

vg_status vg_model__new(vg_model **out, vg_network *net, vg_backend *backend, bool training) {
    vg_model *model;
    *out = NULL;
    vg_status status = vg_base__zalloc(&model, 1, sizeof *model, "model");
    if (status != VG_OK) {
        vg_network__free(net);
        return status;
    }
    model->net = net;
    model->backend = backend;
    status = lay_out(model, training);
    if (status != VG_OK)
        vg_model__free(model);
    else
        *out = model;
    return status;
}

void vg_model__free(vg_model *model) {
    if (!model)
        return;
    vg_backend *b = model->backend;
    for (size_t i = 0; i < model->arena_count; i++)
        b->ops->tensor_free(b, model->arena[i].tensor);
    vg_base__release(model->arena);
    for (int i = 0; i < VG_NET_NORMS; i++) {
        b->ops->tensor_free(b, model->running[i]);
        b->ops->tensor_free(b, model->refreshed[i]);
    }
    vg_block *blocks[] = {model->theta, model->grad, model->m, model->v};
    for (int i = 0; i < 4; i++)
        b->ops->block_free(b, blocks[i]);
    vg_network__free(model->net);
    vg_base__release(model);
}

/* --- the arena */

vg_status vg_model__take(vg_model *model, vg_tensor **out, vg_tensor_kind kind, size_t rows, vg_shape shape) {
    vg_backend *b = model->backend;
    for (size_t i = 0; i < model->arena_count; i++) {
        vg_tensor *t = model->arena[i].tensor;
        if (!model->arena[i].taken && t->kind == kind && t->capacity >= rows &&
            memcmp(&t->shape, &shape, sizeof shape) == 0) {
            model->arena[i].taken = true;
            *out = vg_tensor__rows(t, rows);
            return VG_OK;
        }
    }
    if (model->arena_count == model->arena_room) {
        size_t room = model->arena_room ? 2 * model->arena_room : 64;
        vg_arena_entry *entries;
        VG_TRY(vg_base__alloc(&entries, room, sizeof *entries, "arena"));
        if (model->arena_count)
            memcpy(entries, model->arena, model->arena_count * sizeof *entries);
        vg_base__release(model->arena);
        model->arena = entries;
        model->arena_room = room;
    }
    VG_TRY(b->ops->tensor_new(b, out, kind, rows, shape));
    model->arena[model->arena_count++] = (vg_arena_entry){*out, true};
    return VG_OK;
}

void vg_model__give(vg_model *model, vg_tensor *tensor) {
    for (size_t i = 0; tensor && i < model->arena_count; i++)
        if (model->arena[i].tensor == tensor)
            model->arena[i].taken = false;
}

void vg_model__clear(vg_model *model) {
    for (size_t i = 0; i < model->arena_count; i++)
        model->arena[i].taken = false;
    memset(model->values, 0, sizeof model->values);
    memset(model->gradients, 0, sizeof model->gradients);
    memset(model->choices, 0, sizeof model->choices);
    memset(model->saved, 0, sizeof model->saved);
}

/* --- forward */

vg_status vg_model__begin(vg_model *model, size_t n) {
    vg_model__clear(model);
    return vg_model__take(model, &model->values[0], VG_TENSOR_ACTIVATION, n, model->net->input);
}

void vg_model__borrow(vg_model *model, vg_tensor *images) {
    vg_model__clear(model);
    model->values[0] = images;
}

vg_status vg_model__input(vg_model *model, const float *images, size_t n) {
    VG_TRY(vg_model__begin(model, n));
    return model->backend->ops->tensor_upload(model->backend, model->values[0], images);
}

static vg_status forward_pooling(vg_model *model, int i, const vg_pass *pass, vg_tensor *y) {
    const vg_node *node = &model->net->nodes[i];
    vg_backend *b = model->backend;
    vg_pooling pooling = node->pooling;
    if (!pass->dropout)
        pooling.dropout.p = 0;
    if (pass->keep && pooling.pool > 1)
        VG_TRY(vg_model__take(model, &model->choices[i], VG_TENSOR_CHOICE, y->n, y->shape));
    return b->ops->pooling_forward(b, &pooling, y, model->choices[i], model->values[node->x], model->theta,
                                   node->b < 0 ? NULL : &model->params[node->b]);
}

/* The settings of a norm node in this pass, and the statistics it uses. */
static vg_norm norm_of(const vg_node *node, const vg_pass *pass) {
    vg_norm norm = node->norm;
    if (!pass->dropout)
        norm.dropout.p = 0;
    norm.training = pass->statistics == VG_USE_BATCH || pass->statistics == VG_REFRESH;
    return norm;
}

static vg_tensor *statistics_of(vg_model *model, const vg_node *node, const vg_pass *pass) {
    bool second = pass->statistics == VG_REFRESH || pass->statistics == VG_USE_REFRESHED;
    return second ? model->refreshed[node->statistics] : model->running[node->statistics];
}

static vg_status forward_norm(vg_model *model, int i, const vg_pass *pass, vg_tensor *y) {
    const vg_node *node = &model->net->nodes[i];
    vg_backend *b = model->backend;
    vg_norm norm = norm_of(node, pass);
    vg_shape row = {y->shape.c, 1, 1};
    if (pass->keep)
        VG_TRY(vg_model__take(model, &model->saved[i], VG_TENSOR_PLAIN, 2, row));
    vg_norm_pass at = {.y = y,
                       .x = model->values[node->x],
                       .gamma = &model->params[node->w],
                       .beta = &model->params[node->b],
                       .running = statistics_of(model, node, pass),
                       .saved = model->saved[i]};
    return b->ops->norm_forward(b, &norm, &at, model->theta);
}

static vg_status forward_node(vg_model *model, int i, const vg_pass *pass) {
    const vg_node *node = &model->net->nodes[i];
    const vg_value *value = &model->net->values[node->y];
    vg_backend *b = model->backend;
    vg_tensor *x = model->values[node->x], *y = model->values[node->y];
    if (node->kind != VG_NODE_JOIN || node->at == 0) /* the first of the nodes that write it */
        VG_TRY(vg_model__take(model, &y, value->kind, x->n, value->shape));
    model->values[node->y] = y;
    switch (node->kind) {
    case VG_NODE_CONV:
        return b->ops->conv_forward(b, &node->conv, y, x, model->theta, &model->params[node->w],
                                    node->addend < 0 ? NULL : model->values[node->addend]);
    case VG_NODE_POOLING: return forward_pooling(model, i, pass, y);
    case VG_NODE_NORM: return forward_norm(model, i, pass, y);
    case VG_NODE_AVERAGE: return b->ops->average_forward(b, y, x);
    case VG_NODE_LINEAR:
        return b->ops->linear_forward(b, y, x, model->theta, &model->params[node->w],
                                      node->b < 0 ? NULL : &model->params[node->b]);
    case VG_NODE_JOIN: return b->ops->copy_columns(b, y, node->at, x, 0, x->shape.c);
    }
    return VG_OK;
}

/* Runs nodes i and i + 1 as one operation where they are a convolution and its batch-norm on stored statistics, and
 * the backend supports it. The result of the convolution itself is written only if another node reads it. */
static vg_status forward_pair(vg_model *model, int i, const vg_pass *pass, bool *done) {
    const vg_node *conv = &model->net->nodes[i], *norm = conv + 1;
    vg_backend *b = model->backend;
    *done = false;
    if (pass->keep || !b->ops->conv_norm_forward || i + 1 >= pass->last || conv->kind != VG_NODE_CONV ||
        norm->kind != VG_NODE_NORM || norm->x != conv->y || norm_of(norm, pass).training)
        return VG_OK;
    const vg_value *value = &model->net->values[conv->y];
    size_t rows = model->values[conv->x]->n;
    vg_tensor *y = NULL, *z;
    if (value->uses > 1)
        VG_TRY(vg_model__take(model, &y, value->kind, rows, value->shape));
    VG_TRY(vg_model__take(model, &z, value->kind, rows, value->shape));
    vg_conv_norm op = {.conv = conv->conv,
                       .norm = norm_of(norm, pass),
                       .x = model->values[conv->x],
                       .addend = conv->addend < 0 ? NULL : model->values[conv->addend],
                       .y = y,
                       .z = z,
                       .w = &model->params[conv->w],
                       .gamma = &model->params[norm->w],
                       .beta = &model->params[norm->b],
                       .running = statistics_of(model, norm, pass)};
    VG_TRY(b->ops->conv_norm_forward(b, &op, model->theta, done));
    if (!*done) {
        vg_model__give(model, y);
        vg_model__give(model, z);
        return VG_OK;
    }
    model->values[conv->y] = y;
    model->values[norm->y] = z;
    return VG_OK;
}

/* Nodes i and i + 1 as one operation: a convolution and the pooling after it. */
static vg_conv_pooling conv_pooling_of(vg_model *model, int i) {
    const vg_node *conv = &model->net->nodes[i], *pooling = conv + 1;
    return (vg_conv_pooling){.conv = conv->conv,
                             .pooling = pooling->pooling,
                             .x = model->values[conv->x],
                             .y = model->values[pooling->y],
                             .choice = model->choices[i + 1],
                             .w = &model->params[conv->w],
                             .bias = pooling->b < 0 ? NULL : &model->params[pooling->b]};
}

/* Runs both as one operation where they are of these kinds and the backend supports it. The value of the convolution
 * stays NULL, by which backward recognises the case. */
static vg_status forward_pooled(vg_model *model, int i, const vg_pass *pass, bool *done) {
    const vg_node *conv = &model->net->nodes[i], *pooling = conv + 1;
    vg_backend *b = model->backend;
    *done = false;
    if (!b->ops->conv_pooling_forward || i + 1 >= pass->last || conv->kind != VG_NODE_CONV ||
        pooling->kind != VG_NODE_POOLING || conv->addend >= 0 || pooling->x != conv->y ||
        model->net->values[conv->y].uses > 1)
        return VG_OK;
    const vg_value *value = &model->net->values[pooling->y];
    size_t rows = model->values[conv->x]->n;
    VG_TRY(vg_model__take(model, &model->values[pooling->y], value->kind, rows, value->shape));
    if (pass->keep && pooling->pooling.pool > 1)
        VG_TRY(vg_model__take(model, &model->choices[i + 1], VG_TENSOR_CHOICE, rows, value->shape));
    vg_conv_pooling op = conv_pooling_of(model, i);
    if (!pass->dropout)
        op.pooling.dropout.p = 0;
    VG_TRY(b->ops->conv_pooling_forward(b, &op, model->theta, done));
    if (*done)
        return VG_OK;
    vg_model__give(model, model->values[pooling->y]);
    vg_model__give(model, model->choices[i + 1]);
    model->values[pooling->y] = model->choices[i + 1] = NULL;
    return VG_OK;
}

/* Returns the tensors to the arena that node i was the last to read. */
static void forget(vg_model *model, int i) {
    const vg_node *node = &model->net->nodes[i];
    int used[2] = {node->x, node->addend};
    for (int k = 0; k < 2; k++)
        if (used[k] >= 0 && model->net->values[used[k]].last_use == i) {
            vg_model__give(model, model->values[used[k]]);
            model->values[used[k]] = NULL;
        }
}

vg_status vg_model__forward(vg_model *model, const vg_pass *pass) {
    for (int i = pass->first, count; i < pass->last; i += count) {
        bool pair;
        VG_TRY(forward_pair(model, i, pass, &pair));
        if (!pair)
            VG_TRY(forward_pooled(model, i, pass, &pair));
        if (!pair)
            VG_TRY(forward_node(model, i, pass));
        count = pair ? 2 : 1;
        for (int k = 0; k < count && !pass->keep; k++)
            forget(model, i + k);
    }
    return VG_OK;
}

/* --- backward */

/* The tensor for the gradient of value x: a new one, or one that already holds a part of it, which is then *addend. */
static vg_status gradient_place(vg_model *model, int x, vg_tensor **dx, const vg_tensor **addend) {
    *addend = model->gradients[x];
    if (!model->gradients[x])
        VG_TRY(vg_model__take(model, &model->gradients[x], VG_TENSOR_ACTIVATION, model->values[x]->n,
                              model->values[x]->shape));
    *dx = model->gradients[x];
    return VG_OK;
}

static vg_status backward_conv(vg_model *model, const vg_node *node, vg_tensor *dy) {
    vg_backend *b = model->backend;
    vg_tensor *dx;
    const vg_tensor *addend;
    VG_TRY(b->ops->conv_backward_weights(b, &node->conv, model->grad, &model->params[node->w], model->values[node->x],
                                         dy));
    if (node->x != 0) {
        VG_TRY(gradient_place(model, node->x, &dx, &addend));
        VG_TRY(b->ops->conv_backward_data(b, &node->conv, dx, dy, model->theta, &model->params[node->w], addend));
    }
    if (node->addend < 0)
        vg_model__give(model, dy);
    else if (model->gradients[node->addend])
        return vg_base__fail(VG_ERR_UNSUPPORTED, "a residual's gradient has two sources");
    else /* the gradient of the residual is that of the sum: pass it on */
        model->gradients[node->addend] = dy;
    return VG_OK;
}

static vg_status backward_pooling(vg_model *model, int i, vg_tensor *dy) {
    const vg_node *node = &model->net->nodes[i];
    vg_backend *b = model->backend;
    const vg_value *x = &model->net->values[node->x];
    /* Backward does not need the input of the pooling, so the gradient is written to its memory; without pooling to dy
     * itself. */
    vg_tensor *dx = node->pooling.pool == 1 ? dy : model->values[node->x];
    if (!dx) /* forward fused the pooling with the convolution */
        VG_TRY(vg_model__take(model, &dx, x->kind, dy->n, x->shape));
    vg_pooling_gradient to = {.dx = dx,
                              .dy = dy,
                              .y = model->values[node->y],
                              .choice = model->choices[i],
                              .bias = node->b < 0 ? NULL : &model->params[node->b]};
    VG_TRY(b->ops->pooling_backward(b, &node->pooling, &to, model->grad));
    model->gradients[node->x] = dx;
    if (dx != dy)
        vg_model__give(model, dy);
    return VG_OK;
}

static vg_status backward_norm(vg_model *model, int i, vg_tensor *dy) {
    const vg_node *node = &model->net->nodes[i];
    vg_backend *b = model->backend;
    const vg_tensor *addend = model->gradients[node->x];
    vg_tensor *dx = addend ? model->gradients[node->x] : dy;
    vg_norm_gradient to = {.dx = dx,
                           .dy = dy,
                           .x = model->values[node->x],
                           .addend = addend,
                           .saved = model->saved[i],
                           .gamma = &model->params[node->w],
                           .beta = &model->params[node->b]};
    VG_TRY(b->ops->norm_backward(b, &node->norm, &to, model->theta, model->grad));
    model->gradients[node->x] = dx;
    if (dx != dy)
        vg_model__give(model, dy);
    return VG_OK;
}

/* The first trunk's node is the last to read the gradient of all logits. */
static vg_status backward_join(vg_model *model, const vg_node *node) {
    vg_tensor *dy = model->gradients[node->y], *x = model->values[node->x], *dx;
    VG_TRY(vg_model__take(model, &dx, x->kind, x->n, x->shape));
    VG_TRY(model->backend->ops->copy_columns(model->backend, dx, 0, dy, node->at, x->shape.c));
    model->gradients[node->x] = dx;
    if (node->at > 0)
        return VG_OK;
    model->gradients[node->y] = NULL;
    vg_model__give(model, dy);
    return VG_OK;
}

static vg_status backward_node(vg_model *model, int i) {
    const vg_node *node = &model->net->nodes[i];
    vg_backend *b = model->backend;
    if (node->kind == VG_NODE_JOIN)
        return backward_join(model, node);
    vg_tensor *dy = model->gradients[node->y], *dx;
    const vg_tensor *addend;
    model->gradients[node->y] = NULL;
    switch (node->kind) {
    case VG_NODE_JOIN: break;
    case VG_NODE_CONV: return backward_conv(model, node, dy);
    case VG_NODE_POOLING: return backward_pooling(model, i, dy);
    case VG_NODE_NORM: return backward_norm(model, i, dy);
    case VG_NODE_AVERAGE:
        VG_TRY(gradient_place(model, node->x, &dx, &addend));
        VG_TRY(b->ops->average_backward(b, dx, dy));
        break;
    case VG_NODE_LINEAR:
        VG_TRY(b->ops->linear_backward_weights(b, model->grad, &model->params[node->w],
                                               node->b < 0 ? NULL : &model->params[node->b], model->values[node->x],
                                               dy));
        VG_TRY(gradient_place(model, node->x, &dx, &addend));
        VG_TRY(b->ops->linear_backward_data(b, dx, dy, model->theta, &model->params[node->w]));
        break;
    }
    vg_model__give(model, dy);
    return VG_OK;
}

/* Whether forward ran node i and the one before it as one operation, on images with one channel. */
static bool first_pooled(const vg_model *model, int i) {
    const vg_node *node = &model->net->nodes[i];
    return node->kind == VG_NODE_POOLING && !model->values[node->x] && node[-1].x == 0 && model->net->input.c == 1;
}

static vg_status backward_first(vg_model *model, int i) {
    vg_backend *b = model->backend;
    int y = model->net->nodes[i].y;
    vg_conv_pooling op = conv_pooling_of(model, i - 1);
    VG_TRY(b->ops->conv_pooling_backward(b, &op, model->grad, model->gradients[y]));
    vg_model__give(model, model->gradients[y]);
    model->gradients[y] = NULL;
    return VG_OK;
}

/* Layers with at least this many parameters are worth starting Adam before the end of the step. */
static const size_t LARGE_LAYER = (size_t)1 << 20;

/* The gradients of node i and of all nodes after it are queued. The parameters of a large linear layer, and those
 * after them in the block, are not read again in this step. */
static vg_status settle(vg_model *model, int i, size_t *settled) {
    const vg_node *node = &model->net->nodes[i];
    vg_backend *b = model->backend;
    if (node->kind != VG_NODE_LINEAR || !b->ops->adam_part || model->params[node->w].size < LARGE_LAYER)
        return VG_OK;
    size_t first = model->params[node->w].offset, count = *settled - first;
    *settled = first;
    vg_adam_range range = {.first = first, .count = count, .beside = true};
    return b->ops->adam_part(b, model->theta, model->grad, model->m, model->v, &range);
}

vg_status vg_model__backward(vg_model *model, vg_tensor *dlogits, size_t *settled) {
    const vg_network *net = model->net;
    model->gradients[net->nodes[net->node_count - 1].y] = dlogits;
    if (settled)
        *settled = model->theta->count;
    for (int i = net->node_count; i-- > 0;) {
        if (first_pooled(model, i)) {
            VG_TRY(backward_first(model, i--));
            continue;
        }
        VG_TRY(backward_node(model, i));
        if (settled)
            VG_TRY(settle(model, i, settled));
    }
    return VG_OK;
}

/* --- parameters */

vg_status vg_model__get(vg_model *model, float *values, const vg_block *block, int param) {
    return model->backend->ops->param_download(model->backend, values, block, &model->params[param]);
}

vg_status vg_model__set(vg_model *model, vg_block *block, int param, const float *values) {
    return model->backend->ops->param_upload(model->backend, block, &model->params[param], values);
}

/* A distribution with mean 0. */
typedef struct spread {
    bool uniform;
    double std;
} spread;

static void draw(float *values, size_t count, uint64_t seed, uint64_t stream, spread from) {
    vg_random random = vg_random__start(seed, stream);
    double bound = sqrt(3) * from.std; /* of the uniform distribution with this standard deviation */
    for (size_t i = 0; i < count && from.std == 0; i++)
        values[i] = 0;
    for (size_t i = 0; i < count && from.std > 0; i++)
        values[i] =
            (float)(from.uniform ? bound * (2 * vg_random__unit(&random) - 1) : from.std * vg_random__normal(&random));
}

static vg_status initial_statistics(vg_model *model) {
    vg_backend *b = model->backend;
    for (int i = 0; i < model->net->norm_count; i++) {
        size_t c = model->running[i]->shape.c;
        float *values;
        VG_TRY(vg_base__zalloc(&values, 2 * c, sizeof *values, "statistics"));
        for (size_t k = 0; k < c; k++)
            values[c + k] = 1;
        vg_status status = b->ops->tensor_upload(b, model->running[i], values);
        if (status == VG_OK)
            status = b->ops->tensor_upload(b, model->refreshed[i], values);
        vg_base__release(values);
        VG_TRY(status);
    }
    return VG_OK;
}

static spread spread_of(const vg_net_param *p, const vg_initialisation *how) {
    double fan_in = (double)p->fan_in;
    spread from = {how->uniform, sqrt((how->uniform ? 1.0 / 3 : 2.0) / fan_in)};
    if (p->init == VG_INIT_HEADS && how->head_scale > 0)
        from.std = how->head_scale / sqrt(fan_in);
    if (!how->uniform && (p->init == VG_INIT_BIAS || p->init == VG_INIT_HEADS_BIAS))
        from.std = 0;
    return from;
}

static void initial_values(float *values, const vg_network *net, int index, const vg_initialisation *how) {
    const vg_net_param *p = &net->params[index];
    size_t count = vg_param__count(&p->param), share = count / net->heads;
    uint64_t stream = how->salt << 48 | (uint64_t)index << 32;
    spread from = spread_of(p, how);
    switch (p->init) {
    case VG_INIT_WEIGHT:
    case VG_INIT_BIAS: draw(values, count, how->seed, stream, from); break;
    case VG_INIT_HEADS:
    case VG_INIT_HEADS_BIAS:
        for (size_t h = 0; h < net->heads; h++)
            draw(values + h * share, share, how->seed, stream | (h + 1), from);
        break;
    case VG_INIT_ZERO:
    case VG_INIT_ONE:
        for (size_t k = 0; k < count; k++)
            values[k] = p->init == VG_INIT_ONE;
        break;
    }
}

vg_status vg_model__initialise(vg_model *model, const vg_initialisation *how) {
    for (int i = 0; i < model->net->param_count; i++) {
        const vg_net_param *p = &model->net->params[i];
        float *values;
        VG_TRY(vg_base__alloc(&values, vg_param__count(&p->param), sizeof *values, p->name));
        initial_values(values, model->net, i, how);
        vg_status status = vg_model__set(model, model->theta, i, values);
        vg_base__release(values);
        VG_TRY(status);
    }
    return initial_statistics(model);
}
