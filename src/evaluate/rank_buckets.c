/* rank_buckets.c - the rows of a measure in order, one small bucket at a time: what every ranking starts from.
 *
 * 1. A sample of the rows tells how the keys are spread. Cells of equal width (the sign, the exponent and a few bits of the
 *    mantissa) become buckets of about equal mass: full cells are cut in equal parts, sparse neighbours joined.
 * 2. One pass makes the keys and counts each bucket's rows, correct ones and errors apart; a second brings them together.
 *    Bytes a row: 8 + 1 read, 10 written; 10 read, 8 written.
 * 3. A bucket, a few hundred rows, is sorted where it lies in the first-level cache: counted into about as many fine cells as
 * it has rows, then straightened out by insertion. The error mark is the lowest bit of what is sorted, so that of equal values
 *    the correct rows come first. Buckets that are too large or too bunched for that go to the general sort.
 *
 * The sample decides how even the buckets are, never the order, which is exact whatever the values. */
#include "evaluate/evaluate_internal.h"

enum {
    QUARTERS = 4,
    WIDE_CELL_BITS = 12,   /* cells of few rows: sign and exponent */
    NARROW_CELL_BITS = 16, /* of many: and four bits of the mantissa */
    MANY_ROWS = 1 << 15,
    MOST_BUCKETS = 8192,
    BUCKET_ROWS = 384,
    WANTED_BUCKETS = 512, /* more would spill from the caches while rows are brought together */
    ONE_BUCKET = 1024,    /* so few rows need no map */
    SAMPLED = 1 << 14,
    SMALL = 12,
    LARGE = 8192,
    FINER = 1,   /* cells than rows, as a power of 2 */
    PATIENCE = 4 /* moves a row before insertion gives up */
};

struct vg_rank_cell {
    uint32_t first; /* its first bucket, or how many of the sample it holds */
    uint32_t shift; /* of the bits below the cell's, to the bucket within it */
};

static unsigned bits_of(uint64_t value) { return value ? 64u - (unsigned)__builtin_clzll(value) : 0; }

/* --- cells to buckets ------------------------------------------------------------------------------------------------------
 */
typedef struct bucket_map {
    const vg_rank_cell *cells;
    unsigned shift; /* key to cell */
    uint64_t below; /* mask of the bits below it */
    size_t buckets;
} bucket_map;

static inline size_t bucket_of(const bucket_map *map, uint64_t key) {
    vg_rank_cell cell = map->cells[key >> map->shift];
    return cell.first + (size_t)((key & map->below) >> cell.shift);
}

/* cells[].first holds counts of the sample, of which each stands for `step` rows; `wanted` rows shall make a bucket. False when
 * there would be too many buckets. */
static bool share_out(bucket_map *map, vg_rank_cell *cells, size_t count, size_t step, size_t wanted) {
    size_t buckets = 0, open = 0; /* rows in the bucket now open, of joined cells; buckets is the next to open */
    bool is_open = false;
    for (size_t i = 0; i < count; i++) {
        size_t rows = cells[i].first * step;
        if (i % (count / QUARTERS) == 0) { /* no bucket spans more than a quarter of all keys */
            buckets += is_open;
            is_open = false;
        }
        if (rows > wanted) {
            unsigned bits = bits_of((rows - 1) / wanted);
            bits = bits > map->shift ? map->shift : bits;
            buckets += is_open;
            is_open = false;
            cells[i] = (vg_rank_cell){(uint32_t)buckets, map->shift - bits};
            buckets += (size_t)1 << bits;
        } else {
            if (is_open && open + rows > wanted) {
                buckets++;
                is_open = false;
            }
            open = is_open ? open + rows : rows;
            is_open = true;
            cells[i] = (vg_rank_cell){(uint32_t)buckets, map->shift};
        }
        if (buckets >= MOST_BUCKETS)
            return false;
    }
    map->buckets = buckets + is_open;
    return true;
}

/* The map for a measure, learned from every step-th row. */
static bool learn(bucket_map *map, const vg_rank_room *room, const vg_measure *measure, size_t rows) {
    unsigned bits = rows < MANY_ROWS ? WIDE_CELL_BITS : NARROW_CELL_BITS;
    size_t step = rows / SAMPLED + 1, wanted = rows / WANTED_BUCKETS;
    double sign = measure->certainty ? -1 : 1;
    *map = (bucket_map){.cells = room->cells, .shift = 64 - bits};
    map->below = ((uint64_t)1 << map->shift) - 1;
    memset(room->cells, 0, ((size_t)1 << bits) * sizeof *room->cells);
    for (size_t i = 0; i < rows; i += step)
        room->cells[vg_evaluate__key(sign * measure->values[i * measure->stride]) >> map->shift].first++;
    return share_out(map, room->cells, (size_t)1 << bits, step, wanted > BUCKET_ROWS ? wanted : (size_t)BUCKET_ROWS);
}

