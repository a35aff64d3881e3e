/* rank_buckets.c - orders the rows of a measure, one small bucket at a time: every ranking starts from this.
 *
 *  1. A sample of the rows shows the distribution of the keys. Cells of equal width, from the least to the largest
 *     key of the sample, become buckets of about equal mass: full cells are cut in equal parts, sparse neighbours are
 *     joined. Keys outside belong to the first or the last cell.
 *  2. One pass makes the keys and appends each to its bucket, a chain of chunks: 9 bytes per row are read, 8 written.
 *     An item is the key with the error mark as its lowest bit, so that of equal values the correct rows come first.
 *     The key's highest bit does not fit into the item; it is the same for all items of a bucket.
 *  3. A bucket of some hundred or thousand rows fits the first-level cache and is sorted there: its items are counted
 *     into about as many fine cells as it has rows, then the few inversions that are left are removed, by exchanges
 *     of neighbours in vector registers and by insertion. Buckets that are too large, or whose keys are too close
 *     together for that, go to the general sort.
 *
 * The sample decides how even the buckets are, never the order, which is exact for any values. */
#include "evaluate/evaluate_internal.h"

enum {
    QUARTERS = 4,
    CELL_BITS = 11,      /* cells from the least to the largest key of the sample; more where these would be wider */
    WIDE_CELL_BITS = 16, /* than those of all keys: sign, exponent and four bits of the mantissa, */
    FEW_CELL_BITS = 12,  /* for few rows sign and exponent */
    MANY_ROWS = 1 << 15,
    MOST_BUCKETS = 4096,
    BUCKET_ROWS = 384,
    WANTED_BUCKETS = 256, /* with more, the cursors of the buckets do not fit the caches while rows are gathered */
    ONE_BUCKET = 1024,    /* so few rows need no map */
    SAMPLED = 1 << 14,    /* rows at most, */
    SPARSE = 16,          /* and every sixteenth at most, */
    TOGETHER = 8,         /* that many adjacent rows, which share a cache line */
    JOINED = 64,          /* used cells in a bucket: of more, the keys would be too far apart to be counted */
    SMALL = 12,
    LARGE = 8192,
    PATIENCE = 4 /* moves per row before insertion gives up */
};

/* --- cells to buckets ------------------------------------------------------------------------------------------- */

/* The cells of a map. A bucket begins at every multiple of `quarter`. */
typedef struct cell_range {
    size_t count, quarter;
} cell_range;

/* Sets cells from .. to - 1 to one value, some at a time. */
static void fill_cells(vg_rank_cell *cells, size_t from, size_t to, vg_rank_cell value) {
    enum { TOGETHER_CELLS = 64 };
    for (size_t i = from; i < to && i < from + TOGETHER_CELLS; i++)
        cells[i] = value;
    for (size_t i = from + TOGETHER_CELLS; i < to; i += TOGETHER_CELLS)
        memcpy(cells + i, cells + from, (to - i < TOGETHER_CELLS ? to - i : TOGETHER_CELLS) * sizeof *cells);
}

/* The first cell from i on, below `end`, that is not empty; `end` when all are. */
static size_t next_used(const vg_rank_cell *cells, size_t i, size_t end) {
    while (i < end && cells[i].first == 0)
        i++;
    return i;
}

/* The range of the items of a bucket, cells first .. end - 1. Not known where it includes keys outside of the cells, or
 * has many cells, which are empty but for a few. */
static vg_rank_bounds cell_bounds(const vg_bucket_map *map, size_t first, size_t end, size_t count) {
    if (first == 0 || end == count || end - first > 2 * JOINED)
        return (vg_rank_bounds){0, 0};
    return (vg_rank_bounds){(map->least + ((uint64_t)first << map->shift)) << 1,
                            vg_evaluate__bits(end - first - 1) + map->shift + 1};
}

/* cells[].first holds counts of the sample, each of which represents `step` rows; a bucket is to have `wanted` rows.
 * The first and the last cell, where the keys outside are, are a bucket each. Whatever the sample, there are far fewer
 * buckets than MOST_BUCKETS: of cut cells, at most two for each `wanted` rows, which are WANTED_BUCKETS of all rows at
 * most; of joined ones about as many again, one more for each cut cell, and one for each JOINED cells of 2^16. */
