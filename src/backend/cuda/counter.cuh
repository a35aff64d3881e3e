/* counter.cuh - counter.h's dropout masks, eight elements at a time, and division by numbers known only at run time.
 *
 * Written in the common subset of C and CUDA C++, so that a test without a GPU compiles it and compares it with
 * counter.h. A thread works on eight neighbouring channels of one position. Where the number of logical channels is a
 * multiple of eight, these are the eight lanes of one Philox call; otherwise they span two calls. */
#ifndef VG_CUDA_COUNTER_CUH
#define VG_CUDA_COUNTER_CUH

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define CUDA_BOTH static __host__ __device__ __forceinline__
#define CUDA_UNROLL _Pragma("unroll")
#else
#define CUDA_BOTH static inline
#define CUDA_UNROLL
#endif

/* How masks are drawn: not at all, one call for eight channels, two calls. */
enum { CUDA_MASK_NONE = 0, CUDA_MASK_ALIGNED = 1, CUDA_MASK_ODD = 2 };

/* n / divisor for n < 2^31 as a multiplication: (high half of n * multiplier + n) >> shift. */
typedef struct cuda_divider {
    uint32_t divisor, multiplier, shift;
} cuda_divider;

static inline cuda_divider cuda_divider_of(uint32_t divisor) {
    cuda_divider d = {divisor, 0, 0};
    while (d.shift < 31 && (uint32_t)1 << d.shift < divisor)
        d.shift++;
    d.multiplier = (uint32_t)((((uint64_t)1 << 32) * (((uint64_t)1 << d.shift) - divisor)) / divisor + 1);
    return d;
}

CUDA_BOTH uint32_t cuda_divide(uint32_t n, cuda_divider d) {
    return ((uint32_t)((uint64_t)n * d.multiplier >> 32) + n) >> d.shift;
}

/* What all masks of one operation share. */
typedef struct cuda_draw {
    uint32_t key0, key1; /* seed */
    uint32_t step, stream;
    uint64_t row;       /* of the batch's row 0 */
    uint32_t threshold; /* vg_counter__threshold << 16 */
} cuda_draw;

/* Philox4x32-10: the counter of a block of eight elements, one of its rounds, all ten. */
CUDA_BOTH void cuda_count(uint32_t x[4], const cuda_draw *draw, uint32_t row, uint32_t block) {
    uint64_t number = draw->row + row;
    x[0] = block;
    x[1] = (uint32_t)number;
    x[2] = draw->step;
    x[3] = ((uint32_t)(number >> 32) & 0xFFFFFFu) | draw->stream << 24;
}

enum { CUDA_ROUNDS = 10 };

/* Both halves of a product. */
CUDA_BOTH void cuda_multiply(uint32_t *low, uint32_t *high, uint32_t a, uint32_t b) {
#ifdef __CUDA_ARCH__ /* implemented as a shift by 32 and an addition of zero */
    asm("{\n"
        ".reg .b64 both;\n"
        "mul.wide.u32 both, %2, %3;\n"
        "mov.b64 {%0, %1}, both;\n"
        "}"
        : "=r"(*low), "=r"(*high)
        : "r"(a), "r"(b));
#else
    uint64_t both = (uint64_t)a * b;
    *low = (uint32_t)both;
    *high = (uint32_t)(both >> 32);
#endif
}

CUDA_BOTH void cuda_round(uint32_t x[4], uint32_t k0, uint32_t k1) {
    uint32_t a, b, a_high, b_high;
    cuda_multiply(&a, &a_high, 0xD2511F53u, x[0]);
    cuda_multiply(&b, &b_high, 0xCD9E8D57u, x[2]);
    x[0] = b_high ^ x[1] ^ k0;
    x[2] = a_high ^ x[3] ^ k1;
    x[1] = b;
    x[3] = a;
}

CUDA_BOTH void cuda_next_key(uint32_t *k0, uint32_t *k1) {
    *k0 += 0x9E3779B9u;
    *k1 += 0xBB67AE85u;
}

CUDA_BOTH void cuda_words(uint32_t x[4], const cuda_draw *draw, uint32_t row, uint32_t block) {
    uint32_t k0 = draw->key0, k1 = draw->key1;
    cuda_count(x, draw, row, block);
    CUDA_UNROLL
    for (int round = 0; round < CUDA_ROUNDS; round++) {
        cuda_round(x, k0, k1);
        cuda_next_key(&k0, &k1);
    }
}

/* The eight lanes from `position` on, as four words; position % 8 is 0. */
CUDA_BOTH void cuda_lanes_aligned(uint32_t x[4], const cuda_draw *draw, uint32_t row, uint32_t position) {
    cuda_words(x, draw, row, position >> 3);
}

/* The same from any position: the words of two calls, shifted by up to seven lanes. */
CUDA_BOTH void cuda_lanes_odd(uint32_t x[4], const cuda_draw *draw, uint32_t row, uint32_t position) {
    uint32_t w[8];
    cuda_words(w, draw, row, position >> 3);
    cuda_words(w + 4, draw, row, (position >> 3) + 1);
    CUDA_UNROLL
    for (int i = 0; i < 6; i++)
        w[i] = position & 4 ? w[i + 2] : w[i];
    CUDA_UNROLL
    for (int i = 0; i < 5; i++)
        w[i] = position & 2 ? w[i + 1] : w[i];
    CUDA_UNROLL
    for (int i = 0; i < 4; i++)
        x[i] = position & 1 ? w[i] >> 16 | w[i + 1] << 16 : w[i];
}

/* Whether lane j of those is kept. */
CUDA_BOTH bool cuda_kept(const uint32_t x[4], int j, uint32_t threshold) {
    return (j & 1 ? x[j >> 1] : x[j >> 1] << 16) >= threshold;
}

#endif
