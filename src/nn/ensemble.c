/* ensemble.c - logits of every ensemble member.
 *
 * Without dropout one pass gives all heads. With dropout, what stands before the first dropout is computed once an image; its
 * results are repeated T times, masked, and the rest of the network runs on (image, pass) rows, many at a time. Row number
 * image * T + pass names the masks, so members do not depend on how rows are cut into batches. */
#include <string.h>

#include "nn/learner.h"

/* Masks of prediction: a step number that no training step has. */
static const uint32_t PREDICTION = 0xFFFFFFFFu;

/* Adds the fixed random network's logits, [n][H*C]; zero where there is none. */
static vg_status prior_logits(vg_learner *l, float *out, const float *images, size_t n) {
    size_t K = l->model->net->heads * l->model->net->classes;
    if (!l->prior) {
        memset(out, 0, n * K * sizeof *out);
        return VG_OK;
    }
    vg_pass pass = {VG_USE_RUNNING, false, false, 0, l->prior->net->node_count};
    VG_TRY(vg_model__input(l->prior, images, n));
    VG_TRY(vg_model__forward(l->prior, &pass));
    return l->backend->ops->tensor_download(l->backend, out, vg_model__logits(l->prior));
}

/* One row of H*C logits (network's and prior's) to the members it gives. */
static void place_row(float *out, const float *z, const float *prior, size_t classes, const vg_members *members, size_t pass) {
    for (size_t g = 0; g < (members->paired ? 1 : members->heads); g++) {
        size_t head = members->paired ? pass : g, member = members->paired ? pass : pass * members->heads + g;
        for (size_t c = 0; c < classes; c++)
            out[member * classes + c] = z[head * classes + c] + prior[head * classes + c];
    }
}

static vg_status predict_plain(vg_learner *l, float *logits, const float *images, size_t n, const vg_members *members,
                               float *work, float *prior) {
    vg_model *model = l->model;
    size_t C = model->net->classes, K = model->net->heads * C;
    vg_pass pass = {model->has_refreshed ? VG_USE_REFRESHED : VG_USE_RUNNING, false, false, 0, model->net->node_count};
    VG_TRY(vg_model__input(model, images, n));
    VG_TRY(vg_model__forward(model, &pass));
    VG_TRY(l->backend->ops->tensor_download(l->backend, work, vg_model__logits(model)));
    VG_TRY(prior_logits(l, prior, images, n));
    for (size_t i = 0; i < n; i++)
        place_row(logits + i * members->count * C, work + i * K, prior + i * K, C, members, 0);
    return VG_OK;
}

/* The node at which rows are repeated: the first dropout's if it drops its input (norm), the next one if it drops its output.
 */
static int cut_of(const vg_network *net) {
    int i = net->first_dropout;
    return i < net->node_count && net->nodes[i].kind == VG_NODE_STAGE ? i + 1 : i;
}

/* Repeats every value that nodes from the cut on read; kept[] are the image-by-image ones. */
static vg_status unfold(vg_model *model, vg_tensor *const *kept, int cut, size_t first, size_t rows, size_t passes) {
    const vg_network *net = model->net;
    vg_backend *b = model->backend;
    int dropped = net->first_dropout < cut ? net->nodes[net->first_dropout].y : -1;
    for (int v = 0; v < net->value_count; v++) {
        if (!kept[v])
            continue;
        vg_dropout dropout = {0, 0};
        if (v == dropped)
            dropout = net->nodes[net->first_dropout].stage.dropout;
        VG_TRY(vg_model__take(model, &model->values[v], kept[v]->kind, rows, kept[v]->shape));
        VG_TRY(b->ops->repeat_rows(b, model->values[v], kept[v], first, passes, dropout));
    }
    return VG_OK;
}

/* What is done with the logits of (image, pass) rows at .. at + z->n - 1 of a piece. */
typedef struct row_sink {
    vg_status (*put)(void *context, vg_tensor *z, size_t at);
    void *context;
} row_sink;

static vg_status masked_rows(vg_learner *l, const float *images, size_t n, uint64_t first, size_t passes, size_t rows,
                             row_sink sink) {
    vg_model *model = l->model;
    vg_backend *b = l->backend;
    size_t total = n * passes;
    int cut = cut_of(model->net);
    vg_tensor *kept[VG_NET_VALUES] = {0};
    vg_step step = {.seed = l->options.seed, .number = PREDICTION};
    vg_pass before = {VG_USE_RUNNING, false, false, 0, cut}, after = {VG_USE_RUNNING, true, false, cut, model->net->node_count};
    VG_TRY(b->ops->step_set(b, &step));
    VG_TRY(vg_model__input(model, images, n));
    VG_TRY(vg_model__forward(model, &before));
    memcpy(kept, model->values, sizeof kept);
    memset(model->values, 0, sizeof model->values);
    for (size_t at = 0; at < total; at += rows) {
        size_t count = total - at < rows ? total - at : rows;
        step.row = first * passes + at;
        VG_TRY(b->ops->step_set(b, &step));
        VG_TRY(unfold(model, kept, cut, at, count, passes));
        VG_TRY(vg_model__forward(model, &after));
        vg_tensor *z = vg_model__logits(model);
        VG_TRY(sink.put(sink.context, z, at));
        vg_model__give(model, z);
    }
    return VG_OK;
}

typedef struct host_rows {
    vg_learner *learner;
    const vg_members *members;
    float *logits, *work;
    const float *prior;
} host_rows;