static void share_out(vg_bucket_map *map, vg_rank_cell *cells, size_t step, size_t wanted, cell_range range) {
    /* rows in the open bucket of joined cells, and its first cell; `buckets` is the index of the next one */
    size_t buckets = 0, open = 0, start = 0, last = range.count - 1;
    bool is_open = false;
    for (size_t i = 0; i < range.count; i++) {
        size_t rows = cells[i].first * step;
        if (i % range.quarter == 0 || i == last) {
            buckets += is_open;
            is_open = false;
        }
        if (rows > wanted && i > 0 && i < last) {
            unsigned bits = vg_evaluate__bits((rows - 1) / wanted);
            bits = bits > map->shift ? map->shift : bits;
            buckets += is_open;
            is_open = false;
            cells[i] = (vg_rank_cell){(uint32_t)buckets, map->shift - bits};
            for (size_t part = 0; part < (size_t)1 << bits; part++, buckets++) {
                uint64_t from = ((uint64_t)i << map->shift) + ((uint64_t)part << (map->shift - bits));
                map->bounds[buckets] = (vg_rank_bounds){(map->least + from) << 1, map->shift - bits + 1};
            }
        } else {
            bool full = open + rows > wanted || (rows > 0 && (open == 0 || i - start >= JOINED));
            if (is_open && (start == 0 || full)) {
                buckets++;
                is_open = false;
            }
            start = is_open ? start : i;
            open = is_open ? open + rows : rows;
            is_open = true;
            size_t limit = (i / range.quarter + 1) * range.quarter;
            size_t end = i == last ? range.count : next_used(cells, i + 1, limit < last ? limit : last);
            fill_cells(cells, i, end, (vg_rank_cell){(uint32_t)buckets, map->shift}); /* and the empty ones after it */
            map->bounds[buckets] = cell_bounds(map, start, end, range.count);
            i = end - 1;
        }
    }
    map->buckets = buckets + is_open;
}

/* All numbers, by their keys: one sign or both. */
static void allow_keys(vg_bucket_map *map, bool negative, bool positive) {
    const uint64_t middle = (uint64_t)1 << 63;
    map->allowed = negative ? vg_evaluate__key(-INFINITY) : middle;
    map->allowed_span = (positive ? vg_evaluate__key(INFINITY) : middle - 1) - map->allowed;
}

/* The cells for a sample of keys: between the least and the largest, with one to spare on both sides for the keys
 * outside; or cells of all keys, because a bucket's keys must have the same highest bit. */
static cell_range make_cells(vg_bucket_map *map, uint64_t least, uint64_t most, unsigned wide_bits, bool wide) {
    bool positive = most >> 63, negative = !(least >> 63);
    *map = (vg_bucket_map){.most = UINT64_MAX, .shift = 64 - wide_bits};
    cell_range cells = {.quarter = ((size_t)1 << wide_bits) / QUARTERS};
    wide = wide || (positive && negative);
    allow_keys(map, wide || negative, wide || positive);
    if (!wide) {
        uint64_t first = map->allowed, end = map->allowed + map->allowed_span; /* NaN, refused later, is outside */
        least = least < first ? first : least > end ? end : least;
        most = most < least ? least : most > end ? end : most;
        unsigned range = vg_evaluate__bits(most - least);
        unsigned shift = range > CELL_BITS ? range - CELL_BITS : 0;
        map->shift = shift < map->shift ? shift : map->shift;
        uint64_t spare = (uint64_t)1 << map->shift;
        map->least = least - first > spare ? least - spare : first;
        map->most = end - most > spare ? most + spare : end;
        cells.quarter = SIZE_MAX;
    }
    map->below = ((uint64_t)1 << map->shift) - 1;
    cells.count = (size_t)((map->most - map->least) >> map->shift) + 1;
    return cells;
}

static unsigned cell_bits(size_t rows) { return rows < MANY_ROWS ? FEW_CELL_BITS : WIDE_CELL_BITS; }

