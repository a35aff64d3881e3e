/* cpu_gate.c - the gated loss of H softmax heads, of the CPU backend. Formulas: ref/ref_gate.c.
 *
 * Rows are independent. Their losses, and their parts of the gradient of k, are summed in row order in double: the same
 * bits at any thread count. Probabilities are float32; everything that is kept for a class or a head is double. */
#include <math.h>

#include "backend/cpu/cpu_backend.h"
#include "backend/gate.h"

/* One row's memory. The gradient of the loss to probability p of class c and head h is
 *     gamma_c ([c = y] u - A_h) / Z_h + by_mean_c + by_spread_c (p - mu_c). */
typedef struct gate_row {
    size_t label;
    float *p;                                          /* H x C: the gradient's own row, or scratch */
    const double *k;                                   /* C */
    double *mu, *gamma, *by_mean, *by_spread, *r, *dk; /* C; by_mean and by_spread are without R/H until R is known */
    double *inverse, *share;                           /* H: 1/Z (0: the head keeps its probabilities), A/Z */
} gate_row;

static void gate(const vg_head_loss *loss, const gate_row *w) {
    const size_t H = loss->heads, C = loss->classes;
    for (size_t c = 0; c < C; c++) {
        double sum = 0, squares = 0;
        for (size_t h = 0; h < H; h++)
            sum += w->p[h * C + c];
        const double mu = sum / (double)H;
        for (size_t h = 0; h < H; h++)
            squares += (w->p[h * C + c] - mu) * (w->p[h * C + c] - mu);
        const double sigma = sqrt(squares / (double)H), s = sigma + VG_GATE_EPSILON, t = mu / (w->k[c] * s);
        const double open = -expm1(-t);
        const bool low = open < VG_GATE_FLOOR;
        w->mu[c] = mu;
        w->gamma[c] = low ? VG_GATE_FLOOR : open;
        w->by_mean[c] = low ? 0 : exp(-t) / (w->k[c] * s);
        w->by_spread[c] = sigma > 0 ? -w->by_mean[c] * mu / s / sigma : 0;
    }
}

/* Z of every head, and the mean of the gated heads into w->r; returns the class where it is largest. */
static size_t weigh_heads(const vg_head_loss *loss, const gate_row *w) {
    const size_t H = loss->heads, C = loss->classes;
    size_t best = 0;
    for (size_t c = 0; c < C; c++)
        w->r[c] = 0;
    for (size_t h = 0; h < H; h++) {
        const float *p = w->p + h * C;
        double z = 0;
        for (size_t c = 0; c < C; c++)
            z += p[c] * w->gamma[c];
        w->inverse[h] = z > VG_GATE_FLOOR ? 1 / z : 0;
        for (size_t c = 0; c < C; c++)
            w->r[c] += z > VG_GATE_FLOOR ? p[c] * w->gamma[c] * w->inverse[h] : p[c];
    }
    for (size_t c = 0; c < C; c++)
        w->r[c] /= (double)H;
    for (size_t c = 1; c < C; c++)
        best = w->r[c] > w->r[best] ? c : best;
    return best;
}

/* Computes R and applies it to the coefficients; u is dL/dQ of the label. */
static void weigh_classes(const vg_head_loss *loss, const gate_row *w, double u) {
    const size_t H = loss->heads, C = loss->classes, y = w->label;
    double own = 0;
    for (size_t c = 0; c < C; c++)
        w->r[c] = 0;
    for (size_t h = 0; h < H; h++) {
        const float *p = w->p + h * C;
        w->share[h] = u * p[y] * w->gamma[y] * w->inverse[h] * w->inverse[h];
        own += p[y] * w->inverse[h];
        for (size_t c = 0; c < C; c++)
            w->r[c] -= p[c] * w->share[h];
    }
    w->r[y] += u * own;
    for (size_t c = 0; c < C; c++) {
        w->dk[c] = -w->r[c] * w->by_mean[c] * w->mu[c] / w->k[c];
        w->by_mean[c] *= w->r[c] / (double)H;
        w->by_spread[c] *= w->r[c] / (double)H;
    }
}

