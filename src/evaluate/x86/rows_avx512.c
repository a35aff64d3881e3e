/* rows_avx512.c - rows and samples with AVX-512 (F, DQ, VL, BW), eight values per vector. See evaluate_internal.h. */
#if defined(__x86_64__)
#include "evaluate/evaluate_internal.h"
#include <immintrin.h>

#include "evaluate/x86/avx512_target.h"

/* Values of rows 0 .. 7. A stride of 3 (one measure at three gate settings) is read by two permutations, other
 * strides by a gather. */
static inline __m512d every(const double *from, size_t stride, __m512i places) {
    if (stride == 1)
        return _mm512_loadu_pd(from);
    if (stride == 3) {
        __m512d a = _mm512_loadu_pd(from), b = _mm512_loadu_pd(from + 8), c = _mm512_maskz_loadu_pd(0x3f, from + 16);
        __m512d ab = _mm512_permutex2var_pd(a, _mm512_setr_epi64(0, 3, 6, 9, 12, 15, 0, 0), b);
        return _mm512_permutex2var_pd(ab, _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 8 + 2, 8 + 5), c);
    }
    return _mm512_i64gather_pd(places, from, 8);
}

/* Rows ahead that are prefetched: the hardware prefetcher stops at each page, of which there are many. */
enum { FETCHED = 512 };

static inline void prefetch_rows(const double *from, size_t stride) {
    for (size_t line = 0; line < stride && line < 8; line++) /* strides of one measure at few gates */
        _mm_prefetch((const void *)((uintptr_t)from + 8 * FETCHED * stride + 64 * line), _MM_HINT_T1);
}

/* Items and buckets of n rows, a multiple of 8. Returns the lanes that held a key which is not allowed. */
static __mmask8 place(uint64_t *items, uint32_t *buckets, const vg_bucket_map *map, const vg_rank_rows *rows,
                      size_t first, size_t n) {
    const vg_rank_column *column = &rows->column;
    const size_t stride = column->measure.stride;
    const double *values = column->measure.values, *less = column->less, *plus = column->plus;
    const uint8_t *error = rows->errors + first;
    const __m512i high = _mm512_set1_epi64(INT64_MIN), below = _mm512_set1_epi64((long long)map->below);
    const __m512i flip = _mm512_set1_epi64(column->measure.certainty ? -1 : 0), one = _mm512_set1_epi64(1);
    const __m512i places =
        _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64((long long)stride));
    const __m512i least = _mm512_set1_epi64((long long)map->least), most = _mm512_set1_epi64((long long)map->most);
    const __m512i allowed = _mm512_set1_epi64((long long)map->allowed);
    const __m512i allowed_span = _mm512_set1_epi64((long long)map->allowed_span);
    const __m128i shift = _mm_cvtsi32_si128((int)map->shift);
    __mmask8 unfit = 0;
    for (size_t i = 0, at = first * stride; i < n; i += 8, at += 8 * stride) {
        prefetch_rows(values + at, stride);
        __m512d x = every(values + at, stride, places);
        if (less) {
            prefetch_rows(less + at, stride);
            /* keeps a NaN */
            x = _mm512_max_pd(_mm512_setzero_pd(), _mm512_sub_pd(x, every(less + at, stride, places)));
        }
        if (column->complement)
            x = _mm512_sub_pd(_mm512_set1_pd(1), x);
        if (plus) {
            prefetch_rows(plus + at, stride);
            x = _mm512_add_pd(x, every(plus + at, stride, places));
        }
        x = _mm512_add_pd(x, _mm512_setzero_pd()); /* -0 and 0 share a key */
        __m512i bits = _mm512_castpd_si512(x);
        /* bits ^ (sign | high) */
        __m512i key = _mm512_ternarylogic_epi64(bits, _mm512_srai_epi64(bits, 63), high, 0x1e);
        key = _mm512_xor_si512(key, flip);
        unfit |= _mm512_cmpgt_epu64_mask(_mm512_sub_epi64(key, allowed), allowed_span);
        __m512i inside = _mm512_sub_epi64(_mm512_min_epu64(_mm512_max_epu64(key, least), most), least);
        __m512i cell = _mm512_i64gather_epi64(_mm512_srl_epi64(inside, shift), map->cells, sizeof *map->cells);
        __m512i part = _mm512_srlv_epi64(_mm512_and_si512(inside, below), _mm512_srli_epi64(cell, 32));
        _mm256_storeu_si256((__m256i *)(void *)(buckets + i), _mm512_cvtepi64_epi32(_mm512_add_epi64(cell, part)));
        __m512i marks = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(error + i)));
        __m512i item = _mm512_add_epi64(key, key);
        item = _mm512_mask_or_epi64(item, _mm512_test_epi64_mask(marks, marks), item, one);
        _mm512_storeu_si512(items + i, item);
    }
    return unfit;
}