/* One bucket for each quarter of all keys. */
static void quarter(bucket_map *map, const vg_rank_room *room) {
    *map = (bucket_map){.cells = room->cells, .shift = 62, .below = ((uint64_t)1 << 62) - 1, .buckets = QUARTERS};
    for (uint32_t i = 0; i < QUARTERS; i++)
        room->cells[i] = (vg_rank_cell){i, 62};
}

/* --- rows to buckets -------------------------------------------------------------------------------------------------------
 */
static vg_status nan_found(const vg_measure *measure, size_t rows) {
    size_t i = 0;
    while (i < rows && !isnan(measure->values[i * measure->stride]))
        i++;
    return vg_base__fail(VG_ERR_DATA, "measure %s: value %zu is NaN; a number is needed to rank it", measure->name, i);
}

/* Items, the bucket of each, and how many there are in each. An item is the key with the mark below it; the key's highest bit,
 * for which there is no room, is the same in all of a bucket. */
static bool assign(const vg_rank_room *room, const bucket_map *map, const vg_measure *measure, const uint8_t *errors,
                   size_t error_stride, size_t first, size_t last) {
    double sign = measure->certainty ? -1 : 1;
    const double *values = measure->values;
    size_t stride = measure->stride;
    uint64_t *items = room->items;
    uint16_t *buckets = room->bucket;
    uint32_t *counts = room->starts + 1;
    const bucket_map m = *map;
    bool odd = false;
    for (size_t i = first; i < last; i++) {
        double value = sign * values[i * stride];
        odd |= isnan(value);
        uint64_t key = vg_evaluate__key(value);
        size_t bucket = bucket_of(&m, key);
        items[i] = key << 1 | (errors[i * error_stride] != 0);
        buckets[i] = (uint16_t)bucket;
        counts[bucket]++;
    }
    return !odd;
}

static void bring_together(const vg_rank_room *room, uint32_t *next, size_t first, size_t last) {
    const uint64_t *items = room->items;
    const uint16_t *buckets = room->bucket;
    uint64_t *out = room->scratch;
    for (size_t i = first; i < last; i++)
        out[next[buckets[i]]++] = items[i];
}

vg_status vg_evaluate__rank_order(vg_rank_order *order, const vg_rank_room *room, const vg_measure *measure,
                                  const uint8_t *errors, size_t error_stride, size_t rows) {
    bucket_map map;
    if (rows <= ONE_BUCKET || !learn(&map, room, measure, rows))
        quarter(&map, room);
    uint32_t *starts = room->starts;
    memset(starts, 0, (map.buckets + 1) * sizeof *starts);
    for (size_t first = 0; first < rows; first += VG_SLICE) {
        VG_TRY(vg_evaluate__pulse(room->pulse, room->worker));
        size_t last = rows - first < VG_SLICE ? rows : first + VG_SLICE;
        if (!assign(room, &map, measure, errors, error_stride, first, last))
            return nan_found(measure, rows);
    }
    for (size_t b = 0; b < map.buckets; b++)
        starts[b + 1] += starts[b];
    uint32_t *next = room->next;
    memcpy(next, starts, map.buckets * sizeof *next);
    for (size_t first = 0; first < rows; first += VG_SLICE) {
        VG_TRY(vg_evaluate__pulse(room->pulse, room->worker));
        bring_together(room, next, first, rows - first < VG_SLICE ? rows : first + VG_SLICE);
    }
    *order = (vg_rank_order){.room = room, .buckets = map.buckets, .upper = bucket_of(&map, (uint64_t)1 << 63)};
    return VG_OK;
}

/* --- one bucket in order ----------------------------------------------------------------------------------------------------
 */
/* Insertion: few inversions are left, or few items there. False, items all there in some order, when it turns out long. */
static bool straighten(uint64_t *items, size_t n) {
    size_t moves = 0, most = PATIENCE * (n + SMALL);
    for (size_t i = 1; i < n; i++) {
        uint64_t item = items[i];
        if (items[i - 1] <= item)
            continue;
        size_t j = i;
        for (; j > 0 && items[j - 1] > item; j--)
            items[j] = items[j - 1];
        items[j] = item;
        moves += i - j;
        if (moves > most)
            return false;
    }
    return true;
}

/* Counts to first places. Four counts of 16 bits are summed by one multiplication; a bucket's rows fit 16 bits. */
static void sum_up(uint16_t *cells, size_t count) {
    size_t c = 0, place = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const uint64_t ones = 0x0001000100010001u;
    for (uint64_t four; c + 4 <= count; c += 4) {
        memcpy(&four, cells + c, sizeof four);
        uint64_t upto = four * ones, first = upto - four + place * ones;
        memcpy(cells + c, &first, sizeof first);
        place += upto >> 48;
    }
#endif
    for (; c < count; c++) {
        size_t here = cells[c];
        cells[c] = (uint16_t)place;
        place += here;
    }
}

