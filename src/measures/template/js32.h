/* js32.h - the integral of js.h in float, two members of each lane's sample a vector. Error below 1e-6, relative 1e-5.
 *
 * Nodes s_j = 2^(j-4). Three forms, by how much the members differ:
 * - spread within 1/4 of the mean: the series to order 8, from deviations taken in double;
 * - wide: the variance from first moments alone, since E[b_j^2] = 2 E[b_j] - E[b_(j+1)]; from s = 64 on a = 1 - b is squared
 *   instead (E[a_j^2] = E[a_(j+1)]). Two or three operations a node;
 * - else: sums of b - beta and its square, beta the mean's own b. Five operations a node. Also where the wide form turns out to
 *   have left too few digits (its value below 1/100 of the mean). */

#define JS32_S0 0.0625
#define JS32_SWITCH 10 /* first node in the form a = 1 - b: s = 64 */
#define JS32_MOST 33   /* s up to 2^28 */
#define JS32_BLOCK 8   /* vectors that go through the nodes together */

/* b = 1 - exp(-x s_0), x in 0 .. 1. */
INLINE vf js32_start(vf x) {
    vf t = x * (float)JS32_S0;
    return t * (1.0f - t * (0.5f - t * ((float)(1.0 / 6) - t * ((float)(1.0 / 24) - t * (float)(1.0 / 120)))));
}

INLINE vf js32_sum(const vf *b) { return ((b[0] + b[1]) + (b[2] + b[3])) + ((b[4] + b[5]) + (b[6] + b[7])); }

/* x_m/(high + add) of the class's members, two a vector, padded to whole blocks with `pad`. Returns the number of vectors. */
INLINE size_t js32_load(tile *t, const js_set *set, size_t c, vd inverse, vd pad) {
    vf *x = (vf *)t->columns;
    size_t M = t->M, i = 0, vectors = (M + 1) / 2, blocks = (vectors + JS32_BLOCK - 1) / JS32_BLOCK * JS32_BLOCK;
    vd shift = inverse * set->add, gate = set->weights ? set->gate * inverse : inverse;
    const vd *p = t->p + c, *w = set->weights;
    for (; 2 * i + 1 < M; i++) {
        vd a = p[2 * i * t->C], b = p[(2 * i + 1) * t->C];
        if (w)
            a *= w[2 * i], b *= w[2 * i + 1];
        x[i] = vf_pack(a * gate + shift, b * gate + shift);
    }
    if (M % 2) {
        vd a = p[(M - 1) * t->C];
        x[i++] = vf_pack((w ? a * w[M - 1] : a) * gate + shift, pad);
    }
    for (; i < blocks; i++)
        x[i] = vf_pack(pad, pad);
    return blocks;
}

INLINE vd js32_weight(size_t j, vl nodes, vd add) {
    double w = VG_LN2 / 2 / ldexp(JS32_S0, (int)j);
    if (j < JS32_CORRECTED)
        w *= js32_factor[j];
    vd weight = js_lane_weight(w, j, nodes, JS32_MOST, 2.0); /* Var is constant past the last node */
    return weight + add * js_lane_weight(j == 0 ? VG_LN2 * 4 / 3 : VG_LN2, j, nodes, JS32_MOST, 1.0);
}
static vd js32_wide(tile *t, const js_set *set, size_t c, vd inverse, vl lane_nodes, size_t nodes) {
    const vf *x = (const vf *)t->columns;
    size_t vectors = js32_load(t, set, c, inverse, vd_set(0.0)), split = nodes + 1 < JS32_SWITCH ? nodes + 1 : JS32_SWITCH;
    vf sums[JS32_MOST + 1];
    memset(sums, 0, sizeof sums);
    for (size_t v = 0; v < vectors; v += JS32_BLOCK) {
        vf b[JS32_BLOCK];
        for (int i = 0; i < JS32_BLOCK; i++)
            b[i] = js32_start(x[v + (size_t)i]);
        for (size_t j = 0; j < split; j++) {
            sums[j] += js32_sum(b);
            for (int i = 0; i < JS32_BLOCK; i++)
                b[i] = b[i] * (2.0f - b[i]);
        }
        if (split > nodes)
            continue;
        for (int i = 0; i < JS32_BLOCK; i++)
            b[i] = 1.0f - b[i];
        for (size_t j = split; j <= nodes; j++) {
            sums[j] += js32_sum(b);
            for (int i = 0; i < JS32_BLOCK; i++)
                b[i] = b[i] * b[i];
        }
    }
    double scale = 1.0 / (double)t->M, padded = (double)(2 * vectors - t->M);
    vd value = {0}, add = inverse * set->add, here = vf_fold(sums[0]) * scale;
    for (size_t j = 0; j < nodes; j++) { /* `here` is E[b_j], from the switch on E[a_j] */
        bool plain = j + 1 >= split, was_plain = j >= split;
        vd next = (vf_fold(sums[j + 1]) - (plain && split <= nodes ? padded : 0.0)) * scale;
        vd variance;
        if (was_plain)
            variance = next - here * here;
        else if (plain && split <= nodes)
            variance = 2.0 * here - (1.0 - next) - here * here;
        else
            variance = 2.0 * here - next - here * here;
        value += vd_max(variance, vd_set(0.0)) * js32_weight(j, lane_nodes, add);
        here = next;
    }
    return value;
}

