/* simd.h - the vector types of a tier, and the operations that GCC's vector extensions lack.
 *
 * A tier file defines VG_LANES (doubles per vector) and its target before it includes this. vd: VG_LANES doubles, one
 * sample each. vl: as many 64-bit integers; masks are 0 or -1. vf: 2 VG_LANES floats; in the integral, two members of
 * the same VG_LANES samples. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef double vd __attribute__((vector_size(VG_LANES * 8)));
typedef int64_t vl __attribute__((vector_size(VG_LANES * 8)));
typedef float vf __attribute__((vector_size(VG_LANES * 8)));
typedef int32_t vi __attribute__((vector_size(VG_LANES * 8)));
typedef uint32_t vu __attribute__((vector_size(VG_LANES * 8))); /* sums may wrap around */
typedef float vh __attribute__((vector_size(VG_LANES * 4))); /* VG_LANES floats */
typedef int32_t vj __attribute__((vector_size(VG_LANES * 4)));

#define INLINE static inline __attribute__((always_inline))
#define VG_NOINLINE __attribute__((noinline))
/* Placed before a short loop over an array that must stay in registers. Not under a sanitizer, where clang would take
 * minutes. */
#if defined(__clang__)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNROLL
#else
#define UNROLL _Pragma("clang loop unroll(full)")
#endif
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

INLINE vd vd_set(double x) { return x - (vd){0}; }
INLINE vf vf_set(float x) { return x - (vf){0}; }
#if defined(VG_TIER_IS_AVX512) || defined(VG_TIER_IS_AVX2)
#include <immintrin.h>
#endif
INLINE vd vd_bits(vl x) { return (vd)x; }
INLINE vd vd_select(vl mask, vd yes, vd no) { return (vd)(((vl)yes & mask) | ((vl)no & ~mask)); }
INLINE vl vl_select(vl mask, vl yes, vl no) { return (yes & mask) | (no & ~mask); }
/* between floats and doubles */
#if defined(VG_TIER_IS_AVX512)
INLINE vd vd_from(vh x) { return (vd)_mm512_cvtps_pd((__m256)x); }
INLINE vh vh_from(vd x) { return (vh)_mm512_cvtpd_ps((__m512d)x); }
#elif defined(VG_TIER_IS_AVX2)
INLINE vd vd_from(vh x) { return (vd)_mm256_cvtps_pd((__m128)x); }
INLINE vh vh_from(vd x) { return (vh)_mm256_cvtpd_ps((__m256d)x); }
#else
INLINE vd vd_from(vh x) { return __builtin_convertvector(x, vd); }
INLINE vh vh_from(vd x) { return __builtin_convertvector(x, vh); }
#endif
/* The low halves of 64-bit integers. */
#if defined(VG_TIER_IS_AVX2)
INLINE vj vj_from(vl x) {
    __m256 all = (__m256)x;
    return (vj)_mm_shuffle_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1), 0x88);
}
#else
INLINE vj vj_from(vl x) { return __builtin_convertvector(x, vj); }
#endif
INLINE vd vd_abs(vd x) { return (vd)((vl)x & INT64_MAX); }

#if defined(VG_TIER_IS_AVX512)
#include <immintrin.h>
INLINE vd vd_max(vd a, vd b) { return (vd)_mm512_max_pd((__m512d)a, (__m512d)b); }
INLINE vd vd_min(vd a, vd b) { return (vd)_mm512_min_pd((__m512d)a, (__m512d)b); }
INLINE vd vd_sqrt(vd a) { return (vd)_mm512_sqrt_pd((__m512d)a); }
INLINE bool vl_any(vl m) { return _mm512_test_epi64_mask((__m512i)m, (__m512i)m) != 0; }
INLINE vh vh_max(vh a, vh b) { return (vh)_mm256_max_ps((__m256)a, (__m256)b); }
INLINE vh vh_min(vh a, vh b) { return (vh)_mm256_min_ps((__m256)a, (__m256)b); }
INLINE int64_t vl_most(vl m) { return _mm512_reduce_max_epi64((__m512i)m); }
/* 1/x to about an ulp, for normal x and 1/x: an estimate of 14 bits and two Newton steps. A division would occupy its
 * unit for as long as ten operations. */
