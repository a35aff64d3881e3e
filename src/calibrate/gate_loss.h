/* gate_loss.h - the likelihood of the gated mean as a function of k, on members that are fixed. Internal to calibrate.
 *
 * p[n][m][c] and a[n][c] = mu / (sigma + eps) are kept in memory. With t = a(c)/k(c):
 *     Gamma(c) = max(1 - exp(-t), 1e-8)   Z_m = sum_c p_m(c) Gamma(c)   q_m = p_m Gamma / Z_m, p_m where Z_m <= 1e-8
 *     loss     = mean over n of -log max(mean_m q_m(y), 1e-8)
 * The variable is log k, between the logarithms of its bounds: where k is large, Gamma falls as 1/k and the loss is
 * close to a log-sum-exp of -log k, which is convex. What a point x costs once (gates, weights of members) is kept,
 * because several products with the Hessian are asked for at the same point. */
#ifndef VG_CALIBRATE_GATE_LOSS_H
#define VG_CALIBRATE_GATE_LOSS_H

#include "calibrate/newton_cg.h"
#include "calibrate/units.h"
#include "vargate/calibrate.h"

/* Samples per chunk; a worker's scratch in arrays of c. */
enum { VG_GATE_CHUNK = 128, VG_GATE_CLASS_ARRAYS = 2 };

typedef struct vg_gate_data {
    size_t n, m, c;
    double *p, *a; /* n m c and n c */
    const int64_t *labels;
    vg_pool *pool;
    double low, high; /* log of the bounds of k */
    bool one;         /* one variable for all classes */
    vg_units units;   /* owned */
    /* 0: every sample. Samples of `fold` are left out of the loss. */
    size_t folds, fold;
    double *scratch, *sums; /* of all workers; of all chunks */
    /* At the point `at`, of each sample: dGamma/dlog k, dloss/dGamma and dloss/dGamma d2Gamma/d(log k)2 (n c each);
     * 1/Z_m and w_m of gate_loss.c (n m each); 1/Gamma(y) and W/Gamma(y) (n each). */
    double *g1, *slope, *bend, *over_z, *w, *over_g, *pull;
    double *at, *k; /* c: variables and their ks */
    double *total;  /* 2 c + 1: an evaluation and the vector of a product */
    bool known;     /* the arrays belong to `at`; vg_gate_data__objective forgets them: call it after each change */
} vg_gate_data;

/* Reads predictions, probabilities or logits as the options say. Free with vg_gate_data__stop, also after a failure. */
vg_status vg_gate_data__start(vg_gate_data *out, const vg_predictions *predictions, const int64_t *labels,
                              const vg_fit_k_options *options);
void vg_gate_data__stop(vg_gate_data *data);

/* The loss as an objective of 1 (`one`) or c variables, over the samples that `folds` and `fold` leave. Asked for anew
 * after any of the three changes. */
vg_objective vg_gate_data__objective(vg_gate_data *data);
/* The k of a variable, and the variable of a k. */
double vg_gate_data__k(const vg_gate_data *data, double x);
double vg_gate_data__variable(const vg_gate_data *data, double k);

/* NLL, ECE and accuracy of the gated mean at k[c] (k NULL: of the plain mean). With `folds`, sample n is measured
 * with k + f x c, f its fold. nll[n]: that of each sample. */
vg_status vg_gate_data__measure(vg_k_figures *out, double *nll, const vg_gate_data *data, const double *k, size_t folds,
                                unsigned bins);

#endif
