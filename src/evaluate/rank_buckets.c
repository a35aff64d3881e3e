/* rank_buckets.c - orders the rows of a measure, one small bucket at a time: every ranking starts from this.
 *
 *  1. A sample of the rows shows the distribution of the keys. Cells of equal width (the sign, the exponent and a few
 *     bits of the mantissa) become buckets of about equal mass: full cells are cut in equal parts, sparse
 *     neighbours are joined.
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
    WIDE_CELL_BITS = 12,   /* cells of few rows: sign and exponent */
    NARROW_CELL_BITS = 16, /* of many: and four bits of the mantissa */
    MANY_ROWS = 1 << 15,
    MOST_BUCKETS = 4096,
    BUCKET_ROWS = 384,
    WANTED_BUCKETS = 384, /* with more, the cursors of the buckets do not fit the caches while rows are gathered */
    ONE_BUCKET = 1024,    /* so few rows need no map */
    SAMPLED = 1 << 14,    /* rows at most, */
    SPARSE = 8,           /* and every eighth at most, */
    TOGETHER = 4,         /* that many adjacent rows, which share a cache line */
    JOINED = 8,           /* used cells in a bucket: of more, the keys would be too far apart to be counted */
    SMALL = 12,
    LARGE = 8192,
    FINEST = 1,  /* largest value of kernels->finer */
    PATIENCE = 4 /* moves per row before insertion gives up */
};

/* --- cells to buckets ------------------------------------------------------------------------------------------- */
static inline size_t bucket_of(const vg_bucket_map *map, uint64_t key) {
    vg_rank_cell cell = map->cells[key >> map->shift];
    return cell.first + (size_t)((key & map->below) >> cell.shift);
}