static bool gather_rows(vg_rank_room *room, const vg_bucket_map *map, const vg_rank_rows *rows, size_t first,
                        size_t last) {
    uint64_t items[VG_ROW_BATCH];
    uint32_t buckets[VG_ROW_BATCH];
    __mmask8 unfit = 0;
    size_t i = first, stop = rows->error_stride == 1 ? last - (last - first) % 8 : first;
    for (size_t n; i < stop; i += n) {
        n = stop - i < VG_ROW_BATCH ? stop - i : (size_t)VG_ROW_BATCH;
        unfit |= place(items, buckets, map, rows, i, n);
        for (size_t j = 0; j < n; j++)
            vg_evaluate__append(room, buckets[j], items[j]);
        for (size_t j = 0; room->bucket_of && j < n; j++)
            room->bucket_of[i + j] = (uint16_t)buckets[j];
    }
    return vg_evaluate__rows_plain.gather_rows(room, map, rows, i, last) && !unfit;
}

/* Sums within quarters of 8, then over the quarters, then the total of the previous vectors. */
static void prefix_sums(uint16_t *cells, size_t count) {
    const __m512i last = _mm512_set1_epi16(0x0f0e), zero = _mm512_setzero_si512();
    __m512i before = zero;
    if (count % 32) {
        vg_evaluate__rows_plain.prefix_sums(cells, count);
        return;
    }
    for (size_t c = 0; c < count; c += 32) {
        __m512i own = _mm512_loadu_si512(cells + c), sum = own;
        sum = _mm512_add_epi16(sum, _mm512_bslli_epi128(sum, 2));
        sum = _mm512_add_epi16(sum, _mm512_bslli_epi128(sum, 4));
        sum = _mm512_add_epi16(sum, _mm512_bslli_epi128(sum, 8));
        __m512i quarter = _mm512_shuffle_epi8(sum, last), lower = _mm512_alignr_epi64(quarter, zero, 6);
        lower = _mm512_add_epi16(lower, _mm512_alignr_epi64(lower, zero, 6));
        lower = _mm512_add_epi16(lower, _mm512_alignr_epi64(lower, zero, 4));
        lower = _mm512_add_epi16(lower, before);
        _mm512_storeu_si512(cells + c, _mm512_add_epi16(_mm512_sub_epi16(sum, own), lower));
        lower = _mm512_add_epi16(lower, quarter);
        before = _mm512_shuffle_i64x2(lower, lower, 0xff);
    }
}

static size_t find_errors(uint32_t *where, bool *tied, const uint64_t *items, size_t n, uint32_t first) {
    const __m512i one = _mm512_set1_epi64(1);
    __m256i place = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32((int)first));
    size_t found = 0, i = 0;
    __mmask8 close = 0;
    for (; i + 9 <= n; i += 8) { /* eight and the one after them */
        __m512i own = _mm512_loadu_si512(items + i), next = _mm512_loadu_si512(items + i + 1);
        __mmask8 here = _mm512_test_epi64_mask(own, one);
        close |= _mm512_cmple_epu64_mask(_mm512_xor_si512(own, next), one);
        _mm256_storeu_si256((__m256i *)(void *)(where + found), _mm256_maskz_compress_epi32(here, place));
        found += (size_t)__builtin_popcount(here);
        place = _mm256_add_epi32(place, _mm256_set1_epi32(8));
    }
    found += vg_evaluate__rows_plain.find_errors(where + found, tied, items + i, n - i, first + (uint32_t)i);
    *tied |= close != 0;
    return found;
}

