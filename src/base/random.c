/* random.c - Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011), and
 * uniform, bounded and normal numbers from it.
 *
 * One round on counter x under key k, hi and lo being halves of a 64-bit product:
 *     x' = (hi(M1 x2) ^ x1 ^ k0, lo(M1 x2), hi(M0 x0) ^ x3 ^ k1, lo(M0 x0)),   k' = (k0 + W0, k1 + W1). */
#include "base/random.h"

#include <math.h>

static const uint32_t M0 = 0xD2511F53, M1 = 0xCD9E8D57; /* multipliers */
static const uint32_t W0 = 0x9E3779B9, W1 = 0xBB67AE85; /* key increments: golden ratio, sqrt(3) - 1 */
enum { ROUNDS = 10 };

void vg_random__philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]) {
    uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = (uint64_t)M0 * x0, p1 = (uint64_t)M1 * x2;
        x0 = (uint32_t)(p1 >> 32) ^ x1 ^ k0;
        x1 = (uint32_t)p1;
        x2 = (uint32_t)(p0 >> 32) ^ x3 ^ k1;
        x3 = (uint32_t)p0;
        k0 += W0;
        k1 += W1;
    }
    out[0] = x0;
    out[1] = x1;
    out[2] = x2;
    out[3] = x3;
}

static void fill(vg_random *random, uint64_t block) {
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)random->stream,
                                 (uint32_t)(random->stream >> 32)};
    const uint32_t key[2] = {(uint32_t)random->seed, (uint32_t)(random->seed >> 32)};
    vg_random__philox(random->words, counter, key);
    random->cached = block;
}

vg_random vg_random__at(uint64_t seed, uint64_t stream, uint64_t position) {
    vg_random random = {.seed = seed, .stream = stream, .position = position};
    fill(&random, position / 4);
    return random;
}

vg_random vg_random__start(uint64_t seed, uint64_t stream) { return vg_random__at(seed, stream, 0); }

void vg_random__jump(vg_random *random, uint64_t position) { random->position = position; }

uint32_t vg_random__u32(vg_random *random) {
    uint64_t position = random->position++;
    if (position / 4 != random->cached)
        fill(random, position / 4);
    return random->words[position % 4];
}

uint64_t vg_random__u64(vg_random *random) {
    uint64_t low = vg_random__u32(random);
    return low | (uint64_t)vg_random__u32(random) << 32;
}

double vg_random__unit(vg_random *random) { return (double)(vg_random__u64(random) >> 11) * 0x1p-53; }

/* Draws below 2^64 mod bound are rejected: they would make the smaller remainders more frequent. */
uint64_t vg_random__below(vg_random *random, uint64_t bound) {
    if (bound == 0)
        return 0;
    const uint64_t incomplete = (0 - bound) % bound;
    uint64_t draw = vg_random__u64(random);
    while (draw < incomplete)
        draw = vg_random__u64(random);
    return draw % bound;
}

double vg_random__normal(vg_random *random) {
    const double two_pi = 6.283185307179586476925;
    double radius = sqrt(-2.0 * log(1.0 - vg_random__unit(random))); /* 1 - u lies in (0, 1] */
    return radius * cos(two_pi * vg_random__unit(random));
}

void vg_random__shuffle(vg_random *random, size_t *items, size_t count) {
    for (size_t left = count; left > 1; left--) {
        size_t chosen = (size_t)vg_random__below(random, left);
        size_t item = items[chosen];
        items[chosen] = items[left - 1];
        items[left - 1] = item;
    }
}