/* Makes the map for a measure from one row in `step`. Zeros, of which there may be many, lie outside of the cells. */
static void learn(vg_bucket_map *map, vg_rank_room *room, const vg_rank_column *column, size_t rows, bool wide) {
    size_t step = rows / SAMPLED > SPARSE ? rows / SAMPLED : (size_t)SPARSE, wanted = rows / WANTED_BUCKETS;
    uint64_t *sample = (uint64_t *)(void *)room->before, least = UINT64_MAX, most = 0;
    uint64_t zero = column->measure.certainty ? ~vg_evaluate__key(0) : vg_evaluate__key(0);
    size_t count = 0;
    for (size_t i = 0; i + TOGETHER <= rows; i += TOGETHER * step)
        for (size_t j = i; j < i + TOGETHER; j++) {
            uint64_t key = vg_evaluate__row_key(column, j);
            least = key < least && key != zero ? key : least;
            most = key > most && key != zero ? key : most;
            sample[count++] = key;
        }
    if (least > most)
        least = most = zero;
    cell_range range = make_cells(map, least, most, cell_bits(rows), wide);
    map->cells = room->cells;
    map->bounds = room->bounds;
    memset(room->cells, 0, range.count * sizeof *room->cells);
    for (size_t i = 0; i < count; i++)
        room->cells[vg_evaluate__inside(map, sample[i]) >> map->shift].first++;
    share_out(map, room->cells, step, wanted > BUCKET_ROWS ? wanted : (size_t)BUCKET_ROWS, range);
}

/* One bucket for each quarter of all keys. */
static void quarter(vg_bucket_map *map, vg_rank_room *room) {
    *map = (vg_bucket_map){.cells = room->cells,
                           .most = UINT64_MAX,
                           .shift = 62,
                           .below = ((uint64_t)1 << 62) - 1,
                           .buckets = QUARTERS,
                           .bounds = room->bounds};
    allow_keys(map, true, true);
    for (uint32_t i = 0; i < QUARTERS; i++) {
        room->cells[i] = (vg_rank_cell){i, 62};
        room->bounds[i].range = 0;
    }
}

/* --- rows to buckets -------------------------------------------------------------------------------------------- */
static vg_status check_nan(const vg_rank_column *column, size_t rows) {
    size_t i = 0;
    while (i < rows && !isnan(vg_evaluate__value(column, i)))
        i++;
    return i == rows ? VG_OK
                     : vg_base__fail(VG_ERR_DATA, "measure %s: value %zu is NaN; a number is needed to rank it",
                                     column->measure.name, i);
}

size_t vg_evaluate__bucket_rows(const vg_rank_room *room, size_t bucket) {
    return (size_t)room->full[bucket] * VG_CHUNK + (uintptr_t)room->cursor[bucket] % VG_CHUNK_BYTES / sizeof(uint64_t);
}

/* Allocates memory for buckets too large for `hot`, twice the largest. */
static vg_status make_spill(vg_rank_room *room, size_t buckets) {
    size_t largest = 0;
    for (size_t b = 0; b < buckets; b++) {
        size_t n = vg_evaluate__bucket_rows(room, b);
        largest = n > largest ? n : largest;
    }
    if (largest <= room->spill_rows)
        return VG_OK;
    vg_base__release(room->spill);
    VG_TRY(vg_base__alloc(&room->spill, largest, 2 * sizeof *room->spill, "keys to sort"));
    room->spill_rows = largest;
    return VG_OK;
}

/* Puts all rows into the buckets of a map. *fit: false where a value is not allowed in it. */
static vg_status gather_all(bool *fit, vg_rank_room *room, const vg_bucket_map *map, const vg_rank_rows *source,
                            size_t rows) {
    room->chunks = (uint32_t)map->buckets;     /* each bucket begins with one chunk */
    if (rows >= MANY_ROWS && !room->populated) /* once, by the worker that will write there */
        vg_base__populate(room->items, (rows / VG_CHUNK + map->buckets) * VG_CHUNK_BYTES);
    room->populated = *fit = true;
    for (size_t b = 0; b < map->buckets; b++) {
        room->cursor[b] = room->items + b * VG_CHUNK;
        room->full[b] = 0;
    }
    for (size_t first = 0; *fit && first < rows; first += VG_SLICE) {
        VG_TRY(vg_evaluate__pulse(room->pulse, room->worker));
        *fit = room->kernels->gather_rows(room, map, source, first, rows - first < VG_SLICE ? rows : first + VG_SLICE);
    }
    return VG_OK;
}

