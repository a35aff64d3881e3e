/* score_terms.h - step of a group of lanes (score_lanes.h): the terms of every class in the ungated set and in
 * every gated one. The algebra is that of docs/design/kernels.md; with up to SCORE_FEW members EPJS is a sum over
 * pairs, as in template/panel_terms.h:
 *
 *     EPJS = (1 - 1/M) EU - 2/M^2 sum_c mean(c) sum_{i<j} phi((r_i + r_j) / 2),   x_m = mean (1 + r_m)
 *
 * Else it is the integral of score_integral.h. */
#ifndef VG_MEASURES_SCORE_TERMS_H
#define VG_MEASURES_SCORE_TERMS_H

#include "measures/cuda/score_columns.h"
#include "measures/cuda/score_integral.h"

#define PAIRS_NEAR 0.125f /* half the ratios below which phi is a polynomial */

/* Adds -q log q: the exponent's part of the logarithm in double, the rest in float, from 1 - q where q is near 1. */
SCORE_FN void add_entropy(lane_set_sums *to, double q) {
    float y = (float)q, f;
    int bits, e;
    memcpy(&bits, &y, sizeof bits);
    e = (bits - 0x3f3504f3) >> 23;
    bits -= (int)((unsigned)e << 23);
    memcpy(&f, &bits, sizeof f);
    f = e == 0 ? (float)(q - 1.0) : f - 1.0f;
    to->exponents = SCORE_FMA64(q, (double)e, to->exponents);
    to->rest = SCORE_FMA(y, score_psi32(f) - f, to->rest);
}

/* A class and its sums over members. */
typedef struct lane_class_sums {
    lane_column x;
    double mu;
    float hi, lo, inverse, variance, low, high;
    float phi, psi;                                                  /* means over members */
    float gate[SCORE_GATES], shift[SCORE_GATES], cross[SCORE_GATES]; /* Gamma; U, T of docs/design/kernels.md */
    bool empty;                                                      /* every member is 0 */
} lane_class_sums;

/* Members from .. from + SCORE_FEW - 1: their logarithms, U and T. */
SCORE_FN void terms_part(const lane_view *v, lane_class_sums *t, int from, const int P, const int G) {
    const score_job *job = v->job;
    float fill = t->empty ? 1.0f : 0.0f, least = t->inverse * (float)SCORE_TINY;
    SCORE_UNROLL
    for (int i = 0; i < (P ? P : SCORE_FEW); i++)
        if (P || from + i < job->m) {
            float p = column_at(v, &t->x, P ? i : from + i, P), lambda = 0.0f, phi, psi;
            if (job->lane_logs) {
                float r = ((p - t->hi) - t->lo) * t->inverse, y = score_most32(SCORE_FMA(p, t->inverse, fill), least);
                lane_bregman(y, r, &lambda, &phi, &psi);
                t->phi += phi;
                t->psi += psi;
            }
            if (G) {
                float w[4], weighted = p * lambda;
                get4(w, v->weights + 8 * (from + i));
                SCORE_UNROLL
                for (int k = 0; k < SCORE_GATES; k++) {
                    t->shift[k] = SCORE_FMA(w[k], p, t->shift[k]);
                    t->cross[k] = SCORE_FMA(w[k], weighted, t->cross[k]);
                }
            }
        }
}

