/* js32.h - EPJS of one class in float, two members of each lane's sample per vector. Error below 1e-6, relative 1e-4.
 *
 * Three forms, chosen by how much the members of a class differ:
 * - spread within 0.35 of the mean: the series to order 6 or 10, from deviations taken in double;
 * - wide: means of powers (js32_wide.h); with few members the integral of js.h from first moments (js32_small.h);
 * - narrow except for some members: nodes s_j = 2^(j-4), sums of b - beta and of its square, where beta is b at the
 *   mean. Five operations per node. Also used where the wide form has lost too many digits (a value below 1/200 of the
 *   mean, 1/80 from powers). */

#define JS32_REACH                                                                                                     \
    4.0 /* at the last node s x is at least this for every member; at the first omitted node it is at least 8 */
#define JS32_FEW FEW_MEMBERS
#define JS32_S0 0.0625
#define JS32_WORTH 0.0125 /* of the mean: the error of the means of powers is 4e-7 of the largest member */
#define JS32_MOST 33

/* Whether scaled32 and weights32 hold square roots, as js32_wide.h needs them. */
INLINE bool js32_rooted(const tile *t) { return t->M > JS32_FEW; }

/* The class's members as floats, two per vector, as they are and divided by the largest; an odd one is paired with 0.
 */
static void js32_load(tile *t, size_t c, bool scaled) {
    vf *x = (vf *)t->columns;
    size_t M = t->M, C = t->C;
    if (t->fused)
        t->members32 = (const vf *)class_at(t, c);
    else {
        t->members32 = x;
        for (size_t m = 0; m < M; m += 2)
            x[m / 2] = vf_pack(t->p[m * C + c], m + 1 < M ? t->p[(m + 1) * C + c] : vd_set(0.0));
    }
    if (!scaled)
        return;
    vd high = t->high[c], inverse = vd_reciprocal(vd_select(high < 1e-30, vd_set(1.0), high));
    vf over = vf_pack(inverse, inverse);
    bool rooted = js32_rooted(t);
    for (size_t i = 0; i < t->pairs; i++)
        t->scaled32[i] = rooted ? vf_sqrt(t->members32[i] * over) : t->members32[i] * over;
    for (size_t i = t->pairs; i < t->vectors; i++)
        t->scaled32[i] = vf_set(0.0f);
}

/* 1/Z_m divided by the largest. */
static void pack_weights32(tile *t) {
    t->weight_ratio[0] = vh_from(vd_set(1.0));
    for (size_t k = 0; k < t->K && t->job->out.gepjs; k++) {
        vd inverse = vd_reciprocal(t->weight_high[k]);
        t->weight_ratio[1 + k] = vh_from(t->weight_low[k] * inverse);
        t->weight_share[1 + k] = t->inverse_zbar[k] * inverse;
        vf *to = t->weights32 + k * t->vectors;
        vf scale = vf_both(t->inverse_zbar[k] * inverse);
        if (t->fused)
            for (size_t i = 0; i < t->pairs; i++)
                to[i] = t->over32[k * t->pairs + i] * scale;
        else
            for (size_t m = 0; m < t->M; m += 2)
                to[m / 2] = vf_pack(t->weight[k * t->M + m] * inverse,
                                    m + 1 < t->M ? t->weight[k * t->M + m + 1] * inverse : vd_set(0.0));
        for (size_t i = 0; js32_rooted(t) && i < t->pairs; i++)
            to[i] = vf_sqrt(to[i]);
        for (size_t i = t->pairs; i < t->vectors; i++)
            to[i] = vf_set(0.0f);
    }
}

/* 1 - exp(-u s) for u in 0 .. 1 and s <= 1/4: t P(t), t = u s, P of degree 4 (relative error 3e-9). */
INLINE vf js32_start(vf u, const float s) {
    const float a = 0.999999997061f * s, b = -0.499999434391f * s * s, c = 0.166649194651f * s * s * s;
    const float d = -0.0414768632327f * s * s * s * s, e = 0.00748274195487f * s * s * s * s * s;
    return u * (a + u * (b + u * (c + u * (d + u * e))));
}

