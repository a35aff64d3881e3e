/* predictor.c - a checkpoint opened for prediction. */
#include <math.h>
#include <string.h>

#include "backend/gate.h"
#include "base/c_locale.h"
#include "base/names.h"
#include "nn/checkpoint.h"
#include "nn/predictor.h"
#include "nn/recipe.h"

struct vg_predictor {
    vg_busy busy;
    vg_backend *backend;
    vg_learner *learner;
    vg_recipe recipe;
    vg_train_state state;
    vg_members members;
    vg_ensemble ensemble;
    size_t rows;
    char **class_names; /* in the order of the results; NULL: none */
    size_t *order;      /* class c of the results is class order[c] of the network; NULL: its own order */
    float *ordered;     /* C: one reordered row of logits */
    double *gates;      /* C, in the network's order: the trained k; NULL: the loss was not gated */
};

/* M of a recipe: 0 means the heads, or 100 passes of an MCD network. */
static size_t recipe_members(const vg_recipe *r) {
    return r->members ? r->members : r->ensemble == VG_ENSEMBLE_MCD ? 100 : vg_recipe__heads(r);
}

/* How the members of a recipe are read. Networks that were trained together are read as heads: all in one pass. */
static vg_ensemble recipe_ensemble(const vg_recipe *r) {
    return vg_recipe__is_joint(r) ? VG_ENSEMBLE_LLE : r->ensemble;
}

/* So many members at most: products with the number of images and of classes must fit a size. */
enum { MOST_MEMBERS = 1000000 };

/* Chooses the members that the options ask for. Every refusal says what the checkpoint has. */
static vg_status choose_members(vg_predictor *p, const vg_predictor_options *o) {
    size_t H = vg_recipe__heads(&p->recipe);
    vg_ensemble own = recipe_ensemble(&p->recipe), e = o->ensemble < 0 ? own : (vg_ensemble)o->ensemble;
    size_t wanted = o->members ? o->members : e == own ? recipe_members(&p->recipe) : e == VG_ENSEMBLE_MCD ? 100 : H;
    p->ensemble = e;
    if ((o->passes > 0) != (o->heads > 0))
        return vg_base__fail(VG_ERR_ARGUMENT, "passes and heads go together: M = passes x heads");
    if (o->passes > 0 && e == VG_ENSEMBLE_LLE)
        return vg_base__fail(VG_ERR_ARGUMENT, "passes are for ensembles with dropout: mcd or mcd-lle");
    if (o->heads > H)
        return vg_base__fail(VG_ERR_ARGUMENT, "the checkpoint has %zu heads, %zu were asked for", H, o->heads);
    if (o->members > MOST_MEMBERS || o->passes > MOST_MEMBERS / (o->heads ? o->heads : 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "there are at most %d members, found members %zu, passes %zu, heads %zu",
                             MOST_MEMBERS, o->members, o->passes, o->heads);
    if (o->passes > 0) {
        p->members = (vg_members){true, o->passes, o->heads, false, o->passes * o->heads};
    } else if (e == VG_ENSEMBLE_MCD) {
        if (H != 1 && p->recipe.ensemble != VG_ENSEMBLE_MCD)
            return vg_base__fail(VG_ERR_ARGUMENT,
                                 "the checkpoint has %zu heads: mcd needs one; take mcd-lle, or passes and heads", H);
        p->members = (vg_members){true, wanted, 1, false, wanted};
    } else {
        if (wanted > H)
            return vg_base__fail(VG_ERR_ARGUMENT, "the checkpoint has %zu heads, %zu members were asked for", H,
                                 wanted);
        p->members = e == VG_ENSEMBLE_LLE ? (vg_members){false, 1, wanted, false, wanted}
                                          : (vg_members){true, wanted, 1, true, wanted};
    }
    return VG_OK;
}

static vg_status open_all(vg_predictor *p, const char *checkpoint, const vg_predictor_options *o) {
    VG_TRY(vg_checkpoint__peek(checkpoint, &p->recipe, &p->state));
    VG_TRY(choose_members(p, o));
    vg_backend_options device = {.threads = o->threads,
                                 .compute = (vg_compute)(o->compute < 0 ? p->recipe.bfloat16 : o->compute)};
    VG_TRY(vg_backend__open(&p->backend, o->device, &device));
    p->rows = o->rows ? o->rows : p->backend->rows ? p->backend->rows : 128;
    vg_learner_options lo = vg_checkpoint__learner_options(&p->recipe, &p->state, false);
    VG_TRY(vg_learner__new(&p->learner, p->backend, &lo));
    VG_TRY(vg_checkpoint__names(&p->class_names, checkpoint, p->state.classes));
    VG_TRY(vg_checkpoint__gates(&p->gates, checkpoint, p->state.classes));
    return vg_checkpoint__load(checkpoint, p->learner, false);
}

vg_status vg_predictor_open(vg_predictor **out, const char *checkpoint, const vg_predictor_options *options) {
    VG_TRY(vg_base__given(out != NULL, "vg_predictor_open: out"));
    VG_IN_C_LOCALE;
    static const vg_predictor_options defaults = VG_PREDICTOR_OPTIONS_INIT;
    vg_predictor_options o;
    vg_predictor *p;
    *out = NULL;
    VG_TRY(vg_base__given(checkpoint != NULL, "vg_predictor_open: checkpoint"));
    VG_TRY(vg_base__take_options(&o, options, &defaults, sizeof o, "vg_predictor_options"));
    if (o.ensemble > VG_ENSEMBLE_MCD_LLE)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_predictor_options.ensemble is %d, expected -1 to %d", o.ensemble,
                             VG_ENSEMBLE_MCD_LLE);
    VG_TRY(vg_base__zalloc(&p, 1, sizeof *p, "predictor"));
    vg_status status = open_all(p, checkpoint, &o);
    if (status != VG_OK) {
        vg_predictor_free(p);
        return status;
    }
    vg_backend__leave(p->backend);
    *out = p;
    return VG_OK;
}

