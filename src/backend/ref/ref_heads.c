/* ref_heads.c - linear layers, columns of logits, and the cross-entropy of H softmax heads.
 *
 * Mean form:     L_n = 1/H sum_h w_nh (-log p_nh(y)),   dL_n/dz_nh(c) = w_nh / H (p_nh(c) - [c = y])
 * Mixture form:  L_n = -log(1/H sum_h p_nh(y)),         dL_n/dz_nh(c) = -r_nh ([c = y] - p_nh(c)),
 *                r_nh = p_nh(y) / sum_j p_nj(y)
 * Targets:       with smoothing e or class weights w, t_n(c) = w(c) ((1 - e) [c = y] + e / C) in the mean form:
 *                L_n = 1/H sum_h w_nh (-sum_c t_n(c) log p_nh(c)),
 *                dL_n/dz_nh(c) = w_nh / H (p_nh(c) sum_j t_n(j) - t_n(c)), and W = sum_n w(y_n) stands for N
 * Gradients are of the mean over rows: divided by N. */
#include <math.h>
#include <string.h>

#include "backend/ref/ref_backend.h"

vg_status vg_ref__linear_forward(vg_backend *backend, vg_tensor *y, const vg_tensor *x, const vg_block *theta,
                                 const vg_param *w, const vg_param *bias) {
    (void)backend;
    size_t in = vg_shape__size(x->shape), out = w->o;
    for (size_t k = 0; k < x->n * out; k++) {
        const float *row = ref_data(x) + k / out * in, *weights = ref_param(theta, w) + k % out * in;
        double sum = bias ? ref_param(theta, bias)[k % out] : 0.0;
        for (size_t i = 0; i < in; i++)
            sum += (double)row[i] * weights[i];
        ref_data(y)[k] = (float)sum;
    }
    return VG_OK;
}

vg_status vg_ref__linear_backward_data(vg_backend *backend, vg_tensor *dx, const vg_tensor *dy, const vg_block *theta,
                                       const vg_param *w) {
    (void)backend;
    size_t in = vg_shape__size(dx->shape), out = w->o;
    for (size_t k = 0; k < dx->n * in; k++) {
        double sum = 0;
        for (size_t o = 0; o < out; o++)
            sum += (double)ref_data(dy)[k / in * out + o] * ref_param(theta, w)[o * in + k % in];
        ref_data(dx)[k] = (float)sum;
    }
    return VG_OK;
}

vg_status vg_ref__linear_backward_weights(vg_backend *backend, vg_block *grad, const vg_param *w, const vg_param *bias,
                                          const vg_tensor *x, const vg_tensor *dy) {
    (void)backend;
    size_t in = vg_shape__size(x->shape), out = w->o;
    for (size_t k = 0; k < out * in; k++) {
        double sum = 0;
        for (size_t n = 0; n < x->n; n++)
            sum += (double)ref_data(dy)[n * out + k / in] * ref_data(x)[n * in + k % in];
        ref_param(grad, w)[k] = (float)sum;
    }
    for (size_t o = 0; bias && o < out; o++) {
        double sum = 0;
        for (size_t n = 0; n < x->n; n++)
            sum += ref_data(dy)[n * out + o];
        ref_param(grad, bias)[o] = (float)sum;
    }
    return VG_OK;
}

vg_status vg_ref__copy_columns(vg_backend *backend, vg_tensor *y, size_t y_at, const vg_tensor *x, size_t x_at,
                               size_t count) {
    (void)backend;
    for (size_t n = 0; n < x->n; n++)
        memcpy(ref_data(y) + n * vg_shape__size(y->shape) + y_at, ref_data(x) + n * vg_shape__size(x->shape) + x_at,
               count * sizeof(float));
    return VG_OK;
}

/* log p of one class of one head, and the head's log-normaliser. */
static double log_sum(const float *z, const float *add, size_t classes) {
    double top = -INFINITY, sum = 0;
    for (size_t c = 0; c < classes; c++)
        top = fmax(top, (double)z[c] + (add ? add[c] : 0.0));
    for (size_t c = 0; c < classes; c++)
        sum += exp((double)z[c] + (add ? add[c] : 0.0) - top);
    return top + log(sum);
}

static double log_p(const float *z, const float *add, size_t c, double normaliser) {
    return (double)z[c] + (add ? add[c] : 0.0) - normaliser;
}

/* One row: H x C logits, an addend (or NULL), the heads' weights (or NULL), the gradient's destination (or NULL). */
typedef struct head_row {
    const float *z, *add, *weights;
    float *dz;
    int32_t label;
} head_row;