/* Most vectors hold no tie. */
static size_t find_ties(vg_rank_tie *ties, const uint64_t *items, size_t n) {
    const __m512i one = _mm512_set1_epi64(1);
    size_t found = 0, i = 0;
    unsigned errors = 0;
    for (; i + 9 <= n; i += 8) {
        __m512i own = _mm512_loadu_si512(items + i), next = _mm512_loadu_si512(items + i + 1);
        unsigned wrong = _mm512_test_epi64_mask(own, one);
        for (unsigned close = _mm512_cmple_epu64_mask(_mm512_xor_si512(own, next), one); close; close &= close - 1) {
            unsigned lane = (unsigned)__builtin_ctz(close), below = wrong & ((1u << lane) - 1);
            ties[found++] = (vg_rank_tie){(uint32_t)i + lane, errors + (unsigned)__builtin_popcount(below)};
        }
        errors += (unsigned)__builtin_popcount(wrong);
    }
    size_t rest = vg_evaluate__rows_plain.find_ties(ties + found, items + i, n - i);
    for (size_t j = found; j < found + rest; j++)
        ties[j] = (vg_rank_tie){ties[j].item + (uint32_t)i, ties[j].errors + errors};
    return found + rest;
}

static inline __mmask8 lanes(size_t left) { return (__mmask8)(left < 8 ? (1u << left) - 1 : 0xff); }

/* Sorts neighbours 0 and 1, 2 and 3, ... */
static inline __m512i exchange(__m512i v) {
    __m512i other = _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)0x4e);
    return _mm512_mask_max_epu64(_mm512_min_epu64(v, other), 0xaa, v, other);
}

/* Sorts neighbours 0 and 1 of all items, then 1 and 2, then 0 and 1 again, in one pass: any three adjacent items
 * that only have to be exchanged among themselves are then in order. */
static void settle(uint64_t *items, size_t n) {
    const __m512i most = _mm512_set1_epi64(-1);
    __m512i even = exchange(_mm512_mask_loadu_epi64(most, lanes(n), items));
    __m512i before = _mm512_alignr_epi64(even, most, 1); /* its last is the first item */
    for (size_t i = 0; i < n; i += 8) {
        __m512i next = most;
        if (n - i > 8)
            next = exchange(_mm512_mask_loadu_epi64(most, lanes(n - i - 8), items + i + 8));
        __m512i odd = exchange(_mm512_alignr_epi64(next, even, 1));
        _mm512_mask_storeu_epi64(items + i, lanes(n - i), exchange(_mm512_alignr_epi64(odd, before, 7)));
        before = odd;
        even = next;
    }
}

/* The first of items[i .. n - 1] that is below the one before it; n when there is none. */
static inline size_t first_below(const uint64_t *items, size_t i, size_t n) {
    for (; i < n; i += 8) {
        __mmask8 here = lanes(n - i);
        __m512i own = _mm512_maskz_loadu_epi64(here, items + i), before = _mm512_maskz_loadu_epi64(here, items + i - 1);
        __mmask8 below = _mm512_cmplt_epu64_mask(own, before);
        if (below)
            return i + (size_t)__builtin_ctz(below);
    }
    return n;
}

static bool fix_bucket_order(uint64_t *items, size_t n, size_t most) {
    size_t moves = 0;
    settle(items, n);
    for (size_t i = first_below(items, 1, n); i < n && moves <= most; i = first_below(items, i + 1, n))
        moves += vg_evaluate__insert(items, i);
    return moves <= most;
}

/* Four at a time, as many as there are partial sums. Single loads, because a gather is not faster. */
static uint64_t walk(double sums[8], const uint32_t *before, size_t n, const double *tail, double left, double all) {
    __m256d aurc = _mm256_loadu_pd(sums), precision = _mm256_loadu_pd(sums + 4), rows = _mm256_set1_pd(all);
    __m256d errors = _mm256_setr_pd(left, left - 1, left - 2, left - 3);
    __m256i places = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const uint32_t *own = before + i;
        __m256i b = _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)(const void *)own));
        aurc = _mm256_add_pd(aurc, _mm256_setr_pd(tail[own[0]], tail[own[1]], tail[own[2]], tail[own[3]]));
        precision = _mm256_add_pd(precision, _mm256_div_pd(errors, _mm256_sub_pd(rows, _mm256_cvtepi64_pd(b))));
        places = _mm256_add_epi64(places, b);
        errors = _mm256_sub_pd(errors, _mm256_set1_pd(4));
    }
    if (i < n) { /* adding 0 changes no sum */
        __mmask8 rest = lanes(n - i);
        __m128i own = _mm_maskz_loadu_epi32(rest, before + i);
        __m256i b = _mm256_cvtepu32_epi64(own);
        __m256d ratio = _mm256_div_pd(errors, _mm256_sub_pd(rows, _mm256_cvtepi64_pd(b)));
        aurc = _mm256_add_pd(aurc, _mm256_mmask_i64gather_pd(_mm256_setzero_pd(), rest, b, tail, 8));
        precision = _mm256_mask_add_pd(precision, rest, precision, ratio);
        places = _mm256_add_epi64(places, b);
    }
    _mm256_storeu_pd(sums, aurc);
    _mm256_storeu_pd(sums + 4, precision);
    __m128i halves = _mm_add_epi64(_mm256_castsi256_si128(places), _mm256_extracti128_si256(places, 1));
    return (uint64_t)_mm_cvtsi128_si64(halves) + (uint64_t)_mm_extract_epi64(halves, 1);
}

