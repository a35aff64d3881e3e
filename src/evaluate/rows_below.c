/* rows_below.c - for every row of a measure the number of rows of the other kind below it, ties half: what AUROC and
 * its variance are made of (delong.c).
 *
 *  1. The rows are put into buckets, as for a ranking (rank_buckets.c).
 *  2. Each bucket is sorted with the index that every item has in it, and the count of an item is written over the
 *     item in the bucket's chunks.
 *  3. A second pass over the rows takes the next count from the bucket of each, which was noted: rows were appended in
 *     their order.
 *
 * So nothing of the size of all rows is read or written in another order than its own. */
#include "evaluate/evaluate_internal.h"

enum {
    MOST_PACKED = 8192, /* rows of a bucket that room->hot holds twice */
    MOST_MOVES = 4      /* per row, before the general sort takes over */
};

/* A bucket in order: its items, each with an index in its lowest bits; or, where these do not fit, items and
 * indices. */
typedef struct sorted_bucket {
    size_t count;
    const uint64_t *packed;
    unsigned index_bits;
    const vg_keyed *pairs;
} sorted_bucket;

static inline uint64_t item_at(sorted_bucket s, size_t i) {
    return s.packed ? s.packed[i] >> s.index_bits : s.pairs[i].key;
}
static inline size_t index_at(sorted_bucket s, size_t i) {
    return s.packed ? (size_t)(s.packed[i] & (((uint64_t)1 << s.index_bits) - 1)) : s.pairs[i].row;
}

/* Copies between the chunks of a bucket of n rows and an array. */
static void copy_bucket(const vg_rank_room *room, size_t bucket, double *array, size_t n, bool to_chunks) {
    for (size_t done = 0, chunk = bucket; done < n; done += VG_CHUNK, chunk = room->link[chunk]) {
        size_t bytes = (n - done < VG_CHUNK ? n - done : VG_CHUNK) * sizeof *array;
        uint64_t *items = room->items + chunk * VG_CHUNK;
        memcpy(to_chunks ? (void *)items : array + done, to_chunks ? array + done : (void *)items, bytes);
    }
}

/* Sorts the n items of a bucket, which are in room->hot, with their indices behind them, by counting into about as many
 * cells as it has rows: as many bits as an index has. False where all are equal or their range is too wide. */
static bool sort_packed(sorted_bucket *s, const vg_rank_room *room, vg_rank_bounds bounds, size_t n) {
    const vg_row_kernels *kernels = room->kernels;
    unsigned bits = vg_evaluate__bits(n), shift = bounds.range;
    uint64_t *hot = room->hot, *to = hot + MOST_PACKED, least = bounds.least;
    uint16_t *fine = room->fine;
    if (shift == 0 || shift + bits > 64)
        return false;
    memset(fine, 0, sizeof *fine << bits);
    for (size_t i = 0; i < n; i++) {
        hot[i] = (hot[i] - least) << bits | i;
        fine[hot[i] >> shift]++;
    }
    kernels->prefix_sums(fine, (size_t)1 << bits);
    for (size_t i = 0; i < n; i++)
        to[fine[hot[i] >> shift]++] = hot[i];
    if (!kernels->fix_bucket_order(to, n, MOST_MOVES * n))
        vg_evaluate__sort_keys(to, hot, n);
    *s = (sorted_bucket){.count = n, .packed = to, .index_bits = bits};
    return true;
}

/* Rows of both kinds in the buckets before, and the sum of the counts of positives so far. */
typedef struct rows_before {
    uint64_t positives, negatives;
    double sum;
} rows_before;

/* Items first .. end - 1 share their value: others count half. */
static inline void count_tied(rows_before *before, double *counts, sorted_bucket s, size_t first, size_t end) {
    uint64_t hits = 0;
    for (size_t i = first; i < end; i++)
        hits += item_at(s, i) & 1;
    uint64_t others = end - first - hits;
    double of_positive = (double)before->negatives + (double)others / 2;
    double of_negative = (double)before->positives + (double)hits / 2;
    for (size_t i = first; i < end; i++)
        counts[index_at(s, i)] = item_at(s, i) & 1 ? of_positive : of_negative;
    before->sum += (double)hits * of_positive;
    before->negatives += others;
    before->positives += hits;
}