SCORE_FN lane_class_sums terms_sums(const lane_view *v, int lane, int r, const int P, const int G) {
    const score_job *job = v->job;
    lane_class_sums t;
    float low[4], gates[4], share = (float)job->inverse_m;
    get4(low, lane_info(v, lane, r, 0));
    get4(gates, lane_info(v, lane, r, 1));
    t.x = column_load(v, lane, r, P);
    t.hi = low[0];
    t.lo = low[1];
    t.variance = low[2];
    t.low = low[3];
    t.high = gates[3];
    t.mu = (double)t.hi + (double)t.lo;
    t.empty = t.hi < 1e-30f;
    t.inverse = score_over32(t.empty ? 1.0f : t.hi);
    if (!t.empty) /* 1/mu, rounded once */
        t.inverse = SCORE_FMA(t.inverse, SCORE_FMA(-t.hi, t.inverse, 1.0f) - t.lo * t.inverse, t.inverse);
    t.phi = t.psi = 0.0f;
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++) {
        t.gate[k] = gates[k];
        t.shift[k] = t.cross[k] = 0.0f;
    }
    if (P) {
        terms_part(v, &t, 0, P, G);
    } else { /* Sums in float run over few members to limit rounding; they are added in double. */
        double total[2 + 2 * SCORE_GATES] = {0.0};
        SCORE_ROLLED
        for (int from = 0; from < job->m; from += 4 * SCORE_FEW) {
            SCORE_ROLLED
            for (int part = from; part < job->m && part < from + 4 * SCORE_FEW; part += SCORE_FEW)
                terms_part(v, &t, part, P, G);
            total[0] += (double)t.phi;
            total[1] += (double)t.psi;
            t.phi = t.psi = 0.0f;
            SCORE_UNROLL
            for (int k = 0; k < SCORE_GATES; k++) {
                total[2 + k] += (double)t.shift[k];
                total[2 + SCORE_GATES + k] += (double)t.cross[k];
                t.shift[k] = t.cross[k] = 0.0f;
            }
        }
        t.phi = (float)total[0];
        t.psi = (float)total[1];
        SCORE_UNROLL
        for (int k = 0; k < SCORE_GATES; k++) {
            t.shift[k] = (float)total[2 + k];
            t.cross[k] = (float)total[2 + SCORE_GATES + k];
        }
    }
    t.phi = t.empty ? 0.0f : t.phi * share;
    t.psi = t.empty ? 0.0f : t.psi * share;
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++) {
        t.shift[k] *= share;
        t.cross[k] *= share;
    }
    return t;
}

/* log2 x = *exponent + the result, in 0 .. 1 with an absolute error of 2e-7. x is normal, or 0: then it is about
 * 2^-127. */
SCORE_FN float log2_parts(float x, int *exponent) {
    int bits;
    memcpy(&bits, &x, sizeof bits);
    *exponent += (bits >> 23) - 127;
    bits = (bits & 0x7fffff) | 0x3f800000;
    memcpy(&x, &bits, sizeof x);
    return score_log2(x);
}

/* Floors of cross terms: mean times mean_m log(max(x, floor)/x'), x = p by w_m, x' = max(p, TINY) by w_m, which is 0 at
 * and above the floor; for distinct pairs without what members add with themselves. w_m: of set `set`. The logarithms
 * are large, so their exponents are summed apart. */
SCORE_FN float lane_floored(const lane_view *v, const lane_class_sums *t, int set, float mean, float by) {
    const score_job *job = v->job;
    const float floor = (float)job->floor;
    int exponents = 0;
    float rest = 0.0f, diagonal = 0.0f;
    SCORE_ROLLED
    for (int m = 0; m < job->m; m++) {
        float p = lane_value(v, m, t->x.at), scale = set ? by * v->weights[8 * m + 4 + set] : by, x = p * scale;
        if (x < floor) {
            int above = 0, below = 0;
            float logs = log2_parts(floor, &above);
            logs -= log2_parts(score_most32(p, (float)SCORE_TINY), &below) + log2_parts(scale, &below);
            exponents += above - below;
            rest += logs;
            diagonal = SCORE_FMA(x, (float)(above - below) + logs, diagonal);
        }
    }
    double sum = (double)mean * ((double)exponents + (double)rest);
    return (float)((sum - (job->distinct ? (double)diagonal * job->inverse_m : 0.0)) * (SCORE_LN2 * job->inverse_m));
}

/* --- pairs */
/* phi(r) = (1 + r) log(1 + r) - r for |r| <= 1/4, relative error 4e-7. */
SCORE_FN float phi_near(float r) {
    float p = SCORE_FMA(r, -0.025209725f, 0.0350848958f);
    p = SCORE_FMA(p, r, -0.0499648377f);
    p = SCORE_FMA(p, r, 0.0832917243f);
    p = SCORE_FMA(p, r, -0.166666821f);
    p = SCORE_FMA(p, r, 0.500000119f);
    return (r * r) * p;
}
/* phi(r) for any r > -1. */
SCORE_FN float phi_any(float r) {
    float y = score_most32(1.0f + r, 1e-37f), far = SCORE_FMA(y, score_log2(y) * (float)SCORE_LN2, -r);
    return fabsf(r) <= 0.25f ? phi_near(r) : far;
}

