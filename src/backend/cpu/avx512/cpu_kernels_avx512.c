/* cpu_kernels_avx512.c - the most frequent loops written for AVX-512 and channel blocks of 16; every other case goes to
 * the template's version.
 *
 * What the compiler does not generate by itself: Philox on 16 counters at once with its words transposed in registers,
 * pooling winners as one byte per channel, masks directly from 16-bit lanes, the processor's own conversion to
 * bfloat16, and non-temporal stores of the pooled maps' gradients (they are larger than the caches and are read once,
 * much later). */
#include "backend/cpu/cpu_accelerators.h"

void vg_cpu__improve_avx512(vg_cpu_kernels *kernels, const vg_cpu_kernels *template);

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16,avx2,fma")))
#define TARGET_PLAIN __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))
#define INLINE static inline __attribute__((always_inline))

/* The template's kernels, for the cases not handled here. */
static const vg_cpu_kernels *general;

/* --- Philox on 16 counters */

INLINE TARGET_PLAIN void multiply(__m512i x, __m512i factor, __m512i *low, __m512i *high) {
    __m512i even = _mm512_mul_epu32(x, factor), odd = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), factor);
    *low = _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
    *high = _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
}

static TARGET_PLAIN void lanes(uint16_t *out, const vg_cpu_draw *draw, size_t groups) {
    const uint64_t seed = draw->seed, row = draw->row;
    const uint32_t step = draw->step, first = draw->first, stride = draw->stride, per = draw->per;
    if (per > 2 || groups % 16) {
        general->lanes(out, draw, groups);
        return;
    }
    /* Element e works on group 4 (e % 4) + e / 4: after the transposition below, groups come out in order. */
    const __m512i group = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i f0 = _mm512_set1_epi64(0xD2511F53), f1 = _mm512_set1_epi64(0xCD9E8D57);
    uint32_t high = ((uint32_t)(row >> 32) & 0xFFFFFFu) | draw->stream << 24;
    for (size_t g = 0; g < groups; g += 16) {
        __m512i at = _mm512_add_epi32(group, _mm512_set1_epi32((int)g)), x0;
        if (per == 1)
            x0 =
                _mm512_add_epi32(_mm512_set1_epi32((int)first), _mm512_mullo_epi32(at, _mm512_set1_epi32((int)stride)));
        else
            x0 = _mm512_add_epi32(
                _mm512_add_epi32(_mm512_set1_epi32((int)first), _mm512_and_si512(at, _mm512_set1_epi32(1))),
                _mm512_mullo_epi32(_mm512_srli_epi32(at, 1), _mm512_set1_epi32((int)stride)));
        __m512i x1 = _mm512_set1_epi32((int)(uint32_t)row), x2 = _mm512_set1_epi32((int)step),
                x3 = _mm512_set1_epi32((int)high);
        uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
        for (int round = 0; round < 10; round++) {
            __m512i l0, h0, l1, h1;
            multiply(x0, f0, &l0, &h0);
            multiply(x2, f1, &l1, &h1);
            x0 = _mm512_ternarylogic_epi32(h1, x1, _mm512_set1_epi32((int)k0), 0x96);
            x2 = _mm512_ternarylogic_epi32(h0, x3, _mm512_set1_epi32((int)k1), 0x96);
            x1 = l1;
            x3 = l0;
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        __m512i t0 = _mm512_unpacklo_epi32(x0, x1), t1 = _mm512_unpackhi_epi32(x0, x1);
        __m512i t2 = _mm512_unpacklo_epi32(x2, x3), t3 = _mm512_unpackhi_epi32(x2, x3);
        _mm512_storeu_si512(out + g * 8, _mm512_unpacklo_epi64(t0, t2));
        _mm512_storeu_si512(out + g * 8 + 32, _mm512_unpackhi_epi64(t0, t2));
        _mm512_storeu_si512(out + g * 8 + 64, _mm512_unpacklo_epi64(t1, t3));
        _mm512_storeu_si512(out + g * 8 + 96, _mm512_unpackhi_epi64(t1, t3));
    }
}

/* --- 16 channels of a position */

INLINE TARGET __m512 get(const void *data, size_t i, bool bf16) {
    if (!bf16)
        return _mm512_loadu_ps((const float *)data + i);
    __m256i half = _mm256_loadu_si256((const void *)((const uint16_t *)data + i));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

INLINE TARGET __m256i to_bf16(__m512 v) { return (__m256i)_mm512_cvtneps_pbh(v); }

INLINE TARGET void put(void *data, size_t i, __m512 v, bool bf16) {
    if (!bf16)
        _mm512_storeu_ps((float *)data + i, v);
    else
        _mm256_storeu_si256((void *)((uint16_t *)data + i), to_bf16(v));
}

INLINE TARGET __mmask16 kept(vg_cpu_mask mask, size_t i) {
    return _mm256_cmpge_epu16_mask(_mm256_loadu_si256((const void *)(mask.lanes + i)),
                                   _mm256_set1_epi16((short)mask.threshold));
}

/* Where v is larger than the largest so far. A NaN is the largest, so that the loss shows it. */
INLINE TARGET __mmask16 larger(__m512 v, __m512 best) {
    return _mm512_cmp_ps_mask(v, best, _CMP_GT_OQ) | _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
}

INLINE TARGET void forward2(const vg_cpu_window *g, const vg_cpu_pooling_row *row, bool bf16) {
    void *y = row->y;
    uint8_t *choice = row->choice;
    const void *x = row->x;
    const vg_cpu_mask mask = row->mask;
    const __m512 b = _mm512_loadu_ps(row->bias), zero = _mm512_setzero_ps(), scale = _mm512_set1_ps(mask.scale);
    const __m512i one = _mm512_set1_epi32(1), two = _mm512_set1_epi32(2), three = _mm512_set1_epi32(3);
    size_t below = g->in_width * 16;
    for (size_t q = 0; q < g->width; q++) {
        size_t at = q * 32, i = q * 16;
        __m512 best = get(x, at, bf16), v = get(x, at + 16, bf16);
        __mmask16 m = larger(v, best);
        __m512i winner = _mm512_maskz_mov_epi32(m, one);
        best = _mm512_mask_mov_ps(best, m, v);
        v = get(x, at + below, bf16);
        m = larger(v, best);
        winner = _mm512_mask_mov_epi32(winner, m, two);
        best = _mm512_mask_mov_ps(best, m, v);
        v = get(x, at + below + 16, bf16);
        m = larger(v, best);
        winner = _mm512_mask_mov_epi32(winner, m, three);
        best = _mm512_add_ps(_mm512_mask_mov_ps(best, m, v), b);
        if (g->relu) /* A NaN is kept: max returns its second operand then. */
            best = _mm512_max_ps(zero, best);
        if (mask.lanes)
            best = _mm512_maskz_mul_ps(kept(mask, i), best, scale);
        put(y, i, best, bf16);
        if (choice)
            _mm_storeu_si128((void *)(choice + i), _mm512_cvtepi32_epi8(winner));
    }
}

INLINE TARGET void backward2(const vg_cpu_window *g, const vg_cpu_pooling_back *row, bool bf16) {
    void *dx = row->dx;
    float *sums = row->sums;
    const void *dy = row->dy, *y = row->y;
    const uint8_t *choice = row->choice;
    const vg_cpu_mask mask = row->mask;
    const __m512 zero = _mm512_setzero_ps(), scale = _mm512_set1_ps(mask.scale);
    __m512 sum = _mm512_loadu_ps(sums);
    size_t below = g->in_width * 16;
    bool aligned = ((uintptr_t)dx & 63) == 0 && below % 32 == 0;
    for (size_t q = 0; q < g->width; q++) {
        size_t i = q * 16, at = q * 32;
        __m512 d = get(dy, i, bf16);
        d = mask.lanes ? _mm512_maskz_mul_ps(kept(mask, i), d, scale) : _mm512_mul_ps(d, scale);
        if (g->relu)
            d = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(get(y, i, bf16), zero, _CMP_GT_OQ), d);
        sum = _mm512_add_ps(sum, d);
        __m128i c = _mm_loadu_si128((const void *)(choice + i));
        __m512 e0 = _mm512_maskz_mov_ps(_mm_cmpeq_epi8_mask(c, _mm_setzero_si128()), d);
        __m512 e1 = _mm512_maskz_mov_ps(_mm_cmpeq_epi8_mask(c, _mm_set1_epi8(1)), d);
        __m512 e2 = _mm512_maskz_mov_ps(_mm_cmpeq_epi8_mask(c, _mm_set1_epi8(2)), d);
        __m512 e3 = _mm512_maskz_mov_ps(_mm_cmpeq_epi8_mask(c, _mm_set1_epi8(3)), d);
        if (bf16 && aligned) {
            uint16_t *to = (uint16_t *)dx + at;
            _mm512_stream_si512((void *)to, _mm512_inserti64x4(_mm512_castsi256_si512(to_bf16(e0)), to_bf16(e1), 1));
            _mm512_stream_si512((void *)(to + below),
                                _mm512_inserti64x4(_mm512_castsi256_si512(to_bf16(e2)), to_bf16(e3), 1));
        } else if (aligned) {
            float *to = (float *)dx + at;
            _mm512_stream_ps(to, e0);
            _mm512_stream_ps(to + 16, e1);
            _mm512_stream_ps(to + below, e2);
            _mm512_stream_ps(to + below + 16, e3);
        } else {
            put(dx, at, e0, bf16);
            put(dx, at + 16, e1, bf16);
            put(dx, at + below, e2, bf16);
            put(dx, at + below + 16, e3, bf16);
        }
    }
    _mm512_storeu_ps(sums, sum);
    _mm_sfence();
}

static TARGET void pooling_forward(const vg_cpu_window *g, const vg_cpu_pooling_row *row) {
    if (g->b != 16 || g->pool != 2 || row->mask.threshold > 65535)
        general->pooling_forward(g, row);
    else if (g->bf16)
        forward2(g, row, true);
    else
        forward2(g, row, false);
}

static TARGET void pooling_backward(const vg_cpu_window *g, const vg_cpu_pooling_back *row) {
    if (g->b != 16 || g->pool != 2 || row->mask.threshold > 65535)
        general->pooling_backward(g, row);
    else if (g->bf16)
        backward2(g, row, true);
    else
        backward2(g, row, false);
}

/* --- batch-norm */

/* x of position i / 16 under the mask. */
INLINE TARGET __m512 dropped(const void *x, size_t i, bool bf16, vg_cpu_mask mask) {
    __m512 v = get(x, i, bf16);
    return mask.lanes ? _mm512_maskz_mul_ps(kept(mask, i), v, _mm512_set1_ps(mask.scale)) : v;
}

INLINE TARGET void sum_body(float *sums, const vg_cpu_norm_run *run, bool bf16) {
    const void *x = run->x;
    const vg_cpu_mask mask = run->mask;
    const size_t count = run->count;
    __m512 a = _mm512_loadu_ps(sums), b = _mm512_setzero_ps();
    size_t k = 0;
    for (; k + 2 <= count; k += 2) {
        a = _mm512_add_ps(a, dropped(x, k * 16, bf16, mask));
        b = _mm512_add_ps(b, dropped(x, k * 16 + 16, bf16, mask));
    }
    if (k < count)
        a = _mm512_add_ps(a, dropped(x, k * 16, bf16, mask));
    _mm512_storeu_ps(sums, _mm512_add_ps(a, b));
}

INLINE TARGET void squares_body(float *squares, const vg_cpu_norm_run *run, bool bf16) {
    const void *x = run->x;
    const vg_cpu_mask mask = run->mask;
    const size_t count = run->count;
    __m512 a = _mm512_loadu_ps(squares), b = _mm512_setzero_ps(), m = _mm512_loadu_ps(run->mean);
    size_t k = 0;
    for (; k + 2 <= count; k += 2) {
        __m512 d = _mm512_sub_ps(dropped(x, k * 16, bf16, mask), m),
               e = _mm512_sub_ps(dropped(x, k * 16 + 16, bf16, mask), m);
        a = _mm512_fmadd_ps(d, d, a);
        b = _mm512_fmadd_ps(e, e, b);
    }
    if (k < count) {
        __m512 d = _mm512_sub_ps(dropped(x, k * 16, bf16, mask), m);
        a = _mm512_fmadd_ps(d, d, a);
    }
    _mm512_storeu_ps(squares, _mm512_add_ps(a, b));
}

INLINE TARGET void affine_body(const vg_cpu_norm_run *run, bool bf16) {
    void *y = run->out;
    const void *x = run->x;
    const vg_cpu_mask mask = run->mask;
    const size_t count = run->count;
    const bool relu = run->relu;
    const __m512 scale = _mm512_loadu_ps(run->a), shift = _mm512_loadu_ps(run->c), zero = _mm512_setzero_ps();
    for (size_t k = 0; k < count; k++) {
        __m512 v = _mm512_fmadd_ps(dropped(x, k * 16, bf16, mask), scale, shift);
        put(y, k * 16, relu ? _mm512_max_ps(zero, v) : v, bf16);
    }
}

/* dy where the ReLU's input was positive, else 0. */
INLINE TARGET __m512 passed(const void *dy, size_t i, __m512 v, __m512 a, __m512 c, bool bf16, bool relu) {
    __m512 d = get(dy, i, bf16);
    if (!relu)
        return d;
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(_mm512_fmadd_ps(v, a, c), _mm512_setzero_ps(), _CMP_GT_OQ), d);
}

