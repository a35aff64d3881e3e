/* rows_below.c - for every row of a measure the number of rows of the other kind below it, ties half: what AUROC and
 * its variance are made of (delong.c).
 *
 *  1. The rows are put into buckets, as for a ranking (rank_buckets.c).
 *  2. Each bucket is sorted with the index that every item has in it, and the count of an item is written over the
 *     item in the bucket's chunks.
 *  3. A second pass over the rows finds the bucket of each again and takes the next count from it: rows were appended
 *     in their order.
 *
 * So nothing of the size of all rows is read or written in another order than its own. */
#include "evaluate/evaluate_internal.h"

enum {
    MOST_PACKED = 8192, /* rows of a bucket that room->hot holds twice */
    MOST_MOVES = 4      /* per row, before the general sort takes over */
};

/* A bucket in order: its items, each an index in its lowest bits; or, where these do not fit, items and indices. */
typedef struct sorted_bucket {
    size_t count;
    const uint64_t *packed;
    unsigned index_bits;
    const vg_keyed *pairs;
} sorted_bucket;

static inline uint64_t item_at(const sorted_bucket *s, size_t i) {
    return s->packed ? s->packed[i] >> s->index_bits : s->pairs[i].key;
}
static inline size_t index_at(const sorted_bucket *s, size_t i) {
    return s->packed ? (size_t)(s->packed[i] & (((uint64_t)1 << s->index_bits) - 1)) : s->pairs[i].row;
}

typedef struct below_work {
    const vg_rank_room *room;
    uint32_t *chunks;                 /* those of the current bucket */
    double positives, negatives, sum; /* so far; the sum of the counts of positives */
} below_work;

/* The chunks of a bucket of n rows, in their order. */
static void list_chunks(below_work *w, size_t bucket, size_t n) {
    uint32_t chunk = (uint32_t)bucket;
    for (size_t i = 0; i * VG_CHUNK < n; i++, chunk = w->room->link[chunk])
        w->chunks[i] = chunk;
}

static uint64_t *place_of(const below_work *w, size_t index) {
    return w->room->items + (size_t)w->chunks[index / VG_CHUNK] * VG_CHUNK + index % VG_CHUNK;
}

/* Packs and sorts a bucket in room->hot, by counting into about as many cells as it has rows. False, and nothing done,
 * where its range is unknown or too wide, or its rows are too many. */
static bool sort_packed(sorted_bucket *s, const below_work *w, const vg_rank_bounds *bounds, size_t n) {
    const vg_row_kernels *kernels = w->room->kernels;
    unsigned bits = vg_evaluate__bits(n), range = bounds->range + bits, cells = bits + kernels->finer;
    unsigned shift = range > cells ? range - cells : 0;
    uint64_t *hot = w->room->hot, *to = hot + MOST_PACKED;
    uint16_t *fine = w->room->fine;
    if (bounds->range == 0 || n > MOST_PACKED || range > 64)
        return false;
    memset(fine, 0, sizeof *fine << (range - shift));
    for (size_t i = 0; i < n; i++) {
        hot[i] = (*place_of(w, i) - bounds->least) << bits | i;
        fine[hot[i] >> shift]++;
    }
    kernels->prefix_sums(fine, (size_t)1 << (range - shift));
    for (size_t i = 0; i < n; i++)
        to[fine[hot[i] >> shift]++] = hot[i];
    if (shift > 0 && !kernels->fix_bucket_order(to, n, MOST_MOVES * n))
        vg_evaluate__sort_keys(to, hot, n);
    *s = (sorted_bucket){.count = n, .packed = to, .index_bits = bits};
    return true;
}

/* Writes the count of every item of a sorted bucket to the item's place. */
static void write_counts(below_work *w, const sorted_bucket *s) {
    for (size_t i = 0, end; i < s->count; i = end) {
        uint64_t key = item_at(s, i) >> 1;
        double hits = 0;
        for (end = i; end < s->count && item_at(s, end) >> 1 == key; end++)
            hits += (double)(item_at(s, end) & 1);
        double others = (double)(end - i) - hits, of_positive = w->negatives + others / 2;
        double of_negative = w->positives + hits / 2;
        for (size_t j = i; j < end; j++)
            memcpy(place_of(w, index_at(s, j)), item_at(s, j) & 1 ? &of_positive : &of_negative, sizeof(double));
        w->sum += hits * of_positive;
        w->negatives += others;
        w->positives += hits;
    }
}

static vg_status count_bucket(below_work *w, size_t bucket) {
    size_t n = vg_evaluate__bucket_rows(w->room, bucket);
    sorted_bucket sorted;
    vg_keyed *pairs = NULL;
    vg_status status = VG_OK;
    list_chunks(w, bucket, n);
    if (n == 0)
        return VG_OK;
    if (!sort_packed(&sorted, w, &w->room->bounds[bucket], n)) {
        VG_TRY(vg_base__alloc(&pairs, n, 2 * sizeof *pairs, "keys to sort"));
        for (size_t i = 0; i < n; i++)
            pairs[i] = (vg_keyed){*place_of(w, i), (uint32_t)i};
        status = vg_evaluate__sort_pairs(pairs, pairs + n, n, NULL, 0);
        sorted = (sorted_bucket){.count = n, .pairs = pairs};
    }
    if (status == VG_OK)
        write_counts(w, &sorted);
    vg_base__release(pairs);
    return status;
}

/* The counts in the order of the rows. */
static void read_counts(double *below, vg_rank_room *room, const vg_bucket_map *map, const vg_rank_rows *rows,
                        size_t count) {
    uint32_t buckets[VG_ROW_BATCH];
    for (size_t b = 0; b < map->buckets; b++)
        room->cursor[b] = room->items + b * VG_CHUNK;
    for (size_t first = 0, n; first < count; first += n) {
        n = count - first < VG_ROW_BATCH ? count - first : (size_t)VG_ROW_BATCH;
        room->kernels->find_buckets(buckets, map, rows, first, n);
        for (size_t i = 0; i < n; i++) {
            uint64_t *at = room->cursor[buckets[i]];
            memcpy(&below[first + i], at++, sizeof *below);
            if ((uintptr_t)at % VG_CHUNK_BYTES == 0)
                at = room->items + (size_t)room->link[(size_t)(at - room->items) / VG_CHUNK - 1] * VG_CHUNK;
            room->cursor[buckets[i]] = at;
        }
    }
}

vg_status vg_evaluate__rows_below(double *below, double *sum, vg_rank_room *room, const vg_rank_column *column,
                                  const uint8_t *positive, size_t rows) {
    vg_rank_order order;
    below_work work = {.room = room};
    VG_TRY(vg_evaluate__rank_order(&order, room, column, positive, 1, rows));
    VG_TRY(vg_base__alloc(&work.chunks, rows / VG_CHUNK + 1, sizeof *work.chunks, "rows to rank"));
    vg_status status = VG_OK;
    for (size_t b = 0; status == VG_OK && b < order.buckets; b++)
        status = count_bucket(&work, b);
    if (status == VG_OK)
        read_counts(below, room, &order.map, &(vg_rank_rows){*column, positive, 1}, rows);
    *sum = work.sum;
    vg_base__release(work.chunks);
    return status;
}
