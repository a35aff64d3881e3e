/* pinned_sizes.h - cases of pinned.h about sizes: how arrays grow, and what is refused because it would not fit memory,
 * with its message. Nothing is read where sizes are refused, so the arrays behind them need not be there. */
#ifndef VG_TEST_PINNED_SIZES_H
#define VG_TEST_PINNED_SIZES_H

#include "evaluate/columns_layout.h"
#include "evaluate/select_internal.h"
#include "evaluate/set_rule.h"
#include "pinned.h"

/* Any size: small, around a power of two, around the largest, a fraction of it. */
static inline size_t any_size(draws *d) {
    switch (below(d, 5)) {
    case 0: return SIZE_MAX / (1 + below(d, 5000));
    case 1: return SIZE_MAX - below(d, 40);
    case 2: return ((size_t)1 << (20 + below(d, 44))) + below(d, 3) - 1;
    case 3: return (size_t)UINT32_MAX - 1 + below(d, 3);
    default: return 1 + below(d, 3000);
    }
}
static inline bool passes(checksum *c, vg_status status) {
    add_count(c, status);
    if (status != VG_OK)
        add_text(c, vg_error_message());
    return status == VG_OK;
}

static inline void sizes_of_tally(checksum *c, draws *d) {
    static const double mean[] = {0.25, 0.75};
    static const int64_t labels[] = {0, 1};
    vg_tally_options o = VG_TALLY_OPTIONS_INIT;
    vg_tally *t = NULL;
    o.task = once_in(d, 2) ? VG_TASK_MULTICLASS : VG_TASK_MULTILABEL;
    o.bins = once_in(d, 2) ? 1 + below(d, 40) : 9990 + below(d, 20);
    o.confusion = (int)below(d, 3) - 1;
    o.bootstrap = once_in(d, 2);
    o.expected = any_size(d);
    size_t classes = once_in(d, 2) ? 1 + below(d, 2100) : any_size(d);
    if (!passes(c, vg_tally_new(&t, classes, &o)))
        return;
    if (o.task == VG_TASK_MULTILABEL && classes > 2) /* more samples than fit: their product is what is refused */
        passes(c, vg_tally_feed(t, mean, NULL, labels, SIZE_MAX / classes + 1 + below(d, 3)));
    else if (classes == 2)
        passes(c, vg_tally_feed(t, mean, NULL, labels, 1));
    vg_tally_free(t);
}

/* Blocks of any size, with values next to the ends of the range or beyond, at any place. */
static inline void growing_tally(checksum *c, draws *d) {
    enum { ROOM = 6000 };
    static double mean[ROOM], std[ROOM];
    static int64_t labels[ROOM];
    static const double edges[] = {0, 1, 1.002, 1.0021, -0x1p-1074, 1.0019, 0.5, 2, NAN, -0.5};
    vg_tally_options o = VG_TALLY_OPTIONS_INIT;
    vg_tally *t;
    size_t classes = 2 + below(d, 12), blocks = 1 + below(d, 12);
    o.bootstrap = once_in(d, 2);
    o.expected = once_in(d, 2) ? 0 : below(d, 900);
    o.task = once_in(d, 3) ? VG_TASK_MULTILABEL : VG_TASK_MULTICLASS;
    bool multilabel = o.task == VG_TASK_MULTILABEL, spread = once_in(d, 2);
    ok(vg_tally_new(&t, classes, &o));
    for (size_t b = 0; b < blocks; b++) {
        size_t n = below(d, 1 + ROOM / classes / (1 + below(d, 20)));
        for (size_t i = 0; i < n * classes; i++) {
            mean[i] = (double)(1 + below(d, 255)) / 256 / (multilabel ? 1 : (double)classes);
            std[i] = (double)below(d, 256) / 512;
            labels[i] = (int64_t)below(d, multilabel ? 2 : classes);
        }
        if (n && once_in(d, 3))
            (once_in(d, 2) ? mean : std)[below(d, n * classes)] = edges[below(d, 10)];
        if (n && once_in(d, 12))
            labels[below(d, n)] = (int64_t)classes - (int64_t)once_in(d, 2) * 20;
        passes(c, vg_tally_feed(t, mean, spread ? std : NULL, labels, n));
    }
    vg_tally_info info = {.struct_size = sizeof info};
    ok(vg_tally_describe(&info, t));
    add_count(c, info.rows);
    vg_tally_free(t);
}

