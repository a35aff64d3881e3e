/* softmax_rows_template.h - the row kernels of softmax_rows.c for one tier. Included once per tier, after defining
 *
 *     V, LANES     the vector of doubles and its length
 *     NAME(x)      x with the tier's suffix
 *     ATTR         the target attribute
 *     NARROWER(x)  the kernel for rows of fewer than LANES classes
 *     V_LOAD32, V_LOAD64, V_STORE, V_SET, V_ADD, V_SUB, V_MUL, V_MAX, V_SUM, V_TOP
 *     V_FMA        a b + c;  V_NFMA  c - a b
 *     V_SCALE      (p, t): p 2^k where k is in the low bits of t
 *     V_KEEP       (v, i): lanes i .. LANES-1 of v, the others 0
 *
 * which it undefines. A row's last LANES classes are read again, overlapping, with lanes already summed set to 0. */

/* e^x for x in [-707, 0], within 1.5 ulp: x = k ln 2 + r, e^r = 1 + r + r^2 q(r), q of degree 9 (1.6e-17). e^0 is 1. */
ATTR static inline V NAME(exp_lanes)(V x) {
    const V magic = V_SET(0x1.8p52); /* adding it leaves the nearest whole number in the low bits */
    V t = V_FMA(x, V_SET(0x1.71547652b82fep0), magic);
    V k = V_SUB(t, magic);
    V r = V_NFMA(k, V_SET(0x1.62e42fefa3800p-1), x);
    r = V_NFMA(k, V_SET(0x1.ef35793c76730p-45), r);
    V q = V_SET(0x1.af38a9b0ec855p-26);
    q = V_FMA(q, r, V_SET(0x1.289185613a3d6p-22));
    q = V_FMA(q, r, V_SET(0x1.71de0dae63bb3p-19));
    q = V_FMA(q, r, V_SET(0x1.a019b90d2ae7ap-16));
    q = V_FMA(q, r, V_SET(0x1.a01a01a7c41d5p-13));
    q = V_FMA(q, r, V_SET(0x1.6c16c1788bd90p-10));
    q = V_FMA(q, r, V_SET(0x1.11111111109b3p-7));
    q = V_FMA(q, r, V_SET(0x1.5555555553d63p-5));
    q = V_FMA(q, r, V_SET(0x1.5555555555556p-3));
    q = V_FMA(q, r, V_SET(0x1.0000000000001p-1));
    V p = V_ADD(V_FMA(V_MUL(r, r), q, r), V_SET(1.0));
    return V_SCALE(p, t);
}

#define ROW_KERNELS(TYPE, SUFFIX, LOAD)                                                                                \
    ATTR static inline __attribute__((always_inline)) void NAME(row_##SUFFIX)(vg_row_sums * out, double *e_out,        \
                                                                              const TYPE *z, size_t c, double b) {     \
        size_t whole = c - c % LANES;                                                                                  \
        V top = LOAD(z + c - LANES);                                                                                   \
        for (size_t i = 0; i < whole; i += LANES)                                                                      \
            top = V_MAX(top, LOAD(z + i));                                                                             \
        out->top = V_TOP(top);                                                                                         \
        V highest = V_SET(out->top), scale = V_SET(b), s0 = V_SET(0.0), s1 = s0, s2 = s0;                              \
        for (size_t i = 0; i < whole; i += LANES) {                                                                    \
            V x = V_MAX(V_MUL(V_SUB(LOAD(z + i), highest), scale), V_SET(LOWEST));                                     \
            V e = NAME(exp_lanes)(x), ex = V_MUL(e, x);                                                                \
            if (e_out != NULL)                                                                                         \
                V_STORE(e_out + i, e);                                                                                 \
            s0 = V_ADD(s0, e);                                                                                         \
            s1 = V_ADD(s1, ex);                                                                                        \
            s2 = V_FMA(ex, x, s2);                                                                                     \
        }                                                                                                              \
        if (whole < c) {                                                                                               \
            V x = V_MAX(V_MUL(V_SUB(LOAD(z + c - LANES), highest), scale), V_SET(LOWEST));                             \
            V e = NAME(exp_lanes)(x);                                                                                  \
            if (e_out != NULL)                                                                                         \
                V_STORE(e_out + c - LANES, e);                                                                         \
            e = V_KEEP(e, LANES - (c - whole));                                                                        \
            V ex = V_MUL(e, x);                                                                                        \
            s0 = V_ADD(s0, e);                                                                                         \
            s1 = V_ADD(s1, ex);                                                                                        \
            s2 = V_FMA(ex, x, s2);                                                                                     \
        }                                                                                                              \
        out->s0 = V_SUM(s0);                                                                                           \
        out->s1 = V_SUM(s1);                                                                                           \
        out->s2 = V_SUM(s2);                                                                                           \
    }                                                                                                                  \
    ATTR static void NAME(sums_##SUFFIX)(vg_row_sums * out, const TYPE *z, size_t c, double b) {                       \
        if (c < LANES)                                                                                                 \
            NARROWER(sums_##SUFFIX)(out, z, c, b);                                                                     \
        else                                                                                                           \
            NAME(row_##SUFFIX)(out, NULL, z, c, b);                                                                    \
    }                                                                                                                  \
    ATTR static bool NAME(exps_##SUFFIX)(vg_row_sums * out, double *e, const TYPE *z, size_t c, double b) {            \
        if (c < LANES)                                                                                                 \
            return NARROWER(exps_##SUFFIX)(out, e, z, c, b);                                                           \
        V last = LOAD(z + c - LANES), not_finite = V_SUB(last, last); /* NaN where there is a NaN or an infinity */    \
        for (size_t i = 0; i + LANES <= c; i += LANES) {                                                               \
            V here = LOAD(z + i);                                                                                      \
            not_finite = V_ADD(not_finite, V_SUB(here, here));                                                         \
        }                                                                                                              \
        if (!(V_SUM(not_finite) == 0))                                                                                 \
            return false;                                                                                              \
        NAME(row_##SUFFIX)(out, e, z, c, b);                                                                           \
        return true;                                                                                                   \
    }

ROW_KERNELS(float, f32, V_LOAD32)
ROW_KERNELS(double, f64, V_LOAD64)

/* mean[c] += weight e[c] */
ATTR static void NAME(add_scaled)(double *mean, const double *e, double weight, size_t c) {
    V w = V_SET(weight);
    size_t i = 0;
    for (; i + LANES <= c; i += LANES)
        V_STORE(mean + i, V_FMA(w, V_LOAD64(e + i), V_LOAD64(mean + i)));
    for (; i < c; i++)
        mean[i] += weight * e[i];
}

static const vg_softmax_kernels NAME(KERNELS) = {NAME(sums_f32), NAME(sums_f64), NAME(exps_f32), NAME(exps_f64),
                                                 NAME(add_scaled)};

#undef ROW_KERNELS
#undef V
#undef LANES
#undef NAME
#undef ATTR
#undef NARROWER
#undef V_LOAD32
#undef V_LOAD64
#undef V_STORE
#undef V_SET
#undef V_ADD
#undef V_SUB
#undef V_MUL
#undef V_FMA
#undef V_NFMA
#undef V_MAX
#undef V_SUM
#undef V_TOP
#undef V_SCALE
#undef V_KEEP
