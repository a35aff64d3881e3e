/* js32_wide.h - EPJS of one class in float, members that differ widely, from means of powers. Error below 5e-7 of the
 * largest member.
 *
 *     EPJS_c = high sum_ij W_ij E[f_i] E[f_j],
 *     f = 1, u, (1 - sqrt u)^n for n = 1, 2, 3, 4, 6, 9, 15, 24, 39, 48, 96 .. 1536
 * with u = x/high: every function costs one multiplication and at most one addition, and all sums stay in registers. W
 * is given for the differences of neighbouring powers (js_powers.h). Members weigh their class's roots with the roots
 * of 1/Z_m, so one root serves every gate. Powers that have all but vanished for every member are left out, lane by
 * lane. */

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
INLINE int js32_powers(const int L) { return JS32_ALWAYS + L; }

/* a b, of B vectors; rounded, so that their sums have the same bits in every path. */
INLINE void js32_times(vf *to, const vf *a, const vf *b, const int B) {
    UNROLL
    for (int v = 0; v < B; v++)
        to[v] = vf_rounded(a[v] * b[v]);
}
/* Adds a power from which no other is derived. */
INLINE void js32_add_product(vf *sum, const vf *a, const vf *b, const int B) {
    UNROLL
    for (int v = 0; v < B; v++)
        *sum += a[v] * b[v];
}

/* Adds the powers of B vectors from i on, side by side, because each power depends on the one before. */
INLINE void js32_power_block(vf *sum, const vf *x, const vf *w, size_t i, const int L, const int B) {
    vf a1[4], a2[4], a3[4], a6[4], a9[4], a15[4], a24[4], a48[4];
    UNROLL
    for (int v = 0; v < B; v++)
        a1[v] = 1.0f - (w ? x[i + (size_t)v] * w[i + (size_t)v] : x[i + (size_t)v]);
    sum[0] += js32_sum(a1, B);
#define POWER(j, n, p, q)                                                                                              \
    js32_times(a##n, a##p, a##q, B);                                                                                   \
    sum[j] += js32_sum(a##n, B);
#define PRODUCT(j, n, p, q) js32_add_product(&sum[j], a##p, a##q, B);
    JS32_CHAIN(POWER, PRODUCT)
#undef POWER
#undef PRODUCT
    UNROLL
    for (int l = 0; l < L; l++) {
        js32_times(a48, a48, a48, B);
        sum[JS32_ALWAYS + l] += js32_sum(a48, B);
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
