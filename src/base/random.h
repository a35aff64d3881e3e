/* random.h - random numbers that are a function of (seed, stream, position): Philox4x32-10. Internal.
 *
 * A generator's whole state is three integers. Two generators with the same three give the same numbers on any
 * machine; streams of one seed are independent; any position can be jumped to at once. So a checkpoint stores three
 * integers, and work item i of a parallel loop takes stream i, whichever thread runs it.
 *
 *     vg_random random = vg_random__start(seed, stream);
 *     size_t i = vg_random__below(&random, n);
 *
 * The position counts 32-bit words drawn. u32 takes one word; u64, unit and below take two (below sometimes more, by
 * rejection); normal takes four. */
#ifndef VG_RANDOM_H
#define VG_RANDOM_H

#include <stddef.h>
#include <stdint.h>

typedef struct vg_random {
    uint64_t seed, stream, position; /* the state */
    uint64_t cached;                 /* block number of `words`; not state */
    uint32_t words[4];
} vg_random;

/* A generator at position 0, and one at any position. */
vg_random vg_random__start(uint64_t seed, uint64_t stream);
vg_random vg_random__at(uint64_t seed, uint64_t stream, uint64_t position);
/* Moves to a position, forwards or back, in constant time. */
void vg_random__jump(vg_random *random, uint64_t position);

/* Uniform over all 2^32 or 2^64 values. */
uint32_t vg_random__u32(vg_random *random);
uint64_t vg_random__u64(vg_random *random);
/* Uniform over the multiples of 2^-53 in [0, 1). */
double vg_random__unit(vg_random *random);
/* Uniform over 0 .. bound - 1 without bias; 0 when bound is 0. */
uint64_t vg_random__below(vg_random *random, uint64_t bound);
/* Standard normal (Box-Muller; the second of each pair is dropped so that the state stays three integers). */
double vg_random__normal(vg_random *random);
/* Puts items[0 .. count - 1] in an order drawn uniformly from all orders. */
void vg_random__shuffle(vg_random *random, size_t *items, size_t count);

/* The bare function: ten rounds over counter[4] under key[2]. The generator uses counter {block low, block high, stream
 * low, stream high} and key {seed low, seed high}, low word first. */
void vg_random__philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

#endif
