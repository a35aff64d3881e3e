/* softmax_rows.c - the tiers of softmax_rows.h: portable C, AVX2 with FMA, AVX-512, from one template.
 *
 * Everything is float64; float32 rows are widened on load. With 25 instructions per vector the loop runs near the
 * rate at which memory delivers float32 logits, so float32 arithmetic would gain little and cause a bias. A row
 * shorter than a tier's vector is passed to the next narrower tier. Tiers differ in the order of sums and in fused
 * multiply-adds, by a few 1e-16 relative. */
#include "calibrate/softmax_rows.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define LOWEST (-707.0)

/* --- portable: one lane ----------------------------------------------------------------------------------------- */
static inline double scale_one(double p, double t) {
    uint64_t bits, k;
    memcpy(&bits, &p, sizeof bits);
    memcpy(&k, &t, sizeof k);
    bits += k << 52;
    memcpy(&p, &bits, sizeof p);
    return p;
}
#define V double
#define LANES ((size_t)1)
#define ATTR
#define NAME(x) x##_portable
#define NARROWER(x) x##_portable /* c >= 1: never reached */
#define V_LOAD32(z) ((double)*(z))
#define V_LOAD64(z) (*(z))
#define V_STORE(to, v) (*(to) = (v))
#define V_SET(v) (v)
#define V_ADD(a, b) ((a) + (b))
#define V_SUB(a, b) ((a) - (b))
#define V_MUL(a, b) ((a) * (b))
#define V_FMA(a, b, c) ((a) * (b) + (c))
#define V_NFMA(a, b, c) ((c) - (a) * (b))
#define V_MAX(a, b) ((a) > (b) ? (a) : (b))
#define V_SUM(v) (v)
#define V_TOP(v) (v)
#define V_SCALE(p, t) scale_one(p, t)
#define V_KEEP(v, i) (v)
#include "calibrate/softmax_rows_template.h"

#if defined(__x86_64__)
/* --- AVX2: four lanes ------------------------------------------------------------------------------------------- */
#define ATTR __attribute__((target("avx2,fma")))
ATTR static inline double sum_avx2(__m256d v) {
    __m128d half = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
}
ATTR static inline double top_avx2(__m256d v) {
    __m128d half = _mm_max_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_max_sd(half, _mm_unpackhi_pd(half, half)));
}
ATTR static inline __m256d scale_avx2(__m256d p, __m256d t) {
    __m256i k = _mm256_slli_epi64(_mm256_castpd_si256(t), 52);
    return _mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(p), k));
}
ATTR static inline __m256d keep_avx2(__m256d v, size_t first) {
    __m256i seen = _mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)first), _mm256_setr_epi64x(0, 1, 2, 3));
    return _mm256_andnot_pd(_mm256_castsi256_pd(seen), v);
}
#define V __m256d
#define LANES ((size_t)4)
#define NAME(x) x##_avx2
#define NARROWER(x) x##_portable
#define V_LOAD32(z) _mm256_cvtps_pd(_mm_loadu_ps(z))
#define V_LOAD64(z) _mm256_loadu_pd(z)
#define V_STORE(to, v) _mm256_storeu_pd(to, v)
#define V_SET(v) _mm256_set1_pd(v)
#define V_ADD(a, b) _mm256_add_pd(a, b)
#define V_SUB(a, b) _mm256_sub_pd(a, b)
#define V_MUL(a, b) _mm256_mul_pd(a, b)
#define V_FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define V_NFMA(a, b, c) _mm256_fnmadd_pd(a, b, c)
#define V_MAX(a, b) _mm256_max_pd(a, b)
#define V_SUM(v) sum_avx2(v)
#define V_TOP(v) top_avx2(v)
#define V_SCALE(p, t) scale_avx2(p, t)
#define V_KEEP(v, i) keep_avx2(v, i)
#include "calibrate/softmax_rows_template.h"

/* --- AVX-512: eight lanes --------------------------------------------------------------------------------------- */
#define ATTR __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")))
ATTR static inline __m512d scale_avx512(__m512d p, __m512d t) {
    __m512i k = _mm512_slli_epi64(_mm512_castpd_si512(t), 52);
    return _mm512_castsi512_pd(_mm512_add_epi64(_mm512_castpd_si512(p), k));
}
ATTR static inline __m512d keep_avx512(__m512d v, size_t first) {
    return _mm512_maskz_mov_pd((__mmask8)(0xffu << first), v);
}
#define V __m512d
#define LANES ((size_t)8)
#define NAME(x) x##_avx512
#define NARROWER(x) x##_avx2
#define V_LOAD32(z) _mm512_cvtps_pd(_mm256_loadu_ps(z))
#define V_LOAD64(z) _mm512_loadu_pd(z)
#define V_STORE(to, v) _mm512_storeu_pd(to, v)
#define V_SET(v) _mm512_set1_pd(v)
#define V_ADD(a, b) _mm512_add_pd(a, b)
#define V_SUB(a, b) _mm512_sub_pd(a, b)
#define V_MUL(a, b) _mm512_mul_pd(a, b)
#define V_FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define V_NFMA(a, b, c) _mm512_fnmadd_pd(a, b, c)
#define V_MAX(a, b) _mm512_max_pd(a, b)
#define V_SUM(v) _mm512_reduce_add_pd(v)
#define V_TOP(v) _mm512_reduce_max_pd(v)
#define V_SCALE(p, t) scale_avx512(p, t)
#define V_KEEP(v, i) keep_avx512(v, i)
#include "calibrate/softmax_rows_template.h"
#endif

const vg_softmax_kernels *vg_calibrate__softmax_kernels(vg_tier tier) {
#if defined(__x86_64__)
    if (tier == VG_TIER_AVX512)
        return &KERNELS_avx512;
    if (tier == VG_TIER_AVX2)
        return &KERNELS_avx2;
#endif
    (void)tier;
    return &KERNELS_portable;
}
