/* rank_groups.c - reduces a measure's ordering to what rankings need: for every distinct uncertainty of an error,
 * the number of rows and errors before it, and of rows that share it.
 *
 * A measure of few distinct values (votes of the members) is counted value by value; others are ordered by
 * rank_buckets.c. */
#include "evaluate/evaluate_internal.h"

/* --- measures of few values --------------------------------------------------------------------------------------- */
enum { MOST_VALUES = 32, SLOT_BITS = 7, SLOTS = 1 << SLOT_BITS, COUNTERS = 4 };

/* A counter has rows in its lower half and errors in its upper half. Rows take the counters of their value in turn,
 * because adding to the one that the row before added to would wait for it. */
typedef struct value_counts {
    uint8_t slots[SLOTS]; /* a hash table of the values: 1 + the index, 0 where free */
    uint64_t keys[MOST_VALUES], of[COUNTERS][MOST_VALUES];
    size_t count;
} value_counts;
typedef struct counted_value {
    uint64_t key;
    uint32_t rows, errors;
} counted_value;

/* The index of a key, a new one where it is the first of its value; MOST_VALUES when there are too many values. */
static inline size_t find_value(value_counts *v, uint64_t key) {
    size_t slot = (size_t)((key * 0x9e3779b97f4a7c15u) >> (64 - SLOT_BITS));
    while (v->slots[slot] && v->keys[v->slots[slot] - 1] != key)
        slot = (slot + 1) % SLOTS;
    if (v->slots[slot])
        return v->slots[slot] - 1u;
    if (v->count == MOST_VALUES)
        return MOST_VALUES;
    v->keys[v->count++] = key;
    v->slots[slot] = (uint8_t)v->count;
    return v->count - 1;
}

/* Counts rows first .. last - 1. False, soon, when there are more than MOST_VALUES values, and where one is NaN. */
static bool count_values(value_counts *v, const vg_rank_rows *in, size_t first, size_t last) {
    const vg_rank_column column = in->column;
    const uint8_t *errors = in->errors;
    size_t error_stride = in->error_stride;
    for (size_t i = first; i < last; i++) {
        bool unknown = isnan(vg_evaluate__value(&column, i));
        size_t at = unknown ? (size_t)MOST_VALUES : find_value(v, vg_evaluate__row_key(&column, i));
        if (at == MOST_VALUES)
            return false;
        v->of[i % COUNTERS][at] += 1 + ((uint64_t)(errors[i * error_stride] != 0) << 32);
    }
    return true;
}

/* The values, rising. */
static void sort_values(counted_value *out, const value_counts *v) {
    for (size_t i = 0; i < v->count; i++) {
        counted_value value = {.key = v->keys[i]};
        size_t j = i;
        for (size_t counter = 0; counter < COUNTERS; counter++) {
            value.rows += (uint32_t)v->of[counter][i];
            value.errors += (uint32_t)(v->of[counter][i] >> 32);
        }
        for (; j > 0 && out[j - 1].key > value.key; j--)
            out[j] = out[j - 1];
        out[j] = value;
    }
}

static void groups_of_values(vg_rank_groups *g, const value_counts *v) {
    counted_value sorted[MOST_VALUES];
    size_t before = 0;
    sort_values(sorted, v);
    for (size_t i = 0; i < v->count; before += sorted[i].rows, i++) {
        counted_value of = sorted[i];
        if (of.errors == 0)
            continue;
        if (of.rows > 1)
            g->tied[g->tied_count++] = (vg_tied_group){(uint32_t)g->count, of.rows, of.errors, (uint32_t)g->wrong};
        g->before[g->count++] = (uint32_t)before;
        g->wrong += of.errors;
    }
}

/* --- all others --------------------------------------------------------------------------------------------------- */

/* Of one run, whose first row is row `before`, errors are at where[0 .. wrong - 1], which becomes the groups' part of
 * g->before: the errors of one value are joined, in place. */
typedef struct joining {
    vg_rank_groups *g;
    uint32_t *where;
    size_t before;
    size_t done; /* errors that are in groups */
} joining;

/* Moves the errors up to number `end`, each a group. */
static void keep_singles(joining *j, size_t end) {
    vg_rank_groups *g = j->g;
    if (g->before + g->count != j->where + j->done)
        memmove(g->before + g->count, j->where + j->done, (end - j->done) * sizeof *j->where);
    g->count += end - j->done;
    j->done = end;
}

/* Joins the errors among `rows` rows of one value; `first`: the first of them. */
static void join_rows(joining *j, vg_rank_tie first, size_t rows, size_t errors) {
    vg_rank_groups *g = j->g;
    keep_singles(j, first.errors);
    g->tied[g->tied_count++] =
        (vg_tied_group){(uint32_t)g->count, (uint32_t)rows, (uint32_t)errors, (uint32_t)(g->wrong + j->done)};
    g->before[g->count++] = (uint32_t)(j->before + first.item);
    j->done += errors;
}

static void add_tied(joining *j, const uint64_t *items, const vg_rank_tie *ties, size_t count) {
    for (size_t t = 0, end; t < count; t = end) {
        for (end = t + 1; end < count && ties[end].item == ties[end - 1].item + 1; end++)
            ;
        vg_rank_tie last = ties[end - 1]; /* but one: it and its neighbour have the value, too */
        size_t errors = last.errors + (items[last.item] & 1) + (items[last.item + 1] & 1) - ties[t].errors;
        if (errors > 0)
            join_rows(j, ties[t], last.item + 2 - ties[t].item, errors);
    }
}

/* The groups of one run: items rising. Where no value is shared, every error is a group. */
static void add_run(vg_rank_groups *g, const vg_rank_run *run, const vg_rank_room *room, size_t before) {
    joining join = {g, g->before + g->count, before, 0};
    bool tied;
    size_t wrong = room->kernels->find_errors(join.where, &tied, run->items, run->count, (uint32_t)before);
    if (tied)
        add_tied(&join, run->items, run->scratch, room->kernels->find_ties(run->scratch, run->items, run->count));
    keep_singles(&join, wrong);
    g->wrong += wrong;
}

vg_status vg_evaluate__rank_groups(vg_rank_groups *g, vg_rank_room *room, const vg_rank_column *column,
                                   const uint8_t *errors, size_t error_stride, size_t rows) {
    vg_rank_order order;
    vg_rank_run run;
    value_counts values = {.count = 0};
    bool few = true;
    *g = (vg_rank_groups){.rows = rows, .before = room->before, .tied = room->tied};
    for (size_t first = 0; few && first < rows; first += VG_SLICE) {
        VG_TRY(vg_evaluate__pulse(room->pulse, room->worker));
        few = count_values(&values, &(vg_rank_rows){*column, errors, error_stride}, first,
                           rows - first < VG_SLICE ? rows : first + VG_SLICE);
    }
    if (few) {
        groups_of_values(g, &values);
        return VG_OK;
    }
    VG_TRY(vg_evaluate__rank_order(&order, room, column, errors, error_stride, rows));
    for (;;) {
        VG_TRY(vg_evaluate__rank_next(&run, &order));
        if (run.count == 0)
            return VG_OK;
        add_run(g, &run, room, run.before);
    }
}
