/* column_stats.c - exact order statistics by radix selection.
 *
 * A double's bits, with the sign handled, sort as an unsigned integer. One pass over the column counts the values by
 * their top 16 bits, which gives the bucket of a wanted rank; the next pass decides 16 more bits and keeps the
 * values of those buckets, if they are not too many, for the last 32 bits, which otherwise take a pass each. Nothing
 * is sorted, so a column of any length costs two to four passes and half a megabyte per rank. Columns are
 * independent: each thread takes the next one. */
#include "workflow/column_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIGIT_BITS = 16,
    DIGITS = 1 << DIGIT_BITS,
    LEVELS = 4,
    RANKS = 4,
    CHUNK_VALUES = 1 << 16,
    KEPT_VALUES = 1 << 19
};
enum { THREADS_MOST = 8 }; /* each uses some megabytes */

typedef struct selection {
    uint64_t *counts;       /* RANKS x DIGITS */
    uint64_t prefix[RANKS]; /* digits decided so far */
    uint64_t rank[RANKS];   /* wanted rank among the values with that prefix */
    int level;
    double *kept; /* the values in the wanted buckets, after the second pass */
    size_t kept_count;
    bool kept_all;
    double sum, compensation; /* of all values, first pass only */
    bool has_nan;
    size_t counted;  /* values, known after the first pass */
    double share[2]; /* how far between two ranks the median and the 95th percentile lie */
} selection;

