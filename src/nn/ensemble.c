/* ensemble.c - logits of every ensemble member.
 *
 * Without dropout one pass gives all heads. With dropout, the layers before the first dropout are computed once per
 * image; their results are repeated T times and masked, and the rest of the network runs on (image, pass) rows, many at
 * a time. The masks depend on the row number image * T + pass, so members do not depend on how rows are cut into
 * batches. */
#include <string.h>

#include "nn/learner.h"

/* The step number of prediction, which no training step has: it selects the dropout masks. */
static const uint32_t PREDICTION = 0xFFFFFFFFu;

/* Writes the logits of the fixed random network, [n][H*C]; zero where there is none. */
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

/* Images that are predicted together: the first is number `first` of its set. */
typedef struct image_piece {
    const float *images;
    size_t n;
    uint64_t first;
} image_piece;

/* Copies one row of H*C logits (network plus prior) to the members that it gives. */
static void place_row(float *out, const float *z, const float *prior, size_t classes, const vg_members *members,
                      size_t pass) {
    for (size_t g = 0; g < (members->paired ? 1 : members->heads); g++) {
        size_t head = members->paired ? pass : g, member = members->paired ? pass : pass * members->heads + g;
        for (size_t c = 0; c < classes; c++)
            out[member * classes + c] = z[head * classes + c] + prior[head * classes + c];
    }
}

/* The members of a piece in host memory. */
typedef struct host_rows {
    vg_learner *learner;
    const vg_members *members;
    float *logits; /* [n][M][C] of the piece */
    float *work;   /* H*C for each row computed at once */
    float *prior;  /* [n][H*C] */
} host_rows;

static vg_pass pass_without_dropout(const vg_model *model) {
    return (vg_pass){model->has_refreshed ? VG_USE_REFRESHED : VG_USE_RUNNING, false, false, 0, model->net->node_count};
}

static vg_status predict_plain(host_rows *h, const image_piece *piece) {
    vg_learner *l = h->learner;
    vg_model *model = l->model;
    size_t C = model->net->classes, K = model->net->heads * C;
    vg_pass pass = pass_without_dropout(model);
    VG_TRY(vg_model__input(model, piece->images, piece->n));
    VG_TRY(vg_model__forward(model, &pass));
    VG_TRY(l->backend->ops->tensor_download(l->backend, h->work, vg_model__logits(model)));
    VG_TRY(prior_logits(l, h->prior, piece->images, piece->n));
    for (size_t i = 0; i < piece->n; i++)
        place_row(h->logits + i * h->members->count * C, h->work + i * K, h->prior + i * K, C, h->members, 0);
    return VG_OK;
}

/* The node at which rows are repeated: the first dropout's node if it drops its input (norm), the next node if it drops
 * its output. */
static int cut_of(const vg_network *net) {
    int i = net->first_dropout;
    return i < net->node_count && net->nodes[i].kind == VG_NODE_POOLING ? i + 1 : i;
}

/* Repeats every value that nodes from the cut on read, `passes` times. kept[] has one row per image. */
static vg_status unfold(vg_model *model, vg_tensor *const *kept, int cut, size_t first, size_t rows, size_t passes) {
    const vg_network *net = model->net;
    vg_backend *b = model->backend;
    int dropped = net->first_dropout < cut ? net->nodes[net->first_dropout].y : -1;
    for (int v = 0; v < net->value_count; v++) {
        if (!kept[v])
            continue;
        vg_dropout dropout = {0, 0};
        if (v == dropped)
            dropout = net->nodes[net->first_dropout].pooling.dropout;
        VG_TRY(vg_model__take(model, &model->values[v], kept[v]->kind, rows, kept[v]->shape));
        VG_TRY(b->ops->repeat_rows(b, model->values[v], kept[v], first, passes, dropout));
    }
    return VG_OK;
}

/* Receives the logits of (image, pass) rows at .. at + z->n - 1 of a piece. */
typedef struct row_sink {
    vg_status (*put)(void *context, vg_tensor *z, size_t at);
    void *context;
} row_sink;

static vg_status masked_rows(vg_learner *l, const image_piece *piece, size_t passes, size_t rows, row_sink sink) {
    vg_model *model = l->model;
    vg_backend *b = l->backend;
    size_t total = piece->n * passes;
    int cut = cut_of(model->net);
    vg_tensor *kept[VG_NET_VALUES] = {0};
    vg_step step = {.seed = l->options.seed, .number = PREDICTION};
    vg_pass before = {VG_USE_RUNNING, false, false, 0, cut},
            after = {VG_USE_RUNNING, true, false, cut, model->net->node_count};
    VG_TRY(b->ops->step_set(b, &step));
    VG_TRY(vg_model__input(model, piece->images, piece->n));
    VG_TRY(vg_model__forward(model, &before));
    memcpy(kept, model->values, sizeof kept);
    memset(model->values, 0, sizeof model->values);
    for (size_t at = 0; at < total; at += rows) {
        size_t count = total - at < rows ? total - at : rows;
        step.row = piece->first * passes + at;
        VG_TRY(b->ops->step_set(b, &step));
        VG_TRY(unfold(model, kept, cut, at, count, passes));
        VG_TRY(vg_model__forward(model, &after));
        vg_tensor *z = vg_model__logits(model);
        VG_TRY(sink.put(sink.context, z, at));
        vg_model__give(model, z);
    }
    return VG_OK;
}