void vg_predictor_free(vg_predictor *p) {
    if (!p)
        return;
    if (p->backend)
        (void)vg_backend__enter(p->backend); /* what is on a lost device is freed on the host too */
    vg_learner__free(p->learner);
    vg_backend__close(p->backend);
    vg_checkpoint__free_names(p->class_names, p->state.classes);
    vg_base__release(p->order);
    vg_base__release(p->ordered);
    vg_base__release(p->gates);
    vg_base__release(p);
}

vg_predictor_info vg_predictor__info(const vg_predictor *p) {
    vg_predictor_info info = {.struct_size = sizeof(vg_predictor_info),
                              .members = p->members.count,
                              .classes = p->state.classes,
                              .channels = p->state.channels,
                              .height = p->state.height,
                              .width = p->state.width,
                              .ensemble = p->ensemble,
                              .recipe = &p->recipe,
                              .epoch = p->state.epoch,
                              .device = p->backend->device,
                              .class_names = (const char *const *)p->class_names,
                              .class_k = p->order ? NULL : p->gates};
    memcpy(info.mean, p->state.mean, sizeof info.mean);
    memcpy(info.std, p->state.std, sizeof info.std);
    return info;
}

vg_status vg_predictor_describe(vg_predictor_info *out, const vg_predictor *predictor) {
    if (!out || !predictor)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_predictor_describe: out and predictor must not be NULL");
    vg_predictor_info info = vg_predictor__info(predictor);
    return vg_base__give_result(out, &info, sizeof info, "vg_predictor_info");
}

/* Finds order[c] for the given names; *same becomes true when they are in the network's own order. */
static vg_status find_order(size_t *order, bool *same, const vg_predictor *p, const char *const *names) {
    const char *const *own = (const char *const *)p->class_names;
    char list[300];
    size_t classes = p->state.classes;
    *same = true;
    for (size_t c = 0; c < classes; c++) {
        order[c] = vg_names__find(own, classes, names[c]);
        if (order[c] == classes)
            return vg_base__fail(VG_ERR_DATA, "class '%.100s' is none of this network's classes: %s", names[c],
                                 vg_names__list(list, sizeof list, own, classes));
        *same = *same && order[c] == c;
    }
    return VG_OK;
}

vg_status vg_predictor__order_classes(vg_predictor *p, const char *const *names, size_t count) {
    size_t classes = p->state.classes, *order;
    bool same = true;
    if (!p->class_names || p->order)
        return vg_base__fail(VG_ERR_ARGUMENT, "the network's class names are not known, or were ordered already");
    if (count != classes)
        return vg_base__fail(VG_ERR_DATA, "%zu class names for a network of %zu classes", count, classes);
    VG_TRY(vg_base__alloc(&order, classes, sizeof *order, "an order of classes"));
    vg_status status = find_order(order, &same, p, names);
    if (status == VG_OK && !same)
        status = vg_base__alloc(&p->ordered, classes, sizeof *p->ordered, "a row of logits");
    if (status != VG_OK || same) {
        vg_base__release(order);
        return status;
    }
    char **own = p->class_names;
    status = vg_base__alloc(&p->class_names, classes, sizeof *own, "class names");
    if (status != VG_OK) {
        p->class_names = own;
        vg_base__release(order);
        return status;
    }
    for (size_t c = 0; c < classes; c++)
        p->class_names[c] = own[order[c]];
    vg_base__release(own);
    p->order = order;
    return VG_OK;
}

