/* learner.c - independent heads, the loss, and one optimiser step.
 *
 * Draws, all from the run's seed, each from its own stream so that switching one on changes no other:
 *   parameters       salt 1 (model.c)          prior network     salt 2
 *   feature masks    stream 3 << 48 | head     bootstrap         stream 4 << 48, position 2 (image * H + head)
 *   dropout          the seed itself, by position (backend/counter.h) */
#include "nn/learner.h"

#include <math.h>
#include <string.h>

#include "backend/gate.h"
#include "base/random.h"

/* Of a network of one trunk: the last node is the linear layer of the heads. */
static int head_weight(const vg_learner *l) { return l->model->net->nodes[l->model->net->node_count - 1].w; }
static int head_bias(const vg_learner *l) { return l->model->net->nodes[l->model->net->node_count - 1].b; }

static bool has_mask(const vg_learner_options *o) { return o->head_features > 0 && o->head_features < 1; }

/* --- creation */

static void free_recording(vg_learner *l) {
    if (l->recorded.recording)
        l->backend->ops->recording_free(l->backend, l->recorded.recording);
    l->recorded.recording = NULL;
    l->recorded.rows = 0;
}

void vg_learner__free(vg_learner *l) {
    if (!l)
        return;
    vg_backend *b = l->backend;
    free_recording(l);
    vg_model__free(l->model);
    vg_model__free(l->prior);
    b->ops->block_free(b, l->mask);
    b->ops->block_free(b, l->anchor);
    b->ops->block_free(b, l->average);
    b->ops->tensor_free(b, l->class_weights);
    b->ops->tensor_free(b, l->labels);
    b->ops->tensor_free(b, l->weights);
    b->ops->tensor_free(b, l->kept);
    vg_base__release(l->feature_mask);
    vg_base__release(l->anchor_weight);
    vg_base__release(l->anchor_bias);
    vg_base__release(l->host_weights);
    vg_base__release(l);
}

