/* rows_plain.c - rows and samples one at a time, the portable form of x86/rows_avx512.c, and the choice between
 * them. */
#include "base/cpu.h"
#include "evaluate/evaluate_internal.h"

/* The keys of n rows. False where one is not allowed in the map. */
static bool read_keys(uint64_t *keys, const vg_rank_column *column, const vg_bucket_map *map, size_t first, size_t n) {
    const uint64_t flip = column->measure.certainty ? UINT64_MAX : 0, allowed = map->allowed, span = map->allowed_span;
    const double *values = column->measure.values + first * column->measure.stride;
    size_t stride = column->measure.stride;
    double made[VG_ROW_BATCH];
    bool fit = true;
    if (column->less || column->complement) { /* else the values are the stored ones */
        for (size_t i = 0; i < n; i++)
            made[i] = vg_evaluate__value(column, first + i);
        values = made;
        stride = 1;
    }
    for (size_t i = 0; i < n; i++) {
        keys[i] = vg_evaluate__key(values[i * stride]) ^ flip;
        fit &= keys[i] - allowed <= span;
    }
    return fit;
}

/* Replaces the keys of n rows by their items, and finds the buckets. */
static void place(uint64_t *items, uint16_t *buckets, const vg_bucket_map *map, const uint8_t *errors, size_t stride,
                  size_t n) {
    const vg_bucket_map m = *map;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = items[i];
        buckets[i] = (uint16_t)vg_evaluate__bucket(&m, key);
        items[i] = key << 1 | (errors[i * stride] != 0);
    }
}

/* In short loops over some rows, whose variables fit the registers. */
static bool gather_rows(vg_rank_room *room, const vg_bucket_map *map, const vg_rank_rows *rows, size_t first,
                        size_t last) {
    const size_t stride = rows->error_stride;
    uint64_t items[VG_ROW_BATCH];
    uint16_t buckets[VG_ROW_BATCH];
    bool fit = true;
    for (size_t i = first, n; i < last; i += n) {
        n = last - i < VG_ROW_BATCH ? last - i : (size_t)VG_ROW_BATCH;
        fit &= read_keys(items, &rows->column, map, i, n);
        place(items, buckets, map, rows->errors + i * stride, stride, n);
        for (size_t j = 0; j < n; j++)
            vg_evaluate__append(room, buckets[j], items[j]);
        if (room->bucket_of)
            memcpy(room->bucket_of + i, buckets, n * sizeof *buckets);
    }
    return fit;
}

/* Four counts of 16 bits are summed by one multiplication. */
static void prefix_sums(uint16_t *cells, size_t count) {
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

/* Two passes of bubble sort in one: carries the two largest items so far along. By selections, because which of two
 * neighbours is larger cannot be predicted. n > 1. */
static void settle(uint64_t *items, size_t n) {
    uint64_t most = items[0], next = 0; /* next <= most; 0 is passed to no item */
    for (size_t i = 1; i < n; i++) {
        uint64_t item = items[i], low = item < most ? item : most;
        most = item < most ? most : item;
        if (i > 1)
            items[i - 2] = low < next ? low : next;
        next = low < next ? next : low;
    }
    items[n - 2] = next;
    items[n - 1] = most;
}

static bool fix_bucket_order(uint64_t *items, size_t n, size_t most) {
    size_t moves = 0;
    if (n > 1)
        settle(items, n);
    for (size_t i = 1; i < n && moves <= most; i++)
        if (items[i] < items[i - 1])
            moves += vg_evaluate__insert(items, i);
    return moves <= most;
}

static size_t find_errors(uint32_t *where, bool *tied, const uint64_t *items, size_t n, uint32_t first) {
    size_t found = 0;
    uint64_t before = n > 0 ? ~items[0] : 0;
    bool close = false;
    for (size_t i = 0; i < n; i++) {
        where[found] = first + (uint32_t)i;
        found += items[i] & 1;
        close |= (items[i] ^ before) <= 1;
        before = items[i];
    }
    *tied = close;
    return found;
}

static size_t find_ties(vg_rank_tie *ties, const uint64_t *items, size_t n) {
    size_t found = 0;
    uint32_t errors = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        ties[found] = (vg_rank_tie){(uint32_t)i, errors};
        found += (items[i] ^ items[i + 1]) <= 1;
        errors += items[i] & 1;
    }
    return found;
}

