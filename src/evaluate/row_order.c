/* row_order.c - the rows of a measure by rising value, with the marks that placements need (delong.c).
 *
 * An item of 64 bits holds the leading bits of a row's key, the row and its mark:
 *
 *     (key - least key) >> cut | row | positive         row: as many bits as the number of rows has
 *
 * so that the sort moves 8 bytes per row. The cut is as small as fits. Where it removed bits that were not zero, rows
 * whose items agree in the leading bits are compared by their whole keys; with a million rows that is almost none. */
#include "evaluate/evaluate_internal.h"

static unsigned bits_of(uint64_t value) { return value ? 64u - (unsigned)__builtin_clzll(value) : 0; }

static uint64_t key_of(const vg_rank_column *column, size_t row) {
    double value = vg_evaluate__value(column, row);
    return vg_evaluate__key(column->measure.certainty ? -value : value);
}

/* How the items of an order are made up. */
typedef struct item_layout {
    unsigned below; /* bits of the row and the mark */
    bool exact;     /* no key lost a bit that was not zero */
} item_layout;

static vg_status pack(item_layout *layout, uint64_t *items, const vg_rank_column *column, const uint8_t *positive,
                      size_t rows) {
    uint64_t least = UINT64_MAX, most = 0, lost = 0;
    for (size_t i = 0; i < rows; i++) {
        if (isnan(vg_evaluate__value(column, i)))
            return vg_base__fail(VG_ERR_DATA, "measure %s: value %zu is NaN; a number is needed to rank it",
                                 column->measure.name, i);
        items[i] = key_of(column, i);
        least = items[i] < least ? items[i] : least;
        most = items[i] > most ? items[i] : most;
    }
    unsigned below = bits_of(rows - 1) + 1, range = bits_of(most - least),
             cut = range + below > 64 ? range + below - 64 : 0;
    for (size_t i = 0; i < rows; i++) {
        uint64_t key = items[i] - least;
        lost |= key & (((uint64_t)1 << cut) - 1);
        items[i] = key >> cut << below | (uint64_t)i << 1 | (positive[i] != 0);
    }
    *layout = (item_layout){below, lost == 0};
    return VG_OK;
}

/* Sorts positions first .. end - 1, which agree in their leading bits, by whole keys, and marks where values end. */
static vg_status order_group(vg_row_order *o, const vg_rank_column *column, const uint8_t *positive, size_t first,
                             size_t end) {
    size_t count = end - first;
    vg_keyed *pairs;
    VG_TRY(vg_base__alloc(&pairs, count, 2 * sizeof *pairs, "keys to sort"));
    for (size_t i = 0; i < count; i++)
        pairs[i] = (vg_keyed){key_of(column, o->order[first + i]), o->order[first + i]};
    vg_status status = vg_evaluate__sort_pairs(pairs, pairs + count, count, NULL, 0);
    for (size_t i = 0; status == VG_OK && i < count; i++) {
        bool last = i + 1 == count || pairs[i + 1].key != pairs[i].key;
        o->order[first + i] = pairs[i].row;
        o->places[first + i] = (uint8_t)((last ? VG_PLACE_END : 0) | (positive[pairs[i].row] ? VG_PLACE_POSITIVE : 0));
    }
    vg_base__release(pairs);
    return status;
}

/* Orders every group of rows that the cut made equal. */
static vg_status order_groups(vg_row_order *o, const vg_rank_column *column, const uint8_t *positive, size_t rows) {
    for (size_t i = 0, end; i < rows; i = end) {
        end = i + 1;
        while (!(o->places[end - 1] & VG_PLACE_END))
            end++;
        if (end - i > 1)
            VG_TRY(order_group(o, column, positive, i, end));
    }
    return VG_OK;
}

vg_status vg_evaluate__row_order(vg_row_order *o, const vg_rank_column *column, const uint8_t *positive, size_t rows) {
    item_layout layout = {0};
    const uint64_t *items = o->items;
    VG_TRY(pack(&layout, o->items, column, positive, rows));
    vg_evaluate__sort_keys(o->items, o->scratch, rows);
    const uint64_t row_bits = ((uint64_t)1 << (layout.below - 1)) - 1;
    for (size_t i = 0; i < rows; i++) {
        bool end = i + 1 == rows || (items[i + 1] ^ items[i]) >> layout.below;
        o->order[i] = (uint32_t)(items[i] >> 1 & row_bits);
        o->places[i] = (uint8_t)((end ? VG_PLACE_END : 0) | (items[i] & 1 ? VG_PLACE_POSITIVE : 0));
    }
    return layout.exact ? VG_OK : order_groups(o, column, positive, rows);
}

vg_status vg_evaluate__row_order_new(vg_row_order *o, size_t rows, const vg_rank_room *room) {
    *o = (vg_row_order){.room = room};
    vg_status status = vg_base__alloc(&o->scratch, rows, sizeof *o->scratch, "keys to sort");
    if (status == VG_OK)
        status = vg_base__alloc(&o->places, rows, sizeof *o->places, "orders");
    if (room) {
        o->items = room->items;
        o->order = room->before;
    } else {
        if (status == VG_OK)
            status = vg_base__alloc(&o->items, rows, sizeof *o->items, "keys to sort");
        if (status == VG_OK)
            status = vg_base__alloc(&o->order, rows, sizeof *o->order, "orders");
    }
    if (status != VG_OK)
        vg_evaluate__row_order_free(o);
    else
        vg_base__populate(o->scratch, rows * sizeof *o->scratch);
    return status;
}

void vg_evaluate__row_order_free(vg_row_order *o) {
    vg_base__release(o->scratch);
    vg_base__release(o->places);
    if (!o->room) {
        vg_base__release(o->items);
        vg_base__release(o->order);
    }
    *o = (vg_row_order){0};
}
