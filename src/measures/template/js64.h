/* js64.h - the integral of js.h in double, for float64 input: relative error below 1e-9, absolute 1e-12.
 *
 * Nodes s_j = 2^((j-10)/2) as two interleaved chains of squarings; sums of b - beta and its square, beta the mean's own
 * b. Members within 1/16 of the mean: the series to order 10. */

#define JS64_S0 0.03125
#define JS64_MOST 104 /* s up to 2^46 */
#define JS64_BLOCK 4

/* b = 1 - exp(-t), t in 0 .. 0.045. */
INLINE vd js64_start(vd t) {
    vd b;
    VG_ONE_MINUS_EXP(vd, b, t);
    return b;
}

/* A class's members over the largest, padded to blocks with the mean. */
typedef struct js64_members {
    const vd *x;
    size_t count;
    vd mean, add;
    vl lane_nodes; /* nodes that each lane needs */
    size_t nodes;  /* the most of them */
} js64_members;

/* The chain that starts at s_0 scale: nodes offset, offset + 2, ... */
INLINE vd js64_chain(const tile *t, const js64_members *of, double scale, size_t offset) {
    const vd *x = of->x, mean = of->mean, add = of->add;
    const size_t count = of->count, nodes = of->nodes;
    const vl lane_nodes = of->lane_nodes;
    vd beta[JS64_MOST / 2 + 1], first[JS64_MOST / 2 + 1], second[JS64_MOST / 2 + 1];
    size_t steps = nodes > offset ? (nodes - offset + 1) / 2 : 0;
    vd b0 = js64_start(mean * (JS64_S0 * scale));
    for (size_t j = 0; j < steps; j++) {
        beta[j] = b0;
        b0 = b0 * (2.0 - b0);
        first[j] = second[j] = vd_set(0.0);
    }
    for (size_t v = 0; v < count; v += JS64_BLOCK) {
        vd b[JS64_BLOCK];
        UNROLL
        for (int i = 0; i < JS64_BLOCK; i++)
            b[i] = js64_start(x[v + (size_t)i] * (JS64_S0 * scale));
        for (size_t j = 0; j < steps; j++) {
            vd e[JS64_BLOCK], square[JS64_BLOCK];
            UNROLL
            for (int i = 0; i < JS64_BLOCK; i++) {
                e[i] = b[i] - beta[j];
                square[i] = e[i] * e[i];
                b[i] = b[i] * (2.0 - b[i]);
            }
            first[j] += (e[0] + e[1]) + (e[2] + e[3]);
            second[j] += (square[0] + square[1]) + (square[2] + square[3]);
        }
    }
    const double inverse = 1.0 / (double)t->M, h = VG_LN2 / 2;
    double plain = h / 2 / (JS64_S0 * scale); /* h / 2 / s_node */
    vd value = {0};
    for (size_t j = 0; j < steps; j++, plain *= 0.5) { /* halving is exact */
        size_t node = 2 * j + offset;
        double w = plain;
        if (node < JS64_CORRECTED)
            w *= js64_factor[node];
        vd e = first[j] * inverse, variance = second[j] * inverse - e * e;
        /* The variance is constant past the last node, which adds 1/(sqrt 2 - 1) of its weight. */
        vd weight = js_lane_weight(w, node, lane_nodes, JS64_MOST, 3.41421356237309504880);
        double log_weight = node < JS64_CORRECTED ? h * js64_log_factor[node] : h;
        value += variance * (weight + add * js_lane_weight(log_weight, node, lane_nodes, JS64_MOST, 1.0));
    }
    return value;
}

static vd js64_integral(tile *t, const js_set *set, size_t c, vd inverse, vl lane_nodes, size_t nodes) {
    size_t count = (t->M + JS64_BLOCK - 1) / JS64_BLOCK * JS64_BLOCK;
    vd mean = (set->mean + set->add) * inverse, add = inverse * set->add;
    for (size_t m = 0; m < t->M; m++)
        t->columns[m] = js_value(t, set, c, m) * inverse + add;
    for (size_t m = t->M; m < count; m++)
        t->columns[m] = mean; /* b - beta = 0 */
    js64_members of = {t->columns, count, mean, add, lane_nodes, nodes};
    return js64_chain(t, &of, 1.0, 0) + js64_chain(t, &of, 1.41421356237309504880, 1);
}

static vd js64_series(tile *t, const js_set *set, size_t c, vl empty) {
    vd below = set->mean + set->add, inverse = 1.0 / vd_select(empty, vd_set(1.0), below);
    vd sum[11];
    for (int n = 1; n <= 10; n++)
        sum[n] = vd_set(0.0);
    for (size_t m = 0; m < t->M; m++) {
        vd r = (js_value(t, set, c, m) - set->mean) * inverse, power = r;
        for (int n = 1; n <= 10; n++) {
            sum[n] += power;
            power *= r;
        }
    }
    vd moment[11] = {vd_set(1.0)};
    for (int n = 1; n <= 10; n++)
        moment[n] = sum[n] * (1.0 / (double)t->M);
    return js_series(moment, 2, 10, set->mean, set->add);
}

static vd js64(tile *t, const js_set *set, size_t c) {
    vd top = set->high + set->add;
    vl empty = (top < 1e-290) | (set->low == set->high), tight = js_tight(set, 0.0625) | empty;
    vd value = {0};
    if (vl_any(tight & ~empty))
        value = js64_series(t, set, c, empty);
    if (vl_any(~tight)) {
        vd inverse = 1.0 / vd_select(empty, vd_set(1.0), top), low = (set->low + set->add) * inverse;
        vl lane_nodes = js_lane_nodes(low, 1 / JS64_S0, 22.0, 2, 1, JS64_MOST);
        size_t nodes = js_most_nodes(lane_nodes, tight);
        value = vd_select(tight, value, js64_integral(t, set, c, inverse, lane_nodes, nodes) * top);
    }
    return vd_select(empty, vd_set(0.0), vd_max(value, vd_set(0.0)));
}
