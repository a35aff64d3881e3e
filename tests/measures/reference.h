/* reference.h - the measures, straight from their formulas, in quadruple precision; what the kernels are tested
 * against.
 *
 * Nothing here shares algebra with a fast form: pairwise measures are double loops over ordered pairs of members, gated
 * measures build every gated member q_m. All arithmetic is IEEE binary128 (113-bit significand; software, slow), so
 * that differences such as TU - AU hold a relative error below 1e-18 even at values of 1e-12. The one exception is EPJS
 * of more than REF_QUAD_JS members, where a quadruple logarithm for each pair and class would take minutes: there each
 * Jensen-Shannon term is p/2 log(2p/(p+q)) + q/2 log(2q/(p+q)) with log1p in 80-bit long double, relative error below
 * 1e-12 at values of 1e-12 (test_measures_golden compares the two forms).
 *
 * ref_score has vg_score's signature, and also gives what a comparison needs to know about near ties. */
#ifndef VG_TEST_REFERENCE_H
#define VG_TEST_REFERENCE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vargate/measures.h"

#if defined(__SIZEOF_FLOAT128__)
typedef __float128 ref_real;
extern ref_real logf128(ref_real), expf128(ref_real), expm1f128(ref_real), sqrtf128(ref_real);
#define REF_LOG logf128
#define REF_EXP expf128
#define REF_EXPM1 expm1f128
#define REF_SQRT sqrtf128
#else /* machines whose long double is binary128 */
typedef long double ref_real;
#define REF_LOG logl
#define REF_EXP expl
#define REF_EXPM1 expm1l
#define REF_SQRT sqrtl
#endif

enum { REF_QUAD_JS = 8 };

/* A set of member distributions: p[m * c + i], and the logarithms that its entropies and its cross terms use. */
typedef struct ref_members {
    size_t m, c;
    ref_real *p, *entropy_log, *cross_log;
} ref_members;

typedef struct ref_basic {
    ref_real tu, au, eu, epce, epkl, epjs;
} ref_basic;

/* How near a sample is to a tie: relative distances of the largest mean from the second, of the second from the third;
 * the denominator of SNR, the largest mean, and for each k the two sides' difference in the decision rule. n, and n K.
 * */
typedef struct ref_extra {
    double *gap, *gap2, *snr_denominator, *mu_first, *rule;
} ref_extra;

static inline void *ref_alloc(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        abort();
    return memory;
}

static inline ref_members ref_members_new(size_t m, size_t c) {
    ref_members r = {m, c, NULL, NULL, NULL};
    r.p = ref_alloc(m * c, sizeof(ref_real));
    r.entropy_log = ref_alloc(m * c, sizeof(ref_real));
    r.cross_log = ref_alloc(m * c, sizeof(ref_real));
    return r;
}

static inline void ref_members_free(ref_members *r) {
    free(r->p);
    free(r->entropy_log);
    free(r->cross_log);
}

/* --- input -------------------------------------------------------------------------------------------------------- */

static inline double ref_half(uint16_t h) {
    int sign = h >> 15, exponent = h >> 10 & 31, fraction = h & 1023;
    double value = exponent == 0    ? ldexp(fraction, -24)
                   : exponent == 31 ? (fraction ? NAN : INFINITY)
                                    : ldexp(1024 + fraction, exponent - 25);
    return sign ? -value : value;
}

