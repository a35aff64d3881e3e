/* checkpoint.c - checkpoints: .safetensors that any reader of that format opens.
 *
 *   NAME                           parameters, float32, PyTorch's shapes: (o, i, h, w), (o, i*h*w), (o)
 *   gate.l                         (C), loss gated: k = softplus(l) + 1e-8
 *   networkN.NAME                  the parameters of network N of a deep ensemble that was trained together
 *   NORM.running_mean, _var        batch-norm statistics; NORM.refreshed_mean, _var: the set taken without dropout
 *                                  with ema their running mean, and raw/NAME what is trained (last.safetensors only)
 *   adam.m/NAME, adam.v/NAME       moments of Adam and AdamW; sgd.momentum/NAME: of SGD (last.safetensors only)
 *   prior/NAME                     the fixed random network of head_prior
 *   heads.mask                     (H*C, F) uint8, head_features;  heads.start/weight, heads.start/bias: head_anchor
 * Metadata: "recipe" (YAML), "state" (JSON: see vg_train_state), "vargate" (version), "classes" (JSON list of the class
 * names, in the order of the logits; missing when the data has none). The writer renames the
 * finished file into place, so that an incomplete checkpoint never has the name of one. */
#include "nn/checkpoint.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/gate.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "formats/arrays.h"
#include "nn/recipe.h"
#include "vargate/formats.h"

enum { NAME_ROOM = VG_NET_NAME + 32 };
static const char GATE[] = "gate.l";

vg_learner_options vg_checkpoint__learner_options(const vg_recipe *r, const vg_train_state *s, bool training) {
    return (vg_learner_options){
        .network = vg_network__spec_of(r, (vg_shape){s->channels, s->height, s->width}, s->classes),
        .loss = (vg_loss_form)r->loss,
        .head_features = r->head_features,
        .head_prior = r->head_prior,
        .head_bootstrap = r->head_bootstrap != 0,
        .head_init_scale = r->head_init_scale,
        .uniform_init = r->init == 1,
        .head_anchor = r->head_anchor,
        .optimiser = (vg_optimiser)r->optimiser,
        .weight_decay = r->weight_decay,
        .beta1 = r->beta1,
        .beta2 = r->beta2,
        .epsilon = r->epsilon,
        .momentum = r->momentum,
        .nesterov = r->nesterov != 0,
        .clip_norm = r->clip_norm,
        .ema = r->ema,
        .label_smoothing = r->label_smoothing,
        .seed = r->seed,
        .training = training,
    };
}

/* --- arrays, saved and loaded by the same functions */

/* Exactly one of the two is not NULL. Saving and loading visit the arrays in the same order. */
typedef struct transfer {
    vg_writer *writer;
    vg_source *source;
    const char *path;
    float *work;
} transfer;

static size_t shape_of(const vg_param *p, size_t shape[4]) {
    if (p->kind == VG_PARAM_CONV) {
        size_t all[4] = {p->o, p->i, p->h, p->w};
        memcpy(shape, all, sizeof all);
        return 4;
    }
    shape[0] = p->o;
    shape[1] = p->i * p->h * p->w;
    return p->kind == VG_PARAM_LINEAR ? 2 : 1;
}

static vg_status read_array(transfer *w, const char *name, size_t rank, const size_t *shape, float *values) {
    size_t index;
    vg_array_info info;
    VG_TRY(vg_source__find(w->source, name, &index));
    VG_TRY(vg_source__info(w->source, index, &info));
    if (info.rank != rank || memcmp(info.shape, shape, rank * sizeof *shape) != 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: array '%s' has shape (%zu%s%zu...), the network expects (%zu%s%zu...)",
                             w->path, name, info.rank ? info.shape[0] : 0, info.rank > 1 ? ", " : "",
                             info.rank > 1 ? info.shape[1] : 0, shape[0], rank > 1 ? ", " : "",
                             rank > 1 ? shape[1] : 0);
    return vg_source__read_f32(w->source, index, 0, shape[0], values);
}

