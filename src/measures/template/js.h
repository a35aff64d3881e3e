/* js.h - expected pairwise Jensen-Shannon divergence of one class without pairs; what the float and double forms share.
 *
 *     EPJS_c = 1/2 integral_0^inf Var_m[exp(-x_m s)] s^-2 ds ~ sum_j W_j Var_m[b_j],
 *     b = 1 - exp(-x s),  s_j = s_0 ratio^j
 * over all M^2 ordered pairs. x is scaled so that the class's largest member is at most 1 (the expression is
 * homogeneous of degree one). From node to node b' = b (2 - b): no exponential and no logarithm in the loop. The lower
 * tail is folded into the first nodes (js_weights.h), the upper one cut where b = 1 for every member, or folded into
 * the last node.
 *
 * Where every member lies within a small share rho of the mean, the series in r = x/mean - 1 is shorter and exact in
 * the limit:
 *     EPJS_c/mean = sum_{n>=2} (-1)^n/(n(n-1)) (mu_n - 2^-n sum_i C(n,i) mu_i mu_{n-i}),   mu_n = mean of r^n
 *
 * VG_FLOOR_ADD (a > 0, h(x) = x log(x + a)) adds a integral Var_m[exp(-(x_m + a) s)] s^-1 ds, the same nodes with other
 * weights. */

typedef struct js_set {       /* the members of one class: x_m = p_m gate / Z_m */
    size_t index;             /* 0: ungated, all weights 1; else 1 + the gate */
    const vf *weights32;      /* a row of the tile's; NULL: 1 */
    vd gate, mean, low, high; /* mean of x; bounds of x */
    double add;
} js_set;

static const double js_binomial[11][11] = {{1},
                                           {1, 1},
                                           {1, 2, 1},
                                           {1, 3, 3, 1},
                                           {1, 4, 6, 4, 1},
                                           {1, 5, 10, 10, 5, 1},
                                           {1, 6, 15, 20, 15, 6, 1},
                                           {1, 7, 21, 35, 35, 21, 7, 1},
                                           {1, 8, 28, 56, 70, 56, 28, 8, 1},
                                           {1, 9, 36, 84, 126, 126, 84, 36, 9, 1},
                                           {1, 10, 45, 120, 210, 252, 210, 120, 45, 10, 1}};

/* Terms `from` .. `to` of the series, from moments mu_0 .. mu_to of r = (x - mean)/(mean + add). */
INLINE vd js_series(const vd *moment, const int from, const int to, vd mean, double add) {
    vd plain = {0}, shifted = {0};
    UNROLL
    for (int n = from; n <= to; n++) {
        vd mixed = moment[n]; /* i and n - i are the same product; halved throughout */
        UNROLL
        for (int i = 1; 2 * i < n; i++)
            mixed += js_binomial[n][i] * moment[i] * moment[n - i];
        if (n % 2 == 0)
            mixed += 0.5 * js_binomial[n][n / 2] * moment[n / 2] * moment[n / 2];
        vd term = (n % 2 ? -1.0 : 1.0) * (moment[n] - ldexp(2.0, -n) * mixed);
        plain += term * (1.0 / (double)(n * (n - 1)));
        if (add > 0)
            shifted += term * (1.0 / (double)n);
    }
    return plain * (mean + add) + shifted * add;
}

INLINE vd js_value(const tile *t, const js_set *set, size_t c, size_t m) {
    vd p = value_at(t, t->fused, m, c);
    return set->index ? p * (set->gate * weight_at(t, set->index - 1, m)) : p;
}

/* Lanes whose members all lie within rho of the mean; `empty` lanes count as such. */
INLINE vl js_tight(const js_set *set, double rho) {
    vd spread = vd_max(set->high - set->mean, set->mean - set->low);
    return spread <= rho * (set->mean + set->add);
}

/* The number of nodes a lane takes: until s low >= reach, so that every b is 1, but at least `fewest` and at most
 * `most`. Each lane has its own number, so that a sample's value does not depend on its neighbours. s_0 = 1/inverse_s0,
 * `steps` nodes per octave. */
INLINE vl js_lane_nodes(vd low, double inverse_s0, double reach, int steps, int fewest, int most) {
    vd span = reach * inverse_s0 * vd_reciprocal(vd_max(low, vd_set(1e-30)));
    vl octaves = ((vl)span >> 52) - 1023 + 1;
    vl nodes = octaves * steps + 1;
    nodes = vl_select(nodes < most, nodes, (vl){0} + most);
    return vl_select(nodes > fewest, nodes, (vl){0} + fewest);
}
INLINE size_t js_most_nodes(vl nodes, vl ignore) { return (size_t)vl_most(nodes & ~ignore); }

/* The weight of node j in the lanes that take it; where the upper tail is folded into a lane's last node, that weight
 * is multiplied by `last`. */
INLINE vd js_lane_weight(double weight, size_t j, vl nodes, int most, double last) {
    vl at = (vl){0} + (int64_t)j;
    vd w = vd_select((nodes == most) & (at == most - 1), vd_set(weight * last), vd_set(weight));
    return vd_select(at < nodes, w, vd_set(0.0));
}