/* Sums over members of b - beta and of its square at every node. */
typedef struct js32_nodes {
    size_t count;
    vf beta[JS32_MOST], first[JS32_MOST], second[JS32_MOST];
} js32_nodes;

INLINE void js32_narrow_block(js32_nodes *at, const vf *x, const vf *w, size_t i, bool rooted, const int B) {
    const size_t nodes = at->count;
    const vf *beta = at->beta;
    vf *first = at->first, *second = at->second, b[8];
    UNROLL
    for (int v = 0; v < B; v++) {
        vf u = w ? x[i + (size_t)v] * w[i + (size_t)v] : x[i + (size_t)v];
        b[v] = js32_start(rooted ? u * u : u, (float)JS32_S0);
    }
    for (size_t j = 0; j < nodes; j++) {
        vf e[8], square[8];
        UNROLL
        for (int v = 0; v < B; v++) {
            e[v] = b[v] - beta[j];
            square[v] = e[v] * e[v];
            b[v] = b[v] * (2.0f - b[v]);
        }
        first[j] += js32_sum(e, B);
        second[j] += js32_sum(square, B);
    }
}

static vd js32_narrow(const tile *t, const js_set *set, vd inverse, vl lane_nodes, size_t nodes) {
    const vf *x = t->scaled32, *w = set->weights32;
    size_t vectors = t->pairs, i = 0;
    bool rooted = js32_rooted(t);
    vd start = set->mean * inverse;
    js32_nodes at;
    at.count = nodes;
    vf *beta = at.beta, *first = at.first, *second = at.second;
    beta[0] = js32_start(vf_pack(start, start), (float)JS32_S0);
    for (size_t j = 0; j < nodes; j++) {
        if (j > 0)
            beta[j] = beta[j - 1] * (2.0f - beta[j - 1]);
        first[j] = second[j] = vf_set(0.0f);
    }
    for (; i + 8 <= vectors; i += 8)
        js32_narrow_block(&at, x, w, i, rooted, 8);
    for (; i + 4 <= vectors; i += 4)
        js32_narrow_block(&at, x, w, i, rooted, 4);
    for (; i < vectors; i++)
        js32_narrow_block(&at, x, w, i, rooted, 1);
    float over = (float)(1.0 / (double)t->M), padded = (float)(t->M % 2);
    vj lanes = __builtin_convertvector(lane_nodes, vj);
    vh value = {0}, zero = {0};
    for (size_t j = 0; j < nodes; j++) { /* The padding's b is 0, so its deviation was -beta. */
        vh own = vf_low(beta[j]);
        vh e = (vf_halves(first[j]) + padded * own) * over, square = (vf_halves(second[j]) - padded * own * own) * over;
        float weight =
            /* the upper tail is folded into the last node */
            (float)(js32_weight[j] * (j + 1 == JS32_MOST ? 2.0 : 1.0));
        vh taken = (vh)((vj)(zero + weight) & (lanes > (int)j));
        value += vh_max(square - e * e, zero) * taken;
    }
    return vd_from(value);
}

/* x/mean - 1 of pair i of a set's members. From floats by differences alone: with r = p/mu - 1, omega and u = U/mu,
 * (1 + r)(1 + omega)/(1 + u) - 1. */
typedef struct js32_ratio {
    vf high, low, inverse, shift, over; /* of mu, 1/mu, u, 1/(1 + u) */
    const vf *omega;
} js32_ratio;

INLINE vf js32_deviation(const tile *t, const js_set *set, const js32_ratio *of, size_t c, size_t i, vd inverse) {
    if (t->fused) {
        vf r = ((t->members32[i] - of->high) - of->low) * of->inverse;
        if (!of->omega)
            return r;
        vf omega = of->omega[i];
        return ((r - of->shift) + (omega + omega * r)) * of->over;
    }
    size_t m = 2 * i;
    vd a = (js_value(t, set, c, m) - set->mean) * inverse;
    vd b = m + 1 < t->M ? (js_value(t, set, c, m + 1) - set->mean) * inverse : vd_set(0.0);
    return vf_pack(a, b);
}