static uint64_t to_order(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double from_order(uint64_t order) {
    uint64_t bits = order >> 63 ? order & ~((uint64_t)1 << 63) : ~order;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Neumaier's sum over chunks: the mean does not lose digits at large N. */
static void add_chunk(selection *s, const double *values, size_t count) {
    double lanes[8] = {0}, value = 0;
    size_t whole = count / 8 * 8;
    for (size_t i = 0; i < whole; i += 8) {
        for (size_t j = 0; j < 8; j++)
            lanes[j] += values[i + j];
    }
    for (size_t i = whole; i < count; i++)
        value += values[i];
    for (size_t j = 0; j < 8; j++)
        value += lanes[j];
    double total = s->sum + value;
    s->compensation += fabs(s->sum) >= fabs(value) ? (s->sum - total) + value : (value - total) + s->sum;
    s->sum = total;
}

static void count_values(selection *s, const double *values, size_t count) {
    int shift = 64 - DIGIT_BITS * (s->level + 1);
    if (s->level == 0) {
        add_chunk(s, values, count);
        for (size_t i = 0; i < count; i++) {
            s->has_nan |= isnan(values[i]);
            s->counts[to_order(values[i]) >> shift]++;
        }
        return;
    }
    const uint64_t *p = s->prefix;
    for (size_t i = 0; i < count; i++) {
        uint64_t order = to_order(values[i]), digit = order >> shift & (DIGITS - 1),
                 prefix = order >> (shift + DIGIT_BITS);
        if ((prefix == p[0]) | (prefix == p[1]) | (prefix == p[2]) | (prefix == p[3])) {
            for (int r = 0; r < RANKS; r++)
                s->counts[r * DIGITS + digit] += prefix == p[r];
            if (s->level == 1) {
                s->kept_all &= s->kept_count < KEPT_VALUES;
                if (s->kept_all)
                    s->kept[s->kept_count++] = values[i];
            }
        }
    }
}

/* Ends a pass: decides the next digit of each wanted rank. */
static void settle_digit(selection *s) {
    for (int r = 0; r < RANKS; r++) {
        const uint64_t *counts = s->counts + (s->level == 0 ? 0 : r * DIGITS);
        uint64_t digit = 0;
        while (digit < DIGITS - 1 && s->rank[r] >= counts[digit])
            s->rank[r] -= counts[digit++];
        s->prefix[r] = s->prefix[r] << DIGIT_BITS | digit;
    }
    memset(s->counts, 0, sizeof(uint64_t) * RANKS * DIGITS);
    s->level++;
}

/* Reduces `rows` samples of `width` values to one value each: gate setting k of `gates`, over the labels as asked. */
static void fold_rows(double *out, const double *in, size_t rows, size_t width, size_t gates, size_t k,
                      vg_stats_over over) {
    size_t entries = width / gates;
    for (size_t r = 0; r < rows; r++) {
        const double *row = in + r * width + k;
        double value = row[0];
        for (size_t e = 1; e < entries; e++) {
            double next = row[e * gates];
            value = over == VG_STATS_LABEL_MAX ? (next > value || isnan(next) ? next : value) : value + next;
        }
        out[r] = over == VG_STATS_LABEL_MEAN ? value / (double)entries : value;
    }
}

/* Ranks around position q (n - 1), and how far between them it lies. */
static double wanted_ranks(uint64_t rank[2], double q, size_t n) {
    double position = q * (double)(n - 1), floor_position = floor(position);
    rank[0] = (uint64_t)floor_position;
    rank[1] = rank[0] + (rank[0] + 1 < n);
    return position - floor_position;
}

static void want_ranks(selection *s) {
    s->share[0] = wanted_ranks(&s->rank[0], 0.5, s->counted);
    s->share[1] = wanted_ranks(&s->rank[2], 0.95, s->counted);
}

/* Copies the values that are not NaN; returns their number. `out` may be `values`. */
static size_t drop_left_out(double *out, const double *values, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        out[kept] = values[i];
        kept += !isnan(values[i]);
    }
    return kept;
}

static vg_status read_column(selection *s, const vg_column_store *store, vg_field field, size_t k, vg_stats_over over,
                             double *raw, double *folded) {
    size_t width = vg_field__width(field, &store->layout);
    size_t gates = vg_field__gated(field) ? store->layout.k_count : 1;
    size_t step = CHUNK_VALUES / width > 0 ? CHUNK_VALUES / width : 1;
    const double *memory = vg_column_store__memory(store, field);
    for (size_t first = 0; first < store->layout.n; first += step) {
        size_t rows = store->layout.n - first < step ? store->layout.n - first : step;
        const double *values = memory ? memory + first * width : raw;
        vg_status status = memory ? VG_OK : vg_column_store__get(store, field, first, rows, raw);
        if (status != VG_OK)
            return status;
        if (width > 1) {
            fold_rows(folded, values, rows, width, gates, k, over);
            values = folded;
        }
        size_t count = rows;
        if (store->left_out) {
            count = drop_left_out(folded, values, rows);
            values = folded;
        }
        count_values(s, values, count);
        s->counted += s->level == 0 ? count : 0;
    }
    if (s->level == 0 && s->counted > 0)
        want_ranks(s);
    settle_digit(s);
    return VG_OK;
}

static double between(double low, double high, double share) { return low == high ? low : low + share * (high - low); }

static vg_status compute(vg_column_stats *out, const vg_column_store *store, vg_field field, size_t k,
                         vg_stats_over over) {
    size_t width = vg_field__width(field, &store->layout);
    size_t chunk = width > CHUNK_VALUES ? width : CHUNK_VALUES;
    selection s = {.counts = calloc((size_t)RANKS * DIGITS, sizeof(uint64_t)),
                   .kept = malloc(KEPT_VALUES * sizeof(double)),
                   .kept_all = true};
    double *raw = malloc(chunk * sizeof *raw), *folded = malloc(CHUNK_VALUES * sizeof *folded);
    vg_status status =
        s.counts && s.kept && raw && folded ? VG_OK : vg_base__fail(VG_ERR_MEMORY, "out of memory for the summary");
    while (s.level < LEVELS && status == VG_OK) {
        if (s.level > 1 && s.kept_all) {
            count_values(&s, s.kept, s.kept_count);
            settle_digit(&s);
        } else
            status = read_column(&s, store, field, k, over, raw, folded);
    }
    if (status == VG_OK && (s.has_nan || s.counted == 0)) {
        out->mean = out->median = out->p95 = NAN;
    } else if (status == VG_OK) {
        out->mean = (isfinite(s.sum) ? s.sum + s.compensation : s.sum) / (double)s.counted;
        out->median = between(from_order(s.prefix[0]), from_order(s.prefix[1]), s.share[0]);
        out->p95 = between(from_order(s.prefix[2]), from_order(s.prefix[3]), s.share[1]);
    }
    free(s.counts);
    free(s.kept);
    free(raw);
    free(folded);
    return status;
}

typedef struct stats_work {
    const vg_column_store *store;
    vg_column_request *requests;
} stats_work;

static vg_status answer(void *context, size_t index, unsigned worker) {
    const stats_work *work = context;
    vg_column_request *r = &work->requests[index];
    (void)worker;
    return compute(&r->stats, work->store, r->field, r->k, r->over);
}

vg_status vg_column_stats__compute(vg_column_request *requests, size_t count, const vg_column_store *store,
                                   size_t threads) {
    stats_work work = {store, requests};
    vg_pool *pool;
    threads = threads ? threads : vg_base__cores();
    threads = threads < THREADS_MOST ? threads : THREADS_MOST;
    threads = threads < count ? threads : count;
    VG_TRY(vg_pool__new(&pool, threads ? (unsigned)threads : 1));
    vg_status status = vg_pool__run(pool, count, answer, &work);
    vg_pool__free(pool);
    return status;
}