INLINE vd vd_reciprocal(vd x) {
    vd y = (vd)_mm512_rcp14_pd((__m512d)x);
    y = y + y * (1.0 - x * y);
    return y + y * (1.0 - x * y);
}
#elif defined(VG_TIER_IS_AVX2)
#include <immintrin.h>
INLINE vd vd_max(vd a, vd b) { return (vd)_mm256_max_pd((__m256d)a, (__m256d)b); }
INLINE vd vd_min(vd a, vd b) { return (vd)_mm256_min_pd((__m256d)a, (__m256d)b); }
INLINE vd vd_sqrt(vd a) { return (vd)_mm256_sqrt_pd((__m256d)a); }
INLINE bool vl_any(vl m) { return _mm256_movemask_pd((__m256d)m) != 0; }
INLINE vh vh_max(vh a, vh b) { return (vh)_mm_max_ps((__m128)a, (__m128)b); }
INLINE vh vh_min(vh a, vh b) { return (vh)_mm_min_ps((__m128)a, (__m128)b); }
#else
INLINE vd vd_max(vd a, vd b) { return vd_select(a > b, a, b); }
INLINE vd vd_min(vd a, vd b) { return vd_select(a < b, a, b); }
INLINE vd vd_sqrt(vd a) {
    for (int i = 0; i < VG_LANES; i++)
        a[i] = sqrt(a[i]);
    return a;
}
INLINE vh vh_select(vj mask, vh yes, vh no) { return (vh)(((vj)yes & mask) | ((vj)no & ~mask)); }
INLINE vh vh_max(vh a, vh b) { return vh_select(a > b, a, b); }
INLINE vh vh_min(vh a, vh b) { return vh_select(a < b, a, b); }
INLINE bool vl_any(vl m) {
    int64_t any = 0;
    for (int i = 0; i < VG_LANES; i++)
        any |= m[i];
    return any != 0;
}
#endif

#if !defined(VG_TIER_IS_AVX512)
INLINE int64_t vl_most(vl m) {
    int64_t most = m[0];
    for (int i = 1; i < VG_LANES; i++)
        most = m[i] > most ? m[i] : most;
    return most;
}
INLINE vd vd_reciprocal(vd x) { return 1.0 / x; }
#endif

/* x after rounding: keeps the compiler from fusing the product it comes from into a later addition, where two paths to
 * the same value must give the same bits. */
#if defined(__x86_64__) && VG_LANES > 2
#define KEEP_ROUNDED(x) __asm__("" : "+v"(x))
#elif defined(__aarch64__)
#define KEEP_ROUNDED(x) __asm__("" : "+w"(x))
#else
#define KEEP_ROUNDED(x) (void)(x)
#endif
INLINE vf vf_rounded(vf x) {
    KEEP_ROUNDED(x);
    return x;
}
INLINE vd vd_rounded(vd x) {
    KEEP_ROUNDED(x);
    return x;
}
#undef KEEP_ROUNDED

/* Keeps x in a register, where the compiler would otherwise load it again for every use. */
INLINE vf vf_held(vf x) { return vf_rounded(x); }

/* A vector of floats from two halves, or the same one twice, and its halves. */
#if defined(VG_TIER_IS_AVX512)
INLINE vf vf_join(vh low, vh high) {
    return (vf)_mm512_insertf32x8(_mm512_castps256_ps512((__m256)low), (__m256)high, 1);
}
INLINE vf vf_twice(vh x) { return (vf)_mm512_broadcast_f32x8((__m256)x); }
INLINE vh vf_low(vf x) { return (vh)_mm512_castps512_ps256((__m512)x); }
INLINE vh vf_high(vf x) { return (vh)_mm512_extractf32x8_ps((__m512)x, 1); }
#elif defined(VG_TIER_IS_AVX2)
INLINE vf vf_join(vh low, vh high) {
    return (vf)_mm256_insertf128_ps(_mm256_castps128_ps256((__m128)low), (__m128)high, 1);
}
INLINE vf vf_twice(vh x) { return vf_join(x, x); }
INLINE vh vf_low(vf x) { return (vh)_mm256_castps256_ps128((__m256)x); }
INLINE vh vf_high(vf x) { return (vh)_mm256_extractf128_ps((__m256)x, 1); }
#else
typedef union vf_split {
    vf whole;
    vh half[2];
} vf_split;
INLINE vf vf_join(vh low, vh high) { return (vf_split){.half = {low, high}}.whole; }
INLINE vf vf_twice(vh x) { return vf_join(x, x); }
INLINE vh vf_low(vf x) { return (vf_split){x}.half[0]; }
INLINE vh vf_high(vf x) { return (vf_split){x}.half[1]; }
#endif
/* Two halves of doubles to one vector of floats, and the sum of a float vector's halves. */
INLINE vf vf_pack(vd low, vd high) { return vf_join(vh_from(low), vh_from(high)); }
INLINE vf vf_both(vd x) { return vf_twice(vh_from(x)); }
INLINE vh vf_halves(vf x) { return vf_low(x) + vf_high(x); }
INLINE vd vf_fold(vf x) { return vd_from(vf_low(x)) + vd_from(vf_high(x)); }

