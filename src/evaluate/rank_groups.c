/* rank_groups.c - a measure's ordering, reduced to what rankings need: for every distinct uncertainty that an error has, how
 * many correct rows lie between it and the one before, how many are tied with it, and how many errors share it.
 *
 * The errors are sorted. The correct rows, most of them, need not be: each is only to be placed among the errors' values. A
 * table in two levels finds its place in one step: the range of the errors' keys is cut into 2,048 coarse buckets, each of
 * those into about as many fine ones as it holds errors; the few keys of a fine bucket are compared without branching. Where
 * errors are so many that the tables outgrow the caches, the correct rows are first gathered by coarse bucket. Where keys are
 * too bunched for the table, or rows few, the correct rows are sorted too and both are walked together; the counts are the
 * same. */
#include "evaluate/evaluate_internal.h"

enum { COARSE_BITS = 11, COARSE = 1 << COARSE_BITS, FEW_ROWS = 4096, FEW_ERRORS = 12, BUNCHED = 64, STEP = 4 };

/* Errors' keys (sorted) to distinct ones in place, with their counts. Returns how many. */
static size_t distinct(uint64_t *keys, size_t n, uint32_t *counts) {
    size_t d = 0;
    for (size_t i = 0; i < n;) {
        uint64_t key = keys[i];
        size_t first = i;
        while (i < n && keys[i] == key)
            i++;
        keys[d] = key;
        counts[d++] = (uint32_t)(i - first);
    }
    return d;
}

typedef struct coarse_bucket {
    uint32_t fine;  /* its first fine bucket */
    uint32_t shift; /* of the offset inside it, to the fine bucket */
} coarse_bucket;

typedef struct finder {
    const uint64_t *keys; /* d distinct, rising, and STEP times UINT64_MAX */
    uint64_t least, span; /* keys[0], keys[d - 1] - keys[0] */
    unsigned shift;       /* of key - least, to the coarse bucket */
    coarse_bucket coarse[COARSE];
    uint32_t *first; /* of each fine bucket: how many keys lie below it */
} finder;

static unsigned bits_of(uint64_t value) { return value ? 64u - (unsigned)__builtin_clzll(value) : 0; }

/* first: room for 2 d + COARSE. False when keys are so bunched that searches would be long. */
static bool build(finder *f, const uint64_t *keys, size_t d, uint32_t *first) {
    unsigned range = bits_of(keys[d - 1] - keys[0]);
    f->keys = keys;
    f->least = keys[0];
    f->span = keys[d - 1] - keys[0];
    f->shift = range > COARSE_BITS ? range - COARSE_BITS : 0;
    f->first = first;
    size_t at = 0, fine = 0, buckets = (size_t)(f->span >> f->shift) + 1;
    uint64_t inside = f->shift ? ((uint64_t)1 << f->shift) - 1 : 0;
    for (size_t b = 0; b < buckets; b++) {
        size_t end = at;
        while (end < d && (keys[end] - f->least) >> f->shift == b)
            end++;
        unsigned bits = end - at > 1 ? bits_of(end - at - 1) : 0;
        bits = bits > f->shift ? f->shift : bits;
        f->coarse[b] = (coarse_bucket){(uint32_t)fine, f->shift - bits};
        for (size_t sub = 0; sub < (size_t)1 << bits; sub++) {
            size_t start = at;
            first[fine++] = (uint32_t)at;
            while (at < end && ((keys[at] - f->least) & inside) >> (f->shift - bits) == sub)
                at++;
            if (at - start > BUNCHED)
                return false;
        }
    }
    return true;
}

/* The coarse bucket of a key; keys outside the errors' range go with its ends. */
static inline uint64_t clamped(const finder *f, uint64_t key) {
    uint64_t offset = key < f->least ? 0 : key - f->least;
    return offset > f->span ? f->span : offset;
}

/* Brings the correct keys together by coarse bucket, so that placing them walks the tables instead of jumping about. */
static void gather(uint64_t *out, const finder *f, const uint64_t *correct, size_t n) {
    size_t ends[COARSE] = {0}, place = 0;
    for (size_t i = 0; i < n; i++)
        ends[clamped(f, correct[i]) >> f->shift]++;
    for (size_t b = 0; b < COARSE; b++) {
        size_t count = ends[b];
        ends[b] = place;
        place += count;
    }
    for (size_t i = 0; i < n; i++)
        out[ends[clamped(f, correct[i]) >> f->shift]++] = correct[i];
}