/* The first class of largest mean, leaving out class `without` (SIZE_MAX: none). */
static inline size_t largest(const double *mean, size_t classes, size_t without) {
    const __m512d none = _mm512_set1_pd(-1);
    __m512d most = none;
    for (size_t c = 0; c < classes; c += 8) {
        __mmask8 here = lanes(classes - c) & (__mmask8) ~(without - c < 8 ? 1u << (without - c) : 0);
        most = _mm512_max_pd(most, _mm512_mask_loadu_pd(none, here, mean + c));
    }
    __m512d all = _mm512_set1_pd(_mm512_reduce_max_pd(most));
    for (size_t c = 0;; c += 8) {
        __mmask8 here = lanes(classes - c) & (__mmask8) ~(without - c < 8 ? 1u << (without - c) : 0);
        unsigned found = _mm512_mask_cmp_pd_mask(here, _mm512_maskz_loadu_pd(here, mean + c), all, _CMP_EQ_OQ);
        if (found || c + 8 >= classes)
            return c + (found ? (size_t)__builtin_ctz(found) : 0);
    }
}

/* The larger and the smaller of two lanes' leaders, and of their runners-up, in both lanes. */
#define FOLD(SHUFFLED_HIGH, SHUFFLED_LOW)                                                                              \
    do {                                                                                                               \
        __m512d other = SHUFFLED_HIGH, beaten = SHUFFLED_LOW;                                                          \
        low = _mm512_max_pd(_mm512_min_pd(high, other), _mm512_max_pd(low, beaten));                                   \
        high = _mm512_max_pd(high, other);                                                                             \
    } while (0)

/* The two classes of largest mean among up to 16: the two largest values are reduced over the lanes together. */
static inline void leaders(uint32_t *best, uint32_t *second, const double *mean, size_t classes) {
    const __m512d none = _mm512_set1_pd(-1);
    size_t more = classes > 8 ? classes - 8 : 0;
    __m512d a = _mm512_mask_loadu_pd(none, lanes(classes), mean);
    __m512d b = more ? _mm512_mask_loadu_pd(none, lanes(more), mean + 8) : none;
    __m512d high = _mm512_max_pd(a, b), low = _mm512_min_pd(a, b);
    FOLD(_mm512_shuffle_f64x2(high, high, 0x4e), _mm512_shuffle_f64x2(low, low, 0x4e));
    FOLD(_mm512_shuffle_f64x2(high, high, 0xb1), _mm512_shuffle_f64x2(low, low, 0xb1));
    FOLD(_mm512_permute_pd(high, 0x55), _mm512_permute_pd(low, 0x55));
    unsigned first = _mm512_cmp_pd_mask(a, high, _CMP_EQ_OQ) | (unsigned)_mm512_cmp_pd_mask(b, high, _CMP_EQ_OQ) << 8;
    unsigned next = _mm512_cmp_pd_mask(a, low, _CMP_EQ_OQ) | (unsigned)_mm512_cmp_pd_mask(b, low, _CMP_EQ_OQ) << 8;
    *best = (uint32_t)__builtin_ctz(first);
    next &= ~(1u << *best);
    *second = (uint32_t)__builtin_ctz(next);
}

