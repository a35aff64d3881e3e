/* cpu_winograd_avx512.c - the loops of cpu_winograd.h for AVX-512: 16 channels per register. */
#include "backend/cpu/winograd/cpu_winograd.h"

#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))
#define INLINE static inline __attribute__((always_inline)) TARGET

enum { LANE = VG_WINOGRAD_LANE, M = VG_WINOGRAD_TILE };

/* --- arithmetic */

/* c x + y */
INLINE __m512 plus(float c, __m512 x, __m512 y) { return _mm512_fmadd_ps(_mm512_set1_ps(c), x, y); }
INLINE __m512 sum(__m512 x, __m512 y) { return _mm512_add_ps(x, y); }
INLINE __m512 less(__m512 x, __m512 y) { return _mm512_sub_ps(x, y); }
INLINE __m512 times(float c, __m512 x) { return _mm512_mul_ps(_mm512_set1_ps(c), x); }

/* --- one dimension of 5 x 5 filters: points 0, 1, -1, 1/2, -2, infinity. Element i of x is x[i * xs]. */

/* B^T, 6 to 6. */
INLINE void five_line_bt(__m512 *y, size_t ys, const __m512 *x, size_t xs) {
    __m512 x0 = x[0], x1 = x[xs], x2 = x[2 * xs], x3 = x[3 * xs], x4 = x[4 * xs], x5 = x[5 * xs];
    y[0] = plus(1.5f, less(x3, x1), plus(-2.0f, x2, sum(x0, x4)));
    y[ys] = plus(2.5f, x3, plus(0.5f, x2, less(x4, x1)));
    y[2 * ys] = plus(-2.5f, x2, plus(0.5f, x3, sum(x4, x1)));
    y[3 * ys] = plus(2.0f, less(x3, x1), less(x4, x2));
    y[4 * ys] = plus(-0.5f, less(x3, x1), less(x4, x2));
    y[5 * ys] = plus(1.5f, less(x4, x2), plus(-2.0f, x3, sum(x1, x5)));
}

/* B, 6 to 6. */
INLINE void five_line_b(__m512 *x, size_t xs, const __m512 *y, size_t ys) {
    __m512 y0 = y[0], y1 = y[ys], y2 = y[2 * ys], y3 = y[3 * ys], y4 = y[4 * ys], y5 = y[5 * ys];
    __m512 slope = plus(-2.0f, y3, times(0.5f, y4)), bend = sum(y3, y4);
    x[0] = y0;
    x[xs] = plus(-1.5f, y0, sum(sum(less(y2, y1), slope), y5));
    x[2 * xs] = plus(-2.0f, y0, plus(0.5f, y1, plus(-2.5f, y2, plus(-1.5f, y5, less(_mm512_setzero_ps(), bend)))));
    x[3 * xs] = plus(1.5f, y0, plus(2.5f, y1, plus(0.5f, y2, plus(-2.0f, y5, less(_mm512_setzero_ps(), slope)))));
    x[4 * xs] = plus(1.5f, y5, sum(sum(y0, y1), sum(y2, bend)));
    x[5 * xs] = y5;
}

/* A^T, 6 to 2. */
INLINE void five_line_at(__m512 *y, size_t ys, const __m512 *x, size_t xs) {
    __m512 x1 = x[xs], x2 = x[2 * xs], x3 = x[3 * xs], x4 = x[4 * xs];
    y[0] = sum(sum(x[0], sum(x1, x2)), sum(x3, x4));
    y[ys] = plus(0.5f, x3, plus(-2.0f, x4, sum(less(x1, x2), x[5 * xs])));
}

/* A, 2 to 6. */
INLINE void five_line_a(__m512 *x, size_t xs, const __m512 *y, size_t ys) {
    __m512 y0 = y[0], y1 = y[ys];
    x[0] = y0;
    x[xs] = sum(y0, y1);
    x[2 * xs] = less(y0, y1);
    x[3 * xs] = plus(0.5f, y1, y0);
    x[4 * xs] = plus(-2.0f, y1, y0);
    x[5 * xs] = y1;
}

