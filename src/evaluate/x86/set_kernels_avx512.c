/* set_kernels_avx512.c - the values of one sample with AVX-512 (F, DQ, VL, BW), eight per vector. See set_kernels.h. */
#if defined(__x86_64__)
#include "evaluate/set_kernels.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "vargate/sets.h"

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

/* Reverses the bits of each byte, so that the first class is the highest bit, as in numpy.packbits. */
static void reverse_bits(uint8_t *bytes, size_t count) {
    const __m512i nibble = _mm512_set1_epi8(0x0f);
    const __m512i low = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15)); /* a nibble in reverse */
    const __m512i high = _mm512_slli_epi16(low, 4);
    for (size_t i = 0; i < count; i += 64) {
        const __mmask64 here = count - i < 64 ? ((__mmask64)1 << (count - i)) - 1 : ~(__mmask64)0;
        const __m512i x = _mm512_maskz_loadu_epi8(here, bytes + i);
        const __m512i top = _mm512_and_si512(_mm512_srli_epi16(x, 4), nibble);
        const __m512i turned =
            _mm512_or_si512(_mm512_shuffle_epi8(high, _mm512_and_si512(x, nibble)), _mm512_shuffle_epi8(low, top));
        _mm512_mask_storeu_epi8(bytes + i, here, turned);
    }
}

/* What is known of a row of floats while it is read, and where its sets begin. */
typedef struct float_row {
    uint8_t *mask;
    size_t bytes;
    __m512 sums[2];
    __m512i signs;                  /* a sign bit: some value was negative */
    int32_t counts[VG_SETS_ALPHAS]; /* marks of each alpha */
} float_row;

/* 32 floats of which `left` exist, one load for the check and for all alphas. The first class is the lowest bit. */
static inline void mark_32(float_row *row, const float *v, size_t c, size_t left, const float *bounds, size_t alphas) {
    const uint32_t here = left < 32 ? ((uint32_t)1 << left) - 1 : UINT32_MAX;
    const __mmask16 first = (__mmask16)here, second = (__mmask16)(here >> 16);
    const __m512 x = _mm512_maskz_loadu_ps(first, v + c);
    const __m512 y = second ? _mm512_maskz_loadu_ps(second, v + c + 16) : _mm512_setzero_ps();
    row->sums[0] = _mm512_add_ps(row->sums[0], x);
    row->sums[1] = _mm512_add_ps(row->sums[1], y);
    row->signs = _mm512_or_si512(row->signs, _mm512_or_si512(_mm512_castps_si512(x), _mm512_castps_si512(y)));
    for (size_t a = 0; a < alphas; a++) {
        const __m512 bound = _mm512_set1_ps(bounds[a]);
        const uint32_t bits = (uint32_t)_mm512_mask_cmp_ps_mask(first, x, bound, _CMP_GE_OQ) |
                              (uint32_t)_mm512_mask_cmp_ps_mask(second, y, bound, _CMP_GE_OQ) << 16;
        uint8_t *mask = row->mask + a * row->bytes + c / 8;
        if (left >= 32)
            memcpy(mask, &bits, sizeof bits);
        else
            for (size_t byte = 0; byte < (left + 7) / 8; byte++)
                mask[byte] = (uint8_t)(bits >> 8 * byte);
        row->counts[a] += (int32_t)_mm_popcnt_u32(bits);
    }
}

/* Negative values have the sign bit; NaN and infinity are in the sum. -0 counts as negative, which costs time only. */
static inline bool is_float_distribution(const float_row *row) {
    return !_mm512_movepi32_mask(row->signs) &&
           fabs((double)_mm512_reduce_add_ps(_mm512_add_ps(row->sums[0], row->sums[1])) - 1) <= 0.9e-3;
}

static inline __attribute__((always_inline)) size_t mark_float_rows(const vg_set_marks *to, const vg_set_floats *in,
                                                                    const float *bounds, size_t alphas) {
    const size_t n = in->n;
    for (size_t i = 0; i < in->rows; i++) {
        const float *v = in->v + (ptrdiff_t)i * in->stride;
        float_row row;
        size_t c = 0;
        row.mask = alphas ? to->mask + i * alphas * to->bytes : NULL;
        row.bytes = to->bytes;
        row.signs = _mm512_setzero_si512();
        row.sums[0] = row.sums[1] = _mm512_setzero_ps();
        for (size_t a = 0; a < alphas; a++)
            row.counts[a] = 0;
        for (; c + 32 <= n; c += 32) {
            _mm_prefetch((const void *)((uintptr_t)(v + c) + FETCHED * sizeof *v), _MM_HINT_T0);
            _mm_prefetch((const void *)((uintptr_t)(v + c) + FETCHED * sizeof *v + 64), _MM_HINT_T0);
            mark_32(&row, v, c, 32, bounds, alphas);
        }
        if (c < n)
            mark_32(&row, v, c, n - c, bounds, alphas);
        if (!is_float_distribution(&row))
            return i;
        for (size_t a = 0; a < alphas; a++)
            to->size[i * alphas + a] = row.counts[a];
    }
    return in->rows;
}

