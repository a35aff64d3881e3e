/* score_math.h - elementary functions of the scoring kernel, for one value; the forms are those of template/vmath.h.
 * Compiles as CUDA and as plain C. */
#ifndef VG_MEASURES_SCORE_MATH_H
#define VG_MEASURES_SCORE_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define SCORE_FN static __host__ __device__ __forceinline__
#define SCORE_UNROLL _Pragma("unroll")
#define SCORE_ROLLED _Pragma("unroll 1")
#define SCORE_STEPS _Pragma("unroll 8")
#else
#define SCORE_FN static inline __attribute__((unused))
#define SCORE_UNROLL
#define SCORE_ROLLED
#define SCORE_STEPS
#endif

/* x y + z, fused on the device. The kernels of score_groups.cu fuse nothing else, so that every variant of a kernel
 * gives the same bits. */
#ifdef __CUDA_ARCH__
#define SCORE_FMA(x, y, z) __fmaf_rn(x, y, z)
#define SCORE_FMA64(x, y, z) __fma_rn(x, y, z)
#else
#define SCORE_FMA(x, y, z) ((x) * (y) + (z))
#define SCORE_FMA64(x, y, z) ((x) * (y) + (z))
#endif

#define SCORE_LN2 0.693147180559945309417
#define SCORE_TINY 1e-35 /* replaces smaller probabilities inside logarithms; corrected by the floor */

SCORE_FN double score_least(double a, double b) { return a < b ? a : b; }
SCORE_FN double score_most(double a, double b) { return a > b ? a : b; }
/* b where a is NaN. */
SCORE_FN float score_least32(float a, float b) {
#ifdef __CUDA_ARCH__
    return fminf(a, b);
#else
    return a < b ? a : b;
#endif
}
SCORE_FN float score_most32(float a, float b) {
#ifdef __CUDA_ARCH__
    return fmaxf(a, b);
#else
    return a > b ? a : b;
#endif
}

/* The root of x >= 0 to an ulp or two. */
SCORE_FN float score_root32(float x) {
#ifdef __CUDA_ARCH__
    float root;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
#else
    return sqrtf(x);
#endif
}

/* 1 / x to an ulp; x is normal. */
SCORE_FN float score_over32(float x) {
#ifdef __CUDA_ARCH__
    float over;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(over) : "f"(x));
    return over;
#else
    return 1.0f / x;
#endif
}

/* x y, rounded: keeps the compiler from fusing the product into a later sum, so that every path to it gives the same
 * bits. */
SCORE_FN float score_times32(float x, float y) {
#ifdef __CUDA_ARCH__
    return __fmul_rn(x, y);
#else
    return x * y;
#endif
}

SCORE_FN float score_half(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, mantissa = bits & 0x3ffu, out;
    float value = (float)mantissa * 0x1p-24f;
    if (exponent == 0)
        return sign ? -value : value;
    out = exponent == 31 ? sign | 0x7f800000u | mantissa << 13 : sign | (exponent + 112) << 23 | mantissa << 13;
    memcpy(&value, &out, sizeof value);
    return value;
}
SCORE_FN float score_bfloat(uint16_t bits) {
    uint32_t out = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &out, sizeof value);
    return value;
}

/* psi(f) = f - log1p(f), f in [-0.2929, 0.4143], in float. */
SCORE_FN float score_psi32(float f) {
    float f2 = f * f, f4 = f2 * f2;
    float a = SCORE_FMA(f, -2.4999993993e-1f, 3.3333331174e-1f), b = SCORE_FMA(f, -1.6668057665e-1f, 2.0000714765e-1f);
    float c = SCORE_FMA(f, -1.2420140846e-1f, 1.4249322787e-1f), d = SCORE_FMA(f, -1.1514610310e-1f, 1.1676998740e-1f);
    float high = SCORE_FMA(f4, 7.0376836292e-2f, SCORE_FMA(f2, d, c));
    return f2 * SCORE_FMA(-f, SCORE_FMA(f4, high, SCORE_FMA(f2, b, a)), 0.5f);
}

/* For y = 1 + r > 0, both given: lambda = log y, phi = y lambda - r, and psi = r - lambda without the part of the
 * exponent: psi = *psi - exponent ln 2. Exponents are summed as integers, so that large divergences lose no digits. */
SCORE_FN void score_bregman32(float y, float r, float *lambda, float *phi, float *psi, int *exponent) {
    int bits, e;
    float f;
    memcpy(&bits, &y, sizeof bits);
    e = (bits - 0x3f3504f3) >> 23;
    bits -= (int)((unsigned)e << 23);
    memcpy(&f, &bits, sizeof f);
    f = e == 0 ? r : f - 1.0f;
    float small = score_psi32(f), rest = f - small, l = SCORE_FMA((float)e, (float)SCORE_LN2, rest);
    *lambda = l;
    *exponent = e;
    *psi = e == 0 ? small : r - rest;
    *phi = e == 0 ? SCORE_FMA(r, l, -small) : SCORE_FMA(y, l, -r);
}

/* psi(f) in double. */
SCORE_FN double score_psi64(double f) {
    double s = f / (f + 2.0), z = s * s, w = z * z, half = f * f * 0.5;
    double low = (z * 3.999999999940941908e-01 + 6.666666666666735130e-01) +
                 w * (z * 2.222219843214978396e-01 + 2.857142874366239149e-01);
    double high = (z * 1.531383769920937332e-01 + 1.818357216161805012e-01) + w * 1.479819860511658591e-01;
    return half - s * (half + z * (low + (w * w) * high));
}

/* The same in double, with psi complete. */
SCORE_FN void score_bregman64(double y, double r, double *lambda, double *psi, double *phi) {
    int64_t bits, e;
    double f;
    memcpy(&bits, &y, sizeof bits);
    e = (bits - 0x3FE6A09E667F3BCDLL) >> 52;
    bits -= (int64_t)((uint64_t)e << 52);
    memcpy(&f, &bits, sizeof f);
    f = e == 0 ? r : f - 1.0;
    double small = score_psi64(f), l = (double)(int)e * SCORE_LN2 + (f - small);
    *lambda = l;
    *psi = e == 0 ? small : r - l;
    *phi = e == 0 ? r * l - small : y * l - r;
}

#endif
