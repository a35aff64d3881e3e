/* gate_loss.c - the loss of gate_loss.h, its gradient and its Hessian times a vector, each O(M C) per sample.
 *
 * With r_m(c) = p_m(c)/Z_m, S = sum_m q_m(y), w_m = q_m(y)/S for members that are gated (others are constants) and
 * W = sum w_m, the derivatives in Gamma of one sample's loss are
 *     G(c)   = sum_m w_m r_m(c) - [c = y] W/Gamma(y)
 *     H      = G G' + (e_y R' + R e_y')/Gamma(y) - 2 sum_m w_m r_m r_m',   R = G + e_y W/Gamma(y)
 * Those in log k follow from dGamma/dlog k = -t exp(-t) and d2Gamma/d(log k)2 = t (1 - t) exp(-t). Samples are summed
 * chunk by chunk in a fixed order: the same bits at any thread count. */
#include "calibrate/gate_loss.h"

#include <math.h>
#include <string.h>

#include "base/calibration_bins.h"

#define FLOOR 1e-8 /* of Gamma, Z_m and the mean's probability */

/* --- one sample --------------------------------------------------------------------------------------------------- */
/* Arrays of one worker, c each. */
typedef struct gate_arrays {
    double *g, *sum; /* Gamma, or a direction in it; a sum over members */
} gate_arrays;

static gate_arrays arrays_of(const vg_gate_data *d, unsigned worker) {
    double *at = d->scratch + (size_t)worker * VG_GATE_CLASS_ARRAYS * d->c;
    return (gate_arrays){at, at + d->c};
}

/* Gamma = 1 - e^-t, and e^-t in *e. Above 1/2 the difference loses nothing that a sum with 1 would keep. */
static inline double gate_of(double t, double *e) {
    double g = t > 0.5 ? 1 - (*e = exp(-t)) : -expm1(-t);
    if (t <= 0.5)
        *e = 1 - g;
    return g < FLOOR ? FLOOR : g;
}

static double dot(const double *a, const double *b, size_t c) {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    size_t i = 0;
    for (; i + 4 <= c; i += 4) {
        s0 += a[i] * b[i];
        s1 += a[i + 1] * b[i + 1];
        s2 += a[i + 2] * b[i + 2];
        s3 += a[i + 3] * b[i + 3];
    }
    for (; i < c; i++)
        s0 += a[i] * b[i];
    return (s0 + s2) + (s1 + s3);
}

static void add_scaled(double *restrict to, const double *restrict p, double by, size_t c) {
    for (size_t i = 0; i < c; i++)
        to[i] += by * p[i];
}

/* Gamma of sample n into s->g, and what follows from it alone into the arrays of d. */
static void place_gates(const vg_gate_data *d, size_t n, const gate_arrays *s) {
    const double *a = d->a + n * d->c;
    double *g1 = d->g1 + n * d->c, *bend = d->bend + n * d->c;
    for (size_t c = 0; c < d->c; c++) {
        double t = a[c] / d->k[c], e;
        s->g[c] = gate_of(t, &e);
        bool low = s->g[c] <= FLOOR;
        g1[c] = low ? 0 : -t * e;
        bend[c] = low ? 0 : t * (1 - t) * e;
    }
}

/* Z_m and w_m of every member, and W in *whole; returns the mean's probability of the label. */
static double weigh_members(const vg_gate_data *d, size_t n, const gate_arrays *s, double *whole) {
    size_t y = (size_t)d->labels[n];
    double sum = 0, gated = 0, *over_z = d->over_z + n * d->m, *w = d->w + n * d->m;
    for (size_t m = 0; m < d->m; m++) {
        const double *p = d->p + (n * d->m + m) * d->c;
        double z = dot(p, s->g, d->c);
        bool kept = z > FLOOR;
        over_z[m] = kept ? 1 / z : 0;
        w[m] = kept ? p[y] * s->g[y] / z : 0;
        gated += w[m];
        sum += kept ? w[m] : p[y];
    }
    for (size_t m = 0; m < d->m && sum > 0; m++)
        w[m] /= sum;
    *whole = sum > 0 ? gated / sum : 0;
    return sum / (double)d->m;
}

/* sums: the loss, then for each class its gradient. */
static void add_value(const vg_gate_data *d, size_t n, const gate_arrays *s, double *sums) {
    size_t y = (size_t)d->labels[n];
    double *slope = d->slope + n * d->c, *bend = d->bend + n * d->c, *w = d->w + n * d->m, whole;
    const double *g1 = d->g1 + n * d->c;
    place_gates(d, n, s);
    double p = weigh_members(d, n, s, &whole);
    sums[0] -= log(p > FLOOR ? p : FLOOR);
    memset(slope, 0, d->c * sizeof *slope);
    if (p <= FLOOR) { /* a constant */
        memset(w, 0, d->m * sizeof *w);
        memset(bend, 0, d->c * sizeof *bend);
        whole = 0;
    }
    for (size_t m = 0; m < d->m; m++)
        if (w[m] != 0)
            add_scaled(slope, d->p + (n * d->m + m) * d->c, w[m] * d->over_z[n * d->m + m], d->c);
    d->over_g[n] = 1 / s->g[y];
    d->pull[n] = whole / s->g[y];
    slope[y] -= d->pull[n];
    for (size_t c = 0; c < d->c; c++) {
        bend[c] *= slope[c];
        sums[1 + c] += slope[c] * g1[c];
    }
}