static inline void sizes_of_columns(checksum *c, draws *d) {
    static const double k[] = {0.5, 1, 1.5, 4};
    vg_columns *columns;
    unsigned which = (unsigned)bits(d) & (VG_COLUMNS_ALL | VG_COLUMNS_BASELINES | VG_COLUMNS_PLANES | VG_COLUMNS_LEAN);
    which |= once_in(d, 9) ? 1u << (14 + below(d, 18)) : 0;
    size_t rows = any_size(d);
    bool some = once_in(d, 2);
    if (!passes(c, vg_columns__new(&columns, rows, some ? k : NULL, some ? below(d, 5) : any_size(d), which)))
        return;
    vg_measure all[64] = {{.name = ""}}, found;
    size_t room = below(d, 64);
    add_count(c, vg_columns__measures(columns, all, room));
    for (size_t i = 0; i < 64; i++) /* nothing beyond what there is room for */
        add_text(c, all[i].name);
    if (rows < 4000)
        vg_columns__prefault(columns, below(d, rows + 2), below(d, 3000));
    passes(c, vg_columns__find(columns, once_in(d, 2) ? "gtu@1" : "epce", &found));
    vg_columns__free(columns);
}

static inline void sizes_of_ranking(checksum *c, draws *d) {
    vg_rank_room room;
    double *tail = NULL;
    vg_sample_units units;
    vg_select_options select = VG_SELECT_OPTIONS_INIT;
    size_t n = any_size(d);
    if (passes(c, vg_evaluate__rank_room(&room, n, NULL, 0)))
        vg_evaluate__rank_room_free(&room);
    if (passes(c, vg_evaluate__harmonic_tail(&tail, n > SIZE_MAX / 16 ? SIZE_MAX : n)))
        vg_base__release(tail);
    select.rows_per_sample = below(d, 4);
    passes(c, vg_evaluate__units_open(&units, n, &select));
}

static inline void sizes_of_sets(checksum *c, draws *d) {
    vg_set_pool pool = {0};
    vg_set_tally tally;
    size_t classes = any_size(d) >> (2 + below(d, 30));
    bool units = once_in(d, 2);
    for (size_t i = 1 + below(d, 6); i > 0; i--) {
        size_t more = once_in(d, 6) ? (size_t)1 << below(d, 41) : below(d, 5000);
        if (passes(c, vg_set_pool__reserve(&pool, more, units)))
            pool.count += more < 9000 ? more : 0;
        add_count(c, pool.room + pool.cell_room + pool.unit_room);
    }
    vg_set_pool__free(&pool);
    if (passes(c, vg_set_tally__new(&tally, classes)))
        vg_set_tally__free(&tally);
    add_count(c, vg_set_room__doubles(classes >> 8));
}

/* Pairs and keys around the sizes at which another sort begins, and the entries that are selected. */
static inline void sorts(checksum *c, draws *d) {
    static const size_t counts[] = {
        1, 2, 31, 32, 33, 64, 65, 100, 1000, 5000, VG_SLICE - 1, VG_SLICE, 2 * VG_SLICE + 9};
    size_t n = counts[below(d, 13)], n_keys = n < 6000 ? n : 6000, places[4];
    uint64_t high = once_in(d, 3) ? 0 : ~(uint64_t)0 >> below(d, 60);
    vg_keyed *pairs = calloc(2 * n, sizeof *pairs);
    uint64_t *keys = calloc(2 * n_keys, sizeof *keys);
    for (size_t i = 0; i < n; i++)
        pairs[i] = (vg_keyed){bits(d) & high, (uint32_t)i};
    for (size_t i = 0; i < n_keys; i++)
        keys[i] = pairs[i].key;
    ok(vg_evaluate__sort_pairs(pairs, pairs + n, n, NULL, 0));
    for (size_t i = 0; i < n; i += 1 + n / 97)
        add_count(c, pairs[i].key >> 20);
    for (size_t i = 0; i < 4; i++)
        places[i] = below(d, n_keys);
    vg_evaluate__select_keys(keys, keys + n_keys, n_keys, places, 4);
    for (size_t i = 0; i < 4; i++)
        add_count(c, keys[places[i]] >> 20);
    free(pairs);
    free(keys);
}

static inline void sizes(checksum *c, draws *d) {
    static void (*const of[])(checksum *, draws *) = {sizes_of_tally, growing_tally, sizes_of_columns, sizes_of_ranking,
                                                      sizes_of_sets};
    of[below(d, 5)](c, d);
}

#endif