/* Places each correct key among the errors' distinct keys. */
static void place(uint32_t *counts, const finder *f, const uint64_t *correct, size_t n) {
    uint64_t inside = f->shift ? ((uint64_t)1 << f->shift) - 1 : 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = correct[i], offset = clamped(f, key);
        coarse_bucket bucket = f->coarse[offset >> f->shift];
        size_t at = f->first[bucket.fine + ((offset & inside) >> bucket.shift)];
        for (size_t below = STEP; below == STEP; at += below) {
            const uint64_t *k = f->keys + at;
            below = (size_t)(k[0] < key) + (k[1] < key) + (k[2] < key) + (k[3] < key);
        }
        counts[2 * at + (f->keys[at] == key)]++;
    }
}

/* The same from sorted correct keys. */
static void merge(uint32_t *counts, const uint64_t *correct, size_t n, const uint64_t *keys, size_t d) {
    size_t c = 0;
    for (size_t w = 0; w < d; w++) {
        while (c < n && correct[c] < keys[w]) {
            counts[2 * w]++;
            c++;
        }
        while (c < n && correct[c] == keys[w]) {
            counts[2 * w + 1]++;
            c++;
        }
    }
    counts[2 * d] = (uint32_t)(n - c);
}

vg_status vg_evaluate__rank_groups(vg_rank_groups *g, const vg_rank_room *room, const vg_measure *measure,
                                   const uint8_t *errors, size_t error_stride, size_t rows) {
    uint64_t *keys = room->keys, *scratch = room->scratch;
    size_t correct;
    VG_TRY(vg_evaluate__split(keys, scratch, &correct, measure, errors, error_stride, rows));
    uint64_t *wrong = keys + correct;
    vg_evaluate__sort_keys(wrong, scratch, rows - correct);
    *g = (vg_rank_groups){.rows = rows, .wrong = rows - correct, .errors = room->counts, .correct = room->counts + rows};
    g->count = distinct(wrong, rows - correct, g->errors);
    memset(g->correct, 0, (2 * g->count + 1) * sizeof *g->correct);
    finder f;
    if (correct >= FEW_ROWS && g->count > 0) {
        for (size_t i = 0; i < STEP; i++)
            wrong[g->count + i] = UINT64_MAX;
        if (build(&f, wrong, g->count, (uint32_t *)(void *)(scratch + correct))) {
            bool many = g->count > rows / FEW_ERRORS; /* tables beyond the caches */
            if (many)
                gather(scratch, &f, keys, correct);
            place(g->correct, &f, many ? scratch : keys, correct);
            return VG_OK;
        }
    }
    if (g->count > 0)
        vg_evaluate__sort_keys(keys, scratch, correct);
    merge(g->correct, keys, correct, wrong, g->count);
    return VG_OK;
}

vg_status vg_evaluate__rank_room(vg_rank_room *room, size_t rows) {
    size_t counts;
    *room = (vg_rank_room){0};
    if (!vg_base__mul(&counts, rows, 3) || !vg_base__add(&counts, counts, 1))
        return vg_base__fail(VG_ERR_MEMORY, "ranking: %zu rows do not fit memory", rows);
    if (rows > UINT32_MAX)
        return vg_base__fail(VG_ERR_ARGUMENT, "ranking: %zu rows, at most %u", rows, UINT32_MAX);
    vg_status status = vg_base__alloc(&room->keys, rows + STEP, sizeof *room->keys, "keys to sort");
    if (status == VG_OK)
        status = vg_base__alloc(&room->scratch, rows + COARSE, sizeof *room->scratch, "keys to sort");
    if (status == VG_OK)
        status = vg_base__alloc(&room->counts, counts, sizeof *room->counts, "counts of a ranking");
    if (status != VG_OK)
        vg_evaluate__rank_room_free(room);
    return status;
}

void vg_evaluate__rank_room_free(vg_rank_room *room) {
    vg_base__release(room->keys);
    vg_base__release(room->scratch);
    vg_base__release(room->counts);
    *room = (vg_rank_room){0};
}