/* G, 5 to 6. Rows 1 and 2 are the sums at 1 and -1 over 3 and -3; 3 and 4 those at 1/2 and -2 over -15/16 and 15. */
INLINE void five_line_g(__m512 *u, size_t us, const __m512 *g, size_t gs) {
    __m512 g0 = g[0], g1 = g[gs], g2 = g[2 * gs], g3 = g[3 * gs], g4 = g[4 * gs];
    __m512 even = sum(sum(g0, g2), g4), odd = sum(g1, g3);
    __m512 half = plus(0.5f, g1, plus(0.25f, g2, plus(0.125f, g3, plus(0.0625f, g4, g0))));
    __m512 two = plus(-2.0f, g1, plus(4.0f, g2, plus(-8.0f, g3, plus(16.0f, g4, g0))));
    u[0] = g0;
    u[us] = times(1.0f / 3, sum(even, odd));
    u[2 * us] = times(1.0f / 3, less(odd, even));
    u[3 * us] = times(-16.0f / 15, half);
    u[4 * us] = times(1.0f / 15, two);
    u[5 * us] = g4;
}

/* G^T, 6 to 5. */
INLINE void five_line_gt(__m512 *g, size_t gs, const __m512 *u, size_t us) {
    __m512 even = times(1.0f / 3, less(u[us], u[2 * us])), odd = times(1.0f / 3, sum(u[us], u[2 * us]));
    __m512 half = times(-16.0f / 15, u[3 * us]), two = times(1.0f / 15, u[4 * us]);
    g[0] = sum(sum(u[0], even), sum(half, two));
    g[gs] = plus(0.5f, half, plus(-2.0f, two, odd));
    g[2 * gs] = plus(0.25f, half, plus(4.0f, two, even));
    g[3 * gs] = plus(0.125f, half, plus(-8.0f, two, odd));
    g[4 * gs] = plus(0.0625f, half, plus(16.0f, two, sum(even, u[5 * us])));
}

/* --- one dimension of 3 x 3 filters: points 0, 1, -1, infinity */

/* B^T, 4 to 4. */
INLINE void three_line_bt(__m512 *y, size_t ys, const __m512 *x, size_t xs) {
    __m512 x0 = x[0], x1 = x[xs], x2 = x[2 * xs], x3 = x[3 * xs];
    y[0] = less(x2, x0);
    y[ys] = sum(x2, x1);
    y[2 * ys] = less(x2, x1);
    y[3 * ys] = less(x3, x1);
}

/* B, 4 to 4. */
INLINE void three_line_b(__m512 *x, size_t xs, const __m512 *y, size_t ys) {
    __m512 y0 = y[0], y1 = y[ys], y2 = y[2 * ys], y3 = y[3 * ys];
    x[0] = less(_mm512_setzero_ps(), y0);
    x[xs] = less(less(y1, y2), y3);
    x[2 * xs] = sum(sum(y1, y2), y0);
    x[3 * xs] = y3;
}

/* A^T, 4 to 2. */
INLINE void three_line_at(__m512 *y, size_t ys, const __m512 *x, size_t xs) {
    __m512 x1 = x[xs], x2 = x[2 * xs];
    y[0] = sum(x[0], sum(x1, x2));
    y[ys] = sum(x[3 * xs], less(x1, x2));
}

/* A, 2 to 4. */
INLINE void three_line_a(__m512 *x, size_t xs, const __m512 *y, size_t ys) {
    __m512 y0 = y[0], y1 = y[ys];
    x[0] = y0;
    x[xs] = sum(y0, y1);
    x[2 * xs] = less(y0, y1);
    x[3 * xs] = y1;
}

/* G, 3 to 4. */
INLINE void three_line_g(__m512 *u, size_t us, const __m512 *g, size_t gs) {
    __m512 g0 = g[0], g1 = g[gs], g2 = g[2 * gs], even = sum(g0, g2);
    u[0] = less(_mm512_setzero_ps(), g0);
    u[us] = times(0.5f, sum(even, g1));
    u[2 * us] = times(0.5f, less(even, g1));
    u[3 * us] = g2;
}

/* G^T, 4 to 3. */
INLINE void three_line_gt(__m512 *g, size_t gs, const __m512 *u, size_t us) {
    __m512 u1 = u[us], u2 = u[2 * us], even = times(0.5f, sum(u1, u2));
    g[0] = less(even, u[0]);
    g[gs] = times(0.5f, less(u1, u2));
    g[2 * gs] = sum(even, u[3 * us]);
}