static vd js32_careful(tile *t, const js_set *set, size_t c, vd inverse, vl lane_nodes, size_t nodes) {
    const vf *x = (const vf *)t->columns;
    vd mean = (set->mean + set->add) * inverse;
    size_t vectors = js32_load(t, set, c, inverse, mean);
    vf beta[JS32_MOST], first[JS32_MOST], second[JS32_MOST];
    beta[0] = js32_start(vf_pack(mean, mean));
    for (size_t j = 0; j + 1 < nodes; j++)
        beta[j + 1] = beta[j] * (2.0f - beta[j]);
    memset(first, 0, sizeof first);
    memset(second, 0, sizeof second);
    for (size_t v = 0; v < vectors; v += JS32_BLOCK) {
        vf b[JS32_BLOCK];
        for (int i = 0; i < JS32_BLOCK; i++)
            b[i] = js32_start(x[v + (size_t)i]);
        for (size_t j = 0; j < nodes; j++) {
            vf e[JS32_BLOCK], square[JS32_BLOCK];
            for (int i = 0; i < JS32_BLOCK; i++) {
                e[i] = b[i] - beta[j];
                square[i] = e[i] * e[i];
                b[i] = b[i] * (2.0f - b[i]);
            }
            first[j] += js32_sum(e);
            second[j] += js32_sum(square);
        }
    }
    double scale = 1.0 / (double)t->M;
    vd value = {0}, add = inverse * set->add;
    for (size_t j = 0; j < nodes; j++) {
        vd e = vf_fold(first[j]) * scale, variance = vf_fold(second[j]) * scale - e * e;
        value += vd_max(variance, vd_set(0.0)) * js32_weight(j, lane_nodes, add);
    }
    return value;
}

/* Order 8 with members within 1/4: the first term left out is below 4e-6 of the value. */
static vd js32_series(tile *t, const js_set *set, size_t c, vl empty) {
    size_t M = t->M;
    vd below = set->mean + set->add, inverse = 1.0 / vd_select(empty, vd_set(1.0), below);
    vf sum[9];
    for (int n = 1; n <= 8; n++)
        sum[n] = vf_set(0.0f);
    for (size_t m = 0; m < M; m += 2) {
        vd a = (js_value(t, set, c, m) - set->mean) * inverse;
        vd b = m + 1 < M ? (js_value(t, set, c, m + 1) - set->mean) * inverse : vd_set(0.0);
        vf r = vf_pack(a, b), r2 = r * r, r3 = r2 * r, r4 = r2 * r2;
        sum[1] += r;
        sum[2] += r2;
        sum[3] += r3;
        sum[4] += r4;
        sum[5] += r4 * r;
        sum[6] += r3 * r3;
        sum[7] += r4 * r3;
        sum[8] += r4 * r4;
    }
    vd moment[9] = {vd_set(1.0)};
    for (int n = 1; n <= 8; n++)
        moment[n] = vf_fold(sum[n]) * (1.0 / (double)M);
    return js_series(moment, 8, set->mean, set->add);
}

static vd js32(tile *t, const js_set *set, size_t c) {
    vd top = set->high + set->add;
    vl empty = top < 1e-290, tight = js_tight(set, 0.25) | empty;
    vd value = {0};
    if (vl_any(tight & ~empty))
        value = js32_series(t, set, c, empty);
    if (!vl_any(~tight))
        return vd_select(empty, vd_set(0.0), vd_max(value, vd_set(0.0)));
    vd inverse = 1.0 / vd_select(empty, vd_set(1.0), top), low = (set->low + set->add) * inverse;
    vd least = 0.01 * (set->mean + set->add) * inverse;
    vl lane_nodes = js_lane_nodes(low, 1 / JS32_S0, 9.0, 1, JS32_MOST);
    size_t nodes = js_most_nodes(lane_nodes, tight);
    /* The ungated spread foretells which form serves; the value checks it. */
    vd wide = {0};
    vl narrow = (t->variance[c] < 0.04 * t->mu[c] * t->mu[c]) & ~tight;
    if (vl_any(~(narrow | tight))) {
        wide = js32_wide(t, set, c, inverse, lane_nodes, nodes);
        narrow |= ~(wide >= least) & ~tight;
    }
    if (vl_any(narrow))
        wide = vd_select(narrow, js32_careful(t, set, c, inverse, lane_nodes, nodes), wide);
    value = vd_select(tight, value, wide * top);
    return vd_select(empty, vd_set(0.0), vd_max(value, vd_set(0.0)));
}