INLINE TARGET void norm_sums_body(float *dbeta, float *dgamma, const vg_cpu_norm_run *run, bool bf16) {
    const void *dy = run->dy, *x = run->x;
    const vg_cpu_mask mask = run->mask;
    const size_t count = run->count;
    const bool relu = run->relu;
    const __m512 va = _mm512_loadu_ps(run->a), vc = _mm512_loadu_ps(run->c), m = _mm512_loadu_ps(run->mean);
    const __m512 inv = _mm512_loadu_ps(run->inverse);
    __m512 beta = _mm512_loadu_ps(dbeta), gamma = _mm512_loadu_ps(dgamma);
    for (size_t k = 0; k < count; k++) {
        __m512 v = dropped(x, k * 16, bf16, mask), d = passed(dy, k * 16, v, va, vc, bf16, relu);
        beta = _mm512_add_ps(beta, d);
        gamma = _mm512_fmadd_ps(d, _mm512_mul_ps(_mm512_sub_ps(v, m), inv), gamma);
    }
    _mm512_storeu_ps(dbeta, beta);
    _mm512_storeu_ps(dgamma, gamma);
}

INLINE TARGET void norm_apply_body(const vg_cpu_norm_run *run, bool bf16) {
    void *dx = run->out;
    const void *dy = run->dy, *x = run->x, *addend = run->addend;
    const vg_cpu_mask mask = run->mask;
    const size_t count = run->count;
    const bool relu = run->relu;
    const __m512 va = _mm512_loadu_ps(run->a), vc = _mm512_loadu_ps(run->c), ve = _mm512_loadu_ps(run->e);
    const __m512 vf = _mm512_loadu_ps(run->f);
    for (size_t k = 0; k < count; k++) {
        __m512 v = dropped(x, k * 16, bf16, mask), d = passed(dy, k * 16, v, va, vc, bf16, relu);
        d = _mm512_fmadd_ps(va, d, _mm512_fmadd_ps(ve, v, vf));
        if (mask.lanes)
            d = _mm512_maskz_mul_ps(kept(mask, k * 16), d, _mm512_set1_ps(mask.scale));
        if (addend)
            d = _mm512_add_ps(d, get(addend, k * 16, bf16));
        put(dx, k * 16, d, bf16);
    }
}

