/* ref_gate.c - the gated loss of H softmax heads: the cross-entropy of the mean of the gated heads, with a trained k
 * for every class.
 *
 * Of one row, with P_mc the heads' probabilities, mu and sigma their mean and population spread over heads:
 *     s = sigma + 1e-8, E_c = exp(-mu_c / (k_c s_c)), Gamma_c = max(1 - E_c, 1e-8)
 *     Z_m = sum_c P_mc Gamma_c, Q_mc = P_mc Gamma_c / Z_m; a head with Z_m <= 1e-8 keeps Q_m = P_m
 *     L = -log max(1/H sum_m Q_m(y), 1e-8)
 * Backward, with U_mc = dL/dQ_mc (0 except at the label), A_m = sum_c Q_mc U_mc:
 *     R_c     = sum_m P_mc (U_mc - A_m) / Z_m over heads that are gated; 0 where Gamma_c is at its floor
 *     dL/dP_mc = Gamma_c (U_mc - A_m) / Z_m + R_c/H E_c / (k_c s_c) (1 - mu_c / s_c (P_mc - mu_c) / sigma_c)
 *               the last product is 0 where sigma_c is; the first term is U_mc of a head that keeps its P_m
 *     dL/dk_c = -R_c E_c mu_c / (k_c^2 s_c),   dk/dl: gate.h
 *     dL/dz_mc = P_mc (dL/dP_mc - sum_j P_mj dL/dP_mj)
 * Gradients are of the mean over rows: divided by N. */
#include <math.h>
#include <string.h>

#include "backend/gate.h"
#include "backend/ref/ref_backend.h"

typedef struct gate_work {
    double *p;                      /* H x C */
    double *g;                      /* H x C: dL/dP */
    double *mu, *sigma, *gamma, *e; /* C; e: E, 0 where Gamma is at its floor */
    double *r, *k, *dk;             /* C; dk: sum over rows of dL/dk */
    double *z;                      /* H: Z_m; 0: the head keeps its probabilities */
} gate_work;

static void probabilities(double *p, const float *z, const float *add, const vg_head_loss *loss) {
    size_t C = loss->classes;
    for (size_t h = 0; h < loss->heads; h++) {
        double top = -INFINITY, sum = 0, *ph = p + h * C;
        for (size_t c = 0; c < C; c++) {
            ph[c] = (double)z[h * C + c] + (add ? add[h * C + c] : 0.0);
            top = fmax(top, ph[c]);
        }
        for (size_t c = 0; c < C; c++)
            sum += ph[c] = exp(ph[c] - top);
        for (size_t c = 0; c < C; c++)
            ph[c] /= sum;
    }
}

static void gate(const gate_work *w, const vg_head_loss *loss) {
    size_t C = loss->classes, H = loss->heads;
    for (size_t c = 0; c < C; c++) {
        double sum = 0, squares = 0;
        for (size_t h = 0; h < H; h++)
            sum += w->p[h * C + c];
        w->mu[c] = sum / (double)H;
        for (size_t h = 0; h < H; h++)
            squares += (w->p[h * C + c] - w->mu[c]) * (w->p[h * C + c] - w->mu[c]);
        w->sigma[c] = sqrt(squares / (double)H);
        double t = w->mu[c] / (w->k[c] * (w->sigma[c] + VG_GATE_EPSILON)), open = -expm1(-t);
        w->gamma[c] = fmax(open, VG_GATE_FLOOR);
        w->e[c] = open < VG_GATE_FLOOR ? 0 : exp(-t);
    }
}

/* The mean of Q over heads at class c; sets Z where c is 0. */
static double mean_gated(const gate_work *w, const vg_head_loss *loss, size_t c) {
    size_t C = loss->classes;
    double sum = 0;
    for (size_t h = 0; h < loss->heads; h++) {
        const double *p = w->p + h * C;
        if (c == 0) {
            double all = 0;
            for (size_t j = 0; j < C; j++)
                all += p[j] * w->gamma[j];
            w->z[h] = all > VG_GATE_FLOOR ? all : 0;
        }
        sum += w->z[h] > 0 ? p[c] * w->gamma[c] / w->z[h] : p[c];
    }
    return sum / (double)loss->heads;
}