/* Its loss, whether the mean probability peaks at the label, and the gradient times `scale`. */
static double row_loss(const vg_head_loss *loss, const head_row *row, double scale, bool *right) {
    const float *z = row->z, *add = row->add, *weights = row->weights;
    float *dz = row->dz;
    const int32_t label = row->label;
    size_t H = loss->heads, C = loss->classes, best = 0;
    double total = 0, mixture = 0, best_sum = -1;
    for (size_t c = 0; c < C; c++) {
        double sum = 0;
        for (size_t h = 0; h < H; h++)
            sum += exp(log_p(z + h * C, add ? add + h * C : NULL, c, log_sum(z + h * C, add ? add + h * C : NULL, C)));
        if (sum > best_sum) {
            best_sum = sum;
            best = c;
        }
        if (c == (size_t)label)
            mixture = sum;
    }
    *right = best == (size_t)label;
    for (size_t h = 0; h < H; h++) {
        const float *zh = z + h * C, *ah = add ? add + h * C : NULL;
        double normaliser = log_sum(zh, ah, C), weight = weights ? weights[h] : 1.0;
        double own = log_p(zh, ah, (size_t)label, normaliser);
        double factor = loss->form == VG_LOSS_MIXTURE ? exp(own) / mixture : weight / (double)H;
        total -= weight / (double)H * own;
        for (size_t c = 0; dz && c < C; c++)
            dz[h * C + c] = (float)(scale * factor * (exp(log_p(zh, ah, c, normaliser)) - (c == (size_t)label)));
    }
    return loss->form == VG_LOSS_MIXTURE ? -log(mixture / (double)H) : total;
}

/* The target of class c in a row with this label. */
static double target(const vg_head_loss *loss, size_t c, size_t label) {
    double w = loss->class_weights ? ref_data(loss->class_weights)[c] : 1.0, e = loss->smoothing;
    return w * ((c == label ? 1.0 - e : 0.0) + e / (double)loss->classes);
}

/* As row_loss in the mean form, with targets; *right is left to row_loss. */
static double target_loss(const vg_head_loss *loss, const head_row *row, double scale) {
    size_t H = loss->heads, C = loss->classes, label = (size_t)row->label;
    double total = 0, all = 0;
    for (size_t c = 0; c < C; c++)
        all += target(loss, c, label);
    for (size_t h = 0; h < H; h++) {
        const float *zh = row->z + h * C, *ah = row->add ? row->add + h * C : NULL;
        double normaliser = log_sum(zh, ah, C), weight = (row->weights ? row->weights[h] : 1.0) / (double)H;
        for (size_t c = 0; c < C; c++) {
            double own = log_p(zh, ah, c, normaliser), t = target(loss, c, label);
            total -= weight * t * own;
            if (row->dz)
                row->dz[h * C + c] = (float)(scale * weight * (exp(own) * all - t));
        }
    }
    return total;
}

/* The sum over rows of the weight of the label's class; without class weights, the rows. */
static double row_weight(const vg_head_loss *loss, const vg_tensor *labels, size_t rows) {
    double sum = 0;
    for (size_t n = 0; n < rows && loss->class_weights; n++)
        sum += ref_data(loss->class_weights)[((const ref_tensor *)labels)->index[n]];
    return loss->class_weights ? sum : (double)rows;
}

vg_status vg_ref__loss(vg_backend *backend, const vg_head_loss *loss, vg_tensor *dlogits, const vg_tensor *logits,
                       const vg_tensor *addend, const vg_tensor *labels, const vg_tensor *weights) {
    vg_loss_totals *totals = &((ref_context *)backend->context)->totals;
    size_t K = loss->heads * loss->classes;
    bool targets = loss->smoothing > 0 || loss->class_weights;
    if (loss->form == VG_LOSS_GATED)
        return vg_ref__gated_loss(backend, loss, dlogits, logits, addend, labels);
    double sum = row_weight(loss, labels, logits->n);
    for (size_t n = 0; n < logits->n; n++) {
        bool right;
        head_row row = {.z = ref_data(logits) + n * K,
                        .add = addend ? ref_data(addend) + n * K : NULL,
                        .weights = weights ? ref_data(weights) + n * loss->heads : NULL,
                        .dz = dlogits ? ref_data(dlogits) + n * K : NULL,
                        .label = ((const ref_tensor *)labels)->index[n]};
        double value = row_loss(loss, &row, 1.0 / (double)logits->n, &right);
        if (targets)
            value = target_loss(loss, &row, 1.0 / sum) * (double)logits->n / sum;
        totals->loss += value;
        totals->correct += right;
        if (!isfinite(value) && totals->bad_step < 0)
            totals->bad_step = backend->step.number;
    }
    totals->rows += logits->n;
    return VG_OK;
}

vg_status vg_ref__loss_read(vg_backend *backend, vg_loss_totals *totals) {
    vg_loss_totals *own = &((ref_context *)backend->context)->totals;
    *totals = *own;
    *own = (vg_loss_totals){0, 0, 0, -1};
    return VG_OK;
}

vg_status vg_ref__members(vg_backend *backend, vg_tensor *out, const vg_tensor *z, const vg_tensor *prior,
                          const vg_member_rows *m) {
    (void)backend;
    size_t C = m->classes, K = m->heads * C, M = out->shape.c / C, taken = m->paired ? 1 : m->taken;
    for (size_t r = 0; r < z->n; r++)
        for (size_t g = 0; g < taken; g++) {
            size_t image = (size_t)((m->at + r) / m->passes), pass = (size_t)((m->at + r) % m->passes);
            size_t head = m->paired ? pass : g, member = pass * taken + g;
            for (size_t c = 0; c < C; c++)
                ref_data(out)[(image * M + member) * C + c] =
                    ref_data(z)[r * K + head * C + c] + (prior ? ref_data(prior)[image * K + head * C + c] : 0.0f);
        }
    return VG_OK;
}
