/* vmath.h - elementary functions on vectors of double, to about 2 ulp, and the three forms of log(p/mu) that keep
 * differences exact.
 *
 * log1p(f) for 1 + f in [sqrt(1/2), sqrt 2]: with s = f / (2 + f), log1p(f) = f - psi, psi = f^2/2 - s (f^2/2 +
 * R(s^2)), R the classic degree-7 minimax of 2 atanh(s)/s - 2 (fdlibm's coefficients). psi >= 0 is computed without
 * cancellation, and the Bregman terms that every divergence here is a sum of follow from it. */

#define VG_LN2 0.693147180559945309417
#define VG_SQRT_HALF_BITS 0x3FE6A09E667F3BCDLL

/* psi(f) = f - log1p(f) for f in [-0.2929, 0.4143]. */
INLINE vd vm_psi(vd f) {
    vd s = f * vd_reciprocal(f + 2.0);
    vd z = s * s, w = z * z;
    vd half = f * f * 0.5;
    vd low = (z * 3.999999999940941908e-01 + 6.666666666666735130e-01) +
             w * (z * 2.222219843214978396e-01 + 2.857142874366239149e-01);
    vd high = (z * 1.531383769920937332e-01 + 1.818357216161805012e-01) + w * 1.479819860511658591e-01;
    return half - s * (half + z * (low + (w * w) * high));
}

/* Splits y > 0 into 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt 2); e as double. */
INLINE void vm_split(vd y, vd *f, vd *e) {
    vl bits = (vl)y;
    vl exponent = (bits - VG_SQRT_HALF_BITS) >> 52;
    *f = vd_bits(bits - (exponent << 52)) - 1.0;
    /* small integers to double through the mantissa of 1.5 2^52 */
    *e = vd_bits(exponent + 0x4338000000000000LL) - 6755399441055744.0;
}

/* log(y), y > 0 and normal. */
INLINE vd vm_log(vd y) {
    vd f, e;
    vm_split(y, &f, &e);
    return e * VG_LN2 + (f - vm_psi(f));
}

/* (z - top) / T for z <= top: the difference first, which is exact where it counts, however large the logits are; kept
 * finite where it overflows. */
INLINE vd below_top(vd z, vd top, double inverse) { return vd_max((z - top) * inverse, vd_set(-1e300)); }

/* For y = 1 + r > 0, both given because each is exact where the other is not: lambda = log y, psi = r - lambda >= 0,
 * phi = y lambda - r >= 0. */
INLINE void vm_bregman(vd y, vd r, vd *lambda, vd *psi, vd *phi) {
    vd f, e;
    vm_split(y, &f, &e);
    vl near = e == 0.0;
    f = vd_select(near, r, f);
    vd small = vm_psi(f);
    vd l = e * VG_LN2 + (f - small);
    *lambda = l;
    *psi = vd_select(near, small, r - l);
    *phi = vd_select(near, r * l - small, y * l - r);
}

/* psi(f) in float for f in [-0.2929, 0.4143): log1p(f) = f - f^2 (1/2 - f P(f)), P the classic degree-8 minimax
 * (Cephes). */
INLINE vf vm_psi32(vf f) {
    vf f2 = f * f, f4 = f2 * f2;
    vf a = 3.3333331174e-1f - f * 2.4999993993e-1f, b = 2.0000714765e-1f - f * 1.6668057665e-1f;
    vf c = 1.4249322787e-1f - f * 1.2420140846e-1f, d = 1.1676998740e-1f - f * 1.1514610310e-1f;
    return f2 * (0.5f - f * ((a + f2 * b) + f4 * ((c + f2 * d) + f4 * 7.0376836292e-2f)));
}
/* vm_bregman for floats, relative error about 2e-7. */
INLINE void vm_bregman32(vf y, vf r, vf *lambda, vf *psi, vf *phi) {
    vi bits = (vi)y - 0x3f3504f3, exponent = bits >> 23;
    vf e = __builtin_convertvector(exponent, vf);
    vfm near = vi_zero(exponent);
    vf f = vf_choose(near, r, (vf)((bits & 0x7fffff) + 0x3f3504f3) - 1.0f);
    vf small = vf_rounded(vm_psi32(f)); /* The same bits whichever results are used. */
    vf l = e * (float)VG_LN2 + (f - small);
    *lambda = l;
    *psi = vf_choose(near, small, r - l);
    *phi = vf_choose(near, r, y) * l - vf_choose(near, small, y - 1.0f);
}

/* phi of vm_bregman32 at r = y - 1 of n <= VM_SIDE values of y, to the same bits. The operations of one value wait for
 * each other, and the processor looks ahead by some dozens only, so each step is taken for all values in turn. */