static vg_status check(const vg_learner_options *o) {
    if (!(o->head_features >= 0 && o->head_features <= 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "head_features must lie in (0, 1], found %g", o->head_features);
    if (!(o->head_prior >= 0) || !(o->head_init_scale >= 0) || !(o->head_anchor >= 0))
        return vg_base__fail(VG_ERR_ARGUMENT, "head_prior, head_init_scale and head_anchor must not be negative");
    if (o->loss != VG_LOSS_MEAN && o->head_bootstrap)
        return vg_base__fail(VG_ERR_ARGUMENT, "head_bootstrap weighs each head's cross-entropy: it needs loss 'mean'");
    if (o->loss != VG_LOSS_MEAN && (o->label_smoothing > 0 || o->class_weights))
        return vg_base__fail(VG_ERR_ARGUMENT, "label_smoothing and class_weights need loss 'mean'");
    if (o->network.trunks > 1 && (has_mask(o) || o->head_prior > 0 || o->head_anchor > 0))
        return vg_base__fail(VG_ERR_ARGUMENT, "head_features, head_prior and head_anchor are for heads on one trunk");
    return VG_OK;
}

static vg_status make(vg_learner *l) {
    vg_network *net;
    VG_TRY(vg_network__new(&net, &l->options.network));
    VG_TRY(vg_model__new(&l->model, net, l->backend, l->options.training));
    if (l->options.head_prior > 0) {
        VG_TRY(vg_network__prior(&net, &l->options.network));
        VG_TRY(vg_model__new(&l->prior, net, l->backend, false));
    }
    if (l->options.training && l->options.ema > 0)
        VG_TRY(l->backend->ops->block_new(l->backend, &l->average, l->model->theta->count));
    if (l->options.training && l->options.class_weights) {
        vg_shape shape = {l->options.network.classes, 1, 1};
        VG_TRY(l->backend->ops->tensor_new(l->backend, &l->class_weights, VG_TENSOR_PLAIN, 1, shape));
        vg_tensor__rows(l->class_weights, 1);
        VG_TRY(l->backend->ops->tensor_upload(l->backend, l->class_weights, l->options.class_weights));
    }
    return vg_learner__room_for_heads(l);
}

vg_status vg_learner__new(vg_learner **out, vg_backend *backend, const vg_learner_options *options) {
    vg_learner *l;
    *out = NULL;
    VG_TRY(check(options));
    VG_TRY(vg_base__zalloc(&l, 1, sizeof *l, "learner"));
    l->options = *options;
    l->backend = backend;
    vg_status status = make(l);
    l->options.network.architecture = NULL; /* borrowed until here */
    l->options.class_weights = NULL;
    if (status != VG_OK)
        vg_learner__free(l);
    else
        *out = l;
    return status;
}

vg_status vg_learner__room_for_heads(vg_learner *l) {
    if (!has_mask(&l->options) && !(l->options.head_anchor > 0))
        return VG_OK;
    size_t weights = vg_param__count(&l->model->params[head_weight(l)]),
           biases = vg_param__count(&l->model->params[head_bias(l)]);
    if (has_mask(&l->options))
        VG_TRY(vg_base__zalloc(&l->feature_mask, weights, sizeof(float), "feature masks"));
    if (l->options.head_anchor > 0) {
        VG_TRY(vg_base__zalloc(&l->anchor_weight, weights, sizeof(float), "anchor"));
        VG_TRY(vg_base__zalloc(&l->anchor_bias, biases, sizeof(float), "anchor"));
    }
    return VG_OK;
}

/* --- initial draws */

/* Each head reads round(q F) features, at least 1, chosen at random. */
static vg_status draw_masks(vg_learner *l) {
    const vg_network *net = l->model->net;
    size_t features = vg_param__count(&l->model->params[head_weight(l)]) / (net->heads * net->classes);
    size_t share = (size_t)llround(l->options.head_features * (double)features), *order;
    share = share < 1 ? 1 : share;
    VG_TRY(vg_base__alloc(&order, features, sizeof *order, "feature masks"));
    for (size_t h = 0; h < net->heads; h++) {
        vg_random random = vg_random__start(l->options.seed, (uint64_t)3 << 48 | h);
        for (size_t f = 0; f < features; f++)
            order[f] = f;
        vg_random__shuffle(&random, order, features);
        for (size_t c = 0; c < net->classes; c++)
            for (size_t k = 0; k < share; k++)
                l->feature_mask[(h * net->classes + c) * features + order[k]] = 1;
    }
    vg_base__release(order);
    return VG_OK;
}

vg_status vg_learner__initialise(vg_learner *l) {
    int w = head_weight(l), bias = head_bias(l);
    vg_initialisation own = {l->options.seed, 1, l->options.uniform_init, l->options.head_init_scale};
    vg_initialisation fixed = {l->options.seed, 2, false,
                               0}; /* the prior network always starts with He's initialisation */
    VG_TRY(vg_model__initialise(l->model, &own));
    if (l->prior)
        VG_TRY(vg_model__initialise(l->prior, &fixed));
    if (l->feature_mask) {
        size_t count = vg_param__count(&l->model->params[w]);
        float *values, grow = (float)(1 / sqrt(l->options.head_features));
        VG_TRY(draw_masks(l));
        VG_TRY(vg_base__alloc(&values, count, sizeof *values, "head weights"));
        vg_status status = vg_model__get(l->model, values, l->model->theta, w);
        for (size_t i = 0; i < count; i++)
            values[i] *= l->feature_mask[i] * grow;
        if (status == VG_OK)
            status = vg_model__set(l->model, l->model->theta, w, values);
        vg_base__release(values);
        VG_TRY(status);
    }
    if (l->anchor_weight) {
        VG_TRY(vg_model__get(l->model, l->anchor_weight, l->model->theta, w));
        VG_TRY(vg_model__get(l->model, l->anchor_bias, l->model->theta, bias));
    }
    if (l->average) {
        VG_TRY(l->backend->ops->step_set(l->backend, &(vg_step){.average = 1}));
        VG_TRY(l->backend->ops->block_average(l->backend, l->average, l->model->theta));
    }
    return vg_learner__place_heads(l);
}

vg_status vg_learner__place_heads(vg_learner *l) {
    vg_backend *b = l->backend;
    if (!l->options.training || !(l->feature_mask || l->anchor_weight))
        return VG_OK;
    vg_param w = l->model->params[head_weight(l)], bias = l->model->params[head_bias(l)];
    size_t start = w.offset;
    bias.offset -= start;
    w.offset = 0;
    if (l->feature_mask) {
        if (!l->mask)
            VG_TRY(b->ops->block_new(b, &l->mask, w.size));
        VG_TRY(b->ops->param_upload(b, l->mask, &w, l->feature_mask));
    }
    if (l->anchor_weight) { /* weights and biases of the heads lie side by side in the block */
        if (!l->anchor)
            VG_TRY(b->ops->block_new(b, &l->anchor, bias.offset + bias.size));
        VG_TRY(b->ops->param_upload(b, l->anchor, &w, l->anchor_weight));
        VG_TRY(b->ops->param_upload(b, l->anchor, &bias, l->anchor_bias));
    }
    return VG_OK;
}

static vg_pass plain_pass(const vg_model *model) {
    return (vg_pass){VG_USE_RUNNING, false, false, 0, model->net->node_count};
}

vg_status vg_learner__scale_prior(vg_learner *l, const float *images, size_t n) {
    enum { PIECE = 100 };
    if (!l->prior)
        return VG_OK;
    vg_model *prior = l->prior;
    vg_pass pass = plain_pass(prior);
    size_t image = vg_shape__size(prior->net->input), logits = prior->net->heads * prior->net->classes;
    int w = prior->net->nodes[prior->net->node_count - 1].w;
    size_t weights = vg_param__count(&prior->params[w]);
    float *values;
    double sum = 0, squares = 0, count = (double)n * (double)logits;
    VG_TRY(vg_base__alloc(&values, weights > PIECE * logits ? weights : PIECE * logits, sizeof *values, "prior"));
    vg_status status = VG_OK;
    for (size_t i = 0; i < n && status == VG_OK; i += PIECE) {
        size_t rows = n - i < PIECE ? n - i : PIECE;
        status = vg_model__input(prior, images + i * image, rows);
        if (status == VG_OK)
            status = vg_model__forward(prior, &pass);
        if (status == VG_OK)
            status = l->backend->ops->tensor_download(l->backend, values, vg_model__logits(prior));
        for (size_t k = 0; k < rows * logits && status == VG_OK; k++) {
            sum += values[k];
            squares += (double)values[k] * values[k];
        }
    }
    double std = sqrt(squares / count - (sum / count) * (sum / count));
    if (status == VG_OK && !(std > 0 && isfinite(std)))
        status =
            vg_base__fail(VG_ERR_NUMERIC, "head_prior: the random network's logits have standard deviation %g", std);
    if (status == VG_OK)
        status = vg_model__get(prior, values, prior->theta, w);
    for (size_t k = 0; k < weights && status == VG_OK; k++)
        values[k] = (float)(values[k] * (l->options.head_prior / std));
    if (status == VG_OK)
        status = vg_model__set(prior, prior->theta, w, values);
    vg_base__release(values);
    return status;
}

/* --- steps */

static vg_status batch_room(vg_learner *l, size_t n) {
    vg_backend *b = l->backend;
    vg_shape one = {1, 1, 1}, heads = {l->model->net->heads, 1, 1};
    if (n <= l->batch_room)
        return VG_OK;
    free_recording(l);
    b->ops->tensor_free(b, l->labels);
    b->ops->tensor_free(b, l->weights);
    vg_base__release(l->host_weights);
    l->labels = l->weights = NULL;
    l->host_weights = NULL;
    l->batch_room = 0;
    VG_TRY(b->ops->tensor_new(b, &l->labels, VG_TENSOR_INDEX, n, one));
    if (l->options.head_bootstrap) {
        VG_TRY(b->ops->tensor_new(b, &l->weights, VG_TENSOR_PLAIN, n, heads));
        VG_TRY(vg_base__alloc(&l->host_weights, n * heads.c, sizeof(float), "bootstrap weights"));
    }
    l->batch_room = n;
    return VG_OK;
}

static vg_status bootstrap_weights(vg_learner *l, const size_t *indices, size_t n) {
    size_t heads = l->model->net->heads;
    for (size_t i = 0; i < n; i++) {
        vg_random random = vg_random__at(l->options.seed, (uint64_t)4 << 48, 2 * (uint64_t)indices[i] * heads);
        for (size_t h = 0; h < heads; h++)
            l->host_weights[i * heads + h] = (float)-log1p(-vg_random__unit(&random));
    }
    vg_tensor__rows(l->weights, n);
    return l->backend->ops->tensor_upload(l->backend, l->weights, l->host_weights);
}

static vg_status set_step(vg_learner *l, uint32_t number, double rate, uint64_t batch) {
    const vg_learner_options *o = &l->options;
    double t = (double)number + 1;
    vg_step step = {.seed = o->seed,
                    .number = number,
                    .row = 0,
                    .batch = batch,
                    .momentum = 0.1f,
                    .rate = (float)rate,
                    .beta1 = (float)o->beta1,
                    .beta2 = (float)o->beta2,
                    .epsilon = (float)o->epsilon,
                    .decay = (float)o->weight_decay,
                    .correction1 = (float)(1 - pow(o->beta1, t)),
                    .correction2 = (float)(1 - pow(o->beta2, t)),
                    .decoupled = o->optimiser == VG_OPTIMISER_ADAMW,
                    .nesterov = o->nesterov,
                    .inertia = (float)o->momentum,
                    .average = number == 0 ? 1.0f : (float)(1 - o->ema)};
    return l->backend->ops->step_set(l->backend, &step);
}

/* Computes loss and gradients of the n images in model->values[0], with labels and weights in their tensors. For
 * settled see vg_model__backward. */
static vg_status compute(vg_learner *l, size_t n, size_t *settled) {
    vg_backend *b = l->backend;
    vg_model *model = l->model;
    vg_pass pass = {VG_USE_BATCH, true, true, 0, model->net->node_count};
    vg_head_loss loss = {.heads = model->net->heads,
                         .classes = model->net->classes,
                         .form = l->options.loss,
                         .smoothing = (float)l->options.label_smoothing,
                         .class_weights = l->class_weights,
                         .gate = model->net->gate < 0 ? NULL : &model->params[model->net->gate],
                         .theta = model->theta,
                         .grad = model->grad};
    vg_tensor *dlogits, *addend = NULL;
    VG_TRY(vg_model__forward(model, &pass));
    if (l->prior) {
        vg_pass fixed = plain_pass(l->prior);
        vg_model__borrow(l->prior, model->values[0]);
        VG_TRY(vg_model__forward(l->prior, &fixed));
        addend = vg_model__logits(l->prior);
    }
    vg_tensor *logits = vg_model__logits(model);
    VG_TRY(vg_model__take(model, &dlogits, VG_TENSOR_PLAIN, n, logits->shape));
    VG_TRY(b->ops->loss(b, &loss, dlogits, logits, addend, l->labels, l->options.head_bootstrap ? l->weights : NULL));
    VG_TRY(vg_model__backward(model, dlogits, settled));
    if (!l->anchor && !l->mask)
        return VG_OK;
    const vg_param *w = &model->params[head_weight(l)];
    if (l->anchor) {
        double penalty = 0;
        vg_anchor anchor = {.start = l->anchor,
                            .offset = w->offset,
                            .count = l->anchor->count,
                            .scale = (float)(l->options.head_anchor / (double)model->net->heads)};
        VG_TRY(b->ops->block_anchor(b, model->grad, model->theta, &anchor, &penalty));
        l->penalty += (double)n * penalty;
    }
    if (l->mask)
        VG_TRY(b->ops->block_multiply(b, model->grad, w->offset, l->mask, w->size));
    return VG_OK;
}

/* Runs the optimiser on what is left: values 0 .. rest - 1 of the block. */
static vg_status optimise(vg_learner *l, size_t rest) {
    const vg_backend_ops *ops = l->backend->ops;
    vg_model *model = l->model;
    if (rest < model->theta->count)
        return ops->adam_part(l->backend, model->theta, model->grad, model->m, model->v,
                              &(vg_adam_range){.count = rest});
    if (l->options.clip_norm > 0)
        VG_TRY(ops->clip(l->backend, model->grad, (float)l->options.clip_norm));
    if (l->options.optimiser == VG_OPTIMISER_SGD)
        return ops->sgd(l->backend, model->theta, model->grad, model->m);
    return ops->adam(l->backend, model->theta, model->grad, model->m, model->v);
}

/* Computes the gradients and runs the optimiser. Where the gradients of the heads are changed after backward
 * (anchor, mask), where all gradients are needed first (clipping), and for SGD it starts at the end of the step. */
static vg_status compute_and_step(vg_learner *l, size_t n) {
    size_t rest = l->model->theta->count;
    bool late = l->anchor || l->mask || l->options.clip_norm > 0 || l->options.optimiser == VG_OPTIMISER_SGD;
    VG_TRY(compute(l, n, late ? NULL : &rest));
    VG_TRY(optimise(l, rest));
    return l->average ? l->backend->ops->block_average(l->backend, l->average, l->model->theta) : VG_OK;
}

vg_status vg_learner__gates(vg_learner *l, double *k) {
    const size_t classes = l->model->net->classes;
    float *values;
    VG_TRY(vg_base__alloc(&values, classes, sizeof *values, "the gate"));
    vg_status status = vg_model__get(l->model, values, l->model->theta, l->model->net->gate);
    for (size_t c = 0; c < classes && status == VG_OK; c++)
        k[c] = vg_gate__k(values[c]);
    vg_base__release(values);
    return status;
}

/* The versions of both change as well: replayed steps change the values without counting, and no cache may mistake
 * one block for the other. */
void vg_learner__exchange(vg_learner *l) {
    vg_block *theta = l->model->theta;
    if (!l->average)
        return;
    l->model->theta = l->average;
    l->average = theta;
    l->average->version++;
    l->model->theta->version++;
}

/* Sends a batch and the values of the step to the device. */
static vg_status send(vg_learner *l, const float *images, const int32_t *labels, const size_t *indices, size_t n,
                      uint32_t number, double rate) {
    vg_backend *b = l->backend;
    VG_TRY(set_step(l, number, rate, 0));
    VG_TRY(batch_room(l, n));
    VG_TRY(b->ops->index_upload(b, vg_tensor__rows(l->labels, n), labels));
    if (l->options.head_bootstrap)
        VG_TRY(bootstrap_weights(l, indices, n));
    return vg_model__input(l->model, images, n);
}

vg_status vg_learner__gradients(vg_learner *l, const float *images, const int32_t *labels, const size_t *indices,
                                size_t n, uint32_t number, double rate) {
    VG_TRY(send(l, images, labels, indices, n, number, rate));
    return compute(l, n, NULL);
}

vg_status vg_learner__step(vg_learner *l, const float *images, const int32_t *labels, const size_t *indices, size_t n,
                           uint32_t number, double rate) {
    VG_TRY(send(l, images, labels, indices, n, number, rate));
    return compute_and_step(l, n);
}

/* --- steps on resident data */

bool vg_learner__takes_store(const vg_learner *l) { return l->backend->ops->store_new && !l->options.head_bootstrap; }

static vg_status stored_step(vg_learner *l, const vg_store *store, size_t n) {
    VG_TRY(vg_model__begin(l->model, n));
    VG_TRY(l->backend->ops->store_batch(l->backend, store, l->model->values[0], vg_tensor__rows(l->labels, n)));
    return compute_and_step(l, n);
}

/* Records the step for batches of n images. A step that cannot be recorded is run operation by operation. */
static void record_step(vg_learner *l, const vg_store *store, size_t n) {
    const vg_backend_ops *ops = l->backend->ops;
    vg_status status = ops->record_begin(l->backend);
    if (status == VG_OK) {
        status = stored_step(l, store, n);
        vg_status end = ops->record_end(l->backend, status == VG_OK ? &l->recorded.recording : NULL);
        status = status == VG_OK ? end : status;
    }
    l->recorded.refused = status != VG_OK;
}

vg_status vg_learner__step_stored(vg_learner *l, const vg_store *store, uint64_t at, size_t n, uint32_t number,
                                  double rate) {
    const vg_backend_ops *ops = l->backend->ops;
    bool known =
        l->recorded.rows == n && ops->record_begin && !l->anchor; /* an anchor's penalty is read back every step */
    VG_TRY(batch_room(l, n));
    VG_TRY(set_step(l, number, rate, at));
    if (known && !l->recorded.recording && !l->recorded.refused)
        record_step(l, store, n);
    if (known && l->recorded.recording)
        return ops->replay(l->backend, l->recorded.recording);
    if (!l->recorded.recording)
        l->recorded.rows = n;
    return stored_step(l, store, n);
}

vg_status vg_learner__refresh(vg_learner *l, const float *images, const vg_store *store, uint64_t at, size_t n,
                              size_t index) {
    vg_pass pass = {VG_REFRESH, false, false, 0, l->model->net->node_count};
    vg_step step = {.seed = l->options.seed, .batch = at, .momentum = (float)(1.0 / (double)(index + 1))};
    VG_TRY(l->backend->ops->step_set(l->backend, &step));
    if (images) {
        VG_TRY(vg_model__input(l->model, images, n));
    } else {
        VG_TRY(batch_room(l, n));
        VG_TRY(vg_model__begin(l->model, n));
        VG_TRY(l->backend->ops->store_batch(l->backend, store, l->model->values[0], vg_tensor__rows(l->labels, n)));
    }
    return vg_model__forward(l->model, &pass);
}
