/* cpu_heads.c - the cross-entropy of H softmax heads, of the CPU backend. Formulas: ref/ref_heads.c.
 *
 * Rows are independent; their losses are summed in row order in double, so totals have the same bits at any thread
 * count. */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_backend.h"

vg_status vg_cpu__copy_columns(vg_backend *backend, vg_tensor *y, size_t y_at, const vg_tensor *x, size_t x_at,
                               size_t count) {
    const size_t y_row = vg_shape__size(y->shape), x_row = vg_shape__size(x->shape);
    float *to = cpu_tensor_of(y)->data;
    const float *from = cpu_tensor_of(x)->data;
    (void)backend;
    for (size_t n = 0; n < x->n; n++)
        memcpy(to + n * y_row + y_at, from + n * x_row + x_at, count * sizeof(float));
    return VG_OK;
}

double vg_cpu__softmax(float *p, const float *z, const float *add, size_t classes, size_t label) {
    float top = -INFINITY, sum = 0;
    for (size_t c = 0; c < classes; c++) {
        p[c] = z[c] + (add ? add[c] : 0.0f);
        top = p[c] > top ? p[c] : top;
    }
    double own = (double)p[label] - top;
    for (size_t c = 0; c < classes; c++) {
        p[c] = expf(p[c] - top);
        sum += p[c];
    }
    for (size_t c = 0; c < classes; c++)
        p[c] /= sum;
    return own - log(sum);
}

/* The memory of one row: H x C logits, an addend (or NULL), the heads' weights (or NULL). */
typedef struct head_row {
    const float *z, *add, *weights;
    size_t label;
    float *p;    /* H x C: the gradient's own row, or scratch */
    float *mean; /* C */
} head_row;

/* One row's loss. Leaves the gradient times `scale` in row->p. */
static double row_loss(const vg_head_loss *loss, const head_row *row, float scale, bool *right) {
    const float *z = row->z, *add = row->add, *weights = row->weights;
    float *p = row->p, *mean = row->mean;
    const size_t label = row->label;
    size_t H = loss->heads, C = loss->classes, best = 0;
    bool mixture = loss->form == VG_LOSS_MIXTURE;
    double total = 0;
    memset(mean, 0, C * sizeof(float));
    for (size_t h = 0; h < H; h++) {
        double own = vg_cpu__softmax(p + h * C, z + h * C, add ? add + h * C : NULL, C, label);
        total -= (weights ? weights[h] : 1.0) * own;
        for (size_t c = 0; c < C; c++)
            mean[c] += p[h * C + c];
    }
    for (size_t c = 1; c < C; c++)
        best = mean[c] > mean[best] ? c : best;
    *right = best == label;
    for (size_t h = 0; h < H; h++) {
        float *ph = p + h * C, factor = mixture ? ph[label] / mean[label] : (weights ? weights[h] : 1.0f) / (float)H;
        factor *= scale;
        for (size_t c = 0; c < C; c++)
            ph[c] *= factor;
        ph[label] -= factor;
    }
    return mixture ? -log((double)mean[label] / (double)H) : total / (double)H;
}

/* The target of each class given the label: t(c) and their sum, and the weight of a batch's rows (ref/ref_heads.c). */
typedef struct soft_targets {
    float on, off;        /* of the label's class and of any other, before the class weight */
    const float *weights; /* C; NULL: all 1 */
    double rows;          /* the sum over rows of the label's weight */
} soft_targets;

static float target(const soft_targets *t, size_t c, size_t label) {
    return (c == label ? t->on : t->off) * (t->weights ? t->weights[c] : 1.0f);
}

