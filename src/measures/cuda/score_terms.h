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

/* A class all of whose ratios to the mean lie within a quarter of 1 takes polynomials instead of logarithms, whose
 * absolute error is too large for it. */
#define RATIO_LEAST 0.75f
#define RATIO_MOST 1.25f

/* Adds q log2 q; y: q as a float. The exponent's part is a sum in double, of q (e + ENTROPY_BIAS): that factor is the
 * number whose leading bits are y's own. An absolute error of 2e-7 is left in the rest. */
#define ENTROPY_BIAS 1151.0
SCORE_FN void add_entropy(lane_set_sums *to, double q, float y) {
    uint32_t bits;
    uint64_t high;
    double factor;
    memcpy(&bits, &y, sizeof bits);
    high = (uint64_t)((bits >> 13 & 0x3fc00u) | 0x40900000u) << 32;
    bits = (bits & 0x7fffffu) | 0x3f800000u;
    memcpy(&factor, &high, sizeof factor);
    memcpy(&y, &bits, sizeof y);
    to->exponents = SCORE_FMA64(q, factor, to->exponents);
    to->all += q;
    to->rest = SCORE_FMA((float)q, score_log2(y), to->rest);
}

/* A class and its sums over members. */
typedef struct lane_class_sums {
    lane_column x;
    double mu;
    float hi, lo, inverse, variance, low, high;
    float y[SCORE_FEW], omega[SCORE_FEW][4];                         /* where P > 0: p/mu, and the members' weights */
    float phi, psi;                                                  /* means over members */
    float gate[SCORE_GATES], ratio[SCORE_GATES], cross[SCORE_GATES]; /* Gamma; U/mu, T/mu of docs/design/kernels.md */
    bool empty;                                                      /* every member is 0 */
    unsigned near, floored; /* sets whose pairs take polynomials, with floors */
} lane_class_sums;

/* Adds a member's ratio y = p/mu and its logarithm lambda to the sums that its weights w take part in. */
SCORE_FN void terms_add(lane_class_sums *t, float y, float lambda, const float *w, const int G) {
    float weighted = y * lambda;
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++)
        if (G) {
            t->ratio[k] = SCORE_FMA(w[k], y, t->ratio[k]);
            t->cross[k] = SCORE_FMA(w[k], weighted, t->cross[k]);
        }
}

/* p/mu of a member. An empty class has inverse 0 and fill 1: all its members are the mean. */
SCORE_FN float terms_ratio(const lane_class_sums *t, float p) {
    return score_most32(SCORE_FMA(p, t->inverse, t->empty ? 1.0f : 0.0f), t->inverse * (float)SCORE_TINY);
}
SCORE_FN float terms_deviation(const lane_class_sums *t, float p) { return ((p - t->hi) - t->lo) * t->inverse; }

/* The P members of a class that a lane keeps in registers. A class of which some member lies far from the mean has
 * divergences beside which the logarithm's error is small, and sum r is 0: mean phi = mean y log y, mean psi = -mean
 * log y. */
SCORE_FN void terms_few(const lane_view *v, lane_class_sums *t, const int P, const int G) {
    const bool near = t->low * t->inverse >= RATIO_LEAST && t->high * t->inverse <= RATIO_MOST;
    SCORE_UNROLL
    for (int i = 0; i < P; i++) {
        t->y[i] = terms_ratio(t, t->x.p[i]);
        if (G)
            get4(t->omega[i], v->weights + 8 * i);
    }
    if (near) {
        SCORE_UNROLL
        for (int i = 0; i < P; i++) {
            float r = terms_deviation(t, t->x.p[i]), small = psi_near(r), lambda = r - small;
            t->phi += SCORE_FMA(r, lambda, -small);
            t->psi += small;
            terms_add(t, t->y[i], lambda, t->omega[i], G);
        }
    } else {
        SCORE_UNROLL
        for (int i = 0; i < P; i++) {
            float lambda = v->job->lane_logs ? score_log2(t->y[i]) * (float)SCORE_LN2 : 0.0f;
            t->phi = SCORE_FMA(t->y[i], lambda, t->phi);
            t->psi -= lambda;
            terms_add(t, t->y[i], lambda, t->omega[i], G);
        }
    }
}