static vg_status put_on_host(void *context, vg_tensor *z, size_t at) {
    const host_rows *h = context;
    size_t C = h->learner->model->net->classes, K = h->learner->model->net->heads * C, T = h->members->passes;
    VG_TRY(h->learner->backend->ops->tensor_download(h->learner->backend, h->work, z));
    for (size_t r = 0; r < z->n; r++) {
        size_t image = (at + r) / T, pass = (at + r) % T;
        place_row(h->logits + image * h->members->count * C, h->work + r * K, h->prior + image * K, C, h->members, pass);
    }
    return VG_OK;
}

static vg_status predict_masked(vg_learner *l, float *logits, const float *images, size_t n, uint64_t first,
                                const vg_members *members, size_t rows, float *work, float *prior) {
    host_rows h = {l, members, logits, work, prior};
    VG_TRY(prior_logits(l, prior, images, n));
    return masked_rows(l, images, n, first, members->passes, rows, (row_sink){put_on_host, &h});
}

/* Images whose prefix is held at once when passes are folded. */
enum { MASKED_PIECE = 64 };

static vg_status check_members(const vg_learner *l, const vg_members *members, bool *masked) {
    const vg_network *net = l->model->net;
    *masked = members->dropout && net->first_dropout < net->node_count;
    if (members->dropout && !*masked)
        return vg_base__fail(VG_ERR_ARGUMENT, "dropout members were asked for, but the network has no dropout");
    return VG_OK;
}

vg_status vg_learner__predict(vg_learner *l, float *logits, const float *images, size_t n, uint64_t first,
                              const vg_members *members, size_t rows) {
    const vg_network *net = l->model->net;
    size_t K = net->heads * net->classes, image = vg_shape__size(net->input), piece = rows;
    bool masked;
    float *work, *prior;
    VG_TRY(check_members(l, members, &masked));
    if (masked && piece > MASKED_PIECE)
        piece = MASKED_PIECE;
    VG_TRY(vg_base__alloc(&work, rows * K, sizeof *work, "logits"));
    vg_status status = vg_base__alloc(&prior, piece * K, sizeof *prior, "prior logits");
    if (status != VG_OK)
        prior = NULL;
    for (size_t i = 0; i < n && status == VG_OK; i += piece) {
        size_t count = n - i < piece ? n - i : piece;
        float *out = logits + i * members->count * net->classes;
        status = masked ? predict_masked(l, out, images + i * image, count, first + i, members, rows, work, prior)
                        : predict_plain(l, out, images + i * image, count, members, work, prior);
    }
    vg_base__release(work);
    vg_base__release(prior);
    return status;
}

/* --- logits that stay on the device */

typedef struct device_rows {
    vg_learner *learner;
    const vg_members *members;
    const vg_tensor *prior; /* of this piece; NULL: none */
    vg_tensor *piece;       /* where its members go */
} device_rows;

static vg_status put_on_device(void *context, vg_tensor *z, size_t at) {
    const device_rows *d = context;
    const vg_network *net = d->learner->model->net;
    vg_member_rows rows = {net->heads, net->classes, d->members->passes, d->members->heads, d->members->paired, at};
    return d->learner->backend->ops->members(d->learner->backend, d->piece, z, d->prior, &rows);
}

static vg_status piece_there(vg_learner *l, vg_tensor *out, const float *images, size_t n, uint64_t first,
                             const vg_members *members, size_t rows, bool masked) {
    vg_model *model = l->model;
    device_rows d = {l, members, NULL, out};
    if (l->prior) {
        vg_pass fixed = {VG_USE_RUNNING, false, false, 0, l->prior->net->node_count};
        VG_TRY(vg_model__input(l->prior, images, n));
        VG_TRY(vg_model__forward(l->prior, &fixed));
        d.prior = vg_model__logits(l->prior);
    }
    if (masked)
        return masked_rows(l, images, n, first, members->passes, rows, (row_sink){put_on_device, &d});
    vg_pass pass = {model->has_refreshed ? VG_USE_REFRESHED : VG_USE_RUNNING, false, false, 0, model->net->node_count};
    VG_TRY(vg_model__input(model, images, n));
    VG_TRY(vg_model__forward(model, &pass));
    return put_on_device(&d, vg_model__logits(model), 0);
}

vg_status vg_learner__predict_there(vg_learner *l, vg_tensor **logits, const float *images, size_t n, uint64_t first,
                                    const vg_members *members, size_t rows) {
    vg_backend *b = l->backend;
    vg_shape shape = {members->count * l->model->net->classes, 1, 1};
    bool masked;
    VG_TRY(check_members(l, members, &masked));
    if (!b->ops->members)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "logits do not stay on %s", b->device);
    if (n > (masked ? MASKED_PIECE : rows))
        return vg_base__fail(VG_ERR_ARGUMENT, "%zu images at once, at most %zu", n, masked ? (size_t)MASKED_PIECE : rows);
    if (!l->kept || l->kept->capacity < n || l->kept->shape.c != shape.c) {
        b->ops->tensor_free(b, l->kept);
        l->kept = NULL;
        VG_TRY(b->ops->tensor_new(b, &l->kept, VG_TENSOR_PLAIN, masked ? MASKED_PIECE : rows, shape));
    }
    VG_TRY(piece_there(l, vg_tensor__rows(l->kept, n), images, n, first, members, rows, masked));
    *logits = l->kept;
    return VG_OK;
}