static vg_status pass_block(transfer *w, vg_model *model, vg_block *block, const char *prefix) {
    for (int i = 0; i < model->net->param_count; i++) {
        char name[NAME_ROOM];
        size_t shape[4], rank = shape_of(&model->params[i], shape);
        snprintf(name, sizeof name, "%s%s", prefix, model->net->params[i].name);
        if (w->writer) {
            VG_TRY(vg_model__get(model, w->work, block, i));
            VG_TRY(vg_writer_array(w->writer, name, VG_ELEMENT_F32, rank, shape, w->work));
        } else {
            VG_TRY(read_array(w, name, rank, shape, w->work));
            VG_TRY(vg_model__set(model, block, i, w->work));
        }
    }
    return VG_OK;
}

static vg_status pass_statistics(transfer *w, vg_model *model, vg_tensor *const *set, const char *prefix) {
    vg_backend *b = model->backend;
    for (int i = 0; i < model->net->norm_count; i++) {
        size_t c = set[i]->shape.c;
        if (w->writer)
            VG_TRY(b->ops->tensor_download(b, w->work, set[i]));
        for (int k = 0; k < 2; k++) {
            char name[NAME_ROOM];
            snprintf(name, sizeof name, "%s.%s_%s", model->net->norm_names[i], prefix, k ? "var" : "mean");
            if (w->writer)
                VG_TRY(vg_writer_array(w->writer, name, VG_ELEMENT_F32, 1, &c, w->work + (size_t)k * c));
            else
                VG_TRY(read_array(w, name, 1, &c, w->work + (size_t)k * c));
        }
        if (w->source)
            VG_TRY(b->ops->tensor_upload(b, set[i], w->work));
    }
    return VG_OK;
}

static vg_status pass_mask(transfer *w, vg_learner *l) {
    const vg_network *net = l->model->net;
    size_t rows = net->heads * net->classes;
    size_t shape[2] = {rows, vg_param__count(&l->model->params[net->nodes[net->node_count - 1].w]) / rows};
    size_t count = shape[0] * shape[1];
    if (w->source)
        return read_array(w, "heads.mask", 2, shape, l->feature_mask);
    unsigned char *bytes = (unsigned char *)w->work;
    for (size_t i = 0; i < count; i++)
        bytes[i] = l->feature_mask[i] > 0;
    return vg_writer_array(w->writer, "heads.mask", VG_ELEMENT_U8, 2, shape, bytes);
}

static vg_status pass_anchor(transfer *w, vg_learner *l) {
    const vg_node *last = &l->model->net->nodes[l->model->net->node_count - 1];
    size_t ws[4], bs[4];
    size_t wr = shape_of(&l->model->params[last->w], ws), br = shape_of(&l->model->params[last->b], bs);
    if (w->source) {
        VG_TRY(read_array(w, "heads.start/weight", wr, ws, l->anchor_weight));
        return read_array(w, "heads.start/bias", br, bs, l->anchor_bias);
    }
    VG_TRY(vg_writer_array(w->writer, "heads.start/weight", VG_ELEMENT_F32, wr, ws, l->anchor_weight));
    return vg_writer_array(w->writer, "heads.start/bias", VG_ELEMENT_F32, br, bs, l->anchor_bias);
}

static vg_status pass_all(transfer *w, vg_learner *l, bool full) {
    vg_model *model = l->model;
    size_t largest = 2 * 65536;
    const vg_model *models[2] = {model, l->prior};
    for (int k = 0; k < 2; k++)
        for (int i = 0; models[k] && i < models[k]->net->param_count; i++) {
            size_t count = vg_param__count(&models[k]->params[i]);
            largest = count > largest ? count : largest;
        }
    VG_TRY(vg_base__alloc(&w->work, largest, sizeof(float), "checkpoint"));
    VG_TRY(pass_block(w, model, l->average ? l->average : model->theta, ""));
    VG_TRY(pass_statistics(w, model, model->running, "running"));
    if (model->has_refreshed)
        VG_TRY(pass_statistics(w, model, model->refreshed, "refreshed"));
    if (l->prior)
        VG_TRY(pass_block(w, l->prior, l->prior->theta, "prior/"));
    if (l->feature_mask)
        VG_TRY(pass_mask(w, l));
    if (l->anchor_weight)
        VG_TRY(pass_anchor(w, l));
    if (!full)
        return VG_OK;
    if (l->average)
        VG_TRY(pass_block(w, model, model->theta, "raw/"));
    if (l->options.optimiser == VG_OPTIMISER_SGD)
        return l->options.momentum > 0 ? pass_block(w, model, model->m, "sgd.momentum/") : VG_OK;
    VG_TRY(pass_block(w, model, model->m, "adam.m/"));
    return pass_block(w, model, model->v, "adam.v/");
}