static vg_status predictor_run_alone(vg_predictor *p, float *logits, const float *images, size_t n, uint64_t first) {
    size_t classes = p->state.classes;
    VG_TRY(vg_backend__enter(p->backend));
    vg_status status = vg_learner__predict(p->learner, logits, images, n, first, &p->members, p->rows);
    vg_backend__leave(p->backend);
    VG_TRY(status);
    for (size_t r = 0; p->order && r < n * p->members.count; r++) {
        float *row = logits + r * classes;
        for (size_t c = 0; c < classes; c++)
            p->ordered[c] = row[p->order[c]];
        memcpy(row, p->ordered, classes * sizeof *row);
    }
    return VG_OK;
}

vg_status vg_predictor_run(vg_predictor *p, float *logits, const float *images, size_t n, uint64_t first) {
    VG_TRY(vg_base__given(p && ((logits && images) || n == 0), "vg_predictor_run: predictor, logits and images"));
    vg_status status;
    VG_ALONE(status, &p->busy, "the predictor", predictor_run_alone(p, logits, images, n, first));
    return status;
}

size_t vg_predictor__piece(const vg_predictor *p) { return p->members.dropout && p->rows > 64 ? 64 : p->rows; }

bool vg_predictor__is_on_gpu(const vg_predictor *p) { return p->backend->ops->tensor_address != NULL; }

vg_status vg_predictor__stay(vg_predictor *p) { return vg_backend__enter(p->backend); }

vg_status vg_predictor__run_on_device(vg_predictor *p, const float **logits, void **stream, const float *images,
                                      size_t n, uint64_t first) {
    vg_tensor *kept;
    if (p->order)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "logits in another order of classes are given in host memory");
    if (!vg_predictor__is_on_gpu(p))
        return vg_base__fail(VG_ERR_UNSUPPORTED, "the network runs on %s: its logits are in host memory",
                             p->backend->device);
    VG_TRY(vg_predictor__stay(p)); /* the caller goes on with the logits there */
    VG_TRY(vg_learner__predict_on_device(p->learner, &kept, images, n, first, &p->members, p->rows));
    return p->backend->ops->tensor_address(p->backend, kept, logits, stream);
}

void vg_nn__softmax_rows(float *values, size_t rows, size_t classes) {
    for (size_t r = 0; r < rows; r++) {
        float *p = values + r * classes, top = -INFINITY;
        double sum = 0;
        for (size_t c = 0; c < classes; c++)
            top = p[c] > top ? p[c] : top;
        for (size_t c = 0; c < classes; c++)
            sum += exp((double)p[c] - top);
        for (size_t c = 0; c < classes; c++)
            p[c] = (float)(exp((double)p[c] - top) / sum);
    }
}

/* Gamma of every class of one sample, from its members. */
static void gate_sample(double *gamma, const float *p, size_t members, size_t classes, const double *k) {
    for (size_t c = 0; c < classes; c++) {
        double sum = 0, squares = 0;
        for (size_t m = 0; m < members; m++)
            sum += p[m * classes + c];
        const double mean = sum / (double)members;
        for (size_t m = 0; m < members; m++)
            squares += (p[m * classes + c] - mean) * (p[m * classes + c] - mean);
        const double spread = sqrt(squares / (double)members) + VG_GATE_EPSILON;
        gamma[c] = fmax(-expm1(-mean / (k[c] * spread)), VG_GATE_FLOOR);
    }
}

vg_status vg_nn__gate_rows(float *values, size_t n, size_t members, size_t classes, const double *k) {
    double *gamma;
    VG_TRY(vg_base__alloc(&gamma, classes, sizeof *gamma, "the gate"));
    for (size_t i = 0; i < n; i++) {
        float *sample = values + i * members * classes;
        gate_sample(gamma, sample, members, classes, k);
        for (size_t m = 0; m < members; m++) {
            float *p = sample + m * classes;
            double whole = 0;
            for (size_t c = 0; c < classes; c++)
                whole += p[c] * gamma[c];
            for (size_t c = 0; c < classes && whole > VG_GATE_FLOOR; c++)
                p[c] = (float)(p[c] * gamma[c] / whole);
        }
    }
    vg_base__release(gamma);
    return VG_OK;
}