/* As row_loss in the mean form, with targets. */
static double target_loss(const vg_head_loss *loss, const head_row *row, const soft_targets *t, bool *right) {
    size_t H = loss->heads, C = loss->classes, best = 0;
    double total = 0, all = 0;
    memset(row->mean, 0, C * sizeof(float));
    for (size_t c = 0; c < C; c++)
        all += target(t, c, row->label);
    for (size_t h = 0; h < H; h++) {
        const float *z = row->z + h * C, *add = row->add ? row->add + h * C : NULL;
        float *p = row->p + h * C, weight = (row->weights ? row->weights[h] : 1.0f) / (float)H;
        double own = vg_cpu__softmax(p, z, add, C, row->label), head = 0;
        double normaliser = (double)z[row->label] + (add ? add[row->label] : 0.0f) - own;
        for (size_t c = 0; c < C; c++) {
            head -= target(t, c, row->label) * ((double)z[c] + (add ? add[c] : 0.0f) - normaliser);
            row->mean[c] += p[c];
            p[c] = (float)(weight / t->rows * (p[c] * all - target(t, c, row->label)));
        }
        total += weight * head;
    }
    for (size_t c = 1; c < C; c++)
        best = row->mean[c] > row->mean[best] ? c : best;
    *right = best == row->label;
    return total;
}

static soft_targets targets_of(const vg_head_loss *loss, const int32_t *y, size_t rows) {
    soft_targets t = {.on = 1 - loss->smoothing + loss->smoothing / (float)loss->classes,
                      .off = loss->smoothing / (float)loss->classes,
                      .weights = loss->class_weights ? cpu_tensor_of(loss->class_weights)->data : NULL,
                      .rows = loss->class_weights ? 0 : (double)rows};
    for (size_t n = 0; n < rows && t.weights; n++)
        t.rows += t.weights[y[n]];
    return t;
}

void vg_cpu__add_losses(vg_backend *backend, const double *losses, const double *right, size_t rows) {
    vg_loss_totals *totals = &cpu_of(backend)->totals;
    for (size_t n = 0; n < rows; n++) {
        totals->loss += losses[n];
        totals->correct += right[n] > 0;
        if (!isfinite(losses[n]) && totals->bad_step < 0)
            totals->bad_step = backend->step.number;
    }
    totals->rows += rows;
}

vg_status vg_cpu__loss(vg_backend *backend, const vg_head_loss *loss, vg_tensor *dlogits, const vg_tensor *logits,
                       const vg_tensor *addend, const vg_tensor *labels, const vg_tensor *weights) {
    size_t K = loss->heads * loss->classes, C = loss->classes, rows = logits->n;
    if (loss->form == VG_LOSS_GATED)
        return vg_cpu__gated_loss(backend, loss, dlogits, logits, addend, labels);
    const float *z = cpu_tensor_of(logits)->data, *add = addend ? cpu_tensor_of(addend)->data : NULL;
    const float *w = weights ? cpu_tensor_of(weights)->data : NULL;
    const int32_t *y = cpu_tensor_of(labels)->data;
    float *gradient = dlogits ? cpu_tensor_of(dlogits)->data : NULL, *work;
    VG_TRY(vg_cpu__work(backend, rows * (C + 4 + (dlogits ? 0 : K)), &work));
    /* layout: two doubles per row, then C floats per row, then K floats per row */
    double *losses = (double *)work, *right = losses + rows;
    float *means = work + 4 * rows, *spare = means + rows * C;
    const bool soft = loss->smoothing > 0 || loss->class_weights;
    const soft_targets t = targets_of(loss, y, rows);
    CPU_PARALLEL
    for (size_t n = 0; n < rows; n++) {
        bool good;
        head_row row = {.z = z + n * K,
                        .add = add ? add + n * K : NULL,
                        .weights = w ? w + n * loss->heads : NULL,
                        .label = (size_t)y[n],
                        .p = gradient ? gradient + n * K : spare + n * K,
                        .mean = means + n * C};
        losses[n] = soft ? target_loss(loss, &row, &t, &good) * (double)rows / t.rows
                         : row_loss(loss, &row, 1.0f / (float)rows, &good);
        right[n] = good;
    }
    vg_cpu__add_losses(backend, losses, right, rows);
    return VG_OK;
}

vg_status vg_cpu__loss_read(vg_backend *backend, vg_loss_totals *totals) {
    vg_loss_totals *own = &cpu_of(backend)->totals;
    *totals = *own;
    *own = (vg_loss_totals){0, 0, 0, -1};
    return VG_OK;
}