vg_status vg_evaluate__rank_order(vg_rank_order *order, vg_rank_room *room, const vg_rank_column *column,
                                  const uint8_t *errors, size_t error_stride, size_t rows) {
    vg_bucket_map map;
    vg_rank_rows source = {*column, errors, error_stride};
    bool fit;
    if (rows <= ONE_BUCKET)
        quarter(&map, room);
    else
        learn(&map, room, column, rows, false);
    VG_TRY(gather_all(&fit, room, &map, &source, rows));
    if (!fit) { /* NaN, or a sign that the sample did not show */
        VG_TRY(check_nan(column, rows));
        learn(&map, room, column, rows, true);
        VG_TRY(gather_all(&fit, room, &map, &source, rows));
    }
    VG_TRY(make_spill(room, map.buckets));
    *order = (vg_rank_order){.room = room, .map = map, .buckets = map.buckets, .upper = map.buckets};
    if ((map.allowed + map.allowed_span) >> 63) /* positive values */
        order->upper = vg_evaluate__bucket(&map, (uint64_t)1 << 63);
    return VG_OK;
}

/* --- one bucket in order ---------------------------------------------------------------------------------------- */
/* Sorts by insertion, for few inversions or few items. False when it takes too long; all items are then still there,
 * in some order. */
static bool fix_bucket_order(const vg_rank_room *room, uint64_t *items, size_t n) {
    return room->kernels->fix_bucket_order(items, n, PATIENCE * (n + SMALL));
}

/* Sorts n items; `scratch` has room for as many. */
static void sort_items(const vg_rank_room *room, uint64_t *items, uint64_t *scratch, size_t n) {
    if (n > SMALL || !fix_bucket_order(room, items, n))
        vg_evaluate__sort_keys(items, scratch, n);
}

vg_rank_bounds vg_evaluate__bucket_bounds(const vg_rank_room *room, size_t bucket, size_t n) {
    vg_rank_bounds bounds = room->bounds[bucket];
    uint64_t least = UINT64_MAX, most = 0;
    if (bounds.range > 0)
        return bounds;
    for (size_t done = 0, chunk = bucket; done < n; done += VG_CHUNK, chunk = room->link[chunk]) {
        const uint64_t *from = room->items + chunk * VG_CHUNK,
                       *end = from + (n - done < VG_CHUNK ? n - done : VG_CHUNK);
        for (; from < end; from++) {
            least = *from < least ? *from : least;
            most = *from > most ? *from : most;
        }
    }
    least &= ~(uint64_t)1; /* the difference to it keeps the error mark */
    return (vg_rank_bounds){least, vg_evaluate__bits(most - least)};
}

/* Sorts the items of a bucket directly from its chunks into `to`. False, and nothing done, where the bucket is too
 * small or too large for that, or all of its items are equal. */
static bool sort_chunks(uint64_t *to, const vg_rank_room *room, size_t bucket, size_t n) {
    if (n <= SMALL || n > LARGE)
        return false;
    vg_rank_bounds bounds = vg_evaluate__bucket_bounds(room, bucket, n);
    uint64_t least = bounds.least;
    unsigned bits = vg_evaluate__bits(n), shift = bounds.range > bits ? bounds.range - bits : 0;
    uint16_t *cells = room->fine;
    if (bounds.range == 0)
        return false;
    memset(cells, 0, sizeof *cells << (bounds.range - shift));
    for (size_t done = 0, chunk = bucket; done < n; done += VG_CHUNK, chunk = room->link[chunk]) {
        const uint64_t *from = room->items + chunk * VG_CHUNK,
                       *end = from + (n - done < VG_CHUNK ? n - done : VG_CHUNK);
        /* Prefetches the first lines of the next chunk; the hardware prefetches the others. */
        size_t next = n - done > VG_CHUNK ? room->link[chunk] : bucket + 1;
        for (size_t line = 0; line < 8; line++)
            __builtin_prefetch(room->items + next * VG_CHUNK + 8 * line);
        for (; from < end; from++)
            cells[(*from - least) >> shift]++;
    }
    room->kernels->prefix_sums(cells, (size_t)1 << (bounds.range - shift));
    for (size_t done = 0, chunk = bucket; done < n; done += VG_CHUNK, chunk = room->link[chunk]) {
        const uint64_t *from = room->items + chunk * VG_CHUNK,
                       *end = from + (n - done < VG_CHUNK ? n - done : VG_CHUNK);
        for (; from < end; from++)
            to[cells[(*from - least) >> shift]++] = *from;
    }
    if (shift > 0 && !fix_bucket_order(room, to, n))
        vg_evaluate__sort_keys(to, to + LARGE, n);
    return true;
}