/* sums[1 + c] += (Hessian v)(c) */
static void add_product(const vg_gate_data *d, size_t n, const gate_arrays *s, const double *v, double *sums) {
    size_t y = (size_t)d->labels[n];
    const double *slope = d->slope + n * d->c, *bend = d->bend + n * d->c, *g1 = d->g1 + n * d->c;
    double *u = s->g, pull = d->pull[n], over_g = d->over_g[n];
    for (size_t c = 0; c < d->c; c++)
        u[c] = g1[c] * v[c];
    double along = dot(slope, u, d->c), own = u[y] * over_g;
    for (size_t c = 0; c < d->c; c++)
        s->sum[c] = slope[c] * (along + own);
    s->sum[y] += (along + pull * u[y]) * over_g + pull * own;
    for (size_t m = 0; m < d->m; m++) {
        const double *p = d->p + (n * d->m + m) * d->c;
        double over_z = d->over_z[n * d->m + m], w = d->w[n * d->m + m];
        if (w != 0)
            add_scaled(s->sum, p, -2 * w * over_z * over_z * dot(p, u, d->c), d->c);
    }
    for (size_t c = 0; c < d->c; c++)
        sums[1 + c] += g1[c] * s->sum[c] + bend[c] * v[c];
}

/* sums[1 + c] += the Hessian's entry (c, c) */
static void add_diagonal(const vg_gate_data *d, size_t n, const gate_arrays *s, double *sums) {
    size_t y = (size_t)d->labels[n];
    const double *slope = d->slope + n * d->c, *bend = d->bend + n * d->c, *g1 = d->g1 + n * d->c;
    for (size_t c = 0; c < d->c; c++)
        s->sum[c] = slope[c] * slope[c];
    s->sum[y] += 2 * (slope[y] + d->pull[n]) * d->over_g[n];
    for (size_t m = 0; m < d->m; m++) {
        const double *p = d->p + (n * d->m + m) * d->c;
        double over_z = d->over_z[n * d->m + m], by = 2 * d->w[n * d->m + m] * over_z * over_z;
        for (size_t c = 0; by != 0 && c < d->c; c++)
            s->sum[c] -= by * p[c] * p[c];
    }
    for (size_t c = 0; c < d->c; c++)
        sums[1 + c] += g1[c] * g1[c] * s->sum[c] + bend[c];
}

/* --- an evaluation ------------------------------------------------------------------------------------------------ */
typedef enum { VALUE, PRODUCT, DIAGONAL } part;

typedef struct evaluation {
    vg_gate_data *data;
    part what;
    const double *v; /* c: the vector of a product */
} evaluation;

static vg_status evaluate_chunk(void *context, size_t index, unsigned worker) {
    const evaluation *e = context;
    const vg_gate_data *d = e->data;
    gate_arrays s = arrays_of(d, worker);
    size_t end = (index + 1) * VG_GATE_CHUNK < d->n ? (index + 1) * VG_GATE_CHUNK : d->n;
    double *sums = d->sums + index * (1 + d->c);
    memset(sums, 0, (1 + d->c) * sizeof *sums);
    for (size_t n = index * VG_GATE_CHUNK; n < end; n++) {
        if (d->folds && vg_units__fold(&d->units, n, d->folds) == d->fold)
            continue;
        if (e->what == VALUE)
            add_value(d, n, &s, sums);
        else if (e->what == PRODUCT)
            add_product(d, n, &s, e->v, sums);
        else
            add_diagonal(d, n, &s, sums);
    }
    return VG_OK;
}

/* total[1 + c]: means over the samples that count. */
static vg_status evaluate(evaluation *e, double *total) {
    vg_gate_data *d = e->data;
    size_t chunks = (d->n + VG_GATE_CHUNK - 1) / VG_GATE_CHUNK,
           left_out = d->folds ? vg_units__in_fold(&d->units, d->n, d->folds, d->fold) : 0;
    VG_TRY(vg_pool__run(d->pool, chunks, evaluate_chunk, e));
    memset(total, 0, (1 + d->c) * sizeof *total);
    for (size_t i = 0; i < chunks; i++)
        for (size_t j = 0; j <= d->c; j++)
            total[j] += d->sums[i * (1 + d->c) + j];
    for (size_t j = 0; j <= d->c; j++)
        total[j] /= (double)(d->n - left_out);
    return VG_OK;
}

