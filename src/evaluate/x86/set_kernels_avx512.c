/* set_kernels_avx512.c - the values of one sample with AVX-512 (F, DQ, VL, BW), eight per vector. See set_kernels.h. */
#if defined(__x86_64__)
#include "evaluate/set_kernels.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "evaluate/x86/avx512_target.h"

static inline __mmask8 lanes(size_t left) { return left < 8 ? (__mmask8)((1u << left) - 1) : (__mmask8)0xff; }
static inline __m512d values(const double *v, __mmask8 here) { return _mm512_maskz_loadu_pd(here, v); }

/* Elements ahead that are prefetched: the hardware prefetcher stops at each page. */
enum { FETCHED = 1024 };

/* Whether no value is negative or NaN and they sum to one. Two sums, because an addition takes four cycles. */
#define CHECK(LOAD, STORE)                                                                                             \
    __m512d sums[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()}, zero = _mm512_setzero_pd();                          \
    __mmask8 bad = 0;                                                                                                  \
    size_t c = 0;                                                                                                      \
    for (; c + 16 <= n; c += 16) {                                                                                     \
        _mm_prefetch((const void *)((uintptr_t)(v + c) + FETCHED * sizeof *v), _MM_HINT_T0);                           \
        for (size_t i = 0; i < 2; i++) {                                                                               \
            const __mmask8 here = 0xff;                                                                                \
            const size_t at = c + 8 * i;                                                                               \
            __m512d x = LOAD;                                                                                          \
            bad |= _mm512_cmp_pd_mask(x, zero, _CMP_NGE_UQ);                                                           \
            sums[i] = _mm512_add_pd(sums[i], x);                                                                       \
            STORE;                                                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    for (; c < n; c += 8) {                                                                                            \
        const __mmask8 here = lanes(n - c);                                                                            \
        const size_t at = c;                                                                                           \
        __m512d x = LOAD;                                                                                              \
        bad |= _mm512_cmp_pd_mask(x, zero, _CMP_NGE_UQ);                                                               \
        sums[0] = _mm512_add_pd(sums[0], x);                                                                           \
        STORE;                                                                                                         \
    }                                                                                                                  \
    return !bad && fabs(_mm512_reduce_add_pd(_mm512_add_pd(sums[0], sums[1])) - 1) <= 0.9e-3

static bool is_distribution(const double *v, size_t n) { CHECK(values(v + at, here), (void)0); }

static bool widen(double *out, const float *v, size_t n) {
    CHECK(_mm512_cvtps_pd(_mm256_maskz_loadu_ps(here, v + at)), _mm512_mask_storeu_pd(out + at, here, x));
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

/* Eight values in reverse, so that the first class is the highest bit of a comparison, as in numpy.packbits. Values
 * beyond the end are NaN and never marked. */
static inline __m512d reversed(const double *v, size_t left) {
    const __m512i order = _mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    __m512d x = left >= 8 ? _mm512_loadu_pd(v) : _mm512_mask_loadu_pd(_mm512_set1_pd(NAN), lanes(left), v);
    return _mm512_permutexvar_pd(order, x);
}

/* 32 classes, each eight in reverse: the score, base - v. */
typedef struct quad {
    __m512d x0, x1, x2, x3;
} quad;

static inline uint32_t at_most(const quad *q, double threshold) {
    const __m512d most = _mm512_set1_pd(threshold);
    return (uint32_t)_mm512_cmp_pd_mask(q->x0, most, _CMP_LE_OQ) |
           (uint32_t)_mm512_cmp_pd_mask(q->x1, most, _CMP_LE_OQ) << 8 |
           (uint32_t)_mm512_cmp_pd_mask(q->x2, most, _CMP_LE_OQ) << 16 |
           (uint32_t)_mm512_cmp_pd_mask(q->x3, most, _CMP_LE_OQ) << 24;
}

static inline __m512d scores_at(const double *v, size_t c, size_t n, __m512d base) {
    return c < n ? _mm512_sub_pd(base, reversed(v + c, n - c)) : _mm512_set1_pd(NAN);
}

static void mark_within(const vg_set_marks *to, const double *v, size_t n, double base, const double *thresholds) {
    const __m512d from = _mm512_set1_pd(base);
    size_t c = 0, alphas = to->alphas, bytes = to->bytes;
    for (size_t a = 0; a < alphas; a++)
        to->size[a] = 0;
    for (; c + 32 <= n; c += 32) { /* loaded once for all alphas */
        const quad q = {_mm512_sub_pd(from, reversed(v + c, 8)), _mm512_sub_pd(from, reversed(v + c + 8, 8)),
                        _mm512_sub_pd(from, reversed(v + c + 16, 8)), _mm512_sub_pd(from, reversed(v + c + 24, 8))};
        for (size_t a = 0; a < alphas; a++) {
            uint32_t bits = at_most(&q, thresholds[a]);
            memcpy(to->mask + a * bytes + c / 8, &bits, sizeof bits);
            to->size[a] += (int32_t)_mm_popcnt_u32(bits);
        }
    }
    if (c == n)
        return;
    const quad q = {scores_at(v, c, n, from), scores_at(v, c + 8, n, from), scores_at(v, c + 16, n, from),
                    scores_at(v, c + 24, n, from)};
    for (size_t a = 0; a < alphas; a++) {
        uint32_t bits = at_most(&q, thresholds[a]);
        to->size[a] += (int32_t)_mm_popcnt_u32(bits);
        for (size_t byte = c / 8; byte < bytes; byte++, bits >>= 8)
            to->mask[a * bytes + byte] = (uint8_t)bits;
    }
}

/* 16 floats, each eight in reverse; those beyond the end are 0. */
static inline __m512 turned(__m512 x) {
    return _mm512_permutexvar_ps(_mm512_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8), x);
}

/* 32 floats of which `left` exist, one load for the check and for all alphas; returns which are negative or NaN. */
static inline __mmask16 mark_32(const vg_set_marks *to, const float *v, size_t c, size_t left, const float *bounds,
                                __m512 sums[2]) {
    const uint32_t here = left < 32 ? ((uint32_t)1 << left) - 1 : UINT32_MAX;
    const __m512 x = _mm512_maskz_loadu_ps((__mmask16)here, v + c), low = turned(x);
    const __m512 y = here >> 16 ? _mm512_maskz_loadu_ps((__mmask16)(here >> 16), v + c + 16) : _mm512_setzero_ps();
    const __m512 high = turned(y), zero = _mm512_setzero_ps();
    sums[0] = _mm512_add_ps(sums[0], x);
    sums[1] = _mm512_add_ps(sums[1], y);
    for (size_t a = 0; a < to->alphas; a++) {
        const __m512 bound = _mm512_set1_ps(bounds[a]);
        uint32_t bits = (uint32_t)_mm512_cmp_ps_mask(low, bound, _CMP_GE_OQ) |
                        (uint32_t)_mm512_cmp_ps_mask(high, bound, _CMP_GE_OQ) << 16;
        uint8_t *mask = to->mask + a * to->bytes + c / 8;
        if (left >= 32) {
            memcpy(mask, &bits, sizeof bits);
        } else {
            size_t last = (left - 1) / 8; /* a bound of 0 would mark values beyond the end */
            bits &= (uint32_t)((uint64_t)1 << 8 * (last + 1)) - 1;
            if (left % 8)
                bits &= ~((uint32_t)(0xffu >> left % 8) << 8 * last);
            for (size_t byte = 0; byte <= last; byte++)
                mask[byte] = (uint8_t)(bits >> 8 * byte);
        }
        to->size[a] += (int32_t)_mm_popcnt_u32(bits);
    }
    return _mm512_cmp_ps_mask(x, zero, _CMP_NGE_UQ) | _mm512_cmp_ps_mask(y, zero, _CMP_NGE_UQ);
}

static bool mark_floats(const vg_set_marks *to, const float *v, size_t n, const float *bounds) {
    __m512 sums[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    __mmask16 bad = 0;
    size_t c = 0;
    for (size_t a = 0; a < to->alphas; a++)
        to->size[a] = 0;
    for (; c + 32 <= n; c += 32) {
        _mm_prefetch((const void *)((uintptr_t)(v + c) + FETCHED * sizeof *v), _MM_HINT_T0);
        _mm_prefetch((const void *)((uintptr_t)(v + c) + FETCHED * sizeof *v + 64), _MM_HINT_T0);
        bad |= mark_32(to, v, c, 32, bounds, sums);
    }
    if (c < n)
        bad |= mark_32(to, v, c, n - c, bounds, sums);
    return !bad && fabs((double)_mm512_reduce_add_ps(_mm512_add_ps(sums[0], sums[1])) - 1) <= 0.9e-3;
}

/* Marks where a comparison of eight reversed values gives a bit. */
#define MARK(COMPARED)                                                                                                 \
    size_t size = 0;                                                                                                   \
    for (size_t c = 0; c < n; c += 8) {                                                                                \
        const __m512d x = reversed(v + c, n - c);                                                                      \
        const __mmask8 bits = COMPARED;                                                                                \
        mask[c / 8] = bits;                                                                                            \
        size += (size_t)_mm_popcnt_u32(bits);                                                                          \
    }                                                                                                                  \
    return size

static size_t mark_own(uint8_t *mask, const double *v, size_t n, double base, const double *thresholds) {
    const __m512d from = _mm512_set1_pd(base);
    MARK(_mm512_cmp_pd_mask(_mm512_sub_pd(from, x), reversed(thresholds + c, n - c), _CMP_LE_OQ));
}

static size_t mark_from(uint8_t *mask, const double *v, size_t n, double least) {
    const __m512d bound = _mm512_set1_pd(least);
    MARK(_mm512_cmp_pd_mask(x, bound, _CMP_GE_OQ));
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
    for (size_t i = 1; i < n; i++) /* equal values share their first rank */
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

const vg_set_kernels vg_set__kernels_avx512 = {is_distribution, widen,     top,     mark_within, mark_own,
                                               mark_floats,     mark_from, collect, order,       above};
VG_AVX512_END
#else
typedef int vg_not_x86_set_kernels;
#endif