/* Copies the n items of a bucket out of its chunks. */
static void gather(uint64_t *to, const vg_rank_room *room, size_t bucket, size_t n) {
    for (size_t done = 0, chunk = bucket; done < n; done += VG_CHUNK, chunk = room->link[chunk])
        memcpy(to + done, room->items + chunk * VG_CHUNK, (n - done < VG_CHUNK ? n - done : VG_CHUNK) * sizeof *to);
}

vg_status vg_evaluate__rank_next(vg_rank_run *run, vg_rank_order *order) {
    const vg_rank_room *room = order->room;
    size_t n = 0;
    if (order->given - order->asked >= VG_SLICE) {
        order->asked = order->given;
        VG_TRY(vg_evaluate__pulse(room->pulse, room->worker));
    }
    while (order->next < order->buckets && (n = vg_evaluate__bucket_rows(room, order->next)) == 0)
        order->next++;
    run->count = n;
    if (n == 0)
        return VG_OK;
    uint64_t *items = n > LARGE ? room->spill : room->hot, *scratch = items + (n > LARGE ? n : (size_t)LARGE);
    if (!sort_chunks(items, room, order->next, n)) {
        gather(items, room, order->next, n);
        sort_items(room, items, scratch, n);
    }
    run->items = items;
    run->scratch = scratch;
    run->before = order->given;
    run->high = order->next >= order->upper ? (uint64_t)1 << 63 : 0;
    order->given += n;
    order->next++;
    return VG_OK;
}

/* --- memory ----------------------------------------------------------------------------------------------------- */
vg_status vg_evaluate__rank_room(vg_rank_room *room, size_t rows, vg_pulse *pulse, unsigned worker) {
    *room = (vg_rank_room){.kernels = vg_evaluate__rows(), .spill_rows = LARGE, .pulse = pulse, .worker = worker};
    if (rows > UINT32_MAX)
        return vg_base__fail(VG_ERR_ARGUMENT, "ranking: %zu rows, at most %u", rows, UINT32_MAX);
    size_t buckets = rows <= ONE_BUCKET ? (size_t)QUARTERS : (size_t)MOST_BUCKETS, chunks = rows / VG_CHUNK + buckets;
    size_t cells = (size_t)1 << cell_bits(rows);
    const struct {
        void *place;
        size_t count, size;
    } parts[] = {
        {&room->memory, chunks + 1, VG_CHUNK_BYTES},
        {&room->link, chunks, sizeof *room->link},
        {&room->cursor, buckets, sizeof *room->cursor},
        {&room->full, buckets, sizeof *room->full},
        {&room->bounds, buckets, sizeof *room->bounds},
        {&room->cells, rows <= ONE_BUCKET ? (size_t)QUARTERS : cells, sizeof *room->cells},
        {&room->hot, 2 * (size_t)LARGE, sizeof *room->hot},
        {&room->fine, (size_t)LARGE << 1, sizeof *room->fine},
        {&room->before, rows + 8, sizeof *room->before},
        {&room->tied, rows / 2, sizeof *room->tied},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        vg_status status = vg_base__alloc(parts[i].place, parts[i].count, parts[i].size, "rows to rank");
        if (status != VG_OK) {
            vg_evaluate__rank_room_free(room);
            return status;
        }
    }
    room->items = room->memory + (VG_CHUNK - (uintptr_t)room->memory % VG_CHUNK_BYTES / sizeof(uint64_t)) % VG_CHUNK;
    return VG_OK;
}

void vg_evaluate__rank_room_free(vg_rank_room *room) {
    void *parts[] = {room->bounds, room->memory, room->link,  room->cursor, room->full, room->cells,
                     room->hot,    room->fine,   room->spill, room->before, room->tied};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        vg_base__release(parts[i]);
    *room = (vg_rank_room){0};
}
