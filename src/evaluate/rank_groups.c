/* rank_groups.c - reduces a measure's ordering to what rankings need: for every distinct uncertainty of an error,
 * the number of rows and errors before it, and of rows that share it.
 *
 * A measure of few distinct values (votes of the members) is counted value by value; others are ordered by
 * rank_buckets.c. */
#include "evaluate/evaluate_internal.h"

/* --- measures of few values --------------------------------------------------------------------------------------- */
enum { MOST_VALUES = 32, SLOT_BITS = 7, SLOTS = 1 << SLOT_BITS };

typedef struct counted_value {
    uint64_t key;
    uint32_t rows, errors;
} counted_value;
typedef struct value_counts {
    uint8_t slots[SLOTS]; /* a hash table of the values: 1 + the index, 0 where free */
    counted_value of[MOST_VALUES];
    size_t count;
} value_counts;

/* The count of a key, a new one where it is the first of its value; NULL when there are too many values. */
static inline counted_value *find_value(value_counts *v, uint64_t key) {
    size_t slot = (size_t)((key * 0x9e3779b97f4a7c15u) >> (64 - SLOT_BITS));
    while (v->slots[slot] && v->of[v->slots[slot] - 1].key != key)
        slot = (slot + 1) % SLOTS;
    if (!v->slots[slot]) {
        if (v->count == MOST_VALUES)
            return NULL;
        v->of[v->count] = (counted_value){.key = key};
        v->slots[slot] = (uint8_t)++v->count;
    }
    return &v->of[v->slots[slot] - 1];
}

/* Counts rows first .. last - 1. False, soon, when there are more than MOST_VALUES values, and where one is NaN. */
static bool count_values(value_counts *v, const vg_rank_rows *in, size_t first, size_t last) {
    double sign = in->column.measure.certainty ? -1 : 1;
    for (size_t i = first; i < last; i++) {
        double x = sign * vg_evaluate__value(&in->column, i);
        counted_value *of = isnan(x) ? NULL : find_value(v, vg_evaluate__key(x));
        if (!of)
            return false;
        of->rows++;
        of->errors += in->errors[i * in->error_stride] != 0;
    }
    return true;
}

static void groups_of_values(vg_rank_groups *g, value_counts *v) {
    size_t before = 0;
    for (size_t i = 1; i < v->count; i++)
        for (size_t j = i; j > 0 && v->of[j - 1].key > v->of[j].key; j--) {
            counted_value other = v->of[j];
            v->of[j] = v->of[j - 1];
            v->of[j - 1] = other;
        }
    for (size_t i = 0; i < v->count; before += v->of[i].rows, i++) {
        counted_value of = v->of[i];
        if (of.errors == 0)
            continue;
        if (of.rows > 1)
            g->tied[g->tied_count++] = (vg_tied_group){(uint32_t)g->count, of.rows, of.errors, (uint32_t)g->wrong};
        g->before[g->count++] = (uint32_t)before;
        g->wrong += of.errors;
    }
}

/* --- all others --------------------------------------------------------------------------------------------------- */

/* Of one run, whose first row is row `before`, errors are at where[0 .. wrong - 1]. Joins those that share a value,
 * in place. */
static void add_tied(vg_rank_groups *g, const uint64_t *items, uint32_t *where, size_t wrong, size_t before) {
    size_t count = g->count;
    for (size_t w = 0; w < wrong;) {
        size_t first = where[w] - before, next = w + 1;
        uint64_t item = items[first];
        bool shared = (first > 0 && items[first - 1] == item - 1) || (next < wrong && items[first + 1] == item);
        if (shared) {
            while (next < wrong && items[where[next] - before] == item)
                next++;
            size_t end = where[next - 1] - before + 1;
            while (first > 0 && items[first - 1] == item - 1)
                first--;
            g->tied[g->tied_count++] = (vg_tied_group){(uint32_t)count, (uint32_t)(end - first), (uint32_t)(next - w),
                                                       (uint32_t)(g->wrong + w)};
        }
        g->before[count++] = (uint32_t)(before + first);
        w = next;
    }
    g->count = count;
}

/* The groups of one run: items rising. Where no value is shared, every error is a group. */
static void add_run(vg_rank_groups *g, const vg_rank_run *run, const vg_rank_room *room, size_t before) {
    uint32_t *where = g->before + g->count;
    bool tied;
    size_t wrong = room->kernels->find_errors(where, &tied, run->items, run->count, (uint32_t)before);
    if (tied)
        add_tied(g, run->items, where, wrong, before);
    else
        g->count += wrong;
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
    size_t done = 0, slice = 0;
    while (vg_evaluate__rank_next(&run, &order)) {
        add_run(g, &run, room, done);
        done += run.count;
        if (done - slice >= VG_SLICE) {
            slice = done;
            VG_TRY(vg_evaluate__pulse(room->pulse, room->worker));
        }
    }
    return VG_OK;
}
