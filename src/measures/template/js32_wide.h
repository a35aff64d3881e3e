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

/* Sums of the powers over all members. w NULL: 1. */
INLINE void js32_power_sums(vf *sums, const tile *t, const vf *w, const int L) {
    const vf *x = t->scaled32;
    for (size_t i = 0; i < t->vectors;) {
        size_t first = i, stop = t->vectors - i < JS32_RUN ? t->vectors : i + JS32_RUN;
        vf sum[JS32_POWERS];
        UNROLL
        for (int j = 0; j < js32_powers(L); j++)
            sum[j] = vf_set(0.0f);
        for (; i + 4 <= stop; i += 4)
            js32_power_block(sum, x, w, i, L, 4);
        for (; i < stop; i += 2)
            js32_power_block(sum, x, w, i, L, 2);
        UNROLL
        for (int j = 0; j < js32_powers(L); j++)
            sums[j] = first ? sums[j] + sum[j] : sum[j];
    }
}