/* The sum over pairs of phi((r_i + r_j) / 2) where all ratios are small. u, half: of lane_pairs. */
SCORE_FN float pairs_near(const lane_view *v, const lane_class_sums *t, int set, float u, float half, const int P) {
    float near[SCORE_FEW], sum = 0.0f;
    SCORE_UNROLL
    for (int i = 0; i < P; i++) {
        float r = ((t->x.p[i] - t->hi) - t->lo) * t->inverse, omega = set ? v->weights[8 * i + set - 1] : 0.0f;
        near[i] = ((r - u) + SCORE_FMA(omega, r, omega)) * half;
        SCORE_UNROLL
        for (int j = 0; j < i; j++)
            sum += phi_near(near[i] + near[j]);
    }
    return sum;
}

/* The same elsewhere, from logarithms of y = (1 + r_i)/2 + (1 + r_j)/2, whose error is small beside the sum; the sum
 * over pairs of y - 1 is subtracted at the end. `scale` p w = (1 + r)/2. */
SCORE_FN float pairs_far(const lane_view *v, const lane_class_sums *t, int set, float scale, const int P) {
    float y[SCORE_FEW], sum = 0.0f, all = 0.0f, count = (float)P;
    SCORE_UNROLL
    for (int i = 0; i < P; i++) {
        float by = set ? scale * v->weights[8 * i + 4 + set] : scale;
        y[i] = score_most32(t->x.p[i], 1e-30f) * by;
        all += y[i];
        SCORE_UNROLL
        for (int j = 0; j < i; j++) {
            float pair = y[i] + y[j];
            sum = SCORE_FMA(pair, score_log2(pair), sum);
        }
    }
    return SCORE_FMA(sum, (float)SCORE_LN2, -(count - 1.0f) * (all - 0.5f * count));
}

/* Pairs of set `set`: u = U/mu, 0 for the ungated set; low, high: extremes of its weights. Near 1 the logarithm's error
 * is too large for a class whose members are nearly the same. */
SCORE_FN float lane_pairs(const lane_view *v, const lane_class_sums *t, int set, float u, float low, float high,
                          const int P) {
    float half = 0.5f * score_over32(1.0f + u), scale = half * t->inverse;
    if (t->empty)
        return 0.0f;
    if (t->low * low * scale > 0.5f - PAIRS_NEAR && t->high * high * scale < 0.5f + PAIRS_NEAR)
        return pairs_near(v, t, set, u, half, P);
    return pairs_far(v, t, set, scale, P);
}

/* One class in one set: mean, gate/Zbar, U, and extremes of the weights. */
typedef struct lane_set {
    double mean, gate;
    float shift, over_low, over_high;
} lane_set;

/* The class's part of EPJS by the integral. Every lane of the warp must call it. */
SCORE_FN double lane_integral(const lane_view *v, const lane_class_sums *t, int set, const lane_set *of) {
    const score_job *job = v->job;
    bool idle = t->x.c >= job->c;
    score_column x;
    x.p = v->p + t->x.at;
    x.row = (int)job->stride_m;
    x.weight = v->weights + 4 + set;
    x.weight_row = 8;
    x.omega = set ? v->weights + set - 1 : NULL;
    x.omega_row = 8;
    x.members = job->m;
    x.padded = job->padded;
    x.held = true;
    x.gate = of->gate;
    x.mean = of->mean;
    x.mu = t->mu;
    x.shift = (double)of->shift;
    x.low = (double)t->low * of->gate * (double)of->over_low;
    x.high = (double)t->high * of->gate * (double)of->over_high;
    x.variance = (double)t->variance;
    return integral32(job, &x, idle, 8, 0);
}

/* EPJS of the class in every set by the integral. The loop over the sets is rolled because its body is long; `set == i`
 * selects what lies in registers. */
