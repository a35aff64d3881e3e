/* sort_body.h - the body of one sort, included once for each element type that a file sorts. Internal.
 *
 * Adaptive bucket sort: the range of the actual keys is cut into up to 2,048 buckets, each sorted the same way until
 * it is small enough for insertion sort. Each round resolves at least 3 bits of the range, so no input needs more
 * than 22 rounds; keys of usual distributions need two or three.
 *
 * The including file defines SORT_NAME(verb), SORT_TYPE and SORT_KEY(element), a uint64_t, first. */
#ifndef VG_BASE_SORT_BODY
#define VG_BASE_SORT_BODY

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SORT_BITS = 11, SORT_SMALL = 24 };

static inline unsigned vg_sort__bits(uint64_t value) { /* value > 0 */
    return 64u - (unsigned)__builtin_clzll(value);
}
#endif

/* Insertion sort of `from` into `to` (which may be `from`). */
static void SORT_NAME(insert)(SORT_TYPE *to, const SORT_TYPE *from, size_t n) {
    for (size_t i = 0; i < n; i++) {
        SORT_TYPE item = from[i];
        size_t j = i;
        for (; j > 0 && SORT_KEY(to[j - 1]) > SORT_KEY(item); j--)
            to[j] = to[j - 1];
        to[j] = item;
    }
}

/* Distributes from[0 .. n - 1] to their buckets in `to`; ends[b] is where bucket b ends. Returns the number of
 * buckets, or 0 without writing to `to` when all keys are equal. */
static size_t SORT_NAME(scatter)(SORT_TYPE *from, SORT_TYPE *to, size_t n, size_t *ends) {
    uint64_t least = SORT_KEY(from[0]), most = least;
    for (size_t i = 1; i < n; i++) {
        uint64_t key = SORT_KEY(from[i]);
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    if (least == most)
        return 0;
    unsigned range = vg_sort__bits(most - least), bits = vg_sort__bits(n) - 2;
    bits = bits > SORT_BITS ? SORT_BITS : bits;
    unsigned shift = range > bits ? range - bits : 0;
    size_t buckets = (size_t)((most - least) >> shift) + 1;
    memset(ends, 0, buckets * sizeof *ends);
    for (size_t i = 0; i < n; i++)
        ends[(SORT_KEY(from[i]) - least) >> shift]++;
    size_t place = 0;
    for (size_t b = 0; b < buckets; b++) {
        size_t count = ends[b];
        ends[b] = place;
        place += count;
    }
    for (size_t i = 0; i < n; i++)
        to[ends[(SORT_KEY(from[i]) - least) >> shift]++] = from[i];
    return buckets;
}

/* Sorts from[0 .. n - 1], into `to` where `across` is true, else in place; the other array is scratch. */
static void SORT_NAME(sort)(SORT_TYPE *from, SORT_TYPE *to, size_t n, bool across) {
    if (n <= SORT_SMALL) {
        SORT_NAME(insert)(across ? to : from, from, n);
        return;
    }
    size_t ends[1 << SORT_BITS], buckets = SORT_NAME(scatter)(from, to, n, ends), start = 0;
    if (buckets == 0 && across)
        memcpy(to, from, n * sizeof *from);
    for (size_t b = 0; b < buckets; start = ends[b], b++)
        SORT_NAME(sort)(to + start, from + start, ends[b] - start, !across);
}