#define VM_SIDE 4
INLINE void vm_phi32_side(vf *phi, const vf *y, const int n) {
    vi exponent[VM_SIDE];
    vf f[VM_SIDE], f2[VM_SIDE], low[VM_SIDE], high[VM_SIDE], small[VM_SIDE], l[VM_SIDE];
    UNROLL
    for (int q = 0; q < n; q++) {
        vi bits = (vi)y[q] - 0x3f3504f3;
        exponent[q] = bits >> 23;
        f[q] = (vf)((bits & 0x7fffff) + 0x3f3504f3) - 1.0f; /* y - 1 where the exponent is 0 */
    }
    UNROLL
    for (int q = 0; q < n; q++)
        f2[q] = f[q] * f[q];
    UNROLL
    for (int q = 0; q < n; q++) {
        vf a = 3.3333331174e-1f - f[q] * 2.4999993993e-1f, b = 2.0000714765e-1f - f[q] * 1.6668057665e-1f;
        low[q] = a + f2[q] * b;
    }
    UNROLL
    for (int q = 0; q < n; q++) {
        vf c = 1.4249322787e-1f - f[q] * 1.2420140846e-1f, d = 1.1676998740e-1f - f[q] * 1.1514610310e-1f;
        high[q] = c + f2[q] * d;
    }
    UNROLL
    for (int q = 0; q < n; q++) {
        vf f4 = f2[q] * f2[q];
        small[q] = low[q] + f4 * (high[q] + f4 * 7.0376836292e-2f);
    }
    UNROLL
    for (int q = 0; q < n; q++)
        small[q] = vf_rounded(f2[q] * (0.5f - f[q] * small[q]));
    UNROLL
    for (int q = 0; q < n; q++)
        l[q] = __builtin_convertvector(exponent[q], vf) * (float)VG_LN2 + (f[q] - small[q]);
    UNROLL
    for (int q = 0; q < n; q++) {
        vfm near = vi_zero(exponent[q]);
        vf r = y[q] - 1.0f;
        phi[q] = vf_rounded(vf_choose(near, r, y[q]) * l[q] - vf_choose(near, small[q], r));
    }
}

#if defined(VG_TIER_IS_AVX512)
/* y = 2^e m, m in 1 .. 2, f = m c - 1 with c next to 1/m from a table of 16; log y = e log 2 + level + log1p(f). The
 * first and last sixteenth have c = 1 and 1/2, so that log(1) is 0 and nearby f is y - 1; the other c are chosen so
 * that their logarithms are floats to within 1e-11. */