/* --- the state as JSON */

static vg_status state_text(char **out, const vg_train_state *s, const vg_learner *l) {
    json_t *mean = json_array(), *std = json_array();
    bool ok = true;
    for (size_t i = 0; i < 16; i++) {
        vg_base__json_add(mean, json_real(s->mean[i]), &ok);
        vg_base__json_add(std, json_real(s->std[i]), &ok);
    }
    json_t *state = json_pack(
        "{s:I, s:I, s:I, s:f, s:I, s:I, s:f, s:I, s:f, s:f, s:f, s:I, s:b, s:I, s:I, s:I, s:I, s:b, s:o, s:o, s:I, "
        "s:f, "
        "s:I}",
        "epoch", (json_int_t)s->epoch, "step", (json_int_t)s->step, "total_steps", (json_int_t)s->total_steps,
        "loss_sum", s->loss_sum, "loss_rows", (json_int_t)s->loss_rows, "correct", (json_int_t)s->correct, "seconds",
        s->seconds, "best_epoch", (json_int_t)s->best_epoch, "best_accuracy", s->best_accuracy, "best_loss",
        s->best_loss, "peak_diversity", s->peak_diversity, "low_epochs", (json_int_t)s->low_epochs, "collapsed",
        s->collapsed, "channels", (json_int_t)s->channels, "height", (json_int_t)s->height, "width",
        (json_int_t)s->width, "classes", (json_int_t)s->classes, "refreshed", l->model->has_refreshed, "mean", mean,
        "std", std, "threads", (json_int_t)s->threads, "lowest_loss", s->lowest_loss, "waited", (json_int_t)s->waited);
    *out = ok ? vg_base__json_text(state, JSON_REAL_PRECISION(17) | JSON_SORT_KEYS) : NULL;
    json_decref(state);
    return *out ? VG_OK : vg_base__fail(VG_ERR_MEMORY, "out of memory for the state of training");
}

static size_t whole(const json_t *object, const char *key) {
    json_int_t v = json_integer_value(json_object_get(object, key));
    return v > 0 ? (size_t)v : 0;
}

static double real(const json_t *object, const char *key) { return json_number_value(json_object_get(object, key)); }

static vg_status state_read(vg_train_state *s, bool *refreshed, const char *path, const char *text) {
    json_error_t error = {.line = 0};
    json_t *j = text ? vg_base__json_load(text, strlen(text), 0, &error) : NULL;
    memset(s, 0, sizeof *s);
    if (vg_base__json_no_memory(&error))
        return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for the state of training", path);
    if (!j || !json_object_get(j, "epoch") || !json_object_get(j, "classes"))
        return json_decref(j),
               vg_base__fail(VG_ERR_FORMAT, "%s: not a vargate checkpoint: no state of training in it", path);
    s->epoch = whole(j, "epoch");
    s->step = whole(j, "step");
    s->total_steps = whole(j, "total_steps");
    s->loss_sum = real(j, "loss_sum");
    s->loss_rows = whole(j, "loss_rows");
    s->correct = whole(j, "correct");
    s->seconds = real(j, "seconds");
    s->best_epoch = whole(j, "best_epoch");
    s->best_accuracy = real(j, "best_accuracy");
    s->best_loss = real(j, "best_loss");
    s->peak_diversity = real(j, "peak_diversity");
    s->low_epochs = whole(j, "low_epochs");
    s->collapsed = json_is_true(json_object_get(j, "collapsed"));
    s->channels = whole(j, "channels");
    s->height = whole(j, "height");
    s->width = whole(j, "width");
    s->classes = whole(j, "classes");
    s->threads = (unsigned)whole(j, "threads");
    s->lowest_loss = real(j, json_object_get(j, "lowest_loss") ? "lowest_loss" : "best_loss");
    s->waited = whole(j, "waited");
    for (size_t i = 0; i < 16; i++) {
        s->mean[i] = json_number_value(json_array_get(json_object_get(j, "mean"), i));
        s->std[i] = json_number_value(json_array_get(json_object_get(j, "std"), i));
    }
    if (refreshed)
        *refreshed = json_is_true(json_object_get(j, "refreshed"));
    json_decref(j);
    return VG_OK;
}