/* --- objective ---------------------------------------------------------------------------------------------------- */
double vg_gate_data__k(const vg_gate_data *d, double x) { return exp(fmin(fmax(x, d->low), d->high)); }

double vg_gate_data__variable(const vg_gate_data *d, double k) { return fmin(fmax(log(k), d->low), d->high); }

/* One part at the variables x; out: as many entries as there are variables. The arrays of d are placed at x first. */
static vg_status evaluate_at(vg_gate_data *d, part what, const double *x, const double *v, double *f, double *out) {
    size_t count = d->one ? 1 : d->c;
    double *total = d->total, *vector = d->total + d->c + 1;
    if (what == VALUE || !d->known || memcmp(d->at, x, count * sizeof *x) != 0) {
        for (size_t c = 0; c < d->c; c++)
            d->k[c] = vg_gate_data__k(d, x[d->one ? 0 : c]);
        d->known = false;
        VG_TRY(evaluate(&(evaluation){d, VALUE, NULL}, total));
        memcpy(d->at, x, count * sizeof *x);
        d->known = true;
    }
    for (size_t c = 0; c < d->c; c++)
        vector[c] = v ? v[d->one ? 0 : c] : 0;
    if (what != VALUE)
        VG_TRY(evaluate(&(evaluation){d, what, vector}, total));
    if (f)
        *f = total[0];
    memcpy(out, total + 1, count * sizeof *out);
    for (size_t c = 1; d->one && c < d->c; c++)
        out[0] += total[1 + c];
    return VG_OK;
}

static vg_status value(void *context, const double *x, double *f, double *g) {
    return evaluate_at(context, VALUE, x, NULL, f, g);
}
static vg_status product(void *context, const double *x, const double *v, double *hv) {
    return evaluate_at(context, PRODUCT, x, v, NULL, hv);
}
static vg_status diagonal(void *context, const double *x, double *d) {
    return evaluate_at(context, DIAGONAL, x, NULL, NULL, d);
}

vg_objective vg_gate_data__objective(vg_gate_data *data) {
    data->known = false;
    return (vg_objective){data->one ? 1 : data->c,     data,      value,     product,
                          data->one ? NULL : diagonal, data->low, data->high};
}

/* --- figures ------------------------------------------------------------------------------------------------------ */
/* The gated mean of sample n into s->sum. */
static void gated_mean(const vg_gate_data *d, size_t n, const double *k, const gate_arrays *s) {
    memset(s->sum, 0, d->c * sizeof *s->sum);
    for (size_t c = 0; k && c < d->c; c++) {
        double e;
        s->g[c] = gate_of(d->a[n * d->c + c] / k[c], &e);
    }
    for (size_t m = 0; m < d->m; m++) {
        const double *p = d->p + (n * d->m + m) * d->c;
        double z = k ? dot(p, s->g, d->c) : 0, by = 1 / z;
        for (size_t c = 0; c < d->c; c++)
            s->sum[c] += z > FLOOR ? p[c] * s->g[c] * by : p[c];
    }
    for (size_t c = 0; c < d->c; c++)
        s->sum[c] /= (double)d->m;
}

vg_status vg_gate_data__measure(vg_k_figures *out, double *nll, const vg_gate_data *d, const double *k, size_t folds,
                                unsigned bins) {
    gate_arrays s = arrays_of(d, 0);
    double *edges, *bin, sum = 0, correct = 0;
    vg_bin_gaps gaps = {0, 0};
    VG_TRY(vg_base__zalloc(&edges, (size_t)bins + 1, 4 * sizeof *edges, "bins"));
    bin = edges + bins + 1; /* three values per bin: count, confidence, correct */
    vg_base__bin_edges(edges, bins);
    for (size_t n = 0; n < d->n; n++) {
        size_t best = 0, y = (size_t)d->labels[n];
        gated_mean(d, n, k && folds ? k + vg_units__fold(&d->units, n, folds) * d->c : k, &s);
        for (size_t c = 1; c < d->c; c++)
            best = s.sum[c] > s.sum[best] ? c : best;
        double *at = bin + 3 * vg_base__bin(edges, bins, s.sum[best]);
        nll[n] = vg_base__nll(s.sum[y], FLOOR);
        sum += nll[n];
        at[0] += 1;
        at[1] += s.sum[best];
        at[2] += best == y;
        correct += best == y;
    }
    for (unsigned b = 0; b < bins; b++)
        vg_base__add_bin(&gaps, bin[3 * b], bin[3 * b + 1], bin[3 * b + 2]);
    vg_base__release(edges);
    *out = (vg_k_figures){sum / (double)d->n, gaps.total / (double)d->n, correct / (double)d->n};
    return VG_OK;
}