static inline double ref_bfloat(uint16_t b) {
    uint32_t bits = (uint32_t)b << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double ref_element(const vg_predictions *v, size_t n, size_t m, size_t c) {
    ptrdiff_t at = (ptrdiff_t)n * v->stride_n + (ptrdiff_t)m * v->stride_m + (ptrdiff_t)c * v->stride_c;
    switch (v->dtype) {
    case VG_F32: return ((const float *)v->data)[at];
    case VG_F64: return ((const double *)v->data)[at];
    case VG_F16: return ref_half(((const uint16_t *)v->data)[at]);
    default: return ref_bfloat(((const uint16_t *)v->data)[at]);
    }
}

/* The logarithms of a member set whose probabilities are given (log p known only for logits: then known[m * c + i]). */
static inline void ref_fill_logs(ref_members *r, const ref_real *known, const vg_score_options *o) {
    for (size_t i = 0; i < r->m * r->c; i++) {
        ref_real p = r->p[i], floor = o->floor;
        if (known) {
            r->entropy_log[i] = r->cross_log[i] = known[i];
        } else if (o->floor_form == VG_FLOOR_ADD) {
            r->entropy_log[i] = r->cross_log[i] = REF_LOG(p + floor);
        } else {
            r->entropy_log[i] = p > 0 ? REF_LOG(p) : 0; /* 0 log 0 = 0 */
            if (o->floor_form == VG_FLOOR_MAX)
                r->cross_log[i] = REF_LOG(p > floor ? p : floor);
            else
                r->cross_log[i] = r->entropy_log[i];
        }
    }
}

static inline void ref_divide_by_sum(ref_real *row, size_t c) {
    ref_real sum = 0;
    for (size_t i = 0; i < c; i++)
        sum += row[i];
    for (size_t i = 0; i < c; i++)
        row[i] /= sum;
}

static inline void ref_clamp(ref_real *row, size_t c, ref_real floor) {
    for (int twice = 0; twice < 2; twice++) {
        for (size_t i = 0; i < c; i++)
            row[i] = row[i] < floor ? floor : row[i] > 1 ? 1 : row[i];
        ref_divide_by_sum(row, c);
    }
}

/* softmax and log softmax of c logits */
static inline void ref_softmax(ref_real *p, ref_real *log_p, const ref_real *z, size_t c) {
    ref_real largest = z[0], sum = 0;
    for (size_t i = 1; i < c; i++)
        largest = z[i] > largest ? z[i] : largest;
    for (size_t i = 0; i < c; i++)
        sum += REF_EXP(z[i] - largest);
    for (size_t i = 0; i < c; i++) {
        log_p[i] = z[i] - largest - REF_LOG(sum);
        p[i] = REF_EXP(log_p[i]);
    }
}

/* Member distributions of sample n (multilabel: of its label, as the two outcomes 1 - u, u). For logits, log_p too. */
static inline void ref_load(ref_members *r, ref_real *log_p, const vg_predictions *v, const vg_score_options *o,
                            size_t n, size_t label) {
    int multilabel = o->task != VG_TASK_MULTICLASS;
    ref_real *z = ref_alloc(r->c, sizeof *z);
    for (size_t m = 0; m < r->m; m++) {
        ref_real *row = r->p + m * r->c;
        ref_real t = !o->temperature ? 1 : o->temperature_count == 1 ? o->temperature[0] : o->temperature[m];
        for (size_t i = 0; i < r->c; i++)
            z[i] = multilabel ? (i ? (ref_real)ref_element(v, n, m, label) : 0) : (ref_real)ref_element(v, n, m, i);
        if (o->logits) {
            for (size_t i = 0; i < r->c; i++)
                z[i] /= t; /* two outcomes: softmax(0, z/T) = (1 - sigmoid, sigmoid) */
            ref_softmax(row, log_p + m * r->c, z, r->c);
            continue;
        }
        if (multilabel)
            z[0] = 1 - z[1];
        memcpy(row, z, r->c * sizeof *row);
        if (o->renormalise && !multilabel)
            ref_divide_by_sum(row, r->c);
        if (o->floor_form == VG_FLOOR_CLAMP)
            ref_clamp(row, r->c, o->floor);
    }
    free(z);
}

/* --- measures of a member set ------------------------------------------------------------------------------------- */

static inline void ref_mean(ref_real *mean, const ref_members *r) {
    for (size_t i = 0; i < r->c; i++) {
        ref_real sum = 0;
        for (size_t m = 0; m < r->m; m++)
            sum += r->p[m * r->c + i];
        mean[i] = sum / (ref_real)r->m;
    }
}

static inline void ref_variance(ref_real *variance, const ref_members *r, const ref_real *mean) {
    for (size_t i = 0; i < r->c; i++) {
        ref_real sum = 0;
        for (size_t m = 0; m < r->m; m++)
            sum += (r->p[m * r->c + i] - mean[i]) * (r->p[m * r->c + i] - mean[i]);
        variance[i] = sum / (ref_real)r->m;
    }
}

/* -sum p log p, or with `add` -sum p log(p + add) */
static inline ref_real ref_entropy(const ref_real *p, size_t c, ref_real add) {
    ref_real sum = 0;
    for (size_t i = 0; i < c; i++)
        if (p[i] > 0)
            sum -= p[i] * REF_LOG(p[i] + add);
    return sum;
}

/* H((p+q)/2) - (H(p) + H(q))/2 */
static inline ref_real ref_js_quad(const ref_real *p, const ref_real *q, size_t c, ref_real add) {
    ref_real *middle = ref_alloc(c, sizeof *middle);
    for (size_t i = 0; i < c; i++)
        middle[i] = (p[i] + q[i]) / 2;
    ref_real js = ref_entropy(middle, c, add) - (ref_entropy(p, c, add) + ref_entropy(q, c, add)) / 2;
    free(middle);
    return js;
}

/* log(2p/(p+q)), by log1p where the two are close */
static inline long double ref_log_share(long double p, long double q) {
    return fabsl(p - q) < (p + q) / 2 ? log1pl((p - q) / (p + q)) : logl(2 * p / (p + q));
}

static inline long double ref_js_long(const long double *p, const long double *q, size_t c) {
    long double sum = 0;
    for (size_t i = 0; i < c; i++) {
        if (p[i] > 0)
            sum += p[i] / 2 * ref_log_share(p[i], q[i]);
        if (q[i] > 0)
            sum += q[i] / 2 * ref_log_share(q[i], p[i]);
    }
    return sum;
}

/* Sum of JS over the unordered pairs m < n; each stands for two ordered ones, and JS(p, p) = 0. */
static inline ref_real ref_js_pairs(const ref_members *r, ref_real add, size_t quad_up_to) {
    ref_real sum = 0;
    if (r->m <= quad_up_to || add > 0) {
        for (size_t m = 0; m < r->m; m++)
            for (size_t n = 0; n < m; n++)
                sum += ref_js_quad(r->p + m * r->c, r->p + n * r->c, r->c, add);
        return sum;
    }
    long double *p = ref_alloc(r->m * r->c, sizeof *p);
    for (size_t i = 0; i < r->m * r->c; i++)
        p[i] = (long double)r->p[i];
    for (size_t m = 0; m < r->m; m++) {
        long double row = 0;
        for (size_t n = 0; n < m; n++)
            row += ref_js_long(p + m * r->c, p + n * r->c, r->c);
        sum += row;
    }
    free(p);
    return sum;
}

/* Sum over ordered pairs of -sum_c p_m(c) log p_n(c), the diagonal included or not. */
static inline ref_real ref_cross_pairs(const ref_members *r, int diagonal) {
    ref_real sum = 0;
    for (size_t m = 0; m < r->m; m++)
        for (size_t n = 0; n < r->m; n++) {
            if (m == n && !diagonal)
                continue;
            for (size_t i = 0; i < r->c; i++)
                sum -= r->p[m * r->c + i] * r->cross_log[n * r->c + i];
        }
    return sum;
}

static inline ref_basic ref_measure(const ref_members *r, const vg_score_options *o, int want_js) {
    int adds = !o->logits && o->floor_form == VG_FLOOR_ADD, distinct = o->pairs == VG_PAIRS_DISTINCT;
    ref_real add = adds ? o->floor : 0, members = r->m, pairs = distinct ? members * (members - 1) : members * members;
    ref_real *mean = ref_alloc(r->c, sizeof *mean);
    ref_basic b = {0};
    ref_mean(mean, r);
    b.tu = ref_entropy(mean, r->c, add);
    for (size_t i = 0; i < r->m * r->c; i++)
        b.au -= r->p[i] * r->entropy_log[i] / members;
    b.eu = b.tu - b.au;
    if (r->m == 1) { /* by definition no epistemic part */
        b.epce = b.au;
    } else {
        b.epce = ref_cross_pairs(r, !distinct) / pairs;
        b.epkl = b.epce - b.au;
        if (want_js)
            b.epjs = 2 * ref_js_pairs(r, add, REF_QUAD_JS) / pairs;
    }
    if (adds) {
        b.eu = b.eu > 0 ? b.eu : 0;
        b.epkl = b.epkl > 0 ? b.epkl : 0;
        b.epjs = b.epjs > 0 ? b.epjs : 0;
    }
    free(mean);
    return b;
}

/* --- gating ------------------------------------------------------------------------------------------------------- */

/* k of class i (multilabel: of the label). */
static inline ref_real ref_k(double k, const vg_score_options *o, size_t i, size_t label) {
    k = k < 1e15 ? k : 1e15; /* by definition (docs/measures.md) */
    return !o->class_k ? (ref_real)k : (ref_real)k * o->class_k[o->task == VG_TASK_MULTICLASS ? i : label];
}

static inline ref_real ref_gamma(ref_real mu, ref_real sigma, ref_real k, const vg_score_options *o) {
    ref_real eps = o->eps, kk = k;
    if (o->gate_eps_form == VG_GATE_EPS_OUTSIDE)
        return -REF_EXPM1(-mu / (kk * sigma + eps));
    kk = k > (ref_real)1e-3 ? k : (ref_real)1e-3;
    ref_real gamma = -REF_EXPM1(-mu / (kk * (sigma + eps)));
    return gamma > eps ? gamma : eps;
}

/* Gated members at one k, with their logarithms. Returns whether some Z_m was 0. */
static inline int ref_gate(ref_members *q, const ref_members *p, const ref_real *log_p, const ref_real *mu,
                           const ref_real *sigma, double k, const vg_score_options *o, size_t label) {
    int gated_out = 0;
    ref_real *gamma = ref_alloc(p->c, sizeof *gamma), *log_q = ref_alloc(p->m * p->c, sizeof *log_q);
    for (size_t i = 0; i < p->c; i++)
        gamma[i] = ref_gamma(mu[i], sigma[i], ref_k(k, o, i, label), o);
    for (size_t m = 0; m < p->m; m++) {
        ref_real z = 0;
        for (size_t i = 0; i < p->c; i++)
            z += p->p[m * p->c + i] * gamma[i];
        gated_out |= z <= 0;
        for (size_t i = 0; i < p->c; i++) {
            size_t at = m * p->c + i;
            q->p[at] = z > 0 ? p->p[at] * gamma[i] / z : p->p[at];
            if (log_p) /* where gamma is 0 every member is 0, and its logarithm has no weight */
                log_q[at] = z <= 0 ? log_p[at] : gamma[i] > 0 ? log_p[at] + REF_LOG(gamma[i]) - REF_LOG(z) : 0;
        }
    }
    ref_fill_logs(q, log_p ? log_q : NULL, o);
    free(gamma);
    free(log_q);
    return gated_out;
}

/* --- one two-or-more-outcome problem ------------------------------------------------------------------------------ */

/* Where each output of problem `at` (sample, or sample and label) goes; row: its index in mean and std. */
static inline void ref_store_basic(vg_scores *out, size_t at, ref_basic b, const vg_score_options *o, size_t c) {
    double unit = o->log_base == VG_LOG_2 ? 1 / log(2.0) : 1, whole = o->normalise ? 1 / log((double)c) : unit;
    double *places[] = {out->tu, out->au, out->eu, out->epce, out->epkl, out->epjs};
    double values[] = {(double)b.tu * whole,  (double)b.au * whole,  (double)b.eu * whole,
                       (double)b.epce * unit, (double)b.epkl * unit, (double)b.epjs * unit};
    for (int i = 0; i < 6; i++)
        if (places[i])
            places[i][at] = values[i];
}

static inline void ref_margin(vg_scores *out, ref_extra *extra, size_t at, const ref_real *mu, const ref_real *sigma,
                              size_t c, const double *ks, size_t k_count, const vg_score_options *o, size_t label) {
    size_t i = 0, j = 1;
    if (mu[1] > mu[0])
        i = 1, j = 0;
    for (size_t x = 2; x < c; x++) {
        if (mu[x] > mu[i])
            j = i, i = x;
        else if (mu[x] > mu[j] || (mu[x] == mu[j] && x < j))
            j = x;
    }
    ref_real third = 0, eps = o->eps;
    for (size_t x = 0; x < c; x++)
        if (x != i && x != j && mu[x] > third)
            third = mu[x];
    ref_real below =
        o->margin_eps_form == VG_MARGIN_EPS_ONCE ? sigma[i] + sigma[j] + eps : (sigma[i] + eps) + (sigma[j] + eps);
    ref_real snr = (mu[i] - mu[j]) / below, gate = -REF_EXPM1(-snr);
    int literal_low = o->task == VG_TASK_MULTILABEL_LITERAL && !(mu[1] > 0.5);
    out->snr[at] = (double)snr;
    out->gmu[at] = (double)(literal_low ? mu[i] * gate : 1 - mu[i] * gate);
    out->pred[at] = (int32_t)i;
    out->second[at] = (int32_t)j;
    if (mu[i] == mu[j])
        out->flags[at] |= VG_FLAG_TIE;
    extra->gap[at] = (double)((mu[i] - mu[j]) / mu[i]);
    extra->gap2[at] = mu[j] > 0 ? (double)((mu[j] - third) / mu[j]) : 0;
    if (o->task != VG_TASK_MULTICLASS || c == 2)
        extra->gap2[at] = 1;
    extra->snr_denominator[at] = (double)below;
    extra->mu_first[at] = (double)mu[i];
    for (size_t k = 0; k < k_count; k++) {
        ref_real left = mu[i] - ref_k(ks[k], o, i, label) * sigma[i];
        ref_real right = mu[j] + ref_k(ks[k], o, j, label) * sigma[j];
        out->decision[at * k_count + k] = left > right ? (int32_t)i : -1;
        extra->rule[at * k_count + k] = (double)(left - right);
    }
}

typedef struct ref_totals {
    ref_real variance, tu, gtu;
} ref_totals;

static inline void ref_spread(ref_real *sigma, const ref_real *variance, const ref_members *p, vg_sigma form) {
    for (size_t i = 0; i < p->c; i++) {
        ref_real v = variance[i];
        if (form == VG_SIGMA_SAMPLE)
            v = p->m > 1 ? v * (ref_real)p->m / (ref_real)(p->m - 1) : 0;
        sigma[i] = REF_SQRT(v);
    }
}

static inline void ref_problem(vg_scores *out, ref_extra *extra, ref_totals *totals, const vg_predictions *v,
                               const vg_score_options *o, const double *ks, size_t k_count, size_t n, size_t label) {
    int multilabel = o->task != VG_TASK_MULTICLASS, want_js = out->epjs != NULL;
    size_t c = multilabel ? 2 : v->c, at = multilabel ? n * v->c + label : n, largest = 0;
    ref_members p = ref_members_new(v->m, c), q = ref_members_new(v->m, c);
    ref_real *log_p = o->logits ? ref_alloc(v->m * c, sizeof *log_p) : NULL;
    ref_real *mu = ref_alloc(4 * c, sizeof *mu), *variance = mu + c, *gate = mu + 2 * c, *margin = mu + 3 * c;
    ref_load(&p, log_p, v, o, n, label);
    ref_fill_logs(&p, log_p, o);
    ref_mean(mu, &p);
    ref_variance(variance, &p, mu);
    ref_spread(gate, variance, &p, o->sigma_gate);
    ref_spread(margin, variance, &p, o->sigma_margin);
    for (size_t i = multilabel ? 1 : 0; i < c; i++) {
        size_t place = multilabel ? at : n * c + i;
        out->mean[place] = (double)mu[i];
        out->std[place] = (double)REF_SQRT(variance[i]);
        totals->variance += variance[i];
    }
    out->flags[at] = 0;
    ref_margin(out, extra, at, mu, margin, c, ks, k_count, o, label);
    ref_basic b = ref_measure(&p, o, want_js);
    ref_store_basic(out, at, b, o, c);
    totals->tu += b.tu;
    for (size_t k = 1; k < k_count; k++)
        largest = ks[k] > ks[largest] ? k : largest;
    for (size_t k = 0; k < k_count; k++) {
        if (ref_gate(&q, &p, log_p, mu, gate, ks[k], o, label))
            out->flags[at] |= VG_FLAG_GATED_OUT;
        vg_scores gated = {
            .tu = out->gtu, .au = out->gau, .eu = out->geu, .epce = out->gepce, .epkl = out->gepkl, .epjs = out->gepjs};
        b = ref_measure(&q, o, want_js);
        ref_store_basic(&gated, at * k_count + k, b, o, c);
        totals->gtu += k == largest ? b.tu : 0;
    }
    ref_members_free(&p);
    ref_members_free(&q);
    free(log_p);
    free(mu);
}

/* Every field of `out` must be given, except that epjs and gepjs may both be NULL. Input is taken to be valid. */
static inline void ref_score(vg_scores *out, ref_extra *extra, vg_score_summary *summary, const vg_predictions *v,
                             const vg_score_options *o) {
    static const double usual[] = {1, 2, 3};
    const double *ks = o->k ? o->k : usual;
    size_t k_count = o->k ? o->k_count : 3, labels = o->task == VG_TASK_MULTICLASS ? 1 : v->c;
    ref_totals totals = {0};
    for (size_t n = 0; n < v->n; n++)
        for (size_t label = 0; label < labels; label++)
            ref_problem(out, extra, &totals, v, o, ks, k_count, n, label);
    ref_real problems = (ref_real)v->n * (ref_real)labels;
    *summary = (vg_score_summary){.samples = v->n};
    summary->diversity = (double)(totals.variance / ((ref_real)v->n * (ref_real)v->c));
    summary->mean_tu = (double)(totals.tu / problems);
    summary->mean_gtu = (double)(totals.gtu / problems);
    summary->k_sensitivity = 1 - (double)(totals.gtu / totals.tu);
}

#endif
