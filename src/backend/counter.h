/* counter.h - dropout masks and other draws as functions of their position, not of when they are drawn. Internal.
 *
 * Philox4x32-10 (Salmon et al. 2011) turns a 128-bit counter and a 64-bit key into 128 random bits. A mask takes 16 of
 * them:
 *
 *     key     = {seed low, seed high}
 *     counter = {position / 8, row low, step, row bits 32..55 | stream << 24}
 *     16-bit lane (position % 8): word (lane / 2), low half first
 *     the element is dropped when the lane value < round(p * 65536)
 *
 * position = (y * W + x) * C + c counts the elements of one row channels-last, so that 8 neighbouring channels share
 * one call. Every backend gives the same masks. */
#ifndef VG_COUNTER_H
#define VG_COUNTER_H

#include <stdint.h>

static inline void vg_counter__philox(uint32_t x[4], uint32_t k0, uint32_t k1) {
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * x[0], b = (uint64_t)0xCD9E8D57u * x[2];
        uint32_t y0 = (uint32_t)(b >> 32) ^ x[1] ^ k0, y2 = (uint32_t)(a >> 32) ^ x[3] ^ k1;
        x[1] = (uint32_t)b;
        x[3] = (uint32_t)a;
        x[0] = y0;
        x[2] = y2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* The eight 16-bit lanes of positions 8 * block .. 8 * block + 7. */
static inline void vg_counter__lanes(uint16_t lanes[8], uint64_t seed, uint32_t stream, uint32_t step, uint64_t row,
                                     uint32_t block) {
    uint32_t x[4] = {block, (uint32_t)row, step, ((uint32_t)(row >> 32) & 0xFFFFFFu) | stream << 24};
    vg_counter__philox(x, (uint32_t)seed, (uint32_t)(seed >> 32));
    for (int i = 0; i < 4; i++) {
        lanes[2 * i] = (uint16_t)x[i];
        lanes[2 * i + 1] = (uint16_t)(x[i] >> 16);
    }
}

/* Lanes below this are dropped. */
static inline uint32_t vg_counter__threshold(float p) { return (uint32_t)(p * 65536.0f + 0.5f); }

#endif