/* --- files */

static vg_status names_text(char **out, const char *const *names, size_t count) {
    json_t *list = json_array();
    bool ok = true;
    for (size_t i = 0; i < count; i++) {
        if (!vg_printable__is_utf8(names[i])) {
            json_decref(list);
            return vg_base__fail(VG_ERR_DATA, "the name of class %zu is not UTF-8", i);
        }
        vg_base__json_add(list, json_string(names[i]), &ok);
    }
    *out = ok ? vg_base__json_text(list, 0) : NULL;
    json_decref(list);
    return *out ? VG_OK : vg_base__fail(VG_ERR_MEMORY, "out of memory for the class names");
}

typedef struct texts {
    char *recipe, *state, *names;
} texts;

static vg_status make_texts(texts *t, const vg_learner *l, const vg_recipe *recipe, const vg_train_state *state,
                            const char *const *class_names) {
    VG_TRY(vg_recipe_text(&t->recipe, recipe));
    VG_TRY(state_text(&t->state, state, l));
    return class_names ? names_text(&t->names, class_names, state->classes) : VG_OK;
}

static vg_status write_texts(vg_writer *writer, const texts *t) {
    VG_TRY(vg_writer__metadata(writer, "vargate", vg_version()));
    VG_TRY(vg_writer__metadata(writer, "recipe", t->recipe));
    VG_TRY(vg_writer__metadata(writer, "state", t->state));
    return t->names ? vg_writer__metadata(writer, "classes", t->names) : VG_OK;
}

vg_status vg_checkpoint__save(const char *path, vg_learner *l, const vg_recipe *recipe, const vg_train_state *state,
                              const char *const *class_names, bool full) {
    transfer w = {.path = path};
    texts t = {0};
    VG_TRY(vg_writer_open(&w.writer, path));
    vg_status status = make_texts(&t, l, recipe, state, class_names);
    if (status == VG_OK)
        status = write_texts(w.writer, &t);
    if (status == VG_OK)
        status = pass_all(&w, l, full);
    vg_free(t.recipe);
    free(t.state);
    free(t.names);
    vg_base__release(w.work);
    if (status != VG_OK) {
        vg_writer_abandon(w.writer);
        return status;
    }
    return vg_writer_close(w.writer);
}

static vg_status names_from_text(char **names, const char *path, const char *text, size_t classes) {
    json_error_t error = {.line = 0};
    json_t *list = vg_base__json_load(text, strlen(text), 0, &error);
    if (vg_base__json_no_memory(&error))
        return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for the names of its classes", path);
    vg_status status = json_is_array(list) && json_array_size(list) == classes
                           ? VG_OK
                           : vg_base__fail(VG_ERR_FORMAT, "%s: its class names are not a list of %zu", path, classes);
    for (size_t i = 0; i < classes && status == VG_OK; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        status = name ? vg_base__strdup(&names[i], name)
                      : vg_base__fail(VG_ERR_FORMAT, "%s: the name of class %zu is not a text", path, i);
    }
    json_decref(list);
    return status;
}