/* Sorts n items, `least` the smallest and all below least + 2^range; the result lies in one of the two arrays, which is
 * returned. */
static uint64_t *sort_items(uint64_t *from, uint64_t *to, size_t n, uint64_t least, unsigned range, uint16_t *cells) {
    unsigned bits = bits_of(n) + FINER, shift = range > bits ? range - bits : 0;
    if (n <= SMALL || n > LARGE) {
        if (n > LARGE || !straighten(from, n))
            vg_evaluate__sort_keys(from, to, n);
        return from;
    }
    memset(cells, 0, sizeof *cells << (range - shift));
    for (size_t i = 0; i < n; i++)
        cells[(from[i] - least) >> shift]++;
    sum_up(cells, (size_t)1 << (range - shift));
    for (size_t i = 0; i < n; i++)
        to[cells[(from[i] - least) >> shift]++] = from[i];
    if (shift > 0 && !straighten(to, n))
        vg_evaluate__sort_keys(to, from, n);
    return to;
}

/* Bits that the items' distance from the smallest takes, where the map does not tell. */
static unsigned range_of(uint64_t *least, const uint64_t *items, size_t n) {
    uint64_t low = items[0], high = low;
    for (size_t i = 1; i < n; i++) {
        low = items[i] < low ? items[i] : low;
        high = items[i] > high ? items[i] : high;
    }
    *least = low;
    return bits_of(high - low);
}

bool vg_evaluate__rank_next(vg_rank_run *run, vg_rank_order *order) {
    const vg_rank_room *room = order->room;
    const uint32_t *starts = room->starts;
    while (order->next < order->buckets && starts[order->next] == starts[order->next + 1])
        order->next++;
    if (order->next == order->buckets)
        return false;
    size_t start = starts[order->next], n = starts[order->next + 1] - start;
    uint64_t *items = room->scratch + start, least;
    unsigned range = range_of(&least, items, n);
    run->items = sort_items(items, n > LARGE ? room->items + start : room->hot, n, least, range, room->fine);
    run->count = n;
    run->high = order->next >= order->upper ? (uint64_t)1 << 63 : 0;
    order->next++;
    return true;
}

/* --- memory ------------------------------------------------------------------------------------------------------------------
 */
vg_status vg_evaluate__rank_room(vg_rank_room *room, size_t rows, vg_pulse *pulse, unsigned worker) {
    *room = (vg_rank_room){.pulse = pulse, .worker = worker};
    if (rows > UINT32_MAX)
        return vg_base__fail(VG_ERR_ARGUMENT, "ranking: %zu rows, at most %u", rows, UINT32_MAX);
    size_t cells = (size_t)1 << (rows < MANY_ROWS ? WIDE_CELL_BITS : NARROW_CELL_BITS);
    vg_status status = vg_base__alloc_wide(&room->items, rows, sizeof *room->items, "keys to sort");
    if (status == VG_OK)
        status = vg_base__alloc_wide(&room->scratch, rows, sizeof *room->scratch, "keys to sort");
    if (status == VG_OK)
        status = vg_base__alloc_wide(&room->bucket, rows, sizeof *room->bucket, "keys to sort");
    if (status == VG_OK)
        status = vg_base__alloc_wide(&room->before, rows + 1, sizeof *room->before, "groups of a ranking");
    if (status == VG_OK)
        status = vg_base__alloc(&room->where, rows + 1, sizeof *room->where, "errors of a ranking");
    if (status == VG_OK)
        status = vg_base__alloc(&room->tied, rows / 2 + 1, sizeof *room->tied, "ties of a ranking");
    if (status == VG_OK)
        status = vg_base__alloc(&room->cells, cells, sizeof *room->cells, "cells of a ranking");
    if (status == VG_OK)
        status = vg_base__alloc(&room->starts, (size_t)MOST_BUCKETS + 2, sizeof *room->starts, "buckets of a ranking");
    if (status == VG_OK)
        status = vg_base__alloc(&room->next, (size_t)MOST_BUCKETS + 2, sizeof *room->next, "buckets of a ranking");
    if (status == VG_OK)
        status = vg_base__alloc(&room->fine, 8 * (size_t)LARGE + 2, sizeof *room->fine, "cells of a bucket");
    if (status == VG_OK)
        status = vg_base__alloc(&room->hot, LARGE, sizeof *room->hot, "items of a bucket");
    if (status != VG_OK)
        vg_evaluate__rank_room_free(room);
    return status;
}

void vg_evaluate__rank_room_free(vg_rank_room *room) {
    void *parts[] = {room->items, room->scratch, room->bucket, room->before, room->where, room->tied,
                     room->cells, room->starts,  room->next,   room->fine,   room->hot};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        vg_base__release(parts[i]);
    *room = (vg_rank_room){0};
}
