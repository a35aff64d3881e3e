/* panel_real.h - the arithmetic of a panel, in float or in double: VG_PANEL_DOUBLE says which. Included once before
 * each pass over panel_*.h; the names of a pass end in _s (single) or _d.
 *
 * vr: a working vector of PANEL_LANES reals. acc: one double for each of its lanes, PANEL_HALVES vectors of double. */
#undef P
#undef vr
#undef vri
#undef PANEL_LANES
#undef PANEL_HALVES
#undef PANEL_REAL
#undef vr_set
#undef vr_max
#undef vr_min
#undef vr_sqrt
#undef vr_reciprocal
#undef vri_any
#undef vr_rounded
#undef PANEL_TINY
#undef PANEL_NONE
#undef PANEL_NEAR
#if VG_PANEL_DOUBLE
#define P(name) name##_d
#define vr vd
#define vri vl
#define PANEL_REAL double
#define PANEL_LANES VG_LANES
#define PANEL_HALVES 1
#define vr_set vd_set
#define vr_max vd_max
#define vr_min vd_min
#define vr_sqrt vd_sqrt
#define vr_reciprocal vd_reciprocal
#define vri_any vl_any
#define vr_rounded vd_rounded
#define PANEL_NONE 1e-290 /* a class with a smaller mean counts as empty */
#define PANEL_NEAR 0.01   /* of half the members' ratios: phi by its series */
#else
#define P(name) name##_s
#define vr vf
#define vri vi
#define PANEL_REAL float
#define PANEL_LANES (2 * VG_LANES)
#define PANEL_HALVES 2
#define vr_set vf_set
#define vr_max vf_max
#define vr_min vf_least
#define vr_sqrt vf_sqrt
#define vr_reciprocal vf_reciprocal
#define vri_any vi_any
#define vr_rounded vf_rounded
#define PANEL_NONE 1e-30f
#define PANEL_NEAR 0.03f
#endif

typedef struct P(acc) {
    vd h[PANEL_HALVES];
} P(acc);

INLINE vr P(choose)(vri mask, vr yes, vr no) { return (vr)(((vri)yes & mask) | ((vri)no & ~mask)); }

/* Half h of a working vector, in double. */
INLINE vd P(half)(vr x, const int h) {
#if VG_PANEL_DOUBLE
    (void)h;
    return x;
#else
    return vd_from(h ? vf_high(x) : vf_low(x));
#endif
}
INLINE P(acc) P(widen)(vr x) {
    P(acc) a;
    UNROLL
    for (int h = 0; h < PANEL_HALVES; h++)
        a.h[h] = P(half)(x, h);
    return a;
}
INLINE vr P(narrow)(P(acc) a) {
#if VG_PANEL_DOUBLE
    return a.h[0];
#else
    return vf_pack(a.h[0], a.h[1]);
#endif
}
INLINE void P(add)(P(acc) * a, vr x) {
    UNROLL
    for (int h = 0; h < PANEL_HALVES; h++)
        a->h[h] += P(half)(x, h);
}

/* The same, or x alone. */
INLINE void P(add_or_begin)(P(acc) * a, vr x, bool begin) {
    if (begin)
        *a = P(widen)(x);
    else
        P(add)(a, x);
}

/* Adds x y in double. Equal classes are rounded alike in float, and a hundred such errors would add up. */
INLINE void P(add_product)(P(acc) * a, vr x, const P(acc) * y) {
    UNROLL
    for (int h = 0; h < PANEL_HALVES; h++)
        a->h[h] += P(half)(x, h) * y->h[h];
}

/* lambda = log y, psi = r - lambda and phi = y lambda - r of y = 1 + r. */
INLINE void P(bregman)(vr y, vr r, vr *lambda, vr *psi, vr *phi) {
#if VG_PANEL_DOUBLE
    vm_bregman(y, r, lambda, psi, phi);
#elif defined(VG_TIER_IS_AVX512)
    vm_bregman32_table(y, r, lambda, psi, phi);
#else
    vm_bregman32(y, r, lambda, psi, phi);
#endif
}