/* dL/dP into w->g, and the row's part of dL/dk. u: dL/dQ of the label, the same for every head. */
static void gradient(const gate_work *w, const vg_head_loss *loss, size_t label, double u) {
    size_t C = loss->classes, H = loss->heads;
    memset(w->r, 0, C * sizeof *w->r);
    for (size_t h = 0; h < H; h++) {
        const double *p = w->p + h * C, z = w->z[h];
        double all = z > 0 ? u * p[label] * w->gamma[label] / z : 0; /* A_m */
        for (size_t c = 0; c < C; c++) {
            double own = (c == label ? u : 0) - all;
            w->r[c] += z > 0 && w->gamma[c] > VG_GATE_FLOOR ? p[c] * own / z : 0;
            w->g[h * C + c] = z > 0 ? w->gamma[c] * own / z : c == label ? u : 0;
        }
    }
    for (size_t c = 0; c < C; c++) {
        double s = w->sigma[c] + VG_GATE_EPSILON, by_mean = w->r[c] / (double)H * w->e[c] / (w->k[c] * s);
        double by_spread = w->sigma[c] > 0 ? -by_mean * w->mu[c] / s / w->sigma[c] : 0;
        for (size_t h = 0; h < H; h++)
            w->g[h * C + c] += by_mean + by_spread * (w->p[h * C + c] - w->mu[c]);
        w->dk[c] -= w->r[c] * w->e[c] * w->mu[c] / (w->k[c] * w->k[c] * s);
    }
}

static void to_logits(float *dz, const gate_work *w, const vg_head_loss *loss, double scale) {
    size_t C = loss->classes;
    for (size_t h = 0; h < loss->heads; h++) {
        const double *p = w->p + h * C, *g = w->g + h * C;
        double all = 0;
        for (size_t c = 0; c < C; c++)
            all += p[c] * g[c];
        for (size_t c = 0; c < C; c++)
            dz[h * C + c] = (float)(scale * p[c] * (g[c] - all));
    }
}

/* One row's loss, and its gradients where dz is not NULL. */
static double row_loss(const gate_work *w, const vg_head_loss *loss, size_t label, float *dz, double scale,
                       bool *right) {
    double own = 0, best = -1;
    size_t at = 0;
    gate(w, loss);
    for (size_t c = 0; c < loss->classes; c++) {
        double mean = mean_gated(w, loss, c);
        if (mean > best) {
            best = mean;
            at = c;
        }
        own = c == label ? mean : own;
    }
    *right = at == label;
    if (dz) {
        gradient(w, loss, label, own > VG_GATE_FLOOR ? -1 / ((double)loss->heads * own) : 0);
        to_logits(dz, w, loss, scale);
    }
    return isnan(own) ? own : -log(fmax(own, VG_GATE_FLOOR)); /* fmax would hide a NaN */
}

static vg_status make_work(gate_work *w, double **memory, const vg_head_loss *loss) {
    size_t C = loss->classes, H = loss->heads, K = H * C;
    const float *l = ref_param(loss->theta, loss->gate);
    VG_TRY(vg_base__zalloc(memory, 2 * K + 7 * C + H, sizeof **memory, "the gated loss"));
    double *at = *memory, *by_class = at + 2 * K;
    *w = (gate_work){.p = at,
                     .g = at + K,
                     .mu = by_class,
                     .sigma = by_class + C,
                     .gamma = by_class + 2 * C,
                     .e = by_class + 3 * C,
                     .r = by_class + 4 * C,
                     .k = by_class + 5 * C,
                     .dk = by_class + 6 * C,
                     .z = by_class + 7 * C};
    for (size_t c = 0; c < C; c++)
        w->k[c] = vg_gate__k(l[c]);
    return VG_OK;
}

vg_status vg_ref__gated_loss(vg_backend *backend, const vg_head_loss *loss, vg_tensor *dlogits, const vg_tensor *logits,
                             const vg_tensor *addend, const vg_tensor *labels) {
    vg_loss_totals *totals = &((ref_context *)backend->context)->totals;
    size_t C = loss->classes, K = loss->heads * C;
    gate_work w;
    double *memory;
    VG_TRY(make_work(&w, &memory, loss));
    for (size_t n = 0; n < logits->n; n++) {
        bool right;
        probabilities(w.p, ref_data(logits) + n * K, addend ? ref_data(addend) + n * K : NULL, loss);
        double value = row_loss(&w, loss, (size_t)((const ref_tensor *)labels)->index[n],
                                dlogits ? ref_data(dlogits) + n * K : NULL, 1.0 / (double)logits->n, &right);
        totals->loss += value;
        totals->correct += right;
        if (!isfinite(value) && totals->bad_step < 0)
            totals->bad_step = backend->step.number;
    }
    totals->rows += logits->n;
    for (size_t c = 0; dlogits && c < C; c++)
        ref_param(loss->grad, loss->gate)[c] =
            (float)(w.dk[c] * vg_gate__slope(ref_param(loss->theta, loss->gate)[c]) / (double)logits->n);
    vg_base__release(memory);
    return VG_OK;
}