/* x with its second half set to one value. */
INLINE vf vf_pair(vf x, float second) {
    for (int i = VG_LANES; i < 2 * VG_LANES; i++)
        x[i] = second;
    return x;
}
/* x / count, correctly rounded; with a fused multiply-add the division unit is not used. `inverse` is 1 / count. */
INLINE vd vd_quotient(vd x, double count, double inverse) {
#if defined(VG_TIER_IS_AVX512)
    __m512d q = _mm512_mul_pd((__m512d)x, _mm512_set1_pd(inverse));
    __m512d rest = _mm512_fnmadd_pd(q, _mm512_set1_pd(count), (__m512d)x);
    return (vd)_mm512_fmadd_pd(rest, _mm512_set1_pd(inverse), q);
#elif defined(VG_TIER_IS_AVX2)
    __m256d q = _mm256_mul_pd((__m256d)x, _mm256_set1_pd(inverse));
    __m256d rest = _mm256_fnmadd_pd(q, _mm256_set1_pd(count), (__m256d)x);
    return (vd)_mm256_fmadd_pd(rest, _mm256_set1_pd(inverse), q);
#else
    (void)inverse;
    return x / count;
#endif
}

/* Masks of double lanes and choice by them; NaN reaches every value. */
#if defined(VG_TIER_IS_AVX512)
typedef __mmask8 vdm;
INLINE vdm vd_above(vd a, vd b) { return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GT_OQ); }
INLINE vdm vd_reaches(vd a, double least) { return _mm512_cmp_pd_mask((__m512d)a, _mm512_set1_pd(least), _CMP_NLT_UQ); }
INLINE bool vdm_any(vdm mask) { return mask != 0; }
INLINE vl vl_pick(vdm mask, vl yes, vl no) { return (vl)_mm512_mask_blend_epi64(mask, (__m512i)no, (__m512i)yes); }
#else
typedef vl vdm;
INLINE vdm vd_above(vd a, vd b) { return a > b; }
INLINE vdm vd_reaches(vd a, double least) { return ~(a < least); }
INLINE bool vdm_any(vdm mask) { return vl_any(mask); }
INLINE vl vl_pick(vdm mask, vl yes, vl no) { return vl_select(mask, yes, no); }
#endif

/* masks of float lanes, choice by them, extremes (positive numbers and zero
 * only for least and most), a vh in both halves */
#if defined(VG_TIER_IS_AVX512)
typedef __mmask16 vfm;
INLINE vfm vi_zero(vi x) { return _mm512_testn_epi32_mask((__m512i)x, (__m512i)x); }
INLINE vf vf_choose(vfm mask, vf yes, vf no) { return (vf)_mm512_mask_blend_ps(mask, (__m512)no, (__m512)yes); }
INLINE vf vf_max(vf a, vf b) { return (vf)_mm512_max_ps((__m512)a, (__m512)b); }
/* The first lane that is x; 2 VG_LANES where none is. */
INLINE size_t vf_place(vf v, float x) {
    unsigned lanes = _mm512_cmpeq_ps_mask((__m512)v, _mm512_set1_ps(x));
    return lanes ? (size_t)__builtin_ctz(lanes) : 2 * VG_LANES;
}
INLINE bool vf_any_above(vf x, float limit) {
    return _mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(limit), _CMP_GT_OQ) != 0;
}
/* The largest lane. */
INLINE float vf_top(vf x) { return _mm512_reduce_max_ps((__m512)x); }
/* The root of x >= 0 to about an ulp, 0 below 1e-37. The exact instruction would occupy its unit for as long as ten
 * operations. */