/* --- both sizes */

/* Columns of 16 registers become rows. */
INLINE void transpose(__m512 a[16]) {
    __m512 b[16];
    for (int i = 0; i < 16; i += 2) {
        b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
        for (int k = 0; k < 2; k++) {
            __m512d low = _mm512_castps_pd(b[i + k]), high = _mm512_castps_pd(b[i + k + 2]);
            a[i + 2 * k] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, high));
            a[i + 2 * k + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
        }
    for (int i = 0; i < 16; i += 8)
        for (int k = 0; k < 4; k++) {
            b[i + k] = _mm512_shuffle_f32x4(a[i + k], a[i + k + 4], 0x88);
            b[i + k + 4] = _mm512_shuffle_f32x4(a[i + k], a[i + k + 4], 0xdd);
        }
    for (int k = 0; k < 8; k++) {
        a[k] = _mm512_shuffle_f32x4(b[k], b[k + 8], 0x88);
        a[k + 8] = _mm512_shuffle_f32x4(b[k], b[k + 8], 0xdd);
    }
}

#define NAME(name) five_##name
#define SIDE 6
#define R 5
#include "backend/cpu/winograd/cpu_winograd_body.h"
#undef NAME
#undef SIDE
#undef R

#define NAME(name) three_##name
#define SIDE 4
#define R 3
#include "backend/cpu/winograd/cpu_winograd_body.h"
#undef NAME
#undef SIDE
#undef R

/* --- products */

/* 8 rows x 32 columns in 16 registers. a_row, a_k: distances between rows and between k. */
INLINE void product_8(float *c, const float *a, const float *b, const vg_winograd_product *shape, size_t a_row,
                      size_t a_k) {
    const size_t blocks = shape->blocks, count = shape->count, a_block = shape->a_block;
    const bool add = shape->add;
    __m512 left[VG_WINOGRAD_ROWS], right[VG_WINOGRAD_ROWS];
    for (int i = 0; i < VG_WINOGRAD_ROWS; i++) {
        left[i] = add ? _mm512_loadu_ps(c + i * LANE) : _mm512_setzero_ps();
        right[i] = add ? _mm512_loadu_ps(c + i * LANE + 16) : _mm512_setzero_ps();
    }
    for (size_t block = 0; block < blocks; block++, a += a_block) {
        const float *x = a;
        for (size_t k = 0; k < count; k++, b += LANE, x += a_k) {
            __m512 b0 = _mm512_loadu_ps(b), b1 = _mm512_loadu_ps(b + 16);
#define ROW(i)                                                                                                         \
    {                                                                                                                  \
        __m512 v = _mm512_set1_ps(x[(i)*a_row]);                                                                       \
        left[i] = _mm512_fmadd_ps(v, b0, left[i]);                                                                     \
        right[i] = _mm512_fmadd_ps(v, b1, right[i]);                                                                   \
    }
            ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7)
#undef ROW
        }
    }
    for (int i = 0; i < VG_WINOGRAD_ROWS; i++) {
        _mm512_storeu_ps(c + i * LANE, left[i]);
        _mm512_storeu_ps(c + i * LANE + 16, right[i]);
    }
}

static TARGET void product(float *c, const float *a, const float *b, const vg_winograd_product *shape) {
    for (size_t row = 0; row < shape->rows; row += VG_WINOGRAD_ROWS)
        if (shape->across)
            product_8(c + row * LANE, a + row, b, shape, 1, LANE);
        else
            product_8(c + row * LANE, a + row * LANE, b, shape, LANE, 1);
}

static const vg_winograd_kernels five = {36,           5,           five_input,       five_output, five_gradient,
                                         five_scatter, five_filter, five_filter_back, product};
static const vg_winograd_kernels three = {
    16, 3, three_input, three_output, three_gradient, three_scatter, three_filter, three_filter_back, product};

const vg_winograd_kernels *vg_winograd__kernels(size_t filter) {
    if (vg_base__cpu_tier() != VG_TIER_AVX512)
        return NULL;
    return filter == 5 ? &five : filter == 3 ? &three : NULL;
}
#else
const vg_winograd_kernels *vg_winograd__kernels(size_t filter) {
    (void)filter;
    return NULL;
}
#endif
