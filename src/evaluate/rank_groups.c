/* rank_groups.c - reduces a measure's ordering to what rankings need: for every distinct uncertainty of an error,
 * the number of rows and errors before it, and of rows that share it. */
#include "evaluate/evaluate_internal.h"

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
    VG_TRY(vg_evaluate__rank_order(&order, room, column, errors, error_stride, rows));
    *g = (vg_rank_groups){.rows = rows, .before = room->before, .tied = room->tied};
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