/* --- rows of at most 16 floats, sixteen at a time ----------------------------------------------------------------- */
/* The sums of sixteen vectors, in their order: halves are added across pairs of vectors, of pairs, and so on. */
static inline __m512 sums_of_16(const __m512 *x) {
    __m512 pairs[8], fours[4], halves[2];
    for (int i = 0; i < 8; i++)
        pairs[i] =
            _mm512_add_ps(_mm512_unpacklo_ps(x[2 * i], x[2 * i + 1]), _mm512_unpackhi_ps(x[2 * i], x[2 * i + 1]));
    for (int i = 0; i < 4; i++) {
        const __m512d a = _mm512_castps_pd(pairs[2 * i]), b = _mm512_castps_pd(pairs[2 * i + 1]);
        fours[i] =
            _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
    }
    for (int i = 0; i < 2; i++)
        halves[i] = _mm512_add_ps(_mm512_shuffle_f32x4(fours[2 * i], fours[2 * i + 1], 0x88),
                                  _mm512_shuffle_f32x4(fours[2 * i], fours[2 * i + 1], 0xdd));
    return _mm512_add_ps(_mm512_shuffle_f32x4(halves[0], halves[1], 0x88),
                         _mm512_shuffle_f32x4(halves[0], halves[1], 0xdd));
}

/* The number of bits of each of sixteen numbers. */
static inline __m512i bits_of_16(__m256i x) {
    const __m256i nibble = _mm256_set1_epi8(0x0f);
    const __m256i count = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m256i low = _mm256_shuffle_epi8(count, _mm256_and_si256(x, nibble));
    const __m256i high = _mm256_shuffle_epi8(count, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble));
    return _mm512_cvtepu16_epi32(_mm256_maddubs_epi16(_mm256_add_epi8(low, high), _mm256_set1_epi8(1)));
}

/* Marks groups of sixteen rows at one alpha, or checks them at none; returns the rows before the first group in which
 * a row is not clearly a distribution, or that is not whole. */
static size_t mark_narrow_rows(const vg_set_marks *to, const vg_set_floats *in, const float *bounds) {
    const __mmask16 here = (__mmask16)((1u << in->n) - 1);
    const __m512 bound = _mm512_set1_ps(to->alphas ? bounds[0] : 0), one = _mm512_set1_ps(1);
    size_t i = 0;
    for (; i + 16 <= in->rows; i += 16) {
        __m512 x[16];
        __m512i signs = _mm512_setzero_si512();
        uint16_t marks[16];
        for (size_t r = 0; r < 16; r++) {
            x[r] = _mm512_maskz_loadu_ps(here, in->v + (ptrdiff_t)(i + r) * in->stride);
            signs = _mm512_or_si512(signs, _mm512_castps_si512(x[r]));
            marks[r] = (uint16_t)_mm512_mask_cmp_ps_mask(here, x[r], bound, _CMP_GE_OQ);
        }
        const __m512 off = _mm512_abs_ps(_mm512_sub_ps(sums_of_16(x), one));
        if (_mm512_movepi32_mask(signs) || _mm512_cmp_ps_mask(off, _mm512_set1_ps(0.9e-3f), _CMP_NLE_UQ))
            return i;
        if (to->alphas == 0)
            continue;
        const __m256i bits = _mm256_loadu_si256((const __m256i *)(const void *)marks);
        _mm512_storeu_si512(to->size + i, bits_of_16(bits));
        if (to->bytes == 2)
            _mm256_storeu_si256((__m256i *)(void *)(to->mask + 2 * i), bits);
        else
            _mm_storeu_si128((__m128i *)(void *)(to->mask + i), _mm256_cvtepi16_epi8(bits));
    }
    return i;
}

/* The usual one alpha, and none in calibration, are compiled without their loop. */
static size_t mark_floats(const vg_set_marks *to, const vg_set_floats *in, const float *bounds) {
    size_t alphas = to->alphas, done = in->n <= 16 && alphas <= 1 ? mark_narrow_rows(to, in, bounds) : 0;
    vg_set_marks rest = *to;
    vg_set_floats left = *in;
    rest.mask = to->mask && alphas ? to->mask + done * alphas * to->bytes : NULL;
    rest.size = to->size && alphas ? to->size + done * alphas : NULL;
    left.v += (ptrdiff_t)done * in->stride;
    left.rows -= done;
    done += alphas == 0   ? mark_float_rows(&rest, &left, bounds, 0)
            : alphas == 1 ? mark_float_rows(&rest, &left, bounds, 1)
                          : mark_float_rows(&rest, &left, bounds, alphas);
    reverse_bits(to->mask, done * alphas * to->bytes);
    return done;
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
