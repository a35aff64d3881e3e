/* gate_loss.c - the loss of gate_loss.h, its gradient and its Hessian times a vector, each O(M C) per sample.
 *
 * With r_m(c) = p_m(c)/Z_m, S = sum_m q_m(y), w_m = q_m(y)/S for members that are gated (others are constants) and
 * W = sum w_m, the derivatives in Gamma of one sample's loss are
 *     G(c)   = sum_m w_m r_m(c) - [c = y] W/Gamma(y)
 *     (H u)(c) = -G(c) B - [c = y] B/Gamma(y) + sum_m w_m r_m(c) (b_m - s_m) + [c = y] W u(y)/Gamma(y)^2
 * with s_m = sum_c r_m(c) u(c), b_m = u(y)/Gamma(y) - s_m, B = sum_m w_m b_m. Those in log k follow from
 * dGamma/dlog k = -t exp(-t) and d2Gamma/d(log k)2 = t (1 - t) exp(-t). Samples are summed chunk by chunk in a fixed
 * order: the same bits at any thread count. */
#include "calibrate/gate_loss.h"

#include <math.h>
#include <string.h>

#include "base/calibration_bins.h"

#define FLOOR 1e-8 /* of Gamma, Z_m and the mean's probability */

/* --- one sample --------------------------------------------------------------------------------------------------- */
/* Arrays of one worker. */
typedef struct gate_arrays {
    double *g, *g1, *g2, *u, *total, *turned; /* c: Gamma, its derivatives in log k; sums over members */
    double *z, *w, *s;                        /* m: Z_m (0: not gated), w_m, s_m */
} gate_arrays;

static gate_arrays arrays_of(const vg_gate_data *d, unsigned worker) {
    double *at = d->scratch + (size_t)worker * (VG_GATE_CLASS_ARRAYS * d->c + VG_GATE_MEMBER_ARRAYS * d->m);
    double *m = at + VG_GATE_CLASS_ARRAYS * d->c;
    return (gate_arrays){at, at + d->c, at + 2 * d->c, at + 3 * d->c, at + 4 * d->c, at + 5 * d->c,
                         m,  m + d->m,  m + 2 * d->m};
}

static void gate(const vg_gate_data *d, size_t n, const double *k, const gate_arrays *s) {
    const double *a = d->a + n * d->c;
    for (size_t c = 0; c < d->c; c++) {
        double t = a[c] / k[c], e = exp(-t), g = -expm1(-t);
        bool low = g < FLOOR;
        s->g[c] = low ? FLOOR : g;
        s->g1[c] = low ? 0 : -t * e;
        s->g2[c] = low ? 0 : t * (1 - t) * e;
    }
}

static double weighed(const double *p, const double *by, size_t c) {
    double sum = 0;
    for (size_t i = 0; i < c; i++)
        sum += p[i] * by[i];
    return sum;
}

/* Z_m and w_m of every member, and W in *whole; returns the mean's probability of the label. */
static double weigh_members(const vg_gate_data *d, size_t n, const gate_arrays *s, double *whole) {
    size_t y = (size_t)d->labels[n];
    double sum = 0, gated = 0;
    for (size_t m = 0; m < d->m; m++) {
        const double *p = d->p + (n * d->m + m) * d->c;
        double z = weighed(p, s->g, d->c);
        bool kept = z > FLOOR;
        s->z[m] = kept ? z : 0;
        s->w[m] = kept ? p[y] * s->g[y] / z : 0;
        gated += s->w[m];
        sum += kept ? s->w[m] : p[y];
    }
    for (size_t m = 0; m < d->m && sum > 0; m++)
        s->w[m] /= sum;
    *whole = sum > 0 ? gated / sum : 0;
    return sum / (double)d->m;
}

/* to[c] = sum_m w_m times[m] r_m(c); times NULL: 1. */
static void sum_members(double *to, const vg_gate_data *d, size_t n, const gate_arrays *s, const double *times) {
    memset(to, 0, d->c * sizeof *to);
    for (size_t m = 0; m < d->m; m++) {
        const double *p = d->p + (n * d->m + m) * d->c;
        double weight = s->z[m] > 0 ? s->w[m] / s->z[m] * (times ? times[m] : 1) : 0;
        for (size_t c = 0; weight != 0 && c < d->c; c++)
            to[c] += weight * p[c];
    }
}

/* --- an evaluation ------------------------------------------------------------------------------------------------ */
typedef struct evaluation {
    vg_gate_data *data;
    const double *k, *first, *second; /* c: k, and the derivatives of log k in its variable */
    const double *v;                  /* c: the vector of a product; NULL: value and gradient */
    bool gradient;
} evaluation;

/* sums: the loss, then for each class its gradient or the product. */
static void add_value(const evaluation *e, size_t n, const gate_arrays *s, double *sums) {
    const vg_gate_data *d = e->data;
    size_t y = (size_t)d->labels[n];
    double whole, p = weigh_members(d, n, s, &whole);
    sums[0] -= log(p > FLOOR ? p : FLOOR);
    if (!e->gradient || p <= FLOOR)
        return;
    sum_members(s->total, d, n, s, NULL);
    s->total[y] -= whole / s->g[y];
    for (size_t c = 0; c < d->c; c++)
        sums[1 + c] += s->total[c] * s->g1[c] * e->first[c];
}

