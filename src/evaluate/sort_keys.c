/* sort_keys.c - sorting of measures: doubles as 64-bit keys, alone or with their row.
 *
 * Rankings against errors need no row numbers: rank_buckets.c sorts those, and uses this sort for keys that are too
 * close together. */
#include "evaluate/evaluate_internal.h"

#define SORT_NAME(name) key_##name
#define SORT_TYPE uint64_t
#define SORT_KEY(element) (element)
#include "base/sort_body.h"
#undef SORT_NAME
#undef SORT_TYPE
#undef SORT_KEY

#define SORT_NAME(name) pair_##name
#define SORT_TYPE vg_keyed
#define SORT_KEY(element) ((element).key)
#include "base/sort_body.h"
#undef SORT_NAME
#undef SORT_TYPE
#undef SORT_KEY

void vg_evaluate__sort_keys(uint64_t *keys, uint64_t *scratch, size_t n) { key_sort(keys, scratch, n, false); }

void vg_evaluate__select_keys(uint64_t *keys, uint64_t *scratch, size_t n, const size_t *places, size_t count) {
    size_t ends[1 << SORT_BITS];
    bool sorted[1 << SORT_BITS] = {false};
    size_t buckets = n <= SORT_SMALL ? 0 : key_scatter(keys, scratch, n, ends);
    if (n <= SORT_SMALL)
        key_insert(keys, keys, n);
    for (size_t i = 0; buckets > 0 && i < count; i++) {
        size_t bucket = 0;
        while (ends[bucket] <= places[i])
            bucket++;
        size_t start = bucket ? ends[bucket - 1] : 0;
        if (!sorted[bucket])
            key_sort(scratch + start, keys + start, ends[bucket] - start, true);
        sorted[bucket] = true;
    }
}

vg_status vg_evaluate__sort_pairs(vg_keyed *pairs, vg_keyed *scratch, size_t n, vg_pulse *pulse, unsigned worker) {
    if (n < VG_SLICE) {
        VG_TRY(vg_evaluate__pulse(pulse, worker));
        pair_sort(pairs, scratch, n, false);
        return VG_OK;
    }
    size_t ends[1 << SORT_BITS], buckets = pair_scatter(pairs, scratch, n, ends), start = 0, asked = 0;
    for (size_t b = 0; b < buckets; start = ends[b], b++) {
        if (b == 0 || start - asked >= VG_SLICE) {
            asked = start;
            VG_TRY(vg_evaluate__pulse(pulse, worker));
        }
        pair_sort(scratch + start, pairs + start, ends[b] - start, true);
    }
    return VG_OK;
}
