/* pairwise.c - EPJS pair by pair, float32, hand-vectorised.
 *
 *     EPJS = 1/M sum_m h(p_m) - 1/M^2 sum_{m,n} h((p_m + p_n)/2),   h(x) = sum_c x ln x,
 *
 * with half of the ordered pairs by symmetry. Lanes are samples: a tile of as many samples as a vector has lanes is
 * transposed to t[c][m][lane], so that a class of a tile lies in the first-level cache and a pair is one load, one
 * addition and one logarithm, a degree-7 polynomial on mantissa and exponent (2e-7). pairwise_body.h is compiled once
 * per vector width. */
#include "pairwise.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct pairwise_job {
    double *epjs;
    const float *p;
    const shape *s;
    float *tiles; /* threads tiles of m * c * lanes */
} pairwise_job;

enum { ROWS = 4 };
#define TINY 1e-30f /* added to every probability, so that no logarithm meets 0 */

#if defined(__x86_64__)
#include <immintrin.h>

#define LANES 16
#define NAME(x) x##_avx512
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma")))
#define FMA(a, b, c) ((vec)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
/* Mantissa in [1, 2), exponent as a float. */
#define SPLIT(mantissa, exponent, x)                                                                                   \
    (mantissa) = (vec)_mm512_getmant_ps((__m512)(x), _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero);                           \
    (exponent) = (vec)_mm512_getexp_ps((__m512)(x))
#include "pairwise_body.h"
#undef LANES
#undef NAME
#undef TARGET
#undef FMA
#undef SPLIT

#define LANES 8
#define NAME(x) x##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define FMA(a, b, c) ((vec)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define SPLIT(mantissa, exponent, x)                                                                                   \
    (mantissa) = (vec)(((ivec)(x)&0x7fffff) | 0x3f800000);                                                             \
    (exponent) = (vec)_mm256_cvtepi32_ps((__m256i)(((ivec)(x) >> 23) - 127))
#include "pairwise_body.h"
#undef LANES
#undef NAME
#undef TARGET
#undef FMA
#undef SPLIT
#endif

#define LANES 4
#define NAME(x) x##_portable
#define TARGET
#define FMA(a, b, c) ((a) * (b) + (c))
#define SPLIT(mantissa, exponent, x)                                                                                   \
    (mantissa) = (vec)(((ivec)(x)&0x7fffff) | 0x3f800000);                                                             \
    (exponent) = __builtin_convertvector(((ivec)(x) >> 23) - 127, vec)
#include "pairwise_body.h"

typedef struct pairwise_kernel {
    const char *name;
    size_t lanes;
    thread_fn part;
} pairwise_kernel;

static pairwise_kernel choose(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return (pairwise_kernel){"avx512", 16, part_avx512};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (pairwise_kernel){"avx2", 8, part_avx2};
#endif
    return (pairwise_kernel){"portable", 4, part_portable};
}

const char *pairwise_tier(void) { return choose().name; }

int pairwise_epjs(double *epjs, const float *p, const shape *s) {
    pairwise_kernel kernel = choose();
    size_t floats = s->m * s->c * kernel.lanes;
    float *tiles = aligned_alloc(64, (s->threads * floats * sizeof *tiles + 63) / 64 * 64);
    if (tiles == NULL) {
        fprintf(stderr, "bench_score: out of memory for %u tiles\n", s->threads);
        return 1;
    }
    pairwise_job job = {epjs, p, s, tiles};
    int status = on_threads(s->threads, kernel.part, &job);
    free(tiles);
    return status;
}