/* Up to SCORE_FEW of many members, from `from` on. Each is tested for lying near the mean. */
SCORE_FN void terms_part(const lane_view *v, lane_class_sums *t, int from, const int G) {
    const score_job *job = v->job;
    SCORE_UNROLL
    for (int i = 0; i < SCORE_FEW; i++)
        if (from + i < job->m) {
            float p = lane_value(v, from + i, t->x.at), y = terms_ratio(t, p), lambda = 0.0f, phi, psi, w[4];
            if (job->lane_logs) {
                lane_bregman(y, terms_deviation(t, p), &lambda, &phi, &psi);
                t->phi += phi;
                t->psi += psi;
            }
            if (G)
                get4(w, v->weights + 8 * (from + i));
            terms_add(t, y, lambda, w, G);
        }
}

/* Adds the sums over members to `to`, and clears them. */
SCORE_FN void terms_move(lane_class_sums *t, float *to) {
    to[0] += t->phi;
    to[1] += t->psi;
    t->phi = t->psi = 0.0f;
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++) {
        to[2 + k] += t->ratio[k];
        to[2 + SCORE_GATES + k] += t->cross[k];
        t->ratio[k] = t->cross[k] = 0.0f;
    }
}

/* All members: sums in float run over few of them, and sums of these sums over few, to limit rounding, which is alike
 * where equal members are added to one far from them; they are added in double. */
SCORE_FN void terms_many(const lane_view *v, lane_class_sums *t, const int G) {
    const score_job *job = v->job;
    double total[2 + 2 * SCORE_GATES] = {0.0};
    SCORE_ROLLED
    for (int from = 0; from < job->m; from += 4 * SCORE_FEW) {
        float sum[2 + 2 * SCORE_GATES] = {0.0f};
        SCORE_ROLLED
        for (int part = from; part < job->m && part < from + 4 * SCORE_FEW; part += SCORE_FEW) {
            terms_part(v, t, part, G);
            terms_move(t, sum);
        }
        SCORE_UNROLL
        for (int i = 0; i < 2 + 2 * SCORE_GATES; i++)
            total[i] += (double)sum[i];
    }
    t->phi = (float)total[0];
    t->psi = (float)total[1];
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++) {
        t->ratio[k] = (float)total[2 + k];
        t->cross[k] = (float)total[2 + SCORE_GATES + k];
    }
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

/* The mean of psi of a class in which it is large: of -log y, because the mean of r is 0. Beside one member far below
 * the others, float does not hold the absolute error of its sum, so the logarithms' exponents are summed apart. */
#define PSI_LARGE 1.0f      /* nats */
#define PSI_COUNTS 0x1p-10f /* nats of the reverse divergence; the error of fewer is small too */
SCORE_FN float psi_large(const lane_view *v, const lane_class_sums *t, const int P) {
    int exponents = 0;
    double rest = 0.0;
    SCORE_UNROLL
    for (int i = 0; i < P; i++)
        rest += (double)log2_parts(t->y[i], &exponents);
    SCORE_ROLLED
    for (int m = 0; !P && m < v->job->m; m++)
        rest += (double)log2_parts(terms_ratio(t, lane_value(v, m, t->x.at)), &exponents);
    return (float)(((double)exponents + rest) * (-SCORE_LN2 * v->job->inverse_m));
}