SCORE_FN void lane_integrals(const lane_view *v, lane_state *s, const lane_class_sums *t, const lane_set *sets,
                             const int G) {
    const score_job *job = v->job;
    int to = G && job->out.gepjs ? job->gated : 0;
    SCORE_ROLLED
    for (int set = job->out.epjs ? 0 : 1; set <= to; set++) {
        lane_set of = sets[0];
        SCORE_UNROLL
        for (int k = 1; k <= SCORE_GATES; k++)
            if (G && set == k)
                of = sets[k];
        float value = (float)lane_integral(v, t, set, &of);
        SCORE_UNROLL
        for (int i = 0; i <= (G ? SCORE_GATES : 0); i++)
            s->own[i].js += set == i ? value : 0.0f;
    }
}

/* The ungated set. */
SCORE_FN lane_set terms_ungated(const lane_view *v, lane_set_sums *sums, const lane_class_sums *t, const int P) {
    const score_job *job = v->job;
    const lane_set set = {t->mu, 1.0, 0.0f, 1.0f, 1.0f};
    add_entropy(sums, t->mu);
    if (job->lane_logs) {
        sums->eu = SCORE_FMA(t->hi, t->phi, sums->eu);
        sums->reverse = SCORE_FMA(t->hi, t->psi, sums->reverse);
        if (job->need_reverse && t->low < (float)job->floor && !t->empty)
            sums->reverse -= lane_floored(v, t, 0, t->hi, 1.0f);
        if (P && job->out.epjs)
            sums->js = SCORE_FMA(t->hi, lane_pairs(v, t, 0, 0.0f, 1.0f, 1.0f, P), sums->js);
    }
    return set;
}

/* The set of gate k. */
SCORE_FN lane_set terms_gated(const lane_view *v, lane_state *s, const lane_class_sums *t, const int k, const int P) {
    const score_job *job = v->job;
    lane_set_sums *sums = &s->own[1 + k];
    double gate64 = (double)t->gate[k] * v->inverse_zbar[k];
    double mean = score_most(gate64 * (t->mu + (double)t->shift[k]), 0.0);
    float gate = t->gate[k] * (float)v->inverse_zbar[k], q = (float)mean;
    float u = t->empty ? 0.0f : t->shift[k] * t->inverse;
    const lane_set set = {mean, gate64, t->shift[k], s->over_low[k], s->over_high[k]};
    add_entropy(sums, mean);
    if (job->lane_gated_logs) {
        float own = gate * t->hi, moved = own * phi_any(u);
        sums->eu += SCORE_FMA(own, t->phi, -moved) + gate * t->cross[k];
        sums->reverse += SCORE_FMA(q, t->psi, moved);
        if (job->need_gated_reverse && t->low * gate * s->over_low[k] < (float)job->floor && !t->empty)
            sums->reverse -= lane_floored(v, t, 1 + k, q, gate);
        if (P && job->out.gepjs)
            sums->js = SCORE_FMA(q, lane_pairs(v, t, 1 + k, u, s->over_low[k], s->over_high[k], P), sums->js);
    }
    return set;
}

/* Step: the terms of the lane's classes. */
SCORE_FN void lane_terms(const lane_view *v, lane_state *s, int lane, const int P, const int G) {
    const score_job *job = v->job;
    const lane_set_sums none = {0.0, 0.0f, 0.0f, 0.0f, 0.0f};
    SCORE_UNROLL
    for (int set = 0; set <= SCORE_GATES; set++)
        s->own[set] = none;
    SCORE_ROLLED
    for (int r = 0; r < v->rounds; r++) {
        lane_class_sums t = terms_sums(v, lane, r, P, G);
        lane_set sets[SCORE_GATES + 1];
        sets[0] = terms_ungated(v, &s->own[0], &t, P);
        SCORE_UNROLL
        for (int k = 0; k < SCORE_GATES; k++)
            if (G && k < job->gated)
                sets[1 + k] = terms_gated(v, s, &t, k, P);
        if (!P && (job->out.epjs || (G && job->out.gepjs)))
            lane_integrals(v, s, &t, sets, G);
    }
    SCORE_UNROLL
    for (int set = 0; set <= SCORE_GATES; set++) {
        const lane_set_sums *own = &s->own[set];
        s->sets[set][0] = SCORE_FMA64(own->exponents, -SCORE_LN2, (double)own->rest);
        s->sets[set][1] = (double)own->eu;
        s->sets[set][2] = (double)own->reverse;
        s->sets[set][3] = (double)own->js;
    }
}

#endif