static vg_status put_on_host(void *context, vg_tensor *z, size_t at) {
    const host_rows *h = context;
    size_t C = h->learner->model->net->classes, K = h->learner->model->net->heads * C, T = h->members->passes;
    VG_TRY(h->learner->backend->ops->tensor_download(h->learner->backend, h->work, z));
    for (size_t r = 0; r < z->n; r++) {
        size_t image = (at + r) / T, pass = (at + r) % T;
        place_row(h->logits + image * h->members->count * C, h->work + r * K, h->prior + image * K, C, h->members,
                  pass);
    }
    return VG_OK;
}

static vg_status predict_masked(host_rows *h, const image_piece *piece, size_t rows) {
    VG_TRY(prior_logits(h->learner, h->prior, piece->images, piece->n));
    return masked_rows(h->learner, piece, h->members->passes, rows, (row_sink){put_on_host, h});
}

/* The number of images whose values before the cut are held at once. */
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
    size_t K = net->heads * net->classes, image = vg_shape__size(net->input), step = rows;
    host_rows h = {.learner = l, .members = members};
    bool masked;
    VG_TRY(check_members(l, members, &masked));
    if (masked && step > MASKED_PIECE)
        step = MASKED_PIECE;
    vg_status status = vg_base__alloc(&h.work, rows * K, sizeof *h.work, "logits");
    if (status == VG_OK)
        status = vg_base__alloc(&h.prior, step * K, sizeof *h.prior, "prior logits");
    for (size_t i = 0; i < n && status == VG_OK; i += step) {
        image_piece piece = {images + i * image, n - i < step ? n - i : step, first + i};
        h.logits = logits + i * members->count * net->classes;
        status = masked ? predict_masked(&h, &piece, rows) : predict_plain(&h, &piece);
    }
    vg_base__release(h.work);
    vg_base__release(h.prior);
    return status;
}

/* --- logits that stay on the device */

typedef struct device_rows {
    vg_learner *learner;
    const vg_members *members;
    const vg_tensor *prior; /* of this piece; NULL: none */
    vg_tensor *piece;       /* the tensor of its members */
} device_rows;

static vg_status put_on_device(void *context, vg_tensor *z, size_t at) {
    const device_rows *d = context;
    const vg_network *net = d->learner->model->net;
    vg_member_rows rows = {net->heads, net->classes, d->members->passes, d->members->heads, d->members->paired, at};
    return d->learner->backend->ops->members(d->learner->backend, d->piece, z, d->prior, &rows);
}

static vg_status predict_piece_on_device(device_rows *d, const image_piece *piece, size_t rows, bool masked) {
    vg_model *model = d->learner->model, *prior = d->learner->prior;
    if (prior) {
        vg_pass fixed = {VG_USE_RUNNING, false, false, 0, prior->net->node_count};
        VG_TRY(vg_model__input(prior, piece->images, piece->n));
        VG_TRY(vg_model__forward(prior, &fixed));
        d->prior = vg_model__logits(prior);
    }
    if (masked)
        return masked_rows(d->learner, piece, d->members->passes, rows, (row_sink){put_on_device, d});
    vg_pass pass = pass_without_dropout(model);
    VG_TRY(vg_model__input(model, piece->images, piece->n));
    VG_TRY(vg_model__forward(model, &pass));
    return put_on_device(d, vg_model__logits(model), 0);
}

vg_status vg_learner__predict_on_device(vg_learner *l, vg_tensor **logits, const float *images, size_t n,
                                        uint64_t first, const vg_members *members, size_t rows) {
    vg_backend *b = l->backend;
    vg_shape shape = {members->count * l->model->net->classes, 1, 1};
    bool masked;
    VG_TRY(check_members(l, members, &masked));
    if (!b->ops->members)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "%s does not keep logits in its own memory", b->device);
    if (n > (masked ? MASKED_PIECE : rows))
        return vg_base__fail(VG_ERR_ARGUMENT, "%zu images at once, expected at most %zu", n,
                             masked ? (size_t)MASKED_PIECE : rows);
    if (!l->kept || l->kept->capacity < n || l->kept->shape.c != shape.c) {
        b->ops->tensor_free(b, l->kept);
        l->kept = NULL;
        VG_TRY(b->ops->tensor_new(b, &l->kept, VG_TENSOR_PLAIN, masked ? MASKED_PIECE : rows, shape));
    }
    device_rows d = {l, members, NULL, vg_tensor__rows(l->kept, n)};
    VG_TRY(predict_piece_on_device(&d, &(image_piece){images, n, first}, rows, masked));
    *logits = l->kept;
    return VG_OK;
}