static uint64_t walk(double sums[8], const uint32_t *before, size_t n, const double *tail, double left, double all) {
    uint64_t before_all = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t b = before[i];
        sums[i % 4] += tail[b];
        sums[4 + i % 4] += (left - (double)i) / (all - b);
        before_all += b;
    }
    return before_all;
}

static void samples(vg_sample_batch *out, const double *mean, const int64_t *labels, size_t n, size_t classes,
                    const double *edges, size_t bins) {
    double *gaps = out->gap;
    uint32_t *cells = out->cell;
    for (size_t i = 0; i < n; i++, mean += classes, gaps += classes, cells += classes) {
        size_t label = (size_t)labels[i], best, second;
        double brier = 0;
        for (size_t c = 0; c < classes; c++) {
            double gap = mean[c] - (c == label);
            gaps[c] = gap;
            cells[c] = (uint32_t)(c * bins + vg_base__bin(edges, bins, mean[c]));
            brier += gap * gap;
        }
        vg_evaluate__top_two(&best, &second, mean, classes);
        out->best[i] = (uint32_t)best;
        out->second[i] = (uint32_t)second;
        out->brier[i] = brier;
    }
}

/* As unsigned integers the valid values are 0 to limit: eight at a time, one branch. */
static size_t find_out_of_range(const double *values, size_t count, double most) {
    uint64_t limit, bits[8];
    size_t i = 0;
    memcpy(&limit, &most, sizeof limit);
    for (; i + 8 <= count; i += 8) {
        uint64_t outside = 0;
        memcpy(bits, values + i, sizeof bits);
        for (size_t j = 0; j < 8; j++)
            outside |= bits[j] | (limit - bits[j]);
        if (outside >> 63)
            return i;
    }
    return i < count ? i : SIZE_MAX;
}

/* In two chains, so that one comparison need not wait for the other. */
static void extremes(double *most, double *least, double *sum, const double *p, size_t n, size_t c) {
    for (size_t i = 0; i < n; i++, p += c) {
        double high = p[0], other = p[c - 1], low = p[0], under = p[c - 1], even = p[0], odd = p[c - 1];
        size_t j = 1;
        for (; j + 2 < c; j += 2) {
            high = p[j] > high ? p[j] : high;
            other = p[j + 1] > other ? p[j + 1] : other;
            low = p[j] < low ? p[j] : low;
            under = p[j + 1] < under ? p[j + 1] : under;
            even += p[j];
            odd += p[j + 1];
        }
        if (j + 1 < c) {
            high = p[j] > high ? p[j] : high;
            low = p[j] < low ? p[j] : low;
            even += p[j];
        }
        most[i] = other > high ? other : high;
        least[i] = under < low ? under : low;
        sum[i] = even + odd;
    }
}

/* By selections: which kind a row is cannot be predicted. */
static void influences(double *rows, const uint8_t *positive, size_t n, const vg_area *a) {
    for (size_t i = 0; i < n; i++) {
        double count = positive[i] ? rows[i] : a->positives - rows[i];
        double of = positive[i] ? a->negatives : a->positives, own = positive[i] ? a->positives : a->negatives;
        rows[i] = (count / of - a->area) / own;
    }
}

const vg_row_kernels vg_evaluate__rows_plain = {
    gather_rows, prefix_sums, fix_bucket_order,  find_errors, find_ties,
    walk,        samples,     find_out_of_range, extremes,    influences};

const vg_row_kernels *vg_evaluate__rows(void) {
#if defined(__x86_64__) && defined(VG_WITH_EVALUATE_X86)
    if (vg_base__cpu_tier() == VG_TIER_AVX512)
        return &vg_evaluate__rows_avx512;
#endif
    return &vg_evaluate__rows_plain;
}