/* The cells that the sample counts in: the first and the last. All others are empty, and are not read. */
typedef struct cell_range {
    size_t first, last;
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
static size_t next_used(const vg_rank_cell *cells, size_t i, size_t end, cell_range used) {
    i = i < used.first ? used.first : i;
    while (i <= used.last && i < end && cells[i].first == 0)
        i++;
    return i <= used.last && i < end ? i : end;
}

/* cells[].first holds counts of the sample, each of which represents `step` rows; a bucket is to have `wanted` rows.
 * False when there would be too many buckets. */
static bool share_out(vg_bucket_map *map, vg_rank_cell *cells, size_t count, size_t step, size_t wanted,
                      cell_range used) {
    /* rows in the open bucket of joined cells, and its first cell; `buckets` is the index of the next one */
    size_t buckets = 0, open = 0, start = 0;
    bool is_open = false;
    for (size_t i = 0; i < count; i++) {
        size_t rows = i < used.first || i > used.last ? 0 : cells[i].first * step;
        if ((i & (count / QUARTERS - 1)) == 0) { /* no bucket spans more than a quarter of all keys */
            buckets += is_open;
            is_open = false;
        }
        if (rows > wanted) {
            unsigned bits = vg_evaluate__bits((rows - 1) / wanted);
            bits = bits > map->shift ? map->shift : bits;
            buckets += is_open;
            is_open = false;
            cells[i] = (vg_rank_cell){(uint32_t)buckets, map->shift - bits};
            if (buckets + ((size_t)1 << bits) > MOST_BUCKETS)
                return false;
            for (size_t part = 0; part < (size_t)1 << bits; part++, buckets++) {
                map->bounds[buckets].least = ((uint64_t)i << map->shift | (uint64_t)part << (map->shift - bits)) << 1;
                map->bounds[buckets].range = map->shift - bits + 1;
            }
        } else {
            if (is_open && (open + rows > wanted || (rows > 0 && (open == 0 || i - start >= JOINED)))) {
                buckets++;
                is_open = false;
            }
            if (buckets >= MOST_BUCKETS)
                return false;
            start = is_open ? start : i;
            open = is_open ? open + rows : rows;
            is_open = true;
            map->bounds[buckets].range = 0;
            size_t end = next_used(cells, i + 1, (i / (count / QUARTERS) + 1) * (count / QUARTERS), used);
            fill_cells(cells, i, end, (vg_rank_cell){(uint32_t)buckets, map->shift}); /* and the empty ones after it */
            i = end - 1;
        }
    }
    map->buckets = buckets + is_open;
    return true;
}

/* Makes the map for a measure from one row in `step`. */
static bool learn(vg_bucket_map *map, vg_rank_room *room, const vg_rank_column *column, size_t rows) {
    unsigned bits = rows < MANY_ROWS ? WIDE_CELL_BITS : NARROW_CELL_BITS;
    size_t step = rows / SAMPLED > SPARSE ? rows / SAMPLED : (size_t)SPARSE, wanted = rows / WANTED_BUCKETS;
    double sign = column->measure.certainty ? -1 : 1;
    uint16_t *sample = room->fine; /* the cells of the sample, at most twice SAMPLED */
    size_t count = 0;
    cell_range used = {(size_t)1 << bits, 0};
    *map = (vg_bucket_map){.cells = room->cells, .shift = 64 - bits, .bounds = room->bounds};
    map->below = ((uint64_t)1 << map->shift) - 1;
    for (size_t i = 0; i + TOGETHER <= rows; i += TOGETHER * step)
        for (size_t j = i; j < i + TOGETHER; j++) {
            size_t cell = (size_t)(vg_evaluate__key(sign * vg_evaluate__value(column, j)) >> map->shift);
            used.first = cell < used.first ? cell : used.first;
            used.last = cell > used.last ? cell : used.last;
            sample[count++] = (uint16_t)cell;
        }
    memset(room->cells + used.first, 0, (used.last + 1 - used.first) * sizeof *room->cells);
    for (size_t i = 0; i < count; i++)
        room->cells[sample[i]].first++;
    return share_out(map, room->cells, (size_t)1 << bits, step, wanted > BUCKET_ROWS ? wanted : (size_t)BUCKET_ROWS,
                     used);
}

/* One bucket for each quarter of all keys. */
static void quarter(vg_bucket_map *map, vg_rank_room *room) {
    *map = (vg_bucket_map){.cells = room->cells, .shift = 62, .below = ((uint64_t)1 << 62) - 1, .buckets = QUARTERS};
    for (uint32_t i = 0; i < QUARTERS; i++) {
        room->cells[i] = (vg_rank_cell){i, 62};
        room->bounds[i].range = 0;
    }
}

/* --- rows to buckets -------------------------------------------------------------------------------------------- */
static vg_status nan_found(const vg_rank_column *column, size_t rows) {
    size_t i = 0;
    while (i < rows && !isnan(vg_evaluate__value(column, i)))
        i++;
    return vg_base__fail(VG_ERR_DATA, "measure %s: value %zu is NaN; a number is needed to rank it",
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
    if (largest <= LARGE || largest <= room->spill_rows)
        return VG_OK;
    vg_base__release(room->spill);
    room->spill_rows = 0;
    VG_TRY(vg_base__alloc(&room->spill, largest, 2 * sizeof *room->spill, "keys to sort"));
    room->spill_rows = largest;
    return VG_OK;
}

vg_status vg_evaluate__rank_order(vg_rank_order *order, vg_rank_room *room, const vg_rank_column *column,
                                  const uint8_t *errors, size_t error_stride, size_t rows) {
    vg_bucket_map map;
    if (rows <= ONE_BUCKET || !learn(&map, room, column, rows))
        quarter(&map, room);
    room->chunks = (uint32_t)map.buckets;      /* each bucket begins with one chunk */
    if (rows >= MANY_ROWS && !room->populated) /* once, by the worker that will write there */
        vg_base__populate(room->items, (rows / VG_CHUNK + map.buckets) * VG_CHUNK_BYTES);
    room->populated = true;
    for (size_t b = 0; b < map.buckets; b++) {
        room->cursor[b] = room->items + b * VG_CHUNK;
        room->full[b] = 0;
    }
    vg_rank_rows source = {*column, errors, error_stride};
    for (size_t first = 0; first < rows; first += VG_SLICE) {
        VG_TRY(vg_evaluate__pulse(room->pulse, room->worker));
        size_t last = rows - first < VG_SLICE ? rows : first + VG_SLICE;
        if (!room->kernels->gather_rows(room, &map, &source, first, last))
            return nan_found(column, rows);
    }
    VG_TRY(make_spill(room, map.buckets));
    *order =
        (vg_rank_order){.room = room, .map = map, .buckets = map.buckets, .upper = bucket_of(&map, (uint64_t)1 << 63)};
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

/* Sorts the items of a bucket directly from its chunks into `to`. NULL, and nothing done, where the bucket is too small
 * or too large for that, or all of its items are equal. */
static uint64_t *sort_chunks(uint64_t *to, const vg_rank_room *room, size_t bucket, size_t n) {
    if (n <= SMALL || n > LARGE)
        return NULL;
    vg_rank_bounds bounds = vg_evaluate__bucket_bounds(room, bucket, n);
    uint64_t least = bounds.least;
    unsigned bits = vg_evaluate__bits(n) + room->kernels->finer, shift = bounds.range > bits ? bounds.range - bits : 0;
    uint16_t *cells = room->fine;
    if (bounds.range == 0)
        return NULL;
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
    return to;
}

/* Copies the n items of a bucket out of its chunks. */
static void gather(uint64_t *to, const vg_rank_room *room, size_t bucket, size_t n) {
    for (size_t done = 0, chunk = bucket; done < n; done += VG_CHUNK, chunk = room->link[chunk])
        memcpy(to + done, room->items + chunk * VG_CHUNK, (n - done < VG_CHUNK ? n - done : VG_CHUNK) * sizeof *to);
}

bool vg_evaluate__rank_next(vg_rank_run *run, vg_rank_order *order) {
    const vg_rank_room *room = order->room;
    size_t n = 0;
    while (order->next < order->buckets && (n = vg_evaluate__bucket_rows(room, order->next)) == 0)
        order->next++;
    if (order->next == order->buckets)
        return false;
    run->items = sort_chunks(room->hot, room, order->next, n);
    if (!run->items) {
        uint64_t *items = n > LARGE ? room->spill : room->hot;
        gather(items, room, order->next, n);
        sort_items(room, items, items + (n > LARGE ? n : (size_t)LARGE), n);
        run->items = items;
    }
    run->count = n;
    run->high = order->next >= order->upper ? (uint64_t)1 << 63 : 0;
    order->next++;
    return true;
}

/* --- memory ----------------------------------------------------------------------------------------------------- */
vg_status vg_evaluate__rank_room(vg_rank_room *room, size_t rows, vg_pulse *pulse, unsigned worker) {
    *room = (vg_rank_room){.kernels = vg_evaluate__rows(), .pulse = pulse, .worker = worker};
    if (rows > UINT32_MAX)
        return vg_base__fail(VG_ERR_ARGUMENT, "ranking: %zu rows, at most %u", rows, UINT32_MAX);
    size_t buckets = rows <= ONE_BUCKET ? (size_t)QUARTERS : (size_t)MOST_BUCKETS, chunks = rows / VG_CHUNK + buckets;
    size_t cells = (size_t)1 << (rows < MANY_ROWS ? WIDE_CELL_BITS : NARROW_CELL_BITS);
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
        {&room->fine, (size_t)LARGE << (FINEST + 1), sizeof *room->fine},
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