/* Terms `from` .. `to` of js_series in float, without its floor: none is a difference of nearly equal numbers. */
INLINE vh js32_terms(const vh *moment, const int from, const int to) {
    vh plain = {0};
    UNROLL
    for (int n = from; n <= to; n++) {
        vh mixed = moment[n];
        UNROLL
        for (int i = 1; 2 * i < n; i++)
            mixed += (float)js_binomial[n][i] * moment[i] * moment[n - i];
        if (n % 2 == 0)
            mixed += (float)(0.5 * js_binomial[n][n / 2]) * moment[n / 2] * moment[n / 2];
        plain += (moment[n] - (float)ldexp(2.0, -n) * mixed) * (float)((n % 2 ? -1.0 : 1.0) / (double)(n * (n - 1)));
    }
    return plain;
}

/* Order 6 with members within 0.15, else order 10 within 0.35: the first omitted term is below 4e-6 of the value. */
static vd js32_series(const tile *t, const js_set *set, size_t c, vl tight) {
    size_t M = t->M;
    vl far = tight & ~js_tight(set, 0.15);
    bool more = vl_any(far);
    vd inverse = vd_reciprocal(vd_select(tight, set->mean, vd_set(1.0)));
    js32_ratio of;
    of.omega = NULL;
    if (t->fused) {
        vd over_mu = vd_reciprocal(vd_select(tight, t->mu[c], vd_set(1.0)));
        of.high = vf_twice(t->mu_high[c]);
        of.low = vf_twice(t->mu_low[c]);
        of.inverse = vf_both(over_mu);
        if (set->index) {
            vd u = vd_select(tight, t->shift[(set->index - 1) * t->C + c] * over_mu, vd_set(0.0));
            of.omega = t->omega32 + (set->index - 1) * t->pairs;
            of.shift = vf_both(u);
            of.over = vf_both(vd_reciprocal(1.0 + u));
        }
    }
    vf sum[11];
    UNROLL
    for (int n = 1; n <= 10; n++)
        sum[n] = vf_set(0.0f);
    for (size_t i = 0; i < t->pairs; i++) {
        vf r = js32_deviation(t, set, &of, c, i, inverse);
        if (2 * i + 1 == M)
            r = vf_pair(r, 0.0f);
        VG_ADD_POWERS(vf, sum, r, more);
    }
    vh moment[11];
    UNROLL
    for (int n = 1; n <= 6; n++)
        moment[n] = vf_halves(sum[n]) * (float)(1.0 / (double)M);
    vh value = js32_terms(moment, 2, 6);
    if (more) {
        UNROLL
        for (int n = 7; n <= 10; n++)
            moment[n] = vf_halves(sum[n]) * (float)(1.0 / (double)M);
        vj too = __builtin_convertvector(far, vj);
        value += (vh)((vj)js32_terms(moment, 7, 10) & too);
    }
    return vd_from(value) * set->mean;
}

/* One class of one set, the current class; `given`: its wide form, where some lane needs it. */
static vd js32(tile *t, const js_set *set, size_t c, const vd *given) {
    /* below 1e-30: no weight */
    vl empty = (set->high < 1e-30) | (set->low == set->high), tight = js_tight(set, 0.35) | empty;
    vd value = {0};
    if (vl_any(tight & ~empty))
        value = js32_series(t, set, c, tight & ~empty);
    if (vl_any(~tight)) {
        vd inverse = vd_reciprocal(vd_select(empty, vd_set(1.0), set->high)), low = set->low * inverse, wide = {0};
        /* The ungated spread predicts which form is accurate; the value confirms it. */
        vl narrow = (t->variance[c] < 0.02 * t->mu[c] * t->mu[c]) & ~tight;
        if (vl_any(~(narrow | tight))) {
            wide = *given;
            narrow |= ~(wide >= (js32_rooted(t) ? JS32_WORTH : 0.005) * set->mean * inverse) & ~tight;
        }
        if (vl_any(narrow)) {
            vl lane_nodes = js_lane_nodes(low, 1 / JS32_S0, JS32_REACH, 1, 1, JS32_MOST);
            vd careful = js32_narrow(t, set, inverse, lane_nodes, js_most_nodes(lane_nodes, tight));
            wide = vd_select(narrow, careful, wide);
        }
        value = vd_select(tight, value, wide * set->high);
    }
    return vd_select(empty, vd_set(0.0), vd_max(value, vd_set(0.0)));
}
