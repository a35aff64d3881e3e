/* sort_keys.c - sorting of measures: doubles as 64-bit keys, alone or with their row.
 *
 * Rankings against errors need no row numbers: the keys of correct rows and of errors are kept apart (rank_groups.c). */
#include "evaluate/evaluate_internal.h"

enum { SORT_BITS = 11, SORT_SMALL = 24 };

static unsigned bits_of(uint64_t value) { /* value > 0 */
    return 64u - (unsigned)__builtin_clzll(value);
}

#define SORT_NAME(name) key_##name
#define SORT_TYPE uint64_t
#define SORT_KEY(element) (element)
#include "evaluate/sort_body.h"
#undef SORT_NAME
#undef SORT_TYPE
#undef SORT_KEY

#define SORT_NAME(name) pair_##name
#define SORT_TYPE vg_keyed
#define SORT_KEY(element) ((element).key)
#include "evaluate/sort_body.h"
#undef SORT_NAME
#undef SORT_TYPE
#undef SORT_KEY

void vg_evaluate__sort_keys(uint64_t *keys, uint64_t *scratch, size_t n) { key_spread(keys, scratch, n, false); }

void vg_evaluate__sort_pairs(vg_keyed *pairs, vg_keyed *scratch, size_t n) { pair_spread(pairs, scratch, n, false); }

vg_status vg_evaluate__split(uint64_t *keys, uint64_t *scratch, size_t *correct, const vg_measure *measure,
                             const uint8_t *errors, size_t error_stride, size_t rows) {
    size_t head = 0, tail = rows;
    double sign = measure->certainty ? -1 : 1;
    for (size_t i = 0; i < rows; i++) {
        double value = measure->values[i * measure->stride];
        if (isnan(value))
            return vg_base__fail(VG_ERR_DATA, "measure %s: value %zu is NaN; a number is needed to rank it", measure->name, i);
        /* Both places are written and one is kept, so that the loop does not branch on an unpredictable mark. */
        uint64_t key = vg_evaluate__key(sign * value);
        bool wrong = errors[i * error_stride] != 0;
        keys[head] = key;
        scratch[tail - 1] = key;
        head += !wrong;
        tail -= wrong;
    }
    memcpy(keys + head, scratch + tail, (rows - head) * sizeof *keys);
    *correct = head;
    return VG_OK;
}