vg_status vg_checkpoint__names(char ***out, const char *path, size_t classes) {
    vg_source *source;
    char **names;
    *out = NULL;
    VG_TRY(vg_source__open(&source, path));
    const char *text = vg_source__metadata(source, "classes");
    vg_status status = VG_OK;
    if (text) {
        status = vg_base__zalloc(&names, classes + 1, sizeof *names, "class names");
        if (status == VG_OK) {
            status = names_from_text(names, path, text, classes);
            if (status == VG_OK)
                *out = names;
            else
                vg_checkpoint__free_names(names, classes);
        }
    }
    vg_source__close(source);
    return status;
}

static vg_status read_gates(double *k, vg_source *source, const char *path, size_t classes) {
    transfer w = {.source = source, .path = path};
    float *l;
    VG_TRY(vg_base__alloc(&l, classes, sizeof *l, "the gate"));
    vg_status status = read_array(&w, GATE, 1, &classes, l);
    for (size_t c = 0; c < classes && status == VG_OK; c++)
        k[c] = vg_gate__k(l[c]);
    vg_base__release(l);
    return status;
}

vg_status vg_checkpoint__gates(double **out, const char *path, size_t classes) {
    vg_source *source;
    size_t index;
    *out = NULL;
    VG_TRY(vg_source__open(&source, path));
    vg_status status = VG_OK;
    if (vg_source__find(source, GATE, &index) == VG_OK)
        status = vg_base__alloc(out, classes, sizeof **out, "the gate");
    if (*out && status == VG_OK)
        status = read_gates(*out, source, path, classes);
    vg_source__close(source);
    if (status != VG_OK) {
        vg_base__release(*out);
        *out = NULL;
    }
    return status;
}

vg_status vg_checkpoint__check_names(const char *const *names, size_t classes) {
    char *text;
    VG_TRY(names_text(&text, names, classes));
    free(text);
    return VG_OK;
}

void vg_checkpoint__free_names(char **names, size_t classes) {
    for (size_t i = 0; names && i < classes; i++)
        vg_base__release(names[i]);
    vg_base__release(names);
}

static vg_status recipe_from_text(vg_recipe *recipe, const char *path, const char *text) {
    if (!text)
        return vg_base__fail(VG_ERR_FORMAT, "%s: not a vargate checkpoint: no recipe in it", path);
    bool split_known = false;
    vg_recipe_defaults(recipe);
    for (const char *line = text; *line;) { /* written by vg_recipe_text: one key per line */
        char one[8192];
        size_t length = strcspn(line, "\n"), colon = strcspn(line, ":");
        if (length >= sizeof one || colon >= length)
            return vg_base__fail(VG_ERR_FORMAT, "%s: its recipe is damaged", path);
        memcpy(one, line, length);
        one[length] = 0;
        one[colon] = '=';
        VG_TRY(vg_recipe_set(recipe, one));
        split_known = split_known || strncmp(one, "split_seed=", 11) == 0;
        line += length + (line[length] == '\n');
    }
    if (!split_known) /* older checkpoints: the split used the seed */
        recipe->split_seed = recipe->seed;
    if (!recipe->k_count) { /* older versions allowed an empty list */
        recipe->k[0] = 1;
        recipe->k_count = 1;
    }
    return vg_recipe__check(recipe);
}

vg_status vg_checkpoint__peek(const char *path, vg_recipe *recipe, vg_train_state *state) {
    vg_source *source;
    VG_TRY(vg_source__open(&source, path));
    vg_status status = state_read(state, NULL, path, vg_source__metadata(source, "state"));
    if (status == VG_OK)
        status = recipe_from_text(recipe, path, vg_source__metadata(source, "recipe"));
    vg_source__close(source);
    return status;
}

vg_status vg_checkpoint__load(const char *path, vg_learner *l, bool full) {
    transfer w = {.path = path};
    vg_train_state state;
    VG_TRY(vg_source__open(&w.source, path));
    vg_status status = state_read(&state, &l->model->has_refreshed, path, vg_source__metadata(w.source, "state"));
    if (status == VG_OK)
        status = pass_all(&w, l, full);
    vg_base__release(w.work);
    vg_source__close(w.source);
    return status == VG_OK ? vg_learner__place_heads(l) : status;
}
