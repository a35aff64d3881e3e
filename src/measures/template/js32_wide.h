/* js32_wide.h - EPJS of one class in float, members that differ widely, from means of powers. Error below 2e-7 of the largest
 * member.
 *
 *     EPJS_c = high sum_ij W_ij E[f_i] E[f_j],   f = 1, u, (1 - sqrt u)^n for n = 1, 2, 3, 4, 6, 8 .. 48, 64, 128 .. 2048
 * with u = x/high: every function costs one multiplication and at most one addition, and all sums stay in registers. W is given
 * for the differences of neighbouring powers (js_powers.h). Members weigh their class's roots with the roots of 1/Z_m, so one
 * root serves every gate. Powers that have all but vanished for every member are left out, lane by lane. */

#define JS32_RUN 64 /* vectors, whole blocks: float sums stay short */

/* Sums over a block of B vectors: pairwise, so that rounding grows with the logarithm. */
INLINE vf js32_sum(const vf *b, const int B) {
    if (B == 8)
        return ((b[0] + b[1]) + (b[2] + b[3])) + ((b[4] + b[5]) + (b[6] + b[7]));
    if (B == 4)
        return (b[0] + b[1]) + (b[2] + b[3]);
    return B == 2 ? b[0] + b[1] : b[0];
}

/* The number of powers after L doublings. */
INLINE int js32_powers(const int L) { return 1 + L + (L < JS32_PRODUCTS ? L : JS32_PRODUCTS); }

/* Adds the powers of B vectors from i on: side by side, since each waits for its last square. */
INLINE void js32_power_block(vf *sum, const vf *x, const vf *w, size_t i, const int L, const int B) {
    vf a[4], next[4];
    int at = 0;
    UNROLL
    for (int v = 0; v < B; v++)
        a[v] = 1.0f - (w ? x[i + (size_t)v] * w[i + (size_t)v] : x[i + (size_t)v]);
    sum[at++] += js32_sum(a, B);
    UNROLL
    for (int l = 1; l <= L; l++) {
        UNROLL
        for (int v = 0; v < B; v++)
            next[v] = vf_rounded(a[v] * a[v]); /* also after the last doubling: the same bits whatever follows */
        sum[at++] += js32_sum(next, B);
        if (l <= JS32_PRODUCTS) {
            UNROLL
            for (int v = 0; v < B; v++)
                sum[at] += a[v] * next[v];
            at++;
        }
        UNROLL
        for (int v = 0; v < B; v++)
            a[v] = next[v];
    }
}

/* Sums of the powers over vectors i .. stop - 1. */
INLINE void js32_power_run(vf *sums, const vf *x, const vf *w, size_t i, size_t stop, const int L) {
    vf sum[JS32_POWERS];
    UNROLL
    for (int j = 0; j < js32_powers(L); j++)
        sum[j] = vf_set(0.0f);
    for (; i + 4 <= stop; i += 4)
        js32_power_block(sum, x, w, i, L, 4);
    if (i < stop)
        js32_power_block(sum, x, w, i, L, 2);
    UNROLL
    for (int j = 0; j < js32_powers(L); j++)
        sums[j] += sum[j];
}

/* The value over the largest member, from sums of powers; `mean` of u; `own`: the doublings that a lane takes. */
INLINE vh js32_power_value(const tile *t, const vf *sums, vh mean, vl own, const int L) {
    static const float weight[] = {JS32_WEIGHTS};
    const float *w = weight;
    float count = (float)t->M, spare = (float)(2 * t->vectors - t->M); /* places without a member: u is 0, its powers 1 */
    vh f[2 + JS32_POWERS + 1];
    f[0] = (vh){0} + count;
    f[1] = mean * count;
    UNROLL
    for (int j = 0; j < js32_powers(L); j++)
        f[2 + j] = vf_halves(sums[j]) - spare;
    if (L > JS32_FEWEST && vl_any(own != L)) {
        vj taken = __builtin_convertvector(own, vj);
        UNROLL
        for (int l = JS32_FEWEST + 1; l <= L; l++)
            f[1 + js32_powers(l)] = (vh)((vj)f[1 + js32_powers(l)] & (taken >= l));
    }
    f[2 + js32_powers(L)] = (vh){0};
    vh value = {0};
    UNROLL
    for (int i = 0; i < 2 + js32_powers(L); i++) { /* from 2 on the function is the difference of neighbouring powers */
        vh row = {0}, other = {0};                 /* two sums: less to wait for */
        if (i >= 2)
            f[i] -= f[i + 1];
        UNROLL
        for (int j = 0; j <= i; j++)
            *(j % 2 ? &other : &row) += w[j] * f[j];
        value += f[i] * (row + other);
        w += i + 1;
    }
    return value * (1.0f / (count * count));
}

INLINE vh js32_wide_of(const tile *t, const vf *x, const vf *w, vh mean, vl own, const int L) {
    vf sums[JS32_POWERS];
    for (int j = 0; j < js32_powers(L); j++)
        sums[j] = vf_set(0.0f);
    for (size_t i = 0; i < t->vectors; i += JS32_RUN) {
        size_t stop = t->vectors - i < JS32_RUN ? t->vectors : i + JS32_RUN;
        w ? js32_power_run(sums, x, w, i, stop, L) : js32_power_run(sums, x, NULL, i, stop, L);
    }
    return js32_power_value(t, sums, mean, own, L);
}
#define JS32_WIDE(L)                                                                                                           \
    static vh js32_wide_##L(const tile *t, const vf *w, vh mean, vl own) {                                                     \
        return js32_wide_of(t, t->scaled32, w, mean, own, L);                                                                  \
    }
JS32_WIDE(6)
JS32_WIDE(7)
JS32_WIDE(8)
JS32_WIDE(9)
JS32_WIDE(10)
JS32_WIDE(11)

/* low: a lower bound of u; `ignore`: lanes of no interest. */
static vd js32_wide(const tile *t, const js_set *set, vd inverse, vd low, vl ignore) {
    static vh (*const by_doublings[])(const tile *, const vf *, vh, vl) = {js32_wide_6, js32_wide_7,  js32_wide_8,
                                                                           js32_wide_9, js32_wide_10, js32_wide_11};
    static const double least[] = {JS32_LEAST};
    vl own = (vl){0} + JS32_FEWEST;
    for (size_t l = 0; l < sizeof least / sizeof *least; l++)
        own -= low < least[l];
    size_t most = (size_t)vl_most(vl_select(ignore, (vl){0} + JS32_FEWEST, own));
    return vd_from(by_doublings[most - JS32_FEWEST](t, set->weights32, vh_from(set->mean * inverse), own));
}