SCORE_FN lane_class_sums terms_sums(const lane_view *v, const class_values *of, const int P, const int G) {
    lane_class_sums t;
    float share = P ? 1.0f / (float)P : (float)v->job->inverse_m;
    t.x = of->x;
    t.hi = of->at.hi;
    t.lo = of->at.lo;
    t.variance = of->at.variance;
    t.low = of->at.low;
    t.high = of->at.high;
    t.mu = (double)t.hi + (double)t.lo;
    t.empty = t.hi < 1e-30f;
    t.near = t.floored = 0;
    t.inverse = score_over32(t.empty ? 1.0f : t.hi); /* then 1/mu, rounded once */
    t.inverse = SCORE_FMA(t.inverse, SCORE_FMA(-t.hi, t.inverse, 1.0f) - t.lo * t.inverse, t.inverse);
    t.inverse = t.empty ? 0.0f : t.inverse;
    t.phi = t.psi = 0.0f;
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++) {
        t.gate[k] = of->gates[k];
        t.ratio[k] = t.cross[k] = 0.0f;
    }
    if (P)
        terms_few(v, &t, P, G);
    else
        terms_many(v, &t, G);
    t.phi *= share;
    t.psi *= share;
    if (t.psi > PSI_LARGE && t.hi * t.psi > PSI_COUNTS && (v->job->need_reverse || v->job->need_gated_reverse))
        t.psi = psi_large(v, &t, P);
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++) {
        t.ratio[k] *= share;
        t.cross[k] *= share;
    }
    return t;
}

/* Floors of cross terms: mean times mean_m log(max(x, floor)/x'), x = p by w_m, x' = max(p, TINY) by w_m, which is 0 at
 * and above the floor; for distinct pairs without what members add with themselves. w_m: of set `set`. The logarithms
 * are large, so their exponents are summed apart. */
SCORE_FN float lane_floored(const lane_view *v, const lane_class_sums *t, int set, float mean, float by) {
    const score_job *job = v->job;
    const float floor = job->floor32;
    int exponents = 0;
    double rest = 0.0;
    float diagonal = 0.0f;
    SCORE_ROLLED
    for (int m = 0; m < job->m; m++) {
        float p = lane_value(v, m, t->x.at), scale = set ? by * v->weights[8 * m + 4 + set] : by, x = p * scale;
        if (x < floor) {
            int above = 0, below = 0;
            float logs = log2_parts(floor, &above);
            logs -= log2_parts(score_most32(p, (float)SCORE_TINY), &below) + log2_parts(scale, &below);
            exponents += above - below;
            rest += (double)logs;
            diagonal = SCORE_FMA(x, (float)(above - below) + logs, diagonal);
        }
    }
    double sum = (double)mean * ((double)exponents + rest);
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
    if (fabsf(r) <= 0.25f)
        return phi_near(r);
    float y = score_most32(1.0f + r, 1e-37f);
    return SCORE_FMA(y, score_log2(y) * (float)SCORE_LN2, -r);
}

/* The sum over pairs of phi((r_i + r_j) / 2) of set `set` where all ratios are small; u: U/mu, 0 for the ungated set.
 * Members are read again, because few classes come here. */
SCORE_FN float pairs_near(const lane_view *v, const lane_class_sums *t, int set, float u, const int P) {
    float near[SCORE_FEW], sum = 0.0f, half = 0.5f * score_over32(1.0f + u);
    SCORE_UNROLL
    for (int i = 0; i < P; i++) {
        float r = terms_deviation(t, lane_value(v, i, t->x.at)), omega = set ? v->weights[8 * i + set - 1] : 0.0f;
        near[i] = ((r - u) + SCORE_FMA(omega, r, omega)) * half;
        SCORE_UNROLL
        for (int j = 0; j < i; j++)
            sum += phi_near(near[i] + near[j]);
    }
    return sum;
}

/* The same elsewhere, times 1 + u, from logarithms of z = (y_i w_i + y_j w_j)/2 = (1 + u) (1 + (r_i + r_j)/2), whose
 * error is small beside the sum: the sum of z log z, less M (M - 1)/2 times phi(u) + u = (1 + u) log(1 + u). */
SCORE_FN float pairs_far(const lane_class_sums *t, int set, float u, float phi, const int P) {
    float half[SCORE_FEW], sum = 0.0f, count = 0.5f * (float)(P * (P - 1));
    SCORE_UNROLL
    for (int i = 0; i < P; i++) {
        half[i] = 0.5f * t->y[i];
        if (set)
            half[i] = SCORE_FMA(half[i], t->omega[i][set - 1], half[i]);
        SCORE_UNROLL
        for (int j = 0; j < i; j++) {
            float z = half[i] + half[j];
            sum = SCORE_FMA(z, score_log2(z), sum);
        }
    }
    return SCORE_FMA(sum, (float)SCORE_LN2, -count * (phi + u));
}