static void samples(vg_sample_batch *out, const double *mean, const int64_t *labels, size_t n, size_t classes,
                    const double *edges, size_t bins) {
    const __m512d scale = _mm512_set1_pd((double)bins), end = _mm512_set1_pd((double)bins - 0.5);
    const __m512d half = _mm512_set1_pd(0.5), close = _mm512_set1_pd(0.5 - 1e-9), one = _mm512_set1_pd(1);
    const __m512i width = _mm512_set1_epi64((long long)bins), eight = _mm512_slli_epi64(width, 3);
    const __m512i cells_of = _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), width);
    double *gaps = out->gap;
    uint32_t *cells = out->cell;
    for (size_t i = 0; i < n; i++, mean += classes, gaps += classes, cells += classes) {
        size_t label = (size_t)labels[i];
        __m512d brier = _mm512_setzero_pd();
        __m512i first = cells_of;
        for (size_t c = 0; c < classes; c += 8) {
            __mmask8 here = lanes(classes - c), own = (__mmask8)(label - c < 8 ? 1u << (label - c) : 0);
            __m512d p = _mm512_maskz_loadu_pd(here, mean + c), gap = _mm512_mask_sub_pd(p, own, p, one);
            __m512d scaled = _mm512_min_pd(_mm512_mul_pd(p, scale), end);
            __m512i bin = _mm512_cvttpd_epi64(scaled);
            __m512d off = _mm512_abs_pd(_mm512_sub_pd(_mm512_sub_pd(scaled, _mm512_cvtepi64_pd(bin)), half));
            _mm512_mask_storeu_pd(gaps + c, here, gap);
            _mm256_mask_storeu_epi32(cells + c, here, _mm512_cvtepi64_epi32(_mm512_add_epi64(first, bin)));
            first = _mm512_add_epi64(first, eight);
            brier = _mm512_fmadd_pd(gap, gap, brier);
            /* near an edge, the edges themselves decide */
            for (unsigned near = _mm512_mask_cmp_pd_mask(here, off, close, _CMP_GT_OQ); near; near &= near - 1) {
                size_t at = c + (size_t)__builtin_ctz(near);
                cells[at] = (uint32_t)(at * bins + vg_base__bin(edges, bins, mean[at]));
            }
        }
        if (classes <= 16)
            leaders(&out->best[i], &out->second[i], mean, classes);
        else {
            size_t best = largest(mean, classes, SIZE_MAX);
            out->best[i] = (uint32_t)best;
            out->second[i] = (uint32_t)largest(mean, classes, best);
        }
        out->brier[i] = _mm512_reduce_add_pd(brier);
    }
}

static size_t find_out_of_range(const double *values, size_t count, double most) {
    const __m512i limit = _mm512_castpd_si512(_mm512_set1_pd(most));
    for (size_t i = 0; i < count; i += 8) {
        __m512i bits = _mm512_maskz_loadu_epi64(lanes(count - i), values + i);
        if (_mm512_cmpgt_epu64_mask(bits, limit))
            return i;
    }
    return SIZE_MAX;
}

/* Eight rows at a time; a vector holds one class of all of them. */
static void extremes(double *most, double *least, double *sum, const double *p, size_t n, size_t c) {
    const __m512i places =
        _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64((long long)c));
    for (size_t i = 0; i < n; i += 8) {
        __mmask8 some = lanes(n - i);
        const double *row = p + i * c;
        __m512d high = _mm512_mask_i64gather_pd(_mm512_setzero_pd(), some, places, row, 8), low = high, all = high;
        for (size_t j = 1; j < c; j++) {
            __m512d x = _mm512_mask_i64gather_pd(_mm512_setzero_pd(), some, places, row + j, 8);
            high = _mm512_max_pd(high, x);
            low = _mm512_min_pd(low, x);
            all = _mm512_add_pd(all, x);
        }
        _mm512_mask_storeu_pd(most + i, some, high);
        _mm512_mask_storeu_pd(least + i, some, low);
        _mm512_mask_storeu_pd(sum + i, some, all);
    }
}

static void influences(double *rows, const uint8_t *positive, size_t n, const vg_area *a) {
    const __m512d area = _mm512_set1_pd(a->area), positives = _mm512_set1_pd(a->positives);
    const __m512d negatives = _mm512_set1_pd(a->negatives);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m128i marks = _mm_loadl_epi64((const __m128i *)(const void *)(positive + i));
        __mmask8 hit = (__mmask8)_mm_test_epi8_mask(marks, marks);
        __m512d below = _mm512_loadu_pd(rows + i), of = _mm512_mask_blend_pd(hit, positives, negatives);
        __m512d count = _mm512_mask_blend_pd(hit, _mm512_sub_pd(positives, below), below);
        __m512d own = _mm512_mask_blend_pd(hit, negatives, positives);
        _mm512_storeu_pd(rows + i, _mm512_div_pd(_mm512_sub_pd(_mm512_div_pd(count, of), area), own));
    }
    vg_evaluate__rows_plain.influences(rows + i, positive + i, n - i, a);
}

const vg_row_kernels vg_evaluate__rows_avx512 = {
    gather_rows, prefix_sums, fix_bucket_order,  find_errors, find_ties,
    walk,        samples,     find_out_of_range, extremes,    influences};
VG_AVX512_END
#else
typedef int vg_not_x86_rows;
#endif