INLINE vf vf_sqrt(vf x) {
    vf twice = x + x, half = (vf)_mm512_rsqrt14_ps((__m512)vf_max(twice + twice, vf_set(4e-37f))), root = twice * half;
    return root + root * (0.5f - root * half);
}
INLINE vf vf_least(vf a, vf b) { return (vf)_mm512_min_epi32((__m512i)a, (__m512i)b); }
INLINE vf vf_most(vf a, vf b) { return (vf)_mm512_max_epi32((__m512i)a, (__m512i)b); }
INLINE bool vi_any(vi x) { return _mm512_test_epi32_mask((__m512i)x, (__m512i)x) != 0; }
/* 1/x to about an ulp for normal x and 1/x. */
INLINE vf vf_reciprocal(vf x) {
    vf y = (vf)_mm512_rcp14_ps((__m512)x);
    return y + y * (1.0f - x * y);
}
#else
typedef vi vfm;
INLINE vfm vi_zero(vi x) { return x == 0; }
INLINE vf vf_choose(vfm mask, vf yes, vf no) { return (vf)(((vi)yes & mask) | ((vi)no & ~mask)); }
#if defined(VG_TIER_IS_AVX2)
INLINE vf vf_max(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
INLINE vf vf_sqrt(vf a) { return (vf)_mm256_sqrt_ps((__m256)a); }
INLINE vf vf_least(vf a, vf b) { return (vf)_mm256_min_ps((__m256)a, (__m256)b); }
INLINE bool vi_any(vi x) { return !_mm256_testz_si256((__m256i)x, (__m256i)x); }
#else
INLINE vf vf_max(vf a, vf b) { return vf_choose(a > b, a, b); }
INLINE vf vf_sqrt(vf a) {
    for (int i = 0; i < 2 * VG_LANES; i++)
        a[i] = sqrtf(a[i]);
    return a;
}
INLINE vf vf_least(vf a, vf b) { return vf_choose(a < b, a, b); }
INLINE bool vi_any(vi x) { return vl_any((vl)x); }
#endif
INLINE vf vf_most(vf a, vf b) { return vf_max(a, b); }
INLINE size_t vf_place(vf v, float x) {
    size_t lane = 0;
    if (!vi_any(v == x))
        return 2 * VG_LANES;
    while (v[lane] != x)
        lane++;
    return lane;
}
INLINE float vf_top(vf x) {
    float most = x[0];
    for (int i = 1; i < 2 * VG_LANES; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}
INLINE vf vf_reciprocal(vf x) { return 1.0f / x; }
INLINE bool vf_any_above(vf x, float limit) { return vi_any(x > limit); }
#endif

INLINE vi vi_choose(vi mask, vi yes, vi no) { return (yes & mask) | (no & ~mask); }
INLINE vi vi_more(vi a, vi b) { return vi_choose(a > b, a, b); }
INLINE vi vi_within(vi x, int low, int high) {
    x = vi_choose(x < high, x, (vi){0} + high);
    return vi_choose(x > low, x, (vi){0} + low);
}
#if defined(VG_TIER_IS_AVX512)
INLINE int vi_most(vi x) { return _mm512_reduce_max_epi32((__m512i)x); }
#else
INLINE int vi_most(vi x) {
    int most = x[0];
    for (int i = 1; i < 2 * VG_LANES; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}
#endif

/* Flush-to-zero during a tile: the tails of the integral pass through denormals, which do not matter and would cost 100
 * cycles each. Denormal inputs still count. */
#if defined(__x86_64__)
#include <xmmintrin.h>
INLINE unsigned vg_flush_begin(void) {
    unsigned saved = _mm_getcsr();
    _mm_setcsr(saved | 0x8000u);
    return saved;
}
INLINE void vg_flush_end(unsigned saved) { _mm_setcsr(saved); }
#else
INLINE unsigned vg_flush_begin(void) { return 0; }
INLINE void vg_flush_end(unsigned saved) { (void)saved; }
#endif