static void add_product(const evaluation *e, size_t n, const gate_arrays *s, double *sums) {
    const vg_gate_data *d = e->data;
    size_t y = (size_t)d->labels[n];
    double whole, p = weigh_members(d, n, s, &whole), inner = 0;
    if (p <= FLOOR)
        return;
    for (size_t c = 0; c < d->c; c++)
        s->u[c] = s->g1[c] * e->first[c] * e->v[c];
    double own = s->u[y] / s->g[y];
    for (size_t m = 0; m < d->m; m++) {
        double along = s->z[m] > 0 ? weighed(d->p + (n * d->m + m) * d->c, s->u, d->c) / s->z[m] : 0;
        inner += s->w[m] * (own - along);
        s->s[m] = own - 2 * along;
    }
    sum_members(s->total, d, n, s, NULL);
    sum_members(s->turned, d, n, s, s->s);
    s->total[y] -= whole / s->g[y];
    s->turned[y] += (whole * own - inner) / s->g[y];
    for (size_t c = 0; c < d->c; c++) {
        double first = e->first[c];
        sums[1 + c] += s->g1[c] * first * (s->turned[c] - s->total[c] * inner) +
                       s->total[c] * (s->g2[c] * first * first + s->g1[c] * e->second[c]) * e->v[c];
    }
}

static vg_status evaluate_chunk(void *context, size_t index, unsigned worker) {
    const evaluation *e = context;
    const vg_gate_data *d = e->data;
    gate_arrays s = arrays_of(d, worker);
    size_t end = (index + 1) * VG_GATE_CHUNK < d->n ? (index + 1) * VG_GATE_CHUNK : d->n;
    double *sums = d->sums + index * (1 + d->c);
    memset(sums, 0, (1 + d->c) * sizeof *sums);
    for (size_t n = index * VG_GATE_CHUNK; n < end; n++) {
        if (d->folds && n % d->folds == d->fold)
            continue;
        gate(d, n, e->k, &s);
        if (e->v)
            add_product(e, n, &s, sums);
        else
            add_value(e, n, &s, sums);
    }
    return VG_OK;
}

/* total[1 + c]: means over the samples that count. */
static vg_status evaluate(evaluation *e, double *total) {
    vg_gate_data *d = e->data;
    size_t chunks = (d->n + VG_GATE_CHUNK - 1) / VG_GATE_CHUNK,
           left_out = d->folds ? (d->n - d->fold + d->folds - 1) / d->folds : 0;
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
double vg_gate_data__k(const vg_gate_data *d, double x) { return exp(d->low + (d->high - d->low) / (1 + exp(-x))); }

double vg_gate_data__variable(const vg_gate_data *d, double k) {
    double share = (log(k) - d->low) / (d->high - d->low);
    return log(share / (1 - share));
}

/* Evaluates at the variables x; out: the gradient or the product, of as many entries. */
static vg_status evaluate_at(vg_gate_data *d, const double *x, const double *v, double *f, double *out) {
    double *room;
    VG_TRY(vg_base__alloc(&room, d->c, 6 * sizeof *room, "a loss"));
    double *k = room, *first = room + d->c, *second = room + 2 * d->c, *vector = room + 3 * d->c, *total;
    total = room + 4 * d->c; /* 1 + c, and there is room for 2 c */
    for (size_t c = 0; c < d->c; c++) {
        double at = x[d->one ? 0 : c], s = 1 / (1 + exp(-at)), width = d->high - d->low;
        k[c] = exp(d->low + width * s);
        first[c] = width * s * (1 - s);
        second[c] = first[c] * (1 - 2 * s);
        vector[c] = v ? v[d->one ? 0 : c] : 0;
    }
    evaluation e = {d, k, first, second, v ? vector : NULL, out != NULL};
    vg_status status = evaluate(&e, total);
    if (status == VG_OK && f)
        *f = total[0];
    if (status == VG_OK && out && d->one) {
        out[0] = 0;
        for (size_t c = 0; c < d->c; c++)
            out[0] += total[1 + c];
    } else if (status == VG_OK && out) {
        memcpy(out, total + 1, d->c * sizeof *out);
    }
    vg_base__release(room);
    return status;
}

static vg_status value(void *context, const double *x, double *f, double *g) {
    return evaluate_at(context, x, NULL, f, g);
}
static vg_status product(void *context, const double *x, const double *v, double *hv) {
    return evaluate_at(context, x, v, NULL, hv);
}

vg_objective vg_gate_data__objective(vg_gate_data *data) {
    return (vg_objective){data->one ? 1 : data->c, data, value, product};
}

/* --- figures ------------------------------------------------------------------------------------------------------ */
/* The gated mean of sample n into s->turned. */
static void gated_mean(const vg_gate_data *d, size_t n, const double *k, const gate_arrays *s) {
    memset(s->turned, 0, d->c * sizeof *s->turned);
    if (k)
        gate(d, n, k, s);
    for (size_t m = 0; m < d->m; m++) {
        const double *p = d->p + (n * d->m + m) * d->c;
        double z = k ? weighed(p, s->g, d->c) : 0;
        for (size_t c = 0; c < d->c; c++)
            s->turned[c] += z > FLOOR ? p[c] * s->g[c] / z : p[c];
    }
    for (size_t c = 0; c < d->c; c++)
        s->turned[c] /= (double)d->m;
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
        gated_mean(d, n, k && folds ? k + n % folds * d->c : k, &s);
        for (size_t c = 1; c < d->c; c++)
            best = s.turned[c] > s.turned[best] ? c : best;
        double *at = bin + 3 * vg_base__bin(edges, bins, s.turned[best]);
        nll[n] = vg_base__nll(s.turned[y], FLOOR);
        sum += nll[n];
        at[0] += 1;
        at[1] += s.turned[best];
        at[2] += best == y;
        correct += best == y;
    }
    for (unsigned b = 0; b < bins; b++)
        vg_base__add_bin(&gaps, bin[3 * b], bin[3 * b + 1], bin[3 * b + 2]);
    vg_base__release(edges);
    *out = (vg_k_figures){sum / (double)d->n, gaps.total / (double)d->n, correct / (double)d->n};
    return VG_OK;
}
