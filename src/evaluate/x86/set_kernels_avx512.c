/* set_kernels_avx512.c - the values of one sample with AVX-512 (F, DQ, VL, BW), eight a vector. See set_kernels.h. */
#if defined(__x86_64__)
#include "evaluate/set_kernels.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,popcnt"))),            \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,popcnt")
#endif

static inline __mmask8 lanes(size_t left) { return left < 8 ? (__mmask8)((1u << left) - 1) : (__mmask8)0xff; }
static inline __m512d values(const double *v, __mmask8 here) { return _mm512_maskz_loadu_pd(here, v); }

static bool sums_to_one(__m512d sum) { return fabs(_mm512_reduce_add_pd(sum) - 1) <= 0.9e-3; }

static bool is_distribution(const double *v, size_t n) {
    __m512d sum = _mm512_setzero_pd(), zero = _mm512_setzero_pd();
    __mmask8 bad = 0;
    for (size_t c = 0; c < n; c += 8) {
        __m512d x = values(v + c, lanes(n - c));
        bad |= _mm512_cmp_pd_mask(x, zero, _CMP_NGE_UQ);
        sum = _mm512_add_pd(sum, x);
    }
    return !bad && sums_to_one(sum);
}

static bool widen(double *out, const float *v, size_t n) {
    __m512d sum = _mm512_setzero_pd(), zero = _mm512_setzero_pd();
    __mmask8 bad = 0;
    for (size_t c = 0; c < n; c += 8) {
        __mmask8 here = lanes(n - c);
        __m512d x = _mm512_cvtps_pd(_mm256_maskz_loadu_ps(here, v + c));
        bad |= _mm512_cmp_pd_mask(x, zero, _CMP_NGE_UQ);
        sum = _mm512_add_pd(sum, x);
        _mm512_mask_storeu_pd(out + c, here, x);
    }
    return !bad && sums_to_one(sum);
}

static size_t top(const double *v, size_t n) {
    __m512d most = _mm512_set1_pd(v[0]);
    for (size_t c = 0; c < n; c += 8)
        most = _mm512_mask_max_pd(most, lanes(n - c), most, _mm512_maskz_loadu_pd(lanes(n - c), v + c));
    most = _mm512_set1_pd(_mm512_reduce_max_pd(most));
    for (size_t c = 0; c < n; c += 8) {
        __mmask8 equal = _mm512_mask_cmp_pd_mask(lanes(n - c), values(v + c, lanes(n - c)), most, _CMP_EQ_OQ);
        if (equal)
            return c + (size_t)__builtin_ctz(equal);
    }
    return 0;
}

/* The bits of each byte in reverse: the first class is the highest bit. */
static inline uint64_t reversed(uint64_t bits) {
    const uint64_t odd = 0x5555555555555555, pairs = 0x3333333333333333, halves = 0x0f0f0f0f0f0f0f0f;
    bits = (bits >> 1 & odd) | (bits & odd) << 1;
    bits = (bits >> 2 & pairs) | (bits & pairs) << 2;
    return (bits >> 4 & halves) | (bits & halves) << 4;
}

/* Puts the bits of up to 64 classes, of which `left` follow. */
static inline size_t put(uint8_t *mask, uint64_t bits, size_t left) {
    uint64_t packed = reversed(bits);
    if (left >= 64)
        memcpy(mask, &packed, 8);
    else
        for (size_t byte = 0; 8 * byte < left; byte++)
            mask[byte] = (uint8_t)(packed >> 8 * byte);
    return (size_t)_mm_popcnt_u64(bits);
}

/* Marks the classes for which IN(c, here) gives a bit. */
#define MARK(IN)                                                                                                       \
    size_t size = 0;                                                                                                   \
    for (size_t first = 0; first < n; first += 64) {                                                                   \
        size_t end = n - first < 64 ? n : first + 64;                                                                  \
        uint64_t bits = 0;                                                                                             \
        for (size_t c = first; c < end; c += 8) {                                                                      \
            __mmask8 here = lanes(end - c);                                                                            \
            bits |= (uint64_t)(IN) << (c - first);                                                                     \
        }                                                                                                              \
        size += put(mask + first / 8, bits, n - first);                                                                \
    }                                                                                                                  \
    return size