/* phi(r) = (1 + r) log(1 + r) - r, r >= -1. */
INLINE vr P(phi)(vr r) {
    vr lambda, psi, phi;
#if VG_PANEL_DOUBLE
    vr y = vd_max(1.0 + r, vd_set(1e-300));
#else
    vr y = vf_max(1.0f + r, vf_set(1e-37f));
#endif
    P(bregman)(y, r, &lambda, &psi, &phi);
    return phi;
}

/* phi(r) for |r| < 2 PANEL_NEAR, by its power series: relative error 4e-7 (float) or 1e-16. */
INLINE vr P(phi_series)(vr r) {
    vr square = r * r;
#if VG_PANEL_DOUBLE
    vr p = (1.0 / 72) - r * (1.0 / 90);
    p = (1.0 / 56) - r * p;
    p = (1.0 / 42) - r * p;
    p = (1.0 / 30) - r * p;
    p = (1.0 / 20) - r * p;
    p = (1.0 / 12) - r * p;
    p = (1.0 / 6) - r * p;
    return square * (0.5 - r * p);
#else
    return square * (0.5f - r * ((1.0f / 6) - r * ((1.0f / 12) - r * ((1.0f / 20) - r * (1.0f / 30)))));
#endif
}

/* phi(y - 1), y > 0 and normal, with an absolute error of 1e-7 |y - 1| + 1e-5 (y - 1)^2 below 1/16, 2e-8 y beyond. */
INLINE vr P(phi_far)(vr y) {
#if !VG_PANEL_DOUBLE && defined(VG_TIER_IS_AVX512)
    vf base, f = vm_table32(y, &base), own = y - 1.0f;
    vf slope = 1.0f - f * (0.50000423f + f * (-0.33351399f + f * 0.24113565f));
    return y * (base + f * slope) - own;
#else
    vr lambda, psi, phi;
    P(bregman)(y, y - 1, &lambda, &psi, &phi);
    return phi;
#endif
}

/* 1 - exp(-x), x >= 0. */
INLINE vr P(gate)(vr x) {
#if VG_PANEL_DOUBLE
    return vm_gate(x);
#else
    return vm_gate32(x);
#endif
}

/* log y = e log 2 + rest, y > 0 and normal, r = y - 1. In double e is 0. */
INLINE void P(log_parts_of)(vr y, vr r, vr *e, vr *rest) {
#if VG_PANEL_DOUBLE
    *e = vr_set(0);
    *rest = vm_log(y);
    (void)r;
#elif defined(VG_TIER_IS_AVX512)
    vm_log32_parts_table(y, r, e, rest);
#else
    vm_log32_parts(y, r, e, rest);
#endif
}

/* log q = e log 2 + rest of q >= 0; `exact` is q in double, for q - 1 where q is next to 1. In double e is 0. */
INLINE void P(log_parts)(vr q, const P(acc) * exact, vr *e, vr *rest) {
#if VG_PANEL_DOUBLE
    *e = vr_set(0);
    *rest = vm_log(vd_max(exact->h[0], vd_set(1e-300)));
    (void)q;
#else
    vf y = vf_max(q, vf_set(1e-37f)), r = y - 1.0f;
    if (vf_any_above(y, 0.7f))
        r = vf_pack(exact->h[0] - 1.0, exact->h[1] - 1.0);
    P(log_parts_of)(y, r, e, rest);
#endif
}

/* The same of G numbers. */
INLINE void P(log_parts_each)(const vr *q, const P(acc) * exact, const int G, vr *e, vr *rest) {
#if VG_PANEL_DOUBLE
    UNROLL
    for (int g = 0; g < G; g++)
        P(log_parts)(q[g], &exact[g], &e[g], &rest[g]);
#else
    vf y[3], r[3], most = vf_set(0.0f);
    UNROLL
    for (int g = 0; g < G; g++) {
        y[g] = vf_max(q[g], vf_set(1e-37f));
        r[g] = y[g] - 1.0f;
        most = vf_max(y[g], most);
    }
    if (vf_any_above(most, 0.7f)) {
        UNROLL
        for (int g = 0; g < G; g++)
            r[g] = vf_pack(exact[g].h[0] - 1.0, exact[g].h[1] - 1.0);
    }
    UNROLL
    for (int g = 0; g < G; g++)
        P(log_parts_of)(y[g], r[g], &e[g], &rest[g]);
#endif
}