INLINE vf vm_table32_parts(vf y, vf *e, vf *level) {
    const vf inverse = {1.0f,         0.914179265f, 0.864982545f, 0.820661068f, 0.780449152f, 0.744031608f,
                        0.711086273f, 0.681020498f, 0.652947783f, 0.627575815f, 0.603858888f, 0.581756234f,
                        0.561426818f, 0.542515874f, 0.524453163f, 0.5f};
    const vf logs = {0.0f,         0.0897285938f, 0.145045951f, 0.197645083f, 0.247885689f, 0.295671761f,
                     0.340961516f, 0.384162873f,  0.426258117f, 0.465890795f, 0.504414737f, 0.541703761f,
                     0.577273846f, 0.611537933f,  0.645399153f, (float)VG_LN2};
    vf m = (vf)_mm512_getmant_ps((__m512)y, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
    __m512i at = _mm512_srli_epi32((__m512i)m, 19); /* the permutation takes the low four bits */
    *e = (vf)_mm512_getexp_ps((__m512)y);
    *level = (vf)_mm512_permutexvar_ps(at, (__m512)logs);
    return m * (vf)_mm512_permutexvar_ps(at, (__m512)inverse) - 1.0f;
}
/* The same with base = e log 2 + level. */
INLINE vf vm_table32(vf y, vf *base) {
    vf e, level, f = vm_table32_parts(y, &e, &level);
    *base = e * (float)VG_LN2 + level;
    return f;
}

/* (f - log1p(f)) / f^2 of the table's f, relative error 2e-7. */
INLINE vf vm_table32_small(vf f) { return 0.49999998f + f * (-0.33334177f + f * (0.25012316f + f * -0.19021257f)); }

/* log(y), y > 0 and normal, absolute error below 6e-8 (or relative, above 1). f - log1p(f) = f^2 Q(f), Q of degree 2,
 * with an error of 6e-9 in f^2 Q. */
INLINE vf vm_log32(vf y) {
    vf base, f = vm_table32(y, &base), q = 0.5000111f + f * (-0.33344247f + f * 0.23735161f);
    return base + (f - (f * f) * q);
}

/* vm_bregman32 with the table: next to 1, where base is 0, f is r. Elsewhere psi is that of y's own ratio y - 1. */
INLINE void vm_bregman32_table(vf y, vf r, vf *lambda, vf *psi, vf *phi) {
    vf base, f = vm_table32(y, &base);
    __mmask16 near = _mm512_cmp_ps_mask((__m512)base, _mm512_setzero_ps(), _CMP_EQ_OQ);
    f = vf_choose(near, r, f);
    vf small = vf_rounded((f * f) * vm_table32_small(f)), l = base + (f - small), own = y - 1.0f;
    *lambda = l;
    *psi = vf_choose(near, small, own - l);
    *phi = vf_choose(near, r, y) * l - vf_choose(near, small, own);
}
#endif

/* log(y) = e ln 2 + rest for floats, y > 0 and normal, r = y - 1: with the product in double only the rest, at most
 * 0.35, is rounded to a float. */
INLINE void vm_log32_parts(vf y, vf r, vf *e, vf *rest) {
    vi bits = (vi)y - 0x3f3504f3, exponent = bits >> 23;
    vf f = vf_choose(vi_zero(exponent), r, (vf)((bits & 0x7fffff) + 0x3f3504f3) - 1.0f);
    *e = __builtin_convertvector(exponent, vf);
    *rest = f - vm_psi32(f);
}

#if defined(VG_TIER_IS_AVX512)
/* The same with the table: the rest is at most log 2. */
INLINE void vm_log32_parts_table(vf y, vf r, vf *e, vf *rest) {
    vf level, f = vm_table32_parts(y, e, &level);
    __mmask16 near = _mm512_cmp_ps_mask((__m512)(*e * (float)VG_LN2 + level), _mm512_setzero_ps(), _CMP_EQ_OQ);
    f = vf_choose(near, r, f);
    *e = vf_choose(near, vf_set(0.0f), *e);
    level = vf_choose(near, vf_set(0.0f), level);
    *rest = level + (f - (f * f) * vm_table32_small(f));
}
#endif

/* phi(r) = (1 + r) log(1 + r) - r of floats, r > -1. Where all r are small, the logarithm needs no exponent, and fewer
 * operations give the same value. */
INLINE vf vm_phi32(vf r) {
    vf lambda, psi, phi;
    if (vi_any((r > 0.29f) | (r < -0.29f))) {
        vm_bregman32(vf_max(1.0f + r, vf_set(1e-37f)), r, &lambda, &psi, &phi);
        return phi;
    }
    psi = vf_rounded(vm_psi32(r));
    lambda = r - psi;
    return r * lambda - psi;
}

/* exp(x), x <= 0; below -745 it is 0. The reduced argument's polynomial is Taylor's to degree 13 on |r| <= ln 2 / 2. */
INLINE vd vm_expm1_reduced(vd r) {
    vd q = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0;
    q = q * r + 1.0 / 39916800.0;
    q = q * r + 1.0 / 3628800.0;
    q = q * r + 1.0 / 362880.0;
    q = q * r + 1.0 / 40320.0;
    q = q * r + 1.0 / 5040.0;
    q = q * r + 1.0 / 720.0;
    q = q * r + 1.0 / 120.0;
    q = q * r + 1.0 / 24.0;
    q = q * r + 1.0 / 6.0;
    q = q * r + 0.5;
    return q * (r * r) + r;
}
/* x = n ln 2 + r; gives 2^n as a double (0 below the normal range) and r. x in -inf .. 0. */
INLINE vd vm_reduce(vd x, vd *scale) {
    vl gone = x < -708.0;
    x = vd_select(gone, vd_set(0.0), x);
    vd shifted = x * 1.44269504088896340736 + 6755399441055744.0;
    vl n = (vl)shifted - 0x4338000000000000LL;
    vd nd = shifted - 6755399441055744.0;
    *scale = vd_select(gone, vd_set(0.0), vd_bits((n + 1023) << 52));
    return (x - nd * 6.93147180369123816490e-01) - nd * 1.90821492927058770002e-10;
}
INLINE vd vm_exp(vd x) {
    vd scale;
    vd r = vm_reduce(x, &scale);
    return scale * vm_expm1_reduced(r) + scale;
}
/* 1 - exp(-x), x >= 0. Members that agree have a spread of 0, so that often every x is far beyond where it is 1. */
INLINE vd vm_gate(vd x) {
    vd scale;
    if (!vl_any(x < 64.0))
        return vd_set(1.0);
    vd r = vm_reduce(-x, &scale);
    return (1.0 - scale) - scale * vm_expm1_reduced(r);
}
/* The same in float, relative error about 2e-7. exp(r) - 1 = r + r^2 P(r) on |r| <= ln 2 / 2, P minimax of degree 4. */
INLINE vf vm_gate32(vf x) {
    if (!vi_any(x < 32.0f))
        return vf_set(1.0f);
    x = vf_least(x, vf_set(80.0f));
    vf shifted = x * 1.44269504f + 12582912.0f, whole = shifted - 12582912.0f; /* through the mantissa of 1.5 2^23 */
    vf r = (whole * 0.693359375f - x) - whole * 2.12194440e-4f;
    vf p = r * 1.388251643e-3f + 8.366547130e-3f;
    p = p * r + 4.166720071e-2f;
    p = p * r + 1.666654342e-1f;
    p = p * r + 4.999999815e-1f;
    /* unsigned, because rows that are refused afterwards may have any x */
    vf scale = (vf)((127u + 0x4b400000u - (vu)shifted) << 23), q = p * (r * r) + r;
    return (1.0f - scale) - scale * q;
}