static size_t mark_within_one(uint8_t *mask, const double *v, size_t n, double base, double threshold) {
    const __m512d from = _mm512_set1_pd(base), most = _mm512_set1_pd(threshold);
    MARK(_mm512_mask_cmp_pd_mask(here, _mm512_sub_pd(from, values(v + c, here)), most, _CMP_LE_OQ));
}

static size_t mark_within(uint8_t *mask, const double *v, size_t n, double base, const double *threshold, bool own) {
    if (!own)
        return mark_within_one(mask, v, n, base, threshold[0]);
    const __m512d from = _mm512_set1_pd(base);
    MARK(_mm512_mask_cmp_pd_mask(here, _mm512_sub_pd(from, values(v + c, here)), values(threshold + c, here),
                                 _CMP_LE_OQ));
}

static size_t mark_from(uint8_t *mask, const double *v, size_t n, double least) {
    const __m512d bound = _mm512_set1_pd(least);
    MARK(_mm512_mask_cmp_pd_mask(here, values(v + c, here), bound, _CMP_GE_OQ));
}

static size_t collect(double *out, const double *v, size_t n, double least) {
    const __m512d bound = _mm512_set1_pd(least);
    size_t count = 0;
    for (size_t c = 0; c < n; c += 8) {
        __mmask8 here = lanes(n - c);
        __m512d x = values(v + c, here);
        __mmask8 in = _mm512_mask_cmp_pd_mask(here, x, bound, _CMP_GE_OQ);
        _mm512_storeu_pd(out + count, _mm512_maskz_compress_pd(in, x));
        count += (size_t)_mm_popcnt_u32(in);
    }
    return count;
}

static void order(double *out, double *v, size_t n) {
    const __m512d none = _mm512_set1_pd(-1); /* below every value */
    _mm512_storeu_pd(v + n, none);
    for (size_t i = 0; i < n; i += 8)
        _mm512_mask_storeu_pd(out + i, lanes(n - i), none);
    for (size_t i = 0; i < n; i++) {
        const __m512d own = _mm512_set1_pd(v[i]);
        size_t place = 0;
        for (size_t j = 0; j < n; j += 8)
            place += (size_t)_mm_popcnt_u32(_mm512_cmp_pd_mask(_mm512_loadu_pd(v + j), own, _CMP_GT_OQ));
        out[place] = v[i];
    }
    for (size_t i = 1; i < n; i++) /* equal values share their first place */
        out[i] = out[i] < 0 ? out[i - 1] : out[i];
}

static vg_set_above above(const double *v, size_t n, size_t y) {
    const __m512d own = _mm512_set1_pd(v[y]), three = _mm512_set1_pd(3.0);
    __m512d sum = _mm512_setzero_pd(), most = own;
    size_t count = 0;
    for (size_t c = 0; c < n; c += 8) {
        __mmask8 here = lanes(n - c);
        __m512d x = values(v + c, here);
        __mmask8 first = _mm512_mask_cmp_pd_mask(here, x, own, _CMP_GT_OQ);
        if (c < y)
            first |= _mm512_mask_cmp_pd_mask(lanes(y - c), x, own, _CMP_EQ_OQ);
        count += (size_t)_mm_popcnt_u32(first);
        sum = _mm512_mask_add_pd(sum, first, sum, _mm512_sub_pd(_mm512_add_pd(x, three), three));
        most = _mm512_mask_max_pd(most, here, most, x);
    }
    return (vg_set_above){count, _mm512_reduce_add_pd(sum), _mm512_reduce_max_pd(most)};
}

const vg_set_kernels vg_set__kernels_avx512 = {is_distribution, widen,   top,   mark_within,
                                               mark_from,       collect, order, above};
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int vg_not_x86_set_kernels;
#endif
