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
    double sign = column.measure.certainty ? -1 : 1;
    for (size_t i = first; i < last; i++) {
        double x = sign * vg_evaluate__value(&column, i);
        size_t at = isnan(x) ? (size_t)MOST_VALUES : find_value(v, vg_evaluate__key(x));
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
    size_t wrong, before;
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

/* The first error from number j->done on at or after this row of the run: a search with growing steps, then within the
 * last one. */
static size_t error_from(const joining *j, size_t row) {
    size_t low = j->done, step = 1, high;
    while (low + step < j->wrong && j->where[low + step] - j->before < row) {
        low += step;
        step *= 2;
    }
    high = low + step < j->wrong ? low + step : j->wrong;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (j->where[middle] - j->before < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Rows first .. end - 1 of the run share their value; the correct ones come first. */
static void join_rows(joining *j, const uint64_t *items, size_t first, size_t end) {
    vg_rank_groups *g = j->g;
    size_t correct = first;
    while (correct < end && !(items[correct] & 1))
        correct++;
    if (correct == end)
        return;
    keep_singles(j, error_from(j, correct));
    g->tied[g->tied_count++] = (vg_tied_group){(uint32_t)g->count, (uint32_t)(end - first), (uint32_t)(end - correct),
                                               (uint32_t)(g->wrong + j->done)};
    g->before[g->count++] = (uint32_t)(j->before + first);
    j->done += end - correct;
}

/* ties: the rows of the run whose next has the same value. */
static void add_tied(joining *j, const uint64_t *items, const uint32_t *ties, size_t count) {
    for (size_t t = 0, end; t < count; t = end) {
        for (end = t + 1; end < count && ties[end] == ties[end - 1] + 1; end++)
            ;
        join_rows(j, items, ties[t], ties[end - 1] + 2);
    }
    keep_singles(j, j->wrong);
}

/* The groups of one run: items rising. Where no value is shared, every error is a group. */
static vg_status add_run(vg_rank_groups *g, const vg_rank_run *run, const vg_rank_room *room, size_t before) {
    uint32_t *where = g->before + g->count, *spilled = NULL, *ties = (uint32_t *)(void *)room->fine;
    bool tied;
    size_t wrong = room->kernels->find_errors(where, &tied, run->items, run->count, (uint32_t)before);
    if (tied) {
        joining join = {g, where, wrong, before, 0};
        if (run->count > VG_FINE_TIES)
            VG_TRY(vg_base__alloc(&spilled, run->count, sizeof *spilled, "rows of equal value"));
        ties = spilled ? spilled : ties;
        add_tied(&join, run->items, ties, room->kernels->find_ties(ties, run->items, run->count));
        vg_base__release(spilled);
    } else
        g->count += wrong;
    g->wrong += wrong;
    return VG_OK;
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
    size_t done = 0, slice = 0;
    while (vg_evaluate__rank_next(&run, &order)) {
        VG_TRY(add_run(g, &run, room, done));
        done += run.count;
        if (done - slice >= VG_SLICE) {
            slice = done;
            VG_TRY(vg_evaluate__pulse(room->pulse, room->worker));
        }
    }
    return VG_OK;
}