/* Other channel blocks, and a dropout probability that rounds to 1, go to the template. */
INLINE bool is_special(const vg_cpu_norm_run *run) { return run->b == 16 && run->mask.threshold <= 65535; }

static TARGET void sum(float *sums, const vg_cpu_norm_run *run) {
    if (!is_special(run))
        general->sum(sums, run);
    else if (run->bf16)
        sum_body(sums, run, true);
    else
        sum_body(sums, run, false);
}

static TARGET void squares(float *out, const vg_cpu_norm_run *run) {
    if (!is_special(run))
        general->squares(out, run);
    else if (run->bf16)
        squares_body(out, run, true);
    else
        squares_body(out, run, false);
}

static TARGET void affine(const vg_cpu_norm_run *run) {
    if (!is_special(run))
        general->affine(run);
    else if (run->bf16)
        affine_body(run, true);
    else
        affine_body(run, false);
}

static TARGET void norm_sums(float *dbeta, float *dgamma, const vg_cpu_norm_run *run) {
    if (!is_special(run))
        general->norm_sums(dbeta, dgamma, run);
    else if (run->bf16)
        norm_sums_body(dbeta, dgamma, run, true);
    else
        norm_sums_body(dbeta, dgamma, run, false);
}

static TARGET void norm_apply(const vg_cpu_norm_run *run) {
    if (!is_special(run))
        general->norm_apply(run);
    else if (run->bf16)
        norm_apply_body(run, true);
    else
        norm_apply_body(run, false);
}