/* Replaces the probabilities of a row by the gradient to its logits, times `scale`. */
static void to_logits(const vg_head_loss *loss, const gate_row *w, double u, double scale) {
    const size_t C = loss->classes;
    for (size_t h = 0; h < loss->heads; h++) {
        float *p = w->p + h * C;
        const bool gated = w->inverse[h] > 0;
        const double at_label = gated ? u * w->gamma[w->label] * w->inverse[h] : u, share = w->share[h];
        double all = p[w->label] * at_label;
        for (size_t c = 0; c < C; c++)
            all += p[c] * (w->by_mean[c] + w->by_spread[c] * (p[c] - w->mu[c]) - w->gamma[c] * share);
        for (size_t c = 0; c < C; c++) {
            double g = w->by_mean[c] + w->by_spread[c] * (p[c] - w->mu[c]) - w->gamma[c] * share;
            p[c] = (float)(scale * p[c] * (g + (c == w->label ? at_label : 0) - all));
        }
    }
}

/* The working memory of one call. */
typedef struct gate_work {
    double *losses, *right, *rows, *k; /* rows; rows; rows x (6 C + 2 H); C */
    float *spare;                      /* rows x K; NULL where there are dlogits */
} gate_work;

static gate_row row_of(const gate_work *w, const vg_head_loss *loss, size_t n) {
    const size_t C = loss->classes, H = loss->heads;
    double *at = w->rows + n * (6 * C + 2 * H);
    return (gate_row){.k = w->k,
                      .mu = at,
                      .gamma = at + C,
                      .by_mean = at + 2 * C,
                      .by_spread = at + 3 * C,
                      .r = at + 4 * C,
                      .dk = at + 5 * C,
                      .inverse = at + 6 * C,
                      .share = at + 6 * C + H};
}

static vg_status make_work(gate_work *w, vg_backend *backend, const vg_head_loss *loss, size_t rows, bool spare) {
    const size_t C = loss->classes, H = loss->heads, doubles = rows * (2 + 6 * C + 2 * H) + C;
    const float *l = cpu_param(loss->theta, loss->gate);
    float *work;
    VG_TRY(vg_cpu__work(backend, 2 * doubles + (spare ? rows * H * C : 0), &work));
    double *at = (double *)(void *)work;
    *w = (gate_work){at, at + rows, at + 2 * rows, at + doubles - C, spare ? work + 2 * doubles : NULL};
    for (size_t c = 0; c < C; c++)
        w->k[c] = vg_gate__k(l[c]);
    return VG_OK;
}

/* The sum over rows of dL/dl, in row order. */
static void gate_gradient(const gate_work *w, const vg_head_loss *loss, size_t rows) {
    const float *l = cpu_param(loss->theta, loss->gate);
    for (size_t c = 0; c < loss->classes; c++) {
        double sum = 0;
        for (size_t n = 0; n < rows; n++)
            sum += row_of(w, loss, n).dk[c];
        cpu_param(loss->grad, loss->gate)[c] = (float)(sum * vg_gate__slope(l[c]) / (double)rows);
    }
}

vg_status vg_cpu__gated_loss(vg_backend *backend, const vg_head_loss *loss, vg_tensor *dlogits, const vg_tensor *logits,
                             const vg_tensor *addend, const vg_tensor *labels) {
    const size_t C = loss->classes, H = loss->heads, K = H * C, rows = logits->n;
    const float *z = cpu_tensor_of(logits)->data, *add = addend ? cpu_tensor_of(addend)->data : NULL;
    const int32_t *y = cpu_tensor_of(labels)->data;
    float *gradient = dlogits ? cpu_tensor_of(dlogits)->data : NULL;
    gate_work w;
    VG_TRY(make_work(&w, backend, loss, rows, !dlogits));
    CPU_PARALLEL
    for (size_t n = 0; n < rows; n++) {
        gate_row row = row_of(&w, loss, n);
        row.label = (size_t)y[n];
        row.p = (gradient ? gradient : w.spare) + n * K;
        for (size_t h = 0; h < H; h++)
            vg_cpu__softmax(row.p + h * C, z + n * K + h * C, add ? add + n * K + h * C : NULL, C, row.label);
        gate(loss, &row);
        w.right[n] = weigh_heads(loss, &row) == row.label;
        const double own = row.r[row.label], u = own > VG_GATE_FLOOR ? -1 / ((double)H * own) : 0;
        w.losses[n] = isnan(own) ? own : -log(fmax(own, VG_GATE_FLOOR));
        if (gradient) {
            weigh_classes(loss, &row, u);
            to_logits(loss, &row, u, 1.0 / (double)rows);
        }
    }
    vg_cpu__add_losses(backend, w.losses, w.right, rows);
    if (gradient)
        gate_gradient(&w, loss, rows);
    return VG_OK;
}