/* Pairs of set `set`, times 1 + u, phi = phi(u); low, high: extremes of its weights. 0, and a mark, where all ratios
 * are near 1. */
SCORE_FN float lane_pairs(lane_class_sums *t, int set, float u, float phi, float low, float high, const int P) {
    float least = t->low * t->inverse * low, most = t->high * t->inverse * high;
    if (least > SCORE_FMA(u, RATIO_LEAST, RATIO_LEAST) && most < SCORE_FMA(u, RATIO_MOST, RATIO_MOST)) {
        t->near |= 1u << set;
        return 0.0f;
    }
    return pairs_far(t, set, u, phi, P);
}

/* One class in one set: mean, gate/Zbar, U/mu, and extremes of the weights. */
typedef struct lane_set {
    double mean, gate;
    float ratio, over_low, over_high;
} lane_set;

/* Gate k, or the ungated set where k is -1. */
SCORE_FN lane_set set_of(const lane_view *v, const lane_state *s, const lane_class_sums *t, const int k) {
    lane_set of = {t->mu, 1.0, 0.0f, 1.0f, 1.0f};
    if (k < 0)
        return of;
    of.gate = (double)t->gate[k] * v->inverse_zbar[k];
    of.ratio = t->ratio[k];
    of.mean = of.gate * SCORE_FMA64(t->mu, (double)of.ratio, t->mu);
    of.over_low = s->over_low[k];
    of.over_high = s->over_high[k];
    return of;
}

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
    x.shift = (double)of->ratio * t->mu;
    x.low = (double)t->low * of->gate * (double)of->over_low;
    x.high = (double)t->high * of->gate * (double)of->over_high;
    x.variance = (double)t->variance;
    return integral32(job, &x, idle, 8, 0);
}

/* What few classes need, or takes long, in every set: EPJS by the integral, pairs by polynomials, floors. The loop over
 * the sets is rolled because its body is long; `set == i` selects what lies in registers. */
SCORE_FN void lane_rest(const lane_view *v, lane_state *s, const lane_class_sums *t, const int P, const int G) {
    const score_job *job = v->job;
    SCORE_ROLLED
    for (int set = 0; set <= (G ? job->gated : 0); set++) {
        lane_set of = set_of(v, s, t, -1);
        SCORE_UNROLL
        for (int k = 0; k < SCORE_GATES; k++)
            if (G && set == k + 1)
                of = set_of(v, s, t, k);
        float js = 0.0f, floors = 0.0f;
        if (!P && (set ? job->out.gepjs : job->out.epjs))
            js = (float)lane_integral(v, t, set, &of);
        if (P && t->near >> set & 1)
            js = (float)of.mean * pairs_near(v, t, set, of.ratio, P);
        if (t->floored >> set & 1)
            floors = lane_floored(v, t, set, (float)of.mean, (float)of.gate);
        SCORE_UNROLL
        for (int i = 0; i <= (G ? SCORE_GATES : 0); i++) {
            s->own[i].js += set == i ? js : 0.0f;
            s->own[i].reverse -= set == i ? floors : 0.0f;
        }
    }
}

/* The ungated set. */
SCORE_FN void terms_ungated(const lane_view *v, lane_set_sums *sums, lane_class_sums *t, const int P) {
    const score_job *job = v->job;
    add_entropy(sums, t->mu, t->hi);
    if (job->lane_logs) {
        sums->eu = SCORE_FMA(t->hi, t->phi, sums->eu);
        sums->reverse = SCORE_FMA(t->hi, t->psi, sums->reverse);
        if (job->need_reverse && t->low < job->floor32 && !t->empty)
            t->floored |= 1u;
        if (P && job->out.epjs)
            sums->js = SCORE_FMA(t->hi, lane_pairs(t, 0, 0.0f, 0.0f, 1.0f, 1.0f, P), sums->js);
    }
}