/* --- other loops */

static TARGET void copy_masked(void *y, const void *x, size_t count, bool bf16, vg_cpu_mask mask) {
    const __m512 scale = _mm512_set1_ps(mask.scale);
    if (count % 16 || mask.threshold > 65535) {
        general->copy_masked(y, x, count, bf16, mask);
        return;
    }
    for (size_t i = 0; i < count; i += 16)
        if (bf16)
            put(y, i, _mm512_maskz_mul_ps(kept(mask, i), get(x, i, true), scale), true);
        else
            put(y, i, _mm512_maskz_mul_ps(kept(mask, i), get(x, i, false), scale), false);
}

static TARGET void add(void *y, const void *x, size_t count, bool bf16) {
    if (!bf16 || count % 16) {
        general->add(y, x, count, bf16);
        return;
    }
    for (size_t i = 0; i < count; i += 16)
        put(y, i, _mm512_add_ps(get(y, i, true), get(x, i, true)), true);
}

static TARGET void to_bf16_all(uint16_t *to, const float *from, size_t count) {
    size_t i = 0;
    for (; i + 16 <= count; i += 16)
        _mm256_storeu_si256((void *)(to + i), to_bf16(_mm512_loadu_ps(from + i)));
    general->to_bf16(to + i, from + i, count - i);
}

/* By cpuid itself (leaf 7.1: eax bit 5): not every compiler's library has what __builtin_cpu_supports calls. */
static bool has_bf16(void) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 5);
}

void vg_cpu__improve_avx512(vg_cpu_kernels *kernels, const vg_cpu_kernels *template) {
    general = template;
    kernels->lanes = lanes;
    if (has_bf16()) {
        kernels->pooling_forward = pooling_forward;
        kernels->pooling_backward = pooling_backward;
        kernels->to_bf16 = to_bf16_all;
        kernels->sum = sum;
        kernels->squares = squares;
        kernels->affine = affine;
        kernels->norm_sums = norm_sums;
        kernels->norm_apply = norm_apply;
        kernels->copy_masked = copy_masked;
        kernels->add = add;
    }
}
#else
void vg_cpu__improve_avx512(vg_cpu_kernels *kernels, const vg_cpu_kernels *template) {
    (void)kernels;
    (void)template;
}
#endif