/* counts[i]: of item i of the bucket. The kind of a row whose value no other row has is used in
 * selections alone, without a branch. */
static inline __attribute__((always_inline)) void count_sorted(rows_before *to, double *counts, sorted_bucket s) {
    rows_before before = *to;
    for (size_t i = 0, end; i < s.count; i = end) {
        uint64_t item = item_at(s, i), hit = item & 1;
        for (end = i + 1; end < s.count && (item_at(s, end) ^ item) <= 1; end++)
            ;
        if (end > i + 1) {
            count_tied(&before, counts, s, i, end);
            continue;
        }
        double count = (double)(hit ? before.negatives : before.positives);
        counts[index_at(s, i)] = count;
        before.sum += hit ? count : 0;
        before.positives += hit;
        before.negatives += hit ^ 1;
    }
    *to = before;
}

/* A bucket that cannot be packed. */
static vg_status count_pairs(rows_before *before, vg_rank_room *room, size_t bucket, size_t n) {
    vg_keyed *pairs;
    double *counts;
    VG_TRY(vg_base__alloc(&pairs, n, 2 * sizeof *pairs + sizeof *counts, "keys to sort"));
    counts = (double *)(void *)(pairs + 2 * n);
    copy_bucket(room, bucket, counts, n, false);
    for (size_t i = 0; i < n; i++) {
        memcpy(&pairs[i].key, &counts[i], sizeof pairs[i].key);
        pairs[i].row = (uint32_t)i;
    }
    vg_status status = vg_evaluate__sort_pairs(pairs, pairs + n, n, NULL, 0);
    if (status == VG_OK) {
        count_sorted(before, counts, (sorted_bucket){.count = n, .pairs = pairs});
        copy_bucket(room, bucket, counts, n, true);
    }
    vg_base__release(pairs);
    return status;
}

static vg_status count_bucket(rows_before *before, vg_rank_room *room, size_t bucket) {
    size_t n = vg_evaluate__bucket_rows(room, bucket);
    double *hot = (double *)(void *)room->hot;
    sorted_bucket sorted;
    if (n == 0)
        return VG_OK;
    if (n <= MOST_PACKED)
        copy_bucket(room, bucket, hot, n, false);
    if (n > MOST_PACKED || !sort_packed(&sorted, room, vg_evaluate__bucket_bounds(room, bucket, n), n))
        return count_pairs(before, room, bucket, n);
    count_sorted(before, hot, (sorted_bucket){n, sorted.packed, sorted.index_bits, NULL});
    copy_bucket(room, bucket, hot, n, true);
    return VG_OK;
}

vg_status vg_evaluate__count_below(vg_rows_below *out, vg_rank_room *room, const vg_rank_column *column,
                                   const uint8_t *positive, size_t rows) {
    vg_rank_order order;
    rows_before before = {0, 0, 0};
    room->bucket_of = (uint16_t *)(void *)room->before;
    vg_status status = vg_evaluate__rank_order(&order, room, column, positive, 1, rows);
    uint16_t *buckets = room->bucket_of;
    room->bucket_of = NULL;
    VG_TRY(status);
    for (size_t b = 0; b < order.buckets; b++)
        VG_TRY(count_bucket(&before, room, b));
    for (size_t b = 0; b < order.buckets; b++)
        room->cursor[b] = room->items + b * VG_CHUNK;
    *out = (vg_rows_below){.room = room,
                           .buckets = buckets,
                           .positives = (double)before.positives,
                           .negatives = (double)before.negatives,
                           .sum = before.sum};
    return VG_OK;
}

void vg_evaluate__next_below(double *below, vg_rows_below *counts, size_t n) {
    const uint16_t *buckets = counts->buckets + counts->done;
    vg_rank_room *room = counts->room;
    uint64_t **cursor = room->cursor, *items = room->items;
    for (size_t i = 0; i < n; i++) {
        uint64_t *at = cursor[buckets[i]];
        memcpy(&below[i], at++, sizeof *below);
        if ((uintptr_t)at % VG_CHUNK_BYTES == 0)
            at = items + (size_t)room->link[(size_t)(at - items) / VG_CHUNK - 1] * VG_CHUNK;
        cursor[buckets[i]] = at;
    }
    counts->done += n;
}