/* The set of gate k. */
SCORE_FN void terms_gated(const lane_view *v, lane_state *s, lane_class_sums *t, const int k, const int P) {
    const score_job *job = v->job;
    const lane_set of = set_of(v, s, t, k);
    lane_set_sums *sums = &s->own[1 + k];
    float u = of.ratio, gate = (float)of.gate, q = (float)of.mean;
    add_entropy(sums, of.mean, q);
    if (job->lane_gated_logs) {
        float own = gate * t->hi, phi = phi_any(u);
        sums->eu = SCORE_FMA(own, (t->phi - phi) + t->cross[k], sums->eu);
        sums->reverse += SCORE_FMA(q, t->psi, own * phi);
        if (job->need_gated_reverse && t->low * gate * of.over_low < job->floor32 && !t->empty)
            t->floored |= 2u << k;
        if (P && job->out.gepjs)
            sums->js = SCORE_FMA(own, lane_pairs(t, 1 + k, u, phi, of.over_low, of.over_high, P), sums->js);
    }
}

/* Before the terms, those of a class, and after the last. */
SCORE_FN void terms_begin(lane_state *s) {
    const lane_set_sums none = {0.0, 0.0, 0.0f, 0.0f, 0.0f, 0.0f};
    SCORE_UNROLL
    for (int set = 0; set <= SCORE_GATES; set++)
        s->own[set] = none;
}
SCORE_FN void terms_class(const lane_view *v, lane_state *s, const class_values *of, const int P, const int G) {
    const score_job *job = v->job;
    lane_class_sums t = terms_sums(v, of, P, G);
    terms_ungated(v, &s->own[0], &t, P);
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++)
        if (G && k < job->gated)
            terms_gated(v, s, &t, k, P);
    if (t.near | t.floored || (!P && (job->out.epjs || (G && job->out.gepjs))))
        lane_rest(v, s, &t, P, G);
}
SCORE_FN void terms_end(lane_state *s) {
    SCORE_UNROLL
    for (int set = 0; set <= SCORE_GATES; set++) {
        const lane_set_sums *own = &s->own[set];
        double exponents = SCORE_FMA64(own->all, -ENTROPY_BIAS, own->exponents);
        s->sets[set][0] = -SCORE_LN2 * (exponents + (double)own->rest);
        s->sets[set][1] = (double)own->eu;
        s->sets[set][2] = (double)own->reverse;
        s->sets[set][3] = (double)own->js;
    }
}

/* What a pass over the classes does, in any combination; all constants. */
enum {
    PASS_FIRST = 1,  /* the sums of the first pass */
    PASS_STORE = 2,  /* keeps moments and gates */
    PASS_STORED = 4, /* takes them as they were kept */
    PASS_TERMS = 8
};

/* Step: a pass over the lane's classes. The members of the next class are on their way while one is computed. */
SCORE_FN void lane_pass(const lane_view *v, lane_state *s, int lane, const int P, const int G, const int pass) {
    const bool terms = pass & PASS_TERMS && v->job->need_sets;
    lane_column next = column_load(v, lane, 0, P);
    if (pass & PASS_FIRST)
        first_begin(s, P);
    if (pass & PASS_TERMS)
        terms_begin(s);
    SCORE_ROLLED
    for (int r = 0; r < v->rounds; r++) {
        const lane_column x = next;
        next = column_load(v, lane, r + 1 < v->rounds ? r + 1 : r, P);
        const class_values of = pass & PASS_STORED ? class_stored(v, &x, lane, r) : class_of(v, &x, P, G);
        if (pass & PASS_STORE)
            class_store(v, &of, lane, r);
        if (pass & PASS_FIRST)
            first_add(v, s, &of, P, G);
        if (terms)
            terms_class(v, s, &of, P, G);
    }
    if (pass & PASS_TERMS)
        terms_end(s);
}

#endif
